# SPDX-License-Identifier: GPL-2.0-only
"""Bursts of reordering, and what an idle epoch makes of them.

A NIC rents metadata for a QP with the first packet that comes early, and gives it back when the QP
has been in order for the epoch, or when it closes. A burst that finds the metadata still there
spares a rental. The model has a pool that is never short: 48 bytes of metadata a QP, and 2 bytes
for each 16 PSNs of the widest burst since it was rented, as the ring of the bitmap keeps its
blocks; 16 blocks at most, past which packets are refused.
"""

import os
from dataclasses import dataclass

import numpy as np

import eunomia_results
from eunomia_results import ResultError

METADATA_BYTES = 48
BLOCK_BYTES = 2
BLOCK_PSNS = 16
BLOCKS_MAX = 16
NS_PER_MS = 1_000_000


@dataclass(frozen=True)
class Holding:
    """What one epoch comes to. Means are over the time from the first burst to the last."""

    epoch_ns: float
    spared: float  # of the rentals that any epoch could spare, 0..1
    idle_byte_s: float  # bytes times time in which their QP was in order, all NICs
    qps_mean: float  # QPs that hold metadata, mean of the NICs
    bytes_mean: float
    qps_peak: int = 0  # of the fullest NIC; 0 where peaks were not asked for
    bytes_peak: int = 0


