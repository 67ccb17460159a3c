# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Why a fault in PTX that no layer finds is none. A reason is given by class, from
the text around the fault; what no class covers has none and is a failure of the
suite.

Every class leans on two facts. The simulator's races are decided by what is
synchronised and not by the order of the run, so that a run without a finding
speaks for all schedules of the same control flow. And a role waits for one
mbarrier after the other, whose phases have one producer each: what is enabled
stays enabled, so that whether the roles come to an end is the same in all
schedules, too. What is left to argue is that the calls cover the control flow
(each instruction is executed, rings go round more than once) and that phases are
not mixed up; that is what the classes are about."""

import itertools
import re
from collections.abc import Collection, Sequence

from fa4_testing.mutation.faults import COPY, INSTRUCTION, LABEL, REGISTER, REQUEST, RESPONSE, Fault, barrier_of, split_operands, units_of

TENSOR = r"tcgen05\.(ld|st|mma|cp|shift)\b"
ARRIVAL = (r"mbarrier\.arrive", r"tcgen05\.commit", r"mbarrier\.expect_tx")
FENCE = r"fence\.|tcgen05\.fence"
ASYNCHRONOUS = (TENSOR, r"cp\.async\.bulk\.tensor")


class Context:
    """The lines of a kernel, and where things are in them. `waits`: those of its
    protocol in their order, as (first mbarrier, number of them, whether the
    verifier proves that the kernel is right without it). `ahead`: the same of those in rings, but whether it proves
    that the kernel is right if the wait asks for the next value, too. `unfenced`: mbarriers of which it proves that
    their arrivals, all of them, need not order accesses to tensor memory."""

    def __init__(
        self,
        lines: Sequence[str],
        waits: Sequence[tuple[int, int, bool]] = (),
        ahead: Sequence[tuple[int, int, bool]] = (),
        unfenced: Collection[int] = (),
    ):
        self.lines = lines
        self.text = "\n".join(lines)
        self.units = units_of(lines)
        self.opcodes = {n: match[3] for n, line in enumerate(lines, 1) if (match := INSTRUCTION.match(line))}
        self.by_line = {unit.line: unit for unit in self.units}
        self.labels = {match[1]: n for n, line in enumerate(lines, 1) if (match := LABEL.match(line))}
        self.starts, self.edges = self._blocks()
        self.definitions = self._definitions()
        self.redundant = self._proven(waits)
        self.early = self._proven(ahead)
        # First mbarrier of a ring -> number of them.
        self.rings = {first: number for first, number, _ in (*waits, *ahead)}
        self.unfenced = frozenset(unfenced)
        # Lines of waits in loops that no call goes around, for the phase before an mbarrier's first.
        self.over = set()

    def only(self, pattern):
        """The group of the only match in the text; None if there are none or several."""
        found = re.findall(pattern, self.text)
        return found[0] if len(found) == 1 else None

    def mbarrier_of(self, unit):
        """Number of the mbarrier that a wait is for, or an arrival at, in whatever CTA, the first if it is one of
        several; None if that cannot be told."""
        first = min((_offset_of(u) for u in self.units if u.is_a(r"mbarrier\.init")), default=None)
        place = barrier_of(unit)
        if None in (first, place) or not (match := re.fullmatch(r"\[(%?\w+)(?:\+(\d+))?\]", split_operands(unit.operands)[place])):
            return None
        offset = int(match[2] or 0) + self._added(match[1])
        return (offset - first) // 8 if offset >= first else None

    def _definitions(self):
        """Register -> (instruction, operands) of each addition and mapping of addresses that defines it."""
        found = {}
        for match in re.finditer(r"^\s*(add\.s64|mapa\.\S+)\s+(%\w+), (.*);", self.text, re.MULTILINE):
            found.setdefault(match[2], []).append((match[1], split_operands(match[3])))
        return found

    def _added(self, register):
        """The constants that are part of an address in a register, also of one that `mapa` has made another CTA's."""
        definitions = self.definitions.get(register, ())
        if len(definitions) != 1:
            return 0
        opcode, (address, other) = definitions[0]
        added = 0 if opcode.startswith("mapa") else int(other) if re.fullmatch(r"-?\d+", other) else self._added(other)
        return self._added(address) + added

    def _proven(self, waits):
        """Lines of the waits of which something is proven. Instructions keep the
        order of the steps; of a loop that was split there are more of them, which
        is told where all steps for the same mbarriers are alike."""
        lines = set()
        units = [(unit, self.mbarrier_of(unit)) for unit in self.units if unit.is_wait]
        for ring in {wait[:2] for wait in waits}:
            first, number = ring
            steps = [accepted for *other, accepted in waits if tuple(other) == ring]
            ours = [unit for unit, place in units if place is not None and first <= place < first + number]
            if len(set(steps)) == 1:
                steps = steps[:1] * len(ours)
            if len(steps) == len(ours):
                lines |= {unit.line for unit, accepted in zip(ours, steps) if accepted}
        return lines

    def _blocks(self):
        """First lines of blocks, and first line -> those of its successors; loops
        of waits are left out."""
        waits = {unit.last for unit in self.units if unit.is_wait and unit.first != unit.last}
        starts, edges, start = [1], {1: set()}, 1

        def begin(number):
            nonlocal start
            start = number
            starts.append(number)
            edges.setdefault(number, set())

        for number, line in enumerate(self.lines, 1):
            if LABEL.match(line) and number != start:
                edges[start].add(number)
                begin(number)
            if (branch := re.match(r"\s*(@\S+\s+)?bra(?:\.uni)?\s+([$\w]+);", line)) and number not in waits:
                edges[start].add(self.labels.get(branch[2], number))
                if branch[1]:
                    edges[start].add(number + 1)
                begin(number + 1)
            elif re.match(r"\s*(ret|exit);", line):
                begin(number + 1)
        return starts, edges

    def back_edges(self, line):
        """Lines of the branches that lead back over a line, but for loops of waits."""
        waits = {unit.last for unit in self.units if unit.is_wait}
        found = []
        for number in range(line, len(self.lines) + 1):
            if number not in waits and self.target(number) <= line:
                found.append(number)
        return found

    def target(self, number):
        """The line that a branch leads to; of any other line, the next one."""
        branch = re.match(r"\s*(?:@\S+\s+)?bra(?:\.uni)?\s+([$\w]+);", self.lines[number - 1])
        return self.labels.get(branch[1], number + 1) if branch else number + 1

    def in_loop(self, line):
        start = max(first for first in self.starts if first <= line)
        seen, todo = set(), [start]
        while todo:
            for target in self.edges.get(todo.pop(), ()):
                if target == start:
                    return True
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
        return False

    def reaches(self, line, goals, others, or_end=False):
        """Whether all ways from a line come to one of the goals before they come to
        one of the others, or to the end."""
        seen, todo = set(), [line + 1]
        while todo:
            number = todo.pop()
            if number in seen or number in goals:
                continue
            seen.add(number)
            match = INSTRUCTION.match(self.lines[number - 1]) if number <= len(self.lines) else None
            opcode = match[3] if match else ""
            if number in others:
                return False
            if number > len(self.lines) or (re.match(r"(ret|exit)\b", opcode) and not match[2]):
                if not or_end:
                    return False
                continue
            is_branch = re.match(r"bra\b", opcode)
            if is_branch:
                todo.append(self.labels[match[4].strip()])
            if not is_branch or match[2]:
                todo.append(number + 1)
        return True

    def ahead(self, unit):
        """Yields the units behind this one, up to a branch or a label."""
        return self._walk(unit, 1)

    def behind(self, unit):
        """Yields the units before this one, from the nearest, up to a branch or a
        label."""
        return self._walk(unit, -1)

    def _walk(self, unit, step):
        place = self.units.index(unit) + step
        number = unit.last if step > 0 else unit.first
        while 0 <= place < len(self.units):
            other = self.units[place]
            between = self.lines[number : other.first - 1] if step > 0 else self.lines[other.last : number - 1]
            if any(LABEL.match(line) or re.search(r"\b(bra|ret|exit)\b", line) for line in between):
                return
            yield other
            number = other.last if step > 0 else other.first
            place += step


