// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-scheduler.h"

#include "ns3/object-factory.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>
#include <set>
#include <vector>

using namespace ns3;

namespace {

constexpr uint64_t SLOTS = 4096;

uint32_t Seed(const char *test)
{
    const char *text = std::getenv("EUNOMIA_SEED");
    const uint32_t seed = text ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) : 1;
    std::cout << test << ": EUNOMIA_SEED=" << seed << std::endl;
    return seed;
}

/** Random operations against a set ordered by (time, uid), for one width of slots. */
class AgainstSetCase : public TestCase {
  public:
    explicit AgainstSetCase(uint32_t slotBits)
        : TestCase("like an ordered set, 2^" + std::to_string(slotBits) + " a slot"),
          m_slotBits(slotBits)
    {
    }

  private:
    using Key = std::pair<uint64_t, uint32_t>;

    void DoRun() override
    {
        m_random.seed(Seed("eunomia-scheduler") + m_slotBits);
        m_scheduler = CreateObject<EunomiaScheduler>();
        m_scheduler->SetAttribute("SlotBits", UintegerValue(m_slotBits));
        // Grows, then shrinks, over and over, so that it also runs dry and starts anew.
        for (int round = 0; round < 12; round++) {
            Operate(3000, round % 2 ? 30 : 60);
            Operate(3000, round % 2 ? 60 : 25);
            if (round % 3 == 0) {
                Drain();
            }
            if (IsStatusFailure()) {
                return;
            }
        }
        Drain();
        // Else neither the wheel's wrap-around nor the heap was put to a test.
        const uint64_t wheel = SLOTS << m_slotBits;
        NS_TEST_EXPECT_MSG_GT(m_now, 3 * wheel, "the wheel turned");
        m_scheduler = nullptr;
    }

    void Operate(int operations, uint32_t insertPercent)
    {
        for (int i = 0; i < operations && !IsStatusFailure(); i++) {
            const uint32_t dice = m_random() % 100;
            if (dice < insertPercent) {
                Insert();
            } else if (dice < insertPercent + 8) {
                RemoveAny();
            } else {
                RemoveNext();
            }
            Compare();
        }
    }

    /** A time at or after the last event removed: what a simulator may ask for. */
    uint64_t Time()
    {
        const uint64_t slot = uint64_t{1} << m_slotBits;
        const uint64_t wheel = SLOTS << m_slotBits;
        switch (m_random() % 8) {
        case 0:
            return m_now;
        case 1:
            return m_reference.empty() ? m_now : m_reference.begin()->first;
        case 2:
            return m_reference.empty() ? m_now : m_reference.rbegin()->first;
        case 3:
            return m_now + m_random() % (2 * slot);
        case 4:
            return m_now + m_random() % wheel;
        case 5: // around the wheel's edge
            return m_now + wheel - 2 * slot + m_random() % (4 * slot);
        case 6:
            return m_now + m_random() % (8 * wheel);
        default:
            return m_now + m_random() % std::min<uint64_t>(1000 * wheel, uint64_t{1} << 45);
        }
    }

    void Insert()
    {
        const uint64_t ts = Time();
        Scheduler::Event ev{nullptr, {ts, m_uid, m_uid * 7 + 1}};
        m_scheduler->Insert(ev);
        m_reference.insert({ts, m_uid});
        m_uid++;
    }

    void RemoveAny()
    {
        if (m_reference.empty()) {
            return;
        }
        // Likely the first one: simulators cancel what is near.
        auto it = m_reference.begin();
        std::advance(it, m_random() % 2 ? 0 : m_random() % m_reference.size());
        m_scheduler->Remove({nullptr, {it->first, it->second, it->second * 7 + 1}});
        m_reference.erase(it);
    }

    void RemoveNext()
    {
        if (m_reference.empty()) {
            return;
        }
        const Key expected = *m_reference.begin();
        const Scheduler::Event ev = m_scheduler->RemoveNext();
        NS_TEST_ASSERT_MSG_EQ((Key{ev.key.m_ts, ev.key.m_uid} == expected), true,
                              "removed " << ev.key.m_ts << '/' << ev.key.m_uid << ", expected "
                                         << expected.first << '/' << expected.second);
        NS_TEST_ASSERT_MSG_EQ(ev.key.m_context, ev.key.m_uid * 7 + 1, "the whole key comes back");
        m_reference.erase(m_reference.begin());
        m_now = expected.first;
    }

