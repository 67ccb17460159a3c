# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Verifiers and documentation agree on the types of operands, both ways.

The tables of docs/reference are read: what they list must be accepted, and
every other type of a list must be refused, one operand at a time."""

import os
import random
import re
import subprocess
from dataclasses import dataclass, field

import pytest

from fa4_testing.gpu import ROOT

FA4_OPT = os.environ["FA4_OPT"]

pytestmark = pytest.mark.skipif(not os.access(FA4_OPT, os.X_OK), reason="needs fa4-opt")

ELEMENTS = (
    "f64 f32 f16 bf16 tf32 f80 f128 f8E4M3FN f8E5M2 f8E4M3FNUZ f8E5M2FNUZ f8E8M0FNU f6E2M3FN f4E2M1FN "
    "i1 i2 i4 i8 si8 ui8 i16 i17 i32 ui32 i64 i128 index complex<f32> vector<2xf32>"
).split()
# Elements that vectors, memrefs and tensors do not have at all; the parser says so.
NO_VECTOR = {"complex<f32>", "vector<2xf32>", "si8", "ui8", "ui32"}
SHAPES = [(), (64,), (64, 64), (4, 64, 64), ("[64]",), (64, "[64]")]


def vector(shape, element):
    return f"vector<{'x'.join(map(str, (*shape, element)))}>"


def tables(op):
    """operand -> (shape, element types) of the tables in an operation's section,
    which is on one page."""
    pages = sorted((ROOT / "docs" / "reference").glob(f"{op.split('.')[0].capitalize()}*.md"))
    pattern = rf"^### `{re.escape(op)}`.*?(?=^### |\Z)"
    (section,) = [found for page in pages for found in re.finditer(pattern, page.read_text(), re.M | re.S)]
    rows = {}
    for line in section.group().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != 3 or not re.match(r"`\w+`|result", cells[0]):
            continue
        for name in re.findall(r"\w+", cells[0]):
            rows.setdefault(name, (cells[1], cells[2]))
    assert rows, f"{op} has no table of types"
    return rows


@dataclass
class Case:
    """An operation with a hole for the type of each operand in the table."""

    op: str
    # MLIR, with {operand} where its type stands.
    text: str
    # A type that is fine, for each of them: shape and element.
    good: dict
    # Operands that always have the type of another one.
    same: dict = field(default_factory=dict)
    memrefs: tuple = ()
    scalars: tuple = ()

    def type(self, name, shape, element):
        if name in self.scalars:
            return element if shape == () else vector(shape, element)
        if name in self.memrefs:
            return f"memref<{'x'.join(['?'] * len(shape) + [element])}>"
        return vector(shape, element) if shape else f"vector<{element}>"

    def render(self, types):
        types = types | {name: types[of] for name, of in self.same.items()}
        return self.text.format(
            **{name: self.type(name, *type) for name, type in types.items()}
        )


MEMORY = "func.func @f(%m: {{{m}}}, %t: {{tile}}, %i: index) {{{{ {op} return }}}}"
CASES = [
    Case(
        "tile.mma",
        "func.func @f(%a: {a}, %b: {b}, %c: {acc}) {{ %r = tile.mma %a, %b acc %c : {a}, {b} -> {acc} return }}",
        {"a": ((64, 64), "bf16"), "b": ((64, 64), "bf16"), "acc": ((64, 64), "f32")},
    ),
    Case(
        "tile.rescale",
        "func.func @f(%v: {value}, %x: {factor}) {{ %r = tile.rescale %v, %x : {value}, {factor} return }}",
        {"value": ((64, 64), "f32"), "factor": ((64,), "f32")},
    ),
    Case(
        "tile.copy",
        "func.func @f(%v: {value}) {{ %r = tile.copy %v : {value} return }}",
        {"value": ((64, 64), "f32")},
    ),
    Case(
        "tile.exp2",
        "func.func @f(%v: {operand}) {{ %r = tile.exp2 %v polynomial [1.0] pairs [0] : {operand} return }}",
        {"operand": ((64, 64), "f32")},
    ),
    Case(
        "tile.load",
        "func.func @f(%m: {source}, %i: index) {{ %t = tile.load %m[%i, %i] : {source} -> {tile} return }}",
        {"source": ((64, 64), "bf16"), "tile": ((64, 64), "bf16")},
        memrefs=("source",),
    ),
    Case(
        "tile.store",
        "func.func @f(%t: {tile}, %m: {dest}, %i: index) {{ tile.store %t, %m[%i, %i] : {tile}, {dest} return }}",
        {"dest": ((64, 64), "bf16"), "tile": ((64, 64), "bf16")},
        memrefs=("dest",),
    ),
    Case(
        "tile.reduce_add",
        "func.func @f(%t: {tile}, %m: {dest}, %i: index) {{ tile.reduce_add %t, %m[%i, %i] : {tile}, {dest} return }}",
        {"dest": ((64, 64), "f32"), "tile": ((64, 64), "f32")},
        memrefs=("dest",),
    ),
    Case(
        "tile.put",
        "func.func @f(%v: {value}, %m: {dest}, %i: index) {{ tile.put %v, %m[%i, %i] dim 0 : {value}, {dest} return }}",
        {"dest": ((64, 64), "f32"), "value": ((), "f32")},
        memrefs=("dest",),
        scalars=("value",),
    ),
]


def allowed_elements(case, rows, name, types):
    """Returns what the table says about the element type of an operand, given the types of the others."""
    cell = rows[name][1]
    if of := re.fullmatch(r"that of `(\w+)`", cell):
        return {types[of.group(1)][1]}
    listed = set(re.split(r", ", cell))
    assert listed <= set(ELEMENTS), (case.op, name, cell)
    return listed


def is_allowed(case, rows, types):
    for name, (shape, element) in types.items():
        if element not in allowed_elements(case, rows, name, types):
            return False
        if any(isinstance(size, str) for size in shape):
            return False
        text = rows[name][0]
        if text == "scalar":
            ranks = {0}
        elif "rank 1 or more" in text:
            ranks = {2}  # The text has two indices.
        else:
            ranks = {
                len(re.findall(r"\w+", re.sub(r" x ", " ", form)))
                for form in re.findall(r"`([^`]+)`", text)
                if not re.fullmatch(r"[a-z_]+", form)
            }
        if len(shape) not in ranks:
            return False
    # Shapes of the good types fit each other; another rank of one does not, unless it stands alone.
    return True


def candidates(case, rows):
    """Types for all operands: the good ones, and with one or two changed."""
    rng = random.Random(case.op)
    yield dict(case.good)
    for name, (shape, element) in case.good.items():
        for other in ELEMENTS:
            yield case.good | {name: (shape, other)}
        if name not in case.memrefs:
            for other in SHAPES:
                yield case.good | {name: (other, element)}
    names = list(case.good)
    for element in ELEMENTS:
        yield {name: (shape, element) for name, (shape, _) in case.good.items()}
    for _ in range(100):
        yield {
            name: (case.good[name][0], rng.choice(ELEMENTS[:10] + ["i8", "i32"]))
            for name in names
        }


def is_expressible(case, types):
    """Whether MLIR itself has such types."""
    return not any(
        element in NO_VECTOR and not (name in case.memrefs or name in case.scalars)
        or (name in case.memrefs and any(isinstance(s, str) for s in shape))
        for name, (shape, element) in types.items()
    )


def verdicts(chunks):
    """For each module, whether fa4-opt takes it."""
    text = "\n// -----\n".join(chunks)
    done = subprocess.run(
        [FA4_OPT, "-", "--split-input-file", "-o", os.devnull],
        input=text,
        capture_output=True,
        text=True,
        timeout=120,
    )
    wrong = {
        int(line)
        for line in re.findall(r"^[^:\n]+:(\d+):\d+: error:", done.stderr, re.M)
    }
    result, line = [], 1
    for chunk in chunks:
        lines = chunk.count("\n") + 1
        result.append(not any(line <= at < line + lines for at in wrong))
        line += lines + 1
    assert all(result) == (done.returncode == 0), done.stderr[-500:]
    return result


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.op)
def test_tile(case):
    """Every combination of types is tried for an operation of the tile dialect: the verifier must accept exactly those
    that its table lists."""
    rows = tables(case.op)
    rows = {name: rows[name] for name in case.good}
    tried = [t for t in candidates(case, rows) if is_expressible(case, t)]
    expected = [is_allowed(case, rows, types) for types in tried]
    assert len(tried) > 40 and 0 < sum(expected) < len(tried)
    for types, want, got in zip(tried, expected, verdicts(map_render(case, tried))):
        assert got == want, f"{case.op}: {case.render(types)}"


def map_render(case, tried):
    return [case.render(types) for types in tried]


def sdpa(q="bf16", out="bf16", lse="f32", sinks="f32", seqlens="i32"):
    tensor = "tensor<2x64x4x64x{}>".format
    return (
        f"func.func @f(%q: {tensor(q)}, %s: tensor<4x{sinks}>, %n: tensor<2x{seqlens}>) {{\n"
        f"%o, %l = attn.sdpa %q, %q, %q layout<bshd> seqlens_k(%n : tensor<2x{seqlens}>) sinks(%s : tensor<4x{sinks}>)\n"
        f" : {tensor(q)}, {tensor(q)}, {tensor(q)} -> {tensor(out)}, tensor<2x4x64x{lse}>\nreturn }}"
    )


def test_sdpa():
    """Attention's operands and results take the types that the page lists, and no others."""
    inputs = {"f16", "bf16", "f8E4M3FN", "f8E5M2", "f32"}
    rows = tables("attn.sdpa")
    assert rows["sinks"][1] == "f32, bf16 or f16"
    assert rows["seqlens_k"][1] == "i32" and rows["lse"][1] == "f32"
    tried = []
    for element in ELEMENTS:
        tried += [
            (sdpa(q=element), element in inputs),
            (sdpa(out=element), element in {"f16", "bf16", "f32"}),
            (
                sdpa(q="f8E5M2", out=element),
                element in {"f8E5M2", "f16", "bf16", "f32"},
            ),
            (sdpa(lse=element), element == "f32"),
            (sdpa(sinks=element), element in {"f32", "bf16", "f16"}),
            (sdpa(seqlens=element), element == "i32"),
        ]
    for (text, want), got in zip(tried, verdicts([text for text, _ in tried])):
        assert got == want, text


