# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes checkout.py importable; a checkout for each test."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from checkout import Checkout  # noqa: E402


@pytest.fixture
def checkout(tmp_path):
    made = Checkout(tmp_path)
    yield made
    if (made.notes / "hanging").exists():
        made.kill_what_hangs()
