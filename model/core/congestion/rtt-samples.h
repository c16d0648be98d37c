/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_RTT_SAMPLES_H
#define EUNOMIA_RTT_SAMPLES_H

/**
 * Round trips of a QP: of the packets that end a segment, the time from leaving to the answer.
 *
 * Several may be under way. A packet that is sent again is no sample any more, as nobody knows
 * which copy an answer is for (Karn and Partridge, SIGCOMM 1987). An answer that speaks of one
 * packet ends that one's sample; the cumulative point ends all below it, of which the one that left
 * last counts. So reordering adds nothing to a round trip but the time that the packet took, unless
 * answers name no packet that came early (ddp-gbn): then the wait for the gap to close counts, too.
 */

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Samples under way at most; segments that end meanwhile are not measured. */
#define EUN_RTT_SAMPLES 32u

struct eun_rtt_samples {
    uint32_t count;
    uint32_t bytes; /**< payload since the last segment ended */
    struct {
        int64_t sent_ps;
        uint32_t psn;
    } sample[EUN_RTT_SAMPLES]; /**< in no order */
};

/** As for a new QP. */
void eun_rtt_samples_clear(struct eun_rtt_samples *s);

/**
 * A packet leaves. True where it ends a segment of `segment_bytes` (of payload, > 0) and will be
 * measured: then it has to ask for an answer.
 */
bool eun_rtt_samples_sent(struct eun_rtt_samples *s, uint32_t segment_bytes, uint32_t psn,
                          uint32_t payload, bool retransmission, int64_t now);

/**
 * An answer: all before `expected` has come, and `psn` as well where `selective`. Returns the round
 * trip in picoseconds, -1 where it ends no sample.
 */
int64_t eun_rtt_samples_answered(struct eun_rtt_samples *s, uint32_t expected, bool selective,
                                 uint32_t psn, int64_t now);

#ifdef __cplusplus
}
#endif
#endif
