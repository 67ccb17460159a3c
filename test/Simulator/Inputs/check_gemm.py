# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Is C = A B^T? usage: check_gemm.py A.npy B.npy C.npy"""
import operator
import sys

from npy import load

(_, (m, k), a), (_, (n, kb), b), (_, c_shape, c) = map(load, sys.argv[1:])
assert k == kb and c_shape == (m, n)
rows = [a[i * k:(i + 1) * k] for i in range(m)]
columns = [b[i * k:(i + 1) * k] for i in range(n)]
worst = max(abs(c[i * n + j] - sum(map(operator.mul, rows[i], columns[j]))) for i in range(m) for j in range(n))
print("max error", worst)
sys.exit(worst > 1e-3)
