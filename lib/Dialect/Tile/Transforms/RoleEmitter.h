//===- RoleEmitter.h - the code of a role ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_ROLEEMITTER_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_ROLEEMITTER_H

#include "fa4/Dialect/Tile/Analysis/RoleCrossings.h"
#include "mlir/IR/IRMapping.h"

namespace fa4::tile {

/// Builds the code of one role: a copy of the program's loops with the
/// operations of the role, which takes and hands over what crosses.
class RoleEmitter {
public:
  /// `next` is the channel of the numbers of work tiles, or null in a kernel
  /// that does not ask for them.
  RoleEmitter(RoleOp op, unsigned role, const RolePartition &partition,
              RoleCrossings &crossings, ChannelOp next)
      : role(role), oneThread(op.runsOnOneThread()), partition(partition),
        crossings(crossings), next(next),
        builder(mlir::OpBuilder::atBlockEnd(&op.getBody().front())) {}

  /// Builds the body of the role from the program in `source`.
  void emit(mlir::Block &source);

private:
  void emitBlock(mlir::Block &source);
  void emitLoop(mlir::scf::ForOp loop);
  bool needsLoop(mlir::scf::ForOp loop);
  bool keepsIterArg(mlir::scf::ForOp loop, unsigned index);
  mlir::scf::ForOp copyHead(mlir::scf::ForOp loop,
                            llvm::ArrayRef<unsigned> kept);
  void fillBody(mlir::scf::ForOp loop, mlir::scf::ForOp copy,
                llvm::ArrayRef<unsigned> kept);
  void commitResults(mlir::scf::ForOp loop);
  void waitForResults(mlir::scf::ForOp loop);
  bool getsNewAccumulators(mlir::scf::ForOp loop);
  void emitFirstPass(mlir::scf::ForOp loop);
  void handOverForNext(mlir::Block &source);
  void takeBackAtEnd();
  void emitWork(WorkOp work);
  void emitOperation(mlir::Operation *op);
  llvm::SmallVector<std::pair<Crossing *, mlir::Value>>
  findLeaving(mlir::Operation *op);
  mlir::Value awaitResult(MmaOp source, MmaOp mma);
  void acquireBegun(mlir::Operation *op);
  llvm::SmallVector<std::pair<unsigned, mlir::Value>>
  waitForOwn(mlir::Operation *op);
  void wait(Crossing &crossing);

  unsigned role;
  bool oneThread;
  const RolePartition &partition;
  RoleCrossings &crossings;
  ChannelOp next;
  mlir::OpBuilder builder;
  /// Maps values of the program to those of the role.
  mlir::IRMapping map;
  /// Maps values that the role's lanes compute to those that its MMAs read from
  /// memory.
  llvm::DenseMap<mlir::Value, mlir::Value> ownValues;
  /// The loop whose first pass is being built in front of it.
  mlir::scf::ForOp peeled;
};

/// Builds the role that asks for work tiles, with a channel `next` for their
/// numbers. It asks for the next tile at the beginning of each tile, so that
/// the response is there when the tile ends. The leader asks for all CTAs of a
/// cluster.
void emitRequests(WorkOp work, ChannelOp next, mlir::OpBuilder &builder);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_ROLEEMITTER_H
