/* SPDX-License-Identifier: GPL-2.0-only */
#include "core/switch/balancer.h"

#include "test-support.h"

static const uint32_t counts[] = {2, 3, 7, 8, 64};
enum { COUNTS = sizeof counts / sizeof counts[0] };

static uint32_t choose(struct test_state *s, uint32_t entropy, uint32_t first, uint32_t n)
{
    const struct eun_lb_view view = test_view(first, n);
    const struct eun_lb_packet packet = {1, 2, entropy, 1024};
    return eun_balancer_spray.choose(s->words, &packet, &view);
}

/** Packets of one flow spread as evenly as those of many. */
static void packets_spread_evenly(void **state)
{
    (void)state;
    struct test_random r = test_random_start(81);
    for (int c = 0; c < COUNTS; c++) {
        for (int flows = 1; flows <= 1000; flows *= 1000) {
            struct test_state s;
            uint32_t count[WAYS_MAX] = {0};
            test_init(&eun_balancer_spray, &s, test_random_next(&r));
            for (uint32_t i = 0; i < 100000; i++)
                count[choose(&s, i % (uint32_t)flows, 0, counts[c])]++;
            test_assert_random(count, counts[c]);
        }
    }
}

/** A choice says nothing about the one after it, nor about the one that many packets later. */
static void choices_are_independent(void **state)
{
    (void)state;
    enum { SIDE = 8, LAGS = 3, DRAWS = 100000 };
    const uint32_t lag[LAGS] = {1, 2, 8};
    struct test_random r = test_random_start(82);
    struct test_state s;
    uint32_t count[LAGS][SIDE * SIDE] = {{0}};
    uint32_t recent[SIDE + 1] = {0};
    test_init(&eun_balancer_spray, &s, test_random_next(&r));
    for (uint32_t i = 0; i < DRAWS; i++) {
        const uint32_t choice = choose(&s, 1, 0, SIDE);
        for (int l = 0; l < LAGS && i >= lag[l]; l++)
            count[l][recent[(i - lag[l]) % (SIDE + 1)] * SIDE + choice]++;
        recent[i % (SIDE + 1)] = choice;
    }
    for (int l = 0; l < LAGS; l++)
        test_assert_random(count[l], SIDE * SIDE);
}

/** Neither do the flow and its way: two flows in turn get the same spread. */
static void choices_ignore_the_flow(void **state)
{
    (void)state;
    enum { SIDE = 8 };
    struct test_random r = test_random_start(83);
    struct test_state s;
    uint32_t count[2 * SIDE] = {0};
    test_init(&eun_balancer_spray, &s, test_random_next(&r));
    for (uint32_t i = 0; i < 100000; i++) {
        const uint32_t flow = i % 2;
        count[flow * SIDE + choose(&s, flow ? 0xdeadbeef : 0, 0, SIDE)]++;
    }
    test_assert_random(count, 2 * SIDE);
}

/** Two switches see the same packets and go their own ways. */
static void switches_are_independent(void **state)
{
    (void)state;
    enum { SIDE = 8 };
    struct test_random r = test_random_start(84);
    for (int round = 0; round < 20; round++) {
        const uint64_t seed = test_random_next(&r);
        struct test_state a, b;
        uint32_t count[SIDE * SIDE] = {0};
        test_init(&eun_balancer_spray, &a, seed);
        test_init(&eun_balancer_spray, &b, round % 2 ? seed + 1 : test_random_next(&r));
        for (uint32_t i = 0; i < 50000; i++)
            count[choose(&a, i, 0, SIDE) * SIDE + choose(&b, i, 0, SIDE)]++;
        test_assert_random(count, SIDE * SIDE);
    }
}

/** Groups of different sizes in one switch do not disturb each other's spread. */
static void mixed_groups_spread_evenly(void **state)
{
    (void)state;
    struct test_random r = test_random_start(85);
    struct test_state s;
    uint32_t large[8] = {0}, small[2] = {0};
    test_init(&eun_balancer_spray, &s, test_random_next(&r));
    for (uint32_t i = 0; i < 100000; i++) {
        large[choose(&s, i, 0, 8)]++;
        small[choose(&s, i, 8, 2)]++;
    }
    test_assert_random(large, 8);
    test_assert_random(small, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_spread_evenly),      cmocka_unit_test(choices_are_independent),
        cmocka_unit_test(choices_ignore_the_flow),    cmocka_unit_test(switches_are_independent),
        cmocka_unit_test(mixed_groups_spread_evenly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
