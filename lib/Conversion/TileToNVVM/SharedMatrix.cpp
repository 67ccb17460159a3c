//===- SharedMatrix.cpp - operands of MMAs in shared memory ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedMatrix.h"

using namespace mlir;
using namespace fa4::tile;

LogicalResult SharedMatrix::find(MmaOp op, Value value, bool majorK,
                                 const DenseMap<Value, Handle> &handles,
                                 const KernelLayout &layout) {
  auto found = handles.find(value);
  if (found == handles.end() || !found->second.channel)
    return op.emitOpError("has an operand that lies in no channel; MMAs read "
                          "tiles that the role has waited for");
  handle = found->second;
  buffer = &layout.buffer(handle.channel);
  this->majorK = majorK;
  return success();
}

LogicalResult SharedMatrix::check(MmaOp op) const {
  int64_t columnBytes = handle.column * buffer->elementBytes;
  if (handle.row % 8 != 0)
    return op.emitOpError("has as operand a part of a tile that begins at row ")
           << handle.row
           << "; it must begin at a multiple of 8, where a swizzle pattern "
              "does";
  if (int64_t step = majorK ? 32 : buffer->span; columnBytes % step != 0)
    return op.emitOpError("has as operand a part of a tile that begins ")
           << columnBytes
           << " bytes into a row; it must begin at a multiple of " << step
           << " bytes";
  return success();
}
