/* SPDX-License-Identifier: GPL-2.0-only */
#include "reorder.h"

#include "psn.h"
#include "reorder-internal.h"

#include <stdlib.h>

/** A stamp's unit is at most this part of the idle epoch, and at least half of that. */
#define STAMPS_PER_EPOCH 64

struct eun_hd_bank *eun_reorder_bank(struct eun_reorder *layer, uint32_t bank)
{
    return &layer->front.banks[bank];
}

/** The metadata of `qp`, to look at: a chain's is copied to `copy`. NULL where it has none. */
static const struct eun_hd_metadata *look(const struct eun_reorder *layer, uint32_t qp,
                                          struct eun_hd_metadata *copy)
{
    if (qp >= layer->resident_count || layer->front.resident[qp].metadata == EUN_BLOCK_NONE)
        return NULL;
    return eun_hd_look(eun_reorder_bank_for(layer, qp), layer->front.resident[qp].metadata, copy);
}

void eun_reorder_update_front(struct eun_reorder *layer)
{
    const struct eun_hd_bank *bank = layer->front.banks;
    bool simple =
        layer->front.bank_count == 1 && bank->block_shift == 4 && layer->stats.chains == 0;
    layer->front.only_blocks = simple ? bank->pool.block : NULL;
}

static bool config_is_valid(const struct eun_reorder_config *config)
{
    if (config->banks == 0 || (config->block_bits != 8 && config->block_bits != 16))
        return false;
    uint32_t largest_bank = config->blocks / config->banks + (config->blocks % config->banks > 0);
    return largest_bank <= EUN_BLOCK_POOL_MAX && config->cap_psns >= 1 &&
           config->cap_psns <= EUN_HD_CAP_MAX && config->idle_epoch_ps >= 0 &&
           config->reserve <= config->blocks;
}

struct eun_reorder *eun_reorder_new(const struct eun_reorder_config *config)
{
    if (!config_is_valid(config))
        return NULL;
    struct eun_reorder *layer = calloc(1, sizeof *layer);
    if (layer == NULL)
        return NULL;
    layer->front.banks = calloc(config->banks, sizeof *layer->front.banks);
    if (layer->front.banks == NULL) {
        eun_reorder_free(layer);
        return NULL;
    }
    uint64_t epoch = (uint64_t)config->idle_epoch_ps;
    uint32_t shift = 0;
    while (epoch >> shift >= 2u * STAMPS_PER_EPOCH)
        shift++;
    uint64_t unit = UINT64_C(1) << shift;
    /* One more than the epoch has, because the moment lies anywhere within its stamp's unit. */
    layer->idle_stamps = (uint32_t)((epoch + unit - 1u) / unit) + 1u;
    layer->front.bank_count = config->banks;
    for (uint32_t i = 0; i < config->banks; i++) {
        uint32_t blocks = config->blocks / config->banks + (i < config->blocks % config->banks);
        uint32_t block_shift = config->block_bits == 16 ? 4u : 3u;
        if (!eun_hd_bank_init(&layer->front.banks[i], blocks, config->cap_psns, block_shift, shift,
                              &layer->stats)) {
            eun_reorder_free(layer);
            return NULL;
        }
        layer->front.banks[i].reserve = (config->reserve + config->banks - 1u) / config->banks;
        layer->front.banks[i].chains = config->chains;
    }
    eun_reorder_update_front(layer);
    return layer;
}

void eun_reorder_free(struct eun_reorder *layer)
{
    if (layer == NULL)
        return;
    for (uint32_t i = 0; i < layer->front.bank_count; i++)
        eun_hd_bank_dispose(&layer->front.banks[i]);
    free(layer->front.banks);
    free(layer->front.resident);
    free(layer);
}

