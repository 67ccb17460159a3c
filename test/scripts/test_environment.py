# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The scripts in the surroundings that users have: variables for other work,
links, home folders that cannot be written, missing packages, odd paths; and that
they touch nothing outside of the checkout's build folder."""

import os
import shutil
from pathlib import Path

import pytest
from checkout import Checkout

# What users have set for other work, and what it would do here.
HOSTILE = {
    "PYTHONPATH": "/nowhere",
    "PYTHONHOME": "/nowhere",
    "PYTHONSTARTUP": "/nowhere",
    "PYTHONWARNINGS": "error",
    "PIP_TARGET": "/nowhere",
    "PIP_USER": "1",
    "PYTEST_ADDOPTS": "--collect-only",
    "LIT_OPTS": "--show-all --no-execute",
    "FILECHECK_OPTS": "--no-such-option",
    "CXXFLAGS": "-fno-such-flag",
    "CFLAGS": "-fno-such-flag",
    "LDFLAGS": "-Wl,--no-such-flag",
    "CC": "/nowhere/cc",
    "CXX": "/nowhere/c++",
    "CPLUS_INCLUDE_PATH": "/nowhere",
    "LIBRARY_PATH": "/nowhere",
    "LD_LIBRARY_PATH": "/nowhere",
    "CMAKE_GENERATOR": "Unix Makefiles",
    "CMAKE_TOOLCHAIN_FILE": "/nowhere",
    "CMAKE_PREFIX_PATH": "/nowhere",
    "MLIR_DIR": "/nowhere",
    "DESTDIR": "/nowhere",
    "MAKEFLAGS": "-j1",
    "GIT_DIR": "/nowhere",
    "GIT_WORK_TREE": "/nowhere",
    "GREP_OPTIONS": "--color=always",
    "POSIXLY_CORRECT": "1",
    "CDPATH": "/:/usr",
    "IFS": "/",
    "ENV": "/nowhere",
    "VIRTUAL_ENV": "/nowhere",
    "CONDA_PREFIX": "/nowhere",
    "XDG_RUNTIME_DIR": "/nowhere",
    "LANGUAGE": "tr",
    "LANG": "tr_TR.UTF-8",
    "LC_NUMERIC": "de_DE.UTF-8",
    "BASH_FUNC_cmake%%": "() { echo the function; exit 1; }",
    "BASH_FUNC_mkdir%%": "() { exit 1; }",
}


def test_variables_for_other_work_reach_nothing(checkout):
    """The environment has variables for other work: the tools that a script calls must not see them."""
    status, output = checkout.run(env=HOSTILE)
    assert status == 0, output
    packages = ":".join(str(checkout.root / folder) for folder in ("python", "test/support", "bench"))
    ours = {"PYTHONPATH": packages, "PIP_USER": "0"}
    for command in ("cmake", "python"):
        seen = checkout.environment(command)
        for name, value in HOSTILE.items():
            assert seen.get(name) != value, f"{command} sees {name}"
            assert seen.get(name) in (None, ours.get(name)), f"{command} sees {name}"
        assert seen["LC_ALL"] == "C.UTF-8"


def test_what_a_user_may_set_is_passed_on(checkout):
    """The user sets a proxy, a seed and limits: the tools that a script calls must see them."""
    kept = {
        "https_proxy": "http://proxy:1",
        "PIP_INDEX_URL": "https://mirror",
        "FA4_SEED": "7",
        "CCACHE_MAXSIZE": "1G",
    }
    assert checkout.run(env=kept)[0] == 0
    assert kept.items() <= checkout.environment("cmake").items()


def test_an_environment_with_nothing_in_it(checkout):
    """No environment variable is set, not even HOME: the script must succeed."""
    # HOME, USER, TERM and the locale are not set under cron and in containers.
    status, output = checkout.run(env={"HOME": None})
    assert status == 0, output


def test_a_python_environment_that_is_active(checkout):
    """An active Python environment has a broken cmake: the script must succeed without it."""
    environment = checkout.outside / "conda"
    (environment / "bin").mkdir(parents=True)
    checkout.stand_in(environment / "bin" / "cmake", "exit 1")
    path = f"{environment}/bin:{checkout.commands}:/usr/bin:/bin"
    status, output = checkout.run(env={"CONDA_PREFIX": str(environment), "PATH": path})
    assert status == 0, output


