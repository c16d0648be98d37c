/* SPDX-License-Identifier: GPL-2.0-only */
#include "core/switch/balancer.h"

#include "test-support.h"

#include <string.h>

/* A leaf: hosts at ports 0..HOSTS-1, spines at the others; port SLOW has a quarter of the rate. */
enum { HOSTS = 6, PORTS = 16, SLOW = 9, LIMIT = 100000, HOPS = 8 };

static const struct eun_balancer *const lb = &eun_balancer_deflect;

struct bench {
    struct test_state state;
    uint32_t queue[PORTS];
};

static uint32_t limit_of(uint32_t port)
{
    return port == SLOW ? LIMIT / 4 : LIMIT;
}

static const char *configure(struct bench *b, uint32_t hops, uint32_t bytes)
{
    static uint64_t rates[PORTS];
    static uint8_t to_host[PORTS];
    struct eun_lb_params params = eun_lb_defaults;
    params.deflect_hops = hops;
    params.deflect_bytes = bytes;
    for (uint32_t i = 0; i < PORTS; i++) {
        rates[i] = i == SLOW ? UINT64_C(25000000000) : UINT64_C(100000000000);
        to_host[i] = i < HOSTS;
    }
    const struct eun_lb_network network = {.rate_bps = rates, .to_host = to_host, .ports = PORTS};
    return lb->configure(b->state.words, &params, &network);
}

static void start(struct bench *b, uint64_t seed)
{
    test_init(lb, &b->state, seed);
    assert_null(configure(b, HOPS, LIMIT));
    memset(b->queue, 0, sizeof b->queue);
}

static uint32_t divert(struct bench *b, uint32_t out, uint32_t bytes, uint32_t hops)
{
    return lb->divert(b->state.words, out, bytes, hops, b->queue);
}

/** The way is that of ECMP at the same switch. */
static void the_way_is_that_of_ecmp(void **state)
{
    (void)state;
    struct test_random r = test_random_start(141);
    const uint64_t seed = test_random_next(&r);
    struct test_state ecmp;
    struct bench b;
    start(&b, seed);
    test_init(&eun_balancer_ecmp, &ecmp, seed);
    for (int i = 0; i < 1000; i++) {
        const struct eun_lb_packet packet = {.entropy = (uint32_t)test_random_next(&r)};
        const struct eun_lb_view view = test_view(0, test_between(&r, 2, WAYS_MAX));
        assert_int_equal(lb->choose(b.state.words, &packet, &view),
                         eun_balancer_ecmp.choose(ecmp.words, &packet, &view));
    }
}

/** To the byte: a frame that fits takes its way, one that does not takes a detour. */
static void a_frame_that_does_not_fit_is_deflected(void **state)
{
    (void)state;
    struct bench b;
    start(&b, 1);
    for (uint32_t out = 0; out < PORTS; out++) {
        for (uint32_t bytes = 64; bytes <= 1114; bytes += 525) {
            b.queue[out] = limit_of(out) - bytes;
            assert_int_equal(divert(&b, out, bytes, 1), out);
            b.queue[out]++;
            const uint32_t port = divert(&b, out, bytes, 1);
            assert_true(port != out && port >= HOSTS && port < PORTS);
        }
        b.queue[out] = 0;
    }
}

/** Against the definition, with random queues: which ports a frame may take, and that it is one. */
static void detours_lead_to_switches_with_room(void **state)
{
    (void)state;
    struct test_random r = test_random_start(142);
    struct bench b;
    uint32_t deflected = 0, stuck = 0;
    start(&b, test_random_next(&r));
    for (int i = 0; i < 200000; i++) {
        const uint32_t fill = test_below(&r, 101);
        for (uint32_t p = 0; p < PORTS; p++)
            b.queue[p] = test_chance(&r, fill) ? limit_of(p) : test_below(&r, limit_of(p));
        const uint32_t out = test_below(&r, PORTS), bytes = test_between(&r, 64, 9216);
        const uint32_t hops = test_between(&r, 1, 2 * HOPS);
        bool room[PORTS], any = false;
        for (uint32_t p = 0; p < PORTS; p++) {
            room[p] = b.queue[p] + bytes <= limit_of(p);
            any = any || (p >= HOSTS && p != out && room[p]);
        }
        const uint32_t port = divert(&b, out, bytes, hops);
        if (room[out] || hops >= HOPS || !any) {
            assert_int_equal(port, out);
            stuck += !room[out] && hops < HOPS;
        } else {
            assert_true(port >= HOSTS && port < PORTS && port != out && room[port]);
            deflected++;
        }
    }
    assert_true(deflected > 10000 && stuck > 1000);
}

