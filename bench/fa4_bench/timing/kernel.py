# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernel around an operation whose cycles are counted, and how cycles come out of it.

Each thread reads %clock64, executes a body in a loop, and reads the clock again. The kernel is launched
with two numbers of passes; the difference of the two times, divided by the difference of the passes and
by the operations of a pass, is free of what stands outside of the loop. What the loop itself takes (a
subtraction, a comparison and a branch) is shared by all operations of the body, so bodies are long
where an operation is short."""

import struct
from dataclasses import dataclass

from fa4_bench.instructions.case import HEADER, Buffer, Case

PASSES = (64, 192)
LAUNCHES = 5  # The least time counts: the clock goes on where a warp waits for instructions to arrive.
FIRST_RESULT = 64  # Bytes in front of the threads' times, where a kernel may write what it has computed.
TIMES = 1024 * 16  # When each thread began and ended.
OUTPUT = FIRST_RESULT + TIMES + 65536  # What is behind the times is for kernels that store.
INPUT = 65536
SHARED = 43008  # Bytes of shared memory.


@dataclass
class Micro:
    """A kernel that executes `operations` operations in a pass of its loop, counted over the warps of a CTA
    where `is_rate` says that warps share a unit; without it the time of one. All of several CTAs execute it, each on an SM
    of its own, and the first one's time counts. `bytes` of input and of room for output belong to each CTA."""

    name: str
    ptx: str
    operations: int
    threads: int = 32
    cluster: int = 1
    is_rate: bool = False
    ctas: int = 0  # As many as a cluster has, if 0.
    bytes: int = 0
    counted: tuple = (0, 0)  # The threads whose time counts, from the first to the one behind the last; all, if empty.

    def case(self, passes):
        """The launch with that many passes."""
        ctas = self.ctas or self.cluster
        source = struct.pack("<Q", passes) + bytes(INPUT - 8 + ctas * self.bytes)
        buffers = [Buffer("out", bytes(OUTPUT + ctas * self.bytes)), Buffer("in", source)]
        return Case(self.name, self.ptx, buffers, self.threads, ctas, self.cluster)

    def time(self, results):
        """Cycles from the first thread's beginning to the last one's end, from the contents of the buffers. Of several
        CTAs, the first one writes."""
        clocks = struct.unpack_from(f"<{2 * self.threads}Q", results[0], FIRST_RESULT)
        first, last = self.counted if self.counted[1] else (0, self.threads)
        return max(clocks[2 * first + 1 : 2 * last : 2]) - min(clocks[2 * first : 2 * last : 2])


def entry(setup, body, repeat=1, behind="", result="", attributes=""):
    """A kernel whose loop executes `body` `repeat` times; `body` may be a function of the number. `setup` comes before
    the clock, `behind` belongs to the time, `result` does not: it keeps what the loop has computed from
    being taken out, by a store that the assembler cannot rule out.

    Names: %r1 the thread, %rd1 and %rd2 the addresses of the output and of the input."""
    text = "\n".join(body(i) if callable(body) else body for i in range(repeat))
    return f"""{HEADER}.visible .entry k(.param .u64 out, .param .u64 in) {attributes}
{{
  .reg .b64 %rd<64>; .reg .b32 %r<512>; .reg .pred %p<16>; .reg .f32 %f<512>;
  .reg .b64 %begin, %end, %place; .reg .b32 %passes;
  .shared .align 1024 .b8 memory[{SHARED}];
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [in];
  ld.global.u32 %passes, [%rd2];
  mov.u32 %r1, %tid.x;
{setup}
  bar.sync 0;
  mov.u64 %begin, %clock64;
$PASS:
{text}
  sub.u32 %passes, %passes, 1;
  setp.ne.u32 %p15, %passes, 0;
  @%p15 bra $PASS;
{behind}
  mov.u64 %end, %clock64;
{result}
  mul.wide.u32 %place, %r1, 16;
  add.u64 %place, %place, %rd1;
  mov.u32 %passes, %ctaid.x;
  setp.eq.u32 %p15, %passes, 0;
  @%p15 st.global.v2.u64 [%place+{FIRST_RESULT}], {{%begin, %end}};
  ret;
}}
"""


def keep(registers, scratch="%r500"):
    """Stores a register to the output if it has a value that it does not have."""
    return "\n".join(
        f"  mov.b32 {scratch}, {register}; setp.eq.b32 %p14, {scratch}, 0x7fedcba9; @%p14 st.global.b32 [%rd1], {scratch};"
        for register in registers
    )


def measure(micro, launch):
    """Cycles of an operation. `launch` runs a case and returns the contents of its buffers."""
    least = []
    for passes in PASSES:
        case = micro.case(passes)
        least.append(min(micro.time(launch(case)) for _ in range(LAUNCHES)))
    return (least[1] - least[0]) / (PASSES[1] - PASSES[0]) / micro.operations
