/* SPDX-License-Identifier: GPL-2.0-only */
#include "test-support.h"

#define IRN (&eun_transport_irn)
#define CAP 128u

static struct eun_fixed_shape g_shape;

static int make_shape(void **state)
{
    (void)state;
    return eun_fixed_shape_init(&g_shape, CAP) ? 0 : -1;
}

/** A sender and a receiver at one place: what is sent arrives at once, or never. */
struct ends {
    struct eun_sender_env tx_env;
    struct eun_receiver_env rx_env;
    struct eun_sender *tx;
    struct eun_receiver rx;
    uint64_t bitmap[CAP / 64u * 2u];
    uint32_t origin;
    int64_t now;
};

static void ends_init(struct ends *e, uint32_t packets, uint32_t origin)
{
    *e = (struct ends){.tx_env = test_sender_env(), .origin = origin};
    e->tx_env.window_psns = CAP;
    e->tx_env.cap_psns = CAP;
    e->tx_env.rto_ps = 320 * US;
    e->tx_env.rto_low_ps = 100 * US;
    e->tx_env.rto_low_packets = 3;
    e->rx_env = test_receiver_env(NULL);
    e->rx_env.fixed = &g_shape;
    e->tx = eun_sender_new(IRN, origin);
    assert_non_null(e->tx);
    eun_receiver_init(&e->rx, 0, origin);
    for (uint32_t i = 0; i < CAP / 64u * 2u; i++)
        e->bitmap[i] = ~UINT64_C(0);
    eun_receiver_lend(&e->rx, &g_shape, e->bitmap);
    assert_true(eun_sender_post(e->tx, &e->tx_env, packets * e->tx_env.mtu, 0));
}

/** The next packet leaves; its PSN, counted from the first one. */
static uint32_t leave(struct ends *e, bool retransmission, struct eun_data *data)
{
    struct eun_tx_packet packet = {0};
    assert_true(eun_sender_next(e->tx, &e->tx_env, e->now, &packet));
    assert_int_equal(packet.retransmission, retransmission);
    test_validate(e->tx);
    *data = packet.data;
    return packet.data.psn - e->origin;
}

static struct eun_rx_verdict arrive(struct ends *e, const struct eun_data *data)
{
    struct eun_rx_verdict v;
    IRN->receive(&e->rx, &e->rx_env, data, e->now, &v);
    return v;
}

static void answer(struct ends *e, struct eun_feedback fb)
{
    eun_sender_feedback(e->tx, &e->tx_env, &fb, e->now);
    test_validate(e->tx);
}

/** `psn` came, `expected` is missing; both counted from the first PSN. */
static void nack(struct ends *e, uint32_t expected, uint32_t psn)
{
    answer(e, test_nack(EUN_NACK_HELD, e->origin + expected, e->origin + psn));
}

static void ack(struct ends *e, uint32_t expected)
{
    answer(e, test_ack(e->origin + expected));
}

static void sends_new(struct ends *e, uint32_t from, uint32_t end)
{
    struct eun_data data;
    for (uint32_t psn = from; psn < end; psn++)
        assert_int_equal(leave(e, false, &data), psn);
}

static void sends_again(struct ends *e, uint32_t psn)
{
    struct eun_data data;
    assert_int_equal(leave(e, true, &data), psn);
}

static void is_idle(const struct ends *e)
{
    assert_int_equal(eun_sender_state(e->tx, &e->tx_env), EUN_TX_IDLE);
}

/* The receiver. */

