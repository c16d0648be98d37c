// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-fabric.h"
#include "eunomia-test-nic.h"

#include "ns3/test.h"

#include <array>
#include <set>
#include <utility>
#include <vector>

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
void UseIrn(uint32_t packets)
{
    SetDefault("Nic::Transport", "irn");
    SetDefault("Nic::Window", std::to_string(packets * MTU));
}

/** The window sizes the bitmap, so it must be there and fit. */
class RefusalsCase : public TestCase {
  public:
    RefusalsCase() : TestCase("what is wrong with an attribute") {}

  private:
    void DoRun() override
    {
        Check("Window", "0",
              "Window: transport irn needs 1 to 4096 packets, which its bitmap is for; 0 bytes are "
              "0");
        Check("Window", "4194305",
              "Window: transport irn needs 1 to 4096 packets, which its bitmap is for; 4194305 "
              "bytes are 4097");
        Check("Gate", "receiver", "Gate: transport irn has no staging, which gate receiver needs");
    }

    void Check(const std::string &attribute, const std::string &value, const std::string &problem)
    {
        Simulation simulation;
        UseIrn(4096);
        EunomiaTestNics nics;
        StringValue before;
        nics.nic[0]->GetAttribute(attribute, before);
        nics.nic[0]->SetAttribute(attribute, StringValue(value));
        NS_TEST_EXPECT_MSG_EQ(nics.nic[0]->Configure(), problem, value);
        nics.nic[0]->SetAttribute(attribute, before);
        NS_TEST_EXPECT_MSG_EQ(nics.nic[0]->Configure(), "", "mended, " << value);
        nics.Post(nics.Connect(), 10);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(nics.user.completions.size(), 1, value);
    }
};

/** The first copies of some packets are lost: these go again, once each, and nothing else does. */
class LossCase : public TestCase {
  public:
    LossCase() : TestCase("what is lost goes again, and only that") {}

  private:
    void DoRun() override
    {
        Check({}, 0);
        Check({0}, 0);
        Check({5, 6, 20}, 0);
        Check({1, 3, 5, 7, 9, 11, 13, 15, 17, 19}, 0);
        Check({39}, 100 * US);
        Check({37, 38, 39}, 100 * US);
        Check({36, 37, 38, 39}, 320 * US);
    }

    void Check(const std::set<uint32_t> &lost, int64_t timeout)
    {
        constexpr uint32_t PACKETS = 40;
        Simulation simulation;
        UseIrn(PACKETS);
        EunomiaTestNics nics;
        nics.box.filter = [&lost](EunomiaFrame &f) {
            return f.kind != Kind::Data || f.retransmission || !lost.count(f.psn);
        };
        const uint32_t flow = nics.Post(nics.Connect(), PACKETS * MTU);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(nics.user.completions.size(), 1, "complete");
        const auto &stats = EunomiaTestNics::Flows()[flow];
        NS_TEST_EXPECT_MSG_EQ(nics.box.dropped, lost.size(), "lost");
        NS_TEST_EXPECT_MSG_EQ(stats.retransmitted, lost.size(), "sent again");
        NS_TEST_EXPECT_MSG_EQ(stats.packets, PACKETS + lost.size(), "packets");
        NS_TEST_EXPECT_MSG_EQ(stats.accepted, PACKETS * MTU, "bytes");
        // From first packet to last answer 40 packets take less than 10 us, a repeat as much.
        const int64_t at = nics.user.completions[0].at;
        NS_TEST_EXPECT_MSG_GT(at, timeout, "no sooner than the timeout");
        NS_TEST_EXPECT_MSG_LT(at, timeout + 20 * US, "and soon after it");
    }
};

/** A flow of one packet waits for the short timeout; the attributes are what they say. */
class TimeoutCase : public TestCase {
  public:
    TimeoutCase() : TestCase("timeouts") {}

