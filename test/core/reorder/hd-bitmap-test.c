/* SPDX-License-Identifier: GPL-2.0-only */
#include "reference-bitmap.h"

/** A bank with one bitmap, as the ordering layer would use them. */
struct bench {
    struct eun_hd_bank bank;
    struct eun_reorder_stats stats;
    uint16_t id; /**< its metadata, EUN_BLOCK_NONE where it has none */
    uint32_t expected;
};

static void bench_start(struct bench *b, uint32_t blocks, uint32_t cap, uint32_t block_bits,
                        uint32_t expected)
{
    memset(b, 0, sizeof *b);
    assert_true(eun_hd_bank_init(&b->bank, blocks, cap, block_bits == 16 ? 4 : 3, 0, &b->stats));
    b->id = EUN_BLOCK_NONE;
    b->expected = expected;
}

static struct eun_hd_metadata *bench_metadata(const struct bench *b)
{
    return eun_hd_metadata(&b->bank, b->id);
}

static void bench_check(const struct bench *b)
{
    const char *fault = NULL;
    uint64_t held[1024] = {0};
    uint32_t in_use = 0;
    if (!eun_block_pool_validate(&b->bank.pool, &fault))
        fail_msg("%s", fault);
    if (b->id != EUN_BLOCK_NONE) {
        fault = eun_hd_fault(&b->bank, bench_metadata(b));
        if (fault != NULL)
            fail_msg("%s", fault);
        assert_true(eun_hd_mark_blocks(&b->bank, b->id, held));
        in_use = EUN_BLOCK_POOL_METADATA + eun_hd_bitmap_blocks(bench_metadata(b)) +
                 eun_hd_last_blocks(&b->bank, bench_metadata(b));
        assert_int_equal(b->bank.idle, bench_metadata(b)->held == 0);
    }
    assert_int_equal(b->bank.pool.size - b->bank.pool.free_count, in_use);
    assert_int_equal(b->stats.blocks_in_use, in_use);
}

/** Arrives at the bitmap; advances its cumulative point. */
static struct eun_hd_outcome bench_arrive(struct bench *b, uint32_t psn, bool last)
{
    struct eun_hd_outcome outcome = {EUN_HD_ADVANCED, 1, last};
    if (psn == b->expected) {
        uint64_t moved = 1;
        if (b->id != EUN_BLOCK_NONE)
            moved = eun_hd_advance(&b->bank, bench_metadata(b), b->expected, 0);
        outcome.advanced = (uint32_t)moved;
        outcome.lasts += (uint32_t)(moved >> 32);
        b->expected += outcome.advanced;
        return outcome;
    }
    outcome = (struct eun_hd_outcome){EUN_HD_CAP, 0, 0};
    if (b->id == EUN_BLOCK_NONE) {
        struct eun_hd_owner owner = {.qp = 0xABCDEF, .generation = 7};
        b->id = eun_hd_create(&b->bank, owner, b->expected, psn, last, &outcome.verdict);
        return outcome;
    }
    outcome.verdict = eun_hd_hold(&b->bank, bench_metadata(b), b->expected, psn, last);
    return outcome;
}

static void hold(struct bench *b, uint32_t psn)
{
    assert_int_equal(bench_arrive(b, psn, false).verdict, EUN_HD_HELD);
    bench_check(b);
}

static void advance(struct bench *b, uint32_t by)
{
    struct eun_hd_outcome outcome = bench_arrive(b, b->expected, false);
    assert_int_equal(outcome.verdict, EUN_HD_ADVANCED);
    assert_int_equal(outcome.advanced, by);
    bench_check(b);
}

static void bench_end(struct bench *b)
{
    if (b->id != EUN_BLOCK_NONE)
        eun_hd_destroy(&b->bank, b->id);
    b->id = EUN_BLOCK_NONE;
    bench_check(b);
    eun_hd_bank_dispose(&b->bank);
}

