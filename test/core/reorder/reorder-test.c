/* SPDX-License-Identifier: GPL-2.0-only */
#include "reference-bitmap.h"

#include "reorder.h"

#define US INT64_C(1000000) /* picoseconds */

static struct eun_reorder *layer_new(uint32_t blocks, uint32_t banks, uint32_t cap,
                                     uint32_t block_bits, int64_t epoch)
{
    struct eun_reorder_config config = {.blocks = blocks,
                                        .banks = banks,
                                        .cap_psns = cap,
                                        .block_bits = block_bits,
                                        .idle_epoch_ps = epoch};
    struct eun_reorder *layer = eun_reorder_new(&config);
    assert_non_null(layer);
    return layer;
}

static void check_valid(const struct eun_reorder *layer)
{
    const char *reason;
    if (!eun_reorder_validate(layer, &reason))
        fail_msg("%s", reason);
}

static void refuses_what_is_out_of_range(void **state)
{
    (void)state;
    const struct eun_reorder_config good = {
        .blocks = 1024, .banks = 1, .cap_psns = 256, .block_bits = 16, .idle_epoch_ps = 256 * US};
    struct eun_reorder_config bad[] = {good, good, good, good, good, good, good, good};
    bad[0].banks = 0;
    bad[1].cap_psns = 0;
    bad[2].cap_psns = EUN_HD_CAP_MAX + 1;
    bad[3].block_bits = 12;
    bad[4].reserve = 1025;
    bad[5].idle_epoch_ps = -1;
    bad[6].blocks = EUN_BLOCK_POOL_MAX + 1;
    bad[7].blocks = UINT32_MAX;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_null(eun_reorder_new(&bad[i]));
    struct eun_reorder *layer = layer_new(2 * EUN_BLOCK_POOL_MAX, 2, 128, 8, 0);
    assert_false(eun_reorder_open(layer, EUN_REORDER_QP_MAX + 1));
    check_valid(layer);
    eun_reorder_free(layer);
    eun_reorder_free(NULL);
}

/** Message of Head 100 and Last 115, and one packet of the next. */
static void message_completes_with_its_last_gap(void **state)
{
    (void)state;
    struct eun_reorder *layer = layer_new(1024, 1, 256, 16, 256 * US);
    const struct eun_reorder_stats *stats = eun_reorder_stats(layer);
    static const struct {
        uint32_t psn;
        enum eun_hd_verdict verdict;
        uint32_t advanced;
        uint32_t lasts;
        uint32_t blocks; /* in use afterwards */
    } rows[] = {
        {100, EUN_HD_ADVANCED, 1, 0, 0},  {101, EUN_HD_ADVANCED, 1, 0, 0},
        {102, EUN_HD_ADVANCED, 1, 0, 0},  {108, EUN_HD_HELD, 0, 0, 25},
        {112, EUN_HD_HELD, 0, 0, 25},     {120, EUN_HD_HELD, 0, 0, 26},
        {103, EUN_HD_ADVANCED, 1, 0, 26}, {104, EUN_HD_ADVANCED, 1, 0, 26},
        {105, EUN_HD_ADVANCED, 1, 0, 26}, {115, EUN_HD_HELD, 0, 0, 26},
        {106, EUN_HD_ADVANCED, 1, 0, 26}, {107, EUN_HD_ADVANCED, 2, 0, 26},
        {109, EUN_HD_ADVANCED, 1, 0, 26}, {110, EUN_HD_ADVANCED, 1, 0, 26},
        {111, EUN_HD_ADVANCED, 2, 0, 26}, {113, EUN_HD_ADVANCED, 1, 0, 26},
        {114, EUN_HD_ADVANCED, 2, 1, 26},
    };
    uint32_t expected = 100;
    assert_true(eun_reorder_open(layer, 3));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct eun_hd_outcome outcome =
            eun_reorder_arrive(layer, 3, expected, rows[i].psn, rows[i].psn == 115, 0);
        assert_int_equal(outcome.verdict, rows[i].verdict);
        assert_int_equal(outcome.advanced, rows[i].advanced);
        assert_int_equal(outcome.lasts, rows[i].lasts);
        assert_int_equal(stats->blocks_in_use, rows[i].blocks);
        expected += outcome.advanced;
        check_valid(layer);
        if (expected <= 108 && i >= 3)
            assert_true(eun_reorder_holds(layer, 3, expected, 108));
    }
    assert_int_equal(expected, 116);
    assert_true(eun_reorder_has_gap(layer, 3));
    eun_reorder_close(layer, 3);
    assert_int_equal(stats->blocks_in_use, 0);
    eun_reorder_free(layer);
}

#define ORDER_MAX 8u

/** 10^6 operations in all, a hundred times as many in deep runs. */
static uint32_t scaled(uint32_t operations)
{
    const char *deep = getenv("EUNOMIA_DEEP");
    return deep != NULL && deep[0] == '1' ? 100 * operations : operations;
}

