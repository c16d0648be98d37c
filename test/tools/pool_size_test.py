# SPDX-License-Identifier: GPL-2.0-only
"""The study of pool sizes, with a stand-in for the simulator."""

import csv
import random
import statistics

import matplotlib.image
import pytest

import pool_size

# Writes a result whose figures follow from its options; END=STATUS makes the runs of 128 blocks with
# seed 2 end so.
SIMULATOR = """#!{python}
import json, os, sys
sys.path.insert(0, {tests!r})
import synthetic
options = dict(a[2:].partition("=")[::2] for a in sys.argv[1:])
print(*sys.argv[1:], file=open({calls!r}, "a"))
blocks, seed = int(options["poolBlocks"]), int(options["seed"])
status = int(os.environ.get("END", "0")) if (blocks, seed) == (128, 2) else 0
if status in (1, 2):
    print("some progress")
    print("eunomia-sim: --duration: a clear message", file=sys.stderr)
    sys.exit(status)
out = options["out"]
synthetic.write(out, flows=20, seed=seed, unfinished=1 if status == 3 else 0, extras=False)
with open(os.path.join(out, "summary.json")) as file:
    summary = json.load(file)
base = 4 if "flows" in options else 1
slow = base * (1 + 64 / blocks + seed / 100)
summary["fct_slowdown"]["all"].update(mean=slow, p99=4 * slow)
summary["packets"]["nack"] = 2048 // blocks
summary["pool"].update(alloc_miss=1024 // blocks // 2, fallback=seed, cap_hit=0, qps_active_peak=3)
with open(os.path.join(out, "summary.json"), "w") as file:
    json.dump(summary, file)
sys.exit(status)
"""


@pytest.fixture
def house(stand_in):
    return stand_in("pool_size.py", SIMULATOR)


def test_a_row_a_run_and_a_picture(house):
    run = house("--pools=1024,64,128", "--seeds=2", "--load=0.7", "--duration=1ms", "--fanin=9")
    assert run.returncode == 0
    assert run.stderr.splitlines()[-1].startswith("12 of 12 done; ")
    assert sorted(path.name for path in house.out.iterdir()) == ["pool_size.csv", "pool_size.png"]
    with open(house.out / "pool_size.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["workload"], int(row["pool_blocks"]), int(row["seed"])) for row in rows] == [
        (workload, blocks, seed)
        for workload in ("AliStorage2019", "incast")
        for blocks in (64, 128, 1024)
        for seed in (1, 2)
    ]
    for row in rows:
        blocks, seed = int(row["pool_blocks"]), int(row["seed"])
        slow = (4 if row["workload"] == "incast" else 1) * (1 + 64 / blocks + seed / 100)
        assert float(row["slowdown_mean"]) == pytest.approx(slow)
        assert float(row["slowdown_p99"]) == pytest.approx(4 * slow)
        assert int(row["nacks"]) == 2048 // blocks and int(row["pool_bytes"]) == 2 * blocks
        assert int(row["flows"]) == int(row["flows_done"]) == 20
    pixels = matplotlib.image.imread(house.out / "pool_size.png")[..., :3]
    assert pixels.shape == (1152, 1600, 3)
    assert 0.01 < (pixels.min(axis=2) < 0.9).mean() < 0.9


def test_the_table_has_the_means_and_says_what_is_enough(house):
    run = house("--pools=64,512,1024", "--seeds=2")
    lines = run.stdout.splitlines()
    mean = statistics.mean(1 + 64 / 64 + seed / 100 for seed in (1, 2))
    assert lines[1].split()[:5] == ["AliStorage2019", "64", "128", f"{mean:.2f}", f"{4 * mean:.2f}"]
    assert "AliStorage2019: 1024 blocks (2048 B) a NIC: the largest pool tried" in run.stdout
    assert run.stdout.count("each arrival finds room from 1024 blocks (2048 B) on") == 2
    assert lines[-2:] == ["out/pool_size.csv", "out/pool_size.png"]
    again = house("--pools=64,4096,8192", "--seeds=1")  # over what is there
    assert "incast: 4096 blocks (8192 B) a NIC: slowdowns within 2 %" in again.stdout
    assert "each arrival finds room from 4096 blocks" in again.stdout


def test_the_options_of_the_simulations(house):
    house("--pools=64", "--seeds=1", "--load=0.7", "--duration=1ms")
    storage, incast = sorted(house.calls(), key=lambda call: "--flows" in call)
    assert storage.startswith(
        "--lb=spray --transport=eunomia --workload=AliStorage2019 --load=0.7 --duration=1ms "
        "--poolBlocks=64 --seed=1 --out="
    )
    assert "--workload" not in incast and "--load" not in incast


