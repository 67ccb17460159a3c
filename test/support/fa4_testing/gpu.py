# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile `attn.sdpa` for a GPU with fa4-compile, and run it in fa4-sim.

    op = gpu.Op(head_dim=128, mask="causal", dtype="bf16")
    kernel = gpu.compile(op.mlir(), Path("out"), chip="sm_100a")
    out, lse = gpu.simulate(kernel, {"q": q, "k": k, "v": v}, ["out", "lse"], check=True)

fa4.tools says where the tools are looked for; ptxas is where fa4-compile looks for it.
"""

import functools
import json
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np

from fa4 import cuda_tools
from fa4_testing.cpu import CompileError, dtype_of, mask_text
from fa4.errors import SimulationError
from fa4.reference import Mask
from fa4.sim import to_npy
from fa4.tools import ROOT, ToolNotFoundError, find_tool, has_tools

# Also from here.
__all__ = ["ROOT", "CompileError", "SimulationError", "ToolNotFoundError", "find_tool", "has_tools", "to_npy"]
DTYPES = {"bf16": np.dtype(ml_dtypes.bfloat16), "f16": np.dtype(np.float16)}
# Of work tiles, as fa4-compile's --schedule names them; `auto` picks one of them.
SCHEDULES = ("grid", "static", "lpt", "clc")
# Of a chip whose CTAs cannot ask for the work of other ones.
HOPPER_SCHEDULES = SCHEDULES[:-1]
MASKS = {
    "full": None,
    "causal": Mask.causal("bottom_right"),
    "causal-top-left": Mask.causal("top_left"),
}


def run_tool(name: str, *arguments) -> str:
    """Runs a tool and returns its standard output. Raises CompileError with the tool's
    message."""
    done = subprocess.run([find_tool(name), *arguments], capture_output=True, text=True)
    if done.returncode:
        raise CompileError(done.stderr.strip() or f"{name}: exit status {done.returncode}")
    return done.stdout


@dataclass(frozen=True)
class Op:
    """An `attn.sdpa` on memrefs, all sizes but the head dims dynamic, which
    writes the LSE too, the schedule of its work tiles, and whether CTAs work in pairs.
    `value_dim` is the head dim of v and out, if it is another one."""

    head_dim: int = 128
    mask: str = "full"
    dtype: str = "bf16"
    layout: str = "bshd"
    schedule: str = "grid"
    pairs: bool = False
    value_dim: int | None = None

    @property
    def name(self):
        mask = self.mask.replace("-", "_")
        schedule = "" if self.schedule == "grid" else f"_{self.schedule}"
        dims = f"{self.head_dim}_{self.value_dim}" if self.value_dim else self.head_dim
        return f"fwd_hd{dims}_{mask}_{self.dtype}_{self.layout}{schedule}{'_pairs' * self.pairs}"

    @property
    def options(self):
        """Of fa4-compile."""
        return (f"--schedule={self.schedule}", *["--pairs=on"] * self.pairs)

    @property
    def form(self):
        """Returns the reference's keywords."""
        return {"layout": self.layout, "mask": MASKS[self.mask]}

    def shape(self, batch, tokens, heads):
        sizes = {"b": batch, "s": tokens, "h": heads, "d": self.head_dim}
        return tuple(sizes[letter] for letter in self.layout)

    def mlir(self):
        data, values = (
            f"memref<?x?x?x{dim}x{self.dtype}>" for dim in (self.head_dim, self.value_dim or self.head_dim)
        )
        lse = "memref<?x?x?xf32>"
        mask = MASKS[self.mask]
        clause = f" {mask_text(mask)}" if mask else ""
        return f"""func.func @{self.name}(
    %q: {data}, %k: {data}, %v: {values},
    %out: {values}, %lse: {lse}) {{
  attn.sdpa %q, %k, %v layout<{self.layout}>{clause}
    outs(%out, %lse : {values}, {lse})
    : {data}, {data}, {values}
  return
}}
"""


@functools.cache
def levels() -> tuple[str, ...]:
    """The levels of IR below the op, in their order, as fa4-compile --help lists them.
    Raises ToolNotFoundError."""
    listed = re.search(r"^Levels:\n((?:  [\w-]+: .*\n)+)", run_tool("fa4-compile", "--help"), re.MULTILINE)[1]
    return tuple(re.findall(r"^  ([\w-]+):", listed, re.MULTILINE))


