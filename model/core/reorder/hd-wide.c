/* SPDX-License-Identifier: GPL-2.0-only */
#include "hd-wide.h"

#include "hd-internal.h"

#include <string.h>

#define WORD_BITS 16u

static uint32_t slot_of(uint32_t psn)
{
    return psn / EUN_HD_SLAB_PSNS % EUN_HD_BLOCK_IDS;
}

/** The word of 16 flags in which `psn` lies, in the slab that starts at block `slab`. */
static uint16_t *word_at(const struct eun_hd_bank *bank, uint32_t slab, uint32_t psn)
{
    return bank->pool.block + slab + psn % EUN_HD_SLAB_PSNS / WORD_BITS;
}

static bool has_lasts(const struct eun_hd_metadata *m, uint32_t slot)
{
    return (m->last_plane >> slot & 1u) != 0;
}

/** An empty slab, for Last flags, too, where `lasts`. EUN_BLOCK_NONE where there is no room. */
static uint16_t take_slab(struct eun_hd_bank *bank, bool lasts)
{
    uint32_t blocks = lasts ? 2u * EUN_HD_SLAB_BLOCKS : EUN_HD_SLAB_BLOCKS;
    uint16_t id = eun_block_pool_take_run(&bank->pool, blocks);
    if (id == EUN_BLOCK_NONE)
        return id;
    memset(bank->pool.block + id, 0, blocks * sizeof(uint16_t));
    if (lasts)
        bank->stats->last_blocks += EUN_HD_SLAB_BLOCKS;
    eun_hd_count_taken(bank, 1, blocks);
    return id;
}

static void give_slab(struct eun_hd_bank *bank, uint16_t id, uint32_t blocks)
{
    eun_block_pool_give(&bank->pool, id, blocks);
    bank->stats->blocks_in_use -= blocks;
    bank->stats->last_blocks -= blocks - EUN_HD_SLAB_BLOCKS;
}

static void give_slot(struct eun_hd_bank *bank, struct eun_hd_metadata *m, uint32_t slot)
{
    uint16_t id = m->block[slot];
    uint32_t blocks = eun_hd_slab_blocks(m, slot);
    if (blocks == 0)
        return;
    m->block[slot] = EUN_BLOCK_NONE;
    m->last_plane = (uint16_t)(m->last_plane & ~(1u << slot));
    give_slab(bank, id, blocks);
}

void eun_hd_wide_give(struct eun_hd_bank *bank, struct eun_hd_metadata *m)
{
    for (uint32_t slot = 0; slot < EUN_HD_BLOCK_IDS; slot++)
        give_slot(bank, m, slot);
}

/** Sets the flags of `psn`, whose slab is there. */
static void set_flags(const struct eun_hd_bank *bank, struct eun_hd_metadata *m, uint32_t psn,
                      bool last)
{
    uint32_t slab = m->block[slot_of(psn)];
    uint16_t bit = (uint16_t)(1u << (psn % WORD_BITS));
    if (last)
        *word_at(bank, slab + EUN_HD_SLAB_BLOCKS, psn) |= bit;
    *word_at(bank, slab, psn) |= bit;
}

/** Which slabs a narrow bitmap takes as a wide one: bit s of a mask for the slot s. */
struct need {
    uint32_t slots;
    uint32_t lasts; /**< of these, with Last flags */
};

static void add_need(struct need *need, uint32_t psn, bool last)
{
    need->slots |= 1u << slot_of(psn);
    need->lasts |= (uint32_t)last << slot_of(psn);
}

/** Takes the slabs, all of them or none. */
static bool take_slabs(struct eun_hd_bank *bank, const struct need *need, uint16_t *ids)
{
    for (uint32_t slot = 0; slot < EUN_HD_BLOCK_IDS; slot++) {
        ids[slot] = EUN_BLOCK_NONE;
        if ((need->slots >> slot & 1u) == 0)
            continue;
        ids[slot] = take_slab(bank, (need->lasts >> slot & 1u) != 0);
        if (ids[slot] != EUN_BLOCK_NONE)
            continue;
        while (slot-- > 0)
            if (ids[slot] != EUN_BLOCK_NONE)
                give_slab(bank, ids[slot], EUN_HD_SLAB_BLOCKS << (need->lasts >> slot & 1u));
        return false;
    }
    return true;
}

