/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * The real sender, receiver and ordering layer over a virtual clock and a link that loses,
 * duplicates, reorders and delays data and feedback; ordering memory goes bad, and the receiving
 * NIC restarts. A naive model of both ends, which counts arrivals PSN by PSN, watches every step:
 * every message completes once and in order, or its QP is reported failed. EUNOMIA_DEEP=1 makes a
 * million runs.
 */
#include "lossy-link.h"

/* The sending end. */

/** The application's name for a message, another one in every life of the QP. */
static uint64_t cookie_of(const struct qp *qp, uint32_t message)
{
    return (uint64_t)qp->generation << 32 | message;
}

static uint32_t message_of(const struct qp *qp, uint32_t psn)
{
    uint32_t i = 0;
    while (psn - qp->message[i].head >= qp->message[i].packets)
        i++;
    return i;
}

static bool is_last(const struct qp *qp, uint32_t psn)
{
    const struct naive_message *m = &qp->message[message_of(qp, psn)];
    return psn == m->head + m->packets - 1u;
}

static uint32_t naive_payload(const struct run *run, const struct qp *qp, uint32_t psn)
{
    const struct naive_message *m = &qp->message[message_of(qp, psn)];
    const uint32_t before = (psn - m->head) * run->tx_env.mtu;
    return m->bytes - before < run->tx_env.mtu ? m->bytes - before : run->tx_env.mtu;
}

static void check_gate(const struct run *run, const struct qp *qp, uint32_t psn)
{
    if (run->tx_env.gate != EUN_GATE_SENDER)
        return;
    const uint32_t head = qp->message[message_of(qp, psn)].head;
    for (uint32_t p = run->tx_env.gate_scope_message ? head : 0; p < psn; p++)
        CHECK(run, qp->arrived[p]);
}

/**
 * A packet that leaves for the first time: gate, cap and window hold. `nxt` is what the sender said
 * before; a PSN below it is a Last that was held.
 */
static void check_new(const struct run *run, const struct qp *qp, uint32_t psn, uint32_t nxt)
{
    const uint32_t una = eun_sender_una(qp->tx) - qp->origin;
    uint64_t inflight = 0;
    bool past_held_last = false;
    for (uint32_t p = una; p < nxt; p++) {
        if (qp->sent[p]) {
            inflight += naive_payload(run, qp, p);
            continue;
        }
        CHECK(run, is_last(qp, p) && run->tx_env.gate == EUN_GATE_SENDER);
        past_held_last = true;
    }
    if (is_last(qp, psn))
        check_gate(run, qp, psn);
    if (psn < nxt)
        return;
    CHECK(run, psn == nxt);
    if (past_held_last) {
        CHECK(run, run->transport->tolerates_reordering);
        CHECK(run, psn - una < run->tx_env.cap_psns);
    }
    if (run->tx_env.window_psns > 0)
        CHECK(run, psn - una < run->tx_env.window_psns);
    if (run->tx_env.window_bytes > 0 && inflight > 0)
        CHECK(run, inflight + naive_payload(run, qp, psn) <= run->tx_env.window_bytes);
    if (qp->window > 0 && inflight > 0)
        CHECK(run, inflight + naive_payload(run, qp, psn) <= qp->window);
}

static void check_packet(const struct run *run, struct qp *qp, const struct eun_tx_packet *packet,
                         uint32_t nxt)
{
    const struct eun_data *data = &packet->data;
    const uint32_t psn = data->psn - qp->origin;
    CHECK(run, psn < qp->psns);
    const uint32_t index = message_of(qp, psn);
    CHECK(run, index < qp->posted);
    CHECK(run, psn >= eun_sender_una(qp->tx) - qp->origin);
    CHECK(run, data->head - qp->origin == qp->message[index].head);
    CHECK(run, data->msn == index && packet->cookie == cookie_of(qp, index));
    CHECK(run, data->last == is_last(qp, psn));
    CHECK(run, data->payload == naive_payload(run, qp, psn));
    CHECK(run, packet->first == (psn == qp->message[index].head));
    CHECK(run, packet->retransmission == (qp->sent[psn] != 0));
    CHECK(run, data->ack_request || qp->window == 0);
    /* A Last that the gate held counts from when it was passed. */
    if (packet->retransmission || psn == nxt)
        CHECK(run, data->psn - eun_sender_una(qp->tx) < qp->tx->allowance.packets);
    CHECK(run, data->retransmission == packet->retransmission);
    if (run->transport->picks_paths)
        CHECK(run, data->path >= EUN_MPRDMA_PATH_MIN);
    else
        CHECK(run, data->path == 0);
    CHECK(run, data->sync == (data->last && run->transport->pacing && run->mprdma.sync_lasts));
    run->coverage->repeated += packet->retransmission && run->transport->picks_paths;
    qp->limited += qp->tx->allowance.packets != EUN_ALLOWANCE_UNLIMITED;
    if (packet->retransmission) {
        CHECK(run, qp->sent[psn] - 1u < qp->recoveries);
        qp->retransmitted++;
    } else {
        check_new(run, qp, psn, nxt);
    }
    qp->sent[psn] = qp->recoveries + 1u;
    CHECK(run, eun_sender_retransmitted(qp->tx) == qp->retransmitted);
}

