/* SPDX-License-Identifier: GPL-2.0-only */
#include "core/switch/balancer.h"

#include "test-support.h"

#include <string.h>

#define US INT64_C(1000000) /* in ps */
#define NONE UINT32_MAX

enum { N = 64, PORTS = 64, SLOW = 3 };

static const struct eun_balancer *const lb = &eun_balancer_elephant_spray;

struct bench {
    struct test_state state;
    uint64_t seed;
    uint32_t queue[PORTS];
    bool from_host;
};

static void start(struct bench *b, uint64_t seed, uint32_t bytes, uint32_t queue, int64_t aging_ps)
{
    static uint64_t rates[PORTS];
    struct eun_lb_params params = eun_lb_defaults;
    params.elephant_bytes = bytes;
    params.elephant_queue = queue;
    params.elephant_aging_ps = aging_ps;
    for (uint32_t i = 0; i < PORTS; i++)
        rates[i] = i == SLOW ? UINT64_C(25000000000) : UINT64_C(100000000000);
    const struct eun_lb_network network = {.rate_bps = rates, .ports = PORTS};
    test_init(lb, &b->state, seed);
    assert_null(lb->configure(b->state.words, &params, &network));
    memset(b->queue, 0, sizeof b->queue);
    b->seed = seed;
    b->from_host = true;
}

static uint32_t choose(struct bench *b, uint32_t flow, uint32_t bytes, int64_t now_ps)
{
    struct eun_lb_view view = test_view(0, N);
    const struct eun_lb_packet packet = {.src = 1, .dst = 2, .entropy = flow, .bytes = bytes};
    view.queue_bytes = b->queue;
    view.now_ps = now_ps;
    view.from_host = b->from_host;
    return lb->choose(b->state.words, &packet, &view);
}

static uint32_t ecmp(const struct bench *b, uint32_t flow)
{
    return eun_ecmp_choose(b->seed, flow, N);
}

/** Does the packet leave its ECMP way? A sprayed one does but once in N. */
static bool is_sprayed(struct bench *b, uint32_t flow, uint32_t bytes, int64_t now_ps)
{
    return choose(b, flow, bytes, now_ps) != ecmp(b, flow);
}

/**
 * By hand: limit 10,000, packets of 1,000. Packets 1 to 10 had 0 to 9,000 before them and keep
 * their way; packet 11 had 10,000. With a first packet of 999 it is packet 12.
 */
static void spraying_begins_at_the_exact_byte(void **state)
{
    (void)state;
    struct test_random r = test_random_start(151);
    for (uint32_t first = 999; first <= 1001; first++) {
        const uint32_t mice = first < 1000 ? 11 : 10;
        uint32_t sprayed[14] = {0};
        for (int round = 0; round < 2000; round++) {
            struct bench b;
            start(&b, test_random_next(&r), 10000, 0, 1000 * US);
            const uint32_t flow = (uint32_t)test_random_next(&r);
            for (uint32_t i = 0; i < 14; i++)
                sprayed[i] += is_sprayed(&b, flow, i == 0 ? first : 1000, i * US);
        }
        for (uint32_t i = 0; i < 14; i++) {
            if (i < mice)
                assert_int_equal(sprayed[i], 0);
            else
                assert_true(sprayed[i] > 1900); /* 2000 x 63/64 = 1969 */
        }
    }
}

/** Elephants are drawn uniformly; 0 makes all flows elephants, the largest number none. */
static void elephants_are_drawn_uniformly(void **state)
{
    (void)state;
    struct test_random r = test_random_start(152);
    struct bench b;
    uint32_t count[N] = {0};
    start(&b, test_random_next(&r), 0, 0, US);
    for (uint32_t i = 0; i < 1000 * N; i++)
        count[choose(&b, (uint32_t)test_random_next(&r), 1000, i)]++;
    test_assert_random(count, N);
    start(&b, test_random_next(&r), NONE, 0, 1000 * US);
    for (uint32_t i = 0; i < 1000000; i++)
        assert_false(is_sprayed(&b, 7, 9000, i)); /* 9 GB: past 32 bits */
    memset(count, 0, sizeof count);
    start(&b, test_random_next(&r), NONE - 1u, 0, 1000 * US);
    for (uint32_t i = 0; i < 1000 * N + 500000; i++)
        if (i >= 500000)
            count[choose(&b, 7, 9000, i)]++;
        else
            (void)choose(&b, 7, 9000, i);
    test_assert_random(count, N);
}

