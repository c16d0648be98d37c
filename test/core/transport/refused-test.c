/* SPDX-License-Identifier: GPL-2.0-only */
#include "test-support.h"

#include "core/transport/refused.h"

#define PSNS 600u

/** Naive twin: what was added and not dropped, and the latest refusal of each. */
struct twin {
    struct eun_refused set;
    bool added[PSNS];
    uint32_t after[PSNS];
    uint32_t origin;
    uint32_t una;
};

/** The range that holds `psn`, or NULL. */
static const struct eun_refused_range *range_of(const struct twin *t, uint32_t psn)
{
    for (uint32_t i = 0; i < t->set.count; i++) {
        const struct eun_refused_range *range = &t->set.range[i];
        if (t->origin + psn - range->first < range->end - range->first)
            return range;
    }
    return NULL;
}

static void check(const struct twin *t)
{
    assert_true(t->set.count <= EUN_REFUSED_RANGES);
    for (uint32_t i = 0; i < t->set.count; i++) {
        const struct eun_refused_range *range = &t->set.range[i];
        assert_true(eun_psn_before(range->first, range->end));
        assert_false(eun_psn_before(range->first, t->origin + t->una));
        if (i > 0)
            assert_true(eun_psn_before(range[-1].end, range->first));
        /* Coarsening joins, it does not invent: both ends were refused. */
        assert_true(t->added[range->end - 1u - t->origin]);
    }
    for (uint32_t psn = t->una; psn < PSNS; psn++) {
        if (!t->added[psn])
            continue;
        const struct eun_refused_range *range = range_of(t, psn);
        assert_non_null(range);
        assert_false(eun_psn_before(range->after, t->origin + t->after[psn]));
    }
}

static void check_due(const struct twin *t, uint32_t reach)
{
    const uint32_t una = t->origin + t->una;
    int due = -1;
    for (uint32_t i = 0; i < t->set.count && due < 0; i++)
        if ((t->set.range[i].first == una || eun_psn_before(t->set.range[i].after, una)) &&
            t->set.range[i].first - una < reach)
            due = (int)i;
    assert_int_equal(eun_refused_due(&t->set, una, reach), due);
}

static void step(struct twin *t, struct test_random *r)
{
    const uint32_t psn = t->una + test_below(r, test_chance(r, 50) ? 12 : 150);
    switch (test_below(r, 6)) {
    case 0:
        t->una += test_below(r, 4);
        eun_refused_trim(&t->set, t->origin + t->una);
        break;
    case 1:
        check_due(t, test_between(r, 1, 200));
        break;
    case 2:
        if (t->set.count > 0) {
            const uint32_t i = test_below(r, t->set.count);
            t->added[t->set.range[i].first - t->origin] = false;
            eun_refused_drop_first(&t->set, i);
        }
        break;
    default:
        t->added[psn] = true;
        t->after[psn] = t->una - test_below(r, 3);
        eun_refused_add(&t->set, t->origin + psn, t->origin + t->after[psn]);
        break;
    }
}

static void keeps_all_that_was_refused(void **state)
{
    (void)state;
    struct test_random r = test_random_start(12);
    for (int run = 0; run < 2000; run++) {
        struct twin t = {.origin = test_first_psn(&r), .una = 3};
        while (t.una + 160u < PSNS && test_below(&r, 400) > 0) {
            step(&t, &r);
            check(&t);
        }
    }
}

/** Neighbours in any order are one range; a hole keeps two apart. */
static void joins_neighbours(void **state)
{
    (void)state;
    struct eun_refused set = {0};
    eun_refused_add(&set, 10, 1);
    eun_refused_add(&set, 12, 2);
    assert_int_equal(set.count, 2);
    eun_refused_add(&set, 11, 1);
    assert_int_equal(set.count, 1);
    assert_int_equal(set.range[0].first, 10);
    assert_int_equal(set.range[0].end, 13);
    assert_int_equal(set.range[0].after, 2);
    eun_refused_add(&set, 9, 0);
    eun_refused_add(&set, 11, 4);
    assert_int_equal(set.count, 1);
    assert_int_equal(set.range[0].first, 9);
    assert_int_equal(eun_refused_due(&set, 4, 100), -1);
    assert_int_equal(eun_refused_due(&set, 5, 100), 0);
    assert_int_equal(eun_refused_due(&set, 5, 4), -1);
}

/** 10 was refused at 9, 11 at 10: when 10 is awaited it must go, though its range is of later. */
static void awaited_psn_is_always_due(void **state)
{
    (void)state;
    struct eun_refused set = {0};
    eun_refused_add(&set, 10, 9);
    eun_refused_add(&set, 11, 10);
    assert_int_equal(set.count, 1);
    assert_int_equal(eun_refused_due(&set, 9, 100), -1);
    assert_int_equal(eun_refused_due(&set, 10, 1), 0);
    eun_refused_drop_first(&set, 0);
    assert_int_equal(eun_refused_due(&set, 10, 100), -1);
    eun_refused_trim(&set, 11);
    assert_int_equal(eun_refused_due(&set, 11, 1), 0);
}

/** With one range too many, the two that are nearest to each other become one. */
static void joins_the_nearest_where_full(void **state)
{
    (void)state;
    struct eun_refused set = {0};
    for (uint32_t i = 0; i < EUN_REFUSED_RANGES; i++)
        eun_refused_add(&set, 100u * i, 0);
    assert_int_equal(set.count, EUN_REFUSED_RANGES);
    eun_refused_add(&set, 310, 0);
    assert_int_equal(set.count, EUN_REFUSED_RANGES);
    assert_int_equal(set.range[3].first, 300);
    assert_int_equal(set.range[3].end, 311);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_all_that_was_refused),
        cmocka_unit_test(joins_neighbours),
        cmocka_unit_test(awaited_psn_is_always_due),
        cmocka_unit_test(joins_the_nearest_where_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
