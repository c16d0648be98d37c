/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_HPCC_H
#define EUNOMIA_HPCC_H

/**
 * HPCC (Li et al., SIGCOMM 2019, algorithm 1): a window that keeps the bytes in flight on the
 * busiest link of the path just below what the link holds, by what switches write into packets.
 *
 * For each link, between the records of two answers in a row, T being the base round trip:
 *   u = min(queue then, queue now) / (rate T) + (bytes carried / time between) / rate
 * The largest u, with tau = min(time between, T), goes into U <- (1 - tau/T) U + (tau/T) u. Then
 *   U >= eta, or max_stage increases have been: W = Wc / (U/eta) + W_AI
 *   otherwise:                                  W = Wc + W_AI
 * and once a round trip, with the answer to a packet sent after the last time, Wc <- W. Packets are
 * paced at W/T.
 *
 * Two answers that took other paths, or lie so far apart that counters may have wrapped, make no
 * u, as in the paper: the new records replace the old. Hence under packet spraying few answers
 * count, and the control is slow.
 *
 * Beyond the paper: W is at most what it starts with, rate x T of the NIC's line; U starts at 1.
 * Windows here are bytes of the wire, headers and gaps included, as the links count them;
 * eun_cc::window_bytes is the payload of that many.
 */

#include <stdbool.h>
#include <stdint.h>

struct eun_hpcc_config {
    double eta;         /**< utilisation aimed at, 0.95 there */
    uint32_t max_stage; /**< increases in a row, 5 there */
    uint32_t ai_bytes;  /**< W_AI, 80 there */
};

struct eun_hpcc {
    double window; /**< W */
    double base;   /**< Wc */
    double u;      /**< U */
    uint32_t stage;
    uint32_t update_from; /**< the answer to this packet or a later one updates Wc */
    bool begun;
};

#endif
