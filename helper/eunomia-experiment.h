// SPDX-License-Identifier: GPL-2.0-only
#ifndef EUNOMIA_EXPERIMENT_H
#define EUNOMIA_EXPERIMENT_H

#include "eunomia-fabric.h"
#include "eunomia-flow-driver.h"
#include "eunomia-options.h"
#include "eunomia-progress.h"
#include "eunomia-reorder-log.h"
#include "eunomia-result-writer.h"
#include "eunomia-sampler.h"
#include "eunomia-workload.h"

#include <memory>

namespace ns3 {

/**
 * \ingroup eunomia
 * \brief One simulation from options to result folder: what eunomia-sim runs.
 *
 * All input is checked before the result folder is made.
 */
class EunomiaExperiment {
  public:
    /** Exit statuses of the program. */
    enum Status { DONE = 0, BAD_INPUT = 2, UNFINISHED = 3, INCONSISTENT = 4 };

    /** \throws EunomiaInputError */
    explicit EunomiaExperiment(const EunomiaOptions &options);
    ~EunomiaExperiment();

    /** Simulates and writes the results. Says on stderr what went wrong, in one line. */
    Status Run();

    EunomiaFabric &GetFabric() { return *m_fabric; }

  private:
    void SetSeed();
    void SetDefaults();
    void SetCongestion(eun_overhead overhead, const eun_path &path);
    void SetIdleEpoch(int64_t rttPs);
    void SetCompatibility();
    void SetAttributes();
    void ReadTraffic();
    void Build();
    void OpenResults();
    void Connect();
    void ScheduleDrain();
    void ReportFlow(const EunomiaFlowRecord &record);
    void SendPause(uint32_t sw, uint32_t port, uint32_t priority, bool xoff);
    void CheckInvariants();
    Status Verdict() const;
    EunomiaSummary Summarise() const;
    void SummarisePool(EunomiaSummary &summary) const;
    void SummariseEdge(EunomiaSummary &summary) const;
    void DescribeConfig(EunomiaSummary &summary) const;
    uint64_t BdpBytes() const;
    int64_t BaseRttPs() const;

    EunomiaOptions m_options;
    std::vector<EunomiaFlow> m_flows;
    std::unique_ptr<EunomiaPoissonSource> m_poisson;
    size_t m_nextFlow = 0;
    uint8_t m_priorities = 1 << 3; //!< bit p: flows of priority p occur
    int64_t m_firstStart = 0;
    int64_t m_lastStart = 0;
    bool m_multipath = false;
    std::unique_ptr<EunomiaFabric> m_fabric;
    std::unique_ptr<EunomiaResultWriter> m_writer;
    std::unique_ptr<EunomiaFlowDriver> m_driver;
    std::unique_ptr<EunomiaSampler> m_sampler;
    std::unique_ptr<EunomiaReorderLog> m_reorderLog; //!< null where not requested
    std::unique_ptr<EunomiaProgress> m_progress;
    EventId m_drain;
    std::string m_problem; //!< internal inconsistency, "" where there is none
    uint64_t m_unfinished = 0;
    double m_wallS = 0;
};

/** Version of this module, as in summary.json. */
const char *EunomiaVersion();

} // namespace ns3

#endif
