// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-test-experiment.h"

#include "ns3/test.h"

#include <cmath>
#include <set>

using namespace ns3;

namespace {

using Words = EunomiaTestWords;
using Status = EunomiaExperiment;

/** Eight hosts in two racks. */
const Words g_small = {"--leaves=2", "--spines=2", "--hostsPerLeaf=4"};

Words operator+(Words a, const Words &b)
{
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

/** A flow list of `count` flows among eight hosts, 3 us apart, of sizes around a few packets. */
std::string FlowList(uint32_t count)
{
    std::string text = std::to_string(count) + '\n';
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t src = i * 5 % 8;
        const uint32_t dst = (src + 1 + i * 3 % 7) % 8;
        const uint64_t ps = 2'000'000'000'000 + i * 3'000'001ull;
        const std::string fraction = std::to_string(ps).substr(1);
        text += std::to_string(src) + ' ' + std::to_string(dst) + " 3 " +
                std::to_string(1 + i * 7919 % (i % 5 ? 4'000 : 90'000)) + " 2." + fraction + '\n';
    }
    return text;
}

/** One list under every kind of scheme: all done, nothing lost, the files fit each other. */
class SchemesCase : public TestCase {
  public:
    SchemesCase() : TestCase("small experiments, scheme by scheme") {}

  private:
    void DoRun() override
    {
        static const Words schemes[] = {
            {"--lb=ecmp", "--transport=gbn"},
            {"--lb=spray", "--transport=gbn"},
            {"--lb=spray", "--transport=eunomia"},
            {"--lb=spray-rr", "--transport=eunomia", "--verb=write"},
            {"--lb=spray", "--transport=eunomia", "--verb=write", "--gate=receiver"},
            {"--lb=spray", "--transport=eunomia", "--verb=write-imm", "--gateScope=message"},
            {"--lb=spray", "--transport=eunomia", "--qp=pair", "--cc=none"},
            {"--lb=spray", "--transport=eunomia", "--pfc=off", "--window=bdp"},
            {"--lb=spray", "--transport=eunomia", "--poolBlocks=0"},
            {"--lb=spray", "--transport=eunomia", "--banks=2", "--qpCap=16", "--idleEpoch=10us"},
            {"--lb=spray", "--transport=eunomia", "--allocTime=2us", "--cacheBlocks=0"},
            {"--lb=spray", "--transport=eunomia", "--verb=write", "--gate=receiver",
             "--allocTime=500ns", "--cacheBlocks=1", "--pipelines=3", "--banks=2", "--qp=pair"},
            {"--lb=ecmp", "--transport=gbn", "--compat=conweave-ns3"},
            {"--lb=ecmp", "--transport=irn", "--compat=conweave-ns3"},
            {"--lb=ecmp", "--transport=irn", "--pfc=off", "--buffer=60KB", "--cc=none"},
            {"--lb=spray", "--transport=irn", "--window=20KB", "--verb=write", "--qp=pair"},
            {"--transport=mprdma"},
            {"--transport=mprdma", "--verb=write", "--qp=pair"},
            {"--transport=mprdma", "--pfc=off", "--buffer=60KB", "--window=64KB"},
            {"--transport=mprdma", "--verb=write-imm", "--pfc=off", "--buffer=60KB"},
            {"--lb=adaptive", "--transport=ddp", "--verb=write"},
            {"--lb=adaptive", "--transport=ddp-gbn", "--pfc=off", "--buffer=60KB"},
            {"--lb=deflect", "--ns3::EunomiaSwitch::DeflectThreshold=5000"},
            {"--lb=deflect", "--pfc=off", "--buffer=60KB",
             "--ns3::EunomiaSwitch::DeflectThreshold=5000"},
            {"--lb=elephant-spray", "--ns3::EunomiaSwitch::ElephantQueue=5000"},
            {"--lb=conga", "--transport=gbn", "--compat=conweave-ns3"},
            {"--lb=ecmp", "--transport=gbn", "--mtu=4096", "--linkRate=2400Gbps",
             "--linkDelay=300ns"},
            {"--lb=ecmp", "--transport=gbn", "--window=10KB", "--linkRate=123.456789Gbps"},
            {"--lb=conweave", "--transport=gbn"},
            {"--lb=conweave", "--transport=irn", "--compat=conweave-ns3"},
            {"--lb=conweave", "--transport=gbn", "--pfc=off", "--buffer=60KB", "--cc=none"},
            {"--lb=conweave", "--transport=eunomia", "--verb=write", "--mtu=4096"},
        };
        EunomiaTestFolder temp;
        const std::string flows = temp.Write("some.flows", FlowList(FLOWS));
        for (const Words &scheme : schemes) {
            Check(temp, flows, scheme);
        }
    }

