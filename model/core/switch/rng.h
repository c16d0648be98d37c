/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_RNG_H
#define EUNOMIA_RNG_H

/**
 * A small random stream for per-packet decisions. Each switch has its own, so that one more draw
 * in one place shifts nothing elsewhere. Generator: PCG32 (O'Neill, "PCG: A Family of Simple Fast
 * Space-Efficient Statistically Good Algorithms for Random Number Generation", 2014).
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct eun_rng {
    uint64_t state;
};

/** SplitMix64 finaliser: turns related inputs (ids, seeds) into unrelated 64-bit values. */
static inline uint64_t eun_mix64(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline void eun_rng_seed(struct eun_rng *rng, uint64_t seed)
{
    rng->state = eun_mix64(seed);
}

/** 32 uniform bits. */
static inline uint32_t eun_rng_next(struct eun_rng *rng)
{
    const uint64_t old = rng->state;
    rng->state = old * 6364136223846793005u + 1442695040888963407u;
    const uint32_t x = (uint32_t)(((old >> 18) ^ old) >> 27);
    const uint32_t rot = (uint32_t)(old >> 59);
    return (x >> rot) | (x << ((32u - rot) & 31u));
}

/** Uniform in 0..n-1, n > 0; bias under n / 2^32. */
static inline uint32_t eun_rng_below(struct eun_rng *rng, uint32_t n)
{
    return (uint32_t)(((uint64_t)eun_rng_next(rng) * n) >> 32);
}

/** Uniform in [0, 1). */
static inline double eun_rng_unit(struct eun_rng *rng)
{
    return eun_rng_next(rng) * (1.0 / 4294967296.0);
}

#ifdef __cplusplus
}
#endif
#endif
