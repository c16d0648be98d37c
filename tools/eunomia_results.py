# SPDX-License-Identifier: GPL-2.0-only
"""Result folders of eunomia-sim as Python objects.

`load(folder)` reads flows.csv and summary.json, and timing.json, pfc.csv and timeseries.csv where
they exist. Anything malformed raises ResultError, one line `file: line: field: problem`.
"""

import csv
import json
import math
import os
import sys
from dataclasses import dataclass, field

import numpy as np

# Columns of flows.csv that the tools use; a file may have more, in any order.
FLOW_COLUMNS = (
    "bytes",
    "start_ns",
    "fct_ns",
    "slowdown",
    "packets",
    "retransmitted",
    "out_of_order",
    "max_reorder_span",
    "gate_wait_ns",
)
# How a comparison lists the schemes it knows; others follow by name.
SCHEME_ORDER = (
    "ecmp+gbn",
    "conweave+gbn",
    "ecmp+irn",
    "spray+gbn",
    "spray+eunomia",
    "spray+eunomia-write",
)
PFC_COLUMNS = ("time_ns", "node", "port", "priority", "event")
SERIES_COLUMNS = ("time_ns", "metric", "where", "value")
# Of reorder.csv: all but the last are whole numbers, and gap_ns may be empty.
REORDER_COLUMNS = (
    "ms",
    "host",
    "qp",
    "flow",
    "burst",
    "start_ns",
    "duration_ns",
    "gap_ns",
    "span",
    "packets",
    "end",
)
REORDER_ENDS = ("closed", "continues", "cut", "idle")


class ResultError(Exception):
    """A result folder cannot be used; the text names file, line, field and problem."""


@dataclass
class Result:
    """One result folder. Times in ns, sizes in bytes; `flows` maps a column to a float array."""

    folder: str
    label: str
    flows: dict
    done: np.ndarray  # bool per flow: it completed
    summary: dict
    timing: dict = field(default_factory=dict)
    pauses: dict = None  # node, port, time_ns (arrays) of the pauses; None: no pfc.csv
    series: dict = field(default_factory=dict)  # (metric, where) -> (time_ns, value), by time

    def number(self, path):
        """The number at a dotted path of summary.json, None where there is none."""
        value = self.summary
        for key in path.split("."):
            if not isinstance(value, dict) or key not in value:
                return None
            value = value[key]
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ResultError(
                f"{os.path.join(self.folder, 'summary.json')}: {path}: "
                f"expected a number, found {json.dumps(value)[:40]}"
            )
        return value

    def config(self):
        """The options of the run, nested ones flattened to dotted names."""
        return dict(_flatten(self.summary.get("config", {})))

    def slowdowns(self):
        """Slowdown of the flows that completed."""
        return self.flows["slowdown"][self.done]

    def wheres(self, metric):
        """Where a metric of timeseries.csv was sampled, sorted."""
        return sorted(where for name, where in self.series if name == metric)

    def uplink_load(self):
        """How evenly leaves load their uplinks, by sampling interval; None if not sampled.

        (time_ns, busiest, total): bytes sent on all uplinks, and what that would be if every uplink
        of a leaf had sent as much as its busiest. Evenly loaded leaves have busiest == total.
        """
        leaves = {}
        for where in self.wheres("uplink_bytes"):
            leaf, colon, _ = where.rpartition(":")
            if colon:
                leaves.setdefault(leaf, []).append(self.series[("uplink_bytes", where)])
        if not leaves:
            return None
        times = np.unique(np.concatenate([t for group in leaves.values() for t, _ in group]))
        busiest, total = np.zeros(times.size), np.zeros(times.size)
        for group in leaves.values():
            sent = np.zeros((len(group), times.size))
            for row, (time, value) in zip(sent, group):
                row[np.searchsorted(times, time)] = value
            busiest += sent.max(axis=0) * len(group)
            total += sent.sum(axis=0)
        return times, busiest, total


