/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_TRANSPORT_DDP_ENDS_H
#define EUNOMIA_TRANSPORT_DDP_ENDS_H

/** What the tests of ddp and ddp-gbn share: a sender and a receiver, PSNs counted from the first.
 */

#include "test-support.h"

#define CAP 128u

struct ends {
    struct eun_sender_env tx_env;
    struct eun_receiver_env rx_env;
    struct eun_fixed_shape shape;
    struct eun_sender *tx;
    struct eun_receiver rx;
    uint64_t bitmap[CAP / 64u * 2u];
    uint32_t origin;
    int64_t now;
};

static inline void ends_init(struct ends *e, const struct eun_transport *transport,
                             uint32_t packets, uint32_t origin)
{
    *e = (struct ends){.tx_env = test_sender_env(), .origin = origin};
    assert_true(eun_fixed_shape_init(&e->shape, CAP));
    e->tx_env.window_psns = CAP;
    e->tx_env.cap_psns = CAP;
    e->rx_env = test_receiver_env(NULL);
    e->rx_env.fixed = &e->shape;
    e->tx = eun_sender_new(transport, origin);
    assert_non_null(e->tx);
    eun_receiver_init(&e->rx, 0, origin);
    eun_receiver_lend(&e->rx, &e->shape, e->bitmap);
    assert_true(eun_sender_post(e->tx, &e->tx_env, packets * e->tx_env.mtu, 0));
}

static inline void ends_free(struct ends *e)
{
    eun_sender_free(e->tx);
}

static inline struct eun_rx_verdict arrive(struct ends *e, uint32_t psn, bool ask)
{
    const struct eun_data data = {.psn = e->origin + psn, .ack_request = ask};
    struct eun_rx_verdict v;
    e->tx->transport->receive(&e->rx, &e->rx_env, &data, e->now, &v);
    return v;
}

static inline void answer(struct ends *e, struct eun_feedback fb)
{
    eun_sender_feedback(e->tx, &e->tx_env, &fb, e->now);
    test_validate(e->tx);
}

static inline void sends(struct ends *e, uint32_t psn, bool again)
{
    struct eun_tx_packet packet = {0};
    assert_true(eun_sender_next(e->tx, &e->tx_env, e->now, &packet));
    assert_int_equal(packet.data.psn - e->origin, psn);
    assert_int_equal(packet.retransmission, again);
    test_validate(e->tx);
}

static inline void sends_new(struct ends *e, uint32_t from, uint32_t end)
{
    for (uint32_t psn = from; psn < end; psn++)
        sends(e, psn, false);
}

static inline void sends_again(struct ends *e, uint32_t psn)
{
    sends(e, psn, true);
}

static inline void is_idle(const struct ends *e)
{
    assert_int_equal(eun_sender_state(e->tx, &e->tx_env), EUN_TX_IDLE);
}

#endif
