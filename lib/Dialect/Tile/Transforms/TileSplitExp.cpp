//===- TileSplitExp.cpp - exponentials for two pipes ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/RowExponent.h"
#include "fa4/Dialect/Tile/Analysis/RowWork.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "fa4/Target/Exp2Polynomial.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILESPLITEXP
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

/// Returns the precision (in bits) that `value` needs. It is that of the
/// narrowest type to which a user truncates `value`, provided that all other
/// users only sum it: sums stay in f32 and tolerate the same error. It is that
/// of f32 if no user truncates the value.
static unsigned significandBits(Value value) {
  auto precisionOf = [](Value value) -> unsigned {
    return cast<FloatType>(getElementTypeOrSelf(value)).getFPMantissaWidth();
  };
  unsigned bits = precisionOf(value);
  for (Operation *user : value.getUsers())
    if (isa<arith::TruncFOp>(user))
      bits = std::min(bits, precisionOf(user->getResult(0)));
  return bits;
}

/// Returns true if the elements of `exponent` are proven to be where
/// `tile.exp2` defines its polynomial. Beyond, it does not overflow to
/// infinity.
static bool isInPolynomialRange(Value exponent) {
  std::optional<double> bound = getExponentBound(exponent);
  return bound && *bound < 128;
}

namespace {
struct TileSplitExp : public fa4::tile::impl::TileSplitExpBase<TileSplitExp> {
  using TileSplitExpBase::TileSplitExpBase;

  void runOnOperation() override {
    if (failed(checkOptions()) || failed(splitKernel(getOperation())))
      signalPassFailure();
  }

private:
  /// Checks the values of the options. Whether a row has as many pairs is
  /// checked for each exponential.
  LogicalResult checkOptions();
  LogicalResult splitKernel(KernelOp kernel);
  FailureOr<Exp2Op> planOne(math::Exp2Op op, unsigned tiles,
                            const TargetDescription &target);
  /// Returns the number of pairs that the options ask for, or nothing if they
  /// leave the choice to the model.
  std::optional<unsigned> requestedPairs(const RowWork &work);
};
} // namespace

LogicalResult TileSplitExp::checkOptions() {
  // This also refuses NaN, for which all comparisons are false.
  if (fraction != -1 && !(fraction >= 0 && fraction <= 1))
    return getOperation()->emitError()
           << llvm::formatv("tile-split-exp: the fraction must be from 0 to "
                            "0.75 (in rows of 128 columns), or -1 for one that "
                            "is computed; got {0}",
                            llvm::format("%g", fraction.getValue()))
                  .str();
  constexpr int64_t most = kExpFragmentColumns / 2;
  if (pairsPerFragment < -1 || pairsPerFragment > most)
    return getOperation()->emitError(
               "tile-split-exp: pairs-per-fragment must be from 0 to ")
           << most << ", or -1 for a number that is computed; got "
           << pairsPerFragment.getValue();
  return success();
}

std::optional<unsigned> TileSplitExp::requestedPairs(const RowWork &work) {
  unsigned fragments = work.columns / kExpFragmentColumns;
  if (pairsPerFragment >= 0)
    return pairsPerFragment * (fragments ? fragments - 1 : 0);
  if (fraction >= 0)
    return static_cast<unsigned>(fraction * work.columns / 2 + 0.5);
  return std::nullopt;
}

/// Builds the replacement of `op` in front of it. Returns null if `op` stays as
/// it is.
FailureOr<Exp2Op> TileSplitExp::planOne(math::Exp2Op op, unsigned tiles,
                                        const TargetDescription &target) {
  auto type = cast<VectorType>(op.getType());
  // If the polynomial is not precise enough for the type, or the columns are
  // not whole fragments, all exponentials go to the special function unit.
  unsigned degree = this->degree;
  if (degree == 0) {
    llvm::Expected<unsigned> needed =
        exp2DegreeForPrecision(significandBits(op.getResult()));
    if (!needed) {
      llvm::consumeError(needed.takeError());
      return Exp2Op();
    }
    degree = *needed;
  }
  if (!type.getElementType().isF32() ||
      type.getDimSize(1) % kExpFragmentColumns != 0 ||
      !isInPolynomialRange(op.getOperand()))
    return Exp2Op();
  RowWork work = countRowWork(op, tiles, target);
  work.degree = degree;
  double share = 2.0 * emulatablePairs(work) / work.columns;
  if (fraction > share)
    return op.emitError()
           << llvm::formatv(
                  "tile-split-exp: the fraction must be from 0 to {0} in rows "
                  "of {1} columns, of which the last {2} stay on the special "
                  "function unit; got {3}",
                  llvm::format("%g", share), work.columns, kExpFragmentColumns,
                  llvm::format("%g", fraction.getValue()))
                  .str();
  llvm::Expected<ExpSplit> split =
      computeExpSplit(target, work, requestedPairs(work));
  if (!split)
    return op.emitError("tile-split-exp: ")
           << llvm::toString(split.takeError());
  llvm::Expected<Exp2Polynomial> polynomial = getExp2Polynomial(degree);
  if (!polynomial)
    return op.emitError("tile-split-exp: ")
           << llvm::toString(polynomial.takeError());
  if (split->pairs.empty())
    return Exp2Op();
  OpBuilder b(op);
  SmallVector<int64_t> pairs(split->pairs.begin(), split->pairs.end());
  return Exp2Op::create(b, op.getLoc(), type, op.getOperand(),
                        ArrayRef<float>(polynomial->coefficients).drop_front(),
                        pairs);
}

LogicalResult TileSplitExp::splitKernel(KernelOp kernel) {
  SmallVector<math::Exp2Op> exponentials;
  for (Operation *op : collectTileExponentials(kernel))
    if (auto exp = dyn_cast<math::Exp2Op>(op))
      exponentials.push_back(exp);
  if (exponentials.empty())
    return success();
  // All roles are planned before any is changed. They run at the same time, so
  // the plan of each must count the unchanged work of the others.
  SmallVector<Exp2Op> plans;
  for (math::Exp2Op op : exponentials) {
    FailureOr<Exp2Op> plan =
        planOne(op, exponentials.size(), kernel.getTarget());
    if (failed(plan))
      return failure();
    plans.push_back(*plan);
  }
  for (auto [op, plan] : llvm::zip(exponentials, plans)) {
    if (!plan)
      continue;
    op.replaceAllUsesWith(plan.getResult());
    op.erase();
  }
  if (print) {
    // Kernels are processed in parallel, so that a table is written as a whole.
    std::string table;
    llvm::raw_string_ostream os(table);
    printRoofline(kernel, os);
    llvm::errs() << table;
  }
  return success();
}
