# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fa4_testing.cpu: what is passed and returned, and its messages."""

import os
import re

import numpy as np
import pytest
from heap import leaks
from ml_dtypes import bfloat16, float8_e4m3fn, float8_e5m2

from fa4 import tools
from fa4_testing import cpu, gpu

pytestmark = pytest.mark.xdist_group("cpu")

TEXT = """
func.func @scaled_sum(%a: tensor<?x4xf32>, %b: tensor<?x4xf32>, %s: f32)
    -> (tensor<?x4xf32>, index) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %a, %c0 : tensor<?x4xf32>
  %empty = tensor.empty(%rows) : tensor<?x4xf32>
  %r = linalg.map ins(%a, %b : tensor<?x4xf32>, tensor<?x4xf32>)
                  outs(%empty : tensor<?x4xf32>)
    (%x: f32, %y: f32, %old: f32) {
      %t = arith.mulf %y, %s : f32
      %u = arith.addf %x, %t : f32
      linalg.yield %u : f32
    }
  return %r, %rows : tensor<?x4xf32>, index
}
func.func @overwrite(%a: tensor<3xf32>) -> tensor<3xf32> {
  %c1 = arith.constant 1 : index
  %two = arith.constant 2.0 : f32
  %r = tensor.insert %two into %a[%c1] : tensor<3xf32>
  return %r : tensor<3xf32>
}
func.func @twice(%a: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
  return %a, %a : tensor<2xi32>, tensor<2xi32>
}
func.func @constant() -> tensor<2xf64> {
  %r = arith.constant dense<[1.0, 2.0]> : tensor<2xf64>
  return %r : tensor<2xf64>
}
func.func @transposed(%m: memref<2x3xf32>) -> memref<3x2xf32, strided<[1, 3]>> {
  %copy = memref.alloc() : memref<2x3xf32>
  memref.copy %m, %copy : memref<2x3xf32> to memref<2x3xf32>
  %r = memref.transpose %copy (i, j) -> (j, i)
      : memref<2x3xf32> to memref<3x2xf32, strided<[1, 3]>>
  return %r : memref<3x2xf32, strided<[1, 3]>>
}
func.func @sum_of_numbers(%a: f32, %b: i32, %c: f64) -> f64 {
  %x = arith.extf %a : f32 to f64
  %y = arith.sitofp %b : i32 to f64
  %t = arith.addf %x, %y : f64
  %r = arith.addf %t, %c : f64
  return %r : f64
}
func.func @is_less(%a: index, %b: index) -> i1 {
  %r = arith.cmpi slt, %a, %b : index
  return %r : i1
}
func.func @no_dimensions(%a: tensor<f32>, %b: tensor<i1>) -> (tensor<f32>, i32) {
  %x = tensor.extract %b[] : tensor<i1>
  %y = arith.extui %x : i1 to i32
  return %a, %y : tensor<f32>, i32
}
func.func @fill(%m: memref<?x2xf32>, %s: f32) {
  linalg.fill ins(%s : f32) outs(%m : memref<?x2xf32>)
  return
}
func.func @fill_strided(%m: memref<2x?xf32, strided<[?, ?], offset: ?>>, %s: f32) {
  linalg.fill ins(%s : f32)
              outs(%m : memref<2x?xf32, strided<[?, ?], offset: ?>>)
  return
}
func.func private @unseen(%a: f32) -> f32 { return %a : f32 }
"""
NARROW = {"f16": np.float16, "bf16": bfloat16, "f8E4M3FN": float8_e4m3fn,
          "f8E5M2": float8_e5m2}  # fmt: skip
for element in NARROW:
    for name, op, source, target in (
        (f"widen_{element}", "arith.extf", element, "f32"),
        (f"narrow_{element}", "arith.truncf", "f32", element),
    ):
        TEXT += f"""
func.func @{name}(%a: tensor<?x{source}>) -> tensor<?x{target}> {{
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : tensor<?x{source}>
  %empty = tensor.empty(%n) : tensor<?x{target}>
  %r = linalg.map {{ {op} }} ins(%a : tensor<?x{source}>)
                  outs(%empty : tensor<?x{target}>)
  return %r : tensor<?x{target}>
}}
"""


