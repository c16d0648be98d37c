/* SPDX-License-Identifier: GPL-2.0-only */
#include "../test-random.h"

#include "fixed-bitmap.h"

#include <string.h>

/** Naive twin: one flag a PSN, by PSN modulo more than the largest window. */
#define PLACES 16384u

struct twin {
    struct eun_fixed_shape shape;
    uint64_t *words;
    uint32_t expected;
    uint32_t held_count;
    bool held[PLACES];
    bool last[PLACES];
};

static struct eun_hd_outcome twin_arrive(struct twin *t, uint32_t psn, bool last)
{
    struct eun_hd_outcome outcome = {EUN_HD_DUPLICATE, 0, 0};
    if ((int32_t)(psn - t->expected) < 0)
        return outcome;
    if (psn - t->expected >= t->shape.cap) {
        outcome.verdict = EUN_HD_CAP;
        return outcome;
    }
    if (t->held[psn % PLACES])
        return outcome;
    t->held[psn % PLACES] = true;
    t->last[psn % PLACES] = last;
    t->held_count++;
    outcome.verdict = psn == t->expected ? EUN_HD_ADVANCED : EUN_HD_HELD;
    while (t->held[t->expected % PLACES]) {
        t->held[t->expected % PLACES] = false;
        outcome.lasts += t->last[t->expected % PLACES];
        t->held_count--;
        t->expected++;
        outcome.advanced++;
    }
    return outcome;
}

static void play(struct test_random *r, uint32_t cap, uint32_t first, uint32_t arrivals)
{
    static struct twin t;
    memset(&t, 0, sizeof t);
    t.expected = first;
    assert_true(eun_fixed_shape_init(&t.shape, cap));
    t.words = malloc(t.shape.words * sizeof *t.words);
    assert_non_null(t.words);
    eun_fixed_clear(&t.shape, t.words);
    uint32_t span = 1;
    for (uint32_t i = 0; i < arrivals; i++) {
        if (i % 1000 == 0)
            span = test_between(r, 1, test_chance(r, 30) ? cap + 50 : 40);
        uint32_t psn = t.expected + test_below(r, span + 8) - 4;
        if (test_chance(r, 25))
            psn = t.expected;
        const bool last = test_chance(r, 10);
        const uint32_t expected = t.expected;
        struct eun_hd_outcome outcome = eun_fixed_arrive(&t.shape, t.words, expected, psn, last);
        struct eun_hd_outcome right = twin_arrive(&t, psn, last);
        assert_int_equal(outcome.verdict, right.verdict);
        assert_int_equal(outcome.advanced, right.advanced);
        assert_int_equal(outcome.lasts, right.lasts);
        assert_int_equal(eun_fixed_has_gap(&t.shape, t.words), t.held_count > 0);
        uint32_t probe = t.expected + test_below(r, cap + 10);
        assert_int_equal(eun_fixed_holds(&t.shape, t.words, t.expected, probe),
                         t.held[probe % PLACES]);
    }
    free(t.words);
}

static void agrees_with_a_naive_set(void **state)
{
    (void)state;
    struct test_random r = test_random_start(5);
    static const uint32_t caps[] = {64, 128, 192, 256, 320, 1024, 4032, 4096};
    static const uint32_t firsts[] = {0, 0xFFFFF000u, 0xFFFFFFFFu, 0xFFFE00, 12345};
    for (size_t c = 0; c < sizeof caps / sizeof *caps; c++)
        for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++)
            play(&r, caps[c], firsts[f], 20000);
}

/** A whole window taken at once, at every alignment. */
static void takes_a_full_window(void **state)
{
    (void)state;
    struct eun_fixed_shape shape;
    uint64_t words[16];
    assert_true(eun_fixed_shape_init(&shape, 256));
    assert_true(shape.words <= sizeof words / sizeof *words);
    eun_fixed_clear(&shape, words);
    for (uint32_t expected = 0xFFFFFF80u; expected != 0x80; expected++) {
        for (uint32_t ahead = 255; ahead > 0; ahead--)
            assert_int_equal(
                eun_fixed_arrive(&shape, words, expected, expected + ahead, ahead % 2).verdict,
                EUN_HD_HELD);
        struct eun_hd_outcome outcome = eun_fixed_arrive(&shape, words, expected, expected, false);
        assert_int_equal(outcome.advanced, 256);
        assert_int_equal(outcome.lasts, 128);
        assert_false(eun_fixed_has_gap(&shape, words));
    }
}

static void refuses_other_sizes(void **state)
{
    (void)state;
    struct eun_fixed_shape shape;
    assert_false(eun_fixed_shape_init(&shape, 0));
    assert_false(eun_fixed_shape_init(&shape, 63));
    assert_false(eun_fixed_shape_init(&shape, 100));
    assert_false(eun_fixed_shape_init(&shape, EUN_FIXED_CAP_MAX + 64));
    assert_true(eun_fixed_shape_init(&shape, EUN_FIXED_CAP_MAX));
    assert_int_equal(shape.words, 2 * 4096 / 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_naive_set),
        cmocka_unit_test(takes_a_full_window),
        cmocka_unit_test(refuses_other_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
