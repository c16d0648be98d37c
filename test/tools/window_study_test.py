# SPDX-License-Identifier: GPL-2.0-only
"""The study of windows, with a stand-in for the simulator."""

import csv
import os
import random
import signal
import subprocess
import sys
import time

import matplotlib.image
import pytest

import window_study
from conftest import ROOT

# Writes a result whose figures follow from its options: spans of rate * load / 2 PSNs, and one
# refusal in twenty where they pass the cap. END=STATUS makes the runs at 400 Gb/s with a cap of 64
# end so; END=wait makes them all wait.
SIMULATOR = """#!{python}
import json, os, sys, time
sys.path.insert(0, {tests!r})
import synthetic
options = dict(a[2:].partition("=")[::2] for a in sys.argv[1:])
print(*sys.argv[1:], file=open({calls!r}, "a"))
rate, cap = int(options["linkRate"].removesuffix("Gbps")), int(options["qpCap"])
load, seed = float(options["load"]), int(options["seed"])
end = os.environ.get("END", "0")
if end == "wait":
    time.sleep(60)
status = int(end) if (rate, cap) == (400, 64) else 0
if status in (1, 2):
    print("eunomia-sim: --duration: a clear message", file=sys.stderr)
    sys.exit(status)
out = options["out"]
synthetic.write(out, flows=20, seed=seed, unfinished=1 if status == 3 else 0, extras=False)
with open(os.path.join(out, "summary.json")) as file:
    summary = json.load(file)
span = int(rate * load / 2)
early = 1000 * seed if rate > 1 else 0
refused = early // 20 if span > cap else 0
summary["packets"].update(data=10000, retransmitted=2 * refused, nack=refused // 2)
summary["reorder"].update(out_of_order=early, max_span=span, p99_span=span / 2 if early else None)
summary["fct_slowdown"]["all"].update(mean=2 + refused / 1000, p99=8 + refused / 1000)
summary["pool"].update(cap_hit=refused, alloc_miss=seed - 1, widen=7, blocks_peak=cap + seed)
summary["pool"]["bytes_peak"] = 2 * (cap + seed)
with open(os.path.join(out, "summary.json"), "w") as file:
    json.dump(summary, file)
sys.exit(status)
"""


@pytest.fixture
def house(stand_in):
    return stand_in("window_study.py", SIMULATOR)


