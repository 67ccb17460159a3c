# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples of attention with tables, docs/examples/tables: each op as a Python script, and the same op in MLIR."""

import importlib
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import fa4
from fa4 import tools
from fa4_testing import gpu

EXAMPLES = tools.ROOT / "docs" / "examples" / "tables"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.mlir"))
# Lines of the map that a script draws, and how many characters each has.
MAPS = {"documents": (6, 6), "relative_bias": (4, 4), "tree": (10, 29)}


@pytest.fixture
def load(monkeypatch):
    """A function that imports a module of the examples, which find each other as they do where Python runs one of them."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(EXAMPLES)):
            del sys.modules[name]


@pytest.mark.parametrize("name", NAMES)
def test_the_script_runs(name):
    """A script compares an op and its gradient with float64 and draws its block map: it must end well, and the map have a line for
    each tile and a character for each block."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tools.ROOT / "python"), *sys.path]), "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, EXAMPLES / f"{name}.py"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    *drawn, said = done.stdout.splitlines()
    lines, characters = MAPS[name]
    assert len(drawn) == lines and all(re.fullmatch(rf"[.#+]{{{characters}}}", line) for line in drawn)
    assert "largest errors out 0.0" in said


@pytest.mark.parametrize("chip", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("name", NAMES)
def test_the_op_in_mlir_is_that_of_the_script(name, chip, load):
    """The MLIR file's kernel is simulated with all checks: it must compute what the script's spec says in float64."""
    module = load(name)
    given, tables = module.make_call(np.random.default_rng())
    del given["dout"]
    captures = {f"capture{number}": tables[each] for number, each in enumerate(module.SPEC.captures)}
    kernel = fa4.compile((EXAMPLES / f"{name}.mlir").read_text(), chip=chip)
    got = kernel.simulate(**given, **captures, check=True)
    wanted = module.SPEC.reference(**given, **tables)
    assert abs(got.out.astype(np.float64) - wanted.out).max() < 0.03


@pytest.mark.parametrize("name", NAMES)
def test_the_script_runs_on_tensors_of_torch(name, load, monkeypatch):
    """Where there is a GPU, a script computes with torch: the same on the CPU, whose tensors go to the simulator, must be right, too."""
    pytest.importorskip("torch", reason="needs torch, for tensors")
    module, comparison = load(name), load("comparison")
    monkeypatch.setattr(comparison, "run_in_simulator", lambda *args, **call: comparison.run_in_torch(*args, **call, device="cpu"))
    monkeypatch.setattr(comparison, "has_gpu", lambda: False)
    comparison.compare(name, module.SPEC, *module.make_call(np.random.default_rng()))


@pytest.mark.parametrize("chip", ["sm_90a", "sm_100a", "sm_103a"])
@pytest.mark.parametrize("name", NAMES)
def test_the_op_has_a_kernel(name, chip, tmp_path):
    """An op is compiled for each chip, and ptxas must not spill."""
    gpu.compile_any((EXAMPLES / f"{name}.mlir").read_text(), tmp_path, chip=chip)


def test_the_block_map(load):
    """A map of 5 queries and 7 keys in blocks of 2 by 3: empty, full and cut blocks must be told apart, and what is left at the ends
    count as blocks."""
    visible = np.zeros((5, 7), bool)
    visible[0:2, 3:6] = True
    visible[2, 0] = True
    visible[4, 6] = True
    assert load("block_map").block_map(visible, queries=2, keys=3) == ".#.\n+..\n..#"


def test_the_tree_is_packed_as_the_mask_reads_it(load):
    """Ancestors of more tokens than a word has bits: the mask must read each pair's bit, also the sign of a word."""
    tree = load("tree")
    sees = np.random.default_rng().random((70, 70)) < 0.5
    sees[:, 31] = True
    i, j = load("block_map").positions(70, 70 + 5)
    read = tree.is_ancestor(0, 0, i, j, tree.pack(sees), 5)
    assert (read == np.concatenate([np.ones((70, 5), bool), sees], axis=1)).all()
