// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-fabric.h"
#include "eunomia-test-nic.h"

#include "ns3/boolean.h"
#include "ns3/test.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

using namespace ns3;

namespace {

using Simulation = EunomiaTestSimulation;
using Kind = EunomiaFrameKind;

constexpr int64_t US = 1'000'000; //!< in ps
constexpr int64_t MS = 1000 * US;
constexpr uint64_t RATE = 100 * EUNOMIA_TEST_GBPS;

void SetDefault(const std::string &name, const std::string &value)
{
    Config::SetDefault("ns3::Eunomia" + name, StringValue(value));
}

/** Lengths of frames as the standards and the papers give them, apart from core/wire. */
struct Lengths {
    uint32_t data;  //!< added to the payload
    uint32_t first; //!< more in the first packet of a message
    uint32_t last;  //!< more in the last
    uint32_t pad;   //!< payload is a multiple of this
    uint32_t ack;
    uint32_t gap;
    uint32_t mtu;
};

/**
 * FCT in an empty network, frame by frame: on link k, frame n ends at
 * D(k,n) = max(D(k,n-1), arrival) + time on the wire; an ACK for each goes back likewise. With the
 * sender gate the Last of a message waits for the ACK of all before it.
 */
int64_t MaxPlus(uint64_t bytes, uint32_t links, int64_t delay, const Lengths &l, bool gate)
{
    std::vector<int64_t> data(links, 0);
    std::vector<int64_t> acks(links, 0);
    int64_t answered = 0;
    const int64_t ackTime = EunomiaTestWireTime(l.ack + l.gap, RATE);
    const int64_t byteTime = EunomiaTestWireTime(1, RATE);
    while (bytes > 0) {
        const uint64_t message = std::min<uint64_t>(bytes, uint64_t{1} << 31);
        bytes -= message;
        for (uint64_t sent = 0; sent < message;) {
            const uint64_t payload = std::min<uint64_t>(l.mtu, message - sent);
            const bool first = sent == 0;
            sent += payload;
            const bool last = sent == message;
            const uint64_t stored = (payload + l.pad - 1) / l.pad * l.pad + l.data +
                                    (first ? l.first : 0) + (last ? l.last : 0);
            const auto wire = static_cast<int64_t>(stored + l.gap) * byteTime;
            int64_t at = gate && last ? answered : 0;
            for (int64_t &free : data) {
                free = std::max(free, at) + wire;
                at = free + delay;
            }
            for (int64_t &free : acks) {
                free = std::max(free, at) + ackTime;
                at = free + delay;
            }
            answered = at;
        }
    }
    return answered;
}

/** How a scheme's frames look; the numbers are those of RoCEv2 (InfiniBand Annex A17). */
struct Scheme {
    const char *transport;
    const char *verb;
    uint32_t flat;
    uint32_t mtu;
    Lengths lengths;
};

constexpr uint32_t ROCE = 14 + 20 + 8 + 12 + 4 + 4;
constexpr uint32_t RETH = 16;
constexpr uint32_t ORDER = 8;
constexpr uint32_t AETH = 4;

const std::vector<Scheme> g_schemes = {
    {"gbn", "send", 48, 1000, {48, 0, 0, 1, 60, 0, 1000}},
    {"gbn", "send", 0, 1024, {ROCE, 0, 0, 4, ROCE + AETH, 20, 1024}},
    {"gbn", "write", 0, 1024, {ROCE, RETH, 0, 4, ROCE + AETH, 20, 1024}},
    {"gbn", "write-imm", 0, 1024, {ROCE, RETH, 4, 4, ROCE + AETH, 20, 1024}},
    {"eunomia", "send", 48, 1000, {48, 0, 0, 1, 60, 0, 1000}},
    {"eunomia", "send", 0, 1024, {ROCE + ORDER, 0, 0, 4, ROCE + AETH, 20, 1024}},
    {"eunomia", "write", 0, 1024, {ROCE + ORDER + RETH, 0, 0, 4, ROCE + AETH, 20, 1024}},
    {"eunomia", "write-imm", 0, 1024, {ROCE + ORDER + RETH, 0, 4, 4, ROCE + AETH, 20, 1024}},
};

/** One flow alone on two racks, against the recursion above. */
class UnloadedCase : public TestCase {
  public:
    UnloadedCase(const std::string &name, std::vector<uint64_t> sizes, std::vector<Scheme> schemes,
                 std::vector<uint32_t> firstPsns, std::vector<uint32_t> targets)
        : TestCase(name), m_sizes(std::move(sizes)), m_schemes(std::move(schemes)),
          m_firstPsns(std::move(firstPsns)), m_targets(std::move(targets))
    {
    }

  private:
    void DoRun() override
    {
        for (const Scheme &scheme : m_schemes) {
            for (const uint32_t psn : m_firstPsns) {
                for (const uint32_t target : m_targets) {
                    for (const uint64_t bytes : m_sizes) {
                        Check(scheme, psn, target, bytes);
                    }
                }
            }
        }
    }

