/* SPDX-License-Identifier: GPL-2.0-only */
#include "fixed-bitmap.h"

#include <string.h>

bool eun_fixed_shape_init(struct eun_fixed_shape *shape, uint32_t cap)
{
    if (cap == 0 || cap % 64u != 0 || cap > EUN_FIXED_CAP_MAX)
        return false;
    uint32_t size = 64;
    while (size < cap)
        size *= 2u;
    *shape = (struct eun_fixed_shape){.cap = cap, .mask = size - 1u, .words = size / 64u * 2u};
    return true;
}

void eun_fixed_clear(const struct eun_fixed_shape *shape, uint64_t *words)
{
    memset(words, 0, shape->words * sizeof *words);
}

bool eun_fixed_has_gap(const struct eun_fixed_shape *shape, const uint64_t *words)
{
    uint64_t any = 0;
    for (uint32_t i = 0; i < shape->words; i += 2u)
        any |= words[i];
    return any != 0;
}

bool eun_fixed_holds(const struct eun_fixed_shape *shape, const uint64_t *words, uint32_t expected,
                     uint32_t psn)
{
    uint64_t word = words[(psn & shape->mask) / 64u * 2u];
    return psn - expected < shape->cap && (word >> (psn % 64u) & 1u) != 0;
}
