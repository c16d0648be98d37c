/* SPDX-License-Identifier: GPL-2.0-only */
#include "eunomia-builtin-cdfs.h"
#include "eunomia-size-cdf.h"
#include "eunomia-test-folder.h"

#include <cmath>
#include <gsl/gsl_interp.h>
#include <ns3/test.h>
#include <random>
#include <sstream>

using namespace ns3;

namespace {

using Points = std::vector<EunomiaSizeCdf::Point>;

std::string Text(const Points &points, double scale)
{
    std::ostringstream text;
    text.precision(17);
    for (const auto &point : points) {
        text << point.bytes << ' ' << point.probability * scale << '\n';
    }
    return text.str();
}

/** Largest size that the distribution takes at probability `u`, by a plain walk over the points. */
double NaiveSize(const Points &points, double u)
{
    double size = points[0].bytes;
    for (size_t i = 0; i < points.size() && points[i].probability <= u; i++) {
        size = points[i].bytes;
        if (i + 1 < points.size() && points[i + 1].probability > u) {
            double part =
                (u - points[i].probability) / (points[i + 1].probability - points[i].probability);
            size += part * (points[i + 1].bytes - points[i].bytes);
        }
    }
    return size;
}

/** Mean by sampling the middle of each of many equal slices of probability. */
double SampledMean(const EunomiaSizeCdf &cdf)
{
    constexpr int slices = 2000000;
    double sum = 0;
    for (int i = 0; i < slices; i++) {
        sum += static_cast<double>(cdf.Sample((i + 0.5) / slices));
    }
    return sum / slices;
}

class BuiltinCase : public TestCase {
  public:
    BuiltinCase() : TestCase("built-in distributions") {}

  private:
    void DoRun() override
    {
        /* Means and numbers of points as published with the tables. */
        static const struct {
            const char *name;
            size_t points;
            double mean;
            uint64_t largest;
        } rows[] = {{"AliStorage2019", 9, 40870, 2000000},
                    {"Solar2022", 8, 39424, 262144},
                    {"WebSearch", 12, 1711250, 30000000},
                    {"FbHdp2015", 461, 121849, 10000000},
                    {"GoogleRPC2008", 120, 2968, 15158197}};
        std::vector<std::string> names;
        for (const auto &row : rows) {
            names.push_back(row.name);
            EunomiaSizeCdf cdf = EunomiaSizeCdf::FromOption(row.name);
            NS_TEST_EXPECT_MSG_EQ(cdf.Points().size(), row.points, row.name);
            NS_TEST_EXPECT_MSG_EQ_TOL(cdf.Mean(), row.mean, 0.51, row.name);
            NS_TEST_EXPECT_MSG_EQ_TOL(SampledMean(cdf) / row.mean, 1, 1e-3, row.name);
            NS_TEST_EXPECT_MSG_EQ(cdf.Sample(0), 1, row.name);
            NS_TEST_EXPECT_MSG_EQ(cdf.Sample(1), row.largest, row.name);
            CheckOrder(cdf, row.name);
        }
        NS_TEST_EXPECT_MSG_EQ((EunomiaSizeCdf::BuiltinNames() == names), true, "all of them");
        NS_TEST_EXPECT_MSG_EQ(
            EunomiaRefusal([] { EunomiaSizeCdf::Builtin("websearch"); }),
            "--workload: 'websearch' is not known, AliStorage2019, Solar2022, WebSearch, "
            "FbHdp2015, GoogleRPC2008 or file:PATH expected",
            "");
    }

    void CheckOrder(const EunomiaSizeCdf &cdf, const char *name)
    {
        const Points &points = cdf.Points();
        NS_TEST_EXPECT_MSG_EQ(points.front().probability, 0, name);
        NS_TEST_EXPECT_MSG_EQ(points.back().probability, 1, name);
        for (size_t i = 1; i < points.size(); i++) {
            bool grows = points[i].bytes > points[i - 1].bytes &&
                         points[i].probability > points[i - 1].probability;
            NS_TEST_EXPECT_MSG_EQ(grows, true, name << ", point " << i);
        }
    }
};

/** The published FbHdp2015 begins 53:0.074 and ends its first gap at 92:0.74, ten points later. */
class GeometricCase : public TestCase {
  public:
    GeometricCase() : TestCase("steps of equal ratios") {}

