// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-switch.h"

#include "eunomia-link.h"

#include "ns3/abort.h"
#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/simulation-singleton.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <sstream>

namespace ns3 {

NS_OBJECT_ENSURE_REGISTERED(EunomiaSwitch);

TypeId EunomiaSwitch::GetTypeId()
{
    static TypeId tid =
        AddPauseAttributes(AddBufferAttributes(AddSprayAttributes(AddDeflectAttributes(
                               AddBalancerAttributes(TypeId("ns3::EunomiaSwitch")
                                                         .SetParent<Object>()
                                                         .SetGroupName("Eunomia")
                                                         .AddConstructor<EunomiaSwitch>())))))
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

TypeId EunomiaSwitch::AddBalancerAttributes(TypeId tid)
{
    return tid
        .AddAttribute("Balancer",
                      "How data spreads over equally short ways: a name from "
                      "core/switch/balancer.c.",
                      StringValue("spray"), MakeStringAccessor(&EunomiaSwitch::m_balancerName),
                      MakeStringChecker())
        .AddAttribute("DrillSamples",
                      "drill: ways drawn for each packet (d in SIGCOMM 2017, which recommends 2).",
                      UintegerValue(eun_lb_defaults.drill_samples),
                      MakeUintegerAccessor(&EunomiaSwitch::m_drillSamples),
                      MakeUintegerChecker<uint32_t>(1, EUN_DRILL_MAX))
        .AddAttribute("DrillMemory",
                      "drill: best ways remembered from the packet before (m there, 1).",
                      UintegerValue(eun_lb_defaults.drill_memory),
                      MakeUintegerAccessor(&EunomiaSwitch::m_drillMemory),
                      MakeUintegerChecker<uint32_t>(0, EUN_DRILL_MAX))
        .AddAttribute(
            "FlowletTimeout",
            "letflow, conga: a longer gap between packets of a flow ends its flowlet, 0 or "
            "more (conweave-ns3: 100 us; NSDI 2017: 500 us).",
            TimeValue(PicoSeconds(eun_lb_defaults.flowlet_timeout_ps)),
            MakeTimeAccessor(&EunomiaSwitch::m_flowletTimeout), MakeTimeChecker(Time(0)))
        .AddAttribute(
            "DreInterval",
            "conga: every so long, 1 ns or more, a link's rate estimator forgets DreAlpha "
            "of what it holds (conweave-ns3: 50 us).",
            TimeValue(PicoSeconds(eun_lb_defaults.dre_interval_ps)),
            MakeTimeAccessor(&EunomiaSwitch::m_dreInterval), MakeTimeChecker(NanoSeconds(1)))
        .AddAttribute("DreAlpha",
                      "conga: see DreInterval, over this it is the estimator's time constant "
                      "(conweave-ns3: 0.2, so 250 us; SIGCOMM 2014: 160 us).",
                      DoubleValue(eun_lb_defaults.dre_alpha),
                      MakeDoubleAccessor(&EunomiaSwitch::m_dreAlpha),
                      MakeDoubleChecker<double>(0.001, 1))
        .AddAttribute("CongaBits", "conga: bits of a congestion level (SIGCOMM 2014: 3).",
                      UintegerValue(eun_lb_defaults.conga_bits),
                      MakeUintegerAccessor(&EunomiaSwitch::m_congaBits),
                      MakeUintegerChecker<uint32_t>(1, 3))
        .AddAttribute("CongaAging",
                      "conga: how long a reported level counts unless renewed, 1 ns or more "
                      "(conweave-ns3: 500 us; SIGCOMM 2014: 10 ms).",
                      TimeValue(PicoSeconds(eun_lb_defaults.conga_aging_ps)),
                      MakeTimeAccessor(&EunomiaSwitch::m_congaAging),
                      MakeTimeChecker(NanoSeconds(1)))
        .AddAttribute("CongaSample",
                      "conga: compares only so many adjacent uplinks, the first of them drawn; 0: "
                      "all, as in SIGCOMM 2014 (conweave-ns3: 4).",
                      UintegerValue(eun_lb_defaults.conga_sample),
                      MakeUintegerAccessor(&EunomiaSwitch::m_congaSample),
                      MakeUintegerChecker<uint32_t>());
}

TypeId EunomiaSwitch::AddDeflectAttributes(TypeId tid)
{
    return tid
        .AddAttribute(
            "DeflectHops",
            "deflect: a frame that has taken this many links is deflected no more, 0..240 "
            "(EuroSys 2014 uses IP's time to live, 255).",
            UintegerValue(eun_lb_defaults.deflect_hops),
            MakeUintegerAccessor(&EunomiaSwitch::m_deflectHops),
            MakeUintegerChecker<uint32_t>(0, EUN_DEFLECT_HOPS_MAX))
        .AddAttribute("DeflectThreshold",
                      "deflect: a port is full where its queue with the frame would be longer than "
                      "this at 100 Gb/s, in bytes; scales with the port's rate, as EcnMin.",
                      UintegerValue(eun_lb_defaults.deflect_bytes),
                      MakeUintegerAccessor(&EunomiaSwitch::m_deflectThreshold),
                      MakeUintegerChecker<uint32_t>())
        .AddAttribute("DeflectPriority",
                      "deflect: data priority, 1..7 and not lossless, that a frame has from its "
                      "first detour on; 0: it keeps its own. Queues that detours join in a circle "
                      "and PFC stop each other for good; where detours may drop, none does.",
                      UintegerValue(1), MakeUintegerAccessor(&EunomiaSwitch::m_deflectPriority),
                      MakeUintegerChecker<uint8_t>(0, EUN_PRIORITIES - 1));
}

TypeId EunomiaSwitch::AddSprayAttributes(TypeId tid)
{
    return tid
        .AddAttribute("ElephantBytes",
                      "elephant-spray: a flow that has sent this many bytes through its first "
                      "switch is sprayed; 0: every flow, 4294967295: none.",
                      UintegerValue(eun_lb_defaults.elephant_bytes),
                      MakeUintegerAccessor(&EunomiaSwitch::m_elephantBytes),
                      MakeUintegerChecker<uint32_t>())
        .AddAttribute("ElephantQueue",
                      "elephant-spray: a packet whose ECMP way has more than this queued at 100 "
                      "Gb/s, in bytes, is sprayed; scales with the port's rate; 0: never.",
                      UintegerValue(eun_lb_defaults.elephant_queue),
                      MakeUintegerAccessor(&EunomiaSwitch::m_elephantQueue),
                      MakeUintegerChecker<uint32_t>())
        .AddAttribute(
            "ElephantAging", "elephant-spray: a flow silent for longer starts anew, 1 ns or more.",
            TimeValue(PicoSeconds(eun_lb_defaults.elephant_aging_ps)),
            MakeTimeAccessor(&EunomiaSwitch::m_elephantAging), MakeTimeChecker(NanoSeconds(1)))
        .AddAttribute("AdaptiveGrades",
                      "adaptive: lengths of a queue at 100 Gb/s, in bytes, at which the next grade "
                      "of load begins: 1 to 8 numbers, ascending, with commas between; scale with "
                      "the port's rate.",
                      StringValue("2000,20000,100000"),
                      MakeStringAccessor(&EunomiaSwitch::m_adaptiveGrades), MakeStringChecker());
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
    : m_pool(SimulationSingleton<EunomiaFramePool>::Get()),
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
    std::string problem = SetUpBuffer();
    if (problem.empty()) {
        problem = SetUpBalancer();
    }
    if (!problem.empty()) {
        return problem;
    }
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
    config.reserve_bytes = m_reserve ? m_reserve : m_maxFrame;
    config.alpha = m_alpha;
    config.egress_alpha = m_egressAlpha;
    config.resume_bytes = m_resume;
    config.lossless_mask = m_pfc ? m_losslessMask : 0;
    config.max_frame_bytes = m_maxFrame;
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
    for (uint32_t i = 0; i < GetNPorts(); i++) {
        SetUpPort(i);
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
                                                        m_maxFrame, m_pauseFrame);
}

std::string EunomiaSwitch::SetUpBalancer()
{
    m_balancer = eun_balancer_find(m_balancerName.c_str());
    if (!m_balancer) {
        return "Balancer: there is no balancer " + m_balancerName;
    }
    const auto draw = [this] {
        return static_cast<uint64_t>(m_seeder->GetInteger(0, UINT32_MAX)) << 32 |
               m_seeder->GetInteger(0, UINT32_MAX);
    };
    m_salt = draw();
    eun_rng_seed(&m_rng, draw());
    m_facesHost.clear();
    for (const auto &port : m_ports) {
        const auto peer = port->GetPeer()->GetNode();
        m_facesHost.push_back(!peer || !peer->GetObject<EunomiaSwitch>());
    }
    if (m_balancer->divert && m_buffer.config.lossless_mask >> m_deflectPriority & 1) {
        return "DeflectPriority: detours of a lossless priority, such as " +
               std::to_string(m_deflectPriority) + ", can deadlock";
    }
    m_balancerState.assign((m_balancer->state_bytes + 7) / 8, 0);
    // ECMP hashes data and control alike, as a switch does: hence its salt.
    m_balancer->init(m_balancerState.data(), m_salt, GetNPorts());
    return m_balancer->configure ? ConfigureBalancer() : "";
}

std::string EunomiaSwitch::ConfigureBalancer()
{
    eun_lb_params params{};
    params.drill_samples = m_drillSamples;
    params.drill_memory = m_drillMemory;
    params.flowlet_timeout_ps = m_flowletTimeout.GetTimeStep();
    params.dre_interval_ps = m_dreInterval.GetTimeStep();
    params.dre_alpha = m_dreAlpha;
    params.conga_bits = m_congaBits;
    params.conga_aging_ps = m_congaAging.GetTimeStep();
    params.conga_sample = m_congaSample;
    params.deflect_hops = m_deflectHops;
    params.deflect_bytes = m_deflectThreshold;
    params.elephant_bytes = m_elephantBytes;
    params.elephant_queue = m_elephantQueue;
    params.elephant_aging_ps = m_elephantAging.GetTimeStep();
    const std::string grades = ReadGrades(&params);
    if (!grades.empty()) {
        return grades;
    }
    std::vector<uint64_t> rates;
    for (const auto &port : m_ports) {
        rates.push_back(port->GetRateBps());
    }
    eun_lb_network network{};
    if (m_leaves) {
        network.leaf = m_leaves->leaf.data();
        network.leaves = m_leaves->leaves;
        network.longest = m_leaves->longest;
    }
    for (const Group &group : m_routes) {
        network.widest = std::max(network.widest, group.count);
    }
    network.rate_bps = rates.data();
    network.to_host = m_facesHost.data();
    network.ports = GetNPorts();
    const char *problem = m_balancer->configure(m_balancerState.data(), &params, &network);
    return problem ? std::string("Balancer: ") + problem : "";
}

std::string EunomiaSwitch::ReadGrades(eun_lb_params *params) const
{
    const std::string problem = "AdaptiveGrades: '" + m_adaptiveGrades +
                                "' is no ascending list of 1 to " +
                                std::to_string(EUN_ADAPTIVE_MAX) + " lengths in bytes";
    // A comma more, so that an empty last number is one, too.
    std::istringstream list(m_adaptiveGrades + ",");
    std::string word;
    uint64_t before = 0;
    while (std::getline(list, word, ',')) {
        const bool digits = !word.empty() && word.size() <= 10 &&
                            word.find_first_not_of("0123456789") == std::string::npos;
        const uint64_t bytes = digits ? std::stoull(word) : 0;
        if (bytes <= before || bytes > UINT32_MAX || params->adaptive_grades == EUN_ADAPTIVE_MAX) {
            return problem;
        }
        params->adaptive_limit[params->adaptive_grades++] = static_cast<uint32_t>(bytes);
        before = bytes;
    }
    return "";
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
    const eun_lb_view view{ways, count, m_buffer.port_bytes, EunomiaNow(), m_facesHost[in] != 0};
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
    const uint32_t out = ChoosePort(frame, in);
    if (frame->priority == 0) {
        Sent(frame, out);
        m_port[out]->Send(frame);
        return;
    }
    const uint32_t priority = frame->priority;
    frame->inPort = static_cast<uint16_t>(in);
    const eun_drop_reason reason = m_policy->admit(&m_buffer, in, out, priority, frame->bytes);
    if (reason != EUN_DROP_NONE) {
        Drop(frame, reason);
        return;
    }
    Act(m_policy->stored(&m_buffer, in, priority, EunomiaNow()), in, priority);
    m_port[out]->Send(frame);
}

void EunomiaSwitch::Departs(EunomiaPort *port, EunomiaFrame *frame)
{
    const uint32_t in = frame->inPort;
    const uint32_t out = port->GetIfIndex();
    const uint32_t priority = frame->priority;
    m_policy->release(&m_buffer, in, out, priority, frame->bytes);
    Sent(frame, out);
    const double p = eun_buffer_mark_probability(&m_buffer, out, priority);
    if (p > 0 && eun_rng_unit(&m_rng) < p) {
        frame->ce = true;
        m_marks++;
        m_markTrace(*frame);
    }
    Act(m_policy->left(&m_buffer, in, priority, EunomiaNow()), in, priority);
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
