/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * Direct data placement with go-back-N: as ddp (transport-ddp.c), but the receiver does not say
 * which packets came early, so after a loss everything from the cumulative point on goes again. The
 * receiver keeps what it has: the sender is through with its repeat as soon as the gap is closed.
 */
#include "transport.h"

#include "receiver-internal.h"
#include "sender-internal.h"

static void receive(struct eun_receiver *rx, struct eun_receiver_env *env,
                    const struct eun_data *packet, int64_t now, struct eun_rx_verdict *out)
{
    (void)now;
    const bool kept = eun_receiver_take_fixed(rx, env, packet, out);
    if (kept && (out->disposition == EUN_RX_DUPLICATE || packet->ack_request))
        eun_receiver_answer(rx, EUN_FEEDBACK_ACK, EUN_NACK_SEQUENCE, packet->psn, out);
}

static void feedback(struct eun_sender *tx, const struct eun_sender_env *env,
                     const struct eun_feedback *fb, int64_t now)
{
    (void)env;
    (void)now;
    const bool refused = fb->kind == EUN_FEEDBACK_NACK && fb->reason == EUN_NACK_CAP;
    /* Of one flight past the bitmap many are refused: one repeat comes to all of them. */
    if (refused && fb->psn - tx->una < tx->nxt - tx->una && !eun_sender_is_sweeping(tx))
        eun_sender_sweep_to(tx, tx->nxt);
}

static void timeout(struct eun_sender *tx, const struct eun_sender_env *env, int64_t now)
{
    (void)env;
    (void)now;
    eun_sender_sweep_to(tx, tx->nxt);
}

const struct eun_transport eun_transport_ddp_gbn = {
    .name = "ddp-gbn",
    .summary = "early packets are placed, and after a timeout everything is sent again",
    .tolerates_reordering = true,
    .ordering = EUN_ORDERING_FIXED,
    .receive = receive,
    .feedback = feedback,
    .timeout = timeout,
};
