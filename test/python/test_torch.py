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


pytestmark = pytest.mark.usefixtures("torch_settings")


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


BOUNDS = torch.tensor([0, 5, 16], dtype=torch.int32), torch.tensor([0, 24, 24], dtype=torch.int32)
REFUSED_BOUNDS = {
    "none of queries": ({"cu_seqlens_q": None}, fa4.SpecError, "the spec has cu_seqlens_q, and the call gives none: cu_seqlens_q is a tensor of i32, with the first row of each sequence in q, and the end"),
    "none of keys": ({"cu_seqlens_k": None}, fa4.SpecError, "the spec has cu_seqlens_k, and the call gives none: cu_seqlens_k is a tensor of i32, with the first row of each sequence in k, and the end"),
    "long": ({"cu_seqlens_q": BOUNDS[0].long()}, fa4.SpecError, r"cu_seqlens_q has elements of type torch.int64, and the spec's are i32: give cu_seqlens_q.to\(torch.int32\)"),
    "of floats": ({"cu_seqlens_k": BOUNDS[1].float()}, fa4.SpecError, r"cu_seqlens_k has elements of type torch.float32, and the spec's are i32: give cu_seqlens_k.to\(torch.int32\)"),
    "different lengths": ({"cu_seqlens_k": BOUNDS[1][:2]}, fa4.SpecError, r"cu_seqlens_k has shape \(2,\): dimension 0 is 2, but cu_seqlens_q has size B\+1 = 3"),
    "a row of them": ({"cu_seqlens_q": BOUNDS[0][None]}, fa4.SpecError, "cu_seqlens_q has 2 dimensions"),
    "no elements": ({"cu_seqlens_q": BOUNDS[0][:0], "cu_seqlens_k": BOUNDS[1][:0]}, fa4.SpecError, "cu_seqlens_q has no elements, and of no sequences it has one: the end"),
    "elsewhere": ({"cu_seqlens_k": BOUNDS[1].to("meta")}, fa4.SpecError, "q is on cpu, and cu_seqlens_k on meta: the tensors of a call are on one device"),
    "a list": ({"cu_seqlens_q": [0, 5, 16]}, TypeError, "cu_seqlens_q is a tensor of torch, not list"),
    "lengths of more sequences": ({"seqlens_k": torch.zeros(3, dtype=torch.int32)}, fa4.SpecError, "seqlens_k has 3 sequences, and cu_seqlens_q 3 elements, not one more than sequences"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED_BOUNDS)
def test_other_bounds_of_packed_sequences_are_refused(case):
    """A call gives bounds that are not those of packed sequences: the message says which, and what is wanted."""
    changed, error, message = REFUSED_BOUNDS[case]
    attend = fa4.torch.attention(fa4.sdpa(q="Tq H 32", k="Tk G 32", layout="thd", seqlens_k=True))
    given = {"cu_seqlens_q": BOUNDS[0], "cu_seqlens_k": BOUNDS[1], "seqlens_k": torch.tensor([20, 0], dtype=torch.int32)}
    q, k = draw(16, 2, 32), draw(24, 1, 32)
    assert attend(q, k, k, **given).shape == q.shape
    with pytest.raises(error, match=message):
        attend(q, k, k, **given | changed)


def test_bounds_of_a_spec_that_is_not_packed():
    """A call of another layout gives cu_seqlens: they would not count, and are refused; so are tensors with a batch of a packed layout."""
    q = draw(2, 16, 2, 32)
    with pytest.raises(fa4.SpecError, match=r'the call gives cu_seqlens_q, and the spec has none: fa4.sdpa\(..., layout="thd"\) is a spec that does'):
        fa4.torch.attention(fa4.sdpa(q="B S H 32", k="B S H 32"))(q, q, q, cu_seqlens_q=BOUNDS[0], cu_seqlens_k=BOUNDS[0])
    with pytest.raises(fa4.SpecError, match="q has 4 dimensions, .* and the spec 3"):
        fa4.torch.attention(fa4.sdpa(q="T H 32", k="T H 32", layout="thd"))(q, q, q, cu_seqlens_q=BOUNDS[0], cu_seqlens_k=BOUNDS[0])


REFUSED_OF_VARLEN = {
    "four dimensions": ({"q": torch.zeros(1, 16, 2, 32, dtype=torch.bfloat16)}, fa4.SpecError, r"q has 4 dimensions, not 3: \[T, H, D\]"),
    "f32": ({"q": torch.zeros(16, 2, 32)}, fa4.SpecError, "tensors of torch.float32: only bf16 and f16"),
    "another dtype of keys": ({"k": torch.zeros(24, 1, 32)}, fa4.SpecError, "k has elements of type torch.float32, and the spec's are bf16"),
    "a causal window to the right": ({"causal": True, "window": (4, 2)}, fa4.SpecError, "causal=True hides all keys to the right, and window shows 2 of them"),
    "-1 for no bound": ({"window": (4, -1)}, fa4.SpecError, "right of a mask is -1, which other libraries have for no bound"),
    "one bound": ({"window": 4}, TypeError, "window is how many keys to the left and to the right count, a pair of numbers or None, not 4"),
    "a number for causal": ({"causal": 1}, TypeError, "causal is True or False, not 1"),
    "sinks of f64": ({"sinks": torch.zeros(2, dtype=torch.float64)}, fa4.SpecError, "sinks are of type f32, bf16, f16, not 'f64'"),
    "no bounds": ({"cu_seqlens_k": None}, fa4.SpecError, "the spec has cu_seqlens_k, and the call gives none"),
    "the longest length": ({"max_seqlen_q": 11}, TypeError, "unexpected keyword argument 'max_seqlen_q'"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED_OF_VARLEN)
def test_other_arguments_of_varlen_are_refused(case):
    """A call of varlen has what no kernel takes, or what would not count: the message says which."""
    changed, error, message = REFUSED_OF_VARLEN[case]
    given = {"q": draw(16, 2, 32), "k": draw(24, 1, 32), "v": draw(24, 1, 32), "cu_seqlens_q": BOUNDS[0], "cu_seqlens_k": BOUNDS[1]}
    with pytest.raises(error, match=message):
        fa4.torch.varlen(**given | changed)


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
@pytest.mark.parametrize("form", ["alone", "with_sinks", "packed", "listed"])
def test_operator_is_well_formed(check, form):
    """The operator passes torch's own checks: schema, fake tensors, autograd and dynamic sizes, with the strides of a
    transposed view."""
    q, k, v = (draw(1, 1, 32, 32).detach().transpose(1, 2).requires_grad_() for _ in range(3))
    layout, lists, beside = "bshd", (None, None), (None, None, None, None)
    if form == "listed":
        lists = torch.zeros(1, 1, 1, 1, dtype=torch.int32), torch.ones(1, 1, 1, dtype=torch.int32)
    if form == "with_sinks":
        beside = (torch.zeros(1, requires_grad=True), torch.full((1,), 20, dtype=torch.int32), None, None)
    if form == "packed":
        q, k, v = (x.detach()[0].requires_grad_() for x in (q, k, v))
        layout, beside = "thd", (None, None, *(torch.tensor([0, middle, 32], dtype=torch.int32) for middle in (3, 20)))
    sizes = "B S H 32" if layout == "bshd" else "T H 32"
    more = {"sinks": form == "with_sinks", "seqlens_k": form == "with_sinks", "block_list": (128, 128) if form == "listed" else None}
    spec = fa4.sdpa(q=sizes, k=sizes, layout=layout, lse=True, mask="causal", **more)
    arguments = (q, k, v, None, *lists, *beside, [], [], layout, "", spec.text, spec.backward().text)
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
        for layout, shape in (("thd", (30, 4, 32)), ("htd", (4, 30, 32))):
            sizes = " ".join({"t": "T", "h": "H", "d": "32"}[letter] for letter in layout)
            attend = fa4.torch.attention(fa4.sdpa(q=sizes, k=sizes, layout=layout, lse=True))
            q, ends = torch.empty(shape, dtype=torch.bfloat16, requires_grad=True), torch.empty(3, dtype=torch.int32)
            out, lse = attend(q, q, q, cu_seqlens_q=ends, cu_seqlens_k=ends)
            assert out.shape == q.shape and lse.shape == (4, 30) and lse.dtype == torch.float32
            (out.sum() + lse.sum()).backward()
            assert q.grad.shape == q.shape


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


class PackedModel(torch.nn.Module):
    """Two sequences of the same length, [H, T, D], whose bounds are computed in the program."""

    def forward(self, q, k, v):
        ends = torch.arange(3, dtype=torch.int32, device=q.device) * (q.shape[2] // 2)
        return fa4.torch.varlen(*(x[0].transpose(0, 1) for x in (q, k, v)), ends, ends, causal=True)


@pytest.mark.parametrize("Model", [Model, ModelWithSinks, PackedModel])
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
