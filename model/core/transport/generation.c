/* SPDX-License-Identifier: GPL-2.0-only */
#include "generation.h"

/*
 * Between a life and the next one of the same generation four quarters begin, so three pass whole:
 * each takes a third of the packet lifetime at least.
 */
#define QUARTER (EUN_GENERATIONS / 4u)
#define QUARTER_PS (EUN_PACKET_LIFETIME_PS / 3)

static uint8_t next(const struct eun_generation *generation)
{
    return (uint8_t)((generation->number + 1u) % EUN_GENERATIONS);
}

bool eun_generation_may_begin(const struct eun_generation *generation, int64_t now)
{
    return next(generation) % QUARTER != 0 || now - generation->quarter_ps >= QUARTER_PS;
}

void eun_generation_begin(struct eun_generation *generation, int64_t now)
{
    generation->number = next(generation);
    if (generation->number % QUARTER == 0)
        generation->quarter_ps = now;
}
