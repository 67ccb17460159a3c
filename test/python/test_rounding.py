# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rounding modes of arith.truncf on the CPU path, against lists of a type's numbers."""

import ml_dtypes
import numpy as np
import pytest

from fa4_testing import cpu

pytestmark = pytest.mark.xdist_group("cpu")

MODES = ["", "to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away"]
CASES = [("f64", "f32"), ("f16", "f8E5M2"), ("bf16", "f8E4M3FN"), ("bf16", "f8E5M2")]
CASES += [(source, target) for target in ("f16", "bf16", "f8E4M3FN", "f8E5M2") for source in ("f32", "f64")]


def name(source, target, mode):
    return f"from_{source}_{target}_{mode}"


def function(source, target, mode):
    return f"""
func.func @{name(source, target, mode)}(%a: tensor<?x{source}>) -> tensor<?x{target}> {{
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : tensor<?x{source}>
  %empty = tensor.empty(%n) : tensor<?x{target}>
  %r = linalg.map ins(%a : tensor<?x{source}>) outs(%empty : tensor<?x{target}>)
    (%x: {source}, %old: {target}) {{
      %y = arith.truncf %x {mode} : {source} to {target}
      linalg.yield %y : {target}
    }}
  return %r : tensor<?x{target}>
}}
"""


@pytest.fixture(scope="module")
def module():
    return cpu.compile("".join(function(*case, mode) for case in CASES for mode in MODES))


def numbers_around(x, dtype):
    """Of x, of float64 and not negative, the largest number of `dtype` that is not above,
    the next one, both of float64, and whether the former is even. The number behind the
    largest one is as if exponents did not end."""
    if dtype == np.float32:
        near = x.astype(np.float32)
        low = np.where(near > x, np.nextafter(near, np.float32(0)), near)
        high = np.nextafter(low, np.float32(np.inf)).astype(np.float64)
        return low.astype(np.float64), np.where(np.isinf(high), 2.0**128, high), low.view(np.uint32) % 2 == 0
    size = dtype.itemsize
    every = np.arange(1 << (8 * size - 1), dtype=f"u{size}").view(dtype).astype(np.float64)
    grid = every[np.isfinite(every)]
    at = np.searchsorted(grid, x, side="right") - 1
    return grid[at], np.append(grid, 2 * grid[-1] - grid[-2])[at + 1], at % 2 == 0


def expected(x, dtype, mode):
    """x in `dtype`, as float64, rounded by `mode`."""
    low, high, low_is_even = numbers_around(np.abs(x), dtype)
    below, above = np.abs(x) - low, high - np.abs(x)
    if mode == "toward_zero":
        up = np.zeros_like(low_is_even)
    elif mode in ("downward", "upward"):
        up = (np.signbit(x) == (mode == "downward")) & (below > 0)
    else:
        up = (below > above) | ((below == above) & (~low_is_even | (mode == "to_nearest_away")))
    result = np.where(up, high, low)
    largest = float(ml_dtypes.finfo(dtype).max)
    beyond = np.nan if dtype == ml_dtypes.float8_e4m3fn else np.inf
    result = np.where((result > largest) | np.isinf(x), beyond, result)
    return np.copysign(result, x)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("source, target", CASES)
def test_roundings(module, source, target, rng):
    """Numbers on and between those of a type are rounded in each mode: the results must be those of lists of the type's
    numbers."""
    from_type, to_type = cpu.dtype_of(source), cpu.dtype_of(target)
    if to_type == np.float32:
        points = rng.standard_normal(3000).astype(np.float32) * np.float32(2.0) ** rng.integers(-149, 128, 3000)
        points = np.append(points, [0, np.finfo(np.float32).max, 2.0**-149]).astype(np.float64)
    else:
        every = np.arange(1 << (8 * to_type.itemsize), dtype=f"u{to_type.itemsize}").view(to_type)
        points = every[np.isfinite(every)].astype(np.float64)
    low, high, _ = numbers_around(np.abs(points), to_type)
    # Numbers of the type, what is half way, and the neighbours of both in the source type.
    exact = np.concatenate([low, high, low / 2 + high / 2]).astype(from_type)
    x = np.concatenate([exact, np.nextafter(exact, from_type.type(0)), np.nextafter(exact, from_type.type(np.inf))])
    others = rng.standard_normal(2000) * 2.0 ** rng.integers(-160, 130, 2000)
    ends = [0, np.inf, 1e30, 1e-30, 1e-300, 1e300]
    x = np.concatenate([x, others.astype(from_type), np.array(ends).astype(from_type)])
    x = np.concatenate([x, -x])
    for mode in MODES:
        result = module[name(source, target, mode)](x)
        want = expected(x.astype(np.float64), to_type, mode or "to_nearest_even")
        np.testing.assert_array_equal(result.astype(np.float64), want, err_msg=mode)
        np.testing.assert_array_equal(np.signbit(result), np.signbit(x), err_msg=mode)
        assert np.isnan(module[name(source, target, mode)](np.array([np.nan], from_type)).astype(float)).all()
