/* SPDX-License-Identifier: GPL-2.0-only */
#include "core/wire/ideal.h"

#include "../test-random.h"

#define US INT64_C(1000000)
#define GBPS UINT64_C(1000000000)
#define PACKETS_MAX 250000u
#define LINKS_MAX 8u

/** Exact time: in units of 1/rate of a picosecond, so that no transmission time is rounded. */
__extension__ typedef __int128 exact;

struct setting {
    struct eun_overhead overhead;
    struct eun_path path;
    uint32_t mtu;
};

/* ---- The reference: packet by packet, link by link ---- */

static exact transmission(const struct setting *s, uint32_t bytes)
{
    return (exact)(bytes + s->overhead.gap) * 8 * 1000000000000;
}

static exact delay(const struct setting *s)
{
    return (exact)s->path.delay_ps * s->path.rate_bps;
}

/** Transmission times of a flow's packets, of messages of at most 2^31 bytes; how many. */
static uint32_t cut_up(const struct setting *s, uint64_t bytes, exact *times)
{
    uint32_t n = 0;
    uint64_t in_message = 0;
    while (bytes) {
        const uint64_t room = (UINT64_C(1) << 31) - in_message;
        const uint64_t left = bytes < room ? bytes : room;
        const uint32_t payload = left < s->mtu ? (uint32_t)left : s->mtu;
        assert_true(n < PACKETS_MAX);
        times[n++] = transmission(
            s, eun_overhead_data(&s->overhead, payload, in_message == 0, payload == left));
        bytes -= payload;
        in_message = payload == left ? 0 : in_message + payload;
    }
    return n;
}

/**
 * Sends n frames over `links` links in a row, first come first served. `at`: when each is there to
 * be sent; on return, when each has arrived at the far end.
 */
static void send_along(const struct setting *s, uint32_t links, exact *at, const exact *times,
                       uint32_t n)
{
    for (uint32_t k = 0; k < links; k++) {
        exact free_at = 0;
        for (uint32_t i = 0; i < n; i++) {
            const exact start = at[i] > free_at ? at[i] : free_at;
            free_at = start + times[i];
            at[i] = free_at + delay(s);
        }
    }
}

/** When the answer to the last packet is back. Answers wait for each other, too. */
static exact answered(const struct setting *s, exact *arrival, uint32_t n)
{
    static exact acks[PACKETS_MAX];
    for (uint32_t i = 0; i < n; i++)
        acks[i] = transmission(s, s->overhead.ack);
    send_along(s, s->path.links, arrival, acks, n);
    return arrival[n - 1];
}

static exact reference(const struct setting *s, uint64_t bytes)
{
    static exact times[PACKETS_MAX], at[PACKETS_MAX];
    const uint32_t n = cut_up(s, bytes, times);
    for (uint32_t i = 0; i < n; i++)
        at[i] = 0;
    send_along(s, s->path.links, at, times, n);
    return answered(s, at, n);
}

static uint64_t packets(const struct setting *s, uint64_t bytes)
{
    static exact times[PACKETS_MAX];
    return cut_up(s, bytes, times);
}

/**
 * Rates that are a whole number of picoseconds a byte are exact. Else each transmission time on the
 * way is rounded down: the ideal is early by under 1 ps a packet and link, and never late.
 */
static void assert_ideal(const struct setting *s, uint64_t bytes, exact expected)
{
    const exact rate = s->path.rate_bps;
    const exact ideal = eun_ideal_fct(&s->overhead, &s->path, s->mtu, bytes) * rate;
    const bool whole = 8000000000000 % s->path.rate_bps == 0;
    const exact slack = whole ? 0 : (exact)(packets(s, bytes) + 2 * s->path.links) * rate;
    if (ideal > expected || ideal < expected - slack)
        fail_msg("%llu bytes, %u links, %llu bit/s, mtu %u: %lld ps, expected %lld",
                 (unsigned long long)bytes, s->path.links, (unsigned long long)s->path.rate_bps,
                 s->mtu, (long long)(ideal / rate), (long long)(expected / rate));
}

static void random_overhead(struct test_random *r, struct eun_overhead *o)
{
    const uint32_t kind = test_below(r, 7);
    if (kind == 6)
        eun_overhead_flat(o, 48);
    else
        eun_overhead_roce(o, (enum eun_verb)(kind % 3), kind < 3);
}

