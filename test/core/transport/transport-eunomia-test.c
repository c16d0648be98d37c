/* SPDX-License-Identifier: GPL-2.0-only */
#include "test-support.h"

#include "core/transport/receiver-internal.h"

#include <string.h>

#define EUNOMIA (&eun_transport_eunomia)

/* The receiver. */

struct end {
    struct eun_reorder *layer;
    struct eun_staging staging; /**< for tests of gate `receiver`; else all zero */
    struct eun_receiver_env env;
    struct eun_receiver rx;
};

static void open_end(struct end *end, uint32_t blocks, uint32_t first_psn)
{
    end->layer = test_reorder(blocks);
    end->staging = (struct eun_staging){0};
    end->env = test_receiver_env(end->layer);
    assert_true(eun_reorder_open(end->layer, 0));
    eun_receiver_init(&end->rx, 0, first_psn);
}

static void close_end(struct end *end)
{
    eun_receiver_close(&end->rx, &end->env);
    assert_int_equal(eun_reorder_stats(end->layer)->blocks_in_use, 0);
    assert_int_equal(end->staging.used, 0);
    eun_staging_dispose(&end->staging);
    eun_reorder_free(end->layer);
}

static struct eun_rx_verdict arrive(struct end *end, uint32_t psn, uint32_t head, uint32_t msn,
                                    bool last)
{
    const struct eun_data data = {
        .psn = psn, .head = head, .msn = msn, .payload = 1000, .last = last};
    struct eun_rx_verdict v;
    EUNOMIA->receive(&end->rx, &end->env, &data, 0, &v);
    /* Copies take no time here. */
    struct eun_staged copied;
    while (end->env.staging && eun_staging_finished(&end->staging, 0, &copied))
        v.visible += copied.messages;
    assert_int_equal(v.visible, v.completed);
    return v;
}

static void assert_answer(const struct eun_rx_verdict *v, int kind, int reason, uint32_t expected,
                          uint32_t psn)
{
    assert_int_equal(v->feedback.kind, kind);
    assert_int_equal(v->feedback.expected, expected);
    if (kind != EUN_FEEDBACK_ACK)
        assert_int_equal(v->feedback.psn, psn);
    if (kind == EUN_FEEDBACK_NACK)
        assert_int_equal(v->feedback.reason, reason);
}

/** A message of PSNs 100 to 115 in disorder, with a packet of the next one in between. */
static void last_packet_alone_completes_nothing(void **state)
{
    (void)state;
    const uint32_t early[] = {100, 101, 102, 108, 112, 120, 103, 104, 105, 115};
    const uint32_t late[] = {106, 107, 109, 110, 111, 113, 114};
    for (int with_next = 0; with_next < 2; with_next++) {
        struct end end;
        open_end(&end, 1024, 100);
        for (size_t i = 0; i < 10; i++) {
            const bool next = early[i] == 120;
            if (next && !with_next)
                continue;
            const struct eun_rx_verdict v =
                arrive(&end, early[i], next ? 116 : 100, next, early[i] == 115);
            assert_int_equal(v.completed, 0);
            assert_int_equal(v.disposition, early[i] < 106 ? EUN_RX_ACCEPTED : EUN_RX_HELD);
        }
        for (size_t i = 0; i < 7; i++)
            assert_int_equal(arrive(&end, late[i], 100, 0, false).completed, i == 6);
        assert_int_equal(end.rx.expected, 116);
        assert_int_equal(end.rx.msn, 1);
        assert_int_equal(end.rx.head, 116);
        assert_int_equal(end.rx.head_slack, 0);
        close_end(&end);
    }
}

/** Next permutation in lexicographic order; false after the last. */
static bool permute(uint32_t *a, uint32_t n)
{
    uint32_t i = n - 1;
    while (i > 0 && a[i - 1] >= a[i])
        i--;
    if (i == 0)
        return false;
    uint32_t j = n - 1;
    while (a[j] <= a[i - 1])
        j--;
    const uint32_t pivot = a[i - 1];
    a[i - 1] = a[j];
    a[j] = pivot;
    for (j = n - 1; i < j; i++, j--) {
        const uint32_t t = a[i];
        a[i] = a[j];
        a[j] = t;
    }
    return true;
}

/** Takes `n` packets in one order; bit i of `lasts`: PSN i ends a message, as the last one does. */
static void take_order(struct end *end, const uint32_t *order, uint32_t n, uint32_t lasts,
                       uint32_t origin)
{
    bool came[8] = {false};
    uint32_t head[8] = {0};
    uint32_t msn[8] = {0};
    uint32_t prefix = 0;
    lasts |= 1u << (n - 1);
    for (uint32_t i = 1; i < n; i++) {
        const bool fresh = lasts >> (i - 1) & 1u;
        head[i] = fresh ? i : head[i - 1];
        msn[i] = msn[i - 1] + fresh;
    }
    eun_receiver_init(&end->rx, 0, origin);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t psn = order[i];
        const struct eun_rx_verdict v =
            arrive(end, origin + psn, origin + head[psn], msn[psn], lasts >> psn & 1u);
        uint32_t completed = 0;
        const uint32_t before = prefix;
        came[psn] = true;
        for (; prefix < n && came[prefix]; prefix++)
            completed += lasts >> prefix & 1u;
        assert_int_equal(v.completed, completed);
        assert_int_equal(v.advanced, prefix - before);
        assert_int_equal(v.disposition, psn == before ? EUN_RX_ACCEPTED : EUN_RX_HELD);
        if (prefix < n) {
            assert_int_equal(end->rx.msn, msn[prefix]);
            assert_true(origin + head[prefix] - end->rx.head <= end->rx.head_slack);
            assert_true(!end->rx.later_valid || end->rx.later_msn > msn[prefix]);
        }
    }
    assert_int_equal(prefix, n);
}

