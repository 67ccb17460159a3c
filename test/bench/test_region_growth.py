# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Long regions compile in a time that grows with their length, on both paths.

An analysis that walks each path of a region through its operations needs 2^60
steps for 60 doublings and would not end within any of these limits, which are
a hundred times what is needed: the figures are in bench/compile-time --regions."""

import os
import subprocess

import numpy as np
import pytest

import fa4
from fa4_bench import region_growth
from fa4_testing import gpu

LIMIT = 120  # seconds

pytestmark = pytest.mark.skipif(
    not gpu.has_tools("fa4-compile", "fa4-sim"), reason="needs fa4-compile and fa4-sim"
)


def run(*command, text):
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=LIMIT
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("shape", region_growth.SHAPES)
def test_kernel(shape):
    """A region of 60 doublings is compiled for the GPU: the compiler must end within the limit."""
    ptx = run(
        gpu.find_tool("fa4-compile"),
        "-",
        "-o",
        "-",
        text=region_growth.make(shape, 60),
    )
    assert ".visible .entry" in ptx


def test_doublings_behind_a_product():
    """A chain of doublings stands behind the MMA's result. Lanes work on the result a few columns at a time, so its
    release waits for the end of the chain: the analysis must not follow each of the chain's 2^n paths."""
    text = (gpu.ROOT / "test/Pipelines/gemm.mlir").read_text()
    tile = "vector<256x128xf32>"
    chain = "".join(f"  %d{i + 1} = arith.addf %d{i}, %d{i} : {tile}\n" for i in range(60))
    product = f"  %d0 = arith.mulf %sum, %half : {tile}\n"
    text = text.replace(f"  %scaled = arith.mulf %sum, %half : {tile}\n", product + chain)
    text = text.replace("%scaled", "%d60")
    assert "%d60 = arith.addf %d59" in text and "maximumf %d60" in text
    assert ".visible .entry" in run(gpu.find_tool("fa4-compile"), "-", "--from=tile", "--verify-ptx=false", "-o", "-", text=text)


def test_selections_of_a_long_chain():
    """A long chain of integers compiles in time. LLVM's instruction selection takes quadratic time for a chain of
    vectors of two integers, so there must be none: `bench/compile-time --regions` measures that."""
    text = region_growth.make("mask-selections", 60)
    ir = run(gpu.find_tool("fa4-compile"), "-", "--emit=nvvm", "-o", "-", text=text)
    assert "llvm.func" in ir and "vector<2xf32>" in ir
    assert "vector<2xi32>" not in ir and "vector<2xi1>" not in ir


@pytest.mark.parametrize("shape", region_growth.SHAPES)
def test_cpu(shape):
    """A region of 60 doublings is compiled for the CPU: the compiler must end within the limit."""
    ir = run(
        os.environ["FA4_OPT"], "--attn-to-llvm", text=region_growth.make(shape, 60)
    )
    assert "llvm.func" in ir


def test_gradient_on_cpu():
    """The derivative of a chain of products on the CPU path is only as long as the chain."""
    tensor = "tensor<1x2x64x64xbf16>"
    lse = "tensor<1x2x64xf32>"
    body = "\n".join(region_growth.score_squares(60))
    ir = run(
        os.environ["FA4_OPT"],
        "--attn-to-llvm",
        text=f"""
func.func @gradient(%q: {tensor}, %k: {tensor}, %v: {tensor}, %out: {tensor}, %lse: {lse}, %dout: {tensor})
    -> ({tensor}, {tensor}, {tensor}) {{
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %v out(%out) dout(%dout) lse(%lse) layout<bhsd>
    : {tensor}, {tensor}, {tensor}, {tensor}, {tensor}, {lse} -> {tensor}, {tensor}, {tensor}
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {{
      {body}
    }}
  return %dq, %dk, %dv : {tensor}, {tensor}, {tensor}
}}""",
    )
    assert "llvm.func" in ir


