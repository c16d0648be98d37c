/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * The ordering layer stopped before every single store of every operation, and recovered.
 *
 * The layer's sources are compiled into this test with the compiler's instrumentation for thread
 * checks, which calls a function before every store; ours counts those to memory that outlives an
 * operation (anything but the stack) and stops at the chosen one. No source knows of it. Copies of
 * memory are made store by store, too. After each stop: recovery, then no block has two owners,
 * none is lost, no packet is held that did not arrive, no Last flag is wrong, and QPs other than
 * the operation's hold what they held.
 */
#include "../test-random.h"

#include <string.h>

static void *stored_copy(void *to, const void *from, size_t bytes);
static void *stored_set(void *to, int value, size_t bytes);
#define memcpy stored_copy
#define memset stored_set
#include "../../../model/core/reorder/block-pool.c"
#include "../../../model/core/reorder/hd-bitmap.c"
#undef WORD_BITS
#include "../../../model/core/reorder/hd-validate.c"
#include "../../../model/core/reorder/hd-wide.c"
#include "../../../model/core/reorder/reorder-recover.c"
#include "../../../model/core/reorder/reorder.c"
#undef memcpy
#undef memset

#define PLAIN __attribute__((no_sanitize_thread))
#define QPS 5u
#define SPLINTER 4u /**< QP that no operation is for */
#define PLACES 8192u
#define REGIONS 24u

/* ---- stopping before a store ---- */

static jmp_buf stopped;
static uint32_t stores_left; /**< stores until the stop; 0: no stop */
static uint32_t stores_seen;
static uintptr_t stack_top; /**< of the operation's frames */

static PLAIN void on_store(uintptr_t address)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (address >= here && address <= stack_top)
        return;
    stores_seen++;
    if (stores_left > 0 && --stores_left == 0)
        longjmp(stopped, 1);
}

/** From here on stores outside the frames of the caller's callees count; `stop` 0: without a stop.
 */
static PLAIN void count_stores(uint32_t stop, void *frame)
{
    stack_top = (uintptr_t)frame;
    stores_seen = 0;
    stores_left = stop;
}

#define ON_STORE(name)                                                                             \
    void name(void *address);                                                                      \
    PLAIN void name(void *address)                                                                 \
    {                                                                                              \
        on_store((uintptr_t)address);                                                              \
    }
#define ON_LOAD(name)                                                                              \
    void name(const void *address);                                                                \
    PLAIN void name(const void *address)                                                           \
    {                                                                                              \
        (void)address;                                                                             \
    }
ON_STORE(__tsan_write1)
ON_STORE(__tsan_write2)
ON_STORE(__tsan_write4)
ON_STORE(__tsan_write8)
ON_STORE(__tsan_write16)
ON_STORE(__tsan_unaligned_write2)
ON_STORE(__tsan_unaligned_write4)
ON_STORE(__tsan_unaligned_write8)
ON_STORE(__tsan_unaligned_write16)
ON_LOAD(__tsan_read1)
ON_LOAD(__tsan_read2)
ON_LOAD(__tsan_read4)
ON_LOAD(__tsan_read8)
ON_LOAD(__tsan_read16)
ON_LOAD(__tsan_unaligned_read2)
ON_LOAD(__tsan_unaligned_read4)
ON_LOAD(__tsan_unaligned_read8)
ON_LOAD(__tsan_unaligned_read16)
ON_LOAD(__tsan_func_entry)
void __tsan_func_exit(void);
PLAIN void __tsan_func_exit(void) {}
void __tsan_init(void);
PLAIN void __tsan_init(void) {}
void __tsan_read_range(const void *address, size_t bytes);
PLAIN void __tsan_read_range(const void *address, size_t bytes)
{
    (void)address;
    (void)bytes;
}
/* A struct that is stored as a whole: one stop before it, as its parts have no order. */
void __tsan_write_range(void *address, size_t bytes);
PLAIN void __tsan_write_range(void *address, size_t bytes)
{
    (void)bytes;
    on_store((uintptr_t)address);
}
int __tsan_atomic_signal_fence(int order);
PLAIN int __tsan_atomic_signal_fence(int order)
{
    return order;
}

/** memcpy() and memset(), two bytes at a time as the memory is written. */
static void *stored_copy(void *to, const void *from, size_t bytes)
{
    uint16_t *target = to;
    const uint16_t *source = from;
    assert_int_equal(bytes % sizeof *target, 0);
    for (size_t i = 0; i < bytes / sizeof *target; i++)
        target[i] = source[i];
    return to;
}

