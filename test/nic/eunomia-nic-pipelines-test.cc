// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-nic-pipelines.h"
#include "eunomia-test-nic.h"

#include "ns3/test.h"

#include <map>
#include <random>

using namespace ns3;

namespace {

using Simulation = EunomiaTestSimulation;
using Kind = EunomiaFrameKind;
using Outcome = EunomiaNicPipelines::Outcome;

constexpr int64_t NS = 1000; //!< in ps
constexpr int64_t US = 1000 * NS;

void SetDefault(const std::string &name, const std::string &value)
{
    Config::SetDefault("ns3::EunomiaNic::" + name, StringValue(value));
}

/**
 * An ordering layer with pipelines over it, fed by hand; notes what leaves, and when. A controller
 * of its own says when each packet should.
 */
class Bench : public EunomiaNicPipelines::Owner {
  public:
    static constexpr uint32_t QPS = 64;

    struct Left {
        int64_t at;
        uint32_t arrival; //!< number of the arrival
    };

    explicit Bench(const eun_controller_config &config)
        : m_layer(NewLayer(config.banks), eun_reorder_free), m_twin(NewController(config))
    {
        for (uint32_t qp = 0; qp < QPS; qp++) {
            eun_reorder_open(m_layer.get(), qp);
        }
        pipelines = std::make_unique<EunomiaNicPipelines>(NewController(config), config.pipelines,
                                                          m_layer.get(), this);
    }

    /** Packet `psn` of `qp`, of which 0 is missing: 1 rents metadata and a block, 2 to 15 nothing.
     */
    void Arrive(uint32_t qp, uint32_t psn)
    {
        const int64_t now = EunomiaNow();
        const struct eun_reorder_stats *stats = eun_reorder_stats(m_layer.get());
        const uint64_t before = stats->alloc;
        eun_reorder_arrive(m_layer.get(), qp, 0, psn, false, now);
        const auto *front = reinterpret_cast<const eun_reorder_front *>(m_layer.get());
        const auto bank = static_cast<uint32_t>(eun_reorder_bank_of(front, qp) - front->banks);
        due.push_back(eun_controller_admit(m_twin.get(), qp, bank,
                                           static_cast<uint32_t>(stats->alloc - before), now)
                          .leaves);
        pipeline.push_back(eun_controller_pipeline_of(m_twin.get(), qp));
        Outcome outcome{};
        outcome.qp = qp;
        outcome.visible = static_cast<uint32_t>(due.size() - 1);
        if (pipelines->Passes(outcome, now)) {
            left.push_back({now, outcome.visible});
        }
    }

    void Allocated(int64_t latencyPs) override { latencies.push_back(latencyPs); }
    void Leaves(const Outcome &outcome) override
    {
        left.push_back({EunomiaNow(), outcome.visible});
    }

    std::unique_ptr<EunomiaNicPipelines> pipelines;
    std::vector<Left> left;
    std::vector<int64_t> latencies;
    std::vector<int64_t> due;       //!< by arrival: when it should leave
    std::vector<uint32_t> pipeline; //!< by arrival

  private:
    static eun_reorder *NewLayer(uint32_t banks)
    {
        eun_reorder_config config{};
        config.blocks = 10'000 * banks;
        config.banks = banks;
        config.cap_psns = 256;
        config.block_bits = 16;
        config.idle_epoch_ps = US;
        return eun_reorder_new(&config);
    }

    static EunomiaNicPipelines::Controller NewController(const eun_controller_config &config)
    {
        return {eun_controller_new(&config), eun_controller_free};
    }

    std::unique_ptr<eun_reorder, decltype(&eun_reorder_free)> m_layer;
    EunomiaNicPipelines::Controller m_twin;
};

/** What is held leaves when it should, in order, however much it is. */
class OrderCase : public TestCase {
  public:
    OrderCase() : TestCase("in order, at the right time") {}

  private:
    void DoRun() override
    {
        SameMoment();
        Many();
        Forgotten();
    }

