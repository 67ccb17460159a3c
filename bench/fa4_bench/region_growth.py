# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How compile time grows with the number of operations in a region.

    regions.make("mask-doubling", 30)   # the text of an op with such a region
    regions.make("score-tanh", 30, gradient=True)   # of its gradient
    python -m fa4_bench.region_growth    # the table of bench/compile-time --regions

A shape is a way to put operations together. In a chain each operation uses the
one before it; in a shared graph each uses the two before it, or one twice, so
that a walk of all paths takes exponential time; in a tree each result has one use.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from fa4_testing import gpu
from fa4_testing.cpu import ToolNotFoundError

SIZES = (10, 100, 500, 2000)
# An operation of a region takes at most so much of the compilation, beyond what one of the smallest does, in any shape.
MOST_SECONDS = 2e-3
MOST_MEGABYTES = 0.1


def _chain(count, start, line):
    """`count` operations, each of the one before; gives the lines and the last name."""
    names = [start] + [f"%x{i}" for i in range(count)]
    return [line.format(r=r, x=x) for x, r in zip(names, names[1:])], names[-1]


def _shared(first, second, line, kinds, count):
    """As `_chain`, each of the two before."""
    names = [first, second] + [f"%x{i}" for i in range(count)]
    lines = [
        line.format(r=r, x=x, y=y, op=kinds[i % len(kinds)])
        for i, (y, x, r) in enumerate(zip(names, names[1:], names[2:]))
    ]
    return lines, names[-1]


