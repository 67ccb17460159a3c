# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/embed: the recorded launches are within the bars, and a record that is not is seen."""

import json
import sys
import zipfile

import pytest
from fa4_bench.embed import __main__ as embed


def run(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bench/embed", "--only", "launch"])
    return embed.main(), capsys.readouterr().out


def test_recorded_launches_are_within_the_bars(monkeypatch, capsys):
    """The recorded times of launches are judged: the command must miss no bar."""
    status, printed = run(monkeypatch, capsys)
    assert status == 0 and "H100" in printed and "missed" not in printed


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda record: record["launch"].update(median_us=6.0 * record["launches"]), "the bar is 5.0 each"),
        (lambda record: record["uses"]["graph"].update(dq=0.01), "results differ from float64 by 1.0e-02"),
        (lambda record: record["errors"].update(dq=float("nan")), "results differ from float64 by nan"),
    ],
)
def test_missed_bars_fail(monkeypatch, capsys, tmp_path, change, message):
    """A figure of the record is changed beyond its bar: the command must fail and name the kernel and the bar."""
    record = json.loads((embed.ROOT / "bench" / "launch-overhead.json").read_text())
    change(record["records"][0])
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "launch-overhead.json").write_text(json.dumps(record))
    monkeypatch.setattr(embed, "ROOT", tmp_path)
    status, printed = run(monkeypatch, capsys)
    assert status == 1 and "missed: bwd-hd128-causal" in printed and message in printed


def test_missed_bars_of_the_package_fail(monkeypatch, capsys, tmp_path):
    """A package whose import and whose compile sleep longer than their bars stands in for the wheel: bench/embed must
    report both as missed and exit with 1."""
    wheel = tmp_path / "fa4.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("fa4/__init__.py", "import time\ntime.sleep(0.06)\nsdpa = dict\ndef compile(*_, **__): time.sleep(0.006)\n")
    monkeypatch.setattr(embed, "make_wheel", lambda folder: wheel)
    monkeypatch.setattr(embed, "PROCESSES", 1)
    monkeypatch.setattr(sys, "argv", ["bench/embed", "--only", "package"])
    assert embed.main() == 1
    printed = capsys.readouterr().out
    assert "missed: import fa4: " in printed and "missed: a kernel from the cache: " in printed and "missed: wheel" not in printed  # However slow the machine is.
