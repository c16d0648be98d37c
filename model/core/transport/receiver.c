/* SPDX-License-Identifier: GPL-2.0-only */
#include "receiver.h"

#include "../reorder/psn.h"
#include "isolation.h"
#include "receiver-internal.h"
#include "staging.h"

void eun_receiver_init(struct eun_receiver *rx, uint32_t qp, uint32_t first_psn)
{
    *rx = (struct eun_receiver){
        .qp = qp, .expected = first_psn, .head = first_psn, .staged = EUN_STAGING_NONE};
}

void eun_receiver_lend(struct eun_receiver *rx, const struct eun_fixed_shape *shape,
                       uint64_t *words)
{
    eun_fixed_clear(shape, words);
    rx->bitmap = words;
}

void eun_receiver_close(struct eun_receiver *rx, struct eun_receiver_env *env)
{
    if (env->staging)
        eun_staging_close(env->staging, rx);
    if (env->reorder)
        eun_reorder_close(env->reorder, rx->qp);
}

void eun_receiver_answer(struct eun_receiver *rx, enum eun_feedback_kind kind,
                         enum eun_nack_reason reason, uint32_t psn, struct eun_rx_verdict *out)
{
    out->feedback.kind = (uint8_t)kind;
    out->feedback.reason = (uint8_t)reason;
    out->feedback.expected = rx->expected;
    out->feedback.psn = psn;
    rx->unacked = 0;
}

void eun_receiver_acknowledge(struct eun_receiver *rx, uint32_t ack_every,
                              const struct eun_data *packet, struct eun_rx_verdict *out)
{
    rx->unacked++;
    if (rx->unacked >= ack_every || packet->ack_request || out->completed > 0)
        eun_receiver_answer(rx, EUN_FEEDBACK_ACK, EUN_NACK_SEQUENCE, packet->psn, out);
}

void eun_receiver_advance(struct eun_receiver *rx, const struct eun_hd_outcome *bits,
                          struct eun_rx_verdict *out)
{
    out->disposition = EUN_RX_ACCEPTED;
    out->advanced = bits->advanced;
    out->completed = out->visible = bits->lasts;
    rx->expected += bits->advanced;
    rx->msn = (rx->msn + bits->lasts) & EUN_MSN_MASK;
}

void eun_receiver_note_ahead(struct eun_receiver *rx, uint32_t psn, struct eun_rx_verdict *out)
{
    out->out_of_order = true;
    out->span = psn - rx->expected;
    if (!rx->ahead || eun_psn_before(rx->farthest, psn))
        rx->farthest = psn;
    rx->ahead = true;
}

void eun_receiver_acknowledge_prefix(struct eun_receiver *rx, uint32_t ack_every,
                                     const struct eun_data *packet, struct eun_rx_verdict *out)
{
    /* Behind a gap the sender may wait for this very answer: no coalescing. */
    eun_receiver_acknowledge(rx, rx->ahead ? 1u : ack_every, packet, out);
    if (rx->ahead && eun_psn_before(rx->farthest, rx->expected))
        rx->ahead = false;
}

bool eun_receiver_take_fixed(struct eun_receiver *rx, const struct eun_receiver_env *env,
                             const struct eun_data *packet, struct eun_rx_verdict *out)
{
    *out = (struct eun_rx_verdict){0};
    if (eun_psn_before(packet->psn, rx->expected)) {
        out->disposition = EUN_RX_DUPLICATE;
        eun_receiver_answer(rx, EUN_FEEDBACK_ACK, EUN_NACK_SEQUENCE, packet->psn, out);
        return false;
    }
    if (packet->psn != rx->expected)
        eun_receiver_note_ahead(rx, packet->psn, out);
    const struct eun_hd_outcome bits =
        eun_fixed_arrive(env->fixed, rx->bitmap, rx->expected, packet->psn, packet->last);
    switch (bits.verdict) {
    case EUN_HD_ADVANCED:
        eun_receiver_advance(rx, &bits, out);
        eun_receiver_acknowledge_prefix(rx, env->ack_every, packet, out);
        return false;
    case EUN_HD_CAP:
        out->disposition = EUN_RX_REFUSED;
        eun_receiver_answer(rx, EUN_FEEDBACK_NACK, EUN_NACK_CAP, packet->psn, out);
        return false;
    default:
        out->disposition = bits.verdict == EUN_HD_HELD ? EUN_RX_HELD : EUN_RX_DUPLICATE;
        return true;
    }
}

