/* SPDX-License-Identifier: GPL-2.0-only */
#include "eunomia-test-folder.h"
#include "eunomia-text-reader.h"

#include <limits>
#include <ns3/test.h>
#include <random>
#include <zlib.h>

using namespace ns3;

namespace {

constexpr int64_t INT64_LARGEST = std::numeric_limits<int64_t>::max();

class UnsignedCase : public TestCase {
  public:
    UnsignedCase() : TestCase("whole numbers") {}

  private:
    void DoRun() override
    {
        static const struct {
            const char *text;
            EunomiaParse result;
            uint64_t value;
        } rows[] = {
            {"0", EunomiaParse::OK, 0},
            {"007", EunomiaParse::OK, 7},
            {"18446744073709551615", EunomiaParse::OK, UINT64_MAX},
            {"18446744073709551616", EunomiaParse::TOO_LARGE, 0},
            {"-1", EunomiaParse::NEGATIVE, 0},
            {"", EunomiaParse::NOT_A_NUMBER, 0},
            {"-", EunomiaParse::NOT_A_NUMBER, 0},
            {"+1", EunomiaParse::NOT_A_NUMBER, 0},
            {"1.0", EunomiaParse::NOT_A_NUMBER, 0},
            {"1e3", EunomiaParse::NOT_A_NUMBER, 0},
            {"0x10", EunomiaParse::NOT_A_NUMBER, 0},
            {"12a", EunomiaParse::NOT_A_NUMBER, 0},
        };
        for (const auto &row : rows) {
            uint64_t value = 0;
            EunomiaParse result = EunomiaParseUnsigned(row.text, &value);
            NS_TEST_EXPECT_MSG_EQ((result == row.result), true, row.text);
            if (result == EunomiaParse::OK) {
                NS_TEST_EXPECT_MSG_EQ(value, row.value, row.text);
            }
        }
    }
};

class FixedCase : public TestCase {
  public:
    FixedCase() : TestCase("fixed-point numbers, examples") {}

  private:
    void DoRun() override
    {
        static const struct {
            const char *text;
            EunomiaParse result;
            int64_t value;
        } rows[] = {
            {"2.000000402", EunomiaParse::OK, 2000000402000},
            {"2", EunomiaParse::OK, 2000000000000},
            {"2.", EunomiaParse::OK, 2000000000000},
            {".5", EunomiaParse::OK, 500000000000},
            {"0", EunomiaParse::OK, 0},
            {"0e9999999999999999999", EunomiaParse::OK, 0},
            {"4.02e-07", EunomiaParse::OK, 402000},
            {"2.0000004E+00", EunomiaParse::OK, 2000000400000},
            {"12e3", EunomiaParse::OK, 12000000000000000},
            {"0.0000000000004999", EunomiaParse::OK, 0},
            {"0.0000000000005", EunomiaParse::OK, 1},
            {"0.00000000000049999999999999999999999", EunomiaParse::OK, 0},
            {"1.9999999999995", EunomiaParse::OK, 2000000000000},
            {"5e-13", EunomiaParse::OK, 1},
            {"5e-14", EunomiaParse::OK, 0},
            {"1e-9999999999999999999999", EunomiaParse::OK, 0},
            {"9223372.036854775807", EunomiaParse::OK, INT64_LARGEST},
            {"9223372.0368547758074", EunomiaParse::OK, INT64_LARGEST},
            {"9223372.0368547758075", EunomiaParse::TOO_LARGE, 0},
            {"9223372.036854775808", EunomiaParse::TOO_LARGE, 0},
            {"1e9999999999999999999999", EunomiaParse::TOO_LARGE, 0},
            {"-0.1", EunomiaParse::NEGATIVE, 0},
            {"", EunomiaParse::NOT_A_NUMBER, 0},
            {".", EunomiaParse::NOT_A_NUMBER, 0},
            {"-", EunomiaParse::NOT_A_NUMBER, 0},
            {"1e", EunomiaParse::NOT_A_NUMBER, 0},
            {"1e+", EunomiaParse::NOT_A_NUMBER, 0},
            {"1.2.3", EunomiaParse::NOT_A_NUMBER, 0},
            {"1,5", EunomiaParse::NOT_A_NUMBER, 0},
            {"nan", EunomiaParse::NOT_A_NUMBER, 0},
            {"inf", EunomiaParse::NOT_A_NUMBER, 0},
            {"0x1p3", EunomiaParse::NOT_A_NUMBER, 0},
            {"2s", EunomiaParse::NOT_A_NUMBER, 0},
        };
        for (const auto &row : rows) {
            int64_t value = 0;
            EunomiaParse result = EunomiaParseFixed(row.text, 12, &value);
            NS_TEST_EXPECT_MSG_EQ((result == row.result), true, row.text);
            if (result == EunomiaParse::OK) {
                NS_TEST_EXPECT_MSG_EQ(value, row.value, row.text);
            }
        }
    }
};

/** Any picosecond survives being written in any of the usual ways. */
class FixedRoundTripCase : public TestCase {
  public:
    FixedRoundTripCase() : TestCase("fixed-point numbers, round trip") {}

  private:
    void DoRun() override
    {
        std::mt19937_64 random(EunomiaTestSeed("text reader"));
        for (int i = 0; i < 20000; i++) {
            uint64_t any = random() >> (1 + random() % 63);
            int64_t ps = static_cast<int64_t>(any);
            std::string digits = std::to_string(ps);
            Expect(digits + "e-12", ps);
            digits.insert(0, digits.size() > 12 ? 0 : 13 - digits.size(), '0');
            std::string plain = digits;
            plain.insert(plain.size() - 12, ".");
            Expect(plain, ps);
            Expect(plain + "499", ps);
            size_t point = 1 + random() % (digits.size() - 1);
            long exponent = static_cast<long>(digits.size() - point) - 12;
            digits.insert(point, ".");
            Expect(digits + "e" + std::to_string(exponent), ps);
        }
    }

