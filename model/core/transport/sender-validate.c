/* SPDX-License-Identifier: GPL-2.0-only */
#include "sender-internal.h"

#include <stddef.h>

/** Does [first, end) lie in the PSNs sent and not acknowledged? */
static bool is_outstanding(const struct eun_sender *tx, uint32_t first, uint32_t end)
{
    return first - tx->una <= tx->nxt - tx->una && end - first <= tx->nxt - first;
}

static const char *check_messages(const struct eun_sender *tx)
{
    if (tx->first > tx->done || tx->done > tx->cur || tx->cur > tx->end)
        return "message cursors out of order";
    if (tx->end - tx->first > tx->mask + UINT64_C(1))
        return "more messages than slots";
    uint32_t held = 0;
    uint32_t freed = 0;
    uint32_t parked = 0;
    for (uint64_t i = tx->first; i != tx->end; i++) {
        const struct eun_tx_slot *slot = &tx->slots[i & tx->mask];
        if (i + 1 != tx->end && tx->slots[(i + 1) & tx->mask].message.head !=
                                    slot->message.head + slot->message.packets)
            return "messages do not follow each other";
        if (slot->held && (i < tx->done || i >= tx->cur || slot->message.last_sent))
            return "a held Last that is sent, acknowledged or not reached";
        if (!slot->held && i < tx->cur && !slot->message.last_sent)
            return "a Last was skipped and is not held";
        if (slot->held && held == 0 && tx->first_held != i)
            return "oldest held Last is another";
        if (slot->parked && (i < tx->done || i >= tx->cur || !slot->message.last_sent))
            return "a parked Last that is acknowledged or never left";
        held += slot->held;
        parked += slot->parked;
        freed += slot->held && slot->freed;
    }
    if (held != tx->held || freed != tx->freed || parked != tx->parked)
        return "count of held, freed or parked Lasts";
    return NULL;
}

static const char *check_cursors(const struct eun_sender *tx)
{
    if (tx->done != tx->end) {
        const struct eun_message *m = &tx->slots[tx->done & tx->mask].message;
        if (tx->una - m->head >= m->packets)
            return "una outside its message";
    }
    if (tx->cur != tx->end) {
        const struct eun_message *m = &tx->slots[tx->cur & tx->mask].message;
        if (tx->nxt - m->head >= m->packets)
            return "nxt outside its message";
    }
    if (eun_psn_before(tx->nxt, tx->una))
        return "nxt before una";
    if (tx->recovering &&
        (tx->recover_until == tx->una || !is_outstanding(tx, tx->una, tx->recover_until)))
        return "recovery that ends outside (una, nxt]";
    if (tx->resend != tx->resend_end) {
        if (!is_outstanding(tx, tx->resend, tx->resend_end))
            return "sweep outside [una, nxt)";
        const struct eun_message *m = &tx->slots[tx->resend_message & tx->mask].message;
        if (tx->resend - m->head >= m->packets)
            return "sweep outside its message";
    }
    return NULL;
}

static const char *check_sets(const struct eun_sender *tx)
{
    uint32_t marked = 0;
    for (uint32_t i = 0; i < tx->board.psns / 64u; i++)
        marked += (uint32_t)__builtin_popcountll(tx->board.words[i]);
    if (marked != tx->board.count)
        return "count of SACKed PSNs";
    if (marked > 0 && !eun_scoreboard_has(&tx->board, tx->una, tx->sacked_end - 1u))
        return "highest PSN SACKed is another";
    for (uint32_t i = 0; i < tx->refused.count; i++) {
        const struct eun_refused_range *range = &tx->refused.range[i];
        if (range->first == range->end || !is_outstanding(tx, range->first, range->end))
            return "refused PSNs outside [una, nxt)";
        if (i > 0 && range[-1].end - tx->una >= range->first - tx->una)
            return "refused ranges out of order";
    }
    return NULL;
}

static const char *check_allowance(const struct eun_sender *tx)
{
    const struct eun_allowance *a = &tx->allowance;
    if (a->packets == EUN_ALLOWANCE_UNLIMITED)
        return NULL;
    if (a->packets == 0 || a->threshold == 0 || a->credit >= a->packets)
        return "allowance of nothing, or credit for more";
    return NULL;
}

bool eun_sender_validate(const struct eun_sender *tx, const char **reason)
{
    *reason = check_messages(tx);
    if (!*reason)
        *reason = check_cursors(tx);
    if (!*reason)
        *reason = check_sets(tx);
    if (!*reason)
        *reason = check_allowance(tx);
    return *reason == NULL;
}
