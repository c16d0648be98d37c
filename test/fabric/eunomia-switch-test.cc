// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-switch.h"
#include "eunomia-test-fabric.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/test.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>

using namespace ns3;

namespace {

using Simulation = EunomiaTestSimulation;
using Times = std::vector<int64_t>;

constexpr uint64_t GBPS = EUNOMIA_TEST_GBPS;
constexpr int64_t US = 1'000'000; //!< in ps
constexpr uint32_t GAP = 20;
constexpr uint32_t FULL = 1114; //!< longest frame, the default

/** A switch in a node of its own, a host at each port; host i is behind port i. */
struct Bench {
    explicit Bench(uint32_t ports, uint64_t bps = 100 * GBPS, int64_t delayPs = US)
        : node(CreateObject<Node>()), sw(CreateObject<EunomiaSwitch>())
    {
        node->AggregateObject(sw);
        for (uint32_t p = 0; p < ports; p++) {
            auto port = CreateObject<EunomiaPort>();
            node->AddDevice(port);
            host.push_back(std::make_unique<EunomiaTestEnd>());
            links.push_back(EunomiaTestLink(bps, delayPs, GAP));
            links.back()->Connect(host.back()->port, port);
            sw->AddPort(port);
            sw->SetRoute(p, {static_cast<uint16_t>(p)});
        }
    }

    /** Frames from a host's queue, at once. */
    void Send(uint32_t from, uint32_t to, uint32_t frames, uint8_t priority = 3,
              uint32_t bytes = FULL, uint32_t entropy = 0)
    {
        for (uint32_t i = 0; i < frames; i++) {
            EunomiaFrame *frame = EunomiaTestFrame(bytes, priority, i);
            frame->src = from;
            frame->dst = to;
            frame->entropy = entropy;
            host[from]->port->Send(frame);
        }
    }

    /** Sum of what arrived at hosts. */
    uint64_t Arrived() const
    {
        uint64_t n = 0;
        for (const auto &h : host) {
            n += h->arrivals.size();
        }
        return n;
    }

    Ptr<Node> node;
    Ptr<EunomiaSwitch> sw;
    std::vector<std::unique_ptr<EunomiaTestEnd>> host;
    std::vector<Ptr<EunomiaLink>> links;
};

class ForwardCase : public TestCase {
  public:
    ForwardCase() : TestCase("store and forward to the picosecond") {}

