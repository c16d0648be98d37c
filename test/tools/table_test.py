# SPDX-License-Identifier: GPL-2.0-only
"""The table, in text and CSV, against figures computed from the rows without the tools."""

import csv
import io
import os
import statistics

import pytest

import synthetic


def expected(rows, figures):
    """The figures of one scheme, from its rows."""
    done = [row for row in rows if row["status"] == "done"]
    parts = {
        "": done,
        "small_": [row for row in done if row["bytes"] < synthetic.BDP_BYTES],
        "large_": [row for row in done if row["bytes"] >= synthetic.BDP_BYTES],
    }
    found = {"flows_total": len(rows), "flows_done": len(done)}
    for prefix, part in parts.items():
        values = [row["slowdown"] for row in part]
        cuts = statistics.quantiles(values, n=100, method="inclusive")
        found[prefix + "slowdown_mean"] = statistics.fmean(values)
        found[prefix + "slowdown_p50"] = statistics.median(values)
        found[prefix + "slowdown_p99"] = cuts[98]
    found["pfc_pauses"] = figures["pfc"]["pauses"]
    found["pfc_paused_us"] = figures["pfc"]["pauses"] * 11.5
    found["drops"] = 0
    found["retransmitted"] = sum(row["retransmitted"] for row in rows)
    found["out_of_order"] = sum(row["out_of_order"] for row in rows)
    found["max_reorder_span"] = max(row["max_reorder_span"] for row in rows)
    found["signals"] = 3 * figures["pfc"]["pauses"]
    found["pool_peak_blocks"] = figures["pool"]["blocks_peak"]
    found["gate_wait_us"] = statistics.fmean(row["gate_wait_ns"] for row in done) / 1000
    return found


def test_csv_equals_what_the_rows_give(clos, tool):
    folder, written = clos
    run = tool("table.py", "--csv", folder)
    assert (run.returncode, run.stderr) == (0, "")
    table = list(csv.DictReader(io.StringIO(run.stdout)))
    assert [row["scheme"] for row in table] == list(written)
    for row in table:
        want = expected(*written[row.pop("scheme")])
        assert set(row) == set(want)
        for key, value in want.items():
            assert float(row[key]) == pytest.approx(value, rel=1e-9), key


def test_text_shows_the_same_figures(clos, tool):
    folder, written = clos
    lines = tool("table.py", folder).stdout.splitlines()
    assert lines[0].split() == list(written)
    shown = {}
    group = ""
    for line in lines[2:]:
        if not line:
            break
        if line.startswith("  ") and not line.startswith("   "):
            cells = line.split()[-len(written) :]
            shown[group, line.split("  ")[1]] = [float(cell.replace(",", "")) for cell in cells]
        else:
            group = line.split("  ")[0]
    want = [expected(*pair) for pair in written.values()]
    for (place, name), key in (
        (("FCT slowdown, all flows", "mean"), "slowdown_mean"),
        (("Small flows (< 1 BDP)", "99th percentile"), "small_slowdown_p99"),
        (("Large flows (1 BDP and more)", "median"), "large_slowdown_p50"),
    ):
        for cell, figures in zip(shown[place, name], want):
            assert cell == pytest.approx(figures[key], abs=0.00501), (place, name)
    assert shown["PFC", "pauses sent"] == [figures["pfc_pauses"] for figures in want]
    assert shown["Loss", "packets retransmitted"] == [f["retransmitted"] for f in want]
    assert shown["Order", "mean gate wait (us)"] == [0, 0, 0, 0, 4.2]


def test_the_verdict_follows_the_table(clos, tool):
    folder, _ = clos
    assert "spray+eunomia finishes flows fastest: mean slowdown" in tool("table.py", folder).stdout


def test_missing_figures_are_dashes_and_empty_fields(tmp_path, tool, seed):
    folder = tmp_path / "plain"
    synthetic.write(folder, "plain", flows=30, seed=seed, extras=False)
    text = (folder / "summary.json").read_text().replace('"pool"', '"puddle"')
    (folder / "summary.json").write_text(text)
    run = tool("table.py", folder)
    assert run.returncode == 0
    (line,) = [line for line in run.stdout.splitlines() if "pool peak" in line]
    assert line.split()[-1] == "-"
    (row,) = csv.DictReader(io.StringIO(tool("table.py", "--csv", folder).stdout))
    assert row["pool_peak_blocks"] == ""


def test_unfinished_flows_are_counted(tmp_path, tool, seed):
    synthetic.write(tmp_path / "r", flows=40, seed=seed, unfinished=3)
    assert "37 of 40" in tool("table.py", tmp_path / "r").stdout


def test_a_damaged_folder_is_one_line_and_status_2(one, tool):
    path = one / "flows.csv"
    path.write_text(path.read_text().replace(",done\n", ",dome\n", 1))
    run = tool("table.py", one)
    assert run.returncode == 2 and run.stdout == ""
    assert run.stderr == (
        f"table.py: {path}: 2: status: expected done, unfinished or failed:REASON, found 'dome'\n"
    )
    run = tool("table.py", one / "nowhere")
    assert run.returncode == 2
    assert run.stderr == f"table.py: {one / 'nowhere'}: no such folder\n"


def test_a_terminal_without_utf8_gets_the_table(clos, tool):
    folder, _ = clos
    environment = dict(os.environ, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    run = tool("table.py", folder, env=environment)
    assert run.returncode == 0 and "pauses sent" in run.stdout
