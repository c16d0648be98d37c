# SPDX-License-Identifier: GPL-2.0-only
"""The comparison of schemes, with a stand-in for the simulator."""

import csv
import os
import re
import signal
import statistics
import subprocess
import sys
import time

import matplotlib.image
import pytest

import compare_schemes
from conftest import ROOT
from eunomia_results import ResultError

# Writes a result whose figures follow from its options: slowdown of load * factor of the scheme +
# seed / 100. END=STATUS makes drill+gbn end so with seed 2, END=wait makes it wait; the balancer
# `nosuch` is none it knows.
SIMULATOR = """#!{python}
import json, os, sys, time
sys.path.insert(0, {tests!r})
import synthetic
options = dict(a[2:].partition("=")[::2] for a in sys.argv[1:])
print(*sys.argv[1:], file=open({calls!r}, "a"))
scheme = options["lb"] + "+" + options["transport"]
load, seed = float(options["load"]), int(options["seed"])
end = os.environ.get("END", "0") if (scheme, seed) == ("drill+gbn", 2) else "0"
if end == "wait":
    time.sleep(60)
status = 2 if options["lb"] == "nosuch" else int(end)
if status not in (0, 3):
    print("eunomia-sim: --lb: a clear message", file=sys.stderr)
    sys.exit(status)
out = options["out"]
synthetic.write(out, flows=20, seed=seed, unfinished=4 if status == 3 else 0, extras=False)
with open(os.path.join(out, "summary.json")) as file:
    summary = json.load(file)
factor = 10 if scheme == "ecmp+gbn" else 1
if options.get("window") == "bdp":
    factor /= 2
slow = load * factor + seed / 100
for flows, more in (("small", 1), ("large", 2), ("all", 3)):
    summary["fct_slowdown"][flows].update(mean=slow + more, p99=4 * slow + more)
summary["fct_us"]["all"].update(mean=100 * factor, p99=1000 * factor)
pauses = seed if scheme == "ecmp+gbn" and load > 0.4 else 0
summary["pfc"] = dict(pauses=pauses, paused_us=pauses * 1500.0)
summary["drops"] = seed - 1
summary["packets"].update(retransmitted=150000)
summary["bytes"] = dict(data=1000000, ack=50000, sack=4000, nack=1000, cnp=500)
if options["lb"] == "drill":
    summary["packets"]["signal"] = 7
    summary["bytes"]["signal"] = 448
summary["reorder"].update(out_of_order=0 if factor == 10 else 9, max_span=0 if factor == 10 else 8)
summary["reorder"]["p99_span"] = None if factor == 10 else 5
with open(os.path.join(out, "summary.json"), "w") as file:
    json.dump(summary, file)
sys.exit(status)
"""

THREE = "--schemes=ecmp+gbn,drill+gbn,spray+eunomia"


@pytest.fixture
def house(stand_in):
    return stand_in("compare_schemes.py", SIMULATOR)


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def table_rows(text, title):
    """Cells of the table of that title in the text, by scheme."""
    lines = text[text.index(title) :].splitlines()[4:]
    rows = [re.split(r"\s{2,}", line) for line in lines[: lines.index("") if "" in lines else None]]
    return {row[0]: row[1:] for row in rows}


def test_figures_of_every_run_and_their_intervals(house):
    run = house(THREE, "--loads=80,30", "--seeds=3,1,2")
    assert run.returncode == 0
    assert run.stderr.splitlines()[-1].startswith("18 of 18 done; ")
    assert sorted(path.name for path in house.out.iterdir()) == [
        "compare.csv",
        "compare.html",
        "compare.md",
        "compare.png",
        "runs.csv",
    ]
    runs = rows_of(house.out / "runs.csv")
    assert [(row["load_pct"], row["scheme"], row["seed"]) for row in runs] == [
        (load, scheme, seed)
        for load in ("30", "80")
        for scheme in ("ecmp+gbn", "drill+gbn", "spray+eunomia")
        for seed in "123"
    ]
    for row in runs:
        factor = 10 if row["scheme"] == "ecmp+gbn" else 1
        slow = float(row["load_pct"]) / 100 * factor + int(row["seed"]) / 100
        assert float(row["all_mean"]) == pytest.approx(slow + 3)
        assert float(row["large_p99"]) == pytest.approx(4 * slow + 2)
        signals = "448" if row["scheme"] == "drill+gbn" else ""
        assert row["signal_bytes"] == signals and row["p99_span"] == ("0" if factor == 10 else "5")
        assert int(row["control_bytes"]) == 55500 + int(signals or 0)
        assert float(row["control_pct"]) == pytest.approx(5.55 + int(signals or 0) / 1e4)
        assert float(row["ordering_pct"]) == 0.5
    sums = {
        (row["load_pct"], row["scheme"], row["figure"]): row
        for row in rows_of(house.out / "compare.csv")
    }
    half = 4.302653 * statistics.stdev([0.01, 0.02, 0.03]) / 3**0.5
    found = sums["80", "ecmp+gbn", "small_mean"]
    assert float(found["mean"]) == pytest.approx(8 + 0.02 + 1) and found["n"] == "3"
    assert float(found["half_width_95"]) == pytest.approx(half, rel=1e-6)
    assert sums["80", "ecmp+gbn", "p99_span"]["mean"] == "0"


