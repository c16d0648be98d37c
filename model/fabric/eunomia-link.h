// SPDX-License-Identifier: GPL-2.0-only
#ifndef EUNOMIA_LINK_H
#define EUNOMIA_LINK_H

#include "eunomia-frame.h"

#include "eunomia-event.h"

#include "ns3/channel.h"
#include "ns3/data-rate.h"
#include "ns3/nstime.h"

#include <array>

namespace ns3 {

class EunomiaPort;

/**
 * \ingroup eunomia
 * \brief A full-duplex cable between two EunomiaPort.
 *
 * Each direction is a queue of frames in flight of which only the first is in the event queue.
 * Frames arrive whole: store and forward.
 */
class EunomiaLink : public Channel {
  public:
    static TypeId GetTypeId();
    EunomiaLink();
    ~EunomiaLink() override;

    /** Connects the two ports; attributes must be set before. */
    void Connect(Ptr<EunomiaPort> a, Ptr<EunomiaPort> b);

    DataRate GetRate() const { return m_rate; }
    Time GetDelay() const { return m_delay; }
    /** Bytes of wire time after each frame: preamble and inter-packet gap. */
    uint32_t GetGap() const { return m_gap; }
    Ptr<EunomiaPort> GetEnd(int side) const { return m_end[side]; }

    /** A frame from `side` whose last bit leaves at `sentPs`. */
    void Carry(int side, EunomiaFrame *frame, int64_t sentPs, int64_t nowPs)
    {
        m_direction[side]->Carry(frame, sentPs + m_delayPs, nowPs);
    }

    /** Frames that are on the wire now, both directions. */
    uint64_t GetInFlight() const;

    // Channel
    std::size_t GetNDevices() const override { return 2; }
    Ptr<NetDevice> GetDevice(std::size_t i) const override;

  protected:
    void DoDispose() override;

  private:
    /** Frames on their way in one direction; an event of its own that fires for the first. */
    class Direction final : public EventImpl {
      public:
        void Carry(EunomiaFrame *frame, int64_t arrivalPs, int64_t nowPs);
        void SetReceiver(EunomiaPort *receiver) { m_receiver = receiver; }
        const EunomiaFrameQueue &InFlight() const { return m_frames; }

      private:
        void Notify() override;

        EunomiaFrameQueue m_frames;
        EunomiaPort *m_receiver = nullptr;
    };

    DataRate m_rate;
    Time m_delay;
    uint32_t m_gap;
    int64_t m_delayPs = 0;
    std::array<Ptr<Direction>, 2> m_direction;
    std::array<Ptr<EunomiaPort>, 2> m_end;
};

} // namespace ns3

#endif
