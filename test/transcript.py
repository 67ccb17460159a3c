# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the commands of a transcript, and compares what they print with what the transcript says.

A lit test that tries many calls of a tool is a transcript, which its RUN line hands to this program as %commands:

    # Each bad input of fa4-sim gets one message and exit status 2.
    # RUN: rm -rf %t && split-file %s %t && cd %t && %commands %s

    $ fa4-sim k.json --seed x
    fa4-sim: error: --seed needs a number, not 'x'
    [2]

A paragraph whose first line begins with `$ ` has commands; any other paragraph is prose. bash runs a command in the current
folder; $S is the folder of the test. A command that ends with a backslash goes on in the next line. Below it stand all lines
that it prints, to standard output and standard error, and its exit status in brackets unless that is 0. `...` stands for any
number of lines, and {{expression}} for what a regular expression matches within a line, as in FileCheck; what a group
with a name has matched, {{(?P<n>[0-9]+)}}, is {{(?P=n)}} in lines of the same command. Each line may stand behind //
or #. What follows a line of split-file, `#--- NAME`, is no part of the transcript. fa4-opt gets --verify-roundtrip, as
in RUN lines, unless FA4_VERIFY_ROUNDTRIP is 0.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

# A function of bash for each tool that gets the option, where the command does not give it.
ROUNDTRIP = """{0}() {{
  case " $* " in *--verify-roundtrip*) command {0} "$@" ;; *) command {0} --verify-roundtrip "$@" ;; esac
}}
"""
CHECKS_ROUNDTRIP = os.environ.get("FA4_VERIFY_ROUNDTRIP", "1") != "0"
PROLOGUE = "".join(ROUNDTRIP.format(tool) for tool in ("fa4-opt", "fa4-test-opt")) if CHECKS_ROUNDTRIP else ""


@dataclass
class Step:
    """A command, the lines that it prints, and its exit status."""

    number: int  # of its line in the file, from 1
    command: str
    lines: list = field(default_factory=list)
    status: int = 0


def steps_of(text):
    """The steps of a transcript."""
    steps, in_paragraph, goes_on = [], False, False
    for number, line in enumerate(re.split(r"(?m)^(?:#|//)---", text)[0].splitlines(), 1):
        line = re.sub(r"^(?://|#)(?: |$)", "", line)
        if goes_on:
            steps[-1].command += "\n" + line
        elif line.startswith("$ "):
            steps.append(Step(number, line[2:]))
            in_paragraph = True
        elif not line.strip():
            in_paragraph = False
        elif in_paragraph and re.fullmatch(r"\[\d+\]", line):
            steps[-1].status = int(line[1:-1])
        elif in_paragraph:
            steps[-1].lines.append(line)
        goes_on = in_paragraph and steps[-1].command.endswith("\\")
    return steps


def expression_of(lines):
    """A regular expression for the lines of a step.

    >>> bool(expression_of(["a{{b+}} (c)", "...", "z"]).fullmatch("abb (c)\\nx\\ny\\nz\\n"))
    True
    >>> bool(expression_of(["..."]).fullmatch(""))
    True
    >>> [bool(expression_of(["{{(?P<n>[0-9]+)}} of {{(?P=n)}}"]).fullmatch(text)) for text in ("12 of 12\\n", "12 of 13\\n")]
    [True, False]
    """
    parts = []
    for line in lines:
        if line == "...":
            parts.append(r"(?:.*\n)*?")
        else:
            texts = re.split(r"\{\{(.*?)\}\}", line)
            parts.append("".join(f"(?:{text})" if i % 2 else re.escape(text) for i, text in enumerate(texts)) + r"\n")
    return re.compile("".join(parts))


def run(step, folder):
    """What is wrong with a step; an empty text if nothing is."""
    done = subprocess.run(
        ["bash", "-c", PROLOGUE + step.command], env={**os.environ, "S": str(folder)}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
    )  # fmt: skip
    said = done.stdout if done.stdout.endswith("\n") or not done.stdout else done.stdout + "\n"
    wrong = ""
    if not expression_of(step.lines).fullmatch(said):
        expected = "".join(f"    {line}\n" for line in step.lines) or "    nothing\n"
        wrong += f"  expected\n{expected}  and it printed\n" + ("".join(f"    {line}\n" for line in said.splitlines()) or "    nothing\n")
    if done.returncode != step.status:
        wrong += f"  expected exit status {step.status}, and it was {done.returncode}\n"
    return wrong


def main(path):
    path = Path(path)
    steps = steps_of(path.read_text())
    if not steps:
        print(f"{path}: no line begins with '$ '")
        return 1
    failed = 0
    for step in steps:
        if wrong := run(step, path.resolve().parent):
            failed = 1
            print(f"{path}:{step.number}: $ {step.command}\n{wrong}", end="")
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