def _tree(leaves, line, kinds):
    """Results are combined in pairs until one is left."""
    lines, level, made = [], list(leaves), 0
    while len(level) > 1:
        above = level[len(level) // 2 * 2 :]
        for x, y in zip(level[::2], level[1::2]):
            lines.append(line.format(r=f"%t{made}", x=x, y=y, op=kinds[made % len(kinds)]))
            above.append(f"%t{made}")
            made += 1
        level = above
    return lines, level[0]


def _mask(lines, position):
    return [*lines, f"%keep = arith.cmpi sle, {position}, %i : index", "attn.yield %keep : i1"]


def mask_doubling(count):
    lines, last = _chain(count - 1, "%j", "{r} = arith.addi {x}, {x} : index")
    return _mask(lines, last)


def mask_sum(count):
    lines, last = _chain(count - 1, "%j", "{r} = arith.addi {x}, %i : index")
    return [*lines, f"%keep = arith.cmpi sle, {last}, %h : index", "attn.yield %keep : i1"]


def mask_differences(count):
    """The forms of these values repeat after six operations, so that none of them is too large
    to be followed. As many as leave the form of the first one, whatever the count."""
    lines, last = _shared("%j", "%i", "{r} = arith.subi {x}, {y} : index", [""], (count - 1) // 6 * 6 + 1)
    return _mask(lines, last)


def mask_conditions(count):
    lines, last = ["%m = arith.cmpi sle, %j, %h : index"], "%m"
    for i in range(count // 2):
        predicate, position, kind = ("sge", "slt", "ne", "sgt")[i % 4], "ih"[i % 2], ("andi", "ori", "xori")[i % 3]
        lines.append(f"%c{i} = arith.cmpi {predicate}, %j, %{position} : index")
        lines.append(f"%m{i} = arith.{kind} {last}, %c{i} : i1")
        last = f"%m{i}"
    return [*lines, f"attn.yield {last} : i1"]


def mask_shared_conditions(count):
    begin = ["%a = arith.cmpi sle, %j, %h : index", "%b0 = arith.cmpi slt, %j, %i : index"]
    lines, last = _shared("%a", "%b0", "{r} = arith.{op} {x}, {y} : i1", ("andi", "ori", "xori"), count - 2)
    return [*begin, *lines, f"attn.yield {last} : i1"]


def mask_selections(count):
    lines, last = ["%x = arith.addi %i, %h : index"], "%x"
    for i in range(count // 2):
        lines.append(f"%c{i} = arith.cmpi slt, {last}, %j : index")
        lines.append(f"%x{i} = arith.select %c{i}, {last}, %{'ij'[i % 2]} : index")
        last = f"%x{i}"
    return _mask(lines, last)


def mask_integers(count):
    """Operations of which a comparison with the column can't be solved for the column."""
    kinds = ("muli", "xori", "maxsi", "addi", "divui")
    lines, last = _shared("%j", "%i", "{r} = arith.{op} {x}, {y} : index", kinds, count - 1)
    return _mask(lines, last)


def mask_selection_tree(count):
    """The smaller or the larger of two remainders of positions, and so on up."""
    lines, leaves = [], []
    for i in range(max(2, count // 4)):
        lines.append(f"%k{i} = arith.constant {2 * i + 3} : index")
        lines.append(f"%e{i} = arith.remui %{'ij'[i % 2]}, %k{i} : index")
        leaves.append(f"%e{i}")
    line = "{r}c = arith.cmpi {op}, {x}, {y} : index\n      {r} = arith.select {r}c, {x}, {y} : index"
    combined, last = _tree(leaves, line, ("slt", "sgt", "ult"))
    return _mask([*lines, *combined], last)


def mask_tree(count):
    """Windows around every seventh diagonal."""
    lines, leaves = [], []
    for i in range(max(2, count // 5)):
        lines.append(f"%k{i} = arith.constant {7 * i} : index")
        lines.append(f"%d{i} = arith.subi %j, %i : index")
        lines.append(f"%e{i} = arith.addi %d{i}, %k{i} : index")
        lines.append(f"%m{i} = arith.cmpi {('sge', 'sle')[i % 2]}, %e{i}, %h : index")
        leaves.append(f"%m{i}")
    combined, last = _tree(leaves, "{r} = arith.{op} {x}, {y} : i1", ("andi", "ori", "xori"))
    return [*lines, *combined, f"attn.yield {last} : i1"]


def score_squares(count):
    lines, last = _chain(count, "%s", "{r} = arith.mulf {x}, {x} : f32")
    return [*lines, f"attn.yield {last} : f32"]


def score_shared(count):
    kinds = ("addf", "mulf", "subf", "maxnumf")
    lines, last = _shared("%s", "%s", "{r} = arith.{op} {x}, {y} : f32", kinds, count)
    return [*lines, f"attn.yield {last} : f32"]


def score_exponentials(count):
    lines, last = _chain(count, "%s", "{r} = math.exp2 {x} : f32")
    return [*lines, f"attn.yield {last} : f32"]


def score_selections(count):
    lines, last = ["%x = arith.addf %s, %s : f32"], "%x"
    for i in range(count // 2):
        lines.append(f"%c{i} = arith.cmpi slt, %{'ih'[i % 2]}, %j : index")
        choices = (f"{last}, %s", f"%s, {last}")[i % 2]
        lines.append(f"%x{i} = arith.select %c{i}, {choices} : f32")
        last = f"%x{i}"
    return [*lines, f"attn.yield {last} : f32"]


def score_tanh(count):
    """Each is five instructions, two of them of the special function unit."""
    lines, last = _chain(count, "%s", "{r} = math.tanh {x} : f32")
    return [*lines, f"attn.yield {last} : f32"]


def score_comparisons(count):
    lines, last = ["%x = arith.addf %s, %s : f32"], "%x"
    for i in range(count // 3):
        lines.append(f"%k{i} = arith.constant {i}.5 : f32")
        lines.append(f"%c{i} = arith.cmpf olt, {last}, %s : f32")
        lines.append(f"%x{i} = arith.select %c{i}, {last}, %k{i} : f32")
        last = f"%x{i}"
    return [*lines, f"attn.yield {last} : f32"]


def score_integers(count):
    """Integers of both positions, which are no sums of them, as a bias."""
    kinds = ("addi", "muli", "xori", "maxsi", "subi")
    lines, last = _shared("%j", "%i", "{r} = arith.{op} {x}, {y} : index", kinds, count - 3)
    lines.append(f"%narrow = arith.index_cast {last} : index to i32")
    return [*lines, "%bias = arith.sitofp %narrow : i32 to f32", "%z = arith.addf %s, %bias : f32", "attn.yield %z : f32"]


def score_columns(count):
    """Work on the number of the key alone, which is the same in all rows."""
    begin = ["%narrow = arith.index_cast %j : index to i32", "%x = arith.sitofp %narrow : i32 to f32", "%c = arith.constant 1.01 : f32"]
    lines, last = _chain(count - 4, "%x", "{r} = arith.mulf {x}, %c : f32")
    # The chain's names begin with that of its start, which is taken.
    return [*begin, *lines, f"%z = arith.addf %s, {last} : f32", "attn.yield %z : f32"]


def score_tree(count):
    lines, leaves = [], []
    for i in range(max(2, count // 3)):
        lines.append(f"%k{i} = arith.constant {0.37 * i + 0.1} : f32")
        lines.append(f"%e{i} = arith.mulf %s, %k{i} : f32")
        leaves.append(f"%e{i}")
    combined, last = _tree(leaves, "{r} = arith.{op} {x}, {y} : f32", ("addf", "maxnumf", "mulf"))
    return [*lines, *combined, f"attn.yield {last} : f32"]


SHAPES = {
    function.__name__.replace("_", "-"): function
    for function in (
        mask_doubling,
        mask_sum,
        mask_differences,
        mask_conditions,
        mask_shared_conditions,
        mask_selections,
        mask_integers,
        mask_selection_tree,
        mask_tree,
        score_squares,
        score_shared,
        score_exponentials,
        score_selections,
        score_tanh,
        score_comparisons,
        score_integers,
        score_columns,
        score_tree,
    )
}

_TENSOR = "tensor<1x2x256x64xbf16>"
_OP = f"""func.func @region(%q: {_TENSOR}, %k: {_TENSOR}, %v: {_TENSOR}) -> {_TENSOR} {{
  %out = attn.sdpa %q, %k, %v layout<bhsd> : {_TENSOR}, {_TENSOR}, {_TENSOR} -> {_TENSOR}
REGION  return %out : {_TENSOR}
}}
"""
_LSE = "tensor<1x2x256xf32>"
_GRADIENT = f"""func.func @region(%q: {_TENSOR}, %k: {_TENSOR}, %v: {_TENSOR}, %out: {_TENSOR}, %dout: {_TENSOR}, %lse: {_LSE})
    -> ({_TENSOR}, {_TENSOR}, {_TENSOR}) {{
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %v out(%out) dout(%dout) lse(%lse) layout<bhsd>
    : {_TENSOR}, {_TENSOR}, {_TENSOR}, {_TENSOR}, {_TENSOR}, {_LSE} -> {_TENSOR}, {_TENSOR}, {_TENSOR}
REGION  return %dq, %dk, %dv : {_TENSOR}, {_TENSOR}, {_TENSOR}
}}
"""


def make(shape: str, count: int, gradient: bool = False) -> str:
    """An op (MLIR), or its gradient, with a region of about `count` operations; none of them for 0."""
    op = _GRADIENT if gradient else _OP
    if count == 0:
        return op.replace("REGION", "")
    score = "%s: f32, " if shape.startswith("score") else ""
    name = "score_mod" if score else "mask_mod"
    body = "".join(f"      {line}\n" for line in SHAPES[shape](count))
    region = f"    {name}({score}%b: index, %h: index, %i: index, %j: index) {{\n{body}    }}\n"
    return op.replace("REGION", region)


@dataclass(frozen=True)
class Cost:
    """Of one compilation: processor seconds, which other work of the machine hardly changes, and megabytes at the peak."""

    seconds: float
    megabytes: float


def measure(tool: str, text: str) -> Cost | None:
    """Runs fa4-compile from an op to PTX; None where the region is refused for its length. ptxas does not check the PTX:
    it takes longer than the rest."""
    with tempfile.TemporaryDirectory(prefix="fa4-") as folder:
        source, errors = Path(folder, "region.mlir"), Path(folder, "errors")
        source.write_text(text)
        with errors.open("w") as file:
            process = subprocess.Popen([tool, source, "-o", folder, "--verify-ptx=false"], stdout=file, stderr=file)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        said = errors.read_text()
    if process.returncode and "instructions for each score; more than" in said:
        return None
    if process.returncode:
        sys.exit(f"compile-time: {said[-2000:]}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def check(costs: dict[int, Cost | None]) -> str | None:
    """What is wrong with these costs of one shape, by size; None if an operation costs no more than it may."""
    smallest = costs[SIZES[0]]
    for size, cost in costs.items():
        if size == SIZES[0] or cost is None:
            continue
        seconds = (cost.seconds - smallest.seconds) / size
        megabytes = (cost.megabytes - smallest.megabytes) / size
        if seconds > MOST_SECONDS:
            return f"{1e3 * seconds:.2f} ms an operation at {size}, more than {1e3 * MOST_SECONDS:.2f}"
        if megabytes > MOST_MEGABYTES:
            return f"{megabytes:.3f} MB an operation at {size}, more than {MOST_MEGABYTES}"
    return None


def _row(costs: dict[int, Cost | None]) -> str:
    """Seconds and megabytes by size, then both for an operation of the largest region that is not refused."""
    row = "".join(f"{cost.seconds:7.2f}{cost.megabytes:5.0f}" if cost else f"{'-':>7}{'-':>5}" for cost in costs.values())
    largest = max(size for size, cost in costs.items() if cost)
    seconds = (costs[largest].seconds - costs[SIZES[0]].seconds) / largest
    megabytes = (costs[largest].megabytes - costs[SIZES[0]].megabytes) / largest
    return row + f"{1e6 * seconds:8.0f}{1e3 * megabytes:7.0f}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="compile-time --regions", description=__doc__.split("\n\n")[0])
    parser.add_argument("--shape", action="append", choices=sorted(SHAPES), help="only this one; may be repeated")
    options = parser.parse_args()
    try:
        tool = gpu.find_tool("fa4-compile")
    except ToolNotFoundError as error:
        sys.exit(f"compile-time: {error}")
    print("processor seconds and MB from an op to PTX by the operations of its region; - where it is refused\n")
    print(f"{'region':32}" + "".join(f"{size:12}" for size in SIZES) + f"{'us/op':>8}{'kB/op':>7}")
    good = True
    for gradient in (False, True):
        for shape in options.shape or SHAPES:
            costs = {size: measure(tool, make(shape, size, gradient)) for size in SIZES}
            wrong = check(costs)
            row = f"{shape + (', gradient' if gradient else ''):32}" + _row(costs)
            print(row + ("  ok" if wrong is None else f"  MORE THAN ALLOWED: {wrong}"), flush=True)
            good &= wrong is None
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
