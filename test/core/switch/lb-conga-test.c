/* SPDX-License-Identifier: GPL-2.0-only */
#include "core/switch/balancer.h"

#include "test-support.h"

#include <string.h>

#define US INT64_C(1000000) /* in ps */

/*
 * Leaves with one host each and `WAYS` uplinks: host h is at leaf h. Ports 0.. of a leaf are its
 * uplinks, port h of a spine goes to leaf h. Links of 100 Gb/s: with T = 50 us and alpha = 0.2 a
 * link at full rate tends to 3,125,000 bytes, and a step of eight is 390,625.
 */
enum { LEAVES = 3, WAYS = 4, STEP = 390625, LOAD = STEP + 1 };

static struct test_state leaf[LEAVES], spine[WAYS];
static const uint32_t leaf_of[LEAVES] = {0, 1, 2};
static uint64_t rates[WAYS_MAX];

static struct eun_lb_network network(void)
{
    for (uint32_t i = 0; i < WAYS_MAX; i++)
        rates[i] = UINT64_C(100000000000);
    return (struct eun_lb_network){.leaf = leaf_of,
                                   .leaves = LEAVES,
                                   .longest = 4,
                                   .widest = WAYS,
                                   .rate_bps = rates,
                                   .ports = WAYS};
}

static struct eun_lb_params params(void)
{
    struct eun_lb_params p = eun_lb_defaults;
    p.flowlet_timeout_ps = 100 * US;
    p.dre_interval_ps = 50 * US;
    p.dre_alpha = 0.2;
    p.conga_bits = 3;
    p.conga_aging_ps = 500 * US;
    return p;
}

static void start(uint64_t seed)
{
    const struct eun_lb_network net = network();
    const struct eun_lb_params p = params();
    for (uint32_t i = 0; i < LEAVES + WAYS; i++) {
        struct test_state *s = i < LEAVES ? &leaf[i] : &spine[i - LEAVES];
        test_init(&eun_balancer_conga, s, seed + i);
        assert_null(eun_balancer_conga.configure(s->words, &p, &net));
    }
}

/** The way that a new flow from leaf a to leaf b takes. */
static uint32_t choose(uint32_t a, uint32_t b, uint32_t entropy, int64_t now_ps)
{
    struct eun_lb_view view = test_view(0, WAYS);
    const struct eun_lb_packet packet = {.src = a, .dst = b, .entropy = entropy, .bytes = 1024};
    view.now_ps = now_ps;
    view.from_host = true;
    return eun_balancer_conga.choose(leaf[a].words, &packet, &view);
}

/** Carries `bytes` in one frame from leaf a to leaf b by that way; returns the tag at b. */
static uint64_t carry(uint32_t a, uint32_t b, uint32_t way, uint32_t bytes, int64_t now_ps)
{
    const struct eun_balancer *lb = &eun_balancer_conga;
    const struct eun_lb_packet packet = {.src = a, .dst = b, .entropy = 1, .bytes = bytes};
    uint64_t tag = lb->enter(leaf[a].words, &packet, way);
    tag = lb->sent(leaf[a].words, way, bytes, tag, now_ps);
    tag = lb->sent(spine[way].words, b, bytes, tag, now_ps);
    lb->arrive(leaf[b].words, &packet, tag, now_ps);
    return tag;
}

/** Which of the ways new flows from a to b take, bit by way. Nobody remembers these flows. */
static uint32_t ways_used(struct test_random *r, uint32_t a, uint32_t b, int64_t now_ps)
{
    static struct test_state before;
    uint32_t used = 0;
    before = leaf[a];
    for (int i = 0; i < 200; i++)
        used |= 1u << choose(a, b, (uint32_t)test_random_next(r), now_ps);
    leaf[a] = before;
    return used;
}

/** Without load, all ways alike. */
static void equal_ways_are_drawn(void **state)
{
    (void)state;
    struct test_random r = test_random_start(131);
    uint32_t count[WAYS] = {0};
    for (uint64_t seed = 0; seed < 100; seed++) {
        start(test_random_next(&r));
        for (int i = 0; i < 100; i++)
            count[choose(0, 1, (uint32_t)test_random_next(&r), US)]++;
    }
    test_assert_uniform(count, WAYS);
}

