/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_FIXED_BITMAP_H
#define EUNOMIA_FIXED_BITMAP_H

/**
 * The plain rival of the HD bitmap: a bitmap of `cap` PSNs that a QP owns from start to end, as IRN
 * has (Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM 2018), and one of the same
 * size for Last packets. A PSN's place is its value modulo the size, a power of two, so the bitmap
 * needs no state besides its bits and never moves one.
 *
 * Guarantee: bit(p) is set exactly for the PSNs p in [expected, expected + cap) that arrived.
 */

#include "hd-bitmap.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EUN_FIXED_CAP_MAX 4096u

/** What bitmaps of one size have in common. */
struct eun_fixed_shape {
    uint32_t cap;   /**< PSNs that may be held ahead: a multiple of 64, 64..4096 */
    uint32_t mask;  /**< the size in PSNs, the power of two at or above `cap`, minus 1 */
    uint32_t words; /**< length of one QP's array */
};

/** False where `cap` is out of range. */
bool eun_fixed_shape_init(struct eun_fixed_shape *shape, uint32_t cap);

/** Empties a bitmap. `words` is the QP's array of shape->words, which the caller owns. */
void eun_fixed_clear(const struct eun_fixed_shape *shape, uint64_t *words);

/** Is a PSN held? */
bool eun_fixed_has_gap(const struct eun_fixed_shape *shape, const uint64_t *words);

/** Is `psn` held? `psn` at or past `expected`. */
bool eun_fixed_holds(const struct eun_fixed_shape *shape, const uint64_t *words, uint32_t expected,
                     uint32_t psn);

/** The words of 64 PSNs lie in pairs: who has arrived, and who of them ends a message. */
static inline uint64_t *eun_fixed_pair(const struct eun_fixed_shape *shape, uint64_t *words,
                                       uint32_t psn)
{
    return words + (psn & shape->mask) / 64u * 2u;
}

/** As eun_fixed_arrive(), for the expected PSN. */
static inline struct eun_hd_outcome eun_fixed_advance(const struct eun_fixed_shape *shape,
                                                      uint64_t *words, uint32_t expected, bool last)
{
    struct eun_hd_outcome outcome = {EUN_HD_ADVANCED, 1, last};
    uint32_t run;
    uint32_t bit;
    do {
        uint32_t psn = expected + outcome.advanced;
        uint64_t *pair = eun_fixed_pair(shape, words, psn);
        bit = psn % 64u;
        uint64_t gaps = ~(pair[0] >> bit);
        run = gaps != 0 ? (uint32_t)__builtin_ctzll(gaps) : 64u;
        if (run == 0)
            break;
        uint64_t taken = ~UINT64_C(0) >> (64u - run) << bit;
        pair[0] &= ~taken;
        if ((pair[1] & taken) != 0) {
            outcome.lasts += (uint32_t)__builtin_popcountll(pair[1] & taken);
            pair[1] &= ~taken;
        }
        outcome.advanced += run;
    } while (bit + run == 64u);
    return outcome;
}

/** Packet `psn` arrived; as eun_hd_arrive(), and the only refusal is EUN_HD_CAP. */
static inline struct eun_hd_outcome eun_fixed_arrive(const struct eun_fixed_shape *shape,
                                                     uint64_t *words, uint32_t expected,
                                                     uint32_t psn, bool last)
{
    uint32_t ahead = psn - expected;
    if (ahead == 0)
        return eun_fixed_advance(shape, words, expected, last);
    struct eun_hd_outcome outcome = {EUN_HD_DUPLICATE, 0, 0};
    if (ahead >= shape->cap) {
        outcome.verdict = (int32_t)ahead < 0 ? EUN_HD_DUPLICATE : EUN_HD_CAP;
        return outcome;
    }
    uint64_t *pair = eun_fixed_pair(shape, words, psn);
    uint64_t bit = UINT64_C(1) << (psn % 64u);
    if ((pair[0] & bit) != 0)
        return outcome;
    pair[0] |= bit;
    pair[1] |= (uint64_t)last << (psn % 64u);
    outcome.verdict = EUN_HD_HELD;
    return outcome;
}

#ifdef __cplusplus
}
#endif
#endif
