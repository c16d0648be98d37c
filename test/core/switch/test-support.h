/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_SWITCH_TEST_SUPPORT_H
#define EUNOMIA_SWITCH_TEST_SUPPORT_H

/** What the tests of the balancers share: a view of `n` ways, and chi-square tests. */

#include "core/switch/balancer.h"

#include "../test-random.h"

#include <math.h>

#define WAYS_MAX 64u

/** Room for the state of any balancer, aligned. */
struct test_state {
    uint64_t words[128 << 10];
};

static const uint16_t test_ports[WAYS_MAX] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
    44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
static const uint32_t test_empty_queues[WAYS_MAX];

/** Ways first..first+n-1 of a switch whose queues are empty. */
static inline struct eun_lb_view test_view(uint32_t first, uint32_t n)
{
    return (struct eun_lb_view){
        .ports = test_ports + first,
        .count = n,
        .queue_bytes = test_empty_queues,
        .control_bytes = test_empty_queues,
    };
}

static inline void test_init(const struct eun_balancer *balancer, struct test_state *s,
                             uint64_t seed)
{
    assert_true(balancer->state_bytes <= sizeof s->words);
    balancer->init(s->words, seed, WAYS_MAX);
}

/** Pearson's statistic of `cells` counts that should be equal. */
static inline double test_chi_square(const uint32_t *count, uint32_t cells)
{
    double total = 0, sum = 0;
    for (uint32_t i = 0; i < cells; i++)
        total += count[i];
    const double expected = total / cells;
    for (uint32_t i = 0; i < cells; i++)
        sum += (count[i] - expected) * (count[i] - expected) / expected;
    return sum;
}

/** Wilson and Hilferty's approximation of a chi-square quantile (1931), `z` standard normal. */
static inline double test_chi_square_quantile(uint32_t freedom, double z)
{
    const double v = 2.0 / (9.0 * freedom);
    return freedom * pow(1 - v + z * sqrt(v), 3);
}

/** So strict that only one in millions of other seeds fails by chance; real bias is far beyond. */
#define TEST_Z 5.0

/** Fails where counts differ more than uniform draws would but once in three million times. */
static inline void test_assert_uniform(const uint32_t *count, uint32_t cells)
{
    const double x = test_chi_square(count, cells);
    const double limit = test_chi_square_quantile(cells - 1, TEST_Z);
    if (x > limit)
        fail_msg("chi-square %.2f over %u cells is above %.2f", x, cells, limit);
}

/** ... and where they are more even than draws would be but as seldom: dealt out, not drawn. */
static inline void test_assert_random(const uint32_t *count, uint32_t cells)
{
    test_assert_uniform(count, cells);
    const double x = test_chi_square(count, cells);
    const double limit = test_chi_square_quantile(cells - 1, -TEST_Z);
    if (x < limit)
        fail_msg("chi-square %.2f over %u cells is below %.2f", x, cells, limit);
}

#endif
