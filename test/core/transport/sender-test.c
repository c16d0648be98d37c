/* SPDX-License-Identifier: GPL-2.0-only */
/** What the policies share on the sending side; the policies have tests of their own. */
#include "test-support.h"

#include "core/transport/receiver-internal.h"

static struct eun_tx_packet next(struct eun_sender *tx, const struct eun_sender_env *env,
                                 int64_t now)
{
    struct eun_tx_packet packet = {0};
    assert_int_equal(eun_sender_state(tx, env), EUN_TX_READY);
    assert_true(eun_sender_next(tx, env, now, &packet));
    test_validate(tx);
    return packet;
}

static uint32_t next_psn(struct eun_sender *tx, const struct eun_sender_env *env, int64_t now)
{
    return next(tx, env, now).data.psn;
}

static void assert_idle(struct eun_sender *tx, const struct eun_sender_env *env)
{
    struct eun_tx_packet packet;
    assert_int_equal(eun_sender_state(tx, env), EUN_TX_IDLE);
    assert_false(eun_sender_next(tx, env, 0, &packet));
}

static void answer(struct eun_sender *tx, const struct eun_sender_env *env, struct eun_feedback fb,
                   int64_t now)
{
    eun_sender_feedback(tx, env, &fb, now);
    test_validate(tx);
}

static void ack(struct eun_sender *tx, const struct eun_sender_env *env, uint32_t expected,
                int64_t now)
{
    answer(tx, env, test_ack(expected), now);
}

static void post_packets(struct eun_sender *tx, const struct eun_sender_env *env, uint32_t packets)
{
    assert_true(eun_sender_post(tx, env, packets * env->mtu, packets));
    test_validate(tx);
}

static void cuts_messages_into_packets(void **state)
{
    (void)state;
    const uint32_t sizes[] = {1, 999, 1000, 1001, 3000, 4500};
    const uint32_t packets[] = {1, 1, 1, 2, 3, 5};
    const struct eun_sender_env env = test_sender_env();
    struct eun_sender *tx = eun_sender_new(&eun_transport_gbn, 77);
    uint32_t psn = 77;
    for (uint32_t i = 0; i < 6; i++)
        assert_true(eun_sender_post(tx, &env, sizes[i], 500 + i));
    for (uint32_t i = 0; i < 6; i++) {
        const uint32_t head = psn;
        uint32_t bytes = 0;
        for (uint32_t k = 0; k < packets[i]; k++, psn++) {
            const struct eun_tx_packet p = next(tx, &env, 0);
            assert_int_equal(p.data.psn, psn);
            assert_int_equal(p.data.head, head);
            assert_int_equal(p.data.msn, i);
            assert_int_equal(p.data.last, k + 1 == packets[i]);
            assert_int_equal(p.first, k == 0);
            assert_int_equal(p.cookie, 500 + i);
            assert_false(p.retransmission);
            assert_true(p.data.last || p.data.payload == 1000);
            bytes += p.data.payload;
        }
        assert_int_equal(bytes, sizes[i]);
    }
    assert_idle(tx, &env);
    eun_sender_free(tx);
}

static void refuses_impossible_sizes(void **state)
{
    (void)state;
    const struct eun_sender_env env = test_sender_env();
    struct eun_sender *tx = eun_sender_new(&eun_transport_gbn, 0);
    assert_false(eun_sender_post(tx, &env, 0, 0));
    assert_false(eun_sender_post(tx, &env, EUN_MESSAGE_MAX_BYTES + 1u, 0));
    assert_idle(tx, &env);
    assert_true(eun_sender_post(tx, &env, EUN_MESSAGE_MAX_BYTES, 0));
    assert_int_equal(next(tx, &env, 0).data.payload, 1000);
    eun_sender_free(tx);
}

