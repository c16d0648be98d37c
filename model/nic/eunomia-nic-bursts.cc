// SPDX-License-Identifier: GPL-2.0-only
/** The trace source ReorderBurst of EunomiaNic: a tracker a responder QP, if someone listens. */
#include "eunomia-nic.h"

namespace ns3 {

namespace {

/** Bursts are told of in pieces of at most this, at its multiples. */
constexpr int64_t SLICE_PS = 1'000'000'000;

} // namespace

void EunomiaNic::OpenBursts(uint32_t qp)
{
    if (m_burstTrace.IsEmpty()) {
        return;
    }
    const int64_t now = EunomiaNow();
    while (m_bursts.size() <= qp) {
        m_bursts.emplace_back();
        eun_burst_open(&m_bursts.back().tracker, SLICE_PS, now);
    }
    eun_burst_open(&m_bursts[qp].tracker, SLICE_PS, now);
}

void EunomiaNic::EndSlices(uint32_t qp, int64_t now)
{
    RxBursts &bursts = m_bursts[qp];
    eun_burst piece;
    while (eun_burst_slice(&bursts.tracker, now, &piece)) {
        m_burstTrace(qp, bursts.flow, piece);
    }
}

void EunomiaNic::TrackBursts(const EunomiaFrame &frame, const eun_rx_verdict &verdict)
{
    const int64_t now = EunomiaNow();
    RxBursts &bursts = m_bursts[frame.qp];
    EndSlices(frame.qp, now);
    if (verdict.out_of_order && !eun_burst_is_open(&bursts.tracker)) {
        bursts.flow = (*m_flows)[frame.flow].number;
    }
    eun_burst piece;
    if (eun_burst_arrive(&bursts.tracker, now, verdict.span, verdict.advanced, &piece)) {
        m_burstTrace(frame.qp, bursts.flow, piece);
    }
}

void EunomiaNic::CloseBursts(uint32_t qp)
{
    if (qp >= m_bursts.size()) {
        return;
    }
    const int64_t now = EunomiaNow();
    EndSlices(qp, now);
    eun_burst piece;
    if (eun_burst_close(&m_bursts[qp].tracker, now, &piece)) {
        m_burstTrace(qp, m_bursts[qp].flow, piece);
    }
}

void EunomiaNic::EndReorderBursts()
{
    for (uint32_t qp = 0; qp < m_rx.size(); qp++) {
        if (m_rx[qp].open) {
            CloseBursts(qp);
            OpenBursts(qp);
        }
    }
}

} // namespace ns3
