# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random edits of the files that fa4-compile writes of its levels. Each must end in one
of two ways. It is refused: exit status 1, an error with a sentence, at an operation of the
file. Or it compiles to a kernel in which fa4-sim finds nothing (all checks, several sizes and
schedules), which writes each element of its outputs once, and whose numbers are
those of the edited file: an interpreter of the tile dialect says what they are.
At the nvvm level an edit is a change of instructions, which nobody can judge: there, only
that the compiler does not crash is asked for. Exit status 1 if an edit ends in another way,
2 if nothing could be run.

What fails is kept in build/edits."""

import argparse
import concurrent.futures
import dataclasses
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from functools import cached_property
from pathlib import Path

import numpy as np

from fa4_testing import gpu
from fa4_testing.edits import draw, generic, interpreter
from fa4_testing.programs import tile_programs
from fa4_testing.programs.gradient import Gradient
from fa4_testing.programs.mods import I, J, S, f32
from fa4_testing.programs.program import Program, Sizes
from fa4.reference import Mask
from fa4.tools import missing_tool

FOLDER = gpu.ROOT / "build" / "edits"
# Small kernels of all kinds: what is masked, how, what is static, and who works on which tile.
PROGRAMS = {
    "hd64-causal": Program(head_dim=64, mask=Mask.causal("bottom_right")),
    "hd32-full": Program(head_dim=32, dtype="f16", layout="bhsd", lse=False),
    "hd64-window": Program(head_dim=64, mask=Mask("top_left", 90, 20), layout="sbhd"),
    "hd32-mods": Program(head_dim=32, score=("arith.mulf", ("math.tanh", S), f32(3.0)),
                         visible=("cmpi", "sle", J, ("arith.addi", I, ("const", 70, "index")))),
    "hd64-static": Program(head_dim=64, static=frozenset({"Sq", "Hq", "Hkv"}), sizes=Sizes(1, 200, 300, 1, 2)),
    # Pairs of CTAs.
    "pairs-causal": Program(head_dim=64, mask=Mask.causal("bottom_right"), options=("--pairs=on",)),
    "pairs-static": Program(head_dim=64, dtype="f16", mask=Mask("top_left", 90, 20), options=("--pairs=on", "--schedule=static")),
    "pairs-clc": Program(head_dim=32, layout="bhsd", lse=False, options=("--pairs=on", "--schedule=clc")),
    # CTAs that go on from work tile to work tile.
    "schedule-static": Program(head_dim=64, mask=Mask.causal("top_left"), options=("--schedule=static",)),
    "schedule-clc": Program(head_dim=32, dtype="f16", options=("--schedule=clc",)),
}  # fmt: skip
QUICK_PROGRAMS = ("hd64-causal", "hd32-full")
# Head dims of gradients, which are tile programs, and whether they are computed by pairs.
GRADIENTS = {f"{name}-hd{head_dim}": (head_dim, pairs)
             for name, pairs in (("gradient", "off"), ("pairs-gradient", "on")) for head_dim in tile_programs.GRADIENTS}
# Options of a product, another tile program.
GEMMS = {"gemm-static": ("--schedule=static",), "pairs-gemm": ("--pairs=on",), "pairs-gemm-clc": ("--pairs=on", "--schedule=clc")}
# Gradients in which work tiles take turns at adding to dq, on pairs of CTAs.
TURNS = {"pairs-turns": Gradient(head_dim=64, mask=Mask.causal("bottom_right"), deterministic=True, options=("--pairs=on",))}
# Schedules of attention of a packed batch.
PACKED = {"packed": "grid", "packed-clc": "clc"}
ALL = (*PROGRAMS, *GRADIENTS, *GEMMS, *PACKED, *TURNS)


@dataclasses.dataclass(frozen=True)
class Call:
    sizes: Sizes
    schedule: tuple
    inputs: str = "normal"


# No key that a row sees, one block, several, a last one that is not full; more than one
# work tile along each axis.
CALLS = (
    Call(Sizes(1, 256, 300, 1, 2), ("--seeds=0:1",), "falling"),
    Call(Sizes(2, 130, 700, 1, 1), ("--policy=lazy",), "falling"),
    Call(Sizes(1, 300, 128, 1, 1), ("--policy=eager",)),
    Call(Sizes(1, 70, 1, 1, 2), ("--policy=priority", "--seeds=0:1")),
    Call(Sizes(1, 257, 520, 1, 1), ("--policy=priority", "--seeds=2:3")),
)
# Of pairs: several of them along the axis, of which the last one has a CTA without a work tile.
PAIR_CALLS = (
    Call(Sizes(1, 520, 300, 1, 1), ("--seeds=0:1",), "falling"),
    Call(Sizes(2, 130, 700, 1, 1), ("--policy=lazy",), "falling"),
    Call(Sizes(1, 300, 128, 1, 2), ("--policy=eager",)),
    Call(Sizes(1, 70, 1, 1, 2), ("--policy=priority", "--seeds=0:1")),
    Call(Sizes(1, 600, 520, 1, 1), ("--policy=priority", "--seeds=2:3")),
)
# Of gradients: rows of the LSE are multiples of 16 bytes.
GRADIENT_CALLS = (
    Call(Sizes(1, 256, 300, 1, 1), ("--seeds=0:1",)),
    Call(Sizes(1, 136, 140, 2, 1), ("--policy=lazy",)),
    Call(Sizes(1, 300, 128, 1, 1), ("--policy=eager",)),
    Call(Sizes(1, 4, 5, 1, 1), ("--policy=priority", "--seeds=0:1")),
    Call(Sizes(1, 260, 100, 1, 1), ("--policy=priority", "--seeds=2:3")),
)
# Rows of A, and their length.
GEMM_CALLS = (
    Call(Sizes(1, 300, 264), ("--seeds=0:1",)),
    Call(Sizes(1, 700, 64), ("--policy=lazy",)),
    Call(Sizes(1, 600, 520), ("--policy=eager",)),
    Call(Sizes(1, 5, 8), ("--policy=priority", "--seeds=0:1")),
    Call(Sizes(1, 513, 136), ("--policy=priority", "--seeds=2:3")),
)
# Sequences, queries of each, keys of all; the sequences take turns in having a few keys and most of them.
PACKED_CALLS = (
    Call(Sizes(3, 256, 300), ("--seeds=0:1",)),
    Call(Sizes(2, 140, 700), ("--policy=lazy",)),
    Call(Sizes(1, 300, 128), ("--policy=eager",)),
    Call(Sizes(4, 60, 1), ("--policy=priority", "--seeds=0:1")),
    Call(Sizes(2, 260, 520), ("--policy=priority", "--seeds=2:3")),
)
MAX_INSTRUCTIONS = 6_000_000
TIMEOUT = 600

# Of outputs: the root mean square of the difference, as a share of that of the
# interpreter's numbers. Arithmetic is the same up to the order of sums and the last bit
# of exponentials; one key of 300 that is missing is 6 %.
TOLERANCE = 0.01
# What f32 terms of about 1 leave of a sum that is zero without rounding: an edit that stores 0 for
# the row max leaves an LSE of log2(1).
ROUNDING = 2.0**-20


class WrongError(Exception):
    """What an edit must not end in."""


# ---------------------------------------------------------------------------
# Kernels
# ---------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Data:
    """What a call is given: sizes by their names, arrays, outputs full of zeros, words for
    fa4-sim. `sums` are the outputs to which the kernel adds."""

    sizes: dict
    inputs: dict
    outputs: dict
    options: list
    sums: tuple = ()


class Kernel:
    """The files of a program's levels, in generic form."""

    def __init__(self, name, folder):
        self.name, self.folder = name, folder / name
        self.prepare()
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.folder / "done").exists():
            levels = [level for level in gpu.levels() if level != self.start]
            options = [*([f"--from={self.start}"] if self.start else []), *self.program.options]
            kernel = gpu.compile(self.text, self.folder, self.chip, emit=",".join(["ptx", *levels]), options=options)
            if self.start:
                (self.folder / f"source.{self.start}.mlir").write_text(self.text)
            (self.folder / "done").write_text(kernel.report)

    def prepare(self):
        """Sets what is compiled, and its level, if it is no op."""
        self.program = PROGRAMS[self.name]
        self.text, self.chip, self.start = self.program.mlir(), self.program.chip, None

    @cached_property
    def texts(self):
        return {level: self._generic(level) for level in gpu.levels()}

    def _generic(self, level):
        file = self.folder / f"{level}.generic.mlir"
        if not file.exists():
            source = next(self.folder.glob(f"*.{level}.mlir"))
            file.write_text(gpu.run_tool("fa4-opt", source, "--mlir-print-op-generic", "--mlir-print-local-scope"))
        return file.read_text()

    def calls(self):
        """Calls with the program's static sizes."""
        found = []
        for call in PAIR_CALLS if "--pairs=on" in self.program.options else CALLS:
            sizes, own = call.sizes._asdict(), self.program.sizes
            static = self.program.static
            sizes |= {"sq": own.sq} if "Sq" in static else {}
            sizes |= {"hkv": own.hkv, "group": own.group} if "Hq" in static else {}
            found.append(dataclasses.replace(call, sizes=Sizes(**sizes)))
        return found

    def data(self, call, compiled) -> Data:
        program = dataclasses.replace(self.program, sizes=call.sizes, inputs=call.inputs)
        inputs, sizes = dict(zip("qkv", program.draw(0))), call.sizes
        dtypes = {"out": inputs["q"].dtype, "lse": np.dtype(np.float32)}
        values = {"B": sizes.b, "Sq": sizes.sq, "Sk": sizes.sk, "Hq": sizes.hq, "Hkv": sizes.hkv}
        shapes = {name: np.zeros(program.shape(name), dtypes[name]) for name in program.results}
        return Data(values, inputs, shapes, program.call(compiled))


