#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compares every scheme over loads and seeds, with confidence intervals and the published claims.

usage: eunomia compare [--fast] [--OPTION=VALUE...]

  --schemes=A,B      instead of all: LB+TRANSPORT, and where wanted /bdp for a window of one
                     bandwidth-delay product and /OPTION=VALUE for anything else
  --loads=30,50,80   offered loads, % of what the uplinks carry
  --seeds=1,2,3      seeds; each is one observation of the intervals
  --duration=2ms     arrivals of a simulation
  --workload=NAME    flow sizes (AliStorage2019)
  --fast             a tenth of the arrivals, for a first look (into results/compare-fast)
  --out=DIR          results/compare: compare.html, .md, .csv, .png and runs.csv
  --OPTION=VALUE     any other option is handed to every simulation: --buffer=4MiB

Each finished simulation is kept in runs.csv. The same command goes on where it was stopped, and
simulates only what is missing; another simulator or other options begin anew.

A cell is the mean over the seeds, with a 95 % confidence interval by Student's t with n-1 degrees
of freedom; n=1 has none. A scheme that fails is named, and the others are shown.

Exit status: 0; 2 wrong use; 3 a run left flows unfinished; 1 a simulation failed.
"""

import base64
import csv
import hashlib
import io
import os
import re
import shlex

import compare_plot
import compare_report
import eunomia_results
import eunomia_study
import make_flows
from eunomia_claims import claims_table, window_table
from eunomia_intervals import changes, interval
from eunomia_jobs import STATUS_BAD_INPUT, STATUS_UNFINISHED
from eunomia_results import ResultError
from eunomia_study import ROOT, Run, SimulationFailed
from eunomia_tables import Table, count, decimal

SCHEMES = (
    "ecmp+gbn",
    "drill+gbn",
    "letflow+gbn",
    "conga+gbn",
    "conweave+gbn",
    "conweave+irn",
    "spray+gbn",
    "ecmp+irn",
    "spray+irn",
    "ecmp+mprdma",
    "spray+eunomia",
    "elephant-spray+eunomia",
    "deflect+eunomia",
    "adaptive+ddp",
    "ecmp+gbn/bdp",
    "spray+eunomia/bdp",
    "spray+eunomia/cc=dctcp",
    "adaptive+eunomia/bdp",
)
# What this command sets itself, and what has no use with several loads.
OWN = ("lb", "transport", "load", "seed", "out", "force", "flows")

# Column of runs.csv, dotted name in summary.json: such as every simulator writes.
FIGURES = (
    ("flows", "flows.total"),
    ("flows_done", "flows.done"),
    ("pauses", "pfc.pauses"),
    ("paused_us", "pfc.paused_us"),
    ("drops", "drops"),
    ("retransmitted", "packets.retransmitted"),
    ("data_bytes", "bytes.data"),
    ("ack_bytes", "bytes.ack"),
    ("sack_bytes", "bytes.sack"),
    ("nack_bytes", "bytes.nack"),
    ("cnp_bytes", "bytes.cnp"),
    ("max_span", "reorder.max_span"),
)
# Those that a run may lack: no flow of that size, nothing out of order, no such frames.
OPTIONAL = (
    *(
        (f"{flows}_{key}", f"fct_slowdown.{flows}.{key}")
        for flows in ("small", "large", "all")
        for key in ("mean", "p99")
    ),
    ("fct_mean_us", "fct_us.all.mean"),
    ("fct_p99_us", "fct_us.all.p99"),
    ("p99_span", "reorder.p99_span"),
    ("signals", "packets.signal"),
    ("signal_bytes", "bytes.signal"),
)
CONTROL = ("ack_bytes", "sack_bytes", "nack_bytes", "cnp_bytes", "signal_bytes")
DERIVED = ("control_bytes", "control_pct", "ordering_pct")
NUMBERS = (*(name for name, _ in FIGURES + OPTIONAL), *DERIVED)
KEYS = ("scheme", "load_pct", "seed")
COLUMNS = (*KEYS, "failed", *NUMBERS, "options", "key")

# (head, column, factor, text) of the two tables of a load.
FCT_CELLS = tuple(
    (f"{flows} {key}", f"{flows}_{key}", 1, decimal)
    for flows in ("small", "large", "all")
    for key in ("mean", "p99")
)
FABRIC_CELLS = (
    ("PFC pauses", "pauses", 1, count),
    ("paused ms", "paused_us", 1e-3, decimal),
    ("drops", "drops", 1, count),
    ("resent", "retransmitted", 1, count),
    ("control MB", "control_bytes", 1e-6, decimal),
    ("% of data", "control_pct", 1, decimal),
    ("span p99", "p99_span", 1, count),
    ("span max", "max_span", 1, count),
)


# ---- what to run ----


def _loads(text):
    """Percentages, ascending, each once, as texts."""
    found = set()
    for part in text.split(","):
        if not (re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,6})?", part) and 0 < float(part) <= 1000):
            raise ResultError(f"--loads: {part!r} is no percentage above 0, up to 1000")
        found.add(float(part))
    return [f"{load:.10g}" for load in sorted(found)]


def scheme_words(scheme):
    """The options of a scheme by its name."""
    name, *more = scheme.split("/")
    balancer, plus, transport = name.partition("+")
    word = r"[a-z][a-z0-9-]*"
    wrong = not (plus and re.fullmatch(word, balancer) and re.fullmatch(word, transport))
    words = [f"--lb={balancer}", f"--transport={transport}"]
    for part in more:
        wrong = wrong or not re.fullmatch(r"bdp|[A-Za-z][\w:-]*=.+", part)
        words.append("--window=bdp" if part == "bdp" else f"--{part}")
    if wrong:
        raise ResultError(f"--schemes: {scheme!r} is no LB+TRANSPORT[/bdp][/OPTION=VALUE]")
    return words


def option_name(word):
    return word.lstrip("-").partition("=")[0]


def _check_handed(options, handed):
    for word in handed:
        if not re.match(r"--[A-Za-z][^=]*(=|$)", word):
            raise ResultError(f"{word!r} is no --OPTION=VALUE (see eunomia compare --help)")
        if option_name(word) in OWN:
            raise ResultError(f"--{option_name(word)} is set by this command; use eunomia sim")
    given = {option_name(word) for word in handed}
    for scheme in options.schemes:
        own = {option_name(word) for word in scheme_words(scheme)}
        for name in sorted(own & set(OWN) - {"lb", "transport"} | own & given):
            raise ResultError(f"--{name}: {scheme} sets it; choose others with --schemes")


def parse(arguments):
    parser = eunomia_study.Parser("compare", "compare")
    parser.add_argument("--schemes", default=",".join(SCHEMES))
    parser.add_argument("--loads", default="30,50,80")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--duration")
    parser.add_argument("--workload", default="AliStorage2019")
    parser.add_argument("--fast", action="store_true")
    parser.set_defaults(out=None)
    options, handed = parser.parse_known_args(arguments)
    options.schemes = list(dict.fromkeys(options.schemes.split(",")))
    options.loads = _loads(options.loads)
    options.seeds = eunomia_study.wholes("seeds", options.seeds, 1, 999999999)
    options.duration = options.duration or ("200us" if options.fast else "2ms")
    folder = "compare-fast" if options.fast else "compare"
    options.out = options.out or os.path.join(ROOT, "results", folder)
    try:
        make_flows.quantity(options.duration, make_flows.TIME_UNITS, "duration")
    except make_flows.InputError as error:
        raise ResultError(str(error)) from None
    _check_handed(options, handed)
    options.handed = handed
    return options


def figures(result):
    """Columns of runs.csv from one result."""
    row = eunomia_study.read(result, FIGURES)
    row.update((name, result.number(path)) for name, path in OPTIONAL)
    control = sum(row[name] or 0 for name in CONTROL)
    share = 100 / row["data_bytes"] if row["data_bytes"] else None
    row["control_bytes"] = control
    row["control_pct"] = share and round(control * share, 6)
    if row["max_span"] == 0:
        row["p99_span"] = 0  # nothing came early: no percentile, but as short a span as the longest
    row["ordering_pct"] = share and round((row["sack_bytes"] + row["nack_bytes"]) * share, 6)
    return row


# ---- runs that are kept ----


def _digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def _number(text):
    """A number as it was written; None for an empty cell."""
    if text == "":
        return None
    return int(text) if text.isdecimal() else float(text)


class Kept:
    """runs.csv: the row of each simulation that gave results, by a digest of the simulator, the
    options and the file of sizes."""

    def __init__(self, options):
        self.path = os.path.join(options.out, "runs.csv")
        self.same = _digest(options.sim)
        sizes = options.workload.removeprefix("file:")
        if sizes != options.workload:
            self.same += _digest(sizes)
        self.rows = {}
        if os.path.isfile(self.path):
            with open(self.path, encoding="utf-8", newline="") as file:
                self._read(csv.reader(file))

    def _read(self, reader):
        """Takes what fits; anything else, such as rows of another release, is simulated anew."""
        if next(reader, None) != list(COLUMNS):
            return
        for cells in reader:
            row = dict(zip(COLUMNS, cells))
            try:
                row.update((name, _number(row[name])) for name in NUMBERS)
                if row["key"] == self.key(shlex.split(row["options"])):
                    self.rows[row["key"]] = row
            except (KeyError, ValueError):
                continue

    def key(self, words):
        return hashlib.sha256("\n".join([self.same, *words]).encode()).hexdigest()[:16]

    def get(self, words):
        return self.rows.get(self.key(words))

    def add(self, row):
        self.rows[row["key"]] = row
        self.write(self.rows.values())

    def write(self, rows):
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        eunomia_study.write_whole(self.path, text.getvalue().encode())

    def finish(self, rows):
        """Puts this command's rows first, in its order."""
        mine = {row["key"]: row for row in rows if not row["failed"]}
        self.write({**mine, **{k: v for k, v in self.rows.items() if k not in mine}}.values())


