/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_TRANSPORT_TEST_SUPPORT_H
#define EUNOMIA_TRANSPORT_TEST_SUPPORT_H

/** What the tests of the transport share. */

#include "../test-random.h"
#include "core/transport/sender-internal.h"
#include "core/transport/staging.h"
#include "core/transport/transport.h"

#define US INT64_C(1000000)
#define MS INT64_C(1000000000)

/** A PSN to start with: often one from which 24 or 32 bits soon wrap. */
static inline uint32_t test_first_psn(struct test_random *r)
{
    switch (test_below(r, 4)) {
    case 0:
        return (1u << 24) - test_below(r, 64);
    case 1:
        return 0u - test_below(r, 64);
    case 2:
        return 0x80000000u - test_below(r, 64);
    default:
        return (uint32_t)test_random_next(r);
    }
}

/** Fails unless the sender's invariants hold. */
static inline void test_validate(const struct eun_sender *tx)
{
    const char *reason = NULL;
    if (!eun_sender_validate(tx, &reason))
        fail_msg("%s", reason);
}

static inline struct eun_sender_env test_sender_env(void)
{
    struct eun_sender_env env = {
        .mtu = 1000, .cap_psns = 256, .rto_ps = 4 * MS, .retry_limit = 7, .gate = EUN_GATE_NONE};
    return env;
}

static inline struct eun_receiver_env test_receiver_env(struct eun_reorder *reorder)
{
    struct eun_receiver_env env = {
        .reorder = reorder, .nack_interval_ps = 4 * US, .ack_every = 1, .fallback_after = 16};
    return env;
}

static inline struct eun_reorder *test_reorder(uint32_t blocks)
{
    const struct eun_reorder_config config = {
        .blocks = blocks, .banks = 1, .cap_psns = 256, .block_bits = 16, .idle_epoch_ps = 256 * US};
    struct eun_reorder *layer = eun_reorder_new(&config);
    assert_non_null(layer);
    return layer;
}

/** A staging buffer, and gate `receiver` in force. */
static inline void test_stage(struct eun_receiver_env *env, struct eun_staging *staging,
                              uint32_t limit, uint64_t rate_bps)
{
    assert_true(eun_staging_init(staging, limit, rate_bps));
    env->staging = staging;
}

static inline struct eun_feedback test_ack(uint32_t expected)
{
    return (struct eun_feedback){.kind = EUN_FEEDBACK_ACK, .expected = expected};
}

static inline struct eun_feedback test_sack(uint32_t expected, uint32_t psn)
{
    return (struct eun_feedback){.kind = EUN_FEEDBACK_SACK, .expected = expected, .psn = psn};
}

static inline struct eun_feedback test_nack(enum eun_nack_reason reason, uint32_t expected,
                                            uint32_t psn)
{
    return (struct eun_feedback){
        .kind = EUN_FEEDBACK_NACK, .reason = (uint8_t)reason, .expected = expected, .psn = psn};
}

#endif
