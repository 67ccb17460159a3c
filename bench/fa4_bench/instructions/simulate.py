# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a case in fa4-sim, with all checks."""

import json
import os
import subprocess
import tempfile


def _write_array(path, data):
    """A .npy file (version 1) of 32-bit words."""
    header = f"{{'descr': '<u4', 'fortran_order': False, 'shape': ({len(data) // 4},), }}"
    header = header.ljust(-(-(len(header) + 11) // 64) * 64 - 11) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data)


def _read_array(path):
    with open(path, "rb") as file:
        data = file.read()
    return data[10 + int.from_bytes(data[8:10], "little") :]


def run(case, simulator, seeds="0:2", policy="random"):
    """Returns what is wrong: findings, an error of fa4-sim, or wrong contents after the last seed."""
    try:
        return case.differences(contents(case, simulator, "--check", "--seeds", seeds, "--policy", policy))
    except SimulationError as error:
        return [str(error)]


class SimulationError(RuntimeError):
    """fa4-sim has found something, or cannot run a case."""


def contents(case, simulator, *options):
    """Returns the buffers' contents behind a run with the options."""
    with tempfile.TemporaryDirectory() as folder:
        path = {buffer.name: os.path.join(folder, buffer.name + ".npy") for buffer in case.buffers}
        for buffer in case.buffers:
            _write_array(path[buffer.name], buffer.data)
        with open(os.path.join(folder, "k.ptx"), "w") as file:
            file.write(case.ptx)
        tensors = {buffer.name: {"dtype": "u32", "shape": [len(buffer.data) // 4], "file": buffer.name + ".npy"}
                   for buffer in case.buffers}
        manifest = {"ptx": "k.ptx", "tensors": tensors, "entry": "k", "grid": [case.ctas], "block": [case.threads],
                    "cluster": [case.cluster], "params": [{"tensor": buffer.name} for buffer in case.buffers]}
        with open(os.path.join(folder, "k.json"), "w") as file:
            json.dump(manifest, file)
        outputs = [f"--output={name}={file}.out" for name, file in path.items()]
        command = [simulator, os.path.join(folder, "k.json"), *options, *outputs]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode:
            raise SimulationError((done.stdout + done.stderr).replace(folder + os.sep, "").strip())
        return [_read_array(file + ".out") for file in path.values()]
