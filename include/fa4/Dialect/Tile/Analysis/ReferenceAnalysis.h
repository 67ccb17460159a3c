//===- ReferenceAnalysis.h - what depends on an online reference ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_REFERENCEANALYSIS_H
#define FA4_DIALECT_TILE_ANALYSIS_REFERENCEANALYSIS_H

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <optional>

namespace fa4::tile {

/// How a value depends on the row's reference m, in whose units sums are kept.
/// For a value x that would be x0 for m = 0:
///
///   - Linear: x = x0 * 2^(-degree * c * m); sums of exponentials.
///   - Log: x = x0 + degree * m; scores, and the reference itself.
///   - ScaledLog: x = x0 + degree * c * m; exponents.
///   - OldSum: a sum in units of the previous reference.
///   - Factor: the factor that converts a sum from the old units to the new.
///   - Magnitude: the absolute value of a Log or ScaledLog.
///   - InRange: whether a Magnitude is within a large constant bound.
///   - Range: a factor that is 1 where a Magnitude is within a large constant
///     bound, and brings it there otherwise; or a constant times that.
///
/// A sum that is replaced by NaN where the reference is not in range counts as
/// a sum. Another reference differs by little beside the bound, so it moves the
/// range by as little. For the same reason, a product with a Range depends on
/// the reference as its other factor does.
struct Dependence {
  enum Kind {
    Linear,
    Log,
    ScaledLog,
    OldSum,
    Factor,
    Magnitude,
    InRange,
    Range
  } kind;
  int degree = 0;
};

/// Follows dependences from given values through operations in program order.
/// If no visible effect of a program depends on such a value, the program gives
/// the same results for any reference, up to rounding.
class ReferenceAnalysis {
public:
  /// `scale` is the c of the formulas above.
  explicit ReferenceAnalysis(llvm::APFloat scale) : scale(scale) {}

  void set(mlir::Value value, std::optional<Dependence> dependence);
  /// Returns the dependence of `value`, or nothing if it does not depend on the
  /// reference.
  std::optional<Dependence> get(mlir::Value value) const;
  /// Excludes an operation that the caller has already understood.
  void ignore(mlir::Operation *op) { ignored.insert(op); }

  /// Determines the dependences of the results of `op`. Fails if a dependence
  /// has none of the above forms, or if `op` uses a dependent value in another
  /// way.
  llvm::LogicalResult visit(mlir::Operation *op);

private:
  /// The outer optional is empty if the dependence has none of the above forms;
  /// the inner one is as in get().
  using Result = std::optional<std::optional<Dependence>>;

  Result combine(mlir::Operation *op) const;
  Result multiply(mlir::Value x, mlir::Value y) const;
  Result divide(mlir::Value x, mlir::Value y) const;
  Result reduce(mlir::vector::MultiDimReductionOp op) const;
  Result accumulate(MmaOp op) const;
  Result add(std::optional<Dependence> x, std::optional<Dependence> y,
             mlir::Value xValue, mlir::Value yValue, bool subtract) const;
  Result merge(mlir::Value x, mlir::Value y) const;
  Result select(mlir::Value condition, mlir::Value x, mlir::Value y) const;
  Result compare(mlir::arith::CmpFOp op) const;
  Result limit(mlir::Value x, mlir::Value y) const;
  bool isLarge(const llvm::APFloat &bound) const;

  llvm::APFloat scale;
  llvm::DenseMap<mlir::Value, Dependence> dependences;
  llvm::SmallPtrSet<mlir::Operation *, 8> ignored;
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_REFERENCEANALYSIS_H
