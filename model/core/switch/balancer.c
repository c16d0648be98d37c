/* SPDX-License-Identifier: GPL-2.0-only */
#include "balancer.h"

#include <string.h>

#define ENTRY(name) &eun_balancer_##name,
const struct eun_balancer *const eun_balancers[] = {EUN_BALANCERS(ENTRY) NULL};

const struct eun_lb_params eun_lb_defaults = {
    .drill_samples = 2,
    .drill_memory = 1,
    .flowlet_timeout_ps = 100000000,
    .dre_interval_ps = 50000000,
    .dre_alpha = 0.2,
    .conga_bits = 3,
    .conga_aging_ps = 500000000,
    .deflect_hops = 16,
    .deflect_bytes = 500000,
    .elephant_bytes = 30000,
    .elephant_queue = 0,
    .elephant_aging_ps = 1000000000,
    .adaptive_grades = 3,
    .adaptive_limit = {2000, 20000, 100000},
    .conweave =
        {
            .reply_extra_ps = 4000000,
            .path_busy_ps = 8000000,
            .resume_extra_ps = 64000000,
            .resume_default_ps = 200000000,
            .inactive_ps = 300000000,
            .queues_per_port = 31,
            .header_bytes = 4,
            .abort = true,
            .timer_clears = true,
        },
};

const struct eun_balancer *eun_balancer_find(const char *name)
{
    for (size_t i = 0; eun_balancers[i]; i++)
        if (strcmp(eun_balancers[i]->name, name) == 0)
            return eun_balancers[i];
    return NULL;
}
