# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program on the CPU: the definition of the op, as it is decomposed, against float64."""

import numpy as np

from fa4_testing import cpu, gpu
from fa4_testing.programs.gradient import Gradient
from fa4_testing.programs.program import Program, compare


def run(program: Program):
    """Raises AssertionError where the results are not the reference's, and CompileError where the program is refused."""
    arrays = program.draw(0)
    beside = [program.arrays_beside()[name] for name in program.beside]
    function = cpu.compile(program.mlir())["program"]
    if program.kind == "tensor":
        results = function(*arrays, *beside)
    else:
        results = [np.empty(program.shape(name), gpu.dtype_of(program.element(name))) for name in program.results]
        function(*arrays, *beside, *results)
    compare(program, [dict(zip(program.results, results))], arrays)


def run_gradient(gradient: Gradient):
    """The same of a gradient."""
    given = gradient.draw_with(0)
    function = cpu.compile(gradient.mlir())["gradient"]
    arrays = [given[name] for name in gradient.operands]
    if gradient.kind == "tensor":
        results = function(*arrays)
    else:
        results = [np.empty(gradient.shape(name), gpu.dtype_of(gradient.element(name))) for name in gradient.results]
        function(*arrays, *results)
    gradient.check(given, dict(zip(gradient.results, results)))
