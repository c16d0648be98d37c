/* SPDX-License-Identifier: GPL-2.0-only */
#include "ideal.h"

#define PS_BITS 8000000000000u /* picoseconds a second x bits a byte */
#define MESSAGE_MAX (1ull << 31)

int64_t eun_wire_time(const struct eun_overhead *o, uint64_t rate_bps, uint32_t bytes)
{
    const uint64_t wire = (uint64_t)bytes + o->gap;
    return (int64_t)(wire * PS_BITS / rate_bps);
}

/** Transmission times of a flow's packets: their sum, the longest, the last; how many. */
struct times {
    int64_t sum;
    int64_t longest;
    int64_t last;
    uint64_t packets;
};

static void add_message(struct times *t, const struct eun_overhead *o, uint64_t rate, uint32_t mtu,
                        uint64_t bytes)
{
    const uint64_t packets = (bytes + mtu - 1) / mtu;
    const uint32_t rest = (uint32_t)(bytes - (packets - 1) * mtu);
    const bool one = packets == 1;
    const int64_t first = eun_wire_time(o, rate, eun_overhead_data(o, one ? rest : mtu, true, one));
    const int64_t full = eun_wire_time(o, rate, eun_overhead_data(o, mtu, false, false));
    t->packets += packets;
    t->sum += first;
    t->last = first;
    /* A first packet is at least as long as those in the middle. */
    if (first > t->longest)
        t->longest = first;
    if (one)
        return;
    t->last = eun_wire_time(o, rate, eun_overhead_data(o, rest, false, true));
    t->sum += t->last + (int64_t)(packets - 2) * full;
    if (t->last > t->longest)
        t->longest = t->last;
}

/** What the last packet gains by overtaking the first, the longest, on a way of its own. */
static int64_t overtaking_gain(const struct times *t, const struct eun_path *path)
{
    if (!path->multipath)
        return 0;
    const int64_t before = t->sum - t->last;
    const int64_t last_release = before + (path->links - 1) * t->last;
    const int64_t first_release = (path->links - 1) * t->longest;
    const int64_t lead = first_release - last_release;
    if (lead <= 0)
        return 0;
    return lead < t->last ? lead : t->last;
}

int64_t eun_ideal_fct(const struct eun_overhead *o, const struct eun_path *path, uint32_t mtu,
                      uint64_t bytes)
{
    struct times t = {0, 0, 0, 0};
    for (uint64_t left = bytes; left > 0;) {
        const uint64_t message = left < MESSAGE_MAX ? left : MESSAGE_MAX;
        add_message(&t, o, path->rate_bps, mtu, message);
        left -= message;
    }
    const int64_t ack = eun_wire_time(o, path->rate_bps, o->ack);
    int64_t fct = t.sum + (path->links - 1) * t.longest + path->links * (ack + 2 * path->delay_ps);
    if (!path->multipath && t.packets > 1 && t.last < ack)
        fct += ack - t.last;
    return fct - overtaking_gain(&t, path);
}

int64_t eun_base_rtt(const struct eun_overhead *o, const struct eun_path *path, uint32_t mtu)
{
    const int64_t data = eun_wire_time(o, path->rate_bps, eun_overhead_data(o, mtu, true, true));
    const int64_t ack = eun_wire_time(o, path->rate_bps, o->ack);
    return path->links * (data + ack + 2 * path->delay_ps);
}