    /** At the moment at which one leaves, one that needs nothing may come before or after it. */
    void SameMoment()
    {
        Simulation simulation;
        Bench bench({1, 1, 0, 10 * NS});
        // This arrival is in the event queue before the event that lets packet 1 leave is.
        Simulation::At(20 * NS, [&bench] { bench.Arrive(3, 2); });
        Simulation::At(0, [&bench] { bench.Arrive(3, 1); });
        Simulation::At(20 * NS, [&bench] { bench.Arrive(3, 3); });
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bench.left.size(), 3, "all");
        for (uint32_t i = 0; i < 3; i++) {
            NS_TEST_EXPECT_MSG_EQ(bench.left[i].arrival, i, "in order of arrival");
            NS_TEST_EXPECT_MSG_EQ(bench.left[i].at, 20 * NS, "two allocations later, or at once");
        }
        NS_TEST_ASSERT_MSG_EQ(bench.latencies.size(), 1, "one packet allocates");
        NS_TEST_EXPECT_MSG_EQ(bench.latencies[0], 20 * NS, "two services");
    }

    /** Random arrivals, more at a time than the ring has at first. */
    void Many()
    {
        std::mt19937 random(EunomiaTestFabricSeed("eunomia-nic-pipelines"));
        for (const uint32_t pipelines : {1u, 3u}) {
            Simulation simulation;
            const eun_controller_config config{2, pipelines, 1, 50 * NS};
            Bench bench(config);
            int64_t at = 0;
            for (uint32_t psn = 1; psn < 200; psn++) {
                for (uint32_t i = 0; i < Bench::QPS; i++) {
                    at += random() % 12 * NS;
                    const auto qp = static_cast<uint32_t>(random() % Bench::QPS);
                    Simulation::At(at, [&bench, qp, psn] { bench.Arrive(qp, psn); });
                }
            }
            Simulator::Run();
            const eun_controller *c = bench.pipelines->GetController();
            NS_TEST_EXPECT_MSG_EQ(bench.left.size(), 199 * Bench::QPS, "each once");
            NS_TEST_EXPECT_MSG_GT(eun_controller_delayed(c), 1000, "many were held");
            std::map<uint32_t, uint32_t> next;
            for (const Bench::Left &l : bench.left) {
                NS_TEST_ASSERT_MSG_EQ(l.at, bench.due[l.arrival], "as the controller says");
                uint32_t &least = next[bench.pipeline[l.arrival]];
                NS_TEST_ASSERT_MSG_GT_OR_EQ(l.arrival, least, "a pipeline is in order");
                least = l.arrival + 1;
            }
            NS_TEST_EXPECT_MSG_EQ(bench.latencies.size(),
                                  eun_wait_histogram_total(eun_controller_latencies(c)), "traced");
        }
    }

    /** Pipelines that go away with packets in them take their events with them. */
    void Forgotten()
    {
        Simulation simulation;
        Bench bench({1, 1, 0, 10 * NS});
        Simulation::At(0, [&bench] { bench.Arrive(3, 1); });
        Simulation::At(NS, [&bench] { bench.pipelines.reset(); });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bench.left.size(), 0, "nothing left");
    }
};

/** Sends the frame on from the box to host 1 later; for a filter to return. */
bool Delay(EunomiaTestNics &nics, const EunomiaFrame &frame, int64_t by)
{
    EunomiaFrame *kept = Simulation::Pool().Take();
    *kept = frame;
    kept->next = nullptr;
    Simulation::At(EunomiaNow() + by, [&nics, kept] { nics.box.port[1]->Send(kept); });
    return false;
}

/** When answers of each kind reach the sender, and when the message is seen. */
struct Times {
    int64_t sack = -1;
    int64_t ack = -1;
    int64_t visible = -1;
    std::vector<int64_t> latencies;
};

/** Of two packets the second comes first, by `lead`: it needs metadata and a block. */
class WaitCase : public TestCase {
  public:
    WaitCase() : TestCase("answers come later by the time that allocations take") {}

  private:
    static void Arrived(Times *times, const EunomiaFrame &frame)
    {
        (frame.kind == Kind::Sack ? times->sack : times->ack) = EunomiaNow();
    }

