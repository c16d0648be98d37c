/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_HD_BITMAP_H
#define EUNOMIA_HD_BITMAP_H

/**
 * The HD bitmap of one QP: which PSNs ahead of its cumulative point `expected` have arrived. Half
 * ring, half growing: blocks of 16 PSNs (8 in tests) rented from a bank of the block pool.
 *
 * Ring: `c` blocks over [expected, expected + c * B), B PSNs a block, at any bit alignment. An
 * arrival past the ring's end takes every block up to its own at the tail of the linear part, and
 * no bit that was mapped moves. From then on L0, the first PSN past the ring, stays where it is:
 * PSNs at and above it belong to the linear part, the ring only drains, and a ring block goes back
 * to the bank once no PSN in [expected, L0) maps to it. When `expected` reaches L0 the linear part
 * is the ring: a merge moves no data. A bitmap that holds nothing keeps its blocks as one empty
 * ring, which grows in place. Where growth would need a 17th block id, the bitmap is rewritten as a
 * plain ring, the one operation that copies bits ("compact").
 *
 * Positions are counted relative to `expected`, which every call gets from the caller, so no PSN is
 * stored, and 32-bit PSNs may wrap any number of times. In-order arrivals at a bitmap that holds
 * nothing do not change it.
 *
 * Last packets that lie ahead: one is kept inline in the metadata. Further ones go to the Last
 * plane, one run of blocks used as a bitmap indexed by PSN modulo its size (this window is at most
 * 256 PSNs), from the first of them on until nothing is held.
 *
 * An arrival that lies past what 16 blocks reach, where the cap allows it, turns the bitmap wide
 * until nothing is held: hd-wide.h.
 *
 * Stores follow one order, so that a failure between any two may leak a block and never share one:
 * mark the block held, name its holder, write its id, then count it; giving back is the reverse.
 * And none invents a packet: the tag says for which cumulative point the positions hold good. It is
 * wrong from before the first store of a change of shape until after the last, and the prefix moves
 * it before anything else. Who recovers (eun_reorder_recover()) drops a bitmap whose tag is not its
 * QP's cumulative point. A bit that is set in place is true at once and needs no tag.
 *
 * Source: Mahmood, Lu, Ghorbani, "Orderly Management of Packets in RDMA by Eunomia", arXiv
 * 2412.08540; where that leaves details open, the rules above are ours.
 */

#include "block-pool.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EUN_HD_BLOCK_IDS 16u   /**< block ids that metadata holds */
#define EUN_HD_NARROW_MAX 256u /**< PSNs that 16 blocks of 16 hold */
#define EUN_HD_CAP_MAX 4096u   /**< PSNs that a QP may hold ahead at most, in wide bitmaps */
#define EUN_HD_WIDE 0xFFu      /**< linear_blocks of a wide bitmap */

enum eun_hd_verdict {
    EUN_HD_ADVANCED,    /**< it was the expected PSN; the prefix moved by `advanced` */
    EUN_HD_HELD,        /**< ahead of the prefix, kept */
    EUN_HD_DUPLICATE,   /**< below the prefix, or kept before */
    EUN_HD_CAP,         /**< refused: at or past expected + cap */
    EUN_HD_NO_METADATA, /**< refused: the bank has no 24 consecutive free blocks */
    EUN_HD_NO_BLOCKS,   /**< refused: the bank has no room for bitmap or Last blocks */
};

struct eun_hd_outcome {
    enum eun_hd_verdict verdict;
    uint32_t advanced; /**< PSNs that the prefix moves */
    uint32_t lasts;    /**< how many of these end a message */
};

/**
 * The 48 bytes of metadata, 24 blocks of the bank: 16 block ids and 16 bytes of state. Every field
 * is at most 2 bytes wide, because a run of blocks may start at any even address.
 *
 * The ring's blocks come first in block[], then those of the linear part. An id is EUN_BLOCK_NONE
 * for a ring block that went back, and past the linear part.
 */
struct eun_hd_metadata {
    uint16_t block[EUN_HD_BLOCK_IDS];
    uint16_t owner_low;  /**< QP number, low 16 bits */
    uint8_t owner_high;  /**< QP number, high 8 bits */
    uint8_t generation;  /**< low 8 bits of the QP's generation */
    uint16_t tag;        /**< low bits of the cumulative point for which positions hold good; while
                            nothing is held the stamp of when that began, see eun_hd_stamp() */
    uint16_t last_plane; /**< first block of the Last plane, or EUN_BLOCK_NONE; wide: see there */
    uint16_t ring_psns;  /**< positions of the ring, blocks that went back included; wide: held */
    uint8_t head;        /**< position in the ring of the cumulative point */
    uint8_t ring_last;   /**< last PSN of the ring, L0 - 1 - expected; without an L0 the smaller of
                            ring_psns and 256 or the cap, - 1; 0 while nothing is held, and wide */
    uint8_t linear_blocks; /**< 0..15, or EUN_HD_WIDE */
    uint8_t held;          /**< PSNs that are held, 0..255; 1 in a wide bitmap */
    uint8_t has_inline;    /**< 1 where last_inline means something, else 0 */
    uint8_t last_inline;   /**< low 8 bits of the PSN of a Last packet that is held */
};

