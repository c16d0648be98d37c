// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-event.h"

#include "ns3/test.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <vector>

using namespace ns3;

namespace {

using Times = std::vector<int64_t>;

/** Has a timer and an event, and notes when they go off. */
struct Owner {
    Owner() : timer(this), event(Create<EunomiaEvent<Owner, &Owner::EventFired>>(this)) {}
    ~Owner() { event->Disown(); }

    void TimerFired()
    {
        timerFired.push_back(EunomiaNow());
        if (onTimer) {
            onTimer();
        }
    }

    void EventFired()
    {
        eventFired.push_back(EunomiaNow());
        if (onEvent) {
            onEvent();
        }
    }

    Times timerFired;
    Times eventFired;
    std::function<void()> onTimer;
    std::function<void()> onEvent;
    EunomiaTimer<Owner, &Owner::TimerFired> timer;
    Ptr<EunomiaEvent<Owner, &Owner::EventFired>> event;
};

void At(int64_t ps, std::function<void()> action)
{
    Simulator::Schedule(TimeStep(ps) - Simulator::Now(), action);
}

/** Each row arms the timer at times of its own; the last column says when it must fire. */
class TimerCase : public TestCase {
  public:
    TimerCase() : TestCase("timer: later, earlier, never, again") {}

  private:
    struct Arming {
        int64_t at;
        int64_t deadline;
    };

    void DoRun() override
    {
        constexpr int64_t NEVER = EunomiaTimer<Owner, &Owner::TimerFired>::NEVER;
        static const struct {
            const char *what;
            std::vector<Arming> armings;
            Times fires;
        } rows[] = {
            {"once", {{0, 100}}, {100}},
            {"at once", {{7, 7}}, {7}},
            {"later", {{0, 100}, {50, 200}}, {200}},
            {"later, twice", {{0, 100}, {50, 200}, {150, 300}}, {300}},
            {"earlier", {{0, 200}, {50, 100}}, {100}},
            {"earlier, then the first deadline again", {{0, 200}, {50, 100}, {60, 200}}, {200}},
            {"earlier, and the first deadline after it fired",
             {{0, 200}, {9, 50}, {60, 200}},
             {50, 200}},
            {"the same deadline", {{0, 100}, {10, 100}}, {100}},
            {"never", {{0, 100}, {50, NEVER}}, {}},
            {"never, then earlier", {{0, 100}, {50, NEVER}, {60, 80}}, {80}},
            {"never, then later", {{0, 100}, {50, NEVER}, {60, 180}}, {180}},
            {"never, then the same", {{0, 100}, {50, NEVER}, {60, 100}}, {100}},
            {"again after it fired", {{0, 100}, {100, 100}, {101, 150}}, {100, 150}},
        };
        for (const auto &row : rows) {
            Owner owner;
            for (const Arming &a : row.armings) {
                At(a.at, [&owner, a] { owner.timer.Arm(a.deadline); });
            }
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ((owner.timerFired == row.fires), true, row.what);
            NS_TEST_EXPECT_MSG_EQ(owner.timer.Deadline(), NEVER, row.what);
            Simulator::Destroy();
        }
    }
};

/** Armed anew inside the callback. */
class TimerReentrantCase : public TestCase {
  public:
    TimerReentrantCase() : TestCase("timer: armed in its callback") {}

  private:
    void DoRun() override
    {
        Owner owner;
        owner.onTimer = [&owner] {
            NS_ABORT_MSG_UNLESS(owner.timer.Deadline() == owner.timer.NEVER, "fired, yet armed");
            if (owner.timerFired.size() < 3) {
                owner.timer.Arm(EunomiaNow() + 10);
            } else if (owner.timerFired.size() < 5) {
                owner.timer.Arm(EunomiaNow());
            }
        };
        owner.timer.Arm(500);
        owner.timer.Arm(100);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ((owner.timerFired == Times{100, 110, 120, 120, 120}), true,
                              "periods, then the same instant");
        Simulator::Destroy();
    }
};

/** Random armings against the definition: it fires at the last deadline set before it came. */
class TimerRandomCase : public TestCase {
  public:
    TimerRandomCase() : TestCase("timer: random armings") {}

