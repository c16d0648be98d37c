/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * The staging buffer against a closed form, and what it costs a sender when it is too small.
 */
#include "pair.h"

#include "core/transport/receiver-internal.h"

#define PS_PER_S UINT64_C(1000000000000)

static struct eun_receiver receiver(uint32_t qp)
{
    struct eun_receiver rx;
    eun_receiver_init(&rx, qp, 0);
    return rx;
}

/** The copies of a busy period end at its start + all their bytes so far / rate, rounded down. */
static void copies_take_bytes_over_rate(void **state)
{
    (void)state;
    const uint64_t rates[] = {256000000000u, 2400000000000u, 1000003, 3000000007u, 0};
    struct test_random r = test_random_start(1);
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        struct eun_staging s;
        struct eun_receiver rx = receiver(0);
        struct eun_staged copy;
        int64_t now = 0;
        int64_t period = 0;
        int64_t end = 0;
        unsigned __int128 bits = 0;
        assert_true(eun_staging_init(&s, 4, rates[i]));
        for (uint32_t psn = 0; psn < 2000; psn++) {
            const uint32_t bytes = test_between(&r, 1, 65535);
            const int64_t since = now;
            eun_staging_take(&s, &rx, psn, bytes, now);
            now += test_chance(&r, 50) ? 0 : test_below(&r, 4000000);
            if (end < now) {
                period = now;
                bits = 0;
            }
            bits += bytes * 8u;
            end = period + (rates[i] ? (int64_t)(bits * PS_PER_S / rates[i]) : 0);
            assert_int_equal(eun_staging_pass(&s, &rx, 1, false, now), 0);
            assert_int_equal(eun_staging_finished(&s, end - 1, &copy), false);
            assert_int_equal(eun_staging_deadline(&s), end);
            assert_true(eun_staging_finished(&s, end, &copy));
            assert_int_equal(copy.done_ps, end);
            assert_int_equal(copy.since_ps, since);
            assert_ptr_equal(copy.rx, &rx);
            assert_int_equal(copy.messages, 1);
        }
        assert_int_equal(s.used, 0);
        assert_int_equal(eun_staging_deadline(&s), INT64_MAX);
        eun_staging_dispose(&s);
    }
}

/** 1,024 bytes at 256 Gb/s, about PCIe 4.0 x16: 32 ns. */
static void default_rate_by_hand(void **state)
{
    (void)state;
    struct eun_staging s;
    struct eun_receiver rx = receiver(0);
    assert_true(eun_staging_init(&s, 1, UINT64_C(256000000000)));
    eun_staging_take(&s, &rx, 5, 1024, 100);
    assert_false(eun_staging_has_room(&s));
    eun_staging_pass(&s, &rx, 1, false, 1000);
    assert_int_equal(eun_staging_deadline(&s), 33000);
    assert_false(eun_staging_has_room(&s));
    struct eun_staged copy;
    assert_true(eun_staging_finished(&s, 33000, &copy));
    assert_true(eun_staging_has_room(&s));
    eun_staging_dispose(&s);
}

