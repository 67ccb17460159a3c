# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`fa4 selftest`: whether fa4 works on this machine, and how fast.

Each case is an op that the support matrix has a kernel for, on some chip. It is compiled, launched on the GPU, and compared with the reference in
float64; its time is measured, beside torch's `scaled_dot_product_attention` where torch is. Where torch is, what a program with torch does is run,
too (`selftest_torch`). On a machine without a GPU the same ops run in the simulator, for sm_100a, and times are modelled. All of it goes into one
JSON file, to be sent.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from dataclasses import dataclass
from typing import Any

import fa4
from fa4 import _cuda, _library, selftest_torch
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


def _bias_of_key(score, b, h, q_idx, kv_idx, table):
    return score + table[b, kv_idx]


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
            " ".join({"b": "B", "s": f"S{name}", "t": f"T{name}", "h": heads, "d": str(self.head_dim)}[letter] for letter in layout)
            for name, heads in (("q", "Hq"), ("k", "Hkv"))
        ]
        if self.form.get("page_table"):
            shapes[1] = f"Pages {PAGE_SIZE} Hkv {self.head_dim}"
        spec = fa4.sdpa(*shapes, lse=True, **self.form)
        return spec.backward(self.deterministic) if self.backward else spec


PAGE_SIZE = 32
BLOCK_SIZE = 128, 64
SOFTCAP = {"score_mod": _softcap, "captures": {"cap": "f32"}}
CASES = (
    *(Case(f"head_dim_{dim}", {}, dim, is_timed=dim in (64, 128)) for dim in (32, 64, 96, 128, 192, 256)),
    Case("f16", {"dtype": "f16"}),
    Case("out_f32", {"out_dtype": "f32"}),
    Case("bhsd", {"layout": "bhsd"}),
    Case("sbhd", {"layout": "sbhd"}),
    Case("thd", {"layout": "thd"}),
    Case("htd", {"layout": "htd"}),
    Case("causal_top_left", {"mask": "causal_top_left"}),
    Case("causal_bottom_right", {"mask": "causal"}, is_timed=True),
    Case("window", {"mask": fa4.Mask(64, 32)}),
    Case("causal_window", {"mask": fa4.Mask(64, 0)}),
    Case("score_mod", SOFTCAP),
    Case("mask_mod", {"mask_mod": _stripes}),
    Case("captured_tensor", {"score_mod": _slopes, "captures": {"slopes": "f32 Hq"}}),
    Case("captured_table", {"score_mod": _bias_of_key, "captures": {"table": "f32 B Sk"}}),
    Case("sinks", {"sinks": "f32"}),
    Case("seqlens_k", {"seqlens_k": True}),
    Case("page_table", {"page_table": True, "seqlens_k": True}),
    Case("block_list", {"block_list": BLOCK_SIZE, "mask": "causal"}),
    Case("page_table_thd", {"page_table": True, "layout": "thd"}),
    Case("gradient", {}, 64, backward=True, is_timed=True),
    Case("gradient_causal", {"mask": "causal"}, backward=True, is_timed=True),
    Case("gradient_score_mod", {"score_mod": _scaled, "captures": {"cap": "f32"}}, 64, backward=True),
    Case("gradient_mask_mod", {"mask_mod": _stripes}, 64, backward=True),
    Case("gradient_sinks", {"sinks": "f32"}, 64, backward=True),
    Case("gradient_seqlens_k", {"seqlens_k": True}, 64, backward=True),
    Case("gradient_deterministic", {}, 64, backward=True, deterministic=True),
    Case("gradient_block_list", {"block_list": (128, 128), "mask": "causal"}, backward=True),
    Case("gradient_thd", {"layout": "thd"}, 64, backward=True),
    Case("gradient_htd", {"layout": "htd"}, 64, backward=True),
)


# ---------------------------------------------------------------------------
# One case
# ---------------------------------------------------------------------------


