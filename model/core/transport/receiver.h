/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_RECEIVER_H
#define EUNOMIA_RECEIVER_H

/** The responder's half of a QP: takes data packets, answers with ACK, SACK or NACK. */

#include "../reorder/fixed-bitmap.h"
#include "../reorder/reorder.h"
#include "packet.h"

#ifdef __cplusplus
extern "C" {
#endif

struct eun_staging;

/** No slot of a staging buffer. */
#define EUN_STAGING_NONE UINT32_MAX

/** What the receivers of one NIC share; lives as long as the NIC. */
struct eun_receiver_env {
    struct eun_reorder *reorder;         /**< of transports with EUN_ORDERING_POOL, else NULL */
    const struct eun_fixed_shape *fixed; /**< of transports with EUN_ORDERING_FIXED, else NULL */
    int64_t nack_interval_ps;    /**< a go-back-N NACK for the same PSN repeats after this */
    uint32_t ack_every;          /**< in-order packets an ACK covers, >= 1; a Last always asks */
    uint32_t sack_every;         /**< held packets of which one is SACKed, 0 as 1 */
    uint32_t fallback_after;     /**< memory refusals without progress before go-back-N; 0 as 1 */
    struct eun_staging *staging; /**< gate `receiver`: early Lasts (staging.h); else NULL */
    uint64_t fallbacks;          /**< QPs degraded to go-back-N so far */
};

enum eun_disposition {
    EUN_RX_ACCEPTED,  /**< in order: the prefix moved */
    EUN_RX_HELD,      /**< ahead of the prefix, kept */
    EUN_RX_DUPLICATE, /**< had arrived before */
    EUN_RX_REFUSED,   /**< ahead of the prefix, not kept; a NACK may say why */
    EUN_RX_INVALID,   /**< contradicts a known message; no effect, no answer */
};

struct eun_rx_verdict {
    struct eun_feedback feedback; /**< to send now; kind NONE where nothing is due */
    uint8_t disposition;          /**< enum eun_disposition */
    bool out_of_order;            /**< arrived ahead of the cumulative point */
    uint32_t span;                /**< how far ahead, in PSNs */
    uint32_t advanced;            /**< PSNs that the prefix moved */
    uint32_t completed;           /**< messages that became complete, in MSN order */
    uint32_t visible;             /**< of these, visible at once; eun_staging_finished() has more */
};

/**
 * State of one responder. The caller holds it and does not move it; eun_receiver_close() frees.
 *
 * The Head of the message at the cumulative point lies in [head, head + head_slack]. The slack is 0
 * (Head known) except after the prefix passed several messages at once while packets of more than
 * one later message were held; the next packet of the message then tells its Head.
 */
struct eun_receiver {
    uint32_t qp;           /**< number in the ordering layer */
    uint32_t expected;     /**< cumulative point */
    uint32_t head;         /**< least possible first PSN of the message at the cumulative point */
    uint32_t head_slack;   /**< how much later it may be, in PSNs */
    uint32_t msn;          /**< its number, 24 bits */
    uint32_t unacked;      /**< in-order packets since the last answer */
    uint32_t unsacked;     /**< packets held since the last SACK */
    uint32_t refusals;     /**< memory refusals since the prefix last moved */
    uint32_t nacked;       /**< expected PSN of the last go-back-N NACK */
    int64_t nack_again_ps; /**< when it may be repeated */
    uint64_t *bitmap;      /**< what is held; see eun_receiver_lend() */
    uint32_t staged;       /**< slot of the first of its Lasts that wait, or EUN_STAGING_NONE */
    uint32_t copying;      /**< slot of the newest of its Lasts that are being copied, ... */
    uint32_t copies;       /**< ... how many these are; 0: `copying` means nothing */
    uint32_t farthest;     /**< highest PSN that came ahead of the prefix, where `ahead` */
    uint32_t normal_at;    /**< cumulative point at which a degraded QP is normal again */
    uint32_t later_head;   /**< Head of the newest message of which a packet is held */
    uint32_t later_msn;    /**< its number */
    uint32_t ahead_psn;    /**< farthest PSN that is held; it is of the newest message */
    bool later_valid;      /**< there is such a message past the one at the cumulative point */
    bool ahead_valid;      /**< some PSN is held */
    bool ahead_last;       /**< some PSN is held, and `ahead_psn` is a Last */
    bool ahead;            /**< the prefix has not yet passed `farthest` */
    bool nack_valid;       /**< `nacked` means something */
    bool degraded;         /**< fell back to go-back-N */
};

struct eun_transport;

/**
 * Starts at `first_psn`, message 0, generation checked by the NIC, which also opens `qp` in the
 * ordering layer.
 */
void eun_receiver_init(struct eun_receiver *rx, uint32_t qp, uint32_t first_psn);

/**
 * `rx`, which was initialised just now, keeps what it holds in `words`, an array of `shape->words`;
 * `shape` is also that of its environment. The caller owns the array, which is emptied here, and
 * leaves it alone until eun_receiver_close(). For transports with EUN_ORDERING_FIXED.
 */
void eun_receiver_lend(struct eun_receiver *rx, const struct eun_fixed_shape *shape,
                       uint64_t *words);

/**
 * The ordering memory of `rx` was found to be corrupt: forgets all that lies ahead of the
 * cumulative point, its blocks leak until eun_reorder_scrub(), and works as go-back-N until that
 * has come again. Result: the NACK to send at `now`; kind NONE where nothing can have been held.
 * For transports with EUN_ORDERING_POOL; no effect on others.
 */
struct eun_feedback eun_receiver_recover(struct eun_receiver *rx, struct eun_receiver_env *env,
                                         int64_t now);

/** Gives back staging and ordering memory. The caller forgets `rx` afterwards. */
void eun_receiver_close(struct eun_receiver *rx, struct eun_receiver_env *env);

#ifdef __cplusplus
}
#endif
#endif