@pytest.mark.parametrize("tmpdir", ["/nowhere", "sp ace", None])
def test_temporary_files_are_in_the_build_folder(checkout, tmpdir):
    """TMPDIR has any value: the script must put temporary files into the build folder."""
    assert checkout.run(env={"TMPDIR": tmpdir})[0] == 0
    assert checkout.environment("cmake")["TMPDIR"] == str(checkout.root / "build" / "tmp")


@pytest.mark.parametrize("tmpdir", ["/nowhere", None])
def test_a_benchmark_builds_and_lets_others_build(checkout, tmpdir):
    """A benchmark has built: it must not hold the lock of the build, and must leave TMPDIR as it is."""
    script = checkout.root / "scripts" / "benchmark"
    script.write_text(
        """#!/usr/bin/env bash
source "$(dirname "$0")/lib.sh"
build release
echo "TMPDIR=${TMPDIR-none}"
flock -n "$FA4_ROOT/build/.lock" true && echo "free"
"""
    )
    script.chmod(0o755)
    status, output = checkout.run("scripts/benchmark", env={"TMPDIR": tmpdir})
    assert status == 0, output
    assert f"TMPDIR={tmpdir or 'none'}\nfree\n" in output


def test_home_that_cannot_be_written(checkout):
    """The home folder cannot be written: the script must succeed with a compiler cache in the build folder."""
    status, output = checkout.run(env={"HOME": "/dev/null/home"})
    assert status == 0, output
    folder = checkout.environment("cmake")["CCACHE_DIR"]
    assert folder == str(checkout.root / "build" / "ccache")


def test_the_users_cache_is_used_where_it_can_be(checkout):
    """The home folder can be written: the script must leave the user's compiler cache as it is."""
    assert checkout.run()[0] == 0
    assert "CCACHE_DIR" not in checkout.environment("cmake")


def configurations(checkout):
    return [call for call in checkout.calls() if "--fresh" in call]


@pytest.mark.parametrize("script", ["demo", "test", "update-docs"])
def test_called_with_sh(checkout, script):
    """A script is called with sh in place of bash: it must print its usage."""
    path = checkout.root / "scripts" / script
    status, output = checkout.run("/bin/sh", path, "--help", cwd="/")
    assert status == 0 and output.startswith(f"usage: scripts/{script}"), output


def test_entered_through_a_link_the_build_is_kept(checkout):
    """The checkout is entered through links: the build folder must stay and not be configured again."""
    assert checkout.run()[0] == 0
    kept = checkout.root / "build" / "release" / "kept"
    kept.touch()
    link = checkout.outside / "link"
    link.symlink_to(checkout.root)
    # The folder as the link has it, a link to the script, and a folder that was
    # configured by hand through the link.
    status, output = checkout.run(link / "scripts" / "demo", cwd=link)
    assert status == 0, output
    (checkout.outside / "demo").symlink_to(link / "scripts" / "demo")
    assert checkout.run(checkout.outside / "demo", cwd="/")[0] == 0
    cache = checkout.root / "build" / "release" / "CMakeCache.txt"
    cache.write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={link}\n")
    assert checkout.run(link / "scripts" / "demo")[0] == 0
    assert kept.exists() and len(configurations(checkout)) == 1


def test_a_checkout_that_was_moved_is_configured_again(checkout):
    """The checkout is moved: the script must configure again and keep the other files of the build folder."""
    assert checkout.run()[0] == 0
    kept = Path("build", "release", "kept")
    (checkout.root / kept).touch()
    moved = checkout.outside / "moved"
    shutil.move(checkout.root, moved)
    checkout.root = moved
    assert checkout.run()[0] == 0
    assert len(configurations(checkout)) == 2 and (moved / kept).exists()


def test_a_configuration_that_was_broken_off_is_repeated(checkout):
    """A configuration was broken off: the next run must configure again."""
    assert checkout.run()[0] == 0
    (checkout.root / "build" / "release" / "build.ninja").unlink()
    assert checkout.run()[0] == 0
    assert len(configurations(checkout)) == 2


