// SPDX-License-Identifier: GPL-2.0-only
#ifndef EUNOMIA_PORT_H
#define EUNOMIA_PORT_H

#include "eunomia-frame.h"

#include "eunomia-event.h"

#include "ns3/data-rate.h"
#include "ns3/net-device.h"
#include "ns3/node.h"
#include "ns3/traced-callback.h"

#include <array>

namespace ns3 {

class EunomiaLink;
class EunomiaPort;

/** What a port asks of the node that it belongs to: a switch or a NIC. */
class EunomiaPortOwner {
  public:
    virtual ~EunomiaPortOwner() = default;
    /** A frame came in; the owner has it now. Pause frames stay with the port. */
    virtual void Receive(EunomiaPort *port, EunomiaFrame *frame) = 0;
    /** A queued data frame is about to leave; the owner may change it (ECN) but not keep it. */
    virtual void Departs(EunomiaPort *port, EunomiaFrame *frame) = 0;
    /** The wire is free and no queue has a frame: one made on demand, or null. */
    virtual EunomiaFrame *Pull(EunomiaPort *port) = 0;
    /** Would Pull() give a frame at this moment or when the wire becomes free? */
    virtual bool HasFrame(const EunomiaPort *port) const = 0;
    /** A pause began or ended for `priority`. */
    virtual void PauseChanged(EunomiaPort *port, uint32_t priority, bool paused) = 0;
};

/**
 * \ingroup eunomia
 * \brief One end of a link: eight queues, strict priority for control, PFC.
 *
 * Priority 0 goes first; 1 to 7 take turns unless paused. A frame starts at once where the wire is
 * idle; an event for "the wire is free" exists only while something waits.
 *
 * The port moves EunomiaFrame, not Packet: Send() refuses, and what goes over the fabric is posted
 * at EunomiaNic.
 */
class EunomiaPort : public NetDevice {
  public:
    static TypeId GetTypeId();
    EunomiaPort();
    ~EunomiaPort() override;

    void SetOwner(EunomiaPortOwner *owner) { m_owner = owner; }
    /** Called by EunomiaLink: rate and gap decide how long a frame takes. */
    void Attach(Ptr<EunomiaLink> link, int side);

    /** Queues a frame, or sends it at once. */
    void Send(EunomiaFrame *frame);
    /** As Send(), ahead of everything that waits but earlier ones of its kind: pause frames. */
    void SendFirst(EunomiaFrame *frame);
    /** Something became available to Pull(). */
    void Wake()
    {
        if (!m_wireFree->IsPending()) {
            TryTransmit();
        }
    }
    /**
     * From now on `*bytes` is kept at what waits here in the control class, pause frames included.
     * It lives as long as frames are queued or sent here.
     */
    void CountControl(uint32_t *bytes);
    /** Called by the link: a frame arrived from the other end. */
    void Deliver(EunomiaFrame *frame);

    bool IsPaused(uint32_t priority) const { return m_pausedMask >> priority & 1; }
    /** When the frame now on the wire has left; the past where the wire is idle. */
    int64_t WireFreeAt() const { return m_wireFreeAt; }
    /** Time that a frame of that stored length occupies the wire, gap included. */
    int64_t TransmissionTime(uint32_t bytes) const;
    uint64_t GetRateBps() const { return m_rate.GetBitRate(); }
    /** Time that transmission was paused, over all priorities, in picoseconds. */
    int64_t GetPausedTime() const;
    uint64_t GetFramesSent(EunomiaFrameKind kind) const { return m_sent[static_cast<int>(kind)]; }
    uint64_t GetBytesSent(EunomiaFrameKind kind) const
    {
        return m_sentBytes[static_cast<int>(kind)];
    }
    /** Bytes of the wire that whole frames have taken so far, gaps included; not for every frame.
     */
    uint64_t GetWireBytes() const;
    uint64_t GetPausesReceived() const { return m_pausesReceived; }
    /** Frames that wait in the queues. */
    uint64_t GetQueued() const;
    Ptr<EunomiaPort> GetPeer() const;

