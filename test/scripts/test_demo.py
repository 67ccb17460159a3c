# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m fa4_testing.demo: on its examples, on others, and on what it cannot run."""

import re

import pytest

from fa4_testing import demo, gpu

HALF = "tensor<?x?x?x?xf16>"
OTHER = f"""
func.func @other(%q: {HALF}, %k: {HALF}, %v: {HALF}) -> {HALF} {{
  %o = attn.sdpa %q, %k, %v layout<bhsd> mask<window, left = 3, top_left> scale(0.25)
    : {HALF}, {HALF}, {HALF} -> {HALF}
  return %o : {HALF}
}}
"""


FORWARD, STEP = demo.EXAMPLES
needs_tools = pytest.mark.skipif(
    not gpu.has_tools("fa4-compile", "fa4-sim"), reason="needs fa4-compile and fa4-sim"
)


def sections(said):
    """Returns the text that the demo has printed under each heading."""
    return re.split(r"^== .* ==$", said, flags=re.MULTILINE)[1:]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Where the kernels go: not where another test's do."""
    monkeypatch.setattr(demo, "FOLDER", tmp_path / "kernel")
    return tmp_path / "kernel"


def run(*arguments):
    return demo.main([str(argument) for argument in arguments])


@pytest.fixture
def small(tmp_path, monkeypatch):
    """An example with an eighth of its heads, and no ptxas: for what a test of the demo's
    checks needs, which are the same for all heads."""

    def write(file):
        text = file.read_text()
        of_example = {FORWARD: {32: 4, 8: 1}, STEP: {2: 1, 8: 2}}[file]
        text = re.sub(r"x(\d+)x(?=128x|\?x)", lambda match: f"x{of_example[int(match[1])]}x", text)
        path = tmp_path / file.name
        path.write_text(text)
        return path

    monkeypatch.setattr(demo.gpu, "find_ptxas", lambda: None)
    return write


# A result that is within what is allowed.
GOOD = r"  (\w+) .* max error \S+, allowed \S+: ok"


@needs_tools
def test_example(capsys, folder):
    """The demo runs the forward example: it must print the op, the compiler's decisions, and right results of simulator
    and CPU."""
    assert run(FORWARD, "--sizes", "B=1,Sq=9,Sk=12", "--sizes", "Sq=1", "--seed", "3") == 0
    op, decided, simulated, on_cpu = sections(capsys.readouterr().out)
    assert FORWARD.read_text() in op
    tables = ("schedule of @", "roofline of @", ": shared memory", ": tensor memory")
    places = [decided.index(table) for table in tables]
    assert places == sorted(places)
    assert re.search(r"op to PTX for sm_100a in \d+\.\d+ s", decided)
    assert "causal_gqa_kernel.schedule.mlir" in decided
    assert (folder / "causal_gqa" / "causal_gqa_kernel.ptx").exists()
    for part in (simulated, on_cpu):
        assert "B = 1, Sq = 9, Sk = 12, Hq = 32, Hkv = 8, D = 128" in part
        assert re.findall(GOOD, part) == ["out", "lse"] * 2
    assert simulated.count("no race, no missing fence, no hang") == 2
    assert "Seed 3\nall results are within it\n" in on_cpu


@needs_tools
def test_training_step(capsys, folder):
    """A training step has one manifest of four launches: the demo must compare all of its results with the
    reference."""
    assert run(STEP, "--sizes", "B=2,Sq=9,Sk=12") == 0
    _, decided, simulated, on_cpu = sections(capsys.readouterr().out)
    assert "launches of training_step.json, in order:" in decided
    launches = re.findall(r"^  (\d)  training_step_(\w+), grid ", decided, re.MULTILINE)
    assert launches == [("0", "kernel"), ("1", "preprocess_kernel"), ("2", "kernel_0"), ("3", "postprocess_kernel")]
    assert re.search(r"^  lse        f32 \[B, 8, Sq\]$", decided, re.MULTILINE)
    assert (folder / "training_step" / "training_step.json").exists()
    for part in (simulated, on_cpu):
        assert "B = 2, Sq = 9, Sk = 12, Hq = 8, Hkv = 2, D = 128" in part
        assert re.findall(GOOD, part) == ["out", "dq", "dk", "dv"]


def test_all_examples_by_default(monkeypatch):
    """No file is given: the demo must run all examples and fail if one of them fails."""
    files = []
    monkeypatch.setattr(demo, "run_file", lambda file, options, rng: files.append(file) or file != FORWARD)
    assert run() == 1 and files == [FORWARD, STEP]
    assert run(STEP) == 0


