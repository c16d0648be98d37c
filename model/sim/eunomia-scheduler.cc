// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-scheduler.h"

#include "ns3/assert.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <functional>

namespace ns3 {

NS_OBJECT_ENSURE_REGISTERED(EunomiaScheduler);

TypeId EunomiaScheduler::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::EunomiaScheduler")
            .SetParent<Scheduler>()
            .SetGroupName("Eunomia")
            .AddConstructor<EunomiaScheduler>()
            .AddAttribute("SlotBits",
                          "A wheel slot spans 2^SlotBits units of the simulator's time resolution.",
                          UintegerValue(9), MakeUintegerAccessor(&EunomiaScheduler::m_slotBits),
                          MakeUintegerChecker<uint32_t>(0, 40));
    return tid;
}

EunomiaScheduler::EunomiaScheduler()
    : m_slotBits(9), m_base(0), m_near(0), m_free(NONE), m_summary(0)
{
    m_occupied.fill(0);
    m_head.fill(NONE);
}

EunomiaScheduler::~EunomiaScheduler() = default;

void EunomiaScheduler::Insert(const Event &ev)
{
    const uint64_t slot = SlotOf(ev);
    NS_ASSERT_MSG(slot >= m_base, "event in the past");
    if (slot - m_base < SLOTS) {
        InsertNear(ev, slot);
    } else {
        InsertFar(ev);
    }
}

void EunomiaScheduler::InsertNear(const Event &ev, uint64_t slot)
{
    uint32_t node = m_free;
    if (node == NONE) {
        node = static_cast<uint32_t>(m_nodes.size());
        m_nodes.push_back({ev, NONE});
    } else {
        m_free = m_nodes[node].next;
        m_nodes[node].event = ev;
    }
    const uint32_t index = slot % SLOTS;
    m_occupied[index / 64] |= uint64_t{1} << (index % 64);
    m_summary |= uint64_t{1} << (index / 64);
    uint32_t *link = &m_head[index];
    while (*link != NONE && m_nodes[*link].event.key < ev.key) {
        link = &m_nodes[*link].next;
    }
    m_nodes[node].next = *link;
    *link = node;
    m_near++;
}

void EunomiaScheduler::InsertFar(const Event &ev)
{
    m_far.push_back(ev);
    std::push_heap(m_far.begin(), m_far.end(), std::greater<Event>());
}

void EunomiaScheduler::Advance(uint64_t base)
{
    m_base = base;
    while (!m_far.empty() && SlotOf(m_far.front()) - base < SLOTS) {
        std::pop_heap(m_far.begin(), m_far.end(), std::greater<Event>());
        InsertNear(m_far.back(), SlotOf(m_far.back()));
        m_far.pop_back();
    }
}

bool EunomiaScheduler::IsEmpty() const
{
    return m_near == 0 && m_far.empty();
}

uint32_t EunomiaScheduler::FirstSlot() const
{
    const uint32_t start = m_base % SLOTS;
    const uint32_t word = start / 64;
    const uint64_t here = m_occupied[word] & (~uint64_t{0} << (start % 64));
    if (here) {
        return word * 64 + static_cast<uint32_t>(__builtin_ctzll(here));
    }
    // Words after this one first, then around to the bits of this one before `start`.
    const uint64_t after = word + 1 < WORDS ? m_summary & (~uint64_t{0} << (word + 1)) : 0;
    const auto next = static_cast<uint32_t>(__builtin_ctzll(after ? after : m_summary));
    return next * 64 + static_cast<uint32_t>(__builtin_ctzll(m_occupied[next]));
}

void EunomiaScheduler::Vacate(uint32_t slot)
{
    m_occupied[slot / 64] &= ~(uint64_t{1} << (slot % 64));
    if (m_occupied[slot / 64] == 0) {
        m_summary &= ~(uint64_t{1} << (slot / 64));
    }
}

Scheduler::Event EunomiaScheduler::PeekNext() const
{
    NS_ASSERT(!IsEmpty());
    return m_near ? m_nodes[m_head[FirstSlot()]].event : m_far.front();
}

Scheduler::Event EunomiaScheduler::RemoveNext()
{
    NS_ASSERT(!IsEmpty());
    if (m_near == 0) {
        Advance(SlotOf(m_far.front()));
    }
    const uint32_t slot = FirstSlot();
    const uint32_t node = m_head[slot];
    const Event ev = m_nodes[node].event;
    m_head[slot] = m_nodes[node].next;
    m_nodes[node].next = m_free;
    m_free = node;
    m_near--;
    if (m_head[slot] == NONE) {
        Vacate(slot);
    }
    Advance(SlotOf(ev));
    return ev;
}

void EunomiaScheduler::Remove(const Event &ev)
{
    const uint64_t number = SlotOf(ev);
    if (number - m_base >= SLOTS) {
        auto found = std::find_if(m_far.begin(), m_far.end(),
                                  [&ev](const Event &e) { return e.key.m_uid == ev.key.m_uid; });
        NS_ASSERT(found != m_far.end());
        m_far.erase(found);
        std::make_heap(m_far.begin(), m_far.end(), std::greater<Event>());
        return;
    }
    const auto slot = static_cast<uint32_t>(number % SLOTS);
    uint32_t *link = &m_head[slot];
    while (*link != NONE && m_nodes[*link].event.key.m_uid != ev.key.m_uid) {
        link = &m_nodes[*link].next;
    }
    NS_ASSERT(*link != NONE);
    const uint32_t node = *link;
    *link = m_nodes[node].next;
    m_nodes[node].next = m_free;
    m_free = node;
    m_near--;
    if (m_head[slot] == NONE) {
        Vacate(slot);
    }
}

} // namespace ns3
