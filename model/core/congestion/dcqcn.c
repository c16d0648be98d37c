/* SPDX-License-Identifier: GPL-2.0-only */
#include "congestion.h"

enum { TIMER_DECREASE, TIMER_INCREASE };

/** The decrease check runs this much after the alpha tick of the same instant, so sees its alpha.
 */
#define DECREASE_AFTER_ALPHA_PS 1000

static void init(struct eun_cc *cc, const struct eun_cc_config *config)
{
    struct eun_dcqcn *d = &cc->u.dcqcn;
    eun_cc_start(cc, config);
    d->alpha = 1;
    d->target_bps = config->line_rate_bps;
    d->first_cnp_ps = -1;
    d->alpha_ticks = 0;
    d->stage = 0;
    d->cnp_for_alpha = false;
    d->cnp_for_decrease = false;
}

static double power(double x, int64_t n)
{
    double result = 1;
    for (; n > 0; n >>= 1, x *= x)
        if (n & 1)
            result *= x;
    return result;
}

/** Applies the alpha ticks that are due up to `now`. Only the first can have seen a CNP. */
static void catch_up_alpha(struct eun_dcqcn *d, const struct eun_dcqcn_config *c, int64_t now)
{
    const int64_t due = (now - d->first_cnp_ps) / c->alpha_interval_ps;
    const int64_t ticks = due - d->alpha_ticks;
    if (ticks <= 0)
        return;
    if (d->cnp_for_alpha) {
        d->alpha = (1 - c->g) * d->alpha + c->g;
        d->alpha *= power(1 - c->g, ticks - 1);
        d->cnp_for_alpha = false;
    } else {
        d->alpha *= power(1 - c->g, ticks);
    }
    d->alpha_ticks = due;
}

static void decrease(struct eun_cc *cc, const struct eun_dcqcn_config *c, int64_t now)
{
    struct eun_dcqcn *d = &cc->u.dcqcn;
    catch_up_alpha(d, c, now);
    if (c->clamp_target || d->stage != 0)
        d->target_bps = cc->rate_bps;
    const uint64_t cut = (uint64_t)((double)cc->rate_bps * (1 - d->alpha / 2));
    cc->rate_bps = cut > c->rate_min_bps ? cut : c->rate_min_bps;
    d->stage = 0;
    d->cnp_for_decrease = false;
    cc->deadline_ps[TIMER_DECREASE] = INT64_MAX;
    cc->deadline_ps[TIMER_INCREASE] = now + c->increase_interval_ps;
}

static void increase(struct eun_cc *cc, const struct eun_cc_config *config, int64_t now)
{
    const struct eun_dcqcn_config *c = &config->dcqcn;
    struct eun_dcqcn *d = &cc->u.dcqcn;
    if (d->stage >= c->fast_recovery_steps) {
        d->target_bps += d->stage == c->fast_recovery_steps ? c->rate_ai_bps : c->rate_hai_bps;
        if (d->target_bps > config->line_rate_bps)
            d->target_bps = config->line_rate_bps;
    }
    cc->rate_bps = (cc->rate_bps + d->target_bps) / 2;
    d->stage++;
    /* At full speed nothing is left to raise; the next decrease restarts the timer. */
    const bool full = cc->rate_bps + 1 >= config->line_rate_bps;
    if (full)
        cc->rate_bps = config->line_rate_bps;
    cc->deadline_ps[TIMER_INCREASE] = full ? INT64_MAX : now + c->increase_interval_ps;
}

/** Runs what is due, in an order of its own: callers need not care who is first at one instant. */
static void run_due(struct eun_cc *cc, const struct eun_cc_config *config, int64_t now)
{
    if (cc->deadline_ps[TIMER_INCREASE] <= now)
        increase(cc, config, now);
    if (cc->deadline_ps[TIMER_DECREASE] <= now)
        decrease(cc, &config->dcqcn, now);
}

static void on_timer(struct eun_cc *cc, const struct eun_cc_config *config, int timer, int64_t now)
{
    (void)timer;
    run_due(cc, config, now);
}

static void on_cnp(struct eun_cc *cc, const struct eun_cc_config *config, int64_t now)
{
    const struct eun_dcqcn_config *c = &config->dcqcn;
    struct eun_dcqcn *d = &cc->u.dcqcn;
    run_due(cc, config, now);
    if (d->first_cnp_ps < 0) {
        d->first_cnp_ps = now;
        d->target_bps = cc->rate_bps;
    } else {
        catch_up_alpha(d, c, now);
        d->cnp_for_alpha = true;
    }
    if (d->cnp_for_decrease)
        return;
    d->cnp_for_decrease = true;
    const int64_t phase = d->first_cnp_ps + DECREASE_AFTER_ALPHA_PS;
    const int64_t checks = now < phase ? 0 : (now - phase) / c->decrease_interval_ps;
    cc->deadline_ps[TIMER_DECREASE] = phase + (checks + 1) * c->decrease_interval_ps;
}

const struct eun_cc_ops eun_cc_dcqcn = {
    .name = "dcqcn",
    .summary = "DCQCN, rate-based on CNPs (Zhu et al., SIGCOMM 2015)",
    .signal = EUN_CC_SIGNAL_CNP,
    .init = init,
    .on_cnp = on_cnp,
    .on_timer = on_timer,
};
