// SPDX-License-Identifier: GPL-2.0-only
#ifndef EUNOMIA_SWITCH_H
#define EUNOMIA_SWITCH_H

#include "core/switch/balancer.h"
#include "core/switch/rng.h"
#include "core/switch/shared-buffer.h"
#include "eunomia-port.h"

#include "ns3/object.h"
#include "ns3/random-variable-stream.h"
#include "ns3/traced-callback.h"

#include <memory>
#include <string>
#include <vector>

namespace ns3 {

/** Where hosts are attached, for balancers that ask: one for all switches of a network. */
struct EunomiaLeaves {
    std::vector<uint32_t> leaf; //!< [host]: its switch, numbered from 0 among those with hosts
    uint32_t leaves = 0;        //!< how many switches have hosts
    uint32_t longest = 0;       //!< most links on a shortest way between two hosts
};

/** The way from one switch with hosts to another. */
struct EunomiaLeafWay {
    uint32_t links = 0;   //!< between the two
    uint32_t paths = 1;   //!< product of the ways at each switch; saturates
    int64_t delayPs = 0;  //!< propagation
    double psPerByte = 0; //!< time on the wire of a byte, summed over the links
};

/**
 * \ingroup eunomia
 * \brief A shared-memory switch: forwards by destination host, balances data over equally short
 * ways, pauses its neighbours (PFC) and marks (ECN).
 *
 * Aggregate it to a Node, add its ports, add routes; it configures itself when the simulation
 * starts. Admission, pausing and the choice of the way are `core`'s (shared-buffer.h, balancer.h).
 */
class EunomiaSwitch : public Object, public EunomiaPortOwner {
  public:
    static TypeId GetTypeId();
    EunomiaSwitch();
    ~EunomiaSwitch() override;

    /** Adds a port that is connected already; returns its number, from 0. */
    uint32_t AddPort(Ptr<EunomiaPort> port);
    /** Frames for `host` leave by one of `ports`, all equally short; replaces an earlier route. */
    void SetRoute(uint32_t host, const std::vector<uint16_t> &ports);
    /** Tells the balancer about the network, before Configure(); most do without. */
    void SetLeaves(std::shared_ptr<const EunomiaLeaves> leaves) { m_leaves = std::move(leaves); }
    /** Of a switch with hosts, [leaf] as SetLeaves() numbers them. */
    void SetLeafWays(std::vector<EunomiaLeafWay> ways) { m_leafWays = std::move(ways); }
    /** Fixes the stream that seeds this switch's hash and random decisions; returns 1. */
    int64_t AssignStreams(int64_t stream);

    /**
     * Computes thresholds and seeds; the start of the simulation does so, too, and aborts where
     * this returns other than "": what is wrong with an attribute.
     */
    std::string Configure();

    /** Longest frame that reserve and headroom are made for. */
    uint32_t GetMaxFrame() const { return m_maxFrame; }
    uint32_t GetNPorts() const { return static_cast<uint32_t>(m_ports.size()); }
    Ptr<EunomiaPort> GetPort(uint32_t port) const { return m_ports.at(port); }
    uint32_t GetQueueBytes(uint32_t port) const { return m_buffer.port_bytes[port]; }
    const eun_buffer &GetBuffer() const { return m_buffer; }
    uint64_t GetDrops() const { return m_drops; }
    uint64_t GetMarks() const { return m_marks; }
    /** Data frames that took another port than their way (balancer deflect). */
    uint64_t GetDeflected() const { return m_deflected; }
    /** XOFF frames. */
    uint64_t GetPausesSent() const { return m_pauses; }
    /** XOFF and XON frames. */
    uint64_t GetPauseFramesMade() const { return m_pauseFrames; }
    /** Frames to other switches, by this one and for this one. */
    uint64_t GetSignalsMade() const { return m_signalsMade; }
    uint64_t GetSignalsTaken() const { return m_signalsTaken; }
    /** Frames that wait for earlier ones of their flow, at this moment. */
    uint64_t GetHeld() const { return m_heldFrames; }
    /** What a balancer that puts flows in order did here; null under any other. */
    const eun_lb_edge_stats *GetEdgeStats() const
    {
        return m_edge ? m_edge->stats(m_balancerState.data()) : nullptr;
    }

