/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_SHARED_BUFFER_H
#define EUNOMIA_SHARED_BUFFER_H

/**
 * The shared buffer of one switch: who may store a frame, when to pause the sender of a priority
 * (PFC, IEEE 802.1Qbb), when to mark a frame (ECN).
 *
 * Priority 0 is the control class (ACK, CNP, PFC): strictly first, not accounted here. Data uses
 * priorities 1 to 7. All sizes are bytes of the frame as stored.
 *
 * Guarantee of `eun_buffer_dynamic` for lossless priorities: as long as a paused sender stops
 * within the headroom, no frame is dropped, whatever the number of ports and senders; for
 *   total = sum of reserves + sum of headrooms + shared pool
 * and a frame goes to its priority's reserve, and beyond that to the pool while the priority's part
 * of it stays within alpha x (free pool). Else all of it goes to headroom, which also sends XOFF;
 * so does what follows, until headroom has drained.
 *
 * How a frame is admitted and when a pause goes out is a policy: a table of functions in a file of
 * its own (`buffer-dynamic.c`).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EUN_PRIORITIES 8

struct eun_buffer_config {
    uint32_t ports;
    int64_t total_bytes;
    uint32_t reserve_bytes;   /**< guaranteed to each (ingress port, lossless priority) */
    double alpha;             /**< ingress dynamic threshold, 1/16 */
    double egress_alpha;      /**< egress dynamic threshold of lossy queues, 1 */
    uint32_t resume_bytes;    /**< hysteresis: XON this much below XOFF */
    uint8_t lossless_mask;    /**< bit p: priority p is lossless (PFC); 0 with PFC off */
    uint32_t max_frame_bytes; /**< largest frame as stored */
    int64_t pause_ps;         /**< how long one XOFF lasts, > 0 */
};

/** Per-port values, set before the first frame. */
struct eun_buffer_port {
    uint32_t headroom_bytes; /**< per lossless priority: what arrives after XOFF was sent */
    int64_t ecn_min_bytes;   /**< below: never marked */
    int64_t ecn_max_bytes;   /**< above: always marked */
    double ecn_max_probability;
};

/** Ingress side of one (port, priority). */
struct eun_buffer_pg {
    int64_t used;         /**< all bytes that came in here and are still stored */
    int64_t headroom;     /**< of these, in headroom */
    bool paused;          /**< an XOFF is out and not taken back */
    int64_t pause_end_ps; /**< when the last XOFF runs out */
};

enum eun_drop_reason {
    EUN_DROP_NONE,
    EUN_DROP_BUFFER,   /**< the buffer is full */
    EUN_DROP_HEADROOM, /**< a lossless priority overran its headroom */
    EUN_DROP_EGRESS,   /**< a lossy queue is past its dynamic threshold */
};

enum eun_pfc_action { EUN_PFC_NOTHING, EUN_PFC_XOFF, EUN_PFC_XON };

struct eun_buffer_policy;

/** State of one switch. Owned by the caller, released with eun_buffer_dispose(). */
struct eun_buffer {
    const struct eun_buffer_policy *policy;
    struct eun_buffer_config config;
    struct eun_buffer_port *port; /**< [ports] */
    struct eun_buffer_pg *pg;     /**< [ports][EUN_PRIORITIES] */
    int64_t *egress;              /**< [ports][EUN_PRIORITIES]: bytes queued */
    int64_t *held;            /**< [ports][EUN_PRIORITIES]: of these, held back from the queue */
    uint32_t *port_bytes;     /**< [ports]: bytes queued, all data priorities */
    int64_t *port_in_bytes;   /**< [ports]: bytes stored that came in here */
    int64_t used;             /**< bytes stored */
    int64_t pool_used;        /**< of these, in the shared pool */
    int64_t pool_bytes;       /**< size of the shared pool */
    int64_t egress_pool_used; /**< beyond each queue's minimum (eun_buffer_conweave) */
    int64_t egress_pool_bytes;
};

struct eun_buffer_policy {
    const char *name;
    /** Computes pool sizes from config and ports. False where they do not fit the buffer. */
    bool (*prepare)(struct eun_buffer *b);
    /** Stores a frame that came in at `in` for `out`, or says why not. */
    enum eun_drop_reason (*admit)(struct eun_buffer *b, uint32_t in, uint32_t out,
                                  uint32_t priority, uint32_t bytes);
    /** The frame leaves. */
    void (*release)(struct eun_buffer *b, uint32_t in, uint32_t out, uint32_t priority,
                    uint32_t bytes);
    /**
     * What to tell the sender behind `in` after a frame from there was stored, or at the time that
     * refresh_at() named.
     */
    enum eun_pfc_action (*stored)(struct eun_buffer *b, uint32_t in, uint32_t priority,
                                  int64_t now_ps);
    /** ... after a frame from there left. */
    enum eun_pfc_action (*left)(struct eun_buffer *b, uint32_t in, uint32_t priority,
                                int64_t now_ps);
    /** When a pause that is out must be repeated; INT64_MAX: never. */
    int64_t (*refresh_at)(const struct eun_buffer *b, uint32_t in, uint32_t priority);
    /** Bytes that ECN compares with its thresholds. */
    int64_t (*ecn_bytes)(const struct eun_buffer *b, uint32_t out, uint32_t priority);
};

extern const struct eun_buffer_policy eun_buffer_dynamic;
/** Admission and PFC timing of conweave-ns3, for comparison only. */
extern const struct eun_buffer_policy eun_buffer_conweave;

/** False where memory is short. Set b->port[] next, then call eun_buffer_prepare(). */
bool eun_buffer_init(struct eun_buffer *b, const struct eun_buffer_policy *policy,
                     const struct eun_buffer_config *config);
void eun_buffer_dispose(struct eun_buffer *b);

/** False where reserves and headrooms leave no shared pool. */
bool eun_buffer_prepare(struct eun_buffer *b);

/**
 * Stored bytes that are not in the port's queue yet, such as frames that wait for earlier ones of
 * their flow: `bytes` more of them, or less where negative. They take room as others do, but a
 * frame that leaves has not waited for them: neither ECN nor eun_buffer_queued() counts them.
 */
void eun_buffer_hold(struct eun_buffer *b, uint32_t out, uint32_t priority, int64_t bytes);

/** Bytes that wait in the queues of a port, all data priorities. */
uint32_t eun_buffer_queued(const struct eun_buffer *b, uint32_t out);

/** Marking probability of a frame that just left queue (out, priority); RED on its length. */
double eun_buffer_mark_probability(const struct eun_buffer *b, uint32_t out, uint32_t priority);

/**
 * Headroom that one lossless priority needs: the frame that crosses the threshold, and what still
 * arrives after it. That is both directions of the wire, a frame just started at either end, and
 * the pause frame (IEEE 802.1Qbb Annex O, without its interface and higher-layer delays, which
 * this model does not have). Gaps between frames need no bytes: two of them delay the pause, but
 * every frame that arrives meanwhile has one, too. UINT32_MAX where the sum is more than that.
 */
uint32_t eun_buffer_headroom(uint64_t rate_bps, int64_t delay_ps, uint32_t max_frame_bytes,
                             uint32_t pause_frame_bytes);

/** Checks that all counters agree. Else `*reason` names the first that does not. */
bool eun_buffer_validate(const struct eun_buffer *b, const char **reason);

static inline struct eun_buffer_pg *eun_buffer_pg(const struct eun_buffer *b, uint32_t port,
                                                  uint32_t priority)
{
    return &b->pg[port * EUN_PRIORITIES + priority];
}

#ifdef __cplusplus
}
#endif
#endif
