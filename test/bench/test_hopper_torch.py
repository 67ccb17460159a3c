# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parts of bench/hopper that need torch, on a CPU: the reference beside that of the op, the check of kernels on a kernel that is
made up, the order of measurements, and what is made of clocks."""

import json
import struct
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fa4.errors import LaunchError

torch = pytest.importorskip("torch", reason="needs torch")

from fa4_bench.hopper import candidates, check, clock, measure, ours, reference, replayed, rows, specs  # noqa: E402
from fa4_bench.hopper.rows import Form  # noqa: E402


@pytest.fixture(autouse=True)
def on_cpu(monkeypatch):
    monkeypatch.setattr(candidates, "DEVICE", "cpu")


def largest(result, wanted):
    """The largest difference where the wanted one is finite; the others must be the same infinities."""
    finite = np.isfinite(wanted)
    assert np.array_equal(result[~finite], wanted[~finite])
    return np.abs(result[finite] - wanted[finite]).max()


@pytest.mark.parametrize("kind", rows.KINDS)
@pytest.mark.parametrize("queries, keys", [(300, 600), (600, 600), (41, 20)])
def test_reference(kind, queries, keys, monkeypatch):
    """Attention, LSE and gradients by torch must be those of the op's own reference, whose meaning is written elsewhere, also where scores
    are formed for one head at a time."""
    form = Form("bwd", 16, kind)
    inputs = candidates.make_inputs(form, 2 if keys == 20 else 1, queries, keys, 2, 1, 3)
    if keys == 600:
        monkeypatch.setattr(reference, "CHUNK", 1)
    found = reference.compute(kind, *(inputs[name] for name in "qkv"), inputs["dout"])
    arrays = {name: tensor.double().numpy() for name, tensor in inputs.items()}
    forward, backward = specs.spec(Form("fwd", 16, kind)), specs.spec(form)
    tables = {name: arrays[f"capture{n}"] for n, name in enumerate(forward.captures)}
    wanted = forward.reference(**{name: arrays[name] for name in "qkv"}, **tables)
    assert largest(found.out.numpy(), wanted.out) < 1e-7 and largest(found.lse.numpy(), wanted.lse) < 1e-7
    gradients = backward.reference(**{name: arrays[name] for name in ("q", "k", "v", "dout")}, **tables)
    for result, name in zip(found.gradients, ("dq", "dk", "dv"), strict=True):
        assert largest(result.numpy(), gradients[name]) < 1e-6, name


def test_inputs_have_the_layout():
    """Tensors are views [batch, tokens, heads, columns] of memory in the form's layout; results lie like q."""
    inputs = candidates.make_inputs(Form("fwd", 16, "full", 8, layout="bhsd"), 1, 5, 7, 4, 2, 1)
    assert inputs["q"].shape == (1, 5, 4, 16) and inputs["q"].stride() == (320, 16, 80, 1)
    assert inputs["v"].shape == (1, 7, 2, 8) and "dout" not in inputs
    results = candidates.poisoned_results(Form("fwd", 16, "full", layout="bhsd"), inputs | {"v": inputs["k"]})
    assert results["out"].stride() == (320, 16, 80, 1) and results["out"].isnan().all() and results["lse"].shape == (1, 4, 5)


class Made:
    """A kernel that computes with torch as a kernel does; `spoil` changes its results."""

    def __init__(self, form, spoil=lambda results: None):
        self.form, self.spoil = form, spoil

    def prepare(self, tensors):
        self.tensors = tensors
        return self

    def launch(self):
        t = self.tensors
        found = reference.compute(self.form.kind, t["q"], t["k"], t["v"], t.get("dout"), narrow=t["q"].dtype)
        results = {"out": found.out, "lse": found.lse} if not self.form.is_backward else dict(zip(("dq", "dk", "dv"), found.gradients, strict=True))
        self.spoil(results)
        for name, result in results.items():
            t[name].copy_(result)


CASES = [check.Case(64, 32, 2, 2), check.Case(41, 20, 3, 1), check.Case(1, 1, 8, 2)]


def run_check(monkeypatch, kernel, repeats=0):
    monkeypatch.setattr(ours, "prepare", lambda made, tensors, layout: made.prepare(tensors))
    return check.check_kernel(ours.Place("default", kernel.form, None), kernel, CASES, 1, repeats)