    static void Latency(Times *times, Time latency)
    {
        times->latencies.push_back(latency.GetTimeStep());
    }

    static Times Run(int64_t allocPs, uint32_t cache)
    {
        Simulation simulation;
        SetDefault("AllocTime", std::to_string(allocPs) + "ps");
        SetDefault("CacheBlocks", std::to_string(cache));
        EunomiaTestNics nics;
        nics.box.filter = [&nics](EunomiaFrame &frame) {
            return frame.kind != Kind::Data || frame.psn != 0 || Delay(nics, frame, LEAD);
        };
        Times times;
        nics.nic[0]->TraceConnectWithoutContext("Arrival", MakeCallback(&Arrived).Bind(&times));
        nics.nic[1]->TraceConnectWithoutContext("AllocationLatency",
                                                MakeCallback(&Latency).Bind(&times));
        nics.Post(nics.Connect(), 2 * 1024);
        Simulator::Run();
        NS_ABORT_MSG_UNLESS(nics.user.visible.size() == 1 && nics.user.completions.size() == 1,
                            "the message did not complete");
        NS_ABORT_MSG_UNLESS(Simulation::Pool().GetAlive() == 0, "a frame is left");
        times.visible = nics.user.visible[0].at;
        return times;
    }

    void DoRun() override
    {
        const Times none = Run(0, 0);
        NS_TEST_EXPECT_MSG_EQ(none.latencies.size(), 0, "off is silent");
        // Two services end before the first packet comes.
        for (const int64_t service : {int64_t{1}, 10 * NS, 300 * NS}) {
            const Times t = Run(service, 0);
            NS_TEST_EXPECT_MSG_EQ(t.sack - none.sack, 2 * service, "the SACK");
            NS_TEST_EXPECT_MSG_EQ(t.ack, none.ack, "the ACK finds the pipeline free");
            NS_TEST_EXPECT_MSG_EQ(t.visible, none.visible, "so does the message");
            NS_TEST_ASSERT_MSG_EQ(t.latencies.size(), 1, "one packet allocated");
            NS_TEST_EXPECT_MSG_EQ(t.latencies[0], 2 * service, "its latency");
        }
        // They end after it has come: it needs nothing, and waits behind.
        const Times late = Run(3 * US, 0);
        const int64_t between = EunomiaTestWireTime(1024 + 62 + 8 + 20, EunomiaTestNics::RATE);
        NS_TEST_EXPECT_MSG_EQ(late.sack - none.sack, 6 * US, "the SACK");
        NS_TEST_EXPECT_MSG_EQ(late.visible - none.visible, 6 * US - (LEAD - between),
                              "the message, head-of-line blocked");
        NS_TEST_EXPECT_MSG_GT(late.ack, late.sack, "in order");
        const Times cached = Run(3 * US, 2);
        NS_TEST_EXPECT_MSG_EQ(cached.sack, none.sack, "the cache has both");
        NS_TEST_EXPECT_MSG_EQ(cached.ack, none.ack, "the cache has both");
        NS_TEST_ASSERT_MSG_EQ(cached.latencies.size(), 1, "still an allocation");
        NS_TEST_EXPECT_MSG_EQ(cached.latencies[0], 0, "that takes no time");
    }

    static constexpr int64_t LEAD = 2 * US;
};

/** A QP ends while an answer of its is still in the pipeline. */
class ClosedCase : public TestCase {
  public:
    ClosedCase() : TestCase("QPs closed, and opened anew, with packets in the pipeline") {}

  private:
    void DoRun() override
    {
        Once();
        Many();
    }

