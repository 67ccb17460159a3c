# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops of MMAs that may have no pass: their result is the zeros that they begin with.

No MMA has written the accumulator then. Lanes that read it nonetheless, to drop what they
have read, would read undefined tensor memory: fa4-sim reports that as `uninitialised`."""

import subprocess

import numpy as np
import pytest

from fa4_testing import gpu

pytestmark = pytest.mark.skipif(
    not gpu.has_tools("fa4-compile", "fa4-sim"), reason="needs fa4-compile and fa4-sim"
)

TILE = "vector<128x64xf32>"
KERNEL = """tile.kernel @k(%n: index {tile.name = "n"}, %m: index {tile.name = "m"},
    %a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["M", "K"]},
    %b: memref<?x?xbf16> {tile.name = "B", tile.dims = ["K", "N"]}OUTPUTS)
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>, #tile.extent<"N" by 64>]} {
  %tm, %tn = tile.work_tile : index, index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %tm, %c128 : index
  %col = arith.muli %tn, %c64 : index
  %zero = arith.constant dense<0.0> : vector<128x64xf32>
  %one = arith.constant dense<1.0> : vector<128x64xf32>
  %any = arith.cmpi slt, %c0, %n : index
  %many = arith.cmpi slt, %c1, %m : index
BODY}
"""
SIZES = {"M": 200, "N": 72, "K": 192}


def loop(name, passes, start="zero"):
    """`start` plus the product of the first `passes` blocks of 64 columns of A and rows of B."""
    return f"""  %{name} = scf.for %i = %c0 to %{passes} step %c1 iter_args(%x = %{start}) -> ({TILE}) {{
    %at = arith.muli %i, %c64 : index
    %ta = tile.load %a[%row, %at] : memref<?x?xbf16> -> vector<128x64xbf16>
    %tb = tile.load %b[%at, %col] : memref<?x?xbf16> -> vector<64x64xbf16>
    %y = tile.mma %ta, %tb acc %x : vector<128x64xbf16>, vector<64x64xbf16> -> {TILE}
    scf.yield %y : {TILE}
  }}
"""


def select(name, condition, x, y):
    return f"  %{name} = arith.select %{condition}, %{x}, %{y} : {TILE}\n"


def add(name, x, y):
    return f"  %{name} = arith.addf %{x}, %{y} : {TILE}\n"


ONE, BOTH = loop("p", "n"), loop("p", "n") + loop("q", "m")
BRANCH = f"""  %s = scf.if %many -> ({TILE}) {{
    %t = arith.addf %p, %p : {TILE}
    scf.yield %t : {TILE}
  }} else {{
    scf.yield %p : {TILE}
  }}