def test_a_layout_is_a_view():
    """A kernel gets matrices with its layout's dimensions, which are the same memory, and the numbers of rows as they are."""
    taken = {}
    tensors = {"q": {}, "lse": {}, "scratch": {"role": "workspace"}}
    kernel = SimpleNamespace(manifest={"tensors": tensors}, prepare=lambda **own: taken.update(own))
    q, lse = torch.arange(2 * 3 * 4 * 8).reshape(2, 3, 4, 8), torch.zeros(2, 4, 3)
    for layout, shape in (("bshd", (2, 3, 4, 8)), ("bhsd", (2, 4, 3, 8)), ("sbhd", (3, 2, 4, 8))):
        ours.prepare(kernel, {"q": q, "lse": lse, "dout": None}, layout)
        assert tuple(taken["q"].shape) == shape and taken["q"].data_ptr() == q.data_ptr(), layout
        assert taken["q"].stride(-1) == 1 and taken["lse"] is lse and set(taken) == {"q", "lse"}


@pytest.mark.parametrize("name", ["fwd-hd32-causal", "bwd-hd32-causal", "fwd-hd32-softcap-f16-bhsd", "bwd-hd32-alibi-sbhd"])
def test_a_right_kernel_passes(monkeypatch, name):
    """A kernel with the usual rounding is right in all cases, those with rows that see no key included, and has the same bits again."""
    worst, wrong = run_check(monkeypatch, Made(Form.parse(name)), repeats=2)
    assert wrong == [] and 0 < worst < 1


@pytest.mark.parametrize(
    "name, spoil, sentence",
    [
        ("fwd-hd32-full", lambda r: r["out"][0, 0, 0].mul_(1.5), "2 x 64 x 32, 2 heads on 2: out is off by"),
        ("fwd-hd32-full", lambda r: r["out"][0, 0, 0].fill_(torch.nan), "2 x 64 x 32, 2 heads on 2: out is off by nan"),
        ("fwd-hd32-causal", lambda r: r["lse"].nan_to_num_(neginf=-1e4), "2 x 64 x 32, 2 heads on 2: lse is off by nan"),
        ("bwd-hd32-full", lambda r: r["dk"].mul_(1.1), "2 x 64 x 32, 2 heads on 2: dk is off by"),
    ],
)
def test_a_wrong_kernel_fails(monkeypatch, name, spoil, sentence):
    """One result is wrong, or was not written, or is finite where a row sees no key: the case, the result and the error must be named."""
    _, wrong = run_check(monkeypatch, Made(Form.parse(name), spoil))
    assert wrong and wrong[0].startswith(sentence)


def test_other_bits_fail(monkeypatch):
    """A later launch gives another bit, within the allowed error: it must be counted."""
    calls = []

    def spoil(results):
        calls.append(0)
        results["out"][0, 0, 0, 0] += 0.01 * (len(calls) % 3 == 0)

    _, wrong = run_check(monkeypatch, Made(Form("fwd", 32, "full"), spoil), repeats=2)
    assert [sentence.partition(": ")[2] for sentence in wrong] == ["1 results of later launches have other bits"] * len(CASES)


def test_refused_and_lost_launches(monkeypatch, capsys):
    """A launch that is refused is a wrong case, and the others are checked. A kernel that leaves the GPU in an error ends the check, and those
    behind it are not called right."""
    made = Made(Form("fwd", 32, "full"))
    prepare = made.prepare

    def refuse(tensors):
        if tensors["q"].shape[1] == 41:
            raise LaunchError("no such stride")
        return prepare(tensors)

    made.prepare = refuse
    worst, wrong = run_check(monkeypatch, made)
    assert wrong == ["2 x 41 x 20, 3 heads on 1: no such stride"] and 0 < worst < 1

    def lose(tensors):
        raise RuntimeError("CUDA error: an illegal memory access")

    made.prepare = lose
    places = [ours.Place("default", made.form, Path("out") / name) for name in "abc"]
    monkeypatch.setattr(check, "load_all", lambda places: [(place, made) for place in places])
    assert check.check_all(places, CASES, 1, 0) == 3
    assert "default/a: FAILED: CUDA error: an illegal memory access" in capsys.readouterr().out


def test_shapes():
    """Lengths of the command line are cases with all choices of heads, large ones with one sequence."""
    cases = check.parse_shapes("128x217,1024x1024")
    assert [str(case) for case in cases[:1] + cases[-1:]] == ["2 x 128 x 217, 2 heads on 2", "1 x 1024 x 1024, 3 heads on 1"]
    assert len(check.CASES) == len(set(check.CASES)) == len(check.PAIRS) * 3
    with pytest.raises(ValueError, match="lengths are pairs"):
        check.parse_shapes("128")


