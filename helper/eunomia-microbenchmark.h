// SPDX-License-Identifier: GPL-2.0-only
#ifndef EUNOMIA_MICROBENCHMARK_H
#define EUNOMIA_MICROBENCHMARK_H

/**
 * The 20-connection microbenchmark, in the simulator: bytes of the receiving NIC's ordering layer
 * over the share of connections that are reordered on their way, beside a fixed bitmap each.
 *
 *   host 0  ---- tor 0  ====== near, far ---- leaf ---- receiver
 *   ...
 *   host 19 ---- tor 19 ------ near      ---- leaf
 *
 * Every host sends one message at a twentieth of what the receiver could take, so that nothing
 * queues for long. Where a connection is to be reordered, its switch deals the packets to two ways
 * in turn, of which the far one is EUNOMIA_MICROBENCHMARK_PSNS packets longer: a far packet is
 * missing until that many PSNs, its own included, have been sent behind it. The others take the
 * near way only. Nothing is random. Source of the experiment: Mahmood, Lu, Ghorbani, arXiv
 * 2412.08540.
 */

#include "eunomia-json.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3 {

constexpr uint32_t EUNOMIA_MICROBENCHMARK_QPS = 20;
/** Span that the far way brings about, in PSNs, from the missing one to the last that is held. */
constexpr uint32_t EUNOMIA_MICROBENCHMARK_PSNS = 64;

/** One step: a share of the connections, and what came of it. */
struct EunomiaMicrobenchmarkStep {
    uint32_t reorderedPct = 0; //!< connections that were dealt to two ways, in percent
    uint32_t reordered = 0;    //!< connections of which packets arrived out of order
    uint32_t spanPsns = 0;     //!< longest span of them, in PSNs; 0 where none was reordered
    uint64_t dynamicBytes = 0; //!< most bytes of the layer at any moment, without its control
    uint64_t settledBytes = 0; //!< the same once every bitmap has grown, well before the end
    uint64_t fixedBytes = 0;   //!< a fixed bitmap a connection
};

/**
 * One simulation with `reordered` (0..20) connections on two ways. Uses ns-3's one simulator, which
 * must hold nothing, at a resolution of picoseconds, and leaves it destroyed. Aborts where a
 * message does not complete or a packet is sent again.
 */
EunomiaMicrobenchmarkStep EunomiaMicrobenchmarkRun(uint32_t reordered);

/** A run for each share from 0 to 100 %, in steps of 5 % (one connection). */
std::vector<EunomiaMicrobenchmarkStep> EunomiaMicrobenchmark();

/**
 * Share at which `bytes` (dynamicBytes or settledBytes) reach the fixed ones, straight lines
 * between the steps. NaN where they never do.
 */
double EunomiaMicrobenchmarkCrossing(
    const std::vector<EunomiaMicrobenchmarkStep> &steps,
    uint64_t EunomiaMicrobenchmarkStep::*bytes = &EunomiaMicrobenchmarkStep::dynamicBytes);

/** The key `microbenchmark` and those of its crossings, in an open object; a table for people. */
void EunomiaWriteMicrobenchmark(EunomiaJsonWriter *json,
                                const std::vector<EunomiaMicrobenchmarkStep> &steps);
void EunomiaPrintMicrobenchmark(std::string *text,
                                const std::vector<EunomiaMicrobenchmarkStep> &steps);

} // namespace ns3

#endif
