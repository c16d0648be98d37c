// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-test-nic.h"

#include "ns3/test.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

using namespace ns3;

namespace {

using Simulation = EunomiaTestSimulation;
using Kind = EunomiaFrameKind;

constexpr int64_t US = 1'000'000; //!< in ps
constexpr int64_t MS = 1000 * US;

void SetDefault(const std::string &name, const std::string &value)
{
    Config::SetDefault("ns3::Eunomia" + name, StringValue(value));
}

struct Piece {
    uint32_t qp;
    uint32_t flow;
    eun_burst burst;
};

/** Notes what the trace ReorderBurst of the receiving NIC says. */
struct Listener {
    explicit Listener(EunomiaTestNics &nics)
    {
        nics.nic[1]->TraceConnectWithoutContext("ReorderBurst",
                                                MakeCallback(&Listener::Take, this));
    }
    void Take(uint32_t qp, uint32_t flow, const eun_burst &burst)
    {
        pieces.push_back({qp, flow, burst});
    }

    std::vector<Piece> pieces;
};

/** A receiver of one QP, first PSN 0, worked out from the frames that reach the NIC. */
class Watcher {
  public:
    /** It keeps packets less than `cap` ahead. */
    Watcher(EunomiaTestNics &nics, uint32_t cap) : m_cap(cap)
    {
        nics.nic[1]->TraceConnectWithoutContext("Arrival", MakeCallback(&Watcher::Arrived, this));
    }

    struct Burst {
        int64_t start;
        int64_t end; //!< -1 while it is open
        uint32_t span;
        uint64_t packets;
        bool operator==(const Burst &o) const
        {
            return start == o.start && end == o.end && span == o.span && packets == o.packets;
        }
    };
    std::vector<Burst> bursts;

  private:
    void Arrived(const EunomiaFrame &frame)
    {
        if (frame.kind != Kind::Data) {
            return;
        }
        const uint32_t ahead = frame.psn > m_expected ? frame.psn - m_expected : 0;
        if (ahead) {
            m_farthest = std::max(m_farthest, frame.psn);
            if (ahead < m_cap) {
                m_held.insert(frame.psn);
            }
            if (bursts.empty() || bursts.back().end >= 0) {
                bursts.push_back({EunomiaNow(), -1, 0, 0});
            }
            bursts.back().span = std::max(bursts.back().span, ahead);
            bursts.back().packets++;
        }
        if (frame.psn == m_expected) {
            m_expected++;
            while (m_held.count(m_expected)) {
                m_expected++;
            }
        }
        if (!bursts.empty() && bursts.back().end < 0 && m_farthest < m_expected) {
            bursts.back().end = EunomiaNow();
        }
    }

    uint32_t m_cap;
    uint32_t m_expected = 0;
    uint32_t m_farthest = 0;
    std::set<uint32_t> m_held;
};

/** Random loss: the pieces of each burst add up to what the frames that arrived amount to. */
class LossCase : public TestCase {
  public:
    LossCase() : TestCase("bursts against the frames that arrive") {}

  private:
    void DoRun() override
    {
        Check("eunomia", 256);
        Check("gbn", 0);
    }

    void Check(const char *transport, uint32_t cap)
    {
        Simulation simulation;
        SetDefault("Nic::Transport", transport);
        SetDefault("Nic::RetransmitTimeout", "2300us");
        SetDefault("Nic::RetryLimit", "1000");
        EunomiaTestNics nics;
        Listener listener(nics);
        Watcher watcher(nics, cap);
        std::mt19937 random(EunomiaTestFabricSeed("eunomia-nic-bursts"));
        nics.box.filter = [&random](EunomiaFrame &frame) {
            return frame.kind != Kind::Data || random() % 200 != 0;
        };
        const uint32_t qp = nics.Connect();
        const uint32_t flow = nics.Post(qp, 3000 * 1024);
        nics.Flows()[flow].number = 77;
        Simulator::Run();
        nics.nic[0]->Close(qp);
        NS_TEST_EXPECT_MSG_EQ(nics.user.completions.size(), 1, transport);
        NS_TEST_EXPECT_MSG_GT(watcher.bursts.size(), 5, transport);
        NS_TEST_EXPECT_MSG_EQ((Join(listener.pieces) == watcher.bursts), true, transport);
        // Only the timer repairs losses of eunomia; go-back-N's NACK is faster than that.
        NS_TEST_EXPECT_MSG_EQ((m_continued > 0), (cap > 0), transport);
        NS_TEST_EXPECT_MSG_EQ(+listener.pieces.back().burst.end, +EUN_BURST_IDLE, transport);
        uint64_t packets = 0;
        for (const Piece &piece : listener.pieces) {
            packets += piece.burst.packets;
            NS_TEST_EXPECT_MSG_EQ(piece.flow, 77, "the flow's number, not its slot");
        }
        NS_TEST_EXPECT_MSG_EQ(packets, nics.nic[1]->GetOutOfOrder(), transport);
    }

