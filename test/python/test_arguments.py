# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments of the package that are not what they should be: each is taken for what it means, or ends in a sentence of fa4's own. What a
number cannot be is not rounded or wrapped to what it can."""

import linecache
from pathlib import Path

import numpy as np
import pytest

import fa4
from fa4 import _library

try:
    _library.find()
except fa4.LibraryNotFoundError as missing:
    pytest.skip(f"needs {missing}", allow_module_level=True)

PACKAGE = str(Path(fa4.__file__).parent)
POOL = {
    "None": None, "True": True, "number": 5, "negative": -1, "real": 2.5, "huge": 2**70, "nan": float("nan"), "text": "x", "no text": "",
    "bytes": b"x", "list": [], "list of a number": [1], "list of a list": [[1]], "dict": {}, "dict of numbers": {5: 6}, "dict of None": {"x": None},
    "object": object(), "array": np.zeros(3, np.float32), "array of texts": np.array(["a"]), "array of objects": np.array([None, {}]),
    "no elements": np.zeros((0, 3)), "complex": 2j, "function": lambda: None, "type": int, "exception": ValueError("x"), "set": {1, 2},
    "many dimensions": np.zeros((1,) * 9, np.float32), "whole numbers": np.zeros((1, 8, 2, 32), np.int64), "path": Path("nowhere"),
}  # fmt: skip


def hold(call, also=()):
    """Runs a call that may be refused, by a sentence that fa4 has written. `also` are errors of the caller's own."""
    try:
        call()
    except also:
        return
    except (fa4.Fa4Error, TypeError) as error:
        traceback = error.__traceback__
        while traceback.tb_next:
            traceback = traceback.tb_next
        file, line = traceback.tb_frame.f_code.co_filename, traceback.tb_lineno
        source = linecache.getline(file, line).strip()
        assert file.startswith(PACKAGE) and source.startswith(("raise", "self._check", "_check")), f"{file}:{line}: {source}: {error!r}"
        assert len(str(error).split()) > 3, f"no sentence: {error!r}"


def arrays():
    q = np.ones((1, 8, 2, 32), np.float32)
    return {"q": q, "k": q[:, :, :1], "v": q[:, :, :1]}


@pytest.fixture(scope="module")
def common_cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def use_cache(common_cache, monkeypatch):
    monkeypatch.setenv("FA4_CACHE_DIR", str(common_cache))
    monkeypatch.setenv("FA4_VERIFY_PTX", "0")
    # Kernel.time takes its costs from PTX, because ptxas takes longer than all else.
    monkeypatch.setenv("FA4_NVDISASM", "/nowhere")


def captured(score, b, h, i, j, cap, count, bias):
    return score * cap + count + bias[h]


CAPTURES = {"cap": "f32", "count": "i32", "bias": "f32 H"}


def spec_of(**form):
    return fa4.sdpa(**{"q": "B Sq H 32", "k": "B Sk G 32"} | form)


FORMS = ("q", "k", "v", "dtype", "layout", "mask", "scale", "lse", "score_mod", "mask_mod", "captures", "sinks", "seqlens_k", "name")


@pytest.mark.parametrize("value", POOL.values(), ids=POOL)
@pytest.mark.parametrize("name", FORMS)
def test_specs(name, value):
    """An argument of a spec has any value: the spec must take the value or refuse it with a sentence of fa4's own."""
    hold(lambda: spec_of(**{name: value}).text)
    hold(lambda: fa4.sdpa_backward(**{"q": "B Sq H 32", "k": "B Sk G 32", name: value}).text)


@pytest.mark.parametrize("value", POOL.values(), ids=POOL)
def test_parts_of_specs(value):
    """A size, a bound, a capture or a result of a function has any value: fa4 must take it or refuse it with a
    sentence."""
    hold(lambda: fa4.sdpa_backward(q="B S H 32", k="B S H 32", deterministic=value).text)
    hold(lambda: fa4.sdpa(q=("B", "S", value, 32), k="B S H 32"))
    hold(lambda: fa4.Mask(left=value))
    hold(lambda: fa4.Mask(right=value))
    hold(lambda: fa4.Mask(align=value))
    hold(lambda: spec_of(score_mod=captured, captures={**CAPTURES, "cap": value}).text)
    hold(lambda: spec_of(score_mod=lambda s, b, h, i, j: value).text)
    hold(lambda: spec_of(mask_mod=lambda b, h, i, j: value).text)
    hold(lambda: spec_of(score_mod=lambda s, b, h, i, j: s * value).text)
    hold(lambda: spec_of(score_mod=lambda s, b, h, i, j: value + fa4.math.exp(s)).text)
    hold(lambda: spec_of(score_mod=lambda s, b, h, i, j: fa4.math.where(i > j, s, value)).text)
    hold(lambda: spec_of(score_mod=lambda s, b, h, i, j, bias: s + bias[value], captures={"bias": "f32 H"}).text)


