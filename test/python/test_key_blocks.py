# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The number of keys of a block is a choice of its own: attn-to-tile's option `keys` takes
others than the rows of an MMA, and the kernels of all of them are right."""

import pytest

from fa4_testing import gpu
from fa4_testing.programs.forms import DEFAULT
from fa4_testing.programs.program import Program, run
from fa4.reference import Mask

pytestmark = pytest.mark.skipif(
    not gpu.has_tools("fa4-sim", "fa4-compile", "fa4-opt"), reason="needs the tools"
)


@pytest.mark.parametrize(("keys", "head_dim"), [(32, 64), (64, 128), (96, 128), (160, 64)])
def test_keys(keys, head_dim, tmp_path, monkeypatch):
    """A kernel is compiled with blocks of 32, 64, 96 or 160 keys: its results must be right."""
    program = Program(**DEFAULT, mask=Mask.causal("bottom_right"), head_dim=head_dim)
    compile_program = gpu.compile

    def compile_with_keys(text, folder, chip, emit, options):
        source = tmp_path / "op.mlir"
        source.write_text(text)
        tile = gpu.run_tool("fa4-opt", source, f"--attn-to-tile=keys={keys}")
        assert f"vector<256x{keys}xf32>" in tile
        return compile_program(tile, folder, chip, emit, ["--from=tile", *options])

    monkeypatch.setattr(gpu, "compile", compile_with_keys)
    run(program, tmp_path / "kernel")