def test_equal_options_give_equal_bytes(house):
    kept = []
    for _ in range(2):
        house("--pools=64,128", "--seeds=2")
        kept.append([path.read_bytes() for path in sorted(house.out.iterdir())])
    assert kept[0] == kept[1]


@pytest.mark.parametrize("fanin", [1, 63, 127])
def test_incast_flows(fanin, seed):
    text = pool_size.incast_flows(fanin, seed)
    assert text == pool_size.incast_flows(fanin, seed)
    assert text != pool_size.incast_flows(fanin, seed + 1)
    count, *rows = text.splitlines()
    rows = [row.split() for row in rows]
    assert int(count) == len(rows) == 3 * 4 * fanin
    starts = [float(row[4]) for row in rows]
    assert starts == sorted(starts) and sorted(set(starts)) == [2, 2.002, 2.004]
    for start in set(starts):
        senders = {}
        for src, dst, pg, size, _ in (row for row in rows if float(row[4]) == start):
            assert src != dst and (pg, size) == ("3", "65536")
            assert 0 <= int(src) < 128 and 0 <= int(dst) < 128
            senders.setdefault(dst, []).append(src)
        assert len(senders) == 4
        assert all(len(set(group)) == len(group) == fanin for group in senders.values())


def test_what_is_enough_against_a_search(seed):
    luck = random.Random(seed)
    for _ in range(300):
        pools = sorted(luck.sample(range(1, 100), luck.randrange(1, 6)))
        rows = [
            {
                "workload": "w",
                "pool_blocks": blocks,
                "slowdown_mean": luck.choice((1.0, 1.01, 1.5)),
                "slowdown_p99": luck.choice((3.0, 3.05, 9.0)),
                "alloc_miss": luck.choice((0, 0, 5)),
            }
            for blocks in pools
        ]
        study = pool_size.Study(luck.sample(rows, len(rows)), "w")
        last = rows[-1]

        def good(row):
            return all(row[k] <= 1.02 * last[k] for k in ("slowdown_mean", "slowdown_p99"))

        first = next(i for i in range(len(rows)) if all(map(good, rows[i:])))
        assert study.enough() == pools[first]
        clean = [i for i in range(len(rows)) if not any(r["alloc_miss"] for r in rows[i:])]
        assert study.without_refusal() == (pools[clean[0]] if clean else None)


@pytest.mark.parametrize(
    "option, said",
    [
        ("--pools=64,x", "--pools: 'x' is no whole number in 1..65534"),
        ("--pools=", "--pools: '' is no whole number in 1..65534"),
        ("--pools=65535", "--pools: '65535' is no whole number in 1..65534"),
        ("--seeds=0", "--seeds: '0' is no whole number in 1..1000"),
        ("--fanin=128", "--fanin: '128' is no whole number in 1..127"),
        ("--load=much", "--load: 'much' is no number"),
        ("--lb=ecmp", "unrecognized arguments: --lb=ecmp"),
        ("more", "unrecognized arguments: more"),
    ],
)
def test_wrong_use_is_one_line_and_status_2(house, option, said):
    run = house(option)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == f"eunomia poolsize: {said}\n"
    assert house.calls() == [] and not house.out.exists()


@pytest.mark.parametrize("status", [1, 2])
def test_a_failed_simulation_ends_it_and_leaves_nothing(house, status):
    run = house("--pools=64,128", "--seeds=2", end=status)
    assert (run.returncode, run.stdout) == (status, "")
    named = "AliStorage2019, 128 blocks, seed 2: " if status == 1 else ""
    said = f"eunomia poolsize: {named}eunomia-sim: --duration: a clear message"
    assert run.stderr.splitlines()[-1] == said
    assert not house.out.exists()


def test_unfinished_flows_are_status_3(house):
    run = house("--pools=64,128", "--seeds=2", end=3)
    assert run.returncode == 3
    assert run.stderr.endswith("eunomia poolsize: 2 flows did not finish\n")
    assert (house.out / "pool_size.csv").exists()


def test_a_missing_simulator_is_named(house):
    run = house("--sim=nowhere")
    assert run.returncode == 1 and not house.out.exists()
    assert run.stderr == "eunomia poolsize: nowhere: No such file or directory\n"


def test_help(tool):
    run = tool("pool_size.py", "--help")
    assert run.returncode == 0 and "usage: eunomia poolsize" in run.stdout
    for option in ("--pools=", "--seeds=", "--duration=", "--load=", "--fanin=", "--out="):
        assert option in run.stdout
