# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What score_mods and mask_mods cost a score, in instructions of the machine code that ptxas makes of forward attention.

A form's *cost* is what its loop has more than the loop over full blocks of causal attention, for a score. Exponentials are
all the MUFU's here, so that kernels which emulate other shares of them compare. Of a mask, the loop over blocks that it
cuts counts, too. Exit status 1 where a bar is missed, or a kernel spills."""

import argparse
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import fa4
from fa4 import math
from fa4.errors import CompileError
from fa4_testing import gpu, results, sass

CHIPS = ("sm_90a", "sm_100a")
HEAD_DIMS = (64, 128)
CAP, REACH, BLOCK, SLOPE = 15.0, 128, 256, 0.125


@dataclass(frozen=True)
class Mod:
    """`most` is the bar of a score_mod's cost. Of a mask it is that of blocks that are cut; in full blocks the bar is 0."""

    clauses: dict
    most: float | None = None

    @property
    def is_mask(self):
        return "mask_mod" in self.clauses


def _score(function, most=None, **captures):
    return Mod(dict(score_mod=function) | (dict(captures=captures) if captures else {}), most)


def _mask(function, most=None, **captures):
    return Mod(dict(mask_mod=function) | (dict(captures=captures) if captures else {}), most)


def _distance(i, j):
    return math.minimum(math.maximum(j - i, -REACH), REACH)


