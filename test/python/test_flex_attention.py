# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fa4.torch.flex_attention in the place of torch's own: its arguments, and functions as its users write them, against torch's eager
flex_attention in float64."""

import functools
import math
import os
import warnings

import pytest

torch = pytest.importorskip("torch", reason="needs torch, for fa4.torch")

import torch.nn.functional as F  # noqa: E402
from torch.nn.attention import flex_attention as theirs  # noqa: E402

import fa4  # noqa: E402
from fa4 import _library  # noqa: E402

try:
    _library.find()
except fa4.LibraryNotFoundError as missing:
    pytest.skip(f"needs {missing}", allow_module_level=True)

B, HQ, HKV, S, D = 2, 4, 2, 64, 32
PLAIN = torch.Generator().manual_seed(3)


@pytest.fixture(scope="module")
def common_cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def settings(common_cache, monkeypatch):
    monkeypatch.setenv("FA4_CACHE_DIR", str(common_cache))
    monkeypatch.setenv("FA4_VERIFY_PTX", "0")
    # Eager mode at its plainest; torch warns of it.
    monkeypatch.setattr(theirs, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)
    warnings.filterwarnings("ignore", message=".*flex_attention")
    torch.manual_seed(int(os.environ.get("FA4_SEED", "0")))


def draw(*shape):
    return torch.randn(shape).to(torch.bfloat16)


def random(*shape):
    return torch.rand(shape, generator=PLAIN)


# ---------------------------------------------------------------------------
# Functions. Each is written for torch, and none knows of fa4.
# ---------------------------------------------------------------------------

SLOPES = 2.0 ** -torch.arange(1.0, HQ + 1)
WIDTHS = torch.tensor([3, 9, 27, 64])  # int64
IS_LOCAL = torch.tensor([True, False, True, False])
SHARPNESS = random(HQ).double() + 0.5
BY_HEAD = random(3, HQ)
HALVES = random(HQ).to(torch.bfloat16)
FACTOR, SHIFT, ON = torch.tensor(0.7), torch.tensor(11), torch.tensor(True)
TABLE = random(HQ, 2 * S - 1)
DISTANCE = torch.randint(0, 6, (B, S, S), generator=PLAIN)
BY_DISTANCE = random(HQ, 6)
BUCKETS = random(HQ, 8)
KEY_BIAS = random(S).half()
QUERY_PART, KEY_PART = random(B, HQ, S, 3), random(B, HKV, S, 3)
LENGTHS = torch.tensor([50, 33], dtype=torch.int32)
IS_TOKEN = torch.arange(S) < LENGTHS[:, None]
ENDS = torch.tensor([20, 41, S])
DOCUMENTS = (torch.arange(S)[:, None] >= ENDS).sum(1).to(torch.int16)
SPANS = torch.tensor([[[4, 9], [30, 44]], [[0, 2], [50, 60]]])
PAGES = torch.stack([torch.randperm(S // 8, generator=PLAIN) for _ in range(B)])
OF_FIVE_DIMENSIONS = random(1, B, HQ, S, S)
GRAPH = torch.rand(S, S, generator=PLAIN) > 0.4
GRAPH.fill_diagonal_(True)


def bucket_bias(score, b, h, q, k):
    distance = (q - k).abs()
    far = 4 + (torch.log2(distance.float().clamp_min(1.0)) - 2).to(torch.int64)
    return score + BUCKETS[h, torch.where(distance < 4, distance, far.clamp(max=7))]


def in_a_span(b, h, q, k):
    seen = q >= k
    for first, length in SPANS[b]:
        seen = seen | ((q >= first) & (k >= first) & (k < first + length))
    return seen


def rows_of_dots(score, b, h, q, k):
    return score + (QUERY_PART[b, h, q] * KEY_PART[b, h // 2, k]).sum(-1) - 0.1 * torch.dot(QUERY_PART[b, h, q], KEY_PART[b, h // 2, k])


def page_of(k):
    return k // 8, k % 8


def paged(b, h, q, k):
    page, offset = page_of(k)
    return q >= PAGES[b, page] * 8 + offset


def window(size):
    return lambda b, h, q, k: (q - k).abs() <= size


class Layer(torch.nn.Module):
    """Functions that are methods, and read a buffer and a plain attribute."""

    def __init__(self):
        super().__init__()
        self.register_buffer("slopes", SLOPES * 0.5)
        self.cap = 3.0

    def score_mod(self, score, b, h, q, k):
        return self.cap * (score / self.cap).tanh() - self.slopes[h] * (q - k).abs()


class Shift(torch.nn.Module):
    """A module is a function, too; its parameter is not trained."""

    def __init__(self):
        super().__init__()
        self.shift = torch.nn.Parameter(SLOPES, requires_grad=False)

    def forward(self, score, b, h, q, k):
        return score + self.shift[h]


SCORE_MODS = {
    "distance": lambda s, b, h, q, k: s - 0.05 * (q - k).abs(),
    "slopes": lambda s, b, h, q, k: s + SLOPES[h] * (k - q),
    "slopes_by_exp2": lambda s, b, h, q, k: s + (k - q) * torch.exp2(-(h + 1.0)),
    "power_of_two": lambda s, b, h, q, k: s + (k - q) * 2.0 ** (-1.0 * h - 1),
    "softcap_method": lambda s, b, h, q, k: (s / 2).tanh().mul(2.0),
    "softcap_sigmoid": lambda s, b, h, q, k: 4 * torch.sigmoid(s) - 2,
    "gelu": lambda s, b, h, q, k: F.gelu(s, approximate="tanh"),
    "activations": lambda s, b, h, q, k: F.relu(s) + F.silu(s) * 0.5 + F.leaky_relu(s, 0.2) + F.softplus(s) + F.elu(s, 0.5),
    "clamped": lambda s, b, h, q, k: s.clamp(min=-1.5, max=1.0) + torch.clamp(q - k, -3, 3) * 0.1,
    "masked_fill": lambda s, b, h, q, k: s.masked_fill(q < k, -float("inf")),
    "where_of_tensor": lambda s, b, h, q, k: torch.where(q >= k, s, torch.tensor(-math.inf)),
    "like": lambda s, b, h, q, k: torch.where(q >= k, s, torch.full_like(s, -1.0)) + torch.zeros_like(s),
    "logarithm": lambda s, b, h, q, k: s * torch.log1p(q) / 3 + torch.rsqrt(q + 1.0),
    "square": lambda s, b, h, q, k: s - (q - k).square() / (100 * SHARPNESS[h].pow(2)),
    "root": lambda s, b, h, q, k: s + (q + 1.0) ** 0.5 - torch.pow(k + 1.0, 1.5) * 0.001 + s**0,
    "of_two_rows": lambda s, b, h, q, k: s - BY_HEAD[0, h] * torch.log(1 + BY_HEAD[2, h] * torch.abs(q - k)),
    "half_table": lambda s, b, h, q, k: s * HALVES[h].float(),
    "factor": lambda s, b, h, q, k: s * FACTOR + FACTOR * 0.5,
    "default": lambda s, b, h, q, k, factor=FACTOR: factor * s,
    "condition_as_number": lambda s, b, h, q, k: s + (q >= k) * 0.5 - (k > 7).float() + (q < k).to(s.dtype),
    "condition_by_head": lambda s, b, h, q, k: torch.where(IS_LOCAL[h], s - 0.1 * (q - k).abs(), s),
    "rounding": lambda s, b, h, q, k: s + torch.floor(q / 4) * 0.1 + torch.div(k, 5, rounding_mode="floor") * 0.01 + torch.round(k / 3.0) * 0.01,
    "remainders": lambda s, b, h, q, k: s + torch.remainder(q - k, 5) * 0.1 + torch.fmod(q - k, 3) * 0.1 + (q - k) % 4 * 0.05,
    "signs": lambda s, b, h, q, k: s * torch.sign(q - k) + torch.copysign(torch.ones_like(s), s),
    "bf16": lambda s, b, h, q, k: s.to(torch.bfloat16).to(torch.float32) if s.dtype == torch.float32 else s.bfloat16().to(s.dtype),
    "maximum": lambda s, b, h, q, k: torch.maximum(s, -torch.ones_like(s)) + torch.minimum(s, 0 * s) + torch.max(s, FACTOR.to(s.dtype)),
    "method": Layer().score_mod,
    "partial": functools.partial(lambda s, b, h, q, k, *, table: s + table[h], table=SLOPES),
    "positions": lambda *given: given[0] * 0.5 + (given[3] - given[4]) * 0.01,
    "object": Shift(),
    "table_of_the_function": lambda s, b, h, q, k: s + torch.tensor([0.5, 1.0, 0.25, 0.0])[h],
}  # fmt: skip
MASK_MODS = {
    "torch_noop": theirs.noop_mask,
    "everything": lambda b, h, q, k: torch.ones_like(k, dtype=torch.bool),
    "and_masks": theirs.and_masks(lambda b, h, q, k: q >= k, window(9)),
    "or_masks": theirs.or_masks(lambda b, h, q, k: k < 5, lambda b, h, q, k: q >= k),
    "nested": theirs.and_masks(theirs.or_masks(window(4), lambda b, h, q, k: k < 2), lambda b, h, q, k: ~((q > 50) & (k > 60))),
    "logical": lambda b, h, q, k: torch.logical_or(torch.logical_and(torch.ge(q, k), torch.lt(q - k, 20)), torch.logical_not(q.ne(k))),
    "new_ones": lambda b, h, q, k: q.new_ones((), dtype=torch.bool) & (q >= k) | q.new_zeros((), dtype=torch.bool),
    "blocks": lambda b, h, q, k: q // 16 >= k // 16,
    "dilated": lambda b, h, q, k: ((q - k).abs() <= 30) & ((q - k).abs() % 3 == 0),
    "neighbours": lambda b, h, q, k: ((q // 8).clamp(2, 5) - k // 8).abs() <= 2,
    "bits": lambda b, h, q, k: ((q ^ k) & 5 == 0) | ((q >> 2) == (k >> 2)),
    "window_by_head": lambda b, h, q, k: (q >= k) & (q - k < WIDTHS[h]),
    "switch_by_head": lambda b, h, q, k: IS_LOCAL[h] & ((q - k).abs() < 5) | ~IS_LOCAL[h] & (q >= k),
    "offset": lambda b, h, q, k: q + SHIFT >= k,
    "switch": lambda b, h, q, k: ON & (q >= k) | (q == k),
    "counted_documents": lambda b, h, q, k: (q >= ENDS).sum() == (k >= ENDS).sum(),
    "one_of": lambda b, h, q, k: torch.isin(k, ENDS) | torch.isin(h, torch.tensor([0, 2])) | (q >= k),
    "any_of": lambda b, h, q, k: torch.stack([q >= k, k < 3, (q - k).abs() == SHIFT]).any(),
    "head_number": lambda b, h, q, k: (h % 2 == 0) | (q >= k),
}
# Tables that are read at the batch, the query or the key.
TABLE_SCORE_MODS = {
    "relative_table": lambda s, b, h, q, k: s + TABLE[h, q - k + S - 1],
    "table_of_table": lambda s, b, h, q, k: s + BY_DISTANCE[h, DISTANCE[b, q, k]],
    "bucket_bias": bucket_bias,
    "key_bias": lambda s, b, h, q, k: s + KEY_BIAS[k],
    "rows_of_dots": rows_of_dots,
    "padding": lambda s, b, h, q, k: torch.where(IS_TOKEN[b, k], s, -math.inf),
}
TABLE_MASK_MODS = {
    "documents": lambda b, h, q, k: DOCUMENTS[q] == DOCUMENTS[k],
    "documents_of_batch": lambda b, h, q, k: (q >= k) & (DOCUMENTS.expand(B, S)[b, q] == DOCUMENTS.expand(B, S)[b, k]),
    "lengths": lambda b, h, q, k: (k < LENGTHS[b]) | (k == 0),
    "tokens": lambda b, h, q, k: IS_TOKEN[b, k],
    "spans": in_a_span,
    "paged": paged,
    "graph": lambda b, h, q, k: GRAPH[q, k],
}


def reference(q, k, v, function, kind):
    block_mask = theirs.create_block_mask(function, B, HQ, S, S, device="cpu", BLOCK_SIZE=S) if kind == "mask_mod" else None
    given = {"block_mask": block_mask} if block_mask is not None else {"score_mod": function}
    # Scores in f32 where a function rounds them, else in float64.
    return theirs.flex_attention(q.double(), k.double(), v.double(), enable_gqa=True, **given)


def inputs():
    return draw(B, HQ, S, D), draw(B, HKV, S, D), draw(B, HKV, S, D)


CASES = [
    *(("score_mod", name, f) for name, f in (SCORE_MODS | TABLE_SCORE_MODS).items()),
    *(("mask_mod", name, f) for name, f in (MASK_MODS | TABLE_MASK_MODS).items()),
]


@pytest.mark.parametrize(("kind", "name", "function"), CASES, ids=[name for _, name, _ in CASES])
def test_functions_of_flex_attention_have_kernels(kind, name, function):
    """A function of torch's users is given: fa4's kernel and reference must both give torch's results."""
    q, k, v = inputs()
    wanted = reference(q, k, v, function, kind)
    spec = fa4.sdpa(q=f"B Hq Sq {D}", k=f"B Hkv Sk {D}", layout="bhsd", **{kind: function})
    assert abs(spec.reference(q=q, k=k, v=v).out - wanted.numpy()).max() < (1e-2 if name == "bf16" else 1e-6)
    out = fa4.torch.flex_attention(q, k, v, **{kind: function})
    assert (out - wanted).abs().max() < 3e-2


