/* SPDX-License-Identifier: GPL-2.0-only */
#include "event-queue.h"

#include "core/transport/mprdma-window.h"

#include <string.h>

#define MPRDMA (&eun_transport_mprdma)
#define SLOTS 64u
#define RTT (8 * US)
#define BURST US

static struct eun_fixed_shape g_shape;

static int make_shape(void **state)
{
    (void)state;
    return eun_fixed_shape_init(&g_shape, SLOTS) ? 0 : -1;
}

/** A sender and a receiver at one place: what is sent arrives when the test says so, or never. */
struct ends {
    struct eun_sender_env tx_env;
    struct eun_receiver_env rx_env;
    struct eun_mprdma_config config;
    struct eun_sender *tx;
    struct eun_receiver rx;
    uint64_t bitmap[SLOTS / 64u * 2u];
    uint32_t origin;
    int64_t now;
};

static void ends_init(struct ends *e, double window, uint32_t origin)
{
    *e = (struct ends){.tx_env = test_sender_env(), .origin = origin};
    e->config = (struct eun_mprdma_config){.initial_window = window,
                                           .limit = 4096,
                                           .rtt_ps = RTT,
                                           .burst_ps = BURST,
                                           .ooo_psns = 32,
                                           .sync_alpha = 1};
    e->tx_env.mprdma = &e->config;
    e->tx_env.cap_psns = SLOTS;
    e->tx_env.window_psns = 4096;
    e->rx_env = test_receiver_env(NULL);
    e->rx_env.fixed = &g_shape;
    e->tx = eun_sender_new(MPRDMA, origin);
    assert_non_null(e->tx);
    eun_sender_start(e->tx, &e->tx_env, 1);
    eun_receiver_init(&e->rx, 0, origin);
    memset(e->bitmap, 0xff, sizeof e->bitmap);
    eun_receiver_lend(&e->rx, &g_shape, e->bitmap);
}

static void post(struct ends *e, uint32_t packets)
{
    assert_true(eun_sender_post(e->tx, &e->tx_env, packets * e->tx_env.mtu, 0));
}

static void is_idle(const struct ends *e)
{
    assert_int_equal(eun_sender_state(e->tx, &e->tx_env), EUN_TX_IDLE);
}

/** `psn`, counted from the first one, leaves; its path. */
static uint16_t sends(struct ends *e, uint32_t psn, bool again)
{
    struct eun_tx_packet packet = {0};
    assert_int_equal(eun_sender_state(e->tx, &e->tx_env), EUN_TX_READY);
    assert_true(eun_sender_next(e->tx, &e->tx_env, e->now, &packet));
    assert_int_equal(packet.data.psn - e->origin, psn);
    assert_int_equal(packet.retransmission, again);
    assert_int_equal(packet.data.retransmission, again);
    assert_int_equal(packet.data.sync, packet.data.last && e->config.sync_lasts);
    test_validate(e->tx);
    return packet.data.path;
}

static void sends_new(struct ends *e, uint32_t from, uint32_t end)
{
    for (uint32_t psn = from; psn < end; psn++)
        sends(e, psn, false);
}

static void answer(struct ends *e, struct eun_feedback fb, uint16_t path, bool ce)
{
    fb.path = path;
    fb.ce = ce;
    eun_sender_feedback(e->tx, &e->tx_env, &fb, e->now);
    test_validate(e->tx);
}

/** `psn` came on `path`, and moved the cumulative point past it. */
static void ack(struct ends *e, uint32_t psn, uint16_t path)
{
    struct eun_feedback fb = test_ack(e->origin + psn + 1u);
    fb.psn = e->origin + psn;
    answer(e, fb, path, false);
}

/** As ack(), and the packet was sent before. */
static void ack_repeat(struct ends *e, uint32_t psn, uint16_t path)
{
    struct eun_feedback fb = test_ack(e->origin + psn + 1u);
    fb.psn = e->origin + psn;
    fb.retransmission = true;
    answer(e, fb, path, false);
}

static void sack(struct ends *e, uint32_t expected, uint32_t psn, uint16_t path)
{
    answer(e, test_sack(e->origin + expected, e->origin + psn), path, false);
}

