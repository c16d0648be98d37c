/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * Receivers of one NIC, their ordering layer, and any stream of packets.
 *
 * Beside each receiver stands a naive one: flags, PSN by PSN, of what arrived and was kept. The
 * verdicts must be what it says: no PSN completes that did not arrive, completions come in order
 * and once, the answer tells the receiver's own cumulative point. What a sender would send is never
 * rejected, as long as nothing else was taken.
 *
 * Input: the configuration (read_config()), then operations (play()): a byte, of which bits 0 and 1
 * name the QP and the others modulo 16 the operation, and what that operation reads.
 */
#include "fuzz.h"

#include "core/transport/receiver-internal.h"
#include "core/transport/staging.h"
#include "core/transport/transport.h"

#include <string.h>

#define QPS 4u
#define PLACES 8192u /* two windows of 4,096 PSNs */
#define US INT64_C(1000000)
#define VALIDATE_EVERY 64u

/** A receiver and its naive twin. PSNs of the twin count from 0 at the first one and never wrap. */
struct qp {
    struct eun_receiver rx;
    bool open;
    bool forged; /**< a packet was taken that the sender would not have sent */
    uint32_t origin;
    uint64_t pattern; /**< bit p % 64: PSN p ends a message */
    uint64_t expected;
    uint32_t completed; /**< messages */
    bool held[PLACES];
    bool last[PLACES];
    uint32_t held_count;
    uint32_t lasts_held;
    uint32_t refusals;      /**< for want of memory, since the prefix last moved */
    struct eun_data latest; /**< packet that came last */
};

struct world {
    struct fuzz_input in;
    struct eun_fixed_shape shape;
    uint64_t bitmap[QPS][EUN_FIXED_CAP_MAX / 64u * 2u]; /**< of transports that have one */
    bool sync; /**< the packets that end messages are synchronise packets */
    const struct eun_transport *transport;
    struct eun_receiver_env env;
    struct eun_staging staging;
    struct eun_reorder_config config;
    struct qp qp[QPS];
    int64_t now;
    uint32_t leaked; /**< blocks that the scrubber is to find */
};

/* What the sender of a QP sends. */

static uint32_t message_number(const struct qp *qp, uint64_t psn)
{
    const uint64_t below = (UINT64_C(1) << psn % 64u) - 1u;
    return (uint32_t)(psn / 64u * (uint64_t)__builtin_popcountll(qp->pattern) +
                      (uint64_t)__builtin_popcountll(qp->pattern & below));
}

static bool ends_message(const struct qp *qp, uint64_t psn)
{
    return (qp->pattern >> psn % 64u & 1u) != 0;
}

static uint64_t head_of(const struct qp *qp, uint64_t psn)
{
    while (psn > 0 && qp->pattern != 0 && !ends_message(qp, psn - 1u))
        psn--;
    return qp->pattern != 0 ? psn : 0;
}

static struct eun_data packet_of(const struct world *w, const struct qp *qp, uint64_t psn)
{
    return (struct eun_data){.sync = w->sync && ends_message(qp, psn),
                             .psn = qp->origin + (uint32_t)psn,
                             .head = qp->origin + (uint32_t)head_of(qp, psn),
                             .msn = message_number(qp, psn) & EUN_MSN_MASK,
                             .payload = 1,
                             .last = ends_message(qp, psn)};
}

/* The naive twin. */

static bool *held_at(struct qp *qp, uint64_t psn)
{
    return &qp->held[psn % PLACES];
}

static void twin_forget(struct qp *qp)
{
    memset(qp->held, 0, sizeof qp->held);
    qp->held_count = 0;
    qp->lasts_held = 0;
}

static void twin_hold(struct qp *qp, uint64_t psn, bool last)
{
    *held_at(qp, psn) = true;
    qp->last[psn % PLACES] = last;
    qp->held_count++;
    qp->lasts_held += last;
}

/** Takes the expected PSN and what is held behind it. Result: messages that this completes. */
static uint32_t twin_advance(struct qp *qp, bool last)
{
    uint32_t completed = last;
    while (*held_at(qp, ++qp->expected)) {
        const bool is_last = qp->last[qp->expected % PLACES];
        *held_at(qp, qp->expected) = false;
        qp->held_count--;
        qp->lasts_held -= is_last;
        completed += is_last;
    }
    qp->completed += completed;
    qp->refusals = 0;
    return completed;
}