FLOATS = {e for e in ELEMENTS if re.match(r"b?f\d|tf32", e)}
SIGNLESS = {e for e in ELEMENTS if re.fullmatch(r"i\d+", e)}


def in_role(channel, body):
    """A kernel with a channel of vectors of the type `channel`."""
    return (
        'tile.kernel @k(%n: index {tile.name = "n"}) '
        'attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {\n'
        f'%c = tile.channel "c" smem stages(1) : <{channel}>\n'
        f"tile.role @r kind(vector) {{\n{body}\n}} }}"
    )


def check(tried):
    assert 0 < sum(want for _, want in tried) < len(tried)
    for (text, want), got in zip(tried, verdicts([text for text, _ in tried])):
        assert got == want, text


OTHER = {"f32": "f16", "i32": "f32"}


def some_value(type):
    return f"%v = ub.poison : {type}"


@pytest.mark.parametrize("op", ["tile.commit", "tile.wait"])
def test_values_of_channels(op):
    """The value of a channel must have the channel's type; any other type is refused."""
    (cells,) = [cells for name, cells in tables(op).items() if name == "value"]
    assert cells == ("that of the channel, a scalar or of rank 1 or 2", "that of the channel: float or signless integer")
    # The type of a channel lists its scalars.
    page = (ROOT / "docs" / "reference" / "TileDialect.md").read_text()
    assert "| scalars: `index`, `i32`, `i1`, `f32`; `i128`, the response to a `tile.request` | shared memory |" in page

    def text(channel, value):
        if op == "tile.commit":
            return in_role(channel, f"{some_value(value)}\ntile.commit %c, %v : <{channel}>, {value}")
        return in_role(channel, f"%v = tile.wait %c : <{channel}> -> {value}")

    tried = []
    for element in ELEMENTS:
        if element in NO_VECTOR:
            continue
        for shape in SHAPES:
            type = vector(shape, element) if shape else f"vector<{element}>"
            fine = element in FLOATS | SIGNLESS and shape in [(64,), (64, 64)]
            tried.append((text(type, type), fine))
        tried.append((text(vector((64, 64), element), vector((64, 64), OTHER.get(element, "f32"))), False))
        tried.append((text(vector((64, 64), element), vector((64,), element)), False))
    for element in ELEMENTS:
        if not element.startswith("vector"):
            tried.append((text(element, element), element in {"index", "i32", "i1", "f32", "i128"}))
    tried.append((text("i32", "index"), False))
    tried.append((text("i32", "vector<1xi32>"), False))
    check(tried)