/** As a NIC does after every change: one send and one timer pending at most. */
static void consider(struct run *run, uint32_t index)
{
    struct qp *qp = &run->qp[index];
    test_validate(qp->tx);
    if (!qp->send_pending && eun_sender_state(qp->tx, &run->tx_env) == EUN_TX_READY) {
        qp->send_pending = true;
        int64_t at = qp->next_send > run->now ? qp->next_send : run->now;
        if (at >= run->channel.pause_from && at < run->channel.pause_until)
            at = run->channel.pause_until;
        schedule(run, (struct event){.at = at, .kind = EVENT_SEND, .qp = index});
    }
    const int64_t deadline = eun_sender_deadline(qp->tx, &run->tx_env);
    if (qp->timer == NEVER && deadline != NEVER) {
        qp->timer = deadline;
        schedule(run, (struct event){.at = deadline, .kind = EVENT_TIMER, .qp = index});
    }
    const int64_t pace = eun_sender_pace_deadline(qp->tx);
    if (pace < qp->pace) {
        qp->pace = pace > run->now ? pace : run->now;
        schedule(run, (struct event){.at = qp->pace, .kind = EVENT_PACE, .qp = index});
    }
}

static void on_send(struct run *run, uint32_t index)
{
    struct qp *qp = &run->qp[index];
    struct eun_tx_packet packet = {0};
    qp->send_pending = false;
    const bool ready = eun_sender_state(qp->tx, &run->tx_env) == EUN_TX_READY;
    const int64_t deadline = eun_sender_deadline(qp->tx, &run->tx_env);
    const uint32_t nxt = eun_sender_nxt(qp->tx) - qp->origin;
    const bool given = eun_sender_next(qp->tx, &run->tx_env, run->now, &packet);
    CHECK(run, given == ready);
    if (!given)
        return;
    check_packet(run, qp, &packet, nxt);
    CHECK(run, deadline == INT64_MAX || eun_sender_deadline(qp->tx, &run->tx_env) >= deadline);
    qp->next_send = run->now + run->channel.gap;
    packet.data.psn = eun_psn_to_wire(packet.data.psn);
    packet.data.ce = test_chance(&run->r, run->channel.marked);
    transmit(run, (struct event){.kind = EVENT_DATA, .qp = index, .u.data = packet.data}, 0);
}

static void on_timer(struct run *run, uint32_t index)
{
    struct qp *qp = &run->qp[index];
    qp->timer = INT64_MAX;
    const int64_t deadline = eun_sender_deadline(qp->tx, &run->tx_env);
    if (deadline <= run->now)
        qp->recoveries++;
    CHECK(run, eun_sender_timeout(qp->tx, &run->tx_env, run->now));
}

static void on_pace(struct run *run, uint32_t index)
{
    struct qp *qp = &run->qp[index];
    if (run->now >= qp->pace)
        qp->pace = NEVER;
    eun_sender_pace(qp->tx, &run->tx_env, run->now);
    CHECK(run, eun_sender_pace_deadline(qp->tx) > run->now);
}

/** An answer for PSNs that never left changes nothing. */
static void forge_answer(struct run *run, struct qp *qp)
{
    uint32_t limit = eun_sender_una(qp->tx) - qp->origin;
    while (limit < qp->psns && qp->sent[limit])
        limit++;
    const uint32_t una = eun_sender_una(qp->tx);
    const uint64_t retransmitted = eun_sender_retransmitted(qp->tx);
    const struct eun_feedback forged = {
        .kind = (uint8_t)test_between(&run->r, EUN_FEEDBACK_ACK, EUN_FEEDBACK_NACK),
        .reason = (uint8_t)test_between(&run->r, EUN_NACK_SEQUENCE, EUN_NACK_DEGRADED),
        .expected = qp->origin + limit + test_between(&run->r, 1, 5000),
        .psn = una + test_below(&run->r, 100)};
    const enum eun_tx_state state = eun_sender_state(qp->tx, &run->tx_env);
    eun_sender_feedback(qp->tx, &run->tx_env, &forged, run->now);
    CHECK(run, eun_sender_una(qp->tx) == una);
    CHECK(run, eun_sender_state(qp->tx, &run->tx_env) == state);
    CHECK(run, eun_sender_retransmitted(qp->tx) == retransmitted);
}

