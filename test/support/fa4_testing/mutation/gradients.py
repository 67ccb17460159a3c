# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The main kernel of the gradient on CTAs that are alone with one fault, and what finds it: as
`fa4_testing.mutation.mutants` has it of forward attention. All three kernels of a gradient run,
of which the one in the middle is changed."""

import functools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from fa4 import reference
from fa4_testing import gpu
from fa4_testing.mutation import mutants
from fa4_testing.mutation.mutants import Call
from fa4_testing.programs.gradient import Gradient
from fa4_testing.programs.program import Sizes
from fa4.reference import Mask

# Name -> form. Those that are deterministic add to dQ in turns, which are more to get wrong.
FORMS = {
    f"backward-hd{head_dim}-{mask.replace('top_left', 'causal')}{'-deterministic' * deterministic}": Gradient(
        head_dim=head_dim, mask=Mask.causal(mask) if mask != "full" else None, deterministic=deterministic, static=frozenset(),
        options=("--pairs=off",),
    )
    for head_dim, mask, deterministic in (
        (64, "top_left", True), (64, "full", False), (128, "top_left", True), (128, "full", False),
    )
}  # fmt: skip

_LATE = ("--seeds=3:3",), ("--policy=lazy",), ("--policy=eager",)
# Several CTAs at a time.
_MANY = ("--seeds=1:2", "--threads=2")

# A CTA has a tile of 128 keys, and takes queries in blocks of 128. First what nearly all faults die of: 5 blocks, the
# last of them not full, and a second CTA with two keys; then rings of stages that go round more than twice, few blocks,
# and lengths that end with a block.
CALLS = [
    Call(600, 130),
    Call(300, 260, "normal", _MANY),
    *(Call(1300, 100, "normal", schedule) for schedule in _LATE[:2]),
    *(Call(600, 130, "normal", schedule) for schedule in _LATE[1:]),
    Call(128, 256, "normal", _LATE[1]), Call(256, 100, "normal", _LATE[2]), Call(1, 1, "normal", _LATE[2]),
    Call(100, 300, "normal", _LATE[1]),  # causal: keys without a query
    Call(300, 130, "normal", ("--seeds=5:5",), 2, 2),
]  # fmt: skip
QUICK_CALLS = CALLS[:2]
PHASE_CALLS = [
    Call(1300, 100, "normal", ("--seeds=4:5",)), Call(1300, 100, "normal", _LATE[2]),
    # An mbarrier of a ring of two that counts one lane too few is a phase ahead after 128 phases.
    Call(260 * 128 + 5, 1, "normal", _LATE[1]), Call(1280, 100),
]  # fmt: skip
COLUMN_CALLS = [Call(250, 200)]


class GradientSubject(mutants.Subject):
    """The main kernel of a gradient, and what its calls should give."""

    inputs, outputs = ("q", "k", "v", "out", "dout", "lse"), ("dq", "dk", "dv")
    is_alone = False

    def __init__(self, name: str, form: Gradient, folder: Path):
        self.name, self.form = name, form
        emit = ",".join(["ptx", *mutants.PROTOCOL_LEVELS])
        options = ["--verify-ptx=false", *form.options]
        self.launches = gpu.compile_launches(form.mlir(), folder, "sm_100a", options, emit=emit)
        self.ptx = self.launches.ptx[1]
        self.lines = self.ptx.read_text().split("\n")
        self._problems = {}

    def level(self, name):
        """The IR of all three kernels."""
        return self.launches.ptx[0].with_suffix(f".{name}.mlir")

    @property
    def manifest_path(self):
        return self.launches.manifest

    def _make(self, call):
        form = replace(self.form, sizes=Sizes(call.batch, call.sq, call.sk, 1, call.group))
        given = form.draw(np.random.default_rng([call.sq, call.sk, self.form.head_dim]))
        folder = self._folder(call)
        for name in self.inputs:
            gpu.to_npy(folder / f"{name}.npy", given[name])
        operands = [given[name] for name in ("q", "k", "v", "dout")]
        said = [compute(*operands, **form.form()) for compute in (reference.sdpa_backward, reference.sdpa_backward_same_dtype)]
        return folder, *said

    def _compare(self, folder, exact, same):
        for name in self.outputs:
            out = np.load(folder / f"{name}.npy").astype(gpu.DTYPES[self.form.dtype])
            reference.check(out, getattr(exact, name), getattr(same, name).astype(np.float64), name)

    def write(self, folder, text):
        for launch in self.launches.ptx:
            (folder / launch.name).write_text(text if launch == self.ptx else launch.read_text())
        (folder / "kernel.json").write_text(json.dumps(self.manifest))
        return folder / "kernel.json"


# Name -> what makes the subject, whose files go to a folder.
SUBJECTS = {name: functools.partial(GradientSubject, name, form) for name, form in FORMS.items()}