class SchemeRun(Run):
    """One simulation, whose failure is a row, too."""

    def __init__(self, keys, words, kept):
        name = f"{keys['scheme']}, load {keys['load_pct']} %, seed {keys['seed']}"
        super().__init__(name, keys, words)
        self.kept = kept
        self.status = None

    def row(self, figures):
        self.status = self.poll()
        row = {**self.keys, "failed": "", "options": shlex.join(self.words)}
        row["key"] = self.kept.key(self.words)
        if self.status not in (0, STATUS_UNFINISHED):
            ending = self.ending().removeprefix("failed (").removesuffix(")")
            row.update(dict.fromkeys(NUMBERS), failed=f"{ending}: {self.last_words()}")
            return {**row, "flows": 0, "flows_done": 0}
        row.update(super().row(figures))
        self.kept.add(row)
        return row


def runs(options, kept):
    """All simulations of the comparison, kept or not."""
    found = []
    for load in options.loads:
        for scheme in options.schemes:
            for seed in options.seeds:
                keys = {"scheme": scheme, "load_pct": load, "seed": seed}
                words = [*scheme_words(scheme), f"--workload={options.workload}"]
                words += [f"--load={float(load) / 100:.10g}", f"--duration={options.duration}"]
                found.append(SchemeRun(keys, [*words, f"--seed={seed}", *options.handed], kept))
    return found


