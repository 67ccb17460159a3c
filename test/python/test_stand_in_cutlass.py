# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What CuTe-DSL calls of cuda.bindings.runtime, which has NVIDIA's runtime inside, goes to the stand-in driver."""

import enum
from types import SimpleNamespace

from fa4.driver.stand_in_cutlass import OF_THE_DRIVER, _replace_runtime


class DriverError(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_ILLEGAL_STATE = 401


class RuntimeError_(enum.IntEnum):
    cudaSuccess = 0
    cudaErrorIllegalState = 401


def test_runtime_calls_the_driver():
    """Functions of CUDA's runtime are called: they must call the stand-in driver and return the runtime's errors."""
    calls = []

    def capture(stream, mode):
        calls.append((stream, mode))
        return (DriverError.CUDA_SUCCESS,)

    driver = SimpleNamespace(**{name: None for name in OF_THE_DRIVER.values()})
    driver.cuStreamBeginCapture = capture
    driver.cuStreamEndCapture = lambda stream: (DriverError.CUDA_ERROR_ILLEGAL_STATE, None)
    driver.cuGraphGetNodes = lambda graph, count=0: (DriverError.CUDA_SUCCESS, ["node"], 1)

    def of_nvidia(*arguments):
        raise AssertionError("NVIDIA's runtime is asked")

    # Older versions have fewer functions.
    runtime = SimpleNamespace(cudaError_t=RuntimeError_, cudaMemset=of_nvidia)
    names = ("cudaStreamBeginCapture", "cudaStreamEndCapture", "cudaGraphGetNodes")
    vars(runtime).update({name: of_nvidia for name in names})
    _replace_runtime(runtime, driver)
    assert runtime.cudaStreamBeginCapture(7, "thread local") == (RuntimeError_.cudaSuccess,)
    assert calls == [(7, "thread local")]
    assert runtime.cudaStreamEndCapture(7) == (RuntimeError_.cudaErrorIllegalState, None)
    error, _, nodes = runtime.cudaGraphGetNodes("graph")
    assert isinstance(error, RuntimeError_) and nodes == 1
    assert runtime.cudaMemset is of_nvidia and not hasattr(runtime, "cudaGraphLaunch")
