# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether memory from malloc is freed again."""

import ctypes
import gc


class _Mallinfo2(ctypes.Structure):
    """glibc's struct of that name (2.33 and later)."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks",
                     "fsmblks", "uordblks", "fordblks", "keepcost")
    ]  # fmt: skip


_mallinfo2 = ctypes.CDLL(None).mallinfo2
_mallinfo2.restype = _Mallinfo2


def _in_use():
    gc.collect()
    info = _mallinfo2()
    return info.uordblks + info.hblkhd


def leaks(call, times=32):
    """Whether every `call` keeps some memory. The interpreter's own is not
    constant either, but does not grow with each of many calls, again and again."""
    smallest = 24
    call()
    for _ in range(3):
        before = _in_use()
        for _ in range(times):
            call()
        if _in_use() - before < times * smallest:
            return False
    return True
