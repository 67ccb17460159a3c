//===- GradientConversion.h - attn.sdpa_backward to kernels ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_GRADIENTCONVERSION_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_GRADIENTCONVERSION_H

#include "fa4/Conversion/AttnToTile/AttnToTile.h"
#include "fa4/Dialect/Attn/IR/Attn.h"
#include "fa4/Target/TargetDescription.h"
#include "mlir/IR/SymbolTable.h"

namespace fa4 {

/// Makes the kernels of the gradient (SdpaBackwardProgram.h), and launches them
/// one after the other in place of `op`.
void convertGradient(attn::SdpaBackwardOp op, const TargetDescription &target,
                     const TileChoice &choice, mlir::SymbolTable &symbols);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_GRADIENTCONVERSION_H
