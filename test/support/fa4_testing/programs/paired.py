# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs on pairs of CTAs: what a pair adds to a form and a call that have been drawn. Neighbours along an axis
of the grid are a pair, so there are several work tiles along it, an odd number of them or an even one, and bounds of
masks that differ by whole tiles. Each such form has a kernel, or is one of those that docs/pairs.md has none for."""

import dataclasses

from fa4_testing import gpu, head_dims
from fa4_testing.programs.flaws import refusal
from fa4_testing.programs.gradient import Gradient
from fa4_testing.programs.shrink import with_sizes
from fa4.reference import Mask

# Head dims of q and k, of v (None: the same).
_FORWARD = (
    *[(dim, None) for dim in (32, 64, 64, 96, 128, 128, 192, 256)],
    (192, 128), (192, 128), (256, 128), (128, 256), (64, 128), (128, 64), (320, 96),
)  # fmt: skip
_GRADIENT = (
    *[(dim, None) for dim in (32, 64, 64, 64, 96, 128, 128, 128)],
    (32, 64), (64, 96), (64, 128), (128, 64), (96, 128), (128, 96),
    *head_dims.GRADIENTS,
)  # fmt: skip
_BOUNDS = (-300, -140, -128, -20, 0, 5, 63, 127, 128, 129, 200, 256, 500)
# Query x key pairs of all heads in a program, whose simulations take a second or two, by whether it is a gradient.
_WORK = {False: 600_000, True: 100_000}


def _pick(rng, choices):
    return choices[rng.integers(len(choices))]


def _length(rng, tile):
    """Draws a length of one to five tiles, the last of which may have one row, some or all."""
    tiles = _pick(rng, (1, 2, 2, 3, 3, 4, 5))
    return tile * (tiles - 1) + int(_pick(rng, (1, tile - 1, tile, *rng.integers(1, tile + 1, 3))))


def _sizes(rng, form, is_gradient):
    """Several work tiles along the axis of the pair: of queries, or of keys in the gradient, whose kernel of dq, where
    there is one, has work tiles of queries. Heads and sequences are then as many as the work allows."""
    sizes = form.sizes
    queries = _length(rng, _pick(rng, (128, 256))) if not is_gradient or rng.random() < 0.5 else sizes.sq
    keys = _length(rng, 128) if is_gradient or rng.random() < 0.5 else sizes.sk
    sizes = sizes._replace(sq=queries, sk=keys)
    for name in ("b", "hkv", "group", "sq" if is_gradient else "sk"):
        while getattr(sizes, name) > 1 and sizes.b * sizes.hq * sizes.sq * sizes.sk > _WORK[is_gradient]:
            sizes = sizes._replace(**{name: getattr(sizes, name) // 2})
    return with_sizes(form, sizes)


def _mask(rng):
    left, right = (int(_pick(rng, _BOUNDS)) for _ in "lr")
    if left + right < 0:
        left, right = abs(left), abs(right)
    return Mask(_pick(rng, ("top_left", "bottom_right")), *_pick(rng, ((left, right), (left, None), (None, right))))


def draw_pairs(rng, form, always=False):
    """Returns the form, perhaps or `always` as a pair of CTAs, with sizes, a mask, head dims and a schedule that
    matter to pairs, or with the same as CTAs alone."""
    if not always and rng.random() >= 0.3:
        return form
    is_gradient = isinstance(form, Gradient)
    form = _sizes(rng, form, is_gradient)
    if form.mask and rng.random() < 0.5:
        form = dataclasses.replace(form, mask=_mask(rng))
    pairs = "on" if always else _pick(rng, ("on", "on", "on", "off", "auto"))
    if not is_gradient or rng.random() < 0.9:
        head_dim, head_dim_v = _pick(rng, _GRADIENT if is_gradient else _FORWARD)
        form = dataclasses.replace(form, head_dim=head_dim, head_dim_v=head_dim_v)
    # CTAs alone that go on to other work tiles have no room for the gradient of most head dims.
    schedules = ("grid", "lpt") if is_gradient and pairs != "on" else gpu.SCHEDULES
    schedule = _pick(rng, (None, *schedules))
    # Nor have those of forward attention with the largest ones.
    if schedule in ("clc", "static") and pairs != "on" and form.head_dim == 256:
        schedule = None
    others = [option for option in form.options if not option.startswith("--schedule=")]
    chosen = [f"--schedule={schedule}"] * bool(schedule) + [f"--pairs={pairs}"]
    # CTAs that divide keys make other numbers of passes.
    if pairs == "on" and "Sq" in form.static:
        chosen.append("--split-keys=false")
    form = dataclasses.replace(form, options=(*others, *chosen))
    return without_other_reasons(form)


def without_other_reasons(form):
    """Takes from a form that has no pairs of CTAs what could leave nothing to refuse, or be refused itself."""
    if not refusal(form):
        return form
    plain = dict(score=None, visible=None, captures=(), static=frozenset(), strided=())
    return dataclasses.replace(form, **plain, **dict(wrt=()) if isinstance(form, Gradient) else {})
