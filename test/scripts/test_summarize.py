# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The last lines of scripts/test: what passed, failed and was skipped, where
"skipped" says that something is missing and never that nobody asked for a test."""

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
    report(tmp_path, "lit", "", "<failure>why</failure>")
    (tmp_path / "unit.log").write_text("no such file")
    status, output = summarize(tmp_path, "lit=1", "unit=2", "format=0")
    assert status == 1
    assert output.splitlines()[-1] == "2 passed, 2 failed, 0 skipped"
    assert "    | why" in output and "exit status 2" in output


def collected(*arguments, **environment):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", *arguments],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if k != "FA4_MANY"} | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[-1]


def test_tests_that_are_run_by_choice_are_deselected():
    module = "test/python/test_kernel_forms.py"
    assert re.search(r"\(\d+ deselected\)", collected(module))
    assert "deselected" not in collected(module, FA4_MANY="1")


def test_skips_name_what_is_missing():
    reasons = []
    for path in (ROOT / "test").rglob("*.py"):
        if path != Path(__file__):
            text = path.read_text()
            for call in re.finditer(r"(?:mark\.skipif|pytest\.skip|importorskip)\(", text):
                reasons += re.findall(r'f?"(needs [^"]+)"', text[call.end() : call.end() + 200])[:1] or [
                    f"{path}: a skip without `needs`"
                ]
    assert reasons and all(reason.startswith("needs ") for reason in reasons), reasons
