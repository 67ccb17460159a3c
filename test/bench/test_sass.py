# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops in machine code, wherever the assembler has put their blocks."""

import pytest

from fa4_testing import sass


def function(body, name="kernel"):
    """nvdisasm's text of a function; a line of `body` is a label or an
    instruction."""
    lines = [f'\t.section\t.text.{name},"ax",@progbits', f"{name}:", f".text.{name}:"]
    address = 0
    for line in filter(None, map(str.strip, body.splitlines())):
        if line.endswith(":"):
            lines.append(line)
        else:
            lines.append(f"        /*{address:04x}*/                   {line} ;")
            address += 16
    return "\n".join(lines) + "\n"


def parse(body):
    (found,) = sass.parse(function(body))
    return found


def test_parse():
    """Machine code of two functions is parsed: each must have its name, its instructions and its loops."""
    text = function("MOV R1, R2\nEXIT", "one") + function("\n.L_x_0:\nBRA `(.L_x_0)\nNOP", "two")
    one, two = sass.parse('\t.section\t.nv.info,""\n' + text)
    assert (one.name, len(one), two.name, len(two)) == ("one", 2, "two", 1)
    assert one.loops() == [] and len(two.loops()) == 1
    assert sass.parse("") == []


@pytest.mark.parametrize("text, opcode, conditional, falls_through, target", [
    ("@!P0 BRA `(.L_x_1)", "BRA", True, True, ".L_x_1"),
    ("@PT BRA `(.L_x_1)", "BRA", False, False, ".L_x_1"),
    ("BRA.U UP0, `(.L_x_1)", "BRA.U", True, True, ".L_x_1"),
    ("BRA.U !UP0, `(.L_x_1)", "BRA.U", True, True, ".L_x_1"),
    ("BRA `(.L_x_1)", "BRA", False, False, ".L_x_1"),
    ("BRA.DIV ~URZ, `(.L_x_1)", "BRA.DIV", True, True, ".L_x_1"),
    ("@UP3 EXIT", "EXIT", True, True, None),
    ("EXIT", "EXIT", False, False, None),
    ("RET.REL.NODEC R2 `(kernel)", "RET.REL.NODEC", False, False, None),
    ("CALL.REL.NOINC `($other)", "CALL.REL.NOINC", False, True, None),
    ("BSSY B0, `(.L_x_1)", "BSSY", False, True, None),
    ("@P1 FADD R1, R2, R3", "FADD", True, True, None),
])  # fmt: skip
def test_instruction(text, opcode, conditional, falls_through, target):
    """One instruction is parsed: its opcode, its condition and its branch target must be right."""
    i = sass.Instruction(text)
    assert (i.opcode, i.conditional, i.falls_through) == (opcode, conditional, falls_through)
    assert i.target == target


def test_matches():
    """An opcode matches a prefix only at the boundary of a modifier."""
    assert sass.Instruction("@P0 MUFU.EX2.F16 R1, R2").matches("MUFU.EX2")
    assert not sass.Instruction("FADD2 R1, R2, R3").matches("FADD")


def opcodes(path):
    return [i.opcode for i in path]


def test_wait_out_of_line():
    """A loop has a wait whose repetition lies behind the loop. The shortest and the longest path must be those of an
    iteration that does not wait."""
    (loop,) = parse("""
        S2R R0, SR_TID.X
        .L_x_0:
        SYNCS.PHASECHK P0, [R1]
        @!P0 BRA `(.L_x_9)
        .L_x_1:
        FADD R1, R2, R3
        @P1 BRA `(.L_x_0)
        EXIT
        .L_x_9:
        SYNCS.PHASECHK P0, [R1]
        @!P0 BRA `(.L_x_9)
        BRA `(.L_x_1)
    """).loops()
    expected = ["SYNCS.PHASECHK", "BRA", "FADD", "BRA"]
    assert opcodes(loop.shortest) == expected and opcodes(loop.longest) == expected
    (wait,) = loop.children
    assert opcodes(wait.shortest) == ["SYNCS.PHASECHK", "BRA"]


def test_wait_that_cannot_be_avoided():
    """A loop contains a wait that loops itself: the shortest path of the loop must have the wait once."""
    (loop,) = parse("""
        .L_x_0:
        MOV R1, R2
        .L_x_1:
        SYNCS.PHASECHK P0, [R1]
        @!P0 BRA `(.L_x_1)
        FADD R1, R2, R3
        BRA.U UP0, `(.L_x_0)
        EXIT
    """).loops()
    assert opcodes(loop.shortest) == ["MOV", "SYNCS.PHASECHK", "BRA", "FADD", "BRA.U"]


