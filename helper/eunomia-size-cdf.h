/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_SIZE_CDF_H
#define EUNOMIA_SIZE_CDF_H

/** How large the flows of a workload are. */

#include <cstdint>
#include <string>
#include <vector>

namespace ns3 {

/**
 * A cumulative distribution of flow sizes given by points, with the size linear in between, as
 * HPCC's and ConWeave's traffic generators read such files. Two points of one size are a step: that
 * size has the probability between them. Two points of one probability are a gap: no size in
 * between occurs.
 */
class EunomiaSizeCdf {
  public:
    struct Point {
        double bytes;
        double probability; /**< that a flow is no larger, 0..1 */
    };

    /**
     * Reads `bytes percent` a line, in percent (the last is 100) or as fractions (the last is 1);
     * neither column decreases, and the first probability is 0. Plain or gzip.
     * \throws EunomiaInputError that names file, line and field
     */
    static EunomiaSizeCdf FromFile(const std::string &path);

    /**
     * One of BuiltinNames(); needs no file at run time.
     * \throws EunomiaInputError that lists the names where it is another
     */
    static EunomiaSizeCdf Builtin(const std::string &name);

    /** What the option `--workload` takes: a built-in name or `file:PATH`. */
    static EunomiaSizeCdf FromOption(const std::string &value);

    static std::vector<std::string> BuiltinNames();

    /** Mean size in bytes. */
    double Mean() const { return m_mean; }

    /**
     * The size at probability `u`, to the nearest byte, at least 1.
     * \param u 0..1; uniform draws give sizes of this distribution
     */
    uint64_t Sample(double u) const;

    const std::vector<Point> &Points() const { return m_points; }

  private:
    explicit EunomiaSizeCdf(std::vector<Point> points);

    std::vector<Point> m_points; /**< at least two, from probability 0 to 1 */
    double m_mean;
};

} // namespace ns3

#endif
