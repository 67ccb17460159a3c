# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is in the loops of a kernel's machine code, from nvdisasm's text.

    function = sass.parse(text)[0]
    for loop in function.loops():
        print(loop.shortest, loop.count("MUFU.EX2"))

A loop is a strongly connected part of the control-flow graph, so it is found
wherever the assembler has put its blocks. Instructions of a loop are those on
a *path*: once around, from the header to a branch back to it. The waits of a
kernel are loops within its loops, mostly out of line; a path does not go
through them if there is a way past, so what is counted is an iteration that
does not have to wait. Where a loop has branches there is a shortest and a
longest path.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

_LABEL = re.compile(r"^\s*(\.L_\w+):")
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;")
_SECTION = re.compile(r"^\s*\.section\s+\.text\.([^\s,\"]+)")
_GUARD = re.compile(r"^@(!?)(U?P(?:\d|T))\s+")
_TARGET = re.compile(r"`\((\.L_\w+)\)")
# Always true.
_TRUE = {"PT", "UPT"}


_CONTROL = re.compile(r"^\s*/\* 0x([0-9a-f]{16}) \*/\s*$")


@dataclass
class Instruction:
    text: str
    # The upper half of its encoding, from `nvdisasm -hex`. It says what the
    # instruction waits for.
    control: int = 0

    @property
    def signals(self):
        """The scoreboard on which it counts down when its results are there;
        None for instructions of a fixed latency."""
        scoreboard = self.control >> 46 & 7
        return None if scoreboard == 7 else scoreboard

    @property
    def waits_for(self):
        """The scoreboards that must be at zero before it is issued."""
        mask = self.control >> 52 & 0x3F
        return [scoreboard for scoreboard in range(6) if mask >> scoreboard & 1]

    @property
    def body(self):
        return _GUARD.sub("", self.text)

    @property
    def opcode(self):
        return self.body.split()[0]

    @property
    def conditional(self):
        """Returns whether the instruction has a guard, or is a branch with a predicate
        as its operand."""
        guard = _GUARD.match(self.text)
        if guard and guard[2] not in _TRUE:
            return True
        operands = self.body[len(self.opcode) :].split(",")
        return self.opcode.startswith("BRA") and any(
            re.fullmatch(r"!?~?U?[PR]\w+", operand.strip())
            and operand.strip() not in _TRUE
            for operand in operands
        )

    @property
    def target(self):
        if not self.opcode.startswith(("BRA", "JMP")):
            return None
        match = _TARGET.search(self.text)
        return match and match[1]

    @property
    def falls_through(self):
        ends = ("BRA", "JMP", "EXIT", "RET", "BRX", "KILL")
        return self.conditional or not self.opcode.startswith(ends)

    def matches(self, prefix):
        """MUFU.EX2 matches MUFU.EX2.F16, but FADD does not match FADD2."""
        return self.opcode == prefix or self.opcode.startswith(prefix + ".")


@dataclass
class Loop:
    """`shortest` and `longest` are instructions; `blocks` are all of the loop's,
    without those of the loops within it."""

    function: "Function"
    blocks: tuple
    shortest: list
    longest: list
    children: list = field(default_factory=list)

    def count(self, prefix, path="shortest"):
        return sum(i.matches(prefix) for i in getattr(self, path))

    def nested(self):
        """Yields the loops within this one, and theirs."""
        for child in self.children:
            yield child
            yield from child.nested()


