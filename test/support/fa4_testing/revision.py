# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which version of fa4, and of its files, made a result."""

import hashlib
import shutil
import subprocess
from pathlib import Path

from fa4.tools import ROOT


def commit() -> str:
    """Returns the tree's commit and whether the tree has changes; "unknown" without
    git."""
    if not shutil.which("git"):
        return "unknown"

    def git(*words):
        return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True).stdout.strip()

    changed = " with changes" if git("status", "--porcelain", "-uno") else ""
    return git("rev-parse", "--short=12", "HEAD") + changed


def digest(*files) -> str:
    """Returns the first digits of the SHA-256 of the files' contents."""
    total = hashlib.sha256()
    for file in files:
        total.update(Path(file).read_bytes())
    return total.hexdigest()[:16]