/** One arrival order, packet by packet, each of them twice. */
static void play_order(struct eun_reorder *layer, const uint32_t *order, uint32_t n,
                       uint32_t last_set, uint32_t first)
{
    uint32_t arrived = 0;
    uint32_t done = 0;
    assert_true(eun_reorder_open(layer, 0));
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t psn = first + order[i];
        const bool last = (last_set >> order[i] & 1u) != 0;
        struct eun_hd_outcome outcome = eun_reorder_arrive(layer, 0, first + done, psn, last, 0);
        uint32_t before = done;
        arrived |= 1u << order[i];
        while ((arrived >> done & 1u) != 0)
            done++;
        const uint32_t lasts =
            (uint32_t)__builtin_popcount(last_set & ((1u << done) - (1u << before)));
        bool right = outcome.advanced == done - before && outcome.lasts == lasts &&
                     outcome.verdict == (done > before ? EUN_HD_ADVANCED : EUN_HD_HELD);
        for (uint32_t k = done; right && k < n; k++)
            right = eun_reorder_holds(layer, 0, first + done, first + k) == (arrived >> k & 1u);
        outcome = eun_reorder_arrive(layer, 0, first + done, psn, last, 0);
        right &= outcome.verdict == EUN_HD_DUPLICATE;
        if (!right)
            fail_msg("arrival %u of %u, PSN +%u, Lasts %x", i, n, order[i], last_set);
    }
    eun_reorder_close(layer, 0);
    assert_int_equal(eun_reorder_stats(layer)->blocks_in_use, 0);
}

/** Heap's algorithm, without recursion (Sedgewick, "Permutation generation methods", 1977). */
static bool next_order(uint32_t *order, uint32_t *count, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        if (count[i] == i) {
            count[i] = 0;
            continue;
        }
        const uint32_t other = i % 2 ? count[i] : 0;
        const uint32_t swapped = order[i];
        order[i] = order[other];
        order[other] = swapped;
        count[i]++;
        return true;
    }
    return false;
}

/** All orders of `n` packets, with every split into messages that `splits` lets pass. */
static void play_all_orders(uint32_t block_bits, uint32_t n, uint32_t first, uint32_t splits)
{
    struct eun_reorder *layer = layer_new(100, 1, 16, block_bits, 0);
    uint32_t order[ORDER_MAX] = {0, 1, 2, 3, 4, 5, 6, 7};
    uint32_t count[ORDER_MAX] = {0};
    uint32_t orders = 0;
    do {
        for (uint32_t last_set = orders++ % splits; last_set < 1u << n; last_set += splits)
            play_order(layer, order, n, last_set, first);
    } while (next_order(order, count, n));
    static const uint32_t factorial[] = {1, 1, 2, 6, 24, 120, 720, 5040, 40320};
    assert_int_equal(orders, factorial[n]);
    check_valid(layer);
    eun_reorder_free(layer);
}

/** Of eight packets every order, with each seventh split only where the run is not a deep one. */
static void every_order_of_up_to_eight_packets(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 7; n++)
        play_all_orders(16, n, 0xFFFFFFFDu, 1);
    for (uint32_t n = 1; n <= 6; n++)
        play_all_orders(8, n, 0xFFFFFD, 1);
    play_all_orders(16, 8, 0xFFFFFFFBu, scaled(1) > 1 ? 1 : 7);
}

/**
 * A pool of `blocks` blocks, packets 40 apart so that each takes blocks of its own: what is refused
 * comes again in the next round, until all is there.
 */
static void play_scarce_order(uint32_t blocks, bool chains, const uint32_t *order, uint32_t n,
                              uint32_t last_set)
{
    const struct eun_reorder_config config = {
        .blocks = blocks, .banks = 1, .cap_psns = 400, .block_bits = 16, .chains = chains};
    struct eun_reorder *layer = eun_reorder_new(&config);
    assert_non_null(layer);
    assert_true(eun_reorder_open(layer, 0));
    uint32_t expected = 0;
    uint32_t lasts = 0;
    for (uint32_t round = 0; expected < n * 40; round++) {
        if (round > 40 * n)
            fail_msg("pool of %u: stuck at PSN %u", blocks, expected);
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t psn = order[i] * 40;
            if (psn < expected)
                continue;
            const bool last = (last_set >> order[i] & 1u) != 0;
            const struct eun_hd_outcome o = eun_reorder_arrive(layer, 0, expected, psn, last, 0);
            assert_true(o.verdict != EUN_HD_CAP);
            expected += o.advanced;
            lasts += o.lasts;
        }
        /* The packets in between, in order. */
        while (expected < n * 40 && expected % 40 != 0) {
            const struct eun_hd_outcome o =
                eun_reorder_arrive(layer, 0, expected, expected, false, 0);
            expected += o.advanced;
            lasts += o.lasts;
        }
    }
    assert_int_equal(expected, n * 40);
    assert_int_equal(lasts, __builtin_popcount(last_set));
    check_valid(layer);
    eun_reorder_free(layer);
}