/** A reused entropy starts anew after the aging time, and not before. */
static void a_silent_flow_starts_anew(void **state)
{
    (void)state;
    struct test_random r = test_random_start(153);
    uint32_t kept = 0;
    for (int round = 0; round < 1000; round++) {
        struct bench b;
        start(&b, test_random_next(&r), 10000, 0, 100 * US);
        const uint32_t flow = (uint32_t)test_random_next(&r);
        for (int i = 0; i < 10; i++)
            assert_false(is_sprayed(&b, flow, 1000, 0));
        kept += is_sprayed(&b, flow, 1000, 100 * US);
        for (int i = 0; i < 10; i++)
            assert_false(is_sprayed(&b, flow, 1000, 200 * US + 1));
    }
    assert_true(kept > 950);
    /* The silence counts, not the age: 40 packets 90 us apart, of which 10 are a mouse's. */
    uint32_t sprayed = 0;
    for (int round = 0; round < 100; round++) {
        struct bench b;
        start(&b, test_random_next(&r), 10000, 0, 100 * US);
        for (int i = 0; i < 40; i++)
            sprayed += is_sprayed(&b, 5, 1000, i * 90 * US);
    }
    assert_true(sprayed > 2800 && sprayed <= 3000);
}

/** With 0 every flow is sprayed from its first packet on, also where two meet in the table. */
static void zero_sprays_all(void **state)
{
    (void)state;
    struct test_random r = test_random_start(157);
    struct bench b;
    uint32_t sprayed = 0;
    start(&b, test_random_next(&r), 0, 0, US);
    for (int i = 0; i < 40000; i++)
        sprayed += is_sprayed(&b, (uint32_t)test_random_next(&r), 1000, 0);
    assert_true(sprayed > 39000);
}

/** Against a table without collisions: an elephant is one, and no mouse is ever sprayed. */
static void mice_stay_whatever_others_do(void **state)
{
    (void)state;
    enum { FLOWS = 2000, LIMIT = 30000 };
    struct test_random r = test_random_start(154);
    struct bench b;
    static uint32_t flow[FLOWS], sent[FLOWS];
    uint32_t elephants = 0, moved = 0;
    start(&b, test_random_next(&r), LIMIT, 0, 1000000 * US);
    for (int i = 0; i < FLOWS; i++)
        flow[i] = (uint32_t)test_random_next(&r);
    for (int i = 0; i < 100000; i++) {
        const uint32_t f = test_below(&r, FLOWS), bytes = test_between(&r, 64, 1114);
        const bool sprayed = is_sprayed(&b, flow[f], bytes, i);
        if (sent[f] < LIMIT)
            assert_false(sprayed);
        elephants += sent[f] >= LIMIT;
        moved += sprayed;
        sent[f] += bytes;
    }
    /* Flows that meet in an entry, here one in nine, may be missed. */
    assert_true(elephants > 1000 && moved > elephants * 3 / 4);
}

/** At a later switch a flow's bytes do not count. */
static void only_the_first_switch_counts(void **state)
{
    (void)state;
    struct bench b;
    start(&b, 155, 0, 0, US);
    b.from_host = false;
    for (uint32_t i = 0; i < 10000; i++)
        assert_false(is_sprayed(&b, i, 9000, 0));
}

/** More than the limit on the ECMP way, to the byte and by the port's rate; other ways matter not.
 */
static void a_hotspot_is_left_packet_by_packet(void **state)
{
    (void)state;
    struct test_random r = test_random_start(156);
    struct bench b;
    uint32_t sprayed = 0, count[N] = {0};
    start(&b, test_random_next(&r), NONE, 40000, US);
    for (uint32_t i = 0; i < 20000; i++) {
        const uint32_t flow = (uint32_t)test_random_next(&r), way = ecmp(&b, flow);
        const uint32_t limit = way == SLOW ? 10000 : 40000;
        b.from_host = test_chance(&r, 50);
        for (uint32_t p = 0; p < PORTS; p++)
            b.queue[p] = test_below(&r, 100000);
        b.queue[way] = limit;
        assert_int_equal(choose(&b, flow, 1000, i), way);
        b.queue[way]++;
        const uint32_t choice = choose(&b, flow, 1000, i);
        sprayed += choice != way;
        count[choice]++;
    }
    assert_true(sprayed > 19000);
    test_assert_uniform(count, N);
}

static void too_many_ports_are_refused(void **state)
{
    (void)state;
    struct bench b;
    const struct eun_lb_network big = {.ports = 513};
    test_init(lb, &b.state, 1);
    assert_string_equal(lb->configure(b.state.words, &eun_lb_defaults, &big),
                        "elephant-spray takes up to 512 ports a switch");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spraying_begins_at_the_exact_byte),
        cmocka_unit_test(elephants_are_drawn_uniformly),
        cmocka_unit_test(a_silent_flow_starts_anew),
        cmocka_unit_test(zero_sprays_all),
        cmocka_unit_test(mice_stay_whatever_others_do),
        cmocka_unit_test(only_the_first_switch_counts),
        cmocka_unit_test(a_hotspot_is_left_packet_by_packet),
        cmocka_unit_test(too_many_ports_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
