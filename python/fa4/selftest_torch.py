# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `fa4 selftest` does with torch on a GPU: launches on its tensors, streams and graphs, the operator with its gradient, torch.compile, fa4.flex,
and times beside torch's own attention.

A check takes the device and its chip. It returns the errors of results, the norm of the difference to float64 over the norm, and raises what fa4
raises. What else must hold, as that there is no graph break, is an AssertionError with a sentence."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import fa4

# The sizes of results that are compared, and then other lengths: kernels are for all of them.
BATCH, HEADS, KV_HEADS, DIM = 2, 4, 2, 128
LENGTHS = ((384, 640), (200, 333), (1, 77))
FORM = {"q": f"B Sq H {DIM}", "k": f"B Sk G {DIM}", "mask": "causal", "lse": True}
CAP, DOCUMENT = 20.0, 256


# ---------------------------------------------------------------------------
# Tensors, and what is expected
# ---------------------------------------------------------------------------


def _draw(device, queries: int, keys: int, layout: str = "bshd") -> list:
    """q, k and v in bf16. Those of layout bshd are views, as models have them: heads are transposed."""
    import torch

    drawn = [
        torch.randn(BATCH, heads, length, DIM, device=device, dtype=torch.bfloat16)
        for heads, length in ((HEADS, queries), (KV_HEADS, keys), (KV_HEADS, keys))
    ]
    return [each.transpose(1, 2) for each in drawn] if layout == "bshd" else drawn