class Function:
    def __init__(self, name, instructions, labels):
        self.name = name
        self.instructions = instructions
        self._split(labels)

    def __len__(self):
        """Returns the number of instructions, without the padding behind them."""
        return sum(not i.matches("NOP") for i in self.instructions)

    def count(self, prefix):
        return sum(i.matches(prefix) for i in self.instructions)

    # -- Control flow ---------------------------------------------------------

    def _split(self, labels):
        """Returns the basic blocks as (begin, end), and their successors."""
        code = self.instructions
        starts = {0, *labels.values()}
        for n, instruction in enumerate(code):
            if instruction.target or not instruction.falls_through:
                starts.add(n + 1)
        starts = sorted(n for n in starts if n < len(code))
        self.blocks = list(zip(starts, [*starts[1:], len(code)]))
        block_at = {begin: b for b, begin in enumerate(starts)}
        self.successors = []
        for b, (_, end) in enumerate(self.blocks):
            last, successors = code[end - 1], set()
            if last.falls_through and b + 1 < len(self.blocks):
                successors.add(b + 1)
            if last.target in labels and labels[last.target] in block_at:
                successors.add(block_at[labels[last.target]])
            self.successors.append(sorted(successors))

    def loops(self):
        """Returns the outermost loops, in the order of their code."""
        return self._loops_in(range(len(self.blocks)), lambda a, b: False)

    def all_loops(self):
        for loop in self.loops():
            yield loop
            yield from loop.nested()

    def _loops_in(self, blocks, removed):
        """Returns the loops among `blocks`, without the edges that are `removed`."""
        inside = set(blocks)
        edges = {
            a: [b for b in self.successors[a] if b in inside and not removed(a, b)]
            for a in inside
        }
        loops = []
        for part in _components(sorted(inside), edges):
            if len(part) > 1 or part[0] in edges[part[0]]:
                loops.append(self._loop(part, edges))
        return sorted(loops, key=lambda loop: loop.blocks[0])

    def _loop(self, part, edges):
        inside = set(part)
        edges = {a: [b for b in edges[a] if b in inside] for a in part}
        outside = [a for a in range(len(self.blocks)) if a not in inside]
        entered = {b for a in outside for b in self.successors[a] if b in inside}
        header = min(entered or inside)

        def is_back_edge(a, b):
            return b == header

        children = self._loops_in(part, is_back_edge)
        latches = {a for a in part if header in edges[a]}
        paths = [
            self._path(part, edges, header, latches, children, longest)
            for longest in (False, True)
        ]
        nested = {b for child in children for b in _all_blocks(child)}
        own = tuple(sorted(inside - nested)) or tuple(sorted(inside))
        return Loop(self, own, *paths, children)

    def _path(self, part, edges, header, latches, children, longest):
        """The instructions of one path from header to a latch: around the nested
        loops, or once through those that cannot be avoided."""
        node_of = {b: b for b in part}
        for child in children:
            blocks = _all_blocks(child)
            node_of |= dict.fromkeys(blocks, min(blocks))
        once = {min(_all_blocks(c)): (c.longest if longest else c.shortest) for c in children}
        best = None
        for avoid in (once.keys(), ()):
            best = self._walk(part, edges, header, latches, node_of, once, set(avoid), longest)
            if best is not None:
                break
        return best

    def _walk(self, part, edges, header, latches, node_of, once, avoid, longest):
        successors = {node_of[b]: set() for b in part}
        for a in part:
            for b in edges[a]:
                if b != header and node_of[a] != node_of[b]:
                    successors[node_of[a]].add(node_of[b])
        code = {
            node: once.get(node) or self.instructions[slice(*self.blocks[node])]
            for node in successors
        }
        ends = {node_of[a] for a in latches}
        # From the end to the header: the best way on from each node.
        best = {}
        for node in reversed(_topological(node_of[header], successors)):
            if node in avoid:
                continue
            ways = [best[s] for s in sorted(successors[node]) if best.get(s) is not None]
            if node in ends:
                ways.append([])
            pick = max if longest else min
            best[node] = code[node] + pick(ways, key=len) if ways else None
        return best.get(node_of[header])


def _all_blocks(loop):
    return {*loop.blocks, *(b for child in loop.nested() for b in child.blocks)}


def _topological(start, successors):
    order, state = [], {}
    stack = [(start, iter(sorted(successors[start])))]
    state[start] = 1
    while stack:
        node, rest = stack[-1]
        for following in rest:
            if following not in state:
                state[following] = 1
                stack.append((following, iter(sorted(successors[following]))))
                break
        else:
            stack.pop()
            order.append(node)
    return order[::-1]


