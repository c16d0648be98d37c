/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * MP-RDMA: a QP spreads its packets over many paths, named by their UDP source port, and holds the
 * disorder so low that a bitmap of L slots tells the receiver what has come (Lu et al.,
 * "Multi-Path Transport for RDMA in Datacenters", NSDI 2018).
 *
 * Receiver: every packet is answered, with the cumulative point, the packet's PSN and its path.
 * What lies L or more PSNs ahead is dropped and NACKed, and so is a synchronise packet before which
 * packets are missing. An ACK tells of a packet at the cumulative point, a SACK of one ahead.
 *
 * Sender: a window of its own (mprdma-window.h) instead of congestion control of the NIC. An answer
 * lets up to two packets go on its path; what it leaves over goes when the burst timer finds that
 * no further answer came. A NACK or a timeout begins a recovery, until all that had been sent is
 * acknowledged: each answer then clocks one packet that is to go again, oldest first. Early
 * packets are no sign of loss. The window may exceed L: what arrives in order never meets the
 * bitmap's edge. A smaller window_psns, at most L, rules drops there out.
 *
 * The paper keeps 66 bytes a connection, 16 of them the bitmap: two bits a slot, for a slot that is
 * empty, received, the tail of a message, or a tail that raises a completion. Here the bitmap has
 * as many (fixed-bitmap.h) and tells no two kinds of tails apart: all messages of a NIC have one
 * verb. What a simulated sender has beside it is not hardware, and larger.
 *
 * Ours, where the paper as we know it says nothing: what is known to have arrived is not repeated;
 * a packet refused again during a recovery goes once more when the cumulative point has moved; a
 * timeout halves the window and takes all that is missing for lost; repeats reach no further than
 * L past the oldest unacknowledged packet, which the receiver is sure to take.
 *
 * Synchronise packets order what memory shows: they are the Lasts of WRITE messages, and wait, and
 * all new packets behind them, for alpha Delta RTT / cwnd after the packet before, unless nothing
 * before them is outstanding.
 */
#include "transport.h"

#include "mprdma-window.h"
#include "receiver-internal.h"
#include "sender-internal.h"

/** What a sender has besides struct eun_sender. */
struct mprdma {
    struct eun_mprdma_window window;
    int64_t sent_ps;      /**< when the last packet left */
    int64_t sync_at_ps;   /**< when a synchronise packet has waited long enough */
    uint32_t sync_waited; /**< PSN of the one that has, where `sync_free` */
    bool sync_free;
};

static inline struct mprdma *state_of(const struct eun_sender *tx)
{
    return tx->policy;
}

/* The receiver. */

static void receive(struct eun_receiver *rx, struct eun_receiver_env *env,
                    const struct eun_data *packet, int64_t now, struct eun_rx_verdict *out)
{
    (void)now;
    *out = (struct eun_rx_verdict){0};
    if (eun_psn_before(packet->psn, rx->expected)) {
        out->disposition = EUN_RX_DUPLICATE;
        eun_receiver_answer(rx, EUN_FEEDBACK_ACK, EUN_NACK_SEQUENCE, packet->psn, out);
        return;
    }
    if (packet->psn != rx->expected)
        eun_receiver_note_ahead(rx, packet->psn, out);
    if (packet->sync && out->out_of_order) {
        out->disposition = EUN_RX_REFUSED;
        eun_receiver_answer(rx, EUN_FEEDBACK_NACK, EUN_NACK_SYNC, packet->psn, out);
        return;
    }
    const struct eun_hd_outcome bits =
        eun_fixed_arrive(env->fixed, rx->bitmap, rx->expected, packet->psn, packet->last);
    switch (bits.verdict) {
    case EUN_HD_ADVANCED:
        eun_receiver_advance(rx, &bits, out);
        eun_receiver_answer(rx, EUN_FEEDBACK_ACK, EUN_NACK_SEQUENCE, packet->psn, out);
        break;
    case EUN_HD_CAP:
        out->disposition = EUN_RX_REFUSED;
        eun_receiver_answer(rx, EUN_FEEDBACK_NACK, EUN_NACK_CAP, packet->psn, out);
        break;
    default:
        out->disposition = bits.verdict == EUN_HD_HELD ? EUN_RX_HELD : EUN_RX_DUPLICATE;
        eun_receiver_answer(rx, EUN_FEEDBACK_SACK, EUN_NACK_SEQUENCE, packet->psn, out);
        break;
    }
}

