// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-port.h"

#include "eunomia-link.h"

#include "ns3/simulation-singleton.h"

#include <algorithm>

namespace ns3 {

NS_OBJECT_ENSURE_REGISTERED(EunomiaPort);

TypeId EunomiaPort::GetTypeId()
{
    static TypeId tid = TypeId("ns3::EunomiaPort")
                            .SetParent<NetDevice>()
                            .SetGroupName("Eunomia")
                            .AddConstructor<EunomiaPort>()
                            .AddTraceSource("Enqueue", "A frame had to wait.",
                                            MakeTraceSourceAccessor(&EunomiaPort::m_enqueueTrace),
                                            "ns3::EunomiaPort::FrameTracedCallback")
                            .AddTraceSource("Dequeue", "A frame starts on the wire.",
                                            MakeTraceSourceAccessor(&EunomiaPort::m_dequeueTrace),
                                            "ns3::EunomiaPort::FrameTracedCallback")
                            .AddTraceSource("Receive", "A frame arrived whole.",
                                            MakeTraceSourceAccessor(&EunomiaPort::m_receiveTrace),
                                            "ns3::EunomiaPort::FrameTracedCallback")
                            .AddTraceSource("Pause", "The other end paused or resumed a priority.",
                                            MakeTraceSourceAccessor(&EunomiaPort::m_pauseTrace),
                                            "ns3::EunomiaPort::PauseTracedCallback");
    return tid;
}

EunomiaPort::EunomiaPort()
    : m_wireFree(Create<EunomiaEvent<EunomiaPort, &EunomiaPort::WireFree>>(this)),
      m_pool(SimulationSingleton<EunomiaFramePool>::Get()), m_pauseTimer(this)
{
}

EunomiaPort::~EunomiaPort()
{
    m_wireFree->Disown();
}

void EunomiaPort::DoDispose()
{
    m_wireFree->Disown();
    m_link = nullptr;
    m_wire = nullptr;
    m_node = nullptr;
    m_owner = nullptr;
    NetDevice::DoDispose();
}

void EunomiaPort::Attach(Ptr<EunomiaLink> link, int side)
{
    constexpr uint64_t PS_BITS = 8'000'000'000'000ull; // picoseconds a second x bits a byte
    m_link = link;
    m_wire = PeekPointer(link);
    m_side = side;
    m_rate = link->GetRate();
    m_gap = link->GetGap();
    const uint64_t bps = m_rate.GetBitRate();
    m_psPerByte = PS_BITS % bps == 0 ? static_cast<int64_t>(PS_BITS / bps) : 0;
    m_linkChange();
}

void EunomiaPort::AddLinkChangeCallback(Callback<void> callback)
{
    m_linkChange.ConnectWithoutContext(callback);
}

Ptr<Channel> EunomiaPort::GetChannel() const
{
    return m_link;
}

Ptr<EunomiaPort> EunomiaPort::GetPeer() const
{
    return m_link ? m_link->GetEnd(1 - m_side) : nullptr;
}

bool EunomiaPort::SetMtu(uint16_t mtu)
{
    m_mtu = mtu;
    return true;
}

int64_t EunomiaPort::TransmissionTime(uint32_t bytes) const
{
    const uint64_t wire = bytes + m_gap;
    if (m_psPerByte) {
        return static_cast<int64_t>(wire) * m_psPerByte;
    }
    return static_cast<int64_t>(wire * 8'000'000'000'000ull / m_rate.GetBitRate());
}

uint64_t EunomiaPort::GetWireBytes() const
{
    uint64_t bytes = 0;
    for (int kind = 0; kind < EUNOMIA_FRAME_KINDS; kind++) {
        bytes += m_sentBytes[kind] + m_sent[kind] * m_gap;
    }
    return bytes;
}

uint64_t EunomiaPort::GetQueued() const
{
    uint64_t n = 0;
    const auto count = [&n](const EunomiaFrameQueue &queue) {
        for (EunomiaFrame *f = queue.Front(); f; f = f->next) {
            n++;
        }
    };
    std::for_each(m_queue.begin(), m_queue.end(), count);
    count(m_first);
    return n;
}

int64_t EunomiaPort::GetPausedTime() const
{
    int64_t total = m_pausedTime;
    for (uint32_t c = 0; c < CLASSES; c++) {
        if (IsPaused(c)) {
            total += EunomiaNow() - m_pauseStart[c];
        }
    }
    return total;
}

bool EunomiaPort::HasWork() const
{
    return (m_backlog & ~m_pausedMask) || m_owner->HasFrame(this);
}

EunomiaFrame *EunomiaPort::NextFrame()
{
    const uint32_t open = m_backlog & ~m_pausedMask;
    if (!open) {
        return m_owner->Pull(this);
    }
    if (open & 1) {
        return NextControl();
    }
    const uint32_t fromTurn = open & (~0u << m_turn);
    const auto next = static_cast<uint32_t>(__builtin_ctz(fromTurn ? fromTurn : open));
    m_turn = next + 1 < CLASSES ? next + 1 : 1;
    EunomiaFrame *frame = m_queue[next].PopFront();
    if (m_queue[next].IsEmpty()) {
        m_backlog &= ~(1u << next);
    } else {
        EunomiaPrefetch(m_queue[next].Front());
    }
    m_owner->Departs(this, frame);
    return frame;
}

EunomiaFrame *EunomiaPort::NextControl()
{
    EunomiaFrame *frame = m_first.IsEmpty() ? m_queue[0].PopFront() : m_first.PopFront();
    *m_control -= frame->bytes;
    if (m_first.IsEmpty() && m_queue[0].IsEmpty()) {
        m_backlog &= ~1u;
    }
    return frame;
}

void EunomiaPort::Transmit(EunomiaFrame *frame)
{
    int64_t duration;
    if (m_psPerByte) {
        duration = static_cast<int64_t>(frame->bytes + m_gap) * m_psPerByte;
    } else {
        const uint64_t work = (frame->bytes + m_gap) * 8'000'000'000'000ull + m_fraction;
        duration = static_cast<int64_t>(work / m_rate.GetBitRate());
        m_fraction = work % m_rate.GetBitRate();
    }
    const int64_t now = EunomiaNow();
    m_wireFreeAt = now + duration;
    const int kind = static_cast<int>(frame->kind);
    m_sent[kind]++;
    m_sentBytes[kind] += frame->bytes;
    m_dequeueTrace(*frame);
    m_wire->Carry(m_side, frame, m_wireFreeAt, now);
}

void EunomiaPort::TryTransmit()
{
    const int64_t now = EunomiaNow();
    if (now >= m_wireFreeAt) {
        EunomiaFrame *frame = NextFrame();
        if (!frame) {
            return;
        }
        Transmit(frame);
    }
    // A trace sink may have sent something meanwhile, which scheduled it already.
    if (!m_wireFree->IsPending() && HasWork()) {
        m_wireFree->Schedule(m_wireFreeAt - now);
    }
}

void EunomiaPort::CountControl(uint32_t *bytes)
{
    *bytes = *m_control;
    m_control = bytes;
}

void EunomiaPort::Send(EunomiaFrame *frame)
{
    const uint32_t c = frame->priority;
    if (!m_backlog && !m_wireFree->IsPending() && !IsPaused(c) && EunomiaNow() >= m_wireFreeAt) {
        if (c) {
            m_owner->Departs(this, frame);
        }
        Transmit(frame);
        if (!m_wireFree->IsPending() && m_owner->HasFrame(this)) {
            m_wireFree->Schedule(m_wireFreeAt - EunomiaNow());
        }
        return;
    }
    m_enqueueTrace(*frame);
    if (c == 0) {
        *m_control += frame->bytes;
    }
    m_queue[c].PushBack(frame);
    m_backlog |= 1u << c;
    Wake();
}

void EunomiaPort::SendFirst(EunomiaFrame *frame)
{
    *m_control += frame->bytes;
    m_first.PushBack(frame);
    m_backlog |= 1;
    Wake();
}

void EunomiaPort::Deliver(EunomiaFrame *frame)
{
    frame->hops++;
    m_receiveTrace(*frame);
    if (frame->kind == EunomiaFrameKind::Pause) {
        TakePause(frame);
        return;
    }
    m_owner->Receive(this, frame);
}

void EunomiaPort::TakePause(EunomiaFrame *frame)
{
    // psn carries the pause time in ns, msn the priority; see EunomiaSwitch::Act.
    const uint32_t priority = frame->msn;
    const int64_t duration = static_cast<int64_t>(frame->psn) * 1000;
    const bool xoff = frame->reason;
    m_pausesReceived++;
    m_pool->Release(frame);
    if (xoff) {
        SetPaused(priority, EunomiaNow() + duration);
    } else {
        EndPause(priority);
    }
}

void EunomiaPort::SetPaused(uint32_t priority, int64_t until)
{
    m_pauseEnd[priority] = until;
    if (!IsPaused(priority)) {
        m_pausedMask |= 1u << priority;
        m_pauseStart[priority] = EunomiaNow();
        m_pauseTrace(priority, true);
        m_owner->PauseChanged(this, priority, true);
    }
    if (until < m_pauseTimer.Deadline()) {
        m_pauseTimer.Arm(until);
    }
}

void EunomiaPort::EndPause(uint32_t priority)
{
    if (!IsPaused(priority)) {
        return;
    }
    m_pausedMask &= ~(1u << priority);
    m_pausedTime += EunomiaNow() - m_pauseStart[priority];
    m_pauseTrace(priority, false);
    m_owner->PauseChanged(this, priority, false);
    Wake();
}

void EunomiaPort::PauseExpired()
{
    const int64_t now = EunomiaNow();
    int64_t next = m_pauseTimer.NEVER;
    for (uint32_t c = 0; c < CLASSES; c++) {
        if (IsPaused(c) && m_pauseEnd[c] <= now) {
            EndPause(c);
        } else if (IsPaused(c)) {
            next = std::min(next, m_pauseEnd[c]);
        }
    }
    if (next != m_pauseTimer.NEVER) {
        m_pauseTimer.Arm(next);
    }
}

} // namespace ns3
