# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CMake called by hand: a path that the tools cannot take is refused before
anything is done, and flags of the user's environment do not get into the cache."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ["a:b", "a;b", 'a"b', "a$b", "a*b", "a[b", "a#b", "it's", "(a)", "a&b"])
def test_a_path_that_tools_cannot_take_is_refused(tmp_path, name):
    """The path of the checkout has a special character: CMake must refuse it before it looks for a compiler."""
    checkout = tmp_path / name
    checkout.mkdir()
    shutil.copy(ROOT / "CMakeLists.txt", checkout)
    done = subprocess.run(["cmake", "."], cwd=checkout, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "the path of the checkout or of the build folder has other" in done.stderr
    assert "The CXX compiler identification" not in done.stdout


def test_presets_decide_the_flags():
    """Each preset must set all flags of compiler and linker, because CMake else takes CXXFLAGS and LDFLAGS from the
    environment."""
    presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
    base = next(preset for preset in presets if preset["name"] == "base")["cacheVariables"]
    flags = {"CMAKE_C_FLAGS", "CMAKE_CXX_FLAGS", "CMAKE_EXE_LINKER_FLAGS"}
    flags |= {"CMAKE_SHARED_LINKER_FLAGS", "CMAKE_MODULE_LINKER_FLAGS"}
    assert flags <= base.keys()
    assert all(preset.get("inherits") == "base" for preset in presets if preset["name"] != "base")
