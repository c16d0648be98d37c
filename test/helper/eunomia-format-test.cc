/* SPDX-License-Identifier: GPL-2.0-only */
#include "eunomia-format.h"
#include "eunomia-test-folder.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <ns3/test.h>
#include <random>

using namespace ns3;

namespace {

constexpr double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();
constexpr double INFINITE = std::numeric_limits<double>::infinity();

std::string Fixed(double value, int decimals)
{
    std::string text;
    EunomiaAppendFixed(&text, value, decimals);
    return text;
}

std::string Shortest(double value)
{
    std::string text;
    EunomiaAppendShortest(&text, value);
    return text;
}

std::string Csv(const std::string &value)
{
    std::string text;
    EunomiaAppendCsv(&text, value);
    return text;
}

class NumbersCase : public TestCase {
  public:
    NumbersCase() : TestCase("numbers, examples") {}

  private:
    void DoRun() override
    {
        std::string text = "x";
        EunomiaAppendInt(&text, std::numeric_limits<int64_t>::min());
        EunomiaAppendUint(&text, std::numeric_limits<uint64_t>::max());
        NS_TEST_EXPECT_MSG_EQ(text, "x-922337203685477580818446744073709551615", "appends");
        NS_TEST_EXPECT_MSG_EQ(Fixed(1.5, 6), "1.500000", "");
        NS_TEST_EXPECT_MSG_EQ(Fixed(2e9, 0), "2000000000", "");
        NS_TEST_EXPECT_MSG_EQ(Fixed(1e308, 17).size(), 327, "as long as it gets");
        NS_TEST_EXPECT_MSG_EQ(Shortest(0.1), "0.1", "");
        NS_TEST_EXPECT_MSG_EQ(Shortest(100), "100", "");
        for (double value : {NOT_A_NUMBER, INFINITE, -INFINITE}) {
            NS_TEST_EXPECT_MSG_EQ(Fixed(value, 6), "", "not finite");
            NS_TEST_EXPECT_MSG_EQ(Shortest(value), "", "not finite");
        }
        NS_TEST_EXPECT_MSG_EQ(EunomiaRoundToNs(0), 0, "");
        NS_TEST_EXPECT_MSG_EQ(EunomiaRoundToNs(499), 0, "below half");
        NS_TEST_EXPECT_MSG_EQ(EunomiaRoundToNs(500), 1, "half goes up");
        NS_TEST_EXPECT_MSG_EQ(EunomiaRoundToNs(2000000402499), 2000000402, "");
        NS_TEST_EXPECT_MSG_EQ(EunomiaRoundToNs(std::numeric_limits<int64_t>::max()),
                              9223372036854776, "no overflow");
    }
};

/** printf is the reference for fixed decimals, strtod for the way back. */
class RandomCase : public TestCase {
  public:
    RandomCase() : TestCase("numbers against the C library") {}

  private:
    void DoRun() override
    {
        std::mt19937_64 random(EunomiaTestSeed("format"));
        for (int i = 0; i < 20000; i++) {
            uint64_t bits = random();
            double any;
            std::memcpy(&any, &bits, sizeof any);
            if (!std::isfinite(any)) {
                continue;
            }
            NS_TEST_EXPECT_MSG_EQ(std::strtod(Shortest(any).c_str(), nullptr), any, "round trip");
            double usual = static_cast<double>(random() >> 11) * 0x1p-40;
            char expected[64];
            std::snprintf(expected, sizeof expected, "%.6f", usual);
            NS_TEST_EXPECT_MSG_EQ(Fixed(usual, 6), expected, "six decimals");
        }
    }
};

class CsvCase : public TestCase {
  public:
    CsvCase() : TestCase("CSV fields") {}

  private:
    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(Csv(""), "", "");
        NS_TEST_EXPECT_MSG_EQ(Csv("failed:retries"), "failed:retries", "");
        NS_TEST_EXPECT_MSG_EQ(Csv("a,b"), "\"a,b\"", "");
        NS_TEST_EXPECT_MSG_EQ(Csv("a \"b\""), "\"a \"\"b\"\"\"", "");
        NS_TEST_EXPECT_MSG_EQ(Csv("a\nb"), "\"a\nb\"", "");
        NS_TEST_EXPECT_MSG_EQ(Csv("a\rb"), "\"a\rb\"", "");
    }
};

class PrintCase : public TestCase {
  public:
    PrintCase() : TestCase("printf to the end of a text") {}

  private:
    void DoRun() override
    {
        std::string text = "a";
        EunomiaPrint(&text, "%3u|%-3s|", 7u, "b");
        NS_TEST_EXPECT_MSG_EQ(text, "a  7|b  |", "");
        EunomiaPrint(&text, "%300s", "end");
        NS_TEST_EXPECT_MSG_EQ(text, "a  7|b  |" + std::string(255, ' '), "cut");
    }
};

class EunomiaFormatTestSuite : public TestSuite {
  public:
    EunomiaFormatTestSuite() : TestSuite("eunomia-format", Type::UNIT)
    {
        AddTestCase(new NumbersCase);
        AddTestCase(new RandomCase);
        AddTestCase(new CsvCase);
        AddTestCase(new PrintCase);
    }
};

EunomiaFormatTestSuite g_eunomiaFormatTestSuite;

} // namespace