def test_the_tables(house):
    run = house(THREE, "--loads=30,80")
    fct = table_rows(run.stdout, "FCT slowdown at 80 % load")
    assert list(fct) == ["ecmp+gbn", "drill+gbn", "spray+eunomia"]
    assert fct["ecmp+gbn"][:3] == ["3", "9.02 ±0.02", "33.08 ±0.10"]
    assert fct["spray+eunomia"][-2:] == ["3.82 ±0.02", "6.28 ±0.10"]
    fabric = table_rows(run.stdout, "Fabric at 80 % load")
    assert fabric["ecmp+gbn"] == (
        ["3", "2.0 ±2.5", "3.00 ±3.73", "1.0 ±2.5", "150k ±0k", "0.06 ±0.00", "5.55 ±0.00"]
        + ["0 ±0", "0 ±0"]
    )
    assert fabric["drill+gbn"][-2:] == ["5 ±0", "8 ±0"]
    best = "At 80 % drill+gbn has the lowest mean slowdown, 3.82 ±0.02; not told apart from it by "
    assert f"{best}seed: spray+eunomia." in run.stdout
    assert max(len(line) for line in run.stdout.splitlines()) <= 140


def test_the_claims(house):
    run = house(THREE, "--loads=30,80")
    text = run.stdout[run.stdout.index("Published claims") :]
    rows = [re.split(r"\s{2,}", line) for line in text.splitlines()[4:]]
    assert rows[0][:3] == ["mean FCT slowdown", "ecmp+gbn", "up to \u221285 %"]
    # At 80 %: 3.8 + s over 11 + s for s of 0.01, 0.02, 0.03.
    mean = statistics.mean((3.8 + s) / (11 + s) - 1 for s in (0.01, 0.02, 0.03))
    assert rows[0][4].startswith(f"\u2212{-100 * mean:.1f} % ±") and rows[0][-1] == "not reached"
    assert rows[2][0] == "mean FCT, us" and rows[2][3:5] == ["\u221290 % ±0"] * 2
    assert rows[2][-1] == "reached at 30 %" and rows[3][-1] == "not reached"
    assert rows[4][1] == "conweave+gbn" and rows[4][-1] == "not measured"
    assert rows[8][0] == "PFC pauses" and rows[8][-1] == "reached at 80 %"
    assert rows[8][3:5] == ["0 both", "\u2212100 % ±0"]
    assert rows[9][-1] == rows[10][-1] == "reached"
    assert "no change: 30 % (3 of 3 seeds, spray+eunomia has 0).\n" in text
    assert "but 2ms of arrivals a run" in text and "Window or ordering" in text


def test_the_pages_hold_the_tables(house):
    run = house(THREE, "--loads=80", "--qpCap=64")
    markdown = (house.out / "compare.md").read_text(encoding="utf-8")
    page = (house.out / "compare.html").read_text(encoding="utf-8")
    assert markdown.startswith("# 3 schemes on AliStorage2019\n\n2ms of arrivals, seeds 1, 2, 3, ")
    for text in (markdown, page):
        assert "--qpCap=64" in text and "Published claims" in text and "not measured" in text
    assert "| ecmp+gbn | 3 | 9.02 ±0.02 |" in markdown
    assert '<td>9.02 <span class="change">±0.02</span></td>' in page
    assert "data:image/png;base64," in page and "http" not in page
    assert run.stdout.splitlines()[-5:] == [
        f"out/{name}"
        for name in ("compare.csv", "compare.png", "compare.md", "compare.html", "runs.csv")
    ]
    pixels = matplotlib.image.imread(house.out / "compare.png")[..., :3]
    assert pixels.shape[1] == 1600
    assert 0.01 < (pixels.min(axis=2) < 0.9).mean() < 0.5


