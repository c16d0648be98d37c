/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_GROUP_H
#define EUNOMIA_GROUP_H

/**
 * What balancers that remember something about a group of ways find it by: a hash of the number of
 * ways, the first and the last of them. Equal groups have equal hashes; others may meet, so what is
 * remembered must do no harm to a group that it does not come from.
 */

#include "balancer.h"
#include "rng.h"

static inline uint64_t eun_lb_group_hash(const struct eun_lb_view *view)
{
    return eun_mix64((uint64_t)view->count << 32 | (uint64_t)view->ports[0] << 16 |
                     view->ports[view->count - 1]);
}

#endif
