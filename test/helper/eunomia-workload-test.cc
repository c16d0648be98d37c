/* SPDX-License-Identifier: GPL-2.0-only */
#include "eunomia-test-folder.h"
#include "eunomia-workload.h"

#include <cmath>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>
#include <limits>
#include <map>
#include <ns3/rng-seed-manager.h>
#include <ns3/test.h>
#include <set>

using namespace ns3;

namespace {

constexpr int64_t MS = 1'000'000'000; /**< in ps */
/** A right program fails a statistical check of these tests with about this probability. */
constexpr double UNLIKELY = 1e-9;

EunomiaWorkloadConfig Clos(int64_t durationPs)
{
    EunomiaWorkloadConfig config;
    config.hosts = 128;
    config.linkRateBps = 100'000'000'000;
    config.load = 0.5;
    config.oversubscription = 2;
    config.durationPs = durationPs;
    config.startPs = 2000 * MS;
    return config;
}

bool Same(const std::vector<EunomiaFlow> &a, const std::vector<EunomiaFlow> &b)
{
    return std::equal(
        a.begin(), a.end(), b.begin(), b.end(), [](const EunomiaFlow &x, const EunomiaFlow &y) {
            return x.id == y.id && x.src == y.src && x.dst == y.dst && x.priority == y.priority &&
                   x.bytes == y.bytes && x.startPs == y.startPs;
        });
}

/** Seed and run of ns-3's generators, put back when the object goes. */
class RandomState {
  public:
    explicit RandomState(uint32_t seed)
    {
        RngSeedManager::SetSeed(1 + (seed - 1) % 4000000000u); /* ns-3 takes no larger ones */
    }
    ~RandomState()
    {
        RngSeedManager::SetSeed(m_seed);
        RngSeedManager::SetRun(m_run);
    }

  private:
    uint32_t m_seed = RngSeedManager::GetSeed();
    uint64_t m_run = RngSeedManager::GetRun();
};

/** Probability that equally likely cells are filled at least as unevenly as these. */
double EvenP(const std::vector<double> &cells)
{
    double expected = 0;
    for (double cell : cells) {
        expected += cell / static_cast<double>(cells.size());
    }
    double chi2 = 0;
    for (double cell : cells) {
        chi2 += (cell - expected) * (cell - expected) / expected;
    }
    return gsl_cdf_chisq_Q(chi2, static_cast<double>(cells.size() - 1));
}

/** Probability of values in 0..1 at least as far from uniform (Kolmogorov, large samples). */
double UniformP(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    double n = static_cast<double>(values.size());
    double distance = 0;
    for (size_t i = 0; i < values.size(); i++) {
        double rank = static_cast<double>(i);
        distance = std::max({distance, (rank + 1) / n - values[i], values[i] - rank / n});
    }
    return 2 * std::exp(-2 * n * distance * distance);
}

class PoissonShapeCase : public TestCase {
  public:
    PoissonShapeCase() : TestCase("Poisson arrivals: order, ranges, ids") {}

