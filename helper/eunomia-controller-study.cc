// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-controller-study.h"

#include "core/reorder/controller.h"
#include "core/reorder/reorder.h"
#include "core/switch/rng.h"
#include "core/wire/overhead.h"
#include "eunomia-json.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <new>
#include <numeric>

namespace ns3 {

namespace {

constexpr uint32_t QPS = 1000;
constexpr uint32_t BUSY = 64;
constexpr uint32_t MESSAGE = 64; //!< packets
constexpr uint32_t PAYLOAD = 1024;
constexpr uint32_t BANK_BLOCKS = 8192; //!< all busy QPs in one bank need 64 * (24 + 16)
constexpr uint32_t WARM_UP = 20'000;   //!< packets, before any is counted
constexpr uint32_t STUDY_PACKETS = 100'000;

using Layer = std::unique_ptr<eun_reorder, decltype(&eun_reorder_free)>;
using Controller = std::unique_ptr<eun_controller, decltype(&eun_controller_free)>;

/** A message on its way: the packets of a QP in the order in which they arrive. */
struct Message {
    uint32_t qp = 0;
    uint32_t expected = 0;
    uint32_t next = 0;
    std::array<uint32_t, MESSAGE> psns{};
};

/** The QPs that send: a stream of arrivals, the same for every setup. */
class Traffic {
  public:
    explicit Traffic(eun_reorder *layer) : m_layer(layer)
    {
        eun_rng_seed(&m_rng, 1);
        for (Message &m : m_busy) {
            Start(&m);
            m.next = eun_rng_below(&m_rng, MESSAGE); // so that they do not end together
        }
    }

    /** Delivers the next packet at `now`; returns its QP. */
    uint32_t Deliver(int64_t now)
    {
        Message &m = m_busy[eun_rng_below(&m_rng, BUSY)];
        const uint32_t qp = m.qp;
        const uint32_t psn = m.psns[m.next++];
        const eun_hd_outcome outcome =
            eun_reorder_arrive(m_layer, qp, m.expected, psn, psn == MESSAGE - 1, now);
        if (outcome.verdict > EUN_HD_HELD) {
            throw std::bad_alloc(); // not with that many blocks
        }
        m.expected += outcome.advanced;
        if (m.next == MESSAGE) {
            eun_reorder_close(m_layer, qp);
            Start(&m);
        }
        return qp;
    }

  private:
    /** The next QP opens. Packet i has key i + u, u drawn from 0..span - 1; lower keys first. */
    void Start(Message *m)
    {
        *m = Message{};
        m->qp = m_nextQp;
        m_nextQp = (m_nextQp + 1) % QPS;
        if (!eun_reorder_open(m_layer, m->qp)) {
            throw std::bad_alloc();
        }
        const uint32_t span = 16 + m->qp % 49;
        std::array<uint32_t, MESSAGE> key;
        for (uint32_t i = 0; i < MESSAGE; i++) {
            key[i] = i + eun_rng_below(&m_rng, span);
        }
        std::iota(m->psns.begin(), m->psns.end(), 0);
        std::stable_sort(m->psns.begin(), m->psns.end(),
                         [&key](uint32_t a, uint32_t b) { return key[a] < key[b]; });
    }

