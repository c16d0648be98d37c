/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_INT_H
#define EUNOMIA_INT_H

/**
 * In-band telemetry in the layout of HPCC (Li et al., SIGCOMM 2019, section 4.1): each switch that
 * a data packet crosses appends a record of 64 bits as the packet leaves, and the answer carries
 * all of them back.
 *
 *   bits 60..63  rate of the link that it leaves by, as a code; see eun_int_rate()
 *   bits 36..59  time of leaving, ns; wraps after 16.8 ms
 *   bits 16..35  bytes that the link has carried before it, in units of 128; wraps after 134 MB,
 *                which is 10.7 ms at 100 Gb/s
 *   bits  0..15  bytes left in the queue, in units of 80; 65,535 says as much or more (5.2 MB)
 *
 * The sender's NIC puts a header of 4 bytes before the records: 16 bits how many, 16 bits that tell
 * paths apart, the XOR of a number of each link. The paper's has 4 + 12 bits, which end at 15 hops.
 */

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EUN_INT_HEADER_BYTES 4u
#define EUN_INT_HOP_BYTES 8u
#define EUN_INT_TX_UNIT 128u
#define EUN_INT_QUEUE_UNIT 80u

/** The records of one packet, in order of the switches. */
struct eun_int_path {
    const uint64_t *hops; /**< as encoded */
    uint32_t count;
    uint16_t path; /**< differs between paths, but for chance */
};

/** A record, decoded. */
struct eun_int_hop {
    uint64_t rate_bps;
    uint64_t queue_bytes; /**< rounded down to 80 bytes */
    uint32_t time_ns;     /**< modulo 2^24 */
    uint32_t tx_units;    /**< 128 bytes each, modulo 2^20 */
};

/** What `hops` records and the header take of a frame. */
static inline uint32_t eun_int_bytes(uint32_t hops)
{
    return EUN_INT_HEADER_BYTES + EUN_INT_HOP_BYTES * hops;
}

/** Rate of a code 0..15, in bits a second. */
uint64_t eun_int_rate(uint32_t code);
/** Code of that very rate; -1 where it has none: a record cannot speak of such a link. */
int eun_int_rate_code(uint64_t rate_bps);

/** `code` 0..15; the other values may be of any size. */
uint64_t eun_int_encode(uint32_t code, int64_t now_ps, uint64_t tx_bytes, uint64_t queue_bytes);
struct eun_int_hop eun_int_decode(uint64_t record);

/** Nanoseconds from `before` to `hop`, less than 8.4 ms either way; negative: it is older. */
static inline int32_t eun_int_elapsed_ns(const struct eun_int_hop *before,
                                         const struct eun_int_hop *hop)
{
    const uint32_t ticks = (hop->time_ns - before->time_ns) & 0xffffffu;
    return ticks < 0x800000u ? (int32_t)ticks : (int32_t)ticks - 0x1000000;
}

/** Bytes that the link carried between them, less than 134 MB, within 128. */
static inline uint32_t eun_int_carried(const struct eun_int_hop *before,
                                       const struct eun_int_hop *hop)
{
    return ((hop->tx_units - before->tx_units) & 0xfffffu) * EUN_INT_TX_UNIT;
}

/**
 * Longest time between two records of a link of that rate for which the two above are right even
 * if the queues between have changed by as much again: half of what either wraps after.
 */
int64_t eun_int_horizon_ps(uint64_t rate_bps);

#ifdef __cplusplus
}
#endif
#endif