#ifdef __cplusplus
static_assert(sizeof(struct eun_hd_metadata) == 2 * EUN_BLOCK_POOL_METADATA, "48 bytes");
#else
_Static_assert(sizeof(struct eun_hd_metadata) == 2 * EUN_BLOCK_POOL_METADATA, "48 bytes");
#endif

/** Counters of an ordering layer since it was made; peaks are of simultaneous use. */
struct eun_reorder_stats {
    uint64_t alloc;          /**< allocations that succeeded; metadata, a block, a slab, a plane */
    uint64_t alloc_miss;     /**< arrivals refused for want of memory: the sum of the next two */
    uint64_t growth_refused; /**< of QPs with metadata: no blocks, or only the reserve is left */
    uint64_t metadata_refused; /**< of QPs without: no metadata, or no blocks for it */
    uint64_t fragmented;       /**< of these, with blocks enough but no run of 24 and no chain */
    uint64_t chain;            /**< metadata rented as a chain of fragments */
    uint64_t cap_hit;          /**< arrivals refused because they lay past the cap */
    uint64_t merge;            /**< linear part became the ring */
    uint64_t compact;          /**< bits were copied to make room for block ids */
    uint64_t widen;            /**< bits were copied into slabs, as a bitmap became wide */
    uint64_t reclaim;          /**< metadata given back after its idle epoch */
    uint64_t reclaim_early;    /**< metadata taken back before it, under pressure */
    uint32_t blocks_in_use;    /**< metadata, bitmap and Last blocks */
    uint32_t blocks_peak;
    uint32_t last_blocks; /**< Last blocks among blocks_in_use */
    uint32_t chains;      /**< chains that are rented now */
    uint32_t qps_open;
    uint32_t qps_active; /**< QPs that hold metadata now */
    uint32_t qps_active_peak;
};

/** One bank of the pool, and what the bitmaps in it have in common. */
struct eun_hd_bank {
    struct eun_block_pool pool;
    uint32_t cap;         /**< PSNs that a QP may hold ahead */
    uint32_t narrow;      /**< of these, by a bitmap that is not wide: at most 16 << block_shift */
    uint32_t block_shift; /**< log2 of the PSNs a block, 3 or 4 */
    uint32_t stamp_shift; /**< a stamp counts units of 2^stamp_shift ps */
    uint32_t reserve;     /**< free blocks that are left to QPs without metadata */
    uint32_t last_blocks; /**< blocks of a Last plane: a power of two, for `narrow` PSNs at least */
    bool chains;          /**< metadata may be a chain of fragments where no run is free */
    uint32_t idle;        /**< bitmaps with metadata that hold nothing */
    uint32_t next_victim; /**< block id at which the next search for an idle one starts */
    struct eun_reorder_stats *stats;
};

/** Who rents metadata. */
struct eun_hd_owner {
    uint32_t qp;        /**< 24 bits */
    uint8_t generation; /**< low 8 bits */
};

/**
 * A bank of `blocks` blocks without reserve and chains. False where memory is short. `cap` is
 * 1..EUN_HD_CAP_MAX, `block_shift` as above.
 */
bool eun_hd_bank_init(struct eun_hd_bank *bank, uint32_t blocks, uint32_t cap, uint32_t block_shift,
                      uint32_t stamp_shift, struct eun_reorder_stats *stats);
void eun_hd_bank_dispose(struct eun_hd_bank *bank);

/** The metadata, not a chain, that starts at block `id`. */
static inline struct eun_hd_metadata *eun_hd_metadata(const struct eun_hd_bank *bank, uint16_t id)
{
    return (struct eun_hd_metadata *)(void *)(bank->pool.block + id);
}

/** The metadata that starts at block `id`, to look at: in place, or a chain's, copied to `copy`. */
static inline const struct eun_hd_metadata *eun_hd_look(const struct eun_hd_bank *bank, uint16_t id,
                                                        struct eun_hd_metadata *copy)
{
    if (!eun_block_pool_is_chain(&bank->pool, id))
        return eun_hd_metadata(bank, id);
    eun_block_pool_load_chain(&bank->pool, id, (uint16_t *)(void *)copy);
    return copy;
}

static inline bool eun_hd_is_wide(const struct eun_hd_metadata *m)
{
    return m->linear_blocks == EUN_HD_WIDE;
}

/** PSNs that are held. */
static inline uint32_t eun_hd_held(const struct eun_hd_metadata *m)
{
    return eun_hd_is_wide(m) ? m->ring_psns : m->held;
}

static inline uint32_t eun_hd_owner_qp(const struct eun_hd_metadata *m)
{
    return m->owner_low | (uint32_t)m->owner_high << 16;
}

/** Time `now` (>= 0, ps) in units of 2^stamp_shift, cut to 16 bits. */
static inline uint16_t eun_hd_stamp(const struct eun_hd_bank *bank, int64_t now)
{
    return (uint16_t)((uint64_t)now >> bank->stamp_shift);
}

