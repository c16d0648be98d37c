/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_DCQCN_H
#define EUNOMIA_DCQCN_H

/**
 * DCQCN reaction point (Zhu et al., SIGCOMM 2015) in the variant that NIC firmware and the
 * HPCC/ConWeave simulators share: alpha and rate are updated on periodic timers, the rate rises by
 * a timer alone (no byte counter).
 *
 * - Alpha tick, every alpha_interval after the first CNP:
 *   alpha <- (1-g) alpha + (CNP since the last tick ? g : 0).
 *   The first CNP sets alpha to 1 and does not count here.
 * - Decrease check, every decrease_interval and 1 ns after an alpha tick; if a CNP came since the
 *   last check: target <- rate if an increase came since the last decrease (or with clamp_target),
 *   then rate <- max(min, rate (1 - alpha/2)).
 * - Increase, every increase_interval after the last decrease, the s-th of them (from 0):
 *   s = F: target += R_AI; s > F: target += R_HAI; then rate <- (rate + target)/2.
 *
 * Rates are whole bits per second, rounded down; one short of the line rate counts as full. What
 * falls on one instant runs in this order: alpha tick, increase, decrease, CNP.
 *
 * The periodic timers are evaluated lazily: a QP without CNPs costs nothing.
 */

#include <stdbool.h>
#include <stdint.h>

/** Defaults at 100 Gb/s: the published ConWeave runs (run.py of conweave-ns3). */
struct eun_dcqcn_config {
    double g;                     /**< alpha gain, 1/256 */
    int64_t alpha_interval_ps;    /**< 1 us */
    int64_t decrease_interval_ps; /**< 4 us */
    int64_t increase_interval_ps; /**< 300 us */
    uint32_t fast_recovery_steps; /**< F, 1 */
    uint64_t rate_ai_bps;         /**< 40 Mb/s */
    uint64_t rate_hai_bps;        /**< 100 Mb/s */
    uint64_t rate_min_bps;        /**< 100 Mb/s; at most the line rate */
    bool clamp_target;            /**< a decrease always sets target to the rate, false */
};

struct eun_dcqcn {
    double alpha;
    uint64_t target_bps;
    int64_t first_cnp_ps; /**< phase of the periodic timers; -1 before the first CNP */
    int64_t alpha_ticks;  /**< alpha ticks already applied */
    uint32_t stage;
    bool cnp_for_alpha;    /**< a CNP came since the last alpha tick */
    bool cnp_for_decrease; /**< a CNP came since the last decrease check */
};

#endif