  private:
    void DoRun() override
    {
        for (const uint64_t gbps : {25, 100, 400, 800}) {
            Check(gbps * GBPS);
        }
        Check(123'456'789'000);
    }

    /** D(n) = max(D(n - 1), arrival whole at the switch) + time on the wire. */
    void Check(uint64_t bps)
    {
        Simulation simulation;
        Bench bench(3, bps, 777'777);
        Times expected;
        long double sent = 0;
        long double left = 0;
        const std::vector<uint32_t> sizes = {64, 1114, 64, 500, 1114, 99, 1114};
        for (const uint32_t bytes : sizes) {
            const long double wire = 8e12L * (bytes + GAP) / bps;
            sent += wire;
            left = std::max(left, std::floor(sent) + 777'777) + wire;
            expected.push_back(static_cast<int64_t>(left) + 777'777);
            bench.Send(0, 1, 1, 3, bytes);
        }
        bench.Send(2, 0, 1, 0, 64);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bench.host[1]->arrivals.size(), sizes.size(), "all came");
        for (size_t i = 0; i < sizes.size(); i++) {
            // Exact rates exactly; others may differ by the rounding of each of two links.
            const int64_t slack = bps % GBPS ? 2 : 0;
            const int64_t off = std::abs(bench.host[1]->arrivals[i].at - expected[i]);
            NS_TEST_EXPECT_MSG_LT_OR_EQ(off, slack, "frame " << i << " at " << bps);
        }
        NS_TEST_EXPECT_MSG_EQ(bench.host[1]->arrivals[0].frame.hops, 2, "links taken");
        NS_TEST_EXPECT_MSG_EQ(bench.host[0]->arrivals.size(), 1, "control is forwarded");
        NS_TEST_EXPECT_MSG_EQ(bench.sw->GetBuffer().used, 0, "the buffer is empty again");
    }
};

/** A host pauses the switch, which pauses the sender of that priority, and only that. */
class PfcPrioritiesCase : public TestCase {
  public:
    PfcPrioritiesCase() : TestCase("PFC: every priority pauses and resumes") {}

  private:
    void DoRun() override
    {
        for (uint8_t p = 1; p <= 7; p++) {
            Check(p);
        }
    }

    void Check(uint8_t p)
    {
        Simulation simulation;
        Config::SetDefault("ns3::EunomiaSwitch::LosslessMask", UintegerValue(0xfe));
        Config::SetDefault("ns3::EunomiaSwitch::BufferSize", UintegerValue(2'000'000));
        Bench bench(3);
        std::vector<std::string> traced;
        bench.sw->TraceConnectWithoutContext("Pause",
                                             MakeCallback(&PfcPrioritiesCase::Trace).Bind(&traced));
        bench.host[1]->port->SendFirst(EunomiaTestPause(p, 335'000));
        Simulation::At(2 * US, [&bench, p] {
            bench.Send(0, 1, 300, p);
            bench.Send(2, 1, 5, p % 7 + 1);
        });
        Simulation::At(100 * US, [&bench, p, this] {
            NS_TEST_EXPECT_MSG_EQ(bench.host[0]->port->IsPaused(p), true, "sender is paused");
            NS_TEST_EXPECT_MSG_EQ(bench.host[2]->port->IsPaused(p), false, "the other is not");
            NS_TEST_EXPECT_MSG_EQ(bench.host[1]->arrivals.size(), 5, "the other got through");
            bench.host[1]->port->SendFirst(EunomiaTestPause(p, -1));
        });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bench.host[1]->arrivals.size(), 305, "all came, priority " << +p);
        NS_TEST_EXPECT_MSG_EQ(bench.host[0]->changes.size(), 2, "paused once, resumed once");
        for (const auto &change : bench.host[0]->changes) {
            NS_TEST_EXPECT_MSG_EQ(change.priority, p, "the priority that is congested");
        }
        const std::string port0 = "0/" + std::to_string(p);
        NS_TEST_EXPECT_MSG_EQ((traced == std::vector<std::string>{port0 + "/1", port0 + "/0"}),
                              true, "XOFF and XON traced");
        NS_TEST_EXPECT_MSG_EQ(bench.sw->GetPausesSent(), 1, "XOFF counted");
        NS_TEST_EXPECT_MSG_EQ(bench.sw->GetPauseFramesMade(), 2, "XOFF and XON counted");
        NS_TEST_EXPECT_MSG_EQ(bench.sw->GetDrops(), 0, "lossless");
        NS_TEST_EXPECT_MSG_EQ(Simulation::Pool().GetAlive(), 0, "no frame left");
    }

    static void Trace(std::vector<std::string> *log, uint32_t port, uint32_t priority, bool xoff)
    {
        log->push_back(std::to_string(port) + "/" + std::to_string(priority) + "/" +
                       std::to_string(xoff));
    }
};

/** While the cause lasts, a pause lasts, however short one XOFF is. */
class RefreshCase : public TestCase {
  public:
    RefreshCase() : TestCase("PFC: refreshed while congested") {}

  private:
    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(Changes("dynamic", 2 * US), 2, "2 us an XOFF, 100 us of congestion");
        NS_TEST_EXPECT_MSG_EQ(Changes("dynamic", 30 * US), 2, "30 us an XOFF");
        NS_TEST_EXPECT_MSG_EQ(Changes("dynamic", 0), 2, "the longest XOFF");
        // The policy that forgets shows that the question has an answer.
        NS_TEST_EXPECT_MSG_GT(Changes("conweave-ns3", 5 * US), 2, "without a refresh");
    }

    /** How often the sender was paused or resumed while its receiver was stuck for 100 us. */
    size_t Changes(const char *policy, int64_t pauseTime)
    {
        Simulation simulation;
        Config::SetDefault("ns3::EunomiaSwitch::BufferPolicy", StringValue(policy));
        Config::SetDefault("ns3::EunomiaSwitch::PauseTime", TimeValue(PicoSeconds(pauseTime)));
        Config::SetDefault("ns3::EunomiaSwitch::BufferSize", UintegerValue(1 << 20));
        Bench bench(2);
        bench.host[1]->port->SendFirst(EunomiaTestPause(3, 100'000));
        Simulation::At(2 * US, [&bench] { bench.Send(0, 1, 300); });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bench.host[1]->arrivals.size() + bench.sw->GetDrops(), 300,
                              "all accounted for");
        const auto &changes = bench.host[0]->changes;
        if (changes.size() == 2) {
            const int64_t paused = changes[1].at - changes[0].at;
            NS_TEST_EXPECT_MSG_GT(paused, 80 * US, "nearly all the time");
            NS_TEST_EXPECT_MSG_EQ(bench.host[0]->port->GetPausedTime(), paused, "accounted");
            NS_TEST_EXPECT_MSG_EQ(bench.sw->GetDrops(), 0, "lossless");
        }
        return changes.size();
    }
};

/** A sender stops within the headroom, at any rate and delay, however late the XOFF starts. */
class HeadroomCase : public TestCase {
  public:
    HeadroomCase() : TestCase("PFC: the headroom suffices, and is needed") {}

  private:
    void DoRun() override
    {
        std::mt19937 random(EunomiaTestFabricSeed("eunomia-switch"));
        for (const uint64_t gbps : {10, 100, 400, 2400}) {
            for (const int64_t delay : {int64_t{0}, int64_t{100'000}, US, 20 * US}) {
                for (int i = 0; i < 4; i++) {
                    const auto phase = static_cast<int64_t>(random() % 1'000'000);
                    NS_TEST_EXPECT_MSG_EQ(Drops(gbps * GBPS, delay, phase, 0), 0,
                                          gbps << " Gb/s, " << delay << " ps, phase " << phase);
                }
            }
        }
        const uint32_t needed = eun_buffer_headroom(100 * GBPS, US, FULL, 64);
        NS_TEST_EXPECT_MSG_GT(Drops(100 * GBPS, US, 0, needed * 9 / 10 - FULL), 0,
                              "with a tenth and a frame less");
    }

    /** Full frames at line rate into a port that is stuck, full frames the other way. */
    static uint64_t Drops(uint64_t bps, int64_t delay, int64_t phase, uint32_t headroom)
    {
        Simulation simulation;
        const uint32_t needed = eun_buffer_headroom(bps, delay, FULL, 64);
        Config::SetDefault("ns3::EunomiaSwitch::Headroom", UintegerValue(headroom));
        Config::SetDefault("ns3::EunomiaSwitch::BufferSize",
                           UintegerValue(3 * (needed + FULL) + 100'000));
        Bench bench(3, bps, delay);
        bench.host[1]->port->SendFirst(EunomiaTestPause(3, UINT32_MAX));
        const uint32_t frames = 2 * (3 * needed + 400'000) / FULL;
        const int64_t start = EunomiaTestWireTime(84, bps) + delay + 1;
        Simulation::At(start, [&bench, frames] { bench.Send(0, 1, frames); });
        Simulation::At(start + phase, [&bench, frames] { bench.Send(2, 0, 2 * frames); });
        Simulator::Stop(TimeStep(static_cast<uint64_t>(
            start + phase + 2 * delay + frames * EunomiaTestWireTime(FULL + GAP, bps))));
        Simulator::Run();
        NS_ABORT_MSG_UNLESS(bench.host[0]->changes.size() == 1, "the sender was to be paused once");
        return bench.sw->GetDrops();
    }
};

/** Many into one: no drop, and everyone gets through, whatever the number of ports. */
class IncastCase : public TestCase {
  public:
    IncastCase() : TestCase("PFC: 1,000 bursts into one host, no drop") {}

  private:
    void DoRun() override
    {
        for (const uint32_t ports : {3, 24, 101, 200}) {
            Check(ports);
        }
        Simulation simulation;
        Config::SetDefault("ns3::EunomiaSwitch::BufferSize", UintegerValue(8'000'000));
        Bench bench(1001);
        NS_TEST_EXPECT_MSG_EQ(bench.sw->Configure(),
                              "BufferSize: 8000000 bytes leave no pool after the reserve and "
                              "headroom of 1001 ports",
                              "a promise that cannot be kept is refused");
    }

    void Check(uint32_t ports)
    {
        Simulation simulation;
        Config::SetDefault("ns3::EunomiaSwitch::BufferSize", UintegerValue(8'000'000));
        Bench bench(ports);
        const uint32_t senders = ports - 1;
        const uint32_t frames = 1000 * 16 / senders; // 1,000 bursts of 16 KB
        for (uint32_t h = 0; h < senders; h++) {
            bench.Send(h, senders, frames);
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bench.sw->GetDrops(), 0, ports << " ports");
        NS_TEST_EXPECT_MSG_GT(bench.sw->GetPausesSent(), senders / 2, ports << " ports");
        std::map<uint32_t, uint32_t> from;
        for (const auto &a : bench.host[senders]->arrivals) {
            from[a.frame.src]++;
        }
        NS_TEST_EXPECT_MSG_EQ(from.size(), senders, "everyone");
        for (const auto &[host, n] : from) {
            NS_TEST_EXPECT_MSG_EQ(n, frames, "all of host " << host);
        }
        const char *reason = "";
        NS_TEST_EXPECT_MSG_EQ(eun_buffer_validate(&bench.sw->GetBuffer(), &reason), true, reason);
        NS_TEST_EXPECT_MSG_EQ(bench.sw->GetBuffer().used, 0, "empty again");
    }
};

/** Without PFC, and for priorities that are not lossless, what does not fit is dropped. */
class DropCase : public TestCase {
  public:
    DropCase() : TestCase("drops are counted and traced") {}

  private:
    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_GT(Drops(false, 3), 0, "PFC off");
        NS_TEST_EXPECT_MSG_GT(Drops(true, 2), 0, "a lossy priority");
        NS_TEST_EXPECT_MSG_EQ(Drops(true, 3), 0, "a lossless priority");
    }

    uint64_t Drops(bool pfc, uint8_t priority)
    {
        Simulation simulation;
        Config::SetDefault("ns3::EunomiaSwitch::Pfc", BooleanValue(pfc));
        Config::SetDefault("ns3::EunomiaSwitch::BufferSize", UintegerValue(300'000));
        Bench bench(4);
        m_traced = 0;
        bench.sw->TraceConnectWithoutContext("Drop", MakeCallback(&DropCase::Drop, this));
        for (uint32_t h = 0; h < 3; h++) {
            bench.Send(h, 3, 300, priority);
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bench.Arrived() + bench.sw->GetDrops(), 900, "all accounted for");
        NS_TEST_EXPECT_MSG_EQ(m_traced, bench.sw->GetDrops(), "traced");
        NS_TEST_EXPECT_MSG_EQ(Simulation::Pool().GetAlive(), 0, "dropped frames are given back");
        return bench.sw->GetDrops();
    }

    void Drop(const EunomiaFrame &frame, uint32_t reason)
    {
        m_traced++;
        NS_TEST_EXPECT_MSG_EQ(frame.dst, 3, "the frame");
        NS_TEST_EXPECT_MSG_EQ((reason == EUN_DROP_BUFFER || reason == EUN_DROP_EGRESS), true,
                              "reason " << reason);
    }

    uint64_t m_traced = 0;
};

/** Marks against the queue that a frame leaves behind, counted here from the port's traces. */
class EcnCase : public TestCase {
  public:
    EcnCase() : TestCase("ECN marks at the thresholds") {}

  private:
    void DoRun() override
    {
        Check(100 * GBPS, 20'000, 20'000, 1, 20'000);
        Check(400 * GBPS, 20'000, 20'000, 1, 80'000);
        Check(25 * GBPS, 20'000, 20'000, 1, 5'000);
        Check(100 * GBPS, 0, 0, 1, 0);
        Probability();
    }

    void Run(uint64_t bps, uint32_t min, uint32_t max, double probability)
    {
        Config::SetDefault("ns3::EunomiaSwitch::EcnMin", UintegerValue(min));
        Config::SetDefault("ns3::EunomiaSwitch::EcnMax", UintegerValue(max));
        Config::SetDefault("ns3::EunomiaSwitch::EcnProbability", DoubleValue(probability));
        Bench bench(5, bps);
        m_queue = 0;
        m_left.clear();
        m_traced = 0;
        for (uint32_t h = 0; h < 4; h++) {
            bench.sw->GetPort(h)->TraceConnectWithoutContext("Receive",
                                                             MakeCallback(&EcnCase::Stored, this));
            bench.Send(h, 4, 500);
        }
        bench.sw->GetPort(4)->TraceConnectWithoutContext("Dequeue",
                                                         MakeCallback(&EcnCase::Left, this));
        bench.sw->TraceConnectWithoutContext("Mark", MakeCallback(&EcnCase::Marked, this));
        bench.Send(4, 0, 3, 0, 64);
        Simulator::Run();
        uint64_t marked = 0;
        for (const auto &a : bench.host[4]->arrivals) {
            marked += a.frame.ce;
        }
        NS_TEST_EXPECT_MSG_EQ(bench.sw->GetMarks(), marked, "marks are what arrives marked");
        NS_TEST_EXPECT_MSG_EQ(m_traced, marked, "and what is traced");
        NS_TEST_EXPECT_MSG_EQ(m_left.size(), 2000, "no drop");
        for (const auto &a : bench.host[0]->arrivals) {
            NS_TEST_EXPECT_MSG_EQ(a.frame.ce, false, "control is never marked");
        }
    }

    void Check(uint64_t bps, uint32_t min, uint32_t max, double probability, uint64_t threshold)
    {
        Simulation simulation;
        Run(bps, min, max, probability);
        uint64_t above = 0;
        for (const auto &[queue, ce] : m_left) {
            NS_TEST_ASSERT_MSG_EQ(ce, (queue > threshold),
                                  "queue " << queue << ", " << bps << " b/s");
            above += ce;
        }
        NS_TEST_EXPECT_MSG_GT(above, 100, "marks");
        NS_TEST_EXPECT_MSG_LT(above, 2000, "not all");
    }

    void Probability()
    {
        Simulation simulation;
        RngSeedManager::SetSeed(EunomiaTestFabricSeed("eunomia-switch"));
        Run(100 * GBPS, 100'000, 900'000, 0.4);
        double mean = 0;
        double variance = 0;
        uint64_t marks = 0;
        for (const auto &[queue, ce] : m_left) {
            const double beyond = (static_cast<double>(queue) - 100'000) / 800'000;
            const double p = beyond <= 0 ? 0 : beyond > 1 ? 1 : 0.4 * beyond;
            NS_TEST_EXPECT_MSG_EQ((ce && p == 0) || (!ce && p == 1), false, "queue " << queue);
            mean += p;
            variance += p * (1 - p);
            marks += ce;
        }
        NS_TEST_EXPECT_MSG_GT(variance, 50, "enough of chance");
        NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(marks), mean, 5 * std::sqrt(variance),
                                  "RED's slope");
    }

    void Stored(const EunomiaFrame &frame)
    {
        m_queue += frame.kind == EunomiaFrameKind::Data ? frame.bytes : 0;
    }

    void Left(const EunomiaFrame &frame)
    {
        if (frame.kind == EunomiaFrameKind::Data) {
            m_queue -= frame.bytes;
            m_left.emplace_back(m_queue, frame.ce);
        }
    }

    void Marked(const EunomiaFrame &) { m_traced++; }

    uint64_t m_queue = 0;
    std::vector<std::pair<uint64_t, bool>> m_left;
    uint64_t m_traced = 0;
};

/** Ways that frames of `count` flows to `host` take, by entropy; the bench's hosts are empty. */
std::vector<uint32_t> Ways(Bench &bench, uint32_t host, uint32_t count, uint8_t priority)
{
    for (uint32_t e = 0; e < count; e++) {
        bench.Send(0, host, 1, priority, 100, e * 2654435761u);
    }
    Simulator::Run();
    std::map<uint32_t, uint32_t> way;
    for (uint32_t p = 0; p < bench.host.size(); p++) {
        for (const auto &a : bench.host[p]->arrivals) {
            way[a.frame.entropy] = p;
        }
        bench.host[p]->arrivals.clear();
    }
    std::vector<uint32_t> ways;
    for (uint32_t e = 0; e < count; e++) {
        ways.push_back(way.at(e * 2654435761u));
    }
    return ways;
}

class RoutesCase : public TestCase {
  public:
    RoutesCase() : TestCase("routes and groups of equally short ways") {}

  private:
    void DoRun() override
    {
        for (const char *balancer : {"ecmp", "spray", "spray-rr", "drill", "letflow", "deflect",
                                     "elephant-spray", "adaptive"}) {
            Groups(balancer);
        }
        Flows();
        Even("ecmp");
        Even("spray");
    }

    /** Overlapping groups, and one that is replaced. */
    void Groups(const char *balancer)
    {
        Simulation simulation;
        Config::SetDefault("ns3::EunomiaSwitch::Balancer", StringValue(balancer));
        Bench bench(9);
        const std::vector<std::vector<uint16_t>> groups = {
            {1, 2, 3, 4, 5, 6, 7, 8}, {2, 3}, {4}, {5, 6, 7, 8}, {1, 5}, {8}, {3, 4, 5}};
        bench.sw->SetRoute(100, {7});
        for (size_t g = 0; g < groups.size(); g++) {
            bench.sw->SetRoute(static_cast<uint32_t>(100 + g), groups[g]);
        }
        for (size_t g = 0; g < groups.size(); g++) {
            for (const uint8_t priority : {0, 3}) {
                const auto ways = Ways(bench, static_cast<uint32_t>(100 + g), 400, priority);
                const std::set<uint32_t> used(ways.begin(), ways.end());
                const std::set<uint32_t> allowed(groups[g].begin(), groups[g].end());
                NS_TEST_EXPECT_MSG_EQ((used == allowed), true, balancer << ", group " << g);
            }
        }
    }

    /** A flow's data and control stay on one way under ECMP, only control does under spraying. */
    void Flows()
    {
        for (const bool spray : {false, true}) {
            Simulation simulation;
            Config::SetDefault("ns3::EunomiaSwitch::Balancer",
                               StringValue(spray ? "spray" : "ecmp"));
            Bench bench(9);
            bench.sw->SetRoute(100, {1, 2, 3, 4, 5, 6, 7, 8});
            const auto data = Ways(bench, 100, 200, 3);
            NS_TEST_EXPECT_MSG_EQ((Ways(bench, 100, 200, 3) == data), !spray, "data again");
            const auto control = Ways(bench, 100, 200, 0);
            NS_TEST_EXPECT_MSG_EQ((Ways(bench, 100, 200, 0) == control), true, "control again");
            NS_TEST_EXPECT_MSG_EQ((data == control), !spray, "one hash for both");
        }
    }

    void Even(const char *balancer)
    {
        Simulation simulation;
        RngSeedManager::SetSeed(EunomiaTestFabricSeed("eunomia-switch"));
        Config::SetDefault("ns3::EunomiaSwitch::Balancer", StringValue(balancer));
        Bench bench(8);
        bench.sw->SetRoute(100, {1, 2, 3, 4, 5, 6, 7});
        std::map<uint32_t, double> n;
        constexpr uint32_t FLOWS = 7000;
        for (const uint32_t way : Ways(bench, 100, FLOWS, 3)) {
            n[way]++;
        }
        double chi2 = 0;
        for (const auto &[way, found] : n) {
            chi2 += (found - FLOWS / 7.0) * (found - FLOWS / 7.0) / (FLOWS / 7.0);
        }
        NS_TEST_EXPECT_MSG_LT(chi2, 50, balancer << " spreads evenly (6 degrees of freedom)");
    }
};

/** Seed, run and stream decide about the hash; nothing else does. */
class RandomnessCase : public TestCase {
  public:
    RandomnessCase() : TestCase("seed, run and streams decide about hashes, nothing else") {}

  private:
    struct Setting {
        uint32_t seed = 1;
        uint64_t run = 1;
        int64_t stream = 77;
        bool others = false; //!< other users of random numbers, other attributes
    };

    void DoRun() override
    {
        for (const char *balancer :
             {"ecmp", "spray", "drill", "letflow", "deflect", "elephant-spray", "adaptive"}) {
            const auto base = Print(balancer, Setting{});
            NS_TEST_EXPECT_MSG_EQ((Print(balancer, Setting{}) == base), true, "the same again");
            Setting s;
            s.others = true;
            NS_TEST_EXPECT_MSG_EQ((Print(balancer, s) == base), true, "others draw, too");
            s = {};
            s.seed = 2;
            NS_TEST_EXPECT_MSG_EQ((Print(balancer, s) == base), false, "another seed");
            s = {};
            s.run = 2;
            NS_TEST_EXPECT_MSG_EQ((Print(balancer, s) == base), false, "another run");
            s = {};
            s.stream = 78;
            NS_TEST_EXPECT_MSG_EQ((Print(balancer, s) == base), false, "another stream");
        }
    }

    static std::vector<uint32_t> Print(const char *balancer, const Setting &s)
    {
        Simulation simulation;
        RngSeedManager::SetSeed(s.seed);
        RngSeedManager::SetRun(s.run);
        Config::SetDefault("ns3::EunomiaSwitch::Balancer", StringValue(balancer));
        std::vector<Ptr<UniformRandomVariable>> others;
        if (s.others) {
            Config::SetDefault("ns3::EunomiaSwitch::BufferSize", UintegerValue(20 << 20));
            Config::SetDefault("ns3::EunomiaSwitch::Pfc", BooleanValue(false));
            for (int i = 0; i < 10; i++) {
                others.push_back(CreateObject<UniformRandomVariable>());
                others.back()->GetValue();
            }
        }
        Bench bench(9);
        bench.sw->SetRoute(100, {1, 2, 3, 4, 5, 6, 7, 8});
        NS_ABORT_MSG_UNLESS(bench.sw->AssignStreams(s.stream) == 1, "one stream");
        return Ways(bench, 100, 300, 3);
    }
};

/** What ns-3 users do: Config::Set and Config::Connect with paths. */
class ConfigCase : public TestCase {
  public:
    ConfigCase() : TestCase("Config paths, and what is wrong with an attribute") {}

  private:
    void DoRun() override
    {
        Paths();
        Refusals();
    }

    void Paths()
    {
        Simulation simulation;
        Bench bench(4);
        Config::Set("/NodeList/*/$ns3::EunomiaSwitch/Pfc", BooleanValue(false));
        Config::Set("/NodeList/0/$ns3::EunomiaSwitch/BufferSize", UintegerValue(100'000));
        Config::Set("/NodeList/0/$ns3::EunomiaSwitch/EcnMin", UintegerValue(0));
        Config::Set("/NodeList/0/$ns3::EunomiaSwitch/EcnMax", UintegerValue(5'000));
        Config::Connect("/NodeList/*/$ns3::EunomiaSwitch/Drop",
                        MakeCallback(&ConfigCase::Drop, this));
        Config::Connect("/NodeList/*/$ns3::EunomiaSwitch/Mark",
                        MakeCallback(&ConfigCase::Frame, this));
        Config::Connect("/NodeList/*/$ns3::EunomiaSwitch/Pause",
                        MakeCallback(&ConfigCase::Pause, this));
        Config::Connect("/NodeList/*/DeviceList/*/$ns3::EunomiaPort/Receive",
                        MakeCallback(&ConfigCase::Frame, this));
        Config::Connect("/NodeList/*/DeviceList/3/$ns3::EunomiaPort/Enqueue",
                        MakeCallback(&ConfigCase::Frame, this));
        for (uint32_t h = 0; h < 3; h++) {
            bench.Send(h, 3, 200);
        }
        Simulator::Run();
        const std::string sw = "/NodeList/0/$ns3::EunomiaSwitch/";
        NS_TEST_EXPECT_MSG_GT(m_n[sw + "Drop"], 0, "PFC is off and the buffer small");
        NS_TEST_EXPECT_MSG_EQ(m_n[sw + "Drop"], bench.sw->GetDrops(), "each drop");
        NS_TEST_EXPECT_MSG_EQ(m_n[sw + "Mark"], bench.sw->GetMarks(), "each mark");
        NS_TEST_EXPECT_MSG_GT(m_n[sw + "Mark"], 0, "marks");
        NS_TEST_EXPECT_MSG_EQ(m_n[sw + "Pause"], 0, "no pause");
        for (int p = 0; p < 3; p++) {
            const std::string path = "/NodeList/0/DeviceList/" + std::to_string(p);
            NS_TEST_EXPECT_MSG_EQ(m_n[path + "/$ns3::EunomiaPort/Receive"], 200, path);
        }
        NS_TEST_EXPECT_MSG_GT(m_n["/NodeList/0/DeviceList/3/$ns3::EunomiaPort/Enqueue"], 50,
                              "what had to wait");
        NS_TEST_EXPECT_MSG_EQ((bench.node->GetObject<EunomiaSwitch>() == bench.sw), true,
                              "aggregated");
    }

    void Refusals()
    {
        static const struct {
            const char *attribute;
            const char *value;
            const char *problem;
        } rows[] = {
            {"Balancer", "spry", "Balancer: there is no balancer spry"},
            {"Balancer", "conga",
             "Balancer: conga has to know which hosts share a leaf; see EunomiaSwitch::SetLeaves"},
            {"BufferPolicy", "static", "BufferPolicy: there is no policy static"},
            {"BufferSize", "1000",
             "BufferSize: 1000 bytes leave no pool after the reserve and headroom of 2 ports"},
            {"Headroom", "9000000",
             "BufferSize: 9437184 bytes leave no pool after the reserve and headroom of 2 ports"},
        };
        for (const auto &row : rows) {
            Simulation simulation;
            Bench bench(2);
            bench.sw->SetAttribute(row.attribute, StringValue(row.value));
            NS_TEST_EXPECT_MSG_EQ(bench.sw->Configure(), row.problem, row.attribute);
            // Mended, it works.
            bench.sw->SetAttribute("Balancer", StringValue("ecmp"));
            bench.sw->SetAttribute("BufferPolicy", StringValue("dynamic"));
            bench.sw->SetAttribute("BufferSize", StringValue("99999999"));
            NS_TEST_EXPECT_MSG_EQ(bench.sw->Configure(), "", row.attribute);
            bench.Send(0, 1, 1);
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(bench.Arrived(), 1, row.attribute);
        }
        Grades();
        // A delay that no buffer can cover.
        Simulation simulation;
        Bench bench(2, 100 * GBPS, 10'000'000 * US);
        NS_TEST_EXPECT_MSG_NE(bench.sw->Configure(), "", "250 GB of headroom");
    }

    void Grades()
    {
        for (const char *bad : {"", ",", "0", "1000,", ",1000", "1000,1000", "2000,1000", "1e3",
                                "-1", "1000, 2000", "4294967296", "1,2,3,4,5,6,7,8,9"}) {
            Simulation simulation;
            Bench bench(2);
            bench.sw->SetAttribute("Balancer", StringValue("adaptive"));
            bench.sw->SetAttribute("AdaptiveGrades", StringValue(bad));
            NS_TEST_EXPECT_MSG_EQ(bench.sw->Configure(),
                                  "AdaptiveGrades: '" + std::string(bad) +
                                      "' is no ascending list of 1 to 8 lengths in bytes",
                                  bad);
        }
        for (const char *good : {"1", "4294967295", "1,2,3,4,5,6,7,8"}) {
            Simulation simulation;
            Bench bench(2);
            bench.sw->SetAttribute("Balancer", StringValue("adaptive"));
            bench.sw->SetAttribute("AdaptiveGrades", StringValue(good));
            NS_TEST_EXPECT_MSG_EQ(bench.sw->Configure(), "", good);
        }
    }

    void Drop(std::string path, const EunomiaFrame &, uint32_t) { m_n[path]++; }
    void Frame(std::string path, const EunomiaFrame &) { m_n[path]++; }
    void Pause(std::string path, uint32_t, uint32_t, bool) { m_n[path]++; }

    std::map<std::string, uint64_t> m_n;
};

/** A rate so low that 65,535 quanta exceed 32 bits of nanoseconds still pauses as it should. */
class SlowCase : public TestCase {
  public:
    SlowCase() : TestCase("PFC at 1 Mbps") {}

  private:
    void DoRun() override
    {
        Simulation simulation;
        Config::SetDefault("ns3::EunomiaSwitch::BufferSize", UintegerValue(60'000));
        Bench bench(2, 1'000'000, US);
        bench.host[1]->port->SendFirst(EunomiaTestPause(3, UINT32_MAX));
        Simulation::At(1000 * US, [&bench] { bench.Send(0, 1, 60); });
        Simulator::Stop(Seconds(4));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bench.host[0]->port->IsPaused(3), true, "as long as it is stuck");
        NS_TEST_EXPECT_MSG_EQ(bench.host[0]->changes.size(), 1, "without a break");
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bench.Arrived(), 60, "all came");
    }
};

class EunomiaSwitchTestSuite : public TestSuite {
  public:
    EunomiaSwitchTestSuite() : TestSuite("eunomia-switch", Type::UNIT)
    {
        AddTestCase(new ForwardCase);
        AddTestCase(new PfcPrioritiesCase);
        AddTestCase(new RefreshCase);
        AddTestCase(new HeadroomCase);
        AddTestCase(new IncastCase);
        AddTestCase(new DropCase);
        AddTestCase(new EcnCase);
        AddTestCase(new RoutesCase);
        AddTestCase(new RandomnessCase);
        AddTestCase(new ConfigCase);
        AddTestCase(new SlowCase);
    }
};

EunomiaSwitchTestSuite g_eunomiaSwitchTestSuite;

} // namespace
