/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * Message isolation against the definition. Small windows: all ways of cutting 8 PSNs into messages
 * are enumerated, and every possible packet is tried at every step. Large ones: a naive model keeps
 * every boundary and every arrival.
 */
#include "test-support.h"

#include "core/transport/isolation.h"
#include "core/transport/receiver-internal.h"

#include <string.h>

/* Small windows. A cut is a set of PSNs, bit i for PSN i: those that end a message. */

#define N 8u
#define CUTS (1u << N)

/** What arrived of a stream that is cut in one way; PSNs and message numbers from 0. */
struct small {
    struct eun_reorder *layer;
    struct eun_receiver_env env;
    struct eun_receiver rx;
    uint32_t origin;     /**< first PSN */
    uint32_t msn_origin; /**< first message number */
    uint32_t cut;        /**< the true one */
    uint32_t arrived;    /**< set of PSNs */
    uint32_t expected;
    bool known[CUTS];    /**< cuts that agree with what a receiver knows */
    bool arrivals[CUTS]; /**< cuts that agree with every packet that arrived */
};

static uint32_t lasts_before(uint32_t cut, uint32_t psn)
{
    return (uint32_t)__builtin_popcount(cut & ((1u << psn) - 1u));
}

static uint32_t head_of(uint32_t cut, uint32_t psn)
{
    const uint32_t before = cut & ((1u << psn) - 1u);
    return before ? 32u - (uint32_t)__builtin_clz(before) : 0;
}

/** A packet as the small model sees it; `head` and `msn` may be anything. */
struct claim {
    uint32_t psn;
    int32_t head;
    int32_t msn;
    bool last;
};

static struct claim truth(uint32_t cut, uint32_t psn)
{
    return (struct claim){.psn = psn,
                          .head = (int32_t)head_of(cut, psn),
                          .msn = (int32_t)lasts_before(cut, psn),
                          .last = cut >> psn & 1u};
}

static bool agrees(uint32_t cut, const struct claim *claim)
{
    const struct claim right = truth(cut, claim->psn);
    return right.head == claim->head && right.msn == claim->msn && right.last == claim->last;
}

/** Does the cut agree with what a receiver knows: the message at the prefix, what is held ... */
static bool agrees_with_state(const struct small *s, uint32_t cut)
{
    const uint32_t held = s->arrived & ~((1u << s->expected) - 1u);
    if (lasts_before(cut, s->expected) != lasts_before(s->cut, s->expected))
        return false;
    const uint32_t head = s->origin + head_of(cut, s->expected);
    if (head - s->rx.head > s->rx.head_slack)
        return false;
    if ((cut & held) != (s->cut & held))
        return false;
    if (held == 0)
        return true;
    /* ... and the newest message, unless it is that at the prefix. */
    const uint32_t newest = 31u - (uint32_t)__builtin_clz(held);
    const struct claim claim = truth(s->cut, newest);
    const bool later = claim.msn > (int32_t)lasts_before(s->cut, s->expected);
    return later ? agrees(cut, &claim) : lasts_before(cut, newest) == (uint32_t)claim.msn;
}

static struct eun_data packet_of(const struct small *s, const struct claim *claim)
{
    return (struct eun_data){.psn = s->origin + claim->psn,
                             .head = s->origin + (uint32_t)claim->head,
                             .msn = (s->msn_origin + (uint32_t)claim->msn) & EUN_MSN_MASK,
                             .payload = 1000,
                             .last = claim->last};
}

static bool exists(const bool *cuts, const struct claim *claim)
{
    for (uint32_t cut = 0; cut < CUTS; cut++)
        if (cuts[cut] && agrees(cut, claim))
            return true;
    return false;
}

/** How many packets that contradict the arrivals were seen, and how many of these passed. */
struct tally {
    uint64_t contradictions;
    uint64_t passed;
};

/** Every packet at or past the prefix, with Heads and numbers from beyond both ends as well. */
static void try_every_packet(struct small *s, struct tally *tally)
{
    struct claim claim;
    for (uint32_t cut = 0; cut < CUTS; cut++)
        s->known[cut] = agrees_with_state(s, cut);
    assert_true(s->known[s->cut] && s->arrivals[s->cut]);
    for (claim.psn = s->expected; claim.psn < N; claim.psn++) {
        for (claim.head = -2; claim.head < (int32_t)N + 1; claim.head++) {
            for (claim.msn = -2; claim.msn < (int32_t)N + 1; claim.msn++) {
                for (int last = 0; last < 2; last++) {
                    claim.last = last;
                    const struct eun_data packet = packet_of(s, &claim);
                    const bool allowed = eun_isolation_allows(&s->rx, s->layer, &packet);
                    assert_int_equal(allowed, exists(s->known, &claim));
                    const bool possible = exists(s->arrivals, &claim);
                    assert_true(allowed || !possible);
                    tally->contradictions += !possible;
                    tally->passed += allowed && !possible;
                }
            }
        }
    }
}

