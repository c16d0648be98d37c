/* SPDX-License-Identifier: GPL-2.0-only */
/** What the policies share on the receiving side; the policies have tests of their own. */
#include "test-support.h"

#include "core/transport/receiver-internal.h"

static struct eun_rx_verdict take(struct eun_receiver *rx, const struct eun_receiver_env *env,
                                  const struct eun_data *packet, int64_t now)
{
    struct eun_rx_verdict verdict = {0};
    eun_receiver_go_back_n(rx, env, packet, EUN_NACK_SEQUENCE, env->ack_every, now, &verdict);
    return verdict;
}

static struct eun_rx_verdict take_psn(struct eun_receiver *rx, const struct eun_receiver_env *env,
                                      uint32_t psn, bool last, int64_t now)
{
    const struct eun_data packet = {.psn = psn, .payload = 1000, .last = last};
    return take(rx, env, &packet, now);
}

static void starts_at_the_first_psn(void **state)
{
    (void)state;
    struct eun_receiver rx;
    eun_receiver_init(&rx, 7, 4711);
    assert_int_equal(rx.qp, 7);
    assert_int_equal(rx.expected, 4711);
    assert_int_equal(rx.head, 4711);
    assert_int_equal(rx.msn, 0);
    assert_false(rx.degraded);
}

/** The go-back-N receiver against its definition, over random arrivals. */
static void go_back_n_follows_the_naive_model(void **state)
{
    (void)state;
    struct test_random r = test_random_start(21);
    for (int run = 0; run < 500; run++) {
        struct eun_receiver_env env = test_receiver_env(NULL);
        env.ack_every = test_between(&r, 1, 8);
        struct eun_receiver rx;
        const uint32_t origin = test_first_psn(&r);
        eun_receiver_init(&rx, 0, origin);
        uint32_t expected = origin;
        uint32_t unacked = 0;
        uint32_t nacked = origin - 1u;
        int64_t nacked_at = 0;
        int64_t now = 0;
        for (int i = 0; i < 200; i++) {
            now += test_below(&r, 3) * US;
            const uint32_t psn = expected + test_below(&r, 5) - (test_chance(&r, 60) ? 0 : 3);
            const struct eun_data packet = {
                .psn = psn, .last = test_chance(&r, 10), .ack_request = test_chance(&r, 5)};
            const struct eun_rx_verdict v = take(&rx, &env, &packet, now);
            int kind = EUN_FEEDBACK_NONE;
            if (psn == expected) {
                expected++;
                assert_int_equal(v.disposition, EUN_RX_ACCEPTED);
                if (++unacked == env.ack_every || packet.last || packet.ack_request)
                    kind = EUN_FEEDBACK_ACK;
            } else if (eun_psn_before(psn, expected)) {
                assert_int_equal(v.disposition, EUN_RX_DUPLICATE);
                kind = EUN_FEEDBACK_ACK;
            } else {
                assert_int_equal(v.disposition, EUN_RX_REFUSED);
                assert_int_equal(v.span, psn - expected);
                if (nacked != expected || now - nacked_at >= env.nack_interval_ps) {
                    kind = EUN_FEEDBACK_NACK;
                    nacked = expected;
                    nacked_at = now;
                }
            }
            if (kind != EUN_FEEDBACK_NONE) {
                unacked = 0;
                assert_int_equal(v.feedback.expected, expected);
            }
            assert_int_equal(v.feedback.kind, kind);
            assert_int_equal(rx.expected, expected);
            assert_int_equal(v.out_of_order, v.disposition == EUN_RX_REFUSED);
        }
    }
}

static void counts_messages(void **state)
{
    (void)state;
    struct eun_receiver_env env = test_receiver_env(NULL);
    struct eun_receiver rx;
    eun_receiver_init(&rx, 0, 10);
    rx.msn = EUN_MSN_MASK;
    assert_int_equal(take_psn(&rx, &env, 10, false, 0).completed, 0);
    assert_int_equal(take_psn(&rx, &env, 11, true, 0).completed, 1);
    assert_int_equal(rx.msn, 0);
    assert_int_equal(rx.head, 12);
    assert_int_equal(take_psn(&rx, &env, 11, true, 0).completed, 0);
}

