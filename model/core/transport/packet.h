/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_PACKET_H
#define EUNOMIA_PACKET_H

/** What data packets and feedback say to the transport, decoded; bytes are `wire`'s business. */

#include <stdbool.h>
#include <stdint.h>

/**
 * A data packet. Head, Last and MSN come from the 8-byte ordering header; go-back-N ignores Head
 * and MSN.
 */
struct eun_data {
    uint32_t psn;        /**< extended to 32 bits by the receiver's NIC */
    uint32_t head;       /**< first PSN of its message, 32 bits */
    uint32_t msn;        /**< message number within the QP, 24 bits */
    uint32_t payload;    /**< bytes */
    bool last;           /**< ends its message */
    bool ack_request;    /**< BTH A bit: the sender waits for an answer, do not coalesce this one */
    bool ce;             /**< it came with a congestion mark (ECN 11) */
    bool retransmission; /**< it was sent before */
    bool sync;           /**< MP-RDMA: take it only where nothing before it is missing */
    uint16_t path;       /**< UDP source port, as far as the transport chooses it */
};

enum eun_feedback_kind {
    EUN_FEEDBACK_NONE,
    EUN_FEEDBACK_ACK,  /**< the contiguous prefix is `expected` */
    EUN_FEEDBACK_SACK, /**< as ACK, and `psn` arrived ahead of it; advisory */
    EUN_FEEDBACK_NACK, /**< as ACK, and `psn` was refused for `reason`, or (EUN_NACK_HELD) kept */
};

/** What a NACK is about, mostly why a packet was refused. Stable numbers: they travel in the NACK.
 */
enum eun_nack_reason {
    EUN_NACK_SEQUENCE = 0, /**< go-back-N receiver: out of order, go back to `expected` */
    EUN_NACK_CAP = 1,      /**< beyond the per-QP cap */
    EUN_NACK_MEMORY = 2,   /**< the pool had no room */
    EUN_NACK_STAGING = 3,  /**< receiver gate: no room to stage a Last packet */
    EUN_NACK_DEGRADED = 4, /**< QP fell back to go-back-N: forget SACKs, go back to `expected` */
    EUN_NACK_HELD = 5,     /**< IRN: `psn` came out of order and is kept, `expected` is missing */
    EUN_NACK_SYNC = 6,     /**< MP-RDMA: a synchronise packet before which packets are missing */
};

struct eun_feedback {
    uint8_t kind;        /**< enum eun_feedback_kind */
    uint8_t reason;      /**< enum eun_nack_reason, of a NACK */
    uint32_t expected;   /**< receiver's cumulative point: next PSN expected */
    uint32_t psn;        /**< PSN that was SACKed, or that made the NACK */
    bool ce;             /**< the packet that it answers came with a congestion mark, ... */
    bool retransmission; /**< ... had been sent before, ... */
    uint16_t path;       /**< ... and took this path */
};

#endif
