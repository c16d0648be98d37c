/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_BOTTLENECK_H
#define EUNOMIA_BOTTLENECK_H

/**
 * N long flows share one link: a queue that serves a packet a step, a constant delay around it, an
 * answer a packet. It marks above a threshold, writes INT records, and sees nothing of a control
 * but its rate and window.
 */

#include "core/congestion/congestion.h"

#include "../test-random.h"

#include <math.h>
#include <string.h>

#define LINE UINT64_C(100000000000)
#define MTU 1024u
#define WIRE 1106u
#define STEP INT64_C(88480) /**< time of a packet on the link, ps */
#define FLOWS_MAX 16u
#define RING 65536u

struct flow {
    struct eun_cc cc;
    uint64_t in_flight;
    uint32_t una;
    uint32_t nxt;
    int64_t next_ps;
    uint64_t record; /**< of the last answer; 0: none */
    int64_t record_ps;
    int64_t starts_ps;
    uint64_t done; /**< packets answered while measured */
};

struct packet {
    int64_t sent_ps;
    int64_t at; /**< when the answer is back, once served */
    uint64_t record;
    uint32_t flow;
    uint32_t psn;
    bool ce;
};

struct bottleneck {
    const struct eun_cc_ops *ops;
    struct eun_cc_config config;
    uint32_t flows;
    uint32_t mark_above; /**< packets */
    uint32_t sample_every;
    int64_t delay; /**< of all links, both ways */
    struct flow flow[FLOWS_MAX];
    struct packet ring[RING]; /**< [answered, served) on their way back, [served, end) queued */
    uint32_t answered, served, end;
    uint64_t carried; /**< bytes */
    int64_t now;
    /* Measured. */
    uint64_t busy, steps, queue_sum;
    uint32_t queue_min, queue_max;
};

/** A round trip of 8 us in all, and what the papers say, scaled where it depends on the RTT. */
static inline struct eun_cc_config bottleneck_config(void)
{
    return (struct eun_cc_config){
        .line_rate_bps = LINE,
        .base_rtt_ps = 8000000,
        .mtu_bytes = MTU,
        .mtu_wire_bytes = WIRE,
        .hpcc = {.eta = 0.95, .max_stage = 5, .ai_bytes = 80},
        .timely = {.alpha = 0.875,
                   .beta = 0.8,
                   .min_rtt_ps = 8000000,
                   .low_ps = 20000000,
                   .high_ps = 40000000,
                   .rate_ai_bps = 100000000,
                   .rate_min_bps = 100000000,
                   .segment_bytes = 16384},
        .dctcp = {.g = 1.0 / 16},
    };
}

static inline void bottleneck_init(struct bottleneck *b, const struct eun_cc_ops *ops,
                                   uint32_t flows)
{
    memset(b, 0, sizeof *b);
    b->ops = ops;
    b->config = bottleneck_config();
    b->flows = flows;
    b->mark_above = UINT32_MAX;
    b->sample_every = 1;
    b->delay = b->config.base_rtt_ps - STEP;
    for (uint32_t i = 0; i < flows; i++)
        ops->init(&b->flow[i].cc, &b->config);
}

static inline void bottleneck_answer(struct bottleneck *b, const struct packet *p)
{
    struct flow *f = &b->flow[p->flow];
    const struct eun_cc_ack ack = {
        .now_ps = b->now,
        .rtt_ps = p->psn % b->sample_every == 0 ? b->now - p->sent_ps : -1,
        .in_flight = f->in_flight,
        .psn = p->psn,
        .nxt = f->nxt,
        .ce = p->ce,
        .in = {&p->record, 1, 1},
        .before = {&f->record, f->record != 0, 1},
        .before_ps = f->record_ps,
    };
    f->in_flight -= MTU;
    f->una++;
    f->done++;
    b->ops->on_ack(&f->cc, &b->config, &ack);
    f->record = p->record;
    f->record_ps = b->now;
}

static inline bool bottleneck_may_send(const struct bottleneck *b, const struct flow *f)
{
    if (b->now < f->starts_ps || b->now < f->next_ps)
        return false;
    return f->cc.window_bytes == 0 || f->in_flight == 0 || f->in_flight + MTU <= f->cc.window_bytes;
}

static inline void bottleneck_send(struct bottleneck *b, uint32_t index)
{
    struct flow *f = &b->flow[index];
    if (!bottleneck_may_send(b, f))
        return;
    const int64_t gap = (int64_t)(WIRE * 8e12 / (double)f->cc.rate_bps);
    const int64_t from = f->next_ps > b->now - STEP ? f->next_ps : b->now;
    f->next_ps = from + gap;
    b->ring[b->end++ % RING] = (struct packet){.sent_ps = b->now, .flow = index, .psn = f->nxt++};
    f->in_flight += MTU;
    assert_true(b->end - b->answered < RING);
}

static inline void bottleneck_serve(struct bottleneck *b)
{
    if (b->served == b->end)
        return;
    struct packet *p = &b->ring[b->served++ % RING];
    const uint32_t left = b->end - b->served;
    p->at = b->now + STEP + b->delay;
    p->ce = left > b->mark_above;
    p->record = eun_int_encode(8, b->now, b->carried, left * WIRE);
    b->carried += WIRE;
    b->busy++;
}

/** Runs on for that many steps, measured from its beginning. */
static inline void bottleneck_run(struct bottleneck *b, uint64_t steps)
{
    b->busy = b->steps = b->queue_sum = b->queue_max = 0;
    b->queue_min = UINT32_MAX;
    for (uint32_t i = 0; i < b->flows; i++)
        b->flow[i].done = 0;
    for (; b->steps < steps; b->steps++, b->now += STEP) {
        while (b->answered != b->served && b->ring[b->answered % RING].at <= b->now)
            bottleneck_answer(b, &b->ring[b->answered++ % RING]);
        for (uint32_t i = 0; i < b->flows; i++)
            bottleneck_send(b, (uint32_t)((b->steps + i) % b->flows));
        bottleneck_serve(b);
        const uint32_t queue = b->end - b->served;
        b->queue_sum += queue;
        b->queue_min = queue < b->queue_min ? queue : b->queue_min;
        b->queue_max = queue > b->queue_max ? queue : b->queue_max;
    }
}

/** Share of the link in use. */
static inline double bottleneck_utilisation(const struct bottleneck *b)
{
    return (double)b->busy / (double)b->steps;
}

/** Jain's index of what the flows got. */
static inline double bottleneck_fairness(const struct bottleneck *b)
{
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < b->flows; i++) {
        sum += (double)b->flow[i].done;
        squares += (double)b->flow[i].done * (double)b->flow[i].done;
    }
    return sum * sum / (b->flows * squares);
}

static inline double bottleneck_queue(const struct bottleneck *b)
{
    return (double)b->queue_sum / (double)b->steps;
}

static inline void bottleneck_print(const struct bottleneck *b, const char *what)
{
    print_message("%s, %u flows: utilisation %.4f, fairness %.4f, queue %u..%.1f..%u packets\n",
                  what, b->flows, bottleneck_utilisation(b), bottleneck_fairness(b), b->queue_min,
                  bottleneck_queue(b), b->queue_max);
}

#endif