def _flatten(value, prefix=""):
    if not isinstance(value, dict):
        yield prefix, value
        return
    for key, inner in value.items():
        yield from _flatten(inner, f"{prefix}.{key}" if prefix else key)


def read_json(path):
    """The object in a JSON file; OSError where it cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
    except json.JSONDecodeError as error:
        raise ResultError(f"{path}: {error.lineno}: column {error.colno}: {error.msg}") from error
    except UnicodeDecodeError as error:
        raise ResultError(f"{path}: 1: text: not UTF-8") from error
    if not isinstance(value, dict):
        raise ResultError(f"{path}: 1: top level: expected an object")
    return value


def _rows(path, columns):
    """Yields (line number, fields in the order of `columns`) of a CSV file with a header row."""
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.reader(file)
        try:
            header = next(reader, None)
            if header is None:
                raise ResultError(f"{path}: 1: header: the file is empty")
            for name in columns:
                if name not in header:
                    raise ResultError(f"{path}: 1: {name}: no such column")
            places = [header.index(name) for name in columns]
            for row in reader:
                if len(row) != len(header):
                    raise ResultError(
                        f"{path}: {reader.line_num}: row: "
                        f"expected {len(header)} fields, found {len(row)}"
                    )
                yield reader.line_num, [row[place] for place in places]
        except (csv.Error, UnicodeDecodeError) as error:
            raise ResultError(f"{path}: {reader.line_num + 1}: row: {error}") from error


def _number(text, path, line, name, low=0.0):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= low):
        raise ResultError(f"{path}: {line}: {name}: expected a number >= {low:g}, found {text!r}")
    return value


def _read_flows(path):
    """Columns as float arrays, and which flows are done; an unfinished one may leave fields empty."""
    columns = {name: [] for name in FLOW_COLUMNS}
    done = []
    for line, fields in _rows(path, FLOW_COLUMNS + ("status",)):
        status = fields.pop()
        finished = status == "done"
        if not (finished or status == "unfinished" or status.startswith("failed:")):
            raise ResultError(
                f"{path}: {line}: status: "
                f"expected done, unfinished or failed:REASON, found {status!r}"
            )
        for name, text in zip(FLOW_COLUMNS, fields):
            if not finished and name in ("fct_ns", "slowdown", "gate_wait_ns"):
                columns[name].append(math.nan)
            else:
                columns[name].append(_number(text, path, line, name))
        done.append(finished)
        if finished and columns["slowdown"][-1] <= 0:
            raise ResultError(f"{path}: {line}: slowdown: a finished flow's must be above 0")
    return {name: np.array(values) for name, values in columns.items()}, np.array(done, dtype=bool)


def _read_pfc(path):
    times, nodes, ports = [], [], []
    for line, (time, node, port, _, event) in _rows(path, PFC_COLUMNS):
        if event not in ("xoff", "xon"):
            raise ResultError(f"{path}: {line}: event: expected xoff or xon, found {event!r}")
        if event == "xoff":
            times.append(_number(time, path, line, "time_ns"))
            nodes.append(node)
            ports.append(port)
    return {"time_ns": np.array(times), "node": nodes, "port": ports}


def _read_series(path):
    points = {}
    for line, (time, metric, where, value) in _rows(path, SERIES_COLUMNS):
        times, values = points.setdefault((metric, where), ([], []))
        times.append(_number(time, path, line, "time_ns"))
        values.append(_number(value, path, line, "value"))
        if len(times) > 1 and times[-1] < times[-2]:
            raise ResultError(f"{path}: {line}: time_ns: {time} is before the row above it")
    return {key: (np.array(times), np.array(values)) for key, (times, values) in points.items()}


def _whole(text, path, line, name):
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise ResultError(f"{path}: {line}: {name}: expected a whole number, found {text!r}")
    return int(text)


def read_reorder(path):
    """Yields (line number, {column: whole number, None or end}) of a reorder.csv."""
    try:
        for line, fields in _rows(path, REORDER_COLUMNS):
            row = {
                name: None
                if name == "gap_ns" and text == ""
                else _whole(text, path, line, name)
                for name, text in zip(REORDER_COLUMNS[:-1], fields)
            }
            row["end"] = fields[-1]
            if row["end"] not in REORDER_ENDS:
                raise ResultError(
                    f"{path}: {line}: end: "
                    f"expected {', '.join(REORDER_ENDS)}, found {row['end']!r}"
                )
            yield line, row
    except OSError as error:
        raise ResultError(f"{error.filename}: {error.strerror}") from error


def read_config(folder):
    """The options of a run from its summary.json, {} where there is none."""
    path = os.path.join(folder, "summary.json")
    try:
        config = read_json(path).get("config", {})
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ResultError(f"{error.filename}: {error.strerror}") from error
    if not isinstance(config, dict):
        raise ResultError(f"{path}: 1: config: expected an object")
    return config


def _check_counts(result, path):
    """flows.csv and summary.json must tell of the same run."""
    for name, rows in (("total", result.done.size), ("done", int(result.done.sum()))):
        said = result.number(f"flows.{name}")
        if said is None:
            raise ResultError(f"{path}: flows.{name}: missing")
        if said != rows:
            raise ResultError(f"{path}: flows.{name}: says {said:g}, flows.csv has {rows}")


def load(folder, label=None):
    """Reads one result folder; `label` defaults to the folder's name."""
    folder = os.path.normpath(folder)

    def path(name):
        return os.path.join(folder, name)

    if not os.path.isdir(folder):
        raise ResultError(f"{folder}: no such folder")
    try:
        for name in ("flows.csv", "summary.json"):
            if not os.path.isfile(path(name)):
                raise ResultError(f"{path(name)}: no such file: is this a result folder?")
        flows, done = _read_flows(path("flows.csv"))
        result = Result(
            folder=folder,
            label=label or os.path.basename(os.path.abspath(folder)),
            flows=flows,
            done=done,
            summary=read_json(path("summary.json")),
        )
        _check_counts(result, path("summary.json"))
        if os.path.isfile(path("timing.json")):
            result.timing = read_json(path("timing.json"))
        if os.path.isfile(path("pfc.csv")):
            result.pauses = _read_pfc(path("pfc.csv"))
        if os.path.isfile(path("timeseries.csv")):
            result.series = _read_series(path("timeseries.csv"))
    except OSError as error:
        raise ResultError(f"{error.filename}: {error.strerror}") from error
    return result