@pytest.mark.parametrize(
    ("kind", "function"),
    [
        ("score_mod", lambda s, b, h, q, k: s + OF_FIVE_DIMENSIONS[0, b, h, q, k]),
        ("mask_mod", lambda b, h, q, k: OF_FIVE_DIMENSIONS[0, b, h, q, k] > 0),
    ],
)
def test_functions_without_kernels_are_traced_and_refused_by_their_captures_name(kind, function):
    """A function reads a tensor of more dimensions than a kernel does: the reference must be right, and the compiler must name
    the tensor."""
    q, k, v = inputs()
    spec = fa4.sdpa(q=f"B Hq Sq {D}", k=f"B Hkv Sk {D}", layout="bhsd", **{kind: function})
    assert abs(spec.reference(q=q, k=k, v=v).out - reference(q, k, v, function, kind).numpy()).max() < 1e-6
    with pytest.raises(fa4.CompileError, match="not supported on sm_100a: capture 'OF_FIVE_DIMENSIONS' of type .* with 1 to 4 dimensions") as caught:
        fa4.torch.flex_attention(q, k, v, **{kind: function})
    assert "memref<" not in str(caught.value)


# ---------------------------------------------------------------------------
# Arguments
# ---------------------------------------------------------------------------


def causal(b, h, q, k):
    return q >= k


