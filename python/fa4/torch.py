# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fa4's attention in torch: functions of tensors, for eager mode, autograd, torch.compile and torch.export.

    attend = fa4.torch.attention(fa4.sdpa(q="B Sq H 128", k="B Sk G 128", mask="causal"))
    out = attend(q, k, v)
    out = fa4.flex(q, k, v, score_mod=lambda score, b, h, q_idx, kv_idx: score * 2)
    out = fa4.torch.varlen(q, k, v, cu_seqlens_q, cu_seqlens_k, causal=True)

Tensors are on a CUDA device, where kernels are launched on the current stream, or on the CPU, where they run in the simulator: slowly, for tests.
torch.compile reads these functions and fa4.tracing line by line, down to the operators of fa4.torch_ops; what a score_mod closes over is guarded
by it as all else that it reads.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

import torch
from torch.nn.attention.flex_attention import AuxOutput, AuxRequest, BlockMask

from fa4 import torch_functions, torch_ops, torch_transforms
from fa4.arrays import as_number, torch_dtypes
from fa4.function_key import function_key
from fa4.spec import Mask, Spec, SpecError, read_scale, sdpa
from fa4.torch_block_mask import read_block_mask
from fa4.torch_ops import run as _call  # noqa: F401: a call on tensors of any device, for who has a kernel

__all__ = ["attention", "flex", "flex_attention", "trace_as", "varlen"]

torch_functions.find_functions()

DTYPES = torch_dtypes()


def _autocast(tensors: tuple) -> tuple:
    """The tensors as torch.autocast has them for attention, as for torch's scaled_dot_product_attention."""
    kind = tensors[0].device.type
    if kind not in ("cpu", "cuda") or not torch.is_autocast_enabled(kind):
        return tensors
    dtype = torch.get_autocast_dtype(kind)
    return tuple(each.to(dtype) if each.is_floating_point() and each.dtype != torch.float64 else each for each in tensors)


def _refuse_tangents(*tensors):
    """Forward-mode derivatives would be zeros without a word: no operator has a rule for them."""
    if torch.compiler.is_compiling() or torch.autograd.forward_ad._current_level < 0:
        return
    for each in tensors:
        if each is not None and torch.autograd.forward_ad.unpack_dual(each).tangent is not None:
            raise NotImplementedError("fa4's attention has no forward-mode derivative (jvp): use reverse mode, backward() or torch.func.vjp")


def _check_tensors(**tensors):
    for name, tensor in tensors.items():
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{name} is a tensor of torch, not {type(tensor).__name__}")


def _check_flags(**flags):
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise TypeError(f"{name} is True or False, not {flag!r}")


def _check_dtype(name: str, tensor: torch.Tensor, wanted: str, advice: str = "convert it, or take a spec of another dtype"):
    _check_tensors(**{name: tensor})
    if DTYPES.get(tensor.dtype) != wanted:
        raise SpecError(f"{name} has elements of type {tensor.dtype}, and the spec's are {wanted}: {advice}")


# What a call gives beside q, k, v and captures: what such a tensor has, the advice where its elements are of another type, and what makes a spec
# have it.
BESIDE = {
    "sinks": ("a number for each query head", "convert it, or take a spec with sinks of another type", "sinks=True"),
    "seqlens_k": ("a number for each sequence", "give seqlens_k.to(torch.int32)", "seqlens_k=True"),
    "cu_seqlens_q": ("the first row of each sequence in q, and the end", "give cu_seqlens_q.to(torch.int32)", 'layout="thd"'),
    "cu_seqlens_k": ("the first row of each sequence in k, and the end", "give cu_seqlens_k.to(torch.int32)", 'layout="thd"'),
    "page_table": ("the pages of each sequence", "give page_table.to(torch.int32)", "page_table=True"),
    "block_list": ("the blocks of keys that each block of queries sees", "give block_list.to(torch.int32)", "block_list=(128, 128)"),
    "block_counts": ("how many blocks each block of queries sees", "give block_counts.to(torch.int32)", "block_list=(128, 128)"),
}


