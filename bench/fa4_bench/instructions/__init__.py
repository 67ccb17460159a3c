# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Single instructions of sm_90a as small PTX kernels, each with what it must
leave in memory, worked out from the manual's tables by code that shares nothing
with the simulator. The same kernels run in fa4-sim and on a card
(bench/instructions)."""

from fa4_bench.instructions import cluster, matrix, wgmma
from fa4_bench.instructions.case import Buffer, Case


def cases(everything=False):
    """Returns the cases: a cross-section, or all of them."""
    return [*wgmma.cases(everything), *matrix.cases(), *cluster.cases()]


__all__ = ["Buffer", "Case", "cases"]
