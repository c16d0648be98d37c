/* SPDX-License-Identifier: GPL-2.0-only */
#include "core/switch/balancer.h"
#include "core/switch/conweave.h"

#include "test-support.h"

#include <string.h>

#define US INT64_C(1000000) /* in ps */

/*
 * Leaves 0 and 1, hosts 0..31 under leaf 0 and 32..63 under leaf 1; PATHS between the two. Unloaded
 * round trip 4 us, so with 4 us extra a reply is late after 8 us.
 */
enum { HOSTS = 64, PATHS = 4, SRC = 1, DST = 40, FLOW = 77, PORT = 3 };

static const struct eun_lb_edge *edge;
static struct test_state source, sink;
static uint32_t leaf_of[HOSTS];
static struct eun_lb_leaf_way ways_of[2][2];
static uint64_t rates[WAYS_MAX];

static struct eun_lb_params params(void)
{
    struct eun_lb_params p = eun_lb_defaults;
    p.conweave = (struct eun_conweave_params){.reply_extra_ps = 4 * US,
                                              .path_busy_ps = 8 * US,
                                              .resume_extra_ps = 16 * US,
                                              .resume_default_ps = 200 * US,
                                              .inactive_ps = 300 * US,
                                              .queues_per_port = 31,
                                              .header_bytes = 4,
                                              .abort = true,
                                              .timer_clears = true};
    return p;
}

static struct eun_lb_network network(uint32_t leaf)
{
    for (uint32_t h = 0; h < HOSTS; h++)
        leaf_of[h] = h / 32;
    for (uint32_t i = 0; i < WAYS_MAX; i++)
        rates[i] = UINT64_C(100000000000);
    for (uint32_t a = 0; a < 2; a++)
        for (uint32_t b = 0; b < 2; b++)
            ways_of[a][b] = a == b ? (struct eun_lb_leaf_way){0, 1, 0}
                                   : (struct eun_lb_leaf_way){2, PATHS, 4 * US};
    return (struct eun_lb_network){.leaf = leaf_of,
                                   .leaves = 2,
                                   .longest = 4,
                                   .widest = PATHS,
                                   .rate_bps = rates,
                                   .ports = WAYS_MAX,
                                   .to_leaf = ways_of[leaf]};
}

static void start_with(uint64_t seed, const struct eun_lb_params *p)
{
    edge = eun_balancer_conweave.edge;
    for (uint32_t leaf = 0; leaf < 2; leaf++) {
        struct test_state *s = leaf ? &sink : &source;
        const struct eun_lb_network net = network(leaf);
        test_init(&eun_balancer_conweave, s, seed + leaf);
        assert_null(eun_balancer_conweave.configure(s->words, p, &net));
    }
}

static void start(uint64_t seed)
{
    const struct eun_lb_params p = params();
    start_with(seed, &p);
}

static const struct eun_lb_packet a_packet = {SRC, DST, FLOW, 1000};

/** A packet of that flow enters the network. */
static uint64_t depart_of(const struct eun_lb_packet *packet, int64_t now_ps)
{
    struct eun_lb_view view = test_view(0, PATHS);
    uint64_t tag = 0;
    view.now_ps = now_ps;
    view.from_host = true;
    const uint32_t way = edge->depart(source.words, packet, &view, &tag);
    assert_true(way < PATHS);
    if (tag)
        assert_int_equal(eun_cw_unpack(tag).path, way);
    return tag;
}

static struct eun_cw_header depart(int64_t now_ps)
{
    return eun_cw_unpack(depart_of(&a_packet, now_ps));
}

static struct eun_lb_verdict deliver(struct eun_cw_header h, bool ce, int64_t now_ps)
{
    struct eun_lb_verdict v;
    edge->deliver(sink.words, &a_packet, eun_cw_pack(&h), ce, PORT, now_ps, &v);
    return v;
}

static uint8_t opcode_of(const struct eun_lb_signal *s)
{
    return eun_cw_unpack(s->tag).opcode;
}

static bool is_plain(const struct eun_lb_verdict *v)
{
    return v->hold == EUN_LB_NO_QUEUE && v->release_before == EUN_LB_NO_QUEUE &&
           v->release_after == EUN_LB_NO_QUEUE;
}

static const struct eun_lb_edge_stats *source_stats(void)
{
    return edge->stats(source.words);
}

static const struct eun_lb_edge_stats *sink_stats(void)
{
    return edge->stats(sink.words);
}

static void mark_busy(uint8_t path, int64_t now_ps)
{
    const struct eun_cw_header h = {.opcode = EUN_CW_NOTIFY, .path = path};
    const struct eun_lb_signal s = {SRC, DST, FLOW, eun_cw_pack(&h)};
    edge->signal(source.words, &s, now_ps);
}

/* ---------------------------------------------------------------- by hand */

static void headers_survive_packing(void **state)
{
    (void)state;
    struct test_random r = test_random_start(171);
    for (int i = 0; i < 100000; i++) {
        const struct eun_cw_header h = {.path = (uint8_t)test_below(&r, 256),
                                        .left = (uint8_t)test_below(&r, 256),
                                        .opcode = (uint8_t)test_below(&r, 8),
                                        .epoch = (uint8_t)test_below(&r, 4),
                                        .rerouted = test_chance(&r, 50),
                                        .tail = test_chance(&r, 50),
                                        .tx_us = (uint16_t)test_below(&r, 65536),
                                        .tail_tx_us = (uint16_t)test_below(&r, 65536)};
        const struct eun_cw_header g = eun_cw_unpack(eun_cw_pack(&h));
        assert_int_equal(g.path, h.path);
        assert_int_equal(g.left, h.left);
        assert_int_equal(g.opcode, h.opcode);
        assert_int_equal(g.epoch, h.epoch);
        assert_int_equal(g.rerouted, h.rerouted);
        assert_int_equal(g.tail, h.tail);
        assert_int_equal(g.tx_us, h.tx_us);
        assert_int_equal(g.tail_tx_us, h.tail_tx_us);
    }
}

