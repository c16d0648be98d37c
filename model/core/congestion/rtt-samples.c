/* SPDX-License-Identifier: GPL-2.0-only */
#include "rtt-samples.h"

#include "../reorder/psn.h"

void eun_rtt_samples_clear(struct eun_rtt_samples *s)
{
    s->count = 0;
    s->bytes = 0;
}

static void drop(struct eun_rtt_samples *s, uint32_t index)
{
    s->sample[index] = s->sample[--s->count];
}

bool eun_rtt_samples_sent(struct eun_rtt_samples *s, uint32_t segment_bytes, uint32_t psn,
                          uint32_t payload, bool retransmission, int64_t now)
{
    if (retransmission) {
        for (uint32_t i = 0; i < s->count; i++)
            if (s->sample[i].psn == psn)
                drop(s, i);
        return false;
    }
    s->bytes += payload;
    if (s->bytes < segment_bytes)
        return false;
    s->bytes = 0;
    if (s->count == EUN_RTT_SAMPLES)
        return false;
    s->sample[s->count].psn = psn;
    s->sample[s->count].sent_ps = now;
    s->count++;
    return true;
}

int64_t eun_rtt_samples_answered(struct eun_rtt_samples *s, uint32_t expected, bool selective,
                                 uint32_t psn, int64_t now)
{
    int64_t latest = -1;
    for (uint32_t i = 0; i < s->count;) {
        const uint32_t sampled = s->sample[i].psn;
        if (!eun_psn_before(sampled, expected) && !(selective && sampled == psn)) {
            i++;
            continue;
        }
        if (s->sample[i].sent_ps > latest)
            latest = s->sample[i].sent_ps;
        drop(s, i);
    }
    return latest < 0 ? -1 : now - latest;
}
