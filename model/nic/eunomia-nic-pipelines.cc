// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-nic-pipelines.h"

namespace ns3 {

EunomiaNicPipelines::EunomiaNicPipelines(Controller controller, uint32_t pipelines,
                                         const eun_reorder *reorder, Owner *owner)
    : m_controller(std::move(controller)), m_reorder(reorder), m_stats(eun_reorder_stats(reorder)),
      m_allocated(m_stats->alloc), m_owner(owner)
{
    for (uint32_t i = 0; i < pipelines; i++) {
        m_pipelines.push_back(std::make_unique<Pipeline>(owner));
    }
}

bool EunomiaNicPipelines::Allocates(const Outcome &outcome, uint64_t allocated, int64_t now)
{
    const auto made = static_cast<uint32_t>(allocated - m_allocated);
    m_allocated = allocated;
    const auto *front = reinterpret_cast<const eun_reorder_front *>(m_reorder);
    const auto bank = static_cast<uint32_t>(eun_reorder_bank_of(front, outcome.qp) - front->banks);
    const eun_admission admission =
        eun_controller_admit(m_controller.get(), outcome.qp, bank, made, now);
    m_owner->Allocated(admission.latency);
    return Enters(outcome, admission, now);
}

EunomiaNicPipelines::Pipeline::Pipeline(Owner *owner)
    : m_owner(owner), m_event(Create<EunomiaEvent<Pipeline, &Pipeline::Due>>(this))
{
}

EunomiaNicPipelines::Pipeline::~Pipeline()
{
    m_event->Disown();
}

void EunomiaNicPipelines::Pipeline::Push(const Held &held, int64_t now)
{
    if (m_count == m_ring.size()) {
        Grow();
    }
    At(m_count++) = held;
    if (!m_event->IsPending()) {
        m_event->Schedule(held.at - now);
    }
}

void EunomiaNicPipelines::Pipeline::Grow()
{
    std::vector<Held> larger(m_ring.empty() ? 16 : 2 * m_ring.size());
    for (size_t i = 0; i < m_count; i++) {
        larger[i] = At(i);
    }
    m_ring.swap(larger);
    m_first = 0;
}

void EunomiaNicPipelines::Pipeline::Due()
{
    const int64_t now = EunomiaNow();
    while (m_count > 0 && At(0).at <= now) {
        const Outcome outcome = At(0).outcome;
        m_first++;
        m_count--;
        m_owner->Leaves(outcome);
    }
    if (m_count > 0 && !m_event->IsPending()) {
        m_event->Schedule(At(0).at - now);
    }
}

} // namespace ns3
