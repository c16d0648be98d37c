/* SPDX-License-Identifier: GPL-2.0-only */
#include "hd-internal.h"
#include "hd-wide.h"

uint32_t eun_hd_bitmap_blocks(const struct eun_hd_metadata *m)
{
    uint32_t blocks = 0;
    for (uint32_t slot = 0; slot < EUN_HD_BLOCK_IDS; slot++)
        blocks += m->block[slot] != EUN_BLOCK_NONE;
    return eun_hd_is_wide(m) ? blocks * EUN_HD_SLAB_BLOCKS : blocks;
}

uint32_t eun_hd_last_blocks(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m)
{
    if (eun_hd_is_wide(m))
        return (uint32_t)__builtin_popcount(m->last_plane) * EUN_HD_SLAB_BLOCKS;
    return m->last_plane == EUN_BLOCK_NONE ? 0 : bank->last_blocks;
}

/** Runs of blocks that one bitmap holds. */
struct runs {
    uint32_t count;
    struct {
        uint32_t id;
        uint32_t blocks;
    } run[EUN_BLOCK_POOL_FRAGMENTS + EUN_HD_BLOCK_IDS + 1u];
};

/** Adds a run. False where it is not within the bank. */
static bool add_run(const struct eun_hd_bank *bank, struct runs *runs, uint32_t id, uint32_t blocks)
{
    if (id + blocks > bank->pool.size)
        return false;
    runs->run[runs->count].id = id;
    runs->run[runs->count].blocks = blocks;
    runs->count++;
    return true;
}

static bool add_metadata(const struct eun_hd_bank *bank, struct runs *runs, uint16_t id)
{
    if (!eun_block_pool_is_chain(&bank->pool, id))
        return add_run(bank, runs, id, EUN_BLOCK_POOL_METADATA);
    if (!eun_block_pool_chain_is_sound(&bank->pool, id))
        return false;
    for (uint32_t i = 0; i < EUN_BLOCK_POOL_FRAGMENTS; i++, id = bank->pool.block[id])
        add_run(bank, runs, id, EUN_BLOCK_POOL_FRAGMENT);
    return true;
}

static bool add_bitmap(const struct eun_hd_bank *bank, struct runs *runs,
                       const struct eun_hd_metadata *m)
{
    const bool wide = eun_hd_is_wide(m);
    for (uint32_t slot = 0; slot < EUN_HD_BLOCK_IDS; slot++)
        if (m->block[slot] != EUN_BLOCK_NONE &&
            !add_run(bank, runs, m->block[slot], wide ? eun_hd_slab_blocks(m, slot) : 1u))
            return false;
    return wide || m->last_plane == EUN_BLOCK_NONE ||
           add_run(bank, runs, m->last_plane, bank->last_blocks);
}

/** Marks held blocks of a run until one is free, or marked already. Result: how many it marked. */
static uint32_t mark_run(const struct eun_hd_bank *bank, uint32_t id, uint32_t blocks,
                         uint64_t *held)
{
    for (uint32_t n = 0; n < blocks; n++, id++) {
        uint64_t bit = UINT64_C(1) << (id % 64u);
        if (eun_block_pool_is_free(&bank->pool, id) || (held[id / 64u] & bit) != 0)
            return n;
        held[id / 64u] |= bit;
    }
    return blocks;
}

static void unmark_run(uint32_t id, uint32_t blocks, uint64_t *held)
{
    for (; blocks > 0; blocks--, id++)
        held[id / 64u] &= ~(UINT64_C(1) << (id % 64u));
}

bool eun_hd_mark_blocks(const struct eun_hd_bank *bank, uint16_t id, uint64_t *held)
{
    struct runs runs = {.count = 0};
    struct eun_hd_metadata copy;
    if (!add_metadata(bank, &runs, id) || !add_bitmap(bank, &runs, eun_hd_look(bank, id, &copy)))
        return false;
    for (uint32_t i = 0; i < runs.count; i++) {
        uint32_t marked = mark_run(bank, runs.run[i].id, runs.run[i].blocks, held);
        if (marked == runs.run[i].blocks)
            continue;
        unmark_run(runs.run[i].id, marked, held);
        while (i-- > 0)
            unmark_run(runs.run[i].id, runs.run[i].blocks, held);
        return false;
    }
    return true;
}

void eun_hd_unmark_blocks(const struct eun_hd_bank *bank, uint16_t id, uint64_t *held)
{
    struct runs runs = {.count = 0};
    struct eun_hd_metadata copy;
    add_metadata(bank, &runs, id);
    add_bitmap(bank, &runs, eun_hd_look(bank, id, &copy));
    for (uint32_t i = 0; i < runs.count; i++)
        unmark_run(runs.run[i].id, runs.run[i].blocks, held);
}

/** PSNs in the window whose bits are set. */
static uint32_t bits_in_window(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m)
{
    uint32_t count = 0;
    struct eun_hd_piece piece;
    for (uint32_t at = 0; at < eun_hd_mapped(bank, m); at += piece.length) {
        piece = eun_hd_piece(bank, m, at);
        count += (uint32_t)__builtin_popcount(*piece.block & eun_hd_bits(piece.bit, piece.length));
    }
    return count;
}

