/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * DIBS: a flow follows ECMP, but a frame whose way has no room left in its queue takes another port
 * at random among those that lead to a switch and have room, be it the one that it came in by. The
 * next switch sends it towards its destination as any frame. So the buffers of the neighbours serve
 * an overloaded port, too (Zarifis et al., "DIBS: Just-in-time Congestion Mitigation for Data
 * Centers", EuroSys 2014). Where no port has room, or the frame has been on too many links, it
 * takes its way, and the switch's admission decides about it. The paper has no PFC: detours join
 * queues in circles, where pauses stop each other for good, so a deflected frame has to change to a
 * priority that may drop (EunomiaSwitch::DeflectPriority).
 *
 * "Full" is a length of the queue, here 500 KB at 100 Gb/s. The paper has ports of 100 packets and
 * marks (ECN) from 20 on; this is the same five to one to where marking begins here, so that
 * congestion control hears of a queue before its frames spread. Scaled with the rate, a full queue
 * takes equally long to drain everywhere.
 *
 * The paper bounds a frame's way by IP's time to live of 255. Here it is 16 links, the 4 of the
 * longest way between two leaves and 6 detours of 2: a frame that has met a full queue seven times
 * meets the same overload, and each detour costs two links of capacity that others need.
 */
#include "balancer.h"
#include "rng.h"
#include "scale.h"

enum { PORTS = 512 };

struct deflect {
    uint64_t salt;
    struct eun_rng rng;
    uint32_t hops;
    uint32_t exits; /* ports that lead to a switch */
    uint16_t exit[PORTS];
    uint32_t limit[PORTS]; /* bytes */
};

static void init(void *state, uint64_t seed, uint32_t ports)
{
    (void)ports;
    struct deflect *s = state;
    s->salt = seed;
    eun_rng_seed(&s->rng, seed);
    s->hops = eun_lb_defaults.deflect_hops;
    s->exits = 0;
}

static const char *configure(void *state, const struct eun_lb_params *params,
                             const struct eun_lb_network *network)
{
    struct deflect *s = state;
    if (network->ports > PORTS)
        return "deflect takes up to 512 ports a switch";
    s->hops = params->deflect_hops;
    s->exits = 0;
    for (uint32_t i = 0; i < network->ports; i++) {
        s->limit[i] = eun_lb_scale(params->deflect_bytes, network->rate_bps[i]);
        if (!network->to_host[i])
            s->exit[s->exits++] = (uint16_t)i;
    }
    return NULL;
}

static uint32_t choose(void *state, const struct eun_lb_packet *packet,
                       const struct eun_lb_view *view)
{
    const struct deflect *s = state;
    return eun_ecmp_choose(s->salt, packet->entropy, view->count);
}

static bool is_full(const struct deflect *s, uint32_t port, uint32_t bytes,
                    const uint32_t *queue_bytes)
{
    return (uint64_t)queue_bytes[port] + bytes > s->limit[port];
}

static uint32_t divert(void *state, uint32_t out, uint32_t bytes, uint32_t hops,
                       const uint32_t *queue_bytes)
{
    struct deflect *s = state;
    if (s->exits == 0 || !is_full(s, out, bytes, queue_bytes) || hops >= s->hops)
        return out;
    uint16_t open[PORTS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->exits; i++)
        if (!is_full(s, s->exit[i], bytes, queue_bytes))
            open[count++] = s->exit[i];
    return count > 0 ? open[eun_rng_below(&s->rng, count)] : out;
}

const struct eun_balancer eun_balancer_deflect = {
    .name = "deflect",
    .summary = "DIBS: ECMP, but a packet whose queue is full takes a detour",
    .reorders = true,
    .state_bytes = sizeof(struct deflect),
    .init = init,
    .choose = choose,
    .configure = configure,
    .divert = divert,
};
