/* SPDX-License-Identifier: GPL-2.0-only */
#include "block-pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define WORD_BITS 64u
#define CACHE_LINE 64u
#define CHAIN_PAYLOAD (EUN_BLOCK_POOL_FRAGMENT - 1u)

static uint32_t words_for(uint32_t bits)
{
    return (bits + WORD_BITS - 1u) / WORD_BITS;
}

static uint32_t lowest_bit(uint64_t word)
{
    return (uint32_t)__builtin_ctzll(word);
}

static uint32_t highest_bit(uint64_t word)
{
    return WORD_BITS - 1u - (uint32_t)__builtin_clzll(word);
}

/** `n` ones from bit 0 on, n 1..64. */
static uint64_t ones(uint32_t n)
{
    return ~UINT64_C(0) >> (WORD_BITS - n);
}

static bool map_has(const struct eun_block_map *map, uint32_t id)
{
    return (map->bits[id / WORD_BITS] >> (id % WORD_BITS) & 1u) != 0;
}

static void map_add_bits(struct eun_block_map *map, uint32_t word, uint64_t bits)
{
    if (bits == 0)
        return;
    map->bits[word] |= bits;
    map->words[word / WORD_BITS] |= UINT64_C(1) << (word % WORD_BITS);
    map->top |= UINT64_C(1) << (word / WORD_BITS);
}

static void map_remove_bits(struct eun_block_map *map, uint32_t word, uint64_t bits)
{
    map->bits[word] &= ~bits;
    if (map->bits[word] != 0)
        return;
    map->words[word / WORD_BITS] &= ~(UINT64_C(1) << (word % WORD_BITS));
    if (map->words[word / WORD_BITS] == 0)
        map->top &= ~(UINT64_C(1) << (word / WORD_BITS));
}

/** Adds or removes the `n` ids from `id` on; n 1..64, so they lie in two words at most. */
static void map_change(struct eun_block_map *map, uint32_t id, uint32_t n,
                       void (*change)(struct eun_block_map *, uint32_t, uint64_t))
{
    uint32_t shift = id % WORD_BITS;
    change(map, id / WORD_BITS, ones(n) << shift);
    if (shift + n > WORD_BITS)
        change(map, id / WORD_BITS + 1u, ones(n) >> (WORD_BITS - shift));
}

/** First word at or above `word` that is not zero; UINT32_MAX where there is none. */
static uint32_t map_next_word(const struct eun_block_map *map, uint32_t word)
{
    uint32_t group = word / WORD_BITS;
    uint64_t groups = map->top >> group;
    if ((groups & 1u) != 0) {
        uint64_t rest = map->words[group] & ~UINT64_C(0) << (word % WORD_BITS);
        if (rest != 0)
            return group * WORD_BITS + lowest_bit(rest);
    }
    uint64_t rest = (groups & ~UINT64_C(1)) << group;
    if (rest == 0)
        return UINT32_MAX;
    group = lowest_bit(rest);
    return group * WORD_BITS + lowest_bit(map->words[group]);
}

/** Last word at or below `word` that is not zero; UINT32_MAX where there is none. */
static uint32_t map_previous_word(const struct eun_block_map *map, uint32_t word)
{
    uint32_t group = word / WORD_BITS;
    uint64_t rest = map->words[group] & ones(word % WORD_BITS + 1u);
    if (rest != 0)
        return group * WORD_BITS + highest_bit(rest);
    rest = group > 0 ? map->top & ones(group) : 0;
    if (rest == 0)
        return UINT32_MAX;
    group = highest_bit(rest);
    return group * WORD_BITS + highest_bit(map->words[group]);
}

/** Bits at which `n` ones in a row start within `word`. */
static uint64_t run_starts(uint64_t word, uint32_t n)
{
    for (uint32_t length = 1; length < n && word != 0;) {
        uint32_t step = length < n - length ? length : n - length;
        word &= word >> step;
        length += step;
    }
    return word;
}

/** Lowest run of `n` ids that starts at or above `from`; EUN_BLOCK_NONE where there is none. */
static uint32_t map_lowest_run(const struct eun_block_map *map, uint32_t from, uint32_t n)
{
    uint32_t carry = 0; /* ids in a row at the end of the word below */
    uint32_t below = UINT32_MAX;
    for (uint32_t word = map_next_word(map, from / WORD_BITS); word != UINT32_MAX;
         below = word, word = map_next_word(map, word + 1u)) {
        uint64_t bits = map->bits[word];
        if (word == from / WORD_BITS)
            bits &= ~UINT64_C(0) << (from % WORD_BITS);
        if (word != below + 1u)
            carry = 0;
        uint32_t low = bits == ~UINT64_C(0) ? WORD_BITS : lowest_bit(~bits);
        if (carry > 0 && carry + low >= n)
            return word * WORD_BITS - carry;
        uint64_t starts = run_starts(bits, n);
        if (starts != 0)
            return word * WORD_BITS + lowest_bit(starts);
        carry = low == WORD_BITS ? carry + WORD_BITS : WORD_BITS - 1u - highest_bit(~bits);
    }
    return EUN_BLOCK_NONE;
}

