/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * A sender, any answers, and timeouts.
 *
 * A naive twin notes, PSN by PSN, what was sent. Only PSNs that were posted leave, once each unless
 * a NACK or a timeout came since; gate, cap, window and allowance hold; una follows the answers and
 * never passes what was sent; messages complete once and in order; the payload in flight is counted
 * right; a refused packet that is awaited now goes without a timeout. At the end an ideal receiver
 * takes over: whatever was said before, everything completes.
 *
 * Input: the configuration (read_config()), then operations (play()): a byte, modulo 16 the
 * operation, and what that operation reads. A life begins with a byte, modulo 4 the transport, and
 * its first PSN.
 */
#include "fuzz.h"

#include "core/transport/mprdma-window.h"
#include "core/transport/sender-internal.h"
#include "core/transport/transport.h"

#include <string.h>

#define MESSAGES 256u /* most of a life */
#define PSNS 4096u    /* most that a life sends */
#define US INT64_C(1000000)
#define CHECK_EVERY 16u
#define COOKIE 1000u /* of message 0 */

/** PSNs count from 0 at the first one and never wrap. */
struct message {
    uint64_t head;
    uint64_t end;
    uint32_t bytes;
};

struct world {
    struct fuzz_input in;
    struct eun_sender *tx;
    struct eun_sender_env env;
    struct eun_mprdma_config mprdma;
    enum eun_gate gate; /**< of transports that leave the gate to others */
    int64_t now;
    /* Of this life. */
    const struct eun_transport *transport;
    uint32_t origin;
    struct message message[MESSAGES];
    uint32_t posted;
    uint32_t reported;   /**< completed */
    uint32_t sent[PSNS]; /**< 1 + recoveries when it was sent last; 0: never */
    bool sacked[PSNS];   /**< by some answer while outstanding */
    bool refused[PSNS];  /**< and not sent again since, nor SACKed */
    uint32_t recoveries; /**< NACKs and timeouts */
    uint64_t una;
    uint64_t inflight;    /**< payload */
    uint32_t outstanding; /**< packets sent and not acknowledged */
    uint64_t retransmitted;
    uint32_t timeouts; /**< in a row */
    bool sent_since_timeout;
};

static uint64_t nxt_of(const struct world *w)
{
    return eun_sender_nxt(w->tx) - w->origin;
}

/** One past the last PSN posted. */
static uint64_t end_of(const struct world *w)
{
    return w->posted > 0 ? w->message[w->posted - 1u].end : 0;
}

static uint32_t message_of(const struct world *w, uint64_t psn)
{
    uint32_t i = 0;
    while (i < w->posted && psn >= w->message[i].end)
        i++;
    FUZZ_CHECK(i < w->posted);
    return i;
}

static bool is_last(const struct world *w, uint64_t psn)
{
    return psn + 1u == w->message[message_of(w, psn)].end;
}

static uint32_t payload_of(const struct world *w, uint64_t psn)
{
    const struct message *m = &w->message[message_of(w, psn)];
    const uint64_t left = m->bytes - (psn - m->head) * w->env.mtu;
    return left < w->env.mtu ? (uint32_t)left : w->env.mtu;
}

static uint32_t reach_of(const struct world *w)
{
    return w->env.cap_psns > 0 ? w->env.cap_psns : 1u;
}

/* Checks between operations. */

/** The receiver awaits una: if it refused it before, that one goes without a timeout. */
static bool owes_una(const struct world *w)
{
    return w->una < PSNS && w->refused[w->una] && eun_sender_state(w->tx, &w->env) != EUN_TX_READY;
}

static void check_state(const struct world *w)
{
    const char *reason = NULL;
    FUZZ_CHECK(eun_sender_una(w->tx) - w->origin == (uint32_t)w->una);
    FUZZ_CHECK(w->tx->inflight == w->inflight);
    FUZZ_CHECK(eun_sender_retransmitted(w->tx) == w->retransmitted);
    FUZZ_CHECK((eun_sender_deadline(w->tx, &w->env) == INT64_MAX) == (w->outstanding == 0));
    FUZZ_CHECK(!owes_una(w));
    if (!eun_sender_validate(w->tx, &reason))
        fuzz_fail(__FILE__, __LINE__, reason);
}

