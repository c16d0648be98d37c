/* SPDX-License-Identifier: GPL-2.0-only */
#include "core/switch/balancer.h"

#include "test-support.h"

#include <string.h>

/** A switch under test and its queues. */
struct bench {
    struct test_state state;
    uint32_t queue[WAYS_MAX];
};

static void start(struct bench *b, uint64_t seed, uint32_t samples, uint32_t memory)
{
    const struct eun_lb_params params = {.drill_samples = samples, .drill_memory = memory};
    test_init(&eun_balancer_drill, &b->state, seed);
    assert_null(eun_balancer_drill.configure(b->state.words, &params, NULL));
    memset(b->queue, 0, sizeof b->queue);
}

static uint32_t choose(struct bench *b, uint32_t first, uint32_t n)
{
    struct eun_lb_view view = test_view(first, n);
    const struct eun_lb_packet packet = {.src = 1, .dst = 2, .entropy = 3, .bytes = 1024};
    view.queue_bytes = b->queue;
    return eun_balancer_drill.choose(b->state.words, &packet, &view);
}

/** Two ways, both drawn: always the shorter. */
static void the_shorter_of_two_wins(void **state)
{
    (void)state;
    struct test_random r = test_random_start(101);
    struct bench b;
    start(&b, test_random_next(&r), 2, 0);
    for (int i = 0; i < 10000; i++) {
        b.queue[5] = test_below(&r, 1000);
        b.queue[6] = test_below(&r, 1000);
        const uint32_t choice = choose(&b, 5, 2);
        if (b.queue[5] != b.queue[6])
            assert_int_equal(choice, b.queue[5] < b.queue[6] ? 0 : 1);
    }
}

/**
 * Every way has a length of its own. Without memory, the way of rank k (0 the longest) of n is the
 * shortest of d drawn without replacement with probability C(k, d-1) / C(n, d).
 */
static void ranks_come_as_often_as_they_should(void **state)
{
    (void)state;
    enum { N = 8, DRAWS = 100000 };
    struct test_random r = test_random_start(102);
    for (uint32_t d = 1; d <= N; d++) {
        struct bench b;
        uint32_t count[N] = {0};
        start(&b, test_random_next(&r), d, 0);
        for (uint32_t k = 0; k < N; k++)
            b.queue[k] = 1000 - k;
        for (int i = 0; i < DRAWS; i++)
            count[choose(&b, 0, N)]++;
        for (uint32_t k = 0; k < N; k++) {
            double p = (double)d / N; /* C(k, d-1) / C(N, d) = d/N x C(k, d-1) / C(N-1, d-1) */
            for (uint32_t i = 0; i + 1 < d; i++)
                p *= k < i ? 0 : (double)(k - i) / (N - 1 - i);
            const double deviation = sqrt(DRAWS * p * (1 - p));
            assert_true(fabs(count[k] - DRAWS * p) <= TEST_Z * deviation + 1e-6);
        }
    }
}

/** Once found, the best way is kept while it is the shortest, and left when it is not. */
static void the_best_is_remembered(void **state)
{
    (void)state;
    enum { N = 32 };
    struct test_random r = test_random_start(103);
    for (int round = 0; round < 50; round++) {
        struct bench b;
        start(&b, test_random_next(&r), 2, 1);
        const uint32_t best = test_below(&r, N);
        for (uint32_t k = 0; k < N; k++)
            b.queue[k] = k == best ? 500 : 1000;
        uint32_t tries = 0;
        while (choose(&b, 0, N) != best)
            assert_true(++tries < 1000);
        for (int i = 0; i < 100; i++)
            assert_int_equal(choose(&b, 0, N), best);
        b.queue[best] = 1001;
        for (int i = 0; i < 100; i++)
            assert_int_not_equal(choose(&b, 0, N), best);
    }
}

/** Each group has a memory of its own, and m of its best are in it, not only one. */
static void memories_hold_m_ways_a_group(void **state)
{
    (void)state;
    enum { N = 16, M = 3 };
    struct test_random r = test_random_start(104);
    for (int round = 0; round < 50; round++) {
        struct bench b;
        start(&b, test_random_next(&r), 2, M);
        for (uint32_t k = 0; k < 2 * N; k++)
            b.queue[k] = 1000;
        for (uint32_t k = 0; k < M; k++)
            b.queue[k] = b.queue[N + 4 + k] = 100 + k;
        for (int i = 0; i < 2000; i++) {
            (void)choose(&b, 0, N);
            (void)choose(&b, N, N);
        }
        /* The best get long one after the other: the next best is known without a draw. */
        for (uint32_t k = 0; k < M; k++) {
            assert_int_equal(choose(&b, 0, N), k);
            assert_int_equal(choose(&b, N, N), 4 + k);
            b.queue[k] = b.queue[N + 4 + k] = 2000;
        }
    }
}

