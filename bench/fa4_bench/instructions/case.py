# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel, its buffers, and their contents afterwards. Nothing here needs more
than Python itself, so that a machine with a card needs nothing else."""

import struct
from dataclasses import dataclass

HEADER = ".version 8.6\n.target sm_90a\n.address_size 64\n"


@dataclass
class Buffer:
    """A parameter of the kernel: the address of `data` in global memory, which
    holds `expected` afterwards (None: the same)."""

    name: str
    data: bytes
    expected: bytes | None = None


@dataclass
class Case:
    """`ptx` has one entry `k`; its parameters are the buffers' addresses."""

    name: str
    ptx: str
    buffers: list
    threads: int = 128
    ctas: int = 1
    cluster: int = 1

    def differences(self, results):
        """Returns what is wrong in the buffers' contents: a list of sentences, one a buffer."""
        wrong = []
        for buffer, result in zip(self.buffers, results, strict=True):
            expected = words(buffer.data if buffer.expected is None else buffer.expected)
            places = [i for i, (a, b) in enumerate(zip(words(result), expected, strict=True)) if a != b]
            if places:
                first = places[0]
                wrong.append(f"{buffer.name}: {len(places)} of {len(expected)} words are wrong; word {first} is "
                             f"{words(result)[first]:#x}, expected {expected[first]:#x}")
        return wrong


def words(data):
    """The 32-bit words of some bytes."""
    return struct.unpack(f"<{len(data) // 4}I", data)


def pack(values):
    """32-bit words as bytes; negative ones as two's complement."""
    return struct.pack(f"<{len(values)}I", *(v & 0xFFFFFFFF for v in values))
