// SPDX-License-Identifier: GPL-2.0-only
#ifndef EUNOMIA_TEST_NIC_H
#define EUNOMIA_TEST_NIC_H

/** What the tests of the NIC share: a user that takes notes, two NICs with a box between them. */

#include "../fabric/eunomia-test-fabric.h"
#include "eunomia-nic.h"

#include "ns3/node.h"

#include <string>
#include <vector>

namespace ns3 {

/** Notes what becomes of messages. */
class EunomiaTestUser : public EunomiaNicUser {
  public:
    struct Completion {
        int64_t at;
        uint32_t qp;
        eun_message message;
    };
    struct Visible {
        int64_t at;
        uint32_t qp;
        uint32_t count;
    };
    struct Failure {
        int64_t at;
        uint32_t qp;
        std::string reason;
    };

    void MessageCompleted(EunomiaNic *, uint32_t qp, const eun_message &message) override
    {
        completions.push_back({EunomiaNow(), qp, message});
        if (onCompletion) {
            onCompletion();
        }
    }
    void MessagesVisible(EunomiaNic *, uint32_t qp, uint32_t count) override
    {
        visible.push_back({EunomiaNow(), qp, count});
    }
    void QpFailed(EunomiaNic *nic, uint32_t qp, const char *reason) override
    {
        failures.push_back({EunomiaNow(), qp, reason});
        nic->Close(qp);
    }

    std::vector<Completion> completions;
    std::vector<Visible> visible;
    std::vector<Failure> failures;
    std::function<void()> onCompletion;
};

/** A box with two ports that passes frames on, unless a filter wants otherwise. */
class EunomiaTestBox : public EunomiaPortOwner {
  public:
    /** What happens to a frame: true passes it on, false drops it. It may be changed. */
    using Filter = std::function<bool(EunomiaFrame &)>;

    EunomiaTestBox()
    {
        for (auto &p : port) {
            p = CreateObject<EunomiaPort>();
            p->SetOwner(this);
        }
    }

    void Receive(EunomiaPort *from, EunomiaFrame *frame) override
    {
        if (filter && !filter(*frame)) {
            dropped++;
            EunomiaTestSimulation::Pool().Release(frame);
            return;
        }
        port[from == PeekPointer(port[0])]->Send(frame);
    }
    void Departs(EunomiaPort *, EunomiaFrame *) override {}
    EunomiaFrame *Pull(EunomiaPort *) override { return nullptr; }
    bool HasFrame(const EunomiaPort *) const override { return false; }
    void PauseChanged(EunomiaPort *, uint32_t, bool) override {}

    Ptr<EunomiaPort> port[2];
    Filter filter;
    uint64_t dropped = 0;
};

/** Two NICs in nodes of their own, host 0 and host 1, two links apart. */
struct EunomiaTestNics {
    static constexpr int64_t DELAY = 1'000'000; //!< of a link, ps
    static constexpr uint64_t RATE = 100 * EUNOMIA_TEST_GBPS;

    explicit EunomiaTestNics(uint64_t bps = RATE)
    {
        for (uint32_t h = 0; h < 2; h++) {
            node[h] = CreateObject<Node>();
            nic[h] = CreateObject<EunomiaNic>();
            node[h]->AggregateObject(nic[h]);
            auto port = CreateObject<EunomiaPort>();
            node[h]->AddDevice(port);
            auto link = CreateObject<EunomiaLink>();
            link->SetAttribute("DataRate", DataRateValue(DataRate(bps)));
            link->Connect(port, box.port[h]);
            nic[h]->SetPort(port, h);
            nic[h]->SetUser(&user);
        }
    }

    /** A QP from host 0 to host 1. */
    uint32_t Connect(uint8_t priority = 3) { return nic[0]->Connect(nic[1], priority); }
    /** Posts a message on it; returns the flow's slot, where both ends count. */
    uint32_t Post(uint32_t qp, uint32_t bytes)
    {
        const uint32_t flow = Flows().Open();
        nic[0]->Post(qp, bytes, flow);
        return flow;
    }
    static EunomiaFlowTable &Flows() { return *SimulationSingleton<EunomiaFlowTable>::Get(); }

    uint64_t Made(uint32_t host, EunomiaFrameKind kind) const
    {
        return nic[host]->GetFramesMade(kind);
    }

    /** Data packet one way, ACK the other, both alone, in the RoCEv2 lengths of gbn and SEND. */
    static int64_t Fct(uint32_t payload)
    {
        const uint32_t data = (payload + 3) / 4 * 4 + 62 + 20;
        return 2 * (EunomiaTestWireTime(data, RATE) + EunomiaTestWireTime(66 + 20, RATE)) +
               4 * DELAY;
    }

    EunomiaTestBox box;
    EunomiaTestUser user;
    Ptr<Node> node[2];
    Ptr<EunomiaNic> nic[2];
};

} // namespace ns3

#endif
