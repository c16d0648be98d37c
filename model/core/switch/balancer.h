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
    const uint16_t *ports;         /**< the equally short ways, in ascending order */
    uint32_t count;                /**< how many, >= 2 */
    const uint32_t *queue_bytes;   /**< bytes of data queued, indexed by port */
    const uint32_t *control_bytes; /**< likewise of the control class */
    int64_t now_ps;
    bool from_host; /**< this is the packet's first switch */
};

enum { EUN_DRILL_MAX = 8, EUN_DEFLECT_HOPS_MAX = 240, EUN_ADAPTIVE_MAX = 8, EUN_LB_QUEUES = 4096 };

/** Those of ConWeave. */
struct eun_conweave_params {
    int64_t reply_extra_ps;    /**< a reply may take that much longer than unloaded, >= 0 */
    int64_t path_busy_ps;      /**< a path is avoided that long after a mark, >= 0 */
    int64_t resume_extra_ps;   /**< slack of the estimate of the tail's arrival, >= 0 */
    int64_t resume_default_ps; /**< the estimate itself where nothing is known, >= 0 */
    int64_t inactive_ps;       /**< a flow silent for longer starts anew, 1 us..30 ms */
    int64_t rtt_per_link_ps;   /**< unloaded round trip of a link; 0: from the network */
    uint32_t queues_per_port;  /**< reordering queues, 0..EUN_LB_QUEUES */
    uint32_t header_bytes;     /**< that a frame grows by between its first and last switch */
    bool abort;                /**< no reroute where both paths drawn are busy */
    bool timer_clears;         /**< a queue that the timer opens is reported, too */
};

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
    struct eun_conweave_params conweave;
};

/** What a balancer has after init(). */
extern const struct eun_lb_params eun_lb_defaults;

/** From a switch with hosts to another one, or to itself. */
struct eun_lb_leaf_way {
    uint32_t links; /**< between the two, 0 to itself */
    uint32_t paths; /**< shortest ones: the product of the ways on it, 1 or more; may saturate */
    int64_t rtt_ps; /**< the longest data frame there, a signal back, in an empty network */
};

/** What a balancer may know of the network, beyond the ways of a packet. */
struct eun_lb_network {
    const uint32_t *leaf;     /**< [host]: the switch it is attached to, from 0; NULL: unknown */
    uint32_t leaves;          /**< how many of these switches there are */
    uint32_t longest;         /**< most links on a shortest way between two hosts */
    uint32_t widest;          /**< largest group of ways at this switch */
    const uint64_t *rate_bps; /**< [port] of this switch, > 0 */
    const uint8_t *to_host;   /**< [port] of this switch: no switch at the other end */
    uint32_t ports;
    const struct eun_lb_leaf_way *to_leaf; /**< [leaf]; NULL: no host is attached here */
};

/*
 * Balancers that steer a flow's packets at their first switch and put them in order at the last.
 *
 * Frames carry a header between the two, of which the tag (eun_lb_edge::depart) is the content. The
 * last switch may hold frames in queues and send signals: small frames in the control class to the
 * switch of the flow's source. Nothing of this is seen by hosts.
 */

/** To the first switch of a flow: `src`, `dst` and `entropy` are those of the flow's data. */
struct eun_lb_signal {
    uint32_t src, dst, entropy;
    uint64_t tag;
};

enum { EUN_LB_SIGNALS = 2 };
#define EUN_LB_NO_QUEUE UINT32_MAX

/** What the last switch does; queues are numbered 0..EUN_LB_QUEUES-1, of all ports together. */
struct eun_lb_verdict {
    uint32_t hold;           /**< queue that the frame waits in; EUN_LB_NO_QUEUE: forwarded */
    uint32_t release_before; /**< queue whose frames are forwarded before this one */
    uint32_t release_after;  /**< ... and after it */
    uint32_t signals;
    struct eun_lb_signal signal[EUN_LB_SIGNALS];
};

/** What one switch did so far. */
struct eun_lb_edge_stats {
    uint64_t epochs;          /**< round trips measured, as first switch */
    uint64_t replies_in_time; /**< ... and found short */
    uint64_t replies_late;    /**< ... that came after the deadline */
    uint64_t reroutes;
    uint64_t aborts;       /**< packets that would have been the tail, but both paths were busy */
    uint64_t notified;     /**< paths reported busy */
    uint64_t untracked;    /**< packets of flows that found no room in a table */
    uint64_t holds;        /**< frames that waited for their tail */
    uint64_t queues_peak;  /**< most queues in use at one port */
    uint64_t held_peak;    /**< most bytes held at a time, all ports */
    uint64_t tail_flushes; /**< queues released by the tail */
    uint64_t timer_flushes;
    uint64_t
        early_flushes; /**< frames of the old path that came after all: the timer was too early */
    uint64_t no_queue; /**< frames forwarded too early as no queue was free */
};

struct eun_lb_edge {
    uint32_t (*header_bytes)(const struct eun_lb_params *params);
    /**
     * First switch, data for another one: an index into view->ports, whose count may be 1 here, and
     * the tag; 0: nothing else applies to this frame.
     */
    uint32_t (*depart)(void *state, const struct eun_lb_packet *packet,
                       const struct eun_lb_view *view, uint64_t *tag);
    /** Between first and last, several ways: likewise. The tag is not 0. */
    uint32_t (*follow)(void *state, const struct eun_lb_view *view, uint64_t *tag);
    /** Last switch, the frame is stored for `port` and not yet queued; `ce`: marked on its way. */
    void (*deliver)(void *state, const struct eun_lb_packet *packet, uint64_t tag, bool ce,
                    uint32_t port, int64_t now_ps, struct eun_lb_verdict *verdict);
    /** First switch of the flow: a signal about it came. */
    void (*signal)(void *state, const struct eun_lb_signal *signal, int64_t now_ps);
    /** When expire() is due; INT64_MAX: not at all. May be too early, never too late. */
    int64_t (*deadline)(const void *state);
    /** Is a queue overdue? `release_after` says which; to be called until it says no. */
    bool (*expire)(void *state, int64_t now_ps, struct eun_lb_verdict *verdict);
    const struct eun_lb_edge_stats *(*stats)(const void *state);
};

struct eun_balancer {
    const char *name;    /**< as on the command line */
    const char *summary; /**< one line for --help */
    bool reorders;       /**< a flow's packets may take different ways without a gap between them */
    bool follows_entropy; /**< a packet's way follows from its entropy alone, now and later */
    bool delays;          /**< it keeps packets waiting in switches, beside the queues */
    size_t state_bytes;   /**< state of one switch; the caller holds it */
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
    /** For data between hosts of different switches these replace choose(). All of them or NULL. */
    const struct eun_lb_edge *edge;
};

/** The table: a line a balancer, `eun_balancer_NAME`. The first is the default. */
#define EUN_BALANCERS(X)                                                                           \
    X(spray)                                                                                       \
    X(spray_rr)                                                                                    \
    X(ecmp)                                                                                        \
    X(drill)                                                                                       \
    X(drill_conweave)                                                                              \
    X(letflow)                                                                                     \
    X(conga)                                                                                       \
    X(deflect)                                                                                     \
    X(elephant_spray)                                                                              \
    X(adaptive)                                                                                    \
    X(conweave)

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
