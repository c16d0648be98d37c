// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-memory-model.h"

#include "core/reorder/reorder.h"
#include "eunomia-admission.h"
#include "eunomia-block-size.h"
#include "eunomia-connection-bytes.h"
#include "eunomia-controller-study.h"
#include "eunomia-format.h"
#include "eunomia-input-error.h"
#include "eunomia-json.h"
#include "eunomia-microbenchmark.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_roots.h>
#include <memory>
#include <new>

namespace ns3 {

namespace {

constexpr uint32_t BLOCK_PSNS = 16;
constexpr uint32_t RESIDENT_BYTES = 4;
constexpr uint32_t METADATA_BYTES = 48;
constexpr uint32_t BLOCK_BYTES = 2;
constexpr double PUBLISHED_HEADER_BITS = 33;
constexpr uint32_t MILLION = 1000000;

template <typename T>
T Number(const std::string &option, const std::string &text, T low, T high)
{
    T value{};
    const char *end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, value);
    if (text.empty() || result.ec != std::errc() || result.ptr != end || !(value >= low) ||
        !(value <= high)) {
        char range[64];
        std::snprintf(range, sizeof range, "' is no number in %.0f..%.0f", static_cast<double>(low),
                      static_cast<double>(high));
        throw EunomiaInputError(option, 0, "", "'" + text + range);
    }
    return value;
}

/** Bytes by which `active` QPs exceed those in order. */
uint64_t ActiveBytes(uint64_t active, uint32_t psns)
{
    return active * (METADATA_BYTES + psns / BLOCK_PSNS * BLOCK_BYTES);
}

double Megabytes(uint64_t bytes)
{
    return static_cast<double>(bytes) / MILLION;
}

/** Is QP `qp` one of the active ones? They lie as evenly as whole numbers allow. */
bool IsActive(uint64_t qp, uint64_t qps, uint64_t active)
{
    return (qp + 1) * active / qps > qp * active / qps;
}

/** Active QPs that the fullest of `banks` banks gets. */
uint32_t FullestBank(uint32_t qps, uint32_t active, uint32_t banks)
{
    std::vector<eun_hd_bank> places(banks);
    std::vector<uint32_t> count(banks, 0);
    eun_reorder_front front{};
    front.banks = places.data();
    front.bank_count = banks;
    for (uint32_t qp = 0; qp < qps; qp++) {
        if (IsActive(qp, qps, active)) {
            count[static_cast<size_t>(eun_reorder_bank_of(&front, qp) - places.data())]++;
        }
    }
    return *std::max_element(count.begin(), count.end());
}

/** The smallest pool, in banks of one size, in which all active QPs find their blocks. */
eun_reorder_config SizePool(uint32_t qps, uint32_t active, uint32_t psns)
{
    const uint32_t each = EUN_BLOCK_POOL_METADATA + psns / BLOCK_PSNS;
    eun_reorder_config config{};
    config.cap_psns = EUN_HD_NARROW_MAX;
    config.block_bits = BLOCK_PSNS;
    config.banks = static_cast<uint32_t>(uint64_t{active} * each / EUN_BLOCK_POOL_MAX) + 1;
    uint32_t blocks = FullestBank(qps, active, config.banks) * each;
    while (blocks > EUN_BLOCK_POOL_MAX) {
        config.banks += 1 + config.banks / 64;
        blocks = FullestBank(qps, active, config.banks) * each;
    }
    config.blocks = config.banks * blocks;
    return config;
}

double RealHeaderPct(eun_verb verb, uint32_t payload)
{
    return 100.0 * EunomiaHeaderBytes(verb) / payload;
}

} // namespace

EunomiaMemoryOptions EunomiaMemoryOptions::Parse(const std::vector<std::string> &arguments)
{
    EunomiaMemoryOptions options;
    for (const std::string &argument : arguments) {
        const size_t equals = std::min(argument.find('='), argument.size());
        const std::string name = argument.substr(0, equals);
        const std::string value = argument.substr(std::min(equals + 1, argument.size()));
        if (argument == "--json") {
            options.json = true;
        } else if (argument == "--help") {
            options.help = true;
        } else if (name == "--qps") {
            options.qps = Number<uint32_t>(name, value, 1, EUN_REORDER_QP_MAX + 1);
        } else if (name == "--active") {
            options.activePct = Number<double>(name, value, 0, 100);
        } else if (name == "--psns") {
            options.psns = Number<uint32_t>(name, value, BLOCK_PSNS, EUN_HD_NARROW_MAX);
            if (options.psns % BLOCK_PSNS != 0) {
                throw EunomiaInputError(name, 0, "", "'" + value + "' is no multiple of 16");
            }
        } else if (name == "--pool") {
            options.pool = Number<uint32_t>(name, value, BLOCK_BYTES, EUNOMIA_ADMISSION_POOL_MAX);
            if (options.pool % BLOCK_BYTES != 0) {
                throw EunomiaInputError(name, 0, "", "'" + value + "' is no multiple of 2");
            }
        } else if (name == "--spans") {
            options.spans = value;
            if (value.empty()) {
                throw EunomiaInputError(name, 0, "", "name a result folder");
            }
        } else {
            throw EunomiaInputError(argument, 0, "", "there is no such option; see --help");
        }
    }
    return options;
}