bool eun_hd_widen(struct eun_hd_bank *bank, struct eun_hd_metadata *m, uint32_t expected,
                  uint32_t psn, bool last, bool fresh)
{
    struct need need = {0, 0};
    uint32_t mapped = m->held > 0 ? eun_hd_mapped(bank, m) : 0;
    for (uint32_t ahead = 1; ahead < mapped; ahead++)
        if (eun_hd_holds(bank, m, expected, expected + ahead))
            add_need(&need, expected + ahead, eun_hd_is_last(bank, m, expected + ahead));
    add_need(&need, psn, last);
    uint32_t slabs = (uint32_t)__builtin_popcount(need.slots);
    slabs += (uint32_t)__builtin_popcount(need.lasts);
    uint16_t ids[EUN_HD_BLOCK_IDS];
    if ((!fresh && !eun_hd_may_grow(bank, slabs * EUN_HD_SLAB_BLOCKS)) ||
        !take_slabs(bank, &need, ids))
        return false;
    struct eun_hd_metadata wide = *m;
    memcpy(wide.block, ids, sizeof ids);
    wide.last_plane = (uint16_t)need.lasts;
    for (uint32_t ahead = 1; ahead < mapped; ahead++)
        if (eun_hd_holds(bank, m, expected, expected + ahead))
            set_flags(bank, &wide, expected + ahead, eun_hd_is_last(bank, m, expected + ahead));
    wide.ring_psns = m->held;
    wide.ring_last = 0;
    wide.head = 0;
    wide.linear_blocks = EUN_HD_WIDE;
    wide.held = 1;
    wide.has_inline = 0;
    eun_hd_give_narrow(bank, m);
    *m = wide;
    bank->stats->widen += mapped > 0;
    return true;
}

/** Gives the slab in `slot` a second half. False where there is no room. */
static bool add_lasts(struct eun_hd_bank *bank, struct eun_hd_metadata *m, uint32_t slot)
{
    if (!eun_hd_may_grow(bank, 2u * EUN_HD_SLAB_BLOCKS))
        return false;
    uint16_t id = take_slab(bank, true);
    if (id == EUN_BLOCK_NONE)
        return false;
    uint16_t old = m->block[slot];
    memcpy(bank->pool.block + id, bank->pool.block + old, EUN_HD_SLAB_BLOCKS * sizeof(uint16_t));
    m->block[slot] = id;
    m->last_plane = (uint16_t)(m->last_plane | 1u << slot);
    give_slab(bank, old, EUN_HD_SLAB_BLOCKS);
    return true;
}

enum eun_hd_verdict eun_hd_wide_hold(struct eun_hd_bank *bank, struct eun_hd_metadata *m,
                                     uint32_t psn, bool last)
{
    uint32_t slot = slot_of(psn);
    if (m->block[slot] == EUN_BLOCK_NONE) {
        if (!eun_hd_may_grow(bank, EUN_HD_SLAB_BLOCKS << last))
            return EUN_HD_NO_BLOCKS;
        uint16_t id = take_slab(bank, last);
        if (id == EUN_BLOCK_NONE)
            return EUN_HD_NO_BLOCKS;
        m->block[slot] = id;
        m->last_plane = (uint16_t)(m->last_plane | (uint32_t)last << slot);
    } else if (eun_hd_wide_holds(bank, m, psn)) {
        return EUN_HD_DUPLICATE;
    } else if (last && !has_lasts(m, slot) && !add_lasts(bank, m, slot)) {
        return EUN_HD_NO_BLOCKS;
    }
    set_flags(bank, m, psn, last);
    m->ring_psns++;
    return EUN_HD_HELD;
}

