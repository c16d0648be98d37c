// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-test-nic.h"

#include "ns3/test.h"

#include <map>

using namespace ns3;

namespace {

using Simulation = EunomiaTestSimulation;
using Kind = EunomiaFrameKind;

class RefusalsCase : public TestCase {
  public:
    RefusalsCase() : TestCase("what is wrong with an attribute") {}

  private:
    void DoRun() override
    {
        static const struct {
            const char *attribute;
            const char *value;
            const char *problem;
        } rows[] = {
            {"Transport", "tcp", "Transport: there is no transport tcp"},
            {"CongestionControl", "cubic", "CongestionControl: there is no control cubic"},
            {"Verb", "read", "Verb: there is no verb read"},
            {"Gate", "shut", "Gate: there is no gate shut"},
            {"GateScope", "all", "GateScope: there is no scope all"},
            {"PoolBlocks", "70000",
             "PoolBlocks: 70000 blocks do not make 1 banks of at most 65,534"},
            {"StagingRate", "1kbps", "StagingRate: 1000bps is neither 0 nor 1Mbps or more"},
        };
        for (const auto &row : rows) {
            Simulation simulation;
            EunomiaTestNics nics;
            nics.nic[0]->SetAttribute(row.attribute, StringValue(row.value));
            NS_TEST_EXPECT_MSG_EQ(nics.nic[0]->Configure(), row.problem, row.attribute);
            NS_TEST_EXPECT_MSG_EQ(nics.nic[1]->Configure(), "", "the other NIC is fine");
            struct TypeId::AttributeInformation info;
            EunomiaNic::GetTypeId().LookupAttributeByName(row.attribute, &info);
            nics.nic[0]->SetAttribute(row.attribute, *info.initialValue);
            NS_TEST_EXPECT_MSG_EQ(nics.nic[0]->Configure(), "", "mended, " << row.attribute);
            nics.Post(nics.Connect(), 10);
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(nics.user.completions.size(), 1, row.attribute);
        }
        Caches();
    }

    void Caches()
    {
        Simulation simulation;
        EunomiaTestNics nics;
        for (const char *attribute : {"Pipelines", "CacheBlocks"}) {
            nics.nic[0]->SetAttribute(attribute, UintegerValue(1024));
        }
        nics.nic[0]->SetAttribute("Banks", UintegerValue(4097));
        NS_TEST_EXPECT_MSG_EQ(
            nics.nic[0]->Configure(),
            "CacheBlocks: 1024 for each of 1024 pipelines and 4097 banks are too many", "");
        nics.nic[0]->SetAttribute("CacheBlocks", UintegerValue(1));
        NS_TEST_EXPECT_MSG_EQ(nics.nic[0]->Configure(), "", "mended");
    }
};

/** Gate `auto` follows verb and transport; the others are what they are. */
class GateCase : public TestCase {
  public:
    GateCase() : TestCase("gates") {}

  private:
    void DoRun() override
    {
        static const struct {
            const char *transport;
            const char *verb;
            const char *gate;
            eun_gate result;
        } rows[] = {
            {"eunomia", "send", "auto", EUN_GATE_NONE},
            {"eunomia", "write", "auto", EUN_GATE_SENDER},
            {"eunomia", "write-imm", "auto", EUN_GATE_SENDER},
            {"gbn", "send", "auto", EUN_GATE_NONE},
            {"gbn", "write", "auto", EUN_GATE_NONE},
            {"eunomia", "write", "none", EUN_GATE_NONE},
            {"eunomia", "send", "sender", EUN_GATE_SENDER},
            {"gbn", "write", "sender", EUN_GATE_SENDER},
            {"eunomia", "write", "receiver", EUN_GATE_RECEIVER},
        };
        for (const auto &row : rows) {
            Simulation simulation;
            Config::SetDefault("ns3::EunomiaNic::Transport", StringValue(row.transport));
            Config::SetDefault("ns3::EunomiaNic::Verb", StringValue(row.verb));
            Config::SetDefault("ns3::EunomiaNic::Gate", StringValue(row.gate));
            EunomiaTestNics nics;
            NS_TEST_EXPECT_MSG_EQ(nics.nic[0]->Configure(), "", row.gate);
            NS_TEST_EXPECT_MSG_EQ(nics.nic[0]->GetGate(), row.result,
                                  row.transport << ' ' << row.verb << ' ' << row.gate);
        }
    }
};

/** Lengths on the wire, from the standard's header sizes. */
class LengthsCase : public TestCase {
  public:
    LengthsCase() : TestCase("lengths of frames") {}

