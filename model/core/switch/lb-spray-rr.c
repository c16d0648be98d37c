/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * Round-robin packet spraying: the switch deals the packets of each group of ways out in turn.
 *
 * A turn of its own per group, or a small group would keep resetting that of a large one. Groups
 * whose hash meets share a turn; their ways are still used evenly, if not strictly in turn.
 */
#include "balancer.h"
#include "group.h"

enum { TURNS = 64 };

struct round_robin {
    uint32_t turn[TURNS];
};

static void init(void *state, uint64_t seed, uint32_t ports)
{
    /* Switches start at different ways, or their first packets would meet at the same spine. */
    struct round_robin *s = state;
    for (uint32_t i = 0; i < TURNS; i++)
        s->turn[i] = (uint32_t)(eun_mix64(seed + i) % (ports ? ports : 1));
}

static uint32_t choose(void *state, const struct eun_lb_packet *packet,
                       const struct eun_lb_view *view)
{
    (void)packet;
    struct round_robin *s = state;
    return s->turn[eun_lb_group_hash(view) % TURNS]++ % view->count;
}

const struct eun_balancer eun_balancer_spray_rr = {
    .name = "spray-rr",
    .summary = "every packet takes the next path, in turn",
    .reorders = true,
    .state_bytes = sizeof(struct round_robin),
    .init = init,
    .choose = choose,
};
