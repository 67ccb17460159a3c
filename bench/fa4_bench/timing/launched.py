# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A launch of FlashAttention-4's attention, and its record on Blackwell, made without a GPU by bench/peers/record_fa4.py. Needs
nothing but the standard library, because the peers' environment has nothing of ours."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

RECORDER = Path(__file__).resolve().parents[3] / "bench" / "peers" / "record_fa4.py"


def in_k(length: int) -> str:
    return f"{length // 1024}k" if length >= 1024 else str(length)


@dataclass(frozen=True)
class Launched:
    """Attention in bf16: `direction` is fwd or bwd, `length` the tokens of one sequence, `queries` the number of queries where it is
    another one than that of keys. `tuned` changes FlashAttention-4's table of tuned numbers: words such as `ex2_emu_freq=16`.
    `softcap` caps the scores by a tanh. `value_dim` is the head dim of v and out where it is another one. `pairs`: kernels for pairs of CTAs are allowed, as FlashAttention-4 has it by default (it is FA_DISABLE_2CTA that forbids
    them)."""

    direction: str
    head_dim: int
    mask: str
    batch: int
    heads: int
    length: int
    queries: int | None = None
    tuned: tuple = ()
    pairs: bool = True
    softcap: float | None = None
    value_dim: int | None = None

    @property
    def name(self):
        dims = f"{self.head_dim}-{self.value_dim}" if self.value_dim else self.head_dim
        queries = f"-q{self.queries}" if self.queries else ""
        tuned = "".join(f"-{word.replace('=', '-')}" for word in self.tuned)
        cap = f"-softcap{self.softcap:g}" if self.softcap else ""
        return f"{self.direction}-hd{dims}-{self.mask}-b{self.batch}-h{self.heads}-{in_k(self.length)}{queries}{cap}{tuned}" + "-1cta" * (not self.pairs)

    @property
    def flops(self):
        """Operations of the matrix products, by FlashAttention's count: half of them with a causal mask."""
        # Forward multiplies by k and by v; the gradient has two products and a half for each.
        products = (self.head_dim + (self.value_dim or self.head_dim)) * (2 if self.direction == "fwd" else 5)
        return products * self.batch * self.heads * self.length**2 // (2 if self.mask == "causal" else 1)

    def recording(self, folder, *words):
        """The recorder's arguments; `words` are more of them."""
        sizes = dict(hd=self.head_dim, hdv=self.value_dim or self.head_dim, causal=int(self.mask == "causal"), b=self.batch,
                     sq=self.queries or self.length, sk=self.length, hq=self.heads, hk=self.heads)  # fmt: skip
        tuned = (f"tune.{word}" for word in self.tuned)
        cap = [f"softcap={self.softcap}"] if self.softcap else []
        return [str(folder), self.direction, *words, *tuned, *cap, *(f"{k}={v}" for k, v in sizes.items())]


def record(launched: Launched, records: Path):
    """Records the launch in its folder, where it is not recorded yet. To be run by the Python of the peers' environment. Raises
    RuntimeError with the recorder's message."""
    folder = records / launched.name
    if (folder / "stamp").exists():
        return
    environment = {name: value for name, value in os.environ.items() if name != "FA_DISABLE_2CTA"}
    environment |= {} if launched.pairs else {"FA_DISABLE_2CTA": "1"}
    done = subprocess.run([sys.executable, str(RECORDER), *launched.recording(folder)], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"recording {launched.name} failed:\n{(done.stdout + done.stderr)[-2000:]}")
    (folder / "stamp").touch()
