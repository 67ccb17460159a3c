# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls without sequences, queries or keys: the results are what the op defines, under every schedule, and no kernel runs on sizes of 0.
(fa4-sim: test_launch_conditions. On a GPU: torch_checks and host_program.)"""

import ml_dtypes
import numpy as np
import pytest

import fa4
from fa4 import _library
from fa4_testing.programs.forms import SCORE_MODS
from fa4_testing.programs.gradient import Gradient

try:
    _library.find("libfa4.so", "FA4_LIBRARY")
except fa4.LibraryNotFoundError as missing:
    pytest.skip(f"needs {missing}", allow_module_level=True)

HEADS, KEY_HEADS = 4, 2
# B, Sq, Sk.
CALLS = [(2, 40, 0), (0, 40, 70), (2, 0, 70), (0, 0, 0)]


def draw(*shape):
    return np.random.default_rng(1).standard_normal(shape).astype(ml_dtypes.bfloat16)


@pytest.mark.parametrize("options", ["", "schedule=grid", "schedule=lpt", "schedule=clc", "pairs=on"])
def test_forward(options):
    """A call has no sequences, queries or keys: out must be 0, LSE -inf, and the modelled time 0."""
    kernel = fa4.compile(fa4.sdpa(q="B Sq H 64", k="B Sk G 64", lse=True, mask="causal"), options=options, verify=False)
    for batch, queries, keys in CALLS:
        q, k = draw(batch, queries, HEADS, 64), draw(batch, keys, KEY_HEADS, 64)
        for check in (False, True):
            made = kernel.simulate(check=check, q=q, k=k, v=k)
            assert made.out.shape == q.shape and (made.out == 0).all()
            assert made.lse.shape == (batch, HEADS, queries) and (made.lse == -np.inf).all()
        time = kernel.time(B=batch, Sq=queries, Sk=keys, H=HEADS, G=KEY_HEADS)
        assert (time.cycles, time.flops, time.teraflops) == (0, 0, 0)


def test_sinks():
    """A call with sinks has no keys: out must be 0, and a call that asks for the LSE, which would be the sinks, is refused."""
    spec = dict(q="B Sq H 64", k="B Sk G 64", sinks=True)
    call = dict(q=draw(2, 40, HEADS, 64), k=draw(2, 0, KEY_HEADS, 64), v=draw(2, 0, KEY_HEADS, 64), sinks=np.ones(HEADS, np.float32))
    assert (fa4.compile(fa4.sdpa(**spec), verify=False).simulate(**call).out == 0).all()
    with pytest.raises(fa4.SimulationError, match="size Sk must be at least 1: the LSE of a row without keys is its sink"):
        fa4.compile(fa4.sdpa(**spec, lse=True), verify=False).simulate(**call)


STATIC = """func.func @sdpa(%q: memref<2x40x4x64xbf16>, %k: memref<2xKEYSx2x64xbf16>, %v: memref<2xKEYSx2x64xbf16>, %out: memref<2x40x4x64xbf16>) {
  attn.sdpa %q, %k, %v layout<bshd> outs(%out : memref<2x40x4x64xbf16>)
    : memref<2x40x4x64xbf16>, memref<2xKEYSx2x64xbf16>, memref<2xKEYSx2x64xbf16>
  return
}
"""


def test_static_sizes_beside_dynamic_ones():
    """Only the number of keys is dynamic: a call without keys must give 0, and a static size of 0 must be refused."""
    kernel = fa4.compile(STATIC.replace("KEYS", "?"), verify=False)
    assert kernel.manifest["empty"] == {"condition": "Sk == 0", "fills": [{"tensor": "out", "value": 0}]}
    assert (kernel.simulate(q=draw(2, 40, 4, 64), k=draw(2, 0, 2, 64), v=draw(2, 0, 2, 64)).out == 0).all()
    assert "empty" not in fa4.compile(STATIC.replace("KEYS", "70"), verify=False).manifest
    with pytest.raises(fa4.CompileError, match="'k' has no elements"):
        fa4.compile(STATIC.replace("KEYS", "0"), verify=False)


GRADIENTS = {
    "pairs of CTAs": dict(options="pairs=on"),
    "in turns": dict(deterministic=True),
    "dq by its own kernel": dict(dims=(192, 128)),
    "sinks": dict(sinks=True),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradient(name):
    """A gradient of calls without sequences, queries or keys is right. Its kernels hand each other workspaces, which
    are undefined at first, so they must write them in these calls as well."""
    form = dict(GRADIENTS[name])
    dim, dim_v = form.pop("dims", (64, 64))
    options = form.pop("options", "")
    spec = fa4.sdpa_backward(q=f"B Sq {HEADS} {dim}", k=f"B Sk {KEY_HEADS} {dim}", v=f"B Sk {KEY_HEADS} {dim_v}", **form)
    kernel = fa4.compile(spec, options=options, verify=False)
    for batch, queries, keys in CALLS:
        inputs = {
            "q": draw(batch, queries, HEADS, dim), "k": draw(batch, keys, KEY_HEADS, dim), "v": draw(batch, keys, KEY_HEADS, dim_v),
            "out": np.zeros((batch, queries, HEADS, dim_v), ml_dtypes.bfloat16), "dout": draw(batch, queries, HEADS, dim_v),
            "lse": np.full((batch, HEADS, queries), -np.inf, np.float32),
        }  # fmt: skip
        if "sinks" in form:
            inputs["sinks"] = np.linspace(-1, 1, HEADS, dtype=np.float32)
            inputs["lse"][:] = inputs["sinks"][:, None]
        made = kernel.simulate(check=True, **inputs)
        for result in spec.outputs:
            assert made[result].shape == inputs[result[1:]].shape and (made[result] == 0).all(), (result, batch, queries, keys)


def test_gradient_of_captures():
    """A gradient's call has no sequences, queries or keys: all gradients, that of the capture too, must be 0."""
    gradient = Gradient(wrt=(0,), head_dim=64, **SCORE_MODS["slopes"])
    kernel = fa4.compile(gradient.mlir(), verify=False)
    for batch, queries, keys in CALLS:
        sizes = {"B": batch, "Sq": queries, "Sk": keys, "Hq": HEADS, "Hkv": KEY_HEADS}
        tensors = kernel.manifest["tensors"]
        inputs = {
            name: np.ones([int(sizes.get(str(size), size)) for size in tensor["shape"]], np.float32)
            for name, tensor in tensors.items() if tensor["role"] == "in"
        }  # fmt: skip
        made = kernel.simulate(check=True, **inputs)
        assert made.dcapture0.shape == (HEADS,)
        assert all((made[name] == 0).all() for name in ("dq", "dk", "dv", "dcapture0")), (batch, queries, keys)
