# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Specs with more than q, k and v: sinks, packed sequences, numbers of keys, captured tensors. What has no kernel runs on
the path to the CPU, so that the op that a spec says is compared with the spec's reference."""

from pathlib import Path

import numpy as np
import pytest

import fa4
from fa4 import _library, kernel
from fa4_testing import cpu

try:
    _library.find()
except fa4.LibraryNotFoundError as missing:
    pytest.skip(f"needs {missing}", allow_module_level=True)

BF16 = kernel.numpy_dtype("bf16")


def normal(rng, *shape, dtype=BF16):
    return rng.standard_normal(shape, np.float32).astype(dtype)


def error_of(result, expected):
    return np.abs(np.asarray(result, np.float64) - expected).max()


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"sinks": "f64"}, "sinks are of type f32, bf16, f16, not 'f64'"),
        ({"captures": {"x": "f64 H"}}, "capture 'x' is of type 'f64 H'; captures are numbers of type f32, i32, bool, or tensors"),
        ({"captures": {"x": "f32 -1"}}, "capture 'x' has '-1', which is neither a name nor a positive number"),
        ({"captures": {"x": "bf16"}}, "capture 'x' is of type 'bf16'; captures are numbers"),
        ({"captures": {"sinks": "f32"}}, "'sinks' is no name for a capture"),
        ({"layout": "thd"}, "shape of q has 4 sizes, not 3"),
        ({"layout": "tdh"}, "layout is one of bshd, bhsd, sbhd, thd, htd, not 'tdh'"),
    ],
)
def test_specs_that_are_refused(form, message):
    """Sinks, a capture or a layout of a spec is wrong: SpecError must name the value and what is allowed."""
    rank = 4 if form.get("layout") != "tdh" else 3
    with pytest.raises(fa4.SpecError, match=message):
        fa4.sdpa(q=["B", "S", "H", 32][-rank:], k=["B", "S", "H", 32][-rank:], **form)


def slices(score, b, h, i, j, bias):
    return score + bias[h, :]


def lacks_an_index(score, b, h, i, j, bias):
    return score + bias[h]


def adds_all(score, b, h, i, j, bias):
    return score + bias


def counts_from_the_end(score, b, h, i, j, bias):
    return score + bias[h, -1]


def indexes_by_score(score, b, h, i, j, bias):
    return score + bias[h, score]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (slices, "an element is read with whole numbers"),
        (lacks_an_index, "a tensor of 2 dimensions is read with 1 index"),
        (adds_all, "a captured tensor is read element by element"),
        (counts_from_the_end, "count from 0, and not from the end"),
        (indexes_by_score, "indices of a captured tensor are whole numbers"),
    ],
)
def test_reads_of_tensors_that_cannot_be_traced_name_their_line(function, message):
    """A score_mod misreads a captured tensor: TraceError must give the line and the reason."""
    spec = fa4.sdpa(q="B Sq H 32", k="B Sk H 32", score_mod=function, captures={"bias": "f32 H Sk"})
    with pytest.raises(fa4.TraceError, match=message) as caught:
        spec.text  # noqa: B018
    assert caught.value.line == function.__code__.co_firstlineno + 1
    assert f"{__file__}:{caught.value.line}: score_mod can't be traced" in str(caught.value)
    assert "return score + bias" in Path(__file__).read_text().splitlines()[caught.value.line - 1]


def run_on_cpu(spec, call, **outputs):
    """The spec's op by the path to the CPU, on the arrays and numbers of a call in the function's order."""
    names = [*(name for name in spec.tensors if name not in spec.outputs), *spec.captures]
    cpu.compile(spec.text)[spec.name](*(call[name] for name in names), *outputs.values())
    return outputs


def test_packed_sequences_sinks_and_captured_tensors(rng):
    """Packed sequences of 10, 0 and 20 queries, with sinks and captured tensors at once, are right, forward and
    gradient."""
    spec = fa4.sdpa(
        q="Tq 4 32", k="Tk 2 32", layout="thd", lse=True, mask="causal", sinks=True,
        score_mod=lambda s, b, h, i, j, bias, factor: s + bias[h, j] * factor,
        mask_mod=lambda b, h, i, j, skip: skip[b] != j,
        captures={"bias": "f16 H N", "factor": "f32", "skip": "i32 B"},
    )  # fmt: skip
    call = {"q": normal(rng, 30, 4, 32), "k": normal(rng, 45, 2, 32), "v": normal(rng, 45, 2, 32)}
    call |= {"cu_seqlens_q": np.array([0, 10, 10, 30], np.int32), "cu_seqlens_k": np.array([0, 15, 20, 45], np.int32)}
    call |= {"sinks": normal(rng, 4, dtype=np.float32), "bias": normal(rng, 4, 25, dtype=np.float16), "factor": 0.5}
    call |= {"skip": np.array([3, 0, 7], np.int32)}
    result = run_on_cpu(spec, call, out=np.zeros((30, 4, 32), BF16), lse=np.zeros((4, 30), np.float32))
    expected = spec.reference(**call)
    assert error_of(result["out"], expected.out) < 2e-2
    assert error_of(result["lse"], expected.lse) < 1e-4

    backward = spec.backward()
    assert backward.outputs == ("dq", "dk", "dv", "dsinks")
    assert "sinks(%sinks : memref<?xf32>)" in backward.text and "%dsinks: memref<?xf32>" in backward.text
    found = fa4.compile(spec, verify=False).simulate(**call)
    assert error_of(found.out, expected.out) < 2e-2 and error_of(found.lse, expected.lse) < 1e-3


