/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_MPRDMA_WINDOW_H
#define EUNOMIA_MPRDMA_WINDOW_H

/**
 * The congestion window of MP-RDMA (Lu et al., "Multi-Path Transport for RDMA in Datacenters", NSDI
 * 2018): one for all paths of a QP, in packets, and no state per path. An answer without a mark
 * adds 1/cwnd, one with a mark takes 1/2, and the packets that it lets go take the path that it
 * came back on: paths that mark less return more answers, so they carry more.
 *
 * What may leave now is granted, a packet at a time, each with a path or none, which means one
 * drawn at random. With `outstanding` the PSNs from the oldest unacknowledged one to the next new
 * one, and `sacked` those of them that are known to have arrived (the paper's `inflate`):
 *   available = cwnd + sacked + lost - outstanding - granted.
 *
 * Guarantee: 1 <= cwnd <= limit. Random choices come from the seed alone.
 */

#include "../switch/rng.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Paths are UDP source ports of the dynamic range. */
#define EUN_MPRDMA_PATH_MIN 49152u
#define EUN_MPRDMA_PATHS 16384u

/** Packets that one answer lets go at most. */
#define EUN_MPRDMA_CLOCKED 2u

/** Grants with a path that are kept; more of them wait for later answers, or the burst timer. */
#define EUN_MPRDMA_GRANTS 32u

/** What the windows of one NIC share. */
struct eun_mprdma_config {
    double initial_window;    /**< packets, >= 1 */
    double limit;             /**< most packets that a window grows to, >= initial_window */
    int64_t rtt_ps;           /**< round trip that is assumed until one is measured, > 0 */
    int64_t burst_ps;         /**< what answers leave over goes after this silence, >= 0 */
    uint32_t ooo_psns;        /**< Delta: answers further behind the newest one tell a slow path */
    double sync_alpha;        /**< alpha: a synchronise packet waits alpha Delta RTT / cwnd, >= 0 */
    double probe_probability; /**< 0..1; see eun_mprdma_clock() */
    bool sync_lasts;          /**< the Last of a message is a synchronise packet */
};

/** All zero is no window: see eun_mprdma_init(). */
struct eun_mprdma_window {
    double cwnd;         /**< packets */
    struct eun_rng rng;  /**< paths, and whether to probe */
    int64_t rtt_ps;      /**< smoothed */
    int64_t timed_ps;    /**< when the packet left whose round trip is being measured */
    int64_t probed_ps;   /**< when a path was last probed */
    int64_t burst_at_ps; /**< when the burst timer is due; INT64_MAX: it is off */
    uint32_t timed_psn;  /**< that packet, where `timing` */
    uint32_t newest;     /**< highest PSN known to have arrived, where `any` */
    uint32_t lost;       /**< packets outstanding that left the network and are to go again */
    uint32_t anywhere;   /**< packets granted a path at random */
    uint16_t path[EUN_MPRDMA_GRANTS]; /**< of packets granted one: a ring */
    uint8_t first;                    /**< its oldest */
    uint8_t count;                    /**< how many */
    bool any;
    bool timing;
};

/** Opens a window. `seed` differs between QPs and runs. */
void eun_mprdma_init(struct eun_mprdma_window *w, const struct eun_mprdma_config *config,
                     uint64_t seed);

/** Packets granted and not yet taken. */
static inline uint32_t eun_mprdma_granted(const struct eun_mprdma_window *w)
{
    return w->anywhere + w->count;
}

/** Packets that may be granted in addition; see above. */
uint32_t eun_mprdma_available(const struct eun_mprdma_window *w, uint32_t outstanding,
                              uint32_t sacked);

/** Grants `packets` more, on paths drawn when they leave. */
void eun_mprdma_grant_anywhere(struct eun_mprdma_window *w, uint32_t packets);

/**
 * An answer came back on `path`: grants `packets`, at most EUN_MPRDMA_CLOCKED, there. Once a round
 * trip at most, and then with the probability configured, the first of them takes a path at random
 * instead, which may be a better one. Returns how many found room.
 */
uint32_t eun_mprdma_clock(struct eun_mprdma_window *w, const struct eun_mprdma_config *config,
                          uint32_t packets, uint16_t path, int64_t now);

/** Takes back what was granted, and stops the burst timer: there is nothing to send. */
void eun_mprdma_withdraw(struct eun_mprdma_window *w);

/** One packet that was granted leaves: its path. */
uint16_t eun_mprdma_take(struct eun_mprdma_window *w);

/** `psn` leaves for the first time: its answer may tell the round trip. */
void eun_mprdma_time(struct eun_mprdma_window *w, uint32_t psn, int64_t now);

/**
 * A packet's answer came. `arrived`: it was taken, or had been before. `again`: it was no first
 * copy. `una` is the oldest unacknowledged PSN. Adjusts the window to the mark, but grows it only
 * while nothing granted waits: a window that is not used up limits nobody (cf. RFC 7661). False
 * where the path is slow: `psn`, no repeat, lies more than Delta behind the newest that arrived.
 * Then the window has shrunk by 1, and nothing is to be clocked out on that path.
 */
bool eun_mprdma_answer(struct eun_mprdma_window *w, const struct eun_mprdma_config *config,
                       uint32_t una, uint32_t psn, bool arrived, bool ce, bool again, int64_t now);

/** An answer found nothing to send: use it or lose it. */
void eun_mprdma_unused(struct eun_mprdma_window *w);

/** Everything under way counts as lost, `missing` packets: halves the window. */
void eun_mprdma_timeout(struct eun_mprdma_window *w, uint32_t missing);

/** How long a synchronise packet stays behind the packet before it, in picoseconds. */
int64_t eun_mprdma_sync_delay(const struct eun_mprdma_window *w,
                              const struct eun_mprdma_config *config);

#ifdef __cplusplus
}
#endif
#endif
