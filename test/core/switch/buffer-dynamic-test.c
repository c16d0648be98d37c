/* SPDX-License-Identifier: GPL-2.0-only */
#include "core/switch/shared-buffer.h"

#include "../test-random.h"

#include <string.h>

#define US INT64_C(1000000)
#define PORTS_MAX 6u
#define FRAMES_MAX 4096u

static void assert_valid(const struct eun_buffer *b)
{
    const char *reason = NULL;
    if (!eun_buffer_validate(b, &reason))
        fail_msg("%s", reason);
}

/* ---- The reference: bytes lie in named places, and what is free is counted anew each time ---- */

struct group {
    int64_t reserve;
    int64_t pool;
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
    int64_t headroom[PORTS_MAX];
    struct group group[PORTS_MAX][EUN_PRIORITIES];
    struct frame frame[FRAMES_MAX];
    uint32_t frames;
};

static bool is_lossless(const struct model *m, uint32_t priority)
{
    return m->config.lossless_mask & 1u << priority;
}

static int64_t model_pool_bytes(const struct model *m)
{
    int64_t pool = m->config.total_bytes;
    for (uint32_t port = 0; port < m->config.ports; port++)
        for (uint32_t p = 1; p < EUN_PRIORITIES; p++)
            pool -= is_lossless(m, p) ? m->config.reserve_bytes + m->headroom[port] : 0;
    return pool;
}

static int64_t model_pool_used(const struct model *m)
{
    int64_t used = 0;
    for (uint32_t port = 0; port < m->config.ports; port++)
        for (uint32_t p = 0; p < EUN_PRIORITIES; p++)
            used += m->group[port][p].pool;
    return used;
}

static int64_t model_free(const struct model *m)
{
    return model_pool_bytes(m) - model_pool_used(m);
}

static int64_t model_queued(const struct model *m, uint32_t out, uint32_t priority)
{
    int64_t queued = 0;
    for (uint32_t i = 0; i < m->frames; i++)
        if (m->frame[i].out == out && m->frame[i].priority == priority)
            queued += m->frame[i].bytes;
    return queued;
}

static enum eun_drop_reason model_place(struct model *m, const struct frame *f)
{
    struct group *g = &m->group[f->in][f->priority];
    const int64_t bytes = f->bytes, free_bytes = model_free(m);
    if (!is_lossless(m, f->priority)) {
        const int64_t queued = model_queued(m, f->out, f->priority);
        if (bytes > free_bytes)
            return EUN_DROP_BUFFER;
        if ((double)(queued + bytes) > m->config.egress_alpha * (double)free_bytes)
            return EUN_DROP_EGRESS;
        g->pool += bytes;
        return EUN_DROP_NONE;
    }
    const int64_t room = m->config.reserve_bytes - g->reserve;
    const int64_t to_reserve = bytes < room ? bytes : room, rest = bytes - to_reserve;
    const bool within = (double)(g->pool + rest) <= m->config.alpha * (double)free_bytes;
    if (rest == 0 || (g->headroom == 0 && within && rest <= free_bytes)) {
        g->reserve += to_reserve;
        g->pool += rest;
        return EUN_DROP_NONE;
    }
    if (g->headroom + bytes > m->headroom[f->in])
        return EUN_DROP_HEADROOM;
    g->headroom += bytes;
    return EUN_DROP_NONE;
}

static int64_t take(int64_t *place, int64_t bytes)
{
    const int64_t taken = *place < bytes ? *place : bytes;
    *place -= taken;
    return bytes - taken;
}

static void model_remove(struct model *m, uint32_t index)
{
    const struct frame f = m->frame[index];
    struct group *g = &m->group[f.in][f.priority];
    const int64_t left = take(&g->reserve, take(&g->pool, take(&g->headroom, f.bytes)));
    assert_int_equal(left, 0);
    m->frame[index] = m->frame[--m->frames];
}

static enum eun_pfc_action model_stored(struct model *m, uint32_t in, uint32_t priority,
                                        int64_t now)
{
    struct group *g = &m->group[in][priority];
    const bool above = g->headroom > 0 || (double)g->pool > m->config.alpha * (double)model_free(m);
    const bool due = g->paused && now >= g->pause_end - m->config.pause_ps / 2;
    if (!is_lossless(m, priority) || !(g->paused ? due : above))
        return EUN_PFC_NOTHING;
    g->paused = true;
    g->pause_end = now + m->config.pause_ps;
    return EUN_PFC_XOFF;
}

