/* SPDX-License-Identifier: GPL-2.0-only */
#include "isolation.h"

#include "receiver-internal.h"

/**
 * Can [from, end) have exactly `lasts` Lasts, one of them on its last PSN? An empty stretch has
 * none.
 */
static bool may_end_with_last(const struct eun_receiver *rx, const struct eun_reorder *layer,
                              uint32_t from, uint32_t end, int32_t lasts)
{
    if (from == end)
        return lasts == 0;
    if (eun_psn_before(end, from))
        return false;
    const struct eun_hd_tally final = eun_reorder_count(layer, rx->qp, rx->expected, end - 1u, end);
    if (final.held > final.lasts)
        return false;
    const struct eun_hd_tally rest = eun_reorder_count(layer, rx->qp, rx->expected, from, end - 1u);
    const int32_t missing = (int32_t)(end - 1u - from - rest.held);
    return (int32_t)rest.lasts < lasts && lasts - 1 <= (int32_t)rest.lasts + missing;
}

/** A packet of a message before the newest one, `later` messages past that at the prefix. */
static bool fits_between(const struct eun_receiver *rx, const struct eun_reorder *layer,
                         const struct eun_data *packet, int32_t later)
{
    if (!eun_psn_before(packet->psn, rx->later_head))
        return false;
    if (later > 0 && !may_end_with_last(rx, layer, rx->expected, packet->head, later))
        return false;
    const uint32_t from = later > 0 ? packet->head : rx->expected;
    if (from != packet->psn &&
        eun_reorder_count(layer, rx->qp, rx->expected, from, packet->psn).lasts > 0)
        return false;
    const struct eun_hd_tally own =
        eun_reorder_count(layer, rx->qp, rx->expected, packet->psn, packet->psn + 1u);
    if (own.held && (own.lasts > 0) != packet->last)
        return false;
    const int32_t left = eun_msn_diff(rx->later_msn, packet->msn) - packet->last;
    return may_end_with_last(rx, layer, packet->psn + 1u, rx->later_head, left);
}

/** A packet of the newest message, of which `ahead_psn` is the farthest that is held. */
static bool fits_newest(const struct eun_receiver *rx, const struct eun_data *packet)
{
    if (rx->later_valid && packet->head != rx->later_head)
        return false;
    if (!rx->ahead_valid)
        return true;
    if (packet->psn == rx->ahead_psn)
        return packet->last == rx->ahead_last;
    return eun_psn_before(packet->psn, rx->ahead_psn) ? !packet->last : !rx->ahead_last;
}

/** A packet `past` messages past the newest: what is unknown between takes as many Lasts. */
static bool fits_past_newest(const struct eun_receiver *rx, const struct eun_data *packet,
                             int32_t past)
{
    const uint32_t from = rx->ahead_valid ? rx->ahead_psn + 1u : rx->expected;
    const int32_t room = eun_psn_diff(packet->head, from);
    const int32_t lasts = past - rx->ahead_last;
    return lasts > 0 ? room >= lasts : room == 0;
}

bool eun_isolation_examine(const struct eun_receiver *rx, const struct eun_reorder *layer,
                           const struct eun_data *packet)
{
    const int32_t later = eun_msn_diff(packet->msn, rx->msn);
    if (later < 0 || (later == 0 && packet->head - rx->head > rx->head_slack))
        return false;
    const int32_t past = rx->later_valid ? eun_msn_diff(packet->msn, rx->later_msn) : later;
    if (past > 0)
        return fits_past_newest(rx, packet, past);
    return past == 0 ? fits_newest(rx, packet) : fits_between(rx, layer, packet, later);
}

void eun_isolation_learn_ahead(struct eun_receiver *rx, const struct eun_data *packet)
{
    if (eun_msn_diff(packet->msn, rx->msn) == 0)
        eun_isolation_learn(rx, packet);
    const uint32_t newest = rx->later_valid ? rx->later_msn : rx->msn;
    const int32_t past = eun_msn_diff(packet->msn, newest);
    if (past < 0 || (past == 0 && rx->ahead_valid && eun_psn_before(packet->psn, rx->ahead_psn)))
        return;
    if (past > 0) {
        rx->later_valid = true;
        rx->later_msn = packet->msn;
        rx->later_head = packet->head;
    }
    rx->ahead_valid = true;
    rx->ahead_psn = packet->psn;
    rx->ahead_last = packet->last;
}

void eun_isolation_enter(struct eun_receiver *rx, uint32_t psn, uint32_t lasts)
{
    rx->msn = (rx->msn + lasts) & EUN_MSN_MASK;
    rx->head = rx->expected;
    rx->head_slack = 0;
    if (!rx->later_valid)
        return;
    /* The message has a packet below the prefix only where that packet was held. */
    const int32_t later = eun_msn_diff(rx->later_msn, rx->msn);
    if (later == 0) {
        rx->head = rx->later_head;
    } else if (later > 0) {
        /* The last message passed ends `lasts` - 1 PSNs or more after the packet that came. */
        rx->head = psn + lasts;
        rx->head_slack = rx->expected - rx->head;
    }
    rx->later_valid = later > 0;
}

void eun_isolation_forget(struct eun_receiver *rx)
{
    rx->later_valid = rx->ahead_valid = rx->ahead_last = false;
}
