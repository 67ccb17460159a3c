# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The PTX version that kernels claim is one that drivers of CUDA 12 take, and every ptxas at hand takes the text: that of the
suite, those of wheels and toolkits beside it, and those that FA4_MORE_PTXAS names with colons between them."""

import glob
import os
import re
import subprocess
import sys

import pytest

import fa4
from fa4_testing import gpu

KERNELS = {
    "forward": (fa4.sdpa(q="B S H 128", k="B S H 128", mask="causal"), "8.8"),
    "gradient": (fa4.sdpa(q="B S H 64", k="B S H 64", mask="causal").backward(), "8.6"),
}


def assemblers():
    found = [gpu.find_ptxas(), *os.environ.get("FA4_MORE_PTXAS", "").split(":")]
    found += glob.glob(f"{sys.prefix}/lib/python3*/site-packages/nvidia/*/bin/ptxas") + glob.glob("/usr/local/cuda*/bin/ptxas")
    return sorted({os.path.realpath(path) for path in found if path})


@pytest.mark.skipif(not gpu.has_tools("fa4-compile"), reason="needs fa4-compile")
@pytest.mark.parametrize("name", KERNELS)
def test_version(name, tmp_path):
    """A kernel is compiled: its PTX must claim the oldest version that has its instructions, and each ptxas at hand
    must take the PTX."""
    spec, newest = KERNELS[name]
    modules = fa4.compile(spec, chip="sm_100a", verify=False).modules
    for file, ptx in modules.items():
        version = re.match(r"[^.]*\.version (\d+\.\d+)\n", re.sub(r"//.*\n", "", ptx)).group(1)
        needed = "8.8" if re.search(r"\bmax\.\S*f32\s+%\w+, %\w+, %\w+, %\w+;", ptx) else "8.6"
        assert version == needed <= newest, file
        path = tmp_path / file
        path.write_text(ptx)
        for ptxas in assemblers():
            done = subprocess.run([ptxas, "-arch=sm_100a", path, "-o", tmp_path / "cubin"], capture_output=True, text=True)
            assert done.returncode == 0, (ptxas, done.stderr[-500:])