/** A reply in time, at the deadline itself too, and the next packet asks again on the same path. */
static void a_reply_in_time_begins_the_next_epoch(void **state)
{
    (void)state;
    start(1);
    struct eun_cw_header h = depart(10 * US);
    const uint8_t path = h.path;
    assert_int_equal(h.opcode, EUN_CW_START);
    for (uint32_t i = 1; i <= 10; i++) {
        const int64_t now = 10 * US * i;
        assert_int_equal(h.epoch, i % EUN_CW_EPOCHS);
        assert_int_equal(h.tx_us, now / US);
        assert_int_equal(depart(now + US).opcode, EUN_CW_DATA);
        const struct eun_lb_verdict v = deliver(h, false, now + 2 * US);
        assert_true(is_plain(&v));
        assert_int_equal(v.signals, 1);
        assert_int_equal(opcode_of(&v.signal[0]), EUN_CW_REPLY);
        assert_int_equal(v.signal[0].src, SRC);
        assert_int_equal(v.signal[0].dst, DST);
        assert_int_equal(v.signal[0].entropy, FLOW);
        edge->signal(source.words, &v.signal[0], now + 8 * US);
        h = depart(now + 10 * US);
        assert_int_equal(h.opcode, EUN_CW_REQUEST);
        assert_int_equal(h.path, path);
        assert_false(h.tail || h.rerouted);
    }
    assert_int_equal(source_stats()->replies_in_time, 10);
    assert_int_equal(source_stats()->reroutes, 0);
}

/**
 * A whole reroute: asked at 100 us, deadline 108; the packet at 109 is the tail, later ones are
 * rerouted and arrive first, are held, and go out as the tail has come; CLEAR opens the next epoch.
 */
static void a_late_reply_reroutes_and_order_is_kept(void **state)
{
    (void)state;
    start(2);
    const struct eun_cw_header ask = depart(100 * US);
    const struct eun_cw_header plain = depart(108 * US);
    assert_false(plain.tail);
    struct eun_lb_verdict v = deliver(ask, false, 107 * US);
    edge->signal(source.words, &v.signal[0], 108 * US + 1);
    assert_int_equal(source_stats()->replies_late, 1);
    const struct eun_cw_header tail = depart(109 * US);
    assert_true(tail.tail && !tail.rerouted);
    assert_int_equal(tail.opcode, EUN_CW_DATA);
    assert_int_equal(tail.path, ask.path);
    const struct eun_cw_header one = depart(110 * US), two = depart(111 * US);
    assert_true(one.rerouted && !one.tail && two.rerouted);
    assert_int_equal(one.tail_tx_us, 109);
    assert_int_equal(one.tx_us, 110);
    assert_int_equal(one.epoch, ask.epoch);
    assert_int_equal(source_stats()->reroutes, 1);

    v = deliver(one, false, 112 * US);
    const uint32_t queue = v.hold;
    assert_int_not_equal(queue, EUN_LB_NO_QUEUE);
    assert_int_equal(v.signals, 0);
    v = deliver(plain, false, 113 * US);
    assert_true(is_plain(&v));
    v = deliver(two, false, 114 * US);
    assert_int_equal(v.hold, queue);
    assert_int_equal(sink_stats()->held_peak, 2000);
    v = deliver(tail, false, 116 * US);
    assert_int_equal(v.hold, EUN_LB_NO_QUEUE);
    assert_int_equal(v.release_after, queue);
    assert_int_equal(v.release_before, EUN_LB_NO_QUEUE);
    assert_int_equal(v.signals, 1);
    assert_int_equal(opcode_of(&v.signal[0]), EUN_CW_CLEAR);
    assert_true(edge->deadline(sink.words) == INT64_MAX);
    const struct eun_lb_verdict later = deliver(depart(117 * US), false, 119 * US);
    assert_true(is_plain(&later));

    assert_true(depart(118 * US).rerouted);
    edge->signal(source.words, &v.signal[0], 118 * US);
    const struct eun_cw_header next = depart(119 * US);
    assert_int_equal(next.opcode, EUN_CW_REQUEST);
    assert_int_equal(next.epoch, (ask.epoch + 1) % EUN_CW_EPOCHS);
    assert_int_equal(next.path, one.path);
    assert_false(next.rerouted);
    assert_int_equal(sink_stats()->tail_flushes, 1);
    assert_int_equal(sink_stats()->holds, 2);
}

/** Marked arrivals are reported, one by one; the paths are avoided until the time is over. */
static void busy_paths_are_avoided(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        start(seed);
        const struct eun_cw_header ask = depart(100 * US);
        struct eun_lb_verdict v = deliver(ask, true, 105 * US);
        assert_int_equal(v.signals, 2);
        assert_int_equal(opcode_of(&v.signal[0]), EUN_CW_NOTIFY);
        assert_int_equal(eun_cw_unpack(v.signal[0].tag).path, ask.path);
        edge->signal(source.words, &v.signal[0], 107 * US);
        assert_int_equal(source_stats()->notified, 1);
        /* Of two draws the busy path can be taken only where there is no other: an abort. */
        const struct eun_cw_header tail = depart(110 * US);
        if (!tail.tail) {
            assert_int_equal(source_stats()->aborts, 1);
            continue;
        }
        assert_int_not_equal(depart(111 * US).path, ask.path);
    }
}