  private:
    void DoRun() override
    {
        EunomiaWorkloadConfig config = Clos(MS);
        config.priority = 5;
        EunomiaSizeCdf cdf = EunomiaSizeCdf::Builtin("AliStorage2019");
        std::vector<EunomiaFlow> flows = EunomiaPoissonWorkload(config, cdf, 1);
        NS_TEST_EXPECT_MSG_GT(flows.size(), 9000, "about 9787");
        int64_t previous = config.startPs;
        std::set<uint32_t> sources;
        for (size_t i = 0; i < flows.size(); i++) {
            const EunomiaFlow &flow = flows[i];
            bool sound = flow.id == i && flow.src < 128 && flow.dst < 128 && flow.src != flow.dst &&
                         flow.priority == 5 && flow.bytes >= 1 && flow.bytes <= 2000000 &&
                         flow.startPs >= previous &&
                         flow.startPs < config.startPs + config.durationPs;
            NS_TEST_EXPECT_MSG_EQ(sound, true, "flow " << i);
            previous = flow.startPs;
            sources.insert(flow.src);
        }
        NS_TEST_EXPECT_MSG_EQ(sources.size(), 128, "every host sends");

        EunomiaPoissonSource source(config, cdf, 1);
        /* 40,869.8 B at 25 Gb/s */
        NS_TEST_EXPECT_MSG_EQ_TOL(source.MeanGapPs(), 40869.8 * 8 / 25e9 * 1e12, 1e-3, "mean gap");
        std::vector<EunomiaFlow> singly;
        EunomiaFlow flow;
        while (source.Next(&flow)) {
            singly.push_back(flow);
        }
        NS_TEST_EXPECT_MSG_EQ(Same(flows, singly), true, "one by one or all at once");
        NS_TEST_EXPECT_MSG_EQ(source.Next(&flow), false, "over is over");
    }
};

class SeedCase : public TestCase {
  public:
    SeedCase() : TestCase("seed, run and streams decide the draws") {}

  private:
    static std::vector<EunomiaFlow> Draw(EunomiaWorkloadConfig config, int64_t stream)
    {
        return EunomiaPoissonWorkload(config, EunomiaSizeCdf::Builtin("Solar2022"), stream);
    }

    void DoRun() override
    {
        RandomState state(7);
        EunomiaWorkloadConfig config = Clos(MS);
        std::vector<EunomiaFlow> flows = Draw(config, 10);
        NS_TEST_EXPECT_MSG_EQ(Same(flows, Draw(config, 10)), true, "same seed, same flows");
        NS_TEST_EXPECT_MSG_EQ(Same(flows, Draw(config, 10000)), false, "other streams");
        NS_TEST_EXPECT_MSG_EQ(Same(Draw(config, -1), Draw(config, -1)), false, "automatic streams");
        RngSeedManager::SetRun(RngSeedManager::GetRun() + 1);
        NS_TEST_EXPECT_MSG_EQ(Same(flows, Draw(config, 10)), false, "other run");
        RngSeedManager::SetRun(RngSeedManager::GetRun() - 1);
        RngSeedManager::SetSeed(8);
        NS_TEST_EXPECT_MSG_EQ(Same(flows, Draw(config, 10)), false, "other seed");
        RngSeedManager::SetSeed(7);

        /* Sizes of a host stay when the load changes; gaps scale. */
        EunomiaWorkloadConfig half = config;
        half.load = config.load / 2;
        half.durationPs = config.durationPs * 2;
        std::vector<EunomiaFlow> slow = Draw(half, 10);
        NS_TEST_ASSERT_MSG_EQ(slow.size(), flows.size(), "twice as long at half the load");
        int64_t worst = 0;
        std::map<uint32_t, std::vector<uint64_t>> sizes[2];
        for (size_t i = 0; i < flows.size(); i++) {
            sizes[0][flows[i].src].push_back(flows[i].bytes);
            sizes[1][slow[i].src].push_back(slow[i].bytes);
            worst = std::max(worst, std::abs((slow[i].startPs - config.startPs) -
                                             2 * (flows[i].startPs - config.startPs)));
        }
        NS_TEST_EXPECT_MSG_EQ((sizes[0] == sizes[1]), true, "sizes");
        NS_TEST_EXPECT_MSG_LT(worst, 2000, "rounding of gaps to the picosecond only");
    }
};

/** Host by host, straight from the streams that the header names. */
class PoissonReferenceCase : public TestCase {
  public:
    PoissonReferenceCase() : TestCase("Poisson arrivals against a plain generator") {}

  private:
    template <typename Variable>
    static Ptr<Variable> OnStream(int64_t stream)
    {
        Ptr<Variable> variable = CreateObject<Variable>();
        variable->SetStream(stream);
        return variable;
    }

