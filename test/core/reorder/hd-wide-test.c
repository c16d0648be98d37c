/* SPDX-License-Identifier: GPL-2.0-only */
/** Windows beyond 256 PSNs, against a naive set that also knows which slabs must be there. */
#include "../test-random.h"

#include "hd-wide.h"
#include "reorder.h"

#include <string.h>

#define QPS 6u
#define PLACES 16384u
#define SLABS 64u /* more than a window touches */

struct twin {
    uint64_t expected;
    bool held[PLACES];
    bool last[PLACES];
    uint32_t held_count;
    bool active;
    bool wide;
    bool slab[SLABS];       /**< by slab number modulo SLABS, where wide */
    bool slab_lasts[SLABS]; /**< it has a second half */
};

struct world {
    struct eun_reorder *layer;
    const struct eun_reorder_stats *stats;
    struct eun_reorder_config config;
    struct twin qp[QPS];
    uint64_t refused;
    uint64_t widened; /**< with bits to copy */
};

static uint64_t slab_of(uint64_t psn)
{
    return psn / EUN_HD_SLAB_PSNS;
}

static void need_slab(struct twin *t, uint64_t psn)
{
    t->slab[slab_of(psn) % SLABS] = true;
    t->slab_lasts[slab_of(psn) % SLABS] |= t->last[psn % PLACES];
}

static void twin_hold(const struct world *w, struct twin *t, uint64_t psn, bool last)
{
    const uint32_t reach = 16 * w->config.block_bits;
    t->active = true;
    t->held[psn % PLACES] = true;
    t->last[psn % PLACES] = last;
    t->held_count++;
    if (!t->wide && psn - t->expected >= reach) {
        t->wide = true;
        for (uint64_t p = t->expected; p < t->expected + w->config.cap_psns; p++)
            if (t->held[p % PLACES])
                need_slab(t, p);
    }
    if (t->wide)
        need_slab(t, psn);
}

/** Result: PSNs that the prefix moves; adds the messages that end there to `*lasts`. */
static uint32_t twin_advance(struct twin *t, bool last, uint32_t *lasts)
{
    uint32_t moved = 0;
    *lasts = last;
    do {
        const uint64_t slab = slab_of(t->expected);
        t->expected++;
        moved++;
        if (slab != slab_of(t->expected))
            t->slab[slab % SLABS] = t->slab_lasts[slab % SLABS] = false;
        if (!t->held[t->expected % PLACES])
            break;
        t->held[t->expected % PLACES] = false;
        t->held_count--;
        *lasts += t->last[t->expected % PLACES];
        t->last[t->expected % PLACES] = false;
    } while (true);
    if (t->held_count == 0) {
        t->wide = false;
        memset(t->slab, 0, sizeof t->slab);
        memset(t->slab_lasts, 0, sizeof t->slab_lasts);
    }
    return moved;
}

static void twin_forget(struct twin *t)
{
    const uint64_t expected = t->expected;
    memset(t, 0, sizeof *t);
    t->expected = expected;
}

static void check_blocks(const struct world *w, uint32_t qp)
{
    const struct twin *t = &w->qp[qp];
    struct eun_reorder_view view;
    eun_reorder_view(w->layer, qp, &view);
    assert_int_equal(view.held, t->held_count);
    assert_int_equal(view.wide, t->wide);
    if (!t->wide)
        return;
    uint32_t slabs = 0;
    uint32_t lasts = 0;
    for (uint32_t s = 0; s < SLABS; s++) {
        slabs += t->slab[s];
        lasts += t->slab_lasts[s];
    }
    assert_int_equal(view.bitmap_blocks, slabs * EUN_HD_SLAB_BLOCKS);
    assert_int_equal(view.last_blocks, lasts * EUN_HD_SLAB_BLOCKS);
}

static void check_bits(const struct world *w, uint32_t qp)
{
    const struct twin *t = &w->qp[qp];
    for (uint32_t ahead = 0; ahead < w->config.cap_psns + 600; ahead++) {
        const uint64_t psn = t->expected + ahead;
        const bool held = ahead < w->config.cap_psns && t->held[psn % PLACES];
        if (eun_reorder_holds(w->layer, qp, (uint32_t)t->expected, (uint32_t)psn) != held)
            fail_msg("QP %u: the PSN %u ahead is %sheld", qp, ahead, held ? "not " : "");
    }
}

static bool has_run(const struct eun_block_pool *pool, uint32_t n)
{
    uint32_t run = 0;
    for (uint32_t id = 0; id < pool->size && run < n; id++)
        run = eun_block_pool_is_free(pool, id) ? run + 1 : 0;
    return run >= n;
}

/** A refusal needs a reason: too few blocks, no run of them, or only the reserve is left. */
static void check_refusal(const struct world *w, uint32_t qp)
{
    const struct eun_hd_bank *bank =
        eun_reorder_bank_of((const struct eun_reorder_front *)(const void *)w->layer, qp);
    const struct twin *t = &w->qp[qp];
    if (!t->active && bank->pool.free_count >= 400)
        assert_false(has_run(&bank->pool, 2 * 64 + 24));
    if (t->active && bank->pool.free_count >= 400 + bank->reserve)
        assert_false(has_run(&bank->pool, 2 * 64));
}

