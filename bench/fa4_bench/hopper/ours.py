# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of fa4 from the folders that specs.py describes, launched by libfa4_runtime on tensors of torch."""

import ctypes
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from fa4 import _runtime
from fa4.kernel import Kernel
from fa4_bench.hopper.rows import Form

DEFAULT = "default"


@dataclass(frozen=True)
class Place:
    """Where a kernel is."""

    variant: str
    form: Form
    folder: Path


def places(folder):
    """All kernels below a folder, by variant and name. Raises ValueError where the name of a folder is none of a form."""
    found = []
    for variant in sorted(path for path in Path(folder).iterdir() if path.is_dir()):
        found += [Place(variant.name, Form.parse(path.name), path) for path in sorted(variant.iterdir()) if path.is_dir()]
    return found


def of_row(all_places, row):
    """The kernels for a row, at most one of each variant: that for this length alone, else that of the form."""
    chosen = {}
    for place in all_places:
        if place.form == row or place.form == row.of_any_length and place.variant not in chosen:
            chosen[place.variant] = place
    return list(chosen.values())


class _FromFile(_runtime._Program):
    """A program that is loaded from files: a cubin beside the manifest is taken before the PTX."""

    def __init__(self, kernel, device, manifest):
        self.library, self.handle = _runtime.runtime(), ctypes.c_void_p()
        self.has_workspaces = any(tensor.get("role") == "workspace" for tensor in kernel.manifest["tensors"].values())
        message = ctypes.c_void_p()
        options = _runtime._LoadOptions(size=ctypes.sizeof(_runtime._LoadOptions), file=str(manifest).encode(), hasDevice=True, device=device)
        _runtime._check(self.library.fa4RuntimeLoad(options, self.handle, message), message)


def read(folder):
    """The kernel of a folder. Raises Fa4Error where it is none."""
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".ptx", ".json")}
    return Kernel("", None, {"chip": "sm_90a"}, False, SimpleNamespace(files=files))


def load(folder):
    """The kernel of a folder, on the first GPU. Raises Fa4Error."""
    kernel = read(folder)
    kernel._loaded().programs[0] = _FromFile(kernel, 0, folder / f"{kernel.name}.json")
    return kernel


def prepare(kernel, tensors, layout="bshd"):
    """A prepared call on those of the tensors that the kernel has. Matrices are [batch, tokens, heads, columns], whatever the layout is."""
    own = {name: tensors[name] for name, described in kernel.manifest["tensors"].items() if described.get("role") != "workspace"}
    if layout != "bshd":
        order = ["bshd".index(letter) for letter in layout]
        own = {name: tensor.permute(order) if tensor.dim() == 4 else tensor for name, tensor in own.items()}
    return kernel.prepare(**own)