def test_a_row_a_run_and_a_picture(house):
    run = house("--caps=512,64", "--rates=400,1", "--loads=0.95,0.5", "--seeds=2")
    assert run.returncode == 0
    assert run.stderr.splitlines()[-1].startswith("16 of 16 done; ")
    assert sorted(path.name for path in house.out.iterdir()) == ["windows.csv", "windows.png"]
    with open(house.out / "windows.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    keys = ("rate_gbps", "load", "cap_psns", "seed")
    assert [tuple(float(row[key]) for key in keys) for row in rows] == [
        (rate, load, cap, seed)
        for rate in (1, 400)
        for load in (0.5, 0.95)
        for cap in (64, 512)
        for seed in (1, 2)
    ]
    for row in rows:
        rate, load, cap, seed = (float(row[key]) for key in keys)
        early = 1000 * seed if rate > 1 else 0
        refused = early / 20 if rate * load / 2 > cap else 0
        assert int(row["cap_hits"]) == refused and int(row["nacks"]) == refused // 2
        assert float(row["refused_pct"]) == (5 if refused else 0)
        assert int(row["max_span"]) == int(rate * load / 2)
        assert float(row["p99_span"]) == (int(row["max_span"]) / 2 if early else 0)
        assert int(row["blocks_peak"]) == cap + seed and int(row["bytes_peak"]) == 2 * (cap + seed)
        assert int(row["flows"]) == int(row["flows_done"]) == 20 and row["widened"] == "7"
    pixels = matplotlib.image.imread(house.out / "windows.png")[..., :3]
    assert pixels.shape == (1120, 1440, 3)
    assert 0.01 < (pixels.min(axis=2) < 0.9).mean() < 0.9


def test_the_table_says_from_where_on_a_cap_is_too_small(house):
    run = house("--caps=64,128,256", "--rates=100,400", "--loads=0.5,0.8")
    lines = run.stdout.splitlines()
    # 400 Gb/s at 0.8: a span of 160, so that the caps of 64 and 128 refuse 50 of 1000.
    (row,) = [line.split() for line in lines if line.split()[:3] == ["400", "0.8", "128"]]
    assert row[3:] == "160 80 50 5.00 100 1.00 2.05 8.05 129 258".split()
    text = run.stdout[run.stdout.index("64 PSNs a QP:") :]
    small, medium, large = (part.splitlines() for part in text.split(" PSNs a QP:\n")[1:])
    assert small[0] == "  100 Gb/s: enough; refuses at most 0.00 % of the early packets"
    assert small[1] == "  400 Gb/s: too small from load 0.5 on: refuses 5.0 % of the early packets there;"
    cost = "1.0 % of the data packets are sent again; mean slowdown +2.5 %, p99 +0.6 %"
    assert small[2] == f"    at load 0.5 {cost}"
    assert medium[1].startswith("  400 Gb/s: too small from load 0.8 on: refuses 5.0 %")
    assert large[1].startswith("  400 Gb/s: enough")
    assert "found no memory" not in run.stdout
    assert lines[-2:] == ["out/windows.csv", "out/windows.png"]


def test_arrivals_without_memory_are_told_of(house):
    run = house("--seeds=2", "--rates=1,2", "--caps=64", "--loads=0.5")
    assert "2 arrivals found no memory: the cap was not the only limit" in run.stdout


def test_the_options_of_the_simulations(house):
    house("--rates=100,800", "--caps=256", "--loads=0.8,0.80", "--duration=1ms")
    for call, rate, duration in zip(sorted(house.calls()), (100, 800), (1000000, 125000)):
        assert call.startswith(
            "--lb=spray --transport=eunomia --verb=send --workload=AliStorage2019 --load=0.8 "
            f"--linkRate={rate}Gbps --duration={duration}ns --qpCap=256 --poolBlocks=8192 --seed=1 "
            "--out="
        )
    assert len(house.calls()) == 2


def test_equal_options_give_equal_bytes(house):
    kept = []
    for _ in range(2):
        house("--rates=400", "--seeds=2", "--caps=64,128", "--loads=0.5")
        kept.append([path.read_bytes() for path in sorted(house.out.iterdir())])
    assert kept[0] == kept[1]


def test_too_small_against_a_search(seed):
    luck = random.Random(seed)
    for _ in range(300):
        loads = sorted(luck.sample(range(1, 100), luck.randrange(1, 5)))
        seeds = luck.randrange(1, 4)
        rows = [
            {
                "rate_gbps": 100,
                "cap_psns": cap,
                "load": str(load),
                "cap_hits": luck.choice((0, 9, 11, 50)),
                "out_of_order": luck.choice((0, 1000)),
            }
            for cap in (4, 9)
            for load in loads
            for _ in range(seeds)
        ]
        study = window_study.Study(luck.sample(rows, len(rows)))
        for cap in (4, 9):
            found = None
            for place, load in reversed(list(enumerate(loads))):
                mine = [r for r in rows if (r["cap_psns"], r["load"]) == (cap, str(load))]
                refused = sum(r["cap_hits"] for r in mine)
                if refused * 100 > max(sum(r["out_of_order"] for r in mine), 1):
                    found = place
            assert study.too_small(100, cap) == found


@pytest.mark.parametrize(
    "option, said",
    [
        ("--caps=64,x", "--caps: 'x' is no whole number in 1..4096"),
        ("--caps=4097", "--caps: '4097' is no whole number in 1..4096"),
        ("--rates=", "--rates: '' is no whole number in 1..10000"),
        ("--seeds=0", "--seeds: '0' is no whole number in 1..1000"),
        ("--loads=0.5,much", "--loads: 'much' is no number above 0, up to 1000"),
        ("--loads=nan", "--loads: 'nan' is no number above 0, up to 1000"),
        ("--loads=0", "--loads: '0' is no number above 0, up to 1000"),
        ("--duration=2", "--duration: '2' is no positive quantity in s, ms, us, ns"),
        ("--lb=ecmp", "unrecognized arguments: --lb=ecmp"),
    ],
)
def test_wrong_use_is_one_line_and_status_2(house, option, said):
    run = house(option)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == f"eunomia windows: {said}\n"
    assert house.calls() == [] and not house.out.exists()


@pytest.mark.parametrize("status", [1, 2])
def test_a_failed_simulation_ends_it_and_leaves_nothing(house, status):
    run = house("--rates=400", "--caps=64,128", "--loads=0.5", end=status)
    assert (run.returncode, run.stdout) == (status, "")
    named = "400 Gb/s, load 0.5, 64 PSNs, seed 1: " if status == 1 else ""
    said = f"eunomia windows: {named}eunomia-sim: --duration: a clear message"
    assert run.stderr.splitlines()[-1] == said
    assert not house.out.exists()


def test_unfinished_flows_are_status_3(house):
    run = house("--rates=400", "--caps=64,128", "--loads=0.5", end=3)
    assert run.returncode == 3
    assert run.stderr.endswith("eunomia windows: 1 flows did not finish\n")
    assert (house.out / "windows.csv").exists()


def test_a_study_that_is_stopped_leaves_nothing(house, tmp_path):
    command = [sys.executable, os.path.join(ROOT, "tools", "window_study.py")]
    command += [f"--sim={tmp_path / 'sim'}", f"--out={house.out}"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=dict(os.environ, END="wait")
    ) as process:
        while not house.calls():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (130, "eunomia windows: stopped\n")
    assert not house.out.exists()


def test_help(tool):
    run = tool("window_study.py", "--help")
    assert run.returncode == 0 and "usage: eunomia windows" in run.stdout
    for option in ("--caps=", "--rates=", "--loads=", "--duration=", "--seeds=", "--out="):
        assert option in run.stdout
