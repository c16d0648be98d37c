// SPDX-License-Identifier: GPL-2.0-only
/** Detours in a fabric (balancer deflect): what they save, how long they are, that they end. */
#include "../nic/eunomia-test-nic.h"
#include "eunomia-fabric.h"

#include "ns3/test.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

using namespace ns3;

namespace {

using Simulation = EunomiaTestSimulation;
using Words = std::vector<std::pair<std::string, std::string>>;

constexpr uint32_t MTU = 1024;

void SetDefaults(const Words &attributes)
{
    for (const auto &[name, value] : attributes) {
        Config::SetDefault("ns3::Eunomia" + name, StringValue(value));
    }
}

/** Leaves, spines and hosts a leaf, and who sends how much to whom. */
struct Load {
    std::array<uint32_t, 3> clos;
    std::vector<std::pair<uint32_t, uint32_t>> pairs; //!< from, to
    uint32_t bytes;
};

struct Outcome {
    uint64_t done = 0;
    EunomiaFabric::Totals totals;
    uint64_t accepted = 0; //!< payload that receivers took
    uint32_t longest = 0;  //!< most links that a data frame took
    std::string problem;
};

void NoteHops(uint32_t *longest, const EunomiaFrame &frame)
{
    if (frame.kind == EunomiaFrameKind::Data) {
        *longest = std::max<uint32_t>(*longest, frame.hops);
    }
}

/** Runs for a simulated second at most. */
Outcome Carry(const Load &load, const Words &attributes)
{
    Simulation simulation;
    SetDefaults(attributes);
    EunomiaFabric fabric;
    EunomiaBuildClos(fabric, {load.clos[0], load.clos[1], load.clos[2]});
    EunomiaTestUser user;
    Outcome o;
    std::vector<uint32_t> flows;
    for (uint32_t h = 0; h < fabric.GetNHosts(); h++) {
        fabric.GetNic(h)->TraceConnectWithoutContext("Arrival",
                                                     MakeCallback(&NoteHops).Bind(&o.longest));
        fabric.GetNic(h)->SetUser(&user);
    }
    for (const auto &[from, to] : load.pairs) {
        const auto nic = fabric.GetNic(from);
        flows.push_back(EunomiaTestNics::Flows().Open());
        nic->Post(nic->Connect(fabric.GetNic(to), 3), load.bytes, flows.back());
    }
    Simulator::Stop(Seconds(1));
    Simulator::Run();
    o.done = user.completions.size();
    o.totals = fabric.GetTotals();
    for (const uint32_t flow : flows) {
        o.accepted += EunomiaTestNics::Flows()[flow].accepted;
    }
    fabric.Conserved(&o.problem);
    return o;
}

/** All hosts of both leaves to host 0, at once and at full rate. */
Load FifteenToOne()
{
    Load load{{2, 4, 8}, {}, 40 * MTU};
    for (uint32_t h = 1; h < 16; h++) {
        load.pairs.emplace_back(h, 0);
    }
    return load;
}

/** PFC off, little memory: what ECMP drops at the last switch, its neighbours hold. */
class IncastCase : public TestCase {
  public:
    IncastCase() : TestCase("15 to 1: deflection delivers what ECMP drops") {}

  private:
    static Outcome Incast(const std::string &balancer, const std::string &hops)
    {
        return Carry(FifteenToOne(), {{"Switch::Balancer", balancer},
                                      {"Switch::Pfc", "false"},
                                      {"Switch::BufferSize", "400000"},
                                      {"Switch::DeflectThreshold", "100000"},
                                      {"Switch::DeflectHops", hops},
                                      {"Nic::CongestionControl", "none"}});
    }

    void Whole(const Outcome &o, const std::string &what)
    {
        NS_TEST_EXPECT_MSG_EQ(o.problem, "", what << ": frames and buffer bytes");
        NS_TEST_EXPECT_MSG_EQ(o.done, 15, what << ": complete");
        NS_TEST_EXPECT_MSG_EQ(o.accepted, 15 * 40 * MTU, what << ": each byte once");
        NS_TEST_EXPECT_MSG_EQ(o.totals.bufferBytes, 0, what << ": buffers are empty");
    }

