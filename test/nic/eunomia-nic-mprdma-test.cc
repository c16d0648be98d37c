// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-fabric.h"
#include "eunomia-test-nic.h"

#include "ns3/test.h"

#include <array>
#include <map>
#include <set>
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

void UseMprdma()
{
    SetDefault("Nic::Transport", "mprdma");
    SetDefault("Nic::CongestionControl", "none");
    SetDefault("Switch::Balancer", "ecmp");
}

class RefusalsCase : public TestCase {
  public:
    RefusalsCase() : TestCase("what is wrong with an attribute") {}

  private:
    void DoRun() override
    {
        Check("CongestionControl", "dcqcn",
              "CongestionControl: transport mprdma has a window of its own and takes none, not "
              "dcqcn");
        Check("MprdmaBitmap", "100", "MprdmaBitmap: 100 is no multiple of 64");
        Check("Gate", "sender",
              "Gate: transport mprdma orders messages by synchronise packets, not by gate sender");
        Check("AckEvery", "2", "AckEvery: transport mprdma acknowledges every packet");
    }

    void Check(const std::string &attribute, const std::string &value, const std::string &problem)
    {
        Simulation simulation;
        UseMprdma();
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

/** Frames between two NICs: paths, entropies, echoes, lengths. */
class FramesCase : public TestCase {
  public:
    FramesCase() : TestCase("what frames say") {}

  private:
    void DoRun() override
    {
        Simulation simulation;
        UseMprdma();
        SetDefault("Nic::MprdmaInitialWindow", "20");
        EunomiaTestNics nics;
        nics.box.filter = [this](EunomiaFrame &f) {
            if (f.kind == Kind::Data) {
                m_data[f.psn] = f;
                f.ce = f.psn % 3 == 0;
            } else {
                m_answers[f.psn] = f;
            }
            return true;
        };
        nics.Post(nics.Connect(), 60 * MTU);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(nics.user.completions.size(), 1, "complete");
        NS_TEST_ASSERT_MSG_EQ(m_data.size(), 60, "packets");
        NS_TEST_ASSERT_MSG_EQ(m_answers.size(), 60, "an answer each");
        NS_TEST_EXPECT_MSG_EQ(nics.Made(1, Kind::Cnp), 0, "marks, and no CNP");
        NS_TEST_EXPECT_MSG_EQ(nics.Made(1, Kind::Ack), 60, "all in order");
        NS_TEST_EXPECT_MSG_EQ(nics.nic[1]->GetBitmapBytes(), 16, "64 slots of 2 bits");
        CheckFrames();
    }

    void CheckFrames()
    {
        std::set<uint16_t> paths;
        std::map<uint16_t, uint32_t> forth;
        std::map<uint16_t, uint32_t> back;
        for (const auto &[psn, data] : m_data) {
            const EunomiaFrame &answer = m_answers[psn];
            NS_TEST_EXPECT_MSG_GT_OR_EQ(data.path, 49152, "a port of the dynamic range");
            NS_TEST_EXPECT_MSG_EQ((data.retransmission || data.sync), false, "nothing special");
            NS_TEST_EXPECT_MSG_EQ(answer.path, data.path, "its path");
            NS_TEST_EXPECT_MSG_EQ(answer.head, psn + 1, "the cumulative point");
            NS_TEST_EXPECT_MSG_EQ(bool{answer.echo}, (psn % 3 == 0), "its mark");
            NS_TEST_EXPECT_MSG_EQ(answer.bytes, 62 + 4 + 8, "AETH, and the PSN");
            NS_TEST_EXPECT_MSG_EQ(data.bytes, 62 + 8 + MTU, "no bytes for the path");
            forth.emplace(data.path, data.entropy);
            back.emplace(answer.path, answer.entropy);
            NS_TEST_EXPECT_MSG_EQ(forth[data.path], data.entropy, "a path, an entropy");
            NS_TEST_EXPECT_MSG_EQ(back[data.path], answer.entropy, "and one back");
            NS_TEST_EXPECT_MSG_NE(data.entropy, answer.entropy, "its own");
            paths.insert(data.path);
        }
        NS_TEST_EXPECT_MSG_GT_OR_EQ(paths.size(), 19, "the window went over as many paths");
        // Answers clock, so no path is new after the first window but by a probe.
        NS_TEST_EXPECT_MSG_LT_OR_EQ(paths.size(), 24, "and later packets over the same");
        std::set<uint32_t> entropies;
        for (const auto &[path, entropy] : forth) {
            entropies.insert(entropy);
        }
        NS_TEST_EXPECT_MSG_EQ(entropies.size(), paths.size(), "all different");
    }

    std::map<uint32_t, EunomiaFrame> m_data;
    std::map<uint32_t, EunomiaFrame> m_answers;
};

/** Equal seeds give equal paths; another seed, or another QP, others. */
class SeedCase : public TestCase {
  public:
    SeedCase() : TestCase("paths follow from the seed") {}

  private:
    static std::vector<uint16_t> Paths(uint32_t seed, uint32_t qps)
    {
        Simulation simulation;
        RngSeedManager::SetSeed(seed);
        UseMprdma();
        EunomiaTestNics nics;
        std::vector<uint16_t> paths;
        uint32_t qp = 0;
        for (uint32_t i = 0; i < qps; i++) {
            qp = nics.Connect();
        }
        nics.box.filter = [&paths](EunomiaFrame &f) {
            if (f.kind == Kind::Data) {
                paths.push_back(f.path);
            }
            return true;
        };
        nics.Post(qp, 30 * MTU);
        Simulator::Run();
        return paths;
    }

    void DoRun() override
    {
        const std::vector<uint16_t> first = Paths(1, 1);
        NS_TEST_EXPECT_MSG_EQ(first.size(), 30, "packets");
        NS_TEST_EXPECT_MSG_EQ((first == Paths(1, 1)), true, "again");
        NS_TEST_EXPECT_MSG_EQ((first == Paths(2, 1)), false, "another seed");
        NS_TEST_EXPECT_MSG_EQ((first == Paths(1, 2)), false, "another QP");
    }
};

/** First copies and answers get lost; everything completes, and each byte is taken once. */
class LossCase : public TestCase {
  public:
    LossCase() : TestCase("what is lost goes again") {}

  private:
    void DoRun() override
    {
        for (const char *verb : {"send", "write"}) {
            Check(verb, {}, 0);
            Check(verb, {0}, 0);
            Check(verb, {5, 6, 20}, 0);
            Check(verb, {199}, 0);
            Check(verb, {190, 195, 199}, 0);
            Check(verb, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 10);
            Check(verb, {}, 40);
            Check(verb, {3}, 40);
        }
        AllLost();
        Edge();
    }

    /** Of 200 packets the first copies of `lost`, of the answers a percentage. */
    void Check(const std::string &verb, const std::set<uint32_t> &lost, uint32_t percent)
    {
        constexpr uint32_t PACKETS = 200;
        Simulation simulation;
        UseMprdma();
        SetDefault("Nic::Verb", verb);
        SetDefault("Nic::RetransmitTimeout", "200us");
        EunomiaTestNics nics;
        uint32_t answers = 0;
        nics.box.filter = [&](EunomiaFrame &f) {
            if (f.kind == Kind::Data) {
                return f.retransmission || !lost.count(f.psn);
            }
            return answers++ * 37 % 100 >= percent;
        };
        const uint32_t flow = nics.Post(nics.Connect(), PACKETS * MTU);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(nics.user.completions.size(), 1, verb << " completes");
        const auto &stats = EunomiaTestNics::Flows()[flow];
        NS_TEST_EXPECT_MSG_EQ(stats.accepted, PACKETS * MTU, "each byte once");
        NS_TEST_EXPECT_MSG_GT_OR_EQ(stats.retransmitted, lost.size(), "sent again");
        if (lost.empty() && percent == 0) {
            NS_TEST_EXPECT_MSG_EQ(stats.retransmitted, 0, "nothing in vain");
        }
    }

    /** Everything is lost for a while; afterwards a timeout brings it all. */
    void AllLost()
    {
        Simulation simulation;
        UseMprdma();
        EunomiaTestNics nics;
        nics.box.filter = [](EunomiaFrame &) { return EunomiaNow() > 5000 * US; };
        const uint32_t flow = nics.Post(nics.Connect(), 90 * MTU);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(nics.user.completions.size(), 1, "complete");
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestNics::Flows()[flow].accepted, 90 * MTU, "each byte");
        // Timeouts at 4 and 8 ms; half of the window, and the answers, clock the rest.
        NS_TEST_EXPECT_MSG_LT(nics.user.completions[0].at, 8100 * US, "soon after the second");
    }

    /** Packet 0 of 200 is lost: the receiver's 64 slots fill, and what comes then is NACKed. */
    void Edge()
    {
        Simulation simulation;
        UseMprdma();
        EunomiaTestNics nics;
        nics.box.filter = [](EunomiaFrame &f) {
            return f.kind != Kind::Data || f.retransmission || f.psn != 0;
        };
        nics.Post(nics.Connect(), 200 * MTU);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(nics.user.completions.size(), 1, "complete");
        NS_TEST_EXPECT_MSG_GT(nics.Made(1, Kind::Nack), 0, "the edge");
        NS_TEST_EXPECT_MSG_GT_OR_EQ(nics.Made(1, Kind::Sack), 63, "slots");
        NS_TEST_EXPECT_MSG_LT(nics.user.completions[0].at, 100 * US, "no timeout");
    }
};

/** A WRITE of many packets: its Last leaves alpha Delta RTT / cwnd after the one before. */
class SynchroniseCase : public TestCase {
  public:
    SynchroniseCase() : TestCase("synchronise packets") {}

