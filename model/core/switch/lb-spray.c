/* SPDX-License-Identifier: GPL-2.0-only */
/** Random packet spraying: every packet takes a way of its own, uniformly at random. */
#include "balancer.h"
#include "rng.h"

static void init(void *state, uint64_t seed, uint32_t ports)
{
    (void)ports;
    eun_rng_seed(state, seed);
}

static uint32_t choose(void *state, const struct eun_lb_packet *packet,
                       const struct eun_lb_view *view)
{
    (void)packet;
    return eun_rng_below(state, view->count);
}

const struct eun_balancer eun_balancer_spray = {
    .name = "spray",
    .summary = "every packet takes a path of its own, at random",
    .reorders = true,
    .state_bytes = sizeof(struct eun_rng),
    .init = init,
    .choose = choose,
};
