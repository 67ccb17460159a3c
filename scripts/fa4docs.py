"""The IR in the documentation: finds it, and keeps tool output up to date.

A ```mlir block is a module that fa4-opt accepts. A block under the comment

    <!-- fa4-opt ARGUMENTS -->  (or fa4-compile; `not` before it if it fails)

is instead what this command prints (a shell pipeline, run at the top of the
repository), so that a page shows the IR that the tools produce, whole or cut
with sed. test/docs checks both; scripts/update-docs writes the latter anew.

A ```sh block has commands for the reader, who is at the top of the repository
and has run those above them on the page. test/docs runs them, but for a block
under `<!-- not run: REASON -->`; one under `<!-- run with ptxas -->` where there
is a ptxas, one under `<!-- run with fa4-driver -->`, FA4Plugin or libfa4_runtime where
that library is built.
"""

# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import dataclasses
import functools
import os
import pathlib
import re
import subprocess
import sys

from markdown_it import MarkdownIt

ROOT = pathlib.Path(__file__).resolve().parents[1]
LLVM_BIN = pathlib.Path(os.environ.get("FA4_LLVM_BIN") or "/usr/lib/llvm-22/bin")
FA4_OPT = pathlib.Path(
    os.environ.get("FA4_OPT") or ROOT / "build" / "release" / "bin" / "fa4-opt"
)
NOT_RUN = re.compile(r"<!--\s*not run: (.*?)\s*-->", re.DOTALL)
WITH_PTXAS = re.compile(r"<!--\s*run with ptxas\s*-->")
WITH_LIBRARY = re.compile(r"<!--\s*run with (fa4-driver|FA4Plugin|libfa4_runtime)\s*-->")
COMMAND = re.compile(r"<!--\s*((?:not )?fa4-(?:opt|compile)\s.*?)\s*-->", re.DOTALL)


@dataclasses.dataclass
class Block:
    page: pathlib.Path
    line: int  # of its first line of text, from 1
    language: str
    text: str
    command: str | None = None  # that prints it
    not_run: str | None = None  # why its commands are not run by a test
    with_ptxas: bool = False  # its commands need ptxas
    with_library: str | None = None  # what its commands need in build/release/lib; none is there with sanitizers

    def __str__(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages():
    """Every page of documentation."""
    found = [*ROOT.glob("*.md"), *(ROOT / "bench").rglob("*.md")]
    return sorted(found + list((ROOT / "docs").rglob("*.md")))


@functools.cache
def parse(page):
    """The tokens of a page, which is read once."""
    return MarkdownIt("commonmark").enable("table").parse(page.read_text())


def blocks(page):
    """The fenced blocks of a page."""
    comment = ""
    for token in parse(page):
        if token.type == "fence":
            command, not_run = COMMAND.fullmatch(comment), NOT_RUN.fullmatch(comment)
            yield Block(
                page,
                token.map[0] + 2,
                token.info.strip(),
                token.content,
                command=re.sub(r"\s*\n\s*", " ", command[1]) if command else None,
                not_run=not_run[1] if not_run else None,
                with_ptxas=bool(WITH_PTXAS.fullmatch(comment)),
                with_library=library[1] if (library := WITH_LIBRARY.fullmatch(comment)) else None,
            )
        comment = token.content.strip() if token.type == "html_block" else ""


def output(command):
    """What the command of a block prints; its failure is an error."""
    path = os.pathsep.join([str(FA4_OPT.parent), str(LLVM_BIN), os.environ["PATH"]])
    result = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=ROOT,
        # The pages are the same with and without a ptxas.
        env={**os.environ, "PATH": path, "FA4_VERIFY_PTX": "0"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    if result.returncode != 0:
        raise RuntimeError(
            f"`{command}` ended with status {result.returncode}:\n{result.stderr}"
        )
    # fa4-opt ends a module with an empty line.
    return result.stdout.rstrip("\n") + "\n"


def update(page):
    """Writes each command's output into its block; True if that changed any."""
    lines = page.read_text().splitlines(keepends=True)
    before = list(lines)
    for block in reversed(list(blocks(page))):
        if block.command:
            first = block.line - 1
            last = first + len(block.text.splitlines())
            lines[first:last] = output(block.command).splitlines(keepends=True)
    if lines != before:
        page.write_text("".join(lines))
    return lines != before


if __name__ == "__main__":
    for changed in filter(update, pages()):
        print(f"updated {changed.relative_to(ROOT)}")
    sys.exit()
