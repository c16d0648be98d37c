/* SPDX-License-Identifier: GPL-2.0-only */
#include "eunomia-flow-list.h"
#include "eunomia-test-folder.h"

#include <ns3/test.h>
#include <random>
#include <zlib.h>

using namespace ns3;

namespace {

bool Same(const EunomiaFlow &a, const EunomiaFlow &b)
{
    return a.id == b.id && a.src == b.src && a.dst == b.dst && a.priority == b.priority &&
           a.bytes == b.bytes && a.startPs == b.startPs;
}

bool Same(const std::vector<EunomiaFlow> &a, const std::vector<EunomiaFlow> &b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const EunomiaFlow &x, const EunomiaFlow &y) { return Same(x, y); });
}

/** Each way of writing the same three flows gives the same three flows. */
class FormatsCase : public TestCase {
  public:
    FormatsCase() : TestCase("variants of the format") {}

  private:
    void DoRun() override
    {
        const std::vector<EunomiaFlow> flows = {{0, 3, 2, 3, 8192, 2000000402000},
                                                {1, 0, 2, 7, 1099511627776, 2000000544123},
                                                {2, 2, 4, 1, 1, 2009600000000}};
        static const struct {
            const char *what;
            std::string text;
        } rows[] = {
            {"five columns", "3\n3 2 3 8192 2.000000402\n0 2 7 1099511627776 2.000000544123\n"
                             "2 4 1 1 2.0096\n"},
            {"six columns", "3\n3 2 3 100 8192 2.000000402\n"
                            "0 2 7 0 1099511627776 2.000000544123\n2 4 1 65535 1 2.0096\n"},
            {"CRLF, no final newline",
             "3\r\n3 2 3 8192 2.000000402\r\n0 2 7 1099511627776 2.000000544123\r\n"
             "2 4 1 1 2.0096"},
            {"blank lines, blanks, tabs, mark",
             "\xEF\xBB\xBF\n3 \n\n3 2\t3 8192 2.000000402  \n\n \n"
             "  0 2 7 1099511627776 2.000000544123\n2 4 1 1 2.0096 \n\n"},
            {"exponents, leading zeros",
             "003\n3 2 3 8192 2000000402e-9\n0 2 7 1099511627776 2.000000544123e0\n"
             "2 4 1 01 0.20096E+1\n"},
        };
        EunomiaTestFolder folder;
        for (const auto &row : rows) {
            std::vector<std::string> notes;
            std::string path = folder.Write("flows", row.text);
            std::string gzipped = folder.Path("flows.gz");
            gzFile out = gzopen(gzipped.c_str(), "wb");
            gzwrite(out, row.text.data(), static_cast<unsigned>(row.text.size()));
            gzclose(out);
            NS_TEST_EXPECT_MSG_EQ(Same(EunomiaReadFlowList(path, 5, &notes), flows), true,
                                  row.what);
            NS_TEST_EXPECT_MSG_EQ(Same(EunomiaReadFlowList(gzipped, 5, &notes), flows), true,
                                  row.what << ", gzip");
            NS_TEST_EXPECT_MSG_EQ(notes.size(), 0, row.what);
        }
    }
};

class CountCase : public TestCase {
  public:
    CountCase() : TestCase("more rows than counted, and prose") {}

  private:
    void DoRun() override
    {
        EunomiaTestFolder folder;
        std::string path = folder.Write("flows", "2\n1 0 3 100 10 2\n2 0 3 100 10 2\n"
                                                 "900 0 3 100 10 2\n3 0 3 100 10 2\n"
                                                 "4 0 0 10 2\n\n"
                                                 "First line: # of flows\nsrc0 dst0 3\n");
        std::vector<std::string> notes;
        std::vector<EunomiaFlow> flows = EunomiaReadFlowList(path, 5, &notes);
        NS_TEST_EXPECT_MSG_EQ(flows.size(), 2, "as many as counted");
        NS_TEST_ASSERT_MSG_EQ(notes.size(), 2, "rows and prose");
        NS_TEST_EXPECT_MSG_EQ(notes[0], path + ": count line says 2, 3 further rows ignored", "");
        NS_TEST_EXPECT_MSG_EQ(notes[1], path + ": other text after the flows ignored, lines: 2",
                              "");
        NS_TEST_EXPECT_MSG_EQ(EunomiaReadFlowList(path, 5, nullptr).size(), 2, "notes not wanted");
    }
};

