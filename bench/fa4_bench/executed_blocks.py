# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many blocks of keys a kernel of forward attention has loaded, computed, and computed with the code of a mask: counted while
fa4-sim runs it.

Copies and MMAs the simulator counts itself. For masks the main kernel's PTX is given a counter. Straight code in which a thread
replaces at least `MASKED_AT_ONCE` scores by -infinity is mask code, and sets a flag. (Statistics of rows are fewer.) At an
exponential the flag is added to the thread's count, and cleared. Of a block of keys all masks come before the first
exponential, which needs the row's maximum: a thread counts each block that it has masked once.

For example, a row of three blocks, the last of which is cut: mask, exponentials, exponentials, exponentials count 1 + 0 + 0.
What the compiler folds into constants counts as no mask, as in an unrolled loop a mask that shows every second key."""

import json
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from ml_dtypes import bfloat16

import fa4
from fa4 import sim

HEAD_DIM = 64
BF16_BYTES = 2
MASKED_AT_ONCE = 8
# Threads for each row of scores: a warpgroup's 128 threads have the 64 rows of a wgmma, or the 128 rows of tensor memory.
THREADS_A_ROW = {"sm_90a": 2, "sm_100a": 1}
COUNTER = "masked_blocks_of_threads"
_SELECT = re.compile(r"selp\.f32\s+%\w+, (%\w+|0fFF800000), (%\w+|0fFF800000), ")
_LABEL = re.compile(r"\$L\w+:")
_JUMP = re.compile(r"\bbra\b|\bret;")


class CountError(RuntimeError):
    """A kernel of which blocks can't be counted in this way."""


@dataclass(frozen=True)
class Executed:
    """Blocks of all work tiles: what there is, what was computed, and how many of these with mask code. A block has `queries` x
    `keys` scores."""

    queries: int
    keys: int
    blocks: int
    computed: int
    cut: int

    @property
    def skipped(self):
        return self.blocks - self.computed

    @property
    def full(self):
        return self.computed - self.cut


def _minus_infinity(ptx: str) -> set[str]:
    """What the text writes for -infinity: the number, and registers that hold it."""
    return {"0fFF800000", *re.findall(r"mov\.b32\s+(%\w+), (?:-8388608|0fFF800000);", ptx)}


def mark_masks(ptx: str) -> list[str]:
    """The lines of the text with the flag and the count in the 64-bit registers %masked and %count."""
    infinity, lines, selects, last = _minus_infinity(ptx), [], 0, 0
    for line in ptx.splitlines():
        if _LABEL.match(line) or _JUMP.search(line):
            if selects >= MASKED_AT_ONCE:
                lines.insert(last, "\tmov.b64 %masked, 1;")
            selects = 0
        lines.append(line)
        if any(infinity & set(operands) for operands in _SELECT.findall(line)):
            selects, last = selects + 1, len(lines)
        if "ex2.approx" in line:
            lines += ["\tadd.s64 %count, %count, %masked;", "\tmov.b64 %masked, 0;"]
    return lines


def _replace(pattern, by, text):
    """Replaces the only match. Raises CountError."""
    found, count = re.subn(pattern, by, text)
    if count != 1:
        raise CountError(f"the kernel has {count} places like {pattern!r}, not one")
    return found


def add_counter(ptx: str) -> str:
    """The kernel's text with a parameter behind the others: where threads that end add how many blocks of keys they have masked."""
    text = "\n".join(mark_masks(ptx)) + "\n"
    entry = re.search(r"\.entry (\w+)\(", text)[1]
    parameter = f"{entry}_param_{len(re.findall(rf'[.]param [^,)]*{entry}_param_', text.partition('{')[0]))}"
    text = _replace(r"(\.entry [^{]*?)\n\)", rf"\1,\n\t.param .b64 {parameter}\n)", text)
    begin = "\t.reg .b64 %count, %masked, %counter;\n\tmov.b64 %count, 0;\n\tmov.b64 %masked, 0;\n"
    text = _replace(r"(\.entry [^{]*\{\n)", lambda match: match[1] + begin, text)
    return _replace(r"\tret;", f"\tld.param.b64 %counter, [{parameter}];\n\tred.global.add.u64 [%counter], %count;\n\tret;", text)


def _write_counting(kernel: fa4.Kernel, folder: Path) -> Path:
    """Writes the kernel with a counter in the launch that computes attention. Returns the manifest's path."""
    manifest = json.loads(kernel.manifest_text)
    (main,) = (name for name, ptx in kernel.modules.items() if "ex2.approx" in ptx)
    for name, ptx in kernel.modules.items():
        (folder / name).write_text(add_counter(ptx) if name == main else ptx)
    (launch,) = (launch for launch in manifest.get("launches") or [manifest] if launch["ptx"] == main)
    launch["params"].append({"tensor": COUNTER})
    manifest["tensors"][COUNTER] = {"dtype": "i64", "shape": [1], "role": "inout"}
    path = folder / "manifest.json"
    path.write_text(json.dumps(manifest))
    return path


def block_size(kernel: fa4.Kernel) -> tuple[int, int]:
    """Queries of a work tile, and keys of a block: the shape of the scores in the tile program."""
    found = re.search(r"tile\.mma .*-> vector<(\d+)x(\d+)xf32>", kernel.ir("tile"))
    return int(found[1]), int(found[2])


def _whole(number: float, what: str) -> int:
    """Raises CountError for what is no whole number: then something else has been counted, too."""
    if number != int(number):
        raise CountError(f"{what}: {number} is no whole number of blocks")
    return int(number)


def count_blocks(kernel: fa4.Kernel, chip: str, batch: int, queries: int, keys: int, arrays: dict) -> Executed:
    """Runs a kernel of one head of HEAD_DIM on zeros; `arrays` are captures and lengths by the manifest's names. Raises
    CountError."""
    tile, block = block_size(kernel)
    tiles = batch * -(-queries // tile)
    given = {name: np.zeros((batch, length, 1, HEAD_DIM), bfloat16) for name, length in (("q", queries), ("k", keys), ("v", keys))}
    counter = np.zeros(1, np.int64)
    with tempfile.TemporaryDirectory() as folder:
        path = _write_counting(kernel, Path(folder))
        statistics = sim.launch(path, args={**given, **arrays, COUNTER: counter}, check=False, threads=1).statistics
    computed = _whole(statistics.mma_flops / (2 * tile * block * 2 * HEAD_DIM), "MMAs")
    cut = _whole(counter[0] / (tile * THREADS_A_ROW[chip]), "masks")
    # A copy of a block is one of K and one of V; beside them, q is loaded and out stored for each tile.
    loaded = _whole((statistics.tma_bytes / HEAD_DIM / BF16_BYTES - 2 * tiles * tile) / (2 * block), "copies")
    if loaded != computed or cut > computed:
        raise CountError(f"{loaded} blocks were loaded, {computed} computed, {cut} of them with mask code")
    return Executed(tile, block, tiles * -(-keys // block), computed, cut)
