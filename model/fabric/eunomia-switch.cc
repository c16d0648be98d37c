// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-switch.h"

#include "core/wire/int.h"
#include "eunomia-link.h"

#include "ns3/abort.h"
#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/simulation-singleton.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3 {

NS_OBJECT_ENSURE_REGISTERED(EunomiaSwitch);

TypeId EunomiaSwitch::GetTypeId()
{
    static TypeId tid =
        AddPauseAttributes(
            AddBufferAttributes(AddBalancerAttributes(TypeId("ns3::EunomiaSwitch")
                                                          .SetParent<Object>()
                                                          .SetGroupName("Eunomia")
                                                          .AddConstructor<EunomiaSwitch>())))
            .AddTraceSource("Drop", "A data frame was dropped, and why (eun_drop_reason).",
                            MakeTraceSourceAccessor(&EunomiaSwitch::m_dropTrace),
                            "ns3::EunomiaSwitch::DropTracedCallback")
            .AddTraceSource("Mark", "A data frame leaves with CE set by this switch.",
                            MakeTraceSourceAccessor(&EunomiaSwitch::m_markTrace),
                            "ns3::EunomiaPort::FrameTracedCallback")
            .AddTraceSource("Pause", "XOFF (true) or XON was sent on a port for a priority.",
                            MakeTraceSourceAccessor(&EunomiaSwitch::m_pauseTrace),
                            "ns3::EunomiaSwitch::PauseTracedCallback");
    return tid;
}

TypeId EunomiaSwitch::AddBufferAttributes(TypeId tid)
{
    return tid
        .AddAttribute("BufferPolicy",
                      "Admission and PFC rules: dynamic, or conweave-ns3 for comparison.",
                      StringValue("dynamic"), MakeStringAccessor(&EunomiaSwitch::m_policyName),
                      MakeStringChecker())
        .AddAttribute("BufferSize", "Shared buffer in bytes.", UintegerValue(9 << 20),
                      MakeUintegerAccessor(&EunomiaSwitch::m_bufferBytes),
                      MakeUintegerChecker<uint64_t>(1))
        .AddAttribute("Pfc", "Pause neighbours instead of dropping data.", BooleanValue(true),
                      MakeBooleanAccessor(&EunomiaSwitch::m_pfc), MakeBooleanChecker())
        .AddAttribute("LosslessMask",
                      "Bit p: data priority p is lossless where Pfc is on. Each costs reserve "
                      "and headroom at every port.",
                      UintegerValue(1 << 3), MakeUintegerAccessor(&EunomiaSwitch::m_losslessMask),
                      MakeUintegerChecker<uint8_t>())
        .AddAttribute("Alpha", "Ingress dynamic threshold, as a factor of the free pool.",
                      DoubleValue(1.0 / 16), MakeDoubleAccessor(&EunomiaSwitch::m_alpha),
                      MakeDoubleChecker<double>(0))
        .AddAttribute("EgressAlpha",
                      "Egress dynamic threshold of queues without PFC, as a factor of the "
                      "free pool.",
                      DoubleValue(1), MakeDoubleAccessor(&EunomiaSwitch::m_egressAlpha),
                      MakeDoubleChecker<double>(0))
        .AddAttribute("Reserve",
                      "Bytes guaranteed to each ingress port and lossless priority; 0: one "
                      "frame.",
                      UintegerValue(0), MakeUintegerAccessor(&EunomiaSwitch::m_reserve),
                      MakeUintegerChecker<uint32_t>())
        .AddAttribute("ResumeOffset", "XON comes this many bytes below the XOFF threshold.",
                      UintegerValue(3072), MakeUintegerAccessor(&EunomiaSwitch::m_resume),
                      MakeUintegerChecker<uint32_t>());
}