/** Every order of arrival of up to 7 packets, cut into messages in every way. */
static void all_orders_of_arrival(void **state)
{
    (void)state;
    struct end end;
    open_end(&end, 1024, 0);
    for (uint32_t n = 1; n <= 7; n++) {
        uint32_t order[7] = {0, 1, 2, 3, 4, 5, 6};
        do {
            for (uint32_t lasts = 0; lasts < 1u << (n - 1); lasts++)
                take_order(&end, order, n, lasts, 0u - 3u);
        } while (permute(order, n));
    }
    close_end(&end);
}

/** Where the new message's Head cannot be known, its next packet tells it. */
static void head_is_learned_after_a_long_jump(void **state)
{
    (void)state;
    struct end end;
    open_end(&end, 1024, 0);
    /* Messages 0: 0-1, 1: 2-3, 2: 4-7, 3: 8-9; PSNs 2 to 5 and 8 are held when 1 comes. */
    arrive(&end, 0, 0, 0, false);
    arrive(&end, 2, 2, 1, false);
    arrive(&end, 3, 2, 1, true);
    arrive(&end, 4, 4, 2, false);
    arrive(&end, 5, 4, 2, false);
    arrive(&end, 8, 8, 3, false);
    assert_int_equal(arrive(&end, 1, 0, 0, true).completed, 2);
    assert_int_equal(end.rx.msn, 2);
    assert_int_equal(end.rx.expected, 6);
    assert_true(end.rx.head_slack > 0);
    assert_int_equal(arrive(&end, 7, 7, 2, true).disposition, EUN_RX_INVALID);
    assert_int_equal(arrive(&end, 7, 2, 2, true).disposition, EUN_RX_INVALID);
    assert_int_equal(arrive(&end, 7, 4, 2, true).disposition, EUN_RX_HELD);
    assert_int_equal(end.rx.head, 4);
    assert_int_equal(end.rx.head_slack, 0);
    assert_int_equal(arrive(&end, 6, 4, 2, false).completed, 1);
    assert_int_equal(end.rx.head, 8);
    assert_int_equal(end.rx.head_slack, 0);
    close_end(&end);
}

/** Message isolation: contradictions set no bit and get no answer. */
static void contradictions_are_rejected(void **state)
{
    (void)state;
    const struct {
        uint32_t psn, head, msn;
    } bad[] = {
        {12, 13, 5},              /* Head after the PSN */
        {9, 10, 5},               /* the same below the prefix */
        {14, 9, 5},               /* same message, other Head */
        {14, 11, 5},              /* the same */
        {12, 10, 4},              /* older message */
        {12, 10, 5 + (1u << 23)}, /* older by half the numbers */
        {14, 10, 6},              /* later message, Head of this one */
        {14, 12, 6},              /* later message that starts at the expected PSN */
        {14, 9, 6},               /* later message that starts before this one */
        {14, 13, 7},              /* two messages, one PSN */
        {20, 20, 15},             /* nine messages, eight PSNs */
    };
    struct end end;
    open_end(&end, 1024, 10);
    end.rx.msn = 5;
    arrive(&end, 10, 10, 5, false);
    arrive(&end, 11, 10, 5, false);
    const struct eun_receiver before = end.rx;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const struct eun_rx_verdict v = arrive(&end, bad[i].psn, bad[i].head, bad[i].msn, false);
        assert_int_equal(v.disposition, EUN_RX_INVALID);
        assert_int_equal(v.feedback.kind, EUN_FEEDBACK_NONE);
        assert_memory_equal(&before, &end.rx, sizeof before);
        assert_false(eun_reorder_has_gap(end.layer, 0));
    }
    assert_int_equal(arrive(&end, 20, 20, 13, false).disposition, EUN_RX_HELD);
    /* Now each PSN from 12 to 19 ends a message. */
    assert_int_equal(arrive(&end, 14, 13, 6, false).disposition, EUN_RX_INVALID);
    assert_int_equal(arrive(&end, 14, 14, 7, true).disposition, EUN_RX_HELD);
    assert_int_equal(arrive(&end, 10, 10, 5, false).disposition, EUN_RX_DUPLICATE);
    close_end(&end);
}

static void answers_name_what_happened(void **state)
{
    (void)state;
    struct end end;
    open_end(&end, 24 + 16, 0);
    struct eun_rx_verdict v = arrive(&end, 0, 0, 0, false);
    assert_answer(&v, EUN_FEEDBACK_ACK, 0, 1, 0);
    v = arrive(&end, 5, 0, 0, false);
    assert_answer(&v, EUN_FEEDBACK_SACK, 0, 1, 5);
    assert_true(v.out_of_order);
    assert_int_equal(v.span, 4);
    v = arrive(&end, 5, 0, 0, false);
    assert_answer(&v, EUN_FEEDBACK_SACK, 0, 1, 5);
    assert_int_equal(v.disposition, EUN_RX_DUPLICATE);
    v = arrive(&end, 0, 0, 0, false);
    assert_answer(&v, EUN_FEEDBACK_ACK, 0, 1, 0);
    v = arrive(&end, 257, 0, 0, false);
    assert_answer(&v, EUN_FEEDBACK_NACK, EUN_NACK_CAP, 1, 257);
    assert_int_equal(v.disposition, EUN_RX_REFUSED);
    close_end(&end);
    open_end(&end, 0, 0);
    v = arrive(&end, 1, 0, 0, false);
    assert_answer(&v, EUN_FEEDBACK_NACK, EUN_NACK_MEMORY, 0, 1);
    close_end(&end);
}

