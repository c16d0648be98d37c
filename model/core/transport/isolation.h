/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_ISOLATION_H
#define EUNOMIA_ISOLATION_H

/**
 * Message isolation: a data packet whose Head, Last, MSN and PSN contradict what a receiver knows
 * of the QP's messages must not set a bit.
 *
 * A receiver knows, without a word per message: the number of the message at the cumulative point
 * and a range for its Head; which PSNs ahead are held, and which of these are Lasts (the ordering
 * layer); number, Head, farthest held PSN and its Last flag of the newest message.
 *
 * Guarantee: a packet at or past the cumulative point is refused exactly where no way of cutting
 * the PSNs into messages agrees with all of that and with the packet. So no packet of a legal
 * stream is ever refused. Below the cumulative point only a Head past the PSN is refused.
 */

#include "../reorder/psn.h"
#include "receiver.h"

/** The long way of eun_isolation_allows(). */
bool eun_isolation_examine(const struct eun_receiver *rx, const struct eun_reorder *layer,
                           const struct eun_data *packet);

/** May `packet` belong to the stream of `rx`? `layer` holds what is ahead. */
static inline bool eun_isolation_allows(const struct eun_receiver *rx,
                                        const struct eun_reorder *layer,
                                        const struct eun_data *packet)
{
    if (eun_psn_before(packet->psn, packet->head))
        return false;
    /* The only message that is known goes on. */
    if (packet->head == rx->head && packet->msn == rx->msn && !packet->last && !rx->later_valid &&
        !rx->ahead_last)
        return true;
    return eun_psn_before(packet->psn, rx->expected) || eun_isolation_examine(rx, layer, packet);
}

/** `packet` is taken as the expected one: it tells the Head of its message. */
static inline void eun_isolation_learn(struct eun_receiver *rx, const struct eun_data *packet)
{
    rx->head = packet->head;
    rx->head_slack = 0;
}

/** `packet` is held ahead of the cumulative point. */
void eun_isolation_learn_ahead(struct eun_receiver *rx, const struct eun_data *packet);

/**
 * The cumulative point moved to `rx->expected` and passed `lasts` > 0 Lasts when the packet `psn`
 * came: another message is the one at the cumulative point.
 */
void eun_isolation_enter(struct eun_receiver *rx, uint32_t psn, uint32_t lasts);

/** The cumulative point has moved to `rx->expected`. To be called after eun_isolation_enter(). */
static inline void eun_isolation_pass(struct eun_receiver *rx)
{
    if (rx->ahead_valid && eun_psn_before(rx->ahead_psn, rx->expected))
        rx->ahead_valid = rx->ahead_last = false;
}

/** The receiver holds nothing any more. */
void eun_isolation_forget(struct eun_receiver *rx);

#endif
