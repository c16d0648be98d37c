// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-controller-study.h"

#include "eunomia-json.h"

#include <ns3/test.h>

using namespace ns3;

namespace {

constexpr uint32_t PACKETS = 20'000;

EunomiaControllerRow Measure(uint64_t rateGbps, int64_t servicePs, uint32_t banks,
                             uint32_t pipelines, uint32_t cacheBlocks)
{
    return EunomiaMeasureController({rateGbps, servicePs, banks, pipelines, cacheBlocks}, PACKETS);
}

/** What must hold whatever the traffic is. */
class BoundsCase : public TestCase {
  public:
    BoundsCase() : TestCase("spacing, allocations, and what is left of them without a cache") {}

  private:
    void DoRun() override
    {
        // 1,024 B of payload, 70 of headers, 20 of preamble and gap.
        NS_TEST_EXPECT_MSG_EQ(Measure(100, 0, 1, 1, 0).spacingPs, 89'120, "");
        NS_TEST_EXPECT_MSG_EQ(Measure(400, 0, 1, 1, 0).spacingPs, 22'280, "");
        NS_TEST_EXPECT_MSG_EQ(Measure(800, 0, 1, 1, 0).spacingPs, 11'140, "");
        const EunomiaControllerRow none = Measure(800, 0, 1, 1, 0);
        NS_TEST_EXPECT_MSG_EQ(none.meanWaitNs + none.p99WaitNs, 0, "no service time");
        NS_TEST_EXPECT_MSG_EQ(none.delayedPct + none.blockedPct, 0, "no service time");
        // One QP in 64 packets rents metadata and at least a block.
        NS_TEST_EXPECT_MSG_GT(none.allocations, 2 * PACKETS / 64 * 9 / 10, "");
        NS_TEST_EXPECT_MSG_LT(none.allocations, PACKETS / 4, "");
        for (const uint32_t banks : {1u, 8u}) {
            // Slow arrivals: no two allocating packets meet, and each waits for its own services.
            const EunomiaControllerRow alone = Measure(1, 10'000, banks, 1, 0);
            NS_TEST_EXPECT_MSG_EQ(alone.allocations, none.allocations, "the same traffic");
            NS_TEST_EXPECT_MSG_EQ_TOL(alone.meanWaitNs * PACKETS,
                                      10.0 * static_cast<double>(none.allocations), 1e-6, banks);
            NS_TEST_EXPECT_MSG_EQ(alone.blockedPct, 0, banks);
            NS_TEST_EXPECT_MSG_GT(alone.delayedPct, 100.0 / 64 * 0.9, "one in a message at least");
            const EunomiaControllerRow fast = Measure(800, 10'000, banks, 1, 0);
            NS_TEST_EXPECT_MSG_EQ(fast.allocations, none.allocations, "the same traffic");
            NS_TEST_EXPECT_MSG_GT(fast.blockedPct, 0, banks);
            NS_TEST_EXPECT_MSG_GT_OR_EQ(fast.delayedPct - fast.blockedPct, alone.delayedPct - 1e-9,
                                        "all that allocate wait");
        }
    }
};

/** The claims that the table is there for. */
class RemediesCase : public TestCase {
  public:
    RemediesCase() : TestCase("banks, pipelines and caches against head-of-line blocking") {}

  private:
    void DoRun() override
    {
        for (const uint64_t rateGbps : {100, 400, 800}) {
            const EunomiaControllerRow one = Measure(rateGbps, 100'000, 1, 1, 0);
            const EunomiaControllerRow banks = Measure(rateGbps, 100'000, 8, 1, 0);
            const EunomiaControllerRow both = Measure(rateGbps, 100'000, 8, 4, 0);
            const EunomiaControllerRow cache = Measure(rateGbps, 100'000, 1, 1, 16);
            NS_TEST_EXPECT_MSG_GT(one.meanWaitNs, banks.meanWaitNs, rateGbps);
            NS_TEST_EXPECT_MSG_GT(banks.meanWaitNs, both.meanWaitNs, rateGbps);
            NS_TEST_EXPECT_MSG_GT(one.blockedPct, banks.blockedPct, rateGbps);
            NS_TEST_EXPECT_MSG_GT(banks.blockedPct, 2 * both.blockedPct, rateGbps);
            NS_TEST_EXPECT_MSG_EQ(cache.delayedPct, 0, rateGbps);
        }
        const EunomiaControllerRow small = Measure(800, 100'000, 1, 1, 1);
        NS_TEST_EXPECT_MSG_GT(small.blockedPct, 0, "a cache that is too small");
        NS_TEST_EXPECT_MSG_LT(small.blockedPct, Measure(800, 100'000, 1, 1, 0).blockedPct, "");
    }
};

class ReportCase : public TestCase {
  public:
    ReportCase() : TestCase("table and JSON") {}

  private:
    void Contains(const std::string &text, const std::string &part)
    {
        NS_TEST_EXPECT_MSG_NE(text.find(part), std::string::npos, part);
    }

    void DoRun() override
    {
        const EunomiaControllerRow row{
            {400, 10'000, 8, 4, 16}, 22'280, 1000, 50, 1.25, 20.5, 3.5, 0.75};
        const std::string table = EunomiaControllerTable({row});
        Contains(table, "\n     10   400    22.28      8          4     16       1.25      20.5"
                        "       3.50       0.75\n");
        EunomiaJsonWriter json;
        EunomiaControllerJson(&json, {row});
        NS_TEST_EXPECT_MSG_EQ(json.Text(),
                              "[\n  {\n    \"service_ns\": 10.000,\n    \"rate_gbps\": 400,\n"
                              "    \"spacing_ns\": 22.280,\n    \"banks\": 8,\n"
                              "    \"pipelines\": 4,\n    \"cache_blocks\": 16,\n"
                              "    \"packets\": 1000,\n    \"allocations\": 50,\n"
                              "    \"mean_wait_ns\": 1.2500,\n    \"p99_wait_ns\": 20.5000,\n"
                              "    \"delayed_pct\": 3.5000,\n    \"blocked_pct\": 0.7500\n  }\n]",
                              "");
    }
};

class EunomiaControllerStudyTestSuite : public TestSuite {
  public:
    EunomiaControllerStudyTestSuite() : TestSuite("eunomia-controller-study", Type::UNIT)
    {
        AddTestCase(new BoundsCase);
        AddTestCase(new RemediesCase);
        AddTestCase(new ReportCase);
    }
};

EunomiaControllerStudyTestSuite g_eunomiaControllerStudyTestSuite;

} // namespace