  private:
    /** Time between the arrivals of the last two of ten packets, in the box. */
    static int64_t Gap(const std::string &verb, const std::string &alpha)
    {
        Simulation simulation;
        UseMprdma();
        SetDefault("Nic::Verb", verb);
        SetDefault("Nic::MprdmaSyncAlpha", alpha);
        SetDefault("Nic::MprdmaInitialWindow", "64");
        SetDefault("Nic::MprdmaRtt", "3us");
        EunomiaTestNics nics;
        std::vector<int64_t> arrivals;
        bool sync = false;
        nics.box.filter = [&](EunomiaFrame &f) {
            if (f.kind == Kind::Data) {
                arrivals.push_back(EunomiaNow());
                sync = sync || f.sync;
            }
            return true;
        };
        nics.Post(nics.Connect(), 10 * MTU);
        Simulator::Run();
        const bool right = arrivals.size() == 10 && sync == (verb != "send");
        return right ? arrivals[9] - arrivals[8] : -1;
    }

    void DoRun() override
    {
        const int64_t wire = EunomiaTestWireTime(MTU + 62 + 8 + 20, EunomiaTestNics::RATE);
        const int64_t written = EunomiaTestWireTime(MTU + 62 + 8 + 16 + 20, EunomiaTestNics::RATE);
        NS_TEST_EXPECT_MSG_EQ(Gap("send", "1"), wire, "SEND: no synchronisation");
        NS_TEST_EXPECT_MSG_EQ(Gap("write", "0"), written, "no wait");
        // From the start of one to the start of the other: 1 x 32 x 3 us / 64.
        NS_TEST_EXPECT_MSG_EQ(Gap("write", "1"), 1500 * US / 1000, "as published");
        NS_TEST_EXPECT_MSG_EQ(Gap("write-imm", "2"), 3 * US + (4 * 8 * 1000 / 100), "twice");
    }
};

/** Long flows, each with what it has got by a time. */
class Flows {
  public:
    Flows(EunomiaFabric &fabric, EunomiaTestUser &user) : m_fabric(fabric), m_user(user) {}