/** Every packet ahead of its turn is kept, and NACKed with both PSNs, each time. */
static void early_packets_are_nacked(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 10, 0u - 3u);
    for (uint32_t psn = 2; psn < 6; psn++) {
        const struct eun_data data = {.psn = e.origin + psn, .last = psn == 4};
        for (int copy = 0; copy < 2; copy++) {
            const struct eun_rx_verdict v = arrive(&e, &data);
            assert_int_equal(v.disposition, copy ? EUN_RX_DUPLICATE : EUN_RX_HELD);
            assert_true(v.out_of_order && v.span == psn && v.completed == 0);
            assert_int_equal(v.feedback.kind, EUN_FEEDBACK_NACK);
            assert_int_equal(v.feedback.reason, EUN_NACK_HELD);
            assert_int_equal(v.feedback.expected, e.origin);
            assert_int_equal(v.feedback.psn, data.psn);
        }
    }
    const struct eun_data zero = {.psn = e.origin};
    assert_int_equal(arrive(&e, &zero).advanced, 1);
    const struct eun_data one = {.psn = e.origin + 1u};
    const struct eun_rx_verdict v = arrive(&e, &one);
    assert_int_equal(v.disposition, EUN_RX_ACCEPTED);
    assert_true(v.advanced == 5 && v.completed == 1 && v.visible == 1);
    assert_int_equal(v.feedback.kind, EUN_FEEDBACK_ACK);
    assert_int_equal(v.feedback.expected, e.origin + 6u);
    assert_int_equal(arrive(&e, &one).disposition, EUN_RX_DUPLICATE);
    eun_sender_free(e.tx);
}

/** Behind a gap nothing is coalesced; after it, ACKs are again. */
static void acks_are_coalesced_in_order_only(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 10, 0);
    e.rx_env.ack_every = 3;
    const uint32_t order[] = {0, 3, 1, 2, 4, 5, 6};
    const enum eun_feedback_kind kinds[] = {EUN_FEEDBACK_NONE, EUN_FEEDBACK_NACK, EUN_FEEDBACK_ACK,
                                            EUN_FEEDBACK_ACK,  EUN_FEEDBACK_NONE, EUN_FEEDBACK_NONE,
                                            EUN_FEEDBACK_ACK};
    for (uint32_t i = 0; i < 7; i++) {
        const struct eun_data data = {.psn = order[i]};
        assert_int_equal(arrive(&e, &data).feedback.kind, kinds[i]);
    }
    eun_sender_free(e.tx);
}

static void a_packet_past_the_bitmap_is_refused(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 10, 5);
    const struct eun_data inside = {.psn = 5 + CAP - 1u};
    const struct eun_data past = {.psn = 5 + CAP};
    assert_int_equal(arrive(&e, &inside).disposition, EUN_RX_HELD);
    const struct eun_rx_verdict v = arrive(&e, &past);
    assert_int_equal(v.disposition, EUN_RX_REFUSED);
    assert_int_equal(v.feedback.reason, EUN_NACK_CAP);
    eun_sender_free(e.tx);
}

/** Random arrivals against a receiver that counts PSN by PSN. */
static void receiver_follows_the_naive_model(void **state)
{
    (void)state;
    struct test_random r = test_random_start(41);
    for (int run = 0; run < 300; run++) {
        struct ends e;
        bool kept[400] = {false};
        bool last[400];
        uint32_t expected = 0;
        uint32_t lasts = 0;
        ends_init(&e, 1, test_first_psn(&r));
        for (uint32_t i = 0; i < 400; i++)
            last[i] = test_chance(&r, 20);
        while (expected < 250) {
            const uint32_t psn = expected + test_below(&r, 40);
            const struct eun_data data = {.psn = e.origin + psn, .last = last[psn]};
            const struct eun_rx_verdict v = arrive(&e, &data);
            assert_int_equal(v.disposition == EUN_RX_DUPLICATE, kept[psn]);
            kept[psn] = true;
            uint32_t completed = 0;
            const uint32_t before = expected;
            while (kept[expected])
                completed += last[expected++];
            lasts += completed;
            assert_int_equal(v.advanced, expected - before);
            assert_int_equal(v.completed, completed);
            assert_int_equal(e.rx.expected, e.origin + expected);
            assert_int_equal(e.rx.msn, lasts);
        }
        eun_sender_free(e.tx);
    }
}

/* The sender, by hand. */

