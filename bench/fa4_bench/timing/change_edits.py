# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Edits of the PTX that fa4-compile writes: operations of one class that are removed, repeated or moved.

An edit is a function of a kernel's lines and its manifest. It returns the new lines and how many of the old ones it has changed, and raises
EditError where it finds nothing to change: an edit that does nothing would be taken for a change that costs nothing. The new kernel may
compute anything, but each of its waits must end."""

import re

TURN = re.compile(r"\s*bar\.(sync|arrive)\s+[^,]+, 256;")
COPY = re.compile(r"\s*cp\.async\.bulk\.tensor\.\dd\.shared::cta\.global\.tile\.mbarrier::complete_tx::bytes \[[^\]]+\], "
                  r"\[(?P<map>%rd\d+), \{(?P<at>[^}]*)\}\], \[(?P<barrier>[^\]]+)\];")  # fmt: skip
EXPECT = re.compile(r"(?P<head>\s*)mbarrier\.arrive\.expect_tx\.shared\.b64\s+(?P<state>%rd\d+), \[(?P<barrier>[^\]]+)\], (?P<bytes>%r\d+);")
MMA = re.compile(r"\s*wgmma\.mma_async\.\S+ \{(?P<accumulator>[^}]*)\}, (?P<a>\{[^}]*\}|\w+), .*")
# Of bulk tensor copies (column, head, token, batch).
TOKEN = 2


class EditError(RuntimeError):
    """An edit finds nothing to change, or not what it expects."""


def per_line(pattern, write, every=1):
    """An edit that replaces each line that matches, or each n-th of them, by what `write` says of the match: a template of
    re.Match.expand or a function; an empty text removes the line."""
    compiled = re.compile(pattern)

    def edit(lines, manifest):
        found, count, seen = [], 0, 0
        for line in lines:
            if (match := compiled.fullmatch(line)) and (seen := seen + 1) % every == 0:
                count += 1
                text = write(match) if callable(write) else match.expand(write)
                found += text.split("\n") if text else []
            else:
                found.append(line)
        return changed(found, count, f"lines like {pattern}")

    return edit


def changed(lines, count, what):
    if not count:
        raise EditError(f"there are no {what}")
    return lines, count


def all_of(*edits):
    """An edit that makes several, each of which must find something."""

    def edit(lines, manifest):
        total = 0
        for each in edits:
            lines, count = each(lines, manifest)
            total += count
        return lines, total

    return edit


# ---------------------------------------------------------------------------
# Arithmetic
# ---------------------------------------------------------------------------


def _operation(name, operands):
    """Lines with an operation: groups `a` for its result, `b`, `c` and `d` for its operands."""
    return rf"\s*{re.escape(name)}\s+" + ", ".join(rf"(?P<{letter}>[%\w]+)" for letter in "abcd"[:operands]) + r"(?:, 31, -1)?;"


EX2, MAXIMUM, SUM = _operation("ex2.approx.ftz.f32", 2), _operation("max.ftz.NaN.f32", 3), _operation("add.rn.ftz.f32", 3)
SCALE = r"\s*fma\.rn\.ftz\.f32\s+(?P<a>%r\d+), (?P<b>%r\d+), (?P<c>0f[0-9A-F]{8}), (?P<d>%r\d+);"
CONVERT, SHUFFLE = _operation("cvt.rn.bf16x2.f32", 3), _operation("shfl.sync.bfly.b32", 3)
# A mask's selections, in place: by a bit of a word, which is a line of assembly of its own, or by a predicate.
SELECT = r"\s*\{ \.reg \.pred p; \.reg \.b32 t; and\.b32 t, .* selp\.f32 (%r\d+), \1, %r\d+, p; \}|\s*selp\.f32\s+(%r\d+), \2, 0fFF800000, %p\d+;"
MOVE = r"\tmov.b32 \t\g<a>, \g<b>;"


def removed(operation, every=1):
    """The operation's result is its first operand. ptxas removes the move, and what else nobody needs any more."""
    return per_line(operation, MOVE, every)


def repeated(operation, text, every=1):
    """The operation's result is computed from that of the same operation before: twice the work, in a chain that ptxas cannot shorten.
    `text` is the second operation, on `t`."""
    return per_line(operation, lambda m: "\t{ .reg .b32 t; " + re.sub(rf"{m['a']}(?!\d)", "t", m[0].strip(), count=1) + f" {m.expand(text)} }}", every)


