/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * Arrivals a second of the ordering layer, and of fixed bitmaps and of CRoaring's bitmaps doing the
 * same work. CRoaring takes part where it was found when this was built (EUN_BENCH_ROARING).
 *
 * Patterns. The packets of all QPs arrive in one pseudo-random order of QPs, each QP as often as
 * every other. Within a QP: `in_order`, PSN after PSN; `spanS`, packet i has the key i + u with u
 * drawn evenly from 0..S - 1, and packets arrive in the order of their keys, the lower PSN first
 * among equals. So no packet is displaced by S places or more, and an arrival lies less than S
 * ahead of the cumulative point. `span16_5pct`: so for 5 % of the QPs, the rest in order. Every
 * 64th packet of a QP ends a message. Nothing is lost.
 *
 * The schedule is computed beforehand and read in sequence; every pass over it delivers the next
 * PSNs of all QPs. The first pass of each bitmap is not measured: QPs rent their blocks then, and
 * keep them, as under lasting reordering. Of the later passes, which the bitmaps take in turns,
 * the processor time is taken epoch by epoch of the schedule (256 us at one arrival in 10 ns, 1 KB
 * packets at 800 Gb/s), and of each epoch's times the least: what other processes on the machine
 * add is no property of a bitmap. The HD bitmap's time includes a sweep for idle metadata an epoch.
 * All bitmaps hold 256 PSNs.
 *
 * Prints one JSON object a line, and stops with status 1 where a result is wrong: every PSN must be
 * delivered, once, and every message completed. A ratio `vs_fixed` above 1 is the price of renting
 * memory block by block: the way from QP to metadata to block to bit, which a fixed bitmap has not.
 * A ratio `vs_croaring` below 1 is what a bitmap made for a window of PSNs gains over one for any
 * set of numbers, which looks a PSN's container up, keeps small ones as sorted arrays, and goes
 * back to the allocator whenever one becomes empty.
 */
#define _POSIX_C_SOURCE 200809L

#include "fixed-bitmap.h"
#include "reorder.h"
#ifdef EUN_BENCH_ROARING
#include "roaring-arrive.h"
#endif

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CAP 256u
#define MESSAGE 64u /* packets */
#define EPOCH_PS INT64_C(256000000)
#define ARRIVAL_PS INT64_C(10000)
#define EPOCH_ARRIVALS (uint64_t)(EPOCH_PS / ARRIVAL_PS)
#define FIRST_PSN 0xFFFF0000u /* so that PSNs wrap while measured */
#define LAST_BIT 0x80000000u

struct pattern {
    const char *name;
    uint32_t qps;
    uint32_t packets;       /* of a QP, in one pass */
    uint32_t span;          /* 1: in order */
    uint32_t reordered_pct; /* of the QPs */
    uint32_t passes;        /* measured ones */
};

struct arrival {
    uint32_t qp;
    uint32_t psn; /* relative to the pass; LAST_BIT where it ends a message */
};

struct schedule {
    struct arrival *arrival;
    uint64_t count;
};

struct tally {
    uint64_t lasts;
    uint64_t refused; /* or taken for duplicates */
};

struct roaring_qp;

/** One kind of bitmap at work. */
struct subject {
    const char *bitmap; /* its name */
    uint32_t qps;
    /** Takes arrivals `start` to `end` - 1 of the schedule. */
    void (*run)(struct subject *subject, const struct schedule *s, uint64_t start, uint64_t end);
    struct eun_reorder *layer;    /* hd */
    struct eun_fixed_shape shape; /* fixed */
    uint64_t *words;              /* fixed */
    struct roaring_qp *roaring;   /* croaring, by QP */
    uint32_t *expected;           /* by QP */
    uint32_t base;                /* PSN at which the next pass starts */
    int64_t now;
    struct tally tally;
    double *best_s; /* least time that each segment of the schedule took */
};

static uint64_t random_state = 1;

/** xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators"). */
static uint32_t random_below(uint32_t n)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (uint32_t)(((random_state * UINT64_C(2685821657736338717) >> 32) * n) >> 32);
}

static void require(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "bench-reorder: %s\n", what);
    exit(1);
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    require(memory != NULL, "out of memory");
    return memory;
}

/** Fills `order` with the PSNs of one QP in the order in which they arrive. */
static void permute(uint32_t *order, uint32_t packets, uint32_t span, uint32_t *key,
                    uint32_t *place)
{
    uint32_t keys = packets + span;
    for (uint32_t i = 0; i <= keys; i++)
        place[i] = 0;
    for (uint32_t i = 0; i < packets; i++) {
        key[i] = i + random_below(span);
        place[key[i] + 1]++;
    }
    for (uint32_t i = 0; i < keys; i++)
        place[i + 1] += place[i];
    for (uint32_t i = 0; i < packets; i++)
        order[place[key[i]]++] = i;
}

static struct schedule make_schedule(const struct pattern *p)
{
    struct schedule s = {.count = (uint64_t)p->qps * p->packets};
    s.arrival = allocate(s.count, sizeof *s.arrival);
    uint32_t *order = allocate(s.count, sizeof *order);
    uint32_t *key = allocate(p->packets, sizeof *key);
    uint32_t *place = allocate((size_t)p->packets + p->span + 1, sizeof *place);
    uint32_t *next = allocate(p->qps, sizeof *next);
    for (uint32_t qp = 0; qp < p->qps; qp++) {
        bool reordered = random_below(100) < p->reordered_pct;
        permute(order + (size_t)qp * p->packets, p->packets, reordered ? p->span : 1, key, place);
    }
    for (uint64_t i = 0; i < s.count; i++)
        s.arrival[i].qp = (uint32_t)(i % p->qps);
    for (uint64_t i = s.count - 1; i > 0; i--) {
        uint32_t j = random_below((uint32_t)i + 1);
        uint32_t qp = s.arrival[i].qp;
        s.arrival[i].qp = s.arrival[j].qp;
        s.arrival[j].qp = qp;
    }
    for (uint64_t i = 0; i < s.count; i++) {
        uint32_t qp = s.arrival[i].qp;
        uint32_t psn = order[(size_t)qp * p->packets + next[qp]++];
        s.arrival[i].psn = psn | (psn % MESSAGE == MESSAGE - 1 ? LAST_BIT : 0);
    }
    free(order);
    free(key);
    free(place);
    free(next);
    return s;
}

static void run_hd(struct subject *subject, const struct schedule *s, uint64_t start, uint64_t end)
{
    struct tally tally = subject->tally;
    struct eun_reorder *const layer = subject->layer;
    uint32_t *const expected = subject->expected;
    const uint32_t base = subject->base;
    int64_t now = subject->now;
    for (uint64_t i = start; i < end; i++) {
        const struct arrival a = s->arrival[i];
        const uint32_t point = expected[a.qp];
        struct eun_hd_outcome outcome = eun_reorder_arrive(
            layer, a.qp, point, base + (a.psn & ~LAST_BIT), (a.psn & LAST_BIT) != 0, now);
        expected[a.qp] = point + outcome.advanced;
        tally.lasts += outcome.lasts;
        tally.refused += outcome.verdict > EUN_HD_HELD;
        now += ARRIVAL_PS;
    }
    eun_reorder_sweep(layer, now);
    subject->now = now;
    subject->tally = tally;
}

static void run_fixed(struct subject *subject, const struct schedule *s, uint64_t start,
                      uint64_t end)
{
    struct tally tally = subject->tally;
    const struct eun_fixed_shape shape = subject->shape;
    uint64_t *const words = subject->words;
    uint32_t *const expected = subject->expected;
    const uint32_t base = subject->base;
    for (uint64_t i = start; i < end; i++) {
        const struct arrival a = s->arrival[i];
        const uint32_t point = expected[a.qp];
        struct eun_hd_outcome outcome =
            eun_fixed_arrive(&shape, words + (size_t)a.qp * shape.words, point,
                             base + (a.psn & ~LAST_BIT), (a.psn & LAST_BIT) != 0);
        expected[a.qp] = point + outcome.advanced;
        tally.lasts += outcome.lasts;
        tally.refused += outcome.verdict > EUN_HD_HELD;
    }
    subject->tally = tally;
}