static void every_pool_size_lets_every_order_through(void **state)
{
    (void)state;
    for (uint32_t blocks = 0; blocks <= 90; blocks++) {
        uint32_t order[ORDER_MAX] = {0, 1, 2, 3, 4};
        uint32_t count[ORDER_MAX] = {0};
        do
            for (uint32_t last_set = 0; last_set < 32; last_set += 3)
                play_scarce_order(blocks, last_set % 2 == 0, order, 5, last_set);
        while (next_order(order, count, 5));
    }
}

/* ---- many QPs on a small pool, against naive twins ---- */

#define QPS 24u

struct world {
    struct eun_reorder *layer;
    const struct eun_reorder_stats *stats;
    struct eun_reorder_config config;
    struct test_random *random;
    struct reference qp[QPS];
    bool open[QPS];
    uint32_t span[QPS];
    int64_t idle_since[QPS];
    uint32_t blocks; /**< of all twins */
    uint64_t reclaims;
    int64_t now;
    uint64_t arrivals;
};

static const struct eun_hd_bank *bank_of(const struct world *w, uint32_t qp)
{
    return eun_reorder_bank_of((const struct eun_reorder_front *)(const void *)w->layer, qp);
}

static bool has_run(const struct eun_block_pool *pool, uint32_t n)
{
    uint32_t run = 0;
    for (uint32_t id = 0; id < pool->size && run < n; id++)
        run = eun_block_pool_is_free(pool, id) ? run + 1 : 0;
    return run >= n;
}

/** Room for what the arrival needs? Exact, but for a plane and blocks that compete for the same. */
static bool has_room(const struct eun_hd_bank *bank, const struct reference_arrival *a)
{
    const struct eun_block_pool *pool = &bank->pool;
    const uint32_t plane = a->plane ? bank->last_blocks : 0;
    const uint32_t metadata = a->metadata ? EUN_BLOCK_POOL_METADATA : 0;
    return metadata + a->blocks + plane <= pool->free_count && has_run(pool, metadata) &&
           has_run(pool, plane);
}

static void twin_idle(struct world *w, uint32_t qp, bool was_gap)
{
    if (was_gap && w->qp[qp].held_count == 0)
        w->idle_since[qp] = w->now;
}

/** Twins whose metadata was taken back: only idle ones, as many as counted. */
static void note_reclaims(struct world *w)
{
    uint64_t counted = w->stats->reclaim + w->stats->reclaim_early - w->reclaims;
    for (uint32_t qp = 0; counted > 0 && qp < QPS; qp++) {
        struct eun_reorder_view view;
        eun_reorder_view(w->layer, qp, &view);
        if (!w->qp[qp].active || view.active)
            continue;
        assert_int_equal(w->qp[qp].held_count, 0);
        w->blocks -= reference_blocks(&w->qp[qp]);
        reference_forget(&w->qp[qp]);
        w->reclaims++;
        counted--;
    }
    assert_int_equal(counted, 0);
}

static void open_or_close(struct world *w, uint32_t qp)
{
    static const uint32_t firsts[] = {0, 0xFFFFFFF0u, 0xFFFFFF80u, 0xFFFFF0, 0x7FFFFFFF};
    w->blocks -= reference_blocks(&w->qp[qp]);
    if (w->open[qp])
        eun_reorder_close(w->layer, qp);
    else
        assert_true(eun_reorder_open(w->layer, qp));
    w->open[qp] = !w->open[qp];
    reference_init(&w->qp[qp], w->config.block_bits, w->config.cap_psns,
                   firsts[test_below(w->random, 5)]);
    w->span[qp] = test_between(w->random, 2, test_chance(w->random, 40) ? 300 : 30);
}

/** The refusal was right: no idle metadata is left to take back, and there is no room. */
static void check_refusal(const struct world *w, uint32_t qp, const struct reference_arrival *a,
                          enum eun_hd_verdict verdict)
{
    const struct eun_hd_bank *bank = bank_of(w, qp);
    const struct eun_block_pool *pool = &bank->pool;
    for (uint32_t other = 0; other < QPS; other++)
        if (other != qp && w->qp[other].active && bank_of(w, other) == bank)
            assert_true(w->qp[other].held_count > 0);
    const uint32_t plane = a->plane ? bank->last_blocks : 0;
    if (verdict == EUN_HD_NO_METADATA) {
        assert_true(a->metadata);
        assert_false(has_run(pool, EUN_BLOCK_POOL_METADATA));
        return;
    }
    assert_int_equal(verdict, EUN_HD_NO_BLOCKS);
    const uint32_t need = (a->metadata ? EUN_BLOCK_POOL_METADATA : 0) + a->blocks + plane;
    assert_true(need > pool->free_count || (plane > 0 && !has_run(pool, plane)));
}

