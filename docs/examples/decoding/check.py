# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the examples of this folder run a call: on the GPU if torch has one, else in the simulator, and beside float64."""

import fa4
import numpy as np
from ml_dtypes import bfloat16

try:
    import torch
except ImportError:  # The simulator does without.
    torch = None


def run_in_torch(spec, given):
    """out on the GPU, as a numpy array."""
    tensors = {name: torch.from_numpy(array.astype(np.float32) if array.dtype == bfloat16 else array).cuda() for name, array in given.items()}
    q, k, v = (tensors.pop(name).bfloat16() for name in "qkv")
    return fa4.torch.attention(spec)(q, k, v, **tensors).float().cpu().numpy()


def check(spec, given, what):
    """Runs a call, and prints `what` it is, where it was run, and how far off float64 it is, which must be little."""
    on_gpu = torch is not None and torch.cuda.is_available()
    out = run_in_torch(spec, given) if on_gpu else fa4.compile(spec).simulate(**given).out
    error = abs(out.astype(np.float64) - spec.reference(**given).out).max()
    print(f"{what}, in {torch.cuda.get_device_name() if on_gpu else 'the simulator'}: largest error {error:.4f}")
    assert error < 0.02
