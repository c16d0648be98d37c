/* SPDX-License-Identifier: GPL-2.0-only */
#include "core/wire/overhead.h"

#include "../test-random.h"

#include <string.h>

/** Ethernet, IPv4, UDP, BTH, ICRC, FCS: in every RoCEv2 frame. */
#define ROCE (14 + 20 + 8 + 12 + 4 + 4)
/** Ours: Head 32, Last 1, generation 7, MSN 24 bits. */
#define ORDERING ((32 + 1 + 7 + 24) / 8)
#define RETH (8 + 4 + 4)
#define AETH (1 + 3)
#define IMMEDIATE 4

static struct eun_overhead roce(enum eun_verb verb, bool ordered)
{
    struct eun_overhead o;
    memset(&o, 0xa5, sizeof o);
    eun_overhead_roce(&o, verb, ordered);
    return o;
}

struct row {
    enum eun_verb verb;
    bool ordered;
    bool first;
    bool last;
    uint32_t headers; /**< of the InfiniBand opcode, and ours */
};

/** Every kind of packet: the headers of its opcode, and what a reorder-tolerant one adds. */
static const struct row rows[] = {
    /* SEND First, Middle, Last, Only */
    {EUN_VERB_SEND, true, true, false, 0},
    {EUN_VERB_SEND, true, false, false, 0},
    {EUN_VERB_SEND, true, false, true, 0},
    {EUN_VERB_SEND, true, true, true, 0},
    /* WRITE First, Middle, Last, Only */
    {EUN_VERB_WRITE, true, true, false, RETH},
    {EUN_VERB_WRITE, true, false, false, 0},
    {EUN_VERB_WRITE, true, false, true, 0},
    {EUN_VERB_WRITE, true, true, true, RETH},
    /* WRITE First, Middle, Last with Immediate, Only with Immediate */
    {EUN_VERB_WRITE_IMM, true, true, false, RETH},
    {EUN_VERB_WRITE_IMM, true, false, false, 0},
    {EUN_VERB_WRITE_IMM, true, false, true, IMMEDIATE},
    {EUN_VERB_WRITE_IMM, true, true, true, RETH + IMMEDIATE},
    /* A packet that may come early says where it belongs, and a WRITE where it goes. */
    {EUN_VERB_SEND, false, true, false, ORDERING},
    {EUN_VERB_SEND, false, false, false, ORDERING},
    {EUN_VERB_SEND, false, false, true, ORDERING},
    {EUN_VERB_SEND, false, true, true, ORDERING},
    {EUN_VERB_WRITE, false, true, false, ORDERING + RETH},
    {EUN_VERB_WRITE, false, false, false, ORDERING + RETH},
    {EUN_VERB_WRITE, false, false, true, ORDERING + RETH},
    {EUN_VERB_WRITE, false, true, true, ORDERING + RETH},
    {EUN_VERB_WRITE_IMM, false, true, false, ORDERING + RETH},
    {EUN_VERB_WRITE_IMM, false, false, false, ORDERING + RETH},
    {EUN_VERB_WRITE_IMM, false, false, true, ORDERING + RETH + IMMEDIATE},
    {EUN_VERB_WRITE_IMM, false, true, true, ORDERING + RETH + IMMEDIATE},
};

static void roce_data_by_hand(void **state)
{
    (void)state;
    const struct {
        uint32_t payload;
        uint32_t padded;
    } sizes[] = {{1, 4},       {2, 4},       {3, 4},       {4, 4},
                 {5, 8},       {997, 1000},  {1000, 1000}, {1023, 1024},
                 {1024, 1024}, {4096, 4096}, {8999, 9000}, {9000, 9000}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        const struct eun_overhead o = roce(row->verb, row->ordered);
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
            assert_int_equal(eun_overhead_data(&o, sizes[s].payload, row->first, row->last),
                             ROCE + row->headers + sizes[s].padded);
    }
}

/** The three numbers that everyone asks for, written out. */
static void full_packets_of_1024_bytes(void **state)
{
    (void)state;
    struct eun_overhead o = roce(EUN_VERB_SEND, true);
    assert_int_equal(eun_overhead_data(&o, 1024, false, false), 1086);
    o = roce(EUN_VERB_SEND, false);
    assert_int_equal(eun_overhead_data(&o, 1024, false, false), 1094);
    o = roce(EUN_VERB_WRITE, false);
    assert_int_equal(eun_overhead_data(&o, 1024, false, false), 1110);
    o = roce(EUN_VERB_WRITE_IMM, false);
    assert_int_equal(eun_overhead_data(&o, 1024, true, true), 1114);
}

