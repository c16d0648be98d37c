/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_CONGESTION_H
#define EUNOMIA_CONGESTION_H

/**
 * Congestion control of one QP: how fast it may send.
 *
 * A control is a table of functions in a file of its own and one line in the list of
 * `congestion.c`. Time comes in, in picoseconds; deadlines go out. A deadline that has come is
 * reported with on_timer(), which moves it; INT64_MAX means none. Events of one instant may be
 * reported in any order, and a report before its time changes nothing.
 */

#include "dcqcn.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Timers that a control may have running at once. */
#define EUN_CC_TIMERS 2

/** Parameters of every control; each reads its own. Lives as long as the NIC. */
struct eun_cc_config {
    uint64_t line_rate_bps;
    struct eun_dcqcn_config dcqcn;
};

/** State of one QP. The caller holds it and reads `rate_bps` and `deadline_ps`. */
struct eun_cc {
    uint64_t rate_bps;                  /**< pace data at this rate, headers included */
    int64_t deadline_ps[EUN_CC_TIMERS]; /**< when on_timer() is due */
    union {
        struct eun_dcqcn dcqcn;
    } u;
};

struct eun_cc_ops {
    const char *name;    /**< as on the command line */
    const char *summary; /**< one line for --help */
    void (*init)(struct eun_cc *cc, const struct eun_cc_config *config);
    /** A congestion notification (CNP frame, or the echo in an ACK) arrived. */
    void (*on_cnp)(struct eun_cc *cc, const struct eun_cc_config *config, int64_t now_ps);
    void (*on_timer)(struct eun_cc *cc, const struct eun_cc_config *config, int timer,
                     int64_t now_ps);
};

extern const struct eun_cc_ops eun_cc_dcqcn;
extern const struct eun_cc_ops eun_cc_none;

/** All of them, NULL at the end; the first is the default. */
extern const struct eun_cc_ops *const eun_ccs[];

/** NULL where there is none of that name. */
const struct eun_cc_ops *eun_cc_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
