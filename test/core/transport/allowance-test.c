/* SPDX-License-Identifier: GPL-2.0-only */
#include "test-support.h"

#define CAP 256u
#define UNLIMITED EUN_ALLOWANCE_UNLIMITED

static struct eun_allowance fresh(void)
{
    struct eun_allowance a;
    eun_allowance_init(&a);
    return a;
}

static void assert_state(const struct eun_allowance *a, uint32_t packets, uint32_t threshold)
{
    assert_int_equal(a->packets, packets);
    assert_int_equal(a->threshold, threshold);
}

/** From a timeout with 16 outstanding: one a packet up to 8, then one a window. */
static void grows_as_worked_by_hand(void **state)
{
    (void)state;
    const uint32_t after[] = {2, 3, 4, 5, 6, 7, 8,             /* slow start */
                              8, 8, 8, 8, 8, 8, 8, 9,          /* 8 packets for 9 */
                              9, 9, 9, 9, 9, 9, 9, 9, 10, 10}; /* 9 for 10 */
    struct eun_allowance a = fresh();
    eun_allowance_restart(&a, 100, 116);
    assert_state(&a, 1, 8);
    for (size_t i = 0; i < sizeof after / sizeof after[0]; i++) {
        eun_allowance_grow(&a, 1, CAP);
        assert_state(&a, after[i], 8);
    }
}

/** One ACK for many packets does what many ACKs do, across the threshold and several windows. */
static void grows_by_packets_not_by_answers(void **state)
{
    (void)state;
    struct eun_allowance a = fresh();
    eun_allowance_restart(&a, 0, 16);
    eun_allowance_grow(&a, 0, CAP);
    assert_state(&a, 1, 8);
    /* 7 to the threshold, 8 and 9 for two windows, 3 towards the next one of 10. */
    eun_allowance_grow(&a, 7 + 8 + 9 + 3, CAP);
    assert_state(&a, 10, 8);
    eun_allowance_grow(&a, 6, CAP);
    assert_state(&a, 10, 8);
    eun_allowance_grow(&a, 1, CAP);
    assert_state(&a, 11, 8);
}

static void cut_halves_once_a_window(void **state)
{
    (void)state;
    struct eun_allowance a = fresh();
    eun_allowance_cut(&a, 10, 50, CAP);
    assert_state(&a, 20, 20);
    /* Up to PSN 49 the refusals are of the same window, whatever is sent meanwhile. */
    eun_allowance_cut(&a, 10, 50, CAP);
    eun_allowance_cut(&a, 49, 69, CAP);
    assert_state(&a, 20, 20);
    eun_allowance_cut(&a, 50, 70, CAP);
    assert_state(&a, 10, 10);
    /* What is outstanding counts: from before the cut more than allowed, or less. */
    eun_allowance_cut(&a, 70, 100, CAP);
    assert_state(&a, 5, 5);
    eun_allowance_cut(&a, 100, 103, CAP);
    assert_state(&a, 1, 1);
    eun_allowance_cut(&a, 103, 104, CAP);
    assert_state(&a, 1, 1);
}

/** Credit towards the next step is lost with a cut. */
static void cut_starts_a_new_window(void **state)
{
    (void)state;
    struct eun_allowance a = fresh();
    eun_allowance_cut(&a, 0, 8, CAP);
    eun_allowance_grow(&a, 3, CAP);
    eun_allowance_cut(&a, 8, 12, CAP);
    assert_state(&a, 2, 2);
    eun_allowance_grow(&a, 1, CAP);
    assert_state(&a, 2, 2);
    eun_allowance_grow(&a, 1, CAP);
    assert_state(&a, 3, 2);
}

/** Half of what lies within the cap: half of a larger flight would be no limit. */
static void cut_of_a_large_flight_limits(void **state)
{
    (void)state;
    struct eun_allowance a = fresh();
    eun_allowance_cut(&a, 0, 5000, CAP);
    assert_state(&a, CAP / 2, CAP / 2);
    eun_allowance_grow(&a, 1, CAP);
    assert_state(&a, CAP / 2, CAP / 2);
}

/** Again in the same window, as a timeout after DEGRADED: from one, with the same threshold. */
static void restart_keeps_the_threshold_of_its_window(void **state)
{
    (void)state;
    struct eun_allowance a = fresh();
    eun_allowance_restart(&a, 0, 40);
    assert_state(&a, 1, 20);
    eun_allowance_grow(&a, 5, CAP);
    assert_state(&a, 6, 20);
    eun_allowance_restart(&a, 5, 40);
    assert_state(&a, 1, 20);
    eun_allowance_grow(&a, 50, CAP);
    assert_int_equal(a.packets, 21);
    eun_allowance_restart(&a, 55, 76);
    assert_state(&a, 1, 10);
    eun_allowance_restart(&a, 76, 77);
    assert_state(&a, 1, 1);
    /* A cut, then a timeout of the same window: half is still half. */
    a = fresh();
    eun_allowance_cut(&a, 0, 64, CAP);
    eun_allowance_restart(&a, 10, 64);
    assert_state(&a, 1, 32);
}

