/* SPDX-License-Identifier: GPL-2.0-only */
#include "../test-random.h"

#include "block-pool.h"

/** Naive twin: one flag a block. */
struct twin {
    struct eun_block_pool pool;
    bool held[EUN_BLOCK_POOL_MAX];
    uint32_t held_count;
};

/** A range of blocks that the test holds. */
struct holding {
    uint16_t id;
    uint32_t n;
    bool metadata;
    bool chain;
};

#define HOLDINGS 4096u

static struct twin twin;
static struct holding holdings[HOLDINGS];

static void start(uint32_t size)
{
    twin = (struct twin){0};
    assert_true(eun_block_pool_init(&twin.pool, size));
    assert_int_equal(twin.pool.size, size);
    assert_int_equal(twin.pool.free_count, size);
}

static void check_valid(void)
{
    const char *reason;
    if (!eun_block_pool_validate(&twin.pool, &reason))
        fail_msg("%s", reason);
    assert_int_equal(twin.pool.free_count, twin.pool.size - twin.held_count);
    for (uint32_t id = 0; id < twin.pool.size; id++)
        if (eun_block_pool_is_free(&twin.pool, id) == twin.held[id])
            fail_msg("block %u", id);
}

static uint32_t lowest_run(uint32_t n)
{
    uint32_t run = 0;
    for (uint32_t id = 0; id < twin.pool.size; id++) {
        run = twin.held[id] ? 0 : run + 1;
        if (run == n)
            return id + 1 - n;
    }
    return EUN_BLOCK_NONE;
}

static uint32_t highest_run(uint32_t n)
{
    uint32_t run = 0;
    for (uint32_t id = twin.pool.size; id-- > 0;) {
        run = twin.held[id] ? 0 : run + 1;
        if (run == n)
            return id;
    }
    return EUN_BLOCK_NONE;
}

static void hold(uint32_t id, uint32_t n, bool held)
{
    for (uint32_t i = 0; i < n; i++) {
        if (twin.held[id + i] == held)
            fail_msg("block %u is %s already", id + i, held ? "held" : "free");
        twin.held[id + i] = held;
    }
    twin.held_count += held ? n : 0u - n;
}

static uint16_t take_metadata(void)
{
    uint32_t expected = lowest_run(EUN_BLOCK_POOL_METADATA);
    uint16_t id = eun_block_pool_take_metadata(&twin.pool);
    assert_int_equal(id, expected);
    if (id != EUN_BLOCK_NONE)
        hold(id, EUN_BLOCK_POOL_METADATA, true);
    return id;
}

static uint16_t take_run(uint32_t n)
{
    uint32_t expected = highest_run(n);
    uint16_t id = eun_block_pool_take_run(&twin.pool, n);
    assert_int_equal(id, expected);
    if (id != EUN_BLOCK_NONE)
        hold(id, n, true);
    return id;
}

static bool take_blocks(uint32_t n, uint16_t *ids)
{
    bool expected = n <= twin.pool.size - twin.held_count;
    assert_int_equal(eun_block_pool_take_blocks(&twin.pool, n, ids), expected);
    for (uint32_t i = 0; expected && i < n; i++) {
        assert_int_equal(ids[i], highest_run(1));
        hold(ids[i], 1, true);
    }
    return expected;
}

/** What the test keeps in the chain with that head. */
static void chain_contents(uint16_t head, uint16_t *metadata)
{
    for (uint32_t i = 0; i < EUN_BLOCK_POOL_METADATA; i++)
        metadata[i] = (uint16_t)(head * 31u + i * 257u);
}

