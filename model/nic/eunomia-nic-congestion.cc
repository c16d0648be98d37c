// SPDX-License-Identifier: GPL-2.0-only
/** What EunomiaNic does for congestion control: its attributes, and what it tells a control. */
#include "eunomia-nic.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3 {

TypeId EunomiaNic::AddCongestionAttributes(TypeId tid)
{
    return AddTimelyAttributes(AddDcqcnAttributes(tid))
        .AddAttribute(
            "CongestionControl", "How fast a QP sends: a name from core/congestion/congestion.c.",
            StringValue("dcqcn"), MakeStringAccessor(&EunomiaNic::m_ccName), MakeStringChecker())
        .AddAttribute("BaseRtt",
                      "Longest round trip of a full packet in the empty network, for the controls "
                      "that start from it: the default is that of two tiers at 100 Gb/s and 1 us a "
                      "link. eunomia-sim computes it.",
                      TimeValue(NanoSeconds(8400)), MakeTimeAccessor(&EunomiaNic::m_baseRtt),
                      MakeTimeChecker(NanoSeconds(1), Seconds(300000)))
        .AddAttribute(
            "CnpInterval",
            "At most one CNP per QP in this time, for controls that live on CNPs (dcqcn).",
            TimeValue(MicroSeconds(4)), MakeTimeAccessor(&EunomiaNic::m_cnpInterval),
            MakeTimeChecker(Time(0)))
        .AddAttribute("EchoInAck",
                      "Congestion notifications travel in every ACK and NACK of a marked packet "
                      "and in every out-of-order NACK, as in conweave-ns3, instead of CNP frames.",
                      BooleanValue(false), MakeBooleanAccessor(&EunomiaNic::m_echoInAck),
                      MakeBooleanChecker())
        .AddAttribute("HpccEta",
                      "hpcc: utilisation of the busiest link aimed at (SIGCOMM 2019: 0.95).",
                      DoubleValue(0.95), MakeDoubleAccessor(&EunomiaNic::m_hpccEta),
                      MakeDoubleChecker<double>(0.01, 1))
        .AddAttribute("HpccMaxStage",
                      "hpcc: additive increases in a row before the window is scaled anyway (5 "
                      "there).",
                      UintegerValue(5), MakeUintegerAccessor(&EunomiaNic::m_hpccMaxStage),
                      MakeUintegerChecker<uint32_t>())
        .AddAttribute(
            "HpccIncrease",
            "hpcc: additive increase W_AI in bytes of the wire (80 there; its rule is (1 - "
            "eta) x rate x BaseRtt / flows that share a link).",
            UintegerValue(80), MakeUintegerAccessor(&EunomiaNic::m_hpccIncrease),
            MakeUintegerChecker<uint32_t>(1))
        .AddAttribute("DctcpGain", "dctcp: g, the gain of alpha (SIGCOMM 2010: 1/16).",
                      DoubleValue(1.0 / 16), MakeDoubleAccessor(&EunomiaNic::m_dctcpGain),
                      MakeDoubleChecker<double>(0, 1));
}

TypeId EunomiaNic::AddTimelyAttributes(TypeId tid)
{
    return tid
        .AddAttribute("TimelySegment",
                      "timely: payload bytes between the packets whose round trip is measured "
                      "(SIGCOMM 2015: segments of 16 to 64 KB).",
                      UintegerValue(16384), MakeUintegerAccessor(&EunomiaNic::m_timelySegment),
                      MakeUintegerChecker<uint32_t>(1))
        .AddAttribute("TimelyAlpha", "timely: weight of the newest difference (0.875 there).",
                      DoubleValue(0.875), MakeDoubleAccessor(&EunomiaNic::m_timelyAlpha),
                      MakeDoubleChecker<double>(0, 1))
        .AddAttribute("TimelyBeta", "timely: decrease factor (0.8 there).", DoubleValue(0.8),
                      MakeDoubleAccessor(&EunomiaNic::m_timelyBeta),
                      MakeDoubleChecker<double>(0, 1))
        .AddAttribute("TimelyMinRtt",
                      "timely: what gradients are normalised by, and least time between two "
                      "updates of the rate; 0: BaseRtt.",
                      TimeValue(Time(0)), MakeTimeAccessor(&EunomiaNic::m_timelyMinRtt),
                      MakeTimeChecker(Time(0)))
        .AddAttribute("TimelyLow",
                      "timely: below this round trip the rate always rises; 0: 2.5 x TimelyMinRtt, "
                      "as the 50 us and 20 us there.",
                      TimeValue(Time(0)), MakeTimeAccessor(&EunomiaNic::m_timelyLow),
                      MakeTimeChecker(Time(0)))
        .AddAttribute("TimelyHigh",
                      "timely: above it the rate always falls; 0: 25 x TimelyMinRtt, as the 500 us "
                      "and 20 us there.",
                      TimeValue(Time(0)), MakeTimeAccessor(&EunomiaNic::m_timelyHigh),
                      MakeTimeChecker(Time(0)))
        .AddAttribute("TimelyRateAi",
                      "timely: additive increase delta; 1/1000 of 100 Gb/s, as the 10 Mb/s at 10 "
                      "Gb/s there.",
                      DataRateValue(DataRate("100Mbps")),
                      MakeDataRateAccessor(&EunomiaNic::m_timelyRateAi), MakeDataRateChecker())
        .AddAttribute("TimelyRateMin",
                      "timely: lowest rate, as DcqcnRateMin; the line's where that is lower.",
                      DataRateValue(DataRate("100Mbps")),
                      MakeDataRateAccessor(&EunomiaNic::m_timelyRateMin), MakeDataRateChecker());
}