/** Equal queues, such as empty ones: a remembered way has no advantage. */
static void equal_queues_are_used_alike(void **state)
{
    (void)state;
    struct test_random r = test_random_start(105);
    for (uint32_t n = 2; n <= WAYS_MAX; n++) {
        struct bench b;
        uint32_t count[WAYS_MAX] = {0};
        start(&b, test_random_next(&r), 2, 1);
        for (uint32_t i = 0; i < 1000 * n; i++)
            count[choose(&b, 0, n)]++;
        test_assert_random(count, n);
    }
}

enum { LEVELS = 8 };

/**
 * The share of n ways that got at least k packets, k = 0..LEVELS-1, after `balls` of them. The mean
 * field of two choices without replacement (Mitzenmacher, "The Power of Two Choices in
 * Randomized Load Balancing", 2001): a packet raises the share s_k by 1/n where both ways drawn
 * hold k-1 or more but not both k or more.
 */
static void mean_field(double n, uint32_t balls, double share[LEVELS])
{
    for (int k = 0; k < LEVELS; k++)
        share[k] = k == 0;
    for (uint32_t b = 0; b < balls; b++) {
        double both[LEVELS];
        for (int k = 0; k < LEVELS; k++)
            both[k] = fmax(0, share[k] * (share[k] * n - 1) / (n - 1));
        for (int k = 1; k < LEVELS; k++)
            share[k] += (both[k - 1] - both[k]) / n;
    }
}

static void two_choices_fill_as_the_mean_field_says(void **state)
{
    (void)state;
    enum { N = WAYS_MAX, ROUNDS = 4000 };
    struct test_random r = test_random_start(106);
    struct bench b;
    double expected[LEVELS], found[LEVELS] = {0};
    start(&b, test_random_next(&r), 2, 0);
    for (int round = 0; round < ROUNDS; round++) {
        memset(b.queue, 0, sizeof b.queue);
        for (int i = 0; i < N; i++)
            b.queue[choose(&b, 0, N)]++;
        for (int k = 0; k < LEVELS; k++)
            for (int way = 0; way < N; way++)
                found[k] += b.queue[way] >= (uint32_t)k ? 1.0 / N / ROUNDS : 0;
    }
    mean_field(N, N, expected);
    for (int k = 0; k < LEVELS; k++)
        if (fabs(found[k] - expected[k]) > 0.005)
            fail_msg("%.4f of the ways hold %d packets, not %.4f", found[k], k, expected[k]);
}

/** Fullest of n ways above the mean of `mean` packets a way. */
static double excess(const struct eun_balancer *lb, uint64_t seed, uint32_t samples,
                     uint32_t memory, uint32_t n, uint32_t mean)
{
    static uint32_t queue[WAYS_MAX];
    struct test_state s;
    const struct eun_lb_params params = {.drill_samples = samples, .drill_memory = memory};
    struct eun_lb_view view = test_view(0, n);
    const struct eun_lb_packet packet = {.src = 1, .dst = 2, .entropy = 3, .bytes = 1024};
    uint32_t most = 0;
    test_init(lb, &s, seed);
    if (lb->configure)
        assert_null(lb->configure(s.words, &params, NULL));
    memset(queue, 0, sizeof queue);
    view.queue_bytes = queue;
    for (uint32_t i = 0; i < n * mean; i++) {
        const uint32_t way = lb->choose(s.words, &packet, &view);
        most = ++queue[way] > most ? queue[way] : most;
    }
    return (double)most - mean;
}

/**
 * The power of two choices. m packets into n ways at random: the fullest is sqrt(2 (m/n) ln n) over
 * the mean (Raab and Steger, 1998); with two choices ln ln n / ln 2 + O(1), whatever m (Berenbrink
 * et al., "Balanced Allocations: The Heavily Loaded Case", 2000).
 */
static void the_fullest_way_is_far_below_that_of_random_choice(void **state)
{
    (void)state;
    struct test_random r = test_random_start(107);
    const double limit = log(log(WAYS_MAX)) / log(2) + 3;
    for (uint32_t mean = 100; mean <= 1600; mean *= 4) {
        const double chance = sqrt(2 * mean * log(WAYS_MAX));
        const uint64_t seed = test_random_next(&r);
        const double random = excess(&eun_balancer_spray, seed, 0, 0, WAYS_MAX, mean);
        assert_true(random > chance / 2 && random < chance * 2);
        assert_true(excess(&eun_balancer_drill, seed, 2, 0, WAYS_MAX, mean) < limit);
        assert_true(excess(&eun_balancer_drill, seed, 2, 1, WAYS_MAX, mean) < limit);
        assert_true(excess(&eun_balancer_drill, seed, 1, 1, WAYS_MAX, mean) < limit);
        assert_true(excess(&eun_balancer_drill, seed, 1, 0, WAYS_MAX, mean) > chance / 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_shorter_of_two_wins),
        cmocka_unit_test(ranks_come_as_often_as_they_should),
        cmocka_unit_test(the_best_is_remembered),
        cmocka_unit_test(memories_hold_m_ways_a_group),
        cmocka_unit_test(equal_queues_are_used_alike),
        cmocka_unit_test(two_choices_fill_as_the_mean_field_says),
        cmocka_unit_test(the_fullest_way_is_far_below_that_of_random_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