/** One NACK for an expected PSN, another after the interval, at once for a new expected PSN. */
static void nacks_are_spaced(void **state)
{
    (void)state;
    struct eun_receiver_env env = test_receiver_env(NULL);
    struct eun_receiver rx;
    eun_receiver_init(&rx, 0, 0);
    struct eun_feedback fb = take_psn(&rx, &env, 1, false, 0).feedback;
    assert_int_equal(fb.kind, EUN_FEEDBACK_NACK);
    assert_int_equal(fb.reason, EUN_NACK_SEQUENCE);
    assert_int_equal(fb.expected, 0);
    assert_int_equal(fb.psn, 1);
    assert_int_equal(take_psn(&rx, &env, 2, false, 1).feedback.kind, EUN_FEEDBACK_NONE);
    assert_int_equal(take_psn(&rx, &env, 3, false, 4 * US - 1).feedback.kind, EUN_FEEDBACK_NONE);
    assert_int_equal(take_psn(&rx, &env, 4, false, 4 * US).feedback.kind, EUN_FEEDBACK_NACK);
    take_psn(&rx, &env, 0, false, 4 * US);
    assert_int_equal(take_psn(&rx, &env, 2, false, 4 * US).feedback.kind, EUN_FEEDBACK_NACK);
}

/** Closing gives back staging slots and ordering memory, and only this QP's. */
static void close_gives_everything_back(void **state)
{
    (void)state;
    struct eun_reorder *layer = test_reorder(256);
    struct eun_receiver_env env = test_receiver_env(layer);
    struct eun_staging staging;
    test_stage(&env, &staging, 8, 0);
    struct eun_receiver rx[2];
    for (uint32_t q = 0; q < 2; q++) {
        assert_true(eun_reorder_open(layer, q));
        eun_receiver_init(&rx[q], q, 0);
        const struct eun_data early = {.psn = 2, .last = true};
        struct eun_rx_verdict v;
        eun_transport_eunomia.receive(&rx[q], &env, &early, 0, &v);
        assert_int_equal(v.disposition, EUN_RX_HELD);
    }
    assert_int_equal(staging.used, 2);
    const uint32_t both = eun_reorder_stats(layer)->blocks_in_use;
    eun_receiver_close(&rx[0], &env);
    assert_int_equal(staging.used, 1);
    assert_int_equal(eun_reorder_stats(layer)->blocks_in_use, both / 2);
    eun_receiver_close(&rx[1], &env);
    assert_int_equal(staging.used, 0);
    eun_staging_dispose(&staging);
    assert_int_equal(eun_reorder_stats(layer)->blocks_in_use, 0);
    eun_reorder_free(layer);
}

static void closes_without_an_ordering_layer(void **state)
{
    (void)state;
    struct eun_receiver_env env = test_receiver_env(NULL);
    struct eun_receiver rx;
    eun_receiver_init(&rx, 0, 0);
    eun_receiver_close(&rx, &env);
}

static struct eun_rx_verdict arrive(struct eun_receiver *rx, struct eun_receiver_env *env,
                                    uint32_t psn, int64_t now)
{
    const struct eun_data packet = {
        .psn = psn, .last = psn % 4u == 3, .head = psn / 4u * 4u, .msn = psn / 4u};
    struct eun_rx_verdict v;
    eun_transport_eunomia.receive(rx, env, &packet, now, &v);
    return v;
}

/** The scrubber finds that many blocks, and all is well after it. */
static void scrub(struct eun_reorder *layer, uint32_t blocks)
{
    const char *reason = NULL;
    assert_int_equal(eun_reorder_scrub(layer), blocks);
    if (!eun_reorder_validate(layer, &reason))
        fail_msg("%s", reason);
}

