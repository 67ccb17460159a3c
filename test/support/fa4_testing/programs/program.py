# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A call of `attn.sdpa` in any form that has a kernel, from its text to the
comparison of what the simulator wrote with float64.

    program = Program(head_dim=64, sizes=Sizes(2, 5, 300, 4, 2), mask=Mask.causal("top_left"))
    outcome = run(program, Path("out"))        # compiled, simulated, compared
"""

import json
import os
import subprocess
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fa4 import reference
from fa4_testing import gpu, grid
from fa4_testing.cpu import mask_text
from fa4_testing.programs import mods, pages
from fa4_testing.programs.block_lists import BlockLists
from fa4.reference import Mask


class Sizes(NamedTuple):
    """The sizes of one call. There are `group` times as many heads of q as of k and v. Of packed sequences, `sq` and `sk` are the longest."""

    b: int = 1
    sq: int = 64
    sk: int = 64
    hkv: int = 1
    group: int = 1

    @property
    def hq(self):
        return self.hkv * self.group

    def named(self):
        """The sizes by the names that kernels have for them."""
        return {"B": self.b, "Sq": self.sq, "Sk": self.sk, "Hq": self.hq, "Hkv": self.hkv}


# Operands and results with a number for each row of queries, for each head of queries, with a row for each key,
# with a number for each sequence, and with the bounds of packed ones. All others have a row for each query.
ROWS, HEADS, KEYS = ("lse", "dlse"), ("sinks", "dsinks"), ("k", "v", "dk", "dv")
SEQUENCES, BOUNDS = ("seqlens_k",), ("cu_seqlens_q", "cu_seqlens_k")
# With the pages of each sequence, and the blocks of each block of queries.
TABLES, LISTS, QUERY_LISTS = ("page_table",), ("block_list", "block_counts"), ("query_list", "query_counts")
# The clauses of those that not every form has, in the op's order.
CLAUSES = {"cu_seqlens": BOUNDS, "seqlens_k": SEQUENCES, "page_table": TABLES, "block_list": LISTS, "query_list": QUERY_LISTS,
           "block_size": (), "sinks": ("sinks",)}  # fmt: skip
# Those with rows of the head dim of v.
VALUES = ("v", "out", "dout", "dv")


def letters_of(operand, layout):
    """Of each dim of an operand or a result, the size: B, Sq, Sk, Tq, Tk, Hq, Hkv, D, Dv or Bounds."""
    if operand in ROWS:
        return ["Hq", "Tq"] if "t" in layout else ["B", "Hq", "Sq"]
    if operand in BOUNDS:
        return ["Bounds"]
    if operand in HEADS or operand.startswith("dcapture"):
        return ["Hq"]
    if operand in SEQUENCES:
        return ["B"]
    if operand in TABLES:
        return ["B", "SeqPages"]
    if operand in LISTS:
        return ["B", "ListHeads", "ListBlocks", "ListEntries"][: 4 - LISTS.index(operand)]
    if operand in QUERY_LISTS:
        return ["B", "ListHeads", "ListKeyBlocks", "ListQueries"][: 4 - QUERY_LISTS.index(operand)]
    seq, head = ("Sk", "Hkv") if operand in KEYS else ("Sq", "Hq")
    names = {"b": "B", "s": seq, "t": seq.replace("S", "T"), "h": head, "d": "Dv" if operand in VALUES else "D"}
    return [names[letter] for letter in layout]


def clauses_of(layout, mask, scale):
    """The clauses of the forward op and of the gradient that say the form, as text."""
    text = f"layout<{layout}>"
    if mask:
        text += f" {mask_text(mask)}"
    if scale is not None:
        text += f" scale({np.float32(scale):.9e})"
    return text


@dataclass(frozen=True)
class Table:
    """A captured tensor of random numbers: its dimensions, each a size of the call (B, Hq, Sq, Sk) or a number, the
    seed of its elements, and the largest one."""

    dims: tuple
    seed: int
    largest: float

    def array(self, sizes, dtype):
        shape = [dim if isinstance(dim, int) else getattr(sizes, dim.lower()) for dim in self.dims]
        rng = np.random.default_rng(self.seed)
        if np.issubdtype(dtype, np.integer):
            return rng.integers(-int(self.largest), int(self.largest) + 1, shape).astype(dtype)
        return rng.uniform(-self.largest, self.largest, shape).astype(dtype)

    def captured(self, type, kind="memref"):
        """The capture, with elements of this type, of which all sizes are dynamic."""
        return f"{kind}<{'?x' * len(self.dims)}{type}>", self


@dataclass(frozen=True)
class Form:
    """One form of the forward op or of the gradient, and a call. All is static and contiguous, or
    dynamic, as `static` and `strided` say: letters B, Sq, Sk, Hq, Hkv of the sizes that
    are static; data operand -> "static" or "dynamic" strides, which leave gaps."""

    head_dim: int = 64
    head_dim_v: int | None = None  # As head_dim.
    dtype: str = "bf16"
    layout: str = "bshd"
    sizes: Sizes = Sizes()
    mask: Mask | None = None
    scale: float | None = None
    score: tuple | None = None
    visible: tuple | None = None
    sinks: str | None = None  # Their element type.
    lengths: tuple = ()  # seqlens_k, a number for each sequence.
    page_size: int = 0  # Of k and v that lie in pages; 0 for others.
    lists: BlockLists | None = field(default=None, repr=False)  # Draws go by what is printed, and stay what they were.
    packed: tuple = ()  # (queries, keys) of each sequence, in the layouts thd and htd; keys in pages are as many as `lengths` says.
    captures: tuple = ()  # (type, value); of a memref with a number for each query head, a tuple, of a tensor a Table
    kind: str = "memref"  # or "tensor"
    static: frozenset = frozenset()
    strided: tuple = ()  # (operand, kind)
    chip: str = "sm_100a"
    options: tuple = ()

    # -- Types ---------------------------------------------------------------

    def named_sizes(self):
        """Sizes by the names that kernels have for them, or `letters_of`."""
        values = self.sizes.named() | {"D": self.head_dim, "Dv": self.head_dim_v or self.head_dim}
        if self.packed:
            values |= {"Tq": sum(q for q, _ in self.packed), "Tk": sum(k for _, k in self.packed), "Bounds": len(self.packed) + 1}
        if self.page_size:
            per_sequence = -(-self.sizes.sk // self.page_size)
            # Some belong to no sequence.
            values |= {"PageSize": self.page_size, "SeqPages": per_sequence, "Pages": self.sizes.b * per_sequence + 3}
        if self.lists:
            values |= self.lists.named_sizes(self.sizes) | self.lists.named_query_sizes(self.sizes)
        return values

    def letters(self, operand):
        if self.page_size and operand in KEYS:
            letters = letters_of(operand, self.key_layout)
            return [{"B": "Pages", "Sk": "PageSize"}.get(letter, letter) for letter in letters]
        return letters_of(operand, self.layout)

    @property
    def key_layout(self):
        """The layout of k and v."""
        return self.layout.replace("thd", "bshd").replace("htd", "bhsd") if self.page_size else self.layout

    def shape(self, operand):
        values = self.named_sizes()
        return tuple(values[letter] for letter in self.letters(operand))

    def strides(self, operand):
        """In elements, with gaps of 8 elements (16 bytes) between rows, and of
        a row between those: None where the operand is contiguous."""
        if operand not in dict(self.strided):
            return None
        stride, strides = 1, []
        for size in reversed(self.shape(operand)):
            strides.insert(0, stride)
            stride = (stride * size + 15) // 8 * 8
        return strides

    def element(self, operand):
        given = dict.fromkeys(HEADS, self.sinks) | dict.fromkeys((*SEQUENCES, *BOUNDS, *TABLES, *LISTS, *QUERY_LISTS), "i32") | dict.fromkeys(ROWS, "f32")
        return given.get(operand, self.dtype)

    @property
    def bounds(self):
        """Those of BOUNDS that the form has."""
        return BOUNDS[: 1 if self.page_size else 2] * bool(self.packed)

    @property
    def beside(self):
        """Operands that not every form has."""
        beside = self.bounds + SEQUENCES * bool(self.lengths) + TABLES * bool(self.page_size)
        return beside + LISTS * bool(self.lists) + ("sinks",) * bool(self.sinks)

    def type(self, operand):
        element = self.element(operand)
        dims = "".join(
            f"{size}x" if letter in ("D", "Dv", "PageSize") or letter in self.static else "?x"
            for letter, size in zip(self.letters(operand), self.shape(operand))
        )
        layout = ""
        if strides := self.strides(operand):
            if dict(self.strided)[operand] == "dynamic":
                strides = ["?"] * (len(strides) - 1) + [1]
            layout = f", strided<[{', '.join(map(str, strides))}]>"
        return f"{self.kind}<{dims}{element}{layout}>"

    # -- Text ----------------------------------------------------------------

    def beside_clauses(self):
        text = ""
        for clause, operands in CLAUSES.items():
            if names := [name for name in operands if name in self.beside]:
                text += f" {clause}({', '.join(f'%{name}' for name in names)} : {', '.join(map(self.type, names))})"
            text += self.lists.clause() if clause == "block_size" and self.lists else ""
        return text

    def captures_clause(self):
        if not self.captures:
            return ""
        names = ", ".join(f"%c{n}" for n in range(len(self.captures)))
        types = ", ".join(type for type, _ in self.captures)
        return f" captures({names} : {types})"

    def regions(self):
        types = [type for type, _ in self.captures]
        text = ""
        for expression, kind in ((self.score, "score_mod"), (self.visible, "mask_mod")):
            if expression is not None:
                text += "\n    " + mods.region(expression, types, kind)
        return text

    # -- Numbers -------------------------------------------------------------

    def arrays_beside(self):
        """Returns the arrays of the operands that not every form has, by their names."""
        rng = np.random.default_rng(zlib.crc32(repr(self).encode()))
        arrays = {"seqlens_k": np.array(self.lengths, np.int32)} if self.lengths else {}
        for name, lengths in zip(self.bounds, zip(*self.packed)):
            arrays[name] = np.cumsum((0, *lengths), dtype=np.int32)
        if self.page_size:
            arrays["page_table"] = pages.draw_table(self)
        if self.lists:
            arrays |= self.lists.arrays(self.sizes, rng)
        if self.sinks:
            arrays["sinks"] = rng.standard_normal(self.shape("sinks")).astype(gpu.dtype_of(self.sinks))
        return arrays

    def vectors(self):
        """Returns the captured arrays by their names."""
        values = {f"capture{n}": value for n, value in enumerate(self.values())}
        return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}

    def values(self):
        """Returns the captures: numbers and arrays."""
        found = []
        for type, value in self.captures:
            dtype = np.float32 if "f32" in type else np.int32
            if isinstance(value, Table):
                value = value.array(self.sizes, dtype)
            found.append(np.array(value, dtype) if isinstance(value, tuple) else value)
        return found

    def form(self):
        """Returns the reference's keywords."""
        form = dict(layout=self.layout, mask=self.mask, scale=self.scale) | self.arrays_beside()
        if self.lists:
            form["block_size"] = (self.lists.queries, self.lists.keys)
        if self.score is not None:
            form["score_mod"] = mods.score_function(self.score)
        if self.visible is not None:
            form["mask_mod"] = mods.mask_function(self.visible)
        if self.captures:
            form["captures"] = tuple(self.values())
        return form

    def call(self, kernel: gpu.Kernel | gpu.Launches):
        """Returns the sizes, strides and captures that the manifest leaves open, for
        fa4-sim."""
        values = self.named_sizes()
        for operand, _ in self.strided:
            for dim, stride in enumerate(self.strides(operand)):
                values[f"{operand}_stride{dim}"] = stride
        for n, ((type, _), value) in enumerate(zip(self.captures, self.values(), strict=True)):
            if isinstance(value, np.ndarray):
                values |= {f"capture{n}_{dim}": size for dim, size in enumerate(value.shape)}
            else:
                values[f"capture{n}"] = float(np.float32(value)) if type == "f32" else int(value)
        # Few enough for a CTA to have several work tiles.
        values["sm_count"] = grid.PAIRED_SM_COUNT if "--pairs=on" in self.options else grid.SM_COUNT
        known = json.loads(kernel.manifest.read_text())["sizes"]
        return [f"{name}={values[name]}" for name in known]


