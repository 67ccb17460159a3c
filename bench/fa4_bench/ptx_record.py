# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A record of the PTX that the compiler writes, for changes that must not alter a kernel.

    bench/ptx-record write before.json     # with the build before the change
    bench/ptx-record check before.json     # with the build after it

The record holds, for each kernel of the tests and for the first programs of one seed of
random programs, a digest of each file that fa4-compile writes, or of its message where it
refuses the program. `check` names each kernel whose files differ, and exits with status 1."""

import argparse
import concurrent.futures
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from fa4_testing import gpu, passes
from fa4_testing.programs import random_programs
from fa4.tools import missing_tool

SEED = 36
# Numbers of random programs of each kind: forward, forward on pairs, gradients.
RANDOM = {"random": {}, "random-pairs": {"pairs": True}, "random-gradient": {"gradient": True}}


def texts(count: int) -> dict[str, tuple[str, tuple[str, ...]]]:
    """name -> (text of a module, options of fa4-compile)."""
    found = {}
    for kernel in passes.kernels():
        start = () if kernel.start == "op" else (f"--from={kernel.start}",)
        found[kernel.name] = kernel.text, (f"--chip={kernel.chip}", *start, *kernel.options)
    for path in sorted((gpu.ROOT / "docs/examples").glob("*.mlir")):
        found[path.name] = path.read_text(), ()
    for kind, which in RANDOM.items():
        for number in range(count):
            program, _ = random_programs.make(SEED, number, **which)
            found[f"{kind} {number}"] = program.mlir(), (f"--chip={program.chip}", *program.options)
    return found


def digests(text: str, options: tuple[str, ...]) -> dict[str, str]:
    """File name -> digest of its bytes; only "refused" -> digest of the message if there are none."""
    with tempfile.TemporaryDirectory(prefix="fa4-") as scratch:
        source, out = Path(scratch, "op.mlir"), Path(scratch, "out")
        source.write_text(text)
        command = [gpu.find_tool("fa4-compile"), "op.mlir", "-o", "out", "--verify-ptx=false", *options]
        done = subprocess.run(command, capture_output=True, text=True, cwd=scratch)
        if done.returncode:
            return {"refused": hashlib.sha256(done.stderr.encode()).hexdigest()[:16]}
        return {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:16]
            for path in sorted(out.iterdir())
            if path.suffix in (".ptx", ".json")
        }


def record(count: int, only: str) -> dict[str, dict[str, str]]:
    named = {name: work for name, work in texts(count).items() if only in name}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(named, pool.map(lambda work: digests(*work), named.values())))


def compare(before: dict, after: dict) -> list[str]:
    """Says of each kernel of both records what differs."""
    lines = []
    for name in before.keys() & after.keys():
        old, new = before[name], after[name]
        differing = sorted(file for file in old.keys() | new.keys() if old.get(file) != new.get(file))
        if differing:
            lines.append(f"{name}: {', '.join(differing)}")
    return sorted(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="ptx-record", description=__doc__.split("\n\n")[0])
    parser.add_argument("action", choices=("write", "check"))
    parser.add_argument("file", type=Path, help="the record")
    parser.add_argument("--random", type=int, default=100, metavar="N", help="random programs of each kind (default: 100)")
    parser.add_argument("--only", default="", metavar="TEXT", help="kernels whose names contain the text")
    options = parser.parse_args()
    if missing := missing_tool("fa4-compile"):
        print(f"ptx-record: {missing}", file=sys.stderr)
        return 2
    made = record(options.random, options.only)
    if options.action == "write":
        options.file.write_text(json.dumps(made, indent=0) + "\n")
        print(f"{len(made)} kernels recorded")
        return 0
    try:
        before = json.loads(options.file.read_text())
    except (OSError, ValueError) as error:
        print(f"ptx-record: {options.file}: {error}", file=sys.stderr)
        return 2
    lines = compare(before, made)
    print(*lines, f"{len(before.keys() & made.keys())} kernels compared, {len(lines)} differ", sep="\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
