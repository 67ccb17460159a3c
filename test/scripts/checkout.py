# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A checkout for tests of the scripts, whose path has a space and a letter that
is not ASCII. The scripts in it are the real ones. What they start (apt, cmake,
the Python of .venv) are stand-ins that note how they were called, so that a run
takes less than a second and changes nothing on the machine."""

import hashlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Every stand-in starts with this: notes arguments and environment. With a file
# hang-NAME it starts processes of the kinds that compilers, ninja and apt start,
# and does not end by itself: a child, a child in a process group and a session of
# its own, and one that ignores SIGTERM. Their ids are in hanging.
PROLOGUE = r"""#!/bin/bash
notes='@NOTES@'
name=@NAME@
printf '%s\n' "$name $*" >>"$notes/calls"
env -0 >"$notes/env-$name"
if [ -e "$notes/hang-$name" ]; then
  rm "$notes/hang-$name"
  sleep 600 &
  echo $! >>"$notes/hanging"
  setsid sleep 600 &
  echo $! >>"$notes/hanging"
  bash -c 'trap "" TERM INT HUP; echo $$ >>"$1/hanging"; while :; do sleep 600; done' - "$notes" &
  echo $$ >>"$notes/hanging"
  touch "$notes/hangs"
  wait
fi
if [ -e "$notes/fail-$name" ]; then
  cat "$notes/fail-$name"
  exit 1
fi
"""

STAND_INS = {
    "dpkg-query": r"""
shift 2
for package in "$@"; do
  grep -qxF "$package" "$notes/missing" 2>/dev/null || echo "ii $package"
done""",
    "apt-get": '[[ "$*" != *install* ]] || rm -f "$notes/missing"',
    "apt-cache": "echo '  Candidate: 1.0'",
    "dpkg": "",
    "id": """
if [ "$*" = -u ]; then cat "$notes/uid" 2>/dev/null || echo 0; else echo somebody; fi""",
    "sudo": """
[ -e "$notes/sudo" ] || exit 1
[ "$1" != -n ] || shift
exec "$@" """,
    "cmake": r"""
if [ "$1" = --fresh ]; then
  mkdir -p build/release/CMakeFiles
  echo "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" >build/release/CMakeCache.txt
  touch build/release/build.ninja build/release/CMakeFiles/rules.ninja
elif [ -e "$notes/slow" ]; then
  echo begin >>"$notes/spans"; sleep 0.5; echo end >>"$notes/spans"
fi""",
}
PYTHON = r"""
case $* in
--version) echo "Python 3.11.2" ;;
"-m pip --version" | "-m pip install"*) ;;
"-m fa4_testing.demo"*) echo "demo says: ${*:3}" ;;
*) exit 1 ;;
esac"""


def alive(pids):
    """Those of the processes that have not ended."""
    found = []
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state != "Z":
            found.append(int(pid))
    return found


class Checkout:
    """The folder, the user's home beside it, and what the stand-ins have noted."""

    def __init__(self, folder, name="a b/ü"):
        self.outside = folder
        self.root = folder / name / "fa4"
        self.notes = folder / "notes"
        self.home = folder / "home"
        self.commands = folder / "commands"
        for path in (self.root, self.notes, self.home, self.commands):
            path.mkdir(parents=True)
        shutil.copytree(ROOT / "scripts", self.root / "scripts", symlinks=True)
        shutil.copy(ROOT / "CMakePresets.json", self.root)
        (self.root / "python").mkdir()
        lists = {name: self.root / "python" / f"requirements-{name}.txt" for name in ("test", "frameworks")}
        for path in lists.values():
            shutil.copy(ROOT / "python" / path.name, path)
        for command, text in STAND_INS.items():
            self.stand_in(self.commands / command, text)
        venv = self.root / ".venv"
        (venv / "bin").mkdir(parents=True)
        self.stand_in(venv / "bin" / "python", PYTHON)
        for name, stamp in (("test", ".fa4-requirements"), ("frameworks", ".fa4-requirements-frameworks")):
            digest = hashlib.sha256(lists[name].read_bytes()).hexdigest()
            (venv / stamp).write_text(f"Python 3.11.2 {digest}  -")

    def stand_in(self, path, text):
        text = PROLOGUE.replace("@NAME@", path.name) + text
        path.write_text(text.replace("@NOTES@", str(self.notes)) + "\n")
        path.chmod(0o755)

    def start(self, script="scripts/demo", *arguments, env=None, **options):
        """Starts a script; `env` is added to a plain environment (None removes)."""
        environment = {
            "PATH": f"{self.commands}:/usr/bin:/bin",
            "HOME": str(self.home),
            # A file that exists: find_cuda_tool looks for no other.
            "FA4_PTXAS": "/bin/true",
            "FA4_NVDISASM": "/bin/true",
        } | (env or {})
        return subprocess.Popen(
            [self.root / script, *arguments],
            env={k: v for k, v in environment.items() if v is not None},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **options,
        )

    def run(self, *arguments, **options):
        """(status, output) of a script."""
        process = self.start(*arguments, **options)
        output = process.communicate(timeout=60)[0]
        return process.returncode, output

    def calls(self):
        path = self.notes / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def environment(self, name):
        """The environment that a command was started with."""
        text = (self.notes / f"env-{name}").read_text()
        return dict(entry.split("=", 1) for entry in text.split("\0") if entry)

    def hang(self, name):
        """The next call of a command does not end."""
        for left in ("hanging", "hangs"):
            (self.notes / left).unlink(missing_ok=True)
        (self.notes / f"hang-{name}").touch()

    def wait_until_it_hangs(self, process):
        deadline = time.monotonic() + 30
        while not (self.notes / "hangs").exists():
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < deadline, "no command was started"
            time.sleep(0.02)

    def alive(self):
        """Those of the hanging processes that have not ended."""
        return alive((self.notes / "hanging").read_text().split())

    def kill_what_hangs(self):
        for pid in self.alive():
            os.kill(pid, signal.SIGKILL)

    def snapshot(self):
        """Everything in the folder around the checkout and in the checkout itself,
        but for its build folder and the stand-ins' notes."""
        found = {}
        for path in sorted(self.outside.rglob("*")):
            if path.is_relative_to(self.root / "build") or path.is_relative_to(self.notes):
                continue
            kind = "link" if path.is_symlink() else "file" if path.is_file() else "folder"
            text = path.read_bytes() if kind == "file" else None
            found[str(path.relative_to(self.outside))] = (kind, path.lstat().st_mode, text)
        return found
