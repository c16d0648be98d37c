/* SPDX-License-Identifier: GPL-2.0-only */
#include "mprdma-window.h"

#include "../reorder/psn.h"

/** Weight of a new round trip in the smoothed one, as TCP has it (RFC 6298). */
#define RTT_GAIN 8

void eun_mprdma_init(struct eun_mprdma_window *w, const struct eun_mprdma_config *config,
                     uint64_t seed)
{
    *w = (struct eun_mprdma_window){
        .cwnd = config->initial_window, .rtt_ps = config->rtt_ps, .burst_at_ps = INT64_MAX};
    w->probed_ps = -config->rtt_ps;
    eun_rng_seed(&w->rng, seed);
}

static void shrink(struct eun_mprdma_window *w, double packets)
{
    w->cwnd = w->cwnd - packets > 1 ? w->cwnd - packets : 1;
}

uint32_t eun_mprdma_available(const struct eun_mprdma_window *w, uint32_t outstanding,
                              uint32_t sacked)
{
    const uint32_t missing = outstanding - sacked;
    const uint32_t lost = w->lost < missing ? w->lost : missing;
    const double available = w->cwnd - (double)(missing - lost) - (double)eun_mprdma_granted(w);
    return available >= 1 ? (uint32_t)available : 0;
}

void eun_mprdma_grant_anywhere(struct eun_mprdma_window *w, uint32_t packets)
{
    w->anywhere += packets;
}

static bool probes(struct eun_mprdma_window *w, const struct eun_mprdma_config *config, int64_t now)
{
    if (now - w->probed_ps < w->rtt_ps || eun_rng_unit(&w->rng) >= config->probe_probability)
        return false;
    w->probed_ps = now;
    return true;
}

uint32_t eun_mprdma_clock(struct eun_mprdma_window *w, const struct eun_mprdma_config *config,
                          uint32_t packets, uint16_t path, int64_t now)
{
    uint32_t placed = 0;
    if (packets > 0 && probes(w, config, now)) {
        w->anywhere++;
        placed++;
    }
    for (; placed < packets && w->count < EUN_MPRDMA_GRANTS; placed++)
        w->path[(w->first + w->count++) % EUN_MPRDMA_GRANTS] = path;
    return placed;
}

void eun_mprdma_withdraw(struct eun_mprdma_window *w)
{
    w->anywhere = 0;
    w->count = 0;
    w->burst_at_ps = INT64_MAX;
}

uint16_t eun_mprdma_take(struct eun_mprdma_window *w)
{
    if (w->count == 0) {
        w->anywhere--;
        return (uint16_t)(EUN_MPRDMA_PATH_MIN + eun_rng_below(&w->rng, EUN_MPRDMA_PATHS));
    }
    const uint16_t path = w->path[w->first];
    w->first = (uint8_t)((w->first + 1u) % EUN_MPRDMA_GRANTS);
    w->count--;
    return path;
}

void eun_mprdma_time(struct eun_mprdma_window *w, uint32_t psn, int64_t now)
{
    if (w->timing)
        return;
    w->timing = true;
    w->timed_psn = psn;
    w->timed_ps = now;
}

/** Ends the measurement that is under way, where this is the answer to its packet. */
static void measure(struct eun_mprdma_window *w, uint32_t una, uint32_t psn, bool again,
                    int64_t now)
{
    if (psn == w->timed_psn && !again)
        w->rtt_ps += (now - w->timed_ps - w->rtt_ps) / RTT_GAIN;
    else if (!eun_psn_before(w->timed_psn, una))
        return;
    w->timing = false;
}

bool eun_mprdma_answer(struct eun_mprdma_window *w, const struct eun_mprdma_config *config,
                       uint32_t una, uint32_t psn, bool arrived, bool ce, bool again, int64_t now)
{
    if (ce) {
        shrink(w, 0.5);
    } else if (arrived && eun_mprdma_granted(w) == 0) {
        w->cwnd += 1 / w->cwnd;
        if (w->cwnd > config->limit)
            w->cwnd = config->limit;
    }
    if (w->timing && arrived)
        measure(w, una, psn, again, now);
    if (!arrived)
        return true;
    if (!w->any || eun_psn_before(w->newest, psn)) {
        w->any = true;
        w->newest = psn;
    }
    if (again || !eun_psn_before(psn + config->ooo_psns, w->newest))
        return true;
    shrink(w, 1);
    return false;
}

void eun_mprdma_unused(struct eun_mprdma_window *w)
{
    shrink(w, 1);
}

void eun_mprdma_timeout(struct eun_mprdma_window *w, uint32_t missing)
{
    shrink(w, w->cwnd / 2);
    w->lost = missing;
    w->timing = false;
    eun_mprdma_withdraw(w);
}

int64_t eun_mprdma_sync_delay(const struct eun_mprdma_window *w,
                              const struct eun_mprdma_config *config)
{
    return (int64_t)(config->sync_alpha * config->ooo_psns * (double)w->rtt_ps / w->cwnd);
}
