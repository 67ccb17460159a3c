//===- IndexRange.cpp - which numbers a kernel computes with ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/IndexRange.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

unsigned fa4::tile::getIntegerBits(Type type) {
  if (type.isIndex())
    return kIndexBits;
  return type.isSignlessInteger() ? type.getIntOrFloatBitWidth() : 0;
}

std::optional<StringRef> fa4::tile::getSizeName(memref::DimOp op) {
  auto argument = dyn_cast<BlockArgument>(op.getSource());
  if (!argument)
    return std::nullopt;
  auto kernel = dyn_cast<KernelOp>(argument.getOwner()->getParentOp());
  auto type = dyn_cast<MemRefType>(argument.getType());
  std::optional<int64_t> index = op.getConstantIndex();
  if (!kernel || !type || !index || *index < 0 || *index >= type.getRank())
    return std::nullopt;
  return kernel.getDimName(argument.getArgNumber(), *index);
}

int64_t fa4::tile::getLastWorkTile(KernelOp kernel, unsigned axis) {
  auto extent = cast<ExtentAttr>(kernel.getGrid()[axis]);
  int64_t size = getStaticSize(extent.getSize()).value_or(kMaxSize);
  return std::max<int64_t>(llvm::divideCeil(size, extent.getTile()) - 1, 0);
}
