# SPDX-License-Identifier: GPL-2.0-only
"""The size distributions in traces/cdf: their published means, and that the README lists them."""

import os
import re

import pytest

from conftest import ROOT

FOLDER = os.path.join(ROOT, "traces")

# Mean in bytes to the last whole byte, and points, as published with each distribution.
PUBLISHED = {
    "AliStorage2019": (40_870, 9),
    "Solar2022": (39_424, 8),
    "WebSearch": (1_711_250, 12),
    "FbHdp2015": (121_849, 461),
    "GoogleRPC2008": (2_968, 120),
}


def points_of(name):
    with open(os.path.join(FOLDER, "cdf", name + ".txt"), encoding="utf-8") as file:
        return [tuple(map(float, line.split())) for line in file]


@pytest.mark.parametrize("name", PUBLISHED)
def test_mean_and_shape(name):
    points = points_of(name)
    mean, count = PUBLISHED[name]
    assert len(points) == count
    assert points[0] == (0, 0) and points[-1][1] == 100
    assert points == sorted(points)
    sizes, shares = zip(*points)
    assert sorted(shares) == list(shares) and len(set(shares)) == count
    total = sum((a + b) / 2 * (q - p) for (a, p), (b, q) in zip(points, points[1:])) / 100
    assert abs(total - mean) < 0.5


def test_straight_lines_between_the_knots_would_raise_the_mean():
    points = points_of("FbHdp2015")
    knots = points[::10]
    assert len(knots) == 47
    fine, coarse = (
        sum((a + b) / 2 * (q - p) for (a, p), (b, q) in zip(line, line[1:])) / 100
        for line in (points, knots)
    )
    assert coarse / fine == pytest.approx(1.11, abs=0.01)


def test_the_readme_lists_every_file_with_its_mean():
    with open(os.path.join(FOLDER, "README.md"), encoding="utf-8") as file:
        text = file.read()
    listed = re.findall(r"^\| `(\w+)\.txt` \| (\d+) \| ([\d,.]+) \|", text, re.M)
    assert {name for name, *_ in listed} == set(PUBLISHED)
    assert {name + ".txt" for name in PUBLISHED} == set(os.listdir(os.path.join(FOLDER, "cdf")))
    for name, count, mean in listed:
        assert int(count) == PUBLISHED[name][1]
        assert round(float(mean.replace(",", ""))) == PUBLISHED[name][0]
    for path in os.listdir(os.path.join(FOLDER, "flows")):
        assert f"`{path}`" in text
