#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""How far ahead a QP may run: simulates caps on its reordering window over link rates and loads.

usage: eunomia windows [--OPTION=VALUE...]

  --caps=256,1024,4096
                    PSNs that a QP may hold ahead, 1..4096
  --rates=100,400,800
                    rates of every link, Gb/s, 1..10000
  --loads=0.5,0.8,0.95
                    offered loads
  --duration=2ms    arrivals at 100 Gb/s; at other rates as long as it takes for as many flows
  --seeds=1         simulations of each combination, seeds 1, 2, and so on
  --out=DIR         results/windows: windows.csv and windows.png

AliStorage2019 on the default 8x8 Clos, --lb=spray --transport=eunomia --verb=send, with pools of
8192 blocks so that no arrival lacks memory. A packet at or past the cap is refused with a NACK and
sent again. Pictures show the mean over the seeds, with the range of the single runs.

Exit status: 0; 2 wrong use; 3 a run left flows unfinished; 1 a simulation failed.
"""

import eunomia_results
import eunomia_study
import make_flows
from eunomia_results import ResultError
from eunomia_study import Run

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FuncFormatter, NullLocator

POOL_BLOCKS = 8192
BASE_GBPS = 100  # the rate that --duration is for
# A cap is too small where it refuses a larger share of the early packets than this.
TOLERABLE = 0.01
LOOKS = (("#d55e00", "s"), ("#e69f00", "D"), ("#0072b2", "o"), ("#009e73", "^"), ("#cc79a7", "v"))

# Column of the CSV, dotted name in summary.json.
FIGURES = (
    ("flows", "flows.total"),
    ("flows_done", "flows.done"),
    ("slowdown_mean", "fct_slowdown.all.mean"),
    ("slowdown_p99", "fct_slowdown.all.p99"),
    ("data", "packets.data"),
    ("retransmitted", "packets.retransmitted"),
    ("nacks", "packets.nack"),
    ("out_of_order", "reorder.out_of_order"),
    ("max_span", "reorder.max_span"),
    ("cap_hits", "pool.cap_hit"),
    ("alloc_miss", "pool.alloc_miss"),
    ("widened", "pool.widen"),
    ("blocks_peak", "pool.blocks_peak"),
    ("bytes_peak", "pool.bytes_peak"),
)


# ---- what to run ----


def _loads(text):
    """The loads, ascending, each once, as they were written."""
    found = {}
    for part in text.split(","):
        try:
            value = float(part)
        except ValueError:
            value = 0
        if not 0 < value <= 1000:
            raise ResultError(f"--loads: {part!r} is no number above 0, up to 1000")
        found.setdefault(value, part)
    return [found[value] for value in sorted(found)]


def parse(arguments):
    parser = eunomia_study.Parser("windows", "windows")
    parser.add_argument("--caps", default="256,1024,4096")
    parser.add_argument("--rates", default="100,400,800")
    parser.add_argument("--loads", default="0.5,0.8,0.95")
    parser.add_argument("--duration", default="2ms")
    parser.add_argument("--seeds", default="1")
    options = parser.parse_args(arguments)
    options.caps = eunomia_study.wholes("caps", options.caps, 1, 4096)
    options.rates = eunomia_study.wholes("rates", options.rates, 1, 10000)
    options.loads = _loads(options.loads)
    options.seeds = eunomia_study.whole("seeds", options.seeds, 1, 1000)
    try:
        seconds = make_flows.quantity(options.duration, make_flows.TIME_UNITS, "duration")
    except make_flows.InputError as error:
        raise ResultError(str(error)) from None
    options.duration_ns = seconds * 1e9
    return options


def runs(options):
    """All simulations of the study."""
    found = []
    for rate in options.rates:
        duration_ns = round(options.duration_ns * BASE_GBPS / rate)
        for load in options.loads:
            for cap in options.caps:
                for seed in range(1, options.seeds + 1):
                    keys = {"rate_gbps": rate, "load": load, "cap_psns": cap, "seed": seed}
                    words = ["--lb=spray", "--transport=eunomia", "--verb=send"]
                    words += ["--workload=AliStorage2019", f"--load={load}"]
                    words += [f"--linkRate={rate}Gbps", f"--duration={duration_ns}ns"]
                    words += [f"--qpCap={cap}", f"--poolBlocks={POOL_BLOCKS}", f"--seed={seed}"]
                    name = f"{rate} Gb/s, load {load}, {cap} PSNs, seed {seed}"
                    found.append(Run(name, keys, words))
    return found


def figures(result):
    """Columns of the CSV from one result."""
    row = eunomia_study.read(result, FIGURES)
    if row["out_of_order"] == 0:
        return {**row, "p99_span": 0, "refused_pct": 0}
    row.update(eunomia_study.read(result, [("p99_span", "reorder.p99_span")]))
    row["refused_pct"] = round(100 * row["cap_hits"] / row["out_of_order"], 6)
    return row


# ---- what came of it ----


class Study:
    """The rows by rate, cap and load: figures are arrays of (loads, seeds)."""

    def __init__(self, rows):
        self.rates = sorted({row["rate_gbps"] for row in rows})
        self.caps = sorted({row["cap_psns"] for row in rows})
        self.loads = sorted({row["load"] for row in rows}, key=float)
        self._rows = {}
        for row in rows:
            place = (row["rate_gbps"], row["cap_psns"], row["load"])
            self._rows.setdefault(place, []).append(row)

    def figure(self, rate, cap, name):
        groups = [self._rows[rate, cap, load] for load in self.loads]
        return np.array([[row[name] for row in group] for group in groups], dtype=float)

    def _share(self, rate, cap, part, whole):
        """Of all seeds together, by load; 0 where there is nothing to have a share of."""
        parts, wholes = (self.figure(rate, cap, name).sum(axis=1) for name in (part, whole))
        return parts / np.maximum(wholes, 1)

    def refused(self, rate, cap):
        """Share of the early packets that the cap refused, by load."""
        return self._share(rate, cap, "cap_hits", "out_of_order")

    def resent(self, rate, cap):
        """Share of the data packets that are retransmissions, by load."""
        return self._share(rate, cap, "retransmitted", "data")

    def too_small(self, rate, cap):
        """Place of the least load at which the cap is too small; None where it never is."""
        places = np.flatnonzero(self.refused(rate, cap) > TOLERABLE)
        return int(places[0]) if places.size else None

    def slower(self, rate, cap, place, name):
        """By what share a mean over the seeds lies above that of the largest cap, at one load."""
        mine, best = (
            self.figure(rate, which, name).mean(axis=1)[place] for which in (cap, self.caps[-1])
        )
        return mine / best - 1


def _rows_of_table(study):
    for rate in study.rates:
        for place, load in enumerate(study.loads):
            for cap in study.caps:
                mean = {}
                for name in ("cap_hits", "retransmitted", "slowdown_mean", "slowdown_p99"):
                    mean[name] = study.figure(rate, cap, name).mean(axis=1)[place]
                most = {}
                for name in ("max_span", "p99_span", "blocks_peak", "bytes_peak"):
                    most[name] = study.figure(rate, cap, name).max(axis=1)[place]
                refused, resent = study.refused(rate, cap)[place], study.resent(rate, cap)[place]
                yield (
                    f"{rate:5} {load:>5} {cap:5} {most['max_span']:6.0f} {most['p99_span']:6.0f}"
                    f" {mean['cap_hits']:9,.0f} {100 * refused:6.2f} {mean['retransmitted']:9,.0f}"
                    f" {100 * resent:6.2f} {mean['slowdown_mean']:6.2f} {mean['slowdown_p99']:6.2f}"
                    f" {most['blocks_peak']:6.0f} {most['bytes_peak']:6.0f}"
                )


def _verdict(study, cap):
    """Lines: at which rates and loads a cap is too small, and what that costs."""
    yield f"{cap} PSNs a QP:"
    for rate in study.rates:
        place = study.too_small(rate, cap)
        if place is None:
            worst = 100 * study.refused(rate, cap).max()
            yield f"  {rate} Gb/s: enough; refuses at most {worst:.2f} % of the early packets"
            continue
        yield (
            f"  {rate} Gb/s: too small from load {study.loads[place]} on: refuses"
            f" {100 * study.refused(rate, cap)[place]:.1f} % of the early packets there;"
        )
        resent = study.resent(rate, cap)
        dearest = int(resent.argmax())
        mean, p99 = (
            100 * study.slower(rate, cap, dearest, name)
            for name in ("slowdown_mean", "slowdown_p99")
        )
        yield (
            f"    at load {study.loads[dearest]} {100 * resent[dearest]:.1f} % of the data packets"
            f" are sent again; mean slowdown {mean:+.1f} %, p99 {p99:+.1f} %"
        )


def table(study):
    """Lines: a row a rate, load and cap, then from where on a cap is too small."""
    lines = [
        f"{'Gb/s':>5} {'load':>5} {'cap':>5} {'span':>6} {'p99':>6} {'refused':>9} {'%':>6}"
        f" {'resent':>9} {'%':>6} {'mean':>6} {'p99':>6} {'blocks':>6} {'bytes':>6}"
    ]
    lines += _rows_of_table(study)
    lines += ["", "span: the longest and the 99th percentile, PSNs; refused: arrivals at or past"]
    lines += ["the cap, and their share of the early packets; resent: retransmissions, and their"]
    lines += ["share of the data packets; mean and p99: FCT slowdown; blocks, bytes: pool at most,"]
    lines += [f"in the fullest NIC. Too small: more than {100 * TOLERABLE:g} % refused; slowdowns"]
    lines += [f"are compared with those of {study.caps[-1]} PSNs.", ""]
    for cap in study.caps:
        lines += _verdict(study, cap)
    short = sum(
        study.figure(rate, cap, "alloc_miss").sum() for rate in study.rates for cap in study.caps
    )
    if short:
        lines += [f"{short:,.0f} arrivals found no memory: the cap was not the only limit"]
    return lines


def _draw_refused(axis, study, rate):
    top = 1
    for cap, (colour, marker) in zip(study.caps, LOOKS * len(study.caps)):
        values = study.figure(rate, cap, "cap_hits")
        x = [float(load) for load in study.loads]
        eunomia_study.line(axis, x, values, f"cap of {cap} PSNs", color=colour, marker=marker)
        top = max(top, values.max())
    axis.set_yscale("symlog", linthresh=1)
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.set_title(f"{rate} Gb/s: cap NACKs")
    return 3 * top


def _draw_span(axis, study, rate):
    top = 1
    for cap, (colour, marker) in zip(study.caps, LOOKS * len(study.caps)):
        x = [float(load) for load in study.loads]
        for name, label, dash in (("max_span", "longest", "-"), ("p99_span", "p99", "--")):
            values = study.figure(rate, cap, name)
            said = f"{label}, cap of {cap}"
            look = {"color": colour, "marker": marker, "linestyle": dash}
            eunomia_study.line(axis, x, values, said, **look)
            top = max(top, values.max())
    axis.set_title(f"{rate} Gb/s: reordering span")
    axis.set_xlabel("offered load")
    return 1.08 * top


def draw(study):
    """A column a rate: arrivals that the cap refused, and spans, over load."""
    count = len(study.rates)
    figure, grid = plt.subplots(2, count, figsize=(2.2 + 3.4 * count, 7.0), squeeze=False)
    figure.subplots_adjust(
        left=0.9 / (2.2 + 3.4 * count), right=0.985, top=0.95, bottom=0.17, hspace=0.3, wspace=0.26
    )
    for row, (draw_panel, label) in enumerate(
        ((_draw_refused, "arrivals refused in a run"), (_draw_span, "PSNs ahead"))
    ):
        top = max(draw_panel(axis, study, rate) for axis, rate in zip(grid[row], study.rates))
        for axis in grid[row]:
            axis.set_ylim(0, top)
            axis.set_xticks([float(load) for load in study.loads])
            axis.set_xticklabels(study.loads)
        grid[row][0].set_ylabel(label)
    for axis in grid[1]:
        for cap in study.caps:
            if cap < axis.get_ylim()[1]:
                axis.axhline(cap, color="#6e6e6e", linestyle=(0, (1, 1.2)), linewidth=1.2)
    handles, labels = grid[1][0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        title="dotted: the caps",
        title_fontsize=9,
        handlelength=3,
        frameon=False,
        ncols=len(study.caps),
        loc="lower center",
    )
    return figure


def conclude(options, scratch):
    """Runs everything and writes the CSV and the picture; the rows and the lines to print."""
    rows = eunomia_study.simulate(runs(options), options.sim, scratch, figures)
    study = Study(rows)
    paths = eunomia_study.publish(options.out, "windows", rows, lambda: draw(study))
    return rows, [*table(study), "", *paths]


def main(arguments=None):
    return eunomia_study.conduct("windows", __doc__, parse(arguments), conclude)


if __name__ == "__main__":
    eunomia_results.run_tool("eunomia windows", main)
