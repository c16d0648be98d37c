/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * The guarantee of a lossless priority, played through: senders at full rate behind real wires, a
 * pause frame that always finds the longest frame just started in its way, and a sender that always
 * finishes the frame it has begun.
 */
#include "core/switch/shared-buffer.h"

#include "../test-random.h"

#include <string.h>

#define US INT64_C(1000000)
#define PORTS_MAX 128u
#define GAP 20u
#define PAUSE_FRAME 64u
#define FRAME_MIN 64u
#define LOSSY 1u
#define LOSSLESS 3u

enum kind { SEND, ARRIVE, DEPART, PAUSE, REFRESH, UNBLOCK };

struct event {
    int64_t at;
    uint64_t order;
    enum kind kind;
    uint32_t port;
    uint32_t priority;
    uint32_t out;
    uint32_t bytes;
    bool xoff;
};

struct stored {
    uint32_t in;
    uint32_t priority;
    uint32_t bytes;
    struct stored *next;
};

struct sender {
    int64_t left[EUN_PRIORITIES];
    int64_t paused_until[EUN_PRIORITIES];
    int64_t wire_free;
    int64_t reverse_free; /**< wire of the pause frames */
    uint32_t turn;
};

struct output {
    struct stored *head;
    struct stored *tail;
    int64_t wire_free;
    bool blocked; /**< by a pause from further down */
};

struct run {
    struct eun_buffer b;
    struct test_random r;
    int64_t rate_ps_per_byte;
    int64_t delay;
    uint32_t frame_max;
    bool incast;    /**< all to port 0 */
    bool small_too; /**< frames of all lengths, else the longest only */
    bool blocking;  /**< outputs stop for a time */
    struct sender sender[PORTS_MAX];
    struct output output[PORTS_MAX];
    struct event *heap;
    size_t events;
    size_t room;
    uint64_t order;
    int64_t now;
    uint32_t arrivals;
    uint32_t drops[4];
    uint32_t lossless_drops;
    uint32_t xoffs;
    uint32_t refreshes;
    uint32_t xons;
    int64_t headroom_peak;
};

/* The virtual clock: a binary heap of events. */

static bool earlier(const struct event *a, const struct event *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void push(struct run *run, struct event event)
{
    if (run->events == run->room) {
        run->room = run->room ? run->room * 2 : 1024;
        run->heap = realloc(run->heap, run->room * sizeof *run->heap);
        assert_non_null(run->heap);
    }
    event.order = run->order++;
    size_t i = run->events++;
    for (; i > 0 && earlier(&event, &run->heap[(i - 1) / 2]); i = (i - 1) / 2)
        run->heap[i] = run->heap[(i - 1) / 2];
    run->heap[i] = event;
}

static struct event pop(struct run *run)
{
    const struct event top = run->heap[0];
    const struct event last = run->heap[--run->events];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child + 1 < run->events && earlier(&run->heap[child + 1], &run->heap[child]))
            child++;
        if (child >= run->events || !earlier(&run->heap[child], &last))
            break;
        run->heap[i] = run->heap[child];
        i = child;
    }
    run->heap[i] = last;
    return top;
}

static int64_t wire_time(const struct run *run, uint32_t bytes)
{
    return (int64_t)(bytes + GAP) * run->rate_ps_per_byte;
}

/* The sender */

static bool may_send(const struct run *run, const struct sender *s, uint32_t priority)
{
    return s->left[priority] > 0 && s->paused_until[priority] <= run->now;
}

static void try_send(struct run *run, uint32_t port)
{
    struct sender *s = &run->sender[port];
    if (s->wire_free > run->now)
        return;
    uint32_t priority = s->turn;
    if (!may_send(run, s, priority))
        priority = priority == LOSSY ? LOSSLESS : LOSSY;
    if (!may_send(run, s, priority))
        return;
    s->turn = priority == LOSSY ? LOSSLESS : LOSSY;
    uint32_t bytes = run->frame_max;
    if (run->small_too && test_chance(&run->r, 50))
        bytes = test_between(&run->r, FRAME_MIN, run->frame_max);
    s->left[priority] -= bytes;
    s->wire_free = run->now + wire_time(run, bytes);
    const uint32_t out = run->incast ? 0 : test_below(&run->r, run->b.config.ports);
    push(run, (struct event){.at = s->wire_free + run->delay,
                             .kind = ARRIVE,
                             .port = port,
                             .priority = priority,
                             .out = out,
                             .bytes = bytes});
    push(run, (struct event){.at = s->wire_free, .kind = SEND, .port = port});
}

static void take_pause(struct run *run, const struct event *e)
{
    struct sender *s = &run->sender[e->port];
    s->paused_until[e->priority] = e->xoff ? run->now + run->b.config.pause_ps : 0;
    if (e->xoff)
        push(run,
             (struct event){.at = s->paused_until[e->priority], .kind = SEND, .port = e->port});
    else
        try_send(run, e->port);
}

/* The switch */

