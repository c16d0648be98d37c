/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_GENERATION_H
#define EUNOMIA_GENERATION_H

/**
 * The lives of a QP number. Every packet carries the generation, 7 bits, of the life that it is
 * meant for, so one that comes late does nothing to the next life; after 128 lives of a number its
 * generations come again.
 *
 * Guarantee: where a life begins only when eun_generation_may_begin() allows it, a generation does
 * not come again within EUN_PACKET_LIFETIME_PS of the end of its life. A packet that is under way
 * for longer (a port that is paused all that time) is beyond what 7 bits can tell.
 */

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EUN_GENERATIONS 128u
/** 12 ms: a dozen buffers of 9 MiB, one after the other, at 100 Gb/s. */
#define EUN_PACKET_LIFETIME_PS INT64_C(12000000000)

/** Lives of one number; all zero: none yet. */
struct eun_generation {
    uint8_t number;     /**< of the present life, or of the last one */
    int64_t quarter_ps; /**< when the first life of this quarter of the generations began */
};

/** May the number's next life begin at `now`? */
bool eun_generation_may_begin(const struct eun_generation *generation, int64_t now);

/** Its next life begins. */
void eun_generation_begin(struct eun_generation *generation, int64_t now);

#ifdef __cplusplus
}
#endif
#endif