def reason(
    fault: Fault, context: Context, executed: bool = True, without: str | None = None, unawaited: bool = False
) -> str | None:
    """Of a fault that nothing has found. `executed`: some call gets there. `without`: the layer that finds it when
    the instruction is left out altogether, "" for none, None if not known. `unawaited`: the arrival right behind it can
    be left out."""
    if not executed:
        return "never executed"
    if unawaited and fault.operator in ("delete", "later"):
        return "a wait for what stores have read, before a release behind which nobody acquires the stage"
    return _first(_CLASSES, fault, context, without)


def waits_for_first_phase(fault: Fault, context: Context) -> bool:
    """Whether the fault is in a wait that is for the phase before an mbarrier's first when it is executed first."""
    return _is_for_first_phase(context.by_line[fault.line], context)


def edges_around(fault: Fault, context: Context) -> list[int]:
    """Returns lines of branches back. If no call takes any of them, the instruction is executed once: in all, if it waits
    for the phase before an mbarrier's first, or in a work tile, if it arrives for a value that nobody reads."""
    edges = context.back_edges(fault.line)
    if waits_for_first_phase(fault, context):
        return edges
    if not is_for_unread_value(fault, context):
        return []
    others = _other_arrivals(context.by_line[fault.line], context)
    return [edge for edge in edges if not any(context.target(edge) <= other.line <= edge for other in others)]


def plain_reason(fault: Fault, context: Context) -> str | None:
    """A reason that the text alone gives, whether anything finds the fault or not."""
    return _first(_PLAIN_CLASSES, fault, context, None)