class OrderCase : public TestCase {
  public:
    OrderCase() : TestCase("by start time, ids by position in the file") {}

  private:
    void DoRun() override
    {
        EunomiaTestFolder folder;
        std::string path = folder.Write("flows", "5\n0 1 3 10 3\n1 2 3 10 2.5\n2 3 3 10 3\n"
                                                 "3 0 3 10 2.499999999999\n0 2 3 10 2.5\n");
        std::vector<uint32_t> ids;
        for (const EunomiaFlow &flow : EunomiaReadFlowList(path, 4, nullptr)) {
            ids.push_back(flow.id);
        }
        NS_TEST_EXPECT_MSG_EQ((ids == std::vector<uint32_t>{3, 1, 4, 0, 2}), true, "stable order");
    }
};

/** Every field, wrong in every way: the message is compared whole. */
class RefusalsCase : public TestCase {
  public:
    RefusalsCase() : TestCase("malformed lists") {}

  private:
    void Expect(const std::string &text, const std::string &message)
    {
        std::string path = m_folder->Write("flows", text);
        std::string refusal = EunomiaRefusal([&] { EunomiaReadFlowList(path, 5, nullptr); });
        NS_TEST_EXPECT_MSG_EQ(refusal, path + message, text);
    }

    void Count()
    {
        Expect("", ": count: the file is empty");
        Expect("\n \r\n", ": count: the file is empty");
        Expect("0\n", ":1: count: '0' is out of range, 1 to 4294967295 expected");
        Expect("-3\n", ":1: count: '-3' is out of range, 1 to 4294967295 expected");
        Expect("4294967296\n", ":1: count: '4294967296' is out of range, 1 to 4294967295 expected");
        Expect("many\n", ":1: count: 'many' is not a whole number");
        Expect("0 1 3 10 2\n",
               ":1: count: 5 columns, but the first line must be the number of flows alone");
        Expect("\n2\n0 1 3 10 2\n", ":2: count: says 2, but 1 flows follow");
        Expect("4294967295\n0 1 3 10 2\n", ":1: count: says 4294967295, but 1 flows follow");
    }

    void Hosts()
    {
        Expect("1\nx 1 3 10 2\n", ":2: src: 'x' is not a whole number");
        Expect("1\n-1 1 3 10 2\n", ":2: src: '-1' is out of range, 0 to 4 expected");
        Expect("1\n5 1 3 10 2\n", ":2: src: '5' is out of range, 0 to 4 expected");
        Expect("1\n0 1.5 3 10 2\n", ":2: dst: '1.5' is not a whole number");
        Expect("1\n0 -1 3 10 2\n", ":2: dst: '-1' is out of range, 0 to 4 expected");
        Expect("1\n\n0 5 3 10 2\n", ":3: dst: '5' is out of range, 0 to 4 expected");
        Expect("1\n3 3 3 10 2\n", ":2: dst: 3 is the source itself");
    }

    void Priority()
    {
        Expect("1\n0 1 high 10 2\n", ":2: pg: 'high' is not a whole number");
        Expect("1\n0 1 8 10 2\n", ":2: pg: '8' is out of range, 0 to 7 expected");
        Expect("1\n0 1 -1 10 2\n", ":2: pg: '-1' is out of range, 0 to 7 expected");
        Expect("1\n0 1 0 10 2\n", ":2: pg: 0 is the class of control frames, 1 to 7 expected");
        Expect("1\n0 1 3 65536 10 2\n", ":2: dport: '65536' is out of range, 0 to 65535 expected");
        Expect("1\n0 1 3 http 10 2\n", ":2: dport: 'http' is not a whole number");
    }

