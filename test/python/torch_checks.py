# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What users of torch do with fa4.torch, on tensors of any device: test_torch.py runs these checks on the CPU; as a program of the stand-in driver
(`python -m fa4.driver torch_checks.py`) they run on "cuda", with those of streams, graphs and memory. Each prints its name when it has passed."""

import math
import re
import sys

import fa4
import torch
from fa4 import torch as ours
from fa4 import torch_ops

DIM = 32
CAUSAL = {"q": f"B Sq H {DIM}", "k": f"B Sk G {DIM}", "mask": "causal"}


def draw(device, *shape, dtype=torch.bfloat16):
    return torch.randn(*shape, dtype=dtype, device=device)


def expected(q, k, v, allowed=lambda i, j: i >= j, score=lambda s: s):
    """(out, lse) in float64, of [B, H, S, D]."""
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    i, j = torch.arange(q.shape[2])[:, None], torch.arange(k.shape[2])[None]
    scores = score(q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~allowed(i, j), -math.inf)
    return scores.softmax(-1) @ v, scores.logsumexp(-1)


def double(x, transpose=False):
    return (x.transpose(1, 2) if transpose else x).detach().cpu().double().requires_grad_()


def near(a, b, limit=2e-2):
    error = (a.detach().cpu().double() - b.detach().cpu().double()).abs().max().item()
    assert error < limit, error


def refused(kind, text, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except kind as error:
        assert re.search(text, str(error)), str(error)
    else:
        raise AssertionError(f"nothing says {text!r}")


def layouts(device, heads=2, length=40):
    """How models hold [B, H, S, D]."""
    flat = [draw(device, 1, length, heads * DIM).view(1, length, heads, DIM).transpose(1, 2) for _ in range(3)]
    yield "transposed heads", flat
    yield "packed QKV", list(draw(device, 1, heads, 3, length, DIM).unbind(2))
    yield "packed behind a token", list(draw(device, 1, length, 3, heads, DIM).unbind(2)[i].transpose(1, 2) for i in range(3))
    yield "keys of a cache", [flat[0], *(draw(device, 1, heads, 64, DIM)[:, :, 8 : 8 + length] for _ in range(2))]
    yield "keys of one head for all", [flat[0], *(draw(device, 1, 1, length, DIM).expand(1, heads, length, DIM) for _ in range(2))]
    yield "half of the elements", [draw(device, 1, heads, length, 2 * DIM)[..., DIM:] for _ in range(3)]


def check_strides(device):
    attend = ours.attention(fa4.sdpa(q=f"B H S {DIM}", k=f"B H S {DIM}", layout="bhsd", mask="causal"))
    for name, tensors in layouts(device):
        given = [x.detach().requires_grad_() for x in tensors]
        out = attend(*given)
        # The gradient of a sum has strides of 0.
        out.sum().backward()
        copies = [double(x) for x in given]
        wanted, _ = expected(*copies)
        wanted.sum().backward()
        try:
            near(out, wanted)
            for got, want in zip(given, copies):
                near(got.grad, want.grad, 5e-2)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None


def check_strides_that_no_tensor_map_has(device):
    attend, copying = (ours.attention(fa4.sdpa(**CAUSAL), copy=copy) for copy in (False, True))
    good = draw(device, 1, 16, 1, DIM)
    for text, bad in (
        (r"k has a stride of 2 elements in its last dimension, not 1", draw(device, 1, 16, 1, 2 * DIM)[..., ::2]),
        (r"k has a stride of 66 bytes in dimension 1, no multiple of 16", draw(device, 1, 16, 1, DIM + 1)[..., :DIM]),
        (r"k begins 2 bytes behind its storage, no multiple of 16", draw(device, 1, 16, 1, 2 * DIM)[..., 1 : DIM + 1]),
    ):
        refused(fa4.LaunchError, text, attend, good, bad, good)
        near(copying(good, bad, good), attend(good, bad.contiguous(), good), 1e-9)


def check_gradient_of_the_lse(device):
    attend = ours.attention(fa4.sdpa(**CAUSAL, lse=True))
    q, k, v = (draw(device, 1, 32, heads, DIM).requires_grad_() for heads in (2, 1, 1))
    copies = [double(x, transpose=True) for x in (q, k, v)]
    for weights in ((1, 0), (0, 1), (1, 2)):
        for x in (q, k, v, *copies):
            x.grad = None
        a, b = attend(q, k, v), expected(*copies)
        sum(w * x.float().cos().sum() for w, x in zip(weights, a) if w).backward()
        sum(w * x.cos().sum() for w, x in zip(weights, b)).backward()
        for got, want in zip((q, k, v), copies):
            near(got.grad.transpose(1, 2), want.grad, 5e-2)


def check_derivatives_that_there_are_not(device):
    attend = ours.attention(fa4.sdpa(**CAUSAL))
    q, k, v = (draw(device, 1, 16, 1, DIM) for _ in range(3))
    refused(NotImplementedError, "no forward-mode derivative", torch.func.jvp, lambda x: attend(x, k, v), (q,), (q,))
    q.requires_grad_()
    (first,) = torch.autograd.grad(attend(q, k, v).sum(), q, create_graph=True)
    refused(NotImplementedError, "no second derivative", lambda: torch.autograd.grad(first.sum(), q))


def check_dtypes_and_autocast(device):
    attend = ours.attention(fa4.sdpa(**CAUSAL))
    tensors = [draw(device, 1, 32, 1, DIM, dtype=torch.float32).requires_grad_() for _ in range(3)]
    for dtype in (torch.float16, torch.float32, torch.float64):
        refused(fa4.SpecError, f"q has elements of type {dtype}, and the spec's are bf16", attend, *(x.to(dtype) for x in tensors))
    half = [x.detach().to(torch.bfloat16) for x in tensors]
    refused(fa4.SpecError, "k has elements of type torch.float16", attend, half[0], half[1].half(), half[2])
    if device == "cpu":
        refused(fa4.SpecError, "q is on cpu, and v on meta", attend, half[0], half[1], half[2].to("meta"))
    with torch.autocast(device, torch.bfloat16):
        out = attend(*tensors)
        near(out, attend(*half), 1e-9)
        assert ours.flex_attention(*(x.transpose(1, 2) for x in tensors)).dtype == torch.bfloat16
        refused(fa4.SpecError, "q has elements of type torch.float64", attend, *(x.double() for x in tensors))
    out.sum().backward()
    assert all(x.grad.dtype == torch.float32 for x in tensors)
    with torch.autocast(device, torch.float16):
        refused(fa4.SpecError, "q has elements of type torch.float16", attend, *tensors)


def check_nothing_to_compute(device):
    attend = ours.attention(fa4.sdpa(**CAUSAL, lse=True))
    q, k = (draw(device, 2, 8, heads, DIM) for heads in (2, 1))
    for a, b in ((q[:0], k[:0]), (q[:, :0], k), (q, k[:, :0])):
        tensors = [x.detach().requires_grad_() for x in (a, b, b)]
        out, lse = attend(*tensors)
        assert out.shape == a.shape and lse.shape == (a.shape[0], 2, a.shape[1])
        assert not out.any() and (lse == -math.inf).all()
        out.sum().backward()
        assert all(x.grad.shape == x.shape and not x.grad.any() for x in tensors)


def check_empty_calls(device):
    """What a kernel's own launch does without keys, with and without a graph: nothing is written between the rows of a result."""
    kernel = fa4.compile(fa4.sdpa(q="B Sq H 64", k="B Sk H 64", lse=True), verify=False)
    whole = torch.full((2, 8, 5, 64), 7.0, dtype=torch.bfloat16, device=device)
    out, lse = whole[:, 2:7, 1:4], torch.zeros(2, 3, 5, device=device)
    q, k = draw(device, 2, 5, 3, 64), draw(device, 2, 0, 3, 64)

    def check():
        assert not out.any() and (lse == -math.inf).all()
        assert whole.float().sum().item() == 7 * (whole.numel() - out.numel())
        out.fill_(1)
        lse.zero_()

    kernel.launch(q=q, k=k, v=k, out=out, lse=lse)
    check()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel.launch(q=q, k=k, v=k, out=out, lse=lse)
    assert (out == 1).all()
    for _ in range(2):
        graph.replay()
        check()
    turned = torch.zeros(2, 3, 64, 5, dtype=torch.bfloat16, device=device).permute(0, 3, 1, 2)
    refused(fa4.LaunchError, "stride", kernel.launch, q=q, k=k, v=k, out=turned, lse=lse)


