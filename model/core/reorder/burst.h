/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_BURST_H
#define EUNOMIA_BURST_H

/**
 * Bursts of reordering on one QP: how long it has a gap, how wide, and how long it is in order
 * between. From these follows how long an ordering layer should keep metadata that is idle.
 *
 * A QP is in a burst from an arrival ahead of its cumulative point until that point has passed the
 * farthest PSN that has come ahead of it. Only arrivals count, not what became of them, so the same
 * bursts come out of a receiver that holds early packets, one that discards them, and a capture.
 * Where nothing is refused, a QP is in a burst exactly while it holds a PSN.
 *
 * A long burst can be told of in pieces, cut at the multiples of a slice of time, so that pieces
 * add up to sums per slice.
 *
 * Guarantee: pieces of a QP are told of in order of time and do not overlap. Each starts `gap_ps`
 * after the end of the one before it, and every arrival ahead is in exactly one.
 *
 * `now` comes in, in picoseconds; it is not negative and never goes back.
 */

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EUN_BURST_WHOLE INT64_MAX /**< slice: bursts are not cut */

/** What ended a piece. */
enum eun_burst_end {
    EUN_BURST_CLOSED,    /**< the cumulative point passed all that had come: the burst is over */
    EUN_BURST_CONTINUES, /**< its slice is over, and the next piece continues the burst */
    EUN_BURST_CUT,       /**< the QP closed in the burst */
    EUN_BURST_IDLE,      /**< no piece of a burst: the QP closed `gap_ps` after its last one */
};

/** A burst, or a piece of one. */
struct eun_burst {
    uint32_t number;     /**< pieces of one burst have the same; counted from 1 */
    uint32_t span;       /**< how far ahead an arrival was at most, in PSNs; 0 if there was none */
    uint64_t packets;    /**< arrivals ahead of the cumulative point, refused ones included */
    int64_t start_ps;    /**< when the first of them came, or the slice began */
    int64_t duration_ps; /**< >= 0 */
    int64_t gap_ps;      /**< since the piece before, or since opening where `first` */
    uint8_t end;         /**< enum eun_burst_end */
    bool first;          /**< begins the QP's first burst since opening */
};

/** The caller holds it, all zero before the first eun_burst_open(); nothing in it needs freeing. */
struct eun_burst_tracker {
    struct eun_burst piece; /**< that is open; between bursts its start is the end of the last */
    int64_t slice_ps;       /**< as given */
    int64_t slice_end_ps;   /**< end of the slice that the open piece is in */
    uint32_t reach;         /**< PSNs from the cumulative point to past the farthest that came */
};

/**
 * The QP opens, or opens again: no burst, and the next one is the first. Numbers of bursts go on.
 * Bursts are cut at the multiples of `slice_ps`, 1 or more; EUN_BURST_WHOLE for not at all.
 */
void eun_burst_open(struct eun_burst_tracker *tracker, int64_t slice_ps, int64_t now);

/** Is the QP in a burst? */
static inline bool eun_burst_is_open(const struct eun_burst_tracker *tracker)
{
    return tracker->reach > 0;
}

/**
 * True where a piece ended at a slice's end up to `now`: `*out` is it. To be called before
 * eun_burst_arrive() and eun_burst_close(), until it is false.
 */
bool eun_burst_slice(struct eun_burst_tracker *tracker, int64_t now, struct eun_burst *out);

/** The long way of eun_burst_arrive(): ahead, or in a burst. */
bool eun_burst_account(struct eun_burst_tracker *tracker, int64_t now, uint32_t span,
                       uint32_t advanced, struct eun_burst *out);

/**
 * A packet came `span` PSNs ahead of the cumulative point, 0 where it was not ahead, and the point
 * moved by `advanced` PSNs. True where that ended a burst: `*out` is its last piece.
 */
static inline bool eun_burst_arrive(struct eun_burst_tracker *tracker, int64_t now, uint32_t span,
                                    uint32_t advanced, struct eun_burst *out)
{
    if (span == 0 && tracker->reach == 0)
        return false;
    return eun_burst_account(tracker, now, span, advanced, out);
}

/**
 * The QP closes, or nobody looks any longer. True where it had a burst since it opened: `*out` is
 * the piece that was cut, or tells how long the QP was idle since its last burst. To go on, open
 * it.
 */
bool eun_burst_close(struct eun_burst_tracker *tracker, int64_t now, struct eun_burst *out);

#ifdef __cplusplus
}
#endif
#endif
