# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Is C = A B^T? usage: check_gemm.py A.npy B.npy C.npy"""

import sys

import numpy as np

a, b, c = (np.load(path).astype(np.float64) for path in sys.argv[1:])
worst = np.abs(c - a @ b.T).max()
print("max error", worst)
sys.exit(int(worst > 1e-3))
