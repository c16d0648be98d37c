// SPDX-License-Identifier: GPL-2.0-only
#include "../fabric/eunomia-test-fabric.h"
#include "eunomia-flow-driver.h"

#include "ns3/test.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

using namespace ns3;

namespace {

using Simulation = EunomiaTestSimulation;
using Qps = EunomiaFlowDriver::Qps;

constexpr int64_t US = 1'000'000; //!< in ps
constexpr int64_t MS = 1000 * US;
/** A full packet of go-back-N on the wire at 100 Gb/s: 1,024 + 62 + 20 bytes of 80 ps. */
constexpr int64_t PACKET = (1024 + 62 + 20) * 80;
constexpr int64_t ACK = (66 + 20) * 80;

void SetDefault(const std::string &name, const std::string &value)
{
    Config::SetDefault("ns3::Eunomia" + name, StringValue(value));
}

/** A fabric of two racks of two hosts, and a driver that plays a list of flows on it. */
struct Play {
    using Prepare = std::function<void(EunomiaFabric &)>;

    Play(std::vector<EunomiaFlow> list, Qps qps, const Prepare &prepare = nullptr)
        : flows(std::move(list))
    {
        EunomiaBuildClos(fabric, {2, 2, 2});
        if (prepare) {
            prepare(fabric);
        }
        const std::string problem = fabric.Configure(0);
        NS_ABORT_MSG_UNLESS(problem.empty(), problem);
        driver = std::make_unique<EunomiaFlowDriver>(
            fabric,
            [this](EunomiaFlow *flow) {
                if (next == flows.size()) {
                    return false;
                }
                *flow = flows[next++];
                return true;
            },
            [this](const EunomiaFlowRecord &r) {
                records.push_back(r);
                reported.push_back(EunomiaNow());
            },
            qps, fabric.GetNic(0)->GetTransport().tolerates_reordering);
        driver->SetLastStarted([this] { lastStarted.push_back(EunomiaNow()); });
        driver->SetAllEnded([this] { allEnded.push_back(EunomiaNow()); });
    }

    void Run()
    {
        driver->Start();
        Simulator::Run();
    }

    /** The record of a flow; there must be one. */
    const EunomiaFlowRecord &Of(uint32_t id) const
    {
        const auto found = std::find_if(records.begin(), records.end(),
                                        [id](const auto &r) { return r.flow == id; });
        NS_ABORT_MSG_UNLESS(found != records.end(), "no record of flow " << id);
        return *found;
    }

    static EunomiaFlowTable &Table() { return *SimulationSingleton<EunomiaFlowTable>::Get(); }

    EunomiaFabric fabric;
    std::vector<EunomiaFlow> flows;
    size_t next = 0;
    std::unique_ptr<EunomiaFlowDriver> driver;
    std::vector<EunomiaFlowRecord> records;
    std::vector<int64_t> reported;
    std::vector<int64_t> lastStarted;
    std::vector<int64_t> allEnded;
};

/** Every field of the records of flows that have the fabric for themselves. */
class RecordsCase : public TestCase {
  public:
    RecordsCase() : TestCase("records of flows that meet nobody") {}

  private:
    void DoRun() override
    {
        for (const Qps qps : {Qps::PerFlow, Qps::PerPair}) {
            Check(qps);
        }
    }

