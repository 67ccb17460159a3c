# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/versus-fa4 --gradient and bench/static-vs-fa4 --gradient: what they make of the tools' answers."""

import pytest

from fa4_testing import sass
from fa4_bench.timing import versus, versus_gradient
from fa4_bench.timing.shapes import GRADIENTS, SOFTCAPS, GradientShape, choose
from fa4.tools import ROOT
from fa4_bench.timing.versus_gradient import Times

PAIRED = GradientShape(128, "causal", 4096)


def times(main):
    return Times((10, main, 20), (main + 30) / 1800, "shared memory", 0.9, 0.4, 0.9)


def row(ours, theirs, paired=None):
    return {"ours": times(ours), "theirs": times(theirs), "alone": times(theirs), "paired": times(paired) if paired else None}


def test_shapes():
    """The compared gradients must have unique names and the launches that their names state."""
    assert len({shape.name for shape in GRADIENTS}) == len(GRADIENTS) == 24
    assert PAIRED.launched.name == "bwd-hd128-causal-b8-h16-4k-1cta" and PAIRED.paired.name == "bwd-hd128-causal-b8-h16-4k"
    assert not PAIRED.launched.pairs and GradientShape(64, "full", 2048).paired is None
    wide = GradientShape(192, "full", 4096)
    assert wide.alone is None and wide.launches == [wide.paired] == [wide.launched] and wide.launched.name == "bwd-hd192-128-full-b8-h16-4k"
    assert {shape.length for shape in choose("hd64", True, GRADIENTS)} == {2048, 4096}
    capped = SOFTCAPS[0]
    assert capped.name == "bwd-hd64-full-b1-h2-4k-softcap20-1cta" and "softcap=20.0" in capped.recording("out")
    assert not any("softcap" in word for shape in GRADIENTS for word in shape.launched.recording("out"))


def test_times_of_all_launches():
    """The time of a gradient is the sum over its launches; the busy units are those of the longest launch."""
    units = {"tensor cores": {"share": 0.3, "steady": 0.4}, "shared memory": {"share": 0.9}}
    small = {"cycles": 100.2, "seconds": 1e-6, "units": {"MUFU": {"share": 1.0}}}
    read = Times.read([small, {"cycles": 1000.4, "seconds": 5e-6, "units": units}, small])
    assert read.cycles == (100, 1000, 100) and read.sum == 1200 and read.microseconds == pytest.approx(7)
    assert (read.unit, read.busy, read.tensor, read.port) == ("shared memory", 0.9, 0.4, 0.9)


def test_what_is_missed():
    """Made-up times of gradients are compared: missed bars must be found and shown on the page."""
    table = {"hd64-full-2k": row(1050, 1000), "hd64-full-4k": row(1090, 1000), "hd128-causal-4k": row(970, 970, 485)}
    table["hd192-full-4k"] = row(800, 1000, 1000) | {"alone": None}
    assert versus_gradient.missed(table) == ["hd64-full-4k", "hd128-causal-4k"]
    lines = "\n".join(versus_gradient.lines(table))
    assert "| 1.087 **missed** | - | - | 10, 1090, 20 |" in lines and "| 1.000 | 0 | 1.942 **missed** |" in lines
    assert "| hd192-full-4k | - | 0 | 0.806 | 1 | 0.806 |" in lines
    page = versus_gradient.page(table, "0123456789ab", "4")
    assert "hd64-full-2k, hd64-full-4k, hd128-causal-4k, hd192-full-4k: 4 of 24 shapes were measured." in " ".join(page.split())
    assert "**4 shapes, 0.81 to 1.09 of FlashAttention-4's time; 2 of 4 bars are missed**" in page


def test_bound():
    """The bound counts 3328 cycles of shared memory for head dim 128, as FlashAttention-4's authors do."""
    assert sum(versus_gradient.shared_memory(128).values()) == 3328
    assert "| **shared memory in all** | **1920** | **3328** |" in versus_gradient.bound()
    assert "| tensor cores, five products | 1280 | 2560 |" in versus_gradient.bound()


def test_blocks():
    """The blocks of scores per SM must be those counted by hand, with a full and with a causal mask."""
    full = GradientShape(128, "full", 4096)
    assert versus_gradient.blocks(full) == 8 * 16 * 32 * 32 / 148
    assert versus_gradient.blocks(PAIRED) == 8 * 16 * 32 * 33 / 2 / 148


def test_command_line(tmp_path, capsys):
    """The options --gradient and --check are given together: the command must exit with status 2 and say why."""
    with pytest.raises(SystemExit, match="2"):
        versus.main(["--records", str(tmp_path), "--gradient", "--check"])
    assert "--gradient goes with neither --check" in capsys.readouterr().err


def test_loops(monkeypatch, capsys):
    """A kernel that spills, or has a longer loop than any of FlashAttention-4's, misses its bar."""
    monkeypatch.syspath_prepend(str(ROOT / "bench" / "peers"))
    import static_gradient
    import static_vs_fa4

    loops = [sass.Exponentials(n, 64, masked, 256) for n, masked in ((320, False), (326, False), (400, True))]
    assert static_gradient.worst(loops) == (326, 400) and static_gradient.worst([]) == (None, None)
    one, pairs = static_gradient.Figures(128, 0, 0, None, 436), static_gradient.Figures(128, 0, 0, None, 454)
    theirs = {"FA4, one CTA": one, "FA4, pairs": pairs}
    assert static_vs_fa4.judge(static_gradient.bars("hd128-full", theirs, static_gradient.Figures(168, 0, 0, 326, 400)))
    assert not static_vs_fa4.judge(static_gradient.bars("hd128-full", theirs, static_gradient.Figures(168, 0, 0, 437, None)))
    assert not static_vs_fa4.judge(static_gradient.bars("hd128-full", theirs, static_gradient.Figures(168, 0, 0, 326, 440)))
    assert not static_vs_fa4.judge(static_gradient.bars("hd128-full", theirs, static_gradient.Figures(168, 8, 0, 326, 400)))
    assert not static_vs_fa4.judge(static_gradient.bars("hd128-full", theirs, static_gradient.Figures(168, 0, 0, None, None)))
    assert "not found" in capsys.readouterr().out


def test_what_the_same_bits_cost():
    """A deterministic gradient at half of the speed misses its bar."""
    table = {"hd64-full-2k": (times(900), times(970)), "hd128-causal-4k": (times(970), times(1970))}
    assert versus_gradient.slow_orders(table) == ["hd128-causal-4k"]
    text = versus_gradient.order_page(table, "0123456789ab")
    assert "from commit 0123456789ab." in text
    assert "| hd64-full-2k | 32 | 930 | 1000 | 0.930 |" in text and "| hd128-causal-4k | 32 | 1000 | 2000 | 0.500 **missed** |" in text
    assert "**2 of 16 shapes, 0.50 to 0.93 of the speed without `deterministic`; 1 of 2 bars are missed**" in text
