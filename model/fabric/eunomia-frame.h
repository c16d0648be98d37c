// SPDX-License-Identifier: GPL-2.0-only
#ifndef EUNOMIA_FRAME_H
#define EUNOMIA_FRAME_H

#include "eunomia-telemetry.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace ns3 {

/**
 * What a frame is. Everything but Data travels in the control class, priority 0. Signals go from
 * switch to switch (core/switch/balancer.h, eun_lb_signal); hosts never see one.
 */
enum class EunomiaFrameKind : uint8_t { Data, Ack, Sack, Nack, Cnp, Pause, Signal };

constexpr int EUNOMIA_FRAME_KINDS = 7;

/** Name of a kind as in summary.json. */
const char *EunomiaFrameKindName(EunomiaFrameKind kind);

/**
 * \brief A frame on its way: one cache line, pooled, handed from owner to owner by pointer.
 *
 * The fields of the wire are as wide as on the wire. `flow` and `hops` are the simulator's own.
 */
struct EunomiaFrame {
    EunomiaFrame *next; //!< list link of whoever owns it now
    int64_t arrivalPs;  //!< while on a link: when its last bit arrives
    uint64_t tag;       //!< what load balancers tell each other (core/switch/balancer.h)
    uint32_t src;       //!< host
    uint32_t dst;       //!< host
    uint32_t entropy;   //!< hash of addresses and UDP ports: what ECMP looks at
    uint32_t qp;        //!< destination QP number
    uint32_t psn;       //!< 24 bits; of a SACK or NACK the PSN it speaks of; of a Pause frame ns
    uint32_t head;      //!< data: first PSN of the message; feedback: expected PSN
    uint32_t msn;       //!< 24 bits; of a Pause frame the priority that it stops
    uint32_t flow;      //!< statistics slot of the flow
    uint32_t telemetry; //!< slot of what switches wrote into it (INT); 0: it takes no records
    uint16_t bytes;     //!< stored length, FCS included
    uint16_t payload;   //!< bytes
    uint16_t path;      //!< UDP source port, as far as the transport chooses it; feedback: echo
    uint16_t inPort;    //!< port of the present node that it came in by
    EunomiaFrameKind kind : 4;
    uint8_t reason : 4;      //!< of a NACK; of a Pause frame 1 XOFF, 0 XON
    uint8_t generation : 7;  //!< life of the destination QP number
    bool sync : 1;           //!< data: MP-RDMA's synchronisation
    uint8_t priority : 3;    //!< 0 control, 1..7 data
    bool last : 1;           //!< ends its message
    bool ce : 1;             //!< congestion experienced (ECN 11); data is sent ECT(0)
    bool echo : 1;           //!< feedback: the packet that it answers came with CE
    bool retransmission : 1; //!< feedback: the packet that it answers was one
    bool ackRequest : 1;     //!< data: the sender waits for an answer (BTH A bit)
    uint8_t hops;            //!< links taken
};

static_assert(sizeof(EunomiaFrame) <= 64 + 8, "a frame should stay near one cache line");

/** `frame`, or null, will be read soon: in large fabrics a frame that waited has left the cache. */
inline void EunomiaPrefetch(const EunomiaFrame *frame)
{
    __builtin_prefetch(frame, 1);
    __builtin_prefetch(reinterpret_cast<const char *>(frame) + sizeof(EunomiaFrame) - 1, 1);
}

/**
 * \brief Frames of one simulation, allocated in slabs and reused.
 *
 * Counts what conservation needs: taken = released + alive. What a frame has in Telemetry() is
 * given back with it.
 */
class EunomiaFramePool {
  public:
    /** A frame with every field zero. */
    EunomiaFrame *Take()
    {
        if (!m_free) {
            Grow();
        }
        EunomiaFrame *frame = m_free;
        m_free = frame->next;
        *frame = EunomiaFrame{};
        m_taken++;
        return frame;
    }

    void Release(EunomiaFrame *frame)
    {
        if (frame->telemetry) {
            m_telemetry.Release(frame->telemetry);
        }
        frame->next = m_free;
        m_free = frame;
        m_released++;
    }

    EunomiaTelemetry &Telemetry() { return m_telemetry; }
    uint64_t GetTaken() const { return m_taken; }
    uint64_t GetAlive() const { return m_taken - m_released; }

  private:
    void Grow();

    EunomiaTelemetry m_telemetry;
    std::vector<std::unique_ptr<EunomiaFrame[]>> m_slabs;
    EunomiaFrame *m_free = nullptr;
    uint64_t m_taken = 0;
    uint64_t m_released = 0;
};

/** First-in-first-out list of frames, linked through EunomiaFrame::next. */
class EunomiaFrameQueue {
  public:
    bool IsEmpty() const { return m_head == nullptr; }
    EunomiaFrame *Front() const { return m_head; }

    void PushBack(EunomiaFrame *frame)
    {
        frame->next = nullptr;
        if (m_head) {
            m_tail->next = frame;
        } else {
            m_head = frame;
        }
        m_tail = frame;
    }

    EunomiaFrame *PopFront()
    {
        EunomiaFrame *frame = m_head;
        m_head = frame->next;
        return frame;
    }

  private:
    EunomiaFrame *m_head = nullptr;
    EunomiaFrame *m_tail = nullptr;
};

} // namespace ns3

#endif