static void arrive(struct world *w, uint32_t qp)
{
    struct reference *q = &w->qp[qp];
    const uint32_t psn = reference_pick(q, w->random, w->span[qp]);
    const bool last = test_chance(w->random, 12);
    const uint32_t expected = (uint32_t)q->expected;
    const struct eun_reorder_stats before = *w->stats;
    static struct reference trial;
    trial = *q;
    const struct reference_arrival need =
        reference_arrive(&trial, reference_psn(q, psn), last, false);
    const bool room = has_room(bank_of(w, qp), &need);
    struct eun_hd_outcome outcome = eun_reorder_arrive(w->layer, qp, expected, psn, last, w->now);
    w->arrivals++;
    note_reclaims(w);
    const bool refused = outcome.verdict > EUN_HD_CAP;
    assert_int_equal(w->stats->alloc_miss - before.alloc_miss, refused);
    assert_int_equal(w->stats->cap_hit - before.cap_hit, outcome.verdict == EUN_HD_CAP);
    if (room)
        assert_int_equal(w->stats->reclaim_early, before.reclaim_early);
    if (refused) {
        assert_false(room);
        check_refusal(w, qp, &need, outcome.verdict);
        return;
    }
    w->blocks -= reference_blocks(q);
    const bool was_gap = q->held_count > 0;
    struct reference_arrival right = reference_arrive(q, reference_psn(q, psn), last, true);
    w->blocks += reference_blocks(q);
    twin_idle(w, qp, was_gap);
    assert_int_equal(outcome.verdict, right.outcome.verdict);
    assert_int_equal(outcome.advanced, right.outcome.advanced);
    assert_int_equal(outcome.lasts, right.outcome.lasts);
    assert_int_equal(w->stats->compact - before.compact, right.compacts);
}

static void sweep(struct world *w)
{
    const int64_t epoch = w->config.idle_epoch_ps;
    const uint64_t early = w->stats->reclaim_early;
    const int64_t next = eun_reorder_sweep(w->layer, w->now);
    bool active = false;
    for (uint32_t qp = 0; qp < QPS; qp++) {
        struct eun_reorder_view view;
        eun_reorder_view(w->layer, qp, &view);
        if (w->qp[qp].active && !view.active)
            assert_true(w->now - w->idle_since[qp] >= epoch);
        active |= view.active;
    }
    note_reclaims(w);
    assert_int_equal(w->stats->reclaim_early, early);
    assert_int_equal(next == INT64_MAX, !active);
    assert_true(next > w->now && (next == INT64_MAX || next - w->now <= epoch + epoch / 32 + 1));
}

static void check_world(const struct world *w)
{
    check_valid(w->layer);
    uint32_t active = 0;
    uint32_t open = 0;
    for (uint32_t qp = 0; qp < QPS; qp++) {
        const struct reference *q = &w->qp[qp];
        struct eun_reorder_view view;
        eun_reorder_view(w->layer, qp, &view);
        assert_int_equal(view.active, q->active);
        assert_int_equal(view.held, q->held_count);
        assert_int_equal(view.bitmap_blocks, reference_bitmap_blocks(q));
        assert_int_equal(view.last_blocks, reference_last_blocks(q));
        assert_int_equal(eun_reorder_has_gap(w->layer, qp), q->held_count > 0);
        for (uint32_t ahead = 0; ahead < q->cap + 20; ahead++)
            if (eun_reorder_holds(w->layer, qp, (uint32_t)q->expected,
                                  (uint32_t)q->expected + ahead) !=
                reference_holds(q, q->expected + ahead))
                fail_msg("QP %u: the PSN %u ahead", qp, ahead);
        active += q->active;
        open += w->open[qp];
    }
    assert_int_equal(w->stats->qps_active, active);
    assert_int_equal(w->stats->qps_open, open);
    struct eun_reorder_memory memory;
    eun_reorder_memory(w->layer, &memory);
    assert_int_equal(memory.last, 2 * w->stats->last_blocks);
    assert_int_equal(memory.state, 4 * open + 2 * (w->blocks - w->stats->last_blocks));
    assert_int_equal(memory.total, memory.state + memory.last + memory.control + memory.unused);
}

/** A gap-free QP may move on by any number of PSNs: nothing of it is stored. */
static void run_ahead(struct world *w, uint32_t qp)
{
    if (w->qp[qp].held_count == 0)
        w->qp[qp].expected += test_random_next(w->random) >> 28;
}

/** What happened, over all plays. */
static void add_stats(struct eun_reorder_stats *sum, const struct eun_reorder_stats *stats)
{
    sum->alloc_miss += stats->alloc_miss;
    sum->cap_hit += stats->cap_hit;
    sum->merge += stats->merge;
    sum->compact += stats->compact;
    sum->reclaim += stats->reclaim;
    sum->reclaim_early += stats->reclaim_early;
}