/** With every path busy the flow stays where it is, and tries again with its next packet. */
static void without_a_good_path_the_reroute_is_off(void **state)
{
    (void)state;
    start(4);
    const struct eun_cw_header ask = depart(100 * US);
    for (uint8_t path = 0; path < PATHS; path++)
        mark_busy(path, 102 * US);
    for (int i = 0; i < 10; i++) {
        const struct eun_cw_header h = depart(109 * US + i * US / 10);
        assert_false(h.tail || h.rerouted);
        assert_int_equal(h.path, ask.path);
        assert_int_equal(h.epoch, ask.epoch);
    }
    assert_int_equal(source_stats()->aborts, 10);
    assert_int_equal(source_stats()->reroutes, 0);
    assert_true(depart(110 * US).tail); /* 102 + 8 us */
    assert_int_equal(source_stats()->reroutes, 1);
}

/** A flow that was silent draws anew, but leaves its own path only for one that is not busy. */
static void a_silent_flow_keeps_its_path_where_others_are_busy(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        start(seed);
        const uint8_t own = depart(100 * US).path;
        for (uint8_t path = 0; path < PATHS; path++)
            if (path != own)
                mark_busy(path, 500 * US);
        const struct eun_cw_header again = depart(501 * US);
        assert_int_equal(again.opcode, EUN_CW_START);
        assert_int_equal(again.path, own);
    }
}

/** A flow that is new has no path to keep: it takes one of the two drawn though both are busy. */
static void a_new_flow_takes_a_busy_path(void **state)
{
    (void)state;
    uint32_t taken[PATHS] = {0};
    for (uint64_t seed = 0; seed < 200; seed++) {
        start(seed);
        for (uint8_t path = 0; path < PATHS; path++)
            mark_busy(path, 100 * US);
        taken[depart(101 * US).path]++;
    }
    for (uint32_t path = 0; path < PATHS; path++)
        assert_true(taken[path] > 25);
}

/** As conweave-ns3 does it: the flow ends its path and takes it again. */
static void without_abort_the_path_is_taken_again(void **state)
{
    (void)state;
    struct eun_lb_params p = params();
    p.conweave.abort = false;
    start_with(5, &p);
    const struct eun_cw_header ask = depart(100 * US);
    for (uint8_t path = 0; path < PATHS; path++)
        mark_busy(path, 102 * US);
    assert_true(depart(109 * US).tail);
    const struct eun_cw_header next = depart(109 * US);
    assert_true(next.rerouted);
    assert_int_equal(next.path, ask.path);
}

/**
 * The estimate, to the microsecond: the last old packet was sent at 103 and came at 120; the tail
 * was sent at 109, so it is due at 126, and lost at 142. Another old packet, sent at 106, that
 * comes at 130 moves that to 149. Then the queue opens, the source hears of it, and what is
 * rerouted passes.
 */
static void the_tail_is_given_up_when_due(void **state)
{
    (void)state;
    start(6);
    const struct eun_cw_header ask = depart(100 * US), first = depart(103 * US + US / 2),
                               second = depart(106 * US), tail = depart(109 * US);
    const struct eun_cw_header one = depart(110 * US);
    assert_true(tail.tail && one.rerouted);
    (void)deliver(ask, false, 118 * US);
    (void)deliver(first, false, 120 * US);
    struct eun_lb_verdict v = deliver(one, false, 121 * US);
    const uint32_t queue = v.hold;
    assert_int_not_equal(queue, EUN_LB_NO_QUEUE);
    assert_int_equal(edge->deadline(sink.words), 142 * US);
    (void)deliver(second, false, 130 * US);
    assert_false(edge->expire(sink.words, 142 * US, &v));
    assert_int_equal(edge->deadline(sink.words), 149 * US);
    assert_false(edge->expire(sink.words, 149 * US - 1, &v));
    assert_true(edge->expire(sink.words, 149 * US, &v));
    assert_int_equal(v.release_after, queue);
    assert_int_equal(v.signals, 1);
    assert_int_equal(opcode_of(&v.signal[0]), EUN_CW_CLEAR);
    assert_false(edge->expire(sink.words, 149 * US, &v));
    assert_true(edge->deadline(sink.words) == INT64_MAX);
    assert_int_equal(sink_stats()->timer_flushes, 1);
    v = deliver(depart(150 * US), false, 152 * US);
    assert_true(is_plain(&v));
    /* The tail was only slow: too late for order, and this is counted. */
    v = deliver(tail, false, 153 * US);
    assert_true(is_plain(&v));
    assert_int_equal(sink_stats()->early_flushes, 1);
}

/** Nothing of the old path was seen: 200 us and 16 us, and a report only if it is asked for. */
static void without_an_old_packet_the_default_counts(void **state)
{
    (void)state;
    for (int clears = 0; clears < 2; clears++) {
        struct eun_lb_params p = params();
        p.conweave.timer_clears = clears;
        start_with(7, &p);
        (void)depart(100 * US);
        (void)depart(109 * US);
        struct eun_lb_verdict v = deliver(depart(110 * US), false, 112 * US);
        assert_int_not_equal(v.hold, EUN_LB_NO_QUEUE);
        assert_int_equal(edge->deadline(sink.words), 328 * US);
        assert_true(edge->expire(sink.words, 328 * US, &v));
        assert_int_equal(v.signals, clears);
    }
}

/** The same across the wrap of the 16-bit clock at 65,536 us. */
static void timestamps_wrap(void **state)
{
    (void)state;
    start(8);
    const int64_t base = 65530 * US;
    const struct eun_cw_header ask = depart(base), tail = depart(base + 9 * US);
    const struct eun_cw_header one = depart(base + 10 * US);
    assert_int_equal(ask.tx_us, 65530);
    assert_int_equal(tail.tx_us, 3);
    assert_int_equal(one.tail_tx_us, 3);
    (void)deliver(ask, false, base + 5 * US);
    (void)deliver(one, false, base + 12 * US);
    assert_int_equal(edge->deadline(sink.words), base + (5 + 9 + 16) * US);
}

