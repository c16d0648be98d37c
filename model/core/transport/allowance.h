/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_ALLOWANCE_H
#define EUNOMIA_ALLOWANCE_H

/**
 * How many packets a sender whose packets were refused or lost may have outstanding.
 *
 * A receiver out of ordering memory takes packets in order only, so the more a sprayed QP has under
 * way, the more are refused and sent again. One packet at a time cannot be reordered: from there
 * the allowance grows as TCP's congestion window does (RFC 5681: by one a packet acknowledged up to
 * a threshold, then by one a window) until it no longer limits. It starts unlimited, and congestion
 * control of a QP that nobody refuses is not its business.
 *
 * Guarantee: 1 <= packets; it limits only from a cut or restart until it has grown to the cap.
 */

#include <stdbool.h>
#include <stdint.h>

#define EUN_ALLOWANCE_UNLIMITED UINT32_MAX

struct eun_allowance {
    uint32_t packets;   /**< PSNs past una that may be outstanding */
    uint32_t threshold; /**< up to here it grows by one a packet */
    uint32_t credit;    /**< packets acknowledged towards the next step */
    uint32_t cut_until; /**< una from which a refusal cuts again: once a window */
};

void eun_allowance_init(struct eun_allowance *a);

/**
 * A packet of [una, nxt) was refused: halves, at most once a window. What is outstanding past `cap`
 * does not count: half of more than that would not limit (eun_allowance_grow()).
 */
void eun_allowance_cut(struct eun_allowance *a, uint32_t una, uint32_t nxt, uint32_t cap);

/** The QP fell back, or a timeout passed: starts anew with one packet. */
void eun_allowance_restart(struct eun_allowance *a, uint32_t una, uint32_t nxt);

/** The rest of eun_allowance_grow(), for an allowance that limits. */
void eun_allowance_grow_limited(struct eun_allowance *a, uint32_t packets, uint32_t cap);

/** `packets` more are acknowledged; an allowance of `cap` or more limits no longer. */
static inline void eun_allowance_grow(struct eun_allowance *a, uint32_t packets, uint32_t cap)
{
    if (a->packets != EUN_ALLOWANCE_UNLIMITED)
        eun_allowance_grow_limited(a, packets, cap);
}

#endif