/** Naive: the highest run of four, eight times; the fragment taken last is the first. */
static uint16_t take_chain(void)
{
    uint32_t fragments[EUN_BLOCK_POOL_FRAGMENTS];
    uint32_t found = 0;
    while (found < EUN_BLOCK_POOL_FRAGMENTS) {
        fragments[found] = highest_run(EUN_BLOCK_POOL_FRAGMENT);
        if (fragments[found] == EUN_BLOCK_NONE)
            break;
        hold(fragments[found++], EUN_BLOCK_POOL_FRAGMENT, true);
    }
    const bool room = found == EUN_BLOCK_POOL_FRAGMENTS;
    const uint16_t id = eun_block_pool_take_chain(&twin.pool);
    assert_int_equal(id, room ? fragments[found - 1] : EUN_BLOCK_NONE);
    while (!room && found > 0)
        hold(fragments[--found], EUN_BLOCK_POOL_FRAGMENT, false);
    if (!room)
        return id;
    assert_true(eun_block_pool_is_chain(&twin.pool, id));
    uint16_t metadata[EUN_BLOCK_POOL_METADATA];
    chain_contents(id, metadata);
    eun_block_pool_store_chain(&twin.pool, id, metadata);
    for (uint32_t i = 0; i < EUN_BLOCK_POOL_METADATA; i++) {
        const uint32_t fragment = fragments[EUN_BLOCK_POOL_FRAGMENTS - 1 - i / 3];
        assert_int_equal(eun_block_pool_chain_block(&twin.pool, id, i), fragment + 1 + i % 3);
    }
    return id;
}

static void give_chain(uint16_t id)
{
    uint16_t wanted[EUN_BLOCK_POOL_METADATA];
    uint16_t metadata[EUN_BLOCK_POOL_METADATA];
    chain_contents(id, wanted);
    eun_block_pool_load_chain(&twin.pool, id, metadata);
    assert_memory_equal(metadata, wanted, sizeof wanted);
    uint16_t fragment = id;
    for (uint32_t i = 0; i < EUN_BLOCK_POOL_FRAGMENTS; i++, fragment = twin.pool.block[fragment])
        hold(fragment, EUN_BLOCK_POOL_FRAGMENT, false);
    eun_block_pool_give_metadata(&twin.pool, id);
    assert_false(eun_block_pool_is_chain(&twin.pool, id));
}

static void give(const struct holding *h)
{
    if (h->chain) {
        give_chain(h->id);
        return;
    }
    if (h->metadata)
        eun_block_pool_give_metadata(&twin.pool, h->id);
    else
        eun_block_pool_give(&twin.pool, h->id, h->n);
    hold(h->id, h->n, false);
}

/** Every metadata run that is held is found, in order, and nothing else. */
static void check_metadata_list(uint32_t count)
{
    uint32_t found = 0;
    uint32_t from = 0;
    for (;;) {
        uint16_t id = eun_block_pool_next_metadata(&twin.pool, from);
        if (id == EUN_BLOCK_NONE)
            break;
        assert_true(id >= from);
        bool known = false;
        for (uint32_t i = 0; i < count; i++)
            known |= holdings[i].metadata && holdings[i].id == id;
        assert_true(known);
        found++;
        from = id + 1u;
    }
    for (uint32_t i = 0; i < count; i++)
        found -= holdings[i].metadata;
    assert_int_equal(found, 0);
}

/** Takes something at random. Result: how many holdings were added. */
static uint32_t take_something(struct test_random *r, struct holding *to)
{
    uint16_t ids[16];
    uint32_t n;
    switch (test_below(r, 5)) {
    case 0:
        *to =
            (struct holding){.id = take_metadata(), .n = EUN_BLOCK_POOL_METADATA, .metadata = true};
        return to->id != EUN_BLOCK_NONE;
    case 1:
        n = test_between(r, 1, test_chance(r, 10) ? 64 : 16);
        *to = (struct holding){.id = take_run(n), .n = n};
        return to->id != EUN_BLOCK_NONE;
    case 2:
        *to = (struct holding){.id = take_chain(), .metadata = true, .chain = true};
        return to->id != EUN_BLOCK_NONE;
    default:
        n = test_below(r, 17);
        if (!take_blocks(n, ids))
            return 0;
        for (uint32_t i = 0; i < n; i++)
            to[i] = (struct holding){.id = ids[i], .n = 1};
        return n;
    }
}

