/* SPDX-License-Identifier: GPL-2.0-only */
#include "bottleneck.h"

#define NS INT64_C(1000)
#define T_NS 8000

/** A QP and the answers it gets: the records of `links` links, each with counters of its own. */
struct answers {
    struct eun_cc_config config;
    struct eun_cc cc;
    uint64_t now[3], before[3];
    uint64_t carried[3];
    int64_t time_ns;
    uint32_t links;
    uint16_t path;
    bool first;
};

static void begin(struct answers *a, uint32_t links)
{
    *a = (struct answers){
        .config = bottleneck_config(), .links = links, .path = 9, .time_ns = 1000, .first = true};
    eun_cc_hpcc.init(&a->cc, &a->config);
}

/** `gap_ns` after the last answer; what each link has carried since, and its queue. */
static void answer(struct answers *a, int64_t gap_ns, uint32_t psn, uint32_t nxt,
                   const uint64_t *carried, const uint64_t *queue)
{
    memcpy(a->before, a->now, sizeof a->before);
    a->time_ns += gap_ns;
    for (uint32_t i = 0; i < a->links; i++) {
        a->carried[i] += carried[i];
        a->now[i] = eun_int_encode(8, a->time_ns * NS, a->carried[i], queue[i]);
    }
    const struct eun_cc_ack ack = {
        .now_ps = a->time_ns * NS,
        .psn = psn,
        .nxt = nxt,
        .in = {a->now, a->links, a->path},
        .before = {a->before, a->first ? 0 : a->links, a->path},
        .before_ps = (a->time_ns - gap_ns) * NS,
    };
    a->first = false;
    eun_cc_hpcc.on_ack(&a->cc, &a->config, &ack);
}

static void assert_window(const struct answers *a, double expected)
{
    const double window = a->cc.u.hpcc.window;
    if (fabs(window - expected) > 1e-6 * expected)
        fail_msg("W is %.6f, not %.6f", window, expected);
    /* Payload of that many bytes, and W/T; 8 bits over 8 us make 1 Mb/s a byte. */
    assert_int_equal(a->cc.window_bytes, (uint32_t)(window * MTU / WIRE));
    const double rate = window * 1e6;
    assert_true(fabs((double)a->cc.rate_bps - rate) < 2);
}

/**
 * 100 Gb/s are 12.5 B/ns, so W begins with 100,000 bytes. Each row by hand:
 *   782 x 128 in 8 us are 1.00096 of the rate, 8,000 of min(8000, 16000) queued 0.08 more;
 *   400 x 128 in 8 us are 0.512 of it, half as many in half the time as well.
 */
static void windows_by_hand(void **state)
{
    (void)state;
    const uint64_t full = 782 * 128, half = 400 * 128, quarter = 200 * 128, none = 0;
    const uint64_t short_queue = 8000, long_queue = 16000;
    struct answers a;
    begin(&a, 1);
    assert_window(&a, 100000);
    answer(&a, 0, 0, 90, &none, &long_queue);
    assert_window(&a, 100000);
    /* U = 1.08096, W = 100000 x 0.95 / 1.08096 + 80, the new Wc. */
    answer(&a, T_NS, 1, 100, &full, &short_queue);
    assert_window(&a, 87964.839402);
    /* Same round: U = 1.08096/2 + 0.512/2 = 0.79648, W = Wc + 80, and again: Wc stays. */
    answer(&a, T_NS / 2, 99, 150, &quarter, &none);
    assert_window(&a, 88044.839402);
    answer(&a, T_NS / 2, 99, 150, &quarter, &none);
    assert_window(&a, 88044.839402);
    /* The answer to the first packet sent after the update: five increases of Wc ... */
    for (uint32_t round = 1; round <= 5; round++) {
        answer(&a, T_NS, 100 * round, 100 * round + 100, &half, &none);
        assert_window(&a, 87964.839402 + 80 * round);
    }
    /* ... then, with U = 0.512 still, Wc = 88364.839402 / (0.512/0.95) + 80, which is capped. */
    answer(&a, T_NS, 600, 700, &half, &none);
    assert_window(&a, 100000);
    /* Five more stages lie ahead again, and the cap is Wc. */
    answer(&a, T_NS, 700, 800, &full, &none);
    assert_window(&a, 100000 * 0.95 / 1.00096 + 80);
}

/** The window follows the busier link, whose time between records weighs. */
static void the_busiest_link_counts(void **state)
{
    (void)state;
    const uint64_t none[3] = {0};
    const uint64_t carried[3] = {200 * 128, 391 * 128, 100 * 128}, queues[3] = {0, 0, 40000};
    struct answers a;
    begin(&a, 3);
    answer(&a, 0, 0, 90, none, none);
    /* In 4 us: 0.512, 1.00096, 0.256 + a queue that was 0: U = 0.5 + 1.00096/2. */
    answer(&a, T_NS / 2, 1, 100, carried, queues);
    assert_window(&a, 100000 * 0.95 / 1.00048 + 80);
    /* The third has its queue still: 0.4 + 0.256 stays below the second. */
    answer(&a, T_NS / 2, 100, 200, carried, queues);
    const double base = 100000 * 0.95 / 1.00048 + 80;
    assert_window(&a, base * 0.95 / (1.00048 / 2 + 1.00096 / 2) + 80);
}