def test_the_options_of_the_simulations(house):
    schemes = "--schemes=ecmp+gbn/bdp,spray+eunomia/verb=write/gate=sender"
    assert house(schemes, "--loads=62.5", "--seeds=7", "--fast", "--buffer=4MiB").returncode == 0
    rest = "--workload=AliStorage2019 --load=0.625 --duration=200us --seed=7 --buffer=4MiB --out="
    first, second = sorted(house.calls())
    assert first.startswith(f"--lb=ecmp --transport=gbn --window=bdp {rest}")
    assert second.startswith(f"--lb=spray --transport=eunomia --verb=write --gate=sender {rest}")
    options = compare_schemes.parse(["--fast"])
    assert options.out == os.path.join(ROOT, "results", "compare-fast")
    options = compare_schemes.parse([])
    assert options.out == os.path.join(ROOT, "results", "compare")
    assert (options.loads, options.seeds) == (["30", "50", "80"], [1, 2, 3])
    assert options.duration == "2ms"
    assert options.schemes == list(compare_schemes.SCHEMES)


def test_what_is_there_is_not_simulated_again(house, tmp_path):
    assert house(THREE, "--loads=30", "--seeds=1,2").returncode == 0
    kept = {path.name: path.read_bytes() for path in house.out.iterdir()}
    assert len(house.calls()) == 6
    assert house(THREE, "--loads=30", "--seeds=1,2").returncode == 0
    assert len(house.calls()) == 6
    assert {path.name: path.read_bytes() for path in house.out.iterdir()} == kept
    house(THREE, "--loads=30", "--seeds=1,2,3")
    assert len(house.calls()) == 9
    house(THREE, "--loads=30", "--seeds=1", "--qpCap=64")
    assert len(house.calls()) == 12 and len(rows_of(house.out / "runs.csv")) == 12
    with open(tmp_path / "sim", "a", encoding="utf-8") as file:
        file.write("# another simulator\n")
    house(THREE, "--loads=30", "--seeds=1")
    assert len(house.calls()) == 15 and len(rows_of(house.out / "runs.csv")) == 3


def test_a_changed_file_of_sizes_is_simulated_again(house, tmp_path):
    (tmp_path / "sizes").write_text("1000 100\n")
    options = ("--schemes=ecmp+gbn", "--loads=30", "--seeds=1", "--workload=file:sizes")
    for _ in range(2):
        assert house(*options).returncode == 0
    assert len(house.calls()) == 1
    (tmp_path / "sizes").write_text("2000 100\n")
    house(*options)
    assert len(house.calls()) == 2


