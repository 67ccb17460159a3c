//===- OutputStores.h - the operations that write an output -----*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collects the operations that write an output, and reads their indices as
// `stride * coordinate + constant` (OutputCoverage.h).
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_ANALYSIS_OUTPUTSTORES_H
#define FA4_LIB_DIALECT_TILE_ANALYSIS_OUTPUTSTORES_H

#include "fa4/Dialect/Tile/Analysis/IndexForms.h"

namespace fa4::tile {

/// An operation that writes elements of the output.
struct OutputStore {
  mlir::Operation *op;
  mlir::ValueRange indices;
  /// Elements written in each dimension, from the index on.
  llvm::SmallVector<int64_t> extents;
  /// Loops around it that may make more passes than one, outermost first.
  llvm::SmallVector<mlir::scf::ForOp> loops = {};
  /// The operation around it that may leave it out, or null.
  mlir::Operation *condition = nullptr;
  /// If each CTA of a cluster writes a part of the tile: the number of the CTA
  /// in its cluster that this store belongs to.
  std::optional<int64_t> rank = std::nullopt;
};

/// The variable that steps through a dimension in blocks: a coordinate of the
/// work tile, or the induction variable of a loop.
struct BlockCoordinate {
  unsigned symbol;
  /// The loop of an induction variable; null for coordinate `axis` of the work
  /// tile.
  mlir::scf::ForOp loop;
  unsigned axis = 0;
  bool operator==(const BlockCoordinate &other) const {
    return symbol == other.symbol;
  }
};

/// An index: `stride * coordinate + constant`, or just the constant.
struct BlockIndex {
  std::optional<BlockCoordinate> coordinate;
  int64_t stride = 0, constant = 0;
};

class OutputStores {
public:
  /// Looks for the stores among `accesses`, the operations of the kernel that
  /// access memory.
  OutputStores(KernelOp kernel, unsigned argument,
               llvm::ArrayRef<mlir::Operation *> accesses, IndexForms &forms);

  llvm::ArrayRef<OutputStore> getStores() const { return stores; }
  /// Returns the loads from the output.
  llvm::ArrayRef<LoadOp> getReads() const { return reads; }

  /// Joins equal stores in both branches of an `scf.if`: one of them always
  /// happens, so neither is conditional.
  void joinBranches();
  /// Replaces each store by one for each CTA of a cluster, if its indices
  /// depend on the CTA. Returns false if that is so for some stores and not for
  /// others.
  bool splitByRank();

  /// Reads the index in dimension `dim` as `stride * coordinate + constant`.
  /// Returns nothing if the index has another form.
  std::optional<BlockIndex> readIndex(const OutputStore &store, unsigned dim);
  /// Returns true if there is one work tile along the axis.
  bool isSingle(unsigned axis);

private:
  void collect(mlir::Operation *op, mlir::BlockArgument output);
  void findContext(OutputStore &store);
  IndexForm getIndex(const OutputStore &store, unsigned dim);

  KernelOp kernel;
  IndexForms &forms;
  llvm::SmallVector<OutputStore> stores;
  llvm::SmallVector<LoadOp> reads;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_ANALYSIS_OUTPUTSTORES_H
