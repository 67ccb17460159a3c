# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/static-vs-fa4 --gradient --forms: which forms it asks ptxas about, and what it says. (test_gradient.py assembles some.)"""

import itertools

import pytest

from fa4_bench import gradient_forms
from fa4_testing import gpu, head_dims
from fa4_bench.gradient_grid import MASKS


def test_forms():
    """The forms have each pair of head dims, each mask with each head dim and order of sums, and every other option
    with each head dim."""
    forms = gradient_forms.forms()
    dims = gradient_forms.HEAD_DIMS
    assert {(form.head_dim, form.head_dim_v) for form in forms.values()} == {*itertools.product(dims, dims), *head_dims.GRADIENTS}
    chosen = {(form.head_dim, repr(form.mask), form.deterministic) for form in forms.values() if form.head_dim == form.head_dim_v}
    assert chosen >= {(d, repr(mask), order) for d in dims for mask in MASKS.values() for order in (False, True)}
    assert {(name.split(" bf16 ")[-1], form.head_dim) for name, form in forms.items()} >= set(itertools.product(gradient_forms.MORE, dims))
    assert len(set(forms.values())) == len(forms)


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Runs the command with so many bytes of spills in main kernels; ptxas and the compiler are left out."""

    def run(spilled, *words):
        def compiled(text, folder, chip, options):
            files = [folder / "gradient_preprocess_kernel.ptx", folder / "gradient_kernel.ptx"]
            for file in files:
                file.write_text(f"{file.name} {chip} {hash(text)}")
            return gpu.Launches(folder / "gradient.json", tuple(files))

        asked = []
        monkeypatch.setattr(gpu, "find_ptxas", lambda: __file__)
        monkeypatch.setattr(gpu, "compile_launches", compiled)
        monkeypatch.setattr(gpu, "assemble", lambda ptx, *_: asked.append(ptx) or gpu.Assembled(
            255, spilled * (ptx.stem == "gradient_kernel"), 0, 0, ()
        ))  # fmt: skip
        monkeypatch.setattr(gradient_forms.Assembler.__init__, "__defaults__", (tmp_path / "known.jsonl",))
        status = gradient_forms.main([*words, "--jobs=1"])
        return status, capsys.readouterr().out, len(asked)

    return run


def test_command(command):
    """A kernel that has been assembled once is not assembled again."""
    status, said, asked = command(0, "--form=hd64-64 causal bf16 plain")
    assert (status, asked) == (0, 4) and said.splitlines()[-1] == "sm_103a: 1 forms, 0 with spills, a stack, or no kernel"
    assert command(8, "--form=hd64-64 causal bf16 plain") == (0, said, 0)


def test_command_finds_spills(command):
    """The assembler reports 8 bytes of spills: the command must fail and name the form, the kernel and the bytes."""
    status, said, _ = command(8, "--form=hd64-64 causal bf16 plain")
    assert status == 1 and "sm_100a hd64-64 causal bf16 plain: gradient_kernel: 8 bytes of spills and stack" in said
    assert "sm_100a: 1 forms, 1 with" in said


def test_unknown_form(command, capsys):
    """A form that does not exist is asked for: the command must exit with status 2 and name the form."""
    with pytest.raises(SystemExit, match="2"):
        command(0, "--form=hd65")
    assert "no form has 'hd65'" in capsys.readouterr().err
