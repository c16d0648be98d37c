/* SPDX-License-Identifier: GPL-2.0-only */
#include "eunomia-memory-model.h"

#include "eunomia-test-folder.h"

#include <ns3/test.h>
#include <random>

using namespace ns3;

namespace {

/** The published model, written out for one connection after the other. */
uint64_t NaiveBytes(uint32_t qps, uint32_t active, uint32_t psns)
{
    uint64_t bytes = 0;
    for (uint32_t qp = 0; qp < qps; qp++) {
        bytes += 4;
        if (qp < active) {
            bytes += 48;
            for (uint32_t psn = 0; psn < psns; psn += 16) {
                bytes += 2;
            }
        }
    }
    return bytes;
}

class ModelCase : public TestCase {
  public:
    ModelCase() : TestCase("the published figures") {}

  private:
    void DoRun() override
    {
        static const struct {
            uint32_t active;
            uint32_t psns;
            uint64_t bytes;
        } rows[] = {{50000, 64, 6800000},    {200000, 64, 15200000}, {600000, 64, 37600000},
                    {1000000, 64, 60000000}, {10000, 256, 4800000},  {600000, 256, 52000000},
                    {0, 256, 4000000},       {1000000, 16, 54000000}};
        for (const auto &row : rows) {
            NS_TEST_EXPECT_MSG_EQ(EunomiaDynamicBytes(1000000, row.active, row.psns), row.bytes,
                                  row.active);
            NS_TEST_EXPECT_MSG_EQ(NaiveBytes(1000000, row.active, row.psns), row.bytes, row.active);
        }
        NS_TEST_EXPECT_MSG_EQ_TOL(EunomiaMemoryCrossing(16), 74.00, 0.005, "");
        NS_TEST_EXPECT_MSG_EQ_TOL(EunomiaMemoryCrossing(64), 66.07, 0.005, "");
        NS_TEST_EXPECT_MSG_EQ_TOL(EunomiaMemoryCrossing(256), 46.25, 0.005, "");
        for (uint32_t psns = 16; psns <= 256; psns += 16) {
            const double closed = 100 * (41.0 - 4) / (48 + 2.0 * psns / 16);
            NS_TEST_EXPECT_MSG_EQ_TOL(EunomiaMemoryCrossing(psns), closed, 1e-8, psns);
        }
    }
};

class HeaderCase : public TestCase {
  public:
    HeaderCase() : TestCase("header bytes") {}

  private:
    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ_TOL(EunomiaHeaderPublishedPct(256), 1.61, 0.005, "");
        NS_TEST_EXPECT_MSG_EQ_TOL(EunomiaHeaderPublishedPct(1024), 0.40, 0.005, "");
        NS_TEST_EXPECT_MSG_EQ_TOL(EunomiaHeaderPublishedPct(4096), 0.10, 0.005, "");
        NS_TEST_EXPECT_MSG_EQ(EunomiaHeaderBytes(EUN_VERB_SEND), 8, "");
        NS_TEST_EXPECT_MSG_EQ(EunomiaHeaderBytes(EUN_VERB_WRITE), 24, "");
        NS_TEST_EXPECT_MSG_EQ(EunomiaHeaderBytes(EUN_VERB_WRITE_IMM), 24, "");
    }
};

class MeasureCase : public TestCase {
  public:
    MeasureCase() : TestCase("the ordering layer takes what the model says") {}

  private:
    void Check(uint32_t qps, uint32_t active, uint32_t psns)
    {
        const std::string what = std::to_string(qps) + " QPs, " + std::to_string(active) +
                                 " active, " + std::to_string(psns) + " PSNs";
        const EunomiaMemoryUse use = EunomiaMeasureMemory(qps, active, psns);
        NS_TEST_EXPECT_MSG_EQ(use.state, NaiveBytes(qps, active, psns), what);
        NS_TEST_EXPECT_MSG_EQ(use.model, use.state, what);
        NS_TEST_EXPECT_MSG_EQ(use.state + use.control + use.unused, use.total, what);
        NS_TEST_EXPECT_MSG_GT(use.control, 0, what);
        const uint64_t blockBytes = use.state - uint64_t{4} * qps;
        const uint64_t bankBytes = uint64_t{use.banks} * 2 * 65534;
        NS_TEST_EXPECT_MSG_EQ((blockBytes + use.unused <= bankBytes), true, what);
    }

