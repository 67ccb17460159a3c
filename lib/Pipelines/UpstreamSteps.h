//===- UpstreamSteps.h - steps of several pipelines -------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_PIPELINES_UPSTREAMSTEPS_H
#define FA4_LIB_PIPELINES_UPSTREAMSTEPS_H

#include "mlir/Pass/PassManager.h"

namespace fa4 {

/// Tensors become memrefs, those of functions' signatures, too, without
/// strides.
void addBufferization(mlir::OpPassManager &pm);

/// Loops and addresses lose what scf's own lowering does not know: forall,
/// views with strides, affine operations.
void addLoopLowering(mlir::OpPassManager &pm);

/// What is left, without scf, becomes the LLVM dialect.
void addConversionToLLVM(mlir::OpPassManager &pm);

} // namespace fa4

#endif // FA4_LIB_PIPELINES_UPSTREAMSTEPS_H
