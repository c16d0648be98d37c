// SPDX-License-Identifier: GPL-2.0-only
/** Attributes of EunomiaNic and what they turn into. */
#include "eunomia-nic.h"

#include "ns3/abort.h"
#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/enum.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3 {

NS_OBJECT_ENSURE_REGISTERED(EunomiaNic);

TypeId EunomiaNic::GetTypeId()
{
    static TypeId tid =
        AddCongestionAttributes(
            AddOrderingAttributes(AddTransportAttributes(TypeId("ns3::EunomiaNic")
                                                             .SetParent<Object>()
                                                             .SetGroupName("Eunomia")
                                                             .AddConstructor<EunomiaNic>())))
            .AddTraceSource("Arrival", "A frame reached the NIC.",
                            MakeTraceSourceAccessor(&EunomiaNic::m_arrivalTrace),
                            "ns3::EunomiaPort::FrameTracedCallback")
            .AddTraceSource("Completion",
                            "A message completed at the sender: QP, bytes, time in the gate.",
                            MakeTraceSourceAccessor(&EunomiaNic::m_completionTrace),
                            "ns3::EunomiaNic::CompletionTracedCallback")
            .AddTraceSource("Pool", "Blocks in use and QPs that hold metadata changed.",
                            MakeTraceSourceAccessor(&EunomiaNic::m_poolTrace),
                            "ns3::EunomiaNic::PoolTracedCallback")
            .AddTraceSource("AllocationLatency",
                            "A packet made allocations; it has them this long after its arrival. "
                            "Silent where they take no time.",
                            MakeTraceSourceAccessor(&EunomiaNic::m_latencyTrace),
                            "ns3::EunomiaNic::AllocationTracedCallback")
            .AddTraceSource("ReorderBurst",
                            "A QP's burst of reordering ended, or crossed a full millisecond "
                            "(core/reorder/burst.h): responder QP, number of the flow whose packet "
                            "began it, burst. Connect before the QPs open.",
                            MakeTraceSourceAccessor(&EunomiaNic::m_burstTrace),
                            "ns3::EunomiaNic::BurstTracedCallback");
    return tid;
}

TypeId EunomiaNic::AddTransportAttributes(TypeId tid)
{
    return AddMprdmaAttributes(tid)
        .AddAttribute("Transport",
                      "What the ends do about order and loss: a name from "
                      "core/transport/transport.c.",
                      StringValue("eunomia"), MakeStringAccessor(&EunomiaNic::m_transportName),
                      MakeStringChecker())
        .AddAttribute("Verb", "send, write or write-imm.", StringValue("send"),
                      MakeStringAccessor(&EunomiaNic::m_verb), MakeStringChecker())
        .AddAttribute("Gate",
                      "When a Last packet may leave: none, sender, receiver; auto is none for "
                      "SEND and for transports that stay in order, else sender.",
                      StringValue("auto"), MakeStringAccessor(&EunomiaNic::m_gate),
                      MakeStringChecker())
        .AddAttribute("GateScope", "What the sender gate waits for: all of the qp, or the message.",
                      StringValue("qp"), MakeStringAccessor(&EunomiaNic::m_gateScope),
                      MakeStringChecker())
        .AddAttribute("Mtu", "Payload bytes of a full packet.", UintegerValue(1024),
                      MakeUintegerAccessor(&EunomiaNic::m_mtu),
                      MakeUintegerChecker<uint32_t>(1, 9000))
        .AddAttribute("FlatOverhead",
                      "Bytes added to each data packet, controls being 60 bytes; 0: the real "
                      "RoCEv2 lengths (core/wire/overhead.h).",
                      UintegerValue(0), MakeUintegerAccessor(&EunomiaNic::m_flatOverhead),
                      MakeUintegerChecker<uint32_t>(0, 1000))
        .AddAttribute("FirstPsn", "First PSN of every QP.", UintegerValue(0),
                      MakeUintegerAccessor(&EunomiaNic::m_firstPsn),
                      MakeUintegerChecker<uint32_t>())
        .AddAttribute(
            "Window",
            "Most payload bytes that a QP has in flight; 0: no limit. Transports irn, ddp and "
            "ddp-gbn need one of up to 4096 packets.",
            UintegerValue(0), MakeUintegerAccessor(&EunomiaNic::m_window),
            MakeUintegerChecker<uint32_t>())
        .AddAttribute("AckEvery", "In-order packets that one ACK covers.", UintegerValue(1),
                      MakeUintegerAccessor(&EunomiaNic::m_ackEvery),
                      MakeUintegerChecker<uint32_t>(1))
        .AddAttribute("SackEvery",
                      "Of this many packets that a QP holds, one is reported by a SACK; what the "
                      "sender asks about always is.",
                      UintegerValue(1), MakeUintegerAccessor(&EunomiaNic::m_sackEvery),
                      MakeUintegerChecker<uint32_t>(1))
        .AddAttribute("NackInterval", "A go-back-N NACK for the same PSN repeats after this.",
                      TimeValue(MicroSeconds(4)), MakeTimeAccessor(&EunomiaNic::m_nackInterval),
                      MakeTimeChecker(Time(0)))
        .AddAttribute("RetransmitTimeout",
                      "No progress for this long: send again. Transport irn has two of its own.",
                      TimeValue(MilliSeconds(4)), MakeTimeAccessor(&EunomiaNic::m_rto),
                      MakeTimeChecker(Time(1)))
        .AddAttribute("IrnRtoLow",
                      "Timeout of transport irn while at most IrnRtoLowPackets are in flight.",
                      TimeValue(MicroSeconds(100)), MakeTimeAccessor(&EunomiaNic::m_irnRtoLow),
                      MakeTimeChecker(Time(1)))
        .AddAttribute("IrnRtoHigh", "Timeout of transport irn while more packets are in flight.",
                      TimeValue(MicroSeconds(320)), MakeTimeAccessor(&EunomiaNic::m_irnRtoHigh),
                      MakeTimeChecker(Time(1)))
        .AddAttribute("IrnRtoLowPackets",
                      "Packets in flight up to which IrnRtoLow holds; 0: IrnRtoHigh always.",
                      UintegerValue(3), MakeUintegerAccessor(&EunomiaNic::m_irnRtoLowPackets),
                      MakeUintegerChecker<uint32_t>())
        .AddAttribute("IrnGoBack",
                      "Transport irn repeats all that is not known to have arrived once a packet "
                      "comes early, as in conweave-ns3 (core/transport/transport-irn.c).",
                      BooleanValue(false), MakeBooleanAccessor(&EunomiaNic::m_irnGoBack),
                      MakeBooleanChecker())
        .AddAttribute(
            "RetryLimit",
            "Timeouts in a row without progress before the QP fails. Transport irn, whose "
            "timeouts are shorter, makes as many more as fit in a RetransmitTimeout.",
            UintegerValue(7), MakeUintegerAccessor(&EunomiaNic::m_retryLimit),
            MakeUintegerChecker<uint32_t>(1));
}