TypeId EunomiaSwitch::AddPauseAttributes(TypeId tid)
{
    return tid
        .AddAttribute("Headroom",
                      "Bytes per ingress port and lossless priority for what arrives after "
                      "XOFF; 0: computed from rate, delay, frame and pause frame.",
                      UintegerValue(0), MakeUintegerAccessor(&EunomiaSwitch::m_headroom),
                      MakeUintegerChecker<uint32_t>())
        .AddAttribute("MaxFrame", "Longest frame as stored, in bytes.", UintegerValue(1114),
                      MakeUintegerAccessor(&EunomiaSwitch::m_maxFrame),
                      MakeUintegerChecker<uint32_t>(64))
        .AddAttribute("PauseFrame", "Length of a PFC frame, in bytes.", UintegerValue(64),
                      MakeUintegerAccessor(&EunomiaSwitch::m_pauseFrame),
                      MakeUintegerChecker<uint32_t>(1))
        .AddAttribute("PauseTime",
                      "How long one XOFF lasts; 0: 65,535 quanta of 512 bit times (IEEE "
                      "802.1Qbb), refreshed after half of it.",
                      TimeValue(Time(0)), MakeTimeAccessor(&EunomiaSwitch::m_pauseTime),
                      MakeTimeChecker(Time(0)))
        .AddAttribute("EcnMin",
                      "Queue at which marking begins at 100 Gb/s, in bytes; scales "
                      "with the port's rate.",
                      UintegerValue(100000), MakeUintegerAccessor(&EunomiaSwitch::m_ecnMin),
                      MakeUintegerChecker<uint32_t>())
        .AddAttribute("EcnMax", "Queue above which every frame is marked, likewise.",
                      UintegerValue(400000), MakeUintegerAccessor(&EunomiaSwitch::m_ecnMax),
                      MakeUintegerChecker<uint32_t>())
        .AddAttribute("EcnProbability", "Marking probability at EcnMax.", DoubleValue(0.2),
                      MakeDoubleAccessor(&EunomiaSwitch::m_ecnProbability),
                      MakeDoubleChecker<double>(0, 1));
}

EunomiaSwitch::EunomiaSwitch()
    : m_pool(SimulationSingleton<EunomiaFramePool>::Get()), m_edgeTimer(this),
      m_seeder(CreateObject<UniformRandomVariable>())
{
}

EunomiaSwitch::~EunomiaSwitch()
{
    eun_buffer_dispose(&m_buffer);
}

void EunomiaSwitch::DoDispose()
{
    m_refresh.clear();
    m_port.clear();
    m_ports.clear();
    Object::DoDispose();
}

int64_t EunomiaSwitch::AssignStreams(int64_t stream)
{
    m_seeder->SetStream(stream);
    return 1;
}

uint32_t EunomiaSwitch::AddPort(Ptr<EunomiaPort> port)
{
    const uint32_t number = GetNPorts();
    port->SetOwner(this);
    port->SetIfIndex(number);
    m_ports.push_back(port);
    m_port.push_back(PeekPointer(port));
    return number;
}

void EunomiaSwitch::SetRoute(uint32_t host, const std::vector<uint16_t> &ports)
{
    NS_ABORT_MSG_IF(ports.empty(), "no way to host " << host);
    if (host >= m_routes.size()) {
        m_routes.resize(host + 1, Group{0, 0});
    }
    // Hosts behind the same ports share one group, so that a big fabric's tables stay in cache.
    const auto found = std::search(m_ways.begin(), m_ways.end(), ports.begin(), ports.end());
    const auto first = static_cast<uint32_t>(found - m_ways.begin());
    if (found == m_ways.end()) {
        m_ways.insert(m_ways.end(), ports.begin(), ports.end());
    }
    m_routes[host] = Group{first, static_cast<uint32_t>(ports.size())};
}

void EunomiaSwitch::DoInitialize()
{
    const std::string problem = Configure();
    NS_ABORT_MSG_UNLESS(problem.empty(), "EunomiaSwitch: " << problem);
    Object::DoInitialize();
}

std::string EunomiaSwitch::Configure()
{
    if (m_configured) {
        return "";
    }
    std::string problem = FindBalancer();
    if (problem.empty()) {
        problem = SetUpBuffer();
    }
    if (problem.empty()) {
        problem = SetUpBalancer();
    }
    if (!problem.empty()) {
        return problem;
    }
    SetUpTelemetry();
    for (uint32_t i = 0; i < GetNPorts(); i++) {
        m_refresh.push_back(std::make_unique<Refresher>(this, i));
    }
    m_configured = true;
    return "";
}