@dataclass(frozen=True)
class Program(Form):
    """A call of `attn.sdpa`."""

    lse: bool = True
    inputs: str = "normal"
    out_dtype: str | None = None  # As dtype.
    batch_invariant: bool = False

    def element(self, operand):
        return self.out_dtype if operand == "out" and self.out_dtype else super().element(operand)

    @property
    def results(self):
        return ["out", "lse"] if self.lse else ["out"]

    def mlir(self):
        inputs = ["q", "k", "v"]
        memref = self.kind == "memref"
        invariant = " batch_invariant" if self.batch_invariant else ""
        clauses = clauses_of(self.layout, self.mask, self.scale) + invariant + self.beside_clauses() + self.captures_clause()
        arguments = inputs + [*self.beside] + (self.results if memref else [])
        text = ", ".join(f"%{name}: {self.type(name)}" for name in arguments)
        for n, (type, _) in enumerate(self.captures):
            text += f", %c{n}: {type}"
        types = ", ".join(self.type(name) for name in inputs)
        names = ", ".join(f"%{name}" for name in self.results)
        out = ", ".join(self.type(name) for name in self.results)
        if memref:
            return (
                f"func.func @program({text}) {{\n  attn.sdpa %q, %k, %v {clauses}\n"
                f"    outs({names} : {out}) : {types}{self.regions()}\n  return\n}}\n"
            )
        return (
            f"func.func @program({text}) -> ({out}) {{\n  {names} = attn.sdpa %q, %k, %v "
            f"{clauses}\n    : {types} -> {out}{self.regions()}\n"
            f"  return {names} : {out}\n}}\n"
        )

    def draw(self, seed):
        """Draws q, k, v in the op's dtype and layout."""
        # Packed sequences are drawn as one.
        layouts = [layout.replace("t", "s") for layout in (self.layout, self.key_layout, self.key_layout)]
        shapes, sizes = [], self.named_sizes()
        for name, layout in zip("qkv", layouts):
            letters = letters_of(name, self.layout if name == "q" else self.key_layout)
            values = dict(zip(layout, (sizes[letter] for letter in letters)))
            shapes.append(tuple(values.get(letter, 1) for letter in "bshd"))
        rng = np.random.default_rng([seed, zlib.crc32(repr(self).encode())])
        drawn = []
        for x, layout in zip(grid.INPUTS[self.inputs](rng, *shapes), layouts):
            order = ["bshd".index(letter) for letter in layout]
            drawn.append(x.transpose(order) if "b" in layout else x[0].transpose([axis - 1 for axis in order]))
        q, k, v = (np.ascontiguousarray(x).astype(gpu.DTYPES[self.dtype]) for x in drawn)
        grid.hide_keys(self.key_layout, dict(k=k, v=v) | self.arrays_beside())
        if self.page_size:
            k, v = pages.put(self, k), pages.put(self, v)
        return q, k, v


