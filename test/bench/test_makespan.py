# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The model of how long schedules take, bench/makespan: each part against what can be worked out by
hand or by trying everything, and its bars."""

import itertools
import json

import numpy as np
import pytest

from fa4_bench import makespan, makespan_run
from fa4_testing import gpu
from fa4_bench.makespan import Costs, Order, TileKernel, UnsupportedKernelError, simulate
from fa4_testing.programs.program import Program, Sizes, compare
from fa4.reference import Mask

needs_compiler = pytest.mark.skipif(not gpu.has_tools("fa4-compile", "fa4-opt"), reason="needs fa4-compile and fa4-opt")

# ---------------------------------------------------------------------------
# The order
# ---------------------------------------------------------------------------


def test_order_of_the_documentation():
    """The documentation's example of #tile.order is parsed: work tiles must come in the documented order."""
    order = Order.parse('#tile.order<descending = true, cache_bytes = 40, group_bytes = 2, size = "Sk">')
    assert order == Order(0, True, 40, 2, "Sk")
    first = [(2, 0), (1, 0), (0, 0), (2, 1), (2, 2), (1, 1), (1, 2), (0, 1), (0, 2)]
    rest = [(2, 3), (2, 4), (1, 3), (1, 4), (0, 3), (0, 4)]
    assert order.coordinates(np.arange(15), (3, 5), {"Sk": 10}).tolist() == [list(pair) for pair in first + rest]


def test_order_without_a_cache():
    """An order has no cache size: its work tiles must come row by row."""
    order = Order.parse("#tile.order<axis = 1>")
    assert order.coordinates(np.arange(4), (2, 2), {}).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]


@pytest.mark.parametrize("extents", [(1,), (7,), (3, 5), (5, 1, 3), (4, 3, 5), (1, 7, 2)], ids=str)
def test_order_is_one_to_one(extents):
    """An order of work tiles names each tile once: for all axes, both directions, and sections from one group to more
    than there are."""
    everything = sorted(itertools.product(*map(range, extents)))
    for axis, descending, width in itertools.product(range(len(extents)), (False, True), (0, 1, 2, 3, 4, 99)):
        order = Order(axis, descending, 10 * width, 5, "n")
        tiles = order.coordinates(np.arange(len(everything)), extents, {"n": 2})
        assert sorted(map(tuple, tiles.tolist())) == everything
        blocks = tiles[:, axis]
        # All groups side by side are in the order of the blocks, and nothing else.
        if width == 99:
            assert (np.diff(-blocks if descending else blocks) >= 0).all()
        # The last section is full.
        last = tiles[-min(width, len(everything)) * extents[axis] :] if 0 < width < 99 else tiles
        assert len({tuple(np.delete(tile, axis)) for tile in last}) == len(last) // extents[axis]


def test_no_order():
    """An attribute that is no #tile.order is parsed: a ValueError must say so."""
    with pytest.raises(ValueError, match="no #tile.order"):
        Order.parse("#tile.extent<>")


# ---------------------------------------------------------------------------
# Schedules
# ---------------------------------------------------------------------------


def finish(schedule, passes, costs=Costs(1), sms=2, **rest):
    return simulate(schedule, np.array(passes), costs, sms, **rest).finish


def test_one_cta_after_the_other():
    """Two SMs get work tiles of 3, 2, 2, 1 and 1 passes: SM 0 runs 3, 1 and 1; SM 1 runs 2 and 2."""
    timeline = simulate("lpt", np.array([3, 2, 2, 1, 1]), Costs(10), 2)
    assert timeline.sm.tolist() == [0, 1, 1, 0, 0] and timeline.finish == 50
    assert timeline.begin.tolist() == [0, 0, 20, 30, 40]
    # By number: SM 0 has 3, 2 and 1.
    assert finish("static", [3, 2, 2, 1, 1]) == 6


def test_requests_at_the_begin_of_the_tile_before():
    """CTAs request their next work tile when they begin a tile, or when they end it: the finish must be the one counted
    by hand."""
    # SM 0 asks for the tile of 3 passes while it works on the one of 4.
    assert finish("clc", [4, 1, 3, 1], ahead=True) == 7
    assert finish("clc", [4, 1, 3, 1], ahead=False) == 5
    # SMs whose first CTAs start at once ask after all of these have started.
    assert finish("clc", [1, 1, 1], sms=3) == 1


def test_what_a_tile_costs_beside_its_passes():
    """Tiles have costs to start, fill and drain: the finish must be the sum that the schedule implies."""
    costs = Costs(10, start=5, fill=4, drain=6, overlap=0.5)
    for schedule in ("grid", "lpt"):
        assert finish(schedule, [1, 1], costs, sms=1) == 2 * (5 + 4 + 10 + 6)
    for schedule in ("static", "clc"):
        assert finish(schedule, [1, 1], costs, sms=1) == 5 + 4 + 10 + (4 + 6) / 2 + 10 + 6
    for schedule in gpu.SCHEDULES:
        # One tile costs the same with all.
        assert finish(schedule, [1], costs) == 25 == costs.bound(np.array([1]), schedule, 2)
        assert finish(schedule, [1, 1], costs, sms=1) == costs.bound(np.array([1, 1]), schedule, 1)