static void nack(struct ends *e, enum eun_nack_reason reason, uint32_t expected, uint32_t psn)
{
    answer(e, test_nack(reason, e->origin + expected, e->origin + psn), 55555, false);
}

static void pace_at(struct ends *e, int64_t at)
{
    assert_int_equal(eun_sender_pace_deadline(e->tx), at);
    e->now = at - 1;
    eun_sender_pace(e->tx, &e->tx_env, e->now);
    is_idle(e);
    assert_int_equal(eun_sender_pace_deadline(e->tx), at);
    e->now = at;
    eun_sender_pace(e->tx, &e->tx_env, e->now);
}

static struct eun_rx_verdict arrive(struct ends *e, uint32_t psn, bool last, bool sync)
{
    const struct eun_data data = {.psn = e->origin + psn, .last = last, .sync = sync};
    struct eun_rx_verdict v;
    MPRDMA->receive(&e->rx, &e->rx_env, &data, e->now, &v);
    return v;
}

static void is_answer(const struct ends *e, const struct eun_rx_verdict *v,
                      enum eun_feedback_kind kind, uint32_t expected, uint32_t psn)
{
    assert_int_equal(v->feedback.kind, kind);
    assert_int_equal(v->feedback.expected, e->origin + expected);
    assert_int_equal(v->feedback.psn, e->origin + psn);
}

/* The receiver. */

/** In order ACK, ahead SACK, and again the same; each names cumulative point and packet. */
static void every_packet_is_answered(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 10, 0u - 2u);
    e.rx_env.ack_every = 100;
    e.rx_env.sack_every = 100;
    struct eun_rx_verdict v = arrive(&e, 0, false, false);
    is_answer(&e, &v, EUN_FEEDBACK_ACK, 1, 0);
    for (int copy = 0; copy < 2; copy++) {
        v = arrive(&e, 2, true, false);
        assert_int_equal(v.disposition, copy ? EUN_RX_DUPLICATE : EUN_RX_HELD);
        assert_true(v.out_of_order && v.span == 1 && v.completed == 0);
        is_answer(&e, &v, EUN_FEEDBACK_SACK, 1, 2);
    }
    v = arrive(&e, 1, false, false);
    assert_true(v.advanced == 2 && v.completed == 1 && v.visible == 1);
    is_answer(&e, &v, EUN_FEEDBACK_ACK, 3, 1);
    v = arrive(&e, 0, false, false);
    assert_int_equal(v.disposition, EUN_RX_DUPLICATE);
    is_answer(&e, &v, EUN_FEEDBACK_ACK, 3, 0);
    eun_sender_free(e.tx);
}

/** The last of the slots takes a packet, the next PSN is dropped and NACKed. */
static void the_bitmap_has_an_edge(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 10, 7);
    struct eun_rx_verdict v = arrive(&e, SLOTS - 1u, false, false);
    assert_int_equal(v.disposition, EUN_RX_HELD);
    v = arrive(&e, SLOTS, false, false);
    assert_int_equal(v.disposition, EUN_RX_REFUSED);
    assert_int_equal(v.feedback.reason, EUN_NACK_CAP);
    is_answer(&e, &v, EUN_FEEDBACK_NACK, 0, SLOTS);
    arrive(&e, 0, false, false);
    v = arrive(&e, SLOTS, false, false);
    assert_int_equal(v.disposition, EUN_RX_HELD);
    eun_sender_free(e.tx);
}

static void a_synchronise_packet_comes_in_order_or_not_at_all(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 10, 0);
    struct eun_rx_verdict v = arrive(&e, 1, true, true);
    assert_int_equal(v.disposition, EUN_RX_REFUSED);
    assert_int_equal(v.feedback.reason, EUN_NACK_SYNC);
    is_answer(&e, &v, EUN_FEEDBACK_NACK, 0, 1);
    v = arrive(&e, 0, false, false);
    assert_int_equal(v.advanced, 1);
    v = arrive(&e, 1, true, true);
    assert_true(v.advanced == 1 && v.completed == 1);
    v = arrive(&e, 1, true, true);
    assert_int_equal(v.disposition, EUN_RX_DUPLICATE);
    is_answer(&e, &v, EUN_FEEDBACK_ACK, 2, 1);
    eun_sender_free(e.tx);
}

