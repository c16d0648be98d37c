/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_HD_INTERNAL_H
#define EUNOMIA_HD_INTERNAL_H

/** What the files of the HD bitmap share. Not for callers outside reorder/. */

#include "hd-bitmap.h"

#include <stdatomic.h>

/** A stretch of PSNs within one block. */
struct eun_hd_piece {
    uint16_t *block;
    uint32_t bit;    /**< of its first PSN */
    uint32_t length; /**< PSNs */
};

static inline uint16_t eun_hd_bits(uint32_t bit, uint32_t n)
{
    return (uint16_t)(((1u << n) - 1u) << bit);
}

static inline uint32_t eun_hd_block_mask(const struct eun_hd_bank *bank)
{
    return (1u << bank->block_shift) - 1u;
}

/** PSNs from the cumulative point on that have a block. */
static inline uint32_t eun_hd_mapped(const struct eun_hd_bank *bank,
                                     const struct eun_hd_metadata *m)
{
    return m->ring_last + 1u + ((uint32_t)m->linear_blocks << bank->block_shift);
}

/** Position of the PSN `ahead` of the cumulative point, in the ring or past it. */
static inline uint32_t eun_hd_position(const struct eun_hd_metadata *m, uint32_t ahead)
{
    if (ahead > m->ring_last)
        return m->ring_psns + ahead - m->ring_last - 1u;
    return eun_hd_ring_position(m, ahead);
}

/** The stretch that starts at the PSN `ahead` of the cumulative point, which is mapped. */
static inline struct eun_hd_piece eun_hd_piece(const struct eun_hd_bank *bank,
                                               const struct eun_hd_metadata *m, uint32_t ahead)
{
    uint32_t position = eun_hd_position(m, ahead);
    uint32_t bit = position & eun_hd_block_mask(bank);
    uint32_t length = eun_hd_block_mask(bank) + 1u - bit;
    if (ahead <= m->ring_last && length > m->ring_last + 1u - ahead)
        length = m->ring_last + 1u - ahead;
    uint16_t *block = bank->pool.block + m->block[position >> bank->block_shift];
    return (struct eun_hd_piece){block, bit, length};
}

/** The last PSN of a ring without a linear part, ahead of the cumulative point. */
static inline uint8_t eun_hd_plain_last(const struct eun_hd_bank *bank,
                                        const struct eun_hd_metadata *m)
{
    return (uint8_t)((m->ring_psns < bank->narrow ? m->ring_psns : bank->narrow) - 1u);
}

/** Makes the first `blocks` blocks a ring without a linear part. */
static inline void eun_hd_set_ring(const struct eun_hd_bank *bank, struct eun_hd_metadata *m,
                                   uint32_t blocks, uint32_t head)
{
    uint32_t positions = blocks << bank->block_shift;
    m->ring_psns = (uint16_t)positions;
    m->ring_last = eun_hd_plain_last(bank, m);
    m->linear_blocks = 0;
    m->head = (uint8_t)(head == positions ? 0 : head);
}

/** May a bitmap that has metadata take `n` blocks more? */
static inline bool eun_hd_may_grow(const struct eun_hd_bank *bank, uint32_t n)
{
    return n == 0 || bank->pool.free_count >= n + bank->reserve;
}

/** Keeps the compiler from moving stores across. */
static inline void eun_hd_order_stores(void)
{
    atomic_signal_fence(memory_order_acq_rel);
}

/** From here on the tag is no cumulative point's, until eun_hd_trust(). */
static inline void eun_hd_distrust(struct eun_hd_metadata *m, uint32_t expected)
{
    m->tag = (uint16_t)~expected;
    eun_hd_order_stores();
}

/** The positions hold good for the cumulative point `expected`. */
static inline void eun_hd_trust(struct eun_hd_metadata *m, uint32_t expected)
{
    eun_hd_order_stores();
    m->tag = (uint16_t)expected;
}

static inline void eun_hd_count_taken(struct eun_hd_bank *bank, uint32_t allocations,
                                      uint32_t blocks)
{
    struct eun_reorder_stats *stats = bank->stats;
    stats->alloc += allocations;
    stats->blocks_in_use += blocks;
    if (stats->blocks_peak < stats->blocks_in_use)
        stats->blocks_peak = stats->blocks_in_use;
}

/** Takes `n` bitmap blocks, all zero; all of them or none. */
bool eun_hd_take_blocks(struct eun_hd_bank *bank, uint32_t n, uint16_t *ids);

/** Gives back the blocks, and the Last plane, of a bitmap that is not wide. */
void eun_hd_give_narrow(struct eun_hd_bank *bank, struct eun_hd_metadata *m);

/** The Last plane: `psn`'s block in it, and its bit. */
static inline uint16_t *eun_hd_plane_block(const struct eun_hd_bank *bank,
                                           const struct eun_hd_metadata *m, uint32_t psn,
                                           uint32_t *bit)
{
    *bit = psn % 16u;
    uint32_t index = psn / 16u & (bank->last_blocks - 1u);
    return bank->pool.block + m->last_plane + index;
}

#endif