@pytest.mark.parametrize("name", ["a;b", "a:b", "a$b", 'a"b', "a\\b", "a\nb", "a*b", "a%b", "a#b", "it's", "(a)", "a]b", "a[b"])
def test_a_path_that_tools_cannot_take_is_refused(tmp_path, name):
    """The path of the checkout has a special character: the scripts must refuse it and change no file."""
    checkout = Checkout(tmp_path, name)
    before = checkout.snapshot()
    for script in ("scripts/demo", "scripts/test"):
        status, output = checkout.run(script)
        assert status == 1
        assert "FAILED: the path of the checkout has other characters than" in output
    assert checkout.snapshot() == before
    assert not [call for call in checkout.calls() if not call.startswith("python --version")]


def test_other_paths_are_taken(tmp_path):
    """The path of the checkout has spaces, letters that are not ASCII, and harmless signs: the script must succeed."""
    checkout = Checkout(tmp_path, "-a_b.c+d,e=f@g~h i  j/日本")
    status, output = checkout.run()
    assert status == 0, output


def test_missing_packages_without_root(checkout):
    """Packages are missing and the user is not root: the script must fail and print the command that installs them."""
    (checkout.notes / "uid").write_text("1000")
    (checkout.notes / "missing").write_text("ninja-build\nccache\n")
    status, output = checkout.run()
    assert status == 1
    command = "apt-get update && apt-get install -y --no-install-recommends ccache ninja-build"
    assert output.rstrip().endswith(command), output
    assert not [call for call in checkout.calls() if call.startswith("apt-get")]


def test_a_browser_is_installed_for_tests_where_that_is_possible(checkout):
    """Only one test needs a browser: where none can be installed, scripts/test must skip that test and run the others."""
    (checkout.notes / "missing").write_text("chromium\n")
    output = checkout.run("scripts/test", "--only=lit")[1]
    assert "chromium" not in output
    (checkout.notes / "uid").write_text("1000")
    output = checkout.run("scripts/test", "--only=pytest")[1]
    assert "going on without chromium: a test is skipped" in output and "building" in output
    assert not [call for call in checkout.calls() if call.startswith("apt-get install")]
    (checkout.notes / "uid").write_text("0")
    checkout.run("scripts/test", "--only=pytest")
    installs = [call for call in checkout.calls() if call.startswith("apt-get install")]
    assert len(installs) == 1 and installs[0].endswith(" chromium")


@pytest.mark.parametrize("sudo", [False, True])
def test_missing_packages_are_installed(checkout, sudo):
    """A package is missing and the user is root or has sudo: the script must install the package and succeed."""
    if sudo:
        (checkout.notes / "uid").write_text("1000")
        (checkout.notes / "sudo").touch()
    (checkout.notes / "missing").write_text("ninja-build\n")
    status, output = checkout.run()
    assert status == 0, output
    installs = [call for call in checkout.calls() if call.startswith("apt-get install")]
    assert len(installs) == 1 and installs[0].endswith(" ninja-build")


@pytest.mark.parametrize(
    "said, reason",
    [
        ("error: No space left on device", "no space is left on the disk: building"),
        ("clang: error: unable to execute command: Killed", "FA4_JOBS=1 needs the least: building"),
        ("error: expected ';'", "FAILED: building"),
    ],
)
def test_why_a_step_failed(checkout, said, reason):
    """A build step fails with a known message: the last line of output must give the reason."""
    assert checkout.run()[0] == 0
    (checkout.notes / "fail-cmake").write_text(said + "\n")
    status, output = checkout.run()
    assert status == 1
    assert reason in output.splitlines()[-1] and f"    | {said}" in output


def test_a_build_folder_that_cannot_be_written(checkout):
    """The build folder cannot be made: the script must fail and name the folder."""
    (checkout.root / "build").write_text("a file where the folder should be")
    status, output = checkout.run()
    assert status == 1
    last = output.splitlines()[-1]
    assert f"FAILED: cannot write to {checkout.root}/build: " in last
    assert last.endswith(("Not a directory", "File exists")), last