/** Highest run of `n` ids below `size`; EUN_BLOCK_NONE where there is none. */
static uint32_t map_highest_run(const struct eun_block_map *map, uint32_t size, uint32_t n)
{
    uint32_t carry = 0; /* ids in a row at the start of the word above */
    uint32_t above = UINT32_MAX;
    for (uint32_t word = map_previous_word(map, (size - 1u) / WORD_BITS); word != UINT32_MAX;
         above = word, word = word > 0 ? map_previous_word(map, word - 1u) : UINT32_MAX) {
        uint64_t bits = map->bits[word];
        if (word + 1u != above)
            carry = 0;
        uint32_t high = bits == ~UINT64_C(0) ? WORD_BITS : WORD_BITS - 1u - highest_bit(~bits);
        if (carry > 0 && carry + high >= n)
            return (word + 1u) * WORD_BITS + carry - n;
        uint64_t starts = run_starts(bits, n);
        if (starts != 0)
            return word * WORD_BITS + highest_bit(starts);
        carry = high == WORD_BITS ? carry + WORD_BITS : lowest_bit(~bits);
    }
    return EUN_BLOCK_NONE;
}

static bool map_init(struct eun_block_map *map, uint32_t words)
{
    map->bits = calloc((size_t)words + words_for(words), sizeof *map->bits);
    map->words = map->bits == NULL ? NULL : map->bits + words;
    map->top = 0;
    return map->bits != NULL;
}

uint32_t eun_block_pool_map_words(const struct eun_block_pool *pool)
{
    return pool->size / WORD_BITS + 1u; /* never 0, so that an empty bank has its arrays, too */
}

size_t eun_block_pool_block_bytes(const struct eun_block_pool *pool)
{
    size_t bytes = pool->size * sizeof *pool->block;
    return (bytes / CACHE_LINE + 1u) * CACHE_LINE;
}

size_t eun_block_pool_control_bytes(const struct eun_block_pool *pool)
{
    uint32_t words = eun_block_pool_map_words(pool);
    return 3u * (words + words_for(words)) * sizeof(uint64_t);
}

bool eun_block_pool_init(struct eun_block_pool *pool, uint32_t size)
{
    *pool = (struct eun_block_pool){.size = size, .free_count = size};
    if (size > EUN_BLOCK_POOL_MAX)
        return false;
    uint32_t words = eun_block_pool_map_words(pool);
    pool->block = aligned_alloc(CACHE_LINE, eun_block_pool_block_bytes(pool));
    bool have_free = map_init(&pool->free_map, words);
    bool have_metadata = map_init(&pool->metadata, words);
    bool have_chained = map_init(&pool->chained, words);
    if (pool->block == NULL || !have_free || !have_metadata || !have_chained) {
        eun_block_pool_dispose(pool);
        return false;
    }
    for (uint32_t id = 0; id < size; id += WORD_BITS)
        map_add_bits(&pool->free_map, id / WORD_BITS,
                     ones(size - id < WORD_BITS ? size - id : WORD_BITS));
    return true;
}

void eun_block_pool_dispose(struct eun_block_pool *pool)
{
    free(pool->block);
    free(pool->free_map.bits);
    free(pool->metadata.bits);
    free(pool->chained.bits);
    *pool = (struct eun_block_pool){0};
}

static void take(struct eun_block_pool *pool, uint32_t id, uint32_t n)
{
    map_change(&pool->free_map, id, n, map_remove_bits);
    pool->free_count -= n;
}

uint16_t eun_block_pool_take_metadata(struct eun_block_pool *pool)
{
    if (pool->free_count < EUN_BLOCK_POOL_METADATA || pool->run_floor >= pool->size)
        return EUN_BLOCK_NONE;
    uint32_t id = map_lowest_run(&pool->free_map, pool->run_floor, EUN_BLOCK_POOL_METADATA);
    if (id == EUN_BLOCK_NONE) {
        pool->run_floor = pool->size;
        return EUN_BLOCK_NONE;
    }
    pool->run_floor = id + EUN_BLOCK_POOL_METADATA;
    take(pool, id, EUN_BLOCK_POOL_METADATA);
    map_change(&pool->metadata, id, 1, map_add_bits);
    return (uint16_t)id;
}

