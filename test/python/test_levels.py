# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The way from the op to PTX: the support matrix is kept, every level can be
stopped at and gone on from, and the same input gives the same bytes."""

import functools
import os
import re
import subprocess

import pytest

from fa4_testing import gpu

ROOT = gpu.ROOT
EXAMPLES = ROOT / "docs" / "examples"
# The op in the documentation; one with a score_mod, a mask_mod and captures.
OPS = {
    "causal_gqa": (EXAMPLES / "causal_gqa.mlir").read_text(),
    "softcap": (EXAMPLES / "walkthrough.mlir").read_text(),
}


pytestmark = pytest.mark.skipif(
    not gpu.has_tools("fa4-compile"), reason="needs fa4-compile"
)


def run(*command, input=None):
    return subprocess.run(
        command, input=input, capture_output=True, text=True, timeout=300
    )


def output(*command, input=None):
    done = run(*command, input=input)
    assert done.returncode == 0, done.stderr
    return done.stdout


def compile(*options, input):
    """Returns the text that `fa4-compile -o -` prints."""
    return output(gpu.find_tool("fa4-compile"), "-", "-o", "-", *options, input=input)


def fa4_opt(*options, input):
    return output(os.environ["FA4_OPT"], *options, input=input)


# ---------------------------------------------------------------------------
# The support matrix
# ---------------------------------------------------------------------------


@functools.cache
def support():
    """(op, chip) -> the reason against it, or None; and the ops' text."""
    file = EXAMPLES / "support.mlir"
    ops = {
        name: "func.func" + text
        for text in file.read_text().split("\nfunc.func")[1:]
        for name in re.findall(r"^ @(\w+)", text)
    }
    table = fa4_opt(str(file), "--attn-print-support", "-o", os.devnull, input=None)
    rows, _, notes = table.partition("\n\n")
    reasons = dict(re.findall(r"^\((\d+)\) (.*)$", notes, re.MULTILINE))
    first, *rows = rows.splitlines()
    matrix = {}
    for name, *cells in map(str.split, rows):
        for chip, cell in zip(first.split(), cells):
            matrix[name, chip] = None if cell == "yes" else reasons[cell.strip("()")]
    return matrix, ops


def in_docs():
    """The table's rows, for the tests' names; test/docs keeps it up to date."""
    page = (ROOT / "docs" / "support-matrix.md").read_text()
    table = re.search(r"attn-print-support.*?```text\n(.*?)\n\n", page, re.DOTALL)[1]
    first, *rows = table.splitlines()
    return [(row.split()[0], chip) for row in rows for chip in first.split()]


def test_matrix_is_that_of_the_docs():
    """The support matrix of the docs must have the rows that are tested here, some with a kernel and some without."""
    matrix, ops = support()
    assert list(matrix) == in_docs()
    assert {name for name, _ in matrix} == set(ops)
    assert {reason is None for reason in matrix.values()} == {True, False}


# What inline assembly the pages speak of.
ASSEMBLY = (ROOT / "docs" / "fa4-compile.md").read_text()


@pytest.mark.parametrize("name, chip", in_docs())
def test_matrix_is_kept(name, chip, tmp_path):
    """A row of the support matrix that says yes becomes PTX for the chip; any other becomes an error on the op that is
    the reason. The PTX has only the inline assembly that the documentation lists."""
    matrix, ops = support()
    reason = matrix[name, chip]
    out = tmp_path / "out"
    command = [gpu.find_tool("fa4-compile"), "-", "-o", out, f"--chip={chip}"]
    done = run(*command, input=ops[name])
    if reason is None:
        assert done.returncode == 0, done.stderr
        # A gradient has several kernels.
        texts = [path.read_text() for path in sorted(out.glob("*.ptx"))]
        assert all(f".target {chip}\n" in text for text in texts)
        ptx = "".join(texts)
        assert re.search(rf"\.visible \.entry {name}_kernel\(", ptx)
        assembly = re.findall(r"// begin inline asm\n(.*?)// end inline asm", ptx, re.DOTALL)
        for statement in re.split(r";\s*}?|{ |\n", "".join(assembly)):
            mnemonic = re.sub(r"[.]x[0-9]+[.]", ".xN.", (statement.split() or [".reg"])[0])
            mnemonic = re.sub(r"[.]m64n[0-9]+k16[.]", ".m64nNk16.", mnemonic)
            if mnemonic not in (".reg", "{", "}"):
                assert f"`{mnemonic}`" in ASSEMBLY, f"{mnemonic} is not documented"
        return
    assert done.returncode == 1 and not done.stdout and not out.exists()
    assert re.search(r"^<stdin>:\d+:\d+: error: .*" + re.escape(reason), done.stderr, re.M)