    void Bytes()
    {
        std::string range = " is out of range, 1 to 1099511627776 expected";
        Expect("1\n0 1 3 0 2\n", ":2: bytes: '0'" + range);
        Expect("1\n0 1 3 -10 2\n", ":2: bytes: '-10'" + range);
        Expect("1\n0 1 3 1099511627777 2\n", ":2: bytes: '1099511627777'" + range);
        Expect("1\n0 1 3 99999999999999999999 2\n", ":2: bytes: '99999999999999999999'" + range);
        Expect("1\n0 1 3 10KB 2\n", ":2: bytes: '10KB' is not a whole number");
        Expect("1\n0 1 3 100 1e3 2\n", ":2: bytes: '1e3' is not a whole number");
    }

    void Start()
    {
        Expect("1\n0 1 3 10 2s\n", ":2: start: '2s' is not a number of seconds");
        Expect("1\n0 1 3 10 nan\n", ":2: start: 'nan' is not a number of seconds");
        Expect("1\n0 1 3 10 -0.5\n", ":2: start: '-0.5' is negative");
        Expect("1\n0 1 3 10 1000000.000000000001\n",
               ":2: start: '1000000.000000000001' is too large, at most 1000000 s expected");
        Expect("1\n0 1 3 10 1e300\n",
               ":2: start: '1e300' is too large, at most 1000000 s expected");
    }

    void Columns()
    {
        Expect("1\n0\n", ":2: dst: missing column, 1 of 5 found");
        Expect("1\n0 1\n", ":2: pg: missing column, 2 of 5 found");
        Expect("1\n0 1 3\n", ":2: bytes: missing column, 3 of 5 found");
        Expect("1\n0 1 3 10\n", ":2: start: missing column, 4 of 5 found");
        Expect("2\n0 1 3 100 10 2\n0 1 3\n", ":3: dport: missing column, 3 of 6 found");
        Expect("2\n0 1 3 100 10 2\n0 1 3 100\n", ":3: bytes: missing column, 4 of 6 found");
        Expect("2\n0 1 3 100 10 2\n0 1 3 10 2\n", ":3: start: missing column, 5 of 6 found");
        Expect("2\n0 1 3 10 2\n0 1 3 100 10 2\n",
               ":3: start: 6 columns, but the flows of this list have 5");
        Expect("1\n0 1 3 100 10 2 7\n", ":2: start: 7 columns, but the flows of this list have 6");
    }

    void DoRun() override
    {
        EunomiaTestFolder folder;
        m_folder = &folder;
        Count();
        Hosts();
        Priority();
        Bytes();
        Start();
        Columns();
        std::string path = m_folder->Write("flows", "1\n0 1 3 10 2\n");
        for (uint32_t hosts : {0u, 1u}) {
            NS_TEST_EXPECT_MSG_EQ(
                EunomiaRefusal([&] { EunomiaReadFlowList(path, hosts, nullptr); }),
                path + ": flows need two hosts, the topology has fewer", "");
        }
    }

    EunomiaTestFolder *m_folder = nullptr; /**< while the case runs */
};

/** Random lists read back as they were written; damaged ones are refused or still make sense. */
class RandomCase : public TestCase {
  public:
    RandomCase() : TestCase("random lists, whole and damaged") {}

  private:
    static constexpr uint32_t HOSTS = 40;

