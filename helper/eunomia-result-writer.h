/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_RESULT_WRITER_H
#define EUNOMIA_RESULT_WRITER_H

/** The result folder of a run: flows.csv, pfc.csv, timeseries.csv, fct.txt and the summaries. */

#include "eunomia-result-folder.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ns3 {

/** A row of flows.csv. Times in ps; -1 where it did not happen. */
struct EunomiaFlowRecord {
    uint32_t flow = 0;
    uint32_t src = 0;   /**< host number */
    uint32_t dst = 0;   /**< host number */
    uint16_t sport = 0; /**< for fct.txt */
    uint16_t dport = 0; /**< for fct.txt */
    uint64_t bytes = 0;
    int64_t startPs = 0;
    int64_t fctPs = -1;     /**< posting to completion at the sender */
    int64_t visiblePs = -1; /**< posting to the moment the receiver's application sees it whole */
    int64_t idealPs = 0;    /**< unloaded FCT, above 0 */
    uint64_t packets = 0;   /**< data packets sent, retransmissions among them */
    uint64_t retransmitted = 0;
    uint64_t outOfOrder = 0;     /**< arrivals ahead of the cumulative point */
    uint64_t maxReorderSpan = 0; /**< packets */
    int64_t gateWaitPs = 0;
    std::string status = "done"; /**< `done`, `unfinished` or `failed:REASON` */
};

/** Frames, or bytes on the wire, by kind. */
struct EunomiaTraffic {
    uint64_t data = 0; /**< retransmitted ones among them */
    uint64_t ack = 0;
    uint64_t sack = 0;
    uint64_t nack = 0;
    uint64_t cnp = 0;
    uint64_t signal = 0; /**< by switches, for switches */
    uint64_t retransmitted = 0;
    uint64_t hops = 0; /**< a frame counts once on each link it is put on */
};

using EunomiaConfigValue =
    std::variant<bool, int64_t, uint64_t, double, std::string, std::vector<std::string>>;

/** What a run as a whole came to; flows are counted by the writer. */
struct EunomiaSummary {
    std::vector<std::pair<std::string, EunomiaConfigValue>> config; /**< in the order to print */
    std::string version;
    struct {
        uint64_t pauses = 0;
        int64_t pausedPs = 0; /**< summed over ports and priorities */
    } pfc;
    uint64_t drops = 0;
    uint64_t deflected = 0; /**< packets, once for each port that they took instead of their way */
    uint64_t ecnMarks = 0;
    EunomiaTraffic packets;
    EunomiaTraffic bytes;
    struct {
        uint64_t outOfOrder = 0;
        uint64_t maxSpan = 0;        /**< packets */
        std::vector<uint64_t> spans; /**< entry n counts the out-of-order packets of span n */
    } reorder;
    struct {
        uint64_t blocksPeak = 0;
        uint64_t bytesPeak = 0;
        uint64_t qpsActivePeak = 0;
        uint64_t alloc = 0;
        uint64_t allocMiss = 0;
        uint64_t capHit = 0;
        uint64_t merge = 0;
        uint64_t reclaim = 0;
        uint64_t fallback = 0;
        double allocLatencyP99Ns = std::numeric_limits<double>::quiet_NaN(); /**< NaN: none */
        uint64_t chain = 0;           /**< metadata rented in fragments */
        uint64_t widen = 0;           /**< bitmaps that became wide */
        uint64_t reclaimEarly = 0;    /**< among `reclaim` */
        uint64_t growthRefused = 0;   /**< among `allocMiss` */
        uint64_t metadataRefused = 0; /**< among `allocMiss` */
        uint64_t fragmented = 0;      /**< among `metadataRefused` */
    } pool;
    struct {
        uint64_t completions = 0;
        uint64_t early = 0;
        double meanWaitNs = 0;
    } gate;
    /** Frames sent = delivered + dropped + in flight, and no buffer byte left when all is over. */
    struct {
        uint64_t framesSent = 0;
        uint64_t delivered = 0;
        uint64_t dropped = 0;
        uint64_t inFlight = 0;
        uint64_t bufferBytesLeft = 0;
    } conservation;
    /** What a balancer did that puts flows in order (core/switch/balancer.h); absent with others.
     */
    struct Edge {
        uint64_t epochs = 0;
        uint64_t repliesInTime = 0;
        uint64_t repliesLate = 0;
        uint64_t reroutes = 0;
        uint64_t aborts = 0;
        uint64_t notified = 0;
        uint64_t untracked = 0;
        uint64_t holds = 0;
        uint64_t queuesPeak = 0; /**< of any port */
        uint64_t heldPeak = 0;   /**< bytes, of any switch */
        uint64_t tailFlushes = 0;
        uint64_t timerFlushes = 0;
        uint64_t earlyFlushes = 0;
        uint64_t noQueue = 0;
    };
    std::string edgeName; /**< key of `edge`; "": leave it out */
    Edge edge;
    /** Goes to timing.json, as it differs between equal runs. */
    struct {
        double wallS = 0;
        uint64_t events = 0;
        uint64_t peakRssBytes = 0;
    } timing;
};

