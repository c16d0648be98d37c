/* SPDX-License-Identifier: GPL-2.0-only */
#include "sender.h"

#include "gate.h"
#include "receiver-internal.h"
#include "sender-internal.h"
#include "transport.h"

#include <stdlib.h>

static inline struct eun_tx_slot *slot_at(const struct eun_sender *tx, uint64_t message)
{
    return &tx->slots[message & tx->mask];
}

static inline uint32_t last_psn(const struct eun_message *m)
{
    return m->head + (m->packets - 1u);
}

static uint32_t reach(const struct eun_sender_env *env)
{
    return env->cap_psns > 0 ? env->cap_psns : 1u;
}

static inline uint32_t payload_of(const struct eun_message *m, uint32_t psn, uint32_t mtu)
{
    return psn == last_psn(m) ? m->bytes - (m->packets - 1u) * mtu : mtu;
}

/* Messages. */

static bool grow(struct eun_sender *tx)
{
    const uint32_t size = (tx->mask + 1u) * 2u;
    struct eun_tx_slot *slots = malloc(size * sizeof *slots);
    if (!slots)
        return false;
    for (uint64_t i = tx->first; i != tx->end; i++)
        slots[i & (size - 1u)] = *slot_at(tx, i);
    if (tx->slots != &tx->inline_slot)
        free(tx->slots);
    tx->slots = slots;
    tx->mask = size - 1u;
    return true;
}

/** May `nxt` be sent, as far as held Lasts and refusals are concerned? */
static inline bool within_cap(const struct eun_sender *tx, const struct eun_sender_env *env)
{
    if ((tx->held | tx->parked | tx->refused.count) == 0)
        return true;
    return !(tx->held > 0 && tx->in_order_only) && tx->nxt - tx->una < reach(env);
}

/** Lets `nxt` pass Lasts that the gate holds. */
static void pass_held_lasts(struct eun_sender *tx, const struct eun_sender_env *env)
{
    while (tx->cur != tx->end) {
        struct eun_tx_slot *slot = slot_at(tx, tx->cur);
        if (tx->nxt != last_psn(&slot->message) || !within_cap(tx, env) ||
            eun_gate_open(env, &slot->message, tx->una, slot->sacked))
            return;
        slot->held = true;
        if (tx->held++ == 0)
            tx->first_held = tx->cur;
        tx->unstamped = true;
        tx->nxt++;
        tx->cur++;
    }
}

void eun_sender_stamp(struct eun_sender *tx, int64_t now)
{
    if (!tx->unstamped)
        return;
    if (tx->stamp_from < tx->done)
        tx->stamp_from = tx->done;
    for (; tx->stamp_from != tx->cur; tx->stamp_from++) {
        struct eun_tx_slot *slot = slot_at(tx, tx->stamp_from);
        if (slot->held)
            eun_gate_hold(&slot->message, now);
    }
    tx->unstamped = false;
}

bool eun_sender_post(struct eun_sender *tx, const struct eun_sender_env *env, uint32_t bytes,
                     uint64_t cookie)
{
    if (bytes == 0 || bytes > EUN_MESSAGE_MAX_BYTES)
        return false;
    if (tx->end - tx->first > tx->mask && !grow(tx))
        return false;
    struct eun_tx_slot *slot = slot_at(tx, tx->end);
    *slot = (struct eun_tx_slot){
        .message =
            {
                .cookie = cookie,
                .bytes = bytes,
                .head = tx->post_psn,
                .packets = (bytes - 1u) / env->mtu + 1u,
                .msn = tx->post_msn,
                .held_since_ps = -1,
            },
    };
    tx->post_psn += slot->message.packets;
    tx->post_msn = (tx->post_msn + 1u) & EUN_MSN_MASK;
    tx->end++;
    if (env->gate == EUN_GATE_SENDER)
        pass_held_lasts(tx, env);
    return true;
}

bool eun_sender_completed(struct eun_sender *tx, struct eun_message *out)
{
    if (tx->first == tx->done)
        return false;
    *out = slot_at(tx, tx->first)->message;
    tx->first++;
    return true;
}

