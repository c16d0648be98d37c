/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_WAIT_HISTOGRAM_H
#define EUNOMIA_WAIT_HISTOGRAM_H

/**
 * A histogram of waiting times with log-linear buckets: 32 for each power of two.
 *
 * Guarantee: up to 2^40 ps (1.1 s) a quantile is off by 1/64 of its value at most, below 64 ps it
 * is exact; so are mean and maximum.
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EUN_WAIT_BUCKETS 1152u /**< 36 times 32 */

/** All zero: nothing counted. The caller holds it. */
struct eun_wait_histogram {
    uint64_t bucket[EUN_WAIT_BUCKETS]; /**< [0] counts waits of 0 */
    uint64_t sum_ps;
    int64_t max_ps;
};

/** Counts a wait of `ps` >= 0; one of 2^40 ps or more as the longest that has a bucket. */
void eun_wait_histogram_count(struct eun_wait_histogram *h, int64_t ps);

/** Adds what `other` counted. */
void eun_wait_histogram_add(struct eun_wait_histogram *h, const struct eun_wait_histogram *other);

/** How many were counted. */
uint64_t eun_wait_histogram_total(const struct eun_wait_histogram *h);

/** Mean in picoseconds; 0 where nothing was counted. */
double eun_wait_histogram_mean(const struct eun_wait_histogram *h);

/**
 * The least wait, in picoseconds, that a share `q` (0..1) of the waits do not exceed; -1 where
 * nothing was counted.
 */
int64_t eun_wait_histogram_quantile(const struct eun_wait_histogram *h, double q);

#ifdef __cplusplus
}
#endif
#endif