/** A QP of one message at a time needs no memory but the sender; reset keeps what there is. */
static void memory_is_kept(void **state)
{
    (void)state;
    const struct eun_sender_env env = test_sender_env();
    struct eun_message m;
    struct eun_sender *tx = eun_sender_new(&eun_transport_eunomia, 0);
    for (uint32_t i = 0; i < 5; i++) {
        post_packets(tx, &env, 1);
        assert_int_equal(next_psn(tx, &env, 0), i);
        ack(tx, &env, i + 1, 0);
        assert_true(eun_sender_completed(tx, &m));
        assert_ptr_equal(tx->slots, &tx->inline_slot);
    }
    for (uint32_t i = 0; i < 9; i++)
        post_packets(tx, &env, 2);
    for (uint32_t i = 0; i < 18; i++)
        next_psn(tx, &env, 0);
    answer(tx, &env, test_sack(5, 7), 0);
    const struct eun_tx_slot *slots = tx->slots;
    const uint64_t *words = tx->board.words;
    assert_ptr_not_equal(slots, &tx->inline_slot);
    assert_non_null(words);
    eun_sender_reset(tx, &eun_transport_eunomia, 900);
    assert_ptr_equal(tx->slots, slots);
    assert_ptr_equal(tx->board.words, words);
    test_validate(tx);
    assert_int_equal(eun_sender_una(tx), 900);
    assert_int_equal(eun_sender_nxt(tx), 900);
    assert_int_equal(eun_sender_retransmitted(tx), 0);
    assert_int_equal(eun_sender_deadline(tx, &env), INT64_MAX);
    assert_idle(tx, &env);
    post_packets(tx, &env, 1);
    const struct eun_tx_packet p = next(tx, &env, 0);
    assert_int_equal(p.data.psn, 900);
    assert_int_equal(p.data.msn, 0);
    assert_false(eun_sender_completed(tx, &m));
    eun_sender_free(tx);
    eun_sender_free(NULL);
}

/** Messages come back once, in order, when their Last is acknowledged and not before. */
static void completes_in_order(void **state)
{
    (void)state;
    const struct eun_sender_env env = test_sender_env();
    struct eun_message m;
    struct eun_sender *tx = eun_sender_new(&eun_transport_gbn, 0u - 3u);
    for (uint32_t packets = 1; packets <= 4; packets++)
        post_packets(tx, &env, packets);
    for (uint32_t i = 0; i < 10; i++)
        next_psn(tx, &env, 0);
    ack(tx, &env, 0u - 1u, 0);
    assert_true(eun_sender_completed(tx, &m));
    assert_int_equal(m.cookie, 1);
    assert_false(eun_sender_completed(tx, &m));
    ack(tx, &env, 6, 0);
    for (uint32_t packets = 2; packets <= 3; packets++) {
        assert_true(eun_sender_completed(tx, &m));
        assert_int_equal(m.cookie, packets);
        assert_int_equal(m.packets, packets);
        assert_int_equal(m.msn, packets - 1);
        assert_int_equal(m.held_since_ps, -1);
        assert_true(m.last_sent);
    }
    assert_false(eun_sender_completed(tx, &m));
    ack(tx, &env, 7, 0);
    assert_true(eun_sender_completed(tx, &m));
    ack(tx, &env, 7, 0);
    assert_false(eun_sender_completed(tx, &m));
    eun_sender_free(tx);
}

static void message_number_has_24_bits(void **state)
{
    (void)state;
    const struct eun_sender_env env = test_sender_env();
    struct eun_sender *tx = eun_sender_new(&eun_transport_gbn, 0);
    tx->post_msn = EUN_MSN_MASK;
    post_packets(tx, &env, 1);
    post_packets(tx, &env, 1);
    assert_int_equal(next(tx, &env, 0).data.msn, EUN_MSN_MASK);
    assert_int_equal(next(tx, &env, 0).data.msn, 0);
    eun_sender_free(tx);
}