/**
 * What was passed over is a Last that the gate holds, nothing past nxt was sent, and the sender
 * takes for SACKed only what some answer said so.
 */
static void check_sent(const struct world *w)
{
    const uint64_t nxt = nxt_of(w);
    uint32_t outstanding = 0;
    for (uint64_t psn = w->una; psn < PSNS; psn++) {
        outstanding += w->sent[psn] != 0;
        FUZZ_CHECK(psn < nxt || !w->sent[psn]);
        if (psn < nxt && !w->sent[psn])
            FUZZ_CHECK(w->env.gate == EUN_GATE_SENDER && is_last(w, psn));
        FUZZ_CHECK(w->sacked[psn] ||
                   !eun_scoreboard_has(&w->tx->board, (uint32_t)w->una + w->origin,
                                       (uint32_t)psn + w->origin));
    }
    FUZZ_CHECK(outstanding == w->outstanding);
}

/* Posts. */

static void post(struct world *w, uint32_t bytes)
{
    const uint64_t head = end_of(w);
    const uint64_t packets = ((uint64_t)bytes + w->env.mtu - 1u) / w->env.mtu;
    if (w->posted == MESSAGES || head >= PSNS)
        return;
    const bool legal = bytes > 0 && bytes <= EUN_MESSAGE_MAX_BYTES;
    FUZZ_CHECK(eun_sender_post(w->tx, &w->env, bytes, COOKIE + w->posted) == legal);
    if (legal)
        w->message[w->posted++] = (struct message){head, head + packets, bytes};
}

/** A message of some packets; once in a while the longest one, or one that is too long or empty. */
static void post_some(struct world *w)
{
    const uint32_t choice = fuzz_byte(&w->in);
    if (choice < 250) {
        post(w, 1u + (choice % 32u) * w->env.mtu + fuzz_byte(&w->in) % w->env.mtu);
        return;
    }
    post(w, choice == 250 ? EUN_MESSAGE_MAX_BYTES : fuzz_u32(&w->in));
}

static void post_short(struct world *w, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        post(w, w->env.mtu);
}

/* Packets that leave. */

static void check_gate(const struct world *w, uint64_t psn)
{
    const struct message *m = &w->message[message_of(w, psn)];
    if (w->env.gate != EUN_GATE_SENDER || psn + 1u != m->end || psn == w->una)
        return;
    FUZZ_CHECK(w->env.gate_scope_message);
    for (uint64_t p = m->head > w->una ? m->head : w->una; p < psn; p++)
        FUZZ_CHECK(w->sacked[p]);
}

/** `psn` leaves for the first time; `nxt` is what the sender said before. */
static void check_new(const struct world *w, uint64_t psn, uint64_t nxt)
{
    check_gate(w, psn);
    if (psn < nxt) {
        FUZZ_CHECK(w->env.gate == EUN_GATE_SENDER && is_last(w, psn));
        return;
    }
    FUZZ_CHECK(psn == nxt);
    if (nxt - w->una > w->outstanding) {
        FUZZ_CHECK(w->transport->tolerates_reordering);
        FUZZ_CHECK(psn - w->una < reach_of(w));
    }
    if (w->env.window_bytes > 0 && w->inflight > 0)
        FUZZ_CHECK(w->inflight + payload_of(w, psn) <= w->env.window_bytes);
}

static void check_packet(const struct world *w, const struct eun_tx_packet *packet, uint64_t psn)
{
    const uint32_t index = message_of(w, psn);
    const struct message *m = &w->message[index];
    FUZZ_CHECK(psn >= w->una);
    FUZZ_CHECK(packet->data.head - w->origin == (uint32_t)m->head);
    FUZZ_CHECK(packet->data.msn == index && packet->cookie == COOKIE + index);
    FUZZ_CHECK(packet->data.last == is_last(w, psn) && packet->first == (psn == m->head));
    FUZZ_CHECK(packet->data.payload == payload_of(w, psn));
    FUZZ_CHECK(packet->retransmission == (w->sent[psn] != 0));
}