/** Congestion control thinks anew. */
static void draw_window(struct run *run, struct qp *qp)
{
    if (!run->own_windows)
        return;
    qp->window = test_chance(&run->r, 10) ? 0 : test_between(&run->r, 1, 20 * run->tx_env.mtu);
    eun_sender_set_window(qp->tx, qp->window);
}

static void on_feedback(struct run *run, uint32_t index, struct eun_feedback fb)
{
    struct qp *qp = &run->qp[index];
    const uint32_t una = eun_sender_una(qp->tx);
    fb.expected = eun_psn_from_wire(fb.expected, una);
    fb.psn = eun_psn_from_wire(fb.psn, una);
    if (test_chance(&run->r, run->channel.forged))
        forge_answer(run, qp);
    if (fb.kind == EUN_FEEDBACK_NACK)
        qp->recoveries++;
    eun_sender_feedback(qp->tx, &run->tx_env, &fb, run->now);
    draw_window(run, qp);
    const uint32_t now_una = eun_sender_una(qp->tx);
    CHECK(run, now_una == (eun_psn_before(una, fb.expected) ? fb.expected : una));
    CHECK(run, !eun_psn_before(qp->origin + qp->expected, now_una));
    struct eun_message done;
    while (eun_sender_completed(qp->tx, &done)) {
        CHECK(run, done.cookie == cookie_of(qp, qp->tx_completed));
        CHECK(run, done.last_sent && done.wait_ps >= 0);
        CHECK(run, (done.held_since_ps >= 0) || done.wait_ps == 0);
        CHECK(run, run->tx_env.gate != EUN_GATE_NONE || run->mprdma.sync_lasts ||
                       done.held_since_ps == -1);
        qp->tx_completed++;
        CHECK(run, qp->tx_completed <= qp->rx_completed);
    }
}

/* The receiving end. */

/** Does the receiver know which packets contradict a message? */
static bool isolates(const struct run *run)
{
    return run->transport->ordering == EUN_ORDERING_POOL;
}

/** A packet that contradicts the message at the cumulative point has no effect and no answer. */
static void forge_packet(struct run *run, struct qp *qp)
{
    if (!isolates(run) || qp->rx_completed == qp->messages)
        return;
    const struct naive_message *m = &qp->message[qp->rx_completed];
    const uint32_t expected = qp->origin + qp->expected;
    struct eun_data data = {.psn = expected + test_below(&run->r, 20),
                            .head = qp->origin + m->head,
                            .msn = qp->rx_completed,
                            .last = test_chance(&run->r, 30)};
    const uint32_t later = test_between(&run->r, 1, 5);
    switch (test_below(&run->r, 5)) {
    case 0:
        data.head = data.psn + test_between(&run->r, 1, 1000);
        break;
    case 1:
        data.msn = (data.msn - later) & EUN_MSN_MASK;
        break;
    case 2:
        data.msn += later;
        data.head = expected + test_below(&run->r, later) - test_below(&run->r, 5);
        if (eun_psn_before(data.psn, data.head))
            data.psn = data.head;
        break;
    case 3:
        data.msn += later;
        break;
    default:
        data.head = qp->rx.head - test_between(&run->r, 1, 3);
        break;
    }
    const struct eun_receiver before = qp->rx;
    struct eun_rx_verdict v;
    run->transport->receive(&qp->rx, &run->rx_env, &data, run->now, &v);
    CHECK(run, v.disposition == EUN_RX_INVALID);
    CHECK(run, v.feedback.kind == EUN_FEEDBACK_NONE && v.advanced == 0 && v.completed == 0);
    CHECK(run, memcmp(&before, &qp->rx, sizeof before) == 0);
}

/** Moves the model's prefix; returns how many messages that completes. */
static uint32_t advance_model(const struct run *run, struct qp *qp)
{
    uint32_t completed = 0;
    while (qp->expected < qp->psns && qp->kept[qp->expected]) {
        completed += is_last(qp, qp->expected);
        qp->expected++;
    }
    for (uint32_t i = 0; i < completed; i++) {
        const struct naive_message *m = &qp->message[qp->rx_completed++];
        for (uint32_t p = m->head; p < m->head + m->packets; p++)
            CHECK(run, qp->arrived[p]);
    }
    return completed;
}

