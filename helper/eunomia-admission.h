// SPDX-License-Identifier: GPL-2.0-only
#ifndef EUNOMIA_ADMISSION_H
#define EUNOMIA_ADMISSION_H

/**
 * How many QPs a pool lets reorder at the same time, over the span of their reordering: what the
 * model says, and how many the allocator really served before it refused one.
 */

#include "eunomia-json.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3 {

/** Largest pool of one bank: 65,534 blocks of 2 bytes. */
constexpr uint32_t EUNOMIA_ADMISSION_POOL_MAX = 131068;

struct EunomiaAdmissionRow {
    uint32_t psns;     //!< span of each reordering: 16, 32, .. 256
    uint32_t model;    //!< most active QPs: the pool over 48 bytes and 2 a 16 PSNs
    uint32_t measured; //!< QPs that the allocator served in full, one after the other
    double sharePct;   //!< `measured` as a share of the open QPs
};

struct EunomiaAdmission {
    uint32_t poolBytes;
    uint32_t qps; //!< open ones, an upper limit of those active
    std::vector<EunomiaAdmissionRow> rows;
};

/**
 * `poolBytes`: 2..EUNOMIA_ADMISSION_POOL_MAX, even. `qps`: 1..16777216.
 * \throws std::bad_alloc where memory is short
 */
EunomiaAdmission EunomiaStudyAdmission(uint32_t poolBytes, uint32_t qps);

/** The key `admission` in an open object; a table for people. */
void EunomiaWriteAdmission(EunomiaJsonWriter *json, const EunomiaAdmission &study);
void EunomiaPrintAdmission(std::string *text, const EunomiaAdmission &study);

} // namespace ns3

#endif
