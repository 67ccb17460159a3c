# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes and strides that a kernel of dynamic sizes was not compiled for: the
manifest's conditions refuse the call with a sentence, before anything runs."""

import json
import subprocess

import numpy as np
import pytest

from fa4_testing import gpu

pytestmark = pytest.mark.skipif(
    not gpu.has_tools("fa4-sim", "fa4-compile"), reason="needs fa4-compile and fa4-sim"
)

# All sizes but the head dim are dynamic; q and the LSE have dynamic strides.
STRIDED = """func.func @strided(
    %q: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>, %k: memref<?x?x?x64xbf16>, %v: memref<?x?x?x64xbf16>,
    %out: memref<?x?x?x64xbf16>, %lse: memref<?x?x?xf32, strided<[?, ?, 1]>>) {
  attn.sdpa %q, %k, %v layout<bshd>
    outs(%out, %lse : memref<?x?x?x64xbf16>, memref<?x?x?xf32, strided<[?, ?, 1]>>)
    : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>
  return
}
"""
SIZES = dict(B=1, Sq=128, Sk=128, Hq=2, Hkv=1)
STRIDES = dict(q_stride0=16384, q_stride1=128, q_stride2=64, lse_stride0=256, lse_stride1=128)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("conditions")
    return {
        "plain": gpu.compile(gpu.Op(head_dim=64).mlir(), folder / "plain"),
        "grid": gpu.compile(gpu.Op(head_dim=64).mlir(), folder / "grid", options=["--schedule=grid"]),
        "strided": gpu.compile(STRIDED, folder / "strided"),
    }


def call(kernel, sizes):
    command = [gpu.find_tool("fa4-sim"), kernel.manifest, "--random", *(f"{n}={v}" for n, v in sizes.items())]
    return subprocess.run(command, capture_output=True, text=True)


POSITIONS = "from 0 to 536870912"
REFUSED = [
    ("plain", dict(B=-1), f"size B must be {POSITIONS}"),
    ("plain", dict(Sk=-1), f"size Sk must be {POSITIONS}"),
    ("plain", dict(B=0, Sk=-1), f"size Sk must be {POSITIONS}"),
    ("plain", dict(Hkv=0), "the number of query heads, Hq, must be a multiple of that of key/value heads, Hkv"),
    ("plain", dict(Sq=-1), f"size Sq must be {POSITIONS}"),
    ("plain", dict(Sq=2**32 + 1), f"size Sq must be {POSITIONS}"),
    ("plain", dict(Sk=2**60), f"size Sk must be {POSITIONS}"),
    ("plain", dict(Sk=2**29 + 1), f"size Sk must be {POSITIONS}"),
    ("grid", dict(Hq=65536), "Hq, the number of CTAs along y of the grid, must be from 0 to 65535"),
    ("grid", dict(B=65536), "B, the number of CTAs along z of the grid, must be from 0 to 65535"),
    ("plain", dict(B=2**16, Hq=2**15), "ceildiv(Sq, 256) * Hq * B, the number of work tiles, must be from 0 to 1073741824"),
    ("plain", dict(sm_count=0), "sm_count, the number of SMs, must be from 1 to 1073741824"),
    ("plain", dict(Hq=3, Hkv=2), "the number of query heads, Hq, must be a multiple of that of key/value heads, Hkv"),
    ("plain", dict(Sk=2**29, Hkv=2**12, Hq=2**12),
     "the stride of dimension 0 of 'k', in bytes, must be from 0 to 1099511627775"),
    ("strided", dict(q_stride1=-128), "the stride of dimension 1 of 'q', in bytes, must be from 0 to 1099511627775"),
    ("strided", dict(q_stride2=68), "the stride of dimension 2 of 'q', in bytes, must be a multiple of 16"),
    ("strided", dict(q_stride0=2**40), "the stride of dimension 0 of 'q', in bytes, must be from 0 to 1099511627775"),
    ("strided", dict(lse_stride1=0), "the stride of dimension 1 of 'lse', in elements, must be from 1 to 1099511627775"),
    ("strided", dict(lse_stride0=-5), "the stride of dimension 0 of 'lse', in elements, must be from 1 to 1099511627775"),
]  # fmt: skip


@pytest.mark.parametrize("name, change, sentence", REFUSED, ids=lambda x: str(x) if isinstance(x, dict) else "")
def test_refused(kernels, name, change, sentence):
    """A call has a size or stride that the kernel cannot take: fa4-sim must refuse it with one sentence."""
    sizes = SIZES | (STRIDES if name == "strided" else {}) | change
    done = call(kernels[name], sizes)
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and f".json: {sentence}; this call has B = {sizes['B']}, " in lines[0]


@pytest.mark.parametrize("name", ["plain", "strided"])
def test_good_calls_run(kernels, name):
    """A call that meets all conditions must run."""
    done = call(kernels[name], SIZES | (STRIDES if name == "strided" else {}))
    assert done.returncode == 0, done.stderr