TypeId EunomiaNic::AddOrderingAttributes(TypeId tid)
{
    return tid
        .AddAttribute("PoolBlocks", "2-byte blocks of the ordering layer's pool.",
                      UintegerValue(1024), MakeUintegerAccessor(&EunomiaNic::m_poolBlocks),
                      MakeUintegerChecker<uint32_t>())
        .AddAttribute("Banks", "Banks of the pool; a QP hashes to one.", UintegerValue(1),
                      MakeUintegerAccessor(&EunomiaNic::m_banks), MakeUintegerChecker<uint32_t>(1))
        .AddAttribute("AllocTime",
                      "Time that a bank takes for an allocation, up to 1 s; 0: none "
                      "(core/reorder/controller.h).",
                      TimeValue(NanoSeconds(10)), MakeTimeAccessor(&EunomiaNic::m_allocTime),
                      MakeTimeChecker(Time(0), Seconds(1)))
        .AddAttribute("Pipelines", "Ingress pipelines, each in order; a QP hashes to one.",
                      UintegerValue(1), MakeUintegerAccessor(&EunomiaNic::m_pipelineCount),
                      MakeUintegerChecker<uint32_t>(1, 1024))
        .AddAttribute("CacheBlocks",
                      "Allocations that a pipeline has ready for each bank; 0: no cache.",
                      UintegerValue(16), MakeUintegerAccessor(&EunomiaNic::m_cacheBlocks),
                      MakeUintegerChecker<uint32_t>(0, 1024))
        .AddAttribute("QpCap", "PSNs that a QP may hold ahead of its cumulative point.",
                      UintegerValue(256), MakeUintegerAccessor(&EunomiaNic::m_qpCap),
                      MakeUintegerChecker<uint32_t>(1, EUN_HD_CAP_MAX))
        .AddAttribute(
            "OrderingWindow",
            "irn, ddp, ddp-gbn: packets that the bitmap of a QP covers, rounded up to 64, "
            "up to 4096; what comes further ahead is dropped and NACKed. 0: as many as "
            "the Window. What NICs have is not public.",
            UintegerValue(0), MakeUintegerAccessor(&EunomiaNic::m_orderingWindow),
            MakeUintegerChecker<uint32_t>(0, EUN_FIXED_CAP_MAX))
        .AddAttribute("Reserve",
                      "Free blocks of the pool that only QPs which begin to reorder may take.",
                      UintegerValue(0), MakeUintegerAccessor(&EunomiaNic::m_reserve),
                      MakeUintegerChecker<uint32_t>())
        .AddAttribute("LinkMetadata",
                      "Where no 24 free blocks lie in a row, metadata is a chain of fragments.",
                      BooleanValue(true), MakeBooleanAccessor(&EunomiaNic::m_linkMetadata),
                      MakeBooleanChecker())
        .AddAttribute("IdleEpoch", "Time without reordering after which a QP's metadata goes back.",
                      TimeValue(MicroSeconds(256)), MakeTimeAccessor(&EunomiaNic::m_idleEpoch),
                      MakeTimeChecker(Time(1)))
        .AddAttribute("FallbackAfter",
                      "Memory refusals in a row without progress before a QP falls back to "
                      "go-back-N.",
                      UintegerValue(16), MakeUintegerAccessor(&EunomiaNic::m_fallbackAfter),
                      MakeUintegerChecker<uint32_t>(1))
        .AddAttribute("StagingLimit", "Last packets that the receiver gate can stage.",
                      UintegerValue(64), MakeUintegerAccessor(&EunomiaNic::m_stagingLimit),
                      MakeUintegerChecker<uint32_t>(0, EUN_STAGING_LIMIT_MAX))
        .AddAttribute("StagingRate",
                      "Rate of the DMA engine that copies staged Last packets to their place once "
                      "the gap before them has closed, one after the other, at least 1Mbps; "
                      "0bps: at once. The "
                      "default is about that of PCIe 4.0 x16.",
                      DataRateValue(DataRate("256Gbps")),
                      MakeDataRateAccessor(&EunomiaNic::m_stagingRate), MakeDataRateChecker());
}

