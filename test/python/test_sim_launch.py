# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fa4.sim.launch: PTX kernels on numpy arrays. What an argument becomes in the kernel's parameters, what comes back into the
arrays, what a finding raises, and the message of each argument that does not fit."""

import json
import re
import signal
import threading
import time

import ml_dtypes
import numpy as np
import pytest

from fa4 import sim
from fa4_testing import gpu

pytestmark = pytest.mark.skipif(not gpu.has_tools("fa4-sim", "fa4-compile"), reason="needs fa4-sim")

HEAD = ".version 8.6\n.target sm_90a\n.address_size 64\n"
# z[i] = x[i] + y[i] * factor for i < n
ADD = HEAD + """
.visible .entry add(.param .u64 .ptr .global x, .param .u64 y, .param .b64 z, .param .f32 factor, .param .u32 n) {
  .reg .pred %p<2>; .reg .b32 %r<6>; .reg .f32 %f<5>; .reg .b64 %rd<8>;
  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.s32 %r4, %r2, %r3, %r1;
  ld.param.u32 %r5, [n]; setp.ge.u32 %p1, %r4, %r5; @%p1 ret;
  ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.u64 %rd3, [z]; ld.param.f32 %f4, [factor];
  mul.wide.u32 %rd4, %r4, 4; add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4; add.s64 %rd7, %rd3, %rd4;
  ld.global.f32 %f1, [%rd5]; ld.global.f32 %f2, [%rd6]; fma.rn.f32 %f3, %f2, %f4, %f1; st.global.f32 [%rd7], %f3;
  ret;
}
"""
# Copies the box of 8 rows and 64 columns at (row, column) through shared memory, which the thread's own loads see unswizzled
# only where the map has no swizzle.
TMA = HEAD + """
.visible .entry copy_box(.param .align 64 .b8 map[128], .param .u64 out, .param .s32 row, .param .s32 column) {
  .reg .pred %p<3>; .reg .b16 %h<2>; .reg .b32 %r<10>; .reg .b64 %rd<6>;
  .shared .align 1024 .b8 tile[1024]; .shared .align 8 .b64 full;
  mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.u32 %r3, full;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra ready;
  mbarrier.init.shared.b64 [%r3], 1; fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;
  mov.b64 %rd1, map; cvta.param.u64 %rd1, %rd1; ld.param.s32 %r4, [row]; ld.param.s32 %r5, [column];
  mbarrier.arrive.expect_tx.shared.b64 %rd2, [%r3], 1024;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1, {%r5, %r4}], [%r3];
ready:
  bar.sync 0;