/** Message of `psn`, which lies in [una, nxt). */
static uint64_t find_message(const struct eun_sender *tx, uint32_t psn)
{
    uint64_t low = tx->done;
    uint64_t high = tx->cur != tx->end ? tx->cur : tx->cur - 1u;
    while (low != high) {
        const uint64_t mid = low + (high - low + 1u) / 2u;
        if (slot_at(tx, mid)->message.head - tx->una <= psn - tx->una)
            low = mid;
        else
            high = mid - 1u;
    }
    return low;
}

static void update_holds(struct eun_sender *tx, const struct eun_sender_env *env, int64_t now)
{
    if (env->gate != EUN_GATE_SENDER)
        return;
    pass_held_lasts(tx, env);
    eun_sender_stamp(tx, now);
}

/* What goes next. */

/** How far past una a packet may lie that is sent again. */
static uint32_t resend_reach(const struct eun_sender *tx, const struct eun_sender_env *env)
{
    const uint32_t cap = tx->in_order_only ? EUN_PSN_WINDOW_MAX : reach(env);
    return tx->allowance.packets < cap ? tx->allowance.packets : cap;
}

static bool sweep_ready(const struct eun_sender *tx, const struct eun_sender_env *env)
{
    if (tx->resend == tx->resend_end)
        return false;
    if (tx->resend - tx->una >= resend_reach(tx, env))
        return false;
    if (!tx->in_order_only)
        return true;
    const struct eun_message *m = &slot_at(tx, tx->resend_message)->message;
    return tx->resend != last_psn(m) || m->last_sent;
}

/** The smaller of the NIC's window and the QP's own, less 1; UINT32_MAX where there is none. */
static inline uint32_t window_less_1(const struct eun_sender *tx, const struct eun_sender_env *env)
{
    const uint32_t shared = env->window_bytes - 1u;
    const uint32_t own = tx->window_bytes - 1u;
    return shared < own ? shared : own;
}

static inline bool new_ready(const struct eun_sender *tx, const struct eun_sender_env *env)
{
    const uint32_t ahead = tx->nxt - tx->una;
    if (tx->cur == tx->end || ahead >= EUN_PSN_WINDOW_MAX - 1u || ahead >= tx->allowance.packets ||
        (env->window_psns > 0 && ahead >= env->window_psns) || !within_cap(tx, env))
        return false;
    const uint32_t window = window_less_1(tx, env);
    if (window == UINT32_MAX || tx->inflight == 0)
        return true;
    const struct eun_message *m = &slot_at(tx, tx->cur)->message;
    return tx->inflight + payload_of(m, tx->nxt, env->mtu) - 1u <= window;
}

/** Is anything to be sent but new packets? */
static inline bool has_old_work(const struct eun_sender *tx)
{
    return (tx->freed | (tx->resend ^ tx->resend_end) | tx->refused.count) != 0;
}

static bool recovery_ready(const struct eun_sender *tx, const struct eun_sender_env *env)
{
    return tx->freed > 0 || sweep_ready(tx, env) ||
           eun_refused_due(&tx->refused, tx->una, resend_reach(tx, env)) >= 0;
}

static inline bool is_ready(const struct eun_sender *tx, const struct eun_sender_env *env)
{
    if (has_old_work(tx)) {
        if (recovery_ready(tx, env))
            return true;
        /* New packets wait for the sweep, though it waits itself. */
        if (tx->resend != tx->resend_end)
            return false;
    }
    return new_ready(tx, env);
}

enum eun_tx_state eun_sender_state(const struct eun_sender *tx, const struct eun_sender_env *env)
{
    return is_ready(tx, env) ? EUN_TX_READY : EUN_TX_IDLE;
}

