/* SPDX-License-Identifier: GPL-2.0-only */
#include "pair.h"

#include "core/transport/gate.h"

#define PACKETS 5u

/** Gate `none` and `receiver` never keep a Last at the sender. */
static void only_the_sender_gate_holds(void **state)
{
    (void)state;
    struct eun_sender_env env = test_sender_env();
    const struct eun_message m = {.head = 100, .packets = PACKETS};
    env.gate = EUN_GATE_NONE;
    assert_true(eun_gate_open(&env, &m, 50, 0));
    env.gate = EUN_GATE_RECEIVER;
    assert_true(eun_gate_open(&env, &m, 50, 0));
    env.gate = EUN_GATE_SENDER;
    assert_false(eun_gate_open(&env, &m, 50, 0));
}

/** Against the definition: every set of arrived PSNs around a small message, at each wrap. */
static void opens_exactly_when_defined(void **state)
{
    (void)state;
    const uint32_t heads[] = {100, 0u - 2u, (1u << 24) - 2u, 0x80000000u - 2u};
    struct eun_sender_env env = test_sender_env();
    env.gate = EUN_GATE_SENDER;
    for (size_t h = 0; h < sizeof heads / sizeof heads[0]; h++) {
        for (uint32_t packets = 1; packets <= PACKETS; packets++) {
            const struct eun_message m = {.head = heads[h], .packets = packets};
            /* Bit i: PSN head - 2 + i has arrived; una is the first that has not. */
            for (uint32_t arrived = 0; arrived < 1u << (packets + 1u); arrived++) {
                const uint32_t una = (uint32_t)__builtin_ctz(~arrived);
                const uint32_t sacked =
                    (uint32_t)__builtin_popcount(arrived >> (una > 2 ? una : 2));
                const uint32_t own = (1u << (packets - 1u)) - 1u;
                env.gate_scope_message = false;
                assert_int_equal(eun_gate_open(&env, &m, heads[h] - 2u + una, sacked),
                                 una == packets + 1u);
                env.gate_scope_message = true;
                assert_int_equal(eun_gate_open(&env, &m, heads[h] - 2u + una, sacked),
                                 (arrived >> 2) == own);
            }
        }
    }
}

static void wait_is_from_first_hold_to_release(void **state)
{
    (void)state;
    struct eun_message m = {.held_since_ps = -1};
    eun_gate_release(&m, 5);
    assert_int_equal(m.wait_ps, 0);
    eun_gate_hold(&m, 10);
    eun_gate_hold(&m, 20);
    eun_gate_release(&m, 35);
    assert_int_equal(m.held_since_ps, 10);
    assert_int_equal(m.wait_ps, 25);
}

/**
 * Writes followed by a write of one packet, the usual flag: whatever overtakes what on the way, the
 * flag never shows before what it follows. pair.h checks; without a gate it does show early.
 */
static void one_packet_write_shows_after_the_others(void **state)
{
    (void)state;
    struct test_random r = test_random_start(1);
    for (uint32_t i = 0; i < 300; i++) {
        static struct pair p;
        const enum eun_gate gate = i % 2 ? EUN_GATE_SENDER : EUN_GATE_RECEIVER;
        pair_init(&p, &r, gate, gate == EUN_GATE_SENDER && i % 4 == 1, 64);
        pair_run(&p);
        assert_int_equal(eun_sender_retransmitted(p.tx), 0);
        pair_dispose(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_sender_gate_holds),
        cmocka_unit_test(opens_exactly_when_defined),
        cmocka_unit_test(wait_is_from_first_hold_to_release),
        cmocka_unit_test(one_packet_write_shows_after_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
