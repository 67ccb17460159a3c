//===- LaunchConditions.h - what calls must be like ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_TILETONVVM_LAUNCHCONDITIONS_H
#define FA4_LIB_CONVERSION_TILETONVVM_LAUNCHCONDITIONS_H

#include "fa4/Dialect/Tile/IR/Tile.h"

namespace fa4::tile {

class TensorMaps;

/// Collects the conditions on sizes, strides and the grid of a call, as the
/// manifest has them (`requires`): what the hardware's limits and the kernel's
/// arithmetic need, and what the program states itself (`tile.requires`). Emits
/// an error where a static size breaks one. `pointers` are the arguments whose
/// strides lanes compute with.
mlir::FailureOr<mlir::ArrayAttr>
collectLaunchConditions(KernelOp kernel, const TensorMaps &maps,
                        llvm::ArrayRef<unsigned> pointers);

/// Whether calls may have sizes of 0 (`tile.if_empty`).
bool mayBeEmpty(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_LIB_CONVERSION_TILETONVVM_LAUNCHCONDITIONS_H
