/* SPDX-License-Identifier: GPL-2.0-only */
#include "core/switch/shared-buffer.h"

#include "../test-random.h"

#include <string.h>

#define US INT64_C(1000000)
#define FRAME 1048u
#define HEADROOM 27096u
#define PG 3u
#define PORTS_MAX 24u
#define FRAMES_MAX 16384u

/** A switch of the published runs: 9 MiB, 1000 + 48 byte frames, 100 Gb/s, 1 us. */
static struct eun_buffer_config published(uint32_t ports)
{
    return (struct eun_buffer_config){.ports = ports,
                                      .total_bytes = 9 << 20,
                                      .reserve_bytes = FRAME,
                                      .alpha = 1.0 / 16,
                                      .egress_alpha = 1,
                                      .resume_bytes = 16,
                                      .lossless_mask = 1 << PG,
                                      .max_frame_bytes = FRAME,
                                      .pause_ps = 5 * US};
}

static void start(struct eun_buffer *b, const struct eun_buffer_config *config, uint32_t headroom)
{
    assert_true(eun_buffer_init(b, &eun_buffer_conweave, config));
    for (uint32_t port = 0; port < config->ports; port++)
        b->port[port].headroom_bytes = headroom;
    assert_true(eun_buffer_prepare(b));
}

static void start_leaf(struct eun_buffer *b)
{
    const struct eun_buffer_config config = published(24);
    start(b, &config, HEADROOM);
}

static enum eun_drop_reason admit(struct eun_buffer *b, uint32_t in, uint32_t out)
{
    return b->policy->admit(b, in, out, PG, FRAME);
}

static enum eun_pfc_action stored(struct eun_buffer *b, uint32_t in, int64_t now)
{
    return b->policy->stored(b, in, PG, now);
}

static enum eun_pfc_action leave(struct eun_buffer *b, uint32_t in, uint32_t out, int64_t now)
{
    b->policy->release(b, in, out, PG, FRAME);
    return b->policy->left(b, in, PG, now);
}

/* ---- The reference: the counters of the published code, kept as it keeps them ---- */

struct queue {
    int64_t guaranteed; /**< up to a frame and a byte */
    int64_t shared;
};

struct group {
    int64_t used;
    int64_t headroom;
    bool paused;
    int64_t pause_end;
};

struct frame {
    uint32_t in;
    uint32_t out;
    uint32_t priority;
    uint32_t bytes;
};

struct model {
    struct eun_buffer_config config;
    int64_t limit; /**< of one group's headroom */
    int64_t ingress_pool;
    int64_t egress_pool;
    int64_t total;
    int64_t shared; /**< of all egress queues */
    int64_t port[PORTS_MAX];
    struct group group[PORTS_MAX][EUN_PRIORITIES];
    struct queue queue[PORTS_MAX][EUN_PRIORITIES];
    struct frame frame[FRAMES_MAX];
    uint32_t frames;
};

static bool model_admits(const struct model *m, const struct frame *f)
{
    const struct group *g = &m->group[f->in][f->priority];
    const struct queue *q = &m->queue[f->out][f->priority];
    const int64_t bytes = f->bytes, frame = m->config.max_frame_bytes;
    if (m->shared + bytes > m->egress_pool || m->total + bytes > m->config.total_bytes)
        return false;
    if ((double)(q->shared + bytes) > m->config.egress_alpha * (double)(m->egress_pool - m->shared))
        return false;
    const bool guaranteed = g->used + bytes <= frame || m->port[f->in] + bytes <= frame;
    return guaranteed || m->total <= m->ingress_pool || g->headroom + bytes <= m->limit;
}

static void model_add(struct model *m, const struct frame *f)
{
    struct group *g = &m->group[f->in][f->priority];
    struct queue *q = &m->queue[f->out][f->priority];
    const int64_t room = m->config.max_frame_bytes + 1 - q->guaranteed;
    const int64_t guaranteed = f->bytes < room ? f->bytes : room;
    m->total += f->bytes;
    m->port[f->in] += f->bytes;
    g->used += f->bytes;
    if (m->total > m->ingress_pool)
        g->headroom += f->bytes;
    q->guaranteed += guaranteed;
    q->shared += f->bytes - guaranteed;
    m->shared += f->bytes - guaranteed;
    m->frame[m->frames++] = *f;
}

