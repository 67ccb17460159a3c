# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The .npy format without numpy.

usage: npy.py write FILE DESCR SHAPE VALUE...   e.g. npy.py write x.npy '<f4' 2,3 1 2 3 4 5 6
       npy.py print FILE                        shape, then the values"""
import ast
import struct
import sys

CODES = {"f2": "e", "f4": "f", "f8": "d", "i1": "b", "i2": "h", "i4": "i", "i8": "q",
         "u1": "B", "u2": "H", "u4": "I", "u8": "Q"}


def load(path):
    """(descr, shape, flat values)"""
    data = open(path, "rb").read()
    assert data[:8] == b"\x93NUMPY\1\0", path
    length = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:10 + length].decode())
    assert (10 + length) % 64 == 0 and not header["fortran_order"], path
    body, descr = data[10 + length:], header["descr"]
    code = CODES[descr[1:]]
    values = struct.unpack(f"<{len(body) // struct.calcsize(code)}{code}", body)
    return descr, header["shape"], values


def save(path, descr, shape, values):
    header = repr({"descr": descr, "fortran_order": False, "shape": tuple(shape)})
    header = header.ljust(-(-(len(header) + 11) // 64) * 64 - 11) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{len(values)}{CODES[descr[1:]]}", *values))


if __name__ == "__main__":
    if sys.argv[1] == "print":
        _, shape, values = load(sys.argv[2])
        print(list(shape), *values)
    else:
        path, descr, shape = sys.argv[2:5]
        kind = float if descr[1] == "f" else int
        save(path, descr, [int(n) for n in shape.split(",") if n], [kind(v) for v in sys.argv[5:]])
