// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-link.h"

#include "eunomia-port.h"

#include "ns3/uinteger.h"

namespace ns3 {

NS_OBJECT_ENSURE_REGISTERED(EunomiaLink);

TypeId EunomiaLink::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::EunomiaLink")
            .SetParent<Channel>()
            .SetGroupName("Eunomia")
            .AddConstructor<EunomiaLink>()
            .AddAttribute("DataRate", "Rate of either direction.",
                          DataRateValue(DataRate("100Gbps")),
                          MakeDataRateAccessor(&EunomiaLink::m_rate), MakeDataRateChecker())
            .AddAttribute("Delay", "Propagation delay, 0 or more.", TimeValue(MicroSeconds(1)),
                          MakeTimeAccessor(&EunomiaLink::m_delay), MakeTimeChecker(Time(0)))
            .AddAttribute("Gap",
                          "Bytes of wire time after each frame: preamble 8 and inter-packet gap "
                          "12 of Ethernet (IEEE 802.3), or 0.",
                          UintegerValue(20), MakeUintegerAccessor(&EunomiaLink::m_gap),
                          MakeUintegerChecker<uint32_t>(0, 1000));
    return tid;
}

EunomiaLink::EunomiaLink()
{
    for (auto &direction : m_direction) {
        direction = Create<Direction>();
    }
}

EunomiaLink::~EunomiaLink() = default;

void EunomiaLink::DoDispose()
{
    for (int side = 0; side < 2; side++) {
        m_direction[side]->SetReceiver(nullptr);
        m_end[side] = nullptr;
    }
    Channel::DoDispose();
}

void EunomiaLink::Connect(Ptr<EunomiaPort> a, Ptr<EunomiaPort> b)
{
    EunomiaRequirePicoseconds();
    m_delayPs = m_delay.GetTimeStep();
    m_end = {a, b};
    m_direction[0]->SetReceiver(PeekPointer(b));
    m_direction[1]->SetReceiver(PeekPointer(a));
    a->Attach(this, 0);
    b->Attach(this, 1);
}

Ptr<NetDevice> EunomiaLink::GetDevice(std::size_t i) const
{
    return m_end.at(i);
}

uint64_t EunomiaLink::GetInFlight() const
{
    uint64_t n = 0;
    for (const auto &direction : m_direction) {
        for (EunomiaFrame *f = direction->InFlight().Front(); f; f = f->next) {
            n++;
        }
    }
    return n;
}

void EunomiaLink::Direction::Carry(EunomiaFrame *frame, int64_t arrivalPs, int64_t nowPs)
{
    const bool first = m_frames.IsEmpty();
    frame->arrivalPs = arrivalPs;
    m_frames.PushBack(frame);
    if (first) {
        Simulator::Schedule(TimeStep(arrivalPs - nowPs), Ptr<EventImpl>(this));
    }
}

void EunomiaLink::Direction::Notify()
{
    if (!m_receiver) {
        return;
    }
    EunomiaFrame *frame = m_frames.PopFront();
    if (EunomiaFrame *next = m_frames.Front()) {
        Simulator::Schedule(TimeStep(next->arrivalPs - frame->arrivalPs), Ptr<EventImpl>(this));
        EunomiaPrefetch(next->next);
    }
    m_receiver->Deliver(frame);
}

} // namespace ns3
