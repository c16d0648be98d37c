/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_BUILTIN_CDFS_H
#define EUNOMIA_BUILTIN_CDFS_H

/** The flow size distributions that every experiment can name without a file. */

#include "eunomia-size-cdf.h"

#include <string>
#include <vector>

namespace ns3 {

/** A table as it is published. */
struct EunomiaBuiltinCdf {
    struct Knot {
        double bytes;
        double percent;
    };
    std::string name;
    std::vector<Knot> knots;
    bool geometric; /**< a gap between knots is ten steps of equal percent, sizes in equal ratios */
};

const std::vector<EunomiaBuiltinCdf> &EunomiaBuiltinCdfs();

/** The points of a table, with the steps between knots where it has them. */
std::vector<EunomiaSizeCdf::Point> EunomiaExpandBuiltin(const EunomiaBuiltinCdf &cdf);

} // namespace ns3

#endif
