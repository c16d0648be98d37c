// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-microbenchmark.h"

#include "core/reorder/reorder.h"
#include "eunomia-fabric.h"
#include "eunomia-format.h"
#include "eunomia-memory-model.h"

#include "ns3/abort.h"
#include "ns3/callback.h"
#include "ns3/config.h"
#include "ns3/simulation-singleton.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <limits>
#include <string>

namespace ns3 {

namespace {

constexpr uint32_t QPS = EUNOMIA_MICROBENCHMARK_QPS;
constexpr uint32_t PACKETS = 4 * EUNOMIA_MICROBENCHMARK_PSNS; // of a message
constexpr uint32_t MTU = 1024;
constexpr uint64_t HOST_BPS = 10'000'000'000;
constexpr uint64_t TRUNK_BPS = 100 * HOST_BPS; // of the ways that all share
constexpr int64_t NEAR_PS = 1'000'000;

/** Time that one host needs for a packet: its frame and the gap behind it. */
int64_t PacketPs()
{
    eun_overhead overhead;
    eun_overhead_roce(&overhead, EUN_VERB_SEND, false);
    const uint64_t bytes = eun_overhead_data(&overhead, MTU, false, false) + overhead.gap;
    return static_cast<int64_t>(bytes * 8 * 1'000'000'000'000 / HOST_BPS);
}

/** Rate and delay of the links that are made from now on; the old defaults come back at the end. */
class LinkDefaults {
  public:
    LinkDefaults() : m_rate(Default("DataRate")), m_delay(Default("Delay")) {}
    ~LinkDefaults()
    {
        Config::SetDefault("ns3::EunomiaLink::DataRate", *m_rate);
        Config::SetDefault("ns3::EunomiaLink::Delay", *m_delay);
    }
    LinkDefaults(const LinkDefaults &) = delete;
    LinkDefaults &operator=(const LinkDefaults &) = delete;

    void Set(uint64_t bps, int64_t delayPs)
    {
        Config::SetDefault("ns3::EunomiaLink::DataRate", DataRateValue(DataRate(bps)));
        Config::SetDefault("ns3::EunomiaLink::Delay", TimeValue(PicoSeconds(delayPs)));
    }

  private:
    static Ptr<const AttributeValue> Default(const std::string &name)
    {
        TypeId::AttributeInformation info;
        EunomiaLink::GetTypeId().LookupAttributeByName(name, &info);
        return info.initialValue;
    }

    Ptr<const AttributeValue> m_rate;
    Ptr<const AttributeValue> m_delay;
};

/** Watches the receiving NIC and counts what completes. */
class Observer : public EunomiaNicUser {
  public:
    explicit Observer(Ptr<EunomiaNic> receiver) : m_receiver(receiver)
    {
        receiver->TraceConnectWithoutContext("Pool", MakeCallback(&Observer::PoolChanged, this));
    }

    /** Bytes of the published model's kinds that the receiver's ordering layer holds now. */
    uint64_t StateBytes() const
    {
        struct eun_reorder_memory memory;
        eun_reorder_memory(m_receiver->GetReorder(), &memory);
        return memory.state;
    }

    void PoolChanged(uint32_t, uint32_t) { peak = std::max(peak, StateBytes()); }
    void Settle() { settled = StateBytes(); }

    void MessageCompleted(EunomiaNic *, uint32_t, const eun_message &) override { completed++; }
    void MessagesVisible(EunomiaNic *, uint32_t, uint32_t) override {}
    void QpFailed(EunomiaNic *, uint32_t, const char *reason) override
    {
        NS_ABORT_MSG("microbenchmark: a QP failed: " << reason);
    }

    uint64_t peak = 0;
    uint64_t settled = 0;
    uint32_t completed = 0;