static uint64_t pick(const struct world *w, struct test_random *r, const struct twin *t)
{
    const uint32_t cap = w->config.cap_psns;
    switch (test_below(r, 12)) {
    case 0:
        return t->expected - test_between(r, 1, 40);
    case 1:
        return t->expected + cap - 2 + test_below(r, 4);
    case 2:
        return t->expected + test_below(r, cap);
    case 3:
        return t->expected + test_below(r, 600);
    case 4:
    case 5:
    case 6:
    case 7:
        return t->expected;
    default:
        return t->expected + test_below(r, 12);
    }
}

/** What the arrival may have taken back early from others: they held nothing. */
static void note_reclaims(struct world *w)
{
    for (uint32_t qp = 0; qp < QPS; qp++) {
        struct eun_reorder_view view;
        eun_reorder_view(w->layer, qp, &view);
        if (w->qp[qp].active && !view.active) {
            assert_int_equal(w->qp[qp].held_count, 0);
            w->qp[qp].active = false;
        }
    }
}

static void arrive(struct world *w, struct test_random *r, uint32_t qp)
{
    struct twin *t = &w->qp[qp];
    const uint64_t psn = pick(w, r, t);
    const bool last = test_chance(r, 8);
    const struct eun_reorder_stats before = *w->stats;
    const struct eun_hd_outcome outcome =
        eun_reorder_arrive(w->layer, qp, (uint32_t)t->expected, (uint32_t)psn, last, 0);
    const bool growing = t->active;
    note_reclaims(w);
    switch (outcome.verdict) {
    case EUN_HD_ADVANCED: {
        uint32_t lasts;
        assert_true(psn == t->expected);
        assert_int_equal(outcome.advanced, twin_advance(t, last, &lasts));
        assert_int_equal(outcome.lasts, lasts);
        break;
    }
    case EUN_HD_HELD:
        assert_true(psn > t->expected && psn < t->expected + w->config.cap_psns);
        assert_false(t->held[psn % PLACES]);
        twin_hold(w, t, psn, last);
        break;
    case EUN_HD_DUPLICATE:
        assert_true(psn < t->expected || t->held[psn % PLACES]);
        break;
    case EUN_HD_CAP:
        assert_true(psn >= t->expected + w->config.cap_psns);
        break;
    default:
        w->refused++;
        assert_int_equal(w->stats->alloc_miss, before.alloc_miss + 1);
        assert_int_equal(w->stats->growth_refused - before.growth_refused, growing);
        assert_int_equal(w->stats->metadata_refused - before.metadata_refused, !growing);
        check_refusal(w, qp);
    }
    check_blocks(w, qp);
}

/** The missing packets come, one after the other, until nothing is held. */
static void drain(struct world *w, uint32_t qp)
{
    struct twin *t = &w->qp[qp];
    while (t->held_count > 0) {
        const struct eun_hd_outcome outcome = eun_reorder_arrive(
            w->layer, qp, (uint32_t)t->expected, (uint32_t)t->expected, false, 0);
        uint32_t lasts;
        assert_int_equal(outcome.advanced, twin_advance(t, false, &lasts));
        assert_int_equal(outcome.lasts, lasts);
        check_blocks(w, qp);
    }
}

static void check_world(const struct world *w)
{
    const char *reason;
    if (!eun_reorder_validate(w->layer, &reason))
        fail_msg("%s", reason);
    for (uint32_t qp = 0; qp < QPS; qp++)
        check_bits(w, qp);
    struct eun_reorder_memory memory;
    eun_reorder_memory(w->layer, &memory);
    assert_int_equal(memory.total, memory.state + memory.last + memory.control + memory.unused);
}

static void play(struct test_random *r, const struct eun_reorder_config *config,
                 uint32_t operations, struct world *sum)
{
    static struct world w;
    memset(&w, 0, sizeof w);
    w.config = *config;
    w.layer = eun_reorder_new(config);
    assert_non_null(w.layer);
    w.stats = eun_reorder_stats(w.layer);
    static const uint64_t firsts[] = {0, 0xFFFFFE00u, 0xFFFF00u, 511, 0xFFFFFFFFu, 4096 * 3 - 1};
    for (uint32_t qp = 0; qp < QPS; qp++) {
        assert_true(eun_reorder_open(w.layer, qp));
        w.qp[qp].expected = (UINT64_C(1) << 32) + firsts[qp];
    }
    for (uint32_t op = 0; op < operations; op++) {
        const uint32_t qp = test_below(r, QPS);
        if (test_below(r, 1000) == 0) {
            eun_reorder_forget(w.layer, qp);
            twin_forget(&w.qp[qp]);
        }
        if (test_below(r, 100) == 0)
            drain(&w, qp);
        arrive(&w, r, qp);
        if (op % 500 == 0)
            check_world(&w);
    }
    check_world(&w);
    for (uint32_t qp = 0; qp < QPS; qp++)
        eun_reorder_close(w.layer, qp);
    assert_int_equal(w.stats->blocks_in_use, 0);
    assert_int_equal(w.stats->last_blocks, 0);
    assert_int_equal(w.stats->chains, 0);
    sum->refused += w.refused;
    sum->widened += w.stats->widen;
    eun_reorder_free(w.layer);
}

