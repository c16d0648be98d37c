// SPDX-License-Identifier: GPL-2.0-only
#include "../nic/eunomia-test-nic.h"
#include "core/switch/conweave.h"
#include "eunomia-fabric.h"

#include "ns3/test.h"

#include <map>
#include <random>

using namespace ns3;

namespace {

using Simulation = EunomiaTestSimulation;

constexpr int64_t US = 1'000'000; //!< in ps

void SetDefault(const std::string &name, const std::string &value)
{
    Config::SetDefault("ns3::Eunomia" + name, StringValue(value));
}

/** A network under ConWeave, its traffic, and what the hosts saw of it. */
struct Network {
    Network()
    {
        SetDefault("Switch::Balancer", "conweave");
        SetDefault("Nic::Transport", "gbn");
    }

    void Start()
    {
        for (uint32_t h = 0; h < fabric.GetNHosts(); h++) {
            fabric.GetNic(h)->SetUser(&user);
            fabric.GetNic(h)->TraceConnectWithoutContext("Arrival",
                                                         MakeCallback(&Network::Arrival, this));
        }
        problem = fabric.Configure(0);
    }

    void Post(uint32_t src, uint32_t dst, uint32_t bytes)
    {
        posted++;
        fabric.GetNic(src)->Post(fabric.GetNic(src)->Connect(fabric.GetNic(dst), 3), bytes,
                                 EunomiaTestNics::Flows().Open());
    }

    void Arrival(const EunomiaFrame &frame)
    {
        signalsAtHosts += frame.kind == EunomiaFrameKind::Signal;
        if (frame.kind != EunomiaFrameKind::Data) {
            return;
        }
        const auto flow = std::make_pair(frame.src, frame.entropy);
        const auto seen = newest.find(flow);
        late += seen != newest.end() && frame.psn < seen->second;
        newest[flow] = frame.psn;
        paths[eun_cw_unpack(frame.tag).path]++;
        order.push_back(frame.psn);
        links += frame.hops;
        bytes += frame.bytes;
    }

    /** Looks at every switch each `every`, as long as there is traffic. */
    void Watch(int64_t every)
    {
        std::string what;
        if (!fabric.Conserved(&what)) {
            problem = what;
        }
        for (uint32_t s = 0; s < fabric.GetNSwitches(); s++) {
            heldAtOnce = std::max(heldAtOnce, fabric.GetSwitch(s)->GetHeld());
        }
        if (user.completions.size() < expected) {
            Simulation::At(EunomiaNow() + every, [this, every] { Watch(every); });
        }
    }

    /** Over all switches. */
    uint64_t Sum(uint64_t eun_lb_edge_stats::*field) const
    {
        uint64_t n = 0;
        for (uint32_t s = 0; s < fabric.GetNSwitches(); s++) {
            n += fabric.GetSwitch(s)->GetEdgeStats()->*field;
        }
        return n;
    }

    uint64_t SumOf(uint64_t (EunomiaSwitch::*count)() const) const
    {
        uint64_t n = 0;
        for (uint32_t s = 0; s < fabric.GetNSwitches(); s++) {
            n += (PeekPointer(fabric.GetSwitch(s))->*count)();
        }
        return n;
    }

