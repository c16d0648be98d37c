/* SPDX-License-Identifier: GPL-2.0-only */
#include "bottleneck.h"

#define US INT64_C(1000000)
#define GBPS UINT64_C(1000000000)

struct qp {
    struct eun_cc_config config;
    struct eun_cc cc;
    int64_t now;
};

/** At 50 Gb/s, after one round trip of `rtt_us`. */
static void begin(struct qp *q, int64_t rtt_us)
{
    *q = (struct qp){.config = bottleneck_config(), .now = 100 * US};
    eun_cc_timely.init(&q->cc, &q->config);
    const struct eun_cc_ack ack = {.now_ps = q->now, .rtt_ps = rtt_us * US};
    eun_cc_timely.on_ack(&q->cc, &q->config, &ack);
    q->cc.rate_bps = 50 * GBPS;
}

/** One min RTT later. */
static void sample(struct qp *q, int64_t rtt_ps)
{
    q->now += 8 * US;
    const struct eun_cc_ack ack = {.now_ps = q->now, .rtt_ps = rtt_ps};
    eun_cc_timely.on_ack(&q->cc, &q->config, &ack);
    assert_int_equal(q->cc.window_bytes, 0);
}

static void assert_rate(const struct qp *q, double expected)
{
    if (fabs((double)q->cc.rate_bps - expected) > 2)
        fail_msg("%llu bit/s, not %.0f", (unsigned long long)q->cc.rate_bps, expected);
}

/** min RTT 8 us, low 20 us, high 40 us, delta 100 Mb/s: each sign of the gradient by hand. */
static void gradients_by_hand(void **state)
{
    (void)state;
    struct qp q;
    /* diff = 0.875 x 4 us, gradient 3.5/8: 50 (1 - 0.8 x 0.4375) = 32.5. */
    begin(&q, 26);
    sample(&q, 30 * US);
    assert_rate(&q, 32.5e9);
    /* diff = 0.125 x 3.5 - 0.875 x 1 = -0.4375 us: up. */
    sample(&q, 29 * US);
    assert_rate(&q, 32.6e9);
    /* diff = 0.125 x -0.4375 + 0.875 x 0 < 0: up. */
    sample(&q, 29 * US);
    assert_rate(&q, 32.7e9);
    /* diff = 0.125 x -0.0546875 us + 0.875 x 8 ns = 0.1640625 ns: 32.7 (1 - 0.8 x 0.1640625/8000).
     */
    sample(&q, 29 * US + 8000);
    assert_rate(&q, 32.7e9 * (1 - 0.8 * 0.1640625 / 8000));
}

/** Flat: up by one step four times, then by five. */
static void hyperactive_from_the_fifth(void **state)
{
    (void)state;
    struct qp q;
    begin(&q, 30);
    /* The round trip before the first sample was calm already. */
    const double steps[] = {1, 2, 3, 8, 13};
    for (int i = 0; i < 5; i++) {
        sample(&q, 30 * US);
        assert_rate(&q, 50e9 + steps[i] * 1e8);
    }
    sample(&q, 31 * US);
    const uint64_t cut = q.cc.rate_bps;
    assert_true(cut < 51 * GBPS);
    sample(&q, 30 * US);
    assert_rate(&q, (double)cut + 1e8);
}

/** A steep gradient halves the rate, no more: from 0.8 x 0.875 x diff = min RTT / 2 on. */
static void halves_at_most(void **state)
{
    (void)state;
    struct qp q;
    begin(&q, 25);
    sample(&q, 30 * US);
    assert_rate(&q, 50e9 * (1 - 0.8 * 0.875 * 5 / 8));
    begin(&q, 24);
    sample(&q, 30 * US);
    assert_rate(&q, 25e9);
    begin(&q, 10);
    sample(&q, 39 * US);
    assert_rate(&q, 25e9);
}

/** Below low the rate rises by one step however steep; above high it falls however flat. */
static void thresholds(void **state)
{
    (void)state;
    struct qp q;
    begin(&q, 5);
    sample(&q, 19 * US);
    assert_rate(&q, 50.1e9);
    for (int i = 0; i < 8; i++)
        sample(&q, 10 * US);
    assert_rate(&q, 50.9e9);
    /* 50 (1 - 0.8 (1 - 40/50)) = 42. */
    begin(&q, 50);
    sample(&q, 50 * US);
    assert_rate(&q, 42e9);
    sample(&q, 41 * US);
    assert_rate(&q, 42e9 * (1 - 0.8 * (1.0 - 40.0 / 41)));
    /* That was no calm. */
    sample(&q, 39 * US);
    assert_int_equal(q.cc.u.timely.calm, 1);
}

/** Answers without a round trip, and those within a min RTT of the last that counted. */
static void one_update_a_round_trip(void **state)
{
    (void)state;
    struct qp q;
    begin(&q, 30);
    struct eun_cc_ack ack = {.now_ps = q.now + 8 * US, .rtt_ps = -1};
    eun_cc_timely.on_ack(&q.cc, &q.config, &ack);
    assert_rate(&q, 50e9);
    ack.rtt_ps = 39 * US;
    ack.now_ps = q.now + 8 * US - 1;
    eun_cc_timely.on_ack(&q.cc, &q.config, &ack);
    assert_rate(&q, 50e9);
    sample(&q, 30 * US);
    assert_rate(&q, 50.1e9);
}

/** Never above the line, never below the least rate, however steep. */
static void rate_stays_within_bounds(void **state)
{
    (void)state;
    struct test_random r = test_random_start(61);
    uint64_t least = LINE, most = 0;
    for (int run = 0; run < 200; run++) {
        struct qp q;
        begin(&q, 10);
        const uint32_t range = test_between(&r, 1, 400);
        for (int i = 0; i < 500; i++) {
            sample(&q, 8 * US + test_below(&r, range) * (US / 4));
            assert_true(q.cc.rate_bps >= 100000000 && q.cc.rate_bps <= LINE);
            least = q.cc.rate_bps < least ? q.cc.rate_bps : least;
            most = q.cc.rate_bps > most ? q.cc.rate_bps : most;
        }
    }
    assert_true(least == 100000000 && most == LINE);
}

/** The link is full, the queue stays about what `low` allows, and two flows come to equal rates. */
static void flows_share_a_link(void **state)
{
    (void)state;
    static struct bottleneck b;
    for (uint32_t flows = 1; flows <= 4; flows *= 2) {
        for (int64_t stagger = 0; stagger <= 200000000; stagger += 200000000) {
            bottleneck_init(&b, &eun_cc_timely, flows);
            b.sample_every = 16;
            b.config.timely.high_ps = 200 * US;
            for (uint32_t i = 0; i < flows; i++)
                b.flow[i].starts_ps = i * stagger;
            bottleneck_run(&b, 300000);
            bottleneck_run(&b, 200000);
            bottleneck_print(&b, stagger ? "timely, one after the other" : "timely");
            assert_true(bottleneck_utilisation(&b) > 0.93);
            assert_true((double)b.queue_max * STEP < 20e6);
            assert_true(bottleneck_fairness(&b) > 0.9);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_by_hand),       cmocka_unit_test(hyperactive_from_the_fifth),
        cmocka_unit_test(halves_at_most),          cmocka_unit_test(thresholds),
        cmocka_unit_test(one_update_a_round_trip), cmocka_unit_test(rate_stays_within_bounds),
        cmocka_unit_test(flows_share_a_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