def _first(classes, fault, context, without):
    unit = context.by_line[fault.line]
    for check in classes:
        if text := check(fault, unit, context, without):
            return text
    return None


# ---------------------------------------------------------------------------
# Classes
# ---------------------------------------------------------------------------


def _last_barrier(fault, unit, context, without):
    if fault.operator in ("delete", "kind") and unit.is_a(r"bar\.sync") and next(iter(context.ahead(unit)), None) is None:
        return "a barrier of all threads of the CTA, behind which the warp ends: threads that have ended count as arrived"
    return None


def _cluster_barrier(fault, unit, context, without):
    """At the end: the simulator asks of each access and arrival of another CTA whether a thread of the CTA knows of it
    when it ends, and goes by what is synchronised."""
    if _has_tensor_operations(unit, context) and fault.operator == "kind" and unit.is_a(r"barrier\.cluster\.arrive"):
        return ("a role's arrival at the cluster's last barrier, relaxed: what its threads have done they have handed on to others of "
                "their CTA before, whose arrivals at this barrier are releases")  # fmt: skip
    ends = next(iter(context.ahead(unit)), None) is None
    if ends and fault.operator == "delete" and unit.is_a(r"barrier\.cluster\.wait"):
        return ("a wait for the other CTA by threads that end behind it: the memory of their CTA is there until its last thread ends, "
                "and the one that frees tensor memory waits")  # fmt: skip
    return None


def _repeated(fault, unit, context, without):
    if fault.operator != "duplicate":
        return None
    if unit.is_wait:
        return ("a wait done twice: the phase is over, and the next one needs an arrival that this role makes possible "
                "only behind both")  # fmt: skip
    if unit.is_a(r"fence\.", r"tcgen05\.(fence|wait)", r"bar\.warp\.sync", r"cp\.async\.bulk\.(commit|wait)"):
        return "a fence, a wait for asynchronous accesses or an empty group: nothing is left for the second one"
    if unit.is_a(r"bar\.sync"):
        return "a barrier of all threads of the CTA, twice"
    if unit.is_turn:
        return "a turn awaited twice: it is this work tile's until the tile itself passes it on"
    if unit.is_a(r"griddepcontrol\.wait"):
        return "a wait for the launch in front, twice: that has ended"
    if unit.is_a(r"mbarrier\.arrive", r"tcgen05\.commit") and _is_last(unit, context, without):
        return _LAST
    return None


def _loaded(unit, context):
    """Returns the tensor loads right before a wait for them."""
    return [other for other in _until(context.behind(unit), r"tcgen05\.wait") if other.is_a(r"tcgen05\.ld")]


def _until(units, *patterns):
    for unit in units:
        if unit.is_a(*patterns):
            return
        yield unit


def _read_before_release(load, context):
    """Holds if all registers of the load are read before its thread signals to anybody.
    """
    target = set(REGISTER.findall(split_operands(load.operands)[0]))
    end = next((unit.first for unit in context.units if unit.line > load.line and unit.is_a(*ARRIVAL, r"bar\.")), None)
    text = context.lines[load.last : (end or len(context.lines)) - 1]
    read = set()
    for statement in itertools.chain.from_iterable(map(_statements, text)):
        if match := INSTRUCTION.match(statement):
            parts = split_operands(match[4])
            read |= set(REGISTER.findall(", ".join(parts if parts[0].startswith("[") else parts[1:])))
    return target <= read


def _statements(line):
    """Returns the statements of a line; more than one if it is a block, as the back
    end writes inline assembly."""
    if not line.lstrip().startswith("{"):
        return [line]
    return [part.strip() + ";" for part in line.strip().strip("{}").split(";") if part.strip()]


def _tensor_load(fault, unit, context, without):
    """PTX orders the instructions that read a register behind the load that defines it.
    """
    if not unit.is_a(r"tcgen05\.wait::ld") or fault.operator not in ("delete", "kind", "later", "earlier"):
        return None
    loads = _loaded(unit, context)
    if all(_read_before_release(load, context) for load in loads):
        return "all registers that the load defines are read before the columns are handed on, which is as good as its wait"
    return None