static void window_limits_bytes_in_flight(void **state)
{
    (void)state;
    struct eun_sender_env env = test_sender_env();
    env.window_bytes = 3499;
    struct eun_sender *tx = eun_sender_new(&eun_transport_eunomia, 0);
    assert_true(eun_sender_post(tx, &env, 3400, 0));
    post_packets(tx, &env, 2);
    for (uint32_t i = 0; i < 3; i++)
        assert_false(next(tx, &env, 0).data.ack_request);
    const struct eun_tx_packet last = next(tx, &env, 0);
    assert_int_equal(last.data.payload, 400);
    assert_idle(tx, &env);
    ack(tx, &env, 1, 0);
    /* The window is full again: ask for an answer at once. */
    assert_true(next(tx, &env, 0).data.ack_request);
    assert_idle(tx, &env);
    ack(tx, &env, 5, 0);
    env.window_bytes = 1;
    assert_int_equal(next_psn(tx, &env, 0), 5);
    assert_idle(tx, &env);
    eun_sender_free(tx);
}

/** Of the NIC's window and the QP's own the smaller one holds, and while it has one, it asks. */
static void own_window_limits_bytes_in_flight(void **state)
{
    (void)state;
    struct eun_sender_env env = test_sender_env();
    struct eun_sender *tx = eun_sender_new(&eun_transport_eunomia, 0);
    post_packets(tx, &env, 30);
    eun_sender_set_window(tx, 3999);
    for (uint32_t i = 0; i < 3; i++)
        assert_true(next(tx, &env, 0).data.ack_request);
    assert_idle(tx, &env);
    assert_int_equal(eun_sender_inflight(tx), 3000);
    eun_sender_set_window(tx, 4000);
    assert_int_equal(next_psn(tx, &env, 0), 3);
    assert_idle(tx, &env);
    env.window_bytes = 5000;
    eun_sender_set_window(tx, UINT32_MAX);
    assert_int_equal(next_psn(tx, &env, 0), 4);
    assert_idle(tx, &env);
    env.window_bytes = 0;
    eun_sender_set_window(tx, 0);
    assert_false(next(tx, &env, 0).data.ack_request);
    /* Smaller than what is in flight: that goes first. */
    eun_sender_set_window(tx, 1);
    for (uint32_t acked = 1; acked <= 6; acked++) {
        assert_idle(tx, &env);
        ack(tx, &env, acked, 0);
    }
    /* Smaller than a packet: one at a time. */
    assert_int_equal(next_psn(tx, &env, 0), 6);
    assert_idle(tx, &env);
    eun_sender_reset(tx, &eun_transport_eunomia, 0);
    post_packets(tx, &env, 30);
    assert_false(next(tx, &env, 0).data.ack_request);
    assert_false(next(tx, &env, 0).data.ack_request);
    eun_sender_free(tx);
}

/** Never 2^23 PSNs outstanding: a wire PSN would mean two packets. */
static void window_of_psns_is_limited(void **state)
{
    (void)state;
    struct eun_sender_env env = test_sender_env();
    env.mtu = 1;
    struct eun_sender *tx = eun_sender_new(&eun_transport_gbn, 5);
    assert_true(eun_sender_post(tx, &env, 1u << 24, 0));
    struct eun_tx_packet p;
    uint32_t sent = 0;
    while (eun_sender_next(tx, &env, 0, &p))
        sent++;
    assert_int_equal(sent, EUN_PSN_WINDOW_MAX - 1u);
    ack(tx, &env, 6, 0);
    next_psn(tx, &env, 0);
    assert_idle(tx, &env);
    eun_sender_free(tx);
}