    void Check(const EunomiaTestFolder &temp, const std::string &flows, const Words &scheme)
    {
        std::string what;
        for (const std::string &word : scheme) {
            what += word + ' ';
        }
        const std::string out = temp.Path("out");
        const EunomiaTestRun run(g_small + scheme +
                                 Words{"--flows=" + flows, "--out=" + out, "--force"});
        NS_TEST_EXPECT_MSG_EQ(run.status, Status::DONE, what);
        const auto &t = run.totals;
        NS_TEST_EXPECT_MSG_EQ(t.made, t.delivered + t.dropped, what);
        NS_TEST_EXPECT_MSG_EQ(t.queued + t.inFlight + t.bufferBytes, 0, what);
        const EunomiaTestCsv csv(out + "/flows.csv");
        NS_TEST_EXPECT_MSG_EQ(csv.rows.size(), FLOWS, what);
        NS_TEST_EXPECT_MSG_EQ(csv.Count("status", "done"), FLOWS, what);
        uint64_t packets = 0;
        std::set<std::string> ids;
        for (auto row : csv.rows) {
            ids.insert(row["flow"]);
            packets += std::stoull(row["packets"]);
            NS_TEST_EXPECT_MSG_GT_OR_EQ(std::stod(row["slowdown"]), 1.0, what << row["flow"]);
            NS_TEST_EXPECT_MSG_GT_OR_EQ(std::stoll(row["fct_ns"]), std::stoll(row["visible_ns"]),
                                        what << row["flow"]);
        }
        NS_TEST_EXPECT_MSG_EQ(ids.size(), FLOWS, what);
        const std::string summary = EunomiaTestFolder::Read(out + "/summary.json");
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestNumber(summary, "total"), FLOWS, what);
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestNumber(summary, "done"), FLOWS, what);
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestNumber(summary, "data"), packets, what);
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestNumber(summary, "hops"), t.hops, what);
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestNumber(summary, "drops"), t.dropped, what);
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestNumber(summary, "early"), 0, what);
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestNumber(summary, "frames_sent"), t.made, what);
        NS_TEST_EXPECT_MSG_EQ(summary.find(temp.Path("")), std::string::npos, "no path in it");
        NS_TEST_EXPECT_MSG_NE(summary.find("\"flows\": \"some.flows\""), std::string::npos,
                              "the file's name");
    }

    static constexpr uint32_t FLOWS = 60;
};

/** The same words give the same bytes; another seed gives others. */
class DeterminismCase : public TestCase {
  public:
    DeterminismCase() : TestCase("same seed, same bytes") {}

  private:
    void DoRun() override
    {
        EunomiaTestFolder temp;
        const std::string flows = temp.Write("some.flows", FlowList(200));
        Check(temp, {"--load=0.9", "--duration=150us", "--sample=10us", "--legacy"});
        Check(temp, {"--load=0.9", "--duration=150us", "--lb=ecmp", "--transport=gbn",
                     "--buffer=500KB", "--qp=pair"});
        Check(temp, {"--flows=" + flows, "--warmup=10us", "--pfc=off", "--buffer=100KB"});
        Check(temp, {"--load=0.9", "--duration=150us", "--allocTime=300ns", "--cacheBlocks=2",
                     "--pipelines=2", "--banks=4"});
    }

    void Check(const EunomiaTestFolder &temp, const Words &words)
    {
        const auto run = [&](const std::string &out, const Words &seed) {
            const EunomiaTestRun r(g_small + words + seed +
                                   Words{"--out=" + temp.Path(out), "--force"});
            NS_TEST_EXPECT_MSG_EQ(r.status, Status::DONE, words[0]);
        };
        run("a", {"--seed=7"});
        run("b", {"--seed=7"});
        run("c", {"--seed=8"});
        NS_TEST_EXPECT_MSG_EQ((temp.List("a") == temp.List("b")), true, "the same files");
        for (const std::string &name : temp.List("a")) {
            const bool same = EunomiaTestFolder::Read(temp.Path("a/" + name)) ==
                              EunomiaTestFolder::Read(temp.Path("b/" + name));
            if (name != "timing.json") {
                NS_TEST_EXPECT_MSG_EQ(same, true, name << " of equal runs, " << words[0]);
            }
        }
        const bool same = EunomiaTestFolder::Read(temp.Path("a/flows.csv")) ==
                          EunomiaTestFolder::Read(temp.Path("c/flows.csv"));
        NS_TEST_EXPECT_MSG_EQ(same, false, "another seed, " << words[0]);
    }
};

/** Allocations that take time delay what a large enough cache does not. */
class AllocationCase : public TestCase {
  public:
    AllocationCase() : TestCase("allocations take time") {}

  private:
    /** Runs with these words. Result: alloc_latency_p99_ns, -1 where it is null. */
    double Run(const EunomiaTestFolder &temp, const std::string &out, const Words &words)
    {
        const EunomiaTestRun run(g_small + Words{"--load=0.9", "--duration=500us", "--cc=none"} +
                                 words + Words{"--out=" + temp.Path(out)});
        NS_TEST_EXPECT_MSG_EQ(run.status, Status::DONE, out);
        const std::string summary = EunomiaTestFolder::Read(temp.Path(out + "/summary.json"));
        NS_TEST_EXPECT_MSG_EQ((EunomiaTestNumber(summary, "alloc") > 100), (out != "gbn"), out);
        return summary.find("\"alloc_latency_p99_ns\": null") == std::string::npos
                   ? EunomiaTestNumber(summary, "alloc_latency_p99_ns")
                   : -1;
    }

