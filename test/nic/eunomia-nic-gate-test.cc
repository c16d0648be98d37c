// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-fabric.h"
#include "eunomia-test-nic.h"

#include "ns3/test.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

using namespace ns3;

namespace {

using Simulation = EunomiaTestSimulation;
using Kind = EunomiaFrameKind;

constexpr int64_t US = 1'000'000; //!< in ps

void SetDefault(const std::string &name, const std::string &value)
{
    Config::SetDefault("ns3::Eunomia" + name, StringValue(value));
}

/** Notes how long Lasts were staged, too. */
class GateUser : public EunomiaTestUser {
  public:
    struct Staged {
        int64_t at;
        int64_t wait;
    };

    void MessageStaged(EunomiaNic *, uint32_t, int64_t waitPs) override
    {
        staged.push_back({EunomiaNow(), waitPs});
    }
    void MessagesVisible(EunomiaNic *nic, uint32_t qp, uint32_t count) override
    {
        EunomiaTestUser::MessagesVisible(nic, qp, count);
        if (onVisible) {
            onVisible(count);
        }
    }

    std::vector<Staged> staged;
    std::function<void(uint32_t)> onVisible;
};

/** Two NICs; the first data packet takes a detour of 50 us, so everything else comes early. */
class StagingCase : public TestCase {
  public:
    StagingCase() : TestCase("what staging costs") {}

  private:
    static constexpr int64_t DETOUR = 50 * US;

    void DoRun() override
    {
        // 1,024 bytes at 256 Gb/s are 32 ns, at 1 Gb/s 8.192 us; 0 is free.
        Check("256Gbps", 32'000);
        Check("1Gbps", 8'192'000);
        Check("0bps", 0);
        Slow();
        Full();
    }

    /** A box that sends the first data packet the long way. */
    static void Detour(EunomiaTestNics &nics, GateUser &user)
    {
        nics.nic[0]->SetUser(&user);
        nics.nic[1]->SetUser(&user);
        auto first = std::make_shared<bool>(true);
        nics.box.filter = [&nics, first](EunomiaFrame &frame) {
            if (frame.kind != Kind::Data || !*first) {
                return true;
            }
            *first = false;
            auto *late = Simulation::Pool().Take();
            *late = frame;
            Simulation::At(EunomiaNow() + DETOUR, [&nics, late] { nics.box.port[1]->Send(late); });
            return false;
        };
    }

    void Note(const EunomiaFrame &frame)
    {
        m_came.emplace(frame.psn, EunomiaNow());
        m_last = frame.last ? EunomiaNow() : m_last;
    }

    /** Runs messages of the given packets, posted at once on one QP. */
    void Run(EunomiaTestNics &nics, GateUser &user, const std::vector<uint32_t> &packets)
    {
        m_came.clear();
        Detour(nics, user);
        nics.nic[1]->TraceConnectWithoutContext("Arrival", MakeCallback(&StagingCase::Note, this));
        const uint32_t qp = nics.Connect();
        for (const uint32_t n : packets) {
            nics.Post(qp, n * 1024);
        }
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(user.completions.size(), packets.size(), "all complete");
        uint32_t visible = 0;
        for (const auto &v : user.visible) {
            visible += v.count;
        }
        NS_TEST_ASSERT_MSG_EQ(visible, packets.size(), "all become visible, once");
    }

    static void Receiver(const char *rate, const char *limit)
    {
        SetDefault("Nic::Verb", "write");
        SetDefault("Nic::Gate", "receiver");
        SetDefault("Nic::StagingRate", rate);
        SetDefault("Nic::StagingLimit", limit);
    }

    /** Three messages, their Lasts PSNs 2, 3 and 6: the copies follow each other. */
    void Check(const char *rate, int64_t copy)
    {
        Simulation simulation;
        Receiver(rate, "64");
        GateUser user;
        EunomiaTestNics nics;
        Run(nics, user, {3, 1, 3});
        const uint32_t lasts[] = {2, 3, 6};
        NS_TEST_ASSERT_MSG_EQ(user.visible.size(), 3, rate);
        NS_TEST_ASSERT_MSG_EQ(user.staged.size(), 3, rate);
        for (size_t i = 0; i < 3; i++) {
            const int64_t done = m_came.at(0) + static_cast<int64_t>(i + 1) * copy;
            NS_TEST_EXPECT_MSG_EQ(user.visible[i].at, done, rate << ", message " << i);
            NS_TEST_EXPECT_MSG_EQ(user.staged[i].at, done, rate << ", message " << i);
            NS_TEST_EXPECT_MSG_EQ(user.staged[i].wait, done - m_came.at(lasts[i]),
                                  rate << ", message " << i);
        }
        NS_TEST_EXPECT_MSG_EQ(nics.nic[0]->GetRetransmitted(), 0, "nothing is sent twice");
        NS_TEST_EXPECT_MSG_EQ(Simulation::Pool().GetAlive(), 0, "no frame left");
    }

    /** An engine slower than an answer's way: completion comes first, and a close silences. */
    void Slow()
    {
        Simulation simulation;
        Receiver("100Mbps", "64");
        GateUser user;
        EunomiaTestNics nics;
        Run(nics, user, {2});
        NS_TEST_EXPECT_MSG_GT(user.visible[0].at, user.completions[0].at, "acknowledged first");
        user.visible.clear();
        Detour(nics, user);
        const uint32_t qp = nics.Connect();
        nics.Post(qp, 2 * 1024);
        user.onCompletion = [&nics, qp] { nics.nic[0]->Close(qp); };
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(user.visible.size(), 0, "closed before its copy had ended");
    }

    /** One slot for three Lasts: the sender holds two of them, and each goes once more. */
    void Full()
    {
        Simulation simulation;
        Receiver("256Gbps", "1");
        GateUser user;
        EunomiaTestNics nics;
        Run(nics, user, {2, 2, 2});
        NS_TEST_EXPECT_MSG_EQ(nics.Made(1, Kind::Nack), 2, "two find no slot");
        NS_TEST_EXPECT_MSG_EQ(nics.nic[0]->GetRetransmitted(), 2, "one copy each");
        NS_TEST_EXPECT_MSG_EQ(user.completions[0].message.wait_ps, 0, "was staged");
        for (size_t i = 1; i < 3; i++) {
            NS_TEST_EXPECT_MSG_GT(user.completions[i].message.wait_ps, DETOUR / 2,
                                  "was held by the sender");
        }
        NS_TEST_EXPECT_MSG_LT(user.completions[2].at, 100 * US, "without a timeout");
    }

    std::map<uint32_t, int64_t> m_came;
    int64_t m_last = 0;
};

/**
 * Writes and then a write of one packet, the usual flag, sprayed over a fabric with cross traffic.
 * With the sender gate the flag leaves last; with the receiver gate it shows last; without a gate
 * it may overtake, or the test would prove nothing.
 */
class FlagCase : public TestCase {
  public:
    FlagCase() : TestCase("a flag shows after what it follows") {}

