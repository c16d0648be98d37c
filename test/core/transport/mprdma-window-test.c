/* SPDX-License-Identifier: GPL-2.0-only */
#include "test-support.h"

#include "core/transport/mprdma-window.h"

#include <math.h>
#include <string.h>

#define PATH 50000u
#define RTT (8 * US)

static struct eun_mprdma_config config_of(double initial)
{
    return (struct eun_mprdma_config){.initial_window = initial,
                                      .limit = 4096,
                                      .rtt_ps = RTT,
                                      .burst_ps = US,
                                      .ooo_psns = 32,
                                      .sync_alpha = 1};
}

static struct eun_mprdma_window open_window(const struct eun_mprdma_config *config, uint64_t seed)
{
    struct eun_mprdma_window w;
    memset(&w, 0xa5, sizeof w);
    eun_mprdma_init(&w, config, seed);
    return w;
}

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

/** An ACK of `psn`, which is also the newest. */
static bool ack(struct eun_mprdma_window *w, const struct eun_mprdma_config *c, uint32_t psn,
                bool ce)
{
    return eun_mprdma_answer(w, c, psn, psn, true, ce, false, 0);
}

/* By hand. */

static void a_mark_costs_half_a_packet_its_absence_brings_a_share(void **state)
{
    (void)state;
    const struct eun_mprdma_config c = config_of(10);
    struct eun_mprdma_window w = open_window(&c, 1);
    assert_true(ack(&w, &c, 0, false));
    assert_true(near(w.cwnd, 10.1));
    ack(&w, &c, 1, true);
    assert_true(near(w.cwnd, 9.6));
    ack(&w, &c, 2, true);
    assert_true(near(w.cwnd, 9.1));
}

static void a_window_has_one_packet_at_least_and_the_limit_at_most(void **state)
{
    (void)state;
    struct eun_mprdma_config c = config_of(1.25);
    struct eun_mprdma_window w = open_window(&c, 1);
    ack(&w, &c, 0, true);
    assert_true(near(w.cwnd, 1));
    eun_mprdma_unused(&w);
    assert_true(near(w.cwnd, 1));
    c.limit = 1.5;
    ack(&w, &c, 1, false);
    assert_true(near(w.cwnd, 1.5));
    eun_mprdma_timeout(&w, 0);
    assert_true(near(w.cwnd, 1));
}

/** A NACK is no credit, but its mark counts. */
static void what_was_dropped_grows_nothing(void **state)
{
    (void)state;
    const struct eun_mprdma_config c = config_of(10);
    struct eun_mprdma_window w = open_window(&c, 1);
    assert_true(eun_mprdma_answer(&w, &c, 0, 70, false, false, false, 0));
    assert_true(near(w.cwnd, 10));
    assert_true(eun_mprdma_answer(&w, &c, 0, 71, false, true, false, 0));
    assert_true(near(w.cwnd, 9.5));
    assert_false(w.any);
}

static void a_window_that_is_not_used_up_does_not_grow(void **state)
{
    (void)state;
    const struct eun_mprdma_config c = config_of(10);
    struct eun_mprdma_window w = open_window(&c, 1);
    eun_mprdma_grant_anywhere(&w, 1);
    ack(&w, &c, 0, false);
    assert_true(near(w.cwnd, 10));
    ack(&w, &c, 0, true);
    assert_true(near(w.cwnd, 9.5));
    eun_mprdma_take(&w);
    ack(&w, &c, 0, false);
    assert_true(w.cwnd > 9.5);
    eun_mprdma_unused(&w);
    assert_true(near(w.cwnd, 8.5 + 1 / 9.5));
}

