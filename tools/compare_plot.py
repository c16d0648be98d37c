# SPDX-License-Identifier: GPL-2.0-only
"""The picture of a comparison: a row a scheme, a mark a load with its confidence interval."""

import matplotlib.pyplot as plt
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from eunomia_figures import FAINT, darker, short

# Of Okabe and Ito, and shapes: told apart without colour, too.
LOOKS = (("#56b4e9", "o"), ("#0072b2", "s"), ("#d55e00", "D"), ("#009e73", "^"), ("#e69f00", "v"))
LEFT = 0.97  # of the axis; an interval that reaches below 1 is cut, as no slowdown is there
OUTLYING = 5  # times the median: means beyond that are printed, not drawn
LABEL_SHARE = 0.082  # of the axis, for one such figure
ROW_IN = 0.36
NOTE = "mean over the seeds, 95 % interval; figures at the right: means beyond the axis"
TICKS = (1, 1.1, 1.2, 1.5, 2, 3, 4, 6, 8, 10, 15, 20, 30, 50, 100, 200, 500, 1000, 2000, 5000)
PANELS = (("Mean slowdown", "all_mean"), ("99th percentile of the slowdown", "all_p99"))


def ranked(comparison):
    """Schemes by their mean slowdown at the highest load; those without one last."""

    def rank(scheme):
        found = comparison.interval(scheme, comparison.loads[-1], "all_mean")
        return found.mean if found else float("inf")

    return sorted(comparison.schemes, key=rank)


def _ticks(low, high):
    """Round numbers of TICKS within the range, not too close on an axis of logarithms."""
    found = []
    for tick in TICKS:
        if low <= tick <= high and (not found or tick / found[-1] > (high / low) ** 0.07):
            found.append(tick)
    return found


def _cells(comparison, schemes, figure):
    """(place of the load, row, Interval) of what there is."""
    for place, load in enumerate(comparison.loads):
        for row, scheme in enumerate(schemes):
            found = comparison.interval(scheme, load, figure)
            if found is not None:
                yield place, row, found


def _edge(cells):
    """Where the axis ends: one bad scheme must not squeeze the others, nor one wide interval."""
    means = sorted(found.mean for *_, found in cells)
    far = OUTLYING * means[len(means) // 2]
    drawn = [found for *_, found in cells if found.mean <= far]
    ends = [min(found.reach()[1], 2 * found.mean) for found in drawn]
    return max(1.2, *ends)


def _write(axis, x, row, text, **look):
    where = axis.get_yaxis_transform()  # x as a share of the axis
    axis.text(x, row, text, transform=where, va="center", fontsize=8, **look)


def _panel(axis, comparison, schemes, figure):
    cells = list(_cells(comparison, schemes, figure))
    count = len(comparison.loads)
    edge = 1.06 * (_edge(cells) if cells else 2)
    outlying = False
    count = len(comparison.loads)
    for place, row, found in cells:
        colour, marker = LOOKS[place % len(LOOKS)]
        if found.mean > edge:
            x = 1 - (count - 1 - place) * LABEL_SHARE
            said = f"{found.mean:,.{1 if found.mean < 100 else 0}f}"
            _write(axis, x, row, said, ha="right", color=darker(colour))
            outlying = True
            continue
        y = row + (place - (count - 1) / 2) * 0.6 / count
        ends = [min(max(end, LEFT), edge) for end in found.reach()]
        axis.plot(ends, [y, y], color=colour, linewidth=2.4, alpha=0.75, solid_capstyle="butt")
        axis.plot(
            found.mean, y, marker, color=colour, markersize=4.6, mec="white", mew=0.5, zorder=3
        )
    for row in set(range(len(schemes))) - {row for _, row, _ in cells}:
        _write(axis, 0.02, row, "no figures", color=FAINT)
    axis.set_xscale("log")
    drawn = 1 - LABEL_SHARE * (count + 0.2) if outlying else 1
    axis.set_xlim(LEFT, LEFT * (edge / LEFT) ** (1 / drawn))
    axis.xaxis.set_major_locator(FixedLocator(_ticks(LEFT, edge)))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))


def draw(comparison):
    """Means left, 99th percentiles right."""
    schemes = ranked(comparison)
    height = 1.12 + ROW_IN * len(schemes)
    figure, axes = plt.subplots(1, 2, figsize=(10, height), sharey=True)
    figure.subplots_adjust(
        left=0.19, right=0.985, top=1 - 0.62 / height, bottom=0.5 / height, wspace=0.06
    )
    for axis, (title, name) in zip(axes, PANELS):
        axis.set_title(title)
        _panel(axis, comparison, schemes, name)
        for row in range(1, len(schemes), 2):
            axis.axhspan(row - 0.5, row + 0.5, color="#f4f5f7", zorder=0, linewidth=0)
        axis.grid(False, axis="y")
        axis.tick_params(axis="y", length=0)
        axis.spines["left"].set_visible(False)
        axis.set_xlabel("FCT over the FCT of an idle network")
    axes[0].set_yticks(range(len(schemes)), [short(scheme, 24) for scheme in schemes])
    axes[0].set_ylim(len(schemes) - 0.5, -0.5)
    handles = [
        plt.Line2D([], [], color=colour, marker=marker, linewidth=2.4, markersize=5)
        for colour, marker in (LOOKS[i % len(LOOKS)] for i in range(len(comparison.loads)))
    ]
    figure.legend(
        handles,
        [f"{load} % load" for load in comparison.loads],
        loc="upper right",
        bbox_to_anchor=(0.99, 1.0),
        ncol=len(comparison.loads),
        frameon=False,
    )
    figure.text(
        0.012, 1 - 0.12 / height, NOTE, color=FAINT, va="top"
    )
    return figure
