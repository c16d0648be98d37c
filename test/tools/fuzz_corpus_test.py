# SPDX-License-Identifier: GPL-2.0-only
"""The stored corpus of the fuzz targets keeps the rules of fuzz/README.md."""

import importlib.util
import os
import re

import pytest

from conftest import ROOT

FUZZ = os.path.join(ROOT, "fuzz")
TARGETS = ("receiver", "sender", "reorder")


@pytest.fixture(scope="module")
def make_seeds():
    """The script, which is no module of the tools."""
    spec = importlib.util.spec_from_file_location("make_seeds", os.path.join(FUZZ, "make_seeds.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stored(target):
    """File name -> bytes."""
    folder = os.path.join(FUZZ, "corpus", target)
    found = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = file.read()
    return found


def test_every_target_has_a_corpus():
    assert sorted(os.listdir(os.path.join(FUZZ, "corpus"))) == sorted(TARGETS)
    assert {f"fuzz-{target}.c" for target in TARGETS} <= set(os.listdir(FUZZ))


@pytest.mark.parametrize("target", TARGETS)
def test_seeds_are_those_of_the_script(make_seeds, target):
    made = {
        os.path.basename(path): data
        for path, data in make_seeds.seeds().items()
        if os.path.dirname(path) == target
    }
    assert len(made) > 10
    assert {n: d for n, d in stored(target).items() if n.startswith("seed-")} == made


@pytest.mark.parametrize("target", TARGETS)
def test_the_corpus_is_small(target):
    files = stored(target)
    assert len(files) <= 100
    assert max(map(len, files.values())) <= 1024
    assert sum(map(len, files.values())) <= 100_000
    for name in files:
        assert re.fullmatch(r"seed-[a-z0-9-]+|[0-9a-f]{40}", name), name
