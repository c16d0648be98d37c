/* SPDX-License-Identifier: GPL-2.0-only */
#include "ddp-ends.h"

#define DDP_GBN (&eun_transport_ddp_gbn)

/** Early packets are kept in silence; a question and a duplicate get an ACK, which tells no more.
 */
static void early_packets_are_placed_in_silence(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, DDP_GBN, 10, 0u - 3u);
    for (uint32_t psn = 2; psn < 6; psn++) {
        const struct eun_rx_verdict v = arrive(&e, psn, psn == 4);
        assert_int_equal(v.disposition, EUN_RX_HELD);
        assert_int_equal(v.feedback.kind, psn == 4 ? EUN_FEEDBACK_ACK : EUN_FEEDBACK_NONE);
    }
    const struct eun_rx_verdict again = arrive(&e, 3, false);
    assert_int_equal(again.disposition, EUN_RX_DUPLICATE);
    assert_int_equal(again.feedback.kind, EUN_FEEDBACK_ACK);
    assert_int_equal(again.feedback.expected, e.origin);
    assert_int_equal(arrive(&e, 0, false).advanced, 1);
    assert_int_equal(arrive(&e, 1, false).advanced, 5);
    assert_int_equal(arrive(&e, 6u + CAP, false).feedback.reason, EUN_NACK_CAP);
    ends_free(&e);
}

/** After a timeout all of it goes again, until the gap is closed: the receiver had the rest. */
static void a_timeout_goes_back(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, DDP_GBN, 30, 7);
    sends_new(&e, 0, 20);
    answer(&e, test_ack(7 + 5));
    e.tx_env.window_psns = 15;
    e.now = eun_sender_deadline(e.tx, &e.tx_env);
    assert_true(eun_sender_timeout(e.tx, &e.tx_env, e.now));
    for (uint32_t psn = 5; psn < 9; psn++)
        sends_again(&e, psn);
    answer(&e, test_ack(7 + 18));
    sends_again(&e, 18);
    sends_again(&e, 19);
    sends_new(&e, 20, 30);
    is_idle(&e);
    ends_free(&e);
}

/** A refusal goes back, once for all of a flight; an old one, or any other answer, does not. */
static void a_refusal_goes_back(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, DDP_GBN, 20, 0);
    sends_new(&e, 0, 20);
    answer(&e, test_ack(3));
    answer(&e, test_nack(EUN_NACK_HELD, 3, 12));
    answer(&e, test_nack(EUN_NACK_SEQUENCE, 3, 12));
    answer(&e, test_nack(EUN_NACK_CAP, 2, 2));
    answer(&e, (struct eun_feedback){.kind = EUN_FEEDBACK_SACK, .expected = 3, .psn = 9});
    is_idle(&e);
    answer(&e, test_nack(EUN_NACK_CAP, 3, 12));
    sends_again(&e, 3);
    for (uint32_t psn = 13; psn < 20; psn++)
        answer(&e, test_nack(EUN_NACK_CAP, 3, psn));
    for (uint32_t psn = 4; psn < 20; psn++)
        sends_again(&e, psn);
    is_idle(&e);
    answer(&e, test_nack(EUN_NACK_CAP, 5, 19));
    sends_again(&e, 5);
    ends_free(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(early_packets_are_placed_in_silence),
        cmocka_unit_test(a_timeout_goes_back),
        cmocka_unit_test(a_refusal_goes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