def simulate(options, scratch):
    """The rows of all runs, from runs.csv where they are there."""
    kept = Kept(options)
    wanted = runs(options, kept)
    missing = [run for run in wanted if kept.get(run.words) is None]
    rows = dict(zip(missing, eunomia_study.simulate(missing, options.sim, scratch, figures)))
    rows = [rows[run] if run in rows else {**kept.get(run.words), **run.keys} for run in wanted]
    if all(row["failed"] for row in rows):
        if all(run.status == STATUS_BAD_INPUT for run in wanted):
            raise ResultError(rows[0]["failed"].partition(": ")[2])
        raise SimulationFailed(f"{wanted[0].scheme}: {rows[0]['failed']}")
    kept.finish(rows)
    return rows


# ---- what came of it ----


class Comparison:
    """The rows by scheme, load and seed; schemes and loads in the order of the rows."""

    def __init__(self, rows):
        self.rows = {(row["scheme"], row["load_pct"], row["seed"]): row for row in rows}
        self.schemes, self.loads, self.seeds = (
            list(dict.fromkeys(row[name] for row in rows)) for name in KEYS
        )

    def runs(self, scheme, load):
        """{seed: row} of those that gave results."""
        found = {seed: self.rows.get((scheme, load, seed)) for seed in self.seeds}
        return {seed: row for seed, row in found.items() if row and not row["failed"]}

    def values(self, scheme, load, figure):
        """{seed: number}; where a run has none, it is missing."""
        found = {seed: row[figure] for seed, row in self.runs(scheme, load).items()}
        return {seed: value for seed, value in found.items() if value is not None}

    def interval(self, scheme, load, figure, factor=1):
        return interval([v * factor for v in self.values(scheme, load, figure).values()])

    def problems(self, scheme, load):
        """Sentences on runs that failed or left flows."""
        rows = [row for seed in self.seeds if (row := self.rows.get((scheme, load, seed)))]
        failed = [row for row in rows if row["failed"]]
        if failed:
            yield (
                f"{scheme}: {len(failed)} of {len(rows)} simulations failed; "
                f"seed {failed[0]['seed']}: {failed[0]['failed']}"
            )
        total, done = (sum(row[name] for row in rows) for name in ("flows", "flows_done"))
        if done < total:
            yield (
                f"* {scheme}: {total - done:,} of {total:,} flows did not finish; "
                "its averages leave them out"
            )

    def observations(self, scheme, load):
        """n as text: with a star where flows did not finish."""
        rows = self.runs(scheme, load).values()
        left = any(row["flows_done"] < row["flows"] for row in rows)
        return f"{len(rows) or 'failed'}{'*' if left else ''}"


