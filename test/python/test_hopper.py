# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels for Hopper, whose lanes start the MMAs and hold the results, in fa4-sim with all checks: products of matrices
against numpy, attention and its gradient against float64. A run draws some of the cases; FA4_MANY=1 tries all, and
bench/grid --chip=sm_90a the whole grid."""

from dataclasses import replace

import numpy as np
import pytest

import test_gradient
from fa4_bench import gradient_grid
from fa4_testing import gpu, grid
from fa4_testing.programs.forms import BR, CASES, DEFAULT, SCORE_MODS, TL
from fa4_testing.programs.products import Product
from fa4_testing.programs.program import Program, Sizes, run
from fa4.reference import Mask

pytestmark = pytest.mark.skipif(not gpu.has_tools("fa4-compile", "fa4-sim"), reason="needs fa4-compile and fa4-sim")
CHIP = "sm_90a"

PRODUCTS = [
    *(
        Product(m, n, transpose_a=a, transpose_b=b, dtype=dtype, result=result)
        for m in (64, 128)
        for n in (64, 128)
        for a in (False, True)
        for b in (False, True)
        for dtype, result in (("bf16", "bf16"), ("f16", "f32"))
    ),
    # Each number of columns is another instruction; those of stores are whole spans of a swizzle.
    *(Product(64, n) for n in (16, 32, 96, 192, 256)),
    *(Product(64, n, transpose_b=True, result="f32") for n in (8, 16, 24, 40, 48, 80, 160, 256)),
    *(Product(64, 64, k, a, b) for k in (16, 32, 48, 96, 128, 192) for a, b in ((False, False), (False, True), (True, False))),
    # Three and four warpgroups, and one of the most columns.
    Product(192, 128), Product(256, 64, transpose_a=True), Product(128, 256, dtype="f16", result="f16"),
]  # fmt: skip


@pytest.mark.turns(12)
@pytest.mark.parametrize("product", PRODUCTS, ids=str)
def test_product(product, tmp_path):
    """A product with operands in shared memory, in each order of rows and columns, must be right at ragged sizes."""
    product.check(tmp_path)


@pytest.mark.parametrize("keys", [1, 300])
def test_product_of_registers(keys, tmp_path):
    """The first product of two is the operand of the second one, from registers: the results must be right, with one
    block of keys and with several."""
    file = gpu.ROOT / "test/Dialect/Tile/Inputs/matrix-program.mlir"
    kernel = gpu.compile(file.read_text(), tmp_path, options=["--from=tile"])
    rng = np.random.default_rng(keys)
    q, k, v = (rng.standard_normal((n, 64)).astype(gpu.DTYPES["bf16"]) for n in (200, keys, keys))
    out, most = gpu.simulate(kernel, {"q": q, "k": k, "v": v}, ["out", "most"], seeds=(0, 2))
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = q @ k.T
    exact = np.maximum(scores, 0) @ v
    # Keys behind the end of a tile are zeros.
    padded = np.pad(scores, ((0, 0), (0, -keys % 128))).max(axis=1)
    assert abs(most - padded).max() < 1e-4
    assert abs(out.astype(np.float64) - exact).max() <= 0.01 * abs(exact).max()


# Head dims, with one query tile, two and three; groups of heads; masks that end within a tile of 64 rows.
HEAD_DIMS = {
    f"{dim}{mask and ' ' + mask}": dict(head_dim=dim, mask=masks) | rest
    for dim, rest in {
        32: dict(sizes=Sizes(1, 200, 130, 1, 2)),
        64: dict(sizes=Sizes(1, 257, 129, 1, 3)),
        96: dict(dtype="f16"),
        128: dict(layout="bhsd"),
        160: dict(sizes=Sizes(1, 65, 190)),
        192: dict(layout="sbhd", dtype="f16"),
        224: dict(sizes=Sizes(1, 130, 70)),
        256: dict(sizes=Sizes(2, 70, 150)),
    }.items()
    for mask, masks in {"": None, "causal": Mask.causal(BR), "window": Mask(TL, 50, 20)}.items()
}
HEAD_DIMS |= {
    "192 and 128": dict(head_dim=192, head_dim_v=128, mask=Mask.causal(BR)),
    "64 and 128": dict(head_dim=64, head_dim_v=128),
    "256, softcap": dict(head_dim=256, sizes=Sizes(1, 70, 150)) | SCORE_MODS["softcap"],
    "128, slopes": dict(head_dim=128) | SCORE_MODS["slopes"],
}


@pytest.mark.turns(7)
@pytest.mark.parametrize("name", HEAD_DIMS)
def test_head_dim(name, tmp_path):
    """Attention of each head dim, of which tiles of other sizes follow, must be right."""
    run(Program(**(DEFAULT | HEAD_DIMS[name] | dict(chip=CHIP))), tmp_path / "kernel", seeds=(0, 1))


# Those that are about another chip, or about what only that has: requests for work, and instructions on pairs of f32.
OTHER_CHIP = ("options-sm_103a", "schedule-clc", "packed-clc", "options-half polynomial")


@pytest.mark.turns(32)
@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith(OTHER_CHIP)])
def test_form(name, tmp_path):
    """A form that the support matrix says yes to must be right."""
    run(Program(**(DEFAULT | CASES[name] | dict(chip=CHIP))), tmp_path / "kernel", seeds=(0, 1))


@pytest.mark.turns(25)
@pytest.mark.parametrize("case", grid.quick_cases(grid.PARAMETERS | grid.HOPPER), ids=str)
def test_quick(case, tmp_path):
    """A case of the quick grid must be right under two schedules."""
    kernel = gpu.compile(case.op.mlir(), tmp_path, chip=CHIP, options=case.op.options)
    grid.run_case(case, kernel, schedules=2, timeout=300)


# Without what only another chip has, and head dims whose sums a thread has no registers for.
GRADIENTS = {
    name: replace(form, chip=CHIP)
    for name, form in test_gradient.CASES.items()
    if form.chip == "sm_100a" and not name.startswith("pairs") and "--pairs=on" not in form.options and form.head_dim + (form.head_dim_v or form.head_dim) <= 320
}


@pytest.mark.turns(10)
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradient_of_form(name, tmp_path):
    """The gradient of a form must be right, and ptxas must neither spill nor wait for an MMA, which the compiler refuses."""
    GRADIENTS[name].run(tmp_path / "kernels", seeds=(0, 1))


@pytest.mark.turns(20)
@pytest.mark.parametrize("case", gradient_grid.quick_cases(gradient_grid.PARAMETERS), ids=str)
def test_gradient_quick(case, tmp_path):
    """A case of the gradient's quick grid must be right under two schedules."""
    launches = gpu.compile_launches(case.op.mlir(), tmp_path, chip=CHIP, options=case.op.options)
    gradient_grid.run_case(case, launches, schedules=2, timeout=300)


@pytest.mark.skipif(not gpu.find_ptxas(), reason="needs ptxas")
@pytest.mark.turns(16)
@pytest.mark.parametrize("name", [*HEAD_DIMS, "softcap", "alibi"])
def test_ptxas_lets_mmas_run(name, tmp_path):
    """PTX for Hopper is assembled: ptxas must neither spill registers nor wait for an MMA where the kernel does not, of which
    it says C7508 to C7519, and C7602."""
    form = HEAD_DIMS.get(name) or dict(head_dim=128) | SCORE_MODS[name]
    program = Program(**(DEFAULT | form | dict(chip=CHIP)))
    kernel = gpu.compile(program.mlir(), tmp_path, CHIP, options=program.options)
    done = gpu.assemble(kernel.ptx, CHIP)
    assert (done.spill_stores, done.spill_loads, done.stack, done.advice) == (0, 0, 0, ())
