# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The modelled time of the gradient's three kernels (preprocess, main, postprocess; of head dims 192 and 128 preprocess, main, dq) beside FlashAttention-4's, for
`bench/versus-fa4 --gradient`. The time of a gradient is the sum of its launches; what programmatic dependent launch
saves is not modelled, on either side."""

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from fa4_testing import gpu, results
from fa4_testing.programs.gradient import Gradient
from fa4_bench.timing.launched import Launched
from fa4_bench.timing.shapes import GRADIENTS, GradientShape

# Ours over FlashAttention-4's without pairs of CTAs, or with them where it has no other.
BAR = 1.05
# Ours over FlashAttention-4's with pairs of CTAs where it has both.
PAIR_BAR = 1.03
SMS = 148
# Queries, and keys, of a block.
BLOCK = 128
# What the port of shared memory moves in a cycle, in bytes.
PORT = 128
# Operations of the tensor cores, and exponentials, that an SM does in a cycle.
OPERATIONS, EXPONENTIALS = 8192, 16


@dataclass(frozen=True)
class Times:
    """What the model says of the launches of a gradient: the cycles of each in their order, and of the longest, which is
    the main kernel, the busiest unit, and the share of the time for which that unit, the tensor cores and shared memory
    (`port`) are busy in a CTA's steady state."""

    cycles: tuple
    microseconds: float
    unit: str
    busy: float
    tensor: float
    port: float

    @staticmethod
    def read(times):
        """Of what fa4-sim says of each launch under `time`."""
        main = max(times, key=lambda time: time["cycles"])
        units = {name: unit.get("steady") or unit["share"] for name, unit in main["units"].items()}
        unit = max(units, key=units.get)
        return Times(tuple(round(time["cycles"]) for time in times), 1e6 * sum(time["seconds"] for time in times),
                     unit, units[unit], units["tensor cores"], units["shared memory"])  # fmt: skip

    @property
    def sum(self):
        return sum(self.cycles)


def clock(*words) -> list:
    """What fa4-sim --time says of each launch. Raises SimulationError with its message."""
    done = subprocess.run([gpu.find_tool("fa4-sim"), *map(str, words), "--time", "--json"], capture_output=True, text=True)
    if done.returncode:
        raise gpu.SimulationError((done.stderr.strip() or done.stdout.strip() or f"exit status {done.returncode}")[-2000:])
    return [run["time"] for run in json.loads(done.stdout)["runs"]]


def time_theirs(launched: Launched, records: Path) -> Times:
    launches = sorted((records / launched.name).glob("launch-*.json"), key=lambda path: int(path.stem.split("-")[1]))
    if not launches:
        raise gpu.SimulationError(f"no record of {launched.name} in {records}")
    return Times.read([time for launch in launches for time in clock(launch)])


def compile_form(head_dim: int, mask: str, folder: Path, options=(), **more) -> gpu.Launches:
    """The gradient of dynamic sizes, in bf16; `more` is of `Gradient`. Raises CompileError."""
    text = Gradient(head_dim=head_dim, mask=gpu.MASKS[mask], static=frozenset(), **more).mlir()
    return gpu.compile_launches(text, folder, "sm_100a", ["--verify-ptx=false", *options])


def time_ours(shape: GradientShape, launches: gpu.Launches, batch=None, heads=None) -> Times:
    batch, heads = batch or shape.launched.batch, heads or shape.launched.heads
    sizes = dict(B=batch, Sq=shape.length, Sk=shape.length, Hq=heads, Hkv=heads)
    return Times.read(clock(launches.manifest, *(f"{name}={n}" for name, n in sizes.items())))


def measure(shapes, records: Path, options=(), map=map) -> dict:
    """{name: {"ours", "theirs", "alone", "paired": Times}}; of the last two, FlashAttention-4's without and with pairs of CTAs,
    one is None where there is no such kernel, and the first one that is there is "theirs"."""
    with tempfile.TemporaryDirectory(prefix="fa4-") as scratch:
        forms = dict.fromkeys((shape.head_dim, shape.value_dim, shape.mask) for shape in shapes)

        def compile(form):
            head_dim, value_dim, mask = form
            return compile_form(head_dim, mask, Path(scratch, f"{head_dim}-{mask}"), options, head_dim_v=value_dim)

        compiled = dict(zip(forms, map(compile, forms)))

        def run(shape):
            alone, paired = (time_theirs(each, records) if each else None for each in (shape.alone, shape.paired))
            ours = time_ours(shape, compiled[shape.head_dim, shape.value_dim, shape.mask])
            return shape.name, {"ours": ours, "theirs": alone or paired, "alone": alone, "paired": paired}

        return dict(map(run, shapes))


# ---------------------------------------------------------------------------
# The table
# ---------------------------------------------------------------------------


def ratio(row, to="theirs"):
    return row["ours"].sum / row[to].sum


def misses_pairs(row):
    return bool(row["alone"] and row["paired"]) and ratio(row, "paired") > PAIR_BAR


def missed(table):
    """The names of the shapes that miss a bar."""
    return [name for name, row in table.items() if ratio(row) > BAR or misses_pairs(row)]