/* Checks. */

static void check_nack(const struct world *w, const struct eun_data *packet, uint64_t ahead,
                       const struct eun_rx_verdict *v, uint64_t misses)
{
    FUZZ_CHECK(v->disposition == EUN_RX_REFUSED || v->feedback.reason == EUN_NACK_HELD);
    switch (v->feedback.reason) {
    case EUN_NACK_SEQUENCE:
        FUZZ_CHECK(!w->transport->tolerates_reordering);
        break;
    case EUN_NACK_CAP:
        FUZZ_CHECK(ahead >= w->config.cap_psns);
        break;
    case EUN_NACK_MEMORY:
        FUZZ_CHECK(eun_reorder_stats(w->env.reorder)->alloc_miss == misses + 1u);
        break;
    case EUN_NACK_STAGING:
        FUZZ_CHECK(packet->last && w->env.staging && !eun_staging_has_room(w->env.staging));
        break;
    case EUN_NACK_HELD:
        FUZZ_CHECK(w->transport == &eun_transport_irn && ahead < w->config.cap_psns);
        break;
    case EUN_NACK_SYNC:
        FUZZ_CHECK(packet->sync && ahead > 0);
        break;
    default:
        FUZZ_CHECK(v->feedback.reason == EUN_NACK_DEGRADED);
        break;
    }
}

static void check_answer(const struct world *w, const struct qp *qp, const struct eun_data *packet,
                         const struct eun_rx_verdict *v, uint64_t ahead, uint64_t misses)
{
    const struct eun_feedback *fb = &v->feedback;
    FUZZ_CHECK(v->completed == 0 || fb->kind == EUN_FEEDBACK_ACK);
    if (fb->kind == EUN_FEEDBACK_NONE)
        return;
    FUZZ_CHECK(fb->expected == qp->rx.expected);
    FUZZ_CHECK(fb->psn == packet->psn);
    if (fb->kind == EUN_FEEDBACK_NACK)
        check_nack(w, packet, ahead, v, misses);
    if (fb->kind == EUN_FEEDBACK_SACK)
        FUZZ_CHECK(!eun_psn_before(packet->psn, qp->rx.expected));
}

/** Receiver and twin agree on what one can see between packets. */
static void check_qp(const struct world *w, const struct qp *qp)
{
    const struct eun_receiver *rx = &qp->rx;
    FUZZ_CHECK(rx->expected == qp->origin + (uint32_t)qp->expected);
    FUZZ_CHECK((rx->staged != EUN_STAGING_NONE) == (w->env.staging && qp->lasts_held > 0));
    FUZZ_CHECK(qp->held_count == 0 || (rx->ahead && !rx->degraded));
    FUZZ_CHECK(rx->msn == (qp->completed & EUN_MSN_MASK));
    if (qp->forged)
        return;
    FUZZ_CHECK(qp->completed == message_number(qp, qp->expected));
    if (w->env.reorder) {
        const uint32_t head = qp->origin + (uint32_t)head_of(qp, qp->expected);
        FUZZ_CHECK(head - rx->head <= rx->head_slack);
        FUZZ_CHECK(!rx->later_valid || eun_msn_diff(rx->later_msn, rx->msn) > 0);
    }
}

/** The layer holds what the twin does. Far ahead only one in 16 of the others is asked for. */
static void check_window(const struct world *w, uint32_t index)
{
    const struct qp *qp = &w->qp[index];
    for (uint32_t ahead = 0; ahead < w->config.cap_psns; ahead++) {
        const bool held = qp->held[(qp->expected + ahead) % PLACES];
        const uint32_t psn = qp->rx.expected + ahead;
        if (w->env.fixed)
            FUZZ_CHECK(eun_fixed_holds(w->env.fixed, qp->rx.bitmap, qp->rx.expected, psn) == held);
        else if (held || ahead < 256 || ahead % 16u == 0)
            FUZZ_CHECK(eun_reorder_holds(w->env.reorder, index, qp->rx.expected, psn) == held);
    }
}

