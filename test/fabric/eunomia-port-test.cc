// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-test-fabric.h"

#include "ns3/node.h"
#include "ns3/packet.h"
#include "ns3/test.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

using namespace ns3;

namespace {

using Simulation = EunomiaTestSimulation;
using Tags = std::vector<uint32_t>;
using Times = std::vector<int64_t>;

constexpr uint64_t GBPS = EUNOMIA_TEST_GBPS;
constexpr int64_t US = 1'000'000; //!< in ps
constexpr uint32_t GAP = 20;

/** Two ends and a link; `a` sends to `b`. */
struct Pair {
    explicit Pair(uint64_t bps = 100 * GBPS, int64_t delayPs = US, uint32_t gap = GAP)
        : link(EunomiaTestLink(bps, delayPs, gap))
    {
        link->Connect(a.port, b.port);
    }

    EunomiaTestEnd a;
    EunomiaTestEnd b;
    Ptr<EunomiaLink> link;
};

/** A frame arrives whole: its own time on the wire, gap included, and the delay. */
class TimesCase : public TestCase {
  public:
    TimesCase() : TestCase("transmission times to the picosecond") {}

  private:
    void DoRun() override
    {
        for (const uint64_t gbps : {10, 25, 100, 200, 400, 800}) {
            for (const uint32_t gap : {0u, 20u}) {
                Check(gbps * GBPS, gap);
            }
        }
    }

    void Check(uint64_t bps, uint32_t gap)
    {
        Simulation simulation;
        constexpr int64_t DELAY = 1'234'567;
        Pair pair(bps, DELAY, gap);
        const std::vector<uint32_t> sizes = {64, 1114, 66, 9100, 65, 1};
        Times expected;
        int64_t free = 0;
        for (const uint32_t bytes : sizes) {
            free += EunomiaTestWireTime(bytes + gap, bps);
            expected.push_back(free + DELAY);
            NS_TEST_EXPECT_MSG_EQ(pair.a.port->TransmissionTime(bytes),
                                  EunomiaTestWireTime(bytes + gap, bps), bytes << " at " << bps);
            pair.a.port->Send(EunomiaTestFrame(bytes, 3));
        }
        NS_TEST_EXPECT_MSG_EQ(pair.a.port->WireFreeAt(), expected[0] - DELAY, "starts at once");
        NS_TEST_EXPECT_MSG_EQ(pair.a.port->GetQueued(), sizes.size() - 1, "the others wait");
        // Long after, on an idle wire.
        const int64_t later = free + 10 * US + 1;
        Simulation::At(later, [&pair] { pair.a.port->Send(EunomiaTestFrame(100, 3)); });
        expected.push_back(later + EunomiaTestWireTime(100 + gap, bps) + DELAY);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ((pair.b.Times() == expected), true, bps << " b/s, gap " << gap);
        NS_TEST_EXPECT_MSG_EQ(pair.a.port->GetFramesSent(EunomiaFrameKind::Data), sizes.size() + 1,
                              "counted");
        NS_TEST_EXPECT_MSG_EQ(pair.a.port->GetBytesSent(EunomiaFrameKind::Data),
                              std::accumulate(sizes.begin(), sizes.end(), 100u), "stored lengths");
        NS_TEST_EXPECT_MSG_EQ(pair.a.port->GetFramesSent(EunomiaFrameKind::Ack), 0, "by kind");
    }
};

/** Rates that are no whole number of picoseconds a byte do not drift. */
class InexactRateCase : public TestCase {
  public:
    InexactRateCase() : TestCase("inexact rates never drift") {}

  private:
    void DoRun() override
    {
        const uint32_t seed = EunomiaTestFabricSeed("eunomia-port");
        for (const uint64_t bps :
             {2400 * GBPS, uint64_t{123'456'789'000}, uint64_t{6'999'999'937}}) {
            for (const bool pulled : {false, true}) {
                Check(bps, pulled, seed);
            }
        }
    }

