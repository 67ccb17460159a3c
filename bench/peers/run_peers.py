# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records FlashAttention-4's launches, and those of CUTLASS's examples (and
compiles a Triton kernel), runs them in fa4-sim, and compares with float64 numpy,
attention under FlashAttention's rule; runs programs on the stand-in driver. Started by sim-peers."""
import argparse
import json
import os
import subprocess
import sys
import time

import numpy as np

import cutlass_cases
import script_cases
from attention_reference import ROUND, Attention, judge

# name: (mode, arguments of record_fa4.py or triton_kernel.py).
CASES = {
    "fwd-hd64-full": ("fwd", dict(hd=64, sq=512, sk=512, hq=2, hk=2)),
    "fwd-hd128-full-1024": ("fwd", dict(hd=128, sq=1024, sk=1024)),
    "fwd-hd128-causal-gqa": ("fwd", dict(hd=128, causal=1, sq=300, sk=500, hq=4, hk=2)),
    "bwd-hd128-full": ("bwd", dict(hd=128, sq=256, sk=256)),
}
MORE_CASES = {
    "fwd-hd64-causal": ("fwd", dict(hd=64, causal=1, sq=384, sk=384)),
    "fwd-hd128-window": ("fwd", dict(sq=384, sk=384, window_size_left=100, window_size_right=0)),
    "fwd-hd128-softcap-f16": ("fwd", dict(softcap=20.0, dtype="f16")),
    "fwd-hd128-split-kv": ("fwd", dict(sk=512, num_splits=2)),
    "fwd-hd128-split-kv-tail": ("fwd", dict(sq=200, sk=512, num_splits=3)),
    "fwd-hd128-batch": ("fwd", dict(b=2, sq=200, sk=333, hq=2)),
    "fwd-hd256-full": ("fwd", dict(hd=256)),
    "fwd-hd192-128": ("fwd", dict(hd=192, hdv=128, sq=300, sk=333, hq=2, hk=2)),
    "fwd-hd256-varlen-causal": ("fwd", dict(hd=256, causal=1, lengths_q=[70, 1, 200], lengths_k=[90, 300, 200])),
    "bwd-hd192-128": ("bwd", dict(hd=192, hdv=128, sk=300)),
    "bwd-hd128-gqa": ("bwd", dict(hq=2, hk=1)),
    "bwd-hd64-causal": ("bwd", dict(hd=64, causal=1)),
    "bwd-hd128-causal": ("bwd", dict(causal=1, sq=384, sk=384)),
    "fwd-hd128-varlen": ("fwd", dict(hq=2, lengths_q=[150, 250], lengths_k=[350, 250])),
    "fwd-hd64-varlen-causal": ("fwd", dict(hd=64, causal=1, lengths_q=[70, 1, 200], lengths_k=[90, 300, 200])),
    "triton-hd128": ("triton", dict(hq=2, sk=512)),
    "triton-hd64-specialized": ("triton", dict(hd=64, sk=384, ws=1)),
}
# The same on Hopper.
SM90_CASES = {
    "sm90-fwd-hd64-full": ("fwd", dict(hd=64, sq=512, sk=512, hq=2, hk=2)),
    "sm90-fwd-hd64-causal": ("fwd", dict(hd=64, causal=1, sq=384, sk=384)),
    "sm90-fwd-hd128-full": ("fwd", dict(sq=512, sk=512)),
    "sm90-fwd-hd128-causal-gqa": ("fwd", dict(causal=1, sq=300, sk=500, hq=4, hk=2)),
    "sm90-bwd-hd64-full": ("bwd", dict(hd=64, sq=384, sk=384)),
    "sm90-bwd-hd64-causal": ("bwd", dict(hd=64, causal=1)),
    "sm90-bwd-hd128-full": ("bwd", dict()),
    "sm90-bwd-hd128-causal-gqa": ("bwd", dict(causal=1, sq=384, sk=384, hq=2, hk=1)),
    "sm90-fwd-hd96-causal": ("fwd", dict(hd=96, causal=1, sq=384, sk=384)),
    "sm90-fwd-hd256-full": ("fwd", dict(hd=256)),
    "sm90-fwd-hd128-varlen": ("fwd", dict(hq=2, lengths_q=[150, 250], lengths_k=[350, 250])),
    "sm90-triton-hd128": ("triton", dict(hq=2, sk=512, warps=8)),
    "sm90-triton-hd64-specialized": ("triton", dict(hd=64, sk=384, ws=1)),
    "sm90-fwd-hd64-varlen-causal": ("fwd", dict(hd=64, causal=1, lengths_q=[70, 1, 200], lengths_k=[90, 300, 200])),
}
SM90_CASES = {name: (mode, dict(arguments, arch="sm_90")) for name, (mode, arguments) in SM90_CASES.items()}
LSE_TOLERANCE = 1e-3


