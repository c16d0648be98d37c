# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of the tools share: the tools on the path, and made-up result folders."""

import os
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import synthetic


@pytest.fixture(scope="session")
def seed():
    """EUNOMIA_SEED, else 1; printed where a test fails."""
    value = int(os.environ.get("EUNOMIA_SEED", "1"))
    print(f"EUNOMIA_SEED={value}")
    return value


@pytest.fixture(scope="session")
def clos(tmp_path_factory, seed):
    """Five schemes in one folder: (folder, {scheme: (rows, summary)})."""
    folder = tmp_path_factory.mktemp("results") / "clos"
    written = {
        scheme: synthetic.write(folder / scheme, scheme, flows=1500, seed=seed)
        for scheme in synthetic.PROFILES
    }
    return folder, written


@pytest.fixture
def one(tmp_path, seed):
    """A folder of its own that a test may break."""
    folder = tmp_path / "spray+eunomia"
    synthetic.write(folder, "spray+eunomia", flows=60, seed=seed)
    return folder


@pytest.fixture(scope="session")
def tool():
    """tool("table.py", ARGUMENT...): runs it as a user would; the finished process."""

    def run(name, *arguments, **options):
        command = [sys.executable, os.path.join(ROOT, "tools", name), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, **options)

    return run


@pytest.fixture
def stand_in(tmp_path, tool):
    """stand_in("pool_size.py", SIMULATOR): a study with a made-up simulator, as a function of its
    options; .out, .calls(). END in the simulator's environment is `end`. The text of the simulator
    has {python}, {tests} (this folder) and {calls}, to which it appends its words."""

    def make(study, simulator):
        calls = tmp_path / "calls"
        sim = tmp_path / "sim"
        tests = os.path.join(ROOT, "test", "tools")
        sim.write_text(simulator.format(python=sys.executable, tests=tests, calls=str(calls)))
        sim.chmod(0o755)

        def run(*options, end=0):
            return tool(
                study,
                f"--sim={sim}",
                f"--out={run.out}",
                *options,
                cwd=tmp_path,
                env=dict(os.environ, END=str(end)),
            )

        run.out = tmp_path / "out"
        run.calls = lambda: calls.read_text().splitlines() if calls.exists() else []
        return run

    return make