def check_transforms(device):
    attend = ours.attention(fa4.sdpa(**CAUSAL))
    q, k, v = (draw(device, 1, 32, 1, DIM) for _ in range(3))
    loss = lambda q, k, v: attend(q, k, v).float().square().sum()  # noqa: E731
    leaves = [x.clone().requires_grad_() for x in (q, k, v)]
    loss(*leaves).backward()
    for got, want in zip(torch.func.grad(loss, (0, 1, 2))(q, k, v), leaves):
        near(got, want.grad, 1e-9)
    several = torch.stack((q, 2 * q))
    near(torch.vmap(attend, (0, None, None))(several, k, v), torch.stack([attend(each, k, v) for each in several]), 1e-9)
    near(torch.vmap(torch.func.grad(loss), (0, None, None))(several, k, v)[0], leaves[0].grad, 1e-9)


# ---------------------------------------------------------------------------
# Sinks and lengths
# ---------------------------------------------------------------------------

SINK_SHAPES = {"q": f"B Sq H {DIM}", "k": f"B Sk G {DIM}", "lse": True}


def expected_with_sinks(q, k, v, sinks=None, lengths=None, is_causal=False, score=lambda s: s):
    """(out, lse) in float64, of [B, S, H, D]; a bottom-right diagonal follows the lengths."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    i, j = torch.arange(q.shape[2])[:, None], torch.arange(k.shape[2])[None]
    lengths = torch.full(q.shape[:1], k.shape[2]) if lengths is None else lengths.detach().cpu()
    ends = lengths.view(-1, 1, 1, 1)
    seen = (j < ends) & (j <= i + ends - q.shape[2]) if is_causal else j < ends
    scores = score(q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~seen, -math.inf)
    # A column with the sink has a row's share of it, and no value.
    column = torch.full_like(scores[..., :1], -math.inf) if sinks is None else sinks.view(1, -1, 1, 1).expand(*scores.shape[:3], 1)
    lse = torch.cat((scores, column), -1).logsumexp(-1)
    # A row without a key or a sink has zeros.
    return ((scores - lse.masked_fill(lse.isinf(), 0)[..., None]).exp() @ v).transpose(1, 2), lse


def draw_with_sinks(device, dtype=torch.float32, queries=40, keys=72):
    """q, k, v, sinks and lengths, of which two sequences have no key and all keys."""
    tensors = [draw(device, 4, length, heads, DIM).requires_grad_() for length, heads in ((queries, 4), (keys, 2), (keys, 2))]
    sinks = draw(device, 4, dtype=dtype).requires_grad_()
    return *tensors, sinks, torch.tensor([0, keys, 23, 50], dtype=torch.int32, device=device)


def gradients_of(results, weights, leaves):
    """Of a weighted sum over out and the LSE, of which only the weights of what has a gradient are not 0."""
    loss = sum(w * f(x.double()).sum() for w, f, x in zip(weights, (torch.sin, torch.cos), results) if w)
    return torch.autograd.grad(loss, leaves, retain_graph=True, materialize_grads=True)


def check_sinks_and_lengths(device):
    """Results and gradients, of out, of the LSE and of both. A tile without keys must count in dsinks all the same."""
    dtypes = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
    for kind, has_lengths, mask in (("f32", True, None), ("bf16", True, "causal"), ("f16", False, "causal"), (None, True, "causal")):
        attend = ours.attention(fa4.sdpa(**SINK_SHAPES, mask=mask, sinks=kind or False, seqlens_k=has_lengths))
        *leaves, sinks, lengths = draw_with_sinks(device, dtypes.get(kind, torch.float32))
        leaves += [sinks] if kind else []
        given = ({"sinks": sinks} if kind else {}) | ({"seqlens_k": lengths} if has_lengths else {})
        copies = [double(x) for x in leaves]
        found, wanted = attend(*leaves[:3], **given), expected_with_sinks(*copies, lengths=given.get("seqlens_k"), is_causal=bool(mask))
        seen = wanted[1].isfinite()
        near(found[0], wanted[0])
        near(found[1].cpu()[seen], wanted[1][seen], 1e-3)
        assert (found[1].cpu()[~seen] == -math.inf).all() and bool(kind) == bool(seen.all())
        # Without a sink, the LSE of a row without keys has no gradient that is a number.
        for weights in ((1, 0), (0, 1), (1, 2)) if kind else ((1, 0),):
            for leaf, got, want in zip(leaves, gradients_of(found, weights, leaves), gradients_of(wanted, weights, copies)):
                assert got.dtype == leaf.dtype and got.shape == want.shape
                assert (got.cpu().double() - want).norm() <= 1e-2 * want.norm(), (kind, weights, got, want)


def check_lengths_beyond_the_room(device):
    """Lengths below 0 and beyond the keys are as 0 and all keys: they are on the GPU, where nobody looks before the launch."""
    attend = ours.attention(fa4.sdpa(**SINK_SHAPES, sinks=True, seqlens_k=True), deterministic=True)
    q, k, v, sinks, _ = draw_with_sinks(device)
    results = []
    for lengths in ([0, 72, 0, 72], [-5, 73, -(2**31), 2**31 - 1]):
        out, lse = attend(q, k, v, sinks=sinks, seqlens_k=torch.tensor(lengths, dtype=torch.int32, device=device))
        results.append((out, lse, *torch.autograd.grad(out.float().square().sum() + lse.sum(), (q, k, v, sinks))))
    assert all(torch.equal(*pair) for pair in zip(*results))
    assert not out[::2].any() and torch.equal(lse[0], sinks[:, None].expand_as(lse[0]))


def check_strides_of_sinks(device):
    """Parts of other arrays, and one sink for all heads, are made row-major; gradients come back to where they belong."""
    attend = ours.attention(fa4.sdpa(**SINK_SHAPES, sinks=True, seqlens_k=True))
    q, k, v, _, lengths = (x.detach() for x in draw_with_sinks(device))
    wide, one = (torch.randn(n, device=device, requires_grad=True) for n in (9, 1))
    spread = torch.stack((lengths, lengths - 7), 1).view(-1)[::2]
    for sinks in (wide[1::2], one.expand(4)):
        row_major = sinks.detach().contiguous().requires_grad_()
        for given, ends in ((sinks, spread), (row_major, lengths)):
            out, lse = attend(q, k, v, sinks=given, seqlens_k=ends)
            (out.float().square().sum() + lse.sum()).backward()
        near(out, attend(q, k, v, sinks=sinks, seqlens_k=spread)[0], 1e-9)
        near(wide.grad[1::2] if sinks.stride(0) else one.grad, row_major.grad if sinks.stride(0) else row_major.grad.sum(), 1e-3)


def check_empty_calls_with_sinks(device):
    """No sequences and no queries give gradients of zeros; no keys are refused, since the LSE would be the sinks."""
    attend = ours.attention(fa4.sdpa(**SINK_SHAPES, sinks=True, seqlens_k=True))
    q, k, v, sinks, lengths = (x.detach() for x in draw_with_sinks(device))
    for cut, rows in ((slice(0), slice(None)), (slice(None), slice(0))):
        leaves = [x.detach().requires_grad_() for x in (q[cut, rows], k[cut], v[cut], sinks)]
        out, lse = attend(*leaves[:3], sinks=leaves[3], seqlens_k=lengths[cut])
        (out.sum() + lse.sum()).backward()
        assert all(x.grad.shape == x.shape and not x.grad.any() for x in leaves)
    error = fa4.SimulationError if device == "cpu" else fa4.LaunchError
    refused(error, "size Sk must be at least 1: the LSE of a row without keys is its sink", attend, q, k[:, :0], v[:, :0], sinks=sinks, seqlens_k=lengths)


def check_sinks_deterministic(device):
    attend = ours.attention(fa4.sdpa(**SINK_SHAPES, sinks=True), deterministic=True)
    q, k, v, sinks, _ = draw_with_sinks(device)
    first, second = (torch.autograd.grad(sum(x.float().cos().sum() for x in attend(q, k, v, sinks=sinks)), (q, k, v, sinks)) for _ in range(2))
    assert all(torch.equal(*pair) for pair in zip(first, second))


def check_sinks_and_autocast(device):
    """Autocast is for q, k and v: sinks keep the type that the spec has, and so does their gradient."""
    q, k, v, sinks, lengths = draw_with_sinks(device)
    whole = [x.detach().float().requires_grad_() for x in (q, k, v)]
    for dtype, kind, other in ((torch.float32, True, torch.bfloat16), (torch.bfloat16, "bf16", torch.float32)):
        attend = ours.attention(fa4.sdpa(**SINK_SHAPES, sinks=kind, seqlens_k=True))
        leaf = sinks.detach().to(dtype).requires_grad_()
        with torch.autocast(device, torch.bfloat16):
            out, _ = attend(*whole, sinks=leaf, seqlens_k=lengths)
            refused(fa4.SpecError, f"sinks has elements of type {other}", attend, *whole, sinks=leaf.to(other), seqlens_k=lengths)
        near(out, attend(q, k, v, sinks=leaf, seqlens_k=lengths)[0], 1e-9)
        out.sum().backward()
        assert leaf.grad.dtype == dtype and whole[0].grad.dtype == torch.float32


def check_transforms_of_sinks(device):
    attend = ours.attention(fa4.sdpa(**SINK_SHAPES, sinks=True, seqlens_k=True))
    *tensors, lengths = draw_with_sinks(device)

    def loss(q, k, v, sinks, lengths):
        out, lse = attend(q, k, v, sinks=sinks, seqlens_k=lengths)
        return out.float().square().sum() + lse.cos().sum()

    loss(*tensors, lengths).backward()
    q, k, v, sinks = (x.detach() for x in tensors)
    for got, want in zip(torch.func.grad(loss, (0, 1, 2, 3))(q, k, v, sinks, lengths), tensors):
        near(got, want.grad, 1e-2)
    several, ends = torch.stack((sinks, sinks + 1)), torch.stack((lengths, lengths.flip(0)))
    mapped = torch.vmap(loss, (None, None, None, 0, 0))(q, k, v, several, ends)
    near(mapped, torch.stack([loss(q, k, v, *each) for each in zip(several, ends)]), 1e-2)
    each = torch.vmap(torch.func.grad(loss, 3), (None, None, None, 0, 0))(q, k, v, several, ends)
    near(each[0], tensors[3].grad, 1e-2)
    # One array of sinks for all of a vmap has the sum of their gradients.
    total = torch.func.grad(lambda sinks: torch.vmap(loss, (0, None, None, None, None))(torch.stack((q, q)), k, v, sinks, lengths).sum())(sinks)
    near(total, 2 * tensors[3].grad, 2e-2)
    jvp = lambda s: torch.func.jvp(lambda x: attend(q, k, v, sinks=x, seqlens_k=lengths), (s,), (s,))  # noqa: E731
    refused(NotImplementedError, "no forward-mode derivative", jvp, sinks)


def check_compile_with_sinks(device):
    """One graph for all lengths, which has the gradient of sinks."""
    from torch._dynamo.testing import CompileCounterWithBackend

    attend, counter = ours.attention(fa4.sdpa(**SINK_SHAPES, mask="causal", sinks=True, seqlens_k=True)), CompileCounterWithBackend("aot_eager")
    run = lambda q, k, v, sinks, lengths: attend(q, k, v, sinks=2 * sinks, seqlens_k=lengths)  # noqa: E731
    compiled = torch.compile(run, fullgraph=True, dynamic=True, backend=counter)
    for queries, keys in ((24, 72), (17, 90), (48, 60)):
        *tensors, lengths = draw_with_sinks(device, queries=queries, keys=keys)
        gradients = []
        for function in (compiled, run):
            out, lse = function(*tensors, lengths)
            gradients.append((out, *torch.autograd.grad(out.float().square().sum() + lse.sum(), tensors)))
        for got, want in zip(*gradients):
            near(got, want, 1e-2)
    assert counter.frame_count == 1, counter.frame_count


def check_inductor_with_sinks(device):
    attend = ours.attention(fa4.sdpa(**SINK_SHAPES, sinks=True, seqlens_k=True))
    *tensors, lengths = draw_with_sinks(device)
    run = lambda q, k, v, sinks: attend(q, k, v, sinks=sinks + 1, seqlens_k=lengths)[0].float().square().sum()  # noqa: E731
    ours_, theirs = (torch.autograd.grad(function(*tensors), tensors) for function in (torch.compile(run, fullgraph=True), run))
    for got, want in zip(ours_, theirs):
        near(got, want, 1e-2)


# ---------------------------------------------------------------------------
# Packed sequences
# ---------------------------------------------------------------------------

PACKED = {"q": f"Tq H {DIM}", "k": f"Tk G {DIM}", "layout": "thd", "lse": True}
# Of these, one sequence has no query, one no key, one is a single query, and none but the first begins with a tile.
QUERIES, KEYS = (0, 140, 140, 190, 191, 230), (0, 50, 70, 70, 83, 250)
# The queries of each sequence have a key.
SOME_KEYS = (0, 50, 70, 75, 83, 250)


def expected_of_packed(q, k, v, queries, keys, allowed=lambda i, j, m, n: j >= 0, sinks=None, lengths=None, score=lambda s, b: s):
    """(out, lse) in float64, of [T, H, D]: each sequence by itself. `allowed` is asked for positions in sequences of m queries and n keys."""
    results = []
    for b, (begin, end, first, last) in enumerate(zip(queries, queries[1:], keys, keys[1:])):
        last = last if lengths is None else first + lengths[b]
        one, *both = (x.transpose(0, 1) for x in (q[begin:end], k[first:last], v[first:last]))
        ours_, theirs = (x.repeat_interleave(len(one) // len(x), 0) for x in both)
        i, j = torch.arange(end - begin)[:, None], torch.arange(last - first)[None]
        scores = score(one @ ours_.mT / math.sqrt(DIM), b).masked_fill(~allowed(i, j, end - begin, last - first), -math.inf)
        column = torch.full_like(one[..., :1], -math.inf) if sinks is None else sinks.view(-1, 1, 1).expand(*scores.shape[:2], 1)
        lse = torch.cat((scores, column), -1).logsumexp(-1)
        results.append((((scores - lse.masked_fill(lse.isinf(), 0)[..., None]).exp() @ theirs).transpose(0, 1), lse))
    return torch.cat([out for out, _ in results]), torch.cat([lse for _, lse in results], -1)


def causal_of_packed(i, j, m, n):
    return j <= i + n - m


def bounds_of(device, queries=QUERIES, keys=KEYS):
    return {f"cu_seqlens_{name}": torch.tensor(each, dtype=torch.int32, device=device) for name, each in (("q", queries), ("k", keys))}


def draw_packed(device, queries=QUERIES[-1], keys=KEYS[-1]):
    """q, k and v, parts of larger tensors."""
    return [draw(device, length, 3, heads, DIM)[:, 1].detach().requires_grad_() for length, heads in ((queries, 4), (keys, 2), (keys, 2))]


def check_packed(device):
    """Results and gradients, of out, of the LSE and of both, of each mask, layout, and of what a spec has beside."""
    window = lambda i, j, m, n: (j >= i + n - m - 40) & (j <= i + n - m + 7)  # noqa: E731
    for form, keys, allowed in (
        ({}, SOME_KEYS, lambda i, j, m, n: j >= 0), ({"mask": "causal"}, KEYS, causal_of_packed), ({"mask": fa4.Mask(40, 7), "layout": "htd"}, KEYS, window),
        ({"mask": "causal_top_left"}, SOME_KEYS, lambda i, j, m, n: j <= i), ({"mask": "causal", "sinks": True, "seqlens_k": True}, KEYS, causal_of_packed),
    ):  # fmt: skip
        turn = (lambda x: x.transpose(0, 1)) if form.get("layout") == "htd" else lambda x: x
        shapes = {"q": f"H Tq {DIM}", "k": f"G Tk {DIM}"} if form.get("layout") == "htd" else {}
        attend = ours.attention(fa4.sdpa(**PACKED | form | shapes))
        leaves, lengths = draw_packed(device), [50, 0, 0, 9, 100]
        given = bounds_of(device, keys=keys)
        if form.get("sinks"):
            leaves.append(torch.randn(4, device=device, requires_grad=True))
            given |= {"sinks": leaves[3], "seqlens_k": torch.tensor(lengths, dtype=torch.int32, device=device)}
        copies = [double(x) for x in leaves]
        out, lse = attend(*(turn(x) for x in leaves[:3]), **given)
        found = turn(out), lse
        wanted = expected_of_packed(*copies[:3], QUERIES, keys, allowed, *((copies[3], lengths) if form.get("sinks") else ()))
        seen = wanted[1].isfinite()
        near(found[0], wanted[0])
        near(found[1].cpu()[seen], wanted[1][seen], 1e-3)
        assert (found[1].cpu()[~seen] == -math.inf).all()
        for weights in ((1, 0), (0, 1), (1, 2)) if seen.all() else ((1, 0),):
            for leaf, got, want in zip(leaves, gradients_of(found, weights, leaves), gradients_of(wanted, weights, copies)):
                assert got.dtype == leaf.dtype and got.shape == want.shape
                assert (got.cpu().double() - want).norm() <= 1e-2 * want.norm(), (form, weights)


def check_varlen(device):
    """The function of tensors is attention of the same spec; sequences of its own have the same bits."""
    q, k, v = draw_packed(device)
    ends = bounds_of(device)
    sinks, lengths = torch.randn(4, device=device), torch.tensor([50, 0, 0, 9, 100], dtype=torch.int32, device=device)
    for form, options in (
        ({}, {}), ({"mask": "causal"}, {"causal": True}), ({"mask": fa4.Mask(40, 0)}, {"causal": True, "window": (40, None)}),
        ({"mask": fa4.Mask(40, 7), "scale": 0.5}, {"window": (40, 7), "scale": 0.5}),
        ({"mask": fa4.Mask(None, 7), "sinks": True, "seqlens_k": True}, {"window": (None, 7), "sinks": sinks, "seqlens_k": lengths}),
    ):  # fmt: skip
        beside = {name: options[name] for name in ("sinks", "seqlens_k") if name in options}
        out, lse = ours.varlen(q, k, v, *ends.values(), return_lse=True, **options)
        wanted, logarithms = ours.attention(fa4.sdpa(**PACKED | form))(q, k, v, **ends, **beside)
        assert torch.equal(out, wanted) and torch.equal(lse, logarithms)
        assert torch.equal(ours.varlen(q, k, v, *ends.values(), **options), out)
    first = bounds_of(device, QUERIES[:2], KEYS[:2])
    assert torch.equal(ours.varlen(q[:140], k[:50], v[:50], *first.values(), causal=True), ours.varlen(q, k, v, *ends.values(), causal=True)[:140])


def check_captures_of_packed(device):
    """Captures by the number of the sequence, and by positions, which count from 0 in each sequence."""
    given, closed = torch.randn(5, 4, device=device), torch.linspace(-1, 1, 250, device=device)
    form = PACKED | {"captures": {"table": "f32 B H"}}
    attend = ours.attention(fa4.sdpa(**form, score_mod=lambda s, b, h, i, j, table: s * table[b, h] + closed[j] * (i - j)))
    q, k, v = leaves = draw_packed(device)
    out, lse = attend(q, k, v, **bounds_of(device, keys=SOME_KEYS), table=given)

    def score(s, b):
        i, j = torch.arange(s.shape[1])[:, None], torch.arange(s.shape[2])[None]
        return s * given[b].cpu().double()[:, None, None] + closed.cpu().double()[j] * (i - j)

    copies = [double(x) for x in leaves]
    wanted = expected_of_packed(*copies, QUERIES, SOME_KEYS, score=score)
    near(out, wanted[0])
    near(lse, wanted[1], 2e-3)
    for got, want in zip(gradients_of((out, lse), (1, 2), leaves), gradients_of(wanted, (1, 2), copies)):
        assert (got.cpu().double() - want).norm() <= 1e-2 * want.norm()


def check_bounds_beyond_the_room(device):
    """Bounds below 0 and behind the tensors are as 0 and their ends: they are on the GPU, where nobody looks before the launch. Parts of other
    arrays are bounds, too."""
    q, k, v = draw_packed(device)
    results = []
    for queries, keys in (((0, 140, 230), (0, 0, 250)), ((-7, 140, 231), (-(2**31), -1, 2**31 - 1))):
        spread = [torch.stack((each, each - 3), 1).view(-1)[::2] for each in bounds_of(device, queries, keys).values()]
        results.append(ours.varlen(q, k, v, *spread, causal=True))
        results[-1].float().sin().sum().backward()
        results += [x.grad for x in (k, v)]
        k.grad = v.grad = None
    assert all(torch.equal(*pair) for pair in zip(results[:3], results[3:])) and not results[0][:140].any() and results[0][140:].any()


def check_empty_calls_of_packed(device):
    """No rows of q, no rows of k, or no sequences: out is 0, the LSE -infinity, and gradients are 0."""
    q, k, v = draw_packed(device)
    for queries, keys in (((0, 0), (0, 250)), ((0, 230), (0, 0)), ((0, 0), (0, 0)), ((0,), (0,))):
        leaves = [x.detach()[:end].requires_grad_() for x, end in ((q, queries[-1]), (k, keys[-1]), (v, keys[-1]))]
        out, lse = ours.varlen(*leaves, *bounds_of(device, queries, keys).values(), return_lse=True)
        assert out.shape == leaves[0].shape and lse.shape == (4, queries[-1]) and not out.any() and (lse == -math.inf).all()
        out.sum().backward()
        assert all(x.grad.shape == x.shape and not x.grad.any() for x in leaves)


def check_packed_deterministic(device):
    """A gradient with the same bits, or where there is no kernel of it, the reason at backward(): the call itself works."""
    q, k, v = draw_packed(device)
    run = lambda: ours.varlen(q, k, v, *bounds_of(device).values(), causal=True, deterministic=True).float().sin().sum()  # noqa: E731
    if torch_ops._chip(q) == "sm_90a":
        assert all(torch.equal(*pair) for pair in zip(*(torch.autograd.grad(run(), (q, k, v)) for _ in range(2))))
    else:
        text = r"backward\(\) asks for the gradient of fa4's attention, .* a deterministic gradient of packed sequences \(layout thd\)"
        refused(fa4.CompileError, text, run().backward)


def check_transforms_of_packed(device):
    q, k, v = leaves = draw_packed(device)
    ends = list(bounds_of(device).values())
    loss = lambda q, k, v, *ends: ours.varlen(q, k, v, *ends, causal=True).float().square().sum()  # noqa: E731
    loss(q, k, v, *ends).backward()
    q, k, v = (x.detach() for x in leaves)
    for got, want in zip(torch.func.grad(loss, (0, 1, 2))(q, k, v, *ends), leaves):
        near(got, want.grad, 1e-2)
    others = [torch.stack((each, each // 2)) for each in ends]
    others[0][1, -1], others[1][1, -1] = 230, 250
    mapped = torch.vmap(loss, (None, None, None, 0, 0))(q, k, v, *others)
    near(mapped / mapped.abs().max(), torch.stack([loss(q, k, v, *each) for each in zip(*others)]) / mapped.abs().max(), 1e-3)
    each = torch.vmap(torch.func.grad(loss), (None, None, None, 0, 0))(q, k, v, *others)
    near(each[0], leaves[0].grad, 1e-2)
    refused(NotImplementedError, "no forward-mode derivative", torch.func.jvp, lambda x: ours.varlen(x, k, v, *ends), (q,), (q,))


def check_compile_of_packed(device):
    """One graph for other lengths and another number of sequences, of attention and of varlen."""
    from torch._dynamo.testing import CompileCounterWithBackend

    attend = ours.attention(fa4.sdpa(**PACKED, mask="causal"))
    plain = lambda q, k, v, a, b: attend(2 * q, k, v, cu_seqlens_q=a, cu_seqlens_k=b)[0]  # noqa: E731
    for run in (plain, lambda q, k, v, a, b: ours.varlen(2 * q, k, v, a, b, causal=True, window=(30, None))):
        counter = CompileCounterWithBackend("aot_eager")
        compiled = torch.compile(run, fullgraph=True, dynamic=True, backend=counter)
        # Sizes that are the same by chance would be one size to the first graph.
        for queries, keys in ((QUERIES, KEYS), ((0, 20, 37, 90, 100, 170, 171), (0, 30, 30, 70, 81, 120, 121)), ((0, 61, 200), (0, 61, 199))):
            leaves, ends = draw_packed(device, queries[-1], keys[-1]), bounds_of(device, queries, keys).values()
            results = []
            for function in (compiled, run):
                out = function(*leaves, *ends)
                results.append((out, *torch.autograd.grad(out.float().square().sum(), leaves)))
            for got, want in zip(*results):
                near(got, want, 1e-2)
        assert counter.frame_count == 1, counter.frame_count


window = 8


def check_compile(device):
    """Without graph breaks, with sizes that vary, two specs in one function; what a mask reads is guarded."""
    global window
    from torch._dynamo.testing import CompileCounterWithBackend

    causal, full = (ours.attention(fa4.sdpa(**CAUSAL | {"mask": mask})) for mask in ("causal", None))
    counter = CompileCounterWithBackend("aot_eager")
    both = lambda q, k, v: causal(q, k, v) + full(q, k, v)  # noqa: E731
    compiled = torch.compile(both, fullgraph=True, dynamic=True, backend=counter)
    for length in (24, 17, 48):
        q, k, v = (draw(device, 3, length, heads, DIM).requires_grad_() for heads in (2, 1, 1))
        out = compiled(q, k, v)
        near(out, both(q, k, v), 1e-9)
        out.float().sum().backward()
        assert q.grad.shape == q.shape
    assert counter.frame_count == 1, counter.frame_count

    layer = type("Layer", (), {"limit": 20.0})()

    def near_keys(b, h, i, j):
        return (i >= j) & (i - j < window)

    flex = lambda q, k, v: ours.flex_attention(  # noqa: E731
        q, k, v, score_mod=lambda s, b, h, i, j: layer.limit * torch.tanh(s / layer.limit), mask_mod=near_keys
    )
    compiled = torch.compile(flex, fullgraph=True, backend="aot_eager")
    q, k, v = (draw(device, 1, heads, 32, DIM) for heads in (2, 1, 1))
    for window, layer.limit in ((8, 20.0), (24, 20.0), (24, 0.5)):
        width, limit = window, layer.limit
        wanted, _ = expected(*(double(x) for x in (q, k, v)), lambda i, j: (i >= j) & (i - j < width), lambda s: limit * torch.tanh(s / limit))
        near(compiled(q, k, v), wanted)
        near(flex(q, k, v), wanted)


def check_few_queries(device):
    """A step of decoding has a kernel of its own, whose CTAs divide the keys; a graph for all lengths has it, too, and so have gradients."""
    attend = ours.attention(fa4.sdpa(**CAUSAL))
    compiled = torch.compile(attend, fullgraph=True, dynamic=True, backend="aot_eager")
    for queries in (1, 4, 20, 2):
        q, k, v = (draw(device, 2, length, heads, DIM).requires_grad_() for length, heads in ((queries, 6), (700, 2), (700, 2)))
        wanted, _ = expected(*(double(x, transpose=True) for x in (q, k, v)), lambda i, j: j <= i + 700 - queries)
        for function in (attend, compiled):
            out = function(q, k, v)
            near(out.transpose(1, 2), wanted)
            out.float().sum().backward()
            assert q.grad.shape == q.shape
    # Heads that are no groups are refused as those of more queries are; without heads there is nothing to compute.
    q, k = draw(device, 1, 1, 6, DIM), draw(device, 1, 300, 4, DIM)
    refused((fa4.SimulationError, fa4.LaunchError), "must be a multiple of that of key/value heads", attend, q, k, k)
    assert attend(q[:, :, :0], k[:, :, :0], k[:, :, :0]).numel() == 0
    refused(fa4.SpecError, "attention has a gradient, and an op with out_dtype='f32' has none", ours.attention, fa4.sdpa(**CAUSAL, out_dtype="f32"))
    spec = fa4.sdpa(**CAUSAL, lse=True)
    made = torch_ops._kernel(spec.write(spec.trace(), is_open=True), torch_ops._chip(q), (1, 6, 2))
    assert [launch["entry"] for launch in made.manifest["launches"]] == ["sdpa_kernel", "sdpa_merge_kernel"]


def check_inductor(device):
    attend = ours.attention(fa4.sdpa(**CAUSAL))
    q, k, v = (draw(device, 1, 32, 1, DIM) for _ in range(3))
    near(torch.compile(attend, fullgraph=True)(q, k, v), attend(q, k, v), 1e-9)


# ---------------------------------------------------------------------------
# On a GPU only
# ---------------------------------------------------------------------------


def check_graphs(device):
    """A forward and a gradient in graphs, prepared and not, on torch's stream; what graphs work in is theirs, whatever is computed since."""
    spec = fa4.sdpa(q=f"B S H {DIM}", k=f"B S H {DIM}", lse=True)
    forward, backward = fa4.compile(spec, verify=False), fa4.compile(spec.backward(), verify=False)

    def make():
        tensors = {name: draw(device, 1, 32, 1, DIM) for name in ("q", "k", "v", "dout")}
        tensors |= {name: torch.zeros(1, 32, 1, DIM, dtype=torch.bfloat16, device=device) for name in ("out", "dq", "dk", "dv")}
        return tensors | {"lse": torch.zeros(1, 1, 32, device=device)}

    def inputs(tensors):
        return {name: tensors[name] for name in ("q", "k", "v", "out", "lse")}

    tensors = make()
    prepared, prepared_backward = forward.prepare(**inputs(tensors)), backward.prepare(**tensors)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        prepared.launch()
        backward.launch(**tensors)
    assert not tensors["out"].any(), "the launch was not captured"
    del prepared
    graph.replay()
    torch.cuda.synchronize()
    first = {name: tensors[name].clone() for name in ("out", "dq", "dk", "dv")}
    near(first["out"], expected(*(double(tensors[n], True) for n in "qkv"), lambda i, j: i + j >= 0)[0].transpose(1, 2))
    for _ in range(3):
        other = make()
        forward.launch(**inputs(other))
        backward.launch(**other)
    graph.replay()
    prepared_backward.launch()
    torch.cuda.synchronize()
    assert all(torch.equal(first[name], tensors[name]) for name in first)

    # Captured by the op of torch, forward and gradient, which make their results in the graph.
    attend = ours.attention(spec)
    leaves = [tensors[name].detach().requires_grad_() for name in "qkv"]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), torch.no_grad():
        out, _ = attend(*leaves)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, first["out"])


