/* SPDX-License-Identifier: GPL-2.0-only */
#include "wait-histogram.h"

#define SUB_BITS 5u /* 32 buckets a power of two */
#define SUB (1u << SUB_BITS)

static uint32_t bucket_of(uint64_t ps)
{
    if (ps < SUB)
        return (uint32_t)ps;
    const uint32_t shift = 63u - (uint32_t)__builtin_clzll(ps) - SUB_BITS;
    const uint64_t bucket = shift * SUB + (ps >> shift);
    return bucket < EUN_WAIT_BUCKETS ? (uint32_t)bucket : EUN_WAIT_BUCKETS - 1u;
}

/** The middle of a bucket. */
static int64_t value_of(uint32_t bucket)
{
    if (bucket < 2u * SUB)
        return bucket;
    const uint32_t shift = bucket / SUB - 1u;
    const int64_t low = (int64_t)(SUB + bucket % SUB) << shift;
    return low + (INT64_C(1) << shift) / 2;
}

void eun_wait_histogram_count(struct eun_wait_histogram *h, int64_t ps)
{
    h->bucket[bucket_of((uint64_t)ps)]++;
    h->sum_ps += (uint64_t)ps;
    if (ps > h->max_ps)
        h->max_ps = ps;
}

void eun_wait_histogram_add(struct eun_wait_histogram *h, const struct eun_wait_histogram *other)
{
    for (uint32_t i = 0; i < EUN_WAIT_BUCKETS; i++)
        h->bucket[i] += other->bucket[i];
    h->sum_ps += other->sum_ps;
    if (other->max_ps > h->max_ps)
        h->max_ps = other->max_ps;
}

uint64_t eun_wait_histogram_total(const struct eun_wait_histogram *h)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < EUN_WAIT_BUCKETS; i++)
        total += h->bucket[i];
    return total;
}

double eun_wait_histogram_mean(const struct eun_wait_histogram *h)
{
    const uint64_t total = eun_wait_histogram_total(h);
    return total == 0 ? 0 : (double)h->sum_ps / (double)total;
}

int64_t eun_wait_histogram_quantile(const struct eun_wait_histogram *h, double q)
{
    const uint64_t total = eun_wait_histogram_total(h);
    if (total == 0)
        return -1;
    uint64_t below = 0;
    for (uint32_t i = 0; i < EUN_WAIT_BUCKETS; i++) {
        below += h->bucket[i];
        if (below > 0 && (double)below >= q * (double)total)
            return value_of(i) < h->max_ps ? value_of(i) : h->max_ps;
    }
    return h->max_ps;
}
