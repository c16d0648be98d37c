/* SPDX-License-Identifier: GPL-2.0-only */
#include "reorder.h"

#include "psn.h"

#include <stdlib.h>

/** A stamp's unit is at most this part of the idle epoch, and at least half of that. */
#define STAMPS_PER_EPOCH 64

struct eun_reorder {
    struct eun_reorder_front front;
    uint32_t resident_count;        /**< entries of the resident table */
    uint32_t idle_stamps;           /**< stamps after which an idle bitmap goes back */
    struct eun_reorder_stats stats; /**< the banks count here */
};

struct eun_hd_bank *eun_reorder_bank(struct eun_reorder *layer, uint32_t bank)
{
    return &layer->front.banks[bank];
}

static struct eun_hd_bank *bank_of(const struct eun_reorder *layer, uint32_t qp)
{
    return eun_reorder_bank_of(&layer->front, qp);
}

static bool is_open(const struct eun_reorder *layer, uint32_t qp)
{
    return qp < layer->resident_count && layer->front.resident[qp].generation % 2u == 1u;
}

/** The metadata of `qp`; NULL where it has none. */
static struct eun_hd_metadata *metadata_of(const struct eun_reorder *layer, uint32_t qp)
{
    if (qp >= layer->resident_count || layer->front.resident[qp].metadata == EUN_BLOCK_NONE)
        return NULL;
    return eun_hd_metadata(bank_of(layer, qp), layer->front.resident[qp].metadata);
}

static bool config_is_valid(const struct eun_reorder_config *config)
{
    if (config->banks == 0 || (config->block_bits != 8 && config->block_bits != 16))
        return false;
    uint32_t largest_bank = config->blocks / config->banks + (config->blocks % config->banks > 0);
    return largest_bank <= EUN_BLOCK_POOL_MAX && config->cap_psns >= 1 &&
           config->cap_psns <= EUN_HD_BLOCK_IDS * config->block_bits && config->idle_epoch_ps >= 0;
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
    }
    if (config->banks == 1 && config->block_bits == 16)
        layer->front.only_blocks = layer->front.banks[0].pool.block;
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
    if (!is_open(layer, qp))
        return;
    eun_reorder_forget(layer, qp);
    layer->front.resident[qp].generation++;
    layer->stats.qps_open--;
}

struct eun_hd_tally eun_reorder_count(const struct eun_reorder *layer, uint32_t qp,
                                      uint32_t expected, uint32_t from, uint32_t to)
{
    const struct eun_hd_metadata *m = metadata_of(layer, qp);
    if (m == NULL)
        return (struct eun_hd_tally){0};
    return eun_hd_count(bank_of(layer, qp), m, expected, from, to);
}

void eun_reorder_forget(struct eun_reorder *layer, uint32_t qp)
{
    if (metadata_of(layer, qp) == NULL)
        return;
    uint16_t id = layer->front.resident[qp].metadata;
    layer->front.resident[qp].metadata = EUN_BLOCK_NONE;
    eun_hd_destroy(bank_of(layer, qp), id);
}

/**
 * Takes back the metadata of an idle QP of the bank, other than `except` (a metadata id or
 * EUN_BLOCK_NONE). False where there is none.
 */
static bool reclaim_early(struct eun_reorder *layer, struct eun_hd_bank *bank, uint16_t except)
{
    bool except_idle = except != EUN_BLOCK_NONE && eun_hd_metadata(bank, except)->held == 0;
    if (bank->idle <= except_idle)
        return false;
    uint32_t from = bank->next_victim;
    for (;;) {
        uint16_t id = eun_block_pool_next_metadata(&bank->pool, from);
        from = id == EUN_BLOCK_NONE ? 0 : id + 1u;
        if (id == EUN_BLOCK_NONE || id == except || eun_hd_metadata(bank, id)->held > 0)
            continue;
        bank->next_victim = from;
        eun_reorder_forget(layer, eun_hd_owner_qp(eun_hd_metadata(bank, id)));
        layer->stats.reclaim_early++;
        return true;
    }
}