def log(text):
    print(text, flush=True)


def record(case):
    """Nothing to do when the same call is there already."""
    script, *words = case.recording()
    stamp = case.directory + "/stamp"
    if os.path.exists(stamp) and open(stamp).read() == " ".join(words[1:]):
        return
    here = os.path.dirname(os.path.realpath(__file__))
    result = subprocess.run([sys.executable, f"{here}/{script}", *words],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode:
        raise RuntimeError("recording failed:\n" + result.stdout[-2000:])
    case.finish_recording()
    with open(stamp, "w") as file:
        file.write(" ".join(words[1:]))


class Case:
    """One of CASES. `recorded` is the folder of a record that was mended, as it was before (None: nothing was), and
    `expected` the kinds of findings in there."""

    recorded, expected = None, set()

    def __init__(self, name, mode, arguments, directory):
        self.name, self.mode, self.directory = name, mode, directory
        self.arguments = arguments
        self.call = dict(hd=128, causal=0, b=1, sq=256, sk=256, hq=1, hk=1, dtype="bf16")
        self.call.update(arguments)
        self.call.setdefault("hdv", self.call["hd"])
        if mode == "triton":
            self.call["hk"] = self.call["hq"]

    def recording(self):
        """The recorder's script and its arguments, the first of which is the folder."""
        script = ["triton_kernel.py", self.directory] if self.mode == "triton" else ["record_fa4.py", self.directory, self.mode]
        return script + [f"{k}={json.dumps(v) if not isinstance(v, str) else v}" for k, v in sorted(self.arguments.items())]

    def finish_recording(self):
        pass

    def sequences(self):
        """(query tokens, key tokens) of each part that attends on its own."""
        c = self.call
        if "lengths_q" not in c:
            return [(slice(0, c["sq"]), slice(0, c["sk"]))]
        starts = [np.concatenate([[0], np.cumsum(c[n])]) for n in ("lengths_q", "lengths_k")]
        return [tuple(slice(s[i], s[i + 1]) for s in starts) for i in range(len(c["lengths_q"]))]

    def make_inputs(self, seed):
        c, rng = self.call, np.random.default_rng(seed)
        rounded = ROUND[c["dtype"]]
        if "lengths_q" in c:
            c["sq"], c["sk"] = sum(c["lengths_q"]), sum(c["lengths_k"])
        def normal(tokens, heads, size):
            return rounded(rng.standard_normal((c["b"], tokens, heads, size)))
        q, k = normal(c["sq"], c["hq"], c["hd"]), normal(c["sk"], c["hk"], c["hd"])
        v = normal(c["sk"], c["hk"], c["hdv"])
        left, right = c.get("window_size_left"), c.get("window_size_right")
        if c["causal"]:
            right = 0
        options = dict(scale=c["hd"] ** -0.5, left=left, right=right, softcap=c.get("softcap", 0.0))
        parts = [(q[:, tq], k[:, tk], v[:, tk]) for tq, tk in self.sequences()]
        self.exact = [Attention(*part, **options) for part in parts]
        self.same = [Attention(*part, dtype=c["dtype"], **options) for part in parts]
        inputs = dict(q=q, k=k, v=v)
        if self.mode == "bwd":
            self.dout = normal(c["sq"], c["hq"], c["hdv"])
            inputs.update(out=rounded(self.exact[0].out()), lse=self.exact[0].lse, dout=self.dout)
        arguments = []
        for name, array in inputs.items():
            path = f"{self.directory}/{name}.npy"
            if self.mode == "triton":  # Heads first, and one batch.
                array = array[0].swapaxes(0, 1)
            elif "lengths_q" in c:  # Packed: no batch.
                array = array[0]
            np.save(path, array.astype(np.float32))
            arguments.append(f"{name}={path}")
        for name in ("lengths_q", "lengths_k"):
            if name in c:
                path = f"{self.directory}/{name}.npy"
                np.save(path, np.concatenate([[0], np.cumsum(c[name])]).astype(np.int32))
                arguments.append(f"cu_seqlens_{name[-1]}={path}")
        return arguments

    def outputs(self):
        return ["dq", "dk", "dv"] if self.mode == "bwd" else ["out", "lse"]

    def read(self, name):
        array = np.load(f"{self.directory}/result-{name}.npy").astype(np.float64)
        if self.mode == "triton":
            array = array.swapaxes(0, 1)[None] if name == "out" else array[None]
        elif "lengths_q" in self.call:
            array = array[None]
        return array

    def compare(self):
        """(name, error, allowed) of each result."""
        dtype = self.call["dtype"]
        if self.mode == "bwd":
            exact, same = self.exact[0].backward(self.dout), self.same[0].backward(self.dout)
            return [(n, *judge(self.read(n), e, s, dtype)) for n, e, s in zip(("dq", "dk", "dv"), exact, same)]
        tokens = [tq for tq, _ in self.sequences()]
        out, lse = self.read("out"), self.read("lse")
        rows = [judge(out[:, t], e.out(), s.out(), dtype) for t, e, s in zip(tokens, self.exact, self.same)]
        worst = max(rows, key=lambda row: row[0] / row[1])
        reference = np.concatenate([e.lse for e in self.exact], axis=-1)
        seen = np.isfinite(reference)
        error = np.abs(lse - reference)[seen].max() if np.array_equal(seen, np.isfinite(lse)) else np.inf
        return [("out", *worst), ("lse", error, LSE_TOLERANCE)]


def simulate(case, options, inputs, what):
    """What fa4-sim says of a record or manifest of the case, and the seconds it took."""
    outputs = [f"--output={n}={case.directory}/result-{n}.npy" for n in case.outputs()]
    command = [options.fa4_sim, what, *inputs, *outputs, "--json", "--stats"]
    command += ["--check"] if options.check else []
    command += [f"--seeds={options.seeds}"] if options.seeds else []
    for path in outputs:
        file = path.rsplit("=", 1)[1]
        if os.path.exists(file):
            os.remove(file)
    begin = time.monotonic()
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=options.timeout)
    if result.returncode == 2:
        raise RuntimeError(result.stderr.strip()[-2000:])
    return json.loads(result.stdout), time.monotonic() - begin


