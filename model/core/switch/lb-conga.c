/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * CONGA: a flowlet takes the uplink whose path is least congested, as far as the leaf knows
 * (Alizadeh et al., "CONGA: Distributed Congestion-Aware Load Balancing for Datacenters", SIGCOMM
 * 2014). For two tiers: leaves, and spines between them.
 *
 * Every link has a DRE (dre.h). A frame from leaf A to leaf B carries the uplink that it takes and
 * the largest level of the links on its way, so B learns how congested A's uplinks are towards B. B
 * returns that on the frames from B to A, one uplink a frame, in turn, and each measurement once: a
 * value that is sent again and again would never age at A. A takes the larger of this and of its
 * own uplink's level. A value that nothing has renewed for a while counts as 0, so that a path that
 * everyone left is tried again.
 *
 * On the wire this is 14 bits, which the paper puts into reserved bits of the VXLAN header: no
 * frame grows by it. That header itself is part of no balancer here. Control frames carry the bits,
 * too, and count as load; they keep to ECMP's way.
 */
#include "balancer.h"
#include "dre.h"
#include "flowlet.h"

#include <string.h>

enum {
    UPLINKS = 16, /* 4 bits of tag */
    LEAVES = 256,
    PORTS = 512,
};

/*
 * The tag, from bit 0: uplink (4), largest level (3), 1; uplink that is reported on (4), its level
 * (3), 1. The two ones, which the paper does without, tell what is there.
 */
enum { MEASURED = 1 << 7, REPORT = 1 << 15 };

/** What a leaf was told about its way to another leaf. */
struct told {
    int64_t at_ps;
    uint32_t level;
};

/** What a leaf measured of another leaf's ways to itself. */
struct measured {
    uint8_t level[UPLINKS];
    uint16_t news; /* bit k: way k, not yet reported */
    uint8_t turn;
};

struct conga {
    uint64_t salt;
    struct eun_rng rng;
    struct eun_lb_params params;
    double keep;
    uint32_t levels;
    const uint32_t *leaf; /* [host], NULL before configure() */
    struct eun_dre dre[PORTS];
    double step_bytes[PORTS];
    struct told told[LEAVES][UPLINKS];
    struct measured measured[LEAVES];
    struct eun_flowlet_table flowlets;
};

static void set_params(struct conga *s, const struct eun_lb_params *params)
{
    s->params = *params;
    s->keep = 1 - params->dre_alpha;
    s->levels = 1u << params->conga_bits;
}

static void init(void *state, uint64_t seed, uint32_t ports)
{
    (void)ports;
    struct conga *s = state;
    memset(s, 0, sizeof *s);
    s->salt = seed;
    eun_rng_seed(&s->rng, seed);
    eun_flowlet_init(&s->flowlets);
    for (uint32_t i = 0; i < PORTS; i++)
        s->step_bytes[i] = 1;
    set_params(s, &eun_lb_defaults);
}

static const char *configure(void *state, const struct eun_lb_params *params,
                             const struct eun_lb_network *network)
{
    struct conga *s = state;
    if (!network->leaf)
        return "conga has to know which hosts share a leaf; see EunomiaSwitch::SetLeaves";
    if (network->longest > 4)
        return "conga takes two tiers of switches, and hosts here are more than 4 links apart";
    if (network->leaves > LEAVES)
        return "conga takes up to 256 leaves";
    if (network->widest > UPLINKS)
        return "conga takes up to 16 uplinks a leaf: its tag has 4 bits for them";
    if (network->ports > PORTS)
        return "conga takes up to 512 ports a switch";
    set_params(s, params);
    s->leaf = network->leaf;
    const double tau = (double)params->dre_interval_ps / params->dre_alpha * 1e-12;
    for (uint32_t i = 0; i < network->ports; i++)
        s->step_bytes[i] = (double)network->rate_bps[i] * tau / 8 / s->levels;
    return NULL;
}

static uint32_t link_level(struct conga *s, uint32_t port, int64_t now_ps)
{
    eun_dre_fade(&s->dre[port], s->keep, s->params.dre_interval_ps, now_ps);
    return eun_dre_level(&s->dre[port], s->step_bytes[port], s->levels);
}