@pytest.mark.parametrize("damage", ["", "nonsense\n", "cut", "number"])
def test_a_damaged_file_of_runs_is_simulated_again(house, damage):
    options = ("--schemes=ecmp+gbn", "--loads=30", "--seeds=1,2")
    house(*options)
    path = house.out / "runs.csv"
    whole = path.read_text()
    if damage == "cut":
        path.write_text(whole[: len(whole) * 3 // 4])
    elif damage == "number":
        path.write_text(whole.replace("AliStorage2019", "WebSearch", 1))
    else:
        path.write_text(damage)
    assert house(*options).returncode == 0
    assert len(house.calls()) == (3 if damage in ("cut", "number") else 4)
    assert path.read_text() == whole


def test_equal_options_give_equal_bytes(house):
    kept = []
    for _ in range(2):
        house(THREE, "--loads=30,80", "--seeds=1,2")
        kept.append({path.name: path.read_bytes() for path in house.out.iterdir()})
        (house.out / "runs.csv").unlink()
    assert kept[0] == kept[1]


def test_one_seed_has_no_interval(house):
    run = house(THREE, "--loads=30", "--seeds=1")
    assert run.returncode == 0
    assert table_rows(run.stdout, "FCT slowdown at 30 %")["ecmp+gbn"][:2] == ["1", "4.01"]
    assert "lowest mean slowdown, 3.31, with one seed." in run.stdout
    assert "±" not in run.stdout


@pytest.mark.parametrize("status", [1, 2, 4])
def test_a_failed_simulation_is_named_and_the_others_shown(house, status):
    run = house(THREE, "--loads=30", end=status)
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1] == "eunomia compare: 1 of 9 simulations failed"
    rows = table_rows(run.stdout, "FCT slowdown at 30 %")
    assert rows["drill+gbn"][0] == "2" and rows["ecmp+gbn"][0] == "3"
    said = f"seed 2: exit status {status}: eunomia-sim: --lb: a clear message"
    for text in (run.stdout, (house.out / "compare.html").read_text(encoding="utf-8")):
        assert f"drill+gbn: 1 of 3 simulations failed; {said}" in text
    assert len(rows_of(house.out / "runs.csv")) == 8
    assert house(THREE, "--loads=30").returncode == 0  # what failed is tried again
    assert len(house.calls()) == 10


def test_a_scheme_that_the_simulator_does_not_know_is_a_row(house):
    run = house("--schemes=nosuch+gbn,ecmp+gbn", "--loads=30,80")
    assert run.returncode == 1
    assert table_rows(run.stdout, "FCT slowdown at 80 %")["nosuch+gbn"] == ["failed"] + ["-"] * 6
    assert "nosuch+gbn: 3 of 3 simulations failed; seed 1: exit status 2: " in run.stdout
    assert "nosuch+gbn" in (house.out / "compare.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme, status", [("nosuch+gbn", 2), ("drill+gbn", 1)])
def test_where_all_fail_nothing_is_left(house, scheme, status):
    run = house(f"--schemes={scheme}", "--loads=30", "--seeds=2", end=status)
    assert (run.returncode, run.stdout) == (status, "")
    named = "drill+gbn, load 30 %, seed 2: exit status 1: " if status == 1 else ""
    last = run.stderr.splitlines()[-1]
    assert last == f"eunomia compare: {named}eunomia-sim: --lb: a clear message"
    assert not house.out.exists()


def test_unfinished_flows_are_status_3_and_starred(house):
    run = house(THREE, "--loads=30", end=3)
    assert run.returncode == 3
    assert run.stderr.endswith("eunomia compare: 4 flows did not finish\n")
    assert table_rows(run.stdout, "FCT slowdown at 30 %")["drill+gbn"][0] == "3*"
    assert "* drill+gbn: 4 of 60 flows did not finish; its averages leave them out" in run.stdout
    assert "At 30 % spray+eunomia has the lowest mean" in run.stdout  # drill+gbn's is as low
    assert house(THREE, "--loads=30", end=3).returncode == 3  # kept, and still said
    assert len(house.calls()) == 9


def test_a_stopped_comparison_keeps_what_it_has(house, tmp_path):
    command = [sys.executable, os.path.join(ROOT, "tools", "compare_schemes.py")]
    command += [f"--sim={tmp_path / 'sim'}", f"--out={house.out}", THREE, "--loads=30"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=dict(os.environ, END="wait")
    ) as process:
        kept, end = house.out / "runs.csv", time.monotonic() + 50  # before the one that waits
        while not kept.exists() or len(rows_of(kept)) < 3:
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130 and said.endswith("eunomia compare: stopped\n")
    assert [path.name for path in house.out.iterdir()] == ["runs.csv"]
    there, before = len(rows_of(kept)), len(house.calls())
    assert 3 <= there < 9
    assert house(THREE, "--loads=30").returncode == 0
    assert len(house.calls()) == before + 9 - there


@pytest.mark.parametrize(
    "option, said",
    [
        ("--loads=", "--loads: '' is no percentage above 0, up to 1000"),
        ("--loads=30,0", "--loads: '0' is no percentage above 0, up to 1000"),
        ("--loads=1001", "--loads: '1001' is no percentage above 0, up to 1000"),
        ("--loads=nan", "--loads: 'nan' is no percentage above 0, up to 1000"),
        ("--seeds=0", "--seeds: '0' is no whole number in 1..999999999"),
        ("--duration=2", "--duration: '2' is no positive quantity in s, ms, us, ns"),
        ("--schemes=ecmp", "--schemes: 'ecmp' is no LB+TRANSPORT[/bdp][/OPTION=VALUE]"),
        ("--schemes=ecmp+gbn,", "--schemes: '' is no LB+TRANSPORT[/bdp][/OPTION=VALUE]"),
        ("--schemes=a+b/c", "--schemes: 'a+b/c' is no LB+TRANSPORT[/bdp][/OPTION=VALUE]"),
        ("--schemes=a+b/seed=2", "--seed: a+b/seed=2 sets it; choose others with --schemes"),
        ("--window=bdp", "--window: ecmp+gbn/bdp sets it; choose others with --schemes"),
        ("--lb=ecmp", "--lb is set by this command; use eunomia sim"),
        ("--flows=x", "--flows is set by this command; use eunomia sim"),
        ("fast", "'fast' is no --OPTION=VALUE (see eunomia compare --help)"),
        ("--workload=file:nowhere", "nowhere: No such file or directory"),
    ],
)
def test_wrong_use_is_one_line(house, option, said):
    run = house(option)
    assert (run.returncode, run.stdout) == (1 if "No such file" in said else 2, "")
    assert run.stderr == f"eunomia compare: {said}\n"
    assert house.calls() == [] and not house.out.exists()


def test_help(tool):
    run = tool("compare_schemes.py", "--help")
    assert run.returncode == 0 and "usage: eunomia compare" in run.stdout
    for option in ("--schemes=", "--loads=", "--seeds=", "--duration=", "--workload=", "--fast"):
        assert option in run.stdout


def test_a_missing_figure_is_named():
    class Empty:
        folder = "here"

        def number(self, path):
            return None

    with pytest.raises(ResultError, match="here/summary.json: flows.total: missing"):
        compare_schemes.figures(Empty())
