/* SPDX-License-Identifier: GPL-2.0-only */
#include "congestion.h"

/** Calm round trips in a row from which the increase is hyperactive, and how much it is then. */
#define HAI_AFTER 5u
#define HAI_STEPS 5u

static void init(struct eun_cc *cc, const struct eun_cc_config *config)
{
    eun_cc_start(cc, config);
    cc->u.timely = (struct eun_timely){.rtt_ps = -1};
}

static void raise(struct eun_cc *cc, const struct eun_cc_config *config, uint32_t steps)
{
    cc->rate_bps += steps * config->timely.rate_ai_bps;
    if (cc->rate_bps > config->line_rate_bps)
        cc->rate_bps = config->line_rate_bps;
}

static void cut(struct eun_cc *cc, const struct eun_cc_config *config, double share)
{
    const uint64_t least = config->timely.rate_min_bps;
    /* A gradient may be so steep that nothing would be left: the authors' code halves at most. */
    const double rate = (double)cc->rate_bps * (share < 0.5 ? 1 - share : 0.5);
    cc->rate_bps = rate > (double)least ? (uint64_t)rate : least;
}

static void on_ack(struct eun_cc *cc, const struct eun_cc_config *config,
                   const struct eun_cc_ack *ack)
{
    const struct eun_timely_config *c = &config->timely;
    struct eun_timely *t = &cc->u.timely;
    const int64_t rtt = ack->rtt_ps;
    if (rtt < 0 || ack->now_ps < t->next_ps)
        return;
    t->next_ps = ack->now_ps + c->min_rtt_ps;
    const double diff = t->rtt_ps < 0 ? 0 : (double)(rtt - t->rtt_ps);
    t->rtt_ps = rtt;
    t->diff_ps = (1 - c->alpha) * t->diff_ps + c->alpha * diff;
    const double gradient = t->diff_ps / (double)c->min_rtt_ps;
    t->calm = gradient > 0 || rtt > c->high_ps ? 0 : t->calm + 1;
    if (rtt < c->low_ps)
        raise(cc, config, 1);
    else if (rtt > c->high_ps)
        cut(cc, config, c->beta * (1 - (double)c->high_ps / (double)rtt));
    else if (gradient <= 0)
        raise(cc, config, t->calm >= HAI_AFTER ? HAI_STEPS : 1);
    else
        cut(cc, config, c->beta * gradient);
}

const struct eun_cc_ops eun_cc_timely = {
    .name = "timely",
    .summary = "TIMELY, a rate steered by round trips (Mittal et al., SIGCOMM 2015)",
    .signal = EUN_CC_SIGNAL_RTT,
    .measures_delay = true,
    .init = init,
    .on_ack = on_ack,
};
