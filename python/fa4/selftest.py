# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`fa4 selftest`: whether fa4 works on this machine, and how fast.

Each case is an op that the support matrix has a kernel for. It is compiled, launched on the GPU, and compared with the reference in
float64; its time is measured, beside torch's `scaled_dot_product_attention` where torch is. On a machine without a GPU, or with one for which
there is no kernel, the same runs in the simulator, for sm_100a, and times are modelled. All of it goes into one JSON file, to be sent.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import fa4
from fa4 import _cuda, _library
from fa4.arrays import numpy_dtype

# A kernel's error beside float64: the norm of the difference over the norm.
FORWARD_BAR, BACKWARD_BAR = 1e-2, 2e-2
TIMED = {"B": 4, "Sq": 4096, "Sk": 4096, "Hq": 16, "Hkv": 16}
SIMULATED_CHIP = "sm_100a"


def _softcap(score, b, h, q_idx, kv_idx, cap):
    return cap * fa4.math.tanh(score / cap)


def _scaled(score, b, h, q_idx, kv_idx, cap):
    return score * cap


def _slopes(score, b, h, q_idx, kv_idx, slopes):
    return score + slopes[h] * (kv_idx - q_idx)


def _stripes(b, h, q_idx, kv_idx):
    return (q_idx + kv_idx) % 3 != 0


@dataclass(frozen=True)
class Case:
    """A row of the support matrix: what differs from full attention with head dim 128 in bf16."""

    name: str
    form: dict
    head_dim: int = 128
    backward: bool = False
    deterministic: bool = False
    is_timed: bool = False

    def spec(self) -> Any:
        layout = self.form.get("layout", "bshd")
        shapes = [
            " ".join({"b": "B", "s": f"S{name}", "h": heads, "d": str(self.head_dim)}[letter] for letter in layout)
            for name, heads in (("q", "Hq"), ("k", "Hkv"))
        ]
        spec = fa4.sdpa(*shapes, lse=True, **self.form)
        return spec.backward(self.deterministic) if self.backward else spec


SOFTCAP = {"score_mod": _softcap, "captures": {"cap": "f32"}}
CASES = (
    *(Case(f"head_dim_{dim}", {}, dim, is_timed=dim in (64, 128)) for dim in (32, 64, 96, 128, 192, 256)),
    Case("f16", {"dtype": "f16"}),
    Case("bhsd", {"layout": "bhsd"}),
    Case("sbhd", {"layout": "sbhd"}),
    Case("causal_top_left", {"mask": "causal_top_left"}),
    Case("causal_bottom_right", {"mask": "causal"}, is_timed=True),
    Case("window", {"mask": fa4.Mask(64, 32)}),
    Case("causal_window", {"mask": fa4.Mask(64, 0)}),
    Case("score_mod", SOFTCAP),
    Case("mask_mod", {"mask_mod": _stripes}),
    Case("captured_tensor", {"score_mod": _slopes, "captures": {"slopes": "f32 Hq"}}),
    Case("gradient", {}, 64, backward=True, is_timed=True),
    Case("gradient_causal", {"mask": "causal"}, backward=True, is_timed=True),
    Case("gradient_score_mod", {"score_mod": _scaled, "captures": {"cap": "f32"}}, 64, backward=True),
    Case("gradient_mask_mod", {"mask_mod": _stripes}, 64, backward=True),
    Case("gradient_deterministic", {}, 64, backward=True, deterministic=True),
)


# ---------------------------------------------------------------------------
# One case
# ---------------------------------------------------------------------------


def _draw(spec, sizes, rng) -> dict:
    """Inputs of a call, in the spec's dtype; out and lse of a gradient are the reference's."""
    import numpy as np

    names = {"B": sizes["B"], "Sq": sizes["Sq"], "Sk": sizes["Sk"], "Hq": sizes["Hq"], "Hkv": sizes["Hkv"]}
    dtype = numpy_dtype(spec.dtype)
    call = {}
    for name, shape in spec.tensors.items():
        if name in ("q", "k", "v", "dout"):
            whole = [size if isinstance(size, int) else names[size] for size in shape]
            call[name] = rng.standard_normal(whole, np.float32).astype(dtype)
    for name, kind in spec.captures.items():
        shape = [names[size] for size in kind.split()[1:]]
        if shape:
            call[name] = rng.uniform(0, 0.1, shape).astype(np.float32)
    return call


def _captures(spec) -> dict:
    """The captures that are numbers; those that are tensors are drawn."""
    return {name: 5.0 for name, kind in spec.captures.items() if " " not in kind}


def _complete(case: Case, spec, call: dict) -> dict:
    """With the forward kernel's results, as the reference gives them, for a gradient."""
    import numpy as np

    if not case.backward:
        return call
    from dataclasses import replace

    forward = replace(spec, is_backward=False).reference(**call, **_captures(spec))
    return call | {"out": forward.out.astype(call["q"].dtype), "lse": forward.lse.astype(np.float32)}