    void DoRun() override
    {
        EunomiaTestFolder temp;
        NS_TEST_EXPECT_MSG_EQ(Run(temp, "gbn", {"--transport=gbn"}), -1, "no allocation");
        NS_TEST_EXPECT_MSG_EQ(Run(temp, "off", {"--allocTime=0"}), 0, "no time");
        NS_TEST_EXPECT_MSG_EQ(Run(temp, "cached", {"--cacheBlocks=1024"}), 0, "no wait");
        const double p99 = Run(temp, "waits", {"--cacheBlocks=0", "--allocTime=500ns"});
        NS_TEST_EXPECT_MSG_GT_OR_EQ(p99, 1000, "metadata and a block");
        NS_TEST_EXPECT_MSG_LT(p99, 20'000, "tens of them at a time");
        const auto flows = [&temp](const std::string &out) {
            return EunomiaTestFolder::Read(temp.Path(out + "/flows.csv"));
        };
        NS_TEST_EXPECT_MSG_EQ((flows("cached") == flows("off")), true, "the same flows");
        NS_TEST_EXPECT_MSG_EQ((flows("waits") == flows("off")), false, "later answers");
    }
};

/** 1,000 flows of 64 KB into one host of 128. */
class IncastCase : public TestCase {
  public:
    IncastCase() : TestCase("1,000 flows into one host") {}

  private:
    void DoRun() override
    {
        EunomiaTestFolder temp;
        std::string text = "1000\n";
        for (uint32_t i = 0; i < 1000; i++) {
            text += std::to_string(1 + i % 127) + " 0 3 65536 2.0\n";
        }
        const std::string flows = temp.Write("incast.flows", text);
        const Words gbn = {"--lb=ecmp", "--transport=gbn"};
        const Words eunomia = {"--lb=spray", "--transport=eunomia"};
        // What has memory enough and is never dropped is never sent again.
        Check(temp, flows, gbn + Words{"--pfc=on"}, true);
        Check(temp, flows, eunomia + Words{"--pfc=on", "--poolBlocks=65000"}, true);
        // A pool for 40 QPs and packets of 1,000: slow, but everything completes.
        Check(temp, flows, eunomia + Words{"--pfc=on"}, false);
        Check(temp, flows, gbn + Words{"--pfc=off"}, false);
        Check(temp, flows, eunomia + Words{"--pfc=off"}, false);
        Check(temp, flows, Words{"--lb=ecmp", "--transport=irn", "--pfc=off"}, false);
    }

    void Check(const EunomiaTestFolder &temp, const std::string &flows, const Words &scheme,
               bool smooth)
    {
        const std::string what = scheme[0] + ' ' + scheme[1] + ' ' + scheme[2];
        const EunomiaTestRun run(scheme +
                                 Words{"--flows=" + flows, "--out=" + temp.Path("out"), "--force"});
        NS_TEST_EXPECT_MSG_EQ(run.status, Status::DONE, what);
        if (scheme[2] == "--pfc=on") {
            NS_TEST_EXPECT_MSG_GT(run.totals.pauses, 0, what);
            NS_TEST_EXPECT_MSG_EQ(run.totals.dropped, 0, what);
            NS_TEST_EXPECT_MSG_GT(run.totals.pausedPs, 0, what);
        } else {
            NS_TEST_EXPECT_MSG_EQ(run.totals.pauses, 0, what);
            NS_TEST_EXPECT_MSG_GT(run.totals.dropped, 0, what);
        }
        const EunomiaTestCsv csv(temp.Path("out/flows.csv"));
        NS_TEST_EXPECT_MSG_EQ(csv.Count("status", "done"), 1000, what);
        const EunomiaTestCsv pauses(temp.Path("out/pfc.csv"));
        NS_TEST_EXPECT_MSG_EQ(pauses.Count("event", "xoff"), run.totals.pauses, what);
        int64_t last = 0;
        uint64_t again = 0;
        for (auto row : csv.rows) {
            last = std::max<int64_t>(last, std::stoll(row["fct_ns"]));
            again += std::stoull(row["retransmitted"]);
        }
        // 1,000 flows of 64 packets take 5.7 ms at line rate.
        NS_TEST_EXPECT_MSG_GT(last, 5'600'000, what);
        NS_TEST_EXPECT_MSG_LT(last, (smooth ? 6'000'000 : 60'000'000), what);
        NS_TEST_EXPECT_MSG_EQ((again == 0), smooth, what << ", " << again << " retransmissions");
        std::cout << "eunomia-experiment: incast, " << what << ": last FCT " << last / 1000
                  << " us, " << run.totals.pauses << " pauses, " << run.totals.dropped << " drops, "
                  << again << " retransmissions" << std::endl;
    }
};

/** Pools that run out: each step is counted as the NICs counted it, and the options reach them. */
class ExhaustionCase : public TestCase {
  public:
    ExhaustionCase() : TestCase("steps of exhaustion") {}