def test_scalars_of_tensors():
    """tile.load_scalar must take exactly the ranks and element types of its table."""
    assert tables("tile.load_scalar") == {
        "source": ("rank 1 or more", "f32, bf16, f16, i32, i64"), "result": ("scalar", "that of `source`"),
    }  # fmt: skip

    def text(shape, element):
        type = f"memref<{'x'.join([*['?'] * len(shape), element])}>"
        names = ", ".join(f'"{letter}"' for letter in "LMN"[: len(shape)])
        indices = ", ".join(["%c0"] * len(shape))
        return (
            f'tile.kernel @k(%x: {type} {{tile.name = "x", tile.dims = [{names}]}})\n'
            '  attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {\n'
            f"%c0 = arith.constant 0 : index\n%v = tile.load_scalar %x[{indices}] : {type} }}"
        )

    tried = [(text((64,), e), e in {"f32", "bf16", "f16", "i32", "i64"}) for e in ELEMENTS if e not in NO_VECTOR]
    tried += [(text((64,) * rank, "i32"), rank > 0) for rank in range(4)]
    check(tried)


def test_rows_of_tensors():
    """tile.load_rows must take exactly the ranks and element types of its table."""
    assert tables("tile.load_rows") == {
        "source": ("rank 1 or more", "f32, bf16, f16, i32, i64"), "tile": ("`M`", "that of `source`"),
    }  # fmt: skip

    def text(shape, element):
        return (
            f'tile.kernel @k(%x: memref<?x{element}> {{tile.name = "x", tile.dims = ["N"]}})\n'
            '  attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {\n'
            "%c0 = arith.constant 0 : index\n"
            f"%v = tile.load_rows %x[%c0] dim 0 : memref<?x{element}> -> {vector(shape, element)} }}"
        )

    tried = [(text((64,), e), e in {"f32", "bf16", "f16", "i32", "i64"}) for e in ELEMENTS if e not in NO_VECTOR]
    tried += [(text((64,) * rank, "f32"), rank == 1) for rank in range(1, 4)]
    check(tried)


