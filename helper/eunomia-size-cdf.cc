/* SPDX-License-Identifier: GPL-2.0-only */
#include "eunomia-size-cdf.h"

#include "eunomia-builtin-cdfs.h"
#include "eunomia-flow-list.h"
#include "eunomia-text-reader.h"

#include <algorithm>
#include <cmath>

namespace ns3 {

namespace {

double MeanOf(const std::vector<EunomiaSizeCdf::Point> &points)
{
    double mean = 0;
    for (size_t i = 1; i < points.size(); i++) {
        mean += (points[i].probability - points[i - 1].probability) *
                (points[i].bytes + points[i - 1].bytes) / 2;
    }
    return mean;
}

void CheckPoint(const EunomiaTextReader &reader, const std::vector<EunomiaSizeCdf::Point> &points)
{
    const EunomiaSizeCdf::Point &point = points.back();
    if (points.size() == 1) {
        if (point.probability > 0) {
            reader.Fail("percent", "the first must be 0, with the smallest size");
        }
        return;
    }
    const EunomiaSizeCdf::Point &previous = points[points.size() - 2];
    if (point.bytes < previous.bytes) {
        reader.Fail("bytes", "smaller than in the line before, must not decrease");
    }
    if (point.probability < previous.probability) {
        reader.Fail("percent", "smaller than in the line before, must not decrease");
    }
}

} // namespace

EunomiaSizeCdf::EunomiaSizeCdf(std::vector<Point> points)
    : m_points(std::move(points)), m_mean(MeanOf(m_points))
{
}

EunomiaSizeCdf EunomiaSizeCdf::FromFile(const std::string &path)
{
    constexpr double maxBytes = static_cast<double>(EUNOMIA_FLOW_MAX_BYTES);
    EunomiaTextReader reader(path);
    std::vector<Point> points;
    uint64_t lastLine = 0;
    while (reader.NextLine()) {
        double bytes = reader.Real(0, "bytes", 0, maxBytes);
        double probability = reader.Real(1, "percent", 0, 100);
        if (reader.Fields().size() > 2) {
            reader.Fail("percent", std::to_string(reader.Fields().size()) +
                                       " columns, but a line has two, bytes and percent");
        }
        points.push_back({bytes, probability});
        CheckPoint(reader, points);
        lastLine = reader.LineNumber();
    }
    if (points.empty()) {
        throw EunomiaInputError(path, 0, "bytes", "the file is empty");
    }
    double last = points.back().probability;
    if (last != 100 && last != 1) {
        throw EunomiaInputError(path, lastLine, "percent",
                                "the last must be 100, or 1 where the file has fractions");
    }
    if (points.back().bytes < 1) {
        throw EunomiaInputError(path, lastLine, "bytes", "the largest size must be 1 or more");
    }
    for (Point &point : points) {
        point.probability /= last;
    }
    return EunomiaSizeCdf(std::move(points));
}

EunomiaSizeCdf EunomiaSizeCdf::Builtin(const std::string &name)
{
    std::string names;
    for (const EunomiaBuiltinCdf &cdf : EunomiaBuiltinCdfs()) {
        if (cdf.name == name) {
            return EunomiaSizeCdf(EunomiaExpandBuiltin(cdf));
        }
        names += (names.empty() ? "" : ", ") + cdf.name;
    }
    throw EunomiaInputError("--workload", 0, "",
                            EunomiaQuote(name) + " is not known, " + names +
                                " or file:PATH expected");
}

EunomiaSizeCdf EunomiaSizeCdf::FromOption(const std::string &value)
{
    static const std::string prefix = "file:";
    if (value.compare(0, prefix.size(), prefix) == 0) {
        return FromFile(value.substr(prefix.size()));
    }
    return Builtin(value);
}

std::vector<std::string> EunomiaSizeCdf::BuiltinNames()
{
    std::vector<std::string> names;
    for (const EunomiaBuiltinCdf &cdf : EunomiaBuiltinCdfs()) {
        names.push_back(cdf.name);
    }
    return names;
}

uint64_t EunomiaSizeCdf::Sample(double u) const
{
    /* GSL's interpolation wants strictly increasing abscissae, which steps and gaps are not. */
    auto above =
        std::upper_bound(m_points.begin(), m_points.end(), u, [](double value, const Point &point) {
            return value < point.probability;
        });
    const Point &high = above == m_points.end() ? m_points.back() : *above;
    const Point &low = above == m_points.begin() ? high : *(above - 1);
    double bytes = low.bytes;
    if (high.probability > low.probability) {
        bytes +=
            (high.bytes - low.bytes) * (u - low.probability) / (high.probability - low.probability);
    }
    return std::max<uint64_t>(1, static_cast<uint64_t>(std::llround(bytes)));
}

} // namespace ns3