    static std::vector<EunomiaFlow> Draw(const EunomiaWorkloadConfig &config,
                                         const EunomiaSizeCdf &cdf, int64_t stream)
    {
        double rate = static_cast<double>(config.linkRateBps);
        double meanGap = cdf.Mean() * 8 / (rate * config.load / config.oversubscription) * 1e12;
        std::vector<EunomiaFlow> flows;
        for (uint32_t host = 0; host < config.hosts; host++) {
            auto gap = OnStream<ExponentialRandomVariable>(stream + 3 * host);
            auto size = OnStream<UniformRandomVariable>(stream + 3 * host + 1);
            auto destination = OnStream<UniformRandomVariable>(stream + 3 * host + 2);
            std::vector<uint32_t> others;
            for (uint32_t other = 0; other < config.hosts; other++) {
                if (other != host) {
                    others.push_back(other);
                }
            }
            int64_t now = config.startPs + std::llround(gap->GetValue(meanGap, 0));
            while (now < config.startPs + config.durationPs) {
                uint32_t last = static_cast<uint32_t>(others.size()) - 1;
                uint32_t dst = others[destination->GetInteger(0, last)];
                uint64_t bytes = cdf.Sample(size->GetValue(0, 1));
                flows.push_back({0, host, dst, config.priority, bytes, now});
                now += std::llround(gap->GetValue(meanGap, 0));
            }
        }
        std::stable_sort(
            flows.begin(), flows.end(),
            [](const EunomiaFlow &a, const EunomiaFlow &b) { return a.startPs < b.startPs; });
        for (size_t i = 0; i < flows.size(); i++) {
            flows[i].id = static_cast<uint32_t>(i);
        }
        return flows;
    }

    void DoRun() override
    {
        RandomState state(EunomiaTestSeed("workload reference"));
        EunomiaSizeCdf cdf = EunomiaSizeCdf::Builtin("GoogleRPC2008");
        for (uint32_t hosts : {2u, 3u, 40u}) {
            EunomiaWorkloadConfig config = Clos(MS / 2);
            config.hosts = hosts;
            bool same = Same(EunomiaPoissonWorkload(config, cdf, 5), Draw(config, cdf, 5));
            NS_TEST_EXPECT_MSG_EQ(same, true, hosts << " hosts");
        }
        NS_TEST_EXPECT_MSG_EQ(EunomiaPoissonSource::Streams(40), 120, "three a host");
    }
};

/** A long draw against the laws it is drawn from. */
class PoissonLawCase : public TestCase {
  public:
    PoissonLawCase() : TestCase("Poisson arrivals: load and distributions") {}

  private:
    /** Offered load, within 2 %; the standard error of this draw is 0.3 %. */
    void CheckLoad(const EunomiaWorkloadConfig &config, const std::vector<EunomiaFlow> &flows)
    {
        double bytes = 0;
        for (const EunomiaFlow &flow : flows) {
            bytes += static_cast<double>(flow.bytes);
        }
        double seconds = static_cast<double>(config.durationPs) * 1e-12;
        double rate = bytes * 8 / seconds / config.hosts;
        NS_TEST_EXPECT_MSG_EQ_TOL(rate / 25e9, 1, 0.02, "offered payload of a host");
    }