def check_graph_of_sinks_and_lengths(device):
    """A captured call reads sinks and lengths where they are at each replay."""
    attend = ours.attention(fa4.sdpa(**SINK_SHAPES, sinks=True, seqlens_k=True))
    q, k, v, sinks, lengths = (x.detach() for x in draw_with_sinks(device))
    leaves, dout = [x.requires_grad_() for x in (q, k, v, sinks)], torch.randn_like(q)

    def run():
        out, lse = attend(q, k, v, sinks=sinks, seqlens_k=lengths)
        return out, lse, *torch.autograd.grad(out, leaves, dout)

    run()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = run()
    for others in ([72, 0, 50, 23], [1, 2, 71, 0]):
        lengths.copy_(torch.tensor(others, dtype=torch.int32))
        with torch.no_grad():
            sinks.add_(1)
        graph.replay()
        torch.cuda.synchronize()
        for got, want in zip(captured, run()):
            near(got, want, 1e-2)


def check_graph_of_packed(device):
    """A captured call and its gradient read the bounds of sequences where they are at each replay: nothing of them is in the graph."""
    attend = ours.attention(fa4.sdpa(**PACKED, mask="causal"))
    leaves, ends = draw_packed(device), bounds_of(device)
    dout = torch.randn_like(leaves[0])

    def run():
        out, lse = attend(*leaves, **ends)
        return out, lse, *torch.autograd.grad(out, leaves, dout)

    run()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = run()
    for queries, keys in (((0, 0, 77, 100, 229, 230), (0, 60, 61, 90, 250, 250)), ((0, 230, 230, 230, 230, 230), (0, 250, 250, 250, 250, 250))):
        for bounds, others in zip(ends.values(), (queries, keys)):
            bounds.copy_(torch.tensor(others, dtype=torch.int32))
        graph.replay()
        torch.cuda.synchronize()
        for got, want in zip(captured, run()):
            assert torch.equal(got.isinf(), want.isinf())
            near(got.nan_to_num(neginf=0), want.nan_to_num(neginf=0), 1e-2)