    void DoRun() override
    {
        const Outcome ecmp = Incast("ecmp", "16");
        Whole(ecmp, "ecmp");
        NS_TEST_EXPECT_MSG_GT(ecmp.totals.dropped, 50, "the last switch is too small");
        NS_TEST_EXPECT_MSG_EQ(ecmp.totals.deflected, 0, "no detour");
        NS_TEST_EXPECT_MSG_EQ(ecmp.longest, 4, "links");
        const Outcome deflect = Incast("deflect", "200");
        Whole(deflect, "deflect");
        NS_TEST_EXPECT_MSG_EQ(deflect.totals.dropped, 0, "all found room");
        NS_TEST_EXPECT_MSG_GT(deflect.totals.deflected, ecmp.totals.dropped, "on detours");
        const Outcome off = Incast("deflect", "0");
        Whole(off, "no hop");
        NS_TEST_EXPECT_MSG_EQ(off.totals.deflected, 0, "no detour");
        NS_TEST_EXPECT_MSG_GT(off.totals.dropped, 50, "as ECMP");
        for (const uint32_t hops : {3, 4, 5, 7, 12}) {
            const Outcome o = Incast("deflect", std::to_string(hops));
            Whole(o, std::to_string(hops));
            // From the last detour on: 1 link to a spine or leaf, and a shortest way from there.
            NS_TEST_EXPECT_MSG_LT_OR_EQ(o.longest, std::max(hops, 1u) + 3, "links " << hops);
        }
        NS_TEST_EXPECT_MSG_GT(deflect.longest, 8, "several detours");
    }
};

/**
 * Detours make circles of queues. With PFC in all of them these stop each other for good, so
 * deflected frames change to a priority without.
 */
class DeadlockCase : public TestCase {
  public:
    DeadlockCase() : TestCase("detours never deadlock, though PFC is on") {}

  private:
    /** Hosts of other leaves, all but one of each, to the first of each leaf. */
    static Outcome Run(const std::string &priority)
    {
        Load load{{4, 4, 8}, {}, 150 * MTU};
        for (uint32_t to = 0; to < 32; to += 8) {
            for (uint32_t from = 0; from < 32; from++) {
                if (from / 8 != to / 8 && from % 8 != 7) {
                    load.pairs.emplace_back(from, to);
                }
            }
        }
        return Carry(load, {{"Switch::Balancer", "deflect"},
                            {"Switch::BufferSize", "900000"},
                            {"Switch::DeflectThreshold", "50000"},
                            {"Switch::DeflectPriority", priority}});
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(Run("0").done, 0, "one lossless priority: nothing moves any more");
        const Outcome o = Run("1");
        NS_TEST_EXPECT_MSG_EQ(o.problem, "", "frames and buffer bytes");
        NS_TEST_EXPECT_MSG_EQ(o.done, 84, "complete");
        NS_TEST_EXPECT_MSG_GT(o.totals.deflected, 1000, "detours");
        NS_TEST_EXPECT_MSG_GT(o.totals.pauses, 100, "pauses");
        NS_TEST_EXPECT_MSG_EQ(o.totals.bufferBytes, 0, "buffers are empty");
    }
};

/** A priority for detours that PFC protects is refused. */
class RefusalCase : public TestCase {
  public:
    RefusalCase() : TestCase("lossless detours are refused") {}

  private:
    static std::string Problem(const Words &attributes)
    {
        Simulation simulation;
        SetDefaults(attributes);
        EunomiaFabric fabric;
        EunomiaBuildClos(fabric, {2, 2, 2});
        return fabric.Configure(0);
    }

    void DoRun() override
    {
        const std::string problem =
            "ns3::EunomiaSwitch::DeflectPriority: detours of a lossless priority, such as 3, can "
            "deadlock";
        NS_TEST_EXPECT_MSG_EQ(
            Problem({{"Switch::Balancer", "deflect"}, {"Switch::DeflectPriority", "3"}}), problem,
            "PFC");
        NS_TEST_EXPECT_MSG_EQ(Problem({{"Switch::Balancer", "deflect"},
                                       {"Switch::DeflectPriority", "3"},
                                       {"Switch::Pfc", "false"}}),
                              "", "no PFC");
        NS_TEST_EXPECT_MSG_EQ(Problem({{"Switch::DeflectPriority", "3"}}), "", "no detours");
    }
};

class EunomiaSwitchDeflectTestSuite : public TestSuite {
  public:
    EunomiaSwitchDeflectTestSuite() : TestSuite("eunomia-switch-deflect", Type::UNIT)
    {
        AddTestCase(new IncastCase);
        AddTestCase(new DeadlockCase);
        AddTestCase(new RefusalCase);
    }
};

EunomiaSwitchDeflectTestSuite g_eunomiaSwitchDeflectTestSuite;

} // namespace