#ifdef EUN_BENCH_ROARING
static void run_roaring(struct subject *subject, const struct schedule *s, uint64_t start,
                        uint64_t end)
{
    struct tally tally = subject->tally;
    uint32_t *const expected = subject->expected;
    const uint32_t base = subject->base;
    for (uint64_t i = start; i < end; i++) {
        const struct arrival a = s->arrival[i];
        const uint32_t point = expected[a.qp];
        struct eun_hd_outcome outcome =
            roaring_arrive(&subject->roaring[a.qp], CAP, point, base + (a.psn & ~LAST_BIT),
                           (a.psn & LAST_BIT) != 0);
        expected[a.qp] = point + outcome.advanced;
        tally.lasts += outcome.lasts;
        tally.refused += outcome.verdict > EUN_HD_HELD;
    }
    subject->tally = tally;
}
#endif

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/** One pass over the schedule; checks that it delivered everything. */
static void run_pass(struct subject *subject, const struct pattern *p, const struct schedule *s)
{
    subject->tally = (struct tally){0, 0};
    for (uint64_t start = 0; start < s->count; start += EPOCH_ARRIVALS) {
        const uint64_t end = s->count - start < EPOCH_ARRIVALS ? s->count : start + EPOCH_ARRIVALS;
        const double began = cpu_seconds();
        subject->run(subject, s, start, end);
        const double elapsed = cpu_seconds() - began;
        double *best = &subject->best_s[start / EPOCH_ARRIVALS];
        *best = elapsed < *best ? elapsed : *best;
    }
    subject->base += p->packets;
    require(subject->tally.refused == 0, "an arrival was refused or taken for a duplicate");
    require(subject->tally.lasts == (uint64_t)p->qps * (p->packets / MESSAGE),
            "messages are missing");
    for (uint32_t qp = 0; qp < p->qps; qp++)
        require(subject->expected[qp] == subject->base, "a PSN is missing");
    const char *reason;
    require(subject->layer == NULL || eun_reorder_validate(subject->layer, &reason),
            "the ordering layer is inconsistent");
}

static uint64_t segments(const struct schedule *s)
{
    return (s->count + EPOCH_ARRIVALS - 1) / EPOCH_ARRIVALS;
}

static void forget_times(struct subject *subject, const struct schedule *s)
{
    for (uint64_t i = 0; i < segments(s); i++)
        subject->best_s[i] = 1e9;
}

static double total_time(const struct subject *subject, const struct schedule *s)
{
    double total = 0;
    for (uint64_t i = 0; i < segments(s); i++)
        total += subject->best_s[i];
    return total;
}

/** What every subject has; the rest is its maker's. */
static struct subject make_subject(const char *bitmap, const struct pattern *p,
                                   const struct schedule *s)
{
    struct subject subject = {.bitmap = bitmap, .qps = p->qps, .base = FIRST_PSN};
    subject.best_s = allocate(segments(s), sizeof *subject.best_s);
    subject.expected = allocate(p->qps, sizeof *subject.expected);
    for (uint32_t qp = 0; qp < p->qps; qp++)
        subject.expected[qp] = FIRST_PSN;
    return subject;
}

static struct subject make_fixed(const struct pattern *p, const struct schedule *s)
{
    struct subject subject = make_subject("fixed", p, s);
    subject.run = run_fixed;
    require(eun_fixed_shape_init(&subject.shape, CAP), "no fixed bitmap of that size");
    subject.words = allocate((size_t)p->qps * subject.shape.words, sizeof *subject.words);
    return subject;
}

