/* SPDX-License-Identifier: GPL-2.0-only */
#include "hd-bitmap.h"

#include "hd-internal.h"
#include "hd-wide.h"
#include "psn.h"

#include <assert.h>
#include <string.h>

#define PLANE_BLOCK_BITS 16u
#define WINDOW_WORDS (EUN_HD_NARROW_MAX / 64u)

bool eun_hd_take_blocks(struct eun_hd_bank *bank, uint32_t n, uint16_t *ids)
{
    if (!eun_block_pool_take_blocks(&bank->pool, n, ids))
        return false;
    for (uint32_t i = 0; i < n; i++)
        bank->pool.block[ids[i]] = 0;
    eun_hd_count_taken(bank, n, n);
    return true;
}

/** Gives back the block whose id is in `*slot`, if there is one. */
static void give_block(struct eun_hd_bank *bank, uint16_t *slot)
{
    uint16_t id = *slot;
    if (id == EUN_BLOCK_NONE)
        return;
    *slot = EUN_BLOCK_NONE;
    eun_block_pool_give(&bank->pool, id, 1);
    bank->stats->blocks_in_use--;
}

bool eun_hd_bank_init(struct eun_hd_bank *bank, uint32_t blocks, uint32_t cap, uint32_t block_shift,
                      uint32_t stamp_shift, struct eun_reorder_stats *stats)
{
    assert(block_shift == 3 || block_shift == 4);
    assert(cap >= 1 && cap <= EUN_HD_CAP_MAX);
    bank->cap = cap;
    bank->narrow = cap < EUN_HD_BLOCK_IDS << block_shift ? cap : EUN_HD_BLOCK_IDS << block_shift;
    bank->block_shift = block_shift;
    bank->stamp_shift = stamp_shift;
    bank->last_blocks = 1;
    while (bank->last_blocks * PLANE_BLOCK_BITS < bank->narrow)
        bank->last_blocks *= 2u;
    bank->reserve = 0;
    bank->chains = false;
    bank->idle = 0;
    bank->next_victim = 0;
    bank->stats = stats;
    return eun_block_pool_init(&bank->pool, blocks);
}

void eun_hd_bank_dispose(struct eun_hd_bank *bank)
{
    eun_block_pool_dispose(&bank->pool);
}

static bool take_plane(struct eun_hd_bank *bank, struct eun_hd_metadata *m)
{
    uint16_t id = eun_block_pool_take_run(&bank->pool, bank->last_blocks);
    if (id == EUN_BLOCK_NONE)
        return false;
    memset(bank->pool.block + id, 0, bank->last_blocks * sizeof(uint16_t));
    m->last_plane = id;
    bank->stats->last_blocks += bank->last_blocks;
    eun_hd_count_taken(bank, 1, bank->last_blocks);
    return true;
}

static void give_plane(struct eun_hd_bank *bank, struct eun_hd_metadata *m)
{
    uint16_t id = m->last_plane;
    if (id == EUN_BLOCK_NONE)
        return;
    m->last_plane = EUN_BLOCK_NONE;
    eun_block_pool_give(&bank->pool, id, bank->last_blocks);
    bank->stats->last_blocks -= bank->last_blocks;
    bank->stats->blocks_in_use -= bank->last_blocks;
}

/** Can one more Last packet be noted without an allocation? */
static bool last_fits(const struct eun_hd_metadata *m)
{
    return !m->has_inline || m->last_plane != EUN_BLOCK_NONE;
}

/** Notes that `psn` ends a message. The plane exists if the inline place is taken. */
static void keep_last(const struct eun_hd_bank *bank, struct eun_hd_metadata *m, uint32_t psn)
{
    if (!m->has_inline) {
        m->last_inline = (uint8_t)psn;
        m->has_inline = 1;
        return;
    }
    uint32_t bit;
    uint16_t *block = eun_hd_plane_block(bank, m, psn, &bit);
    *block = (uint16_t)(*block | 1u << bit);
}