    void Expect(const std::string &text, int64_t ps)
    {
        int64_t value = -1;
        EunomiaParse result = EunomiaParseFixed(text, 12, &value);
        NS_TEST_EXPECT_MSG_EQ((result == EunomiaParse::OK), true, text);
        NS_TEST_EXPECT_MSG_EQ(value, ps, text);
    }
};

class LinesCase : public TestCase {
  public:
    LinesCase() : TestCase("lines and columns") {}

  private:
    void DoRun() override
    {
        EunomiaTestFolder folder;
        std::string longLine(1 << 16, 'x');
        /* Longer than the reader's buffer, so that lines lie across its end. */
        std::string text = "\xEF\xBB\xBFone two\t three \r\n\n  \r\n4\n" + longLine + "\n" +
                           longLine + "\n" + longLine + "\nlast";
        for (bool gzip : {false, true}) {
            std::string path = folder.Path(gzip ? "text.gz" : "text");
            gzFile out = gzopen(path.c_str(), gzip ? "wb" : "wbT");
            gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
            gzclose(out);
            EunomiaTextReader reader(path);
            Expect(reader, 1, {"one", "two", "three"});
            Expect(reader, 4, {"4"});
            for (uint64_t line = 5; line <= 7; line++) {
                Expect(reader, line, {longLine});
            }
            Expect(reader, 8, {"last"});
            NS_TEST_EXPECT_MSG_EQ(reader.NextLine(), false, "end of the file");
        }
    }

    void Expect(EunomiaTextReader &reader, uint64_t line, const std::vector<std::string> &fields)
    {
        NS_TEST_ASSERT_MSG_EQ(reader.NextLine(), true, "line " << line);
        NS_TEST_EXPECT_MSG_EQ(reader.LineNumber(), line, "number of the line");
        std::vector<std::string> found(reader.Fields().begin(), reader.Fields().end());
        NS_TEST_EXPECT_MSG_EQ((found == fields), true, "columns of line " << line);
    }
};

class DamageCase : public TestCase {
  public:
    DamageCase() : TestCase("files that cannot be read") {}

  private:
    static std::string ReadAll(const std::string &path)
    {
        return EunomiaRefusal([&] {
            EunomiaTextReader reader(path);
            while (reader.NextLine()) {
            }
        });
    }

    void DoRun() override
    {
        EunomiaTestFolder folder;
        std::string none = folder.Path("none");
        NS_TEST_EXPECT_MSG_EQ(ReadAll(none), none + ": cannot open: No such file or directory", "");
        NS_TEST_EXPECT_MSG_EQ(ReadAll(folder.Path("")),
                              folder.Path("") + ": cannot read: Is a directory", "");
        std::string tooLong = folder.Write("long", "1\n" + std::string((1 << 16) + 1, 'x'));
        NS_TEST_EXPECT_MSG_EQ(ReadAll(tooLong), tooLong + ":2: line longer than 65536 bytes", "");
        std::string across; /* the end of the reader's buffer lies within the long line */
        while (across.size() < 100000) {
            across += "1\n";
        }
        tooLong = folder.Write("long", across + std::string((1 << 16) + 1, 'x'));
        NS_TEST_EXPECT_MSG_EQ(ReadAll(tooLong), tooLong + ":50001: line longer than 65536 bytes",
                              "");
        NS_TEST_EXPECT_MSG_EQ(ReadAll(folder.Write("empty", "")), "", "an empty file has no lines");

        std::string path = folder.Path("whole.gz");
        gzFile out = gzopen(path.c_str(), "wb");
        for (int i = 0; i < 5000; i++) {
            gzprintf(out, "%d %d\n", i, i * 7919 % 1000);
        }
        gzclose(out);
        NS_TEST_EXPECT_MSG_EQ(ReadAll(path), "", "whole");
        std::string bytes = EunomiaTestFolder::Read(path);
        std::string cut = folder.Write("cut.gz", bytes.substr(0, bytes.size() / 2));
        NS_TEST_EXPECT_MSG_EQ(ReadAll(cut), cut + ": cannot read: unexpected end of file", "");
        bytes[bytes.size() - 6] = static_cast<char>(bytes[bytes.size() - 6] ^ 1); /* the CRC */
        std::string bad = folder.Write("bad.gz", bytes);
        NS_TEST_EXPECT_MSG_EQ(ReadAll(bad), bad + ": cannot read: incorrect data check", "");
    }
};

class QuoteCase : public TestCase {
  public:
    QuoteCase() : TestCase("tokens in messages") {}

  private:
    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(EunomiaQuote("ab"), "'ab'", "");
        NS_TEST_EXPECT_MSG_EQ(EunomiaQuote("a\nb\x1b c\xff"), "'a?b? c?'", "one line, printable");
        NS_TEST_EXPECT_MSG_EQ(EunomiaQuote(std::string(50, 'x')),
                              "'" + std::string(40, 'x') + "...'", "cut");
    }
};

class EunomiaTextReaderTestSuite : public TestSuite {
  public:
    EunomiaTextReaderTestSuite() : TestSuite("eunomia-text-reader", Type::UNIT)
    {
        AddTestCase(new UnsignedCase);
        AddTestCase(new FixedCase);
        AddTestCase(new FixedRoundTripCase);
        AddTestCase(new LinesCase);
        AddTestCase(new DamageCase);
        AddTestCase(new QuoteCase);
    }
};

EunomiaTextReaderTestSuite g_eunomiaTextReaderTestSuite;

} // namespace
