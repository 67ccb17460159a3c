# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels with one fault, and what finds it. The layers below the protocol's
proof, in this order: the simulator refuses to load the kernel, has a finding or
sees a hang, numbers miss FlashAttention's bound against float64, ptxas refuses
the kernel (or has to spill registers, for which fa4-compile refuses it).

    subject = Subject(gpu.Op(64, "causal"), folder)
    verdict = subject.judge(text)          # of a changed PTX text
"""

import functools
import hashlib
import json
import re
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from fa4 import reference
from fa4_testing import gpu, grid

# Of a hang, spinning included: warp instructions of one launch. The longest of
# the calls below takes a quarter of this.
MAX_INSTRUCTIONS = 4_000_000
OPERATIONS = [gpu.Op(head_dim, mask) for head_dim in (64, 128) for mask in ("full", "causal")]
# CTAs that go on from work tile to work tile.
OPERATIONS += [gpu.Op(64, "causal", schedule="static"), gpu.Op(64, "full", schedule="clc")]
# So few that a CTA of the schedule "static" has all the work tiles of a call.
SM_COUNT = 1
# Where roles and channels have their places, and where fences are known.
PROTOCOL_LEVELS = ("allocate", "distribute")
FENCE_LEVEL = "distribute"
LAYERS = ("load", "simulator", "hang", "numbers", "ptxas")


@dataclass(frozen=True)
class Call:
    """One problem, and how it is scheduled."""

    sq: int
    sk: int
    inputs: str = "normal"
    schedule: tuple = ("--seeds=0:0",)
    group: int = 1
    batch: int = 1

    @property
    def problem(self):
        return self.sq, self.sk, self.inputs, self.group, self.batch


_LATE = ("--seeds=3:3",), ("--policy=lazy",), ("--policy=eager",)

# Keys are taken in blocks of 128, from the last to the first; a CTA has two
# tiles of 128 queries. First what nearly all faults die of: 5 blocks, the last
# of them not full, whose row max grows by more than what it may lag.
CALLS = [
    Call(300, 600, "falling"),
    Call(300, 600, "normal", ("--seeds=1:2",)),
    *(Call(130, 1700, "falling", schedule) for schedule in _LATE[:2]),  # rings of stages go round twice
    *(Call(300, 600, "falling", schedule) for schedule in _LATE),
    Call(256, 128, "normal", _LATE[1]), Call(200, 256, "falling", _LATE[2]), Call(129, 300, "falling", _LATE[1]),
    Call(1, 1, "normal", _LATE[2]), Call(640, 130, "normal", _LATE[1]),  # causal: rows without a key
    # Several work tiles of one block, cut off by the length and full: of two blocks the second orders more.
    Call(640, 100), Call(640, 128),
    Call(200, 300, "large", ("--seeds=5:5",), 2, 2),
]  # fmt: skip
# What may mix phases up gets more of them: of a barrier that is one arrival off, a
# warp's arrivals after 32 phases, and a phase after 128; of a wait that may be late,
# warps that come last, for as many blocks as leave a ring of 5 stages at its end and
# elsewhere.
PHASE_CALLS = [
    Call(130, 1700, "falling", ("--seeds=4:7",)), Call(130, 1700, "falling", _LATE[2]),
    Call(130, 130 * 128 + 5, "falling", ("--seeds=1:1",)), Call(130, 130 * 128 + 5, "falling", _LATE[1]),
    Call(130, 1280, "falling"),
]  # fmt: skip
PHASE_OPERATORS = ("barrier", "parity", "count", "arrivals", "initial")
# Of the quick sample. What survives them, and is not explained, gets all others before it counts.
QUICK_CALLS = CALLS[:2]
# Numbers of the mutants of roles and channels in the quick sample: not all are asked for.
QUICK_RANGES = ("0:5", "346:349", "586:588", "852:854")
# What touches other columns gets a last block that is nearly full.
COLUMN_CALLS = [Call(200, 250)]
COLUMN_OPERATORS = ("overlay", "columns")


@dataclass(frozen=True)
class Verdict:
    """`layer` that kills the mutant, or none; what it says; the number of calls
    that went well before."""

    layer: str = ""
    kind: str = ""
    message: str = ""
    calls: int = 0


@dataclass
class Outcome:
    """What becomes of a mutant. `layer` finds it; where that is empty, `reason` says
    why it is no fault, or is None. `simulated`: of one that another layer judges,
    what the layers below the protocol's proof say."""

    level: str
    source: str
    operator: str
    name: str
    text: str
    layer: str
    kind: str = ""
    reason: str | None = None
    disagreement: bool = False
    simulated: Verdict | None = None


