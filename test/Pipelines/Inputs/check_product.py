# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Is C = A B in f32, A^T B with --transposed, or zero with --none? usage: check_product.py A.npy B.npy C.npy [--none | --transposed]"""

import sys

import numpy as np

a, b, c = (np.load(path).astype(np.float64) for path in sys.argv[1:4])
a = a.T if "--transposed" in sys.argv else a
exact = np.zeros(c.shape) if "--none" in sys.argv else a @ b
# The error of a sum of n numbers in f32, which is below n roundings of the sum of their absolute values.
bound = a.shape[1] * 2**-24 * (np.abs(a) @ np.abs(b)) + 1e-30
worst = (np.abs(c - exact) / bound).max()
print("largest error, of what rounding allows:", worst)
sys.exit(int(not worst <= 1))