def followed(operation, text, every=1):
    """Another operation works on the result."""
    return per_line(operation, lambda m: f"{m[0]}\n\t{m.expand(text)}", every)


DOUBLE_EX2 = r"ex2.approx.ftz.f32 \g<a>, t;"
# Neither changes a positive number that is finite by much, and neither is one that ptxas can leave out.
ALU, FMA = r"min.s32 \g<a>, \g<a>, 2139095039;", r"fma.rn.ftz.f32 \g<a>, \g<a>, 0f3F7FFFFF, 0f00000001;"


def _rescaled(lines):
    """The numbers of lines that multiply an accumulator in place, in front of the product that adds to it."""
    waiting, found = {}, []
    for number, line in enumerate(lines):
        if match := re.fullmatch(r"\s*mul\.rn\.ftz\.f32\s+(%r\d+), \1, %r\d+;", line):
            waiting[match[1]] = number
        elif match := MMA.fullmatch(line):
            registers = set(match["accumulator"].split(", "))
            found += [waiting.pop(register) for register in list(waiting) if register in registers]
    return set(found)


def without_rescale(lines, manifest):
    numbers = _rescaled(lines)
    return changed([line for number, line in enumerate(lines) if number not in numbers], len(numbers), "multiplications of an accumulator")


# ---------------------------------------------------------------------------
# Products
# ---------------------------------------------------------------------------


def _products(lines, from_registers):
    """[[number of each wgmma of a product]] with A from registers or from shared memory."""
    found, block = [], []
    for number, line in enumerate(lines):
        if (match := MMA.fullmatch(line)) and match["a"].startswith("{") == from_registers:
            block.append(number)
        elif "wgmma.commit_group" in line and block:
            found.append(block)
            block = []
    return found


