// SPDX-License-Identifier: GPL-2.0-only
/**
 * Switches under a balancer that steers flows at their first switch and puts them in order at their
 * last one (core/switch/balancer.h, eun_lb_edge): headers, held frames, signals.
 *
 * A frame grows before the first switch stores it and shrinks before the last one does, so that
 * what a buffer took in is what it gives back. A held frame is stored like any other, and PFC
 * counts it; only the port does not have it yet, so no mark (ECN) and no record (INT) does. What
 * the last switch drops is to the balancer as if lost on the link.
 */
#include "eunomia-switch.h"

namespace ns3 {

void EunomiaSwitch::ReceiveAtEdge(EunomiaFrame *frame, uint32_t in)
{
    const Group group = m_routes[frame->dst];
    const uint16_t first = m_ways[group.first];
    if (frame->priority == 0) {
        if (frame->kind == EunomiaFrameKind::Signal && m_facesHost[first]) {
            TakeSignal(frame);
        } else {
            SendControl(frame);
        }
        return;
    }
    if (m_facesHost[first] && !m_facesHost[in]) {
        Deliver(frame, in, first);
        return;
    }
    const uint32_t out = m_facesHost[first] ? first : Steer(frame, in, group);
    if (Admit(frame, in, out)) {
        m_port[out]->Send(frame);
    }
}

void EunomiaSwitch::SendControl(EunomiaFrame *frame)
{
    const Group group = m_routes[frame->dst];
    const uint32_t way =
        group.count == 1 ? 0 : eun_ecmp_choose(m_salt, frame->entropy, group.count);
    m_port[m_ways[group.first + way]]->Send(frame);
}

uint32_t EunomiaSwitch::Steer(EunomiaFrame *frame, uint32_t in, Group group)
{
    const uint16_t *ways = &m_ways[group.first];
    void *state = m_balancerState.data();
    const bool fromHost = m_facesHost[in] != 0;
    if (!fromHost && group.count == 1) {
        return ways[0];
    }
    const eun_lb_view view{ways,         group.count, m_buffer.port_bytes, m_controlBytes.data(),
                           EunomiaNow(), fromHost};
    if (!fromHost && frame->tag) {
        return ways[m_edge->follow(state, &view, &frame->tag)];
    }
    const eun_lb_packet packet{frame->src, frame->dst, frame->entropy, frame->bytes};
    if (!fromHost) {
        return ways[m_balancer->choose(state, &packet, &view)];
    }
    frame->bytes = static_cast<uint16_t>(frame->bytes + m_headerBytes);
    return ways[m_edge->depart(state, &packet, &view, &frame->tag)];
}

void EunomiaSwitch::Deliver(EunomiaFrame *frame, uint32_t in, uint32_t out)
{
    frame->bytes = static_cast<uint16_t>(frame->bytes - m_headerBytes);
    frame->inPort = static_cast<uint16_t>(in);
    if (m_conweaveBuffer && !Admit(frame, in, out)) {
        return;
    }
    const eun_lb_packet packet{frame->src, frame->dst, frame->entropy, frame->bytes};
    eun_lb_verdict verdict;
    m_edge->deliver(m_balancerState.data(), &packet, frame->tag, frame->ce, out, EunomiaNow(),
                    &verdict);
    if (verdict.release_before != EUN_LB_NO_QUEUE) {
        ReleaseQueue(verdict.release_before);
    }
    if (verdict.hold != EUN_LB_NO_QUEUE) {
        Hold(frame, out, verdict.hold);
    } else {
        HandOver(frame, out);
    }
    if (verdict.release_after != EUN_LB_NO_QUEUE) {
        ReleaseQueue(verdict.release_after);
    }
    SendSignals(verdict);
    ArmEdgeTimer();
}

void EunomiaSwitch::Hold(EunomiaFrame *frame, uint32_t out, uint32_t queue)
{
    m_held[queue].PushBack(frame);
    m_heldFrames++;
    if (m_conweaveBuffer) {
        eun_buffer_hold(&m_buffer, out, frame->priority, frame->bytes);
    }
}

void EunomiaSwitch::HandOver(EunomiaFrame *frame, uint32_t out)
{
    if (m_conweaveBuffer || Admit(frame, frame->inPort, out)) {
        m_port[out]->Send(frame);
    }
}

void EunomiaSwitch::ReleaseQueue(uint32_t queue)
{
    while (!m_held[queue].IsEmpty()) {
        EunomiaFrame *frame = m_held[queue].PopFront();
        const uint32_t out = m_ways[m_routes[frame->dst].first];
        m_heldFrames--;
        if (m_conweaveBuffer) {
            eun_buffer_hold(&m_buffer, out, frame->priority, -int64_t{frame->bytes});
        }
        HandOver(frame, out);
    }
}

void EunomiaSwitch::SendSignals(const eun_lb_verdict &verdict)
{
    for (uint32_t i = 0; i < verdict.signals; i++) {
        const eun_lb_signal &signal = verdict.signal[i];
        EunomiaFrame *frame = m_pool->Take();
        frame->kind = EunomiaFrameKind::Signal;
        frame->bytes = SIGNAL_BYTES;
        frame->src = signal.dst;
        frame->dst = signal.src;
        frame->entropy = signal.entropy;
        frame->tag = signal.tag;
        m_signalsMade++;
        SendControl(frame);
    }
}

void EunomiaSwitch::TakeSignal(EunomiaFrame *frame)
{
    const eun_lb_signal signal{frame->dst, frame->src, frame->entropy, frame->tag};
    m_signalsTaken++;
    m_pool->Release(frame);
    m_edge->signal(m_balancerState.data(), &signal, EunomiaNow());
}

void EunomiaSwitch::ArmEdgeTimer()
{
    const int64_t due = m_edge->deadline(m_balancerState.data());
    if (due < m_edgeTimer.Deadline()) {
        m_edgeTimer.Arm(due);
    }
}

void EunomiaSwitch::EdgeExpired()
{
    eun_lb_verdict verdict;
    while (m_edge->expire(m_balancerState.data(), EunomiaNow(), &verdict)) {
        ReleaseQueue(verdict.release_after);
        SendSignals(verdict);
    }
    ArmEdgeTimer();
}

} // namespace ns3