def name_of(op: gpu.Op) -> str:
    schedule = "" if op.schedule == "grid" else f"-{op.schedule}"
    return f"hd{op.head_dim}-{op.mask}{schedule}{'-pairs' * op.pairs}"


def compile_from(ir: str, level: str) -> str:
    """Returns the PTX of a module at this level. The protocol is not verified. Raises
    CompileError."""
    with tempfile.TemporaryDirectory(prefix="fa4-") as scratch:
        source = Path(scratch, "kernel.mlir")
        source.write_text(ir)
        gpu.run_tool("fa4-compile", source, f"--from={level}", "--verify=false", "-o", scratch)
        return next(Path(scratch).glob("*.ptx")).read_text()


class Subject:
    """A kernel of fa4-compile, and what its calls should give."""

    # Tensors that a call is given, and that it is asked for.
    inputs, outputs = ("q", "k", "v"), ("out", "lse")
    # Whether its module has no other kernels, so that a mutant of it can be compiled on.
    is_alone = True

    def __init__(self, op: gpu.Op, folder: Path):
        self.op = op
        emit = ",".join(["ptx", "nvvm", *PROTOCOL_LEVELS])
        self.kernel = gpu.compile(op.mlir(), folder, emit=emit, options=["--verify-ptx=false", *op.options])
        self.name = name_of(op)
        self.ptx = self.kernel.ptx
        self.lines = self.ptx.read_text().split("\n")
        self._problems = {}

    @property
    def entry(self):
        """The name of the kernel that is changed."""
        return self.ptx.stem

    def level(self, name: str) -> Path:
        return self.kernel.ptx.with_suffix(f".{name}.mlir")

    @property
    def manifest_path(self):
        return self.kernel.manifest

    @cached_property
    def manifest(self):
        return json.loads(self.manifest_path.read_text())

    # -- Problems ------------------------------------------------------------

    def prepare(self, calls):
        """Prepares all inputs and references once, so that threads can share them."""
        for call in calls:
            if call.problem not in self._problems:
                self._problems[call.problem] = self._make(call)

    def _folder(self, call):
        folder = self.ptx.parent / "-".join(map(str, call.problem))
        folder.mkdir(exist_ok=True)
        return folder

    def _make(self, call):
        shapes = [(call.batch, call.sq, call.group, self.op.head_dim)]
        shapes += [(call.batch, call.sk, 1, self.op.head_dim)] * 2
        rng = np.random.default_rng([call.sq, call.sk, self.op.head_dim])
        dtype = gpu.DTYPES[self.op.dtype]
        order = ["bshd".index(letter) for letter in self.op.layout]
        arrays = [
            np.ascontiguousarray(x.transpose(order)).astype(dtype)
            for x in grid.INPUTS[call.inputs](rng, *shapes)
        ]
        folder = self._folder(call)
        for name, array in zip("qkv", arrays):
            gpu.to_npy(folder / f"{name}.npy", array)
        exact = reference.sdpa(*arrays, **self.op.form)
        same = reference.sdpa_same_dtype(*arrays, **self.op.form)
        return folder, exact, same

    # -- Running -------------------------------------------------------------

    def simulate(self, manifest: Path, call: Call, check=True) -> Verdict | None:
        """Simulates a kernel. Returns None if nothing is found."""
        inputs, exact, same = self._problems[call.problem]
        out = manifest.parent
        command = [gpu.find_tool("fa4-sim"), str(manifest), "--json", "--threads=1", *call.schedule]
        command += [f"--max-instructions={MAX_INSTRUCTIONS}"] + (["--check"] if check else [])
        command += [f"{name}={inputs}/{name}.npy" for name in self.inputs]
        command += [f"sm_count={SM_COUNT}"] if "sm_count" in self.manifest["sizes"] else []
        command += [f"--output={name}={out}/{name}.npy" for name in self.outputs]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            return Verdict("hang", "time limit")
        if done.returncode:
            return _finding(done)
        try:
            self._compare(out, exact, same)
        except AssertionError as error:
            return Verdict("numbers", "numbers", str(error).splitlines()[0])
        return None

    def _compare(self, folder, exact, same):
        dtype = gpu.DTYPES[self.op.dtype]
        out = np.load(folder / "out.npy").astype(dtype)
        reference.check(out, exact[0], same[0], "out")
        lse = np.load(folder / "lse.npy").astype(np.float32)
        floor = grid.LSE_TOLERANCE + reference.rounding_floor(exact[1], np.float32)
        reference.check(lse, exact[1], exact[1], "lse", floor=floor)

    def judge(self, text: str, calls, ptxas: str | None = None) -> Verdict:
        """Judges a changed PTX text by running it. Only texts that survive are given to
        ptxas."""
        with tempfile.TemporaryDirectory(prefix="fa4-") as scratch:
            manifest = self.write(Path(scratch), text)
            for number, call in enumerate(calls):
                if verdict := self.simulate(manifest, call):
                    return Verdict(**(asdict(verdict) | {"calls": number}))
            if ptxas:
                try:
                    said = gpu.assemble(manifest.parent / self.ptx.name, "sm_100a", ptxas)
                except gpu.CompileError as error:
                    return Verdict("ptxas", "refused", _first_error(str(error)), len(calls))
                if said.spill_stores or said.spill_loads:
                    return Verdict("ptxas", "spills", f"{said.spill_stores} bytes", len(calls))
        return Verdict(calls=len(calls))

    def is_executed(self, fault, calls) -> bool:
        """Returns whether some call executes the instruction: a trap is put in its
        place."""
        with tempfile.TemporaryDirectory(prefix="fa4-") as scratch:
            manifest = self.write(Path(scratch), "\n".join(fault.trap(self.lines)))
            problems = {call.problem: call for call in calls}.values()
            return any(self.simulate(manifest, call, check=False) for call in problems)

    def write(self, folder: Path, text: str) -> Path:
        """Writes the kernel and its manifest, whose path is returned."""
        (folder / self.ptx.name).write_text(text)
        manifest = folder / "kernel.json"
        manifest.write_text(json.dumps(self.manifest | {"ptx": self.ptx.name}))
        return manifest