static void model_remove(struct model *m, uint32_t index)
{
    const struct frame f = m->frame[index];
    struct group *g = &m->group[f.in][f.priority];
    struct queue *q = &m->queue[f.out][f.priority];
    const int64_t shared = f.bytes < q->shared ? f.bytes : q->shared;
    m->total -= f.bytes;
    m->port[f.in] -= f.bytes;
    g->used -= f.bytes;
    g->headroom = g->headroom > f.bytes ? g->headroom - f.bytes : 0;
    q->shared -= shared;
    q->guaranteed -= f.bytes - shared;
    m->shared -= shared;
    m->frame[index] = m->frame[--m->frames];
}

/** The pause flag ends by itself; then XON is no longer owed. */
static enum eun_pfc_action model_resumes(struct model *m, struct group *g, int64_t now)
{
    if (now >= g->pause_end)
        g->paused = false;
    const double own = (double)(g->used - 2 * (int64_t)m->config.max_frame_bytes);
    const double room = (double)(m->ingress_pool - m->total - m->config.resume_bytes);
    if (!g->paused || g->headroom || !(own < m->config.alpha * room))
        return EUN_PFC_NOTHING;
    g->paused = false;
    return EUN_PFC_XON;
}

static enum eun_pfc_action model_stored(struct model *m, uint32_t in, uint32_t priority,
                                        int64_t now)
{
    struct group *g = &m->group[in][priority];
    const double own = (double)(g->used - 2 * (int64_t)m->config.max_frame_bytes);
    const double room = (double)(m->ingress_pool - m->total);
    if (!(m->config.lossless_mask & 1u << priority))
        return EUN_PFC_NOTHING;
    if (own <= 0 || (own <= m->config.alpha * room && g->headroom == 0))
        return model_resumes(m, g, now);
    g->paused = true;
    g->pause_end = now + m->config.pause_ps;
    return EUN_PFC_XOFF;
}

static void assert_same(const struct eun_buffer *b, const struct model *m)
{
    const char *reason = NULL;
    if (!eun_buffer_validate(b, &reason))
        fail_msg("%s", reason);
    assert_int_equal(b->used, m->total);
    assert_int_equal(b->pool_used, m->total);
    assert_int_equal(b->egress_pool_used, m->shared);
    for (uint32_t port = 0; port < m->config.ports; port++) {
        for (uint32_t p = 1; p < EUN_PRIORITIES; p++) {
            assert_int_equal(eun_buffer_pg(b, port, p)->used, m->group[port][p].used);
            assert_int_equal(eun_buffer_pg(b, port, p)->headroom, m->group[port][p].headroom);
            assert_int_equal(b->policy->ecn_bytes(b, port, p), m->queue[port][p].shared);
            assert_true(b->policy->refresh_at(b, port, p) == INT64_MAX);
        }
    }
}

static void random_setting(struct model *m, struct test_random *r, struct eun_buffer *b)
{
    const double egress_alpha[] = {0.25, 1, 8};
    memset(m, 0, sizeof *m);
    m->config = published(test_between(r, 2, 5));
    m->config.max_frame_bytes = 1000;
    m->config.egress_alpha = egress_alpha[test_below(r, 3)];
    m->config.lossless_mask = (uint8_t)test_below(r, 256);
    m->config.pause_ps = test_between(r, 1, 20) * US;
    m->config.resume_bytes = test_chance(r, 50) ? 16 : 20000;
    m->limit = test_below(r, 5000);
    const int64_t reserved = (int64_t)m->config.ports * 8 * 1000;
    const int64_t headrooms = 14596 + (m->config.ports - 1) * m->limit;
    m->ingress_pool = test_between(r, 1, 80000);
    m->config.total_bytes = m->ingress_pool + reserved + headrooms;
    m->egress_pool = m->config.total_bytes - reserved;
    start(b, &m->config, (uint32_t)m->limit);
    assert_int_equal(b->pool_bytes, m->ingress_pool);
    assert_int_equal(b->egress_pool_bytes, m->egress_pool);
}

