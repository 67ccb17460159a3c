# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fa4.torch, where torch is: on tensors of the CPU, by the simulator."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs torch, for fa4.torch")

import fa4  # noqa: E402
import torch_checks  # noqa: E402
from fa4 import _library  # noqa: E402
from fa4.function_key import function_key  # noqa: E402

try:
    _library.find()
except fa4.LibraryNotFoundError as missing:
    pytest.skip(f"needs {missing}", allow_module_level=True)


@pytest.fixture(autouse=True)
def settings(tmp_path, monkeypatch):
    monkeypatch.setenv("FA4_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("FA4_VERIFY_PTX", "0")
    torch.manual_seed(0)


def draw(*shape):
    return torch.randn(shape, dtype=torch.float32).to(torch.bfloat16).requires_grad_()


def expected(q, k, v, score_mod=lambda s, i, j: s, mask=lambda i, j: torch.ones_like(i + j, dtype=torch.bool)):
    """[B, H, S, D] in float64."""
    q, k, v = q.double(), k.double().repeat_interleave(q.shape[1] // k.shape[1], 1), v.double().repeat_interleave(q.shape[1] // v.shape[1], 1)
    i, j = torch.arange(q.shape[2])[:, None], torch.arange(k.shape[2])[None, :]
    scores = score_mod(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), i, j)
    return torch.softmax(scores.masked_fill(~mask(i, j), -math.inf), -1) @ v


def test_forward_and_gradient():
    """An op with a mask and a score_mod runs on torch tensors: out and gradients must be those of torch."""
    spec = fa4.sdpa(q="B Sq H 32", k="B Sk G 32", mask="causal_top_left", score_mod=lambda s, b, h, i, j, cap: cap * fa4.math.tanh(s / cap), captures={"cap": "f32"})
    attend = fa4.torch.attention(spec)
    q, k, v = draw(1, 64, 2, 32), draw(1, 64, 1, 32), draw(1, 64, 1, 32)
    out = attend(q, k, v, cap=2.0)
    out.float().sin().sum().backward()
    copies = [x.detach().double().transpose(1, 2).requires_grad_() for x in (q, k, v)]
    wanted = expected(*copies, lambda s, i, j: 2 * torch.tanh(s / 2), lambda i, j: j <= i)
    assert (out.transpose(1, 2) - wanted).abs().max() < 2e-2
    wanted.sin().sum().backward()
    for ours, theirs in zip((q, k, v), copies):
        assert (ours.grad.transpose(1, 2) - theirs.grad).abs().max() < 5e-2
    with pytest.raises(fa4.SpecError, match="captures are cap"):
        attend(q, k, v)
    for layout in ("thd", "htd"):
        with pytest.raises(fa4.SpecError, match=f"layout {layout} is packed, with cu_seqlens, and of packed sequences attention has no kernel"):
            fa4.torch.attention(fa4.sdpa(q="T 2 32" if layout == "thd" else "2 T 32", k="T 2 32" if layout == "thd" else "2 T 32", layout=layout))


WITH_SINKS = {"q": "B Sq H 32", "k": "B Sk G 32", "lse": True, "sinks": True, "seqlens_k": True}


def draw_with_sinks(queries=16, keys=24):
    """q, k, v, sinks and lengths."""
    sinks, lengths = torch.randn(2, requires_grad=True), torch.tensor([0, keys], dtype=torch.int32)
    return draw(2, queries, 2, 32), draw(2, keys, 1, 32), draw(2, keys, 1, 32), sinks, lengths


REFUSED = {
    "no sinks": ({"sinks": None}, fa4.SpecError, "the spec has sinks, and the call gives none: sinks is a tensor of f32, with a number for each query head"),
    "no lengths": ({"seqlens_k": None}, fa4.SpecError, "the spec has seqlens_k, and the call gives none: seqlens_k is a tensor of i32, with a number for each sequence"),
    "other sinks": ({"sinks": torch.zeros(2, dtype=torch.bfloat16)}, fa4.SpecError, "sinks has elements of type torch.bfloat16, and the spec's are f32: convert it, or"),
    "long lengths": ({"seqlens_k": torch.zeros(2, dtype=torch.int64)}, fa4.SpecError, r"seqlens_k has elements of type torch.int64, and the spec's are i32: give seqlens_k.to\(torch.int32\)"),
    "too many sinks": ({"sinks": torch.zeros(3)}, fa4.SpecError, r"sinks has shape \(3,\): dimension 0 is 3, but q has size H = 2"),
    "sinks of each sequence": ({"sinks": torch.zeros(2, 2)}, fa4.SpecError, "sinks has 2 dimensions"),
    "too few lengths": ({"seqlens_k": torch.zeros(1, dtype=torch.int32)}, fa4.SpecError, r"seqlens_k has shape \(1,\): dimension 0 is 1, but q has size B = 2"),
    "sinks elsewhere": ({"sinks": torch.zeros(2, device="meta")}, fa4.SpecError, "q is on cpu, and sinks on meta"),
    "lengths elsewhere": ({"seqlens_k": torch.zeros(2, dtype=torch.int32, device="meta")}, fa4.SpecError, "q is on cpu, and seqlens_k on meta"),
    "a number": ({"sinks": 1.0}, TypeError, "sinks is a tensor of torch, not float"),
    "a list": ({"seqlens_k": [0, 24]}, TypeError, "seqlens_k is a tensor of torch, not list"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_other_sinks_and_lengths_are_refused(case):
    """A call gives sinks or lengths that are not the spec's: the message says which, and what is wanted."""
    changed, error, message = REFUSED[case]
    q, k, v, sinks, lengths = draw_with_sinks()
    with pytest.raises(error, match=message):
        fa4.torch.attention(fa4.sdpa(**WITH_SINKS))(q, k, v, **{"sinks": sinks, "seqlens_k": lengths} | changed)


@pytest.mark.parametrize("name", ["sinks", "seqlens_k"])
def test_sinks_and_lengths_of_a_spec_without_them(name):
    """A call gives what the spec does not have: it would not count, and is refused."""
    q, k, v, sinks, lengths = draw_with_sinks()
    attend = fa4.torch.attention(fa4.sdpa(**WITH_SINKS | {name: False}))
    with pytest.raises(fa4.SpecError, match=rf"the call gives {name}, and the spec has none: fa4.sdpa\(..., {name}=True\)"):
        attend(q, k, v, sinks=sinks, seqlens_k=lengths)


def test_sinks_and_captures():
    """An op has sinks, lengths, and captures of each kind: each must arrive at its own place, and sinks in the gradient."""
    from torch_checks import expected_with_sinks

    slopes = torch.tensor([0.05, -0.02])
    form = WITH_SINKS | {"captures": {"cap": "f32", "bias": "f32 Sk"}}
    attend = fa4.torch.attention(fa4.sdpa(**form, score_mod=lambda s, b, h, i, j, cap, bias: cap * s + bias[j] + slopes[h] * (i - j)))
    *leaves, lengths = draw_with_sinks()
    bias = torch.randn(24)
    out, lse = attend(*leaves[:3], sinks=leaves[3], seqlens_k=lengths, cap=0.5, bias=bias)
    copies = [x.detach().double().requires_grad_() for x in leaves]
    i, j = torch.arange(16)[:, None], torch.arange(24)
    wanted = expected_with_sinks(*copies, lengths=lengths, score=lambda s: 0.5 * s + bias + slopes[:, None, None] * (i - j))
    for results in ((out, lse), wanted):
        (results[0].double().sin().sum() + results[1].double().cos().sum()).backward()
    assert (out - wanted[0]).abs().max() < 2e-2 and (lse - wanted[1]).abs().max() < 1e-3
    for ours, theirs in zip(leaves, copies):
        assert (ours.grad.double() - theirs.grad).norm() < 1e-2 * theirs.grad.norm()


def test_flex_attention_with_functions_of_torch():
    """A score_mod calls functions of torch: out must be right, and an unknown function be refused."""

    def score_mod(score, b, h, q_idx, kv_idx):
        return torch.where(q_idx >= kv_idx, torch.tanh(score), score - 1.0)

    q, k, v = draw(1, 2, 64, 32), draw(1, 2, 64, 32), draw(1, 2, 64, 32)
    out = fa4.torch.flex_attention(q, k, v, score_mod=score_mod)
    wanted = expected(q, k, v, lambda s, i, j: torch.where(i >= j, torch.tanh(s), s - 1.0))
    assert (out - wanted).abs().max() < 2e-2
    with pytest.raises(fa4.TraceError, match="torch.lgamma is no function of fa4.math"):
        fa4.torch.flex_attention(q, k, v, score_mod=lambda score, b, h, q_idx, kv_idx: torch.lgamma(score))


@pytest.mark.parametrize("check", ["test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_static", "test_aot_dispatch_dynamic"])
@pytest.mark.parametrize("with_sinks", [False, True], ids=["alone", "with_sinks"])
def test_operator_is_well_formed(check, with_sinks):
    """The operator passes torch's own checks: schema, fake tensors, autograd and dynamic sizes, with the strides of a
    transposed view."""
    spec = fa4.sdpa(q="B S H 32", k="B S H 32", mask="causal", lse=True, sinks=with_sinks, seqlens_k=with_sinks)
    q, k, v = (draw(1, 1, 32, 32).detach().transpose(1, 2).requires_grad_() for _ in range(3))
    beside = (torch.zeros(1, requires_grad=True), torch.full((1,), 20, dtype=torch.int32)) if with_sinks else (None, None)
    arguments = (q, k, v, *beside, [], [], "bshd", "", spec.text, spec.backward().text)
    torch.library.opcheck(torch.ops.fa4.sdpa.default, arguments, test_utils=check)


def test_fake_tensors():
    """Attention runs on fake tensors: its results must have the right shapes and types."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    attend = fa4.torch.attention(fa4.sdpa(q="B S H 32", k="B S H 32", lse=True))
    with FakeTensorMode():
        q = torch.empty(2, 16, 4, 32, dtype=torch.bfloat16)
        out, lse = attend(q, q, q)
        assert out.shape == q.shape and lse.shape == (2, 4, 16) and lse.dtype == torch.float32
        attend = fa4.torch.attention(fa4.sdpa(q="B S H 32", k="B S H 32", sinks="bf16", seqlens_k=True))
        q, sinks = q.requires_grad_(), torch.empty(8, dtype=torch.bfloat16, requires_grad=True)
        attend(q, q, q, sinks=sinks[::2], seqlens_k=torch.empty(2, dtype=torch.int32)).sum().backward()
        assert q.grad.shape == q.shape and sinks.grad.shape == (8,) and sinks.grad.dtype == torch.bfloat16


@pytest.mark.parametrize("check", torch_checks.ANYWHERE, ids=lambda check: check.__name__)
def test_checks(check):
    """The checks of the package for torch, which need no GPU, must pass on the CPU."""
    torch._dynamo.reset()
    check("cpu")


def test_traces_are_bounded_in_number():
    """The number of kept traces has a limit, and a function whose closure has changed is another function."""
    traces = fa4.torch._Traces()
    for limit in range(3 * traces.LIMIT):
        key = function_key(lambda b, h, i, j, limit=limit: i - j < limit)
        assert traces.find((key,), lambda limit=limit: limit) == limit
    assert len(traces.kept) == traces.LIMIT
    q, k, v = draw(1, 1, 32, 32), draw(1, 1, 32, 32), draw(1, 1, 32, 32)
    limit = 4

    def near(b, h, i, j):
        return (i >= j) & (i - j < limit)

    for limit in (4, 16, 4):
        out = fa4.torch.flex_attention(q, k, v, mask_mod=near)
        assert (out - expected(q, k, v, mask=lambda i, j, limit=limit: (i >= j) & (i - j < limit))).abs().max() < 2e-2


def test_an_operator_of_the_same_name_is_not_that_of_fa4_math():
    """A custom operator is named exp as fa4.math.exp: it must be refused as unknown."""
    with torch.library._scoped_library("fa4_test", "FRAGMENT") as library:
        library.define("exp(Tensor x) -> Tensor")
        library.impl("exp", lambda x: torch.ones_like(x), "CompositeExplicitAutograd")
        q = draw(1, 1, 32, 32)
        with pytest.raises(fa4.TraceError, match="torch.ops.fa4_test.exp is no function of fa4.math"):
            fa4.torch.flex_attention(q, q, q, score_mod=lambda s, b, h, i, j: torch.ops.fa4_test.exp(s))


class Model(torch.nn.Module):
    def forward(self, q, k, v):
        return fa4.torch.flex_attention(q, k, v, mask_mod=lambda b, h, i, j: i >= j)


class ModelWithSinks(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attend = fa4.torch.attention(fa4.sdpa(q="B H Sq 32", k="B G Sk 32", layout="bhsd", sinks=True, seqlens_k=True))
        self.sinks = torch.nn.Parameter(torch.linspace(-1, 1, 2))

    def forward(self, q, k, v):
        return self.attend(q, k, v, sinks=self.sinks, seqlens_k=torch.full((q.shape[0],), 15, dtype=torch.int32, device=q.device))


@pytest.mark.parametrize("Model", [Model, ModelWithSinks])
def test_an_exported_program_runs_in_another_process(Model, tmp_path):
    """An exported program runs in another process, with another length: `import fa4.torch` is all it needs, because the
    op is in the program."""
    q, k, v = (draw(1, heads, 32, 32).detach() for heads in (2, 1, 1))
    length = torch.export.Dim("length", min=2, max=512)
    program = torch.export.export(Model(), (q, k, v), dynamic_shapes=[{2: length}] * 3)
    tensors = [x[:, :, :20] for x in (q, k, v)]
    torch.export.save(program, tmp_path / "program.pt2")
    torch.save(tensors, tmp_path / "tensors.pt")
    text = "import torch, fa4.torch; p = torch.export.load('program.pt2').module(); torch.save(p(*torch.load('tensors.pt')), 'out.pt')"
    env = {**os.environ, "PYTHONPATH": str(Path(fa4.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert torch.equal(torch.load(tmp_path / "out.pt"), Model()(*tensors))