/** Rerouted packets that overtake even the first packet of their flow are held all the same. */
static void rerouted_packets_may_come_first(void **state)
{
    (void)state;
    start(9);
    const struct eun_cw_header ask = depart(100 * US), tail = depart(109 * US),
                               one = depart(110 * US);
    struct eun_lb_verdict v = deliver(one, false, 112 * US);
    const uint32_t queue = v.hold;
    assert_int_not_equal(queue, EUN_LB_NO_QUEUE);
    v = deliver(ask, false, 113 * US);
    assert_true(is_plain(&v));
    v = deliver(tail, false, 114 * US);
    assert_int_equal(v.release_after, queue);
}

/** After a silence a flow may take another path; whatever was held goes out before. */
static void a_silent_flow_starts_anew(void **state)
{
    (void)state;
    start(10);
    const struct eun_cw_header ask = depart(100 * US);
    assert_int_equal(depart(400 * US).opcode, EUN_CW_DATA); /* the tail: 300 us are not longer */
    (void)deliver(ask, false, 103 * US);
    struct eun_lb_params slow = params();
    slow.conweave.resume_extra_ps = 1000 * US;
    const struct eun_lb_network net = network(1);
    assert_null(eun_balancer_conweave.configure(sink.words, &slow, &net));
    struct eun_lb_verdict v = deliver(depart(401 * US), false, 404 * US);
    const uint32_t queue = v.hold;
    assert_int_not_equal(queue, EUN_LB_NO_QUEUE);
    const struct eun_cw_header again = depart(702 * US);
    assert_int_equal(again.opcode, EUN_CW_START);
    assert_false(again.rerouted);
    v = deliver(again, false, 705 * US);
    assert_int_equal(v.release_before, queue);
    assert_int_equal(v.hold, EUN_LB_NO_QUEUE);
    assert_true(edge->deadline(sink.words) == INT64_MAX);
}

/** The last switch remembers an epoch that the first has forgotten: the two agree again at once. */
static void a_forgetful_source_is_believed(void **state)
{
    (void)state;
    for (uint8_t epoch = 0; epoch < EUN_CW_EPOCHS; epoch++) {
        start(11);
        const struct eun_cw_header old = {.opcode = EUN_CW_DATA, .epoch = epoch, .tail = true};
        (void)deliver(old, false, 100 * US);
        const struct eun_cw_header ask = depart(450 * US), tail = depart(460 * US),
                                   one = depart(461 * US);
        struct eun_lb_verdict v = deliver(ask, false, 455 * US);
        assert_int_equal(v.signals, 1);
        v = deliver(one, false, 464 * US);
        assert_int_not_equal(v.hold, EUN_LB_NO_QUEUE);
        v = deliver(tail, false, 465 * US);
        assert_int_not_equal(v.release_after, EUN_LB_NO_QUEUE);
    }
}

/** Without its first packet, too: an epoch that nobody continues is over after half the silence. */
static void disagreement_ends_without_the_first_packet(void **state)
{
    (void)state;
    start(12);
    const struct eun_cw_header now = {.opcode = EUN_CW_DATA, .epoch = 2, .tx_us = 100};
    (void)deliver(now, false, 100 * US);
    const struct eun_cw_header old = {.opcode = EUN_CW_REQUEST, .epoch = 1, .tx_us = 99};
    struct eun_lb_verdict v = deliver(old, false, 250 * US);
    assert_int_equal(v.signals, 0);
    v = deliver(old, false, 250 * US + 1);
    assert_int_equal(v.signals, 1);
}

/** The first packet of a flow that was silent is never old, and two epochs ahead is ahead. */
static void only_the_epoch_before_is_old(void **state)
{
    (void)state;
    for (uint8_t ahead = 0; ahead < EUN_CW_EPOCHS; ahead++)
        for (int starts = 0; starts < 2; starts++) {
            start(17);
            const struct eun_cw_header now = {.opcode = EUN_CW_DATA, .epoch = 2};
            const uint8_t opcode = starts ? EUN_CW_START : EUN_CW_REQUEST;
            const uint8_t epoch = (2u + ahead) % EUN_CW_EPOCHS;
            (void)deliver(now, false, 100 * US);
            const struct eun_lb_verdict v =
                deliver((struct eun_cw_header){.opcode = opcode, .epoch = epoch}, false, 101 * US);
            assert_int_equal(v.signals, ahead < 3 || starts);
            assert_int_equal(sink_stats()->early_flushes, !v.signals);
        }
}

/** A report of a tail is for a flow that sent one in that epoch. */
static void stray_reports_are_ignored(void **state)
{
    (void)state;
    start(18);
    const struct eun_cw_header ask = depart(100 * US);
    struct eun_cw_header h = {.opcode = EUN_CW_CLEAR, .epoch = ask.epoch};
    struct eun_lb_signal s = {SRC, DST, FLOW, eun_cw_pack(&h)};
    edge->signal(source.words, &s, 101 * US);
    assert_int_equal(depart(102 * US).opcode, EUN_CW_DATA);
    assert_true(depart(109 * US).tail);
    h.epoch = (ask.epoch + 3) % EUN_CW_EPOCHS;
    s.tag = eun_cw_pack(&h);
    edge->signal(source.words, &s, 110 * US);
    assert_true(depart(111 * US).rerouted);
    s.entropy++;
    h.epoch = ask.epoch;
    s.tag = eun_cw_pack(&h);
    edge->signal(source.words, &s, 112 * US);
    assert_true(depart(113 * US).rerouted);
    /* A path that there is not marks none of another leaf. */
    start(18);
    (void)depart(100 * US);
    for (uint8_t path = PATHS; path < 2 * PATHS; path++) {
        const struct eun_cw_header n = {.opcode = EUN_CW_NOTIFY, .path = path};
        const struct eun_lb_signal own = {DST, SRC, FLOW, eun_cw_pack(&n)};
        edge->signal(source.words, &own, 108 * US);
    }
    assert_true(depart(109 * US).tail);
    assert_int_equal(source_stats()->aborts, 0);
}

