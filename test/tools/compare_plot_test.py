# SPDX-License-Identifier: GPL-2.0-only
"""What the picture of a comparison shows: every mean, as a mark or as a figure."""

import random

import pytest
from matplotlib import pyplot as plt

import compare_plot
from compare_schemes import NUMBERS, Comparison


@pytest.fixture
def drawn():
    """drawn({(scheme, load): [slowdown by seed]}): (axes, figure); None is a run that failed."""
    figures = []

    def make(values):
        rows = [
            {
                **dict.fromkeys(NUMBERS, 1),
                "scheme": scheme,
                "load_pct": load,
                "seed": seed,
                "failed": "" if value else "exit status 1: no",
                "all_mean": value,
                "all_p99": value and 3 * value,
            }
            for (scheme, load), group in values.items()
            for seed, value in enumerate(group)
        ]
        figures.append(compare_plot.draw(Comparison(rows)))
        return figures[-1].axes

    yield make
    for figure in figures:
        plt.close(figure)


def marks(axis):
    return [line.get_xdata()[0] for line in axis.lines if line.get_marker() not in ("None", "")]


def texts(axis):
    return [text.get_text() for text in axis.texts]


def test_schemes_are_sorted_by_the_mean_at_the_highest_load(drawn):
    axes = drawn(
        {
            ("a", "30"): [1.1],
            ("b", "30"): [2.0],
            ("c", "30"): [None],
            ("a", "80"): [3.0],
            ("b", "80"): [2.5],
            ("c", "80"): [None],
        }
    )
    assert [label.get_text() for label in axes[0].get_yticklabels()] == ["b", "a", "c"]
    assert sorted(marks(axes[0])) == [1.1, 2.0, 2.5, 3.0]
    assert sorted(marks(axes[1])) == pytest.approx([3.3, 6, 7.5, 9])
    assert texts(axes[0]) == texts(axes[1]) == ["no figures"]
    assert axes[0].texts[0].get_position()[1] == 2


def test_what_is_far_off_is_printed_and_does_not_squeeze_the_others(drawn):
    values = {(name, "50"): [1.2, 1.3] for name in "abcd"}
    axes = drawn({**values, ("e", "50"): [400, 420]})
    assert marks(axes[0]) == pytest.approx([1.25] * 4) and texts(axes[0]) == ["410"]
    assert axes[0].get_xlim()[1] < 3 and texts(axes[1]) == ["1,230"]
    assert axes[0].texts[0].get_position() == (1, 4)  # in its row, at the right edge


def test_every_mean_is_shown_once(drawn, seed):
    luck = random.Random(seed)
    for _ in range(15):
        loads = [str(load) for load in range(1, luck.randrange(2, 7))]
        values = {
            (f"s{scheme}", load): [
                luck.choice((None, 1 + luck.lognormvariate(0, 2)))
                for _ in range(luck.randrange(1, 4))
            ]
            for load in loads
            for scheme in range(luck.randrange(1, 16))
        }
        axis = drawn(values)[0]
        there = [group for group in values.values() if any(group)]
        printed = [text for text in texts(axis) if text != "no figures"]
        assert len(marks(axis)) + len(printed) == len(there)
        low, high = axis.get_xlim()
        assert all(low <= x <= high for line in axis.lines for x in line.get_xdata())
        assert all(low <= tick <= high for tick in axis.get_xticks())
