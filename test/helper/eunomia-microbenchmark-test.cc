// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-microbenchmark.h"

#include "../fabric/eunomia-test-fabric.h"
#include "core/reorder/reorder.h"
#include "eunomia-memory-model.h"

#include "ns3/data-rate.h"
#include "ns3/nstime.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <ns3/test.h>

using namespace ns3;

namespace {

using Step = EunomiaMicrobenchmarkStep;

/** A step that is all about its bytes. */
Step Bytes(uint32_t pct, uint64_t dynamic, uint64_t fixed)
{
    Step step;
    step.reorderedPct = pct;
    step.dynamicBytes = dynamic;
    step.settledBytes = 2 * dynamic;
    step.fixedBytes = fixed;
    return step;
}

/**
 * The order in which one connection's packets arrive: every second one as it is sent, the others 64
 * packet times later.
 */
std::vector<uint32_t> TwoWays(uint32_t packets)
{
    std::vector<std::pair<uint32_t, uint32_t>> arrivals; // time, PSN
    for (uint32_t psn = 0; psn < packets; psn++) {
        arrivals.emplace_back(psn + psn % 2 * 64, psn);
    }
    std::sort(arrivals.begin(), arrivals.end());
    std::vector<uint32_t> order;
    for (const auto &arrival : arrivals) {
        order.push_back(arrival.second);
    }
    return order;
}

/** Most bytes of an ordering layer that gets those arrivals on `reordered` of 20 QPs, by hand. */
uint64_t PeakOnTheLayer(uint32_t reordered)
{
    eun_reorder_config config{};
    config.blocks = 1024;
    config.banks = 1;
    config.cap_psns = 256;
    config.block_bits = 16;
    config.idle_epoch_ps = 1;
    const std::unique_ptr<eun_reorder, decltype(&eun_reorder_free)> layer(eun_reorder_new(&config),
                                                                          eun_reorder_free);
    for (uint32_t qp = 0; qp < EUNOMIA_MICROBENCHMARK_QPS; qp++) {
        eun_reorder_open(layer.get(), qp);
    }
    std::vector<uint32_t> expected(reordered, 0);
    uint64_t peak = EUNOMIA_MICROBENCHMARK_QPS * 4;
    for (uint32_t psn : TwoWays(256)) {
        for (uint32_t qp = 0; qp < reordered; qp++) {
            expected[qp] +=
                eun_reorder_arrive(layer.get(), qp, expected[qp], psn, false, 0).advanced;
        }
        struct eun_reorder_memory memory;
        eun_reorder_memory(layer.get(), &memory);
        peak = std::max(peak, memory.state);
    }
    return peak;
}

class StepsCase : public TestCase {
  public:
    StepsCase() : TestCase("20 connections") {}

  private:
    void DoRun() override
    {
        EunomiaTestSimulation simulation;
        const std::vector<Step> steps = EunomiaMicrobenchmark();
        NS_TEST_ASSERT_MSG_EQ(steps.size(), 21, "");
        for (uint32_t i = 0; i <= 20; i++) {
            NS_TEST_EXPECT_MSG_EQ(steps[i].reorderedPct, 5 * i, "");
            NS_TEST_EXPECT_MSG_EQ(steps[i].reordered, i, "really reordered");
            NS_TEST_EXPECT_MSG_EQ(steps[i].spanPsns, (i > 0 ? 64u : 0u), i);
            NS_TEST_EXPECT_MSG_EQ(steps[i].fixedBytes, 820, i);
            NS_TEST_EXPECT_MSG_EQ(steps[i].settledBytes, EunomiaDynamicBytes(20, i, 64), i);
            NS_TEST_EXPECT_MSG_EQ(steps[i].settledBytes, EunomiaMeasureMemory(20, i, 64).state, i);
            NS_TEST_EXPECT_MSG_EQ(steps[i].dynamicBytes, PeakOnTheLayer(i), i);
        }
        NS_TEST_EXPECT_MSG_EQ_TOL(EunomiaMicrobenchmarkCrossing(steps, &Step::settledBytes), 66.07,
                                  0.005, "as the model");
        NS_TEST_EXPECT_MSG_EQ_TOL(EunomiaMicrobenchmarkCrossing(steps), 100.0 * (820 - 80) / 1160,
                                  0.005, "one block more while a bitmap grows");
    }
};

class CrossingCase : public TestCase {
  public:
    CrossingCase() : TestCase("crossing") {}