/** Records that cannot be compared change nothing; the next pair does again. */
static void other_paths_and_old_records_count_for_nothing(void **state)
{
    (void)state;
    const uint64_t full = 782 * 128, none = 0, queue = 80000;
    struct answers a;
    begin(&a, 1);
    answer(&a, 0, 0, 90, &none, &queue);
    struct eun_cc_ack ack = {.now_ps = 20000 * NS, .psn = 1, .nxt = 100};
    uint64_t in[2] = {eun_int_encode(8, 9000 * NS, full, queue), 0}, before[2] = {a.now[0], 0};
    ack.in = (struct eun_int_path){in, 1, 9};
    const struct eun_int_path bad[] = {{before, 1, 8}, {before, 2, 9}, {before, 0, 9}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ack.before = bad[i];
        eun_cc_hpcc.on_ack(&a.cc, &a.config, &ack);
        assert_window(&a, 100000);
    }
    ack.before = (struct eun_int_path){before, 1, 9};
    ack.before_ps = ack.now_ps - INT64_C(5368709121);
    eun_cc_hpcc.on_ack(&a.cc, &a.config, &ack);
    assert_window(&a, 100000);
    /* Not later than the record before. */
    ack.before_ps = ack.now_ps;
    in[0] = eun_int_encode(8, 1000 * NS, full, queue);
    eun_cc_hpcc.on_ack(&a.cc, &a.config, &ack);
    assert_window(&a, 100000);
    ack.in.count = ack.before.count = 0;
    eun_cc_hpcc.on_ack(&a.cc, &a.config, &ack);
    assert_window(&a, 100000);
    answer(&a, T_NS, 1, 100, &full, &queue);
    assert_true(a.cc.u.hpcc.window < 60000);
}

/** However long the queue, a window is left: W_AI, and one byte of payload. */
static void a_window_is_left(void **state)
{
    (void)state;
    const uint64_t full = 782 * 128, queue = 5000000;
    struct answers a;
    begin(&a, 1);
    a.config.hpcc.ai_bytes = 1;
    for (uint32_t i = 0; i < 200; i++)
        answer(&a, T_NS, i, i + 1, &full, &queue);
    assert_int_equal(a.cc.window_bytes, 1);
    assert_true(a.cc.rate_bps >= 1000000 && a.cc.rate_bps < 1100000);
}

static void check_shares(uint32_t ai_bytes, double fairness)
{
    static struct bottleneck b;
    for (uint32_t flows = 1; flows <= 16; flows *= 2) {
        for (int64_t stagger = 0; stagger <= 200000000; stagger += 200000000) {
            bottleneck_init(&b, &eun_cc_hpcc, flows);
            b.config.hpcc.ai_bytes = ai_bytes;
            for (uint32_t i = 0; i < flows; i++)
                b.flow[i].starts_ps = i * stagger;
            bottleneck_run(&b, 300000);
            bottleneck_run(&b, 200000);
            bottleneck_print(&b, stagger ? "hpcc, one after the other" : "hpcc");
            assert_true(fabs(bottleneck_utilisation(&b) - 0.95) < 0.01);
            assert_true(bottleneck_queue(&b) < 3);
            assert_true(b.queue_max < 10);
            assert_true(bottleneck_fairness(&b) > fairness);
        }
    }
}

/**
 * N flows: the link is used to eta, hardly anything waits, and each gets its share. The paper's
 * rule, W_AI = (1 - eta) W / N, makes the published 80 bytes one for 60 flows: two that began apart
 * come together slowly, and no closer than what they see of the queue differs.
 */
static void flows_share_eta_of_the_link(void **state)
{
    (void)state;
    check_shares(80, 0.85);
    check_shares(200, 0.98);
}

/** A larger W_AI brings the shares closer, at the price of a longer queue. */
static void additive_increase_makes_fair(void **state)
{
    (void)state;
    static struct bottleneck b;
    double fairness[2];
    for (uint32_t i = 0; i < 2; i++) {
        bottleneck_init(&b, &eun_cc_hpcc, 2);
        b.config.hpcc.ai_bytes = i ? 800 : 80;
        b.flow[1].starts_ps = 200000000;
        bottleneck_run(&b, 20000);
        bottleneck_run(&b, 20000);
        bottleneck_print(&b, i ? "W_AI 800" : "W_AI 80");
        fairness[i] = bottleneck_fairness(&b);
    }
    assert_true(fairness[1] > fairness[0] && fairness[1] > 0.99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_by_hand),
        cmocka_unit_test(the_busiest_link_counts),
        cmocka_unit_test(other_paths_and_old_records_count_for_nothing),
        cmocka_unit_test(a_window_is_left),
        cmocka_unit_test(flows_share_eta_of_the_link),
        cmocka_unit_test(additive_increase_makes_fair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
