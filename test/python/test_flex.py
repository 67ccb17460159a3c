# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fa4.flex, on tensors of the CPU by the simulator, with kernels for Blackwell and for Hopper, against torch's flex_attention in float64."""

import math
import warnings

import pytest

torch = pytest.importorskip("torch", reason="needs torch, for fa4.flex")

from torch.nn.attention import flex_attention as theirs  # noqa: E402

import fa4  # noqa: E402
from fa4 import _library, torch_ops  # noqa: E402

try:
    _library.find()
except fa4.LibraryNotFoundError as missing:
    pytest.skip(f"needs {missing}", allow_module_level=True)

D = 32
SLOPES = 2.0 ** -torch.arange(1.0, 5)


@pytest.fixture(scope="module")
def common_cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def settings(common_cache, monkeypatch):
    monkeypatch.setenv("FA4_CACHE_DIR", str(common_cache))
    monkeypatch.setenv("FA4_VERIFY_PTX", "0")
    monkeypatch.setattr(theirs, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)
    warnings.filterwarnings("ignore", message=".*flex_attention")
    torch.manual_seed(0)
    torch._dynamo.reset()


@pytest.fixture(params=["sm_100a", "sm_90a"])
def chip(request, monkeypatch):
    """What the simulator runs on tensors of the CPU."""
    monkeypatch.setattr(torch_ops, "_chip", lambda tensor: request.param)
    torch_ops._kernel.cache_clear()
    return request.param


def draw(queries=64, keys=96, heads=4, kv_heads=2, dim=D, dtype=torch.bfloat16):
    shapes = ((heads, queries), (kv_heads, keys), (kv_heads, keys))
    return [torch.randn(2, *shape, dim, dtype=torch.float32).to(dtype) for shape in shapes]


def softcap(score, b, h, q_idx, kv_idx):
    return 20 * torch.tanh(score / 20)


def alibi(score, b, h, q_idx, kv_idx):
    return score + SLOPES[h] * (kv_idx - q_idx)


def documents(b, h, q_idx, kv_idx):
    return q_idx // 32 == kv_idx // 32


def causal(b, h, q_idx, kv_idx):
    return q_idx >= kv_idx


FORMS = {
    "full": {},
    "scale": {"scale": 0.3},
    "causal": {"mask_mod": causal},
    "softcap": {"score_mod": softcap},
    "documents": {"mask_mod": documents},
    "alibi": {"score_mod": alibi, "mask_mod": causal},
    "composed": {"score_mod": softcap, "mask_mod": theirs.and_masks(causal, documents)},
}


def expected(q, k, v, score_mod=None, mask_mod=None, scale=None):
    """(out, lse) by torch in float64."""
    mask = mask_mod and theirs.create_block_mask(mask_mod, 1, 1, q.shape[2], k.shape[2], device="cpu")
    return theirs.flex_attention(*(x.detach().double() for x in (q, k, v)), score_mod, mask, scale, enable_gqa=True, return_lse=True)


def check(got, wanted, bar=2e-2):
    out, lse = got
    assert torch.equal(lse.isinf(), wanted[1].isinf())
    assert (out - wanted[0]).abs().max() < bar and (lse - wanted[1]).nan_to_num(0, 0, 0).abs().max() < 1e-4


@pytest.mark.parametrize(("form", "dtype"), [*((form, torch.bfloat16) for form in FORMS), ("composed", torch.float16)], ids=[*FORMS, "f16"])
def test_out_and_lse_are_those_of_torch(chip, form, dtype):
    """A function of a user's is given: out and LSE must be those of torch's flex_attention, in the dtypes and shapes that it gives."""
    q, k, v = draw(dtype=dtype)
    call = {"enable_gqa": True, **FORMS[form]}
    out, lse = fa4.flex(q, k, v, return_lse=True, **call)
    check((out, lse), expected(q, k, v, **FORMS[form]))
    assert (out.dtype, out.shape, lse.dtype, lse.shape) == (dtype, q.shape, torch.float32, q.shape[:3])
    assert torch.equal(fa4.flex(q, k, v, **call), out)


def test_queries_that_see_no_key_have_zeros(chip):
    """A mask hides all keys of some queries: out must be 0 and the LSE -inf, as in torch."""
    q, k, v = draw(64, 32, kv_heads=4)
    out, lse = fa4.flex(q, k, v, mask_mod=documents, return_lse=True)
    check((out, lse), expected(q, k, v, mask_mod=documents))
    assert not out[:, :, 32:].any() and (lse[:, :, 32:] == -math.inf).all()


