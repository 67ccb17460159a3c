# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of test/Dialect/Attn/raise-to-attn-*.mlir and of test/Dialect/Attn/raise, as torch-mlir and
JAX write them, compute the same before and after raise-to-attn, on the CPU, the latter also where upstream
has fused elementwise work first; some also in the simulator. A run draws some of them, and FA4_MANY=1
tries all."""

import re
import subprocess

import numpy as np
import pytest

from fa4_testing import cpu, gpu
from fa4.tools import ROOT, find_tool

FORMS = {
    re.search(r"func\.func @(\w+)", part)[1]: part
    for path in sorted((ROOT / "test/Dialect/Attn").glob("raise-to-attn-*.mlir"))
    if "near-misses" not in path.name and "remarks" not in path.name
    for part in re.sub(r"^//(?! -----).*\n", "", path.read_text(), flags=re.MULTILINE).split("// -----")
    if "expected-error" not in part
}
WRITTEN_BY_TOOLS = {path.stem: path.read_text() for path in sorted((ROOT / "test/Dialect/Attn/raise").glob("*.mlir"))}
FUSED = ("--linalg-generalize-named-ops", "--linalg-fuse-elementwise-ops", "--canonicalize", "--cse")


def raised(text, *passes):
    done = subprocess.run(
        [find_tool("fa4-opt"), *passes, "--raise-to-attn", "--canonicalize"],
        input=text,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "attn.sdpa" in done.stdout, done.stderr
    return done.stdout


def without_softmax(text):
    """The CPU path has no linalg.softmax: upstream's transform takes it apart."""
    if "linalg.softmax" not in text:
        return text
    script = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %softmax = transform.structured.match ops{["linalg.softmax"]} in %root : (!transform.any_op) -> !transform.any_op
    %parts = transform.structured.decompose_interface %softmax : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
"""
    done = subprocess.run(
        [find_tool("fa4-opt"), "--transform-interpreter"],
        input=text + script,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return re.sub(r"(?s)  module attributes \{transform.*?\n  \}\n", "", done.stdout)


def draw(argument, rng):
    """An array, or a number, for an argument of this type."""
    if argument == "f32":
        return 0.3
    *shape, element = argument.removeprefix("tensor<").removesuffix(">").split("x")
    # Of what is dynamic, the first dimension is the batch.
    shape = [(2 if i == 0 else 6) if size == "?" else int(size) for i, size in enumerate(shape)]
    if element == "i1":
        mask = rng.random(shape) < 0.6
        mask[..., 0] = True  # A row that sees no key is NaN in one, and zero in the other.
        return mask
    if element.startswith("i"):  # Lengths, segments, and what is not padding.
        return rng.integers(1, 3, shape).astype({"i32": np.int32, "i64": np.int64}[element])
    return rng.standard_normal(shape).astype(cpu.dtype_of(element))


def check_same(name, text, after, rng):
    """The function's results do not change."""
    head = re.search(rf"func\.func @{name}\((.*?)\) ->", text)[1]
    types = re.findall(r"%\w+: ([^,)]*(?:<[^>]*>)?)", head)
    arguments = [draw(type, rng) for type in types]
    assert ("attn.sdpa_backward" in after) == name.startswith("gradient")
    results = [cpu.compile(each)[name](*arguments) for each in (without_softmax(text), after)]
    tolerance = 2e-3 if "f16" in text else 1e-5
    for before, after in zip(*(each if isinstance(each, tuple) else (each,) for each in results), strict=True):
        np.testing.assert_allclose(
            np.asarray(after, np.float64), np.asarray(before, np.float64), atol=tolerance, rtol=tolerance
        )


@pytest.mark.turns(8)
@pytest.mark.parametrize("name", [name for name in FORMS if name != "dynamic"])
def test_raised_forms_compute_the_same(name, rng):
    """A function of linalg is raised to attention: its results on the CPU must not change."""
    check_same(name, FORMS[name], raised(FORMS[name]), rng)


@pytest.mark.turns(8)
@pytest.mark.parametrize("passes", [(), FUSED], ids=["plain", "fused"])
@pytest.mark.parametrize("name", WRITTEN_BY_TOOLS)
def test_forms_of_torch_and_jax_compute_the_same(name, passes, rng):
    """A function as torch-mlir or JAX writes it is raised to attention: its results on the CPU must not change."""
    text = WRITTEN_BY_TOOLS[name]
    check_same(name, text, raised(text, *passes), rng)


# On the GPU: sizes that it has kernels for, and inputs of f16.
SIZES = {"2x2x6x4x": "1x2x64x64x", "2x2x8x4x": "1x2x96x64x", "2x2x6x8x": "1x2x64x96x", "2x2x6x": "1x2x64x"}


def for_gpu(text, name):
    """The form on f16, with the arithmetic in f32 as it was, and the result rounded to f16."""
    text = re.sub("|".join(SIZES), lambda match: SIZES[match[0]], text)
    head = re.search(rf"func\.func @{name}\(%q: (\S+), %k: (\S+), %v: (\S+)\) -> (\S+) {{\n", text)
    half = [type.replace("f32", "f16") for type in head.groups()]
    arguments = ", ".join(f"%{n}16: {type}" for n, type in zip("qkv", half))
    widened = "".join(
        f"  %{n} = arith.extf %{n}16 : {narrow} to {wide}\n"
        for n, narrow, wide in zip("qkv", half, head.groups())
    )
    text = text.replace(head[0], f"func.func @{name}({arguments}) -> {half[3]} {{\n{widened}")
    returned = f"  %o16 = arith.truncf %o : {head[4]} to {half[3]}\n  return %o16 : {half[3]}\n"
    return text.replace(f"  return %o : {head[4]}\n", returned)


@pytest.mark.turns(5)
@pytest.mark.parametrize("name", ["decomposed", "late_quotient", "scaled_and_causal", "window", "soft_cap"])
def test_raised_forms_have_kernels(name, rng, tmp_path):
    """A function of linalg is raised to attention and compiled to a kernel: the kernel's results must be those of the
    function on the CPU."""
    text = for_gpu(FORMS[name], name)
    q, k, v = (rng.standard_normal((1, 2, n, 64)).astype(np.float16) for n in (64, 96, 96))
    expected = cpu.compile(text)[name](q, k, v)
    kernel = gpu.compile(raised(text), tmp_path, chip="sm_100a")
    (out,) = gpu.simulate(kernel, {"q": q, "k": k, "v": v}, ["out"])
    np.testing.assert_allclose(out.astype(np.float64), expected.astype(np.float64), atol=4e-3, rtol=4e-3)
