# SPDX-License-Identifier: GPL-2.0-only
"""The five pictures of a comparison, drawn from loaded results.

A scheme has the same colour and line in every picture (Okabe and Ito's palette, which colour-blind
readers can tell apart; plain ECMP, the baseline, is grey), and its name stands at its line.
"""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

DPI = 160
WIDTH_IN = 10.0
HEIGHT_IN = 4.1
SIZE_BINS = 20  # bins of equally many flows, as the HPCC and ConWeave evaluations use
MAX_POINTS = 250  # of a time series; a panel cannot show more apart

INK = "#222222"
FAINT = "#8a8a8a"
GRID = "#e4e4e4"
STEPS = [1, 2, 2.5, 5, 10]  # of round axis numbers

STYLES = {
    "ecmp+gbn": ("#6e6e6e", "-"),
    "conweave+gbn": ("#e69f00", "-"),
    "ecmp+irn": ("#009e73", "-"),
    "spray+gbn": ("#d55e00", "-"),
    "spray+eunomia": ("#0072b2", "-"),
    "spray+eunomia-write": ("#56b4e9", (0, (4, 1.5))),
}
SPARE_STYLES = [
    (colour, dash)
    for dash in ("-", (0, (4, 1.5)), (0, (1, 1.2)))
    for colour in ("#cc79a7", "#0072b2", "#d55e00", "#009e73", "#e69f00", "#56b4e9", "#6e6e6e")
]

RC = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 9,
    "axes.labelsize": 9,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "text.color": INK,
    "lines.linewidth": 1.8,
    "figure.facecolor": "white",
    "svg.hashsalt": "eunomia",
}


