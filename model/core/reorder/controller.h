/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_CONTROLLER_H
#define EUNOMIA_CONTROLLER_H

/**
 * How long allocations in the ordering layer take, and the packets that need them: the timing of a
 * NIC's memory controller. What is allocated is the layer's business (reorder.h).
 *
 * A bank serves one allocation after the other, in the order in which they are asked for, and takes
 * `service_ps` for each. Metadata is one allocation, as are a bitmap block and a Last plane; a
 * refusal, and giving back, take no time.
 *
 * A QP's packets come through one of several ingress pipelines, by a hash of the QP number that has
 * nothing to do with the hash to banks. A packet asks for all that it needs as it arrives, and the
 * packets of a pipeline leave it in the order of their arrival. So one that waits for memory holds
 * up those behind it, whatever they need (head-of-line blocking).
 *
 * A pipeline has a cache of `cache_blocks` credits for each bank. An allocation takes a credit, and
 * asks the bank for another in its place, which is there once the bank has served that request. It
 * waits only where no credit is there, for the first to come. Metadata comes from the cache as a
 * block does: to the cache either is an id, and a real one would keep some runs of 24 ready.
 * Credits are timing alone: what a cache has ready stays in the layer's free map, which is thus too
 * full by pipelines * banks * cache_blocks allocations at most.
 *
 * Guarantee: no packet leaves before it came or before one that came earlier by the same pipeline;
 * none waits that needs no memory, or finds credits, and has no waiting packet before it; no bank
 * serves two allocations at a time.
 *
 * Time is in picoseconds, comes in as `now` (>= 0), and never goes back.
 */

#include "wait-histogram.h"

#ifdef __cplusplus
extern "C" {
#endif

#define EUN_CONTROLLER_SERVICE_MAX INT64_C(1000000000000) /**< one second */

struct eun_controller_config {
    uint32_t banks;        /**< of the ordering layer, >= 1 */
    uint32_t pipelines;    /**< >= 1 */
    uint32_t cache_blocks; /**< credits of a pipeline for a bank; 0: no cache */
    int64_t service_ps;    /**< time that an allocation takes, 0..EUN_CONTROLLER_SERVICE_MAX */
};

/** What becomes of a packet. */
struct eun_admission {
    int64_t leaves;  /**< when it leaves the pipeline; as it arrives where nothing waits */
    int64_t latency; /**< from its arrival until it has all that it needs; 0 without need */
};

/** First field of the controller; for the inline functions below. */
struct eun_controller_front {
    int64_t *last_leaves; /**< by pipeline: when the latest packet leaves it */
    uint32_t pipelines;
    struct eun_wait_histogram wait;
};

struct eun_controller;

/** NULL where a value is out of range or memory is short. Free with eun_controller_free(). */
struct eun_controller *eun_controller_new(const struct eun_controller_config *config);
void eun_controller_free(struct eun_controller *c);

/** The pipeline of `qp`, 0..pipelines - 1. */
static inline uint32_t eun_controller_pipeline_of(const struct eun_controller *c, uint32_t qp)
{
    const struct eun_controller_front *front = (const struct eun_controller_front *)(const void *)c;
    if (front->pipelines == 1)
        return 0;
    /* Finaliser of MurmurHash3 (Appleby): every bit of `qp` reaches the high ones. */
    qp ^= qp >> 16;
    qp *= 0x85ebca6bu;
    qp ^= qp >> 13;
    qp *= 0xc2b2ae35u;
    qp ^= qp >> 16;
    return (uint32_t)((uint64_t)qp * front->pipelines >> 32);
}

/** The long way of eun_controller_admit(), by the pipeline. */
struct eun_admission eun_controller_wait(struct eun_controller *c, uint32_t pipeline, uint32_t bank,
                                         uint32_t allocations, int64_t now);

/**
 * A packet of `qp` came that makes `allocations` in `bank` (0..banks - 1; eun_reorder_bank_of()).
 * Without any the bank does not matter.
 */
static inline struct eun_admission eun_controller_admit(struct eun_controller *c, uint32_t qp,
                                                        uint32_t bank, uint32_t allocations,
                                                        int64_t now)
{
    struct eun_controller_front *front = (struct eun_controller_front *)(void *)c;
    const uint32_t pipeline = eun_controller_pipeline_of(c, qp);
    if (allocations == 0 && front->last_leaves[pipeline] <= now) {
        const struct eun_admission at_once = {now, 0};
        front->wait.bucket[0]++;
        return at_once;
    }
    return eun_controller_wait(c, pipeline, bank, allocations, now);
}

/** Waits in the pipeline, from arrival to leaving: one of each packet. */
const struct eun_wait_histogram *eun_controller_waits(const struct eun_controller *c);

/** Allocation latencies: one of each packet that made any. */
const struct eun_wait_histogram *eun_controller_latencies(const struct eun_controller *c);

/** Packets that waited. */
uint64_t eun_controller_delayed(const struct eun_controller *c);

/** Packets that waited although they made no allocation. */
uint64_t eun_controller_blocked(const struct eun_controller *c);

#ifdef __cplusplus
}
#endif
#endif
