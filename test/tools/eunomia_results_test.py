# SPDX-License-Identifier: GPL-2.0-only
"""The loader: what it reads, and the one line it says of a damaged folder."""

import json
import re

import numpy as np
import pytest

import eunomia_results
import synthetic
from eunomia_results import ResultError


def edit(path, change):
    path.write_text(change(path.read_text()))


def replace_field(path, line, column, text):
    """Puts `text` into one field of a CSV file; `line` counts from 1, the header."""
    lines = path.read_text().splitlines()
    place = lines[0].split(",").index(column)
    fields = lines[line - 1].split(",")
    fields[place] = text
    lines[line - 1] = ",".join(fields)
    path.write_text("\n".join(lines) + "\n")


def failure(folder):
    with pytest.raises(ResultError) as caught:
        eunomia_results.load(folder)
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith(str(folder))
    return text[len(str(folder)) + 1 :]


def test_reads_what_was_written(clos):
    folder, written = clos
    for scheme, (rows, figures) in written.items():
        result = eunomia_results.load(folder / scheme)
        assert result.label == scheme
        assert result.done.all() and result.done.size == len(rows)
        for name in eunomia_results.FLOW_COLUMNS:
            assert result.flows[name].tolist() == [row[name] for row in rows]
        assert result.number("pfc.pauses") == figures["pfc"]["pauses"]
        assert len(result.pauses["time_ns"]) == figures["pfc"]["pauses"]
        assert result.number("no.such.figure") is None
        assert result.config()["lb"] == scheme.partition("+")[0]
        assert result.timing["packet_hops"] == 22_000_000
        assert set(result.wheres("queue_bytes")) == {"max", "mean", "leaf0:3"}


def test_columns_may_come_in_any_order_and_number(one):
    before = eunomia_results.load(one)
    lines = (one / "flows.csv").read_text().splitlines()
    turned = [",".join(["extra", *line.split(",")[::-1]]) for line in lines]
    (one / "flows.csv").write_text("\n".join(turned) + "\n")
    after = eunomia_results.load(one)
    for name in eunomia_results.FLOW_COLUMNS:
        assert np.array_equal(before.flows[name], after.flows[name])


def test_optional_files_may_be_absent(one):
    for name in ("timing.json", "pfc.csv", "timeseries.csv"):
        (one / name).unlink()
    result = eunomia_results.load(one)
    assert result.timing == {} and result.pauses is None and result.series == {}
    assert result.uplink_load() is None


def test_unfinished_flows_may_leave_fields_empty(tmp_path, seed):
    rows, _ = synthetic.write(tmp_path / "r", flows=50, seed=seed, unfinished=7)
    result = eunomia_results.load(tmp_path / "r")
    assert result.done.sum() == 43 and np.isnan(result.flows["slowdown"][43:]).all()
    assert result.slowdowns().tolist() == [row["slowdown"] for row in rows[:43]]


@pytest.mark.parametrize(
    "line, column, text, said",
    [
        (3, "slowdown", "fast", "flows.csv: 3: slowdown: expected a number >= 0, found 'fast'"),
        (9, "bytes", "-5", "flows.csv: 9: bytes: expected a number >= 0, found '-5'"),
        (2, "fct_ns", "nan", "flows.csv: 2: fct_ns: expected a number >= 0, found 'nan'"),
        (2, "fct_ns", "", "flows.csv: 2: fct_ns: expected a number >= 0, found ''"),
        (4, "slowdown", "0", "flows.csv: 4: slowdown: a finished flow's must be above 0"),
        (
            61,
            "status",
            "gone",
            "flows.csv: 61: status: expected done, unfinished or failed:REASON, found 'gone'",
        ),
    ],
)
def test_a_bad_field_is_named(one, line, column, text, said):
    replace_field(one / "flows.csv", line, column, text)
    assert failure(one) == said


def test_a_bad_shape_is_named(one):
    edit(one / "flows.csv", lambda text: text.replace(",slowdown,", ",speed,", 1))
    assert failure(one) == "flows.csv: 1: slowdown: no such column"
    (one / "flows.csv").write_text("")
    assert failure(one) == "flows.csv: 1: header: the file is empty"
    (one / "flows.csv").write_text(synthetic.FLOW_HEADER + "\n1,2,3\n")
    assert failure(one) == "flows.csv: 2: row: expected 15 fields, found 3"
    (one / "flows.csv").write_bytes(b"\xff\xfe\n")
    assert failure(one).startswith("flows.csv: 1: row: ")
    (one / "flows.csv").unlink()
    assert failure(one) == "flows.csv: no such file: is this a result folder?"


def test_a_bad_summary_is_named(one):
    path = one / "summary.json"
    good = path.read_text()
    path.write_text('{\n "flows": {,\n}')
    assert re.match(r"summary.json: 2: column \d+: ", failure(one))
    path.write_text("[]")
    assert failure(one) == "summary.json: 1: top level: expected an object"
    broken = json.loads(good)
    broken["flows"]["done"] = 59
    path.write_text(json.dumps(broken))
    assert failure(one) == "summary.json: flows.done: says 59, flows.csv has 60"
    del broken["flows"]
    path.write_text(json.dumps(broken))
    assert failure(one) == "summary.json: flows.total: missing"
    broken["flows"] = {"total": "many"}
    path.write_text(json.dumps(broken))
    assert failure(one) == 'summary.json: flows.total: expected a number, found "many"'


def test_bad_events_and_series_are_named(one):
    replace_field(one / "pfc.csv", 2, "event", "STOP")
    assert failure(one) == "pfc.csv: 2: event: expected xoff or xon, found 'STOP'"
    (one / "pfc.csv").unlink()
    (one / "timeseries.csv").write_text(
        "time_ns,metric,where,value\n20,queue_bytes,max,1\n10,queue_bytes,max,1\n"
    )
    assert failure(one) == "timeseries.csv: 3: time_ns: 10 is before the row above it"


def test_a_folder_of_folders_stands_for_them_in_scheme_order(clos):
    folder, written = clos
    labels = [result.label for result in eunomia_results.load_all([folder])]
    assert labels == list(written)
    assert failure(folder) == "flows.csv: no such file: is this a result folder?"


def test_equal_names_are_told_apart(tmp_path, seed):
    for place in ("a", "b"):
        synthetic.write(tmp_path / place / "run", flows=5, seed=seed, extras=False)
    results = eunomia_results.load_all([tmp_path / "a" / "run", tmp_path / "b" / "run"])
    assert [result.label for result in results] == ["a/run", "b/run"]


def test_uplink_load_against_a_sum_by_hand(one):
    rows = ["time_ns,metric,where,value"]
    sent = {"leaf0:16": (10, 0), "leaf0:17": (30, 5), "leaf1:16": (7, 9)}
    for tick in (0, 1):
        rows += [f"{tick},uplink_bytes,{where},{values[tick]}" for where, values in sent.items()]
    (one / "timeseries.csv").write_text("\n".join(rows) + "\n")
    times, busiest, total = eunomia_results.load(one).uplink_load()
    assert times.tolist() == [0, 1]
    assert total.tolist() == [47, 14]
    assert busiest.tolist() == [2 * 30 + 7, 2 * 5 + 9]