# ---------------------------------------------------------------------------
# Measurements
# ---------------------------------------------------------------------------


def test_candidates_take_turns():
    """Each candidate is timed once a round, and each round begins with another one."""
    assert measure.in_turn(["a", "b", "c"], 4) == [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"], ["a", "b", "c"]]

    class Stage:
        calls = []

        def burst(self, launch):
            self.calls.append(f"burst {launch()}")
            return {"a": 100.0, "b": 200.0}[launch()] + len(self.calls), 1700.0

        def sustained(self, launch, microseconds, plan):
            self.calls.append(f"sustained {launch()} {microseconds}")
            return microseconds * 1.1, 1500.0

        def watched(self, launch, microseconds, seconds):
            return 1400.2, 1500.0, 1600.4

    chosen = [candidates.Candidate(name, lambda name=name: name, {}) for name in "ab"]
    found = measure.time_all(Stage(), chosen, measure.Plan(burst_rounds=3, sustained_rounds=1))
    assert Stage.calls == ["burst a", "burst b", "burst b", "burst a", "burst a", "burst b", "sustained a 104.0", "sustained b 203.0"]
    assert found["a"]["burst"] == {"us": 104.0, "spread": 0.0396, "mhz": 1700, "seen_mhz": [1400, 1500, 1600]}
    assert found["b"]["sustained"]["us"] == 223.3
    quick = measure.time_all(Stage(), chosen, measure.QUICK)
    assert set(quick["a"]) == {"burst"} and "seen_mhz" not in quick["a"]["burst"]


def test_clocks():
    """The clock is cycles over time: the median of the SMs that were reached, or what samples within the time say."""
    before = [(0, 0), (1000, 100), (5000, 70)]
    after = [(0, 0), (1000 + 17_000, 100 + 10_000), (5000 + 15_000, 70 + 10_000)]
    assert clock.mean_megahertz(before, after) == pytest.approx(1600)
    assert clock.mean_megahertz([(0, 0)], [(0, 0)]) is None
    # 2 GHz up to 1 ms, then 1.5 GHz.
    samples = [(2 * t if t < 1_000_000 else 2_000_000 + 1.5 * (t - 1_000_000), t) for t in range(0, 2_400_000, 20_000)]
    assert clock.sampled_megahertz(samples, 0, 900_000) == pytest.approx((2000, 2000, 2000))
    assert clock.sampled_megahertz(samples, 0, 2_400_000) == pytest.approx((1500, 1500, 2000))
    assert clock.sampled_megahertz(samples, 5e6, 6e6) is None


class Driver:
    """Notes the calls of the driver."""

    def __init__(self):
        self.calls = []

    def call(self, name, *arguments):
        self.calls.append(name)


def test_replayed_launches(tmp_path, monkeypatch):
    """A record's addresses become those of the row's tensors, and a tensor of another shape is refused."""
    described = {"q": {"dtype": "bf16", "shape": [1, 2, 3, 4], "strides": [24, 12, 4, 1], "address": "0x700000000000"}}
    launch = {"kernel": "k", "ptx": "launch-0.ptx", "grid": [1, 1, 1], "block": [32, 1, 1], "cluster": [1, 1, 1], "dynamic_smem": 0,
              "params": [{"bytes": struct.pack("<QQ", 0x7000_0000_0010, 5).hex()}], "tensors": described}  # fmt: skip
    (tmp_path / "launch-0.json").write_text(json.dumps(launch))
    (tmp_path / "launch-0.cubin").write_bytes(b"cubin")
    q, driver = torch.zeros(1, 2, 3, 4, dtype=torch.bfloat16), Driver()
    replayer = replayed.Replayed(driver, tmp_path, {"q": q})
    assert bytes(replayer.functions[0].held[0].raw) == struct.pack("<QQ", q.data_ptr() + 16, 5)
    replayer()
    assert driver.calls == ["cuModuleLoadData", "cuModuleGetFunction", "cuLaunchKernelEx"]
    with pytest.raises(ValueError, match=r"the record's q is bf16 \[1, 2, 3, 4\], and the row's torch.float32 \[1, 2, 3, 4\]"):
        replayed.Replayed(driver, tmp_path, {"q": q.float()})
