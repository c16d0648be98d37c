#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Which idle epoch suits a NIC's ordering layer, from the bursts of a run with --reorderLog.

For each epoch the table says how many rentals of metadata it spares, of those that any epoch could
spare, what is held idle for that, and what the NICs hold in all, idle or not. A gap longer than the
run cannot be seen: with --qp=pair, let the run last several times as long as the longest epoch that
you consider.
"""

import argparse
import json
import os
import sys

import numpy as np

import eunomia_bursts
import eunomia_results
from eunomia_metrics import show
from eunomia_results import ResultError

DEFAULT_NS = 256_000  # of eunomia-sim --idleEpoch
SHORTEST_NS = 1_000
LONGEST_NS = SHORTEST_NS << 20
CURVE_STEPS = 4  # points an octave
FEW = 10


def epochs(gaps, steps=1):
    """Epochs in ns from 1 us on, `steps` an octave, to 1.024 ms or the first that spares all."""
    top = SHORTEST_NS << 10
    while gaps.size and top < min(gaps[-1], LONGEST_NS):
        top *= 2
    octaves = int(np.log2(top // SHORTEST_NS))
    return [SHORTEST_NS * 2 ** (i / steps) for i in range(octaves * steps + 1)]


def smallest(gaps, miss):
    """The smallest epoch in ns that spares all but a share `miss` of the rentals, 1 or more."""
    allowed = int(np.floor(miss * gaps.size + 1e-9))
    return max(int(gaps[gaps.size - 1 - allowed]), 1)


def knee(curve):
    """The point of a curve farthest above the line from its first to its last (Kneedle: Satopaa et
    al., ICDCSW 2011), benefit being rentals spared and cost mean bytes held."""
    cost = np.array([point.bytes_mean for point in curve])
    gain = np.array([point.spared for point in curve])
    width, height = cost[-1] - cost[0], gain[-1] - gain[0]
    if width <= 0 or height <= 0:
        return curve[0]
    return curve[int(np.argmax((gain - gain[0]) / height - (cost - cost[0]) / width))]


def calibrate(bursts, miss):
    """{table, curve, suggested, knee, default}: Holdings, or None where the run shows none."""
    found = {"table": [], "curve": [], "suggested": None, "knee": None, "default": None}
    if not len(bursts):
        return found
    gaps = bursts.gaps()
    found["table"] = [bursts.hold(epoch) for epoch in epochs(gaps)]
    found["curve"] = [bursts.hold(epoch, peaks=False) for epoch in epochs(gaps, CURVE_STEPS)]
    found["default"] = bursts.hold(DEFAULT_NS)
    if gaps.size:
        found["suggested"] = bursts.hold(smallest(gaps, miss))
        found["knee"] = bursts.hold(knee(found["curve"]).epoch_ns)
    return found


# ---- text ----


def micros(ns):
    """Nanoseconds as microseconds, exact to the nanosecond, without needless zeros."""
    return f"{ns / 1000:.3f}".rstrip("0").rstrip(".")


def name_epoch(epoch_ns, rtt_ns):
    text = f"{micros(epoch_ns)} us"
    return f"{text} ({epoch_ns / rtt_ns:.3g} RTT)" if rtt_ns else text


def quantiles(values, unit, scale=1.0):
    """The middle, the 99th percentile and the largest of some values."""
    middle, high, top = (float(q) * scale for q in np.quantile(values, (0.5, 0.99, 1)))
    return f"median {middle:.4g}, 99th percentile {high:.4g}, most {top:.4g} {unit}"


def describe(bursts, rtt_ns):
    begin, finish = bursts.window()
    rtt = f", base RTT {micros(rtt_ns)} us" if rtt_ns else ""
    yield (
        f"{show(len(bursts))} bursts of {show(bursts.qps)} QPs at {show(bursts.nics)} NICs in "
        f"{micros(finish - begin)} us{rtt}"
    )
    yield f"  length   {quantiles(bursts.end - bursts.start, 'us', 1e-3)}"
    yield f"  span     {quantiles(bursts.span, 'PSNs')}"
    gaps = bursts.gaps()
    if gaps.size:
        yield f"  between  {quantiles(gaps, 'us', 1e-3)}; {show(gaps.size)} gaps"


def table_lines(points, rtt_ns):
    head = ("epoch us", "RTTs", "spared %", "idle KB*ms", "QPs/NIC", "peak", "bytes/NIC", "peak")
    rows = [head]
    for p in points:
        rtts = f"{p.epoch_ns / rtt_ns:.3g}" if rtt_ns else "-"
        rows.append(
            (
                micros(p.epoch_ns),
                rtts,
                f"{100 * p.spared:.2f}",
                show(p.idle_byte_s, 3),
                f"{p.qps_mean:.3f}",
                show(p.qps_peak),
                f"{p.bytes_mean:.1f}",
                show(p.bytes_peak),
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    for row in rows:
        yield "  ".join(cell.rjust(width) for cell, width in zip(row, widths))


def costs(point):
    return (
        f"spares {100 * point.spared:.2f} %, holds {point.bytes_mean:.1f} bytes a NIC "
        f"(peak {show(point.bytes_peak)})"
    )


def advice(bursts, found, miss, rtt_ns):
    default, best, bend = found["default"], found["suggested"], found["knee"]
    if best is None:
        yield "No QP was reordered twice: no epoch spares anything here."
        return
    yield (
        f"suggested  {name_epoch(best.epoch_ns, rtt_ns)}: the smallest that misses at most "
        f"{100 * miss:g} %; {costs(best)}"
    )
    yield f"knee       {name_epoch(bend.epoch_ns, rtt_ns)}: {costs(bend)}"
    yield f"default    {name_epoch(default.epoch_ns, rtt_ns)}: {costs(default)}"
    if best.bytes_mean > 0 and bend.bytes_mean > 0:
        yield (
            f"In the mean, the default holds {default.bytes_mean / best.bytes_mean:.3g} times the "
            f"bytes of the suggested epoch, {default.bytes_mean / bend.bytes_mean:.3g} times those "
            "of the knee."
        )
    begin, finish = bursts.window()
    if best.epoch_ns * FEW > finish - begin:
        yield (
            f"The run is shorter than {FEW} suggested epochs, and longer gaps it cannot show: the "
            "suggestion would grow with the run. Trust the knee, or run longer."
        )


def as_json(bursts, found, miss, rtt_ns):
    def point(p):
        if p is None:
            return None
        return {
            "epoch_us": round(p.epoch_ns / 1000, 6),
            "epoch_rtts": p.epoch_ns / rtt_ns if rtt_ns else None,
            "spared": p.spared,
            "idle_byte_s": p.idle_byte_s,
            "qps_mean": p.qps_mean,
            "qps_peak": p.qps_peak,
            "bytes_mean": p.bytes_mean,
            "bytes_peak": p.bytes_peak,
        }

    begin, finish = bursts.window() if len(bursts) else (0, 0)
    return {
        "bursts": len(bursts),
        "qps": bursts.qps,
        "nics": bursts.nics,
        "gaps": int(bursts.gaps().size),
        "window_us": (finish - begin) / 1000,
        "base_rtt_us": rtt_ns / 1000 if rtt_ns else None,
        "miss": miss,
        "suggested": point(found["suggested"]),
        "knee": point(found["knee"]),
        "default": point(found["default"]),
        "epochs": [point(p) for p in found["table"]],
    }


# ---- picture ----


def mark(axis, found, value, place):
    """Points for the epochs that the text names, and a legend."""
    for name, colour in (("suggested", "#009e73"), ("knee", "#e69f00"), ("default", "#6e6e6e")):
        point = found[name]
        axis.plot(point.epoch_ns / 1000, value(point), "o", color=colour, label=name, zorder=3)
    axis.legend(frameon=False, loc=place)


def draw(bursts, found, path):
    """The curves over the epoch, spans against durations, and gaps."""
    # Drawing takes a second to load, and not every run wants it.
    import eunomia_figures as figures
    import matplotlib.pyplot as plt
    from matplotlib.colors import LogNorm

    with plt.rc_context(figures.RC):
        figure, axes = plt.subplots(1, 4, figsize=(15, 4.1), constrained_layout=True)
        at = [point.epoch_ns / 1000 for point in found["curve"]]
        spared, held, joint, gaps = axes
        spared.plot(at, [100 * point.spared for point in found["curve"]], color="#0072b2")
        mark(spared, found, lambda point: 100 * point.spared, "lower right")
        spared.set(title="Rentals spared", ylabel="of those that any epoch could spare (%)")
        held.plot(at, [point.bytes_mean for point in found["curve"]], color="#d55e00")
        mark(held, found, lambda point: point.bytes_mean, "upper left")
        held.set(title="Metadata held", ylabel="bytes a NIC, mean")
        for axis in (spared, held):
            axis.set(xscale="log", xlabel="idle epoch (\u00b5s)")
            axis.set_ylim(bottom=0)
        length = np.maximum(bursts.end - bursts.start, 1) / 1000
        whole = np.unique(np.append(np.round(log_bins(bursts.span)), bursts.span.max() + 1))
        bins = log_bins(length), whole - 0.5
        counts = joint.hist2d(length, bursts.span, bins=bins, norm=LogNorm(), cmap="viridis")
        figure.colorbar(counts[3], ax=joint, label="bursts")
        joint.set(title="Bursts", xlabel="length (\u00b5s)", ylabel="longest span (PSNs)")
        joint.set(xscale="log", yscale="log")
        between = np.maximum(bursts.gaps(), 1) / 1000
        gaps.hist(between, bins=log_bins(between), color="#56b4e9")
        gaps.axvline(DEFAULT_NS / 1000, color="#6e6e6e", linestyle=":")
        gaps.set(title="In order between bursts", xlabel="gap (\u00b5s)", ylabel="gaps")
        gaps.set(xscale="log")
        save(figure, path, figures.DPI)
        plt.close(figure)


def log_bins(values):
    low, high = float(values.min()), float(values.max())
    return np.geomspace(low * 0.9, high * 1.1, 41)


def save(figure, path, dpi):
    try:
        figure.savefig(path, dpi=dpi, format="png", metadata={"Software": None})
    except OSError as error:
        raise ResultError(f"--plot: {path}: {error.strerror}") from error


# ---- command ----


def share(text):
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        raise ResultError(f"--miss: expected a number from 0 to below 1, found {text!r}")
    return value


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("result", metavar="RESULT", help="result folder, or a reorder.csv")
    parser.add_argument(
        "--miss",
        default="0.01",
        help="share of the rentals that any epoch could spare which the suggested one may miss, "
        "0 to below 1 (%(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    parser.add_argument("--plot", metavar="FILE.png", help="draw the curves and histograms, too")
    return parser.parse_args()


def base_rtt(config, path):
    """Base RTT of the run in ns, None where the summary does not say."""
    value = config.get("base_rtt_ps")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
        raise ResultError(
            f"{os.path.join(path, 'summary.json')}: 1: config.base_rtt_ps: "
            f"expected a number above 0, found {json.dumps(value)[:40]}"
        )
    return value / 1000


def main():
    options = parse()
    miss = share(options.miss)
    bursts, config = eunomia_bursts.read(options.result)
    rtt_ns = base_rtt(config, eunomia_bursts.paths(options.result)[1])
    found = calibrate(bursts, miss)
    if options.plot:
        if found["suggested"] is None:
            raise ResultError("--plot: no QP was reordered twice: there is nothing to draw")
        draw(bursts, found, options.plot)
    if options.json:
        print(json.dumps(as_json(bursts, found, miss, rtt_ns), indent=2))
        return 0
    if not len(bursts):
        print("No packet came out of order in this run.")
        return 0
    print("\n".join(describe(bursts, rtt_ns)))
    print()
    print("\n".join(table_lines(found["table"], rtt_ns)))
    print()
    print("\n".join(advice(bursts, found, miss, rtt_ns)))
    return 0


if __name__ == "__main__":
    eunomia_results.run_tool("calibrate_epoch.py", main)
