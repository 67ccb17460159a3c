# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FlashAttention-4's recorded launches on tensors of torch."""

import ctypes
import math

import torch

from fa4_bench.timing import peers
from fa4_bench.timing.replay import Function, relocated

DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32, "i32": torch.int32, "i64": torch.int64, "u8": torch.uint8}


def is_workspace(name):
    return name[0] == "t" and name[1:].isdigit()


class Replayed:
    """A record's launches. Workspaces are zeros at first, and are not cleared between launches: FlashAttention-4's own kernels clear what
    they need to."""

    def __init__(self, card, folder, tensors):
        described = peers.launches(folder)
        self.card, self.modules, self.tensors, moved = card, [], {}, {}
        for name, tensor in described[-1]["tensors"].items():
            self.tensors[name] = self._tensor(name, tensor, tensors)
            moved[int(tensor["address"], 16) >> 32] = self.tensors[name].data_ptr()
        self.functions = [self._function(launch, moved) for launch in described]

    @staticmethod
    def _tensor(name, described, tensors):
        if is_workspace(name):
            return torch.zeros(math.prod(described["shape"]), dtype=DTYPES[described["dtype"]], device="cuda")
        given = tensors[name]
        if list(given.shape) != described["shape"] or given.dtype != DTYPES[described["dtype"]]:
            raise ValueError(f"the record's {name} is {described['dtype']} {described['shape']}, and the row's {given.dtype} {list(given.shape)}")
        return given

    def _function(self, launch, moved):
        module, entry = ctypes.c_void_p(), ctypes.c_void_p()
        with open(launch["cubin"], "rb") as file:
            self.card.call("cuModuleLoadData", ctypes.byref(module), file.read())
        self.modules.append(module)
        self.card.call("cuModuleGetFunction", ctypes.byref(entry), module, launch["kernel"].encode())
        arguments = [relocated(parameter["bytes"], moved) for parameter in launch["params"]]
        return Function(self.card, entry, launch["grid"], launch["block"], launch["dynamic_smem"], launch.get("cluster") or (1, 1, 1), arguments)

    def __call__(self):
        for function in self.functions:
            function()

    def close(self):
        torch.cuda.synchronize()
        for module in self.modules:
            self.card.call("cuModuleUnload", module)
        self.modules, self.functions, self.tensors = [], [], {}
