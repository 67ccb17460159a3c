# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A long region is a loop over pairs of columns: it computes, bit for bit, what a copy of the
region for each pair computes, which is what other tests compare with float64.

Short regions are made loops here, by an option of tile-unroll, so that every kind of operation,
operand and result goes through one: those of `bench/compile-time --regions`."""

import os
import subprocess

import numpy as np
import pytest

from fa4_bench import region_growth
from fa4_testing import gpu

pytestmark = pytest.mark.skipif(not gpu.has_tools("fa4-compile", "fa4-sim"), reason="needs fa4-compile and fa4-sim")

# Two blocks of queries and keys, the second ones short.
KEYS, DIM = 150, 32
# A pair of columns has fewer instructions than the second.
LOOPS, COPIES = 1, 10**6


def small(text):
    """The op of region_growth on small tensors."""
    sizes = {"1x2x256x64": f"1x2x{KEYS}x{DIM}", "1x2x256x": f"1x2x{KEYS}x"}
    for old, new in sizes.items():
        text = text.replace(old, new)
    return text


# Of other compilers, behind tile-unroll.
UPSTREAM = "canonicalize,cse,sccp,loop-invariant-code-motion,control-flow-sink,symbol-dce,remove-dead-values"


def lower(text, instructions, behind=""):
    """The module behind tile-unroll, and the number of its loops that carry a pair of columns. Without a fraction of
    polynomials: which pairs have one differs between the two forms."""

    def run(*command, text):
        done = subprocess.run(command, input=text, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    rows = run(gpu.find_tool("fa4-compile"), "-", "--emit=distribute", "--exp-fraction=0", "-o", "-", text=text)
    passes = f"builtin.module(tile.kernel(tile-unroll{{loop-instructions={instructions}}}){behind and ',' + behind})"
    unrolled = run(os.environ["FA4_OPT"], f"--pass-pipeline={passes}", text=rows)
    loops = sum("scf.for" in line and "vector<2x" in line for line in unrolled.splitlines())
    return unrolled, loops


def bits(array):
    return array.view(f"u{array.itemsize}")


def compare(text, folder, inputs, results, behind=""):
    """Simulates both forms of the region with all checks, and compares the bits. Returns the results."""
    outcomes = []
    for instructions in (LOOPS, COPIES):
        unrolled, loops = lower(text, instructions, behind)
        assert bool(loops) == (instructions == LOOPS)
        compiler = gpu.compile_launches if "sdpa_backward" in text else gpu.compile
        kernel = compiler(unrolled, folder / str(instructions), options=["--from=unroll"])
        outcomes.append(gpu.simulate(kernel, inputs, results))
    for looped, copied in zip(*outcomes):
        np.testing.assert_array_equal(bits(looped), bits(copied))
    return outcomes[0]


def tensors(rng, *names):
    return {name: (rng.standard_normal((1, 2, KEYS, DIM)) / 2).astype(gpu.DTYPES["bf16"]) for name in names}


def count_of(shape):
    """As many operations as leave most results finite, where more would overflow."""
    return {"score-squares": 4, "score-shared": 5, "score-exponentials": 2}.get(shape, 14)


@pytest.mark.parametrize("shape", region_growth.SHAPES)
def test_forward(shape, rng, tmp_path):
    """A region is compiled as a loop and as copies for each pair of columns: out must have the same bits."""
    (out,) = compare(small(region_growth.make(shape, count_of(shape))), tmp_path, tensors(rng, "q", "k", "v"), ["out"])
    assert np.isfinite(out.astype(float)).mean() > 0.5


@pytest.mark.parametrize("shape", region_growth.SHAPES)
def test_gradient(shape, rng, tmp_path):
    """A region is compiled as a loop and as copies for each pair of columns: dq, dk and dv must have the same bits."""
    inputs = tensors(rng, "q", "k", "v", "out", "dout")
    inputs["lse"] = (5 + rng.random((1, 2, KEYS))).astype(np.float32)
    text = small(region_growth.make(shape, count_of(shape), gradient=True))
    compare(text, tmp_path, inputs, ["dq", "dk", "dv"])


@pytest.mark.parametrize("shape", ["mask-integers", "score-selections"])
def test_upstream_passes(shape, rng, tmp_path):
    """Upstream's passes run on the loops and on the copies of a region: both must still give the same bits."""
    text = small(region_growth.make(shape, count_of(shape)))
    compare(text, tmp_path, tensors(rng, "q", "k", "v"), ["out"], UPSTREAM)