@pytest.mark.parametrize("schedule", gpu.SCHEDULES)
def test_no_schedule_beats_the_bound(schedule, rng):
    """Random tiles are scheduled: no finish may be below the bound, and no SM may work on two loops at once."""
    for _ in range(50):
        costs = Costs(*rng.integers(1, 20, 4), overlap=rng.uniform())
        passes, sms = rng.integers(1, 9, rng.integers(1, 40)), int(rng.integers(1, 9))
        for ahead in (False, True):
            timeline = simulate(schedule, passes, costs, sms, ahead)
            assert timeline.finish >= costs.bound(passes, schedule, sms) - 1e-9
            # An SM works on one loop at a time.
            for sm in range(sms):
                mine = np.flatnonzero(timeline.sm == sm)
                begins = timeline.begin[mine]
                assert (np.diff(begins) >= passes[mine][:-1] * costs.cycles).all()


def test_groups_at_once():
    """Work tiles of known times read heads: the model must count the heads that are read at the same moment."""
    # Two SMs; tiles 0 and 1 read the same head, 2 follows on SM 1, when 0 goes on.
    timeline = simulate("lpt", np.array([3, 1, 1, 1]), Costs(1), 2)
    assert timeline.most_at_once(np.array([7, 7, 8, 7])) == 2
    assert timeline.most_at_once(np.array([7, 7, 7, 7])) == 1
    # One head ends when the other begins.
    assert simulate("lpt", np.array([1, 1]), Costs(1), 1).most_at_once(np.array([0, 1])) == 1


def test_unknown_schedule():
    """A schedule that does not exist is asked for: a ValueError must name the schedule."""
    with pytest.raises(ValueError, match="no schedule fair"):
        finish("fair", [1])


# ---------------------------------------------------------------------------
# What is read off a kernel
# ---------------------------------------------------------------------------


MASKS = {
    "full": None,
    "causal": Mask.causal("bottom_right"),
    "window": Mask("top_left", left=200, right=100),
    "window-right": Mask("bottom_right", left=130, right=0),
}


