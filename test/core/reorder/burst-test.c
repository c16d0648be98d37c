/* SPDX-License-Identifier: GPL-2.0-only */
#include "../test-random.h"

#include "burst.h"
#include "psn.h"
#include "reorder.h"

#define US INT64_C(1000000)
#define MS INT64_C(1000000000)

enum { ARRIVALS = 300, PIECES = 4 * ARRIVALS };

/** One arrival and what it did, as someone who only watches would write it down. */
struct note {
    int64_t at;
    uint32_t psn;
    uint32_t span;
    uint32_t advanced;
    bool kept; /**< not refused */
    bool gap;  /**< after it */
};

/** A life of a QP, arrival by arrival. */
struct record {
    struct note note[ARRIVALS];
    uint32_t count;
    int64_t opened;
    int64_t closed;
};

struct pieces {
    struct eun_burst piece[PIECES];
    uint32_t count;
};

static void add(struct pieces *pieces, const struct eun_burst *piece)
{
    assert_true(pieces->count < PIECES);
    pieces->piece[pieces->count++] = *piece;
}

static bool has_kept(const struct record *r, uint32_t psn)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (r->note[i].kept && r->note[i].psn == psn)
            return true;
    return false;
}

static bool any_at_or_past(const struct record *r, uint32_t psn)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (!eun_psn_before(r->note[i].psn, psn))
            return true;
    return false;
}

/** How long the QP rests at `now`: often not at all, to a slice's end, or for several slices. */
static int64_t pause_at(struct test_random *rng, int64_t now, int64_t slice)
{
    if (test_chance(rng, 2))
        return slice - now % slice;
    if (test_chance(rng, 20))
        return 0;
    if (test_chance(rng, 5))
        return slice * test_below(rng, 4);
    return test_below(rng, (uint32_t)(slice / 20));
}

/** Random arrivals around a window that moves on, some twice; who refuses, sees them again. */
static void make_record(struct test_random *rng, struct record *r, int64_t now, int64_t slice)
{
    uint32_t expected = 0u - test_below(rng, ARRIVALS);
    const uint32_t window = 1u + test_below(rng, 40);
    const uint32_t length = test_below(rng, ARRIVALS);
    const uint32_t refused = test_chance(rng, 50) ? 0 : 50 * (1u + test_below(rng, 2));
    *r = (struct record){.opened = now};
    while (r->count < length) {
        now += pause_at(rng, now, slice);
        const bool behind = test_chance(rng, 5);
        const uint32_t ahead = test_chance(rng, 60) ? 0 : test_below(rng, window);
        struct note note = {.at = now, .psn = behind ? expected - 1u : expected + ahead};
        note.span = behind ? 0 : ahead;
        note.kept = note.span == 0 || !test_chance(rng, refused);
        r->note[r->count++] = note;
        const uint32_t before = expected;
        while (has_kept(r, expected))
            expected++;
        r->note[r->count - 1u].advanced = expected - before;
        r->note[r->count - 1u].gap = any_at_or_past(r, expected);
    }
    r->closed = now + pause_at(rng, now, slice);
}

/** The pieces of a burst that notes first..last make, up to `until`. */
static void cut_burst(const struct record *r, uint32_t first, uint32_t last, int64_t until,
                      struct eun_burst burst, int64_t slice, struct pieces *out)
{
    const uint8_t end = burst.end;
    for (int64_t s = burst.start_ps / slice; s <= until / slice; s++) {
        const bool over = s == until / slice;
        burst.duration_ps = (over ? until : (s + 1) * slice) - burst.start_ps;
        burst.end = over ? end : (uint8_t)EUN_BURST_CONTINUES;
        burst.packets = burst.span = 0;
        for (uint32_t i = first; i <= last; i++) {
            if (r->note[i].span == 0 || r->note[i].at / slice != s)
                continue;
            burst.packets++;
            burst.span = r->note[i].span > burst.span ? r->note[i].span : burst.span;
        }
        add(out, &burst);
        burst.start_ps = (s + 1) * slice;
        burst.gap_ps = 0;
        burst.first = false;
    }
}

