#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Prints result folders side by side: one column a scheme, and what follows from the figures.

A folder that holds result folders stands for those. --csv prints one row a scheme instead.
"""

import argparse
import csv
import sys

import eunomia_results
from eunomia_metrics import METRICS, finished, show
from eunomia_verdict import judge


def text_table(results):
    """The table as lines."""
    rows = [("", [result.label for result in results])]
    rows.append(("flows finished", [_done_text(result) for result in results]))
    group = None
    for metric in METRICS:
        if metric.group != group:
            group = metric.group
            rows.append((group, None))
        rows.append(("  " + metric.title(), [metric.text(result) for result in results]))
    speed = [result.timing.get("packet_hops_per_s") for result in results]
    if any(isinstance(value, (int, float)) for value in speed):
        rows.append(("Simulator", None))
        rows.append(("  packet-hops/s", [show(value) for value in speed]))
    first = max(len(title) for title, _ in rows)
    widths = [max(len(cells[place]) for _, cells in rows if cells) for place in range(len(results))]
    lines = []
    for title, cells in rows:
        line = title.ljust(first)
        for cell, width in zip(cells or (), widths):
            line += "  " + cell.rjust(width)
        lines.append(line.rstrip())
    lines.insert(1, "-" * max(len(line) for line in lines))
    return lines


def _done_text(result):
    done, total = finished(result)
    return show(done) if done == total else f"{done:,} of {total:,}"


def write_csv(results, file):
    """One row a scheme; an empty field where a run has no such figure."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["scheme", "flows_total", "flows_done", *(metric.key for metric in METRICS)])
    for result in results:
        done, total = finished(result)
        values = [metric.value(result) for metric in METRICS]
        cells = ["" if value is None else f"{value:.10g}" for value in values]
        writer.writerow([result.label, total, done, *cells])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", metavar="DIR", help="result folder")
    parser.add_argument("--csv", action="store_true", help="comma-separated, one row a scheme")
    options = parser.parse_args()
    results = eunomia_results.load_all(options.folders)
    if options.csv:
        write_csv(results, sys.stdout)
        return 0
    print("\n".join(text_table(results)))
    print()
    print("\n".join(judge(results).lines()))
    return 0


if __name__ == "__main__":
    eunomia_results.run_tool("table.py", main)
