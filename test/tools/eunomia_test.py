# SPDX-License-Identifier: GPL-2.0-only
"""The command `eunomia` with stand-ins for the system: dpkg-query, apt-get, cmake, ctest, programs.

The script runs from a copy in a folder of its own, so nothing is installed or built.
"""

import json
import os
import shutil
import subprocess
import sys

import pytest

import synthetic
from conftest import ROOT

# Writes its name and arguments to $CALLS, then does what its body says.
STAND_IN = """#!/bin/sh
echo "$(basename "$0") $*" >>"$CALLS"
{body}
"""

# A simulator that writes a made-up result folder; FAIL_SCHEME=STATUS makes that scheme fail.
SIMULATOR = """#!{python}
import os, sys
sys.path.insert(0, {tests!r})
import synthetic
print("eunomia-sim", *sys.argv[1:], file=open(os.environ["CALLS"], "a"))
options = dict(a[2:].partition("=")[::2] for a in sys.argv[1:])
scheme = os.path.basename(options["out"])
wanted, _, status = os.environ.get("FAIL", "").partition("=")
if wanted == scheme and status != "3":
    print("progress 40 %", file=sys.stderr)
    sys.exit("eunomia-sim: --load: a clear message")
if sys.stderr.isatty():
    print("\\r\\033[K 40 %", end="", file=sys.stderr)
if "force" in options and os.path.isdir(options["out"]):
    __import__("shutil").rmtree(options["out"])
synthetic.write(options["out"], scheme, flows=60, unfinished=3 if wanted == scheme else 0)
sys.exit(3 if wanted == scheme else 0)
"""

INSTALLED = 'shift 2; for p in "$@"; do echo "installed $p"; done'


@pytest.fixture
def house(tmp_path):
    """house("run", ...): runs the script among stand-ins; also .root, .bin, .calls()."""
    root, folder = tmp_path / "house", tmp_path / "bin"
    (root / "build").mkdir(parents=True)
    folder.mkdir()
    shutil.copy(os.path.join(ROOT, "eunomia"), root / "eunomia")
    os.symlink(os.path.join(ROOT, "tools"), root / "tools")
    calls = tmp_path / "calls"
    calls.write_text("")

    def program(path, text):
        path.write_text(text)
        path.chmod(0o755)

    def stand_in(name, body="exit 0"):
        program(folder / name, STAND_IN.format(body=body))

    for name in ("cmake", "ctest", "apt-get"):
        stand_in(name)
    stand_in("sudo", '[ "${1%%=*}" = DEBIAN_FRONTEND ] && shift; exec "$@"')
    stand_in("dpkg-query", INSTALLED)
    os.symlink(sys.executable, folder / "python3")
    tests = os.path.join(ROOT, "test", "tools")
    program(root / "build" / "eunomia-sim", SIMULATOR.format(python=sys.executable, tests=tests))
    program(root / "build" / "bench-reorder", '#!/bin/sh\necho \'{"bench":"reorder"}\'\n')

    def run(*arguments, stderr=subprocess.PIPE, **environment):
        path = f"{folder}:/usr/bin:/bin"
        return subprocess.run(
            [str(root / "eunomia"), *arguments],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            check=False,
            cwd=tmp_path,
            env=dict(os.environ, PATH=path, CALLS=str(calls), **environment),
        )

    run.root, run.folder, run.stand_in = root, folder, stand_in
    run.calls = lambda: calls.read_text().splitlines()
    return run


def named(calls, name):
    return [call for call in calls if call.split()[0] == name]


def test_help_needs_nothing_and_lists_what_exists(house):
    for arguments in ([], ["help"], ["--help"]):
        run = house(*arguments)
        assert run.returncode == 0 and run.stderr == ""
        assert run.stdout.startswith("Eunomia for ns-3")
        commands = "run compare test build sim plot calibrate bench memory poolsize windows fuzz"
        for command in commands.split():
            assert f"\n  {command} " in run.stdout
    assert house.calls() == []


@pytest.mark.parametrize("command", ["replay", "sweep", "reproduce", "rnu", ""])
def test_an_unknown_command_is_status_2(house, command):
    run = house(command)
    assert run.returncode == 2 and run.stdout == ""
    assert run.stderr == f"eunomia: no command '{command}' (see ./eunomia help)\n"