def styles(labels):
    """{label: (colour, dash)}; unknown schemes take the spare ones in order."""
    taken = {STYLES[label] for label in labels if label in STYLES}
    free = [look for look in SPARE_STYLES if look not in taken]
    spare = iter(free * (1 + len(labels) // len(free)))
    return {label: STYLES[label] if label in STYLES else next(spare) for label in labels}


def darker(colour):
    """A shade of a line's colour that reads well as text on white."""
    rgb = np.array(matplotlib.colors.to_rgb(colour))
    luminance = float(rgb @ (0.2126, 0.7152, 0.0722))
    return tuple(rgb * min(1.0, 0.36 / max(luminance, 1e-3)))


def short(label, length=22):
    return label if len(label) <= length else label[: length - 1] + "\u2026"


# ---- pieces of a picture ----


def _panels(count, left=0.068, right=0.845, top_in=0.38, wspace=0.3):
    figure, axes = plt.subplots(1, count, figsize=(WIDTH_IN, HEIGHT_IN), squeeze=False)
    figure.subplots_adjust(
        left=left, right=right, top=1 - top_in / HEIGHT_IN, bottom=0.56 / HEIGHT_IN, wspace=wspace
    )
    return figure, axes[0]


def _empty(axis, text):
    """Says in the middle of a panel why it is empty."""
    axis.grid(False)
    axis.set_xticks([])
    axis.set_yticks([])
    axis.set_xlabel("")
    axis.set_ylabel("")
    for spine in axis.spines.values():
        spine.set_visible(False)
    axis.text(0.5, 0.5, text, transform=axis.transAxes, ha="center", va="center", color=FAINT)


def _label_ends(axis, ends, looks):
    """Names the lines at the right edge of a panel; `ends` is [(label, x, y)] in data units.

    Names keep the order of their lines and a line's height of distance, and a thin line leads to
    what they name.
    """
    if not ends:
        return
    axis.figure.canvas.draw()
    height = axis.get_window_extent().height
    pixels = [axis.transData.transform((x, y)) for _, x, y in ends]
    fraction = axis.transAxes.inverted().transform(pixels)
    gap = 1.45 * 8.5 / 72 * axis.figure.dpi / height
    order = np.argsort(fraction[:, 1], kind="stable")
    places = _apart(np.clip(fraction[order, 1], 0, 1), gap)
    for place, index in zip(places, order):
        label = ends[index][0]
        colour = looks[label][0]
        axis.annotate(
            short(label),
            xy=(min(fraction[index, 0], 1.0), fraction[index, 1]),
            xytext=(1.045, place),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            fontsize=8.5,
            color=darker(colour),
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.7,
                "relpos": (0, 0.5),
                "shrinkA": 1,
                "shrinkB": 0,
            },
        )


def _apart(wanted, gap):
    """Ascending positions moved as little as needed to be `gap` apart."""
    groups = []  # [sum of wanted minus offsets, members]
    for value in wanted:
        groups.append([value, 1])
        while len(groups) > 1:
            (sum_a, n_a), (sum_b, n_b) = groups[-2:]
            if sum_a / n_a + gap * (n_a + n_b) / 2 <= sum_b / n_b:
                break
            groups[-2:] = [[sum_a + sum_b, n_a + n_b]]
    places = []
    for total, members in groups:
        middle = total / members
        places += [middle + gap * (i - (members - 1) / 2) for i in range(members)]
    return places


def _compact(value, _=None, digits=3):
    """4000 as "4k", 2e6 as "2M"."""
    for factor, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor * 0.9995:
            return f"{float(f'{value / factor:.{digits}g}'):g}{unit}"
    return f"{float(f'{value:.{digits}g}'):g}"


def _log_slowdowns(axis, which, top):
    """A logarithmic slowdown axis from 1 with plain numbers."""
    ruler = axis.xaxis if which == "x" else axis.yaxis
    (axis.set_xscale if which == "x" else axis.set_yscale)("log")
    (axis.set_xlim if which == "x" else axis.set_ylim)(
        0.96 if which == "y" else 1, max(top, 2) * 1.1
    )
    if top < 4:
        ruler.set_major_locator(FixedLocator([1, 1.2, 1.5, 2, 2.5, 3, 4]))
    else:
        ruler.set_major_locator(LogLocator(subs=(1, 2, 5) if top < 60 else (1, 3)))
    ruler.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ruler.set_minor_locator(NullLocator())
    ruler.set_minor_formatter(NullFormatter())


def _origin(result):
    """Start of the first flow in ns: time 0 of the pictures."""
    starts = result.flows["start_ns"]
    return float(starts.min()) if starts.size else 0.0


def _horizon(results):
    """(length, factor, unit) of the time axes: to when 99.9 % of the finished flows are done."""
    length = 0.0
    for result in results:
        done = result.done
        if done.any():
            ends = result.flows["start_ns"][done] + result.flows["fct_ns"][done] - _origin(result)
            length = max(length, float(np.quantile(ends, 0.999)))
    length = length or 1e3
    return (length, 1e-6, "ms") if length >= 1e6 else (length, 1e-3, "\u00b5s")


def _thin(time, value, length, reduce):
    """At most MAX_POINTS points of a series within `length`; `reduce` merges neighbours."""
    inside = (time >= 0) & (time <= length)
    time, value = time[inside], value[inside]
    step = -(-time.size // MAX_POINTS)
    if step <= 1:
        return time, value
    starts = np.arange(0, time.size, step)
    merged = np.maximum.reduceat(value, starts)
    if reduce == "mean":
        merged = np.add.reduceat(value, starts) / np.diff(np.append(starts, time.size))
    return time[starts], merged


def _time_panel(axis, results, looks, key, horizon, scale=1.0, reduce="max"):
    """Lines of one time series of every scheme; False where none has it."""
    length, factor, unit = horizon
    shown, top = False, 0.0
    for result in results:
        if key not in result.series:
            continue
        time, value = result.series[key]
        time, value = _thin(time - _origin(result), value * scale, length, reduce)
        if not time.size:
            continue
        colour, dash = looks[result.label]
        axis.plot(time * factor, value, color=colour, linestyle=dash, linewidth=1.3)
        shown, top = True, max(top, float(value.max()))
    axis.set_xlim(0, length * factor)
    axis.set_ylim(0, top * 1.06 or 1)
    axis.set_xlabel(f"time since the first flow ({unit})")
    axis.yaxis.set_major_formatter(FuncFormatter(_compact))
    axis.yaxis.set_major_locator(MaxNLocator(6, steps=STEPS))
    return shown


def _named_panels(count, results, looks, wspace):
    """Panels under a legend of all schemes, for pictures whose lines end together."""
    labels = [short(result.label) for result in results]
    columns = max(1, min(len(labels), int(130 / (max(map(len, labels)) + 8))))
    rows = -(-len(labels) // columns)
    figure, axes = _panels(count, right=0.985, top_in=0.46 + 0.22 * rows, wspace=wspace)
    handles = [
        plt.Line2D([], [], color=looks[result.label][0], linestyle=looks[result.label][1])
        for result in results
    ]
    figure.legend(
        handles,
        labels,
        loc="upper left",
        bbox_to_anchor=(0.058, 1.0),
        ncol=columns,
        frameon=False,
        fontsize=8.5,
        handlelength=1.8,
        columnspacing=1.6,
        labelcolor=[darker(looks[result.label][0]) for result in results],
    )
    return figure, axes


# ---- the pictures ----


def fct_cdf(results, looks):
    """Slowdown: its distribution, and its tail by percentile."""
    figure, (left, right) = _panels(2)
    levels = 1 - np.logspace(np.log10(0.5), -3, 200)
    ends, top, tail = [], 2.0, 2.0
    for result in results:
        values = np.sort(result.slowdowns())
        if not values.size:
            continue
        colour, dash = looks[result.label]
        shares = np.arange(1, values.size + 1) / values.size * 100
        left.plot(values, shares, color=colour, linestyle=dash, drawstyle="steps-post")
        known = levels[levels <= 1 - 1 / values.size] if values.size > 1 else levels[:1]
        known = known if known.size else levels[:1]
        quantiles = np.quantile(values, known)
        right.plot(-np.log10(1 - known), quantiles, color=colour, linestyle=dash)
        ends.append((result.label, -np.log10(1 - known[-1]), quantiles[-1]))
        top, tail = max(top, float(values[-1])), max(tail, float(quantiles[-1]))
    left.set_title("Flow completion time")
    right.set_title("Its tail")
    if not ends:
        _empty(left, "no flow finished")
        _empty(right, "no flow finished")
        return figure
    _log_slowdowns(left, "x", top)
    left.set_ylim(0, 101)
    left.set_xlabel("slowdown: FCT over the FCT of an idle network")
    left.set_ylabel("flows at most this slow (%)")
    _log_slowdowns(right, "y", tail)
    ticks = (0.5, 0.9, 0.99, 0.999)
    right.set_xticks([-np.log10(1 - tick) for tick in ticks])
    right.set_xticklabels([f"{100 * tick:g}" for tick in ticks])
    right.set_xlim(-np.log10(0.5), 3)
    right.set_xlabel("percentile of flows")
    right.set_ylabel("slowdown")
    _label_ends(right, ends, looks)
    return figure


def size_bins(results):
    """Upper size bounds of at most SIZE_BINS bins that hold equally many flows."""
    sizes = np.concatenate([result.flows["bytes"] for result in results])
    if not sizes.size:
        return sizes
    return np.unique(np.quantile(sizes, np.arange(1, SIZE_BINS + 1) / SIZE_BINS, method="higher"))


def by_size(result, bounds, reduce):
    """`reduce` of the slowdowns in each bin of sizes; NaN for an empty one."""
    sizes, values = result.flows["bytes"][result.done], result.slowdowns()
    place = np.searchsorted(bounds, sizes)
    return np.array(
        [reduce(values[place == i]) if (place == i).any() else np.nan for i in range(bounds.size)]
    )


def fct_by_size(results, looks):
    """Mean and 99th-percentile slowdown over flow size."""
    figure, axes = _panels(2)
    bounds = size_bins(results)
    parts = (
        ("Mean slowdown by flow size", np.mean),
        ("99th percentile by flow size", lambda values: np.quantile(values, 0.99)),
    )
    for axis, (title, reduce) in zip(axes, parts):
        axis.set_title(title)
        ends, top = [], 2.0
        for result in results:
            values = by_size(result, bounds, reduce)
            known = np.flatnonzero(np.isfinite(values))
            if not known.size:
                continue
            colour, dash = looks[result.label]
            axis.plot(
                known + 0.5, values[known], color=colour, linestyle=dash, marker="o", markersize=3
            )
            ends.append((result.label, known[-1] + 0.5, values[known[-1]]))
            top = max(top, float(np.nanmax(values)))
        if not ends:
            _empty(axis, "no flow finished")
            continue
        _log_slowdowns(axis, "y", top)
        every = max(1, -(-bounds.size // 7))
        marks = list(range(bounds.size - 1, -1, -every))[::-1]
        axis.set_xticks([mark + 0.5 for mark in marks])
        axis.set_xticklabels([_compact(bounds[mark], digits=2) for mark in marks])
        axis.set_xlim(0, bounds.size)
        axis.grid(False, axis="x")
        axis.set_xlabel(
            f"flow size up to (bytes); a point is {100 / bounds.size:.0f} % of the flows"
        )
        axis.set_ylabel("slowdown")
        if axis is axes[-1]:
            _label_ends(axis, ends, looks)
    return figure


def _bars(axis, results, looks, values, title, unit, names):
    """One horizontal bar a scheme with its value at the end."""
    axis.set_title(title)
    place = np.arange(len(results))[::-1]
    known = [0 if value is None else value for value in values]
    axis.barh(place, known, height=0.62, color=[looks[r.label][0] for r in results])
    top = max(known) or 1
    for y, value in zip(place, values):
        text = "not recorded" if value is None else f"{value:,.0f}"
        axis.text((value or 0) + top * 0.02, y, text, va="center", fontsize=8.5)
    axis.set_xlim(0, top * 1.3)
    axis.set_ylim(-0.6, len(results) - 0.4)
    axis.set_yticks(place if names else [])
    if names:
        axis.set_yticklabels([short(r.label) for r in results])
        for tick, r in zip(axis.get_yticklabels(), results):
            tick.set_color(darker(looks[r.label][0]))
    axis.tick_params(axis="y", length=0)
    axis.grid(False, axis="y")
    axis.spines["left"].set_visible(False)
    axis.xaxis.set_major_locator(MaxNLocator(4, steps=STEPS))
    axis.xaxis.set_major_formatter(FuncFormatter(_compact))
    axis.set_xlabel(unit)


def pfc(results, looks):
    """PFC pauses and paused time by scheme, and pauses over time."""
    figure, axes = _panels(3, left=0.16, wspace=0.22)
    count = [result.number("pfc.pauses") for result in results]
    paused = [result.number("pfc.paused_us") for result in results]
    _bars(axes[0], results, looks, count, "PFC pauses", "XOFF frames sent", True)
    _bars(axes[1], results, looks, paused, "Time paused", "\u00b5s, all ports added up", False)
    axis = axes[2]
    axis.set_title("Pauses so far")
    length, factor, unit = _horizon(results)
    recorded = [result for result in results if result.pauses is not None]
    if not recorded:
        _empty(axis, "pfc.csv not recorded")
        return figure
    ends, top = [], 0
    for result in recorded:
        times = np.sort(result.pauses["time_ns"] - _origin(result))
        length = max(length, float(times[-1]) if times.size else 0.0)
    for result in recorded:
        times = np.sort(result.pauses["time_ns"] - _origin(result))
        colour, dash = looks[result.label]
        x = np.concatenate(([0.0], times, [length])) * factor
        y = np.concatenate((np.arange(times.size + 1), [times.size]))
        axis.plot(x, y, color=colour, linestyle=dash, drawstyle="steps-post")
        ends.append((result.label, length * factor, times.size))
        top = max(top, times.size)
    if not top:
        _empty(axis, "no pause in any run")
        return figure
    axis.set_xlim(0, length * factor)
    axis.set_ylim(0, top * 1.06)
    axis.yaxis.set_major_formatter(FuncFormatter(_compact))
    axis.set_xlabel(f"time since the first flow ({unit})")
    _label_ends(axis, ends, looks)
    return figure


def pool(results, looks):
    """Block pool of the ordering layer over time, and how far flows were reordered."""
    figure, (left, right) = _named_panels(2, results, looks, wspace=0.2)
    left.set_title("Reorder pool in use, fullest NIC")
    left.set_ylabel("2-byte blocks")
    using = [r for r in results if r.number("pool.blocks_peak") or _sampled(r, "pool_blocks")]
    if not _time_panel(left, using, looks, ("pool_blocks", "max"), _horizon(results)):
        _empty(left, "pool not used, or not sampled")
    right.set_title("Reordering of a flow")
    widest, rarest = 1.0, 100.0
    for result in results:
        spans = np.sort(result.flows["max_reorder_span"])
        values, first = np.unique(spans, return_index=True)
        share = (spans.size - first) / max(spans.size, 1) * 100
        values, share = values[values > 0], share[values > 0]
        if values.size:
            colour, dash = looks[result.label]
            right.plot(values, share, color=colour, linestyle=dash, drawstyle="steps-pre")
            widest, rarest = max(widest, values[-1]), min(rarest, share[-1])
    if rarest == 100.0:
        _empty(right, "no packet out of order")
        return figure
    right.set_xscale("log")
    right.set_yscale("log")
    right.set_xlim(1, max(widest, 4) * 1.15)
    right.set_ylim(min(rarest * 0.8, 50), 110)
    right.xaxis.set_major_formatter(FuncFormatter(_compact))
    right.xaxis.set_minor_formatter(NullFormatter())
    right.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    right.yaxis.set_minor_formatter(NullFormatter())
    right.set_xlabel("longest reorder span of the flow, at least (PSNs)")
    right.set_ylabel("flows (%)")
    return figure


def _sampled(result, metric):
    points = result.series.get((metric, "max"))
    return points is not None and bool(np.any(points[1] > 0))


def queue(results, looks):
    """Switch queues over time, and how evenly leaves load their uplinks."""
    figure, axes = _named_panels(3, results, looks, wspace=0.26)
    horizon = _horizon(results)
    parts = (("Deepest switch queue", "max", "max"), ("Mean switch queue", "mean", "mean"))
    for axis, (title, where, reduce) in zip(axes, parts):
        axis.set_title(title)
        axis.set_ylabel("KB")
        key = ("queue_bytes", where)
        if len(results) == 1 and where == "max":
            _busiest_ports(axis, results[0], horizon)
        if not _time_panel(axis, results, looks, key, horizon, 1e-3, reduce):
            _empty(axis, "queues not sampled")
        elif _far_apart(results, key):
            axis.set_yscale("symlog", linthresh=1)
            axis.set_ylim(0, axis.get_ylim()[1] * 1.5)
            axis.yaxis.set_major_formatter(FuncFormatter(_compact))
    axis = axes[2]
    axis.set_title("Uplink imbalance")
    axis.set_ylabel("busiest uplink / mean of its leaf")
    _, factor, unit = horizon
    length = _arrivals(results)
    shown, top = False, 1.5
    for result in results:
        load = result.uplink_load()
        if load is None:
            continue
        time, busiest, total = load
        some = total > 0
        time, value = time[some] - _origin(result), busiest[some] / total[some]
        time, value = _thin(time, value, length, "mean")
        if not time.size:
            continue
        colour, dash = looks[result.label]
        axis.plot(time * factor, value, color=colour, linestyle=dash, linewidth=1.3)
        shown, top = True, max(top, float(np.quantile(value, 0.98)))
    if not shown:
        _empty(axis, "uplinks not sampled")
    else:
        axis.set_xlim(0, length * factor)
        axis.set_ylim(1, top * 1.1)
        axis.set_xlabel(f"time, while flows start ({unit})")
    return figure


def _far_apart(results, key):
    """Whether one scheme's peak would press another's flat on a linear axis."""
    peaks = [r.series[key][1].max() for r in results if key in r.series and r.series[key][1].size]
    return max(peaks) > 6 * max(min(peaks), 1)


def _arrivals(results):
    """Time in ns from the first to the last start of a flow; afterwards the load fades out."""
    spans = [np.ptp(result.flows["start_ns"]) for result in results if result.done.size]
    return float(max(spans, default=0)) or _horizon(results)[0]


def _busiest_ports(axis, result, horizon):
    """The busiest single ports of one run as faint dots; a port is sampled only while it is one."""
    length, factor, _ = horizon
    for where in result.wheres("queue_bytes"):
        if where in ("max", "mean"):
            continue
        time, value = result.series[("queue_bytes", where)]
        time = time - _origin(result)
        inside = (time >= 0) & (time <= length)
        axis.plot(
            time[inside] * factor,
            value[inside] * 1e-3,
            ".",
            color="#bdbdbd",
            markersize=2,
            zorder=1.5,
        )


FIGURES = {
    "fct_cdf.png": fct_cdf,
    "fct_by_size.png": fct_by_size,
    "pfc.png": pfc,
    "pool.png": pool,
    "queue.png": queue,
}


def draw(results, folder):
    """Draws every picture into `folder`; returns their file names."""
    looks = styles([result.label for result in results])
    with matplotlib.rc_context(RC):
        for name, make in FIGURES.items():
            figure = make(results, looks)
            figure.savefig(f"{folder}/{name}", dpi=DPI, metadata={"Software": None})
            plt.close(figure)
    return list(FIGURES)
