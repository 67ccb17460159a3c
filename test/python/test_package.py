# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The package for users, on the library of the build: specs, functions that are traced, kernels on numpy."""

import ast
import math
import os
import re
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import fa4
from fa4 import _library, cache, cuda_tools, kernel, reference, tracing

PACKAGE = Path(fa4.__file__).parent
try:
    _library.find()
except fa4.LibraryNotFoundError as missing:
    pytest.skip(f"needs {missing}", allow_module_level=True)

M = fa4.math


@pytest.fixture(scope="module")
def common_cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def use_cache(common_cache, monkeypatch):
    """Tests take kernels from each other."""
    monkeypatch.setenv("FA4_CACHE_DIR", str(common_cache))


@pytest.fixture
def new_cache(use_cache, tmp_path, monkeypatch):
    """For tests that are about the cache."""
    monkeypatch.setenv("FA4_CACHE_DIR", str(tmp_path / "cache"))


own_cache = pytest.mark.usefixtures("new_cache")


def draw(rng, batch=1, queries=128, keys=128, heads=2, kv_heads=1, dim=32):
    shapes = {"q": (batch, queries, heads, dim), "k": (batch, keys, kv_heads, dim), "v": (batch, keys, kv_heads, dim)}
    arrays = {name: rng.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    dtype = kernel.numpy_dtype("bf16")
    return {name: array.astype(dtype) for name, array in arrays.items()}


def error_of(result, expected):
    return np.abs(result.astype(np.float64) - expected).max()


def spec_of(**form):
    return fa4.sdpa(q="B Sq H 32", k="B Sk G 32", **form)


# ---------------------------------------------------------------------------
# Import
# ---------------------------------------------------------------------------


def test_import_loads_neither_numpy_nor_the_library():
    """fa4 is imported: numpy, ctypes, torch and jax must not be loaded."""
    code = "import sys, fa4; dir(fa4); print([m for m in sys.modules if m.split('.')[0] in ('numpy', 'ctypes', 'torch', 'jax')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=PACKAGE.parent)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_stub_has_the_names_of_the_package():
    """The package's stub for type checkers must have each name of the package."""
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text())
    stubbed = {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert set(fa4._HOMES) | {"cache", "math", "reference"} <= stubbed


# ---------------------------------------------------------------------------
# Specs
# ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"q": "B S 4 64 1", "k": "B S 4 64"}, "shape of q has 5 sizes, not 4"),
        ({"q": "B S 4 D", "k": "B S 4 D"}, "head dim of q must be a number"),
        ({"q": "B S 4 64", "k": "B S 4 32"}, "differ in size d: 32 and 64"),
        ({"q": "B S 4 64", "k": "B S 3 64"}, "4 query heads are no multiple of 3"),
        ({"q": "B S -4 64", "k": "B S 4 64"}, "'-4', which is neither a name nor a positive number"),
        ({"q": "B S 4 64", "k": "B S 4 64", "dtype": "f32"}, "dtype is one of bf16, f16, not 'f32'"),
        ({"q": "B S 4 64", "k": "B S 4 64", "mask": "casual"}, "mask is None, one of causal, causal_top_left"),
        ({"q": "B S 4 64", "k": "B S 4 64", "captures": {"x": "f64"}}, "capture 'x' is of type 'f64'"),
        ({"q": "B S 4 64", "k": "B S 4 64", "name": "a b"}, "name is an identifier"),
    ],
)
def test_specs_that_are_refused(form, message):
    """A spec has a wrong size, type, mask or name: SpecError must name the argument and its value."""
    with pytest.raises(fa4.SpecError, match=message):
        fa4.sdpa(**form)