/* The sender. */

static bool has_work(const struct eun_sender *tx)
{
    return tx->cur != tx->end || eun_sender_has_old_work(tx);
}

static uint32_t available(const struct eun_sender *tx)
{
    return eun_mprdma_available(&state_of(tx)->window, tx->nxt - tx->una, tx->board.count);
}

/** The next new packet is a synchronise packet, others are outstanding, and it has not waited. */
static bool must_synchronise(const struct eun_sender *tx, const struct eun_sender_env *env)
{
    const struct mprdma *s = state_of(tx);
    if (!env->mprdma->sync_lasts || tx->cur == tx->end || tx->una == tx->nxt)
        return false;
    const struct eun_message *m = &tx->slots[tx->cur & tx->mask].message;
    return tx->nxt == m->head + (m->packets - 1u) && !(s->sync_free && s->sync_waited == tx->nxt);
}

/** Brings up to date what the sender may send: after every change. */
static void settle(struct eun_sender *tx, const struct eun_sender_env *env)
{
    struct mprdma *s = state_of(tx);
    tx->credit = eun_mprdma_granted(&s->window);
    if (!must_synchronise(tx, env)) {
        tx->new_waits = false;
        s->sync_at_ps = INT64_MAX;
    } else if (!tx->new_waits) {
        const int64_t delay = eun_mprdma_sync_delay(&s->window, env->mprdma);
        tx->new_waits = delay > 0;
        s->sync_at_ps = delay > 0 ? s->sent_ps + delay : INT64_MAX;
    }
}

static void start(struct eun_sender *tx, const struct eun_sender_env *env, uint64_t seed)
{
    struct mprdma *s = state_of(tx);
    *s = (struct mprdma){.sync_at_ps = INT64_MAX};
    eun_mprdma_init(&s->window, env->mprdma, seed);
}

/** The first message after a silence: all that the window lets go. Others wait for answers. */
static void posted(struct eun_sender *tx, const struct eun_sender_env *env)
{
    struct mprdma *s = state_of(tx);
    if (tx->end - tx->cur == 1)
        eun_mprdma_grant_anywhere(&s->window, available(tx));
    settle(tx, env);
}

static void left(struct eun_sender *tx, const struct eun_sender_env *env,
                 struct eun_tx_packet *packet, int64_t now)
{
    struct mprdma *s = state_of(tx);
    packet->data.path = eun_mprdma_take(&s->window);
    packet->data.sync = packet->data.last && env->mprdma->sync_lasts;
    if (!packet->retransmission)
        eun_mprdma_time(&s->window, packet->data.psn, now);
    else if (s->window.lost > 0)
        s->window.lost--;
    s->sent_ps = now;
    if (!has_work(tx))
        eun_mprdma_withdraw(&s->window);
    settle(tx, env);
}

/** Lets go what the answer that came on `path` makes room for. */
static void clock_out(struct eun_sender *tx, const struct eun_sender_env *env, bool fast,
                      uint16_t path, int64_t now)
{
    struct eun_mprdma_window *w = &state_of(tx)->window;
    uint32_t room = available(tx);
    w->burst_at_ps = INT64_MAX;
    if (!has_work(tx)) {
        if (room > 0)
            eun_mprdma_unused(w);
        return;
    }
    uint32_t packets = room < EUN_MPRDMA_CLOCKED ? room : EUN_MPRDMA_CLOCKED;
    if (eun_sender_may_repeat(tx, env))
        packets = 1;
    const uint32_t placed = fast ? eun_mprdma_clock(w, env->mprdma, packets, path, now) : 0;
    if (room > placed)
        w->burst_at_ps = now + env->mprdma->burst_ps;
}

