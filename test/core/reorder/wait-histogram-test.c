/* SPDX-License-Identifier: GPL-2.0-only */
#include "../test-random.h"

#include "wait-histogram.h"

#define WAITS 5000u

static int64_t waits[WAITS];

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/** The least of the sorted waits that a share `q` of all do not exceed. */
static int64_t sorted_quantile(uint32_t n, double q)
{
    for (uint32_t i = 0; i < n; i++)
        if (i + 1u >= q * n)
            return waits[i];
    return waits[n - 1u];
}

static void test_quantiles_against_sorted_waits(void **state)
{
    (void)state;
    struct test_random r = test_random_start(11);
    for (uint32_t round = 0; round < 60; round++) {
        struct eun_wait_histogram h[2] = {{.sum_ps = 0}, {.sum_ps = 0}};
        const uint32_t n = test_between(&r, 1, WAITS);
        const uint32_t bits = test_between(&r, 1, 40);
        double sum = 0;
        for (uint32_t i = 0; i < n; i++) {
            waits[i] = (int64_t)(test_random_next(&r) >> (63u - test_below(&r, bits)) >> 1);
            sum += (double)waits[i];
            eun_wait_histogram_count(&h[i % 2u], waits[i]);
        }
        eun_wait_histogram_add(&h[0], &h[1]);
        qsort(waits, n, sizeof waits[0], by_value);
        assert_int_equal(eun_wait_histogram_total(&h[0]), n);
        assert_int_equal(h[0].max_ps, waits[n - 1u]);
        assert_true(eun_wait_histogram_mean(&h[0]) * n > sum * 0.999999 - 1);
        assert_true(eun_wait_histogram_mean(&h[0]) * n < sum * 1.000001 + 1);
        for (double q = 0; q <= 1; q += 0.05) {
            const int64_t exact = sorted_quantile(n, q);
            const int64_t found = eun_wait_histogram_quantile(&h[0], q);
            if (llabs(found - exact) > exact / 64)
                fail_msg("quantile %g of %u: %lld, not %lld", q, n, (long long)found,
                         (long long)exact);
        }
    }
}

static void test_few_waits(void **state)
{
    (void)state;
    struct eun_wait_histogram h = {.sum_ps = 0};
    assert_int_equal(eun_wait_histogram_total(&h), 0);
    assert_int_equal(eun_wait_histogram_quantile(&h, 0.5), -1);
    assert_true(eun_wait_histogram_mean(&h) == 0);
    eun_wait_histogram_count(&h, 10000);
    assert_int_equal(eun_wait_histogram_quantile(&h, 0), 10000);
    assert_int_equal(eun_wait_histogram_quantile(&h, 1), 10000);
    eun_wait_histogram_count(&h, 0);
    assert_int_equal(eun_wait_histogram_quantile(&h, 0.5), 0);
    assert_int_equal(eun_wait_histogram_quantile(&h, 0.51), 10000);
    assert_true(eun_wait_histogram_mean(&h) == 5000);
}

/** What lies past the last bucket is counted there, and nothing is written past it. */
static void test_longest(void **state)
{
    (void)state;
    struct {
        struct eun_wait_histogram h;
        uint64_t behind;
    } memory = {.behind = 0};
    eun_wait_histogram_count(&memory.h, (INT64_C(1) << 40) - 1);
    assert_int_equal(memory.h.bucket[EUN_WAIT_BUCKETS - 1u], 1);
    eun_wait_histogram_count(&memory.h, INT64_C(1) << 40);
    eun_wait_histogram_count(&memory.h, INT64_MAX / 2);
    assert_int_equal(memory.h.bucket[EUN_WAIT_BUCKETS - 1u], 3);
    assert_int_equal(memory.h.max_ps, INT64_MAX / 2);
    assert_int_equal(memory.behind, 0);
    assert_true(eun_wait_histogram_quantile(&memory.h, 1) > (INT64_C(1) << 40) * 63 / 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantiles_against_sorted_waits),
        cmocka_unit_test(test_few_waits),
        cmocka_unit_test(test_longest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
