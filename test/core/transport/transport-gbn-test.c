/* SPDX-License-Identifier: GPL-2.0-only */
#include "test-support.h"

#define GBN (&eun_transport_gbn)

static uint32_t send_psn(struct eun_sender *tx, const struct eun_sender_env *env, int64_t now,
                         bool retransmission)
{
    struct eun_tx_packet packet = {0};
    assert_true(eun_sender_next(tx, env, now, &packet));
    assert_int_equal(packet.retransmission, retransmission);
    test_validate(tx);
    return packet.data.psn;
}

static void answer(struct eun_sender *tx, const struct eun_sender_env *env, struct eun_feedback fb)
{
    eun_sender_feedback(tx, env, &fb, 0);
    test_validate(tx);
}

static struct eun_rx_verdict arrive(struct eun_receiver *rx, struct eun_receiver_env *env,
                                    const struct eun_data *data, int64_t now)
{
    struct eun_rx_verdict v;
    GBN->receive(rx, env, data, now, &v);
    return v;
}

static struct eun_sender *sender_with(const struct eun_sender_env *env, uint32_t packets,
                                      uint32_t sent)
{
    struct eun_sender *tx = eun_sender_new(GBN, 0);
    assert_true(eun_sender_post(tx, env, packets * env->mtu, 0));
    for (uint32_t i = 0; i < sent; i++)
        assert_int_equal(send_psn(tx, env, 0, false), i);
    return tx;
}

/** All from the missing packet on goes again, marked, and new packets follow. */
static void nack_goes_back(void **state)
{
    (void)state;
    const struct eun_sender_env env = test_sender_env();
    struct eun_sender *tx = sender_with(&env, 10, 6);
    answer(tx, &env, test_nack(EUN_NACK_SEQUENCE, 3, 4));
    assert_int_equal(eun_sender_una(tx), 3);
    for (uint32_t psn = 3; psn < 6; psn++)
        assert_int_equal(send_psn(tx, &env, 0, true), psn);
    for (uint32_t psn = 6; psn < 10; psn++)
        assert_int_equal(send_psn(tx, &env, 0, false), psn);
    assert_int_equal(eun_sender_retransmitted(tx), 3);
    assert_int_equal(eun_sender_state(tx, &env), EUN_TX_IDLE);
    eun_sender_free(tx);
}

/** What an ACK covers meanwhile is not sent again. */
static void ack_shortens_the_go_back(void **state)
{
    (void)state;
    const struct eun_sender_env env = test_sender_env();
    struct eun_sender *tx = sender_with(&env, 10, 8);
    answer(tx, &env, test_nack(EUN_NACK_SEQUENCE, 2, 4));
    assert_int_equal(send_psn(tx, &env, 0, true), 2);
    answer(tx, &env, test_ack(6));
    assert_int_equal(send_psn(tx, &env, 0, true), 6);
    answer(tx, &env, test_ack(8));
    assert_int_equal(send_psn(tx, &env, 0, false), 8);
    eun_sender_free(tx);
}

static void stale_nack_never_rewinds(void **state)
{
    (void)state;
    const struct eun_sender_env env = test_sender_env();
    struct eun_sender *tx = sender_with(&env, 10, 6);
    answer(tx, &env, test_ack(5));
    answer(tx, &env, test_nack(EUN_NACK_SEQUENCE, 3, 4));
    assert_int_equal(eun_sender_una(tx), 5);
    assert_int_equal(send_psn(tx, &env, 0, false), 6);
    answer(tx, &env, test_sack(5, 6));
    assert_int_equal(send_psn(tx, &env, 0, false), 7);
    eun_sender_free(tx);
}

/** The sender against a naive one, over random answers and timeouts. */
static void sender_follows_the_naive_model(void **state)
{
    (void)state;
    struct test_random r = test_random_start(31);
    for (int run = 0; run < 2000; run++) {
        struct eun_sender_env env = test_sender_env();
        env.retry_limit = UINT32_MAX;
        const uint32_t packets = test_between(&r, 1, 60);
        const uint32_t origin = test_first_psn(&r);
        struct eun_sender *tx = eun_sender_new(GBN, origin);
        uint32_t una = 0;
        uint32_t cursor = 0;
        uint32_t highest = 0;
        for (uint32_t left = packets; left > 0;) {
            const uint32_t n = test_between(&r, 1, left < 9 ? left : 9);
            assert_true(eun_sender_post(tx, &env, n * env.mtu, 0));
            left -= n;
        }
        for (int step = 0; step < 150; step++) {
            const uint32_t expected = una + test_below(&r, highest - una + 1u) - test_below(&r, 3);
            struct eun_feedback fb = test_ack(origin + expected);
            switch (test_below(&r, 8)) {
            case 0:
                fb.kind = EUN_FEEDBACK_NACK;
                if ((int32_t)expected >= (int32_t)una)
                    cursor = expected;
                /* fall through */
            case 1:
                if ((int32_t)expected > (int32_t)una)
                    una = expected;
                if (cursor < una)
                    cursor = una;
                answer(tx, &env, fb);
                break;
            case 2:
                if (eun_sender_deadline(tx, &env) != INT64_MAX) {
                    assert_true(eun_sender_timeout(tx, &env, eun_sender_deadline(tx, &env)));
                    cursor = una;
                }
                break;
            default:
                assert_int_equal(eun_sender_state(tx, &env) == EUN_TX_READY, cursor < packets);
                if (cursor < packets) {
                    assert_int_equal(send_psn(tx, &env, 0, cursor < highest), origin + cursor);
                    cursor++;
                }
                break;
            }
            highest = cursor > highest ? cursor : highest;
            assert_int_equal(eun_sender_una(tx), origin + una);
            assert_int_equal(eun_sender_nxt(tx), origin + highest);
        }
        eun_sender_free(tx);
    }
}

