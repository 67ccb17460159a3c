# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pairs of CTAs are a property that `tile-pair-ctas` gives a kernel: of each form of the tests that can be a pair, the
IR above that level is the same text with pairs and without, and the kernels of both are right."""

import re
from dataclasses import replace
from typing import NamedTuple

import pytest
from test_gradient import CASES as GRADIENT_CASES
from test_gradient import IN_TURN

from fa4.spec import FEW_QUERIES
from fa4_testing import gpu, passes
from fa4_testing.programs import forms
from fa4_testing.programs.flaws import refusal
from fa4_testing.programs.program import Program, Sizes, run

pytestmark = pytest.mark.skipif(
    not gpu.has_tools("fa4-sim", "fa4-compile"), reason="needs fa4-compile and fa4-sim"
)
ON = "--pairs=on"


def paired(form):
    others = (option for option in form.options if not option.startswith("--pairs"))
    return replace(form, options=(*others, ON))


# Those of the tables of forms, of the kernels between whose levels passes run, and of the gradient: all of them that
# docs/pairs.md does not except.
FORWARD = {name: Program(**(forms.DEFAULT | changes)) for name, changes in forms.CASES.items()}
FORMS = FORWARD | GRADIENT_CASES | {f"in turn, {name}": form for name, form in IN_TURN.items()}
FORMS |= {kernel.name: kernel.program for kernel in passes.kernels() if isinstance(kernel, passes.Attention)}
EXCEPTED = "sequences of a pair", "columns of a pair's MMA"
FORMS = {name: form for name, form in FORMS.items() if refusal(paired(form)) not in EXCEPTED}
# CTAs that divide the keys of few queries are no pairs.
FORMS = {name: form for name, form in FORMS.items() if not (isinstance(form, Program) and "Sq" in form.static and form.sizes.sq <= FEW_QUERIES)}
# Programs of the tile dialect that are pairs, too.
TILE_PROGRAMS = {"gemm": "test/Pipelines/gemm.mlir", "gradient": "test/Dialect/Tile/backward-program.mlir"}
LEVELS = gpu.levels() if gpu.has_tools("fa4-compile") else ()
ABOVE = LEVELS[: LEVELS.index("pair-ctas")] if LEVELS else ()


class Emitted(NamedTuple):
    above: dict  # of each level above `pair-ctas` its text
    pairs: list  # the kernels that are pairs behind that level, by name


def emit(text, folder, pairs, *options, above=ABOVE):
    source, out = folder / "op.mlir", folder / pairs
    source.write_text(text)
    levels = ",".join((*above, "pair-ctas"))
    gpu.run_tool("fa4-compile", source, f"--emit={levels}", f"--pairs={pairs}", *options, "-o", out)
    texts = {path.name.split(".")[-2]: path.read_text() for path in out.glob("*.mlir")}
    kernels = re.findall(r"tile\.kernel @(\w+)\(.* cluster = #tile\.cluster<size = 2, ", texts["pair-ctas"])
    return Emitted({level: texts[level] for level in above}, kernels)


def emit_pairs(text, folder, *options, above=ABOVE):
    """Returns the kernels that are pairs, if what is above is the same without pairs."""
    on, off = (emit(text, folder, pairs, *options, above=above) for pairs in ("on", "off"))
    assert on.above == off.above
    assert not off.pairs
    return on.pairs


# In one module for each chip: to start a compiler takes longer than to compile to these levels.
@pytest.mark.parametrize("chip", ["sm_100a", "sm_103a"])
def test_ir_above_is_the_same(chip, tmp_path):
    """Ops are compiled with and without pairs: the IR above `pair-ctas` must be equal, and each op must become a
    pair."""
    chosen = [form for form in FORMS.values() if form.chip == chip]
    assert len(chosen) > (1 if chip == "sm_103a" else 200)
    texts = [form.mlir().replace("func.func @", f"func.func @f{number}_", 1) for number, form in enumerate(chosen)]
    pairs = emit_pairs("\n".join(texts), tmp_path, f"--chip={chip}")
    # Each op has a kernel that is a pair.
    assert {int(name[1:].split("_")[0]) for name in pairs} == set(range(len(chosen)))


@pytest.mark.parametrize("file", TILE_PROGRAMS.values(), ids=list(TILE_PROGRAMS))
def test_ir_of_tile_programs_above_is_the_same(file, tmp_path):
    """A tile program is compiled with and without pairs: the IR above `pair-ctas` must be equal."""
    assert emit_pairs((gpu.ROOT / file).read_text(), tmp_path, "--from=tile", above=ABOVE[1:])


@pytest.mark.turns(12)
@pytest.mark.parametrize("name", [name for name in forms.CASES if name in FORMS])
def test_form_on_pairs(name, tmp_path):
    """A form on pairs is right, as test_kernel_forms.test_form checks it. The number of work tiles is odd unless the
    form has a length of its own."""
    given = {"sizes": Sizes(1, 520, 150, 1, 2)} | forms.CASES[name]
    run(paired(Program(**given)), tmp_path / "kernel", seeds=(0, 1))