def _rank(name):
    place = SCHEME_ORDER.index(name) if name in SCHEME_ORDER else len(SCHEME_ORDER)
    return place, name


def expand(folders):
    """Result folders as given; a folder that only holds result folders stands for those."""
    found = []
    for folder in folders:
        inner = []
        if os.path.isdir(folder) and not os.path.exists(os.path.join(folder, "flows.csv")):
            inner = [
                name
                for name in os.listdir(folder)
                if os.path.isfile(os.path.join(folder, name, "flows.csv"))
            ]
        found += [os.path.join(folder, name) for name in sorted(inner, key=_rank)] or [folder]
    return found


def load_all(folders):
    """Reads several folders; equal names are told apart by the folder above."""
    folders = [os.path.normpath(folder) for folder in expand(folders)]
    names = [os.path.basename(os.path.abspath(folder)) for folder in folders]
    labels = [
        name
        if names.count(name) == 1
        else os.path.join(os.path.basename(os.path.dirname(os.path.abspath(folder))), name)
        for folder, name in zip(folders, names)
    ]
    return [load(folder, label) for folder, label in zip(folders, labels)]


def run_tool(name, main):
    """Runs a tool's main(); a ResultError becomes one line on stderr and exit status 2."""
    sys.stdout.reconfigure(errors="replace")  # a terminal without UTF-8 still shows the table
    try:
        status = main()
        sys.stdout.flush()
    except ResultError as error:
        print(f"{name}: {error}", file=sys.stderr)
        status = 2
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    sys.exit(status)
