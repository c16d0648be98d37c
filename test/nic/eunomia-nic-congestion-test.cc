// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-fabric.h"
#include "eunomia-test-nic.h"

#include "ns3/test.h"

#include <string>
#include <vector>

using namespace ns3;

namespace {

using Simulation = EunomiaTestSimulation;
using Kind = EunomiaFrameKind;

constexpr uint32_t MTU = 1024;

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

class EunomiaNicCongestionTestSuite : public TestSuite {
  public:
    EunomiaNicCongestionTestSuite() : TestSuite("eunomia-nic-congestion", Type::UNIT)
    {
        AddTestCase(new CnpCase);
    }
};

EunomiaNicCongestionTestSuite g_eunomiaNicCongestionTestSuite;

} // namespace