/** Ten are sent, 3 is lost: the first NACK repeats it, the others change nothing. */
static void one_loss(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 20, 0u - 5u);
    sends_new(&e, 0, 10);
    ack(&e, 3);
    nack(&e, 3, 4);
    sends_again(&e, 3);
    for (uint32_t psn = 5; psn < 10; psn++)
        nack(&e, 3, psn);
    sends_new(&e, 10, 12);
    ack(&e, 10);
    sends_new(&e, 12, 20);
    is_idle(&e);
    assert_int_equal(eun_sender_retransmitted(e.tx), 1);
    eun_sender_free(e.tx);
}

/** 2 and 6 are lost: 6 counts as lost only when 7 is known to have come. */
static void two_losses(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 10, 7);
    sends_new(&e, 0, 10);
    ack(&e, 2);
    nack(&e, 2, 3);
    sends_again(&e, 2);
    nack(&e, 2, 4);
    nack(&e, 2, 5);
    is_idle(&e);
    nack(&e, 2, 7);
    sends_again(&e, 6);
    nack(&e, 2, 8);
    nack(&e, 2, 9);
    ack(&e, 6);
    is_idle(&e);
    ack(&e, 10);
    assert_int_equal(eun_sender_retransmitted(e.tx), 2);
    assert_int_equal(eun_sender_deadline(e.tx, &e.tx_env), INT64_MAX);
    eun_sender_free(e.tx);
}

/** Every second one of ten is lost: 0, 2, 4, 6 and 8 go again, in order, before anything new. */
static void every_second_is_lost(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 12, 0);
    sends_new(&e, 0, 10);
    for (uint32_t psn = 1; psn < 10; psn += 2)
        nack(&e, 0, psn);
    for (uint32_t psn = 0; psn < 10; psn += 2)
        sends_again(&e, psn);
    sends_new(&e, 10, 12);
    is_idle(&e);
    assert_int_equal(eun_sender_retransmitted(e.tx), 5);
    eun_sender_free(e.tx);
}

/** Nothing came back: after the timeout all go again, once, and what came meanwhile does not. */
static void all_are_lost(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 10, 0);
    sends_new(&e, 0, 10);
    is_idle(&e);
    e.now = 320 * US;
    assert_true(eun_sender_timeout(e.tx, &e.tx_env, e.now));
    for (uint32_t psn = 0; psn < 4; psn++)
        sends_again(&e, psn);
    nack(&e, 0, 5);
    sends_again(&e, 4);
    for (uint32_t psn = 6; psn < 10; psn++)
        sends_again(&e, psn);
    is_idle(&e);
    assert_int_equal(eun_sender_retransmitted(e.tx), 9);
    eun_sender_free(e.tx);
}

/** The last two are lost, so no NACK tells of them. */
static void a_lost_tail_takes_a_timeout(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 10, 0);
    sends_new(&e, 0, 10);
    e.now = 9 * US;
    ack(&e, 8);
    is_idle(&e);
    e.now = 109 * US - 1;
    assert_true(eun_sender_timeout(e.tx, &e.tx_env, e.now));
    is_idle(&e);
    e.now++;
    assert_true(eun_sender_timeout(e.tx, &e.tx_env, e.now));
    sends_again(&e, 8);
    sends_again(&e, 9);
    is_idle(&e);
    ack(&e, 10);
    assert_int_equal(eun_sender_deadline(e.tx, &e.tx_env), INT64_MAX);
    eun_sender_free(e.tx);
}

/**
 * A recovery ends when all that had been sent at its beginning is acknowledged: within it a packet
 * goes again once, though it is still missing; the next one starts at the cumulative point.
 */
static void a_recovery_ends(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 40, 0);
    sends_new(&e, 0, 10);
    nack(&e, 0, 1);
    assert_true(e.tx->recovering);
    sends_again(&e, 0);
    sends_new(&e, 10, 20);
    nack(&e, 0, 12);
    for (uint32_t psn = 2; psn < 12; psn++)
        sends_again(&e, psn);
    ack(&e, 9);
    assert_true(e.tx->recovering);
    nack(&e, 9, 13);
    sends_new(&e, 20, 21);
    ack(&e, 10);
    assert_false(e.tx->recovering);
    nack(&e, 10, 14);
    assert_true(e.tx->recovering);
    sends_again(&e, 10);
    sends_again(&e, 11);
    sends_new(&e, 21, 22);
    eun_sender_free(e.tx);
}

