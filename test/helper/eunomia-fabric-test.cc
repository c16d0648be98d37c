// SPDX-License-Identifier: GPL-2.0-only
#include "../nic/eunomia-test-nic.h"
#include "eunomia-fabric.h"

#include "ns3/node-list.h"
#include "ns3/test.h"

#include <map>
#include <random>
#include <set>

using namespace ns3;

namespace {

using Simulation = EunomiaTestSimulation;

constexpr int64_t US = 1'000'000; //!< in ps

void SetDefault(const std::string &name, const std::string &value)
{
    Config::SetDefault("ns3::Eunomia" + name, StringValue(value));
}

/** Nodes, links, ports, names and numbers of a Clos. */
class ClosCase : public TestCase {
  public:
    ClosCase() : TestCase("a Clos: nodes, links, lengths of ways") {}

  private:
    void DoRun() override
    {
        Check({8, 8, 16});
        Check({2, 3, 1});
        Check({1, 1, 2});
        Check({5, 1, 3});
    }

    void Check(const EunomiaClosConfig &c)
    {
        Simulation simulation;
        EunomiaFabric fabric;
        EunomiaBuildClos(fabric, c);
        const uint32_t hosts = c.leaves * c.hostsPerLeaf;
        NS_TEST_ASSERT_MSG_EQ(fabric.GetNHosts(), hosts, "hosts");
        NS_TEST_ASSERT_MSG_EQ(fabric.GetNSwitches(), c.leaves + c.spines, "switches");
        NS_TEST_EXPECT_MSG_EQ(fabric.GetLinks().size(), hosts + c.leaves * c.spines, "links");
        NS_TEST_EXPECT_MSG_EQ(NodeList::GetNNodes(), hosts + c.leaves + c.spines, "nodes");
        for (uint32_t s = 0; s < fabric.GetNSwitches(); s++) {
            const bool leaf = s < c.leaves;
            const std::string name =
                leaf ? "leaf" + std::to_string(s) : "spine" + std::to_string(s - c.leaves);
            NS_TEST_EXPECT_MSG_EQ(fabric.GetSwitchName(s), name, "name");
            NS_TEST_EXPECT_MSG_EQ(fabric.GetSwitch(s)->GetNPorts(),
                                  (leaf ? c.hostsPerLeaf + c.spines : c.leaves), name);
            NS_TEST_EXPECT_MSG_EQ(
                (fabric.GetSwitches().Get(s)->GetObject<EunomiaSwitch>() == fabric.GetSwitch(s)),
                true, name);
        }
        for (uint32_t a = 0; a < hosts; a++) {
            NS_TEST_EXPECT_MSG_EQ(fabric.GetHosts().Get(a)->GetId(), a, "host number is node id");
            NS_TEST_EXPECT_MSG_EQ(fabric.GetNic(a)->GetHost(), a, "host number");
            for (uint32_t b = 0; b < hosts; b++) {
                const bool near = a / c.hostsPerLeaf == b / c.hostsPerLeaf;
                NS_TEST_EXPECT_MSG_EQ(fabric.GetPathLength(a, b), (near ? 2 : 4), a << " to " << b);
                NS_TEST_EXPECT_MSG_EQ(fabric.GetPathLength(b, a), fabric.GetPathLength(a, b),
                                      "the same both ways");
            }
        }
    }
};

/** Any pair of hosts, any balancer: data and answers take as many links as they should. */
class ReachCase : public TestCase {
  public:
    ReachCase() : TestCase("everyone reaches everyone by a shortest way") {}

  private:
    void DoRun() override
    {
        for (const char *balancer : {"ecmp", "spray", "spray-rr", "drill", "letflow", "conga",
                                     "deflect", "elephant-spray", "adaptive", "conweave"}) {
            Clos(balancer);
        }
        Ring();
    }

    void Clos(const char *balancer)
    {
        Simulation simulation;
        SetDefault("Switch::Balancer", balancer);
        EunomiaFabric fabric;
        EunomiaBuildClos(fabric, {3, 4, 3});
        AllPairs(fabric, balancer);
    }

