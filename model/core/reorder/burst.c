/* SPDX-License-Identifier: GPL-2.0-only */
#include "burst.h"

void eun_burst_open(struct eun_burst_tracker *tracker, int64_t slice_ps, int64_t now)
{
    const uint32_t number = tracker->piece.number;
    *tracker = (struct eun_burst_tracker){.slice_ps = slice_ps};
    tracker->piece = (struct eun_burst){.number = number, .start_ps = now, .first = true};
}

/** A piece starts, in the slice that `now` lies in. */
static void begin(struct eun_burst_tracker *tracker, int64_t now)
{
    struct eun_burst *piece = &tracker->piece;
    piece->gap_ps = now - piece->start_ps;
    piece->start_ps = now;
    tracker->slice_end_ps = tracker->slice_ps == EUN_BURST_WHOLE
                                ? EUN_BURST_WHOLE
                                : (now / tracker->slice_ps + 1) * tracker->slice_ps;
}

/** The open piece ends: it goes to `*out`, and an empty one stands at its end. */
static void end(struct eun_burst_tracker *tracker, int64_t now, enum eun_burst_end why,
                struct eun_burst *out)
{
    struct eun_burst *piece = &tracker->piece;
    piece->duration_ps = now - piece->start_ps;
    piece->end = (uint8_t)why;
    *out = *piece;
    *piece = (struct eun_burst){.number = piece->number, .start_ps = now};
}

bool eun_burst_slice(struct eun_burst_tracker *tracker, int64_t now, struct eun_burst *out)
{
    if (tracker->reach == 0 || now < tracker->slice_end_ps)
        return false;
    const int64_t boundary = tracker->slice_end_ps;
    end(tracker, boundary, EUN_BURST_CONTINUES, out);
    begin(tracker, boundary);
    return true;
}

bool eun_burst_account(struct eun_burst_tracker *tracker, int64_t now, uint32_t span,
                       uint32_t advanced, struct eun_burst *out)
{
    struct eun_burst *piece = &tracker->piece;
    if (span > 0) {
        if (tracker->reach == 0) {
            piece->number++;
            begin(tracker, now);
        }
        piece->packets++;
        piece->span = span > piece->span ? span : piece->span;
        tracker->reach = span >= tracker->reach ? span + 1u : tracker->reach;
    }
    if (advanced < tracker->reach) {
        tracker->reach -= advanced;
        return false;
    }
    tracker->reach = 0;
    end(tracker, now, EUN_BURST_CLOSED, out);
    return true;
}

bool eun_burst_close(struct eun_burst_tracker *tracker, int64_t now, struct eun_burst *out)
{
    const bool in_burst = tracker->reach > 0;
    if (!in_burst && tracker->piece.first)
        return false;
    if (!in_burst)
        begin(tracker, now);
    end(tracker, now, in_burst ? EUN_BURST_CUT : EUN_BURST_IDLE, out);
    tracker->reach = 0;
    return true;
}