    std::string Write(std::mt19937_64 &random, std::vector<EunomiaFlow> *flows)
    {
        uint32_t count = static_cast<uint32_t>(1 + random() % 50);
        bool port = random() % 2 == 0;
        /* Every other list has many flows of one start. */
        uint64_t starts = random() % 2 == 0 ? 3 : EUNOMIA_FLOW_MAX_START_PS;
        std::string text = std::to_string(count) + "\n";
        for (uint32_t id = 0; id < count; id++) {
            EunomiaFlow flow;
            flow.id = id;
            flow.src = static_cast<uint32_t>(random() % HOSTS);
            flow.dst = static_cast<uint32_t>((flow.src + 1 + random() % (HOSTS - 1)) % HOSTS);
            flow.priority = static_cast<uint8_t>(1 + random() % 7);
            flow.bytes = 1 + random() % EUNOMIA_FLOW_MAX_BYTES;
            flow.startPs = static_cast<int64_t>(random() % starts);
            flows->push_back(flow);
            std::string ps = std::to_string(flow.startPs);
            text += std::to_string(flow.src) + " " + std::to_string(flow.dst) + " " +
                    std::to_string(flow.priority) + (port ? " 100 " : " ") +
                    std::to_string(flow.bytes) + " " + ps + "e-12\n";
        }
        return text;
    }

    void Damage(std::mt19937_64 &random, std::string text)
    {
        static const std::string alphabet = "0123456789 .-+e\n\r\tx\xff";
        for (uint64_t left = 1 + random() % 4; left > 0; left--) {
            size_t at = random() % text.size();
            if (random() % 2 == 0) {
                text[at] = alphabet[random() % alphabet.size()];
            } else {
                text.erase(at, random() % 4);
                text += "\n";
            }
        }
        std::string path = m_folder->Write("damaged", text);
        std::vector<EunomiaFlow> flows;
        std::string refusal =
            EunomiaRefusal([&] { flows = EunomiaReadFlowList(path, HOSTS, nullptr); });
        NS_TEST_EXPECT_MSG_EQ(refusal.find('\n'), std::string::npos, "one line: " << refusal);
        NS_TEST_EXPECT_MSG_EQ(refusal.empty(), !flows.empty(), "flows or a refusal");
        int64_t previous = 0;
        for (const EunomiaFlow &flow : flows) {
            bool sound = flow.src < HOSTS && flow.dst < HOSTS && flow.src != flow.dst &&
                         flow.priority >= 1 && flow.priority <= 7 && flow.bytes >= 1 &&
                         flow.bytes <= EUNOMIA_FLOW_MAX_BYTES && flow.startPs >= previous &&
                         flow.startPs <= EUNOMIA_FLOW_MAX_START_PS;
            NS_TEST_EXPECT_MSG_EQ(sound, true, "flow " << flow.id << " of\n" << text);
            previous = flow.startPs;
        }
    }

    void DoRun() override
    {
        EunomiaTestFolder folder;
        m_folder = &folder;
        std::mt19937_64 random(EunomiaTestSeed("flow list"));
        for (int i = 0; i < 500; i++) {
            std::vector<EunomiaFlow> flows;
            std::string text = Write(random, &flows);
            std::string path = m_folder->Write("whole", text);
            std::stable_sort(
                flows.begin(), flows.end(),
                [](const EunomiaFlow &a, const EunomiaFlow &b) { return a.startPs < b.startPs; });
            NS_TEST_EXPECT_MSG_EQ(Same(EunomiaReadFlowList(path, HOSTS, nullptr), flows), true,
                                  text);
            Damage(random, text);
        }
    }

    EunomiaTestFolder *m_folder = nullptr; /**< while the case runs */
};

class EunomiaFlowListTestSuite : public TestSuite {
  public:
    EunomiaFlowListTestSuite() : TestSuite("eunomia-flow-list", Type::UNIT)
    {
        AddTestCase(new FormatsCase);
        AddTestCase(new CountCase);
        AddTestCase(new OrderCase);
        AddTestCase(new RefusalsCase);
        AddTestCase(new RandomCase);
    }
};

EunomiaFlowListTestSuite g_eunomiaFlowListTestSuite;

} // namespace
