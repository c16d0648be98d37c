/* SPDX-License-Identifier: GPL-2.0-only */
#include "staging.h"

#include "../reorder/psn.h"

#include <stdlib.h>

#define PS_PER_SECOND UINT64_C(1000000000000)

bool eun_staging_init(struct eun_staging *staging, uint32_t limit, uint64_t rate_bps)
{
    if (limit > EUN_STAGING_LIMIT_MAX || (rate_bps > 0 && rate_bps < EUN_STAGING_RATE_MIN))
        return false;
    struct eun_staged *slots = calloc(limit > 0 ? limit : 1u, sizeof *slots);
    if (!slots)
        return false;
    for (uint32_t i = 0; i < limit; i++)
        slots[i].next = i + 1u < limit ? i + 1u : EUN_STAGING_NONE;
    *staging = (struct eun_staging){.slots = slots,
                                    .limit = limit,
                                    .free = limit > 0 ? 0 : EUN_STAGING_NONE,
                                    .copy_head = EUN_STAGING_NONE,
                                    .copy_tail = EUN_STAGING_NONE,
                                    .rate_bps = rate_bps};
    return true;
}

void eun_staging_dispose(struct eun_staging *staging)
{
    free(staging->slots);
    *staging = (struct eun_staging){0};
}

void eun_staging_take(struct eun_staging *staging, struct eun_receiver *rx, uint32_t psn,
                      uint32_t bytes, int64_t now)
{
    const uint32_t slot = staging->free;
    uint32_t *link = &rx->staged;
    while (*link != EUN_STAGING_NONE && eun_psn_before(staging->slots[*link].psn, psn))
        link = &staging->slots[*link].next;
    staging->free = staging->slots[slot].next;
    staging->used++;
    staging->slots[slot] = (struct eun_staged){
        .rx = rx, .since_ps = now, .psn = psn, .bytes = bytes, .messages = 1, .next = *link};
    *link = slot;
}

static void give_back(struct eun_staging *staging, uint32_t slot)
{
    staging->slots[slot].next = staging->free;
    staging->free = slot;
    staging->used--;
}

/** When a copy of `bytes` that is released at `now` ends. */
static int64_t copy_until(struct eun_staging *staging, uint32_t bytes, int64_t now)
{
    if (staging->busy_until_ps < now) {
        staging->busy_until_ps = now;
        staging->carry = 0;
    }
    if (staging->rate_bps > 0) {
        const uint64_t time = bytes * (8u * PS_PER_SECOND) + staging->carry;
        staging->busy_until_ps += (int64_t)(time / staging->rate_bps);
        staging->carry = time % staging->rate_bps;
    }
    return staging->busy_until_ps;
}

/** The oldest staged Last of `rx` is copied after all that were released before. */
static void release(struct eun_staging *staging, struct eun_receiver *rx, int64_t now)
{
    const uint32_t slot = rx->staged;
    struct eun_staged *staged = &staging->slots[slot];
    rx->staged = staged->next;
    staged->next = EUN_STAGING_NONE;
    staged->done_ps = copy_until(staging, staged->bytes, now);
    if (staging->copy_head == EUN_STAGING_NONE)
        staging->copy_head = slot;
    else
        staging->slots[staging->copy_tail].next = slot;
    staging->copy_tail = slot;
    rx->copies++;
    rx->copying = slot;
}

uint32_t eun_staging_pass(struct eun_staging *staging, struct eun_receiver *rx, uint32_t lasts,
                          bool in_order, int64_t now)
{
    uint32_t visible = 0;
    if (in_order && rx->copies > 0)
        staging->slots[rx->copying].messages++;
    else if (in_order)
        visible = 1;
    for (uint32_t i = in_order; i < lasts; i++)
        release(staging, rx, now);
    return visible;
}

bool eun_staging_finished(struct eun_staging *staging, int64_t now, struct eun_staged *out)
{
    while (eun_staging_deadline(staging) <= now) {
        const uint32_t slot = staging->copy_head;
        *out = staging->slots[slot];
        staging->copy_head = out->next;
        give_back(staging, slot);
        if (out->rx) {
            out->rx->copies--;
            return true;
        }
    }
    return false;
}

int64_t eun_staging_deadline(const struct eun_staging *staging)
{
    if (staging->copy_head == EUN_STAGING_NONE)
        return INT64_MAX;
    return staging->slots[staging->copy_head].done_ps;
}

void eun_staging_forget(struct eun_staging *staging, struct eun_receiver *rx)
{
    while (rx->staged != EUN_STAGING_NONE) {
        const uint32_t slot = rx->staged;
        rx->staged = staging->slots[slot].next;
        give_back(staging, slot);
    }
}

void eun_staging_close(struct eun_staging *staging, struct eun_receiver *rx)
{
    eun_staging_forget(staging, rx);
    for (uint32_t slot = staging->copy_head; rx->copies > 0; slot = staging->slots[slot].next) {
        if (staging->slots[slot].rx != rx)
            continue;
        staging->slots[slot].rx = NULL;
        rx->copies--;
    }
}