/** fct.txt for existing scripts: `src dst sport dport size start_ns fct_ns ideal_ns` a flow done.
 */
enum class EunomiaLegacy {
    NONE,
    CONWEAVE, /**< src and dst are host numbers, as conweave-project/conweave-ns3 writes them */
    HPCC,     /**< src and dst are the addresses of HPCC's simulator, in hexadecimal: 0bHHHH01 */
};

struct EunomiaResultOptions {
    bool force = false;      /**< replaces results of an earlier run */
    uint64_t bdpBytes = 0;   /**< flows below it are `small` */
    bool timeseries = false; /**< Sample() will be called */
    EunomiaLegacy legacy = EunomiaLegacy::NONE;
};

/**
 * Writes rows as they come; keeps 16 bytes a flow that is done. All files appear at Finish(); where
 * it is not reached, the destructor leaves no trace of them.
 */
class EunomiaResultWriter {
  public:
    /**
     * Makes the folder and opens its files.
     * \throws EunomiaInputError that names the folder, where it cannot be written or holds results
     */
    EunomiaResultWriter(const std::string &path, const EunomiaResultOptions &options);

    /** A flow ended, or did not; in order of finishing, unfinished ones last. */
    void Flow(const EunomiaFlowRecord &record);

    /** A pause (`xoff`) or resume frame was sent by a port for a priority. */
    void Pfc(int64_t timePs, uint32_t node, uint32_t port, uint32_t priority, bool xoff);

    /** Needs options.timeseries. \param where such as `leaf0:port3` */
    void Sample(int64_t timePs, std::string_view metric, std::string_view where, double value);

    /** As EunomiaResultFolder::Adopt(): a further file that appears with the others. */
    std::string Adopt(const std::string &name) { return m_folder.Adopt(name); }

    /** Writes the summaries and publishes all files; once. \throws EunomiaInputError */
    void Finish(const EunomiaSummary &summary);

    uint64_t FlowsDone() const { return m_small.slowdown.size() + m_large.slowdown.size(); }
    uint64_t FlowsTotal() const { return FlowsDone() + m_unfinished + m_failed; }

  private:
    /** What quantiles need of the flows of a class that are done. */
    struct FlowClass {
        std::vector<double> slowdown;
        std::vector<double> fctUs;
    };

    void AppendFlow(const EunomiaFlowRecord &record, double slowdown);
    void AppendLegacy(const EunomiaFlowRecord &record);
    std::string SummaryText(const EunomiaSummary &summary);

    EunomiaResultOptions m_options;
    EunomiaResultFolder m_folder;
    EunomiaResultFile &m_flows;
    EunomiaResultFile &m_pfc;
    EunomiaResultFile *m_timeseries; /**< null where not requested */
    EunomiaResultFile *m_fct;        /**< null where not requested */
    FlowClass m_small;
    FlowClass m_large;
    uint64_t m_unfinished = 0;
    uint64_t m_failed = 0;
};

/**
 * Quantile `q` (0..1) of whole numbers given as counts, entry n counting the value n, by linear
 * interpolation between order statistics (numpy's default, type 7 of Hyndman and Fan 1996); NaN
 * where nothing was counted.
 */
double EunomiaHistogramQuantile(const std::vector<uint64_t> &counts, double q);

} // namespace ns3

#endif
