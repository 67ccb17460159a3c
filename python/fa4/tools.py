# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where fa4's tools and LLVM's are found, for all of the package.

`find_tool("fa4-opt")` looks, in this order, at the environment variable of the
tool (FA4_OPT, FA4_COMPILE, FA4_SIM, ...: its path), next to FA4_OPT if that is
set, in build/release/bin of the checkout that this file is in, and in PATH.
"""

import os
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Debian's packages put LLVM's tools there, and only some of them into PATH.
DEBIAN_LLVM_BIN = "/usr/lib/llvm-22/bin"


class ToolNotFoundError(RuntimeError):
    """A tool that compiling or simulating needs is not there."""


def find_tool(name: str) -> str:
    """The path of one of fa4's tools. Raises ToolNotFoundError; a variable that
    names no program is an error and not passed over."""
    variable = name.replace("-", "_").upper()
    if given := os.environ.get(variable):
        if path := shutil.which(given):
            return path
        raise ToolNotFoundError(f"{variable} is {given}, which cannot be run")
    fa4_opt = os.environ.get("FA4_OPT")
    folder = Path(fa4_opt).parent if fa4_opt else ROOT / "build" / "release" / "bin"
    if os.access(folder / name, os.X_OK):
        return str(folder / name)
    if path := shutil.which(name):
        return path
    raise ToolNotFoundError(f"{name} not found in {folder} or in PATH; build it, or set {variable} to its path")


def missing_tool(*names: str) -> str:
    """What find_tool says of the first of these that it does not find; empty if all are there."""
    try:
        for name in names:
            find_tool(name)
    except ToolNotFoundError as error:
        return str(error)
    return ""


def has_tools(*names: str) -> bool:
    """Whether find_tool finds all of these."""
    return not missing_tool(*names)


def find_llvm_tool(name: str, folder: str | None = None) -> str:
    """The path of one of LLVM 22's tools: in `folder`, or else in FA4_LLVM_BIN;
    without either in PATH, then where Debian has them."""
    folder = folder or os.environ.get("FA4_LLVM_BIN")
    names = [f"{name}-22", name]
    candidates = [os.path.join(folder, n) for n in names] if folder else [*names, f"{DEBIAN_LLVM_BIN}/{name}"]
    for candidate in candidates:
        if path := shutil.which(candidate):
            return path
    where = f"in {folder}" if folder else f"in PATH and {DEBIAN_LLVM_BIN}; set FA4_LLVM_BIN to its folder"
    raise ToolNotFoundError(f"{name} (LLVM 22) not found {where}")


def driver_library_folder() -> Path:
    """The folder of the libcuda.so.1 that stands in for NVIDIA's driver (fa4.driver): that which FA4_DRIVER_LIBRARY names, or
    lib/fa4-driver beside the folder of FA4_OPT, or that of the checkout's release build. Raises ToolNotFoundError."""
    fa4_opt = os.environ.get("FA4_OPT")
    build = Path(fa4_opt).resolve().parents[1] if fa4_opt else ROOT / "build" / "release"
    folder = Path(os.environ.get("FA4_DRIVER_LIBRARY") or build / "lib" / "fa4-driver")
    if not (folder / "libcuda.so.1").exists():
        raise ToolNotFoundError(f"{folder} has no libcuda.so.1; build the target fa4-driver, or set FA4_DRIVER_LIBRARY")
    return folder
