# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples in the docstrings of the packages run as they are written. An
example is an indented block; PREPARED has the names that it takes for granted."""

import ast
import importlib
import textwrap
from pathlib import Path

import numpy as np
import pytest

from fa4 import tools
from fa4_testing import gpu
from fa4_testing.programs.program import Program, Sizes
from fa4.reference import Mask

PACKAGES = (tools.ROOT / "python/fa4", tools.ROOT / "test/support/fa4_testing", tools.ROOT / "bench/fa4_bench")
ROWS = np.ones((1, 128, 1, 128), gpu.DTYPES["bf16"])
QKV = dict.fromkeys("qkv", ROWS)
SASS = "\t.section\t.text.k\n.L_x_0:\n        /*0010*/ MUFU.EX2 R1, R1 ;\n        /*0020*/ @P0 BRA `(.L_x_0) ;\n"
GQA = """func.func @gqa(%q: tensor<1x128x1x128xbf16>, %k: tensor<1x128x1x128xbf16>, %v: tensor<1x128x1x128xbf16>)
    -> (tensor<1x128x1x128xbf16>, tensor<1x1x128xf32>) {
  %o, %l = attn.sdpa %q, %k, %v layout<bshd>
    : tensor<1x128x1x128xbf16>, tensor<1x128x1x128xbf16>, tensor<1x128x1x128xbf16>
      -> tensor<1x128x1x128xbf16>, tensor<1x1x128xf32>
  return %o, %l : tensor<1x128x1x128xbf16>, tensor<1x1x128xf32>
}
"""
LINES = ["    bar.sync 0;\n", "    ret;\n"]

# By module: names that the example uses; None for a block that is no code.
PREPARED = {
    "fa4_testing.cpu": {"Path": Path, **QKV},
    "fa4_testing.gpu": {"Path": Path, **QKV},
    "fa4.reference": None,
    "fa4.report": "compiled and written by test_report.py",
    "fa4_testing.sass": {"text": SASS},
    "fa4": "launches on a GPU; test_wheel.py runs the block of the README",
    "fa4_bench.compile_against": "as its own test, which has a build to compare with",
    "fa4_testing.mutation.faults": {"lines": LINES},
    "fa4_testing.mutation.mutants": "as the module's own tests, test/mutation, which take minutes",
    "fa4_testing.edits.generic": "as edits.interpreter",
    "fa4_testing.edits.interpreter": "shown with a level's text, by bench/edits and its tests",
    "fa4_testing.mutation.machine_code": "as mutation.mutants",
    "fa4_bench.timing.shapes": "what bench/versus-fa4 runs, with the peers' Python",
    "fa4.sim": {"PTX": (tools.ROOT / "docs/examples/axpy.ptx").read_text(), "np": np},
    "fa4.torch": "as test_torch.py, where torch is",
    "fa4.distributed": "as test_distributed.py, where torch is",
    "fa4_bench.region_growth": "a figure of bench/compile-time --regions",
    "fa4_bench.ptx_record": "commands; as its own test",
    "fa4_testing.programs.forms": {"Program": Program},
    "fa4_testing.programs.gradient": {"Mask": Mask, "Path": Path, "Sizes": Sizes},
    "fa4_testing.programs.mods": {"arguments": {"s": ROWS[0, 0, 0].astype(np.float64)}, "np": np},
    "fa4_testing.programs.program": {"Path": Path, "Mask": Mask},
}


def examples():
    """(module, code) of each module whose docstring has an indented block."""
    for package, path in ((package, path) for package in PACKAGES for path in sorted(package.rglob("*.py"))):
        name = ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")
        lines = (ast.get_docstring(ast.parse(path.read_text())) or "").splitlines()
        block = [line for line in lines if line.startswith("    ")]
        if block:
            yield name, textwrap.dedent("\n".join(block))


EXAMPLES = dict(examples())


def test_all_examples_are_known():
    """Each module whose docstring has an example must be listed in PREPARED, and no other."""
    assert set(EXAMPLES) == set(PREPARED)


@pytest.mark.parametrize("name", [name for name, prepared in PREPARED.items() if isinstance(prepared, dict)])
def test_example(name, tmp_path, monkeypatch):
    """The example in a module's docstring is run: it must end without an error, and with right numbers."""
    if name.split(".")[-1] in ("gpu", "gradient", "program", "sim") and not gpu.has_tools("fa4-compile", "fa4-sim"):
        pytest.skip("needs fa4-compile and fa4-sim")
    monkeypatch.chdir(tmp_path)
    Path("gqa.mlir").write_text(GQA)
    module = importlib.import_module(name)
    names = {**vars(module), name.split(".")[-1]: module, **PREPARED[name]}
    exec(compile(EXAMPLES[name], name, "exec"), names)
    if name == "fa4_testing.gpu":
        np.testing.assert_array_equal(names["out"].astype(np.float32), 1)
        np.testing.assert_allclose(names["lse"][0, 0], np.sqrt(128) + np.log(np.arange(1, 129)), rtol=1e-3)
