# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Examples of CUTLASS's CuTe-DSL for sm_100 and sm_90: how each is called, what it computes (float64 numpy), and how its record is
mended where the kernel itself lacks an order.

A mended record is what is simulated, and what sim-faults draws from; the kernel as it was recorded lies in the folder
`as-recorded` beside it, and must show the findings that MENDS names, no others."""
import glob
import json
import os
import re
import shutil

import numpy as np

from attention_reference import ROUND, Attention, judge


EXAMPLES = "/examples/python/CuTeDSL/cute/blackwell"


class Gemm:
    """C = A B, `subscripts` as numpy.einsum has them; a case may have several groups of three tensors."""

    def __init__(self, program, names, arguments, subscripts="lmk,lkn->lmn", groups=(("a", "b", "c"),)):
        self.program, self.names, self.arguments = program, names, arguments
        self.subscripts, self.groups = subscripts, groups
        self.outputs = [c for _, _, c in groups]

    def make_inputs(self, tensors, rng):
        self.operands = {name: self.operand(tensors[name], rng) for a, b, _ in self.groups for name in (a, b)}
        self.types = {c: tensors[c]["dtype"] for c in self.outputs}
        return self.operands

    @staticmethod
    def operand(tensor, rng):
        if tensor["dtype"] == "i8":
            return rng.integers(-100, 100, tensor["shape"]).astype(np.int8)
        # Values of f32 operands are used as TF32, which holds those of bf16 exactly.
        rounded = ROUND["bf16" if tensor["dtype"] == "f32" else tensor["dtype"]]
        return rounded(rng.standard_normal(tensor["shape"]))

    def compare(self, results):
        """An element's error is that of f32 sums in any order, and of rounding the result once."""
        rows = []
        for a, b, c in self.groups:
            x, y = (self.operands[name].astype(np.float64) for name in (a, b))
            exact, magnitude = np.einsum(self.subscripts, x, y), np.einsum(self.subscripts, abs(x), abs(y))
            half_ulp = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}[self.types[c]]
            allowed = magnitude * 2.0**-20 + abs(exact) * half_ulp
            error = np.nan_to_num(abs(results[c] - exact), nan=np.inf)
            worst = np.unravel_index(np.argmax(error / allowed), error.shape)
            rows.append((c, error[worst], allowed[worst]))
        return rows


class DequantizingGemm(Gemm):
    """fp16_gemm_6: one kernel makes f16 of 8-bit integers by a factor, the next multiplies."""

    factor = 2.33

    def compare(self, results):
        self.operands["b"] = ROUND["f16"](self.operands["b"] * np.float32(self.factor))
        return super().compare(results)


class Fmha:
    """Attention; q and out are [b, sq, hk, hr, d], k and v [b, sk, hk, 1, d], lse [b, sq, hk, hr]."""

    program, names, outputs = "kernel/attention/fmha/fmha.py", "q,,k,,v,,out,,lse,", ["out", "lse"]

    def __init__(self, q, k, *options):
        def shape(sizes):
            return ",".join(map(str, sizes))

        self.size, self.right = q[3], 0 if "--is_causal" in options else None
        self.arguments = ["--q_shape", shape(q), "--k_shape", shape(k), "--lse_calculation", *options]

    def make_inputs(self, tensors, rng):
        def normal(name):
            tensor = tensors[name]
            self.dtype = tensor["dtype"]
            return ROUND[self.dtype](rng.standard_normal(tensor["shape"]))

        inputs = {name: normal(name) for name in ("q", "k", "v")}
        heads = [x.reshape(*x.shape[:2], -1, x.shape[4]) for x in inputs.values()]
        options = dict(scale=self.size**-0.5, right=self.right)
        self.exact, self.same = Attention(*heads, **options), Attention(*heads, dtype=self.dtype, **options)
        return inputs

    def compare(self, results):
        out = results["out"].reshape(self.exact.out().shape)
        # fmha.py gives the logarithm to base 2.
        lse = self.exact.lse.transpose(0, 2, 1).reshape(results["lse"].shape) * np.log2(np.e)
        return [("out", *judge(out, self.exact.out(), self.same.out(), self.dtype)),
                ("lse", np.abs(results["lse"] - lse).max(), 1e-3)]


