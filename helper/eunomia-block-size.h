// SPDX-License-Identifier: GPL-2.0-only
#ifndef EUNOMIA_BLOCK_SIZE_H
#define EUNOMIA_BLOCK_SIZE_H

/**
 * How large a block of the pool should be: what a reordering rents and wastes, how many allocations
 * it takes and how long block ids are, for blocks of 2 to 64 bytes.
 *
 * A reordering that reaches `ahead` PSNs past the missing one spans ahead + 1 PSNs, 2..256, and
 * rents ahead / B + 1 blocks of B PSNs. Metadata is the 16 bytes of state of `eun_hd_metadata` and
 * a 2-byte id for each block that 256 PSNs may take, in whole blocks: with blocks of 2 bytes, 48.
 */

#include "eunomia-json.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace ns3 {

/** Block sizes that are tabulated, in bytes. */
constexpr std::array<uint32_t, 6> EUNOMIA_BLOCK_SIZES{2, 4, 8, 16, 32, 64};
/** Farthest that a reordering may reach past the missing PSN. */
constexpr uint32_t EUNOMIA_AHEAD_MAX = 255;
/** Mean of the geometric distribution of `ahead`, before it is cut at EUNOMIA_AHEAD_MAX. */
constexpr double EUNOMIA_AHEAD_GEOMETRIC_MEAN = 16;

/** Mean blocks of `blockPsns` PSNs where `ahead` is drawn evenly from 1..255. */
double EunomiaUniformBlocks(uint32_t blockPsns);
/** The same where it is geometric: 1 with probability 1/16, and so on, cut at 255. */
double EunomiaGeometricBlocks(uint32_t blockPsns);
/** Means of the two distributions. */
double EunomiaUniformAhead();
double EunomiaGeometricAhead();

/** How far reorderings reached: `count[a]` of them `a` PSNs past the missing one. */
struct EunomiaSpans {
    std::array<uint64_t, EUNOMIA_AHEAD_MAX + 1> count{};
    uint64_t total = 0;

    /** Counts one; what lies past EUNOMIA_AHEAD_MAX counts as that, for the layer refuses it. */
    void Add(uint64_t ahead);
    double MeanAhead() const;
    double MeanBlocks(uint32_t blockPsns) const;
};

/**
 * Reads the column `max_reorder_span` of DIR/flows.csv, a result of eunomia-sim: the farthest reach
 * of each flow that was reordered at all.
 * \throws EunomiaInputError that names file, line and field, also where no flow was reordered
 */
EunomiaSpans EunomiaReadSpans(const std::string &folder);

/** A distribution in the table; `meanAhead` of it. */
struct EunomiaSpanKind {
    std::string name; //!< uniform, geometric, measured
    double meanAhead;
};

/** What a reordering costs on average under one distribution. */
struct EunomiaBlockUse {
    double allocations; //!< metadata 1, each block 1
    double rented;      //!< bytes of bitmap blocks
    double waste;       //!< of these, bytes beyond a bit a PSN
    double total;       //!< rented, and metadata
};

struct EunomiaBlockSizeRow {
    uint32_t blockBytes;
    uint32_t blockPsns;
    uint32_t idBits;        //!< of an id in a pool of that many bytes; one id stands for none
    uint32_t ids;           //!< ids in the metadata, for 256 PSNs
    uint32_t metadataBytes; //!< in whole blocks
    std::vector<EunomiaBlockUse> use; //!< by distribution
};

struct EunomiaBlockSizeStudy {
    uint32_t poolBytes;
    std::vector<EunomiaSpanKind> kinds;
    std::vector<EunomiaBlockSizeRow> rows; //!< in order of EUNOMIA_BLOCK_SIZES
};

/** `measured`: the distribution of a simulation, or null. */
EunomiaBlockSizeStudy EunomiaStudyBlockSize(uint32_t poolBytes, const EunomiaSpans *measured);

/** The key `block_size` in an open object; a table for people. */
void EunomiaWriteBlockSize(EunomiaJsonWriter *json, const EunomiaBlockSizeStudy &study);
void EunomiaPrintBlockSize(std::string *text, const EunomiaBlockSizeStudy &study);

} // namespace ns3

#endif