  private:
    void DoRun() override
    {
        const Points points = EunomiaSizeCdf::Builtin("FbHdp2015").Points();
        NS_TEST_EXPECT_MSG_EQ(points[1].bytes, 53, "first step");
        NS_TEST_EXPECT_MSG_EQ_TOL(points[1].probability, 0.00074, 1e-12, "first step");
        NS_TEST_EXPECT_MSG_EQ(points[10].bytes, 92, "second knot");
        NS_TEST_EXPECT_MSG_EQ_TOL(points[10].probability, 0.0074, 1e-12, "second knot");
        NS_TEST_EXPECT_MSG_EQ(points[455].bytes, std::round(std::sqrt(2169118.0 * 1e7)),
                              "half of the last gap");
        EunomiaBuiltinCdf straight = EunomiaBuiltinCdfs()[3];
        straight.geometric = false;
        double mean = 0;
        Points knots = EunomiaExpandBuiltin(straight);
        for (size_t i = 1; i < knots.size(); i++) {
            mean += (knots[i].probability - knots[i - 1].probability) *
                    (knots[i].bytes + knots[i - 1].bytes) / 2;
        }
        NS_TEST_EXPECT_MSG_EQ(knots.size(), 47, "knots");
        NS_TEST_EXPECT_MSG_EQ_TOL(mean / 121849, 1.11, 0.005, "straight lines are 11 % too high");
    }
};

/** traces/cdf holds the same tables as files; skipped where the sources are not at hand. */
class TracesCase : public TestCase {
  public:
    TracesCase() : TestCase("built-in distributions against the trace files") {}

  private:
    void DoRun() override
    {
        auto folder = std::filesystem::path(__FILE__).parent_path() / "../../traces/cdf";
        if (!std::filesystem::is_directory(folder)) {
            std::cout << "no traces/cdf beside the sources: not compared" << std::endl;
            return;
        }
        for (const std::string &name : EunomiaSizeCdf::BuiltinNames()) {
            EunomiaSizeCdf file = EunomiaSizeCdf::FromFile((folder / (name + ".txt")).string());
            const Points &found = file.Points();
            const Points expected = EunomiaSizeCdf::Builtin(name).Points();
            NS_TEST_ASSERT_MSG_EQ(found.size(), expected.size(), name);
            for (size_t i = 0; i < found.size(); i++) {
                /* The file may print percentages to three decimals. */
                NS_TEST_EXPECT_MSG_EQ_TOL(found[i].probability, expected[i].probability, 0.51e-5,
                                          name << ", point " << i);
                NS_TEST_EXPECT_MSG_EQ_TOL(found[i].bytes, expected[i].bytes,
                                          0.0025 * expected[i].bytes, name << ", point " << i);
            }
        }
    }
};

/** Steps, gaps, points at probability 0, no final newline: as found in published files. */
class ShapesCase : public TestCase {
  public:
    ShapesCase() : TestCase("steps, gaps and layout of files") {}

