// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-fabric.h"

#include "ns3/abort.h"
#include "ns3/simulation-singleton.h"

#include <algorithm>
#include <numeric>
#include <queue>

namespace ns3 {

Ptr<EunomiaPort> EunomiaFabric::AddPort(Ptr<Node> node)
{
    auto port = CreateObject<EunomiaPort>();
    node->AddDevice(port);
    return port;
}

Ptr<EunomiaLink> EunomiaFabric::Cable(Ptr<EunomiaPort> a, Ptr<EunomiaPort> b)
{
    auto link = CreateObject<EunomiaLink>();
    link->Connect(a, b);
    m_links.push_back(link);
    return link;
}

uint32_t EunomiaFabric::AddHost()
{
    auto node = CreateObject<Node>();
    auto nic = CreateObject<EunomiaNic>();
    node->AggregateObject(nic);
    m_hostNodes.Add(node);
    m_nics.push_back(nic);
    m_hostSwitch.push_back(UINT32_MAX);
    m_hostPort.push_back(0);
    return GetNHosts() - 1;
}

uint32_t EunomiaFabric::AddSwitch(const std::string &name)
{
    auto node = CreateObject<Node>();
    auto sw = CreateObject<EunomiaSwitch>();
    node->AggregateObject(sw);
    m_switchNodes.Add(node);
    m_switches.push_back(sw);
    m_names.push_back(name);
    m_neighbours.emplace_back();
    return GetNSwitches() - 1;
}

void EunomiaFabric::ConnectHost(uint32_t host, uint32_t sw)
{
    NS_ABORT_MSG_UNLESS(m_hostSwitch.at(host) == UINT32_MAX, "a host has one port");
    auto a = AddPort(m_hostNodes.Get(host));
    auto b = AddPort(m_switchNodes.Get(sw));
    Cable(a, b);
    m_nics[host]->SetPort(a, host);
    m_hostSwitch[host] = sw;
    m_hostPort[host] = static_cast<uint16_t>(m_switches[sw]->AddPort(b));
}

void EunomiaFabric::ConnectSwitches(uint32_t a, uint32_t b)
{
    auto pa = AddPort(m_switchNodes.Get(a));
    auto pb = AddPort(m_switchNodes.Get(b));
    Cable(pa, pb);
    m_neighbours[a].push_back({b, static_cast<uint16_t>(m_switches[a]->AddPort(pa)), 0, 0});
    m_neighbours[b].push_back({a, static_cast<uint16_t>(m_switches[b]->AddPort(pb)), 0, 0});
}

std::vector<uint32_t> EunomiaFabric::DistancesTo(uint32_t target) const
{
    std::vector<uint32_t> distance(GetNSwitches(), UINT32_MAX);
    std::queue<uint32_t> frontier;
    distance[target] = 0;
    frontier.push(target);
    while (!frontier.empty()) {
        const uint32_t sw = frontier.front();
        frontier.pop();
        for (const Neighbour &n : m_neighbours[sw]) {
            if (distance[n.sw] == UINT32_MAX) {
                distance[n.sw] = distance[sw] + 1;
                frontier.push(n.sw);
            }
        }
    }
    return distance;
}

void EunomiaFabric::Route()
{
    m_distance.clear();
    for (uint32_t sw = 0; sw < GetNSwitches(); sw++) {
        m_distance.push_back(DistancesTo(sw));
    }
    for (uint32_t host = 0; host < GetNHosts(); host++) {
        const uint32_t target = m_hostSwitch[host];
        NS_ABORT_MSG_IF(target == UINT32_MAX, "host " << host << " is not connected");
        const std::vector<uint32_t> &distance = m_distance[target];
        for (uint32_t sw = 0; sw < GetNSwitches(); sw++) {
            if (sw == target) {
                m_switches[sw]->SetRoute(host, {m_hostPort[host]});
                continue;
            }
            NS_ABORT_MSG_IF(distance[sw] == UINT32_MAX,
                            m_names[sw] << " cannot reach host " << host);
            std::vector<uint16_t> ways;
            for (const Neighbour &n : m_neighbours[sw]) {
                if (distance[n.sw] + 1 == distance[sw]) {
                    ways.push_back(n.port);
                }
            }
            std::sort(ways.begin(), ways.end());
            m_switches[sw]->SetRoute(host, ways);
        }
    }
    TellLeaves();
}

void EunomiaFabric::TellLeaves()
{
    auto leaves = std::make_shared<EunomiaLeaves>();
    std::vector<uint32_t> number(GetNSwitches(), UINT32_MAX);
    std::vector<uint32_t> switches;
    for (const uint32_t sw : m_hostSwitch) {
        if (number[sw] == UINT32_MAX) {
            number[sw] = leaves->leaves++;
            switches.push_back(sw);
        }
        leaves->leaf.push_back(number[sw]);
    }
    for (const uint32_t a : switches) {
        for (const uint32_t b : switches) {
            leaves->longest = std::max(leaves->longest, m_distance[b][a] + 2);
        }
    }
    m_mostSwitches = leaves->longest - 1;
    for (const auto &sw : m_switches) {
        sw->SetLeaves(leaves);
    }
    MeasureLinks();
    std::vector<std::vector<EunomiaLeafWay>> ways(GetNSwitches());
    for (const uint32_t to : switches) {
        const std::vector<EunomiaLeafWay> way = WaysTo(to);
        for (const uint32_t from : switches) {
            ways[from].push_back(way[from]);
        }
    }
    for (const uint32_t sw : switches) {
        m_switches[sw]->SetLeafWays(ways[sw]);
    }
}

void EunomiaFabric::MeasureLinks()
{
    for (uint32_t sw = 0; sw < GetNSwitches(); sw++) {
        for (Neighbour &n : m_neighbours[sw]) {
            const auto port = m_switches[sw]->GetPort(n.port);
            n.delayPs = DynamicCast<EunomiaLink>(port->GetChannel())->GetDelay().GetTimeStep();
            n.psPerByte = 8e12 / static_cast<double>(port->GetRateBps());
        }
    }
}

std::vector<EunomiaLeafWay> EunomiaFabric::WaysTo(uint32_t target) const
{
    const std::vector<uint32_t> &distance = m_distance[target];
    std::vector<uint32_t> order(GetNSwitches());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return distance[a] < distance[b]; });
    std::vector<EunomiaLeafWay> to(GetNSwitches());
    for (const uint32_t sw : order) {
        uint64_t count = 0;
        for (const Neighbour &n : m_neighbours[sw]) {
            if (distance[sw] == UINT32_MAX || distance[n.sw] + 1 != distance[sw]) {
                continue;
            }
            const EunomiaLeafWay &rest = to[n.sw];
            count++;
            // Where ways differ, the slowest and the most of each count.
            EunomiaLeafWay &way = to[sw];
            way.links = distance[sw];
            way.paths = std::max(way.paths, rest.paths);
            way.delayPs = std::max(way.delayPs, rest.delayPs + n.delayPs);
            way.psPerByte = std::max(way.psPerByte, rest.psPerByte + n.psPerByte);
        }
        const uint64_t paths = std::max<uint64_t>(count, 1) * to[sw].paths;
        to[sw].paths = static_cast<uint32_t>(std::min<uint64_t>(paths, UINT32_MAX));
    }
    return to;
}

