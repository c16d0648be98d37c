// SPDX-License-Identifier: GPL-2.0-only
#ifndef EUNOMIA_TELEMETRY_H
#define EUNOMIA_TELEMETRY_H

#include "core/wire/int.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ns3 {

/**
 * \brief What switches wrote into frames (core/wire/int.h), beside the frames: most have nothing.
 *
 * A slot has room for a path's records, and is used again. Where a path is longer than any before,
 * all slots grow; after that nothing is allocated but for more slots.
 */
class EunomiaTelemetry {
  public:
    /** A slot without records. Slots count from 1: 0 is none. */
    uint32_t Take()
    {
        if (!m_free) {
            Grow();
        }
        const uint32_t slot = m_free;
        Slot &s = m_slots[slot - 1];
        m_free = s.next;
        s = Slot{};
        m_alive++;
        return slot;
    }

    void Release(uint32_t slot)
    {
        m_slots[slot - 1].next = m_free;
        m_free = slot;
        m_alive--;
    }

    /** A switch writes its record; `link` is the number of the link that the frame leaves by. */
    void Append(uint32_t slot, uint64_t record, uint16_t link)
    {
        Slot &s = m_slots[slot - 1];
        if (s.count == m_room) {
            Widen();
        }
        m_records[size_t{slot - 1} * m_room + s.count++] = record;
        s.path ^= link;
    }

    /** Its records; valid until the next Take() or Append(). `slot` may be 0: no records. */
    eun_int_path Get(uint32_t slot) const
    {
        if (!slot) {
            return eun_int_path{};
        }
        const Slot &s = m_slots[slot - 1];
        return eun_int_path{&m_records[size_t{slot - 1} * m_room], s.count, s.path};
    }

    uint32_t GetHops(uint32_t slot) const { return m_slots[slot - 1].count; }
    /** Slots in use. */
    uint64_t GetAlive() const { return m_alive; }

    /** Owns a slot, or 0, until it goes out of scope. */
    class Holder {
      public:
        Holder(EunomiaTelemetry &store, uint32_t slot) : m_store(store), m_slot(slot) {}
        ~Holder()
        {
            if (m_slot) {
                m_store.Release(m_slot);
            }
        }
        Holder(const Holder &) = delete;
        Holder &operator=(const Holder &) = delete;
        uint32_t Get() const { return m_slot; }
        /** Gives the other slot in exchange. */
        void Swap(uint32_t &other) { std::swap(m_slot, other); }

      private:
        EunomiaTelemetry &m_store;
        uint32_t m_slot;
    };

  private:
    struct Slot {
        uint32_t count = 0;
        uint32_t next = 0; //!< in the list of free slots
        uint16_t path = 0;
    };

    void Grow();
    void Widen();

    std::vector<Slot> m_slots;
    std::vector<uint64_t> m_records; //!< [slot][m_room]
    uint32_t m_room = 4;             //!< records of a slot
    uint32_t m_free = 0;
    uint64_t m_alive = 0;
};

} // namespace ns3

#endif
