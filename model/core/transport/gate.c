/* SPDX-License-Identifier: GPL-2.0-only */
#include "gate.h"

bool eun_gate_open(const struct eun_sender_env *env, const struct eun_message *message,
                   uint32_t una, uint32_t sacked)
{
    if (env->gate != EUN_GATE_SENDER)
        return true;
    const uint32_t before_last = message->packets - 1u;
    if (una == message->head + before_last)
        return true;
    if (!env->gate_scope_message)
        return false;
    const uint32_t passed = eun_psn_before(una, message->head) ? 0 : una - message->head;
    return passed + sacked >= before_last;
}

void eun_gate_hold(struct eun_message *message, int64_t now)
{
    if (message->held_since_ps < 0)
        message->held_since_ps = now;
}

void eun_gate_release(struct eun_message *message, int64_t now)
{
    if (message->held_since_ps >= 0)
        message->wait_ps = now - message->held_since_ps;
}
