# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Is C = A B + 1/2, in bf16? usage: check_gemm.py A.npy B.npy C.npy"""

import sys

import numpy as np

a, b, c = (np.load(path).astype(np.float64) for path in sys.argv[1:])
exact = a @ b + 0.5
worst = (np.abs(c - exact) / np.maximum(np.abs(exact), 1)).max()
print("max relative error", worst)
sys.exit(int(not worst <= 2**-8))