  private:
    using Counts = std::map<std::string, uint64_t>;

    /** What the NICs of a run counted, by the names of the summary. */
    static Counts Counted(EunomiaFabric &fabric)
    {
        Counts sum;
        for (uint32_t h = 0; h < fabric.GetNHosts(); h++) {
            const struct eun_reorder_stats *p = eun_reorder_stats(fabric.GetNic(h)->GetReorder());
            sum["chain"] += p->chain;
            sum["widen"] += p->widen;
            sum["reclaim_early"] += p->reclaim_early;
            sum["growth_refused"] += p->growth_refused;
            sum["metadata_refused"] += p->metadata_refused;
            sum["fragmented"] += p->fragmented;
            sum["window_nack"] += p->cap_hit;
            sum["fallback"] += fabric.GetNic(h)->GetFallbacks();
        }
        return sum;
    }

    Counts Run(const Words &words)
    {
        EunomiaTestFolder temp;
        EunomiaTestSimulation simulation;
        EunomiaExperiment experiment(EunomiaTestOptions(
            g_small +
            Words{"--load=0.9", "--spines=4", "--duration=500us", "--cc=none", "--pfc=off",
                  "--buffer=200KB", "--linkDelay=5us", "--out=" + temp.Path("out")} +
            words));
        NS_TEST_EXPECT_MSG_EQ(experiment.Run(), Status::DONE, words[0]);
        const std::string text = EunomiaTestFolder::Read(temp.Path("out/summary.json"));
        const std::string pool = text.substr(text.find("\"pool\": {"));
        const std::string steps = pool.substr(pool.find("\"exhaustion\": {"));
        Counts counts = Counted(experiment.GetFabric());
        for (const auto &[name, count] : counts) {
            const bool isStep = name != "chain" && name != "widen";
            NS_TEST_EXPECT_MSG_EQ(EunomiaTestNumber(isStep ? steps : pool, name), count,
                                  name << " with " << words[0]);
        }
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestNumber(pool, "alloc_miss"),
                              counts["growth_refused"] + counts["metadata_refused"], words[0]);
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestNumber(pool, "fallback"), counts["fallback"], words[0]);
        return counts;
    }

    void DoRun() override
    {
        Counts wide = Run({"--qpCap=4096", "--poolBlocks=8192"});
        NS_TEST_EXPECT_MSG_GT(wide["widen"], 0, "spans of more than 256 PSNs");
        NS_TEST_EXPECT_MSG_EQ(wide["growth_refused"] + wide["metadata_refused"], 0, "room for all");
        NS_TEST_EXPECT_MSG_EQ(wide["fallback"], 0, "room for all");
        Counts narrow = Run({"--qpCap=64", "--poolBlocks=8192"});
        NS_TEST_EXPECT_MSG_GT(narrow["window_nack"], wide["window_nack"], "a smaller window");
        NS_TEST_EXPECT_MSG_EQ(narrow["widen"], 0, "no bitmap of more than 256 PSNs");
        Counts scarce = Run({"--poolBlocks=100"});
        NS_TEST_EXPECT_MSG_GT(scarce["growth_refused"], 0, "bitmaps that cannot grow");
        NS_TEST_EXPECT_MSG_GT(scarce["metadata_refused"], 0, "QPs that cannot begin");
        NS_TEST_EXPECT_MSG_GT(scarce["reclaim_early"], 0, "idle metadata goes first");
        NS_TEST_EXPECT_MSG_GT(scarce["fallback"], 0, "the last step");
        Counts linked = Run({"--qpCap=4096", "--poolBlocks=250"});
        NS_TEST_EXPECT_MSG_GT(linked["chain"], 0, "wide bitmaps come and go");
        Counts rows = Run({"--qpCap=4096", "--poolBlocks=250", "--linkMetadata=false"});
        NS_TEST_EXPECT_MSG_EQ(rows["chain"], 0, "no fragments");
        NS_TEST_EXPECT_MSG_GT(rows["fragmented"], 0, "no run of 24");
        Counts kept = Run({"--poolBlocks=100", "--reserve=50"});
        NS_TEST_EXPECT_MSG_GT(kept["growth_refused"], scarce["growth_refused"], "the reserve");
    }
};

/** Runs that end before their flows do, or have none. */
class UnfinishedCase : public TestCase {
  public:
    UnfinishedCase() : TestCase("unfinished flows, failed flows, no flows") {}

  private:
    void DoRun() override
    {
        EunomiaTestFolder temp;
        Drained(temp);
        Failed(temp);
        Empty(temp);
    }