/** What the receiver is to say, counted PSN by PSN. */
struct naive {
    bool kept[1000];
    bool last[1000];
    uint32_t expected;
};

static void check_arrival(struct ends *e, struct naive *n, uint32_t psn, bool sync)
{
    const struct eun_rx_verdict v = arrive(e, psn, n->last[psn], sync);
    const bool ahead = psn > n->expected;
    const bool known = psn < n->expected || n->kept[psn];
    enum eun_feedback_kind kind = ahead ? EUN_FEEDBACK_SACK : EUN_FEEDBACK_ACK;
    enum eun_disposition disposition = ahead ? EUN_RX_HELD : EUN_RX_ACCEPTED;
    uint32_t lasts = 0;
    if (ahead && (sync || psn - n->expected >= SLOTS)) {
        kind = EUN_FEEDBACK_NACK;
        disposition = EUN_RX_REFUSED;
    } else {
        n->kept[psn] = true;
        disposition = known ? EUN_RX_DUPLICATE : disposition;
    }
    for (; n->kept[n->expected]; n->expected++)
        lasts += n->last[n->expected];
    assert_int_equal(v.disposition, disposition);
    assert_int_equal(v.completed, lasts);
    is_answer(e, &v, kind, n->expected, psn);
}

/** Random arrivals around both ends of the bitmap. A Last either synchronises always or never. */
static void receiver_follows_the_naive_model(void **state)
{
    (void)state;
    struct test_random r = test_random_start(11);
    for (int run = 0; run < 200; run++) {
        struct ends e;
        static struct naive n;
        memset(&n, 0, sizeof n);
        ends_init(&e, 1, test_first_psn(&r));
        const bool sync = test_chance(&r, 50);
        const uint32_t spread = test_between(&r, 1, 2 * SLOTS);
        for (uint32_t i = 0; i < 1000; i++)
            n.last[i] = test_chance(&r, 10);
        while (n.expected < 800) {
            const uint32_t low = n.expected < 5 ? n.expected : 5;
            const uint32_t psn = n.expected - low + test_below(&r, spread + low);
            check_arrival(&e, &n, psn, sync && n.last[psn]);
            if (test_chance(&r, 30))
                check_arrival(&e, &n, n.expected, sync && n.last[n.expected]);
        }
        eun_sender_free(e.tx);
    }
}

/* The sender, by hand. */

/** The initial window goes at once, on paths of its own each, and then nothing does. */
static void the_initial_window_spreads(void **state)
{
    (void)state;
    struct ends e;
    uint16_t path[10];
    uint32_t equal = 0;
    ends_init(&e, 10, 0u - 5u);
    is_idle(&e);
    post(&e, 100);
    for (uint32_t psn = 0; psn < 10; psn++) {
        path[psn] = sends(&e, psn, false);
        for (uint32_t i = 0; i < psn; i++)
            equal += path[i] == path[psn];
    }
    is_idle(&e);
    assert_int_equal(equal, 0);
    assert_int_equal(eun_sender_pace_deadline(e.tx), INT64_MAX);
    eun_sender_free(e.tx);
}

/** Window 4.25: one answer lets one packet go, the fourth one two, on the path it came by. */
static void answers_clock(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 4.25, 9);
    post(&e, 100);
    sends_new(&e, 0, 4);
    for (uint32_t psn = 0; psn < 3; psn++) {
        ack(&e, psn, (uint16_t)(50000u + psn));
        assert_int_equal(sends(&e, 4 + psn, false), 50000u + psn);
        is_idle(&e);
    }
    ack(&e, 3, 50003);
    assert_int_equal(sends(&e, 7, false), 50003);
    assert_int_equal(sends(&e, 8, false), 50003);
    is_idle(&e);
    eun_sender_free(e.tx);
}