def test_nothing_is_installed_where_all_is_there(house):
    assert house("build").returncode == 0
    assert named(house.calls(), "apt-get") == [] and named(house.calls(), "sudo") == []


def on_debian_12():
    try:
        with open("/etc/os-release", encoding="utf-8") as file:
            lines = file.read().replace('"', "").splitlines()
    except OSError:
        return False
    return "ID=debian" in lines and "VERSION_ID=12" in lines


MISSING = INSTALLED.replace(
    'echo "installed $p"',
    'case $p in libgsl-dev) ;; g++) echo "config-files $p" ;; *) echo "installed $p" ;; esac',
)


@pytest.mark.parametrize("user", ["0", "1000"])
def test_only_what_is_missing_is_installed(house, user):
    house.stand_in("dpkg-query", MISSING + "; exit 1")
    house.stand_in("id", f"echo {user}")
    run = house("build")
    assert run.returncode == 0
    calls = house.calls()
    if not on_debian_12():
        assert named(calls, "apt-get") == []
        assert "it needs what these packages of Debian hold: g++ libgsl-dev\n" in run.stderr
        return
    assert "eunomia: installs g++ libgsl-dev\n" in run.stderr
    assert named(calls, "apt-get") == [
        "apt-get update",
        "apt-get install -y --no-install-recommends g++ libgsl-dev",
    ]
    assert len(named(calls, "sudo")) == (0 if user == "0" else 2)
    assert calls.index("apt-get update") < calls.index(named(calls, "cmake")[0])


@pytest.mark.skipif(not on_debian_12(), reason="packages are installed on Debian 12 only")
def test_a_failed_installation_stops(house):
    house.stand_in("dpkg-query", "exit 1")
    house.stand_in("apt-get", "exit 100")
    run = house("build")
    assert run.returncode == 1
    assert run.stderr.endswith("eunomia: apt-get could not install them\n")
    assert named(house.calls(), "cmake") == []


def test_build_is_optimised_and_says_nothing_on_stdout(house):
    house.stand_in("cmake", "echo noise")
    run = house("build")
    assert run.returncode == 0 and run.stdout == ""
    configure, build = named(house.calls(), "cmake")
    root = house.root
    assert configure.startswith(f"cmake -S {root} -B {root}/build -G Ninja ")
    assert "-DCMAKE_BUILD_TYPE=Release" in configure
    assert build == f"cmake --build {root}/build --target all"


def test_a_failed_build_stops_everything(house):
    house.stand_in("cmake", '[ "$1" != --build ]')
    for command in ("build", "run", "test", "bench"):
        run = house(command)
        assert run.returncode == 1 and run.stdout == ""
        assert run.stderr.endswith(" failed\n")
    assert named(house.calls(), "ctest") == [] and named(house.calls(), "eunomia-sim") == []


def test_tests_run_on_both_builds_and_end_with_ctest(house):
    house.stand_in("ctest", "echo deep=$EUNOMIA_DEEP; echo '100% tests passed'; exit 8")
    run = house("test", "-R", "pool")
    assert run.returncode == 8
    assert run.stdout == "deep=\n100% tests passed\n"
    calls, root = house.calls(), house.root
    sanitized, _, optimised, _ = named(calls, "cmake")
    assert f"-B {root}/build-asan " in sanitized and "-DEUNOMIA_SANITIZE=ON" in sanitized
    assert f"-B {root}/build " in optimised
    assert f"-DEUNOMIA_ASAN_DIR={root}/build-asan" in optimised
    (test,) = named(calls, "ctest")
    assert test.startswith(f"ctest --test-dir {root}/build --output-on-failure -j")
    assert test.endswith(" -R pool") and calls[-1] == test
    assert house("test", "--deep").stdout.startswith("deep=1\n")


def test_sim_passes_its_arguments_on_in_the_callers_folder(house, tmp_path):
    run = house("sim", "--out=mine", "--lb=spray")
    assert run.returncode == 0 and (tmp_path / "mine" / "flows.csv").exists()
    assert house.calls() == ["eunomia-sim --out=mine --lb=spray"]


