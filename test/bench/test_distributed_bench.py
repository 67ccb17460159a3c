# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command bench/distributed, which measures attention over cards: the tables and the bars of a record, what is modelled of it, and the ops of its
kernels."""

import json
import subprocess

import pytest

from fa4_bench import distributed
from fa4_testing import gpu, results

ROW = {
    "tokens": 65536, "message_bytes": 4 * 10**8, "differs_from_one": {}, "wrong": {},
    "ms": {"one": 240.0, "one-fwd": 64.0, "ring": 120.0, "ring-fwd": 32.0, "ulysses": 125.0, "steps": 119.5, "messages": 2.0, "merge": 0.6},
    "mhz": {"one": [1700], "ring": [1690, 1700]},
}  # fmt: skip
SLOW = ROW | {"ms": ROW["ms"] | {"ring": 130.0, "steps": 119.0}, "mhz": {"one": [1800], "ring": [1700, 1700]}}


def record(row, **others):
    return {"card": "NVIDIA H200", "cards": 2, "driver": "1", "torch": "2", "date": "2026-01-01", "commit": "0" * 12, "rows": {distributed.BARRED: row, **others}}


def test_rows():
    """Each row must have a name of its own, and the row with the bar be among them."""
    names = [row.name for row in distributed.ROWS]
    assert len(set(names)) == len(names) and distributed.BARRED in names
    assert distributed.flops("causal", 1024) == pytest.approx(distributed.flops("full", 1024) / 2, rel=1e-2)


def test_table_and_bars(tmp_path):
    """A ring has twice one card's speed, and another one less than the bar, at other clocks: the table must have both, and the second misses two bars."""
    table = distributed.body(record(ROW))
    assert "| causal, 64k tokens | 240.0 | 120.0 | 2.00 | 2.00 | 125.0 | 1.92 | 75% of 2.00 ms | 0.60 ms, 0.5% | 1700 1695 |" in table
    assert list(distributed.missed_bars(record(ROW))) == []
    assert "0% of 2.00 ms" in distributed.body(record(SLOW))
    missed = ["causal, 64k tokens: forward and gradient on 2 cards have 1.85 of one card's speed; the bar is 1.9",
              "causal, 64k tokens: the SMs' clocks are 1700 to 1800 MHz; the bar is 3% between them"]  # fmt: skip
    assert list(distributed.missed_bars(record(SLOW))) == missed
    assert results.HEAD.match(distributed.page(record(ROW)))
    recorded = tmp_path / "record.json"
    recorded.write_text(json.dumps(record(SLOW)))
    done = subprocess.run([gpu.ROOT / "bench/distributed", f"--report={recorded}"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout.strip() == distributed.body(record(SLOW))
    assert done.stderr.splitlines() == [f"distributed: {sentence}" for sentence in missed]


def test_wrong_results_and_rows_without_times():
    """A candidate was wrong, or the row with the bar is not there: the bar must be missed, with the reason."""
    wrong = record(ROW | {"wrong": {"ring": "dq differs from one card's by 0.1"}})
    assert list(distributed.missed_bars(wrong)) == ["causal, 64k tokens: ring is wrong: dq differs from one card's by 0.1"]
    empty = record(ROW)
    del empty["rows"][distributed.BARRED]
    assert list(distributed.missed_bars(empty)) == ["causal, 64k tokens: there is no time of a ring beside one card's"]


def test_model():
    """Two ranks are modelled by what two ranks have measured; with a link that takes longer than the steps, what is longer is added."""
    found = record(ROW)
    # 200 GB/s, twice the tokens and so four times the work of the row: 960 ms on one card, and 480 on each of two, with merges of 1.2 ms.
    two = distributed.model(found, 2)
    keys = 2 * 65536 * 8 * 128 / 200e6
    assert two.steps == pytest.approx(480 + 1.2, rel=1e-3) and two.exposed == pytest.approx(2 * keys, rel=1e-3)
    assert two.speedup == pytest.approx(960 / (481.2 + 2 * keys), rel=1e-3)
    slow = distributed.model(found, 2, 1.0)
    hop = 2 * 65536 * 8 * 128 / 1e6
    assert slow.exposed == pytest.approx((2 * hop - 64) + (6 * hop - 176) + 2 * hop, rel=1e-3)
    assert distributed.model(found, 8).speedup < 8


def test_modelled_table():
    """The table says how many ranks there are, what joins them, and how far from linear the speed is."""
    lines = distributed.modelled_table(record(ROW)).splitlines()
    assert lines[2].startswith("| 8 | 200 GB/s: NVLink, as measured |") and lines[3].startswith("| 64 | 50 GB/s: a NIC of 400 Gbit/s for each card |")


@pytest.mark.skipif(not gpu.has_tools("fa4-compile"), reason="needs fa4-compile")
def test_compile(tmp_path, monkeypatch):
    """The kernels of a ring are written to a cache: a step on a card must find each of its kernels there, and add none."""
    torch = pytest.importorskip("torch", reason="needs torch, for fa4.distributed")
    from fa4 import cache, distributed_group, distributed_ring, torch_ops

    for name in ("FA4_CACHE_DIR", "FA4_VERIFY_PTX"):
        monkeypatch.setenv(name, "")
    assert distributed.main([f"--compile={tmp_path}"]) == 0
    assert len(list(cache.entries())) == 4
    monkeypatch.setattr(torch_ops, "_chip", lambda _: "sm_90a")
    monkeypatch.setattr(torch_ops, "run", lambda *_: None)
    x = torch.zeros(1, 64, 2, 128, dtype=torch.bfloat16)
    for is_causal in (False, True):
        form = distributed_ring.Form(128, 128, "bf16", "bshd", is_causal, None, False)
        step = distributed_ring.step_of(form, distributed_group.Ranks(None, 0, 1), 0, 64, 64)
        step.backward(x, x, x, *step.forward(x, x, x), x, None)
    assert len(list(cache.entries())) == 4
