// SPDX-License-Identifier: GPL-2.0-only
#ifndef EUNOMIA_NIC_PIPELINES_H
#define EUNOMIA_NIC_PIPELINES_H

#include "core/reorder/controller.h"
#include "core/reorder/reorder.h"
#include "core/transport/packet.h"
#include "eunomia-event.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace ns3 {

/**
 * \ingroup eunomia
 * \brief The ingress pipelines of a NIC: what follows from a packet that waits for ordering memory
 * follows when it leaves its pipeline.
 *
 * How long it waits is decided in `core/reorder/controller.h`. What is held takes no frame and,
 * once the rings have grown, no allocation; a pipeline has one pending event at most.
 */
class EunomiaNicPipelines {
  public:
    /** What follows from a data packet; the ordering layer has it already. */
    struct Outcome {
        eun_feedback feedback;  //!< answer, or of kind NONE
        uint32_t qp;            //!< receiving QP
        uint32_t visible;       //!< messages that became visible
        uint8_t generation;     //!< life of the QP number
        bool ce;                //!< the packet carried a congestion mark
        uint32_t telemetry = 0; //!< slot of what switches wrote into it; whoever has this owns it
    };

    /** The NIC. */
    class Owner {
      public:
        virtual ~Owner() = default;
        /** A packet made allocations; it has them `latencyPs` after its arrival. */
        virtual void Allocated(int64_t latencyPs) = 0;
        /** A packet that was held leaves its pipeline. */
        virtual void Leaves(const Outcome &outcome) = 0;
    };

    using Controller = std::unique_ptr<eun_controller, decltype(&eun_controller_free)>;

    /**
     * `pipelines` is the controller's number of them, `reorder` has its number of banks. `reorder`
     * and `owner` live at least as long.
     */
    EunomiaNicPipelines(Controller controller, uint32_t pipelines, const eun_reorder *reorder,
                        Owner *owner);

    /**
     * A packet came and went through the ordering layer; to be called after each. True where it
     * leaves at once; false where it is held: Owner::Leaves() will be called.
     */
    bool Passes(const Outcome &outcome, int64_t now)
    {
        const uint64_t allocated = m_stats->alloc;
        if (allocated != m_allocated) {
            return Allocates(outcome, allocated, now);
        }
        return Enters(outcome, eun_controller_admit(m_controller.get(), outcome.qp, 0, 0, now),
                      now);
    }

    const eun_controller *GetController() const { return m_controller.get(); }

  private:
    struct Held {
        int64_t at;
        Outcome outcome;
    };

    /** Outcomes in order of leaving, in a ring that grows; an event for the first. */
    class Pipeline {
      public:
        explicit Pipeline(Owner *owner);
        ~Pipeline();
        Pipeline(const Pipeline &) = delete;
        Pipeline &operator=(const Pipeline &) = delete;

        bool IsEmpty() const { return m_count == 0; }
        void Push(const Held &held, int64_t now);

      private:
        void Due();
        Held &At(size_t place) { return m_ring[(m_first + place) & (m_ring.size() - 1)]; }
        void Grow();

        std::vector<Held> m_ring; //!< a power of two
        size_t m_first = 0;
        size_t m_count = 0;
        Owner *m_owner;
        Ptr<EunomiaEvent<Pipeline, &Pipeline::Due>> m_event;
    };

    bool Enters(const Outcome &outcome, eun_admission admission, int64_t now)
    {
        if (admission.leaves <= now && now > m_latest) {
            return true;
        }
        // Where the last one before it leaves in this very moment, its event may be still to come.
        Pipeline &pipeline =
            *m_pipelines[eun_controller_pipeline_of(m_controller.get(), outcome.qp)];
        if (admission.leaves <= now && pipeline.IsEmpty()) {
            return true;
        }
        m_latest = admission.leaves > m_latest ? admission.leaves : m_latest;
        pipeline.Push({admission.leaves, outcome}, now);
        return false;
    }
    bool Allocates(const Outcome &outcome, uint64_t allocated, int64_t now);

    Controller m_controller;
    const eun_reorder *m_reorder;
    const struct eun_reorder_stats *m_stats;
    uint64_t m_allocated = 0; //!< allocations that packets so far have made
    int64_t m_latest = -1;    //!< when the latest of all that were held leaves
    Owner *m_owner;
    std::vector<std::unique_ptr<Pipeline>> m_pipelines;
};

} // namespace ns3

#endif