static void check_verdict(const struct run *run, struct qp *qp, uint32_t psn,
                          const struct eun_rx_verdict *v)
{
    const uint32_t before = qp->expected;
    uint32_t completed = 0;
    CHECK(run, v->out_of_order == (psn > before));
    CHECK(run, v->span == (psn > before ? psn - before : 0));
    switch (v->disposition) {
    case EUN_RX_ACCEPTED:
        CHECK(run, psn == before);
        qp->kept[psn] = true;
        completed = advance_model(run, qp);
        break;
    case EUN_RX_HELD:
        CHECK(run, psn > before && !qp->kept[psn] && run->transport->tolerates_reordering);
        qp->kept[psn] = true;
        break;
    case EUN_RX_DUPLICATE:
        CHECK(run, psn < before || qp->kept[psn]);
        break;
    default:
        CHECK(run, v->disposition == EUN_RX_REFUSED && psn > before);
        if (qp->rx.degraded)
            memset(&qp->kept[before], 0, sizeof qp->kept - before);
        CHECK(run, !qp->kept[psn]);
        break;
    }
    CHECK(run, v->advanced == qp->expected - before);
    CHECK(run, v->completed == completed);
    CHECK(run, qp->rx.expected == qp->origin + qp->expected);
    if (v->feedback.kind != EUN_FEEDBACK_NONE)
        CHECK(run, v->feedback.expected == qp->rx.expected);
    CHECK(run, qp->rx.msn == qp->rx_completed);
    if (isolates(run) && qp->rx_completed < qp->messages) {
        const uint32_t head = qp->origin + qp->message[qp->rx_completed].head;
        CHECK(run, head - qp->rx.head <= qp->rx.head_slack);
        CHECK(run, !qp->rx.later_valid || qp->rx.later_msn > qp->rx_completed);
    }
}

static void send_answer(struct run *run, uint32_t index, struct eun_feedback fb)
{
    if (fb.kind == EUN_FEEDBACK_NONE)
        return;
    fb.expected = eun_psn_to_wire(fb.expected);
    fb.psn = eun_psn_to_wire(fb.psn);
    transmit(run, (struct event){.kind = EVENT_FEEDBACK, .qp = index, .u.feedback = fb},
             fb.kind == EUN_FEEDBACK_ACK ? 0 : run->channel.nack_loss);
}

/** Copies that end by `now` make messages visible that are complete. */
static void take_copies(struct run *run, int64_t now)
{
    struct eun_staged copy;
    while (run->rx_env.staging && eun_staging_finished(&run->staging, now, &copy)) {
        struct qp *qp = &run->qp[copy.rx->qp];
        CHECK(run, copy.since_ps <= copy.done_ps && copy.done_ps <= now);
        qp->visible += copy.messages;
        CHECK(run, qp->visible <= qp->rx_completed);
    }
}

static void on_data(struct run *run, uint32_t index, struct eun_data data)
{
    struct qp *qp = &run->qp[index];
    struct eun_rx_verdict v;
    if (test_chance(&run->r, run->channel.forged))
        forge_packet(run, qp);
    data.psn = eun_psn_from_wire(data.psn, qp->rx.expected);
    const uint32_t psn = data.psn - qp->origin;
    CHECK(run, psn < qp->psns);
    qp->arrived[psn] = true;
    run->transport->receive(&qp->rx, &run->rx_env, &data, run->now, &v);
    check_verdict(run, qp, psn, &v);
    CHECK(run, run->rx_env.staging || v.visible == v.completed);
    CHECK(run, run->staging.used <= run->staging.limit);
    qp->visible += v.visible;
    CHECK(run, qp->visible <= qp->rx_completed);
    v.feedback.ce = data.ce;
    v.feedback.retransmission = data.retransmission;
    v.feedback.path = data.path;
    if (run->transport->picks_paths)
        CHECK(run, v.feedback.kind != EUN_FEEDBACK_NONE && v.feedback.psn == data.psn);
    run->coverage->synced += v.feedback.reason == EUN_NACK_SYNC;
    send_answer(run, index, v.feedback);
}

/* What goes wrong with the receiving NIC. */