def test_masks():
    """Masks are given by name or by bounds: the op's text must have the mask that they mean."""
    texts = {
        "causal, bottom_right": "causal",
        "causal, top_left": "causal_top_left",
        "causal, left = 256, top_left": fa4.Mask(256, 0, "top_left"),
        "window, left = 256, right = 128, bottom_right": fa4.Mask(256, 128),
    }
    for text, mask in texts.items():
        assert f"mask<{text}>" in spec_of(mask=mask).text
    with pytest.raises(fa4.SpecError, match="align is one of"):
        fa4.Mask(right=0, align="center")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"k": (1, 64, 2, 32)}, r"v has shape \(1, 128, 1, 32\): dimension 1 is 128, but k has size Sk = 64"),
        ({"q": (2, 128, 2, 32)}, "k has shape .*: dimension 0 is 1, but q has size B = 2"),
        ({"q": (1, 128, 64)}, "q has 3 dimensions"),
        ({"q": (1, 128, 2, 64)}, r"q has shape .*: dimension 3 is 64, but the spec has 32"),
    ],
)
def test_calls_with_other_sizes(rng, call, message):
    """A call's arrays have sizes that do not agree: SpecError must name the array, the dimension and the size."""
    arrays = draw(rng) | {name: np.zeros(shape, np.float32) for name, shape in call.items()}
    with pytest.raises(fa4.SpecError, match=message):
        fa4.compile(spec_of(), verify=False).simulate(**arrays)


def test_other_calls_that_are_refused(rng):
    """A call lacks an argument, has one too many or one of another type: SpecError must say so."""
    made = fa4.compile(spec_of(score_mod=lambda s, b, h, i, j, cap: s * cap, captures={"cap": "f32"}), verify=False)
    arrays = draw(rng)
    with pytest.raises(fa4.SpecError, match="needs the capture cap"):
        made.simulate(**arrays)
    with pytest.raises(fa4.SpecError, match="has no 'mask'; there is: .*cap"):
        made.simulate(**arrays, cap=1.0, mask=1)
    with pytest.raises(fa4.SpecError, match="elements of type int64, not bfloat16"):
        made.simulate(**arrays | {"q": np.zeros((1, 128, 2, 32), np.int64)}, cap=1.0)
    with pytest.raises(fa4.SpecError, match="'out' is written by the kernel"):
        made.simulate(**arrays, cap=1.0, out=arrays["q"])
    with pytest.raises(fa4.SpecError, match="does not say how large G, H, Sk, Sq are"):
        made.time(B=1)


# ---------------------------------------------------------------------------
# Tracing
# ---------------------------------------------------------------------------


def asks(score, b, h, i, j):
    scaled = score * 2
    if scaled > 0:
        return scaled
    return score


def uses_math(score, b, h, i, j):
    return math.tanh(score)


def uses_numpy(score, b, h, i, j):
    return np.tanh(score)


def indexes(score, b, h, i, j):
    slopes = [1.0, 2.0]
    return score + slopes[h]


def orders(score, b, h, i, j):
    return score if i > 0 and j > 0 else score


def helper(x):
    return x.item()


def calls(score, b, h, i, j):
    return helper(score)


def returns_nothing(score, b, h, i, j):
    score + 1


def adds_text(score, b, h, i, j):
    return score + "1"


def line_of(function, text):
    lines = Path(__file__).read_text().splitlines()
    first = function.__code__.co_firstlineno
    return next(n for n in range(first, len(lines)) if text in lines[n - 1])


@pytest.mark.parametrize(
    ("function", "line", "message"),
    [
        (asks, "if scaled", "known on the GPU only: use fa4.math.where"),
        (uses_math, "math.tanh", "use the functions of fa4.math, not those of math"),
        (uses_numpy, "np.tanh", "TypeError|fa4.math"),
        (indexes, "slopes[h]", "fa4.math"),
        (orders, "i > 0", "use fa4.math.where"),
        (adds_text, '"1"', "str is neither a value nor a number"),
    ],
)
def test_what_cannot_be_traced_names_its_line(function, line, message):
    """A score_mod cannot be traced: TraceError must give its file, its line and a way out."""
    with pytest.raises(fa4.TraceError, match=message) as caught:
        fa4.compile(spec_of(score_mod=function))
    assert caught.value.line == line_of(function, line)
    assert f"{__file__}:{caught.value.line}: score_mod can't be traced" in str(caught.value)
    assert line in str(caught.value)


