# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m fa4.demo: on its example, on others, and on what it cannot run."""

import re

import pytest

from fa4 import demo, gpu

HALF = "tensor<?x?x?x?xf16>"
OTHER = f"""
func.func @other(%q: {HALF}, %k: {HALF}, %v: {HALF}) -> {HALF} {{
  %o = attn.sdpa %q, %k, %v layout<bhsd> mask<window, left = 3, top_left> scale(0.25)
    : {HALF}, {HALF}, {HALF} -> {HALF}
  return %o : {HALF}
}}
"""


needs_tools = pytest.mark.skipif(
    not gpu.has_tools("fa4-compile", "fa4-sim"), reason="needs fa4-compile and fa4-sim"
)


def sections(said):
    """What the demo has said under each heading."""
    return re.split(r"^== .* ==$", said, flags=re.MULTILINE)[1:]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Where the kernel goes: not where another test's does."""
    monkeypatch.setattr(demo, "FOLDER", tmp_path / "kernel")
    return tmp_path / "kernel"


def run(*arguments):
    return demo.main([str(argument) for argument in arguments])


# A result that is within what is allowed.
GOOD = r"  (\w+) .* max error \S+, allowed \S+: ok"


@needs_tools
def test_example(capsys, folder):
    assert run("--sizes", "B=2,Sq=9,Sk=12", "--sizes", "Sq=1", "--seed", "3") == 0
    op, decided, simulated, on_cpu = sections(capsys.readouterr().out)
    assert demo.EXAMPLE.read_text() in op
    tables = ("schedule of @", "roofline of @", ": shared memory", ": tensor memory")
    places = [decided.index(table) for table in tables]
    assert places == sorted(places)
    assert re.search(r"op to PTX for sm_100a in \d+\.\d+ s", decided)
    assert "causal_gqa_kernel.schedule.mlir" in decided
    assert (folder / "causal_gqa_kernel.ptx").exists()
    for part in (simulated, on_cpu):
        assert "B = 2, Sq = 9, Sk = 12, Hq = 32, Hkv = 8, D = 128" in part
        assert re.findall(GOOD, part) == ["out", "lse"] * 2
    assert simulated.count("no race, no missing fence, no hang") == 2
    assert "Seed 3\nall results are within it\n" in on_cpu


@needs_tools
def test_finding_fails(capsys, monkeypatch):
    """A kernel that signals before it has written is found out."""

    def compile(*arguments):
        kernel = real(*arguments)
        text = kernel.ptx.read_text()
        kernel.ptx.write_text(re.sub(r"\n\ttcgen05\.wait::st\S*;", "", text))
        assert kernel.ptx.read_text() != text
        return kernel

    real = demo.gpu.compile
    monkeypatch.setattr(demo.gpu, "compile", compile)
    assert run("--sizes", "Sq=9,Sk=12") == 1
    _, _, simulated, on_cpu = sections(capsys.readouterr().out)
    assert re.search(r"^  seed \d+: \[.*: FAILED", simulated, re.DOTALL | re.MULTILINE)
    assert re.findall(GOOD, on_cpu) == ["out", "lse"]
    assert on_cpu.endswith("FAILED: see above\n")


def test_other_form(tmp_path, capsys):
    file = tmp_path / "other.mlir"
    file.write_text(OTHER)
    assert run(file, "--sizes", "Sq=20,Sk=30,Dv=7") == 0
    said = capsys.readouterr().out
    assert "no GPU kernel for this op" in said
    assert "out (1, 8, 20, 7)" in said


@needs_tools
def test_too_large_an_error_fails(tmp_path, capsys, monkeypatch):
    """The example against the reference of another op."""
    found = demo.find_form
    monkeypatch.setattr(demo, "find_form", lambda text: found(text) | {"scale": 1.0})
    assert run("--sizes", "Sq=9,Sk=12") == 1
    _, _, simulated, on_cpu = sections(capsys.readouterr().out)
    for part in (simulated, on_cpu):
        assert re.search(r"  out: .* elements are off; .*: FAILED", part)


@pytest.mark.parametrize("text, message", [
    ("func.func @f() {\n  return\n}", "needs exactly one attn.sdpa, without regions"),
    (OTHER + OTHER.replace("@other", "@another"),
     "needs exactly one attn.sdpa, without regions"),
    (OTHER.replace("scale(0.25)", f"outs(%v : {HALF})"), "make up operands for outs"),
    (OTHER.replace("%v: ", "%x: f32, %v: "), "the function must take q, k, v and return"),
    ("func.func @f(", r"fa4-opt: .*text.mlir:1:.*error: "),
])  # fmt: skip
def test_what_it_cannot_run(text, message, tmp_path, capsys):
    file = tmp_path / "text.mlir"
    file.write_text(text)
    assert run(file) == 1
    said = capsys.readouterr().err
    assert re.search(rf"^fa4.demo: {file}: .*{message}", said) and said.count("\n") < 6


def test_bad_command_lines(tmp_path, capsys):
    assert run(tmp_path / "absent.mlir") == 1
    assert capsys.readouterr().err.endswith("absent.mlir: No such file or directory\n")
    assert run("--fa4-opt", "/no/where") == 1
    assert "fa4-opt not found at /no/where" in capsys.readouterr().err
    for sizes in ("B=x", "B", "Q=3", "B=1,,Sq=2", ""):
        with pytest.raises(SystemExit, match="2"):
            run("--sizes", sizes)
        assert "expected NAME=N,... of B, Sq" in capsys.readouterr().err
