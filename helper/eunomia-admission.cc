// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-admission.h"

#include "core/reorder/reorder.h"
#include "eunomia-format.h"
#include "eunomia-memory-model.h"

#include <algorithm>
#include <memory>
#include <new>

namespace ns3 {

namespace {

constexpr uint32_t BLOCK_BYTES = 2;
constexpr uint32_t BLOCK_PSNS = 16;
constexpr uint32_t SPAN_MAX = 256;

/** Opens QP after QP and lets it reorder, until one is refused or all are served. */
uint32_t Fill(uint32_t blocks, uint32_t qps, uint32_t psns)
{
    eun_reorder_config config{};
    config.blocks = blocks;
    config.banks = 1;
    config.cap_psns = SPAN_MAX;
    config.block_bits = BLOCK_PSNS;
    const std::unique_ptr<eun_reorder, decltype(&eun_reorder_free)> layer(eun_reorder_new(&config),
                                                                          eun_reorder_free);
    for (uint32_t qp = 0; qp < qps; qp++) {
        if (!layer || !eun_reorder_open(layer.get(), qp)) {
            throw std::bad_alloc();
        }
        if (!EunomiaReorderQp(layer.get(), qp, psns)) {
            return qp;
        }
    }
    return qps;
}

} // namespace

EunomiaAdmission EunomiaStudyAdmission(uint32_t poolBytes, uint32_t qps)
{
    EunomiaAdmission study{poolBytes, qps, {}};
    for (uint32_t psns = BLOCK_PSNS; psns <= SPAN_MAX; psns += BLOCK_PSNS) {
        EunomiaAdmissionRow row;
        row.psns = psns;
        row.model = std::min<uint64_t>(qps, poolBytes / EunomiaDynamicBytes(0, 1, psns));
        row.measured = Fill(poolBytes / BLOCK_BYTES, qps, psns);
        row.sharePct = 100.0 * row.measured / qps;
        study.rows.push_back(row);
    }
    return study;
}

void EunomiaWriteAdmission(EunomiaJsonWriter *json, const EunomiaAdmission &study)
{
    json->Key("admission");
    json->BeginObject();
    json->Uint("pool_bytes", study.poolBytes);
    json->Uint("qps", study.qps);
    json->Key("rows");
    json->BeginArray();
    for (const EunomiaAdmissionRow &row : study.rows) {
        json->BeginObject();
        json->Uint("psns", row.psns);
        json->Uint("model_qps", row.model);
        json->Uint("measured_qps", row.measured);
        json->Fixed("measured_pct", row.sharePct, 6);
        json->EndObject();
    }
    json->EndArray();
    json->EndObject();
}

void EunomiaPrintAdmission(std::string *text, const EunomiaAdmission &study)
{
    EunomiaPrint(text,
                 "\nMost QPs that a pool of %u B lets reorder at the same time, of %u open\n\n",
                 study.poolBytes, study.qps);
    EunomiaPrint(text, "PSNs   model  measured  share %%\n");
    for (const EunomiaAdmissionRow &row : study.rows) {
        EunomiaPrint(text, "%4u  %6u  %8u  %7.4f\n", row.psns, row.model, row.measured,
                     row.sharePct);
    }
    EunomiaPrint(text, "\nmeasured   QPs that the allocator served in full, one after the other, "
                       "before it refused one\n"
                       "share      of the open QPs\n");
}

} // namespace ns3
