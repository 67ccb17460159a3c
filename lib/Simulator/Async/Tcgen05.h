//===- Tcgen05.h - tensor memory instructions ----------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_ASYNC_TCGEN05_H
#define FA4_LIB_SIMULATOR_ASYNC_TCGEN05_H

#include "AsyncState.h"

namespace fa4::sim {

/// An address in tensor memory: lane << 16 | column.
struct TensorAddress {
  uint32_t lane, column;
  static TensorAddress of(uint32_t bits) { return {bits >> 16, bits & 0xFFFF}; }
};

enum class TensorShape : uint8_t {
  S32x32b,
  S16x64b,
  S16x128b,
  S16x256b,
  S16x32bx2,
};

/// tcgen05.ld/.st: where register `reg` of thread `thread` is, relative to the
/// instruction's address. `split`: immHalfSplitoff of 16x32bx2.
struct TensorCell {
  uint32_t row, column;
};
TensorCell tensorCell(TensorShape shape, unsigned thread, unsigned reg,
                      unsigned split);

/// Returns the number of registers of a thread for .xN.
unsigned tensorRegisters(TensorShape shape, unsigned repeat);

/// Reports columns [column, column + columns) of the CTA that are not
/// allocated, or outside of tensor memory.
bool checkTensorColumns(Cluster &cluster, Cta &cta, const Actor &actor,
                        uint32_t column, uint32_t columns);

/// The CTAs that a cta_group of this CTA consists of; reports a group of two
/// in a cluster without a peer.
bool tensorGroup(Exec &exec, const Inst &inst, unsigned ctaGroup,
                 llvm::SmallVectorImpl<Cta *> &ctas);

/// The same for an instruction that one thread issues for the group (mma, cp,
/// shift, commit); reports a peer that has exited.
bool activeGroup(Exec &exec, const Inst &inst, unsigned ctaGroup,
                 llvm::SmallVectorImpl<Cta *> &ctas);

/// Consumes .cta_group::N. Returns N, or 0 after an error.
unsigned takeCtaGroup(DecodeContext &context);

void registerTensorMemoryOpcodes(OpcodeTable &table);
void registerTensorCopyOpcodes(OpcodeTable &table);
void registerMmaOpcodes(OpcodeTable &table);

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_ASYNC_TCGEN05_H
