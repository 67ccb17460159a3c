# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records how FlashAttention-4 launches its kernels, without a GPU.

usage: record_fa4.py DIRECTORY {fwd|bwd} [NAME=VALUE]...

Names: hd, hdv, b, sq, sk, hq, hk, causal, dtype (bf16 or f16), arch (sm_100 or
sm_90), and any keyword of FlashAttention-4's call. tune.KEY=NUMBER changes an entry
of its table of tuned numbers, for the forward kernels of sm_100. With lengths_q=[...] and lengths_k=[...] (forward),
the sequences are packed, and whoever replays the record fills cu_seqlens_q and
cu_seqlens_k. Run it in an environment that has flash-attn-4 and
nvidia-cutlass-dsl[cu13] (sim-peers makes one).

FlashAttention-4's own host code runs on tensors without memory, against a
stand-in for the CUDA runtime. DIRECTORY gets, for launch N, launch-N.ptx and
launch-N.json (launch_records.py)."""
import json
import os
import shutil
import sys

from launch_records import OnDevice, Recorder, Tensors, start


def parse_command_line(words):
    directory, mode, *assignments = words
    call = dict(hd=128, hdv=None, causal=0, b=1, sq=256, sk=256, hq=1, hk=1, dtype="bf16", arch="sm_100",
                lengths_q=None, lengths_k=None)
    extra, tuned = {}, {}
    for word in assignments:
        name, value = word.split("=", 1)
        if name.startswith("tune."):
            tuned[name.removeprefix("tune.")] = json.loads(value)
        elif name in ("dtype", "arch"):
            call[name] = value
        elif name in call:
            call[name] = json.loads(value)
        else:
            extra[name] = json.loads(value)
    call["hdv"] = call["hdv"] or call["hd"]
    return os.path.abspath(directory), mode, call, extra, tuned


def tune(head_dim, tuned):
    """Changes FlashAttention-4's table, whose keys are (pairs of CTAs, causal, head dim, sm_103)."""
    from flash_attn.cute.flash_fwd_sm100 import _TUNING_CONFIG

    for pairs in (False, True):
        for causal in (False, True):
            _TUNING_CONFIG.setdefault((pairs, causal, head_dim, False), {}).update(tuned)


class RecordingCompiler:
    """In place of the module that FlashAttention-4 compiles with: what it compiles records its launch."""

    def __init__(self, real, recorder, from_dlpack):
        self.real, self.recorder, self.from_dlpack = real, recorder, from_dlpack

    def __getattr__(self, name):
        return getattr(self.real, name)

    def on_device(self, value):
        tensors = self.recorder.tensors
        if isinstance(value, tensors.torch.Tensor):
            tensors.add_workspace(value)
            tensors.alive.append(self.from_dlpack(OnDevice(tensors, value)))
            return tensors.alive[-1]
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(self.on_device, value))
        if isinstance(value, (tuple, list)):
            return type(value)(map(self.on_device, value))
        return value

    def compile(self, *args, **kwargs):
        function = self.real.compile(*args, **kwargs)
        self.recorder.learn_kernels()
        return lambda *arguments: self.launch(function, arguments)

    def launch(self, function, arguments):
        function(*map(self.on_device, arguments))
        self.recorder.write_launches()


def main():
    directory, mode, call, extra, tuned = parse_command_line(sys.argv[1:])
    library = start(directory, call["arch"])
    import torch
    import tvm_ffi
    from torch._subclasses.fake_tensor import FakeTensorMode

    from flash_attn.cute import interface

    if tuned:
        tune(call["hd"], tuned)
    tensors = Tensors(torch)
    interface.cute = RecordingCompiler(interface.cute, Recorder(directory, library, tensors), tvm_ffi.from_dlpack)
    interface.is_fake_mode = lambda: False
    dtype = dict(bf16=torch.bfloat16, f16=torch.float16)[call["dtype"]]
    with FakeTensorMode():
        packed = call["lengths_q"] is not None
        if packed:
            call["sq"], call["sk"] = sum(call["lengths_q"]), sum(call["lengths_k"])

        def new(tokens, heads, size):
            batch = [] if packed else [call["b"]]
            return torch.empty(*batch, tokens, heads, size, dtype=dtype, device="cuda")

        lse_shape = ([] if packed else [call["b"]]) + [call["hq"], call["sq"]]
        t = dict(q=new(call["sq"], call["hq"], call["hd"]), k=new(call["sk"], call["hk"], call["hd"]),
                 v=new(call["sk"], call["hk"], call["hdv"]), out=new(call["sq"], call["hq"], call["hdv"]),
                 lse=torch.empty(lse_shape, dtype=torch.float32, device="cuda"))
        if packed:
            count = len(call["lengths_q"]) + 1
            starts = {n: torch.empty(count, dtype=torch.int32, device="cuda") for n in ("cu_seqlens_q", "cu_seqlens_k")}
            t.update(starts)
            extra.update(starts, max_seqlen_q=max(call["lengths_q"]), max_seqlen_k=max(call["lengths_k"]))
        if mode == "bwd":
            t.update(dout=new(call["sq"], call["hq"], call["hdv"]), **{"d" + n: torch.empty_like(t[n]) for n in "qkv"})
        for name, tensor in t.items():
            tensors.add(name, tensor)
        causal = bool(call["causal"])
        if mode == "fwd":
            interface._flash_attn_fwd(t["q"], t["k"], t["v"], causal=causal, return_lse=True, out=t["out"],
                                      lse=t["lse"], **extra)
        else:
            interface._flash_attn_bwd(t["q"], t["k"], t["v"], t["out"], t["dout"], t["lse"], causal=causal,
                                      dq=t["dq"], dk=t["dk"], dv=t["dv"], **extra)
    shutil.rmtree(directory + "/build")


if __name__ == "__main__":
    main()
