/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_HD_WIDE_H
#define EUNOMIA_HD_WIDE_H

/**
 * The wide form of an HD bitmap, for QPs whose packets lie more than 256 PSNs ahead.
 *
 * Its unit is a slab, a run of 32 blocks (64 bytes) for 512 PSNs. Slab s holds the PSNs from 512 s
 * on, and the 16 ids of the metadata are those of the slabs s % 16, so a window of up to 4,096
 * PSNs, which touches nine slabs at most, has its places whatever the PSN. A slab is rented with
 * the first PSN in it and goes back when the prefix has passed it: a window with two far ends takes
 * two slabs. Slabs that hold a Last packet are runs of 64 blocks, the second half for the Last
 * flags.
 *
 * A bitmap becomes wide with the arrival that does not fit 16 blocks, the one operation besides
 * "compact" that copies bits, and is narrow again, with one empty block, when nothing is held.
 *
 * In the metadata of a wide bitmap `ring_psns` counts the PSNs held, `last_plane` has a bit for
 * each id whose slab has a second half, `held` is 1, and `ring_last` 0, so that the short ways of
 * hd-bitmap.h do not apply.
 *
 * Why: at 400 Gb/s and half load sprayed packets of AliStorage2019 on the 8x8 Clos come up to 373
 * PSNs ahead, at 80 % load up to 1,414; 6 % of the early ones would be refused with 256.
 */

#include "hd-bitmap.h"

#define EUN_HD_SLAB_PSNS 512u
#define EUN_HD_SLAB_BLOCKS 32u

/**
 * Makes the narrow bitmap `m`, which may be one without blocks, wide, with a slab for `psn` (and
 * for its Last flag where `last`). False, and nothing has changed, where there is no room; the
 * reserve counts unless `fresh`.
 */
bool eun_hd_widen(struct eun_hd_bank *bank, struct eun_hd_metadata *m, uint32_t expected,
                  uint32_t psn, bool last, bool fresh);

/** As eun_hd_hold() for a wide bitmap; `psn` lies within the cap. Leaves the tag alone. */
enum eun_hd_verdict eun_hd_wide_hold(struct eun_hd_bank *bank, struct eun_hd_metadata *m,
                                     uint32_t psn, bool last);

/**
 * As eun_hd_advance() for a wide bitmap. Where nothing is held after it, the bitmap is narrow, but
 * for the tag and the bank's count of idle ones.
 */
uint64_t eun_hd_wide_advance(struct eun_hd_bank *bank, struct eun_hd_metadata *m,
                             uint32_t expected);

bool eun_hd_wide_holds(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m,
                       uint32_t psn);
bool eun_hd_wide_is_last(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m,
                         uint32_t psn);

/** Gives all slabs back. */
void eun_hd_wide_give(struct eun_hd_bank *bank, struct eun_hd_metadata *m);

/** Blocks of the slab in slot `slot`, 0 where there is none. */
static inline uint32_t eun_hd_slab_blocks(const struct eun_hd_metadata *m, uint32_t slot)
{
    if (m->block[slot] == EUN_BLOCK_NONE)
        return 0;
    return (m->last_plane >> slot & 1u) != 0 ? 2u * EUN_HD_SLAB_BLOCKS : EUN_HD_SLAB_BLOCKS;
}

/** As eun_hd_fault(). */
const char *eun_hd_wide_fault(const struct eun_hd_bank *bank, const struct eun_hd_metadata *m);

#endif