static void validate(struct world *w)
{
    const char *reason = NULL;
    struct eun_staged copy;
    uint32_t staged = 0;
    while (w->env.staging && eun_staging_finished(&w->staging, w->now, &copy))
        ;
    for (uint32_t i = 0; w->env.staging && i < QPS; i++)
        staged += w->qp[i].lasts_held;
    FUZZ_CHECK(w->staging.used == staged);
    if (w->env.reorder) {
        FUZZ_CHECK(eun_reorder_scrub(w->env.reorder) == w->leaked);
        w->leaked = 0;
        if (!eun_reorder_validate(w->env.reorder, &reason))
            fuzz_fail(__FILE__, __LINE__, reason);
    }
    for (uint32_t i = 0; i < QPS; i++)
        if (w->qp[i].open && (w->env.reorder || w->env.fixed))
            check_window(w, i);
}

/* Operations. */

static void check_rejected(const struct world *w, const struct qp *qp,
                           const struct eun_receiver *before, const struct eun_data *packet,
                           int64_t distance, const struct eun_rx_verdict *v)
{
    FUZZ_CHECK(memcmp(before, &qp->rx, sizeof *before) == 0);
    FUZZ_CHECK(v->feedback.kind == EUN_FEEDBACK_NONE && v->advanced == 0 && v->completed == 0);
    if (qp->forged || (int64_t)qp->expected + distance < 0)
        return;
    const struct eun_data right = packet_of(w, qp, (uint64_t)((int64_t)qp->expected + distance));
    FUZZ_CHECK(right.head != packet->head || right.msn != packet->msn ||
               right.last != packet->last);
}

/** A packet ahead of the prefix was not kept. The QP falls back at the last refusal allowed. */
static void note_refusal(const struct world *w, struct qp *qp, const struct eun_receiver *before,
                         const struct eun_rx_verdict *v)
{
    const uint32_t limit = w->env.fallback_after > 0 ? w->env.fallback_after : 1u;
    const bool falls_back = qp->rx.degraded && !before->degraded;
    if (falls_back || v->feedback.reason == EUN_NACK_MEMORY)
        qp->refusals++;
    FUZZ_CHECK((qp->refusals >= limit) == qp->rx.degraded || before->degraded);
    if (falls_back)
        twin_forget(qp);
}

/** A packet of the QP comes in. */
static void arrive(struct world *w, struct qp *qp, struct eun_data packet)
{
    const int64_t distance = eun_psn_diff(packet.psn, qp->rx.expected);
    const uint64_t psn = (uint64_t)((int64_t)qp->expected + distance);
    const uint64_t ahead = distance > 0 ? (uint64_t)distance : 0;
    const bool held = ahead > 0 && ahead < w->config.cap_psns && *held_at(qp, psn);
    const uint64_t misses = w->env.reorder ? eun_reorder_stats(w->env.reorder)->alloc_miss : 0;
    const uint64_t expected = qp->expected;
    uint32_t completed = 0;
    struct eun_receiver before;
    struct eun_rx_verdict v;
    memcpy(&before, &qp->rx, sizeof before);
    w->transport->receive(&qp->rx, &w->env, &packet, w->now, &v);
    qp->latest = packet;
    if (v.disposition == EUN_RX_ACCEPTED || v.disposition == EUN_RX_HELD) {
        const struct eun_data right = packet_of(w, qp, psn);
        qp->forged |=
            packet.last != right.last || packet.head != right.head || packet.msn != right.msn;
    }
    switch (v.disposition) {
    case EUN_RX_ACCEPTED:
        FUZZ_CHECK(distance == 0);
        completed = twin_advance(qp, packet.last);
        break;
    case EUN_RX_HELD:
        FUZZ_CHECK(ahead > 0 && ahead < w->config.cap_psns && !held && !before.degraded);
        twin_hold(qp, psn, packet.last);
        break;
    case EUN_RX_DUPLICATE:
        FUZZ_CHECK(distance < 0 || held);
        break;
    case EUN_RX_REFUSED:
        FUZZ_CHECK(ahead > 0 && (!held || packet.sync));
        note_refusal(w, qp, &before, &v);
        break;
    default:
        FUZZ_CHECK(v.disposition == EUN_RX_INVALID && w->transport->tolerates_reordering);
        check_rejected(w, qp, &before, &packet, distance, &v);
        return;
    }
    FUZZ_CHECK(v.advanced == qp->expected - expected && v.completed == completed);
    FUZZ_CHECK(v.span == ahead && v.out_of_order == (ahead > 0));
    check_answer(w, qp, &packet, &v, ahead, misses);
    check_qp(w, qp);
}