/** Where `psn` is kept: slot of its block id among the 16, and bit. */
static void assert_place(const struct bench *b, uint32_t psn, uint32_t slot, uint32_t bit)
{
    uint16_t block;
    uint32_t at;
    assert_true(eun_hd_locate(&b->bank, bench_metadata(b), b->expected, psn, &block, &at));
    assert_int_equal(block, bench_metadata(b)->block[slot]);
    assert_int_equal(at, bit);
}

static void assert_shape(const struct bench *b, uint32_t ring, uint32_t linear, uint32_t blocks)
{
    const struct eun_hd_metadata *m = bench_metadata(b);
    assert_int_equal(eun_hd_ring_blocks(&b->bank, m), ring);
    assert_int_equal(m->linear_blocks, linear);
    assert_int_equal(eun_hd_bitmap_blocks(m), blocks);
}

static void metadata_is_laid_out_as_published(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct eun_hd_metadata), 48);
    assert_int_equal(offsetof(struct eun_hd_metadata, owner_low), 32);
    assert_int_equal(offsetof(struct eun_hd_metadata, ring_psns), 40);
    struct bench b;
    bench_start(&b, 100, 256, 16, 0);
    hold(&b, 1);
    assert_int_equal(eun_hd_owner_qp(bench_metadata(&b)), 0xABCDEF);
    assert_int_equal(bench_metadata(&b)->generation, 7);
    bench_end(&b);
}

/** Blocks of 8, Head 0: 0, 1, 2, 4 and 6 are here, 3 comes, then 15. */
static void grows_at_the_tail_without_moving_a_bit(void **state)
{
    (void)state;
    struct bench b;
    bench_start(&b, 100, 128, 8, 0);
    hold(&b, 1);
    hold(&b, 2);
    hold(&b, 4);
    hold(&b, 6);
    advance(&b, 3);
    advance(&b, 2);
    assert_int_equal(b.expected, 5);
    /* Position 6 is the only one set; 0 to 4 are free again, and PSNs 8 to 12 will have them. */
    const uint16_t first = bench_metadata(&b)->block[0];
    assert_int_equal(b.bank.pool.block[first], 1u << 6);
    for (uint32_t psn = 8; psn <= 12; psn++)
        assert_place(&b, psn, 0, psn - 8);
    hold(&b, 15);
    assert_shape(&b, 1, 1, 2);
    assert_int_equal(bench_metadata(&b)->block[0], first);
    assert_int_equal(b.bank.pool.block[first], 1u << 6);
    assert_place(&b, 6, 0, 6);
    /* L0 is 13, the first PSN past the ring's 8 from 5 on. */
    assert_place(&b, 15, 1, 2);
    assert_int_equal(b.bank.pool.block[bench_metadata(&b)->block[1]], 1u << 2);
    hold(&b, 12);
    assert_int_equal(b.bank.pool.block[first], 1u << 6 | 1u << 4);
    bench_end(&b);
}

/** Ring of 3 blocks of 8 that starts within a block: every block leaves when it should. */
static void ring_drains_block_by_block_and_merges(void **state)
{
    (void)state;
    struct bench b;
    bench_start(&b, 100, 128, 8, 1000);
    hold(&b, 1020);
    assert_shape(&b, 3, 0, 3);
    for (uint32_t psn = 1000; psn < 1004; psn++)
        advance(&b, 1);
    /* The ring spans [1004, 1028); 1040 takes two blocks: [1028, 1044). */
    hold(&b, 1040);
    assert_shape(&b, 3, 2, 5);
    assert_place(&b, 1027, 0, 3); /* new PSNs in the block that the ring's oldest are in */
    assert_place(&b, 1028, 3, 0);
    for (uint32_t psn = 1004; psn < 1015; psn++)
        advance(&b, 1);
    assert_shape(&b, 3, 2, 5); /* block 0 was left at 1008, but 1024 to 1027 will come there */
    advance(&b, 1);
    assert_shape(&b, 3, 2, 4); /* block 1 held 1008 to 1015 */
    hold(&b, 1025);
    assert_place(&b, 1025, 0, 1);
    for (uint32_t psn = 1016; psn < 1019; psn++)
        advance(&b, 1);
    advance(&b, 2); /* 1019, and 1020 with it */
    for (uint32_t psn = 1021; psn < 1024; psn++)
        advance(&b, 1);
    assert_shape(&b, 3, 2, 3); /* block 2 held 1016 to 1023 */
    advance(&b, 2);            /* 1024 and 1025 */
    advance(&b, 1);
    const uint16_t linear = bench_metadata(&b)->block[3];
    assert_int_equal(b.stats.merge, 0);
    advance(&b, 1); /* 1027: the prefix is at L0 */
    assert_int_equal(b.stats.merge, 1);
    assert_shape(&b, 2, 0, 2);
    assert_int_equal(bench_metadata(&b)->block[0], linear);
    assert_place(&b, 1028, 0, 0);
    assert_place(&b, 1040, 1, 4);
    assert_true(eun_hd_holds(&b.bank, bench_metadata(&b), b.expected, 1040));
    bench_end(&b);
}

