// SPDX-License-Identifier: GPL-2.0-only
/** MP-RDMA in the NIC: attributes, and the clock of transports that pace their packets. */
#include "core/switch/rng.h"
#include "eunomia-nic.h"

#include "ns3/abort.h"
#include "ns3/double.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3 {

/** Packets of the longest bitmap there is: no window grows further. */
static constexpr uint32_t WINDOW_MAX = EUN_FIXED_CAP_MAX;

TypeId EunomiaNic::AddMprdmaAttributes(TypeId tid)
{
    return tid
        .AddAttribute("MprdmaBitmap",
                      "L of transport mprdma: PSNs that a receiver holds ahead of the cumulative "
                      "point, a multiple of 64; packets further ahead are dropped.",
                      UintegerValue(64), MakeUintegerAccessor(&EunomiaNic::m_mprdmaBitmap),
                      MakeUintegerChecker<uint32_t>(64, EUN_FIXED_CAP_MAX))
        .AddAttribute("MprdmaInitialWindow",
                      "Packets with which a QP of transport mprdma starts, on random paths; 0: one "
                      "bandwidth-delay product of MprdmaRtt and the port's rate.",
                      UintegerValue(0), MakeUintegerAccessor(&EunomiaNic::m_mprdmaInitialWindow),
                      MakeUintegerChecker<uint32_t>(0, WINDOW_MAX))
        .AddAttribute("MprdmaRtt",
                      "Round trip that transport mprdma assumes until it has measured one.",
                      TimeValue(MicroSeconds(8)), MakeTimeAccessor(&EunomiaNic::m_mprdmaRtt),
                      MakeTimeChecker(Time(1), Seconds(1)))
        .AddAttribute("MprdmaDelta",
                      "Delta of transport mprdma: a packet acknowledged more than this many PSNs "
                      "behind the newest tells of a slow path.",
                      UintegerValue(32), MakeUintegerAccessor(&EunomiaNic::m_mprdmaDelta),
                      MakeUintegerChecker<uint32_t>(1, EUN_FIXED_CAP_MAX))
        .AddAttribute("MprdmaBurstTimer",
                      "Window that answers leave over is used after this long without an answer.",
                      TimeValue(MicroSeconds(1)), MakeTimeAccessor(&EunomiaNic::m_mprdmaBurstTimer),
                      MakeTimeChecker(Time(0), Seconds(1)))
        .AddAttribute("MprdmaSyncAlpha",
                      "alpha of transport mprdma: the last packet of a WRITE message leaves alpha "
                      "Delta RTT / cwnd after the one before it.",
                      DoubleValue(1.0), MakeDoubleAccessor(&EunomiaNic::m_mprdmaSyncAlpha),
                      MakeDoubleChecker<double>(0, 1000))
        .AddAttribute("MprdmaProbe",
                      "Probability that a packet takes a random path, at most one a round trip.",
                      DoubleValue(0.01), MakeDoubleAccessor(&EunomiaNic::m_mprdmaProbe),
                      MakeDoubleChecker<double>(0, 1));
}

std::string EunomiaNic::ConfigureMprdma()
{
    if (!eun_fixed_shape_init(&m_shape, m_mprdmaBitmap)) {
        return "MprdmaBitmap: " + std::to_string(m_mprdmaBitmap) + " is no multiple of 64";
    }
    if (m_gate != "auto" && m_gate != "none") {
        return "Gate: transport " + m_transportName +
               " orders messages by synchronise packets, not by gate " + m_gate;
    }
    if (m_ackEvery != 1) {
        return "AckEvery: transport " + m_transportName + " acknowledges every packet";
    }
    const double frame = eun_overhead_data(&m_overhead, m_mtu, false, false) + m_overhead.gap;
    const double bdp = m_mprdmaRtt.GetSeconds() * static_cast<double>(m_port->GetRateBps()) / 8;
    const double initial = m_mprdmaInitialWindow ? m_mprdmaInitialWindow : bdp / frame;
    m_mprdma.initial_window = std::clamp(initial, 1.0, static_cast<double>(WINDOW_MAX));
    m_mprdma.limit = WINDOW_MAX;
    m_mprdma.rtt_ps = m_mprdmaRtt.GetTimeStep();
    m_mprdma.burst_ps = m_mprdmaBurstTimer.GetTimeStep();
    m_mprdma.ooo_psns = m_mprdmaDelta;
    m_mprdma.sync_alpha = m_mprdmaSyncAlpha;
    m_mprdma.probe_probability = m_mprdmaProbe;
    m_mprdma.sync_lasts = m_gate == "auto" && m_verb != "send";
    m_txEnv.mprdma = &m_mprdma;
    m_txEnv.cap_psns = m_shape.cap;
    m_txEnv.window_psns = WINDOW_MAX;
    m_rxEnv.fixed = &m_shape;
    return "";
}

void EunomiaNic::StartPacing(TxQp &qp)
{
    if (!qp.pace) {
        qp.pace = std::make_unique<TxQp::PaceTimer>(&qp);
    }
    const uint64_t run = static_cast<uint64_t>(RngSeedManager::GetSeed()) << 32 |
                         static_cast<uint32_t>(RngSeedManager::GetRun());
    const uint64_t who = static_cast<uint64_t>(m_host) << 32 | m_connections;
    eun_sender_start(qp.tx, &m_txEnv, eun_mix64(eun_mix64(run) ^ who));
}

void EunomiaNic::ArmPacing(TxQp &qp)
{
    // A wait that began long ago may be over by now.
    qp.pace->Arm(std::max(eun_sender_pace_deadline(qp.tx), EunomiaNow()));
}

void EunomiaNic::PaceDue(TxQp &qp)
{
    eun_sender_pace(qp.tx, &m_txEnv, EunomiaNow());
    ArmPacing(qp);
    Consider(qp);
    m_port->Wake();
}

} // namespace ns3