def _draw(spec, sizes, rng) -> dict:
    """Inputs of a call, in the spec's dtype; out and lse of a gradient are the reference's."""
    import numpy as np

    names = {"B": sizes["B"], "Sq": sizes["Sq"], "Sk": sizes["Sk"], "Hq": sizes["Hq"], "Hkv": sizes["Hkv"]}
    # Packed sequences have as many tokens in all.
    names |= {"Tq": names["B"] * names["Sq"], "Tk": names["B"] * names["Sk"]}
    # The sequence in the middle of packed ones has no token.
    sequences = 3 if spec.is_packed else names["B"]
    if spec.page_table:
        names["SeqPages"] = -(-names["Sk"] // spec.page_size)
        names["Pages"] = sequences * names["SeqPages"] + 1
    if spec.block_list:
        blocks = [-(-names[size] // of) for size, of in zip(("Sq", "Sk"), spec.block_list)]
        names |= {"ListHeads": names["Hkv"], "ListBlocks": blocks[0], "ListEntries": blocks[1]}
    dtype = numpy_dtype(spec.dtype)
    call = {}
    for name, shape in spec.tensors.items():
        if name in ("q", "k", "v", "dout"):
            whole = [size if isinstance(size, int) else names[size] for size in shape]
            call[name] = rng.standard_normal(whole, np.float32).astype(dtype)
    if spec.sinks:
        call["sinks"] = rng.standard_normal(sizes["Hq"], np.float32).astype(numpy_dtype(spec.sinks))
    if spec.seqlens_k:
        call["seqlens_k"] = rng.integers(1, sizes["Sk"] + 1, sequences, np.int32)
    if spec.page_table:
        call["page_table"] = rng.permutation(names["Pages"])[:-1].reshape(sequences, -1).astype(np.int32)
    if spec.block_list:
        shape = [names[size] for size in spec.tensors["block_list"]]
        call["block_list"] = rng.permuted(np.broadcast_to(np.arange(shape[-1], dtype=np.int32), shape), axis=-1)
        call["block_counts"] = rng.integers(0, shape[-1] + 1, shape[:-1], np.int32)
    if spec.block_list and spec.is_backward:
        call |= _list_queries(call["block_list"], call["block_counts"])
    if spec.is_packed:
        cuts = {name: rng.integers(1, names[f"T{name}"]) for name in "qk" if f"cu_seqlens_{name}" in spec.tensors}
        call |= {f"cu_seqlens_{name}": np.array([0, cut, cut, names[f"T{name}"]], np.int32) for name, cut in cuts.items()}
    for name, kind in spec.captures.items():
        shape = [names[size] for size in kind.split()[1:]]
        if shape:
            call[name] = rng.uniform(0, 0.1, shape).astype(np.float32)
    return call


def _list_queries(block_list, block_counts) -> dict:
    """The lists of all blocks of keys, by blocks of keys."""
    import numpy as np

    # Where a block of keys stands in a list, below the count if it is seen.
    seen = np.argsort(block_list, axis=-1) < block_counts[..., None]
    by_keys = np.swapaxes(seen, -1, -2)
    return {"query_list": np.argsort(~by_keys, axis=-1, kind="stable").astype(np.int32), "query_counts": by_keys.sum(-1).astype(np.int32)}


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
        causal = case.form.get("mask") == "causal"
        found = {"measured_us": self.driver.time(prepared.launch, 20)}
        found["torch_us"] = selftest_torch.time_attention(self.device.number, TIMED, case.head_dim, causal, case.backward, self._time)
        modelled = kernel.time(**TIMED)
        for array in (*inputs.values(), *outputs.values()):
            array.free()
        found["modelled_us"] = modelled.seconds * 1e6
        found["measured_tflops"] = modelled.teraflops * modelled.seconds * 1e6 / found["measured_us"]
        return found

    def _time(self, work) -> float:
        return self.driver.time(work, 20)

    def check_torch(self, name: str, is_timed: bool) -> dict:
        """A case of selftest_torch."""
        import torch

        device = torch.device("cuda", self.device.number)
        with torch.cuda.device(device):
            found: dict[str, Any] = {"errors": selftest_torch.CHECKS[name](device, self.chip)}
            if is_timed and name in selftest_torch.TIMED:
                found |= selftest_torch.time_flex(device, TIMED, selftest_torch.TIMED[name], self._time)
        return found


def _refused(error: fa4.CompileError) -> dict:
    """What a case has that the compiler refuses: the support matrix says so, or the compiler fails."""
    said = str(error).splitlines()[0]
    before, known, reason = said.rpartition(" not supported on ")
    return {"status": "no kernel", "reason": reason.partition(": ")[2] or said} if known else {"status": "failed", "reason": said}


def _judge(errors: dict[str, float]) -> dict:
    bar = BACKWARD_BAR if "dq" in errors else FORWARD_BAR
    return {} if all(error <= bar for error in errors.values()) else {"status": "wrong", "reason": f"the bar is {bar}"}


def run_torch_case(name: str, place: Simulator | Gpu, is_timed: bool, why_not: str) -> dict:
    """The same of a case with torch, which is "skipped", with the reason, where there is no torch or no GPU."""
    found: dict[str, Any] = {"case": name, "status": "ok"}
    if why_not or not isinstance(place, Gpu):
        return found | {"status": "skipped", "reason": why_not}
    begin = time.perf_counter()
    try:
        found |= place.check_torch(name, is_timed)
        found |= _judge(found["errors"])
    except fa4.CompileError as error:
        found |= _refused(error)
    except Exception as error:  # torch has errors of many kinds, and the other cases are to run.
        found |= {"status": "failed", "reason": f"{type(error).__name__}: {error}".splitlines()[0]}
    found["seconds"] = time.perf_counter() - begin
    return found


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
        return found | _refused(error)
    found["compile_ms"] = 1e3 * (time.perf_counter() - begin)
    try:
        call = _complete(case, spec, _draw(spec, place.sizes, np.random.default_rng(1))) | _captures(spec)
        results, expected = place.run(kernel, call), spec.reference(**call)
        found["errors"] = {name: _error(array, expected[name]) for name, array in results.items()}
        found |= _judge(found["errors"])
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


HEADER = f"{'case':24} {'status':6} {'error':>8} {'time':>11} {'speed':>13} {'torch':>11} {'ratio':>6} {'modelled':>11}"


def _line(found: dict) -> str:
    """A row below HEADER. `ratio` is how many times as fast as torch."""
    worst = max(found.get("errors", {}).values(), default=None)
    ours, theirs = found.get("measured_us"), found.get("torch_us")
    columns = ((worst, "{:.1e}", 8), (ours, "{:.0f} us", 11), (found.get("measured_tflops"), "{:.0f} TFLOP/s", 13),
               (theirs, "{:.0f} us", 11), (theirs and ours and theirs / ours, "{:.2f}", 6), (found.get("modelled_us"), "{:.0f} us", 11))  # fmt: skip
    row = " ".join(f"{'' if value is None else form.format(value):>{width}}" for value, form, width in columns)
    reason = f"  {found['reason']}" if "reason" in found else ""
    return f"{found['case']:24} {found['status']:6} {row}".rstrip() + reason


def _left_out(cases: list[dict]) -> list[str]:
    """A line for each reason for which cases have no kernel, or were skipped."""
    names: dict[tuple[str, str], list[str]] = {}
    for found in cases:
        if found["status"] in ("no kernel", "skipped"):
            names.setdefault((found["status"], found["reason"]), []).append(found["case"])
    return [f"{status}: {', '.join(several)} ({reason})" for (status, reason), several in names.items()]


NAMES = [*(case.name for case in CASES), *selftest_torch.CHECKS]


def add_arguments(command):
    command.add_argument("--json", metavar="FILE", default="fa4-selftest.json", help="where the results go (fa4-selftest.json)")
    command.add_argument("--simulate", action="store_true", help="in the simulator, also where there is a GPU")
    command.add_argument("--only", metavar="CASE", action="append", choices=NAMES, help="this case; may be given several times")
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


def _write(record: dict, path: str):
    """`ok` is None while cases are still to run."""
    record["torch"] = getattr(sys.modules.get("torch"), "__version__", None)
    with open(path, "w") as file:
        json.dump(record, file, indent=1)


def main(arguments) -> int:
    import numpy  # noqa: F401, what is missing is said before anything runs

    _check_writable(arguments.json)
    place, devices, why = find_place(arguments.simulate)
    record: dict[str, Any] = {
        "fa4": _library.version(), "library": fa4.cache.build_of(_library.find()), "python": platform.python_version(),
        "system": platform.platform(), "where": "gpu" if place.is_real else "simulator", "why": why, "chip": place.chip,
        "devices": [{"name": d.name, "capability": list(d.capability), "driver": d.driver} for d in devices],
        "sizes": place.sizes, "timed_sizes": TIMED, "ok": None, "cases": [],
    }  # fmt: skip
    why_not = "in the simulator" if not place.is_real else selftest_torch.why_not()
    cases = {case.name: case for case in CASES}
    is_timed = not arguments.no_times
    print(f"{_describe(place, why)}\n{HEADER}", flush=True)
    for name in NAMES:
        if arguments.only and name not in arguments.only:
            continue
        found = run_case(cases[name], place, is_timed) if name in cases else run_torch_case(name, place, is_timed, why_not)
        record["cases"].append(found)
        # Written after each case: what was found outlives whoever ends the command.
        _write(record, arguments.json)
        if found["status"] not in ("no kernel", "skipped"):
            print(_line(found), flush=True)
    print("".join(f"{line}\n" for line in _left_out(record["cases"])), end="")
    states = [found["status"] for found in record["cases"]]
    bad = states.count("wrong") + states.count("failed")
    record["ok"] = not bad
    _write(record, arguments.json)
    counts = f"{states.count('ok')} ok, {bad} not, {states.count('no kernel')} without a kernel, {states.count('skipped')} skipped"
    print(f"{counts}; {os.path.abspath(arguments.json)}")
    return 1 if bad else 0
