# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Is C = max(2 Y, 0)^T Z, summed in f32? usage: check_rectified_product.py Y.npy Z.npy C.npy"""

import sys

import numpy as np

y, z, c = (np.load(path).astype(np.float64) for path in sys.argv[1:])
factor = np.maximum(2 * y, 0)
exact = factor.T @ z
# The error of a sum of n numbers in f32, which is below n roundings of the sum of their absolute values.
bound = len(y) * 2**-24 * (factor.T @ np.abs(z)) + 1e-30
worst = (np.abs(c - exact) / bound).max()
print("largest error, of what rounding allows:", worst)
sys.exit(int(not (worst <= 1 and (np.abs(c) > 1).any())))