def test_numbers_of_packed_sequences(rng):
    """Of packed sequences, cu_seqlens have one element more than arrays with a number for each: else the call is refused, and a time needs them."""
    spec = fa4.sdpa(q="Tq H 32", k="Tk H 32", layout="thd", seqlens_k=True, mask="causal")
    shapes = {"q": (30, 2, 32), "k": (45, 2, 32), "cu_seqlens_q": (4,), "cu_seqlens_k": (4,), "seqlens_k": (3,)}
    assert spec.kernel_sizes(spec.bind(shapes)) == {"B": 3, "Bounds": 4, "Tq": 30, "Tk": 45, "Hq": 2, "Hkv": 2}
    assert spec.kernel_sizes(spec.bind({}, {"B": 3}))["Bounds"] == 4
    with pytest.raises(fa4.SpecError, match="seqlens_k has 4 sequences, and cu_seqlens_q 4 elements, not one more than sequences"):
        spec.bind(shapes | {"seqlens_k": (4,)})
    with pytest.raises(fa4.SpecError, match="the call has 4 sequences, and cu_seqlens_q 4 elements"):
        spec.bind({"cu_seqlens_q": (4,)}, {"B": 4})
    with pytest.raises(fa4.SpecError, match="cu_seqlens_q has no elements, and of no sequences it has one: the end"):
        spec.bind({"cu_seqlens_q": (0,)})
    # Where a size of q is named B, it is no number of sequences.
    assert fa4.sdpa(q="B H 32", k="B H 32", layout="thd").bind({"q": (30, 2, 32), "cu_seqlens_q": (4,)}) == {"B": 30, "H": 2, "B+1": 4}
    made = fa4.compile(spec, verify=False)
    bounds = {"cu_seqlens_q": np.array([0, 100, 100, 300], np.int32), "cu_seqlens_k": np.array([0, 50, 90, 400], np.int32)}
    sizes = {"Tq": 300, "Tk": 400, "H": 2, "seqlens_k": np.array([50, 40, 310], np.int32)}
    pairs = sum(range(1, 51)) + sum(range(111, 311))
    assert made.time(**sizes, **bounds).flops == 2 * 2 * pairs * (32 + 32)
    with pytest.raises(fa4.SpecError, match="the call has no cu_seqlens_q and no cu_seqlens_k: the lengths of packed sequences say how much work there is"):
        made.time(**sizes)


def test_numbers_of_keys(rng):
    """Sequences have their own numbers of keys: out on the CPU must be that of the reference."""
    spec = fa4.sdpa(q="B Sq 2 32", k="B Sk 1 32", seqlens_k=True)
    call = {"q": normal(rng, 2, 9, 2, 32), "k": normal(rng, 2, 12, 1, 32), "v": normal(rng, 2, 12, 1, 32)}
    call["seqlens_k"] = np.array([5, 12], np.int32)
    result = run_on_cpu(spec, call, out=np.zeros((2, 9, 2, 32), BF16))
    assert error_of(result["out"], spec.reference(**call).out) < 2e-2


def test_sinks_of_gradients_have_kernels(rng):
    """A gradient with sinks is simulated: dq, dk, dv and dsinks must be those of the reference."""
    forward = fa4.sdpa(q="B Sq 2 32", k="B Sk 1 32", sinks=True, mask="causal", lse=True)
    call = {"q": normal(rng, 1, 64, 2, 32), "k": normal(rng, 1, 96, 1, 32), "v": normal(rng, 1, 96, 1, 32)}
    call["sinks"] = np.array([0.5, -1], np.float32)
    rows = forward.reference(**call)
    call |= {"out": rows.out.astype(BF16), "lse": rows.lse.astype(np.float32), "dout": normal(rng, 1, 64, 2, 32)}
    spec = forward.backward()
    made = fa4.compile(spec, verify=False)
    result, expected = made.simulate(**call), spec.reference(**call)
    assert list(result) == ["dq", "dk", "dv", "dsinks"]
    for name, array in result.items():
        assert error_of(array, expected[name]) < (1e-5 if name == "dsinks" else 4e-2), name
    with pytest.raises(fa4.SpecError, match=r"sinks has shape \(3,\): dimension 0 is 3, but the spec has 2"):
        made.simulate(**call | {"sinks": np.zeros(3, np.float32)})


