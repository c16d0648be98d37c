/* SPDX-License-Identifier: GPL-2.0-only */
#include "core/switch/shared-buffer.h"

#include "../test-random.h"

#include <string.h>

#define US INT64_C(1000000)

/** What is common to all admission policies; each policy's rules have a test of their own. */

static const struct eun_buffer_policy *const policies[] = {&eun_buffer_dynamic,
                                                           &eun_buffer_conweave};
enum { POLICIES = sizeof policies / sizeof policies[0], PORTS = 4 };

static const struct eun_buffer_config config = {.ports = PORTS,
                                                .total_bytes = 1 << 20,
                                                .reserve_bytes = 1000,
                                                .alpha = 1.0 / 16,
                                                .egress_alpha = 1,
                                                .resume_bytes = 3000,
                                                .lossless_mask = 1 << 3,
                                                .max_frame_bytes = 1000,
                                                .pause_ps = 5 * US};

static void start(struct eun_buffer *b, const struct eun_buffer_policy *policy)
{
    memset(b, 0xa5, sizeof *b);
    assert_true(eun_buffer_init(b, policy, &config));
    for (uint32_t i = 0; i < PORTS; i++)
        b->port[i].headroom_bytes = 20000;
    assert_true(eun_buffer_prepare(b));
}

static void names_differ(void **state)
{
    (void)state;
    assert_string_equal(eun_buffer_dynamic.name, "dynamic");
    assert_string_equal(eun_buffer_conweave.name, "conweave-ns3");
}

static void starts_empty(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        struct eun_buffer b;
        const char *reason = NULL;
        start(&b, policies[i]);
        assert_true(eun_buffer_validate(&b, &reason));
        assert_int_equal(b.used, 0);
        assert_int_equal(b.pool_used, 0);
        for (uint32_t port = 0; port < PORTS; port++) {
            assert_int_equal(b.port_bytes[port], 0);
            for (uint32_t p = 0; p < EUN_PRIORITIES; p++) {
                assert_false(eun_buffer_pg(&b, port, p)->paused);
                assert_true(policies[i]->refresh_at(&b, port, p) == INT64_MAX);
                assert_true(eun_buffer_mark_probability(&b, port, p) == 0);
            }
        }
        eun_buffer_dispose(&b);
        eun_buffer_dispose(&b);
    }
}

/** One byte of pool is enough; none is refused, and so is less than none. */
static void prepare_refuses_a_buffer_without_pool(void **state)
{
    (void)state;
    /* dynamic: PORTS (1000 + 20000); conweave-ns3: 14596 + (PORTS-1) 20000 + PORTS 8 1000. */
    const int64_t apart[POLICIES] = {84000, 106596};
    for (int i = 0; i < POLICIES; i++) {
        struct eun_buffer b;
        start(&b, policies[i]);
        assert_int_equal(b.pool_bytes, config.total_bytes - apart[i]);
        b.config.total_bytes = apart[i] + 1;
        assert_true(eun_buffer_prepare(&b));
        assert_int_equal(b.pool_bytes, 1);
        for (int64_t less = 0; less < 3; less++) {
            b.config.total_bytes = apart[i] - less * 40000;
            assert_false(eun_buffer_prepare(&b));
        }
        /* More headroom than 32 bits can add up. */
        b.config.total_bytes = config.total_bytes;
        b.port[1].headroom_bytes = UINT32_MAX;
        assert_false(eun_buffer_prepare(&b));
        eun_buffer_dispose(&b);
    }
}

/* ---- Marking, with a policy that only says how long the queue is ---- */

static int64_t stub_queue;

static int64_t stub_ecn_bytes(const struct eun_buffer *b, uint32_t out, uint32_t priority)
{
    (void)b;
    assert_int_equal(out, 2);
    assert_int_equal(priority, 5);
    return stub_queue;
}

static const struct eun_buffer_policy stub = {.name = "stub", .ecn_bytes = stub_ecn_bytes};

static double mark(const struct eun_buffer *b, int64_t queue)
{
    stub_queue = queue;
    return eun_buffer_mark_probability(b, 2, 5);
}

