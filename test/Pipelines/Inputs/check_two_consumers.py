# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Are Y = relu(P) and Z = 2 P, in bf16, where P[t] is the product of the t-th 64 columns of A and rows of B?
usage: check_two_consumers.py A.npy B.npy Y.npy Z.npy"""

import sys

import numpy as np

a, b, y, z = (np.load(path).astype(np.float64) for path in sys.argv[1:])
worst = 0.0
for t in range(len(y)):
    block = slice(64 * t, 64 * (t + 1))
    p = a[:, block] @ b[block]
    for got, exact in ((y[t], np.maximum(p, 0)), (z[t], 2 * p)):
        worst = max(worst, (np.abs(got - exact) / np.maximum(np.abs(exact), 1)).max())
print("max relative error", worst)
sys.exit(int(not worst <= 2**-8))