def halved(from_registers):
    """The second half of each product's steps is left out. The first step stays: it says whether the accumulator begins anew."""

    def edit(lines, manifest):
        gone = {number for block in _products(lines, from_registers) for number in block[(len(block) + 1) // 2 :]}
        return changed([line for number, line in enumerate(lines) if number not in gone], len(gone), "products of several steps")

    return edit


def lengthened(from_registers):
    """The last step of each product is executed twice."""

    def edit(lines, manifest):
        last = {block[-1] for block in _products(lines, from_registers)}
        return changed([text for number, line in enumerate(lines) for text in [line] * (1 + (number in last))], len(last), "products")

    return edit


# ---------------------------------------------------------------------------
# Order
# ---------------------------------------------------------------------------

without_turns = per_line(TURN.pattern, "")
waits_for_all = per_line(r"(\s*wgmma\.wait_group\.sync\.aligned) [1-9];", r"\1 0;")
with_fences = per_line(r"\s*wgmma\.wait_group\.sync\.aligned \d;", "\\g<0>\n\tfence.proxy.async.shared::cta;")


def moved_turns(lines, begins, ends):
    """Moves each hand-over of a turn that stands behind two products from there to behind `ends`: the next line after `begins` with that
    text. The lines around inline assembly are comments."""
    found, count = list(lines), 0
    for number, line in enumerate(lines):
        if not (match := TURN.fullmatch(line)) or match[1] != "arrive":
            continue
        taken = max((n for n in range(number) if (m := TURN.fullmatch(lines[n])) and m[1] == "sync"), default=number)
        between = range(taken, number)
        # The first turn of all is handed on at the start of the last role.
        if sum("wgmma.commit_group" in lines[n] for n in between) != 2 or any("setmaxnreg" in lines[n] for n in between):
            continue
        first = {"turn": taken, "hand-over": number}[begins]
        place = next((n for n in range(first, len(lines)) if ends in lines[n]), None)
        if place is None:
            raise EditError(f"line {number + 1} hands a turn on, and no '{ends}' follows")
        found[number], count = None, count + 1
        # Behind the brace of a product's assembly.
        place += lines[place + 1].strip() == "}"
        found[place] = f"{lines[place]}\n{line.strip()}"
    return changed("\n".join(line for line in found if line is not None).split("\n"), count, "turns that are handed on behind two products")


def early_turns(lines, manifest):
    return moved_turns(lines, "turn", "wgmma.commit_group")


def late_turns(lines, manifest):
    return moved_turns(lines, "hand-over", "wgmma.wait_group.sync.aligned 1")


def with_double_waits(lines, manifest):
    """Behind the loop that waits for an mbarrier, the same phase is asked for once more, which is over by then."""
    found, count = [], 0
    for number, line in enumerate(lines):
        found.append(line)
        before = lines[number - 2] if number > 1 else ""
        match = re.fullmatch(r"\s*mbarrier\.try_wait\.parity\.shared\.b64 %p\d+, (.*);", before)
        if match and re.fullmatch(r"\s*@%p\d+ bra\s+\S+;", line):
            found.append(f"\t{{ .reg .pred q; mbarrier.try_wait.parity.shared.b64 q, {match[1]}; }}")
            count += 1
    return changed(found, count, "loops that wait for an mbarrier")


def fewer_registers(less):
    """Roles that take registers take fewer, a multiple of 8 that ptxas can still compile for. What they gave up stays unused: taking more than there are hangs."""
    return per_line(r"(\s*setmaxnreg\.inc\.sync\.aligned\.u32\s+)(\d+);", lambda m: f"{m[1]}{int(m[2]) - less};")


# ---------------------------------------------------------------------------
# Copies
# ---------------------------------------------------------------------------


def _copies(lines, manifest, tensor):
    """{number of a line that loads from a tensor: number of the arrival that announces its bytes}."""
    numbers = [n for n, parameter in enumerate(manifest["params"]) if parameter.get("tensormap", {}).get("tensor") == tensor]
    text = "\n".join(lines)
    maps = set()
    for number in numbers:
        address = re.search(rf"mov\.b64\s+(%rd\d+), \w+_param_{number};", text)
        generic = address and re.search(rf"cvta\.param\.u64\s+(%rd\d+), {address[1]};", text)
        maps |= {generic[1]} if generic else set()
    found, announced = {}, {}
    for number, line in enumerate(lines):
        if match := EXPECT.fullmatch(line):
            announced[match["barrier"]] = number
        elif (match := COPY.fullmatch(line)) and match["map"] in maps:
            if match["barrier"] not in announced:
                raise EditError(f"line {number + 1} loads from {tensor}, and nothing in front of it announces the bytes")
            found[number] = announced[match["barrier"]]
    if not found:
        raise EditError(f"there are no loads from {tensor}")
    others = {announced[m["barrier"]] for n, line in enumerate(lines) if n not in found and (m := COPY.fullmatch(line)) and m["barrier"] in announced}
    if shared := others & set(found.values()):
        raise EditError(f"the arrival in line {min(shared) + 1} announces bytes of other tensors, too")
    return found


def loads_from_start(tensor):
    """All loads from the tensor are of its first tokens, which L2 always has."""

    def edit(lines, manifest):
        copies, found = _copies(lines, manifest, tensor), list(lines)
        for number in copies:
            match = COPY.fullmatch(lines[number])
            at = match["at"].split(", ")
            at[TOKEN] = "t"
            first, last = match.span("at")
            found[number] = "\t{ .reg .b32 t; mov.b32 t, 0; " + (lines[number][:first] + ", ".join(at) + lines[number][last:]).strip() + " }"
        return found, len(copies)

    return edit


def loads_twice(tensor):
    """Each load is made twice to the same place, and twice the bytes are waited for."""

    def edit(lines, manifest):
        copies, found = _copies(lines, manifest, tensor), list(lines)
        for number in copies:
            found[number] = f"{lines[number]}\n{lines[number]}"
        for number in set(copies.values()):
            size = EXPECT.fullmatch(lines[number])["bytes"]
            found[number] = f"\t{{ .reg .b32 t; add.s32 t, {size}, {size}; " + lines[number].strip().replace(f", {size};", ", t; }")
        return "\n".join(found).split("\n"), len(copies) + len(set(copies.values()))

    return edit


def without_loads(tensor):
    """What loads announce comes at once: arrivals without bytes, and no copies."""

    def edit(lines, manifest):
        copies, found = _copies(lines, manifest, tensor), list(lines)
        for number in set(copies.values()):
            found[number] = EXPECT.sub(r"\g<head>mbarrier.arrive.shared.b64 \g<state>, [\g<barrier>];", lines[number])
        return [line for number, line in enumerate(found) if number not in copies], len(copies) + len(set(copies.values()))

    return edit


without_stores = per_line(r"\s*cp\.(reduce\.)?async\.bulk\.(tensor\.\dd\.)?global\.shared::cta\..*;", "")
without_staging = per_line(r"\s*(stmatrix\.sync|st\.shared)\..*;", "")
without_masks = per_line(SELECT, "")


def edit_text(edit, text, manifest):
    """(the edited text, how many lines were changed). Raises EditError."""
    lines, count = edit(text.split("\n"), manifest)
    return "\n".join(lines), count
