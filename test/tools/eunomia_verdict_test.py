# SPDX-License-Identifier: GPL-2.0-only
"""The verdict: who is called best, by how much, and which reasons the data allows."""

import numpy as np
import pytest

import eunomia_verdict
from eunomia_results import Result
from eunomia_verdict import change, judge


def made(label, mean, p99=2.0, unfinished=0, **figures):
    """A result with only the figures that the verdict reads."""
    done = np.array([True] * (10 - unfinished) + [False] * unfinished)
    summary = {"fct_slowdown": {"all": {"mean": mean, "p99": p99}}}
    for path, value in figures.items():
        place = summary
        *upper, last = path.split("__")
        for key in upper:
            place = place.setdefault(key, {})
        place[last] = value
    return Result("folder", label, {"bytes": np.ones(10)}, done, summary)


def with_uplinks(result, first, second):
    """Adds samples of two uplinks of one leaf."""
    times = np.arange(len(first), dtype=float)
    result.series["uplink_bytes", "leaf0:16"] = (times, np.array(first, dtype=float))
    result.series["uplink_bytes", "leaf0:17"] = (times, np.array(second, dtype=float))
    return result


def test_the_lowest_mean_is_best_and_compared_with_ecmp():
    verdict = judge([made("ecmp+gbn", 2.0, 8.0), made("a", 1.6), made("spray+eunomia", 1.5, 2.0)])
    assert verdict.headline == (
        "spray+eunomia finishes flows fastest: mean slowdown 1.50 against 2.00 with ecmp+gbn "
        "(\u221225 %), 99th percentile 2.00 against 8.00 (\u221275 %)."
    )


def test_order_of_the_folders_does_not_matter():
    schemes = [made("ecmp+gbn", 2.0), made("spray+gbn", 3.0), made("spray+eunomia", 1.5)]
    assert judge(schemes).lines() == judge(schemes[::-1]).lines()


def test_ecmp_may_win():
    verdict = judge([made("ecmp+gbn", 1.2), made("spray+eunomia", 1.5)])
    assert verdict.headline.startswith(
        "ecmp+gbn finishes flows fastest: mean slowdown 1.20 against"
    )
    assert verdict.reasons == []


def test_close_results_are_level():
    verdict = judge([made("ecmp+gbn", 1.50), made("spray+eunomia", 1.49)])
    assert verdict.headline.startswith("spray+eunomia and ecmp+gbn are level: ")
    verdict = judge([made("ecmp+gbn", 2.0), made("b", 1.50), made("c", 1.51), made("d", 1.70)])
    assert verdict.notes[0] == "Level with it, within 3 %: c."


def test_a_scheme_with_unfinished_flows_is_never_best():
    verdict = judge([made("ecmp+gbn", 2.0), made("a", 1.1, unfinished=2), made("b", 1.5)])
    assert verdict.headline.startswith("b finishes flows fastest")
    assert verdict.notes[0].startswith("a left 2 of 10 flows unfinished")
    verdict = judge([made("ecmp+gbn", 2.0), made("a", 1.1, unfinished=2)])
    assert verdict.headline == "Fewer than two schemes finished all flows: nothing to compare."
    verdict = judge([made("ecmp+gbn", 2.0, unfinished=1), made("a", 1.1), made("b", 1.5)])
    assert "1.10 against 1.50 with b" in verdict.headline


def test_reasons_come_only_from_figures_that_moved_with_the_result():
    base = made("ecmp+gbn", 2.0, pfc__pauses=5000, packets__retransmitted=10, packets__data=100)
    best = made("x", 1.5, pfc__pauses=1, packets__retransmitted=0, packets__data=100)
    assert judge([base, best]).reasons == [
        "1 PFC pause instead of 5,000: fewer ports stand still for a queue elsewhere.",
        "Retransmitted: none of the data packets, 10.0 % with ecmp+gbn.",
    ]
    assert judge([made("ecmp+gbn", 2.0), made("x", 1.5)]).reasons == []
    same = [made("ecmp+gbn", 2.0, pfc__pauses=100), made("x", 1.5, pfc__pauses=95)]
    assert judge(same).reasons == []


def test_what_moved_against_the_result_is_said():
    verdict = judge([made("ecmp+gbn", 2.0, pfc__pauses=3), made("x", 1.5, pfc__pauses=40)])
    assert verdict.reasons == ["It pays with more PFC: 40 pauses instead of 3."]


def test_uplink_imbalance_is_busiest_over_mean_by_bytes():
    assert eunomia_verdict.uplink_imbalance(made("x", 1.0)) is None
    even = with_uplinks(made("x", 1.0), [10, 20, 0], [10, 20, 0])
    assert eunomia_verdict.uplink_imbalance(even) == 1.0
    skewed = with_uplinks(made("x", 1.0), [30, 10], [10, 10])
    assert eunomia_verdict.uplink_imbalance(skewed) == pytest.approx((2 * 30 + 2 * 10) / 60)
    silent = with_uplinks(made("x", 1.0), [0], [0])
    assert eunomia_verdict.uplink_imbalance(silent) is None
    verdict = judge(
        [
            with_uplinks(made("ecmp+gbn", 2.0), [30, 30], [10, 10]),
            with_uplinks(made("x", 1.5), [20, 20], [20, 20]),
        ]
    )
    assert (
        "carries 1.00 times the mean of its uplinks, 1.50 times with ecmp+gbn" in verdict.reasons[0]
    )


def test_the_price_of_the_gate_and_of_spraying_alone():
    verdict = judge(
        [
            made("ecmp+gbn", 2.0),
            made(
                "spray+gbn",
                3.0,
                reorder__out_of_order=1200,
                packets__retransmitted=40,
                packets__data=100,
            ),
            made("spray+eunomia", 1.5),
            made("spray+eunomia-write", 1.8, gate__mean_wait_ns=8400),
        ]
    )
    assert verdict.notes == [
        "Spraying needs the ordering layer: with go-back-N its mean slowdown is 3.00 instead of "
        "1.50, as 1,200 early packets are taken for loss and 40.0 % of its packets are "
        "retransmissions.",
        "The price of completion order for WRITE, with the gate at the sender: mean slowdown 1.80 "
        "instead of 1.50 as SEND (+20 %); a completion waits 8.4 \u00b5s on average.",
    ]


def test_one_result_and_none_finished():
    verdict = judge([made("x", 1.5, 3.0, pfc__pauses=1, drops=0)])
    assert verdict.headline == (
        "x: mean slowdown 1.50, 99th percentile 3.00 over 10 flows, 1 PFC pause, 0 dropped packets."
    )
    verdict = judge([made("x", None, None, unfinished=10)])
    assert verdict.lines() == [
        "x: no flow finished.",
        "- x left 10 of 10 flows unfinished; its averages leave them out, so it cannot be called best.",
    ]


@pytest.mark.parametrize(
    "new, old, text",
    [
        (1.5, 2.0, "\u221225 %"),
        (2.5, 2.0, "+25 %"),
        (2.0, 2.0, "0 %"),
        (1.999, 2.0, "0 %"),
        (0, 2.0, "\u2212100 %"),
        (7.9, 2.0, "+295 %"),
        (9.0, 2.0, "\u00d74.5"),
        (100.0, 2.0, "\u00d750"),
        (1.0, 0, ""),
        (None, 2.0, ""),
        (1.0, None, ""),
    ],
)
def test_changes_as_text(new, old, text):
    assert change(new, old) == text
