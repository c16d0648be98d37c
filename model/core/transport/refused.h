/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_REFUSED_H
#define EUNOMIA_REFUSED_H

/**
 * PSNs that a receiver refused and that are to be sent again: a small sorted set of ranges.
 *
 * Guarantee: every PSN that was added and neither dropped nor trimmed is in a range, and no range
 * goes before the cumulative point has moved past where it stood at the last refusal in it (an
 * immediate repeat would meet the same receiver) or has come to it (a receiver takes the PSN that
 * it awaits). Where there are too many ranges the two nearest become one: PSNs between them are
 * then sent again as well, which is safe.
 */

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EUN_REFUSED_RANGES 8

struct eun_refused_range {
    uint32_t first; /**< first PSN */
    uint32_t end;   /**< one past the last */
    uint32_t after; /**< cumulative point of the refusal */
};

/** All zero: empty. */
struct eun_refused {
    uint32_t count;
    struct eun_refused_range range[EUN_REFUSED_RANGES + 1]; /**< one spare while inserting */
};

/** `psn` was refused when the cumulative point was `after`. */
void eun_refused_add(struct eun_refused *set, uint32_t psn, uint32_t after);

/** Drops the PSNs before `una`: they are acknowledged. */
void eun_refused_trim(struct eun_refused *set, uint32_t una);

/**
 * Index of the first range that may go now, its first PSN less than `reach` past `una`; -1 where
 * there is none.
 */
int eun_refused_due(const struct eun_refused *set, uint32_t una, uint32_t reach);

/** Drops the first PSN of range `index`, and the range with its last one. */
void eun_refused_drop_first(struct eun_refused *set, uint32_t index);

#ifdef __cplusplus
}
#endif
#endif
