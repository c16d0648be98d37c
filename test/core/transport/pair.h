/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_TRANSPORT_PAIR_H
#define EUNOMIA_TRANSPORT_PAIR_H

/**
 * A sender and a receiver over a path that reorders at random and loses nothing, with answers
 * coalesced at random. At every moment it is checked that a message shows only when all before it
 * on the QP has come. There are no timers: whoever waited for one would never end.
 */
#include "event-queue.h"

#include <string.h>

#define PAIR_MESSAGES 60u
#define PAIR_PSNS (5u * PAIR_MESSAGES)

struct pair {
    struct test_random r;
    struct event_queue queue;
    struct eun_sender_env tx_env;
    struct eun_receiver_env rx_env;
    struct eun_staging staging;
    struct eun_sender *tx;
    struct eun_receiver rx;
    uint32_t origin;
    uint32_t messages;
    uint32_t end[PAIR_MESSAGES]; /**< one past the last PSN; PSNs from 0 */
    bool came[PAIR_PSNS];
    bool own_window;    /**< the QP has one, which changes with every answer */
    uint32_t refusals;  /**< packets refused for want of a staging slot */
    uint32_t visible;   /**< messages */
    uint32_t completed; /**< at the sender */
    int64_t held_ps;    /**< that the gate held Lasts at the sender */
    int64_t now;
};

/** Messages of 1 to 4 packets, often 1, all posted at the start. */
static inline void pair_init(struct pair *p, struct test_random *r, enum eun_gate gate,
                             bool scope_message, uint32_t staging_limit)
{
    memset(p, 0, sizeof *p);
    p->r = (struct test_random){test_random_next(r)};
    p->origin = test_first_psn(&p->r);
    p->messages = test_between(&p->r, 1, PAIR_MESSAGES);
    p->tx_env = test_sender_env();
    p->tx_env.gate = gate;
    p->tx_env.gate_scope_message = scope_message;
    p->tx_env.window_bytes =
        test_chance(&p->r, 50) ? 0 : test_between(&p->r, 1, 10) * p->tx_env.mtu;
    p->own_window = test_chance(&p->r, 50);
    p->rx_env = test_receiver_env(test_reorder(1024));
    p->rx_env.ack_every = test_between(&p->r, 1, 20);
    p->rx_env.sack_every = test_between(&p->r, 0, 20);
    if (gate == EUN_GATE_RECEIVER)
        test_stage(&p->rx_env, &p->staging, staging_limit, UINT64_C(256000000000));
    p->tx = eun_sender_new(&eun_transport_eunomia, p->origin);
    assert_non_null(p->tx);
    assert_true(eun_reorder_open(p->rx_env.reorder, 0));
    eun_receiver_init(&p->rx, 0, p->origin);
    uint32_t psn = 0;
    for (uint32_t i = 0; i < p->messages; i++) {
        const uint32_t packets = test_chance(&p->r, 50) ? 1 : test_between(&p->r, 2, 4);
        psn += packets;
        p->end[i] = psn;
        assert_true(eun_sender_post(p->tx, &p->tx_env, packets * p->tx_env.mtu, i));
    }
    if (p->own_window)
        eun_sender_set_window(p->tx, 10 * p->tx_env.mtu);
}

static inline void pair_dispose(struct pair *p)
{
    eun_sender_free(p->tx);
    eun_receiver_close(&p->rx, &p->rx_env);
    eun_reorder_free(p->rx_env.reorder);
    eun_staging_dispose(&p->staging);
    free(p->queue.heap);
}

static inline bool pair_all_came(const struct pair *p, uint32_t from, uint32_t end)
{
    for (; from < end; from++)
        if (!p->came[from])
            return false;
    return true;
}

static inline void pair_send(struct pair *p)
{
    struct eun_tx_packet packet;
    for (int64_t at = p->now; eun_sender_next(p->tx, &p->tx_env, p->now, &packet); at += US / 10)
        event_push(&p->queue, (struct event){.at = at + 5 * US + test_below(&p->r, 4000000),
                                             .kind = EVENT_DATA,
                                             .u.data = packet.data});
    test_validate(p->tx);
}

static inline void pair_show(struct pair *p, uint32_t messages)
{
    p->visible += messages;
    assert_true(p->visible <= p->messages);
    if (messages > 0)
        assert_true(pair_all_came(p, 0, p->end[p->visible - 1u]));
}

static inline void pair_data(struct pair *p, const struct eun_data *data)
{
    const uint32_t psn = data->psn - p->origin;
    struct eun_rx_verdict v;
    /* The bytes of a WRITE that no gate keeps back show as they come: with the Last, all must. */
    if (data->last && p->tx_env.gate == EUN_GATE_SENDER)
        assert_true(
            pair_all_came(p, p->tx_env.gate_scope_message ? data->head - p->origin : 0, psn));
    p->came[psn] = true;
    eun_transport_eunomia.receive(&p->rx, &p->rx_env, data, p->now, &v);
    pair_show(p, v.visible);
    assert_int_not_equal(v.disposition, EUN_RX_INVALID);
    if (v.disposition == EUN_RX_REFUSED) {
        assert_int_equal(v.feedback.reason, EUN_NACK_STAGING);
        p->came[psn] = false;
        p->refusals++;
    }
    if (v.feedback.kind != EUN_FEEDBACK_NONE)
        event_push(&p->queue, (struct event){.at = p->now + 5 * US + test_below(&p->r, 2000000),
                                             .kind = EVENT_FEEDBACK,
                                             .u.feedback = v.feedback});
}

static inline void pair_copies(struct pair *p, int64_t now)
{
    struct eun_staged copy;
    while (p->rx_env.staging && eun_staging_finished(&p->staging, now, &copy))
        pair_show(p, copy.messages);
}

static inline void pair_feedback(struct pair *p, const struct eun_feedback *feedback)
{
    eun_sender_feedback(p->tx, &p->tx_env, feedback, p->now);
    if (p->own_window)
        eun_sender_set_window(p->tx, test_between(&p->r, 1, 10 * p->tx_env.mtu));
}

/** Until all is quiet; then every message has completed and shown, without a timeout. */
static inline void pair_run(struct pair *p)
{
    struct eun_message done;
    pair_send(p);
    while (p->queue.count > 0) {
        const struct event event = event_pop(&p->queue);
        p->now = event.at;
        pair_copies(p, p->now);
        if (event.kind == EVENT_DATA)
            pair_data(p, &event.u.data);
        else
            pair_feedback(p, &event.u.feedback);
        for (; eun_sender_completed(p->tx, &done); p->completed++)
            p->held_ps += done.wait_ps;
        pair_send(p);
    }
    pair_copies(p, INT64_MAX - 1);
    assert_int_equal(p->completed, p->messages);
    assert_int_equal(p->visible, p->messages);
}

#endif
