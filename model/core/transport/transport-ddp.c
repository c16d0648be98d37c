/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * Direct data placement with selective repeat, as NICs ship it for fabrics with adaptive routing:
 * what comes early is placed at once, and a gap is no sign of loss, since reordering is normal.
 *
 * Public is that such NICs place the packets of a reliable connection in memory in the order in
 * which they come, instead of dropping early ones and having them sent again (NVIDIA, "Out-of-Order
 * Data Placement", documentation of MLNX_OFED and DOCA; ConnectX-5 and later). Assumed here: every
 * packet of a WRITE carries its address (RETH); a bitmap a QP, as long as a window; a packet past
 * it is dropped and NACKed; early packets are reported by SACK. How long real bitmaps are and how
 * real NICs tell loss is not public. Frames carry the ordering header, too, which real ones do not.
 *
 * Loss is found by a timeout, after which what is not known to have arrived goes again, and by the
 * NACK of a packet past the bitmap, which goes again once the cumulative point has moved. Nothing
 * else slows the sender but its window.
 */
#include "transport.h"

#include "receiver-internal.h"
#include "sender-internal.h"

static void receive(struct eun_receiver *rx, struct eun_receiver_env *env,
                    const struct eun_data *packet, int64_t now, struct eun_rx_verdict *out)
{
    (void)now;
    if (!eun_receiver_take_fixed(rx, env, packet, out))
        return;
    rx->unsacked++;
    if (out->disposition == EUN_RX_HELD && rx->unsacked < env->sack_every && !packet->ack_request)
        return;
    rx->unsacked = 0;
    eun_receiver_answer(rx, EUN_FEEDBACK_SACK, EUN_NACK_SEQUENCE, packet->psn, out);
}

static void feedback(struct eun_sender *tx, const struct eun_sender_env *env,
                     const struct eun_feedback *fb, int64_t now)
{
    if (fb->kind == EUN_FEEDBACK_SACK)
        eun_sender_note_sack(tx, env, fb->psn, now);
    else if (fb->reason == EUN_NACK_CAP)
        eun_sender_note_refusal(tx, fb->psn, fb->expected);
}

static void timeout(struct eun_sender *tx, const struct eun_sender_env *env, int64_t now)
{
    (void)env;
    (void)now;
    eun_sender_resend_missing(tx);
}

const struct eun_transport eun_transport_ddp = {
    .name = "ddp",
    .summary = "early packets are placed, and what is missing after a timeout is sent again",
    .tolerates_reordering = true,
    .ordering = EUN_ORDERING_FIXED,
    .receive = receive,
    .feedback = feedback,
    .timeout = timeout,
};