std::string EunomiaSwitch::SetUpBuffer()
{
    for (const eun_buffer_policy *policy : {&eun_buffer_dynamic, &eun_buffer_conweave}) {
        if (m_policyName == policy->name) {
            m_policy = policy;
        }
    }
    if (!m_policy) {
        return "BufferPolicy: there is no policy " + m_policyName;
    }
    eun_buffer_config config{};
    config.ports = GetNPorts();
    config.total_bytes = static_cast<int64_t>(m_bufferBytes);
    config.reserve_bytes = m_reserve ? m_reserve : m_maxFrame + m_headerBytes;
    config.alpha = m_alpha;
    config.egress_alpha = m_egressAlpha;
    config.resume_bytes = m_resume;
    config.lossless_mask = m_pfc ? m_losslessMask : 0;
    config.max_frame_bytes = m_maxFrame + m_headerBytes;
    config.pause_ps = m_pauseTime.GetTimeStep();
    if (config.pause_ps == 0) {
        // The fastest sender waits longest for a given number of quanta, so count at its rate.
        uint64_t fastest = 1;
        for (const auto &port : m_ports) {
            fastest = std::max(fastest, port->GetRateBps());
        }
        config.pause_ps = static_cast<int64_t>(65535 * 512e12 / static_cast<double>(fastest));
    }
    // A pause frame tells nanoseconds in 32 bits.
    config.pause_ps = std::min(config.pause_ps, int64_t{UINT32_MAX} * 1000);
    eun_buffer_dispose(&m_buffer);
    NS_ABORT_MSG_UNLESS(eun_buffer_init(&m_buffer, m_policy, &config), "out of memory");
    m_controlBytes.assign(GetNPorts(), 0);
    for (uint32_t i = 0; i < GetNPorts(); i++) {
        SetUpPort(i);
        m_port[i]->CountControl(&m_controlBytes[i]);
    }
    if (!eun_buffer_prepare(&m_buffer)) {
        return "BufferSize: " + std::to_string(m_bufferBytes) +
               " bytes leave no pool after the reserve and headroom of " +
               std::to_string(GetNPorts()) + " ports";
    }
    return "";
}

void EunomiaSwitch::SetUpPort(uint32_t port)
{
    const uint64_t rate = m_ports[port]->GetRateBps();
    const double scale = static_cast<double>(rate) / 100e9;
    const auto link = DynamicCast<EunomiaLink>(m_ports[port]->GetChannel());
    eun_buffer_port &p = m_buffer.port[port];
    p.ecn_min_bytes = static_cast<int64_t>(m_ecnMin * scale);
    p.ecn_max_bytes = static_cast<int64_t>(m_ecnMax * scale);
    p.ecn_max_probability = m_ecnProbability;
    p.headroom_bytes = m_headroom ? m_headroom
                                  : eun_buffer_headroom(rate, link->GetDelay().GetTimeStep(),
                                                        m_maxFrame + m_headerBytes, m_pauseFrame);
}

void EunomiaSwitch::SetUpTelemetry()
{
    m_linkOf.clear();
    for (uint32_t i = 0; i < GetNPorts(); i++) {
        // The salt differs between switches, so few numbers are those of two links.
        m_linkOf.push_back({eun_int_rate_code(m_port[i]->GetRateBps()),
                            static_cast<uint16_t>(eun_mix64(m_salt + i))});
    }
}

uint32_t EunomiaSwitch::ChoosePort(EunomiaFrame *frame, uint32_t in)
{
    const Group group = m_routes[frame->dst];
    const uint16_t *ways = &m_ways[group.first];
    const uint32_t way = group.count == 1 ? 0 : ChooseWay(frame, in, ways, group.count);
    if (m_balancer->enter) {
        Exchange(frame, in, ways[way], way);
    }
    return m_balancer->divert ? Divert(frame, ways[way]) : ways[way];
}

uint32_t EunomiaSwitch::ChooseWay(const EunomiaFrame *frame, uint32_t in, const uint16_t *ways,
                                  uint32_t count)
{
    if (frame->priority == 0) {
        return eun_ecmp_choose(m_salt, frame->entropy, count);
    }
    const eun_lb_packet packet{frame->src, frame->dst, frame->entropy, frame->bytes};
    const eun_lb_view view{ways,
                           count,
                           m_buffer.port_bytes,
                           m_controlBytes.data(),
                           EunomiaNow(),
                           m_facesHost[in] != 0};
    return m_balancer->choose(m_balancerState.data(), &packet, &view);
}

void EunomiaSwitch::Exchange(EunomiaFrame *frame, uint32_t in, uint32_t out, uint32_t way)
{
    if (m_facesHost[in] == m_facesHost[out]) {
        return;
    }
    const eun_lb_packet packet{frame->src, frame->dst, frame->entropy, frame->bytes};
    if (m_facesHost[in]) {
        frame->tag = m_balancer->enter(m_balancerState.data(), &packet, way);
    } else {
        m_balancer->arrive(m_balancerState.data(), &packet, frame->tag, EunomiaNow());
    }
}

uint32_t EunomiaSwitch::Divert(EunomiaFrame *frame, uint32_t out)
{
    if (frame->priority == 0) {
        return out;
    }
    const uint32_t port = m_balancer->divert(m_balancerState.data(), out, frame->bytes, frame->hops,
                                             m_buffer.port_bytes);
    if (port != out) {
        m_deflected++;
        frame->priority = m_deflectPriority ? m_deflectPriority : frame->priority;
    }
    return port;
}

