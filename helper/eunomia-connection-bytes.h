// SPDX-License-Identifier: GPL-2.0-only
#ifndef EUNOMIA_CONNECTION_BYTES_H
#define EUNOMIA_CONNECTION_BYTES_H

/**
 * What a connection takes under several schemes: bytes as published, bytes by adding up what is
 * described, and bytes counted by the allocator of this project's ordering layer. Each row says
 * what its bytes are for; nothing stands in for a figure that is not known.
 */

#include "eunomia-json.h"

#include <string>
#include <vector>

namespace ns3 {

/** One scheme. Bytes a connection; NaN where not known. */
struct EunomiaConnectionBytes {
    std::string scheme;
    double published; //!< as stated in a paper
    double addedUp;   //!< by adding up the parts that are described
    double state;     //!< counted, of the kinds that the published model has
    double control;   //!< counted beside these: a connection's share of maps and records
    std::string counts;
};

/** \throws std::bad_alloc where memory is short */
std::vector<EunomiaConnectionBytes> EunomiaCompareConnections();

/** The key `connection_bytes` in an open object; a table for people. */
void EunomiaWriteConnections(EunomiaJsonWriter *json,
                             const std::vector<EunomiaConnectionBytes> &rows);
void EunomiaPrintConnections(std::string *text, const std::vector<EunomiaConnectionBytes> &rows);

} // namespace ns3

#endif