/** Sends XOFF or XON after the longest frame, which has just started, and others that wait. */
static void act(struct run *run, enum eun_pfc_action action, uint32_t port, uint32_t priority)
{
    if (action == EUN_PFC_NOTHING)
        return;
    struct sender *s = &run->sender[port];
    const int64_t start =
        s->reverse_free > run->now ? s->reverse_free : run->now + wire_time(run, run->frame_max);
    s->reverse_free = start + wire_time(run, PAUSE_FRAME);
    push(run, (struct event){.at = s->reverse_free + run->delay,
                             .kind = PAUSE,
                             .port = port,
                             .priority = priority,
                             .xoff = action == EUN_PFC_XOFF});
    run->xoffs += action == EUN_PFC_XOFF;
    run->xons += action == EUN_PFC_XON;
    const int64_t refresh = run->b.policy->refresh_at(&run->b, port, priority);
    if (refresh != INT64_MAX)
        push(run,
             (struct event){.at = refresh, .kind = REFRESH, .port = port, .priority = priority});
}

static void refresh(struct run *run, const struct event *e)
{
    if (run->b.policy->refresh_at(&run->b, e->port, e->priority) > run->now)
        return;
    run->refreshes++;
    act(run, run->b.policy->stored(&run->b, e->port, e->priority, run->now), e->port, e->priority);
}

static void depart(struct run *run, uint32_t out)
{
    struct output *o = &run->output[out];
    if (!o->head || o->blocked || o->wire_free > run->now)
        return;
    if (run->blocking && test_chance(&run->r, 1)) {
        o->blocked = true;
        push(run, (struct event){.at = run->now + test_between(&run->r, 1, 100) * US,
                                 .kind = UNBLOCK,
                                 .port = out});
        return;
    }
    struct stored *f = o->head;
    o->head = f->next;
    o->wire_free = run->now + wire_time(run, f->bytes);
    run->b.policy->release(&run->b, f->in, out, f->priority, f->bytes);
    act(run, run->b.policy->left(&run->b, f->in, f->priority, run->now), f->in, f->priority);
    push(run, (struct event){.at = o->wire_free, .kind = DEPART, .port = out});
    free(f);
}

static void arrive(struct run *run, const struct event *e)
{
    struct eun_buffer *b = &run->b;
    const enum eun_drop_reason verdict =
        b->policy->admit(b, e->port, e->out, e->priority, e->bytes);
    run->arrivals++;
    run->drops[verdict]++;
    if (verdict != EUN_DROP_NONE) {
        run->lossless_drops += e->priority == LOSSLESS;
        return;
    }
    const int64_t headroom = eun_buffer_pg(b, e->port, e->priority)->headroom;
    if (headroom > run->headroom_peak)
        run->headroom_peak = headroom;
    act(run, b->policy->stored(b, e->port, e->priority, run->now), e->port, e->priority);
    struct stored *f = malloc(sizeof *f);
    assert_non_null(f);
    *f = (struct stored){e->port, e->priority, e->bytes, NULL};
    struct output *o = &run->output[e->out];
    if (o->head)
        o->tail->next = f;
    else
        o->head = f;
    o->tail = f;
    depart(run, e->out);
}

static void handle(struct run *run, const struct event *e)
{
    switch (e->kind) {
    case SEND:
        try_send(run, e->port);
        break;
    case ARRIVE:
        arrive(run, e);
        break;
    case DEPART:
        depart(run, e->port);
        break;
    case PAUSE:
        take_pause(run, e);
        break;
    case REFRESH:
        refresh(run, e);
        break;
    case UNBLOCK:
        run->output[e->port].blocked = false;
        depart(run, e->port);
        break;
    }
}

/* Runs */

static void start(struct run *run, uint64_t seed, uint32_t ports, int64_t total_bytes,
                  uint32_t headroom_less)
{
    const uint64_t rate = 100000000000;
    memset(run, 0, sizeof *run);
    run->r.state = seed;
    run->rate_ps_per_byte = 80;
    run->delay = 1 * US;
    run->frame_max = 1114;
    const struct eun_buffer_config config = {.ports = ports,
                                             .total_bytes = total_bytes,
                                             .reserve_bytes = run->frame_max,
                                             .alpha = 1.0 / 16,
                                             .egress_alpha = 1,
                                             .resume_bytes = 3072,
                                             .lossless_mask = 1 << LOSSLESS,
                                             .max_frame_bytes = run->frame_max,
                                             .pause_ps = 335 * US};
    assert_true(eun_buffer_init(&run->b, &eun_buffer_dynamic, &config));
    for (uint32_t port = 0; port < ports; port++)
        run->b.port[port].headroom_bytes =
            eun_buffer_headroom(rate, run->delay, run->frame_max, PAUSE_FRAME) - headroom_less;
    assert_true(eun_buffer_prepare(&run->b));
    for (uint32_t port = 0; port < ports; port++)
        run->sender[port].turn = LOSSLESS;
}