void EunomiaSwitch::Sent(EunomiaFrame *frame, uint32_t out)
{
    if (m_balancer->sent) {
        frame->tag =
            m_balancer->sent(m_balancerState.data(), out, frame->bytes, frame->tag, EunomiaNow());
    }
}

void EunomiaSwitch::Receive(EunomiaPort *port, EunomiaFrame *frame)
{
    const uint32_t in = port->GetIfIndex();
    if (m_edge) {
        ReceiveAtEdge(frame, in);
        return;
    }
    const uint32_t out = ChoosePort(frame, in);
    if (frame->priority == 0) {
        Sent(frame, out);
        m_port[out]->Send(frame);
    } else if (Admit(frame, in, out)) {
        m_port[out]->Send(frame);
    }
}

bool EunomiaSwitch::Admit(EunomiaFrame *frame, uint32_t in, uint32_t out)
{
    const uint32_t priority = frame->priority;
    frame->inPort = static_cast<uint16_t>(in);
    const eun_drop_reason reason = m_policy->admit(&m_buffer, in, out, priority, frame->bytes);
    if (reason != EUN_DROP_NONE) {
        Drop(frame, reason);
        return false;
    }
    Act(m_policy->stored(&m_buffer, in, priority, EunomiaNow()), in, priority);
    return true;
}

void EunomiaSwitch::Departs(EunomiaPort *port, EunomiaFrame *frame)
{
    const uint32_t in = frame->inPort;
    const uint32_t out = port->GetIfIndex();
    const uint32_t priority = frame->priority;
    m_policy->release(&m_buffer, in, out, priority, frame->bytes);
    if (frame->telemetry) {
        Stamp(frame, out);
    }
    Sent(frame, out);
    const double p = eun_buffer_mark_probability(&m_buffer, out, priority);
    if (p > 0 && eun_rng_unit(&m_rng) < p) {
        frame->ce = true;
        m_marks++;
        m_markTrace(*frame);
    }
    Act(m_policy->left(&m_buffer, in, priority, EunomiaNow()), in, priority);
}

void EunomiaSwitch::Stamp(EunomiaFrame *frame, uint32_t out)
{
    const Link &link = m_linkOf[out];
    NS_ABORT_MSG_IF(link.rate < 0, "INT has no code for the rate of port " << out);
    const uint64_t record =
        eun_int_encode(static_cast<uint32_t>(link.rate), EunomiaNow(), m_port[out]->GetWireBytes(),
                       eun_buffer_queued(&m_buffer, out));
    m_pool->Telemetry().Append(frame->telemetry, record, link.number);
    // The frame has left the buffer as long as it came in; it grows on the wire.
    frame->bytes = static_cast<uint16_t>(frame->bytes + EUN_INT_HOP_BYTES);
}

void EunomiaSwitch::Drop(EunomiaFrame *frame, eun_drop_reason reason)
{
    m_drops++;
    m_dropTrace(*frame, reason);
    m_pool->Release(frame);
}

void EunomiaSwitch::Act(eun_pfc_action action, uint32_t port, uint32_t priority)
{
    if (action == EUN_PFC_NOTHING) {
        return;
    }
    const bool xoff = action == EUN_PFC_XOFF;
    EunomiaFrame *frame = m_pool->Take();
    frame->kind = EunomiaFrameKind::Pause;
    frame->bytes = m_pauseFrame;
    frame->msn = priority;
    frame->reason = xoff;
    frame->psn = static_cast<uint32_t>(m_buffer.config.pause_ps / 1000);
    m_pauses += xoff;
    m_pauseFrames++;
    m_pauseTrace(port, priority, xoff);
    m_port[port]->SendFirst(frame);
    const int64_t refresh = m_policy->refresh_at(&m_buffer, port, priority);
    if (refresh < m_refresh[port]->timer.Deadline()) {
        m_refresh[port]->timer.Arm(refresh);
    }
}

void EunomiaSwitch::RefreshPause(uint32_t port)
{
    for (uint32_t p = 1; p < EUN_PRIORITIES; p++) {
        const int64_t due = m_policy->refresh_at(&m_buffer, port, p);
        if (due <= EunomiaNow()) {
            Act(m_policy->stored(&m_buffer, port, p, EunomiaNow()), port, p);
        } else if (due < m_refresh[port]->timer.Deadline()) {
            m_refresh[port]->timer.Arm(due);
        }
    }
}

} // namespace ns3
