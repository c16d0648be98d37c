# SPDX-License-Identifier: GPL-2.0-only
"""The pictures: what their lines hold, their size, and that missing data leaves a picture."""

import random
import struct

import matplotlib.colors
import numpy as np
import pytest

import eunomia_figures
import eunomia_results
import synthetic


def png_size(path):
    """(width, height) from the header of a PNG file."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and data[12:16] == b"IHDR"
    return struct.unpack(">II", data[16:24])


def lines_of(axis):
    return [line for line in axis.get_lines() if line.get_xdata() is not None]


@pytest.fixture
def results(clos):
    return eunomia_results.load_all([clos[0]])


@pytest.fixture
def looks(results):
    return eunomia_figures.styles([result.label for result in results])


def test_every_picture_has_its_size(results, tmp_path):
    names = eunomia_figures.draw(results, tmp_path)
    assert names == ["fct_cdf.png", "fct_by_size.png", "pfc.png", "pool.png", "queue.png"]
    for name in names:
        assert png_size(tmp_path / name) == (1600, 656), name


def test_equal_results_give_equal_bytes(results, tmp_path):
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
        eunomia_figures.draw(results[:2], tmp_path / place)
    for name in eunomia_figures.FIGURES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_known_schemes_keep_their_colours_and_all_differ():
    known = list(eunomia_results.SCHEME_ORDER)
    alone = eunomia_figures.styles(["spray+eunomia"])
    assert alone["spray+eunomia"] == eunomia_figures.styles(known)["spray+eunomia"]
    many = known + [f"run{number}" for number in range(15)]
    looks = eunomia_figures.styles(many)
    assert len({looks[label] for label in known}) == len(known)
    assert len({looks[label] for label in many[len(known) :]}) == 15


def test_names_are_dark_enough_to_read():
    for colour, _ in [*eunomia_figures.STYLES.values(), *eunomia_figures.SPARE_STYLES]:
        rgb = np.array(matplotlib.colors.to_rgb(eunomia_figures.darker(colour)))
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        contrast = 1.05 / (linear @ (0.2126, 0.7152, 0.0722) + 0.05)
        assert contrast >= 4.5, colour  # WCAG 2.1, level AA


def test_the_cdf_holds_every_flow(results, looks, clos):
    figure = eunomia_figures.fct_cdf(results, looks)
    left, right = figure.axes
    for line, tail, (rows, figures) in zip(lines_of(left), lines_of(right), clos[1].values()):
        assert list(line.get_xdata()) == sorted(row["slowdown"] for row in rows)
        assert line.get_ydata()[-1] == 100
        at_p99 = np.interp(2, tail.get_xdata(), tail.get_ydata())
        assert at_p99 == pytest.approx(figures["fct_slowdown"]["all"]["p99"], rel=0.02)


def test_size_bins_hold_equally_many_flows(results, clos):
    bounds = eunomia_figures.size_bins(results)
    assert bounds.size == eunomia_figures.SIZE_BINS
    rows = clos[1]["ecmp+gbn"][0]
    per_bin = [0] * bounds.size
    for row in rows:
        per_bin[next(i for i, bound in enumerate(bounds) if row["bytes"] <= bound)] += 1
    assert max(per_bin) - min(per_bin) <= 3
    means = eunomia_figures.by_size(results[0], bounds, np.mean)
    low, high = bounds[3], bounds[4]
    part = [row["slowdown"] for row in rows if low < row["bytes"] <= high]
    assert means[4] == pytest.approx(sum(part) / len(part))


def test_flows_of_one_size_make_one_bin(one):
    result = eunomia_results.load(one)
    result.flows["bytes"][:] = 4096
    assert eunomia_figures.size_bins([result]).tolist() == [4096]


def test_pauses_add_up(results, looks, clos):
    figure = eunomia_figures.pfc(results, looks)
    bars = [patch.get_width() for patch in figure.axes[0].patches]
    want = [figures["pfc"]["pauses"] for _, figures in clos[1].values()]
    assert bars == want
    assert [line.get_ydata()[-1] for line in lines_of(figure.axes[2])] == want


@pytest.mark.parametrize("start_ns", [0, 2_000_000_000])
def test_time_starts_with_the_first_flow(tmp_path, seed, start_ns):
    synthetic.write(tmp_path / "r", flows=80, seed=seed, start_ns=start_ns)
    result = eunomia_results.load(tmp_path / "r")
    looks = eunomia_figures.styles(["r"])
    axis = eunomia_figures.pool([result], looks).axes[0]
    assert lines_of(axis)[0].get_xdata()[0] == pytest.approx(0.01)  # ms: one sampling interval
    assert axis.get_xlim()[0] == 0


def test_thinning_keeps_peaks_and_means():
    time, value = np.arange(10_000.0), np.zeros(10_000)
    value[1234] = 7.0
    _, peaks = eunomia_figures._thin(time, value, 1e9, "max")
    _, means = eunomia_figures._thin(time, value, 1e9, "mean")
    assert peaks.size <= eunomia_figures.MAX_POINTS
    assert peaks.max() == 7.0 and means.mean() == pytest.approx(7e-4)


def test_labels_keep_order_and_distance(seed):
    luck = random.Random(seed)
    for _ in range(200):
        wanted = sorted(luck.random() for _ in range(luck.randrange(1, 9)))
        places = eunomia_figures._apart(wanted, 0.1)
        assert all(b - a >= 0.1 - 1e-9 for a, b in zip(places, places[1:]))
        if all(b - a >= 0.1 for a, b in zip(wanted, wanted[1:])):
            assert places == pytest.approx(wanted)


def strip(folder, keep):
    """Leaves only the samples whose metric is in `keep`; no file where none is."""
    path = folder / "timeseries.csv"
    lines = path.read_text().splitlines()
    left = [line for line in lines[1:] if line.split(",")[1] in keep]
    path.unlink()
    if left:
        path.write_text("\n".join([lines[0], *left]) + "\n")


@pytest.mark.parametrize("keep", [(), ("pool_blocks",), ("queue_bytes",), ("uplink_bytes",)])
def test_missing_samples_leave_a_picture(one, tmp_path, keep):
    strip(one, keep)
    if not keep:
        (one / "pfc.csv").unlink()
    eunomia_figures.draw([eunomia_results.load(one)], tmp_path)
    for name in eunomia_figures.FIGURES:
        assert png_size(tmp_path / name) == (1600, 656)


@pytest.mark.parametrize("flows, unfinished", [(1, 0), (2, 0), (3, 3)])
def test_a_handful_of_flows_leaves_a_picture(tmp_path, seed, flows, unfinished):
    synthetic.write(tmp_path / "r", flows=flows, seed=seed, unfinished=unfinished, extras=False)
    eunomia_figures.draw([eunomia_results.load(tmp_path / "r")], tmp_path)
    assert png_size(tmp_path / "fct_cdf.png") == (1600, 656)
