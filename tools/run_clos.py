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
import subprocess
import sys
import time

import eunomia_results
import report
import table
from eunomia_verdict import judge

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

SCHEMES = {
    "ecmp+gbn": ["--lb=ecmp", "--transport=gbn", "--verb=send"],
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
STATUS_UNFINISHED = 3  # of eunomia-sim: results are there, some flows did not finish


def option_name(argument):
    return argument.lstrip("-").partition("=")[0]


def workload_options(fast, flows, handed):
    """The options all simulations share; those handed in replace ours."""
    options = [f"--flows={flows}"] if flows else list(WORKLOAD)
    if fast:
        options = [o for o in options if option_name(o) != "duration"] + [FAST]
    given = {option_name(argument) for argument in handed}
    return [o for o in options if option_name(o) not in given] + handed


def terminal():
    """(our end, the simulator's end) of a terminal: it shows its progress only on one.

    (None, None) where the system has none to give, as in some containers.
    """
    try:
        ours, theirs = os.openpty()
    except OSError:
        return None, None
    os.set_blocking(ours, False)
    return ours, theirs


class Job:
    """One simulation in a process of its own; what it prints goes to a log beside its folder."""

    def __init__(self, sim, scheme, options, out):
        self.scheme = scheme
        self.folder = os.path.join(out, scheme)
        self.log = os.path.join(out, scheme + ".log")
        self.started = time.monotonic()
        self.seconds = 0.0
        command = [sim, *SCHEMES[scheme], *options, f"--out={self.folder}", "--force"]
        self.terminal, theirs = terminal() if sys.stderr.isatty() else (None, None)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=theirs or log
            )
        if theirs:
            os.close(theirs)

    def poll(self):
        """The exit status, None while it runs."""
        status = self.process.poll()
        self._drain()
        if status is not None and not self.seconds:
            self.seconds = time.monotonic() - self.started
            if self.terminal:
                os.close(self.terminal)
                self.terminal = None
        return status

    def _drain(self):
        """Moves what the simulator wrote to its terminal into the log."""
        if not self.terminal:
            return
        with open(self.log, "ab") as log:
            try:
                while data := os.read(self.terminal, 65536):
                    log.write(data)
            except OSError:  # nothing there now, or the other end is closed
                pass

    def tail(self):
        """The last part of what it printed, as lines; a carriage return ends one, too."""
        with open(self.log, "rb") as log:
            log.seek(0, os.SEEK_END)
            log.seek(max(0, log.tell() - 4096))
            text = log.read().decode("utf-8", "replace")
        text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)  # cursor movements
        return [line.strip() for line in re.split(r"[\r\n]+", text) if line.strip()]

    def percent(self):
        """The last percentage it printed, as " 43 %"; empty where there is none."""
        found = re.findall(r"\b(\d{1,3}) ?%", " ".join(self.tail()))
        return f" {found[-1]} %" if found else ""

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()


class Progress:
    """One line that follows the work on a terminal, one line an event elsewhere; on stderr."""

    def __init__(self, total):
        self.live = sys.stderr.isatty()
        self.total = total
        self.started = time.monotonic()
        self.width = 0

    def show(self, done, running):
        if not self.live:
            return
        seconds = int(time.monotonic() - self.started)
        parts = ", ".join(job.scheme + job.percent() for job in running)
        line = f"{seconds // 60}:{seconds % 60:02d}  {done} of {self.total} done; {parts}"
        self._write("\r" + line.ljust(self.width))
        self.width = len(line)

    def event(self, text):
        self.clear()
        self._write(text + "\n")

    def clear(self):
        if self.width:
            self._write("\r" + " " * self.width + "\r")
            self.width = 0

    @staticmethod
    def _write(text):
        sys.stderr.write(text)
        sys.stderr.flush()


def simulate(sim, options, out, cores):
    """Runs all schemes, at most `cores` at a time; returns the finished jobs in scheme order."""
    waiting, running, done = list(SCHEMES), [], []
    progress = Progress(len(waiting))
    try:
        while waiting or running:
            while waiting and len(running) < cores:
                running.append(Job(sim, waiting.pop(0), options, out))
            for job in [job for job in running if job.poll() is not None]:
                running.remove(job)
                done.append(job)
                progress.event(f"{job.scheme}: {ending(job)} after {job.seconds:.1f} s")
            progress.show(len(done), running)
            if running:
                time.sleep(0.2)
    finally:
        progress.clear()
        for job in running:
            job.stop()
    return sorted(done, key=lambda job: list(SCHEMES).index(job.scheme))


def ending(job):
    status = job.poll()
    if status == 0:
        return "done"
    if status == STATUS_UNFINISHED:
        return "done, with unfinished flows"
    return f"failed ({f'signal {-status}' if status < 0 else f'exit status {status}'})"


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
        last = (job.tail() or ["it printed nothing"])[-1]
        print(f"eunomia run: {job.scheme} {ending(job)}: {last}", file=sys.stderr)
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
        jobs = simulate(known.sim, options, out, len(os.sched_getaffinity(0)))
    except OSError as error:
        print(f"eunomia run: {error.filename or known.sim}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("eunomia run: stopped", file=sys.stderr)
        return 130
    return conclude(jobs, out)


if __name__ == "__main__":
    eunomia_results.run_tool("eunomia run", main)