def test_block_masks_gqa_and_auxiliary_results():
    """Arguments are given in torch's order, with a block mask: out and LSE must be those of torch."""
    q, k, v = inputs()
    block_mask = theirs.create_block_mask(causal, 1, 1, S, S, device="cpu", BLOCK_SIZE=16)
    request = theirs.AuxRequest(lse=True)
    # In torch's order.
    out, aux = fa4.torch.flex_attention(q, k, v, None, block_mask, 0.2, True, False, {"BLOCK_M": 64}, return_aux=request)
    wanted, theirs_aux = theirs.flex_attention(q.double(), k.double(), v.double(), None, block_mask, 0.2, True, return_aux=request)
    assert (out - wanted).abs().max() < 2e-2 and (aux.lse - theirs_aux.lse).abs().max() < 1e-3 and aux.max_scores is None
    again, lse = fa4.torch.flex_attention(q, k, v, mask_mod=causal, scale=0.2, return_lse=True)
    assert torch.equal(out, again) and torch.equal(lse, aux.lse)
    assert torch.equal(fa4.torch.flex_attention(q, k, v, None, causal, 0.2), out)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (lambda: {"block_mask": theirs.create_block_mask(causal, 1, 1, 32, S, device="cpu")}, fa4.SpecError, r"made for lengths \(32, 64\)"),
        (lambda: {"block_mask": 5}, TypeError, "block_mask is a BlockMask"),
        (lambda: {"block_mask": causal, "mask_mod": causal}, fa4.SpecError, "give one of them"),
        (lambda: {"return_aux": theirs.AuxRequest(max_scores=True)}, fa4.SpecError, "no max_scores"),
        (lambda: {"return_aux": theirs.AuxRequest(), "return_lse": True}, fa4.SpecError, "does not go together with return_lse"),
        (lambda: {"kernel_options": "fast"}, TypeError, "kernel_options is a dict or None"),
        (lambda: {"score_mod": lambda s, b, h, q, k: torch.lgamma(s)}, fa4.TraceError, "torch.lgamma is no function of fa4.math"),
        (lambda: {"score_mod": lambda s, b, h, q, k: torch.erf_(s)}, fa4.TraceError, "torch.erf_ is no function"),
        (lambda: {"score_mod": lambda s, b, h, q, k: s.item()}, fa4.TraceError, "no attribute 'item'"),
        (lambda: {"score_mod": lambda s, b, h, q, k: s + SLOPES}, fa4.TraceError, "Row is neither a value nor a number"),
        (lambda: {"score_mod": lambda s, b, h, q, k: s + TABLE[h]}, fa4.TraceError, "Row is neither a value nor a number"),
        (lambda: {"score_mod": lambda s, b, h, q, k: s + TABLE[h, q, k]}, fa4.TraceError, "a tensor of 2 dimensions is read with 3 indices"),
        (lambda: {"score_mod": lambda s, b, h, q, k: s + SLOPES[s]}, fa4.TraceError, "indices of a captured tensor are whole numbers"),
        (lambda: {"score_mod": lambda s, b, h, q, k: s + TABLE[h, -200]}, fa4.TraceError, "index -200 is out of the 127 elements"),
        (lambda: {"score_mod": lambda s, b, h, q, k: s + torch.zeros(2, 0)[h]}, fa4.TraceError, "a tensor without elements"),
        (lambda: {"score_mod": lambda s, b, h, q, k: s + torch.zeros(4, dtype=torch.complex64)[h]}, fa4.TraceError, "torch.complex64 is no capture"),
        (lambda: {"score_mod": lambda s, b, h, q, k: s + torch.zeros(4)[h].to(torch.int8)}, fa4.TraceError, "does not become one of torch.int8"),
        (lambda: {"score_mod": lambda s, b, h, q, k: s + torch.full((4,), 2**40)[h]}, fa4.SpecError, "beyond the range of 32 bits"),
        (lambda: {"score_mod": lambda s, b, h, q, k: s + torch.ones(4, requires_grad=True)[h]}, fa4.SpecError, "requires a gradient"),
    ],
)
def test_what_is_refused(given, error, message):
    """An argument or a function has no kernel: fa4 must refuse it with the right error and sentence."""
    q, k, v = inputs()
    with pytest.raises(error, match=message):
        fa4.torch.flex_attention(q, k, v, **given())


