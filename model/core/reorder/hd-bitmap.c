/* SPDX-License-Identifier: GPL-2.0-only */
#include "hd-bitmap.h"

#include "psn.h"

#include <assert.h>
#include <string.h>

#define PLANE_BLOCK_BITS 16u
#define WINDOW_WORDS (EUN_HD_CAP_MAX / 64u)

/** A stretch of PSNs within one block. */
struct piece {
    uint16_t *block;
    uint32_t bit;    /**< of its first PSN */
    uint32_t length; /**< PSNs */
};

static uint16_t bits_from(uint32_t bit, uint32_t n)
{
    return (uint16_t)(((1u << n) - 1u) << bit);
}

static void count_taken(struct eun_hd_bank *bank, uint32_t allocations, uint32_t blocks)
{
    struct eun_reorder_stats *stats = bank->stats;
    stats->alloc += allocations;
    stats->blocks_in_use += blocks;
    if (stats->blocks_peak < stats->blocks_in_use)
        stats->blocks_peak = stats->blocks_in_use;
}

/** Takes `n` bitmap blocks, all zero; all of them or none. */
static bool take_blocks(struct eun_hd_bank *bank, uint32_t n, uint16_t *ids)
{
    if (!eun_block_pool_take_blocks(&bank->pool, n, ids))
        return false;
    for (uint32_t i = 0; i < n; i++)
        bank->pool.block[ids[i]] = 0;
    count_taken(bank, n, n);
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

static uint32_t block_mask(const struct eun_hd_bank *bank)
{
    return (1u << bank->block_shift) - 1u;
}

/** Position of the PSN `ahead` of the cumulative point, in the ring or past it. */
static uint32_t position_of(const struct eun_hd_metadata *m, uint32_t ahead)
{
    if (ahead > m->ring_last)
        return m->ring_psns + ahead - m->ring_last - 1u;
    return eun_hd_ring_position(m, ahead);
}

/** The stretch that starts at the PSN `ahead` of the cumulative point, which is mapped. */
static struct piece piece_at(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m,
                             uint32_t ahead)
{
    uint32_t position = position_of(m, ahead);
    uint32_t bit = position & block_mask(bank);
    uint32_t length = block_mask(bank) + 1u - bit;
    if (ahead <= m->ring_last && length > m->ring_last + 1u - ahead)
        length = m->ring_last + 1u - ahead;
    uint16_t *block = bank->pool.block + m->block[position >> bank->block_shift];
    return (struct piece){block, bit, length};
}

/** PSNs from the cumulative point on that have a block. */
static uint32_t mapped_psns(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m)
{
    return m->ring_last + 1u + ((uint32_t)m->linear_blocks << bank->block_shift);
}

/** The last PSN of a ring without a linear part, ahead of the cumulative point. */
static uint8_t plain_last(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m)
{
    return (uint8_t)((m->ring_psns < bank->cap ? m->ring_psns : bank->cap) - 1u);
}

/** Makes the first `blocks` blocks a ring without a linear part. */
static void set_ring(const struct eun_hd_bank *bank, struct eun_hd_metadata *m, uint32_t blocks,
                     uint32_t head)
{
    uint32_t positions = blocks << bank->block_shift;
    m->ring_psns = (uint16_t)positions;
    m->ring_last = plain_last(bank, m);
    m->linear_blocks = 0;
    m->head = (uint8_t)(head == positions ? 0 : head);
}

bool eun_hd_bank_init(struct eun_hd_bank *bank, uint32_t blocks, uint32_t cap, uint32_t block_shift,
                      uint32_t stamp_shift, struct eun_reorder_stats *stats)
{
    assert(block_shift == 3 || block_shift == 4);
    assert(cap >= 1 && cap <= EUN_HD_BLOCK_IDS << block_shift);
    bank->cap = cap;
    bank->block_shift = block_shift;
    bank->stamp_shift = stamp_shift;
    bank->last_blocks = 1;
    while (bank->last_blocks * PLANE_BLOCK_BITS < cap)
        bank->last_blocks *= 2u;
    bank->idle = 0;
    bank->next_victim = 0;
    bank->stats = stats;
    return eun_block_pool_init(&bank->pool, blocks);
}

void eun_hd_bank_dispose(struct eun_hd_bank *bank)
{
    eun_block_pool_dispose(&bank->pool);
}

/** The Last plane: `psn`'s block in it, and its bit. */
static uint16_t *plane_block(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m,
                             uint32_t psn, uint32_t *bit)
{
    *bit = psn % PLANE_BLOCK_BITS;
    uint32_t index = psn / PLANE_BLOCK_BITS & (bank->last_blocks - 1u);
    return bank->pool.block + m->last_plane + index;
}

static bool take_plane(struct eun_hd_bank *bank, struct eun_hd_metadata *m)
{
    uint16_t id = eun_block_pool_take_run(&bank->pool, bank->last_blocks);
    if (id == EUN_BLOCK_NONE)
        return false;
    memset(bank->pool.block + id, 0, bank->last_blocks * sizeof(uint16_t));
    m->last_plane = id;
    bank->stats->last_blocks += bank->last_blocks;
    count_taken(bank, 1, bank->last_blocks);
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
    uint16_t *block = plane_block(bank, m, psn, &bit);
    *block = (uint16_t)(*block | 1u << bit);
}

/** Forgets, and counts, the plane's Last packets among the `n` PSNs from `from` on. */
static uint32_t take_plane_lasts(struct eun_hd_bank *bank, struct eun_hd_metadata *m, uint32_t from,
                                 uint32_t n)
{
    uint32_t lasts = 0;
    for (uint32_t done = 0; done < n;) {
        uint32_t bit;
        uint16_t *block = plane_block(bank, m, from + done, &bit);
        uint32_t length = PLANE_BLOCK_BITS - bit < n - done ? PLANE_BLOCK_BITS - bit : n - done;
        uint16_t mask = bits_from(bit, length);
        if ((*block & mask) != 0) {
            lasts += (uint32_t)__builtin_popcount(*block & mask);
            *block = (uint16_t)(*block & ~mask);
        }
        done += length;
    }
    return lasts;
}

/** Rewrites the bitmap as a plain ring that reaches `ahead`. False where there is no room. */
static bool compact(struct eun_hd_bank *bank, struct eun_hd_metadata *m, uint32_t ahead)
{
    uint32_t wanted = (ahead >> bank->block_shift) + 1u;
    uint32_t live = eun_hd_bitmap_blocks(m);
    uint16_t ids[2u * EUN_HD_BLOCK_IDS];
    uint32_t have = wanted > live ? wanted - live : 0;
    if (!take_blocks(bank, have, ids))
        return false;
    /* A stretch is at most 16 PSNs, so the word past its own exists for all but the last. */
    uint64_t window[WINDOW_WORDS + 1u] = {0};
    struct piece piece;
    for (uint32_t at = 0; at < mapped_psns(bank, m); at += piece.length) {
        piece = piece_at(bank, m, at);
        uint64_t bits = (uint64_t)(*piece.block & bits_from(piece.bit, piece.length)) >> piece.bit;
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
    set_ring(bank, m, wanted, 0);
    bank->stats->compact++;
    return true;
}

/** Gets a block for the PSN `ahead`, which has none. False where there is no room. */
static bool grow(struct eun_hd_bank *bank, struct eun_hd_metadata *m, uint32_t ahead)
{
    uint32_t used = eun_hd_ring_blocks(bank, m) + m->linear_blocks;
    uint32_t need = m->held == 0 ? (ahead >> bank->block_shift) + 1u - used
                                 : ((ahead - mapped_psns(bank, m)) >> bank->block_shift) + 1u;
    if (used + need > EUN_HD_BLOCK_IDS)
        return compact(bank, m, ahead);
    uint16_t ids[EUN_HD_BLOCK_IDS];
    if (!take_blocks(bank, need, ids))
        return false;
    for (uint32_t i = 0; i < need; i++)
        m->block[used + i] = ids[i];
    if (m->held == 0)
        set_ring(bank, m, used + need, 0);
    else
        m->linear_blocks = (uint8_t)(m->linear_blocks + need);
    return true;
}

/** As eun_hd_hold(), with ring_last right for a bitmap that holds nothing, too. */
static enum eun_hd_verdict hold(struct eun_hd_bank *bank, struct eun_hd_metadata *m,
                                uint32_t expected, uint32_t psn, bool last)
{
    uint32_t ahead = psn - expected;
    if (ahead >= bank->cap)
        return eun_psn_before(psn, expected) ? EUN_HD_DUPLICATE : EUN_HD_CAP;
    bool mapped = ahead < mapped_psns(bank, m);
    if (mapped && eun_hd_holds(bank, m, expected, psn))
        return EUN_HD_DUPLICATE;
    bool new_plane = last && !last_fits(m);
    if (new_plane && !take_plane(bank, m))
        return EUN_HD_NO_BLOCKS;
    if (!mapped && !grow(bank, m, ahead)) {
        if (new_plane)
            give_plane(bank, m);
        return EUN_HD_NO_BLOCKS;
    }
    if (last)
        keep_last(bank, m, psn);
    struct piece piece = piece_at(bank, m, ahead);
    *piece.block = (uint16_t)(*piece.block | 1u << piece.bit);
    if (m->held == 0)
        bank->idle--;
    m->held++;
    return EUN_HD_HELD;
}

enum eun_hd_verdict eun_hd_hold(struct eun_hd_bank *bank, struct eun_hd_metadata *m,
                                uint32_t expected, uint32_t psn, bool last)
{
    enum eun_hd_verdict verdict = EUN_HD_CAP;
    if (bank->block_shift == 4 && (!last || last_fits(m)))
        verdict = eun_hd_hold_in_ring(bank->pool.block, m, psn - expected);
    if (verdict == EUN_HD_HELD && last)
        keep_last(bank, m, psn);
    if (verdict != EUN_HD_CAP)
        return verdict;
    if (m->held == 0)
        m->ring_last = plain_last(bank, m);
    verdict = hold(bank, m, expected, psn, last);
    if (m->held == 0)
        m->ring_last = 0;
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
    set_ring(bank, m, m->linear_blocks, left);
    bank->stats->merge++;
}

/** The prefix moved by `n` within a ring that drains: gives back the blocks that it left behind. */
static void leave_behind(struct eun_hd_bank *bank, struct eun_hd_metadata *m, uint32_t n)
{
    uint32_t shift = bank->block_shift;
    uint32_t blocks = eun_hd_ring_blocks(bank, m);
    uint32_t end = (m->head + m->ring_last + 1u) % m->ring_psns;
    /* The block in which the ring ends holds its oldest PSNs and its newest ones. */
    uint32_t both = (end & block_mask(bank)) == 0 ? EUN_HD_BLOCK_IDS : end >> shift;
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
    m->idle_since = eun_hd_stamp(bank, now);
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
    uint64_t lasts = *plane_block(bank, m, from, &bit);
    lasts |= (uint64_t)*plane_block(bank, m, from + PLANE_BLOCK_BITS, &bit) << PLANE_BLOCK_BITS;
    lasts |= (uint64_t)*plane_block(bank, m, from + 2u * PLANE_BLOCK_BITS, &bit)
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
    while (n < mapped_psns(bank, m)) {
        struct piece piece = piece_at(bank, m, n);
        uint32_t run = (uint32_t)__builtin_ctz(~((uint32_t)*piece.block >> piece.bit));
        run = run < piece.length ? run : piece.length;
        *piece.block = (uint16_t)(*piece.block & ~bits_from(piece.bit, run));
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
    *first = (uint16_t)(*first & kept);
    *second = (uint16_t)(*second & kept >> 16);
    if (bit + run == 32)
        return advance_on(bank, m, expected, now, run + 1u);
    m->head = (uint8_t)eun_hd_ring_position(m, run + 1u);
    return settle(bank, m, expected, now, run + 1u);
}

uint16_t eun_hd_create(struct eun_hd_bank *bank, struct eun_hd_owner owner, uint32_t expected,
                       uint32_t psn, bool last, enum eun_hd_verdict *verdict)
{
    uint32_t ahead = psn - expected;
    assert(ahead >= 1 && ahead < bank->cap);
    uint32_t need = (ahead >> bank->block_shift) + 1u;
    uint16_t id = eun_block_pool_take_metadata(&bank->pool);
    if (id == EUN_BLOCK_NONE) {
        *verdict = EUN_HD_NO_METADATA;
        return EUN_BLOCK_NONE;
    }
    uint16_t ids[EUN_HD_BLOCK_IDS];
    if (!take_blocks(bank, need, ids)) {
        eun_block_pool_give_metadata(&bank->pool, id);
        *verdict = EUN_HD_NO_BLOCKS;
        return EUN_BLOCK_NONE;
    }
    struct eun_hd_metadata *m = eun_hd_metadata(bank, id);
    m->owner_low = (uint16_t)owner.qp;
    m->owner_high = (uint8_t)(owner.qp >> 16);
    m->generation = owner.generation;
    m->idle_since = 0;
    m->last_plane = EUN_BLOCK_NONE;
    m->last_inline = (uint8_t)psn;
    m->has_inline = last;
    for (uint32_t slot = 0; slot < EUN_HD_BLOCK_IDS; slot++)
        m->block[slot] = slot < need ? ids[slot] : (uint16_t)EUN_BLOCK_NONE;
    set_ring(bank, m, need, 0);
    struct piece piece = piece_at(bank, m, ahead);
    *piece.block = (uint16_t)(1u << piece.bit);
    m->held = 1;
    struct eun_reorder_stats *stats = bank->stats;
    count_taken(bank, 1, EUN_BLOCK_POOL_METADATA);
    if (++stats->qps_active > stats->qps_active_peak)
        stats->qps_active_peak = stats->qps_active;
    *verdict = EUN_HD_HELD;
    return id;
}

void eun_hd_destroy(struct eun_hd_bank *bank, uint16_t id)
{
    struct eun_hd_metadata *m = eun_hd_metadata(bank, id);
    if (m->held == 0)
        bank->idle--;
    give_plane(bank, m);
    for (uint32_t slot = 0; slot < EUN_HD_BLOCK_IDS; slot++)
        give_block(bank, &m->block[slot]);
    eun_block_pool_give_metadata(&bank->pool, id);
    bank->stats->blocks_in_use -= EUN_BLOCK_POOL_METADATA;
    bank->stats->qps_active--;
}

bool eun_hd_locate(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m,
                   uint32_t expected, uint32_t psn, uint16_t *block, uint32_t *bit)
{
    if (psn - expected >= mapped_psns(bank, m))
        return false;
    struct piece piece = piece_at(bank, m, psn - expected);
    *block = (uint16_t)(piece.block - bank->pool.block);
    *bit = piece.bit;
    return true;
}

bool eun_hd_holds(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m,
                  uint32_t expected, uint32_t psn)
{
    uint16_t block;
    uint32_t bit;
    return eun_hd_locate(bank, m, expected, psn, &block, &bit) &&
           (bank->pool.block[block] >> bit & 1u) != 0;
}

bool eun_hd_is_last(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m, uint32_t psn)
{
    if (m->has_inline && m->last_inline == (uint8_t)psn)
        return true;
    if (m->last_plane == EUN_BLOCK_NONE)
        return false;
    uint32_t bit;
    const uint16_t *block = plane_block(bank, m, psn, &bit);
    return (*block >> bit & 1u) != 0;
}

/** How many of the plane's Last packets are among the `n` PSNs from `from` on. */
static uint32_t count_plane_lasts(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m,
                                  uint32_t from, uint32_t n)
{
    uint32_t lasts = 0;
    while (n > 0) {
        uint32_t bit;
        const uint16_t *block = plane_block(bank, m, from, &bit);
        uint32_t length = PLANE_BLOCK_BITS - bit < n ? PLANE_BLOCK_BITS - bit : n;
        lasts += (uint32_t)__builtin_popcount(*block & bits_from(bit, length));
        from += length;
        n -= length;
    }
    return lasts;
}

struct eun_hd_tally eun_hd_count(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m,
                                 uint32_t expected, uint32_t from, uint32_t to)
{
    struct eun_hd_tally tally = {0};
    if (m->held == 0)
        return tally;
    uint32_t mapped = mapped_psns(bank, m);
    uint32_t end = to - expected < mapped ? to - expected : mapped;
    for (uint32_t at = from - expected; at < end;) {
        struct piece piece = piece_at(bank, m, at);
        uint32_t length = piece.length < end - at ? piece.length : end - at;
        tally.held += (uint32_t)__builtin_popcount(*piece.block & bits_from(piece.bit, length));
        at += length;
    }
    tally.lasts = m->has_inline && (uint8_t)(m->last_inline - from) < to - from;
    if (m->last_plane != EUN_BLOCK_NONE)
        tally.lasts += count_plane_lasts(bank, m, from, to - from);
    return tally;
}

uint32_t eun_hd_bitmap_blocks(const struct eun_hd_metadata *m)
{
    uint32_t blocks = 0;
    for (uint32_t slot = 0; slot < EUN_HD_BLOCK_IDS; slot++)
        blocks += m->block[slot] != EUN_BLOCK_NONE;
    return blocks;
}

uint32_t eun_hd_last_blocks(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m)
{
    return m->last_plane == EUN_BLOCK_NONE ? 0 : bank->last_blocks;
}

static bool mark(const struct eun_hd_bank *bank, uint32_t id, uint32_t n, uint64_t *held)
{
    for (uint32_t end = id + n; id < end; id++) {
        uint64_t bit = UINT64_C(1) << (id % 64u);
        if (id >= bank->pool.size || eun_block_pool_is_free(&bank->pool, id) ||
            (held[id / 64u] & bit) != 0)
            return false;
        held[id / 64u] |= bit;
    }
    return true;
}

bool eun_hd_mark_blocks(const struct eun_hd_bank *bank, uint16_t id, uint64_t *held)
{
    if (!mark(bank, id, EUN_BLOCK_POOL_METADATA, held))
        return false;
    const struct eun_hd_metadata *m = eun_hd_metadata(bank, id);
    for (uint32_t slot = 0; slot < EUN_HD_BLOCK_IDS; slot++)
        if (m->block[slot] != EUN_BLOCK_NONE && !mark(bank, m->block[slot], 1, held))
            return false;
    return m->last_plane == EUN_BLOCK_NONE || mark(bank, m->last_plane, bank->last_blocks, held);
}

/** Checks the numbers that describe the ring and the linear part. */
static const char *shape_fault(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m)
{
    if (m->ring_psns == 0 || m->ring_psns % (block_mask(bank) + 1u) != 0)
        return "a ring ends within a block";
    if (eun_hd_ring_blocks(bank, m) + m->linear_blocks > EUN_HD_BLOCK_IDS)
        return "a bitmap has more blocks than ids";
    if (m->head >= m->ring_psns || m->ring_last >= m->ring_psns)
        return "a bitmap's cumulative point lies outside its ring";
    if (m->linear_blocks == 0 && m->ring_last != (m->held == 0 ? 0 : plain_last(bank, m)))
        return "a ring without a linear part does not span its blocks";
    if (m->held == 0 && m->linear_blocks > 0)
        return "an empty bitmap has a linear part";
    return NULL;
}

/** Checks that exactly the blocks that PSNs of the window map to are there. */
static const char *slots_fault(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m)
{
    bool used[EUN_HD_BLOCK_IDS] = {false};
    for (uint32_t ahead = 0; ahead < mapped_psns(bank, m); ahead++)
        used[position_of(m, ahead) >> bank->block_shift] = true;
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
    uint32_t in_window = 0;
    struct piece piece;
    for (uint32_t at = 0; at < mapped_psns(bank, m); at += piece.length) {
        piece = piece_at(bank, m, at);
        uint32_t bits = *piece.block & bits_from(piece.bit, piece.length);
        if (at == 0 && (bits >> piece.bit & 1u) != 0)
            return "a bitmap holds its cumulative point";
        in_window += (uint32_t)__builtin_popcount(bits);
    }
    uint32_t in_blocks = 0;
    for (uint32_t slot = 0; slot < EUN_HD_BLOCK_IDS; slot++)
        if (m->block[slot] != EUN_BLOCK_NONE)
            in_blocks += (uint32_t)__builtin_popcount(bank->pool.block[m->block[slot]]);
    if (in_window != m->held)
        return "a bitmap's count of PSNs held is wrong";
    return in_blocks == in_window ? NULL : "a bit is set outside a bitmap's window";
}

const char *eun_hd_fault(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m)
{
    const char *fault = shape_fault(bank, m);
    if (fault == NULL)
        fault = slots_fault(bank, m);
    if (fault == NULL)
        fault = bits_fault(bank, m);
    if (fault != NULL)
        return fault;
    uint32_t lasts = m->has_inline;
    if (m->last_plane != EUN_BLOCK_NONE) {
        if (m->held == 0)
            return "an empty bitmap has a Last plane";
        for (uint32_t i = 0; i < bank->last_blocks; i++)
            lasts += (uint32_t)__builtin_popcount(bank->pool.block[m->last_plane + i]);
    }
    return m->has_inline <= 1 && lasts <= m->held ? NULL : "more Last packets held than packets";
}