# ---------------------------------------------------------------------------
# Levels
# ---------------------------------------------------------------------------


@functools.cache
def artefacts(op, folder, chip="sm_100a"):
    """name -> bytes of all that fa4-compile writes."""
    emit = ",".join([*gpu.levels(), "llvm", "ptx"])
    source = folder / f"{op}.mlir"
    source.write_text(OPS[op])
    out = folder / f"{op}-{chip}"
    command = [gpu.find_tool("fa4-compile"), source, "-o", out, f"--chip={chip}"]
    output(*command, f"--emit={emit}")
    return {file.name: file.read_bytes() for file in sorted(out.iterdir())}


def find(files, suffix):
    (name,) = (name for name in files if name.endswith(suffix))
    return files[name].decode()


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("levels")


def test_levels():
    """fa4-compile must list the levels from tile to nvvm."""
    assert len(gpu.levels()) >= 11
    assert gpu.levels()[0] == "tile" and gpu.levels()[-1] == "nvvm"


@pytest.mark.parametrize("chip", ["sm_100a", "sm_103a"])
@pytest.mark.parametrize("op", OPS)
def test_same_input_same_bytes(op, chip, folder, tmp_path):
    """An op is compiled twice: all files of all levels must have the same bytes."""
    first = artefacts(op, folder, chip)
    assert len(first) == len(gpu.levels()) + 3
    again = artefacts.__wrapped__(op, tmp_path, chip)
    assert first == again


@pytest.mark.parametrize("op", OPS)
@pytest.mark.xdist_group("levels")
def test_every_level_goes_on_to_the_same_ptx(op, folder):
    """A compilation goes on from each level's file: it must end in the PTX of the whole compilation."""
    files = artefacts(op, folder)
    ptx = find(files, ".ptx")
    for level in gpu.levels():
        text = find(files, f".{level}.mlir")
        assert compile(f"--from={level}", input=text) == ptx, level


@pytest.mark.parametrize("op", OPS)
@pytest.mark.xdist_group("levels")
def test_pass_by_pass(op, folder):
    """fa4-opt, run once for each level, prints the files that fa4-compile writes, and ends in the same PTX."""
    files = artefacts(op, folder)
    text, start = OPS[op], ""
    for level in gpu.levels():
        text = fa4_opt(f"--attn-to-nvvm={start}to={level}", input=text)
        assert text.strip() == find(files, f".{level}.mlir").strip(), level
        start = f"from={level} "
    assert compile(input=text) == find(files, ".ptx")


@pytest.mark.parametrize("op", OPS)
@pytest.mark.xdist_group("levels")
def test_levels_are_passes(op, folder):
    """fa4-opt with the passes of a level, by name, turns the file of the level before into the file of this level."""
    files = artefacts(op, folder)
    before = OPS[op]
    for level in gpu.levels():
        after = find(files, f".{level}.mlir")
        steps = {
            "tile": "attn-to-tile,canonicalize,cse",
            "nvvm": "tile-to-nvvm,convert-nvvm-to-llvm,reconcile-unrealized-casts",
        }.get(level, f"tile.kernel(tile-{level})")
        text = fa4_opt(f"--pass-pipeline=builtin.module({steps})", input=before)
        assert text.strip() == after.strip(), level
        before = after


def test_past_a_level(folder):
    """A file of a later level is given for an earlier one, or without its level: fa4-compile must refuse it and say
    why."""
    text = find(artefacts("causal_gqa", folder), ".schedule.mlir")
    command = [gpu.find_tool("fa4-compile"), "-", "-o", "-"]
    done = run(*command, "--from=schedule", "--emit=tile", input=text)
    assert done.returncode == 1
    assert "error: is past the level 'tile', which --emit asks for" in done.stderr
    done = run(*command, input=text)
    assert done.returncode == 1 and "has roles already; --from=LEVEL" in done.stderr
