// SPDX-License-Identifier: GPL-2.0-only
#ifndef EUNOMIA_MEMORY_MODEL_H
#define EUNOMIA_MEMORY_MODEL_H

/**
 * What reordering costs in memory and in header bytes: the published model, and beside it the bytes
 * that the ordering layer of this project takes. MB are 10^6 bytes, shares are percent.
 *
 * Source of the model: Mahmood, Lu, Ghorbani, "Orderly Management of Packets in RDMA by Eunomia",
 * arXiv 2412.08540.
 */

#include "core/wire/overhead.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

struct eun_reorder;

namespace ns3 {

/** What eunomia-memory is asked. */
struct EunomiaMemoryOptions {
    uint32_t qps = 1000000; //!< open QPs, 1..16777216 (QP numbers have 24 bits)
    double activePct = 5;   //!< share of them that reorder, 0..100
    uint32_t psns = 64;     //!< span of a reordering: a multiple of 16, 16..256
    uint32_t pool = 2048;   //!< bytes of a NIC's pool, even, 2..EUNOMIA_ADMISSION_POOL_MAX
    std::string spans;      //!< result folder whose spans the block sizes are tried on, or empty
    bool json = false;
    bool help = false;

    /**
     * Reads `--name=value`, and `--json` and `--help`.
     * \throws EunomiaInputError that names the option
     */
    static EunomiaMemoryOptions Parse(const std::vector<std::string> &arguments);

    /** QPs that reorder, rounded to the nearest. */
    uint32_t ActiveQps() const;
};

// ---- the model ----

/** A bitmap that each QP owns from start to end: 41 MB a million QPs. */
constexpr double EUNOMIA_FIXED_QP_BYTES = 41;

/** Shares of active QPs for which the model is tabulated. */
constexpr std::array<uint32_t, 4> EUNOMIA_MODEL_ACTIVE_PCT{5, 20, 60, 100};
/** Spans, in PSNs, whose crossing is tabulated. */
constexpr std::array<uint32_t, 3> EUNOMIA_MODEL_SPANS{16, 64, 256};
/** Payloads, in bytes, whose header overhead is tabulated. */
constexpr std::array<uint32_t, 3> EUNOMIA_MODEL_PAYLOADS{256, 1024, 4096};

/**
 * Bytes of the dynamic bitmaps of `qps` QPs: 4 resident bytes each and, for each of the `active`
 * ones, 48 bytes of metadata and 2 a block of 16 PSNs. `psns` is a multiple of 16.
 */
uint64_t EunomiaDynamicBytes(uint64_t qps, uint64_t active, uint32_t psns);

/** Share of active QPs at which dynamic bitmaps take as many bytes as fixed ones. */
double EunomiaMemoryCrossing(uint32_t psns);

/** What the published ordering header of 33 bits adds to a payload of `bytes`. */
double EunomiaHeaderPublishedPct(uint32_t bytes);

/**
 * Bytes that reordering really adds to a packet that does not start a message: the ordering header,
 * and for WRITE the RETH that every packet then carries.
 */
uint32_t EunomiaHeaderBytes(eun_verb verb);

// ---- the measurement ----

/** Bytes that an ordering layer obtained from the allocator. */
struct EunomiaMemoryUse {
    uint64_t model = 0;   //!< what the model says for the same QPs
    uint64_t state = 0;   //!< what the model counts: resident entries, metadata, bitmap blocks
    uint64_t control = 0; //!< free and metadata maps, records of banks and layer
    uint64_t unused = 0;  //!< blocks of the pool that no QP holds
    uint64_t total = 0;
    uint32_t banks = 0;
};

/** All behind the expected packet 0 of QP `qp` arrive, up to the span. False where one is refused.
 */
bool EunomiaReorderQp(eun_reorder *layer, uint32_t qp, uint32_t psns);

/**
 * Opens `qps` QPs in an ordering layer and makes `active` of them, spread evenly over the QP
 * numbers, wait for one packet while the `psns` - 1 behind it have arrived. The pool has as many
 * banks as it takes, all with the blocks that the fullest of them needs.
 * \throws std::bad_alloc where memory is short
 */
EunomiaMemoryUse EunomiaMeasureMemory(uint32_t qps, uint32_t active, uint32_t psns);

// ---- the report ----

std::string EunomiaMemoryHelp();
/** The object of `--json`, with a line end. */
std::string EunomiaMemoryJson(const EunomiaMemoryOptions &options);
/** Tables for people. */
std::string EunomiaMemoryTables(const EunomiaMemoryOptions &options);

} // namespace ns3

#endif