/** What a recovery had still to send is sent once, though the next recovery has begun. */
static void a_sweep_outlives_its_recovery(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 40, 0);
    sends_new(&e, 0, 4);
    nack(&e, 0, 1);
    sends_again(&e, 0);
    sends_new(&e, 4, 12);
    nack(&e, 0, 8);
    for (uint32_t psn = 2; psn < 6; psn++)
        sends_again(&e, psn);
    ack(&e, 4);
    assert_false(e.tx->recovering);
    nack(&e, 4, 11);
    assert_true(e.tx->recovering);
    const uint32_t rest[] = {6, 7, 9, 10};
    for (uint32_t i = 0; i < 4; i++)
        sends_again(&e, rest[i]);
    sends_new(&e, 12, 13);
    eun_sender_free(e.tx);
}

/** Answers that overtook each other, or that nobody can have sent. */
static void old_news_is_none(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 20, 0);
    sends_new(&e, 0, 10);
    ack(&e, 6);
    nack(&e, 3, 4);
    nack(&e, 5, 6);
    nack(&e, 6, 10);
    nack(&e, 6, 4000);
    answer(&e, test_sack(6, 8));
    answer(&e, test_nack(EUN_NACK_CAP, 6, 8));
    assert_false(e.tx->recovering);
    sends_new(&e, 10, 20);
    is_idle(&e);
    eun_sender_free(e.tx);
}

/** No more packets are past una than the window allows, however short they are. */
static void the_window_counts_packets(void **state)
{
    (void)state;
    struct ends e;
    struct eun_data data;
    ends_init(&e, 1, 0);
    for (uint32_t i = 0; i < 200; i++)
        assert_true(eun_sender_post(e.tx, &e.tx_env, 1, i));
    sends_new(&e, 0, CAP);
    is_idle(&e);
    nack(&e, 0, 5);
    for (uint32_t psn = 0; psn < 5; psn++)
        sends_again(&e, psn);
    is_idle(&e);
    ack(&e, 2);
    assert_int_equal(leave(&e, false, &data), CAP);
    sends_new(&e, CAP + 1u, CAP + 2u);
    is_idle(&e);
    eun_sender_free(e.tx);
}

/** Up to three packets in flight wait for the short timeout, more for the long one. */
static void timeout_depends_on_what_is_in_flight(void **state)
{
    (void)state;
    for (uint32_t packets = 1; packets < 8; packets++) {
        struct ends e;
        ends_init(&e, packets, 0);
        assert_int_equal(eun_sender_deadline(e.tx, &e.tx_env), INT64_MAX);
        e.now = 7 * US;
        sends_new(&e, 0, packets);
        assert_int_equal(eun_sender_deadline(e.tx, &e.tx_env), (packets <= 3 ? 107 : 327) * US);
        e.now = 20 * US;
        ack(&e, 1);
        assert_int_equal(eun_sender_deadline(e.tx, &e.tx_env), packets == 1   ? INT64_MAX
                                                               : packets <= 4 ? 120 * US
                                                                              : 340 * US);
        eun_sender_free(e.tx);
    }
}

/* Both ends. */

/** Sends until idle; copies whose turn is marked in `lost` (bit 0: first) vanish. */
static void pump(struct ends *e, uint32_t *lost)
{
    struct eun_tx_packet p;
    while (eun_sender_next(e->tx, &e->tx_env, e->now, &p)) {
        const bool gone = *lost & 1u;
        *lost >>= 1;
        if (gone)
            continue;
        const struct eun_rx_verdict v = arrive(e, &p.data);
        answer(e, v.feedback);
    }
}

/**
 * Every pattern of losses is repaired. Answers come at once, so a packet never goes again that has
 * come: what is sent is what was lost and the message, no more.
 */
