# SPDX-License-Identifier: GPL-2.0-only
"""The program as its users meet it: exit statuses, one-line errors, equal bytes.

EUNOMIA_SIM names the program; EUNOMIA_SIM_ASAN, where set, its sanitizer build.
"""
import csv
import json
import os
import pathlib
import subprocess

import pytest

SIM = os.environ["EUNOMIA_SIM"]
SANITIZED = os.environ.get("EUNOMIA_SIM_ASAN", "")

# A small network on which a run takes a fraction of a second.
SMALL = ["--leaves=2", "--spines=2", "--hostsPerLeaf=4", "--duration=50us"]


def run(*options, program=SIM):
    return subprocess.run([program, *options], capture_output=True, text=True, timeout=300)


def contents(folder):
    return {
        path.name: path.read_bytes()
        for path in pathlib.Path(folder).iterdir()
        if path.name != "timing.json"
    }


BAD_OPTIONS = [
    ("--lb=teleport", "--lb: 'teleport' is none of"),
    ("--transport=tcp", "--transport: 'tcp' is none of"),
    ("--cc=bbr", "--cc: 'bbr' is none of"),
    ("--verb=read", "--verb: 'read' is none of"),
    ("--gate=door", "--gate: 'door' is none of"),
    ("--gateScope=all", "--gateScope: 'all' is none of"),
    ("--ackEvery=0", "--ackEvery: '0' is no whole number in 1..65535"),
    ("--pfc=maybe", "--pfc: 'maybe' is none of"),
    ("--qp=many", "--qp: 'many' is none of"),
    ("--compat=hpcc", "--compat: 'hpcc' is none of"),
    ("--topology=torus", "--topology: 'torus' is none of"),
    ("--workload=Nothing", "--workload"),
    ("--workload=file:/nonexistent/cdf", "/nonexistent/cdf"),
    ("--flows=/nonexistent/list", "/nonexistent/list"),
    ("--leaves=0", "--leaves: '0' is no whole number in 1..1024"),
    ("--leaves=8.5", "--leaves: '8.5' is no whole number"),
    ("--load=0", "--load: '0' is no number above 0"),
    ("--load=lots", "--load: 'lots' is no number"),
    ("--load=nan", "--load: 'nan' is no number"),
    ("--linkRate=100", "--linkRate: '100' is no rate"),
    ("--linkRate=fastGbps", "--linkRate: 'fastGbps' is no rate"),
    ("--linkDelay=1", "--linkDelay: '1' is no time"),
    ("--duration=0", "--duration: must be longer than 0"),
    ("--buffer=1KiB", "BufferSize: 1024 bytes leave no pool"),
    ("--buffer=9MegaBytes", "--buffer: '9MegaBytes' is no size"),
    ("--mtu=100", "--mtu: '100' is no whole number in 256..9000"),
    ("--overhead=none", "--overhead: 'none' is no whole number"),
    ("--qpCap=4097", "--qpCap: '4097' is no whole number in 1..4096"),
    ("--reorderLog=maybe", "--reorderLog: 'maybe' is none of"),
    ("--idleEpoch=32RTT", "--idleEpoch: '32RTT' is no time"),
    ("--idleEpoch=0rtt", "--idleEpoch: must be longer than 0"),
    ("--seed=0", "--seed: '0' is no whole number"),
    ("--sample=often", "--sample: 'often' is no time"),
    ("--window=wide", "--window: 'wide' is no size"),
    ("--frobnicate=1", "--frobnicate: there is no such option"),
    ("--lb", "--lb: needs a value"),
    ("lb=ecmp", "lb=ecmp: options look like --name=value"),
    ("--ns3::EunomiaNic::Nothing=1", "--ns3::EunomiaNic::Nothing: there is no such attribute"),
    ("--ns3::EunomiaNic::Mtu=70000", "--ns3::EunomiaNic::Mtu"),
    ("--ns3::EunomiaNic::Mtu=4096", "--ns3::EunomiaSwitch::MaxFrame: 1094 bytes are less than"),
]


@pytest.mark.parametrize("option, message", BAD_OPTIONS, ids=[o for o, _ in BAD_OPTIONS])
def test_bad_option(tmp_path, option, message):
    out = tmp_path / "out"
    done = run(*SMALL, option, f"--out={out}")
    assert done.returncode == 2, done
    assert done.stderr.count("\n") == 1 and message in done.stderr, done.stderr
    assert done.stdout == ""
    assert not out.exists()


BAD_LISTS = [
    ("x\n", 1, "count"),
    ("1\nx 1 3 1000 2.0\n", 2, "src"),
    ("1\n0 x 3 1000 2.0\n", 2, "dst"),
    ("1\n0 1 x 1000 2.0\n", 2, "pg"),
    ("1\n0 1 0 1000 2.0\n", 2, "pg"),
    ("1\n0 1 3 x 2.0\n", 2, "bytes"),
    ("1\n0 1 3 0 2.0\n", 2, "bytes"),
    ("1\n0 1 3 -5 2.0\n", 2, "bytes"),
    ("1\n0 1 3 1000 soon\n", 2, "start"),
    ("1\n0 1 3 1000 -1\n", 2, "start"),
    ("1\n0 0 3 1000 2.0\n", 2, "dst"),
    ("1\n0 8 3 1000 2.0\n", 2, "dst"),
    ("1\n8 0 3 1000 2.0\n", 2, "src"),
    ("2\n0 1 3 1000 2.0\n", None, "count"),
    ("2\n0 1 3 1000 2.0\n0 1 3\n", 3, ""),
]


