# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wgmma.mma_async: all types, A from shared memory and from registers, all
layouts of shared memory, transposed operands, negation, scale-d.

Matrices hold small integers, so that every sum is exact in every format, and
whatever order and width hardware sums in, the result is the same."""

import random
import struct
from dataclasses import dataclass, field

from fa4_bench.instructions.case import HEADER, Buffer, Case, pack

M = 64
SPANS = (0, 32, 64, 128)  # Bytes of a swizzle's rows; 0: none.
MODES = {0: 0, 128: 1, 64: 2, 32: 3}  # Bits 62-63 of a descriptor.


# ---------------------------------------------------------------------------
# Formats
# ---------------------------------------------------------------------------


def _small_float(exponent_bits, mantissa_bits):
    """Encodes integers of magnitude below 8 in a format of that many bits."""
    bias = (1 << (exponent_bits - 1)) - 1

    def encode(value):
        sign = (value < 0) << (exponent_bits + mantissa_bits)
        magnitude = abs(value)
        if not magnitude:
            return 0
        exponent = magnitude.bit_length() - 1
        fraction = (magnitude - (1 << exponent)) << mantissa_bits >> exponent
        return sign | (exponent + bias) << mantissa_bits | fraction

    return encode


def _f32(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def _f16(value):
    return struct.unpack("<H", struct.pack("<e", value))[0]


@dataclass
class Format:
    bits: int
    k: int
    encode: object = field(repr=False)
    low: int = -3
    high: int = 3


FORMATS = {
    "f16": Format(16, 16, _f16),
    "bf16": Format(16, 16, lambda value: _f32(value) >> 16),
    "tf32": Format(32, 8, _f32),
    "e4m3": Format(8, 32, _small_float(4, 3)),
    "e5m2": Format(8, 32, _small_float(5, 2)),
    "s8": Format(8, 32, lambda value: value & 0xFF, -128, 127),
    "u8": Format(8, 32, lambda value: value, 0, 255),
    "b1": Format(1, 256, lambda value: value, 0, 1),
}


# ---------------------------------------------------------------------------
# Layouts of shared memory (PTX ISA, "Shared Memory Matrix Layout" of wgmma)
# ---------------------------------------------------------------------------


@dataclass
class Layout:
    """Where an operand lies, from `start` on. `leading` and `stride` are the
    descriptor's offsets in bytes; `span` is that of the swizzle."""

    start: int
    span: int
    mn_major: bool
    leading: int
    stride: int

    @classmethod
    def make(cls, start, span, mn_major, rows):
        """A layout for an operand of so many rows along M or N."""
        if not mn_major:
            # Groups of 8 rows one behind the other, with room for two where 48 KiB hold all.
            stride = (16 if rows <= 64 else 8) * span if span else 256
            return cls(start, span, mn_major, rows // 8 * 256 if not span else 0, stride)
        if span:
            # Two groups of 8 along K in a pattern's columns, the next columns behind them.
            return cls(start, span, mn_major, 16 * span, 8 * span)
        return cls(start, span, mn_major, rows // 8 * 128, 128)

    def descriptor(self):
        """Without the address of the shared memory: it is added to `start`."""
        return (self.start >> 4 | self.leading >> 4 << 16 | self.stride >> 4 << 32 | MODES[self.span] << 62)

    def bit_address(self, mn, k, bits):
        """The bit at which element (mn, k) begins."""
        if not self.mn_major:
            line, inside = k * bits // 8 // 16, k * bits % 128
            if not self.span:
                return (self.start + mn // 8 * self.stride + mn % 8 * 16 + line * self.leading) * 8 + inside
            place = self.start + mn // 8 * self.stride + mn % 8 * self.span + line * 16
        else:
            bytes_ = bits // 8
            if not self.span:
                return (self.start + mn // 8 * self.stride + k // 8 * self.leading + k % 8 * 16 + mn % 8 * bytes_) * 8
            width = self.span // bytes_
            inside = mn * bytes_ % 16 * 8
            place = (self.start + mn // width * self.leading + k // 8 * self.stride + k % 8 * self.span
                     + mn % width * bytes_ // 16 * 16)
        # The 16-byte chunks of a line of 128 bytes change places with the line's number.
        return (place ^ place // 128 % (self.span // 16) * 16) * 8 + inside

    def end(self, rows, k, bits):
        """The first byte behind all elements."""
        last = max(self.bit_address(mn, j, bits) for mn in range(rows) for j in (0, k - 1)) // 8
        return -(-(last + 1) // 1024) * 1024


def place(image, layout, rows, columns, format_):
    """Writes an operand into an image of shared memory; `rows` is a list of its rows along K."""
    for mn, row in enumerate(rows):
        for k in range(columns):
            bit = layout.bit_address(mn, k, format_.bits)
            code = format_.encode(row[k])
            if format_.bits == 1:
                image[bit // 8] |= code << bit % 8
            else:
                image[bit // 8 : bit // 8 + format_.bits // 8] = code.to_bytes(format_.bits // 8, "little")


# ---------------------------------------------------------------------------
# Fragments (PTX ISA, "Register Fragments" of wgmma)
# ---------------------------------------------------------------------------


def accumulator_place(thread, register):
    """Row and column of the 32-bit register of D."""
    warp, lane = divmod(thread, 32)
    pair, half = divmod(register, 2)
    return 16 * warp + lane // 4 + 8 * (pair % 2), 8 * (pair // 2) + 2 * (lane % 4) + half


def a_fragment(rows, thread, format_):
    """The four registers of A of a thread."""
    warp, lane = divmod(thread, 32)
    per_register = 32 // format_.bits
    registers = []
    for register in range(4):
        row = 16 * warp + lane // 4 + 8 * (register % 2)
        first = lane % 4 * per_register + register // 2 * (format_.k // 2)
        value = 0
        for i in range(per_register):
            value |= format_.encode(rows[row][first + i]) << i * format_.bits
        registers.append(value)
    return registers


# ---------------------------------------------------------------------------
# Kernels
# ---------------------------------------------------------------------------

KERNEL = """
.visible .entry k(.param .u64 image, .param .u64 d, .param .u64 a)
.reqntid 128, 1, 1
{{
  .reg .b32 %r<16>; .reg .b32 %d<{registers}>; .reg .b32 %a<4>; .reg .b64 %rd<16>; .reg .pred %p<4>;
  .shared .align 1024 .b8 data[{size}];
  ld.param.u64 %rd0, [image];
  ld.param.u64 %rd1, [d];
  ld.param.u64 %rd2, [a];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, data;
  // The image, 16 bytes a thread and turn.
  shl.b32 %r2, %r0, 4;
copy:
  cvt.u64.u32 %rd3, %r2;
  add.u64 %rd3, %rd0, %rd3;
  add.u32 %r3, %r1, %r2;
  ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%rd3];
  st.shared.v4.b32 [%r3], {{%r4, %r5, %r6, %r7}};
  add.u32 %r2, %r2, 2048;
  setp.lt.u32 %p0, %r2, {size};
  @%p0 bra copy;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  mul.wide.u32 %rd4, %r0, {d_bytes};
  add.u64 %rd4, %rd1, %rd4;
  mul.wide.u32 %rd5, %r0, 16;
  add.u64 %rd5, %rd2, %rd5;
{loads}
  ld.global.v4.b32 {{%a0, %a1, %a2, %a3}}, [%rd5];
  shr.u32 %r8, %r1, 4;
  cvt.u64.u32 %rd6, %r8;
  add.u64 %rd7, %rd6, {descriptor_a};
  add.u64 %rd8, %rd6, {descriptor_b};
  setp.ne.u32 %p1, {scale_d}, 0;
  wgmma.fence.sync.aligned;
  {instruction}
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
{stores}
  ret;
}}
"""


@dataclass
class Product:
    """One wgmma.mma_async. `d` is f32, f16 or s32; `in_registers`: A."""

    d: str
    a: str
    b: str
    n: int
    in_registers: bool = False
    span_a: int = 128
    span_b: int = 128
    transposed_a: bool = False
    transposed_b: bool = False
    sign_a: int = 1
    sign_b: int = 1
    scale_d: int = 1
    saturate: bool = False

    @property
    def name(self):
        marks = [f"wgmma-{self.d}-{self.a}-{self.b}-n{self.n}", "rs" if self.in_registers else f"ss{self.span_a}",
                 f"b{self.span_b}"]
        marks += ["ta"] * self.transposed_a + ["tb"] * self.transposed_b + ["na"] * (self.sign_a < 0)
        marks += ["nb"] * (self.sign_b < 0) + ["zero"] * (not self.scale_d) + ["sat"] * self.saturate
        return "-".join(marks)

    @property
    def is_integer(self):
        return self.d == "s32"

    def instruction(self, registers):
        k = FORMATS[self.a].k
        types = f"{self.d}.{self.a}.{self.b}" + (".and.popc" if self.a == "b1" else "")
        shape = f"m64n{self.n}k{k}" + (".satfinite" if self.saturate else "")
        d = ", ".join(f"%d{i}" for i in range(registers))
        a = "{%a0, %a1, %a2, %a3}" if self.in_registers else "%rd7"
        tail = ["%p1"]
        if not self.is_integer:
            tail += [str(self.sign_a), str(self.sign_b)]
            if k == 16:
                tail += [] if self.in_registers else [str(int(self.transposed_a))]
                tail += [str(int(self.transposed_b))]
        return f"wgmma.mma_async.sync.aligned.{shape}.{types} {{{d}}}, {a}, %rd8, {', '.join(tail)};"

    def case(self, seed=0):
        rng = random.Random(f"{self.name} {seed}")
        fa, fb, k = FORMATS[self.a], FORMATS[self.b], FORMATS[self.a].k
        a = [[rng.randint(fa.low, fa.high) for _ in range(k)] for _ in range(M)]
        b = [[rng.randint(fb.low, fb.high) for _ in range(k)] for _ in range(self.n)]
        c = self.initial(rng)
        layout_a = Layout.make(0, self.span_a, self.transposed_a, M)
        start_b = 0 if self.in_registers else layout_a.end(M, k, fa.bits)
        layout_b = Layout.make(start_b, self.span_b, self.transposed_b, self.n)
        size = -(-layout_b.end(self.n, k, fb.bits) // 2048) * 2048
        image = bytearray(size)
        if not self.in_registers:
            place(image, layout_a, a, k, fa)
        place(image, layout_b, b, k, fb)
        result = self.product(a, b, c)
        fragments = pack([word for thread in range(128) for word in a_fragment(a, thread, fa)])
        registers = self.n // (4 if self.d == "f16" else 2)
        ptx = HEADER + KERNEL.format(
            registers=registers, size=size, d_bytes=4 * registers, descriptor_a=layout_a.descriptor(),
            descriptor_b=layout_b.descriptor(), scale_d=self.scale_d, instruction=self.instruction(registers),
            loads="\n".join(f"  ld.global.b32 %d{i}, [%rd4+{4 * i}];" for i in range(registers)),
            stores="\n".join(f"  st.global.b32 [%rd4+{4 * i}], %d{i};" for i in range(registers)))
        return Case(self.name, ptx, [Buffer("image", bytes(image)),
                                     Buffer("d", self.fragment(c, registers), self.fragment(result, registers)),
                                     Buffer("a", fragments)])

    def initial(self, rng):
        """D before: with saturation near the ends of the range."""
        if self.saturate:
            return [[rng.choice((2**31 - 1 - near, near - 2**31)) for near in rng.choices(range(9), k=self.n)]
                    for _ in range(M)]
        limit = 2**31 - 1 if self.is_integer else 100
        return [[rng.randint(-limit, limit) for _ in range(self.n)] for _ in range(M)]

    def product(self, a, b, c):
        sign, scale = self.sign_a * self.sign_b, self.scale_d
        return [[self.clamped(sign * sum(x * y for x, y in zip(row, column)) + scale * c[i][j])
                 for j, column in enumerate(b)] for i, row in enumerate(a)]

    def clamped(self, value):
        return max(-(2**31), min(2**31 - 1, value)) if self.saturate else value

    def fragment(self, matrix, registers):
        """The words of all threads' registers of D."""
        encoded = []
        for thread in range(128):
            for register in range(registers):
                if self.d == "f16":
                    halves = [accumulator_place(thread, 2 * register + half) for half in range(2)]
                    encoded.append(sum(_f16(matrix[i][j]) << 16 * half for half, (i, j) in enumerate(halves)))
                    continue
                i, j = accumulator_place(thread, register)
                encoded.append(matrix[i][j] if self.is_integer else _f32(matrix[i][j]))
        return pack(encoded)


# ---------------------------------------------------------------------------
# The cases
# ---------------------------------------------------------------------------

TYPES = [("f32", "f16", "f16"), ("f16", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "tf32", "tf32"),
         ("s32", "b1", "b1")]
TYPES += [(d, a, b) for d in ("f32", "f16") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]
TYPES += [("s32", a, b) for a in ("s8", "u8") for b in ("s8", "u8")]


def columns_of(a):
    """N (PTX ISA, "Matrix Shape" of wgmma)."""
    if FORMATS[a].k >= 32 and a not in ("e4m3", "e5m2"):
        return [8, 16, 24, *range(32, 257, 16)]
    return list(range(8, 257, 8))


def products(everything):
    for d, a, b in TYPES:
        for n in columns_of(a) if everything else (8, 24, 128) if a == "bf16" else (24,):
            for in_registers in (False, True):
                yield Product(d, a, b, n, in_registers)
        for span in SPANS:
            yield Product(d, a, b, 32, span_a=span, span_b=span)
        if FORMATS[a].k == 16:
            for span in SPANS:
                yield Product(d, a, b, 64, span_a=span, span_b=span, transposed_a=True)
                yield Product(d, a, b, 64, span_a=span, span_b=span, transposed_b=True)
                yield Product(d, a, b, 96, span_a=64, span_b=span, transposed_a=True, transposed_b=True)
                yield Product(d, a, b, 40, True, span_b=span, transposed_b=True)
        yield Product(d, a, b, 16, scale_d=0)
        if d != "s32":
            yield Product(d, a, b, 16, sign_a=-1)
            yield Product(d, a, b, 16, True, sign_b=-1)
            yield Product(d, a, b, 16, sign_a=-1, sign_b=-1)
        elif a != "b1":
            yield Product(d, a, b, 16, saturate=True)
            yield Product(d, a, b, 16, True, saturate=True)
    yield Product("f32", "bf16", "bf16", 256, span_b=32)
    yield Product("f32", "f16", "f16", 256, True, transposed_b=True)


def cases(everything=False):
    return [product.case() for product in {product.name: product for product in products(everything)}.values()]