struct coverage {
    uint32_t drops[4];
    uint32_t actions[3];
};

static void store(struct eun_buffer *b, struct model *m, struct test_random *r, int64_t now,
                  struct coverage *seen)
{
    const struct frame f = {test_below(r, m->config.ports), test_below(r, m->config.ports),
                            test_between(r, 1, EUN_PRIORITIES - 1),
                            test_between(r, 64, m->config.max_frame_bytes)};
    const enum eun_drop_reason verdict = b->policy->admit(b, f.in, f.out, f.priority, f.bytes);
    assert_int_equal(verdict == EUN_DROP_NONE, model_admits(m, &f));
    seen->drops[verdict]++;
    if (verdict != EUN_DROP_NONE)
        return;
    model_add(m, &f);
    const enum eun_pfc_action action = b->policy->stored(b, f.in, f.priority, now);
    assert_int_equal(action, model_stored(m, f.in, f.priority, now));
    seen->actions[action]++;
}

static void release_one(struct eun_buffer *b, struct model *m, struct test_random *r, int64_t now,
                        struct coverage *seen)
{
    const uint32_t index = test_below(r, m->frames);
    const struct frame f = m->frame[index];
    b->policy->release(b, f.in, f.out, f.priority, f.bytes);
    model_remove(m, index);
    const enum eun_pfc_action action = b->policy->left(b, f.in, f.priority, now);
    assert_int_equal(action, model_resumes(m, &m->group[f.in][f.priority], now));
    seen->actions[action]++;
}

/** Against the reference, over random frames in and out in any order. */
static void equals_the_reference(void **state)
{
    (void)state;
    struct test_random r = test_random_start(131);
    static struct model m;
    struct coverage seen = {{0}, {0}};
    for (int run = 0; run < 300; run++) {
        struct eun_buffer b;
        int64_t now = 0;
        random_setting(&m, &r, &b);
        for (int step = 0; step < 1500 || m.frames; step++) {
            const uint32_t filling = step >= 1500 ? 0 : step / 150 % 2 ? 30 : 85;
            now += test_below(&r, US);
            if (test_chance(&r, filling) || m.frames == 0)
                store(&b, &m, &r, now, &seen);
            else
                release_one(&b, &m, &r, now, &seen);
            assert_same(&b, &m);
        }
        assert_int_equal(b.used, 0);
        eun_buffer_dispose(&b);
    }
    for (int i = 0; i < 4; i++)
        assert_true(seen.drops[i] > 500);
    for (int i = 0; i < 3; i++)
        assert_true(seen.actions[i] > 500);
}

/* ---- The published numbers ---- */

/**
 * S_in = 9 MiB - 14,596 - (n-1) 27,096 - n 8,384 and S_eg = 9 MiB - n 8,384: the 24-port leaf, the
 * 12-port fat-tree ToR, 8 ports. With every port's own headroom S_in would be 12,500 B lower.
 */
static void pools_are_the_published_ones(void **state)
{
    (void)state;
    const struct {
        uint32_t ports;
        int64_t ingress;
        int64_t egress;
    } rows[] = {{24, 8598164, 9235968}, {12, 9023924, 9336576}, {8, 9165844, 9370112}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct eun_buffer b;
        const struct eun_buffer_config config = published(rows[i].ports);
        start(&b, &config, HEADROOM);
        assert_int_equal(b.pool_bytes, rows[i].ingress);
        assert_int_equal(b.egress_pool_bytes, rows[i].egress);
        assert_int_equal(b.pool_bytes - 12500,
                         config.total_bytes - rows[i].ports * HEADROOM - rows[i].ports * 8 * FRAME);
        eun_buffer_dispose(&b);
    }
}

/**
 * A group alone: x - 2,096 > (8,598,164 - x)/16 from x = 507,748 on, so at its 485th frame
 * (508,280 B). From there every frame sends XOFF again.
 */
