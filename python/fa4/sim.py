# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launch a PTX kernel on numpy arrays, in fa4-sim: no GPU is needed, and races are found.

    from fa4 import sim
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    result = sim.launch(PTX, grid=2, block=32, args=[x, y, np.float32(3), 64])
    print(y[:4], result.statistics.warp_instructions)

An argument is an array (the kernel gets a pointer to a copy in global memory, which is copied back behind the launch), a
number, a `TensorMap`, `bytes` (a struct, as it lies in memory), or a dict that says what is at which byte of a struct.
`launch` runs recorded launches and fa4-compile's manifests, too. docs/simulator.md says what the simulator models, and what
its findings mean.
"""

import contextlib
import io
import json
import os
import time as clock
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np

from fa4 import _library
from fa4.arrays import ELEMENT_TYPES, numpy_dtype
from fa4.errors import SimulationError

__all__ = ["Finding", "KernelError", "LaunchResult", "Statistics", "TensorMap", "launch"]

DTYPES = {name: numpy_dtype(name) for name in ELEMENT_TYPES}
POINTER_BYTES, MAP_BYTES, MAP_ALIGNMENT = 8, 128, 64


def to_npy(file, array: np.ndarray):
    """Writes an array, to a path or to an open file, in the form that fa4-sim reads: bf16 as raw bits."""
    bf16 = array.dtype == DTYPES["bf16"]
    np.save(file, array.view(np.uint16) if bf16 else array)


@dataclass(frozen=True)
class Finding:
    """What a kernel did wrong. `kind` is one of fa4-sim's ("race", "hang", ...), `text` all that fa4-sim prints of it: the
    message, then each access with its PTX line and thread. `count` says how often it happened, in the run with this seed.
    `severity` is "error", or "strict" for what the manual forbids and hardware tolerates (docs/simulator.md)."""

    kind: str
    message: str
    text: str
    count: int
    seed: int
    severity: str = "error"


@dataclass(frozen=True)
class Statistics:
    """Sums over all runs and launches; `seconds` are those of the simulator."""

    warp_instructions: int = 0
    lane_instructions: int = 0
    mma_instructions: int = 0
    mma_flops: int = 0
    tma_bytes: int = 0
    async_operations: int = 0
    clusters: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class LaunchResult:
    """What `launch` returns. `findings` is empty but with `keep_going`; `runs` counts launches, once for each seed. `times`,
    with `time`, has what the clock says of each of them: fa4-sim's JSON as a dict (docs/timing.md), of which `cycles`,
    `seconds` (on the chip), `teraflops`, `bounds` and `units` are the whole launch's."""

    findings: tuple[Finding, ...]
    statistics: Statistics
    runs: int
    times: tuple[dict, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.findings


class KernelError(SimulationError):
    """The kernel has findings, or cannot be launched. The message is fa4-sim's; `findings` are those of all runs, none if
    nothing ran."""

    def __init__(self, message: str, findings: tuple[Finding, ...] = ()):
        super().__init__(message)
        self.findings = findings


@dataclass(frozen=True)
class TensorMap:
    """A tiled tensor map of TMA on an array, as an argument: a `.param .align 64 .b8 x[128]` of the kernel.

    | field | meaning |
    |---|---|
    | `array` | what the map describes; 1 to 5 dimensions, the last one contiguous, the other strides multiples of 16 bytes |
    | `box` | elements that one copy moves, in the order of the array's dimensions: `(64, 128)` is 64 rows of 128 elements. (The instructions and `cuTensorMapEncodeTiled` count dimensions from the last one.) |
    | `swizzle` | `none`, `32B`, `64B`, `128B`, `128B_atom_32B`, `128B_atom_32B_flip_8B`, `128B_atom_64B` |
    | `dtype` | element type by its name in manifests, if not the array's: `u8`, `bf16`, `tf32`, ... |
    | `interleave` | `none`, `16B`, `32B` |
    | `fill` | what a copy reads out of bounds: `zero`, `nan` |
    | `element_strides` | one in so many elements of a box is read; as many as dimensions, 1 if absent |
    | `shape`, `strides` | of the map, if not the array's: elements and bytes, in the order of `box`; both or none. The map begins at the array's first element |

    The rules of the driver (box sizes, alignment, swizzle spans) are checked by the launch.
    """

    array: np.ndarray
    box: Sequence[int]
    swizzle: str = "none"
    dtype: str | None = None
    interleave: str = "none"
    fill: str = "zero"
    element_strides: Sequence[int] | None = None
    shape: Sequence[int] | None = None
    strides: Sequence[int] | None = None


def launch(
    kernel: str | os.PathLike,
    grid: int | Sequence[int] | None = None,
    block: int | Sequence[int] | None = None,
    cluster: int | Sequence[int] = (1, 1, 1),
    smem: int = 0,
    args: Sequence | Mapping = (),
    entry: str | None = None,
    *,
    check: bool = True,
    time: bool = False,
    allow: str | Sequence[str] = (),
    seeds: int | tuple[int, int] = 0,
    keep_going: bool = False,
    policy: str = "random",
    max_instructions: int = 0,
    threads: int = 0,
    timeout: float | None = None,
) -> LaunchResult:
    """Runs a kernel in fa4-sim, and copies what it wrote into the arrays among its arguments.

    `kernel` is PTX text, the path of a PTX file, or the path of what says by itself how to launch: a record (`launch-N.json`,
    or a folder of them) or a manifest (docs/simulator-manifest.md).

    For PTX, `grid`, `block` and `cluster` are one to three numbers (CTAs, threads, CTAs), `smem` is the dynamic shared
    memory in bytes, and `entry` the kernel's name, which may be absent when the PTX has one. `args` has one entry for each
    parameter:

    | argument | parameter |
    |---|---|
    | array of `DTYPES` | 8 bytes: a pointer to its first element. Strides are kept; arrays that share memory share it in the kernel too; others are apart, each at a multiple of 256 bytes. Elements are copied in, and back behind the launch; what the kernel writes between the elements of a strided array is lost. An array without elements is a null pointer |
    | int, bool | an integer of the parameter's size, which it must fit |
    | float | `.f16`, `.bf16`, `.f32`, `.b32`, `.f64`, `.b64`: rounded to it. For a `.b16` give a numpy scalar |
    | numpy scalar | one of its size; an integer for no `.f` and a float for no `.u` or `.s` |
    | `TensorMap` | 128 bytes, aligned to 64 |
    | `bytes` | one of this size, as it is |
    | dict: byte offset -> argument | a struct, the rest of it zeros. Numbers in it are numpy scalars |

    For records and manifests `args` is a dict: name of a tensor -> array of the tensor's shape, name of a size -> number;
    grid and the like are theirs. Tensors that are no arguments are what the file says (zeros, if nothing).

    `time` asks the clock of the chip's model, too: the result has `times`. With `check=False` a timed launch runs only as many
    CTAs as the time needs, and the arrays stay as they are.

    `check` turns the search for races on, `allow` leaves out kinds of findings ("strict": all that hardware tolerates). `seeds` is one seed, or a first and a last:
    one run for each, from the same memory; the arrays get what the last run wrote. `policy` is how things are ordered:
    "random", or asynchronous work "eager" or "lazy", or warps by "priority". `max_instructions` of warps end a launch, if it is
    not 0; `threads` work on it, as many as the machine has if it is 0. With `keep_going` findings are returned instead of
    raised, and results are copied back all the same.

    Raises TypeError or ValueError for arguments that do not fit the kernel, KernelError when the kernel has a finding, when
    fa4-sim refuses the launch, and after `timeout` seconds; the arrays are then as they were."""
    seeds = (seeds, seeds) if isinstance(seeds, (int, np.integer)) else tuple(seeds)
    if len(seeds) != 2 or not 0 <= seeds[0] <= seeds[1] < 2**63:
        raise ValueError(f"seeds is one number, or a first and a last, not {seeds}")
    for name, value, limit in (("max_instructions", max_instructions, 2**64 - 1), ("threads", threads, 1024)):
        if not 0 <= value <= limit:
            raise ValueError(f"{name} is a number from 0 to {limit}, not {value}")
    kinds = allow if isinstance(allow, str) else ",".join(allow)
    path, ptx = _read_kernel(kernel)
    if ptx is None:
        if (grid, block, cluster, smem, entry) != (None, None, (1, 1, 1), 0, None):
            raise TypeError(f"{path} says itself how it is launched; grid, block, cluster, smem, entry are for PTX")
        call = _DescribedCall(path, args)
    else:
        call = _PtxCall(path, ptx, entry, args, (grid, block, cluster, smem))
    options = {"check": check, "keepGoing": keep_going, "allow": kinds.encode(), "policy": policy.encode()}
    options |= {"maxInstructions": max_instructions, "threads": threads}
    try:
        with call.open() as simulation:
            result = _run(simulation, range(seeds[0], seeds[1] + 1), time, timeout, options)
            # Of a launch that runs for its time alone the results mean nothing.
            if check or not time:
                call.copy_back(simulation)
    except SimulationError as error:
        raise error if isinstance(error, KernelError) else _as_kernel_error(error) from None
    return result


def _as_kernel_error(error):
    """The library's error, in whose text the parameters have the names that they have here."""
    return KernelError(str(error).removeprefix("manifest: ").replace("launches[0].params[", "args["))


def _read_kernel(kernel):
    """The path of a PTX file, which need not be there for PTX text, and its text; or the path of a record or manifest, and None."""
    text = isinstance(kernel, str)
    if text and ("\n" in kernel or ".version" in kernel):
        return Path("kernel.ptx"), kernel
    if not text and not isinstance(kernel, os.PathLike):
        raise TypeError(f"kernel is PTX text or a path, not {type(kernel).__name__}")
    path = Path(kernel)
    if not path.exists():
        raise FileNotFoundError(f"kernel is neither PTX text nor a file that is there: {str(kernel)[:200]!r}")
    path = path.absolute()
    return path, None if path.is_dir() or path.suffix == ".json" else path.read_text(errors="replace")


def _run(simulation, seeds, timed, timeout, options):
    """Runs once for each seed. Raises KernelError with the findings."""
    end = None if timeout is None else clock.monotonic() + timeout
    runs = []
    for seed in seeds:
        left = None if end is None else max(end - clock.monotonic(), 0)
        try:
            report = simulation.report(timed=timed, timeout=left, seed=seed, **options)
        except TimeoutError:
            raise KernelError(f"no result after {timeout} s") from None
        runs += report["runs"]
        if report["findings"] > report["strict"] and not options["keepGoing"]:
            break
    findings = tuple(
        Finding(report["kind"], report["message"].strip(), report["text"].strip(), report["count"], run["seed"], report["severity"])
        for run in runs
        for report in run["reports"]
    )
    if findings and not options["keepGoing"]:
        first = findings[0]
        raise KernelError(f"seed {first.seed}: " * bool(first.seed) + "\n".join(f.text for f in findings), findings)
    sums = {f.name: sum(run["stats"][f.name] for run in runs) for f in fields(Statistics)}
    return LaunchResult(findings, Statistics(**sums), len(runs), tuple(run["time"] for run in runs if "time" in run))


# ---------------------------------------------------------------------------
# Arguments of a PTX kernel
# ---------------------------------------------------------------------------


@dataclass
class _Region:
    """Host memory from `low` to `high` that arrays among the arguments lie in: one tensor of the manifest."""

    low: int
    high: int
    arrays: list = field(default_factory=list)  # (array, its name in messages)

    def view(self, array, contents):
        """The array's elements in a copy of the region."""
        offset = array.ctypes.data - self.low
        return np.ndarray(array.shape, array.dtype, contents, offset, array.strides)

    def contents(self):
        contents = np.zeros(self.high - self.low, np.uint8)
        for array, _ in self.arrays:
            self.view(array, contents)[...] = array
        return contents


def _region_of(array, where):
    reach = [(n - 1) * stride for n, stride in zip(array.shape, array.strides)]
    low = array.ctypes.data + sum(min(r, 0) for r in reach)
    high = array.ctypes.data + sum(max(r, 0) for r in reach) + array.itemsize
    return _Region(low, high, [(array, where)])


def _merge(regions):
    """Regions that overlap become one."""
    merged = []
    for region in sorted(regions, key=lambda r: r.low):
        if merged and region.low < merged[-1].high:
            merged[-1].high = max(merged[-1].high, region.high)
            merged[-1].arrays += region.arrays
        else:
            merged.append(region)
    return merged


def _dtype_name(dtype, where):
    for name, known in DTYPES.items():
        if dtype == known:
            return name
    raise TypeError(f"{where} has elements of type {dtype}; a kernel takes arrays of {', '.join(map(str, DTYPES.values()))}")


def _triple(value, name):
    if value is None:
        raise TypeError(f"{name} is missing; only records and manifests have their own")
    values = [value] if isinstance(value, (int, np.integer)) else list(value)
    if not 1 <= len(values) <= 3 or not all(isinstance(v, (int, np.integer)) and 1 <= v < 2**32 for v in values):
        raise ValueError(f"{name} is one to three numbers from 1, not {value!r}")
    return [int(v) for v in values]


class _PtxCall:
    """A launch of a PTX file, for which a manifest is written."""

    def __init__(self, path, ptx, entry, args, shape):
        """`shape` is the grid, the block, the cluster and the dynamic shared memory."""
        self.path, self.ptx = path, ptx
        self.entry = self.find_entry(entry)
        if isinstance(args, (Mapping, str, bytes)):
            raise TypeError(f"args of a PTX kernel is a sequence, not {type(args).__name__}")
        args, params = list(args), self.entry["params"]
        if len(args) != len(params):
            names = ", ".join(self.spell(p) for p in params)
            raise TypeError(f"entry '{self.entry['name']}' has {len(params)} parameters ({names}), args has {len(args)}")
        places = [f"args[{i}] ({self.spell(p)})" for i, p in enumerate(params)]
        self.regions = _merge([_region_of(a, where) for arg, where in zip(args, places) for a in self.arrays_in(arg) if a.size])
        self.params = [self.encode(arg, p, where) for arg, p, where in zip(args, params, places)]
        self.manifest = self.describe(*shape)

    @staticmethod
    def spell(param):
        """As PTX declares it: `.u32 k_param_0`, `.b8 k_param_1[128]`."""
        count = f"[{param['bytes']}]" if param["array"] else ""
        return f".{param['type']} {param['name']}{count}"

    def find_entry(self, name):
        try:
            described = _library.describe_ptx(str(self.path), self.ptx)
        except SimulationError as error:
            raise _as_kernel_error(error) from None
        entries = {entry["name"]: entry for entry in described["entries"]}
        known = ", ".join(entries) or "none"
        if name is None and len(entries) == 1:
            return next(iter(entries.values()))
        if name is None:
            raise ValueError(f"{self.path.name} has {len(entries)} entries; entry must be one of: {known}")
        if name not in entries:
            raise ValueError(f"{self.path.name} has no entry '{name}'; there is: {known}")
        return entries[name]

    def arrays_in(self, arg):
        if isinstance(arg, np.ndarray):
            yield arg
        elif isinstance(arg, TensorMap) and isinstance(arg.array, np.ndarray):
            yield arg.array
        elif isinstance(arg, Mapping):
            for value in arg.values():
                yield from self.arrays_in(value)

    def place_of(self, array):
        """The tensor that holds an array, and the byte at which the array begins."""
        address = array.ctypes.data
        index = next(i for i, r in enumerate(self.regions) if r.low <= address < r.high)
        return f"memory{index}", address - self.regions[index].low

    # Each `encode...` returns a parameter of the manifest.

    def encode(self, arg, param, where):
        if isinstance(arg, np.ndarray):
            if param["bytes"] != POINTER_BYTES or param["array"] or "f" in param["type"]:
                raise TypeError(f"{where} is not the 8 bytes of a pointer, which an array needs")
            return self.encode_pointer(arg, where)
        if isinstance(arg, TensorMap):
            if param["bytes"] != MAP_BYTES or param["align"] < MAP_ALIGNMENT:
                raise TypeError(f"{where} is not the 128 bytes, aligned to 64, that a tensor map needs")
            return self.encode_map(arg, where)
        if isinstance(arg, Mapping):
            return self.encode_struct(arg, param, where)
        return {"bytes": self.scalar(arg, param, where).hex()}

    def encode_pointer(self, array, where):
        _dtype_name(array.dtype, where)
        if not array.size:
            return {"bytes": bytes(POINTER_BYTES).hex()}
        tensor, offset = self.place_of(array)
        return {"tensor": tensor, "offset": offset}

    def encode_map(self, given, where):
        if not isinstance(given.array, np.ndarray):
            raise TypeError(f"{where}: the array of a TensorMap is a numpy array, not {type(given.array).__name__}")
        if not given.array.size:
            raise ValueError(f"{where}: the array of a TensorMap has no elements")
        if (given.shape is None) != (given.strides is None):
            raise ValueError(f"{where}: shape and strides of a TensorMap are given both, or neither")
        shape = given.array.shape if given.shape is None else tuple(given.shape)
        strides = given.array.strides if given.strides is None else tuple(given.strides)
        lists = {"box": given.box, "strides": strides, "element_strides": given.element_strides}
        for name, values in lists.items():
            if values is not None and len(values) != len(shape):
                raise ValueError(f"{where}: {name} of a TensorMap has {len(values)} entries for {len(shape)} dimensions")
        if not shape or strides[-1] != given.array.itemsize and shape[-1] != 1:
            raise ValueError(f"{where}: the last dimension of a TensorMap's array is contiguous, not {strides} bytes apart")
        tensor, offset = self.place_of(given.array)
        # int8 and fp8 have no element type of their own.
        own = "u8" if given.array.itemsize == 1 else _dtype_name(given.array.dtype, where)
        backwards = {name: [int(n) for n in reversed(values)] for name, values in lists.items() if values is not None}
        strides = {"byte_strides": backwards.pop("strides")[1:]}
        dims = {"dims": [int(n) for n in reversed(shape)]}
        place = {"tensor": tensor, "offset": offset, "dtype": given.dtype or own}
        modes = {"swizzle": given.swizzle, "interleave": given.interleave, "oob_fill": given.fill}
        return {"tensormap": {**place, **dims, **strides, **backwards, **modes}}

    def encode_struct(self, given, param, where):
        if not param["array"]:
            raise TypeError(f"{where} is no struct, which a dict is for")
        encoded = []
        for offset, value in given.items():
            place = f"{where} at byte {offset}"
            if not isinstance(offset, (int, np.integer)):
                raise TypeError(f"{where}: the keys of a struct are byte offsets, not {offset!r}")
            if isinstance(value, np.ndarray):
                part, size = self.encode_pointer(value, place), POINTER_BYTES
            elif isinstance(value, TensorMap):
                part, size = self.encode_map(value, place), MAP_BYTES
            elif isinstance(value, (bytes, np.generic)):
                data = value if isinstance(value, bytes) else value.tobytes()
                part, size = {"bytes": data.hex()}, len(data)
            else:
                raise TypeError(f"{place}: a struct has arrays, TensorMaps, numpy scalars and bytes, not {type(value).__name__}")
            if offset < 0 or offset + size > param["bytes"]:
                raise ValueError(f"{place}: {size} bytes are not within the struct's {param['bytes']}")
            encoded.append({**part, "at": int(offset)})
        return {"struct": encoded, "size": param["bytes"]}

    @staticmethod
    def scalar(value, param, where):
        """The bytes of a number, or of a struct that is given as bytes."""
        size, kind = param["bytes"], "b" if param["array"] else param["type"].strip("0123456789x")
        if isinstance(value, (bytes, bytearray, np.generic)):
            data = value.tobytes() if isinstance(value, np.generic) else bytes(value)
            what = type(value).__name__
            if len(data) != size:
                raise ValueError(f"{where} has {size} bytes, {what} {len(data)}")
            is_float = isinstance(value, np.generic) and value.dtype.kind not in "biuV" or what == "bfloat16"
            if isinstance(value, np.generic) and kind != "b" and is_float != kind.endswith("f"):
                raise TypeError(f"{where} does not take a {what}")
            return data
        if not isinstance(value, (int, float)):
            raise TypeError(
                f"{where}: an argument is a numpy array, a number, a TensorMap, bytes or a dict, not {type(value).__name__}"
            )
        if param["array"]:
            raise TypeError(f"{where} is no number; give bytes, a numpy scalar or a dict")
        if kind.endswith("f") or isinstance(value, float):
            name = param["type"] if kind.endswith("f") else {"b32": "f32", "b64": "f64"}.get(param["type"])
            if name not in DTYPES:
                raise TypeError(f"{where} does not take a Python float; give a numpy scalar of its size")
            return DTYPES[name].type(value).tobytes()
        low = 0 if kind == "u" and value >= 0 else -(1 << (8 * size - 1))
        if not low <= value < 1 << 8 * size or kind == "s" and value >= 1 << (8 * size - 1):
            raise ValueError(f"{where}: {value} does not fit {8 * size} bits")
        return (int(value) % (1 << 8 * size)).to_bytes(size, "little")

    def describe(self, grid, block, cluster, smem):
        """The text of the manifest."""
        tensors = {
            f"memory{index}": {"dtype": "u8", "shape": [region.high - region.low], "role": "inout"}
            for index, region in enumerate(self.regions)
        }
        if not isinstance(smem, (int, np.integer)) or smem < 0:
            raise ValueError(f"smem is a number of bytes, not {smem!r}")
        shape = {"grid": _triple(grid, "grid"), "block": _triple(block, "block")}
        if (cluster := _triple(cluster, "cluster")) != [1, 1, 1]:
            shape["cluster"] = cluster
        launched = {"ptx": str(self.path), "entry": self.entry["name"], "dynamic_smem": int(smem), "params": self.params}
        return json.dumps({"tensors": tensors, "launches": [{**launched, **shape}]})

    @contextlib.contextmanager
    def open(self):
        """The simulation with the PTX and the memory that the kernel starts with."""
        with _library.Simulation(self.manifest) as simulation:
            simulation.set_module(str(self.path), self.ptx)
            for index, region in enumerate(self.regions):
                simulation.set_array(f"memory{index}", region.contents())
            yield simulation

    def copy_back(self, simulation):
        results = [simulation.get_array(f"memory{i}", (r.high - r.low,), np.uint8) for i, r in enumerate(self.regions)]
        for region, result in zip(self.regions, results):
            if any(array.flags.writeable for array, _ in region.arrays):
                continue
            for array, where in region.arrays:
                if region.view(array, result).tobytes() != array.tobytes():
                    raise ValueError(f"{where}: the kernel wrote to an array that is read-only")
        for region, result in zip(self.regions, results):
            for array, _ in region.arrays:
                if array.flags.writeable:
                    array[...] = region.view(array, result)


# ---------------------------------------------------------------------------
# Arguments of a record or a manifest
# ---------------------------------------------------------------------------


class _DescribedCall:
    """A launch that a file describes: a manifest, a record, or a folder of records."""

    def __init__(self, path, args):
        self.path, self.scalars = path, {}
        if not isinstance(args, Mapping) and len(args):
            raise TypeError(f"args of {path.name} is a dict: name of a tensor or a size -> array or number")
        self.tensors = self.read_tensors()
        self.arrays = {name: value for name, value in dict(args).items() if isinstance(value, np.ndarray)}
        for name, value in dict(args).items():
            if name in self.arrays:
                self.check_array(name, value)
            elif isinstance(value, (int, float, np.number)):
                self.scalars[name] = np.asarray(value).item()
                if isinstance(self.scalars[name], int) and not -(2**63) <= self.scalars[name] < 2**63:
                    raise ValueError(f"args['{name}']: {value} does not fit 64 bits")
            else:
                raise TypeError(f"args['{name}'] is a numpy array or a number, not {type(value).__name__}")

    def read_tensors(self):
        files = sorted(self.path.glob("launch-*.json")) if self.path.is_dir() else [self.path]
        try:
            return {k: v for file in files for k, v in json.loads(file.read_text()).get("tensors", {}).items()}
        except (ValueError, AttributeError):
            return {}  # The library has the better message.

    def check_array(self, name, array):
        if name not in self.tensors:
            known = ", ".join(self.tensors) or "none"
            raise ValueError(f"{self.path.name} has no tensor '{name}'; there is: {known}")
        where = f"args['{name}']"
        _dtype_name(array.dtype, where)
        dtype = self.dtype(name)
        if array.dtype not in (dtype, np.float16, np.float32, np.float64, np.dtype(f"u{dtype.itemsize}")):
            raise TypeError(f"{where} has elements of type {array.dtype}, the tensor of {dtype}")
        if not array.flags.writeable and self.tensors[name].get("role") == "out":
            raise ValueError(f"{where} is read-only, and the launch writes it")

    def dtype(self, name):
        return DTYPES[self.tensors[name]["dtype"]]

    @contextlib.contextmanager
    def open(self):
        """The simulation with the numbers and the arrays of the call."""
        with _library.Simulation(self.path) as simulation:
            for name, value in self.scalars.items():
                simulation.set_number(name, value)
            for name, array in self.arrays.items():
                # The shapes of arrays give a manifest its sizes; of tensors that are written first only the call can.
                if self.tensors[name].get("role") != "out":
                    fp8 = array.dtype in (DTYPES["e4m3"], DTYPES["e5m2"])
                    to_npy(file := io.BytesIO(), array.view(np.uint8) if fp8 else array)
                    simulation.set_npy(name, file.getvalue())
            yield simulation

    def copy_back(self, simulation):
        for name, array in self.arrays.items():
            if (shape := simulation.shape_of(name)) != array.shape:
                raise ValueError(f"args['{name}'] has shape {array.shape}, the tensor {shape}")
        for name, array in self.arrays.items():
            if array.flags.writeable:
                dtype = self.dtype(name)
                values = simulation.get_array(name, array.shape, dtype)
                is_bits = array.dtype.kind == "u" and dtype.kind not in "biu"
                array[...] = values.view(array.dtype) if is_bits else values.astype(array.dtype)
