# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python package with libfa4.so inside, which has LLVM and MLIR in it: `pip install .` where scripts/demo has
installed what fa4 is built with; the wheel then runs where none of that is.

Environment: FA4_BUILD_DIR, a configured build folder (build/release, which is configured if it is not there).
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # Before setuptools 70.1.
    from wheel.bdist_wheel import bdist_wheel

ROOT = Path(__file__).resolve().parent
# CMake's targets -> what they make in the build folder. The second one loads the CUDA driver itself.
TARGETS = {"fa4-standalone": "lib/standalone/libfa4.so", "fa4_runtime": "lib/libfa4_runtime.so"}


def build_libraries() -> list[Path]:
    """Builds the libraries with CMake, and returns them with what they need beside the C library's."""
    build = Path(os.environ.get("FA4_BUILD_DIR") or ROOT / "build" / "release")
    for tool in ("cmake", "ninja"):
        if not shutil.which(tool):
            raise SystemExit(f"fa4 is built with {tool}, which is not there: ./scripts/demo installs what a build needs")
    if not (build / "build.ninja").exists():
        if os.environ.get("FA4_BUILD_DIR"):
            raise SystemExit(f"FA4_BUILD_DIR is {build}, which is no configured build folder")
        subprocess.run(["cmake", "--preset", "release"], cwd=ROOT, check=True)
    # Targets that this configuration does not have are left out, but for the first.
    known = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], capture_output=True, text=True, check=True).stdout
    names = [name for name in TARGETS if re.search(rf"^{re.escape(name)}: phony$", known, re.MULTILINE)]
    if "fa4-standalone" not in names:
        raise SystemExit(f"{build} cannot build libfa4.so with LLVM inside: it needs LLVM's archives, and no sanitizer")
    jobs = ["--parallel", os.environ["FA4_JOBS"]] if os.environ.get("FA4_JOBS") else []
    subprocess.run(["cmake", "--build", build, *jobs, "--target", *names], check=True)
    libraries = [(build / TARGETS[name]).resolve() for name in names]
    # libzstd is not among the libraries that every Linux has.
    linked = subprocess.run(["ldd", libraries[0]], capture_output=True, text=True, check=True).stdout
    bundled = re.findall(r"^\s*libzstd\S* => (\S+)", linked, re.MULTILINE)
    return [build / TARGETS[name] for name in names] + [Path(path) for path in bundled]


class BuildWithLibraries(build_py):
    def run(self):
        super().run()
        package = Path(self.build_lib) / "fa4"
        for stub in (ROOT / "python" / "fa4").glob("*.pyi"):
            shutil.copy(stub, package)
        shutil.copy(ROOT / "python" / "fa4" / "py.typed", package)
        if self.editable_mode:
            return
        (package / "lib").mkdir(parents=True, exist_ok=True)
        for library in build_libraries():
            shutil.copy(library, package / "lib" / library.name)


class PlatformWheel(bdist_wheel):
    """For any Python 3, and for this machine's C library or a later one."""

    def get_tag(self):
        version = os.confstr("CS_GNU_LIBC_VERSION").split()[-1].replace(".", "_")
        return "py3", "none", f"manylinux_{version}_{os.uname().machine}"


class BinaryDistribution(Distribution):
    """Not the same for each platform, though it has no modules in C."""

    def has_ext_modules(self):
        return True


setup(distclass=BinaryDistribution, cmdclass={"build_py": BuildWithLibraries, "bdist_wheel": PlatformWheel})
