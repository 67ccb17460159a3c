# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m fa4.driver: how a script is started, and what its exit status says."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fa4 import driver
from fa4.tools import ROOT, ToolNotFoundError, driver_library_folder

AXPY = ROOT / "docs" / "examples" / "axpy.ptx"
try:
    driver_library_folder()
    missing = ""
except ToolNotFoundError as error:
    missing = str(error)
needs_library = pytest.mark.skipif(bool(missing), reason=f"needs the stand-in driver: {missing}")

SCRIPT = f"""
import sys
from cuda_driver import *
print(__name__, sys.argv[1:])
start()
x = upload(np.ones(32, np.float32))
function = load(open({str(AXPY)!r}).read(), "axpy")
launch(function, (1, 1, 1), (64, 1, 1), c_uint64(x), c_uint64(x), ctypes.c_float(2), ctypes.c_uint(int(sys.argv[1])))
"""


def start(tmp_path, *arguments, text=SCRIPT):
    (tmp_path / "script.py").write_text(text)
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'python'}:{Path(__file__).parent}"}
    command = [sys.executable, "-m", "fa4.driver", *map(str, arguments)]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@needs_library
def test_a_script_with_its_arguments(tmp_path):
    """A script is started with arguments: it must see them, and its launch must be in the log."""
    status, output, errors = start(tmp_path, "--chip", "sm_90a", "--log", "log", "script.py", "32", "--chip")
    assert (status, output, errors) == (0, "__main__ ['32', '--chip']\n", "")
    assert json.loads((tmp_path / "log").read_text())["kernel"] == "axpy"


@needs_library
def test_a_failed_launch_that_the_script_does_not_notice(tmp_path):
    """A launch of the script fails: the exit status must be 1, unless the finding is allowed."""
    status, _, errors = start(tmp_path, "--chip=sm_90a", "script.py", "33")
    assert status == 1 and "launch 0 of 'axpy' failed" in errors
    status, _, errors = start(tmp_path, "--chip=sm_90a", "--allow=out-of-bounds", "script.py", "33")
    assert status == 0 and errors == ""


@needs_library
def test_the_scripts_own_status(tmp_path):
    """A script exits with a status or an exception: fa4.driver must return the script's status."""
    assert start(tmp_path, "script.py", text="import sys; sys.exit(7)")[0] == 7
    status, _, errors = start(tmp_path, "script.py", text="1 / 0")
    assert status == 1 and "ZeroDivisionError" in errors
    # A process that the script starts is on the driver, too; one that uses fa4.driver again starts anew.
    again = "import os, subprocess, sys; subprocess.run([sys.executable, '-m', 'fa4.driver', '--chip=sm_103a', 'inner.py'], check=True)"
    (tmp_path / "inner.py").write_text("import os; print(os.environ['FA4_DRIVER_CHIP'])")
    assert start(tmp_path, "--chip=sm_90a", "script.py", text=again)[:2] == (0, "sm_103a\n")


def test_what_happens_behind_an_import(tmp_path, monkeypatch):
    """A hook waits for a module: its action must run once, behind the import, and not if the import fails."""
    (tmp_path / "hooked").mkdir()
    (tmp_path / "hooked" / "__init__.py").write_text("from . import part; value = part.number + 1")
    (tmp_path / "hooked" / "part.py").write_text("number = 1")
    monkeypatch.syspath_prepend(tmp_path)
    seen = []
    hook = driver._AfterImport("hooked", lambda: seen.append(sys.modules["hooked"].value))
    monkeypatch.setattr(sys, "meta_path", [hook, *sys.meta_path])
    import hooked
    import hooked.part  # noqa: F401

    assert seen == [2] and hooked.__spec__.loader is not hook and hooked.__file__.endswith("__init__.py")
    missing_hook = driver._AfterImport("no_such_module", seen.clear)
    monkeypatch.setattr(sys, "meta_path", [missing_hook, *sys.meta_path])
    with pytest.raises(ModuleNotFoundError):
        import no_such_module  # noqa: F401
    assert seen == [2]


@needs_library
def test_memory_of_the_host_is_aligned_as_a_devices(tmp_path):
    """A script allocates aligned memory: the address must have the alignment that a device's memory has."""
    text = """
import ctypes
at = ctypes.c_void_p()
libc = ctypes.CDLL(None)
for wanted, given in ((64, 512), (4096, 4096), (16, 16)):
    for size in (1, 1000, 100000):
        assert libc.posix_memalign(ctypes.byref(at), ctypes.c_size_t(wanted), ctypes.c_size_t(size)) == 0
        assert at.value % given == 0, (wanted, size)
        libc.free(at)
assert libc.posix_memalign(ctypes.byref(at), ctypes.c_size_t(24), ctypes.c_size_t(8)) == 22
"""
    assert start(tmp_path, "script.py", text=text) == (0, "", "")


def test_what_is_missing(tmp_path, monkeypatch):
    """The library or the script does not exist: fa4.driver must exit with status 1 and name what is missing."""
    monkeypatch.setenv("FA4_DRIVER_LIBRARY", str(tmp_path))
    status, _, errors = start(tmp_path, "script.py")
    assert status == 1 and errors == f"fa4.driver: {tmp_path} has no libcuda.so.1; build the target fa4-driver, or set FA4_DRIVER_LIBRARY\n"
    monkeypatch.delenv("FA4_DRIVER_LIBRARY")
    if not missing:
        assert start(tmp_path, "absent.py")[::2] == (1, "fa4.driver: absent.py: no such file\n")