"""
# Name -> operations, the values that are stored, and these from the products p, q and the sizes.
PROGRAMS = {
    "stored": (ONE, "p", lambda p, q, n, m: [p]),
    "computed": (ONE + add("s", "p", "p"), "s", lambda p, q, n, m: [2 * p]),
    "stored and computed": (ONE + add("s", "p", "p"), "ps", lambda p, q, n, m: [p, 2 * p]),
    "two loops": (BOTH, "pq", lambda p, q, n, m: [p, q]),
    "sum of two loops": (BOTH + add("s", "p", "q"), "s", lambda p, q, n, m: [p + q]),
    "selected": (ONE + select("s", "many", "p", "one"), "s", lambda p, q, n, m: [p if m > 1 else p * 0 + 1]),
    "selected twice": (
        ONE + select("s", "any", "p", "one") + select("t", "many", "one", "p"),
        "st",
        lambda p, q, n, m: [p if n else p + 1, p * 0 + 1 if m > 1 else p],
    ),
    "one of two loops": (BOTH + select("s", "many", "p", "q"), "s", lambda p, q, n, m: [p if m > 1 else q]),
    "in both branches": (ONE + BRANCH, "s", lambda p, q, n, m: [2 * p if m > 1 else p]),
}


def make(body, stored):
    outputs = "".join(
        f',\n    %out{i}: memref<?x?xf32> {{tile.name = "C{i}", tile.dims = ["M", "N"]}}' for i in range(len(stored))
    )
    stores = "".join(
        f"  tile.store %{value}, %out{i}[%row, %col] : {TILE}, memref<?x?xf32>\n" for i, value in enumerate(stored)
    )
    return KERNEL.replace("OUTPUTS", outputs).replace("BODY", body + stores)


def simulate(folder, count, n, m):
    """Runs the kernel under several schedules with all checks; returns A, B and the outputs."""
    names = ["A", "B", *(f"C{i}" for i in range(count))]
    sizes = [f"{k}={v}" for k, v in (SIZES | {"n": n, "m": m}).items()]
    outputs = [option for name in names for option in ("--output", f"{name}={folder / name}.npy")]
    done = subprocess.run(
        [gpu.find_tool("fa4-sim"), folder / "k.json", *sizes, "--random", "--check", "--seeds", "0:3", *outputs],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [np.load(folder / f"{name}.npy").astype(np.float64) for name in names]


def compile_kernel(source, folder):
    return subprocess.run(
        [gpu.find_tool("fa4-compile"), "-", "-o", folder, "--verify-ptx=false"],
        input=source,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, tmp_path):
    """A loop of MMAs has no pass: its result must be 0, and no thread may read undefined tensor memory."""
    body, stored, expect = PROGRAMS[name]
    done = compile_kernel(make(body, stored), tmp_path)
    assert done.returncode == 0, done.stderr
    for n, m in ((0, 0), (0, 2), (2, 0), (3, 1)):
        a, b, *outputs = simulate(tmp_path, len(stored), n, m)
        p, q = (a[:, : 64 * passes] @ b[: 64 * passes] for passes in (n, m))
        for output, exact in zip(outputs, expect(p, q, n, m), strict=True):
            np.testing.assert_allclose(output, exact, rtol=1e-5, atol=1e-4)


def test_second_loop_goes_on(tmp_path):
    """A second loop adds to the result of a first, which makes one pass. The sum must be right even if the second loop
    makes none."""
    done = compile_kernel(make(loop("p", "c1") + loop("q", "m", "p"), "q"), tmp_path)
    assert done.returncode == 0, done.stderr
    for m in (0, 1, 3):
        a, b, output = simulate(tmp_path, 1, 0, m)
        exact = sum(a[:, : 64 * passes] @ b[: 64 * passes] for passes in (1, m))
        np.testing.assert_allclose(output, exact, rtol=1e-5, atol=1e-4)


def test_product_after_product(tmp_path):
    """Two products without a loop, of which the second adds to the first, give their sum."""
    again = loop("q", "c1", "p").replace("%at =", "%unused =").replace("%at", "%c64")
    done = compile_kernel(make(loop("p", "c1") + again, "q"), tmp_path)
    assert done.returncode == 0, done.stderr
    a, b, output = simulate(tmp_path, 1, 0, 0)
    np.testing.assert_allclose(output, a[:, :128] @ b[:128], rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    "body, message",
    [
        (loop("p", "n") + loop("q", "m", "p"), "'tile.mma' op adds to the result of an earlier loop, but that loop may"),
        (loop("p", "c1") + add("s", "p", "p") + loop("q", "m", "s"), "'scf.for' op carries a tile through role 'mma' that starts from a tile of role 'compute0'"),
        (loop("q", "m", "one"), "'tile.mma' op adds to a constant that is not zero"),
    ],
)
def test_start_that_is_refused(body, message, tmp_path):
    """A loop of MMAs starts from a tile that may be undefined or is not zero: the compiler must refuse it."""
    done = compile_kernel(make(body, "q"), tmp_path)
    assert done.returncode == 1 and message in done.stderr, done.stderr
    assert not list(tmp_path.iterdir())
