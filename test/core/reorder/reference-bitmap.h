/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_REFERENCE_BITMAP_H
#define EUNOMIA_REFERENCE_BITMAP_H

/**
 * A naive twin of one QP's HD bitmap: a set of PSNs, one flag each, and beside it the rules by
 * which the bitmap rents and gives back blocks, in terms of PSNs. PSNs have 64 bits here and never
 * wrap; every question about blocks is answered by going through the PSNs one by one.
 */

#include "../test-random.h"

#include "hd-bitmap.h"

#include <string.h>

#define REFERENCE_PLACES 1024u /* more than two windows */
#define REFERENCE_START (UINT64_C(1) << 32)

struct reference {
    uint32_t block_bits;
    uint32_t cap;
    uint64_t expected;
    bool held[REFERENCE_PLACES];
    bool last[REFERENCE_PLACES];
    uint32_t held_count;
    uint32_t lasts_held;
    bool active;            /**< has metadata */
    bool plane;             /**< has a Last plane */
    bool is_inline;         /**< one of the Last packets is inline ... */
    uint64_t inline_psn;    /**< ... this one */
    uint64_t origin;        /**< PSN at the ring's position 0 */
    uint64_t idle_expected; /**< cumulative point when the last gap closed */
    uint32_t ring_blocks;
    uint64_t l0; /**< first PSN past the ring, where there is a linear part */
    uint32_t linear_blocks;
};

/** What an arrival needs, and what becomes of it. */
struct reference_arrival {
    struct eun_hd_outcome outcome; /**< with room enough */
    bool metadata;                 /**< it takes 24 consecutive blocks, */
    uint32_t blocks;               /**< so many bitmap blocks, */
    bool plane;                    /**< and a Last plane */
    bool compacts;
};

static inline void reference_init(struct reference *q, uint32_t block_bits, uint32_t cap,
                                  uint32_t first_psn)
{
    memset(q, 0, sizeof *q);
    q->block_bits = block_bits;
    q->cap = cap;
    q->expected = REFERENCE_START + first_psn;
}

/** The 64-bit PSN that a 32-bit one near the cumulative point means. */
static inline uint64_t reference_psn(const struct reference *q, uint32_t psn)
{
    return q->expected + (uint64_t)(int64_t)(int32_t)(psn - (uint32_t)q->expected);
}

static inline bool reference_holds(const struct reference *q, uint64_t psn)
{
    return psn >= q->expected && psn < q->expected + q->cap && q->held[psn % REFERENCE_PLACES];
}

static inline uint32_t reference_blocks_for(const struct reference *q, uint64_t psns)
{
    return (uint32_t)((psns + q->block_bits - 1) / q->block_bits);
}

/** Ring blocks to which a PSN in [expected, l0) maps; all of them without a linear part. */
static inline uint32_t reference_live_ring(const struct reference *q)
{
    if (q->linear_blocks == 0)
        return q->ring_blocks;
    bool live[EUN_HD_BLOCK_IDS] = {false};
    uint32_t count = 0;
    for (uint64_t psn = q->expected; psn < q->l0; psn++) {
        uint64_t block = (psn - q->origin) % (q->ring_blocks * q->block_bits) / q->block_bits;
        count += !live[block];
        live[block] = true;
    }
    return count;
}

static inline uint32_t reference_bitmap_blocks(const struct reference *q)
{
    return q->active ? reference_live_ring(q) + q->linear_blocks : 0;
}

static inline uint32_t reference_last_blocks(const struct reference *q)
{
    uint32_t blocks = 1;
    while (blocks * 16 < q->cap)
        blocks *= 2;
    return q->plane ? blocks : 0;
}

static inline uint32_t reference_blocks(const struct reference *q)
{
    return (q->active ? EUN_BLOCK_POOL_METADATA : 0) + reference_bitmap_blocks(q) +
           reference_last_blocks(q);
}

/** First PSN that has no block. */
static inline uint64_t reference_mapped_end(const struct reference *q)
{
    if (q->linear_blocks > 0)
        return q->l0 + q->linear_blocks * q->block_bits;
    return q->expected + q->ring_blocks * q->block_bits;
}

static inline void reference_set_ring(struct reference *q, uint32_t blocks)
{
    q->ring_blocks = blocks;
    q->linear_blocks = 0;
    q->origin = q->expected;
}

