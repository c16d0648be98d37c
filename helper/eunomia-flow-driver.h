// SPDX-License-Identifier: GPL-2.0-only
#ifndef EUNOMIA_FLOW_DRIVER_H
#define EUNOMIA_FLOW_DRIVER_H

#include "eunomia-fabric.h"
#include "eunomia-flow-list.h"
#include "eunomia-result-writer.h"

#include <deque>
#include <functional>
#include <map>
#include <vector>

namespace ns3 {

/**
 * \ingroup eunomia
 * \brief Plays a list of flows on a fabric and reports each one as it ends.
 *
 * A flow is a message, or several where it is larger than 2^31 bytes. With a QP a flow, the QP
 * opens at the flow's start and closes at its completion; with a QP a pair, flows between the same
 * hosts share one.
 */
class EunomiaFlowDriver : public EunomiaNicUser {
  public:
    /** Gives flows in order of start; false at the end. */
    using Source = std::function<bool(EunomiaFlow *)>;
    using Report = std::function<void(const EunomiaFlowRecord &)>;

    enum class Qps { PerFlow, PerPair };

    /** `multipath`: ideal FCTs are those of a fabric that may send packets different ways. */
    EunomiaFlowDriver(EunomiaFabric &fabric, Source source, Report report, Qps qps, bool multipath);

    /** Schedules the first flow. */
    void Start();
    /** Reports every flow that has not ended; call it after the run. Returns how many. */
    uint64_t ReportUnfinished();

    uint64_t GetStarted() const { return m_started; }
    uint64_t GetEnded() const { return m_done + m_failed; }
    uint64_t GetDone() const { return m_done; }
    uint64_t GetFailed() const { return m_failed; }
    uint64_t GetActive() const { return m_active; }
    uint64_t GetCompletions() const { return m_completions; }
    /** Flows visible or complete although a payload byte was missing; the invariant is 0. */
    uint64_t GetEarly() const { return m_early; }
    int64_t GetGateWait() const { return m_gateWaitPs; }
    /** Called when the last flow has started, or there is none: the drain time begins. */
    void SetLastStarted(std::function<void()> callback) { m_lastStarted = std::move(callback); }
    /** Called when the last flow has ended, or there is none. */
    void SetAllEnded(std::function<void()> callback) { m_allEnded = std::move(callback); }

    // EunomiaNicUser
    void MessageCompleted(EunomiaNic *sender, uint32_t qp, const eun_message &message) override;
    void MessagesVisible(EunomiaNic *sender, uint32_t qp, uint32_t count) override;
    void MessageStaged(EunomiaNic *sender, uint32_t qp, int64_t waitPs) override;
    void QpFailed(EunomiaNic *sender, uint32_t qp, const char *reason) override;

  private:
    struct Live {
        EunomiaFlow flow;
        uint32_t qp;
        bool alive;
        int64_t completedPs; //!< when its last message completed at the sender
    };

    void StartDue();
    void Open(const EunomiaFlow &flow);
    uint32_t QpFor(const EunomiaFlow &flow);
    /** Slots of the messages posted on a QP and not yet visible, oldest first. */
    std::deque<uint32_t> &Posted(uint32_t host, uint32_t qp);
    void End(uint32_t slot, const std::string &status);
    /** Ends a flow that is complete at the sender and visible at the receiver. */
    void EndIfDone(uint32_t slot);
    EunomiaFlowRecord Record(const Live &live, uint32_t slot) const;

    EunomiaFabric &m_fabric;
    Source m_source;
    Report m_report;
    Qps m_qps;
    bool m_multipath;
    EunomiaFlowTable *m_table;
    EunomiaFlow m_next;
    bool m_more = false;
    std::vector<Live> m_live;                                //!< [slot]
    std::vector<std::vector<std::deque<uint32_t>>> m_posted; //!< [host][qp]
    std::map<std::tuple<uint32_t, uint32_t, uint8_t>, uint32_t> m_pairs;
    std::function<void()> m_lastStarted;
    std::function<void()> m_allEnded;
    EunomiaTimer<EunomiaFlowDriver, &EunomiaFlowDriver::StartDue> m_timer;
    uint64_t m_started = 0;
    uint64_t m_active = 0;
    uint64_t m_done = 0;
    uint64_t m_failed = 0;
    uint64_t m_completions = 0;
    uint64_t m_early = 0;
    int64_t m_gateWaitPs = 0;
};

} // namespace ns3

#endif