/** The ordering memory of a QP turns out to be corrupt: it knows its cumulative point, no more. */
static void corrupt(struct run *run, uint32_t index)
{
    struct qp *qp = &run->qp[index];
    struct eun_reorder_view view;
    eun_reorder_view(run->rx_env.reorder, index, &view);
    if (!view.active)
        return;
    run->leaked += view.chain ? EUN_BLOCK_POOL_CHAIN : EUN_BLOCK_POOL_METADATA;
    run->leaked += view.bitmap_blocks + view.last_blocks;
    const struct eun_feedback fb = eun_receiver_recover(&qp->rx, &run->rx_env, run->now);
    CHECK(run, qp->rx.expected == qp->origin + qp->expected);
    CHECK(run, qp->rx.staged == EUN_STAGING_NONE);
    CHECK(run, !eun_reorder_has_gap(run->rx_env.reorder, index));
    CHECK(run, view.held == 0 || fb.kind == EUN_FEEDBACK_NACK);
    if (fb.kind == EUN_FEEDBACK_NONE)
        return;
    CHECK(run, fb.reason == EUN_NACK_DEGRADED && fb.expected == qp->rx.expected);
    memset(&qp->kept[qp->expected], 0, sizeof qp->kept - qp->expected);
    run->coverage->corrupted += view.held > 0;
    send_answer(run, index, fb);
}

/** The scrubber finds what leaked, all of it and nothing else. */
static void scrub(struct run *run)
{
    const char *reason = NULL;
    CHECK(run, eun_reorder_scrub(run->rx_env.reorder) == run->leaked);
    run->coverage->scrubbed += run->leaked;
    run->leaked = 0;
    if (!eun_reorder_validate(run->rx_env.reorder, &reason))
        fail_msg("run seed %#llx: %s", (unsigned long long)run->seed, reason);
}

static void note_layer(struct run *run)
{
    const struct eun_reorder_stats *stats = eun_reorder_stats(run->rx_env.reorder);
    run->coverage->cap_hits += stats->cap_hit;
    run->coverage->misses += stats->alloc_miss;
}

static void note_life(struct run *run, const struct qp *qp)
{
    run->coverage->retransmitted += qp->retransmitted;
    run->coverage->limited += qp->limited;
    run->coverage->reborn += run->restarts > 0 ? qp->tx_completed : 0;
}

static void start_life(struct run *run, uint32_t index);

/** The receiving NIC starts anew: its QPs fail, and what is under way must not reach the next. */
static void restart(struct run *run)
{
    for (uint32_t i = 0; i < run->qps; i++)
        eun_receiver_close(&run->qp[i].rx, &run->rx_env);
    scrub(run);
    CHECK(run, eun_reorder_stats(run->rx_env.reorder)->blocks_in_use == 0);
    note_layer(run);
    eun_reorder_free(run->rx_env.reorder);
    run->rx_env.reorder = eun_reorder_new(&run->layer_config);
    assert_non_null(run->rx_env.reorder);
    for (uint32_t i = 0; i < run->qps; i++) {
        note_life(run, &run->qp[i]);
        run->coverage->failed += run->qp[i].posted - run->qp[i].tx_completed;
    }
    run->restarts++;
    for (uint32_t i = 0; i < run->qps; i++)
        start_life(run, i);
}

static void maybe_fail(struct run *run)
{
    if (test_below(&run->r, 1000) < run->channel.corrupted)
        corrupt(run, test_below(&run->r, run->qps));
    if (test_below(&run->r, 1000) < run->channel.scrubbed)
        scrub(run);
}

/* A run. */

static void draw_channel(struct run *run)
{
    static const uint32_t losses[] = {0, 0, 1, 5, 20, 30};
    static const uint32_t nack_losses[] = {0, 0, 0, 50, 95};
    static const uint32_t duplicates[] = {0, 0, 2, 30};
    static const uint32_t corrupted[] = {0, 0, 0, 5, 50};
    struct test_random *r = &run->r;
    struct channel *c = &run->channel;
    c->loss = losses[test_below(r, 6)];
    c->nack_loss = nack_losses[test_below(r, 5)];
    c->duplicates = duplicates[test_below(r, 4)];
    c->marked = test_chance(r, 50) ? 0 : test_between(r, 1, 100);
    c->forged = test_chance(r, 30) ? 5 : 0;
    c->gap = test_between(r, 1, 100) * (US / 100);
    c->delay = test_between(r, 1, 10) * US;
    c->jitter = test_chance(r, 30) ? 0 : test_between(r, 1, 20) * c->gap;
    run->tx_env.rto_ps = 4 * (c->delay + c->jitter) + 100 * c->gap;
    if (test_chance(r, 10))
        c->jitter = 3 * run->tx_env.rto_ps;
    if (test_chance(r, 20)) {
        c->pause_from = test_between(r, 0, 30) * US;
        c->pause_until = c->pause_from + test_between(r, 1, 5) * run->tx_env.rto_ps;
    }
    c->corrupted = corrupted[test_below(r, 5)];
    c->scrubbed = c->corrupted > 0 ? test_between(r, 0, 5) : 0;
    int64_t at = test_chance(r, 15) ? 0 : NEVER;
    for (uint32_t i = 0; i < RESTARTS_MAX; i++) {
        at += at == NEVER ? 0 : test_between(r, 1, 100) * US;
        c->restart_at[i] = at;
    }
}

