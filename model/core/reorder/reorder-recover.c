/* SPDX-License-Identifier: GPL-2.0-only */
/** Validation, scrubbing and recovery: who owns what, found out from the resident table. */
#include "reorder-internal.h"

#include <stdlib.h>

/** Two bitmaps over the blocks of every bank: what is held, and where metadata starts. */
struct census {
    const struct eun_reorder *layer;
    uint64_t *held;
    uint64_t *metadata;
    size_t stride; /**< words of one bank's bitmap; every bank has its place in either */
    uint32_t open;
    uint32_t active;
    uint32_t last_blocks;
    uint32_t chains;
    uint32_t idle;
};

static bool census_init(struct census *census, const struct eun_reorder *layer)
{
    *census = (struct census){.layer = layer};
    census->stride = eun_block_pool_map_words(&layer->front.banks[0].pool);
    const size_t words = layer->front.bank_count * census->stride;
    census->held = calloc(2u * words, sizeof *census->held);
    census->metadata = census->held == NULL ? NULL : census->held + words;
    return census->held != NULL;
}

static uint64_t *map_of(const struct census *census, const struct eun_hd_bank *bank, uint64_t *maps)
{
    return maps + (size_t)(bank - census->layer->front.banks) * census->stride;
}

/** Does the resident entry of `qp` lead to metadata that names it as the owner? */
static bool owns_metadata(const struct eun_reorder *layer, uint32_t qp)
{
    const struct eun_reorder_resident *resident = &layer->front.resident[qp];
    const struct eun_hd_bank *bank = eun_reorder_bank_for(layer, qp);
    const uint16_t id = resident->metadata;
    if (!eun_reorder_is_open(layer, qp) || !eun_block_pool_is_metadata(&bank->pool, id) ||
        (eun_block_pool_is_chain(&bank->pool, id) &&
         !eun_block_pool_chain_is_sound(&bank->pool, id)))
        return false;
    struct eun_hd_metadata copy;
    const struct eun_hd_metadata *m = eun_hd_look(bank, id, &copy);
    return eun_hd_owner_qp(m) == qp && m->generation == (uint8_t)resident->generation;
}

/** Marks the blocks of `qp`, which has metadata. NULL, or what is wrong; then none is marked. */
static const char *claim(const struct census *census, uint32_t qp)
{
    const struct eun_reorder *layer = census->layer;
    const struct eun_hd_bank *bank = eun_reorder_bank_for(layer, qp);
    if (!owns_metadata(layer, qp))
        return "a QP leads to metadata that is not its own";
    if (!eun_hd_mark_blocks(bank, layer->front.resident[qp].metadata,
                            map_of(census, bank, census->held)))
        return "a block has two owners, or is free and owned";
    return NULL;
}

/** Counts `qp`, whose blocks are marked. NULL, or what is wrong; then they no longer are. */
static const char *count(struct census *census, uint32_t qp)
{
    const struct eun_hd_bank *bank = eun_reorder_bank_for(census->layer, qp);
    const uint16_t id = census->layer->front.resident[qp].metadata;
    struct eun_hd_metadata copy;
    const struct eun_hd_metadata *m = eun_hd_look(bank, id, &copy);
    const char *fault = eun_hd_fault(bank, m);
    if (fault != NULL) {
        eun_hd_unmark_blocks(bank, id, map_of(census, bank, census->held));
        return fault;
    }
    map_of(census, bank, census->metadata)[id / 64u] |= UINT64_C(1) << (id % 64u);
    census->active++;
    census->idle += m->held == 0;
    census->chains += m == &copy;
    census->last_blocks += eun_hd_last_blocks(bank, m);
    return NULL;
}

/** Are the positions of the bitmap of `qp` for the cumulative point that the witness knows? */
static bool is_trusted(const struct eun_reorder *layer, uint32_t qp,
                       const struct eun_reorder_witness *witness)
{
    struct eun_hd_metadata copy;
    const struct eun_hd_bank *bank = eun_reorder_bank_for(layer, qp);
    const struct eun_hd_metadata *m = eun_hd_look(bank, layer->front.resident[qp].metadata, &copy);
    return m->held == 0 || m->tag == (uint16_t)witness->point(witness->context, qp);
}

