/* SPDX-License-Identifier: GPL-2.0-only */
#include "core/switch/balancer.h"

#include "test-support.h"

static const uint32_t counts[] = {2, 3, 7, 8, 64};
enum { COUNTS = sizeof counts / sizeof counts[0] };

/** Only the flow's entropy and the switch's salt count, and control frames take the same way. */
static void a_flow_keeps_its_way(void **state)
{
    (void)state;
    struct test_random r = test_random_start(71);
    for (int flow = 0; flow < 2000; flow++) {
        const uint64_t salt = test_random_next(&r);
        const uint32_t entropy = (uint32_t)test_random_next(&r);
        struct test_state s;
        test_init(&eun_balancer_ecmp, &s, salt);
        for (int c = 0; c < COUNTS; c++) {
            const uint32_t way = eun_ecmp_choose(salt, entropy, counts[c]);
            assert_true(way < counts[c]);
            for (int i = 0; i < 10; i++) {
                uint32_t queues[WAYS_MAX];
                for (uint32_t k = 0; k < WAYS_MAX; k++)
                    queues[k] = test_below(&r, 1000000);
                struct eun_lb_view view = test_view(0, counts[c]);
                view.queue_bytes = queues;
                view.now_ps = (int64_t)(test_random_next(&r) >> 1);
                const struct eun_lb_packet packet = {test_below(&r, 99), test_below(&r, 99),
                                                     entropy, test_between(&r, 64, 9216)};
                assert_int_equal(eun_balancer_ecmp.choose(s.words, &packet, &view), way);
            }
        }
    }
}

/** Over random entropies and over neighbouring ones. */
static void flows_spread_evenly(void **state)
{
    (void)state;
    struct test_random r = test_random_start(72);
    for (int c = 0; c < COUNTS; c++) {
        for (int structured = 0; structured < 2; structured++) {
            const uint64_t salt = test_random_next(&r);
            uint32_t count[WAYS_MAX] = {0};
            for (uint32_t i = 0; i < 100000; i++) {
                const uint32_t entropy = structured ? i : (uint32_t)test_random_next(&r);
                count[eun_ecmp_choose(salt, entropy, counts[c])]++;
            }
            test_assert_random(count, counts[c]);
        }
    }
}

static void assert_independent(struct test_random *r, uint64_t salt_a, uint64_t salt_b)
{
    enum { SIDE = 8 };
    uint32_t count[SIDE * SIDE] = {0};
    for (uint32_t i = 0; i < 50000; i++) {
        const uint32_t entropy = (uint32_t)test_random_next(r);
        count[eun_ecmp_choose(salt_a, entropy, SIDE) * SIDE +
              eun_ecmp_choose(salt_b, entropy, SIDE)]++;
    }
    test_assert_random(count, SIDE * SIDE);
}

/**
 * Two switches choose independently, however alike their salts: else flows that a leaf sends one
 * way would all meet again at the next switch (hash polarisation).
 */
static void salts_give_independent_choices(void **state)
{
    (void)state;
    struct test_random r = test_random_start(73);
    assert_independent(&r, 1, 2);
    assert_independent(&r, 0, UINT64_C(1) << 63);
    for (int bit = 0; bit < 64; bit += 7) {
        const uint64_t salt = test_random_next(&r);
        assert_independent(&r, salt, salt ^ UINT64_C(1) << bit);
    }
}

/**
 * A hash threshold, not a modulus (RFC 2992): losing the last of n ways moves half of the flows,
 * whatever n. Way i keeps its hashes in [i/(n-1), (i+1)/n), in sum 1/2; a modulus would keep 1/n.
 */
static void losing_a_way_moves_half_of_the_flows(void **state)
{
    (void)state;
    struct test_random r = test_random_start(74);
    const double flows = 100000, deviation = sqrt(flows) / 2;
    for (int c = 1; c < COUNTS; c++) {
        const uint64_t salt = test_random_next(&r);
        double kept = 0;
        for (int i = 0; i < flows; i++) {
            const uint32_t entropy = (uint32_t)test_random_next(&r);
            kept += eun_ecmp_choose(salt, entropy, counts[c]) ==
                    eun_ecmp_choose(salt, entropy, counts[c] - 1);
        }
        assert_true(fabs(kept - flows / 2) < 5 * deviation);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flow_keeps_its_way),
        cmocka_unit_test(flows_spread_evenly),
        cmocka_unit_test(salts_give_independent_choices),
        cmocka_unit_test(losing_a_way_moves_half_of_the_flows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