  private:
    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(Retried({}), 100 * US, "defaults");
        NS_TEST_EXPECT_MSG_EQ(Retried({{"RtoLow", "50us"}}), 50 * US, "low");
        NS_TEST_EXPECT_MSG_EQ(Retried({{"RtoLowPackets", "0"}}), 320 * US, "never low");
        NS_TEST_EXPECT_MSG_EQ(Retried({{"RtoLowPackets", "0"}, {"RtoHigh", "1ms"}}), 1000 * US,
                              "high");
        GivesUp();
    }

    /** When the only packet leaves for the second time. */
    static int64_t Retried(const std::vector<std::pair<std::string, std::string>> &attributes)
    {
        Simulation simulation;
        UseIrn(10);
        for (const auto &[name, value] : attributes) {
            SetDefault("Nic::Irn" + name, value);
        }
        EunomiaTestNics nics;
        std::vector<int64_t> arrivals;
        nics.box.filter = [&arrivals](EunomiaFrame &f) {
            if (f.kind == Kind::Data) {
                arrivals.push_back(EunomiaNow());
            }
            return f.kind != Kind::Data || f.retransmission;
        };
        nics.Post(nics.Connect(), 10);
        Simulator::Run();
        return arrivals.size() == 2 ? arrivals[1] - arrivals[0] : -1;
    }

    /** 7 silences of 4 ms are 280 of 100 us; the last one brings no packet any more. */
    void GivesUp()
    {
        Simulation simulation;
        UseIrn(10);
        EunomiaTestNics nics;
        nics.box.filter = [](EunomiaFrame &f) { return f.kind != Kind::Data; };
        nics.Post(nics.Connect(), 10);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(nics.user.failures.size(), 1, "failed");
        NS_TEST_EXPECT_MSG_EQ(nics.user.failures[0].reason, "retry-limit", "reason");
        NS_TEST_EXPECT_MSG_EQ(nics.user.failures[0].at, 28'000 * US, "when");
        NS_TEST_EXPECT_MSG_EQ(nics.box.dropped, 280, "tries");
    }
};

/** A slot that held packets when its QP was closed holds none for the next one. */
class ReuseCase : public TestCase {
  public:
    ReuseCase() : TestCase("a slot used again has an empty bitmap") {}

  private:
    void DoRun() override
    {
        Simulation simulation;
        UseIrn(100);
        EunomiaTestNics nics;
        bool block = true;
        nics.box.filter = [&block](EunomiaFrame &f) {
            return f.kind != Kind::Data || f.psn != 0 || !block;
        };
        const uint32_t first = nics.Connect();
        nics.Post(first, 50 * MTU);
        uint32_t flow = 0;
        Simulation::At(50 * US, [&] {
            block = false;
            NS_TEST_EXPECT_MSG_GT(nics.nic[1]->GetOutOfOrder(), 40, "held");
            nics.nic[0]->Close(first);
            const uint32_t second = nics.Connect();
            NS_TEST_EXPECT_MSG_EQ(second, first, "the same slot");
            flow = nics.Post(second, 50 * MTU);
        });
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(nics.user.completions.size(), 1, "complete");
        const auto &stats = EunomiaTestNics::Flows()[flow];
        NS_TEST_EXPECT_MSG_EQ(stats.accepted, 50 * MTU, "every byte was new");
        NS_TEST_EXPECT_MSG_EQ(stats.retransmitted, 0, "nothing sent again");
        // Two bits for each of 128 PSNs, the next multiple of 64.
        NS_TEST_EXPECT_MSG_EQ(nics.nic[1]->GetBitmapBytes(), 32, "one slot");
        NS_TEST_EXPECT_MSG_EQ(nics.nic[0]->GetBitmapBytes(), 0, "no responder");
    }
};

/** What became of flows in a small fabric. */
struct Outcome {
    uint64_t done = 0;
    uint64_t dropped = 0;
    uint64_t data = 0;
    uint64_t retransmitted = 0;
    uint64_t outOfOrder = 0;
    uint64_t nacks = 0;
    std::string problem;
};

/** Flow i runs from host pairs[i].first to .second. */
Outcome Carry(const std::array<uint32_t, 3> &clos,
              const std::vector<std::pair<uint32_t, uint32_t>> &pairs, uint32_t bytes)
{
    EunomiaFabric fabric;
    EunomiaBuildClos(fabric, {clos[0], clos[1], clos[2]});
    EunomiaTestUser user;
    for (const auto &[from, to] : pairs) {
        const auto nic = fabric.GetNic(from);
        nic->SetUser(&user);
        nic->Post(nic->Connect(fabric.GetNic(to), 3), bytes, EunomiaTestNics::Flows().Open());
    }
    Simulator::Run();
    Outcome o;
    o.done = user.completions.size();
    o.dropped = fabric.GetTotals().dropped;
    for (uint32_t h = 0; h < fabric.GetNHosts(); h++) {
        o.data += fabric.GetNic(h)->GetFramesMade(Kind::Data);
        o.nacks += fabric.GetNic(h)->GetFramesMade(Kind::Nack);
        o.retransmitted += fabric.GetNic(h)->GetRetransmitted();
        o.outOfOrder += fabric.GetNic(h)->GetOutOfOrder();
    }
    fabric.Conserved(&o.problem);
    return o;
}

