//===- KernelTarget.cpp - the description of a kernel's chip ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/KernelTarget.h"
#include "llvm/ADT/StringExtras.h"

const fa4::TargetDescription *fa4::tile::getTarget(KernelOp kernel) {
  const TargetDescription *target = lookupTarget(kernel.getChip());
  if (!target)
    kernel.emitOpError("is for '")
        << kernel.getChip() << "', which is not a known chip; known are "
        << llvm::join(knownTargets(), ", ");
  return target;
}
