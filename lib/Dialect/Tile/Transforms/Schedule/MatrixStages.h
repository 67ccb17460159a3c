//===- MatrixStages.h - passes in which a role's MMAs run -*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_SCHEDULE_MATRIXSTAGES_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_SCHEDULE_MATRIXSTAGES_H

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace fa4::tile {

/// Returns the values that an operation uses, also in its regions.
llvm::SetVector<mlir::Value> getUsed(mlir::Operation *op);

/// Returns true if lanes of the role start MMAs.
bool isMatrixRole(RoleOp role);
/// Returns true if `op` is in such a role.
bool isInMatrixRole(mlir::Operation *op);

/// Returns true if MMAs of lanes read what is committed.
bool isForMatrixRole(CommitOp commit);

/// Returns true if lanes compute in the loop what MMAs of lanes read, also of
/// other roles.
bool exchangesOperands(mlir::scf::ForOp loop);

/// Returns true if lanes that start MMAs commit a value in a loop. A pass of
/// theirs has so many MMAs that a store has read the stage long before the next
/// value: neither parts nor a second stage gain anything.
bool isInMatrixLoop(CommitOp commit);

/// The stages of the operations in a loop of a role whose lanes start MMAs: 0,
/// or 1 for those that run a pass later (MatrixPlan.cpp). How many MMAs can run
/// later follows from the registers of a thread.
class MatrixStages {
public:
  explicit MatrixStages(mlir::scf::ForOp loop);

  unsigned get(mlir::Operation *op) const { return stage.lookup(op); }

  /// Returns the MMAs that would run a pass later, but stay in their own pass
  /// for want of registers.
  const llvm::DenseSet<mlir::Operation *> &getKept() const { return kept; }

  /// Returns true for an MMA of this pass that starts only when lanes need the
  /// numbers no longer from which its operand A is narrowed: registers do not
  /// suffice for both.
  bool isHeld(mlir::Operation *mma) const { return held.contains(mma); }

  /// Returns true for an MMA of stage 1 that reads what lanes have computed
  /// from memory.
  bool isOfHandedOver(MmaOp mma) const;

  /// Returns true for such an MMA where registers do not suffice for all. It
  /// carries none over the loop's edge and starts when the scores of the pass
  /// have left theirs; the other roles have long handed over what it reads.
  bool isLate(MmaOp mma) const { return !kept.empty() && isOfHandedOver(mma); }

private:
  void find();
  unsigned findStage(mlir::Operation *op);
  void placeChannelOp(mlir::Operation *op);
  int64_t countWords(mlir::Value tile) const;
  int64_t countWordsOfA(MmaOp mma) const;
  int64_t countWordsInFlight() const;
  void fitRegisters();
  void holdBack(int64_t most);

  mlir::scf::ForOp loop;
  mlir::Block *body;
  /// True if lanes of the loop compute what MMAs of several roles read.
  bool exchanges;
  llvm::DenseMap<mlir::Operation *, unsigned> stage;
  llvm::DenseSet<mlir::Operation *> kept;
  llvm::DenseSet<mlir::Operation *> held; ///< Some of those kept.
  /// The operations of lanes that use a result of an MMA of the iteration.
  llvm::DenseSet<mlir::Operation *> behindQueue;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_SCHEDULE_MATRIXSTAGES_H