wait:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0; @!%p2 bra wait;
  shl.b32 %r6, %r1, 1; add.s32 %r7, %r2, %r6; ld.shared.b16 %h1, [%r7];
  ld.param.u64 %rd3, [out]; mul.wide.u32 %rd4, %r1, 2; add.s64 %rd5, %rd3, %rd4; st.global.b16 [%rd5], %h1;
  ret;
}
"""
# Each CTA of a pair writes the number that the other one has put into shared memory. Without SYNC, that is a race.
PAIR = HEAD + """
.visible .entry swap(.param .u64 data) {
  .reg .b32 %r<8>; .reg .b64 %rd<4>; .shared .align 4 .b32 slot;
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, slot; ld.param.u64 %rd1, [data];
  mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; ld.global.b32 %r3, [%rd3]; st.shared.b32 [%r2], %r3;
  SYNC
  mov.u32 %r4, %cluster_ctarank; xor.b32 %r5, %r4, 1; mapa.shared::cluster.u32 %r6, %r2, %r5;
  ld.shared::cluster.b32 %r7, [%r6]; st.global.b32 [%rd3], %r7;
  SYNC
  ret;
}
"""
SYNC = "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;"
# Counts to 2^64 - 1, which no simulation sees the end of; a loop whose registers stay the same would be found to hang.
COUNT = HEAD + """
.visible .entry count() {
  .reg .pred %p<2>; .reg .b64 %rd<2>;
  mov.b64 %rd1, 0;
more:
  add.s64 %rd1, %rd1, 1; setp.ne.s64 %p1, %rd1, -1; @%p1 bra more;
  ret;
}
"""
# A struct (a pointer at byte 0, an integer at 8) and two numbers, whose bytes are written to where the pointer leads.
STRUCT = HEAD + """
.visible .entry store(.param .align 8 .b8 s[16], .param .b32 a, .param .b16 b, .param .s8 c) {
  .reg .b16 %h<3>; .reg .b32 %r<3>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [s]; ld.param.u32 %r1, [s+8]; ld.param.b32 %r2, [a]; ld.param.b16 %h1, [b]; ld.param.u8 %h2, [c];
  st.global.b32 [%rd1], %r1; st.global.b32 [%rd1+4], %r2; st.global.b16 [%rd1+8], %h1; st.global.u8 [%rd1+10], %h2;
  ret;
}
"""


def add(*args, grid=3, block=32, **options):
    return sim.launch(ADD, grid, block, args=args, **options)


@pytest.fixture
def xyz(rng):
    x, y = (rng.standard_normal(80).astype(np.float32) for _ in range(2))
    return x, y, np.full(80, 7, np.float32)


def test_vector_add(xyz):
    """A kernel adds vectors under three seeds: the sum must be in the array, nothing else may change, and the result
    must count the runs."""
    x, y, z = xyz
    before = x.copy()
    result = add(x, y, z, 0.5, 77, seeds=(0, 2))
    np.testing.assert_array_equal(z[:77], x[:77] + np.float32(0.5) * y[:77])
    assert (z[77:] == 7).all() and (x == before).all()
    assert result.ok and result.runs == 3 and result.findings == ()
    assert result.statistics.clusters == 9 and result.statistics.warp_instructions > 100


def test_time(xyz):
    """fa4.sim.launch returns the clock's time, and the results with it unless only the time is asked for."""
    x, y, z = xyz
    result = add(x, y, z, 1, 80, time=True)
    np.testing.assert_array_equal(z, x + y)
    (time,) = result.times
    assert time["cycles"] > 100 and time["seconds"] > 0 and time["ctas"] == 3
    before = z.copy()
    alone = add(x, y, z, 2, 80, time=True, check=False)
    assert (z == before).all() and alone.times[0]["cycles"] == time["cycles"]
    assert add(x, y, z, 2, 80).times == ()


def test_a_path_is_as_good_as_text(xyz, tmp_path):
    """PTX with two entries is given by its path: the named one must run, and without a name the message must list both."""
    (tmp_path / "add.ptx").write_text(ADD + ADD.split("64\n", 1)[1].replace("entry add", "entry other"))
    x, y, z = xyz
    sim.launch(tmp_path / "add.ptx", (3, 1, 1), [32], args=[x, y, z, 1, np.int32(80)], entry="add")
    np.testing.assert_array_equal(z, x + y)
    with pytest.raises(ValueError, match=r"add.ptx has 2 entries; entry must be one of: add, other"):
        sim.launch(str(tmp_path / "add.ptx"), 3, 32, args=[x, y, z, 1, 80])
    with pytest.raises(ValueError, match="no entry 'sub'; there is: add, other"):
        sim.launch(tmp_path / "add.ptx", 3, 32, args=[x, y, z, 1, 80], entry="sub")


def test_arrays_that_share_memory(rng):
    """q, k and v are columns of one array: the kernel must see one memory, and elements beside the results must
    stay."""
    whole = rng.standard_normal((3, 64)).astype(np.float32)
    before = whole.copy()
    add(whole[0], whole[1, ::-1][::-1], whole[2, :48], 2.0, 48)
    np.testing.assert_array_equal(whole[2, :48], before[0, :48] + 2 * before[1, :48])
    np.testing.assert_array_equal(whole[:2], before[:2])
    np.testing.assert_array_equal(whole[2, 48:], before[2, 48:])
    # In place, and beyond the first of two arrays that overlap.
    add(whole[0, :33], whole[0, 32:], whole[0, :33], 1, 32)
    np.testing.assert_array_equal(whole[0, :32], before[0, :32] + before[0, 32:])