static struct subject make_hd(const struct pattern *p, const struct schedule *s)
{
    struct subject subject = make_subject("hd", p, s);
    subject.run = run_hd;
    /* Room for the metadata, 16 blocks and a Last plane of every reordered QP. */
    uint32_t blocks = 60u * (p->qps / 100 * p->reordered_pct);
    struct eun_reorder_config config = {.blocks = blocks,
                                        .banks = blocks / 60001u + 1u,
                                        .cap_psns = CAP,
                                        .block_bits = 16,
                                        .idle_epoch_ps = EPOCH_PS};
    subject.layer = eun_reorder_new(&config);
    require(subject.layer != NULL, "no ordering layer of that size");
    for (uint32_t qp = 0; qp < p->qps; qp++)
        require(eun_reorder_open(subject.layer, qp), "out of memory");
    return subject;
}

#ifdef EUN_BENCH_ROARING
static struct subject make_roaring(const struct pattern *p, const struct schedule *s)
{
    struct subject subject = make_subject("croaring", p, s);
    subject.run = run_roaring;
    subject.roaring = allocate(p->qps, sizeof *subject.roaring);
    return subject;
}
#endif

static void free_subject(struct subject *subject)
{
#ifdef EUN_BENCH_ROARING
    for (uint32_t qp = 0; subject->roaring != NULL && qp < subject->qps; qp++)
        roaring_qp_dispose(&subject->roaring[qp]);
#endif
    eun_reorder_free(subject->layer);
    free(subject->words);
    free(subject->roaring);
    free(subject->expected);
    free(subject->best_s);
}

/** One line; `rivals` are the other subjects whose times this one is held against. */
static void report(const struct subject *subject, const struct pattern *p, const struct schedule *s,
                   const struct subject *rivals, size_t rival_count)
{
    const double best_s = total_time(subject, s);
    const double per_arrival = best_s / (double)s->count;
    printf("{\"bench\":\"reorder\",\"bitmap\":\"%s\",\"pattern\":\"%s\",\"qps\":%" PRIu32
           ",\"arrivals\":%" PRIu64 ",\"arrivals_per_s\":%.0f,\"ns_per_arrival\":%.3f",
           subject->bitmap, p->name, p->qps, s->count * p->passes, 1.0 / per_arrival,
           per_arrival * 1e9);
    for (size_t i = 0; i < rival_count; i++)
        printf(",\"vs_%s\":%.3f", rivals[i].bitmap, best_s / total_time(&rivals[i], s));
    printf("}\n");
    fflush(stdout);
}

static void run_pattern(const struct pattern *p)
{
    struct schedule s = make_schedule(p);
    struct subject subjects[] = {
        make_fixed(p, &s),
#ifdef EUN_BENCH_ROARING
        make_roaring(p, &s),
#endif
        make_hd(p, &s),
    };
    const size_t count = sizeof subjects / sizeof *subjects;
    for (uint32_t pass = 0; pass <= p->passes; pass++)
        for (size_t i = 0; i < count; i++) {
            run_pass(&subjects[i], p, &s);
            if (pass == 0)
                forget_times(&subjects[i], &s);
        }
    for (size_t i = 0; i < count; i++)
        report(&subjects[i], p, &s, subjects, i);
    for (size_t i = 0; i < count; i++)
        free_subject(&subjects[i]);
    free(s.arrival);
}

int main(void)
{
    static const struct pattern patterns[] = {
        {"in_order", 1000, 4096, 1, 0, 8},  {"span16", 1000, 4096, 16, 100, 8},
        {"span64", 1000, 4096, 64, 100, 8}, {"span256", 1000, 4096, 256, 100, 8},
        {"in_order", 1000000, 16, 1, 0, 3}, {"span16_5pct", 1000000, 16, 16, 5, 3},
    };
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        run_pattern(&patterns[i]);
    return 0;
}
