/* SPDX-License-Identifier: GPL-2.0-only */
#include "allowance.h"

#include "../reorder/psn.h"

void eun_allowance_init(struct eun_allowance *a)
{
    *a = (struct eun_allowance){.packets = EUN_ALLOWANCE_UNLIMITED};
}

static void lower(struct eun_allowance *a, uint32_t packets, uint32_t threshold, uint32_t nxt)
{
    a->packets = packets;
    a->threshold = threshold;
    a->credit = 0;
    a->cut_until = nxt;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/** Half of what is outstanding, which is `nxt - una` or, after a cut, no more than allowed. */
static uint32_t half_of_flight(const struct eun_allowance *a, uint32_t una, uint32_t nxt)
{
    const uint32_t flight = smaller(a->packets, nxt - una);
    return flight > 1 ? flight / 2 : 1;
}

static bool was_cut_in_this_window(const struct eun_allowance *a, uint32_t una)
{
    return a->packets != EUN_ALLOWANCE_UNLIMITED && eun_psn_before(una, a->cut_until);
}

void eun_allowance_cut(struct eun_allowance *a, uint32_t una, uint32_t nxt, uint32_t cap)
{
    if (was_cut_in_this_window(a, una))
        return;
    const uint32_t half = half_of_flight(a, una, una + smaller(nxt - una, cap));
    lower(a, half, half, nxt);
}

void eun_allowance_restart(struct eun_allowance *a, uint32_t una, uint32_t nxt)
{
    const bool again = was_cut_in_this_window(a, una);
    lower(a, 1, again ? a->threshold : half_of_flight(a, una, nxt), nxt);
}

void eun_allowance_grow_limited(struct eun_allowance *a, uint32_t packets, uint32_t cap)
{
    if (a->packets < a->threshold) {
        const uint32_t room = a->threshold - a->packets;
        const uint32_t step = smaller(packets, room);
        a->packets += step;
        packets -= step;
    }
    a->credit += packets;
    while (a->credit >= a->packets && a->packets < cap)
        a->credit -= a->packets++;
    if (a->packets >= cap)
        a->packets = EUN_ALLOWANCE_UNLIMITED;
}