@pytest.mark.parametrize("row, column", [(0, 0), (8, 32), (-3, 72)])
def test_tensor_map(rng, row, column):
    """TMA copies a box that may lie partly outside of the tensor: what is outside must be zero."""
    x = rng.standard_normal((20, 96)).astype(ml_dtypes.bfloat16)
    out = np.ones((8, 64), ml_dtypes.bfloat16)
    sim.launch(TMA, 1, 512, args=[sim.TensorMap(x, box=(8, 64)), out, row, column])
    padded = np.zeros((40, 300), x.dtype)
    padded[10:30, 100:196] = x
    np.testing.assert_array_equal(out, padded[10 + row : 18 + row, 100 + column : 164 + column])


def test_tensor_map_modes(rng):
    """Each field of the map reaches the copy: swizzled rows, NaN out of bounds, own shape and strides, every second row."""
    x = rng.standard_normal((32, 64)).astype(np.float16)
    out = np.empty((8, 64), np.float16)

    def copy(row=0, column=0, **fields):
        sim.launch(TMA, 1, 512, args=[sim.TensorMap(x, **{"box": [8, 64], **fields}), out, row, column])
        return out

    chunks = x[:8].reshape(8, 8, 8)
    swizzled = np.stack([chunks[r, np.arange(8) ^ r] for r in range(8)]).reshape(8, 64)
    np.testing.assert_array_equal(copy(swizzle="128B"), swizzled)
    assert np.isnan(copy(row=28, fill="nan")[4:]).all() and (out[:4] == x[28:]).all()
    np.testing.assert_array_equal(copy(shape=(16, 64), strides=(256, 2)), x[:16:2])
    assert (copy(box=(16, 64), element_strides=(2, 1)) == x[:16:2]).all()
    bits = x.view(np.uint16)
    sim.launch(TMA, 1, 512, args=[sim.TensorMap(bits, (8, 64), dtype="f16"), out, 4, 0])
    assert (out == x[4:12]).all()


def test_cluster():
    """Each CTA of a pair swaps its number with its peer: five runs must begin from the same memory."""
    data = np.arange(8, dtype=np.int32)
    result = sim.launch(PAIR.replace("SYNC", SYNC), grid=8, block=1, cluster=2, args=[data], seeds=(0, 4))
    # Five runs from the same memory: the last one swaps once.
    assert data.tolist() == [1, 0, 3, 2, 5, 4, 7, 6] and result.statistics.clusters == 20


def test_a_race_is_raised_and_leaves_the_arrays_alone():
    """A kernel has a race: the launch must raise it and change no array; with keep_going the result must have the
    finding."""
    data = np.arange(8, dtype=np.int32)
    racy = PAIR.replace("SYNC", "", 1).replace("SYNC", SYNC)
    with pytest.raises(sim.KernelError, match=r"kernel.ptx:\d+: error: .*\[race\]\n  kernel.ptx:\d+: CTA") as raised:
        sim.launch(racy, 8, 1, 2, args=[data])
    assert [f.kind for f in raised.value.findings] == ["race"] and "ld.shared::cluster" in str(raised.value)
    assert isinstance(raised.value, gpu.SimulationError)
    assert data.tolist() == list(range(8))
    result = sim.launch(racy, 8, 1, 2, args=[data], keep_going=True)
    assert not result.ok and result.findings[0].count > 1 and result.findings[0].seed == 0
    assert sim.launch(racy, 8, 1, 2, args=[data], allow=["race", "uninitialised"]).ok
    assert sim.launch(racy, 8, 1, 2, args=[data], check=False).ok


