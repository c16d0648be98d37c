// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-test-fabric.h"

#include "ns3/test.h"

#include <algorithm>
#include <random>

using namespace ns3;

namespace {

using Simulation = EunomiaTestSimulation;
constexpr uint64_t GBPS = EUNOMIA_TEST_GBPS;
constexpr int64_t US = 1'000'000; //!< in ps

class AttributesCase : public TestCase {
  public:
    AttributesCase() : TestCase("attributes and ends") {}

  private:
    void DoRun() override
    {
        Simulation simulation;
        auto plain = CreateObject<EunomiaLink>();
        NS_TEST_EXPECT_MSG_EQ(plain->GetRate().GetBitRate(), 100 * GBPS, "default rate");
        NS_TEST_EXPECT_MSG_EQ(plain->GetDelay(), MicroSeconds(1), "default delay");
        NS_TEST_EXPECT_MSG_EQ(plain->GetGap(), 20, "preamble and inter-packet gap");
        Config::SetDefault("ns3::EunomiaLink::DataRate", StringValue("400Gbps"));
        Config::SetDefault("ns3::EunomiaLink::Delay", StringValue("600ns"));
        Config::SetDefault("ns3::EunomiaLink::Gap", StringValue("0"));
        EunomiaTestEnd a;
        EunomiaTestEnd b;
        auto link = CreateObject<EunomiaLink>();
        link->Connect(a.port, b.port);
        NS_TEST_EXPECT_MSG_EQ(a.port->GetRateBps(), 400 * GBPS, "rate of one end");
        NS_TEST_EXPECT_MSG_EQ(b.port->GetRateBps(), 400 * GBPS, "rate of the other");
        NS_TEST_EXPECT_MSG_EQ(a.port->TransmissionTime(1000), 20'000, "no gap");
        NS_TEST_EXPECT_MSG_EQ(link->GetNDevices(), 2, "devices");
        NS_TEST_EXPECT_MSG_EQ((link->GetDevice(0) == a.port && link->GetDevice(1) == b.port), true,
                              "as a Channel");
        NS_TEST_EXPECT_MSG_EQ((link->GetEnd(0) == a.port && link->GetEnd(1) == b.port), true,
                              "ends");
        a.port->Send(EunomiaTestFrame(1000, 3));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ((b.Times() == std::vector<int64_t>{620'000}), true, "delay");
    }
};

/** Both directions at once and apart from each other, in order, with random pauses between. */
class TwoWaysCase : public TestCase {
  public:
    TwoWaysCase() : TestCase("two independent directions, first in first out") {}

  private:
    void DoRun() override
    {
        const uint32_t seed = EunomiaTestFabricSeed("eunomia-link");
        for (const int64_t delay : {int64_t{0}, int64_t{1}, US, 500 * US}) {
            Check(delay, seed);
        }
    }

    void Check(int64_t delay, uint32_t seed)
    {
        Simulation simulation;
        EunomiaTestEnd ends[2];
        auto link = EunomiaTestLink(100 * GBPS, delay, 20);
        link->Connect(ends[0].port, ends[1].port);
        std::mt19937 random(seed);
        std::vector<int64_t> expected[2];
        for (int side = 0; side < 2; side++) {
            int64_t now = 0;
            int64_t free = 0;
            for (uint32_t tag = 0; tag < 2000; tag++) {
                now += random() % 200'000;
                const uint32_t bytes = 64 + random() % 2000;
                free = std::max(free, now) + EunomiaTestWireTime(bytes + 20, 100 * GBPS);
                expected[1 - side].push_back(free + delay);
                Simulation::At(now, [&ends, side, bytes, tag] {
                    ends[side].port->Send(EunomiaTestFrame(bytes, 3, tag));
                });
            }
        }
        Simulator::Run();
        for (int side = 0; side < 2; side++) {
            NS_TEST_EXPECT_MSG_EQ((ends[side].Times() == expected[side]), true,
                                  "arrivals at end " << side << ", delay " << delay);
            const auto tags = ends[side].Tags();
            NS_TEST_EXPECT_MSG_EQ(std::is_sorted(tags.begin(), tags.end()), true, "in order");
        }
        NS_TEST_EXPECT_MSG_EQ(link->GetInFlight(), 0, "nothing left");
    }
};

/** What is on the wire can be counted, and thrown away with the simulation. */
class InFlightCase : public TestCase {
  public:
    InFlightCase() : TestCase("frames in flight") {}

  private:
    void DoRun() override
    {
        Simulation simulation;
        EunomiaTestEnd a;
        EunomiaTestEnd b;
        constexpr int64_t FRAME = 100'000; // 1,250 bytes at 100 Gb/s
        auto link = EunomiaTestLink(100 * GBPS, 1000 * US, 0);
        link->Connect(a.port, b.port);
        for (int i = 0; i < 5000; i++) {
            a.port->Send(EunomiaTestFrame(1250, 3));
        }
        b.port->Send(EunomiaTestFrame(1250, 3));
        // In flight from the start of the transmission until it has arrived whole.
        Simulation::At(0, [&] { NS_TEST_EXPECT_MSG_EQ(link->GetInFlight(), 2, "first bits"); });
        Simulation::At(1000 * FRAME - 1, [&] {
            NS_TEST_EXPECT_MSG_EQ(link->GetInFlight(), 1001, "1,000 one way, 1 the other");
            NS_TEST_EXPECT_MSG_EQ(a.port->GetQueued(), 4000, "not yet sent");
        });
        Simulator::Stop(TimeStep(1000 * US + 2000 * FRAME + 1));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(b.arrivals.size(), 2000, "arrived");
        NS_TEST_EXPECT_MSG_EQ(link->GetInFlight(), 3000, "still under way");
        NS_TEST_EXPECT_MSG_EQ(Simulation::Pool().GetAlive(), 3000, "and nowhere else");
        // A link without receivers swallows what is under way, without harm.
        link->Dispose();
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(b.arrivals.size(), 2000, "nothing arrives at an end that is gone");
    }
};

class EunomiaLinkTestSuite : public TestSuite {
  public:
    EunomiaLinkTestSuite() : TestSuite("eunomia-link", Type::UNIT)
    {
        AddTestCase(new AttributesCase);
        AddTestCase(new TwoWaysCase);
        AddTestCase(new InFlightCase);
    }
};

EunomiaLinkTestSuite g_eunomiaLinkTestSuite;

} // namespace