    void Drained(const EunomiaTestFolder &temp)
    {
        const std::string flows =
            temp.Write("x.flows", "3\n0 1 3 100 2.0\n2 3 3 1000000 2.00001\n4 7 3 100 2.00001\n");
        const EunomiaTestRun run(g_small + Words{"--flows=" + flows, "--drain=1us", "--sample=1us",
                                                 "--out=" + temp.Path("drained")});
        NS_TEST_EXPECT_MSG_EQ(run.status, Status::UNFINISHED, "1 us is too short");
        const EunomiaTestCsv csv(temp.Path("drained/flows.csv"));
        NS_TEST_EXPECT_MSG_EQ(csv.rows.size(), 3, "all are told of");
        NS_TEST_EXPECT_MSG_EQ(csv.Count("status", "done"), 1, "done");
        NS_TEST_EXPECT_MSG_EQ(csv.Count("status", "unfinished"), 2, "unfinished");
        NS_TEST_EXPECT_MSG_EQ(run.endPs, 2'000'011'000'000, "1 us after the last start");
        const std::string summary = EunomiaTestFolder::Read(temp.Path("drained/summary.json"));
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestNumber(summary, "total"), 3, "total");
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestNumber(summary, "done"), 1, "done");
    }

    void Failed(const EunomiaTestFolder &temp)
    {
        const std::string flows = temp.Write("x.flows", "2\n0 1 3 100 2.0\n2 3 3 900000 2.0\n");
        const EunomiaTestRun run(g_small + Words{"--flows=" + flows, "--out=" + temp.Path("failed"),
                                                 "--ns3::EunomiaNic::RetransmitTimeout=1us",
                                                 "--ns3::EunomiaNic::RetryLimit=1"});
        NS_TEST_EXPECT_MSG_EQ(run.status, Status::UNFINISHED, "a flow failed");
        const EunomiaTestCsv csv(temp.Path("failed/flows.csv"));
        NS_TEST_EXPECT_MSG_EQ(csv.Count("status", "failed:retry-limit"), 1, "the reason");
        NS_TEST_EXPECT_MSG_EQ(csv.Count("status", "done"), 1, "the other one");
    }

    void Empty(const EunomiaTestFolder &temp)
    {
        // A list without a flow is refused; a workload may come to none.
        const EunomiaTestRun run(g_small + Words{"--duration=1ns", "--load=0.01", "--sample=10us",
                                                 "--out=" + temp.Path("empty")});
        NS_TEST_EXPECT_MSG_EQ(run.status, Status::UNFINISHED, "nothing finished");
        NS_TEST_EXPECT_MSG_LT(run.endPs, 1'000'000'000, "it does not go on without a flow");
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestCsv(temp.Path("empty/timeseries.csv")).rows.size(), 0,
                              "monitors neither");
        const EunomiaTestCsv csv(temp.Path("empty/flows.csv"));
        NS_TEST_EXPECT_MSG_EQ(csv.rows.size(), 0, "no row");
        for (const char *name : {"flows.csv", "pfc.csv", "timeseries.csv", "summary.json"}) {
            NS_TEST_EXPECT_MSG_GT(EunomiaTestFolder::Read(temp.Path("empty/") + name).size(), 10,
                                  name << " is there, with its header");
        }
    }
};

/** What a user may get wrong: one line that names it, and no folder left behind. */
class BadInputCase : public TestCase {
  public:
    BadInputCase() : TestCase("bad input leaves nothing behind") {}