class TileGradient(Kernel):
    """The gradient of attention. dq is added to, once for each tile of keys."""

    def prepare(self):
        self.program = self._program(Sizes(1, 128, 128, 1, 1))
        self.text, self.chip, self.start = self.program.text, self.program.chip, self.program.start

    def _program(self, sizes):
        head_dim, pairs = GRADIENTS[self.name]
        program = tile_programs.gradient(head_dim, sizes.sq, sizes.sk, self.name, tile_programs.GRADIENTS[head_dim], sizes.hkv)
        return dataclasses.replace(program, options=(*program.options, f"--pairs={pairs}"))

    def calls(self):
        return GRADIENT_CALLS

    def data(self, call, compiled) -> Data:
        sizes, program = call.sizes, self._program(call.sizes)
        inputs = program.draw(np.random.default_rng(0))
        values = {"B": 1, "Sq": sizes.sq, "Sk": sizes.sk, "H": sizes.hkv}
        like = {"dq": "q", "dk": "k", "dv": "v"}
        shapes = {name: np.zeros(inputs[like[name]].shape, dtype) for name, dtype in program.results.items()}
        return Data(values, inputs, shapes, [], sums=("dq",))


class Gemm(Kernel):
    """A product with 136 columns; with the schedule static, in launches of at most two CTAs."""

    def prepare(self):
        self.program = self._program(Sizes(1, 300, 264))
        claimed = '"C", tile.output = "once"'  # What is not claimed is not refused.
        self.text = self.program.text.replace('"C"', claimed, 1)
        self.chip, self.start = self.program.chip, self.program.start

    def _program(self, sizes):
        return tile_programs.gemm(sizes.sq, 136, sizes.sk, self.name, options=GEMMS[self.name])

    def calls(self):
        return GEMM_CALLS

    def data(self, call, compiled) -> Data:
        inputs = self._program(call.sizes).draw(np.random.default_rng(0))
        m, k, n = *inputs["A"].shape, inputs["B"].shape[1]
        outputs = {"C": np.zeros((m, n), inputs["A"].dtype)}
        options = ["sm_count=2"] if "--schedule=static" in self.program.options else []
        return Data({"M": m, "N": n, "K": k}, inputs, outputs, options)