/** A run that crosses from the ring into the linear part, at any alignment. */
static void run_crosses_the_seam(void **state)
{
    (void)state;
    for (uint32_t block_bits = 8; block_bits <= 16; block_bits += 8) {
        for (uint32_t start = 0; start < 40; start++) {
            struct bench b;
            bench_start(&b, 100, 100, block_bits, 0xFFFFFFF0u);
            hold(&b, b.expected + 40);
            for (uint32_t i = 0; i < start; i++)
                advance(&b, 1);
            const uint32_t end = b.expected + 95;
            for (uint32_t psn = end; psn != b.expected; psn--)
                bench_arrive(&b, psn, psn == end);
            bench_check(&b);
            struct eun_hd_outcome outcome = bench_arrive(&b, b.expected, false);
            assert_int_equal(outcome.advanced, 96);
            assert_int_equal(outcome.lasts, 1);
            bench_check(&b);
            bench_end(&b);
        }
    }
}

/** 16 ids are not enough for a ring of 10 and what the cap allows behind it: bits are copied. */
static void compacts_where_ids_run_out(void **state)
{
    (void)state;
    struct bench b;
    bench_start(&b, 100, 256, 16, 50);
    hold(&b, 50 + 159);
    for (uint32_t i = 0; i < 5; i++)
        advance(&b, 1);
    hold(&b, 55 + 160);
    assert_shape(&b, 10, 1, 11);
    for (uint32_t i = 0; i < 100; i++)
        advance(&b, 1);
    assert_int_equal(b.stats.compact, 0);
    hold(&b, 155 + 255);
    assert_int_equal(b.stats.compact, 1);
    assert_shape(&b, 16, 0, 16);
    for (uint32_t psn = b.expected; psn != b.expected + 256; psn++)
        assert_int_equal(eun_hd_holds(&b.bank, bench_metadata(&b), b.expected, psn),
                         psn == 209 || psn == 215 || psn == 410);
    bench_end(&b);
}

/** The two PSNs left of the ring lie in two blocks; the plain ring needs one block less. */
static void compacting_may_give_a_block_back(void **state)
{
    (void)state;
    struct bench b;
    bench_start(&b, 100, 256, 16, 0);
    hold(&b, 150);
    advance(&b, 1);
    hold(&b, 161 + 95); /* L0 is 161 */
    assert_shape(&b, 10, 6, 16);
    while (b.expected < 149)
        advance(&b, 1);
    advance(&b, 2);
    while (b.expected < 159)
        advance(&b, 1);
    assert_shape(&b, 10, 6, 8);
    hold(&b, 161 + 96);
    assert_int_equal(b.stats.compact, 1);
    assert_shape(&b, 7, 0, 7);
    for (uint32_t psn = b.expected; psn != b.expected + 256; psn++)
        assert_int_equal(eun_hd_holds(&b.bank, bench_metadata(&b), b.expected, psn),
                         psn == 256 || psn == 257);
    bench_end(&b);
}