/** Coalescing as in go-back-N while in order; no delay behind a gap or past a Last. */
static void acks_are_coalesced_in_order_only(void **state)
{
    (void)state;
    struct end end;
    open_end(&end, 1024, 0);
    end.env.ack_every = 20;
    uint32_t acks = 0;
    for (uint32_t psn = 0; psn < 45; psn++)
        acks += arrive(&end, psn, 0, 0, psn == 44).feedback.kind == EUN_FEEDBACK_ACK;
    assert_int_equal(acks, 3);
    assert_int_equal(arrive(&end, 45, 45, 1, false).feedback.kind, EUN_FEEDBACK_NONE);
    assert_int_equal(arrive(&end, 48, 45, 1, false).feedback.kind, EUN_FEEDBACK_SACK);
    assert_int_equal(arrive(&end, 46, 45, 1, false).feedback.kind, EUN_FEEDBACK_ACK);
    assert_int_equal(arrive(&end, 47, 45, 1, false).feedback.kind, EUN_FEEDBACK_ACK);
    assert_int_equal(arrive(&end, 49, 45, 1, false).feedback.kind, EUN_FEEDBACK_NONE);
    close_end(&end);
}

/** One SACK for several held packets, unless the sender asks; what came before is told again. */
static void sacks_are_coalesced(void **state)
{
    (void)state;
    struct end end;
    open_end(&end, 1024, 0);
    end.env.sack_every = 4;
    uint32_t sacks = 0;
    for (uint32_t psn = 1; psn <= 20; psn++) {
        const struct eun_rx_verdict v = arrive(&end, psn, 0, 0, false);
        assert_int_equal(v.disposition, EUN_RX_HELD);
        assert_int_equal(v.feedback.kind == EUN_FEEDBACK_SACK, psn % 4 == 0);
        sacks += v.feedback.kind != EUN_FEEDBACK_NONE;
    }
    assert_int_equal(sacks, 5);
    const struct eun_data asks = {.psn = 22, .ack_request = true};
    struct eun_rx_verdict v;
    EUNOMIA->receive(&end.rx, &end.env, &asks, 0, &v);
    assert_answer(&v, EUN_FEEDBACK_SACK, 0, 0, 22);
    v = arrive(&end, 5, 0, 0, false);
    assert_answer(&v, EUN_FEEDBACK_SACK, 0, 0, 5);
    v = arrive(&end, 0, 0, 0, false);
    assert_answer(&v, EUN_FEEDBACK_ACK, 0, 21, 0);
    close_end(&end);
}

/** Gate `receiver`: an early Last takes a slot, is refused without one, frees it when complete. */
static void early_lasts_are_staged(void **state)
{
    (void)state;
    struct end end;
    open_end(&end, 1024, 0);
    test_stage(&end.env, &end.staging, 2, 0);
    arrive(&end, 2, 0, 0, true);
    arrive(&end, 4, 3, 1, true);
    assert_int_equal(end.staging.used, 2);
    struct eun_rx_verdict v = arrive(&end, 6, 5, 2, true);
    assert_answer(&v, EUN_FEEDBACK_NACK, EUN_NACK_STAGING, 0, 6);
    assert_int_equal(v.disposition, EUN_RX_REFUSED);
    assert_int_equal(arrive(&end, 5, 5, 2, false).disposition, EUN_RX_HELD);
    assert_int_equal(arrive(&end, 4, 3, 1, true).disposition, EUN_RX_DUPLICATE);
    assert_int_equal(end.staging.used, 2);
    arrive(&end, 0, 0, 0, false);
    assert_int_equal(arrive(&end, 1, 0, 0, false).completed, 1);
    assert_int_equal(end.staging.used, 1);
    assert_int_equal(arrive(&end, 6, 5, 2, true).disposition, EUN_RX_HELD);
    assert_int_equal(arrive(&end, 3, 3, 1, false).completed, 2);
    assert_int_equal(end.staging.used, 0);
    /* In order a Last needs no slot, and passes those of others. */
    arrive(&end, 8, 8, 4, true);
    assert_int_equal(arrive(&end, 7, 7, 3, true).completed, 2);
    assert_int_equal(end.staging.used, 0);
    arrive(&end, 11, 11, 7, true);
    assert_int_equal(arrive(&end, 9, 9, 5, true).completed, 1);
    assert_int_equal(end.staging.used, 1);
    end.staging.limit = 0;
    assert_int_equal(arrive(&end, 10, 10, 6, true).completed, 2);
    assert_int_equal(end.staging.used, 0);
    close_end(&end);
}