uint16_t eun_block_pool_take_run(struct eun_block_pool *pool, uint32_t n)
{
    assert(n >= 1 && n <= WORD_BITS);
    if (pool->free_count < n)
        return EUN_BLOCK_NONE;
    uint32_t id = map_highest_run(&pool->free_map, pool->size, n);
    if (id != EUN_BLOCK_NONE)
        take(pool, id, n);
    return (uint16_t)id;
}

bool eun_block_pool_take_blocks(struct eun_block_pool *pool, uint32_t n, uint16_t *ids)
{
    if (pool->free_count < n)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const struct eun_block_map *map = &pool->free_map;
        uint32_t group = highest_bit(map->top);
        uint32_t word = group * WORD_BITS + highest_bit(map->words[group]);
        uint32_t id = word * WORD_BITS + highest_bit(map->bits[word]);
        take(pool, id, 1);
        ids[i] = (uint16_t)id;
    }
    return true;
}

void eun_block_pool_give(struct eun_block_pool *pool, uint16_t id, uint32_t n)
{
    assert(n >= 1 && n <= WORD_BITS && id + n <= pool->size);
    assert(!map_has(&pool->free_map, id) && !map_has(&pool->free_map, id + n - 1u));
    map_change(&pool->free_map, id, n, map_add_bits);
    pool->free_count += n;
    /* A run that these blocks complete starts at most 23 below the first of them. */
    uint32_t lowest = id < EUN_BLOCK_POOL_METADATA ? 0 : id - EUN_BLOCK_POOL_METADATA + 1u;
    if (pool->run_floor > lowest)
        pool->run_floor = lowest;
}

uint16_t eun_block_pool_take_chain(struct eun_block_pool *pool)
{
    if (pool->free_count < EUN_BLOCK_POOL_CHAIN)
        return EUN_BLOCK_NONE;
    uint16_t head = EUN_BLOCK_NONE;
    uint32_t taken = 0;
    while (taken < EUN_BLOCK_POOL_FRAGMENTS) {
        uint16_t id = eun_block_pool_take_run(pool, EUN_BLOCK_POOL_FRAGMENT);
        if (id == EUN_BLOCK_NONE)
            break;
        pool->block[id] = head;
        head = id;
        taken++;
    }
    if (taken == EUN_BLOCK_POOL_FRAGMENTS) {
        map_change(&pool->chained, head, 1, map_add_bits);
        map_change(&pool->metadata, head, 1, map_add_bits);
        return head;
    }
    while (head != EUN_BLOCK_NONE) {
        uint16_t next = pool->block[head];
        eun_block_pool_give(pool, head, EUN_BLOCK_POOL_FRAGMENT);
        head = next;
    }
    return EUN_BLOCK_NONE;
}

void eun_block_pool_give_metadata(struct eun_block_pool *pool, uint16_t id)
{
    assert(map_has(&pool->metadata, id));
    bool chained = eun_block_pool_is_chain(pool, id);
    map_change(&pool->metadata, id, 1, map_remove_bits);
    if (!chained) {
        eun_block_pool_give(pool, id, EUN_BLOCK_POOL_METADATA);
        return;
    }
    map_change(&pool->chained, id, 1, map_remove_bits);
    for (uint32_t i = 0; i < EUN_BLOCK_POOL_FRAGMENTS; i++) {
        uint16_t next = pool->block[id];
        eun_block_pool_give(pool, id, EUN_BLOCK_POOL_FRAGMENT);
        id = next;
    }
}

bool eun_block_pool_chain_is_sound(const struct eun_block_pool *pool, uint16_t id)
{
    for (uint32_t i = 0; i < EUN_BLOCK_POOL_FRAGMENTS; i++, id = pool->block[id])
        if (id + EUN_BLOCK_POOL_FRAGMENT > pool->size)
            return false;
    return true;
}

void eun_block_pool_load_chain(const struct eun_block_pool *pool, uint16_t id, uint16_t *metadata)
{
    for (uint32_t i = 0; i < EUN_BLOCK_POOL_METADATA; i += CHAIN_PAYLOAD, id = pool->block[id])
        memcpy(metadata + i, pool->block + id + 1, CHAIN_PAYLOAD * sizeof *metadata);
}

void eun_block_pool_store_chain(struct eun_block_pool *pool, uint16_t id, const uint16_t *metadata)
{
    for (uint32_t i = 0; i < EUN_BLOCK_POOL_METADATA; i += CHAIN_PAYLOAD, id = pool->block[id])
        memcpy(pool->block + id + 1, metadata + i, CHAIN_PAYLOAD * sizeof *metadata);
}

uint16_t eun_block_pool_chain_block(const struct eun_block_pool *pool, uint16_t id, uint32_t index)
{
    for (; index >= CHAIN_PAYLOAD; index -= CHAIN_PAYLOAD)
        id = pool->block[id];
    return (uint16_t)(id + 1u + index);
}

