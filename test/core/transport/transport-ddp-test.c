/* SPDX-License-Identifier: GPL-2.0-only */
#include "ddp-ends.h"

#define DDP (&eun_transport_ddp)

/** Early packets are kept and SACKed, each time; the gap's packet brings the prefix past them. */
static void early_packets_are_placed_and_sacked(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, DDP, 10, 0u - 3u);
    for (uint32_t psn = 2; psn < 6; psn++) {
        for (int copy = 0; copy < 2; copy++) {
            const struct eun_rx_verdict v = arrive(&e, psn, false);
            assert_int_equal(v.disposition, copy ? EUN_RX_DUPLICATE : EUN_RX_HELD);
            assert_true(v.out_of_order && v.span == psn);
            assert_int_equal(v.feedback.kind, EUN_FEEDBACK_SACK);
            assert_int_equal(v.feedback.expected, e.origin);
            assert_int_equal(v.feedback.psn, e.origin + psn);
        }
    }
    assert_int_equal(arrive(&e, 0, false).advanced, 1);
    const struct eun_rx_verdict v = arrive(&e, 1, false);
    assert_int_equal(v.advanced, 5);
    assert_int_equal(v.feedback.kind, EUN_FEEDBACK_ACK);
    assert_int_equal(v.feedback.expected, e.origin + 6u);
    ends_free(&e);
}

/** One SACK covers three packets, but a question and a duplicate are answered at once. */
static void sacks_are_coalesced(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, DDP, 20, 0);
    e.rx_env.sack_every = 3;
    static const struct {
        uint32_t psn;
        bool ask, answered;
    } rows[] = {{2, false, false}, {3, false, false}, {4, false, true}, {5, false, false},
                {6, true, true},   {7, false, false}, {7, false, true}, {8, false, false},
                {9, false, false}, {10, false, true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct eun_rx_verdict v = arrive(&e, rows[i].psn, rows[i].ask);
        assert_int_equal(v.feedback.kind == EUN_FEEDBACK_SACK, rows[i].answered);
    }
    ends_free(&e);
}

/** The bitmap's last place is used; one further is dropped, and its NACK says so. */
static void a_packet_past_the_bitmap_is_refused(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, DDP, 2 * CAP, 0u - 5u);
    assert_int_equal(arrive(&e, CAP - 1u, false).disposition, EUN_RX_HELD);
    const struct eun_rx_verdict v = arrive(&e, CAP, false);
    assert_int_equal(v.disposition, EUN_RX_REFUSED);
    assert_int_equal(v.feedback.kind, EUN_FEEDBACK_NACK);
    assert_int_equal(v.feedback.reason, EUN_NACK_CAP);
    assert_int_equal(arrive(&e, 0, false).advanced, 1);
    assert_int_equal(arrive(&e, CAP, false).disposition, EUN_RX_HELD);
    ends_free(&e);
}

/** A gap is no loss: whatever SACKs come, nothing goes again, and new packets go on. */
static void gaps_are_no_loss(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, DDP, 60, 0);
    sends_new(&e, 0, 50);
    for (uint32_t psn = 1; psn < 50; psn++)
        answer(&e, (struct eun_feedback){.kind = EUN_FEEDBACK_SACK, .psn = psn});
    sends_new(&e, 50, 60);
    is_idle(&e);
    ends_free(&e);
}

/** After a timeout exactly what nobody reported goes again, in order, once. */
static void a_timeout_repeats_what_is_missing(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, DDP, 20, 7);
    sends_new(&e, 0, 20);
    for (uint32_t psn = 1; psn < 19; psn++)
        if (psn % 5 != 0)
            answer(&e,
                   (struct eun_feedback){.kind = EUN_FEEDBACK_SACK, .expected = 7, .psn = 7 + psn});
    e.now = eun_sender_deadline(e.tx, &e.tx_env);
    assert_true(eun_sender_timeout(e.tx, &e.tx_env, e.now));
    static const uint32_t missing[] = {0, 5, 10, 15, 19};
    for (int i = 0; i < 5; i++)
        sends_again(&e, missing[i]);
    is_idle(&e);
    ends_free(&e);
}

/** What was refused goes again, alone, once the cumulative point has moved. */
static void a_refused_packet_goes_again_when_there_may_be_room(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, DDP, 20, 0);
    sends_new(&e, 0, 20);
    answer(&e, test_nack(EUN_NACK_CAP, 3, 12));
    is_idle(&e);
    answer(&e, test_ack(4));
    sends_again(&e, 12);
    is_idle(&e);
    answer(&e, test_nack(EUN_NACK_HELD, 4, 13));
    answer(&e, test_nack(EUN_NACK_SEQUENCE, 4, 13));
    answer(&e, test_ack(6));
    is_idle(&e);
    ends_free(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(early_packets_are_placed_and_sacked),
        cmocka_unit_test(sacks_are_coalesced),
        cmocka_unit_test(a_packet_past_the_bitmap_is_refused),
        cmocka_unit_test(gaps_are_no_loss),
        cmocka_unit_test(a_timeout_repeats_what_is_missing),
        cmocka_unit_test(a_refused_packet_goes_again_when_there_may_be_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