/** Forgets, and counts, the plane's Last packets among the `n` PSNs from `from` on. */
static uint32_t take_plane_lasts(struct eun_hd_bank *bank, struct eun_hd_metadata *m, uint32_t from,
                                 uint32_t n)
{
    uint32_t lasts = 0;
    for (uint32_t done = 0; done < n;) {
        uint32_t bit;
        uint16_t *block = eun_hd_plane_block(bank, m, from + done, &bit);
        uint32_t length = PLANE_BLOCK_BITS - bit < n - done ? PLANE_BLOCK_BITS - bit : n - done;
        uint16_t mask = eun_hd_bits(bit, length);
        if ((*block & mask) != 0) {
            lasts += (uint32_t)__builtin_popcount(*block & mask);
            *block = (uint16_t)(*block & ~mask);
        }
        done += length;
    }
    return lasts;
}

void eun_hd_give_narrow(struct eun_hd_bank *bank, struct eun_hd_metadata *m)
{
    give_plane(bank, m);
    for (uint32_t slot = 0; slot < EUN_HD_BLOCK_IDS; slot++)
        give_block(bank, &m->block[slot]);
}

/** Rewrites the bitmap as a plain ring that reaches `ahead`. False where there is no room. */
static bool compact(struct eun_hd_bank *bank, struct eun_hd_metadata *m, uint32_t ahead)
{
    uint32_t wanted = (ahead >> bank->block_shift) + 1u;
    uint32_t live = eun_hd_bitmap_blocks(m);
    uint16_t ids[2u * EUN_HD_BLOCK_IDS];
    uint32_t have = wanted > live ? wanted - live : 0;
    if (!eun_hd_may_grow(bank, have) || !eun_hd_take_blocks(bank, have, ids))
        return false;
    /* A stretch is at most 16 PSNs, so the word past its own exists for all but the last. */
    uint64_t window[WINDOW_WORDS + 1u] = {0};
    struct eun_hd_piece piece;
    for (uint32_t at = 0; at < eun_hd_mapped(bank, m); at += piece.length) {
        piece = eun_hd_piece(bank, m, at);
        uint64_t bits =
            (uint64_t)(*piece.block & eun_hd_bits(piece.bit, piece.length)) >> piece.bit;
        window[at / 64u] |= bits << (at % 64u);
        if (at % 64u > 48u)
            window[at / 64u + 1u] |= bits >> (64u - at % 64u);
    }
    for (uint32_t slot = 0; slot < EUN_HD_BLOCK_IDS; slot++) {
        if (m->block[slot] != EUN_BLOCK_NONE)
            ids[have++] = m->block[slot];
        m->block[slot] = EUN_BLOCK_NONE;
    }
    for (uint32_t i = 0; i < wanted; i++) {
        uint32_t at = i << bank->block_shift;
        uint64_t mask = (UINT64_C(1) << (1u << bank->block_shift)) - 1u;
        m->block[i] = ids[i];
        bank->pool.block[ids[i]] = (uint16_t)(window[at / 64u] >> (at % 64u) & mask);
    }
    while (have > wanted)
        give_block(bank, &ids[--have]);
    eun_hd_set_ring(bank, m, wanted, 0);
    bank->stats->compact++;
    return true;
}

/** Gets a block for the PSN `ahead`, which has none. False where there is no room. */
static bool grow(struct eun_hd_bank *bank, struct eun_hd_metadata *m, uint32_t ahead)
{
    uint32_t used = eun_hd_ring_blocks(bank, m) + m->linear_blocks;
    uint32_t need = m->held == 0 ? (ahead >> bank->block_shift) + 1u - used
                                 : ((ahead - eun_hd_mapped(bank, m)) >> bank->block_shift) + 1u;
    if (used + need > EUN_HD_BLOCK_IDS)
        return compact(bank, m, ahead);
    uint16_t ids[EUN_HD_BLOCK_IDS];
    if (!eun_hd_may_grow(bank, need) || !eun_hd_take_blocks(bank, need, ids))
        return false;
    for (uint32_t i = 0; i < need; i++)
        m->block[used + i] = ids[i];
    if (m->held == 0)
        eun_hd_set_ring(bank, m, used + need, 0);
    else
        m->linear_blocks = (uint8_t)(m->linear_blocks + need);
    return true;
}

