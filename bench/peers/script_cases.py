# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that run as they are, on the stand-in driver (python -m fa4.driver): CUTLASS's examples of CuTe-DSL, FlashAttention-4
forward and backward, and some of Triton and Gluon. Each judges its results by its own check, and every launch is simulated with all checks."""
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from cutlass_cases import EXAMPLES, MENDS

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Script:
    """A program (of this folder, or of CUTLASS's for Blackwell), its arguments, and the findings that it is known to have."""

    program: str
    arguments: str
    chip: str = "sm_100a"
    allow: frozenset = frozenset()

    @property
    def is_example(self):
        return "/" in self.program


def _example(program, arguments, chip="sm_100a", allow=()):
    """`allow`: beside those of the record's mend (cutlass_cases.MENDS)."""
    known = MENDS.get(program, (None, set()))[1]
    return Script(program, arguments, chip, frozenset({*known, *allow}))


def _once(program, arguments, **options):
    return _example(program, arguments + " --warmup_iterations 0 --iterations 1", **options)


_GROUPS = "--num_groups 2 --problem_sizes_mnkl (256,128,640,1),(128,256,64,1)"
_HOPPER = "../hopper/kernel/"
_PRIMITIVES = "../../experimental/primitives/tcgen05/"
_SCALED = "kernel/blockscaled_gemm/dense_blockscaled_gemm_persistent"
SCRIPTS = {
    "script-fa4-hd64-causal": Script("fa4_script.py", "64 causal"),
    "script-fa4-hd128": Script("fa4_script.py", "128 full"),
    "script-fa4-hd64-causal-sm90": Script("fa4_script.py", "64 causal", "sm_90a"),
    "script-fa4-hd128-sm90": Script("fa4_script.py", "128 full", "sm_90a"),
    "script-triton-attention": Script("triton_scripts.py", "attention"),
    "script-triton-attention-sm90": Script("triton_scripts.py", "attention", "sm_90a"),
    "script-triton-graph": Script("triton_scripts.py", "graph"),
    "script-triton-softmax-autotuned": Script("triton_scripts.py", "softmax"),
    # A load by TMA reuses the word of shared memory in which tcgen05.alloc, of the generic proxy, has left an address.
    "script-gluon-matmul": Script("triton_scripts.py", "gluon-blackwell", allow=frozenset({"missing-proxy-fence"})),
    "script-gluon-matmul-sm90": Script("triton_scripts.py", "gluon-hopper", "sm_90a"),
    "script-gluon-attention-sm90": Script("triton_scripts.py", "gluon-attention", "sm_90a"),
    **{f"script-fp16-gemm-{n}": _example(f"tutorial/tutorial_gemm/fp16_gemm_{n}.py", "--mnk 512,512,640")
       for n in ("0", "1", "2", "3", "3_1", "4", "5")},
    "script-fp16-gemm-6": _example("tutorial/tutorial_gemm/fp16_gemm_6.py", "--mnk 256,256,128"),
    **{f"script-tma-v{n}": _example(f"tutorial/tutorial_tma/tma_v{n}.py", "") for n in range(3)},
    "script-persistent-gemm": _once("kernel/dense_gemm/dense_gemm_persistent.py", "--mnkl 512,256,640,1 --ab_dtype Float16 "
                                    "--c_dtype Float32 --mma_tiler_mn 128,128 --use_tma_store"),
    "script-dynamic-gemm": _once("kernel/dense_gemm/dense_gemm_persistent_dynamic.py",
                                 "--mnkl 512,256,640,1 --mma_tiler_mn 128,128 --use_tma_store"),
    "script-grouped-gemm": _once("kernel/grouped_gemm/grouped_gemm.py", _GROUPS + " --mma_tiler_mn 128,64"),
    "script-blockwise-gemm": _once("kernel/blockwise_gemm/blockwise_gemm.py", "--mnkl 256,256,512,1"),
    "script-blockwise-grouped-gemm": _once("kernel/blockwise_gemm/contiguous_grouped_gemm.py", "--mnkl 256,256,512,2"),
    "script-mamba2": _once("kernel/attention/mamba2_ssd/mamba2_ssd.py", "--gbehcdln 2,2,2,2,2,64,128,128"),
    "script-fmha": _once("kernel/attention/fmha/fmha.py", "--q_shape 1,256,2,64 --k_shape 1,256,2,64"),
    "script-fmha-bwd": _once("kernel/attention/fmha/fmha_bwd.py", "--s_q 256 --s_k 256 --h_q 1 --h_k 1 --d 64 --b 1"),
    "script-mla": _once("kernel/attention/mla/mla_decode_fp16.py", "--seq_len_k 256 --batch_size 1 --split_kv 1"),
    "script-mla-fp8": _once("kernel/attention/mla/mla_decode_fp8.py", "--seq_len_k 256 --batch_size 1 --split_kv 1",
                            allow=["race", "missing-tensor-wait"]),
    # One lane releases a stage of C when it has read its part; nothing orders the reads of the other lanes before that.
    "script-alpha-beta-gemm": _once("kernel/dense_gemm/dense_gemm_alpha_beta_persistent.py", "--mnkl 256,256,640,1", allow=["race"]),
    "script-custom-epilogue-gemm": _once("efc/activation_custom_epilogue_dense_gemm.py", "--mnkl 256,256,256,1", allow=["race"]),
    **{f"script-nvfp4-gemm-{n}": _example(f"tutorial/tutorial_gemm/nvfp4_gemm_{n}.py", "--mnkl 256,256,512,1") for n in range(2)},
    # Both formats of scale factors, all sizes of blocks and elements, one CTA and two.
    **{f"script-scaled-gemm-{name}": _example(_SCALED + ".py", "--mnkl 512,512,512,1 " + arguments) for name, arguments in {
        "nvf4": "--mma_tiler_mn 128,192",
        "nvf4-2cta": "--mma_tiler_mn 256,256 --cluster_shape_mn 2,1",
        "mxf4": "--sf_dtype Float8E8M0FNU --sf_vec_size 32",
        "mxf8": "--a_dtype Float8E4M3FN --b_dtype Float8E5M2 --sf_dtype Float8E8M0FNU --sf_vec_size 32",
        "mxf4-mxf8": "--a_dtype Float4E2M1FN --b_dtype Float8E4M3FN --sf_dtype Float8E8M0FNU --sf_vec_size 32",
        "mxf6": "--a_dtype Float6E2M3FN --b_dtype Float6E3M2FN --sf_dtype Float8E8M0FNU --sf_vec_size 32",
    }.items()},
    "script-scaled-gemm-amax": _example(_SCALED + "_amax.py", "--mnkl 256,256,512,1"),
    "script-scaled-gemm-prefetch": _example(_SCALED + "_prefetch.py", "--mnkl 256,256,512,1"),
    "script-scaled-grouped-gemm": _example("kernel/blockscaled_grouped_gemm/grouped_blockscaled_gemm.py", ""),
    **{f"script-scaled-gemm-sm103-{size}": _example("kernel/blockscaled_gemm/sm103_dense_blockscaled_gemm_persistent.py",
                                                    f"--mnkl 256,256,768,1 --cluster_shape_mn 2,1 --sf_vec_size {size}", chip="sm_103a")
       for size in (16, 32)},
    # Written for one CTA's own barriers: nothing waits for the peer's scale factors, nor for those that cp.async brings.
    "script-scaled-gemm-m128-2cta": _example(_PRIMITIVES + "2cta_mma_blockscale_m128.py", "--mnk 128,256,256",
                                             allow=["missing-proxy-fence", "race", "exit-with-async-outstanding"]),
    # Nothing orders the last loads of tensor memory before its deallocation.
    "script-mixed-input-fmha": _example("kernel/attention/mixed_input_fmha/mixed_input_fmha_prefill_d256.py", "",
                                        allow=["race", "tmem-not-allocated"]),
    "script-mixed-input-gemm": _once("kernel/mixed_input_gemm/mixed_input_gemm.py", "--mnkl 256,256,512,1"),
    "script-mixed-input-grouped-gemm": _once("kernel/mixed_input_gemm/grouped_mixed_input_gemm.py", ""),
    "script-gemm": _once("kernel/dense_gemm/dense_gemm.py", "--mnkl 256,256,512,1"),
    "script-gemm-prefetch": _once("kernel/dense_gemm/dense_gemm_persistent_prefetch.py", "--mnkl 256,256,512,1"),
    "script-gemm-software-pipeline": _once("kernel/dense_gemm/dense_gemm_software_pipeline.py", "--mnkl 256,256,512,1"),
    # No tcgen05.fence stands around the barrier in front of tcgen05.dealloc, and pairs do not wait for the peer there.
    **{f"script-{name}": _example(_PRIMITIVES + name + ".py", "", allow=["missing-tensor-fence", *more]) for name, *more in (
        ("1cta_mma_basic",), ("1cta_mma_pipeline",), ("1cta_mma_mn_major",), ("2cta_mma_basic", "race"), ("2cta_mma_tma_store", "race"),
        ("clusterMxN_2cta_mma", "race"), ("cp_narrow_a_to_tmem_mma",), ("1cta_mma_a_from_tmem", "tmem-lane-access"),
        ("slicek_m32n8k128", "missing-proxy-fence"), ("mcast_clusterMxN_1cta_mma", "exit-with-async-outstanding"),
        ("tmem_ld_to_stmatrix_transpose",))},
    "script-tmem_ld_st": _example(_PRIMITIVES + "tmem_ld_st.py", ""),
    "script-rmsnorm": _example("kernel/rmsnorm/rmsnorm.py", ""),
    "script-gemm-sm90": _once(_HOPPER + "dense_gemm/dense_gemm.py", "--mnkl 256,256,128,1", chip="sm_90a"),
    "script-persistent-gemm-sm90": _once(_HOPPER + "dense_gemm/dense_gemm_persistent.py", "--mnkl 512,512,640,1", chip="sm_90a"),
    "script-fp8-gemm-sm90": _once(_HOPPER + "dense_gemm/dense_gemm_fp8_2xacc.py", "--mnkl 256,256,512,1", chip="sm_90a",
                                  allow=["missing-wgmma-fence"]),
    "script-fp8-gelu-gemm-sm90": _once(_HOPPER + "dense_gemm/dense_gemm_fp8_gelu_persistent.py", "--mnkl 256,256,512,1",
                                       chip="sm_90a", allow=["missing-wgmma-fence"]),
    "script-fmha-sm90": _once(_HOPPER + "attention/fmha.py", "--q_shape 1,256,2,64 --k_shape 1,256,2,64", chip="sm_90a"),
    "script-elementwise-add": _once("../ampere/kernel/elementwise/elementwise_add.py", "--M 256 --N 256", chip="sm_90a"),
    "script-sgemm": _once("../ampere/kernel/dense_gemm/sgemm.py", "--mnk 256,256,64", chip="sm_90a"),
}


def run_script(name, options, log):
    """Runs one of SCRIPTS, and prints its row: launches, seconds, instructions, what is allowed. True if the program ends with
    status 0, which its own check decides, and all launches are clean but for what it is known to have."""
    script, folder = SCRIPTS[name], Path(options.scratch, name)
    folder.mkdir(parents=True, exist_ok=True)
    journal = folder / "launches.jsonl"
    journal.unlink(missing_ok=True)
    program = f"{options.cutlass}{EXAMPLES}/{script.program}" if script.is_example else HERE / script.program
    command = [sys.executable, "-W", "ignore", "-m", "fa4.driver", "--chip", script.chip, "--log", journal]
    command += ["--allow", ",".join(sorted(script.allow))] if script.allow else []
    command += [] if options.check else ["--no-check"]
    command += ["--seed", options.seeds.split(":")[0]] if options.seeds else []
    library = Path(options.fa4_sim).resolve().parents[1] / "lib" / "fa4-driver"
    # The paths of helpers that examples import, and of fa4; Triton compiles a kernel in each run.
    paths = [HERE.parents[1] / "python", *(Path(options.cutlass + EXAMPLES).parent, Path(options.cutlass + EXAMPLES)) * script.is_example]
    env = {**os.environ, "FA4_DRIVER_LIBRARY": str(library), "PYTHONPATH": os.pathsep.join(map(str, paths)),
           "TRITON_CACHE_DIR": str(folder / "triton"), "TRITON_DEFAULT_FP_FUSION": "1"}
    begin = time.monotonic()
    try:
        done = subprocess.run([*command, program, *script.arguments.split()], env=env, cwd=folder, timeout=options.timeout,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except subprocess.TimeoutExpired:
        log(f"{name:30} FAILED: no end after {options.timeout} s")
        return False
    seconds = time.monotonic() - begin
    (folder / "output.txt").write_text(done.stdout)
    launches = [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
    instructions = sum(launch.get("stats", {}).get("warp_instructions", 0) for launch in launches)
    findings = [report for launch in launches for report in launch["reports"]]
    ok = done.returncode == 0 and launches and not findings
    known = f"(without {', '.join(sorted(script.allow))})" if script.allow and options.check else ""
    log(f"{name:30} {len(launches):5} {seconds:8.2f} {instructions / 1e6:9.2f} {'':>30} {'ok' if ok else 'WRONG'} {known}")
    for report in findings[:3]:
        log(f"  [{report['kind']}] {report['message'].splitlines()[0]}")
    if not ok:
        log("  " + "\n  ".join(done.stdout.strip().splitlines()[-3:]) + f"\n  all of it: {folder}/output.txt")
    return bool(ok)