    void Compare()
    {
        NS_TEST_ASSERT_MSG_EQ(m_scheduler->IsEmpty(), m_reference.empty(), "empty");
        if (m_reference.empty()) {
            return;
        }
        const Scheduler::Event next = m_scheduler->PeekNext();
        NS_TEST_ASSERT_MSG_EQ((Key{next.key.m_ts, next.key.m_uid} == *m_reference.begin()), true,
                              "next is " << next.key.m_ts << '/' << next.key.m_uid);
    }

    void Drain()
    {
        while (!m_reference.empty() && !IsStatusFailure()) {
            RemoveNext();
            Compare();
        }
    }

    uint32_t m_slotBits;
    std::mt19937_64 m_random;
    Ptr<EunomiaScheduler> m_scheduler;
    std::set<Key> m_reference;
    uint64_t m_now = 0;
    uint32_t m_uid = 4;
};

/** A run of random events that schedule, cancel and remove others is the same with any scheduler.
 */
class AgainstMapCase : public TestCase {
  public:
    AgainstMapCase() : TestCase("a run in the same order as with MapScheduler") {}

  private:
    struct Entry {
        int64_t at;
        uint32_t id;
        bool operator==(const Entry &o) const { return at == o.at && id == o.id; }
    };

    void DoRun() override
    {
        const uint32_t seed = Seed("eunomia-scheduler");
        const auto reference = Run(seed, "ns3::MapScheduler", "ns3::MapScheduler");
        NS_TEST_EXPECT_MSG_GT(reference.size(), 20000, "a run worth comparing");
        for (const char *second : {"ns3::EunomiaScheduler", "ns3::MapScheduler"}) {
            const auto log = Run(seed, "ns3::EunomiaScheduler", second);
            NS_TEST_EXPECT_MSG_EQ((log == reference), true, "changed half-way to " << second);
        }
        const auto log = Run(seed, "ns3::MapScheduler", "ns3::EunomiaScheduler");
        NS_TEST_EXPECT_MSG_EQ((log == reference), true, "installed half-way");
        NS_TEST_EXPECT_MSG_EQ(
            (Run(seed + 1, "ns3::MapScheduler", "ns3::MapScheduler") == reference), false,
            "another seed is another run");
    }

    std::vector<Entry> Run(uint32_t seed, const char *first, const char *second)
    {
        m_random.seed(seed);
        m_log.clear();
        m_pending.clear();
        m_ids = 0;
        Install(first);
        for (int i = 0; i < 50; i++) {
            Plan();
        }
        Simulator::Schedule(MicroSeconds(3), [second] { Install(second); });
        Simulator::Run();
        Simulator::Destroy();
        m_pending.clear();
        return m_log;
    }

    static void Install(const char *type)
    {
        ObjectFactory factory;
        factory.SetTypeId(type);
        Simulator::SetScheduler(factory);
    }

    void Plan()
    {
        static const int64_t spans[] = {1, 500, 80'000, 1'000'000, 3'000'000, 400'000'000};
        const int64_t delay = static_cast<int64_t>(m_random() % spans[m_random() % 6]);
        const uint32_t id = m_ids++;
        m_pending.push_back(
            Simulator::Schedule(TimeStep(delay), &AgainstMapCase::Happen, this, id));
    }

    void Happen(uint32_t id)
    {
        m_log.push_back({Simulator::Now().GetTimeStep(), id});
        if (m_ids >= 30000) {
            return;
        }
        const uint32_t children = m_random() % 3 + (m_log.size() < 100);
        for (uint32_t i = 0; i < children; i++) {
            Plan();
        }
        if (m_pending.size() > 200) {
            m_pending.erase(m_pending.begin(), m_pending.begin() + 100);
        }
        EventId &victim = m_pending[m_random() % m_pending.size()];
        if (m_random() % 10 == 0) {
            Simulator::Remove(victim);
        } else if (m_random() % 10 == 0) {
            Simulator::Cancel(victim);
        }
        if (m_random() % 20 == 0 || Simulator::IsFinished()) {
            Plan();
        }
    }

    std::mt19937 m_random;
    std::vector<Entry> m_log;
    std::vector<EventId> m_pending;
    uint32_t m_ids = 0;
};

class EunomiaSchedulerTestSuite : public TestSuite {
  public:
    EunomiaSchedulerTestSuite() : TestSuite("eunomia-scheduler", Type::UNIT)
    {
        for (const uint32_t slotBits : {0, 1, 9, 20, 30}) {
            AddTestCase(new AgainstSetCase(slotBits));
        }
        AddTestCase(new AgainstMapCase);
    }
};

EunomiaSchedulerTestSuite g_eunomiaSchedulerTestSuite;

} // namespace