  private:
    Ptr<EunomiaNic> m_receiver;
};

/** A host whose NIC is as the arithmetic here takes it to be, whatever the user's defaults are. */
uint32_t AddHost(EunomiaFabric &fabric)
{
    const uint32_t host = fabric.AddHost();
    fabric.GetNic(host)->SetAttribute("Transport", StringValue("eunomia"));
    fabric.GetNic(host)->SetAttribute("Verb", StringValue("send"));
    fabric.GetNic(host)->SetAttribute("Mtu", UintegerValue(MTU));
    return host;
}

/** Builds the picture in the header, the receiver as host QPS. */
void Build(EunomiaFabric &fabric, uint32_t reordered)
{
    LinkDefaults link;
    const uint32_t near = fabric.AddSwitch("near");
    const uint32_t far = fabric.AddSwitch("far");
    const uint32_t leaf = fabric.AddSwitch("leaf");
    for (uint32_t i = 0; i < QPS; i++) {
        const uint32_t host = AddHost(fabric);
        const uint32_t tor = fabric.AddSwitch("tor" + std::to_string(i));
        fabric.GetSwitch(tor)->SetAttribute("Balancer", StringValue("spray-rr"));
        link.Set(HOST_BPS, NEAR_PS);
        fabric.ConnectHost(host, tor);
        fabric.ConnectSwitches(tor, near);
        if (i < reordered) {
            link.Set(HOST_BPS, NEAR_PS + EUNOMIA_MICROBENCHMARK_PSNS * PacketPs());
            fabric.ConnectSwitches(tor, far);
        }
    }
    link.Set(TRUNK_BPS, NEAR_PS);
    fabric.ConnectSwitches(near, leaf);
    fabric.ConnectSwitches(far, leaf);
    fabric.ConnectHost(AddHost(fabric), leaf);
    fabric.Route();
}

/** Lets every host send its message and fills in what came of it. */
void Send(EunomiaFabric &fabric, EunomiaMicrobenchmarkStep *step)
{
    const std::string problem = fabric.Configure(0);
    NS_ABORT_MSG_UNLESS(problem.empty(), "microbenchmark: " << problem);
    const Ptr<EunomiaNic> receiver = fabric.GetNic(QPS);
    EunomiaFlowTable *flows = SimulationSingleton<EunomiaFlowTable>::Get();
    Observer observer(receiver);
    std::vector<uint32_t> slots;
    for (uint32_t i = 0; i < QPS; i++) {
        const Ptr<EunomiaNic> sender = fabric.GetNic(i);
        sender->SetUser(&observer);
        slots.push_back(flows->Open());
        sender->Post(sender->Connect(receiver, 3), PACKETS * MTU, slots.back());
    }
    observer.PoolChanged(0, 0);
    // Far packets take 64 packet times longer; by then they have been arriving for 128.
    Simulator::Schedule(TimeStep(3 * EUNOMIA_MICROBENCHMARK_PSNS * PacketPs()), &Observer::Settle,
                        &observer);
    Simulator::Run();
    NS_ABORT_MSG_UNLESS(observer.completed == QPS, "microbenchmark: a message did not complete");
    for (uint32_t i = 0; i < QPS; i++) {
        const EunomiaFlowStats &flow = (*flows)[slots[i]];
        NS_ABORT_MSG_UNLESS(flow.retransmitted == 0, "microbenchmark: a packet was sent again");
        step->reordered += flow.outOfOrder > 0;
        step->spanPsns = std::max(step->spanPsns, flow.maxSpan > 0 ? flow.maxSpan + 1 : 0);
    }
    step->dynamicBytes = observer.peak;
    step->settledBytes = observer.settled;
}

} // namespace

EunomiaMicrobenchmarkStep EunomiaMicrobenchmarkRun(uint32_t reordered)
{
    EunomiaMicrobenchmarkStep step;
    step.reorderedPct = reordered * 100 / QPS;
    step.fixedBytes = static_cast<uint64_t>(QPS * EUNOMIA_FIXED_QP_BYTES);
    {
        EunomiaFabric fabric;
        Build(fabric, reordered);
        Send(fabric, &step);
    }
    Simulator::Destroy();
    return step;
}

std::vector<EunomiaMicrobenchmarkStep> EunomiaMicrobenchmark()
{
    std::vector<EunomiaMicrobenchmarkStep> steps;
    for (uint32_t reordered = 0; reordered <= QPS; reordered++) {
        steps.push_back(EunomiaMicrobenchmarkRun(reordered));
    }
    return steps;
}

double EunomiaMicrobenchmarkCrossing(const std::vector<EunomiaMicrobenchmarkStep> &steps,
                                     uint64_t EunomiaMicrobenchmarkStep::*bytes)
{
    double previous = 0;
    for (size_t i = 0; i < steps.size(); i++) {
        const double excess =
            static_cast<double>(steps[i].*bytes) - static_cast<double>(steps[i].fixedBytes);
        if (excess >= 0) {
            const double end = steps[i].reorderedPct;
            return i == 0 ? end
                          : end - (end - steps[i - 1].reorderedPct) * excess / (excess - previous);
        }
        previous = excess;
    }
    return std::numeric_limits<double>::quiet_NaN();
}

void EunomiaWriteMicrobenchmark(EunomiaJsonWriter *json,
                                const std::vector<EunomiaMicrobenchmarkStep> &steps)
{
    json->Key("microbenchmark");
    json->BeginArray();
    for (const EunomiaMicrobenchmarkStep &step : steps) {
        json->BeginObject();
        json->Uint("reordered_pct", step.reorderedPct);
        json->Uint("dynamic_bytes", step.dynamicBytes);
        json->Uint("fixed_bytes", step.fixedBytes);
        json->Uint("settled_bytes", step.settledBytes);
        json->Uint("reordered", step.reordered);
        json->Uint("span_psns", step.spanPsns);
        json->EndObject();
    }
    json->EndArray();
    json->Fixed("microbenchmark_crossing_pct", EunomiaMicrobenchmarkCrossing(steps), 4);
    json->Fixed("microbenchmark_settled_crossing_pct",
                EunomiaMicrobenchmarkCrossing(steps, &EunomiaMicrobenchmarkStep::settledBytes), 4);
}

void EunomiaPrintMicrobenchmark(std::string *text,
                                const std::vector<EunomiaMicrobenchmarkStep> &steps)
{
    using Bytes = unsigned long long;
    EunomiaPrint(text, "Microbenchmark: %u connections into one NIC, simulated, bytes\n\n", QPS);
    EunomiaPrint(text, "             --- seen ---              ------- dynamic -------\n");
    EunomiaPrint(text, "reordered %%  reordered  span    fixed   model   peak  settled\n");
    for (const EunomiaMicrobenchmarkStep &step : steps) {
        const uint64_t model =
            EunomiaDynamicBytes(QPS, step.reordered, EUNOMIA_MICROBENCHMARK_PSNS);
        EunomiaPrint(text, "%11u  %9u  %4u    %5llu  %6llu %6llu  %7llu\n", step.reorderedPct,
                     step.reordered, step.spanPsns, Bytes{step.fixedBytes}, Bytes{model},
                     Bytes{step.dynamicBytes}, Bytes{step.settledBytes});
    }
    EunomiaPrint(text,
                 "\nPeak and fixed cross at %.2f %% reordered connections, settled and fixed at "
                 "%.2f %%;\npublished: about 60 %%.\n\n",
                 EunomiaMicrobenchmarkCrossing(steps),
                 EunomiaMicrobenchmarkCrossing(steps, &EunomiaMicrobenchmarkStep::settledBytes));
    EunomiaPrint(text, "seen     connections with packets out of order at the receiver, and their "
                       "longest span in PSNs\n"
                       "fixed    a bitmap of 41 B a connection\n"
                       "peak     most bytes of the receiver's ordering layer, its control not "
                       "counted\n");
    EunomiaPrint(text, "settled  the same once bitmaps have stopped growing: while one grows it "
                       "holds a ring that\n"
                       "         drains and the part that replaces it\n\n");
}

} // namespace ns3
