# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The wheel: what is in it, and the README's block of Python in an environment that has it and no LLVM."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import fa4docs  # noqa: E402

BUILD = Path(os.environ["FA4_OPT"]).resolve().parents[1]
CONFIGURED = (BUILD / "CMakeCache.txt").read_text() if (BUILD / "CMakeCache.txt").exists() else ""
pytestmark = [
    pytest.mark.xdist_group("wheel"),
    pytest.mark.skipif(not shutil.which("ninja") or not importlib.util.find_spec("wheel"), reason="needs ninja and wheel"),
    pytest.mark.skipif(not re.search(r"^FA4_SANITIZE:\w+=$", CONFIGURED, re.MULTILINE), reason="needs a build without sanitizers"),
]


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel as pip has it made, but not compressed. The library is linked if it is not up to date."""
    folder = tmp_path_factory.mktemp("wheel")
    run(
        sys.executable, "setup.py", "-q", "egg_info", "--egg-base", folder, "build", "--build-base", folder / "build",
        "bdist_wheel", "--bdist-dir", folder / "bdist", "--dist-dir", folder / "dist", "--compression", "stored",
        cwd=ROOT, env={**os.environ, "FA4_BUILD_DIR": str(BUILD)},
    )  # fmt: skip
    (path,) = (folder / "dist").iterdir()
    return path


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """The Python of a new environment with the wheel, numpy and ml_dtypes."""
    folder = tmp_path_factory.mktemp("venv")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    (site,) = folder.glob("lib/python3*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    for name in ("numpy", "ml_dtypes"):
        home = Path(importlib.util.find_spec(name).origin).parent
        for path in home.parent.glob(f"{name}*"):
            (site / path.name).symlink_to(path)
    return folder / "bin" / "python"


def settings(tmp_path):
    """Returns the environment of a user who has only the wheel: no tool of LLVM or of the checkout can be found."""
    return {"PATH": "", "HOME": str(tmp_path), "LANG": "C.UTF-8"}


def test_contents(wheel):
    """The wheel must have all modules of python/fa4, the types and the libraries, no programs, and a name for any Python 3."""
    names = [name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("fa4/")]
    modules = {str(path.relative_to(ROOT / "python")) for path in (ROOT / "python" / "fa4").rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == modules
    assert {"fa4/py.typed", "fa4/__init__.pyi", "fa4/lib/libfa4.so", "fa4/lib/libfa4_runtime.so"} <= set(names)
    assert all(Path(name).name.startswith("lib") for name in names if name.startswith("fa4/lib/"))
    assert re.fullmatch(r"fa4-[\d.]+-py3-none-manylinux_\d+_\d+_\w+\.whl", wheel.name)


def test_library_needs_no_llvm_and_exports_the_c_api_only(environment):
    """The wheel's libfa4.so must need no library beyond those of every Linux, and export only functions of the C API."""
    (library,) = environment.parents[1].glob("lib/python3*/site-packages/fa4/lib/libfa4.so")
    needed = re.findall(r"NEEDED.*\[(.*?)\]", run("readelf", "-d", library))
    assert set(needed) <= {"libc.so.6", "libm.so.6", "libz.so.1", "libzstd.so.1", "ld-linux-x86-64.so.2"}
    exported = [line.split()[-1] for line in run("nm", "-D", "--defined-only", library).splitlines()]
    assert exported and all(name.startswith("fa4") for name in exported)


def test_block_of_the_readme(environment, tmp_path):
    """The block of the README runs as it is written, and prints the error of a bf16 result."""
    (block,) = [b for b in fa4docs.blocks(ROOT / "README.md") if b.language == "python"]
    assert len([line for line in block.text.splitlines() if line.strip()]) <= 12
    maps = 'print([line for line in open("/proc/self/maps") if "libMLIR" in line or "libLLVM" in line])'
    output = run(environment, "-c", f"{block.text}\n{maps}", cwd=tmp_path, env=settings(tmp_path)).splitlines()
    assert float(output[0]) < 0.02
    assert output[-1] == "[]"
    assert list((tmp_path / ".cache" / "fa4").rglob("*.fa4"))


def test_commands(environment, tmp_path):
    """`python -m fa4` must say the version and show the cache where only the wheel is installed."""
    env = settings(tmp_path)
    assert "LLVM 22" in run(environment, "-m", "fa4", "version", cwd=tmp_path, env=env)
    assert "0 entries" in run(environment, "-m", "fa4", "cache", cwd=tmp_path, env=env)


def test_simulates_ptx(environment, tmp_path):
    """The example of docs/simulator-launch.md must run with the wheel's own library."""
    (block, *_) = [b for b in fa4docs.blocks(ROOT / "docs" / "simulator-launch.md") if "sim.launch" in b.text]
    code = block.text[block.text.index("<<'END'\n") + len("<<'END'\n") : block.text.index("\nEND")]
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    assert run(environment, "-c", code, cwd=tmp_path, env=settings(tmp_path))


def test_other_pythons(wheel, tmp_path):
    """FA4_MORE_PYTHONS names Pythons, such as python3.12 and python3.13. pip installs the wheel for each of them, with numpy
    and ml_dtypes from where pip finds them, and the block of the README runs."""
    pythons = os.environ.get("FA4_MORE_PYTHONS", "").split()
    if not pythons:
        pytest.skip("needs FA4_MORE_PYTHONS")
    (block,) = [b for b in fa4docs.blocks(ROOT / "README.md") if b.language == "python"]
    for number, python in enumerate(pythons):
        folder = tmp_path / str(number)
        run(python, "-m", "venv", folder)
        run(folder / "bin" / "pip", "-q", "install", wheel)
        assert float(run(folder / "bin" / "python", "-c", block.text, cwd=tmp_path, env=settings(tmp_path)).splitlines()[0]) < 0.02


def test_modules_import_without_the_checkout(environment, tmp_path):
    """All modules of the wheel import without the checkout, except those for a framework that is not installed."""
    code = "import fa4, importlib, pkgutil\nfor m in pkgutil.iter_modules(fa4.__path__):\n  if m.name != '__main__' and not m.name.startswith(('torch', 'distributed')): importlib.import_module('fa4.' + m.name)"
    run(environment, "-c", code, cwd=tmp_path, env=settings(tmp_path))
