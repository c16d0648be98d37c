# SPDX-License-Identifier: GPL-2.0-only
"""The job loop, with shell commands for simulations."""

import os

import pytest

from eunomia_jobs import Job, play

CORES = len(os.sched_getaffinity(0))


@pytest.fixture
def sim(tmp_path):
    """A program that does what its first option says and prints some lines."""
    path = tmp_path / "sim"
    path.write_text('#!/bin/sh\nprintf "one\\rtwo 40 %%\\n"\neval "${1#--do=}"\n')
    path.chmod(0o755)
    return str(path)


def jobs_that(*commands):
    return [Job(f"job{place}", [f"--do={text}"]) for place, text in enumerate(commands)]


def test_each_is_started_in_order_and_ends_once(sim, tmp_path):
    jobs = jobs_that(*["exit 0", "exit 3", "exit 7", "kill -9 $$"] * 3)
    started, ended, most = [], [], 0

    def start(job):
        nonlocal most
        job.start(sim, str(tmp_path / job.scheme))
        started.append(job)
        most = max(most, len(started) - len(ended))

    play(jobs, start, lambda job, _: ended.append(job))
    assert started == jobs and sorted(ended, key=jobs.index) == jobs
    assert most == CORES
    assert [job.poll() for job in jobs[:4]] == [0, 3, 7, -9]
    assert [job.ending() for job in jobs[:4]] == [
        "done",
        "done, with unfinished flows",
        "failed (exit status 7)",
        "failed (signal 9)",
    ]
    assert jobs[0].tail() == ["one", "two 40 %"] and jobs[0].percent() == " 40 %"
    assert jobs[0].last_words() == "two 40 %" and 0 < jobs[0].seconds < 60


def test_what_goes_wrong_stops_the_others(sim, tmp_path):
    jobs = jobs_that("exit 1", "exec sleep 60", "exec sleep 60", "exec sleep 60")

    def ended(job, _):
        raise ValueError(job.scheme)

    with pytest.raises(ValueError, match="job0"):
        play(jobs, lambda job: job.start(sim, str(tmp_path / job.scheme)), ended)
    running = [job for job in jobs[1:] if job.process]
    assert all(job.poll() in (-15, 1) for job in running)
    assert len(running) < len(jobs) - 1 or CORES > 3


def test_nothing_to_do():
    play([], None, None)


def test_a_missing_simulator(tmp_path):
    with pytest.raises(FileNotFoundError):
        play(jobs_that("exit"), lambda job: job.start("nowhere", str(tmp_path / "x")), None)
