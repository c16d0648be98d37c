/* SPDX-License-Identifier: GPL-2.0-only */
#include "shared-buffer.h"

#include <stdlib.h>
#include <string.h>

bool eun_buffer_init(struct eun_buffer *b, const struct eun_buffer_policy *policy,
                     const struct eun_buffer_config *config)
{
    const size_t ports = config->ports;
    memset(b, 0, sizeof(*b));
    b->policy = policy;
    b->config = *config;
    b->port = calloc(ports, sizeof(*b->port));
    b->pg = calloc(ports * EUN_PRIORITIES, sizeof(*b->pg));
    b->egress = calloc(ports * EUN_PRIORITIES, sizeof(*b->egress));
    b->held = calloc(ports * EUN_PRIORITIES, sizeof(*b->held));
    b->port_bytes = calloc(ports, sizeof(*b->port_bytes));
    b->port_in_bytes = calloc(ports, sizeof(*b->port_in_bytes));
    if (b->port && b->pg && b->egress && b->held && b->port_bytes && b->port_in_bytes)
        return true;
    eun_buffer_dispose(b);
    return false;
}

void eun_buffer_dispose(struct eun_buffer *b)
{
    free(b->port);
    free(b->pg);
    free(b->egress);
    free(b->held);
    free(b->port_bytes);
    free(b->port_in_bytes);
    memset(b, 0, sizeof(*b));
}

bool eun_buffer_prepare(struct eun_buffer *b)
{
    return b->policy->prepare(b) && b->pool_bytes > 0;
}

void eun_buffer_hold(struct eun_buffer *b, uint32_t out, uint32_t priority, int64_t bytes)
{
    b->held[out * EUN_PRIORITIES + priority] += bytes;
}

uint32_t eun_buffer_queued(const struct eun_buffer *b, uint32_t out)
{
    int64_t bytes = b->port_bytes[out];
    for (uint32_t p = 0; p < EUN_PRIORITIES; p++)
        bytes -= b->held[out * EUN_PRIORITIES + p];
    return (uint32_t)bytes;
}

double eun_buffer_mark_probability(const struct eun_buffer *b, uint32_t out, uint32_t priority)
{
    const struct eun_buffer_port *port = &b->port[out];
    int64_t queued = b->policy->ecn_bytes(b, out, priority);
    /* Most queues are short, and then nobody has to look at what is held. */
    if (queued <= port->ecn_min_bytes)
        return 0;
    queued -= b->held[out * EUN_PRIORITIES + priority];
    if (queued <= port->ecn_min_bytes)
        return 0;
    if (queued > port->ecn_max_bytes)
        return 1;
    return port->ecn_max_probability * (double)(queued - port->ecn_min_bytes) /
           (double)(port->ecn_max_bytes - port->ecn_min_bytes);
}

uint32_t eun_buffer_headroom(uint64_t rate_bps, int64_t delay_ps, uint32_t max_frame_bytes,
                             uint32_t pause_frame_bytes)
{
    const double wire = 2.0 * (double)delay_ps * 1e-12 * (double)rate_bps / 8;
    const double bytes = wire + 0.5 + 3.0 * max_frame_bytes + pause_frame_bytes;
    return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

bool eun_buffer_validate(const struct eun_buffer *b, const char **reason)
{
    int64_t in = 0, out = 0;
    for (uint32_t i = 0; i < b->config.ports; i++) {
        int64_t port_in = 0, port_out = 0;
        for (uint32_t p = 0; p < EUN_PRIORITIES; p++) {
            const struct eun_buffer_pg *pg = eun_buffer_pg(b, i, p);
            port_in += pg->used;
            const int64_t stored = b->egress[i * EUN_PRIORITIES + p];
            const int64_t held = b->held[i * EUN_PRIORITIES + p];
            port_out += stored;
            *reason = "bytes held lie outside 0..bytes stored";
            if (held < 0 || held > stored)
                return false;
            *reason = "headroom use lies outside 0..use";
            if (pg->headroom < 0 || pg->headroom > pg->used)
                return false;
        }
        *reason = "a port's ingress bytes differ from the sum over its priorities";
        if (port_in != b->port_in_bytes[i])
            return false;
        *reason = "a port's egress bytes differ from the sum over its priorities";
        if (port_out != (int64_t)b->port_bytes[i])
            return false;
        in += port_in;
        out += port_out;
    }
    *reason = "ingress bytes differ from bytes stored";
    if (in != b->used)
        return false;
    *reason = "egress bytes differ from bytes stored";
    if (out != b->used)
        return false;
    *reason = "the pool's bytes lie outside 0..bytes stored";
    return b->pool_used >= 0 && b->pool_used <= b->used;
}