/**
 * Rents metadata and blocks for a QP whose first arrival ahead of its cumulative point lies `psn` -
 * `expected` = 1..cap - 1 PSNs ahead. Result: the metadata's block id; EUN_BLOCK_NONE where there
 * is no room, with NO_METADATA or NO_BLOCKS in `*verdict` (else HELD).
 */
uint16_t eun_hd_create(struct eun_hd_bank *bank, struct eun_hd_owner owner, uint32_t expected,
                       uint32_t psn, bool last, enum eun_hd_verdict *verdict);

/** Gives back everything that the bitmap with metadata `id` holds, the metadata included. */
void eun_hd_destroy(struct eun_hd_bank *bank, uint16_t id);

/** Position in the ring of the PSN `ahead` of the cumulative point, 0..ring_last. */
static inline uint32_t eun_hd_ring_position(const struct eun_hd_metadata *m, uint32_t ahead)
{
    uint32_t position = m->head + ahead;
    uint32_t wrapped = position - m->ring_psns;
    return position < m->ring_psns ? position : wrapped;
}

/**
 * The short way for a packet `ahead` of the cumulative point that does not end a message: it lies
 * in the ring of a bitmap that holds something already, with blocks of 16. `blocks` are those of
 * the bank. Result: HELD or DUPLICATE; EUN_HD_CAP where eun_hd_hold() must look.
 */
static inline enum eun_hd_verdict eun_hd_hold_in_ring(uint16_t *blocks, struct eun_hd_metadata *m,
                                                      uint32_t ahead)
{
    if (ahead > m->ring_last)
        return EUN_HD_CAP;
    uint32_t position = eun_hd_ring_position(m, ahead);
    uint16_t *block = blocks + m->block[position / 16u];
    uint32_t bit = position % 16u;
    if ((*block >> bit & 1u) != 0)
        return EUN_HD_DUPLICATE;
    *block = (uint16_t)(*block | 1u << bit);
    m->held++;
    return EUN_HD_HELD;
}

/**
 * Packet `psn`, not the expected one, arrived at the bitmap with metadata `m`; `last` says that it
 * ends a message. Where the verdict is a refusal, nothing has changed. Counts no refusal.
 */
enum eun_hd_verdict eun_hd_hold(struct eun_hd_bank *bank, struct eun_hd_metadata *m,
                                uint32_t expected, uint32_t psn, bool last);

/** As eun_hd_hold() and eun_hd_advance(), for metadata that is a chain, with `id` of its head. */
enum eun_hd_verdict eun_hd_hold_chain(struct eun_hd_bank *bank, uint16_t id, uint32_t expected,
                                      uint32_t psn, bool last);
uint64_t eun_hd_advance_chain(struct eun_hd_bank *bank, uint16_t id, uint32_t expected,
                              int64_t now);

/**
 * The expected packet arrived: takes what is held right behind it. Result: by how much the prefix
 * moves | how many of these, without the packet itself, end a message << 32. (Structs of three
 * words are returned through memory, which takes as long as the rest.)
 */
uint64_t eun_hd_advance(struct eun_hd_bank *bank, struct eun_hd_metadata *m, uint32_t expected,
                        int64_t now);

/** Is `psn` held? `psn` at or past `expected`. */
bool eun_hd_holds(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m,
                  uint32_t expected, uint32_t psn);

/** Is the Last flag of a message set for `psn`, which is held? */
bool eun_hd_is_last(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m, uint32_t psn);

/**
 * Block id and bit at which `psn` is kept in a bitmap that is not wide. False where no block is
 * mapped for it.
 */
bool eun_hd_locate(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m,
                   uint32_t expected, uint32_t psn, uint16_t *block, uint32_t *bit);

/** Blocks that the ring was made of; some may have gone back. */
static inline uint32_t eun_hd_ring_blocks(const struct eun_hd_bank *bank,
                                          const struct eun_hd_metadata *m)
{
    return (uint32_t)m->ring_psns >> bank->block_shift;
}

/** Blocks that the bitmap with metadata `m` holds: bitmap blocks, and those for Last packets. */
uint32_t eun_hd_bitmap_blocks(const struct eun_hd_metadata *m);
uint32_t eun_hd_last_blocks(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m);

/**
 * Marks every block that the bitmap with metadata `id` holds in `held` (bit id % 64 of word id /
 * 64). False, with `held` as before, where one is out of range, free, or marked already. Takes
 * whatever a failure or an outside hand left in the bank.
 */
bool eun_hd_mark_blocks(const struct eun_hd_bank *bank, uint16_t id, uint64_t *held);

/** Takes those marks back. */
void eun_hd_unmark_blocks(const struct eun_hd_bank *bank, uint16_t id, uint64_t *held);

/** Makes the count of PSNs held that of the bits: a failure may fall between the two. */
void eun_hd_recount(const struct eun_hd_bank *bank, struct eun_hd_metadata *m);

/** Checks what can be known of `m` alone. NULL where all holds, else what does not. */
const char *eun_hd_fault(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m);

#ifdef __cplusplus
}
#endif
#endif