def _check_beside(name: str, tensor: torch.Tensor | None, wanted: str | None):
    """Raises SpecError where a tensor of BESIDE is not what the spec has, whose elements are `wanted`, or None where it has none."""
    has, advice, clause = BESIDE[name]
    if wanted is None:
        if tensor is not None:
            raise SpecError(f"the call gives {name}, and the spec has none: fa4.sdpa(..., {clause}) is a spec that does")
    elif tensor is None:
        raise SpecError(f"the spec has {name}, and the call gives none: {name} is a tensor of {wanted}, with {has}")
    else:
        _check_dtype(name, tensor, wanted, advice)


def _check_operands(spec: Spec, operands: dict) -> dict:
    """The shapes of q, k, v and what is beside them by their names, as far as a call gives them. Raises SpecError where their types
    are not the spec's, or they are on several devices."""
    for name in "qkv":
        _check_dtype(name, operands[name], spec.dtype)
    tensors = spec.tensors
    for name in BESIDE:
        _check_beside(name, operands[name], None if name not in tensors else spec.sinks if name == "sinks" else "i32")
    given = {name: each for name, each in operands.items() if each is not None}
    device = given["q"].device
    for name, each in given.items():
        if each.device != device:
            raise SpecError(f"q is on {device}, and {name} on {each.device}: the tensors of a call are on one device")
    return {name: each.shape for name, each in given.items()}


def _kind_of(capture: str) -> str:
    """The word for a capture that torch_ops has."""
    element, *shape = capture.split()
    return f"tensor-{element}" if shape else element


