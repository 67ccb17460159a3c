# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small faults in the synchronisation of a kernel's PTX. Each is one edit of the
text: an instruction that is gone, done twice or moved over its neighbour, or one
whose barrier, count, bytes, phase, address, register budget or kind is another.

    for fault in faults_of(lines):
        text = fault.apply(lines)

A loop around a wait for an mbarrier, as compilers write it, is one unit with
the wait: label, try_wait, branch back."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

INSTRUCTION = re.compile(r"^(\s*)(@!?\S+\s+)?([a-z][\w.:]*)\s*(.*?);(\s*(//.*)?)$")
LABEL = re.compile(r"^\s*([$\w]+):")
REGISTER = re.compile(r"%\w+|\bfa4_fault\b")

# What orders, signals or waits; a copy and an MMA only begin something.
SYNCHRONISING = [
    r"fence\.proxy\.async", r"fence\.mbarrier_init", r"tcgen05\.wait::", r"tcgen05\.fence::", r"tcgen05\.commit",
    r"bar\.(sync|arrive|red|warp\.sync)", r"barrier\.(sync|arrive|cluster)", r"mbarrier\.arrive",
    r"mbarrier\.expect_tx", r"cp\.async\.(bulk\.)?(commit_group|wait_group)", r"cp\.async\.mbarrier\.arrive",
    r"mbarrier\.init", r"wgmma\.(fence|commit_group|wait_group)",
]  # fmt: skip
COPY = r"cp\.(reduce\.)?async\.bulk\.tensor"
# Of a work tile whose CTAs have not started; and of its number from the response.
REQUEST = r"clusterlaunchcontrol\.try_cancel"
RESPONSE = r"clusterlaunchcontrol\.query_cancel\.get_first_ctaid"
# A work tile's turn, which another CTA passes on, and the order of launches.
TURN = r"ld\.acquire\.gpu"
TURNS = [TURN, r"red\.release", r"griddepcontrol\.wait"]
ALLOCATION = r"tcgen05\.(alloc|dealloc|relinquish)"
OPERATORS = (
    "delete", "duplicate", "later", "earlier", "parity", "half", "double", "plain", "count", "barrier", "stage",
    "kind", "columns", "overlay", "registers", "pending", "rank", "leader",
)  # fmt: skip

# An instruction of the same form that orders something else, or less.
KINDS = [
    (r"fence\.proxy\.async(\S*)", "fence.acq_rel.cta"),
    (r"fence\.proxy\.async\.shared::cta", "fence.proxy.async.global"),
    (r"fence\.mbarrier_init\S*", "fence.acq_rel.cta"),
    (r"tcgen05\.fence::before_thread_sync", "tcgen05.fence::after_thread_sync"),
    (r"tcgen05\.fence::after_thread_sync", "tcgen05.fence::before_thread_sync"),
    (r"tcgen05\.wait::ld", "tcgen05.wait::st"),
    (r"tcgen05\.wait::st", "tcgen05.wait::ld"),
    (r"bar\.sync", "bar.warp.sync"),
    (r"setmaxnreg\.inc", "setmaxnreg.dec"),
    (r"setmaxnreg\.dec", "setmaxnreg.inc"),
    (r"cp\.async\.bulk\.wait_group\b(?!\.read)", "cp.async.bulk.wait_group.read"),
    (r"ld\.acquire\.gpu", "ld.relaxed.gpu"),
    (r"ld\.acquire\.gpu", "ld.acquire.cta"),
    (r"red\.release\.gpu", "red.relaxed.gpu"),
    (r"red\.release\.gpu", "red.release.cta"),
    (r"barrier\.cluster\.arrive", "barrier.cluster.arrive.relaxed"),
    (r"mbarrier\.arrive\.release\.cluster", "mbarrier.arrive.relaxed.cluster"),
    (r"mbarrier\.try_wait\.parity\.acquire\.cluster", "mbarrier.try_wait.parity.relaxed.cluster"),
    (rf"{REQUEST}\S*\.multicast::cluster::all", "clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes"),
    (rf"{RESPONSE}::x", "clusterlaunchcontrol.query_cancel.get_first_ctaid::y"),
]


