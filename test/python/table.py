# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The forms of the ops that are tested. A group's forms are compiled as one
module."""

import os

import mods
import numpy as np
from forms import Form, Sizes

from fa4.reference import Mask

# 70 queries are more than a block of query rows, and not a multiple.
GENERAL = (
    Sizes(),
    Sizes(sq=5, sk=12),
    Sizes(sq=12, sk=5),
    Sizes(sq=1, sk=9),
    Sizes(sq=9, sk=1),
    Sizes(hq=8, hkv=2, sq=6, sk=8),
    Sizes(hq=8, hkv=1, sq=6, sk=4),
    Sizes(b=1, hq=4, hkv=1, sq=70, sk=83, d=16, dv=16),
    Sizes(b=1, hq=3, hkv=3, sq=131, sk=67),
    Sizes(b=1, hq=1, hkv=1, d=1, dv=3),
    Sizes(sk=0),
    Sizes(sq=0),
    Sizes(b=0),
)
SOME = (
    Sizes(hq=4),
    Sizes(hq=4, sq=5, sk=12),
    Sizes(hq=4, sq=12, sk=5),
    Sizes(b=1, hq=2, hkv=1, sq=70, sk=70),
)
# Lengths of sequences: none, one, more than a block, more queries than keys.
VARLEN = (
    Sizes(sq=(3, 5), sk=(3, 5), hq=4),
    Sizes(sq=(4, 0, 7, 2), sk=(6, 3, 0, 1)),
    Sizes(sq=(70, 1, 9), sk=(11, 80, 3), hq=4, hkv=1),
    Sizes(sq=(0,), sk=(0,)),
)
SMALL_VARLEN = Sizes(sq=(2, 0, 3), sk=(3, 1, 2), hq=4, hkv=2, d=3, dv=2)

TOP, BOTTOM = "top_left", "bottom_right"
FP8 = ("f8E4M3FN", "f8E5M2")


def masks():
    yield Form("full", GENERAL)
    yield Form("causal_top_left", GENERAL, mask=Mask.causal(TOP))
    yield Form("causal_bottom_right", GENERAL, mask=Mask.causal(BOTTOM))
    yield Form("window_top_left", GENERAL, mask=Mask(TOP, 2, 1))
    yield Form("window_bottom_right", GENERAL, mask=Mask(BOTTOM, 2, 1))
    yield Form("causal_window", SOME, mask=Mask.causal(BOTTOM, left=3))
    yield Form("window_left", SOME, mask=Mask(BOTTOM, left=1))
    yield Form("window_right", SOME, mask=Mask(TOP, right=2))
    yield Form("window_past", SOME, mask=Mask(TOP, 4, -1))
    yield Form("window_future", SOME, mask=Mask(BOTTOM, -1, 4))
    yield Form("window_diagonal", SOME, mask=Mask(BOTTOM, 0, 0))


def attributes():
    causal = Mask.causal(BOTTOM)
    yield Form("scale", SOME, scale=0.37, mask=causal)
    yield Form("scale_negative", SOME, scale=-1.25)
    yield Form("scale_zero", SOME, scale=0.0, mask=causal)
    yield Form("deterministic", SOME, deterministic=True, mask=causal)
    yield Form("bhsd", SOME, layout="bhsd", mask=causal)
    yield Form("sbhd", SOME, layout="sbhd", mask=causal)
    yield Form("no_lse", SOME, lse=False, mask=causal)
    yield Form("dlse", SOME, dlse=True, mask=causal)
    yield Form("sinks", GENERAL, sinks="f32", mask=causal)
    yield Form("sinks_bf16", SOME, sinks="bf16", dlse=True, layout="bhsd")
    yield Form("sinks_f16", SOME, sinks="f16", mask=Mask(TOP, 4, -1))
    # Scores up to some 200, where exp without the row max overflows.
    yield Form("large", SOME, spread=8.4, mask=causal, dlse=True)
    yield Form("large_sinks", SOME, spread=8.4, sinks="f32")


def lengths():
    small = dict(small=SMALL_VARLEN)
    yield Form("thd", VARLEN, layout="thd", **small)
    yield Form("thd_top", VARLEN, layout="thd", mask=Mask.causal(TOP), **small)
    yield Form("thd_bottom", VARLEN, layout="thd", mask=Mask.causal(BOTTOM), **small)
    yield Form("thd_window", VARLEN, layout="thd", mask=Mask(BOTTOM, 2, 1), **small)
    yield Form("htd", VARLEN, layout="htd", mask=Mask.causal(BOTTOM), dlse=True,
               **small)  # fmt: skip
    yield Form("htd_sinks", VARLEN, layout="htd", sinks="f32", **small)
    yield Form("thd_seqlens_k", VARLEN, layout="thd", seqlens_k=True,
               mask=Mask.causal(BOTTOM), **small)  # fmt: skip
    yield Form("thd_mods", VARLEN, layout="thd", mod=mods.CAPPED_ALIBI_IN_DOCUMENT,
               **small)  # fmt: skip
    given = (Sizes(b=3, sk=9, valid=(9, 0, 4)), Sizes(b=1, sq=70, sk=66, valid=(65,)))
    yield Form("seqlens_k", SOME + given, seqlens_k=True)
    yield Form("seqlens_k_top", SOME + given, seqlens_k=True, mask=Mask.causal(TOP))
    yield Form("seqlens_k_bottom", SOME + given, seqlens_k=True,
               mask=Mask.causal(BOTTOM), layout="sbhd")  # fmt: skip
    yield Form("seqlens_k_bias", SOME + given, seqlens_k=True, mod=mods.BIAS)


def regions():
    causal = Mask.causal(BOTTOM)
    yield Form("alibi", SOME, mod=mods.ALIBI, mask=causal)
    yield Form("softcap", SOME, mod=mods.SOFTCAP)
    yield Form("bias", SOME, mod=mods.BIAS, layout="bhsd")
    yield Form("document", SOME, mod=mods.DOCUMENT)
    yield Form("document_causal", SOME, mod=mods.DOCUMENT, mask=Mask.causal(TOP))
    yield Form("documents_of_5", SOME, mod=mods.DOCUMENTS_OF_5)
    yield Form("prefix_lm", SOME, mod=mods.PREFIX_LM)
    yield Form("capped_alibi_in_document", SOME, mod=mods.CAPPED_ALIBI_IN_DOCUMENT)
    yield Form("hiding", SOME, mod=mods.HIDING, dlse=True)
    yield Form("hiding_sinks", SOME, mod=mods.HIDING, sinks="f32")
    yield Form("nan_where_masked", SOME, mod=mods.NAN_WHERE_MASKED,
               mask=Mask.causal(TOP))  # fmt: skip
    yield Form("guarded_load", SOME, mod=mods.GUARDED_LOAD)
    # Differences are useless at a kink or a step, so those have no small form.
    yield Form("smooth_operations", SOME[:1], mod=mods.SMOOTH_OPERATIONS)
    yield Form("kinked_operations", SOME[:1], mod=mods.KINKED_OPERATIONS)


def storage():
    """Tensors and memrefs, static and dynamic, with and without destinations."""
    causal = Mask.causal(BOTTOM)
    gqa = (Sizes(b=1, sq=70, sk=75, hq=4, hkv=2),)
    wide = (Sizes(b=1, sq=20, sk=33, hq=2, hkv=1, d=192, dv=128),)
    varlen = (Sizes(sq=(4, 0, 7), sk=(6, 3, 2), hq=4),)
    yield Form("static", gqa, static=True, mask=causal)
    yield Form("static_wide", wide, static=True, mask=causal)
    yield Form("dynamic_wide", wide, mask=causal)
    yield Form("static_thd", varlen, static=True, layout="thd", mask=causal)
    yield Form("static_one_key", (Sizes(sk=1),), static=True)
    yield Form("static_one_query", (Sizes(sq=1, sk=9),), static=True)
    yield Form("static_no_key", (Sizes(sk=0),), static=True, sinks="f32")
    yield Form("static_no_query", (Sizes(sq=0),), static=True, layout="bhsd")
    yield Form("inits", gqa, inits=True, sinks="f32", mask=causal)
    yield Form("inits_static", gqa, inits=True, static=True, layout="bhsd")
    yield Form("inits_no_lse", gqa, inits=True, lse=False)
    yield Form("memref", SOME, kind="memref", mask=causal)
    yield Form("memref_static", gqa, kind="memref", static=True, mod=mods.SOFTCAP)
    yield Form("memref_no_lse", gqa, kind="memref", lse=False, layout="sbhd")
    yield Form("memref_sinks", gqa, kind="memref", sinks="f32", dlse=True)
    yield Form("memref_thd", VARLEN, kind="memref", layout="thd", mask=causal,
               small=SMALL_VARLEN)  # fmt: skip
    yield Form("memref_seqlens_k", gqa, kind="memref", seqlens_k=True)
    yield Form("memref_mods", SOME, kind="memref", mod=mods.CAPPED_ALIBI_IN_DOCUMENT)
    yield Form("memref_bf16", gqa, kind="memref", dtype="bf16", grad="f32")


def dtypes():
    causal = Mask.causal(BOTTOM)
    sizes = (Sizes(b=1, sq=70, sk=75, hq=4, hkv=2, d=16, dv=16), SOME[2])
    for dtype in ("f16", "bf16"):
        yield Form(dtype, sizes, dtype=dtype, mask=causal)
        yield Form(f"{dtype}_to_f32", sizes, dtype=dtype, out="f32", grad="f32",
                   mask=causal)  # fmt: skip
        yield Form(f"{dtype}_mods", sizes, dtype=dtype, sinks=dtype,
                   mod=mods.CAPPED_ALIBI_IN_DOCUMENT)  # fmt: skip
    yield Form("f16_to_bf16", sizes, dtype="f16", out="bf16", grad="bf16")
    yield Form("f32_to_f16", sizes, dtype="f32", out="f16", grad="f16")
    yield Form("bf16_thd", VARLEN, dtype="bf16", layout="thd", mask=causal)
    for dtype in FP8:
        name = dtype.lower()
        yield Form(name, sizes, dtype=dtype, mask=causal)
        yield Form(f"{name}_to_bf16", sizes, dtype=dtype, out="bf16", grad="bf16",
                   mask=causal)  # fmt: skip
        yield Form(f"{name}_to_f32", sizes, dtype=dtype, out="f32", grad="f32",
                   sinks="bf16")  # fmt: skip


def query_blocks(block):
    """Blocks of query rows that do not divide Sq; 0: all rows at once."""
    causal = Mask.causal(BOTTOM)
    name = f"block{block}"
    block = dict(query_block=block)
    yield Form(f"{name}_causal", GENERAL, mask=causal, **block)
    yield Form(f"{name}_varlen", VARLEN, layout="htd", mask=Mask(TOP, 3, 2),
               small=SMALL_VARLEN, **block)  # fmt: skip
    yield Form(f"{name}_mods", SOME, mod=mods.CAPPED_ALIBI_IN_DOCUMENT, sinks="f32",
               **block)  # fmt: skip
    static = (Sizes(b=1, sq=13, sk=11, hq=2, hkv=1),)
    yield Form(f"{name}_static", static, static=True, mask=causal, **block)


def random_sizes(rng, packed):
    """Sizes of one call, up to a few blocks of query rows."""
    b, hkv, group, d, dv = (int(n) for n in rng.integers(1, (4, 4, 5, 25, 25)))
    lengths = [int(n) for n in rng.integers(0, (100, 100, 9, 9, 9, 9))]
    heads = dict(hq=hkv * group, hkv=hkv, d=d, dv=dv)
    if not packed:
        return Sizes(b=b, sq=lengths[0], sk=lengths[1], **heads)
    return Sizes(sq=tuple(lengths[0::2][:b]), sk=tuple(lengths[1::2][:b]), **heads)


def random_forms(count, seed):
    """Combinations that nobody thought of."""
    rng = np.random.default_rng(seed)

    def one_of(*values):
        return values[rng.integers(len(values))]

    for n in range(count):
        layout = one_of("bshd", "bhsd", "sbhd", "thd", "htd")
        left, extent = int(rng.integers(-9, 20)), int(rng.integers(0, 20))
        bounds = one_of((left, extent - left), (left, None), (None, left), (None, 0))
        kind, dtype = one_of("tensor", "memref"), one_of("f32", "f16", "bf16", *FP8)
        sizes = tuple(random_sizes(rng, "t" in layout) for _ in range(3))
        static = one_of(True, False)
        yield Form(
            f"random{n}",
            sizes[: 1 if static else 3],
            layout=layout,
            dtype=dtype,
            out=one_of(None, "f32", "f16", "bf16"),
            grad=one_of(None, "f32", "f16", "bf16"),
            mask=one_of(None, Mask(one_of(TOP, BOTTOM), *bounds)),
            scale=one_of(None, 0.25),
            seqlens_k=one_of(True, False),
            sinks=one_of(None, "f32", "f16", "bf16"),
            dlse=one_of(True, False),
            lse=one_of(True, False),
            mod=one_of(Form.mod, mods.ALIBI, mods.SOFTCAP, mods.BIAS, mods.DOCUMENT,
                       mods.HIDING, mods.CAPPED_ALIBI_IN_DOCUMENT),
            kind=kind,
            inits=kind == "tensor" and one_of(True, False),
            static=static,
            small=SMALL_VARLEN if "t" in layout else Form.small,
        )  # fmt: skip


GROUPS = {
    "masks": list(masks()),
    "attributes": list(attributes()),
    "lengths": list(lengths()),
    "regions": list(regions()),
    "storage": list(storage()),
    "dtypes": list(dtypes()),
    "block5": list(query_blocks(5)),
    "block0": list(query_blocks(0)),
    "random": list(random_forms(10, int(os.environ["FA4_SEED"]))),
}
GROUP_OF = {form.name: group for group, forms in GROUPS.items() for form in forms}
