// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-block-size.h"

#include "eunomia-format.h"
#include "eunomia-text-reader.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace ns3 {

namespace {

constexpr uint32_t STATE_BYTES = 16; // of the metadata, beside its ids
constexpr uint32_t ID_BYTES = 2;
constexpr const char *SPAN_COLUMN = "max_reorder_span";

uint32_t DivideUp(uint32_t value, uint32_t by)
{
    return (value + by - 1) / by;
}

/** Fields of a CSV line that has no quotes, as those of flows.csv. */
std::vector<std::string_view> SplitCsv(const EunomiaTextReader &reader)
{
    if (reader.Fields().size() != 1) {
        reader.Fail("row", "there is a blank in it; is this a flows.csv?");
    }
    std::vector<std::string_view> fields;
    std::string_view rest = reader.Fields()[0];
    for (size_t comma; (comma = rest.find(',')) != std::string_view::npos;) {
        fields.push_back(rest.substr(0, comma));
        rest.remove_prefix(comma + 1);
    }
    fields.push_back(rest);
    return fields;
}

struct Distribution {
    EunomiaSpanKind kind;
    std::function<double(uint32_t)> blocks; //!< mean number, by PSNs a block
};

EunomiaBlockSizeRow MakeRow(uint32_t blockBytes, uint32_t poolBytes,
                            const std::vector<Distribution> &distributions)
{
    EunomiaBlockSizeRow row;
    row.blockBytes = blockBytes;
    row.blockPsns = 8 * blockBytes;
    row.idBits = 0;
    while ((poolBytes / blockBytes) >> row.idBits != 0) {
        row.idBits++;
    }
    row.ids = DivideUp(EUNOMIA_AHEAD_MAX + 1, row.blockPsns);
    row.metadataBytes = DivideUp(STATE_BYTES + ID_BYTES * row.ids, blockBytes) * blockBytes;
    for (const Distribution &distribution : distributions) {
        EunomiaBlockUse use;
        const double blocks = distribution.blocks(row.blockPsns);
        use.allocations = 1 + blocks;
        use.rented = blocks * blockBytes;
        use.waste = use.rented - (distribution.kind.meanAhead + 1) / 8;
        use.total = use.rented + row.metadataBytes;
        row.use.push_back(use);
    }
    return row;
}

} // namespace

double EunomiaUniformAhead()
{
    return (1 + EUNOMIA_AHEAD_MAX) / 2.0;
}

double EunomiaUniformBlocks(uint32_t blockPsns)
{
    // Of 0..255, B each have a / B = 0, 1, .. m - 1, and the rest m; 0 adds nothing to the sum.
    const uint32_t full = (EUNOMIA_AHEAD_MAX + 1) / blockPsns;
    const uint32_t rest = (EUNOMIA_AHEAD_MAX + 1) % blockPsns;
    const double sum = blockPsns * (full * (full - 1.0) / 2) + double(rest) * full;
    return 1 + sum / EUNOMIA_AHEAD_MAX;
}

double EunomiaGeometricAhead()
{
    const double stay = 1 - 1 / EUNOMIA_AHEAD_GEOMETRIC_MEAN;
    const double cut = std::pow(stay, EUNOMIA_AHEAD_MAX);
    return EUNOMIA_AHEAD_GEOMETRIC_MEAN - EUNOMIA_AHEAD_MAX * cut / (1 - cut);
}

double EunomiaGeometricBlocks(uint32_t blockPsns)
{
    // The mean of a / B is the sum over k >= 1 of P(a >= kB), a geometric series less what is cut.
    const double stay = 1 - 1 / EUNOMIA_AHEAD_GEOMETRIC_MEAN;
    const double cut = std::pow(stay, EUNOMIA_AHEAD_MAX);
    const double terms = EUNOMIA_AHEAD_MAX / blockPsns;
    const double ratio = std::pow(stay, blockPsns);
    const double series = ratio / stay * (1 - std::pow(ratio, terms)) / (1 - ratio);
    return 1 + (series - terms * cut) / (1 - cut);
}

void EunomiaSpans::Add(uint64_t ahead)
{
    count[std::min<uint64_t>(ahead, EUNOMIA_AHEAD_MAX)]++;
    total++;
}

double EunomiaSpans::MeanAhead() const
{
    double sum = 0;
    for (uint32_t ahead = 1; ahead < count.size(); ahead++) {
        sum += static_cast<double>(count[ahead]) * ahead;
    }
    return sum / static_cast<double>(total);
}

double EunomiaSpans::MeanBlocks(uint32_t blockPsns) const
{
    uint64_t blocks = 0;
    for (uint32_t ahead = 1; ahead < count.size(); ahead++) {
        blocks += count[ahead] * (ahead / blockPsns + 1);
    }
    return static_cast<double>(blocks) / static_cast<double>(total);
}

