# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Is Y = W * X by rows, in bf16, and S the sums of its rows before they are rounded?
usage: check_row_sums.py X.npy W.npy Y.npy S.npy"""

import sys

import numpy as np

x, w, y, s = (np.load(path).astype(np.float64) for path in sys.argv[1:])
product = w[:, None] * x
worst = (np.abs(y - product) / np.maximum(np.abs(product), 2**-100)).max()
sums = (np.abs(s - product.sum(1)) / np.abs(product).sum(1)).max()
print("relative error of products", worst, "and of sums", sums)
sys.exit(int(not (worst <= 2**-8 and sums <= 2**-20)))
