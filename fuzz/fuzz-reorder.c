/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * The ordering layer with a few QPs on a small pool, against sets of PSNs: the naive twins of
 * test/core/reorder/reference-bitmap.h.
 *
 * Every outcome is what the twin says, or a refusal that lack of room explains where no idle QP has
 * any to give; the bitmap holds what the twin holds, in as many blocks; memory is taken from idle
 * QPs only; blocks that leaked are found again.
 *
 * Input: the configuration (read_config()), then operations (play()): a byte, of which bits 0 to 2
 * name the QP and the others modulo 16 the operation, and what that operation reads.
 */
#include "fuzz.h"

#include "reorder/reference-bitmap.h"

#include "core/reorder/reorder.h"

#define QPS 8u
#define US INT64_C(1000000)
#define CHECK_EVERY 64u

struct world {
    struct fuzz_input in;
    struct eun_reorder *layer;
    const struct eun_reorder_stats *stats;
    struct eun_reorder_config config;
    struct reference qp[QPS];
    bool open[QPS];
    int64_t now;
    uint64_t reclaims;
    uint32_t leaked; /**< blocks that the scrubber is to find */
};

static const struct eun_hd_bank *bank_of(const struct world *w, uint32_t qp)
{
    return eun_reorder_bank_of((const struct eun_reorder_front *)(const void *)w->layer, qp);
}

static bool has_run(const struct eun_block_pool *pool, uint32_t n)
{
    uint32_t run = 0;
    for (uint32_t id = 0; id < pool->size && run < n; id++)
        run = eun_block_pool_is_free(pool, id) ? run + 1u : 0;
    return run >= n;
}

/** Is there room for all that the arrival needs? The reserve is for those without metadata. */
static bool has_room(const struct world *w, uint32_t qp, const struct reference_arrival *need)
{
    const struct eun_hd_bank *bank = bank_of(w, qp);
    const uint32_t metadata = need->metadata ? EUN_BLOCK_POOL_METADATA : 0;
    const uint32_t plane = need->plane ? bank->last_blocks : 0;
    const uint32_t growth = need->blocks + plane;
    const uint32_t kept = need->metadata || growth == 0 ? 0 : bank->reserve;
    return metadata + growth + kept <= bank->pool.free_count && has_run(&bank->pool, metadata) &&
           has_run(&bank->pool, plane);
}

/** Has another QP of the same bank metadata that it does not need? */
static bool others_are_idle(const struct world *w, uint32_t qp)
{
    bool idle = false;
    for (uint32_t other = 0; other < QPS; other++)
        idle |= other != qp && bank_of(w, other) == bank_of(w, qp) && w->qp[other].active &&
                w->qp[other].held_count == 0;
    return idle;
}

/** Twins whose metadata was taken back: only idle ones, as many as the layer counts. */
static void note_reclaims(struct world *w)
{
    for (uint32_t qp = 0; qp < QPS; qp++) {
        struct eun_reorder_view view;
        eun_reorder_view(w->layer, qp, &view);
        if (!w->qp[qp].active || view.active)
            continue;
        FUZZ_CHECK(w->qp[qp].held_count == 0);
        reference_forget(&w->qp[qp]);
        w->reclaims++;
    }
    FUZZ_CHECK(w->stats->reclaim + w->stats->reclaim_early == w->reclaims);
}

static void check_qp(const struct world *w, uint32_t qp)
{
    const struct reference *q = &w->qp[qp];
    struct eun_reorder_view view;
    eun_reorder_view(w->layer, qp, &view);
    FUZZ_CHECK(view.active == q->active && view.held == q->held_count);
    FUZZ_CHECK(view.bitmap_blocks == reference_bitmap_blocks(q));
    FUZZ_CHECK(view.last_blocks == reference_last_blocks(q));
    FUZZ_CHECK(eun_reorder_has_gap(w->layer, qp) == (q->held_count > 0));
}