    /** Seven switches in a ring, hosts at some of them: some neighbours are equally far away. */
    void Ring()
    {
        Simulation simulation;
        EunomiaFabric fabric;
        for (int i = 0; i < 7; i++) {
            fabric.AddSwitch("ring" + std::to_string(i));
        }
        for (uint32_t i = 0; i < 7; i++) {
            fabric.ConnectSwitches(i, (i + 1) % 7);
        }
        for (const uint32_t at : {0, 0, 2, 3, 5}) {
            fabric.ConnectHost(fabric.AddHost(), at);
        }
        fabric.Route();
        NS_TEST_EXPECT_MSG_EQ(fabric.GetPathLength(0, 1), 2, "same switch");
        NS_TEST_EXPECT_MSG_EQ(fabric.GetPathLength(0, 2), 4, "two switches on");
        NS_TEST_EXPECT_MSG_EQ(fabric.GetPathLength(0, 3), 5, "the far side");
        NS_TEST_EXPECT_MSG_EQ(fabric.GetPathLength(0, 4), 4, "two switches back");
        NS_TEST_EXPECT_MSG_EQ(fabric.GetPathLength(2, 4), 5, "the far side");
        AllPairs(fabric, "ring");
    }

    void AllPairs(EunomiaFabric &fabric, const char *what)
    {
        EunomiaTestUser user;
        const uint32_t hosts = fabric.GetNHosts();
        m_fabric = &fabric;
        m_wrong = m_arrivals = 0;
        for (uint32_t h = 0; h < hosts; h++) {
            fabric.GetNic(h)->SetUser(&user);
            fabric.GetNic(h)->TraceConnectWithoutContext("Arrival",
                                                         MakeCallback(&ReachCase::Arrival, this));
        }
        for (uint32_t a = 0; a < hosts; a++) {
            for (uint32_t b = 0; b < hosts; b++) {
                if (a != b) {
                    fabric.GetNic(a)->Post(fabric.GetNic(a)->Connect(fabric.GetNic(b), 3), 20'000,
                                           EunomiaTestNics::Flows().Open());
                }
            }
        }
        std::string problem;
        // In the middle of it, and at the end.
        Simulation::At(7 * US, [&] {
            NS_TEST_EXPECT_MSG_EQ(fabric.Conserved(&problem), true, problem << ", " << what);
            NS_TEST_EXPECT_MSG_GT(fabric.GetTotals().inFlight, 0, "in the middle of it");
        });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(user.completions.size(), hosts * (hosts - 1), what);
        NS_TEST_EXPECT_MSG_EQ(m_wrong, 0, "frames on a detour, " << what);
        NS_TEST_EXPECT_MSG_GT(m_arrivals, hosts * (hosts - 1) * 20, "frames");
        NS_TEST_EXPECT_MSG_EQ(fabric.Conserved(&problem), true, problem << ", " << what);
        const EunomiaFabric::Totals t = fabric.GetTotals();
        NS_TEST_EXPECT_MSG_EQ(t.made, t.delivered, "nothing is left");
        NS_TEST_EXPECT_MSG_EQ(t.inFlight + t.queued + t.bufferBytes + t.dropped, 0, "nothing left");
    }

    void Arrival(const EunomiaFrame &frame)
    {
        m_arrivals++;
        m_wrong += frame.hops != m_fabric->GetPathLength(frame.src, frame.dst);
    }

    EunomiaFabric *m_fabric = nullptr;
    uint64_t m_wrong = 0;
    uint64_t m_arrivals = 0;
};

/** Ideal FCT and base RTT: numbers worked out by hand, and no simulated flow below them. */
class IdealCase : public TestCase {
  public:
    IdealCase() : TestCase("ideal FCT and base RTT") {}

  private:
    void DoRun() override
    {
        ByHand();
        for (const char *balancer : {"ecmp", "spray"}) {
            Bound(balancer);
        }
    }

