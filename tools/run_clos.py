#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The main job: runs every scheme on the same flows, prints the table, writes the report.

usage: eunomia run [--fast] [--flows=FILE] [--out=DIR] [--OPTION=VALUE...]

  --fast          a tenth of the arrivals, for a first look (into results/clos-fast)
  --flows=FILE    a flow list instead of the generated workload
  --out=DIR       result folder (results/clos)
  --OPTION=VALUE  any other option is handed to every simulation: --load=0.8, --seed=2

Exit status: 0; 2 wrong use; 3 a scheme left flows unfinished; 1 a simulation failed.
"""

import argparse
import os
import re
import signal
import sys

import eunomia_results
import report
import table
from eunomia_jobs import STATUS_UNFINISHED, Job, play
from eunomia_verdict import judge

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

SCHEMES = {
    "ecmp+gbn": ["--lb=ecmp", "--transport=gbn", "--verb=send"],
    "conweave+gbn": ["--lb=conweave", "--transport=gbn", "--verb=send"],
    "ecmp+irn": ["--lb=ecmp", "--transport=irn", "--verb=send"],
    "spray+gbn": ["--lb=spray", "--transport=gbn", "--verb=send"],
    "spray+eunomia": ["--lb=spray", "--transport=eunomia", "--verb=send"],
    "spray+eunomia-write": ["--lb=spray", "--transport=eunomia", "--verb=write", "--gate=sender"],
}
WORKLOAD = ["--workload=AliStorage2019", "--load=0.5", "--duration=2ms", "--seed=1"]
FAST = "--duration=200us"
SAMPLING = "--sample=10us"
# What tells the schemes apart, and what this job sets itself.
OWN = {"lb", "transport", "verb", "gate", "out", "force"}


def option_name(argument):
    return argument.lstrip("-").partition("=")[0]


def workload_options(fast, flows, handed):
    """The options all simulations share; those handed in replace ours."""
    options = [f"--flows={flows}"] if flows else list(WORKLOAD)
    if fast:
        options = [o for o in options if option_name(o) != "duration"] + [FAST]
    given = {option_name(argument) for argument in handed}
    return [o for o in options if option_name(o) not in given] + handed


def simulate(sim, options, out):
    """Runs all schemes; returns the finished jobs in scheme order."""
    jobs = [Job(scheme, [*words, *options]) for scheme, words in SCHEMES.items()]
    play(
        jobs,
        lambda job: job.start(sim, os.path.join(out, job.scheme)),
        lambda job, progress: progress.event(
            f"{job.scheme}: {job.ending()} after {job.seconds:.1f} s"
        ),
    )
    return jobs


def parse(arguments):
    parser = argparse.ArgumentParser(prog="eunomia run", add_help=False, allow_abbrev=False)
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--flows")
    parser.add_argument("--out")
    parser.add_argument("--sim", default=os.path.join(ROOT, "build", "eunomia-sim"))
    parser.add_argument("-h", "--help", action="store_true")
    known, handed = parser.parse_known_args(arguments)
    return known, handed


def wrong_use(text):
    print(f"eunomia run: {text}", file=sys.stderr)
    return 2


def conclude(jobs, out):
    """Table, report and exit status from the finished simulations."""
    usable = [job for job in jobs if job.poll() in (0, STATUS_UNFINISHED)]
    failed = [job for job in jobs if job not in usable]
    if usable:
        results = [eunomia_results.load(job.folder) for job in usable]
        print("\n".join(table.text_table(results)))
        print()
        print("\n".join(judge(results).lines()))
        print()
        print(f"report: {os.path.relpath(report.write_report(out, results))}")
    for job in failed:
        print(f"eunomia run: {job.scheme} {job.ending()}: {job.last_words()}", file=sys.stderr)
        print(f"eunomia run: its output is in {os.path.relpath(job.log)}", file=sys.stderr)
    if failed:
        return 1
    return max(job.poll() for job in usable)


def main(arguments=None):
    known, handed = parse(arguments)
    if known.help:
        print(__doc__.strip())
        return 0
    for argument in handed:
        if not re.match(r"--[A-Za-z]", argument):
            return wrong_use(f"{argument!r} is no --OPTION=VALUE (see eunomia run --help)")
        if option_name(argument) in OWN:
            return wrong_use(f"--{option_name(argument)} is set by this job; use eunomia sim")
    if known.fast and known.flows:
        return wrong_use("--fast shortens the generated workload; it has no use with --flows")
    if known.flows and not os.path.isfile(known.flows):
        return wrong_use(f"--flows: {known.flows}: no such file")
    out = known.out or os.path.join(ROOT, "results", "clos-fast" if known.fast else "clos")
    sampled = {"sample"} & {option_name(argument) for argument in handed}
    options = workload_options(known.fast, known.flows, handed) + ([] if sampled else [SAMPLING])
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends the simulations, too
    try:
        os.makedirs(out, exist_ok=True)
        jobs = simulate(known.sim, options, out)
    except OSError as error:
        print(f"eunomia run: {error.filename or known.sim}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("eunomia run: stopped", file=sys.stderr)
        return 130
    return conclude(jobs, out)


if __name__ == "__main__":
    eunomia_results.run_tool("eunomia run", main)