/** Takes blocks for `psn`, or says in `a` which it would take. */
static inline void reference_grow(struct reference *q, uint64_t psn, bool take,
                                  struct reference_arrival *a)
{
    const uint32_t upto = reference_blocks_for(q, psn - q->expected + 1);
    if (!q->active) {
        a->metadata = true;
        a->blocks = upto;
        if (take)
            reference_set_ring(q, upto);
        return;
    }
    if (psn < reference_mapped_end(q))
        return;
    if (q->held_count == 0) {
        a->blocks = upto - q->ring_blocks;
        if (take)
            reference_set_ring(q, upto);
        return;
    }
    const uint32_t need = reference_blocks_for(q, psn + 1 - reference_mapped_end(q));
    if (q->ring_blocks + q->linear_blocks + need <= EUN_HD_BLOCK_IDS) {
        a->blocks = need;
        if (take && q->linear_blocks == 0)
            q->l0 = reference_mapped_end(q);
        if (take)
            q->linear_blocks += need;
        return;
    }
    const uint32_t live = reference_bitmap_blocks(q);
    a->compacts = true;
    a->blocks = upto > live ? upto - live : 0;
    if (take)
        reference_set_ring(q, upto);
}

static inline void reference_hold(struct reference *q, uint64_t psn, bool last)
{
    struct reference_arrival ignored;
    if (q->active && q->held_count == 0)
        q->origin += q->expected - q->idle_expected; /* an empty ring goes with the prefix */
    q->plane |= last && q->is_inline;
    if (last && !q->is_inline) {
        q->is_inline = true;
        q->inline_psn = psn;
    }
    reference_grow(q, psn, true, &ignored);
    q->active = true;
    q->held[psn % REFERENCE_PLACES] = true;
    q->last[psn % REFERENCE_PLACES] = last;
    q->held_count++;
    q->lasts_held += last;
}

static inline void reference_advance(struct reference *q, bool last, struct eun_hd_outcome *outcome)
{
    const bool had_gap = q->held_count > 0;
    outcome->lasts = last;
    for (;;) {
        q->expected++;
        outcome->advanced++;
        const uint64_t place = q->expected % REFERENCE_PLACES;
        if (!q->held[place])
            break;
        q->held[place] = false;
        q->held_count--;
        outcome->lasts += q->last[place];
        q->lasts_held -= q->last[place];
    }
    q->is_inline &= q->inline_psn >= q->expected;
    if (q->linear_blocks > 0 && q->expected >= q->l0) {
        q->ring_blocks = q->linear_blocks;
        q->linear_blocks = 0;
        q->origin = q->l0;
    }
    if (had_gap && q->held_count == 0)
        q->idle_expected = q->expected;
    q->plane &= q->held_count > 0;
}

/**
 * Packet `psn` arrives; `room` says whether there is room for what it needs. What it needs is in
 * the result in either case, the outcome is that with room.
 */
static inline struct reference_arrival reference_arrive(struct reference *q, uint64_t psn,
                                                        bool last, bool room)
{
    struct reference_arrival a = {.outcome = {EUN_HD_DUPLICATE, 0, 0}};
    if (psn < q->expected || reference_holds(q, psn))
        return a;
    if (psn == q->expected) {
        a.outcome.verdict = EUN_HD_ADVANCED;
        reference_advance(q, last, &a.outcome);
        return a;
    }
    if (psn >= q->expected + q->cap) {
        a.outcome.verdict = EUN_HD_CAP;
        return a;
    }
    a.outcome.verdict = EUN_HD_HELD;
    a.plane = last && q->is_inline && !q->plane;
    reference_grow(q, psn, false, &a);
    if (room)
        reference_hold(q, psn, last);
    return a;
}

/** Everything that is held is gone, and the memory with it. */
static inline void reference_forget(struct reference *q)
{
    reference_init(q, q->block_bits, q->cap, (uint32_t)q->expected);
}

/** A PSN to arrive next: mostly within `span` of the cumulative point, often the missing one. */
static inline uint32_t reference_pick(const struct reference *q, struct test_random *r,
                                      uint32_t span)
{
    const uint32_t expected = (uint32_t)q->expected;
    switch (test_below(r, 16)) {
    case 0:
        return expected - test_between(r, 1, 300);
    case 1:
        return expected + (uint32_t)test_random_next(r);
    case 2:
    case 3:
    case 4:
    case 5:
        return expected;
    case 6:
        return expected + q->cap - 2 + test_below(r, 4);
    default:
        return expected + test_below(r, span);
    }
}

#endif
