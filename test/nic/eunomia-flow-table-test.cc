// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-flow-table.h"

#include "ns3/test.h"

#include <numeric>
#include <set>

using namespace ns3;

namespace {

class SlotsCase : public TestCase {
  public:
    SlotsCase() : TestCase("slots are zeroed and used again") {}

  private:
    void DoRun() override
    {
        EunomiaFlowTable table;
        std::set<uint32_t> slots;
        for (int i = 0; i < 100; i++) {
            slots.insert(table.Open());
        }
        NS_TEST_EXPECT_MSG_EQ(slots.size(), 100, "one each");
        NS_TEST_EXPECT_MSG_EQ(table.GetAlive(), 100, "alive");
        for (const uint32_t slot : slots) {
            table[slot].packets = table[slot].accepted = 5;
            table[slot].maxSpan = 7;
        }
        table.Close(17);
        table.Close(4);
        NS_TEST_EXPECT_MSG_EQ(table.GetAlive(), 98, "alive");
        const std::set<uint32_t> again = {table.Open(), table.Open()};
        NS_TEST_EXPECT_MSG_EQ((again == std::set<uint32_t>{4, 17}), true, "the free ones");
        for (const uint32_t slot : again) {
            NS_TEST_EXPECT_MSG_EQ(table[slot].packets + table[slot].accepted + table[slot].maxSpan,
                                  0, "a new flow's numbers");
        }
        NS_TEST_EXPECT_MSG_EQ(table[5].packets, 5, "the others' are theirs");
        NS_TEST_EXPECT_MSG_EQ(table.Open(), 100, "one more");
    }
};

class SpansCase : public TestCase {
  public:
    SpansCase() : TestCase("histogram of spans") {}

  private:
    void DoRun() override
    {
        EunomiaFlowTable table;
        for (const uint32_t span : {1u, 1u, 255u, 8190u, 8191u, 8192u, UINT32_MAX}) {
            table.CountSpan(span);
        }
        const auto &spans = table.GetSpans();
        NS_TEST_EXPECT_MSG_EQ(spans[1], 2, "span 1");
        NS_TEST_EXPECT_MSG_EQ(spans[255], 1, "span 255");
        NS_TEST_EXPECT_MSG_EQ(spans[8190], 1, "the last of its own");
        NS_TEST_EXPECT_MSG_EQ(spans[8191], 3, "the rest");
        NS_TEST_EXPECT_MSG_EQ(std::accumulate(spans.begin(), spans.end(), uint64_t{0}), 7, "all");
    }
};

class EunomiaFlowTableTestSuite : public TestSuite {
  public:
    EunomiaFlowTableTestSuite() : TestSuite("eunomia-flow-table", Type::UNIT)
    {
        AddTestCase(new SlotsCase);
        AddTestCase(new SpansCase);
    }
};

EunomiaFlowTableTestSuite g_eunomiaFlowTableTestSuite;

} // namespace