/** Sends until idle; copies whose turn is marked in `lost` (bit 0: first) vanish. */
static void pump(struct eun_sender *tx, const struct eun_sender_env *env, struct eun_receiver *rx,
                 struct eun_receiver_env *rx_env, uint32_t *lost, int64_t now)
{
    struct eun_tx_packet p;
    while (eun_sender_next(tx, env, now, &p)) {
        const bool gone = *lost & 1u;
        *lost >>= 1;
        if (gone)
            continue;
        const struct eun_rx_verdict v = arrive(rx, rx_env, &p.data, now);
        if (v.feedback.kind != EUN_FEEDBACK_NONE)
            eun_sender_feedback(tx, env, &v.feedback, now);
    }
}

/**
 * Every pattern of losses among the first copies is repaired, the loss of the last packet and of
 * the only packet of a flow (HPCC issue 28) among them.
 */
static void every_loss_pattern_is_repaired(void **state)
{
    (void)state;
    struct eun_sender_env env = test_sender_env();
    env.retry_limit = 100;
    for (uint32_t packets = 1; packets <= 5; packets++) {
        for (uint32_t pattern = 0; pattern < 1u << 10; pattern++) {
            struct eun_receiver_env rx_env = test_receiver_env(NULL);
            struct eun_sender *tx = eun_sender_new(GBN, 0u - 2u);
            struct eun_receiver rx;
            struct eun_message m;
            uint32_t lost = pattern;
            int64_t now = 0;
            eun_receiver_init(&rx, 0, 0u - 2u);
            assert_true(eun_sender_post(tx, &env, packets * env.mtu, 9));
            pump(tx, &env, &rx, &rx_env, &lost, now);
            for (int tries = 0; eun_sender_deadline(tx, &env) != INT64_MAX; tries++) {
                assert_true(tries < 20);
                now = eun_sender_deadline(tx, &env);
                assert_true(eun_sender_timeout(tx, &env, now));
                pump(tx, &env, &rx, &rx_env, &lost, now);
            }
            assert_true(eun_sender_completed(tx, &m));
            assert_int_equal(rx.expected, packets - 2u);
            assert_true((pattern & ((1u << packets) - 1u)) == 0 ||
                        eun_sender_retransmitted(tx) > 0);
            eun_sender_free(tx);
        }
    }
}

/** One ACK for 20 packets, and one for the rest (HPCC issues 59 and 65). */
static void ack_count_is_exact(void **state)
{
    (void)state;
    const struct eun_sender_env env = test_sender_env();
    for (uint32_t packets = 1; packets <= 101; packets++) {
        struct eun_receiver_env rx_env = test_receiver_env(NULL);
        rx_env.ack_every = 20;
        struct eun_sender *tx = eun_sender_new(GBN, 0);
        struct eun_receiver rx;
        struct eun_tx_packet p;
        struct eun_message m;
        uint32_t acks = 0;
        eun_receiver_init(&rx, 0, 0);
        assert_true(eun_sender_post(tx, &env, packets * env.mtu, 0));
        while (eun_sender_next(tx, &env, 0, &p)) {
            const struct eun_rx_verdict v = arrive(&rx, &rx_env, &p.data, 0);
            acks += v.feedback.kind == EUN_FEEDBACK_ACK;
            eun_sender_feedback(tx, &env, &v.feedback, 0);
        }
        assert_int_equal(acks, (packets + 19) / 20);
        assert_true(eun_sender_completed(tx, &m));
        eun_sender_free(tx);
    }
}

static void receiver_ignores_head_and_message_number(void **state)
{
    (void)state;
    struct eun_receiver_env env = test_receiver_env(NULL);
    struct eun_receiver rx;
    eun_receiver_init(&rx, 0, 7);
    const struct eun_data data = {.psn = 7, .head = 4711, .msn = 33};
    assert_int_equal(arrive(&rx, &env, &data, 0).disposition, EUN_RX_ACCEPTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nack_goes_back),
        cmocka_unit_test(ack_shortens_the_go_back),
        cmocka_unit_test(stale_nack_never_rewinds),
        cmocka_unit_test(sender_follows_the_naive_model),
        cmocka_unit_test(every_loss_pattern_is_repaired),
        cmocka_unit_test(ack_count_is_exact),
        cmocka_unit_test(receiver_ignores_head_and_message_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