    void Check(const Scheme &scheme, uint32_t psn, uint32_t target, uint64_t bytes)
    {
        constexpr int64_t DELAY = 1'234'567;
        Simulation simulation;
        SetDefault("Nic::Transport", scheme.transport);
        SetDefault("Nic::Verb", scheme.verb);
        SetDefault("Nic::FlatOverhead", std::to_string(scheme.flat));
        SetDefault("Nic::Mtu", std::to_string(scheme.mtu));
        SetDefault("Nic::FirstPsn", std::to_string(psn));
        SetDefault("Link::Gap", std::to_string(scheme.lengths.gap));
        SetDefault("Link::Delay", std::to_string(DELAY) + "ps");
        EunomiaFabric fabric;
        EunomiaBuildClos(fabric, {2, 1, 2});
        EunomiaTestUser user;
        fabric.GetNic(0)->SetUser(&user);
        fabric.GetNic(target)->SetUser(&user);
        auto &flows = EunomiaTestNics::Flows();
        const uint32_t flow = flows.Open();
        const uint32_t qp = fabric.GetNic(0)->Connect(fabric.GetNic(target), 3);
        uint64_t packets = 0;
        for (uint64_t left = bytes; left > 0;) {
            const uint64_t message = std::min<uint64_t>(left, uint64_t{1} << 31);
            fabric.GetNic(0)->Post(qp, static_cast<uint32_t>(message), flow);
            packets += (message + scheme.mtu - 1) / scheme.mtu;
            left -= message;
        }
        Simulator::Run();
        const uint32_t links = target < 2 ? 2 : 4;
        const bool gate =
            std::string(scheme.transport) == "eunomia" && std::string(scheme.verb) != "send";
        const std::string what = std::string(scheme.transport) + " " + scheme.verb + ", " +
                                 std::to_string(links) + " links, " + std::to_string(bytes) +
                                 " B, first PSN " + std::to_string(psn);
        NS_TEST_ASSERT_MSG_EQ(user.completions.empty(), false, what);
        const int64_t expected = MaxPlus(bytes, links, DELAY, scheme.lengths, gate);
        NS_TEST_EXPECT_MSG_EQ(user.completions.back().at, expected, what);
        NS_TEST_EXPECT_MSG_EQ(flows[flow].packets, packets, what);
        NS_TEST_EXPECT_MSG_EQ(flows[flow].accepted, bytes, what);
        NS_TEST_EXPECT_MSG_EQ(flows[flow].retransmitted, 0, what);
        NS_TEST_EXPECT_MSG_EQ(flows[flow].outOfOrder, 0, what);
        if (!gate) {
            NS_TEST_EXPECT_MSG_EQ(fabric.GetIdealFct(0, target, bytes, false), expected,
                                  "the closed form, " << what);
        }
        std::string problem;
        NS_TEST_EXPECT_MSG_EQ(fabric.Conserved(&problem), true, problem << ", " << what);
    }

    std::vector<uint64_t> m_sizes;
    std::vector<Scheme> m_schemes;
    std::vector<uint32_t> m_firstPsns;
    std::vector<uint32_t> m_targets;
};

/** Line rate times the payload's share, once the pipe is full. */
class GoodputCase : public TestCase {
  public:
    GoodputCase() : TestCase("goodput of a long flow") {}

  private:
    static int64_t Fct(uint32_t bytes)
    {
        Simulation simulation;
        SetDefault("Nic::Transport", "gbn");
        EunomiaTestNics nics;
        nics.Post(nics.Connect(), bytes);
        Simulator::Run();
        NS_ABORT_MSG_UNLESS(nics.user.completions.size() == 1, "the flow did not end");
        return nics.user.completions[0].at;
    }

    void DoRun() override
    {
        constexpr uint32_t PACKETS = 50'000;
        const auto time = static_cast<double>(Fct(PACKETS * 1024) - Fct(1024));
        const double goodput = (PACKETS - 1) * 1024 * 8e12 / time;
        const double share = 1024.0 / (1024 + ROCE + 20);
        NS_TEST_EXPECT_MSG_EQ_TOL(goodput / (RATE * share), 1, 1e-6, "of the line rate");
    }
};

/** QPs of a NIC take turns, packet by packet; priorities, too, unless paused. */
class SharingCase : public TestCase {
  public:
    SharingCase() : TestCase("QPs and priorities take turns") {}

  private:
    void DoRun() override
    {
        Turns();
        Paused();
    }

    void Turns()
    {
        Simulation simulation;
        SetDefault("Nic::Transport", "gbn");
        EunomiaTestNics nics;
        m_order.clear();
        nics.nic[0]->GetPort()->TraceConnectWithoutContext("Dequeue",
                                                           MakeCallback(&SharingCase::Sent, this));
        std::vector<uint32_t> flows;
        for (const uint8_t priority : {3, 3, 3, 3, 5}) {
            flows.push_back(nics.Post(nics.Connect(priority), 100 * 1024));
        }
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(m_order.size(), 500, "all left, once");
        std::map<uint32_t, uint32_t> sent;
        for (size_t i = 0; i < 200; i++) {
            sent[m_order[i]]++;
        }
        for (size_t i = 0; i < 4; i++) {
            NS_TEST_EXPECT_MSG_EQ_TOL(sent[flows[i]], 25.0, 1.0, "a quarter of priority 3");
        }
        NS_TEST_EXPECT_MSG_EQ_TOL(sent[flows[4]], 100.0, 1.0, "priority 5 alone has half");
        NS_TEST_EXPECT_MSG_EQ(nics.user.completions.size(), 5, "all done");
    }