    void Start(uint32_t from, uint32_t to)
    {
        const auto nic = m_fabric.GetNic(from);
        nic->SetUser(&m_user);
        m_flows.push_back(EunomiaTestNics::Flows().Open());
        nic->Post(nic->Connect(m_fabric.GetNic(to), 3), 1u << 30, m_flows.back());
    }

    /** Payload that each has got between two times. */
    std::vector<double> Run(int64_t fromPs, int64_t untilPs)
    {
        std::vector<double> got(m_flows.size());
        Simulation::At(fromPs, [&] {
            for (size_t i = 0; i < got.size(); i++) {
                got[i] = static_cast<double>(EunomiaTestNics::Flows()[m_flows[i]].accepted);
            }
        });
        Simulator::Stop(TimeStep(static_cast<uint64_t>(untilPs)));
        Simulator::Run();
        for (size_t i = 0; i < got.size(); i++) {
            got[i] = static_cast<double>(EunomiaTestNics::Flows()[m_flows[i]].accepted) - got[i];
        }
        return got;
    }

  private:
    EunomiaFabric &m_fabric;
    EunomiaTestUser &m_user;
    std::vector<uint32_t> m_flows;
};

/** Two and four flows into one port: equal shares, and the port is busy. */
class BottleneckCase : public TestCase {
  public:
    BottleneckCase() : TestCase("one bottleneck") {}