  private:
    void DoRun() override
    {
        for (const char *verb : {"write", "write-imm"}) {
            NS_TEST_EXPECT_MSG_EQ(Overtaken(verb, "sender"), 0, verb);
            NS_TEST_EXPECT_MSG_GT(Overtaken(verb, "receiver"), 0, verb << ": staged ones");
        }
        NS_TEST_EXPECT_MSG_GT(Overtaken("write", "none"), 0, "spraying reorders");
    }

    /** How many Lasts came before a packet ahead of them. */
    uint32_t Overtaken(const std::string &verb, const std::string &gate)
    {
        Simulation simulation;
        SetDefault("Nic::Verb", verb);
        SetDefault("Nic::Gate", gate);
        SetDefault("Switch::Balancer", "spray");
        EunomiaFabric fabric;
        EunomiaBuildClos(fabric, {2, 4, 4});
        NS_ABORT_MSG_UNLESS(fabric.Configure(0).empty(), "attributes");
        GateUser user;
        GateUser others;
        std::mt19937 random(EunomiaTestFabricSeed("eunomia-nic-gate"));
        m_came.clear();
        m_overtaken = 0;
        for (uint32_t h = 0; h < 8; h++) {
            fabric.GetNic(h)->SetUser(h == 0 || h == 4 ? &user : &others);
        }
        auto &flows = EunomiaTestNics::Flows();
        for (uint32_t h = 1; h < 4; h++) {
            const uint32_t qp = fabric.GetNic(h)->Connect(fabric.GetNic(h + 4), 3);
            fabric.GetNic(h)->Post(qp, 1'000'000, flows.Open());
        }
        const uint32_t qp = fabric.GetNic(0)->Connect(fabric.GetNic(4), 3);
        std::vector<uint32_t> ends;
        uint32_t end = 0;
        for (int i = 0; i < 100; i++) {
            const auto packets = i % 3 == 2 ? 1 : static_cast<uint32_t>(1 + random() % 8);
            ends.push_back(end += packets);
            fabric.GetNic(0)->Post(qp, packets * 1024, flows.Open());
        }
        fabric.GetNic(4)->TraceConnectWithoutContext("Arrival",
                                                     MakeCallback(&FlagCase::Arrived, this));
        uint32_t visible = 0;
        user.onVisible = [&](uint32_t count) {
            visible += count;
            NS_TEST_EXPECT_MSG_EQ(AllCame(ends.at(visible - 1)), true,
                                  verb << ", gate " << gate << ": message " << visible - 1);
        };
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(visible, ends.size(), "each shows once");
        NS_TEST_EXPECT_MSG_EQ(user.completions.size(), ends.size(), "each completes");
        NS_TEST_EXPECT_MSG_EQ((user.staged.empty() || gate == "receiver"), true, "staged");
        return m_overtaken;
    }

    void Arrived(const EunomiaFrame &frame)
    {
        if (frame.kind != Kind::Data) {
            return;
        }
        m_overtaken += frame.last && !AllCame(frame.psn);
        m_came.insert(frame.psn);
    }

    /** Has every PSN below `end` arrived? */
    bool AllCame(uint32_t end) const
    {
        return std::distance(m_came.begin(), m_came.lower_bound(end)) == end;
    }

    std::set<uint32_t> m_came;
    uint32_t m_overtaken = 0;
};

class EunomiaNicGateTestSuite : public TestSuite {
  public:
    EunomiaNicGateTestSuite() : TestSuite("eunomia-nic-gate", Type::UNIT)
    {
        AddTestCase(new StagingCase);
        AddTestCase(new FlagCase);
    }
};

EunomiaNicGateTestSuite g_eunomiaNicGateTestSuite;

} // namespace
