# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention ops as Python says them: `fa4.sdpa(...)` and `fa4.sdpa_backward(...)`.

A spec has the shapes of q, k and v with a name or a number for each size. The kernel is compiled for all
sizes but the head dims: numbers and names are what a call is checked against, and no part of the kernel. Where q has a number of
tokens up to FEW_QUERIES, that number and those of heads are part of the forward kernel, too: CTAs divide the keys then.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from fa4.arrays import Results, as_array, as_float, as_number
from fa4.captured import Found, capture_type
from fa4.errors import Fa4Error
from fa4.tracing import CAPTURE_TYPES, ELEMENT_TYPES, PARAMETERS, Traced, captures_of, format_f32, trace_regions
from fa4.useful_work import count_visible_pairs, reads_position

LAYOUTS = ("bshd", "bhsd", "sbhd", "thd", "htd")
# The layouts of ops whose keys may lie in pages, and those of k and v then.
PAGED_LAYOUTS = {"bshd": "bshd", "bhsd": "bhsd", "thd": "bshd", "htd": "bhsd"}
DTYPES = ("bf16", "f16")
SINK_DTYPES = OUT_DTYPES = ("f32", "bf16", "f16")
# The most queries of a sequence for which CTAs divide the keys: as fa4-compile's `--split-keys`.
FEW_QUERIES = 16
# The name of the number of pages that a sequence has room for.
PAGES_OF_SEQUENCE = "SeqPages"
# Those of the heads that have lists of blocks, of the blocks of queries that do, and of the blocks for which a list has room.
LIST_SIZES = ("ListHeads", "ListBlocks", "ListEntries")
# The arrays of lists and of their counts, by blocks of queries and by blocks of keys.
LISTS, QUERY_LISTS = ("block_list", "block_counts"), ("query_list", "query_counts")
# The same sizes of lists by blocks of keys.
QUERY_LIST_SIZES = ("ListHeads", "ListKeyBlocks", "ListQueries")
# Names that a call uses for something else than a capture.
TAKEN = ("q", "k", "v", "out", "lse", "dout", "dq", "dk", "dv", "score", "sinks", "dsinks", "seqlens_k", "cu_seqlens_q", "cu_seqlens_k",
         "page_table", "block_list", "block_counts", "query_list", "query_counts")  # fmt: skip
ALIGNMENTS = ("bottom_right", "top_left")


class SpecError(Fa4Error, ValueError):
    """A spec that says what no op is, or a call with other sizes than the spec's."""