    void Check(uint64_t bps, bool pulled, uint32_t seed)
    {
        Simulation simulation;
        Pair pair(bps, US, GAP);
        std::mt19937 random(seed);
        m_wireBytes = 0;
        m_frames = 0;
        m_worst = 0;
        const auto make = [&random] { return EunomiaTestFrame(64 + random() % 9000, 3); };
        pair.b.port->TraceConnectWithoutContext(
            "Receive", MakeCallback(&InexactRateCase::Receive, this).Bind(bps));
        if (pulled) {
            pair.a.make = make;
            pair.a.supply = FRAMES;
            pair.a.port->Wake();
        } else {
            // Keeps two in the queue, so that the wire never idles.
            pair.a.port->Send(make());
            pair.a.port->Send(make());
            pair.a.port->TraceConnectWithoutContext(
                "Dequeue", MakeCallback(&InexactRateCase::Refill, this).Bind(&pair, &random));
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(m_frames, uint64_t{FRAMES}, "all arrived");
        NS_TEST_EXPECT_MSG_LT_OR_EQ(static_cast<double>(m_worst), 1.0,
                                    "ps from bits / rate, at any frame, " << bps << " b/s");
    }

    void Receive(uint64_t bps, const EunomiaFrame &frame)
    {
        m_frames++;
        m_wireBytes += frame.bytes + GAP;
        const long double exact = 8e12L * static_cast<long double>(m_wireBytes) / bps;
        const long double found = static_cast<long double>(EunomiaNow() - US);
        m_worst = std::max(m_worst, std::abs(found - exact));
    }

    void Refill(Pair *pair, std::mt19937 *random, const EunomiaFrame &)
    {
        const uint64_t made = Simulation::Pool().GetTaken();
        if (made < FRAMES) {
            pair->a.port->Send(EunomiaTestFrame(64 + (*random)() % 9000, 3));
        }
    }

    static constexpr uint32_t FRAMES = 100'000;
    uint64_t m_wireBytes = 0;
    uint64_t m_frames = 0;
    long double m_worst = 0;
};

/** What waits: control, then data classes in turn, then what the owner makes on demand. */
class OrderCase : public TestCase {
  public:
    OrderCase() : TestCase("strict priority of control, round robin of data") {}

  private:
    void DoRun() override
    {
        Control();
        EqualBacklogs();
        RandomBacklogs();
        PullLast();
    }

    void Control()
    {
        Simulation simulation;
        Pair pair;
        for (uint32_t tag = 1; tag <= 4; tag++) {
            pair.a.port->Send(EunomiaTestFrame(1000, 3, tag));
        }
        for (uint32_t tag = 11; tag <= 13; tag++) {
            pair.a.port->Send(EunomiaTestFrame(64, 0, tag));
        }
        // One more while the third control frame is on the wire.
        Simulation::At(EunomiaTestWireTime(1020 + 3 * 84 - 1, 100 * GBPS),
                       [&pair] { pair.a.port->Send(EunomiaTestFrame(64, 0, 14)); });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ((pair.b.Tags() == Tags{1, 11, 12, 13, 14, 2, 3, 4}), true,
                              "the frame on the wire, control, data");
        NS_TEST_EXPECT_MSG_EQ((pair.a.departed == Tags{1, 2, 3, 4}), true,
                              "the owner sees each data frame before it leaves, no control");
    }

    void EqualBacklogs()
    {
        Simulation simulation;
        Pair pair;
        pair.a.port->Send(EunomiaTestFrame(64, 0, 0)); // occupies the wire
        std::vector<uint32_t> priorities;
        for (int i = 0; i < 70; i++) {
            priorities.push_back(i % 7 + 1);
        }
        std::mt19937 random(EunomiaTestFabricSeed("eunomia-port"));
        std::shuffle(priorities.begin(), priorities.end(), random);
        for (const uint32_t p : priorities) {
            pair.a.port->Send(EunomiaTestFrame(500, static_cast<uint8_t>(p), p));
        }
        Simulator::Run();
        Tags tags = pair.b.Tags();
        NS_TEST_ASSERT_MSG_EQ(tags.size(), 71, "all came");
        for (size_t i = 1; i + 7 < tags.size(); i++) {
            const bool all = std::set<uint32_t>(tags.begin() + static_cast<ptrdiff_t>(i),
                                                tags.begin() + static_cast<ptrdiff_t>(i) + 7)
                                 .size() == 7;
            NS_TEST_EXPECT_MSG_EQ(all, true, "each priority once in a round, from " << i);
        }
    }

