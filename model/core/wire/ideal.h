/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_IDEAL_H
#define EUNOMIA_IDEAL_H

/**
 * Flow completion time in an empty network, in closed form: what slowdown is measured against.
 *
 * On one path of h equal store-and-forward links, packet n leaves link k at
 *   D(k,n) = max(D(k,n-1), D(k-1,n) + delay) + s(n),
 * whose solution (max-plus algebra) for the last packet is
 *   sum of s(i) + (h-1) x max s(i) + h x delay;
 * the answer takes h x (s(ack) + delay) back. It waits for the answer before it where the last
 * packet is shorter than an answer. Exact as long as the other packets are not: with 256 bytes of
 * payload or more they never are. Each s(n) is rounded down to a picosecond, so that the ideal is
 * never late.
 *
 * Where packets may take different ways between the first and the last link, a short last packet of
 * a flow of fewer than h packets can reach the last link before the first one, which saves up to
 * its own transmission time. That is the least that any choice of ways allows; answers do not wait.
 */

#include "overhead.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct eun_path {
    uint32_t links;    /**< h, >= 1 */
    uint64_t rate_bps; /**< of every link */
    int64_t delay_ps;  /**< propagation of one link */
    bool multipath;    /**< packets may take different ways between first and last link */
};

/** Time that a frame of that stored length occupies a link, in picoseconds. */
int64_t eun_wire_time(const struct eun_overhead *o, uint64_t rate_bps, uint32_t bytes);

/**
 * From posting to the arrival of the last answer, in picoseconds, of a flow of 1 byte or more. More
 * than 2^31 bytes are several messages. `mtu` in payload bytes, 1 or more.
 */
int64_t eun_ideal_fct(const struct eun_overhead *o, const struct eun_path *path, uint32_t mtu,
                      uint64_t bytes);

/** A full data packet one way, an ACK back, nothing else, in picoseconds. */
int64_t eun_base_rtt(const struct eun_overhead *o, const struct eun_path *path, uint32_t mtu);

#ifdef __cplusplus
}
#endif
#endif