@pytest.mark.parametrize("name", ["query", "key", "value", "score_mod", "block_mask", "scale", "enable_gqa", "return_lse", "kernel_options", "return_aux", "mask_mod", "copy"])
def test_wrong_arguments_end_in_a_sentence(name):
    """An argument of flex_attention has any value: fa4 must take it or refuse it with a sentence."""
    import test_arguments

    call = dict(zip(("query", "key", "value"), inputs()))
    for value in (*test_arguments.POOL.values(), torch.zeros(3), torch.zeros(()), call["query"][0], call["query"].int()):
        if name != "scale" or value is not None:
            test_arguments.hold(lambda: fa4.torch.flex_attention(**{**call, "mask_mod": lambda b, h, i, j: q_is_wrong(), name: value}), also=RuntimeError)


def q_is_wrong():
    raise RuntimeError("the function was called: all arguments before it are right")


def test_wrong_arguments_of_attention_end_in_a_sentence():
    """An argument of fa4.torch.attention has any value: fa4 must take it or refuse it with a sentence."""
    import test_arguments

    q, k, v = inputs()
    attend = fa4.torch.attention(fa4.sdpa(q=f"B H S {D}", k=f"B G S {D}", layout="bhsd", score_mod=lambda s, b, h, i, j, cap, table: s * cap + table[h],
                                          captures={"cap": "f32", "table": "f32 H"}))  # fmt: skip
    for value in (*test_arguments.POOL.values(), torch.zeros(3), torch.zeros(()), q.int()):
        for call in ({"q": value}, {"v": value}, {"cap": value}, {"table": value}):
            if not isinstance(value, (int, float)) or "cap" not in call:
                test_arguments.hold(lambda: attend(**{"q": q, "k": k, "v": v, "cap": 1.0, "table": SLOPES, **call}))
        test_arguments.hold(lambda: fa4.torch.attention(value))
        test_arguments.hold(lambda: fa4.torch.attention(fa4.sdpa(q="B H S 32", k="B H S 32"), copy=value))
        test_arguments.hold(lambda: fa4.torch.attention(fa4.sdpa(q="B H S 32", k="B H S 32"), deterministic=value))