    /** Against a model that asks every class in turn. */
    void RandomBacklogs()
    {
        Simulation simulation;
        Pair pair;
        std::mt19937 random(EunomiaTestFabricSeed("eunomia-port"));
        pair.a.port->Send(EunomiaTestFrame(64, 0, 0));
        std::array<std::deque<uint32_t>, 8> queue;
        for (uint32_t tag = 1; tag <= 300; tag++) {
            const uint32_t p = 1 + (random() % 7) * (random() % 7) % 7;
            queue[p].push_back(tag);
            pair.a.port->Send(EunomiaTestFrame(500, static_cast<uint8_t>(p), tag));
        }
        Tags expected = {0};
        while (expected.size() <= 300) {
            for (auto &q : queue) {
                if (!q.empty()) {
                    expected.push_back(q.front());
                    q.pop_front();
                }
            }
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ((pair.b.Tags() == expected), true, "turns, first in first out each");
    }

    void PullLast()
    {
        Simulation simulation;
        Pair pair;
        uint32_t next = 100;
        pair.a.make = [&next] { return EunomiaTestFrame(1000, 3, next++); };
        pair.a.supply = 3;
        pair.a.port->Wake();
        pair.a.port->Wake();
        pair.a.port->Send(EunomiaTestFrame(64, 0, 1));
        pair.a.port->Send(EunomiaTestFrame(64, 4, 2));
        // The supply ends, and returns on an idle wire.
        Simulation::At(10 * US, [&pair] {
            pair.a.supply = 1;
            pair.a.port->Wake();
        });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ((pair.b.Tags() == Tags{100, 1, 2, 101, 102, 103}), true, "order");
        NS_TEST_EXPECT_MSG_EQ(pair.b.Times().back(),
                              11 * US + EunomiaTestWireTime(1020, 100 * GBPS), "at once");
    }
};

/** XOFF and XON of every priority, and only of that priority. */
class PauseCase : public TestCase {
  public:
    PauseCase() : TestCase("every priority pauses and resumes") {}

  private:
    void DoRun() override
    {
        for (uint32_t p = 1; p <= 7; p++) {
            Check(p);
        }
        ControlPasses();
    }

