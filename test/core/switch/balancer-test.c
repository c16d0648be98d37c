/* SPDX-License-Identifier: GPL-2.0-only */
#include "core/switch/balancer.h"

#include "test-support.h"

#include <string.h>

/** What every balancer must do, whatever its rule. */

static struct eun_lb_packet random_packet(struct test_random *r)
{
    return (struct eun_lb_packet){.src = test_below(r, 128),
                                  .dst = test_below(r, 128),
                                  .entropy = (uint32_t)test_random_next(r),
                                  .bytes = test_between(r, 64, 9216)};
}

static struct eun_lb_view random_view(struct test_random *r, const uint32_t *queues)
{
    const uint32_t n = test_between(r, 2, WAYS_MAX);
    struct eun_lb_view view = test_view(test_below(r, WAYS_MAX - n + 1), n);
    view.queue_bytes = queues;
    view.now_ps = (int64_t)(test_random_next(r) >> 2);
    view.from_host = test_chance(r, 50);
    return view;
}

/** Queues of any length, as they might be a while later. */
static void shuffle_queues(struct test_random *r, uint32_t *queues)
{
    for (uint32_t k = 0; k < WAYS_MAX; k++)
        queues[k] = (uint32_t)test_random_next(r);
}

static void listed_balancers_are_found_by_name(void **state)
{
    (void)state;
    assert_ptr_equal(eun_balancers[0], &eun_balancer_spray);
    assert_ptr_equal(eun_balancer_find("spray"), &eun_balancer_spray);
    assert_ptr_equal(eun_balancer_find("spray-rr"), &eun_balancer_spray_rr);
    assert_ptr_equal(eun_balancer_find("ecmp"), &eun_balancer_ecmp);
    assert_ptr_equal(eun_balancer_find("drill"), &eun_balancer_drill);
    assert_ptr_equal(eun_balancer_find("drill-conweave-ns3"), &eun_balancer_drill_conweave);
    assert_ptr_equal(eun_balancer_find("letflow"), &eun_balancer_letflow);
    assert_ptr_equal(eun_balancer_find("conga"), &eun_balancer_conga);
    assert_ptr_equal(eun_balancer_find("deflect"), &eun_balancer_deflect);
    assert_ptr_equal(eun_balancer_find("elephant-spray"), &eun_balancer_elephant_spray);
    assert_ptr_equal(eun_balancer_find("adaptive"), &eun_balancer_adaptive);
    assert_ptr_equal(eun_balancer_find("conweave"), &eun_balancer_conweave);
    for (size_t i = 0; eun_balancers[i]; i++) {
        assert_ptr_equal(eun_balancer_find(eun_balancers[i]->name), eun_balancers[i]);
        assert_true(strlen(eun_balancers[i]->name) > 0);
        assert_true(strlen(eun_balancers[i]->summary) > 0);
        assert_true(!eun_balancers[i]->enter == !eun_balancers[i]->sent);
        assert_true(!eun_balancers[i]->enter == !eun_balancers[i]->arrive);
        const struct eun_lb_edge *edge = eun_balancers[i]->edge;
        assert_true(!edge || (edge->header_bytes && edge->depart && edge->follow && edge->deliver &&
                              edge->signal && edge->deadline && edge->expire && edge->stats));
    }
}

