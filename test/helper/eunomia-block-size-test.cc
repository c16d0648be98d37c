// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-block-size.h"

#include "core/reorder/reorder.h"
#include "eunomia-memory-model.h"
#include "eunomia-test-folder.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <ns3/test.h>

using namespace ns3;

namespace {

/** Mean blocks over a distribution that is written out, one reach after the other. */
template <typename Weight>
double NaiveBlocks(uint32_t blockPsns, Weight weight)
{
    double sum = 0;
    double all = 0;
    for (uint32_t ahead = 1; ahead <= 255; ahead++) {
        uint32_t blocks = 1; // that of the missing PSN
        for (uint32_t psn = 1; psn <= ahead; psn++) {
            blocks += psn % blockPsns == 0;
        }
        sum += weight(ahead) * blocks;
        all += weight(ahead);
    }
    return sum / all;
}

class DistributionCase : public TestCase {
  public:
    DistributionCase() : TestCase("closed forms are the sums written out") {}

  private:
    static double Even(uint32_t) { return 1; }
    static double Geometric(uint32_t ahead) { return std::pow(15.0 / 16, ahead - 1.0) / 16; }

    void DoRun() override
    {
        for (uint32_t blockPsns = 1; blockPsns <= 600; blockPsns++) {
            NS_TEST_EXPECT_MSG_EQ_TOL(EunomiaUniformBlocks(blockPsns), NaiveBlocks(blockPsns, Even),
                                      1e-9, blockPsns);
            NS_TEST_EXPECT_MSG_EQ_TOL(EunomiaGeometricBlocks(blockPsns),
                                      NaiveBlocks(blockPsns, Geometric), 1e-9, blockPsns);
        }
        // With a block a PSN, the blocks are the missing PSN and those ahead of it.
        NS_TEST_EXPECT_MSG_EQ_TOL(EunomiaUniformAhead(), NaiveBlocks(1, Even) - 1, 1e-9, "");
        NS_TEST_EXPECT_MSG_EQ_TOL(EunomiaGeometricAhead(), NaiveBlocks(1, Geometric) - 1, 1e-9, "");
    }
};

/** What the layer itself allocates, for the block sizes that it can be built with. */
class LayerCase : public TestCase {
  public:
    LayerCase() : TestCase("allocations of the ordering layer") {}

  private:
    void Check(uint32_t blockPsns, uint32_t aheadMax)
    {
        eun_reorder_config config{};
        config.blocks = 60000;
        config.banks = 1;
        config.cap_psns = aheadMax + 1;
        config.block_bits = blockPsns;
        const std::unique_ptr<eun_reorder, decltype(&eun_reorder_free)> layer(
            eun_reorder_new(&config), eun_reorder_free);
        NS_TEST_ASSERT_MSG_NE(layer.get(), nullptr, blockPsns);
        EunomiaSpans spans;
        for (uint32_t ahead = 1; ahead <= aheadMax; ahead++) {
            eun_reorder_open(layer.get(), ahead);
            NS_TEST_EXPECT_MSG_EQ(EunomiaReorderQp(layer.get(), ahead, ahead + 1), true, ahead);
            spans.Add(ahead);
        }
        const double allocated = static_cast<double>(eun_reorder_stats(layer.get())->alloc);
        NS_TEST_EXPECT_MSG_EQ_TOL(allocated / aheadMax, 1 + spans.MeanBlocks(blockPsns), 1e-9,
                                  blockPsns);
        if (aheadMax == EUNOMIA_AHEAD_MAX) {
            NS_TEST_EXPECT_MSG_EQ_TOL(allocated / aheadMax, 1 + EunomiaUniformBlocks(blockPsns),
                                      1e-9, blockPsns);
        }
    }

    void DoRun() override
    {
        Check(16, 255);
        Check(8, 127);
    }
};

class StudyCase : public TestCase {
  public:
    StudyCase() : TestCase("rows") {}