def test_memory_builds_what_is_missing_and_passes_its_arguments_on(house):
    house.stand_in("eunomia-memory", 'echo "{}"; exit 2')
    built = f"cp {house.folder}/eunomia-memory {house.root}/build/"
    house.stand_in("cmake", f'[ "$1" != --build ] || {built}')
    for _ in range(2):
        run = house("memory", "--json", "--qps=10 20")
        assert (run.returncode, run.stdout) == (2, "{}\n")
    calls, root = house.calls(), house.root
    assert named(calls, "eunomia-memory") == ["eunomia-memory --json --qps=10 20"] * 2
    _, build = named(calls, "cmake")  # once only
    assert build == f"cmake --build {root}/build --target eunomia-memory"


def test_memory_prints_tables_and_draws(house, tmp_path):
    report = tmp_path / "report.json"
    report.write_text(json.dumps(synthetic.memory_report()))
    body = f"""case "$*" in *--json*) cat {report} ;; *) echo tables ;; esac; exit ${{STATUS:-0}}"""
    house.stand_in("eunomia-memory", body)
    shutil.copy(house.folder / "eunomia-memory", house.root / "build")
    run = house("memory", "--qps=10", STATUS="2")
    assert (run.returncode, run.stdout, run.stderr) == (2, "tables\n", "")
    assert not (house.root / "results").exists()
    run = house("memory", "--qps=10")
    assert (run.returncode, run.stderr) == (0, "")
    out = house.root / "results" / "memory"
    lines = run.stdout.splitlines()
    assert lines[:2] == ["tables", ""]
    assert lines[2:] == [
        f"house/results/memory/{name}.png"
        for name in ("model", "measured", "microbenchmark", "block_size", "admission")
    ]
    for line in lines[2:]:
        assert (tmp_path / line).stat().st_size > 0
    assert (out / "memory.json").read_text() == report.read_text()
    calls = named(house.calls(), "eunomia-memory")[1:]
    assert calls == ["eunomia-memory --qps=10", "eunomia-memory --qps=10 --json"]


@pytest.mark.parametrize("study", ["compare", "poolsize", "windows"])
def test_a_study_builds_the_simulator_and_passes_its_arguments_on(house, study):
    run = house(study, "--help")
    assert run.returncode == 0 and f"usage: eunomia {study}" in run.stdout
    assert named(house.calls(), "cmake") == []
    run = house(study, "--seeds=none")
    assert run.returncode == 2
    most = "999999999" if study == "compare" else "1000"
    assert run.stderr == f"eunomia {study}: --seeds: 'none' is no whole number in 1..{most}\n"
    assert named(house.calls(), "cmake")[1].endswith("--target eunomia-sim")


def test_bench_wants_croaring_and_other_commands_do_not(house):
    for command, wanted in (("build", False), ("bench", True)):
        before = len(house.calls())
        assert house(command).returncode == 0
        asked = " ".join(house.calls()[before:]).split()
        assert "libcmocka-dev" in asked and ("libroaring-dev" in asked) == wanted


def test_the_main_job(house):
    run = house("run")
    assert run.returncode == 0
    out = house.root / "results" / "clos"
    sims = named(house.calls(), "eunomia-sim")
    want = {
        "ecmp+gbn": "--lb=ecmp --transport=gbn --verb=send",
        "conweave+gbn": "--lb=conweave --transport=gbn --verb=send",
        "ecmp+irn": "--lb=ecmp --transport=irn --verb=send",
        "spray+gbn": "--lb=spray --transport=gbn --verb=send",
        "spray+eunomia": "--lb=spray --transport=eunomia --verb=send",
        "spray+eunomia-write": "--lb=spray --transport=eunomia --verb=write --gate=sender",
    }
    workload = "--workload=AliStorage2019 --load=0.5 --duration=2ms --seed=1 --sample=10us"
    assert sorted(sims) == sorted(
        f"eunomia-sim {options} {workload} --out={out}/{scheme} --force"
        for scheme, options in want.items()
    )
    lines = run.stdout.splitlines()
    assert lines[0].split() == list(want)
    assert lines[-1] == "report: house/results/clos/report.html"
    assert "spray+eunomia finishes flows fastest" in run.stdout
    for name in ("report.html", "fct_cdf.png", "fct_by_size.png", "pfc.png", "pool.png"):
        assert (out / name).stat().st_size > 0
    assert house("run").returncode == 0  # and once more, over what is there