def test_limit():
    """A region too long for a kernel is refused with a message, and quickly."""
    done = subprocess.run(
        [gpu.find_tool("fa4-compile"), "-", "-o", "-"],
        input=region_growth.make("score-squares", 100_000),
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 1
    assert "100001 operations in score_mod, about 100000 instructions for each score; more than 4000" in done.stderr


def visible(shape, queries, keys):
    """Returns which keys the mask `shape`, which has 20 operations, shows to each query, in exact integers."""
    i, j = np.arange(queries)[:, None], np.arange(keys)[None, :]
    if shape == "mask-doubling":
        return j * 2**19 <= i
    if shape == "mask-differences":
        y, x = j, i
        for _ in range(19):
            y, x = x, x - y
        return x <= i
    raise ValueError(shape)


@pytest.mark.parametrize("shape", ["mask-doubling", "mask-differences"])
def test_numbers(shape, rng, tmp_path):
    """A mask of 20 operations is compiled and simulated: the results must be those of exact integers."""
    kernel = gpu.compile(region_growth.make(shape, 20), tmp_path)
    q, k, v = (
        rng.standard_normal((1, 2, 256, 64)).astype(gpu.DTYPES["bf16"])
        for _ in range(3)
    )
    out = gpu.simulate(kernel, {"q": q, "k": k, "v": v}, {"out": np.float32})["out"]
    keep = visible(shape, 256, 256)
    scores = np.einsum("bhid,bhjd->bhij", q.astype(float), k.astype(float)) / 8
    p = np.exp(scores - scores.max(-1, keepdims=True)) * keep
    expected = np.einsum("bhij,bhjd->bhid", p, v.astype(float))
    total = p.sum(-1, keepdims=True)
    expected = np.divide(
        expected, total, out=np.zeros_like(expected), where=total != 0
    )
    np.testing.assert_allclose(out.astype(float), expected, atol=0.03)


def test_bar():
    """Quadratic times and large memory miss the bars of the script, linear ones do not, nor do refused regions."""

    def costs(seconds, megabytes):
        return {n: region_growth.Cost(0.1 + seconds(n), 60 + megabytes(n)) for n in region_growth.SIZES}

    linear = costs(lambda n: 1e-3 * n, lambda n: 0.05 * n)
    assert region_growth.check(linear) is None
    assert region_growth.check({**linear, 2000: None}) is None
    quadratic = costs(lambda n: 2e-6 * n * n, lambda n: 0)
    assert "ms an operation at 2000" in region_growth.check(quadratic)
    large = costs(lambda n: 0, lambda n: 0.2 * n)
    assert "MB an operation at 100" in region_growth.check(large)


@pytest.mark.parametrize("gradient", [False, True], ids=["forward", "gradient"])
@pytest.mark.parametrize("shape", region_growth.SHAPES)
def test_copies(shape, gradient):
    """In loops over pairs of columns an operation of a region is there for two or four pairs in each of two roles, alone or
    once for each of two columns, and may be several operations. With a copy for each pair it would be there at least 128
    times. The text says so on any machine."""

    def count(size):
        text = region_growth.make(shape, size, gradient)
        return run(gpu.find_tool("fa4-compile"), "-", "--emit=unroll", "-o", "-", text=text).count(" = ")

    assert (count(250) - count(150)) / 100 < 100


def test_numbers_of_long_bodies(rng):
    """A loop with a long body is not split by masks: one loop hides the keys behind the last one and behind the
    diagonal, and its results are right."""
    def wiggle(s, b, h, q, k):
        for i in range(160):
            s = s + 0.01 * (i % 7 - 3)
        return s

    spec = fa4.sdpa("B Sq H 64", "B Sk H 64", lse=True, mask="causal", score_mod=wiggle)
    q, k, v = (rng.standard_normal((1, n, 1, 64)).astype(np.float32).astype(gpu.DTYPES["bf16"]) for n in (200, 300, 300))
    kernel = fa4.compile(spec, verify=False)
    # A branch of a tile, in the loop of each of two roles.
    assert kernel.ir("split-loop").count("-> (vector<128x128xf32>) {") == 2
    found = kernel.simulate(q=q, k=k, v=v)
    expected = spec.reference(q=q, k=k, v=v)
    np.testing.assert_allclose(found.out.astype(float), expected.out, atol=0.03)
    np.testing.assert_allclose(found.lse, expected.lse, atol=0.03)


def test_numbers_of_many_tanh(rng):
    """With more than 4096 tanh of pairs in a kernel, each is a block of instructions, and the results are right."""
    def squash(s, b, h, q, k):
        for _ in range(520):
            s = fa4.math.tanh(s)
        return 60 * s

    spec = fa4.sdpa("1 128 1 64", "1 128 1 64", lse=True, score_mod=squash)
    q, k, v = ((3 * rng.standard_normal((1, 128, 1, 64))).astype(np.float32).astype(gpu.DTYPES["bf16"]) for _ in range(3))
    kernel = fa4.compile(spec, verify=False)
    assert "mul.rn.ftz.f32 a, a, 0f4038AA3B" in kernel.ptx
    found, expected = kernel.simulate(q=q, k=k, v=v), spec.reference(q=q, k=k, v=v)
    np.testing.assert_allclose(found.lse, expected.lse, atol=1e-3)
    np.testing.assert_allclose(found.out.astype(float), expected.out, atol=0.05)
