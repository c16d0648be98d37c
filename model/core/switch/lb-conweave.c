/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * ConWeave: a flow leaves a slow path at once, and the last switch restores the order (Song et al.,
 * "Network Load Balancing with In-network Reordering Support for RDMA", SIGCOMM 2023).
 *
 * First switch: each epoch of a flow begins with a packet that asks for a reply. Without one by the
 * deadline the flow is rerouted: one more packet, the tail, takes the old path, the next ones,
 * marked as rerouted, another. The epoch ends as the reply comes in time or as the last switch
 * reports the tail (CLEAR). Of two paths drawn the first that is not busy is taken; where both are,
 * the flow stays (section 3.2.2), and its next packet tries again. A path is busy for a while after
 * the last switch saw a mark (CE) on it.
 *
 * Last switch: holds rerouted packets until the tail has come, or until the tail must be lost. When
 * that is follows from the packets of the old path (appendix A): what passed between two packets at
 * the sender should pass between them here. No clock has to be in step.
 *
 * Tables. Both sides know a flow by its hosts and its entropy: flows that agree in all share an
 * entry and stay in order together. An entry may be taken by another flow once its own was silent
 * for `inactive_ps` (first switch) or twice that (last switch) and holds nothing. A flow that finds
 * no room keeps to ECMP and is not put in order.
 *
 * The two sides must not disagree for long, whatever was lost or forgotten:
 * - a flow that starts or was silent says so (EUN_CW_START, one opcode more than in the paper), and
 *   the last switch takes its epoch for new, whichever it is, unless packets of that very epoch
 *   came just now, rerouted ones that were faster;
 * - a packet counts as old, and is forwarded untouched, only where its epoch is the one before and
 *   a packet of the present one came just now. Else, of the two senses that 2 bits leave, the
 *   other one has it: the present epoch is over.
 * "Just now" is half of `inactive_ps`: a silence of that length at the sender may look shorter or
 * longer here as delays change.
 * The paths drawn may be equal, or the one that the flow is on: then it measures that one again.
 * Times of sending are those of a packet's arrival at its first switch, before any queue. As
 * published, a flow whose CLEAR was lost keeps its path until it falls silent (section 3.2.3).
 */
#include "balancer.h"
#include "conweave.h"
#include "rng.h"

#include <string.h>

enum {
    FLOWS = EUN_LB_QUEUES, /* a flow's queue has the number of its entry */
    BUCKET = 16,
    NONE = FLOWS,
    BUSY = 16384, /* leaves x paths */
    PORTS = 512,
};

#define NEVER INT64_MAX

struct slot {
    uint32_t src, dst, entropy;
    bool used;
    bool pinned; /* may not be taken */
    int64_t seen_ps;
};

struct table {
    struct slot slot[FLOWS];
};

/** A flow at its first switch. */
struct source_flow {
    int64_t deadline_ps;
    uint16_t tail_tx_us;
    uint8_t path;
    uint8_t epoch;
    bool rerouted;
    bool stable; /* the epoch is over */
};

/** A flow at its last switch. */
struct sink_flow {
    int64_t old_rx_ps; /* latest packet of the old path */
    int64_t resume_ps; /* the tail is lost if it has not come by then */
    uint32_t held_bytes;
    uint16_t old_tx_us;
    uint16_t tail_tx_us;
    uint16_t port;
    uint16_t active; /* index in conweave::active */
    uint8_t epoch;
    bool tail_came; /* or was given up */
    bool given_up;
    bool old_known;
    bool holds;
};

struct conweave {
    uint64_t salt;
    struct eun_rng rng;
    struct eun_conweave_params params;
    const uint32_t *leaf;                  /* [host] */
    const struct eun_lb_leaf_way *to_leaf; /* [leaf] */
    uint32_t stride;                       /* most paths to a leaf */
    int64_t next_ps;                       /* no queue is due before */
    uint32_t active_count;
    uint64_t held_bytes;
    struct eun_lb_edge_stats stats;
    uint16_t queues[PORTS];
    uint16_t active[FLOWS]; /* entries that hold frames */
    int64_t busy_until_ps[BUSY];
    struct table sources, sinks;
    struct source_flow source[FLOWS];
    struct sink_flow sink[FLOWS];
};

