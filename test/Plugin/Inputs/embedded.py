"""Writes what `gpu.binary` operations embed as files: KERNEL.ptx, or KERNEL.cubin, and KERNEL.json.

    python3 embedded.py module.mlir folder
"""

# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import pathlib
import re
import sys


def unescape(text):
    """The bytes of a string that MLIR has printed."""
    return re.sub(
        rb"\\(\\|\"|[0-9A-F]{2})",
        lambda match: match[1] if len(match[1]) == 1 else bytes.fromhex(match[1].decode()),
        text,
    )


def main(module, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    string = rb'"((?:[^"\\]|\\.)*)"'
    for line in pathlib.Path(module).read_bytes().splitlines():
        binary = re.search(rb"gpu\.binary @(\w+)", line)
        if not binary:
            continue
        name = binary[1].decode()
        form, text = re.search(rb"(assembly|bin) = " + string, line).groups()
        suffix = {b"assembly": ".ptx", b"bin": ".cubin"}[form]
        (folder / (name + suffix)).write_bytes(unescape(text))
        if manifest := re.search(rb"fa4\.manifest = " + string, line):
            (folder / (name + ".json")).write_bytes(unescape(manifest[1]))


main(*sys.argv[1:])
