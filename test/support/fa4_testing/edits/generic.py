# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules in MLIR's generic form (`--mlir-print-op-generic`) as trees of operations.

    module = parse(text)
    for op in module.walk():
        ...
    text = str(module)

Only what the printer writes is read: an operation on one line, its regions on lines
of their own. Attributes and types stay text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_OPEN, _CLOSE = "([{<", ")]}>"


def _scan(text: str, start: int = 0) -> Iterator[tuple[int, int]]:
    """The places of the letters from `start` on that are not in strings, each with the
    depth of brackets behind the letter: 1 at the first bracket, 0 at the one that
    closes it. The arrow `->` is no bracket."""
    depth, position = 0, start
    while position < len(text):
        letter = text[position]
        if letter == '"':
            position = text.index('"', position + 1)
        elif letter in _OPEN:
            depth += 1
        elif letter in _CLOSE and text[position - 1 : position + 1] != "->":
            depth -= 1
        if letter != '"':
            yield position, depth
        position += 1


def split(text: str) -> list[str]:
    """The parts of a list at its commas, not those in brackets or strings."""
    parts, start = [], 0
    for position, depth in _scan(text):
        if text[position] == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    last = text[start:].strip()
    return parts + [last] if last else parts


def _closing(text: str, start: int) -> int:
    """The place of the bracket that closes the one at `start`. Raises ValueError if
    nothing closes this bracket."""
    for position, depth in _scan(text, start):
        if depth == 0:
            return position
    raise ValueError(f"no closing bracket: {text[start : start + 200]}")


def _dictionary(text: str) -> dict[str, str | None]:
    """`a = 1 : i64, b` as a dictionary; a unit attribute has the value None."""
    entries = {}
    for part in split(text):
        name, equals, value = part.partition(" = ")
        entries[name] = value if equals else None
    return entries


def _undictionary(entries):
    return ", ".join(name if value is None else f"{name} = {value}" for name, value in entries.items())


@dataclass
class Block:
    label: str = ""
    arguments: list[tuple[str, str]] = field(default_factory=list)  # name, type
    ops: list["Op"] = field(default_factory=list)


@dataclass(eq=False)
class Op:
    """`operands` and `results` are names of values, `%4` or `%4#1`; `properties` is
    what is in `<{ }>`, `attributes` what is in `{ }`."""

    name: str
    operands: list[str] = field(default_factory=list)
    operand_types: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    result_types: list[str] = field(default_factory=list)
    properties: dict = field(default_factory=dict)
    attributes: dict = field(default_factory=dict)
    successors: str = ""
    regions: list[list[Block]] = field(default_factory=list)
    line: int = 0

    def walk(self) -> Iterator["Op"]:
        """This operation and all inside of it, in the order of the text."""
        yield self
        for block in self.blocks():
            for op in block.ops:
                yield from op.walk()

    def blocks(self) -> Iterator[Block]:
        for region in self.regions:
            yield from region

    def integer(self, name: str, default: int | None = None) -> int | None:
        """An integer property, `4 : i64`."""
        text = self.properties.get(name)
        return int(text.split()[0]) if text is not None else default

    def __str__(self):
        return "\n".join(_lines(self, ""))


def _lines(op, indent):
    head = f"{indent}{_result_text(op.results)}\"{op.name}\"({', '.join(op.operands)}){op.successors}"
    if op.properties:
        head += f" <{{{_undictionary(op.properties)}}}>"
    inputs, outputs = ", ".join(op.operand_types), ", ".join(op.result_types)
    if len(op.result_types) != 1 or "->" in outputs:
        outputs = f"({outputs})"
    tail = f" {{{_undictionary(op.attributes)}}}" if op.attributes else ""
    tail += f" : ({inputs}) -> {outputs}"
    if not op.regions:
        return [head + tail]
    lines = [head + " ({"]
    for number, region in enumerate(op.regions):
        if number:
            lines.append(indent + "}, {")
        for block in region:
            if block.label:
                arguments = ", ".join(f"{name}: {type}" for name, type in block.arguments)
                lines.append(f"{indent}{block.label}{f'({arguments})' if arguments else ''}:")
            for inner in block.ops:
                lines += _lines(inner, indent + "  ")
    return lines + [indent + "})" + tail]


def _result_text(results):
    if not results:
        return ""
    first = results[0].split("#")[0]
    return f"{first} = " if "#" not in results[0] else f"{first}:{len(results)} = "


_HEAD = re.compile(r'(?:(%[\w$.-]+)(?::(\d+))? = )?"([^"]+)"\(([^)]*)\)(\[[^\]]*\])?\s*')
_LABEL = re.compile(r"(\^\w+)(?:\((.*)\))?:\s*(?://.*)?$")


def parse(text: str) -> Op:
    """The module. Raises ValueError where the text is not what the printer writes."""
    lines = [line for line in text.split("\n") if line.strip() and not line.lstrip().startswith("//")]
    op, rest = _parse(lines, 0)
    if any(line.strip() not in ("", "{-#", "#-}") for line in lines[rest:]):
        raise ValueError(f"more behind the module: {lines[rest]}")
    return op


def _parse(lines, number):
    line = lines[number].strip()
    match = _HEAD.match(line)
    if not match:
        raise ValueError(f"no operation: {line[:200]}")
    result, count, name, operands, successors = match.groups()
    op = Op(name, split(operands), successors=successors or "", line=number + 1)
    rest = line[match.end() :]
    if rest.startswith("<{"):
        end = _closing(rest, 0)
        op.properties = _dictionary(rest[2 : end - 1])
        rest = rest[end + 1 :].lstrip()
    number += 1
    if rest.startswith("({"):
        if rest != "({":
            raise ValueError(f"a region on one line: {line[:200]}")
        number, rest = _parse_regions(lines, number, op)
    if rest.startswith("{"):
        end = _closing(rest, 0)
        op.attributes = _dictionary(rest[1:end])
        rest = rest[end + 1 :].lstrip()
    if not rest.startswith(": ("):
        raise ValueError(f"no type: {line[:200]}")
    end = _closing(rest, 2)
    op.operand_types = split(rest[3:end])
    outputs = rest[end + 1 :].strip().removeprefix("->").strip()
    op.result_types = split(outputs[1:-1]) if outputs.startswith("(") else [outputs]
    if result:
        op.results = [f"{result}#{n}" for n in range(int(count))] if count else [result]
    return op, number


def _parse_regions(lines, number, op):
    region = [Block()]
    while True:
        line = lines[number].strip()
        if line == "}, {" or line.startswith("})"):
            op.regions.append([block for block in region if block.label or block.ops])
            region = [Block()]
            number += 1
            if line != "}, {":
                return number, line[2:].strip()
        elif line.startswith("^"):
            label, arguments = _LABEL.match(line).groups()
            pairs = [argument.split(": ", 1) for argument in split(arguments or "")]
            region.append(Block(label, [tuple(pair) for pair in pairs]))
            number += 1
        else:
            inner, number = _parse(lines, number)
            region[-1].ops.append(inner)
