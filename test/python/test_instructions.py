# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Single instructions of sm_90a in fa4-sim, against values worked out from the manual: the cases of
bench/instructions."""

import functools
import random
import shutil
import subprocess

import pytest

from fa4 import tools
from fa4_bench.instructions import case, cases, cluster, matrix, simulate, wgmma

needs_simulator = pytest.mark.skipif(not tools.has_tools("fa4-sim"), reason="needs fa4-sim")


@functools.cache
def cross_section():
    """The cases, whose products take a second or two to work out."""
    return cases()


def wrong(group, **options):
    simulator = tools.find_tool("fa4-sim")
    return {c.name: found for c in group if (found := simulate.run(c, simulator, **options))}


@needs_simulator
@pytest.mark.parametrize("types", map("-".join, wgmma.TYPES))
def test_wgmma(types):
    """Products of wgmma of these types must leave in memory what the manual says."""
    group = [c for c in cross_section() if c.name.startswith(f"wgmma-{types}-")]
    assert len(group) >= 7
    assert wrong(group, seeds="0:0") == {}


@needs_simulator
def test_wgmma_at_other_times():
    """The products of wgmma are right if they are performed as early, and as late, as they may be."""
    group = random.Random(1).sample([c for c in cross_section() if c.name.startswith("wgmma")], 12)
    assert wrong(group, policy="eager") == {}
    assert wrong(group, policy="lazy") == {}


@needs_simulator
def test_other_instructions():
    """The instructions of the other families must leave in memory what the manual says, whenever they are performed."""
    group = [*matrix.cases(), *cluster.cases()]
    assert wrong(group, seeds="0:9") == {}
    assert wrong(group, policy="priority", seeds="1:3") == {}


@needs_simulator
def test_wrong_contents_are_noticed():
    """One bit of a case's expected contents is changed: the comparison must notice it."""
    for original in (matrix.cases()[0], cluster.cases()[0], wgmma.Product("f32", "bf16", "bf16", 8).case()):
        buffer = original.buffers[1]
        buffer.expected = bytes([buffer.expected[0] ^ 1]) + buffer.expected[1:]
        (sentence,) = simulate.run(original, tools.find_tool("fa4-sim"), seeds="0:0")
        assert sentence.startswith(f"{buffer.name}: 1 of")


def test_all_shapes_are_there():
    """The full set of products must have each shape that the manual lists for a type."""
    shapes = {(p.d, p.a, p.b, p.n) for p in wgmma.products(everything=True)}
    assert sum(p[1:3] == ("bf16", "bf16") for p in shapes) == 32
    assert sum(p[1:3] == ("s8", "u8") for p in shapes) == 18


@pytest.mark.skipif(not shutil.which("ptxas"), reason="needs ptxas")
def test_the_assembler_takes_them(tmp_path):
    """The assembler takes the PTX of one case of each type, and of each other case."""
    group = [wgmma.Product(*types, 24, bool(i % 2)).case() for i, types in enumerate(wgmma.TYPES)]
    for c in [*group, *matrix.cases(), *cluster.cases()]:
        (tmp_path / "k.ptx").write_text(c.ptx)
        done = subprocess.run(["ptxas", "-arch=sm_90a", tmp_path / "k.ptx", "-o", tmp_path / "k.cubin"],
                              capture_output=True, text=True)
        assert done.returncode == 0, f"{c.name}: {done.stdout}{done.stderr}"


def test_differences_are_sentences():
    """Contents that are wrong must be a sentence with the number of wrong words and the first of them."""
    c = case.Case("x", "", [case.Buffer("a", case.pack([1, 2])), case.Buffer("b", case.pack([3]), case.pack([4]))])
    assert c.differences([case.pack([1, 2]), case.pack([4])]) == []
    assert c.differences([case.pack([1, 5]), case.pack([4])]) == ["a: 1 of 2 words are wrong; word 1 is 0x5, expected 0x2"]