    void Once()
    {
        Simulation simulation;
        SetDefault("AllocTime", "20us");
        SetDefault("CacheBlocks", "0");
        EunomiaTestNics nics;
        nics.box.filter = [&nics](EunomiaFrame &frame) {
            return frame.kind != Kind::Data || frame.psn != 0 || EunomiaNow() > 5 * US ||
                   Delay(nics, frame, US);
        };
        const uint32_t first = nics.Connect();
        nics.Post(first, 2 * 1024);
        uint32_t second = 0;
        // Both packets have come; their answers would leave at 42 us.
        Simulation::At(10 * US, [&] {
            NS_TEST_EXPECT_MSG_EQ(nics.nic[1]->GetConsumed(), 2, "both came");
            nics.nic[0]->Close(first);
            NS_TEST_EXPECT_MSG_EQ(nics.Connect(), first, "the number is used again");
            second = nics.Post(first, 1024);
        });
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(nics.user.visible.size(), 1, "only of the second life");
        NS_TEST_ASSERT_MSG_EQ(nics.user.completions.size(), 1, "only of the second life");
        NS_TEST_EXPECT_MSG_EQ(nics.user.completions[0].message.cookie, second, "of it");
        NS_TEST_EXPECT_MSG_GT(nics.user.visible[0].at, 40 * US, "behind what was there before");
        NS_TEST_EXPECT_MSG_EQ(nics.nic[1]->GetFramesMade(Kind::Ack), 1, "one answer");
        NS_TEST_EXPECT_MSG_EQ(nics.nic[1]->GetFramesMade(Kind::Sack), 0, "and no other");
        NS_TEST_EXPECT_MSG_EQ(Simulation::Pool().GetAlive(), 0, "no frame left");
    }

    /** Lives of random lengths among reordered packets, cut off or not, in slow pipelines. */
    void Many()
    {
        std::mt19937 random(EunomiaTestFabricSeed("eunomia-nic-pipelines"));
        for (const uint32_t pipelines : {1u, 3u}) {
            Simulation simulation;
            SetDefault("AllocTime", "200ns");
            SetDefault("CacheBlocks", "1");
            SetDefault("Pipelines", std::to_string(pipelines));
            SetDefault("Banks", "2");
            EunomiaTestNics nics;
            nics.box.filter = [&nics, &random](EunomiaFrame &frame) {
                return frame.kind != Kind::Data || random() % 4 ||
                       Delay(nics, frame, static_cast<int64_t>(random() % (2 * US)));
            };
            std::vector<uint32_t> whole;
            for (int i = 0; i < 2000; i++) {
                const auto bytes = static_cast<uint32_t>(1 + random() % 20'000);
                const bool cut = random() % 2;
                const auto life = static_cast<int64_t>(random() % (8 * US));
                Simulation::At(i * 2 * US, [&nics, &whole, bytes, cut, life] {
                    const uint32_t qp = nics.Connect();
                    const uint32_t flow = nics.Post(qp, bytes);
                    if (cut) {
                        Simulation::At(EunomiaNow() + life,
                                       [&nics, qp] { nics.nic[0]->Close(qp); });
                    } else {
                        whole.push_back(flow);
                    }
                });
            }
            Simulator::Run();
            std::map<uint64_t, uint32_t> completed;
            for (const auto &c : nics.user.completions) {
                completed[c.message.cookie]++;
            }
            for (const uint32_t flow : whole) {
                NS_TEST_EXPECT_MSG_EQ(completed[flow], 1, "flow " << flow);
            }
            NS_TEST_EXPECT_MSG_GT_OR_EQ(nics.user.visible.size(), nics.user.completions.size(),
                                        "what completes has been seen");
            NS_TEST_EXPECT_MSG_GT(eun_controller_blocked(nics.nic[1]->GetController()), 1000,
                                  "pipelines were slow");
            NS_TEST_EXPECT_MSG_EQ(Simulation::Pool().GetAlive(), 0, "no frame left");
        }
    }
};

class EunomiaNicPipelinesTestSuite : public TestSuite {
  public:
    EunomiaNicPipelinesTestSuite() : TestSuite("eunomia-nic-pipelines", Type::UNIT)
    {
        AddTestCase(new OrderCase);
        AddTestCase(new WaitCase);
        AddTestCase(new ClosedCase);
    }
};

EunomiaNicPipelinesTestSuite g_eunomiaNicPipelinesTestSuite;

} // namespace