def _tensor_fence(fault, unit, context, without):
    """Holds if there is nothing to order between a fence and the next one like it."""
    if fault.operator not in ("delete", "kind", "later", "earlier"):
        return None
    if unit.is_a(r"tcgen05\.fence::after"):
        for other in context.ahead(unit):
            if other.is_a(TENSOR):
                break
            if other.is_a(r"tcgen05\.fence::after"):
                return "another tcgen05.fence::after_thread_sync comes before the next access to tensor memory"
        if text := _idle_fence(unit, context):
            return text
    if unit.is_a(r"tcgen05\.fence::before"):
        # What is between them begins no access, and waits for nobody whose accesses the fence would speak for.
        nearest = next((other for other in context.behind(unit) if not other.is_a(r"mbarrier\.arrive", r"mapa\.")), None)
        if nearest and nearest.is_a(r"tcgen05\.fence::before") and not nearest.guard:
            return ("another tcgen05.fence::before_thread_sync comes before it, with arrivals between them and no access to tensor "
                    "memory: all that this one orders is in order")  # fmt: skip
    if text := _fence_of_shared_memory(unit, context):
        return text
    if unit.is_a(r"tcgen05\.fence::before") and fault.detail == "behind bar.sync":
        barrier = _crossed(fault, unit, context)
        after = {u.line for u in context.units if u.is_a(r"tcgen05\.fence::after")}
        accesses = {u.line for u in context.units if u.is_a(TENSOR, r"tcgen05\.dealloc", *ARRIVAL)}
        if context.reaches(barrier.line, after, accesses, or_end=True):
            return ("a fence behind a barrier of the CTA and before the other fence of who goes on: it speaks for what the "
                    "barrier has ordered before it, too")  # fmt: skip
    work = {u.line for u in context.units if u.is_a(TENSOR, r"tcgen05\.commit")}
    if unit.is_a(r"tcgen05\.fence") and context.in_loop(unit.line) and context.reaches(unit.line, set(), work, or_end=True):
        return ("a fence of a thread that does not access tensor memory in the loop or behind it: who does hands that on to others by "
                "arrivals of their own, in all schedules")  # fmt: skip
    # A cluster's barrier is two instructions: a fence that is moved behind the arrival is not in front of it any more.
    is_gone = fault.operator in ("delete", "kind") or fault.detail.startswith("behind barrier.cluster.arrive")
    if unit.is_a(r"tcgen05\.fence::before") and is_gone and _ends_tensor_work(unit, context):
        return ("a fence in front of the CTA's last barrier: on all ways to it, loads and stores of tensor memory are behind their "
                "waits, and of products, which are asynchronous, it ends none")  # fmt: skip
    is_start = not _has_tensor_operations(unit, context)
    if is_start and (unit.is_a(r"tcgen05\.fence") or (unit.is_a(r"bar\.sync", r"barrier\.cluster") and "tcgen05.fence" in fault.detail)):
        return "no access to tensor memory is under way when it is allocated"
    return None


def _fence_of_shared_memory(unit, context):
    """A fence that nothing but hand-overs need which order no accesses to tensor memory."""
    is_needless = _follows_shared_memory if unit.is_a(r"tcgen05\.fence::after") else _leads_to_shared_memory
    if unit.is_a(r"tcgen05\.fence") and is_needless(unit, context):
        return ("a fence of who hands on shared memory: that those who hand on tensor memory, with fences of their own, order all "
                "accesses to it, is proven for all numbers of passes")  # fmt: skip
    return None


def _follows_shared_memory(fence, context):
    """Whether only waits for shared memory are between a fence and the one before it."""
    waits = False
    for other in context.behind(fence):
        if other.is_a(fence.opcode):
            return waits and not other.guard
        if not other.is_wait or context.mbarrier_of(other) not in context.unfenced:
            return False
        waits = True
    return False


def _leads_to_shared_memory(fence, context):
    """Whether the fence is in front of arrivals that hand on shared memory, and on all ways another one is in front of
    each arrival that hands on tensor memory. A commit speaks for its MMAs by itself."""
    arrivals = [u for u in context.units if u.is_a(r"mbarrier\.arrive")]
    shared = {u.line for u in arrivals if context.mbarrier_of(u) in context.unfenced}
    following = next(iter(context.ahead(fence)), None)
    if not following or following.line not in shared:
        return False
    fences = {u.line for u in context.units if u.is_a(fence.opcode) and not u.guard} - {fence.line}
    others = {u.line for u in arrivals if u.line not in shared}
    others |= {u.line for u in context.units if u.is_a(r"bar\.(?!warp)", r"barrier\.", r"red\.release", r"tcgen05\.dealloc")}
    return context.reaches(fence.line, fences, others, or_end=True)


def _ends_tensor_work(unit, context):
    """Whether the last barrier of the CTA, or of its cluster, follows, and all of the CTA's loads and stores of tensor
    memory that come to the unit have been waited for."""
    follows = next(iter(context.ahead(unit)), None)
    work = {u.line for u in context.units if u.is_a(TENSOR, *ARRIVAL)}
    is_barrier = follows and follows.is_a(r"bar\.sync", r"barrier\.cluster\.arrive")
    if not is_barrier or not context.reaches(follows.line, set(), work, or_end=True):
        return False
    for kind in ("ld", "st"):
        waits = {u.line for u in context.units if u.is_a(rf"tcgen05\.wait::{kind}")}
        accesses = [u for u in context.units if u.is_a(rf"tcgen05\.{kind}\b")]
        if not all(context.reaches(access.line, waits, {unit.line}, or_end=True) for access in accesses):
            return False
    return True


