# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernel.launch and Kernel.prepare, through libfa4_runtime.so, on the stand-in for NVIDIA's driver: the launches run in the
simulator. Each program is a process of its own, as a driver starts once."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import fa4
from fa4 import _library, tools

try:
    _library.find("libfa4_runtime.so", "FA4_RUNTIME_LIBRARY")
    tools.driver_library_folder()
except (fa4.LibraryNotFoundError, RuntimeError) as missing:
    pytest.skip(f"needs {missing}", allow_module_level=True)

PREAMBLE = """
import fa4, numpy as np
rng = np.random.default_rng(0)
spec = fa4.sdpa(q="B Sq 2 32", k="B Sk 1 32", score_mod=lambda s, b, h, i, j, cap: s * cap, captures={"cap": "f32"}, lse=True)
made = fa4.compile(spec, verify=False)
bf16 = fa4.kernel.numpy_dtype("bf16")
arrays = {n: rng.standard_normal((1, 64, h, 32), np.float32).astype(bf16) for n, h in (("q", 2), ("k", 1), ("v", 1))}
def device():
    from fa4 import _cuda
    driver = _cuda.Driver()
    driver.use(driver.devices()[0])
    return lambda array, **options: _cuda.DeviceArray(driver, array, **options)
def refused(error, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except error as found:
        print(type(found).__name__ + ":", found)
    else:
        raise AssertionError("nothing was refused")
"""


