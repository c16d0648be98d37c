/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * LetFlow: every flowlet takes a way at random, and nothing is measured. Flowlets are short on
 * congested ways, where packets come with gaps, so flows leave them sooner than others (Vanini et
 * al., "Let It Flow: Resilient Asymmetric Load Balancing with Flowlet Switching", NSDI 2017).
 *
 * Only the first switch of a packet decides so. Others with a choice follow ECMP: they would tear
 * flowlets apart a second time, and each would need a table.
 */
#include "balancer.h"
#include "flowlet.h"

struct letflow {
    uint64_t salt;
    struct eun_rng rng;
    int64_t timeout_ps;
    struct eun_flowlet_table flowlets;
};

static const char *configure(void *state, const struct eun_lb_params *params,
                             const struct eun_lb_network *network)
{
    (void)network;
    struct letflow *s = state;
    s->timeout_ps = params->flowlet_timeout_ps;
    return NULL;
}

static void init(void *state, uint64_t seed, uint32_t ports)
{
    (void)ports;
    struct letflow *s = state;
    s->salt = seed;
    eun_rng_seed(&s->rng, seed);
    eun_flowlet_init(&s->flowlets);
    configure(state, &eun_lb_defaults, NULL);
}

static uint32_t choose(void *state, const struct eun_lb_packet *packet,
                       const struct eun_lb_view *view)
{
    struct letflow *s = state;
    if (!view->from_host)
        return eun_ecmp_choose(s->salt, packet->entropy, view->count);
    struct eun_flowlet *flowlet = eun_flowlet_find(&s->flowlets, packet->entropy);
    if (eun_flowlet_starts(flowlet, view->now_ps, s->timeout_ps))
        eun_flowlet_take(flowlet, packet->entropy, eun_rng_below(&s->rng, view->count));
    return eun_flowlet_way(flowlet, view->count);
}

const struct eun_balancer eun_balancer_letflow = {
    .name = "letflow",
    .summary = "after a gap, a flow takes another path, at random",
    .reorders = false,
    .state_bytes = sizeof(struct letflow),
    .init = init,
    .choose = choose,
    .configure = configure,
};
