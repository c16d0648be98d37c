/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * DRILL as conweave-ns3 has it, for comparison only; its other name is what --compat=conweave-ns3
 * makes of `drill`. It differs from lb-drill.c in three ways (switch-node.cc:122-147, commit
 * 236a801), which only together give that simulator's figures:
 *
 * - a best way is remembered for each destination, not for each group of ways;
 * - the remembered way stays unless one drawn has a strictly shorter queue;
 * - the control class counts, too, so waiting ACKs break ties.
 *
 * Two different ways are drawn a packet; one of them may be the one remembered. Destinations 4,096
 * apart share a memory.
 */
#include "balancer.h"
#include "rng.h"

enum { DESTINATIONS = 4096, NO_WAY = UINT16_MAX };

struct drill_conweave {
    struct eun_rng rng;
    uint16_t best[DESTINATIONS];
};

static void init(void *state, uint64_t seed, uint32_t ports)
{
    (void)ports;
    struct drill_conweave *s = state;
    eun_rng_seed(&s->rng, seed);
    for (uint32_t i = 0; i < DESTINATIONS; i++)
        s->best[i] = NO_WAY;
}

static uint64_t queued(const struct eun_lb_view *view, uint32_t way)
{
    const uint32_t port = view->ports[way];
    return (uint64_t)view->queue_bytes[port] + view->control_bytes[port];
}

static uint32_t choose(void *state, const struct eun_lb_packet *packet,
                       const struct eun_lb_view *view)
{
    struct drill_conweave *s = state;
    uint16_t *best = &s->best[packet->dst % DESTINATIONS];
    const uint32_t first = eun_rng_below(&s->rng, view->count);
    const uint32_t second = (first + 1 + eun_rng_below(&s->rng, view->count - 1)) % view->count;
    uint32_t way = *best < view->count ? *best : first;
    if (queued(view, first) < queued(view, way))
        way = first;
    if (queued(view, second) < queued(view, way))
        way = second;
    *best = (uint16_t)way;
    return way;
}

const struct eun_balancer eun_balancer_drill_conweave = {
    .name = "drill-conweave-ns3",
    .summary = "drill with that simulator's memory and ties, for comparison",
    .reorders = true,
    .state_bytes = sizeof(struct drill_conweave),
    .init = init,
    .choose = choose,
};
