# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/random-programs: what the generator draws, that a run finds what is wrong, and that it makes it smaller."""

import subprocess

import numpy as np
import pytest

from fa4_testing import gpu
from fa4_testing.programs import flaws, mods, random_programs, shrink
from fa4_testing.programs.gradient import Gradient
from fa4_testing.programs.mods import I, J, S, capture, f32, i32, index
from fa4_testing.programs.program import Failed, Program, Sizes
from fa4.reference import Mask


needs_tools = pytest.mark.skipif(
    not gpu.has_tools("fa4-sim", "fa4-compile"),
    reason="needs fa4-compile and fa4-sim",
)


def test_programs_repeat_and_differ():
    """Programs of the same seed and numbers must be the same, those of other numbers different in each field."""
    first = [random_programs.make(3, n) for n in range(60)]
    assert first == [random_programs.make(3, n) for n in range(60)]
    assert len({repr(program) for program, _ in first}) == 60
    made = [program for program, flaw in first if not flaw]
    for field in ("head_dim", "dtype", "layout", "kind", "lse", "chip", "mask", "scale"):
        assert len({getattr(program, field) for program in made}) > 1, field
    assert any(flaw for _, flaw in first)


def tiles(program):
    """The number of work tiles along the axis of a pair."""
    is_gradient = isinstance(program, Gradient)
    return -(-(program.sizes.sk if is_gradient else program.sizes.sq) // (128 if is_gradient else 256))


@pytest.mark.parametrize("gradient", [False, True], ids=["forward", "gradient"])
def test_pairs_are_drawn(gradient):
    """Programs of CTA pairs are drawn: they must have all schedules and head dims, several numbers of work tiles, and
    each feature."""
    made = [random_programs.make(3, n, gradient, pairs=True) for n in range(300)]
    assert all("--pairs=on" in program.options for program, _ in made)
    legal = [program for program, flaw in made if not flaw]
    assert {tiles(program) for program in legal} >= {1, 2, 3, 4}
    for option in (f"--schedule={schedule}" for schedule in gpu.SCHEDULES):
        assert any(option in program.options for program in legal), option
    assert {program.head_dim for program in legal} >= {32, 64, 96, 128, 192, 256}
    assert any(program.head_dim_v == 128 for program in legal if program.head_dim == 192)
    if gradient:
        assert {flaw for _, flaw in made} == {None, *flaws.REFUSALS}
        # Without what may leave a form nothing to refuse.
        assert not any(program.static or program.score or program.visible for program, flaw in made if flaw)
        assert all(any(program.deterministic == chosen for program in legal) for chosen in (False, True))
    for features in (lambda p: p.mask and p.mask.right and p.mask.right < -100, lambda p: p.static, lambda p: p.captures, lambda p: p.sizes.group > 1):
        assert any(features(program) for program in legal)
    # Some of the others are pairs, too, or are told that they shall not be.
    others = [program.options for program, _ in (random_programs.make(3, n, gradient) for n in range(200))]
    for option in ("--pairs=on", "--pairs=off", "--pairs=auto"):
        assert 0 < sum(option in options for options in others) < 100


def test_gradients_of_captures_are_drawn():
    """Programs with gradients of captures are drawn, for scalars and for vectors with a number for each query head. A
    smaller program keeps whole vectors."""
    made = [program for program, _ in (random_programs.make(3, n, gradient=True) for n in range(200))]
    asked = [program for program in made if program.wrt]
    assert asked and all(program.captures[n][0] in ("f32", "memref<?xf32>") for program in asked for n in program.wrt)
    with_vectors = [program for program in made if any(isinstance(value, tuple) for _, value in program.captures)]
    assert with_vectors and any(program.wrt == () for program in made if program.captures)
    for program in [*with_vectors, *(small for large in with_vectors for small in shrink.smaller(large))]:
        assert all(len(value) == program.sizes.hq for _, value in program.captures if isinstance(value, tuple))
        assert not program.wrt or (program.score is not None and max(program.wrt) < len(program.captures))


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
    """An expression of constants is evaluated: the value must be what MLIR's semantics of the operation say."""
    assert (values(expression) == value).all()


def test_meaning_of_positions():
    """Expressions of positions are evaluated: each element must have the value for its row and column."""
    assert (values(("arith.subi", I, J)) == np.subtract.outer(np.arange(7), np.arange(5))).all()
    row = values(("select", ("cmpi", "sge", I, index(3)), I, index(0)))
    assert (row[:, 0] == [0, 0, 0, 3, 4, 5, 6]).all()


def test_shrinking(monkeypatch, tmp_path):
    """A failing program shrinks to what the failure needs: here a window, and tanh."""

    def fails(program, folder, **_):
        if program.mask and program.mask.left and "tanh" in repr(program.score):
            raise Failed("compare", "off")

    monkeypatch.setattr(shrink, "run", fails)
    big = Program(
        head_dim=128, mask=Mask("top_left", 5, 7), sizes=Sizes(2, 100, 200, 2, 3), lse=False,
        score=("arith.addf", ("math.absf", S), ("math.tanh", ("arith.mulf", S, f32(2)))),
        visible=("cmpi", "slt", I, J), options=("--exp-fraction=0",), captures=(("f32", 2.0),),
    )  # fmt: skip
    small = shrink.shrink(shrink.Failure(big, None, "compare"), tmp_path, 60)
    expected = Program(mask=big.mask, score=("math.tanh", S), sizes=Sizes(1, 1, 1))
    assert small == expected


def row(group, said):
    """Of the table."""
    line = next(line for line in said.splitlines() if line.startswith(f"{group} "))
    return line.removeprefix(group).split()


@pytest.mark.parametrize("message, kind", [
    ("compare: out: 3 of 4 differ", "compare"),
    ("compile: /tmp/op.mlir:2:3: error: 'attn.sdpa' op takes 3 rows\nnote: x", "compile: error: _ op takes _ rows"),
    ("simulate: seed 0: [race] two write %r7", "simulate: [race]"),
    ("simulate: no result after 300 s", "simulate"),
    ("exit status -11: PLEASE", "exit status -11"), ("2 errors:\nx: error: y", "2 errors"), ("accepted", "accepted"),
])  # fmt: skip
def test_kinds_of_failures(message, kind):
    """A failure's message is given: failures whose messages differ only in names and numbers must be of one kind."""
    assert shrink.Failure.kind_of(message) == kind


def test_shrinking_keeps_used_captures(monkeypatch, tmp_path):
    """A failing program uses two of its three captures: the smallest program must keep these two only."""

    def fails(program, folder, **_):
        if ("capture", "i32") in [e[::2] for e in leaves(program.visible)]:
            raise Failed("simulate", "off")

    def leaves(e):
        return [e] if not any(isinstance(x, tuple) for x in e or ()) else sum(map(leaves, e[2:]), [])

    monkeypatch.setattr(shrink, "run", fails)
    visible = ("cmpi", "slt", capture(2, "i32"), capture(0, "i32"))
    big = Program(visible=visible, captures=(("i32", 1), ("f32", 2.0), ("i32", 3)))
    small = shrink.shrink(shrink.Failure(big, None, "simulate"), tmp_path, 60)
    assert small == Program(
        visible=("cmpi", "slt", capture(1, "i32"), capture(0, "i32")),
        captures=(("i32", 1), ("i32", 3)), sizes=Sizes(1, 1, 1),
    )  # fmt: skip


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
        monkeypatch.setattr(shrink, "run", run_one)
        monkeypatch.setattr(random_programs, "reduce", lambda failure, small, text, *_: text)
        monkeypatch.setattr(random_programs, "check_flaw", lambda program, flaw: None)
        status = random_programs.main([*words, "--jobs=2"])
        return status, capsys.readouterr().out

    return run


def test_command(command):
    """No program fails: the command must succeed and count verified and nearly legal programs."""
    status, said = command(lambda program: None, "30")
    assert status == 0 and row("all", said) == ["30", "0", "0"]
    flawed, refused = (int(row(group, said)[0]) if group in said else 0 for group in ("nearly legal", "no such pairs"))
    assert 3 < flawed < 15
    assert f"nearly legal: {flawed} ({flawed / (30 - refused):.0%}), with " in said
    legal = 30 - refused - flawed
    assert f"verified: {legal} of {legal} kernels; findings in 0 of these" in said


def test_command_tells_findings_in_verified_kernels(command):
    """Some programs fail in the verifier, others in the simulator: only the latter are findings in verified kernels."""

    def fails(program):
        raise Failed("verify" if program.head_dim == 64 else "simulate", "a race")

    _, said = command(fails, "12", "--shrink=0")
    made = [program for program, flaw in (random_programs.make(0, n) for n in range(12)) if not flaw]
    other = sum(program.head_dim != 64 for program in made)
    assert 0 < other < len(made)
    assert f"verified: {other} of {len(made)} kernels; findings in {other} of these" in said


def test_command_keeps_failures(command, tmp_path):
    """Programs of head dim 96 fail: the command must report them and keep the smallest failing program."""

    def fails(program):
        if program.head_dim == 96:
            raise Failed("simulate", "seed 0: [race] two")

    status, said = command(fails, "30", "--shrink=5")
    assert status == 1 and "simulate: seed 0: [race] two" in said
    kept = sorted((tmp_path / "build" / "random-programs").glob("failure-0-*"))
    assert kept
    small = eval((kept[0] / "small.txt").read_text())  # noqa: S307 - our own text
    assert small == Program(head_dim=96, sizes=Sizes(1, 1, 1))
    assert "memref<?x?x?x96xbf16>" in (kept[0] / "small.mlir").read_text()


def test_command_counts_spills(command):
    """Programs spill registers: the command must count the spills and still succeed."""

    def fails(program):
        raise Failed("spills", "16 bytes")

    status, said = command(fails, "10")
    _, spilled, failed = row("all", said)
    assert status == 0 and int(spilled) > 0 and failed == "0"


@pytest.mark.parametrize("words", [["0"], ["x"], ["5", "--jobs=0"]])
def test_bad_command_line(words, capsys):
    """A command line is wrong: the command must exit with status 2 and print an error."""
    with pytest.raises(SystemExit, match="2"):
        random_programs.parse(words)
    assert "error:" in capsys.readouterr().err


# ---------------------------------------------------------------------------
# From a fault in a tool to a file that shows it
# ---------------------------------------------------------------------------


@pytest.fixture
def faulty(tmp_path, monkeypatch):
    """Puts a script in a tool's place, which first runs `fault` on its first
    argument's file."""

    def install(tool, fault):
        real = gpu.find_tool(tool)
        script = tmp_path / f"faulty-{tool}"
        script.write_text(f'#!/bin/sh\n{fault}\nexec "{real}" "$@"\n')
        script.chmod(0o755)
        monkeypatch.setenv(tool.replace("-", "_").upper(), str(script))

    monkeypatch.setattr(gpu, "find_ptxas", lambda: None)
    return install


needs_reduce = pytest.mark.skipif(not gpu.has_tools("fa4-reduce"), reason="needs fa4-reduce")


def first(wanted):
    """The number of the first program that is."""
    for number in range(1000):
        program, flaw = random_programs.make(5, number)
        if wanted(program, flaw):
            return number
    raise AssertionError("there is none")


def run_one(number, tmp_path):
    options = random_programs.parse(["1", "--seed=5", "--shrink=120"])
    result = random_programs.run_number(5, number, tmp_path / "run", ptxas=False)
    assert result.error
    place = random_programs.save(result, options, tmp_path / "kept")
    return result, place


@needs_tools
@needs_reduce
def test_fault_of_the_compiler(faulty, tmp_path):
    """A stand-in for the compiler fails at a tanh in a score_mod on memrefs, and with another message at everything
    else. The program must shrink to the tanh, and its kept file must show the fault by itself."""
    faulty("fa4-compile", "grep -q math.tanh \"$1\" && grep -q memref \"$1\" && { echo error: injected >&2; exit 1; }\n"
           "echo error: other >&2; exit 1")
    number = first(lambda p, flaw: not flaw and "tanh" in repr(p.score) and p.kind == "memref" and p.mask and p.captures)
    result, place = run_one(number, tmp_path)
    assert result.error == "compile: error: injected" and not result.verified
    assert eval((place / "small.txt").read_text()) == Program(  # noqa: S307 - our own text
        score=("math.tanh", S), sizes=Sizes(1, 1, 1, 1, 1)
    )
    text = (place / "small.mlir").read_text()
    assert "math.tanh" in text and "mask" not in text and "captures" not in text
    # What is kept shows the fault by itself.
    command = [gpu.find_tool("fa4-compile"), place / "small.mlir", "-o", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr == "error: injected\n"


@pytest.mark.many
@needs_tools
@needs_reduce
def test_fault_in_a_diagnostic(faulty, tmp_path):
    """A stand-in for the compiler crashes where it should refuse a sine. fa4-reduce must shrink the text of the
    flaw."""
    faulty("fa4-compile", "grep -q math.sin \"$1\" && kill -SEGV $$")
    number = first(lambda p, flaw: flaw == "sine" and p.mask and p.head_dim == 128)
    result, place = run_one(number, tmp_path)
    assert result.error.startswith("exit status -11")
    text = (place / "small.mlir").read_text()
    assert "math.sin" in text and "mask" not in text and "x64x" in text


@pytest.mark.many
@needs_tools
@needs_reduce
def test_fault_of_the_simulator(faulty, tmp_path):
    """A stand-in for the simulator has a finding if there is more than one batch: the program must shrink to two
    batches."""
    faulty("fa4-sim", 'case "$*" in *" B=1 "*) ;; *" B="*) echo "[race] injected" >&2; exit 1;; esac')
    number = first(lambda p, flaw: not flaw and p.sizes.b == 3 and "B" not in p.static and p.score)
    result, place = run_one(number, tmp_path)
    assert result.error == "simulate: [race] injected" and result.verified
    small = eval((place / "small.txt").read_text())  # noqa: S307 - our own text
    assert small == Program(sizes=Sizes(2, 1, 1, 1, 1))
