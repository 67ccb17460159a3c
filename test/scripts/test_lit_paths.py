# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lit suite in a checkout whose path has spaces, quotes and letters that are
not ASCII: each path in a RUN line stays one word, so that `rm -rf %t` removes
the test's own files and nothing beside the checkout."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LLVM_BIN = Path(os.environ.get("FA4_LLVM_BIN") or "/usr/lib/llvm-22/bin")
LIT = ["/usr/bin/python3", LLVM_BIN / "lit", "-v", "-j1"]

# Each line fails if a path becomes two words, or if quotes of the test itself are
# closed by those that the configuration adds.
FORMS = r"""
DEFINE: %{copy} = cp %s
RUN: rm -rf %t && mkdir %t && cd %t
RUN: cp %s %t/copy && cp "%s" "%t/second copy" && diff %s %t/copy
RUN: cat < %s > %t.redirected && diff %t.redirected "%t/second copy"
RUN: %{words} 3 %t --output=%t/C.npy A=%t,B=%S
RUN: %{words} 1 "--reduce=test=%S/Inputs/words.py x"
RUN: %{words} 1 '%t and %s' && %{words} 2 a\ %t b
RUN: %{words} 2 %% %p/a*.nothing
RUN: sh -c 'test -f "%s" && rm -rf "%t/none"'
RUN: %{copy} %t/third && diff %s %t/third && rm -rf %t %t.redirected
"""

WORDS = """import sys
wanted, *words = sys.argv[1:]
sys.exit(f"{len(words)} words, not {wanted}: {words}" if len(words) != int(wanted) else 0)
"""


def lit_suite(checkout):
    """A checkout with the configuration of the lit suite and one test."""
    test, build = checkout / "test", checkout / "build" / "release" / "test"
    (test / "Inputs").mkdir(parents=True)
    build.mkdir(parents=True)
    for name in ("lit.cfg.py", "quoted_paths.py"):
        shutil.copy(ROOT / "test" / name, test)
    site = (ROOT / "test" / "lit.site.cfg.py.in").read_text()
    for variable, value in {
        "PROJECT_SOURCE_DIR": checkout,
        "PROJECT_BINARY_DIR": build.parent,
        "CMAKE_RUNTIME_OUTPUT_DIRECTORY": build.parent / "bin",
        "FA4_SANITIZE": "",
        "LLVM_LIBRARY_DIR": LLVM_BIN.parent / "lib",
        "LLVM_TOOLS_BINARY_DIR": LLVM_BIN,
    }.items():
        site = site.replace(f"@{variable}@", str(value))
    words = f'"{sys.executable}" "{test}/Inputs/words.py"'
    site += f'\nconfig.substitutions.append(("%{{words}}", {words!r}))\n'
    (build / "lit.site.cfg.py").write_text(site)
    (test / "forms.test").write_text(FORMS.lstrip())
    (test / "Inputs" / "words.py").write_text(WORDS)
    return build


def run_lit(build, locale="C.UTF-8", **variables):
    return subprocess.run(
        [*LIT, build],
        env={**os.environ, "LC_ALL": locale, **variables},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("folder", ["a b/ü", "it's (new) + a&b; [1] #x/c  d", "plain"])
@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_paths_stay_whole(tmp_path, folder, locale):
    """The checkout's path has spaces and quotes: lit's tests must pass and remove no file beside their own."""
    checkout = tmp_path / folder / "fa4"
    build = lit_suite(checkout)
    # What `rm -rf %t` without quotes would remove: each part of the path up to
    # a space, as a file or folder of its own.
    words = str(build).split(" ")
    sentinels = [Path(" ".join(words[:end])) for end in range(1, len(words))]
    sentinels.append(tmp_path / "neighbour")
    for sentinel in sentinels:
        if not sentinel.exists():
            sentinel.mkdir()
        (sentinel / "keep").write_text("not ours")
    result = run_lit(build, locale)
    assert result.returncode == 0, result.stdout + result.stderr
    for sentinel in sentinels:
        assert (sentinel / "keep").read_text() == "not ours", sentinel


def test_a_shell_in_a_shell_needs_quotes(tmp_path):
    """A RUN line has a path without quotes in a shell's command: lit must refuse it and remove nothing."""
    build = lit_suite(tmp_path / "a b" / "fa4")
    (tmp_path / "a").mkdir()
    test = tmp_path / "a b" / "fa4" / "test" / "forms.test"
    test.write_text("RUN: sh -c 'rm -rf %t'\n")
    result = run_lit(build)
    assert result.returncode != 0
    assert 'in the command of sh -c, write "%t" with the quotes' in result.stdout
    assert (tmp_path / "a").exists()


@pytest.mark.parametrize("folder", ["a$HOME", "a\\b", "100%t"])
def test_a_path_that_lit_cannot_take_is_refused(tmp_path, folder):
    """The checkout's path has a sign that lit cannot take: lit must refuse to run its tests."""
    build = lit_suite(tmp_path / folder / "fa4")
    result = run_lit(build)
    assert result.returncode != 0
    assert "lit cannot run a test in this folder" in result.stdout


def test_roundtrip(tmp_path):
    """A lit test calls fa4-test-opt: the call must have the option --verify-roundtrip, unless FA4_VERIFY_ROUNDTRIP is
    0."""
    build = lit_suite(tmp_path / "fa4")
    option = "RUN: echo fa4-test-opt | grep -e --verify-roundtrip\n"
    (tmp_path / "fa4" / "test" / "option.test").write_text(option)
    result = run_lit(build)
    assert result.returncode == 0 and "PASS: fa4 :: option.test" in result.stdout, result.stdout
    result = run_lit(build, FA4_VERIFY_ROUNDTRIP="0")
    assert "FAIL: fa4 :: option.test" in result.stdout
