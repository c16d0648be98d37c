// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-frame.h"
#include "eunomia-test-fabric.h"

#include "ns3/test.h"

#include <deque>
#include <random>
#include <set>
#include <string>

using namespace ns3;

namespace {

class PoolCase : public TestCase {
  public:
    PoolCase() : TestCase("pool: zeroed, counted, used again") {}

  private:
    void DoRun() override
    {
        EunomiaFramePool pool;
        std::mt19937 random(EunomiaTestFabricSeed("eunomia-frame"));
        std::set<EunomiaFrame *> alive;
        std::set<EunomiaFrame *> seen;
        uint64_t taken = 0;
        for (int i = 0; i < 20'000; i++) {
            if (random() % 5 < 3 && alive.size() < 3000) {
                EunomiaFrame *frame = pool.Take();
                taken++;
                NS_TEST_ASSERT_MSG_EQ(alive.insert(frame).second, true, "nobody else has it");
                const bool zero = frame->bytes == 0 && frame->psn == 0 && frame->msn == 0 &&
                                  frame->kind == EunomiaFrameKind::Data && !frame->ce &&
                                  !frame->last && !frame->ackRequest && frame->hops == 0;
                NS_TEST_ASSERT_MSG_EQ(zero, true, "every field is zero");
                seen.insert(frame);
                *frame = EunomiaFrame{};
                frame->bytes = frame->psn = frame->msn = 7;
                frame->ce = frame->last = frame->ackRequest = true;
                frame->hops = 3;
            } else if (!alive.empty()) {
                auto victim = alive.begin();
                std::advance(victim, random() % alive.size());
                pool.Release(*victim);
                alive.erase(victim);
            }
            NS_TEST_ASSERT_MSG_EQ(pool.GetAlive(), alive.size(), "alive");
            NS_TEST_ASSERT_MSG_EQ(pool.GetTaken(), taken, "taken");
        }
        NS_TEST_EXPECT_MSG_LT(seen.size(), taken / 2, "memory follows what is alive");
        NS_TEST_EXPECT_MSG_LT_OR_EQ(sizeof(EunomiaFrame), 72, "near one cache line");
    }
};

class QueueCase : public TestCase {
  public:
    QueueCase() : TestCase("queue: first in, first out; names") {}

  private:
    void DoRun() override
    {
        EunomiaFramePool pool;
        EunomiaFrameQueue queue;
        std::deque<EunomiaFrame *> reference;
        std::mt19937 random(EunomiaTestFabricSeed("eunomia-frame"));
        for (int i = 0; i < 10'000; i++) {
            if (random() % 2) {
                reference.push_back(pool.Take());
                queue.PushBack(reference.back());
            } else if (!reference.empty()) {
                NS_TEST_ASSERT_MSG_EQ((queue.PopFront() == reference.front()), true, "order");
                pool.Release(reference.front());
                reference.pop_front();
            }
            NS_TEST_ASSERT_MSG_EQ(queue.IsEmpty(), reference.empty(), "empty");
            if (!reference.empty()) {
                NS_TEST_ASSERT_MSG_EQ((queue.Front() == reference.front()), true, "front");
            }
        }
        std::set<std::string> names;
        for (int kind = 0; kind < EUNOMIA_FRAME_KINDS; kind++) {
            names.insert(EunomiaFrameKindName(static_cast<EunomiaFrameKind>(kind)));
        }
        const std::set<std::string> expected = {"data", "ack",   "sack",  "nack",
                                                "cnp",  "pause", "signal"};
        NS_TEST_EXPECT_MSG_EQ((names == expected), true, "names as in summary.json");
    }
};

class EunomiaFrameTestSuite : public TestSuite {
  public:
    EunomiaFrameTestSuite() : TestSuite("eunomia-frame", Type::UNIT)
    {
        AddTestCase(new PoolCase);
        AddTestCase(new QueueCase);
    }
};

EunomiaFrameTestSuite g_eunomiaFrameTestSuite;

} // namespace