    void CheckGaps(const EunomiaWorkloadConfig &config, const std::vector<EunomiaFlow> &flows,
                   double meanPs)
    {
        std::vector<int64_t> last(config.hosts, config.startPs);
        std::vector<double> gaps;
        std::vector<double> uniform;
        for (const EunomiaFlow &flow : flows) {
            gaps.push_back(static_cast<double>(flow.startPs - last[flow.src]));
            uniform.push_back(gsl_cdf_exponential_P(gaps.back(), meanPs));
            last[flow.src] = flow.startPs;
        }
        double n = static_cast<double>(gaps.size());
        double mean = gsl_stats_mean(gaps.data(), 1, gaps.size());
        double sd = gsl_stats_sd(gaps.data(), 1, gaps.size());
        /* The gap that the end of the duration cuts is missing, a bias of hosts / n. */
        double tolerance = 7 / std::sqrt(n) + config.hosts / n;
        NS_TEST_EXPECT_MSG_EQ_TOL(mean / meanPs, 1, tolerance, "mean gap");
        NS_TEST_EXPECT_MSG_EQ_TOL(sd / mean, 1, 2 * tolerance, "an exponential's deviation");
        NS_TEST_EXPECT_MSG_GT(UniformP(uniform), UNLIKELY, "exponential gaps");
        double expected = static_cast<double>(config.durationPs) * config.hosts / meanPs;
        NS_TEST_EXPECT_MSG_EQ_TOL(n, expected, 6.2 * std::sqrt(expected), "number of flows");
    }

    /** Each band between two points of the distribution gets its share of the flows. */
    void CheckSizes(const EunomiaSizeCdf &cdf, const std::vector<EunomiaFlow> &flows)
    {
        double n = static_cast<double>(flows.size());
        for (size_t i = 1; i + 1 < cdf.Points().size(); i++) {
            double p = cdf.Points()[i].probability;
            double below = 0;
            for (const EunomiaFlow &flow : flows) {
                below += static_cast<double>(flow.bytes) <= cdf.Points()[i].bytes ? 1 : 0;
            }
            /* Sizes are whole bytes, so up to one byte's mass lies on the other side. */
            double byte = (cdf.Points()[i + 1].probability - p) /
                          (cdf.Points()[i + 1].bytes - cdf.Points()[i].bytes);
            double tolerance = 6.2 * std::sqrt(p * (1 - p) / n) + byte + 10 / n;
            NS_TEST_EXPECT_MSG_EQ_TOL(below / n, p, tolerance, "share up to point " << i);
        }
    }

    void DoRun() override
    {
        RandomState state(EunomiaTestSeed("workload"));
        EunomiaWorkloadConfig config = Clos(20 * MS);
        EunomiaSizeCdf cdf = EunomiaSizeCdf::Builtin("Solar2022");
        std::vector<EunomiaFlow> flows = EunomiaPoissonWorkload(config, cdf, 1);
        CheckLoad(config, flows);
        CheckGaps(config, flows, cdf.Mean() * 8 / 25e9 * 1e12);
        CheckSizes(cdf, flows);
        std::vector<double> destinations(config.hosts - 1);
        std::vector<double> sources(config.hosts);
        std::vector<double> receivers(config.hosts);
        for (const EunomiaFlow &flow : flows) {
            destinations[(flow.dst + config.hosts - flow.src) % config.hosts - 1]++;
            sources[flow.src]++;
            receivers[flow.dst]++;
        }
        NS_TEST_EXPECT_MSG_GT(EvenP(destinations), UNLIKELY, "uniform destinations");
        NS_TEST_EXPECT_MSG_GT(EvenP(sources), UNLIKELY, "equal sources");
        NS_TEST_EXPECT_MSG_GT(EvenP(receivers), UNLIKELY, "equal receivers");
    }
};

class IncastCase : public TestCase {
  public:
    IncastCase() : TestCase("incast") {}