/** cwnd + sacked + lost - outstanding - granted, and never less than 0. */
static void available_by_hand(void **state)
{
    (void)state;
    static const struct {
        double cwnd;
        uint32_t outstanding, sacked, lost, granted, available;
    } rows[] = {
        {10, 0, 0, 0, 0, 10}, {10, 10, 0, 0, 0, 0},  {10.9, 10, 0, 0, 0, 0}, {11, 10, 0, 0, 0, 1},
        {10, 10, 3, 0, 0, 3}, {10, 10, 3, 2, 0, 5},  {10, 10, 3, 2, 4, 1},   {10, 10, 3, 2, 9, 0},
        {10, 30, 0, 0, 0, 0}, {10, 5, 0, 99, 0, 10}, {10, 8, 5, 99, 0, 10},  {1, 1, 1, 0, 0, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct eun_mprdma_config c = config_of(rows[i].cwnd);
        struct eun_mprdma_window w = open_window(&c, 1);
        w.lost = rows[i].lost;
        eun_mprdma_grant_anywhere(&w, rows[i].granted);
        assert_int_equal(eun_mprdma_available(&w, rows[i].outstanding, rows[i].sacked),
                         rows[i].available);
    }
}

static void answers_clock_packets_out_on_their_path(void **state)
{
    (void)state;
    const struct eun_mprdma_config c = config_of(10);
    struct eun_mprdma_window w = open_window(&c, 1);
    assert_int_equal(eun_mprdma_clock(&w, &c, 2, PATH, 0), 2);
    assert_int_equal(eun_mprdma_clock(&w, &c, 0, PATH + 1, 0), 0);
    assert_int_equal(eun_mprdma_clock(&w, &c, 1, PATH + 2, 0), 1);
    assert_int_equal(eun_mprdma_granted(&w), 3);
    assert_int_equal(eun_mprdma_take(&w), PATH);
    assert_int_equal(eun_mprdma_take(&w), PATH);
    assert_int_equal(eun_mprdma_take(&w), PATH + 2);
    assert_int_equal(eun_mprdma_granted(&w), 0);
}

static void more_grants_than_the_ring_holds_find_no_room(void **state)
{
    (void)state;
    const struct eun_mprdma_config c = config_of(100);
    struct eun_mprdma_window w = open_window(&c, 1);
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < EUN_MPRDMA_GRANTS - 1u; i++)
            assert_int_equal(eun_mprdma_clock(&w, &c, 1, (uint16_t)(PATH + i), 0), 1);
        assert_int_equal(eun_mprdma_clock(&w, &c, 2, PATH + 99, 0), 1);
        assert_int_equal(eun_mprdma_clock(&w, &c, 2, PATH + 99, 0), 0);
        for (uint32_t i = 0; i < EUN_MPRDMA_GRANTS - 1u; i++)
            assert_int_equal(eun_mprdma_take(&w), PATH + i);
        assert_int_equal(eun_mprdma_take(&w), PATH + 99);
    }
    eun_mprdma_clock(&w, &c, 2, PATH, 0);
    eun_mprdma_withdraw(&w);
    assert_int_equal(eun_mprdma_granted(&w), 0);
}

/** With probability 1, the first packet of a round trip takes another path. */
static void a_round_trip_has_one_probe_at_most(void **state)
{
    (void)state;
    struct eun_mprdma_config c = config_of(10);
    c.probe_probability = 1;
    struct eun_mprdma_window w = open_window(&c, 1);
    const int64_t times[] = {0, 1, RTT - 1, RTT, RTT + 1, 2 * RTT};
    const bool probes[] = {true, false, false, true, false, true};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        assert_int_equal(eun_mprdma_clock(&w, &c, 2, PATH, times[i]), 2);
        assert_int_equal(w.anywhere, probes[i]);
        assert_int_equal(w.count, probes[i] ? 1 : 2);
        eun_mprdma_withdraw(&w);
    }
    c.probe_probability = 0;
    for (int64_t now = 3 * RTT; now < 1000 * RTT; now += RTT)
        eun_mprdma_clock(&w, &c, 0, PATH, now);
    assert_int_equal(eun_mprdma_granted(&w), 0);
    eun_mprdma_clock(&w, &c, 1, PATH, 1000 * RTT);
    assert_int_equal(w.count, 1);
}

/** One in a hundred, where round trips do not limit: 10,000 tries make 100, +-4 deviations. */
static void probes_are_as_frequent_as_configured(void **state)
{
    (void)state;
    struct eun_mprdma_config c = config_of(10);
    c.probe_probability = 0.01;
    struct eun_mprdma_window w = open_window(&c, 7);
    uint32_t probes = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        eun_mprdma_clock(&w, &c, 1, PATH, i * RTT);
        probes += w.anywhere;
        eun_mprdma_withdraw(&w);
    }
    assert_in_range(probes, 60, 140);
}

