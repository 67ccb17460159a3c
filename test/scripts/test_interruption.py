# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A script that is told to end, whatever it is doing, does so within five seconds,
takes along all that it has started, and succeeds when it is run again."""

import os
import signal
import subprocess
import time

import pytest
from checkout import ROOT, alive

LIMIT = 5  # seconds

# One after the other, as they wait for most of their time.
pytestmark = pytest.mark.xdist_group("interruption")

# What the script is doing: the command of it that hangs, and what must be missing
# for that command to be called.
STEPS = {
    "apt": ("apt-get", "ninja-build\n"),
    "dpkg": ("dpkg", "ninja-build\n"),
    "build": ("cmake", ""),
    "demo": ("python", ""),
}


def prepare(checkout, step):
    command, missing = STEPS[step]
    if missing:
        (checkout.notes / "missing").write_text(missing)
    if step != "demo":
        checkout.hang(command)
        return
    # Not the version that the script asks for first.
    python = checkout.root / ".venv" / "bin" / "python"
    python.write_text(
        python.read_text().replace("hang-$name", "hang-${2-}").replace("$name $*", "$name $*", 1)
    )
    checkout.hang("fa4_testing.demo")


def end(checkout, signal_number, step):
    prepare(checkout, step)
    process = checkout.start()
    checkout.wait_until_it_hangs(process)
    return send(checkout, signal_number, process)


def send(checkout, signal_number, process):
    """(status, output) of a script that is told to end."""
    started = time.monotonic()
    process.send_signal(signal_number)
    output = process.communicate(timeout=30)[0]
    while checkout.alive() and time.monotonic() - started < LIMIT:
        time.sleep(0.05)
    assert time.monotonic() - started < LIMIT, output
    assert not checkout.alive(), "left running"
    return process.returncode, output


@pytest.mark.parametrize("step", STEPS)
def test_it_ends_and_recovers(checkout, step):
    """A script is ended in one of its steps: it must end with everything it has started, and succeed when run again."""
    status, output = end(checkout, signal.SIGTERM, step)
    assert status == 143
    assert "ended by SIGTERM; to go on, run the same command again" in output
    status, output = checkout.run()
    assert status == 0, output
    assert "demo says" in output


@pytest.mark.parametrize("number, wanted", [(signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_the_other_signals_that_end_it(checkout, number, wanted):
    """A script gets SIGINT or SIGHUP: it must end in time with the status of the signal."""
    status, output = end(checkout, number, "build")
    assert status == wanted, output


def test_started_by_a_shell_that_has_it_ignore_interrupts(checkout):
    """A script is started with SIGINT ignored and gets SIGINT: it must end all the same."""
    checkout.hang("cmake")
    start = f"exec env --ignore-signal=INT '{checkout.root}/scripts/demo'"
    process = checkout.start("/bin/sh", "-c", start)
    checkout.wait_until_it_hangs(process)
    assert send(checkout, signal.SIGINT, process)[0] == 130


# The step has the script told to end before the script knows the step's id.
AT_ONCE = r"""
. "$1"
hang() {
  echo "$BASHPID" >"$1"
  kill -TERM $$
  exec sleep 600
}
set -T
trap '[[ $BASHPID != $$ || $BASH_COMMAND != "FA4_STEP_PID=$"* ]] || sleep 0.5' DEBUG
run_shown hang "$2"
"""


def test_told_to_end_while_it_starts_a_step(tmp_path):
    """A script gets SIGTERM at the moment it starts a step: the step must be ended, too."""
    steps = ROOT / "scripts" / "steps.sh"
    command = ["bash", "-c", AT_ONCE, "-", steps, tmp_path / "step"]
    # Not to a pipe, which a step that is left running would hold.
    status = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    step = int((tmp_path / "step").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(step, signal.SIGKILL)
    assert status == 143


# Shells that start their child again when it is killed, which they have time for
# where one signal is slow to follow another.
AGAIN = r"""
. "$1"
kill() {
  local signal=$1 pid
  shift
  [[ $signal == -KILL ]] || { builtin kill "$signal" "$@"; return; }
  for pid; do builtin kill -KILL "$pid"; sleep 0.05; done
}
hang() {
  for child in {1..6}; do
    bash -c 'trap "" TERM; while :; do sleep 600 & echo $! >>"$1"; wait; done' - "$1" &
  done
  sleep 0.5
  builtin kill -TERM $$
  wait
}
run_shown hang "$2"
"""


def test_what_is_started_again_while_it_is_killed(tmp_path):
    """A step starts new processes while its processes are killed: none of them may be left."""
    steps = ROOT / "scripts" / "steps.sh"
    command = ["bash", "-c", AGAIN, "-", steps, tmp_path / "children"]
    status = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    assert status == 143
    left = alive((tmp_path / "children").read_text().split())
    for child in left:
        os.kill(child, signal.SIGKILL)
    assert not left


def test_nothing_is_left_when_the_script_itself_is_killed(checkout):
    """A script is killed: its processes must end, and the next run must succeed."""
    status, _ = end(checkout, signal.SIGKILL, "build")
    assert status == -signal.SIGKILL
    assert checkout.run()[0] == 0


def test_ended_while_it_waits_for_another(checkout):
    """A script that waits for another one gets SIGTERM: it must end, and the other one must go on."""
    checkout.hang("cmake")
    first = checkout.start()
    checkout.wait_until_it_hangs(first)
    second = checkout.start()
    while "waiting for another script" not in second.stdout.readline():
        assert second.poll() is None
    started = time.monotonic()
    second.send_signal(signal.SIGTERM)
    assert second.wait(timeout=30) == 143
    assert time.monotonic() - started < LIMIT
    assert checkout.alive(), "the first script's build was ended too"
    first.send_signal(signal.SIGTERM)
    assert first.wait(timeout=30) == 143
    for process in (first, second):
        process.stdout.close()


def test_two_at_once_take_turns(checkout):
    """Two scripts are started at once: one must wait for the other, and both must succeed."""
    (checkout.notes / "slow").touch()
    processes = [checkout.start() for _ in range(2)]
    outputs = [process.communicate(timeout=60)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    assert (checkout.notes / "spans").read_text().split() == ["begin", "end"] * 2
    assert sum("waiting for another script" in output for output in outputs) == 1
