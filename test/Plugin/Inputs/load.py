"""Loads a plugin as a host would, after other libraries, and prints what the plugin says.

    python3 load.py FA4Plugin.so [library...]
"""

# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import ctypes
import sys


class LibraryInfo(ctypes.Structure):
    """mlir::PassPluginLibraryInfo, and that of dialects."""

    _fields_ = [
        ("version", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("plugin_version", ctypes.c_char_p),
        ("callback", ctypes.c_void_p),
    ]


others = [ctypes.CDLL(path) for path in sys.argv[2:]]
plugin = ctypes.CDLL(sys.argv[1])
for what, function in (
    ("dialects", plugin.mlirGetDialectPluginInfo),
    ("passes", plugin.mlirGetPassPluginInfo),
):
    function.restype = LibraryInfo
    info = function()
    print(f"{what}: version {info.version}, {'a' if info.callback else 'no'} callback", flush=True)