@pytest.mark.parametrize("value", POOL.values(), ids=POOL)
@pytest.mark.parametrize("name", ["op", "chip", "options", "verify", "ptxas", "allow_spills", "cache"])
def test_compile(name, value):
    """An argument of fa4.compile has any value: fa4 must take it or refuse it with a sentence."""
    # What is right is compiled, once.
    if name == "cache" and value is not True:
        hold(lambda: fa4.compile(spec_of(), **{name: 5 if value is None else value}))
    else:
        hold(lambda: fa4.compile(**{"op": spec_of(), "verify": False, name: value}))


@pytest.fixture(scope="module")
def kernel(common_cache):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FA4_CACHE_DIR", str(common_cache))
        return fa4.compile(spec_of(score_mod=captured, captures=CAPTURES), verify=False)


CALL = ("q", "k", "v", "cap", "count", "bias", "H", "Sq", "unknown")


@pytest.mark.parametrize("value", POOL.values(), ids=POOL)
@pytest.mark.parametrize("name", (*CALL, "check", "seed", "threads", "stream"))
def test_calls(kernel, name, value):
    """An argument of a call has any value or is missing: the call must take it or refuse it with a sentence."""
    call = arrays() | {"cap": 1.0, "count": 2, "bias": np.zeros(2, np.float32)}
    if name != "stream":
        hold(lambda: kernel.simulate(**call | {name: value}))
    if name in (*CALL, "stream"):
        hold(lambda: kernel.launch(**call | {name: value}))
    if name in CALL:
        hold(lambda: kernel.spec.reference(**call | {name: value}))
        hold(lambda: kernel.time(**{"B": 1, "H": 2, "G": 1, "Sq": 64, "Sk": 64, "cap": 1.0, "count": 2, name: value}))
        hold(lambda: kernel.prepare(**call | {name: value}))
        hold(lambda: kernel.simulate(**{other: given for other, given in call.items() if other != name}))
        hold(lambda: kernel.spec.reference(**{other: given for other, given in call.items() if other != name}))


@pytest.mark.parametrize("value", POOL.values(), ids=POOL)
def test_rest_of_kernels(kernel, value):
    """The level of Kernel.ir or the argument of a spec's backward has any value: fa4 must take or refuse it with a
    sentence."""
    hold(lambda: kernel.ir(value))
    hold(lambda: kernel.spec.backward(value))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"count": 2.5}, "count is a whole number, not 2.5"),
        ({"count": 2**31}, "beyond the range of its type, i32"),
        ({"count": np.float32(0.5)}, "count is a whole number"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 2**64}, "seed is 18446744073709551616"),
        ({"threads": -1}, "threads is -1"),
        ({"bias": np.zeros(3, np.float32)}, "bias has shape .3,.: dimension 0 is 3, but q has size H = 2"),
        ({"bias": np.zeros(2, np.int32)}, "bias has elements of type int32, not float32"),
        ({"H": 1.5}, "H is a whole number, not 1.5"),
    ],
)
def test_values_that_a_type_does_not_have(kernel, call, message):
    """A call gives a value that its type cannot hold: SpecError must name the argument and the value."""
    with pytest.raises(fa4.SpecError, match=message):
        kernel.simulate(**arrays() | {"cap": 1.0, "count": 2, "bias": np.zeros(2, np.float32)} | call)


def test_captured_tensors_of_another_length_are_named_as_the_caller_does():
    """If a captured tensor has a wrong length, the message names the length as the caller does, where the spec gives
    the size a name."""
    made = fa4.compile(fa4.sdpa(q="B Sq 2 32", k="B Sk 1 32", score_mod=captured, captures={**CAPTURES, "bias": "f32 N"}), verify=False)
    with pytest.raises(fa4.SpecError, match="bias has shape .3,.: dimension 0 is 3, and there are 2 query heads"):
        made.simulate(**arrays(), cap=1.0, count=2, bias=np.zeros(3, np.float32))


def test_numbers_of_numpy_are_numbers(kernel):
    """Sizes, bounds and arguments are numbers of numpy: the results must be those of Python's numbers."""
    spec = fa4.sdpa(q=("B", "Sq", np.int64(2), np.int32(32)), k="B Sk 1 32", mask=fa4.Mask(np.int64(3), np.uint8(1)), scale=np.float32(0.5))
    assert spec.q == ("B", "Sq", 2, 32) and spec.mask == fa4.Mask(3, 1) and spec.scale == 0.5 and "2, 32" not in spec.text
    call = arrays() | {"bias": np.zeros(2, np.float32)}
    first = kernel.simulate(**call, cap=1.0, count=2, seed=3).out
    assert (kernel.simulate(**call, cap=np.float64(1), count=np.int16(2), seed=np.int64(3), H=np.int32(2)).out == first).all()


def test_a_bound_of_minus_one_is_no_mask_without_a_bound():
    """A mask has the bound -1, as other libraries write no bound: SpecError must say to use None."""
    for bounds in ({"left": -1, "right": 5}, {"left": 5, "right": -1}):
        with pytest.raises(fa4.SpecError, match="which other libraries have for no bound: None is that here"):
            fa4.Mask(**bounds)
    assert fa4.Mask(None, -2).text == "window, right = -2, bottom_right"