    void Paused()
    {
        Simulation simulation;
        SetDefault("Nic::Transport", "gbn");
        EunomiaTestNics nics;
        const uint32_t slow = nics.Connect(3);
        const uint32_t fast = nics.Connect(5);
        nics.box.port[0]->SendFirst(EunomiaTestPause(3, 100'000));
        Simulation::At(2 * US, [&] {
            nics.Post(slow, 10 * 1024);
            nics.Post(fast, 10 * 1024);
        });
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(nics.user.completions.size(), 2, "both done");
        NS_TEST_EXPECT_MSG_EQ(nics.user.completions[0].qp, fast, "not paused, not held up");
        NS_TEST_EXPECT_MSG_LT(nics.user.completions[0].at, 12 * US, "at once");
        NS_TEST_EXPECT_MSG_GT(nics.user.completions[1].at, 100 * US, "after the pause");
        NS_TEST_EXPECT_MSG_EQ(nics.nic[0]->GetRetransmitted(), 0, "a pause is no loss");
    }

    void Sent(const EunomiaFrame &frame)
    {
        if (frame.kind == Kind::Data) {
            m_order.push_back(frame.flow);
        }
    }

    std::vector<uint32_t> m_order;
};

/** Two flows from two racks into one host: both end, at about the same time. */
class FairnessCase : public TestCase {
  public:
    FairnessCase() : TestCase("DCQCN shares a host's link") {}

  private:
    void DoRun() override
    {
        constexpr int SEEDS = 5;
        double difference = 0;
        for (uint32_t seed = 1; seed <= SEEDS; seed++) {
            const auto fct = Run(seed, "dcqcn");
            const double d = std::abs(fct[0] - fct[1]) / ((fct[0] + fct[1]) / 2);
            std::cout << "eunomia-nic: seed " << seed << ": FCTs " << fct[0] / 1e9 << " and "
                      << fct[1] / 1e9 << " ms, difference " << 100 * d << " %" << std::endl;
            difference += d / SEEDS;
        }
        NS_TEST_EXPECT_MSG_LT(difference, 0.1, "mean difference of the two FCTs");
        NS_TEST_EXPECT_MSG_NE(Run(1, "dcqcn")[0], Run(1, "none")[0], "control makes a difference");
    }

    std::array<double, 2> Run(uint32_t seed, const char *control)
    {
        Simulation simulation;
        RngSeedManager::SetSeed(seed);
        SetDefault("Nic::Transport", "gbn");
        SetDefault("Nic::CongestionControl", control);
        SetDefault("Switch::Balancer", "ecmp");
        EunomiaFabric fabric;
        EunomiaBuildClos(fabric, {3, 2, 1});
        NS_ABORT_MSG_UNLESS(fabric.Configure(0).empty(), "attributes");
        EunomiaTestUser user;
        for (uint32_t h = 0; h < 3; h++) {
            fabric.GetNic(h)->SetUser(&user);
        }
        for (uint32_t h = 0; h < 2; h++) {
            const uint32_t qp = fabric.GetNic(h)->Connect(fabric.GetNic(2), 3);
            fabric.GetNic(h)->Post(qp, BYTES, EunomiaTestNics::Flows().Open());
        }
        Simulator::Run();
        NS_ABORT_MSG_UNLESS(user.completions.size() == 2, "a flow did not end");
        NS_TEST_EXPECT_MSG_EQ(fabric.GetTotals().dropped, 0, "PFC");
        return {static_cast<double>(user.completions[0].at),
                static_cast<double>(user.completions[1].at)};
    }

    static constexpr uint32_t BYTES = 100'000'000;
};

/** After a cut of the rate, packets leave exactly their bytes over the rate apart. */
class PacingCase : public TestCase {
  public:
    PacingCase() : TestCase("pacing to the picosecond") {}

  private:
    void DoRun() override
    {
        // Numbers of picoseconds a packet that are whole, and that are not.
        for (const uint64_t mbps : {50'000, 10'000, 7'001, 100}) {
            Check(mbps * 1'000'000);
        }
    }

    /** CNPs bring the rate down to the minimum, where it stays. */
    void Check(uint64_t minimum)
    {
        Simulation simulation;
        SetDefault("Nic::Transport", "gbn");
        SetDefault("Nic::DcqcnRateMin", std::to_string(minimum) + "bps");
        SetDefault("Nic::DcqcnIncreaseInterval", "100s");
        EunomiaTestNics nics;
        constexpr int CNPS = 60;
        uint32_t marks = 0;
        nics.box.filter = [&marks](EunomiaFrame &frame) {
            frame.ce = frame.kind == Kind::Data && marks++ < 100'000;
            return true;
        };
        m_sent.clear();
        nics.nic[0]->GetPort()->TraceConnectWithoutContext("Dequeue",
                                                           MakeCallback(&PacingCase::Sent, this));
        nics.Post(nics.Connect(), 1500 * 1024);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(m_sent.size(), 1500, "no packet twice");
        NS_TEST_EXPECT_MSG_EQ(m_sent[1] - m_sent[0], EunomiaTestWireTime(1024 + ROCE + 20, RATE),
                              "line rate at first");
        NS_TEST_EXPECT_MSG_GT(nics.Made(1, Kind::Cnp), uint64_t{CNPS} / 2, "CNPs");
        for (size_t i = 1200; i < 1500; i++) {
            NS_TEST_ASSERT_MSG_EQ(m_sent[i] - m_sent[i - 1],
                                  EunomiaTestWireTime(1024 + ROCE + 20, minimum),
                                  "gap before packet " << i << " at " << minimum << " b/s");
        }
    }

    void Sent(const EunomiaFrame &frame)
    {
        if (frame.kind == Kind::Data) {
            m_sent.push_back(EunomiaNow());
        }
    }

    std::vector<int64_t> m_sent;
};

/** Many paced QPs: the wire is shared by rate, none starves, none is early. */
class PacedManyCase : public TestCase {
  public:
    PacedManyCase() : TestCase("many paced QPs") {}

  private:
    void DoRun() override
    {
        Simulation simulation;
        SetDefault("Nic::Transport", "gbn");
        SetDefault("Nic::DcqcnRateMin", "3Gbps");
        SetDefault("Nic::DcqcnIncreaseInterval", "100s");
        EunomiaTestNics nics;
        nics.box.filter = [](EunomiaFrame &frame) {
            frame.ce = frame.kind == Kind::Data;
            return true;
        };
        nics.nic[0]->GetPort()->TraceConnectWithoutContext(
            "Dequeue", MakeCallback(&PacedManyCase::Sent, this));
        constexpr uint32_t QPS = 20;
        constexpr uint32_t PACKETS = 1000;
        for (uint32_t i = 0; i < QPS; i++) {
            nics.Post(nics.Connect(), PACKETS * 1024);
        }
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(nics.user.completions.size(), QPS, "all end");
        const int64_t gap = EunomiaTestWireTime(1024 + ROCE + 20, 3 * EUNOMIA_TEST_GBPS);
        const int64_t wire = EunomiaTestWireTime(1024 + ROCE + 20, RATE);
        for (const auto &[flow, times] : m_sent) {
            int64_t sum = 0;
            for (size_t i = 700; i < PACKETS; i++) {
                const int64_t found = times[i] - times[i - 1];
                sum += found;
                NS_TEST_ASSERT_MSG_EQ((found >= gap - QPS * wire), true, "never early");
            }
            // Twenty QPs at 3 Gb/s leave room on the wire: a packet waits for 19 others at most.
            NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(sum) / (300.0 * gap), 1, 0.02,
                                      "mean rate of flow " << flow);
        }
    }

    void Sent(const EunomiaFrame &frame)
    {
        if (frame.kind == Kind::Data) {
            m_sent[frame.flow].push_back(EunomiaNow());
        }
    }

    std::map<uint32_t, std::vector<int64_t>> m_sent;
};

/** Frames of an earlier life of a QP number do nothing to its successor. */
class StaleCase : public TestCase {
  public:
    explicit StaleCase(const char *transport)
        : TestCase(std::string("QP numbers are used again, ") + transport), m_transport(transport)
    {
    }

  private:
    void DoRun() override
    {
        ReceiverNumber();
        SenderNumber();
        InCallback();
        Many();
    }

    /**
     * The first QP still has packets to send when it is closed, so that the second one gets another
     * number at the sender, but the same one at the receiver.
     */
    void ReceiverNumber()
    {
        Simulation simulation;
        SetDefault("Nic::Transport", m_transport);
        EunomiaTestNics nics;
        const uint32_t first = nics.Connect();
        nics.Post(first, 1000 * 1024);
        Simulation::At(3 * US, [&] {
            nics.nic[0]->Close(first);
            const uint32_t second = nics.Connect();
            NS_TEST_EXPECT_MSG_NE(second, first, "numbers rest while in use");
            m_flow = nics.Post(second, 20 * 1024);
        });
        Simulator::Run();
        Verify(nics, 20);
    }

    /** All of the first QP's packets are on the wire when it is closed: both numbers return. */
    void SenderNumber()
    {
        Simulation simulation;
        SetDefault("Nic::Transport", m_transport);
        EunomiaTestNics nics;
        const uint32_t first = nics.Connect();
        nics.Post(first, 20 * 1024);
        Simulation::At(3 * US, [&] {
            nics.nic[0]->Close(first);
            const uint32_t second = nics.Connect();
            NS_TEST_EXPECT_MSG_EQ(second, first, "the number is used again");
            m_flow = nics.Post(second, 20 * 1024);
        });
        Simulator::Run();
        Verify(nics, 20);
    }

    void Verify(EunomiaTestNics &nics, uint32_t packets)
    {
        const EunomiaFlowStats &stats = nics.Flows()[m_flow];
        NS_TEST_EXPECT_MSG_GT(nics.nic[0]->GetStale() + nics.nic[1]->GetStale(), 0, "were there");
        NS_TEST_ASSERT_MSG_EQ(nics.user.completions.size(), 1, "the second completes");
        NS_TEST_EXPECT_MSG_EQ(nics.user.completions[0].message.cookie, m_flow, "and only it");
        NS_TEST_EXPECT_MSG_EQ(nics.user.visible.size(), 1, "is seen once");
        NS_TEST_EXPECT_MSG_EQ(stats.accepted, packets * 1024, "of its own bytes");
        NS_TEST_EXPECT_MSG_EQ(stats.packets, packets, "without a retransmission");
        NS_TEST_EXPECT_MSG_EQ(stats.outOfOrder, 0, "in order");
        NS_TEST_EXPECT_MSG_GT(nics.user.completions[0].at, nics.user.visible[0].at,
                              "in this order");
    }

    /** The user closes and opens anew while it hears of a completion. */
    void InCallback()
    {
        Simulation simulation;
        SetDefault("Nic::Transport", m_transport);
        SetDefault("Nic::EchoInAck", "true");
        EunomiaTestNics nics;
        // A congestion notification in the very answer that ends a life is not for the next one.
        nics.box.filter = [](EunomiaFrame &frame) {
            frame.ce = frame.kind == Kind::Data && frame.last;
            return true;
        };
        constexpr size_t LIVES = 300; // more than a generation has numbers
        uint32_t qp = nics.Connect();
        nics.Post(qp, 100 * 1024);
        nics.user.onCompletion = [&] {
            nics.nic[0]->Close(qp);
            if (nics.user.completions.size() < LIVES) {
                qp = nics.Connect();
                nics.Post(qp, 100 * 1024);
            }
        };
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(nics.user.completions.size(), LIVES, "every life completes");
        const int64_t each = nics.user.completions[0].at;
        for (size_t i = 0; i < LIVES; i++) {
            NS_TEST_ASSERT_MSG_EQ(nics.user.completions[i].at, static_cast<int64_t>(i + 1) * each,
                                  "each as if it were the first, life " << i);
        }
    }

    /** Lives of random lengths, closed at random moments. */
    void Many()
    {
        Simulation simulation;
        SetDefault("Nic::Transport", m_transport);
        EunomiaTestNics nics;
        std::mt19937 random(EunomiaTestFabricSeed("eunomia-nic"));
        std::vector<uint32_t> whole;
        for (int i = 0; i < 2000; i++) {
            const auto bytes = static_cast<uint32_t>(1 + random() % 20'000);
            const bool cut = random() % 2;
            const auto life = static_cast<int64_t>(random() % (8 * US));
            Simulation::At(i * 2 * US, [&nics, &whole, bytes, cut, life] {
                const uint32_t qp = nics.Connect();
                const uint32_t flow = nics.Post(qp, bytes);
                if (cut) {
                    Simulation::At(EunomiaNow() + life, [&nics, qp] { nics.nic[0]->Close(qp); });
                } else {
                    whole.push_back(flow);
                }
            });
        }
        Simulator::Run();
        std::map<uint64_t, uint32_t> completed;
        for (const auto &c : nics.user.completions) {
            completed[c.message.cookie]++;
            NS_TEST_EXPECT_MSG_EQ(nics.Flows()[static_cast<uint32_t>(c.message.cookie)].accepted,
                                  c.message.bytes, "bytes of flow " << c.message.cookie);
        }
        for (const uint32_t flow : whole) {
            NS_TEST_EXPECT_MSG_EQ(completed[flow], 1, "flow " << flow);
        }
        NS_TEST_EXPECT_MSG_GT(nics.nic[0]->GetStale(), 100, "stale answers were there");
        NS_TEST_EXPECT_MSG_GT(nics.nic[1]->GetStale(), 100, "stale data was there");
        NS_TEST_EXPECT_MSG_EQ(Simulation::Pool().GetAlive(), 0, "no frame left");
    }

    std::string m_transport;
    uint32_t m_flow = 0;
};

/** Losses that nothing behind them can reveal. */
class TailLossCase : public TestCase {
  public:
    explicit TailLossCase(const char *transport)
        : TestCase(std::string("loss of the last and of the only packet, ") + transport),
          m_transport(transport)
    {
    }

  private:
    void DoRun() override
    {
        for (const uint32_t packets : {1, 2, 50}) {
            LastData(packets);
            LastAck(packets);
        }
        GivesUp();
        ComesBack();
    }

    int64_t Extra() const
    {
        return m_transport == "eunomia" ? 2 * EunomiaTestWireTime(8, RATE) : 0;
    }

    /** The last packet is lost once: the timer runs from the last ACK, or from the packet. */
    void LastData(uint32_t packets)
    {
        Simulation simulation;
        SetDefault("Nic::Transport", m_transport);
        EunomiaTestNics nics;
        nics.box.filter = [&nics](EunomiaFrame &frame) {
            return !(frame.kind == Kind::Data && frame.last && nics.box.dropped == 0);
        };
        const uint32_t flow = nics.Post(nics.Connect(), packets * 1024);
        Simulator::Run();
        const int64_t wire = EunomiaTestWireTime(1024 + ROCE + 20, RATE) + Extra() / 2;
        const int64_t alone = nics.Fct(1024) + Extra();
        const int64_t progress = packets > 1 ? alone + (packets - 2) * wire : 0;
        NS_TEST_ASSERT_MSG_EQ(nics.user.completions.size(), 1, packets << " packets");
        NS_TEST_EXPECT_MSG_EQ(nics.user.completions[0].at, progress + 4 * MS + alone,
                              "repaired by the timeout, " << packets << " packets");
        NS_TEST_EXPECT_MSG_EQ(nics.Flows()[flow].retransmitted, 1, "one packet again");
        NS_TEST_EXPECT_MSG_EQ(nics.user.visible.size(), 1, "visible once");
    }

    /** The answer to the last packet is lost: the packet comes twice, the message once. */
    void LastAck(uint32_t packets)
    {
        Simulation simulation;
        SetDefault("Nic::Transport", m_transport);
        EunomiaTestNics nics;
        uint32_t answers = 0;
        nics.box.filter = [&](EunomiaFrame &frame) {
            return frame.kind != Kind::Ack || ++answers != packets;
        };
        const uint32_t flow = nics.Post(nics.Connect(), packets * 1024);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(nics.user.completions.size(), 1, packets << " packets");
        NS_TEST_EXPECT_MSG_EQ(nics.user.visible.size(), 1, "visible once");
        NS_TEST_EXPECT_MSG_EQ(nics.Flows()[flow].accepted, packets * 1024, "accepted once");
        NS_TEST_EXPECT_MSG_EQ(nics.Flows()[flow].retransmitted, 1, "one packet again");
    }

    void GivesUp()
    {
        for (const uint32_t limit : {1, 3, 7}) {
            Simulation simulation;
            SetDefault("Nic::Transport", m_transport);
            SetDefault("Nic::RetryLimit", std::to_string(limit));
            EunomiaTestNics nics;
            nics.box.filter = [](EunomiaFrame &) { return false; };
            const uint32_t qp = nics.Connect();
            const uint32_t flow = nics.Post(qp, 1);
            Simulator::Run();
            NS_TEST_ASSERT_MSG_EQ(nics.user.failures.size(), 1, "retry limit " << limit);
            NS_TEST_EXPECT_MSG_EQ(nics.user.failures[0].reason, "retry-limit", "reason");
            NS_TEST_EXPECT_MSG_EQ(nics.user.failures[0].qp, qp, "QP");
            NS_TEST_EXPECT_MSG_EQ(nics.user.failures[0].at, limit * 4 * MS, "limit " << limit);
            NS_TEST_EXPECT_MSG_EQ(nics.Flows()[flow].packets, limit, "tries");
            NS_TEST_EXPECT_MSG_EQ(nics.user.completions.size(), 0, "not complete");
        }
    }

    /** Progress starts the count of timeouts anew. */
    void ComesBack()
    {
        Simulation simulation;
        SetDefault("Nic::Transport", m_transport);
        EunomiaTestNics nics;
        std::map<uint32_t, uint32_t> tries;
        nics.box.filter = [&tries](EunomiaFrame &frame) {
            return frame.kind != Kind::Data || ++tries[frame.psn] == 6;
        };
        nics.Post(nics.Connect(), 3 * 1024);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(nics.user.failures.size(), 0, "five timeouts each are no failure");
        NS_TEST_EXPECT_MSG_EQ(nics.user.completions.size(), 1, "completes");
    }

    std::string m_transport;
};

/** Random loss both ways: everything completes, and what is counted fits. */
class LossyCase : public TestCase {
  public:
    explicit LossyCase(const char *transport)
        : TestCase(std::string("random loss of data and answers, ") + transport),
          m_transport(transport)
    {
    }

  private:
    void DoRun() override
    {
        for (const uint32_t perMille : {1u, 20u, 200u}) {
            for (const char *verb : {"send", "write"}) {
                Check(perMille, verb);
            }
        }
    }

    void Check(uint32_t perMille, const char *verb)
    {
        Simulation simulation;
        SetDefault("Nic::Transport", m_transport);
        SetDefault("Nic::Verb", verb);
        SetDefault("Nic::RetryLimit", "1000");
        SetDefault("Nic::RetransmitTimeout", "100us");
        EunomiaTestNics nics;
        std::mt19937 random(EunomiaTestFabricSeed("eunomia-nic"));
        uint64_t lost = 0;
        nics.box.filter = [&random, &lost, perMille](EunomiaFrame &frame) {
            const bool pass = random() % 1000 >= perMille;
            lost += !pass && frame.kind == Kind::Data;
            return pass;
        };
        uint64_t bytes = 0;
        std::vector<uint32_t> flows;
        for (int i = 0; i < 4; i++) {
            const uint32_t qp = nics.Connect();
            for (const uint32_t size : {1u, 100'000u, 1024u, 5000u, 200'000u}) {
                flows.push_back(nics.Post(qp, size));
                bytes += size;
            }
        }
        Simulator::Run();
        uint64_t accepted = 0;
        uint64_t packets = 0;
        for (const uint32_t flow : flows) {
            accepted += nics.Flows()[flow].accepted;
            packets += nics.Flows()[flow].packets;
        }
        const std::string what = std::to_string(perMille) + " per mille, " + verb;
        NS_TEST_EXPECT_MSG_EQ(nics.user.completions.size(), flows.size(), what);
        NS_TEST_EXPECT_MSG_EQ(nics.user.failures.size(), 0, what);
        NS_TEST_EXPECT_MSG_EQ(accepted, bytes, "each byte once, " << what);
        NS_TEST_EXPECT_MSG_EQ(packets, nics.Made(0, Kind::Data), what);
        NS_TEST_EXPECT_MSG_GT_OR_EQ(nics.nic[0]->GetRetransmitted(), lost, what);
        NS_TEST_EXPECT_MSG_EQ((lost > 0 || perMille < 20), true, what);
        NS_TEST_EXPECT_MSG_EQ(Simulation::Pool().GetAlive(), 0, what);
    }

    std::string m_transport;
};

/** The window is a cap on payload in flight, and no more than that. */
class WindowCase : public TestCase {
  public:
    WindowCase() : TestCase("window") {}

  private:
    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(Peak(10 * 1024), 10 * 1024, "a whole number of packets");
        NS_TEST_EXPECT_MSG_EQ(Peak(10 * 1024 + 1023), 10 * 1024, "not quite eleven");
        NS_TEST_EXPECT_MSG_EQ(Peak(100), 1024, "one packet goes in any case");
        NS_TEST_EXPECT_MSG_GT(Peak(0), 40 * 1024, "no limit");
    }

    /** Most payload sent and not acknowledged at any time. */
    int64_t Peak(uint32_t window)
    {
        Simulation simulation;
        SetDefault("Nic::Transport", "gbn");
        SetDefault("Nic::Window", std::to_string(window));
        EunomiaTestNics nics;
        m_flight = m_peak = 0;
        nics.nic[0]->GetPort()->TraceConnectWithoutContext("Dequeue",
                                                           MakeCallback(&WindowCase::Sent, this));
        nics.nic[0]->TraceConnectWithoutContext("Arrival",
                                                MakeCallback(&WindowCase::Answered, this));
        nics.Post(nics.Connect(), 200 * 1024);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(nics.user.completions.size(), 1, "completes, window " << window);
        NS_TEST_EXPECT_MSG_EQ(m_flight, 0, "all acknowledged");
        return m_peak;
    }

    void Sent(const EunomiaFrame &frame)
    {
        m_flight += frame.payload;
        m_peak = std::max(m_peak, m_flight);
    }

    void Answered(const EunomiaFrame &) { m_flight -= 1024; }

    int64_t m_flight = 0;
    int64_t m_peak = 0;
};

/** With one ACK for 20 packets the number of ACKs is exact, whatever the sizes. */
class AckEveryCase : public TestCase {
  public:
    AckEveryCase() : TestCase("ACK coalescing") {}

  private:
    void DoRun() override
    {
        for (const char *transport : {"gbn", "eunomia"}) {
            for (const uint32_t every : {1u, 2u, 20u, 1000u}) {
                Check(transport, every, {1});
                Check(transport, every, {19, 20, 21, 47, 400});
                Check(transport, every, {1, 1, 1, 39, 60});
            }
        }
        Stalled();
    }

    void Check(const char *transport, uint32_t every, const std::vector<uint32_t> &packets)
    {
        Simulation simulation;
        SetDefault("Nic::Transport", transport);
        SetDefault("Nic::AckEvery", std::to_string(every));
        EunomiaTestNics nics;
        const uint32_t qp = nics.Connect();
        uint64_t acks = 0;
        for (const uint32_t n : packets) {
            nics.Post(qp, n * 1024 - 5);
            acks += (n + every - 1) / every; // the last packet of a message always asks
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(nics.user.completions.size(), packets.size(), "completes");
        NS_TEST_EXPECT_MSG_EQ(nics.Made(1, Kind::Ack), acks, transport << ", one in " << every);
        NS_TEST_EXPECT_MSG_EQ(nics.nic[0]->GetRetransmitted(), 0, "without a timeout");
    }

    /** A window shorter than the ACK interval: the sender asks before it must wait. */
    void Stalled()
    {
        Simulation simulation;
        SetDefault("Nic::Transport", "gbn");
        SetDefault("Nic::AckEvery", "20");
        SetDefault("Nic::Window", std::to_string(5 * 1024));
        EunomiaTestNics nics;
        nics.Post(nics.Connect(), 100 * 1024);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(nics.Made(1, Kind::Ack), 20, "one a window");
        NS_TEST_EXPECT_MSG_EQ(nics.nic[0]->GetRetransmitted(), 0, "without a timeout");
        NS_TEST_EXPECT_MSG_LT(nics.user.completions.back().at, MS, "without a timeout");
    }
};

/** CNPs: at most one a QP in the interval, none where the echo travels in ACKs. */
class CnpCase : public TestCase {
  public:
    CnpCase() : TestCase("CNPs, and the echo in ACKs") {}

  private:
    void DoRun() override
    {
        Interval();
        Echo();
        EchoOfNacks();
    }

    void Marked(EunomiaTestNics &nics)
    {
        nics.box.filter = [](EunomiaFrame &frame) {
            frame.ce = frame.kind == Kind::Data;
            return true;
        };
    }

    void Interval()
    {
        Simulation simulation;
        SetDefault("Nic::Transport", "gbn");
        EunomiaTestNics nics;
        Marked(nics);
        m_cnps.clear();
        m_data.clear();
        nics.nic[1]->GetPort()->TraceConnectWithoutContext("Dequeue",
                                                           MakeCallback(&CnpCase::Sent, this));
        nics.nic[1]->TraceConnectWithoutContext("Arrival", MakeCallback(&CnpCase::Arrived, this));
        const uint32_t flows[] = {nics.Post(nics.Connect(), 500 * 1024),
                                  nics.Post(nics.Connect(), 500 * 1024)};
        // A second burst after a rest: the first packet counts again.
        Simulation::At(300 * US, [&nics] { nics.Post(nics.Connect(), 1024); });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(nics.user.completions.size(), 3, "all flows end");
        std::vector<int64_t> expected;
        for (const uint32_t flow : {flows[0], flows[1], flows[1] + 1}) {
            int64_t next = 0;
            for (const int64_t at : m_data[flow]) {
                if (at >= next) {
                    expected.push_back(at);
                    next = at + 4 * US;
                }
            }
        }
        std::sort(expected.begin(), expected.end());
        NS_TEST_EXPECT_MSG_GT(expected.size(), 40, "a long enough run");
        NS_TEST_EXPECT_MSG_EQ(m_cnps.size(), expected.size(), "number of CNPs");
        NS_TEST_EXPECT_MSG_EQ(nics.Made(1, Kind::Cnp), expected.size(), "counted");
        for (size_t i = 0; i < std::min(expected.size(), m_cnps.size()); i++) {
            // It may wait for an ACK that is on the wire.
            const int64_t late = m_cnps[i] - expected[i];
            NS_TEST_EXPECT_MSG_EQ((late >= 0 && late <= EunomiaTestWireTime(86, RATE)), true,
                                  "CNP " << i << " is " << late << " ps late");
        }
    }

    void Sent(const EunomiaFrame &frame)
    {
        if (frame.kind == Kind::Cnp) {
            m_cnps.push_back(EunomiaNow());
        }
    }

    void Arrived(const EunomiaFrame &frame)
    {
        if (frame.kind == Kind::Data) {
            m_data[frame.flow].push_back(EunomiaNow());
        }
    }

    /** FCT of a long flow of marked packets. */
    int64_t Fct(bool echo, bool marked)
    {
        Simulation simulation;
        SetDefault("Nic::Transport", "gbn");
        SetDefault("Nic::EchoInAck", echo ? "true" : "false");
        EunomiaTestNics nics;
        if (marked) {
            Marked(nics);
        }
        nics.Post(nics.Connect(), 500 * 1024);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ((nics.Made(1, Kind::Cnp) > 0), (marked && !echo), "CNP frames");
        return nics.user.completions.back().at;
    }

    void Echo()
    {
        const int64_t plain = Fct(true, false);
        NS_TEST_EXPECT_MSG_GT(Fct(true, true), 2 * plain, "the echo slows the sender");
        NS_TEST_EXPECT_MSG_GT(Fct(false, true), 2 * plain, "so does a CNP");
        NS_TEST_EXPECT_MSG_EQ(Fct(false, false), plain, "no mark, no difference");
    }

    /** FCT of a long flow that loses a packet, none marked. */
    int64_t FctOfLoss(bool echo)
    {
        Simulation simulation;
        SetDefault("Nic::Transport", "gbn");
        SetDefault("Nic::EchoInAck", echo ? "true" : "false");
        EunomiaTestNics nics;
        nics.box.filter = [&nics](EunomiaFrame &frame) {
            NS_ABORT_MSG_IF(frame.echo, "no packet was marked");
            return frame.kind != Kind::Data || frame.psn != 100 || nics.box.dropped;
        };
        nics.Post(nics.Connect(), 500 * 1024);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_GT(nics.Made(1, Kind::Nack), 0, "NACKs");
        return nics.user.completions.back().at;
    }

    /** In that mode an out-of-order NACK is a congestion notification, too. */
    void EchoOfNacks()
    {
        NS_TEST_EXPECT_MSG_GT(FctOfLoss(true), FctOfLoss(false) + 10'000'000, "a NACK slows");
    }

    std::vector<int64_t> m_cnps;
    std::map<uint32_t, std::vector<int64_t>> m_data;
};

/** The gate's wait, as the sender tells it, is the time that the Last could have left earlier. */
class GateCase : public TestCase {
  public:
    GateCase() : TestCase("completion gate of the sender") {}

  private:
    void DoRun() override
    {
        Simulation simulation;
        SetDefault("Nic::Verb", "write");
        EunomiaTestNics nics;
        std::vector<std::pair<uint32_t, Time>> traced;
        nics.nic[0]->TraceConnectWithoutContext("Completion",
                                                MakeCallback(&GateCase::Trace).Bind(&traced));
        const uint32_t qp = nics.Connect();
        nics.Post(qp, 10 * 1024);
        // Posted while the first is on its way: a message of one packet is a Last, too.
        Simulation::At(3 * US, [&nics, qp] { nics.Post(qp, 100); });
        Simulator::Run();
        const uint32_t extra = ORDER + RETH;
        const int64_t full = EunomiaTestWireTime(1024 + ROCE + extra + 20, RATE);
        const int64_t ack = EunomiaTestWireTime(ROCE + AETH + 20, RATE);
        const int64_t rtt = 2 * (full + ack) + 4 * nics.DELAY;
        NS_TEST_ASSERT_MSG_EQ(nics.user.completions.size(), 2, "both");
        // The Last of the first is held from the start of packet 9 until the ACK of that one.
        NS_TEST_EXPECT_MSG_EQ(nics.user.completions[0].message.wait_ps, rtt, "first message");
        NS_TEST_EXPECT_MSG_EQ(nics.user.completions[0].at, 8 * full + 2 * rtt, "first message");
        // The second, from its post until the first is acknowledged.
        NS_TEST_EXPECT_MSG_EQ(nics.user.completions[1].message.wait_ps, 8 * full + 2 * rtt - 3 * US,
                              "second message");
        NS_TEST_ASSERT_MSG_EQ(traced.size(), 2, "traced");
        NS_TEST_EXPECT_MSG_EQ(traced[0].first, 10 * 1024, "bytes");
        NS_TEST_EXPECT_MSG_EQ(traced[0].second.GetTimeStep(), rtt, "wait");
    }

    static void Trace(std::vector<std::pair<uint32_t, Time>> *log, uint32_t, uint32_t bytes,
                      Time wait)
    {
        log->emplace_back(bytes, wait);
    }
};

/** A NIC whose user does not listen still works. */
class NoUserCase : public TestCase {
  public:
    NoUserCase() : TestCase("nobody listens") {}

  private:
    void DoRun() override
    {
        Simulation simulation;
        SetDefault("Nic::Transport", "gbn");
        EunomiaTestNics nics;
        nics.nic[0]->SetUser(nullptr);
        nics.nic[1]->SetUser(nullptr);
        nics.Post(nics.Connect(), 5000);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(nics.Made(1, Kind::Ack), 5, "acknowledged");
        nics.box.filter = [](EunomiaFrame &) { return false; };
        nics.Post(nics.Connect(), 5000);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_GT(nics.box.dropped, 5, "gave up");
    }
};

class EunomiaNicTestSuite : public TestSuite {
  public:
    EunomiaNicTestSuite() : TestSuite("eunomia-nic", Type::UNIT)
    {
        // 24-bit and 32-bit wraps among the first PSNs.
        AddTestCase(new UnloadedCase("unloaded FCT of small flows",
                                     {1, 3, 999, 1000, 1001, 1024, 1025, 2000, 2049, 10'000},
                                     g_schemes, {0}, {1, 2}));
        AddTestCase(new UnloadedCase("unloaded FCT of 1 MB, PSNs wrap", {1'000'000}, g_schemes,
                                     {0, 0xFFFFF0, 0xFFFFFFF0}, {1, 3}));
#ifndef __SANITIZE_ADDRESS__
        AddTestCase(new UnloadedCase("unloaded FCT of 5 GiB", {uint64_t{5} << 30}, {g_schemes[0]},
                                     {0}, {1}));
        AddTestCase(new FairnessCase);
#endif
        AddTestCase(new GoodputCase);
        AddTestCase(new SharingCase);
        AddTestCase(new PacingCase);
        AddTestCase(new PacedManyCase);
        for (const char *transport : {"gbn", "eunomia"}) {
            AddTestCase(new StaleCase(transport));
            AddTestCase(new TailLossCase(transport));
            AddTestCase(new LossyCase(transport));
        }
        AddTestCase(new WindowCase);
        AddTestCase(new AckEveryCase);
        AddTestCase(new CnpCase);
        AddTestCase(new GateCase);
        AddTestCase(new NoUserCase);
    }
};

EunomiaNicTestSuite g_eunomiaNicTestSuite;

} // namespace
