# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random inputs from one seed, printed; tools of the build tree.

FA4_SEED repeats a run. FA4_OPT names fa4-opt, by default that of the release
build. Run with `-n 2 --dist loadgroup`: tests that share a compiled module are
a group."""

import os
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("python", "test/support", "bench")]
sys.path.insert(0, str(Path(__file__).parent))
os.environ.setdefault("FA4_OPT", str(ROOT / "build" / "release" / "bin" / "fa4-opt"))
# ptxas takes longer than all else: tests that are about it ask for it.
os.environ.setdefault("FA4_VERIFY_PTX", "0")
# One thread a process: the tests' matrices are small, the processes many.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_configure(config):
    """One seed for all workers of pytest-xdist: from the environment, which they
    share, or else from what identifies the run."""
    worker = getattr(config, "workerinput", None)
    run = worker["testrunuid"].encode() if worker else os.urandom(8)
    os.environ.setdefault("FA4_SEED", str(zlib.crc32(run)))


def pytest_report_header():
    return f"FA4_SEED={os.environ['FA4_SEED']} FA4_OPT={os.environ['FA4_OPT']}"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    report = (yield).get_result()
    if report.failed:
        report.sections.append(("seed", f"FA4_SEED={os.environ['FA4_SEED']}"))


@pytest.fixture
def rng(request):
    """Random numbers that depend on the seed and the test, not on the order in
    which tests run."""
    name = zlib.crc32(request.node.nodeid.split("@")[0].encode())
    return np.random.default_rng([int(os.environ["FA4_SEED"]), name])
