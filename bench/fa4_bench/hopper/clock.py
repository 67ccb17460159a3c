# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The clock of the SMs while kernels run.

Two ways. *Spies* are CTAs on each SM in front of the launches and behind them, which read the clock's count and the time: the mean
clock of exactly what is timed, and nothing else runs meanwhile. A *resident* thread reads both every 20 us while kernels run, so that
it sees how the clock moves. It holds a warp's registers and 1 KB of shared memory of one SM, which is more than some kernels leave:
times are never taken beside it."""

import ctypes
import statistics
import struct

import torch

from fa4_bench.timing.replay import _MULTIPROCESSORS, _SPY_SHARED, Function, Replayer

SAMPLE_NANOSECONDS, MOST_SAMPLES, MOST_NANOSECONDS = 20_000, 60_000, 4_000_000_000
STEPS = 8
# Longer than the host needs to launch a burst, also through torch's autograd.
HOLD_NANOSECONDS = 2_000_000
_CARVEOUT = 9  # CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT.

RESIDENT = """.version 8.0
.target sm_90a
.address_size 64
// Writes (clock, time) again and again until the flag is set, all places are written or the limit of time has passed; then how often.
.visible .entry resident(.param .u64 out, .param .u64 flag, .param .u64 count, .param .u64 places, .param .u64 step, .param .u64 limit)
.maxntid 1
{
  .reg .b64 %rd<16>; .reg .b32 %r<2>; .reg .pred %p<4>;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [flag];
  ld.param.u64 %rd3, [count];
  ld.param.u64 %rd4, [places];
  ld.param.u64 %rd5, [step];
  ld.param.u64 %rd6, [limit];
  mov.u64 %rd7, 0;
  mov.u64 %rd8, %globaltimer;
  add.u64 %rd9, %rd8, %rd6;
$SAMPLE:
  mov.u64 %rd10, %clock64;
  mov.u64 %rd11, %globaltimer;
  st.global.v2.u64 [%rd1], {%rd10, %rd11};
  add.u64 %rd1, %rd1, 16;
  add.u64 %rd7, %rd7, 1;
  add.u64 %rd12, %rd11, %rd5;
$WAIT:
  nanosleep.u32 2000;
  mov.u64 %rd13, %globaltimer;
  setp.lt.u64 %p1, %rd13, %rd12;
  @%p1 bra $WAIT;
  ld.volatile.global.u32 %r1, [%rd2];
  setp.ne.u32 %p2, %r1, 0;
  @%p2 bra $END;
  setp.ge.u64 %p2, %rd7, %rd4;
  @%p2 bra $END;
  setp.lt.u64 %p3, %rd13, %rd9;
  @%p3 bra $SAMPLE;
$END:
  st.global.u64 [%rd3], %rd7;
  ret;
}
// Writes the time at which the stream gets here.
.visible .entry mark(.param .u64 out)
.maxntid 1
{
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [out];
  mov.u64 %rd2, %globaltimer;
  st.global.u64 [%rd1], %rd2;
  ret;
}
"""


def mean_megahertz(before, after):
    """Of pairs (clock, nanoseconds) of each SM: the median over SMs. An SM that a spy has not reached says nothing."""
    rates = [1e3 * (c1 - c0) / (t1 - t0) for (c0, t0), (c1, t1) in zip(before, after, strict=True) if c1 > c0 and t1 > t0]
    return statistics.median(rates) if rates else None


def sampled_megahertz(samples, begin, end):
    """(least, median, most) of the clock between samples (clock, nanoseconds) that lie between two times; None without any."""
    inside = [sample for sample in samples if begin <= sample[1] <= end]
    # Over some steps: the timer advances in steps of its own.
    rates = sorted(1e3 * (b[0] - a[0]) / (b[1] - a[1]) for a, b in zip(inside, inside[STEPS:]) if b[1] > a[1])
    return tuple(rates[round(share * (len(rates) - 1))] for share in (0.02, 0.5, 0.98)) if rates else None


class Spies:
    """Reads clock and time of all SMs in front of launches on the default stream and behind them. `hold` keeps the stream busy for a
    while, so that what follows is launched by the time it may begin."""

    def __init__(self, card):
        helper = Replayer(card)
        self.card, self._spies, self._times = card, helper.spies, helper.times
        self.hold = Function(card, helper.delay.function, (1, 1, 1), (1, 1, 1), arguments=[struct.pack("<Q", HOLD_NANOSECONDS)])

    def begin(self):
        self._spies[0]()

    def end(self):
        self._spies[1]()

    def read(self):
        """(pairs of each SM before, behind); waits for the GPU."""
        torch.cuda.synchronize()
        data = ctypes.create_string_buffer(2 * 16 * _MULTIPROCESSORS)
        self.card.call("cuMemcpyDtoH_v2", data, ctypes.c_uint64(self._times), ctypes.c_size_t(len(data)))
        values = struct.unpack(f"<{4 * _MULTIPROCESSORS}Q", data.raw)
        pairs = list(zip(values[::2], values[1::2], strict=True))
        return pairs[:_MULTIPROCESSORS], pairs[_MULTIPROCESSORS:]


class Resident:
    """The resident thread. Kernels that it is to watch must have run once: loading one would wait for it."""

    def __init__(self, card):
        self.card = card
        self.samples = torch.zeros(MOST_SAMPLES, 2, dtype=torch.int64, device="cuda")
        self.count = torch.zeros(1, dtype=torch.int64, device="cuda")
        # Memory of the host that the GPU reads.
        self.flag = torch.zeros(1, dtype=torch.int32).pin_memory()
        self.stream = torch.cuda.Stream(priority=-5)
        self.marks = torch.zeros(2, dtype=torch.int64, device="cuda")
        module = card.load(RESIDENT)
        arguments = [self.samples.data_ptr(), self.flag.data_ptr(), self.count.data_ptr(), MOST_SAMPLES, SAMPLE_NANOSECONDS, MOST_NANOSECONDS]
        self.thread = self._function(module, b"resident", arguments, self.stream.cuda_stream)
        self.begin, self.end = (self._function(module, b"mark", [self.marks.data_ptr() + 8 * i]) for i in range(2))
        self.begin()  # So that nothing has to be loaded while the thread is there.

    def _function(self, module, name, arguments, stream=None):
        entry = ctypes.c_void_p()
        self.card.call("cuModuleGetFunction", ctypes.byref(entry), module, name)
        # An SM whose L1 cache had another size would have to be empty before a kernel with much shared memory may begin there.
        self.card.call("cuFuncSetAttribute", entry, _CARVEOUT, 100)
        return Function(self.card, entry, (1, 1, 1), (1, 1, 1), 0, (1, 1, 1), [struct.pack("<Q", value) for value in arguments], stream)

    def watch(self, work):
        """Runs `work`, which launches on the default stream, beside the thread; returns (least, median, most) MHz of the time from its
        beginning to its end, or None."""
        self.flag.zero_()
        torch.cuda.synchronize()
        self.thread()
        self.begin()
        work()
        self.end()
        torch.cuda.current_stream().synchronize()
        self.flag.fill_(1)
        self.stream.synchronize()
        return sampled_megahertz(self.samples[: int(self.count)].tolist(), *self.marks.tolist())
