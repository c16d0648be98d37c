// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-fabric.h"
#include "eunomia-test-nic.h"

#include "ns3/test.h"

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

using namespace ns3;

namespace {

using Simulation = EunomiaTestSimulation;
using Kind = EunomiaFrameKind;

constexpr uint32_t MTU = 1024;
constexpr int64_t US = 1'000'000; //!< in ps
constexpr double LINE = 100e9;

void SetDefault(const std::string &name, const std::string &value)
{
    Config::SetDefault("ns3::Eunomia" + name, StringValue(value));
}

/** As eunomia-sim sets it for that control, on paths of `switches`. */
void UseControl(const eun_cc_ops &cc, uint32_t switches)
{
    SetDefault("Nic::CongestionControl", cc.name);
    SetDefault("Switch::MaxFrame", std::to_string(1094 + eun_int_bytes(switches)));
    if (cc.signal == EUN_CC_SIGNAL_ECHO) {
        SetDefault("Switch::EcnMin", "30000");
        SetDefault("Switch::EcnMax", "30000");
    }
}

/** CNP frames come for senders whose control lives on them, whatever the receiver's own is. */
class CnpCase : public TestCase {
  public:
    CnpCase() : TestCase("CNPs for those that use them") {}

  private:
    void DoRun() override
    {
        for (size_t i = 0; eun_ccs[i]; i++) {
            for (size_t k = 0; eun_ccs[k]; k++) {
                Check(*eun_ccs[i], *eun_ccs[k]);
            }
        }
    }

    void Check(const eun_cc_ops &sender, const eun_cc_ops &receiver)
    {
        Simulation simulation;
        EunomiaTestNics nics;
        nics.nic[0]->SetAttribute("CongestionControl", StringValue(sender.name));
        nics.nic[1]->SetAttribute("CongestionControl", StringValue(receiver.name));
        nics.box.filter = [](EunomiaFrame &frame) {
            frame.ce = frame.kind == Kind::Data;
            return true;
        };
        nics.Post(nics.Connect(), 200 * MTU);
        Simulator::Run();
        const std::string what = std::string(sender.name) + " to " + receiver.name;
        NS_TEST_EXPECT_MSG_EQ(nics.user.completions.size(), 1, what);
        NS_TEST_EXPECT_MSG_EQ((nics.Made(1, Kind::Cnp) > 0), (sender.signal == EUN_CC_SIGNAL_CNP),
                              what);
    }
};

/** Hosts of one rack send to as many of another, over one link between the racks. */
class SharesCase : public TestCase {
  public:
    SharesCase() : TestCase("long flows share a link") {}

  private:
    void DoRun() override
    {
        for (const uint32_t flows : {2u, 4u}) {
            for (size_t i = 0; eun_ccs[i]; i++) {
                if (eun_ccs[i]->signal != EUN_CC_SIGNAL_NONE) {
                    Check(*eun_ccs[i], flows);
                }
            }
        }
    }