static void *stored_set(void *to, int value, size_t bytes)
{
    uint16_t *target = to;
    assert_int_equal(value, 0);
    assert_int_equal(bytes % sizeof *target, 0);
    for (size_t i = 0; i < bytes / sizeof *target; i++)
        target[i] = 0;
    return to;
}

/* ---- a world that can be put back ---- */

struct region {
    void *memory;
    size_t bytes;
    void *saved;
};

struct twin {
    uint64_t expected;
    bool open;
    bool held[PLACES];
    bool last[PLACES];
};

struct world {
    struct eun_reorder *layer;
    struct eun_reorder_config config;
    struct region region[REGIONS];
    uint32_t regions;
    struct twin qp[QPS];
    bool lost[QPS];
};

static struct world world;

static void add_region(void *memory, size_t bytes)
{
    if (bytes == 0)
        return;
    assert_true(world.regions < REGIONS);
    struct region *region = &world.region[world.regions++];
    region->memory = memory;
    region->bytes = bytes;
    region->saved = malloc(bytes);
    assert_non_null(region->saved);
}

static void add_map(struct eun_block_map *map, uint32_t words)
{
    add_region(map->bits, (words + words_for(words)) * sizeof *map->bits);
}

static void save(void)
{
    for (uint32_t i = 0; i < world.regions; i++)
        memcpy(world.region[i].saved, world.region[i].memory, world.region[i].bytes);
}

static void restore(void)
{
    for (uint32_t i = 0; i < world.regions; i++)
        memcpy(world.region[i].memory, world.region[i].saved, world.region[i].bytes);
}

static void world_start(const struct eun_reorder_config *config)
{
    memset(&world, 0, sizeof world);
    world.config = *config;
    world.layer = eun_reorder_new(config);
    assert_non_null(world.layer);
    /* The resident table is of fixed size on a NIC, so it grows before the test begins. */
    for (uint32_t qp = QPS; qp-- > 0;) {
        assert_true(eun_reorder_open(world.layer, qp));
        world.qp[qp].open = true;
        world.qp[qp].expected = (UINT64_C(1) << 32) - 300 * qp;
    }
    struct eun_reorder *layer = world.layer;
    add_region(layer, sizeof *layer);
    add_region(layer->front.resident, layer->resident_count * sizeof *layer->front.resident);
    add_region(layer->front.banks, layer->front.bank_count * sizeof *layer->front.banks);
    for (uint32_t i = 0; i < layer->front.bank_count; i++) {
        struct eun_block_pool *pool = &layer->front.banks[i].pool;
        const uint32_t words = eun_block_pool_map_words(pool);
        add_region(pool->block, pool->size * sizeof *pool->block);
        add_map(&pool->free_map, words);
        add_map(&pool->metadata, words);
        add_map(&pool->chained, words);
    }
}

/** One QP's 16 blocks lie so that no 24 free ones are left in a row: metadata must be a chain. */
static void splinter(void)
{
    struct twin *t = &world.qp[SPLINTER];
    struct eun_reorder *layer = world.layer;
    struct eun_hd_bank *bank = layer->front.banks;
    assert_int_equal(eun_reorder_arrive(layer, SPLINTER, (uint32_t)t->expected,
                                        (uint32_t)t->expected + 255, false, 0)
                         .verdict,
                     EUN_HD_HELD);
    t->held[(t->expected + 255) % PLACES] = true;
    struct eun_hd_metadata *m = eun_hd_metadata(bank, layer->front.resident[SPLINTER].metadata);
    for (uint32_t i = 0; i < EUN_HD_BLOCK_IDS; i++) {
        const uint16_t id = (uint16_t)(EUN_BLOCK_POOL_METADATA + 16 + 17 * i);
        const uint16_t contents = bank->pool.block[m->block[i]];
        eun_block_pool_give(&bank->pool, m->block[i], 1);
        take(&bank->pool, id, 1);
        bank->pool.block[id] = contents;
        m->block[i] = id;
    }
    assert_int_equal(eun_block_pool_take_metadata(&bank->pool), EUN_BLOCK_NONE);
}

static void world_end(void)
{
    eun_reorder_free(world.layer);
    for (uint32_t i = 0; i < world.regions; i++)
        free(world.region[i].saved);
}

