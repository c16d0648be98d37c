// SPDX-License-Identifier: GPL-2.0-only
/** What EunomiaSwitch does to set up its balancer: attributes, parameters, the network. */
#include "eunomia-link.h"
#include "eunomia-switch.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <sstream>

namespace ns3 {

namespace {

/** Sums of a few of these stay far from the end of 64 bits of picoseconds. */
Time Longest()
{
    return Seconds(1000);
}

} // namespace

TypeId EunomiaSwitch::AddBalancerAttributes(TypeId tid)
{
    tid = AddPathAttributes(tid);
    tid = AddDeflectAttributes(tid);
    tid = AddSprayAttributes(tid);
    tid = AddConweaveAttributes(tid);
    return AddConweaveModelAttributes(tid);
}

TypeId EunomiaSwitch::AddPathAttributes(TypeId tid)
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

TypeId EunomiaSwitch::AddConweaveAttributes(TypeId tid)
{
    const eun_conweave_params &d = eun_lb_defaults.conweave;
    return tid
        .AddAttribute("ConweaveReplyExtra",
                      "conweave: a flow whose probe is not answered within the unloaded round "
                      "trip and so long is rerouted, 0..1000 s (SIGCOMM 2023: 4 us).",
                      TimeValue(PicoSeconds(d.reply_extra_ps)),
                      MakeTimeAccessor(&EunomiaSwitch::m_conweaveReplyExtra),
                      MakeTimeChecker(Time(0), Longest()))
        .AddAttribute("ConweavePathBusy",
                      "conweave: how long a path is avoided after a mark (CE) on it, 0..1000 s "
                      "(SIGCOMM 2023: 8 us; conweave-ns3: 16 us).",
                      TimeValue(PicoSeconds(d.path_busy_ps)),
                      MakeTimeAccessor(&EunomiaSwitch::m_conweavePathBusy),
                      MakeTimeChecker(Time(0), Longest()))
        .AddAttribute("ConweaveResumeExtra",
                      "conweave: held frames go on so long after the time at which the tail of "
                      "the old path should have come, 0..1000 s (SIGCOMM 2023: 64 us in lossless "
                      "networks, else 16 us, which eunomia-sim sets with --pfc=off; conweave-ns3: "
                      "16 us).",
                      TimeValue(PicoSeconds(d.resume_extra_ps)),
                      MakeTimeAccessor(&EunomiaSwitch::m_conweaveResumeExtra),
                      MakeTimeChecker(Time(0), Longest()))
        .AddAttribute("ConweaveResumeDefault",
                      "conweave: ... where no packet of the old path was seen that would tell, "
                      "0..1000 s (conweave-ns3: 200 us).",
                      TimeValue(PicoSeconds(d.resume_default_ps)),
                      MakeTimeAccessor(&EunomiaSwitch::m_conweaveResumeDefault),
                      MakeTimeChecker(Time(0), Longest()))
        .AddAttribute("ConweaveInactive",
                      "conweave: a flow that was silent for longer takes a new path at once, 1 us "
                      "to 30 ms (SIGCOMM 2023: 300 us).",
                      TimeValue(PicoSeconds(d.inactive_ps)),
                      MakeTimeAccessor(&EunomiaSwitch::m_conweaveInactive),
                      MakeTimeChecker(MicroSeconds(1), MilliSeconds(30)))
        .AddAttribute("ConweaveQueues",
                      "conweave: reordering queues of a port; a flow that finds none free is not "
                      "put in order (SIGCOMM 2023: 31 at 100 Gb/s; conweave-ns3: no limit).",
                      UintegerValue(d.queues_per_port),
                      MakeUintegerAccessor(&EunomiaSwitch::m_conweaveQueues),
                      MakeUintegerChecker<uint32_t>(0, EUN_LB_QUEUES));
}

TypeId EunomiaSwitch::AddConweaveModelAttributes(TypeId tid)
{
    const eun_conweave_params &d = eun_lb_defaults.conweave;
    return tid
        .AddAttribute("ConweaveHeader",
                      "conweave: bytes that data grows by between its first and last switch "
                      "(SIGCOMM 2023: 4; conweave-ns3: 0).",
                      UintegerValue(d.header_bytes),
                      MakeUintegerAccessor(&EunomiaSwitch::m_conweaveHeader),
                      MakeUintegerChecker<uint32_t>(0, 64))
        .AddAttribute(
            "ConweaveLinkRtt",
            "conweave: unloaded round trip of each link between first and last switch; "
            "0: computed from delays, rates and frames, at most 1000 s (conweave-ns3: 2 us).",
            TimeValue(PicoSeconds(d.rtt_per_link_ps)),
            MakeTimeAccessor(&EunomiaSwitch::m_conweaveLinkRtt),
            MakeTimeChecker(Time(0), Longest()))
        .AddAttribute("ConweaveAbort",
                      "conweave: a flow stays where both paths drawn are busy (SIGCOMM 2023). "
                      "False: it ends its path and begins it again, as in conweave-ns3.",
                      BooleanValue(d.abort), MakeBooleanAccessor(&EunomiaSwitch::m_conweaveAbort),
                      MakeBooleanChecker())
        .AddAttribute("ConweaveTimerClears",
                      "conweave: the source learns of frames released without their tail, so that "
                      "it may reroute again (SIGCOMM 2023). False: it does not, as in "
                      "conweave-ns3.",
                      BooleanValue(d.timer_clears),
                      MakeBooleanAccessor(&EunomiaSwitch::m_conweaveTimerClears),
                      MakeBooleanChecker())
        .AddAttribute("ConweaveBuffer",
                      "conweave: held frames lie in the shared buffer. False: outside of it, and "
                      "they ask for room as they are released, as in conweave-ns3.",
                      BooleanValue(true), MakeBooleanAccessor(&EunomiaSwitch::m_conweaveBuffer),
                      MakeBooleanChecker());
}

std::string EunomiaSwitch::FindBalancer()
{
    m_balancer = eun_balancer_find(m_balancerName.c_str());
    if (!m_balancer) {
        return "Balancer: there is no balancer " + m_balancerName;
    }
    m_edge = m_balancer->edge;
    if (m_edge) {
        const eun_lb_params params = BalancerParams();
        m_headerBytes = m_edge->header_bytes(&params);
        m_held.resize(EUN_LB_QUEUES);
    }
    return "";
}

std::string EunomiaSwitch::SetUpBalancer()
{
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

eun_lb_params EunomiaSwitch::BalancerParams() const
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
    params.conweave.reply_extra_ps = m_conweaveReplyExtra.GetTimeStep();
    params.conweave.path_busy_ps = m_conweavePathBusy.GetTimeStep();
    params.conweave.resume_extra_ps = m_conweaveResumeExtra.GetTimeStep();
    params.conweave.resume_default_ps = m_conweaveResumeDefault.GetTimeStep();
    params.conweave.inactive_ps = m_conweaveInactive.GetTimeStep();
    params.conweave.rtt_per_link_ps = m_conweaveLinkRtt.GetTimeStep();
    params.conweave.queues_per_port = m_conweaveQueues;
    params.conweave.header_bytes = m_conweaveHeader;
    params.conweave.abort = m_conweaveAbort;
    params.conweave.timer_clears = m_conweaveTimerClears;
    return params;
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

std::vector<eun_lb_leaf_way> EunomiaSwitch::GetLeafWays() const
{
    std::vector<eun_lb_leaf_way> ways;
    for (const EunomiaLeafWay &way : m_leafWays) {
        const auto link = DynamicCast<EunomiaLink>(m_ports[0]->GetChannel());
        const double bytes = m_maxFrame + m_headerBytes + SIGNAL_BYTES + 2.0 * link->GetGap();
        const auto wire = static_cast<int64_t>(bytes * way.psPerByte + 0.5);
        ways.push_back({way.links, way.paths, 2 * way.delayPs + wire});
    }
    return ways;
}

std::string EunomiaSwitch::ConfigureBalancer()
{
    eun_lb_params params = BalancerParams();
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
    m_toLeaf = GetLeafWays();
    network.to_leaf = m_toLeaf.empty() ? nullptr : m_toLeaf.data();
    const char *problem = m_balancer->configure(m_balancerState.data(), &params, &network);
    return problem ? std::string("Balancer: ") + problem : "";
}

} // namespace ns3