/** Result: the PSN that left; PSNS where none did. */
static uint64_t send_one(struct world *w)
{
    const uint64_t nxt = nxt_of(w);
    const uint32_t allowed = w->tx->allowance.packets;
    struct eun_tx_packet packet = {0};
    if (nxt >= PSNS && end_of(w) > PSNS) /* This life has sent enough. */
        return PSNS;
    const bool ready = eun_sender_state(w->tx, &w->env) == EUN_TX_READY;
    FUZZ_CHECK(eun_sender_next(w->tx, &w->env, w->now, &packet) == ready);
    if (!ready)
        return PSNS;
    const uint64_t psn = packet.data.psn - w->origin;
    FUZZ_CHECK(psn < PSNS);
    check_packet(w, &packet, psn);
    if (packet.retransmission || psn == nxt)
        FUZZ_CHECK(psn - w->una < allowed);
    if (packet.retransmission) {
        FUZZ_CHECK(w->sent[psn] - 1u < w->recoveries);
        w->retransmitted++;
    } else {
        check_new(w, psn, nxt);
        w->inflight += packet.data.payload;
        w->outstanding++;
    }
    w->sent[psn] = 1u + w->recoveries;
    w->refused[psn] = false;
    w->sent_since_timeout = true;
    return psn;
}

static void send_burst(struct world *w, uint32_t count)
{
    while (count-- > 0 && send_one(w) != PSNS)
        continue;
}

/* Answers and time. */

/** Is the answer one that a receiver can have given? None has passed a PSN that never left. */
static bool is_possible(const struct world *w, const struct eun_feedback *fb)
{
    const int32_t moved = eun_psn_diff(fb->expected, w->origin + (uint32_t)w->una);
    if (fb->kind == EUN_FEEDBACK_NONE)
        return false;
    for (int32_t i = 0; i < moved; i++)
        if (w->una + (uint64_t)i >= PSNS || !w->sent[w->una + (uint64_t)i])
            return false;
    return true;
}

/** Brings the twin up to date with a possible answer. */
static void take_in(struct world *w, const struct eun_feedback *fb)
{
    const uint64_t psn = fb->psn - w->origin;
    while (eun_psn_before(w->origin + (uint32_t)w->una, fb->expected)) {
        w->inflight -= payload_of(w, w->una++);
        w->outstanding--;
        w->timeouts = 0;
    }
    if (psn < w->una || psn >= PSNS || !w->sent[psn])
        return;
    if (fb->kind == EUN_FEEDBACK_SACK || fb->reason == EUN_NACK_HELD)
        w->sacked[psn] = true;
    else if (fb->kind == EUN_FEEDBACK_NACK && w->transport == &eun_transport_eunomia)
        w->refused[psn] = fb->reason >= EUN_NACK_CAP && fb->reason <= EUN_NACK_STAGING;
    if (w->sacked[psn])
        w->refused[psn] = false;
}

static void answer(struct world *w, struct eun_feedback fb)
{
    if (is_possible(w, &fb))
        take_in(w, &fb);
    w->recoveries += fb.kind == EUN_FEEDBACK_NACK;
    eun_sender_feedback(w->tx, &w->env, &fb, w->now);
}

/** Any answer: the cumulative point and the PSN lie anywhere about una. */
static void answer_any(struct world *w, uint32_t kind)
{
    const uint32_t una = eun_sender_una(w->tx);
    const uint32_t byte = fuzz_byte(&w->in);
    struct eun_feedback fb = {.kind = (uint8_t)kind, .path = EUN_MPRDMA_PATH_MIN};
    fb.reason = (uint8_t)(byte % 8u);
    fb.ce = (byte & 8u) != 0;
    fb.retransmission = (byte & 16u) != 0;
    fb.expected = una + fuzz_distance(&w->in);
    fb.psn = una + fuzz_distance(&w->in);
    answer(w, fb);
}

