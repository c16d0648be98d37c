// SPDX-License-Identifier: GPL-2.0-only
#ifndef EUNOMIA_SCHEDULER_H
#define EUNOMIA_SCHEDULER_H

#include "ns3/scheduler.h"

#include <array>
#include <cstdint>
#include <vector>

namespace ns3 {

/**
 * \brief An event queue for fabrics: a timing wheel for what happens within microseconds, a binary
 * heap for the rest.
 *
 * A fabric's events lie close together: a frame takes 80 ns to send and a microsecond to arrive.
 * The wheel has one slot per 2^SlotBits units of simulated time; inserting and removing cost O(1)
 * while few events share a slot. Events beyond the wheel wait in the heap and move to the wheel
 * when their time comes near. Order is that of every ns-3 scheduler: time, then insertion.
 *
 * Use it with `Simulator::SetScheduler` or the `SchedulerType` global value. Results are the same
 * with any scheduler; only speed differs.
 */
class EunomiaScheduler : public Scheduler {
  public:
    static TypeId GetTypeId();
    EunomiaScheduler();
    ~EunomiaScheduler() override;

    void Insert(const Event &ev) override;
    bool IsEmpty() const override;
    Event PeekNext() const override;
    Event RemoveNext() override;
    void Remove(const Event &ev) override;

  private:
    /** An event in the wheel; nodes are pooled and linked by index. */
    struct Node {
        Event event;
        uint32_t next;
    };

    static constexpr uint32_t NONE = UINT32_MAX;
    static constexpr uint32_t WORDS = 64;
    static constexpr uint32_t SLOTS = WORDS * 64;

    uint64_t SlotOf(const Event &ev) const { return ev.key.m_ts >> m_slotBits; }
    void InsertNear(const Event &ev, uint64_t slot);
    void InsertFar(const Event &ev);
    /** Moves events from the heap that the wheel has come to reach. */
    void Advance(uint64_t base);
    /** Index of the first slot in use, in order of time; the wheel must hold an event. */
    uint32_t FirstSlot() const;
    void Vacate(uint32_t slot);

    uint32_t m_slotBits;
    uint64_t m_base;    //!< slot number of the last event removed: nothing lies before it
    uint32_t m_near;    //!< events in the wheel
    uint32_t m_free;    //!< first free node
    uint64_t m_summary; //!< bit w: m_occupied[w] is not 0
    std::array<uint64_t, WORDS> m_occupied;
    std::array<uint32_t, SLOTS> m_head; //!< sorted lists
    std::vector<Node> m_nodes;
    std::vector<Event> m_far; //!< binary heap, earliest on top
};

} // namespace ns3

#endif
