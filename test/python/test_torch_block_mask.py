# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""BlockMasks of torch in fa4.torch.flex_attention: those whose mask_mod says all, and those whose blocks hide more, against torch's eager
attention in float64 with the mask that the blocks and the mask_mod say."""

import gc

import pytest

torch = pytest.importorskip("torch", reason="needs torch, for fa4.torch")

from torch.nn.attention import flex_attention as theirs  # noqa: E402

import fa4  # noqa: E402
from fa4 import _library  # noqa: E402

try:
    _library.find()
except fa4.LibraryNotFoundError as missing:
    pytest.skip(f"needs {missing}", allow_module_level=True)

from fa4 import torch_block_mask  # noqa: E402

B, HQ, HKV, S, D = 2, 4, 2, 300, 64
SIZE = 128, 128
ROWS, COLUMNS = 3, 3


@pytest.fixture(autouse=True)
def settings(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("FA4_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "block_mask_cache"))
    monkeypatch.setenv("FA4_VERIFY_PTX", "0")


def causal(b, h, q, k):
    return q >= k


def inputs():
    q, k, v = (torch.randn(B, heads, S, D).to(torch.bfloat16) for heads in (HQ, HKV, HKV))
    return q, k, v


def draw_blocks(heads, batch=1):
    """Which blocks are seen: half of them at random, the first of each row among them."""
    seen = torch.rand(batch, heads, ROWS, COLUMNS) < 0.5
    seen[..., 0] = True
    return seen


def lists_of(seen):
    """The numbers of blocks that are seen, those that are not behind them, and the counts."""
    return seen.int().argsort(dim=-1, descending=True, stable=True).int(), seen.sum(-1, dtype=torch.int32)


def block_mask_of(seen, full=None, mask_mod=None):
    """A BlockMask of partial blocks and, with `full`, of blocks that do not ask its mask_mod."""
    (indices, counts), more = lists_of(seen), () if full is None else lists_of(full)[::-1]
    return theirs.BlockMask.from_kv_blocks(counts, indices, *more, BLOCK_SIZE=SIZE, mask_mod=mask_mod, seq_lengths=(S, S))


def wanted_of(q, k, v, seen, mask_mod=None):
    """Attention with the keys of blocks that are seen, in float64."""
    keys = seen.repeat_interleave(SIZE[0], -2)[..., :S, :].repeat_interleave(SIZE[1], -1)[..., :S]
    if mask_mod:
        keys = keys & mask_mod(0, 0, torch.arange(S)[:, None], torch.arange(S))
    k, v = (each.double().repeat_interleave(HQ // HKV, 1) for each in (k, v))
    scores = (q.double() @ k.mT / D**0.5).masked_fill(~keys, -torch.inf)
    return torch.nan_to_num(scores.softmax(-1)) @ v


def close(out, wanted):
    return (out - wanted).abs().max() < 2e-2


@pytest.mark.parametrize("heads", [1, HQ])
@pytest.mark.parametrize("mask_mod", [None, causal], ids=["noop", "causal"])
def test_blocks_hide_keys(heads, mask_mod):
    """Of keys that the mask_mod shows, only those of listed blocks must count."""
    (q, k, v), seen = inputs(), draw_blocks(heads)
    out = fa4.torch.flex_attention(q, k, v, None, block_mask_of(seen, mask_mod=mask_mod))
    assert close(out, wanted_of(q, k, v, seen, mask_mod))


def test_blocks_of_each_sequence():
    """Each sequence of a batch has blocks of its own."""
    (q, k, v), seen = inputs(), draw_blocks(HQ, B)
    out, lse = fa4.torch.flex_attention(q, k, v, None, block_mask_of(seen), return_lse=True)
    assert close(out, wanted_of(q, k, v, seen)) and lse.shape == (B, HQ, S)


@pytest.mark.parametrize("heads", [1, HKV, HQ])
def test_one_query(heads):
    """A step of decoding with blocks that are selected: kernels know how many heads have lists, and CTAs divide the lists."""
    (q, k, v), seen = inputs(), draw_blocks(heads)[:, :, :1]
    indices, counts = lists_of(seen)
    mask = theirs.BlockMask.from_kv_blocks(counts, indices, BLOCK_SIZE=SIZE, seq_lengths=(1, S))
    out = fa4.torch.flex_attention(q[:, :, :1], k, v, None, mask, enable_gqa=True)
    seen = seen.repeat_interleave(HQ // heads, 1) if heads > 1 else seen
    assert close(out, wanted_of(q, k, v, seen.expand(-1, -1, ROWS, -1))[:, :, :1])


def test_full_blocks():
    """Blocks below the diagonal do not ask the mask_mod, and those on it do: both must be seen."""
    (q, k, v), seen = inputs(), draw_blocks(1)
    below = (torch.arange(ROWS)[:, None] * SIZE[0] >= (torch.arange(COLUMNS) + 1) * SIZE[1] - 1).expand_as(seen)
    out = fa4.torch.flex_attention(q, k, v, None, block_mask_of(seen & ~below, seen & below, causal))
    assert close(out, wanted_of(q, k, v, seen, causal))


@pytest.mark.parametrize("mask_mod", [None, causal], ids=["noop", "causal"])
def test_blocks_that_hide_nothing(mask_mod):
    """A block mask shows all blocks: its mask_mod alone must decide, with the same bits, and gradients are there."""
    q, k, v = inputs()
    q.requires_grad_()
    out = fa4.torch.flex_attention(q, k, v, None, block_mask_of(torch.ones(1, 1, ROWS, COLUMNS, dtype=torch.bool), mask_mod=mask_mod))
    assert out.requires_grad and torch.equal(out, fa4.torch.flex_attention(q, k, v, mask_mod=mask_mod))


def test_torch_compile():
    """torch.compile takes the blocks where the mask_mod shows all keys."""
    (q, k, v), seen = inputs(), draw_blocks(1)
    mask = block_mask_of(seen)
    compiled = torch.compile(lambda q, k, v: fa4.torch.flex_attention(q, k, v, None, mask), backend="eager", fullgraph=True)
    assert close(compiled(q, k, v), wanted_of(q, k, v, seen))


@pytest.mark.parametrize("heads", [1, HKV, HQ])
def test_gradient(heads):
    """Gradients are those of attention with the keys of listed blocks, also where query heads that share keys have lists of their own."""
    tensors, seen = [each.requires_grad_() for each in inputs()], draw_blocks(heads)
    dout = torch.randn(B, HQ, S, D).to(torch.bfloat16)
    got = torch.autograd.grad(fa4.torch.flex_attention(*tensors, None, block_mask_of(seen, mask_mod=causal)), tensors, dout)
    exact = [each.detach().double().requires_grad_() for each in tensors]
    seen = seen.repeat_interleave(HQ // heads, 1)
    wanted = torch.autograd.grad(wanted_of(*exact, seen, causal), exact, dout.double())
    assert all((each - of).abs().max() < 2e-2 * max(1, of.abs().max()) for each, of in zip(got, wanted))


def test_full_blocks_that_hide_keys():
    """Full blocks on the diagonal of a causal mask would show keys that the mask_mod hides."""
    seen = torch.ones(1, 1, ROWS, COLUMNS, dtype=torch.bool)
    with pytest.raises(fa4.SpecError, match="the full blocks of block_mask show keys that its mask_mod hides"):
        fa4.torch.flex_attention(*inputs(), None, block_mask_of(~seen, seen, causal))


def test_sizes_without_a_kernel():
    """Kernels take whole tiles of queries: a BlockMask of others is refused with the sizes that have a kernel."""
    indices, counts = lists_of(torch.eye(S // 20, dtype=torch.bool)[None, None])
    mask = theirs.BlockMask.from_kv_blocks(counts, indices, BLOCK_SIZE=20, seq_lengths=(S, S))
    with pytest.raises(fa4.CompileError, match="a list for each 20 queries: only multiples of 128"):
        fa4.torch.flex_attention(*inputs(), None, mask)


def test_a_mask_is_compared_once_and_forgotten(monkeypatch):
    """A second call must not compare the blocks again, and a mask that is freed leaves nothing behind."""
    q, k, v = inputs()
    mask, calls = block_mask_of(draw_blocks(1), mask_mod=causal), []
    compare = torch_block_mask._compare
    monkeypatch.setattr(torch_block_mask, "_compare", lambda mask: calls.append(0) or compare(mask))
    gc.collect()
    before = set(torch_block_mask._found)
    outs = [fa4.torch.flex_attention(q, k, v, None, mask) for _ in range(2)]
    assert len(calls) == 1 and torch.equal(*outs) and set(torch_block_mask._found) > before
    del mask
    gc.collect()
    assert set(torch_block_mask._found) == before
