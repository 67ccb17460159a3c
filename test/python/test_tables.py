# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables: captured tensors that regions read at any index. (Forms: test_kernel_forms and test_gradient; functions of
torch: test_flex_attention.)"""

import os
import subprocess
import sys

import numpy as np
import pytest
from ml_dtypes import bfloat16

import fa4
from fa4 import tools
from fa4_testing import gpu

EXAMPLES = tools.ROOT / "docs" / "examples" / "tables"
SIZES = dict(B=2, S=70, H=2, D=64)


def draw(*names, rng):
    shape = (SIZES["B"], SIZES["S"], SIZES["H"], SIZES["D"])
    return {name: rng.standard_normal(shape, np.float32).astype(bfloat16) for name in names}


def test_the_example_runs():
    """docs/examples/tables/tables.py draws tables and compares forward and gradient with float64: it must end well."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tools.ROOT / "python"), *sys.path])}
    done = subprocess.run([sys.executable, EXAMPLES / "tables.py"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("largest error") == 4


@pytest.mark.parametrize("chip", ["sm_90a", "sm_100a", "sm_103a"])
@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.mlir")))
def test_the_ops_have_kernels(name, chip, tmp_path):
    """The examples' ops are compiled for each chip, and ptxas must not spill."""
    gpu.compile((EXAMPLES / name).read_text(), tmp_path, chip=chip)


BEYOND = {
    "beyond the end": (lambda s, b, h, i, j, t: s + t[h, j + 1000], lambda t: t[:, -1]),
    "below 0": (lambda s, b, h, i, j, t: s + t[h, j - 1000], lambda t: t[:, -1]),
    "within": (lambda s, b, h, i, j, t: s + t[h, i // 1000], lambda t: t[:, 0]),
}


@pytest.mark.parametrize("chip", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("name", BEYOND)
def test_an_index_out_of_bounds_reads_the_last_element(name, chip):
    """A score_mod reads a table at an index that it does not have: the last element of the dimension must count, and nothing
    be read that does not exist."""
    rng = np.random.default_rng()
    mod, element = BEYOND[name]
    kernel = fa4.compile(fa4.sdpa(q="B S H 64", k="B S H 64", score_mod=mod, captures={"t": "f32 H N"}, lse=True), chip=chip)
    table = rng.standard_normal((SIZES["H"], 5), np.float32)
    given = draw("q", "k", "v", rng=rng)
    got = kernel.simulate(**given, t=table, check=True)
    # What all scores of a head have in common changes the LSE alone.
    plain = fa4.sdpa(q="B S H 64", k="B S H 64", lse=True).reference(**given)
    assert abs(got.lse - plain.lse - element(table)[None, :, None]).max() < 1e-3
    assert abs(got.out.astype(np.float64) - plain.out).max() < 0.03


def test_a_table_has_an_element_wherever_it_is_read():
    """A table has fewer elements than a call has keys, at which a region reads it: the call must be refused, and with as many
    or more be right."""
    spec = fa4.sdpa(q="B S H 64", k="B S H 64", mask_mod=lambda b, h, i, j, seen: seen[b, j], captures={"seen": "bool M N"})
    kernel = fa4.compile(spec)
    rng = np.random.default_rng()
    given = draw("q", "k", "v", rng=rng)
    for size in (70, 71, 200):
        seen = rng.random((2, size)) < 0.5
        out = kernel.simulate(**given, seen=seen).out
        assert abs(out.astype(np.float64) - spec.reference(**given, seen=seen).out).max() < 0.03
    with pytest.raises(fa4.Fa4Error, match="dimension 1 of 'capture0', capture0_1, must be at least Sk: a region reads it at each key"):
        kernel.simulate(**given, seen=np.ones((2, 69), bool))
    with pytest.raises(fa4.Fa4Error, match="capture0_0, must be at least B: a region reads it at each sequence"):
        kernel.simulate(**given, seen=np.ones((1, 70), bool))


def test_a_table_has_elements():
    """A table without elements does not make a call empty: with queries and keys it must be refused, and without them change
    nothing."""
    form = dict(score_mod=lambda s, b, h, i, j, t: s + t[j // 1000, h], captures={"t": "f32 M N"})
    kernel = fa4.compile(fa4.sdpa(q="B S H 64", k="B S H 64", **form))
    given = draw("q", "k", "v", rng=np.random.default_rng())
    with pytest.raises(fa4.Fa4Error, match="dimension 0 of 'capture0', capture0_0, must be at least 1"):
        kernel.simulate(**given, t=np.zeros((0, 2), np.float32))
    nothing = {name: array[:, :0] for name, array in given.items()}
    assert kernel.simulate(**nothing, t=np.zeros((0, 2), np.float32)).out.shape == (2, 0, 2, 64)


def test_times_name_the_sizes_of_tables():
    """A call without arrays gives the sizes of a table by the names of the spec: those of q and k count, too, others must be given."""
    mod = lambda s, b, h, i, j, near, far: s + near[b, j] + far[h, 0]
    kernel = fa4.compile(fa4.sdpa(q="B S H 64", k="B S H 64", score_mod=mod, captures={"near": "f32 B S", "far": "f32 H N"}))
    assert kernel.time(B=1, S=130, H=2, N=3).cycles > 0
    with pytest.raises(fa4.SpecError, match="the call does not say how large N is"):
        kernel.time(B=1, S=130, H=2)
