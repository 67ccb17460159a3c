# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fa4's operators under the transforms of torch.func: grad, vjp, vmap, and what is made of them.

torch's operators of Python have no rules for these, and its autograd functions do. A vmap is a launch for each element: score_mod and mask_mod
may depend on the batch's index, which is not the vmap's.
"""

from __future__ import annotations

import torch
from torch.utils import _pytree

from fa4 import torch_ops


def is_active() -> bool:
    """Whether a transform of torch.func is under way."""
    return torch._C._functorch.peek_interpreter_stack() is not None


def _one_by_one(function, info, in_dims, args):
    leaves, tree = _pytree.tree_flatten(args)
    dims, _ = _pytree.tree_flatten(in_dims, is_leaf=lambda each: each is None)
    results = []
    for i in range(info.batch_size):
        chosen = [leaf if dim is None else leaf.select(dim, i) for leaf, dim in zip(leaves, dims)]
        results.append(function.apply(*_pytree.tree_unflatten(chosen, tree)))
    return tuple(torch.stack(each) for each in zip(*results)), (0,) * len(results[0])


def _no_tangents(ctx, *_):
    raise NotImplementedError("fa4's attention has no forward-mode derivative (jvp): use reverse mode, backward() or torch.func.vjp")


class Gradient(torch.autograd.Function):
    """fa4::sdpa_backward."""

    @staticmethod
    def forward(*args):
        # A list would be a result without a gradient: an autograd function has tensors, or a tuple of them.
        return tuple(torch_ops.sdpa_backward(*args))

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, *_):
        return torch_ops.refuse_second_derivative(ctx)

    @staticmethod
    def vmap(info, in_dims, *args):
        return _one_by_one(Gradient, info, in_dims, args)

    jvp = staticmethod(_no_tangents)


class Attention(torch.autograd.Function):
    """fa4::sdpa."""

    @staticmethod
    def forward(*args):
        return torch_ops.sdpa(*args)

    @staticmethod
    def setup_context(ctx, inputs, output):
        torch_ops.keep_for_gradient(ctx, inputs, output)

    @staticmethod
    def backward(ctx, dout, dlse):
        gradients = torch_ops.gradient(ctx, dout, dlse, Gradient.apply)
        return *gradients, *[None] * 9

    @staticmethod
    def vmap(info, in_dims, *args):
        return _one_by_one(Attention, info, in_dims, args)

    jvp = staticmethod(_no_tangents)
