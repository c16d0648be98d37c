/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_FLOWLET_H
#define EUNOMIA_FLOWLET_H

/**
 * Flowlets: packets of a flow without a gap above a timeout between them (Sinha et al., "Harnessing
 * TCP's Burstiness with Flowlet Switching", HotNets 2004). Where the gap is longer than the paths
 * differ in delay, the next flowlet may take another way and overtakes nothing.
 *
 * The table has a fixed size and is indexed by a hash of the flow, as that of CONGA's switches. An
 * entry whose flowlet has ended is free, so nothing has to be removed. Flows that meet in an entry
 * follow each other's ways: such a flow may keep its way in spite of a gap, but it never changes
 * its way without one.
 */

#include "rng.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { EUN_FLOWLETS = 16384 };

struct eun_flowlet {
    int64_t last_ps; /**< its latest packet */
    uint32_t way;    /**< index in the group, EUN_FLOWLET_NONE in an entry never used */
    uint32_t flow;   /**< entropy of the flow that started it */
};

#define EUN_FLOWLET_NONE UINT32_MAX

struct eun_flowlet_table {
    struct eun_flowlet entry[EUN_FLOWLETS];
};

static inline void eun_flowlet_init(struct eun_flowlet_table *table)
{
    for (uint32_t i = 0; i < EUN_FLOWLETS; i++)
        table->entry[i] = (struct eun_flowlet){0, EUN_FLOWLET_NONE, 0};
}

/** The entry of a flow, never NULL. */
static inline struct eun_flowlet *eun_flowlet_find(struct eun_flowlet_table *table,
                                                   uint32_t entropy)
{
    return &table->entry[eun_mix64(entropy) % EUN_FLOWLETS];
}

/** Notes a packet. Does it start a flowlet, so that eun_flowlet_take() has to follow? */
static inline bool eun_flowlet_starts(struct eun_flowlet *f, int64_t now_ps, int64_t timeout_ps)
{
    const bool starts = f->way == EUN_FLOWLET_NONE || now_ps - f->last_ps > timeout_ps;
    f->last_ps = now_ps;
    return starts;
}

/** The way that this flow took last, EUN_FLOWLET_NONE where nobody knows. */
static inline uint32_t eun_flowlet_last_way(const struct eun_flowlet *f, uint32_t entropy)
{
    return f->flow == entropy ? f->way : EUN_FLOWLET_NONE;
}

static inline void eun_flowlet_take(struct eun_flowlet *f, uint32_t entropy, uint32_t way)
{
    f->way = way;
    f->flow = entropy;
}

/** Its way in a group of `count`: below that, even if the entry comes from a larger group. */
static inline uint32_t eun_flowlet_way(const struct eun_flowlet *f, uint32_t count)
{
    return f->way < count ? f->way : f->way % count;
}

#ifdef __cplusplus
}
#endif
#endif