uint32_t EunomiaMemoryOptions::ActiveQps() const
{
    return static_cast<uint32_t>(std::lround(qps * activePct / 100));
}

uint64_t EunomiaDynamicBytes(uint64_t qps, uint64_t active, uint32_t psns)
{
    return qps * RESIDENT_BYTES + ActiveBytes(active, psns);
}

double EunomiaMemoryCrossing(uint32_t psns)
{
    gsl_function excess;
    excess.function = [](double share, void *span) {
        const auto active = static_cast<double>(ActiveBytes(1, *static_cast<uint32_t *>(span)));
        return RESIDENT_BYTES + share * active - EUNOMIA_FIXED_QP_BYTES;
    };
    excess.params = &psns;
    const std::unique_ptr<gsl_root_fsolver, decltype(&gsl_root_fsolver_free)> solver(
        gsl_root_fsolver_alloc(gsl_root_fsolver_brent), gsl_root_fsolver_free);
    gsl_root_fsolver_set(solver.get(), &excess, 0, 1);
    int status = GSL_CONTINUE;
    while (status == GSL_CONTINUE) {
        gsl_root_fsolver_iterate(solver.get());
        status = gsl_root_test_interval(gsl_root_fsolver_x_lower(solver.get()),
                                        gsl_root_fsolver_x_upper(solver.get()), 1e-12, 0);
    }
    return 100 * gsl_root_fsolver_root(solver.get());
}

double EunomiaHeaderPublishedPct(uint32_t bytes)
{
    return 100 * PUBLISHED_HEADER_BITS / 8 / bytes;
}

uint32_t EunomiaHeaderBytes(eun_verb verb)
{
    eun_overhead ordered;
    eun_overhead reordered;
    eun_overhead_roce(&ordered, verb, true);
    eun_overhead_roce(&reordered, verb, false);
    return reordered.data - ordered.data;
}

bool EunomiaReorderQp(eun_reorder *layer, uint32_t qp, uint32_t psns)
{
    for (uint32_t psn = 1; psn < psns; psn++) {
        if (eun_reorder_arrive(layer, qp, 0, psn, false, 0).verdict != EUN_HD_HELD) {
            return false;
        }
    }
    return true;
}

EunomiaMemoryUse EunomiaMeasureMemory(uint32_t qps, uint32_t active, uint32_t psns)
{
    const eun_reorder_config config = SizePool(qps, active, psns);
    const std::unique_ptr<eun_reorder, decltype(&eun_reorder_free)> layer(eun_reorder_new(&config),
                                                                          eun_reorder_free);
    // From the largest number down, so that the resident table has its final size at once.
    for (uint32_t qp = qps; qp-- > 0;) {
        if (!layer || !eun_reorder_open(layer.get(), qp) ||
            (IsActive(qp, qps, active) && !EunomiaReorderQp(layer.get(), qp, psns))) {
            throw std::bad_alloc();
        }
    }
    struct eun_reorder_memory memory;
    eun_reorder_memory(layer.get(), &memory);
    EunomiaMemoryUse use;
    use.model = EunomiaDynamicBytes(qps, active, psns);
    use.state = memory.state;
    use.control = memory.control;
    use.unused = memory.unused;
    use.total = memory.total;
    use.banks = config.banks;
    return use;
}

std::string EunomiaMemoryHelp()
{
    return "usage: eunomia-memory [OPTIONS]\n"
           "What reordering costs: the published model, and the bytes of this ordering layer.\n\n"
           "  --qps=1000000  open QPs, 1..16777216\n"
           "  --active=5     percent of them that reorder, 0..100\n"
           "  --psns=64      PSNs that a reordering spans, a multiple of 16, 16..256\n"
           "  --pool=2048    bytes of a NIC's pool, even, 2..131068\n"
           "  --spans=DIR    tries block sizes on the spans of a result folder, too\n"
           "  --json         one JSON object instead of tables\n"
           "  --help         this text\n";
}

