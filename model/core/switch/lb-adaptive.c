/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * Adaptive routing as switches ship it: every packet takes one of the least loaded ways, at random.
 * A way's load is the length of its queue in a few grades, so ways that differ little are alike and
 * a burst does not follow one that happens to be shorter by a packet.
 *
 * Public is that a switch chooses among its paths by its own state, such as queue occupancy and
 * port utilisation (NVIDIA, "Adaptive Routing", Cumulus Linux documentation). Assumed here: that
 * every packet chooses anew, how many grades there are and where they begin (at 100 Gb/s two full
 * frames, a fifth of where marking begins, and that), and that utilisation counts for nothing.
 * Against DRILL this looks at all ways, remembers none, and sees them less exactly.
 */
#include "balancer.h"
#include "rng.h"
#include "scale.h"

enum { PORTS = 512, WAYS = 512 };

struct adaptive {
    struct eun_rng rng;
    uint32_t grades;
    uint32_t limit[PORTS][EUN_ADAPTIVE_MAX]; /* bytes */
};

static void init(void *state, uint64_t seed, uint32_t ports)
{
    (void)ports;
    struct adaptive *s = state;
    eun_rng_seed(&s->rng, seed);
    s->grades = eun_lb_defaults.adaptive_grades;
    for (uint32_t port = 0; port < PORTS; port++)
        for (uint32_t k = 0; k < EUN_ADAPTIVE_MAX; k++)
            s->limit[port][k] = eun_lb_defaults.adaptive_limit[k];
}

static const char *configure(void *state, const struct eun_lb_params *params,
                             const struct eun_lb_network *network)
{
    struct adaptive *s = state;
    if (network->ports > PORTS)
        return "adaptive takes up to 512 ports a switch";
    s->grades = params->adaptive_grades;
    for (uint32_t port = 0; port < network->ports; port++)
        for (uint32_t k = 0; k < s->grades; k++)
            s->limit[port][k] = eun_lb_scale(params->adaptive_limit[k], network->rate_bps[port]);
    return NULL;
}

/** How many of the first `most` limits the queue has reached: 0 is the least load. */
static uint32_t grade_of(const struct adaptive *s, uint32_t port, uint32_t bytes, uint32_t most)
{
    uint32_t grade = 0;
    while (grade < most && bytes >= s->limit[port][grade])
        grade++;
    return grade;
}

static uint32_t choose(void *state, const struct eun_lb_packet *packet,
                       const struct eun_lb_view *view)
{
    (void)packet;
    struct adaptive *s = state;
    uint16_t best[WAYS];
    uint32_t lowest = s->grades;
    uint32_t count = 0;
    for (uint32_t i = 0; i < view->count; i++) {
        const uint32_t port = view->ports[i];
        const uint32_t bytes = view->queue_bytes[port];
        if (lowest < s->grades && bytes >= s->limit[port][lowest])
            continue;
        const uint32_t grade = grade_of(s, port, bytes, lowest);
        count = grade < lowest ? 0 : count;
        lowest = grade;
        best[count++] = (uint16_t)i;
    }
    return best[eun_rng_below(&s->rng, count)];
}

const struct eun_balancer eun_balancer_adaptive = {
    .name = "adaptive",
    .summary = "every packet takes one of the shortest queues, told apart in a few grades",
    .reorders = true,
    .state_bytes = sizeof(struct adaptive),
    .init = init,
    .choose = choose,
    .configure = configure,
};