/** Clears, and counts, the Last flags `bits` of the word of `psn`. */
static uint32_t take_lasts(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m,
                           uint32_t psn, uint16_t bits)
{
    if (!has_lasts(m, slot_of(psn)))
        return 0;
    uint16_t *word = word_at(bank, m->block[slot_of(psn)] + EUN_HD_SLAB_BLOCKS, psn);
    uint32_t lasts = (uint32_t)__builtin_popcount(*word & bits);
    *word = (uint16_t)(*word & ~bits);
    return lasts;
}

/** Nothing is held: a narrow bitmap with one empty block, of which there are enough now. */
static void become_narrow(struct eun_hd_bank *bank, struct eun_hd_metadata *m)
{
    eun_hd_wide_give(bank, m);
    m->last_plane = EUN_BLOCK_NONE;
    eun_hd_take_blocks(bank, 1, m->block);
    eun_hd_set_ring(bank, m, 1, 0);
    m->ring_last = 0;
    m->held = 0;
}

uint64_t eun_hd_wide_advance(struct eun_hd_bank *bank, struct eun_hd_metadata *m, uint32_t expected)
{
    uint32_t psn = expected + 1u;
    uint64_t lasts = 0;
    eun_hd_distrust(m, expected);
    for (;;) {
        if (psn % EUN_HD_SLAB_PSNS == 0)
            give_slot(bank, m, slot_of(psn - 1u));
        uint32_t slab = m->block[slot_of(psn)];
        if (slab == EUN_BLOCK_NONE)
            break;
        uint16_t *word = word_at(bank, slab, psn);
        uint32_t bit = psn % WORD_BITS;
        uint32_t run = (uint32_t)__builtin_ctz(~((uint32_t)*word >> bit));
        uint16_t bits = eun_hd_bits(bit, run);
        *word = (uint16_t)(*word & ~bits);
        lasts += take_lasts(bank, m, psn, bits);
        psn += run;
        if (bit + run < WORD_BITS)
            break;
    }
    uint32_t moved = psn - expected;
    m->ring_psns = (uint16_t)(m->ring_psns + 1u - moved);
    if (m->ring_psns == 0)
        become_narrow(bank, m);
    else
        eun_hd_trust(m, psn);
    return moved | lasts << 32;
}

bool eun_hd_wide_holds(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m,
                       uint32_t psn)
{
    uint16_t slab = m->block[slot_of(psn)];
    return slab != EUN_BLOCK_NONE && (*word_at(bank, slab, psn) >> (psn % WORD_BITS) & 1u) != 0;
}

bool eun_hd_wide_is_last(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m,
                         uint32_t psn)
{
    uint32_t slot = slot_of(psn);
    if (m->block[slot] == EUN_BLOCK_NONE || !has_lasts(m, slot))
        return false;
    const uint16_t *word = word_at(bank, m->block[slot] + EUN_HD_SLAB_BLOCKS, psn);
    return (*word >> (psn % WORD_BITS) & 1u) != 0;
}

const char *eun_hd_wide_fault(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m)
{
    uint32_t held = 0;
    for (uint32_t slot = 0; slot < EUN_HD_BLOCK_IDS; slot++) {
        uint32_t blocks = eun_hd_slab_blocks(m, slot);
        if (blocks == 0 && has_lasts(m, slot))
            return "Last flags without a slab";
        const uint16_t *words = bank->pool.block + m->block[slot];
        for (uint32_t i = 0; blocks > 0 && i < EUN_HD_SLAB_BLOCKS; i++) {
            held += (uint32_t)__builtin_popcount(words[i]);
            if (blocks > EUN_HD_SLAB_BLOCKS && (words[EUN_HD_SLAB_BLOCKS + i] & ~words[i]) != 0)
                return "a Last packet that is not held";
        }
    }
    if (held == 0 || held != m->ring_psns)
        return "a wide bitmap's count of PSNs held is wrong";
    if (m->held != 1 || m->ring_last != 0 || m->has_inline != 0)
        return "a wide bitmap has a narrow one's state";
    return NULL;
}
