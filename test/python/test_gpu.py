# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fa4_testing.gpu writes its files beside those that are in a folder, and removes none
that are not its own."""

import pytest

from fa4_testing import gpu
from fa4_testing.cpu import CompileError

pytestmark = pytest.mark.skipif(
    not gpu.has_tools("fa4-compile"), reason="needs fa4-compile"
)


def names(folder):
    return {path.name for path in folder.iterdir()}


def test_the_users_files_stay(tmp_path):
    """A kernel is compiled into a folder with a user's file: that file must stay, and old cubins must go."""
    folder = tmp_path / "a b" / "ü"
    folder.mkdir(parents=True)
    (folder / "thesis.tex").write_text("not ours")
    op = gpu.Op(head_dim=64)
    for _ in range(2):
        kernel = gpu.compile(op.mlir(), folder)
        stem = f"{op.name}_kernel"
        assert names(folder) == {"thesis.tex", "op.mlir", f"{stem}.ptx", f"{stem}.json"}
        assert kernel.ptx.parent == folder and kernel.manifest.exists()
        assert not kernel.cubin.exists()
        # One of an earlier call is not taken for this one's.
        kernel.cubin.write_text("old")
    with pytest.raises(CompileError, match="op.mlir:1:"):
        gpu.compile("func.func", folder)
    assert (folder / "thesis.tex").read_text() == "not ours"
    assert not any(name.startswith(".fa4") for name in names(folder))
