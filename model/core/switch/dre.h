/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_DRE_H
#define EUNOMIA_DRE_H

/**
 * Discounting rate estimator (Alizadeh et al., "CONGA", SIGCOMM 2014, 3.2): how busy a link is, in
 * one register. Sent bytes are added at once, and every interval T takes the share alpha of all
 * away, so at a constant rate R the register tends to R T / alpha: R over a time constant of
 * T / alpha.
 *
 * Intervals are counted when the register is used, so it costs no event. What fades below one byte
 * stays where it is.
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct eun_dre {
    double bytes;
    int64_t due_ps; /**< end of the present interval */
};

/** Counts the intervals that ended by `now_ps`; `keep` is 1 - alpha, `interval_ps` is T > 0. */
static inline void eun_dre_fade(struct eun_dre *d, double keep, int64_t interval_ps, int64_t now_ps)
{
    if (now_ps < d->due_ps)
        return;
    const int64_t ended = (now_ps - d->due_ps) / interval_ps + 1;
    d->due_ps += ended * interval_ps;
    for (int64_t i = 0; i < ended && d->bytes >= 1; i++)
        d->bytes *= keep;
}

/**
 * What the register holds, in steps of 1/levels of what a link at full rate tends to, at most
 * levels - 1. `step_bytes` is the size of a step: rate T / (8 alpha levels).
 */
static inline uint32_t eun_dre_level(const struct eun_dre *d, double step_bytes, uint32_t levels)
{
    const double level = d->bytes / step_bytes;
    return level < levels ? (uint32_t)level : levels - 1;
}

#ifdef __cplusplus
}
#endif
#endif