TypeId EunomiaNic::AddDcqcnAttributes(TypeId tid)
{
    return tid
        .AddAttribute("DcqcnGain", "g of DCQCN.", DoubleValue(1.0 / 256),
                      MakeDoubleAccessor(&EunomiaNic::m_gain), MakeDoubleChecker<double>(0, 1))
        .AddAttribute("DcqcnAlphaInterval", "Time between updates of alpha.",
                      TimeValue(MicroSeconds(1)), MakeTimeAccessor(&EunomiaNic::m_alphaInterval),
                      MakeTimeChecker(Time(1)))
        .AddAttribute("DcqcnDecreaseInterval", "Time between checks for a rate decrease.",
                      TimeValue(MicroSeconds(4)), MakeTimeAccessor(&EunomiaNic::m_decreaseInterval),
                      MakeTimeChecker(Time(1)))
        .AddAttribute("DcqcnIncreaseInterval", "Time between rate increases.",
                      TimeValue(MicroSeconds(300)),
                      MakeTimeAccessor(&EunomiaNic::m_increaseInterval), MakeTimeChecker(Time(1)))
        .AddAttribute("DcqcnFastRecoverySteps", "F of DCQCN.", UintegerValue(1),
                      MakeUintegerAccessor(&EunomiaNic::m_fastRecovery),
                      MakeUintegerChecker<uint32_t>())
        .AddAttribute("DcqcnRateAi", "Additive increase.", DataRateValue(DataRate("40Mbps")),
                      MakeDataRateAccessor(&EunomiaNic::m_rateAi), MakeDataRateChecker())
        .AddAttribute("DcqcnRateHai", "Hyper increase.", DataRateValue(DataRate("100Mbps")),
                      MakeDataRateAccessor(&EunomiaNic::m_rateHai), MakeDataRateChecker())
        .AddAttribute("DcqcnRateMin", "Lowest rate.", DataRateValue(DataRate("100Mbps")),
                      MakeDataRateAccessor(&EunomiaNic::m_rateMin), MakeDataRateChecker())
        .AddAttribute("DcqcnClampTarget", "Every decrease sets the target to the current rate.",
                      BooleanValue(false), MakeBooleanAccessor(&EunomiaNic::m_clampTarget),
                      MakeBooleanChecker());
}

std::string EunomiaNic::ConfigureCongestion()
{
    m_ccConfig.line_rate_bps = m_port->GetRateBps();
    m_ccConfig.base_rtt_ps = m_baseRtt.GetTimeStep();
    m_ccConfig.mtu_bytes = m_mtu;
    m_ccConfig.mtu_wire_bytes =
        eun_overhead_data(&m_overhead, m_mtu, false, false) + m_overhead.gap;
    if (WritesInt()) {
        m_ccConfig.mtu_wire_bytes += EUN_INT_HEADER_BYTES;
    }
    m_instruments = WritesInt() || m_cc->signal == EUN_CC_SIGNAL_RTT;
    eun_dcqcn_config &d = m_ccConfig.dcqcn;
    d.g = m_gain;
    d.alpha_interval_ps = m_alphaInterval.GetTimeStep();
    d.decrease_interval_ps = m_decreaseInterval.GetTimeStep();
    d.increase_interval_ps = m_increaseInterval.GetTimeStep();
    d.fast_recovery_steps = m_fastRecovery;
    d.rate_ai_bps = m_rateAi.GetBitRate();
    d.rate_hai_bps = m_rateHai.GetBitRate();
    d.rate_min_bps = m_rateMin.GetBitRate();
    d.clamp_target = m_clampTarget;
    m_ccConfig.hpcc.eta = m_hpccEta;
    m_ccConfig.hpcc.max_stage = m_hpccMaxStage;
    m_ccConfig.hpcc.ai_bytes = m_hpccIncrease;
    m_ccConfig.dctcp.g = m_dctcpGain;
    return ConfigureTimely();
}