std::string EunomiaNic::Configure()
{
    if (m_configured) {
        return "";
    }
    EunomiaRequirePicoseconds();
    NS_ABORT_MSG_UNLESS(m_port, "EunomiaNic: SetPort() comes before Configure()");
    std::string problem = ConfigureNames();
    if (problem.empty()) {
        problem = ConfigureGate();
    }
    if (problem.empty()) {
        problem = ConfigureStaging();
    }
    ConfigureLimits();
    if (problem.empty()) {
        problem = ConfigureOrdering();
    }
    if (!problem.empty()) {
        return problem;
    }
    problem = ConfigureCongestion();
    m_configured = problem.empty();
    return problem;
}

void EunomiaNic::ConfigureLimits()
{
    m_txEnv.mtu = m_mtu;
    m_txEnv.cap_psns = m_qpCap;
    m_txEnv.window_bytes = m_window;
    m_txEnv.rto_ps = m_rto.GetTimeStep();
    m_txEnv.retry_limit = m_retryLimit;
    m_rxEnv.nack_interval_ps = m_nackInterval.GetTimeStep();
    m_rxEnv.ack_every = m_ackEvery;
    m_rxEnv.sack_every = m_sackEvery;
    m_rxEnv.fallback_after = m_fallbackAfter;
}

std::string EunomiaNic::ConfigureNames()
{
    m_transport = eun_transport_find(m_transportName.c_str());
    if (!m_transport) {
        return "Transport: there is no transport " + m_transportName;
    }
    m_cc = eun_cc_find(m_ccName.c_str());
    if (!m_cc) {
        return "CongestionControl: there is no control " + m_ccName;
    }
    if (m_transport->own_congestion_control && m_cc != &eun_cc_none) {
        return "CongestionControl: transport " + m_transportName +
               " has a window of its own and takes none, not " + m_ccName;
    }
    if (!eun_overhead_choose(&m_overhead, m_verb.c_str(), m_flatOverhead,
                             !m_transport->tolerates_reordering)) {
        return "Verb: there is no verb " + m_verb;
    }
    if (m_transport->picks_paths) {
        eun_overhead_name_answers(&m_overhead);
    }
    return "";
}

std::string EunomiaNic::ConfigureGate()
{
    if (m_gate == "auto") {
        const bool hold =
            m_verb != "send" && m_transport->tolerates_reordering && !m_transport->pacing;
        m_txEnv.gate = hold ? EUN_GATE_SENDER : EUN_GATE_NONE;
    } else if (m_gate == "none") {
        m_txEnv.gate = EUN_GATE_NONE;
    } else if (m_gate == "sender") {
        m_txEnv.gate = EUN_GATE_SENDER;
    } else if (m_gate == "receiver") {
        m_txEnv.gate = EUN_GATE_RECEIVER;
    } else {
        return "Gate: there is no gate " + m_gate;
    }
    if (m_gateScope != "qp" && m_gateScope != "message") {
        return "GateScope: there is no scope " + m_gateScope;
    }
    m_txEnv.gate_scope_message = m_gateScope == "message";
    if (m_txEnv.gate == EUN_GATE_RECEIVER && m_transport->ordering == EUN_ORDERING_FIXED) {
        return "Gate: transport " + m_transportName + " has no staging, which gate receiver needs";
    }
    return "";
}