    void Check(const eun_cc_ops &cc, uint32_t flows)
    {
        constexpr int64_t SETTLED = 15000 * US;
        constexpr int64_t END = 25000 * US;
        Simulation simulation;
        UseControl(cc, 3);
        SetDefault("Switch::Balancer", "ecmp");
        SetDefault("Nic::Transport", "gbn");
        EunomiaFabric fabric;
        EunomiaBuildClos(fabric, {2, 1, flows});
        NS_TEST_ASSERT_MSG_EQ(fabric.Configure(0), "", cc.name);
        EunomiaTestUser user;
        std::vector<uint32_t> slots;
        for (uint32_t h = 0; h < flows; h++) {
            const auto nic = fabric.GetNic(h);
            nic->SetUser(&user);
            slots.push_back(EunomiaTestNics::Flows().Open());
            // Half a round trip apart.
            Simulation::At(h * 4 * US, [&fabric, &slots, nic, h, flows] {
                nic->Post(nic->Connect(fabric.GetNic(h + flows), 3), 1u << 31, slots[h]);
            });
        }
        const auto link = fabric.GetSwitch(0)->GetPort(flows);
        std::vector<uint64_t> before;
        uint64_t carried = 0;
        Simulation::At(SETTLED, [&] {
            for (const uint32_t slot : slots) {
                before.push_back(EunomiaTestNics::Flows()[slot].accepted);
            }
            carried = link->GetWireBytes();
        });
        double queue = 0;
        constexpr uint32_t LOOKS = 500;
        for (uint32_t i = 0; i < LOOKS; i++) {
            Simulation::At(SETTLED + i * (END - SETTLED) / LOOKS,
                           [&] { queue += fabric.GetSwitch(0)->GetQueueBytes(flows); });
        }
        Simulator::Stop(TimeStep(END));
        Simulator::Run();
        queue /= LOOKS;
        const std::string what = std::string(cc.name) + ", " + std::to_string(flows) + " flows";
        double sum = 0;
        double squares = 0;
        for (uint32_t h = 0; h < flows; h++) {
            const auto got =
                static_cast<double>(EunomiaTestNics::Flows()[slots[h]].accepted - before[h]);
            sum += got;
            squares += got * got;
        }
        const double fairness = sum * sum / (flows * squares);
        const double use = static_cast<double>(link->GetWireBytes() - carried) * 8 / LINE /
                           (static_cast<double>(END - SETTLED) * 1e-12);
        std::cout << what << ": Jain " << fairness << ", utilisation " << use << ", pauses "
                  << fabric.GetTotals().pauses << ", mean queue " << queue << std::endl;
        NS_TEST_EXPECT_MSG_GT(fairness, 0.95, what);
        NS_TEST_EXPECT_MSG_GT(use, 0.9, what);
        NS_TEST_EXPECT_MSG_EQ(fabric.GetTotals().pauses, 0, what);
        CheckQueue(cc, queue);
        uint64_t cnps = 0;
        for (uint32_t h = 0; h < 2 * flows; h++) {
            cnps += fabric.GetNic(h)->GetFramesMade(Kind::Cnp);
        }
        NS_TEST_EXPECT_MSG_EQ((cnps > 0), (cc.signal == EUN_CC_SIGNAL_CNP), "CNPs, " << what);
        std::string problem;
        NS_TEST_EXPECT_MSG_EQ(fabric.Conserved(&problem), true, problem << ", " << what);
    }

