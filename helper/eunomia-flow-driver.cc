// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-flow-driver.h"

#include "ns3/simulation-singleton.h"

#include <algorithm>

namespace ns3 {

EunomiaFlowDriver::EunomiaFlowDriver(EunomiaFabric &fabric, Source source, Report report, Qps qps,
                                     bool multipath)
    : m_fabric(fabric), m_source(std::move(source)), m_report(std::move(report)), m_qps(qps),
      m_multipath(multipath), m_table(SimulationSingleton<EunomiaFlowTable>::Get()),
      m_posted(fabric.GetNHosts()), m_timer(this)
{
    for (uint32_t h = 0; h < fabric.GetNHosts(); h++) {
        fabric.GetNic(h)->SetUser(this);
    }
}

void EunomiaFlowDriver::Start()
{
    m_more = m_source(&m_next);
    if (m_more) {
        m_timer.Arm(m_next.startPs);
        return;
    }
    if (m_lastStarted) {
        m_lastStarted();
    }
    if (m_allEnded) {
        m_allEnded();
    }
}

void EunomiaFlowDriver::StartDue()
{
    const int64_t now = EunomiaNow();
    while (m_more && m_next.startPs <= now) {
        const EunomiaFlow flow = m_next;
        m_more = m_source(&m_next);
        Open(flow);
    }
    if (m_more) {
        m_timer.Arm(m_next.startPs);
    } else if (m_lastStarted) {
        m_lastStarted();
    }
}

std::deque<uint32_t> &EunomiaFlowDriver::Posted(uint32_t host, uint32_t qp)
{
    auto &qps = m_posted[host];
    if (qp >= qps.size()) {
        qps.resize(qp + 1);
    }
    return qps[qp];
}

uint32_t EunomiaFlowDriver::QpFor(const EunomiaFlow &flow)
{
    const auto nic = m_fabric.GetNic(flow.src);
    const auto peer = m_fabric.GetNic(flow.dst);
    if (m_qps == Qps::PerFlow) {
        return nic->Connect(peer, flow.priority);
    }
    const auto key = std::make_tuple(flow.src, flow.dst, flow.priority);
    const auto found = m_pairs.find(key);
    if (found != m_pairs.end()) {
        return found->second;
    }
    return m_pairs[key] = nic->Connect(peer, flow.priority);
}

void EunomiaFlowDriver::Open(const EunomiaFlow &flow)
{
    const uint32_t slot = m_table->Open();
    const uint32_t qp = QpFor(flow);
    if (slot >= m_live.size()) {
        m_live.resize(slot + 1);
    }
    m_live[slot] = Live{flow, qp, true, 0};
    m_started++;
    m_active++;
    EunomiaFlowStats &stats = (*m_table)[slot];
    stats.number = flow.id;
    std::vector<uint32_t> sizes;
    for (uint64_t left = flow.bytes; left > 0; left -= sizes.back()) {
        sizes.push_back(static_cast<uint32_t>(std::min<uint64_t>(left, EUN_MESSAGE_MAX_BYTES)));
    }
    stats.messages = stats.unseen = static_cast<uint32_t>(sizes.size());
    for (const uint32_t bytes : sizes) {
        Posted(flow.src, qp).push_back(slot);
        m_fabric.GetNic(flow.src)->Post(qp, bytes, slot);
    }
}

void EunomiaFlowDriver::MessagesVisible(EunomiaNic *sender, uint32_t qp, uint32_t count)
{
    auto &posted = Posted(sender->GetHost(), qp);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t slot = posted.front();
        posted.pop_front();
        EunomiaFlowStats &stats = (*m_table)[slot];
        if (--stats.unseen == 0) {
            stats.visiblePs = EunomiaNow();
            m_early += stats.accepted < m_live[slot].flow.bytes;
            EndIfDone(slot);
        }
    }
}

void EunomiaFlowDriver::MessageStaged(EunomiaNic *sender, uint32_t qp, int64_t waitPs)
{
    (*m_table)[Posted(sender->GetHost(), qp).front()].gateWaitPs += waitPs;
    m_gateWaitPs += waitPs;
}