static void arrive_in_order(struct world *w, struct qp *qp, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        arrive(w, qp, packet_of(w, qp, qp->expected));
}

/** Any Head, MSN and Last with any PSN: as a fault, or an attacker, would have it. */
static void arrive_forged(struct world *w, struct qp *qp)
{
    struct eun_data packet = packet_of(w, qp, qp->expected);
    const uint32_t flags = fuzz_byte(&w->in);
    packet.psn += flags & 1u ? fuzz_u32(&w->in) : fuzz_distance(&w->in);
    packet.head += flags & 2u ? fuzz_u32(&w->in) : fuzz_distance(&w->in);
    packet.msn = (packet.msn + (flags & 4u ? fuzz_u32(&w->in) : flags >> 5)) & EUN_MSN_MASK;
    packet.last = (flags & 8u) != 0;
    packet.ack_request = (flags & 16u) != 0;
    arrive(w, qp, packet);
}

static void open_qp(struct world *w, uint32_t index)
{
    struct qp *qp = &w->qp[index];
    memset(qp, 0, sizeof *qp);
    qp->open = true;
    qp->origin = fuzz_first_psn(&w->in);
    /* Two bytes, spread in one of two ways: short messages, or a long one and some short ones. */
    const uint64_t bits = fuzz_u16(&w->in);
    qp->pattern = bits & 1u ? bits * UINT64_C(0x0001000100010001) : bits << 32;
    if (w->env.reorder)
        FUZZ_CHECK(eun_reorder_open(w->env.reorder, index));
    eun_receiver_init(&qp->rx, index, qp->origin);
    if (w->env.fixed)
        eun_receiver_lend(&qp->rx, w->env.fixed, w->bitmap[index]);
    qp->latest = packet_of(w, qp, 0);
}

static void close_qp(struct world *w, uint32_t index)
{
    struct qp *qp = &w->qp[index];
    if (!qp->open)
        return;
    eun_receiver_close(&qp->rx, &w->env);
    twin_forget(qp);
    qp->open = false;
}

/** The ordering memory of the QP turns out to be corrupt. */
static void corrupt(struct world *w, struct qp *qp)
{
    if (!w->env.reorder)
        return;
    struct eun_reorder_view view;
    eun_reorder_view(w->env.reorder, qp->rx.qp, &view);
    if (view.active)
        w->leaked += view.chain ? EUN_BLOCK_POOL_CHAIN : EUN_BLOCK_POOL_METADATA;
    w->leaked += view.bitmap_blocks + view.last_blocks;
    const struct eun_feedback fb = eun_receiver_recover(&qp->rx, &w->env, w->now);
    FUZZ_CHECK(fb.kind == EUN_FEEDBACK_NACK || (fb.kind == EUN_FEEDBACK_NONE && !qp->held_count));
    if (fb.kind == EUN_FEEDBACK_NACK) {
        FUZZ_CHECK(fb.reason == EUN_NACK_DEGRADED && fb.expected == qp->rx.expected);
        FUZZ_CHECK(qp->rx.degraded);
        twin_forget(qp);
    }
    check_qp(w, qp);
}

static void sweep(struct world *w)
{
    w->now += (int64_t)fuzz_u16(&w->in) * US / 64;
    if (w->env.reorder)
        FUZZ_CHECK(eun_reorder_sweep(w->env.reorder, w->now) > w->now);
}

