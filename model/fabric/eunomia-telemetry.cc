// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-telemetry.h"

#include <algorithm>

namespace ns3 {

void EunomiaTelemetry::Grow()
{
    const auto first = static_cast<uint32_t>(m_slots.size());
    const uint32_t size = std::max(1024u, 2 * first);
    m_slots.resize(size);
    m_records.resize(size_t{size} * m_room);
    for (uint32_t slot = size; slot > first; slot--) {
        m_slots[slot - 1].next = m_free;
        m_free = slot;
    }
}

void EunomiaTelemetry::Widen()
{
    const uint32_t room = 2 * m_room;
    std::vector<uint64_t> wider(m_slots.size() * room);
    for (size_t i = 0; i < m_slots.size(); i++) {
        std::copy_n(&m_records[i * m_room], m_slots[i].count, &wider[i * room]);
    }
    m_records.swap(wider);
    m_room = room;
}

} // namespace ns3
