// SPDX-License-Identifier: GPL-2.0-only
#ifndef EUNOMIA_NIC_H
#define EUNOMIA_NIC_H

#include "core/congestion/congestion.h"
#include "core/congestion/rtt-samples.h"
#include "core/reorder/burst.h"
#include "core/transport/generation.h"
#include "core/transport/mprdma-window.h"
#include "core/transport/staging.h"
#include "core/transport/transport.h"
#include "core/wire/overhead.h"
#include "eunomia-flow-table.h"
#include "eunomia-nic-pipelines.h"
#include "eunomia-port.h"

#include "ns3/object.h"
#include "ns3/traced-callback.h"

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace ns3 {

class EunomiaNic;

/** Who posts messages at a NIC and wants to know what becomes of them. */
class EunomiaNicUser {
  public:
    virtual ~EunomiaNicUser() = default;
    /** The sender holds the acknowledgement of every packet of the message. */
    virtual void MessageCompleted(EunomiaNic *sender, uint32_t qp, const eun_message &message) = 0;
    /**
     * `count` further messages of that QP are whole at the receiver, in order of posting. With gate
     * `receiver` this may come after MessageCompleted(): an acknowledgement says that the NIC has
     * the bytes.
     */
    virtual void MessagesVisible(EunomiaNic *sender, uint32_t qp, uint32_t count) = 0;
    /**
     * Gate `receiver` staged the Last of the message of that QP that becomes visible next; it
     * waited there, and for its copy, for `waitPs` in all. MessagesVisible() follows.
     */
    virtual void MessageStaged(EunomiaNic *, uint32_t, int64_t) {}
    /**
     * The QP gave up; its messages will not complete. The user closes it. The reason is
     * `retry-limit`, `receiver-restart` or `nic-restart`.
     */
    virtual void QpFailed(EunomiaNic *sender, uint32_t qp, const char *reason) = 0;
};

/**
 * \ingroup eunomia
 * \brief An RDMA NIC with one port: queue pairs, pacing, the ordering layer.
 *
 * Aggregate it to a Node. Connect() makes a reliable connection to another NIC, as a connection
 * manager would, out of band; Post() queues a message. What a packet or an answer means is decided
 * in `core/transport`, how fast a QP sends in `core/congestion`.
 *
 * The NIC serves control frames first, then ready QPs in turn, one frame each. A QP sends its next
 * packet no earlier than its rate allows; no idle or waiting QP is ever scanned.
 */
class EunomiaNic : public Object, public EunomiaPortOwner, public EunomiaNicPipelines::Owner {
  public:
    static TypeId GetTypeId();
    EunomiaNic();
    ~EunomiaNic() override;

    void SetPort(Ptr<EunomiaPort> port, uint32_t host);
    Ptr<EunomiaPort> GetPort() const { return m_portPtr; }
    uint32_t GetHost() const { return m_host; }
    void SetUser(EunomiaNicUser *user) { m_user = user; }
    /**
     * Fixes parameters: attributes have no effect afterwards. The first Connect() does so, too, and
     * aborts where this returns other than "": what is wrong with an attribute.
     */
    std::string Configure();

    /** Opens a QP to `peer` for data of `priority` 1..7; returns its number here. */
    uint32_t Connect(Ptr<EunomiaNic> peer, uint8_t priority);
    /** Queues a message of 1..2^31 bytes; `flow` is a slot of the EunomiaFlowTable. */
    void Post(uint32_t qp, uint32_t bytes, uint32_t flow);
    /**
     * The NIC starts anew: it loses its ordering memory and its QPs. As a connection manager would,
     * out of band, it tells the users of all QPs that end here: QpFailed() with `nic-restart` for
     * its own requesters, `receiver-restart` for those of its peers. A QP that the user does not
     * close then is closed. Frames of earlier lives that still arrive are stale; generations
     * outlive the restart, or a number that is used again at once would take them.
     */
    void Restart();
    /** Closes both ends at once; frames of the QP that are still under way will be ignored. */
    void Close(uint32_t qp);
    /** Tells the trace ReorderBurst what is open, as if every QP closed now. */
    void EndReorderBursts();

    const eun_transport &GetTransport() const { return *m_transport; }
    const eun_overhead &GetOverhead() const { return m_overhead; }
    /** Longest data frame as stored. */
    uint32_t GetMaxFrame() const;
    uint32_t GetMtu() const { return m_mtu; }
    /** Do its data packets take the records of switches, 8 bytes each, beside GetMaxFrame()? */
    bool WritesInt() const { return m_cc->signal == EUN_CC_SIGNAL_INT; }
    eun_gate GetGate() const { return m_txEnv.gate; }
    /** The last packet of a message is a synchronise packet (transport mprdma, WRITE). */
    bool Synchronises() const { return m_mprdma.sync_lasts; }
    /** Null for transports that hold packets elsewhere, or never. */
    const eun_reorder *GetReorder() const { return m_reorder; }
    /** Null where allocations take no time. */
    const eun_controller *GetController() const
    {
        return m_pipelines ? m_pipelines->GetController() : nullptr;
    }
    /** Bytes of the bitmaps of all responder QPs so far, for transports with EUN_ORDERING_FIXED. */
    uint64_t GetBitmapBytes() const
    {
        return m_rxEnv.fixed ? m_rx.size() * m_shape.words * sizeof(uint64_t) : 0;
    }
    uint64_t GetFallbacks() const { return m_rxEnv.fallbacks; }
    uint64_t GetFramesMade(EunomiaFrameKind kind) const { return m_made[static_cast<int>(kind)]; }
    uint64_t GetBytesMade(EunomiaFrameKind kind) const
    {
        return m_madeBytes[static_cast<int>(kind)];
    }
    uint64_t GetRetransmitted() const { return m_retransmitted; }
    uint64_t GetRetransmittedBytes() const { return m_retransmittedBytes; }
    uint64_t GetOutOfOrder() const { return m_outOfOrder; }
    uint64_t GetStale() const { return m_stale; }
    /** Frames that reached this NIC and were consumed. */
    uint64_t GetConsumed() const { return m_consumed; }

    // EunomiaPortOwner
    void Receive(EunomiaPort *port, EunomiaFrame *frame) override;
    void Departs(EunomiaPort *, EunomiaFrame *) override {}
    EunomiaFrame *Pull(EunomiaPort *port) override;
    bool HasFrame(const EunomiaPort *port) const override;
    void PauseChanged(EunomiaPort *, uint32_t, bool) override {}

    typedef void (*CompletionTracedCallback)(uint32_t qp, uint32_t bytes, Time wait);
    typedef void (*PoolTracedCallback)(uint32_t blocksInUse, uint32_t qpsActive);
    typedef void (*AllocationTracedCallback)(Time latency);
    typedef void (*BurstTracedCallback)(uint32_t qp, uint32_t flow, const eun_burst &piece);

  protected:
    void DoDispose() override;

  private:
    /** Requester half of a connection. */
    struct TxQp {
        TxQp(EunomiaNic *owner, uint32_t number);
        void RtoExpired() { nic->RtoExpired(*this); }
        void Cc0Expired() { nic->CcExpired(*this, 0); }
        void Cc1Expired() { nic->CcExpired(*this, 1); }
        void PaceDue() { nic->PaceDue(*this); }

        EunomiaNic *nic;
        uint32_t number;
        eun_sender *tx = nullptr;
        eun_cc cc{};
        int64_t nextAvailPs = 0; //!< pacing: no packet before
        TxQp *nextReady = nullptr;
        uint32_t peerQp = 0;
        uint32_t entropy = 0;
        EunomiaNic *peer = nullptr;
        uint8_t priority = 0;
        eun_generation life{};      //!< of this number; answers carry it
        uint8_t peerGeneration = 0; //!< life of the number at the peer; data carries it
        bool open = false;
        bool queued = false;     //!< in a ready list or the pace heap
        uint32_t telemetry = 0;  //!< slot of what the last answer brought back; 0: nothing
        int64_t telemetryPs = 0; //!< when
        std::unique_ptr<eun_rtt_samples> samples; //!< null where no round trips are measured
        EunomiaTimer<TxQp, &TxQp::RtoExpired> rto;
        EunomiaTimer<TxQp, &TxQp::Cc0Expired> cc0;
        EunomiaTimer<TxQp, &TxQp::Cc1Expired> cc1;
        using PaceTimer = EunomiaTimer<TxQp, &TxQp::PaceDue>;
        std::unique_ptr<PaceTimer> pace; //!< null for transports without pacing
    };

    /** Responder half. */
    struct RxQp {
        eun_receiver rx{};
        std::unique_ptr<uint64_t[]> bitmap; //!< of `rx`, where the transport has one; kept
        int64_t nextCnpPs = 0;
        bool sendsCnps = false; //!< the peer's control lives on them
        EunomiaNic *peer = nullptr;
        uint32_t peerQp = 0;
        uint32_t entropy = 0;
        eun_generation life{};      //!< of this number; data carries it
        uint8_t peerGeneration = 0; //!< life of the number at the peer; answers carry it
        bool open = false;
    };

    /** Reordering of a responder QP. */
    struct RxBursts {
        eun_burst_tracker tracker{};
        uint32_t flow = 0; //!< whose packet began the burst
    };

    struct Paced {
        int64_t at;
        uint64_t order; //!< ties go to who came first
        TxQp *qp;
        bool operator>(const Paced &o) const { return at != o.at ? at > o.at : order > o.order; }
    };

    struct ReadyList {
        TxQp *head = nullptr;
        TxQp *tail = nullptr;
    };

    /** Tells the user; closes the QP where the user has not. */
    void Fail(TxQp &qp, const char *reason);
    uint32_t OpenReceiver(EunomiaNic *peer, const TxQp &peerQp);
    void CloseReceiver(uint32_t qp);
    void ReceiveData(EunomiaFrame *frame);
    // EunomiaNicPipelines::Owner
    void Allocated(int64_t latencyPs) override { m_latencyTrace(TimeStep(latencyPs)); }
    void Leaves(const EunomiaNicPipelines::Outcome &outcome) override;
    /** Answers a data packet that has left its pipeline, and tells the user what it completed. */
    void Conclude(RxQp &qp, const EunomiaNicPipelines::Outcome &outcome, int64_t now);
    /** `telemetry`: slot that the answer takes back, or 0. */
    void Answer(RxQp &qp, const eun_feedback &feedback, uint32_t telemetry);
    /** Tells the user of the messages whose staged Last has been copied by now. */
    void ReportCopied();
    void Account(EunomiaFrame *frame, const eun_rx_verdict &verdict);
    /** Starts to track the responder QP where someone is connected to ReorderBurst. */
    void OpenBursts(uint32_t qp);
    void TrackBursts(const EunomiaFrame &frame, const eun_rx_verdict &verdict);
    void EndSlices(uint32_t qp, int64_t now);
    /** Tells what is open, if the QP is tracked. */
    void CloseBursts(uint32_t qp);
    void ReceiveFeedback(EunomiaFrame *frame);
    /** Tells the user what has completed; false where the QP is no longer open after that. */
    bool ReportCompleted(TxQp &qp);
    void StartCongestion(TxQp &qp);
    void NotifyCongestion(TxQp &qp);
    void StopCongestion(TxQp &qp);
    /** Makes a data packet measure something on its way, as the control wants it. */
    void Instrument(TxQp &qp, const eun_tx_packet &packet, EunomiaFrame *frame);
    /** The sender has taken in an answer; `inFlight` payload bytes were in flight before. */
    void HearAnswer(TxQp &qp, const eun_feedback &feedback, uint64_t inFlight,
                    EunomiaTelemetry::Holder &telemetry);
    void ArmCc(TxQp &qp);
    void RtoExpired(TxQp &qp);
    void CcExpired(TxQp &qp, int timer);
    /** What a transport with pacing needs besides: a clock, and a seed. */
    void StartPacing(TxQp &qp);
    void ArmPacing(TxQp &qp);
    void PaceDue(TxQp &qp);
    void Sweep();
    void PaceExpired();
    /** Files the QP as ready or paced where it has something to send. */
    void Consider(TxQp &qp);
    /** Files it as ready where it may send once the wire is free, else as paced. */
    void File(TxQp &qp, int64_t wireFreeAt);
    void ArmPace();
    /** Priorities with a ready QP that are not paused. */
    uint32_t OpenPriorities() const;
    void PushReady(TxQp *qp);
    TxQp *PopReady();
    void ReleaseDuePaced(int64_t now);
    void Recycle(TxQp *qp) { m_freeTx.push_back(qp->number); }
    EunomiaFrame *BuildData(TxQp &qp);
    EunomiaFrame *NewControl(EunomiaFrameKind kind, uint32_t bytes, const RxQp &qp);
    std::string ConfigureNames();
    std::string ConfigureGate();
    void ConfigureLimits();
    std::string ConfigureOrdering();
    std::string ConfigurePool();
    std::string ConfigureBitmap();
    std::string ConfigureMprdma();
    void ConfigureTimeouts();
    std::string ConfigurePipelines();
    std::string ConfigureStaging();
    void RequireConfigured();
    std::string ConfigureCongestion();
    std::string ConfigureTimely();
    static TypeId AddTransportAttributes(TypeId tid);
    static TypeId AddOrderingAttributes(TypeId tid);
    static TypeId AddMprdmaAttributes(TypeId tid);
    static TypeId AddCongestionAttributes(TypeId tid);
    static TypeId AddDcqcnAttributes(TypeId tid);
    static TypeId AddTimelyAttributes(TypeId tid);
    void Count(const EunomiaFrame *frame)
    {
        m_made[static_cast<int>(frame->kind)]++;
        m_madeBytes[static_cast<int>(frame->kind)] += frame->bytes;
    }

    EunomiaPort *m_port = nullptr;
    EunomiaFramePool *m_pool;
    EunomiaFlowTable *m_flows;
    EunomiaNicUser *m_user = nullptr;
    const eun_transport *m_transport = nullptr;
    const eun_cc_ops *m_cc = nullptr;
    eun_sender_env m_txEnv{};
    eun_receiver_env m_rxEnv{};
    eun_cc_config m_ccConfig{};
    bool m_instruments = false; //!< see Instrument()
    eun_overhead m_overhead{};
    eun_reorder *m_reorder = nullptr;
    eun_fixed_shape m_shape{};
    eun_mprdma_config m_mprdma{};
    eun_staging m_staging{};
    std::unique_ptr<EunomiaNicPipelines> m_pipelines; //!< null where allocations take no time
    std::array<ReadyList, 8> m_ready;
    uint32_t m_readyMask = 0;
    uint32_t m_turn = 1;
    std::vector<Paced> m_paced; //!< binary heap, earliest on top
    uint64_t m_paceOrder = 0;
    std::vector<std::unique_ptr<TxQp>> m_tx;
    std::deque<RxQp> m_rx;
    std::vector<RxBursts> m_bursts; //!< [responder QP], as far as they are tracked
    std::deque<uint32_t> m_freeTx;  //!< first in, first out; see core/transport/generation.h
    std::deque<uint32_t> m_freeRx;
    EunomiaTimer<EunomiaNic, &EunomiaNic::PaceExpired> m_paceTimer;
    EunomiaTimer<EunomiaNic, &EunomiaNic::Sweep> m_sweepTimer;
    EunomiaTimer<EunomiaNic, &EunomiaNic::ReportCopied> m_copyTimer;

    std::array<uint64_t, EUNOMIA_FRAME_KINDS> m_made{};
    std::array<uint64_t, EUNOMIA_FRAME_KINDS> m_madeBytes{};
    uint64_t m_retransmitted = 0;
    uint64_t m_retransmittedBytes = 0;
    uint64_t m_outOfOrder = 0;
    uint64_t m_stale = 0;
    uint64_t m_consumed = 0;
    uint32_t m_connections = 0;
    uint32_t m_host = 0;
    bool m_configured = false;
    Ptr<EunomiaPort> m_portPtr;

    // Attributes
    std::string m_transportName;
    std::string m_ccName;
    std::string m_verb;
    std::string m_gate;
    std::string m_gateScope;
    uint32_t m_mtu;
    uint32_t m_flatOverhead;
    uint32_t m_window;
    uint32_t m_orderingWindow;
    uint32_t m_ackEvery;
    uint32_t m_sackEvery;
    uint32_t m_retryLimit;
    uint32_t m_poolBlocks;
    uint32_t m_qpCap;
    uint32_t m_reserve;
    bool m_linkMetadata;
    uint32_t m_fallbackAfter;
    uint32_t m_stagingLimit;
    DataRate m_stagingRate;
    Time m_baseRtt;
    double m_hpccEta;
    uint32_t m_hpccMaxStage;
    uint32_t m_hpccIncrease;
    uint32_t m_timelySegment;
    double m_timelyAlpha;
    double m_timelyBeta;
    Time m_timelyMinRtt;
    Time m_timelyLow;
    Time m_timelyHigh;
    DataRate m_timelyRateAi;
    DataRate m_timelyRateMin;
    double m_dctcpGain;
    double m_gain;
    uint32_t m_fastRecovery;
    bool m_clampTarget;
    uint32_t m_banks;
    Time m_allocTime;
    uint32_t m_pipelineCount;
    uint32_t m_cacheBlocks;
    Time m_idleEpoch;
    Time m_cnpInterval;
    bool m_echoInAck;
    uint32_t m_firstPsn;
    Time m_nackInterval;
    Time m_rto;
    Time m_irnRtoLow;
    Time m_irnRtoHigh;
    uint32_t m_irnRtoLowPackets;
    bool m_irnGoBack;
    uint32_t m_mprdmaBitmap;
    uint32_t m_mprdmaInitialWindow;
    uint32_t m_mprdmaDelta;
    Time m_mprdmaRtt;
    Time m_mprdmaBurstTimer;
    double m_mprdmaSyncAlpha;
    double m_mprdmaProbe;
    Time m_alphaInterval;
    Time m_decreaseInterval;
    Time m_increaseInterval;
    DataRate m_rateAi;
    DataRate m_rateHai;
    DataRate m_rateMin;

    TracedCallback<const EunomiaFrame &> m_arrivalTrace;
    TracedCallback<uint32_t, uint32_t, Time> m_completionTrace;
    TracedCallback<uint32_t, uint32_t> m_poolTrace;
    TracedCallback<Time> m_latencyTrace;
    TracedCallback<uint32_t, uint32_t, const eun_burst &> m_burstTrace;
};

} // namespace ns3

#endif