def describe_findings(summary):
    lines = []
    for run in summary["runs"]:
        for report in run["reports"]:
            lines.append(f"  seed {run['seed']} launch {run['launch']}: [{report['kind']}] {report['message'].splitlines()[0]}")
    return "\n".join(lines[:5])


def kinds_of(summary):
    return {report["kind"] for run in summary["runs"] for report in run["reports"]}


def run_case(case, options):
    """True when everything is as it should be; prints the rows of the table."""
    try:
        record(case)
        inputs = case.make_inputs(options.data_seed)
        unmended = set()
        if case.recorded and options.check:
            unmended = kinds_of(simulate(case, options, inputs, case.recorded)[0])
        manifest = case.directory + ("/kernel.json" if os.path.exists(case.directory + "/kernel.json") else "")
        summary, seconds = simulate(case, options, inputs, manifest)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        log(f"{case.name:30} FAILED: {error}")
        return False
    instructions = sum(r["stats"]["warp_instructions"] for r in summary["runs"])
    ok = summary["ok"]
    rows = case.compare() if ok else []
    for i, (name, error, allowed) in enumerate(rows):
        good = error <= allowed
        ok &= good
        first = f"{case.name:30} {len(summary['runs']):5} {seconds:8.2f} {instructions / 1e6:9.2f}"
        log(f"{first if i == 0 else '':55} {name:>5} {error:11.3e} {allowed:11.3e}  {'ok' if good else 'WRONG'}")
    if not summary["ok"]:
        log(f"{case.name:30} FINDINGS: {summary['findings']}\n{describe_findings(summary)}")
    if unmended - case.expected or (case.recorded and options.check and not unmended):
        log(f"{case.name:30} as recorded: {', '.join(sorted(unmended)) or 'no finding'}; expected {', '.join(sorted(case.expected))}")
        return False
    if unmended:
        log(f"{'':55} as recorded: {', '.join(sorted(unmended))}, as documented")
    return ok


