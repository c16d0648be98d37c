// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-test-experiment.h"

#include "ns3/test.h"

#include <algorithm>
#include <cmath>
#include <set>

using namespace ns3;

namespace {

constexpr int64_t START_NS = 2'000'000'000;
constexpr int64_t EVERY_NS = 2'000;

/** timeseries.csv of a run with known queues, against what is known. */
class SeriesCase : public TestCase {
  public:
    SeriesCase() : TestCase("samples of a small incast") {}

  private:
    using Row = std::map<std::string, std::string>;

    /** Runs two flows of 200 packets into one host from the other rack, and a small one later. */
    void Run(const EunomiaTestFolder &temp, const EunomiaTestWords &scheme)
    {
        const std::string flows = temp.Write("x.flows", "3\n0 6 3 204800 2.0\n1 6 3 204800 2.0\n"
                                                        "4 5 3 100 2.00005\n");
        EunomiaTestWords words = {
            "--leaves=2",   "--spines=2",       "--hostsPerLeaf=4", "--cc=none",
            "--sample=2us", "--flows=" + flows, "--force",          "--out=" + temp.Path("out")};
        words.insert(words.end(), scheme.begin(), scheme.end());
        const EunomiaTestRun run(words);
        NS_TEST_EXPECT_MSG_EQ(run.status, EunomiaExperiment::DONE, "status");
        m_flows = EunomiaTestCsv(temp.Path("out/flows.csv")).rows;
        m_samples.clear();
        m_order.clear();
        for (const Row &row : EunomiaTestCsv(temp.Path("out/timeseries.csv")).rows) {
            const int64_t time = std::stoll(row.at("time_ns"));
            if (m_order.empty() || m_order.back() != time) {
                m_order.push_back(time);
            }
            m_samples[time][row.at("metric") + ' ' + row.at("where")] = std::stod(row.at("value"));
        }
    }

    void DoRun() override
    {
        EunomiaTestFolder temp;
        Run(temp, {"--lb=ecmp", "--transport=gbn", "--ns3::EunomiaSwitch::Alpha=100"});
        Times();
        Active();
        Queue();
        Uplinks(62);
        NS_TEST_EXPECT_MSG_EQ(m_samples[START_NS].count("pool_blocks max"), 0, "gbn has no pool");
        Run(temp, {"--lb=spray", "--transport=eunomia", "--ns3::EunomiaSwitch::Alpha=100"});
        Times();
        Uplinks(70);
        Pool();
        // A threshold that two flows pass at once: hosts are paused.
        Run(temp, {"--lb=ecmp", "--transport=gbn", "--buffer=500KB"});
        double paused = 0;
        for (const auto &[time, sample] : m_samples) {
            paused = std::max(paused, sample.at("paused_ports all"));
        }
        NS_TEST_EXPECT_MSG_GT(paused, 0, "paused ports");
    }

    /** From the first start, every 2 us, until the last flow has ended. */
    void Times()
    {
        int64_t end = 0;
        for (const Row &flow : m_flows) {
            end = std::max<int64_t>(end, std::stoll(flow.at("start_ns")) +
                                             std::stoll(flow.at("fct_ns")));
        }
        NS_TEST_ASSERT_MSG_GT(m_order.size(), 20, "samples");
        for (size_t i = 0; i < m_order.size(); i++) {
            NS_TEST_EXPECT_MSG_EQ(m_order[i], START_NS + static_cast<int64_t>(i) * EVERY_NS,
                                  "times");
        }
        NS_TEST_EXPECT_MSG_LT_OR_EQ(m_order.back(), end, "ends with the last flow");
        NS_TEST_EXPECT_MSG_GT(m_order.back() + EVERY_NS, end, "not before");
    }