/** Random use, drifting between empty and full. */
static void play(struct test_random *r, uint32_t size, uint32_t operations)
{
    start(size);
    uint32_t count = 0;
    uint32_t appetite = 50;
    for (uint32_t op = 0; op < operations; op++) {
        if (op % 200 == 0) {
            appetite = test_between(r, 20, 90);
            check_valid();
            check_metadata_list(count);
        }
        if (count + 16 < HOLDINGS && test_chance(r, appetite)) {
            count += take_something(r, holdings + count);
        } else if (count > 0) {
            uint32_t victim = test_below(r, count);
            give(&holdings[victim]);
            holdings[victim] = holdings[--count];
        }
        assert_int_equal(twin.pool.free_count, size - twin.held_count);
    }
    check_valid();
    while (count > 0)
        give(&holdings[--count]);
    check_valid();
    assert_int_equal(twin.pool.free_count, size);
    eun_block_pool_dispose(&twin.pool);
}

static void agrees_with_a_naive_allocator(void **state)
{
    (void)state;
    struct test_random r = test_random_start(2);
    static const uint32_t sizes[] = {0, 1, 23, 24, 25, 47, 48, 63, 64, 65, 88, 127, 128, 129, 1024};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        play(&r, sizes[i], 6000);
    for (uint32_t i = 0; i < 20; i++)
        play(&r, test_between(&r, 100, 1500), 4000);
    play(&r, 4096 + 64, 4000);
    play(&r, 4096 * 3 - 1, 3000);
}

static void agrees_at_the_largest_size(void **state)
{
    (void)state;
    struct test_random r = test_random_start(3);
    play(&r, EUN_BLOCK_POOL_MAX, 1200);
}

static void fill(uint32_t size)
{
    uint16_t id;
    start(size);
    while (take_blocks(1, &id))
        ;
    assert_int_equal(take_metadata(), EUN_BLOCK_NONE);
}

static void free_blocks(uint32_t id, uint32_t n)
{
    give(&(struct holding){.id = (uint16_t)id, .n = n});
}

/** A full bank in which one run becomes free, whichever of its blocks is the last to do so. */
static void finds_the_only_run(void **state)
{
    (void)state;
    struct test_random r = test_random_start(4);
    static const uint32_t sizes[] = {64, 300, 5000, EUN_BLOCK_POOL_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (uint32_t last = 0; last < EUN_BLOCK_POOL_METADATA; last++) {
            if (sizes[i] > 10000 && last % 23 != 0)
                continue;
            fill(sizes[i]);
            const uint32_t place = 25 * test_below(&r, (sizes[i] - 48) / 25 + 1) + 24;
            for (uint32_t at = 0; at + 24 <= place; at += 25)
                free_blocks(at, 23); /* holes that are one block short */
            if (last > 0)
                free_blocks(place, last);
            if (last < EUN_BLOCK_POOL_METADATA - 1)
                free_blocks(place + last + 1, EUN_BLOCK_POOL_METADATA - 1 - last);
            assert_int_equal(take_metadata(), EUN_BLOCK_NONE);
            free_blocks(place + last, 1);
            assert_int_equal(take_metadata(), place);
            check_valid();
            eun_block_pool_dispose(&twin.pool);
        }
    }
}

/** Blocks at the ends of two words of the map, with full words between them, are no run. */
static void runs_do_not_jump_over_full_words(void **state)
{
    (void)state;
    for (uint32_t gap = 1; gap < 70; gap += 34) {
        fill(64 * 80);
        free_blocks(64 * 5 + 44, 20);
        free_blocks(64 * (5 + gap + 1), 20);
        assert_int_equal(take_metadata(), EUN_BLOCK_NONE);
        assert_int_equal(take_run(24), EUN_BLOCK_NONE);
        free_blocks(64 * 5 + 40, 4);
        assert_int_equal(take_metadata(), 64 * 5 + 40);
        free_blocks(64 * (5 + gap) + 60, 4);
        assert_int_equal(take_run(24), 64 * (5 + gap) + 60);
        eun_block_pool_dispose(&twin.pool);
    }
}