/** More than Delta behind the newest: 32 is not, 33 is. PSNs wrap; a repeat tells nothing. */
static void a_late_answer_tells_of_a_slow_path(void **state)
{
    (void)state;
    const struct eun_mprdma_config c = config_of(10);
    const uint32_t newest[] = {100, 20, 0x80000010u};
    for (size_t i = 0; i < 3; i++) {
        struct eun_mprdma_window w = open_window(&c, 1);
        const uint32_t una = newest[i] - 50u;
        assert_true(eun_mprdma_answer(&w, &c, una, newest[i], true, true, false, 0));
        assert_true(near(w.cwnd, 9.5));
        assert_true(eun_mprdma_answer(&w, &c, una, newest[i] - 32u, true, true, false, 0));
        assert_true(near(w.cwnd, 9));
        assert_false(eun_mprdma_answer(&w, &c, una, newest[i] - 33u, true, true, false, 0));
        assert_true(near(w.cwnd, 7.5));
        assert_true(eun_mprdma_answer(&w, &c, una, newest[i] - 33u, true, true, true, 0));
        assert_true(near(w.cwnd, 7));
    }
}

static void round_trips_are_measured_one_at_a_time(void **state)
{
    (void)state;
    const struct eun_mprdma_config c = config_of(10);
    struct eun_mprdma_window w = open_window(&c, 1);
    eun_mprdma_time(&w, 5, 1000);
    eun_mprdma_time(&w, 6, 2000);
    eun_mprdma_answer(&w, &c, 5, 6, true, false, false, 1000 + RTT);
    assert_true(w.timing && w.rtt_ps == RTT);
    eun_mprdma_answer(&w, &c, 5, 5, false, false, false, 1000 + RTT);
    assert_true(w.timing && w.rtt_ps == RTT);
    eun_mprdma_answer(&w, &c, 6, 5, true, false, false, 1000 + 2 * RTT);
    assert_true(!w.timing && w.rtt_ps == RTT + RTT / 8);
    /* A repeat may answer for either copy, and the answer itself may be lost. */
    eun_mprdma_time(&w, 7, 0);
    eun_mprdma_answer(&w, &c, 7, 7, true, false, true, 9 * RTT);
    assert_true(w.timing);
    eun_mprdma_answer(&w, &c, 8, 7, true, false, true, 9 * RTT);
    assert_true(!w.timing && w.rtt_ps == RTT + RTT / 8);
}

static void synchronise_packets_wait_as_published(void **state)
{
    (void)state;
    struct eun_mprdma_config c = config_of(16);
    const struct eun_mprdma_window w = open_window(&c, 1);
    assert_int_equal(eun_mprdma_sync_delay(&w, &c), 2 * RTT);
    c.sync_alpha = 0.5;
    c.ooo_psns = 64;
    assert_int_equal(eun_mprdma_sync_delay(&w, &c), 2 * RTT);
    c.sync_alpha = 0;
    assert_int_equal(eun_mprdma_sync_delay(&w, &c), 0);
}

static void a_timeout_halves_and_takes_all_for_lost(void **state)
{
    (void)state;
    const struct eun_mprdma_config c = config_of(10);
    struct eun_mprdma_window w = open_window(&c, 1);
    eun_mprdma_clock(&w, &c, 2, PATH, 0);
    eun_mprdma_time(&w, 1, 0);
    eun_mprdma_timeout(&w, 7);
    assert_true(near(w.cwnd, 5) && w.lost == 7 && !w.timing);
    assert_int_equal(eun_mprdma_granted(&w), 0);
    assert_int_equal(eun_mprdma_available(&w, 10, 3), 5);
}

/** 1,000 paths drawn are ports of the dynamic range, nearly all different, by the seed alone. */
static void paths_at_random(void **state)
{
    (void)state;
    static bool seen[1u << 16];
    const struct eun_mprdma_config c = config_of(10);
    struct eun_mprdma_window a = open_window(&c, 3);
    struct eun_mprdma_window b = open_window(&c, 3);
    struct eun_mprdma_window other = open_window(&c, 4);
    uint32_t distinct = 0;
    uint32_t same = 0;
    eun_mprdma_grant_anywhere(&a, 1000);
    eun_mprdma_grant_anywhere(&b, 1000);
    eun_mprdma_grant_anywhere(&other, 1000);
    for (uint32_t i = 0; i < 1000; i++) {
        const uint16_t path = eun_mprdma_take(&a);
        assert_true(path >= 49152);
        distinct += !seen[path];
        seen[path] = true;
        assert_int_equal(eun_mprdma_take(&b), path);
        same += eun_mprdma_take(&other) == path;
    }
    assert_true(distinct > 930 && same < 5);
}