std::string EunomiaFabric::Configure(int64_t stream)
{
    uint32_t longest = 0;
    bool writesInt = false;
    for (const auto &nic : m_nics) {
        const std::string problem = nic->Configure();
        if (!problem.empty()) {
            return "ns3::EunomiaNic::" + problem;
        }
        const uint32_t records = nic->WritesInt() ? EUN_INT_HOP_BYTES * m_mostSwitches : 0;
        longest = std::max(longest, nic->GetMaxFrame() + records);
        writesInt |= nic->WritesInt();
    }
    if (writesInt) {
        const std::string problem = CheckInt();
        if (!problem.empty()) {
            return problem;
        }
    }
    for (const auto &sw : m_switches) {
        stream += sw->AssignStreams(stream);
        const std::string problem = sw->Configure();
        if (!problem.empty()) {
            return "ns3::EunomiaSwitch::" + problem;
        }
        // Reserve and headroom follow from the longest frame: with a longer one PFC would drop.
        // conweave-ns3 takes one length whatever the hosts send.
        if (sw->GetMaxFrame() < longest && sw->GetBuffer().policy != &eun_buffer_conweave) {
            return "ns3::EunomiaSwitch::MaxFrame: " + std::to_string(sw->GetMaxFrame()) +
                   " bytes are less than the " + std::to_string(longest) +
                   " of the longest frame that a NIC sends";
        }
    }
    return "";
}

std::string EunomiaFabric::CheckInt() const
{
    for (const auto &link : m_links) {
        const uint64_t rate = link->GetRate().GetBitRate();
        if (eun_int_rate_code(rate) < 0) {
            return "ns3::EunomiaLink::DataRate: the records of switches have no code for " +
                   std::to_string(rate) + " bit/s (core/wire/int.c)";
        }
    }
    return "";
}

uint32_t EunomiaFabric::GetPathLength(uint32_t src, uint32_t dst) const
{
    return m_distance.at(m_hostSwitch.at(dst)).at(m_hostSwitch.at(src)) + 2;
}

eun_path EunomiaFabric::GetPath(uint32_t src, uint32_t dst, bool multipath) const
{
    const auto link = DynamicCast<EunomiaLink>(m_nics.at(src)->GetPort()->GetChannel());
    return eun_path{GetPathLength(src, dst), link->GetRate().GetBitRate(),
                    link->GetDelay().GetTimeStep(), multipath};
}