  private:
    void DoRun() override
    {
        EunomiaTestFolder temp;
        const std::string flows = temp.Write("x.flows", "1\n0 9 3 100 2.0\n");
        const std::string none = temp.Write("none.flows", "0\n");
        const struct {
            Words words;
            std::string begins;
        } rows[] = {
            {{"--buffer=1"}, "--ns3::EunomiaSwitch::BufferSize: 1 bytes leave no pool"},
            {{"--linkDelay=1s"}, "--ns3::EunomiaSwitch::BufferSize: 9437184 bytes leave no pool"},
            {{"--linkDelay=1s", "--window=bdp"}, "--ns3::EunomiaNic::Window: cannot be "},
            {{"--transport=irn", "--linkDelay=1ms"},
             "--ns3::EunomiaNic::Window: transport irn needs 1 to 4096 packets"},
            {{"--transport=irn", "--window=off"}, "--window: 'off' is no window, but irn has one"},
            {{"--transport=irn", "--window=0B"}, "--window: '0B' is no window, but irn has one"},
            {{"--transport=irn", "--gate=receiver"},
             "--ns3::EunomiaNic::Gate: transport irn has no staging"},
            {{"--transport=mprdma", "--cc=dcqcn"},
             "--cc: mprdma has a congestion window of its own and takes none, not dcqcn"},
            {{"--transport=mprdma", "--lb=spray"},
             "--lb: mprdma picks paths by UDP source port, which spray does not follow: ecmp"},
            {{"--transport=mprdma", "--gate=sender"},
             "--ns3::EunomiaNic::Gate: transport mprdma orders messages by synchronise packets"},
            {{"--transport=mprdma", "--ackEvery=2"},
             "--ns3::EunomiaNic::AckEvery: transport mprdma acknowledges every packet"},
            {{"--linkDelay=10s", "--compat=conweave-ns3"},
             "--ns3::EunomiaSwitch::Headroom: cannot be "},
            {{"--reserve=65", "--poolBlocks=64"}, "--reserve: '65' is no whole number in 0..64"},
            {{"--reserve=65", "--ns3::EunomiaNic::PoolBlocks=64"},
             "--ns3::EunomiaNic::Reserve: 65 of 64 blocks"},
            {{"--poolBlocks=70000"}, "--ns3::EunomiaNic::PoolBlocks: 70000 blocks"},
            {{"--idleEpoch=0.00000001rtt"}, "--idleEpoch: must be in 1 ps..100000 s"},
            {{"--idleEpoch=100000000000rtt"}, "--idleEpoch: must be in 1 ps..100000 s"},
            {{"--ns3::EunomiaNic::Mtuu=5"}, "--ns3::EunomiaNic::Mtuu: there is no such attribute"},
            {{"--ns3::EunomiaNic::Mtu=5x"},
             "--ns3::EunomiaNic::Mtu: there is no such attribute, "
             "or '5x' is no value of it"},
            {{"--ns3::EunomiaNic::RetransmitTimeout=4 ms"},
             "--ns3::EunomiaNic::RetransmitTimeout: there is no such attribute"},
            {{"--ns3::EunomiaNic::RetransmitTimeout=soon"},
             "--ns3::EunomiaNic::RetransmitTimeout: there is no such attribute"},
            {{"--ns3::EunomiaNic::RetransmitTimeout=-4ms"},
             "--ns3::EunomiaNic::RetransmitTimeout: there is no such attribute"},
            {{"--ns3::EunomiaSwitch::Alpha=1/16"}, "--ns3::EunomiaSwitch::Alpha: there is no"},
            {{"--ns3::EunomiaSwitch::Pfc=perhaps"}, "--ns3::EunomiaSwitch::Pfc: there is no"},
            {{"--ns3::EunomiaLink::DataRate=1Gbps x"}, "--ns3::EunomiaLink::DataRate: there is no"},
            {{"--ns3::EunomiaNic::Mtu="}, "--ns3::EunomiaNic::Mtu: there is no such attribute"},
            {{"--ns3::EunomiaNic::Verb=read"}, "--ns3::EunomiaNic::Verb: there is no verb read"},
            {{"--ns3::EunomiaLink::DataRate=fast"}, "--ns3::EunomiaLink::DataRate: there is no"},
            {{"--ns3::EunomiaNoc::Mtu=5"}, "--ns3::EunomiaNoc::Mtu: there is no such attribute"},
            {{"--flows=" + temp.Path("none")}, temp.Path("none")},
            {{"--flows=" + flows}, flows + ":2: dst"},
            {{"--flows=" + none}, none + ":1: count"},
            {{"--workload=Unknown"}, "--workload: "},
            {{"--workload=file:" + temp.Path("none")}, temp.Path("none")},
            {{"--lb=x"}, "--lb: "},
        };
        for (const auto &row : rows) {
            const std::string problem = EunomiaRefusal([&] {
                EunomiaTestRun run(g_small + row.words + Words{"--out=" + temp.Path("out/deep")});
            });
            NS_TEST_EXPECT_MSG_EQ(problem.substr(0, row.begins.size()), row.begins, problem);
            NS_TEST_EXPECT_MSG_EQ(problem.find('\n'), std::string::npos, "one line");
            NS_TEST_EXPECT_MSG_EQ(temp.List().size(), 2, "only the flow lists: " << problem);
        }
    }
};

/** Attributes on the command line change the run and show in the summary. */
class AttributesCase : public TestCase {
  public:
    AttributesCase() : TestCase("attributes from the command line") {}

  private:
    void DoRun() override
    {
        EunomiaTestFolder temp;
        const std::string flows = temp.Write("some.flows", FlowList(40));
        const Words base = g_small + Words{"--flows=" + flows, "--lb=ecmp", "--transport=gbn"};
        const auto acks = [&](const Words &more) {
            const EunomiaTestRun run(base + more + Words{"--out=" + temp.Path("out"), "--force"});
            NS_TEST_EXPECT_MSG_EQ(run.status, Status::DONE, "done");
            m_summary = EunomiaTestFolder::Read(temp.Path("out/summary.json"));
            return EunomiaTestNumber(m_summary, "ack");
        };
        const double all = acks({});
        NS_TEST_EXPECT_MSG_EQ(all, EunomiaTestNumber(m_summary, "data"), "an ACK a packet");
        NS_TEST_EXPECT_MSG_LT(acks({"--ns3::EunomiaNic::AckEvery=8"}), all / 2, "fewer ACKs");
        NS_TEST_EXPECT_MSG_LT(acks({"--ackEvery=9"}), all / 2, "fewer ACKs, by the option");
        acks({"--ns3::EunomiaNic::AckEvery=8"});
        NS_TEST_EXPECT_MSG_NE(m_summary.find("\"ns3::EunomiaNic::AckEvery\": \"8\""),
                              std::string::npos, "in the summary");
        NS_TEST_EXPECT_MSG_EQ(acks({}), all, "and it does not linger");
        for (const char *key : {"topology",
                                "leaves",
                                "spines",
                                "hostsPerLeaf",
                                "linkRate_bps",
                                "linkDelay_ps",
                                "flows",
                                "drain_ps",
                                "qp",
                                "compat",
                                "lb",
                                "transport",
                                "cc",
                                "window",
                                "pfc",
                                "mtu",
                                "overhead",
                                "verb",
                                "gate",
                                "seed",
                                "sample_ps",
                                "ns3::EunomiaSwitch::BufferSize",
                                "ns3::EunomiaLink::DataRate",
                                "ns3::EunomiaNic::PoolBlocks"}) {
            NS_TEST_EXPECT_MSG_NE(m_summary.find('"' + std::string(key) + "\": "),
                                  std::string::npos, key);
        }
    }

