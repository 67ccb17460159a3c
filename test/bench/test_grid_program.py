# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The correctness grid itself, bench/grid: which cases there are, and its verdicts on a slow kernel
from clang that can be made wrong."""

import itertools
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from fa4 import reference
from fa4_bench import grid_run
from fa4_testing import gpu, grid, results, revision
from fa4_testing.cpu import CompileError

NAIVE = Path(__file__).parent / "Inputs" / "naive_compile.py"
FULL, QUICK = grid.full_cases(), grid.quick_cases()

needs_simulator = pytest.mark.skipif(not gpu.has_tools("fa4-sim"), reason="needs fa4-sim")


# ---------------------------------------------------------------------------
# What there is to run
# ---------------------------------------------------------------------------


def pairs_of(values):
    return set(itertools.combinations(sorted(values.items(), key=str), 2))


@pytest.mark.parametrize("parameters", [
    {"a": (1, 2), "b": (1, 2), "c": (1, 2)},
    {"a": tuple(range(7)), "b": (1, 2), "c": (1, 2, 3), "d": (True, False)},
    {"a": (1,), "b": (1, 2, 3)},
])  # fmt: skip
def test_pairwise(parameters):
    """Combinations of parameters are chosen: each pair of values of two parameters must be in one, and they must be
    few."""
    choices = grid.pairwise(parameters)
    everything = [
        dict(zip(parameters, values)) for values in itertools.product(*parameters.values())
    ]
    assert set().union(*map(pairs_of, choices)) == set().union(*map(pairs_of, everything))
    largest = sorted(map(len, parameters.values()))[-2:]
    assert len(choices) <= 2 * np.prod(largest)


def test_pairwise_without_some():
    """Some values do not go together: no choice has them both, and all other pairs of values are in a choice."""
    parameters = {"a": (1, 2, 3), "b": (1, 2, 3, 4), "c": (1, 2), "d": tuple(range(5))}
    without = {(("a", 2), ("b", 3)), (("a", 2), ("b", 4))}
    choices = grid.pairwise(parameters, without)
    everything = [dict(zip(parameters, values)) for values in itertools.product(*parameters.values())]
    assert set().union(*map(pairs_of, choices)) == set().union(*map(pairs_of, everything)) - without


def test_quick_is_part_of_full():
    """The quick cases must be a small part of the full ones and have each value of each parameter."""
    assert set(QUICK) < set(FULL)
    assert len(QUICK) <= 150 and max(case.seconds(1) for case in QUICK) < 2
    for name, values in grid.PARAMETERS.items():
        if name != "pair":
            assert {getattr(case, name) for case in QUICK} == set(values)


def test_full():
    """The full grid must have each combination of parameters once, except that schedules, and layouts of large cases,
    take turns."""
    assert len(FULL) == len(set(map(str, FULL)))
    # Schedules take turns, in large cases layouts too; those of the quick cases come besides.
    regular = [case for case in FULL if grid.turn(case, "schedule", but=())]
    everything = np.prod([len(v) for v in grid.PARAMETERS.values()]) // len(grid.SCHEDULES)
    large = [case for case in regular if case.is_large]
    assert len(regular) + 2 * len(large) == everything
    assert set(FULL) - set(regular) <= set(QUICK)
    assert {case.layout for case in large} == set(grid.LAYOUTS)
    assert {case.schedule for case in large} == set(grid.SCHEDULES)
    assert len(grid.operations(FULL)) == 24 * len(grid.SCHEDULES)
    assert any(max(case.pair) == 2048 for case in FULL)
    # Rows that see no key.
    assert any(c.pair[0] > c.pair[1] and c.mask == "causal" for c in QUICK)


def test_pairs_are_of_supported_forms():
    """The grid of CTA pairs must cover each mask with each schedule, with pairs switched on."""
    quick, full = (of(grid.PARAMETERS | grid.PAIRED, pairs=True) for of in (grid.quick_cases, grid.full_cases))
    assert set(quick) < set(full) and len(quick) <= 100
    assert {(case.mask, case.schedule, case.pairs) for case in full} == {
        (mask, schedule, True) for mask in gpu.MASKS for schedule in grid.SCHEDULES
    }
    assert "--pairs=on" in quick[0].op.options and quick[0].op.name.endswith("_pairs")


def test_wide_are_of_both_head_dims():
    """The grid of wide heads must have the head dims (192, 128) and (256, 256), with operands of these sizes."""
    quick, full = (of(grid.PARAMETERS | grid.WIDE) for of in (grid.quick_cases, grid.full_cases))
    assert set(quick) < set(full) and len(quick) <= 100
    assert {(case.head_dim, case.value_dim) for case in full} == {(192, 128), (256, 256)}
    case = grid.Case(192, "full", "bf16", "bshd", (384, 256), "mqa", "rising", "static")
    op = case.op
    assert op.name == "fwd_hd192_128_full_bf16_bshd_static" and "%v: memref<?x?x?x128xbf16>" in op.mlir()
    assert [x.shape[-1] for x in case.draw(0)] == [192, 192, 128]


def test_schedules_differ_between_inputs():
    """A form and size is simulated under 20 schedules, and no schedule comes twice."""
    case = FULL[0]
    same = [grid.Case(**(vars(case) | {"inputs": inputs})) for inputs in grid.INPUTS]
    seeds = [s for c in same for s in range(c.seeds(4)[0], c.seeds(4)[1] + 1)]
    assert sorted(seeds) == list(range(20))


def scores(case):
    """Returns the scores of the first sequence and head, [rows, keys], in units of log2."""
    q, k, _ = (
        x[0].swapaxes(0, case.layout.index("h") - 1)[0].astype(np.float64)
        for x in case.draw(1)
    )
    return q @ k.T * case.head_dim**-0.5 * np.log2(np.e)


@pytest.mark.parametrize("layout", grid.LAYOUTS)
@pytest.mark.parametrize("head_dim", grid.HEAD_DIMS)
def test_inputs(head_dim, layout):
    """Inputs of each kind are drawn: their scores must be constant, moderate, large, rising or falling as the name
    says."""

    def case(inputs):
        return grid.Case(head_dim, "full", "bf16", layout, (256, 512), "mqa", inputs)

    assert np.ptp(scores(case("constant"))) == 0
    assert 3 < np.abs(scores(case("normal"))).max() < 12
    large = scores(case("large")) / np.log2(np.e)
    assert large.max() > 200 and large.min() < -200
    for inputs, order in (("rising", 1), ("falling", -1)):
        blocks = scores(case(inputs)).reshape(256, 4, 128).max(axis=2)[:, ::order]
        assert (np.diff(blocks, axis=1) > 8).all()


def test_draws_repeat():
    """One seed must draw the same operands twice, another seed others."""
    case = QUICK[5]
    for a, b, other in zip(case.draw(3), case.draw(3), case.draw(4)):
        assert np.array_equal(a, b) and not np.array_equal(a, other)


# ---------------------------------------------------------------------------
# The way there, on a slow kernel
# ---------------------------------------------------------------------------


@pytest.fixture
def naive(monkeypatch, tmp_path, tmp_path_factory):
    """fa4-compile is the slow kernel's."""
    compiled_code = tmp_path_factory.getbasetemp() / "naive"
    compiled_code.mkdir(exist_ok=True)
    monkeypatch.setenv("NAIVE_FOLDER", str(compiled_code))
    tool = tmp_path / "naive"
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{NAIVE}" "$@"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("FA4_COMPILE", str(tool))
    return monkeypatch