namespace {

/** Shares of active QPs to measure: the tabulated ones and the one that was asked for. */
std::vector<double> Shares(const EunomiaMemoryOptions &options)
{
    std::vector<double> shares(EUNOMIA_MODEL_ACTIVE_PCT.begin(), EUNOMIA_MODEL_ACTIVE_PCT.end());
    shares.push_back(options.activePct);
    std::sort(shares.begin(), shares.end());
    shares.erase(std::unique(shares.begin(), shares.end()), shares.end());
    return shares;
}

EunomiaMemoryUse MeasureShare(EunomiaMemoryOptions options, double activePct)
{
    options.activePct = activePct;
    return EunomiaMeasureMemory(options.qps, options.ActiveQps(), options.psns);
}

/** Block sizes on the distributions and, where a folder is named, on its spans. */
EunomiaBlockSizeStudy StudyBlockSize(const EunomiaMemoryOptions &options)
{
    if (options.spans.empty()) {
        return EunomiaStudyBlockSize(options.pool, nullptr);
    }
    const EunomiaSpans spans = EunomiaReadSpans(options.spans);
    return EunomiaStudyBlockSize(options.pool, &spans);
}

} // namespace

// ---- JSON ----

namespace {

void WriteModel(EunomiaJsonWriter *json)
{
    json->Key("model");
    json->BeginObject();
    json->Key("bytes");
    json->BeginObject();
    json->Uint("fixed", static_cast<uint64_t>(EUNOMIA_FIXED_QP_BYTES));
    json->Uint("resident", RESIDENT_BYTES);
    json->Uint("metadata", METADATA_BYTES);
    json->Uint("block", BLOCK_BYTES);
    json->Uint("block_psns", BLOCK_PSNS);
    json->EndObject();
    json->Fixed("fixed_mb", EUNOMIA_FIXED_QP_BYTES, 3);
    json->Key("dynamic_mb");
    json->BeginObject();
    for (uint32_t pct : EUNOMIA_MODEL_ACTIVE_PCT) {
        json->Fixed(std::to_string(pct),
                    Megabytes(EunomiaDynamicBytes(MILLION, MILLION / 100 * pct, 64)), 3);
    }
    json->EndObject();
    json->Key("crossing_pct");
    json->BeginObject();
    for (uint32_t psns : EUNOMIA_MODEL_SPANS) {
        json->Fixed(std::to_string(psns), EunomiaMemoryCrossing(psns), 4);
    }
    json->EndObject();
    json->EndObject();
}

void WriteHeaders(EunomiaJsonWriter *json)
{
    json->Key("header_pct");
    json->BeginObject();
    json->Key("published");
    json->BeginObject();
    for (uint32_t payload : EUNOMIA_MODEL_PAYLOADS) {
        json->Fixed(std::to_string(payload), EunomiaHeaderPublishedPct(payload), 4);
    }
    json->EndObject();
    json->Key("real");
    json->BeginObject();
    for (uint32_t payload : EUNOMIA_MODEL_PAYLOADS) {
        json->Fixed(std::to_string(payload), RealHeaderPct(EUN_VERB_SEND, payload), 4);
    }
    json->EndObject();
    json->EndObject();
}

void WriteMeasured(EunomiaJsonWriter *json, const EunomiaMemoryOptions &options)
{
    const EunomiaMemoryUse use =
        EunomiaMeasureMemory(options.qps, options.ActiveQps(), options.psns);
    json->Key("measured");
    json->BeginObject();
    json->Uint("qps", options.qps);
    json->Key("active_pct");
    json->Shortest(options.activePct);
    json->Uint("psns", options.psns);
    json->Uint("model_bytes", use.model);
    json->Uint("state_bytes", use.state);
    json->Uint("control_bytes", use.control);
    json->Uint("total_bytes", use.total);
    json->EndObject();
}

/** The same for the tabulated shares, and the one that was asked for. */
void WriteMeasuredShares(EunomiaJsonWriter *json, const EunomiaMemoryOptions &options)
{
    json->Key("measured_by_share");
    json->BeginArray();
    for (double share : Shares(options)) {
        const EunomiaMemoryUse use = MeasureShare(options, share);
        json->BeginObject();
        json->Key("active_pct");
        json->Shortest(share);
        json->Uint("fixed_bytes", static_cast<uint64_t>(EUNOMIA_FIXED_QP_BYTES * options.qps));
        json->Uint("model_bytes", use.model);
        json->Uint("state_bytes", use.state);
        json->Uint("control_bytes", use.control);
        json->Uint("unused_bytes", use.unused);
        json->Uint("total_bytes", use.total);
        json->EndObject();
    }
    json->EndArray();
}

} // namespace

std::string EunomiaMemoryJson(const EunomiaMemoryOptions &options)
{
    const EunomiaBlockSizeStudy blockSize = StudyBlockSize(options); // refuses a bad folder first
    EunomiaJsonWriter json;
    json.BeginObject();
    WriteModel(&json);
    WriteHeaders(&json);
    WriteMeasured(&json, options);
    EunomiaWriteMicrobenchmark(&json, EunomiaMicrobenchmark());
    WriteMeasuredShares(&json, options);
    EunomiaWriteConnections(&json, EunomiaCompareConnections());
    EunomiaWriteBlockSize(&json, blockSize);
    EunomiaWriteAdmission(&json, EunomiaStudyAdmission(options.pool, options.qps));
    json.Key("allocation");
    EunomiaControllerJson(&json, EunomiaControllerStudy());
    json.EndObject();
    return json.Text() + '\n';
}

