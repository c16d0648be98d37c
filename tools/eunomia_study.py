# SPDX-License-Identifier: GPL-2.0-only
"""What the studies share: many simulations of one question, a CSV, a picture and a table.

A study makes Runs, simulate() plays them, and publish() writes what came of them. conduct() is its
main(): it turns every way to end into one line on stderr and an exit status, and leaves no empty
folder behind.
"""

import argparse
import csv
import io
import os
import re
import shutil
import signal
import sys
import tempfile

import eunomia_results
from eunomia_jobs import STATUS_BAD_INPUT, STATUS_UNFINISHED, Job, play
from eunomia_results import ResultError

import matplotlib.pyplot as plt

from eunomia_figures import DPI, RC

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class SimulationFailed(Exception):
    """A simulation ended badly; the text says which and what it said."""


# ---- what to run ----


class Parser(argparse.ArgumentParser):
    """The options of a study, which it refuses in one line."""

    def __init__(self, name, folder):
        super().__init__(prog=f"eunomia {name}", add_help=False, allow_abbrev=False)
        self.add_argument("--out", default=os.path.join(ROOT, "results", folder))
        self.add_argument("--sim", default=os.path.join(ROOT, "build", "eunomia-sim"))
        self.add_argument("-h", "--help", action="store_true")

    def error(self, message):
        raise ResultError(message)


def whole(name, text, low, high):
    """The value of an option that takes a whole number."""
    if not (re.fullmatch(r"[0-9]{1,9}", text) and low <= int(text) <= high):
        raise ResultError(f"--{name}: {text!r} is no whole number in {low}..{high}")
    return int(text)


def wholes(name, text, low, high):
    """The values of one that takes several, with commas: sorted, each once."""
    return sorted({whole(name, part, low, high) for part in text.split(",")})


class Run(Job):
    """One simulation; `keys` are the columns that tell it apart."""

    def __init__(self, scheme, keys, words):
        super().__init__(scheme, words)
        self.keys = keys

    def row(self, figures):
        """Its figures by column, once it has ended; `figures` maps its result to some of them."""
        status = self.poll()
        if status not in (0, STATUS_UNFINISHED):
            if status == STATUS_BAD_INPUT:
                raise ResultError(self.last_words())
            raise SimulationFailed(f"{self.scheme}: {self.last_words()}")
        row = {**self.keys, **figures(eunomia_results.load(self.folder))}
        shutil.rmtree(self.folder)
        return row


def read(result, figures):
    """{column: number} of (column, dotted name in summary.json), none of which may be missing."""
    row = {}
    for name, path in figures:
        row[name] = result.number(path)
        if row[name] is None:
            raise ResultError(f"{result.folder}/summary.json: {path}: missing")
    return row


def simulate(runs, sim, scratch, figures):
    """Rows of all runs, in their order."""
    places = {run: str(place) for place, run in enumerate(runs)}
    rows = {}

    def ended(run, progress):
        rows[run] = run.row(figures)
        if not progress.live:
            progress.event(f"{len(rows)} of {len(runs)} done; {run.scheme}")

    play(runs, lambda run: run.start(sim, os.path.join(scratch, places[run])), ended)
    return [rows[run] for run in runs]


# ---- what came of it ----


def line(axis, places, values, label, **look):
    """Mean over the seeds, and their range as a band; `values` is an array (places, seeds)."""
    (drawn,) = axis.plot(places, values.mean(axis=1), label=label, markersize=4, **look)
    axis.fill_between(
        places,
        values.min(axis=1),
        values.max(axis=1),
        color=drawn.get_color(),
        alpha=0.18,
        linewidth=0,
    )


def write_whole(path, data):
    """Writes the bytes as a file, or leaves what was there."""
    with open(path + ".new", "wb") as file:
        file.write(data)
    os.replace(path + ".new", path)


def publish(out, name, rows, draw):
    """Writes the rows as NAME.csv and the figure that draw() makes as NAME.png, each whole or not
    at all; returns their paths as lines to print."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    picture = io.BytesIO()
    with plt.rc_context(RC):
        figure = draw()
        figure.savefig(picture, format="png", dpi=DPI, metadata={"Software": None})
        plt.close(figure)
    paths = []
    for kind, data in (("csv", text.getvalue().encode()), ("png", picture.getvalue())):
        path = os.path.join(out, f"{name}.{kind}")
        write_whole(path, data)
        paths.append(os.path.relpath(path))
    return paths


# ---- main ----


def _run(name, options, study):
    os.makedirs(options.out, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.out, prefix="runs-") as scratch:
        rows, lines = study(options, scratch)
    print("\n".join(lines))
    left = sum(row["flows"] - row["flows_done"] for row in rows)
    if left:
        print(f"eunomia {name}: {left:,.0f} flows did not finish", file=sys.stderr)
    failed = sum(bool(row.get("failed")) for row in rows)
    if failed:
        print(f"eunomia {name}: {failed} of {len(rows)} simulations failed", file=sys.stderr)
        return 1
    return STATUS_UNFINISHED if left else 0


def conduct(name, usage, options, study):
    """Runs study(options, scratch folder), which gives the rows and the lines to print; each row
    has `flows` and `flows_done`, and may say in `failed` why it has no figures. Result: the exit
    status."""
    if options.help:
        print(usage.strip())
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends the simulations, too
    new = not os.path.isdir(options.out)
    try:
        return _run(name, options, study)
    except SimulationFailed as error:
        print(f"eunomia {name}: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"eunomia {name}: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"eunomia {name}: stopped", file=sys.stderr)
        return 130
    finally:
        if new and os.path.isdir(options.out) and not os.listdir(options.out):
            os.rmdir(options.out)
