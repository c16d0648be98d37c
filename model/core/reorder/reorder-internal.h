/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_REORDER_INTERNAL_H
#define EUNOMIA_REORDER_INTERNAL_H

/** What the files of the ordering layer share. Not for callers outside reorder/. */

#include "reorder.h"

struct eun_reorder {
    struct eun_reorder_front front;
    uint32_t resident_count;        /**< entries of the resident table */
    uint32_t idle_stamps;           /**< stamps after which an idle bitmap goes back */
    struct eun_reorder_stats stats; /**< the banks count here */
};

static inline struct eun_hd_bank *eun_reorder_bank_for(const struct eun_reorder *layer, uint32_t qp)
{
    return eun_reorder_bank_of(&layer->front, qp);
}

static inline bool eun_reorder_is_open(const struct eun_reorder *layer, uint32_t qp)
{
    return qp < layer->resident_count && layer->front.resident[qp].generation % 2u == 1u;
}

/** The short ways of reorder.h serve one bank of 16-PSN blocks without chains. */
void eun_reorder_update_front(struct eun_reorder *layer);

#endif