static void small_arrival(struct small *s, uint32_t psn)
{
    const struct claim claim = truth(s->cut, psn);
    const struct eun_data packet = packet_of(s, &claim);
    struct eun_rx_verdict v;
    eun_transport_eunomia.receive(&s->rx, &s->env, &packet, 0, &v);
    const bool again = s->arrived >> psn & 1u;
    assert_int_equal(v.disposition, again                ? EUN_RX_DUPLICATE
                                    : psn == s->expected ? EUN_RX_ACCEPTED
                                                         : EUN_RX_HELD);
    const uint32_t before = s->expected;
    s->arrived |= 1u << psn;
    while (s->expected < N && (s->arrived >> s->expected & 1u))
        s->expected++;
    assert_int_equal(v.completed, lasts_before(s->cut, s->expected) - lasts_before(s->cut, before));
    for (uint32_t cut = 0; cut < CUTS; cut++)
        s->arrivals[cut] &= agrees(cut, &claim);
}

static void small_stream(struct small *s, struct test_random *r, struct tally *tally)
{
    static const uint32_t dense[] = {5, 20, 50, 80, 95};
    const uint32_t percent = dense[test_below(r, 5)];
    s->origin = test_first_psn(r);
    s->msn_origin = (0u - test_below(r, 2u * N)) & EUN_MSN_MASK;
    s->cut = s->arrived = s->expected = 0;
    for (uint32_t psn = 0; psn < N; psn++)
        s->cut |= (uint32_t)test_chance(r, percent) << psn;
    memset(s->arrivals, true, sizeof s->arrivals);
    eun_receiver_init(&s->rx, 0, s->origin);
    s->rx.msn = s->msn_origin;
    assert_true(eun_reorder_open(s->layer, 0));
    while (s->expected < N) {
        try_every_packet(s, tally);
        small_arrival(s, test_below(r, N));
    }
}

static void refused_exactly_where_no_cut_agrees(void **state)
{
    (void)state;
    const char *deep = getenv("EUNOMIA_DEEP");
    const uint32_t streams = deep && deep[0] == '1' ? 20000 : 150;
    struct test_random r = test_random_start(2);
    static struct small s;
    struct tally tally = {0};
    s.layer = test_reorder(1024);
    s.env = test_receiver_env(s.layer);
    for (uint32_t i = 0; i < streams; i++)
        small_stream(&s, &r, &tally);
    eun_reorder_free(s.layer);
    print_message("%llu contradictions of what had arrived, %.3f %% not to be known\n",
                  (unsigned long long)tally.contradictions,
                  100.0 * (double)tally.passed / (double)tally.contradictions);
    assert_true(tally.contradictions > 1000u * streams);
    assert_true(tally.passed * 100u < tally.contradictions);
}

/* Large windows. */

#define PSNS 3000u
#define WINDOW 256u

struct large {
    struct test_random r;
    struct eun_reorder *layer;
    struct eun_receiver_env env;
    struct eun_receiver rx;
    uint32_t origin;
    uint32_t msn_origin;
    uint32_t head[PSNS];
    uint32_t msn[PSNS];
    bool last[PSNS];
    bool kept[PSNS];
    uint32_t expected;
    uint64_t forged;
};

static void cut_into_messages(struct large *l)
{
    const uint32_t longest = test_chance(&l->r, 30) ? 2 : test_chance(&l->r, 50) ? 20 : 400;
    uint32_t msn = 0;
    for (uint32_t head = 0; head < PSNS; msn++) {
        uint32_t packets = test_chance(&l->r, 30) ? 1 : test_between(&l->r, 1, longest);
        packets = packets < PSNS - head ? packets : PSNS - head;
        for (uint32_t i = 0; i < packets; i++) {
            l->head[head + i] = head;
            l->msn[head + i] = msn;
            l->last[head + i] = i == packets - 1u;
        }
        head += packets;
    }
}

/** As a NIC decodes it: PSN and message number have 24 bits on the wire. */
static struct eun_data decoded(const struct large *l, uint32_t psn, uint32_t head, uint32_t msn,
                               bool last)
{
    const uint32_t wire = eun_psn_to_wire(l->origin + psn);
    return (struct eun_data){.psn = eun_psn_from_wire(wire, l->rx.expected),
                             .head = l->origin + head,
                             .msn =
                                 eun_psn_from_wire((l->msn_origin + msn) & EUN_MSN_MASK, l->rx.msn),
                             .payload = 1000,
                             .last = last};
}

/** The nearest PSN after `psn` that is held, PSNS where none is. */
static uint32_t next_held(const struct large *l, uint32_t psn)
{
    do
        psn++;
    while (psn < PSNS && !l->kept[psn]);
    return psn;
}