@dataclass(frozen=True)
class Kernel:
    """The files of one kernel. `cubin` is only there if it was asked for. `report` is
    the output of fa4-compile, which has tables with `--report`."""

    manifest: Path
    ptx: Path
    cubin: Path
    report: str = ""


@dataclass(frozen=True)
class Launches:
    """The files of a function that launches several kernels: the manifest of all
    launches, and the PTX of each in their order. `written` names all files of the compilation."""

    manifest: Path
    ptx: tuple[Path, ...]
    written: tuple[str, ...] = ()


def _run_compiler(text, folder, chip, emit, options):
    """Runs fa4-compile; returns the names of the files, which are in `folder`, and the output."""
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "op.mlir"
    source.write_text(text)
    chips = [f"--chip={chip}"] if chip else []
    with tempfile.TemporaryDirectory(prefix=".fa4-", dir=folder) as scratch:
        report = run_tool("fa4-compile", source, *chips, f"--emit={emit}", "-o", scratch, *options)
        written = sorted(path.name for path in Path(scratch).iterdir())
        for path in Path(scratch).iterdir():
            path.replace(folder / path.name)
    return written, report


def compile(
    text: str,
    folder: Path,
    chip: str | None = None,
    emit: str = "ptx",
    options: Sequence[str] = (),
) -> Kernel:
    """Runs fa4-compile on the text of a module that has one kernel; its files
    go to `folder`, beside what is there, and replace those of the same name;
    op.mlir is the text. `chip` is that of the kernel by default, or sm_100a for
    an op, which is for none. Raises CompileError with the tool's message."""
    written, report = _run_compiler(text, folder, chip, emit, options)
    return _one_kernel(folder, written, report)


def _one_kernel(folder, written, report):
    found = [name for name in written if name.endswith(".ptx")]
    if len(found) != 1:
        raise CompileError(f"fa4-compile wrote {len(found)} PTX files, expected one")
    files = [folder / (Path(found[0]).stem + suffix) for suffix in (".json", ".ptx", ".cubin")]
    for path in files:
        if path.name not in written:
            path.unlink(missing_ok=True)
    return Kernel(*files, report=report)


def compile_launches(
    text: str, folder: Path, chip: str | None = None, options: Sequence[str] = (), emit: str = "ptx"
) -> Launches:
    """The same for a module with one function that launches several kernels, as the gradient
    of attention does."""
    written, _ = _run_compiler(text, folder, chip, emit, options)
    if launches := _find_launches(folder, written):
        return launches
    raise CompileError("fa4-compile wrote no manifest of several launches")


def _find_launches(folder, written):
    for name in written:
        if name.endswith(".json"):
            launches = json.loads((folder / name).read_text()).get("launches")
            if launches:
                return Launches(folder / name, tuple(folder / launch["ptx"] for launch in launches), tuple(written))
    return None


def compile_any(
    text: str, folder: Path, chip: str | None = None, emit: str = "ptx", options: Sequence[str] = ()
) -> Kernel | Launches:
    """The same for a module with one kernel, or with one function that launches several: an op whose mask reads tables has
    small kernels in front of its own."""
    written, report = _run_compiler(text, folder, chip, emit, options)
    return _find_launches(folder, written) or _one_kernel(folder, written, report)


def printed_at(kernel: Kernel | Launches, level: str) -> Path:
    """The module at a level of IR that was asked for in `emit`, which has all its kernels."""
    if isinstance(kernel, Kernel):
        return kernel.ptx.with_suffix(f".{level}.mlir")
    (name,) = (name for name in kernel.written if name.endswith(f".{level}.mlir"))
    return kernel.manifest.parent / name


def ptx_files(kernel: Kernel | Launches) -> tuple[Path, ...]:
    """The PTX of all launches, in their order."""
    return kernel.ptx if isinstance(kernel, Launches) else (kernel.ptx,)


