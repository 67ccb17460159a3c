# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One random edit of a kernel's IR.

| kind | what is drawn |
|---|---|
| `delete` | an operation is gone; what used a result of it uses an operand of its, or another value, of the same type |
| `double` | an operation is there twice |
| `swap` | two neighbours change places, of which neither uses the other |
| `stages` | `stages` of a channel |
| `counts` | `arrivals`, `bytes`, `initial` of a channel |
| `places` | `at`, `offset`, `full`, `empty`, `landed` of a channel, `column` of an access, `smem_bytes`, `tmem_columns` |
| `warps` | `warps`, `first_warp`, `registers` of a role |
| `operand` | an operand is another value of its type that is visible there, or two operands change places |
| `constant` | an integer constant (bounds and steps of loops, indices) |
| `pairs` | what only pairs of CTAs have: `cluster` of a kernel, `split` of a load or a channel, `exchange` of a channel, `leader` of a role is there, gone or another one |
| `move` | an operation is elsewhere, in another block or another role, with values of the same types that are visible there |
| `attribute` | any other attribute: predicates, positions, `dims`, `transpose`, a grid extent, the kind of a memory |

An edit is made in the generic form, so the result may break any rule of any operation,
but for one: every value is defined where it is used."""

import copy
import random
import re
from dataclasses import dataclass

from fa4_testing.edits.generic import Block, Op

KINDS = ("delete", "double", "swap", "stages", "counts", "places", "warps", "operand", "constant", "attribute", "pairs", "move")
_GROUPS = {
    "stages": ("stages",),
    "counts": ("initial", "place"),
    "places": ("at", "column", "smem_bytes", "tmem_columns", "place"),
    "warps": ("warps", "first_warp", "registers"),
}
# What of a `#tile.place` each group has.
_OF_PLACE = {"counts": r"(arrivals|bytes)\((-?\d+)\)", "places": r"(offset|full|empty|landed)\((-?\d+)\)"}
_NAMES = ("sym_name", "label", "function_type", "arg_attrs", "operandSegmentSizes", "fastmath", "overflowFlags")
_TERMINATORS = ("scf.yield", "tile.next", "func.return", "llvm.return", "llvm.br", "llvm.cond_br", "llvm.switch", "llvm.unreachable")
# Of three operations that are drawn, so many are of those that are few at the levels
# of lanes: channels, loops, memory.
_FEW = ("tile.", "scf.", "memref.")


@dataclass(frozen=True)
class Edit:
    kind: str
    text: str  # For people.


class _Place:
    """An operation, where it is, and the values that are visible there."""

    def __init__(self, op: Op, block: Block, visible: list):
        self.op, self.block, self.visible = op, block, visible  # (name, type) pairs

    @property
    def index(self):
        return next(i for i, op in enumerate(self.block.ops) if op is self.op)

    def others(self, type, but):
        return [name for name, of in self.visible if of == type and name != but]


def _places(op: Op, visible: list, found: list):
    for block in op.blocks():
        inside = visible + list(block.arguments)
        for inner in block.ops:
            found.append(_Place(inner, block, list(inside)))
            _places(inner, [] if inner.name in ("tile.kernel", "llvm.func", "func.func") else inside, found)
            inside += zip(inner.results, inner.result_types)
    return found


def _rename(module: Op, names: dict):
    for op in module.walk():
        op.operands = [names.get(name, name) for name in op.operands]


def _number(rng, value):
    """Another number, near in one sense or another."""
    step = rng.choice((1, 1, 8, 16, 32, 64, 128))
    choices = {value + step, value - step, 2 * value, value // 2, 0, 1, value + 1, value - 1, -value}
    return rng.choice(sorted(choices - {value}))


# ---------------------------------------------------------------------------
# Kinds: each edits the module and says what it did, or None
# ---------------------------------------------------------------------------


def _delete(rng, module, place):
    op = place.op
    if op.name in _TERMINATORS:
        return None
    names = {}
    for name, type in zip(op.results, op.result_types):
        own = [o for o, t in zip(op.operands, op.operand_types) if t == type]
        choices = own or place.others(type, name)
        if not choices:
            return None
        names[name] = rng.choice(choices)
    del place.block.ops[place.index]
    _rename(module, names)
    instead = f", {', '.join(f'{new} for {old}' for old, new in names.items())}" if names else ""
    return f"{op.name} deleted{instead}"


def _double(rng, module, place):
    op = place.op
    if op.name in _TERMINATORS or op.regions:
        return None
    twin = copy.deepcopy(op)
    count = len(op.results)
    twin.results = ["%twin"] if count == 1 else [f"%twin#{n}" for n in range(count)]
    place.block.ops.insert(place.index + rng.choice((0, 1)), twin)
    if op.results and rng.random() < 0.5:
        # The later one is used.
        names = dict(zip(op.results, twin.results))
        index = next(i for i, o in enumerate(place.block.ops) if o is twin)
        first = next(i for i, o in enumerate(place.block.ops) if o is op)
        if first < index:
            _rename(module, names)
            for same in (op, twin):
                same.operands = [next((o for o, n in names.items() if n == x), x) for x in same.operands]
    return f"{op.name} doubled"


def _used(op):
    return {name for inner in op.walk() for name in inner.operands}


def _swap(rng, module, place):
    ops, index = place.block.ops, place.index
    if index + 1 >= len(ops) or ops[index + 1].name in _TERMINATORS or place.op.name in _TERMINATORS:
        return None
    if set(place.op.results) & _used(ops[index + 1]):
        return None
    ops[index], ops[index + 1] = ops[index + 1], ops[index]
    return f"{place.op.name} swapped with {ops[index].name}"


def _operand(rng, module, place):
    op = place.op
    if not op.operands:
        return None
    index = rng.randrange(len(op.operands))
    old, type = op.operands[index], op.operand_types[index]
    same = [i for i, t in enumerate(op.operand_types) if t == type and op.operands[i] != old]
    if same and rng.random() < 0.3:
        other = rng.choice(same)
        op.operands[index], op.operands[other] = op.operands[other], op.operands[index]
        return f"{op.name}: operands {index} and {other} exchanged"
    if op.name == "tile.channel" and rng.random() < 0.3:
        op.operands, op.operand_types = [], []
        op.properties["operandSegmentSizes"] = "array<i32: 0, 0>"
        op.properties.pop("at", None)
        return f"{op.name} {op.properties['label']}: in_place_of and after gone"
    choices = place.others(type, old)
    if not choices:
        return None
    # What was defined last is near.
    op.operands[index] = rng.choice(choices[-12:] if rng.random() < 0.5 else choices)
    return f"{op.name}: operand {index} is {op.operands[index]}, not {old}"


def _constant(rng, module, place):
    op = place.op
    if op.name not in ("arith.constant", "llvm.mlir.constant") or "value" not in op.properties:
        return None
    match = re.fullmatch(r"(-?\d+) : (\w+)", op.properties["value"])
    if not match or match[2] == "i1":
        return None
    number = _number(rng, int(match[1]))
    op.properties["value"] = f"{number} : {match[2]}"
    return f"{op.name} {match[1]} is {number}"


def _integer(rng, op, name):
    text = op.properties[name]
    if text is None or (name == "initial" and rng.random() < 0.3):
        del op.properties[name]
        return f"{op.name}: {name} gone"
    match = re.fullmatch(r"(-?\d+) : (\w+)", text)
    number = _number(rng, int(match[1]))
    op.properties[name] = f"{number} : {match[2]}"
    label = op.properties.get("label") or op.properties.get("sym_name") or ""
    return f"{op.name} {label}: {name} is {number}, not {match[1]}"


def _in_place(rng, op, pattern):
    """Another number in the place of a channel."""
    text = op.properties["place"]
    match = rng.choice(list(re.finditer(pattern, text)))
    number = _number(rng, int(match[2]))
    op.properties["place"] = text[: match.start(2)] + str(number) + text[match.end(2) :]
    return f"{op.name} {op.properties['label']}: {match[1]} is {number}, not {match[2]}"


def _group(kind):
    def edit(rng, module, place):
        op = place.op
        if not op.name.startswith("tile."):
            return None
        names = [name for name in _GROUPS[kind] if name in op.properties]
        name = {"tile.channel": "initial", "tile.role": "warps"}.get(op.name)
        if name in _GROUPS[kind] and name not in op.properties and rng.random() < 0.1:
            number = rng.choice((1, 4, 8)) if name == "warps" else 1
            op.properties[name] = f"{number} : i64"
            return f"{op.name}: {name} {number} added"
        if not names:
            return None
        name = rng.choice(names)
        return _in_place(rng, op, _OF_PLACE[kind]) if name == "place" else _integer(rng, op, name)

    return edit


def _attribute(rng, module, place):
    op = place.op
    grouped = [name for names in _GROUPS.values() for name in names]
    names = [name for name in op.properties if name not in (*_NAMES, *grouped, "value")]
    if op.name == "tile.mma":
        for name in ("transpose_a", "transpose_b"):
            if name not in op.properties and rng.random() < 0.3:
                op.properties[name] = None
                return f"{op.name}: {name} added"
    if not names:
        return None
    name = rng.choice(names)
    text = op.properties[name]
    label = op.properties.get("label") or ""
    if text is None:
        del op.properties[name]
        return f"{op.name}: {name} gone"
    if name == "space":
        op.properties[name] = text.replace("smem", "?").replace("tmem", "smem").replace("?", "tmem")
        return f"{op.name} {label}: other memory"
    if op.name == "tile.role" and name == "kind":
        other = rng.choice([kind for kind in ("issuer", "vector", "idle", "matrix") if kind not in text])
        op.properties[name] = re.sub(r"role_kind \w+", f"role_kind {other}", text)
        return f"{op.name}: kind {other}"
    if name == "kind":
        other = rng.choice(("add", "maxnumf", "maximumf", "minnumf"))
        op.properties[name] = re.sub(r"kind<\w+>", f"kind<{other}>", text)
        return f"{op.name}: {other}"
    numbers = list(re.finditer(r"(?<![\w.])-?\d+(?![\w.])", text))
    if not numbers:
        return None
    match = rng.choice(numbers)
    number = _number(rng, int(match[0]))
    op.properties[name] = text[: match.start()] + str(number) + text[match.end() :]
    return f"{op.name}: {name} is {op.properties[name]}, not {text}"


_GONE = "gone"
# Of each operation, the properties that only kernels of pairs have; and what these may be.
_PAIRED = {
    "tile.kernel": ("cluster",), "tile.load": ("split",), "tile.channel": ("split", "split", "exchange"), "tile.role": ("leader",),
}  # fmt: skip
_PAIRED_VALUES = {
    "cluster": (_GONE, *(f"#tile.cluster<size = {size}, axis = {axis}>" for size in (1, 2, 4) for axis in (0, 1, 2))),
    "split": (_GONE, "0 : i64", "1 : i64", "2 : i64"),
    "leader": (_GONE, None), "exchange": (_GONE, None),
}  # fmt: skip


def _pairs(rng, module, place):
    op = place.op
    if op.name not in _PAIRED:
        return None
    name = rng.choice(_PAIRED[op.name])
    old = op.properties.pop(name, _GONE)
    new = rng.choice([value for value in _PAIRED_VALUES[name] if value != old])
    if new != _GONE:
        op.properties[name] = new
    label = op.properties.get("label") or op.properties.get("sym_name") or ""
    return f"{op.name} {label}: {name} is {new or 'there'}, not {old or 'there'}"


def _move(rng, module, place):
    """In the same block, or to any other one. Where a result is not visible any more, another value is used."""
    op, block = place.op, place.block
    if op.name in _TERMINATORS or op.regions:
        return None
    is_near = rng.random() < 0.5
    target = rng.choice([p for p in _places(module, [], []) if p.op is not op and (p.block is block) == is_near])
    visible = [(name, type) for name, type in target.visible if name not in op.results]
    operands = []
    for name, type in zip(op.operands, op.operand_types):
        same = [other for other, of in visible if of == type]
        if not same:
            return None
        operands.append(name if name in same else rng.choice(same[-12:]))
    names = {}
    if not is_near or target.index > place.index:
        for name, type in zip(op.results, op.result_types):
            others = place.others(type, name)
            if not others:
                return None
            names[name] = rng.choice(others)
    del block.ops[place.index]
    _rename(module, names)
    op.operands = operands
    target.block.ops.insert(target.index, op)
    return f"{op.name} moved in front of {target.op.name} {', '.join(target.op.operands)}"


_EDITS = {
    "delete": _delete, "double": _double, "swap": _swap, "operand": _operand, "constant": _constant,
    "attribute": _attribute, "pairs": _pairs, "move": _move, **{kind: _group(kind) for kind in _GROUPS},
}  # fmt: skip


def edit(module: Op, rng: random.Random, kind: str | None = None) -> Edit:
    """Changes the module: its kernels, and nothing of the functions that launch
    them. Raises ValueError if there is nothing for an edit of this kind."""
    places = _places(module, [], [])
    around = ("func.func", "func.return", "tile.launch", "tile.kernel", "llvm.func", "llvm.mlir.global", "tensor.empty")
    kernel = ("attribute", "places", "pairs")  # Of these kinds, also the kernel itself.
    places = [p for p in places if p.op.name not in around or (p.op.name == "tile.kernel" and kind in (None, *kernel))]
    few = [p for p in places if p.op.name.startswith(_FEW)]
    paired = [[p for p in places if p.op.name == name] for name in _PAIRED]
    for _ in range(1000):
        chosen = kind or rng.choice(KINDS)
        place = rng.choice(few if few and rng.random() < 2 / 3 else places)
        if chosen == "pairs" and any(paired):
            place = rng.choice(rng.choice([same for same in paired if same]))
        if place.op.name == "tile.kernel" and chosen not in kernel:
            continue
        before = copy.deepcopy(place.op) if not place.op.regions else None
        if text := _EDITS[chosen](rng, module, place):
            return Edit(chosen, text)
        if before is not None:
            place.op.__dict__.update(before.__dict__)
    raise ValueError(f"nothing to edit by {kind}")