/** Moves `resend` on to the next PSN that the sweep has to send. */
static void settle_sweep(struct eun_sender *tx)
{
    while (tx->resend != tx->resend_end) {
        const struct eun_tx_slot *slot = slot_at(tx, tx->resend_message);
        const uint32_t last = last_psn(&slot->message);
        if (tx->skip_sacked) {
            const uint32_t end =
                tx->resend_end - tx->resend <= last - tx->resend ? tx->resend_end : last + 1u;
            tx->resend = eun_scoreboard_next_missing(&tx->board, tx->una, tx->resend, end);
            if (tx->resend == last + 1u) {
                tx->resend_message++;
                continue;
            }
        }
        if (tx->resend != last || tx->resend == tx->resend_end)
            return;
        /* A Last that left for the first time since the sweep began needs no second copy. */
        if (slot->message.last_sent ? slot->first_sweep != tx->sweep : tx->in_order_only)
            return;
        tx->resend++;
        tx->resend_message++;
    }
}

/** Moves every range of refused PSNs on to one that was sent, is not SACKed and not parked. */
static void settle_refused(struct eun_sender *tx)
{
    for (uint32_t i = 0; i < tx->refused.count;) {
        const uint32_t psn = tx->refused.range[i].first;
        bool skip = eun_scoreboard_has(&tx->board, tx->una, psn);
        if (!skip && (tx->held | tx->parked) > 0) {
            const struct eun_tx_slot *slot = slot_at(tx, find_message(tx, psn));
            skip = (slot->held || slot->parked) && psn == last_psn(&slot->message);
        }
        if (skip)
            eun_refused_drop_first(&tx->refused, i);
        else
            i++;
    }
}

static inline void fill(const struct eun_tx_slot *slot, const struct eun_sender_env *env,
                        uint32_t psn, bool retransmission, struct eun_tx_packet *out)
{
    const struct eun_message *m = &slot->message;
    out->data.psn = psn;
    out->data.head = m->head;
    out->data.msn = m->msn;
    out->data.payload = payload_of(m, psn, env->mtu);
    out->data.last = psn == last_psn(m);
    out->data.ce = false;
    out->data.retransmission = retransmission;
    out->data.sync = false;
    out->data.path = 0;
    out->cookie = m->cookie;
    out->retransmission = retransmission;
    out->first = psn == m->head;
}

static void last_leaves(struct eun_sender *tx, struct eun_tx_slot *slot)
{
    slot->message.last_sent = true;
    slot->first_sweep = tx->sweep;
}

/** The oldest freed Last leaves for the first time. */
static void take_freed(struct eun_sender *tx, const struct eun_sender_env *env,
                       struct eun_tx_packet *out)
{
    struct eun_tx_slot *slot = slot_at(tx, tx->freed_head);
    fill(slot, env, last_psn(&slot->message), false, out);
    last_leaves(tx, slot);
    slot->held = false;
    tx->inflight += out->data.payload;
    tx->freed--;
    tx->freed_head = slot->next_free;
    tx->held--;
    while (tx->held > 0 && !slot_at(tx, tx->first_held)->held)
        tx->first_held++;
}

static bool take_recovery(struct eun_sender *tx, const struct eun_sender_env *env,
                          struct eun_tx_packet *out)
{
    if (tx->freed > 0) {
        take_freed(tx, env, out);
        settle_sweep(tx);
        return true;
    }
    if (sweep_ready(tx, env)) {
        const struct eun_tx_slot *slot = slot_at(tx, tx->resend_message);
        fill(slot, env, tx->resend, true, out);
        tx->resend++;
        tx->resend_message += out->data.last;
        tx->retransmitted++;
        settle_sweep(tx);
        return true;
    }
    const int due = eun_refused_due(&tx->refused, tx->una, resend_reach(tx, env));
    if (due < 0)
        return false;
    const uint32_t psn = tx->refused.range[due].first;
    fill(slot_at(tx, find_message(tx, psn)), env, psn, true, out);
    eun_refused_drop_first(&tx->refused, (uint32_t)due);
    settle_refused(tx);
    tx->retransmitted++;
    return true;
}

static inline void take_new(struct eun_sender *tx, const struct eun_sender_env *env,
                            struct eun_tx_packet *out)
{
    struct eun_tx_slot *slot = slot_at(tx, tx->cur);
    fill(slot, env, tx->nxt, false, out);
    tx->inflight += out->data.payload;
    tx->nxt++;
    if (out->data.last) {
        last_leaves(tx, slot);
        tx->cur++;
    }
}