static struct setting random_setting(struct test_random *r)
{
    const uint64_t rates[] = {10 * GBPS, 25 * GBPS, 100 * GBPS, 400 * GBPS, 800 * GBPS};
    const uint64_t odd_rates[] = {2400 * GBPS, 7 * GBPS, 333333333333};
    const uint32_t mtus[] = {256, 512, 1000, 1024, 4096, 9000}, links[] = {1, 2, 4, 6};
    struct setting s;
    random_overhead(r, &s.overhead);
    s.path.links = links[test_below(r, 4)];
    s.path.rate_bps = test_chance(r, 70) ? rates[test_below(r, 5)] : odd_rates[test_below(r, 3)];
    s.path.delay_ps = test_chance(r, 20) ? 0 : (int64_t)test_below(r, 2 * US);
    s.path.multipath = false;
    s.mtu = mtus[test_below(r, 6)];
    return s;
}

static void one_path_equals_the_recursion(void **state)
{
    (void)state;
    struct test_random r = test_random_start(141);
    uint32_t waits = 0;
    for (int i = 0; i < 20000; i++) {
        const struct setting s = random_setting(&r);
        const uint64_t bytes = test_between(&r, 1, 20 * s.mtu);
        assert_ideal(&s, bytes, reference(&s, bytes));
        const uint32_t rest = (uint32_t)(bytes % s.mtu);
        waits += rest && bytes > s.mtu && !s.overhead.padded && rest + 48 < 60;
    }
    /* Flows whose last answer waits for the one before it. */
    assert_true(waits > 10);
}

/** The sizes around a packet's, and a long flow, at every rate and length of path. */
static void corner_sizes_equal_the_recursion(void **state)
{
    (void)state;
    const uint64_t sizes[] = {1, 11, 12, 13, 999, 1000, 1001, 1011, 1012, 2000, 2001, 1000000};
    const uint64_t rates[] = {100 * GBPS, 2400 * GBPS, 7 * GBPS};
    for (uint32_t links = 2; links <= 6; links += 2) {
        for (int rate = 0; rate < 3; rate++) {
            for (int kind = 0; kind < 7; kind++) {
                struct setting s = {.path = {links, rates[rate], 1 * US, false}, .mtu = 1000};
                if (kind == 6)
                    eun_overhead_flat(&s.overhead, 48);
                else
                    eun_overhead_roce(&s.overhead, (enum eun_verb)(kind % 3), kind < 3);
                for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
                    assert_ideal(&s, sizes[i], reference(&s, sizes[i]));
            }
        }
    }
}

/** A flow of more than 2^31 bytes has two First and two Last packets. */
static void two_messages_equal_the_recursion(void **state)
{
    (void)state;
    const uint64_t sizes[] = {UINT64_C(1) << 31, (UINT64_C(1) << 31) + 1,
                              (UINT64_C(1) << 31) + 9001};
    struct setting s = {.path = {4, 100 * GBPS, 1 * US, false}, .mtu = 9000};
    for (int i = 0; i < 3; i++) {
        eun_overhead_roce(&s.overhead, EUN_VERB_WRITE_IMM, true);
        assert_ideal(&s, sizes[i], reference(&s, sizes[i]));
        eun_overhead_flat(&s.overhead, 48);
        assert_ideal(&s, sizes[i], reference(&s, sizes[i]));
    }
}

/* ---- By hand: 100 Gb/s (80 ps a byte), 1 us a link, 1000 + 48 bytes ---- */

static const struct eun_path clos = {4, 100 * GBPS, 1 * US, false};

static void wire_time_by_hand(void **state)
{
    (void)state;
    struct eun_overhead o;
    eun_overhead_flat(&o, 48);
    assert_int_equal(eun_wire_time(&o, 100 * GBPS, 1048), 83840);
    assert_int_equal(eun_wire_time(&o, 400 * GBPS, 1048), 20960);
    /* 8,384 bits at 2.4 Tb/s: 3,493.33 ps. */
    assert_int_equal(eun_wire_time(&o, 2400 * GBPS, 1048), 3493);
    eun_overhead_roce(&o, EUN_VERB_SEND, true);
    assert_int_equal(eun_wire_time(&o, 100 * GBPS, 66), (66 + 20) * 80);
    assert_int_equal(eun_wire_time(&o, 100 * GBPS, 1086), (1086 + 20) * 80);
}

