/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_TRANSPORT_H
#define EUNOMIA_TRANSPORT_H

/**
 * A transport policy is a table of functions in a file of its own (`transport-gbn.c`), and one line
 * in the list of `transport.c`. What they share lives in receiver.c and sender.c.
 */

#include "receiver.h"
#include "sender.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Where a receiver notes the packets that it holds ahead of its cumulative point. */
enum eun_ordering {
    EUN_ORDERING_NONE,  /**< it holds none */
    EUN_ORDERING_POOL,  /**< in the ordering layer, whose pool the QPs of a NIC share */
    EUN_ORDERING_FIXED, /**< in a bitmap of its own, as long as the sender's window */
};

/**
 * Of a transport that clocks its own packets out: how many may leave is its decision, in
 * eun_sender.credit, and so are the path and the flags of each.
 */
struct eun_pacing {
    size_t state_bytes; /**< of the policy's own, one a sender */
    /** A QP begins; `seed` is its own. */
    void (*start)(struct eun_sender *tx, const struct eun_sender_env *env, uint64_t seed);
    /** A message was posted. */
    void (*posted)(struct eun_sender *tx, const struct eun_sender_env *env);
    /** `packet` leaves: sets its path and flags. */
    void (*left)(struct eun_sender *tx, const struct eun_sender_env *env,
                 struct eun_tx_packet *packet, int64_t now);
    /** An answer of any kind was taken in. */
    void (*answered)(struct eun_sender *tx, const struct eun_sender_env *env,
                     const struct eun_feedback *fb, int64_t now);
    /** When expired() is due; INT64_MAX: not at all. */
    int64_t (*deadline)(const struct eun_sender *tx);
    void (*expired)(struct eun_sender *tx, const struct eun_sender_env *env, int64_t now);
};

struct eun_transport {
    const char *name;          /**< as on the command line */
    const char *summary;       /**< one line for --help */
    bool tolerates_reordering; /**< carries the ordering header; a WRITE packet its own RETH */
    enum eun_ordering ordering;
    bool short_timeouts; /**< its timeouts are IRN's two, not the one of RC */
    /** It decides itself how much is under way: congestion control of its own, and no other. */
    bool own_congestion_control;
    /** A packet's path is its choice, by UDP source port; every answer names packet and path. */
    bool picks_paths;
    const struct eun_pacing *pacing; /**< NULL: packets leave whenever the window lets them */
    /** Receiver: a data packet of the QP arrived. */
    void (*receive)(struct eun_receiver *rx, struct eun_receiver_env *env,
                    const struct eun_data *packet, int64_t now, struct eun_rx_verdict *out);
    /** Sender: a SACK or NACK arrived; the cumulative point has been taken in already. */
    void (*feedback)(struct eun_sender *tx, const struct eun_sender_env *env,
                     const struct eun_feedback *fb, int64_t now);
    /** Sender: nothing came back for a timeout. */
    void (*timeout)(struct eun_sender *tx, const struct eun_sender_env *env, int64_t now);
};

extern const struct eun_transport eun_transport_gbn;
extern const struct eun_transport eun_transport_eunomia;
extern const struct eun_transport eun_transport_irn;
extern const struct eun_transport eun_transport_mprdma;
extern const struct eun_transport eun_transport_ddp;
extern const struct eun_transport eun_transport_ddp_gbn;

/** All of them, NULL at the end; the first is the default. */
extern const struct eun_transport *const eun_transports[];

/** NULL where there is none of that name. */
const struct eun_transport *eun_transport_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
