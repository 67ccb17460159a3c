//===- Passes.h - passes on the LLVM and NVVM dialects ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_LLVMIR_TRANSFORMS_PASSES_H
#define FA4_DIALECT_LLVMIR_TRANSFORMS_PASSES_H

#include "fa4/Support/PassWithOptions.h"
#include "mlir/Pass/Pass.h"

namespace fa4 {

#define GEN_PASS_DECL
#include "fa4/Dialect/LLVMIR/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fa4/Dialect/LLVMIR/Transforms/Passes.h.inc"

} // namespace fa4

#endif // FA4_DIALECT_LLVMIR_TRANSFORMS_PASSES_H
