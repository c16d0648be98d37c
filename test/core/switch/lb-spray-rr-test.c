/* SPDX-License-Identifier: GPL-2.0-only */
#include "core/switch/balancer.h"

#include "test-support.h"

static uint32_t choose(struct test_state *s, uint32_t first, uint32_t n)
{
    const struct eun_lb_view view = test_view(first, n);
    const struct eun_lb_packet packet = {1, 2, 3, 1024};
    return eun_balancer_spray_rr.choose(s->words, &packet, &view);
}

/** Any n consecutive packets of a group of n ways take every way once. */
static void every_window_uses_every_way_once(void **state)
{
    (void)state;
    struct test_random r = test_random_start(91);
    for (uint32_t n = 2; n <= WAYS_MAX; n++) {
        struct test_state s;
        uint64_t window[3 * WAYS_MAX];
        test_init(&eun_balancer_spray_rr, &s, test_random_next(&r));
        for (uint32_t i = 0; i < 3 * n; i++) {
            const uint32_t choice = choose(&s, 0, n);
            assert_true(choice < n);
            window[i] = UINT64_C(1) << choice;
        }
        for (uint32_t start = 0; start <= 2 * n; start++) {
            uint64_t seen = 0;
            for (uint32_t i = start; i < start + n; i++) {
                assert_true((seen & window[i]) == 0);
                seen |= window[i];
            }
        }
    }
}

/**
 * Groups of other sizes between, in turn or at random: each group still deals out in turn. One
 * turn for all of them would, with 8 and 2 ways, send most packets to the first two of the eight.
 */
static void groups_do_not_disturb_each_other(void **state)
{
    (void)state;
    struct test_random r = test_random_start(92);
    const uint32_t first[] = {0, 8, 10, 20}, size[] = {8, 2, 3, 8};
    for (int order = 0; order < 2; order++) {
        struct test_state s;
        uint32_t last[4] = {0}, dealt[4] = {0};
        test_init(&eun_balancer_spray_rr, &s, test_random_next(&r));
        for (uint32_t i = 0; i < 40000; i++) {
            const uint32_t g = order ? test_below(&r, 4) : i % 4;
            const uint32_t choice = choose(&s, first[g], size[g]);
            if (dealt[g]++)
                assert_int_equal(choice, (last[g] + 1) % size[g]);
            last[g] = choice;
        }
    }
}

/** Many more groups than turns: in range, and no way starves while packets come mixed. */
static void shared_turns_use_every_way(void **state)
{
    (void)state;
    enum { GROUPS = 200 };
    struct test_random r = test_random_start(93);
    struct test_state s;
    static uint32_t count[GROUPS][WAYS_MAX];
    uint32_t first[GROUPS], size[GROUPS];
    test_init(&eun_balancer_spray_rr, &s, test_random_next(&r));
    for (uint32_t g = 0; g < GROUPS; g++) {
        size[g] = test_between(&r, 2, 16);
        first[g] = test_below(&r, WAYS_MAX - size[g]);
    }
    for (uint32_t i = 0; i < 500 * 16 * GROUPS; i++) {
        const uint32_t g = test_below(&r, GROUPS);
        const uint32_t choice = choose(&s, first[g], size[g]);
        assert_true(choice < size[g]);
        count[g][choice]++;
    }
    for (uint32_t g = 0; g < GROUPS; g++)
        for (uint32_t way = 0; way < size[g]; way++)
            assert_true(count[g][way] > 500 * 16 / size[g] / 2);
}

/** Switches start at different ways, so that their first packets do not all meet. */
static void switches_start_apart(void **state)
{
    (void)state;
    uint32_t count[8] = {0};
    for (uint64_t seed = 0; seed < 8000; seed++) {
        struct test_state s;
        test_init(&eun_balancer_spray_rr, &s, seed);
        count[choose(&s, 0, 8)]++;
    }
    test_assert_random(count, 8);
}

/** No ports to start at: the first way. */
static void zero_ports_is_harmless(void **state)
{
    (void)state;
    struct test_state s;
    eun_balancer_spray_rr.init(s.words, 3, 0);
    assert_int_equal(choose(&s, 0, 2), 0);
    assert_int_equal(choose(&s, 0, 2), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_window_uses_every_way_once),
        cmocka_unit_test(groups_do_not_disturb_each_other),
        cmocka_unit_test(shared_turns_use_every_way),
        cmocka_unit_test(switches_start_apart),
        cmocka_unit_test(zero_ports_is_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