    Simulation simulation;
    EunomiaTestUser user;
    EunomiaFabric fabric;
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> newest; //!< PSN by host and flow
    std::map<uint32_t, uint64_t> paths; //!< data frames by path, as the header says
    std::vector<uint32_t> order;        //!< PSNs as they came
    std::string problem;
    uint64_t posted = 0;
    uint64_t expected = 0; //!< flows, in the end
    uint64_t late = 0;
    uint64_t links = 0;
    uint64_t bytes = 0;
    uint64_t signalsAtHosts = 0;
    uint64_t heldAtOnce = 0;
};

/** Two leaves, four hosts each; four spines, of which the first is four times as slow. */
void BuildLopsided(EunomiaFabric &fabric)
{
    for (uint32_t h = 0; h < 8; h++) {
        fabric.AddHost();
    }
    for (uint32_t leaf = 0; leaf < 2; leaf++) {
        fabric.AddSwitch("leaf" + std::to_string(leaf));
        for (uint32_t h = 0; h < 4; h++) {
            fabric.ConnectHost(4 * leaf + h, leaf);
        }
    }
    for (uint32_t s = 0; s < 4; s++) {
        SetDefault("Link::DataRate", s ? "100Gbps" : "25Gbps");
        const uint32_t spine = fabric.AddSwitch("spine" + std::to_string(s));
        fabric.ConnectSwitches(0, spine);
        fabric.ConnectSwitches(1, spine);
    }
    fabric.Route();
}

/** Two pods of two leaves and two aggregation switches, two cores for each of these. */
void BuildThreeTiers(EunomiaFabric &fabric)
{
    for (uint32_t h = 0; h < 8; h++) {
        fabric.AddHost();
    }
    for (uint32_t s = 0; s < 12; s++) {
        fabric.AddSwitch((s < 4 ? "leaf" : s < 8 ? "agg" : "core") + std::to_string(s));
    }
    for (uint32_t h = 0; h < 8; h++) {
        fabric.ConnectHost(h, h / 2);
    }
    for (uint32_t pod = 0; pod < 2; pod++) {
        for (uint32_t agg = 0; agg < 2; agg++) {
            for (uint32_t i = 0; i < 2; i++) {
                fabric.ConnectSwitches(2 * pod + i, 4 + 2 * pod + agg);
                fabric.ConnectSwitches(4 + 2 * pod + agg, 8 + 2 * agg + i);
            }
        }
    }
    fabric.Route();
}

/** Random flows from each host to others, up to 400 KB. */
void AddTraffic(Network &net, uint32_t seed, uint32_t flows)
{
    std::mt19937 rng(seed);
    net.expected = flows;
    const uint32_t hosts = net.fabric.GetNHosts();
    for (uint32_t i = 0; i < flows; i++) {
        const uint32_t src = rng() % hosts;
        const uint32_t dst = (src + 1 + rng() % (hosts - 1)) % hosts;
        const uint32_t bytes = 1 + rng() % 400'000;
        Simulation::At(rng() % (1000 * US), [&net, src, dst, bytes] { net.Post(src, dst, bytes); });
    }
    Simulation::At(US, [&net] { net.Watch(3 * US); });
}

/** Flows leave the slow path, hosts see every packet in order, nothing gets lost on the way. */
class RerouteCase : public TestCase {
  public:
    RerouteCase() : TestCase("flows leave a slow path and arrive in order") {}

  private:
    void DoRun() override
    {
        const uint32_t seed = EunomiaTestFabricSeed("reroutes");
        for (const char *inBuffer : {"true", "false"}) {
            for (uint32_t round = 0; round < 4; round++) {
                Check(BuildLopsided, inBuffer, seed + round);
                Check(BuildThreeTiers, inBuffer, seed + round);
            }
        }
    }