  private:
    void DoRun() override
    {
        Check(1);
        Check(2);
        Check(4);
    }

    void Check(uint32_t senders)
    {
        Simulation simulation;
        UseMprdma();
        EunomiaFabric fabric;
        EunomiaBuildClos(fabric, {1, 1, senders + 1});
        EunomiaTestUser user;
        Flows flows(fabric, user);
        for (uint32_t h = 1; h <= senders; h++) {
            flows.Start(h, 0);
        }
        constexpr int64_t SPAN = 1500 * US;
        const std::vector<double> got = flows.Run(500 * US, 500 * US + SPAN);
        double sum = 0;
        double squares = 0;
        for (const double bytes : got) {
            sum += bytes;
            squares += bytes * bytes;
        }
        const double jain = sum * sum / (senders * squares);
        const double most = SPAN * 1e-12 * 100e9 / 8 * MTU / (MTU + 62 + 8 + 20);
        std::cout << senders << " flows into one port: Jain's index " << jain << ", " << sum / most
                  << " of its rate\n";
        NS_TEST_EXPECT_MSG_GT(jain, 0.9, senders << " flows are equal");
        NS_TEST_EXPECT_MSG_GT(sum / most, 0.9, senders << " flows use the port");
        NS_TEST_EXPECT_MSG_EQ(fabric.GetTotals().pauses, 0, "and pause nobody");
    }
};

/** Two spines, one of which others load to four fifths: the share goes to the free one. */
class UnequalPathsCase : public TestCase {
  public:
    UnequalPathsCase() : TestCase("two paths of unequal load") {}