/** Makes the resident table reach `qp`; a quarter more than it had at least. */
static bool grow_resident(struct eun_reorder *layer, uint32_t qp)
{
    uint32_t count = layer->resident_count + layer->resident_count / 4u;
    count = count > qp ? count : qp + 1u;
    struct eun_reorder_resident *table =
        realloc(layer->front.resident, count * sizeof *layer->front.resident);
    if (table == NULL)
        return false;
    for (uint32_t i = layer->resident_count; i < count; i++)
        table[i] = (struct eun_reorder_resident){.metadata = EUN_BLOCK_NONE};
    layer->front.resident = table;
    layer->resident_count = count;
    return true;
}

bool eun_reorder_open(struct eun_reorder *layer, uint32_t qp)
{
    if (qp > EUN_REORDER_QP_MAX || (qp >= layer->resident_count && !grow_resident(layer, qp)))
        return false;
    eun_reorder_close(layer, qp);
    layer->front.resident[qp].generation++;
    layer->stats.qps_open++;
    return true;
}

void eun_reorder_close(struct eun_reorder *layer, uint32_t qp)
{
    if (!eun_reorder_is_open(layer, qp))
        return;
    eun_reorder_forget(layer, qp);
    layer->front.resident[qp].generation++;
    layer->stats.qps_open--;
}

void eun_reorder_forget(struct eun_reorder *layer, uint32_t qp)
{
    if (qp >= layer->resident_count || layer->front.resident[qp].metadata == EUN_BLOCK_NONE)
        return;
    uint16_t id = layer->front.resident[qp].metadata;
    uint32_t chains = layer->stats.chains;
    layer->front.resident[qp].metadata = EUN_BLOCK_NONE;
    eun_hd_destroy(eun_reorder_bank_for(layer, qp), id);
    if (chains != layer->stats.chains)
        eun_reorder_update_front(layer);
}

void eun_reorder_lose(struct eun_reorder *layer, uint32_t qp)
{
    if (qp >= layer->resident_count || layer->front.resident[qp].metadata == EUN_BLOCK_NONE)
        return;
    /* Whether it was idle cannot be read any more: the bank's count may be one too high. */
    layer->front.resident[qp].metadata = EUN_BLOCK_NONE;
    layer->stats.qps_active--;
}

/** Does `qp` have the metadata `id` of that bank? Metadata that leaked has no QP. */
static bool leads_to(const struct eun_reorder *layer, const struct eun_hd_bank *bank, uint32_t qp,
                     uint16_t id)
{
    return qp < layer->resident_count && layer->front.resident[qp].metadata == id &&
           eun_reorder_bank_for(layer, qp) == bank;
}

/**
 * Takes back the metadata of an idle QP of the bank, other than `except` (a metadata id or
 * EUN_BLOCK_NONE). False where there is none.
 */
static bool reclaim_early(struct eun_reorder *layer, struct eun_hd_bank *bank, uint16_t except)
{
    struct eun_hd_metadata copy;
    bool except_idle = except != EUN_BLOCK_NONE && eun_hd_look(bank, except, &copy)->held == 0;
    if (bank->idle <= except_idle)
        return false;
    uint32_t from = bank->next_victim;
    for (bool wrapped = false;;) {
        uint16_t id = eun_block_pool_next_metadata(&bank->pool, from);
        if (id == EUN_BLOCK_NONE) {
            if (wrapped)
                return false;
            wrapped = true;
            from = 0;
            continue;
        }
        from = id + 1u;
        const struct eun_hd_metadata *m = eun_hd_look(bank, id, &copy);
        if (id == except || m->held > 0 || !leads_to(layer, bank, eun_hd_owner_qp(m), id))
            continue;
        bank->next_victim = from;
        eun_reorder_forget(layer, eun_hd_owner_qp(m));
        layer->stats.reclaim_early++;
        return true;
    }
}

