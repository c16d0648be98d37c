// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-reorder-log.h"

#include "eunomia-format.h"

namespace ns3 {

namespace {

constexpr int64_t NS_PER_MS = 1'000'000;

const char *const ENDS[] = {",closed\n", ",continues\n", ",cut\n", ",idle\n"};

void AppendField(std::string *text, uint64_t value)
{
    *text += ',';
    EunomiaAppendUint(text, value);
}

} // namespace

EunomiaReorderLog::EunomiaReorderLog(EunomiaFabric &fabric, EunomiaResultWriter &writer)
    : m_fabric(fabric), m_file(writer.Adopt("reorder.csv"))
{
    *m_file.Text() += "ms,host,qp,flow,burst,start_ns,duration_ns,gap_ns,span,packets,end\n";
    for (uint32_t h = 0; h < fabric.GetNHosts(); h++) {
        fabric.GetNic(h)->TraceConnectWithoutContext(
            "ReorderBurst", MakeCallback(&EunomiaReorderLog::Burst, this).Bind(h));
    }
}

void EunomiaReorderLog::Burst(uint32_t host, uint32_t qp, uint32_t flow, const eun_burst &piece)
{
    const int64_t start = piece.start_ps / 1000;
    const int64_t end = (piece.start_ps + piece.duration_ps) / 1000;
    const int64_t before = (piece.start_ps - piece.gap_ps) / 1000;
    std::string *text = m_file.Text();
    EunomiaAppendUint(text, static_cast<uint64_t>(start / NS_PER_MS));
    AppendField(text, host);
    AppendField(text, qp);
    AppendField(text, flow);
    AppendField(text, piece.number);
    AppendField(text, static_cast<uint64_t>(start));
    AppendField(text, static_cast<uint64_t>(end - start));
    if (piece.first) {
        *text += ',';
    } else {
        AppendField(text, static_cast<uint64_t>(start - before));
    }
    AppendField(text, piece.span);
    AppendField(text, piece.packets);
    *text += ENDS[piece.end];
    m_file.Written();
}

void EunomiaReorderLog::Finish()
{
    for (uint32_t h = 0; h < m_fabric.GetNHosts(); h++) {
        m_fabric.GetNic(h)->EndReorderBursts();
    }
    m_file.Close();
}

} // namespace ns3
