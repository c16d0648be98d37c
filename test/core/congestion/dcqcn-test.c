/* SPDX-License-Identifier: GPL-2.0-only */
#include "core/congestion/congestion.h"

#include "../test-random.h"

#include <math.h>
#include <string.h>

#define US INT64_C(1000000)
#define NS INT64_C(1000)
#define LINE UINT64_C(100000000000)

enum { TIMER_DECREASE, TIMER_INCREASE };

/** The published ConWeave runs at 100 Gb/s. */
static struct eun_cc_config published(void)
{
    return (struct eun_cc_config){.line_rate_bps = LINE,
                                  .dcqcn = {.g = 1.0 / 256,
                                            .alpha_interval_ps = 1 * US,
                                            .decrease_interval_ps = 4 * US,
                                            .increase_interval_ps = 300 * US,
                                            .fast_recovery_steps = 1,
                                            .rate_ai_bps = 40000000,
                                            .rate_hai_bps = 100000000,
                                            .rate_min_bps = 100000000}};
}

/* ---- The reference: every periodic timer really ticks, as in the published simulators. ---- */

struct eager {
    uint64_t rate;
    uint64_t target;
    long double alpha;
    uint64_t stage;
    bool seen_cnp;
    bool cnp_for_alpha;
    bool cnp_for_decrease;
    int64_t next_alpha;
    int64_t next_decrease;
    int64_t next_increase;
    uint64_t decreases;
    uint64_t increases;
};

static void eager_init(struct eager *e, const struct eun_cc_config *c)
{
    *e = (struct eager){.rate = c->line_rate_bps,
                        .target = c->line_rate_bps,
                        .alpha = 1,
                        .next_alpha = INT64_MAX,
                        .next_decrease = INT64_MAX,
                        .next_increase = INT64_MAX};
}

static void eager_alpha(struct eager *e, const struct eun_dcqcn_config *c)
{
    e->alpha = (1 - (long double)c->g) * e->alpha + (e->cnp_for_alpha ? (long double)c->g : 0);
    e->cnp_for_alpha = false;
    e->next_alpha += c->alpha_interval_ps;
}

static void eager_decrease(struct eager *e, const struct eun_dcqcn_config *c)
{
    const int64_t now = e->next_decrease;
    e->next_decrease += c->decrease_interval_ps;
    if (!e->cnp_for_decrease)
        return;
    e->cnp_for_decrease = false;
    if (c->clamp_target || e->stage > 0)
        e->target = e->rate;
    e->rate = (uint64_t)((long double)e->rate * (1 - e->alpha / 2));
    if (e->rate < c->rate_min_bps)
        e->rate = c->rate_min_bps;
    e->stage = 0;
    e->next_increase = now + c->increase_interval_ps;
    e->decreases++;
}

static void eager_increase(struct eager *e, const struct eun_cc_config *config)
{
    const struct eun_dcqcn_config *c = &config->dcqcn;
    if (e->stage == c->fast_recovery_steps)
        e->target += c->rate_ai_bps;
    else if (e->stage > c->fast_recovery_steps)
        e->target += c->rate_hai_bps;
    if (e->target > config->line_rate_bps)
        e->target = config->line_rate_bps;
    e->rate = (e->rate + e->target) / 2;
    if (e->rate + 1 == config->line_rate_bps)
        e->rate++;
    e->stage++;
    e->next_increase += c->increase_interval_ps;
    e->increases++;
}

/** Runs all timers due up to `now`; of the same instant: alpha, increase, decrease. */
static void eager_run(struct eager *e, const struct eun_cc_config *config, int64_t now)
{
    for (;;) {
        if (e->next_alpha <= now && e->next_alpha <= e->next_increase &&
            e->next_alpha <= e->next_decrease)
            eager_alpha(e, &config->dcqcn);
        else if (e->next_increase <= now && e->next_increase <= e->next_decrease)
            eager_increase(e, config);
        else if (e->next_decrease <= now)
            eager_decrease(e, &config->dcqcn);
        else
            return;
    }
}

