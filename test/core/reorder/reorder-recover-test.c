/* SPDX-License-Identifier: GPL-2.0-only */
#include "../test-random.h"

#include "reorder.h"

#define US INT64_C(1000000) /* picoseconds */

static struct eun_reorder *layer_new(uint32_t blocks, uint32_t banks, bool chains)
{
    const struct eun_reorder_config config = {.blocks = blocks,
                                              .banks = banks,
                                              .cap_psns = 600,
                                              .block_bits = 16,
                                              .idle_epoch_ps = 256 * US,
                                              .chains = chains};
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

/** Leaks of each kind are noticed, and given back; what QPs hold stays. */
static void scrubber_returns_leaks(void **state)
{
    (void)state;
    const char *reason;
    uint16_t ids[3];
    struct eun_reorder *layer = layer_new(200, 2, false);
    for (uint32_t qp = 0; qp < 4; qp++) {
        assert_true(eun_reorder_open(layer, qp));
        eun_reorder_arrive(layer, qp, 0, qp + 1, true, 0);
        eun_reorder_arrive(layer, qp, 0, qp + 20, qp == 2, 0);
    }
    eun_reorder_arrive(layer, 1, 0, 0, false, 0);
    const uint32_t in_use = eun_reorder_stats(layer)->blocks_in_use;
    assert_int_equal(eun_reorder_scrub(layer), 0);
    check_valid(layer);
    /* A failure after blocks, and after metadata, were marked held and before anything led there.
     */
    assert_true(eun_block_pool_take_blocks(&eun_reorder_bank(layer, 0)->pool, 3, ids));
    assert_false(eun_reorder_validate(layer, &reason));
    assert_int_equal(eun_reorder_scrub(layer), 3);
    check_valid(layer);
    assert_int_not_equal(eun_block_pool_take_metadata(&eun_reorder_bank(layer, 1)->pool),
                         EUN_BLOCK_NONE);
    assert_false(eun_reorder_validate(layer, &reason));
    assert_int_equal(eun_reorder_scrub(layer), EUN_BLOCK_POOL_METADATA);
    check_valid(layer);
    /* One after a resident entry was cleared and before what it led to went back. */
    struct eun_reorder_front *front = (struct eun_reorder_front *)(void *)layer;
    struct eun_reorder_view view;
    eun_reorder_view(layer, 2, &view);
    front->resident[2].metadata = EUN_BLOCK_NONE;
    assert_false(eun_reorder_validate(layer, &reason));
    const uint32_t lost = EUN_BLOCK_POOL_METADATA + view.bitmap_blocks + view.last_blocks;
    assert_int_equal(eun_reorder_scrub(layer), lost);
    check_valid(layer);
    assert_int_equal(eun_reorder_stats(layer)->blocks_in_use, in_use - lost);
    assert_int_equal(eun_reorder_stats(layer)->qps_active, 3);
    assert_true(eun_reorder_holds(layer, 3, 0, 23));
    /* Metadata of an earlier life of the QP. */
    eun_hd_metadata(eun_reorder_bank_of(front, 3), front->resident[3].metadata)->generation--;
    assert_false(eun_reorder_validate(layer, &reason));
    assert_true(eun_reorder_scrub(layer) > 0);
    check_valid(layer);
    assert_false(eun_reorder_has_gap(layer, 3));
    eun_reorder_free(layer);
}

/** Spoilt metadata is dropped unread; its blocks come back with the scrubber, and only they. */
static void lost_metadata_leaks_until_the_scrubber_comes(void **state)
{
    (void)state;
    struct eun_reorder *layer = layer_new(200, 1, true);
    const struct eun_reorder_stats *stats = eun_reorder_stats(layer);
    for (uint32_t qp = 0; qp < 3; qp++) {
        assert_true(eun_reorder_open(layer, qp));
        eun_reorder_arrive(layer, qp, 0, 40, true, 0);
    }
    eun_reorder_lose(layer, 3);
    eun_reorder_lose(layer, 1);
    eun_reorder_lose(layer, 1);
    assert_int_equal(stats->qps_active, 2);
    assert_int_equal(stats->blocks_in_use, 3 * 27);
    assert_false(eun_reorder_has_gap(layer, 1));
    assert_int_equal(eun_reorder_arrive(layer, 1, 0, 17, false, 0).verdict, EUN_HD_HELD);
    assert_int_equal(eun_reorder_scrub(layer), 27);
    check_valid(layer);
    assert_int_equal(stats->blocks_in_use, 27 + 26 + 27);
    assert_true(eun_reorder_holds(layer, 0, 0, 40) && eun_reorder_holds(layer, 2, 0, 40));
    assert_true(eun_reorder_holds(layer, 1, 0, 17) && !eun_reorder_holds(layer, 1, 0, 40));
    eun_reorder_free(layer);
}

/** Lost while idle: pressure cannot take it back, and does not look for it for ever. */
static void pressure_passes_lost_metadata_by(void **state)
{
    (void)state;
    struct eun_reorder *layer = layer_new(26, 1, true);
    assert_true(eun_reorder_open(layer, 0) && eun_reorder_open(layer, 1));
    eun_reorder_arrive(layer, 0, 0, 1, false, 0);
    eun_reorder_arrive(layer, 0, 0, 0, false, 0);
    eun_reorder_lose(layer, 0);
    assert_int_equal(eun_reorder_arrive(layer, 1, 0, 1, false, 0).verdict, EUN_HD_NO_METADATA);
    assert_int_equal(eun_reorder_sweep(layer, 1000 * US), INT64_MAX);
    assert_int_equal(eun_reorder_stats(layer)->reclaim, 0);
    assert_int_equal(eun_reorder_scrub(layer), 25);
    check_valid(layer);
    assert_int_equal(eun_reorder_arrive(layer, 1, 0, 1, false, 0).verdict, EUN_HD_HELD);
    eun_reorder_free(layer);
}

#define QPS 12u

static bool is_open(const struct eun_reorder *layer, uint32_t qp)
{
    const struct eun_reorder_front *front = (const struct eun_reorder_front *)(const void *)layer;
    return front->resident[qp].generation % 2u == 1u;
}

static void spoil(struct eun_reorder *layer, const struct eun_reorder_config *config,
                  struct test_random *r)
{
    struct eun_reorder_front *front = (struct eun_reorder_front *)(void *)layer;
    const uint32_t words = test_between(r, 1, test_chance(r, 50) ? 5 : 400);
    for (uint32_t i = 0; i < words; i++) {
        struct eun_block_pool *pool = &eun_reorder_bank(layer, test_below(r, config->banks))->pool;
        uint16_t *block = &pool->block[test_below(r, pool->size)];
        /* One bit, a plausible id, or anything. */
        const uint32_t kind = test_below(r, 3);
        if (kind == 0)
            *block = (uint16_t)(*block ^ 1u << test_below(r, 16));
        else
            *block = (uint16_t)(kind == 1 ? test_below(r, pool->size) : test_random_next(r));
    }
    if (test_chance(r, 50))
        front->resident[test_below(r, QPS)].metadata = (uint16_t)test_random_next(r);
    if (test_chance(r, 20))
        front->resident[test_below(r, QPS)].generation ^= (uint16_t)test_random_next(r);
}

/** Whatever is in the blocks and the resident table: the scrubber makes it a layer that works. */
static void garbage_anywhere_is_survived(void **state)
{
    (void)state;
    struct test_random r = test_random_start(31);
    uint64_t returned = 0;
    const uint32_t rounds = getenv("EUNOMIA_DEEP") ? 100000 : 2000;
    for (uint32_t round = 0; round < rounds; round++) {
        const struct eun_reorder_config config = {.blocks = test_between(&r, 30, 500),
                                                  .banks = test_between(&r, 1, 2),
                                                  .cap_psns = test_between(&r, 2, 1500),
                                                  .block_bits = test_chance(&r, 50) ? 16 : 8,
                                                  .chains = true};
        struct eun_reorder *layer = eun_reorder_new(&config);
        uint32_t expected[QPS] = {0};
        assert_non_null(layer);
        for (uint32_t qp = 0; qp < QPS; qp++)
            assert_true(eun_reorder_open(layer, qp));
        for (uint32_t op = 0; op < 300; op++) {
            const uint32_t qp = test_below(&r, QPS);
            if (op % 100 == 99) {
                spoil(layer, &config, &r);
                returned += eun_reorder_scrub(layer);
                check_valid(layer);
            }
            if (!is_open(layer, qp) || test_chance(&r, 2))
                assert_true(eun_reorder_open(layer, qp));
            const uint32_t psn = expected[qp] + (test_chance(&r, 30) ? 0 : test_below(&r, 40));
            expected[qp] +=
                eun_reorder_arrive(layer, qp, expected[qp], psn, test_chance(&r, 20), 0).advanced;
        }
        assert_int_equal(eun_reorder_scrub(layer), 0);
        check_valid(layer);
        eun_reorder_free(layer);
    }
    assert_true(returned > rounds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scrubber_returns_leaks),
        cmocka_unit_test(lost_metadata_leaks_until_the_scrubber_comes),
        cmocka_unit_test(pressure_passes_lost_metadata_by),
        cmocka_unit_test(garbage_anywhere_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
