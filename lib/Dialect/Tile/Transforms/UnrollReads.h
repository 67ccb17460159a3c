//===- UnrollReads.h - when a thread reads the pairs of a row ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_UNROLLREADS_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_UNROLLREADS_H

#include "RowColumns.h"
#include "llvm/ADT/SetVector.h"

namespace fa4::tile {

/// Reads the rows of a role from channels: pair by pair as they are needed, but
/// before the memory is given away or overwritten.
class UnrollReads {
public:
  /// A read of tensor memory is started one fragment ahead if `readsAhead`.
  /// `bufferOf` numbers the buffers of channels, and `usedAgain` has those
  /// whose memory other channels have afterwards.
  UnrollReads(RowColumns &columns, bool readsAhead,
              const llvm::DenseMap<mlir::Value, unsigned> &bufferOf,
              const llvm::DenseSet<unsigned> &usedAgain)
      : columns(columns), readsAhead(readsAhead), bufferOf(bufferOf),
        usedAgain(usedAgain) {}

  /// Takes up a read of the program. A value with one use is read fragment by
  /// fragment as it is consumed, so that few fragments are in registers at a
  /// time. A value with more uses is held as a whole anyway: it is read early
  /// to hide the latency, unless a fragment at a time does.
  void add(ReadOp op, mlir::OpBuilder &b);

  /// Reads those of the pairs `first` to `last` that have not been read yet. A
  /// read of tensor memory takes long, so the read of the next fragment is on
  /// its way while these pairs are worked on, if the role has registers for it
  /// or holds the whole value anyway.
  void read(ReadOp op, int64_t first, int64_t last, mlir::OpBuilder &b);

  /// Completes reads of the buffer of `channel`. If lanes then hand on what
  /// they have read, who gets it waits for that.
  void readBuffer(mlir::Value channel, mlir::OpBuilder &b,
                  bool handsOn = false);

  /// Completes reads of buffers whose memory other channels have afterwards:
  /// that a value is read in front of a commit may be what lets its memory be
  /// written behind the wait for it.
  void readUsedAgain(mlir::OpBuilder &b);

  /// Completes reads of what `write` is about to overwrite with its columns
  /// `begin` to `end`.
  void readOverwritten(WriteOp write, int64_t begin, int64_t end,
                       mlir::OpBuilder &b);

  /// Gives up the reads of a block that has been built.
  void forget(mlir::Block &block);

private:
  void startRead(ReadOp op, int64_t first, int64_t last, mlir::OpBuilder &b);
  void finishReads(ReadOp op, mlir::OpBuilder &b);
  void readAll(ReadOp op, mlir::OpBuilder &b);
  void readAtOnce(ReadOp op, mlir::OpBuilder &b);

  RowColumns &columns;
  bool readsAhead;
  const llvm::DenseMap<mlir::Value, unsigned> &bufferOf;
  const llvm::DenseSet<unsigned> &usedAgain;
  /// The values of several columns that are on their way for each read, with
  /// the number of their first column.
  llvm::DenseMap<mlir::Operation *,
                 llvm::SmallVector<std::pair<mlir::Value, int64_t>>>
      started;
  /// The reads that are not complete yet, in program order.
  llvm::SmallSetVector<ReadOp, 4> unread;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_UNROLLREADS_H