# ---------------------------------------------------------------------------
# Running
# ---------------------------------------------------------------------------


# In their order; `spills` only when all else is right.
STAGES = ("compile", "verify", "ptxas", "simulate", "compare", "spills")


class Failed(Exception):
    """`stage` is one of STAGES."""

    def __init__(self, stage, message):
        super().__init__(f"{stage}: {message}")
        self.stage, self.message = stage, message


# Types of inputs, each with one of out that has more digits.
FINER_OUTPUTS = (("bf16", "f16"), ("bf16", "f32"), ("f16", "f32"))


def compare(program: Program, runs: Sequence[dict], arrays: Sequence):
    """Compares out and the LSE of each run by FlashAttention's rule. Raises
    AssertionError."""
    form = program.form()
    out, lse = reference.sdpa(*arrays, **form)
    dtype = gpu.dtype_of(program.element("out"))
    same_out, same_lse = reference.sdpa_same_dtype(*arrays, out_dtype=dtype, **form)
    floor_of_out = reference.rounding_floor(out, dtype)
    if (program.dtype, program.out_dtype) in FINER_OUTPUTS:
        # The errors are those of the probabilities alone, which are rounded to the inputs' type: one in thousands is twice the largest of others.
        floor_of_out += reference.rounding_floor(out, arrays[0].dtype) / 4
    floor = grid.LSE_TOLERANCE + reference.rounding_floor(lse, np.float32)
    for results in runs:
        reference.check(results["out"], out, same_out, "out", floor=floor_of_out)
        if program.lse:
            reference.check(results["lse"], lse, same_lse, "lse", floor=floor)


