# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of numpy that calls take and give: their element types, and results by their names."""

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


def as_float(array):
    """An array of floats that numpy computes with: bfloat16 as float32."""
    import numpy as np

    array = np.asarray(array)
    return array if array.dtype in (np.float16, np.float32, np.float64) else array.astype(np.float32)


class Results(dict):
    """Arrays by their names, also as attributes: `results.out` is `results["out"]`."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no result '{name}'; there is: {', '.join(self)}") from None
