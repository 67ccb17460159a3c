# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Is C = max(A B / 2, 0), in bf16? usage: check_scaled_relu.py A.npy B.npy C.npy"""

import sys

import numpy as np

a, b, c = (np.load(path).astype(np.float64) for path in sys.argv[1:])
exact = np.maximum(a @ b / 2, 0)
worst = (np.abs(c - exact) / np.maximum(np.abs(exact), 1)).max()
print("max relative error", worst)
sys.exit(int(not (worst <= 2**-8 and (c == 0).any() and (c > 1).any())))