  private:
    void DoRun() override
    {
        RandomState state(EunomiaTestSeed("incast"));
        EunomiaWorkloadConfig config = Clos(0);
        for (uint32_t count : {1u, 15u, 127u, 128u, 1000u}) {
            std::vector<EunomiaFlow> flows = EunomiaIncastWorkload(config, count, 77, 4096, 3);
            NS_TEST_ASSERT_MSG_EQ(flows.size(), count, "flows");
            std::map<uint32_t, uint32_t> perSender;
            for (const EunomiaFlow &flow : flows) {
                bool sound = flow.dst == 77 && flow.src != 77 && flow.src < 128 &&
                             flow.bytes == 4096 && flow.startPs == config.startPs &&
                             flow.priority == 3 &&
                             flow.id == static_cast<size_t>(&flow - &flows[0]);
                NS_TEST_EXPECT_MSG_EQ(sound, true, "flow " << flow.id);
                perSender[flow.src]++;
            }
            NS_TEST_EXPECT_MSG_EQ(perSender.size(), std::min(count, 127u), "different senders");
            for (const auto &[sender, sent] : perSender) {
                bool fair = sent == count / 127 || sent == (count + 126) / 127;
                NS_TEST_EXPECT_MSG_EQ(fair, true, "sender " << sender << " in turn");
            }
            NS_TEST_EXPECT_MSG_EQ(Same(flows, EunomiaIncastWorkload(config, count, 77, 4096, 3)),
                                  true, "same stream, same flows");
        }
        std::vector<double> chosen(7);
        config.hosts = 8;
        for (int64_t stream = 0; stream < 2000; stream++) {
            chosen[EunomiaIncastWorkload(config, 1, 7, 1, stream)[0].src]++;
        }
        NS_TEST_EXPECT_MSG_GT(EvenP(chosen), UNLIKELY, "any host may send");
    }
};

class PermutationCase : public TestCase {
  public:
    PermutationCase() : TestCase("permutation") {}

  private:
    void DoRun() override
    {
        RandomState state(EunomiaTestSeed("permutation"));
        EunomiaWorkloadConfig config = Clos(0);
        for (uint32_t hosts : {2u, 3u, 5u, 128u}) {
            config.hosts = hosts;
            std::vector<EunomiaFlow> flows = EunomiaPermutationWorkload(config, 1000, 9);
            NS_TEST_ASSERT_MSG_EQ(flows.size(), hosts, "a flow a host");
            std::set<uint32_t> receivers;
            for (uint32_t src = 0; src < hosts; src++) {
                const EunomiaFlow &flow = flows[src];
                bool sound = flow.id == src && flow.src == src && flow.dst < hosts &&
                             flow.dst != src && flow.bytes == 1000 &&
                             flow.startPs == config.startPs && flow.priority == 3;
                NS_TEST_EXPECT_MSG_EQ(sound, true, "flow " << src);
                receivers.insert(flow.dst);
            }
            NS_TEST_EXPECT_MSG_EQ(receivers.size(), hosts, "each receives once");
            NS_TEST_EXPECT_MSG_EQ(Same(flows, EunomiaPermutationWorkload(config, 1000, 9)), true,
                                  "same stream, same flows");
        }
        /* Four hosts have nine permutations without a fixed point, all equally likely. */
        config.hosts = 4;
        std::map<std::vector<uint32_t>, double> seen;
        for (int64_t stream = 0; stream < 3600; stream++) {
            std::vector<uint32_t> to;
            for (const EunomiaFlow &flow : EunomiaPermutationWorkload(config, 1, stream)) {
                to.push_back(flow.dst);
            }
            seen[to]++;
        }
        std::vector<double> cells;
        for (const auto &[to, count] : seen) {
            cells.push_back(count);
        }
        NS_TEST_EXPECT_MSG_EQ(cells.size(), 9, "derangements of four");
        NS_TEST_EXPECT_MSG_GT(EvenP(cells), UNLIKELY, "equally likely");
    }
};

class RefusalsCase : public TestCase {
  public:
    RefusalsCase() : TestCase("impossible workloads") {}

  private:
    template <typename Change>
    void Expect(const std::string &message, Change change)
    {
        EunomiaWorkloadConfig config = Clos(MS);
        change(&config);
        EunomiaSizeCdf cdf = EunomiaSizeCdf::Builtin("WebSearch");
        NS_TEST_EXPECT_MSG_EQ(EunomiaRefusal([&] { EunomiaPoissonWorkload(config, cdf, 1); }),
                              message, "");
    }

