# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operators of fa4.torch: fa4::sdpa and fa4::sdpa_backward, with fake tensors and autograd.

An op travels as its text in MLIR, of which sizes may be open (`fa4.spec.close_sizes`), so that a program of torch.export means the
same in another process, which needs `import fa4.torch` and nothing else. `kinds` has a word for each capture of the op: `f32`, `i32` or `bool` for one of `numbers`, `tensor-f32` for one of `tensors` and the
type of its elements, `f32-of-tensor` for one whose tensor, of `tensors`, has no dimensions and is read at the call, and `tensor-f32-of-tensor`
for a tensor that a function has reached by itself. `page_table`, `block_list`, `block_counts`, `sinks`, `seqlens_k` and the two of `cu_seqlens` are operands of their own, and None
where the op has none: the gradient of sinks is one of autograd's, which a list of tensors would hide from torch.func.
"""

from __future__ import annotations

import functools
import math

import torch

from fa4 import _cuda, diagnostics, kernel
from fa4.arrays import as_number, numpy_dtype
from fa4.errors import CompileError, LaunchError
from fa4.spec import FEW_QUERIES, SpecError, close_sizes, read_block_size
from fa4.tracing import Traced

# Bytes of which addresses and strides are multiples, as tensor maps take them.
ALIGNMENT = 16
# The operands beside q, k and v that both operators have, in their order, and those in front of them, with which there is no gradient.
BESIDE = ("block_list", "block_counts", "sinks", "seqlens_k", "cu_seqlens_q", "cu_seqlens_k")
OF_FORWARD = ("page_table",)
# How many of BESIDE stand in front of the sinks, the only ones that have a gradient.
IN_FRONT_OF_SINKS = BESIDE.index("sinks")
KEPT_KERNELS = 256


@functools.lru_cache(maxsize=KEPT_KERNELS)
def _kernel(text: str, chip: str, sizes: tuple[int, int, int, int] | None = None) -> kernel.Kernel:
    """The kernel of an op, for a call of these numbers of queries and heads where its sizes are open."""
    closed = close_sizes(text, sizes)
    try:
        return kernel.compile(closed, chip)
    except CompileError as error:
        if text not in _origins:
            raise
        raise diagnostics.in_words_of(error, closed, *_origins[text]) from None


def _sizes_of(q: torch.Tensor, k: torch.Tensor, block_list: torch.Tensor | None, layout: str) -> tuple[int, int, int, int] | None:
    """The sizes by which kernels of an op differ: numbers of queries and heads where queries are few, or None."""
    if "t" in layout:
        return None
    queries, heads, key_heads = (tensor.shape[layout.index(letter)] for tensor, letter in ((q, "s"), (q, "h"), (k, "h")))
    lists = 1 if block_list is None else block_list.shape[1]
    # Heads that are no groups are refused by the kernel for all sizes, as those of more queries are.
    is_few = 0 < queries <= FEW_QUERIES and heads and all(n and heads % n == 0 for n in (key_heads, lists))
    return (queries, heads, key_heads, lists) if is_few else None


def _gradient_kernel(text: str, chip: str) -> kernel.Kernel:
    """The kernel of a gradient. Of some ops a chip has the forward kernel alone: the call was right, and it is backward() that asks for more."""
    try:
        return _kernel(text, chip)
    except CompileError as error:
        if f"not supported on {chip}" not in str(error):
            raise
        message = f"backward() asks for the gradient of fa4's attention, and on {chip} only the call itself has a kernel: {error}"
        raise CompileError(message, error.diagnostics) from None


# Where the last texts were traced from, for what the compiler says of them: their regions, and the types of their captures.
_origins: dict[str, tuple[Traced, dict[str, str]]] = {}


def keep_origin(text: str, traced: Traced, captures: dict[str, str]):
    """Has errors of this text name the lines that it was traced from."""
    while len(_origins) >= KEPT_KERNELS:
        _origins.pop(next(iter(_origins)), None)
    _origins[text] = (traced, captures)


def _chip(tensor: torch.Tensor) -> str:
    if tensor.device.type == "cpu":
        return "sm_100a"
    return _cuda.chip_of(torch.cuda.get_device_capability(tensor.device))


def _to_numpy(tensor: torch.Tensor):
    """The same memory as a numpy array, which has no bf16 of its own."""
    tensor = tensor.detach()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(numpy_dtype("bf16"))
    return tensor.numpy()


def _to_torch(array) -> torch.Tensor:
    if array.dtype == numpy_dtype("bf16"):
        return torch.from_numpy(array.view("int16").copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


def _problem(tensor: torch.Tensor) -> str | None:
    """Why no tensor map is one of this tensor."""
    size = tensor.element_size()
    if tensor.shape[-1] > 1 and tensor.stride(-1) != 1:
        return f"has a stride of {tensor.stride(-1)} elements in its last dimension, not 1"
    for dim in range(tensor.ndim - 1):
        if tensor.shape[dim] > 1 and tensor.stride(dim) * size % ALIGNMENT:
            return f"has a stride of {tensor.stride(dim) * size} bytes in dimension {dim}, no multiple of {ALIGNMENT}"
    if tensor.storage_offset() * size % ALIGNMENT:
        return f"begins {tensor.storage_offset() * size} bytes behind its storage, no multiple of {ALIGNMENT}"
    return None


def is_accessible(tensor: torch.Tensor) -> bool:
    """Whether kernels can read the tensor where it is: its strides and its begin are those of a tensor map."""
    return _problem(tensor) is None


def run(made: kernel.Kernel, inputs: dict[str, torch.Tensor], outputs: dict[str, torch.Tensor], scalars: dict):
    """Runs a kernel, whose results are written to `outputs`. What a GPU refuses is refused in the simulator, too."""
    for name in ("q", "k", "v"):
        if problem := _problem(inputs[name]):
            raise LaunchError(f"{name} {problem}; with copy=True it is copied")
    # A gradient whose tiles are all keys does not read the lists of blocks of queries.
    known = made.manifest["tensors"]
    inputs = {name: tensor for name, tensor in inputs.items() if name in known}
    if inputs["q"].device.type != "cpu":
        tensors = {name: tensor.detach() for name, tensor in (*inputs.items(), *outputs.items())}
        made.launch(**tensors, **scalars)
        return
    results = made.simulate(**{name: _to_numpy(tensor) for name, tensor in inputs.items()}, **scalars)
    for name, tensor in outputs.items():
        tensor.copy_(_to_torch(results[name]))


def _as_element(tensor: torch.Tensor, element: str) -> torch.Tensor:
    """A tensor that a function has reached by itself in the type of its capture."""
    wanted = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}.get(element, torch.int32)
    if tensor.dtype == torch.int64 and not (tensor.is_cuda and torch.cuda.is_current_stream_capturing()):
        least, most = torch.iinfo(wanted).min, torch.iinfo(wanted).max
        if tensor.numel() and (tensor.amax() > most or tensor.amin() < least):
            raise SpecError("a captured tensor has elements beyond the range of 32 bits")
    return tensor.to(wanted)


def _captures(kinds: str, tensors: list[torch.Tensor], numbers: list[float], device: torch.device) -> tuple[dict, dict]:
    """(tensors, numbers) by the manifest's names."""
    tables, values = iter(tensors), iter(numbers)
    read: dict[str, torch.Tensor] = {}
    given: dict[str, int | float] = {}
    for position, kind in enumerate(kinds.split()):
        element = kind.removeprefix("tensor-").removesuffix("-of-tensor")
        if kind.startswith("tensor-"):
            read[f"capture{position}"] = _as_element(next(tables), element).to(device).contiguous()
        else:
            value = next(tables).item() if kind.endswith("-of-tensor") else next(values)
            given[f"capture{position}"] = as_number("a capture", float(value) if element == "f32" else value, element)
    return read, given


