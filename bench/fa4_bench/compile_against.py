# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The time from an op to PTX of two builds of fa4-compile, in one run.

    bench/compile-time --against ../old/build/release/bin/fa4-compile

The builds take turns, so that both see what else the machine does, and the
least of many times counts, because other work can only add to a time. Where
valgrind is installed, the instructions that a process executes are counted,
too: of one build they are the same up to a few thousand in each run."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fa4_testing import gpu
from fa4_testing.cpu import ToolNotFoundError


@dataclass(frozen=True)
class Times:
    """Seconds of one run: of the processor, in the process and in the kernel for it,
    and of the clock on the wall."""

    user: float
    system: float
    wall: float

    @property
    def processor(self) -> float:
        return self.user + self.system


FIGURES: dict[str, Callable[[Times], float]] = {
    "user": lambda times: times.user,
    "user + system": lambda times: times.processor,
    "wall": lambda times: times.wall,
}


def command(tool: str, source: Path, folder: str) -> list[str]:
    """From the op to PTX. ptxas takes longer than the rest, and is no part of a build."""
    return [tool, str(source), "-o", folder, "--verify-ptx=false"]


def measure(words: list[str]) -> Times:
    """Exits with what the tool says if it does not compile."""
    begin = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(words, stdout=said, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        end = time.perf_counter()
        if process.returncode:
            said.seek(0)
            sys.exit(f"compile-time: {words[0]}: {said.read(2000).decode(errors='replace')}")
    return Times(usage.ru_utime, usage.ru_stime, end - begin)


def take_turns(tools: list[str], source: Path, runs: int) -> list[list[Times]]:
    """The times of each tool. The first run of each warms the caches and is left out."""
    times: list[list[Times]] = [[] for _ in tools]
    with tempfile.TemporaryDirectory(prefix="fa4-") as folder:
        for run in range(runs + 1):
            for tool, of_tool in zip(tools, times):
                measured = measure(command(tool, source, folder))
                if run:
                    of_tool.append(measured)
    return times


def count_instructions(tool: str, source: Path) -> int | None:
    """Instructions of a run under valgrind; None where there is none."""
    if not shutil.which("valgrind"):
        return None
    with tempfile.TemporaryDirectory(prefix="fa4-") as folder:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command(tool, source, folder)],
            capture_output=True,
            text=True,
        )
    found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    return int(found[1].replace(",", "")) if found else None


def main() -> int:
    parser = argparse.ArgumentParser(prog="compile-time --against", description=__doc__.split("\n\n")[0])
    parser.add_argument("other", metavar="FA4-COMPILE", help="the other build's fa4-compile")
    parser.add_argument("--input", type=Path, default=gpu.ROOT / "docs/examples/causal_gqa.mlir", help="an op")
    parser.add_argument("--runs", type=int, default=40, help="of each build (default: 40)")
    parser.add_argument("--at-most", type=float, metavar="RATIO", help="exit status 1 if user + system takes more")
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs must be at least 1")
    try:
        tools = [options.other, gpu.find_tool("fa4-compile")]
    except ToolNotFoundError as error:
        sys.exit(f"compile-time: {error}")
    if not shutil.which(options.other):
        sys.exit(f"compile-time: {options.other} is no program")
    other, this = take_turns(tools, options.input, options.runs)
    print(f"{options.input.name}, least of {options.runs} runs each, which took turns\n")
    print(f"{'':24}{'other':>10}{'this':>10}{'ratio':>8}")
    for name, figure in FIGURES.items():
        before, after = min(map(figure, other)), min(map(figure, this))
        print(f"{name + ', ms':24}{1e3 * before:10.1f}{1e3 * after:10.1f}{after / before:8.3f}")
    counts = [count_instructions(tool, options.input) for tool in tools]
    if None not in counts:
        print(f"{'instructions, millions':24}{counts[0] / 1e6:10.1f}{counts[1] / 1e6:10.1f}{counts[1] / counts[0]:8.3f}")
    ratio = min(times.processor for times in this) / min(times.processor for times in other)
    return 1 if options.at_most is not None and ratio > options.at_most else 0


if __name__ == "__main__":
    sys.exit(main())