    // NetDevice
    void SetIfIndex(uint32_t index) override { m_ifIndex = index; }
    uint32_t GetIfIndex() const override { return m_ifIndex; }
    Ptr<Channel> GetChannel() const override;
    void SetAddress(Address address) override { m_address = address; }
    Address GetAddress() const override { return m_address; }
    bool SetMtu(uint16_t mtu) override;
    uint16_t GetMtu() const override { return m_mtu; }
    bool IsLinkUp() const override { return m_link != nullptr; }
    void AddLinkChangeCallback(Callback<void> callback) override;
    bool IsBroadcast() const override { return false; }
    Address GetBroadcast() const override { return Address(); }
    bool IsMulticast() const override { return false; }
    Address GetMulticast(Ipv4Address) const override { return Address(); }
    Address GetMulticast(Ipv6Address) const override { return Address(); }
    bool IsBridge() const override { return false; }
    bool IsPointToPoint() const override { return true; }
    /** Always false: the fabric carries EunomiaFrame only. */
    bool Send(Ptr<Packet>, const Address &, uint16_t) override { return false; }
    bool SendFrom(Ptr<Packet>, const Address &, const Address &, uint16_t) override
    {
        return false;
    }
    Ptr<Node> GetNode() const override { return m_node; }
    void SetNode(Ptr<Node> node) override { m_node = node; }
    bool NeedsArp() const override { return false; }
    void SetReceiveCallback(ReceiveCallback) override {}
    void SetPromiscReceiveCallback(PromiscReceiveCallback) override {}
    bool SupportsSendFrom() const override { return false; }

    /** Signature of the trace sources. */
    typedef void (*FrameTracedCallback)(const EunomiaFrame &frame);
    typedef void (*PauseTracedCallback)(uint32_t priority, bool paused);

  protected:
    void DoDispose() override;

  private:
    static constexpr uint32_t CLASSES = 8;

    void TryTransmit();
    EunomiaFrame *NextFrame();
    EunomiaFrame *NextControl();
    void Transmit(EunomiaFrame *frame);
    void WireFree() { TryTransmit(); }
    bool HasWork() const;
    void TakePause(EunomiaFrame *frame);
    void SetPaused(uint32_t priority, int64_t until);
    void EndPause(uint32_t priority);
    void PauseExpired();

    EunomiaPortOwner *m_owner = nullptr;
    EunomiaLink *m_wire = nullptr; //!< same as m_link, without counting
    int m_side = 0;
    uint32_t *m_control = &m_ownControl; //!< bytes that wait in the control class
    uint32_t m_ownControl = 0;
    uint32_t m_backlog = 0;    //!< bit c: class c has frames
    uint32_t m_pausedMask = 0; //!< bit c: class c is paused
    uint32_t m_turn = 1;       //!< data class that goes next
    uint32_t m_gap = 0;
    int64_t m_psPerByte = 0; //!< 0 where that is no whole number
    int64_t m_wireFreeAt = 0;
    uint64_t m_fraction = 0; //!< remainder of inexact rates, so that they never drift
    Ptr<EunomiaEvent<EunomiaPort, &EunomiaPort::WireFree>> m_wireFree;
    std::array<EunomiaFrameQueue, CLASSES> m_queue;
    EunomiaFrameQueue m_first; //!< pause frames; bit 0 of m_backlog counts them, too
    EunomiaFramePool *m_pool;
    std::array<uint64_t, EUNOMIA_FRAME_KINDS> m_sent{};
    std::array<uint64_t, EUNOMIA_FRAME_KINDS> m_sentBytes{};
    uint64_t m_pausesReceived = 0;

    std::array<int64_t, CLASSES> m_pauseEnd{};
    std::array<int64_t, CLASSES> m_pauseStart{};
    int64_t m_pausedTime = 0;
    EunomiaTimer<EunomiaPort, &EunomiaPort::PauseExpired> m_pauseTimer;

    Ptr<EunomiaLink> m_link;
    Ptr<Node> m_node;
    DataRate m_rate;
    Address m_address;
    uint32_t m_ifIndex = 0;
    uint16_t m_mtu = 9000;
    TracedCallback<const EunomiaFrame &> m_enqueueTrace;
    TracedCallback<const EunomiaFrame &> m_dequeueTrace;
    TracedCallback<const EunomiaFrame &> m_receiveTrace;
    TracedCallback<uint32_t, bool> m_pauseTrace;
    TracedCallback<> m_linkChange;
};

} // namespace ns3

#endif
