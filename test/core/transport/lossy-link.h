/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_TRANSPORT_LOSSY_LINK_H
#define EUNOMIA_TRANSPORT_LOSSY_LINK_H

/**
 * A run of the lossy-link test: its QPs with a naive model of both ends, a virtual clock, and the
 * link between them. Everything that goes wrong is drawn from the run's seed.
 */

#include "event-queue.h"

#include "core/transport/mprdma-window.h"
#include "core/transport/receiver-internal.h"

#include <string.h>

#define QPS_MAX 3u
#define MESSAGES_MAX 8u
#define PSNS_MAX 1024u
#define STEPS_MAX 3000000u
#define RESTARTS_MAX 3u
#define NEVER INT64_MAX

/** What all runs together must have met, or the harness tests less than it says. */
struct coverage {
    uint64_t steps;
    uint64_t retransmitted;
    uint64_t limited;
    uint64_t fallbacks;
    uint64_t cap_hits;
    uint64_t misses;
    uint64_t corrupted; /**< QPs that lost what they held */
    uint64_t scrubbed;  /**< blocks that had leaked and were found */
    uint64_t stale;     /**< packets and answers of an earlier life */
    uint64_t failed;    /**< messages reported failed, as their QP was */
    uint64_t repeated;  /**< packets sent again over paths of the sender's choice */
    uint64_t synced;    /**< synchronise packets that came too early */
    uint64_t reborn;    /**< messages completed in a later life */
};

/** What the run draws once. */
struct channel {
    uint32_t loss;       /**< percent */
    uint32_t nack_loss;  /**< percent, of SACK and NACK in addition */
    uint32_t duplicates; /**< percent */
    uint32_t forged;     /**< percent of arrivals that a forged packet precedes */
    uint32_t corrupted; /**< per mille of steps at which a QP's ordering memory turns out corrupt */
    uint32_t scrubbed;  /**< per mille of steps at which the scrubber runs */
    uint32_t marked;    /**< percent of packets */
    int64_t delay;
    int64_t jitter;                   /**< added delay, uniform; more than `gap` reorders */
    int64_t gap;                      /**< between sends of a QP */
    int64_t pause_from;               /**< nobody sends from here ... */
    int64_t pause_until;              /**< ... to here */
    int64_t restart_at[RESTARTS_MAX]; /**< when the receiving NIC starts anew; NEVER: not */
};

struct naive_message {
    uint32_t head; /**< counted from the first PSN */
    uint32_t packets;
    uint32_t bytes;
};

/** One QP: the objects under test and the naive model of both ends; PSNs from 0. */
struct qp {
    struct eun_sender *tx;
    uint32_t generation; /**< its life: data and answers of another one are not let in */
    struct eun_receiver rx;
    uint32_t origin;
    uint32_t messages;
    uint32_t posted;
    struct naive_message message[MESSAGES_MAX];
    uint32_t psns;
    uint32_t sent[PSNS_MAX]; /**< 1 + recoveries when it was sent last; 0: never */
    uint32_t retransmitted;
    uint32_t window;     /**< its own, bytes; 0: none */
    uint32_t limited;    /**< packets that left under an allowance */
    uint32_t recoveries; /**< timeouts and NACKs that the sender saw */
    uint32_t tx_completed;
    bool arrived[PSNS_MAX]; /**< at least once */
    bool kept[PSNS_MAX];    /**< the receiver has it */
    uint32_t expected;
    uint32_t rx_completed;
    uint32_t visible;
    bool send_pending;
    int64_t next_send;
    int64_t timer; /**< NEVER: none pending */
    int64_t pace;  /**< of the pending events the last; NEVER: none pending */
};

struct run {
    struct test_random r;
    uint64_t seed;
    const struct eun_transport *transport;
    struct channel channel;
    bool own_windows; /**< QPs have windows of their own, which change with every answer */
    struct eun_sender_env tx_env;
    struct eun_receiver_env rx_env;
    struct eun_staging staging;
    struct eun_reorder_config layer_config;
    struct eun_fixed_shape shape;
    struct eun_mprdma_config mprdma;
    uint64_t bitmap[QPS_MAX][EUN_FIXED_CAP_MAX / 64u * 2u]; /**< of transports that have one */
    uint32_t qps;
    struct qp qp[QPS_MAX];
    uint32_t restarts;
    uint32_t leaked; /**< blocks that the scrubber is to find */
    struct coverage *coverage;
    int64_t now;
    int64_t bound;
    uint64_t steps;
    struct event_queue events;
};

#define CHECK(run, condition)                                                                      \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg("run seed %#llx, step %llu: %s", (unsigned long long)(run)->seed,             \
                     (unsigned long long)(run)->steps, #condition);                                \
    } while (0)

/** Something of the QP's present life is to happen. */
static inline void schedule(struct run *run, struct event event)
{
    event.generation = run->qp[event.qp].generation;
    event_push(&run->events, event);
}

/** Puts a packet or an answer on the link: lost, once, or twice. */
static inline void transmit(struct run *run, struct event event, uint32_t extra_loss)
{
    const struct channel *c = &run->channel;
    uint32_t copies = test_chance(&run->r, c->duplicates) ? 2 : 1;
    while (copies-- > 0) {
        if (test_chance(&run->r, c->loss) || test_chance(&run->r, extra_loss))
            continue;
        event.at = run->now + c->delay;
        if (c->jitter > 0)
            event.at += (int64_t)(test_random_next(&run->r) % (uint64_t)c->jitter);
        schedule(run, event);
    }
}

#endif
