/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_PSN_H
#define EUNOMIA_PSN_H

/**
 * Packet sequence numbers.
 *
 * A PSN has 24 bits on the wire (InfiniBand spec, BTH). Inside it has 32 bits and is compared with
 * serial-number arithmetic (RFC 1982), so a window may wrap at either width. Both ends must keep
 * fewer than 2^23 packets outstanding, or a wire PSN is ambiguous.
 */

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EUN_PSN_BITS 24u
#define EUN_PSN_MASK ((1u << EUN_PSN_BITS) - 1u)
/** Most packets that may be outstanding on a QP. */
#define EUN_PSN_WINDOW_MAX (1u << (EUN_PSN_BITS - 1u))

/** How far `a` lies ahead of `b`; negative where it lies behind. */
static inline int32_t eun_psn_diff(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b);
}

static inline bool eun_psn_before(uint32_t a, uint32_t b)
{
    return eun_psn_diff(a, b) < 0;
}

/** The 24 bits that travel. */
static inline uint32_t eun_psn_to_wire(uint32_t psn)
{
    return psn & EUN_PSN_MASK;
}

/** The 32-bit PSN that a 24-bit wire PSN means, given one within 2^23 of it. */
static inline uint32_t eun_psn_from_wire(uint32_t wire, uint32_t near)
{
    uint32_t delta = (wire - near) & EUN_PSN_MASK;
    if (delta >= EUN_PSN_WINDOW_MAX)
        delta -= 1u << EUN_PSN_BITS;
    return near + delta;
}

#ifdef __cplusplus
}
#endif
#endif