static const struct eun_transport *draw_transport(struct test_random *r)
{
    static const struct eun_transport *const others[] = {&eun_transport_irn, &eun_transport_gbn,
                                                         &eun_transport_mprdma, &eun_transport_ddp,
                                                         &eun_transport_ddp_gbn};
    return test_chance(r, 50) ? &eun_transport_eunomia : others[test_below(r, 5)];
}

/** A window of its own, and in place of the gate perhaps synchronise packets. */
static void draw_mprdma(struct run *run)
{
    struct test_random *r = &run->r;
    run->mprdma = (struct eun_mprdma_config){.initial_window = test_between(r, 1, 100),
                                             .limit = test_between(r, 100, 4096),
                                             .rtt_ps = test_between(r, 1, 30) * US,
                                             .burst_ps = test_between(r, 0, 3) * US,
                                             .ooo_psns = test_between(r, 1, 40),
                                             .sync_alpha = test_between(r, 0, 20) / 10.0,
                                             .probe_probability = test_between(r, 0, 10) / 10.0,
                                             .sync_lasts = test_chance(r, 50)};
    run->tx_env.mprdma = &run->mprdma;
    run->tx_env.gate = EUN_GATE_NONE;
}

/** Windows in packets, a timeout for few packets: any transport may have them. */
static void draw_limits(struct run *run)
{
    struct test_random *r = &run->r;
    const struct channel *c = &run->channel;
    run->tx_env.window_psns = test_chance(r, 70) ? 0 : test_between(r, 1, 100);
    run->tx_env.rto_low_packets = test_chance(r, 50) ? 0 : test_between(r, 1, 5);
    run->tx_env.rto_low_ps = 4 * (c->delay + c->jitter) + 10 * c->gap;
    if (c->jitter > run->tx_env.rto_ps)
        run->tx_env.rto_low_ps = run->tx_env.rto_ps / 2;
}

static void draw_settings(struct run *run)
{
    static const uint32_t blocks[] = {0, 24, 25, 30, 48, 60, 1024};
    static const uint32_t caps[] = {10, 10, 128, 1000};
    struct test_random *r = &run->r;
    run->transport = draw_transport(r);
    const uint32_t block_bits = test_chance(r, 50) ? 8 : 16;
    const uint32_t cap = test_between(r, 1, caps[test_below(r, 4)]);
    run->tx_env.mtu = test_between(r, 1, 1500);
    run->tx_env.cap_psns = test_chance(r, 80) ? cap : test_between(r, 1, 256);
    run->tx_env.window_bytes = test_chance(r, 70) ? 0 : test_between(r, 1, 30 * run->tx_env.mtu);
    run->own_windows = test_chance(r, 30);
    draw_limits(run);
    run->tx_env.retry_limit = 100000;
    run->tx_env.irn_go_back = test_chance(r, 30);
    run->tx_env.gate = (enum eun_gate)test_below(r, 3);
    run->tx_env.gate_scope_message = test_chance(r, 50);
    if (run->transport->pacing)
        draw_mprdma(run);
    run->layer_config = (struct eun_reorder_config){.blocks = blocks[test_below(r, 7)],
                                                    .banks = 1,
                                                    .cap_psns = cap,
                                                    .block_bits = block_bits,
                                                    .idle_epoch_ps = test_between(r, 0, 50) * US,
                                                    .chains = test_chance(r, 50)};
    run->layer_config.reserve = test_chance(r, 30) ? run->layer_config.blocks / 4u : 0;
    run->rx_env.reorder = eun_reorder_new(&run->layer_config);
    assert_non_null(run->rx_env.reorder);
    assert_true(eun_fixed_shape_init(&run->shape, (cap + 63u) / 64u * 64u));
    run->rx_env.fixed = &run->shape;
    run->rx_env.nack_interval_ps = test_between(r, 0, 8) * US;
    run->rx_env.ack_every = test_chance(r, 50) ? 1 : test_between(r, 2, 20);
    run->rx_env.sack_every = test_chance(r, 50) ? 1 : test_between(r, 0, 20);
    run->rx_env.fallback_after = test_between(r, 0, 20);
    const uint32_t limit = test_between(r, 0, 4);
    const uint64_t rate = test_chance(r, 30) ? 0 : test_between(r, 1, 1000) * UINT64_C(100000000);
    if (run->tx_env.gate == EUN_GATE_RECEIVER)
        test_stage(&run->rx_env, &run->staging, limit, rate);
}