    void Poisson()
    {
        using Config = EunomiaWorkloadConfig;
        constexpr double nan = std::numeric_limits<double>::quiet_NaN();
        constexpr double inf = std::numeric_limits<double>::infinity();
        std::string positive = ": a number above 0 expected";
        std::string tooMuch = "--load: a host offers more than its link carries, at most the "
                              "oversubscription expected";
        std::string duration = "--duration: above 0 expected, with all starts below 1000000 s";
        Expect("", [](Config *) {});
        Expect("", [](Config *c) { c->load = 2; });
        Expect("--topology: flows need two hosts or more", [](Config *c) { c->hosts = 1; });
        Expect("--linkRate: a rate above 0 expected", [](Config *c) { c->linkRateBps = 0; });
        for (double bad : {0.0, -0.5, nan}) {
            Expect("--load" + positive, [=](Config *c) { c->load = bad; });
            Expect("--oversubscription" + positive, [=](Config *c) { c->oversubscription = bad; });
        }
        Expect("--oversubscription" + positive, [](Config *c) { c->oversubscription = inf; });
        Expect(tooMuch, [](Config *c) { c->load = 2.001; });
        Expect(tooMuch, [](Config *c) { c->load = inf; });
        Expect(duration, [](Config *c) { c->durationPs = 0; });
        Expect(duration, [](Config *c) { c->durationPs = -1; });
        Expect(duration, [](Config *c) { c->durationPs = EUNOMIA_FLOW_MAX_START_PS; });
        Expect("--duration: more flows than can be numbered (4 billion)",
               [](Config *c) { c->durationPs = 100'000'000 * MS; });
        Expect("--workload: start: 0 to 1000000 s expected", [](Config *c) { c->startPs = -1; });
        Expect("--workload: priority: 1 to 7 expected", [](Config *c) { c->priority = 0; });
        Expect("--workload: priority: 1 to 7 expected", [](Config *c) { c->priority = 8; });
    }

    void DoRun() override
    {
        Poisson();
        EunomiaWorkloadConfig config = Clos(0);
        std::string bytes = "--workload: bytes: 1 to 2^40 expected";
        for (uint64_t bad : {uint64_t{0}, EUNOMIA_FLOW_MAX_BYTES + 1}) {
            NS_TEST_EXPECT_MSG_EQ(
                EunomiaRefusal([&] { EunomiaIncastWorkload(config, 1, 0, bad, 1); }), bytes, "");
            NS_TEST_EXPECT_MSG_EQ(
                EunomiaRefusal([&] { EunomiaPermutationWorkload(config, bad, 1); }), bytes, "");
        }
        NS_TEST_EXPECT_MSG_EQ(EunomiaRefusal([&] { EunomiaIncastWorkload(config, 0, 0, 1, 1); }),
                              "--workload: senders: 1 or more expected", "");
        NS_TEST_EXPECT_MSG_EQ(EunomiaRefusal([&] { EunomiaIncastWorkload(config, 1, 128, 1, 1); }),
                              "--workload: receiver: not a host of the topology", "");
        config.hosts = 1;
        NS_TEST_EXPECT_MSG_EQ(EunomiaRefusal([&] { EunomiaPermutationWorkload(config, 1, 1); }),
                              "--topology: flows need two hosts or more", "");
    }
};

class EunomiaWorkloadTestSuite : public TestSuite {
  public:
    EunomiaWorkloadTestSuite() : TestSuite("eunomia-workload", Type::UNIT)
    {
        AddTestCase(new PoissonShapeCase);
        AddTestCase(new SeedCase);
        AddTestCase(new PoissonReferenceCase);
        AddTestCase(new PoissonLawCase);
        AddTestCase(new IncastCase);
        AddTestCase(new PermutationCase);
        AddTestCase(new RefusalsCase);
    }
};

EunomiaWorkloadTestSuite g_eunomiaWorkloadTestSuite;

} // namespace
