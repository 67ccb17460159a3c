# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command bench/varlen, which measures packed sequences on a card: the table and the bars of a record, the ops of its
kernels, and what it says without a record."""

import json
import subprocess

import pytest

from fa4_bench import varlen
from fa4_testing import gpu, results

RECORD = {
    "card": "a card", "driver": "1", "torch": "2", "date": "2026-01-01", "commit": "0" * 12, "launches": 8,
    "rows": {
        "fwd hd64 full, 64 of 256": {"tokens": 16384, "us": {"packed": 100.0, "torch": 150.0, "batch": 80.0}, "wrong": {}},
        "bwd hd64 full, 64 of 64 to 512": {"tokens": 20000, "us": {"packed": 200.0, "torch": 100.0}, "wrong": {}},
    },
}  # fmt: skip


def test_rows():
    """Each kind, head dim, mask and set of lengths must have a row of its own name, and the sets as many lengths as they say."""
    names = [row.name for row in varlen.rows(quick=False)]
    assert len(set(names)) == len(names) == 2 * 2 * 2 * len(varlen.LENGTHS)
    for name, lengths in varlen.LENGTHS.items():
        assert len(lengths) == int(name.split(" of ")[0])
        assert (len(set(lengths)) == 1) == (" to " not in name)


def test_table_and_bars(tmp_path):
    """A record has a row that is faster than torch's, and one that is slower: the table must have both, and one bar is missed."""
    table = varlen.body(RECORD)
    assert "| fwd hd64 full, 64 of 256 | 100 | 150 | 1.50 | 80 | 0.80 |" in table
    assert "| bwd hd64 full, 64 of 64 to 512 | 200 | 100 | 0.50 |  |  |" in table
    assert list(varlen.missed_bars(RECORD)) == ["bwd hd64 full, 64 of 64 to 512: 0.50 of torch's speed; the bar is 1.00"]
    assert results.HEAD.match(varlen.page(RECORD))
    recorded = tmp_path / "record.json"
    recorded.write_text(json.dumps(RECORD))
    done = subprocess.run([gpu.ROOT / "bench/varlen", f"--report={recorded}"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout.strip() == table
    assert done.stderr == "varlen: bwd hd64 full, 64 of 64 to 512: 0.50 of torch's speed; the bar is 1.00\n"


def test_wrong_result_misses_the_bar():
    """A kernel was wrong, so that it has no time: the bar must be missed, with what was wrong."""
    row = {"tokens": 1, "us": {"torch": 100.0}, "wrong": {"packed": "out: 1, allowed 0.1"}}
    assert list(varlen.missed_bars({"rows": {"fwd": row}})) == ["fwd: packed is wrong: out: 1, allowed 0.1", "fwd: our kernel has no time"]


def test_no_record(tmp_path):
    """There is no such record: the command must say so in a line."""
    done = subprocess.run([gpu.ROOT / "bench/varlen", f"--report={tmp_path / 'none.json'}"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("varlen: ") and len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(not gpu.has_tools("fa4-compile"), reason="needs fa4-compile")
@pytest.mark.parametrize("kind", varlen.KINDS)
def test_kernels_compile(kind, tmp_path):
    """The op of packed sequences must have kernels for Hopper, with a list of work tiles in front."""
    written = gpu.compile_any(varlen.spec("thd", kind, 64, "causal").text, tmp_path, chip="sm_90a")
    assert any("_tiles_kernel" in path.name for path in gpu.ptx_files(written))
