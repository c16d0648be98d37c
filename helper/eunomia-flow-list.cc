/* SPDX-License-Identifier: GPL-2.0-only */
#include "eunomia-flow-list.h"

#include "eunomia-text-reader.h"

#include <algorithm>
#include <limits>

namespace ns3 {

namespace {

constexpr size_t SHORT_COLUMNS = 5; /**< src dst pg bytes start */
constexpr size_t LONG_COLUMNS = 6;  /**< src dst pg dport bytes start */
constexpr int PS_DECIMALS = 12;     /**< of a second */

uint32_t ReadCount(EunomiaTextReader &reader)
{
    size_t columns = reader.Fields().size();
    if (columns != 1) {
        reader.Fail("count", std::to_string(columns) + " columns, but the first line must be " +
                                 "the number of flows alone");
    }
    return static_cast<uint32_t>(
        reader.Unsigned(0, "count", 1, std::numeric_limits<uint32_t>::max()));
}

/** How many columns the flows of this list have, judged by the first of them. */
size_t ReadColumns(const EunomiaTextReader &reader)
{
    size_t columns = reader.Fields().size();
    return columns >= LONG_COLUMNS ? LONG_COLUMNS : SHORT_COLUMNS;
}

void CheckColumns(const EunomiaTextReader &reader, size_t columns)
{
    static const char *const names[] = {"src", "dst", "pg", "dport", "bytes", "start"};
    size_t found = reader.Fields().size();
    if (found < columns) {
        size_t skipped = columns == SHORT_COLUMNS && found > 2 ? 1 : 0;
        reader.Fail(names[found + skipped], "missing column, " + std::to_string(found) + " of " +
                                                std::to_string(columns) + " found");
    }
    if (found > columns) {
        reader.Fail("start", std::to_string(found) + " columns, but the flows of this list have " +
                                 std::to_string(columns));
    }
}

int64_t ReadStart(const EunomiaTextReader &reader, size_t column)
{
    std::string_view text = reader.Fields()[column];
    int64_t ps = 0;
    EunomiaParse result = EunomiaParseFixed(text, PS_DECIMALS, &ps);
    if (result == EunomiaParse::NOT_A_NUMBER) {
        reader.Fail("start", EunomiaQuote(text) + " is not a number of seconds");
    }
    if (result == EunomiaParse::NEGATIVE) {
        reader.Fail("start", EunomiaQuote(text) + " is negative");
    }
    if (result == EunomiaParse::TOO_LARGE || ps > EUNOMIA_FLOW_MAX_START_PS) {
        reader.Fail("start", EunomiaQuote(text) + " is too large, at most 1000000 s expected");
    }
    return ps;
}

uint8_t ReadPriority(const EunomiaTextReader &reader)
{
    uint64_t priority = reader.Unsigned(2, "pg", 0, 7);
    if (priority == 0) {
        reader.Fail("pg", "0 is the class of control frames, 1 to 7 expected");
    }
    return static_cast<uint8_t>(priority);
}

EunomiaFlow ReadFlow(const EunomiaTextReader &reader, size_t columns, uint32_t hosts)
{
    CheckColumns(reader, columns);
    EunomiaFlow flow;
    flow.src = static_cast<uint32_t>(reader.Unsigned(0, "src", 0, hosts - 1));
    flow.dst = static_cast<uint32_t>(reader.Unsigned(1, "dst", 0, hosts - 1));
    if (flow.src == flow.dst) {
        reader.Fail("dst", std::to_string(flow.dst) + " is the source itself");
    }
    flow.priority = ReadPriority(reader);
    if (columns == LONG_COLUMNS) {
        reader.Unsigned(3, "dport", 0, 65535);
    }
    flow.bytes = reader.Unsigned(columns - 2, "bytes", 1, EUNOMIA_FLOW_MAX_BYTES);
    flow.startPs = ReadStart(reader, columns - 1);
    return flow;
}

bool LooksLikeFlow(const EunomiaTextReader &reader)
{
    uint64_t ignored = 0;
    return reader.Fields().size() >= SHORT_COLUMNS &&
           EunomiaParseUnsigned(reader.Fields()[0], &ignored) == EunomiaParse::OK &&
           EunomiaParseUnsigned(reader.Fields()[1], &ignored) == EunomiaParse::OK;
}

/** Published lists hold more flows than they count, and prose below them: neither is a flow. */
void SkipRest(EunomiaTextReader &reader, const std::string &path, uint32_t count,
              std::vector<std::string> *notes)
{
    uint64_t flows = 0;
    uint64_t text = 0;
    while (reader.NextLine()) {
        (LooksLikeFlow(reader) ? flows : text)++;
    }
    if (notes == nullptr) {
        return;
    }
    if (flows > 0) {
        notes->push_back(path + ": count line says " + std::to_string(count) + ", " +
                         std::to_string(flows) + " further rows ignored");
    }
    if (text > 0) {
        notes->push_back(path +
                         ": other text after the flows ignored, lines: " + std::to_string(text));
    }
}

} // namespace

std::vector<EunomiaFlow> EunomiaReadFlowList(const std::string &path, uint32_t hosts,
                                             std::vector<std::string> *notes)
{
    constexpr uint32_t trusted = 1 << 20; /* of a count line, before its flows are seen */
    if (hosts < 2) {
        throw EunomiaInputError(path, 0, "", "flows need two hosts, the topology has fewer");
    }
    EunomiaTextReader reader(path);
    if (!reader.NextLine()) {
        throw EunomiaInputError(path, 0, "count", "the file is empty");
    }
    uint32_t count = ReadCount(reader);
    uint64_t countLine = reader.LineNumber();
    std::vector<EunomiaFlow> flows;
    flows.reserve(std::min(count, trusted));
    size_t columns = 0;
    while (flows.size() < count) {
        if (!reader.NextLine()) {
            throw EunomiaInputError(path, countLine, "count",
                                    "says " + std::to_string(count) + ", but " +
                                        std::to_string(flows.size()) + " flows follow");
        }
        if (columns == 0) {
            columns = ReadColumns(reader);
        }
        EunomiaFlow flow = ReadFlow(reader, columns, hosts);
        flow.id = static_cast<uint32_t>(flows.size());
        flows.push_back(flow);
    }
    SkipRest(reader, path, count, notes);
    std::stable_sort(flows.begin(), flows.end(), [](const EunomiaFlow &a, const EunomiaFlow &b) {
        return a.startPs < b.startPs;
    });
    return flows;
}

} // namespace ns3
