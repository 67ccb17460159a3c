# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run a program of the CUDA driver API on a machine without a GPU: its launches go through fa4-sim.

usage: python -m fa4.driver [OPTION...] SCRIPT [ARGUMENT...]

SCRIPT is a Python program, as it is: one of Triton's, for instance. It finds the stand-in driver library (tools/fa4-driver)
as libcuda.so.1; Triton's ptxas is one that hands PTX on, and CuTe-DSL keeps its PTX in files (fa4.driver.stand_in_cutlass); torch's
tensors "on cuda" are tensors of the host that kernels can access (fa4.driver.stand_in_torch). docs/simulator-launch.md has the options. The exit status is the script's, or 1
where a launch has failed and the script did not notice."""

import argparse
import ctypes
import functools
import importlib.abc
import importlib.util
import os
import runpy
import sys
from pathlib import Path

from fa4.tools import ToolNotFoundError, driver_library_folder

STARTED = "FA4_DRIVER_STARTED"


def environment(**settings) -> dict[str, str]:
    """What a process must have in its environment besides: the library, torch's alignment, Triton's paths, what CuTe-DSL is to
    compile for, and `settings`, which are FA4_DRIVER_* without their prefix (chip, check, allow, seed, policy, log, record, ptx); those that are None
    are left out."""
    folder = str(driver_library_folder())
    path = os.pathsep.join(filter(None, [folder, os.environ.get("LD_LIBRARY_PATH")]))
    triton = {"TRITON_LIBCUDA_PATH": folder}
    triton |= {f"TRITON_{name}_PATH": f"{folder}/ptxas" for name in ("PTXAS", "PTXAS_BLACKWELL")}
    preload = " ".join(filter(None, [f"{folder}/libfa4-align.so", os.environ.get("LD_PRELOAD")]))
    chip = settings.get("chip") or os.environ.get("FA4_DRIVER_CHIP") or "sm_100a"
    given = {f"FA4_DRIVER_{name.upper()}": str(value) for name, value in settings.items() if value is not None}
    return {"LD_LIBRARY_PATH": path, "LD_PRELOAD": preload, **triton, "CUTE_DSL_ARCH": chip, **given}


def _parse(arguments):
    parser = argparse.ArgumentParser(prog="python -m fa4.driver", description=__doc__.split("\n\n")[0])
    parser.add_argument("--chip", help="sm_90a, sm_100a (default), ...")
    parser.add_argument("--no-check", dest="check", action="store_const", const=0, help="look for no races")
    parser.add_argument("--allow", metavar="KINDS", help="findings that are known and meant")
    parser.add_argument("--seed", type=int, help="of the order in which things happen")
    parser.add_argument("--policy", choices=("random", "eager", "lazy", "priority"), help="how things are ordered")
    parser.add_argument("--log", metavar="FILE", help="a line of JSON for each launch")
    parser.add_argument("--record", metavar="FOLDER", help="keep each launch with its memory")
    parser.add_argument("--ptx", metavar="FOLDERS", help="where PTX for machine code is looked for")
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument("rest", metavar="ARGUMENT", nargs=argparse.REMAINDER)
    return parser.parse_args(arguments)


class _AfterImport(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Calls `action` when a module has been imported, by whomever, and before anybody uses it."""

    def __init__(self, name, action):
        self.name, self.action, self.loader = name, action, None

    def find_spec(self, name, path=None, target=None):
        if name != self.name or self.loader:
            return None
        self.loader = True  # For the search that follows.
        spec = importlib.util.find_spec(name)
        if spec:
            self.loader, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        module.__spec__.loader = module.__loader__ = self.loader
        self.action()


def _stand_in(name):
    importlib.import_module(f"fa4.driver.stand_in_{name}").install()


def _run_script(script, arguments):
    """Runs the script in this process. Returns the exit status if it ends without one."""
    for module, name in (("torch", "torch"), ("cutlass.cute", "cutlass")):
        sys.meta_path.insert(0, _AfterImport(module, functools.partial(_stand_in, name)))
    if importlib.util.find_spec("nvidia_cutlass_dsl"):
        # Before anybody starts the driver, which reads the environment once.
        importlib.import_module("fa4.driver.stand_in_cutlass").prepare()
    sys.argv = [script, *arguments]
    sys.path[0] = str(Path(script).resolve().parent)
    runpy.run_path(script, run_name="__main__")
    # A context that nobody has made is no error; a failed launch (719) that nobody has waited for is.
    return 1 if ctypes.CDLL("libcuda.so.1").cuCtxSynchronize() == 719 else 0


def main(arguments: list[str] | None = None) -> int:
    """Starts Python again with the environment that the program needs, and runs the script there."""
    arguments = sys.argv[1:] if arguments is None else arguments
    options = _parse(arguments)
    if os.environ.get(STARTED) != str(os.getpid()):
        settings = {name: getattr(options, name) for name in ("chip", "check", "allow", "seed", "policy", "log", "record", "ptx")}
        try:
            added = environment(**settings)
        except ToolNotFoundError as error:
            sys.exit(f"fa4.driver: {error}")
        if not Path(options.script).is_file():
            sys.exit(f"fa4.driver: {options.script}: no such file")
        # The dynamic linker reads LD_LIBRARY_PATH once, when a process starts. The process that takes this one's place has
        # its number, and a process that the script starts has another.
        package = os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")]))
        variables = {**os.environ, **added, "PYTHONPATH": package, STARTED: str(os.getpid())}
        sys.stdout.flush()
        os.execve(sys.executable, [sys.executable, "-m", "fa4.driver", *arguments], variables)
    return _run_script(options.script, options.rest)