def check_launches_of_packed(device):
    """Kernel.launch and Kernel.prepare of packed sequences find all sizes by the shapes of a call, forward and gradient."""
    spec = fa4.sdpa(**PACKED, sinks=True, seqlens_k=True, score_mod=lambda s, b, h, i, j, table: s + table[b], captures={"table": "f32 B"})
    forward, backward = (fa4.compile(each, "native", verify=False) for each in (spec, spec.backward()))
    tensors = dict(zip("qkv", (x.detach() for x in draw_packed(device)))) | bounds_of(device)
    tensors |= {"sinks": torch.randn(4, device=device), "seqlens_k": torch.tensor([50, 0, 0, 9, 100], dtype=torch.int32, device=device)}
    tensors |= {"table": torch.randn(5, device=device)}
    results = []
    for launch in (lambda made, call: made.launch(**call), lambda made, call: made.prepare(**call).launch()):
        call = tensors | {"out": torch.zeros_like(tensors["q"]), "lse": torch.zeros(4, 230, device=device)}
        launch(forward, call)
        call |= {"dout": tensors["q"], "dsinks": torch.zeros(4, device=device)}
        call |= {f"d{name}": torch.zeros_like(tensors[name]) for name in "qkv"}
        launch(backward, call)
        results.append([call[name] for name in ("out", "lse", "dq", "dk", "dv", "dsinks")])
    leaves = [tensors[name].clone().requires_grad_() for name in ("q", "k", "v", "sinks")]
    others = {name: tensors[name] for name in ("cu_seqlens_q", "cu_seqlens_k", "seqlens_k", "table")}
    out, lse = ours.attention(spec)(*leaves[:3], sinks=leaves[3], **others)
    wanted = [out, lse, *torch.autograd.grad(out, leaves, tensors["q"])]
    for found in results:
        for got, want in zip(found, wanted):
            near(got, want, 1e-2)
    fewer = call | {"seqlens_k": tensors["seqlens_k"][:4], "table": tensors["table"][:4]}
    refused(fa4.SpecError, "seqlens_k has 4 sequences, and cu_seqlens_q 6 elements, not one more than sequences", backward.launch, **fewer)
    refused(fa4.SpecError, "cu_seqlens_k has shape", backward.prepare, **call | {"cu_seqlens_k": tensors["cu_seqlens_k"][:5]})


