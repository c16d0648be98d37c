/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * IRN: the receiver keeps what comes early in a bitmap as long as the sender's window, and the
 * sender repeats only what is missing (Mittal et al., "Revisiting Network Support for RDMA",
 * SIGCOMM 2018). It is made for fabrics that lose packets and keep them in order: every arrival
 * ahead of the cumulative point is answered with a NACK, which carries that point and the PSN that
 * came, and is a sign of loss.
 *
 * The first such NACK begins a recovery, which ends when all that had been sent by then is
 * acknowledged. It repeats the packet at the cumulative point, then each one below the highest PSN
 * that is known to have arrived and not itself known to have, once a recovery; then new packets go
 * on, as far as the window allows. A NACK after a recovery begins the next one, which takes up a
 * sweep that is still under way. A packet past the bitmap, which a window no longer than that never
 * sends, is lost like any other. After a timeout everything that is not known to have arrived
 * counts as lost, as in conweave-ns3: with a repeat of the first packet alone, a lost tail would
 * take a timeout a packet.
 *
 * With `irn_go_back` the sender does as conweave-ns3's (rdma-hw.cc): the first such NACK takes it
 * back to the cumulative point, from where it repeats all that has been sent and is not known to
 * have arrived, what is under way above the highest PSN that arrived as well. An answer of a
 * receiver that holds nothing ends the recovery, so the next NACK begins another one, wherever that
 * point is.
 */
#include "transport.h"

#include "receiver-internal.h"
#include "sender-internal.h"

static void receive(struct eun_receiver *rx, struct eun_receiver_env *env,
                    const struct eun_data *packet, int64_t now, struct eun_rx_verdict *out)
{
    (void)now;
    if (eun_receiver_take_fixed(rx, env, packet, out))
        eun_receiver_answer(rx, EUN_FEEDBACK_NACK, EUN_NACK_HELD, packet->psn, out);
}

/** As note_held(), with `irn_go_back`. `psn` is outstanding. */
static void go_back_once(struct eun_sender *tx, const struct eun_sender_env *env, uint32_t psn,
                         int64_t now)
{
    /* What was held then has been passed: the answer that said so was a plain ACK there. */
    if (tx->board.count == 0)
        tx->recovering = false;
    eun_sender_note_sack(tx, env, psn, now);
    if (tx->recovering)
        return;
    eun_sender_begin_recovery(tx);
    eun_sender_sweep_to(tx, tx->nxt);
}

/** `psn` came ahead of its turn, which tells of loss where una is still missing. */
static void note_held(struct eun_sender *tx, const struct eun_sender_env *env, uint32_t psn,
                      int64_t now)
{
    const uint32_t ahead = psn - tx->una;
    if (ahead == 0 || ahead >= tx->nxt - tx->una)
        return;
    if (env->irn_go_back) {
        go_back_once(tx, env, psn, now);
        return;
    }
    eun_sender_note_sack(tx, env, psn, now);
    const uint32_t end = tx->board.count > 0 ? tx->sacked_end : tx->una + 1u;
    const bool begins = !tx->recovering && !eun_sender_is_sweeping(tx);
    if (!tx->recovering)
        eun_sender_begin_recovery(tx);
    if (begins)
        eun_sender_sweep_to(tx, end);
    else
        eun_sender_sweep_on(tx, end);
}

static void feedback(struct eun_sender *tx, const struct eun_sender_env *env,
                     const struct eun_feedback *fb, int64_t now)
{
    if (fb->kind == EUN_FEEDBACK_NACK && fb->reason == EUN_NACK_HELD)
        note_held(tx, env, fb->psn, now);
}

static void timeout(struct eun_sender *tx, const struct eun_sender_env *env, int64_t now)
{
    (void)env;
    (void)now;
    eun_sender_begin_recovery(tx);
    eun_sender_resend_missing(tx);
}

const struct eun_transport eun_transport_irn = {
    .name = "irn",
    .summary = "IRN: a window of one BDP, a bitmap as long, and only what is missing is sent again",
    .tolerates_reordering = true,
    .ordering = EUN_ORDERING_FIXED,
    .short_timeouts = true,
    .receive = receive,
    .feedback = feedback,
    .timeout = timeout,
};