/** Corrupt memory is forgotten, and leaks; what it held has to come again, in order. */
static void recovers_from_corrupt_memory(void **state)
{
    (void)state;
    struct eun_reorder *layer = test_reorder(256);
    struct eun_receiver_env env = test_receiver_env(layer);
    struct eun_staging staging;
    test_stage(&env, &staging, 8, 0);
    struct eun_receiver rx;
    assert_true(eun_reorder_open(layer, 0));
    eun_receiver_init(&rx, 0, 0);
    arrive(&rx, &env, 3, 0);
    arrive(&rx, &env, 5, 0);
    assert_int_equal(staging.used, 1);
    const struct eun_feedback fb = eun_receiver_recover(&rx, &env, 10);
    assert_int_equal(fb.kind, EUN_FEEDBACK_NACK);
    assert_int_equal(fb.reason, EUN_NACK_DEGRADED);
    assert_int_equal(fb.expected, 0);
    assert_int_equal(fb.psn, 5);
    assert_int_equal(staging.used, 0);
    assert_int_equal(env.fallbacks, 1);
    assert_int_equal(eun_reorder_stats(layer)->qps_active, 0);
    /* Once is enough: nothing is held now. */
    assert_int_equal(eun_receiver_recover(&rx, &env, 10).kind, EUN_FEEDBACK_NONE);
    assert_int_equal(env.fallbacks, 1);
    scrub(layer, EUN_BLOCK_POOL_METADATA + 1);
    /* That NACK counts as one of go-back-N: the next one waits for the interval. */
    assert_int_equal(arrive(&rx, &env, 2, 10).feedback.kind, EUN_FEEDBACK_NONE);
    assert_int_equal(arrive(&rx, &env, 2, 10 + 4 * US).feedback.reason, EUN_NACK_DEGRADED);
    for (uint32_t psn = 0; psn <= 5; psn++) {
        assert_true(rx.degraded);
        assert_int_equal(arrive(&rx, &env, psn, 0).completed, psn == 3);
    }
    assert_false(rx.degraded);
    assert_int_equal(arrive(&rx, &env, 7, 0).disposition, EUN_RX_HELD);
    eun_receiver_close(&rx, &env);
    scrub(layer, 0);
    eun_staging_dispose(&staging);
    eun_reorder_free(layer);
}

/** Memory that holds nothing may be lost without a word. */
static void idle_memory_is_lost_in_silence(void **state)
{
    (void)state;
    struct eun_reorder *layer = test_reorder(48 + 2);
    struct eun_receiver_env env = test_receiver_env(layer);
    struct eun_receiver rx;
    assert_true(eun_reorder_open(layer, 0));
    eun_receiver_init(&rx, 0, 0);
    assert_int_equal(eun_receiver_recover(&rx, &env, 0).kind, EUN_FEEDBACK_NONE);
    arrive(&rx, &env, 1, 0);
    arrive(&rx, &env, 0, 0);
    assert_int_equal(eun_receiver_recover(&rx, &env, 0).kind, EUN_FEEDBACK_NONE);
    assert_false(rx.degraded);
    assert_int_equal(env.fallbacks, 0);
    /* What leaked belongs to nobody: a sweep must not take it for the QP's. */
    assert_int_equal(arrive(&rx, &env, 3, 0).disposition, EUN_RX_HELD);
    eun_reorder_sweep(layer, 1000 * US);
    assert_int_equal(arrive(&rx, &env, 2, 0).advanced, 2);
    scrub(layer, EUN_BLOCK_POOL_METADATA + 1);
    eun_receiver_close(&rx, &env);
    eun_reorder_free(layer);
    /* A transport that holds nothing has nothing to lose. */
    struct eun_receiver_env none = test_receiver_env(NULL);
    eun_receiver_init(&rx, 0, 0);
    take_psn(&rx, &none, 9, false, 0);
    assert_int_equal(eun_receiver_recover(&rx, &none, 0).kind, EUN_FEEDBACK_NONE);
}

static void message_numbers_are_serial(void **state)
{
    (void)state;
    assert_int_equal(eun_msn_diff(3, 1), 2);
    assert_int_equal(eun_msn_diff(1, 3), -2);
    assert_int_equal(eun_msn_diff(0, EUN_MSN_MASK), 1);
    assert_int_equal(eun_msn_diff(EUN_MSN_MASK, 0), -1);
    assert_int_equal(eun_msn_diff(0x1000000u, EUN_MSN_MASK), 1);
    assert_int_equal(eun_msn_diff(0x7fffffu, 0), 0x7fffff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_at_the_first_psn),
        cmocka_unit_test(go_back_n_follows_the_naive_model),
        cmocka_unit_test(counts_messages),
        cmocka_unit_test(nacks_are_spaced),
        cmocka_unit_test(close_gives_everything_back),
        cmocka_unit_test(closes_without_an_ordering_layer),
        cmocka_unit_test(recovers_from_corrupt_memory),
        cmocka_unit_test(idle_memory_is_lost_in_silence),
        cmocka_unit_test(message_numbers_are_serial),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
