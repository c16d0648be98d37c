# SPDX-License-Identifier: GPL-2.0-only
"""The idle epoch's calibration: little traces with known answers, and a model step by step."""

import json
import random

import pytest

import calibrate_epoch
import eunomia_bursts
import synthetic
from eunomia_results import ResultError

HEADER = "ms,host,qp,flow,burst,start_ns,duration_ns,gap_ns,span,packets,end\n"
MS = 1_000_000


def rows(host, qp, bursts, closed, first=1):
    """The rows of one life of a QP: `bursts` are (start, end, span), cut at full milliseconds."""
    before = None
    for number, (start, end, span) in enumerate(bursts, first):
        at = start
        while True:
            stop = min(end, (at // MS + 1) * MS)
            gap = "" if before is None else at - before
            kind = "closed" if stop == end else "continues"
            packets, wide = (2, span) if at == start else (0, 0)
            piece = f"{at},{stop - at},{gap},{wide},{packets},{kind}"
            yield f"{at // MS},{host},{qp},7,{number},{piece}"
            at = before = stop
            if kind == "closed":
                break
    last = first + len(bursts) - 1
    yield f"{closed // MS},{host},{qp},7,{last},{closed},0,{closed - before},0,0,idle"


def write(path, *lives):
    """A reorder.csv of these lives, one after the other."""
    path.write_text(HEADER + "".join(line + "\n" for life in lives for line in life))
    return path


@pytest.fixture
def trace(tmp_path):
    """Three bursts of one QP, gaps of 5 and 20 us."""
    bursts = [(0, 1000, 20), (6000, 7000, 3), (27_000, 28_000, 3)]
    return write(tmp_path / "reorder.csv", rows(4, 0, bursts, 128_000))


def test_a_little_trace_in_closed_form(trace):
    bursts, config = eunomia_bursts.read(trace)
    assert (len(bursts), bursts.qps, bursts.nics, config) == (3, 1, 1, {})
    none = bursts.hold(1)
    assert (none.spared, none.qps_peak, none.bytes_peak) == (0, 1, 52)
    assert none.idle_byte_s == pytest.approx((52 + 50) * 1e-9)
    short = bursts.hold(5000)
    # Held 0 to 12 us, of which the ring keeps two blocks, and from 27 us to the end.
    assert short.spared == 0.5
    assert short.idle_byte_s == pytest.approx((52 * 5000 + 52 * 5000) * 1e-9)
    assert short.qps_mean == pytest.approx(13 / 28)
    assert short.bytes_mean == pytest.approx((52 * 12 + 50 * 1) / 28)
    everything = bursts.hold(20_000)
    assert (everything.spared, everything.qps_mean, everything.bytes_mean) == (1, 1, 52)
    assert bursts.hold(4999).spared == 0 and bursts.hold(19_999).spared == 0.5


def test_the_smallest_epoch_is_a_quantile_of_the_gaps(tmp_path):
    starts, at = [], 0
    for gap in range(1, 102):
        starts.append((at, at + 10, 1))
        at += 10 + 1000 * gap
    bursts, _ = eunomia_bursts.read(write(tmp_path / "r.csv", rows(0, 0, starts, at)))
    gaps = bursts.gaps()
    assert gaps.size == 100
    for miss, us in ((0, 100), (0.01, 99), (0.015, 99), (0.1, 90), (0.5, 50), (0.999, 1)):
        epoch = calibrate_epoch.smallest(gaps, miss)
        assert epoch == 1000 * us
        assert bursts.hold(epoch).spared >= 1 - miss > bursts.hold(epoch - 1).spared


def test_the_knee_is_the_corner(tmp_path):
    """Nine gaps of 3 us and one of 900 us: past 3 us every epoch costs and spares nothing more."""
    starts, at = [], 0
    for gap in [3000] * 9 + [900_000] + [0]:
        starts.append((at, at + 100, 1))
        at += 100 + gap
    bursts, _ = eunomia_bursts.read(write(tmp_path / "r.csv", rows(0, 0, starts, at)))
    found = calibrate_epoch.calibrate(bursts, 0.01)
    assert 3000 <= found["knee"].epoch_ns < 3000 * 2**0.25
    assert found["knee"].spared == 0.9
    assert found["suggested"].epoch_ns == 900_000


def random_lives(luck):
    """Lives of QPs at three hosts: (host, bursts, closed). Numbers of QPs are not used again."""
    lives = []
    for _ in range(luck.randrange(1, 25)):
        at, bursts = luck.randrange(3 * MS), []
        for _ in range(luck.randrange(1, 12)):
            end = at + luck.choice((0, luck.randrange(2000), luck.randrange(3 * MS)))
            bursts.append((at, end, luck.randrange(1, 300)))
            at = end + luck.choice((1000, luck.randrange(5000), luck.randrange(2 * MS)))
        lives.append((luck.randrange(3), bursts, at))
    return lives


def by_hand(lives, epoch):
    """(spared, idle byte-seconds, QPs and bytes a NIC, peaks) by walking along each life."""
    begin = min(bursts[0][0] for _, bursts, _ in lives)
    finish = max(burst[1] for _, bursts, _ in lives for burst in bursts)
    nics = len({host for host, _, _ in lives})
    pieces, spared, repeated, idle = [], 0, 0, 0.0  # pieces: host, from, to, bytes
    for host, bursts, closed in lives:
        kept, since = 0, None
        for place, (start, end, span) in enumerate(bursts):
            if since is not None:
                repeated += 1
                if start - since <= epoch:
                    spared += 1
                else:
                    kept = 0
            kept = max(kept, 48 + 2 * min(span // 16 + 1, 16))
            after = bursts[place + 1][0] if place + 1 < len(bursts) else closed
            until = min(end + epoch, after, finish)
            pieces.append((host, start, until, kept))
            idle += kept * (until - end) * 1e-9
            since = end
    time = max(finish - begin, 1) * nics
    peaks = [
        [size for other, a, b, size in pieces if other == host and a <= start < b]
        for host, start, _, _ in pieces
    ]
    return (
        spared / max(repeated, 1),
        idle,
        sum(b - a for _, a, b, _ in pieces) / time,
        sum(size * (b - a) for _, a, b, size in pieces) / time,
        max(map(len, peaks)),
        max(map(sum, peaks)),
    )


def test_random_traces_against_a_walk(tmp_path, seed):
    luck = random.Random(seed)
    for _ in range(40):
        lives = random_lives(luck)
        path = write(
            tmp_path / "r.csv",
            *(rows(host, qp, bursts, closed) for qp, (host, bursts, closed) in enumerate(lives)),
        )
        bursts, _ = eunomia_bursts.read(path)
        assert bursts.qps == len(lives)
        assert bursts.packets.sum() == 2 * sum(len(life[1]) for life in lives)
        for epoch in (1, 1000, luck.randrange(1, MS), 10 * MS):
            hold = bursts.hold(epoch)
            want = by_hand(lives, epoch)
            assert hold.spared == pytest.approx(want[0])
            assert hold.idle_byte_s == pytest.approx(want[1])
            assert hold.qps_mean == pytest.approx(want[2])
            assert hold.bytes_mean == pytest.approx(want[3])
            assert (hold.qps_peak, hold.bytes_peak) == want[4:]


def test_numbers_of_closed_qps_are_lives_of_their_own(tmp_path):
    path = write(
        tmp_path / "r.csv",
        rows(0, 3, [(10, 20, 1)], 30),
        rows(0, 3, [(35, 40, 1)], 50, first=2),
        ["0,0,3,7,3,60,5,,1,1,cut"],
    )
    bursts, _ = eunomia_bursts.read(path)
    assert (bursts.qps, bursts.gaps().size, list(bursts.rest)) == (3, 0, [10, 10, 0])


def test_text_and_json_agree(trace, tool):
    synthetic_config = {"config": {"base_rtt_ps": 2_500_000, "leaves": 2, "hostsPerLeaf": 5}}
    (trace.parent / "summary.json").write_text(json.dumps(synthetic_config))
    plain = tool("calibrate_epoch.py", trace.parent, "--miss=0.5")
    assert (plain.returncode, plain.stderr) == (0, "")
    assert "3 bursts of 1 QPs at 10 NICs in 28 us, base RTT 2.5 us" in plain.stdout
    assert "suggested  5 us (2 RTT): the smallest that misses at most 50 %" in plain.stdout
    assert "default    256 us (102 RTT): spares 100.00 %, holds 5.2 bytes a NIC (peak 52)" in (
        plain.stdout
    )
    run = tool("calibrate_epoch.py", trace, "--miss=0.5", "--json")
    found = json.loads(run.stdout)
    assert (found["bursts"], found["gaps"], found["nics"], found["window_us"]) == (3, 2, 10, 28)
    assert found["suggested"]["epoch_us"] == 5 and found["suggested"]["epoch_rtts"] == 2
    assert found["default"]["bytes_mean"] == pytest.approx(5.2)
    table = [line.split() for line in plain.stdout.splitlines()]
    lines = [cells for cells in table if len(cells) == 8 and cells[0].isdigit()]
    assert [float(cells[0]) for cells in lines] == [p["epoch_us"] for p in found["epochs"]]
    assert [float(cells[2]) for cells in lines] == [100 * p["spared"] for p in found["epochs"]]


def test_a_picture_is_drawn(trace, tool, tmp_path):
    alike = [(0, 10, 1), (20, 25, 1)]
    different = [(0, 10, 300), (5 * MS, 7 * MS, 2), (9 * MS, 9 * MS, 1)]
    for bursts in (alike, different):
        write(trace, rows(0, 0, bursts, 10 * MS))
        run = tool("calibrate_epoch.py", trace, f"--plot={tmp_path / 'p.png'}")
        assert (run.returncode, run.stderr) == (0, "")
        assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
        (tmp_path / "p.png").unlink()
    run = tool("calibrate_epoch.py", trace, f"--plot={tmp_path / 'none' / 'p.png'}")
    assert run.returncode == 2 and "No such file or directory" in run.stderr


def test_runs_that_show_nothing(tmp_path, tool):
    empty = write(tmp_path / "empty.csv")
    assert tool("calibrate_epoch.py", empty).stdout == "No packet came out of order in this run.\n"
    assert json.loads(tool("calibrate_epoch.py", empty, "--json").stdout)["suggested"] is None
    once = write(tmp_path / "once.csv", rows(0, 0, [(5, 9, 1)], 30))
    run = tool("calibrate_epoch.py", once)
    assert run.returncode == 0
    assert run.stdout.endswith("No QP was reordered twice: no epoch spares anything here.\n")
    run = tool("calibrate_epoch.py", once, "--plot=x.png", cwd=tmp_path)
    assert run.returncode == 2 and not (tmp_path / "x.png").exists()


GOOD = HEADER + (
    "0,1,0,0,1,999990,10,,3,2,continues\n"
    "1,1,0,0,1,1000000,50,0,1,1,closed\n"
    "1,1,0,0,2,1000100,7,50,1,1,closed\n"
    "1,1,0,0,2,1000200,0,93,0,0,idle\n"
)


@pytest.mark.parametrize(
    "old, new, said",
    [
        (GOOD, "", "1: header: the file is empty"),
        ("gap_ns,", "gap,", "1: gap_ns: no such column"),
        ("50,0,1,1,closed", "50,0,1,1", "3: row: expected 11 fields, found 10"),
        ("999990,10,", "999990,-10,", "2: duration_ns: expected a whole number, found '-10'"),
        ("999990,10,", "999990,1e1,", "2: duration_ns: expected a whole number, found '1e1'"),
        ("999990,10,", "999990,,", "2: duration_ns: expected a whole number, found ''"),
        ("0,93,0,0", "0,93,0,many", "5: packets: expected a whole number, found 'many'"),
        (",idle", ",done", "5: end: expected closed, continues, cut, idle, found 'done'"),
        ("0,1,0,0,1,999990", "2,1,0,0,1,999990", "2: ms: expected 0, found 2"),
        ("7,50,1,1", "7,50,1,0", "4: span: 1 without a packet"),
        ("7,50,1", "7,51,1", "4: gap_ns: expected 50, the time since line 3, found 51"),
        ("7,50,1", "7,,1", "4: gap_ns: expected 50, the time since line 3, found nothing"),
        ("10,,3", "10,4,3", "2: gap_ns: the first row of a QP has none"),
        ("50,0,1,1,closed", "0,0,0,0,idle", "3: end: the burst of line 2 should continue"),
        ("1,1000000,50", "2,1000000,50", "3: burst: 2 after 1, which is continues in line 2"),
        ("2,1000100,7", "1,1000100,7", "4: burst: 1 after 1, which is closed in line 3"),
        (
            "1,1,0,0,2,1000200,0,93,0,0,idle\n",
            "",
            "4: end: the last row of host 1, QP 0 is closed, expected idle or cut: "
            "is the file whole?",
        ),
    ],
)
def test_a_damaged_file_is_named(tmp_path, tool, old, new, said):
    path = tmp_path / "reorder.csv"
    path.write_text(GOOD)
    eunomia_bursts.read(path)
    assert GOOD.count(old) == 1
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(ResultError) as caught:
        eunomia_bursts.read(path)
    assert str(caught.value) == f"{path}: {said}"


def test_bad_input_is_one_line_and_status_2(tmp_path, tool, trace):
    def fails(*arguments):
        run = tool("calibrate_epoch.py", *arguments)
        assert (run.returncode, run.stdout) == (2, "")
        assert run.stderr.count("\n") == 1
        return run.stderr

    missing = tmp_path / "none"
    assert fails(missing) == (
        f"calibrate_epoch.py: {missing}: no such file: eunomia-sim writes one with --reorderLog\n"
    )
    folder = tmp_path / "folder"
    folder.mkdir()
    assert fails(folder).startswith(f"calibrate_epoch.py: {folder}/reorder.csv: no such file")
    for miss in ("1", "-0.1", "some", "nan"):
        assert fails(trace, f"--miss={miss}") == (
            f"calibrate_epoch.py: --miss: expected a number from 0 to below 1, found '{miss}'\n"
        )
    summary = tmp_path / "summary.json"
    for text, said in (
        ('{"config": {"base_rtt_ps": "x"}}', "1: config.base_rtt_ps: expected a number above 0"),
        ('{"config": {"base_rtt_ps": 0}}', "1: config.base_rtt_ps: expected a number above 0"),
        ('{"config": 3}', "1: config: expected an object"),
        ("{", "1: column 2: "),
    ):
        summary.write_text(text)
        assert fails(trace).startswith(f"calibrate_epoch.py: {summary}: {said}")


def test_results_without_the_log_are_left_alone(one, tool):
    run = tool("calibrate_epoch.py", one)
    assert (run.returncode, run.stdout) == (2, "")
    assert f"{one}/reorder.csv: no such file" in run.stderr
    assert synthetic.FLOW_HEADER in (one / "flows.csv").read_text()
