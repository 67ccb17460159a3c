# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What all Python tests share: --filter, by regular expression as lit's and
ctest's are (pytest's -k is an expression over words), and two marks. `many` is for
tests that are run by choice only, with FA4_MANY in the environment. `turns(n)` is for
a test of many similar cases, of which a run draws one in n by its seed (FA4_SEED),
and all with FA4_MANY. What is not run is deselected; a test is skipped only where a
tool that it needs is missing.
"""

import gc
import os
import random
import re


def pytest_addoption(parser):
    parser.addoption(
        "--filter", metavar="REGEX", help="only tests whose node id matches"
    )


def pytest_configure(config):
    config.addinivalue_line("markers", "many: run only if FA4_MANY is set")
    config.addinivalue_line("markers", "turns(n): one in n of the cases is drawn, all if FA4_MANY is set")


def drawn(items):
    """The items without those whose turn it is not. Cases of one group of pytest-xdist
    share what they compile, and are drawn together. Workers draw the same."""
    tests = {}
    for item in items:
        if item.get_closest_marker("turns"):
            group = item.get_closest_marker("xdist_group")
            test = f"{item.parent.nodeid}::{item.originalname}"
            tests.setdefault(test, {}).setdefault(group.args[0] if group else item.name, []).append(item)
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
    # The tests of the scripts mostly wait: meanwhile, other workers compute.
    items[:] = sorted(keep, key=lambda item: "scripts" not in item.path.parts)


def pytest_collection_finish():
    """Tests that ask for a garbage collection have it look at what they have made, and
    not at the objects of thousands of tests, which stay until the end."""
    gc.collect()
    gc.freeze()