  private:
    void DoRun() override
    {
        const std::vector<Step> quarter{Bytes(0, 0, 10), Bytes(10, 8, 10), Bytes(20, 16, 10)};
        NS_TEST_EXPECT_MSG_EQ_TOL(EunomiaMicrobenchmarkCrossing(quarter), 12.5, 1e-9, "");
        NS_TEST_EXPECT_MSG_EQ_TOL(EunomiaMicrobenchmarkCrossing(quarter, &Step::settledBytes), 6.25,
                                  1e-9, "");
        const std::vector<Step> onStep{Bytes(0, 0, 10), Bytes(10, 10, 10), Bytes(20, 20, 10)};
        NS_TEST_EXPECT_MSG_EQ_TOL(EunomiaMicrobenchmarkCrossing(onStep), 10, 1e-9, "");
        const std::vector<Step> atOnce{Bytes(0, 11, 10), Bytes(10, 12, 10)};
        NS_TEST_EXPECT_MSG_EQ_TOL(EunomiaMicrobenchmarkCrossing(atOnce), 0, 1e-9, "");
        const std::vector<Step> never{Bytes(0, 1, 10), Bytes(100, 9, 10)};
        NS_TEST_EXPECT_MSG_EQ(std::isnan(EunomiaMicrobenchmarkCrossing(never)), true, "");
    }
};

/** The defaults that the user set for links are the user's again afterwards. */
class DefaultsCase : public TestCase {
  public:
    DefaultsCase() : TestCase("defaults of links are put back") {}

  private:
    void DoRun() override
    {
        EunomiaTestSimulation simulation;
        Config::SetDefault("ns3::EunomiaLink::DataRate", StringValue("25Gbps"));
        Config::SetDefault("ns3::EunomiaNic::Mtu", UintegerValue(512));
        Config::SetDefault("ns3::EunomiaNic::Transport", StringValue("gbn"));
        const Step once = EunomiaMicrobenchmarkRun(3);
        const auto link = CreateObject<EunomiaLink>();
        NS_TEST_EXPECT_MSG_EQ(link->GetRate().GetBitRate(), 25 * EUNOMIA_TEST_GBPS, "");
        NS_TEST_EXPECT_MSG_EQ(link->GetDelay(), MicroSeconds(1), "");
        Config::Reset();
        NS_TEST_EXPECT_MSG_EQ(once.dynamicBytes, EunomiaMicrobenchmarkRun(3).dynamicBytes,
                              "whatever they are");
    }
};

class ReportCase : public TestCase {
  public:
    ReportCase() : TestCase("table and JSON") {}

  private:
    void DoRun() override
    {
        Step step = Bytes(5, 138, 820);
        step.settledBytes = 136;
        step.reordered = 1;
        step.spanPsns = 64;
        EunomiaJsonWriter json;
        json.BeginObject();
        EunomiaWriteMicrobenchmark(&json, {step});
        json.EndObject();
        NS_TEST_EXPECT_MSG_EQ(json.Text(),
                              "{\n  \"microbenchmark\": [\n    {\n"
                              "      \"reordered_pct\": 5,\n      \"dynamic_bytes\": 138,\n"
                              "      \"fixed_bytes\": 820,\n      \"settled_bytes\": 136,\n"
                              "      \"reordered\": 1,\n      \"span_psns\": 64\n    }\n  ],\n"
                              "  \"microbenchmark_crossing_pct\": null,\n"
                              "  \"microbenchmark_settled_crossing_pct\": null\n}",
                              "");
        std::string text;
        EunomiaPrintMicrobenchmark(&text, {step});
        NS_TEST_EXPECT_MSG_NE(
            text.find("\n          5          1    64      820     136    138      136\n"),
            std::string::npos, text);
    }
};

class EunomiaMicrobenchmarkTestSuite : public TestSuite {
  public:
    EunomiaMicrobenchmarkTestSuite() : TestSuite("eunomia-microbenchmark", Type::UNIT)
    {
        AddTestCase(new StepsCase);
        AddTestCase(new CrossingCase);
        AddTestCase(new DefaultsCase);
        AddTestCase(new ReportCase);
    }
};

EunomiaMicrobenchmarkTestSuite g_eunomiaMicrobenchmarkTestSuite;

} // namespace
