# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What all Python tests share: --filter, by regular expression as lit's and
ctest's are (pytest's -k is an expression over words)."""

import re


def pytest_addoption(parser):
    parser.addoption(
        "--filter", metavar="REGEX", help="only tests whose node id matches"
    )


def pytest_collection_modifyitems(config, items):
    pattern = config.getoption("--filter")
    if not pattern:
        return
    keep = [item for item in items if re.search(pattern, item.nodeid)]
    config.hook.pytest_deselected(items=[i for i in items if i not in keep])
    items[:] = keep
