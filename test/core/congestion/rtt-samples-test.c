/* SPDX-License-Identifier: GPL-2.0-only */
#include "core/congestion/rtt-samples.h"

#include "../test-random.h"

#define SEGMENT 4096u
#define MTU 1024u
#define PSNS 4096u

/** 16 packets from PSN 0xfffffffa, one a microsecond: every fourth is a sample. */
static void start(struct eun_rtt_samples *s)
{
    eun_rtt_samples_clear(s);
    for (uint32_t i = 0; i < 16; i++)
        assert_int_equal(eun_rtt_samples_sent(s, SEGMENT, 0xfffffffau + i, MTU, false, i * 1000),
                         i % 4 == 3);
    assert_int_equal(s->count, 4);
}

static void answers_end_samples(void **state)
{
    (void)state;
    struct eun_rtt_samples s;
    start(&s);
    /* Packet 3 is 0xfffffffd, 7 is 1. */
    assert_true(eun_rtt_samples_answered(&s, 0xfffffffdu, false, 0xfffffffcu, 9000) == -1);
    assert_true(eun_rtt_samples_answered(&s, 0xfffffffeu, false, 0xfffffffdu, 10000) == 7000);
    assert_true(eun_rtt_samples_answered(&s, 0xfffffffeu, false, 0xfffffffdu, 10000) == -1);
    /* Packet 11 ahead of 7; the ACK that closes the gap then ends 7 only. */
    assert_true(eun_rtt_samples_answered(&s, 0u, true, 5u, 20000) == 9000);
    assert_true(eun_rtt_samples_answered(&s, 6u, false, 0u, 30000) == 23000);
    assert_int_equal(s.count, 1);
}

/** Of several that one answer ends, the one that left last tells of the present. */
static void the_latest_counts(void **state)
{
    (void)state;
    struct eun_rtt_samples s;
    start(&s);
    assert_true(eun_rtt_samples_answered(&s, 10u, false, 9u, 20000) == 5000);
    assert_int_equal(s.count, 0);
}

static void packets_sent_again_are_no_samples(void **state)
{
    (void)state;
    struct eun_rtt_samples s;
    start(&s);
    assert_false(eun_rtt_samples_sent(&s, SEGMENT, 1u, MTU, true, 20000));
    assert_int_equal(s.count, 3);
    assert_true(eun_rtt_samples_answered(&s, 2u, false, 1u, 30000) == 27000);
    /* Neither do they count for a segment. */
    for (uint32_t i = 0; i < 100; i++)
        assert_false(eun_rtt_samples_sent(&s, SEGMENT, 2u, MTU, true, 40000));
}

static void no_more_than_fit(void **state)
{
    (void)state;
    struct eun_rtt_samples s;
    eun_rtt_samples_clear(&s);
    for (uint32_t i = 0; i < EUN_RTT_SAMPLES + 5u; i++)
        assert_int_equal(eun_rtt_samples_sent(&s, 1, i, MTU, false, i), i < EUN_RTT_SAMPLES);
    assert_true(eun_rtt_samples_answered(&s, 2, false, 1, 100) == 99);
    assert_true(eun_rtt_samples_sent(&s, 1, 1000, MTU, false, 100));
}

/** Against a list of every PSN's last leaving, over packets that are lost, reordered and repeated.
 */
static void equals_a_list(void **state)
{
    (void)state;
    struct test_random r = test_random_start(71);
    uint32_t measured = 0;
    for (int run = 0; run < 300; run++) {
        struct eun_rtt_samples s;
        int64_t sent[PSNS];
        const uint32_t origin = (uint32_t)test_random_next(&r);
        const uint32_t segment = test_between(&r, 1, 6000);
        uint32_t una = 0, nxt = 0, bytes = 0, open = 0;
        eun_rtt_samples_clear(&s);
        for (uint32_t i = 0; i < PSNS; i++)
            sent[i] = -1;
        for (int64_t now = 0; now < 3000; now++) {
            if (nxt < PSNS && test_chance(&r, 60)) {
                const uint32_t payload = test_between(&r, 1, MTU);
                bytes += payload;
                const bool ends = bytes >= segment;
                const bool fits = open < EUN_RTT_SAMPLES;
                bytes = ends ? 0 : bytes;
                assert_int_equal(
                    eun_rtt_samples_sent(&s, segment, origin + nxt, payload, false, now),
                    ends && fits);
                sent[nxt++] = ends && fits ? now : -1;
                open += ends && fits;
            } else if (una < nxt && test_chance(&r, 20)) {
                const uint32_t psn = test_between(&r, una, nxt - 1u);
                open -= sent[psn] >= 0;
                sent[psn] = -1;
                eun_rtt_samples_sent(&s, segment, origin + psn, MTU, true, now);
            } else if (una < nxt) {
                const uint32_t moved = test_below(&r, 3) < nxt - una ? test_below(&r, 3) : 0;
                const bool selective = test_chance(&r, 50);
                const uint32_t psn = test_between(&r, una, nxt - 1u);
                int64_t latest = -1;
                const uint32_t to = una + moved < nxt ? una + moved : nxt;
                for (uint32_t p = una; p < nxt; p++) {
                    if (sent[p] < 0 || (p >= to && !(selective && p == psn)))
                        continue;
                    latest = sent[p] > latest ? sent[p] : latest;
                    sent[p] = -1;
                    open--;
                }
                una = to;
                assert_true(eun_rtt_samples_answered(&s, origin + una, selective, origin + psn,
                                                     now) == (latest < 0 ? -1 : now - latest));
                measured += latest >= 0;
            }
            assert_int_equal(s.count, open);
        }
    }
    print_message("%u round trips\n", measured);
    assert_true(measured > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_end_samples),
        cmocka_unit_test(the_latest_counts),
        cmocka_unit_test(packets_sent_again_are_no_samples),
        cmocka_unit_test(no_more_than_fit),
        cmocka_unit_test(equals_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