static void limits_no_longer_from_the_cap_on(void **state)
{
    (void)state;
    struct eun_allowance a = fresh();
    eun_allowance_restart(&a, 0, 6);
    /* To 3 one a packet, then 3 + 4 + ... + 7 packets to 8. */
    eun_allowance_grow(&a, 2 + 3 + 4 + 5 + 6, 8);
    assert_int_equal(a.packets, 7);
    eun_allowance_grow(&a, 6, 8);
    assert_int_equal(a.packets, 7);
    eun_allowance_grow(&a, 1, 8);
    assert_int_equal(a.packets, UNLIMITED);
    /* By slow start as well, and a window from before does not shield from a cut. */
    eun_allowance_restart(&a, 100, 200);
    eun_allowance_grow(&a, 7, 8);
    assert_int_equal(a.packets, UNLIMITED);
    eun_allowance_cut(&a, 107, 200, 8);
    assert_state(&a, 4, 4);
    eun_allowance_grow(&a, 1u << 23, 8);
    assert_int_equal(a.packets, UNLIMITED);
}

static void never_limits_before_a_cut(void **state)
{
    (void)state;
    struct test_random r = test_random_start(31);
    struct eun_allowance a = fresh();
    for (int i = 0; i < 10000; i++) {
        eun_allowance_grow(&a, test_below(&r, 1000), test_between(&r, 1, 300));
        assert_int_equal(a.packets, UNLIMITED);
    }
}

/** Twin of eun_allowance_grow(): RFC 5681, packet by packet. */
static void twin_grow(struct eun_allowance *twin, uint32_t packets, uint32_t cap)
{
    while (twin->packets < cap && packets-- > 0) {
        if (twin->packets < twin->threshold) {
            twin->packets++;
        } else if (++twin->credit == twin->packets) {
            twin->packets++;
            twin->credit = 0;
        }
    }
    if (twin->packets >= cap)
        twin->packets = UNLIMITED;
}

/** A sender in which anything happens: bounds hold, and growth is that of the twin. */
static void properties(void **state)
{
    (void)state;
    struct test_random r = test_random_start(32);
    for (int run = 0; run < 3000; run++) {
        const uint32_t cap = test_between(&r, 1, 300);
        uint32_t una = test_first_psn(&r);
        uint32_t nxt = una;
        struct eun_allowance a = fresh();
        for (int i = 0; i < 200; i++) {
            const struct eun_allowance before = a;
            struct eun_allowance twin = a;
            const uint32_t moved = test_below(&r, nxt - una + 1u);
            switch (test_below(&r, 8)) {
            case 0:
                eun_allowance_cut(&a, una, nxt, cap);
                assert_true(a.packets <= before.packets);
                assert_true(a.packets == before.packets || a.packets <= (cap > 1 ? cap / 2 : 1));
                break;
            case 1:
                eun_allowance_restart(&a, una, nxt);
                assert_int_equal(a.packets, 1);
                break;
            case 2:
            case 3:
            case 4:
                nxt = una + test_between(&r, nxt - una, 2 * cap > nxt - una ? 2 * cap : nxt - una);
                break;
            default:
                eun_allowance_grow(&a, moved, cap);
                twin_grow(&twin, moved, cap);
                assert_true(a.packets >= before.packets);
                assert_int_equal(a.packets, twin.packets);
                una += moved;
                break;
            }
            assert_true(a.packets >= 1 && (a.packets == UNLIMITED || a.packets < cap || cap == 1));
            assert_true(a.packets == UNLIMITED || (a.threshold >= 1 && a.credit < a.packets));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_as_worked_by_hand),
        cmocka_unit_test(grows_by_packets_not_by_answers),
        cmocka_unit_test(cut_halves_once_a_window),
        cmocka_unit_test(cut_starts_a_new_window),
        cmocka_unit_test(cut_of_a_large_flight_limits),
        cmocka_unit_test(restart_keeps_the_threshold_of_its_window),
        cmocka_unit_test(limits_no_longer_from_the_cap_on),
        cmocka_unit_test(never_limits_before_a_cut),
        cmocka_unit_test(properties),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