/** Finds room for the PSN `ahead`, in a bitmap that becomes wide for it if it must. */
static bool make_room(struct eun_hd_bank *bank, struct eun_hd_metadata *m, uint32_t expected,
                      uint32_t ahead, bool last)
{
    if (ahead >= bank->narrow)
        return eun_hd_widen(bank, m, expected, expected + ahead, last, false);
    bool new_plane = last && !last_fits(m);
    if (new_plane && (!eun_hd_may_grow(bank, bank->last_blocks) || !take_plane(bank, m)))
        return false;
    if (ahead < eun_hd_mapped(bank, m) || grow(bank, m, ahead))
        return true;
    if (new_plane)
        give_plane(bank, m);
    return false;
}

/** As eun_hd_hold() for a bitmap that is not wide, with ring_last right for an empty one, too. */
static enum eun_hd_verdict hold_narrow(struct eun_hd_bank *bank, struct eun_hd_metadata *m,
                                       uint32_t expected, uint32_t psn, bool last)
{
    uint32_t ahead = psn - expected;
    if (ahead < eun_hd_mapped(bank, m) && eun_hd_holds(bank, m, expected, psn))
        return EUN_HD_DUPLICATE;
    if (!make_room(bank, m, expected, ahead, last))
        return EUN_HD_NO_BLOCKS;
    if (eun_hd_is_wide(m))
        return eun_hd_wide_hold(bank, m, psn, last);
    if (last)
        keep_last(bank, m, psn);
    struct eun_hd_piece piece = eun_hd_piece(bank, m, ahead);
    *piece.block = (uint16_t)(*piece.block | 1u << piece.bit);
    m->held++;
    return EUN_HD_HELD;
}

enum eun_hd_verdict eun_hd_hold(struct eun_hd_bank *bank, struct eun_hd_metadata *m,
                                uint32_t expected, uint32_t psn, bool last)
{
    uint32_t ahead = psn - expected;
    if (!last && bank->block_shift == 4) {
        enum eun_hd_verdict verdict = eun_hd_hold_in_ring(bank->pool.block, m, ahead);
        if (verdict != EUN_HD_CAP)
            return verdict;
    }
    if (ahead >= bank->cap)
        return eun_psn_before(psn, expected) ? EUN_HD_DUPLICATE : EUN_HD_CAP;
    const uint16_t tag = m->tag;
    const bool was_idle = m->held == 0;
    enum eun_hd_verdict verdict;
    eun_hd_distrust(m, expected);
    if (eun_hd_is_wide(m)) {
        verdict = eun_hd_wide_hold(bank, m, psn, last);
    } else {
        if (was_idle)
            m->ring_last = eun_hd_plain_last(bank, m);
        verdict = hold_narrow(bank, m, expected, psn, last);
        if (m->held == 0)
            m->ring_last = 0;
    }
    if (verdict == EUN_HD_HELD)
        bank->idle -= was_idle;
    eun_hd_trust(m, verdict == EUN_HD_HELD ? expected : tag);
    return verdict;
}

/** The prefix moved by `n`, past the ring's last PSN: the linear part is the ring. */
static void merge(struct eun_hd_bank *bank, struct eun_hd_metadata *m, uint32_t n)
{
    uint32_t left = n - m->ring_last - 1u;
    uint32_t ring = eun_hd_ring_blocks(bank, m);
    for (uint32_t i = 0; i < ring; i++)
        give_block(bank, &m->block[i]);
    for (uint32_t i = 0; i < m->linear_blocks; i++) {
        m->block[i] = m->block[ring + i];
        m->block[ring + i] = EUN_BLOCK_NONE;
    }
    eun_hd_set_ring(bank, m, m->linear_blocks, left);
    bank->stats->merge++;
}

/** The prefix moved by `n` within a ring that drains: gives back the blocks that it left behind. */
static void leave_behind(struct eun_hd_bank *bank, struct eun_hd_metadata *m, uint32_t n)
{
    uint32_t shift = bank->block_shift;
    uint32_t blocks = eun_hd_ring_blocks(bank, m);
    uint32_t end = (m->head + m->ring_last + 1u) % m->ring_psns;
    /* The block in which the ring ends holds its oldest PSNs and its newest ones. */
    uint32_t both = (end & eun_hd_block_mask(bank)) == 0 ? EUN_HD_BLOCK_IDS : end >> shift;
    for (uint32_t i = m->head >> shift; i < (m->head + n) >> shift; i++) {
        uint32_t index = i >= blocks ? i - blocks : i;
        if (index != both)
            give_block(bank, &m->block[index]);
    }
    m->head = (uint8_t)eun_hd_ring_position(m, n);
    m->ring_last = (uint8_t)(m->ring_last - n);
}

