//===- LaneReads.h - where a thread reads the values it waits for ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_LANEREADS_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_LANEREADS_H

#include "LaneValues.h"
#include "llvm/ADT/SetVector.h"

namespace fa4::tile {

/// Places the tile.read of each waited value: as late as its uses and the
/// buffer's next owner allow, so that a thread holds it for a short time.
class LaneReads {
public:
  /// `bufferOf` numbers the buffers of channels.
  LaneReads(RoleOp role, LaneValues &values,
            const llvm::DenseMap<mlir::Value, unsigned> &bufferOf);

  /// Takes note of a value for which the new code has waited.
  void add(WaitOp wait, mlir::OpBuilder &b);
  /// Returns true if the value is that of a wait and has not been read yet.
  bool isUnread(mlir::Value value) const;
  void read(WaitOp wait, mlir::OpBuilder &b);
  /// Reads the waited values that `op` or its regions use, and the values whose
  /// stage `op` gives away.
  void readUsed(mlir::Operation &op, mlir::OpBuilder &b);
  /// Reads the values in the buffer of `channel`, because `at` is about to
  /// change the buffer's owner.
  void readBuffer(mlir::Value channel, mlir::Operation &at, mlir::OpBuilder &b);

  /// Returns true for a rescaling of a waited value that can be done in place:
  /// its result is only committed, in the same block and to the same buffer.
  bool isInPlace(mlir::Operation *rescale) const {
    return inPlace.contains(rescale);
  }

private:
  mlir::Value isNeeded(WaitOp wait, mlir::Operation &at, mlir::OpBuilder &b);
  void readForUses(WaitOp wait, mlir::Operation &at, mlir::OpBuilder &b);

  RoleOp role;
  LaneValues &values;
  const llvm::DenseMap<mlir::Value, unsigned> &bufferOf;
  /// The waits whose values have not been read yet, in program order.
  llvm::SmallSetVector<WaitOp, 4> unread;
  llvm::DenseSet<mlir::Operation *> inPlace;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_LANEREADS_H
