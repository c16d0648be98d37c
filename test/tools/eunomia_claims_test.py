# SPDX-License-Identifier: GPL-2.0-only
"""Verdicts on published figures, from made-up runs."""

import pytest

import eunomia_claims
from compare_schemes import NUMBERS, Comparison
from eunomia_claims import Change, change, claims_table, verdict, window_table
from eunomia_intervals import Interval


def cell(mean, half=None):
    return Change(Interval(mean, half, 3), [], None, 3)


def void(after):
    return Change(None, [1, 2], Interval(after, None, 2), 3)


MISSING = Change(None, [])


@pytest.mark.parametrize(
    "cells, said",
    [
        ([cell(-0.6, 0.05), cell(-0.9, 0.02)], "reached at 80 %"),
        ([cell(-0.9, 0.02), cell(0.5, 0.1)], "reached at 30 %"),
        ([cell(-0.85, 0), MISSING], "reached at 30 %"),
        ([cell(-0.86, 0.02), cell(-0.2, 0.1)], "reached at 30 %, not beyond doubt"),
        ([cell(-0.6, 0.1), cell(-0.2, 0.1)], "not reached"),
        ([cell(-0.6, 0.1), cell(0.4, 0.1)], "not reached; more at 80 %"),
        ([cell(-0.6), cell(-0.1)], "not reached"),
        ([cell(-0.6, 0.9), cell(0.1, 0.2)], "not reached: no difference shown"),
        ([cell(0, 0), cell(0, 0)], "not reached: no difference shown"),
        ([cell(0.3, 0.2), cell(0.1, 0.2)], "other direction"),
        ([cell(0.3), MISSING], "other direction"),
        ([void(0), MISSING], "no base: 0 with both"),
        ([void(3), void(0)], "other direction"),
        ([void(3), cell(-0.99, 0)], "reached at 80 %"),
        ([void(3), cell(-0.3, 0.1)], "not reached; more at 30 %"),
        ([MISSING, MISSING], "not measured"),
    ],
)
def test_verdict(cells, said):
    assert verdict(-0.85, dict(zip(("30", "80"), cells))) == said


def comparison(figures, loads=("30", "80"), seeds=(1, 2, 3)):
    """A Comparison whose rows have 1 everywhere but for figures(scheme, load, seed)."""
    schemes = ("ecmp+gbn", "conweave+gbn", "spray+eunomia", "ecmp+gbn/bdp", "spray+eunomia/bdp")
    return Comparison(
        [
            {
                **dict.fromkeys(NUMBERS, 1),
                "scheme": scheme,
                "load_pct": load,
                "seed": seed,
                "failed": "",
                **figures(scheme, load, seed),
            }
            for load in loads
            for scheme in schemes
            for seed in seeds
        ]
    )


def test_seeds_without_a_base_are_left_out_and_told_of():
    pauses = {1: (10, 1), 2: (0, 4), 3: (20, 10)}
    told = comparison(
        lambda scheme, load, seed: {
            "pauses": pauses[seed][scheme == "spray+eunomia"] if load == "80" else 0
        }
    )
    found = change(told, "80", "spray+eunomia", "ecmp+gbn", "pauses")
    assert found.found.mean == pytest.approx((-0.9 - 0.5) / 2) and found.found.n == 2
    assert (found.void, found.after.mean) == ([2], 4)
    assert found.text().startswith("\u221270 % ±") and found.text().endswith(", n=2")
    table = claims_table(told, "2ms")
    assert (
        "No PFC pause with ecmp+gbn, so no change: 30 % (3 of 3 seeds, spray+eunomia has 0), "
        "80 % (1 of 3 seeds, spray+eunomia has 4)." in table.notes
    )


def test_more_pauses_where_there_were_none():
    told = comparison(lambda scheme, *_: {"pauses": 12 if scheme == "spray+eunomia" else 0})
    (row,) = [row for row in claims_table(told, "2ms").rows if row[0] == "PFC pauses"]
    assert row[3:] == ["0 to 12 ±0", "0 to 12 ±0", "other direction"]


@pytest.mark.parametrize(
    "ours, said", [(4.0, "reached"), (5.0, "reached"), (5.5, "not reached: more at 80 %")]
)
def test_the_load_of_ordering(ours, said):
    def figures(scheme, load, seed):
        mine = ours if load == "80" else ours / 2
        return {
            "ordering_pct": mine,
            "control_pct": 6 + seed + (mine if scheme == "spray+eunomia" else 0),
        }

    feedback, extra = claims_table(comparison(figures), "2ms").rows[-2:]
    assert feedback[4] == extra[4] == f"{ours:.2f} ±0.00"
    assert feedback[-1] == extra[-1] == said


def test_every_claim_is_a_row():
    table = claims_table(comparison(lambda *_: {}), "3ms")
    assert len(table.rows) == len(eunomia_claims.CLAIMS) + 2
    assert all(len(row) == len(table.heads) for row in table.rows)
    assert [row[2] for row in table.rows[:2]] == ["up to \u221285 %", "up to \u221291 %"]
    assert any("3ms of arrivals" in note for note in table.notes)


def test_unfinished_flows_of_what_is_compared_are_told_of():
    def figures(scheme, load, _):
        left = (scheme, load) == ("ecmp+gbn", "80")
        return {"flows": 10, "flows_done": 9 if left else 10}

    notes = claims_table(comparison(figures), "2ms").notes
    assert notes[-1].startswith("At 80 %: * ecmp+gbn: 3 of 30 flows did not finish")


def test_window_or_ordering():
    factors = {"ecmp+gbn": 8, "ecmp+gbn/bdp": 4, "spray+eunomia": 3, "spray+eunomia/bdp": 2}
    told = comparison(lambda scheme, load, seed: {"all_mean": seed * factors.get(scheme, 9)})
    rows = [row for row in window_table(told).rows if row[1] == "mean"]
    assert [row[2] for row in rows] == [
        "\u221250 % ±0",
        "\u221250 % ±0",
        "\u221262 % ±0",
        "\u221233 % ±0",
    ]
    told.schemes = ["ecmp+gbn"]
    assert window_table(told) is None
