// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-connection-bytes.h"

#include <cmath>
#include <ns3/test.h>

using namespace ns3;

namespace {

class RowsCase : public TestCase {
  public:
    RowsCase() : TestCase("what is published, and what is counted") {}

  private:
    void Contains(const std::string &text, const std::string &part)
    {
        NS_TEST_EXPECT_MSG_NE(text.find(part), std::string::npos, part << " in\n" << text);
    }

    void DoRun() override
    {
        static const struct {
            const char *scheme;
            double published, state; // 0: not known
        } want[] = {{"Eunomia, in order", 4, 4},
                    {"Eunomia, 64 PSNs", 0, 60},
                    {"Eunomia, 256 PSNs", 82, 84},
                    {"fixed bitmap", 41, 0},
                    {"IRN", 145, 0},
                    {"MP-RDMA", 66, 0}};
        const std::vector<EunomiaConnectionBytes> rows = EunomiaCompareConnections();
        NS_TEST_ASSERT_MSG_EQ(rows.size(), 6, "");
        for (size_t i = 0; i < rows.size(); i++) {
            const EunomiaConnectionBytes &row = rows[i];
            const auto known = [](double bytes) { return std::isnan(bytes) ? 0 : bytes; };
            NS_TEST_EXPECT_MSG_EQ(row.scheme, want[i].scheme, "");
            NS_TEST_EXPECT_MSG_EQ(known(row.published), want[i].published, row.scheme);
            NS_TEST_EXPECT_MSG_EQ(known(row.state), want[i].state, row.scheme);
            NS_TEST_EXPECT_MSG_EQ(known(row.addedUp), want[i].state, row.scheme);
            NS_TEST_EXPECT_MSG_EQ((known(row.control) > 0), (want[i].state > 0), row.scheme);
        }
        EunomiaJsonWriter json;
        json.BeginObject();
        EunomiaWriteConnections(&json, rows);
        json.EndObject();
        Contains(json.Text(), "\"scheme\": \"Eunomia, 256 PSNs\",\n      \"published\": 82,\n"
                              "      \"added_up\": 84,\n      \"state\": 84,");
        Contains(json.Text(), "\"published\": 66,\n      \"added_up\": null,\n");
        std::string text;
        EunomiaPrintConnections(&text, rows);
        Contains(text, "\nEunomia, 256 PSNs         82     84     84 ");
        Contains(text, "\nMP-RDMA                   66      -      -       -\n");
        Contains(text, "the published 82 is not itemised");
    }
};

class EunomiaConnectionBytesTestSuite : public TestSuite {
  public:
    EunomiaConnectionBytesTestSuite() : TestSuite("eunomia-connection-bytes", Type::UNIT)
    {
        AddTestCase(new RowsCase);
    }
};

EunomiaConnectionBytesTestSuite g_eunomiaConnectionBytesTestSuite;

} // namespace