    void ByHand()
    {
        Simulation simulation;
        SetDefault("Nic::FlatOverhead", "48");
        SetDefault("Nic::Mtu", "1000");
        SetDefault("Link::Gap", "0");
        EunomiaFabric fabric;
        EunomiaBuildClos(fabric, {2, 2, 2});
        NS_TEST_ASSERT_MSG_EQ(fabric.Configure(0), "", "attributes");
        // 1,048 B take 83,840 ps, 60 B 4,800 ps, 49 B 3,920 ps at 100 Gb/s.
        NS_TEST_EXPECT_MSG_EQ(fabric.GetBaseRtt(0, 1), 2 * (83'840 + 4'800 + 2 * US), "in a rack");
        NS_TEST_EXPECT_MSG_EQ(fabric.GetBaseRtt(0, 3), 4 * (83'840 + 4'800 + 2 * US), "across");
        NS_TEST_EXPECT_MSG_EQ(fabric.GetIdealFct(0, 1, 1, false), 2 * (3'920 + 4'800 + 2 * US),
                              "1 B");
        NS_TEST_EXPECT_MSG_EQ(fabric.GetIdealFct(0, 3, 1000, true), fabric.GetBaseRtt(0, 3),
                              "1,000 B");
        NS_TEST_EXPECT_MSG_EQ(fabric.GetIdealFct(0, 3, 1'000'000, false),
                              fabric.GetBaseRtt(0, 3) + 999 * 83'840, "1 MB");
    }

    /** Alone in the fabric, a flow of any size takes its ideal time or more. */
    void Bound(const char *balancer)
    {
        std::mt19937 random(EunomiaTestFabricSeed("eunomia-fabric"));
        for (int i = 0; i < 300; i++) {
            Simulation simulation;
            RngSeedManager::SetSeed(1 + random() % 1000);
            SetDefault("Switch::Balancer", balancer);
            const bool multipath = std::string(balancer) == "spray";
            EunomiaFabric fabric;
            EunomiaBuildClos(fabric, {2, 3, 1});
            EunomiaTestUser user;
            fabric.GetNic(0)->SetUser(&user);
            fabric.GetNic(1)->SetUser(&user);
            const uint32_t bytes = 1 + random() % (random() % 2 ? 4'000 : 50'000);
            fabric.GetNic(0)->Post(fabric.GetNic(0)->Connect(fabric.GetNic(1), 3), bytes,
                                   EunomiaTestNics::Flows().Open());
            Simulator::Run();
            NS_TEST_ASSERT_MSG_EQ(user.completions.size(), 1, bytes);
            const int64_t ideal = fabric.GetIdealFct(0, 1, bytes, multipath);
            NS_TEST_EXPECT_MSG_GT_OR_EQ(user.completions[0].at, ideal, balancer << ' ' << bytes);
            if (!multipath) {
                NS_TEST_EXPECT_MSG_EQ(user.completions[0].at, ideal, balancer << ' ' << bytes);
            }
        }
    }
};

/** What Conserved() says about a fabric into which somebody reached. */
class ConservationCase : public TestCase {
  public:
    ConservationCase() : TestCase("conservation notices what is wrong") {}

  private:
    /** Takes a frame in place of a NIC and does not say so. */
    class Swallow : public EunomiaPortOwner {
      public:
        void Receive(EunomiaPort *, EunomiaFrame *frame) override
        {
            Simulation::Pool().Release(frame);
        }
        void Departs(EunomiaPort *, EunomiaFrame *) override {}
        EunomiaFrame *Pull(EunomiaPort *) override { return nullptr; }
        bool HasFrame(const EunomiaPort *) const override { return false; }
        void PauseChanged(EunomiaPort *, uint32_t, bool) override {}
    };

    using Harm = std::function<void(EunomiaFabric &)>;

    static eun_buffer &Buffer(EunomiaFabric &fabric)
    {
        return const_cast<eun_buffer &>(fabric.GetSwitch(1)->GetBuffer());
    }

    void DoRun() override
    {
        Check("", [](EunomiaFabric &) {});
        Check("1 frames are allocated, 0 on their way",
              [](EunomiaFabric &) { Simulation::Pool().Take(); });
        Check("80 frames were made, 81 delivered, dropped or on their way",
              [](EunomiaFabric &fabric) {
                  EunomiaFrame *frame = EunomiaTestFrame(100, 0);
                  frame->dst = 0;
                  fabric.GetNic(1)->GetPort()->Send(frame);
              });
        Check("leaf1: ingress bytes differ from bytes stored",
              [](EunomiaFabric &fabric) { Buffer(fabric).used += 1; });
        Check("leaf1: a port's ingress bytes differ from the sum over its priorities",
              [](EunomiaFabric &fabric) { Buffer(fabric).port_in_bytes[0] += 100; });
        Check("200 buffer bytes are in use with no frame left", [](EunomiaFabric &fabric) {
            eun_buffer &buffer = Buffer(fabric);
            buffer.policy->admit(&buffer, 0, 1, 3, 200);
        });
        // A frame that vanishes on its way: its slot is free, its count is not.
        Check(
            "80 frames were made, 79 delivered, dropped or on their way",
            [this](EunomiaFabric &fabric) { fabric.GetNic(0)->GetPort()->SetOwner(&m_swallow); },
            false);
    }