    /** [leaf] What SetLeafWays() said, for the frames of this switch. */
    std::vector<eun_lb_leaf_way> GetLeafWays() const;

    static constexpr uint32_t SIGNAL_BYTES = 64; //!< 14 + 20 + 8 + 12 + 4 + 4, padded (Ethernet)

    // EunomiaPortOwner
    void Receive(EunomiaPort *port, EunomiaFrame *frame) override;
    void Departs(EunomiaPort *port, EunomiaFrame *frame) override;
    EunomiaFrame *Pull(EunomiaPort *) override { return nullptr; }
    bool HasFrame(const EunomiaPort *) const override { return false; }
    void PauseChanged(EunomiaPort *, uint32_t, bool) override {}

    typedef void (*DropTracedCallback)(const EunomiaFrame &frame, uint32_t reason);
    typedef void (*PauseTracedCallback)(uint32_t port, uint32_t priority, bool xoff);

  protected:
    void DoInitialize() override;
    void DoDispose() override;

  private:
    struct Group {
        uint32_t first;
        uint32_t count;
    };

    /** What records say of a port. */
    struct Link {
        int rate; //!< code, see core/wire/int.h
        uint16_t number;
    };

    /** Repeats the pause of a port while it lasts. */
    struct Refresher {
        Refresher(EunomiaSwitch *s, uint32_t p) : owner(s), port(p), timer(this) {}
        void Fire() { owner->RefreshPause(port); }
        EunomiaSwitch *owner;
        uint32_t port;
        EunomiaTimer<Refresher, &Refresher::Fire> timer;
    };

    static TypeId AddBalancerAttributes(TypeId tid);
    static TypeId AddPathAttributes(TypeId tid);
    static TypeId AddDeflectAttributes(TypeId tid);
    static TypeId AddSprayAttributes(TypeId tid);
    static TypeId AddConweaveAttributes(TypeId tid);
    static TypeId AddConweaveModelAttributes(TypeId tid);
    static TypeId AddBufferAttributes(TypeId tid);
    static TypeId AddPauseAttributes(TypeId tid);
    uint32_t ChoosePort(EunomiaFrame *frame, uint32_t in);
    uint32_t ChooseWay(const EunomiaFrame *frame, uint32_t in, const uint16_t *ways,
                       uint32_t count);
    void Exchange(EunomiaFrame *frame, uint32_t in, uint32_t out, uint32_t way);
    uint32_t Divert(EunomiaFrame *frame, uint32_t out);
    void Sent(EunomiaFrame *frame, uint32_t out);
    /** Writes the record of `out` into a frame that takes records and is about to leave. */
    void Stamp(EunomiaFrame *frame, uint32_t out);
    bool Admit(EunomiaFrame *frame, uint32_t in, uint32_t out);
    void ReceiveAtEdge(EunomiaFrame *frame, uint32_t in);
    /** By ECMP, as all control frames. */
    void SendControl(EunomiaFrame *frame);
    uint32_t Steer(EunomiaFrame *frame, uint32_t in, Group group);
    void Deliver(EunomiaFrame *frame, uint32_t in, uint32_t out);
    void Hold(EunomiaFrame *frame, uint32_t out, uint32_t queue);
    void HandOver(EunomiaFrame *frame, uint32_t out);
    void ReleaseQueue(uint32_t queue);
    void SendSignals(const eun_lb_verdict &verdict);
    void TakeSignal(EunomiaFrame *frame);
    void EdgeExpired();
    void ArmEdgeTimer();
    void Drop(EunomiaFrame *frame, eun_drop_reason reason);
    void Act(eun_pfc_action action, uint32_t port, uint32_t priority);
    void RefreshPause(uint32_t port);
    std::string SetUpBuffer();
    void SetUpPort(uint32_t port);
    std::string FindBalancer();
    std::string SetUpBalancer();
    void SetUpTelemetry();
    std::string ConfigureBalancer();
    eun_lb_params BalancerParams() const;
    std::string ReadGrades(eun_lb_params *params) const;