def _keys_of_each_list(spec: Spec, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, block_list: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """k and v of a call that has a gradient, whose kernels take one list for all query heads that share keys. Where query heads have lists of their
    own, each has a copy of its keys, and the gradients of the copies add up."""
    head = spec.layout.index("h")
    heads, lists = k.shape[head], block_list.shape[1]
    if not lists or not heads or heads % lists == 0 or q.shape[head] % heads or q.shape[head] % lists:
        return k, v
    group = q.shape[head] // heads
    return k.repeat_interleave(group, head), v.repeat_interleave(group, head)


def attention(spec: Spec, *, deterministic: bool = False, copy: bool = False) -> Callable:
    """A function `attend(q, k, v, cu_seqlens_q=..., cu_seqlens_k=..., sinks=..., seqlens_k=..., page_table=..., block_list=..., block_counts=...,
    **captures)` on tensors of torch, differentiable in q, k, v and sinks. Shapes and dtypes are the spec's; under torch.autocast, q, k and v are cast as for torch's own attention. Captures are
    numbers, or tensors, which are constants to the gradient. It returns out, and with the spec's `lse` (out, lse), both of which have a gradient. `deterministic`: whether
    gradients have the same bits in each run. Strides may be any multiples of 16 bytes, but for the innermost one, which is one element: tensors
    that are otherwise are a LaunchError, or, with `copy`, are copied. An empty batch, no queries and no keys are calls as others.

    A call of packed sequences (layouts thd and htd) gives `cu_seqlens_q` and `cu_seqlens_k`, [B + 1] of torch.int32, which are constants to the
    gradient: sequence b has the rows of q from cu_seqlens_q[b] to below cu_seqlens_q[b + 1], none where both are the same. They begin with 0, do
    not descend, and end with the rows of q (of k). Nothing waits for them, so that nobody looks: kernels take a bound beyond the tensor as its
    end, one below 0 as 0, and a sequence that ends in front of its begin as empty. Rows of no sequence are not read, and what results have
    there is undefined. A NaN in one sequence reaches no other one, but it reaches the gradient of sinks, which is a sum over all of them.
    The LSE is [Hq, Tq].

    A call gives `sinks` and `seqlens_k` where the spec has them, and only there. `sinks`, [Hq], are of the spec's type under autocast, too, and
    so is their gradient. `seqlens_k`, [B] of torch.int32, are constants to the gradient, and nothing waits for them: a number below 0 is 0, and
    one beyond the keys that there is room for is all of them. What k and v hold behind a length does not count, even if it is NaN.
    With sinks, a call without keys (Sk = 0) is refused, by SimulationError on the CPU and LaunchError on a GPU: the LSE, which the gradient
    reads and which is therefore always written, would be the sinks, and no kernel writes that. A length of 0 is no such call.

    Where the spec has `page_table`, a call gives it, [B, SeqPages] of torch.int32, and k and v are the pages of a cache. Nothing waits for the table:
    a page that k does not have counts as one of zeros. There is no gradient: a call whose tensors require one is a SpecError.

    Where the spec has `block_list`, a call gives it and `block_counts`, of torch.int32. Nothing waits for them: a number of no block counts for
    nothing. The gradient's kernels want blocks of multiples of 128 queries and keys (64 keys on Hopper), and one list for the query heads that share keys: where query
    heads have lists of their own, and tensors require a gradient, k and v are copied for each.

    Kernels are compiled at the first call, and that of the gradient at the first backward(), for the GPU that the tensors are on. Where the GPU has
    a kernel of the forward op alone, a call works whether or not a tensor requires a gradient, and backward() is a CompileError. Raises SpecError,
    TraceError, CompileError, LaunchError; NotImplementedError for forward-mode and second derivatives."""
    if not isinstance(spec, Spec):
        raise TypeError(f"spec is what fa4.sdpa returns, not {type(spec).__name__}")
    _check_flags(deterministic=deterministic, copy=copy)
    if spec.is_backward:
        raise SpecError("attention takes the spec of the forward op; its gradient follows")
    if spec.out_dtype not in (None, spec.dtype):
        raise SpecError(f"attention has a gradient, and an op with out_dtype={spec.out_dtype!r} has none: fa4.compile has its kernel")
    forward = replace(spec, lse=True)
    traced = forward.trace()
    texts = forward.write(traced, is_open=True), "" if spec.without_gradient else forward.backward(deterministic).write(traced)
    if not torch.compiler.is_compiling():
        for text in filter(None, texts):
            torch_ops.keep_origin(text, traced, {**spec.captures, **{each.name: each.kind for each in traced.found.values()}})
    tables = [name for name, kind in spec.captures.items() if " " in kind]
    found = list(traced.found.values())
    kinds = " ".join([*(_kind_of(kind) for kind in spec.captures.values()), *(f"{_kind_of(each.kind)}-of-tensor" for each in found)])

    def attend(q, k, v, *, cu_seqlens_q=None, cu_seqlens_k=None, sinks=None, seqlens_k=None, page_table=None, block_list=None, block_counts=None, **captures):
        if missing := set(spec.captures) ^ set(captures):
            raise SpecError(f"captures are {', '.join(spec.captures) or 'none'}, and the call differs in {', '.join(sorted(missing))}")
        _check_tensors(q=q, k=k, v=v)
        q, k, v = _autocast((q, k, v))
        beside = {"page_table": page_table, "block_list": block_list, "block_counts": block_counts}
        beside |= {"sinks": sinks, "seqlens_k": seqlens_k, "cu_seqlens_q": cu_seqlens_q, "cu_seqlens_k": cu_seqlens_k}
        shapes = _check_operands(spec, {"q": q, "k": k, "v": v, **beside})
        _refuse_tangents(q, k, v, sinks)
        needs_gradient = torch.is_grad_enabled() and any(each is not None and each.requires_grad for each in (q, k, v, sinks))
        if spec.without_gradient and needs_gradient:
            raise SpecError(f"there is no gradient of {spec.without_gradient}: call under torch.no_grad(), or give tensors that require none")
        read = {name: captures[name] for name in tables}
        for name, each in read.items():
            _check_dtype(name, each, spec.captures[name].split()[0])
        for name, each in (*read.items(), *((each.name, each.tensor) for each in found)):
            if each.requires_grad and torch.is_grad_enabled():
                raise SpecError(f"{name} requires a gradient, and captured tensors have none: give {name}.detach()")
        spec.bind(shapes | {name: each.shape for name, each in read.items()})
        if spec.block_list and needs_gradient:
            k, v = _keys_of_each_list(spec, q, k, v, block_list)
        numbers = [float(as_number(name, captures[name], kind)) for name, kind in spec.captures.items() if name not in tables]
        if copy:
            q, k, v = (each if torch_ops.is_accessible(each) else each.contiguous() for each in (q, k, v))
        given = [*read.values(), *(each.tensor for each in found)]
        # torch.compile has the transforms of torch.func in its graph, and sees the operators beneath them.
        call = torch_transforms.Attention.apply if not torch.compiler.is_compiling() and torch_transforms.is_active() else torch_ops.sdpa
        out, lse = call(q, k, v, *beside.values(), given, numbers, spec.layout, kinds, *texts)
        return (out, lse) if spec.lse else out

    return attend


class _Traces:
    """The functions of `attention` that flex_attention and varlen have made, by what their specs are made of, such as what a score_mod and
    a mask_mod read; the last ones that were used."""

    LIMIT = 256

    def __init__(self):
        self.kept: OrderedDict = OrderedDict()
        self.lock = threading.Lock()

    def clear(self):
        with self.lock:
            self.kept.clear()

    def find(self, key: tuple, make: Callable) -> Callable:
        if None in key:
            return make()  # What the functions read may have changed: they are traced anew.
        with self.lock:
            if key in self.kept:
                self.kept.move_to_end(key)
                return self.kept[key]
        made = make()
        with self.lock:
            self.kept[key] = made
            while len(self.kept) > self.LIMIT:
                self.kept.popitem(last=False)
        return made


_traces = _Traces()


def trace_as(operator, function: Callable):
    """Has `operator`, of torch.ops or another function that takes values as tensors, traced as `function`, one of fa4.math or another of
    values, where a score_mod or mask_mod calls it: `trace_as(torch.ops.mylib.tanh_approx, fa4.math.tanh)`. For all of the process."""
    if not callable(operator) or not callable(function):
        raise TypeError("trace_as takes an operator and the function that it is traced as")
    torch_functions.OTHERS[getattr(operator, "overloadpacket", operator)] = function
    _traces.clear()


def _dtype_of(*tensors) -> str:
    """What q, k and v have as elements for a spec. Raises SpecError."""
    dtype = _autocast(tensors)[0].dtype
    if DTYPES.get(dtype) not in ("bf16", "f16"):
        raise SpecError(f"tensors of {dtype}: only bf16 and f16")
    return DTYPES[dtype]


def flex_attention(
    query, key, value, score_mod=None, block_mask=None, scale: float | None = None, enable_gqa: bool = False, return_lse: bool = False,
    kernel_options: dict | None = None, *, return_aux=None, mask_mod=None, copy: bool = False,
):  # fmt: skip
    """As torch's `flex_attention`, for tensors [B, H, S, D] of bf16 or f16: score_mod(score, b, h, q_idx, kv_idx) and
    mask_mod(b, h, q_idx, kv_idx) are functions of torch or of fa4.math. What they read counts at each call: numbers, and tensors, which become
    captures of the op. A function that reads tensors or attributes of objects is traced at each call.

    `block_mask`: a BlockMask, of which the mask_mod counts; or a mask_mod, as `mask_mod`. Its blocks are compared with the mask_mod at its
    first call (torch.compile can't, and takes the mask_mod). Where blocks hide keys that the mask_mod shows, only keys of the blocks count.
    `enable_gqa`: key and value may have fewer heads in any case. `kernel_options` are
    for torch's kernels, and change nothing. With `return_lse` it returns (out, lse), with `return_aux`, an AuxRequest of the LSE, (out, AuxOutput).
    `copy` is as for `attention`, and so are autocast, gradients and errors."""
    _check_tensors(query=query, key=key, value=value)
    _check_flags(enable_gqa=enable_gqa, return_lse=return_lse, copy=copy)
    for name, each in (("query", query), ("key", key), ("value", value)):
        if each.dim() != 4:
            raise SpecError(f"{name} has {each.dim()} dimensions, not 4: [B, H, S, D]")
    if return_aux is not None and not isinstance(return_aux, AuxRequest):
        raise TypeError(f"return_aux is an AuxRequest or None, not {type(return_aux).__name__}")
    if kernel_options is not None and not isinstance(kernel_options, dict):
        raise TypeError(f"kernel_options is a dict or None, not {type(kernel_options).__name__}")
    if return_aux is not None and (return_lse or return_aux.max_scores):
        raise SpecError("return_aux has the LSE, no max_scores, and does not go together with return_lse")
    blocks = None
    if block_mask is not None:
        if mask_mod is not None:
            raise SpecError("block_mask and mask_mod say the same thing: give one of them")
        if not isinstance(block_mask, BlockMask) and callable(block_mask):
            mask_mod = block_mask
        else:
            mask_mod, blocks = read_block_mask(block_mask, (query.shape[-2], key.shape[-2]))
    with_lse = return_lse or return_aux is not None
    dtype = _dtype_of(query, key, value)
    shapes = [f"B {heads} {s} {each.shape[-1]}" for heads, s, each in (("Hq", "Sq", query), ("Hkv", "Sk", key), ("Hkv", "Sk", value))]

    size, lists = (blocks.size, blocks.of_batch(query.shape[0])) if blocks else (None, {})

    def make():
        spec = sdpa(*shapes, dtype=dtype, layout="bhsd", score_mod=score_mod, mask_mod=mask_mod, scale=scale, lse=with_lse, block_list=size)
        return attention(spec, copy=copy)

    if torch.compiler.is_compiling():
        attend = make()
    else:
        marks = (*shapes, dtype, "default" if scale is None else read_scale(scale), with_lse, copy, size or "all blocks")
        attend = _traces.find((*marks, function_key(score_mod), function_key(mask_mod)), make)
    result = attend(query, key, value, **lists)
    if return_aux is None:
        return result
    return result[0], AuxOutput(lse=result[1] if return_aux.lse else None)


def flex(
    q, k, v, score_mod=None, mask_mod=None, *, scale: float | None = None, enable_gqa: bool = False, return_lse: bool = False, copy: bool = False
):
    """Attention with functions of one's own, which is `fa4.flex`: what `flex_attention` computes, without a block mask. Tensors are
    [B, H, S, D] of bf16 or f16. `score_mod(score, b, h, q_idx, kv_idx)` returns the score that takes the place of the scaled one,
    `mask_mod(b, h, q_idx, kv_idx)` whether the query sees the key; both are written with operators, functions of torch or of fa4.math.
    `scale`: of q.k, 1 / sqrt(D) by default. `enable_gqa`: k and v may have fewer heads than q, a divisor of them.

    Returns out, [B, H, Sq, D of v] of q's dtype, and with `return_lse` (out, lse), lse [B, H, Sq] of f32, natural logarithms. A query that sees no key has
    0 and -inf. One kernel is compiled for the functions, the dtype, the head dims and the GPU; it serves all batches, heads, lengths and strides.
    Up to 16 queries have one of their own, for that number and those of heads.

    `copy`, autocast, gradients and errors are as for `attention`. A captured tensor of which there is no kernel is a CompileError with its
    name and the line that reads it."""
    _check_tensors(q=q, k=k, v=v)
    _check_flags(enable_gqa=enable_gqa, return_lse=return_lse, copy=copy)
    for name, each in (("q", q), ("k", k), ("v", v)):
        if each.dim() != 4:
            raise SpecError(f"{name} has {each.dim()} dimensions, not 4: [B, H, S, D]")
    if q.shape[1] != k.shape[1] and not enable_gqa:
        raise SpecError(f"q has {q.shape[1]} heads, and k {k.shape[1]}: enable_gqa=True allows fewer heads of k and v")
    return flex_attention(q, k, v, score_mod, scale=scale, enable_gqa=enable_gqa, return_lse=return_lse, mask_mod=mask_mod, copy=copy)


def _mask_of(causal: bool, window) -> Mask | None:
    """The mask of `varlen`. Raises TypeError and SpecError."""
    if not isinstance(window, (tuple, list)) or len(window) != 2:
        raise TypeError(f"window is how many keys to the left and to the right count, a pair of numbers or None, not {window!r}")
    left, right = window
    if causal and right not in (None, 0):
        raise SpecError(f"causal=True hides all keys to the right, and window shows {right!r} of them: give one of both")
    right = 0 if causal else right
    return None if left is None and right is None else Mask(left, right)


def varlen(
    q, k, v, cu_seqlens_q, cu_seqlens_k=None, *, causal: bool = False, window=(None, None), scale: float | None = None, sinks=None, seqlens_k=None,
    page_table=None, return_lse: bool = False, deterministic: bool = False, copy: bool = False,
):  # fmt: skip
    """Attention of packed sequences for programs that call FlashAttention's `flash_attn_varlen_func` or torch's `varlen_attn`: q, k and v are
    [T, H, D] of bf16 or f16, and sequence b has the rows from cu_seqlens_q[b] (cu_seqlens_k[b]) to below the next bound. k and v may have fewer
    heads than q, a divisor of them. The longest length is not asked for: kernels find their work from the bounds.

    `causal`: the last query of a sequence sees its last key. `window`: how many keys to the left and to the right of that diagonal a query
    sees; None does not limit, for which FlashAttention and torch have -1. `scale`: of q.k, 1 / sqrt(D) by default. `sinks`, [Hq], of f32, bf16 or
    f16. `seqlens_k`, [B] of int32: how many keys of each sequence count, which FlashAttention and torch call seqused_k.

    `page_table`, [B, N] of int32, which FlashAttention and vLLM call block_table: k and v are the pages of a cache, [pages, keys of a page, Hkv, D], and
    key j of sequence b is in page page_table[b, j // keys of a page]. There is no cu_seqlens_k then, and no gradient.

    Returns out, [Tq, Hq, D of v], and with `return_lse` (out, lse), lse [Hq, Tq] of f32, natural logarithms. All else, as bounds, gradients,
    `deterministic`, `copy`, autocast and errors, is as for `attention`, which takes other layouts, score_mod and mask_mod, too."""
    _check_tensors(q=q, k=k, v=v)
    _check_flags(causal=causal, return_lse=return_lse, deterministic=deterministic, copy=copy)
    is_paged = page_table is not None
    for name, each, shape in (("q", q, "[T, H, D]"), *((name, each, "[pages, S, H, D]" if is_paged else "[T, H, D]") for name, each in (("k", k), ("v", v)))):
        if each.dim() != shape.count(",") + 1:
            raise SpecError(f"{name} has {each.dim()} dimensions, not {shape.count(',') + 1}: {shape}")
    dtype, mask = _dtype_of(q, k, v), _mask_of(causal, window)
    keys = f"Pages {k.shape[1]}" if is_paged else "Tk"
    shapes = [f"{tokens} {heads} {each.shape[-1]}" for tokens, heads, each in (("Tq", "Hq", q), (keys, "Hkv", k), (keys, "Hkv", v))]
    if sinks is not None:
        _check_tensors(sinks=sinks)
    kind = False if sinks is None else DTYPES.get(sinks.dtype, str(sinks.dtype))

    def make():
        spec = sdpa(*shapes, dtype=dtype, layout="thd", mask=mask, scale=scale, lse=return_lse, sinks=kind, seqlens_k=seqlens_k is not None, page_table=is_paged)
        return attention(spec, deterministic=deterministic, copy=copy)

    marks = (*shapes, dtype, mask.text if mask else "full", "default" if scale is None else read_scale(scale), kind, seqlens_k is not None)
    attend = make() if torch.compiler.is_compiling() else _traces.find(("varlen", *marks, return_lse, deterministic, copy), make)
    return attend(q, k, v, cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k, sinks=sinks, seqlens_k=seqlens_k, page_table=page_table)
