/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_CONWEAVE_H
#define EUNOMIA_CONWEAVE_H

/**
 * What ConWeave's switches tell each other (Song et al., "Network Load Balancing with In-network
 * Reordering Support for RDMA", SIGCOMM 2023, section 3.4): 47 bits, of which 15 lie in reserved
 * bits of the BTH and two timestamps in a header of 4 bytes.
 *
 * The tag, from bit 0: path (8), what is left of it (8, see below), opcode (3), epoch (2), rerouted
 * (1), tail (1), 9 unused; time of sending (16), time at which the tail was sent (16). Times count
 * microseconds and wrap.
 *
 * A path is the mixed-radix number of the choices on it, the first switch's being the lowest digit.
 * A real switch would look its digit up by path and destination; here each switch takes it from
 * what is left and divides, and these 8 bits do not count on the wire.
 */

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum eun_cw_opcode {
    EUN_CW_NONE,
    EUN_CW_DATA,
    EUN_CW_REQUEST, /**< RTT_REQUEST: first packet of an epoch */
    EUN_CW_START,   /**< the same of a flow that was silent: its epoch follows none */
    EUN_CW_REPLY,   /**< RTT_REPLY */
    EUN_CW_CLEAR,
    EUN_CW_NOTIFY,
};

enum { EUN_CW_PATHS = 256, EUN_CW_EPOCHS = 4 };

struct eun_cw_header {
    uint8_t path;
    uint8_t left;
    uint8_t opcode;
    uint8_t epoch;
    bool rerouted;
    bool tail;
    uint16_t tx_us;
    uint16_t tail_tx_us;
};

static inline uint64_t eun_cw_pack(const struct eun_cw_header *h)
{
    return (uint64_t)h->path | (uint64_t)h->left << 8 | (uint64_t)h->opcode << 16 |
           (uint64_t)h->epoch << 19 | (uint64_t)h->rerouted << 21 | (uint64_t)h->tail << 22 |
           (uint64_t)h->tx_us << 32 | (uint64_t)h->tail_tx_us << 48;
}

static inline struct eun_cw_header eun_cw_unpack(uint64_t tag)
{
    struct eun_cw_header h;
    h.path = (uint8_t)tag;
    h.left = (uint8_t)(tag >> 8);
    h.opcode = (uint8_t)(tag >> 16 & 7);
    h.epoch = (uint8_t)(tag >> 19 & 3);
    h.rerouted = (tag >> 21 & 1) != 0;
    h.tail = (tag >> 22 & 1) != 0;
    h.tx_us = (uint16_t)(tag >> 32);
    h.tail_tx_us = (uint16_t)(tag >> 48);
    return h;
}

static inline uint16_t eun_cw_clock(int64_t now_ps)
{
    return (uint16_t)(now_ps / 1000000);
}

#ifdef __cplusplus
}
#endif
#endif
