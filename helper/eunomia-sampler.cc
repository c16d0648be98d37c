// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-sampler.h"

#include <algorithm>

namespace ns3 {

namespace {

/** How many ports' queues a sample names. */
constexpr size_t LONGEST = 8;

uint64_t DataBytesSent(const EunomiaPort &port)
{
    return port.GetBytesSent(EunomiaFrameKind::Data);
}

bool LeadsToHost(const Ptr<EunomiaPort> &port)
{
    return port->GetPeer()->GetNode()->GetObject<EunomiaNic>() != nullptr;
}

} // namespace

EunomiaSampler::EunomiaSampler(EunomiaFabric &fabric, EunomiaFlowDriver &driver,
                               EunomiaResultWriter &writer, int64_t intervalPs)
    : m_fabric(fabric), m_driver(driver), m_writer(writer), m_intervalPs(intervalPs), m_timer(this)
{
    for (uint32_t s = 0; s < fabric.GetNSwitches(); s++) {
        const auto sw = fabric.GetSwitch(s);
        bool leaf = false;
        for (uint32_t p = 0; p < sw->GetNPorts(); p++) {
            leaf |= LeadsToHost(sw->GetPort(p));
        }
        for (uint32_t p = 0; p < sw->GetNPorts(); p++) {
            m_ports.push_back({sw, p, fabric.GetSwitchName(s) + ":" + std::to_string(p),
                               leaf && !LeadsToHost(sw->GetPort(p)), 0});
        }
    }
}

void EunomiaSampler::Sample()
{
    const int64_t now = EunomiaNow();
    SamplePool(now);
    SampleQueues(now);
    SamplePorts(now);
    m_writer.Sample(now, "flows_active", "all", static_cast<double>(m_driver.GetActive()));
    m_timer.Arm(now + m_intervalPs);
}

void EunomiaSampler::SamplePool(int64_t now)
{
    uint32_t most = 0;
    uint64_t total = 0;
    for (uint32_t h = 0; h < m_fabric.GetNHosts(); h++) {
        const eun_reorder *reorder = m_fabric.GetNic(h)->GetReorder();
        if (!reorder) {
            return;
        }
        const uint32_t blocks = eun_reorder_stats(reorder)->blocks_in_use;
        if (blocks) {
            m_writer.Sample(now, "pool_blocks", "host" + std::to_string(h), blocks);
        }
        most = std::max(most, blocks);
        total += blocks;
    }
    m_writer.Sample(now, "pool_blocks", "max", most);
    m_writer.Sample(now, "pool_blocks", "total", static_cast<double>(total));
}

void EunomiaSampler::SampleQueues(int64_t now)
{
    std::vector<std::pair<uint32_t, size_t>> queues;
    uint64_t total = 0;
    for (size_t i = 0; i < m_ports.size(); i++) {
        const uint32_t bytes = m_ports[i].sw->GetQueueBytes(m_ports[i].port);
        total += bytes;
        if (bytes) {
            queues.emplace_back(bytes, i);
        }
    }
    const size_t n = std::min(LONGEST, queues.size());
    std::partial_sort(queues.begin(), queues.begin() + static_cast<ptrdiff_t>(n), queues.end(),
                      [](const auto &a, const auto &b) {
                          return a.first != b.first ? a.first > b.first : a.second < b.second;
                      });
    m_writer.Sample(now, "queue_bytes", "max", n ? queues[0].first : 0);
    m_writer.Sample(now, "queue_bytes", "mean",
                    static_cast<double>(total) / static_cast<double>(m_ports.size()));
    for (size_t i = 0; i < n; i++) {
        m_writer.Sample(now, "queue_bytes", m_ports[queues[i].second].name, queues[i].first);
    }
}

void EunomiaSampler::SamplePorts(int64_t now)
{
    uint32_t paused = 0;
    for (SwitchPort &p : m_ports) {
        const auto port = p.sw->GetPort(p.port);
        const auto peer = port->GetPeer();
        for (uint32_t priority = 0; priority < EUN_PRIORITIES; priority++) {
            paused += port->IsPaused(priority);
            paused += LeadsToHost(port) && peer->IsPaused(priority);
        }
        if (p.uplink) {
            const uint64_t sent = DataBytesSent(*port);
            m_writer.Sample(now, "uplink_bytes", p.name, static_cast<double>(sent - p.sentBefore));
            p.sentBefore = sent;
        }
    }
    m_writer.Sample(now, "paused_ports", "all", paused);
}

} // namespace ns3