static void every_loss_pattern_is_repaired_exactly(void **state)
{
    (void)state;
    for (uint32_t packets = 1; packets <= 6; packets++) {
        for (uint32_t pattern = 0; pattern < 1u << 11; pattern++) {
            struct ends e;
            struct eun_message m;
            uint32_t lost = pattern;
            ends_init(&e, packets, 0u - 2u);
            e.tx_env.retry_limit = 100;
            pump(&e, &lost);
            for (int tries = 0; eun_sender_deadline(e.tx, &e.tx_env) != INT64_MAX; tries++) {
                assert_true(tries < 20);
                e.now = eun_sender_deadline(e.tx, &e.tx_env);
                assert_true(eun_sender_timeout(e.tx, &e.tx_env, e.now));
                test_validate(e.tx);
                pump(&e, &lost);
            }
            assert_true(eun_sender_completed(e.tx, &m));
            assert_int_equal(e.rx.expected, packets - 2u);
            const uint32_t losses =
                (uint32_t)(__builtin_popcount(pattern) - __builtin_popcount(lost));
            assert_int_equal(eun_sender_retransmitted(e.tx), losses);
            eun_sender_free(e.tx);
        }
    }
}

/* As conweave-ns3. */

/** The first NACK repeats all that is not SACKed, also above the highest PSN that came. */
static void with_go_back_all_is_repeated_once(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 30, 0u - 7u);
    e.tx_env.irn_go_back = true;
    sends_new(&e, 0, 12);
    ack(&e, 2);
    nack(&e, 2, 4);
    sends_again(&e, 2);
    sends_again(&e, 3);
    nack(&e, 2, 6);
    nack(&e, 2, 9);
    static const uint32_t rest[] = {5, 7, 8, 10, 11};
    for (int i = 0; i < 5; i++)
        sends_again(&e, rest[i]);
    sends_new(&e, 12, 14);
    nack(&e, 2, 12);
    nack(&e, 5, 13);
    sends_new(&e, 14, 15);
    test_validate(e.tx);
    eun_sender_free(e.tx);
}

/** Once all that was held is passed the recovery is over, though not all of that time is. */
static void with_go_back_a_plain_ack_ends_the_recovery(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 30, 5);
    e.tx_env.irn_go_back = true;
    sends_new(&e, 0, 10);
    nack(&e, 1, 3);
    sends_again(&e, 1);
    sends_again(&e, 2);
    sends_again(&e, 4);
    ack(&e, 4);
    assert_true(e.tx->recovering);
    nack(&e, 4, 6);
    sends_again(&e, 4);
    sends_again(&e, 5);
    for (uint32_t psn = 7; psn < 10; psn++)
        sends_again(&e, psn);
    nack(&e, 4, 7);
    nack(&e, 5, 8);
    sends_new(&e, 10, 30);
    is_idle(&e);
    eun_sender_free(e.tx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_go_back_all_is_repeated_once),
        cmocka_unit_test(with_go_back_a_plain_ack_ends_the_recovery),
        cmocka_unit_test(early_packets_are_nacked),
        cmocka_unit_test(acks_are_coalesced_in_order_only),
        cmocka_unit_test(a_packet_past_the_bitmap_is_refused),
        cmocka_unit_test(receiver_follows_the_naive_model),
        cmocka_unit_test(one_loss),
        cmocka_unit_test(two_losses),
        cmocka_unit_test(every_second_is_lost),
        cmocka_unit_test(all_are_lost),
        cmocka_unit_test(a_lost_tail_takes_a_timeout),
        cmocka_unit_test(a_recovery_ends),
        cmocka_unit_test(a_sweep_outlives_its_recovery),
        cmocka_unit_test(old_news_is_none),
        cmocka_unit_test(the_window_counts_packets),
        cmocka_unit_test(timeout_depends_on_what_is_in_flight),
        cmocka_unit_test(every_loss_pattern_is_repaired_exactly),
    };
    return cmocka_run_group_tests(tests, make_shape, NULL);
}