/**
 * A captured CNP of a ConnectX-4 has 74 bytes without FCS. ACK and NAK carry an AETH; SACK and NACK
 * of a reorder-tolerant transport carry 8 bytes more. PFC: 60 bytes and FCS.
 */
static void roce_control_by_hand(void **state)
{
    (void)state;
    for (int verb = EUN_VERB_SEND; verb <= EUN_VERB_WRITE_IMM; verb++) {
        for (int ordered = 0; ordered < 2; ordered++) {
            const struct eun_overhead o = roce((enum eun_verb)verb, ordered);
            assert_int_equal(o.cnp, 74 + 4);
            assert_int_equal(o.ack, ROCE + AETH);
            assert_int_equal(o.ack, 66);
            assert_int_equal(o.sack, ordered ? 66 : 74);
            assert_int_equal(o.pfc, 60 + 4);
            /* Preamble 7, start delimiter 1, gap 12. */
            assert_int_equal(o.gap, 7 + 1 + 12);
        }
    }
}

/** The least Ethernet frame has 64 bytes; no RoCEv2 frame with a payload needs more padding. */
static void no_frame_is_below_the_ethernet_minimum(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct eun_overhead o = roce(rows[i].verb, rows[i].ordered);
        assert_true(eun_overhead_data(&o, 1, rows[i].first, rows[i].last) >= 64);
        assert_true(o.ack >= 64 && o.sack >= 64 && o.cnp >= 64 && o.pfc >= 64);
    }
}

/** 48 bytes a data packet, 60 an answer, 43 a pause, no padding and no gap. */
static void flat_counts_as_the_hpcc_family(void **state)
{
    (void)state;
    struct eun_overhead o;
    memset(&o, 0xa5, sizeof o);
    eun_overhead_flat(&o, 48);
    for (uint32_t payload = 1; payload <= 1000; payload++)
        for (int kind = 0; kind < 4; kind++)
            assert_int_equal(eun_overhead_data(&o, payload, kind & 1, kind >> 1), payload + 48);
    assert_int_equal(o.ack, 60);
    assert_int_equal(o.sack, 60);
    assert_int_equal(o.cnp, 60);
    assert_int_equal(o.pfc, 43);
    assert_int_equal(o.gap, 0);
    eun_overhead_flat(&o, 0);
    assert_int_equal(eun_overhead_data(&o, 1000, true, true), 1000);
}

/** A verb's name and a flat overhead lead to one of the two; other names are refused. */
static void chosen_by_name(void **state)
{
    (void)state;
    const struct {
        const char *name;
        enum eun_verb verb;
    } verbs[] = {
        {"send", EUN_VERB_SEND}, {"write", EUN_VERB_WRITE}, {"write-imm", EUN_VERB_WRITE_IMM}};
    struct eun_overhead o;
    struct eun_overhead flat;
    eun_overhead_flat(&flat, 48);
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        for (int ordered = 0; ordered < 2; ordered++) {
            const struct eun_overhead real = roce(verbs[i].verb, ordered);
            assert_true(eun_overhead_choose(&o, verbs[i].name, 0, ordered));
            assert_memory_equal(&o, &real, sizeof o);
            assert_true(eun_overhead_choose(&o, verbs[i].name, 48, ordered));
            assert_memory_equal(&o, &flat, sizeof o);
        }
    }
    assert_false(eun_overhead_choose(&o, "read", 0, true));
    assert_false(eun_overhead_choose(&o, "read", 48, true));
    assert_memory_equal(&o, &flat, sizeof o);
}

/** MP-RDMA: an ACK tells of the packet that it answers, too. */
static void answers_that_name_a_packet(void **state)
{
    (void)state;
    struct eun_overhead o = roce(EUN_VERB_SEND, false);
    eun_overhead_name_answers(&o);
    assert_int_equal(o.ack, ROCE + AETH + 8);
    assert_int_equal(o.sack, o.ack);
    eun_overhead_flat(&o, 48);
    eun_overhead_name_answers(&o);
    assert_int_equal(o.ack, 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roce_data_by_hand),
        cmocka_unit_test(full_packets_of_1024_bytes),
        cmocka_unit_test(roce_control_by_hand),
        cmocka_unit_test(no_frame_is_below_the_ethernet_minimum),
        cmocka_unit_test(flat_counts_as_the_hpcc_family),
        cmocka_unit_test(chosen_by_name),
        cmocka_unit_test(answers_that_name_a_packet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