def run(program, tmp_path, chip="sm_100a", log=None):
    """Runs a program behind PREAMBLE, without a driver if there is no chip; returns its output."""
    path = tmp_path / "program.py"
    path.write_text(PREAMBLE + textwrap.dedent(program))
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("FA4_DRIVER_")}
    env = inherited | {"PYTHONPATH": str(Path(fa4.__file__).parents[1]), "FA4_CACHE_DIR": str(tmp_path / "cache")}
    if chip:
        env |= {"LD_LIBRARY_PATH": str(tools.driver_library_folder()), "FA4_DRIVER_CHIP": chip}
    if log:
        env["FA4_DRIVER_LOG"] = str(log)
    done = subprocess.run([sys.executable, path], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_launches_on_tensors_of_a_device(tmp_path):
    """A launch, one with the same arguments, one with others, and a prepared call give the results of the reference."""
    run(
        """
        from types import SimpleNamespace
        Tensor = device()
        tensors = {name: Tensor(array) for name, array in arrays.items()}
        out, lse = Tensor(np.zeros_like(arrays["q"])), Tensor(np.zeros((1, 2, 64), np.float32))
        def check(cap):
            expected = spec.reference(**arrays, cap=cap)
            assert np.abs(out.get().astype(float) - expected.out).max() < 2e-2
            assert np.abs(lse.get() - expected.lse).max() < 1e-2
        for cap in (1.0, 1.0, 0.5):
            made.launch(**tensors, out=out, lse=lse, cap=cap)
            check(cap)
        assert len(made._runtime.calls) == 2 and len(made._runtime.programs) == 1
        prepared = made.prepare(**tensors, out=out, lse=lse, cap=2.0)
        prepared.launch(SimpleNamespace(cuda_stream=0))
        check(2.0)
        """,
        tmp_path,
    )


def test_strides_of_a_launch_are_the_tensors(tmp_path):
    """Each tensor of a launch is a view with strides of its own: heads in front of tokens, one head for all, or one
    token in front of another's batch. The launch must use these strides."""
    output = run(
        """
        Tensor = device()
        views = {"q": (4096, 32, 2048, 1), "k": (0, 64, 0, 1), "v": (2048, 32, 8, 1), "out": (4096, 32, 2048, 1)}
        memory = arrays | {"out": np.zeros_like(arrays["q"])}
        shapes = {"q": (1, 64, 2, 32), "k": (1, 32, 1, 32), "v": (1, 32, 1, 32), "out": (1, 64, 2, 32)}
        memory |= {name: np.ascontiguousarray(memory[name][:, : shapes[name][1]]) for name in "kv"}
        memory["k"] = np.concatenate([memory["k"]] * 2).reshape(1, 64, 1, 32)
        tensors = {}
        for name, strides in views.items():
            tensors[name] = Tensor(memory[name], strides=strides)
            tensors[name]._shape[:] = shapes[name]
        lse = Tensor(np.zeros((1, 2, 64), np.float32))
        made.launch(**tensors, lse=lse, cap=0.5)
        view = lambda name, data: np.lib.stride_tricks.as_strided(data, shapes[name], [2 * s for s in views[name]])
        inputs = {name: view(name, memory[name]) for name in ("q", "k", "v")}
        expected = spec.reference(**{n: np.ascontiguousarray(a) for n, a in inputs.items()}, cap=0.5)
        assert np.abs(view("out", tensors["out"].get()).astype(float) - expected.out).max() < 2e-2
        assert np.abs(lse.get() - expected.lse).max() < 1e-2
        # The simulator on arrays with the same strides, and with some that no tensor map has, which are copied.
        for given in (inputs, inputs | {"v": np.asfortranarray(inputs["v"])}):
            assert np.abs(made.simulate(**given, cap=0.5).out.astype(float) - expected.out).max() < 2e-2
        assert fa4.kernel._strides_in_elements(inputs["q"]) == views["q"]
        refused(fa4.LaunchError, made.launch, **tensors | {"q": Tensor(arrays["q"], strides=(4096, 64, 36, 1))}, lse=lse, cap=1.0)
        refused(fa4.LaunchError, made.launch, **tensors | {"q": Tensor(arrays["q"], strides=(4096, 64, 32, 2))}, lse=lse, cap=1.0)
        refused(fa4.LaunchError, made.launch, **tensors | {"out": Tensor(arrays["q"], strides=(4096, 64, 0, 1))}, lse=lse, cap=1.0)
        """,
        tmp_path,
    ).splitlines()
    sizes = "B = 1, Hkv = 1, Hq = 2, Sk = 32, Sq = 64, capture0 = 1"
    assert output == [
        f"LaunchError: the stride of dimension 2 of 'q', in bytes, must be a multiple of 16; this call has {sizes}, q_stride2 = 36, sm_count = 148",
        "LaunchError: tensor 'q' has a stride of 2 elements in dimension 3, the kernel takes 1",
        "LaunchError: tensor 'out' has a stride of 0 in dimension 2, so that several results would be written to one place",
    ]


def test_pairs_of_ctas_are_launched_as_clusters(tmp_path):
    """Kernels of pairs are launched in clusters of two: with a work tile for each CTA, with requests for more, and with
    odd numbers of blocks."""
    log = tmp_path / "launches.jsonl"
    program = f"""
        Tensor = device()
        for (head, value), (queries, keys), mask, options in (
            ((64, 64), (300, 200), None, {{"pairs": "on"}}),
            ((192, 128), (257, 65), None, {{"pairs": "on", "schedule": "static"}}),
            ((256, 256), (129, 130), "causal", {{"schedule": "clc"}}),
        ):
            spec = fa4.sdpa(q=f"B Sq 2 {{head}}", k=f"B Sk 1 {{head}}", v=f"B Sk 1 {{value}}", mask=mask)
            made = fa4.compile(spec, options=options, verify=False)
            assert made.manifest["cluster"] == [2, 1, 1]
            shapes = {{"q": (1, queries, 2, head), "k": (1, keys, 1, head), "v": (1, keys, 1, value)}}
            arrays = {{n: rng.standard_normal(s, np.float32).astype(bf16) for n, s in shapes.items()}}
            out = Tensor(np.zeros((1, queries, 2, value), bf16))
            made.launch(**{{n: Tensor(a) for n, a in arrays.items()}}, out=out)
            assert np.abs(out.get().astype(float) - spec.reference(**arrays).out).max() < 2e-2
        """
    run(program, tmp_path, log=log)
    launches = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(launch["cluster"], launch["findings"]) for launch in launches] == [([2, 1, 1], 0)] * 3


