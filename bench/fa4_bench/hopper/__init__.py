# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of fa4 on a Hopper card, beside those of others: `bench/hopper`."""