def simulate(
    kernel: Kernel | Launches,
    inputs: dict,
    results: dict | Sequence[str],
    seeds: tuple[int, int] = (0, 0),
    check: bool = True,
    options: Sequence[str] = (),
    timeout: float | None = None,
) -> dict | tuple:
    """Runs the kernel, or all launches, on `machine`, once for each seed from the first to the last, both
    included. `inputs` is name -> array, or number for a scalar that the kernel
    takes (a size, a capture). Returns what the last run wrote: for `results`
    that is name -> dtype, name -> array; for a sequence of names, a tuple of
    arrays of the tensors' own dtypes. Raises SimulationError when any
    run has a finding, and when the call breaks a condition of the manifest."""
    if not isinstance(results, dict):
        tensors = json.loads(kernel.manifest.read_text())["tensors"]
        dtypes = {name: dtype_of(tensors[name]["dtype"]) for name in results}
        arrays = simulate(kernel, inputs, dtypes, seeds, check, options, timeout)
        return tuple(arrays.values())
    return machine(kernel, inputs, results, seeds, check, options, timeout)


def _run_simulator(kernel, inputs, results, seeds, check, options, timeout):
    """What `simulate` says, where `results` are names and dtypes, by fa4-sim."""
    with tempfile.TemporaryDirectory(prefix="fa4-") as scratch:
        command = [find_tool("fa4-sim"), str(kernel.manifest), "--json"]
        for name, array in inputs.items():
            if isinstance(array, (int, float, np.number)):
                command.append(f"{name}={np.asarray(array).item()!r}")
                continue
            to_npy(Path(scratch, name + ".npy"), array)
            command.append(f"{name}={scratch}/{name}.npy")
        command += [f"--output={name}={scratch}/{name}.npy" for name in results]
        command += [f"--seeds={seeds[0]}:{seeds[1]}", *options]
        command += ["--check"] if check else []
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=timeout
            )
        except subprocess.TimeoutExpired:
            raise SimulationError(f"no result after {timeout} s") from None
        if done.returncode:
            raise SimulationError(_findings(done))
        arrays = {n: np.load(f"{scratch}/{n}.npy").astype(t) for n, t in results.items()}
    return arrays


# What runs kernels: fa4-sim, or where a process says so a card (fa4_bench.hopper.card).
machine = _run_simulator


def _findings(done):
    """Returns the findings of fa4-sim in a few lines."""
    try:
        runs = json.loads(done.stdout)["runs"]
    except (ValueError, KeyError):
        return done.stderr.strip()[-2000:] or f"exit status {done.returncode}"
    lines = [
        f"seed {run['seed']}: [{report['kind']}] {report['message'].splitlines()[0]}"
        for run in runs
        for report in run["reports"]
    ]
    return "\n".join(lines[:5]) or done.stderr.strip()[-2000:]


# ---------------------------------------------------------------------------
# ptxas
# ---------------------------------------------------------------------------


def find_ptxas() -> str | None:
    """Returns the path of ptxas, which is searched in the same places as fa4-compile
    does."""
    return find_cuda_tool("ptxas")


def find_cuda_tool(name: str) -> str | None:
    """Returns the path of ptxas or nvdisasm."""
    return cuda_tools.find(name, (ROOT / ".venv",))


@dataclass(frozen=True)
class Assembled:
    """What ptxas reports of a file: the largest value of any function, in bytes."""

    registers: int
    spill_stores: int
    spill_loads: int
    stack: int
    advice: tuple  # warnings, and what it has ignored


def assemble(
    ptx: Path, chip: str, ptxas: str | None = None, cubin: Path | None = None
) -> Assembled:
    """Runs ptxas. Raises CompileError with its message."""
    ptxas = ptxas or find_ptxas()
    if not ptxas:
        raise ToolNotFoundError("ptxas not found")
    with tempfile.TemporaryDirectory(prefix="fa4-") as scratch:
        done = subprocess.run(
            [ptxas, f"-arch={chip}", "-v", ptx, "-o", cubin or f"{scratch}/cubin"],
            capture_output=True,
            text=True,
        )
    text = done.stdout + done.stderr
    if done.returncode:
        raise CompileError(f"ptxas rejects {ptx}:\n{text[-2000:]}")

    def most(pattern):
        return max((int(n) for n in re.findall(pattern, text)), default=0)

    advice = re.findall(r"^.*(?:warning|ignored|advisory).*$", text, re.I | re.M)
    return Assembled(
        most(r"Used (\d+) registers"),
        most(r"(\d+) bytes spill stores"),
        most(r"(\d+) bytes spill loads"),
        most(r"(\d+) bytes stack frame"),
        tuple(advice),
    )