def test_one_kernel_serves_all_sizes(chip, monkeypatch):
    """Lengths, batches, numbers of heads and strides vary: there must be one compilation. Another dtype or head dim is another one, and so
    are few queries, by their number and those of heads."""
    compiled = []
    honest = fa4.kernel.compile
    monkeypatch.setattr(fa4.kernel, "compile", lambda *given, **options: (compiled.append(given), honest(*given, **options))[1])

    def run(*sizes, **options):
        q, k, v = draw(*sizes, **options)
        q = q.transpose(1, 2).contiguous().transpose(1, 2)
        check(fa4.flex(q, k, v, softcap, causal, enable_gqa=True, return_lse=True), expected(q, k, v, softcap, causal))

    for sizes in ((64, 96, 4, 2), (65, 96, 4, 2), (17, 200, 4, 2), (40, 17, 6, 3), (128, 128, 2, 1)):
        run(*sizes)
    assert len(compiled) == 1
    run(dtype=torch.float16)
    run(dim=64)
    assert len(compiled) == 3
    for sizes in ((1, 200, 4, 2), (1, 300, 4, 2), (16, 200, 4, 2), (1, 200, 4, 1)):
        run(*sizes)
    assert len(compiled) == 6


def test_lengths_vary_under_torch_compile(chip):
    """fa4.flex is in a compiled function: no graph break, and one graph for all lengths."""
    from torch._dynamo.testing import CompileCounterWithBackend

    counter = CompileCounterWithBackend("aot_eager")
    run = torch.compile(lambda q, k, v: fa4.flex(q, k, v, softcap, documents, return_lse=True) + (q + 1,), fullgraph=True, dynamic=True, backend=counter)
    for queries, keys in ((64, 96), (100, 40), (33, 130)):
        q, k, v = draw(queries, keys, kv_heads=4)
        *got, _ = run(q, k, v)
        check(got, expected(q, k, v, softcap, documents))
    assert counter.frame_count == 1


def test_gradient(chip):
    """backward() must give torch's gradients."""
    q, k, v = (x.requires_grad_() for x in draw(kv_heads=4))
    out, lse = fa4.flex(q, k, v, alibi, causal, return_lse=True)
    check((out, lse), expected(q, k, v, alibi, causal))
    out.float().sin().sum().backward()
    copies = [x.detach().double().requires_grad_() for x in (q, k, v)]
    scores = copies[0] @ copies[1].mT / math.sqrt(D) + SLOPES[:, None, None] * (torch.arange(96) - torch.arange(64)[:, None])
    scores = scores.masked_fill(torch.arange(96) > torch.arange(64)[:, None], -math.inf)
    (scores.softmax(-1) @ copies[2]).sin().sum().backward()
    for ours, wanted in zip((q, k, v), copies):
        assert (ours.grad - wanted.grad).abs().max() < 5e-2


def reads_a_table(b, h, q_idx, kv_idx):
    return OF_FIVE_DIMENSIONS[0, b, h, q_idx, kv_idx] > 0


OF_FIVE_DIMENSIONS = torch.zeros(1, 2, 4, 64, 96, dtype=torch.int32)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"q": 5}, TypeError, "q is a tensor of torch, not int"),
        ({"k": torch.zeros(4, 96, D)}, fa4.SpecError, r"k has 3 dimensions, not 4: \[B, H, S, D\]"),
        ({"enable_gqa": False}, fa4.SpecError, "q has 4 heads, and k 2: enable_gqa=True allows fewer heads"),
        ({"enable_gqa": 1}, TypeError, "enable_gqa is True or False, not 1"),
        ({"return_lse": None}, TypeError, "return_lse is True or False, not None"),
        ({"q": torch.zeros(2, 4, 64, D)}, fa4.SpecError, "tensors of torch.float32: only bf16 and f16"),
        ({"q": torch.zeros(2, 3, 64, D, dtype=torch.bfloat16)}, fa4.Fa4Error, "Hq is no multiple of Hkv|multiple"),
        ({"scale": math.inf}, fa4.SpecError, "scale is inf, which f32 does not have"),
        ({"mask_mod": lambda b, h, i, j: i - j}, fa4.TraceError, "mask_mod can't be traced: it returns a number"),
        ({"score_mod": lambda s, b, h, i, j: s if s > 0 else 0}, fa4.TraceError, "use fa4.math.where for `if`"),
        ({"mask_mod": reads_a_table}, fa4.CompileError, "capture 'OF_FIVE_DIMENSIONS' of type .* with 1 to 4 dimensions"),
    ],
)
def test_what_is_refused(chip, change, error, message):
    """An argument is wrong, or a function has no kernel: fa4.flex must raise this error."""
    q, k, v = draw()
    with pytest.raises(error, match=message):
        fa4.flex(**{"q": q, "k": k, "v": v, "enable_gqa": True, **change})
