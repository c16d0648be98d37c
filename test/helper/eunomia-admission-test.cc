// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-admission.h"

#include "eunomia-test-folder.h"

#include <ns3/test.h>
#include <random>

using namespace ns3;

namespace {

/** QPs that fit, by taking 48 bytes and 2 a 16 PSNs off the pool until they do not. */
uint32_t NaiveQps(uint32_t poolBytes, uint32_t psns)
{
    uint32_t qps = 0;
    for (uint32_t left = poolBytes; left >= 48 + psns / 8; left -= 48 + psns / 8) {
        qps++;
    }
    return qps;
}

class PoolCase : public TestCase {
  public:
    PoolCase() : TestCase("the allocator serves what the model says") {}

  private:
    void Check(uint32_t poolBytes, uint32_t qps)
    {
        const std::string what = std::to_string(poolBytes) + " B, " + std::to_string(qps) + " QPs";
        const EunomiaAdmission study = EunomiaStudyAdmission(poolBytes, qps);
        NS_TEST_ASSERT_MSG_EQ(study.rows.size(), 16, what);
        for (size_t i = 0; i < study.rows.size(); i++) {
            const EunomiaAdmissionRow &row = study.rows[i];
            const uint32_t fit = std::min(qps, NaiveQps(poolBytes, row.psns));
            NS_TEST_EXPECT_MSG_EQ(row.psns, 16 * (i + 1), what);
            NS_TEST_EXPECT_MSG_EQ(row.model, fit, what << ", " << row.psns << " PSNs");
            NS_TEST_EXPECT_MSG_EQ(row.measured, fit, what << ", " << row.psns << " PSNs");
            NS_TEST_EXPECT_MSG_EQ_TOL(row.sharePct, 100.0 * fit / qps, 1e-9, what);
        }
    }

    void DoRun() override
    {
        Check(2048, 1000000);
        Check(2048, 30);
        Check(48, 10); // metadata and no block
        Check(50, 10);
        Check(2, 1);
        Check(EUNOMIA_ADMISSION_POOL_MAX, 16777216);
        std::mt19937_64 random(EunomiaTestSeed("eunomia-admission"));
        for (int i = 0; i < 50; i++) {
            Check(static_cast<uint32_t>(2 + random() % 8000 * 2),
                  static_cast<uint32_t>(1 + random() % 200));
        }
    }
};

class ReportCase : public TestCase {
  public:
    ReportCase() : TestCase("table and JSON") {}

  private:
    void DoRun() override
    {
        const EunomiaAdmission study = EunomiaStudyAdmission(2048, 1000);
        EunomiaJsonWriter json;
        json.BeginObject();
        EunomiaWriteAdmission(&json, study);
        json.EndObject();
        const std::string start = "{\n  \"admission\": {\n    \"pool_bytes\": 2048,\n"
                                  "    \"qps\": 1000,\n    \"rows\": [\n      {\n"
                                  "        \"psns\": 16,\n        \"model_qps\": 40,\n"
                                  "        \"measured_qps\": 40,\n"
                                  "        \"measured_pct\": 4.000000\n      },\n";
        NS_TEST_EXPECT_MSG_EQ(json.Text().substr(0, start.size()), start, "");
        std::string text;
        EunomiaPrintAdmission(&text, study);
        for (const char *part :
             {"a pool of 2048 B ", "of 1000 open", "\n  16      40        40   4.0000\n",
              "\n 256      25        25   2.5000\n"}) {
            NS_TEST_EXPECT_MSG_NE(text.find(part), std::string::npos, part);
        }
    }
};

class EunomiaAdmissionTestSuite : public TestSuite {
  public:
    EunomiaAdmissionTestSuite() : TestSuite("eunomia-admission", Type::UNIT)
    {
        AddTestCase(new PoolCase);
        AddTestCase(new ReportCase);
    }
};

EunomiaAdmissionTestSuite g_eunomiaAdmissionTestSuite;

} // namespace