@pytest.mark.parametrize("op", ["tile.read", "tile.write"])
def test_parts_of_lanes(op):
    """A lane accesses columns of its row in a channel of matrices, and its own element in a channel of row values; any
    other type is refused. Lanes with parts of a tile write it as a whole (matrix-lanes-invalid.mlir)."""
    shape, element = tables(op)["value"]
    whole = "the channel's tile, a " if op == "tile.write" else ""
    assert shape == whole + "vector of rank 1, or a scalar; always a scalar of a channel of row values"
    assert element == "that of the channel; as a scalar f32, i32, f16 or bf16"
    scalars = {"f32", "i32", "f16", "bf16"}

    def text(channel, value):
        if op == "tile.read":
            return in_role(channel, f"%v = tile.read %c : <{channel}> -> {value}")
        return in_role(channel, f"{some_value(value)}\ntile.write %v, %c : {value}, <{channel}>")

    tried = []
    for element in sorted(FLOATS | SIGNLESS):
        rows, matrix = vector((128,), element), vector((128, 64), element)
        other = OTHER.get(element, "f32")
        for lane in ((), (32,), (64,), (65,), (2, 32), ("[32]",)):
            value = vector(lane, element) if lane else element
            tried.append((text(matrix, value), lane in [(32,), (64,)] or (lane == () and element in scalars)))
            tried.append((text(rows, value), lane == () and element in scalars))
        tried.append((text(matrix, vector((32,), other)), False))
        tried.append((text(rows, other), False))
    check(tried)