@dataclass(frozen=True)
class Fault:
    """`line` (from 1) is that of the instruction; `edits` are lines and what is
    there instead."""

    line: int
    operator: str
    detail: str
    original: str
    edits: dict = field(hash=False, compare=False)

    @property
    def is_budget(self):
        """Of registers: whether they suffice is for ptxas to say."""
        return "setmax" in self.original

    def apply(self, lines: Sequence[str]) -> list[str]:
        text = list(lines)
        for number, line in self.edits.items():
            text[number - 1] = line
        return text

    def trap(self, lines: Sequence[str]) -> list[str]:
        """Returns the kernel with a trap in front of the instruction."""
        text = list(lines)
        match = INSTRUCTION.match(text[self.line - 1])
        text[self.line - 1] = f"{match[2] or ''}trap; {text[self.line - 1]}"
        return text

    def __str__(self):
        return f"{self.line}:{self.operator}{':' + self.detail if self.detail else ''}"


@dataclass(frozen=True)
class Unit:
    """A synchronising instruction, with the loop around it if it is a wait in
    one. `first` to `last` are lines from 1, `line` is the instruction's."""

    line: int
    first: int
    last: int
    indent: str
    guard: str
    opcode: str
    operands: str

    def is_a(self, *patterns):
        return any(re.match(pattern, self.opcode) for pattern in patterns)

    @property
    def is_wait(self):
        return self.is_a(r"mbarrier\.(try|test)_wait")

    @property
    def is_turn(self):
        """A wait for a turn: a load until it gives a number."""
        return self.is_a(TURN)

    @property
    def is_synchronising(self):
        return self.is_wait or self.is_a(*SYNCHRONISING, *TURNS)

    @property
    def is_whole(self):
        """Can be moved: a wait is nothing without its loop."""
        return not (self.is_wait or self.is_turn) or self.first != self.last


# ---------------------------------------------------------------------------
# Units
# ---------------------------------------------------------------------------


def _loop(lines, number):
    """Returns the first and last line of the loop that does nothing but this wait."""
    last = next((n for n in range(number, number + 4) if re.search(r"\bbra\b", lines[n])), None)
    first = next((n for n in range(number - 2, number - 6, -1) if LABEL.match(lines[n])), None)
    if last is None or first is None:
        return number, number
    label = LABEL.match(lines[first])[1]
    if not re.search(rf"\bbra(\.uni)?\s+{re.escape(label)};", lines[last]):
        return number, number
    return first + 1, last + 1


def _begins_role_of_leader(lines, number):
    """Returns whether the line reads the CTA's rank, by which the CTA leaves a role to the leader: a branch right behind
    it says so."""
    rank = re.match(r"\s*mov\.u32\s+(%\w+), %cluster_ctarank;", lines[number - 1])
    following = "\n".join(lines[number : number + 4])
    return bool(rank and re.search(rf"setp\.ne\.\w+\s+(%\w+), {rank[1]}, 0;\s*@\1\s+bra\b", following))


def units_of(lines: Sequence[str]) -> list[Unit]:
    """Returns the units that the operators change: synchronisation, TMA copies, and the
    allocation and addresses of tensor memory."""
    interesting = SYNCHRONISING + [COPY, REQUEST, RESPONSE, r"tcgen05\.", r"mbarrier\.", r"setmaxnreg", r"mapa\.", *TURNS]
    found = []
    for number, line in enumerate(lines, 1):
        match = INSTRUCTION.match(line)
        if not match or not (any(re.match(pattern, match[3]) for pattern in interesting) or _begins_role_of_leader(lines, number)):
            continue
        indent, guard, opcode, operands = match.groups()[:4]
        is_wait = re.match(rf"mbarrier\.(try|test)_wait|{TURN}", opcode)
        first, last = _loop(lines, number) if is_wait else (number, number)
        found.append(Unit(number, first, last, indent, guard or "", opcode, operands))
    return found


def split_operands(text: str) -> list[str]:
    """Splits at the commas outside of brackets and braces."""
    parts = [""]
    depth = 0
    for letter in text:
        depth += letter in "[{"
        depth -= letter in "]}"
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def shifted(address: str, bytes: int) -> str:
    """Returns the address `[x+n]` with so many bytes added."""
    match = re.fullmatch(r"\[([^+\]]+)(?:\+(-?\d+))?\]", address)
    return f"[{match[1]}+{int(match[2] or 0) + bytes}]"


# ---------------------------------------------------------------------------
# Operators
# ---------------------------------------------------------------------------


def _scoped(unit, register_type, computation, instruction):
    """Returns an instruction with one operand that is computed right before it."""
    return f"{unit.indent}{{ .reg .{register_type} fa4_fault; {computation} {unit.guard}{instruction}; }}"