static void ignores_answers_to_packets_that_never_left(void **state)
{
    (void)state;
    struct eun_sender_env env = test_sender_env();
    env.gate = EUN_GATE_SENDER;
    struct eun_sender *tx = eun_sender_new(&eun_transport_eunomia, 0);
    post_packets(tx, &env, 3);
    post_packets(tx, &env, 3);
    ack(tx, &env, 1, 0);
    assert_int_equal(eun_sender_una(tx), 0);
    for (uint32_t i = 0; i < 4; i++)
        next_psn(tx, &env, 0);
    /* 0, 1, 3, 4 left; 2 and 5 are held. */
    ack(tx, &env, 3, 0);
    answer(tx, &env, test_nack(EUN_NACK_MEMORY, 3, 4), 0);
    answer(tx, &env, test_sack(6, 7), 0);
    assert_int_equal(eun_sender_una(tx), 0);
    ack(tx, &env, 2, 0);
    assert_int_equal(eun_sender_una(tx), 2);
    answer(tx, &env, (struct eun_feedback){.kind = EUN_FEEDBACK_NONE, .expected = 2}, 0);
    assert_int_equal(eun_sender_una(tx), 2);
    eun_sender_free(tx);
}

static void deadline_follows_sends_and_progress(void **state)
{
    (void)state;
    const struct eun_sender_env env = test_sender_env();
    struct eun_sender *tx = eun_sender_new(&eun_transport_gbn, 0);
    assert_int_equal(eun_sender_deadline(tx, &env), INT64_MAX);
    post_packets(tx, &env, 3);
    assert_int_equal(eun_sender_deadline(tx, &env), INT64_MAX);
    next_psn(tx, &env, 10);
    assert_int_equal(eun_sender_deadline(tx, &env), 10 + env.rto_ps);
    next_psn(tx, &env, 20);
    next_psn(tx, &env, 30);
    assert_int_equal(eun_sender_deadline(tx, &env), 30 + env.rto_ps);
    ack(tx, &env, 1, 40);
    assert_int_equal(eun_sender_deadline(tx, &env), 40 + env.rto_ps);
    ack(tx, &env, 1, 50);
    ack(tx, &env, 0, 50);
    assert_int_equal(eun_sender_deadline(tx, &env), 40 + env.rto_ps);
    ack(tx, &env, 3, 60);
    assert_int_equal(eun_sender_deadline(tx, &env), INT64_MAX);
    eun_sender_free(tx);
}

/** The retry limit counts timeouts in a row, and only those since which something was sent. */
static void gives_up_at_the_retry_limit(void **state)
{
    (void)state;
    struct eun_sender_env env = test_sender_env();
    env.retry_limit = 3;
    struct eun_sender *tx = eun_sender_new(&eun_transport_gbn, 0);
    post_packets(tx, &env, 2);
    next_psn(tx, &env, 0);
    next_psn(tx, &env, 0);
    int64_t now = eun_sender_deadline(tx, &env);
    assert_true(eun_sender_timeout(tx, &env, now - 1));
    assert_idle(tx, &env);
    assert_true(eun_sender_timeout(tx, &env, now));
    for (int paused = 0; paused < 10; paused++) {
        now = eun_sender_deadline(tx, &env);
        assert_true(eun_sender_timeout(tx, &env, now));
    }
    assert_int_equal(next_psn(tx, &env, now), 0);
    assert_true(eun_sender_timeout(tx, &env, now = eun_sender_deadline(tx, &env)));
    ack(tx, &env, 1, now);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(next_psn(tx, &env, now), 1);
        assert_true(eun_sender_timeout(tx, &env, now = eun_sender_deadline(tx, &env)));
    }
    assert_int_equal(next_psn(tx, &env, now), 1);
    assert_false(eun_sender_timeout(tx, &env, eun_sender_deadline(tx, &env)));
    eun_sender_free(tx);
}