/** The slow checks, which need the leaks to be gone. */
static void check_world(struct world *w)
{
    const char *reason = NULL;
    FUZZ_CHECK(eun_reorder_scrub(w->layer) == w->leaked);
    w->leaked = 0;
    if (!eun_reorder_validate(w->layer, &reason))
        fuzz_fail(__FILE__, __LINE__, reason);
    for (uint32_t qp = 0; qp < QPS; qp++) {
        const struct reference *q = &w->qp[qp];
        check_qp(w, qp);
        for (uint32_t ahead = 0; ahead < q->cap + 20; ahead++)
            FUZZ_CHECK(eun_reorder_holds(w->layer, qp, (uint32_t)q->expected,
                                         (uint32_t)q->expected + ahead) ==
                       reference_holds(q, q->expected + ahead));
    }
}

/** The packet `distance` from the cumulative point comes in. */
static void arrive(struct world *w, uint32_t qp, uint32_t distance, bool last)
{
    struct reference *q = &w->qp[qp];
    const uint32_t expected = (uint32_t)q->expected;
    const uint64_t psn = reference_psn(q, expected + distance);
    const uint64_t misses = w->stats->alloc_miss;
    static struct reference trial;
    trial = *q;
    const struct reference_arrival need = reference_arrive(&trial, psn, last, false);
    const struct eun_hd_outcome outcome =
        eun_reorder_arrive(w->layer, qp, expected, expected + distance, last, w->now);
    note_reclaims(w);
    const bool refused =
        outcome.verdict == EUN_HD_NO_METADATA || outcome.verdict == EUN_HD_NO_BLOCKS;
    FUZZ_CHECK(w->stats->alloc_miss == misses + refused);
    if (refused) {
        FUZZ_CHECK(need.outcome.verdict == EUN_HD_HELD);
        FUZZ_CHECK(!has_room(w, qp, &need) && !others_are_idle(w, qp));
    } else {
        const struct reference_arrival right = reference_arrive(q, psn, last, true);
        FUZZ_CHECK(outcome.verdict == right.outcome.verdict);
        FUZZ_CHECK(outcome.advanced == right.outcome.advanced);
        FUZZ_CHECK(outcome.lasts == right.outcome.lasts);
    }
    check_qp(w, qp);
}

/** The expected PSN and those behind it. */
static void arrive_in_order(struct world *w, uint32_t qp, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        arrive(w, qp, 0, false);
}

/**
 * Each or every second PSN from `first` ahead on, up to 63 of them; the first and the last of them
 * end a message, or every fourth does.
 */
static void arrive_run(struct world *w, uint32_t qp, uint32_t first, uint32_t shape)
{
    const uint32_t count = shape % 64u;
    const uint32_t step = 1u + shape / 64u % 2u;
    for (uint32_t i = 0; i < count; i++) {
        const bool last = shape / 128u ? i % 4u == 3 : i == 0 || i + 1u == count;
        arrive(w, qp, first + step * i, last);
    }
}

static void open_qp(struct world *w, uint32_t qp)
{
    FUZZ_CHECK(eun_reorder_open(w->layer, qp));
    w->open[qp] = true;
    reference_init(&w->qp[qp], w->config.block_bits, w->config.cap_psns, fuzz_first_psn(&w->in));
}

static void close_qp(struct world *w, uint32_t qp)
{
    eun_reorder_close(w->layer, qp);
    reference_forget(&w->qp[qp]);
    w->open[qp] = false;
}

/** The QP's metadata is corrupt, so nobody knows which blocks were its own. */
static void lose(struct world *w, uint32_t qp)
{
    struct eun_reorder_view view;
    eun_reorder_view(w->layer, qp, &view);
    if (view.active)
        w->leaked += view.chain ? EUN_BLOCK_POOL_CHAIN : EUN_BLOCK_POOL_METADATA;
    w->leaked += view.bitmap_blocks + view.last_blocks;
    eun_reorder_lose(w->layer, qp);
    reference_forget(&w->qp[qp]);
    check_qp(w, qp);
}