/** What a tracker should say of the life, in whole slices of any length. */
static void reference(const struct record *r, int64_t slice, uint32_t *number, struct pieces *out)
{
    struct eun_burst burst = {0};
    int64_t since = r->opened;
    bool first = true;
    for (uint32_t i = 0; i < r->count; i++) {
        if (!r->note[i].gap)
            continue;
        uint32_t last = i;
        while (last < r->count && r->note[last].gap)
            last++;
        const bool cut = last == r->count;
        const int64_t until = cut ? r->closed : r->note[last].at;
        burst = (struct eun_burst){.number = ++*number,
                                   .start_ps = r->note[i].at,
                                   .gap_ps = r->note[i].at - since,
                                   .end = cut ? EUN_BURST_CUT : EUN_BURST_CLOSED,
                                   .first = first};
        cut_burst(r, i, last - cut, until, burst, slice, out);
        since = until;
        first = false;
        i = last;
    }
    if (!first && burst.end != EUN_BURST_CUT) {
        burst = (struct eun_burst){.number = *number,
                                   .start_ps = r->closed,
                                   .gap_ps = r->closed - since,
                                   .end = EUN_BURST_IDLE};
        add(out, &burst);
    }
}

static void track(struct eun_burst_tracker *tracker, const struct record *r, struct pieces *out)
{
    struct eun_burst piece;
    for (uint32_t i = 0; i < r->count; i++) {
        const struct note *note = &r->note[i];
        while (eun_burst_slice(tracker, note->at, &piece))
            add(out, &piece);
        if (eun_burst_arrive(tracker, note->at, note->span, note->advanced, &piece))
            add(out, &piece);
        assert_int_equal(eun_burst_is_open(tracker), note->gap);
    }
    while (eun_burst_slice(tracker, r->closed, &piece))
        add(out, &piece);
    if (eun_burst_close(tracker, r->closed, &piece))
        add(out, &piece);
    assert_false(eun_burst_is_open(tracker));
}

static void assert_same(const struct pieces *got, const struct pieces *want)
{
    assert_int_equal(got->count, want->count);
    for (uint32_t i = 0; i < want->count; i++) {
        const struct eun_burst *a = &got->piece[i], *b = &want->piece[i];
        assert_int_equal(a->number, b->number);
        assert_int_equal(a->span, b->span);
        assert_int_equal(a->packets, b->packets);
        assert_int_equal(a->start_ps, b->start_ps);
        assert_int_equal(a->duration_ps, b->duration_ps);
        assert_int_equal(a->gap_ps, b->gap_ps);
        assert_int_equal(a->end, b->end);
        assert_int_equal(a->first, b->first);
    }
}

/** Lives of one QP after another, against the arrivals written down. */
static void tells_what_the_record_shows(void **state)
{
    (void)state;
    static struct record record;
    static struct pieces got, want;
    static const int64_t slices[] = {MS, 7 * US, EUN_BURST_WHOLE};
    struct test_random rng = test_random_start(61);
    uint32_t ends[4] = {0};
    for (uint32_t i = 0; i < sizeof slices / sizeof *slices; i++) {
        struct eun_burst_tracker tracker = {0};
        uint32_t number = 0;
        int64_t now = test_below(&rng, 1000);
        for (uint32_t life = 0; life < 200; life++) {
            make_record(&rng, &record, now, slices[i] == EUN_BURST_WHOLE ? MS : slices[i]);
            got.count = want.count = 0;
            eun_burst_open(&tracker, slices[i], now);
            track(&tracker, &record, &got);
            reference(&record, slices[i], &number, &want);
            assert_same(&got, &want);
            for (uint32_t k = 0; k < got.count; k++)
                ends[got.piece[k].end]++;
            now = record.closed + pause_at(&rng, record.closed, MS);
        }
    }
    for (uint32_t end = 0; end < 4; end++)
        assert_true(ends[end] > 20);
}

