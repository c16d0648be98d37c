# SPDX-License-Identifier: GPL-2.0-only
"""Means over the seeds with 95 % confidence intervals by Student's t.

A seed is one observation: flows of one simulation share its queues and are no independent sample.
"""

import math
from dataclasses import dataclass

CONFIDENCE = 0.95


def t_cdf(t, freedom):
    """P(T <= t) of Student's t with a whole number of degrees of freedom, from 1.

    The finite sums of Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.7.3 and
    26.7.4, in theta = atan(t / sqrt(freedom)).
    """
    theta = math.atan(t / math.sqrt(freedom))
    odd = freedom % 2
    term = math.cos(theta) if odd else 1.0
    total = 0.0
    for step in range(1, (freedom - 1) // 2 + 1 if odd else freedom // 2 + 1):
        total += term
        term *= math.cos(theta) ** 2 * (2 * step / (2 * step + 1) if odd else 1 - 1 / (2 * step))
    share = math.sin(theta) * total
    if odd:
        share = 2 / math.pi * (theta + share)
    return (1 + share) / 2


def t_quantile(share, freedom):
    """The t with P(T <= t) = share, 0.5 <= share < 1, by bisection."""
    low, high = 0.0, 1.0
    while t_cdf(high, freedom) < share:
        high *= 2
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return middle
        if t_cdf(middle, freedom) < share:
            low = middle
        else:
            high = middle


@dataclass(frozen=True)
class Interval:
    """A mean over `n` observations; `half` is half the interval's width, None from one alone."""

    mean: float
    half: float
    n: int

    def reach(self):
        """(low, high): the interval, or the mean alone."""
        half = self.half or 0.0
        return self.mean - half, self.mean + half


def interval(values):
    """The mean of the values that are not None, with its interval; None where there are none."""
    values = [value for value in values if value is not None]
    n = len(values)
    if n == 0:
        return None
    mean = math.fsum(values) / n
    if n == 1:
        return Interval(mean, None, 1)
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    half = t_quantile((1 + CONFIDENCE) / 2, n - 1) * math.sqrt(variance / n)
    return Interval(mean, half, n)


def changes(new, old):
    """Relative changes new / old - 1 of the seeds that both have, {seed: number} each.

    Result: (changes, seeds whose old value is 0, where a change has no meaning).
    """
    found, void = [], []
    for seed in sorted(set(new) & set(old)):
        if new[seed] is None or old[seed] is None:
            continue
        if old[seed] == 0:
            void.append(seed)
        else:
            found.append(new[seed] / old[seed] - 1)
    return found, void
