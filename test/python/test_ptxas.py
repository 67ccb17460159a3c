# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No kernel that fa4-compile makes of the grid's ops spills or has a stack, and
ptxas has nothing to say against its register budgets. The ops take turns with the
chips, so that each form of attention and each schedule is assembled for each of them;
A run draws a third of the pairs of an op and its chip. FA4_MANY=1 assembles each op
for all chips."""

from dataclasses import replace

import pytest

from fa4_testing import gpu, grid
from fa4_testing.cpu import CompileError, ToolNotFoundError
from fa4_testing.programs.tile_programs import tile_programs

try:
    COMPILER = gpu.find_tool("fa4-compile")
except ToolNotFoundError:
    COMPILER = None

needs_ptxas = pytest.mark.skipif(not gpu.find_ptxas(), reason="needs ptxas")


CHIPS = ("sm_100a", "sm_103a")


def form(op):
    """All of the op but its schedule."""
    return replace(op, schedule=grid.SCHEDULES[0])


def ops_and_chips():
    """(op, chip, whether it is this op's turn). A chip has every other schedule of one form, and the others of the next."""
    ops = grid.operations(grid.full_cases())
    forms = list(dict.fromkeys(map(form, ops)))
    for op in ops:
        turn = forms.index(form(op)) + grid.SCHEDULES.index(op.schedule)
        for number, chip in enumerate(CHIPS):
            yield op, chip, turn % len(CHIPS) == number


def test_chips_take_turns():
    """Each op must be assembled for one of the chips, and each chip must have each value of each parameter."""
    chosen = [(op, chip) for op, chip, is_turn in ops_and_chips() if is_turn]
    assert {op for op, _ in chosen} == set(grid.operations(grid.full_cases()))
    for name in ("head_dim", "mask", "dtype", "layout", "schedule"):
        of = {(getattr(op, name), chip) for op, chip in chosen}
        assert of == {(value, chip) for value, _ in of for chip in CHIPS}, name
    assert {(form(op), chip) for op, chip in chosen} == {(form(op), chip) for op, chip, _ in ops_and_chips()}


@needs_ptxas
@pytest.mark.skipif(not COMPILER, reason="needs fa4-compile")
@pytest.mark.turns(4)
@pytest.mark.parametrize("op, chip", [
    pytest.param(op, chip, id=f"{op.name}-{chip}", marks=[] if is_turn else pytest.mark.many)
    for op, chip, is_turn in ops_and_chips()
])  # fmt: skip
def test_no_local_memory(op, chip, tmp_path):
    """A kernel of an op of the grid is assembled: ptxas must need no local memory for it."""
    check_no_local_memory(op, chip, tmp_path)


def check_no_local_memory(op, chip, folder):
    # ptxas is run here: fa4-compile has an option that lets spills pass.
    kernel = gpu.compile(op.mlir(), folder / "kernel", chip, options=op.options)
    said = gpu.assemble(kernel.ptx, chip)
    assert (said.spill_stores, said.spill_loads, said.stack) == (0, 0, 0), said
    assert said.advice == (), said
    assert 0 < said.registers <= 255


WIDE = [
    (gpu.Op(192, "causal", "bf16", value_dim=128), "sm_100a"),
    (gpu.Op(192, "full", "f16", schedule="static", value_dim=128), "sm_103a"),
    (gpu.Op(256, "causal", "f16", schedule="lpt"), "sm_100a"),
    (gpu.Op(256, "full", "bf16", schedule="static"), "sm_103a"),
    (gpu.Op(256, "full", "bf16", schedule="static", value_dim=64), "sm_100a"),
    (gpu.Op(192, "full", "bf16", pairs=True, value_dim=128), "sm_100a"),
    (gpu.Op(256, "full", "f16", pairs=True), "sm_103a"),
    (gpu.Op(256, "causal", "bf16", schedule="lpt", pairs=True), "sm_100a"),
]


@needs_ptxas
@pytest.mark.skipif(not COMPILER, reason="needs fa4-compile")
@pytest.mark.turns(4)
@pytest.mark.parametrize("op, chip", [pytest.param(*each, id=f"{each[0].name}-{each[1]}") for each in WIDE])
def test_no_local_memory_with_wide_heads(op, chip, tmp_path):
    """A kernel with head dims above 128 is assembled: ptxas must need no local memory for it."""
    check_no_local_memory(op, chip, tmp_path)


@needs_ptxas
@pytest.mark.skipif(not COMPILER, reason="needs fa4-compile")
@pytest.mark.parametrize("program", [pytest.param(p, id=p.name) for p in tile_programs()])
def test_no_local_memory_of_tile_programs(program, tmp_path):
    """Tile programs use no local memory. Nor does the program of the gradient, whose lanes hold the probabilities while
    they work on another tile."""
    options = [f"--from={program.start}", "--verify-ptx=false", *program.options]
    kernel = gpu.compile(program.text, tmp_path / "kernel", program.chip, options=options)
    said = gpu.assemble(kernel.ptx, program.chip)
    assert (said.spill_stores, said.spill_loads, said.stack) == (0, 0, 0), said


HEAD = """
.version 8.7
.target sm_100a
.address_size 64
.visible .entry kernel(.param .u64 out, .param .u32 at)
"""

# An array that is indexed by what is not known.
STACK = """{
  .local .align 16 .b8 array[64];
  .reg .b64 %rd<6>;
  .reg .b32 %r<4>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [at];
  mov.u64 %rd2, array;
  mul.wide.u32 %rd3, %r1, 4;
  add.u64 %rd4, %rd2, %rd3;
  st.local.u32 [%rd4], %r1;
  ld.local.u32 %r2, [array+16];
  st.global.u32 [%rd1], %r2;
  ret;
}
"""


def spilling(count):
    """More values alive than there are registers."""
    names = range(2, count + 2)
    lines = [f"  ld.volatile.global.u32 %r{n}, [%rd1+{4 * n}];" for n in names]
    lines += ["  bar.sync 0;"]
    lines += [f"  st.volatile.global.u32 [%rd1+{4 * n}], %r{n};" for n in names]
    body = "\n".join(lines)
    return f"{{\n  .reg .b64 %rd<2>;\n  .reg .b32 %r<{count + 2}>;\n  ld.param.u64 %rd1, [out];\n{body}\n  ret;\n}}\n"


@needs_ptxas
def test_the_gate_sees_it(tmp_path):
    """PTX with a stack, with spills and without either is given: the figures must tell them apart."""
    file = tmp_path / "kernel.ptx"
    file.write_text(HEAD + "{\n  ret;\n}\n")
    plain = gpu.assemble(file, "sm_100a")
    assert plain.registers > 0
    assert (plain.spill_stores, plain.spill_loads, plain.stack) == (0, 0, 0)
    assert plain.advice == ()
    file.write_text(HEAD + STACK)
    assert gpu.assemble(file, "sm_100a").stack == 64
    file.write_text(HEAD + spilling(300))
    spilled = gpu.assemble(file, "sm_100a")
    assert spilled.spill_stores > 0 and spilled.spill_loads > 0


@needs_ptxas
def test_what_ptxas_rejects(tmp_path):
    """PTX that ptxas rejects must raise a CompileError that names the file."""
    file = tmp_path / "kernel.ptx"
    file.write_text(HEAD + "{\n  nonsense;\n}\n")
    with pytest.raises(CompileError, match=r"rejects .*kernel\.ptx"):
        gpu.assemble(file, "sm_100a")