def _error(result, expected) -> float:
    import numpy as np

    result, both = result.astype(np.float64), np.isfinite(expected)
    if not (np.isfinite(result) == both).all():
        return float("inf")
    norm = np.linalg.norm(expected[both])
    return float(np.linalg.norm(result[both] - expected[both]) / (norm or 1.0))


class Simulator:
    """Calls run in fa4-sim, and times are modelled."""

    chip, is_real = SIMULATED_CHIP, False
    sizes = {"B": 1, "Sq": 128, "Sk": 192, "Hq": 2, "Hkv": 1}

    def run(self, kernel, call: dict) -> dict:
        return kernel.simulate(**call, check=True)

    def time(self, case, kernel) -> dict:
        modelled = kernel.time(**TIMED)
        return {"modelled_us": modelled.seconds * 1e6, "modelled_tflops": modelled.teraflops}


class Gpu:
    """Calls run on a card, and times are measured."""

    is_real = True
    sizes = {"B": 2, "Sq": 384, "Sk": 640, "Hq": 4, "Hkv": 2}

    def __init__(self, driver: _cuda.Driver, device: _cuda.Device):
        self.driver, self.device, self.chip = driver, device, device.chip
        driver.use(device)

    def _upload(self, kernel, call: dict) -> tuple[dict, dict]:
        import numpy as np

        place = (2, self.device.number)
        arrays = {name: value for name, value in call.items() if hasattr(value, "shape")}
        inputs = {name: _cuda.DeviceArray(self.driver, array, place) for name, array in arrays.items()}
        sizes = kernel.spec.bind({name: array.shape for name, array in arrays.items()})
        outputs = {}
        for name in kernel.outputs:
            shape = [size if isinstance(size, int) else sizes[size] for size in kernel.spec.tensors[name]]
            dtype = numpy_dtype(kernel.manifest["tensors"][name]["dtype"])
            outputs[name] = _cuda.DeviceArray(self.driver, np.zeros(shape, dtype), place)
        return inputs, outputs

    def run(self, kernel, call: dict) -> dict:
        scalars = {name: value for name, value in call.items() if not hasattr(value, "shape")}
        inputs, outputs = self._upload(kernel, call)
        kernel.launch(**inputs, **outputs, **scalars)
        results = {name: array.get() for name, array in outputs.items()}
        for array in (*inputs.values(), *outputs.values()):
            array.free()
        return results

    def time(self, case, kernel) -> dict:
        import numpy as np

        spec, rng = kernel.spec, np.random.default_rng(0)
        call = _draw(spec, TIMED, rng)
        if case.backward:
            rows = [TIMED["B"], TIMED["Hq"], TIMED["Sq"]]
            call |= {"out": call["dout"], "lse": np.full(rows, np.log(TIMED["Sk"]), np.float32)}
        inputs, outputs = self._upload(kernel, call)
        prepared = kernel.prepare(**inputs, **outputs, **_captures(spec))
        found = {"measured_us": self.driver.time(prepared.launch, 20), "torch_us": self._time_torch(case)}
        modelled = kernel.time(**TIMED)
        for array in (*inputs.values(), *outputs.values()):
            array.free()
        found["modelled_us"] = modelled.seconds * 1e6
        found["measured_tflops"] = modelled.teraflops * modelled.seconds * 1e6 / found["measured_us"]
        return found

    def _time_torch(self, case) -> float | None:
        """torch's own attention on the same sizes, in microseconds; None where torch is not, or does not run."""
        try:
            import torch
            from torch.nn.functional import scaled_dot_product_attention as attention

            shape = [TIMED["B"], TIMED["Hq"], TIMED["Sq"], case.head_dim]
            q, k, v, dout = (
                torch.randn(shape, device=f"cuda:{self.device.number}", dtype=torch.bfloat16, requires_grad=case.backward) for _ in range(4)
            )
            causal = case.form.get("mask") == "causal"
            if not case.backward:
                work: Callable = lambda: attention(q, k, v, is_causal=causal)  # noqa: E731
            else:
                out = attention(q, k, v, is_causal=causal)
                work = lambda: torch.autograd.grad(out, (q, k, v), dout, retain_graph=True)  # noqa: E731
            return self.driver.time(work, 20)
        except Exception:
            return None