def make(**changes):
    values = dict(head_dim=64, mask="causal", dtype="bf16", layout="bshd", pair=(9, 200),
                  heads="gqa4", inputs="normal")  # fmt: skip
    return grid.Case(**(values | changes))


@needs_simulator
@pytest.mark.parametrize("changes", [
    {}, {"layout": "bhsd", "dtype": "f16"}, {"pair": (64, 3)}, {"mask": "full", "heads": "mqa"},
    {"mask": "causal-top-left", "inputs": "rising", "heads": "mqa"}, {"inputs": "constant"},
], ids=str)  # fmt: skip
def test_right_kernel_passes(changes, naive, tmp_path):
    """A right kernel is run on a case: the error must be within the bound."""
    case = make(**changes)
    outcome = grid.run_case(case, gpu.compile(case.op.mlir(), tmp_path / "k"), schedules=2)
    assert outcome.out.out <= outcome.out.bound and outcome.lse.out < 1e-3


@needs_simulator
@pytest.mark.parametrize("mistake, changes, message", [
    ("WRONG_HEAD", {}, "out: .* elements are off"),
    ("LATE_MAX", {"inputs": "large"}, "out: .* elements are off"),
    ("RACE", {"mask": "full"}, r"\[[a-z-]+\]"),
])  # fmt: skip
def test_wrong_kernel_fails(mistake, changes, message, naive, tmp_path):
    """A kernel with a wrong head, a wrong maximum or a race is run: the case must fail with the right message."""
    naive.setenv("NAIVE_MISTAKE", mistake)
    case = make(**changes)
    kernel = gpu.compile(case.op.mlir(), tmp_path / "k")
    with pytest.raises((AssertionError, gpu.SimulationError), match=message):
        grid.run_case(case, kernel)