# A call of Sq queries and Sk keys of two heads, and the shapes of its results.
EMPTY = [dict(Sk=0), dict(Sq=0), dict(B=0), dict(B=0, Sq=0, Sk=0), dict(Hq=0), dict(Hq=0, Hkv=0)]


@pytest.mark.parametrize("check", [[], ["--check"], ["--time"]], ids=["run", "check", "time"])
@pytest.mark.parametrize("change", EMPTY, ids=str)
@pytest.mark.parametrize("name", ["plain", "grid", "strided"])
def test_nothing_is_launched_on_sizes_of_0(kernels, name, change, check, tmp_path):
    """A call without keys runs no kernel: its rows are zeros, and the logarithm of their empty sum is -inf."""
    sizes = SIZES | (STRIDES if name == "strided" else {}) | change
    outputs = [f"out={tmp_path / 'out.npy'}", f"lse={tmp_path / 'lse.npy'}"]
    command = [gpu.find_tool("fa4-sim"), kernels[name].manifest, "--random", *check, *(f"{n}={v}" for n, v in sizes.items()), *outputs]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "CTAs 0," in done.stdout
    assert (": not launched, as a size is 0; its results are filled" in done.stdout) == (check == ["--time"]), done.stdout
    out, lse = np.load(tmp_path / "out.npy"), np.load(tmp_path / "lse.npy")
    assert out.shape == (sizes["B"], sizes["Sq"], sizes["Hq"], 64) and (out == 0).all()
    assert lse.shape == (sizes["B"], sizes["Hq"], sizes["Sq"]) and (lse == -np.inf).all()


def test_nothing_is_compared_with_nothing(kernels):
    """Two calls of size 0 are compared by time: fa4-sim must say that nothing is launched."""
    manifest, sizes = kernels["plain"].manifest, (f"{n}={v}" for n, v in (SIZES | {"Sk": 0}).items())
    done = subprocess.run([gpu.find_tool("fa4-sim"), manifest, "--time", "--compare", manifest, "--random", *sizes], capture_output=True, text=True)
    assert done.returncode == 2 and f"--compare: nothing of {manifest} is launched, as a size is 0" in done.stderr


def test_what_is_between_the_elements_stays(kernels, tmp_path):
    """The LSE is a part of a larger array, with rows of 3 numbers that are 5 apart: the numbers in between must
    stay."""
    manifest = json.loads(kernels["strided"].manifest.read_text())
    manifest["ptx"] = str(kernels["strided"].ptx)
    manifest["tensors"]["lse"] |= {"address": "0x700000000000", "exclusive": False}
    manifest["tensors"]["whole"] = {"dtype": "f32", "shape": [20], "address": "0x700000000000", "fill": 7}
    path = tmp_path / "k.json"
    path.write_text(json.dumps(manifest))
    sizes = SIZES | STRIDES | dict(B=2, Sq=3, Sk=0, lse_stride0=10, lse_stride1=5)
    command = [gpu.find_tool("fa4-sim"), path, "--random", *(f"{n}={v}" for n, v in sizes.items()), "--output", f"whole={tmp_path / 'w.npy'}"]
    subprocess.run(command, check=True, capture_output=True)
    whole = np.load(tmp_path / "w.npy").reshape(4, 5)
    assert (whole[:, :3] == -np.inf).all() and (whole[:, 3:] == 7).all()


def test_what_is_wrong_in_empty_is_said(kernels, tmp_path):
    """A manifest has a fault in what it says of empty calls: fa4-sim must name the fault and its place."""
    manifest = json.loads(kernels["plain"].manifest.read_text())
    assert manifest["empty"]["fills"] == [{"tensor": "out", "value": 0}, {"tensor": "lse", "value": "-inf"}]
    for change, sentence in (
        ({"condition": "Nobody == 0"}, "Nobody"),
        ({"fills": [{"tensor": "nothing", "value": 0}]}, "no tensor is named 'nothing' at empty.fills[0].tensor"),
        ({"fills": [{"tensor": "out", "value": "much"}]}, 'expected a number, or a text such as "-inf" at empty.fills[0].value'),
        ({"fills": [{"tensor": "out"}]}, "'value' is missing at empty.fills[0]"),
        ({"more": 1}, "unknown key 'more' at empty"),
    ):
        path = tmp_path / "k.json"
        path.write_text(json.dumps(manifest | {"ptx": str(kernels["plain"].ptx), "empty": manifest["empty"] | change}))
        command = [gpu.find_tool("fa4-sim"), path, "--random", *(f"{n}={v}" for n, v in (SIZES | {"Sk": 0}).items())]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 2 and sentence in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


def test_python_says_the_same(kernels):
    """fa4_testing.gpu, which launches through fa4-sim, refuses a call with the sentence of the manifest's condition."""
    q = np.ones((1, 128, 3, 64), gpu.DTYPES["bf16"])
    k = np.ones((1, 128, 2, 64), gpu.DTYPES["bf16"])
    with pytest.raises(gpu.SimulationError, match="query heads, Hq, must be a multiple"):
        gpu.simulate(kernels["plain"], {"q": q, "k": k, "v": k}, ["out"])


