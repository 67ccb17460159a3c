# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of numpy that calls take and give: their element types, numbers, and results by their names."""

import functools
import math
import sys

# Names of element types in manifests (docs/simulator-manifest.md), as numpy or ml_dtypes has them.
ELEMENT_TYPES = {
    "bool": "bool", "i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32",
    "i64": "int64", "u64": "uint64", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", "f16": "float16", "bf16": "bfloat16",
    "f32": "float32", "f64": "float64",
}  # fmt: skip


def numpy_dtype(name: str):
    """The numpy dtype of a name in manifests; bf16 and fp8 are those of ml_dtypes."""
    import numpy as np

    name = ELEMENT_TYPES[name]
    if name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)


@functools.cache
def torch_dtypes() -> dict:
    """The dtypes of torch and their names in manifests, as far as torch, which must be imported, has them."""
    torch = sys.modules["torch"]
    return {getattr(torch, theirs): ours for ours, theirs in ELEMENT_TYPES.items() if hasattr(torch, theirs)}


def as_array(name: str, value):
    """What a call gives for a tensor as a numpy array; tensors of torch that are on the CPU share their memory. Raises TypeError."""
    import numpy as np

    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach()
        if value.device.type != "cpu":
            raise TypeError(f"{name} is an array of numpy or a tensor on the CPU, and its device is {value.device}")
        if value.dtype == torch.bfloat16:
            return value.view(torch.int16).numpy().view(numpy_dtype("bf16"))
        return value.numpy()
    try:
        array = np.asarray(value)
    except Exception as error:
        raise TypeError(f"{name} is an array of numbers, not {type(value).__name__} ({error})") from None
    if array.dtype.kind not in "biufV" or array.dtype.kind == "V" and array.dtype.names:
        raise TypeError(f"{name} is an array of numbers, not {type(value).__name__}")
    return array


def as_number(name: str, value, kind: str | None = None) -> int | float:
    """What a call gives for a size (no `kind`), or for a capture that is a number of type `kind`. Raises TypeError for what is no
    number, SpecError for one that the type does not have."""
    from fa4.spec import SpecError

    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()  # A number of numpy, or a tensor without dimensions.
    if isinstance(value, bool) and kind != "bool" or not isinstance(value, (int, float)):
        raise TypeError(f"{name} is a number, not {type(value).__name__}")
    if kind == "f32":
        return float(value)
    if value != int(value) if math.isfinite(value) else True:
        raise SpecError(f"{name} is a whole number, not {value!r}")
    if kind == "bool" and value not in (0, 1):
        raise SpecError(f"{name} is a condition, not {value!r}")
    if kind == "i32" and not -(2**31) <= value < 2**31:
        raise SpecError(f"{name} is {value}, beyond the range of its type, i32")
    return int(value)


def as_float(array, name: str = "it"):
    """An array of floats that numpy computes with: bfloat16 as float32. Raises TypeError."""
    import numpy as np

    array = as_array(name, array)
    return array if array.dtype in (np.float16, np.float32, np.float64) else array.astype(np.float32)


class Results(dict):
    """Arrays by their names, also as attributes: `results.out` is `results["out"]`."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no result '{name}'; there is: {', '.join(self)}") from None
