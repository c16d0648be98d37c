/* SPDX-License-Identifier: GPL-2.0-only */
#include "core/switch/balancer.h"

#include "test-support.h"

#include <string.h>

/** A switch under test and its queues. */
struct bench {
    struct test_state state;
    uint32_t data[WAYS_MAX];
    uint32_t control[WAYS_MAX];
};

static void start(struct bench *b, uint64_t seed)
{
    test_init(&eun_balancer_drill_conweave, &b->state, seed);
    memset(b->data, 0, sizeof b->data);
    memset(b->control, 0, sizeof b->control);
}

static uint32_t choose(struct bench *b, uint32_t dst, uint32_t n)
{
    struct eun_lb_view view = test_view(0, n);
    const struct eun_lb_packet packet = {.src = 1, .dst = dst, .entropy = 3, .bytes = 1024};
    view.queue_bytes = b->data;
    view.control_bytes = b->control;
    return eun_balancer_drill_conweave.choose(b->state.words, &packet, &view);
}

/** While all queues are as long, packets to one destination stay on the way of the first. */
static void equal_queues_keep_the_remembered_way(void **state)
{
    (void)state;
    static struct bench b;
    struct test_random r = test_random_start(151);
    start(&b, test_random_next(&r));
    uint32_t seen = 0;
    for (uint32_t dst = 0; dst < 64; dst++) {
        const uint32_t way = choose(&b, dst, 8);
        seen |= 1u << way;
        for (int i = 0; i < 100; i++)
            assert_int_equal(choose(&b, dst, 8), way);
    }
    assert_int_equal(seen, 0xff);
    for (uint32_t dst = 0; dst < 64; dst++)
        assert_int_equal(choose(&b, dst, 8), choose(&b, dst + 4096, 8));
}

/** Of two ways both are drawn: the shorter wins, the last one where they are as long. */
static void the_shorter_of_two_wins(void **state)
{
    (void)state;
    static struct bench b;
    struct test_random r = test_random_start(152);
    start(&b, test_random_next(&r));
    uint32_t last = choose(&b, 7, 2);
    for (int i = 0; i < 10000; i++) {
        uint64_t sum[2];
        for (uint32_t way = 0; way < 2; way++) {
            b.data[way] = test_below(&r, 4) * 1000;
            b.control[way] = test_below(&r, 3) * 60;
            sum[way] = (uint64_t)b.data[way] + b.control[way];
        }
        if (sum[0] != sum[1])
            last = sum[0] < sum[1] ? 0 : 1;
        assert_int_equal(choose(&b, 7, 2), last);
    }
}

/** Bytes of both classes add up beyond 32 bits. */
static void long_queues_do_not_wrap(void **state)
{
    (void)state;
    static struct bench b;
    start(&b, 1);
    b.data[0] = UINT32_MAX;
    b.control[0] = 100;
    b.data[1] = 1000;
    for (int i = 0; i < 100; i++)
        assert_int_equal(choose(&b, 7, 2), 1);
}

/**
 * Every way has a length of its own and nothing is remembered: the way of rank k (0 the longest) is
 * the shorter of two different ones drawn with probability k / C(n, 2).
 */
static void ranks_come_as_often_as_they_should(void **state)
{
    (void)state;
    enum { N = 8, ROUNDS = 25, DESTINATIONS = 4096 };
    static struct bench b;
    struct test_random r = test_random_start(153);
    uint32_t count[N] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        start(&b, test_random_next(&r));
        for (uint32_t k = 0; k < N; k++)
            b.data[k] = 1000 - k;
        for (uint32_t dst = 0; dst < DESTINATIONS; dst++)
            count[choose(&b, dst, N)]++;
    }
    assert_int_equal(count[0], 0);
    double sum = 0;
    for (uint32_t k = 1; k < N; k++) {
        const double expected = (double)ROUNDS * DESTINATIONS * k * 2 / (N * (N - 1));
        sum += (count[k] - expected) * (count[k] - expected) / expected;
    }
    assert_true(sum < test_chi_square_quantile(N - 2, TEST_Z));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_queues_keep_the_remembered_way),
        cmocka_unit_test(the_shorter_of_two_wins),
        cmocka_unit_test(long_queues_do_not_wrap),
        cmocka_unit_test(ranks_come_as_often_as_they_should),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