/** A packet that is wrong for a reason that a receiver must know. False where it makes none. */
static bool forge(struct large *l, struct eun_data *out)
{
    const uint32_t psn = l->expected + test_below(&l->r, WINDOW);
    if (psn >= PSNS)
        return false;
    const uint32_t held = next_held(l, psn);
    if (held == PSNS)
        return false;
    const uint32_t current = l->msn[l->expected];
    switch (test_below(&l->r, 6)) {
    case 0: /* Head after the PSN */
        *out = decoded(l, psn, psn + test_between(&l->r, 1, 9), l->msn[psn], l->last[psn]);
        return true;
    case 1: /* a message that is complete */
        *out = decoded(l, psn, l->head[psn], current - test_between(&l->r, 1, 9), l->last[psn]);
        return true;
    case 2: /* the PSN after a Last goes on with its message */
        if (!l->last[held])
            return false;
        *out = decoded(l, held + 1u, l->head[held], l->msn[held], false);
        return true;
    case 3: /* a message starts after a held PSN that is no Last */
        if (l->last[held])
            return false;
        *out = decoded(l, held + 1u, held + 1u, l->msn[held] + 1u, true);
        return true;
    case 4: /* a number past the newest at a smaller PSN */
        if (next_held(l, held) != PSNS)
            return false;
        *out = decoded(l, psn, psn, l->msn[held] + test_between(&l->r, 1, 9), true);
        return true;
    default: /* a Last in the middle of a message of which a later packet is held */
        if (l->msn[psn] != l->msn[held] || l->msn[held] != current || l->kept[psn])
            return false;
        *out = decoded(l, psn, l->head[psn], current, true);
        return l->rx.head_slack == 0 && !l->rx.later_valid;
    }
}

static void try_forged(struct large *l)
{
    struct eun_data packet;
    if (!forge(l, &packet))
        return;
    const struct eun_receiver before = l->rx;
    struct eun_reorder_view held[2];
    struct eun_rx_verdict v;
    eun_reorder_view(l->layer, 0, &held[0]);
    eun_transport_eunomia.receive(&l->rx, &l->env, &packet, 0, &v);
    eun_reorder_view(l->layer, 0, &held[1]);
    assert_int_equal(v.disposition, EUN_RX_INVALID);
    assert_int_equal(v.feedback.kind, EUN_FEEDBACK_NONE);
    assert_memory_equal(&before, &l->rx, sizeof before);
    assert_memory_equal(&held[0], &held[1], sizeof held[0]);
    l->forged++;
}

/** A true packet comes, fresh or again; returns how many messages that completed. */
static uint32_t large_arrival(struct large *l)
{
    uint32_t psn = test_chance(&l->r, 40) ? l->expected : l->expected + test_below(&l->r, WINDOW);
    if (test_chance(&l->r, 10) && l->expected > 0)
        psn = test_below(&l->r, l->expected);
    if (psn >= PSNS)
        psn = l->expected;
    const struct eun_data packet = decoded(l, psn, l->head[psn], l->msn[psn], l->last[psn]);
    const bool degraded = l->rx.degraded;
    struct eun_rx_verdict v;
    eun_transport_eunomia.receive(&l->rx, &l->env, &packet, 0, &v);
    assert_int_not_equal(v.disposition, EUN_RX_INVALID);
    if (l->rx.degraded && !degraded)
        memset(&l->kept[l->expected], 0, PSNS - l->expected);
    if (v.disposition == EUN_RX_ACCEPTED || v.disposition == EUN_RX_HELD)
        l->kept[psn] = true;
    uint32_t completed = 0;
    for (; l->expected < PSNS && l->kept[l->expected]; l->expected++)
        completed += l->last[l->expected];
    assert_int_equal(v.completed, completed);
    assert_int_equal(l->rx.expected, l->origin + l->expected);
    return completed;
}

/** Legal streams with forged packets between: these never count, those always. */
static void legal_streams_pass(void **state)
{
    (void)state;
    static const uint32_t blocks[] = {26, 40, 1024};
    struct test_random r = test_random_start(3);
    static struct large l;
    uint64_t forged = 0;
    uint64_t fallbacks = 0;
    for (uint32_t i = 0; i < 60; i++) {
        memset(&l, 0, sizeof l);
        l.r = (struct test_random){test_random_next(&r)};
        l.layer = test_reorder(blocks[test_below(&l.r, 3)]);
        l.env = test_receiver_env(l.layer);
        l.env.fallback_after = 3;
        l.origin = 0u - test_below(&l.r, test_chance(&l.r, 50) ? PSNS : 1u << 24);
        l.msn_origin = (0u - test_below(&l.r, 2u * PSNS)) & EUN_MSN_MASK;
        cut_into_messages(&l);
        eun_receiver_init(&l.rx, 0, l.origin);
        l.rx.msn = l.msn_origin;
        assert_true(eun_reorder_open(l.layer, 0));
        uint32_t completed = 0;
        while (l.expected < PSNS) {
            try_forged(&l);
            completed += large_arrival(&l);
        }
        assert_int_equal(completed, l.msn[PSNS - 1u] + 1u);
        forged += l.forged;
        fallbacks += l.env.fallbacks;
        eun_receiver_close(&l.rx, &l.env);
        eun_reorder_free(l.layer);
    }
    print_message("%llu forged packets, %llu fallbacks\n", (unsigned long long)forged,
                  (unsigned long long)fallbacks);
    assert_true(forged > 10000);
    assert_true(fallbacks > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_exactly_where_no_cut_agrees),
        cmocka_unit_test(legal_streams_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