def blocks(shape: GradientShape) -> float:
    """Blocks of queries and keys that an SM works on, on average. Causal: those that have a score."""
    along = shape.length // BLOCK
    each = along * (along + 1) // 2 if shape.mask == "causal" else along**2
    return shape.launched.batch * shape.launched.heads * each / SMS


def lines(table):
    """The table in Markdown."""
    yield (
        "| shape | FA4, one CTA, us | fa4, us | time, ours / theirs | FA4, pairs of CTAs, us | ours / pairs "
        "| ours: preprocess, main, postprocess (dq), cycles | main kernel, cycles a block, theirs, ours | tensor cores busy, theirs, ours "
        "| shared memory busy, theirs, ours | busiest of theirs | busiest of ours |"
    )
    yield "|" + "---|" * 12
    for shape in GRADIENTS:
        if row := table.get(shape.name):
            ours, theirs, alone, paired = row["ours"], row["theirs"], row["alone"], row["paired"]
            one = f"{alone.microseconds:.0f}" if alone else "-"
            pairs = f"{paired.microseconds:.0f} | {ratio(row, 'paired'):.3f}{' **missed**' * misses_pairs(row)}" if paired else "- | -"
            a_block = [max(each.cycles) / blocks(shape) for each in (theirs, ours)]
            yield (
                f"| {shape.name} | {one} | {ours.microseconds:.0f} | {ratio(row):.3f}{' **missed**' * (ratio(row) > BAR)} | {pairs} "
                f"| {', '.join(map(str, ours.cycles))} | {a_block[0]:.0f}, {a_block[1]:.0f} | {theirs.tensor:.0%}, {ours.tensor:.0%} "
                f"| {theirs.port:.0%}, {ours.port:.0%} | {theirs.unit} {theirs.busy:.0%} | {ours.unit} {ours.busy:.0%} |"
            )


def page(table, commit, version) -> str:
    """Returns the page of a table that was measured at `commit`, beside FlashAttention-4 `version`."""
    which = "All" if len(table) == len(GRADIENTS) else ", ".join(s.name for s in GRADIENTS if s.name in table) + ":"
    ratios = [ratio(row) for row in table.values()]
    found = f"{len(table)} shapes, {min(ratios):.2f} to {max(ratios):.2f} of FlashAttention-4's time; {len(missed(table))} of {len(table)} bars are missed"
    head = results.head("The gradient beside FlashAttention-4, by the model", found, "./bench/versus-fa4 --gradient --write", commit)
    text = f"""[The model](../../docs/timing.md) ran both: fa4-compile's three kernels with their default options, and FlashAttention-4's own PTX
({version}) as its host code launches it, with `FA_DISABLE_2CTA=1` and, for head dim 128 and for 192 with 128 of v, on pairs of
CTAs. A time is the sum of all launches; what overlaps because of programmatic dependent launch is not modelled. 32k tokens in
all, 2048 columns, bf16, B200 at 1.8 GHz, power not modelled. No Blackwell card has confirmed these numbers, and
[published measurements](published.md) say by how much the model is off. {which} {len(table)} of {len(GRADIENTS)} shapes were
measured. [What the same bits in each run cost](gradient-deterministic.md) has a page of its own.

The bar is {BAR} of FlashAttention-4's time without pairs of CTAs, and {PAIR_BAR} of that with pairs at head dim 128, where fa4-compile
has pairs by default, too. With head dims 192 and 128 FlashAttention-4 has pairs only, to which the first bar refers there.
fa4-compile has no postprocess then, but a kernel of dq, which computes scores again: the main kernel's cycles a block are
those of four products of seven. Shares are of a CTA's steady state in the main kernel.

"""
    return head + text + "\n".join(lines(table)) + "\n" + bound()


# ---------------------------------------------------------------------------
# The bound
# ---------------------------------------------------------------------------


