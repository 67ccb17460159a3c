# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fa4's attention in torch: custom operators with fake tensors and autograd, for eager mode and torch.compile.

    attend = fa4.torch.attention(fa4.sdpa(q="B Sq H 128", k="B Sk G 128", mask="causal"))
    out = attend(q, k, v)
    out = fa4.torch.flex_attention(q, k, v, score_mod=lambda score, b, h, q_idx, kv_idx: score * 2)

Tensors are on a CUDA device, where kernels are launched on the current stream, or on the CPU, where they run in the simulator: slowly, for tests.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import replace

import torch

from fa4 import _cuda, kernel
from fa4.arrays import numpy_dtype
from fa4.spec import Spec, SpecError, sdpa

__all__ = ["attention", "flex_attention"]

# The operators take the number of a spec: a schema of torch has no place for functions.
_SPECS: dict[int, Spec] = {}
_numbers = itertools.count()


@functools.cache
def _kernel(number: int, backward: bool, chip: str, deterministic: bool) -> kernel.Kernel:
    spec = _SPECS[number]
    return kernel.compile(spec.backward(deterministic) if backward else spec, chip)


def _chip(tensor: torch.Tensor) -> str:
    if tensor.device.type == "cpu":
        return "sm_100a"
    capability = torch.cuda.get_device_capability(tensor.device)
    if capability not in _cuda.CHIPS:
        raise SpecError(f"fa4 knows no GPU of compute capability {capability[0]}.{capability[1]}")
    return _cuda.CHIPS[capability]


def _to_numpy(tensor: torch.Tensor):
    """The same elements as a numpy array, which has no bf16 of its own."""
    tensor = tensor.detach().contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(numpy_dtype("bf16"))
    return tensor.numpy()


