/* SPDX-License-Identifier: GPL-2.0-only */
#include "test-support.h"

#include "core/transport/scoreboard.h"

/** Naive twin: one flag for each PSN from the first one on. */
#define PSNS 4096u

struct twin {
    struct eun_scoreboard board;
    bool marked[PSNS];
    uint32_t origin; /**< PSN 0 of the twin */
    uint32_t una;    /**< counted from it */
    uint32_t count;
};

static void check_next_missing(const struct twin *t, uint32_t from, uint32_t to)
{
    uint32_t missing = from;
    while (missing != to && t->marked[missing])
        missing++;
    assert_int_equal(eun_scoreboard_next_missing(&t->board, t->origin + t->una, t->origin + from,
                                                 t->origin + to),
                     t->origin + missing);
}

static void advance(struct twin *t, uint32_t to)
{
    uint32_t passed = 0;
    for (uint32_t psn = t->una; psn != to; psn++) {
        passed += t->marked[psn];
        t->marked[psn] = false;
    }
    assert_int_equal(eun_scoreboard_advance(&t->board, t->origin + t->una, t->origin + to), passed);
    t->una = to;
    t->count -= passed;
}

static void step(struct twin *t, struct test_random *r, uint32_t psns)
{
    const uint32_t psn = t->una + test_below(r, psns);
    const uint32_t una = t->origin + t->una;
    assert_int_equal(eun_scoreboard_has(&t->board, una, t->origin + psn), t->marked[psn]);
    switch (test_below(r, 8)) {
    case 0:
        if (t->una + 1000u < PSNS)
            advance(t, t->una + test_below(r, test_chance(r, 10) ? 400 : 20));
        break;
    case 1:
        if (test_chance(r, 5)) {
            eun_scoreboard_clear(&t->board);
            for (uint32_t i = 0; i < PSNS; i++)
                t->marked[i] = false;
            t->count = 0;
        }
        break;
    case 2:
        check_next_missing(t, psn, psn + test_below(r, 500));
        break;
    default:
        assert_int_equal(eun_scoreboard_mark(&t->board, una, t->origin + psn, psns),
                         !t->marked[psn]);
        t->count += !t->marked[psn];
        t->marked[psn] = true;
        break;
    }
    assert_int_equal(t->board.count, t->count);
}

static void follows_the_naive_model(void **state)
{
    (void)state;
    struct test_random r = test_random_start(11);
    for (int run = 0; run < 300; run++) {
        struct twin t = {.origin = test_first_psn(&r)};
        const uint32_t psns = test_between(&r, 1, 300);
        for (int i = 0; i < 600; i++)
            step(&t, &r, psns);
        eun_scoreboard_free(&t.board);
    }
}

/** What lies past the ring is no mark of another PSN. */
static void ignores_what_does_not_fit(void **state)
{
    (void)state;
    struct eun_scoreboard board = {0};
    assert_false(eun_scoreboard_has(&board, 5, 5));
    assert_true(eun_scoreboard_mark(&board, 5, 6, 64));
    assert_false(eun_scoreboard_mark(&board, 5, 5 + 64, 64));
    assert_false(eun_scoreboard_mark(&board, 5, 6 + 64, 1000));
    assert_false(eun_scoreboard_has(&board, 5, 6 + 64));
    assert_int_equal(board.count, 1);
    assert_int_equal(eun_scoreboard_advance(&board, 5, 5 + 1000), 1);
    assert_true(eun_scoreboard_mark(&board, 1005, 1005 + 999, 1000));
    eun_scoreboard_free(&board);
}

static void size_has_a_limit(void **state)
{
    (void)state;
    struct eun_scoreboard board = {0};
    assert_true(eun_scoreboard_mark(&board, 0, 0, UINT32_MAX));
    assert_int_equal(board.psns, EUN_SCOREBOARD_PSNS_MAX);
    assert_false(eun_scoreboard_mark(&board, 0, EUN_SCOREBOARD_PSNS_MAX, UINT32_MAX));
    eun_scoreboard_free(&board);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_the_naive_model),
        cmocka_unit_test(ignores_what_does_not_fit),
        cmocka_unit_test(size_has_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
