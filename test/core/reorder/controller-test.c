/* SPDX-License-Identifier: GPL-2.0-only */
#include "../test-random.h"

#include "controller.h"
#include "reorder.h"

#include <math.h>

#define SERVICE INT64_C(10000) /* 10 ns */
#define POISSON 3000000u       /* packets; at load 0.8 the mean is then good to 0.6 % */

static struct eun_controller *start(uint32_t banks, uint32_t pipelines, uint32_t cache,
                                    int64_t service)
{
    const struct eun_controller_config config = {banks, pipelines, cache, service};
    struct eun_controller *c = eun_controller_new(&config);
    assert_non_null(c);
    return c;
}

/** A QP of that pipeline. */
static uint32_t qp_of(const struct eun_controller *c, uint32_t pipeline)
{
    uint32_t qp = 0;
    while (eun_controller_pipeline_of(c, qp) != pipeline)
        qp++;
    return qp;
}

static int64_t leaves(struct eun_controller *c, uint32_t qp, uint32_t bank, uint32_t allocations,
                      int64_t now)
{
    return eun_controller_admit(c, qp, bank, allocations, now).leaves;
}

/* ---- closed forms ---- */

/** D/D/1: an allocation every `spacing`. Faster than the service, packet n leaves at (n + 1) s. */
static void test_regular_arrivals(void **state)
{
    (void)state;
    for (int64_t spacing = SERVICE / 4; spacing <= 2 * SERVICE; spacing += SERVICE / 4) {
        struct eun_controller *c = start(1, 1, 0, SERVICE);
        for (int64_t n = 0; n < 1000; n++) {
            const int64_t expected = spacing < SERVICE ? (n + 1) * SERVICE : n * spacing + SERVICE;
            const struct eun_admission a = eun_controller_admit(c, (uint32_t)n, 0, 1, n * spacing);
            assert_int_equal(a.leaves, expected);
            assert_int_equal(a.latency, expected - n * spacing);
        }
        assert_int_equal(eun_controller_delayed(c), 1000);
        assert_int_equal(eun_controller_blocked(c), 0);
        eun_controller_free(c);
    }
}

/** M/D/1: Pollaczek and Khinchine give the mean time in the queue, lambda s^2 / (2 (1 - rho)). */
static void test_random_arrivals(void **state)
{
    (void)state;
    struct test_random r = test_random_start(12);
    static const double loads[] = {0.1, 0.5, 0.8};
    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++) {
        struct eun_controller *c = start(1, 1, 0, SERVICE);
        const double lambda = loads[i] / (double)SERVICE;
        double now = 0;
        for (uint32_t n = 0; n < POISSON; n++) {
            const double u = (double)(test_random_next(&r) >> 11) / 9007199254740992.0;
            now -= log1p(-u) / lambda;
            eun_controller_admit(c, n, 0, 1, (int64_t)now);
        }
        const double queued =
            eun_wait_histogram_mean(eun_controller_latencies(c)) - (double)SERVICE;
        const double expected = lambda * (double)SERVICE * (double)SERVICE / (2 * (1 - loads[i]));
        print_message("load %g: mean wait %.1f ps, closed form %.1f ps\n", loads[i], queued,
                      expected);
        assert_true(fabs(queued / expected - 1) < 0.03);
        assert_int_equal(eun_wait_histogram_total(eun_controller_waits(c)), POISSON);
        eun_controller_free(c);
    }
}

/** Allocations that come at once: each of k banks serves its share, one after the other. */
static void test_banks_serve_side_by_side(void **state)
{
    (void)state;
    for (uint32_t banks = 1; banks <= 8; banks++) {
        struct eun_controller *c = start(banks, 1, 0, SERVICE);
        for (uint32_t n = 0; n < 100; n++)
            assert_int_equal(leaves(c, n, n % banks, 1, 7), 7 + (n / banks + 1) * SERVICE);
        /* What a packet needs in one bank comes from there alone. */
        assert_int_equal(leaves(c, 0, 0, 5, 1000 * SERVICE), 1005 * SERVICE);
        eun_controller_free(c);
    }
}

/** What needs nothing waits behind what waits, in its own pipeline only. */
static void test_head_of_line(void **state)
{
    (void)state;
    struct eun_controller *c = start(2, 2, 0, SERVICE);
    const uint32_t waiting = qp_of(c, 0);
    const uint32_t other = qp_of(c, 1);
    assert_int_equal(leaves(c, waiting, 0, 3, 0), 3 * SERVICE);
    assert_int_equal(leaves(c, waiting, 1, 0, 5), 3 * SERVICE);
    assert_int_equal(leaves(c, waiting, 1, 1, 6), 3 * SERVICE);
    assert_int_equal(leaves(c, other, 0, 0, 7), 7);
    assert_int_equal(leaves(c, other, 1, 1, 8), 6 + 2 * SERVICE);
    assert_int_equal(leaves(c, waiting, 0, 0, 3 * SERVICE), 3 * SERVICE);
    assert_int_equal(eun_wait_histogram_total(eun_controller_waits(c)), 6);
    assert_int_equal(eun_wait_histogram_total(eun_controller_latencies(c)), 3);
    assert_int_equal(eun_controller_delayed(c), 4);
    assert_int_equal(eun_controller_blocked(c), 1);
    eun_controller_free(c);
}

