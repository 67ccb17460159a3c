# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where ptxas is looked for, with the places of fa4-compile (docs/fa4-compile.md) and the packages of this Python."""

import glob
import os
import shutil
import sys

# Folders of the wheels nvidia-cuda-nvcc and nvidia-cuda-nvdisasm, by CUDA's version.
PACKAGES = ("cu13", "cuda_nvcc", "cuda_nvdisasm")


def find(name: str = "ptxas", venvs: tuple = ()) -> str | None:
    """The path of ptxas or nvdisasm. `venvs` are looked into behind those of the environment."""
    if given := os.environ.get(f"FA4_{name.upper()}"):
        return given
    roots = (os.environ.get(root) for root in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"))
    folders = [f"{root}/bin" for root in roots if root]
    folders += [*os.environ.get("PATH", "").split(os.pathsep), "/usr/local/cuda/bin"]
    # An empty entry would be the folder one stands in, which may be anybody's.
    if path := shutil.which(name, path=os.pathsep.join(filter(None, folders))):
        return path
    folders = []
    # Behind the environments of the caller comes that of this Python, in which fa4 is installed.
    for venv in filter(None, (os.environ.get("VIRTUAL_ENV"), os.environ.get("FA4_VENV"), sys.prefix, *venvs)):
        for package in PACKAGES:
            folders += sorted(glob.glob(f"{venv}/lib/python3*/site-packages/nvidia/{package}/bin"))
    return shutil.which(name, path=os.pathsep.join(folders)) if folders else None
