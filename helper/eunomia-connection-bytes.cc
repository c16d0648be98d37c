// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-connection-bytes.h"

#include "eunomia-format.h"
#include "eunomia-memory-model.h"

#include <cmath>
#include <limits>

namespace ns3 {

namespace {

constexpr double UNKNOWN = std::numeric_limits<double>::quiet_NaN();
constexpr uint32_t QPS = 10000; // measured together, so that a share of the control is fair

/** A row of the ordering layer, all QPs of which reorder over `psns` PSNs; 0: all are in order. */
EunomiaConnectionBytes Measured(const std::string &scheme, double published, uint32_t psns,
                                const std::string &counts)
{
    const EunomiaMemoryUse use =
        psns > 0 ? EunomiaMeasureMemory(QPS, QPS, psns) : EunomiaMeasureMemory(QPS, 0, 64);
    return {scheme,
            published,
            static_cast<double>(use.model) / QPS,
            static_cast<double>(use.state) / QPS,
            static_cast<double>(use.control) / QPS,
            counts};
}

std::string Cell(double bytes, int decimals)
{
    std::string text;
    EunomiaAppendFixed(&text, bytes, decimals);
    return text.empty() ? "-" : text;
}

void WriteBytes(EunomiaJsonWriter *json, const char *name, double bytes)
{
    json->Key(name);
    json->Shortest(bytes);
}

} // namespace

std::vector<EunomiaConnectionBytes> EunomiaCompareConnections()
{
    return {
        Measured("Eunomia, in order", 4, 0, "resident entry: id of the metadata, generation"),
        Measured("Eunomia, 64 PSNs", UNKNOWN, 64, "4 resident, 48 metadata, 4 blocks of 2"),
        Measured("Eunomia, 256 PSNs", 82, 256,
                 "4 + 48 + 16 x 2 make 84; the published 82 is not itemised"),
        {"fixed bitmap", EUNOMIA_FIXED_QP_BYTES, UNKNOWN, UNKNOWN, UNKNOWN,
         "41 MB a million QPs, in Eunomia's paper"},
        {"IRN", 145, UNKNOWN, UNKNOWN, UNKNOWN,
         "125 of bitmap, about 20 of metadata (100 Gb/s, 8 us), in Eunomia's paper"},
        {"MP-RDMA", 66, UNKNOWN, UNKNOWN, UNKNOWN,
         "in its abstract; as recalled, 16 of them are for 64 slots of 2 bits"},
    };
}

void EunomiaWriteConnections(EunomiaJsonWriter *json,
                             const std::vector<EunomiaConnectionBytes> &rows)
{
    json->Key("connection_bytes");
    json->BeginArray();
    for (const EunomiaConnectionBytes &row : rows) {
        json->BeginObject();
        json->Key("scheme");
        json->String(row.scheme);
        WriteBytes(json, "published", row.published);
        WriteBytes(json, "added_up", row.addedUp);
        WriteBytes(json, "state", row.state);
        WriteBytes(json, "control", row.control);
        json->Key("counts");
        json->String(row.counts);
        json->EndObject();
    }
    json->EndArray();
}

void EunomiaPrintConnections(std::string *text, const std::vector<EunomiaConnectionBytes> &rows)
{
    EunomiaPrint(text, "Bytes a connection\n\n");
    EunomiaPrint(text, "                              added  - counted -\n");
    EunomiaPrint(text, "scheme             published     up  state control\n");
    for (const EunomiaConnectionBytes &row : rows) {
        EunomiaPrint(text, "%-18s %9s %6s %6s %7s\n", row.scheme.c_str(),
                     Cell(row.published, 0).c_str(), Cell(row.addedUp, 0).c_str(),
                     Cell(row.state, 0).c_str(), Cell(row.control, 1).c_str());
    }
    EunomiaPrint(text, "\n");
    for (const EunomiaConnectionBytes &row : rows) {
        EunomiaPrint(text, "%-18s %s\n", row.scheme.c_str(), row.counts.c_str());
    }
    EunomiaPrint(
        text, "control            the ordering layer's maps and records, shared by %u QPs\n", QPS);
}

} // namespace ns3