/** Keeps what `qp` holds if it makes sense; else its resident entry leads nowhere. */
static void salvage(struct eun_reorder *layer, struct census *census, uint32_t qp,
                    const struct eun_reorder_witness *witness)
{
    struct eun_reorder_resident *resident = &layer->front.resident[qp];
    struct eun_hd_bank *bank = eun_reorder_bank_for(layer, qp);
    if (claim(census, qp) == NULL) {
        /* Not before the blocks are its own: metadata of others may lie there. */
        if (!eun_block_pool_is_chain(&bank->pool, resident->metadata))
            eun_hd_recount(bank, eun_hd_metadata(bank, resident->metadata));
        bool trusted = witness == NULL || is_trusted(layer, qp, witness);
        if (!trusted)
            eun_hd_unmark_blocks(bank, resident->metadata, map_of(census, bank, census->held));
        if (trusted && count(census, qp) == NULL) {
            bank->idle += census->idle;
            census->idle = 0;
            return;
        }
    }
    resident->metadata = EUN_BLOCK_NONE;
    if (witness != NULL && witness->lost != NULL && eun_reorder_is_open(layer, qp))
        witness->lost(witness->context, qp);
}

uint32_t eun_reorder_recover(struct eun_reorder *layer, const struct eun_reorder_witness *witness)
{
    struct census census;
    if (!census_init(&census, layer))
        return 0;
    struct eun_reorder_stats *stats = &layer->stats;
    for (uint32_t i = 0; i < layer->front.bank_count; i++)
        layer->front.banks[i].idle = 0;
    for (uint32_t qp = 0; qp < layer->resident_count; qp++) {
        census.open += eun_reorder_is_open(layer, qp);
        if (layer->front.resident[qp].metadata != EUN_BLOCK_NONE)
            salvage(layer, &census, qp, witness);
    }
    uint32_t returned = 0;
    stats->blocks_in_use = 0;
    for (uint32_t i = 0; i < layer->front.bank_count; i++) {
        struct eun_hd_bank *bank = &layer->front.banks[i];
        returned += eun_block_pool_rebuild(&bank->pool, map_of(&census, bank, census.held),
                                           map_of(&census, bank, census.metadata));
        stats->blocks_in_use += bank->pool.size - bank->pool.free_count;
    }
    stats->qps_open = census.open;
    stats->qps_active = census.active;
    stats->last_blocks = census.last_blocks;
    stats->chains = census.chains;
    eun_reorder_update_front(layer);
    free(census.held);
    return returned;
}

uint32_t eun_reorder_scrub(struct eun_reorder *layer)
{
    return eun_reorder_recover(layer, NULL);
}

/** Checks each QP. */
static const char *qps_fault(const struct eun_reorder *layer, struct census *census)
{
    for (uint32_t qp = 0; qp < layer->resident_count; qp++) {
        census->open += eun_reorder_is_open(layer, qp);
        if (layer->front.resident[qp].metadata == EUN_BLOCK_NONE)
            continue;
        const char *fault = claim(census, qp);
        if (fault == NULL)
            fault = count(census, qp);
        if (fault != NULL)
            return fault;
    }
    return NULL;
}

static const char *layer_fault(const struct eun_reorder *layer, struct census *census)
{
    const char *fault = NULL;
    for (uint32_t i = 0; i < layer->front.bank_count; i++)
        if (!eun_block_pool_validate(&layer->front.banks[i].pool, &fault))
            return fault;
    fault = qps_fault(layer, census);
    if (fault != NULL)
        return fault;
    uint32_t in_use = 0;
    uint32_t idle = 0;
    for (uint32_t i = 0; i < layer->front.bank_count; i++) {
        const struct eun_hd_bank *bank = &layer->front.banks[i];
        uint32_t held_blocks = 0;
        for (uint32_t word = 0; word < eun_block_pool_map_words(&bank->pool); word++)
            held_blocks += (uint32_t)__builtin_popcountll(map_of(census, bank, census->held)[word]);
        if (held_blocks != bank->pool.size - bank->pool.free_count)
            return "a block is neither free nor owned";
        in_use += held_blocks;
        idle += bank->idle;
    }
    const struct eun_reorder_stats *stats = &layer->stats;
    if (idle != census->idle)
        return "a bank's count of idle bitmaps is wrong";
    if (in_use != stats->blocks_in_use || census->last_blocks != stats->last_blocks)
        return "the count of blocks in use is wrong";
    if (census->chains != stats->chains)
        return "the count of chains is wrong";
    if (census->open != stats->qps_open || census->active != stats->qps_active)
        return "the count of QPs is wrong";
    return NULL;
}

bool eun_reorder_validate(const struct eun_reorder *layer, const char **reason)
{
    struct census census;
    *reason = census_init(&census, layer) ? layer_fault(layer, &census) : "no memory for the check";
    free(census.held);
    return *reason == NULL;
}
