# SPDX-License-Identifier: GPL-2.0-only
"""The report: one file that needs nothing else, with the figures of the results in it."""

import base64
import re
from html.parser import HTMLParser

import pytest

import synthetic

VOID = {"meta", "img", "br", "wbr"}


class Page(HTMLParser):
    """Tags in order, attributes that load something, and text; fails where tags do not match."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.loads, self.text = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        self.loads += [value for name, value in attributes if name in ("src", "href", "srcset")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.text.append(data)


@pytest.fixture(scope="module")
def drawn(clos, tool, tmp_path_factory):
    """(folder, text) of the report on five schemes."""
    folder = tmp_path_factory.mktemp("report") / "out"
    return folder, report_of(tool, folder, clos[0])


def report_of(tool, out, *folders):
    run = tool("report.py", out, *folders)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == f"{out}/report.html\n"
    return (out / "report.html").read_text(encoding="utf-8")


def test_it_needs_nothing_else(clos, drawn):
    out, text = drawn
    page = Page(text)
    assert "script" not in page.tags and "link" not in page.tags
    assert len(page.loads) == 5
    for load, name in zip(
        page.loads, ("fct_cdf.png", "fct_by_size.png", "pfc.png", "queue.png", "pool.png")
    ):
        kind, _, data = load.partition(",")
        assert kind == "data:image/png;base64"
        assert base64.b64decode(data) == (out / name).read_bytes()
    without = re.sub(r"base64,[A-Za-z0-9+/=]+", "", text)
    for outside in ("http:", "https:", "//", "@import", "url("):
        assert outside not in without
    assert str(out) not in text and str(clos[0]) not in text


def test_it_opens_with_the_verdict_and_holds_the_figures(clos, drawn):
    page = Page(drawn[1])
    text = " ".join(page.text)
    assert "5 schemes on AliStorage2019 at 50\u2009% load" in text
    assert "8\u00d78 Clos, 128 hosts, 100 Gb/s links, 1,500 flows" in text
    verdict = text.index("spray+eunomia finishes flows fastest")
    assert verdict < text.index("In numbers") < text.index("Set-up") < text.index("The runs")
    for _, figures in clos[1].values():
        assert f"{figures['fct_slowdown']['all']['mean']:,.2f}" in text
        assert f"{figures['pfc']['pauses']:,}" in text


def test_the_best_is_marked_once_a_row(clos, drawn):
    rows = re.findall(r"<tr><th scope=row>mean</th>.*?</tr>", drawn[1])
    assert len(rows) == 3
    want = clos[1]["spray+eunomia"][1]["fct_slowdown"]["all"]["mean"]
    assert re.findall(r'class="num best">([\d.]+)', rows[0]) == [f"{want:.2f}"]


def test_options_that_differ_are_set_apart(drawn):
    text = drawn[1]
    apart, shared = text[text.index("Set-up") :].split("The same in all runs")
    assert ">transport<" in apart and ">verb<" in apart and ">mtu<" not in apart
    assert ">transport<" not in shared
    for pair in (
        "<dt>mtu</dt><dd>1024</dd>",
        "<dt>linkRate</dt><dd>100 Gb/s</dd>",
        "<dt>duration</dt><dd>2 ms</dd>",
        "<dt>warmup</dt><dd>0</dd>",
        "<dt>pfc</dt><dd>on</dd>",
        "<dt>bdp</dt><dd>104,000 bytes</dd>",
        "<dt>EunomiaNic::PoolBlocks</dt><dd>1024</dd>",
    ):
        assert pair in shared


def test_one_folder_gets_a_report_of_its_own(one, tool):
    page = Page(report_of(tool, one, one))
    text = " ".join(page.text)
    assert "spray+eunomia: mean slowdown" in text and "One run a scheme" not in text


def test_names_from_outside_are_escaped(tmp_path, tool, seed):
    folder = tmp_path / "<b>&x"
    synthetic.write(folder, "plain", flows=20, seed=seed, extras=False)
    text = report_of(tool, tmp_path / "out", folder)
    assert "<b>" not in text and "&lt;b&gt;&amp;x" in text


def test_unfinished_flows_are_told(tmp_path, tool, seed):
    for scheme in ("ecmp+gbn", "spray+gbn", "spray+eunomia"):
        left = 4 if scheme == "spray+gbn" else 0
        synthetic.write(tmp_path / "c" / scheme, scheme, flows=60, seed=seed, unfinished=left)
    text = report_of(tool, tmp_path / "out", tmp_path / "c")
    assert "spray+gbn left 4 of 60 flows unfinished" in text and "56 of 60" in text


def test_errors_are_one_line_and_status_2(one, tool, tmp_path):
    (one / "summary.json").unlink()
    run = tool("report.py", tmp_path / "out", one)
    assert run.returncode == 2 and not (tmp_path / "out").exists()
    assert run.stderr == (
        f"report.py: {one / 'summary.json'}: no such file: is this a result folder?\n"
    )
    (tmp_path / "file").write_text("")
    synthetic.write(tmp_path / "good", flows=5, extras=False)
    run = tool("report.py", tmp_path / "file", tmp_path / "good")
    assert run.returncode == 2 and run.stderr.count("\n") == 1
    assert str(tmp_path / "file") in run.stderr
