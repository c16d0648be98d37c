/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * Admission and PFC timing of conweave-ns3 @236a801 (switch-mmu.cc, switch-node.cc), re-stated from
 * its behaviour, deviations included, so that results can be compared on equal terms:
 * - headroom is used only once the whole pool is exhausted, not past a group's own XOFF;
 * - an egress dynamic threshold drops in lossless mode, too;
 * - XOFF lasts 5 us by default and is repeated for every frame admitted above the threshold; the
 *   switch forgets it when it expires;
 * - the hysteresis is resume_bytes inside the dynamic threshold, so times alpha;
 * - one port's headroom enters the sum with the class default of 14,596 B.
 */
#include "shared-buffer.h"

#define DEFAULT_HEADROOM 14596

/** Bytes a queue holds before it counts against the egress pool: a frame and one byte. */
static int64_t queue_minimum(const struct eun_buffer *b)
{
    return (int64_t)b->config.max_frame_bytes + 1;
}

static bool prepare(struct eun_buffer *b)
{
    const int64_t reserved = (int64_t)b->config.ports * EUN_PRIORITIES * b->config.max_frame_bytes;
    int64_t headroom = DEFAULT_HEADROOM;
    for (uint32_t i = 0; i + 1 < b->config.ports; i++)
        headroom += b->port[i].headroom_bytes;
    b->pool_bytes = b->config.total_bytes - headroom - reserved;
    b->egress_pool_bytes = b->config.total_bytes - reserved;
    return true;
}

/** Bytes of a queue that count against the egress pool and ECN. */
static int64_t shared_part(const struct eun_buffer *b, int64_t queued)
{
    const int64_t beyond = queued - queue_minimum(b);
    return beyond > 0 ? beyond : 0;
}

static enum eun_drop_reason admit(struct eun_buffer *b, uint32_t in, uint32_t out,
                                  uint32_t priority, uint32_t bytes)
{
    struct eun_buffer_pg *pg = eun_buffer_pg(b, in, priority);
    int64_t *queued = &b->egress[out * EUN_PRIORITIES + priority];
    const int64_t shared = shared_part(b, *queued);
    if (b->egress_pool_used + bytes > b->egress_pool_bytes ||
        b->used + bytes > b->config.total_bytes)
        return EUN_DROP_BUFFER;
    if ((double)(shared + bytes) >
        b->config.egress_alpha * (double)(b->egress_pool_bytes - b->egress_pool_used))
        return EUN_DROP_EGRESS;
    const int64_t minimum = b->config.max_frame_bytes;
    if (pg->used + bytes > minimum && b->port_in_bytes[in] + bytes > minimum &&
        b->pool_used > b->pool_bytes && pg->headroom + bytes > b->port[in].headroom_bytes)
        return EUN_DROP_HEADROOM;
    b->used += bytes;
    b->pool_used += bytes;
    b->port_in_bytes[in] += bytes;
    pg->used += bytes;
    if (b->pool_used > b->pool_bytes)
        pg->headroom += bytes;
    *queued += bytes;
    b->port_bytes[out] += bytes;
    b->egress_pool_used += shared_part(b, *queued) - shared;
    return EUN_DROP_NONE;
}

static void release(struct eun_buffer *b, uint32_t in, uint32_t out, uint32_t priority,
                    uint32_t bytes)
{
    struct eun_buffer_pg *pg = eun_buffer_pg(b, in, priority);
    int64_t *queued = &b->egress[out * EUN_PRIORITIES + priority];
    const int64_t shared = shared_part(b, *queued);
    b->used -= bytes;
    b->pool_used -= bytes;
    b->port_in_bytes[in] -= bytes;
    pg->used -= bytes;
    pg->headroom -= pg->headroom < bytes ? pg->headroom : bytes;
    *queued -= bytes;
    b->port_bytes[out] -= bytes;
    b->egress_pool_used += shared_part(b, *queued) - shared;
}

static bool above(const struct eun_buffer *b, const struct eun_buffer_pg *pg)
{
    const int64_t own = pg->used - 2 * (int64_t)b->config.max_frame_bytes;
    return own > 0 &&
           ((double)own > b->config.alpha * (double)(b->pool_bytes - b->pool_used) || pg->headroom);
}

static bool below(const struct eun_buffer *b, const struct eun_buffer_pg *pg)
{
    const int64_t own = pg->used - 2 * (int64_t)b->config.max_frame_bytes;
    const int64_t room = b->pool_bytes - b->pool_used - b->config.resume_bytes;
    return (double)own < b->config.alpha * (double)room && !pg->headroom;
}

static enum eun_pfc_action resume(const struct eun_buffer *b, struct eun_buffer_pg *pg, int64_t now)
{
    if (pg->paused && now >= pg->pause_end_ps)
        pg->paused = false;
    if (!pg->paused || !below(b, pg))
        return EUN_PFC_NOTHING;
    pg->paused = false;
    return EUN_PFC_XON;
}

static enum eun_pfc_action stored(struct eun_buffer *b, uint32_t in, uint32_t priority, int64_t now)
{
    struct eun_buffer_pg *pg = eun_buffer_pg(b, in, priority);
    if (!(b->config.lossless_mask >> priority & 1))
        return EUN_PFC_NOTHING;
    if (!above(b, pg))
        return resume(b, pg, now);
    pg->paused = true;
    pg->pause_end_ps = now + b->config.pause_ps;
    return EUN_PFC_XOFF;
}

static enum eun_pfc_action left(struct eun_buffer *b, uint32_t in, uint32_t priority, int64_t now)
{
    return resume(b, eun_buffer_pg(b, in, priority), now);
}

static int64_t refresh_at(const struct eun_buffer *b, uint32_t in, uint32_t priority)
{
    (void)b;
    (void)in;
    (void)priority;
    return INT64_MAX;
}

static int64_t ecn_bytes(const struct eun_buffer *b, uint32_t out, uint32_t priority)
{
    return shared_part(b, b->egress[out * EUN_PRIORITIES + priority]);
}

const struct eun_buffer_policy eun_buffer_conweave = {
    .name = "conweave-ns3",
    .prepare = prepare,
    .admit = admit,
    .release = release,
    .stored = stored,
    .left = left,
    .refresh_at = refresh_at,
    .ecn_bytes = ecn_bytes,
};
