/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_TEST_RANDOM_H
#define EUNOMIA_TEST_RANDOM_H

/** What the core's tests share: cmocka with what it needs, and a seeded random stream. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct test_random {
    uint64_t state;
};

/** The stream of a test: seeded with EUNOMIA_SEED, else with `otherwise`; says which. */
static inline struct test_random test_random_start(uint64_t otherwise)
{
    const char *text = getenv("EUNOMIA_SEED");
    const struct test_random r = {text ? strtoull(text, NULL, 0) : otherwise};
    print_message("seed %llu\n", (unsigned long long)r.state);
    return r;
}

/** SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014). */
static inline uint64_t test_random_next(struct test_random *r)
{
    uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/** Uniform in 0..n-1. */
static inline uint32_t test_below(struct test_random *r, uint32_t n)
{
    return (uint32_t)(((test_random_next(r) >> 32) * n) >> 32);
}

/** Uniform in low..high. */
static inline uint32_t test_between(struct test_random *r, uint32_t low, uint32_t high)
{
    return low + test_below(r, high - low + 1u);
}

static inline bool test_chance(struct test_random *r, uint32_t percent)
{
    return test_below(r, 100) < percent;
}

#endif