def test_progress_on_a_terminal(house):
    try:
        ours, theirs = os.openpty()
    except OSError:
        pytest.skip("no terminal to be had")
    assert house("run", stderr=theirs).returncode == 0
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert "\r0:00  0 of 6 done; ecmp+gbn" in shown
    assert "spray+eunomia-write: done after " in shown
    # The simulators had a terminal, too: they told how far they were.
    log = house.root / "results" / "clos" / "ecmp+gbn.log"
    assert log.read_bytes() == b"\r\x1b[K 40 %"


def test_options_of_the_main_job(house, tmp_path):
    (tmp_path / "my.flows").write_text("0\n")
    run = house("run", "--flows=my.flows", "--out=here", "--poolBlocks=64")
    assert run.returncode == 0 and (tmp_path / "here" / "report.html").exists()
    for call in named(house.calls(), "eunomia-sim"):
        assert "--flows=my.flows --poolBlocks=64 --sample=10us" in call
        assert "--workload" not in call and "--duration" not in call
    before = len(house.calls())
    assert house("run", "--fast", "--seed=7").returncode == 0
    for call in named(house.calls()[before:], "eunomia-sim"):
        assert "--duration=200us" in call and "2ms" not in call
        assert "--seed=7" in call and "--seed=1" not in call
        assert "/results/clos-fast/" in call


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--lb=ecmp"], "--lb is set by this job; use eunomia sim"),
        (["fast"], "'fast' is no --OPTION=VALUE (see eunomia run --help)"),
        (["--flows=nowhere"], "--flows: nowhere: no such file"),
        (
            ["--fast", "--flows=x"],
            "--fast shortens the generated workload; it has no use with --flows",
        ),
    ],
)
def test_wrong_use_of_the_main_job(house, arguments, said):
    run = house("run", *arguments)
    assert run.returncode == 2 and run.stdout == ""
    assert run.stderr == f"eunomia run: {said}\n"
    assert named(house.calls(), "eunomia-sim") == []


def test_a_failed_simulation_is_named_and_the_others_shown(house):
    run = house("run", FAIL="spray+gbn=2")
    assert run.returncode == 1
    assert run.stdout.splitlines()[0].split() == [
        "ecmp+gbn",
        "conweave+gbn",
        "ecmp+irn",
        "spray+eunomia",
        "spray+eunomia-write",
    ]
    assert run.stderr.endswith(
        "eunomia run: spray+gbn failed (exit status 1): eunomia-sim: --load: a clear message\n"
        "eunomia run: its output is in house/results/clos/spray+gbn.log\n"
    )


def test_unfinished_flows_are_status_3(house):
    run = house("run", FAIL="spray+gbn=3")
    assert run.returncode == 3
    assert "57 of 60" in run.stdout
    assert "spray+gbn left 3 of 60 flows unfinished" in run.stdout


def test_a_missing_simulator_is_named(house):
    (house.root / "build" / "eunomia-sim").unlink()
    run = house("run")
    assert run.returncode == 1
    assert run.stderr.endswith("build/eunomia-sim: No such file or directory\n")


def test_plot_of_one_folder_and_of_several(house, tmp_path):
    for name in ("a", "b"):
        house("sim", f"--out=mine/{name}")
    assert house("plot", "mine/a").stdout == "mine/a/report.html\n"
    assert house("plot", "mine/a", "mine/b").stdout == "mine/report.html\n"
    (tmp_path / "mine" / "report.html").unlink()
    assert house("plot", "mine").stdout == "mine/report.html\n"
    run = house("plot")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "eunomia: plot: name one or more result folders\n"
    assert house("plot", "nowhere").returncode == 2


def test_calibrate_reads_the_callers_folder(house, tmp_path):
    run = house("calibrate")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "eunomia: calibrate: name a result folder\n"
    assert house("calibrate", "--help").stdout.startswith("usage: calibrate_epoch.py")
    (tmp_path / "mine").mkdir()
    header = "ms,host,qp,flow,burst,start_ns,duration_ns,gap_ns,span,packets,end\n"
    (tmp_path / "mine" / "reorder.csv").write_text(header + "0,1,0,0,1,50,9,,1,1,cut\n")
    run = house("calibrate", "mine")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("1 bursts of 1 QPs")


