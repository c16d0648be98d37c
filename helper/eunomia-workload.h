/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_WORKLOAD_H
#define EUNOMIA_WORKLOAD_H

/**
 * Flows drawn at random: Poisson arrivals, incast, permutation. All draws come from numbered ns-3
 * random streams, so that RngSeed and RngRun (class RngSeedManager) decide them as in any ns-3
 * module, and the same numbers give the same flows.
 */

#include "eunomia-flow-list.h"
#include "eunomia-size-cdf.h"

#include <cstdint>
#include <functional>
#include <ns3/random-variable-stream.h>
#include <queue>
#include <vector>

namespace ns3 {

/** What the workloads have in common. The functions below refuse a value out of its range. */
struct EunomiaWorkloadConfig {
    uint32_t hosts = 0;       /**< 2 or more */
    uint64_t linkRateBps = 0; /**< of a host's link, bit/s, above 0 */
    double load = 0.5;        /**< fraction of the link rate over the oversubscription, above 0 */
    double oversubscription = 1; /**< hosts' rate over uplinks' rate of a leaf, above 0 */
    int64_t durationPs = 0;      /**< flows start in [startPs, startPs + durationPs), above 0 */
    int64_t startPs = 0;         /**< ps, 0 or more */
    uint8_t priority = 3;        /**< 1..7 */
};

/**
 * Poisson arrivals, one flow after another in order of starting, in memory that does not grow with
 * the number of flows.
 *
 * Each host posts flows with exponential gaps of mean size x 8 / (rate x load / oversubscription),
 * counting payload only, to a uniformly drawn other host: the rule of ConWeave's traffic generator.
 * A host draws from three streams of its own (gaps, sizes, destinations), so that another load or
 * another number of hosts leaves the other draws as they are.
 */
class EunomiaPoissonSource {
  public:
    /**
     * \param config load / oversubscription is at most 1
     * \param cdf of the sizes; copied
     * \param stream first of the ns-3 streams to use; negative: ns-3 numbers them itself
     * \throws EunomiaInputError that names the option at fault
     */
    EunomiaPoissonSource(const EunomiaWorkloadConfig &config, const EunomiaSizeCdf &cdf,
                         int64_t stream);

    /** How many streams a source uses, from its first one on. */
    static int64_t Streams(uint32_t hosts) { return int64_t{3} * hosts; }

    /** The next flow, ids from 0; false when the duration is over. */
    bool Next(EunomiaFlow *flow);

    double MeanGapPs() const { return m_meanGapPs; } /**< between flows of one host */

  private:
    struct Host {
        Ptr<ExponentialRandomVariable> gap;
        Ptr<UniformRandomVariable> size;
        Ptr<UniformRandomVariable> destination;
    };
    using Arrival = std::pair<int64_t, uint32_t>; /**< start in ps, host */

    void Schedule(uint32_t host, int64_t afterPs);

    EunomiaWorkloadConfig m_config;
    EunomiaSizeCdf m_cdf;
    double m_meanGapPs;
    int64_t m_endPs;
    uint32_t m_nextId = 0;
    std::vector<Host> m_hosts;
    std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> m_arrivals;
};

/** All flows of an EunomiaPoissonSource. */
std::vector<EunomiaFlow> EunomiaPoissonWorkload(const EunomiaWorkloadConfig &config,
                                                const EunomiaSizeCdf &cdf, int64_t stream);

/**
 * `flows` flows of `bytes` each into one host, all at config.startPs. The senders are drawn without
 * replacement from the other hosts; where there are more flows than hosts, they send in turn.
 * Load, rate and duration are not used.
 * \param stream ns-3 stream of the draw; negative: ns-3 numbers it itself
 * \throws EunomiaInputError that names the option at fault
 */
std::vector<EunomiaFlow> EunomiaIncastWorkload(const EunomiaWorkloadConfig &config, uint32_t flows,
                                               uint32_t receiver, uint64_t bytes, int64_t stream);

/**
 * Each host sends one flow and receives one, all at config.startPs: a uniformly drawn permutation
 * without fixed points. Load, rate and duration are not used.
 * \param stream ns-3 stream of the draw; negative: ns-3 numbers it itself
 * \throws EunomiaInputError that names the option at fault
 */
std::vector<EunomiaFlow> EunomiaPermutationWorkload(const EunomiaWorkloadConfig &config,
                                                    uint64_t bytes, int64_t stream);

} // namespace ns3

#endif