def _to_torch(array) -> torch.Tensor:
    if array.dtype == numpy_dtype("bf16"):
        return torch.from_numpy(array.view("int16").copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


def _call(made: kernel.Kernel, inputs: dict[str, torch.Tensor], outputs: dict[str, torch.Tensor], scalars: dict):
    """Runs a kernel, whose results are written to `outputs`."""
    if inputs["q"].device.type != "cpu":
        tensors = {name: tensor.detach() for name, tensor in (*inputs.items(), *outputs.items())}
        made.launch(**tensors, **scalars)
        return
    results = made.simulate(**{name: _to_numpy(tensor) for name, tensor in inputs.items()}, **scalars)
    for name, tensor in outputs.items():
        tensor.copy_(_to_torch(results[name]))


def _scalars(spec: Spec, captures: list[float]) -> dict:
    return {name: int(value) if kind == "i32" else value for (name, kind), value in zip(spec.captures.items(), captures)}


def _make_outputs(number: int, q, k, v) -> tuple[torch.Tensor, torch.Tensor]:
    spec = _SPECS[number]
    out = q.new_empty((*q.shape[:-1], v.shape[-1]))
    b, h, s = (q.shape[spec.layout.index(letter)] for letter in "bhs")
    return out, q.new_empty((b, h, s), dtype=torch.float32)


@torch.library.custom_op("fa4::sdpa", mutates_args=())
def _sdpa(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, number: int, captures: list[float], deterministic: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    out, lse = _make_outputs(number, q, k, v)
    made = _kernel(number, False, _chip(q), False)
    _call(made, {"q": q, "k": k, "v": v}, {"out": out, "lse": lse}, _scalars(_SPECS[number], captures))
    return out, lse


@_sdpa.register_fake
def _(q, k, v, number, captures, deterministic):
    return _make_outputs(number, q, k, v)


@torch.library.custom_op("fa4::sdpa_backward", mutates_args=())
def _sdpa_backward(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor, dout: torch.Tensor, lse: torch.Tensor, number: int,
    captures: list[float], deterministic: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:  # fmt: skip
    gradients = {f"d{name}": torch.empty_like(each, memory_format=torch.contiguous_format) for name, each in zip("qkv", (q, k, v))}
    made = _kernel(number, True, _chip(q), deterministic)
    inputs = {"q": q, "k": k, "v": v, "out": out, "dout": dout.contiguous(), "lse": lse}
    _call(made, inputs, gradients, _scalars(_SPECS[number], captures))
    return gradients["dq"], gradients["dk"], gradients["dv"]


@_sdpa_backward.register_fake
def _(q, k, v, out, dout, lse, number, captures, deterministic):
    return tuple(torch.empty_like(each, memory_format=torch.contiguous_format) for each in (q, k, v))


def _setup_context(ctx, inputs, output):
    q, k, v, ctx.number, ctx.captures, ctx.deterministic = inputs
    out, lse = output
    ctx.save_for_backward(q, k, v, out, lse)
    ctx.mark_non_differentiable(lse)


def _backward(ctx, dout, _):
    q, k, v, out, lse = ctx.saved_tensors
    return *_sdpa_backward(q, k, v, out, dout, lse, ctx.number, ctx.captures, ctx.deterministic), None, None, None


_sdpa.register_autograd(_backward, setup_context=_setup_context)


def attention(spec: Spec, *, deterministic: bool = False) -> Callable:
    """A function `attend(q, k, v, **captures)` on tensors of torch, differentiable in q, k and v. Shapes and dtypes are the
    spec's; captures are numbers. It returns out, and with the spec's `lse` (out, lse); the LSE is not differentiable. `deterministic`: whether gradients
    have the same bits in each run. Kernels are compiled at the first call. Raises SpecError, CompileError, LaunchError."""
    if spec.is_backward:
        raise SpecError("attention takes the spec of the forward op; its gradient follows")
    if spec.sinks or spec.seqlens_k or spec.is_packed or spec.captured_tensors:
        raise SpecError("attention takes q, k and v, and captures that are numbers: no sinks, seqlens_k, packed layout or captured tensors")
    number = next(_numbers)
    _SPECS[number] = replace(spec, lse=True)

    def attend(q, k, v, **captures):
        if missing := set(spec.captures) ^ set(captures):
            raise SpecError(f"captures are {', '.join(spec.captures) or 'none'}, and the call differs in {', '.join(sorted(missing))}")
        spec.bind({name: tensor.shape for name, tensor in (("q", q), ("k", k), ("v", v))})
        given = [float(captures[name]) for name in spec.captures]
        out, lse = _sdpa(q, k, v, number, given, deterministic)
        return (out, lse) if spec.lse else out

    return attend


@functools.cache
def _flex(dims: tuple[int, int], dtype: str, score_mod, mask_mod, scale, lse):
    q, k, v = (f"B {heads} {s} {dim}" for heads, s, dim in (("Hq", "Sq", dims[0]), ("Hkv", "Sk", dims[0]), ("Hkv", "Sk", dims[1])))
    return attention(sdpa(q, k, v, dtype=dtype, layout="bhsd", score_mod=score_mod, mask_mod=mask_mod, scale=scale, lse=lse))


def flex_attention(query, key, value, score_mod=None, mask_mod=None, scale: float | None = None, return_lse: bool = False):
    """As torch's `flex_attention`, for tensors [B, H, S, D] of bf16 or f16: score_mod(score, b, h, q_idx, kv_idx) and
    mask_mod(b, h, q_idx, kv_idx) are functions of torch or of fa4.math, which capture numbers only. key and value may have fewer heads. Give
    the same function objects at each call: a new one is traced, and taken from the cache, anew."""
    dtypes = {torch.bfloat16: "bf16", torch.float16: "f16"}
    if query.dtype not in dtypes:
        raise SpecError(f"tensors of {query.dtype}: only bf16 and f16")
    return _flex((query.shape[-1], value.shape[-1]), dtypes[query.dtype], score_mod, mask_mod, scale, return_lse)(query, key, value)