class FmhaBackward:
    """The gradient: tensors are permuted to [s, d, hr, hk, b], lse to [s, hr, hk, b]."""

    program, names = "kernel/attention/fmha/fmha_bwd.py", "q,dq,k,dk,v,dv,dout,out,lse,"
    outputs = ["dq", "dk", "dv"]

    def __init__(self, sq, sk, heads, size, *options):
        self.size, self.right = size, 0 if "--is_causal" in options else None
        self.arguments = ["--s_q", str(sq), "--s_k", str(sk), "--h_q", str(heads[0]), "--h_k", str(heads[1]), "--d", str(size),
                          "--b", "1", *options]

    def make_inputs(self, tensors, rng):
        self.dtype = tensors["q"]["dtype"]
        made = {name: ROUND[self.dtype](rng.standard_normal(tensors[name]["shape"])) for name in ("q", "k", "v", "dout")}
        heads = [self.tokens_first(made[name]) for name in ("q", "k", "v")]
        options = dict(scale=self.size**-0.5, right=self.right)
        self.exact, self.same = Attention(*heads, **options), Attention(*heads, dtype=self.dtype, **options)
        self.dout = self.tokens_first(made["dout"])
        s, d, hr, hk, b = made["q"].shape
        made["out"] = ROUND[self.dtype](self.exact.out()).reshape(b, s, hk, hr, d).transpose(1, 4, 3, 2, 0)
        made["lse"] = self.exact.lse.reshape(b, hk, hr, s).transpose(3, 2, 1, 0)
        return made

    @staticmethod
    def tokens_first(x):
        s, d, hr, hk, b = x.shape
        return x.transpose(4, 0, 3, 2, 1).reshape(b, s, hk * hr, d)

    def compare(self, results):
        exact, same = self.exact.backward(self.dout), self.same.backward(self.dout)
        return [(name, *judge(self.tokens_first(results[name]), e, s, self.dtype))
                for name, e, s in zip(self.outputs, exact, same)]


class HopperFmha:
    """Attention on Hopper; tensors are permuted to [s, d, hr, hk, b], lse is not compared."""

    program, names, outputs = "../hopper/kernel/attention/fmha.py", "q,k,v,out,lse", ["out"]

    def __init__(self, q, k, *options):
        sizes = [",".join(map(str, shape)) for shape in (q, k)]
        self.size, self.right = q[3], 0 if "--is_causal" in options else None
        self.arguments = ["--q_shape", sizes[0], "--k_shape", sizes[1], "--scale_softmax", str(self.size**-0.5), *options]

    def make_inputs(self, tensors, rng):
        self.dtype = tensors["q"]["dtype"]
        made = {name: ROUND[self.dtype](rng.standard_normal(tensors[name]["shape"])) for name in ("q", "k", "v")}
        heads = [FmhaBackward.tokens_first(made[name]) for name in ("q", "k", "v")]
        options = dict(scale=self.size**-0.5, right=self.right)
        self.exact, self.same = Attention(*heads, **options), Attention(*heads, dtype=self.dtype, **options)
        return made

    def compare(self, results):
        out = FmhaBackward.tokens_first(results["out"])
        return [("out", *judge(out, self.exact.out(), self.same.out(), self.dtype))]


class LatentDecode:
    """Attention of one query a head to a cache of latents, in pages: q_* [h, d, sq, b], c_* [page, d, number of the
    page], scores from both, values from c_latent; out [h, d, sq, b], lse [h, sq, b] to base 2."""

    program = "kernel/attention/mla/mla_decode_fp16.py"
    names, outputs = "seqs,page_table,q_latent,q_rope,c_latent,c_rope,out,lse", ["out", "lse"]
    scale = 0.0416

    def __init__(self, keys, *options):
        self.keys, self.arguments = keys, ["--seq_len_k", str(keys), "--batch_size", "1", "--split_kv", "1", *options]

    def make_inputs(self, tensors, rng):
        def normal(name):
            return ROUND["f16"](rng.standard_normal(tensors[name]["shape"]))

        made = {name: normal(name) for name in ("q_latent", "q_rope", "c_latent", "c_rope")}
        # Tokens first, heads, sizes; the example's page table of one sequence is in order.
        query = np.concatenate([made[n] for n in ("q_latent", "q_rope")], axis=1).transpose(3, 2, 0, 1)
        key, value = (np.concatenate([made[n].transpose(2, 0, 1).reshape(-1, made[n].shape[1]) for n in names], axis=1)
                      [None, : self.keys, None] for names in (("c_latent", "c_rope"), ("c_latent",)))
        self.exact = Attention(query, key, value, scale=self.scale)
        self.same = Attention(query, key, value, scale=self.scale, dtype="f16")
        return made

    def compare(self, results):
        lse = self.exact.lse.transpose(1, 2, 0) * np.log2(np.e)
        return [("out", *judge(results["out"].transpose(3, 2, 0, 1), self.exact.out(), self.same.out(), "f16")),
                ("lse", np.abs(results["lse"] - lse).max(), 1e-3)]


