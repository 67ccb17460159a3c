# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The forms of attention that are timed and checked on a Hopper card, and the rows of its tables. Needs nothing but the standard
library.

A form has a name that says all of it, such as `fwd-hd128-causal` or `bwd-hd64-softcap-f16-bhsd-deterministic`: folders of kernels
are named so. A row is a form and a length, `fwd-hd128-causal-4k`, with 16k tokens in all and 2048 columns."""

import re
from dataclasses import dataclass, replace

from fa4_bench.timing import peers
from fa4_bench.timing.launched import in_k

TOKENS, HIDDEN = 16384, 2048
WINDOW, DOCUMENT, PREFIX, CAP, REACH = 512, 256, 512, 20.0, 128


def _causal_pairs(length):
    """By FlashAttention's count, which leaves the diagonal's other half out."""
    return length * length // 2


# What a form computes, by the name of its mask or modification -> how many of length^2 scores are visible.
# What the names mean is in meaning.py.
KINDS = {
    "full": lambda n: n * n,
    "causal": _causal_pairs,
    "causal-top-left": _causal_pairs,
    "window": lambda n: sum(min(i + 1, WINDOW) for i in range(n)),
    "documents": lambda n: n * min(n, DOCUMENT),
    "prefix": lambda n: sum(min(n, max(i + 1, PREFIX)) for i in range(n)),
    "alibi": lambda n: n * n,
    "alibi-causal": _causal_pairs,
    "softcap": lambda n: n * n,
    "relative": lambda n: n * n,
    # Those that read tables: the document of each token, a bias by head, query and key, one by key, and one by distance.
    "documents-table": lambda n: n * min(n, DOCUMENT),
    "bias": lambda n: n * n,
    "key-bias": lambda n: n * n,
    "buckets": lambda n: n * n,
}
# The shapes of the tables of a kind, in the order of its captures, for as many query heads and positions.
TABLE_SHAPES = {
    "documents-table": lambda heads, length: [(length,)],
    "bias": lambda heads, length: [(heads, length, length)],
    "key-bias": lambda heads, length: [(length,)],
    "buckets": lambda heads, length: [(heads, 2 * REACH)],
}


def documents_of(length):
    """The document of each position: the table of `documents-table`, by which kernels skip blocks."""
    return [position // DOCUMENT for position in range(length)]


# Those that hide scores by a function or a window, and leave the others as they are.
MASKS = ("window", "documents", "prefix")
DTYPES, LAYOUTS = ("bf16", "f16"), ("bshd", "bhsd", "sbhd")
NAME = re.compile(
    r"(?P<direction>fwd|bwd)-hd(?P<head_dim>\d+)(?:_(?P<value_dim>\d+))?-(?P<kind>" + "|".join(sorted(KINDS, key=len, reverse=True)) + ")"
    r"(?:-(?P<dtype>f16))?(?:-(?P<layout>bhsd|sbhd))?(?P<deterministic>-deterministic)?(?:-(?P<length>\d+)k)?"
)  # fmt: skip


@dataclass(frozen=True)
class Form:
    """What a kernel computes; all sizes but the head dims are those of a call. `value_dim` is the head dim of v where it is another
    one, and `length` that of a row in tokens."""

    direction: str
    head_dim: int
    kind: str
    value_dim: int | None = None
    dtype: str = "bf16"
    layout: str = "bshd"
    deterministic: bool = False
    length: int | None = None

    @property
    def name(self):
        dims = f"{self.head_dim}_{self.value_dim}" if self.value_dim else self.head_dim
        parts = [self.direction, f"hd{dims}", self.kind]
        parts += [self.dtype] * (self.dtype != "bf16") + [self.layout] * (self.layout != "bshd") + ["deterministic"] * self.deterministic
        return "-".join(parts if self.length is None else [*parts, in_k(self.length)])

    @staticmethod
    def parse(name):
        """The form of a name. Raises ValueError."""
        if not (match := NAME.fullmatch(name)):
            raise ValueError(f"{name} is no name of a form, such as fwd-hd128-causal or bwd-hd64-softcap-f16-bhsd-4k")
        value_dim, length = (match[group] and int(match[group]) for group in ("value_dim", "length"))
        return Form(match["direction"], int(match["head_dim"]), match["kind"], value_dim, match["dtype"] or "bf16", match["layout"] or "bshd",
                    bool(match["deterministic"]), length and length * 1024)  # fmt: skip

    @property
    def is_backward(self):
        return self.direction == "bwd"

    @property
    def outputs(self):
        """The tensors that are results and that are checked."""
        return ("dq", "dk", "dv") if self.is_backward else ("out", "lse")

    @property
    def of_any_length(self):
        return replace(self, length=None)

    # -- Of a row ----------------------------------------------------------------

    @property
    def batch(self):
        return TOKENS // self.length

    @property
    def heads(self):
        return HIDDEN // self.head_dim

    @property
    def flops(self):
        """Operations of the products of matrices, of visible scores: two products forward, five of the gradient."""
        products = 10 if self.is_backward else 4
        return products * self.head_dim * self.batch * self.heads * KINDS[self.kind](self.length)

    @property
    def recorded(self):
        """The kernel of FlashAttention-4 that this row has as a peer, as bench/timing records it; None where there is none."""
        return peers.Form(self.direction, self.head_dim, self.kind, self.length) if self.kind in ("full", "causal") else None


def _rows(directions, head_dims, kinds, lengths):
    return [Form(direction, head_dim, kind, length=length * 1024)
            for direction in directions for head_dim in head_dims for kind in kinds for length in lengths]  # fmt: skip


PLAIN, LENGTHS = ("full", "causal"), (1, 4, 16)
GROUPS = {
    "forward": [*_rows(["fwd"], (128, 64), PLAIN, LENGTHS), *_rows(["fwd"], [256], ["full"], [4]), *_rows(["fwd"], [256], ["causal"], [16])],
    "backward": _rows(["bwd"], (128, 64), PLAIN, LENGTHS),
    "mods": _rows(["fwd", "bwd"], (128, 64), ("alibi", "softcap", "relative", "window", "documents", "prefix"), [4]),
    "tables": _rows(["fwd", "bwd"], (128, 64), ("documents-table", "bias", "key-bias", "buckets"), [4]),
}
# The groups of which FlexAttention is the peer.
FLEX_GROUPS = ("mods", "tables")
QUICK = ("fwd-hd128-full-4k", "fwd-hd64-causal-1k")
ROWS = {row.name: row for rows in GROUPS.values() for row in rows}


def group_of(name):
    return next(group for group, rows in GROUPS.items() if any(row.name == name for row in rows))


def choose(pattern="", quick=False):
    """The rows whose names have a match, in the order of the tables."""
    return [row for name, row in ROWS.items() if re.search(pattern, name) and (not quick or name in QUICK)]
