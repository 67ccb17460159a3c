# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command of a bench that measures our kernels beside torch's on a Hopper card, a row at a time: bench/varlen and bench/serving.

A bench compiles its kernels on any machine, measures on one with the card, keeps a record, bench/NAME.json, and reports it on a page,
bench/results/NAME.md."""

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fa4 import tools
from fa4_testing import results, revision

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class CardBench:
    name: str
    description: str  # Its first paragraph is the command's, the second one what --help ends with.
    quick: str  # What --quick measures.
    rows: Callable[[bool], Iterable]  # Whether it is quick -> rows, which have names.
    ops: Callable[[bool], dict[str, str]]  # The same -> the texts of the kernels' ops, by folder.
    open: Callable[[Any, Path, bool, dict], Any]  # Card, folder of kernels, quick, record -> what measures a row. May add to the record.
    body: Callable[[dict], str]  # Record -> table.
    page: Callable[[dict], str]
    missed_bars: Callable[[dict], Iterable[str]]

    @property
    def recorded(self) -> Path:
        return ROOT / "bench" / f"{self.name}.json"

    @property
    def scratch(self) -> Path:
        return ROOT / "build" / self.name

    def compile_kernels(self, folder: Path, quick: bool) -> int:
        """Writes our kernels; 1 where the compiler refuses one."""
        from fa4_bench.hopper import specs

        failed = 0
        for name, text in self.ops(quick).items():
            if said := specs.compile_op(text, folder / name):
                failed = 1
                print(f"{self.name}: {name}: {said}", file=sys.stderr)
        return failed

    def measure(self, path: Path, folder: Path, quick: bool, commit: str) -> dict:
        """Measures all rows, on the machine with the card, and writes the record after each."""
        from fa4_bench.hopper.__main__ import about_card
        from fa4_bench.hopper.measure import BURST_LAUNCHES
        from fa4_bench.instructions.card import hopper
        from fa4_bench.timing.__main__ import write_table

        card = hopper()
        table = {**about_card(card, commit or revision.commit()), "launches": BURST_LAUNCHES, "rows": {}}
        bench = self.open(card, folder, quick, table)
        for row in self.rows(quick):
            table["rows"][row.name] = bench.measure(row)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_table(path, table)
            print(f"{row.name}: {table['rows'][row.name]}", file=sys.stderr, flush=True)
        return table

    def parse(self, argv) -> argparse.Namespace:
        about, further = self.description.split("\n\n")
        parser = argparse.ArgumentParser(prog=self.name, description=about, epilog=further)
        add, name = parser.add_argument, self.name
        add("--report", nargs="?", const=str(self.recorded), metavar="FILE", help=f"print the table of what was recorded (bench/{name}.json); nothing is measured")
        add("--measure", metavar="FILE", default=str(self.scratch / "measured.json"), help=f"where the measurement is recorded (build/{name}/measured.json)")
        add("--ours", metavar="FOLDER", default=str(self.scratch / "ours"), help=f"our kernels, as --compile writes them (build/{name}/ours)")
        add("--compile", metavar="FOLDER", help="instead, compile our kernels into FOLDER; needs fa4-compile")
        add("--commit", default="", help="of the kernels, where the machine has no git")
        add("--quick", action="store_true", help=self.quick)
        add("--write", action="store_true", help=f"with --report: write bench/results/{name}.md; the tree must have no changes")
        options = parser.parse_args(argv)
        if options.write and options.report != str(self.recorded):
            parser.error(f"--write goes with --report of bench/{name}.json")
        return options

    def main(self, argv=None) -> int:
        options = self.parse(argv)
        try:
            if options.compile:
                return self.compile_kernels(Path(options.compile), options.quick)
            if options.report:
                recorded = json.loads(Path(options.report).read_text())
            else:
                recorded = self.measure(Path(options.measure), Path(options.ours), options.quick, options.commit)
            if options.write:
                results.clean_commit()
                results.write(self.name, self.page(recorded))
            else:
                print(self.body(recorded))
        except (RuntimeError, ValueError, OSError, tools.ToolNotFoundError) as error:
            sys.exit(f"{self.name}: {error}")
        missed = list(self.missed_bars(recorded))
        for sentence in missed:
            print(f"{self.name}: {sentence}", file=sys.stderr)
        return int(bool(missed))


def listed(sentences: Iterable[str]) -> str:
    """The bars that are missed, as a page ends with them."""
    return "Bars that are missed:\n\n" + ("\n".join(f"- {sentence}" for sentence in sentences) or "- none")
