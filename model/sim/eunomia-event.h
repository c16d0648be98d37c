// SPDX-License-Identifier: GPL-2.0-only
#ifndef EUNOMIA_EVENT_H
#define EUNOMIA_EVENT_H

#include "ns3/event-impl.h"
#include "ns3/nstime.h"
#include "ns3/ptr.h"
#include "ns3/simulator.h"

#include <cstdint>
#include <limits>

namespace ns3 {

/** Simulated time in picoseconds. The program must have called Time::SetResolution(Time::PS). */
inline int64_t EunomiaNow()
{
    return Simulator::Now().GetTimeStep();
}

/** Aborts unless the simulator counts picoseconds, which 400 and 800 Gb/s need to stay exact. */
void EunomiaRequirePicoseconds();

/**
 * \brief An event of an object that lives as long as the object, so that scheduling allocates
 * nothing: `EunomiaEvent<Port, &Port::WireFree>`.
 *
 * At most one occurrence is pending. The owner calls Disown() before it goes away: the simulator
 * may hold the event longer than that.
 */
template <typename T, void (T::*Method)()>
class EunomiaEvent final : public EventImpl {
  public:
    explicit EunomiaEvent(T *owner) : m_owner(owner), m_pending(false) {}

    bool IsPending() const { return m_pending; }

    /** Due `delayPs` from now; must not be pending. */
    void Schedule(int64_t delayPs)
    {
        m_pending = true;
        Simulator::Schedule(TimeStep(delayPs), Ptr<EventImpl>(this));
    }

    void Disown() { m_owner = nullptr; }

  private:
    void Notify() override
    {
        m_pending = false;
        if (m_owner) {
            (m_owner->*Method)();
        }
    }

    T *m_owner;
    bool m_pending;
};

/**
 * \brief A timer that moves without touching the event queue.
 *
 * Arm(t) with a later time than the pending event only stores the deadline: the event looks at it
 * when it fires and goes on waiting. An earlier time costs one extra event, and what fires too
 * early or in vain does nothing.
 */
template <typename T, void (T::*Method)()>
class EunomiaTimer {
  public:
    static constexpr int64_t NEVER = std::numeric_limits<int64_t>::max();

    explicit EunomiaTimer(T *owner) : m_state(Create<State>(this)), m_owner(owner) {}
    EunomiaTimer(const EunomiaTimer &) = delete;
    EunomiaTimer &operator=(const EunomiaTimer &) = delete;
    ~EunomiaTimer() { m_state->timer = nullptr; }

    /** Calls Method at `deadlinePs`, NEVER: not at all. Replaces an earlier deadline. */
    void Arm(int64_t deadlinePs)
    {
        m_deadline = deadlinePs;
        if (deadlinePs < m_nextEvent) {
            ScheduleAt(deadlinePs);
        }
    }

    int64_t Deadline() const { return m_deadline; }

  private:
    struct State : public SimpleRefCount<State> {
        explicit State(EunomiaTimer *t) : timer(t) {}
        EunomiaTimer *timer;
    };

    class Shot final : public EventImpl {
      public:
        Shot(Ptr<State> state, int64_t at) : m_state(state), m_at(at) {}

      private:
        void Notify() override
        {
            if (m_state->timer) {
                m_state->timer->Fire(m_at);
            }
        }

        Ptr<State> m_state;
        int64_t m_at;
    };

    void ScheduleAt(int64_t at)
    {
        m_nextEvent = at;
        Simulator::Schedule(TimeStep(at - EunomiaNow()), Create<Shot>(m_state, at));
    }

    void Fire(int64_t at)
    {
        if (at != m_nextEvent) {
            return; // superseded by an earlier event, which took over
        }
        m_nextEvent = NEVER;
        if (m_deadline > at) {
            if (m_deadline != NEVER) {
                ScheduleAt(m_deadline);
            }
            return;
        }
        m_deadline = NEVER;
        (m_owner->*Method)();
    }

    Ptr<State> m_state;
    T *m_owner;
    int64_t m_deadline = NEVER;
    int64_t m_nextEvent = NEVER;
};

} // namespace ns3

#endif