/** Gate `sender`: a Last waits for all before it on the QP; later messages go on within the cap. */
static void sender_gate_holds_the_last(void **state)
{
    (void)state;
    struct eun_sender_env env = test_sender_env();
    struct eun_message m;
    env.gate = EUN_GATE_SENDER;
    env.cap_psns = 6;
    struct eun_sender *tx = eun_sender_new(&eun_transport_eunomia, 0);
    post_packets(tx, &env, 3); /* 0 1 [2] */
    post_packets(tx, &env, 1); /* [3] */
    post_packets(tx, &env, 9); /* 4 ... */
    assert_int_equal(next_psn(tx, &env, 10), 0);
    assert_true(next(tx, &env, 20).data.ack_request);
    assert_int_equal(next_psn(tx, &env, 30), 4);
    assert_int_equal(next_psn(tx, &env, 40), 5);
    assert_idle(tx, &env);
    ack(tx, &env, 1, 50);
    assert_int_equal(next_psn(tx, &env, 50), 6);
    ack(tx, &env, 2, 60);
    const struct eun_tx_packet last = next(tx, &env, 70);
    assert_int_equal(last.data.psn, 2);
    assert_true(last.data.last && last.data.ack_request && !last.retransmission);
    assert_int_equal(next_psn(tx, &env, 70), 7);
    ack(tx, &env, 3, 80);
    assert_true(eun_sender_completed(tx, &m));
    assert_int_equal(m.held_since_ps, 20);
    assert_int_equal(m.wait_ps, 60 - 20);
    assert_int_equal(next_psn(tx, &env, 80), 3);
    ack(tx, &env, 7, 90);
    assert_true(eun_sender_completed(tx, &m));
    assert_int_equal(m.held_since_ps, 20);
    assert_int_equal(m.wait_ps, 80 - 20);
    assert_int_equal(eun_sender_retransmitted(tx), 0);
    eun_sender_free(tx);
}

/** A Last that nothing precedes leaves at once; one that is held since its post gets its time. */
static void sender_gate_and_one_packet_messages(void **state)
{
    (void)state;
    struct eun_sender_env env = test_sender_env();
    struct eun_message m;
    env.gate = EUN_GATE_SENDER;
    struct eun_sender *tx = eun_sender_new(&eun_transport_eunomia, 0);
    post_packets(tx, &env, 1);
    assert_int_equal(next_psn(tx, &env, 0), 0);
    post_packets(tx, &env, 1);
    eun_sender_stamp(tx, 5);
    assert_idle(tx, &env);
    /* Only what has left is outstanding, and only that keeps the timer. */
    ack(tx, &env, 1, 8);
    assert_int_equal(eun_sender_deadline(tx, &env), INT64_MAX);
    assert_true(eun_sender_completed(tx, &m));
    assert_int_equal(m.held_since_ps, -1);
    assert_int_equal(m.wait_ps, 0);
    assert_int_equal(next_psn(tx, &env, 9), 1);
    ack(tx, &env, 2, 17);
    assert_true(eun_sender_completed(tx, &m));
    assert_int_equal(m.held_since_ps, 5);
    assert_int_equal(m.wait_ps, 3);
    eun_sender_free(tx);
}

/** Scope `message`: SACKs of the own message open the gate, whatever other messages lack. */
static void message_scope_looks_at_the_message_only(void **state)
{
    (void)state;
    struct eun_sender_env env = test_sender_env();
    env.gate = EUN_GATE_SENDER;
    env.gate_scope_message = true;
    struct eun_sender *tx = eun_sender_new(&eun_transport_eunomia, 0u - 4u);
    post_packets(tx, &env, 4); /* -4 -3 -2 [-1] */
    post_packets(tx, &env, 3); /* 0 1 [2] */
    post_packets(tx, &env, 1); /* 3: nothing of its message precedes it */
    const uint32_t order[] = {0u - 4u, 0u - 3u, 0u - 2u, 0, 1, 3};
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(next_psn(tx, &env, 1), order[i]);
    answer(tx, &env, test_sack(0u - 4u, 1), 5);
    answer(tx, &env, test_sack(0u - 4u, 1), 6);
    assert_idle(tx, &env);
    answer(tx, &env, test_sack(0u - 4u, 0), 7);
    assert_int_equal(next_psn(tx, &env, 7), 2);
    answer(tx, &env, test_sack(0u - 3u, 0u - 2u), 8);
    assert_idle(tx, &env);
    ack(tx, &env, 0u - 1u, 9);
    assert_int_equal(next_psn(tx, &env, 9), 0u - 1u);
    ack(tx, &env, 4, 10);
    struct eun_message m;
    assert_true(eun_sender_completed(tx, &m));
    assert_int_equal(m.wait_ps, 8);
    assert_true(eun_sender_completed(tx, &m));
    assert_int_equal(m.wait_ps, 6);
    assert_true(eun_sender_completed(tx, &m));
    assert_int_equal(m.held_since_ps, -1);
    eun_sender_free(tx);
}