# The levels at which protocols are proven: where memory and barriers are known, and the last one before LLVM.
VERIFIED = ("allocate", "unroll")
# Schedules of fa4-sim: warps in a random order; one warp that always comes last.
POLICIES = ("random", "priority")


def verify(kernel: gpu.Kernel | gpu.Launches, level: str):
    """Gives the kernels, as printed at a level, to the static verifier. Raises Failed.
    """
    command = [gpu.find_tool("fa4-opt"), gpu.printed_at(kernel, level), "--tile-verify-protocol=print"]
    done = subprocess.run(
        [*command, "-o", os.devnull], capture_output=True, text=True, timeout=120
    )
    if done.returncode:
        raise Failed("verify", f"{level}: {done.stderr.strip() or done.returncode}")
    if " steps, " not in done.stderr:
        raise Failed("verify", f"{level}: there was no kernel to verify")


def check_assembly(ptx: Path, chip: str) -> str:
    """Assembles with ptxas. Returns what it says of local memory; nothing if there is none. Raises Failed."""
    try:
        said = gpu.assemble(ptx, chip)
    except gpu.CompileError as error:
        raise Failed("ptxas", str(error)) from None
    if said.advice:
        raise Failed("ptxas", str(said))
    return str(said) if said.spill_stores or said.spill_loads or said.stack else ""


