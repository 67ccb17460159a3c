# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs whose keys are looked at in listed blocks: what lists add to a form and a call that have been drawn."""

import dataclasses

from fa4_testing.programs.block_lists import BlockLists
from fa4_testing.programs.gradient import Gradient


def draw_lists(rng, form):
    """Gives lists to some forms. There are none on pairs of CTAs that are asked for, whose tiles would be those of two lists."""
    if rng.random() < 0.85 or "--pairs=on" in form.options:
        return form

    def pick(*choices):
        return choices[rng.integers(len(choices))]

    sizes = form.sizes
    more = dict(entries=pick(None, None, None, 1, 3), missing=pick(0, 0, 0, 1))
    if not isinstance(form, Gradient):
        lists = BlockLists(pick(128, 128, 256, 384), pick(32, 64, 64, 96, 128, 128, 160, 256), pick(1, sizes.hkv, sizes.hq), **more)
        # Rows of 32 scores have no polynomials.
        options = form.options if lists.keys % 64 == 0 else tuple(each for each in form.options if not each.startswith("--exp-fraction"))
        return dataclasses.replace(form, lists=lists, options=options)
    # A tile that sums the gradient of a captured number has up to 256 queries.
    lists = BlockLists(pick(256, 512) if form.wrt else pick(128, 128, 256, 384), pick(128, 128, 256), pick(1, sizes.hkv), **more)
    return dataclasses.replace(form, lists=lists, deterministic=form.deterministic and form.chip == "sm_90a")