static void one_group_alone_pauses_at_half_a_megabyte(void **state)
{
    (void)state;
    struct eun_buffer b;
    start_leaf(&b);
    for (int n = 1; n < 485; n++) {
        assert_int_equal(admit(&b, 0, 1), EUN_DROP_NONE);
        assert_int_equal(stored(&b, 0, 0), EUN_PFC_NOTHING);
    }
    for (int n = 485; n < 600; n++) {
        assert_int_equal(admit(&b, 0, 1), EUN_DROP_NONE);
        assert_int_equal(stored(&b, 0, n), EUN_PFC_XOFF);
        assert_true(eun_buffer_pg(&b, 0, PG)->pause_end_ps == n + 5 * US);
    }
    assert_int_equal(eun_buffer_pg(&b, 0, PG)->headroom, 0);
    eun_buffer_dispose(&b);
}

static void fill(struct eun_buffer *b, int frames, int64_t now)
{
    for (int n = 0; n < frames; n++) {
        assert_int_equal(admit(b, 0, 1), EUN_DROP_NONE);
        (void)stored(b, 0, now);
    }
}

/** XON comes 16 B x 1/16 below XOFF: at this frame size, with the very frame that crosses back. */
static void resumes_a_byte_below(void **state)
{
    (void)state;
    struct eun_buffer b;
    start_leaf(&b);
    fill(&b, 486, 0);
    assert_true(eun_buffer_pg(&b, 0, PG)->paused);
    assert_int_equal(leave(&b, 0, 1, 1), EUN_PFC_NOTHING);
    assert_int_equal(leave(&b, 0, 1, 1), EUN_PFC_XON);
    assert_int_equal(leave(&b, 0, 1, 1), EUN_PFC_NOTHING);
    /*
     * To the byte: x - 2,096 < (8,598,148 - x)/16 holds to x = 507,746; just below the XOFF
     * threshold, so at 507,747, neither XOFF nor XON is due.
     */
    fill(&b, 2, 0);
    assert_true(eun_buffer_pg(&b, 0, PG)->paused);
    b.policy->release(&b, 0, 1, PG, 508280 - 507747);
    assert_int_equal(b.used, 507747);
    assert_int_equal(b.policy->left(&b, 0, PG, 1), EUN_PFC_NOTHING);
    assert_int_equal(stored(&b, 0, 1), EUN_PFC_NOTHING);
    b.policy->release(&b, 0, 1, PG, 1);
    assert_int_equal(b.policy->left(&b, 0, PG, 1), EUN_PFC_XON);
    eun_buffer_dispose(&b);
}

/** The switch forgets a pause when it has run out: no XON is sent, and no refresh is asked for. */
static void a_pause_runs_out_after_5_us(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        struct eun_buffer b;
        start_leaf(&b);
        fill(&b, 486, 7 * US);
        assert_true(b.policy->refresh_at(&b, 0, PG) == INT64_MAX);
        assert_int_equal(leave(&b, 0, 1, 8 * US), EUN_PFC_NOTHING);
        assert_int_equal(leave(&b, 0, 1, late ? 12 * US : 12 * US - 1),
                         late ? EUN_PFC_NOTHING : EUN_PFC_XON);
        assert_false(eun_buffer_pg(&b, 0, PG)->paused);
        eun_buffer_dispose(&b);
    }
}

/** An enqueue on the port may also resume it, where other ports have drained meanwhile. */
static void a_later_frame_may_resume(void **state)
{
    (void)state;
    struct eun_buffer b;
    start_leaf(&b);
    fill(&b, 300, 0);
    for (int n = 0; n < 4000; n++)
        assert_int_equal(admit(&b, 2 + (uint32_t)n % 20, 2 + (uint32_t)n % 20), EUN_DROP_NONE);
    assert_int_equal(admit(&b, 0, 1), EUN_DROP_NONE);
    assert_int_equal(stored(&b, 0, 0), EUN_PFC_XOFF);
    for (int n = 0; n < 4000; n++)
        b.policy->release(&b, 2 + (uint32_t)n % 20, 2 + (uint32_t)n % 20, PG, FRAME);
    assert_int_equal(admit(&b, 0, 1), EUN_DROP_NONE);
    assert_int_equal(stored(&b, 0, 1), EUN_PFC_XON);
    eun_buffer_dispose(&b);
}

/**
 * Headroom is not used past a group's own XOFF, only once the whole pool is: with all 24 queues
 * filling alike, at the first frame above 8,598,164 B. Then a group gets 27,096 B, no more.
 */