def without_spills(kernel, compile, chip):
    """Returns the kernel, and what ptxas says of local memory. A kernel that spills is compiled again by `compile`, with ptxas: the
    compiler takes smaller tiles then, if there are any with which nothing spills. Raises Failed."""
    said = "".join(check_assembly(ptx, chip) for ptx in gpu.ptx_files(kernel))
    try:
        return (compile("--verify-ptx"), "") if said else (kernel, "")
    except gpu.CompileError:
        return kernel, said


def seeds_by_policy(seeds: tuple[int, int]):
    """(policy, seeds) of the simulations: the first policy with all seeds, the second with the later half of them."""
    later = (sum(seeds) + 1) // 2, seeds[1]
    return list(zip(POLICIES, (seeds, later)))


def run(
    program: Program,
    folder: Path,
    seeds: tuple[int, int] = (0, 1),
    ptxas: bool = False,
    data_seed: int = 0,
    timeout: float | None = 300,
    text: str | None = None,
    until: str = STAGES[-1],
):
    """Compiles (`text`, if that is given, and then compares nothing), proves the
    protocol, assembles with `ptxas`, simulates under POLICIES, the first with all
    `seeds` and the second with the later half of them, and compares. What comes behind
    the stage `until` is left out. Raises Failed."""
    last = STAGES.index(until)

    def compile(option):
        levels = ",".join(["ptx", *VERIFIED])
        return gpu.compile_any(text or program.mlir(), folder, program.chip, levels, [option, *program.options])

    try:
        kernel = compile("--verify-ptx=false")
    except gpu.CompileError as error:
        raise Failed("compile", str(error)) from None
    spills = ""
    if ptxas and last >= STAGES.index("ptxas"):
        kernel, spills = without_spills(kernel, compile, program.chip)
    for level in VERIFIED if last >= STAGES.index("verify") else ():
        verify(kernel, level)
    if last < STAGES.index("simulate"):
        return
    arrays = program.draw(data_seed)
    dtypes = {name: np.dtype(gpu.dtype_of(program.element(name))) for name in program.results}
    try:
        runs = [
            gpu.simulate(
                kernel,
                dict(zip("qkv", arrays)) | program.arrays_beside() | program.vectors(),
                dtypes,
                seeds=drawn,
                options=["--threads", "1", f"--policy={policy}", *program.call(kernel)],
                timeout=timeout,
            )
            for policy, drawn in seeds_by_policy(seeds)
        ]
    except gpu.SimulationError as error:
        raise Failed("simulate", str(error)) from None
    try:
        if text is None:
            compare(program, runs, arrays)
    except AssertionError as error:
        raise Failed("compare", str(error)) from None
    if spills:
        raise Failed("spills", spills)

