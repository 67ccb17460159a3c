// A whole GEMM in upstream's dialects, through upstream's tools to PTX, runs to
// the right numbers. It holds the simulator against code that fa4's compiler
// has not made.
//
// RUN: rm -rf %t && mkdir -p %t && cd %t && %commands %s
//
// $ cp "$S"/Inputs/gemm_sm100.json .
// $ mlir-opt "$S"/gemm_sm100.mlir --convert-nvvm-to-llvm --reconcile-unrealized-casts | mlir-translate --mlir-to-llvmir | opt -S -O3 | llc -march=nvptx64 -mcpu=sm_100a -mattr=+ptx90 -O3 -o gemm_sm100.ptx
//
// 2 tiles x 5 K tiles x 4 instructions of 128x128x16.
//
// $ fa4-sim gemm_sm100.json M=256 N=128 K=320 --random --check --seeds 0:9 --stats --output A=A.npy --output B=B.npy C=C.npy > stats.txt
// $ grep -c 'mma instructions *40$' stats.txt
// 10
// $ python3 "$S"/Inputs/check_gemm.py A.npy B.npy C.npy
// max error {{.*}}
//
// The same through fa4-compile.
//
// $ rm gemm_sm100.ptx C.npy && fa4-compile "$S"/gemm_sm100.mlir -o .
// $ fa4-sim gemm_sm100.json M=256 N=128 K=320 --random --check --seeds 0:9 --stats --output A=A.npy --output B=B.npy C=C.npy > stats.txt
// $ grep -c 'mma instructions *40$' stats.txt
// 10
// $ python3 "$S"/Inputs/check_gemm.py A.npy B.npy C.npy
// max error {{.*}}
//
// By the clock of the chip, with all checks, the numbers are the same. The time of
// an accumulator's tile is about that of its products, 20 x 64 clocks, behind
// a load and in front of the epilogue.
//
// $ rm C.npy && fa4-sim gemm_sm100.json M=256 N=128 K=320 --random --check --time --costs=forms --output A=A.npy --output B=B.npy C=C.npy
// ...
//  {{ [3-6][0-9][0-9][0-9]}} cycles, {{.*}} us at 1.800 GHz, {{[0-9.]+}} TFLOP/s
// ...
//   2 of 2 CTAs simulated; 2 SMs busy, 1 CTAs on each
//   bound by tensor cores: 1280 cycles{{.*}}
// ...
// {{.*}}units busy in its middle half: {{.*}}tensor cores{{.*}}
// ...
// {{.*}}line {{[0-9]+}}: mbarrier.try_wait{{.*}} (dyn_smem+{{.*}} (shared 0x{{.*}}))
// ...
// $ python3 "$S"/Inputs/check_gemm.py A.npy B.npy C.npy
// max error {{.*}}
//
// Warp-specialised SM100 GEMM, C[M,N](f32) = A[M,K](bf16, K-major) * B[N,K](bf16, K-major)^T
// tile 128x128x64, 4 smem stages, 192 threads:
//   warp 0 = TMA producer, warp 1 = TMEM alloc + MMA issue, warps 2..5 = epilogue (TMEM lanes 32*(warp%4)..+31)
// dynamic smem: [0,64K) A stages, [64K,128K) B stages, then full[4] empty[4] acc mbarriers + tmem address word

module attributes {llvm.target_triple = "nvptx64-nvidia-cuda"} {
  llvm.mlir.global external @dyn_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>

