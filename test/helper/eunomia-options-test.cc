// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-options.h"
#include "eunomia-test-experiment.h"

#include "ns3/test.h"

#include <functional>
#include <set>

using namespace ns3;

namespace {

/** Options from words as on a command line; `--out=x` is there already. */
EunomiaOptions Parse(std::vector<std::string> words, bool out = true)
{
    if (out) {
        words.insert(words.begin(), "--out=x");
    }
    return EunomiaTestOptions(words);
}

/** What Parse() says about them; empty where it takes them. */
std::string Refusal(const std::vector<std::string> &words, bool out = true)
{
    return EunomiaRefusal([&] { Parse(words, out); });
}

class ParsersCase : public TestCase {
  public:
    ParsersCase() : TestCase("times, rates, sizes") {}

  private:
    void DoRun() override
    {
        Times();
        Rates();
        Sizes();
    }

    void Times()
    {
        static const struct {
            const char *text;
            int64_t ps;
        } good[] = {{"0", 0},
                    {"0s", 0},
                    {"1ps", 1},
                    {"1ns", 1000},
                    {"256us", 256'000'000},
                    {"2ms", 2'000'000'000},
                    {"1s", 1'000'000'000'000},
                    {"1.5us", 1'500'000},
                    {".5ns", 500},
                    {"3.us", 3'000'000},
                    {"0.0004ns", 0},
                    {"100000s", 100'000'000'000'000'000}};
        for (const auto &row : good) {
            NS_TEST_EXPECT_MSG_EQ(EunomiaParseTime("--t", row.text), row.ps, row.text);
        }
        for (const char *text : {"", "1", "us", "1 us", "-1us", "+1us", "1e3us", "1.2.3us", "1us ",
                                 ".us", "1min", "0x10us", "1US", "inf", "nan", "1,5us"}) {
            NS_TEST_EXPECT_MSG_EQ(
                EunomiaRefusal([&] { EunomiaParseTime("--drain", text); }),
                std::string("--drain: '") + text + "' is no time such as 256us or 2ms", text);
        }
        NS_TEST_EXPECT_MSG_EQ(EunomiaRefusal([] { EunomiaParseTime("--drain", "100001s"); }),
                              "--drain: '100001s' is longer than 100000 s", "too long");
    }

    void Rates()
    {
        static const struct {
            const char *text;
            uint64_t bps;
        } good[] = {{"100Gbps", 100'000'000'000},   {"1Mbps", 1'000'000},
                    {"10Tbps", 10'000'000'000'000}, {"123.456789Gbps", 123'456'789'000},
                    {"2500kbps", 2'500'000},        {"1000000bps", 1'000'000},
                    {"2.4Tbps", 2'400'000'000'000}};
        for (const auto &row : good) {
            NS_TEST_EXPECT_MSG_EQ(EunomiaParseRate("--r", row.text), row.bps, row.text);
        }
        for (const char *text : {"", "100", "Gbps", "100gbps", "100Gb", "100 Gbps", "-1Gbps"}) {
            NS_TEST_EXPECT_MSG_EQ(
                EunomiaRefusal([&] { EunomiaParseRate("--linkRate", text); }),
                std::string("--linkRate: '") + text + "' is no rate such as 100Gbps", text);
        }
        for (const char *text : {"0bps", "999999bps", "10.1Tbps", "99999999999999999999Tbps"}) {
            NS_TEST_EXPECT_MSG_EQ(EunomiaRefusal([&] { EunomiaParseRate("--linkRate", text); }),
                                  std::string("--linkRate: '") + text + "' is not in 1Mbps..10Tbps",
                                  text);
        }
    }

    void Sizes()
    {
        static const struct {
            const char *text;
            uint64_t bytes;
        } good[] = {{"0", 0},          {"1048", 1048},   {"64KB", 64'000},
                    {"9MiB", 9437184}, {"1B", 1},        {"2GB", 2'000'000'000},
                    {"1GiB", 1 << 30}, {"1.5KiB", 1536}, {"1000000GB", 1'000'000'000'000'000}};
        for (const auto &row : good) {
            NS_TEST_EXPECT_MSG_EQ(EunomiaParseSize("--s", row.text), row.bytes, row.text);
        }
        for (const char *text : {"", "MB", "9mib", "9 MiB", "-9MiB", "9MiBs", "1e6"}) {
            NS_TEST_EXPECT_MSG_EQ(EunomiaRefusal([&] { EunomiaParseSize("--buffer", text); }),
                                  std::string("--buffer: '") + text + "' is no size such as 9MiB",
                                  text);
        }
        NS_TEST_EXPECT_MSG_EQ(EunomiaRefusal([] { EunomiaParseSize("--buffer", "1000001GB"); }),
                              "--buffer: '1000001GB' is too large", "too large");
    }
};

/** What the contract says the defaults are. */
class DefaultsCase : public TestCase {
  public:
    DefaultsCase() : TestCase("defaults") {}

  private:
    void DoRun() override
    {
        const EunomiaOptions o = Parse({});
        NS_TEST_EXPECT_MSG_EQ(o.leaves, 8, "leaves");
        NS_TEST_EXPECT_MSG_EQ(o.spines, 8, "spines");
        NS_TEST_EXPECT_MSG_EQ(o.hostsPerLeaf, 16, "hostsPerLeaf");
        NS_TEST_EXPECT_MSG_EQ(o.Hosts(), 128, "hosts");
        NS_TEST_EXPECT_MSG_EQ(o.linkRateBps, 100'000'000'000, "linkRate");
        NS_TEST_EXPECT_MSG_EQ(o.linkDelayPs, 1'000'000, "linkDelay");
        NS_TEST_EXPECT_MSG_EQ(o.workload, "AliStorage2019", "workload");
        NS_TEST_EXPECT_MSG_EQ(o.flows, "", "flows");
        NS_TEST_EXPECT_MSG_EQ(o.load, 0.5, "load");
        NS_TEST_EXPECT_MSG_EQ(o.oversubscription, 2, "oversubscription");
        NS_TEST_EXPECT_MSG_EQ(o.qpPerPair, false, "qp");
        NS_TEST_EXPECT_MSG_EQ(o.conweave, false, "compat");
        NS_TEST_EXPECT_MSG_EQ(o.durationPs, 2'000'000'000, "duration");
        NS_TEST_EXPECT_MSG_EQ(o.warmupPs, 0, "warmup");
        NS_TEST_EXPECT_MSG_EQ(o.drainPs, 100'000'000'000, "drain");
        NS_TEST_EXPECT_MSG_EQ(o.lb, "spray", "lb");
        NS_TEST_EXPECT_MSG_EQ(o.transport, "eunomia", "transport");
        NS_TEST_EXPECT_MSG_EQ(o.cc, "dcqcn", "cc");
        NS_TEST_EXPECT_MSG_EQ(o.window, "off", "window");
        NS_TEST_EXPECT_MSG_EQ(o.pfc, true, "pfc");
        NS_TEST_EXPECT_MSG_EQ(o.bufferBytes, 9437184, "buffer");
        NS_TEST_EXPECT_MSG_EQ(o.mtu, 1024, "mtu");
        NS_TEST_EXPECT_MSG_EQ(o.flatOverhead, 0, "overhead");
        NS_TEST_EXPECT_MSG_EQ(o.verb, "send", "verb");
        NS_TEST_EXPECT_MSG_EQ(o.gate, "auto", "gate");
        NS_TEST_EXPECT_MSG_EQ(o.gateScope, "qp", "gateScope");
        NS_TEST_EXPECT_MSG_EQ(o.ackEvery, 1, "ackEvery");
        NS_TEST_EXPECT_MSG_EQ(o.poolBlocks, 1024, "poolBlocks");
        NS_TEST_EXPECT_MSG_EQ(o.reserve, 0, "reserve");
        NS_TEST_EXPECT_MSG_EQ(o.linkMetadata, true, "linkMetadata");
        NS_TEST_EXPECT_MSG_EQ(o.qpCap, 256, "qpCap");
        NS_TEST_EXPECT_MSG_EQ(o.idleEpochPs, 256'000'000, "idleEpoch");
        NS_TEST_EXPECT_MSG_EQ(o.idleEpochRtts, 0, "idleEpoch is a time");
        NS_TEST_EXPECT_MSG_EQ(o.banks, 1, "banks");
        NS_TEST_EXPECT_MSG_EQ(o.allocTimePs, 10'000, "allocTime");
        NS_TEST_EXPECT_MSG_EQ(o.pipelines, 1, "pipelines");
        NS_TEST_EXPECT_MSG_EQ(o.cacheBlocks, 16, "cacheBlocks");
        NS_TEST_EXPECT_MSG_EQ(o.seed, 1, "seed");
        NS_TEST_EXPECT_MSG_EQ(o.out, "x", "out");
        NS_TEST_EXPECT_MSG_EQ(o.samplePs, 0, "sample");
        NS_TEST_EXPECT_MSG_EQ(o.force, false, "force");
        NS_TEST_EXPECT_MSG_EQ(o.legacy, false, "legacy");
        NS_TEST_EXPECT_MSG_EQ(o.reorderLog, false, "reorderLog");
        NS_TEST_EXPECT_MSG_EQ(o.attributes.size(), 0, "attributes");
    }
};

using O = EunomiaOptions;

/** A word that is taken, and what it leads to. */
struct Good {
    const char *word;
    std::function<bool(const O &)> holds;
};

const std::vector<Good> g_good = {
    {"--topology=clos", [](const O &o) { return o.leaves == 8; }},
    {"--leaves=1", [](const O &o) { return o.leaves == 1 && o.oversubscription == 1; }},
    {"--leaves=1024", [](const O &o) { return o.leaves == 1024; }},
    {"--spines=3", [](const O &o) { return o.spines == 3; }},
    {"--spines=32", [](const O &o) { return o.oversubscription == 1; }},
    {"--hostsPerLeaf=40", [](const O &o) { return o.oversubscription == 5; }},
    {"--linkRate=400Gbps", [](const O &o) { return o.linkRateBps == 400'000'000'000; }},
    {"--linkDelay=0", [](const O &o) { return o.linkDelayPs == 0; }},
    {"--linkDelay=600ns", [](const O &o) { return o.linkDelayPs == 600'000; }},
    {"--workload=WebSearch", [](const O &o) { return o.workload == "WebSearch"; }},
    {"--flows=a/b=c.flows", [](const O &o) { return o.flows == "a/b=c.flows"; }},
    {"--load=0.8", [](const O &o) { return o.load == 0.8; }},
    {"--load=1e-3", [](const O &o) { return o.load == 0.001; }},
    {"--oversubscription=4", [](const O &o) { return o.oversubscription == 4; }},
    {"--oversubscription=auto", [](const O &o) { return o.oversubscription == 2; }},
    {"--qp=pair", [](const O &o) { return o.qpPerPair; }},
    {"--qp=flow", [](const O &o) { return !o.qpPerPair; }},
    {"--compat=none", [](const O &o) { return !o.conweave && o.mtu == 1024; }},
    {"--compat=conweave-ns3",
     [](const O &o) { return o.conweave && o.mtu == 1000 && o.flatOverhead == 48; }},
    {"--duration=1ps", [](const O &o) { return o.durationPs == 1; }},
    {"--warmup=5us", [](const O &o) { return o.warmupPs == 5'000'000; }},
    {"--drain=0", [](const O &o) { return o.drainPs == 0; }},
    {"--lb=ecmp", [](const O &o) { return o.lb == "ecmp"; }},
    {"--lb=spray-rr", [](const O &o) { return o.lb == "spray-rr"; }},
    {"--transport=gbn", [](const O &o) { return o.transport == "gbn"; }},
    {"--cc=none", [](const O &o) { return o.cc == "none"; }},
    {"--window=bdp", [](const O &o) { return o.window == "bdp"; }},
    {"--window=64KiB", [](const O &o) { return o.window == "65536"; }},
    {"--window=0", [](const O &o) { return o.window == "0"; }},
    {"--transport=irn", [](const O &o) { return o.transport == "irn" && o.window == "bdp"; }},
    {"--transport=mprdma",
     [](const O &o) { return o.cc == "none" && o.lb == "ecmp" && o.window == "off"; }},
    {"--transport=ddp-gbn",
     [](const O &o) { return o.transport == "ddp-gbn" && o.window == "bdp"; }},
    {"--pfc=off", [](const O &o) { return !o.pfc; }},
    {"--buffer=1", [](const O &o) { return o.bufferBytes == 1; }},
    {"--mtu=256", [](const O &o) { return o.mtu == 256; }},
    {"--mtu=9000", [](const O &o) { return o.mtu == 9000; }},
    {"--overhead=48", [](const O &o) { return o.flatOverhead == 48; }},
    {"--overhead=roce", [](const O &o) { return o.flatOverhead == 0; }},
    {"--verb=write", [](const O &o) { return o.verb == "write"; }},
    {"--verb=write-imm", [](const O &o) { return o.verb == "write-imm"; }},
    {"--gate=receiver", [](const O &o) { return o.gate == "receiver"; }},
    {"--gateScope=message", [](const O &o) { return o.gateScope == "message"; }},
    {"--ackEvery=16", [](const O &o) { return o.ackEvery == 16; }},
    {"--poolBlocks=0", [](const O &o) { return o.poolBlocks == 0; }},
    {"--reserve=1024", [](const O &o) { return o.reserve == 1024; }},
    {"--linkMetadata=false", [](const O &o) { return !o.linkMetadata; }},
    {"--linkMetadata", [](const O &o) { return o.linkMetadata; }},
    {"--qpCap=1", [](const O &o) { return o.qpCap == 1; }},
    {"--idleEpoch=1us",
     [](const O &o) { return o.idleEpochPs == 1'000'000 && o.idleEpochRtts == 0; }},
    {"--idleEpoch=32rtt", [](const O &o) { return o.idleEpochRtts == 32 && o.idleEpochPs == 0; }},
    {"--idleEpoch=.25rtt", [](const O &o) { return o.idleEpochRtts == 0.25; }},
    {"--banks=4", [](const O &o) { return o.banks == 4; }},
    {"--allocTime=0", [](const O &o) { return o.allocTimePs == 0; }},
    {"--allocTime=1s", [](const O &o) { return o.allocTimePs == 1'000'000'000'000; }},
    {"--pipelines=8", [](const O &o) { return o.pipelines == 8; }},
    {"--cacheBlocks=0", [](const O &o) { return o.cacheBlocks == 0; }},
    {"--cacheBlocks=1024", [](const O &o) { return o.cacheBlocks == 1024; }},
    {"--seed=4294967295", [](const O &o) { return o.seed == UINT32_MAX; }},
    {"--out=a b", [](const O &o) { return o.out == "a b"; }},
    {"--sample=10us", [](const O &o) { return o.samplePs == 10'000'000; }},
    {"--force", [](const O &o) { return o.force; }},
    {"--force=false", [](const O &o) { return !o.force; }},
    {"--legacy", [](const O &o) { return o.legacy; }},
    {"--legacy=true", [](const O &o) { return o.legacy; }},
    {"--reorderLog", [](const O &o) { return o.reorderLog; }},
    {"--reorderLog=false", [](const O &o) { return !o.reorderLog; }},
    {"--ns3::EunomiaNic::Mtu=512",
     [](const O &o) {
         return o.attributes.size() == 1 && o.attributes[0].first == "ns3::EunomiaNic::Mtu" &&
                o.attributes[0].second == "512";
     }},
};

/** Every option: a value that is taken, and how it resolves. */
class GoodCase : public TestCase {
  public:
    GoodCase() : TestCase("every option, good values") {}

  private:
    void DoRun() override
    {
        for (const Good &row : g_good) {
            NS_TEST_EXPECT_MSG_EQ(Refusal({row.word}), "", row.word);
            NS_TEST_EXPECT_MSG_EQ(row.holds(Parse({row.word})), true, row.word);
        }
        // What is given explicitly stays as it is with --compat; the last word wins.
        const EunomiaOptions o = Parse({"--mtu=512", "--compat=conweave-ns3", "--overhead=roce",
                                        "--seed=4", "--seed=5", "--ns3::A::B=1", "--ns3::A::B=2"});
        NS_TEST_EXPECT_MSG_EQ(o.mtu, 512, "mtu");
        NS_TEST_EXPECT_MSG_EQ(o.flatOverhead, 0, "overhead");
        NS_TEST_EXPECT_MSG_EQ(o.seed, 5, "the last one");
        NS_TEST_EXPECT_MSG_EQ(o.attributes.size(), 2, "in the order given");
    }
};

/** Bad values: one line that begins with the option's name and quotes the value. */
class BadCase : public TestCase {
  public:
    BadCase() : TestCase("every option, bad values") {}

  private:
    void DoRun() override
    {
        static const struct {
            const char *option;
            std::vector<const char *> values;
        } rows[] = {
            {"topology", {"", "clos2", "fat_tree", "Clos"}},
            {"leaves", {"", "0", "1025", "-1", "8.0", "8x", " 8", "99999999999999999999"}},
            {"spines", {"", "0", "1025", "x"}},
            {"hostsPerLeaf", {"", "0", "1025", "1e2"}},
            {"linkRate", {"", "0bps", "100", "11Tbps", "fast"}},
            {"linkDelay", {"", "1", "-1us", "100001s"}},
            {"load", {"", "0", "-0.5", "1001", "half", "0.5x", "nan", "inf"}},
            {"oversubscription", {"", "0", "-1", "1001", "Auto"}},
            {"qp", {"", "flows", "Pair"}},
            {"compat", {"", "conweave", "hpcc"}},
            {"duration", {"", "0", "0us", "2", "-2ms"}},
            {"warmup", {"", "x", "5"}},
            {"drain", {"", "x", "100"}},
            {"lb", {"", "random", "ECMP", "spray "}},
            {"transport", {"", "tcp", "go-back-n"}},
            {"cc", {"", "cubic"}},
            {"window", {"", "on", "-5", "4294967296", "5GB"}},
            {"pfc", {"", "true", "1"}},
            {"buffer", {"", "0", "0MB", "9 MB", "-1"}},
            {"mtu", {"", "255", "9001", "1024B"}},
            {"overhead", {"", "0", "1001", "rocev2"}},
            {"verb", {"", "read", "SEND"}},
            {"gate", {"", "open"}},
            {"gateScope", {"", "flow"}},
            {"ackEvery", {"", "0", "65536", "all"}},
            {"poolBlocks", {"", "-1", "1000001"}},
            {"reserve", {"", "-1", "1025", "64B"}},
            {"linkMetadata", {"", "on", "0"}},
            {"qpCap", {"", "0", "4097"}},
            {"idleEpoch",
             {"", "0", "0us", "256", "rtt", "0rtt", "0.0rtt", "-1rtt", "1 rtt", "1e3rtt", "32RTT",
              "32rtts", "1.2.3rtt"}},
            {"banks", {"", "0", "1025"}},
            {"allocTime", {"", "10", "-1ns", "1.1s", "fast"}},
            {"pipelines", {"", "0", "1025", "two"}},
            {"cacheBlocks", {"", "-1", "1025", "1.5"}},
            {"seed", {"", "0", "4294967296", "-1", "abc"}},
            {"sample", {"", "10", "often"}},
            {"force", {"", "yes", "1"}},
            {"legacy", {"", "no"}},
            {"reorderLog", {"", "on"}},
        };
        for (const auto &row : rows) {
            for (const char *value : row.values) {
                const std::string word = std::string("--") + row.option + "=" + value;
                const std::string problem = Refusal({word});
                NS_TEST_EXPECT_MSG_EQ(problem.find("--" + std::string(row.option) + ": "), 0,
                                      word << " gives: " << problem);
                NS_TEST_EXPECT_MSG_EQ(problem.find('\n'), std::string::npos, word);
            }
            static const std::set<std::string> switches = {"force", "legacy", "reorderLog",
                                                           "linkMetadata"};
            NS_TEST_EXPECT_MSG_EQ(Refusal({std::string("--") + row.option}).empty(),
                                  (switches.count(row.option) == 1),
                                  "--" << row.option << " without a value");
        }
        Others();
    }

    void Others()
    {
        NS_TEST_EXPECT_MSG_EQ(Refusal({"--lb=x"}).find("--lb: 'x' is none of spray, "), 0,
                              "says what would be right");
        NS_TEST_EXPECT_MSG_EQ(Refusal({"--leaves=0"}),
                              "--leaves: '0' is no whole number in 1..1024",
                              "says what would be right");
        NS_TEST_EXPECT_MSG_EQ(Refusal({"--leafs=8"}),
                              "--leafs: there is no such option; see --help", "unknown");
        NS_TEST_EXPECT_MSG_EQ(Refusal({"--"}), "--: there is no such option; see --help", "empty");
        NS_TEST_EXPECT_MSG_EQ(Refusal({"leaves=8"}),
                              "leaves=8: options look like --name=value; see --help", "no dashes");
        NS_TEST_EXPECT_MSG_EQ(Refusal({"-h"}), "-h: options look like --name=value; see --help",
                              "one dash");
        NS_TEST_EXPECT_MSG_EQ(Refusal({""}), ": options look like --name=value; see --help",
                              "an empty word");
        NS_TEST_EXPECT_MSG_EQ(Refusal({"--seed"}), "--seed: needs a value: --seed=...", "no value");
        NS_TEST_EXPECT_MSG_EQ(Refusal({}, false), "--out: needs a folder for the results",
                              "no out");
        NS_TEST_EXPECT_MSG_EQ(Refusal({"--reserve=65", "--poolBlocks=64"}),
                              "--reserve: '65' is no whole number in 0..64", "of a small pool");
        NS_TEST_EXPECT_MSG_EQ(Refusal({"--reserve=64", "--poolBlocks=64"}), "", "all of it");
        NS_TEST_EXPECT_MSG_EQ(Refusal({"--leaves=1", "--hostsPerLeaf=1"}),
                              "--hostsPerLeaf: one host has nobody to talk to", "one host");
    }
};

class EunomiaOptionsTestSuite : public TestSuite {
  public:
    EunomiaOptionsTestSuite() : TestSuite("eunomia-options", Type::UNIT)
    {
        AddTestCase(new ParsersCase);
        AddTestCase(new DefaultsCase);
        AddTestCase(new GoodCase);
        AddTestCase(new BadCase);
    }
};

EunomiaOptionsTestSuite g_eunomiaOptionsTestSuite;

} // namespace
