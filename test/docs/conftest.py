# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes scripts/fa4docs.py and python/fa4 importable."""

import sys
from pathlib import Path

for folder in ("scripts", "python", "test/support", "bench"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / folder))
