#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Draws what `eunomia memory --json` says, and prints the names of the pictures.

usage: memory_plots.py FILE DIR     FILE is that object, DIR gets the pictures

  model.png           dynamic bitmaps over active share and span, and where they beat fixed ones
  measured.png        bytes counted in the ordering layer beside the model's
  microbenchmark.png  20 connections into one simulated NIC
  block_size.png      what a reordering costs with larger blocks
  admission.png       how many QPs a pool lets reorder at the same time
"""

import json
import os
import sys

import eunomia_results
from eunomia_results import ResultError

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator

from eunomia_figures import DPI, FAINT, GRID, RC, STEPS, darker

BLUE, SKY, ORANGE, GREEN, GREY = "#0072b2", "#56b4e9", "#d55e00", "#009e73", "#6e6e6e"
SIZE_IN = (10.0, 4.1)
# Of the lines by span, with where the crossing is written, in points from it.
SPAN_STYLES = {16: (SKY, (7, -12)), 64: (BLUE, (-40, 7)), 256: (ORANGE, (-40, 7))}
KINDS = {"uniform": (BLUE, "o"), "geometric": (GREEN, "s"), "measured": (ORANGE, "D")}
CAP_PSNS = 256


class Report:
    """The object that the program printed; a value that is not there is refused by name."""

    def __init__(self, path):
        self.path = path
        try:
            self.data = eunomia_results.read_json(path)
        except OSError as error:
            raise ResultError(f"{path}: {error.strerror}") from error

    def get(self, name, kind=(int, float), within=None, prefix=""):
        """The value at a dotted name, of that type."""
        value = self.data if within is None else within
        for key in name.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, bool) or not isinstance(value, kind):
            raise ResultError(
                f"{self.path}: {prefix}{name}: expected {_kind_name(kind)}, "
                f"found {json.dumps(value)[:40]}"
            )
        return value

    def columns(self, name, *keys):
        """One array a key over the objects of a list."""
        rows = list(enumerate(self.get(name, list)))
        if not rows:
            raise ResultError(f"{self.path}: {name}: the list is empty")
        found = [
            [self.get(key, within=row, prefix=f"{name}[{place}].") for place, row in rows]
            for key in keys
        ]
        return [np.array(column, dtype=float) for column in found]


def _kind_name(kind):
    return {dict: "an object", list: "a list"}.get(kind, "a number")


def _panels(count, **adjust):
    figure, axes = plt.subplots(1, count, figsize=SIZE_IN, squeeze=False)
    place = {"left": 0.068, "right": 0.975, "top": 0.9, "bottom": 0.14, "wspace": 0.26}
    figure.subplots_adjust(**{**place, **adjust})
    return figure, axes[0]


def _from_zero(axis, top):
    axis.set_ylim(0, top)
    axis.yaxis.set_major_locator(MaxNLocator(6, steps=STEPS))


def _share_axis(axis, label):
    axis.set_xlim(0, 100)
    axis.set_xticks(range(0, 101, 20))
    axis.set_xlabel(label)


def model(report):
    """MB of a million QPs over the active share, and over fixed ones by share and span."""
    keys = ("fixed", "resident", "metadata", "block", "block_psns")
    fixed, resident, metadata, block, block_psns = (report.get(f"model.bytes.{k}") for k in keys)
    figure, (left, right) = _panels(2, right=0.99)
    share = np.linspace(0, 100, 201)

    def dynamic(psns):
        return resident + share / 100 * (metadata + psns / block_psns * block)

    top = max(dynamic(CAP_PSNS)) * 1.05
    left.axhline(fixed, color=GREY, linestyle=(0, (4, 1.5)))
    left.text(1.5, fixed + top * 0.015, "fixed bitmaps", color=GREY, fontsize=8.5)
    for psns, (colour, offset) in SPAN_STYLES.items():
        left.plot(share, dynamic(psns), color=colour, label=f"{psns} PSNs")
        crossing = report.get(f"model.crossing_pct.{psns}")
        left.plot([crossing], [fixed], "o", color=colour, markersize=5)
        left.annotate(
            f"{crossing:.2f} %",
            (crossing, fixed),
            xytext=offset,
            textcoords="offset points",
            fontsize=8.5,
            color=darker(colour),
        )
    left.legend(title="dynamic, span of", frameon=False, loc="lower right", alignment="left")
    left.set_title("Memory of a million QPs (model)")
    left.set_ylabel("MB")
    _share_axis(left, "QPs that reorder (%)")
    _from_zero(left, top)

    psns = np.arange(block_psns, CAP_PSNS + 1, block_psns)
    ratio = np.array([dynamic(span) for span in psns]) / fixed
    levels = np.arange(0, 2.3, 0.25)
    filled = right.contourf(share, psns, ratio, levels, cmap="RdBu_r", vmin=0, vmax=2, extend="max")
    right.contour(share, psns, ratio, [1.0], colors="#222222", linewidths=1.6)
    right.text(22, 136, "dynamic\ntakes less", ha="center", va="center")
    right.text(83, 136, "fixed\ntakes less", ha="center", va="center")
    right.grid(False)
    right.set_title("Dynamic over fixed")
    right.set_ylabel("span of a reordering (PSNs)")
    right.set_yticks([16, 64, 128, 192, 256])
    _share_axis(right, "QPs that reorder (%)")
    bar = figure.colorbar(filled, ax=right, pad=0.03, aspect=30, ticks=[0, 0.5, 1, 1.5, 2])
    bar.outline.set_visible(False)
    bar.set_label("bytes of dynamic over bytes of fixed")
    return figure


def measured(report):
    """Bytes counted in the allocations beside those of the model, by active share."""
    share, fixed, modelled, state, control, unused, total = report.columns(
        "measured_by_share",
        "active_pct",
        "fixed_bytes",
        "model_bytes",
        "state_bytes",
        "control_bytes",
        "unused_bytes",
        "total_bytes",
    )
    figure, (left, right) = _panels(2)
    place, width = np.arange(share.size), 0.34
    left.bar(place - width / 2 - 0.02, modelled / 1e6, width, color=GREY, label="model")
    base = np.zeros(share.size)
    for part, colour, name in (
        (state, BLUE, "counted: state"),
        (control, ORANGE, "counted: control"),
        (unused, GREEN, "counted: unused blocks"),
    ):
        left.bar(place + width / 2 + 0.02, part / 1e6, width, bottom=base, color=colour, label=name)
        base += part / 1e6
    left.axhline(fixed[0] / 1e6, color="#222222", linestyle=(0, (4, 1.5)), linewidth=1.2)
    top = max(base.max(), fixed[0] / 1e6) * 1.12
    left.text(
        -0.45, fixed[0] / 1e6 + top * 0.015, "fixed bitmaps, as published", fontsize=8.5, color=GREY
    )
    left.legend(frameon=False, loc="upper left")
    left.set_title(
        f"{report.get('measured.qps'):,} QPs, reordered over {report.get('measured.psns')} PSNs"
    )
    left.set_ylabel("MB")
    _from_zero(left, top)
    beyond = 100 * (total / modelled - 1)
    right.bar(place, beyond, 0.5, color=ORANGE)
    for x, value in zip(place, beyond):
        right.text(x, value + beyond.max() * 0.02, f"{value:.1f}", ha="center", fontsize=8.5)
    right.set_title("What the model leaves out")
    right.set_ylabel("counted beyond the model (%)")
    _from_zero(right, beyond.max() * 1.15 or 1)
    for axis in (left, right):
        axis.set_xticks(place)
        axis.set_xticklabels([f"{value:g}" for value in share])
        axis.set_xlabel("QPs that reorder (%)")
        axis.grid(False, axis="x")
    return figure


def microbenchmark(report):
    """Bytes of the receiving NIC over the share of reordered connections."""
    share, peak, settled, fixed, span = report.columns(
        "microbenchmark",
        "reordered_pct",
        "dynamic_bytes",
        "settled_bytes",
        "fixed_bytes",
        "span_psns",
    )
    figure, (axis,) = _panels(1, left=0.09, right=0.76)
    axis.plot(share, fixed, color=GREY, linestyle=(0, (4, 1.5)), label="fixed, 41 B each")
    for value, colour, marker, label in (
        (peak, BLUE, "o", "dynamic, peak"),
        (settled, SKY, "s", "dynamic, bitmaps grown"),
    ):
        axis.plot(
            share, value, color=colour, marker=marker, markersize=3.5, clip_on=False, label=label
        )
    top = max(peak.max(), fixed.max()) * 1.08
    crossings = (
        ("microbenchmark_crossing_pct", BLUE, (-84, 22)),
        ("microbenchmark_settled_crossing_pct", SKY, (24, -34)),
    )
    for name, colour, offset in crossings:
        if report.data.get(name) is None:  # they do not cross
            continue
        crossing = report.get(name)
        axis.annotate(
            f"{crossing:.2f} %",
            (crossing, fixed[0]),
            xytext=offset,
            textcoords="offset points",
            color=darker(colour),
            arrowprops={"arrowstyle": "-", "color": darker(colour), "linewidth": 0.8},
        )
    axis.axvspan(58, 62, color=GRID, zorder=0)
    axis.text(60, top * 0.03, "published:\nabout 60 %", ha="center", fontsize=8.5, color=FAINT)
    axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    axis.set_title("20 connections into one simulated NIC")
    axis.text(
        1.03,
        0.74,
        f"span {span.max():g} PSNs;\nbytes of the ordering\nlayer, its control not\ncounted",
        transform=axis.transAxes,
        va="top",
        fontsize=8.5,
        color=FAINT,
    )
    axis.set_ylabel("bytes of the receiver")
    _share_axis(axis, "connections that are reordered (%)")
    _from_zero(axis, top)
    return figure


def block_size(report):
    """Total bytes, waste and allocations of a reordering, and bits of an id, by block size."""
    spans = report.get("block_size.mean_span_psns", dict)
    rows = "block_size.rows"
    size, metadata, bits = report.columns(rows, "block_bytes", "metadata_bytes", "id_bits")
    figure, axes = _panels(3, top=0.8, wspace=0.28)
    place = np.arange(size.size)
    parts = (
        ("total_bytes", "Blocks and metadata", "bytes a reordering"),
        ("waste_bytes", "Waste in blocks", "bytes a reordering"),
        ("allocations", "Allocations, and bits of an id", "allocations a reordering; bits"),
    )
    for axis, (key, title, unit) in zip(axes, parts):
        top = 0.0
        for kind in spans:
            (value,) = report.columns(rows, f"{kind}.{key}")
            colour, marker = KINDS.get(kind, (GREY, "o"))
            label = f"{kind}, mean span {spans[kind]:.1f} PSNs"
            axis.plot(place, value, color=colour, marker=marker, markersize=4, label=label)
            top = max(top, value.max())
        if key == "total_bytes":
            axis.plot(
                place, metadata, color=GREY, linestyle=(0, (1, 1.2)), label="of these, metadata"
            )
        if key == "allocations":
            axis.plot(place, bits, color=GREY, linestyle=(0, (4, 1.5)), label="bits of an id")
            axis.text(0.15, bits[0] + 0.25, "bits of an id", color=GREY, fontsize=8.5)
            top = max(top, bits.max())
        axis.set_title(title)
        axis.set_ylabel(unit)
        axis.set_xticks(place)
        axis.set_xticklabels([f"{value:g}" for value in size])
        axis.set_xlabel("block size (bytes)")
        _from_zero(axis, top * 1.1)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        frameon=False,
        loc="upper left",
        bbox_to_anchor=(0.058, 1.0),
        ncol=4,
        fontsize=8.5,
        columnspacing=1.6,
    )
    return figure


def admission(report):
    """Most QPs that reorder at the same time, over their span."""
    psns, modelled, served = report.columns(
        "admission.rows", "psns", "model_qps", "measured_qps"
    )
    pool, qps = report.get("admission.pool_bytes"), report.get("admission.qps")
    figure, (axis,) = _panels(1, left=0.09, right=0.89)
    fine = np.linspace(psns[0], psns[-1], 200)
    keys = ("metadata", "block", "block_psns")
    metadata, block, block_psns = (report.get(f"model.bytes.{k}") for k in keys)
    limit = np.minimum(qps, pool / (metadata + fine / block_psns * block))
    axis.fill_between(fine, limit, color=SKY, alpha=0.25, linewidth=0)
    axis.plot(fine, limit, color=GREY, linestyle=(0, (4, 1.5)), label="model, before rounding down")
    axis.plot(psns, served, "o", color=BLUE, markersize=5, label="served by the allocator")
    axis.text(psns.mean(), limit.min() * 0.5, "fits", ha="center", color=darker(SKY))
    axis.set_title(f"QPs that a pool of {pool:,} B lets reorder at the same time")
    axis.set_xlabel("span of each reordering (PSNs)")
    axis.set_ylabel("active QPs")
    axis.set_xlim(psns[0] - 6, psns[-1] + 6)
    axis.set_xticks(psns[(psns % 32 == 0) | (psns == 16)] if psns.size > 8 else psns)
    top = max(modelled.max(), served.max()) * 1.15
    _from_zero(axis, top)
    axis.legend(frameon=False, loc="upper right")
    other = axis.twinx()
    other.spines["right"].set_visible(True)
    other.set_ylim(0, 100 * top / qps)
    other.grid(False)
    other.set_ylabel(f"share of {qps:,} open QPs (%)")
    other.yaxis.set_major_locator(MaxNLocator(6, steps=STEPS))
    other.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    return figure


FIGURES = {
    "model.png": model,
    "measured.png": measured,
    "microbenchmark.png": microbenchmark,
    "block_size.png": block_size,
    "admission.png": admission,
}


def draw(path, folder):
    """Draws every picture into `folder`, or none; returns their paths."""
    report = Report(path)
    with plt.rc_context(RC):
        figures = {name: make(report) for name, make in FIGURES.items()}
        try:
            os.makedirs(folder, exist_ok=True)
            for name, figure in figures.items():
                figure.savefig(os.path.join(folder, name), dpi=DPI, metadata={"Software": None})
        except OSError as error:
            raise ResultError(f"{error.filename}: {error.strerror}") from error
        finally:
            plt.close("all")
    return [os.path.join(folder, name) for name in FIGURES]


def main():
    if len(sys.argv) != 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    for path in draw(sys.argv[1], sys.argv[2]):
        print(os.path.relpath(path))
    return 0


if __name__ == "__main__":
    eunomia_results.run_tool("memory_plots.py", main)
