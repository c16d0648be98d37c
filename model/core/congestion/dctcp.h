/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_DCTCP_H
#define EUNOMIA_DCTCP_H

/**
 * DCTCP (Alizadeh et al., SIGCOMM 2010; where the paper leaves something open, RFC 8257), with the
 * packets of a QP in place of a TCP connection's. Every answer, SACKs and NACKs too, speaks of one
 * packet, so the echo of marks is exact.
 *
 * - A window of data ends with the answer to the packet that was next to be sent when it began.
 *   Then alpha <- (1-g) alpha + g F, F being the share of its packets that came marked. Alpha
 *   starts from 1 (RFC 8257).
 * - The first marked answer cuts the window by alpha/2; no other does until packets are answered
 *   that left after it.
 * - An answer without a mark adds MTU x MTU / window, one MTU a round trip, where the window is
 *   what held the sender back (RFC 7661).
 *
 * The window begins with what the line carries in the longest empty round trip, as RDMA starts at
 * line rate: no slow start. It never falls below one MTU. Packets are paced at line rate. Loss does
 * not touch the window: here it is the transport's business, and rare.
 *
 * Windows are payload bytes.
 */

#include <stdbool.h>
#include <stdint.h>

struct eun_dctcp_config {
    double g; /**< gain of alpha, 1/16 in the paper */
};

struct eun_dctcp {
    double window; /**< payload bytes */
    double alpha;
    uint32_t window_end; /**< the window of data ends with the answer to this packet */
    uint32_t cut_end;    /**< no other cut before the answer to this packet, where `cut` */
    uint32_t answers;    /**< in this window of data */
    uint32_t marked;     /**< of these */
    bool begun;
    bool cut;
};

#endif