def test_nothing_outside_of_the_build_folder_is_touched(checkout):
    """A script runs: files beside the checkout, other files in it, and the user's home must not change."""
    places = [checkout.outside, checkout.outside / "a", checkout.root.parent]
    places += [checkout.root, checkout.root / ".venv", checkout.home, checkout.root.parent.parent]
    for place in places:
        place.mkdir(exist_ok=True)
        (place / "sentinel").write_text("not ours")
        (place / "sentinel folder").mkdir()
        (place / "sentinel folder" / "x").write_text("not ours")
    (checkout.root.parent / "link").symlink_to(checkout.root.parent / "sentinel folder")
    # Links in the build folder lead out of it.
    (checkout.root / "build").mkdir()
    (checkout.root / "build" / "tmp").symlink_to(checkout.home)
    before = checkout.snapshot()
    status, output = checkout.run()
    assert status == 0, output
    status, output = checkout.run("scripts/demo", "--option")
    assert status == 0 and "demo says: --option" in output
    after = checkout.snapshot()
    # ccache's folder, made by the check whether it can be written.
    after = {k: v for k, v in after.items() if not k.startswith("home/.cache")}
    assert after == before


def test_a_venv_that_is_no_longer_right_is_repaired_and_not_removed(checkout):
    """The virtual environment's Python is gone: the script must repair it and keep the packages that the user has
    added."""
    shutil.rmtree(checkout.root / ".venv" / "bin")
    added = checkout.root / ".venv" / "lib" / "python3.0" / "site-packages" / "added.py"
    added.parent.mkdir(parents=True)
    added.touch()
    checkout.run(env={"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": None, "PIP_RETRIES": "0"})
    assert added.exists()
    assert os.access(checkout.root / ".venv" / "bin" / "python", os.X_OK)


def installs(checkout):
    return [call for call in checkout.calls() if call.startswith("python -m pip install")]


def test_new_requirements_are_installed_and_what_was_broken_off_is_repeated(checkout):
    """Requirements change: they must be installed once, and again in full after an installation was killed."""
    assert checkout.run()[0] == 0 and not installs(checkout)
    requirements = checkout.root / "python" / "requirements-test.txt"
    requirements.write_text("numpy==1.0\n")
    assert checkout.run()[0] == 0
    assert len(installs(checkout)) == 1 and "--ignore-installed" not in installs(checkout)[0]
    assert checkout.run()[0] == 0 and len(installs(checkout)) == 1
    # An installation that was killed: pip takes a package that is there in part
    # for installed.
    requirements.write_text("numpy==2.0\n")
    checkout.hang("python")
    python = checkout.root / ".venv" / "bin" / "python"
    real = python.read_text()
    python.write_text(real.replace("hang-$name", "hang-${3-}"))
    (checkout.notes / "hang-python").rename(checkout.notes / "hang-install")
    process = checkout.start()
    checkout.wait_until_it_hangs(process)
    process.terminate()
    assert process.communicate(timeout=30) and process.returncode == 143
    python.write_text(real)
    assert checkout.run()[0] == 0
    assert "--ignore-installed" in installs(checkout)[-1]
    count = len(installs(checkout))
    assert checkout.run()[0] == 0 and len(installs(checkout)) == count


def test_frameworks_are_installed_for_pytest_only(checkout):
    """Frameworks must be installed when scripts/test runs pytest, once, and for nothing else."""
    (checkout.root / "python" / "requirements-frameworks.txt").write_text("torch==1.0\n")
    for script, arguments, env in (("scripts/demo", (), {}), ("scripts/test", ("--only=lit",), {}), ("scripts/test", (), {"FA4_FRAMEWORKS": "0"})):
        output = checkout.run(script, *arguments, env=env)[1]
        assert not installs(checkout) and ("going on without torch" in output) == bool(env)
    checkout.run("scripts/test", "--only=pytest")
    assert len(installs(checkout)) == 1 and "--no-deps" in installs(checkout)[0] and "requirements-frameworks.txt" in installs(checkout)[0]
    checkout.run("scripts/test", "--only=pytest")
    assert len(installs(checkout)) == 1


@pytest.mark.parametrize("jobs", ["0", "two", "-1", ""])
def test_a_number_of_jobs_that_is_none(checkout, jobs):
    """FA4_JOBS is no positive number: the script must fail and name the value."""
    status, output = checkout.run(env={"FA4_JOBS": jobs})
    assert status == 1
    assert f"FAILED: FA4_JOBS must be a number of jobs, not '{jobs}'" in output
