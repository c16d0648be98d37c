/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_SENDER_H
#define EUNOMIA_SENDER_H

/**
 * The requester's half of a QP: which packet goes next, what an answer changes, when to give up.
 *
 * Guarantee: [una, nxt) is what may be in flight; a PSN is offered again only after a NACK, a
 * go-back or a timeout; messages complete in order, each once, when every PSN up to their Last is
 * acknowledged.
 */

#include "../reorder/psn.h"
#include "packet.h"

#ifdef __cplusplus
extern "C" {
#endif

/** When a Last packet may leave (design: completion gate). */
enum eun_gate {
    EUN_GATE_NONE,     /**< at once; the receiver alone decides when a message is whole */
    EUN_GATE_SENDER,   /**< when every earlier PSN (of the QP or of the message) is acknowledged */
    EUN_GATE_RECEIVER, /**< at once; the receiver stages it */
};

struct eun_mprdma_config;

/** What the senders of one NIC share. */
struct eun_sender_env {
    uint32_t mtu;          /**< payload bytes of a full packet, 1..65,535 */
    uint32_t cap_psns;     /**< packets past the oldest unacknowledged one that a QP may send while
                                a Last is held or the receiver has refused one; 0 as 1 */
    uint32_t window_bytes; /**< most payload bytes in flight; 0: no limit */
    uint32_t window_psns;  /**< most packets past the oldest unacknowledged one; 0: no limit */
    int64_t rto_ps;        /**< retransmission timeout; see eun_sender_deadline() */
    int64_t rto_low_ps;    /**< timeout while no more than `rto_low_packets` are in flight, ... */
    uint32_t rto_low_packets; /**< ... which is never where this is 0 */
    bool irn_go_back;     /**< IRN as conweave-ns3 has it, for comparison; see transport-irn.c */
    uint32_t retry_limit; /**< timeouts in a row without progress at which the QP fails; 0 as 1 */
    enum eun_gate gate;
    bool gate_scope_message; /**< sender gate looks at the message only, not at the QP */
    const struct eun_mprdma_config *mprdma; /**< of transport mprdma (mprdma-window.h), else NULL */
};

/** A message: at most 2 GiB (InfiniBand), so at most 2^31 packets. */
struct eun_message {
    uint64_t cookie; /**< the caller's name for it */
    uint32_t bytes;
    uint32_t head; /**< its first PSN */
    uint32_t packets;
    uint32_t msn;
    bool last_sent;        /**< its Last has left at least once */
    int64_t held_since_ps; /**< when its Last was first held by the gate; -1 where it was not */
    int64_t wait_ps;       /**< how long the gate held it in all */
};

struct eun_tx_packet {
    struct eun_data data;
    bool retransmission;
    bool first;      /**< first packet of its message (RETH of a WRITE) */
    uint64_t cookie; /**< its message's, as posted */
};

struct eun_sender;

enum eun_tx_state {
    EUN_TX_IDLE,  /**< nothing to send until an answer, a timeout or a new message */
    EUN_TX_READY, /**< eun_sender_next() has a packet */
};

#define EUN_MESSAGE_MAX_BYTES (1u << 31)

struct eun_transport;

/** NULL where memory is short. The first packet has PSN `first_psn`, the first message number 0. */
struct eun_sender *eun_sender_new(const struct eun_transport *transport, uint32_t first_psn);
void eun_sender_free(struct eun_sender *tx);
/** As new, memory kept: a slot is used by one QP after another, all of the same transport. */
void eun_sender_reset(struct eun_sender *tx, const struct eun_transport *transport,
                      uint32_t first_psn);

/**
 * To be called after eun_sender_new() and eun_sender_reset(), before the first post. `seed` is the
 * QP's own: random choices, where the transport makes any, follow from it.
 */
void eun_sender_start(struct eun_sender *tx, const struct eun_sender_env *env, uint64_t seed);

/** Queues a message of 1..2^31 bytes. False where memory is short or the size is out of range. */
bool eun_sender_post(struct eun_sender *tx, const struct eun_sender_env *env, uint32_t bytes,
                     uint64_t cookie);

/**
 * Gives Lasts that the gate holds since eun_sender_post(), which has no clock, the time `now`. To
 * be called after a post for an exact held_since_ps; otherwise the next call that knows the time
 * does it.
 */
void eun_sender_stamp(struct eun_sender *tx, int64_t now);

/**
 * The QP has at most `bytes` of payload in flight from now on, and no more than `env->window_bytes`
 * either; 0: no limit of its own, as after eun_sender_reset(). One packet may always be in flight,
 * however long. A window limits new packets only, and what is in flight already may be more. It may
 * be smaller by the next answer, so while there is one every packet asks for an answer: none may
 * wait for company that the window does not allow.
 */
void eun_sender_set_window(struct eun_sender *tx, uint32_t bytes);

/** READY exactly where eun_sender_next() would succeed. */
enum eun_tx_state eun_sender_state(const struct eun_sender *tx, const struct eun_sender_env *env);

/**
 * The next packet to leave, which counts as sent at `now`. Oldest work first: Lasts that the gate
 * lets go, then retransmissions, then new packets. False where there is nothing to send.
 */
bool eun_sender_next(struct eun_sender *tx, const struct eun_sender_env *env, int64_t now,
                     struct eun_tx_packet *out);

/** An answer came in. */
void eun_sender_feedback(struct eun_sender *tx, const struct eun_sender_env *env,
                         const struct eun_feedback *fb, int64_t now);

/** Next message that completed and was not reported yet; false where there is none. */
bool eun_sender_completed(struct eun_sender *tx, struct eun_message *out);

/**
 * When eun_sender_timeout() is due, INT64_MAX where nothing is outstanding: a timeout after the
 * last send, the last answer that moved the oldest unacknowledged PSN, or the last timeout,
 * whichever is latest. Hence it only moves later until everything is acknowledged, but where an
 * answer leaves so few packets in flight that `rto_low_ps` is the timeout: that may bring it
 * forward.
 */
int64_t eun_sender_deadline(const struct eun_sender *tx, const struct eun_sender_env *env);

/**
 * The deadline passed. False where the retry limit is reached: the QP has failed. Without effect
 * before the deadline, so a lazy timer may call it early. A timeout since whose predecessor nothing
 * could leave (the port was paused) is no evidence of loss: it only restarts the timer.
 */
bool eun_sender_timeout(struct eun_sender *tx, const struct eun_sender_env *env, int64_t now);

/**
 * When eun_sender_pace() is due, INT64_MAX where it is not: packets that may not leave yet are then
 * to be looked at again. Always INT64_MAX for transports without a clock of their own.
 */
int64_t eun_sender_pace_deadline(const struct eun_sender *tx);

/** That deadline passed. Without effect before. */
void eun_sender_pace(struct eun_sender *tx, const struct eun_sender_env *env, int64_t now);

uint32_t eun_sender_una(const struct eun_sender *tx); /**< oldest PSN not acknowledged */
uint32_t eun_sender_nxt(const struct eun_sender *tx); /**< next PSN never sent, past held Lasts */
/** Payload bytes sent at least once and not acknowledged by the cumulative point. */
uint64_t eun_sender_inflight(const struct eun_sender *tx);
uint64_t eun_sender_retransmitted(const struct eun_sender *tx);

#ifdef __cplusplus
}
#endif
#endif
