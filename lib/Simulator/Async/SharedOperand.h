//===- SharedOperand.h - where an MMA reads shared memory ----------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_ASYNC_SHAREDOPERAND_H
#define FA4_LIB_SIMULATOR_ASYNC_SHAREDOPERAND_H

#include "AsyncState.h"
#include "MatrixOperand.h"

namespace fa4::sim {

/// Checks that every chunk of the operand lies in the shared memory of each of
/// the CTAs, and reports where one does not. `name` is "A" or "B".
bool checkOperand(Exec &exec, const Inst &inst, unsigned lane,
                  llvm::ArrayRef<Cta *> ctas,
                  const MatrixDescriptor &descriptor, const OperandRange &range,
                  const char *name);

/// Appends the operand's places in the shared memory of a CTA, for the checker.
void addRanges(const Cta &cta, const MatrixDescriptor &descriptor,
               const OperandRange &range, std::vector<AccessRange> &ranges);

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_ASYNC_SHAREDOPERAND_H
