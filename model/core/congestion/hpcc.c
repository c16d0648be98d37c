/* SPDX-License-Identifier: GPL-2.0-only */
#include "../reorder/psn.h"
#include "congestion.h"

static double window_max(const struct eun_cc_config *config)
{
    return (double)config->line_rate_bps / 8 * 1e-12 * (double)config->base_rtt_ps;
}

static void use_window(struct eun_cc *cc, const struct eun_cc_config *config)
{
    struct eun_hpcc *h = &cc->u.hpcc;
    const double most = window_max(config);
    if (h->window >= most) {
        h->window = most;
        cc->rate_bps = config->line_rate_bps;
    } else {
        const double rate = h->window * 8e12 / (double)config->base_rtt_ps;
        cc->rate_bps = rate > 1 ? (uint64_t)rate : 1;
    }
    const double payload = h->window * config->mtu_bytes / config->mtu_wire_bytes;
    /* 0 would be no window at all. */
    cc->window_bytes = payload < 1 ? 1 : payload < UINT32_MAX ? (uint32_t)payload : UINT32_MAX;
}

static void init(struct eun_cc *cc, const struct eun_cc_config *config)
{
    const double most = window_max(config);
    eun_cc_start(cc, config);
    cc->u.hpcc = (struct eun_hpcc){.window = most, .base = most, .u = 1};
    use_window(cc, config);
}

/** May records of the two answers be compared? */
static bool follows(const struct eun_cc_ack *ack)
{
    return ack->in.count > 0 && ack->before.count == ack->in.count &&
           ack->before.path == ack->in.path;
}

/** Updates U. False where the records tell nothing. */
static bool measure(struct eun_hpcc *h, const struct eun_cc_config *config,
                    const struct eun_cc_ack *ack)
{
    const double rtt_ns = (double)config->base_rtt_ps * 1e-3;
    double u = -1;
    double tau = 0;
    for (uint32_t i = 0; i < ack->in.count; i++) {
        const struct eun_int_hop then = eun_int_decode(ack->before.hops[i]);
        const struct eun_int_hop now = eun_int_decode(ack->in.hops[i]);
        const int32_t elapsed = eun_int_elapsed_ns(&then, &now);
        if (elapsed <= 0 || ack->now_ps - ack->before_ps > eun_int_horizon_ps(now.rate_bps))
            return false;
        const double bytes_per_ns = (double)now.rate_bps * 1e-9 / 8;
        const uint64_t queue =
            then.queue_bytes < now.queue_bytes ? then.queue_bytes : now.queue_bytes;
        const double link = (double)queue / (bytes_per_ns * rtt_ns) +
                            eun_int_carried(&then, &now) / (double)elapsed / bytes_per_ns;
        if (link > u) {
            u = link;
            tau = elapsed;
        }
    }
    const double weight = tau < rtt_ns ? tau / rtt_ns : 1;
    h->u = (1 - weight) * h->u + weight * u;
    return true;
}

static void compute_window(struct eun_hpcc *h, const struct eun_hpcc_config *c, bool update)
{
    const bool scale = h->u >= c->eta || h->stage >= c->max_stage;
    h->window = (scale ? h->base / (h->u / c->eta) : h->base) + c->ai_bytes;
    if (update)
        h->stage = scale ? 0 : h->stage + 1;
}

static void on_ack(struct eun_cc *cc, const struct eun_cc_config *config,
                   const struct eun_cc_ack *ack)
{
    struct eun_hpcc *h = &cc->u.hpcc;
    if (!follows(ack) || !measure(h, config, ack))
        return;
    const bool update = !h->begun || !eun_psn_before(ack->psn, h->update_from);
    compute_window(h, &config->hpcc, update);
    use_window(cc, config);
    if (update) {
        h->begun = true;
        h->update_from = ack->nxt;
        h->base = h->window;
    }
}

const struct eun_cc_ops eun_cc_hpcc = {
    .name = "hpcc",
    .summary = "HPCC, a window by what switches write into packets (Li et al., SIGCOMM 2019)",
    .signal = EUN_CC_SIGNAL_INT,
    .init = init,
    .on_ack = on_ack,
};