@pytest.fixture(scope="module")
def module():
    return cpu.compile(TEXT, optimization=2)


def test_tensors_and_numbers(module, rng):
    """A function is given two tensors and a number, and tensors without rows: it must return the sum and the number of
    rows."""
    a, b = rng.standard_normal((2, 5, 4)).astype(np.float32)
    r, rows = module["scaled_sum"](a, b, 0.5)
    np.testing.assert_allclose(r, a + 0.5 * b, rtol=1e-6)
    assert rows == 5
    r, rows = module["scaled_sum"](a[:0], b[:0], 1)
    assert r.shape == (0, 4) and rows == 0


def test_tensor_arguments_need_no_layout(module, rng):
    """The arrays are transposed, strided or reversed: the results must be those of contiguous copies."""
    a, b = (x.T for x in rng.standard_normal((2, 4, 6)).astype(np.float32))
    r, _ = module["scaled_sum"](a[::2], b[::-2], 2.0)
    np.testing.assert_allclose(r, a[::2] + 2 * b[::-2], rtol=1e-6)


def test_tensor_arguments_are_values(module):
    """A function overwrites its tensor: the caller's array, which is read-only, must not change."""
    a = np.zeros(3, np.float32)
    a.flags.writeable = False
    assert module["overwrite"](a).tolist() == [0, 2, 0]
    assert a.tolist() == [0, 0, 0]


def test_results_are_the_callers(module):
    """The caller writes to a result: neither the argument, another result nor a constant of the module may change."""
    a = np.array([1, 2], np.int32)
    first, second = module["twice"](a)
    first[:] = 7
    assert second.tolist() == [1, 2] and a.tolist() == [1, 2]
    kept = module["constant"]()
    kept[:] = 7
    assert module["constant"]().tolist() == [1, 2]
    m = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(module["transposed"](m), m.T)


def test_numbers(module):
    """A function is given numbers of Python and of numpy: it must return a Python number."""
    assert module["sum_of_numbers"](0.5, -3, 0.25) == -2.25
    assert module["sum_of_numbers"](np.float32(0.5), np.int32(1), 1) == 2.5
    assert module["is_less"](1, 2) is True
    assert module["is_less"](2, 1) is False


def test_no_dimensions(module):
    """Arrays without dimensions are given: the results must have none, either."""
    r, y = module["no_dimensions"](np.array(2.5, np.float32), np.array(True))
    assert r.shape == () and r == 2.5 and y == 1


def test_memrefs_are_the_callers_memory(module):
    """A function fills a memref, which may be strided: the caller's array must have the values, and nothing beside it."""
    m = np.zeros((3, 2), np.float32)
    assert module["fill"](m, 4.0) is None
    assert (m == 4).all()
    m = np.zeros((6, 4), np.float32)
    module["fill_strided"](m[1:, ::2].T, 5.0)
    assert (m[1:, ::2] == 5).all() and m.sum() == 5 * 10


@pytest.mark.parametrize("element", NARROW)
def test_narrow_types(module, element, rng):
    """Every value of a type of 8 or 16 bits is widened, and numbers between two values are narrowed: each result must
    be the one that ml_dtypes has."""
    dtype = NARROW[element]
    if np.dtype(dtype).itemsize == 1:
        every = np.arange(256, dtype=np.uint8).view(dtype)
    else:
        every = np.arange(65536, dtype=np.uint16).view(dtype)
    wide = module[f"widen_{element}"](every)
    np.testing.assert_array_equal(wide, every.astype(np.float32))
    # Exact values, what lies between two of them, and everything else.
    x = wide[np.isfinite(wide)]
    x = np.concatenate([x, x[1:] / 2 + x[:-1] / 2, np.nextafter(x, np.float32(9e9)),
                        np.array([0, -0.0, np.inf, -np.inf, 1e30, -1e-30], np.float32),
                        rng.standard_normal(1000).astype(np.float32) * 100])  # fmt: skip
    narrow = module[f"narrow_{element}"](x)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = x.astype(dtype)
    np.testing.assert_array_equal(narrow.astype(float), expected.astype(float))
    np.testing.assert_array_equal(np.signbit(narrow), np.signbit(expected))


