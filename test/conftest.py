# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What all Python tests share: the packages and tools of the checkout, random inputs
from one seed, which tests are run, and their order.

Environment: FA4_SEED repeats a run. FA4_OPT names fa4-opt, by default that of the
release build. FA4_MANY runs every test.

The marks are these. `many` is for tests that are run by choice only, with FA4_MANY.
`turns(n)` is for a test of many similar cases, of which a run draws one in n by its
seed, and all with FA4_MANY. A test that is not run is deselected; a test is skipped
only where a tool that it needs is missing. --filter selects by regular expression as
lit's and ctest's filters do (pytest's -k is an expression over words).

Run with `-n 2 --dist loadgroup --no-loadscope-reorder`: tests that share a compiled
module are a group, and groups that took longest in the last run come first, so that no
worker is left with a long one at the end.
"""

import gc
import os
import random
import re
import sys
import zlib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / folder) for folder in ("python", "test/support", "bench", "scripts")]
os.environ.setdefault("FA4_OPT", str(ROOT / "build" / "release" / "bin" / "fa4-opt"))
# ptxas takes longer than all else: tests that are about it ask for it.
os.environ.setdefault("FA4_VERIFY_PTX", "0")
# One thread a process: the tests' matrices are small, the processes many. numpy reads this when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: E402
import pytest  # noqa: E402

# In pytest's cache: node id -> seconds of the test's last run.
SECONDS = "fa4/seconds"


def pytest_addoption(parser):
    parser.addoption(
        "--filter", metavar="REGEX", help="only tests whose node id matches"
    )


def pytest_configure(config):
    """One seed for all workers of pytest-xdist: from the environment, which they
    share, or else from what identifies the run."""
    config.addinivalue_line("markers", "many: run only if FA4_MANY is set")
    config.addinivalue_line("markers", "turns(n): one in n of the cases is drawn, all if FA4_MANY is set")
    worker = getattr(config, "workerinput", None)
    run = worker["testrunuid"].encode() if worker else os.urandom(8)
    os.environ.setdefault("FA4_SEED", str(zlib.crc32(run)))
    if not worker and hasattr(config, "cache"):
        config.pluginmanager.register(Clock(config.cache))


def pytest_report_header():
    return f"FA4_SEED={os.environ['FA4_SEED']} FA4_OPT={os.environ['FA4_OPT']}"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    report = (yield).get_result()
    if report.failed:
        report.sections.append(("seed", f"FA4_SEED={os.environ['FA4_SEED']}"))


@pytest.fixture
def torch_settings(tmp_path, monkeypatch):
    """Tests of fa4.torch have a cache of their own, no ptxas, and torch's random numbers from one seed."""
    import torch

    monkeypatch.setenv("FA4_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("FA4_VERIFY_PTX", "0")
    torch.manual_seed(0)


@pytest.fixture
def rng(request):
    """Random numbers that depend on the seed and the test, not on the order in
    which tests run."""
    name = zlib.crc32(plain_id(request.node.nodeid).encode())
    return np.random.default_rng([int(os.environ["FA4_SEED"]), name])


# ---------------------------------------------------------------------------
# Which tests are run
# ---------------------------------------------------------------------------


def group_of(item):
    """The name of the item's group of pytest-xdist, or None."""
    mark = item.get_closest_marker("xdist_group")
    return mark.args[0] if mark else None


def drawn(items):
    """The items without those whose turn it is not. Cases of one group of pytest-xdist
    share what they compile, and are drawn together. Workers draw the same."""
    tests = {}
    for item in items:
        if item.get_closest_marker("turns"):
            test = f"{item.parent.nodeid}::{item.originalname}"
            tests.setdefault(test, {}).setdefault(group_of(item) or item.name, []).append(item)
    left = set()
    for test, groups in tests.items():
        (turns,) = next(iter(groups.values()))[0].get_closest_marker("turns").args
        order = sorted(groups)
        random.Random(f"{os.environ.get('FA4_SEED')} {test}").shuffle(order)
        left.update(item for name in order[-(-len(order) // turns) :] for item in groups[name])
    return [item for item in items if item not in left]


def pytest_collection_modifyitems(config, items):
    pattern = re.compile(config.getoption("--filter") or "")
    many = bool(os.environ.get("FA4_MANY"))

    def is_selected(item):
        return pattern.search(item.nodeid) and (many or not item.get_closest_marker("many"))

    keep = [item for item in items if is_selected(item)]
    if not many:
        keep = drawn(keep)
    kept = set(keep)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    seconds = config.cache.get(SECONDS, {}) if hasattr(config, "cache") else {}
    items[:] = longest_first(keep, seconds)


# ---------------------------------------------------------------------------
# Their order
# ---------------------------------------------------------------------------


def plain_id(nodeid):
    """A node id without the name of a group, which pytest-xdist appends."""
    return nodeid.split("@")[0]


def longest_first(items, seconds):
    """The items group by group, the group that took longest first; an item without a
    group is one by itself. A case that the last run has not drawn takes as long as the
    other cases of its test, and a test that is new no time."""
    cases = {}
    for nodeid, taken in seconds.items():
        cases.setdefault(nodeid.split("[")[0], []).append(taken)
    total, first = Counter(), {}
    for place, item in enumerate(items):
        group, nodeid = group_of(item) or item.nodeid, plain_id(item.nodeid)
        others = cases.get(nodeid.split("[")[0], [0])
        total[group] += seconds.get(nodeid, sum(others) / len(others))
        first.setdefault(group, place)

    def key(item):
        group = group_of(item) or item.nodeid
        return -total[group], first[group]

    return sorted(items, key=key)


class Clock:
    """Keeps the seconds of each test for the next run."""

    def __init__(self, cache):
        self.cache = cache
        self.taken = Counter()

    def pytest_runtest_logreport(self, report):
        self.taken[plain_id(report.nodeid)] += report.duration

    def pytest_sessionfinish(self):
        if self.taken:
            seconds = self.cache.get(SECONDS, {}) | {nodeid: round(taken, 2) for nodeid, taken in self.taken.items()}
            self.cache.set(SECONDS, seconds)


def pytest_collection_finish():
    """Tests that ask for a garbage collection have it look at what they have made, and
    not at the objects of thousands of tests, which stay until the end."""
    gc.collect()
    gc.freeze()