    /** The bursts that pieces make up; checks that one follows the other. */
    std::vector<Watcher::Burst> Join(const std::vector<Piece> &pieces)
    {
        std::vector<Watcher::Burst> bursts;
        int64_t before = 0;
        m_continued = 0;
        bool continues = false;
        for (const auto &[qp, flow, piece] : pieces) {
            const int64_t end = piece.start_ps + piece.duration_ps;
            NS_TEST_EXPECT_MSG_EQ(piece.start_ps - piece.gap_ps, before, "from end to end");
            before = end;
            if (piece.end == EUN_BURST_IDLE) {
                continue;
            }
            if (!continues) {
                bursts.push_back({piece.start_ps, -1, 0, 0});
            }
            NS_TEST_EXPECT_MSG_EQ(piece.number, bursts.size(), "counted");
            bursts.back().span = std::max(bursts.back().span, piece.span);
            bursts.back().packets += piece.packets;
            continues = piece.end == EUN_BURST_CONTINUES;
            if (continues) {
                NS_TEST_EXPECT_MSG_EQ(end, (piece.start_ps / MS + 1) * MS, "at a full millisecond");
                m_continued++;
            } else {
                bursts.back().end = end;
            }
        }
        return bursts;
    }

    size_t m_continued = 0;
};

/** A QP that closes, or is looked at for the last time, in a burst and after one. */
class EndCase : public TestCase {
  public:
    EndCase() : TestCase("bursts that are cut, QPs that close idle, QPs opened again") {}

  private:
    void DoRun() override
    {
        Simulation simulation;
        SetDefault("Nic::Transport", "eunomia");
        EunomiaTestNics nics;
        Listener listener(nics);
        nics.box.filter = [this](EunomiaFrame &frame) {
            return frame.kind != Kind::Data || frame.psn != 1 || !m_lossy;
        };
        const uint32_t qp = nics.Connect();
        nics.Post(qp, 10 * 1024);
        Simulation::At(100 * US, [&] {
            NS_TEST_EXPECT_MSG_EQ(listener.pieces.size(), 0, "nothing ended yet");
            nics.nic[1]->EndReorderBursts();
            m_lossy = false;
        });
        Simulator::Run();
        nics.nic[0]->Close(qp);
        const auto &pieces = listener.pieces;
        NS_TEST_ASSERT_MSG_EQ(pieces.size(), 1, "the rest of the burst had no packet ahead");
        const eun_burst &cut = pieces[0].burst;
        NS_TEST_EXPECT_MSG_EQ(+cut.end, +EUN_BURST_CUT, "cut");
        NS_TEST_EXPECT_MSG_EQ(cut.first, true, "the first");
        NS_TEST_EXPECT_MSG_EQ(cut.start_ps + cut.duration_ps, 100 * US, "until then");
        NS_TEST_EXPECT_MSG_EQ(cut.packets, 8, "PSNs 2 to 9");
        NS_TEST_EXPECT_MSG_EQ(cut.span, 8, "PSN 9, while 1 was expected");
        Again(nics, listener);
    }

    /** The number is used again: its next burst is a first one with a number of its own. */
    void Again(EunomiaTestNics &nics, Listener &listener)
    {
        m_lossy = true;
        const int64_t opened = EunomiaNow();
        const uint32_t qp = nics.Connect();
        nics.Post(qp, 10 * 1024);
        Simulation::At(opened + 100 * US, [&] { nics.nic[0]->Close(qp); });
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(listener.pieces.size(), 2, "one more");
        NS_TEST_EXPECT_MSG_EQ(listener.pieces[1].qp, listener.pieces[0].qp, "the same number");
        const eun_burst &second = listener.pieces[1].burst;
        NS_TEST_EXPECT_MSG_EQ(second.number, 2, "another burst");
        NS_TEST_EXPECT_MSG_EQ(second.first, true, "first since opening");
        NS_TEST_EXPECT_MSG_EQ(second.start_ps - second.gap_ps, opened, "since opening");
        NS_TEST_EXPECT_MSG_EQ(+second.end, +EUN_BURST_CUT, "closed in it");
    }

    bool m_lossy = true;
};

/** Who connects late hears of the QPs that open from then on, and of the open ones then. */
class LateCase : public TestCase {
  public:
    LateCase() : TestCase("a listener that comes late") {}

  private:
    void DoRun() override
    {
        Simulation simulation;
        SetDefault("Nic::Transport", "eunomia");
        EunomiaTestNics nics;
        bool lose = true;
        nics.box.filter = [&lose](EunomiaFrame &frame) {
            const bool lost = lose && frame.kind == Kind::Data && frame.psn % 10 == 1;
            lose &= !lost;
            return !lost;
        };
        const uint32_t early = nics.Connect();
        nics.Post(early, 10 * 1024);
        Simulator::Run();
        Listener listener(nics);
        NS_TEST_EXPECT_MSG_EQ(Heard(nics, listener, nics.Connect(), &lose), "1", "a new QP");
        NS_TEST_EXPECT_MSG_EQ(Heard(nics, listener, early, &lose), "0", "then the old one, too");
    }

    /** Posts a message that is reordered; the QPs that the listener names. */
    std::string Heard(EunomiaTestNics &nics, Listener &listener, uint32_t qp, bool *lose)
    {
        *lose = true;
        listener.pieces.clear();
        nics.Post(qp, 10 * 1024);
        Simulator::Run();
        std::set<std::string> qps;
        for (const Piece &piece : listener.pieces) {
            qps.insert(std::to_string(piece.qp));
            NS_TEST_EXPECT_MSG_EQ(piece.burst.number, 1, "the first that is heard of");
        }
        return std::accumulate(qps.begin(), qps.end(), std::string());
    }
};

class EunomiaNicBurstsTestSuite : public TestSuite {
  public:
    EunomiaNicBurstsTestSuite() : TestSuite("eunomia-nic-bursts", Type::UNIT)
    {
        AddTestCase(new LossCase);
        AddTestCase(new EndCase);
        AddTestCase(new LateCase);
    }
};

EunomiaNicBurstsTestSuite g_eunomiaNicBurstsTestSuite;

} // namespace
