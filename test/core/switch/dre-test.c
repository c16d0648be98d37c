/* SPDX-License-Identifier: GPL-2.0-only */
#include "core/switch/dre.h"

#include "../test-random.h"

#include <math.h>

#define US INT64_C(1000000) /* in ps */

/**
 * Packets at a constant rate, R T an interval: after n intervals, and before the next ends, the
 * register holds R T (1 - (1 - alpha)^n) / alpha.
 */
static void a_constant_rate_gives_the_geometric_sum(void **state)
{
    (void)state;
    const double alphas[] = {0.01, 0.1, 0.2, 0.5, 1};
    for (int a = 0; a < 5; a++) {
        const double keep = 1 - alphas[a];
        struct eun_dre d = {0, 0};
        for (int n = 1; n <= 400; n++) {
            for (int i = 0; i < 50; i++) {
                eun_dre_fade(&d, keep, 50 * US, (n - 1) * 50 * US + i * US);
                d.bytes += 12500; /* 1 us at 100 Gb/s */
            }
            const double expected = 50 * 12500.0 * (1 - pow(keep, n)) / alphas[a];
            assert_true(fabs(d.bytes - expected) < 1e-9 * expected);
        }
    }
}

/** Looking late or often makes no difference: (1 - alpha)^n after n ends of intervals. */
static void fading_depends_on_the_intervals_only(void **state)
{
    (void)state;
    struct test_random r = test_random_start(121);
    for (int round = 0; round < 2000; round++) {
        const int64_t interval = test_between(&r, 2, 1000000);
        struct eun_dre often = {0, 0}, late;
        int64_t now = test_below(&r, 1000000);
        eun_dre_fade(&often, 0.8, interval, now);
        often.bytes = 1e9;
        late = often;
        const int64_t start = now / interval;
        while (now / interval < start + 60) {
            now += test_below(&r, (uint32_t)interval);
            eun_dre_fade(&often, 0.8, interval, now);
        }
        eun_dre_fade(&late, 0.8, interval, now);
        const double expected = 1e9 * pow(0.8, (double)(now / interval - start));
        assert_true(fabs(often.bytes - expected) < 1e-9 * expected);
        assert_true(late.bytes == often.bytes && late.due_ps == often.due_ps);
    }
}

/** A pause of years costs nothing, and leaves less than a byte. */
static void a_long_pause_empties_the_register(void **state)
{
    (void)state;
    struct eun_dre d = {1e12, 0};
    eun_dre_fade(&d, 0.999, 1, INT64_MAX / 2);
    assert_true(d.bytes < 1);
    assert_true(d.due_ps == INT64_MAX / 2 + 1);
}

/** Steps of equal size, the last one without an end. */
static void levels_are_steps(void **state)
{
    (void)state;
    for (uint32_t levels = 2; levels <= 8; levels *= 2) {
        for (uint32_t k = 0; k < 3 * levels; k++) {
            const uint32_t expected = k < levels ? k : levels - 1;
            assert_int_equal(eun_dre_level(&(struct eun_dre){1000.0 * k, 0}, 1000, levels),
                             expected);
            assert_int_equal(eun_dre_level(&(struct eun_dre){1000.0 * k + 999, 0}, 1000, levels),
                             expected);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_constant_rate_gives_the_geometric_sum),
        cmocka_unit_test(fading_depends_on_the_intervals_only),
        cmocka_unit_test(a_long_pause_empties_the_register),
        cmocka_unit_test(levels_are_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
