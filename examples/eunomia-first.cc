// SPDX-License-Identifier: GPL-2.0-only
/**
 * The smallest network: two hosts, one switch, one message. Shows how to build a fabric by hand,
 * set attributes, listen to a trace source and learn of a completion.
 *
 *   host 0 ---- tor ---- host 1
 */
#include "eunomia-fabric.h"

#include "ns3/config.h"
#include "ns3/data-rate.h"
#include "ns3/simulation-singleton.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <cstdio>

using namespace ns3;

namespace {

/** Prints what becomes of the messages posted at the NICs. */
class Printer : public EunomiaNicUser {
  public:
    void MessageCompleted(EunomiaNic *sender, uint32_t, const eun_message &message) override
    {
        std::printf("%10.3f us  host %u: %u bytes are acknowledged\n", Now(), sender->GetHost(),
                    message.bytes);
    }

    void MessagesVisible(EunomiaNic *, uint32_t, uint32_t) override
    {
        std::printf("%10.3f us  the receiver's application sees the message\n", Now());
    }

    void QpFailed(EunomiaNic *, uint32_t, const char *reason) override
    {
        std::printf("%10.3f us  failed: %s\n", Now(), reason);
    }

    static double Now() { return static_cast<double>(EunomiaNow()) / 1e6; }
};

void FrameArrived(std::string where, const EunomiaFrame &frame)
{
    std::printf("%10.3f us  %s: %s of %u bytes\n", Printer::Now(), where.c_str(),
                EunomiaFrameKindName(frame.kind), frame.bytes);
}

} // namespace

int main()
{
    Time::SetResolution(Time::PS);
    Config::SetDefault("ns3::EunomiaLink::DataRate", DataRateValue(DataRate("400Gbps")));
    Config::SetDefault("ns3::EunomiaNic::Mtu", UintegerValue(4096));
    Config::SetDefault("ns3::EunomiaSwitch::MaxFrame", UintegerValue(4200));
    {
        EunomiaFabric fabric;
        const uint32_t a = fabric.AddHost();
        const uint32_t b = fabric.AddHost();
        const uint32_t tor = fabric.AddSwitch("tor");
        fabric.ConnectHost(a, tor);
        fabric.ConnectHost(b, tor);
        fabric.Route();

        Printer printer;
        fabric.GetNic(a)->SetUser(&printer);
        fabric.GetNic(b)->SetUser(&printer);
        Config::Connect("/NodeList/*/$ns3::EunomiaNic/Arrival", MakeCallback(&FrameArrived));

        const uint32_t qp = fabric.GetNic(a)->Connect(fabric.GetNic(b), 3);
        const uint32_t flow = SimulationSingleton<EunomiaFlowTable>::Get()->Open();
        fabric.GetNic(a)->Post(qp, 10000, flow);
        Simulator::Run();
    }
    Simulator::Destroy();
    return 0;
}