# ---------------------------------------------------------------------------
# What is missing in the kernels as they are (docs/simulator-memory-model.md, "CUTLASS's examples")
# ---------------------------------------------------------------------------


def wait_for_loads(ptx):
    """fmha.py hands the columns of S on, by two arrivals, while the loads from them may be in flight: without a mask
    behind `fence_view_async_tmem_store`, which waits for no load, and with one behind nothing."""
    arrival = r"\n\tmbarrier\.arrive\.shared\.b64 [^\n]*"
    return re.sub(f"({arrival}{arrival})", r"\n\ttcgen05.wait::ld.sync.aligned;\1", ptx)


def wait_before_deallocation(ptx):
    """fmha_bwd.py frees tensor memory when two of its three groups of warps have finished; here the other warps arrive
    on a barrier at the kernel's end, and the warp that frees waits for it."""
    deallocation = re.search(r"\n[^\n]*ld\.shared[^\n]*\n[^\n]*\n\ttcgen05\.dealloc[^\n]*\n\tbra\.uni\s+(\S+);", ptx)
    if not deallocation:
        return ptx
    label = f"\n{deallocation[1]}:"
    arrival = """
	{ .reg .pred frees; .reg .b32 thread; mov.u32 thread, %tid.x; shr.u32 thread, thread, 5; setp.eq.u32 frees, thread, 8;
	@!frees barrier.arrive 15, 512; }"""
    wait = "\n\tbarrier.sync 15, 512;"
    begin = deallocation.start()
    text = ptx[:begin] + wait + ptx[begin:]
    return text.replace(label, label + arrival)


def wait_in_latent_decode(ptx):
    """mla_decode_fp16.py exchanges row maxima through shared memory with one barrier in each turn, so that a warp may
    write its next one before the partner has read this one; and it hands the columns with the correction's factors back
    while the load from them may be in flight."""
    exchange = r"(\n\tbar\.sync \t2, 128;\n\tld\.shared\.b32[^\n]*)"
    factors = r"(\n\ttcgen05\.ld\.sync\.aligned\.32x32b\.x4\.b32(?:[^\n]*\n){1,5}?)(\tmbarrier\.arrive\.)"
    ptx = re.sub(exchange, r"\1\n\tbar.sync \t2, 128;", ptx)
    return re.sub(factors, r"\1\ttcgen05.wait::ld.sync.aligned;\n\2", ptx)


def fence_behind_zeros(ptx):
    """dense_gemm_persistent.py and grouped_gemm.py (sm_90) let their first products accumulate onto zeros, which the compiler puts into the
    accumulators behind `warpgroup.fence()`."""
    zeros = r"(\n\tmov\.b32 \t%r\d+, %r\d+;)"
    product = r"(\n\t// begin inline asm\n\t?\{\n\.reg \.pred p;\n[^\n]*\nwgmma\.mma_async)"
    return re.sub(zeros + product, r"\1\n\twgmma.fence.sync.aligned;\2", ptx)


def finish_stores(ptx):
    """fmha.py (sm_90) exits while the last store of its results may read shared memory."""
    return re.sub(r"(\n\tcp\.async\.bulk\.wait_group\.read \t)1;", r"\g<1>0;", ptx)