def test_what_else_cannot_be_traced():
    """A function has wrong parameters, results or operations: TraceError must say which."""
    with pytest.raises(fa4.TraceError, match="'Value' object has no attribute 'item'") as caught:
        fa4.compile(spec_of(score_mod=calls))
    assert caught.value.line == line_of(helper, "x.item()")
    with pytest.raises(fa4.TraceError, match="it returns nothing"):
        fa4.compile(spec_of(score_mod=returns_nothing))
    with pytest.raises(fa4.TraceError, match="mask_mod can't be traced: it returns a number"):
        fa4.compile(spec_of(mask_mod=lambda b, h, i, j: i - j))
    with pytest.raises(fa4.TraceError, match="it returns a condition, not a score"):
        fa4.compile(spec_of(score_mod=lambda s, b, h, i, j: i < j))
    with pytest.raises(fa4.TraceError, match="is called with .score, b, h, q_idx, kv_idx."):
        fa4.compile(spec_of(score_mod=lambda s: s))
    with pytest.raises(fa4.TraceError, match="parameter 'cap' is none of the captures"):
        fa4.compile(spec_of(score_mod=lambda s, b, h, i, j, cap: s))
    with pytest.raises(fa4.TraceError, match="a shift by 40"):
        fa4.compile(spec_of(mask_mod=lambda b, h, i, j: (i >> 40) < j))
    with pytest.raises(fa4.TraceError, match="whole number from 0 to 64"):
        fa4.compile(spec_of(score_mod=lambda s, b, h, i, j: s**i))


def test_equal_operations_are_there_once():
    """A score_mod computes a value twice: the traced text must compute it once."""
    text = tracing.trace_regions({"score_mod": lambda s, b, h, i, j: (s + 1) * (s + 1)}, {}).text
    assert text.count("arith.addf") == 1


def test_conditions_that_are_known_are_no_operations():
    """A mask_mod combines a condition with True and False: the text must have no operation for them."""
    spec = spec_of(mask_mod=lambda b, h, i, j: (True & (i >= j) | False) & True)
    assert "arith.cmpi" in spec.text and "andi" not in spec.text and "ori" not in spec.text
    assert "yield %t" in spec_of(mask_mod=lambda b, h, i, j: (i >= j) & False | (i < j)).text