    void Check(Qps qps)
    {
        Simulation simulation;
        SetDefault("Nic::Transport", "gbn");
        Play play({{7, 0, 1, 3, 1, 0},
                   {3, 0, 3, 3, 10'240, 100'000'001},
                   {9, 2, 0, 5, 1024, 200'000'003},
                   {4, 0, 3, 3, 5000, 300'000'007}},
                  qps);
        std::vector<int64_t> first;
        for (uint32_t h = 0; h < 4; h++) {
            play.fabric.GetNic(h)->GetPort()->TraceConnectWithoutContext(
                "Dequeue", MakeCallback(&RecordsCase::Sent).Bind(&first));
        }
        play.Run();
        NS_TEST_ASSERT_MSG_EQ(play.records.size(), 4, "one each");
        const uint32_t links[] = {2, 4, 4, 4};
        for (size_t i = 0; i < 4; i++) {
            const EunomiaFlow &flow = play.flows[i];
            const EunomiaFlowRecord &r = play.records[i];
            NS_TEST_EXPECT_MSG_EQ(r.flow, flow.id, "in order of finishing");
            NS_TEST_EXPECT_MSG_EQ(r.src, flow.src, "src");
            NS_TEST_EXPECT_MSG_EQ(r.dst, flow.dst, "dst");
            NS_TEST_EXPECT_MSG_EQ(r.bytes, flow.bytes, "bytes");
            NS_TEST_EXPECT_MSG_EQ(r.startPs, flow.startPs, "start");
            NS_TEST_EXPECT_MSG_EQ(first[i], flow.startPs, "starts to the picosecond");
            NS_TEST_EXPECT_MSG_EQ(r.status, "done", "status");
            NS_TEST_EXPECT_MSG_EQ(
                r.idealPs, play.fabric.GetIdealFct(flow.src, flow.dst, flow.bytes, false), "ideal");
            NS_TEST_EXPECT_MSG_EQ(r.fctPs, r.idealPs, "alone");
            NS_TEST_EXPECT_MSG_EQ(r.visiblePs, r.fctPs - links[i] * (ACK + US),
                                  "the last answer's way is the difference");
            NS_TEST_EXPECT_MSG_EQ(r.packets, (flow.bytes + 1023) / 1024, "packets");
            NS_TEST_EXPECT_MSG_EQ(r.retransmitted + r.outOfOrder + r.maxReorderSpan, 0, "no loss");
            NS_TEST_EXPECT_MSG_EQ(r.gateWaitPs, 0, "no gate");
            NS_TEST_EXPECT_MSG_EQ(play.reported[i], r.startPs + r.fctPs, "at once");
        }
        NS_TEST_EXPECT_MSG_EQ(play.driver->GetStarted(), 4, "started");
        NS_TEST_EXPECT_MSG_EQ(play.driver->GetDone(), 4, "done");
        NS_TEST_EXPECT_MSG_EQ(play.driver->GetEnded(), 4, "ended");
        NS_TEST_EXPECT_MSG_EQ(play.driver->GetFailed(), 0, "failed");
        NS_TEST_EXPECT_MSG_EQ(play.driver->GetActive(), 0, "active");
        NS_TEST_EXPECT_MSG_EQ(play.driver->GetCompletions(), 4, "messages");
        NS_TEST_EXPECT_MSG_EQ(play.Table().GetAlive(), 0, "no slot in use");
        NS_TEST_EXPECT_MSG_EQ((play.lastStarted == std::vector<int64_t>{300'000'007}), true,
                              "told that all have started, once");
        NS_TEST_EXPECT_MSG_EQ((play.allEnded == std::vector<int64_t>{play.reported[3]}), true,
                              "told that all have ended, once");
    }

    static void Sent(std::vector<int64_t> *first, const EunomiaFrame &frame)
    {
        if (frame.kind == EunomiaFrameKind::Data && frame.payload > 0 && frame.head == frame.psn) {
            first->push_back(EunomiaNow());
        }
    }
};

/** Two flows of one pair share the link, or follow each other, by the kind of QP. */
class QpsCase : public TestCase {
  public:
    QpsCase() : TestCase("a QP a flow, and a QP a pair") {}

  private:
    void DoRun() override
    {
        Check(Qps::PerFlow);
        Check(Qps::PerPair);
    }