def test_launch():
    """tile.launch must take exactly arguments of the kernel's own types."""
    rows = tables("tile.launch")
    assert rows["inputs"] == rows["inits"] == ("that of the kernel's argument",) * 2
    assert rows["scalars"] == ("scalar", "f32, i32, index")

    def text(argument, given, scalar=None):
        scalars = f' scalars(%s : {scalar})' if scalar else ""
        return (
            f'tile.kernel @k(%m: memref<?x{argument}> {{tile.name = "m", tile.dims = ["N"]}}'
            + (f', %s: {scalar} {{tile.name = "s"}}' if scalar else "")
            + ') attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {\n}\n'
            f"func.func @f(%m: {given}{f', %s: {scalar}' if scalar else ''}) {{\n"
            f"tile.launch @k ins(%m : {given}){scalars}\nreturn }}"
        )

    tried = []
    for element in ELEMENTS:
        other = OTHER.get(element, "f32")
        tried.append((text(element, f"memref<?x{element}>"), True))
        tried.append((text(element, f"tensor<?x{element}>"), True))
        tried.append((text(element, f"memref<?x{other}>"), False))
        tried.append((text(element, f"tensor<?x{other}>"), False))
        tried.append((text(element, f"tensor<?x?x{element}>"), False))
        tried.append((text("f32", "memref<?xf32>", element), element in {"f32", "i32", "index"}))
    check(tried)


def backward(q="bf16", out="bf16", dout=None, lse="f32", dlse="f32", dq="bf16", dk="bf16", dv="bf16", sinks="f32"):
    tensor = "tensor<2x64x4x64x{}>".format
    row = "tensor<2x4x64x{}>".format
    dout = dout or out
    return (
        f"func.func @f(%q: {tensor(q)}, %o: {tensor(out)}, %do: {tensor(dout)}, %l: {row(lse)}, %dl: {row(dlse)}, "
        f"%s: tensor<4xf32>) {{\n"
        f"%dq, %dk, %dv, %ds = attn.sdpa_backward %q, %q, %q out(%o) dout(%do) lse(%l) dlse(%dl : {row(dlse)}) layout<bshd> "
        f"sinks(%s : tensor<4xf32>)\n"
        f" : {tensor(q)}, {tensor(q)}, {tensor(q)}, {tensor(out)}, {tensor(dout)}, {row(lse)}"
        f" -> {tensor(dq)}, {tensor(dk)}, {tensor(dv)}, tensor<4x{sinks}>\nreturn }}"
    )


def test_sdpa_backward():
    """attn.sdpa_backward must take exactly the element types of its table."""
    rows = tables("attn.sdpa_backward")
    assert rows["out"][1] == rows["dout"][1] == "f16, bf16, f32 or q's; of one type"
    assert rows["lse"][1] == rows["dlse"][1] == "f32"
    assert rows["dq"][1] == rows["dk"][1] == rows["dv"][1] == "f16, bf16, f32 or q's"
    assert rows["dsinks"][1] == "f32, bf16, f16"
    tried = []
    for element in ELEMENTS:
        wide = {"f16", "bf16", "f32"}
        tried += [
            (backward(q=element), element in {"f16", "bf16", "f8E4M3FN", "f8E5M2", "f32"}),
            (backward(out=element), element in wide),
            (backward(q="f8E5M2", out=element), element in wide | {"f8E5M2"}),
            (backward(dout=element), element == "bf16"),
            (backward(lse=element), element == "f32"),
            (backward(dlse=element), element == "f32"),
            (backward(sinks=element), element in wide),
        ]
        for name in ("dq", "dk", "dv"):
            tried.append((backward(**{name: element}), element in wide))
            tried.append((backward(q="f8E5M2", **{name: element}), element in wide | {"f8E5M2"}))
    check(tried)