/** A likely answer: a few more have arrived, or the PSN a few ahead did or was refused. */
static void answer_likely(struct world *w, uint32_t kind)
{
    const uint32_t una = eun_sender_una(w->tx);
    const uint32_t byte = fuzz_byte(&w->in);
    struct eun_feedback fb = {.kind = (uint8_t)kind, .expected = una, .psn = una + byte % 32u};
    fb.reason = (uint8_t)(byte / 32u);
    if (kind == EUN_FEEDBACK_ACK)
        fb.expected += byte % 32u;
    answer(w, fb);
}

static void report(struct world *w)
{
    struct eun_message done;
    while (eun_sender_completed(w->tx, &done)) {
        FUZZ_CHECK(w->reported < w->posted && done.cookie == COOKIE + w->reported);
        FUZZ_CHECK(w->message[w->reported].end <= w->una);
        FUZZ_CHECK(done.last_sent && done.wait_ps >= 0);
        w->reported++;
    }
    FUZZ_CHECK(w->reported == w->posted || w->message[w->reported].end > w->una);
}

/** False where the QP failed. */
static bool time_out(struct world *w)
{
    const bool due = w->now >= eun_sender_deadline(w->tx, &w->env);
    const bool counts =
        due && (w->sent_since_timeout || eun_sender_state(w->tx, &w->env) != EUN_TX_READY);
    if (counts) {
        w->sent_since_timeout = false;
        w->timeouts++;
        w->recoveries++;
    }
    const bool alive = !counts || w->timeouts < w->env.retry_limit;
    FUZZ_CHECK(eun_sender_timeout(w->tx, &w->env, w->now) == alive);
    return alive;
}

/** False where there is no deadline to wait for. */
static bool wait_for_deadline(struct world *w)
{
    const int64_t deadline = eun_sender_deadline(w->tx, &w->env);
    if (deadline == INT64_MAX)
        return false;
    w->now = deadline > w->now ? deadline : w->now;
    return true;
}

static void wait_for_pace(struct world *w)
{
    const int64_t deadline = eun_sender_pace_deadline(w->tx);
    w->now = deadline > w->now ? deadline : w->now;
    eun_sender_pace(w->tx, &w->env, w->now);
    FUZZ_CHECK(eun_sender_pace_deadline(w->tx) > w->now);
}

/* A life. */

static void start_life(struct world *w)
{
    static const struct eun_transport *const transports[] = {
        &eun_transport_eunomia, &eun_transport_gbn, &eun_transport_irn, &eun_transport_mprdma};
    const struct eun_transport *before = w->transport;
    w->transport = transports[fuzz_byte(&w->in) % 4u];
    w->env.gate = w->transport->pacing ? EUN_GATE_NONE : w->gate;
    w->origin = fuzz_first_psn(&w->in);
    w->posted = w->reported = w->recoveries = w->outstanding = w->timeouts = 0;
    w->una = w->inflight = w->retransmitted = 0;
    w->sent_since_timeout = false;
    memset(w->sent, 0, sizeof w->sent);
    memset(w->sacked, 0, sizeof w->sacked);
    memset(w->refused, 0, sizeof w->refused);
    if (before == w->transport) {
        eun_sender_reset(w->tx, w->transport, w->origin);
    } else {
        eun_sender_free(w->tx);
        w->tx = eun_sender_new(w->transport, w->origin);
    }
    FUZZ_CHECK(w->tx);
    eun_sender_start(w->tx, &w->env, w->origin);
}

/**
 * An ideal receiver at the cumulative point una, which knows nothing of what came before, takes
 * over: all messages complete, within a few timeouts for each step forward.
 */