/** Flows that differ in one of hosts and entropy only have nothing in common. */
static void flows_are_told_apart(void **state)
{
    (void)state;
    start(19);
    /* So many that some of them meet in the table, whatever differs. */
    for (uint32_t entropy = 0; entropy < 20; entropy++)
        for (uint32_t i = 1; i < 32; i++) {
            const struct eun_lb_packet by_src = {i, DST, entropy, 1000};
            const struct eun_lb_packet by_dst = {SRC, 32 + i, 100 + entropy, 1000};
            const struct eun_lb_packet by_entropy = {SRC, DST, 1000 + 32 * entropy + i, 1000};
            assert_int_equal(eun_cw_unpack(depart_of(&by_src, US)).opcode, EUN_CW_START);
            assert_int_equal(eun_cw_unpack(depart_of(&by_dst, US)).opcode, EUN_CW_START);
            assert_int_equal(eun_cw_unpack(depart_of(&by_entropy, US)).opcode, EUN_CW_START);
        }
    assert_int_equal(source_stats()->epochs, 3 * 20 * 31);
}

/** A tail that is overdue when the first rerouted packet comes holds up nothing. */
static void an_overdue_tail_is_given_up_at_once(void **state)
{
    (void)state;
    start(20);
    const struct eun_cw_header ask = depart(100 * US), tail = depart(109 * US),
                               one = depart(110 * US);
    assert_true(tail.tail);
    (void)deliver(ask, false, 103 * US);
    struct eun_lb_verdict v = deliver(one, false, 150 * US);
    assert_int_not_equal(v.hold, EUN_LB_NO_QUEUE);
    assert_int_equal(edge->deadline(sink.words), 150 * US);
    assert_true(edge->expire(sink.words, 150 * US, &v));
}

/** A full table of the last switch: entries are kept for twice the silence, and while they hold. */
static void entries_that_hold_are_not_taken(void **state)
{
    (void)state;
    struct test_random r = test_random_start(177);
    struct eun_lb_params p = params();
    p.conweave.resume_default_ps = 2000 * US;
    start_with(21, &p);
    const struct eun_cw_header rerouted = {.opcode = EUN_CW_DATA, .rerouted = true};
    const struct eun_cw_header plain = {.opcode = EUN_CW_DATA};
    const uint32_t queue = deliver(rerouted, false, US).hold;
    const int64_t at[] = {US, 600 * US, 602 * US};
    uint64_t untracked[4] = {0};
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 4 * EUN_LB_QUEUES; i++) {
            const struct eun_lb_packet packet = {SRC, DST, (uint32_t)test_random_next(&r), 1000};
            struct eun_lb_verdict v;
            edge->deliver(sink.words, &packet, eun_cw_pack(&plain), false, PORT, at[round], &v);
            assert_true(is_plain(&v));
        }
        untracked[round + 1] = sink_stats()->untracked;
    }
    assert_int_equal(untracked[2] - untracked[1], 4 * EUN_LB_QUEUES);
    assert_true(untracked[3] - untracked[2] <= 3 * EUN_LB_QUEUES + 1);
    assert_int_equal(deliver(rerouted, false, 602 * US).hold, queue);
    struct eun_lb_verdict v;
    assert_true(edge->expire(sink.words, 2017 * US, &v));
    assert_int_equal(v.release_after, queue);
    assert_int_equal(v.signal[0].entropy, FLOW);
}

/** Queues are counted by port; without one a packet passes, and the flow stays in one piece. */
static void queues_are_limited_by_port(void **state)
{
    (void)state;
    struct eun_lb_params p = params();
    p.conweave.queues_per_port = 2;
    start_with(13, &p);
    uint32_t held[2] = {0, 0};
    for (uint32_t port = 0; port < 2; port++)
        for (uint32_t flow = 0; flow < 5; flow++) {
            const struct eun_lb_packet packet = {SRC, DST + port, flow, 1000};
            const struct eun_cw_header h = {.opcode = EUN_CW_DATA, .rerouted = true};
            struct eun_lb_verdict v;
            edge->deliver(sink.words, &packet, eun_cw_pack(&h), false, port, US, &v);
            held[port] += v.hold != EUN_LB_NO_QUEUE;
        }
    assert_int_equal(held[0], 2);
    assert_int_equal(held[1], 2);
    assert_int_equal(sink_stats()->no_queue, 6);
    assert_int_equal(sink_stats()->queues_peak, 2);
    struct eun_lb_verdict v;
    for (int i = 0; i < 4; i++)
        assert_true(edge->expire(sink.words, US + 216 * US, &v));
    assert_false(edge->expire(sink.words, US + 216 * US, &v));
    assert_int_equal(sink_stats()->held_peak, 4000);
    /* They are free again, and their bytes forgotten. */
    const struct eun_cw_header h = {.opcode = EUN_CW_DATA, .epoch = 1, .rerouted = true};
    edge->deliver(sink.words, &a_packet, eun_cw_pack(&h), false, 0, 300 * US, &v);
    assert_int_not_equal(v.hold, EUN_LB_NO_QUEUE);
    assert_int_equal(sink_stats()->queues_peak, 2);
    assert_int_equal(sink_stats()->held_peak, 4000);
}

