/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ROARING_ARRIVE_H
#define ROARING_ARRIVE_H

/**
 * What a general compressed bitmap makes of the ordering layer's work: one CRoaring bitmap a QP for
 * the PSNs that are held, and one for those of them that end a message (Lemire et al., "Roaring
 * Bitmaps: Implementation of an Optimized Software Library", Software: Practice and Experience 48,
 * 2018).
 *
 * A QP gets its bitmaps with its first packet ahead of the cumulative point, and keeps them. What
 * CRoaring allocates and frees meanwhile is its own business and part of its time. PSNs may wrap.
 */

#include "hd-bitmap.h"

#include <roaring/roaring.h>

struct roaring_qp {
    roaring_bitmap_t *held; /**< NULL before the first packet ahead */
    roaring_bitmap_t *last;
};

static inline void roaring_qp_dispose(struct roaring_qp *qp)
{
    if (qp->held == NULL)
        return;
    roaring_bitmap_free(qp->held);
    roaring_bitmap_free(qp->last);
}

/** The expected packet arrived: takes what is held right behind it. */
static inline struct eun_hd_outcome roaring_advance(struct roaring_qp *qp, uint32_t expected,
                                                    bool last)
{
    struct eun_hd_outcome outcome = {EUN_HD_ADVANCED, 1, last};
    if (qp->held == NULL || roaring_bitmap_is_empty(qp->held))
        return outcome;
    while (roaring_bitmap_remove_checked(qp->held, expected + outcome.advanced)) {
        outcome.lasts += roaring_bitmap_remove_checked(qp->last, expected + outcome.advanced);
        outcome.advanced++;
    }
    return outcome;
}

/** Packet `psn` arrived; as eun_fixed_arrive(). NO_METADATA where memory is short. */
static inline struct eun_hd_outcome roaring_arrive(struct roaring_qp *qp, uint32_t cap,
                                                   uint32_t expected, uint32_t psn, bool last)
{
    uint32_t ahead = psn - expected;
    if (ahead == 0)
        return roaring_advance(qp, expected, last);
    struct eun_hd_outcome outcome = {EUN_HD_DUPLICATE, 0, 0};
    if (ahead >= cap) {
        outcome.verdict = (int32_t)ahead < 0 ? EUN_HD_DUPLICATE : EUN_HD_CAP;
        return outcome;
    }
    if (qp->held == NULL) {
        qp->held = roaring_bitmap_create();
        qp->last = roaring_bitmap_create();
        if (qp->held == NULL || qp->last == NULL) {
            outcome.verdict = EUN_HD_NO_METADATA;
            return outcome;
        }
    }
    if (!roaring_bitmap_add_checked(qp->held, psn))
        return outcome;
    if (last)
        roaring_bitmap_add(qp->last, psn);
    outcome.verdict = EUN_HD_HELD;
    return outcome;
}

#endif