def run_case(case: Case, place: Simulator | Gpu, is_timed: bool) -> dict:
    """What one case gives, for the file: `status` is "ok", "wrong" (beyond the bar), "no kernel" (as the support matrix has it) or
    "failed", with `reason`."""
    import numpy as np

    found: dict[str, Any] = {"case": case.name, "status": "ok"}
    begin = time.perf_counter()
    try:
        spec = case.spec()
        kernel = fa4.compile(spec, place.chip)
    except fa4.CompileError as error:
        status = "no kernel" if "not supported on" in str(error) else "failed"
        return found | {"status": status, "reason": str(error).splitlines()[0]}
    found["compile_ms"] = 1e3 * (time.perf_counter() - begin)
    try:
        call = _complete(case, spec, _draw(spec, place.sizes, np.random.default_rng(1))) | _captures(spec)
        results, expected = place.run(kernel, call), spec.reference(**call)
        found["errors"] = {name: _error(array, expected[name]) for name, array in results.items()}
        bar = BACKWARD_BAR if case.backward else FORWARD_BAR
        if not all(error <= bar for error in found["errors"].values()):
            found |= {"status": "wrong", "reason": f"the bar is {bar}"}
        if case.is_timed and is_timed:
            found |= place.time(case, kernel)
    except fa4.Fa4Error as error:
        found |= {"status": "failed", "reason": str(error)}
    found["seconds"] = time.perf_counter() - begin
    return found


# ---------------------------------------------------------------------------
# The command
# ---------------------------------------------------------------------------


def find_place(simulate: bool) -> tuple[Simulator | Gpu, list, str]:
    """Where the cases run, the GPUs that there are, and why it is the simulator."""
    if simulate:
        return Simulator(), [], "as --simulate asks"
    try:
        driver = _cuda.Driver()
        devices = driver.devices()
    except fa4.LaunchError as error:
        return Simulator(), [], f"there is no GPU ({error})"
    for device in devices:
        if device.chip:
            return Gpu(driver, device), devices, ""
    names = ", ".join(f"{d.name}, sm_{d.capability[0]}{d.capability[1]}" for d in devices) or "none"
    return Simulator(), devices, f"fa4 knows no GPU of this machine ({names})"


def _line(found: dict) -> str:
    worst = max(found.get("errors", {}).values(), default=None)
    parts = [f"{found['case']:24s} {found['status']:10s}"]
    parts += [f"error {worst:.1e}"] if worst is not None else []
    for key, text in (("measured_us", "{:.0f} us"), ("measured_tflops", "{:.0f} TFLOP/s"), ("torch_us", "torch {:.0f} us"),
                      ("modelled_us", "modelled {:.0f} us")):  # fmt: skip
        if found.get(key) is not None:
            parts.append(text.format(found[key]))
    parts += [found["reason"]] if "reason" in found else []
    return "  ".join(parts)


def add_arguments(command):
    command.add_argument("--json", metavar="FILE", default="fa4-selftest.json", help="where the results go (fa4-selftest.json)")
    command.add_argument("--simulate", action="store_true", help="in the simulator, also where there is a GPU")
    command.add_argument("--only", metavar="CASE", action="append", choices=[case.name for case in CASES], help="this case; may be given several times")
    command.add_argument("--no-times", action="store_true", help="results only")


def _describe(place: Simulator | Gpu, why: str) -> str:
    if isinstance(place, Gpu):
        driver = place.device.driver
        return f"GPU {place.device.number}: {place.device.name}, {place.chip}, CUDA {driver // 1000}.{driver % 1000 // 10}"
    return f"in the simulator, for {place.chip}: {why}. Times are modelled, and nothing here says how a GPU does."


def _check_writable(path: str):
    """Raises OSError before an hour's work is lost for a folder that cannot be written."""
    is_new = not os.path.exists(path)
    with open(path, "a"):
        pass
    if is_new:
        os.remove(path)


def main(arguments) -> int:
    import numpy  # noqa: F401, what is missing is said before anything runs

    _check_writable(arguments.json)
    place, devices, why = find_place(arguments.simulate)
    record: dict[str, Any] = {
        "fa4": _library.version(), "library": fa4.cache.build_of(_library.find()), "python": platform.python_version(),
        "system": platform.platform(), "where": "gpu" if place.is_real else "simulator", "why": why, "chip": place.chip,
        "devices": [{"name": d.name, "capability": list(d.capability), "driver": d.driver} for d in devices],
        "sizes": place.sizes, "timed_sizes": TIMED, "cases": [],
    }  # fmt: skip
    # Said once there is a kernel: a GPU without any is one line.
    unsaid = [_describe(place, why)]
    for case in CASES:
        if arguments.only and case.name not in arguments.only:
            continue
        found = run_case(case, place, not arguments.no_times)
        record["cases"].append(found)
        unsaid.append(_line(found))
        if any(each["status"] != "no kernel" for each in record["cases"]):
            print("\n".join(unsaid), flush=True)
            unsaid.clear()
    states = [found["status"] for found in record["cases"]]
    bad = states.count("wrong") + states.count("failed")
    record["ok"] = not bad
    with open(arguments.json, "w") as file:
        json.dump(record, file, indent=1)
    path = os.path.abspath(arguments.json)
    if unsaid:
        reason = record["cases"][0]["reason"].split(" not supported on ")[-1]
        print(f"{unsaid[0]}: there is no kernel for this GPU yet ({reason}); --simulate runs the cases in the simulator; {path}")
        return 0
    print(f"{states.count('ok')} ok, {bad} not, {states.count('no kernel')} without a kernel; {path}")
    return 1 if bad else 0