def test_out_of_bounds_is_found(xyz):
    """A kernel is told of more elements than there are: the launch must raise an access past the end."""
    x, y, z = xyz
    with pytest.raises(sim.KernelError, match=r"past the end of memory\d.*\[.*bounds.*\]"):
        add(x, y, z, 1.0, 96)


def test_structs_and_scalars():
    """A struct has pointers and numbers: each parameter must have the bits of its value in the parameter's type."""
    expected = {"a": np.float32(1.5), "b": ml_dtypes.bfloat16(-2), "c": -3}
    for struct in ({0: (out := np.zeros(11, np.uint8)), 8: np.int32(-5)}, {8: b"\xfb\xff\xff\xff", 0: out}):
        out[:] = 0
        sim.launch(STRUCT, 1, 1, args=[struct, *expected.values()])
        values = b"".join(x.tobytes() for x in (np.int32(-5), expected["a"], expected["b"], np.int8(-3)))
        assert out.tobytes() == values
    # A Python float is rounded to the 32 bits of `.b32`; unsigned values fill the bits of an untyped parameter.
    sim.launch(STRUCT, 1, 1, args=[{0: out}, 0.1, 0xFFFF, True])
    assert out[4:8].view(np.float32)[0] == np.float32(0.1) and out[8:].tolist() == [255, 255, 1]


def test_read_only_and_empty_arrays(xyz):
    """A kernel may read a read-only array, must not write to one, and may get one without elements."""
    x, y, z = xyz
    x.flags.writeable = False
    add(x, y, z, 1, 80)
    z.flags.writeable = False
    with pytest.raises(ValueError, match=r"args\[2\] \(\.b64 z\): the kernel wrote to an array that is read-only"):
        add(x, y, z, 2, 80)
    # Without elements there is nothing to point to, and a kernel that does not look is content.
    add(x[:0], y[:0], np.empty((0, 3), np.float32), 1.0, 0)