bool eun_sender_next(struct eun_sender *tx, const struct eun_sender_env *env, int64_t now,
                     struct eun_tx_packet *out)
{
    eun_sender_stamp(tx, now);
    if (!has_old_work(tx) || !take_recovery(tx, env, out)) {
        if (tx->resend != tx->resend_end || !new_ready(tx, env))
            return false;
        take_new(tx, env, out);
    }
    const uint64_t cur = tx->cur;
    update_holds(tx, env, now);
    const bool holds = tx->cur != cur;
    /*
     * A Last waits for the answer, or nothing more can leave without one. A packet sent again does
     * not leave in order of PSN: a request on the last one to leave would not cover it.
     */
    out->data.ack_request = out->data.last || holds || tx->window_bytes > 0 || !is_ready(tx, env) ||
                            (out->retransmission && tx->transport->tolerates_reordering);
    tx->restart_ps = now;
    tx->sent_since_timeout = true;
    return true;
}

/* What answers and timeouts change. */

/** The gate opens for the Last of `message`, if it is held and nothing keeps it back any more. */
static void free_last(struct eun_sender *tx, const struct eun_sender_env *env, uint64_t message,
                      int64_t now)
{
    struct eun_tx_slot *slot = slot_at(tx, message);
    if (!slot->held || slot->freed || !eun_gate_open(env, &slot->message, tx->una, slot->sacked))
        return;
    slot->freed = true;
    eun_gate_release(&slot->message, now);
    if (tx->freed++ == 0)
        tx->freed_head = message;
    else
        slot_at(tx, tx->freed_tail)->next_free = message;
    tx->freed_tail = message;
}

/** The Last of a message is parked no longer: it goes, or has arrived. */
static void unpark(struct eun_sender *tx, struct eun_tx_slot *slot, int64_t now)
{
    slot->parked = false;
    tx->parked--;
    eun_gate_release(&slot->message, now);
}

/** A parked Last that is awaited goes now. */
static void recall(struct eun_sender *tx, int64_t now)
{
    struct eun_tx_slot *slot = slot_at(tx, tx->done);
    if (!slot->parked || tx->una != last_psn(&slot->message))
        return;
    unpark(tx, slot, now);
    eun_refused_add(&tx->refused, tx->una, tx->una - 1u);
}

/** `una` has moved: brings the parts that are rarely in use up to date. */
static void catch_up(struct eun_sender *tx, const struct eun_sender_env *env, int64_t now)
{
    if (tx->degraded && !eun_psn_before(tx->una, tx->degraded_until)) {
        tx->degraded = false;
        tx->in_order_only = false;
    }
    if (tx->recovering && !eun_psn_before(tx->una, tx->recover_until))
        tx->recovering = false;
    if (tx->resend != tx->resend_end) {
        if (!eun_psn_before(tx->una, tx->resend_end)) {
            tx->resend = tx->resend_end;
        } else if (eun_psn_before(tx->resend, tx->una)) {
            tx->resend = tx->una;
            tx->resend_message = tx->done;
        }
        settle_sweep(tx);
    }
    if (tx->held > 0 && tx->done != tx->cur)
        free_last(tx, env, tx->done, now);
    if (tx->refused.count > 0) {
        eun_refused_trim(&tx->refused, tx->una);
        settle_refused(tx);
    }
    if (tx->parked > 0 && tx->done != tx->cur)
        recall(tx, now);
}