/** First arrival ahead of the cumulative point of a QP without metadata. */
static enum eun_hd_verdict hold_first(struct eun_reorder *layer, uint32_t qp, uint32_t expected,
                                      uint32_t psn, bool last)
{
    struct eun_hd_bank *bank = bank_of(layer, qp);
    if (psn - expected >= bank->cap)
        return eun_psn_before(psn, expected) ? EUN_HD_DUPLICATE : EUN_HD_CAP;
    struct eun_reorder_resident *resident = &layer->front.resident[qp];
    struct eun_hd_owner owner = {.qp = qp, .generation = (uint8_t)resident->generation};
    enum eun_hd_verdict verdict;
    do
        resident->metadata = eun_hd_create(bank, owner, expected, psn, last, &verdict);
    while (verdict != EUN_HD_HELD && reclaim_early(layer, bank, EUN_BLOCK_NONE));
    return verdict;
}

/** An arrival ahead of the cumulative point, or below it, of a QP with metadata. */
static enum eun_hd_verdict hold_next(struct eun_reorder *layer, uint32_t qp, uint32_t expected,
                                     uint32_t psn, bool last)
{
    struct eun_hd_bank *bank = bank_of(layer, qp);
    uint16_t id = layer->front.resident[qp].metadata;
    enum eun_hd_verdict verdict;
    do
        verdict = eun_hd_hold(bank, eun_hd_metadata(bank, id), expected, psn, last);
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
    else if (verdict > EUN_HD_CAP)
        layer->stats.alloc_miss++;
    return verdict;
}

bool eun_reorder_has_gap(const struct eun_reorder *layer, uint32_t qp)
{
    const struct eun_hd_metadata *m = metadata_of(layer, qp);
    return m != NULL && m->held > 0;
}

bool eun_reorder_holds(const struct eun_reorder *layer, uint32_t qp, uint32_t expected,
                       uint32_t psn)
{
    const struct eun_hd_metadata *m = metadata_of(layer, qp);
    return m != NULL && eun_hd_holds(bank_of(layer, qp), m, expected, psn);
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
        const struct eun_hd_metadata *m = eun_hd_metadata(bank, (uint16_t)id);
        if (m->held > 0)
            continue;
        uint32_t age = (uint16_t)(stamp - m->idle_since);
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
    memory->last = (uint64_t)stats->last_blocks * sizeof(uint16_t);
    memory->state = open + used_bytes - memory->last;
    memory->unused = table - open + block_bytes - used_bytes;
    memory->total = memory->state + memory->last + memory->control + memory->unused;
}

void eun_reorder_view(const struct eun_reorder *layer, uint32_t qp, struct eun_reorder_view *view)
{
    const struct eun_hd_metadata *m = metadata_of(layer, qp);
    *view = (struct eun_reorder_view){.active = m != NULL};
    if (m == NULL)
        return;
    view->held = m->held;
    view->ring_blocks = eun_hd_ring_blocks(bank_of(layer, qp), m);
    view->linear_blocks = m->linear_blocks;
    view->bitmap_blocks = eun_hd_bitmap_blocks(m);
    view->last_blocks = eun_hd_last_blocks(bank_of(layer, qp), m);
}

/** Words between the maps of two banks in the scratch memory of scrubber and validation. */
static size_t scratch_stride(const struct eun_reorder *layer)
{
    return eun_block_pool_map_words(&layer->front.banks[0].pool);
}

static uint64_t *scratch_new(const struct eun_reorder *layer)
{
    return calloc(layer->front.bank_count * scratch_stride(layer), sizeof(uint64_t));
}

/** The part of the scratch memory that is the bank's. */
static uint64_t *map_of(const struct eun_reorder *layer, const struct eun_hd_bank *bank,
                        uint64_t *scratch)
{
    return scratch + (size_t)(bank - layer->front.banks) * scratch_stride(layer);
}

/** Does the resident entry of `qp` lead to metadata that names it as the owner? */
static bool owns_metadata(const struct eun_reorder *layer, uint32_t qp)
{
    const struct eun_reorder_resident *resident = &layer->front.resident[qp];
    const struct eun_block_pool *pool = &bank_of(layer, qp)->pool;
    if (!is_open(layer, qp) ||
        eun_block_pool_next_metadata(pool, resident->metadata) != resident->metadata)
        return false;
    const struct eun_hd_metadata *m = metadata_of(layer, qp);
    return eun_hd_owner_qp(m) == qp && m->generation == (uint8_t)resident->generation;
}

