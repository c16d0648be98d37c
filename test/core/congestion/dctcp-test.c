/* SPDX-License-Identifier: GPL-2.0-only */
#include "bottleneck.h"

struct qp {
    struct eun_cc_config config;
    struct eun_cc cc;
};

static void begin(struct qp *q)
{
    q->config = bottleneck_config();
    eun_cc_dctcp.init(&q->cc, &q->config);
}

/** An answer to `psn` while `nxt` is next to be sent and the window is full. */
static void answer(struct qp *q, uint32_t psn, uint32_t nxt, bool ce)
{
    const struct eun_cc_ack ack = {
        .rtt_ps = -1, .in_flight = q->cc.window_bytes, .psn = psn, .nxt = nxt, .ce = ce};
    eun_cc_dctcp.on_ack(&q->cc, &q->config, &ack);
    assert_int_equal(q->cc.window_bytes, (uint32_t)q->cc.u.dctcp.window);
    assert_true(q->cc.rate_bps == LINE);
}

static void assert_near(double value, double expected)
{
    if (fabs(value - expected) > 1e-9 * fabs(expected))
        fail_msg("%.12g is not %.12g", value, expected);
}

/** 100,000 bytes of the wire in 8 us, 1024 of 1106 of them payload. */
static void starts_with_what_the_line_carries_in_a_round_trip(void **state)
{
    (void)state;
    struct qp q;
    begin(&q);
    assert_int_equal(q.cc.window_bytes, 92585);
    q.config.base_rtt_ps = 1;
    eun_cc_dctcp.init(&q.cc, &q.config);
    assert_int_equal(q.cc.window_bytes, MTU);
}

/** Windows of ten packets, by hand. */
static void cuts_by_hand(void **state)
{
    (void)state;
    struct qp q;
    begin(&q);
    const struct eun_dctcp *d = &q.cc.u.dctcp;
    double w = 100000.0 * MTU / WIRE;
    /* The first answer begins a window of data that ends with packet 10. */
    answer(&q, 0, 10, false);
    w += 1024 * 1024 / w;
    assert_near(d->window, w);
    assert_near(d->alpha, 1);
    /* The first mark halves the window, as alpha is 1; the other two before packet 14 do not. */
    answer(&q, 1, 14, true);
    w /= 2;
    assert_near(d->window, w);
    for (uint32_t psn = 2; psn < 10; psn++) {
        answer(&q, psn, 14, psn < 4);
        w += psn < 4 ? 0 : 1024 * 1024 / w;
        assert_near(d->window, w);
    }
    /* Packet 10 ends the window: 3 of 10 were marked, the first answer not counted in. */
    answer(&q, 10, 20, false);
    w += 1024 * 1024 / w;
    assert_near(d->alpha, 15.0 / 16 + 0.3 / 16);
    /* 13 left before the cut, 14 after. */
    answer(&q, 13, 20, true);
    assert_near(d->window, w);
    answer(&q, 14, 24, true);
    w *= 1 - d->alpha / 2;
    assert_near(d->window, w);
    /* A SACK of a packet ahead ends a window as well: 2 of 3. */
    const double alpha = d->alpha;
    answer(&q, 25, 30, false);
    assert_near(d->alpha, alpha * 15 / 16 + 2.0 / 3 / 16);
}

/** What does not fill its window learns nothing about a larger one. */
static void grows_where_the_window_holds_it_back(void **state)
{
    (void)state;
    struct qp q;
    begin(&q);
    const uint32_t window = q.cc.window_bytes;
    const double w = q.cc.u.dctcp.window;
    struct eun_cc_ack ack = {.in_flight = window - MTU, .nxt = 10};
    eun_cc_dctcp.on_ack(&q.cc, &q.config, &ack);
    assert_int_equal(q.cc.window_bytes, window);
    ack.in_flight = window - MTU + 2;
    eun_cc_dctcp.on_ack(&q.cc, &q.config, &ack);
    assert_near(q.cc.u.dctcp.window, w + 1024 * 1024 / w);
}

