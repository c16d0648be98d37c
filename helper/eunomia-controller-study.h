// SPDX-License-Identifier: GPL-2.0-only
#ifndef EUNOMIA_CONTROLLER_STUDY_H
#define EUNOMIA_CONTROLLER_STUDY_H

/**
 * What waiting for ordering memory costs a NIC at line rate, and what banks, pipelines and caches
 * do about it: the ordering layer and its memory controller, driven by packets that arrive at equal
 * spacing. No fabric, no simulator.
 *
 * Of 1,000 QPs 64 send at a time, in random turns. A QP delivers one message of 64 packets, none
 * displaced by its span or more, which is 16 to 64 by QP; then it closes, its memory goes back, and
 * the next QP opens. So metadata and blocks are rented and returned all the time. The pool has room
 * for all.
 */

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace ns3 {

class EunomiaJsonWriter;

/** What is asked: packets every `spacingPs`, and the controller. */
struct EunomiaControllerSetup {
    uint64_t rateGbps;    //!< full packets of SEND with 1,024 bytes, back to back; 1 or more
    int64_t servicePs;    //!< time that a bank takes for an allocation
    uint32_t banks;       //!< 1..1024
    uint32_t pipelines;   //!< 1 or more
    uint32_t cacheBlocks; //!< of a pipeline for each bank
};

/** What came of it. */
struct EunomiaControllerRow {
    EunomiaControllerSetup setup;
    int64_t spacingPs; //!< between two arrivals
    uint64_t packets;
    uint64_t allocations; //!< that these made
    double meanWaitNs;    //!< of all packets, from arrival to leaving the pipeline
    double p99WaitNs;
    double delayedPct; //!< packets that waited
    double blockedPct; //!< packets that waited although they needed no memory
};

/**
 * One setup; `packets` (1 or more) are counted, after a warm-up.
 * \throws std::bad_alloc where memory is short
 */
EunomiaControllerRow EunomiaMeasureController(const EunomiaControllerSetup &setup,
                                              uint32_t packets);

/** The setups that eunomia-memory shows: three service times, 100 to 800 Gb/s. */
std::vector<EunomiaControllerRow> EunomiaControllerStudy();

/** A table for people. */
std::string EunomiaControllerTable(const std::vector<EunomiaControllerRow> &rows);
/** The value of the key `allocation`: an array, an object a row. */
void EunomiaControllerJson(EunomiaJsonWriter *json, const std::vector<EunomiaControllerRow> &rows);

} // namespace ns3

#endif
