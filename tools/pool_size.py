#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""How much memory a NIC's reorder pool needs: simulates pools of several sizes under spraying.

usage: eunomia poolsize [--OPTION=VALUE...]

  --pools=64,128,256,512,1024,2048,4096
                   pool sizes, in blocks of 2 bytes a NIC, 1..65534
  --seeds=3        simulations of each size, seeds 1, 2, and so on
  --duration=2ms   arrivals of the AliStorage2019 runs
  --load=0.8       offered load of the AliStorage2019 runs
  --fanin=63       hosts that send to one at the same time in the incast runs, 1..127
  --out=DIR        results/pool-size: pool_size.csv and pool_size.png

Two workloads on the default 8x8 Clos, --lb=spray --transport=eunomia: AliStorage2019, and an incast
of three rounds 2 ms apart, in each of which `fanin` hosts send 64 KiB to each of four receivers.
Pictures show the mean over the seeds, with the range of the single runs.

Exit status: 0; 2 wrong use; 3 a run left flows unfinished; 1 a simulation failed.
"""

import os
import random

import eunomia_results
import eunomia_study
from eunomia_results import ResultError
from eunomia_study import Run, whole

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

HOSTS = 128  # of the default Clos
INCAST_BYTES = 64 * 1024
INCAST_RECEIVERS = 4
INCAST_ROUNDS = 3
ROUND_NS = 2_000_000
BLOCK_BYTES = 2
# Slowdowns this close to those of the largest pool count as equal to them.
ENOUGH = 0.02
WORKLOADS = ("AliStorage2019", "incast")

# Column of the CSV, dotted name in summary.json.
FIGURES = (
    ("flows", "flows.total"),
    ("flows_done", "flows.done"),
    ("slowdown_mean", "fct_slowdown.all.mean"),
    ("slowdown_p99", "fct_slowdown.all.p99"),
    ("nacks", "packets.nack"),
    ("retransmitted", "packets.retransmitted"),
    ("alloc_miss", "pool.alloc_miss"),
    ("cap_hits", "pool.cap_hit"),
    ("fallbacks", "pool.fallback"),
    ("blocks_peak", "pool.blocks_peak"),
    ("qps_active_peak", "pool.qps_active_peak"),
)


# ---- what to run ----


def parse(arguments):
    parser = eunomia_study.Parser("poolsize", "pool-size")
    parser.add_argument("--pools", default="64,128,256,512,1024,2048,4096")
    parser.add_argument("--seeds", default="3")
    parser.add_argument("--duration", default="2ms")
    parser.add_argument("--load", default="0.8")
    parser.add_argument("--fanin", default="63")
    options = parser.parse_args(arguments)
    options.pools = eunomia_study.wholes("pools", options.pools, 1, 65534)
    options.seeds = whole("seeds", options.seeds, 1, 1000)
    try:
        float(options.load)
    except ValueError:
        raise ResultError(f"--load: {options.load!r} is no number") from None
    options.fanin = whole("fanin", options.fanin, 1, HOSTS - 1)
    return options


def incast_flows(fanin, seed):
    """Text of a flow list: senders and receivers drawn without replacement in each round."""
    luck = random.Random(f"incast/{seed}")
    lines = []
    for number in range(INCAST_ROUNDS):
        start = f"{2 + number * ROUND_NS / 1e9:.9f}"
        for receiver in luck.sample(range(HOSTS), INCAST_RECEIVERS):
            others = [host for host in range(HOSTS) if host != receiver]
            for sender in luck.sample(others, fanin):
                lines.append(f"{sender} {receiver} 3 {INCAST_BYTES} {start}\n")
    return f"{len(lines)}\n" + "".join(lines)


def traffic(workload, options, seed, scratch):
    """Words for the simulator; a flow list goes to the scratch folder."""
    if workload == "incast":
        path = os.path.join(scratch, f"incast-{seed}.flows")
        with open(path, "w", encoding="utf-8") as file:
            file.write(incast_flows(options.fanin, seed))
        return [f"--flows={path}"]
    return [f"--workload={workload}", f"--load={options.load}", f"--duration={options.duration}"]


def runs(options, scratch):
    """All simulations of the study."""
    found = []
    for workload in WORKLOADS:
        for blocks in options.pools:
            for seed in range(1, options.seeds + 1):
                keys = {"workload": workload, "pool_blocks": blocks}
                keys.update(pool_bytes=blocks * BLOCK_BYTES, seed=seed)
                words = ["--lb=spray", "--transport=eunomia"]
                words += traffic(workload, options, seed, scratch)
                words += [f"--poolBlocks={blocks}", f"--seed={seed}"]
                found.append(Run(f"{workload}, {blocks} blocks, seed {seed}", keys, words))
    return found


# ---- what came of it ----


class Study:
    """The rows of one workload by pool size: arrays of (sizes, seeds)."""

    def __init__(self, rows, workload):
        rows = [row for row in rows if row["workload"] == workload]
        self.workload = workload
        self.pools = np.array(sorted({row["pool_blocks"] for row in rows}))
        self._rows = [[row for row in rows if row["pool_blocks"] == n] for n in self.pools]

    def figure(self, name):
        return np.array([[row[name] for row in group] for group in self._rows], dtype=float)

    def enough(self):
        """Smallest pool from which on all slowdowns are those of the largest, within ENOUGH."""
        fine = np.ones(self.pools.size, dtype=bool)
        for name in ("slowdown_mean", "slowdown_p99"):
            mean = self.figure(name).mean(axis=1)
            fine &= mean <= mean[-1] * (1 + ENOUGH)
        return int(self.pools[_from_here_on(fine)])

    def without_refusal(self):
        """Smallest pool from which on no run refused an arrival; None where each size has one."""
        fine = self.figure("alloc_miss").max(axis=1) == 0
        return int(self.pools[_from_here_on(fine)]) if fine[-1] else None


def _from_here_on(fine):
    """First place from which on all are true; the last is taken to be."""
    wrong = np.flatnonzero(~fine[:-1])
    return wrong[-1] + 1 if wrong.size else 0


def table(studies):
    """Lines: a row a workload and size, means over the seeds, then what is enough."""
    lines = [
        f"{'workload':14} {'blocks':>6} {'bytes':>6} {'mean':>6} {'p99':>7} {'NACKs':>8}"
        f" {'misses':>8} {'fallbacks':>9} {'peak':>5} {'QPs':>4}"
    ]
    names = ("slowdown_mean", "slowdown_p99", "nacks", "alloc_miss", "fallbacks")
    for study in studies:
        means = [study.figure(name).mean(axis=1) for name in names]
        peaks = [study.figure(name).max(axis=1) for name in ("blocks_peak", "qps_active_peak")]
        for place, blocks in enumerate(study.pools):
            mean, p99, *counts = (value[place] for value in means)
            lines.append(
                f"{study.workload:14} {blocks:6} {blocks * BLOCK_BYTES:6} {mean:6.2f} {p99:7.2f}"
                + "".join(f" {count:{w},.0f}" for count, w in zip(counts, (8, 8, 9)))
                + "".join(f" {peak[place]:{w}.0f}" for peak, w in zip(peaks, (5, 4)))
            )
    lines += ["", "mean and p99: FCT slowdown; misses: arrivals that found no room; peak: blocks"]
    lines += ["in use and QPs with metadata at most, in the fullest NIC", ""]
    for study in studies:
        blocks, clean = study.enough(), study.without_refusal()
        rest = f"slowdowns within {100 * ENOUGH:g} % of the largest pool's"
        if blocks == study.pools[-1]:
            rest = "the largest pool tried; every smaller one is slower"
        lines.append(f"{study.workload}: {blocks} blocks ({blocks * BLOCK_BYTES} B) a NIC: {rest};")
        lines.append(
            "  each pool tried had an arrival without room"
            if clean is None
            else f"  each arrival finds room from {clean} blocks ({clean * BLOCK_BYTES} B) on"
        )
    return lines


def _line(axis, study, name, colour, marker, label):
    """Mean over the seeds, and the range as a band; returns the largest value."""
    values = study.figure(name)
    eunomia_study.line(axis, study.pools, values, label, color=colour, marker=marker)
    return values.max()


def draw(studies, options):
    """A row a workload: slowdown, and what refused arrivals lead to, over pool size."""
    figure, grid = plt.subplots(len(studies), 2, figsize=(10.0, 3.6 * len(studies)), squeeze=False)
    figure.subplots_adjust(left=0.07, right=0.975, top=0.94, bottom=0.075, hspace=0.42, wspace=0.24)
    for study, (left, right) in zip(studies, grid):
        what = f"{study.workload} at {100 * float(options.load):g} % load"
        if study.workload == "incast":
            what = f"incast, {options.fanin} senders"
        _line(left, study, "slowdown_p99", "#d55e00", "s", "99th percentile")
        _line(left, study, "slowdown_mean", "#0072b2", "o", "mean")
        left.set_title(f"FCT slowdown: {what}")
        left.set_ylabel("slowdown")
        left.set_ylim(bottom=0)
        enough = study.enough()
        left.axvline(enough, color="#6e6e6e", linestyle=(0, (1, 1.2)), linewidth=1.2)
        left.annotate(
            f"enough: {enough * BLOCK_BYTES} B",
            (enough, 0.03),
            xycoords=("data", "axes fraction"),
            xytext=(-4 if enough > study.pools[0] else 4, 0),
            textcoords="offset points",
            ha="right" if enough > study.pools[0] else "left",
            fontsize=8.5,
        )
        top = max(
            _line(right, study, "nacks", "#0072b2", "o", "NACKs, any reason"),
            _line(right, study, "alloc_miss", "#e69f00", "s", "arrivals without room"),
            _line(right, study, "fallbacks", "#d55e00", "D", "fallbacks to go-back-N"),
        )
        right.set_title(f"Refusals: {what}")
        right.set_ylabel("count in a run")
        right.set_yscale("symlog", linthresh=1)
        right.set_ylim(0, max(top, 1) * 3)
        right.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        right.yaxis.set_minor_locator(NullLocator())
        for axis in (left, right):
            axis.set_xscale("log", base=2)
            axis.set_xticks(study.pools)
            axis.set_xticklabels([f"{blocks}\n{blocks * BLOCK_BYTES} B" for blocks in study.pools])
            axis.xaxis.set_minor_formatter(NullFormatter())
            axis.set_xlabel("pool of a NIC (2-byte blocks, bytes)")
            axis.legend(frameon=False, loc="best")
    figure.text(
        0.52, 0.007, "bands: range over the seeds", ha="center", fontsize=8.5, color="#8a8a8a"
    )
    return figure


def conclude(options, scratch):
    """Runs everything and writes the CSV and the picture; the rows and the lines to print."""
    rows = eunomia_study.simulate(
        runs(options, scratch),
        options.sim,
        scratch,
        lambda result: eunomia_study.read(result, FIGURES),
    )
    studies = [Study(rows, workload) for workload in WORKLOADS]
    paths = eunomia_study.publish(options.out, "pool_size", rows, lambda: draw(studies, options))
    return rows, [*table(studies), "", *paths]


def main(arguments=None):
    return eunomia_study.conduct("poolsize", __doc__, parse(arguments), conclude)


if __name__ == "__main__":
    eunomia_results.run_tool("eunomia poolsize", main)
