/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * Overload: many senders into one receiver whose pool holds the metadata of two QPs. Every sender
 * has its own path with a random delay, as under spraying; before the receiver there is a FIFO that
 * loses nothing and passes one packet at a time. Every packet that the receiver refuses costs the
 * FIFO as much time as one that it takes.
 */
#include "event-queue.h"

#define QPS 200u
#define PACKETS 64u
#define BLOCKS 64u
#define SERVICE (INT64_C(80) * 1000) /**< of one packet: 1,000 bytes at 100 Gbit/s */
#define DELAY (2 * US)
#define JITTER (4 * US)
#define ACK_EVERY 16u
/** Most retransmissions, with the allowance: four copies of every packet; ... */
#define BOUND (4u * QPS * PACKETS)
/** ... without it they pass four times as many, in a run that is stopped there. */
#define FAR_BEYOND (4u * BOUND)

struct many {
    struct test_random r;
    struct event_queue queue;
    struct eun_sender_env tx_env;
    struct eun_receiver_env rx_env;
    struct eun_staging staging;
    struct eun_sender *tx[QPS];
    struct eun_receiver rx[QPS];
    bool send_pending[QPS];
    int64_t next_send[QPS];
    int64_t timer[QPS]; /**< INT64_MAX: none pending */
    int64_t now;
    int64_t port_free;
    uint32_t completed;
    uint64_t retransmitted;
    uint64_t timeouts;
    bool unlimited; /**< the allowance never limits */
};

static void consider(struct many *m, uint32_t qp)
{
    if (m->unlimited)
        eun_allowance_init(&m->tx[qp]->allowance);
    test_validate(m->tx[qp]);
    if (!m->send_pending[qp] && eun_sender_state(m->tx[qp], &m->tx_env) == EUN_TX_READY) {
        m->send_pending[qp] = true;
        const int64_t at = m->next_send[qp] > m->now ? m->next_send[qp] : m->now;
        event_push(&m->queue, (struct event){.at = at, .kind = EVENT_SEND, .qp = qp});
    }
    const int64_t deadline = eun_sender_deadline(m->tx[qp], &m->tx_env);
    if (m->timer[qp] == INT64_MAX && deadline != INT64_MAX) {
        m->timer[qp] = deadline;
        event_push(&m->queue, (struct event){.at = deadline, .kind = EVENT_TIMER, .qp = qp});
    }
}

static void on_send(struct many *m, uint32_t qp)
{
    struct eun_tx_packet packet = {0};
    m->send_pending[qp] = false;
    if (!eun_sender_next(m->tx[qp], &m->tx_env, m->now, &packet))
        return;
    m->retransmitted += packet.retransmission;
    m->next_send[qp] = m->now + SERVICE;
    const int64_t jitter = (int64_t)(test_random_next(&m->r) % (uint64_t)JITTER);
    event_push(&m->queue, (struct event){.at = m->now + DELAY + jitter,
                                         .kind = EVENT_DATA,
                                         .qp = qp,
                                         .u.data = packet.data});
}

/** The packet joins the FIFO. */
static void on_data(struct many *m, struct event event)
{
    m->port_free = (m->port_free > m->now ? m->port_free : m->now) + SERVICE;
    event.kind = EVENT_SERVED;
    event.at = m->port_free;
    event_push(&m->queue, event);
}

static void on_served(struct many *m, const struct event *event)
{
    struct eun_rx_verdict v;
    eun_transport_eunomia.receive(&m->rx[event->qp], &m->rx_env, &event->u.data, m->now, &v);
    assert_int_not_equal(v.disposition, EUN_RX_INVALID);
    struct eun_staged copied;
    while (m->rx_env.staging && eun_staging_finished(&m->staging, m->now, &copied))
        ;
    if (v.feedback.kind != EUN_FEEDBACK_NONE)
        event_push(&m->queue, (struct event){.at = m->now + DELAY,
                                             .kind = EVENT_FEEDBACK,
                                             .qp = event->qp,
                                             .u.feedback = v.feedback});
}

static void on_feedback(struct many *m, const struct event *event)
{
    struct eun_message done;
    eun_sender_feedback(m->tx[event->qp], &m->tx_env, &event->u.feedback, m->now);
    while (eun_sender_completed(m->tx[event->qp], &done))
        m->completed++;
}

