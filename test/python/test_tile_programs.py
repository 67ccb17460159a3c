# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small tile programs that the verifier accepts: each reaches PTX, or a pass
refuses it in words, on the operation that is the reason."""

import re
import subprocess

import numpy as np
import pytest

from fa4_testing import gpu
from fa4_testing.programs import tile_programs

pytestmark = pytest.mark.skipif(
    not gpu.has_tools("fa4-compile"), reason="needs fa4-compile"
)

KERNEL = """tile.kernel @k({arguments})
    attributes {{chip = "sm_100a", grid = [#tile.extent<"M" by 128>]}} {{
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %r = arith.muli %i, %c128 : index
  {body}
}}
"""
# The tiles do not cover all columns of the outputs.
MATRICES = """%x: memref<?x?x{e}> {{tile.name = "x", tile.dims = ["M", "N"]}},
               %y: memref<?x?x{e}> {{tile.name = "y", tile.dims = ["M", "N"], tile.output = "partial"}}"""
VECTORS = """%v: memref<?x{e}> {{tile.name = "v", tile.dims = ["M"]}},
               %w: memref<?x{e}> {{tile.name = "w", tile.dims = ["M"], tile.output = "partial"}}"""
MATRIX = """%t = tile.load %x[%r, %c0] : memref<?x?x{e}> -> vector<{s}x{e}>
  {work}
  tile.{op} %{u}, %y[%r, %c0] : vector<{s}x{e}>, memref<?x?x{e}>"""
ROWS = """%t = tile.load %v[%r] : memref<?x{e}> -> vector<128x{e}>
  {work}
  tile.{op} %{u}, %w[%r] : vector<128x{e}>, memref<?x{e}>"""


def matrix(element, work="", op="store", shape="128x64"):
    name = "u" if work else "t"
    work = work.format(v=f"vector<{shape}x{element}>")
    return KERNEL.format(
        arguments=MATRICES.format(e=element),
        body=MATRIX.format(e=element, s=shape, work=work, op=op, u=name),
    )


def rows(element, work="", op="store"):
    name = "u" if work else "t"
    work = work.format(v=f"vector<128x{element}>")
    return KERNEL.format(
        arguments=VECTORS.format(e=element),
        body=ROWS.format(e=element, work=work, op=op, u=name),
    )


def unary(name):
    return "%u = " + name + " %t : {v}"


def binary(name):
    return "%u = " + name + " %t, %t : {v}"


SIZES = "has elements of {} bits; elements of 16 and 32 bits are supported"
NO_MATH = "is not supported in a kernel: threads have no instructions for it"
# Name -> program, and the error; none where it compiles.
PROGRAMS = {f"copy-{e}": (matrix(e), None) for e in ("bf16", "f16", "f32", "i16", "i32")}
PROGRAMS |= {f"copy-{e}": (matrix(e), SIZES.format(b)) for e, b in (("f64", 64), ("f8E4M3FN", 8), ("i8", 8), ("i64", 64))}
PROGRAMS |= {f"add-{e}": (matrix(e, op="reduce_add"), None) for e in ("bf16", "f16", "f32")}
PROGRAMS |= {f"rows-{e}": (rows(e, binary("arith.addf")), None) for e in ("bf16", "f16", "f32")}
PROGRAMS |= {
    "rows-i32": (rows("i32", binary("arith.addi")), None),
    "rows-i8": (rows("i8", binary("arith.addi")), "gives one 'i8' a row; a thread reads rows of f32, bf16, f16 or i32"),
    "rows-add": (
        rows("f32", binary("arith.addf"), op="reduce_add"),
        "'tile.reduce_add' op is not supported on tiles held by the threads of role 'compute0'",
    ),
    "transpose": (
        matrix("f32", "%u = vector.transpose %t, [1, 0] : {v} to {v}", shape="128x128"),
        "'vector.transpose' op is not supported on tiles held by the threads of role 'compute0'",
    ),
    "few-rows": (matrix("f32", binary("arith.addf"), shape="64x64"), "in a role whose threads hold 128 rows"),
    "odd-columns": (matrix("f32", binary("arith.addf"), shape="128x13"), "not an even number of columns"),
    "tanh": (matrix("f32", unary("math.tanh")), None),
    "exp": (matrix("f32", unary("math.exp")), None),
    "sin": (matrix("f32", unary("math.sin")), None),
    "tan": (matrix("f32", unary("math.tan")), "'math.tan' op " + NO_MATH),
    "erf": (matrix("f32", unary("math.erf")), "'math.erf' op " + NO_MATH),
    "pow": (matrix("f32", binary("math.powf")), "'math.powf' op " + NO_MATH),
    "constant": (
        KERNEL.format(
            arguments=MATRICES.format(e="f32"),
            body="%t = arith.constant dense<1.0> : vector<128x64xf32>\n"
            "  tile.store %t, %y[%r, %c0] : vector<128x64xf32>, memref<?x?xf32>",
        ),
        None,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    """A tile program that the verifier accepts must reach PTX, or be refused by the pass and at the operation that is
    known."""
    text, error = PROGRAMS[name]
    done = subprocess.run(
        [gpu.find_tool("fa4-compile"), "-", "-o", "-"], input=text, capture_output=True, text=True, timeout=60
    )
    if error is None:
        assert done.returncode == 0, done.stderr
        assert ".visible .entry k" in done.stdout
        return
    assert done.returncode == 1
    assert error in done.stderr
    assert done.stderr.count("error:") == 1
    # Not where the kernel begins: the line of the operation, or of the tile that it is about.
    assert int(done.stderr.split(":")[1]) > 7, done.stderr


# Of bench/tile-programs: each head dim with whole and with part full blocks, fewer queries or keys than a block, and two heads.
GRADIENTS = [p for p in tile_programs.gradients() if not p.name.endswith(("128x128", "520x7", "384x256"))]


@pytest.mark.skipif(not gpu.has_tools("fa4-sim"), reason="needs fa4-sim")
@pytest.mark.parametrize("program", [pytest.param(p, id=p.name) for p in GRADIENTS])
def test_gradient(program, tmp_path):
    """A gradient that is written as a tile program must be right under three seeds."""
    program.check(program.simulate(program.compile(tmp_path), (0, 2)))


# Of bench/tile-programs: the batch with each kind of length, with one tile a CTA and with several; no keys at all; numbers
# that a host should not give.
BATCHES = [p for p in tile_programs.packed_batches() if p.name in ("packed-grid", "packed-out-of-bounds", "varlen-grid", "varlen-clc")]


@pytest.mark.skipif(not gpu.has_tools("fa4-sim"), reason="needs fa4-sim")
@pytest.mark.parametrize("program", [pytest.param(p, id=p.name) for p in [*BATCHES, tile_programs.scalars()]])
def test_numbers_from_memory(program, tmp_path):
    """A tile program reads sizes and offsets from memory: its results must be right under two seeds."""
    program.check(program.simulate(program.compile(tmp_path), (0, 1)))


@pytest.mark.skipif(not gpu.has_tools("fa4-sim"), reason="needs fa4-sim")
def test_rows_of_the_next_sequence(tmp_path):
    """The `to` of stores is taken out, so that a store overwrites the rows of the next sequence: the check must find
    that."""
    program = tile_programs.varlen("varlen", ((100, 130), (60, 70)))
    text = re.sub(r" to\(%\w+\)", "", program.text)
    assert text != program.text
    kernel = gpu.compile(text, tmp_path, program.chip, options=["--from=tile"])
    with pytest.raises((AssertionError, gpu.SimulationError)):
        program.check(program.simulate(kernel, (0, 1)))


UP_TO = KERNEL.format(
    arguments='%end: index {tile.name = "end"}, ' + MATRICES.format(e="bf16"),
    body="""%t = tile.load %x[%r, %c0] : memref<?x?xbf16> -> vector<128x64xbf16>
  tile.store %t, %y[%r, %c0] to(%end) : vector<128x64xbf16>, memref<?x?xbf16>""",
)


@pytest.mark.skipif(not gpu.has_tools("fa4-sim"), reason="needs fa4-sim")
def test_stores_that_end_at_a_row(tmp_path):
    """For each tile, only rows in front of the row `end` are stored: all, some, or none. An `end` behind the tensor
    counts as the tensor's end."""
    kernel = gpu.compile(UP_TO, tmp_path)
    x = np.random.default_rng(0).standard_normal((300, 64)).astype(gpu.DTYPES["bf16"])
    assert x.all()
    for end in (-1000, -3, 0, 1, 127, 128, 129, 255, 299, 300, 301, 430, 2**31 - 1):
        (found,) = gpu.simulate(kernel, {"x": x, "end": end}, ("y",), options=["sm_count=2"])
        expected = np.zeros_like(x)
        expected[: max(end, 0)] = x[: max(end, 0)]
        # The simulator's memory is zero at first.
        assert (found == expected).all(), end


@pytest.mark.skipif(not gpu.has_tools("fa4-sim"), reason="needs fa4-sim")
def test_store_at_a_negative_row(tmp_path):
    """A store with `to` at a negative row traps, as it does without `to`, and does not write in front of the tensor."""
    text = UP_TO.replace("%t = tile.load", "%s = arith.subi %r, %end : index\n  %t = tile.load").replace("%y[%r,", "%y[%s,")
    assert "%y[%s, %c0] to(%end)" in text
    kernel = gpu.compile(text, tmp_path)
    x = np.ones((256, 64), gpu.DTYPES["bf16"])
    with pytest.raises(gpu.SimulationError, match="coordinate 2 is -5: only loads may begin in front of the tensor"):
        gpu.simulate(kernel, {"x": x, "end": 5}, ("y",), options=["sm_count=2"])


@pytest.mark.skipif(not gpu.has_tools("fa4-sim"), reason="needs fa4-sim")
def test_command_of_programs(capsys):
    """bench/tile-programs runs one program: it must report no failure."""
    assert tile_programs.main(["--kernel", "^conditional$", "--seeds", "1"]) == 0
    assert "1 programs, 1 seeds each, 0 failures" in capsys.readouterr().out


@pytest.mark.skipif(not gpu.has_tools("fa4-sim"), reason="needs fa4-sim")
@pytest.mark.parametrize(
    "wait,edited,finding",
    [
        ("wait_group.read \t1;", "wait_group.read \t2;", "missing-bulk-wait"),
        ("cp.async.bulk.wait_group \t0;", "", "exit-with-async-outstanding"),
    ],
    ids=["reuse", "end"],
)
def test_stores_that_overlap(wait, edited, finding, tmp_path):
    """Stores of dQ leave through a ring of two stages, and lanes write one stage while the other is stored. If one of
    the waits for these stores is missing, the simulator must find it."""
    program = tile_programs.gradient(128, 260, 100, "g", tile_programs.GRADIENTS[128])
    kernel = program.compile(tmp_path)
    text = kernel.ptx.read_text()
    # Four parts a pass, each behind the store of the next one.
    assert text.count("wait_group.read \t1;") == 4
    program.check(program.simulate(kernel, (0, 2)))
    assert wait in text
    kernel.ptx.write_text(text.replace(wait, edited))
    with pytest.raises(gpu.SimulationError, match=finding):
        program.simulate(kernel, (0, 9))