std::string EunomiaNic::ConfigureTimely()
{
    eun_timely_config &t = m_ccConfig.timely;
    t.alpha = m_timelyAlpha;
    t.beta = m_timelyBeta;
    t.min_rtt_ps = m_timelyMinRtt.IsZero() ? m_ccConfig.base_rtt_ps : m_timelyMinRtt.GetTimeStep();
    t.low_ps = m_timelyLow.IsZero() ? t.min_rtt_ps * 5 / 2 : m_timelyLow.GetTimeStep();
    t.high_ps = m_timelyHigh.IsZero() ? t.min_rtt_ps * 25 : m_timelyHigh.GetTimeStep();
    t.rate_ai_bps = m_timelyRateAi.GetBitRate();
    t.rate_min_bps = std::min(m_timelyRateMin.GetBitRate(), m_ccConfig.line_rate_bps);
    t.segment_bytes = m_timelySegment;
    if (t.high_ps < t.low_ps) {
        return "TimelyHigh: " + std::to_string(t.high_ps) + " ps are less than TimelyLow, " +
               std::to_string(t.low_ps) + " ps";
    }
    return "";
}

void EunomiaNic::StartCongestion(TxQp &qp)
{
    m_cc->init(&qp.cc, &m_ccConfig);
    eun_sender_set_window(qp.tx, qp.cc.window_bytes);
    if (m_cc->signal != EUN_CC_SIGNAL_RTT) {
        return;
    }
    if (!qp.samples) {
        qp.samples = std::make_unique<eun_rtt_samples>();
    }
    eun_rtt_samples_clear(qp.samples.get());
}

void EunomiaNic::StopCongestion(TxQp &qp)
{
    qp.cc0.Arm(qp.cc0.NEVER);
    qp.cc1.Arm(qp.cc1.NEVER);
    if (qp.telemetry) {
        m_pool->Telemetry().Release(qp.telemetry);
        qp.telemetry = 0;
    }
}

void EunomiaNic::Instrument(TxQp &qp, const eun_tx_packet &packet, EunomiaFrame *frame)
{
    if (WritesInt()) {
        frame->telemetry = m_pool->Telemetry().Take();
        frame->bytes = static_cast<uint16_t>(frame->bytes + EUN_INT_HEADER_BYTES);
        return;
    }
    const eun_data &data = packet.data;
    if (eun_rtt_samples_sent(qp.samples.get(), m_timelySegment, data.psn, data.payload,
                             packet.retransmission, EunomiaNow())) {
        frame->ackRequest = true;
    }
}

void EunomiaNic::HearAnswer(TxQp &qp, const eun_feedback &feedback, uint64_t inFlight,
                            EunomiaTelemetry::Holder &telemetry)
{
    // SACKs, and the NACKs of IRN that say what came, speak of a packet ahead of the prefix.
    const bool selective = feedback.kind == EUN_FEEDBACK_SACK ||
                           (feedback.kind == EUN_FEEDBACK_NACK && feedback.reason == EUN_NACK_HELD);
    eun_cc_ack ack{};
    ack.now_ps = EunomiaNow();
    ack.rtt_ps = -1;
    ack.in_flight = inFlight;
    ack.psn = feedback.psn;
    ack.nxt = eun_sender_nxt(qp.tx);
    ack.ce = feedback.ce;
    if (qp.samples) {
        ack.rtt_ps = eun_rtt_samples_answered(qp.samples.get(), eun_sender_una(qp.tx), selective,
                                              ack.psn, ack.now_ps);
    }
    ack.in = m_pool->Telemetry().Get(telemetry.Get());
    ack.before = m_pool->Telemetry().Get(qp.telemetry);
    ack.before_ps = qp.telemetryPs;
    m_cc->on_ack(&qp.cc, &m_ccConfig, &ack);
    eun_sender_set_window(qp.tx, qp.cc.window_bytes);
    ArmCc(qp);
    if (telemetry.Get()) {
        telemetry.Swap(qp.telemetry);
        qp.telemetryPs = ack.now_ps;
    }
}

void EunomiaNic::NotifyCongestion(TxQp &qp)
{
    if (m_cc->on_cnp) {
        m_cc->on_cnp(&qp.cc, &m_ccConfig, EunomiaNow());
        ArmCc(qp);
    }
}

void EunomiaNic::ArmCc(TxQp &qp)
{
    qp.cc0.Arm(qp.cc.deadline_ps[0]);
    qp.cc1.Arm(qp.cc.deadline_ps[1]);
}

void EunomiaNic::CcExpired(TxQp &qp, int timer)
{
    m_cc->on_timer(&qp.cc, &m_ccConfig, timer, EunomiaNow());
    ArmCc(qp);
}

} // namespace ns3
