# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The coefficients of the polynomials of 2^x are derived here, and those that
tile-split-exp puts into a kernel must equal them to the last bit.

With c0 = 1 the relative error is, for each f in [0, 1],

    e(f) = (1 + c1 f + ... + cn f^n) 2^-f - 1,

linear in c1 to cn. The functions f^k 2^-f are a Chebyshev system on (0, 1], whatever
subset of the exponents is free, so that the best coefficients are those for which e
has one extremum more than there are free coefficients, of equal size and alternating
sign; Remez' exchange algorithm finds them (E. Ya. Remez, 1934; Muller, Elementary
Functions, ch. 3). Each coefficient in turn, from c1, is then rounded to f32 and the
others are fitted again, so that they take up its rounding error."""

import re

import numpy as np
import pytest

from fa4_testing import gpu

DEGREES = range(1, 7)
# Chebyshev's points, denser towards the ends, where extrema are. The error is 0 at 0.
POINTS = 0.5 - 0.5 * np.cos(np.pi * np.arange(1, 20001) / 20000)

KERNEL = gpu.ROOT / "test" / "Dialect" / "Tile" / "tile-split-exp.mlir"


def error(coefficients, points):
    return np.polynomial.polynomial.polyval(points, coefficients) * np.exp2(-points) - 1


def extrema(coefficients):
    """The points of the largest error of each run of points with the same sign."""
    values = error(coefficients, POINTS)
    runs = np.split(np.arange(len(POINTS)), np.nonzero(np.diff(np.sign(values)))[0] + 1)
    return [run[np.argmax(np.abs(values[run]))] for run in runs]


def fit(coefficients, first):
    """The best c[first:], with the others as they are."""
    c, free = np.array(coefficients), len(coefficients) - first
    points = 0.5 - 0.5 * np.cos(np.pi * np.arange(1, free + 2) / (free + 1))
    for _ in range(20):
        # The error is +h and -h in turn at the points.
        powers = points[:, None] ** np.arange(len(c)) * np.exp2(-points)[:, None]
        signs = -((-1.0) ** np.arange(free + 1))
        matrix = np.column_stack([powers[:, first:], signs])
        *c[first:], _ = np.linalg.solve(matrix, 1 - powers[:, :first] @ c[:first])
        found = extrema(c)
        # Rounded coefficients can add a sign change, which the free ones cannot
        # level out: the smaller of the outermost extrema is dropped.
        while len(found) > free + 1:
            first_is_smaller = abs(error(c, POINTS[found[0]])) < abs(error(c, POINTS[found[-1]]))
            found.pop(0 if first_is_smaller else -1)
        if len(found) < free + 1:
            return c
        points = POINTS[found]
        sizes = np.abs(error(c, points))
        if np.ptp(sizes) <= 1e-6 * sizes.max():
            return c
    return c


def derive(degree):
    """The coefficients, and the largest error before they were rounded to f32."""
    c = fit([1.0] + [0.0] * degree, 1)
    least = np.abs(error(c, POINTS)).max()
    for k in range(1, degree + 1):
        c[k] = np.float32(c[k])
        if k < degree:
            c = fit(c, k + 1)
    return c, least


@pytest.mark.parametrize("degree", DEGREES)
def test_error_is_level(degree):
    """The error of the best coefficients has degree + 1 extrema of equal size and alternating sign."""
    c = fit([1.0] + [0.0] * degree, 1)
    values = error(c, POINTS[extrema(c)])
    assert len(values) == degree + 1
    assert np.all(values[1:] * values[:-1] < 0)
    np.testing.assert_allclose(np.abs(values), np.abs(values).max(), rtol=1e-5)


@pytest.mark.parametrize("degree", DEGREES)
def test_rounding_is_taken_up(degree):
    """The derived coefficients take up each other's rounding. If those of degree 6 were rounded one by one, the error
    would be several times the least one."""
    c, least = derive(degree)
    assert np.abs(error(c, POINTS)).max() <= 1.1 * least


@pytest.mark.skipif(not gpu.has_tools("fa4-opt"), reason="needs fa4-opt")
@pytest.mark.parametrize("degree", DEGREES)
def test_kernels_have_these_coefficients(degree):
    """Best coefficients are derived for a degree: the compiler's must equal them to the last bit."""
    printed = gpu.run_tool("fa4-opt", KERNEL, f"--tile-split-exp=fraction=0.125 degree={degree}")
    numbers = re.search(r"polynomial \[([^]]*)\]", printed)[1]
    found = [np.float32(number) for number in numbers.split(",")]
    assert found == [np.float32(c) for c in derive(degree)[0][1:]]
