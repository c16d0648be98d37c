/* SPDX-License-Identifier: GPL-2.0-only */
#include "eunomia-format.h"
#include "eunomia-result-writer.h"
#include "eunomia-test-folder.h"

#include <cmath>
#include <map>
#include <ns3/test.h>
#include <random>
#include <sstream>

using namespace ns3;

namespace {

using Names = std::vector<std::string>;

const char *const FLOWS_HEADER =
    "flow,src,dst,bytes,start_ns,fct_ns,visible_ns,ideal_ns,slowdown,packets,retransmitted,"
    "out_of_order,max_reorder_span,gate_wait_ns,status\n";

EunomiaFlowRecord Done(uint32_t flow, uint64_t bytes, int64_t fctPs, int64_t idealPs)
{
    EunomiaFlowRecord record;
    record.flow = flow;
    record.src = 1;
    record.dst = 300;
    record.sport = 10000;
    record.dport = 100;
    record.bytes = bytes;
    record.startPs = 2000000402000;
    record.fctPs = fctPs;
    record.visiblePs = fctPs - 1000000;
    record.idealPs = idealPs;
    record.packets = 3;
    return record;
}

EunomiaFlowRecord NotDone(uint32_t flow, const std::string &status)
{
    EunomiaFlowRecord record = Done(flow, 5000, -1, 4000000);
    record.visiblePs = -1;
    record.status = status;
    return record;
}

/** One value a line, as the writer lays it out: "fct_us.small.p99" to "12.000000". */
std::map<std::string, std::string> Values(const std::string &json)
{
    std::map<std::string, std::string> values;
    std::vector<std::string> path;
    std::istringstream lines(json);
    std::string line;
    while (std::getline(lines, line)) {
        size_t indent = line.find_first_not_of(' ');
        size_t colon = line.find("\": ");
        if (colon == std::string::npos) {
            continue;
        }
        path.resize(indent / 2 - 1);
        path.push_back(line.substr(indent + 1, colon - indent - 1));
        std::string key;
        for (const std::string &part : path) {
            key += (key.empty() ? "" : ".") + part;
        }
        std::string value = line.substr(colon + 3);
        if (!value.empty() && value.back() == ',') {
            value.pop_back();
        }
        values[key] = value;
    }
    return values;
}

class RowsCase : public TestCase {
  public:
    RowsCase() : TestCase("rows of every file") {}

  private:
    static void Run(const std::string &path, const EunomiaResultOptions &options)
    {
        EunomiaResultWriter writer(path, options);
        EunomiaFlowRecord first = Done(7, 8192, 12345678499, 4115226166);
        first.retransmitted = 1;
        first.outOfOrder = 2;
        first.maxReorderSpan = 5;
        first.gateWaitPs = 8320500;
        writer.Flow(first);
        writer.Flow(Done(0, 1099511627776, 1000500, 1000000));
        writer.Flow(NotDone(3, "failed:retry limit, 7 tries"));
        writer.Flow(NotDone(4, "unfinished"));
        writer.Pfc(2000000000499, 130, 3, 3, true);
        writer.Pfc(2000000000500, 130, 3, 3, false);
        if (options.timeseries) {
            writer.Sample(10000000, "pool_blocks", "host5", 24);
            writer.Sample(20000000, "queue_bytes", "leaf0:port3", 0.1);
        }
        writer.Finish(EunomiaSummary());
    }

    void DoRun() override
    {
        EunomiaTestFolder temp;
        EunomiaResultOptions options;
        options.timeseries = true;
        options.legacy = EunomiaLegacy::CONWEAVE;
        Run(temp.Path("all"), options);
        Expect(temp, "all/flows.csv",
               std::string(FLOWS_HEADER) +
                   "7,1,300,8192,2000000402,12345678,12344678,4115226,3.000000,3,1,2,5,8321,done\n"
                   "0,1,300,1099511627776,2000000402,1001,1,1000,1.000500,3,0,0,0,0,done\n"
                   "3,1,300,5000,2000000402,,,4000,,3,0,0,0,0,\"failed:retry limit, 7 tries\"\n"
                   "4,1,300,5000,2000000402,,,4000,,3,0,0,0,0,unfinished\n");
        Expect(temp, "all/pfc.csv",
               "time_ns,node,port,priority,event\n"
               "2000000000,130,3,3,xoff\n"
               "2000000001,130,3,3,xon\n");
        Expect(temp, "all/timeseries.csv",
               "time_ns,metric,where,value\n"
               "10000,pool_blocks,host5,24\n"
               "20000,queue_bytes,leaf0:port3,0.1\n");
        Expect(temp, "all/fct.txt",
               "1 300 10000 100 8192 2000000402 12345678 4115226\n"
               "1 300 10000 100 1099511627776 2000000402 1001 1000\n");

        options = EunomiaResultOptions();
        options.legacy = EunomiaLegacy::HPCC;
        Run(temp.Path("hpcc"), options);
        Expect(temp, "hpcc/fct.txt",
               "0b000101 0b012c01 10000 100 8192 2000000402 12345678 4115226\n"
               "0b000101 0b012c01 10000 100 1099511627776 2000000402 1001 1000\n");

        Run(temp.Path("plain"), EunomiaResultOptions());
        Names names = {"flows.csv", "pfc.csv", "summary.json", "timing.json"};
        NS_TEST_EXPECT_MSG_EQ((temp.List("plain") == names), true, "only what was requested");
    }

