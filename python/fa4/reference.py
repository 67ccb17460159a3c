# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`attn.sdpa` and `attn.sdpa_backward` in numpy, and how close to them is close enough.

Written from the ops' documentation, apart from any lowering. Arrays have the
shapes that the ops' documentation gives (B, Sq, Sk, Tq, Tk, Hq, Hkv, D, Dv as
there); a mask is a `Mask`, a region is a Python callable on arrays:

    score_mod(score, b, h, i, j, *captures) -> score      mask_mod(b, h, i, j, *captures) -> bool

where b and h are ints, i an int array [rows, 1], j one of [1, keys], and score
one of [rows, keys].

All functions take the form of the op as keywords, named as in the op: `layout`
and, if the op has them, `mask`, `scale`, `cu_seqlens_q`, `cu_seqlens_k`,
`seqlens_k`, `sinks`, `score_mod`, `mask_mod`, `captures`. Gradients also take
`score_mod_grad`, with score_mod's arguments: its derivative with respect to the
score. By default that is found by differences, which needs a score_mod that is
smooth near the scores. `wrt` numbers the captures, scalars or arrays [Hq], whose
gradients are to be computed. The derivatives by them are found by differences, too,
unless `capture_grad` gives them: a callable with score_mod's arguments behind the
number of the capture and bounds of the scores' errors in f32, which returns the
derivative and its doubt: by how much it changes where an error so large leads to
another side of a kink.

`sdpa` and `sdpa_backward` compute in float64. `sdpa_same_dtype` and
`sdpa_backward_same_dtype` are the same computation as a kernel does it: f32
arithmetic, with the probabilities (and their gradient) rounded to the input
dtype where they enter a matrix product, and results rounded to theirs.
`check` holds a result to FlashAttention's rule: at most twice as far from
the float64 result as the same-dtype computation is.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import ml_dtypes
import numpy as np

# Scores that a region is called with at a time.
_BLOCK = 2**18
# The relative error of a rounding to f32.
F32_ROUNDING = 2.0**-24
LAYOUTS = ("bshd", "bhsd", "sbhd", "thd", "htd")


@dataclass(frozen=True)
class Mask:
    """`#attn.mask`: key j is visible to query i iff
    i + shift - left <= j <= i + shift + right, with shift = 0 (top_left) or
    Sk - Sq (bottom_right). A bound that is None does not limit."""

    alignment: str
    left: int | None = None
    right: int | None = None

    def __post_init__(self):
        if self.alignment not in ("top_left", "bottom_right"):
            raise ValueError(
                f"alignment must be top_left or bottom_right, got {self.alignment!r}"
            )

    @classmethod
    def causal(cls, alignment: str, left: int | None = None) -> "Mask":
        return cls(alignment, left, 0)

    def visible(self, i, j, num_queries: int, num_keys: int):
        shift = 0 if self.alignment == "top_left" else num_keys - num_queries
        visible = np.ones(np.broadcast(i, j).shape, dtype=bool)
        if self.left is not None:
            visible &= j >= i + shift - self.left
        if self.right is not None:
            visible &= j <= i + shift + self.right
        return visible


class Gradients(NamedTuple):
    dq: np.ndarray
    dk: np.ndarray
    dv: np.ndarray
    dsinks: np.ndarray | None
    dcaptures: tuple = ()  # [Hq] each; of sdpa_backward with `wrt`
    capture_slopes: tuple = ()  # The largest |d score / d capture| of each, where the score is finite.
    capture_doubts: tuple = ()  # [Hq] each: how far the sums are in doubt, given `capture_grad`.


# ---------------------------------------------------------------------------
# The sequences of a batch
# ---------------------------------------------------------------------------


def _token_major(x, layout):
    """Returns a view of x as [B, S, H, D], or [T, H, D] of a packed layout."""
    return x.transpose([layout.index(c) for c in ("thd" if "t" in layout else "bshd")])


