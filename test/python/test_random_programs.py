# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The generator of random programs: some of what it makes, that it finds what is
wrong, and that it makes it smaller. bench/random-programs is its command line."""

import numpy as np
import pytest

from fa4 import gpu, mods, programs, random_programs
from fa4.cpu import ToolNotFoundError
from fa4.mods import I, J, S, f32, i32, index
from fa4.programs import Failed, Program, Sizes
from fa4.reference import Mask


def is_there(tool):
    try:
        return bool(gpu.find_tool(tool))
    except ToolNotFoundError:
        return False


needs_tools = pytest.mark.skipif(
    not (is_there("fa4-sim") and is_there("fa4-compile")),
    reason="needs fa4-compile and fa4-sim",
)


@needs_tools
@pytest.mark.parametrize("number", range(16))
def test_program(number, tmp_path):
    result = random_programs.run_number(11, number, tmp_path, ptxas=False)
    assert not result.error


@needs_tools
@pytest.mark.parametrize("flaw", random_programs.FLAWS)
def test_flaw(flaw):
    random_programs.check_flaw(Program(sizes=Sizes(2, 40, 50, 2, 2)), flaw)


@needs_tools
def test_what_is_accepted_is_no_flaw():
    with pytest.raises(random_programs.Flawed, match="accepted"):
        random_programs.refuse(Program().mlir(), "sm_100a", None)


def test_programs_repeat_and_differ():
    first = [random_programs.make(3, n) for n in range(60)]
    assert first == [random_programs.make(3, n) for n in range(60)]
    assert len({repr(program) for program, _ in first}) == 60
    made = [program for program, flaw in first if not flaw]
    for field in ("head_dim", "dtype", "layout", "kind", "lse", "chip", "mask", "scale"):
        assert len({getattr(program, field) for program in made}) > 1, field
    assert any(flaw for _, flaw in first)


def values(expression):
    i, j = np.arange(7)[:, None], np.arange(5)[None, :]
    named = dict(s=np.float64(1.5), b=1, h=2, i=i, j=j, captures=())
    return np.broadcast_to(mods.evaluate(expression, named, np.float64), (7, 5))


@pytest.mark.parametrize("expression, value", [
    (("arith.divsi", i32(-7), i32(2)), -3), (("arith.remsi", i32(-7), i32(2)), -1),
    (("arith.floordivsi", i32(-7), i32(2)), -4), (("arith.ceildivsi", i32(-7), i32(2)), -3),
    (("arith.remui", i32(-1), i32(10)), 5), (("arith.shrui", i32(-1), i32(28)), 15),
    (("arith.shrsi", i32(-16), i32(2)), -4), (("arith.addi", i32(2**31 - 1), i32(1)), -(2**31)),
    (("i8", i32(200)), -56), (("u8", i32(-1)), 255), (("uitofp", i32(-1)), 2.0**32 - 1),
    (("arith.maxui", i32(-1), i32(1)), -1), (("math.fma", S, f32(2), f32(1)), 4.0),
    (("bf16", f32(1.001)), 1.0), (("extsi", ("cmpi", "ult", i32(1), i32(-1))), -1),
], ids=str)  # fmt: skip
def test_meaning(expression, value):
    assert (values(expression) == value).all()


def test_meaning_of_positions():
    assert (values(("arith.subi", I, J)) == np.subtract.outer(np.arange(7), np.arange(5))).all()
    row = values(("select", ("cmpi", "sge", I, index(3)), I, index(0)))
    assert (row[:, 0] == [0, 0, 0, 3, 4, 5, 6]).all()


def test_shrinking(monkeypatch, tmp_path):
    """Down to what the failure needs: here a window, and tanh."""

    def fails(program, folder, **_):
        if program.mask and program.mask.left and "tanh" in repr(program.score):
            raise Failed("compare", "off")

    monkeypatch.setattr(random_programs, "run", fails)
    big = Program(
        head_dim=128, mask=Mask("top_left", 5, 7), sizes=Sizes(2, 100, 200, 2, 3), lse=False,
        score=("arith.addf", ("math.absf", S), ("math.tanh", ("arith.mulf", S, f32(2)))),
        visible=("cmpi", "slt", I, J), options=("--exp-fraction=0",),
    )  # fmt: skip
    small = random_programs.shrink(big, "compare", tmp_path, False, 60)
    expected = Program(mask=big.mask, score=("math.tanh", S), sizes=Sizes(1, 1, 1))
    assert small == expected


@pytest.fixture
def command(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(gpu, "ROOT", tmp_path)
    monkeypatch.setattr(gpu, "find_tool", lambda name: name)
    monkeypatch.setattr(gpu, "find_ptxas", lambda: None)
    monkeypatch.setattr(
        random_programs.concurrent.futures,
        "ProcessPoolExecutor",
        random_programs.concurrent.futures.ThreadPoolExecutor,
    )

    def run(fails, *words):
        def run_one(program, folder, **_):
            fails(program)

        monkeypatch.setattr(random_programs, "run", run_one)
        monkeypatch.setattr(random_programs, "check_flaw", lambda program, flaw: None)
        status = random_programs.main([*words, "--jobs=2"])
        return status, capsys.readouterr().out

    return run


def test_command(command):
    status, said = command(lambda program: None, "30")
    assert status == 0 and said.splitlines()[-1].split() == ["all", "30", "0", "0"]


def test_command_keeps_failures(command, tmp_path):
    def fails(program):
        if program.head_dim == 96:
            raise Failed("simulate", "seed 0: [race] two")

    status, said = command(fails, "30", "--shrink=5")
    assert status == 1 and "simulate: seed 0: [race] two" in said
    kept = sorted((tmp_path / "build" / "random-programs").glob("failure-0-*"))
    assert kept
    small = eval((kept[0] / "small.txt").read_text())  # noqa: S307 - our own text
    assert small == programs.Program(head_dim=96, sizes=Sizes(1, 1, 1))
    assert "memref<?x?x?x96xbf16>" in (kept[0] / "small.mlir").read_text()


def test_command_counts_spills(command):
    def fails(program):
        raise Failed("spills", "16 bytes")

    status, said = command(fails, "10")
    all_of = said.splitlines()[-1].split()
    assert status == 0 and int(all_of[2]) > 0 and all_of[3] == "0"


@pytest.mark.parametrize("words", [["0"], ["x"], ["5", "--jobs=0"]])
def test_bad_command_line(words, capsys):
    with pytest.raises(SystemExit, match="2"):
        random_programs.parse(words)
    assert "error:" in capsys.readouterr().err