static void agrees_with_a_naive_set(void **state)
{
    (void)state;
    struct test_random r = test_random_start(11);
    static const uint32_t caps[] = {257, 300, 512, 1000, 2048, 4096};
    static const uint32_t blocks[] = {0, 56, 60, 100, 200, 400, 1000, 4000};
    static struct world sum;
    for (size_t c = 0; c < sizeof caps / sizeof *caps; c++) {
        for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
            const struct eun_reorder_config config = {
                .blocks = blocks[b],
                .banks = test_between(&r, 1, 2),
                .cap_psns = caps[c],
                .block_bits = test_chance(&r, 50) ? 16 : 8,
                .idle_epoch_ps = 1000,
                .reserve = test_chance(&r, 50) ? 0 : blocks[b] / 4,
                .chains = test_chance(&r, 50),
            };
            play(&r, &config, 8000, &sum);
        }
    }
    assert_true(sum.refused > 1000 && sum.widened > 300);
}

static struct eun_reorder *layer_of(uint32_t blocks, uint32_t cap)
{
    const struct eun_reorder_config config = {
        .blocks = blocks, .banks = 1, .cap_psns = cap, .block_bits = 16, .idle_epoch_ps = 1};
    struct eun_reorder *layer = eun_reorder_new(&config);
    assert_non_null(layer);
    assert_true(eun_reorder_open(layer, 0));
    return layer;
}

/** The blocks of one reordering that goes far: 24 + 32 a slab, and back to one block. */
static void far_arrival_takes_slabs_only_where_packets_are(void **state)
{
    (void)state;
    struct eun_reorder *layer = layer_of(1024, 4096);
    const struct eun_reorder_stats *stats = eun_reorder_stats(layer);
    assert_int_equal(eun_reorder_arrive(layer, 0, 0, 3, false, 0).verdict, EUN_HD_HELD);
    assert_int_equal(stats->blocks_in_use, 24 + 1);
    assert_int_equal(eun_reorder_arrive(layer, 0, 0, 255, true, 0).verdict, EUN_HD_HELD);
    assert_int_equal(stats->blocks_in_use, 24 + 16);
    assert_int_equal(eun_reorder_arrive(layer, 0, 0, 4095, false, 0).verdict, EUN_HD_HELD);
    assert_int_equal(stats->widen, 1);
    assert_int_equal(stats->blocks_in_use, 24 + 64 + 32); /* PSN 255 is a Last */
    assert_int_equal(eun_reorder_arrive(layer, 0, 0, 4096, false, 0).verdict, EUN_HD_CAP);
    assert_int_equal(eun_reorder_arrive(layer, 0, 0, 4095, false, 0).verdict, EUN_HD_DUPLICATE);
    uint32_t expected = 0;
    uint32_t lasts = 0;
    while (expected < 4096) {
        const struct eun_hd_outcome o = eun_reorder_arrive(layer, 0, expected, expected, false, 0);
        expected += o.advanced;
        lasts += o.lasts;
        if (expected == 512)
            assert_int_equal(stats->blocks_in_use, 24 + 32);
    }
    assert_int_equal(expected, 4096);
    assert_int_equal(lasts, 1);
    assert_int_equal(stats->blocks_in_use, 24 + 1);
    assert_false(eun_reorder_has_gap(layer, 0));
    eun_reorder_free(layer);
}

/** No room for the slab: the packet is refused, and what was held stays where it was. */
static void refused_widening_changes_nothing(void **state)
{
    (void)state;
    for (uint32_t blocks = 24 + 2; blocks <= 24 + 2 + 64; blocks++) {
        struct eun_reorder *layer = layer_of(blocks, 2048);
        const struct eun_reorder_stats *stats = eun_reorder_stats(layer);
        assert_int_equal(eun_reorder_arrive(layer, 0, 9, 30, true, 0).verdict, EUN_HD_HELD);
        const bool fits = blocks >= 24 + 2 + 64;
        assert_int_equal(eun_reorder_arrive(layer, 0, 9, 400, false, 0).verdict,
                         fits ? EUN_HD_HELD : EUN_HD_NO_BLOCKS);
        assert_int_equal(stats->growth_refused, !fits);
        assert_int_equal(stats->blocks_in_use, fits ? 24 + 64 : 24 + 2);
        assert_true(eun_reorder_holds(layer, 0, 9, 30));
        assert_int_equal(eun_reorder_holds(layer, 0, 9, 400), fits);
        eun_reorder_free(layer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_naive_set),
        cmocka_unit_test(far_arrival_takes_slabs_only_where_packets_are),
        cmocka_unit_test(refused_widening_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
