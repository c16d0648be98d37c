/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_REORDER_H
#define EUNOMIA_REORDER_H

/**
 * The ordering layer of one NIC: which PSNs ahead of each QP's cumulative point have arrived.
 *
 * A QP that is in order costs 4 resident bytes. The first arrival ahead of the cumulative point
 * rents 24 consecutive blocks (48 bytes of metadata) and the bitmap blocks that it needs from the
 * NIC's shared pool; they go back after an idle epoch without reordering, or when the QP closes.
 * Source: Mahmood, Lu, Ghorbani, "Orderly Management of Packets in RDMA by Eunomia", arXiv
 * 2412.08540.
 *
 * Guarantee, for every QP and at every moment: bit(p) is set exactly for the PSNs p in [expected,
 * expected + cap) that arrived, and no block has two owners.
 *
 * The layer owns its memory; nothing here reads a clock: `now` comes in, in picoseconds. It is not
 * negative and never goes back.
 */

#include "block-pool.h"
#include "hd-bitmap.h"

#ifdef __cplusplus
extern "C" {
#endif

#define EUN_REORDER_QP_MAX 0xFFFFFFu /**< largest QP number; InfiniBand's have 24 bits (BTH) */

struct eun_reorder_config {
    uint32_t blocks;   /**< blocks of the pool, all banks together; 0 is legal (nothing fits) */
    uint32_t banks;    /**< QPs are hashed to one; a bank has at most 65,534 blocks */
    uint32_t cap_psns; /**< PSNs of a QP's window: one may be held up to that - 1 ahead, 1..4096 */
    uint32_t block_bits;   /**< PSNs a block: 8 (tests) or 16 */
    int64_t idle_epoch_ps; /**< time without reordering after which metadata goes back, >= 0 */
    uint32_t reserve;      /**< free blocks, of `blocks`, that QPs with metadata may not take: they
                                are for QPs that begin to reorder; spread over the banks */
    bool chains;           /**< where no 24 free blocks lie in a row, metadata may be a chain */
};

/** Bytes obtained from the allocator, by purpose. Their sum is `total`. */
struct eun_reorder_memory {
    uint64_t state;   /**< the published model: 4 an open QP, 48 an active one, 2 a bitmap block */
    uint64_t last;    /**< Last flags */
    uint64_t control; /**< free and metadata maps, links of chains, records of banks and layer */
    uint64_t unused;  /**< free blocks, and resident entries that no open QP has */
    uint64_t total;
};

/** What a QP holds in the ordering layer, for tests and displays. */
struct eun_reorder_view {
    bool active;            /**< holds metadata */
    bool wide;              /**< its bitmap is made of slabs: see hd-wide.h */
    bool chain;             /**< its metadata is a chain of fragments */
    uint32_t held;          /**< PSNs ahead of the cumulative point */
    uint32_t ring_blocks;   /**< blocks of the ring, those that went back included */
    uint32_t linear_blocks; /**< blocks of the linear part */
    uint32_t bitmap_blocks; /**< blocks of both that are held */
    uint32_t last_blocks;   /**< blocks for Last flags */
};

/** What a QP has while it is gap-free: 4 bytes. */
struct eun_reorder_resident {
    uint16_t metadata;   /**< first block of its metadata in its bank, or EUN_BLOCK_NONE */
    uint16_t generation; /**< odd while the QP is open; opening and closing count it up */
};

/** First field of the layer; for the inline functions below. */
struct eun_reorder_front {
    struct eun_reorder_resident *resident; /**< by QP number */
    uint16_t *only_blocks; /**< blocks of the only bank, if they are of 16 PSNs and no metadata is a
                                chain; else NULL: the long ways serve all */
    struct eun_hd_bank *banks;
    uint32_t bank_count;
};

struct eun_reorder;

/** Result: NULL where a value is out of range or memory is short. Free with eun_reorder_free(). */
struct eun_reorder *eun_reorder_new(const struct eun_reorder_config *config);
void eun_reorder_free(struct eun_reorder *layer);

/**
 * Makes QP number `qp` known, gap-free; an open one forgets what it holds. QP numbers are small
 * integers, reused after close; the resident table grows to the largest one. False where `qp` is
 * above EUN_REORDER_QP_MAX or memory is short.
 */
bool eun_reorder_open(struct eun_reorder *layer, uint32_t qp);

/** Gives back everything that `qp` holds, at once. No effect on a QP that is not open. */
void eun_reorder_close(struct eun_reorder *layer, uint32_t qp);

/** The bank that `qp` is hashed to. */
static inline struct eun_hd_bank *eun_reorder_bank_of(const struct eun_reorder_front *front,
                                                      uint32_t qp)
{
    if (front->bank_count == 1)
        return front->banks;
    /* Fibonacci hashing (Knuth, TAOCP vol. 3, 6.4) spreads neighbouring numbers evenly. */
    return front->banks + ((uint64_t)(qp * 2654435769u) * front->bank_count >> 32);
}

/** The long ways of eun_reorder_arrive(): for any packet but the expected one, and for that. */
enum eun_hd_verdict eun_reorder_hold(struct eun_reorder *layer, uint32_t qp, uint32_t expected,
                                     uint32_t psn, bool last);
uint64_t eun_reorder_advance(struct eun_reorder *layer, uint32_t qp, uint32_t expected,
                             int64_t now);

/**
 * Packet `psn` arrived on `qp`, which is open and whose cumulative point (next PSN expected) is
 * `expected`. `last` says that it ends a message. The caller adds `advanced` to its cumulative
 * point. Where the verdict is a refusal, the QP's state is as before.
 *
 * Always inlined: a function of its own would return the outcome, three words, through memory,
 * which takes as long as the rest.
 */
static inline __attribute__((always_inline)) struct eun_hd_outcome
eun_reorder_arrive(struct eun_reorder *layer, uint32_t qp, uint32_t expected, uint32_t psn,
                   bool last, int64_t now)
{
    const struct eun_reorder_front *front = (const struct eun_reorder_front *)(const void *)layer;
    const uint16_t id = front->resident[qp].metadata;
    uint16_t *blocks = front->only_blocks;
    struct eun_hd_outcome outcome = {EUN_HD_ADVANCED, 1, last};
    if (psn == expected) {
        if (id == EUN_BLOCK_NONE)
            return outcome;
        uint64_t moved;
        if (blocks != NULL)
            moved = eun_hd_advance(front->banks, (struct eun_hd_metadata *)(void *)(blocks + id),
                                   expected, now);
        else
            moved = eun_reorder_advance(layer, qp, expected, now);
        outcome.advanced = (uint32_t)moved;
        outcome.lasts += (uint32_t)(moved >> 32);
        return outcome;
    }
    outcome.verdict = EUN_HD_CAP;
    outcome.advanced = 0;
    outcome.lasts = 0;
    if (!last && id != EUN_BLOCK_NONE && blocks != NULL)
        outcome.verdict = eun_hd_hold_in_ring(
            blocks, (struct eun_hd_metadata *)(void *)(blocks + id), psn - expected);
    if (outcome.verdict == EUN_HD_CAP)
        outcome.verdict = eun_reorder_hold(layer, qp, expected, psn, last);
    return outcome;
}

/** True where `qp` holds at least one PSN ahead of its cumulative point. */
bool eun_reorder_has_gap(const struct eun_reorder *layer, uint32_t qp);

/** Has `psn` arrived? `psn` at or past the QP's cumulative point `expected`. */
bool eun_reorder_holds(const struct eun_reorder *layer, uint32_t qp, uint32_t expected,
                       uint32_t psn);

/** Forgets what `qp` holds ahead of its cumulative point and gives its memory back (fallback). */
void eun_reorder_forget(struct eun_reorder *layer, uint32_t qp);

/**
 * Gives back metadata that has been idle for the epoch: not before, and at most 1/32 of it later if
 * called at the times that it returns. Costs time for the active QPs, not for all. Returns the time
 * of the next call that can find any, INT64_MAX where no QP has metadata.
 */
int64_t eun_reorder_sweep(struct eun_reorder *layer, int64_t now);

/** Counters; valid, and kept up to date, as long as the layer. */
const struct eun_reorder_stats *eun_reorder_stats(const struct eun_reorder *layer);

/** Bytes in use now, counted from the allocations. */
void eun_reorder_memory(const struct eun_reorder *layer, struct eun_reorder_memory *memory);

/** What `qp` holds. */
void eun_reorder_view(const struct eun_reorder *layer, uint32_t qp, struct eun_reorder_view *view);

/** Bank `bank` (0..banks - 1), for tests. */
struct eun_hd_bank *eun_reorder_bank(struct eun_reorder *layer, uint32_t bank);

/**
 * An error that the memory itself reports (ECC) in what `qp` holds: the QP forgets it without
 * reading it again. Its blocks leak until eun_reorder_scrub() finds them.
 */
void eun_reorder_lose(struct eun_reorder *layer, uint32_t qp);

/**
 * Scrubber: gives back every block that no open QP of the right generation leads to, such as one
 * that leaked, and takes metadata that contradicts itself from its QP. Slow. Result: blocks that it
 * gave back.
 */
uint32_t eun_reorder_scrub(struct eun_reorder *layer);

/** What is known outside the layer, for eun_reorder_recover(). */
struct eun_reorder_witness {
    uint32_t (*point)(void *context, uint32_t qp); /**< cumulative point of an open QP */
    void (*lost)(void *context, uint32_t qp);      /**< it lost what it held; may be NULL */
    void *context;
};

/**
 * After a failure between two stores of whatever operation: as eun_reorder_scrub(), and maps and
 * counts are made anew. A QP whose bitmap is for another cumulative point than the witness's loses
 * what it held, so no packet is invented. Result: as above.
 */
uint32_t eun_reorder_recover(struct eun_reorder *layer, const struct eun_reorder_witness *witness);

/**
 * Checks every invariant (no block with two owners, counts, free map). Slow. True where all hold;
 * else `*reason` is a static string that names the first that does not.
 */
bool eun_reorder_validate(const struct eun_reorder *layer, const char **reason);

#ifdef __cplusplus
}
#endif
#endif
