// SPDX-License-Identifier: GPL-2.0-only
#ifndef EUNOMIA_SAMPLER_H
#define EUNOMIA_SAMPLER_H

#include "eunomia-fabric.h"
#include "eunomia-flow-driver.h"
#include "eunomia-result-writer.h"

#include <vector>

namespace ns3 {

/**
 * \ingroup eunomia
 * \brief Writes timeseries.csv at a fixed interval of simulated time until Stop().
 *
 * Metrics: `pool_blocks` (max, total, and each host that uses some), `queue_bytes` (max, mean, and
 * the longest few), `uplink_bytes` (bytes sent since the last sample by each leaf's port towards
 * another switch), `flows_active`, `paused_ports`.
 */
class EunomiaSampler {
  public:
    EunomiaSampler(EunomiaFabric &fabric, EunomiaFlowDriver &driver, EunomiaResultWriter &writer,
                   int64_t intervalPs);

    void Start(int64_t atPs) { m_timer.Arm(atPs); }
    void Stop() { m_timer.Arm(m_timer.NEVER); }

  private:
    struct SwitchPort {
        Ptr<EunomiaSwitch> sw;
        uint32_t port;
        std::string name;
        bool uplink;
        uint64_t sentBefore;
    };

    void Sample();
    void SamplePool(int64_t now);
    void SampleQueues(int64_t now);
    void SamplePorts(int64_t now);

    EunomiaFabric &m_fabric;
    EunomiaFlowDriver &m_driver;
    EunomiaResultWriter &m_writer;
    int64_t m_intervalPs;
    std::vector<SwitchPort> m_ports;
    EunomiaTimer<EunomiaSampler, &EunomiaSampler::Sample> m_timer;
};

} // namespace ns3

#endif