static void init(void *state, uint64_t seed, uint32_t ports)
{
    (void)ports;
    struct conweave *s = state;
    memset(s, 0, sizeof *s);
    s->salt = seed;
    eun_rng_seed(&s->rng, seed);
    s->params = eun_lb_defaults.conweave;
    s->next_ps = NEVER;
}

static const char *configure(void *state, const struct eun_lb_params *params,
                             const struct eun_lb_network *network)
{
    struct conweave *s = state;
    if (!network->leaf)
        return "conweave has to know which hosts share a leaf; see EunomiaSwitch::SetLeaves";
    if (network->ports > PORTS)
        return "conweave takes up to 512 ports a switch";
    for (uint32_t i = 0; network->to_host && i < network->ports; i++)
        if (network->to_host[i] && !network->to_leaf)
            return "conweave has to know the ways to other leaves; see EunomiaSwitch::SetLeafWays";
    s->params = params->conweave;
    s->leaf = network->leaf;
    s->to_leaf = network->to_leaf;
    s->stride = 1;
    for (uint32_t i = 0; s->to_leaf && i < network->leaves; i++)
        if (s->to_leaf[i].paths > s->stride)
            s->stride = s->to_leaf[i].paths;
    if (s->stride > EUN_CW_PATHS)
        return "conweave takes up to 256 paths between two leaves: its header has 8 bits for them";
    if ((uint64_t)network->leaves * s->stride > BUSY)
        return "conweave takes up to 16384 paths from a leaf to all others";
    return NULL;
}

/** ECMP: for flows that are not steered. */
static uint32_t choose(void *state, const struct eun_lb_packet *packet,
                       const struct eun_lb_view *view)
{
    const struct conweave *s = state;
    return eun_ecmp_choose(s->salt, packet->entropy, view->count);
}

/* ---------------------------------------------------------------- tables */

static uint32_t bucket_of(uint32_t src, uint32_t dst, uint32_t entropy)
{
    const uint64_t hosts = (uint64_t)src << 32 | dst;
    return (uint32_t)(eun_mix64(hosts ^ eun_mix64(entropy)) % (FLOWS / BUCKET)) * BUCKET;
}

static bool is_of(const struct slot *slot, uint32_t src, uint32_t dst, uint32_t entropy)
{
    return slot->used && slot->entropy == entropy && slot->src == src && slot->dst == dst;
}

/** The flow's entry; NONE where it has none. */
static uint32_t find(const struct table *t, uint32_t src, uint32_t dst, uint32_t entropy)
{
    const uint32_t first = bucket_of(src, dst, entropy);
    for (uint32_t i = first; i < first + BUCKET; i++)
        if (is_of(&t->slot[i], src, dst, entropy))
            return i;
    return NONE;
}

/** ... or one that it takes, free or of a silent flow; NONE where all are in use. */
static uint32_t find_or_take(struct table *t, const struct eun_lb_packet *p, int64_t now_ps,
                             int64_t idle_ps, bool *fresh)
{
    const uint32_t own = find(t, p->src, p->dst, p->entropy);
    *fresh = own == NONE;
    if (own != NONE)
        return own;
    const uint32_t first = bucket_of(p->src, p->dst, p->entropy);
    for (uint32_t i = first; i < first + BUCKET; i++) {
        struct slot *slot = &t->slot[i];
        if (slot->used && (slot->pinned || now_ps - slot->seen_ps <= idle_ps))
            continue;
        *slot = (struct slot){p->src, p->dst, p->entropy, true, false, now_ps};
        return i;
    }
    return NONE;
}

/* ---------------------------------------------------------------- first switch */

static int64_t *busy_until(struct conweave *s, uint32_t leaf, uint32_t path)
{
    return &s->busy_until_ps[leaf * s->stride + path];
}

/** Draws two paths: the first that is not busy; false where both are, then `*path` is the first. */
static bool draw_path(struct conweave *s, uint32_t leaf, int64_t now_ps, uint8_t *path)
{
    const uint32_t paths = s->to_leaf[leaf].paths;
    const uint32_t one = eun_rng_below(&s->rng, paths), two = eun_rng_below(&s->rng, paths);
    const bool one_busy = *busy_until(s, leaf, one) > now_ps;
    *path = (uint8_t)one;
    if (!one_busy)
        return true;
    if (*busy_until(s, leaf, two) > now_ps)
        return false;
    *path = (uint8_t)two;
    return true;
}

