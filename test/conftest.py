# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What all Python tests share: --filter, by regular expression as lit's and
ctest's are (pytest's -k is an expression over words), and the mark `many` for
tests that are run by choice only, with FA4_MANY in the environment. Those are
deselected otherwise; a test is skipped only where a tool that it needs is missing.
"""

import gc
import os
import re


def pytest_addoption(parser):
    parser.addoption(
        "--filter", metavar="REGEX", help="only tests whose node id matches"
    )


def pytest_configure(config):
    config.addinivalue_line("markers", "many: run only if FA4_MANY is set")


def pytest_collection_modifyitems(config, items):
    pattern = re.compile(config.getoption("--filter") or "")
    many = bool(os.environ.get("FA4_MANY"))

    def is_selected(item):
        return pattern.search(item.nodeid) and (many or not item.get_closest_marker("many"))

    keep, leave = [], []
    for item in items:
        (keep if is_selected(item) else leave).append(item)
    config.hook.pytest_deselected(items=leave)
    # The tests of the scripts mostly wait: meanwhile, other workers compute.
    items[:] = sorted(keep, key=lambda item: "scripts" not in item.path.parts)


def pytest_collection_finish():
    """Tests that ask for a garbage collection have it look at what they have made, and
    not at the objects of thousands of tests, which stay until the end."""
    gc.collect()
    gc.freeze()