def _beside(*arrays: torch.Tensor | None, names: tuple[str, ...] = BESIDE) -> dict[str, torch.Tensor]:
    """Those of `names` that the op has, row-major as kernels read them."""
    return {name: each.contiguous() for name, each in zip(names, arrays, strict=True) if each is not None}


def _rows(layout: str) -> str:
    """The dimensions of the LSE by their letters in the layout."""
    return "ht" if "t" in layout else "bhs"


def _make_outputs(q, v, layout: str) -> tuple[torch.Tensor, torch.Tensor]:
    out = q.new_empty((*q.shape[:-1], v.shape[-1]))
    return out, q.new_empty([q.shape[layout.index(letter)] for letter in _rows(layout)], dtype=torch.float32)


def _has_no_tiles(matrix: torch.Tensor, bounds: torch.Tensor | None) -> bool:
    """Whether packed sequences have no queries, or no keys, by the shapes of a call. The kernel that lists their tiles needs a row, and where
    there is no sequence, no kernel writes any: results are filled instead."""
    return bounds is not None and (matrix.numel() == 0 or bounds.numel() == 1)


@torch.library.custom_op("fa4::sdpa", mutates_args=())
def sdpa(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, page_table: torch.Tensor | None, block_list: torch.Tensor | None,
    block_counts: torch.Tensor | None, sinks: torch.Tensor | None, seqlens_k: torch.Tensor | None, cu_seqlens_q: torch.Tensor | None,
    cu_seqlens_k: torch.Tensor | None, tensors: list[torch.Tensor], numbers: list[float], layout: str, kinds: str, forward: str, backward: str,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """out and lse of the op `forward`; `backward` is its gradient, or "" where it has none."""
    out, lse = _make_outputs(q, v, layout)
    if _has_no_tiles(q, cu_seqlens_q):
        return out.zero_(), lse.fill_(-math.inf)
    read, scalars = _captures(kinds, tensors, numbers, q.device)
    beside = _beside(page_table, block_list, block_counts, sinks, seqlens_k, cu_seqlens_q, cu_seqlens_k, names=(*OF_FORWARD, *BESIDE))
    inputs = {"q": q, "k": k, "v": v, **beside, **read}
    run(_kernel(forward, _chip(q), _sizes_of(q, k, block_list, layout)), inputs, {"out": out, "lse": lse}, scalars)
    return out, lse


@sdpa.register_fake
def _(q, k, v, page_table, block_list, block_counts, sinks, seqlens_k, cu_seqlens_q, cu_seqlens_k, tensors, numbers, layout, kinds, forward, backward):
    return _make_outputs(q, v, layout)


def seen_blocks(lists: torch.Tensor, counts: torch.Tensor, blocks: int) -> torch.Tensor:
    """Which of so many blocks lists [..., M] with counts [...] have, [..., blocks]. Numbers of no block count for nothing."""
    entries = torch.arange(lists.shape[-1], device=lists.device) < counts[..., None]
    counted = entries & (lists >= 0) & (lists < blocks)
    # What does not count goes to a block behind the last one.
    places = torch.where(counted, lists, blocks).long()
    return torch.zeros(*lists.shape[:-1], blocks + 1, dtype=torch.bool, device=lists.device).scatter_(-1, places, True)[..., :blocks]


def list_blocks(seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The lists, in ascending order, and counts of the blocks that are `seen`, [..., blocks]."""
    order = seen.to(torch.uint8).argsort(dim=-1, descending=True, stable=True)
    return order.to(torch.int32).contiguous(), seen.sum(-1, dtype=torch.int32).contiguous()


def list_queries(block_list: torch.Tensor, block_counts: torch.Tensor, key_blocks: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The lists [B, H, N, M] and counts [B, H, N] of the blocks of keys that blocks of queries see, by blocks of keys: lists [B, H, key_blocks, N] of
    the blocks of queries that see them, in ascending order, and counts [B, H, key_blocks]. Numbers of no block count for nothing."""
    return list_blocks(seen_blocks(block_list, block_counts, key_blocks).mT)


def _empty_gradients(q, k, v, sinks) -> list[torch.Tensor]:
    return [torch.empty_like(each, memory_format=torch.contiguous_format) for each in (q, k, v, sinks) if each is not None]


@torch.library.custom_op("fa4::sdpa_backward", mutates_args=())
def sdpa_backward(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor, dout: torch.Tensor, lse: torch.Tensor, block_list: torch.Tensor | None,
    block_counts: torch.Tensor | None, sinks: torch.Tensor | None, seqlens_k: torch.Tensor | None, cu_seqlens_q: torch.Tensor | None,
    cu_seqlens_k: torch.Tensor | None, tensors: list[torch.Tensor], numbers: list[float], layout: str, kinds: str, backward: str,
) -> list[torch.Tensor]:  # fmt: skip
    """dq, dk and dv, and with sinks dsinks, by the op `backward`."""
    gradients = _empty_gradients(q, k, v, sinks)
    if _has_no_tiles(q, cu_seqlens_q) or _has_no_tiles(k, cu_seqlens_k):
        return [each.zero_() for each in gradients]
    # Autograd makes dout, with any strides: those of a sum's gradient are all 0.
    dout = dout if is_accessible(dout) else dout.contiguous()
    read, scalars = _captures(kinds, tensors, numbers, q.device)
    beside = _beside(block_list, block_counts, sinks, seqlens_k, cu_seqlens_q, cu_seqlens_k)
    if block_list is not None:
        keys = k.shape[layout.index("t" if cu_seqlens_k is not None else "s")]
        beside |= zip(("query_list", "query_counts"), list_queries(block_list, block_counts, -(-keys // read_block_size(backward)[1])))
    inputs = {"q": q, "k": k, "v": v, "out": out, "dout": dout, "lse": lse, **beside, **read}
    run(_gradient_kernel(backward, _chip(q)), inputs, dict(zip(("dq", "dk", "dv", "dsinks"), gradients)), scalars)
    return gradients


@sdpa_backward.register_fake
def _(q, k, v, out, dout, lse, block_list, block_counts, sinks, seqlens_k, cu_seqlens_q, cu_seqlens_k, tensors, numbers, layout, kinds, backward):
    return _empty_gradients(q, k, v, sinks)


def _of_lse(out, v, dlse, layout: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(out, dout, v) with which the gradient op gives what the LSE's gradient adds to dq, dk and dsinks. That is the op's with
    dout v^T - delta = dlse, where delta, the sum of out * dout over a row, is all that out is read for: v is 0, and -dlse is the sum of three
    numbers of out's dtype, to which dout has ones. A sink's share of a row, exp(sink - lse), is the derivative of the row's LSE by the sink,
    and the op adds -delta times the share to dsinks: dlse times the share."""
    rest = -dlse.permute([_rows(layout).index(letter) for letter in layout[:-1]]).float()
    columns = []
    for _ in range(3):
        columns.append(rest.to(out.dtype))
        rest = rest - columns[-1].float()
    three = torch.stack(columns, -1)
    wide = (0, out.shape[-1] - 3)
    pad = torch.nn.functional.pad
    return pad(three, wide), pad(torch.ones_like(three), wide), torch.zeros_like(v, memory_format=torch.contiguous_format)


def keep_for_gradient(ctx, inputs, output):
    """What the gradient needs of a call of fa4::sdpa."""
    q, k, v, *others, tensors, ctx.numbers, ctx.layout, ctx.kinds, _, ctx.op = inputs
    beside = others[len(OF_FORWARD) :]
    out, lse = output
    ctx.save_for_backward(q, k, v, out, lse, *beside, *tensors)
    ctx.set_materialize_grads(False)


def gradient(ctx, dout, dlse, run_backward) -> list:
    """dq, dk, dv, None for what stands in front of the sinks, and dsinks, of which those of None do not count, by fa4::sdpa_backward or what stands for it."""
    if not ctx.op:
        raise SpecError("there is no gradient of keys in pages")
    q, k, v, out, lse, *others = ctx.saved_tensors
    form = (*others[: len(BESIDE)], others[len(BESIDE) :], ctx.numbers, ctx.layout, ctx.kinds, ctx.op)
    gradients: list = [None, None, None]
    if dout is not None:
        gradients = list(run_backward(q, k, v, out, dout, lse, *form))
    if dlse is not None:
        other, dother, zeros = _of_lse(out, v, dlse, ctx.layout)
        dq, dk, _, *dsinks = run_backward(q, k, zeros, other, dother, lse, *form)
        if dout is None:
            gradients = [dq, dk, zeros, *dsinks]
        else:
            gradients = [gradients[0] + dq, gradients[1] + dk, gradients[2], *(both[0] + both[1] for both in zip(gradients[3:], dsinks))]
    return [*gradients[:3], *[None] * (len(OF_FORWARD) + IN_FRONT_OF_SINKS), *(gradients[3:] or [None])]


def _backward(ctx, dout, dlse):
    gradients = gradient(ctx, dout, dlse, sdpa_backward)
    # torch takes an empty list for one of tensors.
    return *gradients, *[None] * (len(BESIDE) - IN_FRONT_OF_SINKS - 1), [None] * (len(ctx.saved_tensors) - 5 - len(BESIDE)), None if ctx.numbers else [], *[None] * 4


sdpa.register_autograd(_backward, setup_context=keep_for_gradient)


def refuse_second_derivative(ctx, *_):
    raise NotImplementedError("fa4's attention has no second derivative: its gradient cannot be differentiated")


sdpa_backward.register_autograd(refuse_second_derivative, setup_context=lambda ctx, inputs, output: None)