/** Never up to 100 KB, then up to 0.2 at 400 KB in a straight line, always above. */
static void marks_as_red(void **state)
{
    (void)state;
    struct eun_buffer b;
    assert_true(eun_buffer_init(&b, &stub, &config));
    b.port[2].ecn_min_bytes = 100000;
    b.port[2].ecn_max_bytes = 400000;
    b.port[2].ecn_max_probability = 0.2;
    assert_true(mark(&b, 0) == 0);
    assert_true(mark(&b, 100000) == 0);
    assert_true(mark(&b, 100001) > 0);
    assert_float_equal((float)mark(&b, 100001), 0.2f / 300000, 1e-9f);
    assert_float_equal((float)mark(&b, 250000), 0.1f, 1e-9f);
    assert_float_equal((float)mark(&b, 325000), 0.15f, 1e-9f);
    assert_true(mark(&b, 400000) == 0.2);
    assert_true(mark(&b, 400001) == 1);
    assert_true(mark(&b, INT64_C(1) << 40) == 1);
    eun_buffer_dispose(&b);
}

/** Equal thresholds mean a step. */
static void marks_as_a_step(void **state)
{
    (void)state;
    struct eun_buffer b;
    assert_true(eun_buffer_init(&b, &stub, &config));
    b.port[2].ecn_min_bytes = b.port[2].ecn_max_bytes = 5000;
    b.port[2].ecn_max_probability = 0.2;
    assert_true(mark(&b, 5000) == 0);
    assert_true(mark(&b, 5001) == 1);
    eun_buffer_dispose(&b);
}

/* ---- Headroom ---- */

/** Two ways of the wire, three frames, one pause frame. */
static void headroom_by_hand(void **state)
{
    (void)state;
    /* 100 Gb/s for 2 us: 25,000 B. */
    assert_int_equal(eun_buffer_headroom(UINT64_C(100000000000), 1 * US, 1114, 64),
                     25000 + 3 * 1114 + 64);
    /* 400 Gb/s for 4 us: 200,000 B. */
    assert_int_equal(eun_buffer_headroom(UINT64_C(400000000000), 2 * US, 1114, 64),
                     200000 + 3 * 1114 + 64);
    /* 25 Gb/s for 1.5 us: 4,687.5 B. */
    assert_int_equal(eun_buffer_headroom(UINT64_C(25000000000), 3 * US / 4, 4200, 43),
                     4688 + 3 * 4200 + 43);
    assert_int_equal(eun_buffer_headroom(UINT64_C(100000000000), 0, 9216, 64), 3 * 9216 + 64);
}

/** What is held takes room, but is in no queue: RED sees the rest, and so do queue lengths. */
static void held_bytes_are_in_no_queue(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        struct eun_buffer b;
        const char *reason = NULL;
        start(&b, policies[i]);
        b.port[1].ecn_min_bytes = b.port[1].ecn_max_bytes = 4999;
        for (int n = 0; n < 10; n++)
            assert_int_equal(policies[i]->admit(&b, 0, 1, 3, 1000), EUN_DROP_NONE);
        assert_int_equal(eun_buffer_queued(&b, 1), 10000);
        assert_true(eun_buffer_mark_probability(&b, 1, 3) == 1);
        /* Under conweave-ns3 1,001 bytes of a queue do not count at all. */
        const int64_t seen = policies[i]->ecn_bytes(&b, 1, 3);
        eun_buffer_hold(&b, 1, 3, seen - 5000);
        assert_true(eun_buffer_mark_probability(&b, 1, 3) == 1);
        eun_buffer_hold(&b, 1, 3, 1);
        assert_true(eun_buffer_mark_probability(&b, 1, 3) == 0);
        assert_int_equal(eun_buffer_queued(&b, 1), 10000 - (seen - 4999));
        assert_int_equal(b.port_bytes[1], 10000);
        assert_true(eun_buffer_validate(&b, &reason));
        eun_buffer_hold(&b, 1, 3, -(seen - 4999));
        assert_true(eun_buffer_mark_probability(&b, 1, 3) == 1);
        eun_buffer_hold(&b, 1, 3, -1);
        assert_false(eun_buffer_validate(&b, &reason));
        eun_buffer_hold(&b, 1, 3, 10002);
        assert_false(eun_buffer_validate(&b, &reason));
        assert_string_equal(reason, "bytes held lie outside 0..bytes stored");
        eun_buffer_dispose(&b);
    }
}