def _delete(lines, unit):
    if unit.is_wait:
        result = unit.operands.split(",", 1)[0].strip()
        yield "", {unit.line: f"{unit.indent}{unit.guard}setp.eq.u32 {result}, 0, 0;"}
    elif unit.is_turn:
        yield "", {unit.last: ""}  # It reads, once.
    elif unit.is_a(*SYNCHRONISING, *TURNS, ALLOCATION, COPY, REQUEST, r"setmaxnreg"):
        yield "", {unit.line: ""}


def _text(lines, unit):
    return list(lines[unit.first - 1 : unit.last])


def _copy(lines, unit):
    """Returns the unit's text with labels of its own."""
    text = "\n".join(_text(lines, unit))
    if unit.first != unit.last:
        label = LABEL.match(lines[unit.first - 1])[1]
        text = text.replace(label, f"{label}_again")
    return text


def _duplicate(lines, unit):
    if unit.is_whole and (unit.is_synchronising or unit.is_a(COPY, REQUEST)):
        yield "", {unit.last: f"{lines[unit.last - 1]}\n{_copy(lines, unit)}"}


def _straight(lines, first, last):
    """Returns whether no label, branch or end of a thread lies in between. The loops of
    waits do not count."""
    number = first
    while number <= last:
        line = lines[number - 1]
        match = INSTRUCTION.match(line)
        if match and re.match(r"(bra|brx|ret|exit|call)\b", match[3]):
            return False
        if LABEL.match(line):
            end = next((n for n in range(number, min(number + 6, last)) if re.search(r"\bbra\b", lines[n])), None)
            inside = range(number, end) if end else []
            waits = any(re.search(rf"mbarrier\.(try|test)_wait|{TURN}", lines[n]) for n in inside)
            if not waits or LABEL.match(line)[1] not in lines[end]:
                return False
            number = end + 1
        number += 1
    return True


def _defined(line):
    """Registers that an instruction writes, roughly: those of its first operand."""
    match = INSTRUCTION.match(line)
    if not match or re.match(r"(st|red|bra|bar|fence|setmaxnreg|cp|prefetch)\b", match[3]):
        return set()
    first = split_operands(match[4])[0]
    return set() if first.startswith("[") else set(REGISTER.findall(first))


def _used(lines):
    return set(REGISTER.findall("\n".join(lines)))


def _move(lines, unit, first, last, place):
    """Takes the unit away, and puts it behind line `place`, if no register's
    value changes by it; `first` to `last` is what it crosses."""
    text = _text(lines, unit)
    crossed = lines[first - 1 : last]
    if not _straight(lines, first, last):
        return None
    written = set().union(*map(_defined, text))
    redefined = set().union(*map(_defined, crossed)) if crossed else set()
    if redefined & _used(text) or written & _used(crossed):
        return None
    edits = {number: "" for number in range(unit.first, unit.last + 1)}
    there = lines[place - 1] if place not in edits else ""
    edits[place] = "\n".join([there, *text])
    return edits


def _later(lines, unit, other):
    """Moves the unit behind the next one."""
    edits = _move(lines, unit, unit.last + 1, other.last, other.last)
    if edits:
        yield f"behind {other.opcode}", edits


def _earlier(lines, unit, other):
    """Moves the unit before the previous one."""
    edits = _move(lines, unit, other.first, unit.first - 1, other.first - 1)
    if edits:
        yield f"before {other.opcode}", edits


def _parity(lines, unit):
    if not unit.is_wait or "parity" not in unit.opcode:
        return
    parts = split_operands(unit.operands)
    if re.fullmatch(r"\d+", parts[2]):
        parts[2] = str(int(parts[2]) ^ 1)
        yield "", {unit.line: f"{unit.indent}{unit.guard}{unit.opcode} {', '.join(parts)};"}
        return
    flip = f"xor.b32 fa4_fault, {parts[2]}, 1;"
    parts[2] = "fa4_fault"
    yield "", {unit.line: _scoped(unit, "b32", flip, f"{unit.opcode} {', '.join(parts)}")}


def _bytes(change):
    def operator(lines, unit):
        if "expect_tx" in unit.opcode:
            head, size = unit.operands.rsplit(",", 1)
            computation = f"{change} fa4_fault, {size.strip()}, 1;"
            yield "", {unit.line: _scoped(unit, "b32", computation, f"{unit.opcode} {head}, fa4_fault")}

    return operator


def _plain(lines, unit):
    if "expect_tx" in unit.opcode and "arrive" in unit.opcode:
        head = unit.operands.rsplit(",", 1)[0]
        opcode = unit.opcode.replace(".expect_tx", "")
        yield "", {unit.line: f"{unit.indent}{unit.guard}{opcode} {head};"}


