/* SPDX-License-Identifier: GPL-2.0-only */
/** Equal-cost multipath: a hash of the flow picks its way, for good (RFC 2992). */
#include "balancer.h"
#include "rng.h"

struct ecmp {
    uint64_t salt;
};

uint32_t eun_ecmp_choose(uint64_t salt, uint32_t entropy, uint32_t count)
{
    const uint64_t hash = eun_mix64(salt ^ entropy);
    return (uint32_t)(((hash >> 32) * count) >> 32);
}

static void init(void *state, uint64_t seed, uint32_t ports)
{
    (void)ports;
    struct ecmp *s = state;
    s->salt = seed;
}

static uint32_t choose(void *state, const struct eun_lb_packet *packet,
                       const struct eun_lb_view *view)
{
    const struct ecmp *s = state;
    return eun_ecmp_choose(s->salt, packet->entropy, view->count);
}

const struct eun_balancer eun_balancer_ecmp = {
    .name = "ecmp",
    .summary = "a hash pins each flow to one path",
    .reorders = false,
    .follows_entropy = true,
    .state_bytes = sizeof(struct ecmp),
    .init = init,
    .choose = choose,
};
