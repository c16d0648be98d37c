// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-frame.h"

namespace ns3 {

const char *EunomiaFrameKindName(EunomiaFrameKind kind)
{
    static const char *const names[EUNOMIA_FRAME_KINDS] = {"data", "ack",   "sack",  "nack",
                                                           "cnp",  "pause", "signal"};
    return names[static_cast<int>(kind)];
}

void EunomiaFramePool::Grow()
{
    constexpr size_t SLAB = 1024;
    m_slabs.push_back(std::make_unique<EunomiaFrame[]>(SLAB));
    EunomiaFrame *slab = m_slabs.back().get();
    for (size_t i = SLAB; i-- > 0;) {
        slab[i].next = m_free;
        m_free = &slab[i];
    }
}

} // namespace ns3
