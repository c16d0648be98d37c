# SPDX-License-Identifier: GPL-2.0-only
"""eunomia-memory as its users meet it; EUNOMIA_MEMORY names the program."""
import json
import os
import subprocess

import pytest

MEMORY = os.environ["EUNOMIA_MEMORY"]


def run(*options):
    return subprocess.run([MEMORY, *options], capture_output=True, text=True, timeout=300)


def test_json_has_the_promised_keys_and_published_figures():
    done = run("--json")
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert list(result) == [
        "model",
        "header_pct",
        "measured",
        "microbenchmark",
        "microbenchmark_crossing_pct",
        "microbenchmark_settled_crossing_pct",
        "measured_by_share",
        "connection_bytes",
        "block_size",
        "admission",
        "allocation",
    ]
    model = result["model"]
    assert model["fixed_mb"] == 41
    assert model["dynamic_mb"] == {"5": 6.8, "20": 15.2, "60": 37.6, "100": 60}
    crossing = {span: round(pct, 2) for span, pct in model["crossing_pct"].items()}
    assert crossing == {"16": 74.0, "64": 66.07, "256": 46.25}
    published = {size: round(pct, 2) for size, pct in result["header_pct"]["published"].items()}
    assert published == {"256": 1.61, "1024": 0.4, "4096": 0.1}
    for size, pct in result["header_pct"]["real"].items():
        assert pct == pytest.approx(800 / int(size), abs=1e-4)
    measured = result["measured"]
    assert (measured["qps"], measured["active_pct"], measured["psns"]) == (1000000, 5, 64)
    assert measured["model_bytes"] == measured["state_bytes"] == 6800000
    assert 0 < measured["control_bytes"] <= measured["total_bytes"] - measured["state_bytes"]
    assert measured["total_bytes"] < 1.25 * measured["model_bytes"]
    assert [row["active_pct"] for row in result["measured_by_share"]] == [5, 20, 60, 100]
    for row in result["measured_by_share"]:
        assert row["fixed_bytes"] == 41000000
        assert row["model_bytes"] == row["state_bytes"] == 4000000 + 560000 * row["active_pct"]
        parts = row["state_bytes"] + row["control_bytes"] + row["unused_bytes"]
        assert row["total_bytes"] == parts
    steps = result["microbenchmark"]
    assert [step["reordered_pct"] for step in steps] == list(range(0, 101, 5))
    assert [step["reordered"] for step in steps] == list(range(21))
    assert [step["settled_bytes"] for step in steps] == list(range(80, 1201, 56))
    assert [step["dynamic_bytes"] for step in steps] == list(range(80, 1241, 58))
    assert {step["fixed_bytes"] for step in steps} == {820}
    assert {step["span_psns"] for step in steps[1:]} == {64}
    assert round(result["microbenchmark_crossing_pct"], 2) == 63.79
    assert round(result["microbenchmark_settled_crossing_pct"], 2) == 66.07
    published = {row["scheme"]: row["published"] for row in result["connection_bytes"]}
    assert published["Eunomia, 256 PSNs"] == 82 and published["MP-RDMA"] == 66
    assert [row["block_bytes"] for row in result["block_size"]["rows"]] == [2, 4, 8, 16, 32, 64]
    assert list(result["block_size"]["mean_span_psns"]) == ["uniform", "geometric"]
    assert result["admission"]["rows"][-1]["measured_qps"] == 25
    setups = {(row["service_ns"], row["rate_gbps"]) for row in result["allocation"]}
    assert setups == {(service, rate) for service in (10, 40, 100) for rate in (100, 400, 800)}
    assert {row["blocked_pct"] for row in result["allocation"] if row["cache_blocks"]} == {0}


def test_equal_options_give_equal_bytes():
    options = ("--json", "--qps=1000")
    assert run(*options).stdout == run(*options).stdout


def test_block_sizes_on_the_spans_of_a_result(tmp_path):
    (tmp_path / "flows.csv").write_text("flow,max_reorder_span\n0,0\n1,15\n2,16\n")
    done = run("--json", "--qps=1000", f"--spans={tmp_path}")
    study = json.loads(done.stdout)["block_size"]
    assert study["mean_span_psns"]["measured"] == 16.5
    assert [row["measured"]["rented_bytes"] for row in study["rows"]] == [3, 4, 8, 16, 32, 64]
    done = run("--qps=1000", f"--spans={tmp_path}")
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_help_and_tables():
    done = run("--help")
    assert done.returncode == 0 and done.stdout.startswith("usage: eunomia-memory")
    done = run("--qps=1000", "--active=10", "--psns=16")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Memory of 1000 QPs, 16 PSNs")
    assert max(map(len, done.stdout.splitlines())) <= 100


@pytest.mark.parametrize(
    "option, said",
    [
        ("--psns=65", "--psns: '65' is no multiple of 16"),
        ("--active=101", "--active: '101' is no number in 0..100"),
        ("--pool=3", "--pool: '3' is no multiple of 2"),
        ("--spans=no", "no/flows.csv: cannot open: No such file or directory"),
        ("--lb=ecmp", "--lb=ecmp: there is no such option; see --help"),
    ],
)
def test_a_bad_value_is_one_line_and_status_2(option, said):
    done = run("--json", option)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"eunomia-memory: {said}\n"