static void eager_cnp(struct eager *e, const struct eun_cc_config *config, int64_t now)
{
    eager_run(e, config, now);
    e->cnp_for_decrease = true;
    e->cnp_for_alpha = e->seen_cnp;
    if (e->seen_cnp)
        return;
    e->seen_cnp = true;
    e->next_alpha = now + config->dcqcn.alpha_interval_ps;
    e->next_decrease = now + config->dcqcn.decrease_interval_ps + 1 * NS;
}

/* ---- Both side by side ---- */

struct pair {
    struct eun_cc_config config;
    struct eun_cc cc;
    struct eager reference;
    struct test_random *random;
    uint64_t seed;
    int64_t now;
    uint64_t worst_rate; /**< largest difference seen, bit/s */
};

static void pair_init(struct pair *p, const struct eun_cc_config *config, struct test_random *r)
{
    *p = (struct pair){.config = *config, .random = r, .seed = r->state};
    memset(&p->cc, 0xff, sizeof p->cc);
    eun_cc_dcqcn.init(&p->cc, &p->config);
    eager_init(&p->reference, &p->config);
}

/**
 * Rates are whole bits per second, rounded down: alpha by powers and alpha tick by tick differ in
 * the last digits, which can move a cut across one whole bit; averaging and cutting shrink that.
 */
static void assert_same_rate(struct pair *p)
{
    const uint64_t a = p->cc.rate_bps, b = p->reference.rate;
    const uint64_t difference = a > b ? a - b : b - a;
    if (difference > 1)
        fail_msg("sequence seed %#llx at %lld ps: rate %llu, reference %llu",
                 (unsigned long long)p->seed, (long long)p->now, (unsigned long long)a,
                 (unsigned long long)b);
    if (difference > p->worst_rate)
        p->worst_rate = difference;
    assert_true(a <= p->config.line_rate_bps);
    assert_true(a >= p->config.dcqcn.rate_min_bps);
}

static void assert_same_alpha(const struct pair *p)
{
    const double a = p->cc.u.dcqcn.alpha, b = (double)p->reference.alpha;
    if (fabs(a - b) > 1e-12 * b)
        fail_msg("sequence seed %#llx at %lld ps: alpha %.17g, reference %.17g",
                 (unsigned long long)p->seed, (long long)p->now, a, b);
}

/**
 * Reports the deadlines up to `until`, those of one instant in either order; `skip_last`: not those
 * at `until` itself, as if the caller's next event of that instant came first.
 */
static void pair_run(struct pair *p, int64_t until, bool skip_last)
{
    const int64_t *due = p->cc.deadline_ps;
    for (;;) {
        int timer = due[0] < due[1] ? 0 : 1;
        if (due[0] == due[1])
            timer = test_chance(p->random, 50) ? 1 : 0;
        const int64_t at = due[timer];
        if (at > until || at == INT64_MAX || (skip_last && at == until))
            break;
        p->now = at;
        eun_cc_dcqcn.on_timer(&p->cc, &p->config, timer, at);
        assert_true(due[timer] > at);
        if (due[1 - timer] <= at)
            continue;
        const uint64_t decreases = p->reference.decreases;
        eager_run(&p->reference, &p->config, at);
        assert_same_rate(p);
        if (p->reference.decreases > decreases)
            assert_same_alpha(p);
    }
    p->now = until;
    if (skip_last)
        return;
    eager_run(&p->reference, &p->config, until);
    assert_same_rate(p);
}

static void pair_cnp(struct pair *p, int64_t now)
{
    pair_run(p, now, test_chance(p->random, 50));
    eager_cnp(&p->reference, &p->config, now);
    eun_cc_dcqcn.on_cnp(&p->cc, &p->config, now);
    assert_same_rate(p);
    assert_same_alpha(p);
    assert_true(p->cc.deadline_ps[TIMER_DECREASE] > now);
    assert_true(p->cc.deadline_ps[TIMER_DECREASE] <=
                now + p->config.dcqcn.decrease_interval_ps + NS);
}