/** A SACK of a Last that never left is a lie. */
static void sack_of_a_held_last_is_ignored(void **state)
{
    (void)state;
    struct eun_sender_env env = test_sender_env();
    env.gate = EUN_GATE_SENDER;
    struct eun_sender *tx = eun_sender_new(&eun_transport_eunomia, 0);
    post_packets(tx, &env, 2);
    post_packets(tx, &env, 2);
    next_psn(tx, &env, 0);
    next_psn(tx, &env, 0);
    answer(tx, &env, test_sack(0, 1), 0);
    answer(tx, &env, test_sack(0, 3), 0);
    assert_int_equal(tx->board.count, 0);
    eun_sender_free(tx);
}

/** A go-back-N receiver discards what follows a held Last, so nothing does. */
static void nothing_passes_a_held_last_without_reordering(void **state)
{
    (void)state;
    struct eun_sender_env env = test_sender_env();
    env.gate = EUN_GATE_SENDER;
    struct eun_sender *tx = eun_sender_new(&eun_transport_gbn, 0);
    post_packets(tx, &env, 2);
    post_packets(tx, &env, 5);
    next_psn(tx, &env, 0);
    assert_idle(tx, &env);
    ack(tx, &env, 1, 0);
    assert_int_equal(next_psn(tx, &env, 0), 1);
    assert_int_equal(next_psn(tx, &env, 0), 2);
    eun_sender_free(tx);
}

static void assert_broken(const struct eun_sender *tx, const char *expected)
{
    const char *reason = NULL;
    assert_false(eun_sender_validate(tx, &reason));
    assert_string_equal(reason, expected);
}

static void validation_names_what_is_broken(void **state)
{
    (void)state;
    struct eun_sender_env env = test_sender_env();
    env.gate = EUN_GATE_SENDER;
    struct eun_sender *tx = eun_sender_new(&eun_transport_eunomia, 0);
    post_packets(tx, &env, 3);
    post_packets(tx, &env, 9);
    for (uint32_t i = 0; i < 6; i++)
        next_psn(tx, &env, 0);
    answer(tx, &env, test_sack(1, 4), 0);
    answer(tx, &env, test_nack(EUN_NACK_MEMORY, 1, 5), 0);
    const struct eun_sender good = *tx;
    const struct eun_tx_slot slot = tx->slots[0];
    tx->done = tx->cur + 1;
    assert_broken(tx, "message cursors out of order");
    *tx = good;
    tx->held = 0;
    assert_broken(tx, "count of held, freed or parked Lasts");
    *tx = good;
    tx->first_held++;
    assert_broken(tx, "oldest held Last is another");
    *tx = good;
    tx->slots[0].held = false;
    assert_broken(tx, "a Last was skipped and is not held");
    tx->slots[0] = slot;
    tx->slots[0].message.last_sent = true;
    assert_broken(tx, "a held Last that is sent, acknowledged or not reached");
    tx->slots[0] = slot;
    tx->slots[0].message.packets++;
    assert_broken(tx, "messages do not follow each other");
    tx->slots[0] = slot;
    tx->una = 5;
    assert_broken(tx, "una outside its message");
    *tx = good;
    tx->nxt = 12;
    assert_broken(tx, "nxt outside its message");
    *tx = good;
    tx->resend_end = tx->nxt + 1;
    assert_broken(tx, "sweep outside [una, nxt)");
    *tx = good;
    tx->board.count++;
    assert_broken(tx, "count of SACKed PSNs");
    *tx = good;
    tx->refused.range[0].end = 100;
    assert_broken(tx, "refused PSNs outside [una, nxt)");
    *tx = good;
    test_validate(tx);
    eun_sender_free(tx);
}

