# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands that the documentation tells its reader to run: they succeed as they
are written, with what a new user's shell has, and leave files in build/ only."""

import functools
import os
import re
import shlex
import subprocess

import fa4docs
import pytest

from fa4_testing import gpu

ROOT = fa4docs.ROOT
BLOCKS = [
    block
    for page in fa4docs.pages()
    for block in fa4docs.blocks(page)
    if block.language == "sh"
]
PAGES = sorted({block.page for block in BLOCKS if not block.not_run})
TOOL = re.compile(r"(fa4-\w+|\./\S+|bench/\S+|scripts/\S+|build/\S+|cmake|ninja|\S*python3?)\s")


@pytest.fixture
def checkout(tmp_path):
    """The repository with a build folder of its own, in which the build is: what is
    written to the top of the repository appears in this folder alone."""
    root = tmp_path / "fa4"
    (root / "build").mkdir(parents=True)
    (root / "build" / "release").symlink_to(fa4docs.FA4_OPT.parents[1])
    for path in ROOT.iterdir():
        if path.name not in ("build", ".git"):
            (root / path.name).symlink_to(path)
    return root


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_succeed(page, checkout):
    """The commands of a page must succeed one after the other, in a new user's shell, and write to build/ only."""
    before = sorted(checkout.iterdir())
    script = ""
    for block in BLOCKS:
        if block.page != page or block.not_run:
            continue
        if block.with_ptxas and not gpu.find_ptxas():
            continue
        libraries = fa4docs.FA4_OPT.parents[1] / "lib"
        if block.with_library and not any(libraries.glob(f"{block.with_library}*")):
            continue
        script += f"echo '{block}' >&2\n{block.text}"
    result = subprocess.run(
        ["bash", "-euo", "pipefail", "-x", "-c", script],
        cwd=checkout,
        # No tool of the build is in PATH unless the page puts it there.
        # ptxas, which takes longer than all else, is run where the page asks for it.
        env={"PATH": "/usr/bin:/bin", "HOME": str(checkout.parent), "LANG": "C.UTF-8", "FA4_VERIFY_PTX": "0"}
        | {k: v for k, v in os.environ.items() if k in ("FA4_PTXAS", "CUDA_HOME", "FA4_VENV")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr[-4000:]
    assert sorted(checkout.iterdir()) == before, "files outside of build/"


def commands(block):
    """(words) of each command line of a block, without assignments before it."""
    for line in block.text.replace("\\\n", " ").splitlines():
        for part in re.split(r"&&|\|", line):
            words = shlex.split(part, comments=True)
            while words and re.match(r"\w+=", words[0]):
                words.pop(0)
            if words:
                yield words


@functools.cache
def help_of(program):
    return subprocess.run([program, "--help"], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL).stdout


@pytest.mark.parametrize(
    "block", [b for b in BLOCKS if b.not_run and not b.page.is_relative_to(ROOT / "docs" / "reference")], ids=str
)
def test_commands_that_are_not_run_exist(block):
    """A command of a page is not run here: its program must exist, and a script's help must have its options."""
    for words in commands(block):
        program = ROOT / words[0]
        if "/" not in words[0] or words[0].startswith("build/"):
            continue
        assert program.exists(), f"{block}: no {words[0]}"
        if not words[0].startswith(("bench/", "./bench/", "./scripts/")):
            continue
        help_text = help_of(program)
        for option in (word.split("=")[0] for word in words[1:] if word.startswith("--")):
            assert option in help_text, f"{block}: {words[0]} --help has no {option}"


def test_the_two_commands_of_the_readme():
    """The first block of README.md must have the demo and the tests, and nothing else."""
    first = next(block for block in BLOCKS if block.page.name == "README.md")
    assert [words[0] for words in commands(first)] == ["./scripts/demo", "./scripts/test"]


def test_commands_are_recognised():
    """A page has commands in an indented block, or in one without a language: the test must find them, because they
    would not be run."""
    for page in fa4docs.pages():
        for token in fa4docs.parse(page):
            if token.type == "code_block" or token.type == "fence" and not token.info.strip():
                assert not TOOL.match(token.content), (
                    f"{page.relative_to(ROOT)}:{token.map[0] + 1}: commands belong into a ```sh block"
                )
