# SPDX-License-Identifier: GPL-2.0-only
"""The flow generator: rate, sizes, destinations and order of what it draws, and its errors."""

import math
import os

import numpy as np
import pytest

import make_flows
from conftest import ROOT

ALI = os.path.join(ROOT, "traces", "cdf", "AliStorage2019.txt")


def rows_of(text):
    """(src, dst, pg, bytes, start in ns as an exact integer) a flow."""
    lines = text.splitlines()
    assert int(lines[0]) == len(lines) - 1
    rows = []
    for line in lines[1:]:
        src, dst, pg, size, start = line.split()
        whole, _, part = start.partition(".")
        assert len(part) == 9
        rows.append((int(src), int(dst), int(pg), int(size), int(whole) * 10**9 + int(part)))
    return rows


def generated(tool, *options):
    run = tool("make_flows.py", f"--cdf={ALI}", *options)
    assert (run.returncode, run.stderr) == (0, "")
    return rows_of(run.stdout)


def test_load_size_and_destinations(tool, seed):
    rows = generated(tool, "--duration=20ms", f"--seed={seed}", "--hosts=32", "--load=0.8")
    # 32 hosts offer 0.8 x 100 Gb/s / 2 each: so many flows of the mean size in 20 ms.
    mean = 40869.8
    want = 32 * 0.8 * 100e9 / 2 / 8 * 0.02 / mean
    assert len(rows) == pytest.approx(want, abs=5 * math.sqrt(want))
    sizes = [row[3] for row in rows]
    assert np.mean(sizes) == pytest.approx(mean, abs=5 * np.std(sizes) / math.sqrt(len(rows)))
    assert np.mean([size <= 8000 for size in sizes]) == pytest.approx(0.6921, abs=0.015)
    sources = np.bincount([row[0] for row in rows], minlength=32)
    targets = np.bincount([row[1] for row in rows], minlength=32)
    for counts in (sources, targets):
        expected = len(rows) / 32
        assert len(counts) == 32 and abs(counts - expected).max() < 6 * math.sqrt(expected)


def test_every_row_is_valid_and_in_order(tool, seed):
    rows = generated(tool, "--flows=5000", f"--seed={seed}", "--hosts=2", "--pg=1", "--start=0")
    assert len(rows) == 5000
    assert all(src != dst and {src, dst} == {0, 1} for src, dst, *_ in rows)
    assert all(1 <= row[3] <= 2_000_000 and row[2] == 1 for row in rows)
    starts = [row[4] for row in rows]
    assert starts == sorted(starts)
    gaps = np.diff(starts)
    assert np.std(gaps) == pytest.approx(np.mean(gaps), rel=0.1)  # exponential gaps


def test_duration_bounds_the_starts(tool, seed):
    rows = generated(tool, "--duration=50us", f"--seed={seed}")
    assert all(2_000_000_000 <= row[4] <= 2_000_050_000 for row in rows)


def test_the_seed_alone_decides(tool, tmp_path):
    files = []
    for number, chosen in enumerate((1, 1, 2)):
        path = tmp_path / str(number)
        run = tool(
            "make_flows.py", f"--cdf={ALI}", "--flows=50", f"--seed={chosen}", f"--out={path}"
        )
        assert run.returncode == 0
        files.append(path.read_bytes())
    assert files[0] == files[1] != files[2]


def test_the_list_in_traces_is_what_the_generator_writes(tool):
    run = tool("make_flows.py", f"--cdf={ALI}", "--flows=2000", "--seed=1")
    path = os.path.join(ROOT, "traces", "flows", "clos128-small.flows")
    with open(path, encoding="utf-8") as file:
        assert run.stdout == file.read()


@pytest.mark.parametrize(
    "options, said",
    [
        ([], "give one of --flows and --duration"),
        (["--flows=1", "--duration=1ms"], "give one of --flows and --duration"),
        (["--flows=0"], "--hosts must be 2 or more and --flows 1 or more"),
        (["--flows=1", "--hosts=1"], "--hosts must be 2 or more and --flows 1 or more"),
        (["--flows=1", "--load=0"], "--load and --oversubscription: both must be above 0"),
        (["--duration=5"], "--duration: '5' is no positive quantity in s, ms, us, ns"),
        (["--duration=-5ms"], "--duration: '-5ms' is no positive quantity in s, ms, us, ns"),
        (
            ["--flows=1", "--link-rate=fast"],
            "--link-rate: 'fast' is no positive quantity in bps, Kbps, Mbps, Gbps, Tbps",
        ),
    ],
)
def test_wrong_use_is_one_line_and_status_2(tool, options, said):
    run = tool("make_flows.py", f"--cdf={ALI}", *options)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == f"make_flows.py: {said}\n"


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "1: line: a CDF needs two points or more"),
        ("0 0\n100 x\n", "2: percent: expected a number >= 0, found 'x'"),
        ("0 0\n-1 100\n", "2: bytes: expected a number >= 0, found '-1'"),
        ("0 0\n10 50\n5 100\n", "3: bytes: 5 is below the line before it"),
        ("0 0\n10 50\n20 40\n", "3: percent: 40 is below the line before it"),
        ("0 0\n10 1\n", "2: percent: the last point is at 1, not 100"),
        ("0 0 0\n", "1: line: expected `bytes percent`, found '0 0 0'"),
    ],
)
def test_a_bad_cdf_is_named(tmp_path, text, said):
    path = tmp_path / "cdf.txt"
    path.write_text(text)
    with pytest.raises(make_flows.InputError) as caught:
        make_flows.read_cdf(path)
    assert str(caught.value) == f"{path}: {said}"
