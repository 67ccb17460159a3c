# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes python/fa4 importable; tools are those of the build tree."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("python", "test/support", "bench")]
os.environ.setdefault("FA4_OPT", str(ROOT / "build" / "release" / "bin" / "fa4-opt"))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