def is_whole(value) -> bool:
    """Whether this is a whole number, of Python or of numpy; a bool is none."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _check_choice(name: str, value, allowed: Sequence[str]):
    if not isinstance(value, str) or value not in allowed:
        raise SpecError(f"{name} is one of {', '.join(allowed)}, not {value!r}")


@dataclass(frozen=True)
class Mask:
    """A band of visible keys: query i sees key j if i + shift - left <= j <= i + shift + right. A bound that is None
    does not limit; shift is Sk - Sq where `align` is "bottom_right" (the last query and the last key stand side by
    side), and 0 where it is "top_left". `Mask(right=0)` is causal."""

    left: int | None = None
    right: int | None = None
    align: str = "bottom_right"

    def __post_init__(self):
        _check_choice("align", self.align, ALIGNMENTS)
        for name in ("left", "right"):
            bound = getattr(self, name)
            if bound is None:
                continue
            if not is_whole(bound):
                raise SpecError(f"{name} of a mask is a number of keys or None, not {bound!r}")
            if bound == -1:
                raise SpecError(f"{name} of a mask is -1, which other libraries have for no bound: None is that here (and an op in MLIR may say -1)")
            object.__setattr__(self, name, int(bound))

    def count_pairs(self, queries: int, keys: int) -> int:
        """How many pairs of a query and a key are visible."""
        shift = 0 if self.align == "top_left" else keys - queries
        least, most = (bound if bound is not None else queries + keys for bound in (self.left, self.right))
        spans = (min(keys - 1, i + shift + most) - max(0, i + shift - least) + 1 for i in range(queries))
        return sum(max(0, span) for span in spans)

    def visible(self, i, j, queries: int, keys: int):
        """Whether query i sees key j, of arrays of positions that broadcast."""
        offset = j - i - (0 if self.align == "top_left" else keys - queries)
        least, most = (bound if bound is not None else queries + keys for bound in (self.left, self.right))
        return (-least <= offset) & (offset <= most)

    @property
    def text(self) -> str:
        """What stands between mask< and >."""
        causal = self.right == 0
        bounds = [f"left = {self.left}"] * (self.left is not None) + [f"right = {self.right}"] * (
            self.right is not None and not causal
        )
        return ", ".join(["causal" if causal else "window", *bounds, self.align])


MASKS = {"causal": Mask(right=0), "causal_top_left": Mask(right=0, align="top_left")}


def _read_mask(mask) -> Mask | None:
    if mask is None or isinstance(mask, Mask):
        return mask
    if isinstance(mask, str) and mask in MASKS:
        return MASKS[mask]
    raise SpecError(f"mask is None, one of {', '.join(MASKS)}, or fa4.Mask(left, right, align), not {mask!r}")


def _read_shape(name: str, shape, rank: int) -> tuple[int | str, ...]:
    """A shape as a text with spaces, or a sequence of names and numbers."""
    given = shape.split() if isinstance(shape, str) else shape
    if not isinstance(given, Sequence):
        raise SpecError(f'the shape of {name} is a text as "B Sq 8 128" or a sequence of names and numbers, not {shape!r}')
    sizes: list[int | str] = []
    for size in given:
        if isinstance(size, str) and size.isdecimal():
            size = int(size)
        if is_whole(size) and 0 < size < 2**63:
            sizes.append(int(size))
        elif isinstance(size, str) and size.isidentifier():
            sizes.append(size)
        else:
            raise SpecError(f"the shape of {name} has {size!r}, which is neither a name nor a positive number")
    if len(sizes) != rank:
        raise SpecError(f"the shape of {name} has {len(sizes)} sizes, not {rank}: {shape!r}")
    return tuple(sizes)


def read_scale(scale) -> float | None:
    """A factor that f32 has."""
    if scale is None:
        return None
    if isinstance(scale, bool) or not isinstance(scale, numbers.Real) and getattr(scale, "shape", None) != ():
        raise SpecError(f"scale is a number or None, not {scale!r}")
    if not math.isfinite(float(scale)) or abs(float(scale)) > 3.4e38:
        raise SpecError(f"scale is {scale!r}, which f32 does not have")
    return float(scale)


def _read_block_list(sizes) -> tuple[int, int] | None:
    """The queries and the keys of a block that is listed."""
    if sizes is None:
        return None
    is_pair = isinstance(sizes, Sequence) and not isinstance(sizes, str) and len(sizes) == 2
    if not is_pair or not all(is_whole(size) and 0 < size < 2**31 for size in sizes):
        raise SpecError(f"block_list is None or the queries and the keys of a block, two positive numbers, not {sizes!r}")
    return int(sizes[0]), int(sizes[1])


def _read_captures(captures) -> Mapping[str, str]:
    if captures is not None and not isinstance(captures, Mapping):
        raise SpecError(f'captures are a dict of names and types, as {{"cap": "f32"}}, not {captures!r}')
    return MappingProxyType(dict(captures or {}))


def _tensors_of(captures: Mapping[str, str]) -> dict[str, tuple[int | str, ...]]:
    """The shapes of the captures that are tensors."""
    split = {name: kind.split()[1:] for name, kind in captures.items()}
    return {name: _read_shape(name, shape, len(shape)) for name, shape in split.items() if shape}


# What stands in front of the sizes of blocks in an op's text.
BLOCK_SIZE = "block_size "


def read_block_size(text: str) -> tuple[int, int]:
    """The queries and the keys of a block, of the text of an op that has lists."""
    queries, _, keys = text.partition(f" {BLOCK_SIZE}[")[2].partition("]")[0].partition(", ")
    return int(queries), int(keys)


def close_sizes(text: str, sizes: tuple[int, int, int, int] | None) -> str:
    """The op of a text with open sizes: for these numbers of queries, query heads, key/value heads and heads that have lists, or for any."""
    for name, size in zip(("$Sq", "$Hq", "$Hkv", "$Hl"), sizes or "????"):
        text = text.replace(name, str(size))
    return text


@dataclass(frozen=True)
class Spec:
    """An attention op. Made by `sdpa` and `sdpa_backward`, which document the fields; `text` is the op in MLIR."""

    q: tuple[int | str, ...]
    k: tuple[int | str, ...]
    v: tuple[int | str, ...]
    dtype: str = "bf16"
    layout: str = "bshd"
    mask: Mask | None = None
    scale: float | None = None
    lse: bool = False
    score_mod: Callable[..., Any] | None = None
    mask_mod: Callable[..., Any] | None = None
    captures: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    name: str = "sdpa"
    is_backward: bool = False
    deterministic: bool = False
    sinks: str | None = None
    seqlens_k: bool = False
    out_dtype: str | None = None
    page_table: bool = False
    batch_invariant: bool = False
    block_list: tuple[int, int] | None = None

    def __post_init__(self):
        for name, value, allowed in (("dtype", self.dtype, DTYPES), ("layout", self.layout, LAYOUTS)):
            _check_choice(name, value, allowed)
        if not isinstance(self.name, str) or not self.name.isidentifier() or not self.name.isascii():
            raise SpecError(f"name is an identifier, not {self.name!r}")
        for name in ("lse", "is_backward", "deterministic", "seqlens_k", "page_table", "batch_invariant"):
            if not isinstance(getattr(self, name), bool):
                raise SpecError(f"{name} is True or False, not {getattr(self, name)!r}")
        for region in PARAMETERS:
            if getattr(self, region) is not None and not callable(getattr(self, region)):
                raise SpecError(f"{region} is a function or None, not {getattr(self, region)!r}")
        if self.sinks is not None and (not isinstance(self.sinks, str) or self.sinks not in SINK_DTYPES):
            raise SpecError(f"sinks are of type {', '.join(SINK_DTYPES)}, not {self.sinks!r}")
        if self.out_dtype is not None:
            _check_choice("out_dtype", self.out_dtype, OUT_DTYPES)
        for name, kind in self.captures.items():
            self._check_capture(name, kind)
        if self.page_table:
            self._check_pages()
        for letter, pairs in (("b", "kv" if self.page_table else "qkv"), ("s", "kv"), ("t", "kv"), ("h", "kv"), ("d", "qk")):
            if letter not in self.layout_of(pairs[-1]):
                continue
            sizes = {getattr(self, each)[self.layout_of(each).index(letter)] for each in pairs}
            if len({size for size in sizes if isinstance(size, int)}) > 1:
                raise SpecError(f"{', '.join(pairs)} differ in size {letter}: {' and '.join(sorted(map(str, sizes)))}")
        for name in "qkv":
            if not isinstance(self.head_dim(name), int):
                raise SpecError(f"the head dim of {name} must be a number, not {self.head_dim(name)!r}")
        queries, keys = (getattr(self, name)[self.layout_of(name).index("h")] for name in "qk")
        if isinstance(queries, int) and isinstance(keys, int) and queries % keys:
            raise SpecError(f"{queries} query heads are no multiple of {keys} key/value heads")

    def _check_pages(self):
        if not isinstance(self.page_size, int):
            raise SpecError(f"the number of keys in a page must be a number, not {self.page_size!r}")

    def _check_capture(self, name: str, kind: str):
        if not isinstance(name, str) or not name.isidentifier() or not name.isascii() or name in TAKEN:
            raise SpecError(f"{name!r} is no name for a capture")
        element, *shape = kind.split() if isinstance(kind, str) and kind.strip() else [""]
        if shape and element in ELEMENT_TYPES:
            _read_shape(f"capture '{name}'", shape, len(shape))
        elif shape or element not in CAPTURE_TYPES:
            raise SpecError(
                f"capture '{name}' is of type {kind!r}; captures are numbers of type {', '.join(CAPTURE_TYPES)}, or tensors "
                f'("f32 H Sk": the elements\' type, one of {", ".join(ELEMENT_TYPES)}, and the shape)'
            )

    @property
    def is_packed(self) -> bool:
        """Whether sequences of different lengths stand behind each other in one dimension of tokens."""
        return "t" in self.layout

    @property
    def without_gradient(self) -> str:
        """What this op has of which there is no gradient, in words; nothing where there is one."""
        return "keys in pages" if self.page_table else ""

    @property
    def page_size(self) -> int | str:
        """The number of keys in a page, of a spec with `page_table`."""
        return self.k[self.layout_of("k").index("s")]

    def layout_of(self, name: str) -> str:
        """The layout of a matrix by its name: that of the op but for keys and values in pages."""
        return PAGED_LAYOUTS[self.layout] if self.page_table and name in ("k", "v") else self.layout

    def trace(self) -> Traced:
        """The regions of score_mod and mask_mod, traced anew: what the functions read may be something else now. torch.compile reads this. Raises TraceError."""
        functions = {region: getattr(self, region) for region in PARAMETERS if getattr(self, region) is not None}
        return trace_regions(functions, self.captures, TAKEN)

    @cached_property
    def traced(self) -> Traced:
        """The regions of score_mod and mask_mod. Raises TraceError."""
        return self.trace()

    @property
    def found(self) -> dict[str, Found]:
        """The captures that functions have reached by themselves: tensors of torch in closures, globals and defaults. A call need not give
        them: their elements are those of the tensors at the call. Raises TraceError."""
        return self.traced.found

    @property
    def all_captures(self) -> dict[str, str]:
        """The types of all captures in the op's order: those of `captures`, and then those that were found. Raises TraceError."""
        return {**self.captures, **{name: each.kind for name, each in self.found.items()}}

    @property
    def captured_tensors(self) -> dict[str, tuple[int | str, ...]]:
        """The shapes of the captures that are tensors. Raises TraceError."""
        return _tensors_of(self.all_captures)

    def head_dim(self, name: str) -> int:
        """The head dim of q, k or v, in elements."""
        return getattr(self, name)[-1]

    def _list_sizes(self) -> dict[tuple[str, str], tuple[str, str, str]]:
        """The arrays of lists and counts that a call has, and the names of the sizes of a list but the batch."""
        lists = {LISTS: LIST_SIZES, QUERY_LISTS: QUERY_LIST_SIZES} if self.is_backward else {LISTS: LIST_SIZES}
        return lists if self.block_list else {}

    @property
    def tensors(self) -> dict[str, tuple[int | str, ...]]:
        """The shapes of all tensors but captures by their names, in the order of the function's arguments."""
        out = tuple(self.head_dim("v") if letter == "d" else size for letter, size in zip(self.layout, self.q))
        heads, tokens = (self.q[self.layout.index(letter)] for letter in ("h", "t" if self.is_packed else "s"))
        batch = "B" if self.is_packed else self.q[self.layout.index("b")]
        lse = (heads, tokens) if self.is_packed else (batch, heads, tokens)
        shapes = {"q": self.q, "k": self.k, "v": self.v}
        # What says where sequences end, and what joins each softmax.
        beside: dict[str, tuple[int | str, ...]] = {"cu_seqlens_q": ("B+1",), "cu_seqlens_k": ("B+1",)} if self.is_packed else {}
        if self.page_table:
            beside.pop("cu_seqlens_k", None)
        beside |= {"seqlens_k": (batch,)} if self.seqlens_k else {}
        beside |= {"page_table": (batch, PAGES_OF_SEQUENCE)} if self.page_table else {}
        for arrays, sizes in self._list_sizes().items():
            beside |= zip(arrays, ((batch, *sizes), (batch, *sizes[:-1])))
        beside |= {"sinks": (heads,)} if self.sinks else {}
        if not self.is_backward:
            return shapes | beside | {"out": out} | ({"lse": lse} if self.lse else {})
        gradients = {"dq": self.q, "dk": self.k, "dv": self.v} | ({"dsinks": (heads,)} if self.sinks else {})
        return shapes | {"out": out, "dout": out, "lse": lse} | beside | gradients

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of what the kernel writes."""
        gradients = ("dq", "dk", "dv", "dsinks")
        return gradients[: 3 + bool(self.sinks)] if self.is_backward else ("out", "lse")[: 1 + self.lse]

    @property
    def has_few_queries(self) -> bool:
        """Whether the numbers of queries and heads are part of the kernel."""
        if self.is_backward or self.is_packed:
            return False
        queries = self.q[self.layout.index("s")]
        return isinstance(queries, int) and 0 < queries <= FEW_QUERIES

    def _memref(self, name: str, is_open: bool) -> str:
        """The type in MLIR of a tensor, which has the head dim and, of few queries, their number and those of heads. What frameworks
        hand over as views has any strides but the innermost one, which say where it lies in memory; arrays of one number a head, row or
        sequence are row-major. `is_open` is as for `write`."""
        shape = self.tensors[name]
        fixed = {"lse": "f32", "sinks": self.sinks, "dsinks": self.sinks}
        fixed |= dict.fromkeys(("seqlens_k", "cu_seqlens_q", "cu_seqlens_k", "page_table", *LISTS, *QUERY_LISTS), "i32")
        letters = {"lse": "bhs", "sinks": "h", "seqlens_k": "b", "page_table": "bn"}
        letters |= dict.fromkeys((LISTS[0], QUERY_LISTS[0]), "blnm") | dict.fromkeys((LISTS[1], QUERY_LISTS[1]), "bln")
        letters = letters.get(name, self.layout_of(name))
        opened = ("Hkv", "?") if name in ("k", "v") else ("Hq", "Sq")

        def dim(letter: str, size: int | str) -> str:
            if letter == "s" and name in ("k", "v") and self.page_table:
                return str(size)
            named = {"h": opened[0], "s": opened[1], "l": "Hl"}.get(letter, "?")
            if named == "?" or self.is_backward or self.is_packed:
                return "?"
            return f"${named}" if is_open else str(size) if self.has_few_queries and isinstance(size, int) else "?"

        dims = [dim(letter, size) for letter, size in zip(letters, shape)]
        if name in fixed:
            return f"memref<{'x'.join(dims)}x{fixed[name]}>"
        dims[-1] = str(self.head_dim("v" if name in ("v", "out", "dout", "dv") else "q"))
        strides = ", ".join(["?"] * (len(letters) - 1) + ["1"])
        element = self.out_dtype or self.dtype if name == "out" else self.dtype
        return f"memref<{'x'.join(dims)}x{element}, strided<[{strides}]>>"

    @cached_property
    def text(self) -> str:
        """The op in MLIR, in a function on memrefs. Raises TraceError."""
        return self.write(self.traced)

    def write(self, traced: Traced, is_open: bool = False) -> str:
        """The op in MLIR with these regions. torch.compile reads this. `is_open`: with $Sq, $Hq, $Hkv and $Hl in the places of sizes
        which the kernel of a call has as numbers, or not (`close_sizes`)."""
        types = {name: self._memref(name, is_open) for name in self.tensors}
        kinds = {name: capture_type(kind) for name, kind in self.captures.items()}
        kinds |= {name: capture_type(each.kind) for name, each in traced.found.items()}
        inputs = [name for name in types if name not in self.outputs]
        listed = [*inputs, *kinds, *self.outputs]
        captured = [f"%capture_{name}" for name in kinds]
        arguments = ", ".join(
            f"%capture_{name}: {kinds[name]}" if name in kinds else f"%{name}: {types[name]}" for name in listed
        )
        clauses = [" out(%out) dout(%dout) lse(%lse)"] if self.is_backward else []
        clauses.append(f" layout<{self.layout}>")
        clauses += [f" mask<{self.mask.text}>"] if self.mask else []
        clauses += [f" scale({format_f32(self.scale)})"] if self.scale is not None else []
        clauses += [" deterministic"] if self.deterministic else []
        clauses += [" batch_invariant"] if self.batch_invariant and not self.is_backward else []
        bounds = tuple(name for name in ("cu_seqlens_q", "cu_seqlens_k") if name in types)

        def operands(clause: str, names: Sequence[str]) -> str:
            is_there = names and names[0] in types
            return f" {clause}({', '.join(f'%{n}' for n in names)} : {', '.join(types[n] for n in names)})" if is_there else ""

        clauses += [operands("cu_seqlens", bounds), *(operands(each[0], each) for each in (("seqlens_k",), ("page_table",), LISTS, QUERY_LISTS))]
        clauses += [f" {BLOCK_SIZE}{list(self.block_list)}"] if self.block_list else []
        clauses.append(operands("sinks", ("sinks",)))
        clauses += [f" captures({', '.join(captured)} : {', '.join(kinds.values())})"] if captured else []
        written = ", ".join(f"%{name}" for name in self.outputs)
        clauses.append(f" outs({written} : {', '.join(types[name] for name in self.outputs)})")
        of = ("q", "k", "v", "out", "dout", "lse") if self.is_backward else ("q", "k", "v")
        op = "attn.sdpa_backward" if self.is_backward else "attn.sdpa"
        return (
            f"func.func @{self.name}({arguments}) {{\n  {op} %q, %k, %v{''.join(clauses)}\n"
            f"    : {', '.join(types[name] for name in of)}\n{traced.text}  return\n}}\n"
        )

    def bind(self, shapes: Mapping[str, Sequence[int]], sizes: Mapping[str, int] = MappingProxyType({})) -> dict[str, int]:
        """The sizes that a call gives to the names of the spec: from the shapes of its tensors, and from `sizes`. Raises
        SpecError if two disagree, or one is not what the spec says."""
        bound = {name: int(size) for name, size in sizes.items()}
        said = {name: "the call" for name in bound}
        for name, wanted in (self.tensors | _tensors_of(self.captures)).items():
            if name not in shapes:
                continue
            shape = tuple(shapes[name])
            if len(shape) != len(wanted):
                raise SpecError(f"{name} has {len(shape)} dimensions, {shape}, and the spec {len(wanted)}: {wanted}")
            for dim, (size, want) in enumerate(zip(shape, wanted)):
                known = want if isinstance(want, int) else bound.setdefault(want, size)
                where = "the spec" if isinstance(want, int) else said.setdefault(want, name)
                if known != size:
                    of = "" if isinstance(want, int) else f"size {want} = "
                    raise SpecError(f"{name} has shape {shape}: dimension {dim} is {size}, but {where} has {of}{known}")
        if self.is_packed:
            self._bind_bounds(bound, said)
        return bound

    def _bind_bounds(self, bound: dict[str, int], said: Mapping[str, str]):
        """Adds the number of bounds of packed sequences where only that of sequences is known. Raises SpecError where it is another one."""
        if "B+1" in bound and bound["B+1"] < 1:
            raise SpecError(f"{said['B+1']} has no elements, and of no sequences it has one: the end")
        # A spec may have the name B for a size of q or k, which then is no number of sequences.
        if "B" not in bound or "B" in (*self.q, *self.k, *self.v):
            return
        wanted = bound["B"] + 1
        if bound.setdefault("B+1", wanted) != wanted:
            raise SpecError(f"{said['B']} has {bound['B']} sequences, and {said['B+1']} {bound['B+1']} elements, not one more than sequences")

    def kernel_sizes(self, bound: Mapping[str, int]) -> dict[str, int]:
        """The same by the names of the kernel's manifest (B, Sq, Sk, Hq, Hkv), as far as they are known."""
        sizes = {name: bound.get(size) if isinstance(size, str) else size for name, size in self.names_of_sizes().items()}
        return {name: size for name, size in sizes.items() if size is not None}

    def names_of_sizes(self) -> dict[str, int | str]:
        """What this spec has for the sizes of the manifest. Those of a table are named by its number among the captures."""
        homes = (("B", "q", "b"), ("Sq", "q", "s"), ("Tq", "q", "t"), ("Hq", "q", "h"), ("Sk", "k", "s"), ("Tk", "k", "t"), ("Hkv", "k", "h"))
        sizes = {name: getattr(self, tensor)[self.layout_of(tensor).index(letter)] for name, tensor, letter in homes if letter in self.layout_of(tensor)}
        sizes |= {"B": "B", "Bounds": "B+1"} if self.is_packed else {}
        if self.page_table:
            del sizes["Sk"]
            sizes |= {"Pages": self.k[self.layout_of("k").index("b")], "SeqPages": PAGES_OF_SEQUENCE}
        if self.block_list:
            sizes |= {name: name for each in self._list_sizes().values() for name in each}
        tensors = self.captured_tensors
        for number, name in enumerate(self.all_captures):
            sizes |= {f"capture{number}_{dim}": size for dim, size in enumerate(tensors.get(name, ()))}
        return sizes

    def count_flops(self, B: int, Hq: int, Sq: int, Sk: int, **captures) -> int:
        """The operations of the products of matrices, of pairs of a query and a key that `mask` and `mask_mod` see: two
        products forward, and five of the gradient. A mask_mod is asked about each pair (beyond 2^27 of them, about those of
        every n-th query); it is taken to hide none where it reads a capture that is not given, and in packed layouts.
        Of an op with `block_list`, `block_counts` is given, and those in listed blocks count, whatever mask_mod hides of them."""
        qk, v = self.head_dim("q"), self.head_dim("v")
        pairs = B * Hq * (self.mask.count_pairs(Sq, Sk) if self.mask else Sq * Sk)
        if self.block_list:
            pairs = min(pairs, self._count_listed(Hq, captures["block_counts"]))
        needed = captures_of(self.mask_mod, "mask_mod", self.captures) if self.mask_mod else ()
        if self.mask_mod and not self.is_packed and not self.block_list and all(name in captures for name in needed):
            # What does not read the sequence or the head is the same in each.
            text = self.traced.text.partition("mask_mod(")[2]
            times = (B, Hq)
            asked = [n if reads_position(text, name) else min(n, 1) for n, name in zip(times, "bh")]
            pairs = count_visible_pairs(self.mask, self._evaluated("mask_mod", captures), *asked, Sq, Sk)
            pairs *= math.prod(n // each for n, each in zip(times, asked) if n)
        return 2 * pairs * (3 * qk + 2 * v if self.is_backward else qk + v)

    def _count_listed(self, query_heads: int, block_counts) -> int:
        """The pairs of a query and a key in blocks that are listed, and which masks may hide."""
        counts = as_array("block_counts", block_counts)
        return int(counts.sum()) * math.prod(self.block_list) * (query_heads // counts.shape[1])

    def backward(self, deterministic: bool = False) -> Spec:
        """The spec of this op's gradient. Raises SpecError where out has a type of its own."""
        if self.without_gradient:
            raise SpecError(f"there is no gradient of {self.without_gradient}")
        if self.out_dtype not in (None, self.dtype):
            raise SpecError(f"the gradient reads out in {self.dtype}, the type of q, and the spec has out_dtype={self.out_dtype!r}")
        return replace(self, is_backward=True, deterministic=deterministic, lse=True, name=f"{self.name}_backward")

    def _evaluated(self, region: str, call: Mapping) -> Callable:
        """The function of a region as the reference calls it: on numbers and arrays that broadcast."""
        function, extra = getattr(self, region), []
        for name in captures_of(function, region, self.captures):
            element, *shape = self.captures[name].split()
            given = call[name]
            if not shape:
                extra.append(as_number(name, given, element))
            else:
                extra.append(as_float(given, name) if element in ("bf16", "f16") else as_array(name, given))
        if region in self.traced.torch_regions:
            from fa4.torch_functions import evaluate

            return lambda *args: evaluate(function, args[: len(PARAMETERS[region])], extra)
        return lambda *args: function(*args[: len(PARAMETERS[region])], *extra)

    def reference(self, **call) -> Results:
        """What the op computes, in float64 on numpy: arrays and captures by their names, as for Kernel.simulate. Inputs
        are taken as they are; round them to the spec's dtype first where that matters. Returns arrays of float64."""
        import numpy as np

        from fa4 import reference

        inputs = [name for name in self.tensors if name not in (*self.outputs, "out", "lse")]
        if missing := [name for name in (*inputs, *self.captures) if name not in call]:
            raise SpecError(f"the call has no {', '.join(missing)}")
        self.bind({name: as_array(name, call[name]).shape for name in (*inputs, *_tensors_of(self.captures))})
        mods = {region: self._evaluated(region, call) for region in PARAMETERS if getattr(self, region) is not None}
        mask = self.mask and reference.Mask(self.mask.align, self.mask.left, self.mask.right)
        form = {"layout": self.layout, "mask": mask, "scale": self.scale, **mods}
        form |= {name: as_array(name, call[name]) for name in ("cu_seqlens_q", "cu_seqlens_k", "seqlens_k", "page_table", "block_list", "block_counts") if name in self.tensors}
        form |= {"block_size": self.block_list} if self.block_list else {}
        form |= {"sinks": as_float(call["sinks"], "sinks")} if self.sinks else {}
        q, k, v = (as_float(call[name], name) for name in "qkv")
        if self.is_backward:
            given = {name: as_float(call[name], name) for name in ("out", "lse") if name in call}
            results = reference.sdpa_backward(q, k, v, as_float(call["dout"], "dout"), **given, **form)
            return Results({name: getattr(results, name) for name in self.outputs})
        return Results(zip(("out", "lse"), reference.sdpa(q, k, v, **form)))


def sdpa(
    q, k, v=None, *, dtype: str = "bf16", layout: str = "bshd", mask: Mask | str | None = None, scale: float | None = None,
    lse: bool = False, score_mod: Callable[..., Any] | None = None, mask_mod: Callable[..., Any] | None = None,
    captures: Mapping[str, str] | None = None, sinks: str | bool = False, seqlens_k: bool = False, page_table: bool = False,
    out_dtype: str | None = None, batch_invariant: bool = False, block_list: Sequence[int] | None = None, name: str = "sdpa",
) -> Spec:  # fmt: skip
    """Scaled dot-product attention: out = softmax(score_mod(scale * q k^T)) v over the keys that a query sees.

    `q`, `k`, `v`: shapes, in the order of `layout` (b batch, s tokens, h heads, d head dim), each a text or a sequence of
    names and numbers: `q="B Sq 32 128", k="B Sk 8 128"`. One name is one size wherever it stands. Numbers are checked at a
    call, and only the head dim, in elements, is part of the kernel; where q has a number of tokens up to 16, so are that
    number and those of heads: CTAs divide the keys of a sequence then, and the heads that share them have one tile. v is
    k's shape by default. k and v have as many heads as q, or a divisor of that (grouped-query attention).

    `dtype`: "bf16" or "f16", of q, k, v and out. `out_dtype`: another type of out, "f32" too; such an op has no gradient.
    `mask`: None, "causal" (the last query sees all keys), "causal_top_left", or a `Mask`. `scale`: factor of q.k, 1 / sqrt(head dim) by default. `lse`: whether the log-sum-exp of each row
    is written too, [B, Hq, Sq] of f32, natural logarithm.

    `score_mod(score, b, h, q_idx, kv_idx, ...)` returns the score that takes the place of the scaled one, `mask_mod(b, h,
    q_idx, kv_idx, ...)` whether the key is visible; both are traced (`fa4.math`, operators). Further parameters are
    captures, by their names: numbers that each call gives, whose types `captures` has ({"cap": "f32"}), or tensors, whose
    elements' type and shape it has ({"bias": "f32 H Sq Sk"}), and which a function reads as `bias[h, q_idx, kv_idx]`.

    `layout` "thd" or "htd": packed sequences of different lengths, q="Tq 8 128", with the arrays cu_seqlens_q and
    cu_seqlens_k of i32, [B + 1], which say where each begins and end with Tq (Tk). `seqlens_k`: an array of i32, [B], how many keys of
    each sequence count. `sinks`: an array of f32 (True) or of this type, [Hq]: a score that joins each softmax, and has no
    value; the gradient has `dsinks`. A call has these arrays by their names.

    `page_table`: k and v are the pages of a cache, k="Pages 64 8 128" (layout "bhsd": "Pages 8 64 128"), with a number for the keys in a page, a
    multiple of 16. A call has page_table, an array of i32, [B, SeqPages]: key j of sequence b is row j % 64 of page page_table[b, j // 64].
    Entries behind the keys of a sequence, which seqlens_k has, may be anything. Beside packed queries, k and v have pages as with "bshd" ("bhsd"),
    and a call has no cu_seqlens_k. Such an op has no gradient.

    `block_list`: (queries, keys), the sizes of blocks: for each block of queries, a call lists the blocks of keys that are looked at (NSA, MoBA;
    FlexAttention's kv_indices and kv_num_blocks). It has block_list, an array of i32, [B, ListHeads, ListBlocks, ListEntries], and block_counts, [B,
    ListHeads, ListBlocks]: query i of head h sees key j only if j // keys is one of the first block_counts[b, l, i // queries] numbers of
    block_list[b, l, i // queries], where l = h // (Hq / ListHeads). Numbers may have any order, and none twice; those of no block count for nothing,
    and queries behind the last list see no key. Queries are in multiples of 128 (of 64 on Hopper), keys of 32; 64 and 128 are fast. All masks hold
    beside it.

    `batch_invariant`: whether the bits of a sequence's results must not depend on other sequences of a call, nor on the room for keys, where
    queries are few and CTAs divide the keys; all other results are so in any case.

    `name`: of the function. Raises SpecError, and TraceError when the op's `text` is first needed."""
    _check_choice("layout", layout, LAYOUTS)
    if page_table is True:
        _check_choice("with page_table, layout", layout, PAGED_LAYOUTS)
    key_rank = 4 if page_table is True else len(layout)
    shapes = [_read_shape(n, s, rank) for n, s, rank in (("q", q, len(layout)), ("k", k, key_rank), ("v", k if v is None else v, key_rank))]
    return Spec(*shapes, dtype, layout, _read_mask(mask), read_scale(scale), lse,
                score_mod, mask_mod, _read_captures(captures), name,
                sinks="f32" if sinks is True else None if sinks is False else sinks, seqlens_k=seqlens_k, out_dtype=out_dtype, page_table=page_table, batch_invariant=batch_invariant,
                block_list=_read_block_list(block_list))  # fmt: skip


def sdpa_backward(q, k, v=None, *, deterministic: bool = False, name: str = "sdpa_backward", **form) -> Spec:
    """The gradient of `sdpa` with the same parameters: dq, dk and dv (and dsinks) from q, k, v, out, dout and lse (out and lse as the
    forward kernel has written them). Gradients have the shapes and the dtype of q, k and v. With `deterministic` each
    run gives the same bits. The derivative of score_mod is found by the compiler; captures are constants to it.

    With `block_list` a call has the forward's lists, and the same blocks by blocks of keys (FlexAttention's q_indices and q_num_blocks): query_list,
    [B, ListHeads, ListKeyBlocks, ListQueries] of i32, has the blocks of queries that see block j of keys in its row j, and query_counts, [B, ListHeads,
    ListKeyBlocks], how many. Queries and keys are in multiples of 128 then (keys of 64 on Hopper), and heads that share keys share a list."""
    form.pop("lse", None)
    return replace(sdpa(q, k, v, **form).backward(deterministic), name=name)
