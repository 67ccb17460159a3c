# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled kernels: what was made of an op, run on numpy arrays in the simulator or on tensors of a GPU."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fa4 import _library, cache, cuda_tools, diagnostics
from fa4._cuda import native_chip
from fa4.arrays import Results, as_array, as_number, numpy_dtype
from fa4.errors import CompileError, CompileWarning, Fa4Error, SimulationError
from fa4.spec import LISTS, QUERY_LISTS, Spec, SpecError, is_whole

@dataclass(frozen=True)
class Time:
    """What a call takes by the clock of fa4-sim, which docs/timing.md describes: a model, no measurement. Several
    launches are added up; `launches` has what `fa4-sim --time --json` prints of each. `flops` are the operations of useful
    products of matrices: of the pairs of a query and a key that the spec's `mask` and `mask_mod` see (Spec.count_flops), and
    no more than the tensor cores do, `executed_flops`: a tile of 128 rows is computed whole, of one query, too. Of a
    kernel without a spec they are those."""

    cycles: float
    seconds: float
    flops: float
    executed_flops: float
    launches: list = field(repr=False)

    @property
    def teraflops(self) -> float:
        """Useful products of matrices, in 10^12 operations a second."""
        return self.flops / self.seconds / 1e12 if self.seconds else 0.0

    def __str__(self):
        return f"{self.seconds * 1e6:.1f} us ({self.cycles:.0f} cycles), {self.teraflops:.0f} TFLOP/s, modelled"


def sizes_to_give(manifest: Mapping) -> list[str]:
    """The sizes of a manifest without a default; a call has them by itself, or by the shapes of its arrays. Strides that nobody gives are
    those of row-major tensors."""
    strides = {str(stride) for tensor in manifest["tensors"].values() for stride in tensor.get("strides") or ()}
    return [name for name, value in (manifest.get("sizes") or {}).items() if value is None and name not in strides]


