/* SPDX-License-Identifier: GPL-2.0-only */
#include "eunomia-json.h"

#include <limits>
#include <ns3/test.h>

using namespace ns3;

namespace {

class LayoutCase : public TestCase {
  public:
    LayoutCase() : TestCase("nesting, commas, indentation") {}

  private:
    void DoRun() override
    {
        EunomiaJsonWriter json;
        json.BeginObject();
        json.Uint("whole", 18446744073709551615u);
        json.Key("list");
        json.BeginArray();
        json.Int(-3);
        json.Bool(true);
        json.Bool(false);
        json.Null();
        json.BeginObject();
        json.EndObject();
        json.BeginArray();
        json.EndArray();
        json.EndArray();
        json.Key("inner");
        json.BeginObject();
        json.Fixed("fixed", 0.5, 3);
        json.Key("shortest");
        json.Shortest(0.1);
        json.EndObject();
        json.EndObject();
        NS_TEST_EXPECT_MSG_EQ(json.Text(),
                              "{\n"
                              "  \"whole\": 18446744073709551615,\n"
                              "  \"list\": [\n"
                              "    -3,\n"
                              "    true,\n"
                              "    false,\n"
                              "    null,\n"
                              "    {},\n"
                              "    []\n"
                              "  ],\n"
                              "  \"inner\": {\n"
                              "    \"fixed\": 0.500,\n"
                              "    \"shortest\": 0.1\n"
                              "  }\n"
                              "}",
                              "");
    }
};

class ValuesCase : public TestCase {
  public:
    ValuesCase() : TestCase("strings and numbers that JSON lacks") {}

  private:
    void DoRun() override
    {
        EunomiaJsonWriter json;
        json.BeginArray();
        json.String("a\"b\\c/\xc3\xa9");
        json.String(std::string_view("\n\t\x1f\0", 4));
        json.Fixed(std::numeric_limits<double>::quiet_NaN(), 6);
        json.Shortest(std::numeric_limits<double>::infinity());
        json.EndArray();
        NS_TEST_EXPECT_MSG_EQ(json.Text(),
                              "[\n"
                              "  \"a\\\"b\\\\c/\xc3\xa9\",\n"
                              "  \"\\u000a\\u0009\\u001f\\u0000\",\n"
                              "  null,\n"
                              "  null\n"
                              "]",
                              "");
    }
};

class EunomiaJsonTestSuite : public TestSuite {
  public:
    EunomiaJsonTestSuite() : TestSuite("eunomia-json", Type::UNIT)
    {
        AddTestCase(new LayoutCase);
        AddTestCase(new ValuesCase);
    }
};

EunomiaJsonTestSuite g_eunomiaJsonTestSuite;

} // namespace
