# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles an op and its gradient, runs both on the GPU if torch has one, else in the simulator, and compares them with float64."""

import fa4
import numpy as np
from ml_dtypes import bfloat16

try:
    import torch
except ImportError:  # The simulator does without.
    torch = None


def draw(rng, shapes):
    """Normal numbers, rounded to bf16, by name -> shape."""
    return {name: rng.standard_normal(shape, np.float32).astype(bfloat16) for name, shape in shapes.items()}


def has_gpu():
    return torch is not None and torch.cuda.is_available()


def run_in_torch(spec, q, k, v, dout, device="cuda", **tables):
    """out, dq, dk and dv as numpy arrays of float32. On the CPU, torch's tensors go to the simulator, too."""

    def tensor(array):
        return torch.from_numpy(array.astype(np.float32) if array.dtype == bfloat16 else array).to(device)

    leaves = [tensor(array).bfloat16().requires_grad_() for array in (q, k, v)]
    given = {name: tensor(value) if isinstance(value, np.ndarray) else value for name, value in tables.items()}
    out, _ = fa4.torch.attention(spec)(*leaves, **given)
    gradients = torch.autograd.grad(out, leaves, tensor(dout).bfloat16())
    return {name: each.detach().float().cpu().numpy() for name, each in zip(("out", "dq", "dk", "dv"), (out, *gradients))}


def run_in_simulator(spec, q, k, v, dout, **tables):
    """The same. The gradient needs the LSE of the forward op, which only a spec with `lse` gives."""
    forward = fa4.compile(spec).simulate(q=q, k=k, v=v, **tables)
    gradients = fa4.compile(spec.backward()).simulate(q=q, k=k, v=v, out=forward.out, lse=forward.lse, dout=dout, **tables)
    return {"out": forward.out, **gradients}


def compare(name, spec, given, tables):
    """Prints the largest errors of the op and of its gradient, and asserts that they are those of bf16."""
    found = (run_in_torch if has_gpu() else run_in_simulator)(spec, **given, **tables)
    inputs = {each: given[each] for each in "qkv"}
    exact = {"out": spec.reference(**inputs, **tables).out, **spec.backward().reference(**given, **tables)}
    errors = {each: abs(found[each].astype(np.float64) - exact[each]).max() for each in ("out", "dq", "dk", "dv")}
    where = torch.cuda.get_device_name() if has_gpu() else "the simulator"
    print(f"{name}, in {where}: largest errors " + ", ".join(f"{each} {error:.4f}" for each, error in errors.items()))
    for each, error in errors.items():
        assert error < 0.02 * max(1, abs(exact[each]).max()), f"{each} of {name} is wrong"