/**
 * Nothing is held any longer, so nothing at or past L0 either: the linear part, if there was one,
 * is the ring. Result: `moved`.
 */
static uint64_t become_idle(struct eun_hd_bank *bank, struct eun_hd_metadata *m, int64_t now,
                            uint64_t moved)
{
    give_plane(bank, m);
    m->ring_last = 0;
    eun_hd_trust(m, eun_hd_stamp(bank, now));
    bank->idle++;
    return moved;
}

/** As become_idle() where nothing is held any longer; takes the plane's Last packets before. */
static uint64_t settle_plane(struct eun_hd_bank *bank, struct eun_hd_metadata *m, uint32_t expected,
                             int64_t now, uint64_t moved)
{
    moved += (uint64_t)take_plane_lasts(bank, m, expected, (uint32_t)moved) << 32;
    return m->held == 0 ? become_idle(bank, m, now, moved) : moved;
}

/** Are there none of the plane's Last packets among the `n` PSNs from `from` on? A quick look. */
static inline bool plane_is_clear(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m,
                                  uint32_t from, uint32_t n)
{
    uint32_t bit;
    uint64_t lasts = *eun_hd_plane_block(bank, m, from, &bit);
    lasts |= (uint64_t)*eun_hd_plane_block(bank, m, from + PLANE_BLOCK_BITS, &bit)
             << PLANE_BLOCK_BITS;
    lasts |= (uint64_t)*eun_hd_plane_block(bank, m, from + 2u * PLANE_BLOCK_BITS, &bit)
             << 2u * PLANE_BLOCK_BITS;
    return n <= 2u * PLANE_BLOCK_BITS && (lasts >> bit & ((UINT64_C(1) << n) - 1u)) == 0;
}

/** The prefix moved by `n`, and held PSNs were taken. Result as that of eun_hd_advance(). */
static inline uint64_t settle(struct eun_hd_bank *bank, struct eun_hd_metadata *m,
                              uint32_t expected, int64_t now, uint32_t n)
{
    m->held = (uint8_t)(m->held + 1u - n);
    uint32_t lasts = m->has_inline & ((uint8_t)(m->last_inline - expected) < n);
    m->has_inline = (uint8_t)(m->has_inline - lasts);
    uint64_t moved = n | (uint64_t)lasts << 32;
    if (m->last_plane != EUN_BLOCK_NONE && !plane_is_clear(bank, m, expected, n))
        return settle_plane(bank, m, expected, now, moved);
    return m->held == 0 ? become_idle(bank, m, now, moved) : moved;
}

/** As eun_hd_advance(), whatever the bitmap's shape, from where the first `n` PSNs are taken. */
static uint64_t advance_on(struct eun_hd_bank *bank, struct eun_hd_metadata *m, uint32_t expected,
                           int64_t now, uint32_t n)
{
    if (m->held == 0)
        return 1;
    if (eun_hd_is_wide(m)) {
        uint64_t moved = eun_hd_wide_advance(bank, m, expected);
        return m->held == 0 ? become_idle(bank, m, now, moved) : moved;
    }
    eun_hd_distrust(m, expected);
    while (n < eun_hd_mapped(bank, m)) {
        struct eun_hd_piece piece = eun_hd_piece(bank, m, n);
        uint32_t run = (uint32_t)__builtin_ctz(~((uint32_t)*piece.block >> piece.bit));
        run = run < piece.length ? run : piece.length;
        *piece.block = (uint16_t)(*piece.block & ~eun_hd_bits(piece.bit, run));
        n += run;
        if (run < piece.length)
            break;
    }
    if (m->linear_blocks == 0)
        m->head = (uint8_t)eun_hd_ring_position(m, n);
    else if (n > m->ring_last)
        merge(bank, m, n);
    else
        leave_behind(bank, m, n);
    eun_hd_trust(m, expected + n);
    return settle(bank, m, expected, now, n);
}