static void finish_life(struct world *w)
{
    static bool came[PSNS];
    const uint64_t end = end_of(w);
    uint32_t patience = 0;
    memset(came, 0, sizeof came);
    check_sent(w);
    w->env.retry_limit = UINT32_MAX;
    while (w->una < end && end <= PSNS) {
        const uint64_t psn = send_one(w);
        uint64_t expected = w->una;
        FUZZ_CHECK(patience++ < 4u * PSNS);
        if (psn == PSNS && eun_sender_pace_deadline(w->tx) != INT64_MAX) {
            wait_for_pace(w);
            continue;
        }
        if (psn == PSNS) {
            FUZZ_CHECK(wait_for_deadline(w));
            FUZZ_CHECK(time_out(w));
            continue;
        }
        came[psn] = true;
        while (expected < end && came[expected])
            expected++;
        if (expected == w->una)
            continue;
        patience = 0;
        answer(w, (struct eun_feedback){.kind = EUN_FEEDBACK_ACK,
                                        .expected = w->origin + (uint32_t)expected,
                                        .psn = w->origin + (uint32_t)psn});
        FUZZ_CHECK(w->una == expected);
    }
    check_state(w);
    check_sent(w);
    report(w);
    FUZZ_CHECK(end > PSNS || w->reported == w->posted);
}

static void play(struct world *w)
{
    const uint32_t operation = fuzz_byte(&w->in) % 16u;
    switch (operation) {
    case 0:
        post_some(w);
        break;
    case 1:
        post_short(w, fuzz_byte(&w->in) % 32u);
        break;
    case 2:
        eun_sender_stamp(w->tx, w->now);
        eun_sender_pace(w->tx, &w->env, w->now);
        break;
    case 3:
        send_one(w);
        break;
    case 4:
    case 5:
        send_burst(w, fuzz_byte(&w->in));
        break;
    case 6:
    case 7:
    case 8:
        answer_likely(w, operation - 6u + EUN_FEEDBACK_ACK);
        break;
    case 9:
    case 10:
    case 11:
    case 12:
        answer_any(w, operation - 9u);
        break;
    case 13:
        w->now += (int64_t)fuzz_u16(&w->in) * US;
        if (!time_out(w))
            start_life(w);
        break;
    case 14:
        if (wait_for_deadline(w) && !time_out(w))
            start_life(w);
        break;
    default:
        report(w);
        break;
    }
}

static void read_config(struct world *w)
{
    static const uint32_t caps[] = {0, 1, 2, 5, 16, 64, 256, 1000};
    struct fuzz_input *in = &w->in;
    const uint32_t flags = fuzz_byte(in);
    w->gate = (enum eun_gate)(flags % 4u % 3u);
    w->env.gate_scope_message = (flags & 4u) != 0;
    w->env.cap_psns = caps[(flags >> 3) % 8u];
    w->env.mtu = flags & 64u ? 1u + fuzz_u16(in) % 65535u : 1u + fuzz_byte(in);
    w->env.window_bytes = flags & 128u ? fuzz_byte(in) * w->env.mtu / 4u : 0;
    w->env.rto_ps = (int64_t)fuzz_byte(in) * US;
    w->env.retry_limit = 1u + fuzz_byte(in);
    w->env.mprdma = &w->mprdma;
    w->mprdma = (struct eun_mprdma_config){.initial_window = 1u + w->env.retry_limit % 64u,
                                           .limit = 256,
                                           .rtt_ps = 8 * US,
                                           .burst_ps = US,
                                           .ooo_psns = 4,
                                           .sync_alpha = 1,
                                           .probe_probability = 0.5,
                                           .sync_lasts = w->env.gate_scope_message};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world w;
    memset(&w, 0, sizeof w);
    w.in = (struct fuzz_input){data, size};
    read_config(&w);
    start_life(&w);
    for (uint32_t step = 1; w.in.left > 0; step++) {
        w.now += US / 4;
        play(&w);
        check_state(&w);
        if (step % CHECK_EVERY == 0)
            check_sent(&w);
    }
    finish_life(&w);
    eun_sender_free(w.tx);
    return 0;
}