static void on_timer(struct many *m, uint32_t qp)
{
    m->timer[qp] = INT64_MAX;
    m->timeouts += eun_sender_deadline(m->tx[qp], &m->tx_env) <= m->now;
    assert_true(eun_sender_timeout(m->tx[qp], &m->tx_env, m->now));
}

static void open_all(struct many *m, enum eun_gate gate)
{
    m->tx_env = test_sender_env();
    m->tx_env.gate = gate;
    m->tx_env.retry_limit = UINT32_MAX;
    m->rx_env = test_receiver_env(test_reorder(BLOCKS));
    m->rx_env.ack_every = ACK_EVERY;
    if (gate == EUN_GATE_RECEIVER)
        test_stage(&m->rx_env, &m->staging, 64, 0);
    for (uint32_t qp = 0; qp < QPS; qp++) {
        const uint32_t first_psn = test_first_psn(&m->r);
        m->timer[qp] = INT64_MAX;
        m->tx[qp] = eun_sender_new(&eun_transport_eunomia, first_psn);
        assert_non_null(m->tx[qp]);
        eun_receiver_init(&m->rx[qp], qp, first_psn);
        assert_true(eun_reorder_open(m->rx_env.reorder, qp));
        assert_true(eun_sender_post(m->tx[qp], &m->tx_env, PACKETS * m->tx_env.mtu, qp));
        consider(m, qp);
    }
}

static void close_all(struct many *m)
{
    for (uint32_t qp = 0; qp < QPS; qp++) {
        eun_sender_free(m->tx[qp]);
        eun_receiver_close(&m->rx[qp], &m->rx_env);
    }
    assert_int_equal(eun_reorder_stats(m->rx_env.reorder)->blocks_in_use, 0);
    assert_int_equal(m->staging.used, 0);
    eun_staging_dispose(&m->staging);
    eun_reorder_free(m->rx_env.reorder);
    free(m->queue.heap);
}

static void dispatch(struct many *m, const struct event *event)
{
    switch (event->kind) {
    case EVENT_DATA:
        on_data(m, *event);
        break;
    case EVENT_SERVED:
        on_served(m, event);
        break;
    case EVENT_FEEDBACK:
        on_feedback(m, event);
        consider(m, event->qp);
        break;
    case EVENT_SEND:
        on_send(m, event->qp);
        consider(m, event->qp);
        break;
    default:
        on_timer(m, event->qp);
        consider(m, event->qp);
        break;
    }
}

/** One message a QP; ends when all is quiet or FAR_BEYOND retransmissions have left. */
static void run_many(struct many *m, uint64_t seed, enum eun_gate gate, bool unlimited)
{
    *m = (struct many){.r = {seed}, .unlimited = unlimited};
    open_all(m, gate);
    while (m->queue.count > 0 && m->retransmitted <= FAR_BEYOND) {
        const struct event event = event_pop(&m->queue);
        m->now = event.at;
        dispatch(m, &event);
    }
    print_message("gate %d, %s: %u of %u complete, %llu retransmissions, %llu fallbacks, %llu "
                  "timeouts\n",
                  (int)gate, unlimited ? "unlimited" : "allowance", m->completed, QPS,
                  (unsigned long long)m->retransmitted, (unsigned long long)m->rx_env.fallbacks,
                  (unsigned long long)m->timeouts);
    close_all(m);
}

/** Nothing is lost, so no sender may come to wait for its timer either. */
static void allowance_survives_overload(void **state)
{
    (void)state;
    static struct many m;
    const uint64_t seed = test_random_start(1).state;
    for (int gate = EUN_GATE_NONE; gate <= EUN_GATE_RECEIVER; gate++) {
        run_many(&m, seed, (enum eun_gate)gate, false);
        assert_int_equal(m.completed, QPS);
        assert_true(m.rx_env.fallbacks > 0);
        assert_true(m.retransmitted <= BOUND);
        assert_int_equal(m.timeouts, 0);
    }
}

static void without_it_overload_feeds_itself(void **state)
{
    (void)state;
    static struct many m;
    run_many(&m, test_random_start(1).state, EUN_GATE_NONE, true);
    assert_true(m.retransmitted > FAR_BEYOND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allowance_survives_overload),
        cmocka_unit_test(without_it_overload_feeds_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