static enum eun_pfc_action model_left(struct model *m, uint32_t in, uint32_t priority)
{
    struct group *g = &m->group[in][priority];
    const bool below =
        (double)(g->pool + m->config.resume_bytes) <= m->config.alpha * (double)model_free(m);
    if (!g->paused || g->headroom > 0 || (g->pool > 0 && !below))
        return EUN_PFC_NOTHING;
    g->paused = false;
    return EUN_PFC_XON;
}

/* ---- Both side by side ---- */

static void assert_same(const struct eun_buffer *b, const struct model *m)
{
    int64_t used = 0;
    assert_valid(b);
    for (uint32_t i = 0; i < m->frames; i++)
        used += m->frame[i].bytes;
    assert_int_equal(b->used, used);
    assert_int_equal(b->pool_used, model_pool_used(m));
    assert_true(b->used <= b->config.total_bytes);
    assert_true(b->pool_used <= b->pool_bytes);
    for (uint32_t port = 0; port < m->config.ports; port++) {
        for (uint32_t p = 1; p < EUN_PRIORITIES; p++) {
            const struct group *g = &m->group[port][p];
            const struct eun_buffer_pg *pg = eun_buffer_pg(b, port, p);
            assert_int_equal(pg->used, g->reserve + g->pool + g->headroom);
            assert_int_equal(pg->headroom, g->headroom);
            assert_int_equal(pg->paused, g->paused);
            assert_int_equal(b->policy->ecn_bytes(b, port, p), model_queued(m, port, p));
            assert_true(b->policy->refresh_at(b, port, p) ==
                        (g->paused ? g->pause_end - m->config.pause_ps / 2 : INT64_MAX));
            /* What headroom is for; and no sender hangs on an empty group. */
            assert_true(g->headroom == 0 || g->paused);
            assert_true(pg->used > 0 || !pg->paused);
        }
    }
}

struct coverage {
    uint32_t drops[4];
    uint32_t actions[3];
    uint32_t refreshes;
};

static void store(struct eun_buffer *b, struct model *m, struct test_random *r, int64_t now,
                  struct coverage *seen)
{
    const struct frame f = {.in = test_below(r, m->config.ports),
                            .out = test_below(r, m->config.ports),
                            .priority = test_between(r, 1, EUN_PRIORITIES - 1),
                            .bytes = test_between(r, 64, m->config.max_frame_bytes)};
    const enum eun_drop_reason verdict = b->policy->admit(b, f.in, f.out, f.priority, f.bytes);
    assert_int_equal(verdict, model_place(m, &f));
    seen->drops[verdict]++;
    if (verdict != EUN_DROP_NONE)
        return;
    m->frame[m->frames++] = f;
    const bool was_paused = m->group[f.in][f.priority].paused;
    const enum eun_pfc_action action = b->policy->stored(b, f.in, f.priority, now);
    assert_int_equal(action, model_stored(m, f.in, f.priority, now));
    seen->actions[action]++;
    seen->refreshes += was_paused && action == EUN_PFC_XOFF;
}

static void release_one(struct eun_buffer *b, struct model *m, struct test_random *r, int64_t now,
                        struct coverage *seen)
{
    const uint32_t index = test_below(r, m->frames);
    const struct frame f = m->frame[index];
    b->policy->release(b, f.in, f.out, f.priority, f.bytes);
    model_remove(m, index);
    const enum eun_pfc_action action = b->policy->left(b, f.in, f.priority, now);
    assert_int_equal(action, model_left(m, f.in, f.priority));
    seen->actions[action]++;
}

static void random_setting(struct model *m, struct test_random *r)
{
    const double alpha[] = {1.0 / 16, 0.5, 1, 8}, egress_alpha[] = {0.25, 1, 2};
    const uint32_t resume[] = {0, 16, 3000, 1000000}, reserve[] = {0, 300, 1000, 2500};
    memset(m, 0, sizeof *m);
    m->config = (struct eun_buffer_config){.ports = test_between(r, 1, PORTS_MAX),
                                           .reserve_bytes = reserve[test_below(r, 4)],
                                           .alpha = alpha[test_below(r, 4)],
                                           .egress_alpha = egress_alpha[test_below(r, 3)],
                                           .resume_bytes = resume[test_below(r, 4)],
                                           .lossless_mask = (uint8_t)test_below(r, 256),
                                           .max_frame_bytes = 1000,
                                           .pause_ps = test_between(r, 1, 50) * US};
    for (uint32_t port = 0; port < m->config.ports; port++)
        m->headroom[port] = test_below(r, 6000);
    m->config.total_bytes = test_between(r, 1, 100000) - model_pool_bytes(m);
}

