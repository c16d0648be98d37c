// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-combination.h"
#include "eunomia-test-experiment.h"

#include "ns3/test.h"

using namespace ns3;

namespace {

using Words = EunomiaTestWords;

/** A balancer that holds packets goes with every control but those that measure delay. */
class ReasonsCase : public TestCase {
  public:
    ReasonsCase() : TestCase("what is refused, and why") {}

  private:
    void DoRun() override
    {
        eun_balancer holding = *eun_balancers[0];
        holding.name = "holder";
        holding.delays = true;
        for (size_t t = 0; eun_transports[t]; t++) {
            for (size_t c = 0; eun_ccs[c]; c++) {
                const eun_cc_ops &cc = *eun_ccs[c];
                const std::string expected =
                    cc.signal == EUN_CC_SIGNAL_RTT
                        ? std::string("holder holds packets in switches, so round trips say "
                                      "nothing about queues; ") +
                              cc.name + " steers by them"
                        : "";
                NS_TEST_EXPECT_MSG_EQ(EunomiaCombinationProblem(holding, *eun_transports[t], cc),
                                      expected, cc.name);
            }
        }
    }
};

/** Every combination runs, all its flows end and nothing is lost; or it is refused. */
class TableCase : public TestCase {
  public:
    TableCase() : TestCase("all combinations") {}

  private:
    void DoRun() override
    {
        EunomiaTestFolder temp;
        for (size_t b = 0; eun_balancers[b]; b++) {
            for (size_t t = 0; eun_transports[t]; t++) {
                for (size_t c = 0; eun_ccs[c]; c++) {
                    Check(temp, *eun_balancers[b], *eun_transports[t], *eun_ccs[c]);
                }
            }
        }
    }

    void Check(const EunomiaTestFolder &temp, const eun_balancer &lb,
               const eun_transport &transport, const eun_cc_ops &cc)
    {
        const std::string out = temp.Path("out");
        const Words words = {"--leaves=2",
                             "--spines=2",
                             "--hostsPerLeaf=4",
                             "--duration=50us",
                             "--load=0.8",
                             std::string("--lb=") + lb.name,
                             std::string("--transport=") + transport.name,
                             std::string("--cc=") + cc.name,
                             "--out=" + out,
                             "--force"};
        const std::string what = words[5] + " " + words[6] + " " + words[7];
        const std::string problem = EunomiaCombinationProblem(lb, transport, cc);
        if (!problem.empty()) {
            std::string said;
            try {
                EunomiaTestOptions(words);
            } catch (const EunomiaInputError &error) {
                said = error.what();
            }
            NS_TEST_EXPECT_MSG_NE(said.find(problem), said.npos, what);
            return;
        }
        const EunomiaTestRun run(words);
        NS_TEST_EXPECT_MSG_EQ(run.status, EunomiaExperiment::DONE, what);
        NS_TEST_EXPECT_MSG_EQ(run.totals.dropped, 0, what);
        const std::string summary = EunomiaTestFolder::Read(out + "/summary.json");
        const bool cnps = cc.signal == EUN_CC_SIGNAL_CNP;
        NS_TEST_EXPECT_MSG_EQ((cnps || EunomiaTestNumber(summary, "cnp") == 0), true, what);
        const std::string first = EunomiaTestFolder::Read(out + "/flows.csv");
        if (cc.signal >= EUN_CC_SIGNAL_ECHO) {
            const EunomiaTestRun again(words);
            NS_TEST_EXPECT_MSG_EQ((EunomiaTestFolder::Read(out + "/flows.csv") == first), true,
                                  "the same bytes, " << what);
        }
    }
};

class EunomiaCombinationTestSuite : public TestSuite {
  public:
    EunomiaCombinationTestSuite() : TestSuite("eunomia-combination", Type::UNIT)
    {
        AddTestCase(new ReasonsCase);
        AddTestCase(new TableCase);
    }
};

EunomiaCombinationTestSuite g_eunomiaCombinationTestSuite;

} // namespace
