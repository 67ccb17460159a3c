# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forms of `attn.sdpa` that the support matrix says yes to, by name, as changes of
DEFAULT: score and mask regions, bands, layouts, head dims, lengths, options.

    program = Program(**(DEFAULT | CASES["score-softcap"]))
"""

import numpy as np

from fa4_testing import gpu
from fa4_testing.programs.mods import B, H, I, J, S, capture, capture_of_head, element, f32, i32, index
from fa4_testing.programs.program import Sizes, Table
from fa4.reference import Mask

TL, BR = "top_left", "bottom_right"
ALL = frozenset(["B", "Sq", "Sk", "Hq", "Hkv"])


def distance(scale=0.1):
    """scale * (j - i)"""
    return ("arith.mulf", ("sitofp", ("to_i32", ("arith.subi", J, I))), scale)


def capped(x, cap):
    return ("arith.mulf", ("math.tanh", ("arith.divf", x, cap)), cap)


NEVER = ("cmpi", "slt", I, I)
ODD_KEYS = ("cmpi", "eq", ("arith.remui", J, index(2)), index(1))
BLOCK = capture(0, "i32")
SAME_BLOCK = ("cmpi", "eq", ("arith.divui", ("to_i32", I), BLOCK), ("arith.divui", ("to_i32", J), BLOCK))
CAUSAL = ("cmpi", "sle", J, I)
PREFIX = ("arith.ori", CAUSAL, ("cmpi", "slt", J, capture(0, "index")))
DOCUMENT = tuple(("arith.floordivsi", x, index(48)) for x in (I, J))
DOCUMENTS = ("cmpi", "eq", *DOCUMENT)
NEAR = ("arith.andi", ("cmpi", "sle", ("arith.subi", I, J), index(30)), ("cmpi", "sle", ("arith.subi", J, I), index(9)))

FURTHER = ("sitofp", ("to_i32", ("arith.subi", ("arith.addi", I, index(7)), ("arith.muli", J, index(2)))))

# The distance to a key, of those that are near.
BUCKET = ("arith.minsi", ("arith.maxsi", ("arith.addi", ("arith.subi", I, J), index(20)), index(0)), index(40))


def table(dims, largest, type="f32", kind="memref"):
    """A captured tensor."""
    return Table(dims, seed=5, largest=largest).captured(type, kind)


SCORE_MODS = {
    "softcap": dict(score=capped(S, capture(0, "f32")), captures=(("f32", 1.5),)),
    "alibi": dict(score=("arith.addf", S, ("arith.mulf", distance(f32(0.05)), ("sitofp", ("to_i32", ("arith.addi", H, index(1))))))),
    "scaled by a capture": dict(score=("arith.mulf", S, capture(1, "f32")), captures=(("i32", 3), ("f32", -1.25))),
    "relu": dict(score=("arith.maximumf", S, f32(0))),
    "exp": dict(score=("math.exp", ("math.tanh", S))),
    "logarithm": dict(score=("math.log", ("arith.addf", ("math.absf", S), f32(1)))),
    "copysign": dict(score=("math.copysign", S, ("sitofp", ("arith.subi", ("to_i32", J), i32(20))))),
    "square": dict(score=("math.fma", S, S, f32(0.5))),
    "by batch and head": dict(score=("arith.mulf", S, ("sitofp", ("to_i32", ("arith.addi", B, H))))),
    "hides keys": dict(score=("select", ODD_KEYS, f32(-np.inf), S)),
    "hides all": dict(score=("select", ("cmpi", "ult", I, index(40)), f32(-np.inf), S)),
    "constant": dict(score=f32(0.75)),
    "a capture": dict(score=capture(0, "f32"), captures=(("f32", 2.0),)),
    "of the key only": dict(score=("sitofp", ("to_i32", ("arith.remui", J, index(5))))),
    "slopes": dict(score=("arith.addf", S, ("arith.mulf", capture_of_head(0, "f32"), distance(f32(0.05)))), captures=(("memref<?xf32>", (0.9, -0.4)),)),
    "caps": dict(score=capped(S, capture_of_head(1, "f32")), captures=(("f32", 1.0), ("memref<?xf32>", (1.5, 4.0)))),
    "table": dict(score=("arith.addf", S, element(0, "f32", B, H, I, J)), captures=(table(("B", "Hq", "Sq", "Sk"), 2.0),)),
    "table by key": dict(score=("arith.addf", S, element(0, "f32", B, J)), captures=(table(("B", "Sk"), 2.0),)),
    "table by query": dict(score=("arith.mulf", S, element(1, "f32", I)), captures=(("f32", 2.0), table(("Sq",), 1.5))),
    "table by bucket": dict(score=("arith.addf", S, element(0, "f32", H, BUCKET)), captures=(table(("Hq", 41), 2.0),)),
    "table by batch": dict(score=("arith.mulf", S, element(0, "f32", B)), captures=(table(("B",), 1.5),)),
    "table of a tensor": dict(score=("arith.addf", S, element(0, "f32", J, H)), kind="tensor", captures=(table(("Sk", "Hq"), 2.0, kind="tensor"),)),
    # Linear in the score: a factor, and terms of which a query has a part and a key the other one, of the key, and of both.
    "terms": dict(score=("arith.mulf", f32(1.5), ("arith.subf", ("arith.addf", S, element(1, "f32", J)), ("arith.mulf", capture_of_head(0, "f32"), FURTHER))),
                  captures=(("memref<?xf32>", (0.03, -0.02)), table(("Sk",), 2.0))),
    "negated": dict(score=("arith.subf", ("arith.divf", ("sitofp", ("to_i32", I)), f32(-40)), S)),
    "absolute distance": dict(score=("math.fma", ("math.absf", distance(f32(1))), f32(-0.05), ("arith.addf", S, f32(3)))),
    "branches": dict(score=("if", ("cmpi", "slt", J, I), ("if", ODD_KEYS, ("arith.mulf", S, S), f32(-np.inf)), ("math.tanh", S))),
    "narrow": dict(score=("arith.addf", S, ("bf16", distance(f32(1 / 64))))),
}  # fmt: skip
MASK_MODS = {
    "causal": dict(visible=CAUSAL),
    "blocks": dict(visible=SAME_BLOCK, captures=(("i32", 48),)),
    # A window is read off these, within which the region still decides.
    "documents": dict(visible=DOCUMENTS),
    "causal documents": dict(visible=("arith.andi", DOCUMENTS, CAUSAL), sizes=Sizes(1, 300, 90)),
    "causal blocks": dict(visible=("cmpi", "sge", *DOCUMENT)),
    "documents and near": dict(visible=("arith.ori", DOCUMENTS, NEAR), mask=Mask(TL, 60, 20)),
    "prefix": dict(visible=PREFIX, captures=(("index", 70),)),
    "sliding": dict(visible=NEAR),
    "sliding and causal": dict(visible=NEAR, mask=Mask.causal(TL)),
    "nothing": dict(visible=NEVER),
    "by a capture": dict(visible=("cmpi", "eq", capture(0, "i32"), capture(1, "i32")), captures=(("i32", 1), ("i32", 1))),
    "windows": dict(visible=("cmpi", "sle", ("arith.subi", ("to_i32", I), ("to_i32", J)), capture_of_head(0, "i32")), captures=(("memref<?xi32>", (3, 40)),)),
    "table by both": dict(visible=("cmpi", "sgt", element(0, "i32", J, I), i32(0)), captures=(table(("Sk", "Sq"), 1, "i32"),)),
    "documents of tables": dict(visible=("cmpi", "eq", element(0, "i32", B, I), element(1, "i32", B, J)), mask=Mask(BR, 90, None),
                                captures=(table(("B", "Sq"), 1, "i32"), table(("B", "Sk"), 1, "i32"))),
    "length of a table": dict(visible=("cmpi", "slt", ("to_i32", J), ("arith.addi", element(0, "i32", B), i32(60))), captures=(table(("B",), 50, "i32"),)),
    "of the head": dict(visible=("cmpi", "ne", H, index(1))),
    "some rows": dict(visible=("cmpi", "ne", ("arith.remui", I, index(3)), index(0))),
    "uniform": dict(visible=("select", ("cmpi", "ult", B, J), ("cmpi", "sge", H, B), NEVER)),
    "branches": dict(visible=("if", ("cmpi", "slt", I, index(50)), CAUSAL, ("if", ("cmpi", "eq", H, index(1)), DOCUMENTS, NEAR))),
    "with score_mod": dict(visible=NEAR, score=capped(S, f32(3)), mask=Mask(BR, 100, None)),
}  # fmt: skip


def with_each_mod(**form):
    """Returns a form with each of SCORE_MODS and of MASK_MODS, by the names of both: "score-softcap"."""
    named = {f"score-{name}": mod for name, mod in SCORE_MODS.items()} | {f"mask-{name}": mod for name, mod in MASK_MODS.items()}
    return {name: mod | form for name, mod in named.items()}


# Bounds that mean "none": differences with them do not have 32 bits.
FARTHEST = {"most": 2**31 - 1, "least": -(2**31)}
FAR = {
    f"{name} {predicate} {kind}": dict(visible=("cmpi", predicate, J, bound), captures=captures)
    for name, value in FARTHEST.items()
    for predicate in ("slt", "sge", "sgt")
    for kind, bound, captures in (
        ("captured", capture(0, "index"), (("index", value),)),
        ("constant", index(value), ()),
    )
}
BANDS = {
    "left, top left": Mask(TL, 20, None), "left, bottom right": Mask(BR, 20, None),
    "right, top left": Mask(TL, None, 30), "right, bottom right": Mask(BR, None, 30),
    "both, top left": Mask(TL, 63, 5), "both, bottom right": Mask(BR, 5, 64),
    "negative left": Mask(TL, -10, 40), "negative right": Mask(BR, 200, -3),
    "one key": Mask(BR, 0, 0), "causal window": Mask.causal(BR, 100),
    "above": Mask(TL, -128, None), "below": Mask(BR, None, -129),
}  # fmt: skip
SCALES = {"zero": 0.0, "negative": -0.2, "explicit": 0.07, "large": 3.0, "tiny": 1e-6}
LAYOUTS = {
    "sbhd": dict(layout="sbhd"),
    "sbhd static": dict(layout="sbhd", static=ALL),
    "odd static sizes": dict(static=ALL, sizes=Sizes(1, 77, 201, 3, 1)),
    "static keys": dict(static=frozenset(["Sk"]), sizes=Sizes(2, 130, 90, 1, 2)),
    "static queries": dict(static=frozenset(["Sq"]), sizes=Sizes(1, 100, 150, 1, 2)),
    "one static block": dict(static=ALL, sizes=Sizes(1, 300, 128, 1, 1), head_dim=128),
    "one static block, causal": dict(static=ALL, sizes=Sizes(1, 200, 128, 1, 1), mask=Mask.causal(BR)),
    "static strides": dict(static=ALL, strided=(("q", "static"), ("v", "static"), ("out", "static"), ("lse", "static"))),
    "dynamic strides": dict(strided=(("q", "dynamic"), ("k", "dynamic"), ("v", "dynamic"), ("out", "dynamic"), ("lse", "dynamic"))),
    "strided bhsd": dict(layout="bhsd", strided=(("k", "dynamic"), ("out", "dynamic"))),
    "no lse": dict(lse=False),
    "tensors": dict(kind="tensor"),
    "static tensors": dict(kind="tensor", static=ALL, lse=False),
}  # fmt: skip
HEADS = {
    "hd 32": dict(head_dim=32), "hd 96": dict(head_dim=96), "hd 128": dict(head_dim=128),
    "hd 32, f16, causal": dict(head_dim=32, dtype="f16", mask=Mask.causal(BR)),
    "hd 96, f16, causal": dict(head_dim=96, dtype="f16", mask=Mask.causal(TL)),
    "hd 96, static block": dict(head_dim=96, static=ALL, sizes=Sizes(1, 300, 100, 1, 1)),
    **{f"groups of {n}": dict(sizes=Sizes(1, 65, 130, 1, n)) for n in (3, 5, 8)},
    "two groups": dict(sizes=Sizes(3, 20, 30, 2, 3)),
}  # fmt: skip
LENGTHS = {
    "one query": dict(sizes=Sizes(2, 1, 200, 1, 2)),
    "one key": dict(sizes=Sizes(2, 200, 1, 1, 2)),
    "one of both": dict(sizes=Sizes(1, 1, 1)),
    "more queries": dict(sizes=Sizes(1, 300, 20), mask=Mask.causal(BR)),
    "more keys": dict(sizes=Sizes(1, 20, 390), mask=Mask.causal(BR)),
    "more keys, top left": dict(sizes=Sizes(1, 20, 390), mask=Mask.causal(TL)),
    "one query, causal": dict(sizes=Sizes(1, 1, 300), mask=Mask.causal(TL)),
}  # fmt: skip
# Sequences of lengths of their own, some of which have no key.
OWN_LENGTHS = {
    "full": dict(lengths=(150, 0, 3)),
    "causal": dict(lengths=(0, 150, 129), mask=Mask.causal(BR)),
    "top left": dict(lengths=(128, 100, 1), mask=Mask.causal(TL)),
    "window": dict(lengths=(150, 140, 30), mask=Mask(BR, 20, 5)),
    "static": dict(lengths=(150, 0, 127), static=ALL),
    "documents": dict(lengths=(97, 150, 48), visible=DOCUMENTS),
    "tensors": dict(lengths=(0, 150, 65), kind="tensor", head_dim=128, sinks="bf16"),
    "one static block": dict(lengths=(128, 0, 30), static=ALL, sizes=Sizes(3, 100, 128, 1, 1), sinks="f32"),
}  # fmt: skip
OWN_LENGTHS = {name: dict(sizes=Sizes(3, 140, 150, 1, 2)) | form for name, form in OWN_LENGTHS.items()}
# Sequences one behind the other: (queries, keys) of each.
RAGGED = ((100, 100), (0, 50), (70, 0), (1, 300), (256, 256), (5, 129))
TOKENS = frozenset(["Tq", "Tk", "Bounds", "Hq", "Hkv"])
PACKED = {
    "full": {},
    "causal": dict(mask=Mask.causal(BR)),
    "causal, htd": dict(mask=Mask.causal(TL), layout="htd"),
    "window": dict(mask=Mask(BR, 40, 5), head_dim=128),
    "one sequence": dict(packed=((300, 200),), mask=Mask.causal(BR)),
    "no rows": dict(packed=((0, 0), (0, 0))),
    "no queries, no keys": dict(packed=((0, 20), (5, 0), (0, 0))),
    "static": dict(static=TOKENS, mask=Mask.causal(BR)),
    "static tokens": dict(static=frozenset(["Tq", "Tk"]), lse=False),
    "static number": dict(static=frozenset(["Bounds"])),
    "tensors": dict(kind="tensor", dtype="f16"),
    "strided": dict(strided=(("q", "dynamic"), ("v", "dynamic"), ("out", "dynamic"))),
    "lengths, sinks": dict(lengths=(70, 50, 0, 300, 0, 129), sinks="f32", mask=Mask.causal(BR)),
    "documents": dict(visible=DOCUMENTS),
    "alibi": SCORE_MODS["alibi"],
    "table by sequence": dict(score=("arith.addf", S, element(0, "f32", B, J)), captures=(table(("B", "Sk"), 3),)),
    **{f"{schedule}": dict(options=(f"--schedule={schedule}",), mask=Mask.causal(BR)) for schedule in gpu.SCHEDULES},
}  # fmt: skip
PACKED = {name: dict(layout="thd", packed=RAGGED, sizes=Sizes(len(form.get("packed", RAGGED)), 300, 300, 1, 2)) | form for name, form in PACKED.items()}
SINKS = {
    "f32": dict(sinks="f32", mask=Mask.causal(BR)),
    "bf16": dict(sinks="bf16", lse=False),
    "f16, alibi": dict(sinks="f16", **SCORE_MODS["alibi"]),
    "softcap": dict(sinks="f32", head_dim=128, **SCORE_MODS["softcap"]),
    "rows without keys": dict(sinks="f32", mask=Mask(BR, None, -30)),
    "one static block": dict(sinks="f32", static=ALL, sizes=Sizes(1, 100, 128, 2, 1)),
    "large scores": dict(sinks="f32", inputs="rising"),
}  # fmt: skip
OPTIONS = {
    "rescaled always": dict(options=("--rescale-threshold=0",), inputs="rising"),
    "rescaled late": dict(options=("--rescale-threshold=12",), inputs="rising"),
    "whole arrival": dict(options=("--split-arrival=false",)),
    "products ahead": dict(options=("--mmas-ahead",), mask=Mask(BR, 60, 10)),
    "products ahead, whole arrival": dict(options=("--mmas-ahead", "--split-arrival=false"), mask=Mask.causal(BR)),
    "no polynomial": dict(options=("--exp-fraction=0",)),
    "half polynomial": dict(options=("--exp-fraction=0.5",), mask=Mask(BR, 60, 10)),
    "sm_103a": dict(chip="sm_103a", mask=Mask(TL, 60, 30)),
    "sm_103a, softcap": dict(chip="sm_103a", score=capped(S, f32(2))),
}  # fmt: skip
# Several work tiles a CTA, of different lengths: 2 x 2 x 2 on 3 SMs. (With head dim
# 128 and clc, ptxas 13.0 spills one to five registers of the correction role, once a
# tile; 13.5 does not. The grid has these kernels.)
SCHEDULES = {
    f"{schedule}, {name}": dict(options=(f"--schedule={schedule}",), sizes=Sizes(2, 300, 200, 1, 2)) | form
    for schedule in gpu.SCHEDULES if schedule != "grid"
    for name, form in {
        "full": {}, "causal": dict(mask=Mask.causal(BR)), "window": dict(mask=Mask(TL, 63, 5), dtype="f16"),
        "hd 128": dict(head_dim=128), "hd 128, causal": dict(head_dim=128, mask=Mask.causal(TL)),
        "one block": dict(sizes=Sizes(2, 300, 128, 1, 2), static=ALL), "softcap": SCORE_MODS["softcap"],
    }.items()
    if not (schedule == "clc" and name.startswith("hd 128"))
}
INPUTS = {
    name: dict(inputs=name, mask=Mask.causal(BR)) for name in ("large", "constant", "rising", "falling")
} | {
    "huge scores": dict(inputs="large", scale=20.0),
    "huge, negative scale": dict(inputs="large", scale=-20.0),
    "huge, masked": dict(inputs="large", visible=NEAR, scale=5.0),
    "rising, f16": dict(inputs="rising", dtype="f16", sizes=Sizes(1, 130, 390)),
}  # fmt: skip

OUTS = {
    "f32": dict(out_dtype="f32"),
    "f32, hd 128": dict(out_dtype="f32", head_dim=128, mask=Mask.causal(BR)),
    "f32, hd 256": dict(out_dtype="f32", head_dim=256, sizes=Sizes(1, 140, 150)),
    "f32, strided": dict(out_dtype="f32", strided=(("out", "dynamic"),)),
    "f32 of f16, htd": dict(out_dtype="f32", dtype="f16", layout="htd", packed=((30, 70), (0, 5), (130, 64))),
    "f16 of bf16": dict(out_dtype="f16", mask=Mask(TL, 60, 20)),
    "bf16 of f16, one query": dict(out_dtype="bf16", dtype="f16", static=ALL, sizes=Sizes(2, 1, 600, 1, 4)),
    "f32, one query": dict(out_dtype="f32", kind="tensor", static=frozenset(["Sq"]), sizes=Sizes(2, 1, 600, 1, 4)),
}
TABLES = dict(score=SCORE_MODS, mask=MASK_MODS, far=FAR, band=BANDS, layout=LAYOUTS, heads=HEADS,
              lengths=LENGTHS, own=OWN_LENGTHS, packed=PACKED, sinks=SINKS, options=OPTIONS, inputs=INPUTS, schedule=SCHEDULES, out=OUTS)  # fmt: skip
TABLES["band"] = {name: dict(mask=mask) for name, mask in BANDS.items()}
CASES = {f"{table}-{name}": form for table, forms in TABLES.items() for name, form in forms.items()}
CASES |= {f"scale-{name}": dict(scale=scale) for name, scale in SCALES.items()}
DEFAULT = dict(sizes=Sizes(1, 140, 150, 1, 2))