/** An empty ring grows in place: nothing drains. */
static void empty_ring_grows_in_place(void **state)
{
    (void)state;
    struct bench b;
    bench_start(&b, 100, 256, 16, 7);
    hold(&b, 9);
    advance(&b, 1);
    advance(&b, 2);
    assert_int_equal(b.bank.idle, 1);
    for (uint32_t i = 0; i < 1000; i++)
        advance(&b, 1);
    hold(&b, b.expected + 40);
    assert_shape(&b, 3, 0, 3);
    assert_int_equal(b.bank.idle, 0);
    assert_int_equal(b.stats.merge + b.stats.compact, 0);
    bench_end(&b);
}

static void second_last_takes_a_plane(void **state)
{
    (void)state;
    struct bench b;
    bench_start(&b, 100, 256, 16, 0);
    bench_arrive(&b, 5, true);
    assert_int_equal(b.stats.last_blocks, 0);
    bench_arrive(&b, 9, true);
    assert_int_equal(b.stats.last_blocks, 16);
    bench_arrive(&b, 200, true);
    bench_check(&b);
    const struct eun_hd_metadata *m = bench_metadata(&b);
    for (uint32_t psn = 0; psn < 256; psn++)
        assert_int_equal(eun_hd_is_last(&b.bank, m, psn), psn == 5 || psn == 9 || psn == 200);
    for (uint32_t psn = 1; psn < 10; psn++)
        bench_arrive(&b, psn, false);
    struct eun_hd_outcome outcome = bench_arrive(&b, 0, true);
    assert_int_equal(outcome.advanced, 10);
    assert_int_equal(outcome.lasts, 3);
    bench_check(&b);
    assert_int_equal(b.stats.last_blocks, 16);
    for (uint32_t psn = 199; psn > 10; psn--)
        bench_arrive(&b, psn, false);
    outcome = bench_arrive(&b, 10, false);
    assert_int_equal(outcome.advanced, 191);
    assert_int_equal(outcome.lasts, 1);
    assert_int_equal(b.stats.last_blocks, 0);
    bench_check(&b);
    bench_end(&b);
}

/** Every size of bank that is too small for one of the steps: refused, and nothing changes. */
static void takes_all_blocks_or_none(void **state)
{
    (void)state;
    static const struct {
        uint32_t psn;
        bool last;
    } steps[] = {{20, true}, {70, false}, {3, true}, {200, true}, {255, false}};
    for (uint32_t blocks = 0; blocks <= 24 + 16 + 16; blocks++) {
        struct bench b;
        bench_start(&b, blocks, 256, 16, 0);
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
            static uint16_t before[64];
            const struct eun_reorder_stats stats = b.stats;
            memcpy(before, b.bank.pool.block, blocks * sizeof *before);
            struct eun_hd_outcome outcome = bench_arrive(&b, steps[i].psn, steps[i].last);
            bench_check(&b);
            if (outcome.verdict == EUN_HD_HELD)
                continue;
            assert_int_equal(outcome.verdict, blocks < 24 ? EUN_HD_NO_METADATA : EUN_HD_NO_BLOCKS);
            assert_int_equal(stats.blocks_in_use, b.stats.blocks_in_use);
            for (uint32_t id = 0; id < blocks; id++)
                if (!eun_block_pool_is_free(&b.bank.pool, id))
                    assert_int_equal(b.bank.pool.block[id], before[id]);
        }
        if (blocks == 56)
            assert_int_equal(b.stats.blocks_in_use, 24 + 16 + 16);
        bench_end(&b);
    }
}

/** Counts over a stretch agree with single questions. */
static void check_counts(const struct bench *b, const struct eun_hd_metadata *m, uint32_t expected,
                         struct test_random *r)
{
    const uint32_t from = expected + test_below(r, b->bank.cap);
    const uint32_t to = from + test_below(r, b->bank.cap - (from - expected) + 1u);
    struct eun_hd_tally right = {0};
    for (uint32_t psn = from; psn != to; psn++) {
        const bool held = eun_hd_holds(&b->bank, m, expected, psn);
        right.held += held;
        right.lasts += held && eun_hd_is_last(&b->bank, m, psn);
    }
    const struct eun_hd_tally tally = eun_hd_count(&b->bank, m, expected, from, to);
    assert_int_equal(tally.held, right.held);
    assert_int_equal(tally.lasts, right.lasts);
}