def test_no_leak(module):
    """Functions are called many times: all memory of their results must be freed with them, and a call that keeps some
    must be noticed."""
    a = np.zeros((5, 4), np.float32)
    assert not leaks(lambda: module["scaled_sum"](a, a, 1.0))
    assert not leaks(lambda: module["overwrite"](a[0, :3]))
    assert not leaks(lambda: module["twice"](np.zeros(2, np.int32)))
    assert not leaks(lambda: module["constant"]())
    assert not leaks(lambda: module["transposed"](a[:2, :3].copy()))
    # Other threads of this process free a little now and then: what is kept is more.
    kept = []
    assert leaks(lambda: kept.append([module["constant"]() for _ in range(64)]))


# ---------------------------------------------------------------------------
# Messages
# ---------------------------------------------------------------------------


@pytest.mark.parametrize("values, message", [
    ((np.zeros((3, 4), np.float32),), "scaled_sum takes 3 arguments, got 1"),
    ((np.zeros((3, 4)), None, 1),
     "scaled_sum: argument 0 must be a tensor of float32, shape [?, 4]; "
     "got float64, shape [3, 4]"),
    ((np.zeros((3, 4), np.float32), np.zeros((3, 5), np.float32), 1),
     "scaled_sum: argument 1 must be a tensor of float32, shape [?, 4]; "
     "got float32, shape [3, 5]"),
    ((np.zeros(4, np.float32), None, 1),
     "scaled_sum: argument 0 must be a tensor of float32, shape [?, 4]; "
     "got float32, shape [4]"),
    (([[1, 2, 3, 4]], None, 1),
     "scaled_sum: argument 0 must be a tensor of float32, shape [?, 4]; got list"),
    ((np.zeros((3, 4), np.float32), np.zeros((3, 4), np.float32), "x"),
     "scaled_sum: argument 2 must be a number, got str"),
    ((np.zeros((3, 4), np.float32), np.zeros((3, 4), np.float32), np.zeros(2)),
     "scaled_sum: argument 2 must be a number, got ndarray"),
])  # fmt: skip
def test_wrong_arguments(module, values, message):
    """A call with too few arguments, or with one of another type or shape, must raise a TypeError that names the
    function and the argument."""
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        module["scaled_sum"](*values)


def test_wrong_memrefs(module):
    """A strided array for a contiguous memref, and a read-only array for any memref, must be refused."""
    m = np.zeros((3, 4), np.float32)
    with pytest.raises(TypeError, match="fill: argument 0 is a contiguous memref, but"):
        module["fill"](m[:, ::2], 1.0)
    m = np.zeros((3, 2), np.float32)
    m.flags.writeable = False
    with pytest.raises(TypeError, match="argument 0 is a memref, but .* read-only"):
        module["fill"](m, 1.0)


def test_unknown_function(module):
    """A name that the module does not have must raise a KeyError that lists the public functions."""
    with pytest.raises(KeyError, match="no function nope in the module .*: scaled_sum"):
        module["nope"]
    assert "unseen" not in module.functions


def test_not_mlir():
    """Text that is no MLIR must raise a CompileError with the place of the error."""
    with pytest.raises(cpu.CompileError, match=r"fa4-opt: <stdin>:1:1: error: .*\n"):
        cpu.compile("nonsense")


def test_no_such_file(tmp_path):
    """The path of no file must raise a CompileError that names the file."""
    path = tmp_path / "absent.mlir"
    with pytest.raises(cpu.CompileError, match="absent.mlir'?: No such file"):
        cpu.compile(path)


def test_error_in_file_names_the_file(tmp_path):
    """A file has an error: the CompileError must name the file, the line and the column."""
    path = tmp_path / "bad.mlir"
    path.write_text("func.func @f() {\n  attn.nothing\n}\n")
    with pytest.raises(cpu.CompileError, match=r"bad.mlir:2:3: error: .*attn.nothing"):
        cpu.compile(path)


def test_not_lowered():
    """If no pipeline lowers the function, the next tool says what it cannot read."""
    with pytest.raises(cpu.CompileError, match="mlir-translate.*: .*func"):
        cpu.compile("func.func @f() { return }", options=[])


