// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-fabric.h"
#include "eunomia-test-nic.h"

#include "ns3/test.h"

#include <set>
#include <string>

using namespace ns3;

namespace {

using Simulation = EunomiaTestSimulation;
using Kind = EunomiaFrameKind;

constexpr int64_t US = 1'000'000; //!< in ps
constexpr uint32_t MTU = 1024;

void SetDefault(const std::string &name, const std::string &value)
{
    Config::SetDefault("ns3::Eunomia" + name, StringValue(value));
}

/** A window of `packets`. */
void Use(const std::string &transport, uint32_t packets)
{
    SetDefault("Nic::Transport", transport);
    SetDefault("Nic::Window", std::to_string(packets * MTU));
}

/** The first copies of some packets are lost, and the timeout is that of RC. */
class LossCase : public TestCase {
  public:
    LossCase() : TestCase("a timeout repeats what is missing, or all from there on") {}

  private:
    void DoRun() override
    {
        Check("ddp", {}, 0);
        Check("ddp", {0}, 1);
        Check("ddp", {5, 6, 20}, 3);
        Check("ddp", {37, 38, 39}, 3);
        // Its repeats are under way before the answer to the first of them has come.
        Check("ddp-gbn", {}, 0);
        Check("ddp-gbn", {39}, 1);
        Check("ddp-gbn", {0}, 40);
    }

    void Check(const std::string &transport, const std::set<uint32_t> &lost, uint64_t repeated)
    {
        constexpr uint32_t PACKETS = 40;
        Simulation simulation;
        Use(transport, PACKETS);
        EunomiaTestNics nics;
        nics.box.filter = [&lost](EunomiaFrame &f) {
            return f.kind != Kind::Data || f.retransmission || !lost.count(f.psn);
        };
        const uint32_t flow = nics.Post(nics.Connect(), PACKETS * MTU);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(nics.user.completions.size(), 1, transport);
        const auto &stats = EunomiaTestNics::Flows()[flow];
        NS_TEST_EXPECT_MSG_EQ(stats.retransmitted, repeated,
                              transport << ", first " << *lost.begin());
        NS_TEST_EXPECT_MSG_EQ(stats.accepted, PACKETS * MTU, "each byte once");
        const int64_t at = nics.user.completions[0].at;
        NS_TEST_EXPECT_MSG_EQ((at > 4000 * US), !lost.empty(), "the timeout is 4 ms");
        NS_TEST_EXPECT_MSG_LT(at, 4030 * US, "and one is enough");
    }
};

/** The bitmap is shorter than the window: what comes past it is dropped, NACKed and sent again. */
class PastTheBitmapCase : public TestCase {
  public:
    PastTheBitmapCase() : TestCase("packets past the bitmap") {}

  private:
    void DoRun() override
    {
        Check("ddp");
        Check("ddp-gbn");
    }

    void Check(const std::string &transport)
    {
        Simulation simulation;
        Use(transport, 200);
        SetDefault("Nic::OrderingWindow", "40");
        EunomiaTestNics nics;
        nics.box.filter = [](EunomiaFrame &f) {
            return f.kind != Kind::Data || f.retransmission || f.psn != 0;
        };
        const uint32_t flow = nics.Post(nics.Connect(), 200 * MTU);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(nics.user.completions.size(), 1, transport);
        const auto &stats = EunomiaTestNics::Flows()[flow];
        NS_TEST_EXPECT_MSG_EQ(stats.accepted, 200 * MTU, "each byte once");
        // 40 become 64 places; what is under way past them when the first NACK comes is refused.
        const uint64_t refused = nics.Made(1, Kind::Nack);
        NS_TEST_EXPECT_MSG_GT(refused, 30, transport << ": a round trip of packets");
        NS_TEST_EXPECT_MSG_LT(refused, 136, transport << ": then no more");
        if (transport == "ddp") {
            NS_TEST_EXPECT_MSG_EQ(stats.retransmitted, refused + 1, "the lost one and these");
        } else {
            NS_TEST_EXPECT_MSG_GT(stats.retransmitted, refused, "all from the lost one on");
        }
        NS_TEST_EXPECT_MSG_EQ(nics.nic[1]->GetBitmapBytes(), 16, "two bits for each of 64 PSNs");
    }
};

/** Spraying makes gaps, and gaps are no loss: nothing is sent twice. */
class SprayingCase : public TestCase {
  public:
    SprayingCase() : TestCase("spraying repeats nothing") {}

  private:
    void DoRun() override
    {
        for (const char *transport : {"ddp", "ddp-gbn"}) {
            Simulation simulation;
            Use(transport, 100);
            SetDefault("Switch::Balancer", "adaptive");
            EunomiaFabric fabric;
            EunomiaBuildClos(fabric, {8, 8, 16});
            EunomiaTestUser user;
            for (uint32_t h = 0; h < 128; h++) {
                const auto nic = fabric.GetNic(h);
                nic->SetUser(&user);
                nic->Post(nic->Connect(fabric.GetNic((h + 17) % 128), 3), 100 * MTU,
                          EunomiaTestNics::Flows().Open());
            }
            Simulator::Run();
            uint64_t early = 0;
            uint64_t again = 0;
            uint64_t sacks = 0;
            for (uint32_t h = 0; h < 128; h++) {
                early += fabric.GetNic(h)->GetOutOfOrder();
                again += fabric.GetNic(h)->GetRetransmitted();
                sacks += fabric.GetNic(h)->GetFramesMade(Kind::Sack);
            }
            std::string problem;
            fabric.Conserved(&problem);
            NS_TEST_EXPECT_MSG_EQ(problem, "", "conservation");
            NS_TEST_EXPECT_MSG_EQ(user.completions.size(), 128, transport);
            NS_TEST_EXPECT_MSG_GT(early, 500, "early packets");
            NS_TEST_EXPECT_MSG_EQ(again, 0, "none twice");
            NS_TEST_EXPECT_MSG_EQ((sacks > 0), (std::string(transport) == "ddp"), "SACKs");
        }
    }
};

/** A bitmap has a size, and staging is not for it. */
class RefusalsCase : public TestCase {
  public:
    RefusalsCase() : TestCase("what is wrong with an attribute") {}

  private:
    void DoRun() override
    {
        for (const std::string transport : {"ddp", "ddp-gbn"}) {
            Simulation simulation;
            Use(transport, 4097);
            EunomiaTestNics nics;
            NS_TEST_EXPECT_MSG_EQ(nics.nic[0]->Configure(),
                                  "Window: transport " + transport +
                                      " needs 1 to 4096 packets, which its bitmap is for; 4195328 "
                                      "bytes are 4097",
                                  transport);
        }
    }
};

class EunomiaNicDdpTestSuite : public TestSuite {
  public:
    EunomiaNicDdpTestSuite() : TestSuite("eunomia-nic-ddp", Type::UNIT)
    {
        AddTestCase(new LossCase);
        AddTestCase(new PastTheBitmapCase);
        AddTestCase(new SprayingCase);
        AddTestCase(new RefusalsCase);
    }
};

EunomiaNicDdpTestSuite g_eunomiaNicDdpTestSuite;

} // namespace
