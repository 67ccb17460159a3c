# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program on the CPU: the definition of the op, as it is decomposed, against float64."""

import numpy as np

from fa4_testing import cpu, gpu
from fa4_testing.programs.gradient import Gradient
from fa4_testing.programs.program import Form, Program, compare


def _results_of(form: Form, name, arrays):
    """What the function of a form computes, by the names of the results."""
    function = cpu.compile(form.mlir())[name]
    if form.kind == "tensor":
        results = function(*arrays)
    else:
        results = [np.empty(form.shape(result), gpu.dtype_of(form.element(result))) for result in form.results]
        function(*arrays, *results)
    return dict(zip(form.results, results))


def run(program: Program):
    """Raises AssertionError where the results are not the reference's, and CompileError where the program is refused."""
    arrays = program.draw(0)
    beside = [program.arrays_beside()[name] for name in program.beside]
    compare(program, [_results_of(program, "program", [*arrays, *beside])], arrays)


def run_gradient(gradient: Gradient):
    """The same of a gradient."""
    given = gradient.draw_with(0)
    gradient.check(given, _results_of(gradient, "gradient", [given[name] for name in gradient.operands]))
