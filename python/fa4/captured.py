# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Captured tensors in functions that are traced: their elements, their rows, and tensors of torch that become captures
because a function reaches them by itself."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fa4.tracing import ARITHMETIC, PACKAGE, Recorded, Trace, Value, _Refused, _unknown

# Elements of a row that are worked on one by one: each is text in the kernel.
MAX_ROW = 256
# Elements of a tensor that are captures of their own where it is worked on as a whole.
MAX_NUMBERS = 16
# Types of torch's elements -> those of captures. What a kernel has no loads of is converted at a call.
TORCH_ELEMENTS = {
    "float32": "f32", "float64": "f32", "bfloat16": "bf16", "float16": "f16", "int32": "i32", "int64": "i32", "int16": "i32",
    "int8": "i32", "uint8": "i32", "bool": "bool",
}  # fmt: skip


def memref_type(element: str, rank: int) -> str:
    return f"memref<{'?x' * rank}{'i32' if element == 'bool' else element}>"


def capture_type(capture: str) -> str:
    """The type in MLIR of a capture as a spec has it: "f32", or "f32 H Sk" for a tensor."""
    element, *shape = capture.split()
    return memref_type(element, len(shape)) if shape else "i32" if element == "bool" else element


def is_torch_tensor(given) -> bool:
    """Whether this is a tensor of torch, which need not be there."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(given, torch.Tensor)


def is_compiling() -> bool:
    """Whether torch.compile reads this code, which has no frames and no addresses of tensors then."""
    torch = sys.modules.get("torch")
    return torch is not None and torch.compiler.is_compiling()


def fix(number):
    """A number of Python as it is now, which torch.compile may let vary: the text of a kernel has it, and with another one it is another kernel."""
    if not is_compiling():
        return number
    from torch.fx.experimental.symbolic_shapes import guard_scalar

    return guard_scalar(number)


def is_sequence(given) -> bool:
    """Whether this is more than one number: a row, or a tensor with dimensions."""
    return isinstance(given, (Row, Tensor)) or is_torch_tensor(given) and given.dim() > 0


# ---------------------------------------------------------------------------
# Rows and tensors
# ---------------------------------------------------------------------------


class _Elementwise(Recorded):
    """Operators and methods, element by element; what has no elements of known number is refused."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        from fa4 import torch_functions

        return torch_functions.dispatch(function, args, kwargs or {})

    def __getattr__(self, name):
        from fa4 import torch_functions

        return torch_functions.attribute(self, name)

    def __matmul__(self, other):
        from fa4 import torch_functions

        return torch_functions.WHOLE["dot"](self, other)

    __bool__ = __array__ = _unknown("a captured tensor is read element by element: tensor[h, kv_idx]")


def _operator(name: str) -> Callable:
    def call(self, *others):
        return map_rows(lambda *args: getattr(args[0], name)(*args[1:]), self, *others)

    return call


for _name in ARITHMETIC:
    setattr(_Elementwise, _name, _operator(_name))


class Row(_Elementwise):
    """Some values side by side, with the operators and methods of each, `sum`, `any`, `all`, and torch's dot."""

    __slots__ = ("trace", "values")

    def __init__(self, trace: Trace, values):
        self.trace, self.values = trace, tuple(values)

    def __repr__(self):
        return f"<fa4 row of {len(self.values)} values>"

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        return iter(self.values)

    def __getitem__(self, index):
        if isinstance(index, tuple) and len(index) == 1:
            index = index[0]
        if isinstance(index, slice):
            return Row(self.trace, self.values[index])
        if not isinstance(index, int):
            raise _Refused("a row that was computed is read with numbers, not with values")
        return self.values[index]

    @property
    def shape(self):
        return (len(self.values),)


