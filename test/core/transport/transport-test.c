/* SPDX-License-Identifier: GPL-2.0-only */
#include "test-support.h"

#include <string.h>

static void finds_each_by_its_name(void **state)
{
    (void)state;
    size_t count = 0;
    for (; eun_transports[count]; count++) {
        const struct eun_transport *t = eun_transports[count];
        assert_ptr_equal(eun_transport_find(t->name), t);
        assert_true(strlen(t->summary) > 0);
        assert_non_null(t->receive);
        assert_non_null(t->feedback);
        assert_non_null(t->timeout);
        /* A window of its own needs a clock, and so does a choice of paths. */
        assert_true(t->pacing || !(t->own_congestion_control || t->picks_paths));
    }
    assert_true(count >= 2);
    assert_ptr_equal(eun_transport_find("gbn"), &eun_transport_gbn);
    assert_ptr_equal(eun_transport_find("eunomia"), &eun_transport_eunomia);
    assert_ptr_equal(eun_transport_find("mprdma"), &eun_transport_mprdma);
}

static void default_is_eunomia(void **state)
{
    (void)state;
    assert_ptr_equal(eun_transports[0], &eun_transport_eunomia);
    assert_true(eun_transport_eunomia.tolerates_reordering);
    assert_false(eun_transport_gbn.tolerates_reordering);
}

static void unknown_names_are_unknown(void **state)
{
    (void)state;
    assert_null(eun_transport_find(""));
    assert_null(eun_transport_find("GBN"));
    assert_null(eun_transport_find("gbn "));
    assert_null(eun_transport_find("eunomi"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_each_by_its_name),
        cmocka_unit_test(default_is_eunomia),
        cmocka_unit_test(unknown_names_are_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