def make_case(name, options):
    directory = os.path.join(options.scratch, name)
    if name in {**cutlass_cases.CASES, **cutlass_cases.SM90_CASES}:
        need_examples(options)
        return cutlass_cases.CutlassCase(name, directory, options.cutlass + cutlass_cases.EXAMPLES)
    return Case(name, *{**CASES, **MORE_CASES, **SM90_CASES}[name], directory)


def need_examples(options):
    if not os.path.isdir(options.cutlass + cutlass_cases.EXAMPLES):
        raise SystemExit(f"sim-peers: FA4_CUTLASS must name a checkout of NVIDIA's cutlass, with {cutlass_cases.EXAMPLES}")


def run_named(name, options):
    script = script_cases.SCRIPTS.get(name)
    if not script:
        return run_case(make_case(name, options), options)
    if script.is_example:
        need_examples(options)
    return script_cases.run_script(name, options, log)


def main():
    parser = argparse.ArgumentParser(prog="sim-peers", description=__doc__)
    parser.add_argument("--scratch", required=True, help="folder for records and results")
    parser.add_argument("--fa4-sim", required=True, help="the fa4-sim to run")
    parser.add_argument("--cutlass", default="", help="a checkout of NVIDIA's cutlass")
    parser.add_argument("--all", action="store_true", help="more of FlashAttention-4's options, and its Hopper kernels")
    parser.add_argument("--sm90", action="store_true", help="FlashAttention-4's and Triton's Hopper kernels")
    parser.add_argument("--examples", action="store_true", help="CUTLASS's examples")
    parser.add_argument("--scripts", action="store_true", help="programs that run as they are, on the stand-in driver")
    parser.add_argument("--case", action="append", help="only this case")
    parser.add_argument("--no-check", dest="check", action="store_false", help="results only, no race checks")
    parser.add_argument("--seeds", help="A:B, for fa4-sim; the results are those of the last seed")
    parser.add_argument("--data-seed", type=int, default=0, help="of the inputs")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds a case")
    options = parser.parse_args()
    examples = [*cutlass_cases.CASES, *cutlass_cases.SM90_CASES]
    scripts = [name for name, script in script_cases.SCRIPTS.items() if options.cutlass or not script.is_example]
    known = [*CASES, *MORE_CASES, *SM90_CASES, *examples, *script_cases.SCRIPTS]
    if unknown := set(options.case or []) - set(known):
        parser.error(f"unknown case {', '.join(unknown)} (known: {', '.join(known)})")
    every = [*CASES, *MORE_CASES, *SM90_CASES, *scripts]
    names = options.case or (examples if options.examples else scripts if options.scripts else SM90_CASES if options.sm90
                             else every if options.all else CASES)
    log(f"{'case':30} {'runs':>5} {'seconds':>8} {'M instr.':>9} {'':>5} {'max error':>11} {'allowed':>11}")
    failed = [name for name in names if not run_named(name, options)]
    if failed:
        log("failed: " + ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