/** The NACK of go-back-N, and when it may be repeated. */
static void nack_gap(struct eun_receiver *rx, const struct eun_receiver_env *env, uint32_t psn,
                     enum eun_nack_reason reason, int64_t now, struct eun_rx_verdict *out)
{
    rx->nack_valid = true;
    rx->nacked = rx->expected;
    rx->nack_again_ps = now + env->nack_interval_ps;
    eun_receiver_answer(rx, EUN_FEEDBACK_NACK, reason, psn, out);
}

/** Ahead of a go-back-N receiver: discarded, and the gap is reported with a limit on the pace. */
static void discard(struct eun_receiver *rx, const struct eun_receiver_env *env, uint32_t psn,
                    enum eun_nack_reason reason, int64_t now, struct eun_rx_verdict *out)
{
    out->disposition = EUN_RX_REFUSED;
    out->out_of_order = true;
    out->span = psn - rx->expected;
    if (!rx->nack_valid || rx->nacked != rx->expected || now >= rx->nack_again_ps)
        nack_gap(rx, env, psn, reason, now, out);
}

void eun_receiver_go_back_n(struct eun_receiver *rx, const struct eun_receiver_env *env,
                            const struct eun_data *packet, enum eun_nack_reason reason,
                            uint32_t ack_every, int64_t now, struct eun_rx_verdict *out)
{
    const int32_t distance = eun_psn_diff(packet->psn, rx->expected);
    if (distance > 0) {
        discard(rx, env, packet->psn, reason, now, out);
        return;
    }
    if (distance < 0) {
        out->disposition = EUN_RX_DUPLICATE;
        eun_receiver_answer(rx, EUN_FEEDBACK_ACK, EUN_NACK_SEQUENCE, packet->psn, out);
        return;
    }
    out->disposition = EUN_RX_ACCEPTED;
    out->advanced = 1;
    rx->expected++;
    if (packet->last) {
        out->completed = out->visible = 1;
        rx->msn = (rx->msn + 1u) & EUN_MSN_MASK;
        rx->head = rx->expected;
        rx->head_slack = 0;
    }
    eun_receiver_acknowledge(rx, ack_every, packet, out);
}

void eun_receiver_degrade(struct eun_receiver *rx, struct eun_receiver_env *env)
{
    eun_reorder_forget(env->reorder, rx->qp);
    if (env->staging)
        eun_staging_forget(env->staging, rx);
    env->fallbacks++;
    rx->degraded = true;
    /* What lies further ahead was refused for the cap, so it need not come again before. */
    const uint32_t ahead = rx->farthest - rx->expected;
    rx->normal_at = rx->expected + (ahead < EUN_HD_CAP_MAX ? ahead : EUN_HD_CAP_MAX) + 1u;
    eun_isolation_forget(rx);
}

struct eun_feedback eun_receiver_recover(struct eun_receiver *rx, struct eun_receiver_env *env,
                                         int64_t now)
{
    struct eun_rx_verdict out = {0};
    if (!env->reorder)
        return out.feedback;
    eun_reorder_lose(env->reorder, rx->qp);
    if (rx->ahead && !rx->degraded) {
        eun_receiver_degrade(rx, env);
        nack_gap(rx, env, rx->farthest, EUN_NACK_DEGRADED, now, &out);
    }
    return out.feedback;
}