def shared_memory(head_dim: int) -> dict:
    """{what: cycles} of the port of shared memory for a block of 128 queries and 128 keys, 16-bit operands, one CTA."""
    scores, rows = 2 * BLOCK * BLOCK, 2 * BLOCK * head_dim  # bytes: of P or dS; of a block of Q, K, V or dO
    sums = 2 * rows  # dQ in f32
    parts = {
        "S = Q K^T, both operands": 2 * rows,
        "dP = dO V^T, both operands": 2 * rows,
        "dQ = dS K, both operands": scores + rows,
        "dV = P^T dO, P in tensor memory": rows,
        "dK = dS^T Q, dS in tensor memory": rows,
        "dS written for the product dQ": scores,
        "dQ in f32 written for its reduction": sums,
        "dQ read by the bulk reduction": sums,
    }
    return {what: count // PORT for what, count in parts.items()}


def bound() -> str:
    """Why one CTA waits for shared memory, in Markdown."""
    parts = {head_dim: shared_memory(head_dim) for head_dim in (64, 128)}
    products = {d: 5 * 2 * BLOCK * BLOCK * d // OPERATIONS for d in parts}
    total = {d: sum(each.values()) for d, each in parts.items()}
    rows = [f"| {what} | {parts[64][what]} | {parts[128][what]} |" for what in parts[128]]
    return "\n".join(
        [
            "\n## What bounds one CTA",
            "",
            "Cycles of an SM for one block of 128 queries and 128 keys, if each unit worked without a pause. The port of shared memory moves "
            f"{PORT} bytes a cycle:",
            "",
            "| what moves | head dim 64 | head dim 128 |",
            "|---|---|---|",
            *rows,
            f"| **shared memory in all** | **{total[64]}** | **{total[128]}** |",
            f"| tensor cores, five products | {products[64]} | {products[128]} |",
            f"| exponentials | {BLOCK * BLOCK // EXPONENTIALS} | {BLOCK * BLOCK // EXPONENTIALS} |",
            "",
            f"So shared memory is the limit of a CTA that works alone: {total[128]} cycles where the tensor cores need {products[128]}, a factor of "
            f"{total[128] / products[128]:.2f}, and no schedule of the same\noperations is faster. A pair of CTAs shares the operands of its products, "
            "so that each CTA reads fewer of them; the columns on pairs say what that is worth. The\ncount leaves out the loads of Q and dO, "
            f"which write {4 * BLOCK * 128 // 1024} KiB for each block of head dim 128 (another {4 * BLOCK * 128 // PORT} cycles), and conflicts of banks. "
            "What both main\nkernels take beyond it is in the table, under cycles a block; for causal masks, blocks of the diagonal count as whole ones.\n"
            "Under the model shared memory is busy for longer than this count; what the rest consists of has not been taken apart.\n",
        ]
    )


# ---------------------------------------------------------------------------
# The same bits in each run
# ---------------------------------------------------------------------------

# Where dq has a kernel of its own, `deterministic` costs nothing.
ORDERED = [shape for shape in GRADIENTS if not shape.value_dim]
# Of the speed without `deterministic`.
ORDER_BAR = 0.9
# All CTAs of a launch whose CTAs wait for each other are simulated, by one clock: so many, or so few, by the number of
# heads. Those of a causal mask have half the work.
ORDER_CTAS = {"full": 512, "causal": 1024}


def measure_order(shapes, options=(), map=map) -> dict:
    """{name: (Times, Times)} without and with `deterministic`. Raises CompileError, SimulationError."""
    with tempfile.TemporaryDirectory(prefix="fa4-") as scratch:
        forms = [(shape.head_dim, shape.mask, ordered) for shape in shapes for ordered in (False, True)]
        forms = list(dict.fromkeys(forms))

        def compiled(form):
            head_dim, mask, ordered = form
            return compile_form(head_dim, mask, Path(scratch, "-".join(str(part) for part in form)), options, deterministic=ordered)

        launches = dict(zip(forms, map(compiled, forms)))

        def run(shape):
            of = [launches[shape.head_dim, shape.mask, ordered] for ordered in (False, True)]
            return shape.name, tuple(time_ours(shape, each, batch=1, heads=heads_in_order(shape)) for each in of)

        return dict(map(run, shapes))


def heads_in_order(shape: GradientShape) -> int:
    """The heads, of one batch, that the cost of an order is measured with."""
    return max(1, ORDER_CTAS[shape.mask] * BLOCK // shape.length)


def slow_orders(table):
    """The names of the shapes whose deterministic gradient misses its bar."""
    return [name for name, (free, ordered) in table.items() if free.sum / ordered.sum < ORDER_BAR]


def order_lines(table):
    """The table in Markdown."""
    yield "| shape | heads | cycles | with `deterministic` | speed, of that without |"
    yield "|---|---|---|---|---|"
    slow = slow_orders(table)
    for shape in ORDERED:
        if shape.name in table:
            free, ordered = table[shape.name]
            mark = " **missed**" * (shape.name in slow)
            yield f"| {shape.name} | {heads_in_order(shape)} | {free.sum} | {ordered.sum} | {free.sum / ordered.sum:.3f}{mark} |"


def order_page(table, commit) -> str:
    """Returns the page of what `deterministic` costs."""
    speeds = [free.sum / ordered.sum for free, ordered in table.values()]
    found = (
        f"{len(table)} of {len(ORDERED)} shapes, {min(speeds):.2f} to {max(speeds):.2f} of the speed without `deterministic`; "
        f"{len(slow_orders(table))} of {len(table)} bars are missed"
    )
    head = results.head("The same bits in each run, by the model", found, "./bench/versus-fa4 --gradient --deterministic --write", commit)
    text = f"""Cycles of all launches of a gradient, by [the model](../../docs/timing.md), without `deterministic` and with it. The bar is
{ORDER_BAR} of the speed without. CTAs that wait for their turns have no time of their own, so that the model simulates all of a
launch: here {ORDER_CTAS['full']} of them, with a causal mask {ORDER_CTAS['causal']}, which is one batch of as many heads as the table says. Launches of
fewer CTAs lose more: what is waited for is most of it the first turns of a launch.

"""
    return head + text + "\n".join(order_lines(table))