    void Check(Qps qps)
    {
        Simulation simulation;
        SetDefault("Nic::Transport", "gbn");
        constexpr uint32_t BYTES = 100 * 1024;
        // The pair again much later, the pair with another priority, and the way back.
        Play play({{0, 0, 1, 3, BYTES, 0},
                   {1, 0, 1, 3, BYTES, 0},
                   {2, 0, 1, 3, BYTES, MS},
                   {3, 0, 1, 5, BYTES, 2 * MS},
                   {4, 1, 0, 3, BYTES, 3 * MS},
                   {5, 0, 1, 3, BYTES, 4 * MS}},
                  qps);
        std::vector<uint32_t> numbers;
        play.fabric.GetNic(0)->TraceConnectWithoutContext(
            "Completion", MakeCallback(&QpsCase::Completed).Bind(&numbers));
        play.Run();
        NS_TEST_ASSERT_MSG_EQ(play.records.size(), 6, "all done");
        const int64_t both = play.fabric.GetIdealFct(0, 1, 2 * BYTES, false);
        const int64_t one = play.fabric.GetIdealFct(0, 1, BYTES, false);
        NS_TEST_EXPECT_MSG_EQ(play.Of(1).fctPs, both, "together");
        if (qps == Qps::PerFlow) {
            // Packet by packet, but the first one left before the other flow was there.
            NS_TEST_EXPECT_MSG_EQ(play.Of(0).fctPs, both - 2 * PACKET, "in turn");
            NS_TEST_EXPECT_MSG_EQ(std::set<uint32_t>(numbers.begin(), numbers.begin() + 2).size(),
                                  2, "two QPs");
        } else {
            NS_TEST_EXPECT_MSG_EQ(play.Of(0).fctPs, one, "one after the other");
            NS_TEST_EXPECT_MSG_EQ((numbers == std::vector<uint32_t>{0, 0, 0, 1, 0}), true,
                                  "one QP, and one for the other priority");
        }
        for (const uint32_t id : {2, 3, 4, 5}) {
            NS_TEST_EXPECT_MSG_EQ(play.Of(id).fctPs, one, "alone, flow " << id);
        }
    }

    static void Completed(std::vector<uint32_t> *numbers, uint32_t qp, uint32_t, Time)
    {
        numbers->push_back(qp);
    }
};

/** A flow of more than 2^31 bytes is two messages and one flow. */
class LongFlowCase : public TestCase {
  public:
    LongFlowCase() : TestCase("a flow of several messages") {}

  private:
    void DoRun() override
    {
        Simulation simulation;
        SetDefault("Nic::Transport", "gbn");
        SetDefault("Nic::Mtu", "9000");
        SetDefault("Switch::MaxFrame", "9100");
        constexpr uint64_t BYTES = (uint64_t{1} << 31) + 1;
        Play play({{0, 0, 1, 3, BYTES, 0}}, Qps::PerFlow);
        play.Run();
        NS_TEST_ASSERT_MSG_EQ(play.records.size(), 1, "one flow");
        const EunomiaFlowRecord &r = play.records[0];
        NS_TEST_EXPECT_MSG_EQ(r.bytes, BYTES, "bytes");
        NS_TEST_EXPECT_MSG_EQ(r.packets, ((uint64_t{1} << 31) + 8999) / 9000 + 1, "packets");
        NS_TEST_EXPECT_MSG_EQ(play.driver->GetCompletions(), 2, "messages");
        NS_TEST_EXPECT_MSG_EQ(r.fctPs, r.idealPs, "no gap between the messages");
        NS_TEST_EXPECT_MSG_EQ(play.driver->GetEarly(), 0, "visible only when both are");
        NS_TEST_EXPECT_MSG_GT(r.visiblePs, r.fctPs - 3 * US, "visible only when both are");
    }
};

/** A QP that gives up takes its flows with it; the others go on. */
class FailureCase : public TestCase {
  public:
    FailureCase() : TestCase("flows of a QP that fails") {}

  private:
    /** Host 0 waits less than a round trip, so what is not long enough to keep it busy fails. */
    static void Impatient(EunomiaFabric &fabric)
    {
        fabric.GetNic(0)->SetAttribute("RetransmitTimeout", TimeValue(PicoSeconds(US)));
        fabric.GetNic(0)->SetAttribute("RetryLimit", UintegerValue(1));
    }