    void Check(void (*build)(EunomiaFabric &), const char *inBuffer, uint32_t seed)
    {
        Network net;
        SetDefault("Switch::ConweaveBuffer", inBuffer);
        SetDefault("Switch::ConweaveResumeExtra", "400us");
        build(net.fabric);
        net.Start();
        NS_TEST_ASSERT_MSG_EQ(net.problem, "", "attributes");
        AddTraffic(net, seed, 200);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(net.problem, "", "conserved all the time");
        NS_TEST_EXPECT_MSG_EQ(net.posted, 200, "all began");
        NS_TEST_EXPECT_MSG_EQ(net.user.completions.size(), 200, "and ended");
        NS_TEST_EXPECT_MSG_EQ(net.late, 0, "in order");
        NS_TEST_EXPECT_MSG_EQ(net.signalsAtHosts, 0, "signals are for switches");
        NS_TEST_EXPECT_MSG_GT(net.Sum(&eun_lb_edge_stats::reroutes), 20, "flows were rerouted");
        NS_TEST_EXPECT_MSG_GT(net.Sum(&eun_lb_edge_stats::holds), 100, "frames were held");
        NS_TEST_EXPECT_MSG_GT(net.heldAtOnce, 0, "and seen held");
        NS_TEST_EXPECT_MSG_EQ(net.SumOf(&EunomiaSwitch::GetHeld), 0, "none is left");
        NS_TEST_EXPECT_MSG_GT(net.SumOf(&EunomiaSwitch::GetSignalsMade), 200, "signals");
        NS_TEST_EXPECT_MSG_EQ(net.SumOf(&EunomiaSwitch::GetSignalsMade),
                              net.SumOf(&EunomiaSwitch::GetSignalsTaken), "all came");
        NS_TEST_EXPECT_MSG_EQ(net.fabric.GetTotals().dropped, 0, "PFC");
        NS_TEST_EXPECT_MSG_EQ(net.fabric.GetTotals().bufferBytes, 0, "buffers are empty");
    }
};

/** Without PFC and with little memory: drops, and still nothing is left or counted wrong. */
class LossCase : public TestCase {
  public:
    LossCase() : TestCase("drops leave nothing behind") {}

  private:
    void DoRun() override
    {
        const uint32_t seed = EunomiaTestFabricSeed("drops");
        for (const char *inBuffer : {"true", "false"}) {
            for (const char *policy : {"dynamic", "conweave-ns3"}) {
                Check(inBuffer, policy, seed);
            }
        }
    }

    void Check(const char *inBuffer, const char *policy, uint32_t seed)
    {
        Network net;
        SetDefault("Switch::ConweaveBuffer", inBuffer);
        SetDefault("Switch::BufferPolicy", policy);
        SetDefault("Switch::Pfc", "false");
        SetDefault("Switch::BufferSize", "500000");
        SetDefault("Switch::ConweaveQueues", "2");
        SetDefault("Nic::CongestionControl", "none");
        BuildLopsided(net.fabric);
        net.Start();
        NS_TEST_ASSERT_MSG_EQ(net.problem, "", policy);
        AddTraffic(net, seed, 200);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(net.problem, "", "conserved all the time");
        NS_TEST_EXPECT_MSG_EQ(net.user.completions.size(), 200, "all ended");
        NS_TEST_EXPECT_MSG_GT(net.fabric.GetTotals().dropped, 0, "frames were dropped");
        NS_TEST_EXPECT_MSG_EQ(net.SumOf(&EunomiaSwitch::GetHeld), 0, "none is left");
        NS_TEST_EXPECT_MSG_EQ(net.fabric.GetTotals().bufferBytes, 0, "buffers are empty");
    }
};

/** Data is 4 bytes longer between first and last switch, and nowhere else. */
class HeaderCase : public TestCase {
  public:
    HeaderCase() : TestCase("the header is there between first and last switch") {}

  private:
    void DoRun() override
    {
        Check(BuildLopsided, 4, 5, 2);
        Check(BuildLopsided, 0, 5, 2);
        Check(BuildThreeTiers, 4, 7, 4);
        Check(BuildThreeTiers, 4, 3, 2);
        Check(BuildThreeTiers, 4, 1, 0);
    }

