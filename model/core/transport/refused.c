/* SPDX-License-Identifier: GPL-2.0-only */
#include "refused.h"

#include "../reorder/psn.h"

#include <string.h>

static void remove_range(struct eun_refused *set, uint32_t index)
{
    set->count--;
    memmove(&set->range[index], &set->range[index + 1],
            (set->count - index) * sizeof set->range[0]);
}

/** Makes ranges `index` and the one after it one. */
static void join(struct eun_refused *set, uint32_t index)
{
    struct eun_refused_range *low = &set->range[index];
    const struct eun_refused_range *high = low + 1;
    if (eun_psn_before(low->end, high->end))
        low->end = high->end;
    if (eun_psn_before(low->after, high->after))
        low->after = high->after;
    remove_range(set, index + 1);
}

static void join_nearest(struct eun_refused *set)
{
    uint32_t best = 0;
    uint32_t best_gap = UINT32_MAX;
    for (uint32_t i = 0; i + 1 < set->count; i++) {
        const uint32_t gap = set->range[i + 1].first - set->range[i].end;
        if (gap < best_gap) {
            best_gap = gap;
            best = i;
        }
    }
    join(set, best);
}

void eun_refused_add(struct eun_refused *set, uint32_t psn, uint32_t after)
{
    uint32_t i = 0;
    while (i < set->count && eun_psn_before(set->range[i].end, psn))
        i++;
    struct eun_refused_range *range = &set->range[i];
    if (i == set->count || eun_psn_before(psn + 1u, range->first)) {
        memmove(range + 1, range, (set->count - i) * sizeof *range);
        *range = (struct eun_refused_range){.first = psn, .end = psn + 1u, .after = after};
        set->count++;
        if (set->count > EUN_REFUSED_RANGES)
            join_nearest(set);
        return;
    }
    if (eun_psn_before(psn, range->first))
        range->first = psn;
    if (range->end == psn)
        range->end = psn + 1u;
    if (eun_psn_before(range->after, after))
        range->after = after;
    if (i + 1 < set->count && range->end == set->range[i + 1].first)
        join(set, i);
}

void eun_refused_trim(struct eun_refused *set, uint32_t una)
{
    while (set->count > 0 && !eun_psn_before(una, set->range[0].end))
        remove_range(set, 0);
    if (set->count > 0 && eun_psn_before(set->range[0].first, una))
        set->range[0].first = una;
}

int eun_refused_due(const struct eun_refused *set, uint32_t una, uint32_t reach)
{
    for (uint32_t i = 0; i < set->count; i++) {
        const struct eun_refused_range *range = &set->range[i];
        if (range->first - una >= reach)
            break;
        /* `una` itself was refused before it was awaited, whatever its neighbours were later. */
        if (range->first == una || eun_psn_before(range->after, una))
            return (int)i;
    }
    return -1;
}

void eun_refused_drop_first(struct eun_refused *set, uint32_t index)
{
    struct eun_refused_range *range = &set->range[index];
    if (++range->first == range->end)
        remove_range(set, index);
}