/** Against the reference, over random frames in and out in any order. */
static void equals_the_reference(void **state)
{
    (void)state;
    struct test_random r = test_random_start(111);
    static struct model m;
    struct coverage seen = {{0}, {0}, 0};
    for (int run = 0; run < 200; run++) {
        struct eun_buffer b;
        int64_t now = 0;
        random_setting(&m, &r);
        assert_true(eun_buffer_init(&b, &eun_buffer_dynamic, &m.config));
        for (uint32_t port = 0; port < m.config.ports; port++)
            b.port[port].headroom_bytes = (uint32_t)m.headroom[port];
        assert_true(eun_buffer_prepare(&b));
        assert_int_equal(b.pool_bytes, model_pool_bytes(&m));
        for (int step = 0; step < 1000; step++) {
            const uint32_t filling = step / 100 % 2 ? 30 : 80;
            now += test_below(&r, US);
            if (m.frames == 0 || (m.frames < FRAMES_MAX && test_chance(&r, filling)))
                store(&b, &m, &r, now, &seen);
            else
                release_one(&b, &m, &r, now, &seen);
            assert_same(&b, &m);
        }
        while (m.frames)
            release_one(&b, &m, &r, now, &seen);
        assert_same(&b, &m);
        assert_int_equal(b.used, 0);
        eun_buffer_dispose(&b);
    }
    for (int i = 0; i < 4; i++)
        assert_true(seen.drops[i] > 500);
    for (int i = 0; i < 3; i++)
        assert_true(seen.actions[i] > 500);
    assert_true(seen.refreshes > 500);
}

/* ---- By hand: two ports, priority 3 lossless, pool 17,000 B, headroom 5,000 B each ---- */

static void small(struct eun_buffer *b)
{
    const struct eun_buffer_config config = {.ports = 2,
                                             .total_bytes = 17000 + 2 * (1000 + 5000),
                                             .reserve_bytes = 1000,
                                             .alpha = 1.0 / 16,
                                             .egress_alpha = 0.5,
                                             .resume_bytes = 200,
                                             .lossless_mask = 1 << 3,
                                             .max_frame_bytes = 1000,
                                             .pause_ps = 10 * US};
    assert_true(eun_buffer_init(b, &eun_buffer_dynamic, &config));
    b->port[0].headroom_bytes = b->port[1].headroom_bytes = 5000;
    assert_true(eun_buffer_prepare(b));
    assert_int_equal(b->pool_bytes, 17000);
}

static enum eun_drop_reason admit(struct eun_buffer *b, uint32_t priority, uint32_t bytes)
{
    return b->policy->admit(b, 0, 1, priority, bytes);
}

static enum eun_pfc_action stored(struct eun_buffer *b, int64_t now)
{
    return b->policy->stored(b, 0, 3, now);
}

static enum eun_pfc_action leave(struct eun_buffer *b, uint32_t bytes, int64_t now)
{
    b->policy->release(b, 0, 1, 3, bytes);
    return b->policy->left(b, 0, 3, now);
}

/**
 * 1,000 B go into the reserve and 1,000 B into the pool, whose rest of 16,000 B allows just that
 * much: what follows goes to headroom, which takes 5,000 B and no more.
 */
static void reserve_then_pool_then_headroom(void **state)
{
    (void)state;
    struct eun_buffer b;
    const struct eun_buffer_pg *pg;
    small(&b);
    pg = eun_buffer_pg(&b, 0, 3);
    assert_int_equal(admit(&b, 3, 1000), EUN_DROP_NONE);
    assert_int_equal(b.pool_used, 0);
    assert_int_equal(stored(&b, 0), EUN_PFC_NOTHING);
    assert_int_equal(admit(&b, 3, 1000), EUN_DROP_NONE);
    assert_int_equal(b.pool_used, 1000);
    assert_int_equal(stored(&b, 0), EUN_PFC_NOTHING);
    assert_int_equal(admit(&b, 3, 64), EUN_DROP_NONE);
    assert_int_equal(pg->headroom, 64);
    assert_int_equal(b.pool_used, 1000);
    assert_int_equal(stored(&b, 0), EUN_PFC_XOFF);
    for (int i = 0; i < 4; i++)
        assert_int_equal(admit(&b, 3, 1000), EUN_DROP_NONE);
    assert_int_equal(admit(&b, 3, 937), EUN_DROP_HEADROOM);
    assert_int_equal(admit(&b, 3, 936), EUN_DROP_NONE);
    assert_int_equal(pg->headroom, 5000);
    assert_int_equal(pg->used, 7000);
    /* The other port has its own. */
    assert_int_equal(b.policy->admit(&b, 1, 0, 3, 1000), EUN_DROP_NONE);
    assert_valid(&b);
    eun_buffer_dispose(&b);
}