    void Expect(const EunomiaTestFolder &temp, const std::string &name, const std::string &text)
    {
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestFolder::Read(temp.Path(name)), text, name);
    }
};

/** A requested file exists with its header, even where nothing happened. */
class EmptyCase : public TestCase {
  public:
    EmptyCase() : TestCase("a run in which nothing happens") {}

  private:
    void DoRun() override
    {
        EunomiaTestFolder temp;
        EunomiaResultOptions options;
        options.timeseries = true;
        options.legacy = EunomiaLegacy::CONWEAVE;
        {
            EunomiaResultWriter writer(temp.Path("out"), options);
            writer.Flow(NotDone(0, "unfinished"));
            NS_TEST_EXPECT_MSG_EQ(writer.FlowsDone(), 0, "");
            NS_TEST_EXPECT_MSG_EQ(writer.FlowsTotal(), 1, "");
            writer.Finish(EunomiaSummary());
        }
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestFolder::Read(temp.Path("out/timeseries.csv")),
                              "time_ns,metric,where,value\n", "");
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestFolder::Read(temp.Path("out/pfc.csv")),
                              "time_ns,node,port,priority,event\n", "");
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestFolder::Read(temp.Path("out/fct.txt")), "", "no header");
        auto values = Values(EunomiaTestFolder::Read(temp.Path("out/summary.json")));
        for (const char *name : {"fct_slowdown", "fct_us"}) {
            for (const char *flows : {".all", ".small", ".large"}) {
                std::string key = std::string(name) + flows;
                NS_TEST_EXPECT_MSG_EQ(values[key + ".count"], "0", key);
                for (const char *figure : {".mean", ".p50", ".p95", ".p99", ".p999"}) {
                    NS_TEST_EXPECT_MSG_EQ(values[key + figure], "null", key << figure);
                }
            }
        }
        NS_TEST_EXPECT_MSG_EQ(values["flows.total"], "1", "");
        NS_TEST_EXPECT_MSG_EQ(values["flows.done"], "0", "");
        NS_TEST_EXPECT_MSG_EQ(values["flows.unfinished"], "1", "");
        NS_TEST_EXPECT_MSG_EQ(values["reorder.p99_span"], "null", "");
        NS_TEST_EXPECT_MSG_EQ(values["pool.alloc_latency_p99_ns"], "null", "");
        auto timing = Values(EunomiaTestFolder::Read(temp.Path("out/timing.json")));
        NS_TEST_EXPECT_MSG_EQ(timing["packet_hops_per_s"], "null", "no time passed");
    }
};

EunomiaSummary Example()
{
    EunomiaSummary summary;
    summary.config = {{"topology", std::string("clos")},
                      {"load", 0.5},
                      {"mtu", uint64_t{1024}},
                      {"offset", int64_t{-1}},
                      {"pfc", true},
                      {"fail", std::vector<std::string>{"links:2%", "a \"b\""}}};
    summary.version = "1.0";
    summary.pfc.pauses = 10;
    summary.pfc.pausedPs = 1500000;
    summary.drops = 11;
    summary.deflected = 13;
    summary.ecnMarks = 12;
    summary.packets = {20, 21, 22, 23, 24, 26, 25, 3000000};
    summary.bytes = {30, 31, 32, 33, 34, 37, 35, 36};
    summary.reorder.outOfOrder = 100;
    summary.reorder.maxSpan = 3;
    summary.reorder.spans = {0, 90, 0, 10};
    summary.pool = {40, 41, 42, 43, 44, 45, 46, 47, 48, 12.5, 80, 81, 82, 83, 84, 85};
    summary.gate = {50, 0, 51.25};
    summary.edgeName = "conweave";
    summary.edge = {200, 201, 202, 203, 204, 205, 206, 207, 208, 209, 210, 211, 212, 213};
    summary.conservation = {60, 61, 62, 63, 64};
    summary.timing = {1.5, 70, 71};
    return summary;
}

