# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small faults in the synchronisation of a kernel in the LLVM and NVVM dialects:
the operators of fa4_testing.mutation.faults, on the text of `fa4-compile --emit=nvvm`. From there
`fa4-compile --from=nvvm` goes on to PTX."""

import re
from collections.abc import Iterator, Sequence

from fa4_testing.mutation.faults import Fault

OPERATION = re.compile(r"^(\s+)(?:(%\w+) = )?nvvm\.([\w.]+)(.*)$")
SYNCHRONISING = (
    "mbarrier.init", "mbarrier.arrive", "mbarrier.arrive.expect_tx", "fence.proxy", "fence.mbarrier.init",
    "tcgen05.wait", "tcgen05.fence", "tcgen05.commit", "barrier", "bar.warp.sync", "cp.async.bulk.commit.group",
    "cp.async.bulk.wait_group",
)  # fmt: skip
COPIES = ("cp.async.bulk.tensor.shared.cluster.global", "cp.async.bulk.tensor.global.shared.cta")
OTHERS = ("setmaxregister", "tcgen05.alloc", "tcgen05.dealloc", "tcgen05.relinquish_alloc_permit")
WAIT = "mbarrier.try_wait"
ACCESSES = ("tcgen05.ld", "tcgen05.st", "tcgen05.mma")
OPERATORS = (
    "delete", "duplicate", "later", "earlier", "parity", "half", "double", "count", "barrier", "stage", "kind",
    "columns", "overlay", "registers",
)  # fmt: skip

KINDS = {
    "tcgen05.wait": [("<load>", "<store>"), ("<store>", "<load>")],
    "tcgen05.fence": [("<before>", "<after>"), ("<after>", "<before>")],
    "fence.proxy": [("#nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>", "#nvvm.proxy_kind<async.global>")],
    "setmaxregister": [("increase", "decrease"), ("decrease", "increase")],
}  # fmt: skip
# Which operand is an mbarrier.
BARRIER = {
    "mbarrier.init": 0, "mbarrier.arrive": 0, "mbarrier.arrive.expect_tx": 0, "tcgen05.commit": 0, WAIT: 0, COPIES[0]: 2,
}  # fmt: skip


class _Unit:
    def __init__(self, number, match):
        self.number = number
        self.indent, self.result, self.name, self.rest = match.groups()

    @property
    def operands(self):
        return re.findall(r"%\w+", self.rest.split(" : ", 1)[0].split("{", 1)[0])

    def with_operand(self, place, value, before):
        """The line with another operand, which `before` computes."""
        seen = -1

        def exchange(match):
            nonlocal seen
            seen += 1
            return value if seen == place else match[0]

        head = f"{self.result} = " if self.result else ""
        rest = re.sub(r"%\w+", exchange, self.rest)
        return "\n".join([*(self.indent + line for line in before), f"{self.indent}{head}nvvm.{self.name}{rest}"])


def _constant(type, value, name="%fa4_constant"):
    return f"{name} = llvm.mlir.constant({value} : {type}) : {type}"


def _offset(pointer, bytes, space, name="%fa4_fault"):
    return f"{name} = llvm.getelementptr {pointer}[{bytes}] : (!llvm.ptr<{space}>) -> !llvm.ptr<{space}>, i8"


def _changed(unit, place, operation):
    """An operand of type i32 after `operation`, which names a constant."""
    word, value = operation.split()
    before = [_constant("i32", value), f"%fa4_fault = llvm.{word} {unit.operands[place]}, %fa4_constant : i32"]
    return {unit.number: unit.with_operand(place, "%fa4_fault", before)}


def _moved(unit, place, value, space):
    before = [_offset(unit.operands[place], value, space)]
    return {unit.number: unit.with_operand(place, "%fa4_fault", before)}


def _alone(unit) -> Iterator[tuple[str, str, dict]]:
    """(operator, detail, edits) of what changes one operation."""
    name, line = unit.name, f"{unit.indent}nvvm.{unit.name}{unit.rest}"
    if name == WAIT:
        yield "delete", "", {unit.number: f"{unit.indent}{unit.result} = llvm.mlir.constant(true) : i1"}
        yield "parity", "", _changed(unit, 1, "xor 1")
    elif name in SYNCHRONISING + COPIES + OTHERS and not unit.result:
        yield "delete", "", {unit.number: ""}
        if name not in OTHERS:
            yield "duplicate", "", {unit.number: f"{line}\n{line}"}
    if name == "mbarrier.arrive.expect_tx":
        yield "half", "", _changed(unit, 1, "lshr 1")
        yield "double", "", _changed(unit, 1, "shl 1")
    if name == "mbarrier.init":
        yield "count", "more", _changed(unit, 1, "add 1")
        yield "count", "less", _changed(unit, 1, "add -1")
    if name in BARRIER:
        for detail, distance in (("next", 8), ("previous", -8)):
            yield "barrier", detail, _moved(unit, BARRIER[name], distance, 3)
    if name in COPIES:
        yield "stage", "", _moved(unit, COPIES.index(name), 16384, 3)
    for text, other in KINDS.get(name, ()):
        if text in unit.rest:
            yield "kind", other, {unit.number: line.replace(text, other)}
    if name in ("tcgen05.alloc", "tcgen05.dealloc"):
        yield "columns", "half", _changed(unit, 1, "lshr 1")
    if name in ACCESSES:
        places = [0] + ([1] if name == "tcgen05.mma" and "(!llvm.ptr<6>, !llvm.ptr<6>" in unit.rest else [])
        for place in places:
            columns = 64 if name == "tcgen05.mma" else 32
            yield "overlay", f"{'operand' * place}+{columns}", _moved(unit, place, columns, 6)
    if name == "setmaxregister":
        for change in (-8, 8):
            text = re.sub(r"\d+", lambda match: str(int(match[0]) + change), unit.rest)  # noqa: B023
            yield "registers", f"{change:+}", {unit.number: f"{unit.indent}nvvm.{name}{text}"}


def _straight(lines, first, last):
    """Nothing between the lines but the rest of a block, and loops of waits."""
    label = r"\^bb\d+"
    text = "\n".join(lines[first:last])
    loop = rf"\n?    llvm\.br ({label})\n  \1:.*\n    (%\w+) = nvvm\.mbarrier\.try_wait .*\n    (%\w+) = llvm\.xor \2, .*\n"
    loop += rf"    llvm\.cond_br \3, \1, ({label})\n  \4:.*"
    rest = re.sub(loop, "", "\n" + text)
    return not re.search(rf"^  {label}|llvm\.(br|cond_br|return|switch)", rest, re.M)


def _defined(lines, first, last):
    return set(re.findall(r"^\s*(%\w+)(?::\d+)? =", "\n".join(lines[first:last]), re.M))


def _with_neighbours(lines, units):
    for unit, other in zip(units, units[1:]):
        if unit.name == other.name == "mbarrier.init":
            continue
        # Moves this one behind the other one: its operands are defined there as well.
        if unit.name in SYNCHRONISING:
            last = other.number + (3 if other.name == WAIT else 0)
            if _straight(lines, unit.number, last):
                edits = {unit.number: "", last: f"{lines[last - 1]}\n{lines[unit.number - 1]}"}
                yield unit, "later", f"behind {other.name}", edits
        # Moves the other one in front of this one, if its operands are defined there.
        if other.name in SYNCHRONISING and unit.name != WAIT and unit.name not in SYNCHRONISING:
            if _straight(lines, unit.number, other.number - 1) and not (
                set(other.operands) & _defined(lines, unit.number - 1, other.number)
            ):
                edits = {other.number: "", unit.number: f"{lines[other.number - 1]}\n{lines[unit.number - 1]}"}
                yield other, "earlier", f"before {unit.name}", edits


def faults_of(lines: Sequence[str]) -> list[Fault]:
    """All of them, in the order of the lines."""
    units = []
    for number, line in enumerate(lines, 1):
        match = OPERATION.match(line)
        if match and match[3] in (*SYNCHRONISING, *COPIES, *OTHERS, WAIT, *ACCESSES):
            units.append(_Unit(number, match))
    found = [(unit, *fault) for unit in units for fault in _alone(unit)]
    found += _with_neighbours(lines, units)
    faults = [
        Fault(unit.number, operator, detail, lines[unit.number - 1].strip(), edits)
        for unit, operator, detail, edits in found
    ]
    return sorted(faults, key=lambda fault: (fault.line, OPERATORS.index(fault.operator)))


# ---------------------------------------------------------------------------
# The instruction of an operation
# ---------------------------------------------------------------------------

_INSTRUCTIONS = {
    "mbarrier.init": r"mbarrier\.init", "mbarrier.arrive": r"mbarrier\.arrive\.(?!expect_tx)",
    "mbarrier.arrive.expect_tx": r"mbarrier\.arrive\.expect_tx", WAIT: r"mbarrier\.try_wait",
    "fence.proxy": r"fence\.proxy", "fence.mbarrier.init": r"fence\.mbarrier_init", "tcgen05.wait": r"tcgen05\.wait",
    "tcgen05.fence": r"tcgen05\.fence", "tcgen05.commit": r"tcgen05\.commit", "barrier": r"bar\.sync",
    "bar.warp.sync": r"bar\.warp\.sync", "cp.async.bulk.commit.group": r"cp\.async\.bulk\.commit_group",
    "cp.async.bulk.wait_group": r"cp\.async\.bulk\.wait_group", COPIES[0]: r"cp\.async\.bulk\.tensor.*shared::cta\.global",
    COPIES[1]: r"cp\.async\.bulk\.tensor.*global\.shared::cta", "setmaxregister": r"setmaxnreg",
    "tcgen05.alloc": r"tcgen05\.alloc", "tcgen05.dealloc": r"tcgen05\.dealloc",
    "tcgen05.relinquish_alloc_permit": r"tcgen05\.relinquish", "tcgen05.ld": r"tcgen05\.ld", "tcgen05.st": r"tcgen05\.st",
    "tcgen05.mma": r"tcgen05\.mma",
}  # fmt: skip


_MEETING = ("tcgen05.fence", "barrier", "bar.warp.sync")


def _before_dealloc(names):
    """Positions of what makes the threads meet right before tensor memory is freed,
    in a block that LLVM may put elsewhere."""
    found, place = set(), names.index("tcgen05.dealloc") if "tcgen05.dealloc" in names else 0
    while place > 0 and names[place - 1] in _MEETING:
        place -= 1
        found.add(place)
    return found


def in_ptx(lines: Sequence[str], units: Sequence) -> dict[int, object]:
    """Line of an operation -> the unit of the PTX that it became: LLVM leaves
    their order as it is but for the end, and copies none. Those of a kind whose
    numbers differ are left out."""
    ours = [(n, match[3]) for n, line in enumerate(lines, 1) if (match := OPERATION.match(line)) and match[3] in _INSTRUCTIONS]
    theirs = [(unit, name) for unit in units for name, pattern in _INSTRUCTIONS.items() if unit.is_a(pattern)]
    ends = [_before_dealloc([name for _, name in side]) for side in (ours, theirs)]
    found = {}
    for name in _INSTRUCTIONS:
        # Lists of operations and of units: at the end, elsewhere.
        parts = [
            [[thing for place, (thing, other) in enumerate(side) if other == name and (place in end) == at_end]
             for side, end in zip((ours, theirs), ends)]
            for at_end in (True, False)
        ]  # fmt: skip
        if any(len(mine) != len(its) for mine, its in parts):
            parts = [[[thing for thing, other in side if other == name] for side in (ours, theirs)]]
        for mine, its in parts:
            if len(mine) == len(its):
                found |= dict(zip(mine, its))
    return found


def as_ptx_fault(fault: Fault, unit, context) -> Fault:
    """The same change of the instruction; `detail` names PTX."""
    detail = fault.detail
    if fault.operator in ("later", "earlier"):
        word, name = detail.split(" ", 1)
        units = context.ahead(unit) if word == "behind" else context.behind(unit)
        other = next((other for other in units if other.is_a(_INSTRUCTIONS[name])), None)
        detail = f"{word} {other.opcode if other else name}"
    return Fault(unit.line, fault.operator, detail, fault.original, {})