def _idle_fence(unit, context):
    """A fence right behind a wait that brings nothing which the role has not ordered already."""
    wait = next(iter(context.behind(unit)), None)
    if not wait or not wait.is_wait:
        return None
    if wait.line in context.redundant:
        return ("a fence behind a wait for what other waits have brought already, which the verifier proves for all numbers of "
                "passes: the fences of those have ordered it")  # fmt: skip
    if not context.in_loop(wait.line) and _is_for_first_phase(wait, context):
        return "a fence behind a wait for the phase before an mbarrier's first: nobody has signalled yet"
    return None


def _has_tensor_operations(unit, context):
    return any(other.is_a(TENSOR, r"tcgen05\.commit") and other.line < unit.line for other in context.units)


_READ_ALREADY = "a wait for what stores have read, behind one for the end of the same stores"
_LAST = "a release at the end of the role, behind which nobody acquires the stage"


def _is_last(unit, context, without):
    return without == "" and unit.is_a(*ARRIVAL) and not context.in_loop(unit.line)


def _last_release(fault, unit, context, without):
    if fault.operator == "delete" and unit.is_a(*ARRIVAL) and not context.in_loop(unit.line):
        return _LAST
    if fault.operator in ("barrier", "count", "later", "plain", "rank") and _is_last(unit, context, without):
        return _LAST
    return None


def _first_pass(fault, unit, context, without):
    if not unit.is_wait or fault.operator not in ("delete", "later", "earlier"):
        return None
    is_first = not context.in_loop(unit.line) and _is_for_first_phase(unit, context)
    if is_first or unit.line in context.over:
        return "a wait, once, for the phase before an mbarrier's first: it is over from the start"
    return None


def _instead(fault, unit, context, without):
    """A wait for another mbarrier."""
    if fault.operator != "barrier" or not unit.is_wait:
        return None
    if _implies(unit, 8 if fault.detail == "next" else -8, context):
        return "a wait for a later signal of the same threads, which implies the one it stands for"
    if fault.detail == "next" and _runs_ahead(unit, context):
        return ("a wait for the next value of a ring, which the same threads signal behind the one it stands for, and in the last stage, "
                "whose value has been waited for, for a phase that this role has ended: that the roles still come to an end, and in "
                "order, is proven for all numbers of passes")  # fmt: skip
    if unit.line in context.over:
        return ("in place of a wait, once, for the phase before an mbarrier's first, one for a phase that is over or does not need "
                "this role, and whose successor does")  # fmt: skip
    if unit.line in context.redundant:
        return ("in place of a wait that is proven to be redundant, one for a phase that is over or does not need this role, "
                "and whose successor does")  # fmt: skip
    return None


def _offset_of(unit, context=None):
    """Returns the constant address of the mbarrier, also where `mapa` has made it the leader's; None if there is none."""
    if match := re.search(r"\[\w+\+(\d+)\]", unit.operands):
        return int(match[1])
    mapped = re.search(r"\[(%\w+)\]", unit.operands)
    if not mapped or not context:
        return None
    own = context.only(rf"mapa\.shared::cluster\.u64\s+{mapped[1]}, (%\w+), 0;")
    offset = own and context.only(rf"add\.s64\s+{own}, %\w+, (\d+);")
    return int(offset) if offset else None


def _implies(unit, distance, context):
    """Arrivals at the wait's mbarrier and at that beside it take turns, so that of
    each phase the latter's come behind the former's."""
    place = _offset_of(unit)
    if place is None:
        return False
    for pattern in (r"mbarrier\.arrive\.(?!expect)", r"tcgen05\.commit"):
        signals = [u for u in context.units if u.is_a(*ARRIVAL) and _offset_of(u, context) == place]
        others = [u for u in context.units if u.is_a(*ARRIVAL) and _offset_of(u, context) == place + distance]
        if not signals or not others or not all(u.is_a(pattern) for u in signals + others):
            continue
        first, second = {u.line for u in signals}, {u.line for u in others}
        return all(context.reaches(line, second, first) for line in first) and all(
            context.reaches(line, first, second, or_end=True) for line in second
        )
    return False