/* Operations of a QP that is open. */
static void play_open(struct world *w, struct qp *qp, uint32_t operation)
{
    switch (operation) {
    case 0:
        arrive(w, qp, packet_of(w, qp, qp->expected));
        break;
    case 1:
        arrive_in_order(w, qp, fuzz_byte(&w->in) % 64u);
        break;
    case 2:
    case 3:
    case 4:
    case 5:
    case 6:
        arrive(w, qp, packet_of(w, qp, qp->expected + 1u + fuzz_byte(&w->in) % 16u));
        break;
    case 7:
        arrive(w, qp, packet_of(w, qp, qp->expected + fuzz_byte(&w->in)));
        break;
    case 8:
        arrive(w, qp, packet_of(w, qp, qp->expected + fuzz_u16(&w->in) % 4100u));
        break;
    case 9:
        if (qp->expected >= 256)
            arrive(w, qp, packet_of(w, qp, qp->expected - 1u - fuzz_byte(&w->in)));
        break;
    case 10:
        arrive(w, qp, qp->latest);
        break;
    case 11:
        arrive_forged(w, qp);
        break;
    default:
        corrupt(w, qp);
        break;
    }
}

static void play(struct world *w)
{
    const uint32_t byte = fuzz_byte(&w->in);
    const uint32_t index = byte % QPS;
    const uint32_t operation = byte / QPS % 16u;
    if (operation == 13)
        sweep(w);
    else if (operation == 14)
        validate(w);
    else if (operation == 15)
        close_qp(w, index);
    else if (!w->qp[index].open)
        open_qp(w, index);
    else
        play_open(w, &w->qp[index], operation);
}

/** A bitmap a QP, in place of layer and staging. */
static void use_fixed(struct world *w, bool sync)
{
    const uint32_t cap = (w->config.cap_psns + 63u) / 64u * 64u;
    FUZZ_CHECK(eun_fixed_shape_init(&w->shape, cap));
    w->config.cap_psns = cap;
    w->env.fixed = &w->shape;
    w->sync = sync && w->transport == &eun_transport_mprdma;
}

static void read_config(struct world *w)
{
    struct fuzz_input *in = &w->in;
    const uint32_t flags = fuzz_byte(in);
    w->config.block_bits = flags & 4u ? 8 : 16;
    w->config.banks = 1u + (flags >> 3) % 4u;
    w->config.blocks = fuzz_u16(in) % 512u;
    w->config.cap_psns = 1u + fuzz_byte(in) % (w->config.block_bits * EUN_HD_BLOCK_IDS);
    w->config.cap_psns *= flags & 128u ? 16u : 1u;
    w->config.chains = (flags & 32u) != 0;
    w->config.reserve = flags & 64u ? w->config.blocks / 4u : 0;
    w->config.idle_epoch_ps = (int64_t)fuzz_byte(in) * US;
    w->env.ack_every = 1u + fuzz_byte(in) % 16u;
    const uint32_t choice = fuzz_byte(in);
    const struct eun_transport *const transports[] = {
        flags & 1u ? &eun_transport_gbn : &eun_transport_eunomia, &eun_transport_eunomia,
        &eun_transport_irn, &eun_transport_mprdma};
    w->transport = transports[choice / 8u % 4u];
    w->env.fallback_after = choice % 8u;
    const uint32_t staging_limit = fuzz_byte(in) % 8u;
    if ((flags & 2u) != 0 && w->transport->ordering != EUN_ORDERING_FIXED) {
        FUZZ_CHECK(eun_staging_init(&w->staging, staging_limit, 0));
        w->env.staging = &w->staging;
    }
    w->env.nack_interval_ps = (int64_t)fuzz_byte(in) * US;
    if (w->transport->ordering == EUN_ORDERING_FIXED)
        use_fixed(w, (flags & 2u) != 0);
    if (w->transport->ordering != EUN_ORDERING_POOL)
        return;
    w->env.reorder = eun_reorder_new(&w->config);
    FUZZ_CHECK(w->env.reorder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world w;
    memset(&w, 0, sizeof w);
    w.in = (struct fuzz_input){data, size};
    read_config(&w);
    for (uint32_t step = 1; w.in.left > 0; step++) {
        w.now += US / 4;
        play(&w);
        if (step % VALIDATE_EVERY == 0)
            validate(&w);
    }
    validate(&w);
    for (uint32_t i = 0; i < QPS; i++)
        close_qp(&w, i);
    validate(&w);
    if (w.env.reorder)
        FUZZ_CHECK(eun_reorder_stats(w.env.reorder)->blocks_in_use == 0);
    eun_reorder_free(w.env.reorder);
    eun_staging_dispose(&w.staging);
    return 0;
}