/** Of the path by `way` to a leaf: the larger of the uplink's level and what that leaf told. */
static uint32_t path_level(struct conga *s, const struct eun_lb_packet *packet,
                           const struct eun_lb_view *view, uint32_t way)
{
    const uint32_t local = link_level(s, view->ports[way], view->now_ps);
    if (!s->leaf)
        return local;
    const struct told *t = &s->told[s->leaf[packet->dst]][way];
    const bool aged = view->now_ps - t->at_ps > s->params.conga_aging_ps;
    return aged || t->level < local ? local : t->level;
}

/**
 * The best path; among several the one that the flow took last, else one at random. Of a sample,
 * the first way is drawn so that all of it exist: those at either end are compared less often.
 */
static uint32_t best_way(struct conga *s, const struct eun_lb_packet *packet,
                         const struct eun_lb_view *view, uint32_t last)
{
    uint32_t best = UINT32_MAX, way = 0, equals = 0, first = 0, end = view->count;
    if (s->params.conga_sample > 0 && s->params.conga_sample < view->count) {
        first = eun_rng_below(&s->rng, view->count - s->params.conga_sample + 1u);
        end = first + s->params.conga_sample;
    }
    for (uint32_t i = first; i < end; i++) {
        const uint32_t level = path_level(s, packet, view, i);
        if (level > best)
            continue;
        equals = level < best ? 1 : equals + 1;
        best = level;
        if (eun_rng_below(&s->rng, equals) == 0)
            way = i;
    }
    if (first <= last && last < end && path_level(s, packet, view, last) == best)
        return last;
    return way;
}

static uint32_t choose(void *state, const struct eun_lb_packet *packet,
                       const struct eun_lb_view *view)
{
    struct conga *s = state;
    if (!view->from_host)
        return eun_ecmp_choose(s->salt, packet->entropy, view->count);
    struct eun_flowlet *flowlet = eun_flowlet_find(&s->flowlets, packet->entropy);
    if (eun_flowlet_starts(flowlet, view->now_ps, s->params.flowlet_timeout_ps)) {
        const uint32_t last = eun_flowlet_last_way(flowlet, packet->entropy);
        eun_flowlet_take(flowlet, packet->entropy, best_way(s, packet, view, last));
    }
    return eun_flowlet_way(flowlet, view->count);
}

static uint64_t enter(void *state, const struct eun_lb_packet *packet, uint32_t way)
{
    struct conga *s = state;
    struct measured *m = &s->measured[s->leaf[packet->dst]];
    uint32_t tag = MEASURED | way;
    if (m->news) {
        while (!(m->news >> m->turn & 1))
            m->turn = (m->turn + 1) % UPLINKS;
        tag |= REPORT | m->turn << 8 | (uint32_t)m->level[m->turn] << 12;
        m->news &= (uint16_t) ~(1u << m->turn);
        m->turn = (m->turn + 1) % UPLINKS;
    }
    return tag;
}

static uint64_t sent(void *state, uint32_t port, uint32_t bytes, uint64_t tag, int64_t now_ps)
{
    struct conga *s = state;
    eun_dre_fade(&s->dre[port], s->keep, s->params.dre_interval_ps, now_ps);
    s->dre[port].bytes += bytes;
    const uint32_t level = eun_dre_level(&s->dre[port], s->step_bytes[port], s->levels);
    return level > (tag >> 4 & 7u) ? (tag & ~(uint64_t)(7u << 4)) | level << 4 : tag;
}

static void arrive(void *state, const struct eun_lb_packet *packet, uint64_t tag, int64_t now_ps)
{
    struct conga *s = state;
    const uint32_t from = s->leaf[packet->src];
    if (tag & MEASURED) {
        const uint32_t way = tag & 15u;
        s->measured[from].level[way] = tag >> 4 & 7;
        s->measured[from].news |= (uint16_t)(1u << way);
    }
    if (tag & REPORT)
        s->told[from][tag >> 8 & 15] = (struct told){now_ps, tag >> 12 & 7};
}

const struct eun_balancer eun_balancer_conga = {
    .name = "conga",
    .summary = "after a gap, a flow takes the path that is least congested",
    .reorders = false,
    .state_bytes = sizeof(struct conga),
    .init = init,
    .choose = choose,
    .configure = configure,
    .enter = enter,
    .sent = sent,
    .arrive = arrive,
};
