// SPDX-License-Identifier: GPL-2.0-only
#ifndef EUNOMIA_TEST_FABRIC_H
#define EUNOMIA_TEST_FABRIC_H

/** What the tests of the fabric and the NIC share: a clean simulator, frames, a node to end at. */

#include "eunomia-link.h"
#include "eunomia-port.h"

#include "ns3/config.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulation-singleton.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <cstdlib>
#include <deque>
#include <functional>
#include <iostream>
#include <vector>

namespace ns3 {

constexpr uint64_t EUNOMIA_TEST_GBPS = 1'000'000'000;

/** Leaves no trace of a test in the next one. To be declared first. */
class EunomiaTestSimulation {
  public:
    EunomiaTestSimulation() = default;
    ~EunomiaTestSimulation()
    {
        Simulator::Destroy();
        Config::Reset();
        RngSeedManager::SetSeed(m_seed);
        RngSeedManager::SetRun(m_run);
    }
    EunomiaTestSimulation(const EunomiaTestSimulation &) = delete;
    EunomiaTestSimulation &operator=(const EunomiaTestSimulation &) = delete;

    static EunomiaFramePool &Pool() { return *SimulationSingleton<EunomiaFramePool>::Get(); }

    /** Runs `action` at a time. */
    static void At(int64_t ps, std::function<void()> action)
    {
        Simulator::Schedule(TimeStep(static_cast<uint64_t>(ps - EunomiaNow())), action);
    }

  private:
    uint32_t m_seed = RngSeedManager::GetSeed();
    uint64_t m_run = RngSeedManager::GetRun();
};

/** Seed of random tests: the environment variable EUNOMIA_SEED, or 1. It is printed. */
inline uint32_t EunomiaTestFabricSeed(const char *test)
{
    const char *text = std::getenv("EUNOMIA_SEED");
    const uint32_t seed = text ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) : 1;
    std::cout << test << ": EUNOMIA_SEED=" << seed << std::endl;
    return seed;
}

/** A frame of that stored length; `tag` travels in EunomiaFrame::flow. */
inline EunomiaFrame *EunomiaTestFrame(uint32_t bytes, uint8_t priority, uint32_t tag = 0)
{
    EunomiaFrame *frame = EunomiaTestSimulation::Pool().Take();
    frame->kind = priority ? EunomiaFrameKind::Data : EunomiaFrameKind::Ack;
    frame->bytes = bytes;
    frame->priority = priority;
    frame->flow = tag;
    return frame;
}

/** XOFF of `ns` for a priority, or XON where `ns` is negative. */
inline EunomiaFrame *EunomiaTestPause(uint32_t priority, int64_t ns, uint32_t bytes = 64)
{
    EunomiaFrame *frame = EunomiaTestFrame(bytes, 0);
    frame->kind = EunomiaFrameKind::Pause;
    frame->msn = priority;
    frame->reason = ns >= 0;
    frame->psn = ns >= 0 ? static_cast<uint32_t>(ns) : 0;
    return frame;
}

/** Time on the wire in picoseconds, rounded down, from first principles. */
inline int64_t EunomiaTestWireTime(uint64_t wireBytes, uint64_t bps)
{
    const long double ps = 8e12L * static_cast<long double>(wireBytes) / bps;
    return static_cast<int64_t>(ps + 1e-9L);
}

/** A link with those attributes, not connected. */
inline Ptr<EunomiaLink> EunomiaTestLink(uint64_t bps, int64_t delayPs, uint32_t gap)
{
    auto link = CreateObject<EunomiaLink>();
    link->SetAttribute("DataRate", DataRateValue(DataRate(bps)));
    link->SetAttribute("Delay", TimeValue(PicoSeconds(delayPs)));
    link->SetAttribute("Gap", UintegerValue(gap));
    return link;
}

/** The owner of a port that notes what comes and keeps nothing. */
class EunomiaTestEnd : public EunomiaPortOwner {
  public:
    struct Arrival {
        int64_t at;
        EunomiaFrame frame; //!< a copy
    };
    struct PauseChange {
        int64_t at;
        uint32_t priority;
        bool paused;
        bool operator==(const PauseChange &o) const
        {
            return at == o.at && priority == o.priority && paused == o.paused;
        }
    };

    EunomiaTestEnd() : port(CreateObject<EunomiaPort>()) { port->SetOwner(this); }

    void Receive(EunomiaPort *, EunomiaFrame *frame) override
    {
        arrivals.push_back({EunomiaNow(), *frame});
        EunomiaTestSimulation::Pool().Release(frame);
    }
    void Departs(EunomiaPort *, EunomiaFrame *frame) override { departed.push_back(frame->flow); }
    EunomiaFrame *Pull(EunomiaPort *) override
    {
        return make && supply ? supply--, make() : nullptr;
    }
    bool HasFrame(const EunomiaPort *) const override { return supply > 0; }
    void PauseChanged(EunomiaPort *, uint32_t priority, bool paused) override
    {
        changes.push_back({EunomiaNow(), priority, paused});
    }

    /** Tags of what came, in order. */
    std::vector<uint32_t> Tags() const
    {
        std::vector<uint32_t> tags;
        for (const Arrival &a : arrivals) {
            tags.push_back(a.frame.flow);
        }
        return tags;
    }

    /** When each arrived. */
    std::vector<int64_t> Times() const
    {
        std::vector<int64_t> times;
        for (const Arrival &a : arrivals) {
            times.push_back(a.at);
        }
        return times;
    }

    Ptr<EunomiaPort> port;
    std::vector<Arrival> arrivals;
    std::vector<uint32_t> departed;
    std::vector<PauseChange> changes;
    std::function<EunomiaFrame *()> make; //!< makes what Pull() gives
    uint64_t supply = 0;                  //!< how often
};

} // namespace ns3

#endif
