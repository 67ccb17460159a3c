# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command bench/masks, which counts the blocks of keys that kernels skip, compute and mask: its quick masks meet their bars, a
bar that is missed is said, and what is counted is what a mask leaves."""

import dataclasses

import numpy as np
import pytest

import fa4
from fa4 import _library
from fa4_bench import executed_blocks, flex_blocks, mask_forms, masks
from fa4_bench.executed_blocks import Executed
from fa4_bench.flex_blocks import FlexBlocks
from fa4_bench.mask_forms import Blocks, MaskForm

try:
    _library.find()
except fa4.LibraryNotFoundError as missing:
    pytest.skip(f"needs {missing}", allow_module_level=True)


def test_quick(capsys):
    """The quick masks must meet their bars, and have a row for each chip; FlexAttention is left out."""
    assert masks.main(["--quick"]) == 0
    said = capsys.readouterr()
    assert said.err == "masks: without FlexAttention\n" and said.out.count("\n") == 2 + 2 * len(masks.QUICK)
    assert all(f"| {name} | {chip} |" in said.out for name in masks.QUICK for chip in masks.CHIPS)


def test_a_missed_bar_is_said(monkeypatch, capsys):
    """A mask with a gap, whose empty blocks are computed, and one that has no kernel must each be a sentence, and the status 1."""
    forms = {
        "gap": MaskForm(1024, 1024, lambda b, h, i, j: (j < 4) | (j >= 1000)),
        "refused": MaskForm(128, 128, clauses=dict(mask_mod=lambda b, h, i, j, t: t[b, h, i, j, 0] > 0, captures={"t": "f32 B H Sq Sk N"})),
    }
    monkeypatch.setattr(masks, "make_forms", lambda length: forms)
    monkeypatch.setattr(masks, "find_torch", lambda: None)
    monkeypatch.setattr(masks, "CHIPS", ("sm_100a",))
    assert masks.main([]) == 1
    said = capsys.readouterr()
    assert "masks: gap, sm_100a: 0.0 % of the blocks are skipped, and 75.0 % are empty" in said.err
    assert "masks: refused, sm_100a: 'attn.sdpa' op not supported" in said.err and "no kernel" in said.out


@pytest.mark.parametrize("chip", masks.CHIPS)
def test_blocks_are_counted(chip):
    """A window that begins and ends within blocks, with keys that fill no block: the kernel must have executed what the mask leaves, at
    each kind of block."""
    form = MaskForm(500, 900, lambda b, h, i, j: (j >= i + 200) & (j <= i + 700))
    kernel = fa4.compile(fa4.sdpa(q="B Sq H 64", k="B Sk H 64", **form.spec_clauses()), chip=chip)
    found = executed_blocks.count_blocks(kernel, chip, 1, 500, 900, {})
    ideal = mask_forms.count_ideal(form, found.queries, found.keys)
    assert found.skipped == ideal.empty > 0 and found.full == ideal.full > 0 and found.cut == ideal.cut > 0


def test_blocks_without_a_whole_count_are_an_error(monkeypatch):
    """A kernel of which something else is counted than blocks, as with a wrong number of threads: it must be an error, not a figure."""
    monkeypatch.setitem(executed_blocks.THREADS_A_ROW, "sm_100a", 3)
    kernel = fa4.compile(fa4.sdpa(q="B Sq H 64", k="B Sk H 64", mask="causal"))
    with pytest.raises(executed_blocks.CountError, match="masks: .* is no whole number of blocks"):
        executed_blocks.count_blocks(kernel, "sm_100a", 1, 256, 256, {})


def test_mask_code_is_marked():
    """Eight scores that straight code replaces by -infinity, by its number or by a register that holds it, are mask code; seven are statistics."""
    few = "\tselp.f32 \t%r1, %r2, 0fFF800000, %p1;\n" * 7
    register = "\tmov.b32 \t%r9, -8388608;\n\t{ setp.ne.b32 p, t, 0; selp.f32 %r3, %r4, %r9, p; }\n"
    marked = executed_blocks.mark_masks(f"$L1:\n{few}$L2:\n{few}{register}\tex2.approx.ftz.f32 %r5, %r6;\n\tbra $L1;")
    assert marked.count("\tmov.b64 %masked, 1;") == 1
    assert marked.index("\tmov.b64 %masked, 1;") > marked.index("$L2:")
    assert marked[-3:] == ["\tadd.s64 %count, %count, %masked;", "\tmov.b64 %masked, 0;", "\tbra $L1;"]


def test_the_ideal():
    """Of 5 queries and 7 keys in blocks of 2 by 3: empty, full and cut ones; a block that reaches beyond the keys is cut, one that reaches
    beyond the queries need not be, and a work tile that sees nothing computes one block."""
    visible = np.zeros((5, 7), bool)
    visible[0:2, 0:3] = visible[4, :] = True
    form = MaskForm(5, 7, lambda b, h, i, j: visible[i, j])
    assert mask_forms.count_ideal(form, 2, 3) == Blocks(empty=5, full=3, cut=1, least=5)


def test_more_than_flex_attention_is_said():
    """A kernel that computes a larger share of its blocks than FlexAttention misses a bar, also where its tiles leave it no choice."""
    row = masks.Row("window", "sm_100a", Executed(256, 128, 16, 8, 4), Blocks(8, 4, 4, 8), FlexBlocks(32, 6, 8, 100, 0.1))
    (sentence,) = masks.missed([row])
    assert sentence == "window, sm_100a: 50.0 % of the blocks of 256 x 128 are computed, the least with such tiles, and 43.8 % of FlexAttention's"
    assert not list(masks.missed([dataclasses.replace(row, flex=FlexBlocks(32, 8, 8, 100, 0.1))]))
    (sentence,) = masks.missed([dataclasses.replace(row, ideal=Blocks(9, 3, 4, 7), flex=None)])
    assert sentence == "window, sm_100a: 50.0 % of the blocks are skipped, and 56.2 % are empty"


def test_block_masks_of_flex_attention():
    """FlexAttention must find the blocks that asking about each pair finds, of masks with and without tables and sequences."""
    torch = pytest.importorskip("torch", reason="needs torch, for FlexAttention")
    for name, form in mask_forms.make_forms(512).items():
        flex = flex_blocks.make_block_mask(torch, form)
        ideal = mask_forms.count_ideal(form, flex_blocks.BLOCK, flex_blocks.BLOCK)
        if form.visible is None:
            assert flex is None and ideal.full == ideal.seen == 16
        else:
            assert (flex.full, flex.partial, flex.blocks) == (ideal.full, ideal.cut, ideal.empty + ideal.seen), name
            assert flex.bytes > 0 and flex.seconds > 0


@pytest.mark.parametrize(
    "words, message",
    [
        (["--only", "("], "--only: missing"),
        (["--only", "nothing"], "no mask has a name that matches 'nothing'"),
        (["--write", "--quick"], "--write is for all masks"),
    ],
)
def test_bad_words(words, message, capsys):
    """Words that say nothing to measure must each be one clear sentence, and the status 2."""
    with pytest.raises(SystemExit) as error:
        masks.main(words)
    assert error.value.code == 2 and message in capsys.readouterr().err