  private:
    /** Share of the flow's packets on the uplink that others load, if they do. */
    double Share(bool loaded)
    {
        Simulation simulation;
        UseMprdma();
        SetDefault("Switch::EcnMin", "20000");
        SetDefault("Switch::EcnMax", "40000");
        EunomiaFabric fabric;
        EunomiaBuildClos(fabric, {2, 2, 3});
        for (const uint32_t h : {1u, 4u}) {
            fabric.GetNic(h)->SetAttribute("Transport", StringValue("gbn"));
            fabric.GetNic(h)->SetAttribute("Window", UintegerValue(84'000));
        }
        for (const uint32_t port : {3u, 4u}) {
            fabric.GetSwitch(0)->GetPort(port)->TraceConnectWithoutContext(
                "Dequeue", MakeCallback(&UnequalPathsCase::Dequeue, this).Bind(port));
        }
        m_counts.clear();
        EunomiaTestUser user;
        Flows flows(fabric, user);
        flows.Start(0, 3);
        if (loaded) {
            flows.Start(1, 4);
        }
        const std::vector<double> got = flows.Run(1000 * US, 2000 * US);
        NS_TEST_EXPECT_MSG_GT(got[0] * 8 / 1e6, 90, "Gb/s in 1 ms: all that its port can do");
        const uint32_t busy = m_counts[{1, 3}] > 0 ? 3 : 4;
        const auto here = static_cast<double>(m_counts[{0, busy}]);
        return here / static_cast<double>(m_counts[{0, 3}] + m_counts[{0, 4}]);
    }

    void Dequeue(uint32_t port, const EunomiaFrame &frame)
    {
        if (frame.kind == Kind::Data && EunomiaNow() > 1000 * US) {
            m_counts[{frame.src, port}]++;
        }
    }

    void DoRun() override
    {
        const double free = Share(false);
        NS_TEST_EXPECT_MSG_GT(free, 0.3, "nobody else: both");
        NS_TEST_EXPECT_MSG_LT(free, 0.7, "nobody else: both");
        const double loaded = Share(true);
        std::cout << "share on the loaded path " << loaded << ", on a free one " << free << "\n";
        NS_TEST_EXPECT_MSG_LT(loaded, 0.36, "more over the other one");
    }

    std::map<std::pair<uint32_t, uint32_t>, uint64_t> m_counts; //!< [source, port]
};

/** Twenty to one without PFC: packets drop, all completes. */
class IncastCase : public TestCase {
  public:
    IncastCase() : TestCase("incast without PFC") {}

  private:
    void DoRun() override
    {
        for (const char *verb : {"send", "write"}) {
            Simulation simulation;
            UseMprdma();
            SetDefault("Nic::Verb", verb);
            SetDefault("Switch::Pfc", "false");
            SetDefault("Switch::BufferSize", "600000");
            EunomiaFabric fabric;
            EunomiaBuildClos(fabric, {1, 1, 21});
            EunomiaTestUser user;
            for (uint32_t h = 1; h <= 20; h++) {
                const auto nic = fabric.GetNic(h);
                nic->SetUser(&user);
                nic->Post(nic->Connect(fabric.GetNic(0), 3), 300 * MTU,
                          EunomiaTestNics::Flows().Open());
            }
            Simulator::Run();
            std::string problem;
            fabric.Conserved(&problem);
            NS_TEST_EXPECT_MSG_EQ(problem, "", "conservation");
            NS_TEST_EXPECT_MSG_EQ(user.completions.size(), 20, "complete");
            NS_TEST_EXPECT_MSG_EQ(user.failures.size(), 0, "no failure");
            NS_TEST_EXPECT_MSG_GT(fabric.GetTotals().dropped, 500, "a buffer that is too small");
        }
    }
};

/** A QP that is closed with window and timers open leaves nothing to the next in its slot. */
class ReuseCase : public TestCase {
  public:
    ReuseCase() : TestCase("a slot used again starts anew") {}

  private:
    void DoRun() override
    {
        Simulation simulation;
        UseMprdma();
        EunomiaTestNics nics;
        const uint32_t first = nics.Connect();
        nics.Post(first, 500 * MTU);
        uint32_t flow = 0;
        Simulation::At(9 * US, [&] {
            nics.nic[0]->Close(first);
            const uint32_t second = nics.Connect();
            flow = nics.Post(second, 50 * MTU);
        });
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(nics.user.completions.size(), 1, "complete");
        const auto &stats = EunomiaTestNics::Flows()[flow];
        NS_TEST_EXPECT_MSG_EQ(stats.accepted, 50 * MTU, "every byte was new");
        NS_TEST_EXPECT_MSG_EQ(stats.retransmitted, 0, "nothing sent again");
        NS_TEST_EXPECT_MSG_LT(nics.user.completions[0].at, 30 * US, "in one window");
    }
};

class EunomiaNicMprdmaTestSuite : public TestSuite {
  public:
    EunomiaNicMprdmaTestSuite() : TestSuite("eunomia-nic-mprdma", Type::UNIT)
    {
        AddTestCase(new RefusalsCase);
        AddTestCase(new FramesCase);
        AddTestCase(new SeedCase);
        AddTestCase(new LossCase);
        AddTestCase(new SynchroniseCase);
        AddTestCase(new BottleneckCase);
        AddTestCase(new UnequalPathsCase);
        AddTestCase(new IncastCase);
        AddTestCase(new ReuseCase);
    }
};

EunomiaNicMprdmaTestSuite g_eunomiaNicMprdmaTestSuite;

} // namespace