uint64_t eun_hd_advance(struct eun_hd_bank *bank, struct eun_hd_metadata *m, uint32_t expected,
                        int64_t now)
{
    if (bank->block_shift != 4 || m->linear_blocks > 0 || m->held == 0)
        return advance_on(bank, m, expected, now, 1);
    /*
     * Two blocks at a time, because whether a run of PSNs crosses from one block into the next is a
     * coin toss that the processor would lose. They may be the same block, hence one after the
     * other.
     */
    uint32_t position = eun_hd_ring_position(m, 1);
    uint32_t bit = position % 16u;
    uint32_t next = position / 16u + 1u;
    next = next == m->ring_psns / 16u ? 0 : next;
    uint16_t *first = bank->pool.block + m->block[position / 16u];
    uint16_t *second = bank->pool.block + m->block[next];
    uint32_t bits = ((uint32_t)*first | (uint32_t)*second << 16) >> bit;
    uint32_t run = (uint32_t)__builtin_ctzll(~(uint64_t)bits);
    uint64_t kept = ~(((UINT64_C(1) << run) - 1u) << bit);
    m->tag = (uint16_t)(expected + run + 1u);
    eun_hd_order_stores();
    *first = (uint16_t)(*first & kept);
    *second = (uint16_t)(*second & kept >> 16);
    if (bit + run == 32)
        return advance_on(bank, m, expected, now, run + 1u);
    m->head = (uint8_t)eun_hd_ring_position(m, run + 1u);
    return settle(bank, m, expected, now, run + 1u);
}

/** Metadata for `owner`, without blocks. EUN_BLOCK_NONE where there is no room. */
static uint16_t take_metadata(struct eun_hd_bank *bank, struct eun_hd_owner owner,
                              struct eun_hd_metadata *m)
{
    uint16_t id = eun_block_pool_take_metadata(&bank->pool);
    if (id == EUN_BLOCK_NONE && bank->chains)
        id = eun_block_pool_take_chain(&bank->pool);
    *m = (struct eun_hd_metadata){
        .owner_low = (uint16_t)owner.qp,
        .owner_high = (uint8_t)(owner.qp >> 16),
        .generation = owner.generation,
        .last_plane = EUN_BLOCK_NONE,
    };
    for (uint32_t slot = 0; slot < EUN_HD_BLOCK_IDS; slot++)
        m->block[slot] = EUN_BLOCK_NONE;
    return id;
}

/** Puts the metadata where its blocks are. */
static void store_metadata(struct eun_hd_bank *bank, uint16_t id, const struct eun_hd_metadata *m)
{
    struct eun_reorder_stats *stats = bank->stats;
    bool chain = eun_block_pool_is_chain(&bank->pool, id);
    if (chain)
        eun_block_pool_store_chain(&bank->pool, id, (const uint16_t *)(const void *)m);
    else
        *eun_hd_metadata(bank, id) = *m;
    stats->chain += chain;
    stats->chains += chain;
    eun_hd_count_taken(bank, 1, chain ? EUN_BLOCK_POOL_CHAIN : EUN_BLOCK_POOL_METADATA);
    if (++stats->qps_active > stats->qps_active_peak)
        stats->qps_active_peak = stats->qps_active;
}

uint16_t eun_hd_create(struct eun_hd_bank *bank, struct eun_hd_owner owner, uint32_t expected,
                       uint32_t psn, bool last, enum eun_hd_verdict *verdict)
{
    uint32_t ahead = psn - expected;
    assert(ahead >= 1 && ahead < bank->cap);
    struct eun_hd_metadata m;
    uint16_t id = take_metadata(bank, owner, &m);
    if (id == EUN_BLOCK_NONE) {
        *verdict = EUN_HD_NO_METADATA;
        return EUN_BLOCK_NONE;
    }
    uint32_t need = (ahead >> bank->block_shift) + 1u;
    if (ahead >= bank->narrow ? !eun_hd_widen(bank, &m, expected, psn, last, true)
                              : !eun_hd_take_blocks(bank, need, m.block)) {
        eun_block_pool_give_metadata(&bank->pool, id);
        *verdict = EUN_HD_NO_BLOCKS;
        return EUN_BLOCK_NONE;
    }
    if (eun_hd_is_wide(&m)) {
        eun_hd_wide_hold(bank, &m, psn, last);
    } else {
        m.last_inline = (uint8_t)psn;
        m.has_inline = last;
        eun_hd_set_ring(bank, &m, need, 0);
        struct eun_hd_piece piece = eun_hd_piece(bank, &m, ahead);
        *piece.block = (uint16_t)(1u << piece.bit);
        m.held = 1;
    }
    m.tag = (uint16_t)expected;
    store_metadata(bank, id, &m);
    *verdict = EUN_HD_HELD;
    return id;
}