static void draw_messages(struct run *run, struct qp *qp)
{
    struct test_random *r = &run->r;
    qp->messages = test_between(r, 1, MESSAGES_MAX);
    for (uint32_t i = 0; i < qp->messages; i++) {
        struct naive_message *m = &qp->message[i];
        const uint32_t kind = test_below(r, 20);
        m->head = qp->psns;
        m->packets = kind < 6 ? 1 : kind < 19 ? test_between(r, 1, 12) : test_between(r, 13, 100);
        m->bytes = (m->packets - 1u) * run->tx_env.mtu + test_between(r, 1, run->tx_env.mtu);
        qp->psns += m->packets;
    }
}

/** A QP begins, on both ends, with messages of its own. */
static void start_life(struct run *run, uint32_t index)
{
    struct qp *qp = &run->qp[index];
    struct eun_sender *tx = qp->tx;
    const uint32_t generation = qp->generation + 1u;
    *qp = (struct qp){.tx = tx, .generation = generation, .timer = NEVER, .pace = NEVER};
    qp->origin = test_first_psn(&run->r);
    draw_messages(run, qp);
    if (tx)
        eun_sender_reset(tx, run->transport, qp->origin);
    else
        qp->tx = eun_sender_new(run->transport, qp->origin);
    assert_non_null(qp->tx);
    eun_sender_start(qp->tx, &run->tx_env, test_random_next(&run->r));
    eun_receiver_init(&qp->rx, index, qp->origin);
    eun_receiver_lend(&qp->rx, &run->shape, run->bitmap[index]);
    assert_true(eun_reorder_open(run->rx_env.reorder, index));
    int64_t at = run->now;
    for (uint32_t m = 0; m < qp->messages; m++) {
        at += test_chance(&run->r, 50) ? 0 : test_below(&run->r, 40) * US;
        schedule(run, (struct event){.at = at, .kind = EVENT_POST, .qp = index});
    }
    run->bound += (qp->psns * INT64_C(20) + 200) *
                  (run->tx_env.rto_ps + 2 * run->channel.delay + 2 * run->channel.jitter);
}

static void start(struct run *run)
{
    draw_channel(run);
    draw_settings(run);
    run->qps = test_between(&run->r, 1, QPS_MAX);
    for (uint32_t i = 0; i < run->qps; i++)
        start_life(run, i);
}

static void on_post(struct run *run, uint32_t index)
{
    struct qp *qp = &run->qp[index];
    const uint32_t i = qp->posted++;
    CHECK(run, eun_sender_post(qp->tx, &run->tx_env, qp->message[i].bytes, cookie_of(qp, i)));
    if (test_chance(&run->r, 50))
        eun_sender_stamp(qp->tx, run->now);
}

static void dispatch(struct run *run, const struct event *event)
{
    switch (event->kind) {
    case EVENT_DATA:
        on_data(run, event->qp, event->u.data);
        break;
    case EVENT_FEEDBACK:
        on_feedback(run, event->qp, event->u.feedback);
        break;
    case EVENT_SEND:
        on_send(run, event->qp);
        break;
    case EVENT_TIMER:
        on_timer(run, event->qp);
        break;
    case EVENT_PACE:
        on_pace(run, event->qp);
        break;
    case EVENT_POST:
        on_post(run, event->qp);
        break;
    case EVENT_SERVED: /* This link has no port. */
        break;
    }
}

/**
 * Without loss, and in order, nothing is sent twice, unless the gate itself makes gaps, or a window
 * begins while packets are under way that did not ask for the ACK that it now waits for.
 */
static bool is_quiet(const struct run *run)
{
    const struct channel *c = &run->channel;
    return c->loss == 0 && c->nack_loss == 0 && c->duplicates == 0 && c->jitter == 0 &&
           c->pause_until == 0 && c->corrupted == 0 &&
           !(run->own_windows && run->rx_env.ack_every > 1) &&
           !(run->transport->tolerates_reordering && run->tx_env.gate == EUN_GATE_SENDER);
}

