// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-test-experiment.h"

#include "ns3/test.h"

#include <set>
#include <tuple>

using namespace ns3;

namespace {

using Words = EunomiaTestWords;

/** Eight hosts in two racks, busy for 200 us. */
const Words g_small = {"--leaves=2", "--spines=2",   "--hostsPerLeaf=4", "--duration=200us",
                       "--load=0.9", "--reorderLog", "--force"};

Words operator+(Words a, const Words &b)
{
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

using Row = std::map<std::string, std::string>;

int64_t Int(const Row &row, const char *column)
{
    return std::stoll(row.at(column));
}

/** Rows of reorder.csv against each other, against flows.csv and against the summary. */
class RowsCase : public TestCase {
  public:
    RowsCase() : TestCase("reorder.csv, scheme by scheme") {}

  private:
    void DoRun() override
    {
        static const Words schemes[] = {
            {"--lb=spray", "--transport=eunomia"},
            {"--lb=spray", "--transport=eunomia", "--qp=pair"},
            {"--lb=spray", "--transport=gbn"},
            {"--lb=spray-rr", "--transport=eunomia", "--verb=write", "--gate=receiver"},
            {"--lb=spray", "--transport=eunomia", "--poolBlocks=30", "--qpCap=16"},
            {"--lb=spray", "--transport=gbn", "--drain=0"},
            {"--lb=ecmp", "--transport=eunomia"},
        };
        for (const Words &scheme : schemes) {
            Check(scheme);
        }
        NS_TEST_EXPECT_MSG_EQ((m_ends == std::set<std::string>{"closed", "cut", "idle"}), true,
                              "all kinds of rows in 200 us");
    }

    void Check(const Words &scheme)
    {
        EunomiaTestFolder temp;
        m_what = "";
        for (const std::string &word : scheme) {
            m_what += word + ' ';
        }
        const EunomiaTestRun run(g_small + scheme + Words{"--out=" + temp.Path("out")});
        const EunomiaTestCsv csv(temp.Path("out/reorder.csv"));
        const std::string summary = EunomiaTestFolder::Read(temp.Path("out/summary.json"));
        int64_t packets = 0;
        int64_t span = 0;
        for (const Row &row : csv.rows) {
            packets += Int(row, "packets");
            span = std::max(span, Int(row, "span"));
            m_ends.insert(row.at("end"));
        }
        NS_TEST_EXPECT_MSG_EQ(packets, EunomiaTestNumber(summary, "out_of_order"), m_what);
        NS_TEST_EXPECT_MSG_EQ(span, EunomiaTestNumber(summary, "max_span"), m_what);
        const bool spray = scheme[0] != "--lb=ecmp";
        NS_TEST_EXPECT_MSG_EQ((csv.rows.size() > 50), spray, m_what << csv.rows.size());
        CheckLives(csv.rows);
        if (std::find(scheme.begin(), scheme.end(), "--qp=pair") == scheme.end()) {
            CheckFlows(csv.rows, EunomiaTestCsv(temp.Path("out/flows.csv")).rows);
        }
    }

    /** Rows of a QP follow each other without overlap, and its last one tells how it ended. */
    void CheckLives(const std::vector<Row> &rows)
    {
        std::map<std::pair<int64_t, int64_t>, Row> before;
        for (const Row &row : rows) {
            const int64_t start = Int(row, "start_ns");
            const int64_t ms = Int(row, "ms");
            NS_TEST_EXPECT_MSG_EQ(ms, start / 1'000'000, m_what);
            NS_TEST_EXPECT_MSG_LT_OR_EQ(start + Int(row, "duration_ns"), (ms + 1) * 1'000'000,
                                        m_what << "it ends in its millisecond");
            const auto [found, first] = before.try_emplace({Int(row, "host"), Int(row, "qp")}, row);
            const bool opens = first || Ended(found->second);
            NS_TEST_EXPECT_MSG_EQ(row.at("gap_ns").empty(), opens, m_what << start);
            const int64_t number = first ? 0 : Int(found->second, "burst");
            const bool begins =
                row.at("end") != "idle" && (first || found->second.at("end") != "continues");
            NS_TEST_EXPECT_MSG_EQ(Int(row, "burst"), number + begins, m_what << start);
            if (!opens) {
                const Row &last = found->second;
                NS_TEST_EXPECT_MSG_EQ(start - Int(row, "gap_ns"),
                                      Int(last, "start_ns") + Int(last, "duration_ns"),
                                      m_what << "no overlap, no rest");
            }
            found->second = row;
        }
        for (const auto &[qp, row] : before) {
            NS_TEST_EXPECT_MSG_EQ(Ended(row), true, m_what << "the end of QP " << qp.second);
        }
    }

    static bool Ended(const Row &row) { return row.at("end") == "idle" || row.at("end") == "cut"; }

    /** With a QP a flow, rows of a flow have its out-of-order packets and its longest span. */
    void CheckFlows(const std::vector<Row> &rows, const std::vector<Row> &flows)
    {
        std::map<int64_t, std::pair<int64_t, int64_t>> found;
        for (const Row &row : rows) {
            auto &[packets, span] = found[Int(row, "flow")];
            packets += Int(row, "packets");
            span = std::max(span, Int(row, "span"));
        }
        size_t reordered = 0;
        for (const Row &flow : flows) {
            const auto &[packets, span] = found[Int(flow, "flow")];
            NS_TEST_EXPECT_MSG_EQ(packets, Int(flow, "out_of_order"), m_what);
            NS_TEST_EXPECT_MSG_EQ(span, Int(flow, "max_reorder_span"), m_what);
            reordered += packets > 0;
        }
        NS_TEST_EXPECT_MSG_EQ(found.size(), flows.size(), m_what << "no flow but those");
        NS_TEST_EXPECT_MSG_EQ((reordered > 0), !rows.empty(), m_what);
    }

    std::string m_what;
    std::set<std::string> m_ends;
};

/** A gap that only a timeout of 4 ms closes: a row a millisecond, and the whole in their sum. */
class MillisecondsCase : public TestCase {
  public:
    MillisecondsCase() : TestCase("a burst of several milliseconds") {}

  private:
    void DoRun() override
    {
        EunomiaTestFolder temp;
        // Seven senders into a small buffer without PFC: some packets are lost.
        std::string text = "7\n";
        for (int src = 1; src < 8; src++) {
            text += std::to_string(src) + " 0 3 200000 2.0000001\n";
        }
        const EunomiaTestRun run(g_small + Words{"--flows=" + temp.Write("x.flows", text),
                                                 "--pfc=off", "--buffer=60KB", "--cc=none",
                                                 "--out=" + temp.Path("out")});
        const EunomiaTestCsv csv(temp.Path("out/reorder.csv"));
        NS_TEST_EXPECT_MSG_GT(csv.Count("end", "continues"), 3, "bursts of several rows");
        std::map<std::tuple<int64_t, int64_t>, std::vector<Row>> bursts;
        for (const Row &row : csv.rows) {
            if (row.at("end") != "idle") {
                bursts[{Int(row, "qp"), Int(row, "burst")}].push_back(row);
            }
        }
        for (const auto &[name, rows] : bursts) {
            int64_t sum = 0;
            for (size_t i = 0; i < rows.size(); i++) {
                sum += Int(rows[i], "duration_ns");
                NS_TEST_EXPECT_MSG_EQ((rows[i].at("end") == "continues"), (i + 1 < rows.size()),
                                      "all but the last");
                NS_TEST_EXPECT_MSG_EQ(Int(rows[i], "ms"), Int(rows[0], "ms") + int64_t(i),
                                      "one a millisecond");
                NS_TEST_EXPECT_MSG_EQ((i == 0 || Int(rows[i], "start_ns") % 1'000'000 == 0), true,
                                      "from full to full");
            }
            const Row &last = rows.back();
            NS_TEST_EXPECT_MSG_EQ(
                sum, Int(last, "start_ns") + Int(last, "duration_ns") - Int(rows[0], "start_ns"),
                "rows add up to the burst");
        }
    }
};

/** The file is there where it was asked for, and the rest of the run does not depend on it. */
class FilesCase : public TestCase {
  public:
    FilesCase() : TestCase("with and without the log") {}

  private:
    void DoRun() override
    {
        EunomiaTestFolder temp;
        const auto run = [&](const Words &words) {
            const EunomiaTestRun r(g_small + words + Words{"--out=" + temp.Path("out")});
            std::map<std::string, std::string> files;
            for (const std::string &name : temp.List("out")) {
                files[name] = EunomiaTestFolder::Read(temp.Path("out/") + name);
            }
            files.erase("timing.json");
            return files;
        };
        auto with = run({});
        NS_TEST_EXPECT_MSG_EQ((with == run({})), true, "same bytes again");
        NS_TEST_EXPECT_MSG_GT(with["reorder.csv"].size(), 1'000, "it is there");
        const auto without = run({"--reorderLog=false"});
        NS_TEST_EXPECT_MSG_EQ(with.erase("reorder.csv"), 1, "one file more");
        NS_TEST_EXPECT_MSG_EQ((with == without), true, "and nothing else");
        NS_TEST_EXPECT_MSG_EQ(
            EunomiaRefusal([&] { run({"--force=false"}); }).find("holds results already"),
            temp.Path("out").size() + 2, "results are kept");
        std::filesystem::create_directory(temp.Path("log"));
        temp.Write("log/reorder.csv", "");
        const std::string refusal = EunomiaRefusal([&] {
            EunomiaTestRun(g_small + Words{"--reorderLog=false", "--force=false",
                                           "--out=" + temp.Path("log")});
        });
        NS_TEST_EXPECT_MSG_NE(refusal.find("(reorder.csv)"), std::string::npos, refusal);
    }
};

class EunomiaReorderLogTestSuite : public TestSuite {
  public:
    EunomiaReorderLogTestSuite() : TestSuite("eunomia-reorder-log", Type::SYSTEM)
    {
        AddTestCase(new RowsCase);
        AddTestCase(new MillisecondsCase);
        AddTestCase(new FilesCase);
    }
};

EunomiaReorderLogTestSuite g_eunomiaReorderLogTestSuite;

} // namespace