  private:
    void DoRun() override
    {
        EunomiaTestFolder folder;
        EunomiaSizeCdf step = EunomiaSizeCdf::FromFile(
            folder.Write("step", "70 0\r\n70 0.25\r\n\r\n100 0.5 \r\n100 0.75\r\n300 1"));
        NS_TEST_EXPECT_MSG_EQ_TOL(step.Mean(), 17.5 + 21.25 + 25 + 50, 1e-9, "steps");
        NS_TEST_EXPECT_MSG_EQ(step.Sample(0), 70, "first size is not 0");
        NS_TEST_EXPECT_MSG_EQ(step.Sample(0.2), 70, "on the first step");
        NS_TEST_EXPECT_MSG_EQ(step.Sample(0.375), 85, "between steps");
        NS_TEST_EXPECT_MSG_EQ(step.Sample(0.6), 100, "on the second step");
        NS_TEST_EXPECT_MSG_EQ(step.Sample(0.875), 200, "above it");
        NS_TEST_EXPECT_MSG_EQ(step.Sample(1), 300, "largest");

        EunomiaSizeCdf zero =
            EunomiaSizeCdf::FromFile(folder.Write("zero", "0 0.0\n2000 0.0\n2100 20\n30000 100\n"));
        NS_TEST_EXPECT_MSG_EQ_TOL(zero.Mean(), 0.2 * 2050 + 0.8 * 16050, 1e-9, "two at 0");
        NS_TEST_EXPECT_MSG_EQ(zero.Sample(0), 2000, "nothing below 2000");

        EunomiaSizeCdf gap =
            EunomiaSizeCdf::FromFile(folder.Write("gap", "10 0\n10 50\n1000 50\n1000 100\n"));
        NS_TEST_EXPECT_MSG_EQ(gap.Mean(), 505, "two sizes only");
        NS_TEST_EXPECT_MSG_EQ(gap.Sample(0.499999), 10, "below the gap");
        NS_TEST_EXPECT_MSG_EQ(gap.Sample(0.5), 1000, "above the gap");

        std::string option = "file:" + folder.Write("tiny", "0 0\n0 50\n1 100\n");
        EunomiaSizeCdf tiny = EunomiaSizeCdf::FromOption(option);
        NS_TEST_EXPECT_MSG_EQ(tiny.Sample(0.3), 1, "never an empty flow");
    }
};

class RandomCase : public TestCase {
  public:
    RandomCase() : TestCase("random distributions against independent computations") {}

  private:
    static constexpr int TRIES = 200;

    static Points Draw(std::mt19937_64 &random, bool strict)
    {
        Points points = {{static_cast<double>(random() % 3), 0}};
        uint64_t last = 1 + random() % 20;
        for (uint64_t i = 1; i <= last; i++) {
            double more = static_cast<double>((strict ? 1 : 0) + random() % 4 * (random() % 9999));
            double mass = static_cast<double>((strict ? 1 : 0) + random() % 4);
            points.push_back({points.back().bytes + more, points.back().probability + mass});
        }
        points.push_back({points.back().bytes + 1, points.back().probability + 1});
        for (auto &point : points) {
            point.probability /= points.back().probability;
        }
        return points;
    }

    void CheckNaive(std::mt19937_64 &random, const EunomiaTestFolder &folder)
    {
        Points points = Draw(random, false);
        EunomiaSizeCdf percent = EunomiaSizeCdf::FromFile(folder.Write("p", Text(points, 100)));
        EunomiaSizeCdf fraction = EunomiaSizeCdf::FromFile(folder.Write("f", Text(points, 1)));
        NS_TEST_EXPECT_MSG_EQ_TOL(percent.Mean(), fraction.Mean(), 1e-9 * fraction.Mean(),
                                  "percent and fractions");
        for (int i = 0; i < 1000; i++) {
            double u = static_cast<double>(random() >> 11) * 0x1p-53;
            double size = std::max(1.0, NaiveSize(points, u));
            /* Half a byte of rounding, and what the division by 100 moves on a steep line. */
            NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(fraction.Sample(u)), size, 0.501, u);
        }
    }

