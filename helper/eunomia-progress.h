// SPDX-License-Identifier: GPL-2.0-only
#ifndef EUNOMIA_PROGRESS_H
#define EUNOMIA_PROGRESS_H

#include "eunomia-fabric.h"
#include "eunomia-flow-driver.h"

#include <chrono>

namespace ns3 {

/**
 * \ingroup eunomia
 * \brief A line on a terminal that says how far a run is: percent, flows, speed, time left.
 *
 * Writes nothing where stderr is no terminal.
 */
class EunomiaProgress {
  public:
    /** Arrivals span [firstPs, lastPs]; that is what percent is of. */
    EunomiaProgress(const EunomiaFabric &fabric, const EunomiaFlowDriver &driver, int64_t firstPs,
                    int64_t lastPs);

    void Start();
    /** Erases the line. */
    void Stop();

  private:
    using Clock = std::chrono::steady_clock;

    void Tick();
    void Print(double elapsed);

    const EunomiaFabric &m_fabric;
    const EunomiaFlowDriver &m_driver;
    int64_t m_firstPs;
    int64_t m_lastPs;
    bool m_terminal;
    Clock::time_point m_begin;
    double m_printedAt = 0;
    EunomiaTimer<EunomiaProgress, &EunomiaProgress::Tick> m_timer;
};

} // namespace ns3

#endif