/** The messages that end before `expected` are complete; the one that holds it becomes `done`. */
static void acknowledge(struct eun_sender *tx, const struct eun_sender_env *env, uint32_t expected,
                        int64_t now)
{
    const uint32_t moved = expected - tx->una;
    uint32_t sacked = 0;
    while (tx->done != tx->cur) {
        struct eun_tx_slot *slot = slot_at(tx, tx->done);
        const struct eun_message *m = &slot->message;
        if (expected - m->head < m->packets)
            break;
        if (slot->parked)
            unpark(tx, slot, now);
        tx->inflight -= m->bytes - (uint64_t)(tx->una - m->head) * env->mtu;
        if (tx->board.count > 0)
            eun_scoreboard_advance(&tx->board, tx->una, m->head + m->packets);
        tx->una = m->head + m->packets;
        tx->done++;
    }
    tx->inflight -= (uint64_t)(expected - tx->una) * env->mtu;
    if (tx->board.count > 0)
        sacked = eun_scoreboard_advance(&tx->board, tx->una, expected);
    if (sacked > 0 && slot_at(tx, tx->done)->sacked >= sacked)
        slot_at(tx, tx->done)->sacked -= sacked;
    tx->una = expected;
    eun_allowance_grow(&tx->allowance, moved, reach(env));
    tx->timeouts = 0;
    tx->restart_ps = now;
    if (has_old_work(tx) || tx->degraded || tx->recovering || (tx->held | tx->parked) > 0)
        catch_up(tx, env, now);
}

void eun_sender_feedback(struct eun_sender *tx, const struct eun_sender_env *env,
                         const struct eun_feedback *fb, int64_t now)
{
    if (fb->kind == EUN_FEEDBACK_NONE)
        return;
    /* No receiver can have passed a PSN that never left. */
    const uint32_t limit = tx->held > 0 ? last_psn(&slot_at(tx, tx->first_held)->message) : tx->nxt;
    const int32_t moved = eun_psn_diff(fb->expected, tx->una);
    if (moved > eun_psn_diff(limit, tx->una))
        return;
    eun_sender_stamp(tx, now);
    if (moved > 0)
        acknowledge(tx, env, fb->expected, now);
    if (fb->kind != EUN_FEEDBACK_ACK)
        tx->transport->feedback(tx, env, fb, now);
    update_holds(tx, env, now);
}

static void sweep(struct eun_sender *tx, uint32_t end, bool skip_sacked)
{
    tx->resend = tx->una;
    tx->resend_end = end;
    tx->resend_message = tx->done;
    tx->skip_sacked = skip_sacked;
    tx->sweep++;
    settle_sweep(tx);
}

/** A sweep of everything that was sent. */
static void sweep_all(struct eun_sender *tx, bool skip_sacked)
{
    for (uint64_t i = tx->done; tx->parked > 0; i++) {
        tx->parked -= slot_at(tx, i)->parked;
        slot_at(tx, i)->parked = false;
    }
    tx->refused.count = 0;
    sweep(tx, tx->nxt, skip_sacked);
}

void eun_sender_go_back(struct eun_sender *tx)
{
    tx->degraded = tx->transport->tolerates_reordering;
    tx->degraded_until = tx->nxt;
    tx->back_at = tx->una;
    tx->in_order_only = true;
    sweep_all(tx, false);
}

void eun_sender_resend_missing(struct eun_sender *tx)
{
    /* A receiver that had una would have moved past it: it forgot, or its ACK was lost. */
    if (eun_scoreboard_has(&tx->board, tx->una, tx->una))
        eun_sender_forget_sacks(tx);
    sweep_all(tx, true);
}

void eun_sender_begin_recovery(struct eun_sender *tx)
{
    tx->recovering = true;
    tx->recover_until = tx->nxt;
}

void eun_sender_sweep_to(struct eun_sender *tx, uint32_t end)
{
    sweep(tx, end, true);
}

void eun_sender_sweep_on(struct eun_sender *tx, uint32_t end)
{
    if (!eun_psn_before(tx->resend_end, end))
        return;
    /* The last sweep may have ended before una, and its message been forgotten. */
    if (!eun_psn_before(tx->una, tx->resend)) {
        tx->resend = tx->una;
        tx->resend_message = tx->done;
    }
    tx->resend_end = end;
    tx->skip_sacked = true;
    /* Lasts that left since the sweep began, lost as any packet may be, are not spared any more. */
    tx->sweep++;
    settle_sweep(tx);
}