class SummaryCase : public TestCase {
  public:
    SummaryCase() : TestCase("summary.json and timing.json, whole") {}

  private:
    void DoRun() override
    {
        EunomiaTestFolder temp;
        EunomiaResultOptions options;
        options.bdpBytes = 104000;
        {
            EunomiaResultWriter writer(temp.Path("out"), options);
            writer.Flow(Done(0, 103999, 4000000, 2000000));
            writer.Flow(NotDone(1, "failed:retries"));
            writer.Finish(Example());
        }
        std::string some = "      \"count\": 1,\n      \"mean\": V,\n      \"p50\": V,\n"
                           "      \"p95\": V,\n      \"p99\": V,\n      \"p999\": V\n    }";
        std::string none =
            "      \"count\": 0,\n      \"mean\": null,\n      \"p50\": null,\n"
            "      \"p95\": null,\n      \"p99\": null,\n      \"p999\": null\n    }";
        std::string classes = "{\n    \"all\": {\n" + some + ",\n    \"small\": {\n" + some +
                              ",\n    \"large\": {\n" + none + "\n  },\n";
        std::string expected =
            "{\n  \"config\": {\n    \"topology\": \"clos\",\n    \"load\": 0.5,\n"
            "    \"mtu\": 1024,\n    \"offset\": -1,\n    \"pfc\": true,\n"
            "    \"fail\": [\n      \"links:2%\",\n      \"a \\\"b\\\"\"\n    ]\n  },\n"
            "  \"version\": \"1.0\",\n"
            "  \"flows\": {\n    \"total\": 2,\n    \"done\": 1,\n"
            "    \"unfinished\": 0,\n    \"failed\": 1\n  },\n"
            "  \"fct_slowdown\": " +
            With(classes, "2.000000") + "  \"fct_us\": " + With(classes, "4.000000") +
            "  \"pfc\": {\n    \"pauses\": 10,\n    \"paused_us\": 1.500000\n  },\n"
            "  \"drops\": 11,\n  \"deflected\": 13,\n  \"ecn_marks\": 12,\n"
            "  \"packets\": {\n    \"data\": 20,\n    \"ack\": 21,\n    \"sack\": 22,\n"
            "    \"nack\": 23,\n    \"cnp\": 24,\n    \"signal\": 26,\n"
            "    \"retransmitted\": 25,\n"
            "    \"hops\": 3000000\n  },\n"
            "  \"bytes\": {\n    \"data\": 30,\n    \"ack\": 31,\n    \"sack\": 32,\n"
            "    \"nack\": 33,\n    \"cnp\": 34,\n    \"signal\": 37,\n"
            "    \"retransmitted\": 35,\n"
            "    \"hops\": 36\n  },\n"
            "  \"feedback\": {\n    \"ack_pct\": 103.333333,\n"
            "    \"sack_pct\": 106.666667,\n    \"nack_pct\": 110.000000,\n"
            "    \"cnp_pct\": 113.333333,\n    \"ordering_pct\": 216.666667\n  },\n"
            "  \"reorder\": {\n    \"out_of_order\": 100,\n    \"max_span\": 3,\n"
            "    \"p99_span\": 3.000000\n  },\n"
            "  \"pool\": {\n    \"blocks_peak\": 40,\n    \"bytes_peak\": 41,\n"
            "    \"qps_active_peak\": 42,\n    \"alloc\": 43,\n    \"alloc_miss\": 44,\n"
            "    \"cap_hit\": 45,\n    \"merge\": 46,\n    \"reclaim\": 47,\n"
            "    \"fallback\": 48,\n    \"alloc_latency_p99_ns\": 12.500000,\n"
            "    \"chain\": 80,\n    \"widen\": 81,\n    \"exhaustion\": {\n"
            "      \"reclaim_early\": 82,\n      \"growth_refused\": 83,\n"
            "      \"metadata_refused\": 84,\n      \"fragmented\": 85,\n"
            "      \"window_nack\": 45,\n      \"fallback\": 48\n    }\n  },\n"
            "  \"gate\": {\n    \"completions\": 50,\n    \"early\": 0,\n"
            "    \"mean_wait_ns\": 51.250000\n  },\n"
            "  \"conweave\": {\n    \"epochs\": 200,\n    \"replies_in_time\": 201,\n"
            "    \"replies_late\": 202,\n    \"reroutes\": 203,\n    \"aborts\": 204,\n"
            "    \"notified\": 205,\n    \"untracked\": 206,\n    \"holds\": 207,\n"
            "    \"queues_peak\": 208,\n    \"held_bytes_peak\": 209,\n"
            "    \"tail_flushes\": 210,\n    \"timer_flushes\": 211,\n"
            "    \"early_flushes\": 212,\n    \"no_queue\": 213\n  },\n"
            "  \"conservation\": {\n    \"frames_sent\": 60,\n    \"delivered\": 61,\n"
            "    \"dropped\": 62,\n    \"in_flight\": 63,\n    \"buffer_bytes_left\": 64\n  }\n"
            "}\n";
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestFolder::Read(temp.Path("out/summary.json")), expected, "");
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestFolder::Read(temp.Path("out/timing.json")),
                              "{\n  \"wall_s\": 1.500000,\n  \"events\": 70,\n"
                              "  \"packet_hops\": 3000000,\n  \"packet_hops_per_s\": 2000000,\n"
                              "  \"peak_rss_bytes\": 71\n}\n",
                              "");
    }

    static std::string With(std::string text, const std::string &value)
    {
        for (size_t at = text.find('V'); at != std::string::npos; at = text.find('V')) {
            text.replace(at, 1, value);
        }
        return text;
    }
};