// ---- tables ----

namespace {

void PrintMemory(std::string *text, const EunomiaMemoryOptions &options)
{
    EunomiaPrint(text, "Memory of %u QPs, %u PSNs spanned by a reordering, in MB (10^6 bytes)\n\n",
                 options.qps, options.psns);
    EunomiaPrint(text, "            --- model ---    ---------- measured ----------\n");
    EunomiaPrint(text, "active %%     fixed dynamic     state control  unused    total\n");
    for (double share : Shares(options)) {
        const EunomiaMemoryUse use = MeasureShare(options, share);
        EunomiaPrint(text, "%8g  %8.3f %7.3f  %8.3f %7.3f %7.3f %8.3f\n", share,
                     EUNOMIA_FIXED_QP_BYTES * options.qps / MILLION, Megabytes(use.model),
                     Megabytes(use.state), Megabytes(use.control), Megabytes(use.unused),
                     Megabytes(use.total));
    }
    EunomiaPrint(text, "\nfixed    as published, 41 MB a million QPs, which makes 41 B each\n"
                       "dynamic  4 B a QP; an active one 48 B of metadata and 2 B a 16 PSNs\n");
    EunomiaPrint(text, "state    the same, counted in the allocations of the ordering layer\n"
                       "control  its maps of free blocks and metadata, records of banks and layer\n"
                       "unused   blocks left over, because QPs hash unevenly to banks\n\n");
}

void PrintCrossings(std::string *text)
{
    EunomiaPrint(text, "Dynamic takes as much as fixed at this share of active QPs (model)\n\n");
    EunomiaPrint(text, "PSNs  active %%\n");
    for (uint32_t psns : EUNOMIA_MODEL_SPANS) {
        EunomiaPrint(text, "%4u  %8.2f\n", psns, EunomiaMemoryCrossing(psns));
    }
    EunomiaPrint(
        text, "\nActive QPs of a million, 256 PSNs, in MB beyond the %.0f MB that are resident\n\n",
        Megabytes(EunomiaDynamicBytes(MILLION, 0, 256)));
    EunomiaPrint(text, "  active  model  measured\n");
    for (uint32_t active : {10000u, 600000u}) {
        const EunomiaMemoryUse use = EunomiaMeasureMemory(MILLION, active, 256);
        EunomiaPrint(text, "%8u  %5.1f  %8.1f\n", active, Megabytes(ActiveBytes(active, 256)),
                     Megabytes(use.state - EunomiaDynamicBytes(MILLION, 0, 256)));
    }
}

void PrintHeaders(std::string *text)
{
    EunomiaPrint(text, "\nHeader overhead, in percent of the payload\n\n");
    EunomiaPrint(text, "payload B  published  real SEND  real WRITE\n");
    for (uint32_t payload : EUNOMIA_MODEL_PAYLOADS) {
        EunomiaPrint(text, "%9u  %9.2f  %9.2f  %10.2f\n", payload,
                     EunomiaHeaderPublishedPct(payload), RealHeaderPct(EUN_VERB_SEND, payload),
                     RealHeaderPct(EUN_VERB_WRITE, payload));
    }
    EunomiaPrint(text, "\npublished  33 bits a packet\n");
    EunomiaPrint(text, "SEND       the ordering header of %u B\n",
                 EunomiaHeaderBytes(EUN_VERB_SEND));
    EunomiaPrint(
        text,
        "WRITE      %u B: with the RETH that every packet carries; the first of a message\n"
        "           has one anyway, so pays as SEND does\n\n",
        EunomiaHeaderBytes(EUN_VERB_WRITE));
}

} // namespace

std::string EunomiaMemoryTables(const EunomiaMemoryOptions &options)
{
    const EunomiaBlockSizeStudy blockSize = StudyBlockSize(options); // refuses a bad folder first
    std::string text;
    PrintMemory(&text, options);
    PrintCrossings(&text);
    PrintHeaders(&text);
    EunomiaPrintMicrobenchmark(&text, EunomiaMicrobenchmark());
    EunomiaPrintConnections(&text, EunomiaCompareConnections());
    EunomiaPrintBlockSize(&text, blockSize);
    EunomiaPrintAdmission(&text, EunomiaStudyAdmission(options.pool, options.qps));
    text += '\n' + EunomiaControllerTable(EunomiaControllerStudy());
    return text;
}

} // namespace ns3
