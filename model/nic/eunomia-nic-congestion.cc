// SPDX-License-Identifier: GPL-2.0-only
/** What EunomiaNic does for congestion control: its attributes, and what it tells a control. */
#include "eunomia-nic.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

namespace ns3 {

TypeId EunomiaNic::AddCongestionAttributes(TypeId tid)
{
    return tid
        .AddAttribute(
            "CongestionControl", "How fast a QP sends: a name from core/congestion/congestion.c.",
            StringValue("dcqcn"), MakeStringAccessor(&EunomiaNic::m_ccName), MakeStringChecker())
        .AddAttribute("BaseRtt",
                      "Longest round trip of a full packet in the empty network, for the controls "
                      "that start from it: the default is that of two tiers at 100 Gb/s and 1 us a "
                      "link. eunomia-sim computes it.",
                      TimeValue(NanoSeconds(8400)), MakeTimeAccessor(&EunomiaNic::m_baseRtt),
                      MakeTimeChecker(NanoSeconds(1), Seconds(1)))
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

void EunomiaNic::ConfigureCongestion()
{
    m_ccConfig.line_rate_bps = m_port->GetRateBps();
    m_ccConfig.base_rtt_ps = m_baseRtt.GetTimeStep();
    m_ccConfig.mtu_bytes = m_mtu;
    m_ccConfig.mtu_wire_bytes =
        eun_overhead_data(&m_overhead, m_mtu, false, false) + m_overhead.gap;
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
}

void EunomiaNic::StartCongestion(TxQp &qp)
{
    m_cc->init(&qp.cc, &m_ccConfig);
    eun_sender_set_window(qp.tx, qp.cc.window_bytes);
}

void EunomiaNic::HearAnswer(TxQp &qp, const eun_feedback &feedback, uint64_t inFlight)
{
    eun_cc_ack ack{};
    ack.now_ps = EunomiaNow();
    ack.rtt_ps = -1;
    ack.in_flight = inFlight;
    ack.acked = inFlight - eun_sender_inflight(qp.tx);
    ack.psn = feedback.psn;
    ack.una = eun_sender_una(qp.tx);
    ack.nxt = eun_sender_nxt(qp.tx);
    ack.ce = feedback.ce;
    m_cc->on_ack(&qp.cc, &m_ccConfig, &ack);
    eun_sender_set_window(qp.tx, qp.cc.window_bytes);
    ArmCc(qp);
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