  private:
    void DoRun() override
    {
        EunomiaSpans spans;
        spans.Add(1);
        spans.Add(15);
        spans.Add(16);
        spans.Add(1000); // counts as 255
        NS_TEST_EXPECT_MSG_EQ(spans.MeanAhead(), (1 + 15 + 16 + 255) / 4.0, "");
        NS_TEST_EXPECT_MSG_EQ(spans.MeanBlocks(16), (1 + 1 + 2 + 16) / 4.0, "");
        const EunomiaBlockSizeStudy study = EunomiaStudyBlockSize(2048, &spans);
        static const struct {
            uint32_t bytes, psns, idBits, ids, metadata;
        } rows[] = {{2, 16, 11, 16, 48}, {4, 32, 10, 8, 32},  {8, 64, 9, 4, 24},
                    {16, 128, 8, 2, 32}, {32, 256, 7, 1, 32}, {64, 512, 6, 1, 64}};
        NS_TEST_ASSERT_MSG_EQ(study.rows.size(), 6, "");
        NS_TEST_ASSERT_MSG_EQ(study.kinds.size(), 3, "");
        for (size_t i = 0; i < 6; i++) {
            const EunomiaBlockSizeRow &row = study.rows[i];
            NS_TEST_EXPECT_MSG_EQ(row.blockBytes, rows[i].bytes, "");
            NS_TEST_EXPECT_MSG_EQ(row.blockPsns, rows[i].psns, row.blockBytes);
            NS_TEST_EXPECT_MSG_EQ(row.idBits, rows[i].idBits, row.blockBytes);
            NS_TEST_EXPECT_MSG_EQ(row.ids, rows[i].ids, row.blockBytes);
            NS_TEST_EXPECT_MSG_EQ(row.metadataBytes, rows[i].metadata, row.blockBytes);
            const EunomiaBlockUse &use = row.use[2];
            const double blocks = spans.MeanBlocks(row.blockPsns);
            NS_TEST_EXPECT_MSG_EQ(use.allocations, 1 + blocks, row.blockBytes);
            NS_TEST_EXPECT_MSG_EQ(use.rented, blocks * row.blockBytes, row.blockBytes);
            NS_TEST_EXPECT_MSG_EQ(use.waste, use.rented - (287 / 4.0 + 1) / 8, row.blockBytes);
            NS_TEST_EXPECT_MSG_EQ(use.total, use.rented + row.metadataBytes, row.blockBytes);
        }
        NS_TEST_EXPECT_MSG_EQ(EunomiaStudyBlockSize(2, nullptr).rows[0].idBits, 1, "one block");
        NS_TEST_EXPECT_MSG_EQ(EunomiaStudyBlockSize(2, nullptr).kinds.size(), 2, "");
        Report(study);
    }

    void Report(const EunomiaBlockSizeStudy &study)
    {
        EunomiaJsonWriter json;
        json.BeginObject();
        EunomiaWriteBlockSize(&json, study);
        json.EndObject();
        std::string text;
        EunomiaPrintBlockSize(&text, study);
        for (const char *part : {"\"pool_bytes\": 2048,", "\"measured\": 72.7500\n",
                                 "\"id_bits\": 11,", "\"allocations\": 6.0000,"}) {
            NS_TEST_EXPECT_MSG_NE(json.Text().find(part), std::string::npos, part);
        }
        for (const char *part : {"uniform  129.0", "measured   72.8", "\n    2   16      11 "}) {
            NS_TEST_EXPECT_MSG_NE(text.find(part), std::string::npos, part);
        }
    }
};

class ReadCase : public TestCase {
  public:
    ReadCase() : TestCase("spans of a result folder") {}

  private:
    /** What is said about a flows.csv of that text, without the name of the file. */
    std::string Refusal(const std::string &text)
    {
        m_folder.Write("flows.csv", text);
        const std::string folder = m_folder.Path(".");
        const std::string said = EunomiaRefusal([&] { EunomiaReadSpans(folder); });
        return said.substr(std::min(said.size(), folder.size()));
    }

    void DoRun() override
    {
        m_folder.Write("flows.csv", "flow,max_reorder_span,status\n"
                                    "0,0,done\n1,3,done\n2,300,failed:retry-limit\n");
        const EunomiaSpans spans = EunomiaReadSpans(m_folder.Path("."));
        NS_TEST_EXPECT_MSG_EQ(spans.total, 2, "");
        NS_TEST_EXPECT_MSG_EQ(spans.count[3], 1, "");
        NS_TEST_EXPECT_MSG_EQ(spans.count[255], 1, "");
        static const struct {
            const char *text;
            const char *said;
        } rows[] = {
            {"", "/flows.csv:1: header: the file is empty"},
            {"flow,status\n0,done\n", "/flows.csv:1: max_reorder_span: there is no such column"},
            {"flow,max_reorder_span\n0,1\n1\n", "/flows.csv:3: row: 1 fields, the header has 2"},
            {"flow,max_reorder_span\n0,-1\n",
             "/flows.csv:2: max_reorder_span: '-1' is no whole number"},
            {"flow,max_reorder_span\n0,\n",
             "/flows.csv:2: max_reorder_span: '' is no whole number"},
            {"flow,max_reorder_span\n0 1\n",
             "/flows.csv:2: row: there is a blank in it; is this a flows.csv?"},
            {"flow,max_reorder_span\n0,0\n", "/flows.csv: max_reorder_span: no flow was reordered"},
        };
        for (const auto &row : rows) {
            NS_TEST_EXPECT_MSG_EQ(Refusal(row.text), row.said, row.text);
        }
    }

    EunomiaTestFolder m_folder;
};

class EunomiaBlockSizeTestSuite : public TestSuite {
  public:
    EunomiaBlockSizeTestSuite() : TestSuite("eunomia-block-size", Type::UNIT)
    {
        AddTestCase(new DistributionCase);
        AddTestCase(new LayerCase);
        AddTestCase(new StudyCase);
        AddTestCase(new ReadCase);
    }
};

EunomiaBlockSizeTestSuite g_eunomiaBlockSizeTestSuite;

} // namespace
