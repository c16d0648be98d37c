/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_CONGESTION_H
#define EUNOMIA_CONGESTION_H

/**
 * Congestion control of one QP: how fast it may send, and how much may be in flight.
 *
 * A control is a table of functions in a file of its own and one line in the list of
 * `congestion.c`. Time comes in, in picoseconds; deadlines go out. A deadline that has come is
 * reported with on_timer(), which moves it; INT64_MAX means none. Events of one instant may be
 * reported in any order, and a report before its time changes nothing.
 */

#include "../wire/int.h"
#include "dcqcn.h"
#include "dctcp.h"
#include "hpcc.h"
#include "timely.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Timers that a control may have running at once. */
#define EUN_CC_TIMERS 2

/** What a control lives on: the fabric and the NICs make what some sender asks for, no more. */
enum eun_cc_signal {
    EUN_CC_SIGNAL_NONE,
    EUN_CC_SIGNAL_CNP,  /**< frames of the receiver that report CE marks */
    EUN_CC_SIGNAL_ECHO, /**< each answer says whether its packet came with CE */
    EUN_CC_SIGNAL_RTT,  /**< round trips that the sender measures */
    EUN_CC_SIGNAL_INT,  /**< what switches write into data packets (core/wire/int.h) */
};

/** Parameters of every control; each reads its own. Lives as long as the NIC. */
struct eun_cc_config {
    uint64_t line_rate_bps;
    int64_t base_rtt_ps;     /**< longest round trip in the empty network, > 0 */
    uint32_t mtu_bytes;      /**< payload of a full packet, ... */
    uint32_t mtu_wire_bytes; /**< ... and what it takes of the wire, headers and gap included */
    struct eun_dcqcn_config dcqcn;
    struct eun_hpcc_config hpcc;
    struct eun_timely_config timely;
    struct eun_dctcp_config dctcp;
};

/** State of one QP. The caller holds it and reads the first three. */
struct eun_cc {
    uint64_t rate_bps;                  /**< pace data at this rate, headers included */
    int64_t deadline_ps[EUN_CC_TIMERS]; /**< when on_timer() is due */
    uint32_t window_bytes;              /**< most payload bytes in flight; 0: no limit */
    union {
        struct eun_dcqcn dcqcn;
        struct eun_hpcc hpcc;
        struct eun_timely timely;
        struct eun_dctcp dctcp;
    } u;
};

/** An answer of the receiver: ACK, SACK or NACK. It speaks of the packet that caused it. */
struct eun_cc_ack {
    int64_t now_ps;
    int64_t rtt_ps;             /**< round trip measured with it; -1: none */
    uint64_t in_flight;         /**< payload bytes in flight before it */
    uint32_t psn;               /**< packet that it answers */
    uint32_t nxt;               /**< next PSN never sent */
    bool ce;                    /**< that packet came with a congestion mark */
    struct eun_int_path in;     /**< what switches wrote into that packet; no hops: nothing */
    struct eun_int_path before; /**< the same of the answer before, as far as the caller has it */
    int64_t before_ps;          /**< when that one came */
};

struct eun_cc_ops {
    const char *name;    /**< as on the command line */
    const char *summary; /**< one line for --help */
    enum eun_cc_signal signal;
    bool measures_delay; /**< takes the time that packets are under way for a sign of queues */
    void (*init)(struct eun_cc *cc, const struct eun_cc_config *config);

    /* What follows is NULL where a control does not need it. */

    /** A congestion notification (CNP frame, or the echo in an ACK) arrived. */
    void (*on_cnp)(struct eun_cc *cc, const struct eun_cc_config *config, int64_t now_ps);
    void (*on_timer)(struct eun_cc *cc, const struct eun_cc_config *config, int timer,
                     int64_t now_ps);
    /** An answer came in, and the sender has taken it in. */
    void (*on_ack)(struct eun_cc *cc, const struct eun_cc_config *config,
                   const struct eun_cc_ack *ack);
};

extern const struct eun_cc_ops eun_cc_dcqcn;
extern const struct eun_cc_ops eun_cc_none;
extern const struct eun_cc_ops eun_cc_hpcc;
extern const struct eun_cc_ops eun_cc_timely;
extern const struct eun_cc_ops eun_cc_dctcp;

/** All of them, NULL at the end; the first is the default. */
extern const struct eun_cc_ops *const eun_ccs[];

/** NULL where there is none of that name. */
const struct eun_cc_ops *eun_cc_find(const char *name);

/** At line rate, no window, no timer: how a control starts. */
void eun_cc_start(struct eun_cc *cc, const struct eun_cc_config *config);

#ifdef __cplusplus
}
#endif
#endif