/** With a share F of marks alpha comes to F, by 15/16 a window; and a packet is always allowed. */
static void alpha_comes_to_the_share_of_marks(void **state)
{
    (void)state;
    struct qp q;
    begin(&q);
    uint32_t psn = 0;
    for (uint32_t window = 0; window < 200; window++) {
        for (uint32_t i = 0; i < 20; i++, psn++)
            answer(&q, psn, (psn / 20 + 1) * 20, i % 4 == 0);
        const double expected = 0.25 + 0.75 * pow(15.0 / 16, window);
        /* The window of data that ends with this one's first packet. */
        assert_true(fabs(q.cc.u.dctcp.alpha - expected) < 0.01);
    }
    assert_true(fabs(q.cc.u.dctcp.alpha - 0.25) < 1e-3);
    for (uint32_t i = 0; i < 2000; i++, psn++)
        answer(&q, psn, psn + 1, true);
    assert_int_equal(q.cc.window_bytes, MTU);
    assert_true(fabs(q.cc.u.dctcp.alpha - 1) < 1e-3);
}

/**
 * The paper's analysis of N synchronised flows (section 3.3): the queue peaks N packets above K and
 * swings by sqrt(2N (C RTT + K))/2, and alpha is sqrt(2/W*) for W* = (C RTT + K)/N.
 */
static void saw_tooth_is_that_of_the_paper(void **state)
{
    (void)state;
    static struct bottleneck b;
    const double bdp = 8000000.0 / STEP;
    for (uint32_t flows = 2; flows <= 16; flows *= 2) {
        bottleneck_init(&b, &eun_cc_dctcp, flows);
        b.mark_above = 40;
        bottleneck_run(&b, 200000);
        bottleneck_run(&b, 100000);
        bottleneck_print(&b, "dctcp");
        const double swing = sqrt(2 * flows * (bdp + 40)) / 2;
        const double alpha = sqrt(2 * flows / (bdp + 40));
        print_message("swing %u, alpha %.3f; in closed form %.1f, %.3f\n",
                      b.queue_max - b.queue_min, b.flow[0].cc.u.dctcp.alpha, swing, alpha);
        assert_true(fabs(b.queue_max - 40.0 - flows) <= 2 + 0.25 * flows);
        assert_true(fabs(b.queue_max - b.queue_min - swing) < 0.25 * swing);
        /* At one moment, while it swings. */
        const double last = b.flow[0].cc.u.dctcp.alpha;
        assert_true(last > 0.4 * alpha && last < 1.2 * alpha);
        assert_true(bottleneck_utilisation(&b) == 1);
        assert_true(bottleneck_fairness(&b) > 0.95);
    }
}

/** Above C RTT / 7 the queue never runs dry; far below it does (equation 13). */
static void threshold_decides_on_throughput(void **state)
{
    (void)state;
    static struct bottleneck b;
    const double bdp = 8000000.0 / STEP;
    for (uint32_t flows = 2; flows <= 8; flows *= 2) {
        const uint32_t k[] = {(uint32_t)(bdp / 7) + flows, 1};
        for (uint32_t i = 0; i < 2; i++) {
            bottleneck_init(&b, &eun_cc_dctcp, flows);
            b.mark_above = k[i];
            bottleneck_run(&b, 200000);
            bottleneck_run(&b, 100000);
            bottleneck_print(&b, i ? "dctcp, K = 1" : "dctcp, K = C RTT/7");
            assert_true(i ? bottleneck_utilisation(&b) < 0.99 : bottleneck_utilisation(&b) > 0.999);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_with_what_the_line_carries_in_a_round_trip),
        cmocka_unit_test(cuts_by_hand),
        cmocka_unit_test(grows_where_the_window_holds_it_back),
        cmocka_unit_test(alpha_comes_to_the_share_of_marks),
        cmocka_unit_test(saw_tooth_is_that_of_the_paper),
        cmocka_unit_test(threshold_decides_on_throughput),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