/** A frame that only just goes into the pool sends XOFF if the pool it leaves is now too small. */
static void pauses_when_the_threshold_is_passed(void **state)
{
    (void)state;
    struct eun_buffer b;
    small(&b);
    assert_int_equal(admit(&b, 3, 1000), EUN_DROP_NONE);
    /* 1,062 <= 17,000/16, but more than (17,000 - 1,062)/16. */
    assert_int_equal(admit(&b, 3, 600), EUN_DROP_NONE);
    assert_int_equal(stored(&b, 0), EUN_PFC_NOTHING);
    assert_int_equal(admit(&b, 3, 425), EUN_DROP_NONE);
    assert_int_equal(b.pool_used, 1025);
    assert_int_equal(eun_buffer_pg(&b, 0, 3)->headroom, 0);
    assert_int_equal(stored(&b, 0), EUN_PFC_XOFF);
    eun_buffer_dispose(&b);
}

/** One XOFF, however many frames follow; repeated once half of the pause is over, not before. */
static void pauses_once_and_refreshes(void **state)
{
    (void)state;
    struct eun_buffer b;
    small(&b);
    assert_true(b.policy->refresh_at(&b, 0, 3) == INT64_MAX);
    assert_int_equal(admit(&b, 3, 1000), EUN_DROP_NONE);
    assert_int_equal(admit(&b, 3, 1000), EUN_DROP_NONE);
    assert_int_equal(admit(&b, 3, 100), EUN_DROP_NONE);
    assert_int_equal(stored(&b, 7 * US), EUN_PFC_XOFF);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(admit(&b, 3, 64), EUN_DROP_NONE);
        assert_int_equal(stored(&b, (8 + i % 4) * US), EUN_PFC_NOTHING);
    }
    assert_true(b.policy->refresh_at(&b, 0, 3) == 12 * US);
    assert_int_equal(stored(&b, 12 * US - 1), EUN_PFC_NOTHING);
    assert_int_equal(stored(&b, 12 * US), EUN_PFC_XOFF);
    assert_int_equal(stored(&b, 12 * US), EUN_PFC_NOTHING);
    assert_true(b.policy->refresh_at(&b, 0, 3) == 17 * US);
    /* Late is better than never. */
    assert_int_equal(stored(&b, 99 * US), EUN_PFC_XOFF);
    eun_buffer_dispose(&b);
}

/** XON needs empty headroom and a pool part 200 B below the threshold, and comes once. */
static void resumes_below_the_hysteresis(void **state)
{
    (void)state;
    struct eun_buffer b;
    small(&b);
    assert_int_equal(admit(&b, 3, 1000), EUN_DROP_NONE);
    assert_int_equal(admit(&b, 3, 1000), EUN_DROP_NONE);
    assert_int_equal(admit(&b, 3, 500), EUN_DROP_NONE);
    assert_int_equal(stored(&b, 0), EUN_PFC_XOFF);
    assert_int_equal(leave(&b, 499, 0), EUN_PFC_NOTHING);
    assert_int_equal(eun_buffer_pg(&b, 0, 3)->headroom, 1);
    /* x + 200 <= (17,000 - x)/16 holds to x = 811. */
    assert_int_equal(leave(&b, 189, 0), EUN_PFC_NOTHING);
    assert_int_equal(b.pool_used, 812);
    assert_int_equal(leave(&b, 1, 0), EUN_PFC_XON);
    assert_int_equal(leave(&b, 100, 0), EUN_PFC_NOTHING);
    assert_true(b.policy->refresh_at(&b, 0, 3) == INT64_MAX);
    assert_valid(&b);
    eun_buffer_dispose(&b);
}

