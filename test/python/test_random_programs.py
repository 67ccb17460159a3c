# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Some random programs, those of bench/random-programs, and what the compiler refuses of them."""

import pytest

from fa4_testing import gpu
from fa4_testing.programs import flaws, random_programs
from fa4_testing.programs.forms import PACKED
from fa4_testing.programs.gradient import Gradient
from fa4_testing.programs.program import Program, Sizes


needs_tools = pytest.mark.skipif(
    not gpu.has_tools("fa4-sim", "fa4-compile"),
    reason="needs fa4-compile and fa4-sim",
)


@needs_tools
@pytest.mark.parametrize("number", range(16))
def test_program(number, tmp_path):
    """A random program is compiled and simulated with all checks: its numbers must be those of the reference."""
    result = random_programs.run_number(11, number, tmp_path, ptxas=False)
    assert not result.error


@needs_tools
@pytest.mark.turns(2)
@pytest.mark.parametrize("gradient", [False, True], ids=["forward", "gradient"])
@pytest.mark.parametrize("number", range(8))
def test_program_on_pairs(number, gradient, tmp_path):
    """A random program for pairs of CTAs must be right, forward or gradient, or be refused for a reason that is known."""
    result = random_programs.run_number(12, number, tmp_path, ptxas=False, gradient=gradient, pairs=True)
    assert not result.error


@needs_tools
@pytest.mark.parametrize("flaw", flaws.FLAWS)
def test_flaw(flaw):
    """A program has one flaw: the compiler must refuse it with the sentence for that flaw."""
    flaws.check_flaw(Program(sizes=Sizes(2, 40, 50, 2, 2)), flaw)


@needs_tools
def test_what_is_accepted_is_no_flaw():
    """A program without a flaw is taken for one with a flaw: the check must fail, because the compiler accepts it."""
    with pytest.raises(flaws.Flawed, match="accepted"):
        flaws.refuse(Program().mlir(), "sm_100a")


ON = ("--pairs=on",)
REFUSED = {
    "sequences of a pair": Program(**PACKED["full"], options=ON),
    "columns of a pair's MMA": Gradient(head_dim=144, head_dim_v=96, options=ON),
    "shared memory for several tiles": Gradient(head_dim=128, options=("--schedule=static", *ON)),
    "tensor memory for requests": Gradient(head_dim=128, head_dim_v=96, options=("--schedule=clc", *ON)),
    "turns of requests": Gradient(deterministic=True, options=("--schedule=clc", *ON)),
}


@needs_tools
@pytest.mark.parametrize("why", flaws.REFUSALS)
def test_refusal(why):
    """A program that cannot be run by pairs is refused for the reason that is known."""
    flaws.check_flaw(REFUSED[why], why)


@needs_tools
def test_another_reason_is_a_flaw(monkeypatch):
    """A program is refused for another reason than the known one, or not at all: the check must fail."""
    first, second, *_ = flaws.REFUSALS
    with pytest.raises(flaws.Flawed, match="not refused for this reason"):
        flaws.check_flaw(REFUSED[first], second)
    monkeypatch.setitem(flaws.REFUSALS, first, flaws.REFUSALS[second])
    with pytest.raises(flaws.Flawed, match="another reason: .*cannot be run by pairs"):
        flaws.check_flaw(REFUSED[first], first)
    # A form that has pairs, if somebody thinks that it has none.
    monkeypatch.setattr(flaws, "refusal", lambda program: first)
    with pytest.raises(flaws.Flawed, match="accepted"):
        flaws.check_flaw(Gradient(options=ON), first)
