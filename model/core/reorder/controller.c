/* SPDX-License-Identifier: GPL-2.0-only */
#include "controller.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

struct eun_controller {
    struct eun_controller_front front;
    struct eun_controller_config config;
    int64_t *bank_free; /**< by bank: when it has served all that was asked of it */
    int64_t *credits;   /**< rings of `cache_blocks`, by cell: when each credit is there */
    uint32_t *oldest;   /**< by cell: the credit that is there first */
    struct eun_wait_histogram latency;
    uint64_t delayed;
    uint64_t blocked;
};

/** A pipeline's cache for a bank is a cell. */
static size_t cell_of(const struct eun_controller *c, uint32_t pipeline, uint32_t bank)
{
    return (size_t)pipeline * c->config.banks + bank;
}

static bool config_is_valid(const struct eun_controller_config *config)
{
    if (config->banks == 0 || config->pipelines == 0 || config->service_ps < 0 ||
        config->service_ps > EUN_CONTROLLER_SERVICE_MAX)
        return false;
    const uint64_t cells = (uint64_t)config->pipelines * config->banks;
    return cells <= UINT32_MAX && cells * config->cache_blocks <= UINT32_MAX;
}

struct eun_controller *eun_controller_new(const struct eun_controller_config *config)
{
    if (!config_is_valid(config))
        return NULL;
    struct eun_controller *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    const size_t cells = (size_t)config->pipelines * config->banks;
    const size_t credits = cells * config->cache_blocks;
    c->config = *config;
    c->front.pipelines = config->pipelines;
    c->front.last_leaves = calloc(config->pipelines, sizeof *c->front.last_leaves);
    c->bank_free = calloc(config->banks, sizeof *c->bank_free);
    c->oldest = calloc(cells, sizeof *c->oldest);
    c->credits = credits > 0 ? calloc(credits, sizeof *c->credits) : NULL;
    if (c->front.last_leaves == NULL || c->bank_free == NULL || c->oldest == NULL ||
        (credits > 0 && c->credits == NULL)) {
        eun_controller_free(c);
        return NULL;
    }
    return c;
}

void eun_controller_free(struct eun_controller *c)
{
    if (c == NULL)
        return;
    free(c->front.last_leaves);
    free(c->bank_free);
    free(c->oldest);
    free(c->credits);
    free(c);
}

/**
 * Asks the bank for an allocation. Result: when the packet has one, maybe before `now`.
 *
 * A bank serves in order, so the credits of a cell come back in the order in which they were taken;
 * without a cache the packet gets the very one that it asked for.
 */
static int64_t allocate(struct eun_controller *c, size_t cell, uint32_t bank, int64_t now)
{
    const int64_t start = c->bank_free[bank] > now ? c->bank_free[bank] : now;
    const int64_t served = start + c->config.service_ps;
    c->bank_free[bank] = served;
    if (c->config.cache_blocks == 0)
        return served;
    int64_t *credit = &c->credits[cell * c->config.cache_blocks + c->oldest[cell]];
    const int64_t there = *credit;
    *credit = served;
    c->oldest[cell] = c->oldest[cell] + 1u < c->config.cache_blocks ? c->oldest[cell] + 1u : 0;
    return there;
}

struct eun_admission eun_controller_wait(struct eun_controller *c, uint32_t pipeline, uint32_t bank,
                                         uint32_t allocations, int64_t now)
{
    int64_t served = now;
    for (uint32_t i = 0; i < allocations; i++) {
        const int64_t there = allocate(c, cell_of(c, pipeline, bank), bank, now);
        served = there > served ? there : served;
    }
    if (allocations > 0)
        eun_wait_histogram_count(&c->latency, served - now);
    int64_t *last_leaves = &c->front.last_leaves[pipeline];
    const int64_t leaves = served > *last_leaves ? served : *last_leaves;
    *last_leaves = leaves;
    eun_wait_histogram_count(&c->front.wait, leaves - now);
    if (leaves > now) {
        c->delayed++;
        c->blocked += allocations == 0;
    }
    return (struct eun_admission){leaves, served - now};
}

const struct eun_wait_histogram *eun_controller_waits(const struct eun_controller *c)
{
    return &c->front.wait;
}

const struct eun_wait_histogram *eun_controller_latencies(const struct eun_controller *c)
{
    return &c->latency;
}

uint64_t eun_controller_delayed(const struct eun_controller *c)
{
    return c->delayed;
}

uint64_t eun_controller_blocked(const struct eun_controller *c)
{
    return c->blocked;
}