def _runs_ahead(wait, context):
    """Of a wait in a loop for the values of a ring, one for each pass: whether the mbarrier behind each one is as good. It is
    that of the next value, which comes, and behind the last stage that of the first stage's giving back."""
    first = context.mbarrier_of(wait)
    stages = context.rings.get(first, 1)
    if "[%" not in wait.operands or stages < 2 or wait.line not in context.early or context.rings.get(first + stages) != stages:
        return False
    waits = {u.line for u in context.units if u.is_wait and context.mbarrier_of(u) == first}
    others = waits - {wait.line}
    # The first pass is for the first stage, and behind the last pass there is one more value.
    is_first = all(context.reaches(line, set(), {wait.line}, or_end=True) for line in others)
    if not is_first or not context.in_loop(wait.line) or not context.reaches(wait.line, others, set()):
        return False
    arrivals = [(u, context.mbarrier_of(u)) for u in context.units if u.is_a(*ARRIVAL)]
    if any(mbarrier is None for _, mbarrier in arrivals):
        return False
    # Threads signal value after value: each behind the one before it. (A copy would end whenever it likes.)
    signals = [u for u, mbarrier in arrivals if mbarrier == first]
    if len(signals) != 1 or not signals[0].is_a(r"mbarrier\.arrive\.(?!expect)") or not context.in_loop(signals[0].line):
        return False
    # This role alone gives stages back, one behind each wait.
    back = [u for u, mbarrier in arrivals if mbarrier == first + stages]
    ends = {u.line for u in back}
    if not back or not all(u.is_a(r"tcgen05\.commit") for u in back):
        return False
    return all(context.reaches(context.by_line[line].last, ends, waits) for line in waits) and all(
        context.reaches(line, waits, ends, or_end=True) for line in ends
    )


def _is_for_first_phase(unit, context):
    """Of a wait, in the first pass if it is in a loop: whether it is for the phase before an mbarrier's first."""
    return unit.is_wait and _constant(split_operands(unit.operands)[2], unit, context) == 1


def _constant(operand, unit, context, end=None):
    """The number that an operand of the unit is, in the first pass if it is in a loop; None if that is not known. What is
    above defines it: `mov.b32 %r1, 0;` in front of the loop, and `add.s32 %r2, %r1, 1; and.b32 %r3, %r2, 1;` in it."""
    if re.fullmatch(r"\d+", operand):
        return int(operand)
    end = unit.line if end is None else end
    for number in range(end - 1, max(unit.first - 20, 0), -1):
        if not (match := re.search(rf"(mov|add|and)\.[bs]32\s+{re.escape(operand)}, (.*?);", context.lines[number - 1])):
            continue
        parts = [_constant(part, unit, context, number) for part in split_operands(match[2])]
        if None in parts or len(parts) != (1 if match[1] == "mov" else 2):
            return None
        return parts[0] if match[1] == "mov" else sum(parts) if match[1] == "add" else parts[0] & parts[1]
    return None


def _redundant(fault, unit, context, without):
    if unit.line in context.redundant and fault.operator == "delete":
        return "a wait for what other waits have brought already, which the verifier proves for all numbers of passes"
    return None


def _crossed(fault, unit, context):
    """Returns the unit over which this one was moved."""
    units = context.ahead(unit) if fault.operator == "later" else context.behind(unit)
    wanted = fault.detail.split(" ", 1)[1]
    return next((other for other in units if other.opcode == wanted), None)


def _reads_tensor_memory(mma):
    """Whether A is an address, in brackets, and not a descriptor."""
    return split_operands(mma.operands)[1].startswith("[")


def _is_read_already(unit, context):
    """Whether a wait for what stores have read comes behind one for the end of the same stores."""
    if not unit.is_a(r"cp\.async\.bulk\.wait_group\.read"):
        return False
    # A commit between them would begin another group.
    nearest = next((other for other in context.behind(unit) if other.is_a(r"cp\.async\.bulk\.(commit|wait)_group")), None)
    return bool(nearest) and nearest.is_a(r"cp\.async\.bulk\.wait_group(?!\.read)") and int(nearest.operands) <= int(unit.operands)


def _moved(fault, unit, context, without):
    if fault.operator not in ("later", "earlier"):
        return None
    other = _crossed(fault, unit, context)
    if other is None:
        return None
    first, second = (unit, other) if fault.operator == "later" else (other, unit)
    # In the mutant, `second` comes before `first`.
    kinds = (r"griddepcontrol\.wait", r"bar\.sync|barrier\.cluster")
    if any(first.is_a(one) and second.is_a(other) for one, other in (kinds, kinds[::-1])):
        return ("the wait for the launch in front and a barrier of the CTA or its cluster in the other order: no thread has both behind it "
                "earlier, and there is no access to global memory between them")  # fmt: skip
    if first.is_a(r"tcgen05\.wait") and second.is_a(r"tcgen05\.wait"):
        return "waits for loads and for stores of tensor memory in the other order, with no access between them"
    if first.is_wait and second.is_wait:
        return "two waits in the other order: the role goes on when both phases are over"
    if first.is_a(FENCE) and second.is_a(FENCE):
        return "two fences in the other order, with nothing in between"
    if first.is_a(r"tcgen05\.fence::after") and second.is_a(r"tcgen05\.mma") and not _reads_tensor_memory(second):
        return ("a fence behind the first MMA of operands in shared memory: what other threads have done with tensor memory "
                "matters to MMAs behind both")  # fmt: skip
    if _is_read_already(first, context) or _is_read_already(second, context):
        return _READ_ALREADY
    if first.is_a(r"red\.release") and second.is_a(r"cp\.async\.bulk\.wait_group"):
        return "a turn passed on behind a wait for the thread's own stores, which wait for nobody: it is passed on later"
    if first.is_a(r"mbarrier\.arrive\.expect_tx") and second.is_a(REQUEST):
        return ("an arrival that expects the bytes of a response behind the request: the phase is over when both have come, in "
                "either order")  # fmt: skip
    if first.is_a(*ARRIVAL) and second.is_a(*ARRIVAL):
        return "two arrivals in the other order, with nothing in between"
    if first.is_a(*ARRIVAL) and second.is_wait:
        return ("an arrival behind a wait: whether all roles come to an end does not depend on the schedule, and they do "
                "for all numbers of blocks")  # fmt: skip
    if first.is_wait and second.is_a(*ARRIVAL):
        return "an arrival before a wait: nobody waits longer, and nothing in between has to be seen"
    if first.is_a(*ARRIVAL):
        return "an arrival behind accesses that wait for nobody: what it hands on is handed on later"
    if second.is_wait and first.is_a(COPY):
        return ("a wait before a copy: whether all roles come to an end does not depend on the schedule, and they do for all "
                "numbers of blocks")  # fmt: skip
    if second.is_wait:
        return "a wait before accesses that signal nothing themselves: they begin later"
    if first.is_wait:
        return "a wait behind accesses that do not need it"
    if second.is_a(*ARRIVAL):
        return None
    return None


