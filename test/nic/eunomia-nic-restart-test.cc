// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-fabric.h"
#include "eunomia-test-nic.h"

#include "core/transport/generation.h"

#include "ns3/test.h"

#include <map>
#include <vector>

using namespace ns3;

namespace {

using Simulation = EunomiaTestSimulation;
using Kind = EunomiaFrameKind;

constexpr int64_t US = 1'000'000; //!< in ps

void SetDefault(const std::string &name, const std::string &value)
{
    Config::SetDefault("ns3::Eunomia" + name, StringValue(value));
}

/** On a failure it closes the QP and connects anew at once, so that numbers return. */
class RestartUser : public EunomiaTestUser {
  public:
    void QpFailed(EunomiaNic *nic, uint32_t qp, const char *reason) override
    {
        reasons[{nic->GetHost(), reason}]++;
        if (closes) {
            nic->Close(qp);
        }
        if (onFailure) {
            onFailure(nic);
        }
    }

    std::map<std::pair<uint32_t, std::string>, uint32_t> reasons;
    std::function<void(EunomiaNic *)> onFailure;
    bool closes = true;
};

/** Three senders spray to host 3, which sends to host 0, when it restarts. */
class RestartCase : public TestCase {
  public:
    explicit RestartCase(const char *gate)
        : TestCase(std::string("restart amid reordered traffic, gate ") + gate), m_gate(gate)
    {
    }

  private:
    void DoRun() override
    {
        Check(true, true);
        Check(true, false);
        Check(false, true);
    }

    /** `closes`: the user closes failed QPs; `listens`: there is a user. */
    void Check(bool listens, bool closes)
    {
        Simulation simulation;
        SetDefault("Nic::Verb", "write");
        SetDefault("Nic::Gate", m_gate);
        SetDefault("Switch::Balancer", "spray");
        EunomiaFabric fabric;
        EunomiaBuildClos(fabric, {2, 4, 3});
        NS_ABORT_MSG_UNLESS(fabric.Configure(0).empty(), "attributes");
        RestartUser user;
        user.closes = closes;
        for (uint32_t h = 0; h < 4 && listens; h++) {
            fabric.GetNic(h)->SetUser(&user);
        }
        auto &flows = EunomiaTestNics::Flows();
        std::vector<uint32_t> old;
        std::vector<uint32_t> fresh;
        const auto open = [&](uint32_t src, uint32_t dst, std::vector<uint32_t> &list) {
            const uint32_t qp = fabric.GetNic(src)->Connect(fabric.GetNic(dst), 3);
            for (int i = 0; i < 40; i++) {
                list.push_back(flows.Open());
                fabric.GetNic(src)->Post(qp, 5000, list.back());
            }
        };
        for (uint32_t h = 0; h < 3; h++) {
            open(h, 3, old);
        }
        open(3, 0, old);
        user.onFailure = [&](EunomiaNic *nic) {
            open(nic->GetHost(), nic->GetHost() == 3 ? 0 : 3, fresh);
        };
        const auto nic = fabric.GetNic(3);
        uint64_t before = 0;
        std::function<void()> restart = [&] {
            // Not before something is held.
            if (!HoldsSomething(*nic)) {
                Simulation::At(EunomiaNow() + US / 10, restart);
                return;
            }
            nic->Restart();
            before = Accepted(old);
            const struct eun_reorder_stats *stats = eun_reorder_stats(nic->GetReorder());
            NS_TEST_EXPECT_MSG_EQ(stats->blocks_in_use, 0, "no block is kept");
            NS_TEST_EXPECT_MSG_EQ(stats->qps_open, (listens ? 3 : 0), "the new ones only");
        };
        Simulation::At(5 * US, restart);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_GT(nic->GetStale(), 10, "frames from before came");
        NS_TEST_EXPECT_MSG_EQ(Accepted(old), before, "and nothing of them was taken");
        NS_TEST_EXPECT_MSG_EQ(Simulation::Pool().GetAlive(), 0, "no frame left");
        if (!listens) {
            return;
        }
        for (uint32_t h = 0; h < 3; h++) {
            NS_TEST_EXPECT_MSG_EQ((user.reasons[{h, "receiver-restart"}]), 1, "host " << h);
        }
        NS_TEST_EXPECT_MSG_EQ((user.reasons[{3, "nic-restart"}]), 1, "its own QP");
        NS_TEST_EXPECT_MSG_EQ(user.reasons.size(), 4, "nobody else's");
        NS_TEST_ASSERT_MSG_EQ(fresh.size(), 160, "four new QPs");
        NS_TEST_EXPECT_MSG_EQ(Accepted(fresh), 160 * 5000, "each byte of theirs, once");
        std::map<uint64_t, uint32_t> completed;
        for (const auto &c : user.completions) {
            completed[c.message.cookie]++;
        }
        for (const uint32_t flow : fresh) {
            NS_TEST_EXPECT_MSG_EQ(completed[flow], 1, "flow " << flow);
            NS_TEST_EXPECT_MSG_EQ(flows[flow].retransmitted, 0, "untouched, flow " << flow);
        }
    }