/** Quantiles by the textbook: sorted, position q (n - 1), linear between the two neighbours. */
std::map<std::string, double> Figures(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    double sum = 0;
    for (double value : values) {
        sum += value;
    }
    std::map<std::string, double> figures = {{"mean", sum / static_cast<double>(values.size())}};
    for (const auto &[name, q] : std::map<std::string, double>{
             {"p50", 0.5}, {"p95", 0.95}, {"p99", 0.99}, {"p999", 0.999}}) {
        double position = q * static_cast<double>(values.size() - 1);
        size_t low = static_cast<size_t>(std::floor(position));
        size_t high = std::min(low + 1, values.size() - 1);
        double part = position - std::floor(position);
        figures[name] = values[low] + (values[high] - values[low]) * part;
    }
    return figures;
}

class QuantilesCase : public TestCase {
  public:
    QuantilesCase() : TestCase("means and quantiles against the textbook") {}

  private:
    void Compare(std::map<std::string, std::string> &found, const std::string &key,
                 const std::vector<double> &values)
    {
        NS_TEST_EXPECT_MSG_EQ(found[key + ".count"], std::to_string(values.size()), key);
        for (const auto &[name, expected] : Figures(values)) {
            double value = std::stod(found[key + "." + name]);
            NS_TEST_EXPECT_MSG_EQ_TOL(value, expected, 0.51e-6 + 1e-12 * expected,
                                      key << "." << name);
        }
    }

    void Run(std::mt19937_64 &random, size_t count)
    {
        EunomiaTestFolder temp;
        EunomiaResultOptions options;
        options.bdpBytes = 104000;
        std::vector<double> slowdown[3]; /* all, small, large */
        std::vector<double> fct[3];
        {
            EunomiaResultWriter writer(temp.Path("out"), options);
            for (uint32_t flow = 0; flow < count; flow++) {
                /* Both sides of the limit, in every run. */
                uint64_t bytes = flow < 2 ? 103999 + flow : 1 + random() % 208000;
                int64_t ideal = static_cast<int64_t>(4000000 + bytes * 80);
                int64_t more = ideal / 100 * static_cast<int64_t>(random() % 1000);
                writer.Flow(Done(flow, bytes, ideal + more, ideal));
                for (int flows : {0, bytes < 104000 ? 1 : 2}) {
                    slowdown[flows].push_back(static_cast<double>(ideal + more) /
                                              static_cast<double>(ideal));
                    fct[flows].push_back(static_cast<double>(ideal + more) / 1e6);
                }
            }
            writer.Finish(EunomiaSummary());
        }
        auto found = Values(EunomiaTestFolder::Read(temp.Path("out/summary.json")));
        const char *classes[] = {"all", "small", "large"};
        for (int flows = 0; flows < 3; flows++) {
            Compare(found, std::string("fct_slowdown.") + classes[flows], slowdown[flows]);
            Compare(found, std::string("fct_us.") + classes[flows], fct[flows]);
        }
    }

    void DoRun() override
    {
        std::mt19937_64 random(EunomiaTestSeed("result writer"));
        for (size_t count : {2u, 3u, 10u, 1001u, 20000u}) {
            Run(random, count);
        }
    }
};

class HistogramCase : public TestCase {
  public:
    HistogramCase() : TestCase("quantiles of a histogram") {}

