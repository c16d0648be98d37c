/* SPDX-License-Identifier: GPL-2.0-only */
#include "core/switch/balancer.h"

#include "test-support.h"

#include <string.h>

enum { PORTS = 64, SLOW = 5, FAST = 6 };

static const struct eun_balancer *const lb = &eun_balancer_adaptive;

struct bench {
    struct test_state state;
    uint32_t queue[PORTS];
};

static void start(struct bench *b, uint64_t seed, const uint32_t *limits, uint32_t grades)
{
    static uint64_t rates[PORTS];
    struct eun_lb_params params = eun_lb_defaults;
    params.adaptive_grades = grades;
    memcpy(params.adaptive_limit, limits, grades * sizeof *limits);
    for (uint32_t i = 0; i < PORTS; i++)
        rates[i] = UINT64_C(100000000000);
    rates[SLOW] = UINT64_C(25000000000);
    rates[FAST] = UINT64_C(400000000000);
    const struct eun_lb_network network = {.rate_bps = rates, .ports = PORTS};
    test_init(lb, &b->state, seed);
    assert_null(lb->configure(b->state.words, &params, &network));
    memset(b->queue, 0, sizeof b->queue);
}

static uint32_t choose(struct bench *b, uint32_t first, uint32_t n)
{
    struct eun_lb_view view = test_view(first, n);
    const struct eun_lb_packet packet = {.src = 1, .dst = 2, .entropy = 3, .bytes = 1024};
    view.queue_bytes = b->queue;
    return lb->choose(b->state.words, &packet, &view);
}

/** Which of two ways are taken, bit by way. */
static uint32_t taken(struct bench *b, uint32_t first)
{
    uint32_t ways = 0;
    for (int i = 0; i < 100; i++)
        ways |= 1u << choose(b, first, 2);
    return ways;
}

/** By hand, at every limit: one byte less is the grade below, and within a grade ways are alike. */
static void grades_begin_at_their_limits(void **state)
{
    (void)state;
    static const uint32_t limits[] = {1000, 8000, 50000};
    static const uint32_t edges[] = {0, 1000, 8000, 50000, UINT32_MAX};
    struct bench b;
    start(&b, 161, limits, 3);
    for (int k = 0; k < 4; k++) {
        b.queue[0] = edges[k];
        b.queue[1] = edges[k + 1] - 1u;
        assert_int_equal(taken(&b, 0), 3);
        b.queue[1] = edges[k + 1];
        assert_int_equal(taken(&b, 0), k < 3 ? 1 : 3);
        b.queue[0] = edges[k + 1];
        b.queue[1] = edges[k];
        assert_int_equal(taken(&b, 0), k < 3 ? 2 : 3);
    }
}

/** Limits follow the rate: equal grades drain in equal times. */
static void limits_scale_with_the_rate(void **state)
{
    (void)state;
    static const uint32_t limits[] = {8000};
    struct bench b;
    start(&b, 162, limits, 1);
    b.queue[SLOW] = 1999;
    b.queue[FAST] = 31999;
    assert_int_equal(taken(&b, SLOW), 3);
    b.queue[FAST] = 32000;
    assert_int_equal(taken(&b, SLOW), 1);
    b.queue[SLOW] = 2000;
    assert_int_equal(taken(&b, SLOW), 3);
    b.queue[FAST] = 31999;
    assert_int_equal(taken(&b, SLOW), 2);
}

/** Against the definition, with random limits and queues: the ways of the least grade, alike. */
static void the_least_grade_is_drawn_from_uniformly(void **state)
{
    (void)state;
    struct test_random r = test_random_start(163);
    for (int round = 0; round < 200; round++) {
        struct bench b;
        uint32_t limits[EUN_ADAPTIVE_MAX], count[PORTS] = {0}, best[PORTS];
        uint32_t cells = 0, least = UINT32_MAX, at = 0;
        const uint32_t grades = test_between(&r, 1, EUN_ADAPTIVE_MAX);
        for (uint32_t k = 0; k < grades; k++)
            limits[k] = at += test_between(&r, 1, 30000);
        start(&b, test_random_next(&r), limits, grades);
        const uint32_t first = 8, n = test_between(&r, 2, 32);
        for (uint32_t i = 0; i < n; i++) {
            b.queue[first + i] = test_below(&r, 100000);
            uint32_t grade = 0;
            for (uint32_t k = 0; k < grades; k++)
                grade += b.queue[first + i] >= limits[k];
            cells = grade < least ? 0 : cells;
            least = grade < least ? grade : least;
            if (grade == least)
                best[cells++] = i;
        }
        const uint32_t draws = 500 * cells;
        for (uint32_t i = 0; i < draws; i++)
            count[choose(&b, first, n)]++;
        uint32_t sum = 0;
        for (uint32_t i = 0; i < cells; i++)
            sum += count[i] = count[best[i]];
        assert_int_equal(sum, draws);
        if (cells > 1)
            test_assert_random(count, cells);
    }
}

/**
 * Packets of a byte into ways that never drain, one limit of L: the fullest has L of them before
 * any gets more, so all have L exactly after n x L packets.
 */
static void a_grade_fills_before_the_next_begins(void **state)
{
    (void)state;
    enum { N = 16, L = 100 };
    static const uint32_t limits[] = {L, 2 * L};
    struct bench b;
    start(&b, 164, limits, 2);
    for (uint32_t grade = 1; grade <= 2; grade++) {
        for (uint32_t i = 0; i < N * L; i++)
            b.queue[8 + choose(&b, 8, N)]++;
        for (uint32_t i = 0; i < N; i++)
            assert_int_equal(b.queue[8 + i], grade * L);
    }
}

static void too_many_ports_are_refused(void **state)
{
    (void)state;
    struct bench b;
    const struct eun_lb_network big = {.ports = 513};
    test_init(lb, &b.state, 1);
    assert_string_equal(lb->configure(b.state.words, &eun_lb_defaults, &big),
                        "adaptive takes up to 512 ports a switch");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grades_begin_at_their_limits),
        cmocka_unit_test(limits_scale_with_the_rate),
        cmocka_unit_test(the_least_grade_is_drawn_from_uniformly),
        cmocka_unit_test(a_grade_fills_before_the_next_begins),
        cmocka_unit_test(too_many_ports_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