/** A QP is in a burst exactly while an ordering layer that refuses nothing holds a PSN of it. */
static void agrees_with_the_ordering_layer(void **state)
{
    (void)state;
    const struct eun_reorder_config config = {
        .blocks = 64, .banks = 1, .cap_psns = 256, .block_bits = 16, .idle_epoch_ps = 50 * US};
    struct test_random rng = test_random_start(62);
    struct eun_reorder *layer = eun_reorder_new(&config);
    struct eun_burst_tracker tracker = {0};
    struct eun_burst piece;
    assert_true(eun_reorder_open(layer, 0));
    eun_burst_open(&tracker, MS, 0);
    uint32_t expected = 0u - 5000u, changes = 0;
    for (int64_t now = 0; now < 20000 * US; now += US) {
        const uint32_t span =
            test_chance(&rng, 80) ? 0 : test_below(&rng, test_chance(&rng, 5) ? 200 : 4);
        const struct eun_hd_outcome hd =
            eun_reorder_arrive(layer, 0, expected, expected + span, false, now);
        expected += hd.advanced;
        const bool before = eun_burst_is_open(&tracker);
        while (eun_burst_slice(&tracker, now, &piece))
            assert_true(before);
        (void)eun_burst_arrive(&tracker, now, span, hd.advanced, &piece);
        assert_int_equal(eun_burst_is_open(&tracker), eun_reorder_has_gap(layer, 0));
        changes += before != eun_burst_is_open(&tracker);
        if (now % (100 * US) == 0)
            (void)eun_reorder_sweep(layer, now);
    }
    assert_true(changes > 100);
    eun_reorder_free(layer);
}

/** A receiver that discards is in a burst until what came ahead has come again and been passed. */
static void goes_on_until_what_was_refused_is_passed(void **state)
{
    (void)state;
    struct eun_burst_tracker tracker = {0};
    struct eun_burst piece;
    eun_burst_open(&tracker, EUN_BURST_WHOLE, 10);
    assert_false(eun_burst_arrive(&tracker, 20, 0, 1, &piece));
    assert_false(eun_burst_arrive(&tracker, 30, 2, 0, &piece));
    assert_false(eun_burst_arrive(&tracker, 40, 1, 0, &piece));
    assert_false(eun_burst_arrive(&tracker, 50, 0, 1, &piece));
    assert_false(eun_burst_arrive(&tracker, 60, 0, 1, &piece));
    assert_true(eun_burst_arrive(&tracker, 75, 0, 1, &piece));
    assert_int_equal(piece.start_ps, 30);
    assert_int_equal(piece.duration_ps, 45);
    assert_int_equal(piece.gap_ps, 20);
    assert_int_equal(piece.packets, 2);
    assert_int_equal(piece.span, 2);
    assert_int_equal(piece.end, EUN_BURST_CLOSED);
    assert_true(piece.first);
}

/** A QP that never had an early packet has nothing to tell. */
static void says_nothing_of_a_qp_in_order(void **state)
{
    (void)state;
    struct eun_burst_tracker tracker = {0};
    struct eun_burst piece;
    eun_burst_open(&tracker, MS, 0);
    for (int64_t now = 0; now < 5 * MS; now += MS / 3) {
        assert_false(eun_burst_slice(&tracker, now, &piece));
        assert_false(eun_burst_arrive(&tracker, now, 0, 1, &piece));
    }
    assert_false(eun_burst_close(&tracker, 5 * MS, &piece));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_what_the_record_shows),
        cmocka_unit_test(agrees_with_the_ordering_layer),
        cmocka_unit_test(goes_on_until_what_was_refused_is_passed),
        cmocka_unit_test(says_nothing_of_a_qp_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