@needs_simulator
def test_wrong_mask_fails(naive, tmp_path):
    """The kernel has the mask top-left, the case bottom-right: the case must fail with wrong elements of out."""
    case = make()
    kernel = gpu.compile(make(mask="causal-top-left").op.mlir(), tmp_path / "k")
    with pytest.raises(AssertionError, match="out: .* elements are off"):
        grid.run_case(case, kernel)


def test_lse_is_checked(monkeypatch, tmp_path):
    """LSE is off by a given error: the case must pass below the bound of 1e-3 and fail above."""
    case = make(pair=(4, 4))
    manifest = tmp_path / "k.json"
    manifest.write_text('{"sizes": {}}')
    kernel = gpu.Kernel(manifest, manifest, manifest)

    def simulate(kernel, inputs, results, **_):
        out, lse = reference.sdpa(*inputs.values(), **case.op.form)
        return {"out": out.astype(results["out"]), "lse": (lse + off).astype(np.float32)}

    monkeypatch.setattr(gpu, "simulate", simulate)
    off = 0.9e-3
    grid.run_case(case, kernel)
    off = 1.2e-3
    with pytest.raises(AssertionError, match="lse: .* elements are off"):
        grid.run_case(case, kernel)


def test_compiler_error(naive, tmp_path):
    """The compiler refuses the op: gpu.compile must raise CompileError with the compiler's message."""
    naive.setenv("NAIVE_MISTAKE", "REFUSE")
    with pytest.raises(CompileError, match="error: no such thing"):
        gpu.compile(make().op.mlir(), tmp_path / "k")


# ---------------------------------------------------------------------------
# The command line
# ---------------------------------------------------------------------------


@pytest.fixture
def command(naive, tmp_path, monkeypatch, capsys):
    """Runs bench/grid's program on the slow kernel; its status and output."""
    monkeypatch.setattr(gpu, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr(results, "FOLDER", tmp_path / "bench" / "results")
    monkeypatch.setattr(results, "SUMMARY", tmp_path / "docs" / "results.md")
    monkeypatch.setattr(results, "clean_commit", lambda: "0123456789ab")
    monkeypatch.setenv("FA4_SIM", FA4_SIM)
    # What is simulated, in this process.
    ran = []

    def run_one(case, kernel, key, options):
        ran.append(str(case))
        return real(case, kernel, key, options)

    real = grid_run.run_one
    monkeypatch.setattr(grid_run, "run_one", run_one)
    monkeypatch.setattr(
        grid_run.concurrent.futures,
        "ProcessPoolExecutor",
        grid_run.concurrent.futures.ThreadPoolExecutor,
    )

    def run(*words):
        ran.clear()
        status = grid_run.main(["--quick", "--jobs=2", *words])
        return status, capsys.readouterr(), list(ran)

    return run


FA4_SIM = gpu.find_tool("fa4-sim") if gpu.has_tools("fa4-sim") else ""
SOME = "--case=-3x3-"


@needs_simulator
def test_command(command, naive, tmp_path):
    """The command must run five cases, run only the missing one when resumed, and run all again with another kernel."""
    status, said, ran = command(SOME, "--verbose")
    assert status == 0 and len(ran) == 5
    assert "5 of 5 cases passed on sm_100a, 2 schedules each" in said.out
    # All there; one line broken off.
    file = tmp_path / "build" / "grid" / "quick" / "results.jsonl"
    assert command(SOME, "--resume")[2] == []
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:4], lines[4][:50]]) + "\n")
    assert command(SOME, "--resume")[2] == [json.loads(lines[4])["case"]]
    # Other kernels: nothing of it counts.
    naive.setenv("NAIVE_MISTAKE", "WRONG_HEAD")
    status, said, ran = command(SOME, "--resume")
    assert status == 1 and len(ran) == 5
    assert re.search(r"^FAILED hd\S+-gqa4-3x3-large-static: out: .* are off", said.out, re.MULTILINE)


