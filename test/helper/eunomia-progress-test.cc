// SPDX-License-Identifier: GPL-2.0-only
#include "../fabric/eunomia-test-fabric.h"
#include "eunomia-progress.h"

#include "ns3/test.h"

#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>

using namespace ns3;

namespace {

using Simulation = EunomiaTestSimulation;

/** Gives stderr another end for a while, and reads what comes out of it. */
class Stderr {
  public:
    /** A terminal, or a pipe. */
    explicit Stderr(bool terminal)
    {
        if (terminal) {
            m_read = posix_openpt(O_RDWR | O_NOCTTY);
            NS_ABORT_MSG_UNLESS(m_read >= 0 && grantpt(m_read) == 0 && unlockpt(m_read) == 0,
                                "no terminal to be had");
            m_write = open(ptsname(m_read), O_RDWR | O_NOCTTY);
        } else {
            int ends[2];
            NS_ABORT_MSG_UNLESS(pipe(ends) == 0, "no pipe to be had");
            m_read = ends[0];
            m_write = ends[1];
        }
        m_saved = dup(STDERR_FILENO);
        dup2(m_write, STDERR_FILENO);
    }

    ~Stderr()
    {
        Restore();
        close(m_read);
        close(m_write);
    }

    /** What was written since; stderr is as before. */
    std::string Take()
    {
        // A character that ends the reading, as a terminal has no end.
        NS_ABORT_MSG_UNLESS(write(STDERR_FILENO, "#", 1) == 1, "write");
        Restore();
        std::string text;
        char c;
        while (read(m_read, &c, 1) == 1 && c != '#') {
            text += c;
        }
        return text;
    }

  private:
    void Restore()
    {
        if (m_saved >= 0) {
            dup2(m_saved, STDERR_FILENO);
            close(m_saved);
            m_saved = -1;
        }
    }

    int m_read = -1;
    int m_write = -1;
    int m_saved = -1;
};

/** A line on a terminal, nothing elsewhere. */
class ProgressCase : public TestCase {
  public:
    ProgressCase() : TestCase("a line on a terminal, nothing elsewhere") {}

  private:
    /** A run of one flow that takes longer, by the clock, than the line takes to appear. */
    static std::string Run(bool terminal)
    {
        Stderr end(terminal);
        Simulation simulation;
        Config::SetDefault("ns3::EunomiaNic::Transport", StringValue("gbn"));
        EunomiaFabric fabric;
        EunomiaBuildClos(fabric, {1, 1, 2});
        bool more = true;
        EunomiaFlowDriver driver(
            fabric,
            [&more](EunomiaFlow *flow) {
                *flow = EunomiaFlow{0, 0, 1, 3, 1000, 0};
                return std::exchange(more, false);
            },
            [](const EunomiaFlowRecord &) {}, EunomiaFlowDriver::Qps::PerFlow, false);
        EunomiaProgress progress(fabric, driver, 0, 100'000'000);
        const auto pass = [] { std::this_thread::sleep_for(std::chrono::milliseconds(300)); };
        Simulation::At(45'000'000, pass);
        Simulation::At(80'000'000, [&progress] { progress.Stop(); });
        Simulation::At(81'000'000, pass);
        Simulation::At(99'000'000, [] {}); // a look that would print, were it still to come
        progress.Start();
        driver.Start();
        Simulator::Run();
        return end.Take();
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(Run(false), "", "not a terminal");
        const std::string text = Run(true);
        // Half-way (the look after 45 us is at 50 us), one flow; then the line goes away.
        NS_TEST_EXPECT_MSG_NE(text.find("\r\033[K 50 %  1 flows done  "), std::string::npos, text);
        NS_TEST_EXPECT_MSG_NE(text.find(" M packet-hops/s  "), std::string::npos, text);
        NS_TEST_EXPECT_MSG_NE(text.find(" s left"), std::string::npos, text);
        NS_TEST_EXPECT_MSG_EQ(text.substr(text.size() - std::min<size_t>(text.size(), 4)),
                              "\r\033[K", "erased");
        NS_TEST_EXPECT_MSG_EQ(text.find('\n'), std::string::npos, "one line");
    }
};

class EunomiaProgressTestSuite : public TestSuite {
  public:
    EunomiaProgressTestSuite() : TestSuite("eunomia-progress", Type::UNIT)
    {
        AddTestCase(new ProgressCase);
    }
};

EunomiaProgressTestSuite g_eunomiaProgressTestSuite;

} // namespace