    void DoRun() override
    {
        Check(1, 0, 64);
        Check(1, 1, 16);
        Check(1, 1, 256);
        Check(20, 20, 64);
        Check(65536, 65536, 256); // 40 banks' worth
        std::mt19937_64 random(EunomiaTestSeed("eunomia-memory-model"));
        for (int i = 0; i < 200; i++) {
            const auto qps = static_cast<uint32_t>(1 + random() % (i % 20 == 0 ? 100000 : 3000));
            const auto active = static_cast<uint32_t>(random() % (uint64_t{qps} + 1));
            Check(qps, active, static_cast<uint32_t>(16 + random() % 16 * 16));
        }
        Overhead();
    }

    /** The million QPs: what the model leaves out is small beside it. */
    void Overhead()
    {
        const EunomiaMemoryUse use = EunomiaMeasureMemory(1000000, 50000, 64);
        NS_TEST_EXPECT_MSG_EQ(use.state, 6800000, "");
        NS_TEST_EXPECT_MSG_LT(use.total - use.state, use.state / 4, "");
        NS_TEST_EXPECT_MSG_GT(use.banks, 21, "1.4 million blocks need 22 banks");
    }
};

class OptionsCase : public TestCase {
  public:
    OptionsCase() : TestCase("options") {}

  private:
    void DoRun() override
    {
        const auto none = EunomiaMemoryOptions::Parse({});
        NS_TEST_EXPECT_MSG_EQ(none.qps, 1000000, "");
        NS_TEST_EXPECT_MSG_EQ(none.ActiveQps(), 50000, "");
        NS_TEST_EXPECT_MSG_EQ(none.psns, 64, "");
        NS_TEST_EXPECT_MSG_EQ(none.pool, 2048, "");
        NS_TEST_EXPECT_MSG_EQ(none.spans, "", "");
        NS_TEST_EXPECT_MSG_EQ((none.json || none.help), false, "");
        const auto some =
            EunomiaMemoryOptions::Parse({"--qps=16777216", "--active=12.5", "--psns=256",
                                         "--pool=131068", "--spans=a b", "--json", "--help"});
        NS_TEST_EXPECT_MSG_EQ(some.qps, 16777216, "");
        NS_TEST_EXPECT_MSG_EQ(some.ActiveQps(), 2097152, "");
        NS_TEST_EXPECT_MSG_EQ(some.psns, 256, "");
        NS_TEST_EXPECT_MSG_EQ(some.pool, 131068, "");
        NS_TEST_EXPECT_MSG_EQ(some.spans, "a b", "");
        NS_TEST_EXPECT_MSG_EQ((some.json && some.help), true, "");
        NS_TEST_EXPECT_MSG_EQ(EunomiaMemoryOptions::Parse({"--qps=3", "--active=50"}).ActiveQps(),
                              2, "rounded");
        Refusals();
    }

    void Refusals()
    {
        static const struct {
            const char *argument;
            const char *message;
        } rows[] = {
            {"--qps=0", "--qps: '0' is no number in 1..16777216"},
            {"--qps=16777217", "--qps: '16777217' is no number in 1..16777216"},
            {"--qps=99999999999", "--qps: '99999999999' is no number in 1..16777216"},
            {"--qps=1e6", "--qps: '1e6' is no number in 1..16777216"},
            {"--qps=-1", "--qps: '-1' is no number in 1..16777216"},
            {"--qps", "--qps: '' is no number in 1..16777216"},
            {"--active=100.1", "--active: '100.1' is no number in 0..100"},
            {"--active=-1", "--active: '-1' is no number in 0..100"},
            {"--active=nan", "--active: 'nan' is no number in 0..100"},
            {"--active=5%", "--active: '5%' is no number in 0..100"},
            {"--psns=0", "--psns: '0' is no number in 16..256"},
            {"--psns=272", "--psns: '272' is no number in 16..256"},
            {"--psns=65", "--psns: '65' is no multiple of 16"},
            {"--pool=0", "--pool: '0' is no number in 2..131068"},
            {"--pool=131070", "--pool: '131070' is no number in 2..131068"},
            {"--pool=2047", "--pool: '2047' is no multiple of 2"},
            {"--pool=2KB", "--pool: '2KB' is no number in 2..131068"},
            {"--spans=", "--spans: name a result folder"},
            {"--spans", "--spans: name a result folder"},
            {"--json=1", "--json=1: there is no such option; see --help"},
            {"--lb=ecmp", "--lb=ecmp: there is no such option; see --help"},
            {"5", "5: there is no such option; see --help"},
            {"", ": there is no such option; see --help"},
        };
        for (const auto &row : rows) {
            NS_TEST_EXPECT_MSG_EQ(
                EunomiaRefusal([&] { EunomiaMemoryOptions::Parse({row.argument}); }), row.message,
                row.argument);
        }
    }
};