/** Three tiers: 4 x 3 x 2 choices; every path differs, and each switch follows its digit. */
static void three_tiers_follow_the_path(void **state)
{
    (void)state;
    static struct eun_lb_leaf_way far[2] = {{4, 24, 8 * US}, {4, 24, 8 * US}};
    const struct eun_lb_params p = params();
    bool seen[24] = {false};
    uint32_t paths = 0;
    for (uint64_t seed = 0; seed < 500; seed++) {
        struct eun_lb_network net = network(0);
        net.to_leaf = far;
        edge = eun_balancer_conweave.edge;
        test_init(&eun_balancer_conweave, &source, seed);
        assert_null(eun_balancer_conweave.configure(source.words, &p, &net));
        struct eun_lb_view view = test_view(0, 4);
        uint64_t tag = 0;
        const uint32_t one = edge->depart(source.words, &a_packet, &view, &tag);
        const uint8_t path = eun_cw_unpack(tag).path;
        view = test_view(5, 3);
        const uint32_t two = edge->follow(sink.words, &view, &tag);
        view = test_view(1, 2);
        const uint32_t three = edge->follow(sink.words, &view, &tag);
        assert_int_equal(path, one + 4 * two + 12 * three);
        assert_int_equal(eun_cw_unpack(tag).path, path);
        paths += !seen[path];
        seen[path] = true;
    }
    assert_int_equal(paths, 24);
}

/** The round trip grows with the links where it is given by link, as for conweave-ns3. */
static void the_deadline_can_be_set_by_link(void **state)
{
    (void)state;
    for (int64_t link = 0; link <= 3; link++) {
        struct eun_lb_params p = params();
        p.conweave.rtt_per_link_ps = link * US;
        start_with(15, &p);
        (void)depart(100 * US);
        const int64_t due = 100 * US + (link ? 2 * link : 4) * US + 4 * US;
        assert_false(depart(due).tail);
        assert_true(depart(due + 1).tail);
    }
}

static void networks_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    const struct eun_lb_params p = params();
    static struct eun_lb_leaf_way many[16400];
    static const uint8_t to_host[WAYS_MAX] = {[2] = 1};
    struct eun_lb_network bad[6];
    for (int i = 0; i < 6; i++)
        bad[i] = network(0);
    static struct eun_lb_leaf_way wide[2] = {{0, 1, 0}, {2, 257, US}};
    for (uint32_t i = 0; i < 16400; i++)
        many[i] = (struct eun_lb_leaf_way){2, 1, US};
    bad[0].leaf = NULL;
    bad[1].ports = 513;
    bad[2].to_leaf = wide;
    bad[3].to_leaf = many;
    bad[3].leaves = 16385;
    bad[5].to_leaf = NULL;
    bad[5].to_host = to_host;
    test_init(&eun_balancer_conweave, &source, 1);
    for (int i = 0; i < 6; i++) {
        if (i == 4)
            continue;
        const char *reason = eun_balancer_conweave.configure(source.words, &p, &bad[i]);
        assert_non_null(reason);
        assert_ptr_equal(strstr(reason, "conweave "), reason);
    }
    wide[1].paths = 256;
    bad[3].leaves = 16384;
    bad[4].to_leaf = NULL; /* a spine */
    for (int i = 2; i < 5; i++)
        assert_null(eun_balancer_conweave.configure(source.words, &p, &bad[i]));
}

/** More flows than entries: those without one keep to one way each and are not touched. */
static void flows_without_an_entry_keep_to_ecmp(void **state)
{
    (void)state;
    struct test_random r = test_random_start(176);
    start(16);
    uint32_t untracked = 0;
    for (uint32_t flow = 0; flow < 3 * EUN_LB_QUEUES; flow++) {
        const struct eun_lb_packet packet = {SRC, DST, (uint32_t)test_random_next(&r), 1000};
        struct eun_lb_view view = test_view(0, PATHS);
        uint64_t tag[2];
        const uint32_t way = edge->depart(source.words, &packet, &view, &tag[0]);
        if (!tag[0]) {
            untracked++;
            assert_int_equal(edge->depart(source.words, &packet, &view, &tag[1]), way);
            struct eun_lb_verdict v;
            edge->deliver(sink.words, &packet, 0, true, PORT, US, &v);
            assert_true(is_plain(&v) && v.signals == 0);
        }
    }
    assert_true(untracked >= 2 * EUN_LB_QUEUES);
    assert_int_equal(source_stats()->untracked, 2 * untracked);
    /* Once the others are silent there is room. */
    assert_int_equal(depart(302 * US).opcode, EUN_CW_START);
}

/* ---------------------------------------------------------------- a small network */

enum { FLOWS = 12, ROOM = 1 << 12, KINDS = 6 };
enum kind { TAIL, REQUEST, DATA, REPLY, CLEAR, NOTIFY };

struct packet {
    int64_t at;
    uint32_t flow, seq;
    uint64_t tag;
    bool ce;
};

struct fifo {
    struct packet item[ROOM];
    uint32_t head, tail;
    int64_t last;
};

struct signal_on_its_way {
    int64_t at;
    struct eun_lb_signal signal;
};

/** Paths are first in, first out, and their delays wander; signals may overtake each other. */
struct world {
    struct test_random r;
    struct eun_lb_params params;
    uint32_t loss_percent[KINDS];
    int64_t delay[PATHS];
    int64_t delay_max;
    struct fifo path[PATHS];
    struct fifo held[FLOWS];
    uint32_t queue[FLOWS]; /* where it is held */
    struct signal_on_its_way signal[ROOM];
    uint32_t signals;
    int64_t next_send[FLOWS];
    uint32_t sent[FLOWS], lost, came, left, late;
    int64_t newest[FLOWS];
    uint8_t copies[FLOWS][ROOM];
    int64_t now;
};

static struct world w;