    /** Where sizes and probabilities both grow, GSL can interpolate and integrate them. */
    void CheckGsl(std::mt19937_64 &random, const EunomiaTestFolder &folder)
    {
        Points points = Draw(random, true);
        std::vector<double> x;
        std::vector<double> y;
        for (const auto &point : points) {
            x.push_back(point.probability);
            y.push_back(point.bytes);
        }
        EunomiaSizeCdf cdf = EunomiaSizeCdf::FromFile(folder.Write("g", Text(points, 1)));
        gsl_interp *interp = gsl_interp_alloc(gsl_interp_linear, x.size());
        gsl_interp_init(interp, x.data(), y.data(), x.size());
        double mean = gsl_interp_eval_integ(interp, x.data(), y.data(), 0, 1, nullptr);
        NS_TEST_EXPECT_MSG_EQ_TOL(cdf.Mean(), mean, 1e-9 * mean, "mean");
        for (int i = 0; i <= 1000; i++) {
            double size = gsl_interp_eval(interp, x.data(), y.data(), i / 1000.0, nullptr);
            NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(cdf.Sample(i / 1000.0)),
                                      std::max(1.0, size), 0.501, "size at " << i / 1000.0);
        }
        gsl_interp_free(interp);
    }

    void DoRun() override
    {
        EunomiaTestFolder folder;
        std::mt19937_64 random(EunomiaTestSeed("size cdf"));
        for (int i = 0; i < TRIES; i++) {
            CheckNaive(random, folder);
            CheckGsl(random, folder);
        }
    }
};

class RefusalsCase : public TestCase {
  public:
    RefusalsCase() : TestCase("malformed files") {}

  private:
    void DoRun() override
    {
        static const struct {
            const char *text;
            const char *message;
        } rows[] = {
            {"", ": bytes: the file is empty"},
            {"x 0\n", ":1: bytes: 'x' is not a number"},
            {"nan 0\n", ":1: bytes: 'nan' is not a number"},
            {"-1 0\n", ":1: bytes: '-1' is out of range, 0 to 1099511627776 expected"},
            {"0 0\n1e13 100\n", ":2: bytes: '1e13' is out of range, 0 to 1099511627776 expected"},
            {"0 0\n1e999 100\n", ":2: bytes: '1e999' is out of range, 0 to 1099511627776 expected"},
            {"0\n", ":1: percent: missing column"},
            {"0 zero\n", ":1: percent: 'zero' is not a number"},
            {"0 0%\n", ":1: percent: '0%' is not a number"},
            {"0 -1\n", ":1: percent: '-1' is out of range, 0 to 100 expected"},
            {"0 0\n5 101\n", ":2: percent: '101' is out of range, 0 to 100 expected"},
            {"0 0 1\n", ":1: percent: 3 columns, but a line has two, bytes and percent"},
            {"10 5\n20 100\n", ":1: percent: the first must be 0, with the smallest size"},
            {"0 0\n20 50\n10 100\n",
             ":3: bytes: smaller than in the line before, must not decrease"},
            {"0 0\n10 60\n\n20 50\n",
             ":4: percent: smaller than in the line before, must not decrease"},
            {"0 0\n10 60\n20 90\n",
             ":3: percent: the last must be 100, or 1 where the file has fractions"},
            {"0 0\n", ":1: percent: the last must be 100, or 1 where the file has fractions"},
            {"0 0\n0 100\n\n", ":2: bytes: the largest size must be 1 or more"},
        };
        EunomiaTestFolder folder;
        for (const auto &row : rows) {
            std::string path = folder.Write("cdf", row.text);
            NS_TEST_EXPECT_MSG_EQ(EunomiaRefusal([&] { EunomiaSizeCdf::FromFile(path); }),
                                  path + row.message, row.text);
        }
        std::string none = folder.Path("none");
        NS_TEST_EXPECT_MSG_EQ(EunomiaRefusal([&] { EunomiaSizeCdf::FromOption("file:" + none); }),
                              none + ": cannot open: No such file or directory", "");
    }
};

class EunomiaSizeCdfTestSuite : public TestSuite {
  public:
    EunomiaSizeCdfTestSuite() : TestSuite("eunomia-size-cdf", Type::UNIT)
    {
        AddTestCase(new BuiltinCase);
        AddTestCase(new GeometricCase);
        AddTestCase(new TracesCase);
        AddTestCase(new ShapesCase);
        AddTestCase(new RandomCase);
        AddTestCase(new RefusalsCase);
    }
};

EunomiaSizeCdfTestSuite g_eunomiaSizeCdfTestSuite;

} // namespace
