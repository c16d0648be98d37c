/* SPDX-License-Identifier: GPL-2.0-only */
#include "overhead.h"

#include <string.h>

enum {
    ETHERNET = 14,
    IPV4 = 20,
    UDP = 8,
    BTH = 12,
    ICRC = 4,
    FCS = 4,
    BASE = ETHERNET + IPV4 + UDP + BTH + ICRC + FCS,
    AETH = 4,
    RETH = 16,
    IMMEDIATE = 4,
    CNP_PAD = 16,
    ORDERING_HEADER = 8,
    REFERRED_PSN = 8,
    PFC = 64,
    GAP = 20,
};

void eun_overhead_roce(struct eun_overhead *o, enum eun_verb verb, bool ordered)
{
    const bool write = verb != EUN_VERB_SEND;
    memset(o, 0, sizeof(*o));
    o->data = BASE + (ordered ? 0 : ORDERING_HEADER) + (write && !ordered ? RETH : 0);
    o->first = write && ordered ? RETH : 0;
    o->last = verb == EUN_VERB_WRITE_IMM ? IMMEDIATE : 0;
    o->padded = true;
    o->ack = BASE + AETH;
    o->sack = BASE + AETH + (ordered ? 0 : REFERRED_PSN);
    o->cnp = BASE + CNP_PAD;
    o->pfc = PFC;
    o->gap = GAP;
}

void eun_overhead_flat(struct eun_overhead *o, uint32_t bytes)
{
    memset(o, 0, sizeof(*o));
    o->data = bytes;
    o->ack = o->sack = o->cnp = 60;
    o->pfc = 43;
}

bool eun_overhead_choose(struct eun_overhead *o, const char *verb, uint32_t flat, bool ordered)
{
    static const char *const names[] = {
        [EUN_VERB_SEND] = "send", [EUN_VERB_WRITE] = "write", [EUN_VERB_WRITE_IMM] = "write-imm"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], verb) != 0)
            continue;
        if (flat > 0)
            eun_overhead_flat(o, flat);
        else
            eun_overhead_roce(o, (enum eun_verb)i, ordered);
        return true;
    }
    return false;
}
