/* SPDX-License-Identifier: GPL-2.0-only */
#include "scoreboard.h"

#include <stdlib.h>
#include <string.h>

#define WORD_BITS 64u

void eun_scoreboard_free(struct eun_scoreboard *board)
{
    free(board->words);
    *board = (struct eun_scoreboard){0};
}

void eun_scoreboard_clear(struct eun_scoreboard *board)
{
    if (board->count > 0)
        memset(board->words, 0, board->psns / 8u);
    board->count = 0;
}

/** Grows an empty scoreboard to `psns`. A filled one stays as it is: its bits have their places. */
static void reserve(struct eun_scoreboard *board, uint32_t psns)
{
    uint32_t size = WORD_BITS;
    while (size < psns && size < EUN_SCOREBOARD_PSNS_MAX)
        size *= 2;
    if (board->count > 0 || board->psns >= size)
        return;
    uint64_t *words = calloc(size / WORD_BITS, sizeof *words);
    if (!words)
        return;
    free(board->words);
    board->words = words;
    board->psns = size;
}

static uint64_t *word_of(const struct eun_scoreboard *board, uint32_t psn)
{
    return &board->words[(psn & (board->psns - 1u)) / WORD_BITS];
}

static uint64_t bit_of(uint32_t psn)
{
    return UINT64_C(1) << (psn % WORD_BITS);
}

bool eun_scoreboard_mark(struct eun_scoreboard *board, uint32_t una, uint32_t psn, uint32_t psns)
{
    reserve(board, psns);
    if (psn - una >= board->psns)
        return false;
    uint64_t *word = word_of(board, psn);
    if (*word & bit_of(psn))
        return false;
    *word |= bit_of(psn);
    board->count++;
    return true;
}

bool eun_scoreboard_has(const struct eun_scoreboard *board, uint32_t una, uint32_t psn)
{
    return psn - una < board->psns && (*word_of(board, psn) & bit_of(psn)) != 0;
}

/** Bits of the word of `psn` from it upwards, at most `n` of them. */
static uint64_t mask_from(uint32_t psn, uint32_t n, uint32_t *covered)
{
    const uint32_t offset = psn % WORD_BITS;
    const uint32_t width = n < WORD_BITS - offset ? n : WORD_BITS - offset;
    *covered = width;
    const uint64_t low = width == WORD_BITS ? ~UINT64_C(0) : (UINT64_C(1) << width) - 1u;
    return low << offset;
}

uint32_t eun_scoreboard_advance(struct eun_scoreboard *board, uint32_t from, uint32_t to)
{
    const uint32_t before = board->count;
    uint32_t left = to - from < board->psns ? to - from : board->psns;
    while (left > 0 && board->count > 0) {
        uint32_t covered;
        uint64_t *word = word_of(board, from);
        const uint64_t mask = mask_from(from, left, &covered);
        board->count -= (uint32_t)__builtin_popcountll(*word & mask);
        *word &= ~mask;
        from += covered;
        left -= covered;
    }
    return before - board->count;
}

uint32_t eun_scoreboard_next_missing(const struct eun_scoreboard *board, uint32_t una,
                                     uint32_t from, uint32_t to)
{
    while (from != to && board->count > 0 && from - una < board->psns) {
        uint32_t covered;
        const uint64_t mask = mask_from(from, to - from, &covered);
        const uint64_t missing = ~*word_of(board, from) & mask;
        if (missing)
            return from - from % WORD_BITS + (uint32_t)__builtin_ctzll(missing);
        from += covered;
    }
    return from;
}
