# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Replays recorded launches on the first GPU, on random data, and counts the cycles of its SMs.

Cycles are those of %clock64, which counts on an SM from one kernel to the next: a small kernel with a CTA on each SM reads it
in front of some launches of the kernel that is timed, and another one behind them. So a clock that power slows down
changes the time and not the cycles. What stands around the launches is the same for few and for many of them, and does not count."""

import array
import ctypes
import math
import random
import statistics
import struct

from fa4_bench.instructions.card import _LaunchAttribute, _LaunchConfig
from fa4_bench.timing import peers

BYTES = {"bool": 1, "u8": 1, "i8": 1, "bf16": 2, "f16": 2, "f32": 4, "i32": 4, "i64": 8}
_SHARED_BYTES = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES.
_CLUSTER, _NON_PORTABLE = 4, 14  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED.
_SPY_SHARED = 200 << 10  # More than half of an SM's: one CTA an SM.
_MULTIPROCESSORS = 132
SAMPLES, WARM_SECONDS, SAMPLE_SECONDS = 7, 0.02, 0.004

HELPERS = """.version 8.0
.target sm_90a
.address_size 64
// The SM's clock and the time, by the number of the SM.
.visible .entry spy(.param .u64 out)
{
  .reg .b64 %rd<8>; .reg .b32 %r<4>; .reg .pred %p<2>;
  mov.u32 %r1, %tid.x;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 ret;
  ld.param.u64 %rd1, [out];
  mov.u32 %r2, %smid;
  mul.wide.u32 %rd2, %r2, 16;
  add.u64 %rd1, %rd1, %rd2;
  mov.u64 %rd3, %clock64;
  mov.u64 %rd4, %globaltimer;
  st.global.v2.u64 [%rd1], {%rd3, %rd4};
  ret;
}
// Takes a number of nanoseconds, so that the launches behind it wait in the queue.
.visible .entry delay(.param .u64 nanoseconds)
{
  .reg .b64 %rd<5>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [nanoseconds];
  mov.u64 %rd2, %globaltimer;
$AGAIN:
  mov.u64 %rd3, %globaltimer;
  sub.u64 %rd4, %rd3, %rd2;
  setp.lt.u64 %p1, %rd4, %rd1;
  @%p1 bra $AGAIN;
  ret;
}
.visible .entry empty()
{
  ret;
}
// Normal numbers: the kind is 0 for bf16, 1 for f16, 2 for f32.
.visible .entry fill(.param .u64 out, .param .u64 count, .param .u32 seed, .param .u32 kind)
{
  .reg .b64 %rd<8>; .reg .b32 %r<16>; .reg .b16 %h<3>; .reg .f32 %f<8>; .reg .pred %p<4>;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [count];
  ld.param.u32 %r1, [seed];
  ld.param.u32 %r2, [kind];
  mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;
  mul.wide.u32 %rd3, %r3, %r4; cvt.u64.u32 %rd4, %r5; add.u64 %rd3, %rd3, %rd4;
  setp.ge.u64 %p1, %rd3, %rd2;
  @%p1 ret;
  // Two uniform numbers from a hash of the element's number.
  cvt.u32.u64 %r6, %rd3; mad.lo.u32 %r6, %r6, 2654435769, %r1;
  shr.u32 %r7, %r6, 16; xor.b32 %r6, %r6, %r7; mul.lo.u32 %r6, %r6, 2146121005;
  shr.u32 %r7, %r6, 15; xor.b32 %r6, %r6, %r7; mul.lo.u32 %r6, %r6, 2221713035;
  shr.u32 %r7, %r6, 16; xor.b32 %r6, %r6, %r7;
  mad.lo.u32 %r8, %r6, 1664525, 1013904223;
  shr.u32 %r7, %r8, 16; xor.b32 %r8, %r8, %r7; mul.lo.u32 %r8, %r8, 2146121005;
  shr.u32 %r7, %r8, 15; xor.b32 %r8, %r8, %r7;
  shr.u32 %r6, %r6, 8; add.u32 %r6, %r6, 1; cvt.rn.f32.u32 %f1, %r6; mul.f32 %f1, %f1, 0f33800000;
  shr.u32 %r8, %r8, 8; cvt.rn.f32.u32 %f2, %r8; mul.f32 %f2, %f2, 0f34C90FDB;
  // sqrt(-2 ln u) cos(2 pi v)
  lg2.approx.f32 %f1, %f1; mul.f32 %f1, %f1, 0fBFB17218; max.f32 %f1, %f1, 0f00000000; sqrt.approx.f32 %f1, %f1;
  cos.approx.f32 %f2, %f2; mul.f32 %f3, %f1, %f2;
  setp.eq.u32 %p2, %r2, 2;
  @%p2 bra $F32;
  shl.b64 %rd5, %rd3, 1; add.u64 %rd1, %rd1, %rd5;
  setp.eq.u32 %p3, %r2, 1;
  cvt.rn.bf16.f32 %h1, %f3;
  @%p3 cvt.rn.f16.f32 %h1, %f3;
  st.global.b16 [%rd1], %h1;
  ret;
$F32:
  shl.b64 %rd5, %rd3, 2; add.u64 %rd1, %rd1, %rd5;
  st.global.f32 [%rd1], %f3;
  ret;
}
"""


class Clocks:
    """What the management library says of the first GPU; nothing where it is not there."""

    def __init__(self):
        self.device = ctypes.c_void_p()
        try:
            self.library = ctypes.CDLL("libnvidia-ml.so.1")
            found = self.library.nvmlInit_v2() == 0 and self.library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self.device)) == 0
        except OSError:
            found = False
        self.found = found

    def _ask(self, name, *arguments):
        value = ctypes.c_uint()
        done = self.found and getattr(self.library, name)(self.device, *arguments, ctypes.byref(value)) == 0
        return value.value if done else None

    def read(self):
        """The SM's and the memory's clock in MHz, and the power in W."""
        power = self._ask("nvmlDeviceGetPowerUsage")
        return {"sm": self._ask("nvmlDeviceGetClockInfo", 1), "memory": self._ask("nvmlDeviceGetClockInfo", 2),
                "watts": power and round(power / 1000)}  # fmt: skip

    def power_limit(self):
        """In W."""
        limit = self._ask("nvmlDeviceGetEnforcedPowerLimit")
        return limit and round(limit / 1000)


class Function:
    """A kernel with its arguments, and how it is launched: on the stream `stream`, or None for the default one."""

    def __init__(self, card, function, grid, block, shared=0, cluster=(1, 1, 1), arguments=(), stream=None):
        self.card, self.function, self.stream = card, function, stream
        self.grid, self.block, self.shared, self.cluster = list(grid), list(block), shared, list(cluster)
        self.held = [ctypes.create_string_buffer(bytes(argument), len(argument)) for argument in arguments]
        self.arguments = (ctypes.c_void_p * max(1, len(self.held)))(*map(ctypes.addressof, self.held))
        self.attribute = _LaunchAttribute(_CLUSTER, b"", (ctypes.c_uint * 16)(*cluster))
        if shared > 48 << 10:
            card.call("cuFuncSetAttribute", function, _SHARED_BYTES, shared)

    def __call__(self, grid=None):
        config = _LaunchConfig(tuple(grid or self.grid), tuple(self.block), self.shared, self.stream, ctypes.pointer(self.attribute),
                               int(max(self.cluster) > 1))  # fmt: skip
        self.card.call("cuLaunchKernelEx", ctypes.byref(config), self.function, self.arguments, None)

    def resident(self):
        """How many CTAs fit on an SM."""
        count = ctypes.c_int()
        threads = math.prod(self.block)
        self.card.call("cuOccupancyMaxActiveBlocksPerMultiprocessor", ctypes.byref(count), self.function, threads,
                       ctypes.c_size_t(self.shared))  # fmt: skip
        return count.value


def _three(numbers):
    return [*numbers, 1, 1, 1][:3]


def _packed(kind, value):
    formats = {"i32": "<i", "u32": "<I", "i64": "<q", "u64": "<Q", "f32": "<f"}
    return struct.pack(formats[kind], value)


def relocated(parameter, moved):
    """The bytes of a parameter, given in hexadecimal; `moved` has the real address of each tensor by the upper half of the address that
    the record has made up."""
    raw = bytearray.fromhex(parameter)
    for at in range(0, len(raw) - 7, 4):
        (value,) = struct.unpack_from("<Q", raw, at)
        if value >> 44 == 7 and value >> 32 in moved:
            struct.pack_into("<Q", raw, at, moved[value >> 32] + (value & 0xFFFFFFFF))
    return bytes(raw)


class Replayer:
    """Launches records on a card. Buffers stay until `release`."""

    def __init__(self, card):
        self.card, self.clocks, self.buffers, self.modules = card, Clocks(), {}, []
        self.helpers = card.load(HELPERS)
        self.times = self._allocate(4 * 16 * _MULTIPROCESSORS)
        self.spies = [self._helper("spy", (_MULTIPROCESSORS, 1, 1), (32, 1, 1), _SPY_SHARED,
                                   [struct.pack("<Q", self.times + 16 * _MULTIPROCESSORS * i)]) for i in range(2)]  # fmt: skip
        self.delay = self._helper("delay", (1, 1, 1), (1, 1, 1), 0, [struct.pack("<Q", 300_000)])

    def _entry(self, module, name):
        function = ctypes.c_void_p()
        self.card.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        return function

    def _helper(self, name, grid, block, shared, arguments):
        return Function(self.card, self._entry(self.helpers, name), grid, block, shared, (1, 1, 1), arguments)

    def _allocate(self, size):
        address = ctypes.c_uint64()
        self.card.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(size, 16)))
        self.card.call("cuMemsetD8_v2", address, ctypes.c_ubyte(0), ctypes.c_size_t(max(size, 16)))
        return address.value

    def release(self):
        self.card.call("cuCtxSynchronize")
        for address, *_ in self.buffers.values():
            self.card.call("cuMemFree_v2", ctypes.c_uint64(address))
        for module in self.modules:
            self.card.call("cuModuleUnload", module)
        self.buffers, self.modules = {}, []

    def tensor(self, name, description):
        """The address of a tensor, random unless it is a workspace."""
        shape, dtype = description["shape"], description["dtype"]
        strides = description.get("strides") or [math.prod(shape[i + 1 :]) for i in range(len(shape))]
        count = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        if name not in self.buffers:
            address = self._allocate(count * BYTES[dtype])
            self.buffers[name] = (address, count, dtype, strides)
            kinds = ("bf16", "f16", "f32")
            if dtype in kinds and not (name[0] == "t" and name[1:].isdigit()):
                seed = struct.pack("<I", 977 * len(self.buffers) + 1)
                arguments = [struct.pack("<Q", address), struct.pack("<Q", count), seed, struct.pack("<I", kinds.index(dtype))]
                self._helper("fill", (-(-count // 256), 1, 1), (256, 1, 1), 0, arguments)()
        elif self.buffers[name][1] != count:
            raise ValueError(f"tensor {name} has {count} elements, and had {self.buffers[name][1]}")
        return self.buffers[name][0]

    def load(self, folder):
        """The launches of a record as Functions."""
        described = peers.launches(folder)
        moved = {}
        for name, tensor in described[-1]["tensors"].items():
            address = self.tensor(name, tensor)
            if "address" in tensor:
                moved[int(tensor["address"], 16) >> 32] = address
        functions = []
        for launch in described:
            module = ctypes.c_void_p()
            with open(launch["cubin"], "rb") as file:
                self.card.call("cuModuleLoadData", ctypes.byref(module), file.read())
            self.modules.append(module)
            name = launch.get("kernel") or self._only_entry(folder / launch["ptx"])
            arguments = [self._argument(parameter, moved) for parameter in launch["params"]]
            functions.append(Function(self.card, self._entry(module, name), _three(launch["grid"]), _three(launch["block"]),
                                      launch["dynamic_smem"], _three(launch.get("cluster") or [1]), arguments))  # fmt: skip
        return functions

    @staticmethod
    def _only_entry(ptx):
        text = ptx.read_text()
        return text.split(".entry ", 1)[1].split("(", 1)[0].strip()

    def _argument(self, parameter, moved):
        """The bytes of a parameter; addresses that the record made up become those of the buffers."""
        if "tensor" in parameter:
            return struct.pack("<Q", self.buffers[parameter["tensor"]][0] + parameter.get("offset", 0))
        if "value" in parameter:
            value = parameter["value"]
            if isinstance(value, str):  # Triton's scale: log2(e) / sqrt(head dim).
                number, root = value.split(" / sqrt(")
                value = float(number) / math.sqrt(float(root.rstrip(")")))
            return _packed(parameter.get("type", "i32"), value)
        return relocated(parameter["bytes"], moved)

    # -- Contents ----------------------------------------------------------------

    def floats(self, name, first, count):
        """Elements of a buffer, from the number `first`."""
        address, _, dtype, _ = self.buffers[name]
        size = BYTES[dtype]
        data = ctypes.create_string_buffer(count * size)
        self.card.call("cuMemcpyDtoH_v2", data, ctypes.c_uint64(address + first * size), ctypes.c_size_t(count * size))
        if dtype == "f32":
            return array.array("f", data.raw)
        wide = array.array("I", (x << 16 for x in array.array("H", data.raw)))
        return array.array("f", wide.tobytes())

    def rows(self, name, batch, head, tokens):
        """The rows of one head of a tensor [batch, token, head, column]."""
        _, _, _, strides = self.buffers[name]
        data = self.floats(name, batch * strides[0], tokens * strides[1])
        return [data[t * strides[1] + head * strides[2] :][: strides[2]] for t in range(tokens)]

    # -- Time --------------------------------------------------------------------

    def sample(self, launch, count):
        """(cycles, seconds) of that many launches and what stands around them."""
        call = self.card.call
        events = [ctypes.c_void_p(), ctypes.c_void_p()]
        for event in events:
            call("cuEventCreate", ctypes.byref(event), 0)
        self.delay()
        self.spies[0]()
        call("cuEventRecord", events[0], None)
        for _ in range(count):
            launch()
        call("cuEventRecord", events[1], None)
        self.spies[1]()
        call("cuCtxSynchronize")
        milliseconds = ctypes.c_float()
        call("cuEventElapsedTime", ctypes.byref(milliseconds), *events)
        data = ctypes.create_string_buffer(2 * 16 * _MULTIPROCESSORS)
        call("cuMemcpyDtoH_v2", data, ctypes.c_uint64(self.times), ctypes.c_size_t(len(data)))
        values = struct.unpack(f"<{4 * _MULTIPROCESSORS}Q", data.raw)
        half = 2 * _MULTIPROCESSORS
        cycles = [end - begin for begin, end in zip(values[:half:2], values[half::2], strict=True)]
        for event in events:
            call("cuEventDestroy_v2", event)
        return statistics.median(cycles), milliseconds.value / 1000

    def time(self, launch):
        """Cycles and seconds of one launch among launches of the same kernel, the spread of the cycles, and clocks."""
        launch()
        seconds = max(self.sample(launch, 1)[1], 1e-6)
        for _ in range(min(2000, math.ceil(WARM_SECONDS / seconds))):
            launch()
        many = 1 + max(1, min(50, math.ceil(SAMPLE_SECONDS / seconds)))
        found = []
        for _ in range(SAMPLES):
            one, several = self.sample(launch, 1), self.sample(launch, many)
            found.append(tuple((b - a) / (many - 1) for a, b in zip(one, several, strict=True)))
        clocks = self.clocks.read()
        cycles, times = zip(*found, strict=True)
        middle, time = statistics.median(cycles), statistics.median(times)
        return {"cycles": round(middle), "spread": round((max(cycles) - min(cycles)) / middle, 4), "us": round(time * 1e6, 3),
                "mhz": round(middle / time / 1e6), "nvml": clocks}  # fmt: skip


def _wave(grid, ctas):
    """The first CTAs of a grid, whole rows and planes of it, at most `ctas`."""
    result = []
    for size in grid:
        result.append(max(1, min(size, ctas // math.prod(result))))
    return result


def run(replayer, kernel, folder):
    """All that is measured of a kernel: its main launch, the others apart, and parts of the main launch's grid, which tell what a CTA takes
    alone (`1`), and what the first CTA of each SM takes (`wave`)."""
    # The backward's inputs are the results of the forward on the same data.
    if isinstance(kernel, peers.Form) and kernel.direction == "bwd":
        forward = peers.Form("fwd", kernel.head_dim, kernel.mask, kernel.tokens)
        for launch in replayer.load(folder.parent / forward.name):
            launch()
    functions = replayer.load(folder)
    for function in functions:
        function()
    replayer.card.call("cuCtxSynchronize")
    main = functions[kernel.main_launch]
    found = {"grid": main.grid, "block": main.block, "cluster": main.cluster, "dynamic_smem": main.shared,
             "ctas_per_sm": main.resident(), "ptxas": (folder / "stamp").read_text().strip(), **replayer.time(main)}  # fmt: skip
    found["tflops"] = round(kernel.flops / found["us"] / 1e6, 1)
    others = [f for f in functions if f is not main]
    if others:
        found["others"] = [{"grid": f.grid, "block": f.block, **replayer.time(f)} for f in others]
    if kernel.flops and max(main.cluster) == 1:
        parts = {"1": [1, 1, 1], "wave": _wave(main.grid, _MULTIPROCESSORS)}
        found["parts"] = {name: {"grid": grid, **replayer.time(lambda grid=grid: main(grid))} for name, grid in parts.items()}
    return found


def check(replayer, form):
    """The largest difference of a result from one computed in Python, over the largest absolute value: a row of the forward's
    output, or of dV. To be called when the record's launches have run once."""
    rng = random.Random(1)
    batch, head, row = rng.randrange(form.launched.batch), rng.randrange(form.launched.heads), rng.randrange(form.tokens)
    scale, tokens = form.head_dim**-0.5, form.tokens
    causal = form.mask == "causal"
    q, k, v = (replayer.rows(name, batch, head, tokens) for name in "qkv")

    def dot(a, b):
        return sum(x * y for x, y in zip(a, b, strict=True))

    if form.direction == "fwd":
        seen = range(row + 1) if causal else range(tokens)
        scores = [scale * dot(q[row], k[j]) for j in seen]
        top = max(scores)
        weights = [math.exp(s - top) for s in scores]
        rows, total, result = v, sum(weights), replayer.rows("out", batch, head, tokens)[row]
    else:
        seen = range(row, tokens) if causal else range(tokens)
        lse = replayer.floats("lse", (batch * form.launched.heads + head) * tokens, tokens)
        weights = [math.exp(scale * dot(q[i], k[row]) - lse[i]) for i in seen]
        rows, total, result = replayer.rows("dout", batch, head, tokens), 1.0, replayer.rows("dv", batch, head, tokens)[row]
    expected = [sum(w * rows[i][c] for w, i in zip(weights, seen, strict=True)) / total for c in range(form.head_dim)]
    return max(abs(a - b) for a, b in zip(result, expected, strict=True)) / max(map(abs, expected))
