//===- UnrollValues.h - the columns of rows, built when needed ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_UNROLLVALUES_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_UNROLLVALUES_H

#include "UnrollReads.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace fa4::tile {

/// Builds the columns of operations without effects when something that has an
/// effect needs them, fragment by fragment: that gives the order in which a
/// fragment goes all the way before the next one starts.
class UnrollValues {
public:
  /// Arithmetic of `loopInstructions` for a pair, or more, becomes a loop. The
  /// order of fragments is kept if `keepsOrder`: that takes branches, which
  /// ptxas answers with a wait where MMAs of the role are under way.
  UnrollValues(RowColumns &columns, UnrollReads &reads,
               int64_t loopInstructions, bool keepsOrder)
      : columns(columns), reads(reads), loopInstructions(loopInstructions),
        mayKeepOrder(keepsOrder) {}

  /// Says which operation asks for values from now on.
  void setUser(mlir::Operation *op) { user = op; }

  /// Builds pairs `begin` to `end` of `value`, and first what they need.
  void build(mlir::Value value, int64_t begin, int64_t end, mlir::OpBuilder &b);
  void buildAll(mlir::Value value, mlir::OpBuilder &b);
  /// Builds all values that the regions of `op` use, in front of `op`.
  void buildCaptured(mlir::Operation &op, mlir::OpBuilder &b);

  /// Begins a fragment of a write: what is built from now on is fresh.
  void beginWrite() { fresh.clear(); }
  /// Builds what stands in front of the write and is computed from a number
  /// that the write has built (a `fresh` one), although only something later
  /// needs it. The program's order says where it is computed: the product of a
  /// probability and a derivative, for example, takes the registers of both,
  /// which otherwise would be held. Nothing is read for it. Returns true if
  /// anything was built.
  bool buildEarly(WriteOp write, mlir::OpBuilder &b);

  /// Ends a fragment. Keeps ptxas from moving work on the next ones in front if
  /// `keepsOrder`, or if the fragment has integers that are computed from
  /// positions: these wait for nothing, and those that are the same in all
  /// threads run on a pipe of their own.
  void endFragment(mlir::Location loc, mlir::OpBuilder &b,
                   bool keepsOrder = false);

private:
  /// Pairs `begin` to `end` of a value.
  struct Part {
    mlir::Value value;
    int64_t begin, end;
  };
  /// A pair of columns of a value.
  using Pair = std::pair<mlir::Value, int64_t>;
  /// The numbers that a pair can be computed from.
  enum class Source { None, Registers, Fresh };

  llvm::ArrayRef<mlir::Value> findReads(mlir::Value value);
  bool buildByLoop(mlir::Value value, int64_t begin, int64_t end,
                   mlir::OpBuilder &b);
  void addNeededParts(const Part &part, llvm::SmallVectorImpl<Part> &needed);
  void buildPart(const Part &part, mlir::OpBuilder &b);
  void buildSlice(mlir::vector::ExtractStridedSliceOp op, int64_t begin,
                  int64_t end);
  Source getSource(mlir::Operation *op, int64_t pair,
                   const llvm::DenseSet<Pair> &available);

  RowColumns &columns;
  UnrollReads &reads;
  int64_t loopInstructions;
  bool mayKeepOrder;
  mlir::Operation *user = nullptr;
  /// Whether the fragment that is built now has integers that are computed from
  /// positions by more than a sum.
  bool builtIntegers = false;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 1>> readsOf;
  /// Operations of loops over pairs whose results nothing else uses.
  llvm::DenseSet<mlir::Operation *> inLoops;
  /// The pairs that have been built for the fragment that is written now.
  llvm::SmallSetVector<Pair, 16> fresh;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_UNROLLVALUES_H
