# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Is C = A B in f32, A^T B with --transposed, or zero with --none? usage: check_product.py A.npy B.npy C.npy [--none | --transposed]"""

import sys

import numpy as np

a, b, c = (np.load(path).astype(np.float64) for path in sys.argv[1:4])
a = a.T if "--transposed" in sys.argv else a
exact = np.zeros(c.shape) if "--none" in sys.argv else a @ b
worst = (np.abs(c - exact) / np.maximum(np.abs(exact), 1)).max()
print("max relative error", worst)
sys.exit(int(not worst <= 1e-5))