    /** Bytes that wait before the link: what the signal tells the senders to leave there. */
    void CheckQueue(const eun_cc_ops &cc, double queue)
    {
        switch (cc.signal) {
        case EUN_CC_SIGNAL_INT:
            NS_TEST_EXPECT_MSG_LT(queue, 3'000, cc.name);
            break;
        case EUN_CC_SIGNAL_ECHO:
            // About the step at 30 KB: a saw-tooth some packets above it to some below.
            NS_TEST_EXPECT_MSG_GT(queue, 15'000, cc.name);
            NS_TEST_EXPECT_MSG_LT(queue, 35'000, cc.name);
            break;
        case EUN_CC_SIGNAL_RTT:
            // 21 us, where the rate no longer always rises, are 158 KB beside the path's 8.4 us.
            NS_TEST_EXPECT_MSG_LT(queue, 160'000, cc.name);
            break;
        default:
            // Marks begin at 100 KB, and above 400 KB every frame is marked.
            NS_TEST_EXPECT_MSG_GT(queue, 10'000, cc.name);
            NS_TEST_EXPECT_MSG_LT(queue, 400'000, cc.name);
            break;
        }
    }
};

/** What a record says, against the port that it was written at. */
class RecordCase : public TestCase {
  public:
    RecordCase() : TestCase("records say what the port counts") {}

  private:
    void DoRun() override
    {
        Simulation simulation;
        UseControl(eun_cc_hpcc, 1);
        EunomiaFabric fabric;
        EunomiaBuildClos(fabric, {1, 1, 3});
        NS_TEST_ASSERT_MSG_EQ(fabric.Configure(0), "", "attributes");
        for (uint32_t h = 0; h < 2; h++) {
            const auto nic = fabric.GetNic(h);
            nic->Post(nic->Connect(fabric.GetNic(2), 3), 300 * MTU,
                      EunomiaTestNics::Flows().Open());
        }
        m_switch = fabric.GetSwitch(0);
        m_switch->GetPort(2)->TraceConnectWithoutContext("Dequeue",
                                                         MakeCallback(&RecordCase::Leaves, this));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(m_records, 600, "every packet");
        NS_TEST_EXPECT_MSG_GT(m_longest, 10'000, "two to one: a queue");
    }

    void Leaves(const EunomiaFrame &frame)
    {
        if (frame.kind != Kind::Data) {
            return;
        }
        const eun_int_path path = Simulation::Pool().Telemetry().Get(frame.telemetry);
        NS_TEST_ASSERT_MSG_EQ(path.count, 1, "one switch");
        const eun_int_hop hop = eun_int_decode(path.hops[0]);
        const uint64_t queue = m_switch->GetQueueBytes(2);
        const uint64_t before = m_switch->GetPort(2)->GetWireBytes() - frame.bytes - 20;
        NS_TEST_EXPECT_MSG_EQ(hop.rate_bps, 100'000'000'000, "rate");
        NS_TEST_EXPECT_MSG_EQ(hop.time_ns, EunomiaNow() / 1000, "time");
        NS_TEST_EXPECT_MSG_EQ(hop.tx_units, before / 128, "carried before");
        NS_TEST_EXPECT_MSG_EQ(hop.queue_bytes, queue / 80 * 80, "left behind");
        m_longest = std::max(m_longest, queue);
        m_records++;
    }

    Ptr<EunomiaSwitch> m_switch;
    uint64_t m_longest = 0;
    uint32_t m_records = 0;
};

/** Two hosts at the ends of a chain of switches: bytes of every frame on every link. */
class IntCase : public TestCase {
  public:
    IntCase() : TestCase("8 bytes a switch, there and back, however many") {}

  private:
    void DoRun() override
    {
        for (const uint32_t switches : {1u, 3u, 5u, 7u, 40u}) {
            Check(switches, "hpcc", "gbn");
            Check(switches, "hpcc", "eunomia");
            Check(switches, "dcqcn", "gbn");
        }
        Refused();
    }

    void Check(uint32_t switches, const std::string &cc, const std::string &transport)
    {
        constexpr uint32_t PACKETS = 200;
        Simulation simulation;
        UseControl(*eun_cc_find(cc.c_str()), switches);
        SetDefault("Nic::Transport", transport);
        EunomiaFabric fabric;
        Chain(fabric, switches);
        NS_TEST_ASSERT_MSG_EQ(fabric.Configure(0), "", cc);
        EunomiaTestUser user;
        const auto nic = fabric.GetNic(0);
        nic->SetUser(&user);
        const uint32_t qp = nic->Connect(fabric.GetNic(1), 3);
        nic->Post(qp, PACKETS * MTU, EunomiaTestNics::Flows().Open());
        Simulator::Run();
        const std::string what = cc + ", " + transport + ", " + std::to_string(switches);
        NS_TEST_EXPECT_MSG_EQ(user.completions.size(), 1, what);
        const bool records = cc == "hpcc";
        const uint64_t data = PACKETS * (MTU + nic->GetOverhead().data);
        for (uint32_t hop = 0; hop <= switches; hop++) {
            // Of a switch in a chain, port 0 leads back and port 1 on; the ends are hosts.
            const auto port = hop == 0 ? nic->GetPort() : Forward(fabric, hop - 1);
            NS_TEST_EXPECT_MSG_EQ(port->GetBytesSent(Kind::Data),
                                  data + (records ? PACKETS * eun_int_bytes(hop) : 0),
                                  "data after " << hop << ", " << what);
            const auto back = port->GetPeer();
            const uint64_t acks = back->GetFramesSent(Kind::Ack);
            NS_TEST_EXPECT_MSG_EQ(acks, PACKETS, what);
            NS_TEST_EXPECT_MSG_EQ(back->GetBytesSent(Kind::Ack),
                                  acks * (66 + (records ? eun_int_bytes(switches) : 0)),
                                  "ACKs after " << hop << ", " << what);
        }
        NS_TEST_EXPECT_MSG_EQ(Simulation::Pool().Telemetry().GetAlive(), records, "the last one");
        nic->Close(qp);
        NS_TEST_EXPECT_MSG_EQ(Simulation::Pool().Telemetry().GetAlive(), 0, "none");
        std::string problem;
        NS_TEST_EXPECT_MSG_EQ(fabric.Conserved(&problem), true, problem << ", " << what);
    }

    static void Chain(EunomiaFabric &fabric, uint32_t switches)
    {
        fabric.AddHost();
        fabric.AddHost();
        for (uint32_t s = 0; s < switches; s++) {
            fabric.AddSwitch("s" + std::to_string(s));
        }
        fabric.ConnectHost(0, 0);
        for (uint32_t s = 1; s < switches; s++) {
            fabric.ConnectSwitches(s - 1, s);
        }
        fabric.ConnectHost(1, switches - 1);
        fabric.Route();
    }

    static Ptr<EunomiaPort> Forward(const EunomiaFabric &fabric, uint32_t sw)
    {
        return fabric.GetSwitch(sw)->GetPort(1);
    }

    /** Frames grow: the switches must know. And some rates have no code. */
    void Refused()
    {
        {
            Simulation simulation;
            UseControl(eun_cc_hpcc, 4);
            EunomiaFabric fabric;
            Chain(fabric, 5);
            NS_TEST_EXPECT_MSG_EQ(fabric.Configure(0),
                                  "ns3::EunomiaSwitch::MaxFrame: 1130 bytes are less than the 1138 "
                                  "of the longest frame that a NIC sends",
                                  "one record more");
        }
        Simulation simulation;
        UseControl(eun_cc_hpcc, 5);
        SetDefault("Link::DataRate", "123Gbps");
        EunomiaFabric fabric;
        Chain(fabric, 5);
        NS_TEST_EXPECT_MSG_EQ(
            fabric.Configure(0),
            "ns3::EunomiaLink::DataRate: the records of switches have no code for "
            "123000000000 bit/s (core/wire/int.c)",
            "rate");
    }
};

/** Frames with records get lost, come late and twice, and QPs close under way: none is leaked. */
class LeakCase : public TestCase {
  public:
    LeakCase() : TestCase("records are given back whatever becomes of a frame") {}

  private:
    void DoRun() override
    {
        for (const char *transport : {"gbn", "eunomia", "irn"}) {
            Check(transport);
        }
    }

    void Check(const std::string &transport)
    {
        Simulation simulation;
        SetDefault("Nic::CongestionControl", "hpcc");
        SetDefault("Nic::Transport", transport);
        SetDefault("Nic::Window", "100000");
        SetDefault("Nic::RetransmitTimeout", "200us");
        SetDefault("Nic::CacheBlocks", "0");
        SetDefault("Nic::AllocTime", "1us");
        EunomiaTestNics nics;
        uint32_t frames = 0;
        nics.box.filter = [&frames](EunomiaFrame &frame) {
            if (frame.kind == Kind::Data) {
                Simulation::Pool().Telemetry().Append(frame.telemetry, frames, 1);
                frame.bytes += EUN_INT_HOP_BYTES;
            }
            return ++frames % 37 != 0;
        };
        for (uint32_t i = 0; i < 4; i++) {
            nics.Post(nics.Connect(), 300 * MTU);
        }
        const uint32_t doomed = nics.Connect();
        nics.Post(doomed, 3000 * MTU);
        Simulation::At(60 * US, [&nics, doomed] { nics.nic[0]->Close(doomed); });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(nics.user.completions.size(), 4, transport);
        NS_TEST_EXPECT_MSG_GT(nics.box.dropped, 30, transport);
        NS_TEST_EXPECT_MSG_EQ(Simulation::Pool().GetAlive(), 0, transport);
        NS_TEST_EXPECT_MSG_EQ(Simulation::Pool().Telemetry().GetAlive(), 4, transport);
        for (const auto &done : nics.user.completions) {
            nics.nic[0]->Close(done.qp);
        }
        NS_TEST_EXPECT_MSG_EQ(Simulation::Pool().Telemetry().GetAlive(), 0, transport);
    }
};

/** Round trips as the NIC measures them, against the closed form: just below and above `high`. */
class RoundTripCase : public TestCase {
  public:
    RoundTripCase() : TestCase("round trips are those of the path") {}

  private:
    /** FCT of a long flow where round trips above `high` slow it. */
    static int64_t Fct(const std::string &transport, uint32_t ackEvery, int64_t high)
    {
        Simulation simulation;
        SetDefault("Nic::CongestionControl", "timely");
        SetDefault("Nic::Transport", transport);
        SetDefault("Nic::AckEvery", std::to_string(ackEvery));
        SetDefault("Nic::TimelyLow", "1ns");
        SetDefault("Nic::TimelyHigh", std::to_string(high) + "ps");
        EunomiaTestNics nics;
        nics.Post(nics.Connect(), 2000 * MTU);
        Simulator::Run();
        NS_ABORT_MSG_UNLESS(nics.user.completions.size() == 1, "the flow did not end");
        return nics.user.completions[0].at;
    }

    void DoRun() override
    {
        const int64_t rtt = EunomiaTestNics::Fct(MTU);
        // Samples are every 16th packet: a coalesced answer would speak of most of them late.
        for (const uint32_t every : {1u, 60u}) {
            const int64_t free = Fct("gbn", every, rtt);
            NS_TEST_EXPECT_MSG_LT(free, 2000 * 89 * 1000 + 10 * US, "line rate");
            NS_TEST_EXPECT_MSG_GT(Fct("gbn", every, rtt * 95 / 100), free * 12 / 10, "slower");
        }
    }
};

/** What is wrong with a parameter. */
class ParametersCase : public TestCase {
  public:
    ParametersCase() : TestCase("parameters that contradict each other") {}

  private:
    void DoRun() override
    {
        Simulation simulation;
        EunomiaTestNics nics;
        nics.nic[0]->SetAttribute("TimelyHigh", StringValue("10us"));
        NS_TEST_EXPECT_MSG_EQ(nics.nic[0]->Configure(),
                              "TimelyHigh: 10000000 ps are less than TimelyLow, 21000000 ps",
                              "2.5 RTT");
        nics.nic[0]->SetAttribute("TimelyHigh", StringValue("0"));
        NS_TEST_EXPECT_MSG_EQ(nics.nic[0]->Configure(), "", "mended");
    }
};

class EunomiaNicCongestionTestSuite : public TestSuite {
  public:
    EunomiaNicCongestionTestSuite() : TestSuite("eunomia-nic-congestion", Type::UNIT)
    {
        AddTestCase(new CnpCase);
        AddTestCase(new SharesCase);
        AddTestCase(new RecordCase);
        AddTestCase(new IntCase);
        AddTestCase(new LeakCase);
        AddTestCase(new RoundTripCase);
        AddTestCase(new ParametersCase);
    }
};

EunomiaNicCongestionTestSuite g_eunomiaNicCongestionTestSuite;

} // namespace
