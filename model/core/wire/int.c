/* SPDX-License-Identifier: GPL-2.0-only */
#include "int.h"

#define TIME_BITS 24u
#define TX_BITS 20u
#define QUEUE_MAX 0xffffu

/** In Mb/s, so that 2.5 Gb/s is whole. */
static const uint32_t rates[16] = {1000,    2500,    5000,    10000,  20000,  25000,
                                   40000,   50000,   100000,  200000, 400000, 800000,
                                   1600000, 2400000, 3200000, 6400000};

uint64_t eun_int_rate(uint32_t code)
{
    return (uint64_t)rates[code] * 1000000u;
}

int eun_int_rate_code(uint64_t rate_bps)
{
    for (uint32_t code = 0; code < 16; code++)
        if (eun_int_rate(code) == rate_bps)
            return (int)code;
    return -1;
}

uint64_t eun_int_encode(uint32_t code, int64_t now_ps, uint64_t tx_bytes, uint64_t queue_bytes)
{
    const uint64_t time = (uint64_t)(now_ps / 1000) & ((1u << TIME_BITS) - 1u);
    const uint64_t tx = tx_bytes / EUN_INT_TX_UNIT & ((1u << TX_BITS) - 1u);
    const uint64_t units = queue_bytes / EUN_INT_QUEUE_UNIT;
    const uint64_t queue = units < QUEUE_MAX ? units : QUEUE_MAX;
    return (uint64_t)code << 60 | time << 36 | tx << 16 | queue;
}

struct eun_int_hop eun_int_decode(uint64_t record)
{
    return (struct eun_int_hop){
        .rate_bps = eun_int_rate((uint32_t)(record >> 60)),
        .time_ns = (uint32_t)(record >> 36) & ((1u << TIME_BITS) - 1u),
        .tx_units = (uint32_t)(record >> 16) & ((1u << TX_BITS) - 1u),
        .queue_bytes = (record & QUEUE_MAX) * EUN_INT_QUEUE_UNIT,
    };
}

int64_t eun_int_horizon_ps(uint64_t rate_bps)
{
    const int64_t time = (INT64_C(1) << TIME_BITS) / 2 * 1000;
    const double bits = 8.0 * EUN_INT_TX_UNIT * (1u << TX_BITS) / 2;
    const double tx = bits / (double)rate_bps * 1e12;
    return tx < (double)time ? (int64_t)tx : time;
}
