# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What operations cost on a card, in cycles of the SM: measured by small PTX kernels (bench/timing).
Nothing here needs more than Python itself, so that a machine with a card needs nothing else."""
