"""lit configuration of the fa4 test suite.

Environment:
  FA4_VERIFY_ROUNDTRIP=0  without --verify-roundtrip, which each fa4-opt gets
                          otherwise: what it has parsed is printed, as text and
                          as bytecode, parsed again and compared
  FA4_PTXAS               ptxas to use, if fa4-compile would not find it
"""

# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import glob
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(__file__))
from quoted_paths import QuotedShTest  # noqa: E402

config.name = "fa4"
config.test_format = QuotedShTest()
config.suffixes = [".mlir", ".ptx", ".test"]
# Inputs holds what tests read; unit, docs, python and scripts have runners of their own.
config.excludes = ["Inputs", "docs", "fuzz", "python", "scripts", "support", "unit"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.fa4_build_dir, "test")

# Tools by name: fa4's of this build, then those of the LLVM that it is built
# against (FileCheck, not, split-file, mlir-runner, mlir-translate...). python3
# is that of .venv, which has numpy.
config.environment["PATH"] = os.pathsep.join(
    [
        config.fa4_tools_dir,
        config.llvm_tools_dir,
        os.path.join(config.fa4_source_dir, ".venv", "bin"),
        config.environment["PATH"],
    ]
)
# ptxas takes longer than all else: tests that are about it say --verify-ptx.
config.environment["FA4_VERIFY_PTX"] = "0"
# Tests of the installed package compile, with ccache.
for name in os.environ:
    if name in ("ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "FA4_SEED", "HOME") or name.startswith("CCACHE_"):
        config.environment[name] = os.environ[name]

config.environment["FA4_VERIFY_ROUNDTRIP"] = os.environ.get("FA4_VERIFY_ROUNDTRIP", "1")
if config.environment["FA4_VERIFY_ROUNDTRIP"] != "0":
    # Where fa4-opt is a command, but not where the same command has the option
    # already, as --verify-roundtrip=false: it may be given only once.
    for tool in ("fa4-opt", "fa4-test-opt"):
        command = rf"(?<![\w./%=-]){tool}(?![\w./-])(?![^|;]*--verify-roundtrip)"
        config.substitutions.append((command, f"{tool} --verify-roundtrip"))

if shutil.which("zsh"):
    config.available_features.add("zsh")

if "address" in config.fa4_sanitize:
    config.available_features.add("asan")

def find_cuda_tool(name):
    """ptxas or nvdisasm as fa4-compile finds it (fa4/Target/NVPTX/Ptxas.h), with .venv for the wheel."""
    folders = [
        os.path.join(os.environ[root], "bin")
        for root in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT")
        if os.environ.get(root)
    ]
    folders += [os.environ["PATH"], "/usr/local/cuda/bin"]
    venvs = [os.environ.get("VIRTUAL_ENV"), os.environ.get("FA4_VENV")]
    venvs.append(os.path.join(config.fa4_source_dir, ".venv"))
    for venv in filter(None, venvs):
        for package in ("cu13", "cuda_nvcc", "cuda_nvdisasm"):
            folders += sorted(
                glob.glob(f"{venv}/lib/python3*/site-packages/nvidia/{package}/bin")
            )
    return shutil.which(name, path=os.pathsep.join(folders))


# Part of LLVM's command line tools, which a build does not need.
if shutil.which("llvm-symbolizer", path=config.environment["PATH"]):
    config.available_features.add("symbolizer")
if " " not in config.test_exec_root:
    config.available_features.add("path-without-space")

for tool in ("ptxas", "nvdisasm"):
    if path := os.environ.get(f"FA4_{tool.upper()}") or find_cuda_tool(tool):
        config.available_features.add(tool)
        config.substitutions.append((f"%{tool}", path))
        config.environment[f"FA4_{tool.upper()}"] = path

# The plugin for stock mlir-opt. A program that is not built with a sanitizer cannot
# load it where fa4 is.
if not config.fa4_sanitize:
    plugin = os.path.join(config.fa4_build_dir, "lib", "FA4Plugin.so")
    config.available_features.add("plugin")
    config.substitutions.append(("%fa4_plugin", f"'{plugin}'"))
    options = [f"--load-{kind}-plugin='{plugin}'" for kind in ("dialect", "pass")]
    config.substitutions.append(("%mlir_opt", " ".join(["mlir-opt", *options])))

# Runs the commands that a test shows with what they print.
transcript = os.path.join(config.test_source_root, "transcript.py")
config.substitutions.append(("%commands", f"'{sys.executable}' '{transcript}'"))

config.substitutions.append(("%fa4_build", f"'{config.fa4_build_dir}'"))

# Libraries for mlir-runner's --shared-libs: %llvm_shlib_dir/libmlir_*.so.
config.substitutions.append(("%llvm_shlib_dir", config.llvm_lib_dir))