@needs_compiler
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("schedule", ["lpt", "clc"])
def test_passes_are_blocks_that_a_row_sees(mask, schedule):
    """The passes of each tile of a kernel must be the blocks of keys that its rows see, counted one by one."""
    kernel = makespan_run.compile_program(Program(head_dim=128, mask=MASKS[mask]), schedule).kernel
    assert kernel.schedule == schedule
    for queries, keys in ((1, 1), (300, 300), (513, 1200), (700, 257), (1000, 40)):
        sizes = {"B": 2, "Sq": queries, "Sk": keys, "Hq": 6, "Hkv": 2}
        tiles = kernel.tiles(sizes)
        assert len(tiles) == 12 * -(-queries // 256)
        # Rows behind the last query, which fill its tile, count, too.
        blocks = -(-queries // 256)
        i, j = np.arange(256 * blocks)[:, None], np.arange(keys)[None]
        form = MASKS[mask]
        visible = np.ones((256 * blocks, keys), bool) if form is None else form.visible(i, j, queries, keys)
        seen = [len({key // 128 for key in np.flatnonzero(rows.any(0))}) for rows in np.split(visible, blocks)]
        # A tile whose rows see nothing makes one pass.
        expected = np.maximum(np.array(seen)[tiles[:, 0]], 1)
        assert kernel.passes(tiles, sizes).tolist() == expected.tolist(), (queries, keys)
        # K, then V: three query heads of a batch have the same one; 128 elements of two bytes a key.
        for reads in kernel.reads(tiles, sizes):
            assert len(set(reads.groups)) == 4 and reads.size == keys * 256
            heads = {(batch, head // 3, group) for (_, head, batch), group in zip(tiles, reads.groups)}
            assert len(heads) == 4


GENERIC = """"builtin.module"() ({
  "tile.kernel"() <{arg_attrs = [{tile.dims = ["N"], tile.name = "x"}], grid = [#tile.extent<"N" by 128>]}> ({
  ^bb0(%arg0: memref<?xf32>):
    %0 = "arith.constant"() <{value = 1 : index}> : () -> index
    %1 = "tile.work_tile"() : () -> index
    LOOP
  }) : () -> ()
}) : () -> ()
"""
FOR = '"scf.for"(%0, BOUND, %0) ({\n^bb0(%i: index):\nBODY\n"scf.yield"() : () -> ()\n}) : (index, index, index) -> ()'


def test_loops_that_are_not_understood():
    """A kernel has nested loops, a loaded bound or no kernel op: UnsupportedKernelError must give the reason."""

    def kernel(loop):
        return TileKernel(GENERIC.replace("LOOP", loop))

    sizes = {"N": 600}
    loop = FOR.replace("BODY\n", "")
    simple = kernel(loop.replace("BOUND", "%1"))
    tiles = simple.tiles(sizes)
    assert simple.schedule == "grid" and simple.passes(tiles, sizes).tolist() == [0, 0, 1, 2, 3]
    with pytest.raises(UnsupportedKernelError, match="a loop in a loop"):
        kernel(FOR.replace("BODY", loop).replace("BOUND", "%1")).passes(tiles, sizes)
    loaded = '%2 = "tile.load"(%arg0, %1) : (memref<?xf32>, index) -> index\n'
    with pytest.raises(UnsupportedKernelError, match="depends on %2, the result of tile.load"):
        kernel(loaded + loop.replace("BOUND", "%2")).passes(tiles, sizes)
    with pytest.raises(UnsupportedKernelError, match="has 0 kernels"):
        TileKernel('"builtin.module"() ({\n}) : () -> ()\n')


class SmallSections:
    """Causal attention with 3 blocks of queries and 5 heads, of which 2 fit."""

    sizes = Sizes(1, 520, 140, 5, 1)
    program = Program(head_dim=64, mask=Mask.causal("top_left"), sizes=sizes)
    order = Order(0, True, 2 * 256 * sizes.sk, 256, "Sk")

    def __init__(self, schedule, folder):
        (folder / "op.mlir").write_text(self.program.mlir())
        text = gpu.run_tool("fa4-compile", folder / "op.mlir", f"--schedule={schedule}", "--emit=assign-work", "-o", "-")
        chosen = 'cache_bytes = 66322432, group_bytes = 256, size = "Sk"'
        assert text.count(chosen) == 1
        text = text.replace("cache_bytes = 66322432", f"cache_bytes = {self.order.cache_bytes}")
        self.kernel = gpu.compile(text, folder, options=["--from=assign-work"])
        self.arrays = self.program.draw(0)

    def simulate(self, *options, seeds=(0, 0)):
        sizes = self.sizes
        values = {"B": sizes.b, "Sq": sizes.sq, "Sk": sizes.sk, "Hq": sizes.hq, "Hkv": sizes.hkv}
        options = ["--threads", "1", *(f"{name}={value}" for name, value in values.items()), *options]
        dtypes = {"out": self.arrays[0].dtype, "lse": np.dtype(np.float32)}
        return gpu.simulate(self.kernel, dict(zip("qkv", self.arrays)), dtypes, seeds=seeds, options=options)

    def compare(self, results):
        compare(self.program, [results], self.arrays)


needs_simulator = pytest.mark.skipif(not gpu.has_tools("fa4-compile", "fa4-sim"), reason="needs fa4-compile and fa4-sim")


@needs_simulator
def test_kernels_have_the_order(tmp_path):
    """A launch of only the first CTAs writes the work tiles that come first in the order."""
    case = SmallSections("lpt", tmp_path)
    whole = case.simulate(seeds=(0, 1))
    case.compare(whole)
    manifest = json.loads(case.kernel.manifest.read_text())
    assert manifest["grid"] == ["ceildiv(Sq, 256) * Hq * B"]
    for ctas in (1, 4, 8, 12):
        case.kernel.manifest.write_text(json.dumps(manifest | {"grid": [ctas]}))
        out = case.simulate()["out"]
        same = out == whole["out"]
        written = {(i, h) for i in range(3) for h in range(5) if same[0, 256 * i : 256 * i + 256, h].all()}
        assert written == set(map(tuple, case.order.coordinates(np.arange(ctas), (3, 5, 1), {"Sk": 140})[:, :2].tolist()))


@needs_simulator
def test_sections_of_ctas_with_several_tiles(tmp_path):
    """Four CTAs have several work tiles each, in sections of two heads: the kernel's results must be right."""
    case = SmallSections("static", tmp_path)
    case.compare(case.simulate("sm_count=4", seeds=(0, 1)))


# ---------------------------------------------------------------------------
# The command
# ---------------------------------------------------------------------------


@needs_compiler
def test_bars(capsys, monkeypatch):
    """The command bench/makespan --quick must meet its bars and return 0, and return 1 when a bar is missed."""
    assert makespan_run.main(["--quick"]) == 0
    output = capsys.readouterr().out
    assert output.count("ok\n") == 4 and "lpt*" in output and "static*" in output
    monkeypatch.setattr(makespan_run, "BAR", 1.0)
    assert makespan_run.main(["--quick", "--shape", "1x8192x32"]) == 1
    assert capsys.readouterr().out.count("MISSED") == 2


def test_words_that_are_wrong(capsys):
    """The command line has an unknown shape or a number out of range: the command must refuse it."""
    assert makespan_run.main(["--shape", "nothing"]) == 2
    for words in (["--sms", "0"], ["--overlap", "2"], ["--fill", "-1"]):
        with pytest.raises(SystemExit):
            makespan_run.main(words)
    assert "must be positive" in capsys.readouterr().err