def _initialisation(fault, unit, context, without):
    if fault.operator in ("delete", "kind", "later", "earlier", "duplicate") and (
        unit.is_a(r"fence\.mbarrier_init") or (unit.is_a(r"mbarrier\.init") and fault.operator == "later")
    ):
        return "fence.mbarrier_init in front of a barrier of the CTA: it is other CTAs of a cluster that need it"
    return None


def _budget(fault, unit, context, without):
    if unit.is_a(r"setmaxnreg") and fault.operator in ("registers", "delete"):
        return "a register budget in which ptxas needs no spills, and that the register file has"
    if unit.is_a(r"tcgen05\.relinquish"):
        return "the permit to allocate tensor memory: the CTA allocates once, and is alone on its SM"
    return None


_MEETING = r"(bar|barrier|tcgen05\.(alloc|dealloc|relinquish|ld|st|wait)|setmaxnreg|elect|shfl|vote|redux)\b"
_MEMORY = r"(ld|st|red|atom|cp|mbarrier|prefetch|fence|tcgen05)\b"


def _meets(context, line):
    """Whether on all ways from a line lanes meet again by an instruction that waits
    for them before one that touches memory."""
    meeting = {n for n, opcode in context.opcodes.items() if re.match(_MEETING, opcode)}
    memory = {
        n for n, opcode in context.opcodes.items()
        if re.match(_MEMORY, opcode) and not re.match(r"ld\.param|tcgen05\.fence", opcode)
    }  # fmt: skip
    return context.reaches(line, meeting, memory - meeting, or_end=True)


def _warp(fault, unit, context, without):
    if unit.is_a(r"bar\.warp\.sync") and fault.operator == "delete" and _meets(context, unit.line):
        return ("bar.warp.sync behind which lanes meet by an instruction that waits for all of them before any of them touches "
                "memory")  # fmt: skip
    return None


def release_behind(line: int, context: Context):
    """Returns the arrival outside of loops right behind a wait for what stores have read, or None."""
    unit = context.by_line[line]
    following = next(iter(context.ahead(unit)), None)
    if not unit.is_a(r"cp\.async\.bulk\.wait_group\.read") or not following or context.in_loop(following.line):
        return None
    return following if following.is_a(*ARRIVAL) else None


# What may read global memory, or let others read it.
_READ = r"ld(?!\.param|\.shared)|atom|red|cp\.async|mbarrier\.arrive|tcgen05\.commit"


def _group(fault, unit, context, without):
    if unit.is_a(r"cp\.async\.bulk\.wait_group") and fault.detail == "cp.async.bulk.wait_group.read":
        reads = {n for n, opcode in context.opcodes.items() if re.match(_READ, opcode)}
        if context.reaches(unit.line, set(), reads, or_end=True):
            return ("a wait for what the last stores have read, not for what they have written: nobody reads that before the "
                    "grid's end")  # fmt: skip
    if fault.operator in ("delete", "later", "kind") and _is_read_already(unit, context):
        return _READ_ALREADY
    if unit.is_a(r"cp\.async\.bulk\.wait_group\b(?!\.read)") and fault.operator == "delete":
        stores = [u.line for u in context.units if u.is_a(COPY) and "global.shared::cta" in u.opcode]
        waits = {u.line for u in context.units if u.is_a(r"cp\.async\.bulk\.wait_group") and int(u.operands) == 0} - {unit.line}
        reads = {n for n, opcode in context.opcodes.items() if re.match(_READ, opcode)}
        is_read = all(context.reaches(line, waits, {unit.line}) for line in stores)
        if stores and is_read and context.reaches(unit.line, set(), reads, or_end=True):
            return "a wait for what the last stores have written, behind waits for what they have read: nobody reads that before the grid's end"
    is_moved = fault.operator == "earlier" and "cp.async.bulk.tensor" in fault.detail
    if unit.is_a(r"cp\.async\.bulk\.commit_group") and (is_moved or fault.operator in ("delete", "later")):
        for other in context.ahead(unit):
            if other.is_a(r"cp\.async\.bulk\.commit_group"):
                return "the next group takes the store in, and the wait is for all groups"
        others = {u.line for u in context.units if u.is_a(*ARRIVAL, COPY, r"cp\.async\.bulk\.commit_group")} - {unit.line}
        if fault.operator != "later" and context.reaches(unit.line, set(), others, or_end=True):
            return ("the last store of a thread, whose source nobody writes any more: kernels that never commit it are known to "
                    "work, as docs/simulator-memory-model.md has it")  # fmt: skip
    return None


