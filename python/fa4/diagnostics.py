# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the compiler says of an op's text, in the words of the spec that the text was made of: the line of Python that an
operation was traced from, and the names of captures."""

from __future__ import annotations

import linecache
import re
from collections.abc import Mapping

from fa4.captured import capture_type
from fa4.errors import CompileError
from fa4.tracing import Traced

# A place in the text, in front of what is said of it; a severity stands there in all but the message of an error.
PLACE = re.compile(r"^-:(\d+)(?::\d+)?: ")


def _read_by(captures: Mapping[str, str], line: str) -> str:
    """The capture that a line of the text reads, for the end of a sentence."""
    names = [name for name in captures if f"%capture_{name}[" in line]
    return f" (it reads capture '{names[0]}')" if names else ""


def _name_captures(captures: Mapping[str, str], text: str) -> str:
    """A capture by its name and its type in the spec, in place of its type in MLIR, where there is one of this type."""
    for name, kind in captures.items():
        text = text.replace(f"a capture of type {capture_type(kind)}:", f"capture '{name}' of type {kind!r}:")
    return text


def in_words_of(error: CompileError, text: str, traced: Traced, captures: Mapping[str, str]) -> CompileError:
    """The same error of an op's text, with the lines of the functions that it was traced from. `captures` are the types of all
    captures. An error of the whole op begins with the line of the operation that it is about, if there is one, and
    without a place where there is none."""
    lines = text.splitlines()
    said, first, reads = [], None, ""
    for each in error.diagnostics:
        place = PLACE.match(each)
        line = int(place[1]) if place else 0
        found = traced.place_of(text, line) if place else None
        if place and found:
            each = f"{found[0]}:{found[1]}: {each[place.end() :]}"
            if first is None:
                first, reads = found, _read_by(captures, lines[line - 1])
        said.append(_name_captures(captures, each))
    message = _name_captures(captures, PLACE.sub("", str(error)))
    if first:
        source = linecache.getline(*first).strip()
        reads = "" if "capture '" in message else reads
        message = f"{first[0]}:{first[1]}: {message}{reads}" + (f"\n    {source}" if source else "")
    return CompileError(message, tuple(said))
