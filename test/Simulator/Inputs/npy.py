# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes and prints .npy files.

usage: npy.py write FILE DTYPE SHAPE VALUE...   e.g. npy.py write x.npy '<f4' 2,3 1 2 3 4 5 6
       npy.py print FILE                        shape, then the values"""

import sys

import numpy as np

if sys.argv[1] == "print":
    array = np.load(sys.argv[2])
    print(list(array.shape), *array.ravel().tolist())
else:
    path, dtype, shape = sys.argv[2:5]
    sizes = [int(n) for n in shape.split(",") if n]
    np.save(path, np.array(sys.argv[5:], dtype=np.float64).astype(dtype).reshape(sizes))