def test_slopes_have_kernels(rng):
    """A captured vector with a number for each query head is a tensor of a call, forward and gradient."""
    spec = fa4.sdpa(
        q="B Sq H 32", k="B Sk 1 32", lse=True, mask="causal", captures={"factor": "f32", "slopes": "f32 H"},
        score_mod=lambda s, b, h, i, j, slopes, factor: factor * s + slopes[h] * (j - i),
    )  # fmt: skip
    call = {"q": normal(rng, 1, 60, 2, 32), "k": normal(rng, 1, 60, 1, 32), "v": normal(rng, 1, 60, 1, 32), "factor": 0.5}
    call["slopes"] = np.array([0.3, -0.1], np.float32)
    compiled = fa4.compile(spec, verify=False)
    found, expected = compiled.simulate(**call, check=True), spec.reference(**call)
    assert error_of(found["out"], expected.out) < 2e-2
    assert compiled.time(B=1, H=2, Sq=256, Sk=256).cycles > 0
    with pytest.raises(fa4.SpecError, match="needs the captured tensor slopes"):
        compiled.simulate(**{name: value for name, value in call.items() if name != "slopes"})
    with pytest.raises(fa4.SpecError, match=r"slopes has shape \(3,\)"):
        compiled.simulate(**call | {"slopes": np.zeros(3, np.float32)})
    backward = spec.backward()
    call |= {"out": found.out, "lse": found.lse, "dout": normal(rng, 1, 60, 2, 32)}
    found, expected = fa4.compile(backward, verify=False).simulate(**call, check=True), backward.reference(**call)
    for name in ("dq", "dk", "dv"):
        assert error_of(found[name], getattr(expected, name)) < 5e-2


@pytest.mark.parametrize("mask, mod", [
    (dict(right=0), dict(mask_mod=lambda b, h, q, k: q >= k)),
    (dict(right=0), dict(score_mod=lambda s, b, h, q, k: fa4.math.where(q >= k, s, -float("inf")))),
    (dict(left=100, right=0), dict(mask_mod=lambda b, h, q, k: (q >= k) & (q - k <= 100))),
    (dict(left=100, right=100), dict(mask_mod=lambda b, h, q, k: fa4.math.abs(q - k) <= 100)),
])  # fmt: skip
@pytest.mark.parametrize("of_gradient", [False, True])
def test_a_mask_mod_is_the_kernel_of_its_mask(mask, mod, of_gradient):
    """A mask_mod makes the same kernel as its mask, whatever was run before: both skip blocks of keys."""
    def ptx(**form):
        spec = fa4.sdpa(q="B S 2 64", k="B S 2 64", name="f", **form)
        return fa4.compile(spec.backward() if of_gradient else spec, verify=False).modules

    assert ptx(**mod) == ptx(mask=fa4.Mask(**mask, align="top_left"))


def test_out_of_another_type():
    """A spec's out may have a type of its own, which the gradient does not read."""
    spec = fa4.sdpa(q="B S 2 64", k="B S 2 64", out_dtype="f32")
    assert "%out: memref<?x?x?x64xf32," in spec.text and "%q: memref<?x?x?x64xbf16," in spec.text
    with pytest.raises(fa4.SpecError, match="the gradient reads out in bf16, the type of q, and the spec has out_dtype='f32'"):
        spec.backward()
    with pytest.raises(fa4.SpecError, match="out_dtype is one of f32, bf16, f16, not 'f64'"):
        fa4.sdpa(q="B S 2 64", k="B S 2 64", out_dtype="f64")


def test_numbers_of_few_queries_are_in_the_kernel():
    """Numbers of queries up to 16 and of heads are in the op's types; of more queries, or of the gradient, they are not."""
    few = fa4.sdpa(q="B 16 8 64", k="B 700 2 64", lse=True, seqlens_k=True, sinks=True)
    assert "%q: memref<?x16x8x64xbf16," in few.text and "%k: memref<?x?x2x64xbf16," in few.text
    assert "%lse: memref<?x8x16xf32>" in few.text and "%sinks: memref<8xf32>" in few.text and "%seqlens_k: memref<?xi32>" in few.text
    for spec in (fa4.sdpa(q="B 17 8 64", k="B 700 2 64"), fa4.sdpa(q="B Sq 8 64", k="B 700 2 64"), few.backward()):
        assert "%q: memref<?x?x?x64xbf16," in spec.text and "%k: memref<?x?x?x64xbf16," in spec.text
