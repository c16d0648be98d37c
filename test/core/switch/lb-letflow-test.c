/* SPDX-License-Identifier: GPL-2.0-only */
#include "core/switch/balancer.h"

#include "test-support.h"

#define US INT64_C(1000000) /* in ps */

static struct test_state lb;

static void start(uint64_t seed, int64_t timeout_ps)
{
    const struct eun_lb_params params = {.flowlet_timeout_ps = timeout_ps};
    test_init(&eun_balancer_letflow, &lb, seed);
    assert_null(eun_balancer_letflow.configure(lb.words, &params, NULL));
}

static uint32_t choose(uint32_t entropy, int64_t now_ps, bool from_host, uint32_t n)
{
    struct eun_lb_view view = test_view(0, n);
    const struct eun_lb_packet packet = {.src = 1, .dst = 2, .entropy = entropy, .bytes = 1024};
    view.now_ps = now_ps;
    view.from_host = from_host;
    return eun_balancer_letflow.choose(lb.words, &packet, &view);
}

/** A gap of the timeout keeps the way, one picosecond more draws again, from all ways alike. */
static void a_flowlet_moves_only_after_its_gap(void **state)
{
    (void)state;
    enum { N = 8 };
    struct test_random r = test_random_start(111);
    const int64_t timeouts[] = {0, 1, 100 * US, 500 * US};
    for (int t = 0; t < 4; t++) {
        uint32_t next[N * N] = {0};
        int64_t now = test_below(&r, 1000000);
        start(test_random_next(&r), timeouts[t]);
        uint32_t way = choose(77, now, true, N);
        for (int i = 0; i < 50000; i++) {
            now += timeouts[t];
            assert_int_equal(choose(77, now, true, N), way);
            now += timeouts[t] + 1;
            const uint32_t other = choose(77, now, true, N);
            next[way * N + other]++;
            way = other;
        }
        test_assert_random(next, N * N);
    }
}

/**
 * More flows than entries, with random gaps: whatever the table makes of them, no flow changes its
 * way without a gap of its own.
 */
static void many_flows_share_the_table_without_harm(void **state)
{
    (void)state;
    enum { FLOWS = 40000, N = 8 };
    struct test_random r = test_random_start(112);
    static int64_t last[FLOWS];
    static uint32_t way[FLOWS];
    static bool known[FLOWS];
    const int64_t timeout = 100 * US;
    int64_t now = 0;
    uint32_t kept = 0, moved = 0;
    start(test_random_next(&r), timeout);
    for (uint32_t i = 0; i < 2000000; i++) {
        /* Half of the packets belong to a few flows, so that some gaps are short. */
        const uint32_t flow = test_below(&r, test_chance(&r, 50) ? 200 : FLOWS);
        now += test_below(&r, (uint32_t)US);
        const uint32_t choice = choose(flow * 2654435761u, now, true, N);
        if (known[flow] && now - last[flow] <= timeout) {
            assert_int_equal(choice, way[flow]);
            kept++;
        } else if (known[flow]) {
            moved += choice != way[flow];
        }
        known[flow] = true;
        last[flow] = now;
        way[flow] = choice;
    }
    assert_true(kept > 100000 && moved > 100000);
}

/** Groups of several sizes meet in one table: in range, and each flow still keeps its way. */
static void groups_of_other_sizes_are_harmless(void **state)
{
    (void)state;
    enum { FLOWS = 40000 };
    struct test_random r = test_random_start(113);
    start(test_random_next(&r), 100 * US);
    static uint32_t way[FLOWS];
    for (int round = 0; round < 2; round++) {
        for (uint32_t flow = 0; flow < FLOWS; flow++) {
            const uint32_t n = 2 + flow % 7;
            const uint32_t choice = choose(flow * 2654435761u, 0, true, n);
            assert_true(choice < n);
            if (round)
                assert_int_equal(choice, way[flow]);
            way[flow] = choice;
        }
    }
}

/** Beyond the first switch: ECMP with the switch's salt, whatever the time. */
static void elsewhere_it_is_ecmp(void **state)
{
    (void)state;
    struct test_random r = test_random_start(114);
    const uint64_t seed = test_random_next(&r);
    int64_t now = 0;
    start(seed, 100 * US);
    for (int i = 0; i < 100000; i++) {
        const uint32_t entropy = test_below(&r, 1000);
        const uint32_t n = test_between(&r, 2, WAYS_MAX);
        now += test_below(&r, 2000) * US;
        (void)choose(entropy, now, true, n);
        assert_int_equal(choose(entropy, now, false, n), eun_ecmp_choose(seed, entropy, n));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flowlet_moves_only_after_its_gap),
        cmocka_unit_test(many_flows_share_the_table_without_harm),
        cmocka_unit_test(groups_of_other_sizes_are_harmless),
        cmocka_unit_test(elsewhere_it_is_ecmp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