static void answered(struct eun_sender *tx, const struct eun_sender_env *env,
                     const struct eun_feedback *fb, int64_t now)
{
    struct eun_mprdma_window *w = &state_of(tx)->window;
    const uint32_t outstanding = tx->nxt - tx->una;
    if (!eun_sender_has_old_work(tx))
        w->lost = 0;
    /* What never left clocks nothing. */
    const bool known = eun_psn_before(fb->psn, tx->una) || fb->psn - tx->una < outstanding;
    const bool fast =
        known && eun_mprdma_answer(w, env->mprdma, tx->una, fb->psn, fb->kind != EUN_FEEDBACK_NACK,
                                   fb->ce, fb->retransmission, now);
    clock_out(tx, env, fast, fb->path, now);
    settle(tx, env);
}

/** `psn` was dropped: it is lost, or came before its turn. */
static void note_drop(struct eun_sender *tx, const struct eun_feedback *fb, int64_t now)
{
    if (fb->psn - tx->una >= tx->nxt - tx->una || eun_scoreboard_has(&tx->board, tx->una, fb->psn))
        return;
    state_of(tx)->window.lost++;
    if (!tx->recovering) {
        eun_sender_begin_recovery(tx);
        eun_sender_resend_missing(tx);
    } else if (fb->reason == EUN_NACK_SYNC) {
        eun_sender_park(tx, fb->psn, fb->expected, now);
    } else {
        eun_sender_note_refusal(tx, fb->psn, fb->expected);
    }
}

static void feedback(struct eun_sender *tx, const struct eun_sender_env *env,
                     const struct eun_feedback *fb, int64_t now)
{
    if (fb->kind == EUN_FEEDBACK_SACK)
        eun_sender_note_sack(tx, env, fb->psn, now);
    else
        note_drop(tx, fb, now);
}

static void timeout(struct eun_sender *tx, const struct eun_sender_env *env, int64_t now)
{
    (void)now;
    struct eun_mprdma_window *w = &state_of(tx)->window;
    eun_sender_begin_recovery(tx);
    eun_sender_resend_missing(tx);
    eun_mprdma_timeout(w, tx->nxt - tx->una - tx->board.count);
    eun_mprdma_grant_anywhere(w, available(tx));
    settle(tx, env);
}

static int64_t deadline(const struct eun_sender *tx)
{
    const struct mprdma *s = state_of(tx);
    return s->sync_at_ps < s->window.burst_at_ps ? s->sync_at_ps : s->window.burst_at_ps;
}

static void expired(struct eun_sender *tx, const struct eun_sender_env *env, int64_t now)
{
    struct mprdma *s = state_of(tx);
    if (now >= s->window.burst_at_ps) {
        s->window.burst_at_ps = INT64_MAX;
        if (has_work(tx))
            eun_mprdma_grant_anywhere(&s->window, available(tx));
    }
    if (now >= s->sync_at_ps) {
        s->sync_free = true;
        s->sync_waited = tx->nxt;
    }
    settle(tx, env);
}

static const struct eun_pacing pacing = {
    .state_bytes = sizeof(struct mprdma),
    .start = start,
    .posted = posted,
    .left = left,
    .answered = answered,
    .deadline = deadline,
    .expired = expired,
};

const struct eun_transport eun_transport_mprdma = {
    .name = "mprdma",
    .summary = "MP-RDMA: many paths under one window of its own, and a bitmap of 64 packets",
    .tolerates_reordering = true,
    .ordering = EUN_ORDERING_FIXED,
    .own_congestion_control = true,
    .picks_paths = true,
    .pacing = &pacing,
    .receive = receive,
    .feedback = feedback,
    .timeout = timeout,
};