void eun_hd_destroy(struct eun_hd_bank *bank, uint16_t id)
{
    struct eun_hd_metadata m;
    m = *eun_hd_look(bank, id, &m);
    bank->idle -= m.held == 0;
    if (eun_hd_is_wide(&m))
        eun_hd_wide_give(bank, &m);
    else
        eun_hd_give_narrow(bank, &m);
    uint32_t blocks = EUN_BLOCK_POOL_METADATA;
    if (eun_block_pool_is_chain(&bank->pool, id)) {
        blocks = EUN_BLOCK_POOL_CHAIN;
        bank->stats->chains--;
    }
    eun_block_pool_give_metadata(&bank->pool, id);
    bank->stats->blocks_in_use -= blocks;
    bank->stats->qps_active--;
}

/** The block in which the tag of a chain lies. */
static uint16_t *chain_tag(const struct eun_hd_bank *bank, uint16_t id)
{
    uint32_t index = offsetof(struct eun_hd_metadata, tag) / sizeof(uint16_t);
    return bank->pool.block + eun_block_pool_chain_block(&bank->pool, id, index);
}

/** A chain's metadata, to be changed: what is left in its place is not to be trusted. */
static void chain_open(const struct eun_hd_bank *bank, uint16_t id, uint32_t expected,
                       struct eun_hd_metadata *m)
{
    eun_block_pool_load_chain(&bank->pool, id, (uint16_t *)(void *)m);
    *chain_tag(bank, id) = (uint16_t)~expected;
    eun_hd_order_stores();
}

/** Puts it back; the tag last. */
static void chain_close(struct eun_hd_bank *bank, uint16_t id, uint32_t expected,
                        struct eun_hd_metadata *m)
{
    uint16_t tag = m->tag;
    m->tag = (uint16_t)~expected;
    eun_block_pool_store_chain(&bank->pool, id, (const uint16_t *)(const void *)m);
    eun_hd_order_stores();
    *chain_tag(bank, id) = tag;
}

enum eun_hd_verdict eun_hd_hold_chain(struct eun_hd_bank *bank, uint16_t id, uint32_t expected,
                                      uint32_t psn, bool last)
{
    struct eun_hd_metadata m;
    chain_open(bank, id, expected, &m);
    enum eun_hd_verdict verdict = eun_hd_hold(bank, &m, expected, psn, last);
    chain_close(bank, id, expected, &m);
    return verdict;
}

uint64_t eun_hd_advance_chain(struct eun_hd_bank *bank, uint16_t id, uint32_t expected, int64_t now)
{
    struct eun_hd_metadata m;
    chain_open(bank, id, expected, &m);
    uint64_t moved = eun_hd_advance(bank, &m, expected, now);
    chain_close(bank, id, expected, &m);
    return moved;
}

bool eun_hd_locate(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m,
                   uint32_t expected, uint32_t psn, uint16_t *block, uint32_t *bit)
{
    if (psn - expected >= eun_hd_mapped(bank, m))
        return false;
    struct eun_hd_piece piece = eun_hd_piece(bank, m, psn - expected);
    *block = (uint16_t)(piece.block - bank->pool.block);
    *bit = piece.bit;
    return true;
}

bool eun_hd_holds(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m,
                  uint32_t expected, uint32_t psn)
{
    if (eun_hd_is_wide(m))
        return psn - expected < bank->cap && eun_hd_wide_holds(bank, m, psn);
    uint16_t block;
    uint32_t bit;
    return eun_hd_locate(bank, m, expected, psn, &block, &bit) &&
           (bank->pool.block[block] >> bit & 1u) != 0;
}

bool eun_hd_is_last(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m, uint32_t psn)
{
    if (eun_hd_is_wide(m))
        return eun_hd_wide_is_last(bank, m, psn);
    if (m->has_inline && m->last_inline == (uint8_t)psn)
        return true;
    if (m->last_plane == EUN_BLOCK_NONE)
        return false;
    uint32_t bit;
    const uint16_t *block = eun_hd_plane_block(bank, m, psn, &bit);
    return (*block >> bit & 1u) != 0;
}
