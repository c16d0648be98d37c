/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * Eunomia: the receiver keeps what arrives out of order in the ordering layer and says so.
 *
 * A SACK is advice: it neither slows the sender nor makes it send anything. A packet that the
 * receiver had to refuse is sent again once the cumulative point has moved past where it stood
 * then, a Last that found no staging slot once it is the one that is awaited; everything else that
 * is lost, after a timeout. Either lowers what the QP may have outstanding (allowance.h), or an
 * overloaded receiver would be sent everything many times. When memory is refused over and over, or
 * lost (eun_receiver_recover()), the QP is degraded: the receiver forgets what it holds and works
 * as go-back-N until the cumulative point has passed every packet that had come when it degraded.
 * By then all that was forgotten has come again, so a SACK from before can no longer mislead the
 * sender. A go-back delivers at least the packet it starts with, or a timeout repeats it, so that
 * point is reached. The receiver repeats its NACK while packets from before the go-back come in:
 * only the first one for a PSN is news.
 */
#include "transport.h"

#include "isolation.h"
#include "receiver-internal.h"
#include "sender-internal.h"
#include "staging.h"

/** Every Last passed was staged, except one that came in order just now. */
static uint32_t visible_at_once(struct eun_receiver *rx, const struct eun_receiver_env *env,
                                const struct eun_data *packet, uint32_t lasts, int64_t now)
{
    if (!env->staging)
        return lasts;
    return eun_staging_pass(env->staging, rx, lasts, packet->last, now);
}

static void advance(struct eun_receiver *rx, const struct eun_receiver_env *env,
                    const struct eun_data *packet, const struct eun_hd_outcome *hd, int64_t now,
                    struct eun_rx_verdict *out)
{
    out->disposition = EUN_RX_ACCEPTED;
    out->advanced = hd->advanced;
    out->completed = hd->lasts;
    eun_isolation_learn(rx, packet);
    rx->expected += hd->advanced;
    rx->refusals = 0;
    if (hd->lasts > 0) {
        out->visible = visible_at_once(rx, env, packet, hd->lasts, now);
        eun_isolation_enter(rx, packet->psn, hd->lasts);
    }
    eun_isolation_pass(rx);
    eun_receiver_acknowledge_prefix(rx, env->ack_every, packet, out);
}

static void refuse(struct eun_receiver *rx, const struct eun_data *packet,
                   enum eun_nack_reason reason, struct eun_rx_verdict *out)
{
    out->disposition = EUN_RX_REFUSED;
    eun_receiver_answer(rx, EUN_FEEDBACK_NACK, reason, packet->psn, out);
}

static void degrade(struct eun_receiver *rx, struct eun_receiver_env *env,
                    const struct eun_data *packet, int64_t now, struct eun_rx_verdict *out)
{
    eun_receiver_degrade(rx, env);
    eun_receiver_go_back_n(rx, env, packet, EUN_NACK_DEGRADED, 1, now, out);
}

static void receive_degraded(struct eun_receiver *rx, const struct eun_receiver_env *env,
                             const struct eun_data *packet, int64_t now, struct eun_rx_verdict *out)
{
    if (packet->psn == rx->expected)
        eun_isolation_learn(rx, packet);
    eun_receiver_go_back_n(rx, env, packet, EUN_NACK_DEGRADED, 1, now, out);
    if (out->completed > 0)
        out->visible = visible_at_once(rx, env, packet, out->completed, now);
    if (eun_psn_before(rx->expected, rx->normal_at))
        return;
    rx->degraded = false;
    rx->ahead = false;
    rx->refusals = 0;
}

static void hold(struct eun_receiver *rx, const struct eun_receiver_env *env,
                 const struct eun_data *packet, int64_t now, struct eun_rx_verdict *out)
{
    out->disposition = EUN_RX_HELD;
    eun_isolation_learn_ahead(rx, packet);
    if (packet->last && env->staging)
        eun_staging_take(env->staging, rx, packet->psn, packet->payload, now);
    /*
     * A SACK only spares copies and opens the gate of scope `message` sooner. What the sender waits
     * for comes without: ACKs, which are not coalesced behind a gap, and the answer to a request.
     */
    rx->unsacked++;
    if (rx->unsacked < env->sack_every && !packet->ack_request)
        return;
    rx->unsacked = 0;
    eun_receiver_answer(rx, EUN_FEEDBACK_SACK, EUN_NACK_SEQUENCE, packet->psn, out);
}