def test_bench_prints_one_json_object_a_line(house):
    house.stand_in("cmake", "echo noise")
    run = house("bench")
    assert run.returncode == 0
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    assert lines[0] == {"bench": "reorder"}
    for line, scheme in zip(lines[1:], ("ecmp+gbn", "spray+eunomia"), strict=True):
        assert line["bench"] == "fabric" and line["scheme"] == scheme
        assert line["packet_hops_per_s"] == 1_760_000.0
        assert line["packet_hops"] == 22_000_000 and line["wall_s"] == 12.5
    for call in named(house.calls(), "eunomia-sim"):
        assert "--workload=AliStorage2019 --load=0.5 --duration=2ms --seed=1" in call
        scratch = call.partition("--out=")[2].split()[0]
        assert not os.path.exists(os.path.dirname(scratch))


def test_bench_says_which_simulation_failed(house):
    run = house("bench", FAIL="spray+eunomia=2")
    assert run.returncode == 1
    assert run.stderr.endswith("eunomia: bench: the simulation of spray+eunomia failed\n")


# A fuzzer that leaves what libFuzzer does; the one of $FOUND finds something.
FUZZER = '''
for a in "$@"; do case $a in -artifact_prefix=*) prefix=${a#*=} ;; esac; done
[ "$(basename "$0")" != "fuzz-$FOUND" ] || { : >"${prefix}crash-1"; exit 77; }
'''


@pytest.fixture
def fuzz_house(house):
    (house.root / "build-fuzz").mkdir()
    for target in ("receiver", "sender", "reorder"):
        house.stand_in(f"fuzz-{target}", FUZZER)
        os.symlink(house.folder / f"fuzz-{target}", house.root / "build-fuzz" / f"fuzz-{target}")
    return house


def test_fuzz_runs_every_target_for_that_long(fuzz_house):
    root = fuzz_house.root
    for arguments, seconds in ((["5"], 5), ([], 60)):
        before = len(fuzz_house.calls())
        run = fuzz_house("fuzz", *arguments)
        assert (run.returncode, run.stdout) == (0, "")
        said = f"eunomia: fuzz: nothing found; new inputs are in {root}/results/fuzz\n"
        assert run.stderr.endswith(said)
        calls = fuzz_house.calls()[before:]
        configure = named(calls, "cmake")[0]
        assert f"-B {root}/build-fuzz " in configure and "-DEUNOMIA_FUZZ=ON" in configure
        assert "-DCMAKE_C_COMPILER=clang" in configure
        for target in ("receiver", "sender", "reorder"):
            (call,) = named(calls, f"fuzz-{target}")
            found = f"{root}/results/fuzz/{target}"
            assert f"-max_total_time={seconds} " in call and f"-artifact_prefix={found}/ " in call
            assert call.endswith(f" {found}/corpus {root}/fuzz/corpus/{target}")


def test_fuzz_says_where_its_finding_is(fuzz_house):
    run = fuzz_house("fuzz", "1", FOUND="sender")
    found = fuzz_house.root / "results" / "fuzz" / "sender"
    assert (run.returncode, run.stdout) == (1, "")
    assert f"eunomia: fuzz-sender found something; {found}/log ends with what" in run.stderr
    assert "nothing found" not in run.stderr and (found / "crash-1").exists()
    assert len(named(fuzz_house.calls(), "fuzz-reorder")) == 1  # the others had their time


@pytest.mark.parametrize("seconds", ["0", "-1", "1.5", "long"])
def test_fuzz_wants_a_number(house, seconds):
    run = house("fuzz", seconds)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == f"eunomia: fuzz: '{seconds}' is no number of seconds\n"
    assert house.calls() == []


@pytest.mark.skipif(not on_debian_12(), reason="packages are installed on Debian 12 only")
def test_only_fuzz_installs_clang(fuzz_house):
    lacks_clang = INSTALLED.replace("do echo", "do case $p in *clang*) continue ;; esac; echo")
    fuzz_house.stand_in("dpkg-query", lacks_clang)
    assert fuzz_house("build").returncode == 0
    assert named(fuzz_house.calls(), "apt-get") == []
    assert fuzz_house("fuzz", "1").returncode == 0
    assert named(fuzz_house.calls(), "apt-get")[-1].endswith(" clang libclang-rt-dev")


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="no shellcheck")
def test_the_scripts_pass_shellcheck():
    scripts = [os.path.join(ROOT, "eunomia"), os.path.join(ROOT, ".ci", "run")]
    run = subprocess.run(["shellcheck", *scripts], capture_output=True, text=True, check=False)
    assert run.stdout + run.stderr == ""
