/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * Mice follow ECMP, elephants are sprayed packet by packet: a flow that is over soon gains little
 * from many paths and keeps its order, so only flows that load a path pay for reordering.
 *
 * Two signs, either of which is enough. Size: the flow has sent so many bytes through this switch.
 * That counts at a packet's first switch, which sees all of a flow; others, which see a part of a
 * sprayed one, follow ECMP, as under LetFlow. Hotspot: more than so many bytes wait on the packet's
 * ECMP way; that is seen where it happens, at any switch with a choice.
 *
 * The default of 30 KB: in an 8x8 Clos with AliStorage2019 sizes, at half load and at 80 %, it does
 * as well as 10 KB (mean slowdown 1.26 and 1.83), and 100 KB does not (1.31 and 1.90); spraying all
 * is better than any (1.20 and 1.70), as mice that do not move make the queues that elephants meet.
 *
 * The table has a fixed size and is indexed by a hash of the flow. A flow that was silent for the
 * aging time is a new one, and its entry free. One that meets the entry of another flow that is not
 * silent is a mouse as long as it does: order is the safe side.
 */
#include "balancer.h"
#include "rng.h"
#include "scale.h"

enum { FLOWS = 16384, PORTS = 512 };

struct flow {
    int64_t last_ps; /* its latest packet */
    uint32_t bytes;  /* sent so far, as far as 32 bits go; 0: entry never used */
    uint32_t entropy;
};

struct elephant_spray {
    uint64_t salt;
    struct eun_rng rng;
    uint32_t limit;
    int64_t aging_ps;
    uint32_t queue[PORTS]; /* a longer one is a hotspot, bytes */
    struct flow flow[FLOWS];
};

static const char *configure(void *state, const struct eun_lb_params *params,
                             const struct eun_lb_network *network)
{
    struct elephant_spray *s = state;
    if (network->ports > PORTS)
        return "elephant-spray takes up to 512 ports a switch";
    s->limit = params->elephant_bytes;
    s->aging_ps = params->elephant_aging_ps;
    for (uint32_t port = 0; port < network->ports && params->elephant_queue > 0; port++)
        s->queue[port] = eun_lb_scale(params->elephant_queue, network->rate_bps[port]);
    return NULL;
}

static void init(void *state, uint64_t seed, uint32_t ports)
{
    (void)ports;
    struct elephant_spray *s = state;
    s->salt = seed;
    eun_rng_seed(&s->rng, seed);
    for (uint32_t i = 0; i < FLOWS; i++)
        s->flow[i] = (struct flow){0, 0, 0};
    s->limit = eun_lb_defaults.elephant_bytes;
    s->aging_ps = eun_lb_defaults.elephant_aging_ps;
    for (uint32_t port = 0; port < PORTS; port++)
        s->queue[port] = UINT32_MAX;
}

/** Counts a packet; had its flow sent enough before it to be an elephant? */
static bool is_elephant(struct elephant_spray *s, const struct eun_lb_packet *packet,
                        int64_t now_ps)
{
    struct flow *f = &s->flow[eun_mix64(packet->entropy) % FLOWS];
    if (f->bytes == 0 || now_ps - f->last_ps > s->aging_ps)
        *f = (struct flow){.entropy = packet->entropy};
    else if (f->entropy != packet->entropy)
        return s->limit == 0;
    const uint32_t before = f->bytes;
    f->last_ps = now_ps;
    f->bytes = before < UINT32_MAX - packet->bytes ? before + packet->bytes : UINT32_MAX - 1u;
    return before >= s->limit;
}

static uint32_t choose(void *state, const struct eun_lb_packet *packet,
                       const struct eun_lb_view *view)
{
    struct elephant_spray *s = state;
    if (view->from_host && is_elephant(s, packet, view->now_ps))
        return eun_rng_below(&s->rng, view->count);
    const uint32_t way = eun_ecmp_choose(s->salt, packet->entropy, view->count);
    const uint32_t port = view->ports[way];
    return view->queue_bytes[port] > s->queue[port] ? eun_rng_below(&s->rng, view->count) : way;
}

const struct eun_balancer eun_balancer_elephant_spray = {
    .name = "elephant-spray",
    .summary = "flows that have sent much, or meet a long queue, are sprayed; others follow ECMP",
    .reorders = true,
    .state_bytes = sizeof(struct elephant_spray),
    .init = init,
    .choose = choose,
    .configure = configure,
};