    void Active()
    {
        for (const auto &[time, sample] : m_samples) {
            double active = 0;
            for (const Row &flow : m_flows) {
                const int64_t start = std::stoll(flow.at("start_ns"));
                // At the first start the sampler looks before the flows are there.
                active += start < time && time < start + std::stoll(flow.at("fct_ns"));
            }
            if (time != START_NS && time != START_NS + 50'000) {
                NS_TEST_EXPECT_MSG_EQ(sample.at("flows_active all"), active, "at " << time);
            }
        }
    }

    /** Two flows at line rate into one link: the queue grows at line rate, then drains so. */
    void Queue()
    {
        constexpr double FRAME = 1024 + 62;
        constexpr double FRAME_NS = (1024 + 62 + 20) * 0.08;
        double highest = 0;
        for (const auto &[time, sample] : m_samples) {
            double sum = 0;
            double longest = 0;
            for (const auto &[key, value] : sample) {
                if (key.compare(0, 16, "queue_bytes leaf") == 0 ||
                    key.compare(0, 17, "queue_bytes spine") == 0) {
                    sum += value;
                    longest = std::max(longest, value);
                }
            }
            // 12 switch ports: 2 leaves of 4 hosts and 2 uplinks, 2 spines of 2.
            NS_TEST_EXPECT_MSG_EQ_TOL(sample.at("queue_bytes mean"), sum / 16, 0.01, "mean");
            NS_TEST_EXPECT_MSG_EQ(sample.at("queue_bytes max"), longest, "max");
            highest = std::max(highest, sum);
            // Wherever the flows meet, 400 packets in all pass one link in 400 times.
            const double waited = static_cast<double>(time - START_NS);
            NS_TEST_EXPECT_MSG_LT_OR_EQ(sum, (waited / FRAME_NS + 2) * FRAME, "no faster");
        }
        NS_TEST_EXPECT_MSG_GT(highest, 180 * FRAME, "two at once, one out: half of it waits");
        NS_TEST_EXPECT_MSG_LT(highest, 202 * FRAME, "half of it waits");
    }

    /** Bytes on the uplinks: each packet of the two flows once. */
    void Uplinks(double overhead)
    {
        double sum = 0;
        std::set<std::string> names;
        for (const auto &[time, sample] : m_samples) {
            for (const auto &[key, value] : sample) {
                if (key.compare(0, 12, "uplink_bytes") == 0) {
                    names.insert(key.substr(13));
                    sum += value;
                }
            }
        }
        const std::set<std::string> expected = {"leaf0:4", "leaf0:5", "leaf1:4", "leaf1:5"};
        NS_TEST_EXPECT_MSG_EQ((names == expected), true, "uplinks");
        NS_TEST_EXPECT_MSG_EQ(sum, 400 * (1024 + overhead), "bytes");
    }

    void Pool()
    {
        double most = 0;
        for (const auto &[time, sample] : m_samples) {
            double sum = 0;
            double largest = 0;
            for (uint32_t h = 0; h < 8; h++) {
                const auto found = sample.find("pool_blocks host" + std::to_string(h));
                if (found != sample.end()) {
                    sum += found->second;
                    largest = std::max(largest, found->second);
                }
            }
            NS_TEST_EXPECT_MSG_EQ(sample.at("pool_blocks total"), sum, "total");
            NS_TEST_EXPECT_MSG_EQ(sample.at("pool_blocks max"), largest, "max");
            most = std::max(most, largest);
        }
        NS_TEST_EXPECT_MSG_GT_OR_EQ(most, 25, "spraying takes blocks");
    }

    std::vector<Row> m_flows;
    std::vector<int64_t> m_order;
    std::map<int64_t, std::map<std::string, double>> m_samples;
};

class EunomiaSamplerTestSuite : public TestSuite {
  public:
    EunomiaSamplerTestSuite() : TestSuite("eunomia-sampler", Type::UNIT)
    {
        AddTestCase(new SeriesCase);
    }
};

EunomiaSamplerTestSuite g_eunomiaSamplerTestSuite;

} // namespace
