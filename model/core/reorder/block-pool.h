/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_BLOCK_POOL_H
#define EUNOMIA_BLOCK_POOL_H

/**
 * One bank of the NIC's ordering memory: an array of 2-byte blocks and a map of the free ones.
 *
 * Metadata, a run of 24 blocks, comes from the low end; single blocks and short runs come from the
 * high end, so that the two kinds do not splinter each other's room. Source of the block size, the
 * 24 and the 48 bytes that they make: Mahmood, Lu, Ghorbani, arXiv 2412.08540. The free map is a
 * tree of 64-way bitmaps: taking or giving back a block costs three words, whatever the size.
 *
 * Where no 24 free blocks lie in a row, metadata can be a chain of 8 fragments of 4 blocks: a link
 * to the next fragment and 3 blocks of metadata each, so it takes 32 blocks. (The paper leaves that
 * case open.) Chains are copied out to be worked on and copied back: they are the slow exception.
 *
 * Guarantee: a block is free or has one holder, and a request is refused exactly where the bank
 * has no such runs (or not that many blocks) at all. A refused request changes nothing.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EUN_BLOCK_NONE 0xFFFFu      /**< no block has this id */
#define EUN_BLOCK_POOL_MAX 65534u   /**< most blocks of a bank */
#define EUN_BLOCK_POOL_METADATA 24u /**< consecutive blocks of one metadata, 48 bytes */
#define EUN_BLOCK_POOL_FRAGMENT 4u  /**< blocks of a fragment: a link and 3 of metadata */
#define EUN_BLOCK_POOL_FRAGMENTS 8u /**< fragments of one metadata */
#define EUN_BLOCK_POOL_CHAIN 32u    /**< blocks of all of them */

/** A set of block ids, searched from either end. */
struct eun_block_map {
    uint64_t *bits;  /**< bit id % 64 of word id / 64: the id is in the set */
    uint64_t *words; /**< bit w % 64 of word w / 64: bits[w] is not zero */
    uint64_t top;    /**< bit s: words[s] is not zero */
};

/** The caller holds it. Fields are for reading; functions below change them. */
struct eun_block_pool {
    uint16_t *block;               /**< the blocks, by id; contents are the holders' business */
    struct eun_block_map free_map; /**< free blocks */
    struct eun_block_map metadata; /**< first blocks of metadata that is held, runs and chains */
    struct eun_block_map chained;  /**< of these, the chains */
    uint32_t size;                 /**< blocks, 0..EUN_BLOCK_POOL_MAX */
    uint32_t free_count;           /**< blocks that are free */
    uint32_t run_floor;            /**< no free metadata run starts below this id */
};

/** All `size` blocks free. False where `size` is out of range or memory is short. */
bool eun_block_pool_init(struct eun_block_pool *pool, uint32_t size);

/** Frees the arrays; `pool` may be initialised again. */
void eun_block_pool_dispose(struct eun_block_pool *pool);

/** Takes the lowest run of 24 free blocks. Result: its first id, or EUN_BLOCK_NONE. */
uint16_t eun_block_pool_take_metadata(struct eun_block_pool *pool);

/** Takes the highest run of `n` free blocks, 1..64. Result: its first id, or EUN_BLOCK_NONE. */
uint16_t eun_block_pool_take_run(struct eun_block_pool *pool, uint32_t n);

/** Takes the `n` highest free blocks into `ids`, all of them or none. True where all. */
bool eun_block_pool_take_blocks(struct eun_block_pool *pool, uint32_t n, uint16_t *ids);

/** Gives back the `n` (1..64) held blocks from `id` on. */
void eun_block_pool_give(struct eun_block_pool *pool, uint16_t id, uint32_t n);

/** Takes the fragments of a chain, highest runs first. Result: id of the first, or
 * EUN_BLOCK_NONE. */
uint16_t eun_block_pool_take_chain(struct eun_block_pool *pool);

/** Gives back metadata, a run or a chain. */
void eun_block_pool_give_metadata(struct eun_block_pool *pool, uint16_t id);

/** Does metadata that is held start at block `id`, any number? */
bool eun_block_pool_is_metadata(const struct eun_block_pool *pool, uint32_t id);

/** Is the metadata that starts at block `id` a chain? */
static inline bool eun_block_pool_is_chain(const struct eun_block_pool *pool, uint16_t id)
{
    return pool->chained.top != 0 && (pool->chained.bits[id / 64u] >> (id % 64u) & 1u) != 0;
}

/** Do the links of that chain stay within the bank? Something else may have written to them. */
bool eun_block_pool_chain_is_sound(const struct eun_block_pool *pool, uint16_t id);

/** Copies the 24 blocks of metadata out of the chain that starts at block `id`, or into it. */
void eun_block_pool_load_chain(const struct eun_block_pool *pool, uint16_t id, uint16_t *metadata);
void eun_block_pool_store_chain(struct eun_block_pool *pool, uint16_t id, const uint16_t *metadata);

/** The block in which the metadata's block `index` (0..23) is kept; `id` as above. */
uint16_t eun_block_pool_chain_block(const struct eun_block_pool *pool, uint16_t id, uint32_t index);

/** First id, at or above `from`, of metadata that is held; EUN_BLOCK_NONE where there is none. */
uint16_t eun_block_pool_next_metadata(const struct eun_block_pool *pool, uint32_t from);

/** Is block `id` free? `id` below the size. */
bool eun_block_pool_is_free(const struct eun_block_pool *pool, uint32_t id);

/**
 * Rebuilds all maps, whatever a failure left of them: block `id` is held exactly where bit id % 64
 * of held[id / 64] is set, metadata starts there where the same bit of `metadata` is, and is a
 * chain where it was one. Result: blocks that became free.
 */
uint32_t eun_block_pool_rebuild(struct eun_block_pool *pool, const uint64_t *held,
                                const uint64_t *metadata);

/** Words of 64 bits that a bitmap over all ids of the bank has. */
uint32_t eun_block_pool_map_words(const struct eun_block_pool *pool);

/** Bytes that the bank obtained from the allocator: its blocks, and what it keeps beside them. */
size_t eun_block_pool_block_bytes(const struct eun_block_pool *pool);
size_t eun_block_pool_control_bytes(const struct eun_block_pool *pool);

/** True where every invariant holds; else `*reason` names the first that does not. Slow. */
bool eun_block_pool_validate(const struct eun_block_pool *pool, const char **reason);

#ifdef __cplusplus
}
#endif
#endif