/** One packet, four links out, an answer, four links back: so is the base round trip. */
static void one_packet_by_hand(void **state)
{
    (void)state;
    struct eun_overhead o;
    eun_overhead_flat(&o, 48);
    assert_int_equal(eun_ideal_fct(&o, &clos, 1000, 1000), 4 * (83840 + 4800 + 2 * US));
    assert_int_equal(eun_base_rtt(&o, &clos, 1000), 8354560);
    assert_int_equal(eun_ideal_fct(&o, &clos, 1000, 1), 4 * (49 * 80 + 4800 + 2 * US));
    for (int verb = EUN_VERB_SEND; verb <= EUN_VERB_WRITE_IMM; verb++) {
        eun_overhead_roce(&o, (enum eun_verb)verb, verb % 2);
        assert_int_equal(eun_ideal_fct(&o, &clos, 1024, 1024), eun_base_rtt(&o, &clos, 1024));
    }
}

/** 1 MB: a thousand packets one after the other, then three links more for the last. */
static void a_megabyte_by_hand(void **state)
{
    (void)state;
    struct eun_overhead o;
    eun_overhead_flat(&o, 48);
    assert_int_equal(eun_ideal_fct(&o, &clos, 1000, 1000000), 1003 * 83840 + 4 * (4800 + 2 * US));
    /* One byte more: 49 bytes long, 11 shorter than an answer, which so waits for the one before.
     */
    assert_int_equal(eun_ideal_fct(&o, &clos, 1000, 1000001),
                     1003 * 83840 + 49 * 80 + 11 * 80 + 4 * (4800 + 2 * US));
}

/**
 * 5 GiB: two messages of 2^31 bytes (2,147,483 full packets and one of 648 bytes), one of 2^30
 * (1,073,741 and one of 824 bytes). In all 5,368,707 full packets.
 */
static void five_gibibytes_by_hand(void **state)
{
    (void)state;
    struct eun_overhead o;
    eun_overhead_flat(&o, 48);
    const int64_t full = INT64_C(5368707) * 83840, rests = (2 * (648 + 48) + 824 + 48) * 80;
    assert_int_equal(eun_ideal_fct(&o, &clos, 1000, UINT64_C(5) << 30),
                     full + rests + 3 * 83840 + 4 * (4800 + 2 * US));
    /* 430 ms at 100 Gb/s, and 4.8 % for headers. */
    assert_int_equal(full / INT64_C(1000000000), 450);
    /* SEND packets of 1024: 2^20 x 5 of (1024 + 62 + 20) bytes, nothing cut off. */
    eun_overhead_roce(&o, EUN_VERB_SEND, true);
    assert_int_equal(eun_ideal_fct(&o, &clos, 1024, UINT64_C(5) << 30),
                     ((INT64_C(5) << 20) + 3) * 88480 + 4 * (6880 + 2 * US));
}

/**
 * More bytes never take less time, on one path or many. Immediate data is an exception on many: a
 * short last packet that overtakes the first carries it instead of a full one.
 */
static void grows_with_the_size(void **state)
{
    (void)state;
    struct test_random r = test_random_start(142);
    for (int i = 0; i < 300; i++) {
        struct setting s = random_setting(&r);
        s.path.multipath = s.overhead.last == 0 && test_chance(&r, 50);
        int64_t previous = 0;
        for (uint64_t bytes = 1; bytes < 4 * s.mtu + 3; bytes++) {
            const int64_t ideal = eun_ideal_fct(&s.overhead, &s.path, s.mtu, bytes);
            assert_true(ideal >= previous);
            previous = ideal;
        }
    }
}

/* ---- Several paths ---- */