static void other_names_are_not_found(void **state)
{
    (void)state;
    const char *const names[] = {"", "spra", "spray-", "ECMP", "ecmp ", "9"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_null(eun_balancer_find(names[i]));
}

static void choices_lie_in_the_group(void **state)
{
    (void)state;
    struct test_random r = test_random_start(61);
    for (size_t b = 0; eun_balancers[b]; b++) {
        struct test_state s;
        test_init(eun_balancers[b], &s, test_random_next(&r));
        for (int i = 0; i < 100000; i++) {
            uint32_t queues[WAYS_MAX];
            shuffle_queues(&r, queues);
            const struct eun_lb_packet packet = random_packet(&r);
            const struct eun_lb_view view = random_view(&r, queues);
            assert_true(eun_balancers[b]->choose(s.words, &packet, &view) < view.count);
        }
    }
}

/** One that claims so gives an entropy the same way of a group, whatever else changes. */
static void those_that_follow_the_entropy(void **state)
{
    (void)state;
    struct test_random r = test_random_start(64);
    uint32_t followers = 0;
    for (size_t b = 0; eun_balancers[b]; b++) {
        const struct eun_balancer *lb = eun_balancers[b];
        struct test_state s;
        if (!lb->follows_entropy)
            continue;
        followers++;
        test_init(lb, &s, test_random_next(&r));
        for (int i = 0; i < 10000; i++) {
            uint32_t queues[WAYS_MAX] = {0};
            const struct eun_lb_packet one = random_packet(&r);
            struct eun_lb_packet two = random_packet(&r);
            two.entropy = one.entropy;
            struct eun_lb_view view = random_view(&r, queues);
            const uint32_t way = lb->choose(s.words, &one, &view);
            shuffle_queues(&r, queues);
            view.now_ps = (int64_t)(test_random_next(&r) >> 2);
            assert_int_equal(lb->choose(s.words, &two, &view), way);
        }
    }
    assert_true(followers > 0 && eun_balancer_ecmp.follows_entropy);
    assert_false(eun_balancer_spray.follows_entropy);
}

/**
 * The state is all there is: equal seeds and packets give equal choices, whatever the memory held
 * and whatever another switch does meanwhile; and nothing beyond `state_bytes` is touched.
 */
static void choices_depend_on_own_state_only(void **state)
{
    (void)state;
    struct test_random r = test_random_start(62);
    for (size_t b = 0; eun_balancers[b]; b++) {
        const struct eun_balancer *lb = eun_balancers[b];
        struct test_state one, two, other;
        memset(&one, 0, sizeof one);
        memset(&two, 0xff, sizeof two);
        test_init(lb, &one, 1234);
        test_init(lb, &two, 1234);
        test_init(lb, &other, 99);
        for (int i = 0; i < 10000; i++) {
            const struct eun_lb_packet packet = random_packet(&r);
            const struct eun_lb_view view = random_view(&r, test_empty_queues);
            const uint32_t choice = lb->choose(one.words, &packet, &view);
            if (test_chance(&r, 50))
                (void)lb->choose(other.words, &packet, &view);
            assert_int_equal(lb->choose(two.words, &packet, &view), choice);
        }
        const unsigned char *bytes = (const unsigned char *)two.words;
        for (size_t i = lb->state_bytes; i < sizeof two.words; i++)
            assert_int_equal(bytes[i], 0xff);
    }
}

/** `reorders` says whether one flow's packets may take different ways, while queues come and go. */
static void reorders_tells_the_truth(void **state)
{
    (void)state;
    struct test_random r = test_random_start(63);
    for (size_t b = 0; eun_balancers[b]; b++) {
        struct test_state s;
        test_init(eun_balancers[b], &s, 5);
        struct eun_lb_view view = test_view(0, 8);
        uint32_t queues[WAYS_MAX];
        view.queue_bytes = queues;
        uint32_t moved = 0;
        for (int flow = 0; flow < 100; flow++) {
            view.from_host = flow % 2;
            shuffle_queues(&r, queues);
            const struct eun_lb_packet packet = random_packet(&r);
            const uint32_t way = eun_balancers[b]->choose(s.words, &packet, &view);
            for (int i = 0; i < 20; i++) {
                const struct eun_lb_packet cross = random_packet(&r);
                shuffle_queues(&r, queues);
                (void)eun_balancers[b]->choose(s.words, &cross, &view);
                moved += eun_balancers[b]->choose(s.words, &packet, &view) != way;
            }
        }
        /* A detour reorders, too; the ways before it need not. */
        if (!eun_balancers[b]->divert)
            assert_true((moved > 0) == eun_balancers[b]->reorders);
        else
            assert_true(eun_balancers[b]->reorders);
    }
}

/** Many flows fill all ways alike under any of them, in groups of any size. */
static void many_flows_use_all_ways(void **state)
{
    (void)state;
    struct test_random r = test_random_start(64);
    for (size_t b = 0; eun_balancers[b]; b++) {
        for (uint32_t n = 2; n <= WAYS_MAX; n++) {
            struct test_state s;
            uint32_t count[WAYS_MAX] = {0};
            struct eun_lb_view view = test_view(0, n);
            view.from_host = n % 2;
            test_init(eun_balancers[b], &s, test_random_next(&r));
            for (uint32_t i = 0; i < 60 * n; i++) {
                struct eun_lb_packet packet = random_packet(&r);
                packet.dst = i; /* some remember by destination */
                view.now_ps = i * INT64_C(1000000);
                count[eun_balancers[b]->choose(s.words, &packet, &view)]++;
            }
            test_assert_uniform(count, n);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listed_balancers_are_found_by_name),
        cmocka_unit_test(other_names_are_not_found),
        cmocka_unit_test(choices_lie_in_the_group),
        cmocka_unit_test(those_that_follow_the_entropy),
        cmocka_unit_test(choices_depend_on_own_state_only),
        cmocka_unit_test(reorders_tells_the_truth),
        cmocka_unit_test(many_flows_use_all_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
