/* SPDX-License-Identifier: GPL-2.0-only */
#include "core/congestion/congestion.h"

#include "../test-random.h"

#include <string.h>

#define LINE UINT64_C(100000000000)

static const struct eun_cc_config config = {.line_rate_bps = LINE,
                                            .base_rtt_ps = 8000000,
                                            .mtu_bytes = 1024,
                                            .mtu_wire_bytes = 1106,
                                            .dcqcn = {.g = 1.0 / 256,
                                                      .alpha_interval_ps = 1000000,
                                                      .decrease_interval_ps = 4000000,
                                                      .increase_interval_ps = 300000000,
                                                      .fast_recovery_steps = 1,
                                                      .rate_ai_bps = 40000000,
                                                      .rate_hai_bps = 100000000,
                                                      .rate_min_bps = 100000000},
                                            .hpcc = {.eta = 0.95, .max_stage = 5, .ai_bytes = 80},
                                            .timely = {.alpha = 0.875,
                                                       .beta = 0.8,
                                                       .min_rtt_ps = 8000000,
                                                       .low_ps = 20000000,
                                                       .high_ps = 40000000,
                                                       .rate_ai_bps = 100000000,
                                                       .rate_min_bps = 100000000,
                                                       .segment_bytes = 16384},
                                            .dctcp = {.g = 1.0 / 16}};

static void assert_idle_at_line_rate(const struct eun_cc *cc)
{
    assert_true(cc->rate_bps == LINE);
    for (int t = 0; t < EUN_CC_TIMERS; t++)
        assert_true(cc->deadline_ps[t] == INT64_MAX);
}

static void listed_controls_are_found_by_name(void **state)
{
    (void)state;
    assert_ptr_equal(eun_ccs[0], &eun_cc_dcqcn);
    assert_ptr_equal(eun_cc_find("dcqcn"), &eun_cc_dcqcn);
    assert_ptr_equal(eun_cc_find("none"), &eun_cc_none);
    assert_ptr_equal(eun_cc_find("hpcc"), &eun_cc_hpcc);
    assert_ptr_equal(eun_cc_find("timely"), &eun_cc_timely);
    assert_ptr_equal(eun_cc_find("dctcp"), &eun_cc_dctcp);
    for (size_t i = 0; eun_ccs[i]; i++) {
        assert_ptr_equal(eun_cc_find(eun_ccs[i]->name), eun_ccs[i]);
        assert_true(strlen(eun_ccs[i]->name) > 0);
        assert_true(strlen(eun_ccs[i]->summary) > 0);
    }
}

static void other_names_are_not_found(void **state)
{
    (void)state;
    const char *const names[] = {"", "dcqc", "dcqcn ", "DCQCN", "hpcc-of-tomorrow"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_null(eun_cc_find(names[i]));
}

/** Whatever the memory held before, a QP starts at line rate and costs no timer. */
static void every_control_starts_at_line_rate(void **state)
{
    (void)state;
    for (size_t i = 0; eun_ccs[i]; i++) {
        struct eun_cc cc;
        memset(&cc, 0xa5, sizeof cc);
        eun_ccs[i]->init(&cc, &config);
        assert_idle_at_line_rate(&cc);
    }
}

/** Everything that a control can hear of congestion. */
static void congest(const struct eun_cc_ops *ops, struct eun_cc *cc)
{
    struct eun_cc_ack ack = {.rtt_ps = 8000000, .in_flight = 100000, .ce = true};
    uint64_t hops[2] = {0, 0};
    for (ack.now_ps = 1000000; ack.now_ps < 50000000; ack.now_ps += 1000000) {
        hops[0] = hops[1];
        hops[1] = eun_int_encode(8, ack.now_ps, (uint64_t)ack.now_ps / 100, 1000000);
        ack.in = (struct eun_int_path){&hops[1], 1, 7};
        ack.before = (struct eun_int_path){&hops[0], hops[0] != 0, 7};
        for (int t = 0; t < EUN_CC_TIMERS; t++)
            if (cc->deadline_ps[t] <= ack.now_ps)
                ops->on_timer(cc, &config, t, ack.now_ps);
        if (ops->on_cnp)
            ops->on_cnp(cc, &config, ack.now_ps);
        if (ops->on_ack)
            ops->on_ack(cc, &config, &ack);
        ack.before_ps = ack.now_ps;
        ack.rtt_ps += 1000000;
        ack.psn++;
        ack.nxt = ack.psn + 101;
    }
}

/** Each is told of what it lives on, and slows down. */
static void every_control_hears_its_signal(void **state)
{
    (void)state;
    for (size_t i = 0; eun_ccs[i]; i++) {
        const struct eun_cc_ops *ops = eun_ccs[i];
        const bool answers = ops->signal >= EUN_CC_SIGNAL_ECHO;
        struct eun_cc cc;
        memset(&cc, 0, sizeof cc);
        ops->init(&cc, &config);
        const uint32_t window = cc.window_bytes;
        assert_int_equal(ops->on_cnp != NULL, ops->signal == EUN_CC_SIGNAL_CNP);
        assert_int_equal(ops->on_ack != NULL, answers);
        assert_true(!ops->measures_delay || ops->signal == EUN_CC_SIGNAL_RTT);
        congest(ops, &cc);
        if (ops->signal == EUN_CC_SIGNAL_NONE)
            assert_idle_at_line_rate(&cc);
        else
            assert_true(cc.rate_bps < LINE || cc.window_bytes < window);
    }
}

/** A QP number is reused: nothing of its earlier life may show. */
static void init_forgets_an_earlier_life(void **state)
{
    (void)state;
    for (size_t i = 0; eun_ccs[i]; i++) {
        const struct eun_cc_ops *ops = eun_ccs[i];
        struct eun_cc used, fresh;
        memset(&used, 0, sizeof used);
        memset(&fresh, 0, sizeof fresh);
        ops->init(&used, &config);
        congest(ops, &used);
        ops->init(&used, &config);
        ops->init(&fresh, &config);
        assert_memory_equal(&used, &fresh, sizeof used);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listed_controls_are_found_by_name),
        cmocka_unit_test(other_names_are_not_found),
        cmocka_unit_test(every_control_starts_at_line_rate),
        cmocka_unit_test(init_forgets_an_earlier_life),
        cmocka_unit_test(every_control_hears_its_signal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