/** First arrival ahead of the cumulative point of a QP without metadata. */
static enum eun_hd_verdict hold_first(struct eun_reorder *layer, uint32_t qp, uint32_t expected,
                                      uint32_t psn, bool last)
{
    struct eun_hd_bank *bank = eun_reorder_bank_for(layer, qp);
    if (psn - expected >= bank->cap)
        return eun_psn_before(psn, expected) ? EUN_HD_DUPLICATE : EUN_HD_CAP;
    struct eun_reorder_resident *resident = &layer->front.resident[qp];
    struct eun_hd_owner owner = {.qp = qp, .generation = (uint8_t)resident->generation};
    enum eun_hd_verdict verdict;
    uint16_t id;
    do
        id = eun_hd_create(bank, owner, expected, psn, last, &verdict);
    while (verdict != EUN_HD_HELD && reclaim_early(layer, bank, EUN_BLOCK_NONE));
    resident->metadata = id;
    if (layer->stats.chains > 0)
        eun_reorder_update_front(layer);
    if (verdict == EUN_HD_NO_METADATA && bank->pool.free_count > EUN_BLOCK_POOL_METADATA)
        layer->stats.fragmented++;
    return verdict;
}

/** An arrival ahead of the cumulative point, or below it, of a QP with metadata. */
static enum eun_hd_verdict hold_next(struct eun_reorder *layer, uint32_t qp, uint32_t expected,
                                     uint32_t psn, bool last)
{
    struct eun_hd_bank *bank = eun_reorder_bank_for(layer, qp);
    uint16_t id = layer->front.resident[qp].metadata;
    bool chain = eun_block_pool_is_chain(&bank->pool, id);
    enum eun_hd_verdict verdict;
    do
        verdict = chain ? eun_hd_hold_chain(bank, id, expected, psn, last)
                        : eun_hd_hold(bank, eun_hd_metadata(bank, id), expected, psn, last);
    while (verdict == EUN_HD_NO_BLOCKS && reclaim_early(layer, bank, id));
    return verdict;
}

enum eun_hd_verdict eun_reorder_hold(struct eun_reorder *layer, uint32_t qp, uint32_t expected,
                                     uint32_t psn, bool last)
{
    bool active = layer->front.resident[qp].metadata != EUN_BLOCK_NONE;
    enum eun_hd_verdict verdict = active ? hold_next(layer, qp, expected, psn, last)
                                         : hold_first(layer, qp, expected, psn, last);
    if (verdict == EUN_HD_CAP)
        layer->stats.cap_hit++;
    if (verdict <= EUN_HD_CAP)
        return verdict;
    layer->stats.alloc_miss++;
    layer->stats.growth_refused += active;
    layer->stats.metadata_refused += !active;
    return verdict;
}

uint64_t eun_reorder_advance(struct eun_reorder *layer, uint32_t qp, uint32_t expected, int64_t now)
{
    struct eun_hd_bank *bank = eun_reorder_bank_for(layer, qp);
    uint16_t id = layer->front.resident[qp].metadata;
    if (eun_block_pool_is_chain(&bank->pool, id))
        return eun_hd_advance_chain(bank, id, expected, now);
    return eun_hd_advance(bank, eun_hd_metadata(bank, id), expected, now);
}

bool eun_reorder_has_gap(const struct eun_reorder *layer, uint32_t qp)
{
    struct eun_hd_metadata copy;
    const struct eun_hd_metadata *m = look(layer, qp, &copy);
    return m != NULL && m->held > 0;
}

bool eun_reorder_holds(const struct eun_reorder *layer, uint32_t qp, uint32_t expected,
                       uint32_t psn)
{
    struct eun_hd_metadata copy;
    const struct eun_hd_metadata *m = look(layer, qp, &copy);
    return m != NULL && eun_hd_holds(eun_reorder_bank_for(layer, qp), m, expected, psn);
}

/**
 * Gives back what has been idle for long enough. Result: stamps until more is, UINT32_MAX where
 * nothing else is idle.
 *
 * Stamps have 16 bits and wrap. An age read too small by a wrap delays a reclaim by one epoch at
 * most; none is ever read too large, because time does not go back.
 */