static void finish(struct run *run)
{
    take_copies(run, NEVER - 1);
    for (uint32_t i = 0; i < run->qps; i++) {
        struct qp *qp = &run->qp[i];
        CHECK(run, qp->posted == qp->messages);
        CHECK(run, qp->rx_completed == qp->messages);
        CHECK(run, qp->tx_completed == qp->messages);
        CHECK(run, eun_sender_deadline(qp->tx, &run->tx_env) == NEVER);
        CHECK(run, eun_sender_pace_deadline(qp->tx) == NEVER);
        CHECK(run, eun_sender_state(qp->tx, &run->tx_env) == EUN_TX_IDLE);
        CHECK(run, !is_quiet(run) || qp->retransmitted == 0);
        CHECK(run, qp->visible == qp->messages);
        note_life(run, qp);
    }
    CHECK(run, run->staging.used == 0);
    scrub(run);
    for (uint32_t i = 0; i < run->qps; i++) {
        eun_receiver_close(&run->qp[i].rx, &run->rx_env);
        eun_sender_free(run->qp[i].tx);
    }
    CHECK(run, eun_reorder_stats(run->rx_env.reorder)->blocks_in_use == 0);
    note_layer(run);
    eun_reorder_free(run->rx_env.reorder);
    eun_staging_dispose(&run->staging);
    free(run->events.heap);
}

static void take_step(struct run *run)
{
    const struct event event = event_pop(&run->events);
    run->now = event.at;
    run->steps++;
    take_copies(run, run->now);
    CHECK(run, run->now <= run->bound);
    CHECK(run, run->steps <= STEPS_MAX);
    if (run->restarts < RESTARTS_MAX && run->now >= run->channel.restart_at[run->restarts])
        restart(run);
    /* As the NIC does: the generation travels with packets and answers. */
    if (event.generation != run->qp[event.qp].generation) {
        run->coverage->stale += event.kind == EVENT_DATA || event.kind == EVENT_FEEDBACK;
        return;
    }
    dispatch(run, &event);
    maybe_fail(run);
    consider(run, event.qp);
    if (test_chance(&run->r, 2))
        eun_reorder_sweep(run->rx_env.reorder, run->now);
}

static void run_one(uint64_t seed, struct coverage *coverage)
{
    static struct run run;
    memset(&run, 0, sizeof run);
    run.seed = seed;
    run.r.state = seed;
    run.coverage = coverage;
    start(&run);
    while (run.events.count > 0)
        take_step(&run);
    coverage->steps += run.steps;
    coverage->fallbacks += run.rx_env.fallbacks;
    finish(&run);
}

/** Run n has seed + n, so EUNOMIA_SEED with the seed of a failure makes it the first run. */
static void every_message_completes_exactly_once(void **state)
{
    (void)state;
    const char *deep = getenv("EUNOMIA_DEEP");
    const uint64_t runs = deep && deep[0] == '1' ? 1000000 : 10000;
    const uint64_t seed = test_random_start(1).state;
    struct coverage coverage = {0};
    print_message("%llu runs from it on\n", (unsigned long long)runs);
    for (uint64_t i = 0; i < runs; i++)
        run_one(seed + i, &coverage);
    print_message("%llu steps, %llu retransmissions, %llu packets under an allowance, "
                  "%llu fallbacks, %llu cap hits, %llu misses\n",
                  (unsigned long long)coverage.steps, (unsigned long long)coverage.retransmitted,
                  (unsigned long long)coverage.limited, (unsigned long long)coverage.fallbacks,
                  (unsigned long long)coverage.cap_hits, (unsigned long long)coverage.misses);
    print_message("%llu QPs lost what they held, %llu leaked blocks found; %llu stale packets and "
                  "answers, %llu messages failed, %llu completed in a later life\n",
                  (unsigned long long)coverage.corrupted, (unsigned long long)coverage.scrubbed,
                  (unsigned long long)coverage.stale, (unsigned long long)coverage.failed,
                  (unsigned long long)coverage.reborn);
    print_message("MP-RDMA: %llu repeats, %llu synchronise packets came too early\n",
                  (unsigned long long)coverage.repeated, (unsigned long long)coverage.synced);
    assert_true(coverage.retransmitted > runs);
    assert_true(coverage.limited > runs);
    assert_true(coverage.fallbacks > runs / 10);
    assert_true(coverage.cap_hits > runs / 10);
    assert_true(coverage.misses > runs / 10);
    assert_true(coverage.corrupted > runs / 10);
    assert_true(coverage.scrubbed > runs);
    assert_true(coverage.stale > runs / 10);
    assert_true(coverage.failed > runs / 10);
    assert_true(coverage.reborn > runs / 10);
    assert_true(coverage.repeated > runs / 10);
    assert_true(coverage.synced > runs / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_completes_exactly_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