def check_streams(device):
    """Launches are on torch's current stream, or on the one that is said."""
    from fa4 import _runtime

    seen = []
    library = _runtime.runtime()
    run = library.fa4RuntimeRun
    library.fa4RuntimeRun = lambda program, arguments, stream, message: (seen.append(stream), run(program, arguments, stream, message))[1]
    launch = library.fa4RuntimeLaunch
    library.fa4RuntimeLaunch = lambda call, stream, message: (seen.append(stream), launch(call, stream, message))[1]
    try:
        made = fa4.compile(fa4.sdpa(**CAUSAL), verify=False)
        tensors = {name: draw(device, 1, 32, 1, DIM) for name in ("q", "k", "v", "out")}
        # A tensor that requires a gradient, and a subclass of torch's.
        tensors["q"] = torch.nn.Parameter(tensors["q"])
        prepared = made.prepare(**tensors)
        stream, other = torch.cuda.Stream(), torch.cuda.Stream()
        with torch.cuda.stream(stream):
            made.launch(**tensors)
            prepared.launch()
            made.launch(other, **tensors)
        made.launch(**tensors)
    finally:
        library.fa4RuntimeRun, library.fa4RuntimeLaunch = run, launch
    assert seen == [stream.cuda_stream, stream.cuda_stream, other.cuda_stream, 0], seen