  llvm.func @gemm_sm100(
      %tmA: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 128 : i64, nvvm.grid_constant},
      %tmB: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 128 : i64, nvvm.grid_constant},
      %C: !llvm.ptr<1> {llvm.align = 32 : i64, llvm.noalias}, %ldc: i32, %nk: i32)
      attributes {nvvm.kernel, nvvm.reqntid = array<i32: 192, 1, 1>, nvvm.minctasm = 1 : i32} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c2 = llvm.mlir.constant(2 : i32) : i32
    %c3 = llvm.mlir.constant(3 : i32) : i32
    %c4 = llvm.mlir.constant(4 : i32) : i32
    %c5 = llvm.mlir.constant(5 : i32) : i32
    %c7 = llvm.mlir.constant(7 : i32) : i32
    %c14 = llvm.mlir.constant(14 : i32) : i32
    %c16 = llvm.mlir.constant(16 : i32) : i32
    %c31 = llvm.mlir.constant(31 : i32) : i32
    %cm1 = llvm.mlir.constant(-1 : i32) : i32
    %c64 = llvm.mlir.constant(64 : i32) : i32
    %c128 = llvm.mlir.constant(128 : i32) : i32
    %c1024 = llvm.mlir.constant(1024 : i32) : i32
    %tx = llvm.mlir.constant(32768 : i32) : i32
    %true = llvm.mlir.constant(true) : i1
    %idesc = llvm.mlir.constant(136316048 : i32) : i32      // 0x08200490: D=f32 A=B=bf16 N=128 M=128, both K-major
    %dhi = llvm.mlir.constant(4611756662049472512 : i64) : i64 // hi word 0x40004040: SBO=1024B, version bit46, swizzle128B
    %lbo = llvm.mlir.constant(65536 : i64) : i64             // LBO field = 1 (ignored for swizzled K-major)
    %mask14 = llvm.mlir.constant(16383 : i32) : i32

    %smem = llvm.mlir.addressof @dyn_smem : !llvm.ptr<3>
    %smemB = llvm.getelementptr %smem[65536] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %full = llvm.getelementptr %smem[131072] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %empty = llvm.getelementptr %smem[131104] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %acc = llvm.getelementptr %smem[131136] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %tmslot = llvm.getelementptr %smem[131144] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8

    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %w0 = llvm.lshr %tid, %c5 : i32
    %warp = nvvm.shfl.sync idx %cm1, %w0, %c0, %c31 : i32 -> i32
    %bx = nvvm.read.ptx.sreg.ctaid.x : i32
    %by = nvvm.read.ptx.sreg.ctaid.y : i32
    %m0 = llvm.shl %by, %c7 : i32
    %n0 = llvm.shl %bx, %c7 : i32
    %isw0 = llvm.icmp "eq" %warp, %c0 : i32
    %isw1 = llvm.icmp "eq" %warp, %c1 : i32
    llvm.cond_br %isw0, ^init, ^chk_alloc

  ^init:
    %e0 = nvvm.elect.sync -> i1
    llvm.cond_br %e0, ^do_init, ^init_join
  ^do_init:
    nvvm.prefetch tensormap, %tmA : !llvm.ptr
    nvvm.prefetch tensormap, %tmB : !llvm.ptr
    %f1 = llvm.getelementptr %full[8] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %f2 = llvm.getelementptr %full[16] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %f3 = llvm.getelementptr %full[24] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %em1 = llvm.getelementptr %empty[8] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %em2 = llvm.getelementptr %empty[16] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %em3 = llvm.getelementptr %empty[24] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %f1, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %f2, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %f3, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %empty, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %em1, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %em2, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %em3, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %acc, %c1 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
    llvm.br ^init_join
  ^init_join:
    nvvm.bar.warp.sync %cm1 : i32
    llvm.br ^setup_sync
  ^chk_alloc:
    llvm.cond_br %isw1, ^alloc, ^setup_sync
  ^alloc:
    nvvm.tcgen05.alloc %tmslot, %c128 : !llvm.ptr<3>, i32
    nvvm.tcgen05.relinquish_alloc_permit
    llvm.br ^setup_sync

  ^setup_sync:
    nvvm.tcgen05.fence <before>
    nvvm.barrier0
    nvvm.tcgen05.fence <after>
    %tbase = llvm.load %tmslot {alignment = 4 : i64} : !llvm.ptr<3> -> i32
    llvm.cond_br %isw0, ^producer, ^not_prod

  // ---------------- TMA producer ----------------
  ^producer:
    %e1 = nvvm.elect.sync -> i1
    llvm.cond_br %e1, ^p_loop(%c0 : i32), ^warpjoin
  ^p_loop(%pk: i32):
    %pmore = llvm.icmp "slt" %pk, %nk : i32
    llvm.cond_br %pmore, ^p_body, ^warpjoin
  ^p_body:
    %pst = llvm.and %pk, %c3 : i32
    %pit = llvm.lshr %pk, %c2 : i32
    %pph = llvm.and %pit, %c1 : i32
    %pwp = llvm.xor %pph, %c1 : i32
    %pfull = llvm.getelementptr %full[%pst] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %pempty = llvm.getelementptr %empty[%pst] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    llvm.br ^p_wait
  ^p_wait:
    %pok = nvvm.mbarrier.try_wait %pempty, %pwp : !llvm.ptr<3>, i32 -> i1
    llvm.cond_br %pok, ^p_issue, ^p_wait
  ^p_issue:
    nvvm.mbarrier.arrive.expect_tx %pfull, %tx : !llvm.ptr<3>, i32
    %poff = llvm.shl %pst, %c14 : i32
    %pA = llvm.getelementptr %smem[%poff] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    %pB = llvm.getelementptr %smemB[%poff] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    %kc = llvm.mul %pk, %c64 : i32
    nvvm.cp.async.bulk.tensor.shared.cluster.global %pA, %tmA, %pfull, box[%kc, %m0] {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
    nvvm.cp.async.bulk.tensor.shared.cluster.global %pB, %tmB, %pfull, box[%kc, %n0] {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
    %pk1 = llvm.add %pk, %c1 : i32
    llvm.br ^p_loop(%pk1 : i32)

  ^not_prod:
    llvm.cond_br %isw1, ^mma, ^epi
  // ---------------- MMA issuer ----------------
  ^mma:
    %e2 = nvvm.elect.sync -> i1
    llvm.cond_br %e2, ^m_entry, ^warpjoin
  ^m_entry:
    %tD = llvm.inttoptr %tbase : i32 to !llvm.ptr<6>
    %sAi = llvm.ptrtoint %smem : !llvm.ptr<3> to i32
    %sBi = llvm.ptrtoint %smemB : !llvm.ptr<3> to i32
    %sA4 = llvm.lshr %sAi, %c4 : i32
    %sB4 = llvm.lshr %sBi, %c4 : i32
    llvm.br ^m_loop(%c0 : i32)
  ^m_loop(%mk: i32):
    %mmore = llvm.icmp "slt" %mk, %nk : i32
    llvm.cond_br %mmore, ^m_body, ^m_done
  ^m_body:
    %mst = llvm.and %mk, %c3 : i32
    %mit = llvm.lshr %mk, %c2 : i32
    %mph = llvm.and %mit, %c1 : i32
    %mfull = llvm.getelementptr %full[%mst] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %mempty = llvm.getelementptr %empty[%mst] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    llvm.br ^m_wait
  ^m_wait:
    %mok = nvvm.mbarrier.try_wait %mfull, %mph : !llvm.ptr<3>, i32 -> i1
    llvm.cond_br %mok, ^m_issue, ^m_wait
  ^m_issue:
    nvvm.tcgen05.fence <after>
    %mo = llvm.mul %mst, %c1024 : i32
    %a0 = llvm.add %sA4, %mo : i32
    %b0 = llvm.add %sB4, %mo : i32
    %a0m = llvm.and %a0, %mask14 : i32
    %b0m = llvm.and %b0, %mask14 : i32
    %a0z = llvm.zext %a0m : i32 to i64
    %b0z = llvm.zext %b0m : i32 to i64
    %a0l = llvm.or %a0z, %lbo : i64
    %b0l = llvm.or %b0z, %lbo : i64
    %dA0 = llvm.or %a0l, %dhi : i64
    %dB0 = llvm.or %b0l, %dhi : i64
    %i2 = llvm.mlir.constant(2 : i64) : i64
    %i4 = llvm.mlir.constant(4 : i64) : i64
    %i6 = llvm.mlir.constant(6 : i64) : i64
    %dA1 = llvm.add %dA0, %i2 : i64
    %dB1 = llvm.add %dB0, %i2 : i64
    %dA2 = llvm.add %dA0, %i4 : i64
    %dB2 = llvm.add %dB0, %i4 : i64
    %dA3 = llvm.add %dA0, %i6 : i64
    %dB3 = llvm.add %dB0, %i6 : i64
    %notfirst = llvm.icmp "ne" %mk, %c0 : i32
    nvvm.tcgen05.mma %tD, %dA0, %dB0, %idesc, %notfirst {kind = #nvvm.tcgen05_mma_kind<f16>, ctaGroup = #nvvm.cta_group<cta_1>} : (!llvm.ptr<6>, i64, i64, i32, i1)
    nvvm.tcgen05.mma %tD, %dA1, %dB1, %idesc, %true {kind = #nvvm.tcgen05_mma_kind<f16>, ctaGroup = #nvvm.cta_group<cta_1>} : (!llvm.ptr<6>, i64, i64, i32, i1)
    nvvm.tcgen05.mma %tD, %dA2, %dB2, %idesc, %true {kind = #nvvm.tcgen05_mma_kind<f16>, ctaGroup = #nvvm.cta_group<cta_1>} : (!llvm.ptr<6>, i64, i64, i32, i1)
    nvvm.tcgen05.mma %tD, %dA3, %dB3, %idesc, %true {kind = #nvvm.tcgen05_mma_kind<f16>, ctaGroup = #nvvm.cta_group<cta_1>} : (!llvm.ptr<6>, i64, i64, i32, i1)
    nvvm.tcgen05.commit %mempty : !llvm.ptr<3>
    %mk1 = llvm.add %mk, %c1 : i32
    llvm.br ^m_loop(%mk1 : i32)
  ^m_done:
    nvvm.tcgen05.commit %acc : !llvm.ptr<3>
    llvm.br ^warpjoin

  // ---------------- epilogue ----------------
  ^epi:
    %ok = nvvm.mbarrier.try_wait %acc, %c0 : !llvm.ptr<3>, i32 -> i1
    llvm.cond_br %ok, ^epi_go, ^epi
  ^epi_go:
    nvvm.tcgen05.fence <after>
    %wsub = llvm.and %warp, %c3 : i32
    %lane0 = llvm.shl %wsub, %c5 : i32
    %lane = llvm.and %tid, %c31 : i32
    %rowl = llvm.or %lane0, %lane : i32
    %row = llvm.add %m0, %rowl : i32
    %ro = llvm.mul %row, %ldc : i32
    %eo = llvm.add %ro, %n0 : i32
    %cp = llvm.getelementptr %C[%eo] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %tl = llvm.shl %lane0, %c16 : i32
    %t0 = llvm.add %tbase, %tl : i32
    llvm.br ^e_loop(%c0 : i32)
  ^e_loop(%j: i32):
    %tj = llvm.add %t0, %j : i32
    %tp = llvm.inttoptr %tj : i32 to !llvm.ptr<6>
    %v = nvvm.tcgen05.ld %tp {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<32xi32>
    nvvm.tcgen05.wait <load>
    %cj = llvm.getelementptr %cp[%j] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %v, %cj {alignment = 32 : i64} : vector<32xi32>, !llvm.ptr<1>
    %c32 = llvm.mlir.constant(32 : i32) : i32
    %j1 = llvm.add %j, %c32 : i32
    %emore = llvm.icmp "slt" %j1, %c128 : i32
    llvm.cond_br %emore, ^e_loop(%j1 : i32), ^e_done
  ^e_done:
    nvvm.tcgen05.fence <before>
    llvm.br ^join

  ^warpjoin:                       // non-elected lanes wait here for the elected one
    nvvm.bar.warp.sync %cm1 : i32
    llvm.br ^join
  ^join:
    nvvm.barrier0
    llvm.cond_br %isw1, ^free, ^exit
  ^free:
    nvvm.tcgen05.fence <after>
    %tfree = llvm.inttoptr %tbase : i32 to !llvm.ptr<6>
    nvvm.tcgen05.dealloc %tfree, %c128 : !llvm.ptr<6>, i32
    llvm.br ^exit
  ^exit:
    llvm.return
  }
}
