# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The real kernels that are timed on a Hopper card: FlashAttention-4's attention in 24 forms, from which
parameters of the timing model may be fitted (half of them) and by which the model is judged, and kernels of CUTLASS
and Triton, which nothing is fitted to.

A kernel is timed from a record of its launches (docs/simulator-manifest.md, "Records"), which `bench/timing --record`
makes without a GPU in $FA4_PEERS_SCRATCH/timing. No file of a record is part of this repository."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from fa4_bench.timing.launched import RECORDER, Launched

PEERS = RECORDER.parent
TOKENS, HIDDEN = 16384, 2048


@dataclass(frozen=True)
class Form:
    """Attention in bf16: `direction` is fwd or bwd, `tokens` those of one sequence. All forms have TOKENS tokens
    in all and HIDDEN columns, as FlashAttention's own benchmarks have them."""

    direction: str
    head_dim: int
    mask: str
    tokens: int

    @property
    def name(self):
        return f"{self.direction}-hd{self.head_dim}-{self.mask}-{self.tokens // 1024}k"

    @property
    def launched(self):
        return Launched(self.direction, self.head_dim, self.mask, TOKENS // self.tokens, HIDDEN // self.head_dim, self.tokens)

    @property
    def main_launch(self):
        """The launch that counts: the backward's first one prepares sums of rows, its last one rounds dQ."""
        return 1 if self.direction == "bwd" else 0

    @property
    def flops(self):
        return self.launched.flops

    def recording(self, folder):
        """The recorder's script and its arguments."""
        return [RECORDER.name, *self.launched.recording(folder, "arch=sm_90")]


FORMS = [Form(direction, head_dim, mask, tokens)
         for direction in ("fwd", "bwd") for head_dim in (64, 128) for mask in ("full", "causal")
         for tokens in (1024, 4096, 16384)]  # fmt: skip


def is_fitted(form):
    """Whether parameters may be fitted to the form. The rule was written down before anything was measured: of the forms in
    the order direction, head dim, mask, length, those with even numbers."""
    return FORMS.index(form) % 2 == 0


@dataclass(frozen=True)
class Unseen:
    """A kernel that the parameters were not fitted to. `words` are the recorder's arguments behind the folder; a script of CUTLASS is
    below $FA4_CUTLASS/examples/python/CuTeDSL/cute/hopper/kernel. `mend` is a text of the PTX and what stands in its place."""

    name: str
    script: str
    words: tuple
    flops: int
    main_launch: int = 0
    mend: tuple = ()

    def recording(self, folder):
        words = list(self.words)
        if self.script == "record_cutlass.py":
            examples = os.environ.get("FA4_CUTLASS")
            if not examples:
                raise RuntimeError("FA4_CUTLASS must name a checkout of NVIDIA's cutlass")
            words[1] = f"{examples}/examples/python/CuTeDSL/cute/hopper/kernel/{words[1]}"
        return [self.script, str(folder), *words]


def _gemm(name, program, size, *options):
    m, n, k = size
    words = ("a,b,c", f"dense_gemm/{program}.py", "--mnkl", f"{m},{n},{k},1", "--c_dtype", "Float16", *options)
    return Unseen(name, "record_cutlass.py", words, 2 * m * n * k)


def _attention_shape(tokens):
    return f"1,{tokens},16,128"


UNSEEN = [
    _gemm("cutlass-gemm-4k", "dense_gemm", (4096, 4096, 4096)),
    _gemm("cutlass-gemm-wide-4k", "dense_gemm", (4096, 4096, 4096), "--tile_shape_mn", "128,256", "--cluster_shape_mn", "2,1"),
    _gemm("cutlass-gemm-persistent-8k", "dense_gemm_persistent", (8192, 8192, 4096), "--cluster_shape_mn", "2,1"),
    Unseen("cutlass-fmha-hd128-4k", "record_cutlass.py",
           ("q,k,v,out,lse", "attention/fmha.py", "--q_shape", _attention_shape(4096), "--k_shape", _attention_shape(4096),
            "--scale_softmax", str(128**-0.5)), 4 * 16 * 4096**2 * 128,
           # It exits while its last store may read shared memory, which fa4-sim does not let pass (bench/peers/cutlass_cases.py).
           mend=("cp.async.bulk.wait_group.read \t1;", "cp.async.bulk.wait_group.read \t0;")),
    Unseen("triton-hd128-4k", "triton_kernel.py", ("hd=128", "sq=4096", "sk=4096", "hq=16", "warps=8", "arch=sm_90"),
           4 * 16 * 4096**2 * 128),
]  # fmt: skip


@dataclass(frozen=True)
class Empty:
    """A kernel of this project that does nothing, one CTA an SM: what launches and CTAs cost by themselves."""

    name: str
    ctas: int
    threads: int = 384
    flops: int = 0
    main_launch: int = 0

    def write(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "launch-0.ptx").write_text(f".version 8.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 16 .b8 memory[];\n"
                                             f".visible .entry empty() .reqntid {self.threads}\n{{\n  ret;\n}}\n")  # fmt: skip
        record = {"kernel": "empty", "ptx": "launch-0.ptx", "grid": [self.ctas, 1, 1], "block": [self.threads, 1, 1], "cluster": [1, 1, 1],
                  "dynamic_smem": 160 << 10, "params": [], "tensors": {}}  # fmt: skip
        (folder / "launch-0.json").write_text(json.dumps(record, indent=1))


EMPTY = [Empty("empty-132", 132), Empty("empty-2112", 16 * 132)]


def all_kernels():
    return [*FORMS, *UNSEEN, *EMPTY]


def records_folder():
    """Where the records of the kernels are, one folder each."""
    return Path(os.environ.get("FA4_PEERS_SCRATCH") or Path.home() / ".cache" / "fa4-peers") / "timing"


def launches(folder):
    """The launches of a record as its files describe them, in order. Triton's manifest is one launch."""
    files = sorted(folder.glob("launch-*.json"), key=lambda path: int(path.stem.split("-")[1])) or [folder / "kernel.json"]
    found = []
    for path in files:
        launch = json.loads(path.read_text())
        launch["cubin"] = str(folder / Path(launch["ptx"]).with_suffix(".cubin"))
        found.append(launch)
    return found


def record(kernel, ptxas):
    """Records the launches of a kernel in its folder, where they are not there yet, with the machine code that `ptxas` makes of them.
    To be run by the Python of the peers' environment (bench/peers/environment.sh)."""
    folder = records_folder() / kernel.name
    if (folder / "stamp").exists():
        return
    if isinstance(kernel, Empty):
        kernel.write(folder)
    else:
        script, *words = kernel.recording(folder)
        done = subprocess.run([sys.executable, str(PEERS / script), *words], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"recording failed:\n{(done.stdout + done.stderr)[-2000:]}")
    for ptx in folder.glob("*.ptx"):
        if mend := getattr(kernel, "mend", ()):
            ptx.write_text(ptx.read_text().replace(*mend))
        assemble = [ptxas, "-arch=sm_90a", "-lineinfo", str(ptx), "-o", str(ptx.with_suffix(".cubin"))]
        done = subprocess.run(assemble, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"ptxas: {done.stderr[-2000:]}")
    version = subprocess.run([ptxas, "--version"], capture_output=True, text=True).stdout.strip().splitlines()[-1]
    (folder / "stamp").write_text(version + "\n")