    void Check(const std::string &expected, const Harm &harm, bool after = true)
    {
        Simulation simulation;
        SetDefault("Nic::Transport", "gbn");
        EunomiaFabric fabric;
        EunomiaBuildClos(fabric, {2, 1, 1});
        NS_TEST_ASSERT_MSG_EQ(fabric.Configure(0), "", "attributes");
        const uint32_t qp = fabric.GetNic(0)->Connect(fabric.GetNic(1), 3);
        fabric.GetNic(0)->Post(qp, 40 * 1024, EunomiaTestNics::Flows().Open());
        // Long after the last answer, or just before it.
        const int64_t last = fabric.GetIdealFct(0, 1, 40 * 1024, false);
        Simulation::At(after ? 100 * US : last - 1, [&] { harm(fabric); });
        Simulator::Stop(TimeStep(200 * US));
        Simulator::Run();
        std::string problem;
        NS_TEST_EXPECT_MSG_EQ(fabric.Conserved(&problem), expected.empty(), expected);
        NS_TEST_EXPECT_MSG_EQ(problem, expected, "what it says");
    }

    Swallow m_swallow;
};

/**
 * Leaf 1 fills the link from one spine to leaf 2. Short flows from leaf 0 to leaf 2 find out what
 * only a report can tell, and take the other spine from then on.
 */
class CongestionCase : public TestCase {
  public:
    CongestionCase() : TestCase("conga avoids a link that only others load") {}

  private:
    static constexpr uint32_t PROBES = 12;
    static constexpr uint32_t PACKETS = 10; //!< of a probe

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_LT_OR_EQ(OnLoadedPath("conga"), PACKETS, "one probe at most finds out");
        NS_TEST_EXPECT_MSG_GT(OnLoadedPath("ecmp"), 2 * PACKETS, "ECMP does not look");
    }

    /** Data frames of the probes that take the loaded spine. */
    uint64_t OnLoadedPath(const char *balancer)
    {
        Simulation simulation;
        SetDefault("Switch::Balancer", balancer);
        SetDefault("Switch::CongaAging", "10ms");
        SetDefault("Nic::CongestionControl", "none");
        EunomiaFabric fabric;
        EunomiaBuildClos(fabric, {3, 2, 2});
        EunomiaTestUser user;
        for (uint32_t h = 0; h < fabric.GetNHosts(); h++) {
            fabric.GetNic(h)->SetUser(&user);
        }
        NS_ABORT_MSG_UNLESS(fabric.Configure(0).empty(), "attributes");
        const auto post = [&fabric](uint32_t src, uint32_t dst, uint64_t bytes) {
            fabric.GetNic(src)->Post(fabric.GetNic(src)->Connect(fabric.GetNic(dst), 3), bytes,
                                     EunomiaTestNics::Flows().Open());
        };
        post(2, 4, 40'000'000);
        for (uint32_t i = 0; i < PROBES; i++) {
            Simulation::At(500 * US + i * 200 * US, [&post] { post(0, 5, PACKETS * 1024); });
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(user.completions.size(), PROBES + 1, balancer);
        const auto frames = [&fabric](uint32_t leaf, uint32_t spine) {
            return fabric.GetSwitch(leaf)->GetPort(2 + spine)->GetFramesSent(
                EunomiaFrameKind::Data);
        };
        NS_TEST_EXPECT_MSG_EQ(frames(0, 0) + frames(0, 1), PROBES * PACKETS, "nothing got lost");
        NS_TEST_EXPECT_MSG_EQ(std::min(frames(1, 0), frames(1, 1)), 0, "one loaded path");
        return frames(0, frames(1, 0) ? 0 : 1);
    }
};

/** Attributes are checked before a run, and the message names type and attribute. */
class ConfigureCase : public TestCase {
  public:
    ConfigureCase() : TestCase("attributes and streams") {}