    void Check(void (*build)(EunomiaFabric &), uint32_t header, uint32_t dst, uint32_t inner)
    {
        Network net;
        SetDefault("Switch::ConweaveHeader", std::to_string(header));
        build(net.fabric);
        net.Start();
        net.Post(0, dst, 50 * 1024);
        Simulator::Run();
        uint64_t frames = 0;
        uint64_t bytes = 0;
        for (uint32_t s = 0; s < net.fabric.GetNSwitches(); s++) {
            for (uint32_t p = 0; p < net.fabric.GetSwitch(s)->GetNPorts(); p++) {
                const auto port = net.fabric.GetSwitch(s)->GetPort(p);
                frames += port->GetFramesSent(EunomiaFrameKind::Data);
                bytes += port->GetBytesSent(EunomiaFrameKind::Data);
            }
        }
        NS_TEST_EXPECT_MSG_EQ(frames, 50 * (inner + 1), "frames by switches");
        NS_TEST_EXPECT_MSG_EQ(bytes, net.bytes * (inner + 1) + 50ull * inner * header, "bytes");
        NS_TEST_EXPECT_MSG_EQ(net.links, 50 * (inner + 2), "links");
        const auto own = net.fabric.GetNic(0)->GetPort()->GetBytesSent(EunomiaFrameKind::Data);
        NS_TEST_EXPECT_MSG_EQ(net.bytes, own, "hosts do not see it");
        const eun_buffer_config &config = net.fabric.GetSwitch(0)->GetBuffer().config;
        NS_TEST_EXPECT_MSG_EQ(config.max_frame_bytes, 1114 + header, "buffers are made for it");
        NS_TEST_EXPECT_MSG_EQ(config.reserve_bytes, 1114 + header, "and reserves");
    }
};

/** What each leaf is told about the ways to the others; all paths are used, and no other. */
class WaysCase : public TestCase {
  public:
    WaysCase() : TestCase("paths and round trips come from the network") {}

  private:
    void DoRun() override
    {
        Network net;
        BuildThreeTiers(net.fabric);
        net.Start();
        const auto ways = net.fabric.GetSwitch(0)->GetLeafWays();
        NS_TEST_ASSERT_MSG_EQ(ways.size(), 4, "leaves");
        // One link: 1 us each way, 80 ps for each byte of the longest frame, a signal and gaps.
        const int64_t link = 2 * US + (1114 + 4 + 20 + 64 + 20) * 80;
        const uint32_t links[] = {0, 2, 4, 4};
        const uint32_t paths[] = {1, 2, 4, 4};
        for (uint32_t leaf = 0; leaf < 4; leaf++) {
            NS_TEST_EXPECT_MSG_EQ(ways[leaf].links, links[leaf], "links");
            NS_TEST_EXPECT_MSG_EQ(ways[leaf].paths, paths[leaf], "paths");
            NS_TEST_EXPECT_MSG_EQ(ways[leaf].rtt_ps, links[leaf] * link, "round trip");
        }
        NS_TEST_EXPECT_MSG_EQ(net.fabric.GetSwitch(5)->GetLeafWays().size(), 0, "no leaf");
        for (uint32_t i = 0; i < 100; i++) {
            Simulation::At(i * 10 * US, [&net] { net.Post(0, 7, 1000); });
        }
        Simulator::Run();
        uint64_t sum = 0;
        for (uint32_t core = 8; core < 12; core++) {
            uint64_t frames = 0;
            const auto sw = net.fabric.GetSwitch(core);
            for (uint32_t p = 0; p < sw->GetNPorts(); p++) {
                frames += sw->GetPort(p)->GetFramesSent(EunomiaFrameKind::Data);
            }
            NS_TEST_EXPECT_MSG_GT(frames, 5, "every core carries data");
            // The lowest digit is the aggregation switch, the next one the core behind it.
            const uint32_t path = (core - 8) / 2 + 2 * (core % 2);
            NS_TEST_EXPECT_MSG_EQ(frames, net.paths[path], "of its path");
            sum += frames;
        }
        NS_TEST_EXPECT_MSG_EQ(sum, 100, "of every flow");
    }
};

/** Frames by hand into the last switch: held, released by the timer or by what comes after. */
class HoldCase : public TestCase {
  public:
    HoldCase() : TestCase("held frames go out by timer, or before a new start") {}