class Tensor(_Elementwise):
    """A captured tensor, or a part of one. `bias[h, q_idx, kv_idx]` reads an element: as many whole numbers as it has
    dimensions, which count from 0. What is out of bounds is not checked on the GPU. Fewer of them give a part, of
    which rows whose length is known can be computed with. `sizes` are numbers, or None where only a call knows."""

    __slots__ = ("name", "trace", "element", "sizes", "type", "indices", "given")

    def __init__(self, trace: Trace, name: str, element: str, sizes, indices=None, given: int = 0):
        self.trace, self.name, self.element, self.sizes = trace, name, element, tuple(sizes)
        self.type = memref_type(element, len(self.sizes))
        # Of each dimension a value, or the range that is left of it: its first index, and its size.
        self.indices = tuple((0, size) for size in self.sizes) if indices is None else indices
        self.given = given

    def __repr__(self):
        return f"<fa4 tensor of type {self.type}>"

    @property
    def shape(self):
        return tuple(index[1] for index in self.indices if isinstance(index, tuple))

    def __len__(self):
        size = self.shape[0]
        if size is None:
            raise _Refused("a captured tensor is read element by element: tensor[h, kv_idx]")
        return size

    def __iter__(self):
        return (self[number] for number in range(len(self)))

    def __getitem__(self, indices) -> Any:
        given = list(indices) if isinstance(indices, tuple) else [indices]
        if any(isinstance(index, (slice, list)) or index is None or index is Ellipsis for index in given):
            given = self._slices(given)
        elif len(given) > len(self.shape):
            raise self._rank_error(self.given + len(given))
        free = [position for position, index in enumerate(self.indices) if isinstance(index, tuple)]
        chosen = list(self.indices)
        for position, index in zip(free, given):
            chosen[position] = self._narrow(chosen[position], index)
        part = Tensor(self.trace, self.name, self.element, self.sizes, tuple(chosen), self.given + len(given))
        return part if part.shape else part._read()

    def _slices(self, given: list) -> list:
        """Indices of which some leave their dimension, with Ellipsis written out."""
        whole = [index for index in given if index is not Ellipsis]
        if any(isinstance(index, list) or index is None for index in whole) or len(given) > len(whole) + 1:
            raise _Refused("an element is read with whole numbers: a captured tensor gets no dimensions, and no lists, here")
        if len(whole) > len(self.shape):
            raise self._rank_error(self.given + len(whole))
        at = next((position for position, index in enumerate(given) if index is Ellipsis), None)
        left = [slice(None)] * (len(self.shape) - len(whole))
        return given if at is None else given[:at] + left + given[at + 1 :]

    def _narrow(self, span: tuple, index):
        """A dimension of which this is read: a value, or the range that is left of it."""
        first, size = span
        if isinstance(index, slice):
            if size is None:
                raise _Refused("an element is read with whole numbers: a tensor has no slices here")
            taken = range(size)[index]
            if taken.step != 1:
                raise _Refused("a slice of a captured tensor has the step 1")
            return (first + taken.start, len(taken))
        if isinstance(index, bool):
            raise _Refused("indices of a captured tensor are whole numbers")
        if isinstance(index, int):
            if index < 0 and size is None:
                raise _Refused("indices of a captured tensor count from 0, and not from the end")
            if size is not None and not -size <= index < size:
                raise _Refused(f"index {index} is out of the {size} elements of a dimension")
            return self.trace.constant(first + index % size if size else first + index, "index")
        value = self.trace.value(index)
        if value.type not in ("i32", "index"):
            raise _Refused("indices of a captured tensor are whole numbers")
        value = self.trace.cast(value, "index")
        return value + first if first else value

    def _rank_error(self, given: int) -> _Refused:
        return _Refused(f"a tensor of {len(self.sizes)} dimensions is read with {given} ind{'ex' if given == 1 else 'ices'}")

    def _read(self) -> Value:
        listed = ", ".join(index.name for index in self.indices)
        read = self.trace.op(f"memref.load {self.name}[{listed}] : {self.type}", "i32" if self.element == "bool" else self.element)
        if self.element == "bool":
            return read != 0
        if self.element in ("bf16", "f16"):
            return self.trace.op(f"arith.extf {read.name} : {self.element} to f32", "f32")
        return read

    def row(self) -> Row:
        """Its elements as values. Raises where it has more than one dimension, or a length that only a call knows."""
        if self.given and None in self.shape:
            raise self._rank_error(self.given)
        if len(self.shape) != 1 or self.shape[0] is None:
            raise _Refused("a captured tensor is read element by element: tensor[h, kv_idx]")
        if self.shape[0] > MAX_ROW:
            raise _Refused(f"a row of {self.shape[0]} elements is computed with, and {MAX_ROW} is the most")
        return Row(self.trace, self)


def as_row(trace: Trace, given) -> Row:
    """Values of what has several. A short tensor of torch is as many numbers, which every kernel takes."""
    if is_torch_tensor(given):
        if given.dim() == 1 and len(given) <= MAX_NUMBERS:
            return Row(trace, trace.capture_elements(given))
        given = trace.capture(given)
    return given if isinstance(given, Row) else given.row()