int64_t EunomiaFabric::GetBaseRtt(uint32_t src, uint32_t dst) const
{
    const eun_path path = GetPath(src, dst, false);
    return eun_base_rtt(&m_nics[src]->GetOverhead(), &path, m_nics[src]->GetMtu());
}

int64_t EunomiaFabric::GetIdealFct(uint32_t src, uint32_t dst, uint64_t bytes, bool multipath) const
{
    const eun_path path = GetPath(src, dst, multipath);
    return eun_ideal_fct(&m_nics[src]->GetOverhead(), &path, m_nics[src]->GetMtu(), bytes);
}

EunomiaFabric::Totals EunomiaFabric::GetTotals() const
{
    Totals t;
    const auto count = [&t](const EunomiaPort &port) {
        for (int kind = 0; kind < EUNOMIA_FRAME_KINDS; kind++) {
            t.hops += port.GetFramesSent(static_cast<EunomiaFrameKind>(kind));
            t.hopBytes += port.GetBytesSent(static_cast<EunomiaFrameKind>(kind));
        }
        t.delivered += port.GetPausesReceived();
        t.queued += port.GetQueued();
        t.pausedPs += port.GetPausedTime();
    };
    for (const auto &nic : m_nics) {
        count(*nic->GetPort());
        for (int kind = 0; kind < EUNOMIA_FRAME_KINDS; kind++) {
            t.made += nic->GetFramesMade(static_cast<EunomiaFrameKind>(kind));
        }
        t.delivered += nic->GetConsumed();
    }
    for (const auto &sw : m_switches) {
        for (uint32_t i = 0; i < sw->GetNPorts(); i++) {
            count(*sw->GetPort(i));
        }
        t.made += sw->GetPauseFramesMade() + sw->GetSignalsMade();
        t.delivered += sw->GetSignalsTaken();
        t.queued += sw->GetHeld();
        t.dropped += sw->GetDrops();
        t.pauses += sw->GetPausesSent();
        t.marks += sw->GetMarks();
        t.deflected += sw->GetDeflected();
        t.bufferBytes += static_cast<uint64_t>(sw->GetBuffer().used);
    }
    for (const auto &link : m_links) {
        t.inFlight += link->GetInFlight();
    }
    return t;
}

bool EunomiaFabric::Conserved(std::string *problem) const
{
    const Totals t = GetTotals();
    const uint64_t found = t.delivered + t.dropped + t.queued + t.inFlight;
    if (t.made != found) {
        *problem = std::to_string(t.made) + " frames were made, " + std::to_string(found) +
                   " delivered, dropped or on their way";
        return false;
    }
    const uint64_t alive = SimulationSingleton<EunomiaFramePool>::Get()->GetAlive();
    if (alive != t.queued + t.inFlight) {
        *problem = std::to_string(alive) + " frames are allocated, " +
                   std::to_string(t.queued + t.inFlight) + " on their way";
        return false;
    }
    for (uint32_t sw = 0; sw < GetNSwitches(); sw++) {
        const char *reason;
        if (!eun_buffer_validate(&m_switches[sw]->GetBuffer(), &reason)) {
            *problem = m_names[sw] + ": " + reason;
            return false;
        }
    }
    if (t.queued + t.inFlight == 0 && t.bufferBytes != 0) {
        *problem = std::to_string(t.bufferBytes) + " buffer bytes are in use with no frame left";
        return false;
    }
    for (const auto &nic : m_nics) {
        const char *reason;
        if (nic->GetReorder() && !eun_reorder_validate(nic->GetReorder(), &reason)) {
            *problem = "host " + std::to_string(nic->GetHost()) + ": " + reason;
            return false;
        }
    }
    return true;
}

void EunomiaBuildClos(EunomiaFabric &fabric, const EunomiaClosConfig &config)
{
    // Hosts first: a host's number is its node's, too.
    for (uint32_t h = 0; h < config.leaves * config.hostsPerLeaf; h++) {
        fabric.AddHost();
    }
    for (uint32_t l = 0; l < config.leaves; l++) {
        const uint32_t leaf = fabric.AddSwitch("leaf" + std::to_string(l));
        for (uint32_t h = 0; h < config.hostsPerLeaf; h++) {
            fabric.ConnectHost(l * config.hostsPerLeaf + h, leaf);
        }
    }
    for (uint32_t s = 0; s < config.spines; s++) {
        const uint32_t spine = fabric.AddSwitch("spine" + std::to_string(s));
        for (uint32_t leaf = 0; leaf < config.leaves; leaf++) {
            fabric.ConnectSwitches(leaf, spine);
        }
    }
    fabric.Route();
}

} // namespace ns3