static uint32_t sweep_bank(struct eun_reorder *layer, struct eun_hd_bank *bank, int64_t now)
{
    uint32_t next = UINT32_MAX;
    uint16_t stamp = eun_hd_stamp(bank, now);
    uint32_t id = bank->idle == 0 ? EUN_BLOCK_NONE : eun_block_pool_next_metadata(&bank->pool, 0);
    for (; id != EUN_BLOCK_NONE; id = eun_block_pool_next_metadata(&bank->pool, id + 1u)) {
        struct eun_hd_metadata copy;
        const struct eun_hd_metadata *m = eun_hd_look(bank, (uint16_t)id, &copy);
        if (m->held > 0 || !leads_to(layer, bank, eun_hd_owner_qp(m), (uint16_t)id))
            continue;
        uint32_t age = (uint16_t)(stamp - m->tag);
        if (age >= layer->idle_stamps) {
            eun_reorder_forget(layer, eun_hd_owner_qp(m));
            layer->stats.reclaim++;
        } else if (layer->idle_stamps - age < next) {
            next = layer->idle_stamps - age;
        }
    }
    return next;
}

int64_t eun_reorder_sweep(struct eun_reorder *layer, int64_t now)
{
    uint32_t next = UINT32_MAX;
    for (uint32_t i = 0; i < layer->front.bank_count; i++) {
        uint32_t bank_next = sweep_bank(layer, &layer->front.banks[i], now);
        next = bank_next < next ? bank_next : next;
    }
    if (next == UINT32_MAX && layer->stats.qps_active > 0)
        next = layer->idle_stamps; /* one that has a gap now may be idle an epoch later */
    uint32_t shift = layer->front.banks[0].stamp_shift;
    uint64_t stamp = (uint64_t)now >> shift;
    if (next == UINT32_MAX || stamp + next > (uint64_t)INT64_MAX >> shift)
        return INT64_MAX;
    return (int64_t)((stamp + next) << shift);
}

const struct eun_reorder_stats *eun_reorder_stats(const struct eun_reorder *layer)
{
    return &layer->stats;
}

void eun_reorder_memory(const struct eun_reorder *layer, struct eun_reorder_memory *memory)
{
    const struct eun_reorder_stats *stats = &layer->stats;
    uint64_t block_bytes = 0;
    uint64_t used_bytes = 0;
    memory->control = sizeof *layer + layer->front.bank_count * sizeof *layer->front.banks;
    for (uint32_t i = 0; i < layer->front.bank_count; i++) {
        const struct eun_block_pool *pool = &layer->front.banks[i].pool;
        block_bytes += eun_block_pool_block_bytes(pool);
        used_bytes += (pool->size - pool->free_count) * sizeof *pool->block;
        memory->control += eun_block_pool_control_bytes(pool);
    }
    uint64_t table = (uint64_t)layer->resident_count * sizeof *layer->front.resident;
    uint64_t open = (uint64_t)stats->qps_open * sizeof *layer->front.resident;
    uint64_t links = (uint64_t)stats->chains * (EUN_BLOCK_POOL_CHAIN - EUN_BLOCK_POOL_METADATA) *
                     sizeof(uint16_t);
    memory->control += links;
    memory->last = (uint64_t)stats->last_blocks * sizeof(uint16_t);
    memory->state = open + used_bytes - memory->last - links;
    memory->unused = table - open + block_bytes - used_bytes;
    memory->total = memory->state + memory->last + memory->control + memory->unused;
}

void eun_reorder_view(const struct eun_reorder *layer, uint32_t qp, struct eun_reorder_view *view)
{
    struct eun_hd_metadata copy;
    const struct eun_hd_metadata *m = look(layer, qp, &copy);
    *view = (struct eun_reorder_view){.active = m != NULL};
    if (m == NULL)
        return;
    const struct eun_hd_bank *bank = eun_reorder_bank_for(layer, qp);
    view->wide = eun_hd_is_wide(m);
    view->chain = m == &copy;
    view->held = eun_hd_held(m);
    view->ring_blocks = view->wide ? 0 : eun_hd_ring_blocks(bank, m);
    view->linear_blocks = view->wide ? 0 : m->linear_blocks;
    view->bitmap_blocks = eun_hd_bitmap_blocks(m);
    view->last_blocks = eun_hd_last_blocks(bank, m);
}