def _expected(q, k, v, score_mod=None, mask_mod=None, sinks=None) -> tuple:
    """(out, lse) of tensors [B, H, S, D] in float64; the functions are those of torch's flex_attention. `sinks`: a score for each head."""
    import torch

    q, k, v = (each.double() for each in (q, k, v))
    k, v = (each.repeat_interleave(q.shape[1] // each.shape[1], 1) for each in (k, v))
    b, h, i, j = (
        torch.arange(size, device=q.device).reshape([-1 if at == dim else 1 for at in range(4)])
        for dim, size in enumerate((*q.shape[:3], k.shape[2]))
    )
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    scores = score_mod(scores, b, h, i, j) if score_mod else scores
    scores = scores.masked_fill(~mask_mod(b, h, i, j), -math.inf) if mask_mod else scores
    joined = scores if sinks is None else torch.cat((scores, sinks[:, None, None].expand(*scores.shape[:3], 1)), -1)
    lse = joined.logsumexp(-1)
    # A row without a key has zeros.
    return (scores - lse.masked_fill(lse.isinf(), 0)[..., None]).exp() @ v, lse


def _causal(shift) -> Callable:
    return lambda b, h, i, j: i + shift >= j


def _expected_of_form(q, k, v, sinks=None, lengths=None) -> tuple:
    """The same of FORM, whose tensors are [B, S, H, D]. The last query sees the last key of its sequence, so that none is seen behind a length."""
    q, k, v = (each.transpose(1, 2) for each in (q, k, v))
    keys = k.shape[2] if lengths is None else lengths.view(-1, 1, 1, 1)
    out, lse = _expected(q, k, v, mask_mod=_causal(keys - q.shape[2]), sinks=sinks)
    return out.transpose(1, 2), lse


def _expected_of_packed(q, k, v, queries: list[int], keys: list[int]) -> tuple:
    """The same of each sequence of FORM packed, whose tensors are [T, H, D], and which begin and end at these rows of q and of k."""
    import torch

    spans = zip(zip(queries, queries[1:]), zip(keys, keys[1:]))
    found = [_expected_of_form(q[None, slice(*rows)], *(each[None, slice(*columns)] for each in (k, v))) for rows, columns in spans if rows[0] < rows[1]]
    return torch.cat([out[0] for out, _ in found]), torch.cat([lse[0] for _, lse in found], -1)


def _error(result, expected) -> float:
    result, expected = result.detach().double(), expected.detach()
    seen = expected.isfinite()
    if not (result.isfinite() == seen).all():
        return math.inf
    norm = expected[seen].norm()
    return float((result[seen] - expected[seen]).norm() / (norm or 1.0))


def _errors(results, expected) -> dict[str, float]:
    return {name: _error(*both) for name, *both in zip(("out", "lse"), results, expected)}


def _worst(*several: dict[str, float]) -> dict[str, float]:
    return {name: max(each[name] for each in several) for name in several[0]}


# ---------------------------------------------------------------------------
# Checks
# ---------------------------------------------------------------------------


def _results(q) -> tuple:
    import torch

    return torch.empty_like(q), torch.empty(q.shape[0], q.shape[2], q.shape[1], device=q.device)


def check_launch(device, chip: str) -> dict:
    """Kernel.launch takes views of torch's tensors where they are, and runs on torch's current stream, behind what is there."""
    import torch

    kernel = fa4.compile(fa4.sdpa(**FORM), chip)
    q, k, v = _draw(device, *LENGTHS[0])
    late, (out, lse) = torch.randn_like(q), _results(q)
    work = torch.ones(2**24, device=device)
    # The first launch loads the kernel, which takes longer than all of the work.
    kernel.launch(q=q, k=k, v=v, out=out, lse=lse)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream(device)
    with torch.cuda.stream(stream):
        # A launch on another stream would read q before it is there: this takes a millisecond.
        for _ in range(20):
            work.mul_(1)
        q.copy_(late)
        kernel.launch(q=q, k=k, v=v, out=out, lse=lse)
    stream.synchronize()
    return _errors((out, lse), _expected_of_form(late, k, v))


def check_graph(device, chip: str) -> dict:
    """A launch in a CUDA graph, replayed on other contents of its tensors."""
    import torch

    kernel = fa4.compile(fa4.sdpa(**FORM), chip)
    q, k, v = _draw(device, *LENGTHS[0])
    out, lse = _results(q)
    prepared = kernel.prepare(q=q, k=k, v=v, out=out, lse=lse)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        prepared.launch()
    found = []
    for _ in range(2):
        q.copy_(torch.randn_like(q))
        graph.replay()
        torch.cuda.synchronize()
        found.append(_errors((out, lse), _expected_of_form(q, k, v)))
    return _worst(*found)


def check_operator(device, chip: str) -> dict:
    """The operator of torch.library on tensors that require a gradient, which nobody asks for."""
    attend = fa4.torch.attention(fa4.sdpa(**FORM))
    q, k, v = (each.requires_grad_() for each in _draw(device, *LENGTHS[0]))
    return _errors(attend(q, k, v), _expected_of_form(*(each.detach() for each in (q, k, v))))


def _errors_of_gradients(attend: Callable, expected: Callable, drawn: list) -> dict[str, float]:
    """Errors of results and of gradients, through the LSE, too, of functions of tensors in the order of `drawn`."""
    import torch

    tensors = [each.detach().requires_grad_() for each in drawn]
    copies = [each.detach().double().requires_grad_() for each in tensors]
    results, wanted = attend(*tensors), expected(*copies)
    gradients = [
        torch.autograd.grad(out.double().sin().sum() + lse.double().cos().sum(), given)
        for given, (out, lse) in ((tensors, results), (copies, wanted))
    ]
    return _errors(results, wanted) | {name: _error(*both) for name, *both in zip(("dq", "dk", "dv", "dsinks"), *gradients)}


def check_gradient(device, chip: str) -> dict:
    """backward(), through the LSE, too."""
    return _errors_of_gradients(fa4.torch.attention(fa4.sdpa(**FORM)), _expected_of_form, _draw(device, *LENGTHS[0]))


def check_sinks(device, chip: str) -> dict:
    """Sinks and numbers of keys, of which one is that of the whole room, and the other leaves the first queries without a key: results and gradients."""
    import torch

    queries, keys = LENGTHS[0]
    lengths = torch.tensor([keys, queries // 2], dtype=torch.int32, device=device)
    attend = fa4.torch.attention(fa4.sdpa(**FORM, sinks=True, seqlens_k=True))
    drawn = [*_draw(device, queries, keys), torch.randn(HEADS, device=device)]
    return _errors_of_gradients(
        lambda q, k, v, sinks: attend(q, k, v, sinks=sinks, seqlens_k=lengths), lambda *copies: _expected_of_form(*copies, lengths=lengths), drawn
    )


def check_packed(device, chip: str) -> dict:
    """Packed sequences of different lengths, of which one has no query: results and gradients. Lengths differ from those of a call before."""
    import torch

    attend = fa4.torch.attention(fa4.sdpa(q=f"Tq H {DIM}", k=f"Tk G {DIM}", layout="thd", mask="causal", lse=True))
    found = []
    for queries, keys in (([0, 30, 30, 384], [0, 130, 200, 640]), ([0, 200], [0, 333])):
        ends = {f"cu_seqlens_{name}": torch.tensor(bounds, dtype=torch.int32, device=device) for name, bounds in (("q", queries), ("k", keys))}
        drawn = [torch.randn(length, heads, DIM, device=device, dtype=torch.bfloat16)
                 for length, heads in ((queries[-1], HEADS), (keys[-1], KV_HEADS), (keys[-1], KV_HEADS))]  # fmt: skip
        found.append(_errors_of_gradients(partial(attend, **ends), partial(_expected_of_packed, queries=queries, keys=keys), drawn))
    return _worst(*found)


def check_compile(device, chip: str) -> dict:
    """torch.compile without a graph break, and one graph for all lengths."""
    import torch
    from torch._dynamo.testing import CompileCounterWithBackend

    torch._dynamo.reset()
    attend, counter = fa4.torch.attention(fa4.sdpa(**FORM)), CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(lambda q, k, v: attend(2 * q, k, v), fullgraph=True, dynamic=True, backend=counter)
    found = []
    # One query is a constant to torch.compile.
    for queries, keys in LENGTHS[:2]:
        q, k, v = _draw(device, queries, keys)
        found.append(_errors(compiled(q, k, v), _expected_of_form(2 * q, k, v)))
    assert counter.frame_count == 1, f"torch.compile has made {counter.frame_count} graphs for {len(found)} lengths, not one"
    return _worst(*found)


def softcap(score, b, h, q_idx, kv_idx):
    import torch

    return CAP * torch.tanh(score / CAP)


def documents(b, h, q_idx, kv_idx):
    return q_idx // DOCUMENT == kv_idx // DOCUMENT


def _flex(device, **functions) -> dict:
    """fa4.flex for several lengths, of which the first alone compiles a kernel, and few queries one of their own."""
    from fa4 import torch_ops
    from fa4.spec import FEW_QUERIES

    found, compiled = [], []
    for queries, keys in LENGTHS:
        before = torch_ops._kernel.cache_info().misses
        q, k, v = _draw(device, queries, keys, "bhsd")
        found.append(_errors(fa4.flex(q, k, v, enable_gqa=True, return_lse=True, **functions), _expected(q, k, v, **functions)))
        compiled.append(torch_ops._kernel.cache_info().misses - before)
    anew = [count for count, (queries, _) in zip(compiled[1:], LENGTHS[1:]) if queries > FEW_QUERIES]
    assert not any(anew), "fa4.flex has compiled a kernel anew for another length"
    return _worst(*found)


def check_softcap(device, chip: str) -> dict:
    return _flex(device, score_mod=softcap)


def check_documents(device, chip: str) -> dict:
    return _flex(device, mask_mod=documents)


def check_alibi(device, chip: str) -> dict:
    """A tensor that the function closes over, with a number for each head."""
    import torch

    slopes = 2.0 ** -torch.arange(1.0, HEADS + 1, device=device)
    return _flex(device, score_mod=lambda score, b, h, q_idx, kv_idx: score + slopes[h] * (kv_idx - q_idx), mask_mod=_causal(0))


CHECKS: dict[str, Callable[[Any, str], dict]] = {
    "torch_launch": check_launch, "torch_graph": check_graph, "torch_operator": check_operator, "torch_gradient": check_gradient,
    "torch_sinks": check_sinks, "torch_packed": check_packed, "torch_compile": check_compile, "flex_softcap": check_softcap,
    "flex_documents": check_documents, "flex_alibi": check_alibi,
}  # fmt: skip
# Cases with a time, beside torch's flex_attention.
TIMED: dict[str, dict] = {"flex_softcap": {"score_mod": softcap}, "flex_documents": {"mask_mod": documents}}


def why_not() -> str:
    """Why there are no checks with torch; empty if there are."""
    try:
        import torch
    except ImportError as error:
        return f"torch is not installed ({error})"
    return "" if torch.cuda.is_available() else f"torch {torch.__version__} sees no GPU"


# ---------------------------------------------------------------------------
# Times. `time` gives the microseconds of a piece of work on torch's current stream.
# ---------------------------------------------------------------------------


def time_attention(number: int, sizes: dict, dim: int, causal: bool, is_backward: bool, time: Callable) -> float | None:
    """torch's scaled_dot_product_attention, on tensors [B, H, S, D]; None where torch is not, or does not run."""
    try:
        import torch
        from torch.nn.functional import scaled_dot_product_attention as attention

        shape = [sizes["B"], sizes["Hq"], sizes["Sq"], dim]
        q, k, v, dout = (torch.randn(shape, device=f"cuda:{number}", dtype=torch.bfloat16, requires_grad=is_backward) for _ in range(4))
        if not is_backward:
            return time(lambda: attention(q, k, v, is_causal=causal))
        out = attention(q, k, v, is_causal=causal)
        return time(lambda: torch.autograd.grad(out, (q, k, v), dout, retain_graph=True))
    except Exception:
        return None


def time_flex(device, sizes: dict, functions: dict, time: Callable) -> dict:
    """fa4.flex, and torch's flex_attention as torch.compile makes it, with the blocks of its mask_mod."""
    import torch

    q, k, v = (torch.randn(sizes["B"], sizes["Hq"], sizes["Sq"], DIM, device=device, dtype=torch.bfloat16) for _ in range(3))
    spec = fa4.sdpa(f"B H S {DIM}", f"B H S {DIM}", layout="bhsd", **functions)
    found: dict[str, Any] = {"measured_us": time(lambda: fa4.flex(q, k, v, **functions)), "torch_us": None}
    work = spec.count_flops(**{name: sizes[name] for name in ("B", "Hq", "Sq", "Sk")})
    found["measured_tflops"] = work / found["measured_us"] / 1e6
    try:
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        mask_mod = functions.get("mask_mod")
        block_mask = mask_mod and create_block_mask(mask_mod, None, None, sizes["Sq"], sizes["Sk"], device=device)
        compiled = torch.compile(flex_attention)
        found["torch_us"] = time(lambda: compiled(q, k, v, score_mod=functions.get("score_mod"), block_mask=block_mask))
    except Exception as error:
        found["torch_reason"] = str(error).splitlines()[0] if str(error) else type(error).__name__
    return found
