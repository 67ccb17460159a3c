# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels of fa4 that bench/hopper measures: their ops, compiled to folders that a machine with a card can take.

A folder of kernels has a folder for each *variant* (a set of the compiler's options; that named `default` is what the compiler
chooses), and in that one for each form with PTX, cubin and manifest: `default/fwd-hd128-causal`. A form with a length,
`n176/fwd-hd128-full-16k`, is for the row of that length alone."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fa4
from fa4 import math, tools
from fa4_bench.hopper.rows import CAP, DOCUMENT, PREFIX, REACH, WINDOW


def _documents(b, h, i, j):
    return i // DOCUMENT == j // DOCUMENT


def _prefix(b, h, i, j):
    return (j <= i) | (j < PREFIX)


def _alibi(s, b, h, i, j):
    return s - math.exp2(-1.0 * (h // 2 + 1)) * math.abs(i - j)


def _softcap(s, b, h, i, j):
    return CAP * math.tanh(s / CAP)


def _relative(s, b, h, i, j):
    return s + 0.01 * math.minimum(math.maximum(j - i, -REACH), REACH)


def _of_one_document(b, h, i, j, document):
    return document[i] == document[j]


def _bias(s, b, h, i, j, bias):
    return s + bias[h, i, j]


def _key_bias(s, b, h, i, j, bias):
    return s + bias[j]


def _buckets(s, b, h, i, j, table):
    return s + table[h, math.minimum(math.maximum(j - i + REACH, 0), 2 * REACH - 1)]


CLAUSES = {
    "full": {},
    "causal": {"mask": "causal"},
    "causal-top-left": {"mask": "causal_top_left"},
    "window": {"mask": fa4.Mask(left=WINDOW - 1, right=0)},
    "documents": {"mask_mod": _documents},
    "prefix": {"mask_mod": _prefix},
    "alibi": {"score_mod": _alibi},
    "alibi-causal": {"score_mod": _alibi, "mask": "causal_top_left"},
    "softcap": {"score_mod": _softcap},
    "relative": {"score_mod": _relative},
    "documents-table": {"mask_mod": _of_one_document, "captures": {"document": "i32 Positions"}},
    "bias": {"score_mod": _bias, "captures": {"bias": "bf16 Heads Queries Keys"}},
    "key-bias": {"score_mod": _key_bias, "captures": {"bias": "f32 Keys"}},
    "buckets": {"score_mod": _buckets, "captures": {"table": "f32 Heads Buckets"}},
}


def spec(form):
    """The op of a form, with the LSE."""
    sizes = [{"b": "B", "s": tokens, "h": heads, "d": dim}
             for tokens, heads, dim in (("Sq", "Hq", form.head_dim), ("Sk", "Hkv", form.head_dim), ("Sk", "Hkv", form.value_dim or form.head_dim))]
    shapes = [[size[letter] for letter in form.layout] for size in sizes]
    clauses = dict(dtype=form.dtype, layout=form.layout, **CLAUSES[form.kind])
    if form.is_backward:
        return fa4.sdpa_backward(*shapes, deterministic=form.deterministic, **clauses)
    return fa4.sdpa(*shapes, lse=True, **clauses)


def compile_op(text, folder: Path, options=()):
    """Writes an op's kernels for sm_90a into a folder; returns the compiler's message, empty where all is well."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    source = folder / "op.mlir"
    source.write_text(text)
    command = [tools.find_tool("fa4-compile"), source, "--chip=sm_90a", "--emit=ptx,cubin", *options, "-o", folder]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        source.unlink()
        folder.rmdir()
        return done.stderr.strip() or f"exit status {done.returncode}"
    return ""


def compile_all(forms, folder: Path, variant, options, jobs):
    """Compiles forms, several at a time; returns {name: message} of those that the compiler refuses."""
    with ThreadPoolExecutor(jobs) as pool:
        said = pool.map(lambda form: compile_op(spec(form).text, folder / variant / form.name, options), forms)
    return {form.name: message for form, message in zip(forms, said, strict=True) if message}