def check_memory_of_layers(device):
    """64 layers' gradients work in the same memory."""
    from fa4 import _runtime

    workspaces = []
    allocate = _runtime._torch_memory
    _runtime._torch_memory = lambda count, *where: (workspaces.append(count), allocate(count, *where))[1]
    attend = ours.attention(fa4.sdpa(**CAUSAL))
    layers = [[draw(device, 1, 32, 1, DIM).requires_grad_() for _ in range(3)] for _ in range(64)]
    try:
        before = torch.cuda.memory_allocated()
        for layer in layers:
            attend(*layer).sum().backward()
    finally:
        _runtime._torch_memory = allocate
    tensors = sum(x.nbytes + x.grad.nbytes for layer in layers for x in layer)
    held = torch.cuda.memory_allocated() - before - tensors
    assert len(workspaces) == 64 and held < 2 * max(workspaces), (held, workspaces)


def check_tensors_of_functions(device):
    """Tensors that functions close over, of types that are not their captures', on another device than the inputs, and without dimensions."""
    q, k, v = (draw(device, 1, 4, 64, DIM) for _ in range(3))
    slopes, sizes, is_local = torch.rand(4, dtype=torch.float64, device=device), torch.tensor([3, 9, 27, 64]), torch.tensor([True, False] * 2, device=device)
    factor, shift = torch.tensor(0.5, device=device), torch.tensor(2)

    def score_mod(score, b, h, q_idx, kv_idx):
        return score * factor - slopes[h] * (q_idx - kv_idx).abs()

    def mask_mod(b, h, q_idx, kv_idx):
        return torch.where(is_local[h], (q_idx - kv_idx).abs() < sizes[h], q_idx + shift >= kv_idx)

    def check(run):
        i, j, h = torch.arange(64)[:, None], torch.arange(64)[None], torch.arange(4)[:, None, None]
        allowed = torch.where(is_local.cpu()[h], (i - j).abs() < sizes[h], i + shift >= j)
        scores = double(q) @ double(k).mT / math.sqrt(DIM) * factor.cpu() - slopes.cpu()[h] * (i - j).abs()
        near(run(q, k, v), scores.masked_fill(~allowed, -math.inf).softmax(-1) @ double(v))

    def run(q, k, v):
        return ours.flex_attention(q, k, v, score_mod=score_mod, mask_mod=mask_mod)

    check(run)
    slopes.mul_(-0.1)
    factor.fill_(2.0)
    check(run)
    compiled = torch.compile(run, fullgraph=True, backend="eager")
    check(compiled)
    factor.fill_(1.0)
    check(compiled)
    if device == "cuda":
        made = fa4.compile(fa4.sdpa(q=f"B H S {DIM}", k=f"B H S {DIM}", layout="bhsd", score_mod=score_mod, mask_mod=mask_mod))
        out, other = torch.empty_like(q), torch.empty_like(q)
        made.launch(q=q, k=k, v=v, out=out)
        made.prepare(q=q, k=k, v=v, out=other).launch()
        near(out, run(q, k, v), 1e-6)
        near(other, out, 1e-6)


