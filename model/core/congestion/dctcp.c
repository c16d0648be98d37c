/* SPDX-License-Identifier: GPL-2.0-only */
#include "../reorder/psn.h"
#include "congestion.h"

static void use_window(struct eun_cc *cc)
{
    const double window = cc->u.dctcp.window;
    cc->window_bytes = window < UINT32_MAX ? (uint32_t)window : UINT32_MAX;
}

static void init(struct eun_cc *cc, const struct eun_cc_config *config)
{
    const double wire = (double)config->line_rate_bps / 8 * 1e-12 * (double)config->base_rtt_ps;
    const double window = wire * config->mtu_bytes / config->mtu_wire_bytes;
    eun_cc_start(cc, config);
    cc->u.dctcp = (struct eun_dctcp){
        .window = window > config->mtu_bytes ? window : config->mtu_bytes, .alpha = 1};
    use_window(cc);
}

static void end_window_of_data(struct eun_dctcp *d, double g, uint32_t nxt)
{
    if (d->begun)
        d->alpha = (1 - g) * d->alpha + g * d->marked / d->answers;
    d->begun = true;
    d->answers = 0;
    d->marked = 0;
    d->window_end = nxt;
}

static void cut(struct eun_dctcp *d, uint32_t mtu, uint32_t nxt)
{
    d->window *= 1 - d->alpha / 2;
    if (d->window < mtu)
        d->window = mtu;
    d->cut = true;
    d->cut_end = nxt;
}

static void on_ack(struct eun_cc *cc, const struct eun_cc_config *config,
                   const struct eun_cc_ack *ack)
{
    struct eun_dctcp *d = &cc->u.dctcp;
    const double mtu = config->mtu_bytes;
    d->answers++;
    d->marked += ack->ce;
    if (!d->begun || !eun_psn_before(ack->psn, d->window_end))
        end_window_of_data(d, config->dctcp.g, ack->nxt);
    if (d->cut && !eun_psn_before(ack->psn, d->cut_end))
        d->cut = false;
    if (ack->ce && !d->cut)
        cut(d, config->mtu_bytes, ack->nxt);
    else if (!ack->ce && (double)ack->in_flight + mtu > d->window)
        d->window += mtu * mtu / d->window;
    use_window(cc);
}

const struct eun_cc_ops eun_cc_dctcp = {
    .name = "dctcp",
    .summary = "DCTCP, a window cut by the share of marked packets (Alizadeh et al., SIGCOMM 2010)",
    .signal = EUN_CC_SIGNAL_ECHO,
    .init = init,
    .on_ack = on_ack,
};
