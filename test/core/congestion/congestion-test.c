/* SPDX-License-Identifier: GPL-2.0-only */
#include "core/congestion/congestion.h"

#include "../test-random.h"

#include <string.h>

#define LINE UINT64_C(100000000000)

static const struct eun_cc_config config = {.line_rate_bps = LINE,
                                            .dcqcn = {.g = 1.0 / 256,
                                                      .alpha_interval_ps = 1000000,
                                                      .decrease_interval_ps = 4000000,
                                                      .increase_interval_ps = 300000000,
                                                      .fast_recovery_steps = 1,
                                                      .rate_ai_bps = 40000000,
                                                      .rate_hai_bps = 100000000,
                                                      .rate_min_bps = 100000000}};

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
        for (int64_t now = 1000000; now < 50000000; now += 1000000) {
            for (int t = 0; t < EUN_CC_TIMERS; t++)
                if (used.deadline_ps[t] <= now)
                    ops->on_timer(&used, &config, t, now);
            ops->on_cnp(&used, &config, now);
        }
        ops->init(&used, &config);
        ops->init(&fresh, &config);
        assert_memory_equal(&used, &fresh, sizeof used);
    }
}

static void none_ignores_congestion(void **state)
{
    (void)state;
    struct eun_cc cc;
    memset(&cc, 0, sizeof cc);
    eun_cc_none.init(&cc, &config);
    for (int64_t now = 0; now < 1000; now++) {
        eun_cc_none.on_cnp(&cc, &config, now);
        eun_cc_none.on_timer(&cc, &config, (int)(now % EUN_CC_TIMERS), now);
        assert_idle_at_line_rate(&cc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listed_controls_are_found_by_name),
        cmocka_unit_test(other_names_are_not_found),
        cmocka_unit_test(every_control_starts_at_line_rate),
        cmocka_unit_test(init_forgets_an_earlier_life),
        cmocka_unit_test(none_ignores_congestion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
