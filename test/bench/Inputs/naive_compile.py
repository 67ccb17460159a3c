# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Takes what fa4-compile takes, for the ops of fa4_testing.gpu, and writes a slow
kernel: the tests of the correctness grid need kernels that are right, and some
that are wrong (NAIVE_MISTAKE names one of naive_attention.c's)."""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path


def manifest(name, head_dim, dtype, layout):
    def shape(tokens, heads):
        sizes = {"b": "B", "s": tokens, "h": heads, "d": head_dim}
        return [sizes[letter] for letter in layout]

    def strides(tokens, heads):
        """Of a token and of a head."""
        if layout == "bshd":
            return f"{heads} * {head_dim}", f"{head_dim}"
        return f"{head_dim}", f"{tokens} * {head_dim}"

    data = {
        n: {"dtype": dtype, "shape": shape(*of), "role": "in"}
        for n, of in (("q", ("Sq", "Hq")), ("k", ("Sk", "Hkv")), ("v", ("Sk", "Hkv")))
    }
    data["out"] = data["q"] | {"role": "out"}
    data["lse"] = {"dtype": "f32", "shape": ["B", "Hq", "Sq"], "role": "out"}
    numbers = ["Sq", "Sk", "Hq", "Hkv", *strides("Sq", "Hq"), *strides("Sk", "Hkv")]
    return {
        "ptx": f"{name}.ptx",
        "sizes": dict.fromkeys(("B", "Sq", "Sk", "Hq", "Hkv")),
        "tensors": data,
        "entry": name,
        "grid": ["ceildiv(Sq, 128)", "Hq", "B"],
        "block": [128],
        "params": [{"tensor": n} for n in data]
        + [{"value": n} for n in numbers]
        + [{"value": head_dim**-0.5, "type": "f32"}],
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("input", type=Path)
    parser.add_argument("--chip", default="sm_100a")
    parser.add_argument("--emit")
    parser.add_argument("--schedule")
    parser.add_argument("-o", type=Path)
    options = parser.parse_args()
    text = options.input.read_text()
    mistake = os.environ.get("NAIVE_MISTAKE", "NO_MISTAKE")
    if mistake == "REFUSE":
        print("op.mlir:4:3: error: no such thing", file=sys.stderr)
        return 1
    name = re.search(r"@(\w+)", text)[1]
    head_dim, dtype = re.search(r"x(\d+)x(b?f16)>", text).groups()
    layout = re.search(r"layout<(\w+)>", text)[1]
    mask = re.search(r"mask<causal, (\w+)>", text)
    causal = {None: 0, "bottom_right": 1, "top_left": 2}[mask and mask[1]]
    llvm = os.environ.get("FA4_LLVM_BIN", "/usr/lib/llvm-22/bin")
    source = Path(__file__).with_name("naive_attention.c")
    # Layouts, schedules and heads have the same code, which is compiled once for all tests of a folder.
    form = f"{options.chip}-{head_dim}-{causal}-{dtype}-{mistake}"
    ptx = Path(os.environ["NAIVE_FOLDER"]) / f"{form}.ptx"
    if not ptx.exists():
        written = ptx.with_suffix(f".{os.getpid()}")
        subprocess.run(
            [f"{llvm}/clang", "--target=nvptx64-nvidia-cuda", f"-march={options.chip}",
             "-nogpulib", "-Xclang", "-target-feature", "-Xclang", "+ptx90",
             "-O2", "-S", source, "-o", written, "-DKERNEL=naive_kernel",
             f"-DHEAD_DIM={head_dim}", f"-DCAUSAL={causal}", f"-DF16={int(dtype == 'f16')}",
             f"-DMISTAKE={mistake}"], check=True,
        )  # fmt: skip
        written.rename(ptx)
    (options.o / f"{name}.ptx").write_text(ptx.read_text().replace("naive_kernel", name))
    text = json.dumps(manifest(name, int(head_dim), dtype, layout), indent=1)
    (options.o / f"{name}.json").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