/** With a hysteresis above every threshold the group resumes when its part of the pool is empty. */
static void an_empty_group_resumes(void **state)
{
    (void)state;
    struct eun_buffer b;
    small(&b);
    b.config.resume_bytes = 1000000;
    assert_int_equal(admit(&b, 3, 1000), EUN_DROP_NONE);
    assert_int_equal(admit(&b, 3, 1000), EUN_DROP_NONE);
    assert_int_equal(admit(&b, 3, 500), EUN_DROP_NONE);
    assert_int_equal(stored(&b, 0), EUN_PFC_XOFF);
    assert_int_equal(leave(&b, 500, 0), EUN_PFC_NOTHING);
    assert_int_equal(leave(&b, 999, 0), EUN_PFC_NOTHING);
    assert_int_equal(leave(&b, 1, 0), EUN_PFC_XON);
    assert_int_equal(eun_buffer_pg(&b, 0, 3)->used, 1000);
    eun_buffer_dispose(&b);
}

/** A lossy queue takes a frame if it then holds at most egress alpha x (free before). */
static void lossy_queues_drop_at_their_threshold(void **state)
{
    (void)state;
    struct eun_buffer b;
    small(&b);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(admit(&b, 1, 1000), EUN_DROP_NONE);
        assert_int_equal(b.policy->stored(&b, 0, 1, 0), EUN_PFC_NOTHING);
    }
    /* 5,000 + x <= (17,000 - 5,000)/2. */
    assert_int_equal(admit(&b, 1, 1001), EUN_DROP_EGRESS);
    assert_int_equal(admit(&b, 1, 1000), EUN_DROP_NONE);
    assert_int_equal(admit(&b, 1, 64), EUN_DROP_EGRESS);
    /* Another queue of the same port, and the same priority of another port, are not full. */
    assert_int_equal(admit(&b, 2, 64), EUN_DROP_NONE);
    assert_int_equal(b.policy->admit(&b, 0, 0, 1, 64), EUN_DROP_NONE);
    assert_int_equal(b.pool_used, 6128);
    b.policy->release(&b, 0, 1, 1, 1000);
    assert_int_equal(b.policy->left(&b, 0, 1, 0), EUN_PFC_NOTHING);
    assert_int_equal(b.pool_used, 5128);
    assert_valid(&b);
    eun_buffer_dispose(&b);
}

/** Where the pool itself is full, that is the reason. */
static void a_full_pool_is_told_apart(void **state)
{
    (void)state;
    struct eun_buffer b;
    small(&b);
    b.config.egress_alpha = 1e9;
    for (int i = 0; i < 17; i++)
        assert_int_equal(admit(&b, 1, 1000), EUN_DROP_NONE);
    assert_int_equal(b.pool_used, 17000);
    assert_int_equal(admit(&b, 1, 64), EUN_DROP_BUFFER);
    /* Lossless frames still have their reserve and headroom. */
    assert_int_equal(admit(&b, 3, 1000), EUN_DROP_NONE);
    assert_int_equal(stored(&b, 0), EUN_PFC_NOTHING);
    assert_int_equal(admit(&b, 3, 1000), EUN_DROP_NONE);
    assert_int_equal(stored(&b, 0), EUN_PFC_XOFF);
    assert_int_equal(eun_buffer_pg(&b, 0, 3)->headroom, 1000);
    eun_buffer_dispose(&b);
}

/** A threshold above the whole pool (alpha > 1) does not let it overflow. */
static void the_pool_never_overflows(void **state)
{
    (void)state;
    struct eun_buffer b;
    small(&b);
    b.config.alpha = 100;
    for (int i = 0; i < 18; i++)
        assert_int_equal(admit(&b, 3, 999), EUN_DROP_NONE);
    assert_int_equal(b.pool_used, 18 * 999 - 1000);
    assert_int_equal(stored(&b, 0), EUN_PFC_XOFF);
    assert_int_equal(admit(&b, 3, 999), EUN_DROP_NONE);
    assert_int_equal(eun_buffer_pg(&b, 0, 3)->headroom, 999);
    assert_int_equal(b.pool_used, 18 * 999 - 1000);
    eun_buffer_dispose(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_reference),
        cmocka_unit_test(reserve_then_pool_then_headroom),
        cmocka_unit_test(pauses_when_the_threshold_is_passed),
        cmocka_unit_test(pauses_once_and_refreshes),
        cmocka_unit_test(resumes_below_the_hysteresis),
        cmocka_unit_test(an_empty_group_resumes),
        cmocka_unit_test(lossy_queues_drop_at_their_threshold),
        cmocka_unit_test(a_full_pool_is_told_apart),
        cmocka_unit_test(the_pool_never_overflows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
