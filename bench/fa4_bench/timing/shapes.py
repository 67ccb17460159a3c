# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The shapes of bench/versus-fa4, and records of FlashAttention-4's launches for them.

    python -m fa4_bench.timing.shapes FOLDER [--published | --sensitivity | --softcap | [--gradient] --quick | [--gradient] --shape REGEX]

makes the records that FOLDER lacks; to be run by the Python of the peers' environment (bench/peers/environment.sh), which
has nothing but FlashAttention-4."""

import argparse
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from fa4_testing.head_dims import VALUE_DIMS, WIDE
from fa4_bench.timing import effect_launches, published
from fa4_bench.timing.launched import Launched, in_k, record

TOKENS, HIDDEN = 32768, 2048
LENGTHS = (512, 1024, 2048, 4096, 8192, 16384, 32768)
# From this length on, the bars hold.
FIRST_JUDGED = 2048
# Of head dims above 128.
WIDE_LENGTHS = (2048, 4096, 8192, 16384)


@dataclass(frozen=True)
class BaseShape:
    head_dim: int
    mask: str
    length: int

    @property
    def name(self):
        return f"hd{self.head_dim}-{self.mask}-{in_k(self.length)}"


class Shape(BaseShape):
    @property
    def value_dim(self):
        """The head dim of v, or None where it is that of q."""
        return VALUE_DIMS.get(self.head_dim)

    @property
    def launched(self):
        heads = HIDDEN // (self.value_dim or self.head_dim)
        return Launched("fwd", self.head_dim, self.mask, TOKENS // self.length, heads, self.length, value_dim=self.value_dim)

    @property
    def bar(self):
        """The largest ratio that is allowed, or None."""
        if self.length < FIRST_JUDGED:
            return None
        return 1.05 if self.head_dim in WIDE else 1.0


class GradientShape(BaseShape):
    @property
    def value_dim(self):
        """The head dim of v, or None where it is that of q."""
        return VALUE_DIMS.get(self.head_dim)

    @property
    def alone(self):
        """FlashAttention-4's gradient whose CTAs are alone, or None: that of head dims 192 and 128 is for pairs of CTAs only."""
        return None if self.value_dim else self._launched(pairs=False)

    @property
    def paired(self):
        """FlashAttention-4's gradient on pairs of CTAs, or None: it has one for head dim 128, and for 192 and 128."""
        return self._launched(pairs=True) if self.head_dim >= 128 else None

    @property
    def launched(self):
        """The one by which ours is judged."""
        return self.alone or self.paired

    @property
    def launches(self):
        return [each for each in (self.alone, self.paired) if each]

    def _launched(self, pairs):
        heads = HIDDEN // (self.value_dim or self.head_dim)
        return Launched("bwd", self.head_dim, self.mask, TOKENS // self.length, heads, self.length, pairs=pairs, value_dim=self.value_dim)


SHAPES = [
    Shape(head_dim, mask, length)
    for head_dims, lengths in (((64, 128), LENGTHS), (WIDE, WIDE_LENGTHS))
    for head_dim in head_dims for mask in ("full", "causal") for length in lengths
]  # fmt: skip
GRADIENTS = [
    GradientShape(head_dim, mask, length) for head_dim in (64, 128, *VALUE_DIMS) for mask in ("full", "causal") for length in (2048, 4096, 8192, 16384)
]
# The gradient of scores that a tanh caps, whose derivative FlashAttention-4 has by hand.
SOFTCAPS = [Launched("bwd", head_dim, "full", 1, 2, 4096, pairs=False, softcap=20.0) for head_dim in (64, 128)]


def choose(pattern: str, quick: bool, shapes=SHAPES) -> list:
    """The shapes whose name has a match; `quick`: only lengths of 2k and 4k."""
    return [s for s in shapes if re.search(pattern, s.name) and (not quick or s.length in (2048, 4096))]


def main(words=None) -> int:
    parser = argparse.ArgumentParser(prog="shapes", description="Records FlashAttention-4's launches.")
    parser.add_argument("records", type=Path)
    parser.add_argument("--shape", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--published", action="store_true")
    parser.add_argument("--sensitivity", action="store_true")
    parser.add_argument("--gradient", action="store_true")
    parser.add_argument("--softcap", action="store_true")
    arguments, _ = parser.parse_known_args(words)
    chosen = [shape.launched for shape in choose(arguments.shape, arguments.quick)]
    if arguments.gradient:
        chosen = [launched for shape in choose(arguments.shape, arguments.quick, GRADIENTS) for launched in shape.launches]
    if arguments.published or arguments.sensitivity:
        chosen = published.launches() + (effect_launches.ALL if arguments.sensitivity else [])
    for launched in SOFTCAPS if arguments.softcap else chosen:
        record(launched, arguments.records)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (RuntimeError, OSError) as error:
        sys.exit(f"versus-fa4: {error}")
