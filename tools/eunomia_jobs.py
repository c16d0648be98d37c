# SPDX-License-Identifier: GPL-2.0-only
"""Simulations in processes of their own: as many at a time as there are cores, with progress."""

import os
import re
import subprocess
import sys
import time

STATUS_BAD_INPUT = 2  # of eunomia-sim
STATUS_UNFINISHED = 3  # results are there, some flows did not finish
POLL_S = 0.05


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
    """One simulation; what it prints goes to a log beside its folder.

    `scheme` names it in messages, `words` are its options but for the folder.
    """

    def __init__(self, scheme, words):
        self.scheme, self.words = scheme, words
        self.folder = self.log = self.process = self.terminal = None
        self.started = self.seconds = 0.0

    def start(self, sim, folder):
        """Runs the simulator `sim`, whose results go to `folder` over what is there."""
        self.folder, self.log = folder, folder + ".log"
        self.started = time.monotonic()
        command = [sim, *self.words, f"--out={folder}", "--force"]
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

    def last_words(self):
        """The last line it printed."""
        return (self.tail() or ["it printed nothing"])[-1]

    def percent(self):
        """The last percentage it printed, as " 43 %"; empty where there is none."""
        found = re.findall(r"\b(\d{1,3}) ?%", " ".join(self.tail()))
        return f" {found[-1]} %" if found else ""

    def ending(self):
        """How it ended, for people."""
        status = self.poll()
        if status == 0:
            return "done"
        if status == STATUS_UNFINISHED:
            return "done, with unfinished flows"
        return f"failed ({f'signal {-status}' if status < 0 else f'exit status {status}'})"

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


def play(jobs, start, ended):
    """Calls start(job) for all jobs in their order, as many at a time as there are cores, and
    ended(job, progress) when one has ended; where that raises, the others are stopped."""
    cores = len(os.sched_getaffinity(0))
    waiting, running = list(jobs), []
    progress = Progress(len(waiting))
    done = 0
    try:
        while waiting or running:
            while waiting and len(running) < cores:
                start(waiting[0])
                running.append(waiting.pop(0))
            for job in [job for job in running if job.poll() is not None]:
                running.remove(job)
                done += 1
                ended(job, progress)
            progress.show(done, running)
            if running:
                time.sleep(POLL_S)
    finally:
        progress.clear()
        for job in running:
            job.stop()