@needs_tools
def test_finding_fails(small, capsys, monkeypatch):
    """A kernel is changed so that it signals before it has written: the demo must report the finding and fail."""

    def compile(*arguments, **options):
        kernel = real(*arguments, **options)
        text = kernel.ptx.read_text()
        kernel.ptx.write_text(re.sub(r"\n\ttcgen05\.wait::st\S*;", "", text))
        assert kernel.ptx.read_text() != text
        return kernel

    real = demo.gpu.compile
    monkeypatch.setattr(demo.gpu, "compile", compile)
    assert run(small(FORWARD), "--sizes", "Sq=9,Sk=12") == 1
    _, _, simulated, on_cpu = sections(capsys.readouterr().out)
    assert re.search(r"^  seed \d+: \[.*: FAILED", simulated, re.DOTALL | re.MULTILINE)
    assert re.findall(GOOD, on_cpu) == ["out", "lse"]
    assert on_cpu.endswith("FAILED: see above\n")


def test_other_form(tmp_path, capsys):
    """The op has no GPU kernel: the demo must say so and check its results on the CPU."""
    file = tmp_path / "other.mlir"
    file.write_text(OTHER)
    assert run(file, "--sizes", "Sq=20,Sk=30,Dv=7") == 0
    said = capsys.readouterr().out
    assert "no GPU kernel for this op" in said
    assert "out (1, 8, 20, 7)" in said


@needs_tools
@pytest.mark.parametrize("file, names", [(FORWARD, ("out", "lse")), (STEP, ("out", "dq", "dk", "dv"))], ids=["forward", "step"])
def test_too_large_an_error_fails(file, names, small, capsys, monkeypatch):
    """The examples are compared with the reference of ops with another scale: the demo must fail."""
    found = demo.find_form
    monkeypatch.setattr(demo, "find_form", lambda clauses: found(clauses) | {"scale": 1.0})
    assert run(small(file), "--sizes", "Sq=9,Sk=12") == 1
    _, _, simulated, on_cpu = sections(capsys.readouterr().out)
    for part in (simulated, on_cpu):
        assert re.findall(r"^  (\w+): .* elements are off; .*: FAILED", part, re.MULTILINE) == list(names)


KINDS = "needs exactly one attn.sdpa, at most one attn.sdpa_backward behind it, and no regions"


@pytest.mark.parametrize("text, message", [
    ("func.func @f() {\n  return\n}", KINDS),
    (OTHER + OTHER.replace("@other", "@another"), KINDS),
    (STEP.read_text().replace("layout<bshd> mask<causal, bottom_right>\n    : tensor<?x?x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>,",
                              "layout<bshd>\n    : tensor<?x?x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>,"),
     "the layout, mask and scale of attn.sdpa_backward must be those of attn.sdpa"),
    (STEP.read_text().replace("return %out, %dq, ", "return ").replace("-> (tensor<?x?x8x128xbf16>, tensor<?x?x8x128xbf16>,\n", "-> (")
     .replace("%dv : tensor<?x?x8x128xbf16>, tensor<?x?x8x128xbf16>,", "%dv :"),
     "the function must take q, k, v, dout and return out, dq, dk, dv or out, lse, dq, dk, dv"),
    (OTHER.replace("scale(0.25)", f"outs(%v : {HALF})"), "make up operands for outs"),
    (OTHER.replace("%v: ", "%x: f32, %v: "), "the function must take q, k, v and return out or out, lse"),
    ("func.func @f(", r"fa4-opt: .*text.mlir:1:.*error: "),
], ids=["none", "two", "another mask", "results", "outs", "arguments", "syntax"])  # fmt: skip
def test_what_it_cannot_run(text, message, tmp_path, capsys):
    """The file is not what the demo can run: the demo must fail and give the reason in a few lines."""
    file = tmp_path / "text.mlir"
    file.write_text(text)
    assert run(file) == 1
    said = capsys.readouterr().err
    assert re.search(rf"^fa4_testing.demo: {file}: .*{message}", said) and said.count("\n") < 6


def test_bad_command_lines(tmp_path, capsys):
    """A file, a tool or a size on the command line is wrong: the demo must refuse it and say why."""
    assert run(tmp_path / "absent.mlir") == 1
    assert capsys.readouterr().err.endswith("absent.mlir: No such file or directory\n")
    assert run("--fa4-opt", "/no/where") == 1
    assert "fa4-opt not found at /no/where" in capsys.readouterr().err
    for sizes in ("B=x", "B", "Q=3", "B=1,,Sq=2", ""):
        with pytest.raises(SystemExit, match="2"):
            run("--sizes", sizes)
        assert "expected NAME=N,... of B, Sq" in capsys.readouterr().err