static struct eun_cc_config random_config(struct test_random *r)
{
    struct eun_cc_config c = published();
    const uint64_t lines[] = {LINE, LINE + 1, 25000000000, 2400000000000};
    c.line_rate_bps = lines[test_below(r, 4)];
    if (test_chance(r, 50))
        return c;
    const int64_t alpha[] = {1, 50, 55}, decrease[] = {4, 50, 3}, increase[] = {300, 55, 7};
    const uint32_t steps[] = {0, 1, 5};
    const double gains[] = {1.0 / 256, 1.0 / 16, 0.01};
    c.dcqcn.alpha_interval_ps = alpha[test_below(r, 3)] * US;
    c.dcqcn.decrease_interval_ps = decrease[test_below(r, 3)] * US;
    c.dcqcn.increase_interval_ps = increase[test_below(r, 3)] * US;
    c.dcqcn.fast_recovery_steps = steps[test_below(r, 3)];
    c.dcqcn.g = gains[test_below(r, 3)];
    c.dcqcn.rate_min_bps = test_chance(r, 50) ? 1000000000 : 100000000;
    c.dcqcn.clamp_target = test_chance(r, 50);
    return c;
}

/** Time to the next CNP: within a tick, at the CNP pace of 4 us, on the very tick, or long after.
 */
static int64_t random_gap(struct pair *p, uint32_t mood)
{
    struct test_random *r = p->random;
    const struct eun_dcqcn_config *c = &p->config.dcqcn;
    switch (mood) {
    case 0:
        return 1 + test_below(r, 2 * US);
    case 1:
        return 4 * US + test_below(r, US / 10);
    case 2:
        return 1 + test_below(r, 700 * US);
    case 3: {
        /* On a decrease check, and with it often on an increase. */
        const int64_t phase = p->reference.next_decrease;
        const int64_t check = phase == INT64_MAX ? p->now + 1 : phase;
        return check - p->now + test_below(r, 100) * c->decrease_interval_ps;
    }
    case 4:
        return test_between(r, 1, 50) * c->alpha_interval_ps;
    default:
        return test_chance(r, 20) ? 20000 * US : 1 + test_below(r, 300 * US);
    }
}

/** Against the reference, over random CNPs. */
static void equals_the_eager_reference(void **state)
{
    (void)state;
    struct test_random r = test_random_start(41);
    uint64_t decreases = 0, increases = 0, worst = 0;
    for (int run = 0; run < 300; run++) {
        const struct eun_cc_config config = random_config(&r);
        struct pair p;
        pair_init(&p, &config, &r);
        int64_t now = test_below(&r, 10 * US);
        uint32_t mood = test_below(&r, 6);
        const uint32_t cnps = test_between(&r, 1, 200);
        for (uint32_t i = 0; i < cnps; i++) {
            pair_cnp(&p, now);
            if (test_chance(&r, 10))
                mood = test_below(&r, 6);
            now += random_gap(&p, mood);
        }
        pair_run(&p, now + (int64_t)test_below(&r, 2000) * US, false);
        decreases += p.reference.decreases;
        increases += p.reference.increases;
        worst = p.worst_rate > worst ? p.worst_rate : worst;
    }
    print_message("%llu decreases, %llu increases, rates within %llu bit/s\n",
                  (unsigned long long)decreases, (unsigned long long)increases,
                  (unsigned long long)worst);
    assert_true(decreases > 5000 && increases > 5000);
}

/* ---- By hand ---- */

static void report_next(struct eun_cc *cc, const struct eun_cc_config *c, int64_t expected_ps)
{
    const int timer = cc->deadline_ps[0] < cc->deadline_ps[1] ? 0 : 1;
    assert_true(cc->deadline_ps[timer] == expected_ps);
    eun_cc_dcqcn.on_timer(cc, c, timer, expected_ps);
}

/**
 * One CNP at 10 us. The first one sets alpha to 1 and counts for the decrease only; the check at
 * 14.001 us sees four ticks without a CNP: alpha = (255/256)^4 = 4228250625/2^32, and
 * 10^11 (1 - alpha/2) = 50776684272.57; target stays, as no increase has come between.
 */