/** Memory refusals without progress degrade the QP; its memory and slots go back at once. */
static void refusals_degrade_to_go_back_n(void **state)
{
    (void)state;
    struct end end;
    /* Metadata of a QP and two blocks: PSNs of a third one find no memory. */
    open_end(&end, 24 + 2, 0);
    end.env.fallback_after = 3;
    test_stage(&end.env, &end.staging, 8, 0);
    assert_int_equal(arrive(&end, 3, 0, 0, true).disposition, EUN_RX_HELD);
    assert_int_equal(end.staging.used, 1);
    struct eun_rx_verdict v = arrive(&end, 40, 4, 1, false);
    assert_answer(&v, EUN_FEEDBACK_NACK, EUN_NACK_MEMORY, 0, 40);
    arrive(&end, 0, 0, 0, false);
    for (uint32_t psn = 40; psn < 42; psn++) {
        v = arrive(&end, psn, 4, 1, false);
        assert_answer(&v, EUN_FEEDBACK_NACK, EUN_NACK_MEMORY, 1, psn);
    }
    v = arrive(&end, 39, 4, 1, false);
    assert_answer(&v, EUN_FEEDBACK_NACK, EUN_NACK_DEGRADED, 1, 39);
    assert_int_equal(v.disposition, EUN_RX_REFUSED);
    assert_true(end.rx.degraded);
    assert_int_equal(end.env.fallbacks, 1);
    assert_int_equal(end.staging.used, 0);
    assert_false(eun_reorder_has_gap(end.layer, 0));
    /* Nothing is kept now, the gap is reported once. */
    assert_int_equal(arrive(&end, 2, 0, 0, false).feedback.kind, EUN_FEEDBACK_NONE);
    assert_int_equal(arrive(&end, 0, 0, 0, false).disposition, EUN_RX_DUPLICATE);
    assert_int_equal(arrive(&end, 1, 5, 0, false).disposition, EUN_RX_INVALID);
    end.env.ack_every = 20;
    for (uint32_t psn = 1; psn < 41; psn++) {
        v = arrive(&end, psn, psn < 4 ? 0 : 4, psn >= 4, psn == 3);
        assert_answer(&v, EUN_FEEDBACK_ACK, 0, psn + 1, 0);
        assert_int_equal(v.completed, psn == 3);
        assert_true(end.rx.degraded);
    }
    /* Past all that had come when it degraded (41 was refused) it is normal again. */
    arrive(&end, 41, 4, 1, false);
    assert_false(end.rx.degraded);
    assert_int_equal(arrive(&end, 43, 4, 1, false).disposition, EUN_RX_HELD);
    close_end(&end);
}

/** A stray packet far past the window does not keep a QP degraded until its PSN is reached. */
static void a_stray_packet_does_not_prolong_a_fallback(void **state)
{
    (void)state;
    struct end end;
    open_end(&end, 24 + 2, 0);
    end.env.fallback_after = 1;
    struct eun_rx_verdict v = arrive(&end, 1u << 20, 0, 0, false);
    assert_answer(&v, EUN_FEEDBACK_NACK, EUN_NACK_CAP, 0, 1u << 20);
    arrive(&end, 3, 0, 0, false);
    v = arrive(&end, 40, 0, 0, false);
    assert_answer(&v, EUN_FEEDBACK_NACK, EUN_NACK_DEGRADED, 0, 40);
    for (uint32_t psn = 0; psn <= EUN_HD_CAP_MAX; psn++) {
        assert_true(end.rx.degraded);
        arrive(&end, psn, 0, 0, false);
    }
    assert_false(end.rx.degraded);
    close_end(&end);
}

/* The sender. */

static uint32_t send_psn(struct eun_sender *tx, const struct eun_sender_env *env,
                         bool retransmission)
{
    struct eun_tx_packet packet = {0};
    assert_true(eun_sender_next(tx, env, 0, &packet));
    assert_int_equal(packet.retransmission, retransmission);
    test_validate(tx);
    return packet.data.psn;
}

static void answer(struct eun_sender *tx, const struct eun_sender_env *env, struct eun_feedback fb)
{
    eun_sender_feedback(tx, env, &fb, 0);
    test_validate(tx);
}

static void time_out(struct eun_sender *tx, const struct eun_sender_env *env)
{
    assert_true(eun_sender_timeout(tx, env, eun_sender_deadline(tx, env)));
    test_validate(tx);
}

static void assert_allowance(const struct eun_sender *tx, uint32_t packets)
{
    assert_int_equal(tx->allowance.packets, packets);
}

static void assert_idle(const struct eun_sender *tx, const struct eun_sender_env *env)
{
    assert_int_equal(eun_sender_state(tx, env), EUN_TX_IDLE);
}

static struct eun_sender *sender_with(const struct eun_sender_env *env, uint32_t packets,
                                      uint32_t sent)
{
    struct eun_sender *tx = eun_sender_new(EUNOMIA, 0);
    assert_true(eun_sender_post(tx, env, packets * env->mtu, 0));
    for (uint32_t i = 0; i < sent; i++)
        assert_int_equal(send_psn(tx, env, false), i);
    return tx;
}

/** PSNs [una, end) are sent again, in order and each once, as their predecessors come. */
static void serve_one_by_one(struct eun_sender *tx, const struct eun_sender_env *env, uint32_t una,
                             uint32_t end)
{
    const uint64_t before = eun_sender_retransmitted(tx);
    uint32_t next = una;
    for (uint32_t psn = una; psn < end; psn++) {
        while (eun_sender_state(tx, env) == EUN_TX_READY)
            assert_int_equal(send_psn(tx, env, true), next++);
        assert_true(next - psn > 0 && next - psn <= tx->allowance.packets);
        assert_int_equal(eun_sender_una(tx), psn);
        answer(tx, env, test_ack(psn + 1u));
    }
    assert_idle(tx, env);
    assert_int_equal(next, end);
    assert_int_equal(eun_sender_retransmitted(tx) - before, end - una);
}

