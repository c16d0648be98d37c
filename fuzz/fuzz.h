/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_FUZZ_H
#define EUNOMIA_FUZZ_H

/**
 * What the fuzz targets share. A target reads its input byte by byte as a list of choices, plays
 * them on the code under test and on a naive model, and ends the process where the two differ.
 *
 * Guarantee: every input is a legal run, of a length proportional to its own, and the same input
 * makes the same run. Past its end an input reads as zeros.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/** libFuzzer's entry, and that of replay.c; 0 always. Anything wrong ends in abort(). */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_input {
    const uint8_t *next;
    size_t left;
};

#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fuzz_fail(__FILE__, __LINE__, #condition);                                             \
    } while (0)

static inline void fuzz_fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    abort();
}

static inline uint32_t fuzz_byte(struct fuzz_input *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->next++;
}

/** Two bytes, the low one first. */
static inline uint32_t fuzz_u16(struct fuzz_input *in)
{
    const uint32_t low = fuzz_byte(in);
    return low | fuzz_byte(in) << 8;
}

static inline uint32_t fuzz_u32(struct fuzz_input *in)
{
    const uint32_t low = fuzz_u16(in);
    return low | fuzz_u16(in) << 16;
}

/** A signed distance, two bytes. */
static inline uint32_t fuzz_distance(struct fuzz_input *in)
{
    return (uint32_t)(int16_t)fuzz_u16(in);
}

/** A PSN to start with, 1 byte or, for any PSN, 5; many of them soon wrap at 24, 31 or 32 bits. */
static inline uint32_t fuzz_first_psn(struct fuzz_input *in)
{
    const uint32_t choice = fuzz_byte(in);
    switch (choice % 4u) {
    case 0:
        return (1u << 24) - choice / 4u;
    case 1:
        return 0u - choice / 4u;
    case 2:
        return 0x80000000u - choice / 4u;
    default:
        return fuzz_u32(in);
    }
}

#endif
