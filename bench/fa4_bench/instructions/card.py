# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs cases on a GPU through the CUDA driver's interface. It needs the
driver (libcuda.so.1) and Python, and nothing else."""

import ctypes

from fa4._cuda import Driver
from fa4.errors import LaunchError as DriverError
from fa4_bench.instructions.case import Case

_LOG_BUFFER, _LOG_BYTES = 5, 6  # CU_JIT_ERROR_LOG_BUFFER, ..._SIZE_BYTES.


class _LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute: its value is a union of 64 bytes, here the dimensions of a cluster."""

    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("dimensions", ctypes.c_uint * 16)]


class _LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint),
                ("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(_LaunchAttribute)), ("count", ctypes.c_uint)]


class Card(Driver):
    """A GPU by its number, the first one by default, with its primary context current in this thread."""

    def __init__(self, number: int = 0):
        super().__init__()
        device = self.devices()[number]
        self.use(device)
        self.name, self.capability = device.name, device.capability

    def load(self, ptx):
        """The module of a PTX text; what the assembler says is part of the error."""
        log = ctypes.create_string_buffer(8192)
        options = (ctypes.c_int * 2)(_LOG_BUFFER, _LOG_BYTES)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
        module = ctypes.c_void_p()
        try:
            self.call("cuModuleLoadDataEx", ctypes.byref(module), ptx.encode() + b"\0", 2, options, values)
        except DriverError as error:
            raise DriverError(f"{error}\n{log.value.decode()}".strip()) from error
        return module

    def run(self, case: Case):
        """Returns what is wrong in the buffers' contents."""
        return case.differences(self.launch(case))

    def launch(self, case: Case):
        """Returns the buffers' contents after a launch of the case's kernel."""
        module, function = self.load(case.ptx), ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, b"k")
        addresses = []
        for buffer in case.buffers:
            address = ctypes.c_uint64()
            self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(len(buffer.data)))
            self.call("cuMemcpyHtoD_v2", address, buffer.data, ctypes.c_size_t(len(buffer.data)))
            addresses.append(address)
        parameters = (ctypes.c_void_p * len(addresses))(*map(ctypes.addressof, addresses))
        # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION is 4.
        attribute = _LaunchAttribute(4, b"", (ctypes.c_uint * 16)(case.cluster, 1, 1))
        config = _LaunchConfig((case.ctas, 1, 1), (case.threads, 1, 1), 0, None, ctypes.pointer(attribute),
                               int(case.cluster > 1))
        self.call("cuLaunchKernelEx", ctypes.byref(config), function, parameters, None)
        self.call("cuCtxSynchronize")
        results = []
        for buffer, address in zip(case.buffers, addresses, strict=True):
            data = ctypes.create_string_buffer(len(buffer.data))
            self.call("cuMemcpyDtoH_v2", data, address, ctypes.c_size_t(len(buffer.data)))
            results.append(data.raw)
            self.call("cuMemFree_v2", address)
        self.call("cuModuleUnload", module)
        return results


def hopper(number: int = 0) -> Card:
    """A GPU by its number. Raises DriverError where there is none, or it is no Hopper."""
    card = Card(number)
    major, minor = card.capability
    if (major, minor) != (9, 0):
        raise DriverError(f"{card.name} has compute capability {major}.{minor}, not 9.0")
    return card