/** Until nothing happens any more: then every byte has gone and no sender is left paused. */
static void play(struct run *run)
{
    for (uint32_t port = 0; port < run->b.config.ports; port++)
        push(run, (struct event){.at = test_below(&run->r, US / 10), .kind = SEND, .port = port});
    while (run->events) {
        const char *reason = NULL;
        const struct event e = pop(run);
        run->now = e.at;
        handle(run, &e);
        if (run->order % 64 == 0 && !eun_buffer_validate(&run->b, &reason))
            fail_msg("%s", reason);
        assert_true(run->b.used <= run->b.config.total_bytes);
    }
    assert_int_equal(run->b.used, 0);
    assert_int_equal(run->b.pool_used, 0);
    for (uint32_t port = 0; port < run->b.config.ports; port++) {
        for (uint32_t p = 0; p < EUN_PRIORITIES; p++) {
            assert_true(run->sender[port].left[p] <= 0);
            assert_false(eun_buffer_pg(&run->b, port, p)->paused);
            assert_int_equal(eun_buffer_pg(&run->b, port, p)->headroom, 0);
        }
    }
}

static void end(struct run *run, const char *what)
{
    const uint32_t headroom = run->b.port[0].headroom_bytes;
    print_message("%s, %u ports: %u frames, %u XOFF (%u refreshes), %u XON, headroom %lld of %u B, "
                  "%u lossy drops\n",
                  what, run->b.config.ports, run->arrivals, run->xoffs, run->refreshes, run->xons,
                  (long long)run->headroom_peak, headroom,
                  run->drops[1] + run->drops[2] + run->drops[3] - run->lossless_drops);
    eun_buffer_dispose(&run->b);
    free(run->heap);
}

static const uint32_t port_counts[] = {8, 24, 128};
enum { PORT_COUNTS = sizeof port_counts / sizeof port_counts[0] };

/** A thousand flows of 16 KiB, spread over all other ports, into port 0; 8 MB of buffer. */
static void a_thousand_into_one(struct run *run, uint64_t seed, uint32_t ports,
                                uint32_t headroom_less)
{
    start(run, seed, ports, 8000000, headroom_less);
    run->incast = true;
    for (uint32_t flow = 0; flow < 1000; flow++)
        run->sender[1 + flow % (ports - 1)].left[LOSSLESS] += 16384;
    play(run);
}

static void incast_never_drops(void **state)
{
    (void)state;
    struct test_random r = test_random_start(121);
    static struct run run;
    for (int i = 0; i < PORT_COUNTS; i++) {
        a_thousand_into_one(&run, test_random_next(&r), port_counts[i], 0);
        assert_int_equal(run.drops[EUN_DROP_NONE], run.arrivals);
        assert_true(run.xoffs > 0 && run.headroom_peak > 20000);
        end(&run, "1000 to 1");
    }
}

/** The same drops when headroom is a frame short, so the case above is the worst there is. */
static void a_frame_less_of_headroom_drops(void **state)
{
    (void)state;
    struct test_random r = test_random_start(122);
    static struct run run;
    for (int i = 0; i < PORT_COUNTS; i++) {
        a_thousand_into_one(&run, test_random_next(&r), port_counts[i], 1114);
        assert_true(run.drops[EUN_DROP_HEADROOM] > 0);
        end(&run, "a frame short");
    }
}

/**
 * Everyone to everyone, frames of all lengths, lossy traffic between, outputs that stop for up to
 * 100 us: lossless frames still all get through.
 */
static void random_traffic_never_drops(void **state)
{
    (void)state;
    struct test_random r = test_random_start(123);
    static struct run run;
    for (int i = 0; i < 2 * PORT_COUNTS; i++) {
        const uint32_t ports = port_counts[i % PORT_COUNTS];
        /* Little pool beside the headrooms, so that all of it is in use most of the time. */
        start(&run, test_random_next(&r), ports, (int64_t)ports * (1114 + 28406) + 200000, 0);
        run.small_too = run.blocking = true;
        for (uint32_t port = 0; port < ports; port++) {
            run.sender[port].left[LOSSLESS] = 20000000 / ports;
            run.sender[port].left[LOSSY] = i < PORT_COUNTS ? 5000000 / ports : 0;
        }
        play(&run);
        assert_int_equal(run.lossless_drops, 0);
        assert_true(run.xoffs > 0 && run.xons > 0);
        assert_true(i >= PORT_COUNTS || run.arrivals > run.drops[EUN_DROP_NONE]);
        end(&run, "random");
    }
}

/** Pauses that run out long before the output moves again are refreshed in time. */
static void short_pauses_are_refreshed(void **state)
{
    (void)state;
    struct test_random r = test_random_start(124);
    static struct run run;
    start(&run, test_random_next(&r), 8, 1000000, 0);
    run.b.config.pause_ps = 5 * US;
    run.incast = run.blocking = true;
    for (uint32_t port = 1; port < 8; port++)
        run.sender[port].left[LOSSLESS] = 1000000;
    play(&run);
    assert_int_equal(run.drops[EUN_DROP_NONE], run.arrivals);
    assert_true(run.refreshes > 100);
    end(&run, "short pauses");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(incast_never_drops),
        cmocka_unit_test(a_frame_less_of_headroom_drops),
        cmocka_unit_test(random_traffic_never_drops),
        cmocka_unit_test(short_pauses_are_refreshed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