static void push(struct fifo *f, struct packet p)
{
    f->item[f->tail++ % ROOM] = p;
    assert_true(f->tail - f->head <= ROOM);
}

static struct packet pop(struct fifo *f)
{
    return f->item[f->head++ % ROOM];
}

static bool is_lost(enum kind kind)
{
    return test_chance(&w.r, w.loss_percent[kind]);
}

static struct eun_lb_packet header_of(uint32_t flow)
{
    return (struct eun_lb_packet){SRC + flow % 3, DST + flow % 4, 1000 + flow, 1000};
}

static void send_one(uint32_t flow)
{
    const struct eun_lb_packet packet = header_of(flow);
    const uint64_t tag = depart_of(&packet, w.now);
    const struct eun_cw_header h = eun_cw_unpack(tag);
    const uint32_t seq = w.sent[flow]++;
    const enum kind kind = h.tail ? TAIL : h.opcode == EUN_CW_DATA ? DATA : REQUEST;
    struct fifo *path = &w.path[h.path];
    if (is_lost(kind)) {
        w.lost++;
        w.copies[flow][seq] = 1;
    } else {
        const int64_t at = w.now + w.delay[h.path];
        path->last = at > path->last ? at : path->last + 1;
        push(path, (struct packet){path->last, flow, seq, tag, w.delay[h.path] > w.delay_max / 2});
    }
    const uint32_t mood = test_below(&w.r, 1000);
    const int64_t gap = mood < 900 ? US / 10 : mood < 995 ? 6 * US : 400 * US;
    w.next_send[flow] = w.now + 1 + (int64_t)(test_random_next(&w.r) % (uint64_t)gap);
}

static void send_signals(const struct eun_lb_verdict *v)
{
    for (uint32_t i = 0; i < v->signals; i++) {
        const uint8_t opcode = opcode_of(&v->signal[i]);
        const enum kind kind = opcode == EUN_CW_REPLY   ? REPLY
                               : opcode == EUN_CW_CLEAR ? CLEAR
                                                        : NOTIFY;
        if (is_lost(kind))
            continue;
        assert_true(w.signals < ROOM);
        const int64_t delay = US + (int64_t)(test_random_next(&w.r) % (uint64_t)(4 * US));
        w.signal[w.signals++] = (struct signal_on_its_way){w.now + delay, v->signal[i]};
    }
}

static void leave(struct packet p)
{
    w.left++;
    assert_int_equal(w.copies[p.flow][p.seq]++, 0);
    w.late += p.seq < w.newest[p.flow];
    w.newest[p.flow] = p.seq;
}

static void release(uint32_t queue)
{
    if (queue == EUN_LB_NO_QUEUE)
        return;
    uint32_t flow = 0;
    while (w.held[flow].head == w.held[flow].tail || w.queue[flow] != queue)
        assert_true(++flow < FLOWS);
    while (w.held[flow].head != w.held[flow].tail)
        leave(pop(&w.held[flow]));
}

static void arrive(struct packet p)
{
    const struct eun_lb_packet packet = header_of(p.flow);
    struct eun_lb_verdict v;
    w.came++;
    edge->deliver(sink.words, &packet, p.tag, p.ce, packet.dst % 4, w.now, &v);
    release(v.release_before);
    if (v.hold == EUN_LB_NO_QUEUE) {
        leave(p);
    } else {
        assert_true(w.held[p.flow].head == w.held[p.flow].tail || w.queue[p.flow] == v.hold);
        w.queue[p.flow] = v.hold;
        push(&w.held[p.flow], p);
    }
    release(v.release_after);
    send_signals(&v);
}

/** Earliest of what is to come: a packet's sending or arrival, a signal, a timer. */
static bool step(uint32_t packets)
{
    int64_t at = edge->deadline(sink.words);
    uint32_t what = 0, which = 0;
    for (uint32_t p = 0; p < PATHS; p++)
        if (w.path[p].head != w.path[p].tail && w.path[p].item[w.path[p].head % ROOM].at < at)
            at = w.path[p].item[w.path[p].head % ROOM].at, what = 1, which = p;
    for (uint32_t f = 0; f < FLOWS; f++)
        if (w.sent[f] < packets && w.next_send[f] < at)
            at = w.next_send[f], what = 2, which = f;
    for (uint32_t s = 0; s < w.signals; s++)
        if (w.signal[s].at < at)
            at = w.signal[s].at, what = 3, which = s;
    if (at == INT64_MAX)
        return false;
    w.now = at > w.now ? at : w.now;
    if (what == 1) {
        arrive(pop(&w.path[which]));
    } else if (what == 2) {
        send_one(which);
    } else if (what == 3) {
        const struct eun_lb_signal signal = w.signal[which].signal;
        w.signal[which] = w.signal[--w.signals];
        edge->signal(source.words, &signal, w.now);
    } else {
        struct eun_lb_verdict v;
        while (edge->expire(sink.words, w.now, &v)) {
            release(v.release_after);
            send_signals(&v);
        }
    }
    if (test_chance(&w.r, 2)) {
        const int64_t delay = (int64_t)(test_random_next(&w.r) % (uint64_t)w.delay_max);
        w.delay[test_below(&w.r, PATHS)] = US + (test_chance(&w.r, 60) ? 0 : delay);
    }
    return true;
}

