// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-memory-model.h"

#include "core/reorder/reorder.h"
#include "eunomia-input-error.h"
#include "eunomia-json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_roots.h>
#include <limits>
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
constexpr uint32_t STEP_PCT = 100 / EUNOMIA_MICROBENCHMARK_QPS;

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

/** All behind the expected packet 0 arrive, up to the span. False where one is not held. */
bool Reorder(eun_reorder *layer, uint32_t qp, uint32_t psns)
{
    for (uint32_t psn = 1; psn < psns; psn++) {
        if (eun_reorder_arrive(layer, qp, 0, psn, false, 0).verdict != EUN_HD_HELD) {
            return false;
        }
    }
    return true;
}

/** printf() to the end of a text. */
__attribute__((format(printf, 2, 3))) void Print(std::string *text, const char *format, ...)
{
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    const int length = std::vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    text->append(line, std::min(static_cast<size_t>(length), sizeof line - 1));
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

EunomiaMemoryUse EunomiaMeasureMemory(uint32_t qps, uint32_t active, uint32_t psns)
{
    const eun_reorder_config config = SizePool(qps, active, psns);
    const std::unique_ptr<eun_reorder, decltype(&eun_reorder_free)> layer(eun_reorder_new(&config),
                                                                          eun_reorder_free);
    // From the largest number down, so that the resident table has its final size at once.
    for (uint32_t qp = qps; qp-- > 0;) {
        if (!layer || !eun_reorder_open(layer.get(), qp) ||
            (IsActive(qp, qps, active) && !Reorder(layer.get(), qp, psns))) {
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

std::vector<EunomiaMicrobenchmarkStep> EunomiaMicrobenchmark()
{
    std::vector<EunomiaMicrobenchmarkStep> steps;
    for (uint32_t reordered = 0; reordered <= EUNOMIA_MICROBENCHMARK_QPS; reordered++) {
        const EunomiaMemoryUse use = EunomiaMeasureMemory(EUNOMIA_MICROBENCHMARK_QPS, reordered,
                                                          EUNOMIA_MICROBENCHMARK_PSNS);
        steps.push_back(
            {reordered * STEP_PCT, use.state,
             static_cast<uint64_t>(EUNOMIA_MICROBENCHMARK_QPS * EUNOMIA_FIXED_QP_BYTES)});
    }
    return steps;
}

double EunomiaMicrobenchmarkCrossing(const std::vector<EunomiaMicrobenchmarkStep> &steps)
{
    double previous = 0;
    for (size_t i = 0; i < steps.size(); i++) {
        const double excess =
            static_cast<double>(steps[i].dynamicBytes) - static_cast<double>(steps[i].fixedBytes);
        if (excess >= 0) {
            const double end = steps[i].reorderedPct;
            return i == 0 ? end
                          : end - (end - steps[i - 1].reorderedPct) * excess / (excess - previous);
        }
        previous = excess;
    }
    return std::numeric_limits<double>::quiet_NaN();
}

std::string EunomiaMemoryHelp()
{
    return "usage: eunomia-memory [OPTIONS]\n"
           "What reordering costs: the published model, and the bytes of this ordering layer.\n\n"
           "  --qps=1000000  open QPs, 1..16777216\n"
           "  --active=5     percent of them that reorder, 0..100\n"
           "  --psns=64      PSNs that a reordering spans, a multiple of 16, 16..256\n"
           "  --json         one JSON object instead of tables\n"
           "  --help         this text\n";
}

// ---- JSON ----

namespace {

void WriteModel(EunomiaJsonWriter *json)
{
    json->Key("model");
    json->BeginObject();
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

void WriteMicrobenchmark(EunomiaJsonWriter *json)
{
    const std::vector<EunomiaMicrobenchmarkStep> steps = EunomiaMicrobenchmark();
    json->Key("microbenchmark");
    json->BeginArray();
    for (const EunomiaMicrobenchmarkStep &step : steps) {
        json->BeginObject();
        json->Uint("reordered_pct", step.reorderedPct);
        json->Uint("dynamic_bytes", step.dynamicBytes);
        json->Uint("fixed_bytes", step.fixedBytes);
        json->EndObject();
    }
    json->EndArray();
    json->Fixed("microbenchmark_crossing_pct", EunomiaMicrobenchmarkCrossing(steps), 4);
}

} // namespace

std::string EunomiaMemoryJson(const EunomiaMemoryOptions &options)
{
    EunomiaJsonWriter json;
    json.BeginObject();
    WriteModel(&json);
    WriteHeaders(&json);
    WriteMeasured(&json, options);
    WriteMicrobenchmark(&json);
    json.EndObject();
    return json.Text() + '\n';
}

// ---- tables ----

namespace {

void PrintMemory(std::string *text, const EunomiaMemoryOptions &options)
{
    Print(text, "Memory of %u QPs, %u PSNs spanned by a reordering, in MB (10^6 bytes)\n\n",
          options.qps, options.psns);
    Print(text, "            --- model ---    ---------- measured ----------\n");
    Print(text, "active %%     fixed dynamic     state control  unused    total\n");
    std::vector<double> shares(EUNOMIA_MODEL_ACTIVE_PCT.begin(), EUNOMIA_MODEL_ACTIVE_PCT.end());
    shares.push_back(options.activePct);
    std::sort(shares.begin(), shares.end());
    shares.erase(std::unique(shares.begin(), shares.end()), shares.end());
    for (double share : shares) {
        EunomiaMemoryOptions asked = options;
        asked.activePct = share;
        const EunomiaMemoryUse use = EunomiaMeasureMemory(asked.qps, asked.ActiveQps(), asked.psns);
        Print(text, "%8g  %8.3f %7.3f  %8.3f %7.3f %7.3f %8.3f\n", share,
              EUNOMIA_FIXED_QP_BYTES * asked.qps / MILLION, Megabytes(use.model),
              Megabytes(use.state), Megabytes(use.control), Megabytes(use.unused),
              Megabytes(use.total));
    }
    Print(text, "\nfixed    as published, 41 MB a million QPs, which makes 41 B each\n"
                "dynamic  4 B a QP; an active one 48 B of metadata and 2 B a 16 PSNs\n");
    Print(text, "state    the same, counted in the allocations of the ordering layer\n"
                "control  its maps of free blocks and metadata, records of banks and layer\n"
                "unused   blocks left over, because QPs hash unevenly to banks\n\n");
}

void PrintCrossings(std::string *text)
{
    Print(text, "Dynamic takes as much as fixed at this share of active QPs (model)\n\n");
    Print(text, "PSNs  active %%\n");
    for (uint32_t psns : EUNOMIA_MODEL_SPANS) {
        Print(text, "%4u  %8.2f\n", psns, EunomiaMemoryCrossing(psns));
    }
    Print(text,
          "\nActive QPs of a million, 256 PSNs, in MB beyond the %.0f MB that are resident\n\n",
          Megabytes(EunomiaDynamicBytes(MILLION, 0, 256)));
    Print(text, "  active  model  measured\n");
    for (uint32_t active : {10000u, 600000u}) {
        const EunomiaMemoryUse use = EunomiaMeasureMemory(MILLION, active, 256);
        Print(text, "%8u  %5.1f  %8.1f\n", active, Megabytes(ActiveBytes(active, 256)),
              Megabytes(use.state - EunomiaDynamicBytes(MILLION, 0, 256)));
    }
}

void PrintHeaders(std::string *text)
{
    Print(text, "\nHeader overhead, in percent of the payload\n\n");
    Print(text, "payload B  published  real SEND  real WRITE\n");
    for (uint32_t payload : EUNOMIA_MODEL_PAYLOADS) {
        Print(text, "%9u  %9.2f  %9.2f  %10.2f\n", payload, EunomiaHeaderPublishedPct(payload),
              RealHeaderPct(EUN_VERB_SEND, payload), RealHeaderPct(EUN_VERB_WRITE, payload));
    }
    Print(text, "\npublished  33 bits a packet\n");
    Print(text, "SEND       the ordering header of %u B\n", EunomiaHeaderBytes(EUN_VERB_SEND));
    Print(text,
          "WRITE      %u B: with the RETH that every packet carries; the first of a message\n"
          "           has one anyway, so pays as SEND does\n\n",
          EunomiaHeaderBytes(EUN_VERB_WRITE));
}

void PrintMicrobenchmark(std::string *text)
{
    const std::vector<EunomiaMicrobenchmarkStep> steps = EunomiaMicrobenchmark();
    Print(text, "Microbenchmark: %u connections, bytes\n\n", EUNOMIA_MICROBENCHMARK_QPS);
    Print(text, "reordered %%  fixed  dynamic, model  dynamic, measured\n");
    for (const EunomiaMicrobenchmarkStep &step : steps) {
        const uint64_t model = EunomiaDynamicBytes(
            EUNOMIA_MICROBENCHMARK_QPS, step.reorderedPct / STEP_PCT, EUNOMIA_MICROBENCHMARK_PSNS);
        Print(text, "%11u  %5llu  %14llu  %17llu\n", step.reorderedPct,
              static_cast<unsigned long long>(step.fixedBytes),
              static_cast<unsigned long long>(model),
              static_cast<unsigned long long>(step.dynamicBytes));
    }
    Print(text, "\nThey cross at %.2f %% reordered connections; published: about 60 %%.\n",
          EunomiaMicrobenchmarkCrossing(steps));
    Print(
        text,
        "Run on the ordering layer itself, not in the simulator. Assumed: a reordered connection\n"
        "spans %u PSNs (the expected one is missing, those behind it are held), all at the same\n"
        "time; a fixed bitmap has 41 B; control bytes are on neither side.\n\n",
        EUNOMIA_MICROBENCHMARK_PSNS);
}

void PrintConnections(std::string *text)
{
    const auto state = [](uint32_t active) {
        return static_cast<unsigned>(EunomiaMeasureMemory(1, active, EUN_HD_NARROW_MAX).state);
    };
    Print(text, "Bytes a connection\n\n");
    Print(text, "scheme                   published  measured  counts\n");
    Print(text, "Eunomia, in order                4  %8u  the resident entry\n", state(0));
    Print(text,
          "Eunomia, 256 PSNs               82  %8u  and 48 metadata, 32 bitmap: 84 by adding up\n",
          state(1));
    Print(text, "fixed bitmap                    41         -  41 MB over a million QPs\n");
    Print(text, "IRN                       125 + 20         -  bitmap, and about 20 of metadata"
                " (100 Gb/s, 8 us)\n");
    Print(text,
          "MP-RDMA                         66         -  state of a connection, as published\n");
}

} // namespace

std::string EunomiaMemoryTables(const EunomiaMemoryOptions &options)
{
    std::string text;
    PrintMemory(&text, options);
    PrintCrossings(&text);
    PrintHeaders(&text);
    PrintMicrobenchmark(&text);
    PrintConnections(&text);
    return text;
}

} // namespace ns3