def lse_shape(q_shape, layout):
    """Returns the shape of the LSE: [B, Hq, Sq], or [Hq, Tq] of a packed layout."""
    return tuple(q_shape[layout.index(c)] for c in ("ht" if "t" in layout else "bhs"))


def out_shape(q_shape, v_shape):
    """Returns the shape of out: q's with the head dim of v."""
    return (*q_shape[:-1], v_shape[-1])


@dataclass(frozen=True)
class _Problem:
    """The form of the op, and the dtype to compute in."""

    compute: type
    layout: str
    mask: Mask | None = None
    scale: float | None = None
    cu_seqlens_q: np.ndarray | None = None
    cu_seqlens_k: np.ndarray | None = None
    seqlens_k: np.ndarray | None = None
    page_table: np.ndarray | None = None
    block_list: np.ndarray | None = None
    block_counts: np.ndarray | None = None
    block_size: tuple[int, int] | None = None
    sinks: np.ndarray | None = None
    score_mod: Callable | None = None
    mask_mod: Callable | None = None
    captures: tuple = ()
    score_mod_grad: Callable | None = None
    capture_grad: Callable | None = None
    wrt: tuple = ()

    def __post_init__(self):
        if self.layout not in LAYOUTS:
            raise ValueError(
                f"unknown layout {self.layout!r}, expected one of {LAYOUTS}"
            )
        packed = "t" in self.layout
        for cu_seqlens, needed in ((self.cu_seqlens_q, packed), (self.cu_seqlens_k, packed and self.page_table is None)):
            if needed != (cu_seqlens is not None):
                raise ValueError(
                    f"layout {self.layout} {'needs' if needed else 'has no'} cu_seqlens"
                )

    @property
    def key_layout(self):
        """The layout of k and v: pages are as sequences of a batch."""
        return self.layout if self.page_table is None else self.layout.replace("thd", "bshd").replace("htd", "bhsd")

    def check_shapes(self, q, k, v):
        for name, x, layout in (("q", q, self.layout), ("k", k, self.key_layout), ("v", v, self.key_layout)):
            if x.ndim != len(layout):
                raise ValueError(f"{name} has shape {x.shape}, layout is {layout}")
        heads, key_heads = q.shape[self.layout.index("h")], k.shape[self.key_layout.index("h")]
        if heads % key_heads:
            raise ValueError(
                f"{heads} query heads over {key_heads} key/value heads"
            )

    def sequences(self, batch):
        """(b, index of its queries, index of its keys), into token-major
        views; and the index of its rows in the LSE, whose last dimension is
        the row."""
        if self.cu_seqlens_q is not None:
            cu_q, cu_k = self.cu_seqlens_q, self.cu_seqlens_k
            for b in range(len(cu_q) - 1):
                keys = None if self.seqlens_k is None else self.seqlens_k[b]
                rows = slice(cu_q[b], cu_q[b + 1])
                of_keys = (b, slice(None, keys))
                if cu_k is not None:
                    of_keys = slice(cu_k[b], cu_k[b + 1] if keys is None else cu_k[b] + keys)
                yield b, rows, of_keys, (slice(None), rows)
            return
        for b in range(batch):
            keys = None if self.seqlens_k is None else self.seqlens_k[b]
            yield b, (b, slice(None)), (b, slice(None, keys)), (b,)

    def from_pages(self, x):
        """Returns the keys of each sequence, [B, N S, H, D], from pages, [P, S, H, D]. A page without a key of the sequence is 0."""
        if self.page_table is None:
            return x
        size = x.shape[1]
        keys = np.zeros((len(self.page_table), self.page_table.shape[1] * size, *x.shape[2:]), x.dtype)
        for b, pages in enumerate(self.page_table):
            used = pages if self.seqlens_k is None else pages[: -(-max(int(self.seqlens_k[b]), 0) // size)]
            keys[b, : len(used) * size] = x[used].reshape(-1, *x.shape[2:])
        return keys

    def with_lists_for(self, heads):
        """The problem with a list of blocks for each query head, if there are lists."""
        if self.block_list is None:
            return self
        sharing = heads // self.block_list.shape[1]
        return replace(self, **{name: np.repeat(getattr(self, name), sharing, axis=1) for name in ("block_list", "block_counts")})

    def listed_blocks(self, b, h, num_queries, num_keys):
        """Which blocks of keys each block of queries sees: [blocks of queries, blocks of keys]."""
        seen = np.zeros([-(-size // of) for size, of in zip((num_queries, num_keys), self.block_size)], bool)
        for row, blocks, count in zip(seen, self.block_list[b, h], self.block_counts[b, h]):
            listed = blocks[: max(int(count), 0)]
            row[listed[(listed >= 0) & (listed < len(row))]] = True
        return seen

    def raw_scores(self, q, k):
        """Returns scale * q.k of one head: [rows, keys]."""
        return self.factor(q) * (q @ k.T)

    def factor(self, q):
        scale = q.shape[-1] ** -0.5 if self.scale is None else self.scale
        return self.compute(scale)

    def raw_errors(self, q, k):
        """Bounds of the raw scores' errors in f32, in any order of the sums, whose products are exact: a
        rounding for each sum and for the factor."""
        return (q.shape[-1] + 1) * F32_ROUNDING * abs(self.factor(q)) * (np.abs(q) @ np.abs(k).T)

    def by_blocks(self, compute, raw, *more):
        """Calls `compute` with the scores of some rows, of `more` the same rows, their numbers and those of the keys,
        block by block, and returns what it gives for all. A region's intermediate values,
        of which there may be a hundred, are so never there for all scores at once."""
        rows, keys = raw.shape
        step = max(1, _BLOCK // max(1, keys))
        j = np.arange(keys)[None, :]
        blocks = [
            compute(*(x[start : start + step] for x in (raw, *more)), np.arange(start, min(start + step, rows))[:, None], j)
            for start in range(0, max(rows, 1), step)
        ]
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)

    def scores(self, raw, b, h):
        """Returns the scores after score_mod; -inf where no key is visible."""
        return self.by_blocks(lambda *block: self.scores_of_rows(*block, b, h, raw.shape), raw)

    def scores_of_rows(self, raw, i, j, b, h, shape):
        s = raw
        if self.score_mod is not None:
            s = np.asarray(self.score_mod(raw, b, h, i, j, *self.captures))
        visible = np.ones(raw.shape, dtype=bool)
        if self.mask is not None:
            visible &= self.mask.visible(i, j, *shape)
        if self.block_list is not None:
            queries, keys = self.block_size
            visible &= self.listed_blocks(b, h, *shape)[i // queries, j // keys]
        if self.mask_mod is not None:
            visible &= np.asarray(self.mask_mod(b, h, i, j, *self.captures), dtype=bool)
        return np.where(visible, s, -np.inf).astype(self.compute)

    def score_derivative(self, raw, b, h):
        """d score_mod / d score: as given, or by central differences of fourth
        order. Where score_mod is not finite the probability is 0, and so is
        this."""
        if self.score_mod is None:
            return 1.0
        return self.by_blocks(lambda *block: self.derivative_of_rows(*block, b, h), raw)

    def derivative_of_rows(self, raw, i, j, b, h):
        x = raw.astype(np.float64)
        if self.score_mod_grad is not None:
            return np.broadcast_to(self.score_mod_grad(x, b, h, i, j, *self.captures), x.shape)
        step = 1e-5 * np.maximum(1.0, np.abs(x))

        def f(times):
            return self.score_mod(x + times * step, b, h, i, j, *self.captures)

        with np.errstate(invalid="ignore"):
            slope = (8 * (f(1) - f(-1)) - (f(2) - f(-2))) / (12 * step)
        return np.where(np.isfinite(slope), slope, 0.0)

    def capture_derivative(self, n, raw, errors, b, h):
        """d score_mod / d capture n, of an array its element h, and its doubt: as given, or by central differences
        of fourth order, without a doubt; 0 where score_mod is not finite."""
        if self.capture_grad is None:
            slope = self.by_blocks(lambda *block: self.capture_derivative_of_rows(n, *block, b, h), raw)
            return slope, np.zeros_like(slope)

        def given(raw, error, i, j):
            return np.stack(self.capture_grad(n, error, raw.astype(np.float64), b, h, i, j, *self.captures), axis=-1)

        both = self.by_blocks(given, raw, errors)
        return both[..., 0], both[..., 1]

    def capture_derivative_of_rows(self, n, raw, i, j, b, h):
        value = np.array(self.captures[n], np.float64)
        element = h if value.ndim else ()
        step = 1e-5 * max(1.0, abs(value[element]))

        def f(times):
            moved = value.copy()
            moved[element] += times * step
            captures = (*self.captures[:n], moved if value.ndim else moved[()], *self.captures[n + 1 :])
            return np.broadcast_to(self.score_mod(raw.astype(np.float64), b, h, i, j, *captures), raw.shape)

        with np.errstate(invalid="ignore"):
            slope = (8 * (f(1) - f(-1)) - (f(2) - f(-2))) / (12 * step)
        return np.where(np.isfinite(slope), slope, 0.0)


def _round(x, dtype):
    """Rounds x to dtype (None: leaves it as it is) and returns it in its own dtype."""
    return x if dtype is None else x.astype(dtype).astype(x.dtype)


# ---------------------------------------------------------------------------
# Forward
# ---------------------------------------------------------------------------


def _sdpa(q, k, v, problem, p_dtype=None):
    problem.check_shapes(q, k, v)
    compute, layout = problem.compute, problem.layout
    out = np.zeros(out_shape(q.shape, v.shape), compute)
    lse = np.full(lse_shape(q.shape, layout), -np.inf, compute)
    q_ = _token_major(q.astype(compute), layout)
    k_, v_ = (problem.from_pages(_token_major(x.astype(compute), problem.key_layout)) for x in (k, v))
    out_ = _token_major(out, layout)
    heads = q_.shape[-2]
    group = heads // k_.shape[-2]
    problem = problem.with_lists_for(heads)
    for b, rows, keys, lse_rows in problem.sequences(q_.shape[0]):
        qb, kb, vb, ob, lb = q_[rows], k_[keys], v_[keys], out_[rows], lse[lse_rows]
        for h in range(heads):
            g = h // group
            s = problem.scores(problem.raw_scores(qb[:, h], kb[:, g]), b, h)
            m = s.max(axis=1, initial=-np.inf)
            if problem.sinks is not None:
                m = np.maximum(m, compute(problem.sinks[h]))
            seen = m > -np.inf
            p = np.exp(s[seen] - m[seen, None])
            z = p.sum(axis=1)
            if problem.sinks is not None:
                z = z + np.exp(compute(problem.sinks[h]) - m[seen])
            ob[seen, h] = (_round(p, p_dtype) @ vb[:, g]) / z[:, None]
            lb[h, seen] = m[seen] + np.log(z)
    return out, lse


def sdpa(q, k, v, **form):
    """`attn.sdpa` in float64: (out, lse). A row that sees no key has out 0 and
    lse -inf (with a sink: the sink)."""
    return _sdpa(q, k, v, _Problem(np.float64, **form))


def sdpa_same_dtype(q, k, v, *, out_dtype=None, **form):
    """`sdpa` in f32, with exp(s - row max) rounded to q's dtype before it meets
    v, and out to `out_dtype` (default q's)."""
    out, lse = _sdpa(q, k, v, _Problem(np.float32, **form), p_dtype=q.dtype)
    return _round(out, out_dtype or q.dtype), lse


# ---------------------------------------------------------------------------
# Backward
# ---------------------------------------------------------------------------


def _sdpa_backward(q, k, v, out, dout, lse, dlse, problem, p_dtype=None):
    problem.check_shapes(q, k, v)
    compute, layout, sinks = problem.compute, problem.layout, problem.sinks
    grads = [np.zeros(x.shape, compute) for x in (q, k, v)]
    dsinks = None if sinks is None else np.zeros(len(sinks), compute)
    dcaptures = [np.zeros(q.shape[layout.index("h")], compute) for _ in problem.wrt]
    slopes = [0.0 for _ in problem.wrt]
    doubts = [np.zeros_like(each) for each in dcaptures]
    q_, k_, v_, out_, dout_ = (
        _token_major(x.astype(compute), layout) for x in (q, k, v, out, dout)
    )
    dq_, dk_, dv_ = (_token_major(x, layout) for x in grads)
    lse = lse.astype(compute)
    dlse = np.zeros_like(lse) if dlse is None else dlse.astype(compute)
    heads = q_.shape[-2]
    group = heads // k_.shape[-2]
    problem = problem.with_lists_for(heads)
    for b, rows, keys, lse_rows in problem.sequences(q_.shape[0]):
        for h in range(heads):
            g = h // group
            qh, doh = q_[rows][:, h], dout_[rows][:, h]
            kh, vh = k_[keys][:, g], v_[keys][:, g]
            lh, dlh = lse[lse_rows][h], dlse[lse_rows][h]
            seen = lh > -np.inf
            l0 = np.where(seen, lh, 0)
            raw = problem.raw_scores(qh, kh)
            s = np.where(seen[:, None], problem.scores(raw, b, h), -np.inf)
            p = np.exp(s - l0[:, None])
            delta = (doh * out_[rows][:, h]).sum(axis=1) - dlh
            ds = p * (doh @ vh.T - delta[:, None])
            for place, n in enumerate(problem.wrt):
                slope, doubt = problem.capture_derivative(n, raw, problem.raw_errors(qh, kh), b, h)
                dcaptures[place][h] += (ds * slope).sum()
                doubts[place][h] += (np.abs(ds) * doubt).sum()
                slopes[place] = max(slopes[place], float(np.abs(np.broadcast_to(slope, p.shape)).max(initial=0, where=p > 0)))
            ds = ds * np.asarray(problem.score_derivative(raw, b, h), compute)
            # The factor of the scores is that of the sums, too: what is rounded is without it, as in a kernel.
            ds, factor = _round(ds, p_dtype), problem.factor(qh)
            dq_[rows][:, h] = factor * (ds @ kh)
            dk_[keys][:, g] += factor * (ds.T @ qh)
            dv_[keys][:, g] += _round(p, p_dtype).T @ doh
            if sinks is not None:
                p_sink = np.where(seen, np.exp(compute(sinks[h]) - l0), 0)
                dsinks[h] -= (p_sink * delta).sum()
    return Gradients(*grads, dsinks, tuple(dcaptures), tuple(slopes), tuple(doubts))


def sdpa_backward(q, k, v, dout, *, out=None, lse=None, dlse=None, **form):
    """`attn.sdpa_backward` in float64. Without `out` and `lse` they are
    computed here, which gives the gradient of the exact function; with them
    the op's formulas are followed with what is given."""
    problem = _Problem(np.float64, **form)
    if out is None or lse is None:
        out, lse = _sdpa(q, k, v, problem)
    return _sdpa_backward(q, k, v, out, dout, lse, dlse, problem)


def sdpa_backward_same_dtype(q, k, v, dout, *, grad_dtype=None, dlse=None, **form):
    """`sdpa_backward` in f32 from a same-dtype forward (out in dout's dtype),
    with the probabilities and the gradient of the scores that score_mod gets, without
    their factor, rounded to q's dtype before a matrix product, and dq, dk, dv to
    `grad_dtype` (default q's), dsinks to that of the sinks."""
    problem, p_dtype = _Problem(np.float32, **form), q.dtype
    out, lse = _sdpa(q, k, v, problem, p_dtype)
    out = _round(out, dout.dtype)
    *grads, dsinks, dcaptures, _, _ = _sdpa_backward(q, k, v, out, dout, lse, dlse, problem, p_dtype)
    grads = [_round(grad, grad_dtype or q.dtype) for grad in grads]
    if dsinks is not None:
        dsinks = _round(dsinks, problem.sinks.dtype)
    return Gradients(*grads, dsinks, dcaptures)


# ---------------------------------------------------------------------------
# Comparison
# ---------------------------------------------------------------------------


class Errors(NamedTuple):
    """The largest error of the result, that of the same-dtype computation, and the
    allowed one."""

    out: float
    pt: float
    bound: float


def _fail(name, out, ref, error, bad, bound, pt_error=None):
    index = np.unravel_index(np.argmax(np.where(bad, error, -1)), error.shape)
    at = ", ".join(str(int(n)) for n in index)
    limit = float(np.broadcast_to(bound, error.shape)[index])
    rule = ""
    if pt_error is not None:
        rule = f" (the same-dtype reference is off by {pt_error:.3g})"
    raise AssertionError(
        f"{name}: {int(bad.sum())} of {bad.size} elements are off; the worst is "
        f"[{at}]: got {out[index]:.9g}, expected {ref[index]:.9g}, off by "
        f"{error[index]:.3g}, allowed {limit:.3g}{rule}"
    )


def _errors(name, out, ref):
    """(out, ref, |out - ref|) in float64. What is not finite must be equal
    (its error is then 0) or has infinite error."""
    if out.shape != ref.shape:
        raise AssertionError(f"{name}: got shape {out.shape}, expected {ref.shape}")
    out, ref = out.astype(np.float64), ref.astype(np.float64)
    if np.isnan(ref).any():
        raise AssertionError(f"{name}: the reference itself has NaN")
    with np.errstate(invalid="ignore"):
        error = np.where(out == ref, 0.0, np.abs(out - ref))
    return out, ref, np.where(np.isnan(error), np.inf, error)


def rounding_floor(ref, dtype):
    """What FlashAttention's tests allow on top of the bound: twice the rounding
    noise of dtype, as an addition of 0.3 and its subtraction show it. Here also
    not less than 1e-5 of ref's magnitude, for f32."""
    x = ref[np.isfinite(ref)].astype(np.float64)
    if not x.size:
        return 0.0

    def rounded(y):
        return y.astype(dtype).astype(np.float64)

    noise = np.abs(rounded(rounded(rounded(x) + 0.3) - 0.3) - rounded(x))
    return max(2 * float(noise.max()), 1e-5 * float(np.abs(x).max()))


def check(out, ref, pt, name="out", floor=None):
    """FlashAttention's rule: max |out - ref| <= 2 max |pt - ref| + floor, where
    ref is the float64 result and pt the same-dtype one. floor is `rounding_floor`
    by default. Returns the `Errors`, or raises AssertionError saying where and
    how much."""
    dtype = out.dtype
    out, ref, error = _errors(name, out, ref)
    if pt.shape != ref.shape:
        raise AssertionError(f"{name}: pt has shape {pt.shape}, ref {ref.shape}")
    pt_error = float(_errors(f"{name} (same dtype)", pt, ref)[2].max(initial=0.0))
    if not np.isfinite(pt_error):
        raise AssertionError(f"{name}: the same-dtype reference is not finite")
    if floor is None:
        floor = rounding_floor(ref, dtype)
    bound = 2 * pt_error + floor
    bad = error > bound
    if bad.any():
        _fail(name, out, ref, error, bad, bound, pt_error)
    return Errors(float(error.max(initial=0.0)), pt_error, bound)


def check_rounded(out, ref, atol, name="out"):
    """out is ref up to `atol` and one rounding to out's dtype: for computations
    that are f32 inside, whatever the dtype of their inputs and results."""
    dtype = out.dtype
    out, ref, error = _errors(name, out, ref)
    info = ml_dtypes.finfo(dtype)
    ulp = np.maximum(np.abs(ref) * float(info.eps), float(info.smallest_subnormal))
    bound = np.where(np.isfinite(ref), ulp / 2, 0) + atol * (1 + float(info.eps))
    bad = error > bound
    if bad.any():
        _fail(name, out, ref, error, bad, bound)