  private:
    void DoRun() override
    {
        const char *text = std::getenv("EUNOMIA_SEED");
        const uint32_t seed = text ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) : 1;
        std::cout << "eunomia-event: EUNOMIA_SEED=" << seed << std::endl;
        std::mt19937 random(seed);
        for (int round = 0; round < 200; round++) {
            Owner owner;
            Times expected;
            int64_t deadline = owner.timer.NEVER;
            int64_t now = 0;
            for (int i = 0; i < 100; i++) {
                now += random() % 20;
                if (deadline < now) {
                    expected.push_back(deadline);
                    deadline = owner.timer.NEVER;
                }
                deadline = random() % 8 ? now + random() % 60 : owner.timer.NEVER;
                At(now, [&owner, deadline] { owner.timer.Arm(deadline); });
            }
            if (deadline != owner.timer.NEVER) {
                expected.push_back(deadline);
            }
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ((owner.timerFired == expected), true, "round " << round);
            Simulator::Destroy();
        }
    }
};

/** A deadline that keeps moving later costs an event a period, not one a move. */
class TimerCheapCase : public TestCase {
  public:
    TimerCheapCase() : TestCase("timer: moving later needs no event") {}

  private:
    void DoRun() override
    {
        Owner owner;
        const uint64_t before = Simulator::GetEventCount();
        constexpr int64_t MOVES = 1000;
        for (int64_t t = 0; t < MOVES; t++) {
            At(t, [&owner, t] { owner.timer.Arm(t + 250); });
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ((owner.timerFired == Times{MOVES - 1 + 250}), true, "fired once");
        // It looks at t = 250, 500 (the deadline is then 499 + 250 or so), ... and fires.
        NS_TEST_EXPECT_MSG_LT(Simulator::GetEventCount() - before, MOVES + 8, "events");
        Simulator::Destroy();
    }
};

/** Whoever owns a timer or an event may go while one is pending. */
class GoneOwnerCase : public TestCase {
  public:
    GoneOwnerCase() : TestCase("owner gone with something pending") {}

  private:
    void DoRun() override
    {
        auto owner = std::make_unique<Owner>();
        owner->timer.Arm(100);
        owner->timer.Arm(50);
        owner->event->Schedule(70);
        // An event may outlive its owner in other hands, too.
        const auto event = owner->event;
        At(10, [&owner] { owner.reset(); });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(Simulator::Now().GetTimeStep(), 100, "the queue ran to its end");
        NS_TEST_EXPECT_MSG_EQ(event->IsPending(), false, "noticed that it fired");
        Simulator::Destroy();
        // The simulator goes first.
        owner = std::make_unique<Owner>();
        owner->timer.Arm(100);
        owner->event->Schedule(70);
        Simulator::Destroy();
        NS_TEST_EXPECT_MSG_EQ(owner->timerFired.size() + owner->eventFired.size(), 0,
                              "nothing ran");
    }
};

class EventCase : public TestCase {
  public:
    EventCase() : TestCase("event: pending, again, not allocated") {}

  private:
    void DoRun() override
    {
        Owner owner;
        NS_TEST_EXPECT_MSG_EQ(owner.event->IsPending(), false, "at first");
        owner.onEvent = [this, &owner] {
            NS_TEST_EXPECT_MSG_EQ(owner.event->IsPending(), false, "in the callback");
            if (owner.eventFired.size() < 3) {
                owner.event->Schedule(5);
            }
        };
        owner.event->Schedule(40);
        NS_TEST_EXPECT_MSG_EQ(owner.event->IsPending(), true, "scheduled");
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ((owner.eventFired == Times{40, 45, 50}), true, "times");
        NS_TEST_EXPECT_MSG_EQ(owner.event->GetReferenceCount(), 1, "the queue let go of it");
        Simulator::Destroy();
    }
};

class EunomiaEventTestSuite : public TestSuite {
  public:
    EunomiaEventTestSuite() : TestSuite("eunomia-event", Type::UNIT)
    {
        AddTestCase(new TimerCase);
        AddTestCase(new TimerReentrantCase);
        AddTestCase(new TimerRandomCase);
        AddTestCase(new TimerCheapCase);
        AddTestCase(new GoneOwnerCase);
        AddTestCase(new EventCase);
    }
};

EunomiaEventTestSuite g_eunomiaEventTestSuite;

} // namespace