static uint64_t play(struct test_random *r, struct eun_reorder_config config, uint32_t operations,
                     struct eun_reorder_stats *sum)
{
    static struct world w;
    memset(&w, 0, sizeof w);
    w.config = config;
    w.random = r;
    w.layer = eun_reorder_new(&config);
    assert_non_null(w.layer);
    w.stats = eun_reorder_stats(w.layer);
    for (uint32_t qp = 0; qp < QPS; qp++)
        open_or_close(&w, qp);
    uint32_t busy = QPS; /* QPs below this get the arrivals, so that the others can be idle */
    for (uint32_t op = 0; op < operations; op++) {
        if (op % 1000 == 0)
            busy = test_between(r, 1, QPS);
        const uint32_t qp = test_below(r, test_chance(r, 95) ? busy : QPS);
        const uint32_t dice = test_below(r, 1000);
        w.now += test_below(r, 100000);
        if (dice < 2 || !w.open[qp]) {
            open_or_close(&w, qp);
        } else if (dice < 4) {
            w.blocks -= reference_blocks(&w.qp[qp]);
            eun_reorder_forget(w.layer, qp);
            reference_forget(&w.qp[qp]);
        } else if (dice < 10) {
            w.now += dice == 9 ? test_below(r, 100) * config.idle_epoch_ps : 0;
            sweep(&w);
        } else if (dice < 12) {
            run_ahead(&w, qp);
        } else {
            arrive(&w, qp);
        }
        assert_int_equal(w.stats->blocks_in_use, w.blocks);
        assert_true(w.stats->blocks_peak >= w.blocks);
        if (op % 200 == 0)
            check_world(&w);
    }
    check_world(&w);
    for (uint32_t qp = 0; qp < QPS; qp++)
        eun_reorder_close(w.layer, qp);
    assert_int_equal(w.stats->blocks_in_use, 0);
    assert_int_equal(w.stats->qps_active, 0);
    check_valid(w.layer);
    add_stats(sum, w.stats);
    eun_reorder_free(w.layer);
    return w.arrivals;
}

static void agrees_with_naive_sets(void **state)
{
    (void)state;
    struct test_random r = test_random_start(7);
    static const uint32_t caps[] = {1, 2, 7, 16, 17, 64, 100, 128, 130, 255, 256};
    static const uint32_t blocks[] = {0, 20, 25, 49, 90, 200, 420, 1024};
    struct eun_reorder_stats sum = {0};
    uint64_t arrivals = 0;
    for (size_t c = 0; c < sizeof caps / sizeof *caps; c++) {
        for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
            struct eun_reorder_config config = {.blocks = blocks[b],
                                                .banks = test_between(&r, 1, 3),
                                                .cap_psns = caps[c],
                                                .block_bits = 16,
                                                .idle_epoch_ps = test_between(&r, 1, 10) * US};
            arrivals += play(&r, config, scaled(12000), &sum);
            config.block_bits = 8;
            if (caps[c] <= 128)
                arrivals += play(&r, config, scaled(6000), &sum);
        }
    }
    assert_true(arrivals > 1000000);
    assert_true(sum.alloc_miss > 1000 && sum.cap_hit > 1000 && sum.merge > 1000);
    assert_true(sum.compact > 100 && sum.reclaim > 100 && sum.reclaim_early > 1000);
}

static void idle_metadata_goes_back_after_the_epoch(void **state)
{
    (void)state;
    const int64_t epoch = 256 * US;
    struct eun_reorder *layer = layer_new(1024, 1, 256, 16, epoch);
    const struct eun_reorder_stats *stats = eun_reorder_stats(layer);
    for (uint32_t qp = 0; qp < 3; qp++)
        assert_true(eun_reorder_open(layer, qp));
    assert_int_equal(eun_reorder_sweep(layer, 0), INT64_MAX);
    eun_reorder_arrive(layer, 0, 10, 11, false, 100 * US);
    eun_reorder_arrive(layer, 1, 10, 11, false, 100 * US);
    eun_reorder_arrive(layer, 2, 10, 11, false, 100 * US);
    const int64_t later = eun_reorder_sweep(layer, 5000 * US); /* gaps, however old */
    assert_in_range(later, 5000 * US + epoch, 5000 * US + epoch + epoch / 32);
    assert_int_equal(stats->reclaim, 0);
    assert_int_equal(eun_reorder_arrive(layer, 0, 10, 10, false, 6000 * US).advanced, 2);
    assert_int_equal(eun_reorder_arrive(layer, 1, 10, 10, false, 6100 * US).advanced, 2);
    assert_int_equal(stats->qps_active, 3);   /* not at the first gap-free moment */
    for (uint32_t psn = 12; psn < 100; psn++) /* in order is idle, too */
        eun_reorder_arrive(layer, 0, psn, psn, false, 6200 * US);
    const int64_t first = eun_reorder_sweep(layer, 6200 * US);
    assert_in_range(first, 6000 * US + epoch, 6000 * US + epoch + epoch / 32);
    eun_reorder_sweep(layer, 6000 * US + epoch - 1);
    assert_int_equal(stats->reclaim, 0);
    const int64_t second = eun_reorder_sweep(layer, first);
    assert_int_equal(stats->reclaim, 1);
    assert_in_range(second, 6100 * US + epoch, 6100 * US + epoch + epoch / 32);
    const int64_t third = eun_reorder_sweep(layer, second); /* one may yet become idle */
    assert_in_range(third, second + epoch, second + epoch + epoch / 32);
    assert_int_equal(stats->reclaim, 2);
    assert_int_equal(stats->reclaim_early, 0);
    assert_true(eun_reorder_has_gap(layer, 2));
    check_valid(layer);
    eun_reorder_free(layer);
}