def _strides_in_elements(array) -> tuple[int, ...]:
    """What strides a kernel is to see: those of the array, where the copy engine takes such strides, else those of a copy."""
    size = array.itemsize
    if array.ndim and (array.shape[-1] == 1 or array.strides[-1] == size):
        if all(stride >= 0 and stride % 16 == 0 for stride, count in zip(array.strides[:-1], array.shape) if count > 1):
            return tuple(stride // size for stride in array.strides)
    strides, count = [], 1
    for length in reversed(array.shape):
        strides.append(count)
        count *= length
    return tuple(reversed(strides))


def _number_below(name: str, value, end: int) -> int:
    """A whole number from 0 to one below `end`."""
    if not is_whole(value):
        raise TypeError(f"{name} is a whole number, not {value!r}")
    if not 0 <= value < end:
        raise SpecError(f"{name} is {value}, and numbers from 0 to {end - 1} are taken")
    return int(value)


def _compile(text: str, emit: str, options: Mapping, use_cache: bool | None) -> cache.Entry:
    """The artefacts of a module, from the cache or from the compiler."""
    ptxas = options.get("ptxas")
    parts = {
        "text": text, "emit": emit, "options": {k: v for k, v in options.items() if k != "ptxas"},
        "library": cache.build_of(_library.find()), "ptxas": ptxas and [ptxas, cache.build_of_tool(ptxas)],
    }  # fmt: skip
    key, on = cache.key_of(**parts), cache.is_on() if use_cache is None else use_cache
    entry = cache.load(key) if on else None
    if entry is None:
        files, report, said = _library.compile_text(text, emit=emit, **options)
        about = {"chip": options.get("chip") or "", "emit": emit, "files": sorted(files)}
        entry = cache.Entry(files, report, said, about)
        if on:
            cache.store(key, entry)
    for severity, message in entry.said:
        if severity == "warning":
            warnings.warn(message, CompileWarning, stacklevel=4)
    return entry


def compile(
    op: Spec | str, chip: str | None = None, *, options: str | Mapping[str, Any] = "", verify: bool | None = None,
    ptxas: str | None = None, allow_spills: bool = False, cache: bool | None = None,
) -> Kernel:  # fmt: skip
    """Compiles an op for a chip, or takes the kernel from the cache on disk.

    `op`: a spec, or the text of an MLIR module with one function that has one attention op. `chip`: "sm_100a" (the
    default), "sm_103a", "sm_90a" (Hopper: forward attention), or "native", that of this machine's GPU: torch's current one where torch uses GPUs, else
    the driver's first. `options`: of the pipeline attn-to-nvvm, as a text ("schedule=lpt mmas-ahead=true") or a dict.
    `verify`: whether ptxas checks the PTX for spills; None: where there is one. `ptxas`: its path, else it is looked for
    where docs/fa4-compile.md says. `allow_spills`: spills are a CompileWarning and no error. `cache`: whether to use the
    cache on disk; None: unless FA4_CACHE=0.

    Raises CompileError, TraceError where score_mod or mask_mod cannot be traced, LibraryNotFoundError, and LaunchError where "native" finds no GPU that fa4
    knows."""
    if not isinstance(op, (Spec, str)):
        raise TypeError(f"op is a spec, as fa4.sdpa returns it, or the text of an MLIR module, not {type(op).__name__}")
    for name, value, kinds, what in (
        ("chip", chip, (str, type(None)), "the name of a chip"), ("options", options, (str, Mapping), "a text or a dict"),
        ("verify", verify, (bool, type(None)), "True, False or None"), ("ptxas", ptxas, (str, os.PathLike, type(None)), "a path or None"),
        ("allow_spills", allow_spills, bool, "True or False"), ("cache", cache, (bool, type(None)), "True, False or None"),
    ):  # fmt: skip
        if not isinstance(value, kinds):
            raise TypeError(f"{name} is {what}, not {value!r}")
    if chip == "native":
        chip = native_chip()
    ptxas = ptxas and os.fspath(ptxas)
    if not isinstance(options, str):
        if wrong := [name for name in options if not isinstance(name, str)]:
            raise TypeError(f"options have names, and {wrong[0]!r} is none")
        options = " ".join(f"{k.replace('_', '-')}={str(v).lower() if isinstance(v, bool) else v}" for k, v in options.items())
    if ptxas is None and verify is not False and os.environ.get("FA4_VERIFY_PTX") != "0":
        ptxas = cuda_tools.find()
    text = op.text if isinstance(op, Spec) else op
    given = {"chip": chip, "pipeline": options, "verify": verify, "ptxas": ptxas, "allow_spills": allow_spills}
    spec = op if isinstance(op, Spec) else None
    try:
        entry = _compile(text, "ptx", given, cache)
    except CompileError as error:
        if spec is None:
            raise
        raise diagnostics.in_words_of(error, text, spec.traced, spec.all_captures) from None
    return Kernel(text, spec, given, cache, entry)


class Kernel:
    """One attention op, compiled: one kernel, or several that are launched in turn, as for the gradient."""

    def __init__(self, text: str, spec: Spec | None, options: Mapping, use_cache: bool | None, entry):
        self.text, self.spec = text, spec
        self._options, self._cache, self._files = options, use_cache, entry.files
        self._runtime: Any = None
        manifests = {name: json.loads(data) for name, data in self._files.items() if name.endswith(".json")}
        # A function of several launches has a manifest beside those of its kernels.
        several = [name for name, manifest in manifests.items() if "launches" in manifest]
        found = several or list(manifests)
        if len(found) != 1:
            raise Fa4Error(f"the module has {len(found)} functions with attention ops, not one")
        self.name = found[0].removesuffix(".json")
        self.manifest_text = self._files[found[0]].decode()

    def __repr__(self):
        return f"<fa4 kernel {self.name} for {self.chip}: {', '.join(self.modules)}>"

    @cached_property
    def manifest(self) -> dict:
        """How the kernels are launched (docs/simulator-manifest.md)."""
        return json.loads(self.manifest_text)

    @property
    def chip(self) -> str:
        """The target, as "sm_100a"."""
        return self.manifest.get("comment", {}).get("chip") or self._options["chip"] or "sm_100a"

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the tensors that are written."""
        tensors = self.manifest["tensors"]
        written = [name for name, tensor in tensors.items() if tensor.get("role") == "out"]
        return self.spec.outputs if self.spec else tuple(written)

    @property
    def launches(self) -> list[dict]:
        """The launches of the manifest in their order."""
        return self.manifest.get("launches") or [self.manifest]

    @cached_property
    def modules(self) -> dict[str, str]:
        """The PTX of each launch by its file's name in the manifest."""
        names = dict.fromkeys(launch["ptx"] for launch in self.launches)
        return {name: self._files[name].decode() for name in names}

    def _only(self, files: Mapping, what: str):
        if len(files) != 1:
            raise Fa4Error(f"{self.name} has {len(files)} kernels; `{what}` has all of them")
        return next(iter(files.values()))

    @property
    def ptx(self) -> str:
        """The PTX, of an op that is one kernel; `modules` has that of all."""
        return self._only(self.modules, "modules")

    @cached_property
    def cubins(self) -> dict[str, bytes]:
        """Machine code by file name, from ptxas, in the order of the launches. Raises CompileError where there is none."""
        options = {**self._options, "verify": True}
        made = _compile(self.text, "ptx,cubin", options, self._cache).files
        return {name: made[name] for name in (f"{ptx.removesuffix('.ptx')}.cubin" for ptx in self.modules)}

    @property
    def cubin(self) -> bytes:
        """The machine code, of an op that is one kernel; `cubins` has that of all."""
        return self._only(self.cubins, "cubins")

    def ir(self, level: str) -> str:
        """The module at a level: "tile", "schedule", "nvvm", ... (docs/fa4-compile.md lists all), or "llvm" for LLVM IR."""
        if not isinstance(level, str):
            raise TypeError(f"level is the name of a level of IR, not {level!r}")
        suffix = ".ll" if level == "llvm" else f".{level}.mlir"
        options = {**self._options, "verify": False, "ptxas": None}
        made = _compile(self.text, level, options, self._cache).files
        found = [data.decode() for name, data in made.items() if name.endswith(suffix)]
        if not found:
            raise Fa4Error(f"'{level}' is no level of IR")
        return "\n".join(found)

    def report(self) -> str:
        """What the compiler has decided, as text: the schedule of each role, the roofline, the memory map, the modelled time
        of a CTA, and what ptxas says."""
        options = {**self._options, "report": True}
        return _compile(self.text, "ptx", options, self._cache).report

    # -----------------------------------------------------------------------
    # Calls
    # -----------------------------------------------------------------------

    def _names(self) -> dict[str, str]:
        """The names that a call may use for scalars -> those of the manifest."""
        names = {name: name for name in self.manifest.get("sizes", {})}
        for position, name in enumerate(self.spec.all_captures if self.spec else ()):
            names[name] = f"capture{position}"
        return names

    def complete(self, call: Mapping, device=None) -> dict:
        """The call with the captures that the spec's functions have reached by themselves: arrays of numpy and numbers, or
        tensors on a device of torch. Raises SpecError."""
        found = {name: each for name, each in (self.spec.found if self.spec else {}).items() if name not in call}
        try:
            return {**{name: each.numpy() if device is None else each.on(device) for name, each in found.items()}, **call}
        except ValueError as error:
            raise SpecError(str(error)) from None

    @cached_property
    def unread(self) -> set[str]:
        """The spec's tensors that no kernel reads, such as a gradient's block_list where all tiles are keys: they are not in the manifest."""
        return set(self.spec.tensors) - set(self.manifest["tensors"]) if self.spec else set()

    def by_manifest(self, call: Mapping) -> dict:
        """The call with captured tensors by the manifest's names, and without tensors that no kernel reads."""
        tensors, unread = self.spec.captured_tensors if self.spec else {}, self.unread
        names = self._names()
        return {names[name] if name in tensors else name: value for name, value in call.items() if name not in unread}

    def _types_of_captures(self) -> dict[str, str]:
        """The types of the captures that are numbers, as the manifest has them."""
        params = [param for launch in self.launches for param in launch.get("params", ())]
        return {param["value"]: param["type"] for param in params if str(param.get("value")).startswith("capture")}

    def numbers_of(self, call: Mapping, shapes: Mapping[str, Iterable[int]]) -> dict[str, int | float]:
        """The scalars of a call by their names in the manifest: sizes, checked against the spec, and captures."""
        names = self._names()
        known = set(names)
        if self.spec:
            tensors = self.spec.tensors | self.spec.captured_tensors
            sizes = {name for shape in tensors.values() for name in shape if isinstance(name, str)}
            known |= sizes
        types = self.spec.all_captures if self.spec else self._types_of_captures()
        numbers: dict[str, int | float] = {}
        for name, value in call.items():
            if name not in known:
                has = ", ".join([*self.manifest["tensors"], *sorted(known)])
                raise SpecError(f"{self.name} has no '{name}'; there is: {has}")
            numbers[name] = as_number(name, value, types.get(name))
        if not self.spec:
            return numbers
        tensors = {names[name]: name for name in self.spec.captured_tensors}
        shapes = {tensors.get(name, name): shape for name, shape in shapes.items()}
        wanted = {name: kind for name, kind in self.spec.all_captures.items() if name not in self.spec.captured_tensors}
        if missing := [name for name in wanted if name not in numbers]:
            raise SpecError(f"{self.name} needs the capture{'s' * (len(missing) > 1)} {', '.join(missing)}")
        bound = self.spec.bind(shapes, {name: numbers[name] for name in numbers if name in sizes})
        result = {names[name]: numbers[name] for name in wanted}
        result |= {name: value for name, value in numbers.items() if name not in wanted and name not in sizes}
        for name, size in self.spec.kernel_sizes(bound).items():
            if result.setdefault(name, size) != size:
                raise SpecError(f"{name} is {result[name]} in the call, and {size} by its arrays and the spec")
        for name in self.spec.captured_tensors.keys() & shapes.keys():
            self._check_capture(name, tuple(shapes[name]), result)
        return {name: value for name, value in result.items() if name in names.values()}

    def _check_capture(self, name: str, shape: tuple[int, ...], sizes: Mapping[str, int | float]):
        """Raises SpecError where a captured tensor has another size than the kernel reads, as of a number for each query head."""
        what = {"B": "sequences", "Hq": "query heads", "Hkv": "key/value heads", "Sq": "queries", "Sk": "keys"}
        for dim, (size, wanted) in enumerate(zip(shape, self.manifest["tensors"][self._names()[name]]["shape"])):
            known = sizes.get(str(wanted), size)
            if known != size:
                raise SpecError(f"{name} has shape {shape}: dimension {dim} is {size}, and there are {known} {what.get(str(wanted), wanted)}")

    def shape_of(self, tensor: str, sizes: Mapping[str, int | float]) -> tuple[int, ...]:
        """The shape of a tensor of the manifest, whose sizes are names and numbers."""
        shape = []
        for size in self.manifest["tensors"][tensor]["shape"]:
            if str(size) not in sizes and not str(size).isdigit():
                raise SpecError(f"size {size} of '{tensor}' is not known: no array of the call has it")
            shape.append(int(sizes.get(str(size), size)))
        return tuple(shape)

    def _prepare(self, simulation, call: Mapping) -> dict[str, int | float]:
        """Gives a call to a simulation; returns its numbers."""
        tensors = self.manifest["tensors"]
        arrays = {}
        own = {theirs: name for name, theirs in self._names().items()}
        call = self.by_manifest(self.complete(call))
        for name, value in call.items():
            if name in tensors:
                wanted, given = numpy_dtype(tensors[name]["dtype"]), own.get(name, name)
                array = as_array(given, value)
                if self.spec and self.spec.all_captures.get(given, "").startswith("bool "):
                    array = array.astype(wanted) if array.dtype == bool else array
                if array.dtype != wanted and not (array.dtype.kind in "fV" and wanted.kind in "fV"):
                    raise SpecError(f"{given} has elements of type {array.dtype}, not {wanted}")
                if tensors[name].get("role") == "out":
                    raise SpecError(f"'{name}' is written by the kernel, and returned")
                arrays[name] = array.astype(wanted, copy=False)
        numbers = self.numbers_of(
            {name: value for name, value in call.items() if name not in arrays}, {n: a.shape for n, a in arrays.items()}
        )
        for name, ptx in self.modules.items():
            simulation.set_module(name, ptx)
        sizes = self.manifest.get("sizes", {})
        for name, array in arrays.items():
            simulation.set_array(name, array)
            for size, wanted in zip(array.shape, tensors[name]["shape"]):
                if str(wanted) in sizes:
                    numbers.setdefault(str(wanted), size)
            # The kernel sees the strides of the array, but where a dimension has one element, whose stride means nothing.
            for stride, size, wanted in zip(_strides_in_elements(array), array.shape, tensors[name].get("strides") or ()):
                if str(wanted) in sizes and size > 1:
                    numbers.setdefault(str(wanted), stride)
        self._check_sizes(numbers)
        for name, value in numbers.items():
            simulation.set_number(name, value)
        return numbers

    def _check_sizes(self, numbers: Mapping):
        """Raises SpecError where a call leaves a size open; strides that nobody gives are those of a row-major tensor."""
        missing = [name for name in sizes_to_give(self.manifest) if name not in numbers]
        if missing:
            names = self.spec.names_of_sizes() if self.spec else {}
            listed = ", ".join(str(names.get(name, name)) for name in missing)
            raise SpecError(f"the call does not say how large {listed} {'is' if len(missing) == 1 else 'are'}")

    def simulate(self, *, check: bool = False, seed: int = 0, threads: int = 0, **call) -> Results:
        """Runs the kernel in fa4-sim, on a CPU.

        `call`: numpy arrays of the inputs by their names (q, k, v; for the gradient out, dout and lse too), in the spec's
        shapes. Arrays of another float type are rounded to the spec's. Captures are numbers, or arrays. `check` looks for races,
        missing fences and reads of what nobody has written, too. `seed`: the order in which warps and copies go on.
        `threads`: 0 for as many as the machine has.

        Returns new arrays of the results by their names, `results.out` (and `.lse`, or `.dq`, `.dk`, `.dv`). Raises
        SimulationError where the kernel has a finding, SpecError where the arrays are not those of the spec."""
        if not isinstance(check, bool):
            raise TypeError(f"check is True or False, not {check!r}")
        seed, threads = _number_below("seed", seed, 2**64), _number_below("threads", threads, 2**32)
        if absent := [name for name in (self.spec.captures if self.spec else ()) if name in self.spec.captured_tensors and name not in call]:
            raise SpecError(f"{self.name} needs the captured tensor{'s' * (len(absent) > 1)} {', '.join(absent)}")
        with _library.Simulation(self.manifest_text) as simulation:
            numbers = self._prepare(simulation, call)
            simulation.run(check=check, seed=seed, threads=threads)
            results = Results()
            for name in self.outputs:
                dtype = numpy_dtype(self.manifest["tensors"][name]["dtype"])
                results[name] = simulation.get_array(name, self.shape_of(name, numbers), dtype)
            return results

    def time(self, **call) -> Time:
        """What a call takes on the modelled chip, by the clock of fa4-sim.

        `call`: sizes by the names of the spec or of the manifest (`kernel.time(B=4, Sq=4096, Sk=4096)`), captures, and
        arrays where their contents matter, as cu_seqlens_q and cu_seqlens_k of packed sequences, page_table, or lists of blocks and their counts; sizes that
        the spec has as numbers need not be given. Raises SimulationError."""
        if self.spec:
            call = {**dict.fromkeys(self.spec.all_captures.keys() - self.spec.captured_tensors.keys(), 1), **call}
            if missing := [name for name in ("cu_seqlens_q", "cu_seqlens_k") if name in self.spec.tensors and name not in call]:
                raise SpecError(f"the call has no {' and no '.join(missing)}: the lengths of packed sequences say how much work there is")
            if self.spec.page_table and "page_table" not in call:
                raise SpecError("the call has no page_table: how many sequences read a page says how much memory is read")
            if missing := [name for name in (*LISTS, *QUERY_LISTS) if name in self.spec.tensors and name not in call]:
                raise SpecError(f"the call has no {' and no '.join(missing)}: lists say which blocks are computed")
        with _library.Simulation(self.manifest_text) as simulation:
            sizes = self._prepare(simulation, call)
            launches = json.loads(simulation.time())
        cycles, seconds, executed = (sum(launch[key] for launch in launches) for key in ("cycles", "seconds", "flops"))
        useful = min(self._count_flops(sizes, call), executed) if self.spec else executed
        return Time(cycles, seconds, useful, executed, launches)

    def _count_flops(self, sizes: Mapping, call: Mapping) -> int:
        captures = {name: value for name, value in self.complete(call).items() if name in self.spec.all_captures or name == "block_counts"}
        # Of few queries, the kernel has numbers in the places of some sizes.
        sizes = {**{name: size for name, size in self.spec.names_of_sizes().items() if isinstance(size, int)}, **sizes}
        if self.spec.page_table:
            sizes["Sk"] = int(sizes["SeqPages"]) * self.spec.page_size
        if not self.spec.is_packed:
            return self.spec.count_flops(**{n: int(sizes[n]) for n in ("B", "Hq", "Sq", "Sk")}, **captures)
        queries, keys = (self._lengths(name, call) for name in ("cu_seqlens_q", "cu_seqlens_k"))
        if self.spec.page_table:
            keys = as_array("seqlens_k", call["seqlens_k"]).tolist() if self.spec.seqlens_k else [sizes["Sk"]] * len(queries)
        listed = [{**captures, "block_counts": each[None]} for each in call["block_counts"]] if self.spec.block_list else [captures] * len(queries)
        return sum(self.spec.count_flops(B=1, Hq=int(sizes["Hq"]), Sq=each, Sk=other, **of) for each, other, of in zip(queries, keys, listed))

    def _lengths(self, name: str, call: Mapping) -> list[int]:
        """The lengths of packed sequences by their bounds; none where the op has no such bounds."""
        bounds = as_array(name, call[name]).tolist() if name in self.spec.tensors else []
        return [end - begin for begin, end in zip(bounds, bounds[1:])]

    def launch(self, stream=None, **call) -> None:
        """Launches the kernel on a GPU, through libfa4_runtime.so: no compilation, no waiting.

        `call`: tensors of a CUDA device by their names, inputs and results, as torch's, CuPy's or JAX's (anything with
        `__dlpack__`), in the spec's shapes and dtypes; captures are numbers. Results are written in place. `stream`: that
        of the launch, a number (a CUstream), an object with `cuda_stream` or `ptr`, or None for the device's default stream.

        The first call loads the kernel. Raises LaunchError with the runtime's sentence: no driver, another GPU, a
        wrong dtype, stride, alignment or size. Raises SpecError where shapes are not those of the spec."""
        self._loaded().launch(stream, call)

    def prepare(self, **call):
        """Checks a call as `launch` takes it, and makes all that its launches need. Returns an object whose `launch(stream)` does
        nothing else, for CUDA graphs and for calls that are made again and again; the tensors must live as long as it."""
        return self._loaded().prepare(call)

    def _loaded(self):
        from fa4 import _runtime

        if self._runtime is None:
            self._runtime = _runtime.LoadedKernel(self)
        return self._runtime

    def save(self, folder) -> list[str]:
        """Writes the PTX and the manifests into a folder, for fa4-sim and for the runtime library; returns their names."""
        os.makedirs(folder, exist_ok=True)
        for name, data in self._files.items():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(data)
        return list(self._files)


__all__ = ["Kernel", "SimulationError", "Time", "compile"]