/** A burst as large as the cache waits for nothing, if it comes no sooner than the refills. */
static void test_cache(void **state)
{
    (void)state;
    for (uint32_t cache = 1; cache <= 20; cache++) {
        struct eun_controller *c = start(1, 1, cache, SERVICE);
        int64_t now = 0;
        for (uint32_t burst = 0; burst < 100; burst++) {
            for (uint32_t left = cache; left > 0;) {
                const uint32_t allocations = left < 3 ? left : 3;
                const struct eun_admission a = eun_controller_admit(c, 5, 0, allocations, now);
                assert_int_equal(a.leaves, now);
                assert_int_equal(a.latency, 0);
                left -= allocations;
            }
            now += cache * SERVICE;
        }
        assert_int_equal(eun_controller_delayed(c), 0);
        /* One more than the cache has takes the first refill, the next one the second. */
        assert_int_equal(leaves(c, 5, 0, cache + 1, now), now + SERVICE);
        assert_int_equal(leaves(c, 5, 0, 1, now), now + 2 * SERVICE);
        eun_controller_free(c);
    }
}

/** Refills queue like anything else: a full cache of one pipeline delays the other's request. */
static void test_refills_take_the_banks_time(void **state)
{
    (void)state;
    struct eun_controller *c = start(1, 2, 4, SERVICE);
    assert_int_equal(leaves(c, qp_of(c, 0), 0, 4, 0), 0);
    assert_int_equal(leaves(c, qp_of(c, 1), 0, 5, 0), 5 * SERVICE);
    eun_controller_free(c);
}

static void test_no_service_time(void **state)
{
    (void)state;
    for (uint32_t cache = 0; cache < 3; cache++) {
        struct eun_controller *c = start(1, 1, cache, 0);
        for (int64_t now = 0; now < 100; now += 3)
            assert_int_equal(leaves(c, 1, 0, 17, now), now);
        assert_int_equal(eun_controller_delayed(c), 0);
        eun_controller_free(c);
    }
}