static void check_against(const struct bench *b, const struct reference *q)
{
    const struct eun_hd_metadata *m = bench_metadata(b);
    for (uint32_t ahead = 0; ahead < q->cap + 40; ahead++) {
        const uint32_t psn = b->expected + ahead;
        const bool held = reference_holds(q, q->expected + ahead);
        if (eun_hd_holds(&b->bank, m, b->expected, psn) != held)
            fail_msg("PSN %u ahead is %sheld", ahead, held ? "not " : "");
        if (held &&
            eun_hd_is_last(&b->bank, m, psn) != q->last[(q->expected + ahead) % REFERENCE_PLACES])
            fail_msg("the Last flag of the PSN %u ahead is wrong", ahead);
    }
    assert_int_equal(m->held, q->held_count);
    assert_int_equal(eun_hd_bitmap_blocks(m), reference_bitmap_blocks(q));
    assert_int_equal(eun_hd_last_blocks(&b->bank, m), reference_last_blocks(q));
}

static void play(struct test_random *r, uint32_t block_bits, uint32_t cap, uint32_t first,
                 uint32_t arrivals)
{
    struct bench b;
    static struct reference q;
    uint64_t compacts = 0;
    bench_start(&b, 400, cap, block_bits, first);
    reference_init(&q, block_bits, cap, first);
    uint32_t span = 2;
    for (uint32_t i = 0; i < arrivals; i++) {
        if (i % 256 == 0)
            span = test_between(r, 2, test_chance(r, 50) ? 300 : 40);
        const uint32_t psn = reference_pick(&q, r, span);
        const uint32_t ahead = psn - b.expected;
        if (!q.active && (ahead >= cap))
            continue;
        const bool last = test_chance(r, 12);
        struct reference_arrival right = reference_arrive(&q, reference_psn(&q, psn), last, true);
        struct eun_hd_outcome outcome = bench_arrive(&b, psn, last);
        compacts += right.compacts;
        assert_int_equal(outcome.verdict, right.outcome.verdict);
        assert_int_equal(outcome.advanced, right.outcome.advanced);
        assert_int_equal(outcome.lasts, right.outcome.lasts);
        assert_int_equal(b.stats.blocks_in_use, reference_blocks(&q));
        assert_int_equal(b.stats.compact, compacts);
        if (i % 16 == 0) {
            bench_check(&b);
            if (q.active)
                check_against(&b, &q);
        }
        if (q.active)
            check_counts(&b, bench_metadata(&b), b.expected, r);
    }
    bench_end(&b);
}

static void agrees_with_a_naive_set(void **state)
{
    (void)state;
    struct test_random r = test_random_start(6);
    static const uint32_t caps[] = {2, 3, 8, 9, 17, 40, 100, 128, 129, 200, 255, 256};
    static const uint32_t firsts[] = {0, 0xFFFFFF00u, 0xFFFFFFFFu, 0xFFFFFEu, 0x7FFFFFF0u};
    for (size_t c = 0; c < sizeof caps / sizeof *caps; c++) {
        for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++) {
            play(&r, 16, caps[c], firsts[f], 10000);
            if (caps[c] <= 128)
                play(&r, 8, caps[c], firsts[f], 10000);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metadata_is_laid_out_as_published),
        cmocka_unit_test(grows_at_the_tail_without_moving_a_bit),
        cmocka_unit_test(ring_drains_block_by_block_and_merges),
        cmocka_unit_test(run_crosses_the_seam),
        cmocka_unit_test(compacts_where_ids_run_out),
        cmocka_unit_test(compacting_may_give_a_block_back),
        cmocka_unit_test(empty_ring_grows_in_place),
        cmocka_unit_test(second_last_takes_a_plane),
        cmocka_unit_test(takes_all_blocks_or_none),
        cmocka_unit_test(agrees_with_a_naive_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
