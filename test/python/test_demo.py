# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m fa4.demo: on its example, on others, and on what it cannot run."""

import re

import pytest

from fa4 import demo

HALF = "tensor<?x?x?x?xf16>"
OTHER = f"""
func.func @other(%q: {HALF}, %k: {HALF}, %v: {HALF}) -> {HALF} {{
  %o = attn.sdpa %q, %k, %v layout<bhsd> mask<window, left = 3, top_left> scale(0.25)
    : {HALF}, {HALF}, {HALF} -> {HALF}
  return %o : {HALF}
}}
"""


def run(*arguments):
    return demo.main([str(argument) for argument in arguments])


def test_example(capsys):
    assert run("--sizes", "B=2,Sq=9,Sk=12", "--sizes", "Sq=1", "--seed", "3") == 0
    said = capsys.readouterr().out
    assert demo.EXAMPLE.read_text() in said
    assert "seed 3\nB = 2, Sq = 9, Sk = 12, Hq = 32, Hkv = 8, D = 128" in said
    pattern = r"  (\w+) .* max error \S+, allowed \S+: ok"
    assert re.findall(pattern, said) == ["out", "lse"] * 2


def test_other_form(tmp_path, capsys):
    file = tmp_path / "other.mlir"
    file.write_text(OTHER)
    assert run(file, "--sizes", "Sq=20,Sk=30,Dv=7") == 0
    assert "out (1, 8, 20, 7)" in capsys.readouterr().out


def test_too_large_an_error_fails(tmp_path, capsys, monkeypatch):
    """The example against the reference of another op."""
    found = demo.find_form
    monkeypatch.setattr(demo, "find_form", lambda text: found(text) | {"scale": 1.0})
    assert run("--sizes", "Sq=9,Sk=12") == 1
    assert re.search(r"  out: .* elements are off; .*: FAILED", capsys.readouterr().out)


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