# By program: the mend, and the findings that the kernel has without it.
MENDS = {
    Fmha.program: (wait_for_loads, {"missing-tensor-wait"}),
    LatentDecode.program: (wait_in_latent_decode, {"race", "missing-tensor-wait"}),
    FmhaBackward.program: (wait_before_deallocation, {"race", "tmem-not-allocated"}),
    "../hopper/kernel/dense_gemm/dense_gemm_persistent.py": (fence_behind_zeros, {"missing-wgmma-fence"}),
    "../hopper/kernel/grouped_gemm/grouped_gemm.py": (fence_behind_zeros, {"missing-wgmma-fence"}),
    HopperFmha.program: (finish_stores, {"exit-with-async-outstanding"}),
}


def mend(directory, program):
    """Mends the record in a folder; the kernels as they were recorded go to `as-recorded`."""
    if program not in MENDS:
        return
    original = directory + "/as-recorded"
    os.makedirs(original)
    for path in glob.glob(directory + "/launch-*") + glob.glob(directory + "/*.npy"):
        shutil.copy(path, original)
    changed = False
    for path in glob.glob(directory + "/launch-*.ptx"):
        with open(path) as file:
            ptx = file.read()
        text = MENDS[program][0](ptx)
        changed |= text != ptx
        with open(path, "w") as file:
            file.write(text)
    if not changed:
        raise RuntimeError(f"{program} has nothing to mend; this version of it has another form")


# ---------------------------------------------------------------------------
# Cases
# ---------------------------------------------------------------------------

_DENSE, _TUTORIAL = "kernel/dense_gemm/", "tutorial/tutorial_gemm/"
_PAIR = ["--mma_tiler_mn", "256,128", "--cluster_shape_mn", "2,1", "--use_2cta_instrs", "--use_tma_store"]


def _dense(program, size, *options, subscripts="lmk,lkn->lmn"):
    return Gemm(_DENSE + program, "a,b,c", ["--mnkl", size, *options], subscripts)


def _typed(*options):
    return ["--ab_dtype", "Float16", "--c_dtype", "Float32", *options]


def _tutorial(number):
    return Gemm(f"{_TUTORIAL}fp16_gemm_{number}.py", "a,b,c", ["--mnk", "512,512,640"], "mk,nk->mn")


def _grouped(program, *options):
    groups = tuple((f"a{i}", f"b{i}", f"c{i}") for i in range(2))
    names = ",".join(sum(groups, ())) + ",,,,,sizes,strides,pointers"
    arguments = ["--num_groups", "2", "--problem_sizes_mnkl", "(256,128,640,1),(128,256,64,1)", *options]
    return Gemm(program, names, arguments, "mkl,nkl->mnl", groups)


def _grouped_by_maps(mode):
    return _grouped("kernel/grouped_gemm/grouped_gemm.py", "--mma_tiler_mn", "128,64", "--tensormap_update_mode", mode)


CASES = {
    "cutlass-dense": _dense("dense_gemm.py", "256,256,640,1", *_typed("--mma_tiler_mn", "128,128"), subscripts="mkl,nkl->mnl"),
    "cutlass-dense-2cta": _dense("dense_gemm.py", "512,256,640,1", *_typed(*_PAIR), subscripts="mkl,nkl->mnl"),
    "cutlass-persistent": _dense("dense_gemm_persistent.py", "512,256,640,1",
                                 *_typed("--mma_tiler_mn", "128,128", "--use_tma_store")),
    "cutlass-persistent-2cta": _dense("dense_gemm_persistent.py", "512,256,640,2", *_typed(*_PAIR)),
    "cutlass-dynamic": _dense("dense_gemm_persistent_dynamic.py", "512,256,640,1", "--mma_tiler_mn", "128,128",
                              "--use_tma_store"),
    "cutlass-dynamic-2cta": _dense("dense_gemm_persistent_dynamic.py", "512,256,640,1", *_typed(*_PAIR)),
    "cutlass-software-pipeline": _dense("dense_gemm_software_pipeline.py", "256,256,640,1",
                                        *_typed("--mma_tiler_mn", "128,128"), subscripts="mkl,nkl->mnl"),
    "cutlass-prefetch": _dense("dense_gemm_persistent_prefetch.py", "256,256,640,1",
                               *_typed("--mma_tiler_mn", "128,128", "--use_tma_store")),
    "cutlass-grouped-smem": _grouped_by_maps("SMEM"),
    "cutlass-grouped-gmem": _grouped_by_maps("GMEM"),
    **{f"cutlass-fp16-gemm-{n}": _tutorial(n) for n in ("0", "1", "2", "3", "3_1", "4", "5")},
    "cutlass-fp16-gemm-6": DequantizingGemm(_TUTORIAL + "fp16_gemm_6.py", "a,b,dequantized,c", ["--mnk", "512,512,640"],
                                            "mk,nk->mn"),
    "cutlass-mla": LatentDecode(512),
    "cutlass-fmha-hd128": Fmha((1, 256, 1, 128), (1, 640, 1, 128)),
    "cutlass-fmha-hd64-causal": Fmha((1, 512, 2, 64), (1, 512, 1, 64), "--is_causal"),
    "cutlass-fmha-hd64-persistent": Fmha((2, 256, 2, 64), (2, 200, 1, 64), "--is_persistent"),
    "cutlass-fmha-bwd-hd64": FmhaBackward(512, 256, (1, 1), 64),
    "cutlass-fmha-bwd-hd128-causal": FmhaBackward(384, 384, (2, 1), 128, "--is_causal"),
}


