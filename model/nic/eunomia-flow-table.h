// SPDX-License-Identifier: GPL-2.0-only
#ifndef EUNOMIA_FLOW_TABLE_H
#define EUNOMIA_FLOW_TABLE_H

#include "eunomia-frame.h"

#include <array>
#include <cstdint>
#include <vector>

namespace ns3 {

/** What both ends observe of one flow while it lives. */
struct EunomiaFlowStats {
    uint64_t packets;       //!< data packets sent, retransmissions included
    uint64_t retransmitted; //!< of these, sent again
    uint64_t accepted;      //!< payload bytes that the receiver took, each packet once
    uint64_t outOfOrder;    //!< arrived ahead of the cumulative point
    uint32_t maxSpan;       //!< furthest ahead, in PSNs
    uint32_t messages;      //!< messages not yet completed at the sender
    uint32_t unseen;        //!< messages not yet visible at the receiver
    int64_t gateWaitPs;     //!< time that the completion gate held Last packets
    int64_t visiblePs;      //!< when the last message became visible
    uint32_t number;        //!< what its user calls it; unlike a slot, of one flow only
};

/**
 * \brief Statistics of the flows that are alive, and totals of the whole simulation.
 *
 * A slot is reused as soon as its flow has ended, so memory follows the flows in flight.
 */
class EunomiaFlowTable {
  public:
    static constexpr uint32_t SPANS = 8192; //!< histogram of spans; the last bin holds the rest

    uint32_t Open()
    {
        if (m_free.empty()) {
            m_slots.push_back(EunomiaFlowStats{});
            return static_cast<uint32_t>(m_slots.size() - 1);
        }
        const uint32_t slot = m_free.back();
        m_free.pop_back();
        m_slots[slot] = EunomiaFlowStats{};
        return slot;
    }

    void Close(uint32_t slot) { m_free.push_back(slot); }
    EunomiaFlowStats &operator[](uint32_t slot) { return m_slots[slot]; }
    uint64_t GetAlive() const { return m_slots.size() - m_free.size(); }

    void CountSpan(uint32_t span) { m_spans[span < SPANS ? span : SPANS - 1]++; }
    const std::array<uint64_t, SPANS> &GetSpans() const { return m_spans; }

  private:
    std::vector<EunomiaFlowStats> m_slots;
    std::vector<uint32_t> m_free;
    std::array<uint64_t, SPANS> m_spans{};
};

} // namespace ns3

#endif