/** A SACK makes nothing go; a timeout resends what is neither acknowledged nor SACKed. */
static void sack_is_advice(void **state)
{
    (void)state;
    const struct eun_sender_env env = test_sender_env();
    struct eun_sender *tx = sender_with(&env, 10, 10);
    const uint32_t sacked[] = {3, 4, 7, 9};
    for (size_t i = 0; i < 4; i++)
        answer(tx, &env, test_sack(1, sacked[i]));
    assert_int_equal(eun_sender_una(tx), 1);
    assert_idle(tx, &env);
    time_out(tx, &env);
    assert_int_equal(send_psn(tx, &env, true), 1);
    assert_idle(tx, &env);
    answer(tx, &env, test_sack(1, 5));
    assert_idle(tx, &env);
    /* 1 comes: two may be outstanding, 2 and 3, of which 3 is SACKed. */
    answer(tx, &env, test_ack(2));
    assert_int_equal(send_psn(tx, &env, true), 2);
    assert_idle(tx, &env);
    /* 2 comes, and with it 3, 4 and 5: five may be outstanding, the threshold being 4. */
    answer(tx, &env, test_ack(6));
    assert_allowance(tx, 4);
    assert_int_equal(send_psn(tx, &env, true), 6);
    assert_int_equal(send_psn(tx, &env, true), 8);
    assert_idle(tx, &env);
    assert_int_equal(eun_sender_retransmitted(tx), 4);
    eun_sender_free(tx);
}

/** A refused packet waits until the prefix has moved past where it was, or for the timeout. */
static void refused_packet_waits_for_progress(void **state)
{
    (void)state;
    const enum eun_nack_reason reasons[] = {EUN_NACK_CAP, EUN_NACK_MEMORY};
    const struct eun_sender_env env = test_sender_env();
    for (size_t i = 0; i < 2; i++) {
        struct eun_sender *tx = sender_with(&env, 20, 20);
        answer(tx, &env, test_nack(reasons[i], 2, 9));
        answer(tx, &env, test_nack(reasons[i], 2, 4));
        answer(tx, &env, test_nack(reasons[i], 2, 2 + 20));
        assert_int_equal(eun_sender_una(tx), 2);
        assert_idle(tx, &env);
        answer(tx, &env, test_ack(2));
        assert_idle(tx, &env);
        answer(tx, &env, test_ack(3));
        assert_int_equal(send_psn(tx, &env, true), 4);
        answer(tx, &env, test_nack(reasons[i], 3, 4));
        assert_int_equal(send_psn(tx, &env, true), 9);
        assert_idle(tx, &env);
        answer(tx, &env, test_sack(3, 4));
        answer(tx, &env, test_ack(4));
        assert_idle(tx, &env);
        answer(tx, &env, test_nack(reasons[i], 4, 12));
        answer(tx, &env, test_nack(reasons[i], 1, 13));
        time_out(tx, &env);
        for (uint32_t psn = 5; psn < 20; psn++)
            answer(tx, &env, test_sack(4, psn));
        assert_int_equal(send_psn(tx, &env, true), 4);
        assert_idle(tx, &env);
        eun_sender_free(tx);
    }
}

/** A NACK that comes after the prefix has moved on sends its packet at once. */
static void late_refusal_is_repaired_at_once(void **state)
{
    (void)state;
    const struct eun_sender_env env = test_sender_env();
    struct eun_sender *tx = sender_with(&env, 20, 20);
    answer(tx, &env, test_ack(5));
    answer(tx, &env, test_nack(EUN_NACK_MEMORY, 3, 9));
    assert_int_equal(eun_sender_una(tx), 5);
    assert_int_equal(send_psn(tx, &env, true), 9);
    answer(tx, &env, test_nack(EUN_NACK_MEMORY, 3, 4));
    assert_idle(tx, &env);
    eun_sender_free(tx);
}

/** While refused packets wait, nothing goes that the receiver would have to refuse as well. */
static void refusals_bring_in_the_cap(void **state)
{
    (void)state;
    struct eun_sender_env env = test_sender_env();
    env.cap_psns = 8;
    struct eun_sender *tx = sender_with(&env, 30, 12);
    for (uint32_t psn = 8; psn < 12; psn++)
        answer(tx, &env, test_nack(EUN_NACK_CAP, 0, psn));
    assert_idle(tx, &env);
    answer(tx, &env, test_ack(1));
    assert_int_equal(send_psn(tx, &env, true), 8);
    assert_idle(tx, &env);
    answer(tx, &env, test_ack(4));
    for (uint32_t psn = 9; psn < 12; psn++)
        assert_int_equal(send_psn(tx, &env, true), psn);
    for (uint32_t psn = 12; psn < 30; psn++)
        assert_int_equal(send_psn(tx, &env, false), psn);
    eun_sender_free(tx);
}

/** The sweep after a timeout goes no further than the receiver can hold. */
static void timeout_resends_within_the_cap(void **state)
{
    (void)state;
    struct eun_sender_env env = test_sender_env();
    env.cap_psns = 3;
    struct eun_sender *tx = sender_with(&env, 12, 12);
    time_out(tx, &env);
    for (uint32_t psn = 0; psn < 3; psn++) {
        assert_int_equal(send_psn(tx, &env, true), psn);
        if (psn < 1)
            assert_idle(tx, &env);
        answer(tx, &env, test_ack(psn + 1u));
    }
    /* Four packets later the allowance has passed the cap, which limits alone now. */
    assert_allowance(tx, EUN_ALLOWANCE_UNLIMITED);
    for (uint32_t psn = 3; psn < 6; psn++)
        assert_int_equal(send_psn(tx, &env, true), psn);
    assert_idle(tx, &env);
    answer(tx, &env, test_ack(4));
    assert_int_equal(send_psn(tx, &env, true), 6);
    assert_idle(tx, &env);
    eun_sender_free(tx);
}

/**
 * After a timeout or DEGRADED one packet goes; then every packet acknowledged lets two go, up to
 * half of what was outstanding, and then one more a window. The copies ask for an answer each.
 */