/** When all packets are at the receiver, packet i having taken way[i] between the outer links. */
static exact finish(const struct setting *s, const exact *times, uint32_t n, const uint32_t *way)
{
    exact at[LINKS_MAX], last_link[LINKS_MAX];
    bool sent[LINKS_MAX] = {false};
    for (uint32_t i = 0; i < n; i++)
        at[i] = 0;
    send_along(s, 1, at, times, n);
    for (uint32_t w = 0; w < n; w++) {
        exact own_at[LINKS_MAX], own_times[LINKS_MAX];
        uint32_t own = 0;
        for (uint32_t i = 0; i < n; i++) {
            if (way[i] == w) {
                own_at[own] = at[i];
                own_times[own++] = times[i];
            }
        }
        send_along(s, s->path.links - 2, own_at, own_times, own);
        own = 0;
        for (uint32_t i = 0; i < n; i++)
            if (way[i] == w)
                last_link[i] = own_at[own++];
    }
    exact free_at = 0;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t next = n;
        for (uint32_t i = 0; i < n; i++)
            if (!sent[i] && (next == n || last_link[i] < last_link[next]))
                next = i;
        sent[next] = true;
        free_at = (last_link[next] > free_at ? last_link[next] : free_at) + times[next];
    }
    return free_at + delay(s);
}

/** The earliest over all ways that n packets can take, and an answer's way back. */
static exact earliest(const struct setting *s, uint64_t bytes, bool *overtaken)
{
    static exact times[PACKETS_MAX];
    const uint32_t n = cut_up(s, bytes, times);
    uint32_t way[LINKS_MAX] = {0};
    exact best = finish(s, times, n, way);
    const exact in_order = best;
    for (;;) {
        uint32_t digit = 0;
        while (digit < n && ++way[digit] == n)
            way[digit++] = 0;
        if (digit == n)
            break;
        const exact end = finish(s, times, n, way);
        if (end < best)
            best = end;
    }
    *overtaken = best < in_order;
    return best + s->path.links * (transmission(s, s->overhead.ack) + delay(s));
}

/** The ideal is what the best choice of ways reaches, so no choice beats it. */
static void several_paths_equal_the_best_choice(void **state)
{
    (void)state;
    struct test_random r = test_random_start(143);
    uint32_t overtakings = 0;
    for (int i = 0; i < 3000; i++) {
        struct setting s = random_setting(&r);
        s.path.links = test_between(&r, 3, LINKS_MAX);
        s.path.multipath = true;
        const uint32_t n = test_chance(&r, 5) ? 5 : test_between(&r, 1, 4);
        const uint32_t rest =
            test_chance(&r, 50) ? test_between(&r, 1, 40) : test_between(&r, 1, s.mtu);
        const uint64_t bytes = (uint64_t)(n - 1) * s.mtu + rest;
        bool overtaken;
        assert_ideal(&s, bytes, earliest(&s, bytes, &overtaken));
        overtakings += overtaken;
    }
    assert_true(overtakings > 300);
}

/** With nothing to choose between the outer links, several paths are one. */
static void short_paths_leave_no_choice(void **state)
{
    (void)state;
    struct test_random r = test_random_start(144);
    for (int i = 0; i < 1000; i++) {
        struct setting s = random_setting(&r);
        s.path.links = test_between(&r, 1, 2);
        eun_overhead_roce(&s.overhead, EUN_VERB_SEND, true);
        const uint64_t bytes = test_between(&r, 1, 5 * s.mtu);
        const int64_t one = eun_ideal_fct(&s.overhead, &s.path, s.mtu, bytes);
        s.path.multipath = true;
        assert_int_equal(eun_ideal_fct(&s.overhead, &s.path, s.mtu, bytes), one);
    }
}

/** Freedom of choice never costs time. */
static void several_paths_are_never_slower(void **state)
{
    (void)state;
    struct test_random r = test_random_start(145);
    for (int i = 0; i < 20000; i++) {
        struct setting s = random_setting(&r);
        const uint64_t bytes = test_between(&r, 1, 6 * s.mtu);
        const int64_t one = eun_ideal_fct(&s.overhead, &s.path, s.mtu, bytes);
        s.path.multipath = true;
        assert_true(eun_ideal_fct(&s.overhead, &s.path, s.mtu, bytes) <= one);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_path_equals_the_recursion),
        cmocka_unit_test(corner_sizes_equal_the_recursion),
        cmocka_unit_test(two_messages_equal_the_recursion),
        cmocka_unit_test(wire_time_by_hand),
        cmocka_unit_test(one_packet_by_hand),
        cmocka_unit_test(a_megabyte_by_hand),
        cmocka_unit_test(five_gibibytes_by_hand),
        cmocka_unit_test(grows_with_the_size),
        cmocka_unit_test(several_paths_equal_the_best_choice),
        cmocka_unit_test(short_paths_leave_no_choice),
        cmocka_unit_test(several_paths_are_never_slower),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
