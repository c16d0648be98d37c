/* SPDX-License-Identifier: GPL-2.0-only */
#include "balancer.h"

#include <string.h>

const struct eun_balancer *const eun_balancers[] = {
    &eun_balancer_spray,
    &eun_balancer_spray_rr,
    &eun_balancer_ecmp,
    NULL,
};

const struct eun_balancer *eun_balancer_find(const char *name)
{
    for (size_t i = 0; eun_balancers[i]; i++)
        if (strcmp(eun_balancers[i]->name, name) == 0)
            return eun_balancers[i];
    return NULL;
}