def test_tensors_of_functions_are_read_at_each_call():
    """A tensor that a function reads may change between calls: in place, by another tensor in the same variable, or as
    a number. Each call must use the present value."""
    q, k, v = inputs()
    slopes, factor = SLOPES.clone(), torch.tensor(1.0)

    def score_mod(score, b, h, q_idx, k_idx):
        return score * factor + slopes[h] * (k_idx - q_idx)

    spec = fa4.sdpa(q=f"B Hq Sq {D}", k=f"B Hkv Sk {D}", layout="bhsd", score_mod=score_mod)
    assert {name: each.kind for name, each in spec.found.items()} == {"factor": "f32", "slopes": f"f32 {HQ}"}
    made = fa4.compile(spec)

    def check():
        wanted = reference(q, k, v, score_mod, "score_mod")
        assert (fa4.torch.flex_attention(q, k, v, score_mod=score_mod) - wanted).abs().max() < 3e-2

    check()
    first = made.simulate(q=q, k=k, v=v).out
    slopes.mul_(3)
    factor.fill_(0.25)
    check()
    # A spec holds the tensors, and sees what is in them.
    assert abs(made.simulate(q=q, k=k, v=v).out - first).max() > 0.1
    assert abs(made.simulate(q=q, k=k, v=v, factor=1.0, slopes=slopes / 3).out - first).max() < 1e-6
    slopes, factor = -SLOPES, torch.tensor(2)
    check()