def test_branches():
    """A loop has a mask that only some iterations need, and two ways back: the shortest path leaves the mask out, the
    longest one has it."""
    (loop,) = parse("""
        .L_x_0:
        MOV R1, R2
        @P0 BRA `(.L_x_1)
        ISETP P1, R1, R2
        FSEL R1, R2, R3
        FSEL R1, R2, R3
        .L_x_1:
        FADD R1, R2, R3
        @P2 BRA `(.L_x_0)
        FMUL R1, R2, R3
        @P3 BRA `(.L_x_0)
        EXIT
    """).loops()
    assert opcodes(loop.shortest) == ["MOV", "BRA", "FADD", "BRA"]
    assert len(loop.longest) == 9 and loop.count("FSEL", "longest") == 2
    assert loop.count("FSEL") == 0


def test_nests():
    """Two loops in one, and one behind it, are found with their nesting."""
    found = parse("""
        .L_x_0:
        MOV R1, R2
        .L_x_1:
        FADD R1, R2, R3
        @P0 BRA `(.L_x_1)
        .L_x_2:
        FMUL R1, R2, R3
        @P1 BRA `(.L_x_2)
        @P2 BRA `(.L_x_0)
        .L_x_3:
        IADD3 R1, R2, R3
        @P0 BRA `(.L_x_3)
        EXIT
    """)
    outer, last = found.loops()
    assert [opcodes(c.shortest) for c in outer.children] == [["FADD", "BRA"], ["FMUL", "BRA"]]
    assert opcodes(outer.shortest) == ["MOV", "FADD", "BRA", "FMUL", "BRA", "BRA"]
    assert opcodes(last.shortest) == ["IADD3", "BRA"]
    assert len(list(found.all_loops())) == 4


def repeat(line, times):
    return "\n".join([line] * times)


def exponentials(ex2, pairs, more=0):
    return "\n".join([
        repeat("MUFU.EX2 R1, R2", ex2), repeat("F2FP.BF16.F32.PACK_AB R1, R2, R3", pairs),
        repeat("FFMA2 R1, R2, R3, R4", more),
    ])  # fmt: skip


def test_exponential_loops():
    """Loops have known numbers of instructions: their exponentials and emulated exponentials must be counted per
    iteration."""
    body = f"""
        {exponentials(113, 64, 40)}
        .L_x_0:
        {exponentials(105, 64, 373)}
        @P0 BRA `(.L_x_0)
        .L_x_1:
        {exponentials(258, 128, 513)}
        @P0 BRA `(.L_x_1)
        .L_x_2:
        {repeat("F2FP.BF16.F32.PACK_AB R1, R2, R3", 64)}
        @P0 BRA `(.L_x_2)
        EXIT"""
    # What is not in a loop, and the loop without exponentials, do not count.
    first, second = sass.exponential_loops(parse(body))
    assert (first.instructions, first.ex2, first.emulated) == (543, 105, 24)
    # Two blocks in one iteration.
    assert (second.instructions, second.ex2, second.emulated) == (450, 129, 0)
    assert second.elements == 256


def test_masked_branch():
    """A loop has a path with a mask and one without: both must be found, with their numbers of instructions."""
    plain, masked = sass.exponential_loops(parse(f"""
        .L_x_0:
        {exponentials(113, 64, 300)}
        @P0 BRA `(.L_x_1)
        {repeat("FSEL R1, R2, R3, P0", 128)}
        .L_x_1:
        @P1 BRA `(.L_x_0)
        EXIT"""))  # fmt: skip
    assert (plain.instructions, plain.masked) == (479, False)
    assert (masked.instructions, masked.masked) == (607, True)


def test_masked_loop():
    """A loop that masks by moves with a guard counts as masked, like one with selects."""
    plain, masked = sass.exponential_loops(parse(f"""
        .L_x_0:
        {exponentials(113, 64)}
        @P1 BRA `(.L_x_0)
        .L_x_1:
        {exponentials(113, 64)}
        {repeat("@!P0 MOV R1, R2", 128)}
        @P1 BRA `(.L_x_1)
        EXIT"""))  # fmt: skip
    assert (plain.masked, masked.masked) == (False, True)
    assert (plain.instructions, masked.instructions) == (178, 306)


def test_mma_loops():
    """MMAs are in nested loops: one loop must be found, with its numbers of instructions and MMAs."""
    mma = "UTCHMMA gdesc[UR10], gdesc[UR12], tmem[UR17], tmem[UR60], idesc[UR61], !UPT"
    assert sass.mma_loops(parse(f"""
        {repeat(mma, 16)}
        .L_x_0:
        .L_x_1:
        {repeat(mma, 32)}
        UTCBAR [UR4], URZ
        @P0 BRA `(.L_x_1)
        @P1 BRA `(.L_x_0)
        EXIT""")) == [(34, 32)]  # fmt: skip