def test_static_sizes_have_no_conditions(tmp_path):
    """Static sizes leave no condition but the number of SMs, because the compiler has checked the others."""
    text = gpu.Op(head_dim=64).mlir().replace("?x?x?", "2x256x2")
    text = text.replace("memref<2x256x2xf32>", "memref<2x2x256xf32>")
    manifest = json.loads(gpu.compile(text, tmp_path / "out").manifest.read_text())
    assert [r["condition"] for r in manifest["requires"]] == ["sm_count >= 1 && sm_count <= 1073741824"]


def test_misaligned_address(kernels, tmp_path):
    """A tensor that the copy engine reads must begin at a multiple of 16 bytes; another address is refused."""
    manifest = json.loads(kernels["plain"].manifest.read_text())
    manifest["ptx"] = str(kernels["plain"].ptx)
    assert {n: t.get("alignment") for n, t in manifest["tensors"].items()} == dict(q=16, k=16, v=16, out=16, lse=None)
    manifest["tensors"]["k"]["address"] = "0x700000000008"
    path = tmp_path / "k.json"
    path.write_text(json.dumps(manifest))
    done = subprocess.run(
        [gpu.find_tool("fa4-sim"), path, "--random", *(f"{n}={v}" for n, v in SIZES.items())],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2 and "the address of 'k' is not a multiple of 16" in done.stderr


def at(kernel, folder, addresses):
    """The result of a run of the kernel's manifest with its tensors at `addresses`."""
    manifest = json.loads(kernel.manifest.read_text())
    manifest["ptx"] = str(kernel.ptx)
    for name, address in addresses.items():
        manifest["tensors"][name]["address"] = hex(0x700000000000 + address)
    path = folder / "at.json"
    path.write_text(json.dumps(manifest))
    sizes = SIZES | (STRIDES if "q_stride0" in manifest["sizes"] else {})
    command = [gpu.find_tool("fa4-sim"), path, "--random", *(f"{n}={v}" for n, v in sizes.items())]
    return subprocess.run(command, capture_output=True, text=True)


# q and out have 1 x 128 x 2 x 64 elements of 2 bytes, k and v half as many, the LSE 256 of 4 bytes.
@pytest.mark.parametrize(
    "addresses, names",
    [
        (dict(q=0, out=0), ("out", "q")),
        (dict(q=0, out=32768 - 16), ("out", "q")),
        (dict(out=0, v=32768 - 16), ("out", "v")),
        (dict(out=0, lse=32768 - 4), ("lse", "out")),
        (dict(k=0, lse=4096), ("lse", "k")),
    ],
)
def test_outputs_have_memory_of_their_own(kernels, tmp_path, addresses, names):
    """An output that shares memory with another tensor is refused, because another CTA may still read what this one
    writes. Inputs may share memory."""
    done = at(kernels["plain"], tmp_path, addresses)
    sentence = f"tensor '{names[0]}' shares memory with '{names[1]}', but is written and must be memory of its own"
    assert done.returncode == 2 and sentence in done.stderr and len(done.stderr.splitlines()) == 1


def test_neighbours_and_overlapping_inputs_run(kernels, tmp_path):
    """Tensors lie side by side, and k and v at one place: the call must run."""
    done = at(kernels["plain"], tmp_path, dict(q=0, out=32768, lse=65536, k=16384, v=16384))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("address, status", [("0x700000000100", 0), ("0x7000000000f8", 2)])
def test_interleaved_views(kernels, tmp_path, address, status):
    """The LSE lies between two rows of q, which are 384 bytes apart and 256 bytes long: this call is right. If the LSE
    begins 8 bytes before the gap, the call is refused."""
    manifest = json.loads(kernels["strided"].manifest.read_text())
    manifest["ptx"] = str(kernels["strided"].ptx)
    manifest["tensors"]["q"]["address"] = "0x700000000000"
    manifest["tensors"]["lse"]["address"] = address
    path = tmp_path / "k.json"
    path.write_text(json.dumps(manifest))
    sizes = SIZES | STRIDES | dict(Sq=2, q_stride1=192, lse_stride0=4, lse_stride1=2)
    command = [gpu.find_tool("fa4-sim"), path, "--random", *(f"{n}={v}" for n, v in sizes.items())]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    assert ("'lse' shares memory with 'q'" in done.stderr) == (status == 2)


def test_an_output_does_not_overlap_itself(kernels):
    """Two rows of the LSE are one element apart: the call must be refused, because an output would overlap itself."""
    done = call(kernels["strided"], SIZES | STRIDES | dict(lse_stride1=1))
    assert done.returncode == 2
    assert "'lse' of shape [1, 2, 128] and strides [256, 1, 1] has two elements at one address" in done.stderr
