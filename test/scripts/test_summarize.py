# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The last lines of scripts/test: what passed, failed and was skipped, where
"skipped" says that something is missing and never that nobody asked for a test."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def summarize(logs, *results):
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "summarize.py", logs, *results],
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout


def report(logs, name, *cases):
    text = "".join(f'<testcase classname="c" name="n{i}">{c}</testcase>' for i, c in enumerate(cases))
    (logs / f"junit-{name}.xml").write_text(f"<testsuites><testsuite>{text}</testsuite></testsuites>")


def test_skipped_means_missing(tmp_path):
    """A test is left out by choice and one for want of ptxas: only the second must count as skipped, with its reason."""
    report(
        tmp_path,
        "lit",
        "",
        '<skipped message="Test not selected (--filter, --max-tests)"/>',
        '<skipped message="Missing required feature(s): ptxas"/>',
    )
    status, output = summarize(tmp_path, "lit=0")
    assert status == 0
    assert output.splitlines()[-1] == "1 passed, 0 failed, 1 skipped"
    assert "1 skipped: Missing required feature(s): ptxas" in output


def test_failures_decide(tmp_path):
    """One runner has a failed test, and another ended without a report: both must count as failed, with what they said."""
    report(tmp_path, "lit", "", "<failure>why</failure>")
    (tmp_path / "unit.log").write_text("no such file")
    status, output = summarize(tmp_path, "lit=1", "unit=2", "format=0")
    assert status == 1
    assert output.splitlines()[-1] == "2 passed, 2 failed, 0 skipped"
    assert "    | why" in output and "exit status 2" in output


def collected(*arguments, every=False, **environment):
    """The last line of what pytest says that it would run; or every test's name."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", *arguments],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if k != "FA4_MANY"} | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    return [line for line in lines if "::" in line] if every else lines[-1]


def test_tests_that_are_run_by_choice_are_deselected():
    """Tests with the mark `many` must be deselected, and with FA4_MANY selected."""
    module = "test/python/test_kernel_forms.py"
    assert re.search(r"\(\d+ deselected\)", collected(module))
    assert "deselected" not in collected(module, FA4_MANY="1")


def test_cases_take_turns(tmp_path):
    """One case in three, and whole groups; another seed draws others; --filter can name any."""
    module = tmp_path / "test_turns.py"
    module.write_text(
        "import pytest\n"
        "@pytest.mark.turns(3)\n"
        "@pytest.mark.parametrize('x', range(30))\n"
        "def test_x(x): pass\n"
        "@pytest.mark.turns(2)\n"
        "@pytest.mark.parametrize('y', [pytest.param(y, marks=pytest.mark.xdist_group(str(y % 5))) for y in range(20)])\n"
        "def test_y(y): pass\n"
    )

    def names(*arguments, **environment):
        arguments = ["-c", "/dev/null", f"--confcutdir={tmp_path}", "-p", "conftest", *arguments, str(module)]
        return collected(*arguments, every=True, PYTHONPATH=str(ROOT / "test"), **environment)

    first, again, other = (names(FA4_SEED=seed) for seed in "112")
    assert first == again != other
    drawn = [int(re.search(r"y\[(\d+)\]", name)[1]) for name in first if "test_y" in name]
    assert len(first) - len(drawn) == 10 and len(drawn) == 12
    assert len({y % 5 for y in drawn}) == 3
    assert len(names(FA4_MANY="1")) == 50
    assert [name.split("::")[1] for name in names("--filter", r"x.7.$")] == ["test_x[7]"]


def test_groups_that_took_longest_come_first(tmp_path):
    """The seconds of a last run are given. The group that took longest comes first, a case that was not drawn counts as the
    cases that were, and a new test comes last."""
    module = tmp_path / "test_order.py"
    module.write_text(
        "import pytest\n"
        "def test_new(): pass\n"
        "def test_long(): pass\n"
        "@pytest.mark.parametrize('x', [pytest.param(x, marks=pytest.mark.xdist_group('a')) for x in range(3)])\n"
        "def test_cases(x): pass\n"
        "@pytest.mark.parametrize('y', range(2))\n"
        "def test_y(y): pass\n"
    )
    seconds = {"test_long": 5, "test_cases[0]": 2, "test_cases[1]": 2, "test_y[1]": 4}
    kept = tmp_path / "cache" / "v" / "fa4" / "seconds"
    kept.parent.mkdir(parents=True)
    kept.write_text(json.dumps({f"{module.name}::{name}": taken for name, taken in seconds.items()}))
    names = collected(
        "-c", "/dev/null", f"--rootdir={tmp_path}", f"--confcutdir={tmp_path}", "-o", f"cache_dir={tmp_path / 'cache'}",
        "-p", "conftest", str(module), every=True, PYTHONPATH=str(ROOT / "test"),
    )  # fmt: skip
    assert [name.split("::")[1] for name in names] == [
        "test_cases[0]", "test_cases[1]", "test_cases[2]", "test_long", "test_y[0]", "test_y[1]", "test_new",
    ]  # fmt: skip


def test_skips_name_what_is_missing():
    """Each skip of a Python test must give a reason that begins with `needs`."""
    reasons = []
    for path in (ROOT / "test").rglob("*.py"):
        if path != Path(__file__):
            text = path.read_text()
            for call in re.finditer(r"(?:mark\.skipif|pytest\.skip|importorskip)\(", text):
                reasons += re.findall(r'f?"(needs [^"]+)"', text[call.end() : call.end() + 200])[:1] or [
                    f"{path}: a skip without `needs`"
                ]
    assert reasons and all(reason.startswith("needs ") for reason in reasons), reasons