def test_threads_trace_at_the_same_time():
    """Threads trace functions at the same time: each must get the operations of its own function, rows among them."""

    def score_mod(number):
        return lambda s, b, h, i, j, rates: s * number + (rates[h] * rates[0]).sum()

    def write(number, texts):
        for _ in range(20):
            texts.append(spec_of(score_mod=score_mod(number), captures={"rates": "f32 2 3"}).text)

    found = [[] for _ in range(4)]
    threads = [threading.Thread(target=write, args=(number, texts)) for number, texts in enumerate(found)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, texts in enumerate(found):
        assert len(texts) == 20 and len(set(texts)) == 1 and texts[0] == spec_of(score_mod=score_mod(number), captures={"rates": "f32 2 3"}).text


# Functions of a score and its position; each is its own reference on arrays.
MODS = {
    "whole_numbers": lambda s, b, h, i, j: (
        s + 0.01 * ((i - j) // 3) + 0.1 * ((j - i) % 5) + M.abs(i - j) * 0.001 + ((i ^ j) & 7) * 0.01 + (i >> 2) * 0.001 - (-h)
    ),
    "functions": lambda s, b, h, i, j: (
        M.tanh(s) + M.exp(-M.abs(s)) + M.sqrt(M.abs(s) + 1) * 0.5 + M.rsqrt(s * s + 1) + M.log2(M.abs(s) + 1)
    ),
    "more_functions": lambda s, b, h, i, j: (
        M.sigmoid(s) + M.floor(s) * 0.1 + M.ceil(s) * 0.1 + M.trunc(s) * 0.1 + M.log(s**2 + 2) + M.exp2(M.minimum(s, 1.0))
        + M.copysign(0.5, s) + M.fma(s, 0.25, 1.0) + M.round(s) * 0.1 + 1 / (2 + s * s)
    ),
    "conditions": lambda s, b, h, i, j: (
        M.where((i >= j) & ~(i == j + 3) | (s > 0.5), s, M.maximum(s * 0.5, -1.0)) + M.float32(i < j) + M.int32(s) % 3 * 0.1
        + M.where((i < 4) ^ (j != 2), M.minimum(i, j), 2) * 0.01
    ),
}  # fmt: skip


@pytest.mark.turns(2)
@pytest.mark.parametrize("name", MODS)
def test_traced_scores_are_those_of_the_function(rng, name):
    """A score_mod is traced and simulated: out and LSE must be those of the Python function."""
    spec = spec_of(score_mod=MODS[name], lse=True)
    arrays = draw(rng, queries=64, keys=64, heads=1)
    result = fa4.compile(spec, verify=False).simulate(**arrays)
    expected = spec.reference(**arrays)
    # Steps (floor, a comparison) may fall on the other side of a score's rounding, for few scores.
    assert np.median(np.abs(result.lse - expected.lse)) < 2e-3
    assert np.abs(result.lse - expected.lse).max() < 3e-2
    assert error_of(result.out, expected.out) < 3e-2


@pytest.mark.parametrize("path", ["", os.pathsep, f"{os.pathsep}/nonexistent"])
def test_tools_are_not_those_of_the_folder_one_stands_in(tmp_path, monkeypatch, path):
    """Tools are not looked for in the current folder: neither for an empty entry of PATH nor in an environment that
    lies there."""
    for place in (tmp_path / "ptxas", tmp_path / ".venv" / "lib" / "python3.12" / "site-packages" / "nvidia" / "cu13" / "bin" / "ptxas"):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("#!/bin/sh\n")
        place.chmod(0o755)
    for name in ("FA4_PTXAS", "CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "VIRTUAL_ENV", "FA4_VENV"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", path)
    monkeypatch.chdir(tmp_path)
    found = cuda_tools.find()
    assert found is None or os.path.isabs(found) and not found.startswith(str(tmp_path))


def test_package_imports_no_scaffolding():
    """The modules of fa4 import nothing that only tests or benchmarks share."""
    for path in PACKAGE.rglob("*.py"):
        assert not re.search(r"^\s*(from|import) fa4_(testing|bench)\b", path.read_text(), re.MULTILINE), path


# ---------------------------------------------------------------------------
# Work
# ---------------------------------------------------------------------------


@pytest.mark.parametrize("mask", [None, fa4.Mask(right=0), fa4.Mask(3, 0, "top_left"), fa4.Mask(2, 5), fa4.Mask(None, -9), fa4.Mask(-3, 7, "top_left")])
@pytest.mark.parametrize("sizes", [(7, 12), (12, 7), (1, 30)])
def test_useful_work_is_that_of_visible_pairs(mask, sizes):
    """The useful FLOPs of a spec must be those of the pairs of query and key that its mask shows."""
    spec = fa4.sdpa(q="B Sq 4 64", k="B Sk 2 64", v="B Sk 2 32", mask=mask)
    i, j = np.arange(sizes[0])[:, None], np.arange(sizes[1])
    pairs = (mask and reference.Mask(mask.align, mask.left, mask.right).visible(i, j, *sizes).sum()) if mask else i.size * j.size
    assert spec.count_flops(B=3, Hq=4, Sq=sizes[0], Sk=sizes[1]) == 3 * 4 * pairs * 2 * (64 + 32)
    assert spec.backward().count_flops(B=3, Hq=4, Sq=sizes[0], Sk=sizes[1]) == 3 * 4 * pairs * 2 * (3 * 64 + 2 * 32)


def test_useful_work_asks_a_mask_mod(monkeypatch):
    """A mask has the same useful work by the attribute and by a mask_mod. A mask that depends on sequence and head is
    counted in each, and captures are read where a call has them."""
    shapes = {"q": "B Sq 4 64", "k": "B Sk 2 64", "v": "B Sk 2 32"}
    sizes = {"B": 3, "Hq": 4, "Sq": 200, "Sk": 200}
    causal = fa4.sdpa(**shapes, mask_mod=lambda b, h, i, j: i >= j)
    assert causal.count_flops(**sizes) == fa4.sdpa(**shapes, mask="causal").count_flops(**sizes)
    assert causal.backward().count_flops(**sizes) == fa4.sdpa(**shapes, mask="causal").backward().count_flops(**sizes)
    both = fa4.sdpa(**shapes, mask=fa4.Mask(right=0, left=9), mask_mod=lambda b, h, i, j: j % 2 == 0)
    assert both.count_flops(**sizes) == 3 * 4 * (5 * 191 + sum(i // 2 + 1 for i in range(9))) * 2 * 96
    heads = fa4.sdpa(**shapes, mask_mod=lambda b, h, i, j: j < 10 * h + b)
    assert heads.count_flops(**sizes) == 200 * (3 * 60 + 4 * 3) * 2 * 96
    spans = fa4.sdpa(**shapes, mask_mod=lambda b, h, i, j, last: j < last[b], captures={"last": "i32 B"})
    assert spans.count_flops(**sizes) == 12 * 200 * 200 * 2 * 96
    assert spans.count_flops(**sizes, last=np.array([1, 2, 200])) == 4 * 200 * 203 * 2 * 96
    assert causal.count_flops(**sizes | {"B": 0}) == causal.count_flops(**sizes | {"Sk": 0}) == 0
    # Beyond a limit, queries stand for others.
    monkeypatch.setattr("fa4.useful_work.LIMIT", 200 * 60)
    assert causal.count_flops(**sizes) == pytest.approx(12 * 100 * 201 * 2 * 96, rel=0.02)
    made = fa4.compile(causal, verify=False)
    assert made.time(B=3, Hq=4, Sq=200, Sk=200).flops == causal.count_flops(**sizes)


def test_one_query_is_no_tile_of_useful_work():
    """A call has one query: its useful FLOPs must be those of one row, far fewer than are executed."""
    made = fa4.compile(spec_of(), verify=False)
    one = made.time(B=1, Sq=1, Sk=2048, H=2, G=1)
    assert one.flops == 2 * 2 * 2048 * (32 + 32) and one.executed_flops >= 100 * one.flops


# ---------------------------------------------------------------------------
# Kernels
# ---------------------------------------------------------------------------


def test_forward_and_gradient(rng):
    """A spec with a layout, a mask_mod, captures of both types and grouped heads gives the right results, and so does
    its gradient."""
    spec = spec_of(
        mask=fa4.Mask(right=0), score_mod=lambda s, b, h, i, j, cap: cap * M.tanh(s / cap),
        mask_mod=lambda b, h, i, j, block: i // block == j // block, captures={"cap": "f32", "block": "i32"}, lse=True,
    )  # fmt: skip
    arrays = draw(rng, queries=96, keys=128) | {"cap": 1.5, "block": 40}
    made = fa4.compile(spec, verify=False)
    forward = made.simulate(**arrays, check=True)
    expected = spec.reference(**arrays)
    assert list(forward) == ["out", "lse"] and forward.out.dtype == kernel.numpy_dtype("bf16")
    seen = np.isfinite(expected.lse)
    assert error_of(forward.out, expected.out) < 2e-2
    assert error_of(forward.lse[seen], expected.lse[seen]) < 1e-2

    backward = spec.backward()
    dout = rng.standard_normal(forward.out.shape, np.float32).astype(forward.out.dtype)
    call = arrays | {"out": forward.out, "lse": forward.lse, "dout": dout}
    gradient = fa4.compile(backward, verify=False)
    assert len(gradient.modules) == 3
    with pytest.raises(fa4.Fa4Error, match="3 kernels; `modules` has all"):
        gradient.ptx  # noqa: B018
    for name, array in gradient.simulate(**call).items():
        assert error_of(array, backward.reference(**call)[name]) < 4e-2, name


def test_artefacts_and_time():
    """A kernel is compiled for sm_103a: its PTX, IR, manifest, report and modelled time must be there."""
    made = fa4.compile(fa4.sdpa(q="B S 8 64", k="B S 8 64"), "sm_103a", options={"schedule": "lpt"}, verify=False)
    assert made.chip == "sm_103a" and ".target sm_103a" in made.ptx
    assert made.manifest["sizes"].keys() >= {"B", "Sq", "Sk"}
    assert "tile.mma" in made.ir("tile") and "define" in made.ir("llvm")
    assert "schedule of @sdpa_kernel" in made.report()
    with pytest.raises(fa4.CompileError, match="unknown|no level|tiel"):
        made.ir("tiel")
    time = made.time(B=1, S=512)
    assert 0 < time.seconds < 1e-3 and time.teraflops > 1 and len(time.launches) == 1
    assert time.flops <= time.executed_flops == time.launches[0]["flops"]
    assert "us" in str(time) and "modelled" in str(time)


def test_what_the_compiler_refuses():
    """An op, an option or a chip is not supported: CompileError must have the compiler's message."""
    with pytest.raises(fa4.CompileError, match="head dims 288 of q and k, 288 of v: the smallest tiles exceed") as caught:
        fa4.compile(fa4.sdpa(q="B S 8 288", k="B S 8 288"), verify=False)
    assert any("error" in said for said in caught.value.diagnostics)
    with pytest.raises(fa4.CompileError, match="there is no option 'schedul'"):
        fa4.compile(spec_of(), options="schedul=lpt", verify=False)
    with pytest.raises(fa4.CompileError, match="chip|sm_12"):
        fa4.compile(spec_of(), "sm_12", verify=False)
    with pytest.raises(TypeError, match="op is a spec"):
        fa4.compile(None)


def test_kernels_of_mlir_text(rng):
    """A kernel is compiled from MLIR text: its results must be those of the spec's reference."""
    text = spec_of().text
    made = fa4.compile(text, verify=False)
    arrays = draw(rng)
    assert error_of(made.simulate(**arrays).out, spec_of().reference(**arrays).out) < 2e-2


def test_findings_are_errors(rng):
    """A kernel without its fences is given: the checks must find it, and the package raise an error."""
    made = fa4.compile(spec_of(), verify=False)
    lines = [line for line in made.ptx.splitlines() if "fence.proxy.async" not in line and "fence::" not in line]
    made.modules[next(iter(made.modules))] = "\n".join(lines)
    with pytest.raises(fa4.SimulationError):
        made.simulate(**draw(rng), check=True)


# ---------------------------------------------------------------------------
# Cache
# ---------------------------------------------------------------------------


def no_compiler(*_, **__):
    raise AssertionError("compiled, and not taken from the cache")


def files():
    return [path for path, _ in cache.entries()]


@own_cache
def test_a_hit_needs_no_compiler(monkeypatch):
    """A kernel is in the cache: a compilation of the same op must take it from there."""
    made = fa4.compile(spec_of(), verify=False)
    assert len(files()) == 1
    monkeypatch.setattr(_library, "compile_text", no_compiler)
    assert fa4.compile(spec_of(), verify=False).ptx == made.ptx
    # Numbers and names of sizes are no part of the kernel, and so none of the key.
    assert fa4.compile(fa4.sdpa(q="4 512 8 32", k="4 1024 2 32"), verify=False).ptx == made.ptx


@own_cache
@pytest.mark.parametrize(
    "other",
    [
        lambda: fa4.compile(spec_of(), verify=False, options="schedule=lpt"),
        lambda: fa4.compile(spec_of(), "sm_103a", verify=False),
        lambda: fa4.compile(spec_of(mask="causal"), verify=False),
        lambda: fa4.compile(spec_of(score_mod=lambda s, b, h, i, j: s + 1), verify=False),
    ],
)
def test_other_ops_options_and_targets_are_other_entries(other):
    """Another op, option or chip is compiled: the cache must have a second entry."""
    fa4.compile(spec_of(), verify=False)
    other()
    assert len(files()) == 2


@own_cache
def test_another_build_of_the_library_is_another_entry(monkeypatch):
    """The library is another build: the cache must have a second entry."""
    fa4.compile(spec_of(), verify=False)
    monkeypatch.setattr(cache, "build_of", lambda path: "another")
    fa4.compile(spec_of(), verify=False)
    assert len(files()) == 2


def test_the_build_of_a_library_is_its_build_id(tmp_path):
    """The build of a library must be its build ID, or the size and time of a file without one."""
    build = cache.build_of(_library.find())
    assert len(build) == 40 and int(build, 16)
    other = tmp_path / "lib.so"
    other.write_bytes(b"no ELF file")
    assert cache.build_of(other).startswith("11-")


@own_cache
@pytest.mark.parametrize("damage", [lambda d: d[:-1], lambda d: b"", lambda d: d[:200] + b"?" + d[201:], lambda d: b"x" * 500])
def test_broken_entries_are_compiled_anew(damage):
    """An entry of the cache is damaged: a warning must say so, and the kernel be compiled and stored anew."""
    made = fa4.compile(spec_of(), verify=False)
    (path,) = files()
    path.write_bytes(damage(path.read_bytes()))
    with pytest.warns(fa4.CacheWarning, match="is broken .*; the kernel is compiled anew"):
        assert fa4.compile(spec_of(), verify=False).ptx == made.ptx
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fa4.compile(spec_of(), verify=False)


@own_cache
def test_a_cache_that_cannot_be_used_is_a_warning(tmp_path, monkeypatch):
    """The cache cannot be written or read: a warning must say so, and the compilation succeed."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FA4_CACHE_DIR", str(tmp_path / "file"))
    with pytest.warns(fa4.CacheWarning, match="cannot be written"):
        fa4.compile(spec_of(), verify=False)
    monkeypatch.setenv("FA4_CACHE_DIR", str(tmp_path / "cache"))
    key = "ab" + "0" * 62
    cache.path_of(key).mkdir(parents=True)
    with pytest.warns(fa4.CacheWarning, match="cannot be read"):
        assert cache.load(key) is None


@own_cache
def test_the_cache_can_be_off(monkeypatch):
    """The cache is switched off by argument or variable: no file may be written."""
    fa4.compile(spec_of(), verify=False, cache=False)
    monkeypatch.setenv("FA4_CACHE", "0")
    fa4.compile(spec_of(), verify=False)
    assert files() == []


def test_the_folder_of_the_cache(monkeypatch, tmp_path):
    """The cache must be in XDG_CACHE_HOME, or in ~/.cache where that is no absolute path."""
    monkeypatch.delenv("FA4_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "fa4"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache.folder() == Path.home() / ".cache" / "fa4"


def run_four_times(code):
    """In processes at the same time, whose argument is their number."""
    running = [subprocess.Popen([sys.executable, "-c", code, str(i)], cwd=PACKAGE.parent) for i in range(4)]
    assert [process.wait() for process in running] == [0] * 4


@own_cache
def test_writers_and_readers_at_the_same_time():
    """Processes write, read and clear the same entry; a reader finds nothing or all of it."""
    code = (
        "import sys, warnings; warnings.simplefilter('error'); from fa4 import cache\n"
        "entry = cache.Entry({'a': bytes([int(sys.argv[1])]) * 200000})\n"
        "for i in range(24):\n"
        "    cache.store('cd' * 32, entry)\n"
        "    found = cache.load('cd' * 32)\n"
        "    assert found is None or len(set(found.files['a'])) == 1 and len(found.files['a']) == 200000\n"
        "    if i % 8 == 5: cache.clear()\n"
    )
    run_four_times(code)
    assert not list(cache.folder().glob("??/.new-*"))


@own_cache
def test_entries_make_place_that_were_not_used_for_the_longest_time(monkeypatch):
    """The cache is full: entries that have not been used for the longest time must be removed."""
    entry = cache.Entry({"a": bytes(100_000)})
    keys = [f"{i:02x}" + "0" * 62 for i in range(5)]
    monkeypatch.setenv("FA4_CACHE_SIZE", "450KB")
    for key in keys[:4]:
        cache.store(key, entry)
    assert cache.load(keys[0])  # Used again: the second one is next.
    cache.store(keys[4], entry)
    assert {path.parent.name for path in files()} == {"00", "02", "03", "04"}
    # One that is larger than the limit by itself stays until the next one.
    monkeypatch.setenv("FA4_CACHE_SIZE", "1K")
    cache.store(keys[1], entry)
    assert [path.parent.name for path in files()] == ["01"]
    monkeypatch.setenv("FA4_CACHE_SIZE", "0")
    for key in keys:
        cache.store(key, entry)
    assert len(files()) == 5
    monkeypatch.setenv("FA4_CACHE_SIZE", "much")
    with pytest.warns(fa4.CacheWarning, match="FA4_CACHE_SIZE: 'much' is no size, as 200MB or 1.5GB are; the limit is 1000 MB"):
        assert cache.limit() == 10**9


@own_cache
def test_processes_make_place_at_the_same_time(monkeypatch):
    """Processes store and load entries of their own and common ones at the same time, under a limit that a few entries
    reach."""
    monkeypatch.setenv("FA4_CACHE_SIZE", "300KB")
    code = (
        "import sys, warnings; warnings.simplefilter('error'); from fa4 import cache\n"
        "for i in range(30):\n"
        "    for key in (f'{i:02x}' + sys.argv[1] * 62, f'{i % 7:02x}' + 'f' * 62):\n"
        "        cache.store(key, cache.Entry({'a': key[:1].encode() * 50000}))\n"
        "        found = cache.load(key)\n"
        "        assert found is None or found.files['a'] == key[:1].encode() * 50000\n"
    )
    run_four_times(code)
    # Each may have kept the one that it has just stored.
    assert sum(status.st_size for _, status in cache.entries()) <= 300_000 + 4 * 51_000
    assert not list(cache.folder().glob("??/.new-*"))


@own_cache
def test_threads_compile_at_the_same_time():
    """Three threads compile one op at once: all must get the same PTX."""
    made = []
    threads = [threading.Thread(target=lambda: made.append(fa4.compile(spec_of(), verify=False).ptx)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 3 and len(set(made)) == 1


def run_command(*arguments):
    done = subprocess.run([sys.executable, "-m", "fa4", *arguments], capture_output=True, text=True, cwd=PACKAGE.parent)
    assert done.returncode == 0, done.stderr
    return done.stdout


@own_cache
def test_cache_command():
    """fa4 cache must list, trim and clear entries, and show broken ones."""
    fa4.compile(spec_of(), verify=False)
    (path,) = files()
    assert re.search(r": 1 entries, 0\.\d MB of 1000\.0 MB\n", run_command("cache"))
    assert "0 entries removed" in run_command("cache", "trim", "--size=1M")
    assert "sm_100a  ptx  sdpa_kernel.json sdpa_kernel.ptx" in run_command("cache", "list")
    path.write_bytes(b"")
    assert "broken: " in run_command("cache", "list")
    assert "0 entries removed" in run_command("cache", "clear", "--older=1")
    assert "1 entries removed" in run_command("cache", "clear")
    assert files() == []


# ---------------------------------------------------------------------------
# The library
# ---------------------------------------------------------------------------


def test_libraries_that_cannot_be_loaded(monkeypatch, tmp_path):
    """FA4_LIBRARY names no file, or no library: LibraryNotFoundError must say which."""
    monkeypatch.setenv("FA4_LIBRARY", str(tmp_path / "none.so"))
    with pytest.raises(fa4.LibraryNotFoundError, match="FA4_LIBRARY is .*, which is no file"):
        fa4.compile(spec_of(), verify=False)
    (tmp_path / "none.so").write_bytes(b"text")
    with pytest.raises(fa4.LibraryNotFoundError, match="cannot be loaded"):
        fa4.compile(spec_of(), verify=False)


def test_version_command():
    """fa4 version must print the version of LLVM."""
    assert "LLVM 22" in run_command("version")
