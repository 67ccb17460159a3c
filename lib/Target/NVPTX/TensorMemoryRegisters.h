//===- TensorMemoryRegisters.h - tensor memory without wide vectors -------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_TARGET_NVPTX_TENSORMEMORYREGISTERS_H
#define FA4_LIB_TARGET_NVPTX_TENSORMEMORYREGISTERS_H

#include "llvm/IR/Module.h"

namespace fa4 {

/// Replaces calls of `llvm.nvvm.tcgen05.ld.32x32b.xN` and `.st.32x32b.xN` (not
/// `.pack` and `.unpack`) by inline assembly of the same instruction that has
/// an operand for each register. LLVM's intrinsics have a vector of up to 128
/// elements; the combiner and the type legaliser of the back end take it apart
/// step by step, which is a sixth of the time from the op to PTX.
void useTensorMemoryRegisters(llvm::Module &module);

} // namespace fa4

#endif // FA4_LIB_TARGET_NVPTX_TENSORMEMORYREGISTERS_H