/* ---- operations ---- */

enum kind { ARRIVE, OPEN, CLOSE, FORGET, SWEEP };

struct operation {
    enum kind kind;
    uint32_t qp;
    uint64_t psn;
    bool last;
    int64_t now;
};

static struct operation draw(struct test_random *r, int64_t now)
{
    struct operation op = {.qp = test_below(r, SPLINTER), .now = now};
    const struct twin *t = &world.qp[op.qp];
    const uint32_t dice = test_below(r, 100);
    op.kind = !t->open ? OPEN : dice < 2 ? CLOSE : dice < 4 ? FORGET : dice < 8 ? SWEEP : ARRIVE;
    const uint32_t span = test_chance(r, 30) ? world.config.cap_psns + 2 : 12;
    op.psn = t->expected + (test_chance(r, 45) ? 0 : test_below(r, span));
    op.last = test_chance(r, 15);
    return op;
}

static struct eun_hd_outcome carry_out(const struct operation *op)
{
    struct eun_hd_outcome outcome = {EUN_HD_DUPLICATE, 0, 0};
    switch (op->kind) {
    case ARRIVE:
        outcome = eun_reorder_arrive(world.layer, op->qp, (uint32_t)world.qp[op->qp].expected,
                                     (uint32_t)op->psn, op->last, op->now);
        break;
    case OPEN:
        eun_reorder_open(world.layer, op->qp);
        break;
    case CLOSE:
        eun_reorder_close(world.layer, op->qp);
        break;
    case FORGET:
        eun_reorder_forget(world.layer, op->qp);
        break;
    case SWEEP:
        eun_reorder_sweep(world.layer, op->now);
        break;
    }
    return outcome;
}

/** What the operation, carried out in full, makes of the twin. */
static void note(const struct operation *op, const struct eun_hd_outcome *outcome)
{
    struct twin *t = &world.qp[op->qp];
    if (op->kind == OPEN || op->kind == CLOSE)
        t->open = op->kind == OPEN;
    if (op->kind != ARRIVE && op->kind != SWEEP)
        memset(t->held, 0, sizeof t->held);
    if (op->kind != ARRIVE)
        return;
    if (outcome->verdict == EUN_HD_HELD) {
        t->held[op->psn % PLACES] = true;
        t->last[op->psn % PLACES] = op->last;
    }
    for (uint32_t i = 0; i < outcome->advanced; i++) {
        assert_int_equal(t->held[t->expected % PLACES], i > 0);
        t->held[t->expected++ % PLACES] = false;
    }
    assert_false(t->held[t->expected % PLACES] && outcome->advanced > 0);
}

/* ---- after a stop ---- */

static uint32_t point_of(void *context, uint32_t qp)
{
    (void)context;
    return (uint32_t)world.qp[qp].expected;
}

static void note_lost(void *context, uint32_t qp)
{
    (void)context;
    world.lost[qp] = true;
}

static void check_last(uint32_t qp, const struct operation *op, uint64_t psn)
{
    struct eun_hd_metadata copy;
    const struct eun_hd_metadata *m = look(world.layer, qp, &copy);
    const bool in_progress = qp == op->qp && psn == op->psn && !world.qp[qp].held[psn % PLACES];
    const bool right = in_progress ? op->last : world.qp[qp].last[psn % PLACES];
    if (eun_hd_is_last(eun_reorder_bank_for(world.layer, qp), m, (uint32_t)psn) != right)
        fail_msg("QP %u: a Last flag is wrong", qp);
}

static void check_qp(uint32_t qp, const struct operation *op)
{
    const struct twin *t = &world.qp[qp];
    const bool other = qp != op->qp || op->kind == SWEEP;
    assert_false(other && world.lost[qp]);
    for (uint64_t psn = t->expected; psn < t->expected + world.config.cap_psns; psn++) {
        const bool arrived =
            t->held[psn % PLACES] || (op->kind == ARRIVE && psn == op->psn && !other);
        const bool held = eun_reorder_holds(world.layer, qp, (uint32_t)t->expected, (uint32_t)psn);
        if (held && !arrived)
            fail_msg("QP %u: a packet is invented", qp);
        if (other && held != arrived)
            fail_msg("QP %u lost a packet", qp);
        if (held)
            check_last(qp, op, psn);
    }
}