@pytest.mark.parametrize("text, line, field", BAD_LISTS, ids=[repr(t) for t, _, _ in BAD_LISTS])
def test_bad_flow_list(tmp_path, text, line, field):
    flows = tmp_path / "bad.flows"
    flows.write_text(text)
    out = tmp_path / "out"
    done = run(*SMALL, f"--flows={flows}", f"--out={out}")
    assert done.returncode == 2, done
    assert done.stderr.count("\n") == 1, done.stderr
    assert "bad.flows" in done.stderr and field in done.stderr, done.stderr
    if line is not None:
        assert f"bad.flows:{line}:" in done.stderr, done.stderr
    assert not out.exists()


def test_out_is_needed():
    done = run(*SMALL)
    assert done.returncode == 2 and "--out" in done.stderr


def test_unwritable_out(tmp_path):
    file = tmp_path / "file"
    file.write_text("in the way")
    done = run(*SMALL, f"--out={file}/results")
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert "results" in done.stderr
    assert file.read_text() == "in the way"


def test_results_are_not_overwritten_unless_forced(tmp_path):
    out = tmp_path / "out"
    assert run(*SMALL, f"--out={out}").returncode == 0
    before = contents(out)
    done = run(*SMALL, f"--out={out}", "--seed=2")
    assert done.returncode == 2 and "--force" in done.stderr
    assert contents(out) == before
    assert run(*SMALL, f"--out={out}", "--seed=2", "--force").returncode == 0
    assert contents(out) != before


def test_help_names_every_option():
    done = run("--help")
    assert done.returncode == 0
    for name in ("lb", "transport", "flows", "workload", "load", "compat", "verb", "gate", "seed"):
        assert f"--{name}" in done.stdout


def test_unfinished_flows_are_marked(tmp_path):
    flows = tmp_path / "late.flows"
    flows.write_text("2\n0 4 3 1000 2.0\n1 5 3 100000000 2.0\n")
    out = tmp_path / "out"
    done = run(*SMALL, f"--flows={flows}", "--drain=100us", f"--out={out}")
    assert done.returncode == 3, done
    assert "1 of 2 flows" in done.stderr
    with open(out / "flows.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["status"] for row in rows] == ["done", "unfinished"]
    summary = json.loads((out / "summary.json").read_text())
    assert summary["flows"]["total"] == 2 and summary["flows"]["done"] == 1


SCHEMES = [
    ("ecmp", "gbn", "send"),
    ("spray", "gbn", "send"),
    ("spray", "eunomia", "send"),
    ("spray-rr", "eunomia", "write"),
    ("drill", "eunomia", "send"),
    ("letflow", "gbn", "send"),
    ("conga", "gbn", "send"),
    ("conweave", "irn", "send"),
    ("deflect", "eunomia", "send"),
    ("elephant-spray", "eunomia", "send"),
    ("adaptive", "ddp", "write"),
    ("adaptive", "ddp-gbn", "send"),
]


@pytest.mark.parametrize("scheme", SCHEMES, ids=["+".join(s) for s in SCHEMES])
def test_equal_bytes(tmp_path, scheme):
    """Same options and seed: same bytes, in a second run and in the sanitizer build."""
    lb, transport, verb = scheme
    options = [*SMALL, f"--lb={lb}", f"--transport={transport}", f"--verb={verb}", "--sample=10us"]
    options.append("--reorderLog")
    first, second, other = tmp_path / "first", tmp_path / "second", tmp_path / "other"
    assert run(*options, f"--out={first}").returncode == 0
    assert run(*options, f"--out={second}").returncode == 0
    assert contents(first) == contents(second)
    assert run(*options, "--seed=2", f"--out={other}").returncode == 0
    assert contents(first) != contents(other)
    if SANITIZED:
        third = tmp_path / "third"
        done = run(*options, f"--out={third}", program=SANITIZED)
        assert done.returncode == 0, done.stderr
        assert contents(first) == contents(third)


def test_no_path_of_the_machine_in_results(tmp_path):
    flows = tmp_path / "some.flows"
    flows.write_text("1\n0 4 3 1000 2.0\n")
    out = tmp_path / "out"
    assert run(*SMALL, f"--flows={flows}", f"--out={out}").returncode == 0
    for name, data in contents(out).items():
        assert str(tmp_path).encode() not in data, name


@pytest.mark.parametrize("bytes_, packets", [(1, 1), (1000, 1), (1001, 2), (1000000, 1000)])
@pytest.mark.parametrize("dst, links", [(1, 2), (4, 4)])
def test_unloaded_fct_is_the_closed_form(tmp_path, bytes_, packets, dst, links):
    """1000 + 48 bytes at 100 Gb/s: 80 ps a byte, 1 us a link, answers of 60 bytes."""
    flows = tmp_path / "one.flows"
    flows.write_text(f"1\n0 {dst} 3 {bytes_} 2.0\n")
    out = tmp_path / "out"
    options = ["--lb=ecmp", "--transport=gbn", "--mtu=1000", "--overhead=48"]
    assert run(*SMALL, *options, f"--flows={flows}", f"--out={out}").returncode == 0
    with open(out / "flows.csv", newline="") as file:
        row = next(csv.DictReader(file))
    longest = (min(bytes_, 1000) + 48) * 80
    last = (bytes_ - 1000 * (packets - 1) + 48) * 80
    total = (bytes_ + 48 * packets) * 80
    # An answer of 60 bytes waits for the one before it where the last packet is shorter.
    wait = max(0, 60 * 80 - last) if packets > 1 else 0
    fct_ps = total + (links - 1) * longest + links * (2 * 1_000_000 + 60 * 80) + wait
    assert int(row["fct_ns"]) == (fct_ps + 500) // 1000
    assert row["slowdown"] == "1.000000"