/** Twenty to one without PFC: packets drop, these go again, and go-back-N sends far more. */
class IncastCase : public TestCase {
  public:
    IncastCase() : TestCase("incast without PFC") {}

  private:
    static Outcome Incast(const std::string &transport)
    {
        Simulation simulation;
        UseIrn(100);
        SetDefault("Nic::Transport", transport);
        SetDefault("Switch::Pfc", "false");
        SetDefault("Switch::BufferSize", "600000");
        std::vector<std::pair<uint32_t, uint32_t>> pairs;
        for (uint32_t h = 1; h <= 20; h++) {
            pairs.emplace_back(h, 0);
        }
        return Carry({1, 1, 21}, pairs, 300 * MTU);
    }

    void DoRun() override
    {
        const Outcome irn = Incast("irn");
        NS_TEST_EXPECT_MSG_EQ(irn.problem, "", "conservation");
        NS_TEST_EXPECT_MSG_EQ(irn.done, 20, "complete");
        NS_TEST_EXPECT_MSG_GT(irn.dropped, 1000, "a buffer that is too small");
        NS_TEST_EXPECT_MSG_EQ(irn.retransmitted, irn.dropped, "each loss, and nothing in vain");
        NS_TEST_EXPECT_MSG_EQ(irn.data, 20 * 300 + irn.dropped, "packets");
        const Outcome gbn = Incast("gbn");
        NS_TEST_EXPECT_MSG_EQ(gbn.done, 20, "complete");
        NS_TEST_EXPECT_MSG_GT(gbn.retransmitted, gbn.dropped, "it repeats what had come, too");
        NS_TEST_EXPECT_MSG_GT(gbn.retransmitted, 2 * irn.retransmitted, "and far more");
    }
};

/** Between racks: ECMP keeps the order, spraying does not, and IRN takes that for loss. */
class SprayingCase : public TestCase {
  public:
    SprayingCase() : TestCase("spraying repeats packets in vain, ECMP none") {}

  private:
    static Outcome Shift(const std::string &balancer)
    {
        Simulation simulation;
        UseIrn(100);
        SetDefault("Switch::Balancer", balancer);
        std::vector<std::pair<uint32_t, uint32_t>> pairs;
        for (uint32_t h = 0; h < 128; h++) {
            pairs.emplace_back(h, (h + 17) % 128);
        }
        return Carry({8, 8, 16}, pairs, 100 * MTU);
    }

    void DoRun() override
    {
        const Outcome ecmp = Shift("ecmp");
        NS_TEST_EXPECT_MSG_EQ(ecmp.problem, "", "conservation");
        NS_TEST_EXPECT_MSG_EQ(ecmp.done, 128, "complete");
        NS_TEST_EXPECT_MSG_EQ(ecmp.dropped, 0, "PFC");
        NS_TEST_EXPECT_MSG_EQ(ecmp.retransmitted + ecmp.outOfOrder, 0, "in order");
        const Outcome spray = Shift("spray");
        NS_TEST_EXPECT_MSG_EQ(spray.problem, "", "conservation");
        NS_TEST_EXPECT_MSG_EQ(spray.done, 128, "complete");
        NS_TEST_EXPECT_MSG_EQ(spray.dropped, 0, "PFC");
        NS_TEST_EXPECT_MSG_GT(spray.retransmitted, 0, "in vain");
        NS_TEST_EXPECT_MSG_EQ(spray.nacks, spray.outOfOrder, "a NACK an early packet");
    }
};

class EunomiaNicIrnTestSuite : public TestSuite {
  public:
    EunomiaNicIrnTestSuite() : TestSuite("eunomia-nic-irn", Type::UNIT)
    {
        AddTestCase(new RefusalsCase);
        AddTestCase(new LossCase);
        AddTestCase(new TimeoutCase);
        AddTestCase(new ReuseCase);
        AddTestCase(new IncastCase);
        AddTestCase(new SprayingCase);
    }
};

EunomiaNicIrnTestSuite g_eunomiaNicIrnTestSuite;

} // namespace