    static bool HoldsSomething(const EunomiaNic &nic)
    {
        bool holds = false;
        for (uint32_t qp = 0; qp < 3; qp++) {
            holds |= eun_reorder_has_gap(nic.GetReorder(), qp);
        }
        return holds;
    }

    static uint64_t Accepted(const std::vector<uint32_t> &list)
    {
        uint64_t sum = 0;
        for (const uint32_t flow : list) {
            sum += EunomiaTestNics::Flows()[flow].accepted;
        }
        return sum;
    }

    std::string m_gate;
};

/**
 * An old packet stays under way while QPs come and go, more often than a generation has values and
 * without time passing: no life that begins within the packet's lifetime takes it.
 */
class ManyLivesCase : public TestCase {
  public:
    ManyLivesCase() : TestCase("generations come round with an old packet under way") {}

  private:
    void DoRun() override
    {
        // In no time; in just less than a packet's lifetime; and slowly, for longer than that.
        Check(0, 1000);
        Check(EUN_PACKET_LIFETIME_PS / 1001, 1000);
        Check(EUN_PACKET_LIFETIME_PS / 100, 99);
    }

    void Check(int64_t life, uint32_t lives)
    {
        Simulation simulation;
        EunomiaTestNics nics;
        EunomiaFrame old{};
        nics.box.filter = [&old](EunomiaFrame &frame) {
            if (frame.kind == Kind::Data && frame.psn == 1 && old.bytes == 0) {
                old = frame;
                return false;
            }
            return true;
        };
        const uint32_t first = nics.Connect();
        const uint32_t flow = nics.Post(first, 3 * 1024);
        Simulator::Stop(TimeStep(10 * US));
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(old.payload, 1024, "the old packet");
        nics.nic[0]->Close(first);
        const uint64_t accepted = nics.Flows()[flow].accepted;
        const uint64_t stale = nics.nic[1]->GetStale();
        uint32_t again = 0;
        for (uint32_t i = 0; i < lives; i++) {
            Simulation::At(EunomiaNow() + life, [&] {
                const uint32_t qp = nics.Connect();
                EunomiaFrame *copy = Simulation::Pool().Take();
                *copy = old;
                nics.nic[1]->Receive(PeekPointer(nics.nic[1]->GetPort()), copy);
                again += eun_reorder_has_gap(nics.nic[1]->GetReorder(), old.qp);
                nics.nic[0]->Close(qp);
            });
            Simulator::Run();
        }
        NS_TEST_EXPECT_MSG_EQ(again, 0, "it sets no bit");
        NS_TEST_EXPECT_MSG_EQ(nics.nic[1]->GetStale() - stale, lives, "it is stale each time");
        NS_TEST_EXPECT_MSG_EQ(nics.Flows()[flow].accepted, accepted, "nothing of it is taken");
    }
};

class EunomiaNicRestartTestSuite : public TestSuite {
  public:
    EunomiaNicRestartTestSuite() : TestSuite("eunomia-nic-restart", Type::UNIT)
    {
        for (const char *gate : {"none", "sender", "receiver"}) {
            AddTestCase(new RestartCase(gate));
        }
        AddTestCase(new ManyLivesCase);
    }
};

EunomiaNicRestartTestSuite g_eunomiaNicRestartTestSuite;

} // namespace