    void Check(uint32_t p)
    {
        Simulation simulation;
        Pair pair;
        const auto priority = static_cast<uint8_t>(p);
        const int64_t pauseTime = EunomiaTestWireTime(84, 100 * GBPS);
        const int64_t frameTime = EunomiaTestWireTime(1020, 100 * GBPS);
        std::vector<EunomiaTestEnd::PauseChange> traced;
        pair.a.port->TraceConnectWithoutContext("Pause",
                                                MakeCallback(&PauseCase::Trace).Bind(&traced));
        pair.b.port->SendFirst(EunomiaTestPause(p, 335'000));
        const int64_t paused = pauseTime + US;
        Simulation::At(paused + 100, [&pair, priority] {
            pair.a.port->Send(EunomiaTestFrame(1000, priority, 1));
            pair.a.port->Send(EunomiaTestFrame(1000, priority % 7 + 1, 2));
            pair.a.port->Send(EunomiaTestFrame(1000, priority, 3));
        });
        Simulation::At(20 * US, [&pair, p] {
            pair.b.port->SendFirst(EunomiaTestPause(p, -1));
            NS_ABORT_MSG_UNLESS(pair.a.port->IsPaused(p) && !pair.a.port->IsPaused(p % 7 + 1),
                                "the wrong priority is paused");
        });
        Simulator::Run();
        const int64_t resumed = 20 * US + pauseTime + US;
        NS_TEST_EXPECT_MSG_EQ((pair.b.Tags() == Tags{2, 1, 3}), true, "priority " << p);
        NS_TEST_EXPECT_MSG_EQ(
            (pair.b.Times() == Times{paused + 100 + frameTime + US, resumed + frameTime + US,
                                     resumed + 2 * frameTime + US}),
            true, "resumes at once, priority " << p);
        const std::vector<EunomiaTestEnd::PauseChange> changes = {{paused, p, true},
                                                                  {resumed, p, false}};
        NS_TEST_EXPECT_MSG_EQ((pair.a.changes == changes), true, "the owner is told");
        NS_TEST_EXPECT_MSG_EQ((traced == changes), true, "traced");
        NS_TEST_EXPECT_MSG_EQ(pair.a.port->GetPausedTime(), resumed - paused, "paused time");
        NS_TEST_EXPECT_MSG_EQ(pair.a.port->GetPausesReceived(), 2, "pause frames stay here");
        NS_TEST_EXPECT_MSG_EQ(Simulation::Pool().GetAlive(), 0, "and are given back");
    }

    static void Trace(std::vector<EunomiaTestEnd::PauseChange> *log, uint32_t priority, bool paused)
    {
        log->push_back({EunomiaNow(), priority, paused});
    }

    /** All seven paused: control goes on, and what the owner makes on demand is its own matter. */
    void ControlPasses()
    {
        Simulation simulation;
        Pair pair;
        for (uint32_t p = 1; p <= 7; p++) {
            pair.b.port->SendFirst(EunomiaTestPause(p, 100'000));
        }
        Simulation::At(5 * US, [&pair] {
            for (uint8_t p = 0; p <= 7; p++) {
                pair.a.port->Send(EunomiaTestFrame(100, p, p));
            }
        });
        Simulator::Stop(TimeStep(50 * US));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ((pair.b.Tags() == Tags{0}), true, "only control");
        NS_TEST_EXPECT_MSG_EQ(pair.a.port->GetQueued(), 7, "the others wait");
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ((pair.b.Tags() == Tags{0, 1, 2, 3, 4, 5, 6, 7}), true, "expired");
    }
};

/** Bytes of the control class that wait, pause frames included, and of no other. */
class ControlBytesCase : public TestCase {
  public:
    ControlBytesCase() : TestCase("control bytes that wait") {}

  private:
    void DoRun() override
    {
        Simulation simulation;
        uint32_t bytes = 77;
        Pair pair;
        EunomiaPort &port = *pair.a.port;
        port.Send(EunomiaTestFrame(1000, 3, 0));
        port.Send(EunomiaTestFrame(100, 0, 1));
        port.CountControl(&bytes);
        NS_TEST_EXPECT_MSG_EQ(bytes, 100, "what waited before");
        port.Send(EunomiaTestFrame(500, 3, 2));
        port.Send(EunomiaTestFrame(60, 0, 3));
        EunomiaFrame *frame = EunomiaTestPause(5, 1000);
        const uint32_t pause = frame->bytes;
        port.SendFirst(frame);
        NS_TEST_EXPECT_MSG_EQ(bytes, 160 + pause, "all three wait for the wire");
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bytes, 0, "all gone");
        port.Send(EunomiaTestFrame(100, 0, 4));
        NS_TEST_EXPECT_MSG_EQ(bytes, 0, "on an idle wire none waits");
        Simulator::Run();
    }
};

/** A pause runs out by itself; a newer one replaces it. */
class ExpiryCase : public TestCase {
  public:
    ExpiryCase() : TestCase("pauses expire") {}

  private:
    struct Xoff {
        int64_t atNs;
        uint32_t priority;
        int64_t ns;
    };

    void DoRun() override
    {
        // {priority, paused from, to} in ns after the pause frame's arrival time.
        static const struct {
            const char *what;
            std::vector<Xoff> frames;
            std::vector<std::array<int64_t, 3>> pauses;
        } rows[] = {
            {"one", {{0, 3, 500}}, {{3, 0, 500}}},
            {"refreshed", {{0, 3, 500}, {300, 3, 500}, {700, 3, 500}}, {{3, 0, 1200}}},
            {"cut short by a shorter one", {{0, 3, 1000}, {100, 3, 200}}, {{3, 0, 300}}},
            {"again later", {{0, 3, 500}, {900, 3, 200}}, {{3, 0, 500}, {3, 900, 1100}}},
            {"ended by XON, then again",
             {{0, 3, 500}, {200, 3, -1}, {300, 3, 500}},
             {{3, 0, 200}, {3, 300, 800}}},
            {"two priorities, the later one first",
             {{0, 5, 900}, {100, 2, 300}},
             {{5, 0, 900}, {2, 100, 400}}},
            {"two priorities, the earlier one first",
             {{0, 5, 300}, {100, 2, 900}},
             {{5, 0, 300}, {2, 100, 1000}}},
            {"both at once", {{0, 5, 500}, {100, 2, 400}}, {{5, 0, 500}, {2, 100, 500}}},
            {"XON without XOFF", {{0, 3, -1}}, {}},
            {"of no duration", {{0, 3, 0}}, {{3, 0, 0}}},
            {"the longest a frame can tell", {{0, 3, UINT32_MAX}}, {{3, 0, UINT32_MAX}}},
        };
        for (const auto &row : rows) {
            Simulation simulation;
            Pair pair;
            for (const Xoff &x : row.frames) {
                Simulation::At(x.atNs * 1000, [&pair, x] {
                    pair.b.port->SendFirst(EunomiaTestPause(x.priority, x.ns));
                });
            }
            Simulator::Run();
            Compare(pair, row.pauses, row.what);
        }
    }

    void Compare(const Pair &pair, const std::vector<std::array<int64_t, 3>> &pauses,
                 const char *what)
    {
        const int64_t arrival = EunomiaTestWireTime(84, 100 * GBPS) + US;
        std::multiset<std::array<int64_t, 3>> expected;
        std::multiset<std::array<int64_t, 3>> found;
        int64_t total = 0;
        for (const auto &[priority, from, to] : pauses) {
            expected.insert({priority, arrival + from * 1000, 1});
            expected.insert({priority, arrival + to * 1000, 0});
            total += (to - from) * 1000;
        }
        for (const auto &change : pair.a.changes) {
            found.insert({change.priority, change.at, change.paused});
        }
        NS_TEST_EXPECT_MSG_EQ((found == expected), true, what);
        NS_TEST_EXPECT_MSG_EQ(pair.a.port->GetPausedTime(), total, what);
    }
};

/** Paused time counts every priority, ended or not. */
class PausedTimeCase : public TestCase {
  public:
    PausedTimeCase() : TestCase("accounting of paused time") {}

  private:
    void DoRun() override
    {
        Simulation simulation;
        Pair pair;
        const int64_t arrival = EunomiaTestWireTime(84, 100 * GBPS) + US;
        Simulation::At(0, [&pair] { pair.b.port->SendFirst(EunomiaTestPause(1, 10'000)); });
        Simulation::At(2 * US, [&pair] { pair.b.port->SendFirst(EunomiaTestPause(7, 10'000)); });
        Simulation::At(4 * US, [&pair] { pair.b.port->SendFirst(EunomiaTestPause(1, -1)); });
        for (const int64_t t : {1, 3, 5, 9, 11, 13, 40}) {
            const int64_t first = std::clamp<int64_t>(t, 0, 4);
            const int64_t second = std::clamp<int64_t>(t - 2, 0, 10);
            Simulation::At(arrival + t * US, [this, &pair, first, second] {
                NS_TEST_EXPECT_MSG_EQ(pair.a.port->GetPausedTime(), (first + second) * US,
                                      "at " << EunomiaNow());
            });
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(pair.b.port->GetPausedTime(), 0, "the other end was never paused");
    }
};

/** Pause frames overtake all that waits, but not each other. */
class PauseFirstCase : public TestCase {
  public:
    PauseFirstCase() : TestCase("pause frames go first, in order") {}

  private:
    void DoRun() override
    {
        Simulation simulation;
        Pair pair;
        std::vector<std::pair<EunomiaFrameKind, uint32_t>> sent;
        pair.a.port->TraceConnectWithoutContext("Dequeue",
                                                MakeCallback(&PauseFirstCase::Sent).Bind(&sent));
        pair.a.port->Send(EunomiaTestFrame(1500, 3, 1));
        pair.a.port->Send(EunomiaTestFrame(1500, 3, 2));
        pair.a.port->Send(EunomiaTestFrame(64, 0, 3));
        // XOFF and XON within the time of one frame must not change places.
        pair.a.port->SendFirst(EunomiaTestPause(3, 100'000));
        pair.a.port->SendFirst(EunomiaTestPause(3, -1));
        pair.a.port->SendFirst(EunomiaTestPause(4, -1));
        pair.a.port->SendFirst(EunomiaTestPause(4, 50'000));
        NS_TEST_EXPECT_MSG_EQ(pair.a.port->GetQueued(), 6, "pause frames wait, too");
        Simulator::Stop(TimeStep(10 * US));
        Simulator::Run();
        using K = EunomiaFrameKind;
        const std::vector<std::pair<K, uint32_t>> expected = {
            {K::Data, 1},  {K::Pause, 0}, {K::Pause, 0}, {K::Pause, 0},
            {K::Pause, 0}, {K::Ack, 3},   {K::Data, 2}};
        NS_TEST_EXPECT_MSG_EQ((sent == expected), true, "order on the wire");
        NS_TEST_EXPECT_MSG_EQ(pair.b.port->IsPaused(3), false, "the XON was the last word");
        NS_TEST_EXPECT_MSG_EQ(pair.b.port->IsPaused(4), true, "the XOFF was the last word");
        NS_TEST_EXPECT_MSG_EQ(pair.a.port->GetQueued(), 0, "all left");
    }

    static void Sent(std::vector<std::pair<EunomiaFrameKind, uint32_t>> *log,
                     const EunomiaFrame &frame)
    {
        log->emplace_back(frame.kind, frame.flow);
    }
};

/** A frame on an idle wire costs one event, its arrival; one that waits costs one more. */
class EventsCase : public TestCase {
  public:
    EventsCase() : TestCase("events a frame") {}

  private:
    static uint64_t Events(uint32_t frames, int64_t spacing)
    {
        Simulation simulation;
        Pair pair;
        for (uint32_t i = 0; i < frames; i++) {
            Simulation::At(i * spacing, [&pair] { pair.a.port->Send(EunomiaTestFrame(1000, 3)); });
        }
        const uint64_t before = Simulator::GetEventCount();
        Simulator::Run();
        return Simulator::GetEventCount() - before - frames;
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(Events(100, US), 100, "on an idle wire");
        NS_TEST_EXPECT_MSG_EQ(Events(100, 0), 199, "back to back");
    }
};

/** The parts of ns3::NetDevice that mean something here, and the trace sources. */
class DeviceCase : public TestCase {
  public:
    DeviceCase() : TestCase("as a NetDevice; traces") {}

  private:
    void DoRun() override
    {
        Simulation simulation;
        EunomiaTestEnd a;
        EunomiaTestEnd b;
        auto node = CreateObject<Node>();
        node->AddDevice(a.port);
        uint32_t ups = 0;
        a.port->AddLinkChangeCallback(MakeCallback(&DeviceCase::Count0).Bind(&ups));
        NS_TEST_EXPECT_MSG_EQ(a.port->IsLinkUp(), false, "no link yet");
        NS_TEST_EXPECT_MSG_EQ((a.port->GetPeer() == nullptr), true, "no peer yet");
        auto link = EunomiaTestLink(400 * GBPS, US, GAP);
        link->Connect(a.port, b.port);
        NS_TEST_EXPECT_MSG_EQ(ups, 1, "link change callback");
        NS_TEST_EXPECT_MSG_EQ(a.port->IsLinkUp(), true, "link");
        NS_TEST_EXPECT_MSG_EQ((a.port->GetChannel() == link), true, "channel");
        NS_TEST_EXPECT_MSG_EQ((a.port->GetPeer() == b.port && b.port->GetPeer() == a.port), true,
                              "peers");
        NS_TEST_EXPECT_MSG_EQ((a.port->GetNode() == node), true, "node");
        NS_TEST_EXPECT_MSG_EQ(a.port->GetRateBps(), 400 * GBPS, "rate");
        NS_TEST_EXPECT_MSG_EQ(a.port->IsPointToPoint(), true, "point to point");
        Ptr<NetDevice> device = a.port;
        NS_TEST_EXPECT_MSG_EQ(device->Send(Create<Packet>(100), Address(), 0), false,
                              "carries frames only");
        for (const char *source : {"Enqueue", "Dequeue"}) {
            a.port->TraceConnectWithoutContext(source,
                                               MakeCallback(&DeviceCase::Count).Bind(&m_n[source]));
        }
        b.port->TraceConnectWithoutContext("Receive",
                                           MakeCallback(&DeviceCase::Count).Bind(&m_n["Receive"]));
        for (int i = 0; i < 5; i++) {
            a.port->Send(EunomiaTestFrame(100, 3));
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(m_n["Enqueue"], 4, "had to wait");
        NS_TEST_EXPECT_MSG_EQ(m_n["Dequeue"], 5, "left");
        NS_TEST_EXPECT_MSG_EQ(m_n["Receive"], 5, "came");
        NS_TEST_EXPECT_MSG_EQ(b.arrivals[4].frame.hops, 1, "links taken");
    }

    static void Count0(uint32_t *n) { (*n)++; }
    static void Count(uint32_t *n, const EunomiaFrame &) { (*n)++; }

    std::map<std::string, uint32_t> m_n;
};

class EunomiaPortTestSuite : public TestSuite {
  public:
    EunomiaPortTestSuite() : TestSuite("eunomia-port", Type::UNIT)
    {
        AddTestCase(new TimesCase);
        AddTestCase(new InexactRateCase);
        AddTestCase(new OrderCase);
        AddTestCase(new PauseCase);
        AddTestCase(new ControlBytesCase);
        AddTestCase(new ExpiryCase);
        AddTestCase(new PausedTimeCase);
        AddTestCase(new PauseFirstCase);
        AddTestCase(new EventsCase);
        AddTestCase(new DeviceCase);
    }
};

EunomiaPortTestSuite g_eunomiaPortTestSuite;

} // namespace