void EunomiaFlowDriver::EndIfDone(uint32_t slot)
{
    const EunomiaFlowStats &stats = (*m_table)[slot];
    if (stats.messages == 0 && stats.unseen == 0) {
        m_done++;
        End(slot, "done");
    }
}

void EunomiaFlowDriver::MessageCompleted(EunomiaNic *, uint32_t, const eun_message &message)
{
    const auto slot = static_cast<uint32_t>(message.cookie);
    EunomiaFlowStats &stats = (*m_table)[slot];
    m_completions++;
    stats.gateWaitPs += message.wait_ps;
    m_gateWaitPs += message.wait_ps;
    if (--stats.messages == 0) {
        // A sender that knows of completion before the receiver has all would be early, too.
        m_early += stats.accepted < m_live[slot].flow.bytes;
        m_live[slot].completedPs = EunomiaNow();
        EndIfDone(slot);
    }
}

void EunomiaFlowDriver::QpFailed(EunomiaNic *sender, uint32_t qp, const char *reason)
{
    Posted(sender->GetHost(), qp).clear();
    for (uint32_t slot = 0; slot < m_live.size(); slot++) {
        const Live &live = m_live[slot];
        if (live.alive && live.flow.src == sender->GetHost() && live.qp == qp) {
            m_failed++;
            End(slot, std::string("failed:") + reason);
        }
    }
    if (m_qps == Qps::PerPair) {
        for (auto it = m_pairs.begin(); it != m_pairs.end(); ++it) {
            if (std::get<0>(it->first) == sender->GetHost() && it->second == qp) {
                m_pairs.erase(it);
                sender->Close(qp);
                break;
            }
        }
    }
}

EunomiaFlowRecord EunomiaFlowDriver::Record(const Live &live, uint32_t slot) const
{
    const EunomiaFlowStats &stats = (*m_table)[slot];
    EunomiaFlowRecord r;
    r.flow = live.flow.id;
    r.src = live.flow.src;
    r.dst = live.flow.dst;
    r.sport = static_cast<uint16_t>(10000 + live.flow.id % 50000);
    r.dport = 4791;
    r.bytes = live.flow.bytes;
    r.startPs = live.flow.startPs;
    r.idealPs = m_fabric.GetIdealFct(r.src, r.dst, r.bytes, m_multipath);
    r.packets = stats.packets;
    r.retransmitted = stats.retransmitted;
    r.outOfOrder = stats.outOfOrder;
    r.maxReorderSpan = stats.maxSpan;
    r.gateWaitPs = stats.gateWaitPs;
    r.visiblePs = stats.unseen == 0 ? stats.visiblePs - r.startPs : -1;
    return r;
}

void EunomiaFlowDriver::End(uint32_t slot, const std::string &status)
{
    Live &live = m_live[slot];
    EunomiaFlowRecord record = Record(live, slot);
    record.status = status;
    if (status == "done") {
        record.fctPs = live.completedPs - live.flow.startPs;
    }
    m_report(record);
    live.alive = false;
    m_active--;
    m_table->Close(slot);
    if (m_qps == Qps::PerFlow) {
        m_fabric.GetNic(live.flow.src)->Close(live.qp);
    }
    if (!m_more && m_active == 0 && m_allEnded) {
        m_allEnded();
    }
}

uint64_t EunomiaFlowDriver::ReportUnfinished()
{
    std::vector<uint32_t> slots;
    for (uint32_t slot = 0; slot < m_live.size(); slot++) {
        if (m_live[slot].alive) {
            slots.push_back(slot);
        }
    }
    std::sort(slots.begin(), slots.end(),
              [this](uint32_t a, uint32_t b) { return m_live[a].flow.id < m_live[b].flow.id; });
    for (const uint32_t slot : slots) {
        EunomiaFlowRecord record = Record(m_live[slot], slot);
        record.status = "unfinished";
        m_report(record);
    }
    return slots.size();
}

} // namespace ns3
