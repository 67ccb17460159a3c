//===- LaneMathToLLVM.h - arithmetic of a GPU thread in the LLVM dialect
//---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_CONVERSION_LANEMATHTOLLVM_LANEMATHTOLLVM_H
#define FA4_CONVERSION_LANEMATHTOLLVM_LANEMATHTOLLVM_H

#include "mlir/Conversion/ArithCommon/AttrToLLVMConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseMap.h"

namespace fa4::tile {

/// Builds operations of the LLVM dialect on a thread's scalars and short
/// vectors. A builder that has a block for constants creates each of them once,
/// at the start of the block, which must dominate all insertion points. An
/// unrolled kernel has thousands of uses of a few constants.
class LaneBuilder : public mlir::ImplicitLocOpBuilder {
public:
  /// Inserts before `op`, with its location.
  explicit LaneBuilder(mlir::Operation *op)
      : ImplicitLocOpBuilder(op->getLoc(), op) {}
  LaneBuilder(mlir::Location loc, mlir::Block *constants)
      : ImplicitLocOpBuilder(loc, loc.getContext()), block(constants) {}

  mlir::Value constant(mlir::TypedAttr value);
  /// Returns a constant of type f32 or vector of f32.
  mlir::Value constant(mlir::Type type, double value);
  mlir::Value poison(mlir::Type type);
  /// Returns an element of a vector of rank 1.
  mlir::Value extract(mlir::Value vector, int64_t position);
  mlir::Value fromElements(mlir::VectorType type, mlir::ValueRange elements);
  /// Whether one more selection by a bit may be inline assembly. LLVM takes
  /// twice as long for it as for an operation of its own, which counts in
  /// functions that have thousands of them.
  bool mayWriteBitSelect() { return ++bitSelects <= kMaxOfOneKind; }
  /// Whether one more tanh of a pair may be LLVM's operations, which know
  /// packed instructions. They are eleven, and one block of inline assembly
  /// takes LLVM a tenth of the time.
  bool mayExpandTanh() { return ++tanhs <= kMaxOfOneKind; }

private:
  /// Returns the constant, or poison if `value` is null.
  mlir::Value makeOnce(mlir::TypedAttr value, mlir::Type type);

  static constexpr unsigned kMaxOfOneKind = 4096;
  unsigned bitSelects = 0, tanhs = 0;
  mlir::Block *block = nullptr;
  /// The constants so far; a value without an attribute is poison.
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Type>, mlir::Value> constants;
};

/// Lowers an operation of `math`, `arith.divf` of f32, `tile.exp2` or a
/// selection by a bit, on scalars and vectors of two, to the special function
/// unit's instructions and others (PTX ISA, ex2, lg2, rcp, div.approx, sqrt,
/// rsqrt; all but ex2 flush subnormals in any case). See `lane-math-to-llvm`
/// for what each becomes and its error. Returns the value that takes the place
/// of the operation's result, or null if the operation is none of these.
/// Upstream's patterns for `math` should not be used after it: the NVPTX back
/// end has no code for many of these functions.
mlir::Value lowerLaneMath(LaneBuilder &builder, mlir::Operation *op);

/// An operation of `arith` or `math`, and the one of LLVM that computes the
/// same.
template <typename FromOp, typename ToOp> struct SameInLLVM {
  /// Returns the lowered value with the flags of `op`, or null if `op` is
  /// another operation.
  static mlir::Value lower(LaneBuilder &b, mlir::Operation *op) {
    auto from = mlir::dyn_cast<FromOp>(op);
    if (!from)
      return {};
    auto to = ToOp::create(b, op->getResultTypes(), op->getOperands());
    if constexpr (FromOp::template hasTrait<
                      mlir::arith::ArithFastMathInterface::Trait>())
      to.setFastmathFlags(
          mlir::arith::convertArithFastMathFlagsToLLVM(from.getFastmath()));
    if constexpr (FromOp::template hasTrait<
                      mlir::arith::ArithIntegerOverflowFlagsInterface::Trait>())
      to.setOverflowFlags(mlir::arith::convertArithOverflowFlagsToLLVM(
          from.getOverflowFlags()));
    return to;
  }
};

/// Lowers `op` by the one of `Pairs` (SameInLLVM) that begins with it, if any.
template <typename... Pairs>
mlir::Value lowerToSame(LaneBuilder &b, mlir::Operation *op) {
  mlir::Value result;
  (void)((result = Pairs::lower(b, op)) || ...);
  return result;
}

/// Returns true if an elementwise operation of `arith` or `math` can be lowered
/// for lanes, by `lowerLaneMath` or (for `arith`) by upstream's patterns.
bool isLaneMath(mlir::Operation *op);

} // namespace fa4::tile

#endif // FA4_CONVERSION_LANEMATHTOLLVM_LANEMATHTOLLVM_H