static void sweep(struct world *w)
{
    w->now += (int64_t)fuzz_u16(&w->in) * US / 64;
    FUZZ_CHECK(eun_reorder_sweep(w->layer, w->now) > w->now);
    note_reclaims(w);
}

/** A gap-free QP may move on by any number of PSNs: nothing of it is stored. */
static void run_ahead(struct world *w, uint32_t qp)
{
    const uint32_t psns = fuzz_u32(&w->in);
    if (w->qp[qp].held_count == 0)
        w->qp[qp].expected += psns;
}

/** Operations of a QP that is open. */
static void play_open(struct world *w, uint32_t qp, uint32_t operation)
{
    const bool last = operation % 2u == 1;
    uint32_t byte;
    switch (operation) {
    case 0:
    case 1:
        arrive(w, qp, 0, last);
        break;
    case 2:
    case 3:
        arrive(w, qp, 1u + fuzz_byte(&w->in) % 32u, last);
        break;
    case 4:
    case 5:
        arrive(w, qp, fuzz_byte(&w->in), last);
        break;
    case 6:
    case 7:
        arrive(w, qp, fuzz_distance(&w->in), last);
        break;
    case 8:
        arrive_in_order(w, qp, fuzz_byte(&w->in) % 64u);
        break;
    case 9:
        byte = fuzz_byte(&w->in);
        arrive_run(w, qp, 1u + byte, fuzz_byte(&w->in));
        break;
    case 10:
        run_ahead(w, qp);
        break;
    case 11:
        eun_reorder_forget(w->layer, qp);
        reference_forget(&w->qp[qp]);
        break;
    default:
        lose(w, qp);
        break;
    }
}

static void play(struct world *w)
{
    const uint32_t byte = fuzz_byte(&w->in);
    const uint32_t qp = byte % QPS;
    const uint32_t operation = byte / QPS % 16u;
    if (operation == 13)
        sweep(w);
    else if (operation == 14)
        check_world(w);
    else if (operation == 15)
        close_qp(w, qp);
    else if (!w->open[qp])
        open_qp(w, qp);
    else
        play_open(w, qp, operation);
}

static void read_config(struct world *w)
{
    struct fuzz_input *in = &w->in;
    const uint32_t flags = fuzz_byte(in);
    w->config.block_bits = flags & 1u ? 8 : 16;
    w->config.banks = 1u + (flags >> 1) % 4u;
    w->config.blocks = fuzz_u16(in) % 512u;
    w->config.cap_psns = 1u + fuzz_byte(in) % (w->config.block_bits * EUN_HD_BLOCK_IDS);
    w->config.idle_epoch_ps = (int64_t)fuzz_byte(in) * US;
    w->config.chains = (flags & 8u) != 0;
    w->config.reserve = flags & 16u ? w->config.blocks / 4u : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world w;
    memset(&w, 0, sizeof w);
    w.in = (struct fuzz_input){data, size};
    read_config(&w);
    w.layer = eun_reorder_new(&w.config);
    FUZZ_CHECK(w.layer);
    w.stats = eun_reorder_stats(w.layer);
    for (uint32_t qp = 0; qp < QPS; qp++)
        reference_init(&w.qp[qp], w.config.block_bits, w.config.cap_psns, 0);
    for (uint32_t step = 1; w.in.left > 0; step++) {
        w.now += US / 4;
        play(&w);
        if (step % CHECK_EVERY == 0)
            check_world(&w);
    }
    check_world(&w);
    for (uint32_t qp = 0; qp < QPS; qp++)
        close_qp(&w, qp);
    FUZZ_CHECK(w.stats->blocks_in_use == 0 && w.stats->qps_active == 0 && w.stats->qps_open == 0);
    eun_reorder_free(w.layer);
    return 0;
}
