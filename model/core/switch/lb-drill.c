/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * DRILL(d, m): every packet takes the shortest queue among d ways drawn at random and the m best of
 * the packet before it (Ghorbani et al., "DRILL: Micro Load Balancing for Low-latency Data Center
 * Networks", SIGCOMM 2017). d = 2 and m = 1 are the values that its authors recommend.
 *
 * A way drawn wins over a remembered one of the same length: while all queues are empty, packets
 * spread at random instead of staying where the last one went.
 *
 * A memory per group of ways, which all destinations behind the same ways share. Groups whose hash
 * meets share one, too: a way remembered for the other is one candidate more.
 */
#include "balancer.h"
#include "group.h"

enum { MEMORIES = 64, NO_WAY = UINT16_MAX };

struct drill {
    struct eun_rng rng;
    uint32_t samples;
    uint32_t memory;
    uint16_t best[MEMORIES][EUN_DRILL_MAX];
};

/** Candidates, the shortest queue first; of equal ones the earlier first. */
struct shortlist {
    const struct eun_lb_view *view;
    uint32_t count;
    uint32_t way[2 * EUN_DRILL_MAX];
    uint32_t bytes[2 * EUN_DRILL_MAX];
};

static void add(struct shortlist *list, uint32_t way)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->way[i] == way)
            return;
    const uint32_t bytes = list->view->queue_bytes[list->view->ports[way]];
    uint32_t i = list->count++;
    for (; i > 0 && list->bytes[i - 1] > bytes; i--) {
        list->way[i] = list->way[i - 1];
        list->bytes[i] = list->bytes[i - 1];
    }
    list->way[i] = way;
    list->bytes[i] = bytes;
}

static const char *configure(void *state, const struct eun_lb_params *params,
                             const struct eun_lb_network *network)
{
    (void)network;
    struct drill *s = state;
    s->samples = params->drill_samples;
    s->memory = params->drill_memory;
    return NULL;
}

static void init(void *state, uint64_t seed, uint32_t ports)
{
    (void)ports;
    struct drill *s = state;
    eun_rng_seed(&s->rng, seed);
    for (uint32_t i = 0; i < MEMORIES; i++)
        for (uint32_t k = 0; k < EUN_DRILL_MAX; k++)
            s->best[i][k] = NO_WAY;
    configure(state, &eun_lb_defaults, NULL);
}

static uint32_t choose(void *state, const struct eun_lb_packet *packet,
                       const struct eun_lb_view *view)
{
    (void)packet;
    struct drill *s = state;
    struct shortlist list = {.view = view};
    const uint32_t samples = s->samples < view->count ? s->samples : view->count;
    while (list.count < samples)
        add(&list, eun_rng_below(&s->rng, view->count));
    uint16_t *best = s->best[eun_lb_group_hash(view) % MEMORIES];
    for (uint32_t i = 0; i < s->memory; i++)
        if (best[i] < view->count)
            add(&list, best[i]);
    for (uint32_t i = 0; i < s->memory; i++)
        best[i] = i < list.count ? (uint16_t)list.way[i] : NO_WAY;
    return list.way[0];
}

const struct eun_balancer eun_balancer_drill = {
    .name = "drill",
    .summary = "every packet takes the shortest of two random queues and the last best one",
    .reorders = true,
    .state_bytes = sizeof(struct drill),
    .init = init,
    .choose = choose,
    .configure = configure,
};
