# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ldmatrix, stmatrix and movmatrix, which move 8 x 8 matrices of 16-bit elements
between shared memory and the registers of a warp."""

import random
import struct

from fa4_bench.instructions.case import HEADER, Buffer, Case, pack

KERNEL = """
.visible .entry k(.param .u64 source, .param .u64 target)
.reqntid 32, 1, 1
{{
  .reg .b32 %r<32>; .reg .b64 %rd<8>;
  .shared .align 128 .b8 data[512];
  ld.param.u64 %rd0, [source];
  ld.param.u64 %rd1, [target];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, data;
  mul.wide.u32 %rd2, %r0, 16;
  add.u64 %rd3, %rd0, %rd2;
  add.u64 %rd4, %rd1, %rd2;
  // Lane l holds the address of row l, in an order of its own: row 5 l % 32.
  mul.lo.u32 %r2, %r0, 5;
  and.b32 %r2, %r2, 31;
  shl.b32 %r2, %r2, 4;
  add.u32 %r2, %r1, %r2;
  shl.b32 %r3, %r0, 4;
  add.u32 %r3, %r1, %r3;
  ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%rd3];
{body}
  ret;
}}
"""


def _row_address(lane):
    """The row of shared memory whose address the lane gives."""
    return 5 * lane % 32


def _element(rows, matrix, row, column):
    """An element of a matrix whose rows' addresses lanes 8 m to 8 m + 7 give."""
    return rows[_row_address(8 * matrix + row)][column]


def _load(count, transposed):
    rng = random.Random(f"ldmatrix {count} {transposed}")
    rows = [[rng.randrange(1 << 16) for _ in range(8)] for _ in range(32)]
    expected = []
    for lane in range(32):
        for matrix in range(4):
            word = 0
            for half in range(2):
                row, column = lane // 4, 2 * (lane % 4) + half
                if transposed:
                    row, column = column, row
                word |= _element(rows, matrix, row, column) << 16 * half if matrix < count else 0
            expected.append(word)
    registers = ", ".join(f"%r{10 + i}" for i in range(count))
    trans = ".trans" if transposed else ""
    body = f"""  st.shared.v4.b32 [%r3], {{%r4, %r5, %r6, %r7}};
  bar.warp.sync -1;
  mov.b32 %r10, 0; mov.b32 %r11, 0; mov.b32 %r12, 0; mov.b32 %r13, 0;
  ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{registers}}}, [%r2];
  st.global.v4.b32 [%rd4], {{%r10, %r11, %r12, %r13}};"""
    source = b"".join(struct.pack("<8H", *row) for row in rows)
    return Case(f"ldmatrix-x{count}{trans.replace('.', '-')}", HEADER + KERNEL.format(body=body),
                [Buffer("source", source), Buffer("target", bytes(512), pack(expected))], 32)


def _store(count, transposed):
    rng = random.Random(f"stmatrix {count} {transposed}")
    fragments = [[rng.randrange(1 << 32) for _ in range(4)] for _ in range(32)]
    rows = [[0] * 8 for _ in range(32)]
    for lane in range(32):
        for matrix in range(count):
            for half in range(2):
                row, column = lane // 4, 2 * (lane % 4) + half
                if transposed:
                    row, column = column, row
                rows[_row_address(8 * matrix + row)][column] = fragments[lane][matrix] >> 16 * half & 0xFFFF
    registers = ", ".join(f"%r{4 + i}" for i in range(count))
    trans = ".trans" if transposed else ""
    body = f"""  st.shared.v4.b32 [%r3], {{0, 0, 0, 0}};
  bar.warp.sync -1;
  stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%r2], {{{registers}}};
  bar.warp.sync -1;
  ld.shared.v4.b32 {{%r10, %r11, %r12, %r13}}, [%r3];
  st.global.v4.b32 [%rd4], {{%r10, %r11, %r12, %r13}};"""
    target = b"".join(struct.pack("<8H", *row) for row in rows)
    return Case(f"stmatrix-x{count}{trans.replace('.', '-')}", HEADER + KERNEL.format(body=body),
                [Buffer("source", pack([word for lane in fragments for word in lane])),
                 Buffer("target", bytes(512), target)], 32)


def _move():
    rng = random.Random("movmatrix")
    rows = [[rng.randrange(1 << 16) for _ in range(8)] for _ in range(8)]
    source, expected = [], []
    for lane in range(32):
        row, column = lane // 4, 2 * (lane % 4)
        source += [rows[row][column] | rows[row][column + 1] << 16, 0, 0, 0]
        expected += [rows[column][row] | rows[column + 1][row] << 16, 0, 0, 0]
    body = """  movmatrix.sync.aligned.m8n8.trans.b16 %r10, %r4;
  mov.b32 %r11, 0;
  st.global.v4.b32 [%rd4], {%r10, %r11, %r11, %r11};"""
    return Case("movmatrix", HEADER + KERNEL.format(body=body),
                [Buffer("source", pack(source)), Buffer("target", bytes(512), pack(expected))], 32)


def cases():
    forms = [(count, transposed) for count in (1, 2, 4) for transposed in (False, True)]
    return [*(_load(*form) for form in forms), *(_store(*form) for form in forms), _move()]