static void begin_epoch(struct conweave *s, struct source_flow *f, uint32_t leaf, int64_t now_ps)
{
    const struct eun_lb_leaf_way *way = &s->to_leaf[leaf];
    const int64_t fixed = s->params.rtt_per_link_ps * way->links;
    f->epoch = (f->epoch + 1u) % EUN_CW_EPOCHS;
    f->rerouted = false;
    f->stable = false;
    f->deadline_ps = now_ps + (fixed ? fixed : way->rtt_ps) + s->params.reply_extra_ps;
    s->stats.epochs++;
}

/** The deadline has passed: does this packet end its path? Then `*next` is the one of the next. */
static bool reroutes(struct conweave *s, const struct source_flow *f, uint32_t leaf, int64_t now_ps,
                     uint8_t *next)
{
    *next = f->path;
    uint8_t path;
    const bool good = draw_path(s, leaf, now_ps, &path);
    if (good) {
        *next = path;
    } else if (s->params.abort) {
        s->stats.aborts++;
        return false;
    }
    s->stats.reroutes++;
    return true;
}

/** A flow that is new or was silent: where both paths drawn are busy it keeps the one it has. */
static void take_path(struct conweave *s, struct source_flow *f, uint32_t leaf, bool fresh,
                      int64_t now_ps)
{
    uint8_t path;
    if (draw_path(s, leaf, now_ps, &path) || fresh)
        f->path = path;
}

/** Moves the flow's state on by a packet; its header, but for what is left of the path. */
static struct eun_cw_header advance(struct conweave *s, struct source_flow *f, uint32_t leaf,
                                    bool silent, int64_t now_ps)
{
    struct eun_cw_header h = {.opcode = EUN_CW_DATA, .tx_us = eun_cw_clock(now_ps)};
    uint8_t next = f->path;
    if (silent) {
        begin_epoch(s, f, leaf, now_ps);
        h.opcode = EUN_CW_START;
    } else if (f->stable) {
        begin_epoch(s, f, leaf, now_ps);
        h.opcode = EUN_CW_REQUEST;
    } else if (!f->rerouted && now_ps > f->deadline_ps) {
        h.tail = reroutes(s, f, leaf, now_ps, &next);
    }
    h.path = f->path;
    h.epoch = f->epoch;
    h.rerouted = f->rerouted;
    h.tail_tx_us = f->rerouted ? f->tail_tx_us : 0;
    if (h.tail) {
        f->rerouted = true;
        f->tail_tx_us = h.tx_us;
        f->path = next;
    }
    return h;
}

static uint32_t depart(void *state, const struct eun_lb_packet *packet,
                       const struct eun_lb_view *view, uint64_t *tag)
{
    struct conweave *s = state;
    const uint32_t leaf = s->leaf[packet->dst];
    bool fresh;
    const uint32_t i =
        find_or_take(&s->sources, packet, view->now_ps, s->params.inactive_ps, &fresh);
    if (i == NONE) {
        s->stats.untracked++;
        *tag = 0;
        return choose(state, packet, view);
    }
    struct source_flow *f = &s->source[i];
    const bool silent = fresh || view->now_ps - s->sources.slot[i].seen_ps > s->params.inactive_ps;
    if (silent)
        take_path(s, f, leaf, fresh, view->now_ps);
    s->sources.slot[i].seen_ps = view->now_ps;
    struct eun_cw_header h = advance(s, f, leaf, silent, view->now_ps);
    h.left = (uint8_t)(h.path / view->count);
    *tag = eun_cw_pack(&h);
    return h.path % view->count;
}

static void signal(void *state, const struct eun_lb_signal *signal, int64_t now_ps)
{
    struct conweave *s = state;
    const struct eun_cw_header h = eun_cw_unpack(signal->tag);
    if (h.opcode == EUN_CW_NOTIFY) {
        s->stats.notified++;
        if (h.path < s->stride)
            *busy_until(s, s->leaf[signal->dst], h.path) = now_ps + s->params.path_busy_ps;
        return;
    }
    const uint32_t i = find(&s->sources, signal->src, signal->dst, signal->entropy);
    if (i == NONE || s->source[i].epoch != h.epoch)
        return;
    struct source_flow *f = &s->source[i];
    if (h.opcode == EUN_CW_CLEAR) {
        f->stable |= f->rerouted;
        return;
    }
    if (f->rerouted || now_ps > f->deadline_ps) {
        s->stats.replies_late++;
        return;
    }
    f->stable = true;
    s->stats.replies_in_time++;
}