def test_types_that_cannot_be_passed():
    """A function has an argument of a type that Python cannot pass: compilation must refuse the function and name the
    type."""
    for type in ("tensor<4xi4>", "f16", "vector<4xf32>", "tensor<*xf32>"):
        text = f"func.func @f(%a: {type}) {{ return }}"
        message = f"function f: type {type} cannot be passed from Python"
        with pytest.raises(cpu.CompileError, match=f"^{re.escape(message)}$"):
            cpu.compile(text)


def test_undefined_symbol():
    """A function calls one that nobody defines: the CompileError must have the linker's message."""
    text = """
    func.func private @missing(f32) -> f32
    func.func @f(%a: f32) -> f32 {
      %r = call @missing(%a) : (f32) -> f32
      return %r : f32
    }"""
    with pytest.raises(
        cpu.CompileError, match="(?s)clang.*undefined reference.*missing"
    ):
        cpu.compile(text)


def test_missing_tools(monkeypatch, tmp_path):
    """A tool is in none of its places: the error must name the tool and the place that the caller or the environment
    has given."""
    fa4_opt = os.environ["FA4_OPT"]
    with pytest.raises(cpu.ToolNotFoundError, match="fa4-opt not found at /no/where"):
        cpu.Tools.find(fa4_opt="/no/where")
    with pytest.raises(cpu.ToolNotFoundError,
                       match=rf"mlir-translate \(LLVM 22\) not found in {tmp_path}"):  # fmt: skip
        cpu.Tools.find(llvm_bin=str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tools, "ROOT", tmp_path)
    monkeypatch.setattr(tools, "DEBIAN_LLVM_BIN", str(tmp_path))
    monkeypatch.setenv("FA4_OPT", "/no/where")
    with pytest.raises(cpu.ToolNotFoundError, match="FA4_OPT is /no/where, which cannot be run"):
        cpu.Tools.find()
    monkeypatch.delenv("FA4_OPT")
    with pytest.raises(cpu.ToolNotFoundError, match="in PATH; build it, or set FA4_OPT to its path"):
        cpu.Tools.find()
    monkeypatch.setenv("FA4_OPT", fa4_opt)
    monkeypatch.delenv("FA4_LLVM_BIN", raising=False)
    with pytest.raises(cpu.ToolNotFoundError, match="set FA4_LLVM_BIN to its folder"):
        cpu.Tools.find()


def test_tools_in_path(monkeypatch, tmp_path):
    """All tools are in PATH only: they must be found there."""
    found = cpu.Tools.find()
    for name in ("fa4-opt", "mlir-translate", "clang"):
        (tmp_path / name).symlink_to(getattr(found, name.replace("-", "_")))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tools, "ROOT", tmp_path)
    monkeypatch.delenv("FA4_OPT")
    monkeypatch.delenv("FA4_LLVM_BIN", raising=False)
    assert cpu.Tools.find().fa4_opt == str(tmp_path / "fa4-opt")
    assert cpu.Tools.find().clang == str(tmp_path / "clang")


def test_the_build_is_found_without_variables(monkeypatch, tmp_path):
    """fa4_testing.cpu and fa4_testing.gpu find the release build of the checkout alike, and the
    build next to FA4_OPT."""
    for name in ("FA4_OPT", "FA4_COMPILE", "FA4_SIM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tools, "ROOT", tmp_path)
    for folder in ("build/release/bin", "other/bin"):
        (tmp_path / folder).mkdir(parents=True)
        for name in ("fa4-opt", "fa4-compile", "fa4-sim"):
            (tmp_path / folder / name).write_text("#!/bin/sh\n")
            (tmp_path / folder / name).chmod(0o755)
    for folder in ("build/release/bin", "other/bin"):
        assert cpu.Tools.find().fa4_opt == str(tmp_path / folder / "fa4-opt")
        assert gpu.find_tool("fa4-sim") == str(tmp_path / folder / "fa4-sim")
        monkeypatch.setenv("FA4_OPT", str(tmp_path / "other/bin/fa4-opt"))