/** Two QPs, one engine: in order of release; a message in order waits for the copies before it. */
static void messages_of_a_qp_become_visible_in_order(void **state)
{
    (void)state;
    struct eun_staging s;
    struct eun_receiver a = receiver(0);
    struct eun_receiver b = receiver(1);
    struct eun_staged copy;
    assert_true(eun_staging_init(&s, 8, 8 * PS_PER_S)); /* a byte a picosecond */
    eun_staging_take(&s, &a, 9, 30, 0);
    eun_staging_take(&s, &a, 5, 10, 0);
    eun_staging_take(&s, &b, 7, 100, 0);
    /* A Last in order and the staged one of PSN 5; then b; then a's PSN 9. */
    assert_int_equal(eun_staging_pass(&s, &a, 2, true, 1000), 1);
    assert_int_equal(eun_staging_pass(&s, &b, 1, false, 1000), 0);
    assert_int_equal(eun_staging_pass(&s, &a, 1, true, 1001), 0);
    assert_int_equal(eun_staging_pass(&s, &a, 1, false, 1002), 0);
    assert_int_equal(eun_staging_pass(&s, &a, 1, true, 1003), 0);
    const struct {
        struct eun_receiver *rx;
        int64_t at;
        uint32_t messages;
    } right[] = {{&a, 1010, 2}, {&b, 1110, 1}, {&a, 1140, 2}};
    for (size_t i = 0; i < 3; i++) {
        assert_false(eun_staging_finished(&s, right[i].at - 1, &copy));
        assert_true(eun_staging_finished(&s, right[i].at, &copy));
        assert_ptr_equal(copy.rx, right[i].rx);
        assert_int_equal(copy.messages, right[i].messages);
    }
    assert_int_equal(eun_staging_pass(&s, &a, 1, true, 2000), 1);
    assert_int_equal(s.used, 0);
    eun_staging_dispose(&s);
}

/** Forgetting leaves the copies, closing silences them; slots come back either way. */
static void slots_come_back(void **state)
{
    (void)state;
    struct eun_staging s;
    struct eun_receiver a = receiver(0);
    struct eun_receiver b = receiver(1);
    struct eun_staged copy;
    assert_true(eun_staging_init(&s, 6, 8 * PS_PER_S));
    for (uint32_t psn = 0; psn < 3; psn++) {
        eun_staging_take(&s, &a, psn, 10, 0);
        eun_staging_take(&s, &b, psn, 10, 0);
    }
    assert_false(eun_staging_has_room(&s));
    eun_staging_pass(&s, &a, 2, false, 0);
    eun_staging_pass(&s, &b, 1, false, 0);
    eun_staging_forget(&s, &b);
    assert_int_equal(s.used, 4);
    eun_staging_close(&s, &a);
    assert_int_equal(s.used, 3);
    assert_int_equal(eun_staging_pass(&s, &a, 1, true, 0), 1);
    assert_int_equal(eun_staging_pass(&s, &b, 1, true, 0), 0);
    assert_false(eun_staging_finished(&s, 29, &copy));
    assert_true(eun_staging_finished(&s, 30, &copy));
    assert_ptr_equal(copy.rx, &b);
    assert_int_equal(copy.messages, 2);
    assert_int_equal(s.used, 0);
    eun_staging_dispose(&s);
    assert_false(eun_staging_init(&s, EUN_STAGING_LIMIT_MAX + 1u, 0));
    assert_false(eun_staging_init(&s, 1, EUN_STAGING_RATE_MIN - 1u));
    assert_true(eun_staging_init(&s, 0, 0));
    assert_false(eun_staging_has_room(&s));
    eun_staging_dispose(&s);
}

/* A buffer that is too small. */

/** The sender holds a refused Last until it is awaited: one copy more a refusal, no timeout. */
static void one_refusal_costs_one_copy(void **state)
{
    (void)state;
    struct test_random r = test_random_start(1);
    uint32_t refusals = 0;
    int64_t held_ps = 0;
    for (uint32_t i = 0; i < 200; i++) {
        static struct pair p;
        pair_init(&p, &r, EUN_GATE_RECEIVER, false, test_below(&r, 3));
        pair_run(&p);
        assert_int_equal(eun_sender_retransmitted(p.tx), p.refusals);
        assert_true(p.refusals > 0 || p.held_ps == 0);
        refusals += p.refusals;
        held_ps += p.held_ps;
        pair_dispose(&p);
    }
    print_message("%u refusals\n", refusals);
    assert_true(refusals > 1000 && held_ps > refusals * (US / 10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_take_bytes_over_rate),
        cmocka_unit_test(default_rate_by_hand),
        cmocka_unit_test(messages_of_a_qp_become_visible_in_order),
        cmocka_unit_test(slots_come_back),
        cmocka_unit_test(one_refusal_costs_one_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