class Packed(Kernel):
    """Attention of a batch whose sequences have keys of different numbers, which the kernel reads."""

    def prepare(self):
        self.program = self._program(Sizes(1, 140, 1))
        self.text, self.chip, self.start = self.program.text, self.program.chip, self.program.start

    def _program(self, sizes):
        ends = [sizes.sk * (b + 1) // sizes.b // (2 - b % 2) for b in range(sizes.b)]
        starts = [0, *ends[:-1]]
        return tile_programs.packed(self.name, starts, ends, sizes.sk, sizes.sq, PACKED[self.name])

    def calls(self):
        return PACKED_CALLS

    def data(self, call, compiled) -> Data:
        sizes, program = call.sizes, self._program(call.sizes)
        inputs = program.draw(np.random.default_rng(0))
        shapes = {"out": inputs["q"].shape, "lse": (sizes.b, 2, sizes.sq)}
        outputs = {name: np.zeros(shapes[name], dtype) for name, dtype in program.results.items()}
        return Data({"B": sizes.b, "Sq": sizes.sq, "T": sizes.sk}, inputs, outputs, list(program.scalars))


class Turns(Kernel):
    """The main kernel of a gradient that the op asks for. What the kernel before it computes, the interpreter does."""

    def prepare(self):
        self.program = TURNS[self.name]
        self.chip, self.start = self.program.chip, "tile"
        with tempfile.TemporaryDirectory(prefix="fa4-edits-") as scratch:
            source = Path(scratch, "source.mlir")
            source.write_text(self.program.mlir())
            gpu.run_tool("fa4-compile", source, "--emit=tile", "-o", scratch)
            (levels,) = Path(scratch).glob("*.tile.mlir")
            module = generic.parse(gpu.run_tool("fa4-opt", levels, "--mlir-print-op-generic", "--mlir-print-local-scope"))
        (block,) = module.blocks()
        self.before, main, *_ = (op for op in block.ops if op.name == "tile.kernel")
        main.attributes.pop("tile.programmatic_launch", None)
        block.ops = [main]
        self.text = str(module) + "\n"

    def calls(self):
        return GRADIENT_CALLS

    def data(self, call, compiled) -> Data:
        program, sizes = dataclasses.replace(self.program, sizes=call.sizes), call.sizes
        given = program.draw(np.random.default_rng(0))
        values = {"B": sizes.b, "Sq": sizes.sq, "Sk": sizes.sk, "Hq": sizes.hq, "Hkv": sizes.hkv}
        rows = (sizes.b, sizes.hq, -(-sizes.sq // 128) * 128)
        first = {name: np.zeros(rows, np.float32) for name in ("shift", "delta")}
        first |= {"sums": np.zeros(given["q"].shape, np.float32), "turns": np.zeros(rows, np.int32)}
        first = interpreter.run(self.before, values, given, first).arrays
        outputs = {"sums": first.pop("sums")} | {f"d{name}": np.zeros_like(given[name]) for name in "kv"}
        return Data(values, {name: given[name] for name in ("q", "k", "v", "dout")} | first, outputs, [], sums=("sums",))


def make_kernel(name, folder) -> Kernel:
    families = ((TileGradient, GRADIENTS), (Gemm, GEMMS), (Packed, PACKED), (Turns, TURNS))
    family = next((family for family, names in families if name in names), Kernel)
    return family(name, folder)


# ---------------------------------------------------------------------------
# Judging
# ---------------------------------------------------------------------------

_ERROR = re.compile(r"^(?P<file>[^\n:]*):(?P<line>\d+):(?P<column>\d+): error: (?P<message>.*)$", re.M)
_CRASH = re.compile(r"LLVM ERROR|PLEASE submit|Assertion|Stack dump|UNREACHABLE|Sanitizer|terminate called")
# What dialect conversion and pass managers say of what they do not understand.
_BARE = re.compile(r"failed to legalize|failed to materialize|unrealized_conversion_cast|operation was not", re.I)


def compile_edit(source: Path, level: str, folder: Path, chip: str, options=()) -> tuple[str, gpu.Kernel | None]:
    """The error with which the file is refused, or the kernel. Raises WrongError."""
    command = [gpu.find_tool("fa4-compile"), source, f"--from={level}", f"--chip={chip}", *options, "-o", folder]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        raise WrongError(f"compiler: no result after {TIMEOUT} s") from None
    said = done.stderr
    if done.returncode not in (0, 1) or _CRASH.search(said):
        raise WrongError(f"compiler: exit status {done.returncode}: {said.strip()[-1500:]}")
    written = sorted(folder.glob("*.ptx"))
    if done.returncode == 0:
        if len(written) != 1:
            raise WrongError(f"compiler: wrote {len(written)} PTX files")
        kernel = gpu.Kernel(*(written[0].with_suffix(s) for s in (".json", ".ptx", ".cubin")), report=said)
        return "", kernel
    error = _ERROR.search(said)
    if not error:
        raise WrongError(f"compiler: an error without a place: {said.strip()[:500]}")
    if written:
        raise WrongError("compiler: refused the file, but wrote PTX")
    # LLVM's verifier and back end name an instruction, not an operation of the file.
    of_llvm = error["message"].startswith(("invalid LLVM IR: ", "NVPTX back end: "))
    placed = int(error["line"]) >= 2 or (level == "nvvm" and of_llvm)
    if not placed or _BARE.search(said):
        raise WrongError(f"compiler: no sentence at an operation: {error[0]}")
    return error["message"], None


def _rms(array):
    return np.sqrt(np.mean(array**2))


def _compare(name, found, meant, written, moved):
    """Raises WrongError if `found` is not `meant`. `written` is how often each element was written, or
    None if that may be any number. `moved` gives the results, by name, that
    arithmetic with other last bits has: weights far below 1 that are rounded to f16 have few
    bits left, and the results of such an edit hang on each of them."""
    if written is not None and not (written == 1).all():
        raise WrongError(f"outputs: {name}: {(written == 0).sum()} elements are not written, {(written > 1).sum()} twice")
    a, b = found.astype(np.float64), meant.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    finite = np.isfinite(a) & np.isfinite(b)
    # On the edge of overflow, either; and where the file asks whether a sum is just 1, the last bit decides.
    edge = ~same & ~finite
    if edge.mean() > 0.001 and edge.sum() > 2 * (np.isfinite(moved()[name]) != np.isfinite(b)).sum():
        raise WrongError(f"numbers: {name}: {edge.sum()} of {edge.size} are infinite or NaN in one of both")
    if not finite.any():
        return
    scale, error = _rms(b[finite]), _rms(a[finite] - b[finite])
    if error <= TOLERANCE * scale + ROUNDING:
        return
    c = moved()[name].astype(np.float64)
    if error > TOLERANCE * scale + 2 * _rms(np.where(np.isfinite(c), c - b, 0)[finite]):
        raise WrongError(f"numbers: {name}: differ by {error:.3g} (rms) from the file's meaning, of {scale:.3g}")


def simulate(kernel: gpu.Kernel, of: Kernel, call: Call, module: generic.Op, ordered: bool):
    """Raises WrongError if the kernel does not do what the module says, where that is
    defined. Where roles are not `ordered` yet, a file in which they hang may become a
    kernel in which they do not."""
    data = of.data(call, kernel)
    results = {name: array.dtype for name, array in data.outputs.items()}
    parts = [op for op in module.walk() if op.name == "tile.kernel"]
    given = data.inputs | {name: data.outputs[name] for name in data.sums}
    try:
        meant = interpreter.run(parts[0], data.sizes, given, data.outputs)
    except interpreter.UndefinedError:
        return
    except interpreter.HangError as error:
        if ordered:
            raise WrongError(f"meaning: compiles, but {error}") from None
        return
    except interpreter.MeaninglessError as error:
        raise WrongError(f"meaning: compiles, but {error}") from None
    options = ["--threads=1", *data.options]
    schedule = [word for word in call.schedule if not word.startswith("--seeds")]
    seeds = next((word[8:] for word in call.schedule if word.startswith("--seeds")), "0:0")
    first, last = map(int, seeds.split(":"))

    def simulated(last, limit):
        words = [*options, f"--max-instructions={limit}", *schedule]
        return gpu.simulate(kernel, data.inputs, results, (first, last), options=words, timeout=TIMEOUT)

    try:
        try:
            found = simulated(last, MAX_INSTRUCTIONS)
        except gpu.SimulationError as error:
            # Blocks of one key are 128 times as many: one schedule of these is enough.
            if "[instruction-limit]" not in str(error):
                raise
            found = simulated(first, 100 * MAX_INSTRUCTIONS)
    except gpu.SimulationError as error:
        raise WrongError(f"simulator: {error}") from None


    def compare(meant, together=None):
        def moved():
            noise = np.random.default_rng(0)
            return interpreter.run(parts[0], data.sizes, given, data.outputs, noise=noise, together=together).arrays

        for name in results:
            written = None if name in data.sums else meant.written[name]
            _compare(name, found[name], meant.arrays[name], written, moved)

    try:
        compare(meant)
    except WrongError as wrong:
        # An edit may take away what makes the bounds of other work tiles do no harm. Then the program means either.
        if "cluster" in parts[0].properties or not any(op.name in ("tile.at_most", "tile.at_least") for op in parts[0].walk()):
            raise
        try:
            compare(interpreter.run(parts[0], data.sizes, given, data.outputs, together=0), 0)
        except (WrongError, interpreter.MeaninglessError):
            raise wrong from None


# ---------------------------------------------------------------------------
# One number: one edit
# ---------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Result:
    number: int
    kernel: str
    level: str
    kind: str
    edit: str
    outcome: str  # refused, right, compiled, FAILED
    message: str = ""
    seconds: float = 0.0
    text: str = ""  # Of what failed.


def _names(options):
    if options.kernel:
        return [options.kernel]
    return list(QUICK_PROGRAMS) if options.quick else list(ALL)


_NVVM_KINDS = ("delete", "double", "swap", "operand", "constant", "attribute")
# Of channels and roles.
_ROLE_KINDS = ("stages", "counts", "places", "warps")


def kinds_of(level):
    """Kinds of edits for which files of this level have operations."""
    if level == "nvvm":
        return list(_NVVM_KINDS)
    levels = gpu.levels()
    has_roles = levels.index(level) >= levels.index("warp-specialize")
    return [kind for kind in draw.KINDS if has_roles or kind not in _ROLE_KINDS]


def draw_edit(options, number, folder):
    """Kernel, level, edited module and edit: always the same for a seed and number."""
    rng = random.Random(f"{options.seed} {number}")
    kernel = make_kernel(rng.choice(_names(options)), folder)
    levels = [level for level in gpu.levels() if options.kind in (None, *kinds_of(level))]
    level = options.level or levels[number % len(levels)]
    module = generic.parse(kernel.texts[level])
    kinds = [options.kind] if options.kind else kinds_of(level)
    while True:
        try:
            return kernel, level, module, draw.edit(module, rng, rng.choice(kinds))
        except ValueError:
            if options.kind:
                raise


def run_number(options, number, folder) -> Result:
    started = time.monotonic()
    kernel, level, module, edit = draw_edit(options, number, folder)
    text = str(module) + "\n"

    def result(outcome, message="", text=""):
        seconds = time.monotonic() - started
        return Result(number, kernel.name, level, edit.kind, edit.text, outcome, message, seconds, text)

    with tempfile.TemporaryDirectory(prefix="fa4-edits-") as scratch:
        source, out = Path(scratch, "edited.mlir"), Path(scratch, "out")
        source.write_text(text)
        out.mkdir()
        try:
            error, compiled = compile_edit(source, level, out, kernel.chip, kernel.program.options)
            if error:
                return result("refused", error)
            if level == "nvvm":
                return result("compiled")
            calls = kernel.calls()
            for call in calls[:3] if options.quick else calls:
                simulate(compiled, kernel, call, module, ordered=level != "warp-specialize")
        except WrongError as wrong:
            return result("FAILED", str(wrong), text)
        except Exception as error:  # The suite's own fault.
            return result("FAILED", f"suite: {error!r}", text)
    return result("right")


# ---------------------------------------------------------------------------
# The command line
# ---------------------------------------------------------------------------


def parse(words):
    parser = argparse.ArgumentParser(prog="edits", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("count", type=int, nargs="?", default=300, metavar="N", help="number of edits (default: 300)")
    add("--seed", type=int, default=0, help="of the edits (default: 0)")
    add("--first", type=int, default=0, help="number of the first (default: 0)")
    add("--level", choices=gpu.levels() if gpu.has_tools("fa4-compile") else None, help="only files of this level")
    add("--kind", choices=draw.KINDS, help="only edits of this kind")
    add("--kernel", choices=ALL, help="only files of this kernel")
    add("--quick", action="store_true", help="two kernels, three calls of each that compiles")
    add("--jobs", type=int, default=os.cpu_count(), help="processes (default: processors)")
    add("--verbose", action="store_true", help="print what became of each edit")
    options = parser.parse_args(words)
    if options.count < 1 or options.jobs < 1:
        parser.error("N and --jobs are at least 1")
    return options


def save(result: Result, options) -> Path:
    FOLDER.mkdir(parents=True, exist_ok=True)
    name = f"{result.level}-{options.seed}-{result.number}-{zlib.crc32(result.edit.encode()):08x}"
    file = FOLDER / f"{name}.mlir"
    file.write_text(f"// {result.kernel}: {result.edit}\n// {result.message.splitlines()[0]}\n{result.text}")
    return file


def table(results) -> str:
    columns = ("refused", "right", "compiled", "FAILED")
    kinds = [kind for kind in draw.KINDS if any(r.kind == kind for r in results)]
    lines = [f"{'level':<16} {'kind':<10} {'edits':>6}" + "".join(f"{c:>10}" for c in columns)]
    for level in gpu.levels():
        for kind in (*kinds, "all"):
            counts = Counter(r.outcome for r in results if r.level == level and kind in (r.kind, "all"))
            if counts:
                lines.append(f"{level:<16} {kind:<10} {counts.total():>6}" + "".join(f"{counts[c]:>10}" for c in columns))
    counts = Counter(r.outcome for r in results)
    lines.append(f"{'all':<16} {'all':<10} {counts.total():>6}" + "".join(f"{counts[c]:>10}" for c in columns))
    return "\n".join(lines)


def run(options, folder) -> list[Result]:
    """In the order in which they end; a process each gets some."""
    numbers = range(options.first, options.first + options.count)
    for name in _names(options):
        _ = make_kernel(name, folder).texts
    if options.jobs == 1:
        yield from (run_number(options, number, folder) for number in numbers)
        return
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        running = [pool.submit(run_number, options, number, folder) for number in numbers]
        yield from (future.result() for future in concurrent.futures.as_completed(running))


def main(words=None, folder: Path | None = None):
    """`folder` is where the kernels that are edited are kept, for later calls."""
    options = parse(words)
    if missing := missing_tool("fa4-compile", "fa4-opt", "fa4-sim"):
        print(f"edits: {missing}", file=sys.stderr)
        return 2
    results, shown = [], time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fa4-edits-") as scratch:
        for result in run(options, folder or Path(scratch)):
            results.append(result)
            if options.verbose and result.outcome != "FAILED":
                print(f"{result.number} {result.kernel} {result.level} {result.kind}: {result.edit}: {result.outcome} {result.message}", flush=True)
            if result.outcome == "FAILED":
                file = save(result, options)
                print(f"FAILED {result.number} {result.kernel} {result.level} {result.kind}: {result.edit}\n  {result.message}")
                print(f"  kept in {file}; again: bench/edits 1 --seed {options.seed} --first {result.number}", flush=True)
            elif time.monotonic() > shown + 60:
                shown = time.monotonic()
                print(f"... {len(results)} of {options.count}", flush=True)
    print(table(results))
    return 1 if any(result.outcome == "FAILED" for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
