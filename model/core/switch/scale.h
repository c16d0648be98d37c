/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_SCALE_H
#define EUNOMIA_SCALE_H

#include <stdint.h>

/**
 * A length of a queue that is given for a port of 100 Gb/s, for one of `rate_bps`: it takes as long
 * to drain. Rounded down; UINT32_MAX where it is that or more.
 */
static inline uint32_t eun_lb_scale(uint32_t bytes, uint64_t rate_bps)
{
    const double scaled = bytes * ((double)rate_bps / 100e9);
    return scaled < UINT32_MAX ? (uint32_t)scaled : UINT32_MAX;
}

#endif
