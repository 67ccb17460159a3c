//===- TargetDescription.h - what a chip has, and how fast -----*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One constant table per chip. Every heuristic of the compiler reads its
// numbers here, so that another chip is another table. The tables, with the
// source of each number, are in TargetDescription.cpp.
//
// Units: clocks are those of the SM; rates are per clock and SM and count
// thread-level operations (one warp instruction is 32 of them); sizes are
// bytes unless the name says words (32 bits) or columns.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TARGET_TARGETDESCRIPTION_H
#define FA4_TARGET_TARGETDESCRIPTION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace fa4 {

/// The memory in which an MMA leaves its result.
enum class AccumulatorSpace {
  /// 128 lanes of tensor memory beside the SM (tcgen05.mma).
  TensorMemory,
  /// The registers of the warpgroup that issues it (wgmma).
  Registers,
};

/// A product of an m x k by a k x n matrix of any size. It is cut into the
/// chip's instructions.
struct MmaShape {
  unsigned m;
  unsigned n;
  unsigned k;
  /// Size of an element of A and of B.
  unsigned elementBytes;
  /// A is read from shared memory; otherwise from tensor memory (or, where
  /// accumulators are in registers, from registers). B is always in shared
  /// memory.
  bool aFromShared = true;
  /// The number of CTAs that execute the product together, 1 or 2. Each of two
  /// has half of A's rows and half of B's columns in its shared memory, and
  /// half of the result.
  unsigned ctas = 1;
};

/// The way in which the threads of a role hold the elements of a tile.
enum class ValueLayoutKind {
  /// The threads hold no tiles.
  None,
  /// Thread t holds row t, whole. Tensor memory is read and written in this
  /// way: its lane t is row t, and a warp has the lanes of its number in the
  /// warpgroup (tcgen05.ld and .st, shape 32x32b).
  Rows,
  /// There are half as many rows as threads. Thread t of the first half holds
  /// the first half of the columns of row t, and the thread as far behind the
  /// middle the second half. So lie 64 rows in the 128 lanes of tensor memory
  /// where each of two CTAs has half of an MMA of 128 rows (PTX ISA, tcgen05,
  /// "Data Path Layout B").
  FoldedRows,
  /// A warp holds 16 rows. Thread l of the warp holds two columns of every
  /// eight, from 2 (l mod 4) on, of row l / 4 and of the row eight below. So
  /// wgmma leaves its results, and takes its operand A from registers (PTX ISA,
  /// "Register Fragments for wgmma.mma_async").
  Fragment,
};

/// The shapes and operands that the MMA unit supports.
struct MmaUnit {
  AccumulatorSpace accumulatorSpace;
  /// True if A may be read from the memory in which accumulators live.
  bool aFromAccumulatorSpace;
  /// Rows of the largest instruction that one CTA executes.
  unsigned rows;
  /// Rows of the smallest instruction that one CTA executes.
  unsigned minRows;
  /// Columns of the largest instruction.
  unsigned maxColumns;
  /// Bytes of one row of A that one instruction consumes: K times the size of
  /// an element, the same for all element types.
  unsigned kBytes;
  /// The columns of the accumulator, over all of its rows, that one instruction
  /// finishes per clock.
  unsigned columnsPerClock;
  /// True if two CTAs of a cluster can execute one MMA. Each of them then has
  /// `rows` or `minRows` rows of it.
  bool pairs;
  /// How a warpgroup holds the results of an MMA of which each CTA of a pair
  /// has `minRows` rows; None if there are no such MMAs.
  ValueLayoutKind layoutOfPairMinRows;
  /// Element types of A and B with an f32 accumulator, as MLIR spells them.
  llvm::ArrayRef<llvm::StringLiteral> elementTypes;
};

/// What roles of one kind are on a chip.
struct RoleFacts {
  /// The number of warps that execute the body of a role; 0 for a kind whose
  /// roles each say how many they have.
  unsigned warps;
  /// True if one thread of these warps executes the body. It starts
  /// asynchronous operations (TMA, MMAs where `startsMmas`) and holds no
  /// elements of tiles.
  bool oneThread;
  /// True if a role of this kind starts MMAs.
  bool startsMmas;
  /// The registers that a thread needs for its own state, beside kRegisterSlack
  /// and the elements that it holds.
  unsigned stateRegisters;
  ValueLayoutKind layout;
};

/// The facts of each kind of role (the cases of the attribute
/// `#tile.role_kind`).
struct RoleTable {
  RoleFacts issuer, vector, idle;
  /// A kind that computes on tiles and starts the MMAs whose results its
  /// threads hold. It has no warps on chips whose MMAs accumulate elsewhere,
  /// where there are no such roles.
  RoleFacts matrix;
};

/// Thread-level operations per clock and SM of each pipe. What occupies which:
/// MUFU: ex2, lg2, rcp. FMA: f32 add, mul, fma. ALU: max, min, select, compare,
/// logic, shifts and shift-adds, conversions f32 -> 16 bit.
struct PipeRates {
  unsigned mufu;
  unsigned fma;
  unsigned alu;
  /// Warp instructions issued per clock by the whole SM.
  unsigned issueSlots;
};