static void recovery_starts_with_one_packet(void **state)
{
    (void)state;
    const struct eun_sender_env env = test_sender_env();
    for (int degraded = 0; degraded < 2; degraded++) {
        struct eun_sender *tx = sender_with(&env, 40, 8);
        uint32_t next = 0;
        if (degraded)
            answer(tx, &env, test_nack(EUN_NACK_DEGRADED, 0, 5));
        else
            time_out(tx, &env);
        /* una and allowance: 0 1, 1 2, 2 3, 3 4 (threshold), 4 to 6 4, 7 5 */
        const uint32_t end[] = {1, 3, 5, 7, 8, 9, 10, 12, 13, 14, 15, 16, 18};
        for (uint32_t una = 0; una < sizeof end / sizeof end[0]; una++) {
            if (una > 0)
                answer(tx, &env, test_ack(una));
            for (; next < end[una]; next++)
                assert_int_equal(send_psn(tx, &env, next < 8), next);
            assert_idle(tx, &env);
        }
        assert_int_equal(eun_sender_retransmitted(tx), 8);
        eun_sender_free(tx);
    }
}

/** Only a refusal for memory of a packet that is still missing lowers the allowance. */
static void only_news_of_missing_memory_cuts(void **state)
{
    (void)state;
    const struct eun_sender_env env = test_sender_env();
    struct eun_sender *tx = sender_with(&env, 30, 20);
    answer(tx, &env, test_nack(EUN_NACK_CAP, 4, 9));
    answer(tx, &env, test_nack(EUN_NACK_STAGING, 4, 10));
    answer(tx, &env, test_nack(EUN_NACK_MEMORY, 2, 3));
    answer(tx, &env, test_nack(EUN_NACK_MEMORY, 4, 20));
    answer(tx, &env, test_sack(4, 6));
    answer(tx, &env, test_nack(EUN_NACK_MEMORY, 4, 6));
    assert_allowance(tx, EUN_ALLOWANCE_UNLIMITED);
    answer(tx, &env, test_nack(EUN_NACK_MEMORY, 4, 7));
    assert_allowance(tx, 8);
    /* All is acknowledged: what comes late cuts no more, and no later message suffers. */
    answer(tx, &env, test_ack(20));
    answer(tx, &env, test_nack(EUN_NACK_MEMORY, 4, 8));
    assert_allowance(tx, 9);
    for (uint32_t psn = 20; psn < 29; psn++)
        assert_int_equal(send_psn(tx, &env, false), psn);
    assert_idle(tx, &env);
    answer(tx, &env, test_ack(21));
    assert_allowance(tx, 10);
    assert_int_equal(send_psn(tx, &env, false), 29);
    eun_sender_free(tx);
}

/** What is sent again asks for an answer: it does not leave in order of PSN. */
static void copies_ask_for_an_answer(void **state)
{
    (void)state;
    const struct eun_sender_env env = test_sender_env();
    struct eun_sender *tx = sender_with(&env, 30, 20);
    struct eun_tx_packet p;
    for (uint32_t psn = 5; psn < 8; psn++)
        answer(tx, &env, test_nack(EUN_NACK_CAP, 3, psn));
    answer(tx, &env, test_ack(4));
    for (uint32_t psn = 5; psn < 8; psn++) {
        assert_true(eun_sender_next(tx, &env, 0, &p));
        assert_int_equal(p.data.psn, psn);
        assert_true(p.retransmission && p.data.ack_request);
    }
    assert_true(eun_sender_next(tx, &env, 0, &p));
    assert_false(p.retransmission || p.data.ack_request);
    eun_sender_free(tx);
}

/** A packet is refused, then its successor, at the PSN before: it goes when it is awaited. */
static void awaited_packet_goes_whatever_follows(void **state)
{
    (void)state;
    const struct eun_sender_env env = test_sender_env();
    struct eun_sender *tx = sender_with(&env, 4, 4);
    answer(tx, &env, test_nack(EUN_NACK_MEMORY, 0, 1));
    assert_idle(tx, &env);
    answer(tx, &env, test_nack(EUN_NACK_MEMORY, 1, 2));
    assert_int_equal(send_psn(tx, &env, true), 1);
    assert_idle(tx, &env);
    answer(tx, &env, test_ack(2));
    assert_int_equal(send_psn(tx, &env, true), 2);
    eun_sender_free(tx);
}

/** DEGRADED: SACKs are void, all goes again in order, and nothing passes a held Last. */
static void degraded_receiver_is_served_in_order(void **state)
{
    (void)state;
    struct eun_sender_env env = test_sender_env();
    env.gate = EUN_GATE_SENDER;
    struct eun_sender *tx = sender_with(&env, 4, 3); /* 0 1 2 [3] */
    assert_true(eun_sender_post(tx, &env, 5 * env.mtu, 0));
    assert_true(eun_sender_post(tx, &env, 5 * env.mtu, 0));
    for (uint32_t psn = 4; psn < 7; psn++)
        assert_int_equal(send_psn(tx, &env, false), psn);
    answer(tx, &env, test_sack(1, 2));
    answer(tx, &env, test_sack(1, 5));
    answer(tx, &env, test_nack(EUN_NACK_DEGRADED, 1, 6));
    assert_int_equal(send_psn(tx, &env, true), 1);
    assert_idle(tx, &env);
    answer(tx, &env, test_ack(2));
    assert_int_equal(send_psn(tx, &env, true), 2);
    /* Two may be outstanding, but 3 is held. */
    assert_allowance(tx, 2);
    assert_idle(tx, &env);
    /* A SACK from before comes late: no longer believed. */
    answer(tx, &env, test_sack(2, 5));
    answer(tx, &env, test_ack(3));
    assert_allowance(tx, 3);
    assert_int_equal(send_psn(tx, &env, false), 3);
    assert_int_equal(send_psn(tx, &env, true), 4);
    assert_int_equal(send_psn(tx, &env, true), 5);
    assert_idle(tx, &env);
    answer(tx, &env, test_ack(5));
    assert_int_equal(send_psn(tx, &env, true), 6);
    assert_int_equal(send_psn(tx, &env, false), 7);
    assert_idle(tx, &env);
    /* All from before is acknowledged: as usual again, 8 is held and later packets leave. */
    answer(tx, &env, test_ack(7));
    assert_int_equal(send_psn(tx, &env, false), 9);
    eun_sender_free(tx);
}