/** Whatever the epoch, however late the sweep: never early, and always at the time returned. */
static void stamps_never_mislead(void **state)
{
    (void)state;
    struct test_random r = test_random_start(8);
    static const int64_t epochs[] = {
        0,      1,        63,      64, 127, 128, 129, 1000, 256 * US, US + 1, INT64_C(1) << 40,
        8 * US, 12345678, 255 * US};
    for (size_t e = 0; e < sizeof epochs / sizeof *epochs; e++) {
        const int64_t epoch = epochs[e];
        struct eun_reorder *layer = layer_new(30, 1, 16, 16, epoch);
        const struct eun_reorder_stats *stats = eun_reorder_stats(layer);
        assert_true(eun_reorder_open(layer, 0));
        int64_t now = 0;
        for (uint32_t round = 0; round < 2000; round++) {
            now += (int64_t)(test_random_next(&r) % (uint64_t)(2 * epoch + 3));
            eun_reorder_arrive(layer, 0, 0, 1, false, now);
            eun_reorder_arrive(layer, 0, 0, 0, false, now);
            const int64_t idle = now;
            const uint64_t reclaimed = stats->reclaim;
            /* Up to 5,000 epochs later: 16-bit stamps wrap after 1,024 at most. */
            const uint64_t pause = test_chance(&r, 20) ? 5000 : 2;
            now += (int64_t)(test_random_next(&r) % (pause * (uint64_t)epoch + 1));
            const int64_t next = eun_reorder_sweep(layer, now);
            if (stats->reclaim > reclaimed) {
                assert_true(now - idle >= epoch);
                assert_int_equal(next, INT64_MAX);
                continue;
            }
            assert_true(next > now && next <= now + epoch + epoch / 32 + 2);
            if (pause == 2)
                assert_true(next <= idle + epoch + epoch / 32 + 2);
            eun_reorder_sweep(layer, next - 1 > now ? next - 1 : now);
            assert_int_equal(stats->reclaim, reclaimed);
            assert_int_equal(eun_reorder_sweep(layer, next), INT64_MAX);
            assert_int_equal(stats->reclaim, reclaimed + 1);
            now = next;
        }
        eun_reorder_free(layer);
    }
}

static void deadlines_past_the_end_of_time_are_never(void **state)
{
    (void)state;
    struct eun_reorder *layer = layer_new(30, 1, 16, 16, INT64_MAX);
    assert_true(eun_reorder_open(layer, 0));
    eun_reorder_arrive(layer, 0, 0, 1, false, INT64_MAX - 5);
    eun_reorder_arrive(layer, 0, 0, 0, false, INT64_MAX - 5);
    assert_int_equal(eun_reorder_sweep(layer, INT64_MAX - 1), INT64_MAX);
    assert_int_equal(eun_reorder_stats(layer)->reclaim, 0);
    eun_reorder_free(layer);
}

/** Room for one QP's metadata only: the idle one makes way, one with a gap does not. */
static void pressure_takes_idle_metadata_early(void **state)
{
    (void)state;
    struct eun_reorder *layer = layer_new(26, 1, 64, 16, 256 * US);
    const struct eun_reorder_stats *stats = eun_reorder_stats(layer);
    assert_true(eun_reorder_open(layer, 0) && eun_reorder_open(layer, 1));
    assert_int_equal(eun_reorder_arrive(layer, 0, 0, 1, false, 0).verdict, EUN_HD_HELD);
    assert_int_equal(eun_reorder_arrive(layer, 1, 0, 1, false, 0).verdict, EUN_HD_NO_METADATA);
    assert_int_equal(eun_reorder_arrive(layer, 0, 0, 40, false, 0).verdict, EUN_HD_NO_BLOCKS);
    assert_int_equal(eun_reorder_arrive(layer, 0, 0, 64, false, 0).verdict, EUN_HD_CAP);
    assert_int_equal(stats->alloc_miss, 2);
    assert_int_equal(stats->cap_hit, 1);
    assert_int_equal(eun_reorder_arrive(layer, 0, 0, 0, false, 0).advanced, 2);
    assert_int_equal(stats->reclaim_early, 0);
    assert_int_equal(eun_reorder_arrive(layer, 1, 0, 1, false, 0).verdict, EUN_HD_HELD);
    assert_int_equal(stats->reclaim_early, 1);
    assert_int_equal(stats->alloc_miss, 2);
    /* QP 0 starts anew; the metadata of QP 1, idle now, makes way in turn. */
    assert_int_equal(eun_reorder_arrive(layer, 1, 0, 0, false, 0).advanced, 2);
    assert_int_equal(eun_reorder_arrive(layer, 0, 2, 4, false, 0).verdict, EUN_HD_HELD);
    assert_int_equal(stats->reclaim_early, 2);
    check_valid(layer);
    eun_reorder_free(layer);
}

