/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * Dynamic-threshold buffer with PFC (Choudhury and Hahne, "Dynamic Queue Length Thresholds for
 * Shared-Memory Packet Switches", 1998, on the ingress side of lossless priorities; on the egress
 * side of lossy ones).
 */
#include "shared-buffer.h"

static bool lossless(const struct eun_buffer *b, uint32_t priority)
{
    return b->config.lossless_mask >> priority & 1;
}

static bool prepare(struct eun_buffer *b)
{
    int64_t apart = 0;
    for (uint32_t i = 0; i < b->config.ports; i++)
        for (uint32_t p = 1; p < EUN_PRIORITIES; p++)
            if (lossless(b, p))
                apart += (int64_t)b->config.reserve_bytes + b->port[i].headroom_bytes;
    b->pool_bytes = b->config.total_bytes - apart;
    return true;
}

/** Bytes of this priority group in the pool: past its reserve, not in headroom. */
static int64_t in_pool(const struct eun_buffer *b, const struct eun_buffer_pg *pg)
{
    const int64_t beyond = pg->used - pg->headroom - b->config.reserve_bytes;
    return beyond > 0 ? beyond : 0;
}

static double threshold(const struct eun_buffer *b)
{
    return b->config.alpha * (double)(b->pool_bytes - b->pool_used);
}

static void account(struct eun_buffer *b, uint32_t in, uint32_t out, uint32_t priority,
                    int64_t bytes)
{
    b->used += bytes;
    b->port_in_bytes[in] += bytes;
    b->egress[out * EUN_PRIORITIES + priority] += bytes;
    b->port_bytes[out] = (uint32_t)((int64_t)b->port_bytes[out] + bytes);
}

static enum eun_drop_reason admit_lossy(struct eun_buffer *b, uint32_t in, uint32_t out,
                                        uint32_t priority, uint32_t bytes)
{
    const int64_t free_bytes = b->pool_bytes - b->pool_used;
    const int64_t queued = b->egress[out * EUN_PRIORITIES + priority];
    if (bytes > free_bytes)
        return EUN_DROP_BUFFER;
    if ((double)(queued + bytes) > b->config.egress_alpha * (double)free_bytes)
        return EUN_DROP_EGRESS;
    b->pool_used += bytes;
    eun_buffer_pg(b, in, priority)->used += bytes;
    account(b, in, out, priority, bytes);
    return EUN_DROP_NONE;
}

static enum eun_drop_reason admit(struct eun_buffer *b, uint32_t in, uint32_t out,
                                  uint32_t priority, uint32_t bytes)
{
    if (!lossless(b, priority))
        return admit_lossy(b, in, out, priority, bytes);
    struct eun_buffer_pg *pg = eun_buffer_pg(b, in, priority);
    const int64_t before = in_pool(b, pg);
    const int64_t reserve_left = b->config.reserve_bytes + pg->headroom - pg->used;
    const int64_t beyond = bytes - (reserve_left > 0 ? reserve_left : 0);
    const int64_t wanted = beyond > 0 ? beyond : 0;
    /* With alpha above 1 the threshold alone would let the pool overflow. */
    const bool fits = wanted <= b->pool_bytes - b->pool_used;
    /* Once in headroom, stay there until it has drained: XOFF is out. */
    if (wanted && (pg->headroom || !fits || (double)(before + wanted) > threshold(b))) {
        if (pg->headroom + bytes > b->port[in].headroom_bytes)
            return EUN_DROP_HEADROOM;
        pg->headroom += bytes;
    } else {
        b->pool_used += wanted;
    }
    pg->used += bytes;
    account(b, in, out, priority, bytes);
    return EUN_DROP_NONE;
}

static void release(struct eun_buffer *b, uint32_t in, uint32_t out, uint32_t priority,
                    uint32_t bytes)
{
    struct eun_buffer_pg *pg = eun_buffer_pg(b, in, priority);
    account(b, in, out, priority, -(int64_t)bytes);
    if (!lossless(b, priority)) {
        pg->used -= bytes;
        b->pool_used -= bytes;
        return;
    }
    const int64_t before = in_pool(b, pg);
    pg->headroom -= pg->headroom < bytes ? pg->headroom : bytes;
    pg->used -= bytes;
    b->pool_used -= before - in_pool(b, pg);
}

static enum eun_pfc_action pause(const struct eun_buffer *b, struct eun_buffer_pg *pg, int64_t now)
{
    pg->paused = true;
    pg->pause_end_ps = now + b->config.pause_ps;
    return EUN_PFC_XOFF;
}

static int64_t refresh_at(const struct eun_buffer *b, uint32_t in, uint32_t priority)
{
    const struct eun_buffer_pg *pg = eun_buffer_pg(b, in, priority);
    return pg->paused ? pg->pause_end_ps - b->config.pause_ps / 2 : INT64_MAX;
}

static enum eun_pfc_action stored(struct eun_buffer *b, uint32_t in, uint32_t priority, int64_t now)
{
    struct eun_buffer_pg *pg = eun_buffer_pg(b, in, priority);
    if (pg->paused)
        return now >= refresh_at(b, in, priority) ? pause(b, pg, now) : EUN_PFC_NOTHING;
    if (!lossless(b, priority) || pg->used <= b->config.reserve_bytes)
        return EUN_PFC_NOTHING;
    if (pg->headroom || (double)in_pool(b, pg) > threshold(b))
        return pause(b, pg, now);
    return EUN_PFC_NOTHING;
}

static enum eun_pfc_action left(struct eun_buffer *b, uint32_t in, uint32_t priority, int64_t now)
{
    (void)now;
    struct eun_buffer_pg *pg = eun_buffer_pg(b, in, priority);
    if (!pg->paused || pg->headroom)
        return EUN_PFC_NOTHING;
    const int64_t held = in_pool(b, pg);
    /* An empty group always resumes, or a threshold below the hysteresis would hang its sender. */
    if (held && (double)(held + b->config.resume_bytes) > threshold(b))
        return EUN_PFC_NOTHING;
    pg->paused = false;
    return EUN_PFC_XON;
}

static int64_t ecn_bytes(const struct eun_buffer *b, uint32_t out, uint32_t priority)
{
    return b->egress[out * EUN_PRIORITIES + priority];
}

const struct eun_buffer_policy eun_buffer_dynamic = {
    .name = "dynamic",
    .prepare = prepare,
    .admit = admit,
    .release = release,
    .stored = stored,
    .left = left,
    .refresh_at = refresh_at,
    .ecn_bytes = ecn_bytes,
};
