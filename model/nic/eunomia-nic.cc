// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-nic.h"

#include "core/switch/rng.h"

#include "ns3/abort.h"
#include "ns3/simulation-singleton.h"

#include <algorithm>
#include <functional>

namespace ns3 {

EunomiaNic::TxQp::TxQp(EunomiaNic *owner, uint32_t n)
    : nic(owner), number(n), rto(this), cc0(this), cc1(this)
{
}

EunomiaNic::EunomiaNic()
    : m_pool(SimulationSingleton<EunomiaFramePool>::Get()),
      m_flows(SimulationSingleton<EunomiaFlowTable>::Get()), m_paceTimer(this), m_sweepTimer(this),
      m_copyTimer(this)
{
}

EunomiaNic::~EunomiaNic()
{
    for (const auto &qp : m_tx) {
        eun_sender_free(qp->tx);
    }
    eun_staging_dispose(&m_staging);
    eun_reorder_free(m_reorder);
}

void EunomiaNic::DoDispose()
{
    m_port = nullptr;
    m_portPtr = nullptr;
    m_user = nullptr;
    Object::DoDispose();
}

void EunomiaNic::SetPort(Ptr<EunomiaPort> port, uint32_t host)
{
    port->SetOwner(this);
    m_portPtr = port;
    m_port = PeekPointer(port);
    m_host = host;
}

uint32_t EunomiaNic::GetMaxFrame() const
{
    const uint32_t header = WritesInt() ? EUN_INT_HEADER_BYTES : 0;
    return eun_overhead_data(&m_overhead, m_txEnv.mtu, true, true) + header;
}

// ---------------------------------------------------------------- connections

void EunomiaNic::RequireConfigured()
{
    if (!m_configured) {
        const std::string problem = Configure();
        NS_ABORT_MSG_UNLESS(problem.empty(), "EunomiaNic: " << problem);
    }
}

/** May the first of `numbers` be used again? Else it rests on, at the end. */
template <typename Life>
static bool HasRested(std::deque<uint32_t> &numbers, const Life &life)
{
    if (numbers.empty()) {
        return false;
    }
    const uint32_t first = numbers.front();
    if (eun_generation_may_begin(&life(first), EunomiaNow())) {
        return true;
    }
    numbers.pop_front();
    numbers.push_back(first);
    return false;
}

uint32_t EunomiaNic::Connect(Ptr<EunomiaNic> peer, uint8_t priority)
{
    NS_ABORT_MSG_UNLESS(priority >= 1 && priority <= 7, "data priority " << +priority);
    RequireConfigured();
    const auto life = [this](uint32_t n) -> eun_generation & { return m_tx[n]->life; };
    if (!HasRested(m_freeTx, life)) {
        m_freeTx.push_front(static_cast<uint32_t>(m_tx.size()));
        m_tx.push_back(std::make_unique<TxQp>(this, m_freeTx.front()));
        m_tx.back()->tx = eun_sender_new(m_transport, m_firstPsn);
        NS_ABORT_MSG_UNLESS(m_tx.back()->tx, "out of memory");
    }
    TxQp &qp = *m_tx[m_freeTx.front()];
    m_freeTx.pop_front();
    eun_sender_reset(qp.tx, m_transport, m_firstPsn);
    StartCongestion(qp);
    if (m_transport->pacing) {
        StartPacing(qp);
    }
    qp.open = true;
    eun_generation_begin(&qp.life, EunomiaNow());
    qp.priority = priority;
    qp.nextAvailPs = 0;
    qp.peer = PeekPointer(peer);
    // A UDP source port of its own per connection is what ECMP tells connections apart by.
    qp.entropy = static_cast<uint32_t>(eun_mix64(static_cast<uint64_t>(m_host) << 40 |
                                                 static_cast<uint64_t>(peer->m_host) << 16 |
                                                 (m_connections++ & 0xffff)));
    qp.peerQp = peer->OpenReceiver(this, qp);
    qp.peerGeneration = peer->m_rx[qp.peerQp].life.number;
    return qp.number;
}

uint32_t EunomiaNic::OpenReceiver(EunomiaNic *peer, const TxQp &peerQp)
{
    RequireConfigured();
    const auto life = [this](uint32_t n) -> eun_generation & { return m_rx[n].life; };
    if (!HasRested(m_freeRx, life)) {
        m_freeRx.push_front(static_cast<uint32_t>(m_rx.size()));
        m_rx.emplace_back();
    }
    const uint32_t number = m_freeRx.front();
    m_freeRx.pop_front();
    RxQp &qp = m_rx[number];
    OpenBursts(number);
    eun_receiver_init(&qp.rx, number, peer->m_firstPsn);
    if (m_reorder) {
        NS_ABORT_MSG_UNLESS(eun_reorder_open(m_reorder, number), "out of memory");
    }
    if (m_rxEnv.fixed) {
        if (!qp.bitmap) {
            qp.bitmap = std::make_unique<uint64_t[]>(m_shape.words);
        }
        eun_receiver_lend(&qp.rx, &m_shape, qp.bitmap.get());
    }
    qp.open = true;
    qp.sendsCnps = !m_echoInAck && peer->m_cc->signal == EUN_CC_SIGNAL_CNP;
    qp.nextCnpPs = 0;
    qp.peer = peer;
    qp.peerQp = peerQp.number;
    eun_generation_begin(&qp.life, EunomiaNow());
    qp.peerGeneration = peerQp.life.number;
    qp.entropy = static_cast<uint32_t>(eun_mix64(peerQp.entropy));
    return number;
}

void EunomiaNic::Close(uint32_t number)
{
    TxQp &qp = *m_tx.at(number);
    NS_ABORT_MSG_UNLESS(qp.open, "QP " << number << " is closed already");
    qp.open = false;
    qp.rto.Arm(qp.rto.NEVER);
    StopCongestion(qp);
    if (qp.pace) {
        qp.pace->Arm(qp.pace->NEVER);
    }
    qp.peer->CloseReceiver(qp.peerQp);
    if (!qp.queued) {
        Recycle(&qp);
    }
}

void EunomiaNic::CloseReceiver(uint32_t number)
{
    RxQp &qp = m_rx.at(number);
    CloseBursts(number);
    eun_receiver_close(&qp.rx, &m_rxEnv);
    qp.open = false;
    m_freeRx.push_back(number);
}

void EunomiaNic::Restart()
{
    struct Failing {
        TxQp *qp;
        uint8_t life;
        const char *reason;
    };
    // Users may connect anew as they hear of it: what fails is what is open now.
    std::vector<Failing> failing;
    for (const RxQp &qp : m_rx) {
        if (qp.open) {
            failing.push_back(
                {qp.peer->m_tx[qp.peerQp].get(), qp.peerGeneration, "receiver-restart"});
        }
    }
    for (const auto &qp : m_tx) {
        if (qp->open) {
            failing.push_back({qp.get(), qp->life.number, "nic-restart"});
        }
    }
    for (const Failing &f : failing) {
        if (f.qp->open && f.qp->life.number == f.life) {
            f.qp->nic->Fail(*f.qp, f.reason);
        }
    }
}

void EunomiaNic::Fail(TxQp &qp, const char *reason)
{
    const uint8_t life = qp.life.number;
    if (m_user) {
        m_user->QpFailed(this, qp.number, reason);
    }
    if (qp.open && qp.life.number == life) {
        Close(qp.number);
    }
}

void EunomiaNic::Post(uint32_t number, uint32_t bytes, uint32_t flow)
{
    TxQp &qp = *m_tx.at(number);
    NS_ABORT_MSG_UNLESS(qp.open, "QP " << number << " is closed");
    NS_ABORT_MSG_UNLESS(eun_sender_post(qp.tx, &m_txEnv, bytes, flow),
                        "a message has 1 to 2^31 bytes, not " << bytes);
    eun_sender_stamp(qp.tx, EunomiaNow());
    if (qp.pace) {
        ArmPacing(qp);
    }
    Consider(qp);
    m_port->Wake();
}

// ---------------------------------------------------------------- sending

void EunomiaNic::PushReady(TxQp *qp)
{
    ReadyList &list = m_ready[qp->priority];
    qp->nextReady = nullptr;
    if (list.head) {
        list.tail->nextReady = qp;
    } else {
        list.head = qp;
        m_readyMask |= 1u << qp->priority;
    }
    list.tail = qp;
}

EunomiaNic::TxQp *EunomiaNic::PopReady()
{
    const uint32_t open = OpenPriorities();
    if (!open) {
        return nullptr;
    }
    const uint32_t fromTurn = open & (~0u << m_turn);
    const auto p = static_cast<uint32_t>(__builtin_ctz(fromTurn ? fromTurn : open));
    m_turn = p + 1 < m_ready.size() ? p + 1 : 1;
    TxQp *qp = m_ready[p].head;
    m_ready[p].head = qp->nextReady;
    if (!m_ready[p].head) {
        m_readyMask &= ~(1u << p);
    }
    return qp;
}

void EunomiaNic::Consider(TxQp &qp)
{
    if (qp.queued || !qp.open || eun_sender_state(qp.tx, &m_txEnv) != EUN_TX_READY) {
        return;
    }
    File(qp, std::max(EunomiaNow(), m_port->WireFreeAt()));
}

void EunomiaNic::File(TxQp &qp, int64_t wireFreeAt)
{
    qp.queued = true;
    if (qp.nextAvailPs <= wireFreeAt) {
        PushReady(&qp);
        return;
    }
    m_paced.push_back({qp.nextAvailPs, m_paceOrder++, &qp});
    std::push_heap(m_paced.begin(), m_paced.end(), std::greater<Paced>());
    ArmPace();
}

void EunomiaNic::ArmPace()
{
    if (!m_paced.empty() && m_paced.front().at < m_paceTimer.Deadline()) {
        m_paceTimer.Arm(m_paced.front().at);
    }
}

void EunomiaNic::ReleaseDuePaced(int64_t now)
{
    while (!m_paced.empty() && m_paced.front().at <= now) {
        std::pop_heap(m_paced.begin(), m_paced.end(), std::greater<Paced>());
        PushReady(m_paced.back().qp);
        m_paced.pop_back();
    }
    ArmPace();
}

void EunomiaNic::PaceExpired()
{
    // Ready before Wake(): a busy port asks only whether anything is.
    ReleaseDuePaced(EunomiaNow());
    m_port->Wake();
}

uint32_t EunomiaNic::OpenPriorities() const
{
    uint32_t open = m_readyMask;
    for (uint32_t rest = open; rest; rest &= rest - 1) {
        const auto p = static_cast<uint32_t>(__builtin_ctz(rest));
        if (m_port->IsPaused(p)) {
            open &= ~(1u << p);
        }
    }
    return open;
}

bool EunomiaNic::HasFrame(const EunomiaPort *) const
{
    return OpenPriorities() != 0;
}

EunomiaFrame *EunomiaNic::Pull(EunomiaPort *)
{
    ReleaseDuePaced(EunomiaNow());
    while (TxQp *qp = PopReady()) {
        qp->queued = false;
        if (!qp->open) {
            Recycle(qp);
        } else if (eun_sender_state(qp->tx, &m_txEnv) == EUN_TX_READY) {
            return BuildData(*qp);
        }
    }
    return nullptr;
}

/** What ECMP looks at, of a frame of a connection whose UDP source port is `path`; 0: the usual. */
static uint32_t PathEntropy(uint32_t entropy, uint16_t path)
{
    return path ? static_cast<uint32_t>(eun_mix64(static_cast<uint64_t>(path) << 32 | entropy))
                : entropy;
}

EunomiaFrame *EunomiaNic::BuildData(TxQp &qp)
{
    const int64_t now = EunomiaNow();
    eun_tx_packet packet;
    eun_sender_next(qp.tx, &m_txEnv, now, &packet);
    EunomiaFrame *frame = m_pool->Take();
    frame->kind = EunomiaFrameKind::Data;
    frame->priority = qp.priority;
    frame->src = m_host;
    frame->dst = qp.peer->m_host;
    frame->entropy = PathEntropy(qp.entropy, packet.data.path);
    frame->qp = qp.peerQp;
    frame->generation = qp.peerGeneration;
    frame->psn = eun_psn_to_wire(packet.data.psn);
    frame->head = packet.data.head;
    frame->msn = packet.data.msn & EUN_PSN_MASK;
    frame->payload = static_cast<uint16_t>(packet.data.payload);
    frame->last = packet.data.last;
    frame->retransmission = packet.retransmission;
    frame->ackRequest = packet.data.ack_request;
    frame->sync = packet.data.sync;
    frame->path = packet.data.path;
    frame->flow = static_cast<uint32_t>(packet.cookie);
    frame->bytes =
        eun_overhead_data(&m_overhead, packet.data.payload, packet.first, packet.data.last);
    if (m_instruments) {
        Instrument(qp, packet, frame);
    }
    Count(frame);
    EunomiaFlowStats &flow = (*m_flows)[frame->flow];
    flow.packets++;
    if (packet.retransmission) {
        flow.retransmitted++;
        m_retransmitted++;
        m_retransmittedBytes += frame->bytes;
    }
    const int64_t wire = m_port->TransmissionTime(frame->bytes);
    if (qp.cc.rate_bps >= m_ccConfig.line_rate_bps) {
        qp.nextAvailPs = now + wire;
    } else {
        const uint64_t bits = (frame->bytes + m_overhead.gap) * 8ull;
        qp.nextAvailPs = now + static_cast<int64_t>(bits * 1'000'000'000'000ull / qp.cc.rate_bps);
    }
    qp.rto.Arm(eun_sender_deadline(qp.tx, &m_txEnv));
    if (qp.pace) {
        ArmPacing(qp);
    }
    if (eun_sender_state(qp.tx, &m_txEnv) == EUN_TX_READY) {
        File(qp, now + wire);
    }
    return frame;
}

// ---------------------------------------------------------------- receiving

void EunomiaNic::Receive(EunomiaPort *, EunomiaFrame *frame)
{
    m_arrivalTrace(*frame);
    m_consumed++;
    if (frame->kind == EunomiaFrameKind::Data) {
        ReceiveData(frame);
    } else {
        ReceiveFeedback(frame);
    }
}

EunomiaFrame *EunomiaNic::NewControl(EunomiaFrameKind kind, uint32_t bytes, const RxQp &qp)
{
    EunomiaFrame *frame = m_pool->Take();
    frame->kind = kind;
    frame->bytes = bytes;
    frame->src = m_host;
    frame->dst = qp.peer->m_host;
    frame->entropy = qp.entropy;
    frame->qp = qp.peerQp;
    frame->generation = qp.peerGeneration;
    Count(frame);
    return frame;
}

void EunomiaNic::ReceiveData(EunomiaFrame *frame)
{
    RxQp &qp = m_rx[frame->qp];
    if (!qp.open || qp.life.number != frame->generation || qp.peer->m_host != frame->src) {
        m_stale++;
        m_pool->Release(frame);
        return;
    }
    const int64_t now = EunomiaNow();
    eun_data data;
    data.psn = eun_psn_from_wire(frame->psn, qp.rx.expected);
    data.head = frame->head;
    data.msn = eun_psn_from_wire(frame->msn, qp.rx.msn);
    data.payload = frame->payload;
    data.last = frame->last;
    data.ack_request = frame->ackRequest;
    data.ce = frame->ce;
    data.retransmission = frame->retransmission;
    data.sync = frame->sync;
    data.path = frame->path;
    eun_rx_verdict verdict;
    m_transport->receive(&qp.rx, &m_rxEnv, &data, now, &verdict);
    Account(frame, verdict);
    if (frame->qp < m_bursts.size()) {
        TrackBursts(*frame, verdict);
    }
    verdict.feedback.ce = data.ce;
    verdict.feedback.retransmission = data.retransmission;
    verdict.feedback.path = data.path;
    const EunomiaNicPipelines::Outcome outcome{verdict.feedback,  frame->qp, verdict.visible,
                                               frame->generation, frame->ce, frame->telemetry};
    frame->telemetry = 0;
    m_pool->Release(frame);
    if (!m_pipelines || m_pipelines->Passes(outcome, now)) {
        Conclude(qp, outcome, now);
    }
    if (verdict.visible != verdict.completed) {
        ReportCopied();
    }
}

void EunomiaNic::Leaves(const EunomiaNicPipelines::Outcome &outcome)
{
    // A sender that closes while its messages are on their way has given them up.
    RxQp &qp = m_rx[outcome.qp];
    if (qp.open && qp.life.number == outcome.generation) {
        Conclude(qp, outcome, EunomiaNow());
    } else if (outcome.telemetry) {
        m_pool->Telemetry().Release(outcome.telemetry);
    }
}

void EunomiaNic::Conclude(RxQp &qp, const EunomiaNicPipelines::Outcome &outcome, int64_t now)
{
    if (outcome.ce && qp.sendsCnps && now >= qp.nextCnpPs) {
        qp.nextCnpPs = now + m_cnpInterval.GetTimeStep();
        m_port->Send(NewControl(EunomiaFrameKind::Cnp, m_overhead.cnp, qp));
    }
    if (outcome.feedback.kind != EUN_FEEDBACK_NONE) {
        Answer(qp, outcome.feedback, outcome.telemetry);
    } else if (outcome.telemetry) {
        m_pool->Telemetry().Release(outcome.telemetry);
    }
    if (outcome.visible && m_user) {
        m_user->MessagesVisible(qp.peer, qp.peerQp, outcome.visible);
    }
}

void EunomiaNic::ReportCopied()
{
    eun_staged copy;
    while (eun_staging_finished(&m_staging, EunomiaNow(), &copy)) {
        const RxQp &qp = m_rx[copy.rx->qp];
        if (m_user) {
            m_user->MessageStaged(qp.peer, qp.peerQp, copy.done_ps - copy.since_ps);
            m_user->MessagesVisible(qp.peer, qp.peerQp, copy.messages);
        }
    }
    m_copyTimer.Arm(eun_staging_deadline(&m_staging));
}

void EunomiaNic::Account(EunomiaFrame *frame, const eun_rx_verdict &verdict)
{
    EunomiaFlowStats &flow = (*m_flows)[frame->flow];
    if (verdict.disposition == EUN_RX_ACCEPTED || verdict.disposition == EUN_RX_HELD) {
        flow.accepted += frame->payload;
    }
    if (!verdict.out_of_order) {
        return;
    }
    flow.outOfOrder++;
    flow.maxSpan = std::max(flow.maxSpan, verdict.span);
    m_flows->CountSpan(verdict.span);
    m_outOfOrder++;
    if (!m_reorder) {
        return;
    }
    if (m_sweepTimer.Deadline() == m_sweepTimer.NEVER) {
        m_sweepTimer.Arm(EunomiaNow() + m_idleEpoch.GetTimeStep());
    }
    const struct eun_reorder_stats *stats = eun_reorder_stats(m_reorder);
    m_poolTrace(stats->blocks_in_use, stats->qps_active);
}

void EunomiaNic::Sweep()
{
    m_sweepTimer.Arm(eun_reorder_sweep(m_reorder, EunomiaNow()));
    const struct eun_reorder_stats *stats = eun_reorder_stats(m_reorder);
    m_poolTrace(stats->blocks_in_use, stats->qps_active);
}

void EunomiaNic::Answer(RxQp &qp, const eun_feedback &feedback, uint32_t telemetry)
{
    EunomiaFrameKind kind = EunomiaFrameKind::Ack;
    if (feedback.kind == EUN_FEEDBACK_SACK) {
        kind = EunomiaFrameKind::Sack;
    } else if (feedback.kind == EUN_FEEDBACK_NACK) {
        kind = EunomiaFrameKind::Nack;
    }
    uint32_t bytes = kind == EunomiaFrameKind::Ack ? m_overhead.ack : m_overhead.sack;
    if (telemetry) {
        bytes += eun_int_bytes(m_pool->Telemetry().GetHops(telemetry));
    }
    EunomiaFrame *frame = NewControl(kind, bytes, qp);
    frame->telemetry = telemetry;
    frame->head = eun_psn_to_wire(feedback.expected);
    frame->psn = eun_psn_to_wire(feedback.psn);
    frame->reason = feedback.reason;
    frame->echo = feedback.ce;
    frame->retransmission = feedback.retransmission;
    frame->path = feedback.path;
    frame->entropy = PathEntropy(qp.entropy, feedback.path);
    m_port->Send(frame);
}

void EunomiaNic::ReceiveFeedback(EunomiaFrame *frame)
{
    const EunomiaFrame f = *frame;
    frame->telemetry = 0;
    m_pool->Release(frame);
    EunomiaTelemetry::Holder telemetry(m_pool->Telemetry(), f.telemetry);
    TxQp &qp = *m_tx[f.qp];
    if (!qp.open || qp.life.number != f.generation || qp.peer->m_host != f.src) {
        m_stale++;
        return;
    }
    if (f.kind == EunomiaFrameKind::Cnp) {
        NotifyCongestion(qp);
        return;
    }
    eun_feedback feedback;
    feedback.kind = f.kind == EunomiaFrameKind::Ack    ? EUN_FEEDBACK_ACK
                    : f.kind == EunomiaFrameKind::Sack ? EUN_FEEDBACK_SACK
                                                       : EUN_FEEDBACK_NACK;
    feedback.reason = f.reason;
    feedback.expected = eun_psn_from_wire(f.head, eun_sender_una(qp.tx));
    feedback.psn = eun_psn_from_wire(f.psn, eun_sender_una(qp.tx));
    feedback.ce = f.echo;
    feedback.retransmission = f.retransmission;
    feedback.path = f.path;
    const uint64_t inFlight = eun_sender_inflight(qp.tx);
    eun_sender_feedback(qp.tx, &m_txEnv, &feedback, EunomiaNow());
    if (m_cc->on_ack) {
        HearAnswer(qp, feedback, inFlight, telemetry);
    }
    qp.rto.Arm(eun_sender_deadline(qp.tx, &m_txEnv));
    if (qp.pace) {
        ArmPacing(qp);
    }
    if (!ReportCompleted(qp)) {
        return;
    }
    if (m_echoInAck && (feedback.ce || feedback.kind == EUN_FEEDBACK_NACK)) {
        NotifyCongestion(qp);
    }
    Consider(qp);
    m_port->Wake();
}

bool EunomiaNic::ReportCompleted(TxQp &qp)
{
    // The user may close the QP, and open the number again, before it returns.
    const uint8_t generation = qp.life.number;
    eun_message message;
    while (qp.open && qp.life.number == generation && eun_sender_completed(qp.tx, &message)) {
        m_completionTrace(qp.number, message.bytes, TimeStep(message.wait_ps));
        if (m_user) {
            m_user->MessageCompleted(this, qp.number, message);
        }
    }
    return qp.open && qp.life.number == generation;
}

void EunomiaNic::RtoExpired(TxQp &qp)
{
    // The deadline may have moved since the timer was armed.
    const int64_t deadline = eun_sender_deadline(qp.tx, &m_txEnv);
    if (deadline > EunomiaNow()) {
        qp.rto.Arm(deadline);
        return;
    }
    if (!eun_sender_timeout(qp.tx, &m_txEnv, EunomiaNow())) {
        if (m_user) {
            m_user->QpFailed(this, qp.number, "retry-limit");
        }
        return;
    }
    qp.rto.Arm(eun_sender_deadline(qp.tx, &m_txEnv));
    Consider(qp);
    m_port->Wake();
}

} // namespace ns3