    // Read for every frame
    eun_buffer m_buffer{};
    const eun_buffer_policy *m_policy = nullptr;
    const eun_balancer *m_balancer = nullptr;
    const eun_lb_edge *m_edge = nullptr; //!< the balancer's, null in most
    std::vector<uint64_t> m_balancerState;
    std::vector<uint8_t> m_facesHost; //!< [port]: no switch at the other end
    std::vector<Link> m_linkOf;       //!< [port]
    uint64_t m_salt = 0;
    eun_rng m_rng{};
    std::vector<Group> m_routes; //!< [host]
    std::vector<uint16_t> m_ways;
    std::vector<EunomiaPort *> m_port;
    std::vector<uint32_t> m_controlBytes; //!< [port]: of the control class, waiting
    EunomiaFramePool *m_pool;
    uint64_t m_drops = 0;
    uint64_t m_marks = 0;
    uint64_t m_deflected = 0;
    uint64_t m_pauses = 0;
    uint64_t m_pauseFrames = 0;

    // Of balancers with an edge
    uint32_t m_headerBytes = 0;
    std::vector<EunomiaFrameQueue> m_held; //!< [queue]
    uint64_t m_heldFrames = 0;
    uint64_t m_signalsMade = 0;
    uint64_t m_signalsTaken = 0;
    std::vector<EunomiaLeafWay> m_leafWays;
    std::vector<eun_lb_leaf_way> m_toLeaf;
    EunomiaTimer<EunomiaSwitch, &EunomiaSwitch::EdgeExpired> m_edgeTimer;

    std::vector<Ptr<EunomiaPort>> m_ports;
    std::vector<std::unique_ptr<Refresher>> m_refresh;
    std::shared_ptr<const EunomiaLeaves> m_leaves;
    Ptr<UniformRandomVariable> m_seeder;
    bool m_configured = false;

    // Attributes
    std::string m_balancerName;
    uint32_t m_drillSamples;
    uint32_t m_drillMemory;
    Time m_flowletTimeout;
    Time m_dreInterval;
    double m_dreAlpha;
    uint32_t m_congaBits;
    Time m_congaAging;
    uint32_t m_congaSample;
    uint32_t m_deflectHops;
    uint32_t m_deflectThreshold;
    uint8_t m_deflectPriority;
    uint32_t m_elephantBytes;
    uint32_t m_elephantQueue;
    Time m_elephantAging;
    std::string m_adaptiveGrades;
    Time m_conweaveReplyExtra;
    Time m_conweavePathBusy;
    Time m_conweaveResumeExtra;
    Time m_conweaveResumeDefault;
    Time m_conweaveInactive;
    Time m_conweaveLinkRtt;
    uint32_t m_conweaveQueues;
    uint32_t m_conweaveHeader;
    bool m_conweaveAbort;
    bool m_conweaveTimerClears;
    bool m_conweaveBuffer;
    std::string m_policyName;
    uint64_t m_bufferBytes;
    bool m_pfc;
    uint8_t m_losslessMask;
    double m_alpha;
    double m_egressAlpha;
    uint32_t m_reserve;
    uint32_t m_resume;
    uint32_t m_headroom;
    uint32_t m_maxFrame;
    uint32_t m_pauseFrame;
    Time m_pauseTime;
    uint32_t m_ecnMin;
    uint32_t m_ecnMax;
    double m_ecnProbability;

    TracedCallback<const EunomiaFrame &, uint32_t> m_dropTrace;
    TracedCallback<const EunomiaFrame &> m_markTrace;
    TracedCallback<uint32_t, uint32_t, bool> m_pauseTrace;
};

} // namespace ns3

#endif