  private:
    static void Arrive(Network &net, const eun_cw_header &header, uint32_t psn)
    {
        EunomiaFrame *frame = EunomiaTestFrame(1004, 3);
        frame->src = 0;
        frame->dst = 4;
        frame->psn = psn;
        frame->generation = 99; // of no QP
        frame->tag = eun_cw_pack(&header);
        const auto leaf = net.fabric.GetSwitch(1);
        leaf->Receive(PeekPointer(leaf->GetPort(4)), frame);
    }

    void DoRun() override
    {
        for (const bool starts : {false, true}) {
            Network net;
            BuildLopsided(net.fabric);
            net.Start();
            net.fabric.GetNic(0)->Connect(net.fabric.GetNic(4), 3);
            const auto leaf = net.fabric.GetSwitch(1);
            eun_cw_header header{};
            header.opcode = EUN_CW_DATA;
            header.epoch = 1;
            header.rerouted = true;
            Simulation::At(10 * US, [&] {
                Arrive(net, header, 1);
                Arrive(net, header, 2);
                NS_TEST_EXPECT_MSG_EQ(leaf->GetHeld(), 2, "held");
                NS_TEST_EXPECT_MSG_EQ(leaf->GetBuffer().used, 2000, "and stored");
            });
            Simulation::At(11 * US, [&] {
                header.rerouted = false;
                header.opcode = EUN_CW_START;
                header.epoch = 2;
                if (starts) {
                    Arrive(net, header, 3);
                    NS_TEST_EXPECT_MSG_EQ(leaf->GetHeld(), 0, "released");
                }
            });
            Simulation::At((10 + 216) * US - 1, [&] {
                NS_TEST_EXPECT_MSG_EQ(leaf->GetHeld(), (starts ? 0 : 2), "until the timer");
            });
            Simulator::Run();
            const std::vector<uint32_t> order =
                starts ? std::vector<uint32_t>{1, 2, 3} : std::vector<uint32_t>{1, 2};
            NS_TEST_EXPECT_MSG_EQ((net.order == order), true, "in order");
            NS_TEST_EXPECT_MSG_EQ(leaf->GetSignalsMade(), 1, "a reply, or that the timer fired");
            NS_TEST_EXPECT_MSG_EQ(net.fabric.GetSwitch(0)->GetSignalsTaken(), 1, "and it came");
            NS_TEST_EXPECT_MSG_EQ(leaf->GetHeld(), 0, "none is left");
        }
    }
};

/** Held frames have room in the buffer, but another flow's frames have not waited for them. */
class UnseenCase : public TestCase {
  public:
    UnseenCase() : TestCase("neither marks nor records count held frames") {}

  private:
    static void Arrive(Network &net, uint32_t entropy, bool rerouted, uint32_t telemetry)
    {
        EunomiaFrame *frame = EunomiaTestFrame(1004, 3);
        frame->src = 0;
        frame->dst = 4;
        frame->entropy = entropy;
        frame->generation = 99; // of no QP
        frame->telemetry = telemetry;
        eun_cw_header header{};
        header.opcode = EUN_CW_DATA;
        header.rerouted = rerouted;
        frame->tag = eun_cw_pack(&header);
        const auto leaf = net.fabric.GetSwitch(1);
        leaf->Receive(PeekPointer(leaf->GetPort(4)), frame);
    }

    void Note(const EunomiaFrame &frame)
    {
        if (frame.telemetry) {
            const eun_int_path path =
                EunomiaTestSimulation::Pool().Telemetry().Get(frame.telemetry);
            m_queue.push_back(eun_int_decode(path.hops[0]).queue_bytes);
        }
    }