# Name -> what makes the subject, whose files go to a folder.
SUBJECTS = {name_of(op): functools.partial(Subject, op) for op in OPERATIONS}


def _first_error(text):
    lines = [line for line in text.splitlines() if "error" in line.lower() or "fatal" in line.lower()]
    return (lines or text.splitlines() or [""])[0].split(";", 1)[-1].strip()[:160]


def _finding(done) -> Verdict:
    try:
        runs = json.loads(done.stdout)["runs"]
        report = next(report for run in runs for report in run["reports"])
    except (ValueError, KeyError, StopIteration):
        return Verdict("load", "refused", done.stderr.strip()[-300:])
    layer = "hang" if report["kind"] == "hang" else "simulator"
    return Verdict(layer, report["kind"], report["message"].splitlines()[0][:160])


def fingerprint(text: str) -> str:
    """Returns a text that is equal for PTX texts which only differ in the numbers of
    registers and labels."""
    names = {}

    def number(match):
        return names.setdefault(match[0], f"{match[0][:2]}#{len(names)}")

    lines = (line.strip() for line in text.splitlines())
    kept = "\n".join(line for line in lines if line and not line.startswith((".reg", "//")))
    return hashlib.sha256(re.sub(r"%(?:p|r|rd|rs|f)\d+|\$L__BB\w+", number, kept).encode()).hexdigest()[:16]
