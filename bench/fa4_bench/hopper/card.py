# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs kernels of the tests on a card in place of fa4-sim: the same arrays go in, and the same come out."""

import contextlib
import functools
import json
from collections.abc import Sequence

import numpy as np

from fa4 import _cuda
from fa4.errors import Fa4Error
from fa4_bench.hopper import ours
from fa4_testing import gpu


@functools.cache
def _driver():
    """The driver, with the first GPU in use. Raises Fa4Error."""
    driver = _cuda.Driver()
    driver.use(driver.devices()[0])
    return driver


@functools.cache
def _kernel(folder):
    """The kernel of a folder. Raises Fa4Error."""
    _driver()
    return ours.load(folder)


def _numbers(inputs: dict, options: Sequence[str], known: dict) -> dict:
    """The number of SMs and the captures of a call, if the manifest has them: all other sizes follow from the tensors."""
    given = {name: value for name, value in inputs.items() if not isinstance(value, np.ndarray)}
    given |= {name: json.loads(value) for name, _, value in (option.partition("=") for option in options if not option.startswith("-")) if value}
    return {name: value for name, value in given.items() if name.startswith("capture") or (name == "sm_count" and name in known)}


def run(kernel: gpu.Kernel | gpu.Launches, inputs: dict, results: dict, _seeds, _check, options: Sequence[str], _timeout):
    """A `gpu.machine`, by one launch on the first GPU: there are no schedules to choose, and no checks but those of the results.
    `NAME=NUMBER` of the options are scalars. Raises gpu.SimulationError where the runtime refuses the call, or the GPU reports an
    error."""
    manifest = json.loads(kernel.manifest.read_text())
    tensors = manifest["tensors"]
    arrays = {name: value for name, value in inputs.items() if isinstance(value, np.ndarray)}
    sizes = {str(size): count for name, array in arrays.items() for size, count in zip(tensors[name]["shape"], array.shape)}
    there = {}
    try:
        loaded = _kernel(kernel.manifest.parent)
        for name in results:
            arrays[name] = np.full(loaded.shape_of(name, sizes), np.nan).astype(gpu.dtype_of(tensors[name]["dtype"]))
        for name, array in arrays.items():
            there[name] = _cuda.DeviceArray(_driver(), array)
        loaded.launch(0, **there, **_numbers(inputs, options, manifest["sizes"]))
        return {name: there[name].get().astype(dtype) for name, dtype in results.items()}
    except Fa4Error as error:
        raise gpu.SimulationError(str(error)) from None
    finally:
        # Behind an error of the GPU, nothing works any more in this process.
        with contextlib.suppress(Fa4Error):
            for array in there.values():
                array.free()


def take_over():
    """Has the tests of this process run their kernels on the card."""
    gpu.machine = run