/// Latencies in clocks of one operation on an idle machine; 0 if nobody has
/// measured it. They serve to order operations and to bound a dependence cycle
/// from below, not for exact timing.
struct Latencies {
  /// The time from the issue of one MMA until a waiting warp goes on, less the
  /// cycles that the MMA itself takes: with A in shared memory, with A
  /// elsewhere, and the same for an MMA of two CTAs.
  unsigned mmaShared;
  unsigned mma;
  unsigned mmaPairShared;
  unsigned mmaPair;
  /// A TMA load of one box while all other SMs load, too: what a ring of
  /// buffers has to hide. On an idle machine half of it.
  unsigned tma;
  /// The time from the arrival of one warp until another warp that waits goes
  /// on, and back.
  unsigned mbarrierRoundTrip;
  /// tcgen05.ld of 32 columns until tcgen05.wait::ld has seen them, and
  /// tcgen05.st until tcgen05.wait::st has.
  unsigned tmemLoad;
  unsigned tmemStore;
  /// bar.sync of all threads of a CTA.
  unsigned barrier;
  /// fence.proxy.async.
  unsigned proxyFence;
  /// ld.shared to its use.
  unsigned sharedLoad;
};

struct TargetDescription {
  /// The name of the chip, as in llc's -mcpu and ptxas' -arch.
  llvm::StringLiteral chip;
  /// The PTX version to write, as in llc's -mattr.
  llvm::StringLiteral features;
  /// The products to which the numbers belong.
  llvm::StringLiteral product;

  unsigned smCount;
  /// Highest SM clock. Sustained clocks under tensor load are lower.
  unsigned clockMHz;
  uint64_t l2Bytes;

  /// How much code the roles of a CTA may have before an SM spends time on
  /// fetching it anew in each pass; 0 if nobody has measured it.
  unsigned instructionCacheBytes;

  /// Shared memory that one CTA can have.
  unsigned smemBytes;
  unsigned smemBytesPerClock;
  /// The alignment of a tile in the 128-byte swizzle. The pattern then starts
  /// at phase 0.
  unsigned smemTileAlignment;
  /// The alignment of row values and other vectors, to which bulk copies write.
  unsigned smemVectorAlignment;
  unsigned mbarrierBytes;
  /// The number of named barriers: bar.sync 0 to n-1.
  unsigned namedBarriers;

  /// The size of tensor memory; 0 x 0 if there is none. A column has 32 bits in
  /// each lane.
  unsigned tmemLanes;
  unsigned tmemColumns;
  /// Smallest allocation; allocations are powers of two.
  unsigned tmemAllocationColumns;
  /// The rate of tcgen05.ld and tcgen05.st over the whole SM. UNCERTAIN: see
  /// the table.
  unsigned tmemLoadBytesPerClock;
  unsigned tmemStoreBytesPerClock;
  /// True if tcgen05.ld.red exists, which computes a row maximum as part of the
  /// load.
  bool tmemLoadReduce;

  unsigned maxThreads;
  unsigned warpSize;
  /// The number of threads that issue an MMA, or change their register count,
  /// together.
  unsigned warpgroupSize;
  unsigned registerFileWords;
  /// The number of registers that an instruction can address.
  unsigned maxRegistersPerThread;
  /// setmaxnreg takes multiples of the granule, from the minimum to the
  /// maximum.
  unsigned registerGranule;
  unsigned minRegisterBudget;
  unsigned maxRegisterBudget;

  RoleTable roles;
  MmaUnit mma;
  PipeRates rates;
  Latencies latency;
  /// True if add, mul and fma exist on pairs of f32: two operations for one
  /// issue slot.
  bool packedF32x2;
  /// True if ex2 on a pair of bf16 or f16 is one MUFU operation.
  bool packedExp2;
  /// True if max and min of three operands are one ALU operation.
  bool threeInputMax;
  /// True if a CTA can take the place of one that has not started yet.
  bool requestsWork;
  /// True if the longest work tiles come first even where CTAs add to memory
  /// and it is unknown how many of the sums fit into the cache: tiles of all
  /// heads are worked on side by side then.
  bool ordersSumsByLength;
  /// Up to how many work tiles along an axis CTAs go on to further ones, where
  /// work tiles take longer and longer along it; 0 where nobody has measured
  /// whether they should. With a number, they also go on where work tiles read
  /// ranges that move with them (windows).
  unsigned fewBlocks;

  unsigned maxWarps() const { return maxThreads / warpSize; }
  unsigned warpsPerWarpgroup() const { return warpgroupSize / warpSize; }
  bool hasTensorMemory() const { return tmemColumns != 0; }
  bool supportsMmaElementType(llvm::StringRef type) const;

  /// Returns true if one instruction executed by `ctas` CTAs multiplies m x k
  /// by k x n; k is fixed by the element type. PTX ISA, "Matrix shape" of
  /// tcgen05.mma's kind::f16 and of wgmma.mma_async.
  bool isMmaInstruction(unsigned m, unsigned n, unsigned ctas = 1) const;

  /// Returns true if each of `ctas` CTAs can have `rows` rows of an MMA's
  /// result, in a layout in which roles read it: those of the largest
  /// instruction or, in a pair, those of the smallest one.
  bool supportsMmaRows(unsigned rows, unsigned ctas) const;

  /// Cycles for which `shape` occupies the MMA unit when nothing else delays
  /// it: per instruction the larger of the tensor core's own time and that of
  /// reading its operands from shared memory. Sizes are rounded up to whole
  /// instructions. `shape.ctas` is 2 only where mma.pairs.
  uint64_t mmaCycles(const MmaShape &shape) const;

  /// Returns the bytes that `shape` reads from the shared memory of one CTA.
  uint64_t mmaSharedBytes(const MmaShape &shape) const;

  /// Cycles from the issue of `shape` to a waiter's resumption after its
  /// commit: mmaCycles and the latency of one MMA.
  uint64_t mmaLatency(const MmaShape &shape) const;
};

/// The table of a chip ("sm_100a"), or null. The table lives forever.
const TargetDescription *lookupTarget(llvm::StringRef chip);

/// Chips that lookupTarget knows, in a fixed order.
llvm::ArrayRef<llvm::StringRef> knownTargets();

} // namespace fa4

#endif // FA4_TARGET_TARGETDESCRIPTION_H