    void DoRun() override
    {
        PerFlow();
        PerPair();
    }

    void Failed(const Play &play, uint32_t id, int64_t at)
    {
        const EunomiaFlowRecord &r = play.Of(id);
        NS_TEST_EXPECT_MSG_EQ(r.status, "failed:retry-limit", "flow " << id);
        NS_TEST_EXPECT_MSG_EQ(r.fctPs, -1, "flow " << id);
        NS_TEST_EXPECT_MSG_EQ(r.visiblePs, -1, "flow " << id);
        for (size_t i = 0; i < play.records.size(); i++) {
            if (play.records[i].flow == id) {
                NS_TEST_EXPECT_MSG_EQ(play.reported[i], at, "when flow " << id << " failed");
            }
        }
    }

    void Ended(const Play &play, uint64_t done, uint64_t failed)
    {
        NS_TEST_EXPECT_MSG_EQ(play.records.size(), done + failed, "all reported");
        NS_TEST_EXPECT_MSG_EQ(play.driver->GetDone(), done, "done");
        NS_TEST_EXPECT_MSG_EQ(play.driver->GetFailed(), failed, "failed");
        NS_TEST_EXPECT_MSG_EQ(play.driver->GetEnded(), done + failed, "ended");
        NS_TEST_EXPECT_MSG_EQ(play.driver->GetActive(), 0, "active");
        NS_TEST_EXPECT_MSG_EQ(play.allEnded.size(), 1, "told, once");
        NS_TEST_EXPECT_MSG_EQ(play.driver->GetEarly(), 0, "early");
        NS_TEST_EXPECT_MSG_EQ(play.Table().GetAlive(), 0, "no slot in use");
        std::string problem;
        NS_TEST_EXPECT_MSG_EQ(play.fabric.Conserved(&problem), true, problem);
    }

    void PerFlow()
    {
        Simulation simulation;
        SetDefault("Nic::Transport", "gbn");
        Play play({{0, 0, 1, 3, 100, 0},
                   {1, 2, 1, 3, 100, 0},
                   {2, 0, 1, 3, 1'000'000, 0},
                   {3, 0, 3, 3, 5 * 1024, MS}},
                  Qps::PerFlow, Impatient);
        play.Run();
        Failed(play, 0, US);
        Failed(play, 3, MS + 4 * PACKET + US);
        NS_TEST_EXPECT_MSG_EQ(play.Of(1).status, "done", "another host is more patient");
        NS_TEST_EXPECT_MSG_EQ(play.Of(2).status, "done", "another QP");
        Ended(play, 2, 2);
    }

    void PerPair()
    {
        Simulation simulation;
        SetDefault("Nic::Transport", "gbn");
        Play play({{0, 0, 1, 3, 100, 0},
                   {1, 0, 1, 3, 1'000'000, 0},
                   {2, 0, 1, 3, 1024, MS},
                   {3, 0, 1, 3, 1024, MS},
                   {4, 0, 1, 3, 1'000'000, 2 * MS},
                   {5, 0, 1, 3, 1, 3 * MS}},
                  Qps::PerPair, Impatient);
        play.Run();
        NS_TEST_EXPECT_MSG_EQ(play.Of(0).status, "done", "the next flow keeps the QP busy");
        NS_TEST_EXPECT_MSG_EQ(play.Of(1).status, "done", "long enough");
        Failed(play, 2, MS + PACKET + US);
        Failed(play, 3, MS + PACKET + US);
        NS_TEST_EXPECT_MSG_EQ(play.Of(4).status, "done", "on a new QP");
        NS_TEST_EXPECT_MSG_EQ(play.Of(4).fctPs, play.Of(4).idealPs, "which is in order");
        Failed(play, 5, 3 * MS + US);
        Ended(play, 3, 3);
    }
};

/** What a run cut short leaves behind; no flow at all; a completion that is too early. */
class EndsCase : public TestCase {
  public:
    EndsCase() : TestCase("unfinished, none, early") {}

