#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes a flow list: a count line, then `src dst pg bytes start_s` a flow, in order of starting.

Flows arrive as a Poisson process from uniformly drawn hosts to uniformly drawn other hosts, with
sizes from a CDF file (`bytes percent` a line, linear between points). --load is the payload that a
host offers, as a fraction of its link rate divided by the oversubscription. Give --flows or
--duration. Equal options and seed give equal bytes.
"""

import argparse
import os
import re
import sys

import numpy as np

RATE_UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


class InputError(Exception):
    """Something the user can mend; the text says where and what."""


def read_cdf(path):
    """The points of a CDF file as (sizes in bytes, cumulative probabilities 0..1)."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    sizes, shares = [], []
    for number, line in enumerate(lines, 1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 2:
            raise InputError(f"{path}: {number}: line: expected `bytes percent`, found {line!r}")
        for name, text, into in zip(("bytes", "percent"), fields, (sizes, shares)):
            try:
                value = float(text)
            except ValueError:
                value = float("nan")
            if not (np.isfinite(value) and value >= 0):
                raise InputError(
                    f"{path}: {number}: {name}: expected a number >= 0, found {text!r}"
                )
            if into and value < into[-1]:
                raise InputError(f"{path}: {number}: {name}: {text} is below the line before it")
            into.append(value)
    if len(sizes) < 2:
        raise InputError(f"{path}: 1: line: a CDF needs two points or more")
    if shares[-1] != 100:
        raise InputError(
            f"{path}: {len(lines)}: percent: the last point is at {shares[-1]:g}, not 100"
        )
    return np.array(sizes), np.array(shares) / 100


def mean_size(sizes, shares):
    """Mean flow size in bytes of a CDF whose sizes are linear between its points."""
    below_first = sizes[0] * shares[0]
    return float(below_first + np.sum((sizes[1:] + sizes[:-1]) / 2 * np.diff(shares)))


def quantity(text, units, what):
    """A number with a unit suffix in SI base units, such as "100Gbps" or "2ms"."""
    match = re.fullmatch(r"([0-9.eE+-]*[0-9.])\s*([A-Za-z]*)", text)
    unit = match.group(2) if match else None
    if unit in units:
        try:
            value = float(match.group(1)) * units[unit]
        except ValueError:
            value = 0.0
        if np.isfinite(value) and value > 0:
            return value
    raise InputError(
        f"--{what}: {text!r} is no positive quantity in {', '.join(filter(None, units))}"
    )


def poisson_flows(options, rng, sizes, shares):
    """Rows (src, dst, bytes, start in ns) in order of starting."""
    rate = quantity(options.link_rate, {u + "bps": f for u, f in RATE_UNITS.items()}, "link-rate")
    if not (0 < options.load and 0 < options.oversubscription):
        raise InputError("--load and --oversubscription: both must be above 0")
    per_host = rate / 8 * options.load / options.oversubscription / mean_size(sizes, shares)
    mean_gap = 1 / (per_host * options.hosts)
    start = options.start
    end = start + quantity(options.duration, TIME_UNITS, "duration") if options.duration else None
    rows = []
    # Uniform doubles are the one draw that numpy keeps bit for bit between versions.
    while options.flows is None or len(rows) < options.flows:
        gap, source, other, share = rng.random(4)
        start -= mean_gap * np.log1p(-gap)
        if end is not None and start >= end:
            break
        src = int(source * options.hosts)
        dst = int(other * (options.hosts - 1))
        dst += dst >= src
        size = max(1, round(float(np.interp(share, shares, sizes))))
        rows.append((src, dst, size, round(start * 1e9)))
    return rows


def write_flows(rows, pg, file):
    file.write(f"{len(rows)}\n")
    for src, dst, size, start_ns in rows:
        file.write(f"{src} {dst} {pg} {size} {start_ns // 10**9}.{start_ns % 10**9:09d}\n")


def parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cdf", required=True, help="size CDF file")
    parser.add_argument("--flows", type=int, help="number of flows")
    parser.add_argument("--duration", help="length of the arrivals, such as 2ms")
    parser.add_argument("--hosts", type=int, default=128, help="hosts, 2 or more (%(default)s)")
    parser.add_argument("--load", type=float, default=0.5, help="see above (%(default)s)")
    parser.add_argument(
        "--oversubscription", type=float, default=2.0, help="see above (%(default)s)"
    )
    parser.add_argument("--link-rate", default="100Gbps", help="of a host (%(default)s)")
    parser.add_argument("--start", type=float, default=2.0, help="seconds (%(default)s)")
    parser.add_argument("--pg", type=int, default=3, help="priority group (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="(%(default)s)")
    parser.add_argument("--out", help="file to write (standard output)")
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parse(arguments)
    try:
        if (options.flows is None) == (options.duration is None):
            raise InputError("give one of --flows and --duration")
        if options.hosts < 2 or (options.flows is not None and options.flows < 1):
            raise InputError("--hosts must be 2 or more and --flows 1 or more")
        if options.start < 0 or options.seed < 0:
            raise InputError("--start and --seed: both must be 0 or more")
        sizes, shares = read_cdf(options.cdf)
        rng = np.random.Generator(np.random.PCG64(options.seed))
        rows = poisson_flows(options, rng, sizes, shares)
        if options.out is None:
            write_flows(rows, options.pg, sys.stdout)
        else:
            with open(options.out, "w", encoding="utf-8") as file:
                write_flows(rows, options.pg, file)
    except InputError as error:
        print(f"make_flows.py: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        print(f"make_flows.py: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
