# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forms of the attention ops: as MLIR, as arguments of the reference, and with
random inputs."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fa4 import reference
from fa4_testing import grid
from fa4_testing.cpu import dtype_of, mask_text
from fa4.reference import Mask


@dataclass(frozen=True)
class Sizes:
    """Sizes of one call. For packed layouts sq and sk are tuples, one length a
    sequence, and b follows. `valid` is seqlens_k; None where the form has it
    means drawn at random."""

    b: int = 2
    sq: int = 7
    sk: int = 7
    hq: int = 2
    hkv: int = 2
    d: int = 8
    dv: int = 8
    valid: tuple | None = None

    @property
    def packed(self):
        return isinstance(self.sq, tuple)

    @property
    def batch(self):
        return len(self.sq) if self.packed else self.b

    @property
    def longest(self):
        """Longest query and key sequence."""
        if self.packed:
            return max(self.sq), max(self.sk)
        return self.sq, self.sk

    def shape(self, layout, seq, heads, dim):
        """Shape of a data tensor: `seq` is 'sq' or 'sk', and so on."""
        length = getattr(self, seq)
        letters = {"h": getattr(self, heads), "d": getattr(self, dim)}
        letters |= {"t": sum(length)} if self.packed else {"s": length, "b": self.b}
        return tuple(letters[c] for c in layout)


@dataclass(frozen=True)
class Mod:
    """score_mod and mask_mod regions: as MLIR, where %s is the score, %c0, %c1,
    ... are the captures, and `yield` stands for attn.yield's operand; and as
    Python."""

    captures: tuple = ()  # MLIR types without kind: "?xf32", or scalars: "f32"
    draw: Callable = lambda rng, sizes: ()  # the captures' values
    score: str = ""
    score_py: Callable | None = None
    score_grad: Callable | None = None  # where differences will not do
    mask: str = ""
    mask_py: Callable | None = None

    def capture_types(self, kind):
        return [
            c if c in ("f32", "i32", "index") else f"{kind}<{c}>" for c in self.captures
        ]

    def regions(self, kind):
        types = self.capture_types(kind)
        captured = [f"%c{n}: {type}" for n, type in enumerate(types)]
        indices = [f"%{n}: index" for n in "bhij"]
        load = "tensor.extract" if kind == "tensor" else "memref.load"
        text = ""
        for name, body, first in (
            ("score_mod", self.score, ["%s: f32"]),
            ("mask_mod", self.mask, []),
        ):
            if body:
                arguments = ", ".join(first + indices + captured)
                body = body.replace("LOAD", load)
                for n, type in enumerate(types):
                    body = body.replace(f"TYPE{n}", type)
                text += f"\n      {name}({arguments}) {{{body}\n      }}"
        return text