@dataclass
class Bursts:
    """Bursts of a run as arrays, those of a QP one after the other. Times in ns."""

    host: np.ndarray
    start: np.ndarray
    end: np.ndarray
    span: np.ndarray  # longest, PSNs
    packets: np.ndarray
    gap: np.ndarray  # since the QP's burst before, -1 for the first one
    rest: np.ndarray  # to the QP's next burst, or until it closes
    qps: int  # QPs that had a burst, each life of a number counted
    nics: int

    def __len__(self):
        return self.start.size

    def gaps(self):
        """The gaps between bursts of a QP, sorted: each is a rental that an epoch could spare."""
        return np.sort(self.gap[self.gap >= 0])

    def window(self):
        """(start, end) of the time that means are over."""
        return int(self.start.min()), int(self.end.max())

    def hold(self, epoch_ns, peaks=True):
        """What an epoch comes to; peaks take a sort."""
        begin, finish = self.window()
        repeated = self.gap >= 0
        found = repeated & (self.gap <= epoch_ns)
        until = np.minimum(self.end + np.minimum(self.rest, epoch_ns), finish)
        blocks = np.minimum(self._widest(found) // BLOCK_PSNS + 1, BLOCKS_MAX)
        size = METADATA_BYTES + BLOCK_BYTES * blocks
        nic_time = max(finish - begin, 1) * self.nics
        held = until - self.start
        qps_peak, bytes_peak = self._peaks(until, size) if peaks else (0, 0)
        return Holding(
            epoch_ns=epoch_ns,
            spared=float(found.sum() / max(repeated.sum(), 1)),
            idle_byte_s=float((size * (until - self.end)).sum() * 1e-9),
            qps_mean=float(held.sum() / nic_time),
            bytes_mean=float((size * held).sum() / nic_time),
            qps_peak=qps_peak,
            bytes_peak=bytes_peak,
        )

    def _widest(self, found):
        """Longest span since the metadata was rented: a running maximum that restarts."""
        rental = np.cumsum(~found) * (int(self.span.max()) + 1)
        return np.maximum.accumulate(self.span + rental) - rental

    def _peaks(self, until, size):
        """Most QPs that hold metadata at one NIC, and most bytes; who leaves goes first."""
        time = np.concatenate((self.start, until))
        change = np.repeat((1, -1), len(self))
        order = np.lexsort((change, time, np.tile(self.host, 2)))
        change = change[order]
        # All that a NIC took it gave back, so the next NIC's sum starts at 0.
        qps = np.cumsum(change)
        held = np.cumsum(change * np.tile(size, 2)[order])
        return int(qps.max()), int(held.max())


def paths(name):
    """(reorder.csv, folder of the run) of a result folder or a file."""
    if os.path.isdir(name):
        return os.path.join(name, "reorder.csv"), name
    return name, os.path.dirname(name) or "."


def read(name):
    """(Bursts, configuration of the run, {} where there is none) of a result folder or a file."""
    path, folder = paths(name)
    if not os.path.exists(path):
        raise ResultError(f"{path}: no such file: eunomia-sim writes one with --reorderLog")
    config = eunomia_results.read_config(folder)
    hosts = [config.get(key) for key in ("leaves", "hostsPerLeaf")]
    nics = hosts[0] * hosts[1] if all(isinstance(n, int) for n in hosts) else 0
    return _gather(path, nics), config


def _gather(path, nics):
    """Joins the rows of each burst; checks that a QP's rows follow each other."""
    bursts = []  # [life, host, start, end, span, packets, gap, rest]
    open_qps = {}  # (host, qp) -> [line, row before, its end, its burst in `bursts`]
    lives = 0
    for line, row in eunomia_results.read_reorder(path):
        _check_row(path, line, row)
        key = row["host"], row["qp"]
        before = open_qps.get(key)
        end = row["start_ns"] + row["duration_ns"]
        _check_order(path, line, row, before)
        if before is None:
            lives += 1
        elif before[1]["end"] == "closed":
            before[3][7] = row["gap_ns"]
        if row["end"] == "idle":
            del open_qps[key]
            continue
        if before is not None and before[1]["end"] == "continues":
            burst = before[3]
            burst[3] = end
            burst[4] = max(burst[4], row["span"])
            burst[5] += row["packets"]
        else:
            gap = -1 if before is None else row["gap_ns"]
            life = lives if before is None else before[3][0]
            burst = [life, row["host"], row["start_ns"], end, row["span"], row["packets"], gap, 0]
            bursts.append(burst)
        open_qps[key] = [line, row, end, burst]
        if row["end"] == "cut":
            del open_qps[key]
    for (host, qp), (line, row, _, _) in open_qps.items():
        raise ResultError(
            f"{path}: {line}: end: the last row of host {host}, QP {qp} is {row['end']}, "
            "expected idle or cut: is the file whole?"
        )
    return _arrays(bursts, lives, nics)


def _check_row(path, line, row):
    if row["ms"] != row["start_ns"] // NS_PER_MS:
        raise ResultError(
            f"{path}: {line}: ms: expected {row['start_ns'] // NS_PER_MS}, found {row['ms']}"
        )
    if row["packets"] == 0 and row["span"] > 0:
        raise ResultError(f"{path}: {line}: span: {row['span']} without a packet")


def _check_order(path, line, row, before):
    """A row starts where the gap after its QP's row before ends."""
    if before is None:
        if row["gap_ns"] is not None or row["end"] == "idle":
            raise ResultError(f"{path}: {line}: gap_ns: the first row of a QP has none")
        return
    gap = row["start_ns"] - before[2]
    if row["gap_ns"] is None or gap != row["gap_ns"]:
        raise ResultError(
            f"{path}: {line}: gap_ns: expected {gap}, the time since line {before[0]}, "
            f"found {'nothing' if row['gap_ns'] is None else row['gap_ns']}"
        )
    continues, idle = before[1]["end"] == "continues", row["end"] == "idle"
    if continues and (idle or gap > 0):
        raise ResultError(f"{path}: {line}: end: the burst of line {before[0]} should continue")
    same = row["burst"] == before[1]["burst"]
    if same != (continues or idle):
        raise ResultError(
            f"{path}: {line}: burst: {row['burst']} after {before[1]['burst']}, "
            f"which is {before[1]['end']} in line {before[0]}"
        )


def _arrays(bursts, lives, nics):
    table = np.array(bursts, dtype=np.int64).reshape(-1, 8)
    table = table[np.argsort(table[:, 0], kind="stable")]
    _, host, start, end, span, packets, gap, rest = table.T
    seen = int(np.unique(host).size)
    return Bursts(host, start, end, span, packets, gap, rest, lives, max(nics, seen))