/** Checks the numbers that describe the ring and the linear part. */
static const char *shape_fault(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m)
{
    if (m->ring_psns == 0 || m->ring_psns % (eun_hd_block_mask(bank) + 1u) != 0)
        return "a ring ends within a block";
    if (eun_hd_ring_blocks(bank, m) + m->linear_blocks > EUN_HD_BLOCK_IDS)
        return "a bitmap has more blocks than ids";
    if (m->linear_blocks == 0 && m->ring_psns > bank->narrow + eun_hd_block_mask(bank))
        return "a ring has more blocks than its window";
    if (m->head >= m->ring_psns || m->ring_last >= m->ring_psns)
        return "a bitmap's cumulative point lies outside its ring";
    if (m->linear_blocks == 0 && m->ring_last != (m->held == 0 ? 0 : eun_hd_plain_last(bank, m)))
        return "a ring without a linear part does not span its blocks";
    if (m->held == 0 && m->linear_blocks > 0)
        return "an empty bitmap has a linear part";
    return NULL;
}

/** Checks that exactly the blocks that PSNs of the window map to are there. */
static const char *slots_fault(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m)
{
    bool used[EUN_HD_BLOCK_IDS] = {false};
    for (uint32_t ahead = 0; ahead < eun_hd_mapped(bank, m); ahead++)
        used[eun_hd_position(m, ahead) >> bank->block_shift] = true;
    for (uint32_t i = 0; m->held == 0 && i < eun_hd_ring_blocks(bank, m); i++)
        used[i] = true;
    for (uint32_t slot = 0; slot < EUN_HD_BLOCK_IDS; slot++)
        if (used[slot] != (m->block[slot] != EUN_BLOCK_NONE))
            return "a bitmap lacks a block, or has one that it does not use";
    return NULL;
}

/** Checks that the bits set are those of the PSNs held, and none besides. */
static const char *bits_fault(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m)
{
    struct eun_hd_piece first = eun_hd_piece(bank, m, 0);
    if ((*first.block >> first.bit & 1u) != 0)
        return "a bitmap holds its cumulative point";
    uint32_t in_blocks = 0;
    for (uint32_t slot = 0; slot < EUN_HD_BLOCK_IDS; slot++)
        if (m->block[slot] != EUN_BLOCK_NONE)
            in_blocks += (uint32_t)__builtin_popcount(bank->pool.block[m->block[slot]]);
    uint32_t in_window = bits_in_window(bank, m);
    if (in_window != m->held)
        return "a bitmap's count of PSNs held is wrong";
    return in_blocks == in_window ? NULL : "a bit is set outside a bitmap's window";
}

/** Checks what the bits are in: needed before anything looks at a bit. */
static const char *frame_fault(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m)
{
    struct runs runs = {.count = 0};
    if (!add_bitmap(bank, &runs, m))
        return "a bitmap's block lies outside its bank";
    if (eun_hd_is_wide(m))
        return NULL;
    const char *fault = shape_fault(bank, m);
    return fault != NULL ? fault : slots_fault(bank, m);
}

void eun_hd_recount(const struct eun_hd_bank *bank, struct eun_hd_metadata *m)
{
    if (!eun_hd_is_wide(m) && m->held > 0 && frame_fault(bank, m) == NULL)
        m->held = (uint8_t)bits_in_window(bank, m);
}

/** Checks that Last flags are those of PSNs held, each once. The tag tells PSNs apart. */
static const char *lasts_fault(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m)
{
    const uint32_t expected = m->tag;
    const uint32_t inline_psn = expected + (uint8_t)(m->last_inline - expected);
    if (m->has_inline > 1)
        return "a flag is neither 0 nor 1";
    if (m->has_inline && !eun_hd_holds(bank, m, expected, inline_psn))
        return "a Last packet that is not held";
    if (m->last_plane == EUN_BLOCK_NONE)
        return NULL;
    if (m->held == 0)
        return "an empty bitmap has a Last plane";
    for (uint32_t psn = expected; psn != expected + bank->last_blocks * 16u; psn++) {
        uint32_t bit;
        const uint16_t *block = eun_hd_plane_block(bank, m, psn, &bit);
        if ((*block >> bit & 1u) == 0)
            continue;
        if (!eun_hd_holds(bank, m, expected, psn))
            return "a Last packet that is not held";
        if (m->has_inline && psn == inline_psn)
            return "a Last packet that is noted twice";
    }
    return NULL;
}

const char *eun_hd_fault(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m)
{
    const char *fault = frame_fault(bank, m);
    if (fault != NULL)
        return fault;
    if (eun_hd_is_wide(m))
        return eun_hd_wide_fault(bank, m);
    fault = bits_fault(bank, m);
    return fault != NULL ? fault : lasts_fault(bank, m);
}