@needs_simulator
def test_command_shards_and_page(command, tmp_path):
    """Two shards of the cases are run: together they must run each case once and write one page of results."""
    page = tmp_path / "bench" / "results" / "grid.md"
    first, second = command(SOME, "--shard=1/2"), command(SOME, "--shard=2/2", "--write")
    assert first[0] == second[0] == 0
    assert sorted(first[2] + second[2]) == sorted(str(c) for c in QUICK if c.pair == (3, 3))
    text = page.read_text()
    assert f"**5 of {len(QUICK)} cases passed on sm_100a, {len(QUICK) - 5} were not run**" in text
    assert "Written by `./bench/grid --quick --write` on " in text and "from commit 0123456789ab." in text
    assert "[The correctness grid](../bench/results/grid.md)" in (tmp_path / "docs" / "results.md").read_text()
    assert "## Failures" not in text
    assert re.search(r"^\| 64 \| causal \| f16 \| gqa4 \| \d+ \| 1 \| 0\.\d\d \| 3 x 3 large \|", text, re.MULTILINE)


def test_command_with_changes(command, monkeypatch):
    """A page of a tree that no commit has is refused before anything is compiled."""

    def refuse():
        raise results.DirtyTreeError("this tree differs in lib/a.cpp")

    monkeypatch.setattr(results, "clean_commit", refuse)
    status, said, ran = command(SOME, "--write")
    assert (status, ran, said.out) == (2, [], "")
    assert said.err == "grid: this tree differs in lib/a.cpp\n"


def test_command_refused(command, naive, tmp_path):
    """The compiler refuses each op: the command must fail without a simulation and report zero cases passed."""
    naive.setenv("FA4_SIM", str(NAIVE))  # Any file: it is not run.
    naive.setattr(gpu, "find_tool", lambda name, real=gpu.find_tool: str(NAIVE) if name == "fa4-sim" else real(name))
    naive.setenv("NAIVE_MISTAKE", "REFUSE")
    status, said, ran = command(SOME, "--write")
    assert status == 1 and ran == []
    assert re.search(r"^FAILED fwd_hd64_causal_f16_bhsd_static: .*no such thing", said.out, re.MULTILINE)
    assert "0 of 5 cases passed" in said.out
    assert f"0 of {len(QUICK)} cases passed" in (tmp_path / "bench" / "results" / "grid.md").read_text()


@pytest.mark.parametrize("words", ["--shard=0/2", "--shard=3/2", "--shard=x", "--nothing", "--wide --gradient --pairs", "--wide --write", "--card"])
def test_bad_command_line(words, capsys):
    """A command line is wrong: the command must exit with status 2 and print an error."""
    with pytest.raises(SystemExit, match="2"):
        grid_run.main(words.split())
    assert "error:" in capsys.readouterr().err


def test_no_such_case(capsys):
    """No case has the name that is asked for: the command must return status 2."""
    assert grid_run.main(["--case=nothing"]) == 2


def test_no_simulator(command, monkeypatch):
    """FA4_SIM names a file that does not exist: the command must return status 2 and say so."""
    monkeypatch.setenv("FA4_SIM", "/no/where")
    status, said, _ = command(SOME)
    assert status == 2
    assert "FA4_SIM is /no/where, which cannot be run" in said.err


def test_commit_without_git(monkeypatch, tmp_path):
    """The machine has no git: the commit must be reported as unknown."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert revision.commit() == "unknown"


def test_card_without_kernels(monkeypatch, tmp_path, capsys):
    """A machine with a card lacks the kernels: each case must fail with a message that says how they are made, and nothing must run."""
    monkeypatch.setattr(gpu, "ROOT", tmp_path)
    assert grid_run.main(["--quick", "--chip=sm_90a", "--card", "--case=hd64-full-f16-bshd"]) == 1
    said = capsys.readouterr().out
    assert "has no kernel: it is made by --compile-only, on a machine with fa4-compile" in said
    assert re.search(r"^0 of \d+ cases passed on sm_90a, on a card$", said, re.MULTILINE)