    std::string m_summary;
};

/** The window of irn is the fabric's BDP, that of conweave-ns3 with its deviations. */
class IrnCase : public TestCase {
  public:
    IrnCase() : TestCase("windows and timeouts of irn") {}

  private:
    void DoRun() override
    {
        const std::string plain = Summary({"--lb=ecmp"});
        const auto bdp = static_cast<uint64_t>(EunomiaTestNumber(plain, "bdp_bytes"));
        NS_TEST_EXPECT_MSG_GT(bdp, 100'000, "100 Gb/s for 8 us and more");
        Has(plain, "Window", std::to_string(bdp));
        Has(plain, "IrnRtoLow", "+1e+08ps");
        Has(plain, "IrnGoBack", "false");
        // 128 PSNs, two bits each, in the one slot that a flow needs.
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestNumber(plain, "bytes_peak"), 32, "bitmap");
        Has(Summary({"--lb=ecmp", "--window=20KB"}), "Window", "20000");
        const std::string theirs = Summary({"--lb=ecmp", "--compat=conweave-ns3"});
        Has(theirs, "Window", "104000");
        Has(theirs, "IrnRtoLow", "+1e+17ps");
        Has(theirs, "IrnGoBack", "true");
        NS_TEST_EXPECT_MSG_NE(theirs.find("EunomiaSwitch::CongaSample\": \"4\""), std::string::npos,
                              "CONGA looks at four uplinks");
        NS_TEST_EXPECT_MSG_NE(plain.find("EunomiaSwitch::CongaSample\": \"0\""), std::string::npos,
                              "CONGA looks at all");
        Has(Summary({"--lb=ecmp", "--compat=conweave-ns3", "--pfc=off"}), "IrnRtoHigh",
            "+3.2e+08ps");
    }

    void Has(const std::string &summary, const std::string &attribute, const std::string &value)
    {
        const std::string text = "\"ns3::EunomiaNic::" + attribute + "\": \"" + value + '"';
        NS_TEST_EXPECT_MSG_NE(summary.find(text), std::string::npos, text);
    }

    static std::string Summary(const Words &words)
    {
        EunomiaTestFolder temp;
        EunomiaTestRun(g_small + words +
                       Words{"--transport=irn", "--out=" + temp.Path("out"),
                             "--flows=" + temp.Write("x.flows", "1\n0 1 3 100 2.0\n")});
        return EunomiaTestFolder::Read(temp.Path("out/summary.json"));
    }
};

/** One flow between racks: its one reply is counted, and its attributes are in the summary. */
class ConweaveCase : public TestCase {
  public:
    ConweaveCase() : TestCase("what conweave did, and its deviations for comparison") {}

  private:
    void DoRun() override
    {
        const std::string own = Summary({"--lb=conweave"});
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestNumber(own, "signal"), 1, "a reply");
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestNumber(own, "epochs"), 1, "asked for");
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestNumber(own, "replies_in_time"), 1, "in time");
        Has(own, "ConweaveHeader", "4");
        Has(own, "ConweaveBuffer", "true");
        const std::string theirs = Summary({"--lb=conweave", "--compat=conweave-ns3"});
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestNumber(theirs, "replies_in_time"), 1, "in time");
        Has(theirs, "ConweaveHeader", "0");
        Has(theirs, "ConweaveBuffer", "false");
        Has(theirs, "ConweaveAbort", "false");
        Has(theirs, "ConweaveTimerClears", "false");
        Has(theirs, "ConweavePathBusy", "+1.6e+07ps");
        Has(theirs, "ConweaveLinkRtt", "+2e+06ps");
        Has(own, "ConweaveResumeExtra", "+6.4e+07ps");
        Has(Summary({"--lb=conweave", "--pfc=off"}), "ConweaveResumeExtra", "+1.6e+07ps");
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestNumber(Summary({"--lb=ecmp"}), "epochs"), -1, "absent");
    }

    void Has(const std::string &summary, const std::string &attribute, const std::string &value)
    {
        const std::string text = "\"ns3::EunomiaSwitch::" + attribute + "\": \"" + value + '"';
        NS_TEST_EXPECT_MSG_NE(summary.find(text), std::string::npos, text);
    }

    static std::string Summary(const Words &words)
    {
        EunomiaTestFolder temp;
        EunomiaTestRun(g_small + words +
                       Words{"--transport=gbn", "--out=" + temp.Path("out"),
                             "--flows=" + temp.Write("x.flows", "1\n0 7 3 100 2.0\n")});
        return EunomiaTestFolder::Read(temp.Path("out/summary.json"));
    }
};

