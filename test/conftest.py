# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What all Python tests share: --filter, by regular expression as lit's and
ctest's are (pytest's -k is an expression over words), and the mark `many` for
tests that are run by choice only, with FA4_MANY in the environment. Those are
deselected otherwise; a test is skipped only where a tool that it needs is missing.
"""

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

    keep = [item for item in items if is_selected(item)]
    config.hook.pytest_deselected(items=[i for i in items if i not in set(keep)])
    items[:] = keep