/** A stale DEGRADED voids the SACKs and rewinds nothing. */
static void stale_degraded_never_rewinds(void **state)
{
    (void)state;
    const struct eun_sender_env env = test_sender_env();
    struct eun_sender *tx = sender_with(&env, 10, 10);
    answer(tx, &env, test_sack(5, 7));
    answer(tx, &env, test_nack(EUN_NACK_DEGRADED, 3, 6));
    assert_idle(tx, &env);
    assert_allowance(tx, EUN_ALLOWANCE_UNLIMITED);
    time_out(tx, &env);
    serve_one_by_one(tx, &env, 5, 10);
    eun_sender_free(tx);
}

/** The receiver repeats DEGRADED while it discards what was under way: it is heard once a PSN. */
static void repeated_degraded_restarts_nothing(void **state)
{
    (void)state;
    const struct eun_sender_env env = test_sender_env();
    struct eun_sender *tx = sender_with(&env, 10, 10);
    answer(tx, &env, test_nack(EUN_NACK_DEGRADED, 0, 5));
    assert_int_equal(send_psn(tx, &env, true), 0);
    for (uint32_t psn = 6; psn < 10; psn++)
        answer(tx, &env, test_nack(EUN_NACK_DEGRADED, 0, psn));
    assert_idle(tx, &env);
    answer(tx, &env, test_ack(1));
    assert_allowance(tx, 2);
    assert_int_equal(send_psn(tx, &env, true), 1);
    /* Awaiting another PSN is news, and a lost copy is the timeout's. */
    answer(tx, &env, test_nack(EUN_NACK_DEGRADED, 1, 2));
    assert_int_equal(send_psn(tx, &env, true), 1);
    answer(tx, &env, test_nack(EUN_NACK_DEGRADED, 1, 3));
    assert_idle(tx, &env);
    time_out(tx, &env);
    serve_one_by_one(tx, &env, 1, 10);
    eun_sender_free(tx);
}

/** A SACK for the very packet that is awaited is from before the receiver forgot. */
static void contradictory_sack_is_dropped_at_the_timeout(void **state)
{
    (void)state;
    const struct eun_sender_env env = test_sender_env();
    struct eun_sender *tx = sender_with(&env, 5, 5);
    answer(tx, &env, test_sack(1, 3));
    answer(tx, &env, test_sack(1, 4));
    answer(tx, &env, test_ack(3));
    time_out(tx, &env);
    serve_one_by_one(tx, &env, 3, 5);
    eun_sender_free(tx);
    /* The same with the ACK after the timeout: the sweep ends with nothing sent. */
    tx = sender_with(&env, 5, 5);
    answer(tx, &env, test_sack(2, 3));
    answer(tx, &env, test_sack(2, 4));
    time_out(tx, &env);
    answer(tx, &env, test_ack(3));
    assert_idle(tx, &env);
    time_out(tx, &env);
    assert_int_equal(send_psn(tx, &env, true), 3);
    eun_sender_free(tx);
}

/** Once a QP is degraded, a SACK from before spares no packet the next timeout. */
static void late_sack_is_not_believed(void **state)
{
    (void)state;
    const struct eun_sender_env env = test_sender_env();
    struct eun_sender *tx = sender_with(&env, 4, 4);
    answer(tx, &env, test_nack(EUN_NACK_DEGRADED, 1, 3));
    answer(tx, &env, test_sack(0, 2));
    time_out(tx, &env);
    serve_one_by_one(tx, &env, 1, 4);
    eun_sender_free(tx);
}

/** One answer may acknowledge a sweep under way and a Last that left past its end. */
static void answer_may_pass_the_sweep(void **state)
{
    (void)state;
    struct eun_sender_env env = test_sender_env();
    env.gate = EUN_GATE_SENDER;
    env.gate_scope_message = true;
    env.cap_psns = 4;
    struct eun_sender *tx = sender_with(&env, 1, 1); /* 0, then 1 2 3 [4], then 5 ... */
    assert_true(eun_sender_post(tx, &env, 4 * env.mtu, 0));
    assert_true(eun_sender_post(tx, &env, 9 * env.mtu, 0));
    assert_int_equal(send_psn(tx, &env, false), 1);
    assert_int_equal(send_psn(tx, &env, false), 2);
    /* With a refusal the cap counts: 4 is not passed as long as una is 0. */
    answer(tx, &env, test_nack(EUN_NACK_CAP, 0, 2));
    assert_int_equal(send_psn(tx, &env, false), 3);
    time_out(tx, &env);
    for (uint32_t psn = 1; psn < 4; psn++)
        answer(tx, &env, test_sack(0, psn));
    assert_int_equal(send_psn(tx, &env, false), 4);
    answer(tx, &env, test_ack(5));
    assert_int_equal(send_psn(tx, &env, false), 5);
    assert_int_equal(eun_sender_retransmitted(tx), 0);
    eun_sender_free(tx);
}

