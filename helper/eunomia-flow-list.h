/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_FLOW_LIST_H
#define EUNOMIA_FLOW_LIST_H

/** What is to be sent in an experiment, and the text files that say so. */

#include <cstdint>
#include <string>
#include <vector>

namespace ns3 {

/** One transfer from a host to another. */
struct EunomiaFlow {
    uint32_t id = 0;      /**< unique in an experiment */
    uint32_t src = 0;     /**< host number, from 0 */
    uint32_t dst = 0;     /**< host number, never src */
    uint8_t priority = 0; /**< PFC priority, 1..7; 0 belongs to control frames */
    uint64_t bytes = 0;   /**< payload, 1..EUNOMIA_FLOW_MAX_BYTES */
    int64_t startPs = 0;  /**< when it is posted, absolute simulation time, ps */
};

constexpr uint64_t EUNOMIA_FLOW_MAX_BYTES = uint64_t{1} << 40;
/** Latest start of a flow, in ps (one million seconds): leaves room below INT64_MAX for the run. */
constexpr int64_t EUNOMIA_FLOW_MAX_START_PS = 1'000'000'000'000'000'000;

/**
 * Reads a flow list of the HPCC simulator or of ConWeave's: a line with the number of flows, then
 * one line a flow, `src dst pg bytes start_s` or `src dst pg dport bytes start_s`, plain or gzip.
 * The first flow decides which; the destination port is not used. Start times are exact to the
 * picosecond.
 *
 * \param path the file
 * \param hosts number of hosts, so that src and dst are 0..hosts-1
 * \param notes takes one line for each thing in the file that is ignored, such as rows past the
 *              count; may be null
 * \returns the flows by start time, those of one time in the order of the file; id is the position
 *          in the file, from 0
 * \throws EunomiaInputError that names file, line and field
 */
std::vector<EunomiaFlow> EunomiaReadFlowList(const std::string &path, uint32_t hosts,
                                             std::vector<std::string> *notes);

} // namespace ns3

#endif
