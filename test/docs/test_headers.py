# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each installed header compiles by itself: those of C as C. A run tries those that
register everything, and some others; FA4_MANY=1 tries all."""

import subprocess

import fa4docs
import pytest

INCLUDE = fa4docs.ROOT / "include"
BUILD = fa4docs.FA4_OPT.parents[1]
HEADERS = sorted(str(path.relative_to(INCLUDE)) for path in INCLUDE.rglob("*.h"))
ALWAYS = [header for header in HEADERS if header.startswith(("fa4/InitAll", "fa4-c/", "fa4-runtime/"))]
OTHERS = [header for header in HEADERS if header not in ALWAYS]


@pytest.mark.parametrize("header", ALWAYS)
def test_headers_that_register_all_compile_alone(header):
    """A header that registers everything must compile by itself."""
    compile_alone(header)


@pytest.mark.turns(30)
@pytest.mark.parametrize("header", OTHERS)
def test_headers_compile_alone(header):
    """A header must compile by itself."""
    compile_alone(header)


def compile_alone(header):
    form = ("c", "-std=c11") if header.startswith(("fa4-c/", "fa4-runtime/")) else ("c++", "-std=c++17")
    done = subprocess.run(
        ["clang++-22", "-x", *form, "-fsyntax-only", "-Wall", "-Werror"]
        + [f"-I{INCLUDE}", f"-I{BUILD}/include", f"-isystem{fa4docs.LLVM_BIN.parent}/include", "-"],
        input=f'#include "{header}"\n',
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