def test_calls_that_are_refused(tmp_path):
    """A launch gets a wrong tensor, device, stride or stream: each must be refused with its own message."""
    output = run(
        """
        Tensor = device()
        tensors = {name: Tensor(array) for name, array in arrays.items()}
        tensors["out"] = Tensor(np.zeros_like(arrays["q"]))
        good = tensors | {"lse": Tensor(np.zeros((1, 2, 64), np.float32)), "cap": 1.0}
        E = fa4.LaunchError
        refused(fa4.SpecError, made.launch, **tensors, cap=1.0)
        refused(fa4.SpecError, made.launch, **good | {"k": Tensor(arrays["k"][:, :32])})
        refused(E, made.launch, **good | {"q": Tensor(arrays["q"].astype(np.float16))})
        refused(E, made.launch, **good | {"q": Tensor(arrays["q"], device=(1, 0))})
        refused(E, made.launch, **good | {"q": Tensor(arrays["q"], device=(2, 1))})
        refused(E, made.launch, **good | {"q": Tensor(arrays["q"], strides=(4096, 66, 33, 1))})
        refused(TypeError, made.launch, **good | {"q": "text"})
        refused(TypeError, made.launch, "stream", **good)
        """,
        tmp_path,
    ).splitlines()
    wanted = [
        "SpecError: the call has no lse; results are tensors of the caller, too",
        "SpecError: v has shape (1, 64, 1, 32): dimension 1 is 64, but k has size Sk = 32",
        "LaunchError:", "LaunchError: q is not in the memory of a CUDA device", "LaunchError: the tensors are on several devices: 0, 1",
        "LaunchError:", "TypeError: q is a tensor of a GPU", "TypeError: stream is a number",
    ]  # fmt: skip
    assert len(output) == len(wanted)
    for said, start in zip(output, wanted):
        assert said.startswith(start)
    assert "f16" in output[2] and "stride" in output[5]


@pytest.mark.parametrize(("chip", "said"), [(None, "driver"), ("sm_90a", "GPU")])
def test_no_driver_and_another_gpu(tmp_path, chip, said):
    """There is no driver, or the GPU is another chip: LaunchError must say so."""
    output = run(
        """
        from fa4 import _runtime
        shapes = {"q": (1, 64, 2, 32), "k": (1, 64, 1, 32), "v": (1, 64, 1, 32), "out": (1, 64, 2, 32), "lse": (1, 2, 64)}
        strides = {name: _runtime._row_major(shape) for name, shape in shapes.items()}
        _runtime.describe = lambda name, _: (0, 256, "f32" if name == "lse" else "bf16", shapes[name], strides[name])
        refused(fa4.LaunchError, made.launch, **dict.fromkeys(shapes), cap=1.0)
        """,
        tmp_path,
        chip,
    )
    assert output.startswith("LaunchError: ") and said in output


@pytest.mark.parametrize(("chip", "said"), [("sm_90a", "sm_90a"), ("sm_103a", "sm_103a"), (None, "LaunchError: no CUDA driver")])
def test_the_chip_of_this_machine(tmp_path, chip, said):
    """A kernel is compiled for chip="native": it must be for the GPU that is there and run on it, and without a driver be refused."""
    output = run(
        """
        try:
            native = fa4.compile(spec, chip="native", verify=False)
        except fa4.LaunchError as error:
            print("LaunchError:", error)
        else:
            Tensor = device()
            tensors = {name: Tensor(array) for name, array in arrays.items()}
            out, lse = Tensor(np.zeros_like(arrays["q"])), Tensor(np.zeros((1, 2, 64), np.float32))
            native.launch(**tensors, out=out, lse=lse, cap=1.5)
            assert abs(out.get().astype(float) - spec.reference(**arrays, cap=1.5).out).max() < 2e-2
            print(native.chip)
        """,
        tmp_path,
        chip,
    )
    assert output.startswith(said)