static void set_bits(uint64_t *map, uint32_t id, uint32_t n)
{
    for (; n > 0; n--, id++)
        map[id / 64] |= UINT64_C(1) << id % 64;
}

/** Whatever a failure left in the levels of the maps: they are made anew. */
static void rebuild_returns_what_is_not_held(void **state)
{
    (void)state;
    start(200);
    uint16_t ids[10];
    uint16_t kept = take_metadata();
    uint16_t leaked = take_metadata();
    uint16_t chain = take_chain();
    uint16_t lost_chain = take_chain();
    assert_true(take_blocks(10, ids));
    uint64_t held[4] = {0};
    uint64_t metadata[4] = {0};
    set_bits(held, kept, EUN_BLOCK_POOL_METADATA);
    set_bits(metadata, kept, 1);
    set_bits(metadata, chain, 1);
    for (uint32_t i = 0; i < 4; i++)
        set_bits(held, ids[i], 1);
    uint16_t fragment = chain;
    for (uint32_t i = 0; i < EUN_BLOCK_POOL_FRAGMENTS; i++, fragment = twin.pool.block[fragment])
        set_bits(held, fragment, EUN_BLOCK_POOL_FRAGMENT);
    hold(leaked, EUN_BLOCK_POOL_METADATA, false);
    for (uint32_t i = 4; i < 10; i++)
        hold(ids[i], 1, false);
    fragment = lost_chain;
    for (uint32_t i = 0; i < EUN_BLOCK_POOL_FRAGMENTS; i++, fragment = twin.pool.block[fragment])
        hold(fragment, EUN_BLOCK_POOL_FRAGMENT, false);
    twin.pool.free_map.top = 0;
    twin.pool.free_map.words[0] ^= 5;
    twin.pool.metadata.top = 0;
    twin.pool.free_count = 3;
    assert_true(eun_block_pool_map_words(&twin.pool) <= 4);
    assert_int_equal(eun_block_pool_rebuild(&twin.pool, held, metadata),
                     EUN_BLOCK_POOL_METADATA + 6 + EUN_BLOCK_POOL_CHAIN);
    check_valid();
    assert_int_equal(eun_block_pool_next_metadata(&twin.pool, 0), kept);
    assert_int_equal(eun_block_pool_next_metadata(&twin.pool, kept + 1u), chain);
    assert_int_equal(eun_block_pool_next_metadata(&twin.pool, chain + 1u), EUN_BLOCK_NONE);
    assert_true(eun_block_pool_is_chain(&twin.pool, chain));
    assert_false(eun_block_pool_is_chain(&twin.pool, lost_chain));
    eun_block_pool_dispose(&twin.pool);
}

static void refuses_a_bank_that_ids_cannot_number(void **state)
{
    (void)state;
    struct eun_block_pool pool;
    assert_false(eun_block_pool_init(&pool, EUN_BLOCK_POOL_MAX + 1u));
    assert_true(eun_block_pool_init(&pool, EUN_BLOCK_POOL_MAX));
    eun_block_pool_dispose(&pool);
}

static void validate_notices_damage(void **state)
{
    (void)state;
    const char *reason = NULL;
    start(100);
    twin.pool.free_count--;
    assert_false(eun_block_pool_validate(&twin.pool, &reason));
    assert_non_null(reason);
    twin.pool.free_count++;
    twin.pool.run_floor = 30;
    assert_false(eun_block_pool_validate(&twin.pool, &reason));
    twin.pool.run_floor = 0;
    twin.pool.free_map.top = 0;
    assert_false(eun_block_pool_validate(&twin.pool, &reason));
    eun_block_pool_dispose(&twin.pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_naive_allocator),
        cmocka_unit_test(agrees_at_the_largest_size),
        cmocka_unit_test(finds_the_only_run),
        cmocka_unit_test(runs_do_not_jump_over_full_words),
        cmocka_unit_test(rebuild_returns_what_is_not_held),
        cmocka_unit_test(refuses_a_bank_that_ids_cannot_number),
        cmocka_unit_test(validate_notices_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