  private:
    static std::string Problem(const std::string &attribute, const std::string &value)
    {
        Simulation simulation;
        SetDefault(attribute, value);
        EunomiaFabric fabric;
        EunomiaBuildClos(fabric, {2, 2, 2});
        return fabric.Configure(0);
    }

    /** Switches in a row, a host at either end. */
    static std::string Chain(const char *balancer, uint32_t switches)
    {
        Simulation simulation;
        SetDefault("Switch::Balancer", balancer);
        EunomiaFabric fabric;
        for (uint32_t i = 0; i < switches; i++) {
            fabric.AddSwitch("link" + std::to_string(i));
        }
        for (uint32_t i = 0; i + 1 < switches; i++) {
            fabric.ConnectSwitches(i, i + 1);
        }
        fabric.ConnectHost(fabric.AddHost(), 0);
        fabric.ConnectHost(fabric.AddHost(), switches - 1);
        fabric.Route();
        return fabric.Configure(0);
    }

    /** Frames by way, of 100 flows at a leaf, in a fabric whose streams start at `stream`. */
    static std::vector<uint64_t> Spread(int64_t stream, uint32_t leaf = 0)
    {
        Simulation simulation;
        SetDefault("Switch::Balancer", "ecmp");
        EunomiaFabric fabric;
        EunomiaBuildClos(fabric, {2, 4, 1});
        NS_ABORT_MSG_UNLESS(fabric.Configure(stream).empty(), "attributes");
        for (uint32_t i = 0; i < 100; i++) {
            EunomiaFrame *frame = EunomiaTestFrame(100, 3);
            frame->dst = 1 - leaf;
            frame->entropy = i * 2654435761u;
            fabric.GetSwitch(leaf)->Receive(PeekPointer(fabric.GetSwitch(leaf)->GetPort(0)), frame);
        }
        std::vector<uint64_t> frames;
        for (uint32_t p = 1; p <= 4; p++) {
            const auto port = fabric.GetSwitch(leaf)->GetPort(p);
            frames.push_back(port->GetQueued() + port->GetFramesSent(EunomiaFrameKind::Data));
        }
        return frames;
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(Problem("Switch::Balancer", "spray"), "", "fine");
        NS_TEST_EXPECT_MSG_EQ(Problem("Switch::Balancer", "x"),
                              "ns3::EunomiaSwitch::Balancer: there is no balancer x", "switch");
        NS_TEST_EXPECT_MSG_EQ(Problem("Switch::Balancer", "conga"), "", "two tiers");
        NS_TEST_EXPECT_MSG_EQ(Chain("conga", 3), "", "as long as two tiers");
        NS_TEST_EXPECT_MSG_EQ(Chain("conga", 4),
                              "ns3::EunomiaSwitch::Balancer: conga takes two tiers of switches, "
                              "and hosts here are more than 4 links apart",
                              "longer");
        NS_TEST_EXPECT_MSG_EQ(Problem("Nic::Verb", "x"),
                              "ns3::EunomiaNic::Verb: there is no verb x", "NIC");
        NS_TEST_EXPECT_MSG_EQ((Spread(0) == Spread(0)), true, "the same streams");
        NS_TEST_EXPECT_MSG_EQ((Spread(0) == Spread(1000)), false, "others");
        NS_TEST_EXPECT_MSG_EQ((Spread(0, 0) == Spread(0, 1)), false, "each switch has its own");
        NS_TEST_EXPECT_MSG_EQ((Spread(1, 0) == Spread(0, 1)), true, "one after the other");
    }
};

class EunomiaFabricTestSuite : public TestSuite {
  public:
    EunomiaFabricTestSuite() : TestSuite("eunomia-fabric", Type::UNIT)
    {
        AddTestCase(new ClosCase);
        AddTestCase(new ReachCase);
        AddTestCase(new IdealCase);
        AddTestCase(new ConservationCase);
        AddTestCase(new CongestionCase);
        AddTestCase(new ConfigureCase);
    }
};

EunomiaFabricTestSuite g_eunomiaFabricTestSuite;

} // namespace
