/* SPDX-License-Identifier: GPL-2.0-only */
/** Making and freeing a sender, and what it tells of itself. */
#include "sender-internal.h"
#include "transport.h"

#include <stdlib.h>

struct eun_sender *eun_sender_new(const struct eun_transport *transport, uint32_t first_psn)
{
    const size_t policy = transport->pacing ? transport->pacing->state_bytes : 0;
    struct eun_sender *tx = calloc(1, sizeof *tx + policy);
    if (!tx)
        return NULL;
    tx->slots = &tx->inline_slot;
    eun_sender_reset(tx, transport, first_psn);
    return tx;
}

void eun_sender_free(struct eun_sender *tx)
{
    if (!tx)
        return;
    if (tx->slots != &tx->inline_slot)
        free(tx->slots);
    eun_scoreboard_free(&tx->board);
    free(tx);
}

void eun_sender_reset(struct eun_sender *tx, const struct eun_transport *transport,
                      uint32_t first_psn)
{
    struct eun_scoreboard board = tx->board;
    eun_scoreboard_clear(&board);
    *tx = (struct eun_sender){
        .transport = transport,
        .slots = tx->slots,
        .mask = tx->mask,
        .una = first_psn,
        .nxt = first_psn,
        .in_order_only = !transport->tolerates_reordering,
        .resend = first_psn,
        .resend_end = first_psn,
        .post_psn = first_psn,
        .board = board,
        .credit = transport->pacing ? 0 : EUN_CREDIT_UNLIMITED,
        .policy = transport->pacing ? tx + 1 : NULL,
    };
    eun_allowance_init(&tx->allowance);
}

void eun_sender_start(struct eun_sender *tx, const struct eun_sender_env *env, uint64_t seed)
{
    if (tx->transport->pacing)
        tx->transport->pacing->start(tx, env, seed);
}

int64_t eun_sender_pace_deadline(const struct eun_sender *tx)
{
    return tx->transport->pacing ? tx->transport->pacing->deadline(tx) : INT64_MAX;
}

void eun_sender_pace(struct eun_sender *tx, const struct eun_sender_env *env, int64_t now)
{
    if (now >= eun_sender_pace_deadline(tx))
        tx->transport->pacing->expired(tx, env, now);
}

uint32_t eun_sender_una(const struct eun_sender *tx)
{
    return tx->una;
}

uint32_t eun_sender_nxt(const struct eun_sender *tx)
{
    return tx->nxt;
}

uint64_t eun_sender_inflight(const struct eun_sender *tx)
{
    return tx->inflight;
}

void eun_sender_set_window(struct eun_sender *tx, uint32_t bytes)
{
    tx->window_bytes = bytes;
}

uint64_t eun_sender_retransmitted(const struct eun_sender *tx)
{
    return tx->retransmitted;
}