/** Notes a packet ahead of the prefix. False where its Last finds no staging slot. */
static bool note_ahead(struct eun_receiver *rx, const struct eun_receiver_env *env,
                       const struct eun_data *packet, struct eun_rx_verdict *out)
{
    eun_receiver_note_ahead(rx, packet->psn, out);
    return !packet->last || !env->staging || eun_staging_has_room(env->staging) ||
           eun_reorder_holds(env->reorder, rx->qp, rx->expected, packet->psn);
}

static void receive(struct eun_receiver *rx, struct eun_receiver_env *env,
                    const struct eun_data *packet, int64_t now, struct eun_rx_verdict *out)
{
    *out = (struct eun_rx_verdict){0};
    if (!eun_isolation_allows(rx, env->reorder, packet)) {
        out->disposition = EUN_RX_INVALID;
        return;
    }
    if (rx->degraded) {
        receive_degraded(rx, env, packet, now, out);
        return;
    }
    if (eun_psn_before(packet->psn, rx->expected)) {
        out->disposition = EUN_RX_DUPLICATE;
        eun_receiver_answer(rx, EUN_FEEDBACK_ACK, EUN_NACK_SEQUENCE, packet->psn, out);
        return;
    }
    if (packet->psn != rx->expected && !note_ahead(rx, env, packet, out)) {
        refuse(rx, packet, EUN_NACK_STAGING, out);
        return;
    }
    const struct eun_hd_outcome hd =
        eun_reorder_arrive(env->reorder, rx->qp, rx->expected, packet->psn, packet->last, now);
    switch (hd.verdict) {
    case EUN_HD_ADVANCED:
        advance(rx, env, packet, &hd, now, out);
        break;
    case EUN_HD_HELD:
        hold(rx, env, packet, now, out);
        break;
    case EUN_HD_DUPLICATE:
        out->disposition = EUN_RX_DUPLICATE;
        eun_receiver_answer(rx, EUN_FEEDBACK_SACK, EUN_NACK_SEQUENCE, packet->psn, out);
        break;
    case EUN_HD_CAP:
        refuse(rx, packet, EUN_NACK_CAP, out);
        break;
    case EUN_HD_NO_METADATA:
    case EUN_HD_NO_BLOCKS:
        if (++rx->refusals >= env->fallback_after)
            degrade(rx, env, packet, now, out);
        else
            refuse(rx, packet, EUN_NACK_MEMORY, out);
        break;
    }
}

static void feedback(struct eun_sender *tx, const struct eun_sender_env *env,
                     const struct eun_feedback *fb, int64_t now)
{
    if (fb->kind == EUN_FEEDBACK_SACK) {
        eun_sender_note_sack(tx, env, fb->psn, now);
        return;
    }
    switch (fb->reason) {
    case EUN_NACK_STAGING:
        eun_sender_park(tx, fb->psn, fb->expected, now);
        break;
    case EUN_NACK_CAP:
    case EUN_NACK_MEMORY:
        if (eun_sender_note_refusal(tx, fb->psn, fb->expected) && fb->reason == EUN_NACK_MEMORY)
            eun_allowance_cut(&tx->allowance, tx->una, tx->nxt, env->cap_psns);
        break;
    default:
        /* The receiver takes packets in order only, and holds nothing any more. */
        eun_sender_forget_sacks(tx);
        if (fb->expected == tx->una && !eun_sender_is_back(tx)) {
            eun_allowance_restart(&tx->allowance, tx->una, tx->nxt);
            eun_sender_go_back(tx);
        }
        break;
    }
}

static void timeout(struct eun_sender *tx, const struct eun_sender_env *env, int64_t now)
{
    (void)env;
    (void)now;
    eun_allowance_restart(&tx->allowance, tx->una, tx->nxt);
    eun_sender_resend_missing(tx);
}

const struct eun_transport eun_transport_eunomia = {
    .name = "eunomia",
    .summary = "ordering layer in the NIC: out-of-order packets are kept in a shared block pool",
    .tolerates_reordering = true,
    .ordering = EUN_ORDERING_POOL,
    .receive = receive,
    .feedback = feedback,
    .timeout = timeout,
};