class ReportCase : public TestCase {
  public:
    ReportCase() : TestCase("tables and JSON") {}

  private:
    void Contains(const std::string &text, const std::string &part)
    {
        NS_TEST_EXPECT_MSG_NE(text.find(part), std::string::npos, part);
    }

    void DoRun() override
    {
        const auto options = EunomiaMemoryOptions::Parse({"--qps=2000", "--active=7.5"});
        const EunomiaMemoryUse use = EunomiaMeasureMemory(2000, 150, 64);
        const std::string json = EunomiaMemoryJson(options);
        Contains(json, "\"fixed_mb\": 41.000,");
        Contains(json, "\"active_pct\": 7.5,");
        Contains(json, "\"model_bytes\": 16400,\n    \"state_bytes\": 16400,");
        Contains(json, "\"control_bytes\": " + std::to_string(use.control) + ',');
        Contains(json, "\"total_bytes\": " + std::to_string(use.total) + '\n');
        Contains(json, "\"bytes\": {\n      \"fixed\": 41,\n      \"resident\": 4,\n"
                       "      \"metadata\": 48,\n      \"block\": 2,\n      \"block_psns\": 16\n");
        Contains(json, "\"active_pct\": 7.5,\n      \"fixed_bytes\": 82000,\n"
                       "      \"model_bytes\": 16400,\n      \"state_bytes\": 16400,");
        for (const char *key : {"microbenchmark", "microbenchmark_settled_crossing_pct",
                                "connection_bytes", "block_size", "admission"}) {
            Contains(json, std::string("\n  \"") + key + "\": ");
        }
        const std::string tables = EunomiaMemoryTables(options);
        Contains(tables, "Memory of 2000 QPs, 64 PSNs");
        Contains(tables, "\n     7.5     0.082   0.016     0.016 ");
        Contains(tables, "\n     100     0.082   0.120     0.120 ");
        Contains(tables, "\n  64     66.07\n");
        Contains(tables, "\n   10000    0.8       0.8\n  600000   48.0      48.0\n");
        Contains(tables, "\n     1024       0.40       0.78        2.34\n");
        for (const char *title :
             {"Microbenchmark: 20 connections", "Bytes a connection", "Block size: means",
              "Most QPs that a pool of 2048 B lets reorder at the same time, of 2000 open"}) {
            Contains(tables, title);
        }
        for (const char *option :
             {"--qps=", "--active=", "--psns=", "--pool=", "--spans=", "--json", "--help"}) {
            Contains(EunomiaMemoryHelp(), option);
        }
        BadSpans();
    }

    /** A folder without results is refused, by the table and by the object. */
    void BadSpans()
    {
        const EunomiaTestFolder folder;
        const auto options = EunomiaMemoryOptions::Parse({"--spans=" + folder.Path("no")});
        const std::string said = folder.Path("no") + "/flows.csv: cannot open: ";
        for (const auto report : {EunomiaMemoryJson, EunomiaMemoryTables}) {
            NS_TEST_EXPECT_MSG_EQ(EunomiaRefusal([&] { report(options); }).substr(0, said.size()),
                                  said, "");
        }
    }
};

class EunomiaMemoryModelTestSuite : public TestSuite {
  public:
    EunomiaMemoryModelTestSuite() : TestSuite("eunomia-memory-model", Type::UNIT)
    {
        AddTestCase(new ModelCase);
        AddTestCase(new HeaderCase);
        AddTestCase(new MeasureCase);
        AddTestCase(new OptionsCase);
        AddTestCase(new ReportCase);
    }
};

EunomiaMemoryModelTestSuite g_eunomiaMemoryModelTestSuite;

} // namespace
