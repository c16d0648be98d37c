# SPDX-License-Identifier: GPL-2.0-only
"""The pictures of the memory report: what they hold, that they are none of them empty, refusals."""

import copy
import json

import matplotlib.image
import matplotlib.pyplot as plt
import numpy as np
import pytest

import memory_plots
import synthetic

NAMES = ["model.png", "measured.png", "microbenchmark.png", "block_size.png", "admission.png"]


@pytest.fixture
def report(tmp_path):
    def write(data):
        path = tmp_path / "memory.json"
        path.write_text(data if isinstance(data, str) else json.dumps(data))
        return path

    return write


def lines_of(axis):
    """{legend label: (x, y)} of the lines of a panel."""
    return {line.get_label(): line.get_data() for line in axis.get_lines()}


def panels(make, path):
    figure = make(memory_plots.Report(path))
    plt.close(figure)
    return figure.axes


def test_every_picture_is_there_and_none_is_blank(report, tool, tmp_path):
    out = tmp_path / "pictures"
    run = tool("memory_plots.py", report(synthetic.memory_report()), out, cwd=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.splitlines() == [f"pictures/{name}" for name in NAMES]
    assert sorted(path.name for path in out.iterdir()) == sorted(NAMES)
    for name in NAMES:
        pixels = matplotlib.image.imread(out / name)[..., :3]
        assert pixels.shape == (656, 1600, 3)
        assert 0.01 < (pixels.min(axis=2) < 0.9).mean() < 0.9, name


def test_equal_reports_give_equal_bytes(report, tmp_path):
    for place in ("a", "b"):
        memory_plots.draw(report(synthetic.memory_report()), tmp_path / place)
    for name in NAMES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_lines_of_the_model_pass_through_its_crossings(report):
    left = panels(memory_plots.model, report(synthetic.memory_report()))[0]
    lines = lines_of(left)
    for psns, crossing in (("16", 74.0), ("64", 66.0714), ("256", 46.25)):
        x, y = lines[f"{psns} PSNs"]
        assert np.interp(crossing, x, y) == pytest.approx(41, abs=0.001)
        assert (y[0], y[-1]) == (4, 52 + int(psns) / 8)


def test_bars_are_the_counted_bytes(report):
    left, right = panels(memory_plots.measured, report(synthetic.memory_report()))
    model, state, control, unused = left.containers
    assert [bar.get_height() for bar in model] == pytest.approx([0.0068, 0.0152, 0.0376, 0.06])
    for parts in zip(state, control, unused):
        for below, above in zip(parts, parts[1:]):
            assert above.get_y() == pytest.approx(below.get_y() + below.get_height())
    tops = [bar.get_y() + bar.get_height() for bar in unused]
    assert tops == pytest.approx([(4310 + 565 * pct) / 1e6 for pct in (5, 20, 60, 100)])
    assert right.patches[0].get_height() == pytest.approx(100 * (7135 / 6800 - 1))


def test_the_microbenchmark_shows_its_steps_and_crossings(report):
    (axis,) = panels(memory_plots.microbenchmark, report(synthetic.memory_report()))
    lines = lines_of(axis)
    assert list(lines["dynamic, peak"][1]) == [80 + 58 * n for n in range(21)]
    assert list(lines["dynamic, bitmaps grown"][1]) == [80 + 56 * n for n in range(21)]
    texts = [text.get_text() for text in axis.texts]
    assert "63.79 %" in texts and "66.07 %" in texts


def test_a_missing_crossing_is_not_drawn(report):
    data = synthetic.memory_report()
    data["microbenchmark_crossing_pct"] = None
    (axis,) = panels(memory_plots.microbenchmark, report(data))
    assert "63.79 %" not in [text.get_text() for text in axis.texts]


def test_block_sizes_show_every_distribution(report):
    data = synthetic.memory_report()
    data["block_size"]["mean_span_psns"]["measured"] = 7.25
    for row in data["block_size"]["rows"]:
        row["measured"] = copy.deepcopy(row["geometric"])
    total, waste, allocations = panels(memory_plots.block_size, report(data))
    measured = lines_of(total)["measured, mean span 7.2 PSNs"][1]
    assert list(measured) == [52, 104, 208, 416, 832, 1664]
    assert list(lines_of(waste)["uniform, mean span 129.0 PSNs"][1]) == [3, 6, 12, 24, 48, 96]
    assert list(lines_of(allocations)["bits of an id"][1]) == [11, 10, 9, 8, 7, 6]


def test_admission_shows_the_served_qps_under_the_limit(report):
    axis, share = panels(memory_plots.admission, report(synthetic.memory_report()))
    lines = lines_of(axis)
    x, served = lines["served by the allocator"]
    assert list(served) == [40 - n // 16 for n in range(16, 257, 16)]
    limit = np.interp(x, *lines["model, before rounding down"])
    assert limit == pytest.approx(2048 / (48 + np.array(x) / 8), rel=1e-3)
    assert share.get_ylim()[1] == pytest.approx(axis.get_ylim()[1] / 10)  # percent of 1,000


@pytest.mark.parametrize(
    "spoil, said",
    [
        (lambda data: data.pop("model"), "model.bytes.fixed: expected a number, found null"),
        (
            lambda data: data["microbenchmark"][3].update(settled_bytes="x"),
            'microbenchmark[3].settled_bytes: expected a number, found "x"',
        ),
        (
            lambda data: data["block_size"]["rows"][1].pop("uniform"),
            "block_size.rows[1].uniform.total_bytes: expected a number, found null",
        ),
        (lambda data: data["admission"].update(rows=[]), "admission.rows: the list is empty"),
        (
            lambda data: data.update(measured_by_share=7),
            "measured_by_share: expected a list, found 7",
        ),
    ],
)
def test_a_spoilt_report_is_named_and_nothing_is_drawn(report, tool, tmp_path, spoil, said):
    data = synthetic.memory_report()
    spoil(data)
    path = report(data)
    run = tool("memory_plots.py", path, tmp_path / "out")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == f"memory_plots.py: {path}: {said}\n"
    assert not (tmp_path / "out").exists()


def test_no_report_at_all(report, tool, tmp_path):
    run = tool("memory_plots.py", tmp_path / "no.json", tmp_path / "out")
    assert run.returncode == 2
    assert run.stderr == f"memory_plots.py: {tmp_path}/no.json: No such file or directory\n"
    path = report("{")
    run = tool("memory_plots.py", path, tmp_path / "out")
    assert run.returncode == 2
    assert run.stderr.startswith(f"memory_plots.py: {path}: 1: column 2: ")
    # A file where the folder should be.
    run = tool("memory_plots.py", report(synthetic.memory_report()), path)
    assert run.returncode == 2 and run.stderr == f"memory_plots.py: {path}: File exists\n"
    assert tool("memory_plots.py").returncode == 2
