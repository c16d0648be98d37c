// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-progress.h"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

namespace ns3 {

EunomiaProgress::EunomiaProgress(const EunomiaFabric &fabric, const EunomiaFlowDriver &driver,
                                 int64_t firstPs, int64_t lastPs)
    : m_fabric(fabric), m_driver(driver), m_firstPs(firstPs), m_lastPs(lastPs),
      m_terminal(isatty(STDERR_FILENO)), m_timer(this)
{
}

void EunomiaProgress::Start()
{
    m_begin = Clock::now();
    if (m_terminal) {
        m_timer.Arm(m_firstPs);
    }
}

void EunomiaProgress::Stop()
{
    m_timer.Arm(m_timer.NEVER);
    if (m_terminal) {
        std::fputs("\r\033[K", stderr);
    }
}

void EunomiaProgress::Tick()
{
    constexpr int64_t LOOK_EVERY_PS = 10'000'000; // simulated
    constexpr double PRINT_EVERY_S = 0.25;        // of the wall clock
    const double elapsed = std::chrono::duration<double>(Clock::now() - m_begin).count();
    if (elapsed - m_printedAt >= PRINT_EVERY_S) {
        m_printedAt = elapsed;
        Print(elapsed);
    }
    m_timer.Arm(EunomiaNow() + LOOK_EVERY_PS);
}

void EunomiaProgress::Print(double elapsed)
{
    const double span = static_cast<double>(std::max<int64_t>(m_lastPs - m_firstPs, 1));
    const double done =
        std::clamp(static_cast<double>(EunomiaNow() - m_firstPs) / span, 1e-6, 0.999);
    const double speed = static_cast<double>(m_fabric.GetTotals().hops) / elapsed;
    std::fprintf(stderr, "\r\033[K%3.0f %%  %llu flows done  %.2f M packet-hops/s  %.0f s left",
                 100 * done, static_cast<unsigned long long>(m_driver.GetEnded()), speed / 1e6,
                 elapsed * (1 - done) / done);
}

} // namespace ns3