/** A SACK clocks as an ACK does; with a mark on every second answer less goes than came. */
static void marks_slow_down(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 10, 0);
    post(&e, 100);
    sends_new(&e, 0, 10);
    sack(&e, 0, 1, 50001);
    assert_int_equal(sends(&e, 10, false), 50001);
    is_idle(&e);
    answer(&e, test_sack(0, 2), 50002, true);
    is_idle(&e);
    answer(&e, test_sack(0, 3), 50003, true);
    assert_int_equal(sends(&e, 11, false), 50003);
    is_idle(&e);
    eun_sender_free(e.tx);
}

/** The ACK that fills a hole may open more than two packets: the rest waits for the burst timer. */
static void the_burst_timer_takes_what_is_left_over(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 10, 0);
    post(&e, 100);
    sends_new(&e, 0, 10);
    e.now = RTT;
    ack(&e, 5, 50005); /* the answers to 0..4 were lost */
    sends(&e, 10, false);
    sends(&e, 11, false);
    is_idle(&e);
    pace_at(&e, RTT + BURST);
    sends_new(&e, 12, 16);
    is_idle(&e);
    assert_int_equal(eun_sender_pace_deadline(e.tx), INT64_MAX);
    eun_sender_free(e.tx);
}

/** A later answer uses up what was left over, and no timer is left. */
static void a_later_answer_comes_before_the_burst_timer(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 10, 0);
    post(&e, 100);
    sends_new(&e, 0, 10);
    ack(&e, 2, 50002);
    sends_new(&e, 10, 12);
    assert_int_equal(eun_sender_pace_deadline(e.tx), BURST);
    ack(&e, 3, 50003);
    assert_int_equal(sends(&e, 12, false), 50003);
    assert_int_equal(sends(&e, 13, false), 50003);
    is_idle(&e);
    assert_int_equal(eun_sender_pace_deadline(e.tx), INT64_MAX);
    eun_sender_free(e.tx);
}

/** Ten answers with nothing to send take ten packets off the window. */
static void a_window_is_used_or_lost(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 20, 0);
    post(&e, 10);
    sends_new(&e, 0, 10);
    for (uint32_t psn = 0; psn < 10; psn++)
        ack(&e, psn, 50000);
    is_idle(&e);
    post(&e, 100);
    /* 20 + 1/20 + ... while it shrinks by one each: between 10 and 11. */
    sends_new(&e, 10, 20);
    is_idle(&e);
    eun_sender_free(e.tx);
}

/** Delta 32: PSN 1 is answered behind 34, and its path gets nothing. */
static void slow_paths_are_left(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 40, 0);
    post(&e, 100);
    sends_new(&e, 0, 40);
    sack(&e, 0, 34, 50034);
    sends(&e, 40, false);
    sack(&e, 0, 2, 50002);
    assert_int_equal(sends(&e, 41, false), 50002);
    sack(&e, 0, 1, 50001);
    is_idle(&e);
    assert_int_equal(eun_sender_pace_deadline(e.tx), INT64_MAX);
    /* Not even what goes again. */
    nack(&e, EUN_NACK_CAP, 0, 41);
    sends(&e, 0, true);
    ack(&e, 0, 50000);
    is_idle(&e);
    eun_sender_free(e.tx);
}

/** 66 came too early: each answer sends one packet again, oldest first, until una passes nxt. */
static void recovery_by_nack(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 70, 0u - 30u);
    post(&e, 200);
    sends_new(&e, 0, 70);
    for (uint32_t psn = 2; psn < 64; psn++) {
        sack(&e, 0, psn, 50000);
        sends(&e, 68 + psn, false);
    }
    is_idle(&e);
    nack(&e, EUN_NACK_CAP, 0, 66);
    assert_int_equal(sends(&e, 0, true), 55555);
    is_idle(&e);
    ack_repeat(&e, 0, 50100);
    assert_int_equal(sends(&e, 1, true), 50100);
    is_idle(&e);
    ack(&e, 63, 50101);
    sends(&e, 64, true);
    is_idle(&e);
    sack(&e, 64, 65, 50000);
    sends(&e, 66, true);
    /* A second drop before una gets to where the recovery began starts no other one. */
    nack(&e, EUN_NACK_CAP, 64, 128);
    sends(&e, 67, true);
    is_idle(&e);
    assert_true(e.tx->recovering);
    assert_int_equal(e.tx->recover_until, e.origin + 132u);
    assert_int_equal(eun_sender_retransmitted(e.tx), 5);
    ack(&e, 130, 50000);
    assert_true(e.tx->recovering);
    ack(&e, 131, 50000);
    assert_false(e.tx->recovering);
    eun_sender_free(e.tx);
}

