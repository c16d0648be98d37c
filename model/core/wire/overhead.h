/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_OVERHEAD_H
#define EUNOMIA_OVERHEAD_H

/**
 * How long each frame is. RoCEv2 lengths follow the InfiniBand specification's Annex A17 over
 * IPv4: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4; AETH 4, RETH 16, ImmDt 4, CNP 16.
 * Our ordering header is 8 bytes (Head 32, Last 1, generation 7, MSN 24 bits), and SACK and NACK
 * carry the PSN they speak of in 8 bytes after the AETH.
 *
 * Stored length: what a switch buffers, FCS included. The wire adds `gap` to every frame:
 * preamble and start delimiter 8, inter-packet gap 12 (IEEE 802.3).
 */

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum eun_verb { EUN_VERB_SEND, EUN_VERB_WRITE, EUN_VERB_WRITE_IMM };

struct eun_overhead {
    uint32_t data;  /**< added to the payload of every data packet */
    uint32_t first; /**< added to the first packet of a message (RETH where only it has one) */
    uint32_t last;  /**< added to the last packet of a message (immediate data) */
    bool padded;    /**< payload is padded to 4 bytes */
    uint32_t ack;   /**< length of an ACK frame */
    uint32_t sack;  /**< of a SACK or NACK of a reorder-tolerant transport */
    uint32_t cnp;
    uint32_t pfc;
    uint32_t gap; /**< wire time after each frame, in bytes */
};

/** `ordered`: the transport keeps packets in order itself, so needs no ordering header. */
void eun_overhead_roce(struct eun_overhead *o, enum eun_verb verb, bool ordered);

/**
 * `bytes` a data packet and 60 a control frame, nothing else on the wire: how the HPCC family of
 * simulators counts (48 there; its PFC frame has 43 bytes).
 */
void eun_overhead_flat(struct eun_overhead *o, uint32_t bytes);

/**
 * As one of the two above: flat where `flat` bytes are not 0, else RoCEv2 with `verb` send, write
 * or write-imm. False where there is no such verb, flat or not.
 */
bool eun_overhead_choose(struct eun_overhead *o, const char *verb, uint32_t flat, bool ordered);

/** Every answer names the packet that it answers, as MP-RDMA's do: an ACK is as long as a SACK. */
static inline void eun_overhead_name_answers(struct eun_overhead *o)
{
    o->ack = o->sack;
}

/** Stored length of a data packet. */
static inline uint32_t eun_overhead_data(const struct eun_overhead *o, uint32_t payload, bool first,
                                         bool last)
{
    const uint32_t padded = o->padded ? (payload + 3u) & ~3u : payload;
    return padded + o->data + (first ? o->first : 0) + (last ? o->last : 0);
}

#ifdef __cplusplus
}
#endif
#endif
