#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Prints the speed of one finished simulation as a JSON object on one line.

usage: bench_fabric.py SCHEME DIR     DIR is its result folder
"""

import json
import os
import sys

import eunomia_results
from eunomia_results import ResultError

KEYS = ("packet_hops_per_s", "packet_hops", "wall_s", "events", "peak_rss_bytes")


def bench_line(scheme, folder):
    """The figures of timing.json as an object."""
    path = os.path.join(folder, "timing.json")
    try:
        with open(path, encoding="utf-8") as file:
            timing = json.load(file)
    except OSError as error:
        raise ResultError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise ResultError(f"{path}: 1: text: {error}") from error
    line = {"bench": "fabric", "scheme": scheme}
    for key in KEYS:
        value = timing.get(key) if isinstance(timing, dict) else None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ResultError(f"{path}: {key}: expected a number, found {json.dumps(value)[:40]}")
        line[key] = value
    return line


def main():
    if len(sys.argv) != 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    print(json.dumps(bench_line(sys.argv[1], sys.argv[2])))
    return 0


if __name__ == "__main__":
    eunomia_results.run_tool("bench_fabric.py", main)
