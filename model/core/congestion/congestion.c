/* SPDX-License-Identifier: GPL-2.0-only */
#include "congestion.h"

#include <stddef.h>
#include <string.h>

static void none_init(struct eun_cc *cc, const struct eun_cc_config *config)
{
    cc->rate_bps = config->line_rate_bps;
    for (int i = 0; i < EUN_CC_TIMERS; i++)
        cc->deadline_ps[i] = INT64_MAX;
}

static void none_on_cnp(struct eun_cc *cc, const struct eun_cc_config *config, int64_t now)
{
    (void)cc;
    (void)config;
    (void)now;
}

static void none_on_timer(struct eun_cc *cc, const struct eun_cc_config *config, int timer,
                          int64_t now)
{
    (void)cc;
    (void)config;
    (void)timer;
    (void)now;
}

const struct eun_cc_ops eun_cc_none = {
    .name = "none",
    .summary = "line rate always",
    .init = none_init,
    .on_cnp = none_on_cnp,
    .on_timer = none_on_timer,
};

const struct eun_cc_ops *const eun_ccs[] = {&eun_cc_dcqcn, &eun_cc_none, NULL};

const struct eun_cc_ops *eun_cc_find(const char *name)
{
    for (size_t i = 0; eun_ccs[i]; i++)
        if (strcmp(eun_ccs[i]->name, name) == 0)
            return eun_ccs[i];
    return NULL;
}