def _components(nodes: Iterable[int], edges: dict) -> list[list[int]]:
    """Finds strongly connected components (Tarjan's algorithm, without recursion)."""
    index, low, on_stack, stack, found = {}, {}, set(), [], []
    for root in nodes:
        if root in index:
            continue
        work = [(root, iter(edges[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            for following in rest:
                if following not in index:
                    index[following] = low[following] = len(index)
                    stack.append(following)
                    on_stack.add(following)
                    work.append((following, iter(edges[following])))
                    break
                if following in on_stack:
                    low[node] = min(low[node], index[following])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = []
                    while not part or part[-1] != node:
                        part.append(stack.pop())
                        on_stack.discard(part[-1])
                    found.append(sorted(part))
    return found


def parse(text: str) -> list[Function]:
    """Parses the functions in the output of `nvdisasm -c`."""
    functions, name, instructions, labels = [], None, [], {}

    def finish():
        if name is not None and instructions:
            functions.append(Function(name, list(instructions), dict(labels)))
        instructions.clear()
        labels.clear()

    for line in text.splitlines():
        if section := re.match(r"^\s*\.section\s+([^\s,]+)", line):
            finish()
            text_section = _SECTION.match(line)
            name = text_section[1] if text_section else None
        elif label := _LABEL.match(line):
            labels[label[1]] = len(instructions)
        elif found := _INSTRUCTION.match(line):
            instructions.append(Instruction(found[1]))
        elif (control := _CONTROL.match(line)) and instructions:
            instructions[-1].control = int(control[1], 16)
    finish()
    return functions


# ---------------------------------------------------------------------------
# Attention
# ---------------------------------------------------------------------------


@dataclass
class Exponentials:
    """A way through a loop that turns scores into probabilities, per 128 of them.
    `masked`: it selects between scores, element by element."""

    instructions: float
    ex2: float
    masked: bool
    elements: int

    @property
    def emulated(self):
        """Returns the number of exponentials that are no MUFU.EX2. There is one
        exponential for each element, and one for the factor that rescales the row."""
        return max(0, round(129 - self.ex2))


def exponential_loops(function: Function) -> list[Exponentials]:
    """Innermost loops that convert at least 32 pairs of f32 to a 16-bit type
    (the probabilities, two an instruction) and have exponentials. A loop that
    masks in some of its iterations is there twice."""
    found = []
    for loop in function.all_loops():
        if any(_pairs(child.shortest) >= 32 for child in loop.nested()):
            continue
        ways = [_exponentials(loop.shortest)]
        if ways[0] and not ways[0].masked:
            longest = _exponentials(loop.longest)
            ways += [longest] if longest and longest.masked else []
        found += filter(None, ways)
    return found


def _exponentials(path):
    pairs, ex2 = _pairs(path), sum(i.matches("MUFU.EX2") for i in path)
    if pairs < 32 or ex2 < 16:
        return None
    scale = 64 / pairs
    masked = scale * sum(map(_selects, path)) >= 64
    return Exponentials(len(path) * scale, ex2 * scale, masked, 2 * pairs)


def _pairs(path):
    return sum(i.matches("F2FP") for i in path)


def _selects(instruction):
    if instruction.matches("FSEL") or instruction.matches("SEL"):
        return True
    return instruction.conditional and instruction.falls_through and not instruction.target


def is_mma(instruction: Instruction) -> bool:
    return re.match(r"UTC[A-Z]*MMA|HGMMA|QGMMA", instruction.opcode) is not None


def mma_loops(function: Function) -> list[tuple[int, int]]:
    """Returns (instructions, MMAs) of each innermost loop with at least 8 MMAs."""

    def mmas(loop):
        return sum(map(is_mma, loop.shortest))

    return [
        (len(loop.shortest), mmas(loop))
        for loop in function.all_loops()
        if mmas(loop) >= 8 and not any(mmas(child) >= 8 for child in loop.nested())
    ]