/** The whole way of `count` messages of the sizes given, in order, without a link between. */
static void carry(const struct eun_transport *transport, uint32_t first_psn, const uint32_t *bytes,
                  uint32_t count)
{
    struct eun_sender_env env = test_sender_env();
    struct eun_reorder *layer = test_reorder(64);
    struct eun_receiver_env rx_env = test_receiver_env(layer);
    struct eun_sender *tx = eun_sender_new(transport, first_psn);
    struct eun_receiver rx;
    struct eun_tx_packet p;
    struct eun_rx_verdict v;
    struct eun_message m;
    uint64_t payload = 0;
    uint32_t whole = 0;
    uint32_t completed = 0;
    assert_true(eun_reorder_open(layer, 0));
    eun_receiver_init(&rx, 0, first_psn);
    for (uint32_t i = 0; i < count; i++)
        assert_true(eun_sender_post(tx, &env, bytes[i], i));
    while (eun_sender_next(tx, &env, 0, &p)) {
        payload += p.data.payload;
        p.data.psn = eun_psn_from_wire(eun_psn_to_wire(p.data.psn), rx.expected);
        transport->receive(&rx, &rx_env, &p.data, 0, &v);
        whole += v.completed;
        v.feedback.expected =
            eun_psn_from_wire(eun_psn_to_wire(v.feedback.expected), eun_sender_una(tx));
        eun_sender_feedback(tx, &env, &v.feedback, 0);
        while (eun_sender_completed(tx, &m)) {
            assert_int_equal(m.cookie, completed);
            assert_int_equal(m.bytes, bytes[completed]);
            completed++;
        }
    }
    assert_int_equal(whole, count);
    assert_int_equal(completed, count);
    for (uint32_t i = 0; i < count; i++)
        payload -= bytes[i];
    assert_int_equal(payload, 0);
    assert_int_equal(eun_sender_retransmitted(tx), 0);
    eun_sender_free(tx);
    eun_reorder_free(layer);
}

/** Flows of more than 4 GiB, over the wrap of 24 and of 32 bits. */
static void five_gib_in_three_messages(void **state)
{
    (void)state;
    const uint32_t bytes[] = {EUN_MESSAGE_MAX_BYTES, EUN_MESSAGE_MAX_BYTES, 1u << 30};
    carry(&eun_transport_gbn, (1u << 24) - 1000u, bytes, 3);
    carry(&eun_transport_gbn, 0u - 1000u, bytes, 3);
    carry(&eun_transport_eunomia, (1u << 24) - 1000u, bytes, 3);
    carry(&eun_transport_eunomia, 0u - 1000u, bytes, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_messages_into_packets),
        cmocka_unit_test(refuses_impossible_sizes),
        cmocka_unit_test(memory_is_kept),
        cmocka_unit_test(completes_in_order),
        cmocka_unit_test(message_number_has_24_bits),
        cmocka_unit_test(window_limits_bytes_in_flight),
        cmocka_unit_test(own_window_limits_bytes_in_flight),
        cmocka_unit_test(window_of_psns_is_limited),
        cmocka_unit_test(ignores_answers_to_packets_that_never_left),
        cmocka_unit_test(deadline_follows_sends_and_progress),
        cmocka_unit_test(gives_up_at_the_retry_limit),
        cmocka_unit_test(sender_gate_holds_the_last),
        cmocka_unit_test(sender_gate_and_one_packet_messages),
        cmocka_unit_test(message_scope_looks_at_the_message_only),
        cmocka_unit_test(sack_of_a_held_last_is_ignored),
        cmocka_unit_test(nothing_passes_a_held_last_without_reordering),
        cmocka_unit_test(validation_names_what_is_broken),
        cmocka_unit_test(five_gib_in_three_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