  private:
    void DoRun() override
    {
        Unfinished();
        None();
        Early();
    }

    void Unfinished()
    {
        Simulation simulation;
        SetDefault("Nic::Transport", "gbn");
        Play play({{5, 0, 1, 3, 10'000'000, 0},
                   {1, 2, 3, 3, 1024, 0},
                   {2, 2, 3, 3, 10'000'000, 10 * US},
                   {0, 3, 1, 3, 1024, MS}},
                  Qps::PerFlow);
        Simulator::Stop(TimeStep(100 * US));
        play.Run();
        NS_TEST_EXPECT_MSG_EQ(play.records.size(), 1, "done");
        NS_TEST_EXPECT_MSG_EQ(play.driver->GetActive(), 2, "active");
        NS_TEST_EXPECT_MSG_EQ(play.driver->ReportUnfinished(), 2, "unfinished");
        NS_TEST_ASSERT_MSG_EQ(play.records.size(), 3, "reported");
        NS_TEST_EXPECT_MSG_EQ(play.records[1].flow, 2, "by number");
        NS_TEST_EXPECT_MSG_EQ(play.records[2].flow, 5, "by number");
        for (const uint32_t id : {2, 5}) {
            const EunomiaFlowRecord &r = play.Of(id);
            NS_TEST_EXPECT_MSG_EQ(r.status, "unfinished", "status");
            NS_TEST_EXPECT_MSG_EQ(r.fctPs, -1, "no FCT");
            NS_TEST_EXPECT_MSG_EQ(r.visiblePs, -1, "not visible");
            NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(r.packets),
                                      static_cast<double>(100 * US - r.startPs) / PACKET, 1.0,
                                      "packets so far");
        }
        NS_TEST_EXPECT_MSG_EQ(play.allEnded.size(), 0, "not all have ended");
        NS_TEST_EXPECT_MSG_EQ(play.lastStarted.size(), 0, "not all have started");
    }

    void None()
    {
        Simulation simulation;
        Play play({}, Qps::PerFlow);
        play.Run();
        NS_TEST_EXPECT_MSG_EQ(play.records.size(), 0, "nothing");
        NS_TEST_EXPECT_MSG_EQ(play.lastStarted.size(), 1, "told");
        NS_TEST_EXPECT_MSG_EQ(play.allEnded.size(), 1, "told");
        NS_TEST_EXPECT_MSG_EQ(play.driver->ReportUnfinished(), 0, "nothing");
    }

    /** The invariant that a run checks is one that can fail. */
    void Early()
    {
        Simulation simulation;
        SetDefault("Nic::Transport", "gbn");
        Play play({{0, 0, 1, 3, 100'000, 0}, {1, 2, 3, 3, 100'000, 0}}, Qps::PerFlow);
        Simulation::At(US, [&play] {
            play.driver->MessagesVisible(PeekPointer(play.fabric.GetNic(2)), 0, 1);
            eun_message message{};
            message.cookie = 0;
            play.driver->MessageCompleted(PeekPointer(play.fabric.GetNic(0)), 0, message);
        });
        Simulator::Stop(TimeStep(2 * US));
        play.Run();
        NS_TEST_EXPECT_MSG_EQ(play.driver->GetEarly(), 2, "visible too early, complete too early");
    }
};

/** Random flows: each reported once, as it ends, whole, never faster than ideal. */
class RandomCase : public TestCase {
  public:
    RandomCase() : TestCase("random flows") {}

  private:
    void DoRun() override
    {
        for (const Qps qps : {Qps::PerFlow, Qps::PerPair}) {
            Check(qps, "gbn", "ecmp", "send", "on");
            Check(qps, "eunomia", "spray", "send", "on");
            Check(qps, "eunomia", "spray", "write", "on");
            Check(qps, "eunomia", "spray", "send", "off");
            Check(qps, "gbn", "spray", "write", "off");
        }
    }