void eun_sender_note_sack(struct eun_sender *tx, const struct eun_sender_env *env, uint32_t psn,
                          int64_t now)
{
    if (tx->in_order_only || psn - tx->una >= tx->nxt - tx->una)
        return;
    const bool by_message = env->gate == EUN_GATE_SENDER && env->gate_scope_message;
    if ((tx->held | tx->parked) > 0 || by_message) {
        const uint64_t message = find_message(tx, psn);
        struct eun_tx_slot *slot = slot_at(tx, message);
        const bool last = psn == last_psn(&slot->message);
        if (last && slot->held)
            return;
        if (!eun_scoreboard_mark(&tx->board, tx->una, psn, env->cap_psns))
            return;
        if (last && slot->parked)
            unpark(tx, slot, now);
        if (by_message && !last) {
            slot->sacked++;
            free_last(tx, env, message, now);
        }
    } else if (!eun_scoreboard_mark(&tx->board, tx->una, psn, env->cap_psns)) {
        return;
    }
    if (tx->board.count == 1 || eun_psn_before(tx->sacked_end, psn + 1u))
        tx->sacked_end = psn + 1u;
    if (psn == tx->resend)
        settle_sweep(tx);
    settle_refused(tx);
}

/** Is `psn` outstanding, and not known to have arrived? */
static bool is_missing(const struct eun_sender *tx, uint32_t psn)
{
    return psn - tx->una < tx->nxt - tx->una && !eun_scoreboard_has(&tx->board, tx->una, psn);
}

/** Does the sweep under way come to `psn`, which is outstanding? */
static bool is_in_sweep(const struct eun_sender *tx, uint32_t psn)
{
    return psn - tx->resend < tx->resend_end - tx->resend;
}

void eun_sender_park(struct eun_sender *tx, uint32_t psn, uint32_t expected, int64_t now)
{
    if (!is_missing(tx, psn))
        return;
    struct eun_tx_slot *slot = slot_at(tx, find_message(tx, psn));
    if (psn != last_psn(&slot->message) || slot->held || psn == tx->una || is_in_sweep(tx, psn)) {
        eun_sender_note_refusal(tx, psn, expected);
        return;
    }
    tx->parked += !slot->parked;
    slot->parked = true;
    eun_gate_hold(&slot->message, now);
    settle_refused(tx);
}

bool eun_sender_note_refusal(struct eun_sender *tx, uint32_t psn, uint32_t expected)
{
    if (!is_missing(tx, psn))
        return false;
    if (is_in_sweep(tx, psn)) {
        /* The sweep under way comes to it anyway; see that it does not spare a new Last. */
        struct eun_tx_slot *slot = slot_at(tx, find_message(tx, psn));
        if (psn == last_psn(&slot->message))
            slot->first_sweep = tx->sweep - 1u;
        return true;
    }
    eun_refused_add(&tx->refused, psn, expected);
    settle_refused(tx);
    return true;
}

void eun_sender_forget_sacks(struct eun_sender *tx)
{
    if (tx->board.count == 0)
        return;
    eun_scoreboard_clear(&tx->board);
    for (uint64_t i = tx->done; i != tx->end; i++) {
        slot_at(tx, i)->sacked = 0;
        if (i == tx->cur)
            break;
    }
}

int64_t eun_sender_deadline(const struct eun_sender *tx, const struct eun_sender_env *env)
{
    const uint32_t in_flight = tx->nxt - tx->una - tx->held;
    if (in_flight == 0)
        return INT64_MAX;
    const int64_t rto = in_flight <= env->rto_low_packets ? env->rto_low_ps : env->rto_ps;
    if (rto > INT64_MAX - tx->restart_ps)
        return INT64_MAX;
    return tx->restart_ps + rto;
}

bool eun_sender_timeout(struct eun_sender *tx, const struct eun_sender_env *env, int64_t now)
{
    if (now < eun_sender_deadline(tx, env))
        return true;
    tx->restart_ps = now;
    if (!tx->sent_since_timeout && eun_sender_state(tx, env) == EUN_TX_READY)
        return true;
    tx->sent_since_timeout = false;
    tx->timeouts++;
    if (tx->timeouts >= env->retry_limit)
        return false;
    eun_sender_stamp(tx, now);
    tx->transport->timeout(tx, env, now);
    update_holds(tx, env, now);
    return true;
}