def map_rows(function: Callable, *args):
    """A function of values on rows of one length; values beside them stand for as many."""
    traces = [each.trace for each in args if isinstance(each, (Value, Row, Tensor))]
    rows = [as_row(traces[0], each) if is_sequence(each) else each for each in args]
    lengths = {len(row) for row in rows if isinstance(row, Row)} - {1}
    if len(lengths) > 1:
        raise _Refused(f"rows of {' and '.join(map(str, sorted(lengths)))} elements do not go together")
    length = max(lengths, default=1)
    spread = [row.values * (length // len(row)) if isinstance(row, Row) else (row,) * length for row in rows]
    return Row(traces[0], [function(*each) for each in zip(*spread)])


# ---------------------------------------------------------------------------
# Tensors that a function reaches by itself
# ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Found:
    """A tensor of torch that a function reaches by itself, as a capture: of type `kind`, as a spec has it. Its elements are read at each call."""

    name: str
    kind: str
    tensor: Any

    def numpy(self):
        """The tensor in the capture's type, as a numpy array or a number. Raises ValueError where a whole number is beyond
        32 bits."""
        tensor = self.tensor.detach().cpu()
        array = tensor.float().numpy() if tensor.dtype.is_floating_point else as_i32(tensor.numpy(), self.name)
        return array if array.ndim else array.item()


    def on(self, device):
        """The same as a tensor on a device of torch, or a number. What has the capture's type and is there is not copied. Raises ValueError."""
        import torch

        if not self.tensor.dim():
            return self.numpy()
        tensor, element = self.tensor.detach(), self.kind.split()[0]
        if tensor.dtype == torch.int64 and (tensor.amax() >= 2**31 or tensor.amin() < -(2**31)):
            raise ValueError(f"'{self.name}' has elements beyond the range of 32 bits")
        dtype = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}.get(element, torch.int32)
        return tensor.to(device=device, dtype=dtype).contiguous()


def as_i32(array, name: str):
    """An array of whole numbers or conditions as i32."""
    import numpy as np

    limits = np.iinfo(np.int32)
    if array.size and array.dtype != bool and (array.max() > limits.max or array.min() < limits.min):
        raise ValueError(f"'{name}' has elements beyond the range of 32 bits")
    return array.astype(np.int32)


def _parts(value, used) -> list[tuple[str, Any]]:
    """The attributes of an object that the code reads by these names; a module's are in dictionaries of their own."""
    held = getattr(value, "__dict__", None)
    if not isinstance(held, dict):
        return []
    places = [held, *(held[name] for name in ("_buffers", "_parameters", "_modules") if isinstance(held.get(name), dict))]
    return [(name, place[name]) for name in used for place in places if name in place]


def name_of(tensor) -> str:
    """The name by which the function that is being traced calls a tensor: of a variable, or of an attribute."""
    frame = sys._getframe(1)
    while frame is not None and not (frame.f_code.co_filename.startswith(PACKAGE) and frame.f_code.co_name == "trace_regions"):
        if not frame.f_code.co_filename.startswith(PACKAGE):
            used = frame.f_code.co_names
            seen = [*frame.f_locals.items(), *((name, frame.f_globals.get(name)) for name in used)]
            for _ in range(3):
                for name, value in seen:
                    if value is tensor:
                        return name
                seen = [part for _, value in seen for part in _parts(value, used)]
        frame = frame.f_back
    return "tensor"


class Register:
    """The tensors that the functions of one op have reached, each once."""

    def __init__(self, taken=()):
        self.found: dict[Any, Found] = {}
        self.taken = set(taken)
        # Tensors that a function has made of numbers, as torch.tensor(0.0): constants. They are held so that no other has their address.
        self.constants: dict[int, Any] = {}

    def __len__(self):
        return len(self.found)

    def captures(self) -> dict[str, Found]:
        return {each.name: each for each in self.found.values()}

    def add(self, tensor, name: str = "") -> Found:
        """The capture of a tensor, which is named so or as the function calls it."""
        key = self._key(tensor)
        if key not in self.found:
            element = TORCH_ELEMENTS.get(str(tensor.dtype).removeprefix("torch."))
            if element is None:
                raise _Refused(f"a tensor of {tensor.dtype} is no capture: there are {', '.join(TORCH_ELEMENTS)}")
            if 0 in tensor.shape:
                raise _Refused(f"a tensor without elements, of shape {tuple(tensor.shape)}, is no capture")
            # One number, or one for each head, has the type of which there are kernels.
            if tensor.dim() < 2:
                element = "f32" if element in ("bf16", "f16") else element
            name = self._new_name(name or ("tensor" if is_compiling() else name_of(tensor)))
            self.found[key] = Found(name, " ".join([element, *map(str, tensor.shape)]), tensor)
        return self.found[key]

    def _key(self, tensor):
        """What two tensors share if they are the same elements; each call of expand() gives a new object."""
        if is_compiling():
            return next((key for key, each in self.found.items() if each.tensor is tensor), len(self.found))
        try:
            return tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), tensor.dtype, tensor.device
        except Exception:  # Tensors without storage, as fake ones, have no address.
            return id(tensor)

    def _new_name(self, name: str) -> str:
        name = name if name.isidentifier() and name.isascii() else "tensor"
        number, chosen = 1, name
        while chosen in self.taken:
            number += 1
            chosen = f"{name}_{number}"
        self.taken.add(chosen)
        return chosen
