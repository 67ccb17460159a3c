"""Sum up the runners of scripts/test from their JUnit reports.

usage: summarize.py LOGS NAME=STATUS...

Shows each failure, one line a runner, and as the last line
"N passed, N failed, N skipped". A runner without a report counts as one test,
which its exit status decides; so does one that failed though its report says
that nothing did.
"""

# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import collections
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

SHOWN_FAILURES = 20
SHOWN_LINES = (15, 30)  # of a failure's output: from its start, from its end


class Runner:
    def __init__(self, logs, name, status):
        self.name = name
        self.status = status
        self.log = logs / f"{name}.log"
        self.passed = 0
        self.skipped = collections.Counter()  # by reason
        self.failures = []  # of (name, text)
        report = logs / f"junit-{name}.xml"
        if report.exists():
            self._read(report)
        elif status == 0:
            self.passed = 1
        if status != 0 and not self.failures:
            self.failures.append((f"exit status {status}", _end(self.log)))

    def _read(self, report):
        try:
            cases = list(ElementTree.parse(report).iter("testcase"))
        except ElementTree.ParseError as error:
            self.failures.append((f"unreadable report {report.name}", str(error)))
            return
        for case in cases:
            name = "::".join(
                part for part in (case.get("classname"), case.get("name")) if part
            )
            wrong = [e for e in case if e.tag in ("failure", "error")]
            if wrong:
                text = wrong[0].text or wrong[0].get("message") or ""
                # ctest keeps the output beside the failure.
                if case.find("system-out") is not None and not wrong[0].text:
                    text = case.find("system-out").text or text
                self.failures.append((name, text))
            elif (skipped := case.find("skipped")) is not None:
                reason = skipped.get("message") or "no reason given"
                # What --filter leaves out is not run by choice; lit lists it.
                if not reason.startswith("Test not selected"):
                    self.skipped[reason] += 1
            else:
                self.passed += 1


def _end(log):
    return log.read_text(errors="replace") if log.exists() else ""


def _show(runner):
    for name, text in runner.failures[:SHOWN_FAILURES]:
        print(f"\n---- FAILED: {runner.name}: {name}")
        lines = text.strip().splitlines()
        first, last = SHOWN_LINES
        if len(lines) > first + last:
            lines[first:-last] = [f"... (all of it in {runner.log})"]
        for line in lines:
            print(f"    | {line[:200]}")
    if len(runner.failures) > SHOWN_FAILURES:
        print(f"\n---- and {len(runner.failures) - SHOWN_FAILURES} more:")
        for name, _ in runner.failures[SHOWN_FAILURES:]:
            print(f"    {runner.name}: {name}")


def main(logs, *results):
    logs = pathlib.Path(logs)
    runners = []
    for result in results:
        name, status = result.rsplit("=", 1)
        runners.append(Runner(logs, name, int(status)))
    for runner in runners:
        _show(runner)
    print()
    for runner in runners:
        print(
            f"{runner.name:14}{runner.passed:6} passed{len(runner.failures):6} failed"
            f"{runner.skipped.total():6} skipped"
        )
        for reason, count in runner.skipped.most_common():
            print(f"{'':14}{count:6} skipped: {reason[:100]}")
    failed = sum(len(runner.failures) for runner in runners)
    print(
        f"{sum(r.passed for r in runners)} passed, {failed} failed, "
        f"{sum(r.skipped.total() for r in runners)} skipped"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
