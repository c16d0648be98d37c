// SPDX-License-Identifier: GPL-2.0-only
#ifndef EUNOMIA_OPTIONS_H
#define EUNOMIA_OPTIONS_H

#include "eunomia-input-error.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ns3 {

/**
 * What a user asked for: the options of eunomia-sim, as text at first, then checked and resolved.
 * Every parser throws EunomiaInputError that names the option.
 */
class EunomiaOptions {
  public:
    EunomiaOptions();

    /**
     * Reads the command line: `--name=value`, `--name` for switches, `--ns3::Type::Attribute=value`
     * and the ns-3 options (--help, --PrintAttributes=..., which print and exit).
     * \throws EunomiaInputError where a name is unknown or a value is none
     */
    void Parse(int argc, char *argv[]);

    // Resolved values
    uint32_t leaves = 0;
    uint32_t spines = 0;
    uint32_t hostsPerLeaf = 0;
    uint64_t linkRateBps = 0;
    int64_t linkDelayPs = 0;
    std::string workload;
    std::string flows;
    double load = 0;
    double oversubscription = 0;
    bool qpPerPair = false;
    bool conweave = false;
    int64_t durationPs = 0;
    int64_t warmupPs = 0;
    int64_t drainPs = 0;
    std::string lb;
    std::string transport;
    std::string cc;
    std::string window;
    bool pfc = true;
    uint64_t bufferBytes = 0;
    uint32_t mtu = 0;
    uint32_t flatOverhead = 0; //!< 0: roce
    std::string verb;
    std::string gate;
    std::string gateScope;
    uint32_t ackEvery = 0;
    uint32_t poolBlocks = 0;
    uint32_t reserve = 0; //!< blocks, at most poolBlocks
    bool linkMetadata = true;
    uint32_t qpCap = 0;
    int64_t idleEpochPs = 0;  //!< 0: given in RTTs
    double idleEpochRtts = 0; //!< 0: given as a time
    uint32_t banks = 0;
    int64_t allocTimePs = 0;
    uint32_t pipelines = 0;
    uint32_t cacheBlocks = 0;
    uint64_t seed = 0;
    std::string out;
    int64_t samplePs = 0; //!< 0: no time series
    bool force = false;
    bool legacy = false;
    bool reorderLog = false;
    /** `ns3::Type::Attribute`, value: as given. */
    std::vector<std::pair<std::string, std::string>> attributes;

    uint32_t Hosts() const { return leaves * hostsPerLeaf; }

  private:
    struct Option {
        std::string name;
        std::string value; //!< the default until one is given
        std::string help;
        bool given = false;
    };

    Option &Find(const std::string &name);
    const std::string &Value(const std::string &name);
    void Take(const std::string &argument);
    void Resolve();
    void ResolveTopology();
    void ResolveTraffic();
    void ResolveTransport();
    void ResolveCongestion();
    void ResolveWindow();
    void ResolveIdleEpoch();
    uint64_t Integer(const std::string &name, uint64_t low, uint64_t high);
    double Number(const std::string &name, double low, double high);
    std::string Choice(const std::string &name, const std::vector<std::string> &choices);

    std::vector<Option> m_options;
};

/** Picoseconds of a time such as `256us`, `2ms`, `0`; units s, ms, us, ns, ps. */
int64_t EunomiaParseTime(const std::string &option, const std::string &text);
/** Bits a second of a rate such as `100Gbps`; units bps, kbps, Mbps, Gbps, Tbps. */
uint64_t EunomiaParseRate(const std::string &option, const std::string &text);
/** Bytes of a size such as `9MiB`, `64KB`, `1048`; units B, KB, MB, GB, KiB, MiB, GiB. */
uint64_t EunomiaParseSize(const std::string &option, const std::string &text);

} // namespace ns3

#endif