/** A leaf avoids its own loaded uplink at once; the level is the quantised DRE. */
static void local_load_is_avoided(void **state)
{
    (void)state;
    struct test_random r = test_random_start(132);
    start(test_random_next(&r));
    assert_int_equal(carry(0, 1, 2, STEP - 1, US) >> 4 & 7, 0);
    assert_int_equal(ways_used(&r, 0, 1, US), 15);
    assert_int_equal(carry(0, 1, 2, 2, US) >> 4 & 7, 1);
    assert_int_equal(ways_used(&r, 0, 1, US), 15 & ~4);
    assert_int_equal(ways_used(&r, 0, 2, US), 15 & ~4);
    /* 390,626 bytes fade to 312,501 at the end of the interval: level 0 again. */
    assert_int_equal(ways_used(&r, 0, 1, 50 * US), 15);
    for (uint32_t k = 1; k <= 9; k++)
        assert_int_equal(carry(0, 1, 3, LOAD, 200 * US) >> 4 & 7, k < 7 ? k : 7);
}

/**
 * By hand: leaf 2 loads the link from spine 1 to leaf 1. Leaf 0 cannot see that, until a frame of
 * its own has met it and one came back.
 */
static void remote_load_is_avoided_once_it_is_reported(void **state)
{
    (void)state;
    struct test_random r = test_random_start(133);
    start(test_random_next(&r));
    carry(2, 1, 1, 3 * LOAD, US);
    assert_int_equal(ways_used(&r, 0, 1, US), 15);
    assert_int_equal(carry(0, 1, 1, 64, 2 * US) & 0xff, 1 << 7 | 3 << 4 | 1);
    assert_int_equal(ways_used(&r, 0, 1, 3 * US), 15);
    carry(1, 0, 3, 64, 4 * US);
    assert_int_equal(ways_used(&r, 0, 1, 5 * US), 15 & ~2);
    assert_int_equal(ways_used(&r, 0, 2, 5 * US), 15);
    /* Nobody renews the report: after 500 us it is as good as none. */
    assert_int_equal(ways_used(&r, 0, 1, 504 * US), 15 & ~2);
    assert_int_equal(ways_used(&r, 0, 1, 505 * US), 15);
}

/** A tag holds the larger level, be it that of the first or of the second link. */
static void tags_hold_the_largest_level(void **state)
{
    (void)state;
    start(137);
    eun_balancer_conga.sent(leaf[0].words, 0, 5 * LOAD, 0, US);
    eun_balancer_conga.sent(spine[1].words, 1, 6 * LOAD, 0, US);
    assert_int_equal(carry(0, 1, 0, 64, US) >> 4 & 7, 5);
    assert_int_equal(carry(0, 1, 1, 64, US) >> 4 & 7, 6);
    assert_int_equal(carry(0, 1, 2, 64, US) >> 4 & 7, 0);
}

/** The path is as bad as its worst link: the least of the maxima wins. */
static void the_least_of_the_maxima_wins(void **state)
{
    (void)state;
    struct test_random r = test_random_start(134);
    /* Levels of way 0..3: local 4 1 0 2, remote 0 3 5 1, so maxima 4 3 5 2. */
    const uint32_t local[WAYS] = {4, 1, 0, 2}, remote[WAYS] = {0, 3, 5, 1};
    start(test_random_next(&r));
    for (uint32_t way = 0; way < WAYS; way++) {
        if (remote[way])
            carry(2, 1, way, remote[way] * LOAD, US);
        carry(0, 1, way, 64, US);
        carry(1, 0, 0, 64, US);
    }
    for (uint32_t way = 0; way < WAYS; way++)
        eun_balancer_conga.sent(leaf[0].words, way, local[way] * LOAD, 0, US);
    assert_int_equal(ways_used(&r, 0, 1, US), 1 << 3);
}

/** One report a frame, in turn, each measurement once; none where there is nothing to say. */
static void reports_take_turns(void **state)
{
    (void)state;
    start(135);
    for (uint32_t way = 0; way < WAYS; way++)
        carry(0, 1, way, (way + 1) * LOAD, US);
    for (uint32_t i = 0; i < WAYS; i++) {
        const uint64_t tag = carry(1, 0, 0, 64, US);
        assert_int_equal(tag >> 8, 1 << 7 | (i + 1) << 4 | i);
    }
    assert_int_equal(carry(1, 0, 0, 64, US) >> 8, 0);
    carry(0, 1, 2, 64, US);
    assert_int_equal(carry(1, 2, 0, 64, US) >> 8, 0);
    assert_int_equal(carry(1, 0, 0, 64, US) >> 8, 1 << 7 | 3 << 4 | 2);
    assert_int_equal(carry(1, 0, 0, 64, US) >> 8, 0);
}

