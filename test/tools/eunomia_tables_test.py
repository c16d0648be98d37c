# SPDX-License-Identifier: GPL-2.0-only
"""Numbers with intervals as text, and one table three ways."""

import pytest

from eunomia_intervals import Interval
from eunomia_tables import Table, count, decimal, signed


@pytest.mark.parametrize(
    "mean, half, said",
    [
        (1.234, 0.056, "1.23 ±0.06"),
        (123.45, 6.78, "123.5 ±6.8"),
        (-0.014, 0.04, "\u22120.01 ±0.04"),
        (1.5, None, "1.50"),
        (1.5, 0.0, "1.50 ±0.00"),
    ],
)
def test_decimal(mean, half, said):
    assert decimal(Interval(mean, half, 3)) == said


@pytest.mark.parametrize(
    "mean, half, said",
    [
        (0.0, 0.0, "0 ±0"),
        (0.0, None, "0"),
        (17.0, 2.0, "17 ±2"),
        (17.0, 2.5, "17.0 ±2.5"),
        (1 / 3, 1.4343, "0.3 ±1.4"),
        (9204.3, 310.2, "9,204 ±310"),
        (99999.0, 12.0, "99,999 ±12"),
        (123456.0, 7890.0, "123k ±8k"),
        (12.34e6, 0.56e6, "12.3M ±0.6M"),
    ],
)
def test_count(mean, half, said):
    assert count(Interval(mean, half, 3)) == said


@pytest.mark.parametrize(
    "mean, half, said",
    [
        (-0.29, 0.05, "\u221229 % ±5"),
        (0.123, 0.02, "+12 % ±2"),
        (-0.047, 0.008, "\u22124.7 % ±0.8"),
        (-0.998, 0.001, "\u221299.8 % ±0.1"),
        (-0.0001, 0.02, "0.0 % ±2.0"),
        (12.5, None, "+1,250 %"),
    ],
)
def test_signed(mean, half, said):
    assert signed(Interval(mean, half, 3)) == said


def test_nothing_is_a_dash():
    assert [show(None) for show in (decimal, count, signed)] == ["-"] * 3


TABLE = Table(
    "Title",
    ["scheme", "mean"],
    [["a|b", "1.20 ±0.05"], ["<long>", "12.00"], ["c", "-"]],
    ["A note & more."],
)


def test_text_is_aligned_at_the_sign():
    assert TABLE.text() == [
        "Title",
        "-------------------",
        "scheme         mean",
        "-------------------",
        "a|b      1.20 ±0.05",
        "<long>  12.00",
        "c           -",
        "A note & more.",
    ]


def test_markdown():
    assert TABLE.markdown() == [
        "### Title",
        "",
        "| scheme | mean |",
        "| :-- | --: |",
        "| a\\|b | 1.20 ±0.05 |",
        "| <long> | 12.00 |",
        "| c | - |",
        "",
        "A note & more.",
    ]


def test_html():
    text = TABLE.html()
    assert '<tr><th scope=row class="words">a|b</th>' in text
    assert '<td>1.20 <span class="change">±0.05</span></td>' in text
    assert "&lt;long&gt;" in text and '<td>12.00 <span class="change"></span></td>' in text
    assert "A note &amp; more." in text