    eun_reorder *m_layer;
    eun_rng m_rng;
    uint32_t m_nextQp = 0;
    std::array<Message, BUSY> m_busy;
};

/** Time between full packets that follow each other at once. */
int64_t Spacing(uint64_t rateGbps)
{
    eun_overhead overhead;
    eun_overhead_roce(&overhead, EUN_VERB_SEND, false);
    const uint64_t bytes = eun_overhead_data(&overhead, PAYLOAD, false, false) + overhead.gap;
    return static_cast<int64_t>(bytes * 8000 / rateGbps);
}

double Percent(uint64_t part, uint64_t whole)
{
    return 100 * static_cast<double>(part) / static_cast<double>(whole);
}

} // namespace

EunomiaControllerRow EunomiaMeasureController(const EunomiaControllerSetup &setup, uint32_t packets)
{
    eun_reorder_config memory{};
    memory.blocks = BANK_BLOCKS * setup.banks;
    memory.banks = setup.banks;
    memory.cap_psns = EUN_HD_NARROW_MAX;
    memory.block_bits = 16;
    memory.idle_epoch_ps = INT64_MAX;
    const Layer layer(eun_reorder_new(&memory), eun_reorder_free);
    const eun_controller_config timing{setup.banks, setup.pipelines, setup.cacheBlocks,
                                       setup.servicePs};
    const Controller controller(eun_controller_new(&timing), eun_controller_free);
    if (!layer || !controller) {
        throw std::bad_alloc();
    }
    Traffic traffic(layer.get());
    for (uint32_t i = 0; i < WARM_UP; i++) {
        traffic.Deliver(0);
    }
    EunomiaControllerRow row{};
    row.setup = setup;
    row.spacingPs = Spacing(setup.rateGbps);
    row.packets = packets;
    const auto *front = reinterpret_cast<const eun_reorder_front *>(layer.get());
    const struct eun_reorder_stats *stats = eun_reorder_stats(layer.get());
    for (uint32_t i = 0; i < packets; i++) {
        const int64_t now = i * row.spacingPs;
        const uint64_t before = stats->alloc;
        const uint32_t qp = traffic.Deliver(now);
        const auto made = static_cast<uint32_t>(stats->alloc - before);
        const auto bank = static_cast<uint32_t>(eun_reorder_bank_of(front, qp) - front->banks);
        eun_controller_admit(controller.get(), qp, bank, made, now);
        row.allocations += made;
    }
    const eun_wait_histogram *waits = eun_controller_waits(controller.get());
    row.meanWaitNs = eun_wait_histogram_mean(waits) / 1000;
    row.p99WaitNs = static_cast<double>(eun_wait_histogram_quantile(waits, 0.99)) / 1000;
    row.delayedPct = Percent(eun_controller_delayed(controller.get()), packets);
    row.blockedPct = Percent(eun_controller_blocked(controller.get()), packets);
    return row;
}

std::vector<EunomiaControllerRow> EunomiaControllerStudy()
{
    static const struct {
        uint32_t banks;
        uint32_t pipelines;
        uint32_t cacheBlocks;
    } shapes[] = {{1, 1, 0}, {8, 1, 0}, {8, 4, 0}, {1, 1, 16}, {8, 4, 16}};
    std::vector<EunomiaControllerRow> rows;
    for (const int64_t servicePs : {10'000, 40'000, 100'000}) {
        for (const uint64_t rateGbps : {100, 400, 800}) {
            for (const auto &s : shapes) {
                rows.push_back(EunomiaMeasureController(
                    {rateGbps, servicePs, s.banks, s.pipelines, s.cacheBlocks}, STUDY_PACKETS));
            }
        }
    }
    return rows;
}

std::string EunomiaControllerTable(const std::vector<EunomiaControllerRow> &rows)
{
    std::string text =
        "Waiting for ordering memory, of packets that arrive back to back; times in ns\n\n"
        "service  Gb/s  spacing  banks  pipelines  cache  mean wait  p99 wait  delayed %  blocked "
        "%\n";
    for (const EunomiaControllerRow &r : rows) {
        char line[128];
        std::snprintf(
            line, sizeof line, "%7g  %4u  %7.2f  %5u  %9u  %5u  %9.2f  %8.1f  %9.2f  %9.2f\n",
            static_cast<double>(r.setup.servicePs) / 1000, static_cast<unsigned>(r.setup.rateGbps),
            static_cast<double>(r.spacingPs) / 1000, r.setup.banks, r.setup.pipelines,
            r.setup.cacheBlocks, r.meanWaitNs, r.p99WaitNs, r.delayedPct, r.blockedPct);
        text += line;
    }
    return text +
           "\nservice    time that a bank takes for an allocation\n"
           "cache      allocations that a pipeline has ready for each bank\n"
           "wait       from arrival to leaving the pipeline, of all packets; p99 is good to 2 %\n"
           "delayed    packets that waited\n"
           "blocked    those among them that needed no memory: head-of-line blocking\n\n"
           "Run on the ordering layer itself, not in the simulator. Assumed: packets of "
           "1,024 B; 64 of\n"
           "1,000 QPs send at a time, messages of 64 packets that are displaced by less "
           "than 16 to 64;\n"
           "a QP returns its memory with its message. The pool has room for all.\n\n";
}

void EunomiaControllerJson(EunomiaJsonWriter *json, const std::vector<EunomiaControllerRow> &rows)
{
    constexpr int DECIMALS = 4;
    json->BeginArray();
    for (const EunomiaControllerRow &r : rows) {
        json->BeginObject();
        json->Fixed("service_ns", static_cast<double>(r.setup.servicePs) / 1000, 3);
        json->Uint("rate_gbps", r.setup.rateGbps);
        json->Fixed("spacing_ns", static_cast<double>(r.spacingPs) / 1000, 3);
        json->Uint("banks", r.setup.banks);
        json->Uint("pipelines", r.setup.pipelines);
        json->Uint("cache_blocks", r.setup.cacheBlocks);
        json->Uint("packets", r.packets);
        json->Uint("allocations", r.allocations);
        json->Fixed("mean_wait_ns", r.meanWaitNs, DECIMALS);
        json->Fixed("p99_wait_ns", r.p99WaitNs, DECIMALS);
        json->Fixed("delayed_pct", r.delayedPct, DECIMALS);
        json->Fixed("blocked_pct", r.blockedPct, DECIMALS);
        json->EndObject();
    }
    json->EndArray();
}

} // namespace ns3