ANYWHERE = [check_strides, check_strides_that_no_tensor_map_has, check_gradient_of_the_lse, check_derivatives_that_there_are_not,
            check_dtypes_and_autocast, check_nothing_to_compute, check_transforms, check_compile, check_few_queries, check_inductor,
            check_tensors_of_functions,
            check_sinks_and_lengths, check_lengths_beyond_the_room, check_strides_of_sinks, check_empty_calls_with_sinks, check_sinks_deterministic,
            check_sinks_and_autocast, check_transforms_of_sinks, check_compile_with_sinks, check_inductor_with_sinks,
            check_packed, check_varlen, check_captures_of_packed, check_bounds_beyond_the_room, check_empty_calls_of_packed,
            check_packed_deterministic, check_transforms_of_packed, check_compile_of_packed]  # fmt: skip
ON_CUDA = [check_empty_calls, check_graphs, check_graph_of_sinks_and_lengths, check_graph_of_packed, check_launches_of_packed, check_streams,
           check_memory_of_layers]  # fmt: skip


def main():
    for check in [*ANYWHERE, *ON_CUDA]:
        if len(sys.argv) == 1 or check.__name__ in sys.argv:
            torch.manual_seed(0)
            torch._dynamo.reset()
            check("cuda")
            print(check.__name__, flush=True)


if __name__ == "__main__":
    main()
