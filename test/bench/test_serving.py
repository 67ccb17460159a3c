# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command bench/serving, which measures steps of decoding on a card: the table and the bars of a record, the ops of its kernels,
and what it says of a card that it does not know."""

import json
import subprocess

import pytest

from fa4_bench import serving
from fa4_testing import gpu, results

RECORD = {
    "card": "NVIDIA H200", "driver": "1", "torch": "2", "date": "2026-01-01", "commit": "0" * 12, "launches": 8, "read_gbs": 4000.0,
    "rows": {
        "fast": {"bytes": 2**30, "us": {"ours": 240.0, "cudnn": 250.0, "flash": 300.0}, "wrong": {}, "absent": {}},
        "slow": {"bytes": 2**30, "us": {"ours": 300.0, "cudnn": 240.0}, "wrong": {"flex": "1, allowed 0.1"}, "absent": {}},
        "small": {"bytes": 2**20, "us": {"ours": 10.0}, "wrong": {}, "absent": {"cudnn": "none"}},
    },
}  # fmt: skip


def test_rows():
    """Each row must have a name of its own, and folders be shared by rows of one kernel only."""
    assert len({row.name for row in serving.ROWS}) == len(serving.ROWS)
    texts = {row.folder: serving.spec(row).text for row in serving.ROWS}
    assert len(set(texts.values())) == len(texts)
    assert all(f"x{row.queries}x{row.heads[0]}x" in texts[row.folder] for row in serving.ROWS)


def test_table_and_bars(tmp_path):
    """A row is faster than all peers, one slower and below the memory's rate, and one too small for the bar by it: the table must have
    all, and two bars are missed. A peer that is wrong is no bar of ours."""
    table = serving.body(RECORD)
    assert "| fast | 240.0 | 93% | 250.0 | 300.0 |  | 1.04 |" in table
    assert "| slow | 300.0 | 75% | 240.0 |  |  | 0.80 |" in table
    assert "| small | 10.0 | 2% |  |  |  |  |" in table
    missed = ["slow: 75% of the memory's rate; the bar is 85%", "slow: 0.80 of cudnn's speed; the bar is 1.00"]
    assert list(serving.missed_bars(RECORD)) == missed
    assert results.HEAD.match(serving.page(RECORD))
    recorded = tmp_path / "record.json"
    recorded.write_text(json.dumps(RECORD))
    done = subprocess.run([gpu.ROOT / "bench/serving", f"--report={recorded}"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout.strip() == table
    assert done.stderr.splitlines() == [f"serving: {sentence}" for sentence in missed]


def test_wrong_result_misses_the_bar():
    """Our kernel was wrong, so that it has no time: the bar must be missed, with what was wrong."""
    row = {"bytes": 1, "us": {"cudnn": 100.0}, "wrong": {"ours": "1, allowed 0.1"}}
    assert list(serving.missed_bars({"card": "H200", "rows": {"x": row}})) == ["x: our kernel is wrong: 1, allowed 0.1", "x: our kernel has no time"]


def test_unknown_card():
    """Nobody has looked up the rate of a card's memory: the error must say where it goes."""
    with pytest.raises(ValueError, match="the rate of the memory of NVIDIA H20 is not known: add it to RATES"):
        serving.rate_of({"card": "NVIDIA H20"})


@pytest.mark.skipif(not gpu.has_tools("fa4-compile"), reason="needs fa4-compile")
def test_compile(tmp_path):
    """The kernels of a row are written: those of splits, and the one that merges them."""
    assert serving.main([f"--compile={tmp_path}", "--quick"]) == 0
    (folder,) = tmp_path.iterdir()
    assert (folder / "sdpa_kernel.cubin").exists() and (folder / "sdpa_merge_kernel.cubin").exists()