def load_table(comparison, load, title, cells, notes):
    rows = [
        [
            scheme,
            comparison.observations(scheme, load),
            *(text(comparison.interval(scheme, load, *which)) for _, *which, text in cells),
        ]
        for scheme in comparison.schemes
    ]
    return Table(f"{title} at {load} % load", ["scheme", "n", *(c[0] for c in cells)], rows, notes)


def best_at(comparison, load):
    """A sentence on the lowest mean slowdown, and on what is not told apart from it."""
    means = {
        scheme: found
        for scheme in comparison.schemes
        if (found := comparison.interval(scheme, load, "all_mean"))
        and not list(comparison.problems(scheme, load))
    }
    if not means:
        return f"At {load} % no scheme finished all flows with all seeds."
    best = min(means, key=lambda scheme: means[scheme].mean)
    text = f"At {load} % {best} has the lowest mean slowdown, {decimal(means[best])}"
    if means[best].n == 1:
        return f"{text}, with one seed."
    ours, level = comparison.values(best, load, "all_mean"), []
    for scheme in means:
        found = interval(changes(comparison.values(scheme, load, "all_mean"), ours)[0])
        if scheme != best and found and found.reach()[0] <= 0:
            level.append(scheme)
    return f"{text}; not told apart from it by seed: {', '.join(level) or 'none'}."


def tables_of(comparison, load):
    problems = [text for s in comparison.schemes for text in comparison.problems(s, load)]
    return [
        load_table(comparison, load, "FCT slowdown", FCT_CELLS, problems),
        load_table(comparison, load, "Fabric", FABRIC_CELLS, []),
    ]


FOOTNOTES = (
    "Cells: mean over n seeds, half of its 95 % confidence interval (Student's t, n-1 degrees of "
    "freedom).",
    "small, large: flows below and from one bandwidth-delay product; paused: all ports added up; "
    "resent: packets;",
    "control: ACK, SACK, NACK, CNP and signals of balancers; their share of the data bytes sent;",
    "span: PSNs that an early packet is ahead of the one awaited.",
)


def _summary_rows(comparison):
    """Rows of compare.csv."""
    for load in comparison.loads:
        for scheme in comparison.schemes:
            for name in NUMBERS:
                found = comparison.interval(scheme, load, name)
                half = None if found is None else found.half
                yield {
                    "scheme": scheme,
                    "load_pct": load,
                    "figure": name,
                    "n": found.n if found else 0,
                    "mean": f"{found.mean:.10g}" if found else "",
                    "half_width_95": "" if half is None else f"{half:.10g}",
                }


def conclude(options, scratch):
    """Runs what is missing and writes everything; the rows and the lines to print."""
    rows = simulate(options, scratch)
    comparison = Comparison(rows)
    best = [best_at(comparison, load) for load in comparison.loads]
    loads = {load: tables_of(comparison, load) for load in comparison.loads}
    after = [claims_table(comparison, options.duration), window_table(comparison)]
    after = [table for table in after if table]
    tables = [table for pair in loads.values() for table in pair]
    summary = list(_summary_rows(comparison))
    paths = eunomia_study.publish(
        options.out, "compare", summary, lambda: compare_plot.draw(comparison)
    )
    title = f"{len(comparison.schemes)} schemes on {os.path.basename(options.workload)}"
    facts = f"{options.duration} of arrivals, seeds {', '.join(map(str, comparison.seeds))}"
    facts += "".join(f", {word}" for word in options.handed)
    with open(os.path.join(options.out, "compare.png"), "rb") as file:
        picture = base64.b64encode(file.read()).decode("ascii")
    pages = {
        "compare.md": compare_report.markdown(title, facts, best, [*tables, *after], FOOTNOTES),
        "compare.html": compare_report.page(title, facts, best, loads, after, FOOTNOTES, picture),
    }
    for name, text in pages.items():
        path = os.path.join(options.out, name)
        eunomia_study.write_whole(path, text.encode())
        paths.append(os.path.relpath(path))
    lines = [line for table in tables for line in ["", *table.text()]][1:] + list(FOOTNOTES)
    lines += ["", *best]
    lines += [line for table in after for line in ["", *table.text()]]
    return rows, [*lines, "", *paths, os.path.relpath(os.path.join(options.out, "runs.csv"))]


def main(arguments=None):
    return eunomia_study.conduct("compare", __doc__, parse(arguments), conclude)


if __name__ == "__main__":
    eunomia_results.run_tool("eunomia compare", main)