/** An idle QP that grows does not lose its own metadata for it. */
static void growth_does_not_eat_itself(void **state)
{
    (void)state;
    struct eun_reorder *layer = layer_new(26 + 25, 1, 128, 16, 256 * US);
    const struct eun_reorder_stats *stats = eun_reorder_stats(layer);
    for (uint32_t qp = 0; qp < 2; qp++) {
        assert_true(eun_reorder_open(layer, qp));
        eun_reorder_arrive(layer, qp, 0, 1, false, 0);
        eun_reorder_arrive(layer, qp, 0, 0, false, 0);
    }
    assert_int_equal(stats->blocks_in_use, 50);
    assert_int_equal(eun_reorder_arrive(layer, 0, 2, 50, false, 0).verdict, EUN_HD_HELD);
    assert_int_equal(stats->reclaim_early, 1); /* of QP 1 */
    assert_int_equal(eun_reorder_arrive(layer, 0, 2, 2, false, 0).advanced, 1);
    check_valid(layer);
    eun_reorder_free(layer);
    layer = layer_new(26, 1, 128, 16, 256 * US);
    assert_true(eun_reorder_open(layer, 0));
    eun_reorder_arrive(layer, 0, 0, 1, false, 0);
    eun_reorder_arrive(layer, 0, 0, 0, false, 0);
    assert_int_equal(eun_reorder_arrive(layer, 0, 2, 100, false, 0).verdict, EUN_HD_NO_BLOCKS);
    assert_int_equal(eun_reorder_stats(layer)->reclaim_early, 0);
    assert_int_equal(eun_reorder_arrive(layer, 0, 2, 30, false, 0).verdict, EUN_HD_HELD);
    check_valid(layer);
    eun_reorder_free(layer);
}

/** Room for metadata and none for its blocks is no room, until an idle QP makes way. */
static void new_metadata_comes_with_its_blocks(void **state)
{
    (void)state;
    struct eun_reorder *layer = layer_new(24 + 1 + 24, 1, 128, 16, 256 * US);
    const struct eun_reorder_stats *stats = eun_reorder_stats(layer);
    assert_true(eun_reorder_open(layer, 0) && eun_reorder_open(layer, 1));
    eun_reorder_arrive(layer, 0, 0, 1, false, 0);
    assert_int_equal(eun_reorder_arrive(layer, 1, 0, 1, false, 0).verdict, EUN_HD_NO_BLOCKS);
    assert_int_equal(stats->blocks_in_use, 25);
    eun_reorder_arrive(layer, 0, 0, 0, false, 0);
    assert_int_equal(eun_reorder_arrive(layer, 1, 0, 1, false, 0).verdict, EUN_HD_HELD);
    assert_int_equal(stats->reclaim_early, 1);
    assert_int_equal(stats->blocks_in_use, 25);
    check_valid(layer);
    eun_reorder_free(layer);
}

static void reopened_qp_starts_empty(void **state)
{
    (void)state;
    struct eun_reorder *layer = layer_new(100, 1, 256, 16, 256 * US);
    const struct eun_reorder_stats *stats = eun_reorder_stats(layer);
    assert_true(eun_reorder_open(layer, 5));
    eun_reorder_close(layer, 6);
    eun_reorder_close(layer, 600);
    assert_int_equal(stats->qps_open, 1);
    eun_reorder_arrive(layer, 5, 0, 9, true, 0);
    assert_true(eun_reorder_open(layer, 5)); /* without a close */
    assert_int_equal(stats->qps_open, 1);
    assert_int_equal(stats->blocks_in_use, 0);
    assert_false(eun_reorder_has_gap(layer, 5));
    assert_false(eun_reorder_holds(layer, 5, 0, 9));
    eun_reorder_arrive(layer, 5, 0, 9, true, 0);
    eun_reorder_close(layer, 5);
    eun_reorder_close(layer, 5);
    assert_int_equal(stats->qps_open, 0);
    assert_int_equal(stats->blocks_in_use, 0);
    check_valid(layer);
    eun_reorder_free(layer);
}

/** A long flow that goes as far ahead as it may, and 100 short ones that reorder in turn. */
static uint32_t refused_beside_a_greedy_flow(uint32_t cap, uint32_t reserve)
{
    const struct eun_reorder_config config = {.blocks = 24 + 16 + 6 * 32,
                                              .banks = 1,
                                              .cap_psns = cap,
                                              .block_bits = 16,
                                              .reserve = reserve};
    struct eun_reorder *layer = eun_reorder_new(&config);
    assert_non_null(layer);
    assert_true(eun_reorder_open(layer, 0));
    uint32_t refused = 0;
    for (uint32_t qp = 1; qp <= 100; qp++) {
        for (uint32_t psn = 1; psn < cap; psn += 5)
            eun_reorder_arrive(layer, 0, 0, psn, false, 0);
        assert_true(eun_reorder_open(layer, qp));
        for (uint32_t psn = 8; psn > 0; psn--)
            refused += eun_reorder_arrive(layer, qp, 0, psn, false, 0).verdict != EUN_HD_HELD;
        eun_reorder_close(layer, qp);
    }
    check_valid(layer);
    eun_reorder_free(layer);
    return refused;
}