uint32_t eun_reorder_scrub(struct eun_reorder *layer)
{
    uint64_t *held = scratch_new(layer);
    if (held == NULL)
        return 0;
    struct eun_reorder_stats *stats = &layer->stats;
    stats->qps_active = 0;
    stats->last_blocks = 0;
    for (uint32_t i = 0; i < layer->front.bank_count; i++)
        layer->front.banks[i].idle = 0;
    for (uint32_t qp = 0; qp < layer->resident_count; qp++) {
        struct eun_reorder_resident *resident = &layer->front.resident[qp];
        if (resident->metadata == EUN_BLOCK_NONE)
            continue;
        if (!owns_metadata(layer, qp)) {
            resident->metadata = EUN_BLOCK_NONE;
            continue;
        }
        struct eun_hd_bank *bank = bank_of(layer, qp);
        const struct eun_hd_metadata *m = eun_hd_metadata(bank, resident->metadata);
        eun_hd_mark_blocks(bank, resident->metadata, map_of(layer, bank, held));
        bank->idle += m->held == 0;
        stats->qps_active++;
        stats->last_blocks += eun_hd_last_blocks(bank, m);
    }
    uint32_t returned = 0;
    stats->blocks_in_use = 0;
    for (uint32_t i = 0; i < layer->front.bank_count; i++) {
        struct eun_hd_bank *bank = &layer->front.banks[i];
        returned += eun_block_pool_rebuild(&bank->pool, map_of(layer, bank, held));
        stats->blocks_in_use += bank->pool.size - bank->pool.free_count;
    }
    free(held);
    return returned;
}

/** Sums over what the resident table leads to. */
struct census {
    uint32_t open;
    uint32_t active;
    uint32_t idle;
    uint32_t last_blocks;
};

/** Checks each QP, and marks in `held` what it holds. */
static const char *qps_fault(const struct eun_reorder *layer, uint64_t *held, struct census *census)
{
    for (uint32_t qp = 0; qp < layer->resident_count; qp++) {
        const struct eun_reorder_resident *resident = &layer->front.resident[qp];
        census->open += is_open(layer, qp);
        if (resident->metadata == EUN_BLOCK_NONE)
            continue;
        if (!owns_metadata(layer, qp))
            return "a QP leads to metadata that is not its own";
        const struct eun_hd_bank *bank = bank_of(layer, qp);
        const struct eun_hd_metadata *m = eun_hd_metadata(bank, resident->metadata);
        if (!eun_hd_mark_blocks(bank, resident->metadata, map_of(layer, bank, held)))
            return "a block has two owners, or is free and owned";
        const char *fault = eun_hd_fault(bank, m);
        if (fault != NULL)
            return fault;
        census->active++;
        census->idle += m->held == 0;
        census->last_blocks += eun_hd_last_blocks(bank, m);
    }
    return NULL;
}

static const char *layer_fault(const struct eun_reorder *layer, uint64_t *held)
{
    const char *fault = NULL;
    for (uint32_t i = 0; i < layer->front.bank_count; i++)
        if (!eun_block_pool_validate(&layer->front.banks[i].pool, &fault))
            return fault;
    struct census census = {0};
    fault = qps_fault(layer, held, &census);
    if (fault != NULL)
        return fault;
    uint32_t in_use = 0;
    uint32_t idle = 0;
    for (uint32_t i = 0; i < layer->front.bank_count; i++) {
        const struct eun_block_pool *pool = &layer->front.banks[i].pool;
        uint32_t held_blocks = 0;
        for (uint32_t word = 0; word < eun_block_pool_map_words(pool); word++)
            held_blocks += (uint32_t)__builtin_popcountll(held[i * scratch_stride(layer) + word]);
        if (held_blocks != pool->size - pool->free_count)
            return "a block is neither free nor owned";
        in_use += held_blocks;
        idle += layer->front.banks[i].idle;
    }
    const struct eun_reorder_stats *stats = &layer->stats;
    if (idle != census.idle)
        return "a bank's count of idle bitmaps is wrong";
    if (in_use != stats->blocks_in_use || census.last_blocks != stats->last_blocks)
        return "the count of blocks in use is wrong";
    if (census.open != stats->qps_open || census.active != stats->qps_active)
        return "the count of QPs is wrong";
    return NULL;
}

bool eun_reorder_validate(const struct eun_reorder *layer, const char **reason)
{
    uint64_t *held = scratch_new(layer);
    *reason = held == NULL ? "no memory for the check" : layer_fault(layer, held);
    free(held);
    return *reason == NULL;
}