def is_for_unread_value(fault: Fault, context: Context) -> bool:
    """Whether the fault moves an arrival for the first value of a work tile to the front, and who waits for that gives its
    place back without a read of it."""
    unit = context.by_line[fault.line]
    if fault.operator != "earlier" or not unit.is_a(r"mbarrier\.arrive\.(?!expect)") or (place := context.mbarrier_of(unit)) is None:
        return False
    waits = [u for u in context.units if u.is_wait and context.mbarrier_of(u) == place]
    if not waits or any(other.line < unit.line for other in _other_arrivals(unit, context)):
        return False
    following = next(iter(context.ahead(waits[0])), None)
    if not following or not following.is_a(r"mbarrier\.arrive\.(?!expect)"):
        return False
    opcodes = (context.opcodes.get(number, "") for number in range(waits[0].last, following.line))
    return not any(re.match(r"ld\b", opcode) for opcode in opcodes)


def _other_arrivals(unit, context):
    """Returns the arrivals at the same mbarrier."""
    place = context.mbarrier_of(unit)
    return [u for u in context.units if u.is_a(*ARRIVAL) and context.mbarrier_of(u) == place and u.line != unit.line]


def _unread(fault, unit, context, without):
    if unit.line in context.over and is_for_unread_value(fault, context):
        return ("an arrival, once for a work tile, for a value that nobody reads: who waits for it does nothing but give its place "
                "back")  # fmt: skip
    return None


def _own_request(fault, unit, context, without):
    """The proxy fence behind the read of a response and the arrival that gives the response's place back, the other way round."""
    other = _crossed(fault, unit, context) if fault.operator in ("later", "earlier") else None
    if other is None:
        return None
    fence, arrival = (unit, other) if fault.operator == "later" else (other, unit)
    if not fence.is_a(r"fence\.proxy\.async") or not arrival.is_a(r"mbarrier\.arrive") or (place := context.mbarrier_of(arrival)) is None:
        return None
    waits = [u.line for u in context.units if u.is_wait and context.mbarrier_of(u) == place]
    requests = {u.line for u in context.units if u.is_a(REQUEST)}
    # All ways from the wait lead to the request, and from there to the fence: they are one thread's.
    is_own = all(context.reaches(line, requests, set()) for line in waits)
    if waits and requests and is_own and all(context.reaches(line, {fence.line}, set()) for line in requests):
        return ("a fence behind an arrival for which only its own thread waits, to make the next request: it is in front of that "
                "anyway")  # fmt: skip
    return None


def _is_only_compared(register, context):
    """Whether nothing comes of a number but the answer whether it, or it shifted to the right, is below another one."""
    uses = [match for line in context.lines if re.search(rf"{re.escape(register)}\b", line) and (match := INSTRUCTION.match(line))]
    for match in uses:
        parts = split_operands(match[4])
        if parts[0] == register:
            continue
        is_compared = re.match(r"setp\.lt\.u32", match[3]) and parts[1] == register
        is_shifted = re.match(r"shr\.u32", match[3]) and parts[1] == register and _is_only_compared(parts[0], context)
        if not is_compared and not is_shifted:
            return False
    return True


def _response(fault, unit, context, without):
    if unit.is_a(RESPONSE) and fault.operator == "kind" and _is_only_compared(split_operands(unit.operands)[0], context):
        return ("another coordinate of a work tile, by a role to which it only says whether there is one: that a request was granted "
                "says so, too, as a grid has no more clusters than work tiles")  # fmt: skip
    return None


_CLASSES = [
    _repeated, _last_barrier, _cluster_barrier, _tensor_load, _tensor_fence, _first_pass, _last_release, _redundant, _instead, _moved,
    _initialisation, _budget, _group, _warp, _response, _unread, _own_request,
]  # fmt: skip
_PLAIN_CLASSES = [_repeated, _tensor_load]