    static std::vector<EunomiaFlow> Flows(uint32_t count)
    {
        std::mt19937 random(EunomiaTestFabricSeed("eunomia-flow-driver"));
        std::vector<EunomiaFlow> flows;
        int64_t now = 0;
        for (uint32_t id = 0; id < count; id++) {
            EunomiaFlow flow;
            flow.id = id;
            flow.src = random() % 4;
            flow.dst = (flow.src + 1 + random() % 3) % 4;
            flow.priority = random() % 4 ? 3 : 6;
            flow.bytes = 1 + random() % (random() % 4 ? 5'000 : 300'000);
            now += random() % 3 ? random() % (4 * US) : 0;
            flow.startPs = now;
            flows.push_back(flow);
        }
        return flows;
    }

    void Check(Qps qps, const char *transport, const char *balancer, const char *verb,
               const char *pfc)
    {
        Simulation simulation;
        SetDefault("Nic::Transport", transport);
        SetDefault("Nic::Verb", verb);
        SetDefault("Switch::Balancer", balancer);
        SetDefault("Switch::LosslessMask", std::to_string(1 << 3 | 1 << 6));
        SetDefault("Switch::BufferSize", "500000");
        SetDefault("Switch::Pfc", pfc == std::string("on") ? "true" : "false");
        constexpr uint32_t COUNT = 400;
        Play play(Flows(COUNT), qps);
        play.Run();
        const std::string what = std::string(transport) + ' ' + balancer + ' ' + verb +
                                 (qps == Qps::PerPair ? " pair" : " flow") + ", PFC " + pfc;
        NS_TEST_ASSERT_MSG_EQ(play.records.size(), COUNT, what);
        std::set<uint32_t> ids;
        for (size_t i = 0; i < COUNT; i++) {
            const EunomiaFlowRecord &r = play.records[i];
            ids.insert(r.flow);
            NS_TEST_EXPECT_MSG_EQ(r.status, "done", what << ", flow " << r.flow);
            NS_TEST_EXPECT_MSG_EQ(r.bytes, play.flows[r.flow].bytes, what);
            NS_TEST_EXPECT_MSG_EQ(r.startPs + r.fctPs, play.reported[i], what);
            NS_TEST_EXPECT_MSG_GT_OR_EQ(r.fctPs, r.idealPs, what << ", flow " << r.flow);
            NS_TEST_EXPECT_MSG_GT(r.visiblePs, 0, what);
            NS_TEST_EXPECT_MSG_LT(r.visiblePs, r.fctPs, what);
            NS_TEST_EXPECT_MSG_EQ(r.packets - r.retransmitted, (r.bytes + 1023) / 1024, what);
        }
        NS_TEST_EXPECT_MSG_EQ(ids.size(), COUNT, "each once, " << what);
        NS_TEST_EXPECT_MSG_EQ(play.driver->GetEarly(), 0, what);
        NS_TEST_EXPECT_MSG_EQ(play.Table().GetAlive(), 0, what);
        NS_TEST_EXPECT_MSG_EQ(play.allEnded.size(), 1, what);
        std::string problem;
        NS_TEST_EXPECT_MSG_EQ(play.fabric.Conserved(&problem), true, problem << ", " << what);
        const auto totals = play.fabric.GetTotals();
        if (pfc == std::string("on")) {
            NS_TEST_EXPECT_MSG_EQ(totals.dropped, 0, what);
        }
        NS_TEST_EXPECT_MSG_EQ(totals.inFlight + totals.queued, 0, what);
    }
};

/** A NIC that restarts fails its flows with the reason, whichever end it is; later ones are done.
 */
class RestartCase : public TestCase {
  public:
    RestartCase() : TestCase("a NIC restarts") {}