uint16_t eun_block_pool_next_metadata(const struct eun_block_pool *pool, uint32_t from)
{
    if (from >= pool->size)
        return EUN_BLOCK_NONE;
    uint32_t word = from / WORD_BITS;
    uint64_t rest = pool->metadata.bits[word] & ~UINT64_C(0) << (from % WORD_BITS);
    if (rest != 0)
        return (uint16_t)(word * WORD_BITS + lowest_bit(rest));
    word = map_next_word(&pool->metadata, word + 1u);
    if (word == UINT32_MAX)
        return EUN_BLOCK_NONE;
    return (uint16_t)(word * WORD_BITS + lowest_bit(pool->metadata.bits[word]));
}

bool eun_block_pool_is_metadata(const struct eun_block_pool *pool, uint32_t id)
{
    return id < pool->size && map_has(&pool->metadata, id);
}

bool eun_block_pool_is_free(const struct eun_block_pool *pool, uint32_t id)
{
    return map_has(&pool->free_map, id);
}

/** Makes the map hold the ids of `bits`, cut to those below `size`. Result: how many these are. */
static uint32_t map_rebuild(struct eun_block_map *map, const uint64_t *bits, uint64_t flip,
                            uint32_t size)
{
    uint32_t count = 0;
    uint32_t words = size / WORD_BITS + 1u;
    map->top = 0;
    for (uint32_t group = 0; group < words_for(words); group++)
        map->words[group] = 0;
    for (uint32_t word = 0; word < words; word++) {
        uint32_t left = size - word * WORD_BITS;
        uint64_t kept = left == 0 ? 0 : (bits[word] ^ flip) & ones(left < 64u ? left : 64u);
        map->bits[word] = 0;
        map_add_bits(map, word, kept);
        count += (uint32_t)__builtin_popcountll(kept);
    }
    return count;
}

uint32_t eun_block_pool_rebuild(struct eun_block_pool *pool, const uint64_t *held,
                                const uint64_t *metadata)
{
    uint32_t freed = 0;
    for (uint32_t word = 0; word < eun_block_pool_map_words(pool); word++) {
        freed += (uint32_t)__builtin_popcountll(~held[word] & ~pool->free_map.bits[word]);
        pool->chained.bits[word] &= metadata[word];
    }
    freed -= eun_block_pool_map_words(pool) * WORD_BITS - pool->size; /* ids past the end */
    map_rebuild(&pool->chained, pool->chained.bits, 0, pool->size);
    map_rebuild(&pool->metadata, metadata, 0, pool->size);
    pool->free_count = map_rebuild(&pool->free_map, held, ~UINT64_C(0), pool->size);
    pool->run_floor = 0;
    return freed;
}

/** Do the upper levels of the map say what the lower ones hold? */
static bool map_consistent(const struct eun_block_map *map, uint32_t words)
{
    uint64_t top = 0;
    for (uint32_t group = 0; group < words_for(words); group++) {
        uint64_t expected = 0;
        for (uint32_t w = group * WORD_BITS; w < words && w < (group + 1u) * WORD_BITS; w++)
            expected |= (uint64_t)(map->bits[w] != 0) << (w % WORD_BITS);
        if (map->words[group] != expected)
            return false;
        top |= (uint64_t)(expected != 0) << group;
    }
    return map->top == top;
}

static const char *pool_fault(const struct eun_block_pool *pool)
{
    uint32_t words = eun_block_pool_map_words(pool);
    if (!map_consistent(&pool->free_map, words) || !map_consistent(&pool->metadata, words) ||
        !map_consistent(&pool->chained, words))
        return "a level of a block map contradicts the one below";
    uint32_t free_count = 0;
    uint32_t run = 0;
    for (uint32_t id = 0; id < words * WORD_BITS; id++) {
        bool is_free = map_has(&pool->free_map, id);
        bool is_metadata = map_has(&pool->metadata, id);
        if (id >= pool->size && (is_free || is_metadata))
            return "a block past the pool's end is in a map";
        if (is_free && is_metadata)
            return "metadata starts at a free block";
        if (map_has(&pool->chained, id) && !is_metadata)
            return "a chain is no metadata";
        free_count += is_free;
        run = is_free ? run + 1u : 0;
        if (run >= EUN_BLOCK_POOL_METADATA && id + 1u - EUN_BLOCK_POOL_METADATA < pool->run_floor)
            return "a free run lies below the floor of the search";
    }
    return free_count == pool->free_count ? NULL : "the count of free blocks is wrong";
}

bool eun_block_pool_validate(const struct eun_block_pool *pool, const char **reason)
{
    *reason = pool_fault(pool);
    return *reason == NULL;
}
