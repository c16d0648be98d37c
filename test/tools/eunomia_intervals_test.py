# SPDX-License-Identifier: GPL-2.0-only
"""Student's t against its density and printed tables, and the intervals by their coverage."""

import math
import random
import statistics

import pytest

from eunomia_intervals import changes, interval, t_cdf, t_quantile

# Two-sided 95 %, as every table of t prints them.
PRINTED = {
    1: 12.706,
    2: 4.303,
    3: 3.182,
    4: 2.776,
    5: 2.571,
    6: 2.447,
    7: 2.365,
    8: 2.306,
    9: 2.262,
    10: 2.228,
    15: 2.131,
    20: 2.086,
    29: 2.045,
    30: 2.042,
    60: 2.000,
    120: 1.980,
}


@pytest.mark.parametrize("freedom, value", PRINTED.items())
def test_quantiles_against_the_printed_table(freedom, value):
    assert round(t_quantile(0.975, freedom), 3) == value


def test_quantiles_with_a_closed_form():
    for share in (0.5, 0.75, 0.9, 0.975, 0.995):
        assert t_quantile(share, 1) == pytest.approx(math.tan(math.pi * (share - 0.5)), abs=1e-9)
        half = 2 * share - 1
        wanted = half * math.sqrt(2 / (1 - half**2))
        assert t_quantile(share, 2) == pytest.approx(wanted, abs=1e-9)


def density(t, freedom):
    scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)
    factor = math.exp(scale) / math.sqrt(freedom * math.pi)
    return factor * (1 + t * t / freedom) ** (-(freedom + 1) / 2)


def test_the_distribution_is_the_integral_of_its_density(seed):
    luck = random.Random(seed)
    for _ in range(60):
        freedom, end, steps = luck.randrange(1, 40), luck.uniform(0, 8), 2000
        width = end / steps
        ends = density(0, freedom) + density(end, freedom)
        inner = sum((4 if i % 2 else 2) * density(i * width, freedom) for i in range(1, steps))
        simpson = (ends + inner) * width / 3
        assert t_cdf(end, freedom) == pytest.approx(0.5 + simpson, abs=1e-8)


def test_intervals_cover_the_mean_in_95_of_100(seed):
    luck = random.Random(seed)
    for n in (2, 3, 5):
        trials, inside = 8000, 0
        for _ in range(trials):
            found = interval([luck.gauss(7, 2) for _ in range(n)])
            low, high = found.reach()
            inside += low <= 7 <= high
        # Five standard errors of a share of 0.95.
        assert inside / trials == pytest.approx(0.95, abs=5 * math.sqrt(0.95 * 0.05 / trials))


def test_an_interval_by_hand():
    found = interval([1, 2, None, 6])
    assert (found.mean, found.n) == (3, 3)
    error = statistics.stdev([1, 2, 6]) / math.sqrt(3)
    assert found.half == pytest.approx(4.3027 * error, rel=1e-4)
    assert found.reach() == (3 - found.half, 3 + found.half)


def test_few_observations():
    assert interval([]) is None and interval([None]) is None
    alone = interval([4.5])
    assert (alone.mean, alone.half, alone.n, alone.reach()) == (4.5, None, 1, (4.5, 4.5))
    assert interval([3, 3, 3]).half == 0


def test_changes_are_by_seed():
    new, old = {1: 2, 2: 9, 3: 5, 5: 1, 6: 0}, {1: 4, 2: 3, 3: 0, 4: 8, 6: 0, 5: None}
    assert changes(new, old) == ([-0.5, 2.0], [3, 6])
