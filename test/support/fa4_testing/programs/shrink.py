# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Smaller programs that fail in the same way."""

import dataclasses
import itertools
import os
import pickle
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

from fa4_testing import gpu
from fa4_testing.programs import gradient, mods
from fa4_testing.programs.flaws import Flawed, check_flaw
from fa4_testing.programs.program import STAGES, Failed, Program, run


def runner_of(program):
    """Returns the function that runs programs of its kind."""
    return gradient.run if isinstance(program, gradient.Gradient) else run


def _smaller_expressions(e, same_type=True):
    """Yields the expression with some sub-expression replaced by one of its operands of
    the same type."""
    for part in mods.operands(e):
        if mods.typeof(part) == mods.typeof(e):
            yield part
    for place, part in enumerate(e):
        if isinstance(part, tuple):
            for small in _smaller_expressions(part):
                yield (*e[:place], small, *e[place + 1 :])


_CAPTURES = ("capture", "capture of head", "element")


def _captured(e):
    """Returns the numbers of the captures in it."""
    if not isinstance(e, tuple):
        return set()
    if e[0] in _CAPTURES:
        return {e[1]}
    return set().union(*map(_captured, e))


def _without_capture(program, n):
    def renumber(e):
        if not isinstance(e, tuple):
            return e
        if e[0] in _CAPTURES:
            return (e[0], e[1] - (e[1] > n), *e[2:])
        return tuple(map(renumber, e))

    return dataclasses.replace(
        program,
        score=renumber(program.score),
        visible=renumber(program.visible),
        captures=program.captures[:n] + program.captures[n + 1 :],
    )


def with_sizes(program, sizes):
    """Other ones, of which there may be fewer sequences and query heads, for each of which captured vectors and lengths have a number. A
    sequence has no more keys than there is room for, nor a packed one more rows than the longest."""
    if program.page_size:
        sizes = sizes._replace(sk=-(-sizes.sk // program.page_size) * program.page_size)
    captures = tuple((type, value[: sizes.hq] if isinstance(value, tuple) else value) for type, value in program.captures)
    lengths = tuple(min(length, sizes.sk) for length in program.lengths[: sizes.b])
    packed = tuple((min(q, sizes.sq), min(k, sizes.sk)) for q, k in program.packed[: sizes.b])
    return dataclasses.replace(program, sizes=sizes, captures=captures, lengths=lengths, packed=packed)


def smaller(program: Program):
    """Yields programs that are simpler in one respect."""
    plain = type(program)()
    for field in dataclasses.fields(program):
        default = getattr(plain, field.name)
        if field.name == "score" and getattr(program, "wrt", ()):
            continue  # It is that of the score that is asked for.
        if field.name in ("packed", "layout") and program.packed:
            continue  # One needs the other.
        if field.name not in ("sizes", "captures") and getattr(program, field.name) != default:
            if field.name == "static" and program.strided:
                continue
            yield dataclasses.replace(program, **{field.name: default})
    for n in range(len(program.captures)):
        used = _captured(program.score) | _captured(program.visible)
        # Those whose gradients are asked for are named by their numbers.
        if n not in used and not getattr(program, "wrt", ()):
            yield _without_capture(program, n)
    for name, value in program.sizes._asdict().items():
        for less in sorted({1, value // 2, value - 1} - {0, value}):
            if less < value:
                yield with_sizes(program, program.sizes._replace(**{name: less}))
    for name in ("score", "visible"):
        if (e := getattr(program, name)) is not None:
            for small in itertools.islice(_smaller_expressions(e), 40):
                yield dataclasses.replace(program, **{name: small})
    for n in range(len(program.options)):
        yield dataclasses.replace(program, options=program.options[:n] + program.options[n + 1 :])


@dataclasses.dataclass(frozen=True)
class Failure:
    """The way in which a program failed. A smaller program must fail in the same way.
    """

    program: Program
    flaw: str | None
    kind: str  # the stage, or what is wrong with how it was refused
    ptxas: bool = False

    @staticmethod
    def kind_of(message):
        """Returns the kind of a failure: the stage or the complaint, with the
        compiler's message without places, names and numbers, or the kind of a finding.
        """
        kind = message.split(":")[0]
        said = re.search(r"error: (.*)|(\[[a-z-]+\])", message)
        if kind not in ("compile", "verify", "ptxas", "simulate") or not said:
            return kind
        return f"{kind}: " + re.sub(r"'[^']*'|\"[^\"]*\"|\d+", "_", said[0])

    def again(self, program, folder, text=None):
        """Returns whether `program`, or `text` in its place, fails in this way."""
        try:
            if self.flaw:
                check_flaw(program, self.flaw, text)
            else:
                # A stage behind the one that failed is of no interest.
                stage = self.kind.split(":")[0]
                until = stage if stage in STAGES else STAGES[-1]
                runner_of(program)(program, folder, ptxas=self.ptxas, text=text, until=until)
        except (Failed, Flawed) as failed:
            return self.kind_of(str(failed)) == self.kind
        except Exception:
            return False
        return False


def shrink(failure: Failure, folder, seconds) -> Program:
    """Returns the smallest program that fails in the same way, as far as the time
    allows."""
    program = failure.program
    end = time.monotonic() + seconds
    going = True
    while going:
        going = False
        for candidate in smaller(program):
            if time.monotonic() > end:
                return program
            if failure.again(candidate, folder):
                program, going = candidate, True
                break
    return program


# ---------------------------------------------------------------------------
# Text
# ---------------------------------------------------------------------------

_SCRIPT = """#!/bin/sh
# Interesting (0) while the file fails like the program in {question}.
PYTHONPATH={path} exec {python} -m fa4_testing.programs.shrink {question} "$1" {folder}
"""


def reduce(failure: Failure, program, text, folder, seconds):
    """What fa4-reduce leaves of the program's text, which it may not be able to
    parse: then all of it. `folder` keeps the script that says what is
    interesting, for whoever goes on."""
    folder.mkdir(parents=True, exist_ok=True)
    question, script, source = folder / "question", folder / "interesting", folder / "op.mlir"
    question.write_bytes(pickle.dumps((failure, program)))
    words = dict(
        path=os.pathsep.join(str(gpu.ROOT / folder) for folder in ("python", "test/support")), python=sys.executable, question=question, folder=folder / "run"
    )
    script.write_text(_SCRIPT.format_map({k: shlex.quote(str(v)) for k, v in words.items()}))
    script.chmod(0o755)
    source.write_text(text)
    command = [gpu.find_tool("fa4-reduce"), source, "-o", folder / "reduced.mlir"]
    command.append(f"--test={script}")
    try:
        done = subprocess.run(command, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return text
    less = (folder / "reduced.mlir").read_text() if done.returncode == 0 else text
    return less if failure.again(program, folder / "run", less) else text


def main(words):
    """Exit status 0, fa4-reduce's for what is interesting, if the file still
    fails."""
    failure, program = pickle.loads(Path(words[0]).read_bytes())
    return int(not failure.again(program, Path(words[2]), Path(words[1]).read_text()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
