/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_TIMELY_H
#define EUNOMIA_TIMELY_H

/**
 * TIMELY (Mittal et al., SIGCOMM 2015, algorithm 1): a rate steered by how round trips change. For
 * each round trip measured, one a segment:
 *
 *   diff <- (1 - alpha) diff + alpha (rtt - the one before); gradient = diff / min_rtt
 *   rtt < low:       rate += delta
 *   rtt > high:      rate *= 1 - beta (1 - high/rtt)
 *   gradient <= 0:   rate += N delta, N = 5 from the fifth in a row on, else 1
 *   otherwise:       rate *= 1 - beta gradient
 *
 * Beyond the paper, the rate starts at the line's, as RDMA does, stays between `rate_min_bps` and
 * that, is at most halved at once (as in the code that its authors published), and is kept by
 * pacing packets, not bursts of a segment. A round trip is that of the packet which ends a segment,
 * from its first bit on the wire to its answer. It counts where a min RTT has passed since the last
 * that did: at the paper's 10 Gb/s a segment takes about that long, at 100 Gb/s ten go by, and who
 * sends faster would rise faster.
 *
 * There is no one rate that N flows must come to: any split holds between the thresholds (Zhu et
 * al., "ECN or Delay", CoNEXT 2016).
 */

#include <stdint.h>

struct eun_timely_config {
    double alpha;           /**< weight of the newest difference, 0.875 there */
    double beta;            /**< 0.8 there */
    int64_t min_rtt_ps;     /**< > 0 */
    int64_t low_ps;         /**< faster ones always raise the rate */
    int64_t high_ps;        /**< slower ones always cut it; at least `low_ps` */
    uint64_t rate_ai_bps;   /**< delta */
    uint64_t rate_min_bps;  /**< at most the line rate */
    uint32_t segment_bytes; /**< payload, > 0; read by whoever measures */
};

struct eun_timely {
    int64_t rtt_ps;  /**< the last one; -1: none yet */
    int64_t next_ps; /**< round trips before count for nothing */
    double diff_ps;
    uint32_t calm; /**< round trips in a row whose gradient was not positive */
};

#endif
