/* SPDX-License-Identifier: GPL-2.0-only */
#include "core/wire/int.h"

#include "../test-random.h"

/** Field by field, by hand: 100 Gb/s, 0x123456 ns, 0xabcde x 128 bytes, 0x1234 x 80 bytes. */
static void layout(void **state)
{
    (void)state;
    const uint64_t record = eun_int_encode(8, INT64_C(0x123456) * 1000 + 999,
                                           UINT64_C(0xabcde) * 128 + 127, 0x1234 * 80 + 79);
    assert_true(record == UINT64_C(0x8123456abcde1234));
    const struct eun_int_hop hop = eun_int_decode(record);
    assert_true(hop.rate_bps == UINT64_C(100000000000));
    assert_int_equal(hop.time_ns, 0x123456);
    assert_int_equal(hop.tx_units, 0xabcde);
    assert_int_equal(hop.queue_bytes, 0x1234 * 80);
    assert_int_equal(eun_int_bytes(0), 4);
    assert_int_equal(eun_int_bytes(5), 44);
    assert_int_equal(eun_int_bytes(100), 804);
}

static void every_code_has_a_rate_of_its_own(void **state)
{
    (void)state;
    for (uint32_t code = 0; code < 16; code++) {
        assert_int_equal(eun_int_rate_code(eun_int_rate(code)), code);
        assert_true(code == 0 || eun_int_rate(code) > eun_int_rate(code - 1));
        assert_int_equal(eun_int_rate_code(eun_int_rate(code) + 1), -1);
    }
    assert_int_equal(eun_int_rate_code(UINT64_C(2500000000)), 1);
    assert_int_equal(eun_int_rate_code(0), -1);
}

static void long_queues_saturate(void **state)
{
    (void)state;
    assert_int_equal(eun_int_decode(eun_int_encode(0, 0, 0, 65534 * 80 + 79)).queue_bytes,
                     65534 * 80);
    for (uint64_t units = 65535; units < 65538; units++)
        assert_int_equal(eun_int_decode(eun_int_encode(0, 0, 0, units * 80)).queue_bytes,
                         65535 * 80);
    assert_int_equal(eun_int_decode(eun_int_encode(15, 0, 0, UINT64_MAX)).queue_bytes, 65535 * 80);
    assert_true(eun_int_decode(eun_int_encode(15, 0, 0, UINT64_MAX)).rate_bps == eun_int_rate(15));
}

/** Differences are right across the wraps, however often these came before. */
static void differences(void **state)
{
    (void)state;
    struct test_random r = test_random_start(51);
    for (int i = 0; i < 100000; i++) {
        const uint32_t code = test_below(&r, 16);
        const int64_t horizon = eun_int_horizon_ps(eun_int_rate(code));
        const int64_t from = (int64_t)(test_random_next(&r) >> 4);
        const int64_t gap = (int64_t)(test_random_next(&r) % (uint64_t)horizon);
        const uint64_t sent = test_random_next(&r) >> 4;
        const uint64_t bytes = (uint64_t)((double)gap * 1e-12 * (double)eun_int_rate(code) / 8);
        const struct eun_int_hop a = eun_int_decode(eun_int_encode(code, from, sent, 0));
        const struct eun_int_hop b =
            eun_int_decode(eun_int_encode(code, from + gap, sent + bytes, 0));
        const int64_t ns = (from + gap) / 1000 - from / 1000;
        assert_true(eun_int_elapsed_ns(&a, &b) == ns);
        assert_true(eun_int_elapsed_ns(&b, &a) == -ns);
        const uint64_t carried = eun_int_carried(&a, &b);
        assert_true(carried < bytes + 128 && bytes < carried + 128);
    }
}

/** Half of 2^24 ns, or the time of half of 2^20 x 128 bytes: 5.37 ms at 100 Gb/s. */
static void horizon(void **state)
{
    (void)state;
    assert_true(eun_int_horizon_ps(UINT64_C(1000000000)) == INT64_C(8388608000));
    assert_true(eun_int_horizon_ps(UINT64_C(100000000000)) == INT64_C(5368709120));
    assert_true(eun_int_horizon_ps(UINT64_C(400000000000)) == INT64_C(1342177280));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout),
        cmocka_unit_test(every_code_has_a_rate_of_its_own),
        cmocka_unit_test(long_queues_saturate),
        cmocka_unit_test(differences),
        cmocka_unit_test(horizon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