static uint32_t follow(void *state, const struct eun_lb_view *view, uint64_t *tag)
{
    (void)state;
    struct eun_cw_header h = eun_cw_unpack(*tag);
    const uint32_t way = h.left % view->count;
    h.left = (uint8_t)(h.left / view->count);
    *tag = eun_cw_pack(&h);
    return way;
}

/* ---------------------------------------------------------------- last switch */

static void add_signal(struct eun_lb_verdict *v, const struct slot *flow, uint8_t opcode,
                       uint8_t epoch, uint8_t path)
{
    const struct eun_cw_header h = {.opcode = opcode, .epoch = epoch, .path = path};
    v->signal[v->signals++] =
        (struct eun_lb_signal){flow->src, flow->dst, flow->entropy, eun_cw_pack(&h)};
}

/** When the tail should have come, seen from a packet of the old path (appendix A). */
static int64_t tail_due(const struct conweave *s, const struct sink_flow *f)
{
    const int gap_us = (int16_t)(uint16_t)(f->tail_tx_us - f->old_tx_us);
    return f->old_rx_ps + gap_us * INT64_C(1000000) + s->params.resume_extra_ps;
}

static void set_resume(struct conweave *s, struct sink_flow *f, int64_t now_ps)
{
    const int64_t blind = now_ps + s->params.resume_default_ps + s->params.resume_extra_ps;
    const int64_t due = f->old_known ? tail_due(s, f) : blind;
    f->resume_ps = due > now_ps ? due : now_ps;
    if (f->resume_ps < s->next_ps)
        s->next_ps = f->resume_ps;
}

static bool open_queue(struct conweave *s, uint32_t i, uint32_t port, int64_t now_ps)
{
    struct sink_flow *f = &s->sink[i];
    if (s->queues[port] >= s->params.queues_per_port)
        return false;
    s->queues[port]++;
    if (s->queues[port] > s->stats.queues_peak)
        s->stats.queues_peak = s->queues[port];
    f->holds = true;
    f->port = (uint16_t)port;
    f->active = (uint16_t)s->active_count;
    s->active[s->active_count++] = (uint16_t)i;
    s->sinks.slot[i].pinned = true;
    set_resume(s, f, now_ps);
    return true;
}

static void close_queue(struct conweave *s, uint32_t i)
{
    struct sink_flow *f = &s->sink[i];
    s->queues[f->port]--;
    s->held_bytes -= f->held_bytes;
    f->held_bytes = 0;
    f->holds = false;
    const uint16_t last = s->active[--s->active_count];
    s->active[f->active] = last;
    s->sink[last].active = f->active;
    s->sinks.slot[i].pinned = false;
    if (s->active_count == 0)
        s->next_ps = NEVER;
}

/** Did that epoch come after the entry's? Then the entry is of it now, and its queue is closed. */
static bool adopt(struct conweave *s, uint32_t i, const struct eun_cw_header *h, bool fresh,
                  int64_t now_ps, struct eun_lb_verdict *v)
{
    struct sink_flow *f = &s->sink[i];
    const bool starts = h->opcode == EUN_CW_START;
    const bool recent = now_ps - s->sinks.slot[i].seen_ps <= s->params.inactive_ps / 2;
    const uint32_t ahead = (h->epoch - f->epoch + 0u) % EUN_CW_EPOCHS;
    /* Rerouted packets may overtake the start of their epoch. */
    if (!fresh && ahead == 0 && (!starts || recent))
        return true;
    if (!fresh && ahead == EUN_CW_EPOCHS - 1 && !starts && recent) {
        /* Rerouted packets of the present epoch may be held while it is still on its way. */
        s->stats.early_flushes += !f->holds;
        return false;
    }
    if (!fresh && f->holds) {
        v->release_before = i;
        close_queue(s, i);
    }
    *f = (struct sink_flow){.epoch = h->epoch};
    return true;
}

static void take_tail(struct conweave *s, uint32_t i, struct eun_lb_verdict *v)
{
    struct sink_flow *f = &s->sink[i];
    s->stats.early_flushes += f->given_up;
    f->tail_came = true;
    if (f->holds) {
        s->stats.tail_flushes++;
        v->release_after = i;
        close_queue(s, i);
    }
}

