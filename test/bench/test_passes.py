# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Upstream's passes between the levels: a cross-section of bench/passes, in which each
of them runs at each level on one of several kernels, and random sequences of them at
all levels of each kernel. A run draws a fifth of the kernels, bench/passes --quick takes all."""

from dataclasses import replace

import numpy as np
import pytest

from fa4_testing import gpu, passes
from fa4_testing.passes import QUICK, Refused, Subject, Trial
from fa4_testing.programs.program import Program

pytestmark = pytest.mark.skipif(
    not gpu.has_tools("fa4-sim", "fa4-compile", "fa4-opt"),
    reason="needs fa4-compile, fa4-opt and fa4-sim",
)
KERNELS = {kernel.name: kernel for kernel in passes.kernels()}


@pytest.mark.turns(5)
@pytest.mark.parametrize("name", QUICK)
def test_kernel(name, tmp_path):
    """Passes run between the levels of a kernel: each trial must give a right kernel."""
    of_table = passes.quick(QUICK.index(name))
    outcomes = passes.run_kernel(KERNELS[name], of_table, drawn=1, seed=0, folder=tmp_path)
    failed = [f"{outcome.trial}: {outcome.error}" for outcome in outcomes if outcome.error]
    assert not failed, "\n".join(failed)
    assert len(outcomes) == len(passes.table_trials(start=KERNELS[name].first)[of_table]) + 1 > 4


def test_command(capsys):
    """The command is given one kernel and one random trial: it must succeed and count one trial."""
    assert passes.main(["--kernel", "^late-uses$", "--no-table", "--random", "1", "--jobs", "1"]) == 0
    assert "1 trials of 1 kernels, 1 of them at several levels" in capsys.readouterr().out


def test_cross_section_has_each_pass_at_each_level():
    """The quick trials of all kernels together must run each pass at each level once."""
    trials = passes.table_trials()
    chosen = [trials[passes.quick(number)] for number in range(len(QUICK))]
    assert sorted(map(str, sum(chosen, []))) == sorted(map(str, trials))
    assert len(trials) == len(passes.PASSES) * len(passes.levels())


def test_trial_as_a_pipeline():
    """A trial with passes at two levels is printed: the pipeline must have them between the right stages."""
    trial = Trial((("tile", ("cse",)), ("unroll", ("sccp", "canonicalize"))))
    text = trial.pipeline("tile", "nvvm", KERNELS["gemm"])
    assert text.startswith("builtin.module(cse,attn-to-nvvm{from=tile to=subtile}")
    assert "to=unroll},sccp,canonicalize,tile.kernel(tile-verify-protocol),tile-to-nvvm," in text
    assert text.endswith(",convert-nvvm-to-llvm,reconcile-unrealized-casts)")


@pytest.fixture(scope="module")
def subject(tmp_path_factory):
    return Subject(KERNELS["plain-causal-hd64-f16"], tmp_path_factory.mktemp("subject"))


def test_a_pass_that_fails(subject):
    """A trial has a pass that does not exist: it must be refused with the message of fa4-opt."""
    with pytest.raises(Refused, match="fa4-opt"):
        subject.run(Trial((("tile", ("no-such-pass",)),)))


# Another share of exponentials that a polynomial computes.
OTHER_BITS = Trial((("schedule", ("tile.kernel(tile-split-exp{fraction=0.5})",)),))


def test_other_bits_are_compared_with_float64(subject, monkeypatch):
    """A pass changes the bits of results: they must be compared with float64, and refused if wrong."""
    plain = subject.run(Trial((("schedule", ("cse",)),)))
    assert plain in (passes.SAME_PTX, passes.SAME_BITS)
    assert subject.run(OTHER_BITS) == passes.CLOSE
    other = replace(subject.kernel.program, mask=None)
    monkeypatch.setattr(Program, "form", lambda _, real=Program.form: real(other))
    monkeypatch.setattr(subject, "simulated", {})
    with pytest.raises(Refused, match="compare: out"):
        subject.run(OTHER_BITS)


def test_random_trials_differ():
    """Twenty trials are drawn at random: all must differ, and some must run passes on tile.kernel."""
    draw = [str(passes.draw_trial(np.random.default_rng([0, number]))) for number in range(20)]
    assert len(set(draw)) == 20
    assert any("tile.kernel(" in text for text in draw)