/** Windows that every mark cuts have DCTCP's step, unless the user says else; rates have not. */
class MarkingCase : public TestCase {
  public:
    MarkingCase() : TestCase("where marking begins") {}

  private:
    void DoRun() override
    {
        // Twice C RTT/7, for 4 links of 1 us each way, 4 full frames and 4 ACKs.
        const double k = 2 * 12.5 * (8000 + 4 * (1114 + 98) * 0.08) / 7;
        for (const Words &words : {Words{"--cc=dctcp"}, Words{"--transport=mprdma"}}) {
            NS_TEST_EXPECT_MSG_EQ_TOL(Number("Min", words), k, 20, words[0]);
            NS_TEST_EXPECT_MSG_EQ_TOL(Number("Max", words), k, 20, words[0]);
            NS_TEST_EXPECT_MSG_EQ(Number("Probability", words), 1, words[0]);
            const Words given = words + Words{"--ns3::EunomiaSwitch::EcnMax=123456"};
            NS_TEST_EXPECT_MSG_EQ(Number("Max", given), 123456, words[0]);
        }
        NS_TEST_EXPECT_MSG_EQ(Number("Min", {"--cc=dcqcn"}), 100000, "as in the published runs");
        NS_TEST_EXPECT_MSG_EQ(Number("Max", {"--cc=dcqcn"}), 400000, "likewise");
    }

    static double Number(const std::string &which, const Words &words)
    {
        EunomiaTestFolder temp;
        EunomiaTestRun(g_small + words +
                       Words{"--out=" + temp.Path("out"),
                             "--flows=" + temp.Write("x.flows", "1\n0 7 3 100 2.0\n")});
        const std::string summary = EunomiaTestFolder::Read(temp.Path("out/summary.json"));
        const std::string key = "\"ns3::EunomiaSwitch::Ecn" + which + "\": \"";
        return std::strtod(summary.c_str() + summary.find(key) + key.size(), nullptr);
    }
};

/** An idle epoch in round trips is that many of the longest base RTT that the fabric has. */
class IdleEpochCase : public TestCase {
  public:
    IdleEpochCase() : TestCase("idle epoch in round trips") {}

  private:
    void DoRun() override
    {
        for (const Words &words :
             {Words{}, Words{"--leaves=1"}, Words{"--linkDelay=333ns"},
              Words{"--verb=write", "--linkRate=40Gbps"}, Words{"--overhead=48", "--mtu=1000"},
              Words{"--transport=gbn", "--lb=ecmp"}}) {
            const double rtt = Config(words + Words{"--idleEpoch=1us"}, "base_rtt_ps");
            NS_TEST_EXPECT_MSG_GT(rtt, 1'000'000, "two links and more");
            NS_TEST_EXPECT_MSG_EQ(Config(words + Words{"--idleEpoch=1rtt"}, "idleEpoch_ps"), rtt,
                                  words.size());
            NS_TEST_EXPECT_MSG_EQ(Config(words + Words{"--idleEpoch=30.5rtt"}, "idleEpoch_ps"),
                                  std::round(30.5 * rtt), words.size());
        }
        NS_TEST_EXPECT_MSG_EQ(Config({}, "idleEpoch_ps"), 256'000'000, "the default");
        NS_TEST_EXPECT_MSG_EQ(Config({"--ns3::EunomiaNic::IdleEpoch=5us"}, "idleEpoch_ps"),
                              5'000'000, "an attribute has the last word");
    }

    /** A number of the configuration in summary.json. */
    static double Config(const Words &words, const std::string &key)
    {
        EunomiaTestFolder temp;
        EunomiaTestRun(g_small + words +
                       Words{"--flows=" + temp.Write("x.flows", "1\n0 1 3 100 2.0\n"),
                             "--out=" + temp.Path("out")});
        return EunomiaTestNumber(EunomiaTestFolder::Read(temp.Path("out/summary.json")), key);
    }
};

class EunomiaExperimentTestSuite : public TestSuite {
  public:
    EunomiaExperimentTestSuite() : TestSuite("eunomia-experiment", Type::SYSTEM)
    {
        AddTestCase(new SchemesCase);
        AddTestCase(new DeterminismCase);
        AddTestCase(new AllocationCase);
        AddTestCase(new IncastCase);
        AddTestCase(new ExhaustionCase);
        AddTestCase(new UnfinishedCase);
        AddTestCase(new BadInputCase);
        AddTestCase(new AttributesCase);
        AddTestCase(new IrnCase);
        AddTestCase(new ConweaveCase);
        AddTestCase(new MarkingCase);
        AddTestCase(new IdleEpochCase);
    }
};

EunomiaExperimentTestSuite g_eunomiaExperimentTestSuite;

} // namespace