def _count(lines, unit):
    """Makes a barrier wait for one arrival more or less, or an arrival count twice."""
    if unit.is_a(r"mbarrier\.init"):
        head, count = unit.operands.rsplit(",", 1)
        for detail, change in (("more", "add.u32 fa4_fault, {0}, 1;"), ("less", "sub.u32 fa4_fault, {0}, 1;")):
            computation = change.format(count.strip())
            yield detail, {unit.line: _scoped(unit, "b32", computation, f"{unit.opcode} {head}, fa4_fault")}
    elif unit.is_a(r"mbarrier\.arrive\.(?!expect_tx)") and unit.operands.count(",") == 1:
        yield "two", {unit.line: f"{unit.indent}{unit.guard}{unit.opcode} {unit.operands}, 2;"}


def barrier_of(unit):
    """Returns the position of the mbarrier among the operands."""
    if unit.is_wait or unit.is_a(r"mbarrier\.arrive", REQUEST):
        return 1
    if unit.is_a(r"tcgen05\.commit", r"mbarrier\.(init|expect_tx)"):
        return 0
    if unit.is_a(COPY) and "mbarrier" in unit.opcode:
        return 2
    return None


def _barrier(lines, unit):
    """Uses the mbarrier beside the right one: of the neighbouring stage, or of another
    channel."""
    place = barrier_of(unit)
    if place is None:
        return
    for detail, distance in (("next", 8), ("previous", -8)):
        parts = split_operands(unit.operands)
        parts[place] = shifted(parts[place], distance)
        yield detail, {unit.line: f"{unit.indent}{unit.guard}{unit.opcode} {', '.join(parts)};"}


def _stage(lines, unit):
    """Uses the buffer of the neighbouring stage, 16 KiB further, for TMA copies and the
    right operands of MMAs; of a request, what lies beside the response."""
    parts = split_operands(unit.operands)
    if unit.is_a(COPY):
        place = next(i for i, part in enumerate(parts) if not part.startswith("[%rd") or "{" not in part)
        parts[place] = shifted(parts[place], 16384)
        yield "", {unit.line: f"{unit.indent}{unit.guard}{unit.opcode} {', '.join(parts)};"}
    elif unit.is_a(REQUEST):
        for detail, distance in (("next", 16), ("previous", -16)):
            yield detail, {unit.line: f"{unit.indent}{unit.guard}{unit.opcode} {shifted(parts[0], distance)}, {parts[1]};"}
    elif unit.is_a(r"tcgen05\.mma"):
        computation = f"add.s64 fa4_fault, {parts[2]}, 1024;"
        parts[2] = "fa4_fault"
        yield "", {unit.line: _scoped(unit, "b64", computation, f"{unit.opcode} {', '.join(parts)}")}


def _kind(lines, unit):
    for pattern, other in KINDS:
        if match := re.match(pattern, unit.opcode):
            opcode = other + unit.opcode[match.end() :] if "acq_rel" not in other else other
            operands = unit.operands
            if other == "bar.warp.sync":
                opcode, operands = other, "-1"
            yield other, {unit.line: f"{unit.indent}{unit.guard}{opcode} {operands};"}


def _columns(lines, unit):
    """Allocates half of the columns of tensor memory."""
    if unit.is_a(r"tcgen05\.(alloc|dealloc)"):
        head, count = unit.operands.rsplit(",", 1)
        computation = f"shr.u32 fa4_fault, {count.strip()}, 1;"
        yield "half", {unit.line: _scoped(unit, "b32", computation, f"{unit.opcode} {head}, fa4_fault")}


def _overlay(lines, unit):
    """Moves an address in tensor memory a little further, to what lies beside."""
    if not unit.is_a(r"tcgen05\.(ld|st|mma)\b"):
        return
    parts = split_operands(unit.operands)
    places = [i for i, part in enumerate(parts) if re.fullmatch(r"\[[^\]]*\]", part)]
    for place in places:
        name = "operand" if unit.is_a(r"tcgen05\.mma") and place else ""
        for columns in (32, -32) if unit.is_a(r"tcgen05\.(ld|st)") else (64,):
            changed = list(parts)
            register = re.fullmatch(r"\[(%\w+)(?:\+(-?\d+))?\]", parts[place])
            if not register:
                continue
            computation = f"add.s32 fa4_fault, {register[1]}, {int(register[2] or 0) + columns};"
            changed[place] = "[fa4_fault]"
            detail = f"{name}{columns:+}"
            yield detail, {unit.line: _scoped(unit, "b32", computation, f"{unit.opcode} {', '.join(changed)}")}


