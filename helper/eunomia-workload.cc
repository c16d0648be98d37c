/* SPDX-License-Identifier: GPL-2.0-only */
#include "eunomia-workload.h"

#include "eunomia-input-error.h"

#include <cmath>
#include <limits>
#include <ns3/double.h>
#include <numeric>

namespace ns3 {

namespace {

void Require(bool holds, const char *option, const char *field, const char *problem)
{
    if (!holds) {
        throw EunomiaInputError(option, 0, field, problem);
    }
}

void CheckCommon(const EunomiaWorkloadConfig &config)
{
    Require(config.hosts >= 2, "--topology", "", "flows need two hosts or more");
    Require(config.priority >= 1 && config.priority <= 7, "--workload", "priority",
            "1 to 7 expected");
    Require(config.startPs >= 0 && config.startPs <= EUNOMIA_FLOW_MAX_START_PS, "--workload",
            "start", "0 to 1000000 s expected");
}

/** Mean time between flows of a host, in ps. Negated comparisons refuse what is not a number. */
double CheckPoisson(const EunomiaWorkloadConfig &config, double meanBytes)
{
    CheckCommon(config);
    Require(config.linkRateBps > 0, "--linkRate", "", "a rate above 0 expected");
    Require(config.load > 0, "--load", "", "a number above 0 expected");
    Require(config.oversubscription > 0 && std::isfinite(config.oversubscription),
            "--oversubscription", "", "a number above 0 expected");
    Require(config.load / config.oversubscription <= 1, "--load", "",
            "a host offers more than its link carries, at most the oversubscription expected");
    Require(config.durationPs > 0 &&
                config.durationPs <= EUNOMIA_FLOW_MAX_START_PS - config.startPs,
            "--duration", "", "above 0 expected, with all starts below 1000000 s");
    double rate = static_cast<double>(config.linkRateBps) * config.load / config.oversubscription;
    double gapPs = meanBytes * 8 / rate * 1e12;
    double flows = static_cast<double>(config.durationPs) / gapPs * config.hosts;
    Require(flows < 0.9 * std::numeric_limits<uint32_t>::max(), "--duration", "",
            "more flows than can be numbered (4 billion)");
    return gapPs;
}

void CheckBytes(uint64_t bytes)
{
    Require(bytes >= 1 && bytes <= EUNOMIA_FLOW_MAX_BYTES, "--workload", "bytes",
            "1 to 2^40 expected");
}

template <typename Variable>
Ptr<Variable> OnStream(int64_t stream)
{
    Ptr<Variable> variable = CreateObject<Variable>();
    if (stream >= 0) {
        variable->SetStream(stream);
    }
    return variable;
}

void Shuffle(std::vector<uint32_t> *values, const Ptr<UniformRandomVariable> &uniform)
{
    for (size_t left = values->size(); left > 1; left--) {
        size_t pick = uniform->GetInteger(0, static_cast<uint32_t>(left - 1));
        std::swap((*values)[left - 1], (*values)[pick]);
    }
}

EunomiaFlow FlowAtStart(const EunomiaWorkloadConfig &config, uint32_t id, uint32_t src,
                        uint32_t dst, uint64_t bytes)
{
    EunomiaFlow flow;
    flow.id = id;
    flow.src = src;
    flow.dst = dst;
    flow.priority = config.priority;
    flow.bytes = bytes;
    flow.startPs = config.startPs;
    return flow;
}

} // namespace

EunomiaPoissonSource::EunomiaPoissonSource(const EunomiaWorkloadConfig &config,
                                           const EunomiaSizeCdf &cdf, int64_t stream)
    : m_config(config), m_cdf(cdf), m_meanGapPs(CheckPoisson(config, cdf.Mean())),
      m_endPs(config.startPs + config.durationPs)
{
    m_hosts.reserve(config.hosts);
    for (uint32_t host = 0; host < config.hosts; host++) {
        int64_t first = stream < 0 ? stream : stream + Streams(host);
        int64_t step = stream < 0 ? 0 : 1;
        m_hosts.push_back({OnStream<ExponentialRandomVariable>(first),
                           OnStream<UniformRandomVariable>(first + step),
                           OnStream<UniformRandomVariable>(first + 2 * step)});
        Schedule(host, config.startPs);
    }
}

void EunomiaPoissonSource::Schedule(uint32_t host, int64_t afterPs)
{
    double gap = m_hosts[host].gap->GetValue(m_meanGapPs, 0);
    if (gap < static_cast<double>(m_endPs - afterPs)) {
        int64_t start = afterPs + std::llround(gap);
        if (start < m_endPs) {
            m_arrivals.emplace(start, host);
        }
    }
}

bool EunomiaPoissonSource::Next(EunomiaFlow *flow)
{
    if (m_arrivals.empty()) {
        return false;
    }
    auto [start, src] = m_arrivals.top();
    m_arrivals.pop();
    Schedule(src, start);
    const Host &host = m_hosts[src];
    uint32_t other = host.destination->GetInteger(0, m_config.hosts - 2);
    flow->id = m_nextId++;
    flow->src = src;
    flow->dst = other < src ? other : other + 1;
    flow->priority = m_config.priority;
    flow->bytes = m_cdf.Sample(host.size->GetValue(0, 1));
    flow->startPs = start;
    return true;
}

std::vector<EunomiaFlow> EunomiaPoissonWorkload(const EunomiaWorkloadConfig &config,
                                                const EunomiaSizeCdf &cdf, int64_t stream)
{
    EunomiaPoissonSource source(config, cdf, stream);
    std::vector<EunomiaFlow> flows;
    EunomiaFlow flow;
    while (source.Next(&flow)) {
        flows.push_back(flow);
    }
    return flows;
}

std::vector<EunomiaFlow> EunomiaIncastWorkload(const EunomiaWorkloadConfig &config, uint32_t flows,
                                               uint32_t receiver, uint64_t bytes, int64_t stream)
{
    CheckCommon(config);
    CheckBytes(bytes);
    Require(flows >= 1, "--workload", "senders", "1 or more expected");
    Require(receiver < config.hosts, "--workload", "receiver", "not a host of the topology");
    std::vector<uint32_t> senders(config.hosts);
    std::iota(senders.begin(), senders.end(), 0);
    senders.erase(senders.begin() + receiver);
    Shuffle(&senders, OnStream<UniformRandomVariable>(stream));
    std::vector<EunomiaFlow> result;
    result.reserve(flows);
    for (uint32_t id = 0; id < flows; id++) {
        result.push_back(FlowAtStart(config, id, senders[id % senders.size()], receiver, bytes));
    }
    return result;
}

std::vector<EunomiaFlow> EunomiaPermutationWorkload(const EunomiaWorkloadConfig &config,
                                                    uint64_t bytes, int64_t stream)
{
    CheckCommon(config);
    CheckBytes(bytes);
    Ptr<UniformRandomVariable> uniform = OnStream<UniformRandomVariable>(stream);
    std::vector<uint32_t> to(config.hosts);
    std::iota(to.begin(), to.end(), 0);
    bool fixedPoint = true;
    while (fixedPoint) { /* about e rounds: one permutation in e has no fixed point */
        Shuffle(&to, uniform);
        fixedPoint = false;
        for (uint32_t src = 0; src < config.hosts; src++) {
            fixedPoint = fixedPoint || to[src] == src;
        }
    }
    std::vector<EunomiaFlow> flows;
    flows.reserve(config.hosts);
    for (uint32_t src = 0; src < config.hosts; src++) {
        flows.push_back(FlowAtStart(config, src, src, to[src], bytes));
    }
    return flows;
}

} // namespace ns3