/** A Last that the gate lets go ahead of a sweep leaves once, unless it is refused. */
static void freed_last_is_not_swept_again(void **state)
{
    (void)state;
    struct eun_sender_env env = test_sender_env();
    env.gate = EUN_GATE_SENDER;
    env.gate_scope_message = true;
    for (int refused = 0; refused < 2; refused++) {
        struct eun_sender *tx = sender_with(&env, 3, 2); /* 0 1 [2] 3 4 [5] */
        assert_true(eun_sender_post(tx, &env, 3 * env.mtu, 0));
        assert_int_equal(send_psn(tx, &env, false), 3);
        assert_int_equal(send_psn(tx, &env, false), 4);
        time_out(tx, &env);
        answer(tx, &env, test_sack(0, 3));
        answer(tx, &env, test_sack(0, 4));
        assert_int_equal(send_psn(tx, &env, false), 5);
        assert_int_equal(send_psn(tx, &env, true), 0);
        assert_idle(tx, &env);
        if (refused)
            answer(tx, &env, test_nack(EUN_NACK_CAP, 0, 5));
        assert_idle(tx, &env);
        answer(tx, &env, test_ack(1));
        assert_int_equal(send_psn(tx, &env, true), 1);
        /* The next sweep has it like any other, if this one did not come to it. */
        if (refused) {
            answer(tx, &env, test_ack(2));
            assert_int_equal(send_psn(tx, &env, false), 2);
            assert_idle(tx, &env);
            answer(tx, &env, test_ack(3));
            assert_int_equal(send_psn(tx, &env, true), 5);
            assert_idle(tx, &env);
            time_out(tx, &env);
            answer(tx, &env, test_ack(5));
        } else {
            assert_idle(tx, &env);
            time_out(tx, &env);
            assert_int_equal(send_psn(tx, &env, true), 1);
            assert_idle(tx, &env);
            answer(tx, &env, test_ack(2));
            assert_int_equal(send_psn(tx, &env, false), 2);
            answer(tx, &env, test_ack(5));
        }
        assert_int_equal(send_psn(tx, &env, true), 5);
        assert_idle(tx, &env);
        eun_sender_free(tx);
    }
}

/* Both. */

/** The copies of PSN 9 are lost, five of them: nothing completes before it is delivered. */
static void lost_packet_is_repaired_by_timeouts(void **state)
{
    (void)state;
    struct eun_sender_env env = test_sender_env();
    env.retry_limit = 10;
    struct end end;
    struct eun_sender *tx = eun_sender_new(EUNOMIA, 0);
    struct eun_message m;
    struct eun_tx_packet p;
    int64_t now = 0;
    int copies = 0;
    int whole = 0;
    open_end(&end, 1024, 0);
    assert_true(eun_sender_post(tx, &env, 12 * env.mtu, 0));
    assert_true(eun_sender_post(tx, &env, 4 * env.mtu, 1));
    while (eun_sender_una(tx) != 16) {
        while (eun_sender_next(tx, &env, now, &p)) {
            struct eun_rx_verdict v;
            if (p.data.psn == 9 && ++copies <= 5)
                continue;
            EUNOMIA->receive(&end.rx, &end.env, &p.data, now, &v);
            assert_true(v.completed == 0 || copies == 6);
            whole += (int)v.completed;
            eun_sender_feedback(tx, &env, &v.feedback, now);
            assert_true(eun_sender_una(tx) == 16 || !eun_sender_completed(tx, &m));
        }
        if (eun_sender_una(tx) == 16)
            break;
        assert_int_equal(eun_sender_una(tx), 9);
        now = eun_sender_deadline(tx, &env);
        assert_true(eun_sender_timeout(tx, &env, now));
    }
    assert_int_equal(copies, 6);
    assert_int_equal(whole, 2);
    /* Only the missing packet went again. */
    assert_int_equal(eun_sender_retransmitted(tx), 5);
    assert_int_equal(now, 5 * env.rto_ps);
    assert_true(eun_sender_completed(tx, &m));
    assert_int_equal(m.cookie, 0);
    assert_true(eun_sender_completed(tx, &m));
    assert_false(eun_sender_completed(tx, &m));
    eun_sender_free(tx);
    close_end(&end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(last_packet_alone_completes_nothing),
        cmocka_unit_test(all_orders_of_arrival),
        cmocka_unit_test(head_is_learned_after_a_long_jump),
        cmocka_unit_test(contradictions_are_rejected),
        cmocka_unit_test(answers_name_what_happened),
        cmocka_unit_test(acks_are_coalesced_in_order_only),
        cmocka_unit_test(sacks_are_coalesced),
        cmocka_unit_test(early_lasts_are_staged),
        cmocka_unit_test(refusals_degrade_to_go_back_n),
        cmocka_unit_test(a_stray_packet_does_not_prolong_a_fallback),
        cmocka_unit_test(sack_is_advice),
        cmocka_unit_test(refused_packet_waits_for_progress),
        cmocka_unit_test(late_refusal_is_repaired_at_once),
        cmocka_unit_test(refusals_bring_in_the_cap),
        cmocka_unit_test(timeout_resends_within_the_cap),
        cmocka_unit_test(recovery_starts_with_one_packet),
        cmocka_unit_test(only_news_of_missing_memory_cuts),
        cmocka_unit_test(copies_ask_for_an_answer),
        cmocka_unit_test(awaited_packet_goes_whatever_follows),
        cmocka_unit_test(degraded_receiver_is_served_in_order),
        cmocka_unit_test(stale_degraded_never_rewinds),
        cmocka_unit_test(repeated_degraded_restarts_nothing),
        cmocka_unit_test(contradictory_sack_is_dropped_at_the_timeout),
        cmocka_unit_test(late_sack_is_not_believed),
        cmocka_unit_test(answer_may_pass_the_sweep),
        cmocka_unit_test(freed_last_is_not_swept_again),
        cmocka_unit_test(lost_packet_is_repaired_by_timeouts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