MODS = {
    "constant factor": _score(lambda s, b, h, i, j: 1.5 * s, 0),
    "ALiBi by the key": _score(lambda s, b, h, i, j: s + SLOPE * j, 1),
    "ALiBi by the distance": _score(lambda s, b, h, i, j: s + SLOPE * (j - i), 1),
    "ALiBi, slopes of heads": _score(lambda s, b, h, i, j, slopes: s + slopes[h] * (j - i), 1, slopes="f32 H"),
    "absolute distance": _score(lambda s, b, h, i, j: s - SLOPE * math.abs(i - j)),
    "relative bias, clamped": _score(lambda s, b, h, i, j: s + 0.01 * _distance(i, j), 2),
    "softcap": _score(lambda s, b, h, i, j: CAP * math.tanh(s / CAP)),
    "softcap, approximate": _score(lambda s, b, h, i, j: CAP * math.tanh(s / CAP, approximate=True), 2.5),
    "s + tanh(s) / 2, approximate": _score(lambda s, b, h, i, j: s + math.tanh(s, approximate=True) / 2, 2.5),
    "bias by the key": _score(lambda s, b, h, i, j, bias: s + bias[j], None, bias="f32 Sk"),
    "bias by head and distance": _score(lambda s, b, h, i, j, bias: s + bias[h, _distance(i, j) + REACH], None, bias="f32 H N"),
    "causal": _mask(lambda b, h, i, j: j <= i),
    "window": _mask(lambda b, h, i, j: (j <= i) & (i - j < BLOCK)),
    "prefix": _mask(lambda b, h, i, j: (j <= i) | (j < BLOCK)),
    "documents of one length": _mask(lambda b, h, i, j: i // BLOCK == j // BLOCK, 1),
    "documents by a table": _mask(lambda b, h, i, j, document: document[i] == document[j], 1, document="i32 N"),
}
QUICK = ("constant factor", "softcap, approximate", "causal")
# Blocks have as many keys as with forms: without a mask, Hopper's have more.
PLAIN = dict(mask="causal")


@dataclass
class Loops:
    """Instructions for 128 scores of the loops over full blocks and over those that a mask cuts."""

    full: float
    cut: float | None


def tool(name):
    found = gpu.find_cuda_tool(name)
    if not found:
        sys.exit(f"mods: {name} not found; docs/fa4-compile.md says where it is looked for")
    return found


def measure(clauses, chip, head_dim, folder):
    """The loops of a form. Raises CompileError where it has no kernel, or one that spills."""
    text = fa4.sdpa(q=f"B Sq H {head_dim}", k=f"B Sk H {head_dim}", **clauses).text
    kernels = gpu.compile_any(text, folder, chip=chip, emit="ptx,cubin", options=["--exp-fraction=0"])
    cubins = [path.with_suffix(".cubin") for path in gpu.ptx_files(kernels)]
    found = []
    for cubin in cubins:
        listing = subprocess.run([tool("nvdisasm"), "-c", cubin], capture_output=True, text=True, check=True).stdout
        function = max(sass.parse(listing), key=len)
        found += sass.exponential_loops(function)
    plain = [loop for loop in found if not loop.masked]
    cut = max((loop.instructions for loop in found if loop.masked), default=None)
    return Loops(max(loop.instructions for loop in plain or found), cut)


def measure_all(chips, head_dims, names, jobs):
    """{(chip, head dim, name): loops, or the compiler's message}; the name of attention without a form is the empty one."""
    keys = [(chip, dim, name) for chip in chips for dim in head_dims for name in ("", *names)]

    def one(key):
        chip, dim, name = key
        with tempfile.TemporaryDirectory() as folder:
            try:
                return measure(MODS[name].clauses if name else PLAIN, chip, dim, Path(folder))
            except CompileError as error:
                return str(error).splitlines()[0]

    with ThreadPoolExecutor(jobs) as pool:
        return dict(zip(keys, pool.map(one, keys), strict=True))


def costs(found, key):
    """(a score's cost in full blocks, in blocks that a mask cuts; None where there is none) of a form that has a kernel."""
    chip, dim, name = key
    plain, loops = found[chip, dim, ""], found[key]
    full = (loops.full - plain.full) / 128
    return full, None if loops.cut is None or not MODS[name].is_mask else (loops.cut - plain.full) / 128


def missed(found):
    """A sentence for each bar that is missed."""
    for key, loops in found.items():
        chip, dim, name = key
        where = f"{name or 'no form'}, {chip}, head dim {dim}"
        if isinstance(loops, str):
            yield f"{where}: {loops}"
            continue
        if not name:
            continue
        full, cut = costs(found, key)
        mod = MODS[name]
        # A tenth of an instruction is what a loop has more for the block, not for the score.
        for what, cost, most in (("", full, 0 if mod.is_mask else mod.most), (" where blocks are cut", cut, mod.most)):
            if most is not None and cost is not None and cost > most + 0.1:
                yield f"{where}: {cost:.2f} instructions a score{what}, the bar is {most:g}"


def table(found):
    chips, dims = (list(dict.fromkeys(key[n] for key in found)) for n in (0, 1))
    columns = [(chip, dim) for chip in chips for dim in dims]
    heads = " | ".join(f"{chip}, head dim {dim}" for chip, dim in columns)
    lines = [f"| form | bar | {heads} |", "|---" * (len(columns) + 2) + "|"]

    def cell(key):
        loops = found[key]
        if isinstance(loops, str):
            return "no kernel"
        if not key[2]:
            return f"{loops.full:.0f} for 128"
        full, cut = costs(found, key)
        return f"{full:.2f}" + (f"; {cut:.2f}" if cut is not None else "")

    for name in dict.fromkeys(key[2] for key in found):
        most = MODS[name].most if name else None
        lines.append(f"| {name or '(none)'} | {'' if most is None else f'{most:g}'} | " + " | ".join(cell((*column, name)) for column in columns) + " |")
    return "\n".join(lines)


def page(found, version, sentences, commit):
    bars = sum((MODS[name].most is not None) + MODS[name].is_mask for _, _, name in found if name)
    state = f"{bars - len(sentences)} of {bars} bars are met"
    missing = "\n".join(f"- {sentence}" for sentence in sentences)
    return results.head("What score_mods and mask_mods cost", state, "./bench/mods --write", commit) + f"""\
Instructions a score beyond those of full blocks of causal attention, by the machine code of ptxas {version}: forward attention, bf16,
all exponentials by the MUFU. A mask has two numbers: in full blocks, and in those that it cuts.

{table(found)}

Bars that are missed:

{missing or "- none"}
"""


def main(argv=None):
    parser = argparse.ArgumentParser(prog="mods", description=__doc__.split("\n\n")[0], epilog=__doc__.split("\n\n")[1])
    parser.add_argument("--quick", action="store_true", help="three forms, one head dim: seconds")
    parser.add_argument("--only", metavar="REGEX", default="", help="only forms whose name has a match")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="write bench/results/mods.md; the tree must have no changes")
    options = parser.parse_args(argv)
    names = [name for name in (QUICK if options.quick else MODS) if re.search(options.only, name)]
    said = subprocess.run([tool("ptxas"), "--version"], capture_output=True, text=True, check=True).stdout
    try:
        commit = results.clean_commit() if options.write else ""
    except results.DirtyTreeError as error:
        parser.error(str(error))
    found = measure_all(CHIPS, HEAD_DIMS[:1] if options.quick else HEAD_DIMS, names, options.jobs)
    sentences = list(missed(found))
    if options.write:
        results.write("mods", page(found, re.search(r"V([\d.]+)", said)[1], sentences, commit))
    else:
        print(table(found))
    for sentence in sentences:
        print(f"mods: {sentence}", file=sys.stderr)
    return int(bool(sentences))


if __name__ == "__main__":
    sys.exit(main())