static void headroom_starts_with_an_exhausted_pool(void **state)
{
    (void)state;
    struct eun_buffer b;
    start_leaf(&b);
    uint32_t n = 0;
    for (; b.pool_used + FRAME <= b.pool_bytes; n++) {
        assert_int_equal(admit(&b, n % 2, n % 24), EUN_DROP_NONE);
        /* Two groups alone: each is above its threshold from its 458th frame on. */
        assert_int_equal(stored(&b, n % 2, 0), n < 2 * 457 ? EUN_PFC_NOTHING : EUN_PFC_XOFF);
        assert_int_equal(eun_buffer_pg(&b, n % 2, PG)->headroom, 0);
    }
    assert_int_equal(n, 8204);
    const struct eun_buffer_pg *pg = eun_buffer_pg(&b, 0, PG);
    for (; pg->headroom + FRAME <= HEADROOM; n++)
        assert_int_equal(admit(&b, 0, n % 24), EUN_DROP_NONE);
    assert_int_equal(pg->headroom, 25 * FRAME);
    assert_int_equal(admit(&b, 0, n % 24), EUN_DROP_HEADROOM);
    /* A port that holds nothing yet is still guaranteed one frame. */
    assert_int_equal(admit(&b, 5, n % 24), EUN_DROP_NONE);
    eun_buffer_dispose(&b);
}

/**
 * 23 senders into one port: the egress threshold, 2 Q + 1,048 > 9,235,968 beyond the queue's own
 * 1,049 B, drops at 4.6 MB, before any of them would be paused (in sum 5.09 MB).
 */
static void incast_drops_before_it_pauses(void **state)
{
    (void)state;
    struct eun_buffer b;
    start_leaf(&b);
    uint32_t n = 0;
    enum eun_drop_reason verdict;
    while ((verdict = admit(&b, 1 + n % 23, 0)) == EUN_DROP_NONE) {
        assert_int_equal(stored(&b, 1 + n % 23, 0), EUN_PFC_NOTHING);
        n++;
    }
    assert_int_equal(verdict, EUN_DROP_EGRESS);
    const int64_t shared = b.policy->ecn_bytes(&b, 0, PG);
    assert_true(2 * shared + FRAME > 9235968 && 2 * (shared - FRAME) + FRAME <= 9235968);
    assert_int_equal(b.used, shared + 1049);
    assert_true(b.used > 4600000 && b.used < 4640000);
    /* The same frames into several ports are paused, as meant. */
    enum eun_pfc_action action = EUN_PFC_NOTHING;
    while (action == EUN_PFC_NOTHING) {
        assert_int_equal(admit(&b, 1 + n % 23, 1 + n % 2), EUN_DROP_NONE);
        action = stored(&b, 1 + n % 23, 0);
        n++;
    }
    assert_int_equal(action, EUN_PFC_XOFF);
    assert_true(b.used > 5080000 && b.used < 5100000);
    eun_buffer_dispose(&b);
}

/** Without PFC nothing is paused, and the same thresholds drop. */
static void without_pfc_nothing_is_paused(void **state)
{
    (void)state;
    struct eun_buffer_config config = published(24);
    struct eun_buffer b;
    config.lossless_mask = 0;
    start(&b, &config, HEADROOM);
    while (admit(&b, 0, 1) == EUN_DROP_NONE)
        assert_int_equal(stored(&b, 0, 0), EUN_PFC_NOTHING);
    assert_int_equal(leave(&b, 0, 1, 0), EUN_PFC_NOTHING);
    eun_buffer_dispose(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_reference),
        cmocka_unit_test(pools_are_the_published_ones),
        cmocka_unit_test(one_group_alone_pauses_at_half_a_megabyte),
        cmocka_unit_test(resumes_a_byte_below),
        cmocka_unit_test(a_pause_runs_out_after_5_us),
        cmocka_unit_test(a_later_frame_may_resume),
        cmocka_unit_test(headroom_starts_with_an_exhausted_pool),
        cmocka_unit_test(incast_drops_before_it_pauses),
        cmocka_unit_test(without_pfc_nothing_is_paused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
