// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-telemetry.h"
#include "eunomia-test-fabric.h"

#include "ns3/test.h"

#include <map>
#include <random>
#include <vector>

using namespace ns3;

namespace {

/** Against a map of vectors, over random takes, records and releases, on paths of any length. */
class ModelCase : public TestCase {
  public:
    ModelCase() : TestCase("a store of records equals a map") {}

  private:
    struct Path {
        std::vector<uint64_t> records;
        uint16_t path = 0;
    };

    void DoRun() override
    {
        std::mt19937_64 random(EunomiaTestFabricSeed("eunomia-telemetry"));
        for (const uint32_t longest : {3u, 7u, 100u}) {
            EunomiaTelemetry store;
            std::map<uint32_t, Path> model;
            for (uint32_t i = 0; i < 60'000; i++) {
                const uint64_t draw = random();
                if (draw % 3 == 0 || model.empty()) {
                    const uint32_t slot = store.Take();
                    NS_TEST_ASSERT_MSG_GT(slot, 0, "0 is none");
                    NS_TEST_ASSERT_MSG_EQ(model.count(slot), 0, "nobody else's");
                    model[slot] = Path{};
                    Check(store, slot, model[slot]);
                    continue;
                }
                auto found = model.lower_bound(static_cast<uint32_t>(draw >> 8) % 3000);
                found = found == model.end() ? model.begin() : found;
                auto &[slot, path] = *found;
                if (path.records.size() < longest) {
                    const auto link = static_cast<uint16_t>(draw >> 40);
                    store.Append(slot, draw, link);
                    path.records.push_back(draw);
                    path.path ^= link;
                }
                Check(store, slot, path);
                if (draw % 3 == 1 && model.size() > 2000) {
                    store.Release(slot);
                    model.erase(found);
                }
                NS_TEST_ASSERT_MSG_EQ(store.GetAlive(), model.size(), "in use");
            }
            for (const auto &[slot, path] : model) {
                Check(store, slot, path);
            }
            NS_TEST_EXPECT_MSG_EQ(store.Get(0).count, 0, "no slot, no records");
        }
    }

    void Check(const EunomiaTelemetry &store, uint32_t slot, const Path &path)
    {
        const eun_int_path found = store.Get(slot);
        NS_TEST_ASSERT_MSG_EQ(found.count, path.records.size(), "records");
        NS_TEST_ASSERT_MSG_EQ(store.GetHops(slot), path.records.size(), "records");
        NS_TEST_ASSERT_MSG_EQ(found.path, path.path, "path");
        for (uint32_t i = 0; i < found.count; i++) {
            NS_TEST_ASSERT_MSG_EQ(found.hops[i], path.records[i], "record " << i);
        }
    }
};

/** The pool of frames gives back what a frame has; a holder what it holds last. */
class OwnersCase : public TestCase {
  public:
    OwnersCase() : TestCase("who gives a slot back") {}

  private:
    void DoRun() override
    {
        EunomiaFramePool pool;
        EunomiaFrame *frame = pool.Take();
        frame->telemetry = pool.Telemetry().Take();
        pool.Release(pool.Take());
        NS_TEST_EXPECT_MSG_EQ(pool.Telemetry().GetAlive(), 1, "another frame's");
        pool.Release(frame);
        NS_TEST_EXPECT_MSG_EQ(pool.Telemetry().GetAlive(), 0, "given back");
        uint32_t kept = 0;
        {
            const uint32_t slot = pool.Telemetry().Take();
            EunomiaTelemetry::Holder holder(pool.Telemetry(), slot);
            holder.Swap(kept);
            NS_TEST_EXPECT_MSG_EQ(kept, slot, "taken over");
        }
        NS_TEST_EXPECT_MSG_EQ(pool.Telemetry().GetAlive(), 1, "by the new owner");
        {
            EunomiaTelemetry::Holder holder(pool.Telemetry(), pool.Telemetry().Take());
            holder.Swap(kept);
            NS_TEST_EXPECT_MSG_EQ(pool.Telemetry().GetAlive(), 2, "both");
        }
        NS_TEST_EXPECT_MSG_EQ(pool.Telemetry().GetAlive(), 1, "the old one went");
    }
};

class EunomiaTelemetryTestSuite : public TestSuite {
  public:
    EunomiaTelemetryTestSuite() : TestSuite("eunomia-telemetry", Type::UNIT)
    {
        AddTestCase(new ModelCase);
        AddTestCase(new OwnersCase);
    }
};

EunomiaTelemetryTestSuite g_eunomiaTelemetryTestSuite;

} // namespace