  private:
    void DoRun() override
    {
        for (const Qps qps : {Qps::PerFlow, Qps::PerPair}) {
            Simulation simulation;
            Play play({{0, 0, 1, 3, 1'000'000, 0},
                       {1, 1, 2, 3, 1'000'000, 0},
                       {2, 0, 3, 3, 1'000'000, 0},
                       {3, 0, 1, 3, 10'000, 30 * US},
                       {4, 1, 2, 3, 10'000, 30 * US}},
                      qps);
            Simulation::At(20 * US, [&play] { play.fabric.GetNic(1)->Restart(); });
            play.Run();
            const char *status[] = {"failed:receiver-restart", "failed:nic-restart", "done", "done",
                                    "done"};
            for (uint32_t id = 0; id < 5; id++) {
                NS_TEST_EXPECT_MSG_EQ(play.Of(id).status, status[id], "flow " << id);
            }
            NS_TEST_EXPECT_MSG_EQ(play.driver->GetFailed(), 2, "failed");
            NS_TEST_EXPECT_MSG_EQ(play.driver->GetEarly(), 0, "early");
            NS_TEST_EXPECT_MSG_EQ(play.Table().GetAlive(), 0, "no slot in use");
            NS_TEST_EXPECT_MSG_EQ(play.allEnded.size(), 1, "told, once");
        }
    }
};

/**
 * A staging engine so slow that senders hear of completion first: a flow ends when it is visible,
 * its FCT is that of the sender, and its wait in the gate that of the copies.
 */
class SlowStagingCase : public TestCase {
  public:
    SlowStagingCase() : TestCase("visible after completion") {}

  private:
    void DoRun() override
    {
        for (const Qps qps : {Qps::PerFlow, Qps::PerPair}) {
            Simulation simulation;
            SetDefault("Nic::Verb", "write");
            SetDefault("Nic::Gate", "receiver");
            SetDefault("Nic::StagingRate", "100Mbps");
            SetDefault("Switch::Balancer", "spray");
            std::vector<EunomiaFlow> flows;
            for (uint32_t id = 0; id < 40; id++) {
                flows.push_back({id, id % 2, 2 + id % 2, 3, 20'000 + id, id * US});
            }
            Play play(flows, qps);
            play.Run();
            uint32_t late = 0;
            int64_t waits = 0;
            for (const EunomiaFlowRecord &r : play.records) {
                NS_TEST_EXPECT_MSG_EQ(r.status, "done", "flow " << r.flow);
                late += r.visiblePs > r.fctPs;
                waits += r.gateWaitPs;
                NS_TEST_EXPECT_MSG_EQ((r.visiblePs <= r.fctPs || qps == Qps::PerPair ||
                                       r.gateWaitPs > r.visiblePs - r.fctPs),
                                      true, "flow " << r.flow);
            }
            NS_TEST_EXPECT_MSG_EQ(play.records.size(), flows.size(), "all end, once");
            NS_TEST_EXPECT_MSG_GT(late, 0, "some were visible late");
            NS_TEST_EXPECT_MSG_EQ(play.driver->GetGateWait(), waits, "the sum of the waits");
            NS_TEST_EXPECT_MSG_EQ(play.driver->GetEarly(), 0, "early");
            NS_TEST_EXPECT_MSG_EQ(play.Table().GetAlive(), 0, "no slot in use");
            NS_TEST_EXPECT_MSG_EQ(play.allEnded.size(), 1, "told, once");
        }
    }
};

class EunomiaFlowDriverTestSuite : public TestSuite {
  public:
    EunomiaFlowDriverTestSuite() : TestSuite("eunomia-flow-driver", Type::UNIT)
    {
        AddTestCase(new RecordsCase);
        AddTestCase(new QpsCase);
#ifndef __SANITIZE_ADDRESS__
        AddTestCase(new LongFlowCase);
#endif
        AddTestCase(new FailureCase);
        AddTestCase(new RestartCase);
        AddTestCase(new SlowStagingCase);
        AddTestCase(new EndsCase);
        AddTestCase(new RandomCase);
    }
};

EunomiaFlowDriverTestSuite g_eunomiaFlowDriverTestSuite;

} // namespace
