/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * Go-back-N, the reliability of today's RDMA NICs: the receiver takes packets in order only, and
 * the sender starts again at the first one that is missing.
 */
#include "transport.h"

#include "receiver-internal.h"
#include "sender-internal.h"

static void receive(struct eun_receiver *rx, struct eun_receiver_env *env,
                    const struct eun_data *packet, int64_t now, struct eun_rx_verdict *out)
{
    *out = (struct eun_rx_verdict){0};
    eun_receiver_go_back_n(rx, env, packet, EUN_NACK_SEQUENCE, env->ack_every, now, out);
}

static void feedback(struct eun_sender *tx, const struct eun_sender_env *env,
                     const struct eun_feedback *fb, int64_t now)
{
    (void)env;
    (void)now;
    if (fb->kind == EUN_FEEDBACK_NACK && fb->expected == tx->una)
        eun_sender_go_back(tx);
}

static void timeout(struct eun_sender *tx, const struct eun_sender_env *env, int64_t now)
{
    (void)env;
    (void)now;
    eun_sender_go_back(tx);
}

const struct eun_transport eun_transport_gbn = {
    .name = "gbn",
    .summary = "go-back-N: out-of-order packets are discarded and sent again",
    .tolerates_reordering = false,
    .ordering = EUN_ORDERING_NONE,
    .receive = receive,
    .feedback = feedback,
    .timeout = timeout,
};