  private:
    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(std::isnan(EunomiaHistogramQuantile({}, 0.99)), true, "empty");
        NS_TEST_EXPECT_MSG_EQ(std::isnan(EunomiaHistogramQuantile({0, 0}, 0.99)), true, "nothing");
        NS_TEST_EXPECT_MSG_EQ(EunomiaHistogramQuantile({0, 0, 1}, 0.99), 2, "one value");
        NS_TEST_EXPECT_MSG_EQ(EunomiaHistogramQuantile({1, 0, 1}, 0.5), 1, "between two");
        std::mt19937_64 random(EunomiaTestSeed("histogram"));
        for (int i = 0; i < 2000; i++) {
            std::vector<uint64_t> counts(1 + random() % 30);
            std::vector<double> values;
            for (size_t value = 0; value < counts.size(); value++) {
                counts[value] = random() % 3 == 0 ? random() % 200 : 0;
                values.insert(values.end(), counts[value], static_cast<double>(value));
            }
            if (values.empty()) {
                continue;
            }
            auto figures = Figures(values);
            NS_TEST_EXPECT_MSG_EQ_TOL(EunomiaHistogramQuantile(counts, 0.5), figures["p50"], 1e-9,
                                      "");
            NS_TEST_EXPECT_MSG_EQ_TOL(EunomiaHistogramQuantile(counts, 0.99), figures["p99"], 1e-9,
                                      "");
            NS_TEST_EXPECT_MSG_EQ(EunomiaHistogramQuantile(counts, 0), values.front(), "");
            NS_TEST_EXPECT_MSG_EQ(EunomiaHistogramQuantile(counts, 1), values.back(), "");
        }
    }
};

class FolderCase : public TestCase {
  public:
    FolderCase() : TestCase("equal runs, repeated runs, runs that end early") {}

  private:
    static void Run(const std::string &path, bool force, double wallS, bool finish)
    {
        EunomiaResultOptions options;
        options.force = force;
        options.timeseries = wallS > 1;
        EunomiaResultWriter writer(path, options);
        std::mt19937_64 random(5);
        for (uint32_t flow = 0; flow < 5000; flow++) {
            int64_t ideal = static_cast<int64_t>(4000000 + random() % 1000000);
            writer.Flow(Done(flow, 1 + random() % 200000, ideal * 2, ideal));
        }
        EunomiaSummary summary = Example();
        summary.timing.wallS = wallS;
        if (finish) {
            writer.Finish(summary);
        }
    }

    void DoRun() override
    {
        EunomiaTestFolder temp;
        Run(temp.Path("a"), false, 0.5, true);
        Run(temp.Path("b"), false, 0.6, true);
        for (const char *name : {"flows.csv", "pfc.csv", "summary.json"}) {
            bool same = EunomiaTestFolder::Read(temp.Path(std::string("a/") + name)) ==
                        EunomiaTestFolder::Read(temp.Path(std::string("b/") + name));
            NS_TEST_EXPECT_MSG_EQ(same, true, name << " of equal runs");
        }
        NS_TEST_EXPECT_MSG_EQ(
            EunomiaRefusal([&] { Run(temp.Path("a"), false, 2, true); }),
            temp.Path("a") +
                ": holds results already (flows.csv); another folder or --force expected",
            "");
        Names plain = {"flows.csv", "pfc.csv", "summary.json", "timing.json"};
        Names sampled = {"flows.csv", "pfc.csv", "summary.json", "timeseries.csv", "timing.json"};
        Run(temp.Path("a"), true, 2, true);
        NS_TEST_EXPECT_MSG_EQ((temp.List("a") == sampled), true, "with samples");
        Run(temp.Path("a"), true, 0.5, true);
        NS_TEST_EXPECT_MSG_EQ((temp.List("a") == plain), true, "no samples of an earlier run");
        Run(temp.Path("c/d"), false, 2, false);
        NS_TEST_EXPECT_MSG_EQ((temp.List() == Names{"a", "b"}), true, "ended early, left nothing");
    }
};

class EunomiaResultWriterTestSuite : public TestSuite {
  public:
    EunomiaResultWriterTestSuite() : TestSuite("eunomia-result-writer", Type::UNIT)
    {
        AddTestCase(new RowsCase);
        AddTestCase(new EmptyCase);
        AddTestCase(new SummaryCase);
        AddTestCase(new QuantilesCase);
        AddTestCase(new HistogramCase);
        AddTestCase(new FolderCase);
    }
};

EunomiaResultWriterTestSuite g_eunomiaResultWriterTestSuite;

} // namespace
