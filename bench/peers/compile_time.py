# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Table of compile-time, which starts this.

Ours is the time of the whole process fa4-compile, from its start to its end.
FlashAttention-4's is its compilation alone, in a process that has imported
everything already (the import is printed beside); it ends with a cubin."""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fa4_testing import gpu
from fa4_testing.cpu import ToolNotFoundError
from fa4_testing.programs.gradient import Gradient

KERNELS = ("hd64-full", "hd64-causal", "hd128-full", "hd128-causal")
# Times faster than FlashAttention-4.
BARS = {"ptx": 10.0, "cubin": 3.0}
# Seconds for the three kernels of a gradient.
GRADIENT_BARS = {"ptx": 0.4, "cubin": 1.5}


def measure_fa4(options, kernels, folder):
    script = os.path.dirname(os.path.realpath(__file__)) + "/compile_fa4.py"
    done = subprocess.run([options.fa4_python, script, folder, str(options.fa4_repeat), *kernels],
                          env=dict(os.environ, LD_LIBRARY_PATH=options.library_path), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"compile-time: FlashAttention-4 did not compile:\n{done.stderr[-2000:]}")
    return json.loads(Path(folder, "times.json").read_text())


class Ours:
    def __init__(self, tool, options, kernel, folder):
        direction, head_dim, mask = re.fullmatch(r"(bwd-)?hd(\d+)-(full|causal)", kernel).groups()
        self.kernel, self.options, self.count = kernel, options, 3 if direction else 1
        self.source = Path(folder, f"{kernel}.mlir")
        if direction:
            op = Gradient(head_dim=int(head_dim), mask=gpu.MASKS[mask], static=frozenset())
        else:
            op = gpu.Op(head_dim=int(head_dim), mask=mask)
        self.source.write_text(op.mlir())
        self.command = [tool, self.source, f"--chip={options.chip}", f"--ptxas={options.ptxas}", *options.options]

    def run(self, kind, *more):
        with tempfile.TemporaryDirectory(prefix="fa4-") as out:
            started = time.perf_counter()
            # What becomes PTX is timed without ptxas, which fa4-compile would run on it, too.
            unchecked = ["--verify-ptx=false"] if kind == "ptx" else []
            done = subprocess.run([*self.command, f"--emit={kind}", "-o", out, *unchecked, *more], capture_output=True, text=True)
            seconds = time.perf_counter() - started
            if done.returncode:
                sys.exit(f"compile-time: {self.kernel}: {done.stderr[-2000:]}")
            if (written := sum(file.endswith("." + kind) for file in os.listdir(out))) != self.count:
                sys.exit(f"compile-time: {self.kernel}: fa4-compile wrote {written} files {kind}, and not {self.count}")
        return seconds, done.stderr

    def measure(self, kind, count):
        self.run(kind)  # The files are in memory from here on.
        return [self.run(kind)[0] for _ in range(count)]

    def phases(self):
        return self.run("cubin", "--mlir-timing", "--mlir-timing-display=list")[1]


def main():
    parser = argparse.ArgumentParser(prog="compile-time", description=__doc__.split("\n\n")[0])
    parser.add_argument("--fa4-python", required=True)
    parser.add_argument("--library-path", required=True)
    parser.add_argument("--ptxas", required=True)
    parser.add_argument("--chip", default="sm_100a")
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--fa4-repeat", type=int, default=3)
    parser.add_argument("--kernel", action="append", choices=KERNELS)
    parser.add_argument("--gradient", action="store_true")
    parser.add_argument("--phases", action="store_true")
    parser.add_argument("--options", nargs=argparse.REMAINDER, default=[])
    options = parser.parse_args()
    kernels = [f"{'bwd-' * options.gradient}{kernel}" for kernel in options.kernel or KERNELS]
    try:
        tool = gpu.find_tool("fa4-compile")
    except ToolNotFoundError as error:
        sys.exit(f"compile-time: {error}")
    good = True
    with tempfile.TemporaryDirectory(prefix="fa4-") as folder:
        runs = [Ours(tool, options, kernel, folder) for kernel in kernels]
        # Half of ours before FlashAttention-4's and half behind, as the machine may have other work at times.
        count = -(-options.repeat // 2)
        times = [{kind: measured.measure(kind, count) for kind in BARS} for measured in runs]
        fa4 = measure_fa4(options, kernels, folder)
        for measured, mine in zip(runs, times):
            for kind in BARS:
                mine[kind] += measured.measure(kind, options.repeat - count)
        print(f"seconds, median of {options.repeat} and {options.fa4_repeat} runs (least to most); "
              f"{os.cpu_count()} processors; FlashAttention-4's import: {fa4['import']:.2f}\n")
        print(f"{'kernel':14} {'FA4':>22}  {'':5} {'ours':>24} {'times faster':>13} {'bar':>5}"
              f"  {'(least)':>8}")
        for kernel, mine in zip(kernels, times):
            for kind, bar in BARS.items():
                ratio = statistics.median(fa4[kernel]) / statistics.median(mine[kind])
                # Where the machine has other work, the least of each says more.
                least = min(fa4[kernel]) / min(mine[kind])
                is_met = ratio >= bar
                if options.gradient:
                    bar = GRADIENT_BARS[kind]
                    is_met = statistics.median(mine[kind]) <= bar
                good &= is_met
                print(f"{kernel:15} {spread(fa4[kernel]):>21}  {kind:5} {spread(mine[kind]):>24} {ratio:13.1f} "
                      f"{f'{bar:.1f} s' if options.gradient else f'{bar:.0f}':>5}  {least:8.1f}  {'ok' if is_met else 'MISSED'}")
        if options.phases:
            for measured in runs:
                print(f"\n{measured.kernel}\n{measured.phases()}")
    return 0 if good else 1


def spread(seconds):
    return f"{statistics.median(seconds):.3f} ({min(seconds):.3f}-{max(seconds):.3f})"


if __name__ == "__main__":
    sys.exit(main())
