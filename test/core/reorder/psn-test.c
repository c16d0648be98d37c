/* SPDX-License-Identifier: GPL-2.0-only */
#include "../test-random.h"

#include "psn.h"

static const uint32_t anchors[] = {0,         1,          0x7FFFFF,    0x800000,    0xFFFFFF,
                                   0x1000000, 0x7FFFFFFF, 0x80000000u, 0xFF000000u, 0xFFFFFFFFu};

#define ANCHORS (sizeof anchors / sizeof *anchors)

static void diff_counts_across_the_wrap(void **state)
{
    (void)state;
    static const int32_t steps[] = {0, 1, -1, 1000, -1000, INT32_MAX, -INT32_MAX};
    for (size_t i = 0; i < ANCHORS; i++) {
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
            uint32_t other = (uint32_t)((int64_t)anchors[i] + steps[k]);
            assert_int_equal(eun_psn_diff(other, anchors[i]), steps[k]);
            assert_int_equal(eun_psn_before(other, anchors[i]), steps[k] < 0);
        }
    }
}

static void wire_has_24_bits(void **state)
{
    (void)state;
    assert_int_equal(eun_psn_to_wire(0x12345678), 0x345678);
    assert_int_equal(eun_psn_to_wire(0xFFFFFFFFu), 0xFFFFFF);
}

static void from_wire_finds_what_is_near(void **state)
{
    (void)state;
    struct test_random r = test_random_start(1);
    for (uint32_t i = 0; i < 200000; i++) {
        uint32_t near = i % 2 ? anchors[i / 2 % ANCHORS] : (uint32_t)test_random_next(&r);
        int32_t step = (int32_t)test_below(&r, 1u << 24) - (1 << 23);
        uint32_t psn = near + (uint32_t)step;
        assert_int_equal(eun_psn_from_wire(eun_psn_to_wire(psn), near), psn);
    }
    /* The two ends of what a wire PSN can mean: 2^23 behind, and one less than that ahead. */
    assert_int_equal(eun_psn_from_wire(0x800000, 0x1000000), 0x800000);
    assert_int_equal(eun_psn_from_wire(0x7FFFFF, 0x1000000), 0x17FFFFF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(diff_counts_across_the_wrap),
        cmocka_unit_test(wire_has_24_bits),
        cmocka_unit_test(from_wire_finds_what_is_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