static void test_ranges(void **state)
{
    (void)state;
    static const struct eun_controller_config bad[] = {
        {0, 1, 0, 1},         {1, 0, 0, 1},
        {1, 1, 0, -1},        {1, 1, 0, EUN_CONTROLLER_SERVICE_MAX + 1},
        {65536, 65536, 0, 1}, {65536, 256, 256, 1},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_null(eun_controller_new(&bad[i]));
    eun_controller_free(NULL);
}

/** Pipelines and banks of neighbouring QPs: every pair gets its share, within five sigma. */
static void test_pipelines_are_independent_of_banks(void **state)
{
    (void)state;
    static const uint32_t shapes[][2] = {{4, 4}, {8, 8}, {16, 8}, {3, 7}, {1, 16}};
    for (size_t shape = 0; shape < sizeof shapes / sizeof shapes[0]; shape++) {
        const uint32_t banks = shapes[shape][0];
        const uint32_t pipelines = shapes[shape][1];
        struct eun_controller *c = start(banks, pipelines, 0, 1);
        struct eun_hd_bank places[16];
        const struct eun_reorder_front front = {.banks = places, .bank_count = banks};
        uint32_t count[16][16] = {{0}};
        const uint32_t qps = 100000;
        for (uint32_t qp = 0; qp < qps; qp++) {
            const uint32_t pipeline = eun_controller_pipeline_of(c, qp);
            assert_true(pipeline < pipelines);
            count[eun_reorder_bank_of(&front, qp) - places][pipeline]++;
        }
        const double share = (double)qps / (banks * pipelines);
        for (uint32_t bank = 0; bank < banks; bank++)
            for (uint32_t pipeline = 0; pipeline < pipelines; pipeline++)
                assert_true(fabs(count[bank][pipeline] - share) < 5 * sqrt(share));
        eun_controller_free(c);
    }
}

/* ---- against a model that goes through time, tick by tick ---- */

#define PACKETS 400u
#define REQUESTS (PACKETS * 8u)
#define BANKS 4u
#define PIPELINES 4u

struct packet {
    int64_t comes;
    uint32_t qp, pipeline, bank, allocations;
    uint32_t missing; /* allocations that it has not got */
    int64_t has_all, leaves;
};

/** A queue of numbers, written once from front to back. */
struct queue {
    uint32_t item[REQUESTS];
    uint32_t first, end;
};

struct model {
    struct eun_controller_config config;
    struct packet packet[PACKETS];
    struct queue asked[BANKS];            /* pipelines whose requests the bank has */
    int64_t busy_until[BANKS];            /* with the first of them; -1: it rests */
    uint32_t credits[BANKS][PIPELINES];   /* in the cache */
    struct queue needy[BANKS][PIPELINES]; /* packets that wait for one, once each */
    struct queue in_pipeline[PIPELINES];  /* packets */
};

static struct model model;

static void push(struct queue *q, uint32_t item)
{
    q->item[q->end++] = item;
}

static bool is_empty(const struct queue *q)
{
    return q->first == q->end;
}

static void give(uint32_t bank, uint32_t pipeline, int64_t now)
{
    struct queue *needy = &model.needy[bank][pipeline];
    if (is_empty(needy)) {
        model.credits[bank][pipeline]++;
        return;
    }
    struct packet *p = &model.packet[needy->item[needy->first++]];
    if (--p->missing == 0)
        p->has_all = now;
}

static void serve(uint32_t bank, int64_t now)
{
    struct queue *asked = &model.asked[bank];
    if (model.busy_until[bank] == now) {
        model.busy_until[bank] = -1;
        give(bank, asked->item[asked->first++], now);
    }
    if (model.busy_until[bank] < 0 && !is_empty(asked))
        model.busy_until[bank] = now + model.config.service_ps;
}

static void come(uint32_t number, int64_t now)
{
    struct packet *p = &model.packet[number];
    p->missing = p->allocations;
    p->has_all = now;
    push(&model.in_pipeline[p->pipeline], number);
    for (uint32_t i = 0; i < p->allocations; i++) {
        push(&model.asked[p->bank], p->pipeline);
        push(&model.needy[p->bank][p->pipeline], number);
        if (model.credits[p->bank][p->pipeline] > 0) {
            model.credits[p->bank][p->pipeline]--;
            give(p->bank, p->pipeline, now);
        }
    }
}

static void leave(uint32_t pipeline, int64_t now)
{
    struct queue *q = &model.in_pipeline[pipeline];
    while (!is_empty(q) && model.packet[q->item[q->first]].missing == 0)
        model.packet[q->item[q->first++]].leaves = now;
}

static void run_model(void)
{
    uint32_t next = 0;
    uint32_t in_flight = 0;
    for (int64_t now = 0; next < PACKETS || in_flight > 0; now++) {
        for (uint32_t bank = 0; bank < model.config.banks; bank++)
            serve(bank, now);
        while (next < PACKETS && model.packet[next].comes == now)
            come(next++, now);
        for (uint32_t bank = 0; bank < model.config.banks; bank++)
            serve(bank, now);
        in_flight = 0;
        for (uint32_t i = 0; i < model.config.pipelines; i++) {
            leave(i, now);
            in_flight += model.in_pipeline[i].end - model.in_pipeline[i].first;
        }
    }
}

static void draw(struct test_random *r, struct eun_controller *c)
{
    const uint32_t gap = test_between(r, 1, 12);
    const uint32_t needing = test_between(r, 5, 95);
    const uint32_t most = test_between(r, 1, 8);
    int64_t now = 0;
    for (uint32_t i = 0; i < PACKETS; i++) {
        now += test_below(r, gap);
        const uint32_t qp = test_below(r, 1u << 24);
        model.packet[i] = (struct packet){
            .comes = now,
            .qp = qp,
            .pipeline = eun_controller_pipeline_of(c, qp),
            .bank = test_below(r, model.config.banks),
            .allocations = test_chance(r, needing) ? test_between(r, 1, most) : 0,
        };
    }
}

static void test_against_model(void **state)
{
    (void)state;
    struct test_random r = test_random_start(13);
    for (uint32_t round = 0; round < 300; round++) {
        model =
            (struct model){.config = {test_between(&r, 1, BANKS), test_between(&r, 1, PIPELINES),
                                      test_below(&r, 12), test_between(&r, 1, 9)}};
        struct eun_controller *c = eun_controller_new(&model.config);
        assert_non_null(c);
        for (uint32_t bank = 0; bank < BANKS; bank++) {
            model.busy_until[bank] = -1;
            for (uint32_t i = 0; i < PIPELINES; i++)
                model.credits[bank][i] = model.config.cache_blocks;
        }
        draw(&r, c);
        run_model();
        uint64_t delayed = 0;
        uint64_t blocked = 0;
        int64_t waited = 0;
        for (uint32_t i = 0; i < PACKETS; i++) {
            const struct packet *p = &model.packet[i];
            const struct eun_admission a =
                eun_controller_admit(c, p->qp, p->bank, p->allocations, p->comes);
            assert_int_equal(a.leaves, p->leaves);
            assert_int_equal(a.latency, p->has_all - p->comes);
            delayed += p->leaves > p->comes;
            blocked += p->leaves > p->comes && p->allocations == 0;
            waited += p->leaves - p->comes;
        }
        assert_int_equal(eun_controller_delayed(c), delayed);
        assert_int_equal(eun_controller_blocked(c), blocked);
        assert_int_equal(eun_controller_waits(c)->sum_ps, waited);
        assert_int_equal(eun_wait_histogram_total(eun_controller_waits(c)), PACKETS);
        eun_controller_free(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regular_arrivals),
        cmocka_unit_test(test_random_arrivals),
        cmocka_unit_test(test_banks_serve_side_by_side),
        cmocka_unit_test(test_head_of_line),
        cmocka_unit_test(test_cache),
        cmocka_unit_test(test_refills_take_the_banks_time),
        cmocka_unit_test(test_no_service_time),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_pipelines_are_independent_of_banks),
        cmocka_unit_test(test_against_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