/** Refused again after the sweep has passed it: goes once more when una has moved. */
static void refused_again_during_recovery(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 4, 0);
    post(&e, 50);
    sends_new(&e, 0, 4);
    nack(&e, EUN_NACK_CAP, 0, 1);
    sends(&e, 0, true);
    sack(&e, 0, 3, 50000);
    sends(&e, 1, true);
    sack(&e, 0, 2, 50000);
    nack(&e, EUN_NACK_CAP, 0, 1);
    /* Of a window of 4 only 0 is under way. */
    sends_new(&e, 4, 7);
    is_idle(&e);
    assert_int_equal(eun_sender_pace_deadline(e.tx), INT64_MAX);
    ack(&e, 0, 50007);
    assert_int_equal(sends(&e, 1, true), 50007);
    eun_sender_free(e.tx);
}

/** All of 8 are lost: half of the window goes again at the timeout, oldest first. */
static void recovery_by_timeout(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 8, 3);
    post(&e, 20);
    sends_new(&e, 0, 8);
    e.now = eun_sender_deadline(e.tx, &e.tx_env);
    assert_int_equal(e.now, e.tx_env.rto_ps);
    assert_true(eun_sender_timeout(e.tx, &e.tx_env, e.now));
    for (uint32_t psn = 0; psn < 4; psn++)
        sends(&e, psn, true);
    is_idle(&e);
    assert_true(e.tx->recovering);
    ack(&e, 0, 50000);
    assert_int_equal(sends(&e, 4, true), 50000);
    is_idle(&e);
    assert_int_equal(eun_sender_pace_deadline(e.tx), INT64_MAX);
    eun_sender_free(e.tx);
}

/** A NACK whose packet came all the same leaves the window as it was. */
static void a_loss_that_was_none(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 5, 0);
    post(&e, 50);
    sends_new(&e, 0, 5);
    nack(&e, EUN_NACK_CAP, 0, 4);
    sends(&e, 0, true);
    nack(&e, EUN_NACK_CAP, 0, 4);
    nack(&e, EUN_NACK_CAP, 0, 4);
    sends(&e, 1, true);
    sends(&e, 2, true);
    nack(&e, EUN_NACK_CAP, 0, 4);
    ack(&e, 4, 50000);
    assert_false(e.tx->recovering);
    /* Three were granted to the NACK and the ACK; what is free makes six with growth. */
    while (eun_sender_state(e.tx, &e.tx_env) == EUN_TX_READY)
        sends(&e, eun_sender_nxt(e.tx), false);
    e.now = BURST;
    eun_sender_pace(e.tx, &e.tx_env, e.now);
    while (eun_sender_state(e.tx, &e.tx_env) == EUN_TX_READY)
        sends(&e, eun_sender_nxt(e.tx), false);
    assert_int_equal(eun_sender_nxt(e.tx), 10);
    eun_sender_free(e.tx);
}

/** While there was work, a further message lets nothing go; after a silence it does. */
static void messages_start_what_stood_still(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 10, 0);
    post(&e, 12);
    sends_new(&e, 0, 10);
    ack(&e, 5, 50000);
    sends_new(&e, 10, 12);
    post(&e, 100);
    /* The four that the answer left over, at once: nothing else would start them. */
    sends_new(&e, 12, 16);
    is_idle(&e);
    ack(&e, 11, 50000);
    post(&e, 100);
    sends_new(&e, 16, 18);
    is_idle(&e);
    eun_sender_free(e.tx);
}