@dataclass(frozen=True)
class Form:
    """One form of the op. `sizes` are the calls that are tried. If `static`, the
    types have the first one's sizes, otherwise all sizes are dynamic."""

    name: str
    sizes: tuple = (Sizes(),)
    layout: str = "bshd"
    dtype: str = "f32"
    out: str | None = None  # element type of out, default dtype
    grad: str | None = None  # of dq, dk, dv, default dtype
    mask: Mask | None = None
    scale: float | None = None
    seqlens_k: bool = False
    sinks: str | None = None  # element type
    dlse: bool = False
    lse: bool = True
    deterministic: bool = False
    mod: Mod = Mod()
    kind: str = "tensor"  # or "memref"
    inits: bool = False  # destinations on tensors
    static: bool = False
    spread: float = 1.0  # standard deviation of q and k
    query_block: int | None = None
    small: Sizes = Sizes(b=2, sq=3, sk=4, hq=4, hkv=2, d=3, dv=2)  # for differences

    @property
    def out_element(self):
        return self.out or self.dtype

    @property
    def grad_element(self):
        return self.grad or self.dtype

    @property
    def packed(self):
        return "t" in self.layout

    # -- MLIR ---------------------------------------------------------------

    def _type(self, shape, element):
        sizes = [str(n) if self.static else "?" for n in shape]
        return f"{self.kind}<{'x'.join([*sizes, element])}>"

    def _types(self):
        sizes = self.sizes[0]
        q = sizes.shape(self.layout, "sq", "hq", "d")
        k = sizes.shape(self.layout, "sk", "hkv", "d")
        v = sizes.shape(self.layout, "sk", "hkv", "dv")
        out = reference.out_shape(q, v)
        lse = reference.lse_shape(q, self.layout)
        types = {name: self._type(x, self.dtype) for name, x in
                 (("q", q), ("k", k), ("v", v))}  # fmt: skip
        types |= {name: self._type(out, self.out_element) for name in ("out", "dout")}
        types |= {name: self._type(lse, "f32") for name in ("lse", "dlse")}
        types |= {name: self._type(x, self.grad_element) for name, x in
                  (("dq", q), ("dk", k), ("dv", v))}  # fmt: skip
        cu_seqlens = self._type((sizes.batch + 1,), "i32")
        types |= {"cu_seqlens_q": cu_seqlens, "cu_seqlens_k": cu_seqlens}
        types["seqlens_k"] = self._type((sizes.batch,), "i32")
        if self.sinks:
            types["sinks"] = types["dsinks"] = self._type((sizes.hq,), self.sinks)
        for n, type in enumerate(self.mod.capture_types(self.kind)):
            types[f"c{n}"] = type
        return types

    def extra_names(self):
        """Operands after the data, in the order of the function's arguments."""
        names = ["cu_seqlens_q", "cu_seqlens_k"] if self.packed else []
        names += ["seqlens_k"] if self.seqlens_k else []
        names += ["sinks"] if self.sinks else []
        return names + [f"c{n}" for n in range(len(self.mod.captures))]

    def result_names(self, backward):
        if backward:
            return ["dq", "dk", "dv"] + (["dsinks"] if self.sinks else [])
        return ["out"] + (["lse"] if self.lse else [])

    def data_names(self, backward):
        if not backward:
            return ["q", "k", "v"]
        names = ["q", "k", "v", "out", "dout", "lse"]
        return names + (["dlse"] if self.dlse else [])

    def mlir(self, backward):
        """func.func @<name>_fwd or @<name>_bwd, which takes data, extras and, if
        any, destinations."""
        types = self._types()
        data, results = self.data_names(backward), self.result_names(backward)
        inits = results if self.inits or self.kind == "memref" else []
        parameters = [f"%{name}: {types[name]}" for name in data + self.extra_names()]
        parameters += [f"%init_{name}: {types[name]}" for name in inits]

        def clause(keyword, names, prefix=""):
            if not names:
                return ""
            values = ", ".join(f"%{prefix}{name}" for name in names)
            return f" {keyword}({values} : {', '.join(types[n] for n in names)})"

        def extra(prefix):
            return [n for n in self.extra_names() if n.startswith(prefix)]

        op = "attn.sdpa %q, %k, %v"
        if backward:
            op = "attn.sdpa_backward %q, %k, %v out(%out) dout(%dout) lse(%lse)"
            op += clause("dlse", data[6:])
        op += f" layout<{self.layout}>"
        if self.mask:
            op += f" {mask_text(self.mask)}"
        if self.scale is not None:
            op += f" scale({float(self.scale)!r})"
        if self.deterministic and backward:
            op += " deterministic"
        op += clause("cu_seqlens", extra("cu_")) + clause("seqlens_k", extra("seqlens"))
        op += clause("sinks", extra("sinks"))
        op += clause("captures", [f"c{n}" for n in range(len(self.mod.captures))])
        op += clause("outs", inits, "init_")
        op += f"\n      : {', '.join(types[n] for n in data if n != 'dlse')}"
        result_types = ", ".join(types[n] for n in results)
        tensor = self.kind == "tensor"
        values = ", ".join(f"%r_{n}" for n in results)
        return (
            f"func.func @{self.name}_{'bwd' if backward else 'fwd'}"
            f"({', '.join(parameters)})"
            + (f" -> ({result_types})" if tensor else "")
            + " {\n    "
            + (f"{values} = " if tensor else "")
            + op
            + (f" -> {result_types}" if tensor else "")
            + self.mod.regions(self.kind)
            + "\n    return"
            + (f" {values} : {result_types}" if tensor else "")
            + "\n}\n"
        )

    # -- inputs -------------------------------------------------------------

    def draw(self, rng, sizes):
        """Random operands by name; out and lse are the reference's."""

        def normal(shape, element, spread=1.0):
            return (spread * rng.standard_normal(shape)).astype(dtype_of(element))

        layout, x = self.layout, {}
        x["q"] = normal(sizes.shape(layout, "sq", "hq", "d"), self.dtype, self.spread)
        x["k"] = normal(sizes.shape(layout, "sk", "hkv", "d"), self.dtype, self.spread)
        x["v"] = normal(sizes.shape(layout, "sk", "hkv", "dv"), self.dtype)
        if self.packed:
            for name, lengths in (("q", sizes.sq), ("k", sizes.sk)):
                cu_seqlens = np.cumsum((0, *lengths), dtype=np.int32)
                x[f"cu_seqlens_{name}"] = cu_seqlens
        if self.seqlens_k:
            valid = sizes.valid
            if valid is None:
                longest = sizes.sk if sizes.packed else (sizes.sk,) * sizes.b
                valid = [rng.integers(0, n + 1) for n in longest]
            x["seqlens_k"] = np.array(valid, dtype=np.int32)
            grid.hide_keys(layout, x)
        if self.sinks:
            x["sinks"] = normal((sizes.hq,), self.sinks)
        for n, value in enumerate(self.mod.draw(rng, sizes)):
            x[f"c{n}"] = value
        out, lse = reference.sdpa(x["q"], x["k"], x["v"], **self.keywords(x))
        x["out"] = out.astype(dtype_of(self.out_element))
        x["lse"] = lse.astype(np.float32)
        x["dout"] = normal(out.shape, self.out_element)
        if self.dlse:
            x["dlse"] = normal(lse.shape, "f32")
        return x

    def keywords(self, x, backward=False):
        """The reference's keywords for operands x."""
        names = ("cu_seqlens_q", "cu_seqlens_k", "seqlens_k", "sinks")
        keywords = {name: x[name] for name in names if name in x}
        keywords |= {"layout": self.layout, "mask": self.mask, "scale": self.scale}
        keywords["score_mod"] = self.mod.score_py
        keywords["mask_mod"] = self.mod.mask_py
        keywords["captures"] = tuple(x[f"c{n}"] for n in range(len(self.mod.captures)))
        if backward:
            keywords["score_mod_grad"] = self.mod.score_grad
            keywords["dlse"] = x.get("dlse")
        return keywords

    # -- running ------------------------------------------------------------

    def run(self, module, x, backward):
        """Results by name, from the compiled function."""
        function = module[f"{self.name}_{'bwd' if backward else 'fwd'}"]
        names = self.result_names(backward)
        values = [x[n] for n in self.data_names(backward) + self.extra_names()]
        if not self.inits and self.kind == "tensor":
            results = function(*values)
            return dict(zip(names, results if len(names) > 1 else (results,)))
        shapes = {"dq": x["q"], "dk": x["k"], "dv": x["v"], "dsinks": x.get("sinks")}
        elements = dict.fromkeys(("dq", "dk", "dv"), self.grad_element)
        elements |= {"out": self.out_element, "lse": "f32", "dsinks": self.sinks}
        # Destinations are written, not read: what they hold must not matter.
        garbage = [
            np.full((shapes | x)[n].shape, 7, dtype_of(elements[n])) for n in names
        ]
        if self.kind == "memref":
            function(*values, *garbage)
            return dict(zip(names, garbage))
        results = function(*values, *garbage)
        assert all((g == g.dtype.type(7)).all() for g in garbage)
        return dict(zip(names, results if len(names) > 1 else (results,)))