static void a_greedy_flow_starves_nobody(void **state)
{
    (void)state;
    assert_int_equal(refused_beside_a_greedy_flow(256, 0), 0); /* the cap alone does */
    assert_int_equal(refused_beside_a_greedy_flow(4096, 0), 800);
    assert_int_equal(refused_beside_a_greedy_flow(4096, 25), 0);
}

/** Holes of 16 blocks: plenty is free, and only a chain can have it. */
static void fragmentation_refuses_whole_metadata_only(void **state)
{
    (void)state;
    for (uint32_t chains = 0; chains < 2; chains++) {
        const struct eun_reorder_config config = {.blocks = 24 + 17 * 16,
                                                  .banks = 1,
                                                  .cap_psns = 256,
                                                  .block_bits = 16,
                                                  .chains = chains == 1};
        struct eun_reorder *layer = eun_reorder_new(&config);
        assert_non_null(layer);
        const struct eun_reorder_stats *stats = eun_reorder_stats(layer);
        struct eun_block_pool *pool = &eun_reorder_bank(layer, 0)->pool;
        uint16_t ids[24 + 17 * 16];
        assert_true(eun_block_pool_take_blocks(pool, pool->size, ids));
        for (uint32_t i = 0; i < pool->size; i++)
            if (ids[i] % 17 != 0)
                eun_block_pool_give(pool, ids[i], 1);
        assert_true(eun_reorder_open(layer, 0) && eun_reorder_open(layer, 1));
        const enum eun_hd_verdict verdict = eun_reorder_arrive(layer, 0, 0, 9, true, 0).verdict;
        assert_int_equal(verdict, chains ? EUN_HD_HELD : EUN_HD_NO_METADATA);
        assert_int_equal(stats->fragmented, !chains);
        assert_int_equal(stats->metadata_refused, !chains);
        assert_int_equal(stats->chain, chains);
        if (chains) {
            struct eun_reorder_memory memory;
            struct eun_reorder_view view;
            eun_reorder_view(layer, 0, &view);
            assert_true(view.chain);
            eun_reorder_memory(layer, &memory);
            /* The blocks that the test itself holds count as state. */
            const uint64_t own = 2 * (pool->size / 17 + 1);
            assert_int_equal(memory.state, 2 * 4 + 48 + 2 + own);
            assert_int_equal(eun_reorder_arrive(layer, 0, 0, 0, false, 0).advanced, 1);
            assert_true(eun_reorder_holds(layer, 0, 1, 9));
        }
        eun_reorder_free(layer);
    }
}

/** One million QPs, 5 % of them active at 64 PSNs: the published model's 6.8 MB, and what else. */
static void a_million_qps_cost_what_the_model_says(void **state)
{
    (void)state;
    const uint32_t qps = 1000000;
    struct eun_reorder *layer = layer_new(28 * 54000, 24, 256, 16, 256 * US);
    assert_true(eun_reorder_open(layer, qps - 1));
    for (uint32_t qp = 0; qp < qps - 1; qp++)
        assert_true(eun_reorder_open(layer, qp));
    for (uint32_t qp = 0; qp < qps; qp += 20)
        assert_int_equal(eun_reorder_arrive(layer, qp, 0, 63, true, 0).verdict, EUN_HD_HELD);
    struct eun_reorder_memory memory;
    eun_reorder_memory(layer, &memory);
    assert_int_equal(memory.state, 4 * qps + qps / 20 * (48 + 4 * 2));
    assert_int_equal(memory.state, 6800000);
    assert_int_equal(memory.last, 0);
    print_message("model %llu, control %llu, unused %llu bytes\n", (unsigned long long)memory.state,
                  (unsigned long long)memory.control, (unsigned long long)memory.unused);
    assert_true(memory.control + memory.unused < memory.state / 4);
    check_valid(layer);
    eun_reorder_free(layer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_what_is_out_of_range),
        cmocka_unit_test(message_completes_with_its_last_gap),
        cmocka_unit_test(every_order_of_up_to_eight_packets),
        cmocka_unit_test(every_pool_size_lets_every_order_through),
        cmocka_unit_test(agrees_with_naive_sets),
        cmocka_unit_test(idle_metadata_goes_back_after_the_epoch),
        cmocka_unit_test(stamps_never_mislead),
        cmocka_unit_test(deadlines_past_the_end_of_time_are_never),
        cmocka_unit_test(pressure_takes_idle_metadata_early),
        cmocka_unit_test(growth_does_not_eat_itself),
        cmocka_unit_test(new_metadata_comes_with_its_blocks),
        cmocka_unit_test(reopened_qp_starts_empty),
        cmocka_unit_test(a_greedy_flow_starves_nobody),
        cmocka_unit_test(fragmentation_refuses_whole_metadata_only),
        cmocka_unit_test(a_million_qps_cost_what_the_model_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