/** A flow keeps its way within a flowlet, and after it while there is none better. */
static void a_flow_moves_after_a_gap_and_for_a_better_way(void **state)
{
    (void)state;
    struct test_random r = test_random_start(136);
    for (int round = 0; round < 100; round++) {
        const uint32_t flow = (uint32_t)test_random_next(&r);
        start(test_random_next(&r));
        int64_t now = US;
        const uint32_t way = choose(0, 1, flow, now);
        for (int i = 0; i < 20; i++)
            assert_int_equal(choose(0, 1, flow, now += 101 * US), way);
        carry(0, 1, way, 8 * LOAD, now);
        assert_int_equal(choose(0, 1, flow, now += 100 * US), way);
        assert_int_not_equal(choose(0, 1, flow, now += 101 * US), way);
    }
}

/**
 * A sample of two of four: the first way is drawn from three, so the ways in the middle are in two
 * of three samples and those at the ends in one. Unloaded, a way of the sample is drawn.
 */
static void a_sample_is_of_adjacent_ways(void **state)
{
    (void)state;
    enum { ROUNDS = 60000 };
    struct test_random r = test_random_start(138);
    const struct eun_lb_network net = network();
    struct eun_lb_params p = params();
    uint32_t count[WAYS] = {0};
    p.conga_sample = 2;
    p.flowlet_timeout_ps = 0;
    start(test_random_next(&r));
    assert_null(eun_balancer_conga.configure(leaf[0].words, &p, &net));
    for (uint32_t i = 0; i < ROUNDS; i++)
        count[choose(0, 1, (uint32_t)test_random_next(&r), US + i)]++;
    for (int way = 0; way < WAYS; way++) {
        const double share = way == 0 || way == 3 ? 1.0 / 6 : 2.0 / 6;
        const double deviation = sqrt(ROUNDS * share * (1 - share));
        assert_true(fabs(count[way] - ROUNDS * share) < TEST_Z * deviation);
    }
    /* All but way 0 are loaded: two of three samples do not know it. */
    for (uint32_t way = 1; way < WAYS; way++)
        carry(0, 1, way, 3 * LOAD, 2 * US);
    memset(count, 0, sizeof count);
    for (uint32_t i = 0; i < ROUNDS; i++)
        count[choose(0, 1, (uint32_t)test_random_next(&r), 2 * US + i)]++;
    assert_true(fabs(count[0] - ROUNDS / 3.0) < TEST_Z * sqrt(ROUNDS * 2.0 / 9));
    /* A sample as large as the group, or larger, is all of it. */
    for (p.conga_sample = 4; p.conga_sample <= 5; p.conga_sample++) {
        assert_null(eun_balancer_conga.configure(leaf[0].words, &p, &net));
        for (uint32_t i = 0; i < 100; i++)
            assert_int_equal(choose(0, 1, (uint32_t)test_random_next(&r), 3 * US + i), 0);
    }
    /* A flow's last way counts where it is in the sample only. */
    p.conga_sample = 1;
    start(test_random_next(&r));
    assert_null(eun_balancer_conga.configure(leaf[0].words, &p, &net));
    memset(count, 0, sizeof count);
    for (uint32_t i = 0; i < ROUNDS; i++)
        count[choose(0, 1, 9, US + 10 * (int64_t)i)]++;
    test_assert_uniform(count, WAYS);
}

static void networks_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    const struct eun_lb_params p = params();
    struct eun_lb_network bad[5];
    for (int i = 0; i < 5; i++)
        bad[i] = network();
    bad[0].leaf = NULL;
    bad[1].longest = 6;
    bad[2].leaves = 257;
    bad[3].widest = 17;
    bad[4].ports = 513;
    test_init(&eun_balancer_conga, &leaf[0], 1);
    for (int i = 0; i < 5; i++) {
        const char *reason = eun_balancer_conga.configure(leaf[0].words, &p, &bad[i]);
        assert_non_null(reason);
        assert_ptr_equal(strstr(reason, "conga "), reason);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_ways_are_drawn),
        cmocka_unit_test(local_load_is_avoided),
        cmocka_unit_test(remote_load_is_avoided_once_it_is_reported),
        cmocka_unit_test(tags_hold_the_largest_level),
        cmocka_unit_test(the_least_of_the_maxima_wins),
        cmocka_unit_test(reports_take_turns),
        cmocka_unit_test(a_flow_moves_after_a_gap_and_for_a_better_way),
        cmocka_unit_test(a_sample_is_of_adjacent_ways),
        cmocka_unit_test(networks_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