/** A wire that holds more than 4 GiB: as much as there is, which no buffer has room for. */
static void headroom_saturates(void **state)
{
    (void)state;
    const int64_t second = 1000000 * US;
    assert_true(eun_buffer_headroom(UINT64_C(800000000000), second, 1114, 64) == UINT32_MAX);
    assert_true(eun_buffer_headroom(UINT64_C(100000000000), second / 8, 1114, 64) < UINT32_MAX);
}

/* ---- Validation ---- */

static void assert_invalid(const struct eun_buffer *b, const char *expected)
{
    const char *reason = NULL;
    assert_false(eun_buffer_validate(b, &reason));
    assert_string_equal(reason, expected);
}

static void fill(struct eun_buffer *b)
{
    struct test_random r = {101};
    for (int i = 0; i < 200; i++) {
        const uint32_t in = test_below(&r, PORTS), priority = test_chance(&r, 50) ? 3 : 1;
        (void)b->policy->admit(b, in, test_below(&r, PORTS), priority, test_between(&r, 64, 1000));
    }
    const char *reason = NULL;
    assert_true(eun_buffer_validate(b, &reason));
    assert_true(b->used > 100000);
}

/** A single wrong counter is found, and named. */
static void validate_finds_a_wrong_counter(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        struct eun_buffer b;
        const char *reason = NULL;
        start(&b, policies[i]);
        fill(&b);
        struct eun_buffer_pg *pg = eun_buffer_pg(&b, 1, 3);
        const int64_t headroom = pg->headroom;
        pg->headroom = -1;
        assert_invalid(&b, "headroom use lies outside 0..use");
        pg->headroom = pg->used + 1;
        assert_invalid(&b, "headroom use lies outside 0..use");
        pg->headroom = headroom;
        pg->used++;
        assert_invalid(&b, "a port's ingress bytes differ from the sum over its priorities");
        pg->used--;
        b.port_in_bytes[2]--;
        assert_invalid(&b, "a port's ingress bytes differ from the sum over its priorities");
        b.port_in_bytes[2]++;
        b.egress[3 * EUN_PRIORITIES + 1]++;
        assert_invalid(&b, "a port's egress bytes differ from the sum over its priorities");
        b.egress[3 * EUN_PRIORITIES + 1]--;
        b.port_bytes[0]++;
        assert_invalid(&b, "a port's egress bytes differ from the sum over its priorities");
        b.port_bytes[0]--;
        b.used++;
        assert_invalid(&b, "ingress bytes differ from bytes stored");
        b.used--;
        b.port_bytes[0]++;
        b.egress[1]++;
        assert_invalid(&b, "egress bytes differ from bytes stored");
        b.port_bytes[0]--;
        b.egress[1]--;
        const int64_t pool_used = b.pool_used;
        b.pool_used = -1;
        assert_invalid(&b, "the pool's bytes lie outside 0..bytes stored");
        b.pool_used = b.used + 1;
        assert_invalid(&b, "the pool's bytes lie outside 0..bytes stored");
        b.pool_used = pool_used;
        assert_true(eun_buffer_validate(&b, &reason));
        eun_buffer_dispose(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_differ),
        cmocka_unit_test(starts_empty),
        cmocka_unit_test(prepare_refuses_a_buffer_without_pool),
        cmocka_unit_test(marks_as_red),
        cmocka_unit_test(marks_as_a_step),
        cmocka_unit_test(headroom_by_hand),
        cmocka_unit_test(headroom_saturates),
        cmocka_unit_test(held_bytes_are_in_no_queue),
        cmocka_unit_test(validate_finds_a_wrong_counter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
