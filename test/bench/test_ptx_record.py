# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/ptx-record: a record agrees with the build that wrote it, and names the kernels whose files another build
writes otherwise."""

import json
import sys

import pytest

from fa4_bench import ptx_record
from fa4_testing import gpu

pytestmark = pytest.mark.skipif(not gpu.has_tools("fa4-compile"), reason="needs fa4-compile")


@pytest.fixture
def main(monkeypatch, capsys):
    """The command, given words; returns its exit status, output and errors."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["ptx-record", *map(str, words)])
        status = ptx_record.main()
        return status, *capsys.readouterr()

    return run


def test_same_build(main, tmp_path):
    """A record written and checked by one build has no difference."""
    record = tmp_path / "record.json"
    assert main("write", record, "--random=1", "--only=random") == (0, "3 kernels recorded\n", "")
    assert main("check", record, "--random=1", "--only=random") == (0, "3 kernels compared, 0 differ\n", "")


def test_difference(main, tmp_path):
    """A kernel whose digest in the record is another one is named, with the file."""
    record = tmp_path / "record.json"
    main("write", record, "--random=0", "--only=causal_gqa.mlir")
    digests = json.loads(record.read_text())
    (files,) = digests.values()
    changed = next(name for name in files if name.endswith(".ptx"))
    files[changed] = "0" * 16
    record.write_text(json.dumps(digests))
    status, said, _ = main("check", record, "--random=0", "--only=causal_gqa.mlir")
    assert status == 1
    assert said == f"causal_gqa.mlir: {changed}\n1 kernels compared, 1 differ\n"


def test_record_that_is_none(main, tmp_path):
    """A file that is no record ends the check with one message."""
    record = tmp_path / "record.json"
    record.write_text("{")
    status, _, errors = main("check", record, "--random=0", "--only=causal_gqa.mlir")
    assert status == 2 and errors.startswith(f"ptx-record: {record}: ")
