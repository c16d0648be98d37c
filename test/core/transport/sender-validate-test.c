/* SPDX-License-Identifier: GPL-2.0-only */
/** A validator that finds nothing proves nothing: each broken invariant must be named. */
#include "test-support.h"

#include <string.h>

static struct eun_sender *sending(const struct eun_sender_env *env)
{
    struct eun_sender *tx = eun_sender_new(&eun_transport_eunomia, 0xfffffff0u);
    assert_non_null(tx);
    assert_true(eun_sender_post(tx, env, 20000, 1));
    struct eun_tx_packet packet;
    for (int i = 0; i < 10; i++)
        assert_true(eun_sender_next(tx, env, i, &packet));
    return tx;
}

static void assert_named(const struct eun_sender *tx, const char *expected)
{
    const char *reason = NULL;
    assert_false(eun_sender_validate(tx, &reason));
    assert_string_equal(reason, expected);
}

static void sound_sender_passes(void **state)
{
    (void)state;
    const struct eun_sender_env env = test_sender_env();
    struct eun_sender *tx = sending(&env);
    test_validate(tx);
    eun_sender_free(tx);
}

static void broken_cursors_are_named(void **state)
{
    (void)state;
    const struct eun_sender_env env = test_sender_env();
    struct eun_sender *tx = sending(&env);
    const struct eun_sender sound = *tx;
    tx->done = tx->end + 1;
    assert_named(tx, "message cursors out of order");
    *tx = sound;
    tx->una += 20;
    assert_named(tx, "una outside its message");
    *tx = sound;
    tx->nxt += 10;
    assert_named(tx, "nxt outside its message");
    *tx = sound;
    tx->una = tx->nxt + 1;
    assert_named(tx, "nxt before una");
    *tx = sound;
    tx->resend = tx->una;
    tx->resend_end = tx->nxt + 1;
    assert_named(tx, "sweep outside [una, nxt)");
    *tx = sound;
    test_validate(tx);
    eun_sender_free(tx);
}

static void broken_counts_are_named(void **state)
{
    (void)state;
    const struct eun_sender_env env = test_sender_env();
    struct eun_sender *tx = sending(&env);
    const struct eun_sender sound = *tx;
    tx->held = 1;
    assert_named(tx, "count of held, freed or parked Lasts");
    *tx = sound;
    tx->parked = 1;
    assert_named(tx, "count of held, freed or parked Lasts");
    *tx = sound;
    tx->slots[tx->done & tx->mask].parked = true;
    assert_named(tx, "a parked Last that is acknowledged or never left");
    tx->slots[tx->done & tx->mask].parked = false;
    *tx = sound;
    tx->board.count = 1;
    assert_named(tx, "count of SACKed PSNs");
    *tx = sound;
    tx->allowance.packets = 0;
    assert_named(tx, "allowance of nothing, or credit for more");
    *tx = sound;
    eun_sender_free(tx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_sender_passes),
        cmocka_unit_test(broken_cursors_are_named),
        cmocka_unit_test(broken_counts_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
