// SPDX-License-Identifier: GPL-2.0-only
#ifndef EUNOMIA_REORDER_LOG_H
#define EUNOMIA_REORDER_LOG_H

#include "eunomia-fabric.h"
#include "eunomia-result-writer.h"

namespace ns3 {

/**
 * \ingroup eunomia
 * \brief Writes reorder.csv: the bursts of reordering of every QP (core/reorder/burst.h).
 *
 * One row a burst and millisecond, in order of writing: a row is written with the QP's first packet
 * after it ended, so those of a QP are in order of time. Times are whole nanoseconds, rounded down;
 * so a row lies in its millisecond, and durations and gaps of a QP add up without a rest. What
 * happens in the warm-up is told, too.
 *
 * - `ms`: the millisecond that `start_ns` lies in. Packets and durations add up to what happened in
 *   it.
 * - `host`, `qp`, `burst`: the receiver, its QP (numbers of closed QPs are used again), and the
 *   burst, counted from 1 for each QP number. Rows that have all three in common are one burst,
 *   and the `idle` row after it.
 * - `flow`: the flow whose packet began the burst.
 * - `start_ns`, `duration_ns`: the row's part of the burst.
 * - `gap_ns`: time in order since the QP's row before; 0 where the row continues a burst, empty in
 *   the first row since the QP opened.
 * - `span`, `packets`: how far ahead of the cumulative point a packet came at most, in PSNs, and
 *   how many came ahead of it, in this row.
 * - `end`: `closed`, the burst is over; `continues`, in the next millisecond; `cut`, the QP closed
 *   or the run ended in it; `idle`, no burst: the QP closed or the run ended at `start_ns`,
 *   `gap_ns` after its last burst.
 */
class EunomiaReorderLog {
  public:
    /**
     * Opens the file and connects to the NICs for the rest of the simulation. To be made before the
     * first QP opens.
     * \throws EunomiaInputError where the file cannot be created
     */
    EunomiaReorderLog(EunomiaFabric &fabric, EunomiaResultWriter &writer);
    EunomiaReorderLog(const EunomiaReorderLog &) = delete;
    EunomiaReorderLog &operator=(const EunomiaReorderLog &) = delete;

    /** Writes what is open and closes the file; before EunomiaResultWriter::Finish(). */
    void Finish();

  private:
    void Burst(uint32_t host, uint32_t qp, uint32_t flow, const eun_burst &piece);

    EunomiaFabric &m_fabric;
    EunomiaResultFile m_file;
};

} // namespace ns3

#endif