static void check_recovery(const struct operation *op, uint64_t *leaks)
{
    const struct eun_reorder_witness witness = {point_of, note_lost, NULL};
    const char *reason;
    memset(world.lost, 0, sizeof world.lost);
    *leaks += eun_reorder_recover(world.layer, &witness);
    if (!eun_reorder_validate(world.layer, &reason))
        fail_msg("%s", reason);
    for (uint32_t qp = 0; qp < QPS; qp++)
        check_qp(qp, op);
    assert_int_equal(eun_reorder_recover(world.layer, &witness), 0);
}

/** Stops the operation before each of its stores in turn; then carries it out. Result: stops. */
static uint32_t stop_everywhere(const struct operation *op, uint64_t *leaks)
{
    save();
    for (volatile uint32_t stop = 1;; stop++) {
        if (setjmp(stopped) == 0) {
            count_stores(stop, __builtin_frame_address(0));
            const struct eun_hd_outcome outcome = carry_out(op);
            count_stores(0, NULL);
            note(op, &outcome);
            return stop - 1;
        }
        check_recovery(op, leaks);
        restore();
    }
}

/** What happened, over all plays. */
struct tally {
    uint64_t stops;
    uint64_t leaks;
    struct eun_reorder_stats stats;
};

static void play(struct test_random *r, const struct eun_reorder_config *config, bool splintered,
                 struct tally *tally)
{
    const uint32_t operations = getenv("EUNOMIA_DEEP") ? 20000 : 150;
    world_start(config);
    if (splintered)
        splinter();
    for (uint32_t i = 0; i < operations; i++) {
        const struct operation op = draw(r, i * 10);
        tally->stops += stop_everywhere(&op, &tally->leaks);
    }
    const struct eun_reorder_stats *stats = eun_reorder_stats(world.layer);
    tally->stats.chain += stats->chain;
    tally->stats.widen += stats->widen;
    tally->stats.merge += stats->merge;
    tally->stats.compact += stats->compact;
    tally->stats.reclaim += stats->reclaim;
    tally->stats.reclaim_early += stats->reclaim_early;
    world_end();
}

static void recovers_from_a_stop_before_any_store(void **state)
{
    (void)state;
    struct test_random r = test_random_start(21);
    static const uint32_t caps[] = {40, 128, 256, 700};
    static const uint32_t blocks[] = {26, 60, 100, 150, 300};
    struct tally tally = {0};
    for (size_t c = 0; c < sizeof caps / sizeof *caps; c++) {
        struct eun_reorder_config config = {
            .cap_psns = caps[c], .idle_epoch_ps = 30, .chains = true};
        for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
            config.blocks = blocks[b];
            config.banks = 1 + test_below(&r, 2);
            config.block_bits = test_chance(&r, 50) ? 16 : 8;
            play(&r, &config, false, &tally);
        }
        config.banks = 1;
        config.block_bits = 16;
        if (caps[c] >= 256)
            play(&r, &config, true, &tally);
    }
    const struct eun_reorder_stats *sum = &tally.stats;
    print_message("%llu stops, %llu blocks returned; %llu chains, %llu widened, %llu merges, "
                  "%llu compactions, %llu reclaims\n",
                  (unsigned long long)tally.stops, (unsigned long long)tally.leaks,
                  (unsigned long long)sum->chain, (unsigned long long)sum->widen,
                  (unsigned long long)sum->merge, (unsigned long long)sum->compact,
                  (unsigned long long)sum->reclaim);
    assert_true(tally.stops > 20000 && tally.leaks > 20000);
    assert_true(sum->chain > 0 && sum->widen > 0 && sum->merge > 0 && sum->reclaim_early > 0);
}

/** The instrumentation is at work: the fewest stores of the shortest operation are known. */
static void a_packet_in_the_ring_takes_two_stores(void **state)
{
    (void)state;
    const struct eun_reorder_config config = {
        .blocks = 60, .banks = 1, .cap_psns = 256, .block_bits = 16, .idle_epoch_ps = 300};
    world_start(&config);
    const uint32_t expected = (uint32_t)world.qp[0].expected;
    eun_reorder_arrive(world.layer, 0, expected, expected + 9, false, 0);
    count_stores(0, __builtin_frame_address(0));
    eun_reorder_arrive(world.layer, 0, expected, expected + 5, false, 0);
    assert_int_equal(stores_seen, 2); /* the bit, and the count */
    world_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packet_in_the_ring_takes_two_stores),
        cmocka_unit_test(recovers_from_a_stop_before_any_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
