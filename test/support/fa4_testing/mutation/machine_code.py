# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a fault in PTX costs in machine code: ptxas assembles the original and the
faulty text, and what waits, orders or signals in the two is compared.

    tools = Tools.find()
    lost = tools.lost(original_ptx, faulty_ptx)   # None: nothing

A kernel's machine code is a sequence of synchronising instructions, and between
two of them a bag of accesses to memory, whose order the hardware may choose
anyway. Registers have no names in it. Each synchronising instruction also says
which tcgen05.ld may be incomplete when it is issued: PTX's tcgen05.wait::ld is no
instruction, but a wait for the load's scoreboard in one that follows. The fault
costs nothing where both texts have the same sequence."""

import collections
import difflib
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass

from fa4_testing import sass

SYNCHRONISING = re.compile(
    r"SYNCS|U?BAR\b|DEPBAR|FENCE|MEMBAR|ERRBAR|CCTL|UCGABAR|UTCBAR|UTCATOMSWS|UTMACMDFLUSH|LDGDEPBAR|ARRIVES"
    r"|WARPSYNC|ACQBULK|PREEXIT|USETMAXREG|BPT|UVIRTCOUNT|R2UR\.BROADCAST|WARPGROUP"
)
# A product of a warpgroup; the last one of a group names the group's scoreboard.
PRODUCT = re.compile(r"[BHIQ]GMMA")
MEMORY = re.compile(r"[BHIQ]GMMA|LDTM|STTM|UTC|UTMA(?!CCTL)|UBLK|LDS|STS|LDG|STG|LD\b|ST\b|ATOM|RED\b|LDGSTS|STAS")
# The waiting half of a wait for an mbarrier comes in two instructions, of which
# the second is the loop around it.
REGISTER = re.compile(r"\b(U?R\d+|URZ|RZ|U?P\d|U?PT|SR_\w+|gdesc|desc)\b(\.\w+)*")


class AssemblyError(RuntimeError):
    """ptxas does not take the text."""


@dataclass
class Tools:
    ptxas: str
    nvdisasm: str

    @classmethod
    def find(cls, folder=None):
        """Those of a folder or on the path; None where one is missing."""
        names = {}
        for name in ("ptxas", "nvdisasm"):
            inside = folder and os.path.join(folder, name)
            names[name] = inside if inside and os.access(inside, os.X_OK) else shutil.which(name)
        return cls(**names) if all(names.values()) else None

    def assemble(self, ptx, cubin):
        """None, or what ptxas says."""
        target = re.search(r"^\s*\.target\s+(\w+)", ptx, re.M)[1]
        with open(cubin + ".ptx", "w") as file:
            file.write(ptx)
        command = [self.ptxas, f"-arch={target}", cubin + ".ptx", "-o", cubin]
        done = subprocess.run(command, capture_output=True, text=True)
        return None if done.returncode == 0 else (done.stderr or done.stdout).strip()

    def functions(self, ptx):
        """The machine code of a text, as fa4_testing.sass has it."""
        with tempfile.TemporaryDirectory() as folder:
            cubin = os.path.join(folder, "kernel.cubin")
            if complaint := self.assemble(ptx, cubin):
                raise AssemblyError(complaint)
            command = [self.nvdisasm, "-c", "-hex", cubin]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        return sass.parse(done.stdout)

    def lost(self, original, faulty):
        """The first difference in what waits, orders or signals, for people; None
        where there is none. `original` may be what `functions` has returned."""
        if isinstance(original, str):
            original = self.functions(original)
        try:
            changed = self.functions(faulty)
        except AssemblyError as error:
            return "ptxas refuses it: " + str(error).split("\n")[0]
        for before, after in zip(original, changed, strict=True):
            if difference := _difference(synchronisation(before), synchronisation(after)):
                return difference
        return None


def _pending_loads(function):
    """By instruction: the loads of tensor memory (numbers in order of the code)
    that may be incomplete when it is issued."""
    code = function.instructions
    numbers, pending = {}, [frozenset()] * len(code)
    for n, instruction in enumerate(code):
        if instruction.matches("LDTM"):
            numbers[n] = len(numbers)
    # Of a block's begin: pairs of a scoreboard and a load that counts on it.
    entry = [frozenset()] * len(function.blocks)
    work = collections.deque(range(len(function.blocks)))
    while work:
        block = work.popleft()
        state = set(entry[block])
        for n in range(*function.blocks[block]):
            waits = code[n].waits_for
            state = {(board, load) for board, load in state if board not in waits}
            pending[n] = frozenset(load for _, load in state)
            if n in numbers and code[n].signals is not None:
                state.add((code[n].signals, numbers[n]))
        for successor in function.successors[block]:
            if not state <= entry[successor]:
                entry[successor] |= state
                work.append(successor)
    return pending


def synchronisation(function):
    """The sequence that the comparison is about: texts."""
    pending = _pending_loads(function)
    sequence, accesses = [], collections.Counter()
    for n, instruction in enumerate(function.instructions):
        opcode = instruction.opcode
        ends_group = PRODUCT.match(opcode) and "gsb" in instruction.text
        if not (SYNCHRONISING.match(opcode) or ends_group):
            if MEMORY.match(opcode):
                accesses[opcode] += 1
            continue
        sequence += [f"{count} x {name}" for name, count in sorted(accesses.items())]
        accesses.clear()
        text = re.sub(r"\s+", " ", REGISTER.sub("R", instruction.text))
        if pending[n]:
            text += f" (while loads {sorted(pending[n])} of tensor memory are incomplete)"
        sequence.append(text)
    return sequence + [f"{count} x {name}" for name, count in sorted(accesses.items())]


def _difference(before, after):
    if before == after:
        return None
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for operation, a, b, c, d in matcher.get_opcodes():
        if operation != "equal":
            was, now = "; ".join(before[a:b][:3]), "; ".join(after[c:d][:3])
            return f"'{was}' becomes '{now}'" if was and now else f"lost: '{was}'" if was else f"new: '{now}'"
    return None
