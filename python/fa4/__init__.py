# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fa4: attention as an MLIR operation.

- `fa4.reference`: what `attn.sdpa` and its gradient compute, in numpy.
- `fa4.cpu`: compile MLIR with attn ops for the CPU and call it on numpy arrays.
- `python -m fa4.demo`: both, on an example.
- `fa4.sim`: launch a PTX kernel on numpy arrays in the simulator.
- `python -m fa4.driver SCRIPT`: run a program of the CUDA driver API in the simulator.
"""

__version__ = "0.1.0"