def _hopper(program, size, *options, subscripts="mkl,nkl->mnl"):
    arguments = ["--mnkl", size, "--c_dtype", "Float32", *options]
    return Gemm("../hopper/kernel/dense_gemm/" + program, "a,b,c", arguments, subscripts)


SM90_CASES = {
    "cutlass-sm90-dense": _hopper("dense_gemm.py", "256,256,640,1"),
    "cutlass-sm90-dense-transposed": _hopper("dense_gemm.py", "256,256,320,2", "--a_major", "m", "--b_major", "n"),
    "cutlass-sm90-dense-cluster": _hopper("dense_gemm.py", "512,512,320,1", "--cluster_shape_mn", "2,2"),
    "cutlass-sm90-dense-wide": _hopper("dense_gemm.py", "256,512,320,1", "--tile_shape_mn", "128,256"),
    "cutlass-sm90-dense-f16": _hopper("dense_gemm.py", "256,256,320,1", "--c_dtype", "Float16"),
    "cutlass-sm90-persistent": _hopper("dense_gemm_persistent.py", "512,512,640,2"),
    "cutlass-sm90-persistent-cluster": _hopper("dense_gemm_persistent.py", "512,512,640,1", "--cluster_shape_mn", "2,1"),
    "cutlass-sm90-grouped": _grouped("../hopper/kernel/grouped_gemm/grouped_gemm.py"),
    "cutlass-sm90-fmha-hd128": HopperFmha((1, 256, 1, 128), (1, 640, 1, 128)),
    "cutlass-sm90-fmha-hd64-causal": HopperFmha((1, 512, 2, 64), (1, 512, 1, 64), "--is_causal"),
    "cutlass-sm90-fmha-hd128-persistent": HopperFmha((2, 256, 2, 128), (2, 200, 1, 128), "--is_persistent"),
}


class CutlassCase:
    """One case of CASES, with the interface of run_peers.Case."""

    def __init__(self, name, directory, examples):
        self.name, self.directory, self.example = name, directory, {**CASES, **SM90_CASES}[name]
        self.program = f"{examples}/{self.example.program}"
        self.recorded = directory + "/as-recorded" if self.example.program in MENDS else None
        self.expected = MENDS.get(self.example.program, (None, set()))[1]

    def recording(self):
        """The recorder's script and its arguments."""
        return ["record_cutlass.py", self.directory, self.example.names, self.program, *self.example.arguments]

    def finish_recording(self):
        mend(self.directory, self.example.program)

    def make_inputs(self, seed):
        with open(self.directory + "/launch-0.json") as file:
            self.tensors = json.load(file)["tensors"]
        paths = []
        for name, array in self.example.make_inputs(self.tensors, np.random.default_rng(seed)).items():
            path = f"{self.directory}/input-{name}.npy"
            np.save(path, array if array.dtype == np.int8 else array.astype(np.float32))
            paths.append(f"{name}={path}")
        return paths

    def outputs(self):
        return self.example.outputs

    def compare(self):
        results = {name: np.load(f"{self.directory}/result-{name}.npy").astype(np.float64) for name in self.outputs()}
        return self.example.compare(results)
