//===- Passes.h - tile dialect to NVVM ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_CONVERSION_TILETONVVM_PASSES_H
#define FA4_CONVERSION_TILETONVVM_PASSES_H

#include "mlir/Pass/Pass.h"

namespace fa4::tile {

#define GEN_PASS_DECL
#include "fa4/Conversion/TileToNVVM/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fa4/Conversion/TileToNVVM/Passes.h.inc"

} // namespace fa4::tile

#endif // FA4_CONVERSION_TILETONVVM_PASSES_H