X = np.zeros(96, np.float32)
WRONG = {
    "count": ([X, X, X, 1.0], TypeError, "entry 'add' has 5 parameters (.u64 x, .u64 y, .b64 z, .f32 factor, .u32 n), args has 4"),
    "array": ([X, X, X, X, 1], TypeError, "args[3] (.f32 factor) is not the 8 bytes of a pointer, which an array needs"),
    "dtype": ([X.astype(complex), X, X, 1.0, 1], TypeError, "args[0] (.u64 x) has elements of type complex128"),
    "size": ([X, X, X, np.float64(1), 1], ValueError, "args[3] (.f32 factor) has 4 bytes, float64 8"),
    "integer": ([X, X, X, np.int32(1), 1], TypeError, "args[3] (.f32 factor) does not take a int32"),
    "float": ([X, X, X, 1.0, np.float32(1)], TypeError, "args[4] (.u32 n) does not take a float32"),
    "python-float": ([X, X, X, 1.0, 1.5], TypeError, "args[4] (.u32 n) does not take a Python float"),
    "large": ([X, X, X, 1.0, 1 << 32], ValueError, "args[4] (.u32 n): 4294967296 does not fit 32 bits"),
    "negative": ([X, X, X, 1.0, -(1 << 31) - 1], ValueError, "args[4] (.u32 n): -2147483649 does not fit 32 bits"),
    "bytes": ([X, X, X, b"123", 1], ValueError, "args[3] (.f32 factor) has 4 bytes, bytes 3"),
    "list": ([[1.0], X, X, 1.0, 1], TypeError, "args[0] (.u64 x): an argument is a numpy array, a number, a TensorMap, bytes"),
    "map": ([sim.TensorMap(X, [8]), X, X, 1.0, 1], TypeError, "args[0] (.u64 x) is not the 128 bytes, aligned to 64, that a tensor"),
    "struct": ([{0: X}, X, X, 1.0, 1], TypeError, "args[0] (.u64 x) is no struct, which a dict is for"),
    "mapping": ({"x": X}, TypeError, "args of a PTX kernel is a sequence, not dict"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments(case):
    """An argument that does not fit must raise an error that names the argument and the parameter."""
    args, error, message = WRONG[case]
    with pytest.raises(error, match=re.escape(message)):
        sim.launch(ADD, 1, 32, args=args)


HALF = np.zeros((16, 64), np.float16)
WRONG_MAPS = {
    "rank": (sim.TensorMap(HALF, (8, 8, 8)), ValueError, "box of a TensorMap has 3 entries for 2 dimensions"),
    "inner": (sim.TensorMap(HALF.T, (8, 64)), ValueError, "the last dimension of a TensorMap's array is contiguous"),
    "half": (sim.TensorMap(HALF, (8, 64), shape=(8, 64)), ValueError, "shape and strides of a TensorMap are given both, or neither"),
    "empty": (sim.TensorMap(HALF[:0], (8, 64)), ValueError, "the array of a TensorMap has no elements"),
    "list": (sim.TensorMap([1], (1,)), TypeError, "the array of a TensorMap is a numpy array, not list"),
    "swizzle": (sim.TensorMap(HALF, (8, 64), "256B"), sim.KernelError, "unknown swizzle '256B'"),
    "span": (sim.TensorMap(HALF, (8, 64), "64B"), sim.KernelError, "over the swizzle's 64 at args[0]"),
    "type": (sim.TensorMap(HALF, (8, 64), dtype="half"), sim.KernelError, "unknown dtype 'half'"),
}


@pytest.mark.parametrize("case", WRONG_MAPS)
def test_wrong_tensor_maps(case):
    """A tensor map that the hardware does not have must raise an error that says why."""
    given, error, message = WRONG_MAPS[case]
    with pytest.raises(error, match=re.escape(message)):
        sim.launch(TMA, 1, 512, args=[given, np.zeros(512, np.float16), 0, 0])


def test_wrong_structs():
    """A struct that does not fit its parameter must raise an error that names the byte."""
    out = np.zeros(11, np.uint8)
    for struct, message in [
        ([out], r"args\[0\] \(\.b8 s\[16\]\): an argument is a numpy array"),
        ({9: out}, r"at byte 9: 8 bytes are not within the struct's 16"),
        ({0: 5}, r"at byte 0: a struct has arrays, TensorMaps, numpy scalars and bytes, not int"),
        ({"s": out}, r"the keys of a struct are byte offsets, not 's'"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            sim.launch(STRUCT, 1, 1, args=[struct, 0, 0, 0])


def test_wrong_launches(tmp_path):
    """A launch that no GPU could make must raise an error that names what is wrong."""
    data = np.zeros(8, np.int32)
    swap = PAIR.replace("SYNC", SYNC)
    for keywords, error, message in [
        ({"grid": None}, TypeError, "grid is missing"),
        ({"grid": 0}, ValueError, "grid is one to three numbers from 1, not 0"),
        ({"block": (1, 1, 1, 1)}, ValueError, "block is one to three numbers from 1"),
        ({"block": 2000}, sim.KernelError, r"block \(2000,1,1\) is over 1024 threads"),
        ({"cluster": 3}, sim.KernelError, r"grid \(8,1,1\) is not a multiple of cluster \(3,1,1\)"),
        ({"smem": -1}, ValueError, "smem is a number of bytes, not -1"),
        ({"smem": 1 << 20}, sim.KernelError, "an SM has 232448"),
        ({"seeds": (1, 2, 3)}, ValueError, "seeds is one number, or a first and a last"),
        ({"allow": "races"}, sim.KernelError, "^allow: 'races' is no finding"),
        ({"policy": "fair"}, sim.KernelError, r"^policy: there is no policy 'fair' \(known: random, eager, lazy, priority\)"),
        ({"threads": -1}, ValueError, "threads is a number from 0 to 1024, not -1"),
        ({"max_instructions": 3}, sim.KernelError, "the instruction limit is reached"),
        ({"kernel": "absent.ptx"}, FileNotFoundError, "kernel is neither PTX text nor a file that is there: 'absent.ptx'"),
        ({"kernel": 5}, TypeError, "kernel is PTX text or a path, not int"),
        ({"kernel": swap.replace("xor.b32", "xor.c32")}, sim.KernelError, r"^kernel.ptx:10:\d+: .*xor.c32"),
        ({"kernel": "}\n"}, sim.KernelError, r"^kernel.ptx:1:1: error"),
    ]:
        with pytest.raises(error, match=message):
            sim.launch(**{"kernel": swap, "grid": 8, "block": 1, "cluster": 2, "args": [data], **keywords})
    with pytest.raises(sim.KernelError, match="no result after 0.1 s"):
        sim.launch(COUNT, 1, 1, args=[], timeout=0.1)


def test_ctrl_c_ends_a_launch():
    """Ctrl-C while a kernel runs that never ends: the launch must raise KeyboardInterrupt soon, as other calls of Python."""
    press = threading.Timer(0.3, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
    press.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        sim.launch(COUNT, 1, 1, args=[], timeout=300)
    assert time.monotonic() - begin < 60


def test_records(tmp_path, xyz):
    """A record has its own grid and addresses; arrays go in and come back by the names of its tensors."""
    (tmp_path / "add.ptx").write_text(ADD)
    tensors = {
        name: {"dtype": "f32", "shape": [80], "strides": [1], "address": hex(0x700000000000 + (i << 32))}
        for i, name in enumerate("xyz")
    }
    params = [{"bytes": int(t["address"], 16).to_bytes(8, "little").hex()} for t in tensors.values()]
    params += [{"bytes": np.float32(2).tobytes().hex()}, {"bytes": np.int32(80).tobytes().hex()}]
    shape = {"grid": [3, 1, 1], "block": [32, 1, 1], "cluster": [1, 1, 1], "dynamic_smem": 0}
    record = {"kernel": "add", "ptx": "add.ptx", **shape, "params": params, "tensors": tensors}
    (tmp_path / "launch-0.json").write_text(json.dumps(record))
    for path in (tmp_path, str(tmp_path / "launch-0.json")):
        x, y, z = (array.copy() for array in xyz)
        assert sim.launch(path, args={"x": x, "y": y, "z": z}).ok
        np.testing.assert_array_equal(z, x + 2 * y)
    with pytest.raises(TypeError, match="launch-0.json says itself how it is launched"):
        sim.launch(tmp_path / "launch-0.json", grid=3)
    for args, message in [
        ({"w": x}, "launch-0.json has no tensor 'w'; there is: x, y, z"),
        ({"x": x.astype(np.int64)}, r"args\['x'\] has elements of type int64, the tensor of float32"),
        ({"x": "x.npy"}, r"args\['x'\] is a numpy array or a number, not str"),
        ([x], "args of launch-0.json is a dict"),
        ({"x": x[:3]}, r"tensor 'x' has shape \[80\], the array is float32 \[3\]"),
    ]:
        with pytest.raises((TypeError, ValueError, sim.KernelError), match=message):
            sim.launch(tmp_path / "launch-0.json", args=args)


def test_manifests_of_fa4_compile(tmp_path, rng):
    """A manifest of fa4-compile is launched on arrays: the results must have the bits of fa4-sim's own run."""
    op = gpu.Op(head_dim=64)
    kernel = gpu.compile(op.mlir(), tmp_path)
    q, k, v = (rng.standard_normal((1, 128, 2, 64)).astype(gpu.DTYPES["bf16"]) for _ in range(3))
    out, lse = np.zeros_like(q), np.zeros((1, 2, 128), np.float32)
    sim.launch(kernel.manifest, args={"q": q, "k": k, "v": v, "out": out, "lse": lse})
    expected = gpu.simulate(kernel, {"q": q, "k": k, "v": v}, ["out", "lse"], check=False)
    assert (out == expected[0]).all() and (lse == expected[1]).all() and (lse != 0).all()
