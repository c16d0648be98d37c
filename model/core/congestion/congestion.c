/* SPDX-License-Identifier: GPL-2.0-only */
#include "congestion.h"

#include <stddef.h>
#include <string.h>

void eun_cc_start(struct eun_cc *cc, const struct eun_cc_config *config)
{
    cc->rate_bps = config->line_rate_bps;
    cc->window_bytes = 0;
    for (int i = 0; i < EUN_CC_TIMERS; i++)
        cc->deadline_ps[i] = INT64_MAX;
}

const struct eun_cc_ops eun_cc_none = {
    .name = "none",
    .summary = "line rate always",
    .signal = EUN_CC_SIGNAL_NONE,
    .init = eun_cc_start,
};

const struct eun_cc_ops *const eun_ccs[] = {&eun_cc_dcqcn,  &eun_cc_none,  &eun_cc_hpcc,
                                            &eun_cc_timely, &eun_cc_dctcp, NULL};

const struct eun_cc_ops *eun_cc_find(const char *name)
{
    for (size_t i = 0; eun_ccs[i]; i++)
        if (strcmp(eun_ccs[i]->name, name) == 0)
            return eun_ccs[i];
    return NULL;
}
