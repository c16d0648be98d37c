/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_SCOREBOARD_H
#define EUNOMIA_SCOREBOARD_H

/**
 * Which PSNs past the oldest unacknowledged one (`una`) a receiver has SACKed.
 *
 * Guarantee: no PSN outside [una, una + psns) is marked. What does not fit is not recorded, which
 * is safe: a SACK is advice. The memory comes with the first mark and is kept.
 */

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Most PSNs that a scoreboard covers, whatever is asked for. */
#define EUN_SCOREBOARD_PSNS_MAX (1u << 16)

/** All zero: empty, no memory. */
struct eun_scoreboard {
    uint64_t *words; /**< ring of bits, PSN p at p mod psns */
    uint32_t psns;   /**< size, a power of two; 0 without memory */
    uint32_t count;  /**< PSNs marked */
};

void eun_scoreboard_free(struct eun_scoreboard *board);

/** Forgets all marks, keeps the memory. */
void eun_scoreboard_clear(struct eun_scoreboard *board);

/**
 * Marks `psn`; the scoreboard covers at least `psns` PSNs where memory and the maximum allow. True
 * where it was not marked and now is.
 */
bool eun_scoreboard_mark(struct eun_scoreboard *board, uint32_t una, uint32_t psn, uint32_t psns);

/** Is `psn`, at or past `una`, marked? */
bool eun_scoreboard_has(const struct eun_scoreboard *board, uint32_t una, uint32_t psn);

/** `una` moves from `from` to `to`: unmarks the PSNs between and returns how many were marked. */
uint32_t eun_scoreboard_advance(struct eun_scoreboard *board, uint32_t from, uint32_t to);

/** First PSN of [from, to) that is not marked, `to` where all are; `from` at or past `una`. */
uint32_t eun_scoreboard_next_missing(const struct eun_scoreboard *board, uint32_t una,
                                     uint32_t from, uint32_t to);

#ifdef __cplusplus
}
#endif
#endif