/** Runs until nothing moves any more; every packet that was not lost has left once. */
static void run(uint64_t seed, int64_t delay_max, uint32_t packets)
{
    const struct eun_lb_params p = w.params;
    start_with(seed, &p);
    w.delay_max = delay_max;
    for (uint32_t i = 0; i < PATHS; i++)
        w.delay[i] = US + (int64_t)(test_random_next(&w.r) % (uint64_t)delay_max);
    for (uint32_t f = 0; f < FLOWS; f++) {
        w.next_send[f] = (int64_t)(test_random_next(&w.r) % (uint64_t)(50 * US));
        w.newest[f] = -1;
    }
    while (step(packets))
        continue;
    for (uint32_t f = 0; f < FLOWS; f++) {
        assert_int_equal(w.sent[f], packets);
        for (uint32_t seq = 0; seq < packets; seq++)
            assert_int_equal(w.copies[f][seq], 1);
    }
    assert_int_equal(w.left, w.came);
    assert_int_equal(w.left + w.lost, FLOWS * packets);
    assert_true(edge->deadline(sink.words) == INT64_MAX);
}

static void new_world(uint64_t seed)
{
    memset(&w, 0, sizeof w);
    w.r.state = seed;
    w.params = params();
}

/** Delays differ by 60 us, so that with 80 us of slack no tail is given up too early. */
static void calm_world(uint64_t seed)
{
    new_world(seed);
    w.params.conweave.resume_extra_ps = 80 * US;
}

static void flows_arrive_in_order_across_reroutes(void **state)
{
    (void)state;
    struct test_random r = test_random_start(181);
    uint64_t reroutes = 0, holds = 0, epochs = 0, notified = 0;
    for (int round = 0; round < 100; round++) {
        calm_world(test_random_next(&r));
        run(test_random_next(&r), 60 * US, 1000);
        assert_int_equal(w.late, 0);
        assert_int_equal(sink_stats()->no_queue, 0);
        assert_int_equal(sink_stats()->early_flushes, 0);
        assert_int_equal(sink_stats()->timer_flushes, 0);
        reroutes += source_stats()->reroutes;
        epochs += source_stats()->epochs;
        notified += source_stats()->notified;
        holds += sink_stats()->holds;
    }
    print_message("%llu epochs, %llu reroutes, %llu packets held\n", (unsigned long long)epochs,
                  (unsigned long long)reroutes, (unsigned long long)holds);
    assert_true(reroutes > 1000 && holds > 10000 && notified > 10000 && 2 * epochs > 3 * reroutes);
}

/** Whatever is lost, in turn and all together: order holds, and nothing waits for ever. */
static void order_survives_losses(void **state)
{
    (void)state;
    struct test_random r = test_random_start(182);
    for (uint32_t kind = 0; kind <= KINDS; kind++) {
        uint64_t flushes = 0, reroutes = 0;
        for (int round = 0; round < 20; round++) {
            calm_world(test_random_next(&r));
            for (uint32_t k = 0; k < KINDS; k++)
                w.loss_percent[k] = kind == k ? 50 : kind == KINDS ? 10 : 0;
            run(test_random_next(&r), 60 * US, 600);
            if (w.late)
                fail_msg("%u packets late, kind %u, round %d", w.late, kind, round);
            flushes += sink_stats()->timer_flushes;
            reroutes += source_stats()->reroutes;
        }
        assert_true(reroutes > 0);
        if (kind == TAIL)
            assert_true(flushes > 100);
    }
}

/** Tails that are slower than the estimate allows, and too few queues: late, but never lost. */
static void haste_costs_order_only(void **state)
{
    (void)state;
    struct test_random r = test_random_start(183);
    uint64_t late = 0, early = 0, no_queue = 0;
    for (int round = 0; round < 20; round++) {
        new_world(test_random_next(&r));
        w.params.conweave.queues_per_port = test_below(&r, 3);
        w.params.conweave.resume_extra_ps = test_below(&r, 3) * US;
        w.params.conweave.abort = test_chance(&r, 50);
        w.params.conweave.timer_clears = test_chance(&r, 50);
        for (uint32_t k = 0; k < KINDS; k++)
            w.loss_percent[k] = test_below(&r, 30);
        run(test_random_next(&r), 900 * US, 400);
        late += w.late;
        early += sink_stats()->early_flushes;
        no_queue += sink_stats()->no_queue;
    }
    assert_true(late > 0 && early > 0 && no_queue > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_survive_packing),
        cmocka_unit_test(a_reply_in_time_begins_the_next_epoch),
        cmocka_unit_test(a_late_reply_reroutes_and_order_is_kept),
        cmocka_unit_test(busy_paths_are_avoided),
        cmocka_unit_test(without_a_good_path_the_reroute_is_off),
        cmocka_unit_test(a_silent_flow_keeps_its_path_where_others_are_busy),
        cmocka_unit_test(a_new_flow_takes_a_busy_path),
        cmocka_unit_test(without_abort_the_path_is_taken_again),
        cmocka_unit_test(the_tail_is_given_up_when_due),
        cmocka_unit_test(without_an_old_packet_the_default_counts),
        cmocka_unit_test(timestamps_wrap),
        cmocka_unit_test(rerouted_packets_may_come_first),
        cmocka_unit_test(a_silent_flow_starts_anew),
        cmocka_unit_test(a_forgetful_source_is_believed),
        cmocka_unit_test(disagreement_ends_without_the_first_packet),
        cmocka_unit_test(only_the_epoch_before_is_old),
        cmocka_unit_test(stray_reports_are_ignored),
        cmocka_unit_test(flows_are_told_apart),
        cmocka_unit_test(an_overdue_tail_is_given_up_at_once),
        cmocka_unit_test(entries_that_hold_are_not_taken),
        cmocka_unit_test(queues_are_limited_by_port),
        cmocka_unit_test(three_tiers_follow_the_path),
        cmocka_unit_test(the_deadline_can_be_set_by_link),
        cmocka_unit_test(networks_that_do_not_fit_are_refused),
        cmocka_unit_test(flows_without_an_entry_keep_to_ecmp),
        cmocka_unit_test(flows_arrive_in_order_across_reroutes),
        cmocka_unit_test(order_survives_losses),
        cmocka_unit_test(haste_costs_order_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
