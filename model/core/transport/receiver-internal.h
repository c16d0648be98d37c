/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_RECEIVER_INTERNAL_H
#define EUNOMIA_RECEIVER_INTERNAL_H

/** What the transport policies share on the receiving side. Not for callers outside transport/. */

#include "receiver.h"

#define EUN_MSN_MASK 0xffffffu

/** How far message number `a` lies ahead of `b` (24-bit serial numbers); negative where behind. */
static inline int32_t eun_msn_diff(uint32_t a, uint32_t b)
{
    return (int32_t)((a - b) << 8) / 256;
}

/** Sets the answer of `out`; any answer tells the cumulative point, so coalescing starts anew. */
void eun_receiver_answer(struct eun_receiver *rx, enum eun_feedback_kind kind,
                         enum eun_nack_reason reason, uint32_t psn, struct eun_rx_verdict *out);

/** As eun_receiver_answer() with an ACK, where `ack_every`, `packet` or a Last asks for one. */
void eun_receiver_acknowledge(struct eun_receiver *rx, uint32_t ack_every,
                              const struct eun_data *packet, struct eun_rx_verdict *out);

/** The prefix moved as a fixed bitmap tells: notes how far, in `rx` and `*out`. */
void eun_receiver_advance(struct eun_receiver *rx, const struct eun_hd_outcome *bits,
                          struct eun_rx_verdict *out);

/** Packet `psn` came ahead of the cumulative point: notes how far, in `rx` and `*out`. */
void eun_receiver_note_ahead(struct eun_receiver *rx, uint32_t psn, struct eun_rx_verdict *out);

/**
 * As eun_receiver_acknowledge(), where the prefix moved on a receiver that keeps what is ahead: not
 * coalesced until the prefix has passed everything that came ahead of it.
 */
void eun_receiver_acknowledge_prefix(struct eun_receiver *rx, uint32_t ack_every,
                                     const struct eun_data *packet, struct eun_rx_verdict *out);

/**
 * A receiver with EUN_ORDERING_FIXED takes `packet`. Fills all of `*out`, with the answers that are
 * the same for all of them: to a packet from below the prefix, to one that moves it, and a NACK
 * (EUN_NACK_CAP) to one past the bitmap. True where `packet` lies ahead and is kept, now or since
 * before (EUN_RX_DUPLICATE): what to say of that is the policy's business.
 */
bool eun_receiver_take_fixed(struct eun_receiver *rx, const struct eun_receiver_env *env,
                             const struct eun_data *packet, struct eun_rx_verdict *out);

/**
 * From here on `rx`, to which packets came ahead of the prefix, holds none and works as go-back-N:
 * until the cumulative point has passed the farthest of them.
 */
void eun_receiver_degrade(struct eun_receiver *rx, struct eun_receiver_env *env);

/**
 * Go-back-N: takes `packet` only where it is the expected one. NACKs carry `reason` and are sent
 * once for an expected PSN, again after the interval (4 us in conweave-ns3).
 */
void eun_receiver_go_back_n(struct eun_receiver *rx, const struct eun_receiver_env *env,
                            const struct eun_data *packet, enum eun_nack_reason reason,
                            uint32_t ack_every, int64_t now, struct eun_rx_verdict *out);

#endif
