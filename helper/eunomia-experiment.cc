// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-experiment.h"

#include "core/switch/balancer.h"
#include "eunomia-scheduler.h"

#include "ns3/abort.h"
#include "ns3/config.h"
#include "ns3/object-factory.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulation-singleton.h"
#include "ns3/simulator.h"
#include "ns3/string.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <sys/resource.h>

namespace ns3 {

namespace {

/** Streams: the workload's first, then one per switch. */
constexpr int64_t WORKLOAD_STREAM = 0;
constexpr int64_t SWITCH_STREAM = int64_t{1} << 32;
/** Frame of conweave-ns3, which sets its switch constants whatever the payload. */
constexpr uint32_t CONWEAVE_FRAME = 1048;
/** The step at which switches mark for DCTCP lies that many times above the paper's least. */
constexpr double DCTCP_MARGIN = 2;
/** Longer than any run. */
constexpr const char *NO_TIMEOUT = "100000s";

std::string Picoseconds(int64_t ps)
{
    return std::to_string(ps) + "ps";
}

/** \throws EunomiaInputError where the options come to a value that the attribute cannot take */
void SetDefault(const std::string &name, const std::string &value)
{
    if (!Config::SetDefaultFailSafe("ns3::" + name, StringValue(value))) {
        throw EunomiaInputError("--ns3::" + name, 0, "", "cannot be " + value);
    }
}

void SetDefault(const std::string &name, uint64_t value)
{
    SetDefault(name, std::to_string(value));
}

/** Would ns-3 read a value of that type to its end? Where it does not, it ends the program. */
bool IsReadable(const std::string &type, const std::string &value)
{
    const std::string number = value.substr(0, value.find_first_not_of("+-0123456789.eE"));
    const std::string unit = value.substr(number.size());
    char *end = nullptr;
    std::strtod(number.c_str(), &end);
    const bool isNumber = !number.empty() && *end == '\0';
    if (type == "ns3::UintegerValue" || type == "ns3::IntegerValue") {
        return isNumber && unit.empty() && number.find_first_of(".eE") == std::string::npos;
    }
    if (type == "ns3::DoubleValue") {
        return isNumber && unit.empty();
    }
    if (type == "ns3::TimeValue") {
        static const std::set<std::string> units = {"",  "fs",  "ps", "ns", "us", "ms",
                                                    "s", "min", "h",  "d",  "y"};
        return isNumber && units.count(unit);
    }
    if (type == "DataRateValue") {
        return isNumber && unit.find_first_of(" \t\n") == std::string::npos;
    }
    return true;
}

/** The type of value that an attribute `ns3::Type::Attribute` takes, "" where there is none. */
std::string ValueType(const std::string &attribute)
{
    const size_t colons = attribute.rfind("::");
    TypeId tid;
    TypeId::AttributeInformation info;
    if (!TypeId::LookupByNameFailSafe(attribute.substr(0, colons), &tid) ||
        !tid.LookupAttributeByName(attribute.substr(colons + 2), &info)) {
        return "";
    }
    return info.checker->GetValueTypeName();
}

std::string BaseName(const std::string &path)
{
    return path.substr(path.find_last_of('/') + 1);
}

/** Base round trip as conweave-ns3 has it: the transmissions of 1,000 B one way, and no answer. */
int64_t ConweaveRtt(uint32_t links, const EunomiaOptions &options)
{
    return static_cast<int64_t>(
        links * (2 * options.linkDelayPs + 1000 * 8e12 / static_cast<double>(options.linkRateBps)));
}

/** Bytes that the hosts' rate moves in a round trip. */
uint64_t Bdp(int64_t rttPs, const EunomiaOptions &options)
{
    return static_cast<uint64_t>(static_cast<double>(rttPs) * 1e-12 *
                                 static_cast<double>(options.linkRateBps) / 8);
}

uint64_t PeakRss()
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

} // namespace

const char *EunomiaVersion()
{
    return EUNOMIA_VERSION;
}

EunomiaExperiment::EunomiaExperiment(const EunomiaOptions &options) : m_options(options)
{
    SetSeed();
    ObjectFactory scheduler;
    scheduler.SetTypeId(EunomiaScheduler::GetTypeId());
    Simulator::SetScheduler(scheduler);
    ReadTraffic();
    SetDefaults();
    SetAttributes();
    Build();
    OpenResults();
    Connect();
}

EunomiaExperiment::~EunomiaExperiment()
{
    m_progress.reset();
    m_sampler.reset();
    m_reorderLog.reset();
    m_driver.reset();
    m_fabric.reset();
    Simulator::Destroy();
}

void EunomiaExperiment::SetSeed()
{
    RngSeedManager::SetSeed(static_cast<uint32_t>(m_options.seed));
    RngSeedManager::SetRun(1);
}

// ---------------------------------------------------------------- input

void EunomiaExperiment::ReadTraffic()
{
    if (!m_options.flows.empty()) {
        std::vector<std::string> notes;
        m_flows = EunomiaReadFlowList(m_options.flows, m_options.Hosts(), &notes);
        for (const std::string &note : notes) {
            std::fprintf(stderr, "eunomia-sim: note: %s\n", note.c_str());
        }
        m_priorities = 0;
        for (const EunomiaFlow &flow : m_flows) {
            m_priorities = static_cast<uint8_t>(m_priorities | 1u << flow.priority);
        }
        if (!m_flows.empty()) {
            m_firstStart = m_flows.front().startPs;
            m_lastStart = m_flows.back().startPs;
        }
        return;
    }
    EunomiaWorkloadConfig config;
    config.hosts = m_options.Hosts();
    config.linkRateBps = m_options.linkRateBps;
    config.load = m_options.load;
    config.oversubscription = m_options.oversubscription;
    config.durationPs = m_options.durationPs;
    const EunomiaSizeCdf cdf = EunomiaSizeCdf::FromOption(m_options.workload);
    m_poisson = std::make_unique<EunomiaPoissonSource>(config, cdf, WORKLOAD_STREAM);
    m_lastStart = m_options.durationPs;
}

void EunomiaExperiment::SetDefaults()
{
    const EunomiaOptions &o = m_options;
    SetDefault("EunomiaLink::DataRate", std::to_string(o.linkRateBps) + "bps");
    SetDefault("EunomiaLink::Delay", Picoseconds(o.linkDelayPs));
    SetDefault("EunomiaSwitch::Balancer", o.lb);
    SetDefault("EunomiaSwitch::Pfc", o.pfc ? "true" : "false");
    SetDefault("EunomiaSwitch::ConweaveResumeExtra", o.pfc ? "64us" : "16us");
    SetDefault("EunomiaSwitch::DeflectPriority", o.pfc ? "1" : "0");
    SetDefault("EunomiaSwitch::BufferSize", o.bufferBytes);
    SetDefault("EunomiaSwitch::LosslessMask", m_priorities);
    SetDefault("EunomiaNic::Transport", o.transport);
    SetDefault("EunomiaNic::CongestionControl", o.cc);
    SetDefault("EunomiaNic::Verb", o.verb);
    SetDefault("EunomiaNic::Gate", o.gate);
    SetDefault("EunomiaNic::GateScope", o.gateScope);
    SetDefault("EunomiaNic::AckEvery", o.ackEvery);
    SetDefault("EunomiaNic::Mtu", o.mtu);
    SetDefault("EunomiaNic::FlatOverhead", o.flatOverhead);
    SetDefault("EunomiaNic::PoolBlocks", o.poolBlocks);
    SetDefault("EunomiaNic::Reserve", o.reserve);
    SetDefault("EunomiaNic::LinkMetadata", o.linkMetadata ? "true" : "false");
    SetDefault("EunomiaNic::QpCap", o.qpCap);
    SetDefault("EunomiaNic::Banks", o.banks);
    SetDefault("EunomiaNic::AllocTime", Picoseconds(o.allocTimePs));
    SetDefault("EunomiaNic::Pipelines", o.pipelines);
    SetDefault("EunomiaNic::CacheBlocks", o.cacheBlocks);
    eun_overhead overhead;
    const eun_transport &transport = *eun_transport_find(o.transport.c_str());
    const bool ordered = !transport.tolerates_reordering;
    NS_ABORT_MSG_UNLESS(eun_overhead_choose(&overhead, o.verb.c_str(), o.flatOverhead, ordered),
                        "the options were checked");
    if (transport.picks_paths) {
        eun_overhead_name_answers(&overhead);
    }
    SetDefault("EunomiaLink::Gap", overhead.gap);
    SetDefault("EunomiaSwitch::PauseFrame", overhead.pfc);
    const eun_path path{o.leaves > 1 ? 4u : 2u, o.linkRateBps, o.linkDelayPs, false};
    SetCongestion(overhead, path);
    const int64_t rtt = eun_base_rtt(&overhead, &path, o.mtu);
    if (transport.pacing) {
        SetDefault("EunomiaNic::MprdmaRtt", Picoseconds(rtt));
    }
    SetIdleEpoch(rtt);
    if (o.window == "bdp") {
        SetDefault("EunomiaNic::Window", Bdp(o.conweave ? ConweaveRtt(path.links, o) : rtt, o));
    } else if (o.window != "off") {
        SetDefault("EunomiaNic::Window", o.window);
    }
    if (o.conweave) {
        SetCompatibility();
    }
}

void EunomiaExperiment::SetCongestion(eun_overhead overhead, const eun_path &path)
{
    const eun_cc_signal signal = eun_cc_find(m_options.cc.c_str())->signal;
    if (signal == EUN_CC_SIGNAL_INT) {
        // As long as a frame gets, after the last switch.
        const uint32_t records = eun_int_bytes(path.links - 1);
        overhead.data += records;
        overhead.ack += records;
    }
    const int64_t rtt = eun_base_rtt(&overhead, &path, m_options.mtu);
    SetDefault("EunomiaSwitch::MaxFrame", eun_overhead_data(&overhead, m_options.mtu, true, true));
    SetDefault("EunomiaNic::BaseRtt", Picoseconds(rtt));
    const bool ownWindow = eun_transport_find(m_options.transport.c_str())->own_congestion_control;
    if (signal == EUN_CC_SIGNAL_ECHO || ownWindow) {
        // A step at K > C RTT/7 (Alizadeh et al., SIGCOMM 2010); the attributes are for 100 Gb/s.
        // MP-RDMA's threshold is not known to us. Its window shrinks with each mark as DCTCP's
        // does.
        const auto k = static_cast<uint64_t>(DCTCP_MARGIN * static_cast<double>(rtt) * 0.0125 / 7);
        SetDefault("EunomiaSwitch::EcnMin", k);
        SetDefault("EunomiaSwitch::EcnMax", k);
        SetDefault("EunomiaSwitch::EcnProbability", "1");
    }
}

void EunomiaExperiment::SetIdleEpoch(int64_t rttPs)
{
    int64_t ps = m_options.idleEpochPs;
    if (m_options.idleEpochRtts > 0) {
        const double product = m_options.idleEpochRtts * static_cast<double>(rttPs);
        if (product < 0.5 || product > 1e17) {
            throw EunomiaInputError("--idleEpoch", 0, "", "must be in 1 ps..100000 s");
        }
        ps = std::llround(product);
    }
    SetDefault("EunomiaNic::IdleEpoch", Picoseconds(ps));
}

void EunomiaExperiment::SetCompatibility()
{
    const double wire = 2.0 * static_cast<double>(m_options.linkRateBps) *
                        static_cast<double>(m_options.linkDelayPs) * 1e-12 / 8;
    SetDefault("EunomiaNic::EchoInAck", "true");
    SetDefault("EunomiaSwitch::BufferPolicy", "conweave-ns3");
    SetDefault("EunomiaSwitch::MaxFrame", CONWEAVE_FRAME);
    SetDefault("EunomiaSwitch::Headroom", static_cast<uint64_t>(wire) + 2 * CONWEAVE_FRAME);
    SetDefault("EunomiaSwitch::ResumeOffset", "16");
    SetDefault("EunomiaSwitch::PauseTime", "5us");
    SetDefault("EunomiaSwitch::ConweavePathBusy", "16us");
    SetDefault("EunomiaSwitch::ConweaveResumeExtra", "16us");
    SetDefault("EunomiaSwitch::ConweaveResumeDefault", "200us");
    SetDefault("EunomiaSwitch::ConweaveInactive", "300us");
    SetDefault("EunomiaSwitch::ConweaveLinkRtt", "2us");
    SetDefault("EunomiaSwitch::ConweaveQueues", uint64_t{EUN_LB_QUEUES});
    SetDefault("EunomiaSwitch::ConweaveHeader", "0");
    SetDefault("EunomiaSwitch::ConweaveAbort", "false");
    SetDefault("EunomiaSwitch::ConweaveTimerClears", "false");
    SetDefault("EunomiaSwitch::ConweaveBuffer", "false");
    SetDefault("EunomiaSwitch::CongaSample", 4);
    if (m_options.lb == "drill") {
        SetDefault("EunomiaSwitch::Balancer", "drill-conweave-ns3");
    }
    SetDefault("EunomiaNic::IrnGoBack", "true");
    if (m_options.pfc) {
        // Nothing is lost, so its IRN has no timer.
        SetDefault("EunomiaNic::IrnRtoLow", NO_TIMEOUT);
        SetDefault("EunomiaNic::IrnRtoHigh", NO_TIMEOUT);
    }
}

void EunomiaExperiment::SetAttributes()
{
    for (const auto &[name, value] : m_options.attributes) {
        const std::string type = ValueType(name);
        if (type.empty() || !IsReadable(type, value) ||
            !Config::SetDefaultFailSafe(name, StringValue(value))) {
            throw EunomiaInputError("--" + name, 0, "",
                                    "there is no such attribute, or '" + value +
                                        "' is no value of it; see --PrintAttributes");
        }
    }
}

void EunomiaExperiment::Build()
{
    m_fabric = std::make_unique<EunomiaFabric>();
    EunomiaBuildClos(*m_fabric, {m_options.leaves, m_options.spines, m_options.hostsPerLeaf});
    const std::string problem = m_fabric->Configure(SWITCH_STREAM);
    if (!problem.empty()) {
        throw EunomiaInputError("--" + problem.substr(0, problem.find(": ")), 0, "",
                                problem.substr(problem.find(": ") + 2));
    }
    m_multipath = eun_balancer_find(m_options.lb.c_str())->reorders ||
                  eun_transport_find(m_options.transport.c_str())->picks_paths;
}

uint64_t EunomiaExperiment::BdpBytes() const
{
    int64_t longest = 0;
    for (uint32_t h = 1; h < m_fabric->GetNHosts(); h++) {
        const int64_t theirs = ConweaveRtt(m_fabric->GetPathLength(0, h), m_options);
        longest = std::max(longest, m_options.conweave ? theirs : m_fabric->GetBaseRtt(0, h));
    }
    return Bdp(longest, m_options);
}

int64_t EunomiaExperiment::BaseRttPs() const
{
    int64_t longest = 0;
    for (uint32_t h = 1; h < m_fabric->GetNHosts(); h++) {
        longest = std::max(longest, m_fabric->GetBaseRtt(0, h));
    }
    return longest;
}

void EunomiaExperiment::OpenResults()
{
    EunomiaResultOptions options;
    options.force = m_options.force;
    options.bdpBytes = BdpBytes();
    options.timeseries = m_options.samplePs > 0;
    options.legacy = m_options.legacy ? EunomiaLegacy::CONWEAVE : EunomiaLegacy::NONE;
    m_writer = std::make_unique<EunomiaResultWriter>(m_options.out, options);
}

// ---------------------------------------------------------------- run

void EunomiaExperiment::Connect()
{
    const auto source = [this](EunomiaFlow *flow) {
        if (m_poisson) {
            return m_poisson->Next(flow);
        }
        if (m_nextFlow == m_flows.size()) {
            return false;
        }
        *flow = m_flows[m_nextFlow++];
        return true;
    };
    m_driver = std::make_unique<EunomiaFlowDriver>(
        *m_fabric, source, [this](const EunomiaFlowRecord &r) { ReportFlow(r); },
        m_options.qpPerPair ? EunomiaFlowDriver::Qps::PerPair : EunomiaFlowDriver::Qps::PerFlow,
        m_multipath);
    m_progress = std::make_unique<EunomiaProgress>(*m_fabric, *m_driver, m_firstStart, m_lastStart);
    if (m_options.samplePs > 0) {
        m_sampler =
            std::make_unique<EunomiaSampler>(*m_fabric, *m_driver, *m_writer, m_options.samplePs);
        m_sampler->Start(m_firstStart);
    }
    if (m_options.reorderLog) {
        m_reorderLog = std::make_unique<EunomiaReorderLog>(*m_fabric, *m_writer);
    }
    for (uint32_t s = 0; s < m_fabric->GetNSwitches(); s++) {
        m_fabric->GetSwitch(s)->TraceConnectWithoutContext(
            "Pause", MakeCallback(&EunomiaExperiment::SendPause, this).Bind(s));
    }
    m_driver->SetLastStarted([this] { ScheduleDrain(); });
    m_driver->SetAllEnded([this] {
        // Monitors end here, so the run ends when the last frame and timer are gone.
        Simulator::Remove(m_drain);
        m_progress->Stop();
        if (m_sampler) {
            m_sampler->Stop();
        }
    });
}

void EunomiaExperiment::ScheduleDrain()
{
    m_drain = Simulator::Schedule(TimeStep(m_options.drainPs), [] { Simulator::Stop(); });
}

void EunomiaExperiment::ReportFlow(const EunomiaFlowRecord &record)
{
    if (record.startPs >= m_firstStart + m_options.warmupPs) {
        m_writer->Flow(record);
    }
}

void EunomiaExperiment::SendPause(uint32_t sw, uint32_t port, uint32_t priority, bool xoff)
{
    m_writer->Pfc(EunomiaNow(), m_fabric->GetSwitches().Get(sw)->GetId(), port, priority, xoff);
}

EunomiaExperiment::Status EunomiaExperiment::Run()
{
    const auto begin = std::chrono::steady_clock::now();
    m_progress->Start();
    m_driver->Start();
    Simulator::Run();
    m_progress->Stop();
    m_wallS = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (m_reorderLog) {
        m_reorderLog->Finish();
    }
    m_unfinished = m_driver->ReportUnfinished();
    CheckInvariants();
    m_writer->Finish(Summarise());
    return Verdict();
}

void EunomiaExperiment::CheckInvariants()
{
    if (!m_fabric->Conserved(&m_problem)) {
        return;
    }
    if (m_driver->GetEarly()) {
        m_problem = std::to_string(m_driver->GetEarly()) + " flows completed before every packet "
                                                           "had arrived";
    }
}

EunomiaExperiment::Status EunomiaExperiment::Verdict() const
{
    if (!m_problem.empty()) {
        std::fprintf(stderr, "eunomia-sim: internal inconsistency: %s\n", m_problem.c_str());
        return INCONSISTENT;
    }
    if (m_unfinished || m_driver->GetFailed()) {
        std::fprintf(stderr,
                     "eunomia-sim: %llu of %llu flows did not finish within --drain, %llu failed; "
                     "flows.csv marks them\n",
                     static_cast<unsigned long long>(m_unfinished),
                     static_cast<unsigned long long>(m_driver->GetStarted()),
                     static_cast<unsigned long long>(m_driver->GetFailed()));
        return UNFINISHED;
    }
    if (m_driver->GetStarted() == 0) {
        std::fprintf(stderr, "eunomia-sim: no flow started\n");
        return UNFINISHED;
    }
    return DONE;
}

// ---------------------------------------------------------------- results

EunomiaSummary EunomiaExperiment::Summarise() const
{
    EunomiaSummary s;
    s.version = EunomiaVersion();
    DescribeConfig(s);
    const EunomiaFabric::Totals totals = m_fabric->GetTotals();
    s.pfc.pauses = totals.pauses;
    s.pfc.pausedPs = totals.pausedPs;
    s.drops = totals.dropped;
    s.deflected = totals.deflected;
    s.ecnMarks = totals.marks;
    s.packets.hops = totals.hops;
    s.bytes.hops = totals.hopBytes;
    for (uint32_t h = 0; h < m_fabric->GetNHosts(); h++) {
        const auto nic = m_fabric->GetNic(h);
        const auto add = [&nic, &s](uint64_t EunomiaTraffic::*field, EunomiaFrameKind kind) {
            s.packets.*field += nic->GetFramesMade(kind);
            s.bytes.*field += nic->GetBytesMade(kind);
        };
        add(&EunomiaTraffic::data, EunomiaFrameKind::Data);
        add(&EunomiaTraffic::ack, EunomiaFrameKind::Ack);
        add(&EunomiaTraffic::sack, EunomiaFrameKind::Sack);
        add(&EunomiaTraffic::nack, EunomiaFrameKind::Nack);
        add(&EunomiaTraffic::cnp, EunomiaFrameKind::Cnp);
        s.packets.retransmitted += nic->GetRetransmitted();
        s.bytes.retransmitted += nic->GetRetransmittedBytes();
        s.reorder.outOfOrder += nic->GetOutOfOrder();
    }
    const auto &spans = SimulationSingleton<EunomiaFlowTable>::Get()->GetSpans();
    s.reorder.spans.assign(spans.begin(), spans.end());
    for (size_t span = 0; span < spans.size(); span++) {
        s.reorder.maxSpan = spans[span] ? span : s.reorder.maxSpan;
    }
    SummarisePool(s);
    SummariseEdge(s);
    s.gate.completions = m_driver->GetCompletions();
    s.gate.early = m_driver->GetEarly();
    s.gate.meanWaitNs = s.gate.completions ? static_cast<double>(m_driver->GetGateWait()) / 1000 /
                                                 static_cast<double>(s.gate.completions)
                                           : 0;
    s.conservation.framesSent = totals.made;
    s.conservation.delivered = totals.delivered;
    s.conservation.dropped = totals.dropped;
    s.conservation.inFlight = totals.queued + totals.inFlight;
    s.conservation.bufferBytesLeft = totals.bufferBytes;
    s.timing.wallS = m_wallS;
    s.timing.events = Simulator::GetEventCount();
    s.timing.peakRssBytes = PeakRss();
    return s;
}

void EunomiaExperiment::SummarisePool(EunomiaSummary &s) const
{
    eun_wait_histogram latencies{};
    for (uint32_t h = 0; h < m_fabric->GetNHosts(); h++) {
        const auto nic = m_fabric->GetNic(h);
        s.pool.fallback += nic->GetFallbacks();
        s.pool.bytesPeak = std::max(s.pool.bytesPeak, nic->GetBitmapBytes());
        if (!nic->GetReorder()) {
            continue;
        }
        const struct eun_reorder_stats *p = eun_reorder_stats(nic->GetReorder());
        s.pool.blocksPeak = std::max<uint64_t>(s.pool.blocksPeak, p->blocks_peak);
        s.pool.qpsActivePeak = std::max<uint64_t>(s.pool.qpsActivePeak, p->qps_active_peak);
        s.pool.alloc += p->alloc;
        s.pool.allocMiss += p->alloc_miss;
        s.pool.capHit += p->cap_hit;
        s.pool.merge += p->merge;
        s.pool.reclaim += p->reclaim + p->reclaim_early;
        s.pool.chain += p->chain;
        s.pool.widen += p->widen;
        s.pool.reclaimEarly += p->reclaim_early;
        s.pool.growthRefused += p->growth_refused;
        s.pool.metadataRefused += p->metadata_refused;
        s.pool.fragmented += p->fragmented;
        if (nic->GetController()) {
            eun_wait_histogram_add(&latencies, eun_controller_latencies(nic->GetController()));
        }
    }
    s.pool.bytesPeak = std::max(s.pool.bytesPeak, 2 * s.pool.blocksPeak);
    if (s.pool.alloc > 0) {
        // Nothing is counted where allocations take no time.
        const int64_t p99 = eun_wait_histogram_quantile(&latencies, 0.99);
        s.pool.allocLatencyP99Ns = static_cast<double>(std::max<int64_t>(p99, 0)) / 1000;
    }
}

void EunomiaExperiment::SummariseEdge(EunomiaSummary &s) const
{
    for (uint32_t i = 0; i < m_fabric->GetNSwitches(); i++) {
        const auto sw = m_fabric->GetSwitch(i);
        const eun_lb_edge_stats *e = sw->GetEdgeStats();
        if (!e) {
            return;
        }
        s.edgeName = m_options.lb;
        s.packets.signal += sw->GetSignalsMade();
        s.edge.epochs += e->epochs;
        s.edge.repliesInTime += e->replies_in_time;
        s.edge.repliesLate += e->replies_late;
        s.edge.reroutes += e->reroutes;
        s.edge.aborts += e->aborts;
        s.edge.notified += e->notified;
        s.edge.untracked += e->untracked;
        s.edge.holds += e->holds;
        s.edge.queuesPeak = std::max(s.edge.queuesPeak, e->queues_peak);
        s.edge.heldPeak = std::max(s.edge.heldPeak, e->held_peak);
        s.edge.tailFlushes += e->tail_flushes;
        s.edge.timerFlushes += e->timer_flushes;
        s.edge.earlyFlushes += e->early_flushes;
        s.edge.noQueue += e->no_queue;
    }
    s.bytes.signal = s.packets.signal * EunomiaSwitch::SIGNAL_BYTES;
}

void EunomiaExperiment::DescribeConfig(EunomiaSummary &s) const
{
    const EunomiaOptions &o = m_options;
    auto &c = s.config;
    c.emplace_back("topology", std::string("clos"));
    c.emplace_back("leaves", uint64_t{o.leaves});
    c.emplace_back("spines", uint64_t{o.spines});
    c.emplace_back("hostsPerLeaf", uint64_t{o.hostsPerLeaf});
    c.emplace_back("linkRate_bps", o.linkRateBps);
    c.emplace_back("linkDelay_ps", o.linkDelayPs);
    if (o.flows.empty()) {
        c.emplace_back("workload", BaseName(o.workload));
        c.emplace_back("load", o.load);
        c.emplace_back("oversubscription", o.oversubscription);
        c.emplace_back("duration_ps", o.durationPs);
    } else {
        c.emplace_back("flows", BaseName(o.flows));
    }
    c.emplace_back("warmup_ps", o.warmupPs);
    c.emplace_back("drain_ps", o.drainPs);
    c.emplace_back("qp", std::string(o.qpPerPair ? "pair" : "flow"));
    c.emplace_back("compat", std::string(o.conweave ? "conweave-ns3" : "none"));
    c.emplace_back("lb", o.lb);
    c.emplace_back("transport", o.transport);
    c.emplace_back("cc", o.cc);
    c.emplace_back("window", o.window);
    c.emplace_back("pfc", o.pfc);
    c.emplace_back("mtu", uint64_t{o.mtu});
    c.emplace_back("overhead", o.flatOverhead ? std::to_string(o.flatOverhead) : "roce");
    c.emplace_back("verb", o.verb);
    const char *const gates[] = {"none", "sender", "receiver"};
    const auto nic = m_fabric->GetNic(0);
    c.emplace_back("gate", std::string(nic->Synchronises() ? "sync" : gates[nic->GetGate()]));
    c.emplace_back("seed", o.seed);
    c.emplace_back("sample_ps", o.samplePs);
    c.emplace_back("bdp_bytes", BdpBytes());
    c.emplace_back("base_rtt_ps", BaseRttPs());
    TimeValue epoch;
    m_fabric->GetNic(0)->GetAttribute("IdleEpoch", epoch);
    c.emplace_back("idleEpoch_ps", epoch.Get().GetTimeStep());
    const Ptr<Object> samples[] = {m_fabric->GetNic(0), m_fabric->GetSwitch(0),
                                   m_fabric->GetLinks()[0]};
    for (const auto &object : samples) {
        const TypeId tid = object->GetInstanceTypeId();
        for (size_t i = 0; i < tid.GetAttributeN(); i++) {
            StringValue value;
            object->GetAttribute(tid.GetAttribute(i).name, value);
            c.emplace_back(tid.GetAttributeFullName(i), value.Get());
        }
    }
}

} // namespace ns3