EunomiaSpans EunomiaReadSpans(const std::string &folder)
{
    const std::string path = folder + "/flows.csv";
    EunomiaTextReader reader(path);
    if (!reader.NextLine()) {
        throw EunomiaInputError(path, 1, "header", "the file is empty");
    }
    const std::vector<std::string_view> header = SplitCsv(reader);
    const size_t columns = header.size();
    const auto found = std::find(header.begin(), header.end(), SPAN_COLUMN);
    if (found == header.end()) {
        reader.Fail(SPAN_COLUMN, "there is no such column");
    }
    const auto column = static_cast<size_t>(found - header.begin());
    EunomiaSpans spans;
    while (reader.NextLine()) {
        const std::vector<std::string_view> fields = SplitCsv(reader);
        if (fields.size() != columns) {
            reader.Fail("row", std::to_string(fields.size()) + " fields, the header has " +
                                   std::to_string(columns));
        }
        uint64_t ahead;
        if (EunomiaParseUnsigned(fields[column], &ahead) != EunomiaParse::OK) {
            reader.Fail(SPAN_COLUMN, EunomiaQuote(fields[column]) + " is no whole number");
        }
        if (ahead > 0) {
            spans.Add(ahead);
        }
    }
    if (spans.total == 0) {
        throw EunomiaInputError(path, 0, SPAN_COLUMN, "no flow was reordered");
    }
    return spans;
}

EunomiaBlockSizeStudy EunomiaStudyBlockSize(uint32_t poolBytes, const EunomiaSpans *measured)
{
    std::vector<Distribution> distributions{
        {{"uniform", EunomiaUniformAhead()}, EunomiaUniformBlocks},
        {{"geometric", EunomiaGeometricAhead()}, EunomiaGeometricBlocks}};
    if (measured) {
        distributions.push_back(
            {{"measured", measured->MeanAhead()},
             [measured](uint32_t blockPsns) { return measured->MeanBlocks(blockPsns); }});
    }
    EunomiaBlockSizeStudy study;
    study.poolBytes = poolBytes;
    for (const Distribution &distribution : distributions) {
        study.kinds.push_back(distribution.kind);
    }
    for (uint32_t blockBytes : EUNOMIA_BLOCK_SIZES) {
        study.rows.push_back(MakeRow(blockBytes, poolBytes, distributions));
    }
    return study;
}

void EunomiaWriteBlockSize(EunomiaJsonWriter *json, const EunomiaBlockSizeStudy &study)
{
    json->Key("block_size");
    json->BeginObject();
    json->Uint("pool_bytes", study.poolBytes);
    json->Key("mean_span_psns");
    json->BeginObject();
    for (const EunomiaSpanKind &kind : study.kinds) {
        json->Fixed(kind.name, kind.meanAhead + 1, 4);
    }
    json->EndObject();
    json->Key("rows");
    json->BeginArray();
    for (const EunomiaBlockSizeRow &row : study.rows) {
        json->BeginObject();
        json->Uint("block_bytes", row.blockBytes);
        json->Uint("block_psns", row.blockPsns);
        json->Uint("id_bits", row.idBits);
        json->Uint("ids", row.ids);
        json->Uint("metadata_bytes", row.metadataBytes);
        for (size_t i = 0; i < study.kinds.size(); i++) {
            json->Key(study.kinds[i].name);
            json->BeginObject();
            json->Fixed("allocations", row.use[i].allocations, 4);
            json->Fixed("rented_bytes", row.use[i].rented, 4);
            json->Fixed("waste_bytes", row.use[i].waste, 4);
            json->Fixed("total_bytes", row.use[i].total, 4);
            json->EndObject();
        }
        json->EndObject();
    }
    json->EndArray();
    json->EndObject();
}

void EunomiaPrintBlockSize(std::string *text, const EunomiaBlockSizeStudy &study)
{
    EunomiaPrint(text, "\nBlock size: means of a reordering, in bytes\n\n");
    EunomiaPrint(text, "                  metadata");
    for (const EunomiaSpanKind &kind : study.kinds) {
        EunomiaPrint(text, "%16s %6.1f", kind.name.c_str(), kind.meanAhead + 1);
    }
    EunomiaPrint(text, "\nblock PSNs id bits   bytes");
    for (size_t i = 0; i < study.kinds.size(); i++) {
        EunomiaPrint(text, " allocs   waste  total");
    }
    EunomiaPrint(text, "\n");
    for (const EunomiaBlockSizeRow &row : study.rows) {
        EunomiaPrint(text, "%5u %4u %7u %7u", row.blockBytes, row.blockPsns, row.idBits,
                     row.metadataBytes);
        for (const EunomiaBlockUse &use : row.use) {
            EunomiaPrint(text, " %6.2f %7.2f %6.1f", use.allocations, use.waste, use.total);
        }
        EunomiaPrint(text, "\n");
    }
    EunomiaPrint(text,
                 "\nuniform    a reordering spans 2..256 PSNs, all equally often; beside a name, "
                 "the mean span\n"
                 "geometric  reaches %g PSNs past the missing one on average, cut at %u\n",
                 EUNOMIA_AHEAD_GEOMETRIC_MEAN, EUNOMIA_AHEAD_MAX);
    if (study.kinds.size() > 2) {
        EunomiaPrint(text, "measured   the farthest reach of each reordered flow of --spans\n");
    }
    EunomiaPrint(text,
                 "metadata   16 B of state and a 2-byte id for each block of 256 PSNs, in whole "
                 "blocks\n"
                 "id bits    of an id in a pool of %u B\n"
                 "waste      bytes of blocks beyond a bit a PSN\n"
                 "total      blocks and metadata\n",
                 study.poolBytes);
}

} // namespace ns3
