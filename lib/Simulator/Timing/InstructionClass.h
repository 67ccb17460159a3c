//===- InstructionClass.h - how the clock treats an instruction -*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What can be told of a PTX instruction from its opcode, without machine code:
// which pipe it goes to, where its result comes from, and whether the assembler
// may move others across it.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_TIMING_INSTRUCTIONCLASS_H
#define FA4_LIB_SIMULATOR_TIMING_INSTRUCTIONCLASS_H

#include "fa4/Simulator/Timing/IssueCost.h"
#include "fa4/Target/TimingParameters.h"

namespace fa4::sim {

/// Where the result of an instruction comes from, as far as that decides when
/// it is there.
enum class ResultSource : uint8_t {
  Fixed,        ///< A pipe of fixed latency: stall counts wait for it.
  Half,         ///< As Fixed, with the latency of a pair of 16-bit numbers.
  Mufu,         ///< The multifunction unit.
  Convert,      ///< Conversions that go there, too.
  Double,       ///< Double precision.
  Shuffle,      ///< Another lane.
  Shared,       ///< Shared memory of the own CTA, or of another one.
  Global,       ///< L1, L2 or DRAM; also generic addresses and atomics.
  TensorMemory, ///< tcgen05.ld.
};

/// What the clock does with an instruction beside its issue cost.
enum class Special : uint8_t {
  None,
  MbarrierArrive,
  MbarrierRelease, ///< An arrival that releases to the cluster.
  ProxyFence,
  MembarCta,
  MembarGpu,
  WarpSync,
  RegisterChange,
  TensorLoad,     ///< tcgen05.ld
  TensorWaitLoad, ///< tcgen05.wait::ld
  TensorAlloc,
  GlobalReduction, ///< red.global
};

struct InstructionClass {
  Pipe pipe = Pipe::Alu;
  /// Machine instructions that the PTX instruction becomes; 0 for one that the
  /// assembler removes.
  float count = 1;
  ResultSource source = ResultSource::Fixed;
  Special special = Special::None;
  /// True if ptxas moves nothing across the instruction.
  bool isFence = false;
  bool mayCache = false;       ///< A load that L1 may answer.
  bool isStore = false;        ///< To shared memory.
  bool isMbarrierTest = false; ///< test_wait, try_wait.
  /// Columns of tensor memory that a load reads.
  unsigned columns = 0;

  /// True if stall counts do not wait for the result, but scoreboards do.
  bool isVariable() const {
    return source != ResultSource::Fixed && source != ResultSource::Half;
  }
};

InstructionClass classify(const Inst &inst);

/// Clocks from the issue of an instruction to that of one that uses its result,
/// when all units are idle and memory answers from the first cache.
double resultLatency(const InstructionClass &kind,
                     const TimingParameters &parameters);

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_TIMING_INSTRUCTIONCLASS_H
