/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_GATE_H
#define EUNOMIA_GATE_H

/**
 * The completion gate: no Last packet takes effect before the packets ahead of it.
 *
 * Gate `sender`: the Last stays with the sender until the earlier PSNs are acknowledged, those of
 * the QP or (scope `message`) those of its own message. Gate `receiver`: a Last that comes early is
 * staged in the receiving NIC (staging.h); one that finds no slot waits with the sender until it is
 * awaited. Gate `none`: neither; the receiver counts.
 */

#include "sender.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * May the Last of `message` leave? `una` is the oldest PSN of the QP that is not acknowledged and
 * lies at or before the Last; `sacked` counts the PSNs of the message in [una, Last) that are known
 * to have arrived.
 */
bool eun_gate_open(const struct eun_sender_env *env, const struct eun_message *message,
                   uint32_t una, uint32_t sacked);

/** The gate keeps the Last of `message` back from `now` on. No effect where it does already. */
void eun_gate_hold(struct eun_message *message, int64_t now);

/** The gate lets the Last of a held `message` go: its wait ends at `now`. */
void eun_gate_release(struct eun_message *message, int64_t now);

#ifdef __cplusplus
}
#endif
#endif