/** Stale and impossible answers clock nothing and begin no recovery. */
static void stale_answers(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 5, 0);
    post(&e, 50);
    sends_new(&e, 0, 5);
    sack(&e, 0, 3, 50000);
    sends(&e, 5, false);
    ack(&e, 0, 50000);
    sends(&e, 6, false);
    nack(&e, EUN_NACK_CAP, 0, 0);
    nack(&e, EUN_NACK_CAP, 1, 3);
    nack(&e, EUN_NACK_CAP, 1, 7);
    assert_false(e.tx->recovering);
    is_idle(&e);
    sack(&e, 1, 99, 50000);
    is_idle(&e);
    assert_false(eun_scoreboard_has(&e.tx->board, 1, 99));
    ack(&e, 1, 50001);
    assert_int_equal(sends(&e, 7, false), 50001);
    eun_sender_free(e.tx);
}

/** The Last of 5 waits alpha Delta RTT / cwnd after the packet before, and so does all behind. */
static void a_synchronise_packet_waits(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 16, 0);
    e.config.sync_lasts = true;
    post(&e, 5);
    post(&e, 5);
    e.now = 3 * US;
    sends_new(&e, 0, 4);
    is_idle(&e);
    pace_at(&e, 3 * US + 2 * RTT);
    sends(&e, 4, false);
    sends_new(&e, 5, 9);
    is_idle(&e);
    /* No later than when all before it is acknowledged. */
    ack(&e, 8, 50000);
    sends(&e, 9, false);
    assert_int_equal(eun_sender_pace_deadline(e.tx), INT64_MAX);
    eun_sender_free(e.tx);
}

/** A message of one packet, with nothing before it, does not wait. */
static void nothing_to_synchronise_with(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 16, 0);
    e.config.sync_lasts = true;
    post(&e, 1);
    sends(&e, 0, false);
    assert_int_equal(eun_sender_pace_deadline(e.tx), INT64_MAX);
    eun_sender_free(e.tx);
}

/** It came too early, and again while that is being mended: it goes when it is awaited. */
static void a_synchronise_packet_comes_too_early(void **state)
{
    (void)state;
    struct ends e;
    ends_init(&e, 16, 0);
    e.config.sync_lasts = true;
    e.config.sync_alpha = 0;
    post(&e, 4);
    sends_new(&e, 0, 4);
    nack(&e, EUN_NACK_SYNC, 0, 3);
    sends(&e, 0, true);
    sack(&e, 0, 2, 50000);
    sends(&e, 1, true);
    sack(&e, 0, 2, 50000);
    sends(&e, 3, true);
    nack(&e, EUN_NACK_SYNC, 0, 3);
    is_idle(&e);
    ack(&e, 0, 50000);
    is_idle(&e);
    ack(&e, 2, 50009);
    assert_int_equal(sends(&e, 3, true), 50009);
    is_idle(&e);
    eun_sender_free(e.tx);
}

/* Both ends. */

struct plan {
    uint32_t packets;
    uint32_t lost_data;    /**< bit p: the first copy of packet p is lost */
    uint32_t lost_answers; /**< bit n: the n-th answer is lost */
    bool sync;
    double window;
};

static void carry(struct ends *e, struct event_queue *queue, const struct plan *plan,
                  uint32_t *accepted, uint32_t *answers)
{
    const struct event event = event_pop(queue);
    e->now = event.at;
    if (event.kind == EVENT_FEEDBACK) {
        eun_sender_feedback(e->tx, &e->tx_env, &event.u.feedback, e->now);
        return;
    }
    struct eun_rx_verdict v;
    MPRDMA->receive(&e->rx, &e->rx_env, &event.u.data, e->now, &v);
    *accepted += v.disposition == EUN_RX_ACCEPTED || v.disposition == EUN_RX_HELD;
    v.feedback.path = event.u.data.path;
    v.feedback.retransmission = event.u.data.retransmission;
    if ((plan->lost_answers >> (*answers)++ & 1u) == 0 || *answers > 31)
        event_push(queue, (struct event){.at = e->now + RTT / 2,
                                         .kind = EVENT_FEEDBACK,
                                         .u.feedback = v.feedback});
}