std::string EunomiaNic::ConfigureStaging()
{
    const uint64_t rate = m_stagingRate.GetBitRate();
    if (rate > 0 && rate < EUN_STAGING_RATE_MIN) {
        return "StagingRate: " + std::to_string(rate) + "bps is neither 0 nor 1Mbps or more";
    }
    // A later step may have failed before.
    eun_staging_dispose(&m_staging);
    if (m_txEnv.gate == EUN_GATE_RECEIVER) {
        NS_ABORT_MSG_UNLESS(eun_staging_init(&m_staging, m_stagingLimit, rate), "out of memory");
        m_rxEnv.staging = &m_staging;
    }
    return "";
}

std::string EunomiaNic::ConfigureOrdering()
{
    switch (m_transport->ordering) {
    case EUN_ORDERING_POOL:
        return ConfigurePool();
    case EUN_ORDERING_FIXED:
        return m_transport->pacing ? ConfigureMprdma() : ConfigureBitmap();
    default:
        return "";
    }
}

std::string EunomiaNic::ConfigureBitmap()
{
    const uint64_t packets = (uint64_t{m_window} + m_mtu - 1) / m_mtu;
    if (packets == 0 || packets > EUN_FIXED_CAP_MAX) {
        return "Window: transport " + m_transportName + " needs 1 to " +
               std::to_string(EUN_FIXED_CAP_MAX) + " packets, which its bitmap is for; " +
               std::to_string(m_window) + " bytes are " + std::to_string(packets);
    }
    const uint64_t covered = m_orderingWindow ? m_orderingWindow : packets;
    NS_ABORT_MSG_UNLESS(
        eun_fixed_shape_init(&m_shape, static_cast<uint32_t>((covered + 63) / 64 * 64)),
        "the window was checked");
    m_rxEnv.fixed = &m_shape;
    m_txEnv.cap_psns = m_shape.cap;
    m_txEnv.window_psns = static_cast<uint32_t>(packets);
    if (m_transport->short_timeouts) {
        ConfigureTimeouts();
    }
    return "";
}

void EunomiaNic::ConfigureTimeouts()
{
    m_txEnv.rto_ps = m_irnRtoHigh.GetTimeStep();
    m_txEnv.rto_low_ps = m_irnRtoLow.GetTimeStep();
    m_txEnv.rto_low_packets = m_irnRtoLowPackets;
    m_txEnv.irn_go_back = m_irnGoBack;
    // A QP gives up after as long a silence as with the one timeout of the other transports.
    const int64_t shortest = std::min(m_txEnv.rto_ps, m_txEnv.rto_low_ps);
    const int64_t more = std::max<int64_t>(1, m_rto.GetTimeStep() / shortest);
    m_txEnv.retry_limit = static_cast<uint32_t>(
        std::min<int64_t>(UINT32_MAX, std::min<int64_t>(UINT32_MAX, more) * m_retryLimit));
}

std::string EunomiaNic::ConfigurePool()
{
    eun_reorder_config config{};
    config.blocks = m_poolBlocks;
    config.banks = m_banks;
    config.cap_psns = m_qpCap;
    config.block_bits = 16;
    config.idle_epoch_ps = m_idleEpoch.GetTimeStep();
    config.reserve = m_reserve;
    config.chains = m_linkMetadata;
    if (m_reserve > m_poolBlocks) {
        return "Reserve: " + std::to_string(m_reserve) + " of " + std::to_string(m_poolBlocks) +
               " blocks";
    }
    eun_reorder_free(m_reorder);
    m_reorder = eun_reorder_new(&config);
    m_rxEnv.reorder = m_reorder;
    if (!m_reorder) {
        return "PoolBlocks: " + std::to_string(m_poolBlocks) + " blocks do not make " +
               std::to_string(m_banks) + " banks of at most 65,534";
    }
    return ConfigurePipelines();
}

std::string EunomiaNic::ConfigurePipelines()
{
    if (m_allocTime.IsZero()) {
        return "";
    }
    eun_controller_config config{};
    config.banks = m_banks;
    config.pipelines = m_pipelineCount;
    config.cache_blocks = m_cacheBlocks;
    config.service_ps = m_allocTime.GetTimeStep();
    EunomiaNicPipelines::Controller controller(eun_controller_new(&config), eun_controller_free);
    if (!controller) {
        return "CacheBlocks: " + std::to_string(m_cacheBlocks) + " for each of " +
               std::to_string(m_pipelineCount) + " pipelines and " + std::to_string(m_banks) +
               " banks are too many";
    }
    m_pipelines = std::make_unique<EunomiaNicPipelines>(std::move(controller), m_pipelineCount,
                                                        m_reorder, this);
    return "";
}

} // namespace ns3
