/* SPDX-License-Identifier: GPL-2.0-only */
#include "eunomia-result-writer.h"

#include "eunomia-format.h"
#include "eunomia-json.h"

#include <algorithm>
#include <cmath>
#include <gsl/gsl_statistics_double.h>
#include <ns3/abort.h>

namespace ns3 {

namespace {

constexpr int DECIMALS = 6; /**< of every statistic: more would be noise, and less would hide */

const char *const FLOWS = "flows.csv";
const char *const PFC = "pfc.csv";
const char *const TIMESERIES = "timeseries.csv";
const char *const FCT = "fct.txt";
const char *const REORDER = "reorder.csv"; /**< by EunomiaReorderLog */
const char *const TIMING = "timing.json";
const char *const SUMMARY = "summary.json";

/** The files to write. The summary comes last: where it stands, the folder is complete. */
std::vector<std::string> Names(const EunomiaResultOptions &options)
{
    std::vector<std::string> names = {FLOWS, PFC};
    if (options.timeseries) {
        names.push_back(TIMESERIES);
    }
    if (options.legacy != EunomiaLegacy::NONE) {
        names.push_back(FCT);
    }
    names.push_back(TIMING);
    names.push_back(SUMMARY);
    return names;
}

/** Nanoseconds and a separator; nothing before it where the time is unknown. */
void AppendNs(std::string *text, int64_t ps, char separator)
{
    if (ps >= 0) {
        EunomiaAppendInt(text, EunomiaRoundToNs(ps));
    }
    *text += separator;
}

void AppendUint(std::string *text, uint64_t value, char separator)
{
    EunomiaAppendUint(text, value);
    *text += separator;
}

/** HPCC's simulator gives node n the address 11.(n / 256).(n % 256).1. */
void AppendHpccAddress(std::string *text, uint32_t host)
{
    static const char hex[] = "0123456789abcdef";
    uint32_t address = 0x0b000001 + (host << 8);
    for (int shift = 28; shift >= 0; shift -= 4) {
        *text += hex[(address >> shift) & 15];
    }
}

/** `values` become sorted. */
void WriteClass(EunomiaJsonWriter *json, const char *name, std::vector<double> *values)
{
    static const std::pair<const char *, double> quantiles[] = {
        {"p50", 0.5}, {"p95", 0.95}, {"p99", 0.99}, {"p999", 0.999}};
    std::sort(values->begin(), values->end());
    double none = std::numeric_limits<double>::quiet_NaN();
    size_t n = values->size();
    json->Key(name);
    json->BeginObject();
    json->Uint("count", n);
    json->Fixed("mean", n > 0 ? gsl_stats_mean(values->data(), 1, n) : none, DECIMALS);
    for (const auto &[key, q] : quantiles) {
        double value = n > 0 ? gsl_stats_quantile_from_sorted_data(values->data(), 1, n, q) : none;
        json->Fixed(key, value, DECIMALS);
    }
    json->EndObject();
}

void WriteClasses(EunomiaJsonWriter *json, const char *name, std::vector<double> *small,
                  std::vector<double> *large)
{
    std::vector<double> all;
    all.reserve(small->size() + large->size());
    all.insert(all.end(), small->begin(), small->end());
    all.insert(all.end(), large->begin(), large->end());
    json->Key(name);
    json->BeginObject();
    WriteClass(json, "all", &all);
    WriteClass(json, "small", small);
    WriteClass(json, "large", large);
    json->EndObject();
}

void WriteValue(EunomiaJsonWriter *json, const EunomiaConfigValue &value)
{
    if (const bool *b = std::get_if<bool>(&value)) {
        json->Bool(*b);
    } else if (const int64_t *i = std::get_if<int64_t>(&value)) {
        json->Int(*i);
    } else if (const uint64_t *u = std::get_if<uint64_t>(&value)) {
        json->Uint(*u);
    } else if (const double *d = std::get_if<double>(&value)) {
        json->Shortest(*d);
    } else if (const std::string *s = std::get_if<std::string>(&value)) {
        json->String(*s);
    } else {
        json->BeginArray();
        for (const std::string &item : std::get<std::vector<std::string>>(value)) {
            json->String(item);
        }
        json->EndArray();
    }
}

void WriteTraffic(EunomiaJsonWriter *json, const char *name, const EunomiaTraffic &traffic)
{
    json->Key(name);
    json->BeginObject();
    json->Uint("data", traffic.data);
    json->Uint("ack", traffic.ack);
    json->Uint("sack", traffic.sack);
    json->Uint("nack", traffic.nack);
    json->Uint("cnp", traffic.cnp);
    json->Uint("signal", traffic.signal);
    json->Uint("retransmitted", traffic.retransmitted);
    json->Uint("hops", traffic.hops);
    json->EndObject();
}

/** Bytes of each kind of answer as percent of the bytes of data frames. */
void WriteFeedback(EunomiaJsonWriter *json, const EunomiaTraffic &bytes)
{
    const auto percent = [&bytes](uint64_t part) {
        return bytes.data > 0 ? 100 * static_cast<double>(part) / static_cast<double>(bytes.data)
                              : std::numeric_limits<double>::quiet_NaN();
    };
    json->Key("feedback");
    json->BeginObject();
    json->Fixed("ack_pct", percent(bytes.ack), DECIMALS);
    json->Fixed("sack_pct", percent(bytes.sack), DECIMALS);
    json->Fixed("nack_pct", percent(bytes.nack), DECIMALS);
    json->Fixed("cnp_pct", percent(bytes.cnp), DECIMALS);
    json->Fixed("ordering_pct", percent(bytes.sack + bytes.nack), DECIMALS);
    json->EndObject();
}

/** The pool, and how often each step was taken as it ran out, from the mildest to the last. */
void WritePool(EunomiaJsonWriter *json, const EunomiaSummary &summary)
{
    const auto &pool = summary.pool;
    json->Key("pool");
    json->BeginObject();
    json->Uint("blocks_peak", pool.blocksPeak);
    json->Uint("bytes_peak", pool.bytesPeak);
    json->Uint("qps_active_peak", pool.qpsActivePeak);
    json->Uint("alloc", pool.alloc);
    json->Uint("alloc_miss", pool.allocMiss);
    json->Uint("cap_hit", pool.capHit);
    json->Uint("merge", pool.merge);
    json->Uint("reclaim", pool.reclaim);
    json->Uint("fallback", pool.fallback);
    json->Fixed("alloc_latency_p99_ns", pool.allocLatencyP99Ns, DECIMALS);
    json->Uint("chain", pool.chain);
    json->Uint("widen", pool.widen);
    json->Key("exhaustion");
    json->BeginObject();
    json->Uint("reclaim_early", pool.reclaimEarly);
    json->Uint("growth_refused", pool.growthRefused);
    json->Uint("metadata_refused", pool.metadataRefused);
    json->Uint("fragmented", pool.fragmented);
    json->Uint("window_nack", pool.capHit);
    json->Uint("fallback", pool.fallback);
    json->EndObject();
    json->EndObject();
}

void WriteOrdering(EunomiaJsonWriter *json, const EunomiaSummary &summary)
{
    json->Key("reorder");
    json->BeginObject();
    json->Uint("out_of_order", summary.reorder.outOfOrder);
    json->Uint("max_span", summary.reorder.maxSpan);
    json->Fixed("p99_span", EunomiaHistogramQuantile(summary.reorder.spans, 0.99), DECIMALS);
    json->EndObject();
    WritePool(json, summary);
    json->Key("gate");
    json->BeginObject();
    json->Uint("completions", summary.gate.completions);
    json->Uint("early", summary.gate.early);
    json->Fixed("mean_wait_ns", summary.gate.meanWaitNs, DECIMALS);
    json->EndObject();
}

void WriteEdge(EunomiaJsonWriter *json, const EunomiaSummary &summary)
{
    const auto &edge = summary.edge;
    json->Key(summary.edgeName);
    json->BeginObject();
    json->Uint("epochs", edge.epochs);
    json->Uint("replies_in_time", edge.repliesInTime);
    json->Uint("replies_late", edge.repliesLate);
    json->Uint("reroutes", edge.reroutes);
    json->Uint("aborts", edge.aborts);
    json->Uint("notified", edge.notified);
    json->Uint("untracked", edge.untracked);
    json->Uint("holds", edge.holds);
    json->Uint("queues_peak", edge.queuesPeak);
    json->Uint("held_bytes_peak", edge.heldPeak);
    json->Uint("tail_flushes", edge.tailFlushes);
    json->Uint("timer_flushes", edge.timerFlushes);
    json->Uint("early_flushes", edge.earlyFlushes);
    json->Uint("no_queue", edge.noQueue);
    json->EndObject();
}

void WriteConservation(EunomiaJsonWriter *json, const EunomiaSummary &summary)
{
    json->Key("conservation");
    json->BeginObject();
    json->Uint("frames_sent", summary.conservation.framesSent);
    json->Uint("delivered", summary.conservation.delivered);
    json->Uint("dropped", summary.conservation.dropped);
    json->Uint("in_flight", summary.conservation.inFlight);
    json->Uint("buffer_bytes_left", summary.conservation.bufferBytesLeft);
    json->EndObject();
}

std::string TimingText(const EunomiaSummary &summary)
{
    double hops = static_cast<double>(summary.packets.hops);
    EunomiaJsonWriter json;
    json.BeginObject();
    json.Fixed("wall_s", summary.timing.wallS, DECIMALS);
    json.Uint("events", summary.timing.events);
    json.Uint("packet_hops", summary.packets.hops);
    json.Fixed("packet_hops_per_s", hops / summary.timing.wallS, 0);
    json.Uint("peak_rss_bytes", summary.timing.peakRssBytes);
    json.EndObject();
    return json.Text() + '\n';
}

} // namespace

EunomiaResultWriter::EunomiaResultWriter(const std::string &path,
                                         const EunomiaResultOptions &options)
    : m_options(options), m_folder(path, Names(options), {TIMESERIES, FCT, REORDER}, options.force),
      m_flows(m_folder.File(FLOWS)), m_pfc(m_folder.File(PFC)),
      m_timeseries(options.timeseries ? &m_folder.File(TIMESERIES) : nullptr),
      m_fct(options.legacy != EunomiaLegacy::NONE ? &m_folder.File(FCT) : nullptr)
{
    *m_flows.Text() += "flow,src,dst,bytes,start_ns,fct_ns,visible_ns,ideal_ns,slowdown,packets,"
                       "retransmitted,out_of_order,max_reorder_span,gate_wait_ns,status\n";
    *m_pfc.Text() += "time_ns,node,port,priority,event\n";
    if (m_timeseries != nullptr) {
        *m_timeseries->Text() += "time_ns,metric,where,value\n";
    }
}

void EunomiaResultWriter::Flow(const EunomiaFlowRecord &record)
{
    double slowdown = std::numeric_limits<double>::quiet_NaN();
    if (record.status == "done") {
        NS_ABORT_MSG_IF(record.fctPs < 0 || record.idealPs <= 0,
                        "flow " << record.flow << " is done without an FCT or an ideal FCT");
        slowdown = static_cast<double>(record.fctPs) / static_cast<double>(record.idealPs);
        FlowClass &flows = record.bytes < m_options.bdpBytes ? m_small : m_large;
        flows.slowdown.push_back(slowdown);
        flows.fctUs.push_back(static_cast<double>(record.fctPs) / 1e6);
        if (m_fct != nullptr) {
            AppendLegacy(record);
        }
    } else {
        (record.status == "unfinished" ? m_unfinished : m_failed)++;
    }
    AppendFlow(record, slowdown);
}

void EunomiaResultWriter::AppendFlow(const EunomiaFlowRecord &record, double slowdown)
{
    std::string *text = m_flows.Text();
    AppendUint(text, record.flow, ',');
    AppendUint(text, record.src, ',');
    AppendUint(text, record.dst, ',');
    AppendUint(text, record.bytes, ',');
    AppendNs(text, record.startPs, ',');
    AppendNs(text, record.fctPs, ',');
    AppendNs(text, record.visiblePs, ',');
    AppendNs(text, record.idealPs, ',');
    EunomiaAppendFixed(text, slowdown, DECIMALS);
    *text += ',';
    AppendUint(text, record.packets, ',');
    AppendUint(text, record.retransmitted, ',');
    AppendUint(text, record.outOfOrder, ',');
    AppendUint(text, record.maxReorderSpan, ',');
    AppendNs(text, record.gateWaitPs, ',');
    EunomiaAppendCsv(text, record.status);
    *text += '\n';
    m_flows.Written();
}

void EunomiaResultWriter::AppendLegacy(const EunomiaFlowRecord &record)
{
    std::string *text = m_fct->Text();
    for (uint32_t host : {record.src, record.dst}) {
        if (m_options.legacy == EunomiaLegacy::HPCC) {
            AppendHpccAddress(text, host);
        } else {
            EunomiaAppendUint(text, host);
        }
        *text += ' ';
    }
    AppendUint(text, record.sport, ' ');
    AppendUint(text, record.dport, ' ');
    AppendUint(text, record.bytes, ' ');
    AppendNs(text, record.startPs, ' ');
    AppendNs(text, record.fctPs, ' ');
    AppendNs(text, record.idealPs, '\n');
    m_fct->Written();
}

void EunomiaResultWriter::Pfc(int64_t timePs, uint32_t node, uint32_t port, uint32_t priority,
                              bool xoff)
{
    std::string *text = m_pfc.Text();
    AppendNs(text, timePs, ',');
    AppendUint(text, node, ',');
    AppendUint(text, port, ',');
    AppendUint(text, priority, ',');
    *text += xoff ? "xoff\n" : "xon\n";
    m_pfc.Written();
}

void EunomiaResultWriter::Sample(int64_t timePs, std::string_view metric, std::string_view where,
                                 double value)
{
    NS_ABORT_MSG_IF(m_timeseries == nullptr, "a sample, but no time series was requested");
    std::string *text = m_timeseries->Text();
    AppendNs(text, timePs, ',');
    EunomiaAppendCsv(text, metric);
    *text += ',';
    EunomiaAppendCsv(text, where);
    *text += ',';
    EunomiaAppendShortest(text, value);
    *text += '\n';
    m_timeseries->Written();
}

std::string EunomiaResultWriter::SummaryText(const EunomiaSummary &summary)
{
    EunomiaJsonWriter json;
    json.BeginObject();
    json.Key("config");
    json.BeginObject();
    for (const auto &[name, value] : summary.config) {
        json.Key(name);
        WriteValue(&json, value);
    }
    json.EndObject();
    json.Key("version");
    json.String(summary.version);
    json.Key("flows");
    json.BeginObject();
    json.Uint("total", FlowsTotal());
    json.Uint("done", FlowsDone());
    json.Uint("unfinished", m_unfinished);
    json.Uint("failed", m_failed);
    json.EndObject();
    WriteClasses(&json, "fct_slowdown", &m_small.slowdown, &m_large.slowdown);
    WriteClasses(&json, "fct_us", &m_small.fctUs, &m_large.fctUs);
    json.Key("pfc");
    json.BeginObject();
    json.Uint("pauses", summary.pfc.pauses);
    json.Fixed("paused_us", static_cast<double>(summary.pfc.pausedPs) / 1e6, DECIMALS);
    json.EndObject();
    json.Uint("drops", summary.drops);
    json.Uint("deflected", summary.deflected);
    json.Uint("ecn_marks", summary.ecnMarks);
    WriteTraffic(&json, "packets", summary.packets);
    WriteTraffic(&json, "bytes", summary.bytes);
    WriteFeedback(&json, summary.bytes);
    WriteOrdering(&json, summary);
    if (!summary.edgeName.empty()) {
        WriteEdge(&json, summary);
    }
    WriteConservation(&json, summary);
    json.EndObject();
    return json.Text() + '\n';
}

void EunomiaResultWriter::Finish(const EunomiaSummary &summary)
{
    *m_folder.File(SUMMARY).Text() += SummaryText(summary);
    *m_folder.File(TIMING).Text() += TimingText(summary);
    m_folder.Commit();
}

double EunomiaHistogramQuantile(const std::vector<uint64_t> &counts, double q)
{
    uint64_t total = 0;
    for (uint64_t count : counts) {
        total += count;
    }
    if (total == 0) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    double position = q * static_cast<double>(total - 1);
    uint64_t rank = static_cast<uint64_t>(position);
    double part = position - static_cast<double>(rank);
    uint64_t below = 0;
    double low = -1; /* the order statistic at `rank`, once it is reached */
    for (size_t value = 0; value < counts.size(); value++) {
        below += counts[value];
        if (low < 0 && below > rank) {
            low = static_cast<double>(value);
        }
        if (low >= 0 && (below > rank + 1 || below == total)) {
            return low + part * (static_cast<double>(value) - low);
        }
    }
    return low;
}

} // namespace ns3
