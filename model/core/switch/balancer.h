/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_BALANCER_H
#define EUNOMIA_BALANCER_H

/**
 * Load balancers: which of several equally short ways a data packet takes at one switch.
 *
 * A balancer is a table of functions in a file of its own (`lb-ecmp.c`), one line in the table
 * EUN_BALANCERS below and one test. Control frames do not come here: they follow ECMP, so that
 * feedback of a QP stays in order.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a balancer may look at. */
struct eun_lb_packet {
    uint32_t src;     /**< host */
    uint32_t dst;     /**< host */
    uint32_t entropy; /**< hash of the flow's addresses and UDP ports */
    uint32_t bytes;   /**< frame length */
};

struct eun_lb_view {
    const uint16_t *ports;       /**< the equally short ways, in ascending order */
    uint32_t count;              /**< how many, >= 2 */
    const uint32_t *queue_bytes; /**< bytes queued, indexed by port */
    int64_t now_ps;
    bool from_host; /**< this is the packet's first switch */
};

enum { EUN_DRILL_MAX = 8, EUN_DEFLECT_HOPS_MAX = 240, EUN_ADAPTIVE_MAX = 8 };

/** Parameters of all balancers; each reads its own. */
struct eun_lb_params {
    uint32_t drill_samples;     /**< d of DRILL(d, m): ways drawn a packet, 1..EUN_DRILL_MAX */
    uint32_t drill_memory;      /**< m of DRILL(d, m): best ways remembered, 0..EUN_DRILL_MAX */
    int64_t flowlet_timeout_ps; /**< a longer gap ends a flowlet, >= 0 */
    int64_t dre_interval_ps;    /**< T of CONGA's rate estimator, > 0 */
    double dre_alpha;           /**< share that it forgets each T, 0.001..1 */
    uint32_t conga_bits;        /**< Q: bits of a congestion level, 1..3 */
    int64_t conga_aging_ps;     /**< a reported level counts that long, > 0 */
    uint32_t conga_sample;      /**< adjacent uplinks that are compared; 0: all */
    uint32_t deflect_hops;      /**< a frame that took that many links is not deflected, 0..240 */
    uint32_t deflect_bytes;     /**< a queue that a frame would make longer is full; at 100 Gb/s */
    uint32_t elephant_bytes;    /**< a flow that sent that many is sprayed; UINT32_MAX: none is */
    uint32_t elephant_queue;   /**< at a longer queue, packets are sprayed; at 100 Gb/s; 0: never */
    int64_t elephant_aging_ps; /**< a flow silent for longer starts anew, > 0 */
    uint32_t adaptive_grades;  /**< limits in use, 1..EUN_ADAPTIVE_MAX */
    uint32_t adaptive_limit[EUN_ADAPTIVE_MAX]; /**< bytes at 100 Gb/s at which the next grade
                                                  begins, ascending */
};

/** What a balancer has after init(). */
extern const struct eun_lb_params eun_lb_defaults;

/** What a balancer may know of the network, beyond the ways of a packet. */
struct eun_lb_network {
    const uint32_t *leaf;     /**< [host]: the switch it is attached to, from 0; NULL: unknown */
    uint32_t leaves;          /**< how many of these switches there are */
    uint32_t longest;         /**< most links on a shortest way between two hosts */
    uint32_t widest;          /**< largest group of ways at this switch */
    const uint64_t *rate_bps; /**< [port] of this switch, > 0 */
    const uint8_t *to_host;   /**< [port] of this switch: no switch at the other end */
    uint32_t ports;
};

struct eun_balancer {
    const char *name;    /**< as on the command line */
    const char *summary; /**< one line for --help */
    bool reorders;       /**< a flow's packets may take different ways without a gap between them */
    size_t state_bytes;  /**< state of one switch; the caller holds it */
    /** `seed` differs between switches and between runs; `ports` is the switch's port count. */
    void (*init)(void *state, uint64_t seed, uint32_t ports);
    /** Index into view->ports. */
    uint32_t (*choose)(void *state, const struct eun_lb_packet *packet,
                       const struct eun_lb_view *view);

    /* What follows is NULL where a balancer does not need it. */

    /**
     * Once, after init() and before the first packet: replaces the defaults. `network->leaf` stays
     * valid with the state. Returns NULL, or why the balancer cannot work there.
     */
    const char *(*configure)(void *state, const struct eun_lb_params *params,
                             const struct eun_lb_network *network);

    /*
     * The three for balancers whose switches tell each other something in the frames: all of them
     * or none. They see control frames, too. A tag is 64 bits of the balancer's own, 0 before.
     */

    /** At its first switch a frame takes way `way` to another switch: its tag. */
    uint64_t (*enter)(void *state, const struct eun_lb_packet *packet, uint32_t way);
    /** At any switch a frame starts on the link of `port` (control: is queued): its new tag. */
    uint64_t (*sent)(void *state, uint32_t port, uint32_t bytes, uint64_t tag, int64_t now_ps);
    /** At its last switch a frame came from another switch. */
    void (*arrive)(void *state, const struct eun_lb_packet *packet, uint64_t tag, int64_t now_ps);

    /**
     * A data frame of `bytes` that has taken `hops` links is about to be queued at port `out`, its
     * way, be it the only one or not. Returns the port that it takes: `out`, or another one that
     * leads to a switch. `queue_bytes` as in the view.
     */
    uint32_t (*divert)(void *state, uint32_t out, uint32_t bytes, uint32_t hops,
                       const uint32_t *queue_bytes);
};

/** The table: a line a balancer, `eun_balancer_NAME`. The first is the default. */
#define EUN_BALANCERS(X)                                                                           \
    X(spray)                                                                                       \
    X(spray_rr)                                                                                    \
    X(ecmp)                                                                                        \
    X(drill)                                                                                       \
    X(letflow)                                                                                     \
    X(conga)                                                                                       \
    X(deflect)                                                                                     \
    X(elephant_spray)                                                                              \
    X(adaptive)

#define EUN_DECLARE_BALANCER(name) extern const struct eun_balancer eun_balancer_##name;
EUN_BALANCERS(EUN_DECLARE_BALANCER)
#undef EUN_DECLARE_BALANCER

/** All of them, NULL at the end; the first is the default. */
extern const struct eun_balancer *const eun_balancers[];

/** NULL where there is none of that name. */
const struct eun_balancer *eun_balancer_find(const char *name);

/** ECMP's choice among `count` ways for a flow of that entropy at a switch of that salt. */
uint32_t eun_ecmp_choose(uint64_t salt, uint32_t entropy, uint32_t count);

#ifdef __cplusplus
}
#endif
#endif
