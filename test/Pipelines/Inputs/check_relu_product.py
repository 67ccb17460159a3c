# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Is C = max(A B / 2, 0) D, in bf16? usage: check_relu_product.py A.npy B.npy D.npy C.npy"""

import sys

import numpy as np

a, b, d, c = (np.load(path).astype(np.float64) for path in sys.argv[1:])
left = np.maximum(a @ b / 2, 0)
# Both factors of the second product are rounded to bf16, and so is the result.
bound = 2**-8 * (left @ np.abs(d) + np.abs(left @ d)) + 1e-6
worst = (np.abs(c - left @ d) / bound).max()
print("largest error, of what rounding explains:", worst)
sys.exit(int(not (worst <= 1 and np.abs(c).max() > 1)))
