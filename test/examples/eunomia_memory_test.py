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
    assert [step["reordered_pct"] for step in result["microbenchmark"]] == list(range(0, 101, 5))
    assert [step["dynamic_bytes"] for step in result["microbenchmark"]] == list(range(80, 1201, 56))
    assert {step["fixed_bytes"] for step in result["microbenchmark"]} == {820}
    assert round(result["microbenchmark_crossing_pct"], 2) == 66.07
    setups = {(row["service_ns"], row["rate_gbps"]) for row in result["allocation"]}
    assert setups == {(service, rate) for service in (10, 40, 100) for rate in (100, 400, 800)}
    assert {row["blocked_pct"] for row in result["allocation"] if row["cache_blocks"]} == {0}


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
        ("--lb=ecmp", "--lb=ecmp: there is no such option; see --help"),
    ],
)
def test_a_bad_value_is_one_line_and_status_2(option, said):
    done = run("--json", option)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"eunomia-memory: {said}\n"
