/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_STAGING_H
#define EUNOMIA_STAGING_H

/**
 * The receiver gate's staging buffer: Last packets that came early wait in it until the gap before
 * them closes. Then one DMA engine copies them to their place, one after the other in the order of
 * release; a message is visible when its Last has been copied.
 *
 * Guarantee: at most `limit` packets are in the buffer, those being copied included. A copy starts
 * when it is released or when the one before has ended, and takes its bytes over the rate; the
 * engine's time never drifts by rounding. Messages of a QP become visible in order, each once: one
 * that needs no copy waits for the copies before it.
 */

#include "receiver.h"

#ifdef __cplusplus
extern "C" {
#endif

#define EUN_STAGING_LIMIT_MAX (1u << 20)
#define EUN_STAGING_RATE_MIN 1000000u /**< bits/s: below it, times might not fit in 64 bits */

/** A Last packet in the buffer. */
struct eun_staged {
    struct eun_receiver *rx; /**< whose it is; NULL: of a QP that has been closed */
    int64_t since_ps;        /**< when it came */
    int64_t done_ps;         /**< when its copy ends, once released */
    uint32_t psn;
    uint32_t bytes;
    uint32_t messages; /**< that its copy makes visible: its own, and those that waited for it */
    uint32_t next;     /**< slot after it in its list: free, of a QP by PSN, or copies in order */
};

/** One a NIC. */
struct eun_staging {
    struct eun_staged *slots;
    uint32_t limit;
    uint32_t used;      /**< slots not free */
    uint32_t free;      /**< list of free slots */
    uint32_t copy_head; /**< list of copies, the one under way first */
    uint32_t copy_tail;
    uint64_t rate_bps; /**< of the DMA engine; 0: a copy takes no time */
    uint64_t carry;    /**< of the engine's time: 1/rate_bps of a picosecond */
    int64_t busy_until_ps;
};

/**
 * A buffer of `limit` packets, 0..2^20, and an engine of 0 or at least EUN_STAGING_RATE_MIN bits/s.
 * False where a value is out of range or memory is short.
 */
bool eun_staging_init(struct eun_staging *staging, uint32_t limit, uint64_t rate_bps);
/** Of an initialised buffer, or one that is all zero. */
void eun_staging_dispose(struct eun_staging *staging);

static inline bool eun_staging_has_room(const struct eun_staging *staging)
{
    return staging->used < staging->limit;
}

/** The Last `psn` of `rx`, `bytes` long (1..65,535), came early and takes a slot; there is room. */
void eun_staging_take(struct eun_staging *staging, struct eun_receiver *rx, uint32_t psn,
                      uint32_t bytes, int64_t now);

/**
 * The cumulative point of `rx` passed `lasts` Lasts: first, where `in_order`, one that came just
 * now, then the oldest that are staged, whose copies are released. Returns how many messages are
 * visible at once; eun_staging_finished() tells of the others.
 */
uint32_t eun_staging_pass(struct eun_staging *staging, struct eun_receiver *rx, uint32_t lasts,
                          bool in_order, int64_t now);

/**
 * The oldest copy that has ended at `now` and was not told of; it leaves the buffer. False where
 * there is none. Copies of closed QPs are not told of.
 */
bool eun_staging_finished(struct eun_staging *staging, int64_t now, struct eun_staged *out);

/** When eun_staging_finished() is due again; INT64_MAX where nothing is being copied. */
int64_t eun_staging_deadline(const struct eun_staging *staging);

/** `rx` forgets what waits for a gap (fallback). Copies under way end as usual. */
void eun_staging_forget(struct eun_staging *staging, struct eun_receiver *rx);

/** `rx` goes: as eun_staging_forget(), and its copies are not told of. */
void eun_staging_close(struct eun_staging *staging, struct eun_receiver *rx);

#ifdef __cplusplus
}
#endif
#endif