/** All detours alike, drawn and not dealt, whichever ports they are. */
static void detours_are_drawn_uniformly(void **state)
{
    (void)state;
    struct test_random r = test_random_start(143);
    for (int round = 0; round < 100; round++) {
        struct bench b;
        uint32_t count[PORTS] = {0}, open[PORTS], n = 0;
        start(&b, test_random_next(&r));
        const uint32_t out = test_below(&r, PORTS);
        for (uint32_t p = HOSTS; p < PORTS; p++) {
            if (test_chance(&r, 30))
                b.queue[p] = LIMIT;
            else if (p != out)
                open[n++] = p;
        }
        b.queue[out] = LIMIT;
        if (n < 2)
            continue;
        for (uint32_t i = 0; i < 2000 * n; i++)
            count[divert(&b, out, 1000, 1)]++;
        for (uint32_t i = 0; i < n; i++)
            count[i] = count[open[i]];
        test_assert_random(count, n);
    }
}

/** The last detour begins after HOPS - 1 links; 0 switches detours off. */
static void the_hop_limit_is_exact(void **state)
{
    (void)state;
    struct bench b;
    start(&b, 3);
    b.queue[2] = LIMIT;
    for (uint32_t hops = 0; hops < 256; hops++)
        assert_int_equal(divert(&b, 2, 1000, hops) != 2, hops < HOPS);
    assert_null(configure(&b, 0, LIMIT));
    for (uint32_t hops = 0; hops < 256; hops++)
        assert_int_equal(divert(&b, 2, 1000, hops), 2);
}

/**
 * By hand: frames of 1,000 bytes for the host at port 0, one after the other, and none leaves. Port
 * 0 takes 100, each of ten spines 100 but the slow one 25; from then on they queue at port 0.
 */
static void an_incast_fills_the_ports_one_after_the_other(void **state)
{
    (void)state;
    struct bench b;
    start(&b, 4);
    uint32_t detours = 0;
    for (uint32_t i = 0; i < 1200; i++) {
        const uint32_t port = divert(&b, 0, 1000, 3);
        assert_int_equal(port == 0, i < 100 || i >= 1025);
        detours += port != 0;
        b.queue[port] += 1000;
    }
    assert_int_equal(detours, 9 * 100 + 25);
    assert_int_equal(b.queue[0], 275000);
    assert_int_equal(b.queue[SLOW], 25000);
    for (uint32_t p = 1; p < HOSTS; p++)
        assert_int_equal(b.queue[p], 0);
}

/** Without a switch at any port, and before anything is known, nothing is deflected. */
static void without_neighbours_there_is_no_detour(void **state)
{
    (void)state;
    struct bench b;
    static uint64_t rate = 1;
    static uint8_t to_host = 1;
    const struct eun_lb_network alone = {.rate_bps = &rate, .to_host = &to_host, .ports = 1};
    test_init(lb, &b.state, 5);
    memset(b.queue, 0xff, sizeof b.queue);
    assert_int_equal(divert(&b, 0, 1000, 1), 0);
    assert_null(lb->configure(b.state.words, &eun_lb_defaults, &alone));
    assert_int_equal(divert(&b, 0, 1000, 1), 0);
}

/** Sums and thresholds do not wrap at 32 bits; too many ports are refused. */
static void extremes(void **state)
{
    (void)state;
    struct bench b;
    static uint64_t fast[2] = {UINT64_C(10000000000000), UINT64_C(10000000000000)};
    static uint8_t to_switch[2];
    const struct eun_lb_network network = {.rate_bps = fast, .to_host = to_switch, .ports = 2};
    const struct eun_lb_network big = {.ports = 513};
    struct eun_lb_params params = eun_lb_defaults;
    params.deflect_bytes = UINT32_MAX;
    test_init(lb, &b.state, 6);
    assert_null(lb->configure(b.state.words, &params, &network));
    b.queue[1] = 0;
    b.queue[0] = UINT32_MAX - 1000;
    assert_int_equal(divert(&b, 0, 1000, 1), 0);
    assert_int_equal(divert(&b, 0, 1001, 1), 1);
    assert_string_equal(lb->configure(b.state.words, &params, &big),
                        "deflect takes up to 512 ports a switch");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_way_is_that_of_ecmp),
        cmocka_unit_test(a_frame_that_does_not_fit_is_deflected),
        cmocka_unit_test(detours_lead_to_switches_with_room),
        cmocka_unit_test(detours_are_drawn_uniformly),
        cmocka_unit_test(the_hop_limit_is_exact),
        cmocka_unit_test(an_incast_fills_the_ports_one_after_the_other),
        cmocka_unit_test(without_neighbours_there_is_no_detour),
        cmocka_unit_test(extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
