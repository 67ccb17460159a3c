# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which blocks of keys forward attention skips, computes without the code of a mask (full) and with it (cut), for 15 masks.

Blocks are counted while the simulator runs a kernel of one head, beside those that the mask leaves (each pair of a query and a
key is asked) and, where torch is installed, beside the block masks of its FlexAttention, which --quick leaves out. Exit status
1 where a bar is missed: a kernel must skip what is empty, and compute no larger share of its blocks than FlexAttention."""

import argparse
import re
import sys
from dataclasses import dataclass

import fa4
from fa4.errors import CompileError
from fa4_testing import results

from fa4_bench.executed_blocks import HEAD_DIM, Executed, count_blocks
from fa4_bench.flex_blocks import BLOCK, FlexBlocks, find_torch, make_block_mask
from fa4_bench.mask_forms import Blocks, MaskForm, count_ideal, make_forms

CHIPS = ("sm_90a", "sm_100a")
LENGTH, QUICK_LENGTH = 4096, 1024
# What the sentence of a missed bar says where nothing is computed that is empty.
LEAST = ", the least with such tiles"
QUICK = ("causal", "sliding window", "documents by a table")


@dataclass(frozen=True)
class Row:
    """A mask on a chip. `refused` is the compiler's message, where there is no kernel."""

    name: str
    chip: str
    executed: Executed | None
    ideal: Blocks | None
    flex: FlexBlocks | None
    refused: str = ""


def measure(name: str, form: MaskForm, chip: str, flex: FlexBlocks | None) -> Row:
    spec = fa4.sdpa(q=f"B Sq H {HEAD_DIM}", k=f"B Sk H {HEAD_DIM}", **form.spec_clauses())
    try:
        kernel = fa4.compile(spec, chip=chip, verify=False, cache=False)
    except CompileError as error:
        return Row(name, chip, None, None, flex, str(error).splitlines()[0])
    executed = count_blocks(kernel, chip, form.batch, form.queries, form.keys, form.arrays())
    return Row(name, chip, executed, count_ideal(form, executed.queries, executed.keys), flex)


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %"


def missed(rows):
    """A sentence for each bar that is missed. A work tile computes one block even where it sees none: of these, one a tile is
    allowed, and nothing else."""
    for row in rows:
        where, found = f"{row.name}, {row.chip}", row.executed
        if found is None:
            yield f"{where}: {row.refused}"
            continue
        if found.computed > row.ideal.least:
            yield (f"{where}: {percent(found.skipped, found.blocks)} of the blocks are skipped, and {percent(row.ideal.empty, found.blocks)} are "
                   "empty")  # fmt: skip
        if row.flex and found.computed * row.flex.blocks > row.flex.computed * found.blocks:
            least = LEAST if found.computed == row.ideal.least else ""
            yield (f"{where}: {percent(found.computed, found.blocks)} of the blocks of {found.queries} x {found.keys} are computed{least}, and "
                   f"{percent(row.flex.computed, row.flex.blocks)} of FlexAttention's")  # fmt: skip


def count_bars(rows):
    return sum(1 + (row.flex is not None) for row in rows)


def kernel_table(rows):
    """Shares of the blocks that the kernel has executed, and in parentheses the ideal where that is another."""
    lines = ["| mask | chip | block | skipped | full | cut |", "|---|---|---|---|---|---|"]

    def cell(mine, ideal, blocks):
        return percent(mine, blocks) + (f" ({percent(ideal, blocks)})" if mine != ideal else "")

    for row in rows:
        found, ideal = row.executed, row.ideal
        if found is None:
            lines.append(f"| {row.name} | {row.chip} | no kernel | | | |")
            continue
        pairs = ((found.skipped, ideal.empty), (found.full, ideal.full), (found.cut, ideal.cut))
        shares = " | ".join(cell(*pair, found.blocks) for pair in pairs)
        lines.append(f"| {row.name} | {row.chip} | {found.queries} x {found.keys} | {shares} |")
    return "\n".join(lines)


