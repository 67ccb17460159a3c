//===- TargetDescription.cpp - the tables of the chips --------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sources, by the tags used below:
//   [ptx]     PTX ISA manual 9.0, the section named.
//   [guide]   CUDA C++ Programming Guide: technical specifications and
//             arithmetic throughput per compute capability.
//   [umma]    SemiAnalysis, microbench-blackwell (B200): umma_throughput and
//             umma_latency.
//   [fa4]     FlashAttention-4 paper, arXiv 2603.05451.
//   [b300]    third-party instruction catalogue measured on a B300; taken for
//             B200 too where both have the same SM, which all but MUFU do.
//   [h200]    loops of eight independent chains a thread, and of 32 wgmma a
//             group, timed with clock64 on an H200.
//   [h100]    bench/timing, measured on an H100 (bench/timing.json).
//   [sass]    read off the machine code that ptxas 13.0 makes.
//   [derived] worked out from other entries.
//
//===----------------------------------------------------------------------===//

#include "fa4/Target/TargetDescription.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cassert>

using namespace llvm;

namespace fa4 {

// [ptx] tcgen05.mma kind::f16, kind::f8f6f4; wgmma.mma_async .f16, .bf16,
// .e4m3, .e5m2. Integer, tf32 and block-scaled kinds are left out: nothing uses
// them.
static constexpr StringLiteral kMmaElementTypes[] = {"f16", "bf16", "f8E4M3FN",
                                                     "f8E5M2"};

/// Returns the numbers that all sm_100 chips share. The callers set those of
/// each product.
static constexpr TargetDescription makeBlackwell() {
  return TargetDescription{
      /*chip=*/"",
      // The newest PTX that LLVM 22 writes and ptxas 13.0 reads.
      /*features=*/"+ptx90",
      /*product=*/"",
      // [b300] multiprocessor count of B200 and B300 alike.
      /*smCount=*/148,
      /*clockMHz=*/0,
      // [b300] 126.5 MiB as the driver reports it.
      /*l2Bytes=*/132644864,
      // Not measured.
      /*instructionCacheBytes=*/0,
      // [guide] 228 KiB an SM less 1 KiB that the system reserves per CTA.
      /*smemBytes=*/232448,
      // [fa4]; 32 banks of 4 bytes [guide].
      /*smemBytesPerClock=*/128,
      // [ptx] "Swizzling modes": the 128-byte pattern repeats every 1024.
      /*smemTileAlignment=*/1024,
      // [ptx] "cp.async.bulk.tensor": destinations at multiples of 128.
      /*smemVectorAlignment=*/128,
      // [ptx] "Size and alignment of mbarrier object".
      /*mbarrierBytes=*/8,
      // [ptx] "barrier": ids 0 to 15.
      /*namedBarriers=*/16,
      // [ptx] "Tensor Memory": 128 lanes, 512 columns; allocations from 32.
      /*tmemLanes=*/128,
      /*tmemColumns=*/512,
      /*tmemAllocationColumns=*/32,
      // UNCERTAIN. [derived] from the structure: each of the four partitions
      // reads or writes 32 lanes of 4 bytes per clock. Unaudited measurements
      // say 110 to 200 for loads and 340 to 460 for stores.
      /*tmemLoadBytesPerClock=*/512,
      /*tmemStoreBytesPerClock=*/512,
      /*tmemLoadReduce=*/false,
      // [guide] threads per block, warp size, registers per SM and thread.
      /*maxThreads=*/1024,
      /*warpSize=*/32,
      // [ptx] "wgmma", "tcgen05.ld" and "setmaxnreg": four warps, the first at
      // a multiple of four.
      /*warpgroupSize=*/128,
      /*registerFileWords=*/65536,
      /*maxRegistersPerThread=*/255,
      // [ptx] "setmaxnreg": a multiple of 8 from 24 to 256.
      /*registerGranule=*/8,
      /*minRegisterBudget=*/24,
      /*maxRegisterBudget=*/256,
      RoleTable{
          // [ptx] tcgen05.mma and cp.async.bulk.tensor are issued by one
          // thread. Its state are the positions in rings, the indices of loops
          // and the descriptors of operands; [sass] up to 16 words
          // beside kRegisterSlack.
          /*issuer=*/{/*warps=*/1, /*oneThread=*/true, /*startsMmas=*/true,
                      /*stateRegisters=*/16, ValueLayoutKind::None},
          // [ptx] "tcgen05.ld", access restrictions: the four warps of a
          // warpgroup together reach all lanes of tensor memory.
          /*vector=*/
          {/*warps=*/4, /*oneThread=*/false, /*startsMmas=*/false,
           /*stateRegisters=*/0, ValueLayoutKind::Rows},
          /*idle=*/
          {/*warps=*/0, /*oneThread=*/false, /*startsMmas=*/false,
           /*stateRegisters=*/0, ValueLayoutKind::None},
          /*matrix=*/
          {/*warps=*/0, /*oneThread=*/false, /*startsMmas=*/false,
           /*stateRegisters=*/0, ValueLayoutKind::None}},
      MmaUnit{AccumulatorSpace::TensorMemory,
              // [ptx] "tcgen05.mma": A from tensor memory.
              /*aFromAccumulatorSpace=*/true,
              // [ptx] "Matrix shape": M 64 or 128 per CTA, N up to 256, K 32
              // bytes.
              /*rows=*/128, /*minRows=*/64, /*maxColumns=*/256, /*kBytes=*/32,
              // [fa4] 8192 bf16 operations per clock and SM = 128 rows * 2
              // columns * 16 * 2; [umma] agrees.
              /*columnsPerClock=*/2,
              // [ptx] "Data Path Layout Organization": layout B.
              /*pairs=*/true, ValueLayoutKind::FoldedRows, kMmaElementTypes},
      // [fa4] 16 ex2 per clock on B200. [b300] FFMA 4 warp instructions per
      // clock, FFMA2 2 (the same 128 lanes); FMNMX, FMNMX3, F2FP, LOP3, SHF 2
      // together; 4 issue slots.
      PipeRates{/*mufu=*/16, /*fma=*/128, /*alu=*/64, /*issueSlots=*/4},
      // [umma] fit of latency = constant + N/2 (one CTA), all with commit and
      // wait. [b300] the rest; TMA's 900 to 1400 of a busy chip as their
      // middle. Tensor memory: 20 clocks to start (some measured 420), then
      // 128 and 256 bytes a clock.
      Latencies{/*mmaShared=*/136, /*mma=*/104, /*mmaPairShared=*/165,
                /*mmaPair=*/133, /*tma=*/1150, /*mbarrierRoundTrip=*/120,
                /*tmemLoad=*/52, /*tmemStore=*/28,
                /*barrier=*/54, /*proxyFence=*/36, /*sharedLoad=*/29},
      // [ptx] "add", "mul", "fma" .f32x2 from sm_100; [sass] FADD2, FFMA2.
      /*packedF32x2=*/true,
      // [sass] ex2.approx.f16x2 is two MUFU and a PRMT.
      /*packedExp2=*/false,
      // [ptx] "max" of three f32 from sm_100; [sass] FMNMX3.
      /*threeInputMax=*/true,
      // [ptx] "clusterlaunchcontrol.try_cancel" from sm_100.
      /*requestsWork=*/true,
      // Not measured.
      /*ordersSumsByLength=*/true,
      /*fewBlocks=*/0};
}

static constexpr TargetDescription makeSm100a() {
  TargetDescription target = makeBlackwell();
  target.chip = "sm_100a";
  target.product = "B200";
  // [umma] the clock its latencies were taken at, the maximum of a B200.
  // (Peak figures are quoted at 1850 MHz [fa4].)
  target.clockMHz = 1965;
  return target;
}

static constexpr TargetDescription makeSm103a() {
  TargetDescription target = makeBlackwell();
  target.chip = "sm_103a";
  target.product = "B300";
  // [b300] maximum; its all-SM MMA loops ran at 1915 to 1930.
  target.clockMHz = 2032;
  // [fa4] and [b300]: ex2 at twice the rate of B200.
  target.rates.mufu = 32;
  // [sass] one MUFU.EX2.F16x2 or .BF16x2.
  target.packedExp2 = true;
  // [ptx] "tcgen05.ld": .red from sm_103a; ptxas refuses it for sm_100a.
  target.tmemLoadReduce = true;
  return target;
}

static constexpr TargetDescription makeSm90a() {
  // Hopper's numbers for a CTA, its registers, barriers and shared memory are
  // those of Blackwell [guide].
  TargetDescription target = makeBlackwell();
  target.chip = "sm_90a";
  target.product = "H200";
  // [h200] as the driver reports them; an H100 has 50 MiB of L2.
  target.smCount = 132;
  target.clockMHz = 1980;
  target.l2Bytes = 62914560;
  // [h100] Speed in comparison with one body for all roles, at the bytes of the
  // code of all roles as CodeSize.h estimates them: 49 to 82 KB 1.00 to 1.02
  // (1.07 for one gradient), 87 KB 0.97 to 0.99, 89 KB 0.97 to 0.99, 96 to 110
  // KB 0.93 to 1.00, 112 KB 0.99, 123 KB 0.76, 135 to 156 KB 0.69 to 0.92 (135
  // KB: 63 % of the requests for instructions hit the cache).
  target.instructionCacheBytes = 84 << 10;
  target.tmemLanes = 0;
  target.tmemColumns = 0;
  target.tmemAllocationColumns = 0;
  target.tmemLoadBytesPerClock = 0;
  target.tmemStoreBytesPerClock = 0;
  // [ptx] wgmma.mma_async: M 64, N up to 256, K 32 bytes, A from registers or
  // shared memory. [h200] N/2 cycles with A in shared memory (64.0, 127.9 at
  // N 128, 256); from registers 5 to 7 more, which mmaCycles leaves out.
  target.mma.accumulatorSpace = AccumulatorSpace::Registers;
  // [ptx] wgmma.mma_async is executed by a warpgroup, whose registers hold the
  // accumulator.
  target.roles.issuer.startsMmas = false;
  target.roles.matrix = {/*warps=*/4, /*oneThread=*/false, /*startsMmas=*/true,
                         /*stateRegisters=*/0, ValueLayoutKind::Fragment};
  // The role that loads has no descriptors of operands. [sass] of
  // FlashAttention-4's producer: 24 registers suffice.
  target.roles.issuer.stateRegisters = 0;
  target.mma.rows = 64;
  target.mma.minRows = 64;
  target.mma.pairs = false;
  target.mma.layoutOfPairMinRows = ValueLayoutKind::None;
  target.requestsWork = false;
  // [h100] The causal gradient at head dim 128, TFLOP/s at 1k, 4k and 16k keys:
  // 176, 336, 590 with the longest tiles first, 299, 492, 609 as the grid has
  // them, head by head.
  target.ordersSumsByLength = false;
  // [h100] Causal attention, CTAs that go on in comparison with one a work
  // tile: 1.18 (head dim 64, 6 tiles along the axis), 1.04 (128, 8 tiles), but
  // 0.93 (64, 22 tiles), 0.90 (128, 32). A window of 512: 1.14, 1.12; documents
  // of 256: 1.01, 1.14.
  target.fewBlocks = 8;
  // rates: [h200] 15.9 ex2, 114 fma, 61 max, 61 cvt.rn.bf16x2 and 61 of the
  // two mixed, per clock with 16 warps: the rates of Blackwell's table less the
  // loop's overhead.
  // [h200] commit and wait included: 113, 148, 218 at N 64, 128, 256 with A in
  // shared memory, 108, 143, 213 without.
  target.latency = Latencies{};
  target.latency.mmaShared = 82;
  target.latency.mma = 78;
  // [h100] a load of 32 KB while all SMs load, at 33.4 clocks a KB; mbarriers
  // between two roles of 128 threads; bar.sync of 128 threads.
  target.latency.tma = 1070;
  target.latency.mbarrierRoundTrip = 172;
  target.latency.barrier = 20;
  target.latency.proxyFence = 9;
  target.latency.sharedLoad = 23;
  // [ptx] .f32x2 and max of three from sm_100.
  target.packedF32x2 = false;
  target.threeInputMax = false;
  return target;
}

static constexpr TargetDescription kTargets[] = {makeSm90a(), makeSm100a(),
                                                 makeSm103a()};

bool TargetDescription::supportsMmaElementType(StringRef type) const {
  return is_contained(mma.elementTypes, type);
}

bool TargetDescription::isMmaInstruction(unsigned m, unsigned n,
                                         unsigned ctas) const {
  if (ctas != 1 && !(ctas == 2 && mma.pairs))
    return false;
  if (n == 0 || n > mma.maxColumns)
    return false;
  if (m != mma.rows * ctas && m != mma.minRows * ctas)
    return false;
  unsigned granule = ctas == 1 && m == 64 ? 8 : 16;
  return n % granule == 0;
}

bool TargetDescription::supportsMmaRows(unsigned rows, unsigned ctas) const {
  if (rows == mma.rows)
    return true;
  return ctas == 2 && rows == mma.minRows &&
         mma.layoutOfPairMinRows != ValueLayoutKind::None;
}

/// Returns the number of rows of the instruction into which a product of m rows
/// is cut.
static unsigned instructionRows(const TargetDescription &target,
                                const MmaShape &shape) {
  const MmaUnit &mma = target.mma;
  return shape.m <= mma.minRows * shape.ctas ? mma.minRows * shape.ctas
                                             : mma.rows * shape.ctas;
}

namespace {
/// An instruction of a product that has been cut, and how often it is needed.
struct MmaInstruction {
  unsigned m;
  unsigned n;
  uint64_t count;
};
} // namespace

/// Cuts a product into instructions of the widest shape, and one narrower
/// instruction for the remaining columns.
static SmallVector<MmaInstruction, 2>
cutIntoInstructions(const TargetDescription &target, const MmaShape &shape) {
  assert(shape.ctas == 1 || (shape.ctas == 2 && target.mma.pairs));
  unsigned m = instructionRows(target, shape);
  uint64_t count =
      divideCeil(shape.m, m) *
      divideCeil(uint64_t(shape.k) * shape.elementBytes, target.mma.kBytes);
  unsigned granule = shape.ctas == 1 && m == 64 ? 8 : 16;
  SmallVector<MmaInstruction, 2> result;
  if (unsigned wide = shape.n / target.mma.maxColumns)
    result.push_back({m, target.mma.maxColumns, count * wide});
  if (unsigned rest = shape.n % target.mma.maxColumns)
    result.push_back({m, unsigned(alignTo(rest, granule)), count});
  return result;
}

/// Returns the bytes of A and B that one instruction reads from the shared
/// memory of one CTA.
static uint64_t sharedBytes(const TargetDescription &target,
                            const MmaInstruction &inst, const MmaShape &shape) {
  unsigned aRows = shape.aFromShared ? inst.m / shape.ctas : 0;
  return uint64_t(target.mma.kBytes) * (aRows + inst.n / shape.ctas);
}

uint64_t TargetDescription::mmaCycles(const MmaShape &shape) const {
  uint64_t cycles = 0;
  for (const MmaInstruction &inst : cutIntoInstructions(*this, shape)) {
    // If two CTAs execute an MMA and each holds half of the rows, the
    // accumulator's columns are shared out among the lanes, half of which
    // would be idle otherwise.
    unsigned lanesPerRow = shape.ctas == 2 && inst.m == mma.minRows * 2
                               ? tmemLanes / mma.minRows
                               : 1;
    uint64_t tensor = divideCeil(inst.n / lanesPerRow, mma.columnsPerClock);
    uint64_t shared =
        divideCeil(sharedBytes(*this, inst, shape), smemBytesPerClock);
    cycles += inst.count * std::max(tensor, shared);
  }
  return cycles;
}

uint64_t TargetDescription::mmaSharedBytes(const MmaShape &shape) const {
  uint64_t bytes = 0;
  for (const MmaInstruction &inst : cutIntoInstructions(*this, shape))
    bytes += inst.count * sharedBytes(*this, inst, shape);
  return bytes;
}

uint64_t TargetDescription::mmaLatency(const MmaShape &shape) const {
  uint64_t cycles = mmaCycles(shape);
  if (shape.ctas == 2)
    return cycles +
           (shape.aFromShared ? latency.mmaPairShared : latency.mmaPair);
  return cycles + (shape.aFromShared ? latency.mmaShared : latency.mma);
}

const TargetDescription *lookupTarget(StringRef chip) {
  const auto *it = find_if(
      kTargets, [&](const TargetDescription &t) { return t.chip == chip; });
  return it == std::end(kTargets) ? nullptr : it;
}

ArrayRef<StringRef> knownTargets() {
  static const SmallVector<StringRef> names = map_to_vector(
      kTargets, [](const TargetDescription &t) -> StringRef { return t.chip; });
  return names;
}

} // namespace fa4