    void DoRun() override
    {
        Network net;
        SetDefault("Switch::EcnMin", "1500");
        SetDefault("Switch::EcnMax", "1500");
        BuildLopsided(net.fabric);
        net.Start();
        net.fabric.GetNic(0)->Connect(net.fabric.GetNic(4), 3);
        const auto leaf = net.fabric.GetSwitch(1);
        leaf->GetPort(0)->TraceConnectWithoutContext("Dequeue",
                                                     MakeCallback(&UnseenCase::Note, this));
        const auto slot = [] { return EunomiaTestSimulation::Pool().Telemetry().Take(); };
        Simulation::At(10 * US, [&] {
            for (int i = 0; i < 5; i++) {
                Arrive(net, 1, true, 0);
            }
            Arrive(net, 2, false, slot());
            Arrive(net, 2, false, slot());
            Arrive(net, 2, false, slot());
            NS_TEST_EXPECT_MSG_EQ(leaf->GetHeld(), 5, "held");
            NS_TEST_EXPECT_MSG_EQ(leaf->GetQueueBytes(0), 7000, "one left at once");
        });
        // Two of three wait, then one, then none; the record counts 80 bytes.
        Simulation::At(20 * US, [&] {
            const std::vector<uint64_t> queue{0, 960, 0};
            NS_TEST_EXPECT_MSG_EQ((m_queue == queue), true, "what waited before each");
            NS_TEST_EXPECT_MSG_EQ(leaf->GetMarks(), 0, "a queue of 1,000 bytes");
        });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(leaf->GetHeld(), 0, "released");
        // Of five the first leaves an empty queue behind, as the others are not in it yet.
        NS_TEST_EXPECT_MSG_EQ(leaf->GetMarks(), 2, "3,000 and 2,000 bytes");
        NS_TEST_EXPECT_MSG_EQ(leaf->GetBuffer().used, 0, "empty");
    }

    std::vector<uint64_t> m_queue;
};

/** Attributes and networks that cannot work are refused in one line. */
class RefusalCase : public TestCase {
  public:
    RefusalCase() : TestCase("what cannot work is refused") {}

  private:
    void DoRun() override
    {
        Simulation simulation;
        SetDefault("Switch::Balancer", "conweave");
        auto node = CreateObject<Node>();
        auto sw = CreateObject<EunomiaSwitch>();
        node->AggregateObject(sw);
        EunomiaTestEnd end;
        auto port = CreateObject<EunomiaPort>();
        node->AddDevice(port);
        auto link = EunomiaTestLink(EUNOMIA_TEST_GBPS * 100, US, 20);
        link->Connect(end.port, port);
        sw->AddPort(port);
        NS_TEST_EXPECT_MSG_EQ(sw->Configure(),
                              "Balancer: conweave has to know which hosts share a leaf; see "
                              "EunomiaSwitch::SetLeaves",
                              "alone");
        // Longer, and times of the simulation and these would not add up in 64 bits.
        for (const char *name :
             {"ReplyExtra", "PathBusy", "ResumeExtra", "ResumeDefault", "LinkRtt"}) {
            for (const char *value : {"1000.1s", "2000h", "-1us"}) {
                const bool set = Config::SetDefaultFailSafe(
                    std::string("ns3::EunomiaSwitch::Conweave") + name, StringValue(value));
                NS_TEST_EXPECT_MSG_EQ(set, false, name << " " << value);
            }
        }
        for (const char *value : {"31ms", "0us", "-1us"}) {
            const bool set = Config::SetDefaultFailSafe("ns3::EunomiaSwitch::ConweaveInactive",
                                                        StringValue(value));
            NS_TEST_EXPECT_MSG_EQ(set, false, value);
        }
    }
};

class EunomiaSwitchEdgeTestSuite : public TestSuite {
  public:
    EunomiaSwitchEdgeTestSuite() : TestSuite("eunomia-switch-edge", Type::UNIT)
    {
        AddTestCase(new RerouteCase);
        AddTestCase(new LossCase);
        AddTestCase(new HeaderCase);
        AddTestCase(new WaysCase);
        AddTestCase(new HoldCase);
        AddTestCase(new UnseenCase);
        AddTestCase(new RefusalCase);
    }
};

EunomiaSwitchEdgeTestSuite g_eunomiaSwitchEdgeTestSuite;

} // namespace