static void take_rerouted(struct conweave *s, uint32_t i, const struct eun_lb_packet *packet,
                          const struct eun_cw_header *h, uint32_t port, int64_t now_ps,
                          struct eun_lb_verdict *v)
{
    struct sink_flow *f = &s->sink[i];
    if (f->tail_came)
        return;
    f->tail_tx_us = h->tail_tx_us;
    if (!f->holds && !open_queue(s, i, port, now_ps)) {
        s->stats.no_queue++;
        return;
    }
    v->hold = i;
    f->held_bytes += packet->bytes;
    s->held_bytes += packet->bytes;
    s->stats.holds++;
    if (s->held_bytes > s->stats.held_peak)
        s->stats.held_peak = s->held_bytes;
}

static void take_old(struct conweave *s, uint32_t i, const struct eun_cw_header *h, int64_t now_ps)
{
    struct sink_flow *f = &s->sink[i];
    s->stats.early_flushes += f->given_up;
    f->old_known = true;
    f->old_rx_ps = now_ps;
    f->old_tx_us = h->tx_us;
    if (f->holds)
        set_resume(s, f, now_ps);
}

static void no_verdict(struct eun_lb_verdict *v)
{
    v->hold = v->release_before = v->release_after = EUN_LB_NO_QUEUE;
    v->signals = 0;
}

static void deliver(void *state, const struct eun_lb_packet *packet, uint64_t tag, bool ce,
                    uint32_t port, int64_t now_ps, struct eun_lb_verdict *v)
{
    struct conweave *s = state;
    const struct eun_cw_header h = eun_cw_unpack(tag);
    const struct slot flow = {packet->src, packet->dst, packet->entropy, true, false, 0};
    no_verdict(v);
    if (h.opcode == EUN_CW_NONE)
        return;
    if (ce)
        add_signal(v, &flow, EUN_CW_NOTIFY, 0, h.path);
    bool fresh;
    const uint32_t i = find_or_take(&s->sinks, packet, now_ps, 2 * s->params.inactive_ps, &fresh);
    s->stats.untracked += i == NONE;
    if (i != NONE && !adopt(s, i, &h, fresh, now_ps, v))
        return;
    if (h.tail)
        add_signal(v, &flow, EUN_CW_CLEAR, h.epoch, 0);
    else if (h.opcode != EUN_CW_DATA)
        add_signal(v, &flow, EUN_CW_REPLY, h.epoch, 0);
    if (i == NONE)
        return;
    s->sinks.slot[i].seen_ps = now_ps;
    if (h.tail)
        take_tail(s, i, v);
    else if (h.rerouted)
        take_rerouted(s, i, packet, &h, port, now_ps, v);
    else
        take_old(s, i, &h, now_ps);
}

static int64_t deadline(const void *state)
{
    return ((const struct conweave *)state)->next_ps;
}

static bool expire(void *state, int64_t now_ps, struct eun_lb_verdict *v)
{
    struct conweave *s = state;
    no_verdict(v);
    int64_t next = NEVER;
    for (uint32_t k = 0; k < s->active_count; k++) {
        const uint32_t i = s->active[k];
        struct sink_flow *f = &s->sink[i];
        if (f->resume_ps <= now_ps) {
            v->release_after = i;
            f->tail_came = f->given_up = true;
            s->stats.timer_flushes++;
            if (s->params.timer_clears)
                add_signal(v, &s->sinks.slot[i], EUN_CW_CLEAR, f->epoch, 0);
            close_queue(s, i);
            return true;
        }
        if (f->resume_ps < next)
            next = f->resume_ps;
    }
    s->next_ps = next;
    return false;
}

static uint32_t header_bytes(const struct eun_lb_params *params)
{
    return params->conweave.header_bytes;
}

static const struct eun_lb_edge_stats *stats(const void *state)
{
    return &((const struct conweave *)state)->stats;
}

static const struct eun_lb_edge edge = {
    .header_bytes = header_bytes,
    .depart = depart,
    .follow = follow,
    .deliver = deliver,
    .signal = signal,
    .deadline = deadline,
    .expire = expire,
    .stats = stats,
};

const struct eun_balancer eun_balancer_conweave = {
    .name = "conweave",
    .summary = "a flow leaves a slow path at once; its last switch restores the order",
    .reorders = false,
    .delays = true,
    .state_bytes = sizeof(struct conweave),
    .init = init,
    .choose = choose,
    .configure = configure,
    .edge = &edge,
};