def flex_table(rows):
    """The block masks of FlexAttention, which are the same for each chip."""
    lines = ["| mask | empty | full | partial | bytes | ms of the CPU |", "|---|---|---|---|---|---|"]
    for name, flex in {row.name: row.flex for row in rows if row.flex}.items():
        counts = (flex.blocks - flex.computed, flex.full, flex.partial)
        shares = " | ".join(percent(count, flex.blocks) for count in counts)
        lines.append(f"| {name} | {shares} | {flex.bytes} | {1e3 * flex.seconds:.0f} |")
    return "\n".join(lines)


def page(rows, length, torch, sentences, commit):
    bars, by_tiles = count_bars(rows), sum(LEAST in sentence for sentence in sentences)
    missing = "\n".join(f"- {sentence}" for sentence in sentences) or "- none"
    head = results.head("Which blocks a mask leaves", f"{bars - len(sentences)} of {bars} bars are met", "./bench/masks --write", commit)
    return head + f"""\
Forward attention of one head, bf16, head dim {HEAD_DIM}, {length} keys, in the simulator. Of all blocks (queries of a work
tile x keys), the shares that the kernel has skipped (not loaded, not computed), computed without the code of a mask
(full), and with it (cut). In parentheses what the mask leaves, where that is another share: each pair of a query and a
key is asked.

{kernel_table(rows)}

Block masks that FlexAttention of torch {torch.__version__} makes before it computes (`create_block_mask`, blocks of {BLOCK} x
{BLOCK}): the memory of their tensors, and the time to make one on the CPU of this machine, with one thread and not
compiled, which says nothing of a GPU. Our kernels take none: for masks that read tables, two small kernels write four
numbers a work tile ([masks](../../docs/masks.md#by-tables)). Without a mask, FlexAttention takes none either.

{flex_table(rows)}

The bars: a kernel skips what is empty, but for one block of each work tile that sees nothing, which is computed all the
same; and the share of its blocks that it computes is at most that of FlexAttention, whose tiles have fewer queries.
{by_tiles} of the bars that are missed are so by the size of the tiles alone: nothing is computed that is empty.

Bars that are missed:

{missing}
"""


def parse(argv):
    parser = argparse.ArgumentParser(prog="masks", description=__doc__.split("\n\n")[0], epilog=__doc__.split("\n\n")[1])
    parser.add_argument("--quick", action="store_true", help=f"three masks, {QUICK_LENGTH} keys, without FlexAttention: seconds")
    parser.add_argument("--only", metavar="REGEX", default="", help="only masks whose name has a match")
    parser.add_argument("--write", action="store_true", help="write bench/results/masks.md; needs torch, and a tree without changes")
    options = parser.parse_args(argv)
    if options.write and (options.quick or options.only):
        parser.error("--write is for all masks: without --quick and --only")
    try:
        re.compile(options.only)
    except re.error as error:
        parser.error(f"--only: {error}")
    return parser, options


def main(argv=None):
    parser, options = parse(argv)
    torch = None if options.quick else find_torch()
    if options.write and not torch:
        parser.error("--write needs torch, whose FlexAttention the page has beside ours")
    try:
        commit = results.clean_commit() if options.write else ""
    except results.DirtyTreeError as error:
        parser.error(str(error))
    length = QUICK_LENGTH if options.quick else LENGTH
    forms = {name: form for name, form in make_forms(length).items() if (not options.quick or name in QUICK) and re.search(options.only, name)}
    if not forms:
        parser.error(f"no mask has a name that matches {options.only!r}")
    flex = {name: make_block_mask(torch, form) if torch else None for name, form in forms.items()}
    rows = [measure(name, form, chip, flex[name]) for name, form in forms.items() for chip in CHIPS]
    sentences = list(missed(rows))
    if options.write:
        results.write("masks", page(rows, length, torch, sentences, commit))
    else:
        print(kernel_table(rows))
        print(f"\n{flex_table(rows)}" if torch else "masks: without FlexAttention", file=sys.stdout if torch else sys.stderr)
    for sentence in sentences:
        print(f"masks: {sentence}", file=sys.stderr)
    return int(bool(sentences))


if __name__ == "__main__":
    sys.exit(main())
