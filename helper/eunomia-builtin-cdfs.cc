/* SPDX-License-Identifier: GPL-2.0-only */
#include "eunomia-builtin-cdfs.h"

#include <cmath>
#include <iterator>

namespace ns3 {

namespace {

using Knot = EunomiaBuiltinCdf::Knot;

/** Alibaba storage cluster (HPCC, SIGCOMM 2019); points as in conweave-project/conweave-ns3. */
constexpr Knot ALI_STORAGE_2019[] = {
    {0, 0},         {4000, 22.93},   {8000, 69.21},   {16000, 80.61}, {32000, 90.47},
    {64000, 93.53}, {128000, 96.77}, {256000, 97.53}, {2000000, 100},
};

/** Alibaba storage over Solar (SIGCOMM 2022); points as in conweave-project/conweave-ns3. */
constexpr Knot SOLAR_2022[] = {
    {0, 0},      {4095, 0.001}, {4096, 30},  {16383, 35},
    {16384, 50}, {65535, 60},   {65536, 95}, {262144, 100},
};

/** Web search (DCTCP, SIGCOMM 2010); points as in the traffic generator of HPCC. */
constexpr Knot WEB_SEARCH[] = {
    {0, 0},       {10000, 15},   {20000, 20},   {30000, 30},   {50000, 40},    {80000, 53},
    {200000, 60}, {1000000, 70}, {2000000, 80}, {5000000, 90}, {10000000, 97}, {30000000, 100},
};

/** Facebook Hadoop (SIGCOMM 2015); knots of the 461 points in conweave-project/conweave-ns3. */
constexpr Knot FB_HDP_2015[] = {
    {0, 0},          {92, 0.74},      {217, 1.49},     {271, 4.09},     {300, 5.2},
    {326, 13.75},    {376, 20.26},    {425, 22.3},     {480, 26.39},    {600, 45.91},
    {679, 51.67},    {737, 55.2},     {800, 57.62},    {885, 59.12},    {1042, 60.97},
    {1277, 62.82},   {1413, 63.94},   {1534, 64.68},   {1664, 66.73},   {2214, 67.47},
    {3396, 68.4},    {5210, 69.33},   {7830, 70.82},   {31946, 72.12},  {36844, 73.05},
    {39973, 73.98},  {44260, 75.84},  {47050, 77.88},  {51046, 81.6},   {62583, 82.34},
    {70722, 83.27},  {75180, 84.2},   {81565, 87.17},  {102058, 88.85}, {115331, 89.78},
    {133013, 90.7},  {156563, 91.64}, {184284, 92.57}, {212546, 93.49}, {240177, 94.42},
    {288520, 95.35}, {470507, 96.28}, {736642, 96.84}, {940700, 97.21}, {1769244, 98.14},
    {2169118, 98.7}, {10000000, 100},
};

/** RPCs in Google clusters, 2008; points as in conweave-project/conweave-ns3. */
constexpr Knot GOOGLE_RPC_2008[] = {
    {0, 0},
    {36, 10.8913},
    {77, 22.0705},
    {110, 31.8856},
    {158, 40.6446},
    {268, 52.3994},
    {313, 60.2272},
    {402, 70.6643},
    {573, 80.1695},
    {597, 80.7286},
    {623, 81.2878},
    {652, 81.8469},
    {683, 82.406},
    {717, 82.9652},
    {755, 83.5243},
    {796, 84.0834},
    {843, 84.6426},
    {896, 85.2017},
    {956, 85.7608},
    {1024, 86.32},
    {1053, 86.5736},
    {1084, 86.8273},
    {1117, 87.081},
    {1152, 87.3347},
    {1189, 87.5884},
    {1229, 87.842},
    {1271, 88.0957},
    {1317, 88.3494},
    {1365, 88.6031},
    {1418, 88.8568},
    {1475, 89.1104},
    {1536, 89.3641},
    {1603, 89.6178},
    {1676, 89.8715},
    {1755, 90.1252},
    {1843, 90.3788},
    {1940, 90.6325},
    {2048, 90.8862},
    {2092, 90.9949},
    {2137, 91.1036},
    {2185, 91.2124},
    {2234, 91.3211},
    {2286, 91.4298},
    {2341, 91.5385},
    {2398, 91.6472},
    {2458, 91.7559},
    {2521, 91.8647},
    {2587, 91.9734},
    {2657, 92.0821},
    {2731, 92.1908},
    {2809, 92.2995},
    {2891, 92.4083},
    {2979, 92.517},
    {3072, 92.6257},
    {3171, 92.7344},
    {3277, 92.8431},
    {3390, 92.9519},
    {3511, 93.0606},
    {3641, 93.1693},
    {3781, 93.278},
    {3932, 93.3867},
    {4096, 93.4955},
    {4163, 93.5902},
    {4233, 93.6848},
    {4304, 93.7795},
    {4378, 93.8742},
    {4455, 93.9689},
    {4535, 94.0636},
    {4617, 94.1583},
    {4703, 94.253},
    {4792, 94.3477},
    {4884, 94.4424},
    {4979, 94.5371},
    {5079, 94.6318},
    {5183, 94.7265},
    {5291, 94.8211},
    {5403, 94.9158},
    {5521, 95.0105},
    {6194, 95.484},
    {7054, 95.9574},
    {8293, 96.4806},
    {8957, 96.7789},
    {9735, 97.0773},
    {10663, 97.3756},
    {12214, 97.7733},
    {14292, 98.1711},
    {16699, 98.4909},
    {18091, 98.5771},
    {19962, 98.674},
    {22265, 98.7709},
    {25170, 98.8679},
    {28945, 98.9648},
    {33250, 99.0485},
    {35606, 99.0857},
    {40375, 99.1477},
    {47600, 99.218},
    {59500, 99.2966},
    {71930, 99.3944},
    {80798, 99.4719},
    {95133, 99.5666},
    {119156, 99.6742},
    {140605, 99.7308},
    {184125, 99.7892},
    {222540, 99.8217},
    {267387, 99.8494},
    {292759, 99.8672},
    {324761, 99.8856},
    {362969, 99.9034},
    {407188, 99.9198},
    {463677, 99.9362},
    {529425, 99.9503},
    {590136, 99.9556},
    {662487, 99.9607},
    {749820, 99.9655},
    {922664, 99.9723},
    {1240351, 99.9798},
    {1960314, 99.9879},
    {4883570, 99.9962},
    {10668901, 99.9992},
    {15158197, 100},
};

/** Appends the ten steps from `low` to `high`. Where `low` is size 0 the first step is linear. */
void AppendSteps(std::vector<EunomiaSizeCdf::Point> *points, const Knot &low, const Knot &high)
{
    constexpr int steps = 10;
    /* Size of the first step above 0 in the published file; equal ratios cannot start at 0. */
    constexpr double smallest = 53;
    double from = low.bytes > 0 ? low.bytes : smallest;
    int ratios = low.bytes > 0 ? steps : steps - 1;
    for (int i = 1; i <= steps; i++) {
        double exponent = static_cast<double>(i - (steps - ratios)) / ratios;
        double bytes = std::round(from * std::pow(high.bytes / from, exponent));
        double percent = low.percent + (high.percent - low.percent) * i / steps;
        points->push_back({bytes, percent / 100});
    }
}

} // namespace

const std::vector<EunomiaBuiltinCdf> &EunomiaBuiltinCdfs()
{
    static const std::vector<EunomiaBuiltinCdf> cdfs = {
        {"AliStorage2019", {std::begin(ALI_STORAGE_2019), std::end(ALI_STORAGE_2019)}, false},
        {"Solar2022", {std::begin(SOLAR_2022), std::end(SOLAR_2022)}, false},
        {"WebSearch", {std::begin(WEB_SEARCH), std::end(WEB_SEARCH)}, false},
        {"FbHdp2015", {std::begin(FB_HDP_2015), std::end(FB_HDP_2015)}, true},
        {"GoogleRPC2008", {std::begin(GOOGLE_RPC_2008), std::end(GOOGLE_RPC_2008)}, false},
    };
    return cdfs;
}

std::vector<EunomiaSizeCdf::Point> EunomiaExpandBuiltin(const EunomiaBuiltinCdf &cdf)
{
    std::vector<EunomiaSizeCdf::Point> points;
    for (size_t i = 0; i < cdf.knots.size(); i++) {
        if (cdf.geometric && i > 0) {
            AppendSteps(&points, cdf.knots[i - 1], cdf.knots[i]);
        } else {
            points.push_back({cdf.knots[i].bytes, cdf.knots[i].percent / 100});
        }
    }
    return points;
}

} // namespace ns3