static void one_cnp(void **state)
{
    (void)state;
    const struct eun_cc_config c = published();
    struct eun_cc cc;
    eun_cc_dcqcn.init(&cc, &c);
    eun_cc_dcqcn.on_cnp(&cc, &c, 10 * US);
    assert_true(cc.rate_bps == LINE);
    assert_true(cc.deadline_ps[TIMER_INCREASE] == INT64_MAX);
    report_next(&cc, &c, 14 * US + NS);
    assert_true(cc.u.dcqcn.alpha == 4228250625.0 / 4294967296.0);
    assert_true(cc.rate_bps == UINT64_C(50776684272));
    assert_true(cc.u.dcqcn.target_bps == LINE);
    assert_true(cc.deadline_ps[TIMER_DECREASE] == INT64_MAX);
    /* Each increase halves the distance to the line rate; target cannot rise above it. */
    report_next(&cc, &c, 314 * US + NS);
    assert_true(cc.rate_bps == UINT64_C(75388342136));
    report_next(&cc, &c, 614 * US + NS);
    assert_true(cc.rate_bps == UINT64_C(87694171068));
    report_next(&cc, &c, 914 * US + NS);
    assert_true(cc.rate_bps == UINT64_C(93847085534));
    /* 49,223,315,728 < 2^36: full after 36 of them. Then nothing is left to do, ever. */
    for (int i = 3; i < 36; i++) {
        assert_true(cc.rate_bps < LINE);
        report_next(&cc, &c, (314 + 300 * i) * US + NS);
    }
    assert_true(cc.rate_bps == LINE);
    assert_true(cc.deadline_ps[TIMER_DECREASE] == INT64_MAX);
    assert_true(cc.deadline_ps[TIMER_INCREASE] == INT64_MAX);
}

/**
 * A second CNP at 310 us, after the first increase: target falls to the rate, then fast recovery,
 * additive and hyper increase follow in turn.
 */
static void second_cnp_lowers_the_target(void **state)
{
    (void)state;
    const struct eun_cc_config c = published();
    struct eun_cc cc;
    eun_cc_dcqcn.init(&cc, &c);
    eun_cc_dcqcn.on_cnp(&cc, &c, 0);
    report_next(&cc, &c, 4 * US + NS);
    report_next(&cc, &c, 304 * US + NS);
    const uint64_t before = cc.rate_bps;
    assert_true(before == UINT64_C(75388342136));
    eun_cc_dcqcn.on_cnp(&cc, &c, 310 * US);
    report_next(&cc, &c, 312 * US + NS);
    /* Tick 310 came before the CNP, 311 saw it, 312 did not. */
    const double keep = 255.0 / 256, alpha = (pow(keep, 311) + 1.0 / 256) * keep;
    assert_true(fabs(cc.u.dcqcn.alpha - alpha) < 1e-12 * alpha);
    assert_true(cc.u.dcqcn.target_bps == before);
    const uint64_t cut = (uint64_t)((double)before * (1 - alpha / 2));
    assert_true(cc.rate_bps == cut);
    report_next(&cc, &c, 612 * US + NS);
    const uint64_t recovered = (cut + before) / 2;
    assert_true(cc.rate_bps == recovered && cc.u.dcqcn.target_bps == before);
    report_next(&cc, &c, 912 * US + NS);
    const uint64_t added = (recovered + before + 40000000) / 2;
    assert_true(cc.rate_bps == added && cc.u.dcqcn.target_bps == before + 40000000);
    report_next(&cc, &c, 1212 * US + NS);
    assert_true(cc.rate_bps == (added + before + 140000000) / 2);
}