/* Against a simple reference. */

struct reference {
    double cwnd;
    uint32_t newest;
    bool any;
    uint32_t queue; /**< packets granted */
};

static bool reference_answer(struct reference *ref, const struct eun_mprdma_config *c, uint32_t psn,
                             bool arrived, bool ce, bool again)
{
    if (ce)
        ref->cwnd = fmax(1, ref->cwnd - 0.5);
    else if (arrived && ref->queue == 0)
        ref->cwnd = fmin(c->limit, ref->cwnd + 1 / ref->cwnd);
    if (!arrived)
        return true;
    if (!ref->any || psn > ref->newest)
        ref->newest = psn;
    ref->any = true;
    if (again || (int64_t)psn >= (int64_t)ref->newest - c->ooo_psns)
        return true;
    ref->cwnd = fmax(1, ref->cwnd - 1);
    return false;
}

static void follows_the_reference(void **state)
{
    (void)state;
    struct test_random r = test_random_start(5);
    for (int run = 0; run < 500; run++) {
        struct eun_mprdma_config c = config_of(test_between(&r, 1, 100));
        c.limit = test_between(&r, 100, 300);
        c.ooo_psns = test_between(&r, 1, 40);
        const uint32_t origin = test_first_psn(&r);
        struct eun_mprdma_window w = open_window(&c, test_random_next(&r));
        struct reference ref = {.cwnd = c.initial_window};
        const uint32_t marked = test_below(&r, 101);
        for (uint32_t step = 0; step < 300; step++) {
            const uint32_t psn = step + test_below(&r, 80);
            const bool arrived = test_chance(&r, 90);
            const bool ce = test_chance(&r, marked);
            const bool again = test_chance(&r, 10);
            assert_int_equal(eun_mprdma_answer(&w, &c, origin, origin + psn, arrived, ce, again, 0),
                             reference_answer(&ref, &c, psn, arrived, ce, again));
            if (test_chance(&r, 10)) {
                eun_mprdma_unused(&w);
                ref.cwnd = fmax(1, ref.cwnd - 1);
            }
            if (test_chance(&r, 1)) {
                eun_mprdma_timeout(&w, 0);
                ref.cwnd = fmax(1, ref.cwnd / 2);
                ref.queue = 0;
            }
            const double room = ref.cwnd - step % 50 - ref.queue;
            const uint32_t available = room >= 1 ? (uint32_t)room : 0;
            assert_int_equal(eun_mprdma_available(&w, step % 50 + 7, 7), available);
            const uint32_t packets = available < 2 ? available : 2;
            ref.queue += eun_mprdma_clock(&w, &c, packets, PATH, 0);
            while (ref.queue > 0 && test_chance(&r, 70)) {
                eun_mprdma_take(&w);
                ref.queue--;
            }
            assert_true(near(w.cwnd, ref.cwnd));
            assert_int_equal(eun_mprdma_granted(&w), ref.queue);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mark_costs_half_a_packet_its_absence_brings_a_share),
        cmocka_unit_test(a_window_has_one_packet_at_least_and_the_limit_at_most),
        cmocka_unit_test(what_was_dropped_grows_nothing),
        cmocka_unit_test(a_window_that_is_not_used_up_does_not_grow),
        cmocka_unit_test(available_by_hand),
        cmocka_unit_test(answers_clock_packets_out_on_their_path),
        cmocka_unit_test(more_grants_than_the_ring_holds_find_no_room),
        cmocka_unit_test(a_round_trip_has_one_probe_at_most),
        cmocka_unit_test(probes_are_as_frequent_as_configured),
        cmocka_unit_test(a_late_answer_tells_of_a_slow_path),
        cmocka_unit_test(round_trips_are_measured_one_at_a_time),
        cmocka_unit_test(synchronise_packets_wait_as_published),
        cmocka_unit_test(a_timeout_halves_and_takes_all_for_lost),
        cmocka_unit_test(paths_at_random),
        cmocka_unit_test(follows_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
