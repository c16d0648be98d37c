/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_SENDER_INTERNAL_H
#define EUNOMIA_SENDER_INTERNAL_H

/** The sender's state and what policies do with it. Not for callers outside transport/. */

#include "allowance.h"
#include "refused.h"
#include "scoreboard.h"
#include "sender.h"

/** A posted message. Its Last is *held* once `nxt` has passed it and it has not left yet. */
struct eun_tx_slot {
    struct eun_message message;
    uint64_t next_free;   /**< next message in the list of freed Lasts */
    uint32_t sacked;      /**< PSNs of [una, Last) SACKed; gate scope `message` only */
    uint32_t first_sweep; /**< number of the sweep during or after which the Last first left */
    bool held;            /**< see above */
    bool freed;           /**< held, but the gate lets it go */
    bool parked;          /**< its Last found no staging slot: it waits until it is awaited */
};

/**
 * Sequence numbers of messages (`first`, `done`, ...) count posts and index the ring of slots:
 * first <= done <= cur <= end. Messages [first, done) are complete and not reported, `done` holds
 * una, `cur` holds nxt (either may equal `end`).
 *
 * A sweep sends what was sent before once more, in order, from `resend` to `resend_end`. `resend`
 * always stands on a PSN that is to be sent, or on a held Last that a go-back may not pass, or at
 * the end.
 */
struct eun_sender {
    /* What every packet touches. */
    const struct eun_transport *transport;
    struct eun_tx_slot *slots; /**< ring of mask + 1, at first `inline_slot` */
    uint64_t done;
    uint64_t cur;
    uint64_t end;
    uint64_t first;
    uint64_t inflight;     /**< payload bytes sent at least once and not acknowledged */
    int64_t restart_ps;    /**< last send, progress or timeout */
    uint32_t window_bytes; /**< of its own, see eun_sender_set_window() */
    uint32_t mask;         /**< slots - 1, slots a power of two */
    uint32_t una;          /**< oldest PSN not acknowledged */
    uint32_t nxt;          /**< next PSN never sent, past held Lasts */
    uint32_t resend;       /**< next PSN of the sweep */
    uint32_t resend_end;   /**< first PSN past the sweep */
    uint32_t held;         /**< Lasts held */
    uint32_t freed;        /**< of these, Lasts that the gate lets go; length of their list */
    uint32_t parked;       /**< Lasts parked */
    uint32_t timeouts;     /**< in a row, without progress */
    uint32_t credit;       /**< packets that may leave now; EUN_CREDIT_UNLIMITED without pacing */
    uint32_t sweep;        /**< number of sweeps so far */
    bool sent_since_timeout;
    bool new_waits;     /**< pacing: nothing leaves for the first time for now */
    bool in_order_only; /**< the receiver takes nothing ahead of its prefix */
    bool degraded;      /**< `in_order_only` for a while */
    bool unstamped;     /**< some held Last has no time yet */
    bool skip_sacked;   /**< the sweep leaves out what is SACKed */
    bool recovering;    /**< una has not yet come to `recover_until` */
    struct eun_scoreboard board;
    struct eun_tx_slot inline_slot;
    /* What gate and recovery use. */
    uint32_t degraded_until; /**< una from which the QP is no longer degraded */
    uint32_t back_at;        /**< una of the last go-back, while degraded */
    uint32_t recover_until;  /**< una that ends the recovery, while there is one */
    uint32_t sacked_end;     /**< one past the highest PSN SACKed, where any is */
    uint64_t resend_message; /**< message of `resend` */
    uint64_t first_held;     /**< message of the oldest held Last, where there is one */
    uint64_t stamp_from;     /**< first message whose hold may lack a time */
    uint64_t freed_head;     /**< list of freed Lasts, in order of release */
    uint64_t freed_tail;
    uint64_t retransmitted;
    uint32_t post_psn; /**< Head of the next message posted */
    uint32_t post_msn; /**< its number, 24 bits */
    struct eun_refused refused;
    struct eun_allowance allowance;
    void *policy; /**< the transport's own state, where it has pacing */
};

#define EUN_CREDIT_UNLIMITED UINT32_MAX

/** Is anything to be sent but new packets? It may have to wait. */
static inline bool eun_sender_has_old_work(const struct eun_sender *tx)
{
    return (tx->freed | (tx->resend ^ tx->resend_end) | tx->refused.count) != 0;
}

/** May something leave that left before, credit apart? */
bool eun_sender_may_repeat(const struct eun_sender *tx, const struct eun_sender_env *env);

/**
 * Everything from una on is sent again, in order. Until all of it is acknowledged the receiver is
 * taken to accept packets in order only, so nothing is sent past a held Last.
 */
void eun_sender_go_back(struct eun_sender *tx);

/** Has a degraded QP gone back to where una still is? A NACK that asks for it again is no news. */
static inline bool eun_sender_is_back(const struct eun_sender *tx)
{
    return tx->degraded && tx->back_at == tx->una;
}

/** Everything from una on that was sent and is not SACKed is sent again. */
void eun_sender_resend_missing(struct eun_sender *tx);

/**
 * Loss was noticed: until all that has been sent so far is acknowledged, the sender is recovering.
 * What that means is the policy's business.
 */
void eun_sender_begin_recovery(struct eun_sender *tx);

/** A sweep is under way. */
static inline bool eun_sender_is_sweeping(const struct eun_sender *tx)
{
    return tx->resend != tx->resend_end;
}

/**
 * What is not SACKed of [una, `end`), which was sent, is sent again, before anything new. For
 * policies that note no refusals: those would be sent again as well.
 */
void eun_sender_sweep_to(struct eun_sender *tx, uint32_t end);

/**
 * As eun_sender_sweep_to(), but from where the sweep is that is under way or, while recovering, was
 * the last one: nothing is sent twice. `end` lies past una; no effect where the sweep goes as far.
 */
void eun_sender_sweep_on(struct eun_sender *tx, uint32_t end);

/** `psn` is known to have arrived. Ignored where it cannot have. */
void eun_sender_note_sack(struct eun_sender *tx, const struct eun_sender_env *env, uint32_t psn,
                          int64_t now);

/**
 * `psn` was refused when the receiver's cumulative point was `expected`. False where it is not
 * outstanding, or known to have arrived since.
 */
bool eun_sender_note_refusal(struct eun_sender *tx, uint32_t psn, uint32_t expected);

/**
 * As eun_sender_note_refusal(), of a Last that found no staging slot. It is held from `now` on and
 * goes again, once, when everything before it is acknowledged; a sweep starts with it like any.
 */
void eun_sender_park(struct eun_sender *tx, uint32_t psn, uint32_t expected, int64_t now);

/** The receiver no longer holds what it SACKed. */
void eun_sender_forget_sacks(struct eun_sender *tx);

/** Checks the invariants above; on failure `*reason` names the first that does not hold. */
bool eun_sender_validate(const struct eun_sender *tx, const char **reason);

#endif