/** Without an increase between, only the clamp makes a second decrease lower the target. */
static void clamp_lowers_the_target_always(void **state)
{
    (void)state;
    for (int clamp = 0; clamp < 2; clamp++) {
        struct eun_cc_config c = published();
        c.dcqcn.clamp_target = clamp;
        struct eun_cc cc;
        eun_cc_dcqcn.init(&cc, &c);
        eun_cc_dcqcn.on_cnp(&cc, &c, 0);
        report_next(&cc, &c, 4 * US + NS);
        const uint64_t once = cc.rate_bps;
        eun_cc_dcqcn.on_cnp(&cc, &c, 5 * US);
        report_next(&cc, &c, 8 * US + NS);
        assert_true(cc.rate_bps < once);
        assert_true(cc.u.dcqcn.target_bps == (clamp ? once : LINE));
    }
}

/** CNPs without end push the rate to the minimum exactly, and one timer at a time is enough. */
static void falls_to_the_minimum_and_no_further(void **state)
{
    (void)state;
    const struct eun_cc_config c = published();
    struct eun_cc cc;
    eun_cc_dcqcn.init(&cc, &c);
    uint64_t previous = LINE;
    for (int64_t now = 0; now < 200 * US; now += US / 2) {
        if (cc.deadline_ps[TIMER_DECREASE] <= now) {
            eun_cc_dcqcn.on_timer(&cc, &c, TIMER_DECREASE, cc.deadline_ps[TIMER_DECREASE]);
            assert_true(cc.rate_bps < previous || cc.rate_bps == 100000000);
            previous = cc.rate_bps;
        }
        eun_cc_dcqcn.on_cnp(&cc, &c, now);
        assert_true(cc.rate_bps >= 100000000);
    }
    assert_true(cc.rate_bps == 100000000);
}

/**
 * Alpha is made up for at once, however long the QP was idle: after an hour it is zero, and the
 * next CNP, half a tick before the check, leaves it at g.
 */
static void an_idle_hour_costs_nothing(void **state)
{
    (void)state;
    const struct eun_cc_config c = published();
    const int64_t hour = INT64_C(3600) * 1000000 * US;
    struct eun_cc cc;
    eun_cc_dcqcn.init(&cc, &c);
    eun_cc_dcqcn.on_cnp(&cc, &c, 0);
    report_next(&cc, &c, 4 * US + NS);
    while (cc.deadline_ps[TIMER_INCREASE] != INT64_MAX)
        report_next(&cc, &c, cc.deadline_ps[TIMER_INCREASE]);
    eun_cc_dcqcn.on_cnp(&cc, &c, hour + 7 * US / 2);
    assert_true(cc.u.dcqcn.alpha == 0);
    report_next(&cc, &c, hour + 4 * US + NS);
    assert_true(cc.u.dcqcn.alpha == 1.0 / 256);
    assert_true(cc.rate_bps == LINE / 512 * 511 + LINE % 512 * 511 / 512);
}

/** Where an increase and a decrease fall on one instant, the increase comes first. */
static void increase_precedes_decrease(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        const struct eun_cc_config c = published();
        struct eun_cc cc;
        eun_cc_dcqcn.init(&cc, &c);
        eun_cc_dcqcn.on_cnp(&cc, &c, 0);
        report_next(&cc, &c, 4 * US + NS);
        eun_cc_dcqcn.on_cnp(&cc, &c, 303 * US);
        const int64_t at = 304 * US + NS;
        assert_true(cc.deadline_ps[0] == at && cc.deadline_ps[1] == at);
        eun_cc_dcqcn.on_timer(&cc, &c, first, at);
        if (cc.deadline_ps[1 - first] <= at)
            eun_cc_dcqcn.on_timer(&cc, &c, 1 - first, at);
        assert_true(cc.u.dcqcn.target_bps == UINT64_C(75388342136));
        assert_true(cc.u.dcqcn.stage == 0);
        assert_true(cc.deadline_ps[TIMER_INCREASE] == at + 300 * US);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_eager_reference),
        cmocka_unit_test(one_cnp),
        cmocka_unit_test(second_cnp_lowers_the_target),
        cmocka_unit_test(clamp_lowers_the_target_always),
        cmocka_unit_test(falls_to_the_minimum_and_no_further),
        cmocka_unit_test(an_idle_hour_costs_nothing),
        cmocka_unit_test(increase_precedes_decrease),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