  private:
    void DoRun() override
    {
        constexpr uint32_t ROCE = 14 + 20 + 8 + 12 + 4 + 4;
        static const struct {
            const char *transport;
            const char *verb;
            uint32_t flat;
            uint32_t mtu;
            uint32_t longest;
            uint32_t ack;
            uint32_t sack;
            uint32_t cnp;
        } rows[] = {
            {"gbn", "send", 0, 1024, 1024 + ROCE, ROCE + 4, ROCE + 4, ROCE + 16},
            {"gbn", "write", 0, 1024, 1024 + ROCE + 16, ROCE + 4, ROCE + 4, ROCE + 16},
            {"gbn", "write-imm", 0, 1024, 1024 + ROCE + 20, ROCE + 4, ROCE + 4, ROCE + 16},
            {"eunomia", "send", 0, 4096, 4096 + ROCE + 8, ROCE + 4, ROCE + 12, ROCE + 16},
            {"eunomia", "write", 0, 1023, 1024 + ROCE + 24, ROCE + 4, ROCE + 12, ROCE + 16},
            {"eunomia", "write-imm", 0, 9000, 9000 + ROCE + 28, ROCE + 4, ROCE + 12, ROCE + 16},
            {"gbn", "write", 48, 1000, 1048, 60, 60, 60},
            {"eunomia", "send", 48, 1000, 1048, 60, 60, 60},
        };
        for (const auto &row : rows) {
            Simulation simulation;
            Config::SetDefault("ns3::EunomiaNic::Transport", StringValue(row.transport));
            Config::SetDefault("ns3::EunomiaNic::Verb", StringValue(row.verb));
            Config::SetDefault("ns3::EunomiaNic::FlatOverhead", UintegerValue(row.flat));
            Config::SetDefault("ns3::EunomiaNic::Mtu", UintegerValue(row.mtu));
            EunomiaTestNics nics;
            const std::string what = std::string(row.transport) + ' ' + row.verb;
            NS_TEST_EXPECT_MSG_EQ(nics.nic[0]->Configure(), "", what);
            NS_TEST_EXPECT_MSG_EQ(nics.nic[0]->GetMtu(), row.mtu, what);
            NS_TEST_EXPECT_MSG_EQ(nics.nic[0]->GetMaxFrame(), row.longest, what);
            NS_TEST_EXPECT_MSG_EQ(nics.nic[0]->GetOverhead().ack, row.ack, what);
            NS_TEST_EXPECT_MSG_EQ(nics.nic[0]->GetOverhead().sack, row.sack, what);
            NS_TEST_EXPECT_MSG_EQ(nics.nic[0]->GetOverhead().cnp, row.cnp, what);
        }
    }
};

/** Config::Set and Config::Connect by path; each end may have values of its own. */
class PathsCase : public TestCase {
  public:
    PathsCase() : TestCase("Config paths") {}

  private:
    void DoRun() override
    {
        Simulation simulation;
        EunomiaTestNics nics;
        Config::Set("/NodeList/*/$ns3::EunomiaNic/Transport", StringValue("gbn"));
        Config::Set("/NodeList/0/$ns3::EunomiaNic/Mtu", UintegerValue(512));
        Config::Set("/NodeList/0/$ns3::EunomiaNic/FirstPsn", UintegerValue(0xFFFFFF));
        Config::Set("/NodeList/1/$ns3::EunomiaNic/FirstPsn", UintegerValue(7));
        Config::Set("/NodeList/1/$ns3::EunomiaNic/AckEvery", UintegerValue(5));
        Config::Connect("/NodeList/*/$ns3::EunomiaNic/Arrival",
                        MakeCallback(&PathsCase::Arrival, this));
        Config::Connect("/NodeList/*/$ns3::EunomiaNic/Completion",
                        MakeCallback(&PathsCase::Completion, this));
        nics.Post(nics.Connect(), 10 * 512);
        nics.nic[1]->Post(nics.nic[1]->Connect(nics.nic[0], 3), 1024, nics.Flows().Open());
        Simulator::Run();
        const std::string nic0 = "/NodeList/0/$ns3::EunomiaNic/";
        const std::string nic1 = "/NodeList/1/$ns3::EunomiaNic/";
        NS_TEST_EXPECT_MSG_EQ(nics.user.completions.size(), 2, "both ways");
        NS_TEST_EXPECT_MSG_EQ(m_n[nic0 + "Arrival"], 2 + 1, "ACKs for 10 packets, a packet");
        NS_TEST_EXPECT_MSG_EQ(m_n[nic1 + "Arrival"], 10 + 1, "packets, an ACK");
        NS_TEST_EXPECT_MSG_EQ(m_n[nic0 + "Completion"], 10 * 512, "bytes from host 0");
        NS_TEST_EXPECT_MSG_EQ(m_n[nic1 + "Completion"], 1024, "bytes from host 1");
        NS_TEST_EXPECT_MSG_EQ(nics.nic[0]->GetRetransmitted(), 0, "both know the first PSN");
    }

