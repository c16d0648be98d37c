/* SPDX-License-Identifier: GPL-2.0-only */
#include "test-support.h"

#include "core/transport/generation.h"

#define LIVES 5000u

/** Lives as short as they may be, or long, at random: the time between equal generations. */
static void no_generation_comes_again_in_a_packet_lifetime(void **state)
{
    (void)state;
    struct test_random r = test_random_start(1);
    int64_t closest = INT64_MAX;
    for (uint32_t run = 0; run < 20; run++) {
        struct eun_generation g = {0};
        int64_t ended[EUN_GENERATIONS];
        bool lived[EUN_GENERATIONS] = {false};
        int64_t now = 0;
        const uint32_t slow = test_below(&r, 30);
        for (uint32_t life = 0; life < LIVES; life++) {
            while (!eun_generation_may_begin(&g, now))
                now += MS / 10;
            const uint8_t before = g.number;
            eun_generation_begin(&g, now);
            assert_int_equal(g.number, (before + 1u) % EUN_GENERATIONS);
            if (lived[g.number]) {
                const int64_t gap = now - ended[g.number];
                assert_true(gap >= EUN_PACKET_LIFETIME_PS);
                closest = gap < closest ? gap : closest;
            }
            if (test_chance(&r, slow))
                now += test_below(&r, 2000) * US;
            lived[g.number] = true;
            ended[g.number] = now;
        }
    }
    /* The rule is no stricter than it needs to be. */
    assert_true(closest < EUN_PACKET_LIFETIME_PS + EUN_PACKET_LIFETIME_PS / 3);
}

/** A number may be used again at once, 31 times in a row at least. */
static void few_lives_need_no_rest(void **state)
{
    (void)state;
    struct eun_generation g = {0};
    uint32_t lives = 0;
    for (; eun_generation_may_begin(&g, 0); lives++)
        eun_generation_begin(&g, 0);
    assert_int_equal(lives, 31);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_generation_comes_again_in_a_packet_lifetime),
        cmocka_unit_test(few_lives_need_no_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