def test_operators_of_others_are_known_by_what_trace_as_says():
    """A function calls a custom operator: it must be refused before trace_as, and right after."""
    library = torch.library.Library("fa4test", "DEF")
    library.define("tanh(Tensor x) -> Tensor")
    library.impl("tanh", torch.tanh, "CompositeImplicitAutograd")
    q, k, v = inputs()

    def softcap(score, b, h, q_idx, k_idx):
        return 2 * torch.ops.fa4test.tanh(score / 2)

    with pytest.raises(fa4.TraceError, match="torch.ops.fa4test.tanh is no function of fa4.math, unless fa4.torch.trace_as"):
        fa4.torch.flex_attention(q, k, v, score_mod=softcap)
    fa4.torch.trace_as(torch.ops.fa4test.tanh, fa4.math.tanh)
    wanted = reference(q, k, v, lambda s, b, h, i, j: 2 * torch.tanh(s / 2), "score_mod")
    assert (fa4.torch.flex_attention(q, k, v, score_mod=softcap) - wanted).abs().max() < 2e-2


@pytest.mark.parametrize("name", ["slopes", "factor", "clamped", "and_masks", "window_by_head", "method"])
def test_functions_are_traced_by_torch_compile(name):
    """flex_attention is called under torch.compile: the result must have the same bits as without."""
    q, k, v = inputs()
    kind, _, function = next(case for case in CASES if case[1] == name)
    run = torch.compile(lambda q, k, v: fa4.torch.flex_attention(q, k, v, **{kind: function}), fullgraph=True, backend="eager")
    assert torch.equal(run(q, k, v), fa4.torch.flex_attention(q, k, v, **{kind: function}))


def test_gradient_through_a_function_that_reads_a_tensor():
    """A score_mod reads a tensor: the gradients of q, k and v must be those of torch."""
    q, k, v = (each.requires_grad_() for each in inputs())
    copies = [each.detach().double().requires_grad_() for each in (q, k, v)]
    fa4.torch.flex_attention(q, k, v, score_mod=SCORE_MODS["slopes"]).float().sin().sum().backward()
    whole = [each.repeat_interleave(HQ // each.shape[1], 1) for each in copies]
    scores = whole[0] @ whole[1].mT / math.sqrt(D) + SLOPES[:, None, None] * (torch.arange(S) - torch.arange(S)[:, None])
    (torch.softmax(scores, -1) @ whole[2]).sin().sum().backward()
    for ours, wanted in zip((q, k, v), copies):
        assert ((ours.grad - wanted.grad).abs() / (1 + wanted.grad.abs())).max() < 3e-2


def test_the_page_lists_the_functions_of_torch():
    """docs/python.md must name each function of torch that a traced function may call."""
    from fa4 import torch_functions, tools

    page = (tools.ROOT / "docs" / "python.md").read_text()
    names = {name for name in (*torch_functions.ELEMENTWISE, *torch_functions.WHOLE) if not name.startswith("_")}
    assert not [name for name in sorted(names) if f"`{name}`" not in page]