/** Until the message has completed; the time that took. */
static int64_t complete(const struct plan *plan, struct test_random *r)
{
    struct ends e;
    struct event_queue queue = {0};
    struct eun_message done;
    uint32_t accepted = 0;
    uint32_t answers = 0;
    ends_init(&e, plan->window, test_first_psn(r));
    e.config.sync_lasts = plan->sync;
    e.tx_env.retry_limit = 100;
    post(&e, plan->packets);
    while (!eun_sender_completed(e.tx, &done)) {
        struct eun_tx_packet packet = {0};
        for (; eun_sender_next(e.tx, &e.tx_env, e.now, &packet); e.now += US / 100) {
            const uint32_t psn = packet.data.psn - e.origin;
            if (packet.retransmission || (plan->lost_data >> psn & 1u) == 0)
                event_push(&queue, (struct event){.at = e.now + RTT / 2,
                                                  .kind = EVENT_DATA,
                                                  .u.data = packet.data});
        }
        test_validate(e.tx);
        const int64_t arrival = queue.count > 0 ? queue.heap[0].at : INT64_MAX;
        const int64_t pace = eun_sender_pace_deadline(e.tx);
        const int64_t rto = eun_sender_deadline(e.tx, &e.tx_env);
        if (arrival <= pace && arrival <= rto) {
            carry(&e, &queue, plan, &accepted, &answers);
        } else if (pace <= rto) {
            e.now = pace > e.now ? pace : e.now;
            eun_sender_pace(e.tx, &e.tx_env, e.now);
        } else {
            e.now = rto;
            assert_true(eun_sender_timeout(e.tx, &e.tx_env, rto));
        }
        assert_true(e.now < 100 * MS);
    }
    assert_int_equal(accepted, plan->packets);
    assert_int_equal(e.rx.msn, 1);
    eun_sender_free(e.tx);
    free(queue.heap);
    return e.now;
}

/** Every set of first copies lost, and of the first six answers, of up to six packets. */
static void every_loss_of_up_to_six_packets(void **state)
{
    (void)state;
    struct test_random r = test_random_start(17);
    for (uint32_t packets = 1; packets <= 6; packets++)
        for (uint32_t data = 0; data < 1u << packets; data++)
            for (uint32_t answers = 0; answers < 1u << packets; answers++)
                for (uint32_t sync = 0; sync < 2; sync++) {
                    const struct plan plan = {.packets = packets,
                                              .lost_data = data,
                                              .lost_answers = answers,
                                              .sync = sync == 1,
                                              .window = 1 + test_below(&r, 8)};
                    const int64_t took = complete(&plan, &r);
                    if (data == 0 && answers == 0)
                        assert_true(took < 4 * MS);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_packet_is_answered),
        cmocka_unit_test(the_bitmap_has_an_edge),
        cmocka_unit_test(a_synchronise_packet_comes_in_order_or_not_at_all),
        cmocka_unit_test(receiver_follows_the_naive_model),
        cmocka_unit_test(the_initial_window_spreads),
        cmocka_unit_test(answers_clock),
        cmocka_unit_test(marks_slow_down),
        cmocka_unit_test(the_burst_timer_takes_what_is_left_over),
        cmocka_unit_test(a_later_answer_comes_before_the_burst_timer),
        cmocka_unit_test(a_window_is_used_or_lost),
        cmocka_unit_test(slow_paths_are_left),
        cmocka_unit_test(recovery_by_nack),
        cmocka_unit_test(refused_again_during_recovery),
        cmocka_unit_test(recovery_by_timeout),
        cmocka_unit_test(a_loss_that_was_none),
        cmocka_unit_test(messages_start_what_stood_still),
        cmocka_unit_test(stale_answers),
        cmocka_unit_test(a_synchronise_packet_waits),
        cmocka_unit_test(nothing_to_synchronise_with),
        cmocka_unit_test(a_synchronise_packet_comes_too_early),
        cmocka_unit_test(every_loss_of_up_to_six_packets),
    };
    return cmocka_run_group_tests(tests, make_shape, NULL);
}