def _registers(lines, unit):
    if unit.is_a(r"setmaxnreg"):
        for change in (-8, 8, 64, -64):
            count = int(unit.operands) + change
            yield f"{change:+}", {unit.line: f"{unit.indent}{unit.guard}{unit.opcode} {count};"}


def _rank(lines, unit):
    """Reaches the other CTA of a pair, or one of the two alone."""
    if not unit.is_a(r"mapa\.", r"tcgen05\.commit\S*\.multicast"):
        return
    head, last = unit.operands.rsplit(",", 1)
    changes = [("leader", "b16", "mov.b16 fa4_fault, 1;"), ("peer", "b16", "mov.b16 fa4_fault, 2;")]
    if unit.is_a(r"mapa\."):
        changes = [("other", "b32", f"xor.b32 fa4_fault, {last.strip()}, 1;")]
    for detail, register_type, computation in changes:
        yield detail, {unit.line: _scoped(unit, register_type, computation, f"{unit.opcode} {head}, fa4_fault")}


def _leader(lines, unit):
    """Has the other CTA of a pair do what the leader does, or both of them."""
    if _begins_role_of_leader(lines, unit.line):
        register = unit.operands.split(",")[0]
        yield "other", {unit.line: f"{lines[unit.line - 1]} xor.b32 {register}, {register}, 1;"}
        yield "both", {unit.line: f"{unit.indent}mov.u32 {register}, 0;"}


def _pending(lines, unit):
    """Leaves one group more in flight."""
    if unit.is_a(r"wgmma\.wait_group"):
        yield "", {unit.line: f"{unit.indent}{unit.guard}{unit.opcode} {int(unit.operands) + 1};"}


_ALONE = {
    "delete": _delete, "duplicate": _duplicate, "parity": _parity, "half": _bytes("shr.u32"),
    "double": _bytes("shl.b32"), "plain": _plain, "count": _count, "barrier": _barrier, "stage": _stage,
    "kind": _kind, "columns": _columns, "overlay": _overlay, "registers": _registers,
    "pending": _pending, "rank": _rank, "leader": _leader,
}  # fmt: skip


def _with_neighbours(lines, units):
    """(operator, unit, detail, edits) of what moves over its neighbour. Exchanged
    with it at no distance, `later` of one is `earlier` of the other."""
    for unit, other in zip(units, units[1:]):
        if not (unit.is_whole and other.is_whole):
            continue
        # In which order barriers are initialised is all the same.
        if unit.is_a(r"mbarrier\.init") and other.is_a(r"mbarrier\.init"):
            continue
        texts = set()
        for operator, moved, edits in (
            ("later", unit, _later(lines, unit, other)),
            ("earlier", other, _earlier(lines, other, unit)),
        ):
            for detail, changes in edits:
                region = range(unit.first - 1, other.last + 1)
                text = "".join(changes.get(n, lines[n - 1]) for n in region)
                if (text := re.sub(r"\s", "", text)) not in texts:
                    texts.add(text)
                    yield operator, moved, detail, changes


def basic_faults_of(lines: Sequence[str]) -> Iterator[Fault]:
    """Those of bench/sim-faults: synchronisation that is gone, the other phase,
    half of the bytes or none, one arrival more to wait for, one group more in
    flight."""
    units = {unit.line: unit for unit in units_of(lines)}
    for fault in faults_of(lines, ("delete", "parity", "half", "plain", "count", "pending")):
        if (fault.operator != "delete" or units[fault.line].is_synchronising) and (
            fault.operator != "count" or fault.detail == "more"
        ):
            yield fault


def faults_of(lines: Sequence[str], operators: Sequence[str] = OPERATORS) -> Iterator[Fault]:
    """Returns all faults by these operators, in the order of the lines."""
    units = units_of(lines)
    moved = {}
    if {"later", "earlier"} & set(operators):
        synchronising = [unit for unit in units if unit.is_synchronising or unit.is_a(COPY, REQUEST, r"tcgen05\.(ld|st|mma)\b")]
        for operator, unit, detail, edits in _with_neighbours(lines, synchronising):
            if unit.is_synchronising:
                moved.setdefault((unit.line, operator), []).append((detail, edits))
    for unit in units:
        original = lines[unit.line - 1].strip()
        for operator in operators:
            if operator in _ALONE:
                changes = _ALONE[operator](lines, unit)
            else:
                changes = moved.get((unit.line, operator), ())
            for detail, edits in changes:
                yield Fault(unit.line, operator, detail, original, edits)