    void Arrival(std::string path, const EunomiaFrame &) { m_n[path]++; }
    void Completion(std::string path, uint32_t, uint32_t bytes, Time) { m_n[path] += bytes; }

    std::map<std::string, uint64_t> m_n;
};

/** The ordering layer's use is traced, and goes back after the idle epoch. */
class PoolCase : public TestCase {
  public:
    PoolCase() : TestCase("trace of the pool") {}

  private:
    void DoRun() override
    {
        Simulation simulation;
        Config::SetDefault("ns3::EunomiaNic::IdleEpoch", StringValue("50us"));
        EunomiaTestNics nics;
        EunomiaFrame *kept = nullptr;
        nics.box.filter = [&kept, &nics](EunomiaFrame &frame) {
            // One packet arrives a little later than its successors.
            if (frame.kind == Kind::Data && frame.psn == 5 && !kept) {
                kept = Simulation::Pool().Take();
                EunomiaFrame *next = kept->next;
                *kept = frame;
                kept->next = next;
                Simulation::At(EunomiaNow() + 1'000'000,
                               [&nics, &kept] { nics.box.port[1]->Send(kept); });
                return false;
            }
            return true;
        };
        nics.nic[1]->TraceConnectWithoutContext("Pool", MakeCallback(&PoolCase::Pool, this));
        nics.Post(nics.Connect(), 50 * 1024);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(nics.user.completions.size(), 1, "completes");
        NS_TEST_EXPECT_MSG_EQ(nics.nic[0]->GetRetransmitted(), 0, "order is not loss");
        NS_TEST_EXPECT_MSG_GT(nics.nic[1]->GetOutOfOrder(), 5, "out of order");
        NS_TEST_EXPECT_MSG_EQ(nics.Made(1, Kind::Sack), nics.nic[1]->GetOutOfOrder(), "SACKs");
        NS_TEST_EXPECT_MSG_GT_OR_EQ(m_peakBlocks, 25, "metadata is 24 blocks");
        NS_TEST_EXPECT_MSG_EQ(m_peakQps, 1, "one QP");
        NS_TEST_EXPECT_MSG_EQ(m_blocks, 0, "all went back");
        NS_TEST_EXPECT_MSG_EQ(eun_reorder_stats(nics.nic[1]->GetReorder())->blocks_in_use, 0,
                              "in the layer, too");
        NS_TEST_EXPECT_MSG_GT(m_last, nics.user.completions[0].at + 40'000'000, "after the epoch");
    }

    void Pool(uint32_t blocks, uint32_t qps)
    {
        m_blocks = blocks;
        m_peakBlocks = std::max(m_peakBlocks, blocks);
        m_peakQps = std::max(m_peakQps, qps);
        m_last = EunomiaNow();
    }

    uint32_t m_blocks = 0;
    uint32_t m_peakBlocks = 0;
    uint32_t m_peakQps = 0;
    int64_t m_last = 0;
};

class EunomiaNicConfigTestSuite : public TestSuite {
  public:
    EunomiaNicConfigTestSuite() : TestSuite("eunomia-nic-config", Type::UNIT)
    {
        AddTestCase(new RefusalsCase);
        AddTestCase(new GateCase);
        AddTestCase(new LengthsCase);
        AddTestCase(new PathsCase);
        AddTestCase(new PoolCase);
    }
};

EunomiaNicConfigTestSuite g_eunomiaNicConfigTestSuite;

} // namespace
