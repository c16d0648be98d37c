/* SPDX-License-Identifier: GPL-2.0-only */
#include "core/switch/rng.h"

#include "test-support.h"

/** SplitMix64's published outputs for seed 1234567: what its reference implementation prints. */
static void mix_gives_the_published_values(void **state)
{
    (void)state;
    const uint64_t published[] = {UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
                                  UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
                                  UINT64_C(16408922859458223821)};
    uint64_t s = 1234567;
    for (int i = 0; i < 5; i++, s += UINT64_C(0x9e3779b97f4a7c15))
        assert_true(eun_mix64(s) == published[i]);
}

/**
 * The output function against the PCG library's check values (pcg32-demo, seed 42, stream 54).
 * The demo's stream has another increment, so its states are stepped here.
 */
static void output_gives_the_published_values(void **state)
{
    (void)state;
    const uint32_t published[] = {0xa15c02b7, 0x7b47f409, 0xba1d3330,
                                  0x83d2f293, 0xbfa4784b, 0xcbed606e};
    const uint64_t multiplier = UINT64_C(6364136223846793005), increment = 2 * 54 + 1;
    uint64_t s = (increment + 42) * multiplier + increment;
    for (int i = 0; i < 6; i++, s = s * multiplier + increment) {
        struct eun_rng rng = {s};
        assert_int_equal(eun_rng_next(&rng), published[i]);
        assert_true(rng.state == s * multiplier + UINT64_C(1442695040888963407));
    }
}

/** Every state leads to another: a sequence repeats only after 2^64 draws (Hull and Dobell). */
static void period_is_full(void **state)
{
    (void)state;
    struct eun_rng zero = {0}, one = {1};
    (void)eun_rng_next(&zero);
    (void)eun_rng_next(&one);
    const uint64_t increment = zero.state, multiplier = one.state - zero.state;
    assert_true(increment % 2 == 1);
    assert_true(multiplier % 4 == 1);
}

static void below_stays_below(void **state)
{
    (void)state;
    struct test_random r = test_random_start(51);
    struct eun_rng rng;
    eun_rng_seed(&rng, test_random_next(&r));
    const uint32_t limits[] = {1, 2, 3, 64, 1u << 31, UINT32_MAX};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        for (int k = 0; k < 10000; k++)
            assert_true(eun_rng_below(&rng, limits[i]) < limits[i]);
}

static void below_is_uniform(void **state)
{
    (void)state;
    struct test_random r = test_random_start(52);
    for (uint32_t n = 2; n <= WAYS_MAX; n++) {
        struct eun_rng rng;
        uint32_t count[WAYS_MAX] = {0};
        eun_rng_seed(&rng, test_random_next(&r));
        for (uint32_t i = 0; i < 1000 * n; i++)
            count[eun_rng_below(&rng, n)]++;
        test_assert_random(count, n);
    }
}

/** The smallest and the largest draw map to 0 and to just under 1; the rest lies even between. */
static void unit_covers_the_half_open_interval(void **state)
{
    (void)state;
    struct test_random r = test_random_start(53);
    struct eun_rng rng;
    uint32_t count[WAYS_MAX] = {0};
    eun_rng_seed(&rng, test_random_next(&r));
    for (int i = 0; i < 100000; i++) {
        struct eun_rng copy = rng;
        const double u = eun_rng_unit(&rng);
        assert_true(u >= 0 && u < 1);
        assert_true(u == eun_rng_next(&copy) / 4294967296.0);
        count[(uint32_t)(u * WAYS_MAX)]++;
    }
    test_assert_random(count, WAYS_MAX);
}

/** Neighbouring seeds, as ids are, must not give related streams. */
static void neighbouring_seeds_are_unrelated(void **state)
{
    (void)state;
    enum { SIDE = 8 };
    uint32_t count[SIDE * SIDE] = {0};
    uint32_t equal = 0;
    for (uint64_t seed = 0; seed < 20000; seed++) {
        struct eun_rng a, b;
        eun_rng_seed(&a, seed);
        eun_rng_seed(&b, seed + 1);
        count[eun_rng_below(&a, SIDE) * SIDE + eun_rng_below(&b, SIDE)]++;
        equal += eun_rng_next(&a) == eun_rng_next(&b);
    }
    test_assert_random(count, SIDE * SIDE);
    assert_int_equal(equal, 0);
}

static void same_seed_same_stream(void **state)
{
    (void)state;
    struct eun_rng a, b;
    eun_rng_seed(&a, 7);
    eun_rng_seed(&b, 7);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(eun_rng_next(&a), eun_rng_next(&b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mix_gives_the_published_values),
        cmocka_unit_test(output_gives_the_published_values),
        cmocka_unit_test(period_is_full),
        cmocka_unit_test(below_stays_below),
        cmocka_unit_test(below_is_uniform),
        cmocka_unit_test(unit_covers_the_half_open_interval),
        cmocka_unit_test(neighbouring_seeds_are_unrelated),
        cmocka_unit_test(same_seed_same_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
